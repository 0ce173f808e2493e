# SPDX-License-Identifier: Apache-2.0
"""`holdup scale`: what is lost is what was planted, and adds up."""
import json
import pathlib
import random
import tempfile
import unittest
from typing import Any

from tests.program import ROOT, SANITIZED, run

US = 1000


def job(folder: pathlib.Path, ranks: int, *, compute: int, transfer: int, late: int = 0, late_rank: int = 0, loader: int = 0,
        slow: int = 0, steps: int = 6, seed: int = 0) -> None:
    """Steps of one computing kernel and one all-reduce behind it, in ns: on one rank `late` ns of data loading and `slow` ns of computing more;
    `loader` on all."""
    r = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    begins = [0] * ranks
    events: list[list[dict[str, Any]]] = [[] for _ in range(ranks)]

    def put(rank: int, cat: str, name: str, start: int, dur: int, tid: int, **args: Any) -> None:
        events[rank].append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 1, "tid": tid,
                             "ts": start / 1000, "dur": dur / 1000, "args": args})

    for k in range(steps):
        arrive = []
        for rank in range(ranks):
            load = loader + (late if rank == late_rank else 0)
            t = begins[rank]
            if load:
                put(rank, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", t, load, 1)
            put(rank, "cuda_runtime", "cudaLaunchKernel", t + load, 5 * US, 1, correlation=100 + 2 * k)
            mine = compute + (slow if rank == late_rank else 0)
            put(rank, "kernel", "gemm", t + load + 5 * US, mine, 7, stream=7, device=0, correlation=100 + 2 * k, grid=[100, 1, 1], block=[128, 1, 1])
            put(rank, "cuda_runtime", "cudaLaunchKernel", t + load + 6 * US, 5 * US, 1, correlation=101 + 2 * k)
            arrive.append(t + load + 5 * US + mine)
        end = max(arrive) + transfer
        for rank in range(ranks):
            if ranks > 1:
                put(rank, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", arrive[rank], end - arrive[rank], 7, stream=7, device=0, correlation=101 + 2 * k, Seq=k, dtype="Float",
                    **{"Collective name": "allreduce", "In msg nelems": 10 ** 6, "Out msg nelems": 10 ** 6, "Group size": ranks, "Process Group Name": "0"})
            leave = end if ranks > 1 else arrive[rank]
            put(rank, "cuda_runtime", "cudaDeviceSynchronize", begins[rank] + 3 * US + loader + (late if rank == late_rank else 0) + 20 * US,
                leave - begins[rank] - 3 * US - loader - (late if rank == late_rank else 0) - 20 * US, 1, correlation=900 + k)
            put(rank, "user_annotation", f"ProfilerStep#{k}", begins[rank], leave - begins[rank], 1)
            begins[rank] = leave + r.randint(0, 0)
    for rank in range(ranks):
        (folder / f"rank{rank}.json").write_text(json.dumps({
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "host_name": f"node{rank // 4}",
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": events[rank]}))


class Scale(unittest.TestCase):
    def ask(self, *arguments: Any) -> dict[str, Any]:
        status, out, err = run("scale", *arguments, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def sums(self, result: dict[str, Any]) -> None:
        for one in result["runs"]:
            self.assertAlmostEqual(sum(one["loss_pct"].values()), 100 - one["efficiency_pct"], places=4)
            self.assertAlmostEqual(sum(one["step_classes_ns"].values()), one["step_ns"], delta=8)

    def test_planted_losses_are_found(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            base = pathlib.Path(name)
            job(base / "1", 1, compute=10_000 * US, transfer=0)
            job(base / "4", 4, compute=10_000 * US, transfer=1_000 * US, late=3_000 * US, late_rank=2)
            result = self.ask(base / "4", base / "1")
            self.sums(result)
            self.assertEqual([r["gpus"] for r in result["runs"]], [1, 4])
            self.assertEqual(result["mode"], "weak")
            step = 14_005                                       # us: load 3,000 on the late rank, 5 launch, 10,000 compute, 1,000 transfer
            four = result["runs"][1]
            self.assertAlmostEqual(four["step_ns"] / US, step, delta=30)
            self.assertAlmostEqual(four["efficiency_pct"], 100 * 10_005 / step, delta=0.3)
            self.assertAlmostEqual(four["loss_pct"]["wait"], 100 * 3_000 * 0.75 / step, delta=1)
            self.assertAlmostEqual(four["loss_pct"]["data_loader"], 100 * 3_000 * 0.25 / step, delta=1)
            self.assertAlmostEqual(four["loss_pct"]["transfer"], 100 * 1_000 / step, delta=1)
            self.assertAlmostEqual(four["loss_pct"]["compute"], 0, delta=0.5)
            self.assertAlmostEqual(four["transfer_efficiency_pct"], 100 * (step - 1_000) / step, delta=0.5)
            self.assertAlmostEqual(four["load_balance_pct"] * four["transfer_efficiency_pct"] * four["serialisation_efficiency_pct"] / 1e4, 100 * 10_000 / step, delta=0.3)
            self.assertIn("rank 2 (host: data loader)", result["bottleneck_summary"])
            self.assertIn("1 → 4 GPUs: 2.9×", result["bottleneck_summary"])
            self.assertAlmostEqual(four["karp_flatt"], (1 / four["speedup"] - 1 / 4) / (1 - 1 / 4), places=5)

    def test_strong_scaling_is_seen_and_can_be_told(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            base = pathlib.Path(name)
            job(base / "1", 1, compute=16_000 * US, transfer=0)
            job(base / "2", 2, compute=8_000 * US, transfer=500 * US)
            job(base / "4", 4, compute=4_000 * US, transfer=700 * US)
            result = self.ask(base / "1", base / "2", base / "4")
            self.sums(result)
            self.assertEqual((result["mode"], result["mode_is_guessed"]), ("strong", True))
            self.assertAlmostEqual(result["runs"][2]["speedup"], 16_005 / 4_705, delta=0.03)
            self.assertAlmostEqual(result["runs"][2]["loss_pct"]["transfer"], 100 * 700 / 4_705, delta=1)
            told = self.ask(base / "1", base / "2", base / "4", "--weak")
            self.assertEqual((told["mode"], told["mode_is_guessed"]), ("weak", False))
            self.sums(told)

    def test_the_next_doubling_lies_in_its_interval(self) -> None:
        hits = total = 0
        for seed in range(2 if SANITIZED else 6):
            r = random.Random(seed)
            with tempfile.TemporaryDirectory() as name:
                base, transfer = pathlib.Path(name), r.randint(300, 900)
                grow = r.randint(100, 500)
                for k, n in enumerate((1, 2, 4, 8)):
                    job(base / str(n), n, compute=10_000 * US, transfer=(transfer + grow * k) * US if n > 1 else 0, seed=seed)
                told = self.ask(base / "1", base / "2", base / "4")
                truth = self.ask(base / "1", base / "8")["runs"][1]["speedup"]
                self.assertEqual(told["next"]["gpus"], 8)
                self.assertLessEqual(told["next"]["speedup_low"], told["next"]["speedup_high"])
                hits += told["next"]["speedup_low"] - 1e-6 <= truth <= told["next"]["speedup_high"] + 1e-6
                total += 1
        self.assertEqual(hits, total)

    def test_columns_do_not_collide(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            base = pathlib.Path(name)
            job(base / "1", 1, compute=100 * US, transfer=0)
            job(base / "2", 2, compute=100 * US, transfer=1_000_000 * US)
            text = run("scale", base / "1", base / "2", "--weak")[1].decode()
            self.assertRegex(text, r"\d{4,}\.\d %")                # a serial part of more than 1000 %
            for line in text[text.index("RUNS"):text.index("\n\nweak")].splitlines():
                self.assertNotRegex(line, r"[%×s]\d|\d\.\d+\.")

    def test_faces(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            base = pathlib.Path(name)
            job(base / "1", 1, compute=10_000 * US, transfer=0)
            job(base / "2", 2, compute=10_000 * US, transfer=2_000 * US)
            status, out, _ = run("scale", base / "1", base / "2", "--svg", base / "chart.svg")
            self.assertEqual(status, 0)
            text = out.decode()
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertRegex(text.replace("\n", " "), r"Of the 1\d points lost: exposed communication 1\d")
            self.assertIn("speed-up  efficiency", text)
            self.assertIn("next: 4 GPUs would reach", text)
            self.assertTrue((base / "chart.svg").read_text().startswith("<svg"))
            self.assertEqual((base / "chart.svg").read_text().count("<circle"), 2)
            run("scale", base / "1", base / "2", "--html", base / "page.html")
            page = (base / "page.html").read_text()
            for text in ("Where scaling efficiency is lost", "Efficiency points lost", "<circle", "default-src 'none'", "1 → 2 GPUs"):
                self.assertIn(text, page)
            self.assertNotIn("<script", page)
            self.assertNotIn("style=", page)
            status, out, _ = run("scale", base / "1", base / "2", "--markdown")
            rows = [line for line in out.decode().splitlines() if line.startswith("|")]
            self.assertEqual({line.count("|") for line in rows}, {13})

    def test_wrong_usage(self) -> None:
        own = ROOT / "examples/training/traces"
        for arguments, word in ((["scale"], "2 to"), (["scale", own / "slow_loader"], "2 to"), (["scale", own / "slow_loader", own / "fixed_loader"], "all runs have 2"),
                                (["scale", own / "slow_loader", own / "fixed_loader", "--weak", "--strong"], "cannot be used together"), (["scale", "/no", "/where"], "/no")):
            status, out, err = run(*arguments)
            self.assertIn(status, (2, 3), err)
            self.assertIn(word, err)
            self.assertEqual(out, b"")


if __name__ == "__main__":
    unittest.main()
