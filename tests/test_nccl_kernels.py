# SPDX-License-Identifier: Apache-2.0
"""NCCL's collectives and the kernels that run them in one recording of eight ranks: what NCCL says of a call reaches its kernel, by its
profiler interface, by its NVTX ranges, or by both.

The ranks are tests/nccl/job.c on the stand-in device (tests/cuda)."""
from __future__ import annotations

import json
import pathlib
import tempfile
import unittest
from collections import Counter
from typing import Any

from tests import recorder
from tests.cuda import stand
from tests.program import ROOT, SANITIZED, skip_loudly
from tests.test_nvtx import headers

RANKS, STEPS, BYTES = 8, 5, 4 << 20
REDUCE, GATHER = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)")


def load_tests(_loader, tests, _pattern):
    """The recorder works in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def world(rank: int) -> str:
    return "nccl 0xc0ffee0000000001"


def pair(rank: int) -> str:
    return f"nccl 0xbeef00000000000{rank // 2}"


class Job(unittest.TestCase):
    def setUp(self) -> None:
        if not stand.INJECT.exists():
            skip_loudly(f"{stand.INJECT} was not built")
            raise unittest.SkipTest("no library")
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def record(self, words: str, doors: str, **env: str) -> list[pathlib.Path]:
        """The ranks' traces, in order."""
        flags: tuple[str, ...] = ()
        if "nvtx" in words:
            include = headers()
            if not include:
                raise unittest.SkipTest("no headers of NVTX")
            flags = ("-DWITH_NVTX", f"-I{include}")
        self.folder.mkdir(exist_ok=True)
        job = self.folder / "job"
        stand._compile(job, "-std=gnu17", "-O2", "-Wall", f"-I{ROOT / 'include'}", *flags, ROOT / "tests/nccl/job.c", "-Wl,--unresolved-symbols=ignore-all",
                       "-Wl,-z,lazy", f"-L{stand.libraries()}", "-l:libcudart.so.12")
        one = f"RANK=$i LOCAL_RANK=$i WORLD_SIZE={RANKS} {job} {words} {STEPS} &"
        done = stand.Recording(self.folder, "sh", "-c", f"i=0; while [ $i -lt {RANKS} ]; do {one} i=$((i + 1)); done; wait", libcupti=stand.cupti(),
                               options=("--trace", doors), env={"STANDIN_WORLD": str(self.folder / "world"), **env})
        self.assertEqual(done.done.returncode, 0, done.done.stderr)
        self.assertEqual(done.log.misuse(), [])
        self.assertEqual(len(done.files), RANKS, done.done.stderr)
        return done.files

    def rows(self, traces: list[pathlib.Path]) -> list[list[dict[str, Any]]]:
        """The kernels of collectives of each rank: all that were launched, and no other."""
        found = []
        for rank, trace in enumerate(traces):
            rows = recorder.rows(trace, "select c.*, k.name as kernel, h.name as call from collective c join kernel k on k.id = c.id left join call h on h.id = c.launch "
                                        "order by c.start_ns")
            self.assertEqual(Counter(row["kernel"] for row in rows), {REDUCE: STEPS, GATHER: STEPS}, rank)
            self.assertEqual({row["call"] for row in rows}, {"cudaLaunchKernel"})
            found.append(rows)
        return found

    def summary(self, *traces: pathlib.Path) -> dict[str, Any]:
        done = recorder.holdup("report", "--json", *traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_summary(self, traces: list[pathlib.Path]) -> None:
        """Each rank's table has each collective once, with its bytes and communicator; and all of the job's are matched over its ranks."""
        report = self.summary(*traces)
        for rank, one in enumerate(report["ranks"]):
            rows = {(r["name"], r["bytes"], r["group"], r["calls"]) for r in one["communication"]["collectives"]}
            self.assertEqual({(n, b, g.split(" (")[-1].rstrip(")").removeprefix("nccl "), c) for n, b, g, c in rows},
                             {("ncclAllReduce", BYTES, world(rank)[5:], STEPS), ("ncclAllGather", 2 * BYTES, pair(rank)[5:], STEPS)}, rank)
        self.assertEqual((report["collectives"]["matched"], report["collectives"]["unmatched"]), (STEPS + STEPS * RANKS // 2, 0))

    def test_the_profiler(self) -> None:
        traces = self.record("plugin", "cuda,nccl,user")
        for rank, rows in enumerate(self.rows(traces)):
            for name, group, size in (("ncclAllReduce", world(rank), RANKS), ("ncclAllGather", pair(rank), 2)):
                mine = [r for r in rows if r["collective"] == name]
                self.assertEqual([int(r["sequence"]) for r in mine], list(range(STEPS)), name)
                self.assertEqual({(r["process_group"], int(r["group_size"]), int(r["in_elements"]), int(r["bytes"]), r["dtype"]) for r in mine},
                                 {(group, size, 1048576, BYTES if size == RANKS else 2 * BYTES, "Float")})
                self.assertEqual({r["kernel"] for r in mine}, {REDUCE if name == "ncclAllReduce" else GATHER})
                self.assertEqual([int(r["step"]) for r in mine], list(range(STEPS)))
        self.check_summary(traces)

    def test_ranges_where_the_profiler_is_another_ones(self) -> None:
        """NCCL has room for one profiler, and older ones for none: its ranges say bytes and communicator of each kernel."""
        traces = self.record("nvtx", "cuda,nccl,nvtx,user", NCCL_PROFILER_PLUGIN="none")
        for rank, rows in enumerate(self.rows(traces)):
            self.assertEqual({(r["kernel"], r["process_group"], int(r["group_size"]), int(r["bytes"])) for r in rows},
                             {(REDUCE, world(rank), RANKS, BYTES), (GATHER, pair(rank), 2, 2 * BYTES)})
        self.check_summary(traces)

    def test_both_say_it_once(self) -> None:
        for plugin in ("plugin", "plugin4"):
            with self.subTest(plugin=plugin):
                self.folder = self.folder / plugin
                traces = self.record(f"{plugin},nvtx", "cuda,nccl,nvtx,user")
                self.rows(traces)
                self.check_summary(traces)

    def test_a_profiler_that_tells_no_calls(self) -> None:
        """Before NCCL 2.28 nothing of it lies around the launch: kernels stay without bytes and communicator, none is guessed, and the operations are
        no second collectives."""
        traces = self.record("plugin4", "cuda,nccl,user")
        for rows in self.rows(traces):
            self.assertEqual({(r["process_group"], r["bytes"]) for r in rows}, {(None, None)})
        for rank in self.summary(*traces)["ranks"]:
            self.assertEqual({(r["name"], r["bytes"], r["group"], r["calls"]) for r in rank["communication"]["collectives"]},
                             {(REDUCE, None, "", STEPS), (GATHER, None, "", STEPS)})


if __name__ == "__main__":
    unittest.main()
