# SPDX-License-Identifier: Apache-2.0
"""Collectives of PyTorch over gloo, which has threads of its own for them: how many there are, who waits for them, and which rank is late."""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import unittest
from typing import Any

from tests.program import ROOT, skip_loudly, torch_or_skip
from tests.recorder import Recorded, environment, holdup, once, rows

load_tests = once


class Case(Recorded):
    def collectives(self, trace: pathlib.Path) -> list[dict[str, Any]]:
        return rows(trace, "select s.name, s.start_ns, s.end_ns from slice s where s.name like 'gloo:%' order by s.start_ns")

    def host_time(self, trace: pathlib.Path) -> dict[str, Any]:
        done = holdup("report", trace, "--json", "--view", "host")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["ranks"][0]["host_time"]


class StandIn(Case):
    """The same threads, queue and waits, without PyTorch."""

    ROUNDS = 20

    def run_it(self, is_named: bool, *options: str) -> int:
        """How long its main thread waited, by its own clock."""
        if not shutil.which("c++"):
            skip_loudly("no c++")
            self.skipTest("no c++")
        library, program = self.folder / "libtorch_cpu.so", self.folder / "main.c"
        subprocess.run(["c++", "-O1", "-fPIC", "-shared", "-o", library, ROOT / "tests/inject/gloo_fake.cpp", "-lpthread"], check=True)
        program.write_text(f"void fake(int, int); int main(void) {{ fake({int(is_named)}, {self.ROUNDS}); return 0; }}")
        subprocess.run(["cc", "-o", self.folder / "program", program, library, f"-Wl,-rpath,{self.folder}"], check=True)
        done = holdup("run", *options, "--no-report", "-f", "-o", self.trace, "--", self.folder / "program", env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def test_each_collective_is_one_slice(self) -> None:
        """Also where a thread takes the next one without having waited for it: its signals say so."""
        for is_named, options in ((True, ()), (False, ("--pytorch",))):
            waited = self.run_it(is_named, *options)
            found = self.collectives(self.trace)
            self.assertEqual(len(found), 3 * self.ROUNDS)
            self.assertEqual({r["name"] for r in found}, {"gloo:collective"}, "no operator says what it is")
            self.assertGreater(min(r["end_ns"] - r["start_ns"] for r in found), 9e6)
            host = self.host_time(self.trace)
            self.assertGreater(host["communication_ns"], 0.6 * waited)
            self.assertLess(host["communication_ns"], 1.2 * waited)
            self.assertLess(host["wait_ns"], 0.4 * waited, "what is left is the end of the threads")

    def test_threads_without_a_name(self) -> None:
        """Without the option and in PyTorch 2.8: what follows without a wait is one slice, and no time is missing."""
        waited = self.run_it(False)
        found = self.collectives(self.trace)
        self.assertIn(len(found), range(1, 3 * self.ROUNDS + 1))
        self.assertGreater(self.host_time(self.trace)["communication_ns"], 0.6 * waited)

    def test_no_collective_is_a_step(self) -> None:
        self.run_it(True)
        self.assertEqual(rows(self.trace, "select count(*) as n from step")[0]["n"], 0)
        self.assertIn("no steps found", holdup("report", self.trace).stdout)


DDP = """
    import gc, json, os, time, torch
    import torch.distributed as dist
    torch.manual_seed(7)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512)))
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)
    steps, slept = 12, 0.0
    begin = time.monotonic()
    for n in range(steps):
        if rank == LATE:
            before = time.monotonic()
            time.sleep(0.1)
            slept += time.monotonic() - before
        sgd.zero_grad(); net(torch.randn(8, 256)).sum().backward(); sgd.step()
    took = time.monotonic() - begin
    out = [None] * dist.get_world_size()
    dist.all_gather_object(out, [took, slept])
    dist.barrier()
    if rank == 0:
        print(json.dumps({"steps": steps, "took": [o[0] for o in out], "slept": max(o[1] for o in out)}))
    net = sgd = None        # a model that lives until the interpreter ends makes PyTorch 2.15 abort now and then, recorded or not
    gc.collect()
    dist.destroy_process_group()
"""


class Real(Case):
    def train(self, ranks: int, late: int, *options: str) -> tuple[dict[str, Any], list[pathlib.Path]]:
        path = self.script(DDP.replace("LATE", str(late)))
        done = holdup("run", *options, "--no-report", "-f", "-o", self.trace, "--", torch_or_skip(self), "-m", "torch.distributed.run", "--standalone",
                      "--nproc-per-node", ranks, path, env=environment(CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1"), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = sorted(self.folder.glob("*.pftrace"))
        self.assertEqual([p.name for p in made], [f"run-rank{r}.pftrace" for r in range(ranks)], "and none of torchrun's own process")
        return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{"))), made

    def job(self, made: list[pathlib.Path]) -> dict[str, Any]:
        done = holdup("report", *made, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_late_rank_is_named(self) -> None:
        for ranks, late in ((2, 1), (3, 0)):
            truth, made = self.train(ranks, late, "--pytorch")
            names = [[r["name"] for r in self.collectives(trace)] for trace in made]
            self.assertEqual(names.count(names[0]), ranks, "all ranks call the same, in one order")
            requests = rows(made[0], "select count(*) as n from op where name like 'c10d::%'")[0]["n"]
            self.assertEqual(len(names[0]), requests, "one for each operator that asks for one")
            self.assertGreaterEqual(names[0].count("gloo:all_reduce"), truth["steps"])
            self.assertIn("gloo:barrier", names[0])
            job = self.job(made)
            self.assertEqual([len(r["steps"]["list"]) for r in job["ranks"]], [truth["steps"]] * ranks)
            for rank, took in zip(job["ranks"], truth["took"]):
                inside = sum(s["duration_ns"] for s in rank["steps"]["list"]) / 1e9
                self.assertLess(abs(inside / took - 1), 0.25, "steps last as long as the loop")
            self.assertEqual([s["rank"] for s in job["stragglers"]][:1], [late])
            for rank in job["ranks"]:
                waited = rank["host_time"]["communication_ns"] * truth["steps"] / 1e9
                if rank["rank"] == late:
                    self.assertLess(waited, 0.6 * truth["slept"])
                else:
                    self.assertGreater(waited, 0.6 * truth["slept"])
            text = holdup("report", *made).stdout
            self.assertRegex(re.sub(r"\s+", " ", text), rf"% for rank {late} \(host: sleep")

    def test_part_of_the_steps(self) -> None:
        """The threads waited already when recording began: what they run first is not seen, and the others keep their names."""
        _, made = self.train(2, 1, "--pytorch", "--steps", "4..8")
        names = [[r["name"] for r in self.collectives(trace)] for trace in made]
        for found in names:
            self.assertEqual(set(found), {"gloo:all_reduce"})
            self.assertGreaterEqual(len(found), 3)

    def test_without_the_hook(self) -> None:
        """No steps and no names; the time is the same."""
        truth, made = self.train(2, 1)
        count = [len(self.collectives(trace)) for trace in made]
        self.assertGreaterEqual(min(count), truth["steps"])
        waited = [self.host_time(trace)["communication_ns"] / 1e9 for trace in made]
        self.assertGreater(waited[0], 0.6 * truth["slept"])
        self.assertLess(waited[1], 0.6 * truth["slept"])
        self.assertIn("no steps found", holdup("report", *made).stdout)


if __name__ == "__main__":
    unittest.main()
