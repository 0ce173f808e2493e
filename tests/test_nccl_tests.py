# SPDX-License-Identifier: Apache-2.0
"""Tests of collectives: the tables of nccl-tests are those that regular expressions find; what a curve does not show is not said."""
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, run, skip_loudly

NCCL = SHARED / "traces/nccl"
HEADING = ("# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
COLUMNS = ("#                                                              out-of-place                       in-place          \n"
           "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
           "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n")
NUMBER = r"(\d[\d.e+]*|N/A)"


def ranks(n: int = 8, device: str = "NVIDIA H100 80GB HBM3", hosts: int = 1) -> str:
    return "".join(f"#  Rank {i:2} Group  0 Pid  649{i:02} on      node{i * hosts // n} device {i:2} [0000:17:00] {device}\n" for i in range(n))


def row(size: int, us: float, factor: float = 1.75, wrong: str = "0") -> str:
    alg = size / us / 1e3
    return f"{size:12}  {size // 4:12}     float     sum      -1  {us:7.2f}  {alg:6.2f}  {alg * factor:6.2f}  {wrong:>5}  {us:7.2f}  {alg:6.2f}  {alg * factor:6.2f}      0\n"


def curve(alpha_us: float, gbps: float, sizes: list[int], factor: float = 1.75) -> str:
    """time = alpha + size * factor / beta, in tables of nccl-tests."""
    return "".join(row(s, alpha_us + s * factor / gbps / 1e3, factor) for s in sizes)


def power(first: int, last: int) -> list[int]:
    return [2 ** k for k in range(first, last + 1)]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ask(self, *words: object) -> dict[str, Any]:
        status, out, err = run("report", *words, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def of(self, text: str) -> dict[str, Any]:
        path = self.folder / "test.log"
        path.write_text(text)
        return self.ask(path)

    def one(self, text: str) -> dict[str, Any]:
        told = self.of(text)
        self.assertEqual(len(told["tests"]), 1)
        return told["tests"][0]


class Real(Case):
    def read(self, path: str) -> tuple[str, list[dict[str, Any]]]:
        if not (NCCL / path).exists():
            skip_loudly(f"{path} is not there")
            self.skipTest("no such file")
        return (NCCL / path).read_text(errors="replace"), self.ask(NCCL / path)["tests"]

    def rows_of(self, text: str) -> list[list[str]]:
        """size and eight numbers of each row, by one expression; sizes of zero bytes move nothing."""
        key = rf"^(?: *\d+: )? +(\d+) +\d+ +[a-z]\w+ +(?:[a-z]\w* +)?(?:-?\d+ +)?{' +'.join([NUMBER] * 8)} *$"
        return [list(m) for m in re.findall(key, text, re.M) if m[0] != "0"]

    def compare(self, tests: list[dict[str, Any]], rows: list[list[str]]) -> None:
        sizes = [s for t in tests for s in t["sizes"]]
        self.assertEqual([s["bytes"] for s in sizes], [int(r[0]) for r in rows])
        for told, seen in zip(sizes, rows):
            for place, at in (("out_of_place", 1), ("in_place", 5)):
                us, alg, bus, wrong = seen[at:at + 4]
                self.assertEqual(told[place]["time_ns"], round(float(us) * 1e3))
                self.assertAlmostEqual(told[place]["alg_gbps"], float(alg), places=3)
                self.assertAlmostEqual(told[place]["bus_gbps"], float(bus), places=3)
                self.assertEqual(told[place]["wrong"], None if wrong == "N/A" else float(wrong))

    def test_tables(self) -> None:
        for path, n in (("superbench/nccl_allreduce.log", 32), ("superbench/nccl_allgather.log", 29), ("superbench/nccl_alltoall.log", 29),
                        ("superbench/nccl_reducescatter.log", 29), ("xxrjun-cluster/nccl_N1_G8_cnode3-009.log", 50), ("aws-dist-training/slurm-104.out", 26)):
            with self.subTest(path):
                text, tests = self.read(path)
                rows = self.rows_of(text)
                self.assertGreaterEqual(len(rows), n - 2)
                self.compare(tests, rows)
                best = [max(max(s["out_of_place"]["bus_gbps"], s["in_place"]["bus_gbps"]) for s in t["sizes"]) for t in tests]
                self.assertEqual([t["best_gbps"] for t in tests], best)
                self.assertEqual([t["average_gbps"] for t in tests], [float(a) for a in re.findall(r"Avg bus bandwidth +: ([\d.]+)", text)])
                self.assertEqual([t["ranks"] for t in tests], [len(re.findall(r"# +Rank +\d+ .*Pid", part)) for part in text.split("# Using devices")[1:]])
                self.assertEqual([t["name"] for t in tests if t["name"]], re.findall(r"test starting: (\w+)", text))
                self.assertEqual({t["torn_rows"] for t in tests}, {0})

    def test_from_where_and_half(self) -> None:
        for path in ("superbench/nccl_allreduce.log", "superbench/nccl_alltoall.log", "xxrjun-cluster/nccl_N1_G8_cnode3-009.log"):
            _, tests = self.read(path)
            for told in tests:
                with self.subTest(path + " " + told["name"]):
                    curve_of = [(s["bytes"], max(s["out_of_place"]["bus_gbps"], s["in_place"]["bus_gbps"])) for s in told["sizes"]]
                    best = max(b for _, b in curve_of)
                    last_below = lambda share: max((s for s, b in curve_of if b < share * best), default=0)
                    self.assertEqual(told["from_bytes"], min(s for s, _ in curve_of if s > last_below(0.95)))
                    half = min(s for s, _ in curve_of if s > last_below(0.5))
                    self.assertEqual(told["half_bytes"], None if half == curve_of[0][0] else half)
                    self.assertTrue(told["is_flat"])

    def test_latency_is_what_small_messages_take(self) -> None:
        for path in ("superbench/nccl_allreduce.log", "superbench/nccl_alltoall.log", "aws-dist-training/slurm-104.out"):
            text, (told,) = self.read(path)
            small = sorted(min(float(r[1]), float(r[5])) for r in self.rows_of(text) if int(r[0]) <= 16384)
            self.assertAlmostEqual(told["latency_ns"] / 1e3, small[len(small) // 2], delta=0.05 * small[len(small) // 2])

    def test_torn_by_lines_of_nccl(self) -> None:
        """All numbers of a row stand in three places, glued to lines of NCCL's."""
        text, (told,) = self.read("timez-fault/nccl.log")
        sizes = [int(s) for s in re.findall(r"^ +(\d+) +\d+ +float +sum +-1mew0", text, re.M)]
        pieces = re.findall(r"^ +([\d.]+) +([\d.]+) +([\d.]+) +(\d)(?:mew0:|$)", text, re.M)
        self.assertEqual((len(sizes), len(pieces)), (11, 22))
        self.compare([told], [[str(s), *pieces[2 * i], *pieces[2 * i + 1]] for i, s in enumerate(sizes)])
        self.assertEqual(told["peak_gbps"], float(re.search(r"=== System : maxBw [\d.]+ totalBw ([\d.]+)", text)[1]))
        self.assertEqual({h["text"] for h in self.ask(NCCL / "timez-fault/nccl.log")["nccl"]["hosts"]}, {"mew0"})

    def test_prints_of_ranks(self) -> None:
        """all_reduce_bench.py: five trials of 32 ranks, no sizes."""
        path = NCCL / "bigscience-bandwidth/all_reduce_bench-a100-n4.txt"
        text, tests = self.read("bigscience-bandwidth/all_reduce_bench-a100-n4.txt")
        seen, told = sorted(float(b) for b in re.findall(r"^ ?busbw: ([\d.]+) +Gbps", text, re.M)), self.ask(path)["bus_prints"]
        self.assertEqual((len(seen), tests), (160, []))
        self.assertEqual((told["count"], told["least_gbit_per_s"], told["most_gbit_per_s"]), (160, seen[0], seen[-1]))
        self.assertAlmostEqual(told["median_gbit_per_s"], (seen[79] + seen[80]) / 2, places=3)
        _, out, _ = run("report", path)
        self.assertRegex(" ".join(out.decode().split()), r"^5\.\d+ GB/s bus bandwidth \(4\d\.\d+ Gbit/s\), the median of 160 .* Cannot tell from which size on")

    def test_links_of_one_node_only(self) -> None:
        peaks = {path: self.read(path)[1][0] for path in ("superbench/nccl_allreduce.log", "xxrjun-cluster/nccl_N1_G8_cnode3-009.log", "aws-dist-training/slurm-104.out")}
        self.assertEqual([(t["peak_gbps"], t["links"]) for t in peaks.values()], [(300, "NVLink 3"), (450, "NVLink 4"), (None, "")])


class Curves(Case):
    def test_the_line(self) -> None:
        """alpha and beta that the times were made of."""
        told = self.one("# Collective test starting: all_reduce_perf\n" + HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 33)))
        self.assertAlmostEqual(told["latency_ns"] / 25e3, 1, delta=0.01)
        self.assertAlmostEqual(told["beta_gbps"] / 400, 1, delta=0.01)
        self.assertAlmostEqual(told["factor"], 1.75)
        half = next(s for s in power(3, 33) if s * 1.75 / (25 + s * 1.75 / 400e3) >= 0.5 * 400e3 * 0.999)
        self.assertEqual(told["half_bytes"], half)
        self.assertRegex(told["words"], r"^all_reduce_perf: 400 GB/s bus bandwidth from \d+ MiB on; half of it is reached at 8 MiB; latency 25\.\d µs\.$")

    def test_a_curve_that_ends_early(self) -> None:
        told = self.of(HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 20)))
        self.assertFalse(told["tests"][0]["is_flat"])
        self.assertIn("cannot tell what bandwidth it reaches", told["tests"][0]["words"])
        self.assertIn("not_saturated", {h["id"] for h in told["hints"]})
        self.assertNotIn("far_below_links", {h["id"] for h in told["hints"]})

    def test_no_small_sizes(self) -> None:
        told = self.one(HEADING + ranks() + COLUMNS + curve(25, 400, power(25, 33)))
        self.assertIsNone(told["latency_ns"])
        self.assertIn("cannot tell the latency, as the smallest size is 32 MiB", told["words"])

    def test_wrong_results(self) -> None:
        told = self.of(HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 30)) + row(2 ** 31, 9000, wrong="3") + "# Out of bounds values : 3 FAILED\n")
        hint = told["hints"][0]
        self.assertEqual((hint["id"], told["tests"][0]["wrong"], told["tests"][0]["out_of_bounds"]), ("wrong_results", 3, 3))
        self.assertIn("3 elements of the results are wrong, first at 2 GiB (line 43)", hint["words"])

    def test_far_below_the_links(self) -> None:
        told = self.of(HEADING + ranks() + COLUMNS + curve(25, 40, power(3, 33)))
        self.assertIn("far_below_links", {h["id"] for h in told["hints"]})
        for devices in (ranks(device="NVIDIA H100 PCIe"), ranks(hosts=2), ""):      # a peak that nobody knows
            told = self.of(HEADING + devices + COLUMNS + curve(25, 40, power(3, 33)))
            self.assertIsNone(told["tests"][0]["peak_gbps"])
            self.assertEqual(told["hints"], [])

    def test_ports_of_a_node(self) -> None:
        """NCCL tells the speed of each port; several processes tell the same ones.  Of sockets, and of an all-to-all, nothing is compared."""
        ports = "".join(f"node{i % 2}:64904:649{i:02} [{i}] NCCL INFO NET/IB: [{i // 2}] mlx5_{i // 2}:uverbs0:1/RoCE provider=Mlx5 speed=100000 context=0x7fc37b2a20c0\n" for i in range(8))
        via = "node1:64904:64941 [1] NCCL INFO Channel 00/0 : 1[1] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
        name, body = "# Collective test starting: all_reduce_perf\n", HEADING + ranks(16, hosts=2)
        told = self.one(name + body + ports + via + COLUMNS + curve(25, 45, power(3, 33), 1.875))
        self.assertEqual((told["peak_gbps"], told["links"]), (50, "ports of a node"))
        path = self.folder / "test.log"
        _, out, _ = run("report", path)
        self.assertIn("90 % of the 50.0 GB/s that 4 InfiniBand or RoCE ports of a node carry in one direction", " ".join(out.decode().split()))
        for text in (name.replace("all_reduce", "alltoall") + body + ports + via, body + ports + via, name + body + ports + via.replace("IB/0/GDRDMA", "Socket/0"), name + body + via):
            self.assertIsNone(self.one(text + COLUMNS + curve(25, 45, power(3, 33), 1.875))["peak_gbps"])

    def test_types_are_curves_of_their_own(self) -> None:
        body = curve(25, 400, power(3, 30))
        told = self.of(HEADING + ranks() + COLUMNS + body + body.replace("float", " half"))
        self.assertEqual([(t["type"], len(t["sizes"])) for t in told["tests"]], [("float", 28), ("half", 28)])

    def test_columns_that_a_heading_names(self) -> None:
        """Times of single iterations stand behind each half."""
        heading = COLUMNS.replace("#wrong", "#wrong     min     max     p99   cv(%)")
        told = self.one(HEADING + ranks() + heading + "".join(re.sub(r"( +0)(?= |$)", r"\1   1.00   2.00   3.00   4.00", line) + "\n"
                                                             for line in curve(25, 400, power(10, 30)).splitlines()))
        self.assertEqual((len(told["sizes"]), told["wrong"], told["sizes"][0]["in_place"]["wrong"]), (21, 0, 0))
        self.assertAlmostEqual(told["beta_gbps"] / 400, 1, delta=0.01)

    def test_hostile(self) -> None:
        body = HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 33))
        for what in ("    8    2   float  sum  -1 1e999 2 3 0 1 2 3 0\n", "   99999999999999999999  2 float sum -1 1 2 3 0 1 2 3 0\n", "  1024  256  float  sum  -1  7\n",
                     "1 2 x " * 20_000 + "\n", "# size algbw " + "time " * 5000 + "\n", "# nThread " * 9 + "\n" + "# nThread 1\n# size  algbw \n" * 500):
            with self.subTest(what[:30]):
                told = self.of(body + what)["tests"][0]
                self.assertEqual(len(told["sizes"]), 31)
                self.assertAlmostEqual(told["beta_gbps"] / 400, 1, delta=0.01)

    def test_text(self) -> None:
        path = self.folder / "test.log"
        path.write_text("# Collective test starting: all_reduce_perf\n" + HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 33)))
        status, out, err = run("report", path)
        self.assertEqual(status, 0, err)
        words = " ".join(out.decode().split())
        self.assertTrue(words.startswith("all_reduce_perf: 400 GB/s bus bandwidth"), words)
        self.assertIn("89 % of the 450 GB/s that NVLink 4 carries", words)
        self.assertIn("Cannot tell from a test of collectives", words)
        self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)


class Peaks(Case):
    """What the links carry is told of a whole board; where it is not known for certain, nothing is."""
    def told(self, device: str, n: int, gbps: float, name: str = "all_reduce_perf", before: str = "") -> dict[str, Any]:
        factor = 1 if name == "sendrecv_perf" else 2 * (n - 1) / n
        told = self.of(f"# Collective test starting: {name}\n" + HEADING + ranks(n, device) + before + COLUMNS + curve(25, gbps, power(3, 33), factor))
        _, out, _ = run("report", self.folder / "test.log")
        return {**told["tests"][0], "text": " ".join(out.decode().split()), "ids": {h["id"] for h in told["hints"]}}

    def test_part_of_a_board(self) -> None:
        for device, n, gbps in (("NVIDIA A100-SXM4-80GB", 2, 236), ("NVIDIA A100-SXM4-80GB", 3, 233), ("NVIDIA H100 80GB HBM3", 2, 40), ("NVIDIA H100 80GB HBM3", 4, 330)):
            told = self.told(device, n, gbps)
            self.assertEqual((told["peak_gbps"], told["links"], told["ids"]), (None, "", set()))
            self.assertIn(f"cannot tell which links connect these {n} GPUs", told["text"])
            self.assertNotIn("NVLS", told["text"])
        system = "node0:1:2 [0] NCCL INFO === System : maxBw 240.0 totalBw 240.0 ===\n"      # what NCCL found
        self.assertEqual(self.told("NVIDIA A100-SXM4-80GB", 2, 200, before=system)["peak_gbps"], 240)
        self.assertIsNone(self.told("NVIDIA A100-SXM4-80GB", 2, 280, before=system)["peak_gbps"])

    def test_exact_names(self) -> None:
        for device, peak in (("NVIDIA H100 80GB HBM3", 450), ("NVIDIA H200", 450), ("NVIDIA B200", 900), ("NVIDIA A100-SXM4-40GB", 300), ("NVIDIA H800", 200), ("AMD Instinct MI300X", 448),
                             ("NVIDIA H800 PCIe", None), ("NVIDIA H200 NVL", None), ("NVIDIA GH200 480GB", None), ("NVIDIA GB200", None), ("NVIDIA H100 NVL", None), ("NVIDIA H100 PCIe", None),
                             ("NVIDIA A100 80GB PCIe", None), ("Tesla V100-SXM2-16GB", None), ("NVIDIA H20", None)):
            self.assertEqual(self.told(device, 8, 60)["peak_gbps"], peak, device)
        self.assertIsNone(self.told("AMD Instinct MI300X", 8, 60, "sendrecv_perf")["peak_gbps"])

    def test_above_the_peak(self) -> None:
        self.assertIn("reductions in the switch (NVLS)", self.told("NVIDIA H100 80GB HBM3", 8, 480)["text"])
        off = "node0:1:2 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n"
        for told in (self.told("NVIDIA A100-SXM4-80GB", 8, 480), self.told("NVIDIA H100 80GB HBM3", 8, 480, "sendrecv_perf"), self.told("NVIDIA H100 80GB HBM3", 8, 480, before=off),
                     self.told("NVIDIA H100 80GB HBM3", 8, 900), self.told("Tesla V100-SXM2-16GB", 8, 131)):
            self.assertIsNone(told["peak_gbps"])
            self.assertNotIn("NVLS)", told["text"])
            self.assertIn("is not known", told["text"])

    def network(self, n: int, speeds: list[int], gbps: float) -> dict[str, Any]:
        ports = "".join(f"node0:1:2 [0] NCCL INFO NET/IB: [{i}] mlx5_{i}:uverbs0:1/IB provider=Mlx5 speed={s} context=0x1\n" for i, s in enumerate(speeds))
        via = "node0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n"
        return self.of("# Collective test starting: all_reduce_perf\n" + HEADING + ranks(n, hosts=2) + ports + via + COLUMNS + curve(25, gbps, power(3, 33), 2 * (n - 1) / n))

    def test_a_port_for_each_gpu(self) -> None:
        told = self.network(2, [400000] * 8, 48)
        self.assertEqual((told["tests"][0]["peak_gbps"], told["hints"]), (50, []))
        _, out, _ = run("report", self.folder / "test.log")
        self.assertIn("96 % of the at most 50.0 GB/s that 1 InfiniBand or RoCE port of a node carries", " ".join(out.decode().split()))
        self.assertEqual(self.network(2, [400000] * 8, 20)["hints"], [])                          # nobody knows which of them
        self.assertIsNone(self.network(2, [400000] * 8, 80)["tests"][0]["peak_gbps"])             # it used more than one
        self.assertIsNone(self.network(16, [400000] * 8 + [100000] * 2, 380)["tests"][0]["peak_gbps"])      # of storage
        self.assertIn("far_below_links", {h["id"] for h in self.network(16, [400000] * 8, 100)["hints"]})


class Torn(Case):
    def of_rows(self, glue: str) -> dict[str, Any]:
        """Every other row is torn behind its first time."""
        rows = curve(25, 400, power(3, 33), 1.875).splitlines(keepends=True)
        torn = "".join(re.sub(r"^((?: *\S+){6})", rf"\1{glue}:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/IB/0/GDRDMA\n", r) if i % 2 else r for i, r in enumerate(rows))
        return self.of(HEADING + ranks(16, hosts=2) + COLUMNS + torn)

    def test_lines_of_each_host(self) -> None:
        for host in ("node0", "node1"):
            told = self.of_rows(host)
            self.assertEqual([s["bytes"] for s in told["tests"][0]["sizes"]], [2 ** k for k in range(3, 34)])
            self.assertEqual((told["tests"][0]["torn_rows"], {h["text"] for h in told["nccl"]["hosts"]}, told["nccl"]["channels"]["ib_gpudirect"]), (0, {host}, 15))

    def test_a_host_of_no_list(self) -> None:
        told = self.of_rows("other")
        self.assertEqual((len(told["tests"][0]["sizes"]), told["tests"][0]["torn_rows"], told["nccl"]["hosts"]), (16, 15, []))

    def test_prefixes(self) -> None:
        text = HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 33))
        for prefix in ("0: ", "[1,0]<stdout>:", "launcher-0 | ", "2024-05-01T12:00:00.123456789Z ", "[2024-05-01 12:00:00] ", "2024-05-01 12:00:00,123 ", "[pod/launcher-0/nccl] "):
            told = self.one("".join(prefix + line for line in text.splitlines(keepends=True)))
            self.assertEqual((len(told["sizes"]), told["torn_rows"], told["ranks"]), (31, 0, 8), prefix)


class Endings(Case):
    def test_one_size(self) -> None:
        told = self.of("# Collective test starting: all_reduce_perf\n" + HEADING + ranks() + COLUMNS + curve(25, 430, [2 ** 33]))
        self.assertRegex(told["tests"][0]["words"], r"^all_reduce_perf: 430 GB/s bus bandwidth at 8 GiB, its only size: cannot tell from one")
        self.assertEqual(told["hints"], [])

    def test_passes_are_not_joined(self) -> None:
        told = self.of("# Collective test starting: all_reduce_perf\n" + HEADING + ranks() + COLUMNS + curve(25, 430, power(3, 33)) + curve(25, 200, power(3, 33)))
        self.assertEqual([(t["pass"], len(t["sizes"]), round(t["best_gbps"], -1)) for t in told["tests"]], [(1, 31, 430), (2, 31, 200)])
        self.assertEqual([h["id"] for h in told["hints"]], ["far_below_links"])
        self.assertIn("all_reduce_perf, pass 2 reaches 44 %", told["hints"][0]["words"])

    def test_a_failure_comes_first(self) -> None:
        told = self.of("# Collective test starting: all_reduce_perf\n" + HEADING + ranks() + COLUMNS + curve(25, 400, power(3, 20)) + "    2097152   524288\n"
                       "node0: Test NCCL failure common.cu:303 'remote process exited / '\n .. node0 pid 8: Test failure common.cu:400\n")
        self.assertEqual([h["id"] for h in told["hints"]], ["test_failed"])
        self.assertIn("\"Test NCCL failure common.cu:303 'remote process exited / '\"", told["hints"][0]["words"])
        self.assertEqual(told["tests"][0]["words"], "all_reduce_perf: it FAILED behind 1 MiB, so cannot tell what bandwidth it reaches.")



def as_json(text: str, **more: Any) -> dict[str, Any]:
    """The -J file of a test whose text this is, by regular expressions: keys as util.cu of nccl-tests writes them."""
    def place(words: list[str]) -> dict[str, Any]:
        return {"time": float(words[0]), "alg_bw": float(words[1]), "bus_bw": float(words[2]), "nwrong": None if words[3] == "N/A" else float(words[3])}
    devices = [{"rank": int(r), "group": 0, "pid": int(p), "hostname": h, "device": int(d), "device_hex": x, "device_info": name}
               for r, p, h, d, x, name in re.findall(r"# +Rank +(\d+) .*?Pid +(\d+) on +(\S+) device +(\d+) \[(\S+)\] (.+)", text)]
    rows = re.findall(r"^ +(\d+) +(\d+) +(\w+) +(\w+) +(-?\d+) +(.+)$", text, re.M)
    results = [{"size": int(s), "count": int(c), "type": t, "redop": o, "root": f"{root:>6}", "out_of_place": place(rest.split()[:4]), "in_place": place(rest.split()[4:8]),
                "actual_iterations": 20, "experiment_name": "x"} for s, c, t, o, root, rest in rows]
    return {"version": 2, "start_time": "2026-01-02 03:04:05", "args": ["./build/all_reduce_perf", "-b", "8"], "env": ["HOME=\\/root", "traceEvents=1"], "nccl_version": 22907,
            "config": {"nthreads": 1, "ngpus": 1, "warmup_iters": 5, "devices": devices}, "results": results,
            "out_of_bounds": {"count": 0, "okay": "true"}, "average_bus_bandwidth": {"bandwidth": 12.5, "okay": "unchecked"}, "errors": [], "end_time": "2026-01-02 03:05:05"} | more


class Json(Case):
    TEXT = "# Collective test starting: all_reduce_perf\n" + HEADING + ranks(8) + COLUMNS + curve(30, 300, power(3, 33)) + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.5 \n"

    def write(self, value: dict[str, Any], cut: int | None = None) -> Path:
        path = self.folder / "out.json"
        path.write_text(json.dumps(value, separators=(",", ":"))[:cut])
        return path

    def test_same_answer(self) -> None:
        told, text = self.ask(self.write(as_json(self.TEXT)))["tests"][0], self.one(self.TEXT)
        self.assertEqual(len(text["sizes"]), 31)
        for t in (told, text):
            for s in t["sizes"]:
                del s["line"]
        self.assertEqual(told, text)

    def test_real_text_as_json(self) -> None:
        path = NCCL / "aws-dist-training/slurm-104.out"
        if not path.exists():
            skip_loudly("no real log")
            return
        text = re.sub(r"^ *\d+: ", "", path.read_text(errors="replace"), flags=re.M)
        told, seen = self.ask(self.write(as_json(text)))["tests"][0], self.ask(path)["tests"][0]
        for key in ("best_gbps", "best_at_bytes", "half_bytes", "latency_ns", "wrong", "is_flat", "ranks"):
            self.assertEqual(told[key], seen[key], key)

    def test_several_gpus_of_a_process(self) -> None:
        """The list of devices has the first GPU of each process."""
        value = as_json(self.TEXT)
        value["config"] |= {"ngpus": 8, "devices": value["config"]["devices"][:1]}
        self.assertEqual(self.ask(self.write(value))["tests"][0]["ranks"], 8)

    def test_types_and_numbers_that_are_none(self) -> None:
        value = as_json(self.TEXT)
        for r in value["results"][:3]:
            r |= {"out_of_place": None, "in_place": r["in_place"] | {"alg_bw": "nan", "nwrong": None}}
        value["results"] += [r | {"type": "half"} for r in value["results"]]
        told = self.ask(self.write(value))["tests"]
        self.assertEqual([(t["type"], len(t["sizes"])) for t in told], [("float", 31), ("half", 31)])
        self.assertEqual(told[0]["sizes"][0]["out_of_place"], {"time_ns": None, "alg_gbps": None, "bus_gbps": None, "wrong": None})

    def test_wrong_results(self) -> None:
        value = as_json(self.TEXT, out_of_bounds={"count": 7, "okay": "false"})
        self.assertIn("wrong_results", [h["id"] for h in self.ask(self.write(value))["hints"]])

    def test_ends_early(self) -> None:
        whole = json.dumps(as_json(self.TEXT), separators=(",", ":"))
        at = whole.index('"size":1048576')
        told = self.ask(self.write(as_json(self.TEXT), at + 40))["tests"][0]
        self.assertEqual(told["sizes"][-1]["bytes"], 524288)
        self.assertIn("ends early", told["failure"])


if __name__ == "__main__":
    unittest.main()
