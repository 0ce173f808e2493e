# SPDX-License-Identifier: Apache-2.0
"""Reports of Nsight Compute: made ones with known answers in all their forms, real ones against numbers of ncu itself, hostile ones."""
import gzip
import json
import random
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.ncu_report import Launch, binary, block, details, field, raw, sized, text
from tests.program import OWN, SANITIZED, SHARED, run, skip_loudly

REAL = SHARED / "traces/ncu"
TIME = "gpu__time_duration.sum"
SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
L1 = "l1tex__throughput.avg.pct_of_peak_sustained_active"
L2 = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
WAVES = "launch__waves_per_multiprocessor"
POSSIBLE, ACHIEVED = "sm__maximum_warps_per_active_cycle_pct", "sm__warps_active.avg.pct_of_peak_sustained_active"
LIMIT = "launch__occupancy_limit_"
SASS = "smsp__sass_thread_inst_executed_op_"
STATES = ("long_scoreboard", "short_scoreboard", "lg_throttle", "mio_throttle", "math_pipe_throttle", "barrier", "membar", "wait",
          "branch_resolving", "imc_miss", "drain", "not_selected", "selected")


def stall(name: str) -> str:
    return f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "profile.ncu-rep"

    def answer(self, content: bytes | str) -> dict[str, Any]:
        self.path.write_bytes(content if isinstance(content, bytes) else content.encode())
        status, out, err = run("report", self.path, "--json")
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def kernel(self, metrics: dict[str, Any]) -> dict[str, Any]:
        return self.answer(binary([Launch("k(int)", metrics)]))["kernels"][0]

    def words(self, content: bytes | str, *options: str) -> str:
        self.path.write_bytes(content if isinstance(content, bytes) else content.encode())
        status, out, err = run("report", self.path, *options, env={"COLUMNS": "80"})
        self.assertEqual((status, err), (0, ""))
        return out.decode()


class Answers(Case):
    def test_what_bounds_it(self) -> None:
        """60 % of a peak is busy, 10 points are apart, as ncu's own rule has it; a small grid only where a full wave would be busy."""
        for sm, memory, waves, bound in ((80, 30, 3, "compute"), (30, 85, 3, "memory"), (70, 65, 3, "compute-memory"), (30, 40, 3, "latency"),
                                         (30, 40, 0.5, "small-grid"), (30, 40, 0.9, "latency"), (59.9, 10, 1, "latency"), (60, 10, 1, "compute")):
            with self.subTest(sm=sm, memory=memory, waves=waves):
                self.assertEqual(self.kernel({TIME: 1, SM: sm, MEMORY: memory, WAVES: waves})["bound"], bound)
        self.assertEqual(self.kernel({TIME: 1})["bound"], "unknown")
        self.assertIn("SpeedOfLight", self.kernel({TIME: 1})["missing_sections"])

    def test_which_memory(self) -> None:
        for l1, l2, dram, level in ((20, 30, 85, "DRAM"), (20, 85, 30, "L2"), (90, 30, 20, "L1 or shared memory")):
            self.assertEqual(self.kernel({TIME: 1, SM: 9, MEMORY: 85, L1: l1, L2: l2, DRAM: dram})["memory_level"], level)

    def test_occupancy(self) -> None:
        limits = {LIMIT + "registers": 2, LIMIT + "shared_mem": 3, LIMIT + "warps": 4, LIMIT + "blocks": 32}
        one = self.kernel({TIME: 1, POSSIBLE: 50, ACHIEVED: 30, **limits})["occupancy"]
        self.assertEqual(one, {"theoretical_pct": 50, "achieved_pct": 30, "blocks_per_sm": 2, "limited_by": ["registers"]})
        both = self.kernel({TIME: 1, POSSIBLE: 50, ACHIEVED: 30, **limits, LIMIT + "shared_mem": 2})["occupancy"]
        self.assertEqual(both["limited_by"], ["registers", "shared_memory"])
        self.assertEqual(self.kernel({TIME: 1, POSSIBLE: 100, ACHIEVED: 30, **limits})["occupancy"]["limited_by"], [], "all of it is possible")

    def test_stalls(self) -> None:
        """Shares of the time between two instructions of a warp; who issues or could does not wait; too few states give no share."""
        ratios = {stall(name): 0.25 for name in STATES} | {stall("long_scoreboard"): 8, stall("barrier"): 1, stall("not_selected"): 2}
        got = self.kernel({TIME: 1, **ratios, "smsp__average_warp_latency_per_inst_issued.ratio": 20})
        self.assertEqual([(s["reason"], s["share_pct"]) for s in got["stalls"]][:2], [("long_scoreboard", 40), ("barrier", 5)])
        self.assertEqual(len(got["stalls"]), 3)
        without = self.kernel({TIME: 1, **ratios})["stalls"][0]["share_pct"]
        self.assertAlmostEqual(without, 100 * 8 / (8 + 1 + 2 + 10 * 0.25), 1)
        odd = self.kernel({TIME: 1, stall("wait"): 5, stall("barrier"): 5, "smsp__average_warp_latency_per_inst_issued.ratio": 1})
        self.assertEqual([s["share_pct"] for s in odd["stalls"]], [50, 50], "never more than all")
        few = self.kernel({TIME: 1, stall("wait"): 1})
        self.assertEqual(few["stalls"], [])
        self.assertIn("WarpStateStats", few["missing_sections"])

    def test_sampled_stalls(self) -> None:
        samples = {f"smsp__pcsamp_warps_issue_stalled_{name}": 10 for name in STATES} | {"smsp__pcsamp_warps_issue_stalled_wait": 80}
        got = self.kernel({TIME: 1, **samples, "smsp__pcsamp_warps_issue_stalled_wait_not_issued": 70})
        self.assertTrue(got["stalls_are_sampled"])
        self.assertEqual((got["stalls"][0]["reason"], got["stalls"][0]["share_pct"]), ("wait", 40))

    def test_roofline(self) -> None:
        """100 additions, 200 multiplications, 300 of both at once in a cycle at 1 GHz: 900 GFLOP/s; the peak is 2 * 1000 * 1 GHz."""
        metrics = {TIME: 1000, SASS + "fadd_pred_on.sum.per_cycle_elapsed": 100, SASS + "fmul_pred_on.sum.per_cycle_elapsed": 200,
                   SASS + "ffma_pred_on.sum.per_cycle_elapsed": 300, "smsp__cycles_elapsed.avg.per_second": 1e9,
                   "sm__cycles_elapsed.avg.per_second": 1e9, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 1000,
                   "dram__bytes.sum.per_second": 300e9, "dram__bytes.sum.peak_sustained": 100, "dram__cycles_elapsed.avg.per_second": 5e9}
        got = self.kernel(metrics)["roofline"]
        self.assertEqual(got, {"flops_per_s": 900e9, "peak_flops_per_s": 2000e9, "dram_bytes_per_s": 300e9, "peak_dram_bytes_per_s": 500e9,
                               "flops_per_byte": 3, "ridge_flops_per_byte": 4, "has_matrix_work": False})
        self.assertIn("under the roof of DRAM", " ".join(self.words(binary([Launch("k", metrics)])).split()))
        matrix = self.words(binary([Launch("k", metrics | {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 50})]))
        self.assertIn("without the matrix units", " ".join(matrix.split()))
        self.assertNotIn("under the roof", " ".join(matrix.split()), "a point that leaves work out is under no roof")
        sums = {TIME: 1000, "dram__bytes_read.sum": 200, "dram__bytes_write.sum": 100} | {
            SASS + f"d{op}_pred_on.sum": n for op, n in (("add", 100), ("mul", 200), ("fma", 300))}
        got = self.kernel(sums)["roofline"]
        self.assertEqual((got["flops_per_s"], got["dram_bytes_per_s"]), (900e6, 0.3e9), "sums over the duration of 1 us")

    def test_groups(self) -> None:
        """Launches of one kernel and shape are one; the median stands for them; the most time first."""
        launches = [Launch("a(int)", {TIME: t}) for t in (1000, 9000, 2000)] + [Launch("b(int)", {TIME: 20000})]
        launches.append(Launch("a(int)", {TIME: 100}, grid=(1, 1, 1)))
        got = self.answer(binary(launches))
        self.assertEqual([(k["name"], k["launches"], k["total_ns"], k["shown_launch"]) for k in got["kernels"]],
                         [("b(int)", 1, 20000, 3), ("a(int)", 3, 12000, 2), ("a(int)", 1, 100, 4)])
        self.assertIn("2 more kernels; --top 3", self.words(binary(launches), "--top", "1"))

    def test_what_to_record(self) -> None:
        words = self.words(binary([Launch("k", {TIME: 1, SM: 50, MEMORY: 50})]))
        self.assertIn("--section WarpStateStats", words)
        self.assertTrue(all(len(line) <= 80 for line in words.splitlines()), words)


class Forms(Case):
    LAUNCHES = [Launch('void f<(int)1>("x", float *)', {TIME: 431840, SM: 64.86, MEMORY: 62.5, L1: 76.57, L2: 16.27, DRAM: 8, POSSIBLE: 66.67, ACHIEVED: 56.08,
                                                       LIMIT + "registers": 2, LIMIT + "shared_mem": 3, "launch__registers_per_thread": 51, WAVES: 1.6,
                                                       "dram__bytes.sum.per_second": 44e9}),
                Launch("g(int)", {TIME: 1600, SM: 0.5, MEMORY: 70}, grid=(1, 1, 1), block=(64, 1, 1))]

    def test_same_answer(self) -> None:
        """Binary, CSV of both pages and text: one answer, whatever the units are written as."""
        expected = self.answer(binary(self.LAUNCHES))
        scaled = {TIME: ("usecond", 1e3), "dram__bytes.sum.per_second": ("Gbyte/second", 1e9)}
        short = {TIME: ("us", 1e3), "dram__bytes.sum.per_second": ("Gbyte/s", 1e9)}
        for name, content in (("base", raw(self.LAUNCHES)), ("scaled", raw(self.LAUNCHES, scaled)), ("short", raw(self.LAUNCHES, short)),
                              ("windows", raw(self.LAUNCHES).replace("\n", "\r\n")), ("unquoted", raw(self.LAUNCHES[1:]).replace('"', "").replace(
                                  "(64, 1, 1)", "64").replace("(1, 1, 1)", "1")), ("details", details(self.LAUNCHES)), ("text", text(self.LAUNCHES)),
                              ("imported", text(self.LAUNCHES).partition("\n")[2]),
                              ("gzip", gzip.compress(binary(self.LAUNCHES)))):
            with self.subTest(name):
                got = self.answer(content)["kernels"]
                if name == "unquoted":
                    self.assertEqual((got[0]["name"], got[0]["duration_ns"], got[0]["bound"]), ("g(int)", 1600, "memory"))
                    continue
                for a, b in zip(got, expected["kernels"], strict=True):
                    self.assertEqual({k: v for k, v in a.items() if k != "compute_capability"}, {k: v for k, v in b.items() if k != "compute_capability"})

    def test_numbers_that_may_be_read_in_two_ways(self) -> None:
        """A decimal comma and an unknown unit give no number rather than a wrong one."""
        for unit, value, expected in (("%", "64,86", None), ("%", "1,064.86", 1064.86), ("furlong", "64.86", None), ("%", "n/a", None)):
            content = raw([Launch("k", {TIME: 1, SM: "VALUE"})]).replace("VALUE", value)
            content = content.replace('"%"', f'"{unit}"')
            self.assertEqual(self.answer(content)["kernels"][0]["speed_of_light"]["sm_pct"], expected, (unit, value))

    def test_tables_of_names_go_on(self) -> None:
        """The ids of a second table follow those of the first, as ncu reads them."""
        one, names = Launch("a", {TIME: 5}), [TIME]
        late = [*names, "launch__registers_per_thread"]
        second = block([], late[1:]) + block([Launch("b", {TIME: 9, late[1]: 33})], late, with_names=False)
        kernels = self.answer(binary([one]) + second)["kernels"]
        self.assertEqual([(k["name"], k["duration_ns"], k["registers_per_thread"]) for k in kernels], [("b", 9, 33), ("a", 5, None)])

    def test_ranges_are_counted(self) -> None:
        self.assertEqual(self.answer(binary([Launch("k", {TIME: 1})], ranges=2))["results_not_read"], 2)


class Wrong(Case):
    def test_cut(self) -> None:
        """A cut report keeps the launches before the cut and says so; --strict is 4; one without a launch is an error."""
        whole = binary([Launch("a", {TIME: 5}), Launch("b", {TIME: 9})])
        self.assertIn("The file is cut", self.words(whole[:-3]))
        self.assertEqual(run("report", self.path, "--strict")[0], 4)
        for end in range(4, len(whole), 7):
            self.path.write_bytes(whole[:end])
            self.assertIn(run("report", self.path)[0], (0, 3), end)
        self.path.write_bytes(whole[:40])
        status, _, err = run("report", self.path)
        self.assertEqual(status, 3)
        self.assertIn("--csv --page raw", err)

    def test_no_launch(self) -> None:
        self.path.write_bytes(b"NVR\0" + binary([Launch("a", {TIME: 5})])[4:10])
        status, _, err = run("report", self.path)
        self.assertEqual(status, 3)
        self.assertIn("without a launch", err)

    def test_hostile(self) -> None:
        dice = random.Random(7)
        sources = [binary(Forms.LAUNCHES), raw(Forms.LAUNCHES).encode(), details(Forms.LAUNCHES).encode(), text(Forms.LAUNCHES).encode()]
        for at in range(40 if SANITIZED else 160):
            content = bytearray(sources[at % len(sources)])
            for _ in range(dice.randrange(1, 9)):
                content[dice.randrange(8, len(content))] = dice.choice((0, 255, 127, 128, 34, 44, 10, dice.randrange(256)))
            self.path.write_bytes(content)
            status, out, err = run("report", self.path, "--json")
            self.assertIn(status, (0, 3), err)
            if status == 0:
                json.loads(out)
        for counts in (2**63, 2**64 - 1):
            self.path.write_bytes(b"NVR\0" + sized(field(1, 7)) + sized(field(2, counts) + field(5, counts)))
            self.assertEqual(run("report", self.path)[0], 3)

    def test_limit(self) -> None:
        self.path.write_bytes(binary([Launch("a", {TIME: 5}), Launch("b", {TIME: 9})]))
        status, _, err = run("report", self.path, "--limit", "events=1")
        self.assertEqual(status, 3)
        self.assertIn("--limit events", err)

    def test_names_cannot_steer_the_terminal(self) -> None:
        self.assertNotIn("\x1b", self.words(binary([Launch("a\x1b[2Jb", {TIME: 5})])))

    def test_other_options_and_commands(self) -> None:
        self.path.write_bytes(binary([Launch("a", {TIME: 5})]))
        status, _, err = run("report", self.path, "--csv")
        self.assertEqual(status, 2)
        self.assertIn("--json", err)
        for command in ("check", "stats"):
            status, _, err = run(command, self.path)
            self.assertEqual(status, 3)
            self.assertIn("`holdup report FILE` reads it, alone or beside a trace", err)
        if OWN:
            status, out, err = run("report", self.path, OWN[0])
            self.assertIn("Nsight Compute", err + out.decode())


class Selected(Case):
    KERNELS = [("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)", 50),
               ("void (anonymous namespace)::softmax_warp_forward<float, 10>(float*, int)", 40), ("ampere_sgemm_64x64_tn", 90),
               ("void at::native::vectorized_elementwise_kernel<2, at::native::FillFunctor<float> >(int)", 5),
               ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", 200), ("_Z6secretPf", 60), ("small", 1)]

    def trace(self, device: str, steps: int = 4) -> None:
        events: list[dict[str, Any]] = []
        for step in range(steps or 1):
            start = step * 1000.0
            if steps:
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 2, "ts": start, "dur": 990})
            for at, (name, us) in enumerate(self.KERNELS):
                number = step * 100 + at + 1
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": start + at * 10 + 1, "dur": 5,
                               "args": {"correlation": number}})
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start + at * 120 + 20, "dur": us,
                               "args": {"device": 0, "stream": 7, "correlation": number, "grid": [1, 1, 1], "block": [32, 1, 1]}})
        self.path = self.path.with_name("trace.json")
        self.path.write_text(json.dumps({"deviceProperties": [{"id": 0, "name": device}], "traceEvents": events}))

    def suggest(self, *options: str) -> tuple[int, str, str]:
        status, out, err = run("report", self.path, "--suggest", "ncu", "-q", *options)
        return status, out.decode(), err

    def test_names_and_counts(self) -> None:
        """Functions without namespaces and templates; two launches of one function per step; no collective, no mangled name."""
        self.trace("NVIDIA A100-SXM4-80GB")
        status, out, _ = self.suggest()
        self.assertEqual(status, 0)
        self.assertIn("'regex:^(.*::)?(ampere_sgemm_64x64_tn|vectorized_elementwise_kernel|softmax_warp_forward)$'", out)
        self.assertIn("--launch-skip 8 --launch-count 4", out)
        self.assertIn("They are launched 4 times per step", out)
        self.assertNotIn("nccl", out.lower())
        self.assertIn("(ampere_sgemm_64x64_tn)$'", self.suggest("--top", "1")[1])

    def test_without_steps(self) -> None:
        self.trace("NVIDIA A100-SXM4-80GB", steps=0)
        self.assertIn("--launch-skip 0 --launch-count 10", self.suggest()[1])

    def test_no_nvidia(self) -> None:
        self.trace("AMD Instinct MI250X")
        status, _, err = self.suggest()
        self.assertEqual(status, 3)
        self.assertIn("AMD", err)


class Real(unittest.TestCase):
    """Numbers of `ncu --import FILE --csv --page raw`, version 2024.1.1."""

    def answer(self, name: str) -> dict[str, Any]:
        if not (REAL / name).exists():
            skip_loudly(f"{name} is not present")
            self.skipTest("no such file")
        status, out, err = run("report", REAL / name, "--json")
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_lines_fit_a_terminal(self) -> None:
        paths = sorted(REAL.glob("*/*"))
        if not paths:
            skip_loudly("reports of shared/traces/ncu are not present")
            self.skipTest("no such files")
        for path in paths:
            with self.subTest(path.name):
                _, out, _ = run("report", path, env={"COLUMNS": "80"})
                self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)

    def test_esmm(self) -> None:
        kernels = self.answer("esmm/profile.ncu-rep")["kernels"]
        self.assertEqual(len(kernels), 4)
        first = kernels[0]
        self.assertEqual((first["shown_launch"], first["duration_ns"], first["grid"], first["block"]), (0, 431840, [16, 16, 1], [512, 1, 1]))
        self.assertEqual((first["device"], first["compute_capability"], first["waves"]), ("NVIDIA A10G", "8.6", 1.6))
        for key, value in (("sm_pct", 64.858040), ("memory_pct", 64.858040), ("l1_pct", 76.571219), ("l2_pct", 16.266420), ("dram_pct", 7.998335)):
            self.assertAlmostEqual(first["speed_of_light"][key], value, 5)
        self.assertAlmostEqual(first["occupancy"]["achieved_pct"], 56.079513, 5)
        self.assertEqual((first["occupancy"]["blocks_per_sm"], first["occupancy"]["limited_by"]), (2, ["registers"]))
        self.assertEqual((first["bound"], first["memory_level"]), ("compute-memory", "L1 or shared memory"))

    def test_mojo(self) -> None:
        kernels = self.answer("mojo/profile.ncu-rep")["kernels"]
        self.assertEqual([k["name"] for k in kernels if k["shown_launch"] == 0], ["warmingUp(float *)"])
        self.assertEqual({k["bound"] for k in kernels}, {"small-grid"})

    def test_csv_between_output_of_a_program(self) -> None:
        kernel = self.answer("superbench-cublaslt/cublaslt_ncu.log")["kernels"][0]
        self.assertEqual((kernel["duration_ns"], kernel["grid"], kernel["bound"]), (406240, [9, 32, 1], "latency"))
        self.assertEqual(kernel["occupancy"]["limited_by"], ["registers", "shared_memory"])

    def test_text(self) -> None:
        kernels = self.answer("esmm/profile.txt")["kernels"]
        self.assertEqual([(k["launches"], k["bound"]) for k in kernels], [(30, "unknown")] * 3)


if __name__ == "__main__":
    unittest.main()
