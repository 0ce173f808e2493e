# SPDX-License-Identifier: Apache-2.0
"""Logs of training runs: steps, parts and NCCL's facts are those that an independent reading finds; what a log cannot tell is not said."""
import gzip
import json
import re
import statistics
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import ROOT, SHARED, run, skip_loudly

try:
    import jsonschema
except ImportError:
    jsonschema = None

DEEPSPEED = SHARED / "traces/deepspeed"
MOE = DEEPSPEED / "megatron-ds-moe/gpt3-0.125B-tokendropping-graduallyIncrease-lr-3.0e-4.log"
SUPERBENCH = DEEPSPEED / "superbench-megatron/megatron_deepspeed.log"
ZERO = DEEPSPEED / "bigscience-zero/meg_ds_zero_gpt2_perf_n16-1999616.out"
ARGONNE = DEEPSPEED / "argonne-wallclock/cooldown.md"
TOPOMOE = DEEPSPEED / "topomoe/rebalance_step25.out"

NOISE = "node0:10:20 [0] NCCL INFO comm 0x1 rank 3 nranks 16 cudaDev 3 - Init COMPLETE\n"      # makes any text a log


def megatron(iteration: int, ms: float, batch: int = 256) -> str:
    return (f" iteration {iteration:8}/  100000 | consumed samples: {iteration * batch:12} | elapsed time per iteration (ms): {ms:.1f} | "
            f"learning rate: 1.0E-04 | global batch size: {batch:5} | lm loss: 2.5E+00 | number of nan iterations:   0 |\n")


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, text: str | bytes, name: str = "train.log") -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def ask(self, *words: object) -> dict[str, Any]:
        status, out, err = run("report", *words, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def of(self, text: str | bytes, *words: object) -> dict[str, Any]:
        return self.ask(self.write(text), *words)

    def said(self, *words: object) -> str:
        """The text of train.log as one line."""
        return " ".join(run("report", self.folder / "train.log", *words)[1].decode().split())

    def hints(self, told: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {h["id"]: h for h in told["hints"]}


class Real(Case):
    """Against regular expressions."""

    def real(self, path: Path) -> str:
        if not path.exists():
            skip_loudly(f"{path} is not there")
            self.skipTest("no such file")
        return path.read_text(errors="replace")

    def test_megatron(self) -> None:
        for path, key in ((MOE, r"iteration +(\d+)/ *\d+ .*elapsed time per iteration \(ms\): ([\d.]+)"),
                          (SUPERBENCH, r"iteration +(\d+)/ *\d+ .*elapsed time per iteration \(ms\): ([\d.]+)"),
                          (ARGONNE, r"iteration= *(\d+)/.*elapsed_time_per_iteration_ms=([\d.]+)")):
            with self.subTest(path=path.name):
                steps = [(int(a), float(b)) for a, b in re.findall(key, self.real(path))]
                told = self.ask(path)
                self.assertEqual(told["writer"], "Megatron-LM")
                self.assertGreater(len(steps), 3)
                times = [ms for _, ms in steps]
                if told["step"]["warmup_ns"] is not None:
                    self.assertAlmostEqual(told["step"]["warmup_ns"] / 1e6, times[0], places=3)
                    times = times[1:]
                self.assertEqual(told["step"]["count"], len(times))
                self.assertAlmostEqual(told["step"]["median_ns"] / 1e6, statistics.median(times), places=3)
                self.assertAlmostEqual(told["step"]["max_ns"] / 1e6, max(times), places=3)
                self.assertEqual(told["step"]["steps_per_line"], steps[2][0] - steps[1][0])

    def test_parts(self) -> None:
        """Medians of each timer, and their sum beside the step."""
        text, told = self.real(MOE), self.ask(MOE)
        parts = {p["name"]: p for p in told["parts"]}
        top = 0.0
        for name in ("forward-compute", "backward-compute", "optimizer", "batch-generator", "backward-embedding-all-reduce"):
            values = [float(v) for v in re.findall(rf"time \(ms\) \|.*?\b{name}: ([\d.]+)", text)]
            self.assertAlmostEqual(parts[name]["median_ns"] / 1e6, statistics.median(values), places=3)
            self.assertEqual(parts[name]["count"], len(values))
            top += statistics.median(values) if name != "batch-generator" else 0
        self.assertEqual(parts["batch-generator"]["inside"], "forward")
        self.assertAlmostEqual(told["rest_ns"] / 1e6, told["step"]["median_ns"] / 1e6 - top, places=3)
        self.assertEqual({p["role"] for n, p in parts.items() if n.startswith(("load-", "model-", "train/"))}, {"once"})

    def test_deepspeed(self) -> None:
        text, told = self.real(ARGONNE), self.ask(ARGONNE)
        parts = {p["name"]: p for p in told["parts"]}
        for name in ("fwd", "bwd", "bwd_allreduce", "step"):
            values = [float(v) for v in re.findall(rf"\| {name}: ([\d.]+)", text)]
            self.assertAlmostEqual(parts[name]["median_ns"] / 1e6, statistics.median(values), places=3)
        self.assertNotIn("fwd_microstep", parts)
        self.assertEqual((parts["bwd_allreduce"]["role"], parts["bwd_allreduce"]["inside"]), ("communication", "bwd"))
        self.assertIn("communication", self.hints(told))

    def test_deepspeed_without_lines_of_steps(self) -> None:
        """As DeepSpeed 0.19 prints at its own level of logging: parts of each step, and nothing else."""
        parts = [(5.42, 2.44, 7.55), (0.14, 3.84, 3.96), (0.14, 15.36, 2.50), (5.11, 1.76, 6.87), (0.80, 5.93, 3.46)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "ds.log")
            path.write_text("[2026-11-29 11:32:00,801] [WARNING] [real_accelerator.py:213:get_accelerator] Setting accelerator to CPU.\n" + "".join(
                f"[Rank 0] time (ms) | fwd_microstep: {f} | bwd_microstep: {b} | bwd_inner_microstep: 0.20 | bwd_allreduce_microstep: 0.05 | step_microstep: {s}\n"
                f"[Rank 0] time (ms) | fwd: {f} | bwd: {b} | bwd_inner: 0.20 | bwd_allreduce: 0.05 | step: {s}\n" for f, b, s in parts))
            told = self.ask(path)
            said = run("report", path)[1].decode()
        self.assertNotIn("they are more than a step", said)
        self.assertNotIn("in none of them", said)
        times = sorted(sum(p) for p in parts)
        self.assertEqual((told["writer"], told["step"]["is_sum_of_parts"], told["step"]["count"] + (told["step"]["warmup_ns"] is not None)), ("DeepSpeed", True, 5))
        self.assertAlmostEqual(told["step"]["max_ns"] / 1e6, times[-1], places=3)
        self.assertAlmostEqual(next(p for p in told["parts"] if p["name"] == "bwd")["median_ns"] / 1e6, 3.84, places=3)
        self.assertIsNone(told["rest_ns"], "a step is the sum of its parts, so nothing is in none of them, whatever the medians are")

    def test_own_format(self) -> None:
        """"Step 0498 | Loss … | Step 6033.8ms | Tokens/sec 5,431", and none where it says nan."""
        found = [float(ms) for ms in re.findall(r"^Step \d+ \|.*\| Step ([\d.]+)ms", self.real(TOPOMOE), re.M)]
        told = self.ask(TOPOMOE)
        self.assertGreater(len(found), 400)
        self.assertEqual(told["step"]["count"] + (told["step"]["warmup_ns"] is not None), len(found))
        self.assertAlmostEqual(told["step"]["median_ns"] / 1e6, statistics.median(found[told["step"]["warmup_ns"] is not None:]), places=2)
        self.assertGreater(told["step"]["tokens_per_s"], 4000)

    def test_nccl(self) -> None:
        text, told = self.real(ZERO), self.ask(ZERO)["nccl"]
        count = lambda what: len(re.findall(rf"NCCL INFO .* via {what}", text))
        self.assertEqual(told["channels"]["p2p"], count("P2P"))
        self.assertEqual(told["channels"]["ib"] + told["channels"]["ib_gpudirect"], count("NET/IB"))
        self.assertEqual(told["channels"]["socket"], count("NET/Socket"))
        self.assertEqual(told["version"], re.search(r"NCCL version (\S+)", text)[1])
        self.assertEqual(told["ranks"], max(int(n) for n in re.findall(r"NCCL INFO .* nranks (\d+)", text)))
        self.assertEqual({h["text"] for h in told["hosts"]}, set(re.findall(r"(\w+):\d+:\d+ \[\d+\] NCCL INFO", text)))


class Steps(Case):
    def test_slow_ones_that_are_regular(self) -> None:
        times = [3000.0] + [1000.0 if i % 50 else 4000.0 for i in range(1, 301)]
        told = self.of("".join(megatron(i + 1, ms) for i, ms in enumerate(times)))
        self.assertEqual((told["step"]["warmup_ns"], told["step"]["slow"], told["step"]["slow_every"]), (3_000_000_000, 6, 50))
        self.assertEqual(told["step"]["slow_excess_ns"], 6 * 3_000_000_000)
        self.assertIn("every 50 steps", self.hints(told)["slow_steps"]["words"])

    def test_slow_ones_that_are_not(self) -> None:
        told = self.of("".join(megatron(i, 5000 if i in (17, 40, 91, 92) else 1000) for i in range(1, 101)))
        self.assertEqual((told["step"]["slow"], told["step"]["slow_every"]), (4, 0))

    def test_a_level_that_changes(self) -> None:
        noise = [0.98 + 0.04 * ((i * 7919) % 101) / 100 for i in range(200)]
        told = self.of("".join(megatron(i + 1, (600 if i < 120 else 690) * noise[i]) for i in range(200)))
        change = told["step"]["change"]
        self.assertLessEqual(abs(change["iteration"] - 121), 2)
        self.assertAlmostEqual(change["after_ns"] / change["before_ns"], 1.15, delta=0.01)
        self.assertIn("slower_since", self.hints(told))

    def test_both_levels_of_a_change_are_told(self) -> None:
        """The median over two levels is that of neither; a step is slow beside those around it."""
        path = self.write("".join(megatron(i + 1, 3000 if i in (11, 17, 30, 52, 53, 80, 99) else 1000 if i < 120 else 4000) for i in range(240)))
        text = " ".join(run("report", path)[1].decode().split())
        self.assertIn("1.00 s, typically, and from step 121 on 4.00 s", text)
        self.assertIn("7 of 240 steps take more than 1.5 times as long as the typical step before step 121, or from it on", text)

    def test_steps_that_grow_have_no_change(self) -> None:
        """A straight line is none, and a slow step is one beside those around it."""
        noise = [((i * 7919) % 101 - 50) / 10 for i in range(400)]
        told = self.of("".join(megatron(i + 1, (300 + 12 * i + noise[i]) * (2 if i in (20, 300) else 1)) for i in range(400)))
        self.assertIsNone(told["step"]["change"])
        self.assertEqual(told["step"]["slow"], 2)
        self.assertRegex(self.hints(told)["grows"]["words"], r"Steps grow by 1[12]\.[0-9] ms each, from (29\d|30\d) ms to 5.(09|10) s")

    @unittest.skipUnless(TOPOMOE.exists(), "no real log")
    def test_a_real_log_that_grows(self) -> None:
        told = self.ask(TOPOMOE)
        self.assertIsNone(told["step"]["change"])
        self.assertIn("grow by 11.8 ms each", self.hints(told)["grows"]["words"])

    def test_noise_is_no_change(self) -> None:
        noise = [0.9 + 0.2 * ((i * 7919) % 101) / 100 for i in range(300)]
        told = self.of("".join(megatron(i + 1, 600 * noise[i]) for i in range(300)))
        self.assertIsNone(told["step"]["change"])
        self.assertEqual(told["hints"], [])

    def test_a_batch_that_grows_is_no_change(self) -> None:
        told = self.of("".join(megatron(i + 1, 600 if i < 100 else 900, 256 if i < 100 else 384) for i in range(200)))
        self.assertTrue(told["step"]["batch_varies"])
        self.assertIsNone(told["step"]["change"])

    def test_lines_that_are_replaced_count_no_more(self) -> None:
        """Ranks print what was taken for steps; then come the lines of the program itself, one for each step."""
        others = "".join(f"{rank}: step {i} loss 2.5 time 0.2{rank} s\n" for start in (0, 0) for i in range(1, 6) for rank in range(4))
        told = self.of(others + "".join(megatron(i, 1000) for i in range(10, 201, 10)))
        self.assertEqual((told["step"]["median_ns"], told["step"]["lines_of_other_ranks"]), (1_000_000_000, 0))

    def test_restarts(self) -> None:
        text = "".join(megatron(i, 1000) for i in range(10, 201, 10)) + "loading the checkpoint\n" * 60
        told = self.of(text + "".join(megatron(i, 1000) for i in range(160, 301, 10)))
        self.assertEqual((told["step"]["restarts"], told["step"]["steps_per_line"]), (1, 10))
        self.assertEqual(told["step"]["repeated_steps"], 50)       # 151 to 200
        self.assertIn("computed again", self.hints(told)["repeated_steps"]["words"])

    def test_every_rank_prints(self) -> None:
        """One step, whose time is the slowest rank's."""
        told = self.of("".join(f"node{r}: {megatron(i, 1000 + 10 * r)}" for i in range(1, 21) for r in range(8)))
        self.assertEqual((told["step"]["count"], told["step"]["median_ns"], told["step"]["restarts"]), (20, 1_070_000_000, 0))
        self.assertEqual(told["step"]["lines_of_other_ranks"], 20 * 7)

    def test_a_loader_that_is_slow(self) -> None:
        text = "".join(f"Epoch: [0]  [{i:4}/1251]  eta: 0:45:12  lr: 0.1  loss: 6.9 (6.9)  time: {0.5:.4f}  data: {0.2:.4f}  max mem: 1234\n" for i in range(0, 1250, 10))
        told = self.of(text)
        self.assertAlmostEqual(told["step"]["median_ns"], 500_000_000)
        hint = self.hints(told)["data_loading"]
        self.assertEqual(hint["most_saved_ns_per_step"], 200_000_000)
        self.assertIn("40 %", hint["words"])

    def test_forms_of_others(self) -> None:
        for form, ns in (("iter {i}: loss 3.2, time 345.10ms, mfu 12.3%", 345_100_000),
                         ("step {i} | loss: 3.29 | norm: 0.3 | dt: 345.10ms | tok/sec: 1,518", 345_100_000),
                         ("{{'step': {i}}} step: {i} step_time: 0.3451s", 345_100_000),
                         ("Epoch: [0][{i}/5005]\tTime  0.345 ( 0.9)\tData  0.100 ( 0.3)\tLoss 6.9", 345_000_000),
                         ("steps: {i} loss: 2.1230 iter time (s): 0.345 samples/sec: 42.4", 345_000_000),
                         ("Epoch 1 | iter {i} step 10 | loss train: 2.1, val: n/a | iter time: 345.10 ms (step) remaining time: 3:12:12", 345_100_000),
                         ("completed step: {i}, seconds: 0.345, TFLOP/s/device: 412.123, Tokens/s/device: 7948.2, total_weights: 65536, loss: 9.000", 345_000_000),
                         ("Training epoch 0, iteration {i}/999 | lr: 1e-05 | global_step: {i} | train_step_timing in s: 0.345 | consumed_samples: 256", 345_000_000),
                         ("\033[32mstep {i}\033[0m took 345.1 ms", 345_100_000)):
            with self.subTest(form=form):
                told = self.of("".join(form.format(i=i) + "\r\n" for i in range(1, 30)))
                self.assertEqual((told["step"]["count"], told["step"]["median_ns"]), (29, ns))

    def test_units(self) -> None:
        """Of words that are units; what sticks to a number and is none makes it no time."""
        for form, ns in (("time: 345 milliseconds", 345_000_000), ("time: 345\u00b5s", 345_000), ("time: 345 minutes", 345 * 60_000_000_000),
                         ("time: 2h", 7200 * 10**9), ("time 0.5 s", 500_000_000)):
            with self.subTest(form=form):
                told = self.of("".join(f"step {i} loss 2.1 {form}\n" for i in range(1, 30)))
                self.assertEqual(told["step"]["median_ns"], ns)
        told = self.of("".join(f"step {i} loss 2.1 time: 0.35 min: 0.31 max: 0.4\n" for i in range(1, 30)))       # the least, no minutes
        self.assertEqual((told["step"]["unit"], told["step"]["numbers"]["median"]), ("unknown", 0.35))
        for form in ("time: 1h2m3s", "time: 1.21K", "time: 1.73M", "time=2024-05-01T12:00:00Z", "Time: 2024-05-01", "time: 12/s", "time: 00:12:07"):
            with self.subTest(form=form):
                self.assertIsNone(self.of(NOISE + "".join(f"step {i} loss 2.1 {form}\n" for i in range(1, 30)))["step"])

    def test_a_time_without_a_unit(self) -> None:
        """It is a number, unless the user or the rest of the log tells what it counts."""
        body = "".join(f"step {i} | loss 2.1 | time {340 + i % 9}.5 | lr 1e-4\n" for i in range(1, 60))
        values = [340.5 + i % 9 for i in range(1, 60)]
        path = self.write(body)
        step = self.ask(path)["step"]
        self.assertEqual((step["unit"], step["median_ns"], step["max_ns"], step["total_ns"], step["slow_excess_ns"]), ("unknown", None, None, None, None))
        self.assertEqual((step["numbers"]["median"], step["numbers"]["max"]), (statistics.median(values), max(values)))
        text = " ".join(run("report", path)[1].decode().split())
        self.assertIn("the log does not say their unit; give it with --time-unit s, ms or us", text)
        self.assertNotRegex(text, r"STEP +[0-9.]+ (s|ms|min)\b")
        for unit, ns in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
            step = self.ask(path, "--time-unit", unit)["step"]
            self.assertEqual((step["unit"], step["median_ns"], step["numbers"]), ("given", round(statistics.median(values) * ns), None))
        for key in ("iter_time=", "step_time: ", "batch_time ", "iter time: "):
            self.assertEqual(self.of("".join(f"step {i} loss 2.1 {key}345.1\n" for i in range(1, 30)))["step"]["unit"], "unknown", key)

    def test_a_unit_that_the_rest_of_a_log_tells(self) -> None:
        clock = lambda i, per: f"2025-05-01 12:{int(i * per) // 60:02}:{int(i * per) % 60:02},{int(i * per * 1000) % 1000:03} "
        of = lambda form, **more: self.of("".join(form(i) for i in range(1, 60)), *more)["step"]
        for form, unit, ns in ((lambda i: clock(i, 0.36) + f"step {i} time 345.1\n", "clock", 345_100_000),
                               (lambda i: clock(i, 2.2) + f"step {i} time 2.1\n", "clock", 2_100_000_000),
                               (lambda i: clock(i * 10, 0.36) + f"step {10 * i} time 345.1\n", "clock", 345_100_000),
                               (lambda i: clock(i, 0.036) + f"step {i} time 345.1\n", "unknown", None),
                               (lambda i: f"step {i} time 345.1 global batch size 256 samples/sec 740\n", "rate", 345_100_000),
                               (lambda i: f"I0501 12:00:0{i % 9}.123456 140000 train.py:320] step={i} loss=3.1 steps_per_sec=2.9 step_time=0.3451\n", "rate", 345_100_000),
                               (lambda i: f"step {i} time 345.1\n" + (f"step {i} moved took 0.9ms\n" if i == 30 else ""), "unknown", None),
                               (lambda i: f"step {i} time 345.1{'' if i % 3 else ' ms'}\n", "told", 345_100_000),
                               (lambda i: f"Epoch: [0]  [{i}/1251]  eta: 0:45:12  loss: 6.9  time: 0.5  data: 0.2  max mem: 1234\n", "told", 500_000_000),
                               (lambda i: f"[05/01 10:10:10 d2.utils.events]:  eta: 1:00:00  iter: {i}  time: 0.35  data_time: 0.01\n", "told", 350_000_000)):
            with self.subTest(form(1)):
                step = of(form)
                self.assertEqual((step["unit"], step["median_ns"], step["count"]), (unit, ns, 59))
        text = " ".join(run("report", self.write("".join(clock(i, 0.36) + f"step {i} time 345.1\n" for i in range(1, 60))))[1].decode().split())
        self.assertIn("the times of day agree with milliseconds", text)

    def test_blocks_of_ranks_without_a_prefix(self) -> None:
        """At the same times of day they are ranks; later ones are not; without times that cannot be told."""
        clock = lambda s: f"2025-05-01 12:{s // 60:02}:{s % 60:02} "
        ranks = "".join(clock(i) + f"step {i} time 0.{300 + r}s\n" for r in range(4) for i in range(1, 101))
        step = self.of(ranks)["step"]
        self.assertEqual((step["count"], step["median_ns"], step["anew_are"], step["begin_anew"], step["lines_of_other_ranks"]), (100, 303_000_000, "ranks", 3, 300))
        later = "".join(clock(100 * r + i) + f"step {i} time 0.{300 + r}s\n" for r in range(4) for i in range(1, 101))
        step = self.of(later)["step"]
        self.assertEqual((step["count"], step["anew_are"], step["begin_anew"], step["restarts"]), (400, "later", 3, 0))
        bare = "".join(f"step {i} time 0.{300 + r}s\n" for r in range(4) for i in range(1, 101))
        step = self.of(bare)["step"]
        self.assertEqual((step["count"], step["anew_are"], step["begin_anew"], step["restarts"]), (400, "unknown", 3, 0))
        text = " ".join(run("report", self.write(bare))[1].decode().split())
        self.assertIn("numbers of steps begin anew 3 times, which may be ranks one behind the other, epochs or a run that was begun anew", text)
        epochs = "".join(f"Epoch {r + 1}/4\n" + "".join(f"step {i} time 0.3s\n" for i in range(1, 101)) for r in range(4))
        step = self.of(epochs)["step"]
        self.assertEqual((step["count"], step["anew_are"], step["begin_anew"]), (400, None, 0))
        uneven = "".join(clock(i) + f"step {i} time 0.{300 + r}s\n" for r, n in ((0, 60), (1, 100), (2, 80)) for i in range(1, n + 1))
        step = self.of(uneven)["step"]
        self.assertEqual((step["count"], step["anew_are"], step["max_ns"], step["min_ns"]), (100, "ranks", 302_000_000, 301_000_000))

    def test_times_of_more_than_a_step(self) -> None:
        for form in ("elapsed time: 34.9s", "total time: 34.91 sec", "wall time 12.5", "wall-clock time: 12.5", "remaining time: 999s", "Epoch time: 12.5s"):
            with self.subTest(form=form):
                self.assertIsNone(self.of(NOISE + "".join(f"step {i} loss 2.1 {form}\n" for i in range(1, 30)))["step"])
        told = self.of("".join(f"[{i}/1000] step time: 0.333s, remaining time: {1000 - i}s\n" for i in range(1, 30)))
        self.assertEqual(told["step"]["median_ns"], 333_000_000)

    def test_times_since_the_start(self) -> None:
        told = self.of(NOISE + "".join(f"[{i}/1000] loss=2.1 time={0.345 * i:.2f}s\n" for i in range(10, 1000, 10)))
        self.assertIsNone(told["step"])

    def test_numbers_of_epochs(self) -> None:
        """What falls back is no restart, and of two brackets the last is the iteration."""
        for form in ("Train: {e} [{i:4}/1251 (  4%)]  Loss: 6.9  Time: 0.351s, 2925.71/s  Data: 0.011 (0.020)", "INFO Train: [{e}/300][{i}/1251] eta 0:07:12 time 0.351 (0.35) mem 100MB",
                     "Epoch: [{e}][{i}/5005]\tTime  0.351 ( 0.330)\tData  0.010 ( 0.012)\tLoss 6.9",
                     "Epoch(train) [{e}][{i}/1251]  time: 0.351  data_time: 0.01", "Epoch {e} | step {i}/100 | step_time 0.351s",
                     "[{i}/1251] time 0.351s (0.35)"):
            with self.subTest(form=form):
                told = self.of("".join(form.format(e=e, i=i) + "\n" for e in range(1, 4) for i in range(0, 1000, 10)))
                self.assertEqual((told["step"]["count"], told["step"]["restarts"], told["step"]["repeated_steps"]), (300, 0, 0))
                self.assertEqual((told["step"]["median_ns"], told["step"]["lines_of_other_ranks"]), (351_000_000, 0))
                self.assertNotIn("repeated_steps", self.hints(told))
        short = self.of("".join(f"Epoch: [{e}][{i}/5] time 0.351s\n" for e in range(9) for i in range(5)))
        self.assertEqual((short["step"]["count"], short["step"]["lines_of_other_ranks"]), (45, 0))

    def test_files_of_ranks(self) -> None:
        """They cover the same steps: the slowest counts, and there is no restart."""
        paths = [self.write("".join(f"step {i} | time {0.3 + 0.01 * r + i % 7 / 1000:.3f}s\n" for i in range(1, 101)), f"rank{r}.log") for r in range(4)]
        told = self.ask(*paths)
        self.assertEqual((told["step"]["count"], told["step"]["restarts"], told["step"]["lines_of_other_ranks"]), (100, 0, 300))
        self.assertEqual(told["step"]["max_ns"], 336_000_000)
        self.assertEqual(told["step"]["min_ns"], 330_000_000)
        again = self.ask(self.write("".join(f"step {i} | time 0.3{i % 7}s\n" for i in range(1, 101)), "a"), self.write("".join(f"step {i} | time 0.3{i % 7}s\n" for i in range(81, 181)), "b"))
        self.assertEqual((again["step"]["restarts"], again["step"]["repeated_steps"]), (1, 20))

    def test_why_it_ended(self) -> None:
        """Lines of the driver, Slurm, the kernel and torchrun; a mere mention is none."""
        steps = "".join(f"step {i} | step_time 500 ms\n" for i in range(30))
        root = "Root Cause (first observed failure):\n[0]:\n  time      : 2026-03-04_10:00:12\n  host      : n1\n  rank      : 11 (local_rank: 3)\n  exitcode  : -9 (pid: 1243)\n"
        cancelled = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-04T11:05:00"
        xid = "[Wed Mar  4] NVRM: Xid (PCI:0000:07:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"
        for text, name, words in ((xid, "xid", r"XID 79 of GPU 0000:07:00 \(line {n}\); `holdup doctor --xid 79` says"),
                                  (cancelled + " DUE TO TIME LIMIT ***\n", "cancelled", r"cancelled the job \(line {n}\): TIME LIMIT\."),
                                  (cancelled + " ***\n", "cancelled", "it says no reason"),
                                  ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n", "host_memory", r"host memory.* ran out \(line {n}\)"),
                                  ("".join("0: " + line + "\n" for line in root.splitlines()), "rank_failed", r"rank 11 fail first, with exit code -9 \(line {n}\)"),
                                  (root, "rank_failed", r"rank 11 fail first, with exit code -9 \(line {n}\): killed by SIGKILL")):
            for before, line in ((steps, 31), ("", 1)):
                hints = self.hints(self.of(before + text))
                self.assertRegex(hints[name]["words"], words.format(n=line))
                self.assertEqual(len(hints), 1)
        self.assertEqual(self.hints(self.of(steps + "exitcode  : -9\nno Xid (here) 79, nothing CANCELLED AT all, time limit 3\n")), {})

    def test_the_slow_rank(self) -> None:
        """It is named, by prefixes or by files, if nearly all of its lines are above those of the others."""
        line = lambda i, ms: f"step {i} | loss 3.0 | dt: {ms + i % 3}.00ms\n"
        for form in ("{r:2}: ", "[rank{r}]:", "[1,{r}]<stdout>:"):
            told = self.of("".join(form.format(r=r) + line(i, 400 if r == 5 else 300) for i in range(1, 30) for r in range(8)))
            hint = self.hints(told)["slow_rank"]
            self.assertRegex(hint["words"], "^Rank 5 prints times of steps that are 33 % longer than those of the other 7 ")
            self.assertAlmostEqual(hint["most_saved_ns_per_step"], 1e8, delta=1e6)
        paths = [self.write("".join(line(i, 400 if r == 2 else 300) for i in range(1, 30)), f"rank{r}.log") for r in range(4)]
        self.assertRegex(self.hints(self.ask(*paths))["slow_rank"]["words"], "^The rank of rank2.log prints .* 33 % longer .* the other 3 ")
        alike = self.of("".join(f"{r}: " + line(i, 300 + 90 * ((i + r) % 4 == 0)) for i in range(1, 30) for r in range(8)))
        self.assertNotIn("slow_rank", self.hints(alike))

    def test_the_slow_rank_of_several_nodes(self) -> None:
        """Each node's log names its ranks; lines of another form before those of the second node are no reason to forget the first."""
        line = lambda i, r: f"{r}: {megatron(i, 1500 if r == 2 else 1000)}"
        nodes = ["".join(line(i, r) for i in range(1, 21) for r in ranks) for ranks in (range(4), range(4, 8))]
        for before in ("", "4: step 1 took 0.5 s\n4: step 2 took 0.5 s\n"):
            with self.subTest(before=before):
                told = self.ask(self.write(nodes[0], "node0.log"), self.write(before + nodes[1], "node1.log"))
                self.assertEqual((told["step"]["count"], told["step"]["median_ns"]), (20, 1_500_000_000))
                self.assertRegex(self.hints(told)["slow_rank"]["words"], "^Rank 2 prints times of steps that are 50 % longer than those of the other 7 ")

    def test_micro_steps_are_not_called_ranks(self) -> None:
        told = self.of("".join(f"step {i // 4} micro_step {i % 4} loss 1 time 0.1s\n" for i in range(200)))
        self.assertEqual(told["step"]["count"], 50)
        self.assertIn("several lines tell the same step, and none of them whose it is", self.said())

    def test_objects_of_json(self) -> None:
        """One in each line: with a unit in the key, without one, and with a pattern of one's own."""
        told = self.of("".join(json.dumps({"step": i, "loss": 2.0, "step_time_ms": 512.5}) + "\n" for i in range(1, 30)))["step"]
        self.assertEqual((told["count"], told["median_ns"], told["unit"]), (29, 512_500_000, "told"))
        told = self.of("".join(json.dumps({"rank": r, "step": i, "step_time_ms": 700 if r == 2 else 500}) + "\n" for i in range(1, 30) for r in range(4)))
        self.assertRegex(self.hints(told)["slow_rank"]["words"], "^Rank 2 prints .* 40 % longer")
        bare = self.write("".join(json.dumps({"step": i, "loss": 2.0, "step_time": 0.5}) + "\n" for i in range(1, 30)))
        told = self.ask(bare)["step"]
        self.assertEqual((told["numbers"]["median"], told["median_ns"], told["unit"]), (0.5, None, "unknown"))
        self.assertEqual(self.ask(bare, "--time-unit", "s")["step"]["median_ns"], 500_000_000)
        self.assertEqual(self.ask(bare, "--time-unit", "ms", "--pattern", '"step": ([0-9]+).*"step_time": ([0-9.]+)')["step"]["median_ns"], 500_000)

    def test_progress_bars(self) -> None:
        """They are refused with a pattern that reads them: seconds of an iteration, and iterations of a second."""
        bar = "{{'loss': 2.1, 'epoch': 0.02}}\n\r  1%|#    | {i}/400 [00:10<07:10,  {n}, loss=1.2]"
        for form, ns in (("1.25s/it", 1_250_000_000), ("4.00it/s", 250_000_000)):
            path = self.write("".join(bar.format(i=i, n=form) for i in range(1, 200)))
            for words in (("report", path), ("check", path)):
                status, _, err = run(*words)
                self.assertEqual(status, 3)
                self.assertIn("this is a log with a progress bar", err)
            pattern = re.search(r"--pattern '(.*)'", err)[1]
            self.assertEqual(self.ask(path, "--pattern", pattern)["step"]["median_ns"], ns)

    def test_lines_that_are_many_steps_apart(self) -> None:
        """Times of day say whether a line has the time of one step or of all of them; else the report says that nothing does."""
        at = lambda s: f"2026-03-04 10:{s // 60 % 60:02}:{s % 60:02}"
        every = lambda time: "".join(f"{at(i * 50)} step {i * 100} loss 1 time {time}\n" for i in range(1, 25))
        told = self.of(every("50.1s"))["step"]
        self.assertEqual((told["median_ns"], told["steps_per_line"], told["steps"], told["time_is_of"]), (501_000_000, 100, 2400, "line"))
        self.assertIn("by the times of day it has the time of all of them", self.said())
        told = self.of(every("0.501s"))["step"]
        self.assertEqual((told["median_ns"], told["steps_per_line"], told["steps"], told["time_is_of"]), (501_000_000, 1, 24, "step"))
        told = self.of("".join(f"step {i * 100} loss 1 time 50.1s\n" for i in range(1, 25)))["step"]
        self.assertEqual((told["median_ns"], told["time_is_of"]), (50_100_000_000, "unknown"))
        self.assertIn("nothing tells whether", self.said())
        told = self.of("".join(f"step {i * 100} loss 1 step_time 0.5s\n" for i in range(1, 25)))["step"]
        self.assertEqual(told["time_is_of"], "step")

    def test_what_is_outside_of_steps(self) -> None:
        """Times of day say that more passes than the log times; not where they agree, and not where its time may be of many steps."""
        at = lambda s: f"2026-03-04 10:{s // 60 % 60:02}:{s % 60:02}"
        told = self.of("".join(f"{at(i * 2)} step {i} step_time 0.50s\n" for i in range(1, 60)))
        hint = self.hints(told)["outside_steps"]
        self.assertIn("2.00 s pass from a step to the next, and the log's own time of one is 500 ms: 75 %", hint["words"])
        self.assertEqual(hint["most_saved_ns_per_step"], 1_500_000_000)
        for text in ("".join(f"{at(i * 2)} step {i} step_time 1.90s\n" for i in range(1, 60)), "".join(f"{at(i * 200)} step {i * 100} time 0.50s\n" for i in range(1, 17))):
            self.assertNotIn("outside_steps", self.hints(self.of(text)))

    def test_times_that_rise(self) -> None:
        """They may be those since the start, and the report says why it has no steps; not where the times of day fit steps."""
        told = self.of("".join(f"step {i} | step_time {500 + 10 * i} ms\n" for i in range(1, 100)))
        self.assertEqual((told["step"], told["rising_lines"]), (None, 99))
        self.assertIn("Cannot tell: the time rises from each line to the next", self.said())
        seconds, lines = 0.0, []
        for i in range(1, 100):
            seconds += 0.5 + 0.01 * i
            lines.append(f"2026-03-04 10:{int(seconds) // 60:02}:{int(seconds) % 60:02} step {i} | step_time {500 + 10 * i} ms\n")
        told = self.of("".join(lines))
        self.assertEqual((told["step"]["count"], told["rising_lines"]), (99, 0))
        self.assertIn("grows", self.hints(told))

    def test_prefixes_of_many_ranks(self) -> None:
        for form in ("{r:2}: ", "[rank{r}] ", "[default{r}]:", "[1,{r}]<stdout>:"):
            with self.subTest(form=form):
                line = lambda i, r: form.format(r=r) + f"step {i} | loss 3.0 | dt: {300 + r}.00ms\n"
                told = self.of("".join(line(i, r) for i in range(1, 21) for r in range(64)))
                self.assertEqual((told["step"]["count"], told["step"]["restarts"], told["step"]["median_ns"]), (20, 0, 363_000_000))
                told = self.of("".join(line(i, r) for r in range(8) for i in range(1, 101)))        # one behind the other
                self.assertEqual((told["step"]["count"], told["step"]["restarts"], told["step"]["median_ns"]), (100, 0, 307_000_000))

    def test_a_restart_of_many_ranks(self) -> None:
        """In any order: the rank that writes first says that numbers fall back."""
        line = lambda i, r: f"{r:2}: step {i} | loss 3.0 | dt: {300 + r}.00ms\n"
        order = lambda i: sorted(range(16), key=lambda r: (r * 7 + i * 5) % 16)
        told = self.of("".join(line(i, r) for n in (range(1, 201), range(161, 301)) for i in n for r in order(i)))
        self.assertEqual((told["step"]["restarts"], told["step"]["repeated_steps"]), (1, 40))
        self.assertEqual((told["step"]["count"], told["step"]["median_ns"]), (340, 315_000_000))

    def test_lines_of_evaluations(self) -> None:
        extra = {50: "Evaluation at step {i} took 35.20s", 100: "save_checkpoint at step {i} took 12.3s", 150: "step {i} | val loss 2.1 | time 19.922s", 200: "Saving at step {i} took 9.0 s"}
        told = self.of("".join(f"step {i} | loss 2 | time 0.345s\n" + (extra[i].format(i=i) + "\n" if i in extra else "") for i in range(1, 251)))
        self.assertEqual((told["step"]["count"], told["step"]["max_ns"], told["step"]["slow"]), (250, 345_000_000, 0))

    def test_shares_of_a_step(self) -> None:
        told = self.of("".join(f"step {i} loss 2.1 time: 341.2ms data: 11.6ms\n" for i in range(1, 30)))
        self.assertEqual([(p["name"], p["median_ns"]) for p in told["parts"]], [("data", 11_600_000)])
        self.assertEqual(told["parts"][0]["share"], 0.033998)
        told = self.of("".join(f"step {i} loss 2.1 time: 341.2ms data: 11.6\n" for i in range(1, 30)))      # the line says its unit once
        self.assertEqual(told["parts"][0]["share"], 0.033998)
        told = self.of("".join(f"step {i} loss 2.1 time: 0.341s data: 11.6\n" for i in range(1, 30)))      # of whatever it is 11.6
        self.assertIsNone(told["parts"][0]["share"])
        self.assertEqual(told["hints"], [])
        told = self.of("".join(megatron(i, 1000) + "time (ms) | forward: 600.0 | evaluate: 35210.1 |\n" for i in range(1, 30)))
        self.assertEqual({p["name"]: (p["role"], p["share"]) for p in told["parts"]}, {"forward": ("forward", 0.6), "evaluate": ("once", None)})

    def test_out_of_memory_is_an_exception(self) -> None:
        steps = "".join(f"step {i} | time 0.345s\n" for i in range(1, 30))
        for line, said in (("INFO: set expandable_segments:True to avoid CUDA out of memory errors", False), ("    except torch.cuda.OutOfMemoryError:", False),
                           ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", True), ("torch.OutOfMemoryError: CUDA out of memory.", True),
                           ("RuntimeError: CUDA out of memory", True), ("[rank3]: CUDA out of memory. Tried to allocate 20.00 MiB", True)):
            with self.subTest(line=line):
                self.assertEqual("out_of_memory" in self.hints(self.of(line + "\n" + steps)), said)

    def test_rates(self) -> None:
        for form, rate in (("time 0.342s 171547 tok/s 42.6% MFU", 171547), ("loss 3.29 time 0.342s tok/s 1,518 mfu 3", 1518), ("time 0.342s tok/s: 1.73M", 1_730_000),
                           ("time 0.342s (171547 tok/s)", 171547), ("time 0.342s lr 1e-4 tok/s 1518", 1518), ("time 0.342s tokens_per_sec=12.5K", 12_500)):
            with self.subTest(form=form):
                self.assertEqual(self.of("".join(f"step {i} loss 3.1 {form}\n" for i in range(1, 30)))["step"]["tokens_per_s"], rate)

    def test_lines_of_every_tenth_step(self) -> None:
        """Those between are typical ones, so slow ones weigh a tenth."""
        told = self.of("".join(f"iter {i}: loss 4.0, time {20345 if i % 500 == 250 else 345}.00ms\n" for i in range(0, 2000, 10)))
        self.assertEqual(told["step"]["slow"], 4)
        self.assertAlmostEqual(self.hints(told)["slow_steps"]["most_saved_ns_per_step"] / 1e6, 4 * 20_000 / 2000, delta=0.5)

    def test_a_progress_bar_has_no_step(self) -> None:
        bar = "\r".join(f"Steps: {i // 10:3}%|## | {i}/1000 [00:02<10:00, 1.20it/s, step_time=0.83]" for i in range(300))
        self.assertIsNone(self.of(NOISE + bar)["step"])

    def test_pattern(self) -> None:
        text = "".join(f"[{i}] batch done: {i * 3} ticks in {i % 7 + 20} us\n" for i in range(1, 50))
        told = self.of(text, "--pattern", r"^\[([0-9]+)\].* in ([0-9]+) (us)")
        self.assertEqual((told["step"]["count"], told["step"]["max_ns"]), (49, 26_000))
        for pattern, unit, ns in ((r"([0-9]+).* in ([0-9]+)", "told", 26_000), (r"^.([0-9]+).*: ([0-9]+) ticks", "unknown", None)):
            step = self.ask(self.folder / "train.log", "--pattern", pattern)["step"]
            self.assertEqual((step["unit"], step["max_ns"]), (unit, ns), pattern)
        status, _, err = run("report", self.write(json.dumps([1]), "a.json"), "--time-unit", "ms")
        self.assertIn("--time-unit is for logs", err)
        for pattern, why in (("([0-9]+)", "two groups"), ("([0-9]+", "--pattern: "), (r"nothing ([0-9]+) ([0-9]+)", "no line fits")):
            status, _, err = run("report", self.folder / "train.log", "--pattern", pattern)
            self.assertIn(why, err)
            self.assertIn(status, (2, 3))


class Nccl(Case):
    def lines(self, *what: str) -> str:
        return "".join(f"node{i % 2}:10{i}:20{i} [{i % 8}] NCCL {w}\n" for i, w in enumerate(what))

    def test_sockets_although_there_is_infiniband(self) -> None:
        told = self.of(self.lines("INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.0.0.1<0>", "INFO NCCL_IB_DISABLE set by environment to 1.",
                                  *["INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0"] * 4))
        self.assertEqual(told["nccl"]["channels"]["socket"], 4)
        self.assertEqual(told["nccl"]["ib_devices"], "[0]mlx5_0:1/IB [1]mlx5_1:1/IB")
        self.assertIn("NCCL_IB_DISABLE set by environment to 1", self.hints(told)["socket_beside_ib"]["words"])
        self.assertIsNone(told["step"])

    def test_out_of_band_is_no_device(self) -> None:
        told = self.of(self.lines("INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"))
        self.assertEqual(told["nccl"]["ib_devices"], "[0]mlx5_0:1/IB [RO]")

    def test_one_node_without_gpudirect(self) -> None:
        send = "INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0"
        words = self.hints(self.of(self.lines(*[send + "/GDRDMA", send] * 8)))["partly_gpudirect"]["words"]
        self.assertTrue(words.startswith("8 of 16 channels over InfiniBand or RoCE do without GPUDirect RDMA, all of node node1:"), words)
        self.assertNotIn("of node", self.hints(self.of(self.lines(*[send + "/GDRDMA"] * 2, *[send] * 2)))["partly_gpudirect"]["words"])

    def test_no_host_is_glued_to_numbers(self) -> None:
        lines = "".join(f"{before}node{i}:1:2 [0] NCCL INFO Using network IB\n"
                        for i, before in enumerate(("", " 0: ", "[2025-05-01 12:00:00] ", "pod-0 | ", "  16  4  float  sum  -1  40.24", "  8  2 float sum -1", "  0.41  0.76 ", "40.24")))
        self.assertEqual({h["text"] for h in self.of(lines)["nccl"]["hosts"]}, {"node0", "node1", "node2", "node3"})

    def test_no_gpudirect(self) -> None:
        send = "INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0"
        self.assertIn("no_gpudirect", self.hints(self.of(self.lines(*[send] * 3))))
        self.assertEqual(self.of(self.lines(*[send + "/GDRDMA"] * 3))["hints"], [])

    def test_warnings(self) -> None:
        told = self.of(self.lines(*["WARN Call to ibv_create_qp failed"] * 5, "INFO comm 0x1 rank 3 nranks 16 cudaDev 3 - Init COMPLETE"))
        self.assertEqual([(w["text"], w["count"], w["line"]) for w in told["nccl"]["warnings"]], [("Call to ibv_create_qp failed", 5, 1)])
        self.assertIn("ibv_create_qp", self.hints(told)["warnings"]["words"])
        self.assertEqual(told["nccl"]["ranks"], 16)


class Timeouts(Case):
    """Of collectives, in the words of several versions of PyTorch's watchdog."""
    OLD = "[E ProcessGroupNCCL.cpp:828] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={s}, OpType={op}, Timeout(ms)=1800000) ran for {ran} milliseconds before timing out.\n"
    V23 = ("[rank{r}]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={s}, OpType={op}, NumelIn={n}, NumelOut={n}, "
           "Timeout(ms)=600000) ran for {ran} milliseconds before timing out.\n"
           "[rank{r}]:[E1206 18:44:12.715588844 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank {r}] Exception (either an error or timeout) detected by watchdog "
           "at work: {s}, last enqueued NCCL work: {e}, last completed NCCL work: {c}.\n"
           "[rank{r}]:[E1206 18:44:12.8 ProcessGroupNCCL.cpp:1709] [PG 0 (default_pg) Rank {r}] Timeout at NCCL work: {s}, last enqueued NCCL work: {e}, last completed NCCL work: {c}.\n"
           "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [PG 0 (default_pg) Rank {r}] NCCL watchdog thread terminated "
           "with exception: [Rank {r}] Watchdog caught collective operation timeout: "
           "WorkNCCL(SeqNum={s}, OpType={op}, NumelIn={n}, NumelOut={n}, Timeout(ms)=600000) ran for {ran} milliseconds before timing out.\n")
    V26 = ("[rank{r}]:[E ProcessGroupNCCL.cpp:632] [Rank {r}] Watchdog caught collective operation timeout: "
           "WorkNCCL(SeqNum={s}, OpType={op}, NumelIn={n}, NumelOut={n}, Timeout(ms)=600000) ran for {ran} milliseconds before timing out.\n"
           "[rank{r}]:[E ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank {r}] failure detected by watchdog at work sequence id: {s} "
           "PG status: last enqueued work: {e}, last completed work: {c}\n")
    BEHIND = ("[rank{r}]:[E ProcessGroupNCCL.cpp:1484] [PG 0 (default_pg) Rank {r}] Received a dump signal due to a collective timeout from rank 0 "
              "and we will try our best to dump the debug info. Last enqueued NCCL work: {e}, last completed NCCL work: {c}.\n")

    def line(self, form: str, rank: int, sequence: int = 42, op: str = "ALLREDUCE", n: int = 9801523, enqueued: int = 45, completed: int = 41) -> str:
        return form.format(r=rank, s=sequence, op=op, n=n, e=enqueued, c=completed, ran=600061)

    def test_the_group_that_tells_who(self) -> None:
        """Of two groups the one whose lines name the rank that did not come, not the first."""
        of = lambda group, rank, s, e: self.line(self.V26, rank, s, enqueued=e, completed=s - 1).replace("PG GUID 0(default_pg)", f"PG GUID {group}(mesh_tp)")
        told = self.of(of(1, 0, 10, 10) + of(1, 1, 10, 10) + of(2, 2, 12, 12) + of(2, 3, 11, 11))
        self.assertEqual((told["hang"]["group"], told["hang"]["sequence"], told["hang"]["waiting"], told["hang"]["never_entered"]), ("2", 12, [2], [3]))
        told = self.of(of(1, 0, 10, 10) + of(1, 1, 10, 10) + of(2, 2, 12, 12) + of(2, 3, 12, 12))
        self.assertEqual((told["hang"]["group"], told["hang"]["waiting"], told["hang"]["never_entered"]), ("1", [0, 1], []))

    def test_a_rank_that_did_not_reach_it(self) -> None:
        for form in (self.V23, self.V26):
            with self.subTest(form[:60]):
                text = "".join(self.line(form, r) for r in (0, 1, 2, 4, 5, 6, 7)) + self.line(self.BEHIND, 3, enqueued=41)
                told = self.of(text)
                hang = told["hang"]
                self.assertEqual((hang["operation"], hang["sequence"], hang["group_description"]), ("all_reduce", 42, "default_pg"))
                self.assertEqual((hang["waiting"], hang["never_entered"], hang["in_different_call"], hang["without_a_line"]), ([0, 1, 2, 4, 5, 6, 7], [3], [], []))
                self.assertEqual(len(told["timeouts"]), 8, "each is said several times and counts once")
                first = told["timeouts"][0]
                keys = ("rank", "timed_out", "elements_in", "timeout_ms", "waited_ms", "last_enqueued", "last_completed", "line")
                self.assertEqual([first[k] for k in keys], [0, True, 9801523, 600000, 600061, 45, 41, 1])
                words = self.hints(told)["collective_timeout"]["words"]
                self.assertTrue(words.startswith("Rank 3 never entered all_reduce #42 of the default group, in which ranks 0\u20132 and 4\u20137 wait; its last call was #41, which ended"), words)
                self.assertEqual(told["hints"][0]["id"], "collective_timeout")
        text = " ".join(run("report", self.write(text))[1].decode().split())
        self.assertIn("rank 0 all_reduce #42 of the default group, 9,801,523 elements, waited 600 s; last enqueued #45, last completed #41 (line 1)", text)

    def test_who_waits_alone_is_known(self) -> None:
        told = self.of("".join(self.line(self.V23, r) for r in range(4)))
        self.assertEqual((told["hang"]["waiting"], told["hang"]["never_entered"], told["hang"]["without_a_line"]), ([0, 1, 2, 3], [], []))
        self.assertIn("no line tells which rank did not reach it", self.hints(told)["collective_timeout"]["words"])
        told = self.of(NOISE.replace("nranks 16", "nranks 5") + "".join(self.line(self.V23, r) for r in range(4)))
        self.assertEqual(told["hang"]["without_a_line"], [4])
        self.assertIn("of rank 4 there is no line of a timeout", self.hints(told)["collective_timeout"]["words"])

    def test_other_operations_and_earlier_calls(self) -> None:
        told = self.of("".join(self.line(self.V23, r, op="BROADCAST" if r == 2 else "ALLREDUCE", n=8 if r == 2 else 4) for r in range(4)))
        self.assertEqual(told["hang"]["in_different_call"], [2])
        self.assertIn("In collective #42 of the default group, rank 2 called broadcast of 8 elements where rank 0 called all_reduce of 4 elements", self.hints(told)["collective_timeout"]["words"])
        told = self.of("".join(self.line(self.OLD, r, sequence=7 if r == 1 else 42) for r in range(4)))
        self.assertEqual([told["hang"][k] for k in ("in_earlier_call", "in_other_calls", "waiting", "group")], [[], [1], [0, 2, 3], ""])
        self.assertIn("rank 1 timed out in another call (all_reduce #7), which may be of another group", self.hints(told)["collective_timeout"]["words"])
        told = self.of("".join(self.line(self.V26, r, sequence=7 if r == 1 else 42) for r in range(4)))
        self.assertEqual([told["hang"][k] for k in ("in_earlier_call", "in_other_calls", "waiting")], [[1], [], [0, 2, 3]])
        self.assertIn("Rank 1 waits in an earlier call (all_reduce #7) than ranks 0, 2 and 3 (all_reduce #42)", self.hints(told)["collective_timeout"]["words"])

    def test_ranks_of_a_group_are_no_ranks_of_the_job(self) -> None:
        """Before the colon stands the rank of the job; the text of the exception has that of the group alone."""
        line = ("[rank{r}]:[E ProcessGroupNCCL.cpp:632] [Rank {g}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, "
                "OpType=_ALLGATHER_BASE, NumelIn=8, NumelOut=16, Timeout(ms)=600000) ran for 600061 milliseconds before timing out.\n"
                "[rank{r}]:[E ProcessGroupNCCL.cpp:2271] [PG ID 2 PG GUID 5(tp) Rank {g}] Timeout at NCCL work: 9, last enqueued NCCL work: 9, last completed NCCL work: 8.\n"
                "  what():  [PG ID 2 PG GUID 5(tp) Rank {g}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, "
                "OpType=_ALLGATHER_BASE, Timeout(ms)=600000) ran for 600061 milliseconds\n")
        told = self.of("".join(line.format(r=r, g=r - 4) for r in (4, 5)))
        self.assertEqual((told["hang"]["waiting"], told["hang"]["group_description"], len(told["timeouts"])), ([4, 5], "tp", 2))

    def test_beside_steps(self) -> None:
        told = self.of("".join(f"step {i} time 0.3s\n" for i in range(1, 40)) + self.line(self.V23, 0))
        self.assertEqual((told["step"]["count"], told["hang"]["waiting"]), (39, [0]))
        told = self.of(NOISE + "INFO: the watchdog of NCCL work: fine\n" + "".join(f"step {i} time 0.3s\n" for i in range(1, 40)))
        self.assertEqual((told["timeouts"], told["hang"]), ([], None))


class Elsewhere(Case):
    """What commands that want a trace say of logs."""

    def test_check_knows_a_log(self) -> None:
        wait = "[rank1]:[E304 12:10:00.1 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, " \
               "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
        for text in (wait, "".join(f"3: step {i} loss 1.0 step_time 0.50s\n" for i in range(9))):
            status, _, err = run("check", self.write(text))
            self.assertEqual(status, 3)
            self.assertIn("this is a log, which has no timeline; `holdup report FILE` tells what it says", err)
        told = json.loads(run("info", self.write(wait), "--json")[1])
        self.assertEqual((told["format"], told["timeouts"]), ("log without times of steps", 1))


class Piped(Case):
    """What holdup reads from a file it reads from standard input."""

    def piped(self, data: str | bytes, *words: object) -> dict[str, Any]:
        status, out, err = run("report", "-", *words, "--json", stdin=data if isinstance(data, bytes) else data.encode())
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_a_log(self) -> None:
        text = "".join(f"step {i} time 0.3s\n" for i in range(1, 40))
        self.assertEqual(self.piped(text), self.of(text))
        long = "x" * 200 + "\n"
        self.assertEqual(self.piped(long * 2000 + text)["step"], self.of(long * 2000 + text)["step"])
        self.assertEqual(self.piped(gzip.compress(text.encode()))["step"]["count"], 39)
        self.assertEqual(self.piped("".join(f"it {i} = 3.5 ms\n" for i in range(1, 9)), "--pattern", "it ([0-9]+) = ([0-9.]+)")["step"]["max_ns"], 3_500_000)

    def test_samples_and_dumps(self) -> None:
        csv = "timestamp, index, name, utilization.gpu [%], power.draw [W]\n" + "".join(f"2025/05/01 12:00:{s:02}.000, 0, NVIDIA A100-SXM4-80GB, 97 %, 300.00 W\n" for s in range(30))
        path = self.write(csv, "smi.csv")
        self.assertEqual(json.dumps(self.piped(csv)).replace("standard input", str(path)), json.dumps(self.ask(path)))

    def test_a_trace_is_read_as_ever(self) -> None:
        events = [{"ph": "X", "cat": "kernel", "name": "k" * 100, "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5, "args": {"device": 0, "stream": 7}} for i in range(3000)]
        text = json.dumps({"traceEvents": events})
        path = self.write(text, "t.json")
        whole, piped = self.ask(path), self.piped(text)
        self.assertGreater(len(text), 1 << 18)
        self.assertEqual(piped["ranks"][0]["gpu"], whole["ranks"][0]["gpu"])
        with open(path, "rb") as f:
            status, out, err = run("report", "-", "--json", stdin=f.read())
        self.assertEqual(status, 0, err)

    def test_what_nobody_knows(self) -> None:
        status, _, err = run("report", "-", stdin=b"hello\nworld\n")
        self.assertEqual(status, 3)
        self.assertIn("this is text, not a format that holdup reads", " ".join(err.split()))
        self.assertEqual(run("report", "-", stdin=b"")[0], 3)


class Faces(Case):
    def test_text_says_what_a_log_cannot(self) -> None:
        path = self.write("".join(megatron(i, 1000) for i in range(1, 30)))
        status, out, err = run("report", path)
        self.assertEqual(status, 0, err)
        self.assertIn("Cannot tell from a log", " ".join(out.decode().split()))
        self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)

    def test_what_begins_with_a_bracket_is_no_json(self) -> None:
        for line in ("[rank0]: loading", "[batch=1/1000]:", "[2025-05-01 12:00:00,123] [INFO] [timer.py:260:stop] nothing", "[titan] 2025-05-01 12:00:00 - root - INFO - step: 1 loss: 7"):
            status, _, err = run("report", self.write((line + "\n") * 3, "x.log"))
            self.assertEqual((status, "this is text, not a format that holdup reads" in " ".join(err.split())), (3, True), err)

    def test_a_pattern_is_tried_before_it_is_told(self) -> None:
        """It reads the times of the log, or none is told."""
        for form, ns in (("it {i} = {t:.1f} ms", 3_500_000), ("Batch #{i}: loss 2.10 ({t:.1f} sec)", 3_500_000_000),
                         ("update {i}, lr 1e-4, {t:.1f}s", 3_500_000_000), ("[worker] Iteration {i} -> {t:.1f} us", 3_500)):
            with self.subTest(form=form):
                path = self.write("# a program of our own\n" + "".join(form.format(i=i, t=3.5 + i % 2 / 1000) + "\n" for i in range(1, 40)))
                status, _, err = run("report", path)
                self.assertEqual(status, 3)
                pattern = re.search(r"--pattern '(.*)'", " ".join(err.split()))
                self.assertIsNotNone(pattern, err)
                step = self.ask(path, "--pattern", pattern[1])["step"]
                self.assertEqual((step["count"], step["median_ns"], step["unit"]), (39, ns, "told"))
        for form in ("batch {i} loss 2.1", "batch {i}: {i}.5 s since the start", "batch {i} 3.5 s, 99 s to go", "batch {i} 3.5 s (00:12:07 to go)",
                     "batch 7: 3.5 s", "batch {i}: 5 samples/s", "batch {i}: 7"):
            with self.subTest(form=form):
                status, _, err = run("report", self.write("".join(form.format(i=i) + "\n" for i in range(1, 40))))
                self.assertEqual((status, "--pattern '" in err), (3, False), err)
                self.assertIn("of a log, --pattern tells how it prints the number and the time of a step", " ".join(err.split()))

    def test_what_is_no_log_is_refused(self) -> None:
        for text in ("hello\nworld\n", "step 3 of the recipe: stir for 5 min\n", "# notes\nsee iteration 12 of the plan\n"):
            status, _, err = run("report", self.write(text))
            self.assertEqual(status, 3)
            self.assertIn("this is text, not a format that holdup reads", err)

    def test_options_of_traces(self) -> None:
        status, _, err = run("report", self.write("".join(megatron(i, 1000) for i in range(1, 30))), "--csv")
        self.assertEqual(status, 2)
        self.assertIn("--csv is not for logs", err)

    def test_hostile(self) -> None:
        body = "".join(megatron(i, 1000) for i in range(1, 30)).encode()
        for what in (b"\xff\xfe" * 5000 + b"\n", b"a" * 300_000 + b"\n", b"time (ms) |" + b" x: 1 |" * 20_000 + b"\n", b"\x1b[" * 1000 + b"\n",
                     b"step 99999999999999999999 time 1e308 s\n", b"iteration 5/ 9 | elapsed time per iteration (ms): -5 |\n"):
            with self.subTest(what=what[:20]):
                told = self.of(body + what + body.replace(b"/  100000", b"9/  100000"))
                self.assertEqual(told["step"]["median_ns"], 1_000_000_000)


class Schema(Case):
    def test_answers(self) -> None:
        """docs/step-log.schema.json has all members of what real logs give, and no others."""
        schema = json.loads((ROOT / "docs/step-log.schema.json").read_text())
        if not jsonschema:
            skip_loudly("no jsonschema: answers of logs are not validated")
            return
        seen = 0
        made = self.folder / "train.log"
        made.write_text("".join(megatron(i, 600 if i < 120 else 690) for i in range(1, 200)) + "node1:10:20 [0] NCCL INFO comm 0x1 rank 3 nranks 16 cudaDev 3 - Init COMPLETE\n")
        for path in (made, *(DEEPSPEED.glob("*/*") if DEEPSPEED.exists() else ()), *(SHARED / "traces/nccl").glob("*/*")):
            with self.subTest(path.name):
                told = self.ask(path)
                for rows in ((told["comm"] or {}).get("sizes", []), (told["flops"] or {}).get("modules", [])):
                    del rows[30:]           # thousands that are alike
                jsonschema.validate(told, schema)
                seen += 1
        if seen == 1:
            skip_loudly("no real logs to validate")


if __name__ == "__main__":
    unittest.main()
