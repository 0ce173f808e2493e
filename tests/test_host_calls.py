# SPDX-License-Identifier: Apache-2.0
"""Jobs without a device, and calls of the system beside one: planted waits with known answers, and decoys (tests/host_traces.py)."""
from __future__ import annotations

import json
import random
import tempfile
import unittest
from pathlib import Path

from tests.host_traces import MS, Recording, Thread
from tests.pftrace import message, packet
from tests.program import VERSION, report, run

STEPS = 10


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "run.pftrace"
        self.random = random.Random(20)

    def write(self, recording: Recording) -> dict:
        recording.write(self.path)
        return report(self.path)

    def work(self, t: Thread, ms: float) -> None:
        t.runs(int(ms * MS * self.random.uniform(0.99, 1.01)))

    def steps(self, body, marked: bool = True) -> dict:
        """One process whose main thread takes STEPS steps."""
        r = Recording(1000 * MS)
        r.process(100, "train")
        t = r.thread(100)
        for k in range(STEPS):
            if marked:
                with t.range(f"ProfilerStep#{k}"):
                    body(t)
            else:
                body(t)
        return self.write(r)

    def assert_first(self, whole: dict, rule: str, before: float, after: float, tolerance: float = 2) -> dict:
        """The first finding, and its gain within so many points of the truth."""
        self.assertTrue(whole["findings"], whole["verdict"])
        first = whole["findings"][0]
        self.assertEqual(first["id"], rule, first)
        self.assertAlmostEqual(first["gain_pct"], 100 * (1 - after / before), delta=tolerance)
        self.assertLessEqual(first["gain_low_pct"], first["gain_pct"])
        self.assertLessEqual(first["gain_pct"], first["gain_high_pct"])
        self.assertTrue(first["fix"] and first["verify"])
        return first


class Planted(Case):
    def test_sleep(self) -> None:
        def body(t: Thread) -> None:
            self.work(t, 60)
            with t.range("wait_for_lock_file"):
                t.call("nanosleep", 40 * MS)
                self.work(t, 1)

        whole = self.steps(body)
        first = self.assert_first(whole, "sleep", 101, 61)
        self.assertIn("nanosleep in wait_for_lock_file", first["statement"])
        self.assertIn("The main thread sleeps for 40 % of each step", whole["verdict"]["text"])
        rank = whole["ranks"][0]
        self.assertEqual(rank["host_calls"], {"sleep": {"calls": STEPS, "total_ns": 40 * MS * STEPS, "longest_ns": 40 * MS,
                                                        "bytes": 0, "main_ns": 40 * MS * STEPS}})
        self.assertEqual(rank["host_time"]["sleep_ns"], 40 * MS)
        self.assertEqual(rank["host_time"]["step_ns"], rank["host_time"]["sleep_ns"] + rank["host_time"]["running_ns"])

    def test_slow_file(self) -> None:
        """The file and the range are named; a call inside of another is not counted again."""
        def body(t: Thread) -> None:
            self.work(t, 70)
            with t.range("load"):
                t.nested("fread", 30 * MS, "read", 29 * MS, path="/data/slow.bin", bytes=1 << 20)
                self.work(t, 1)
            t.call("openat", 1 * MS, path="/data/slow.bin")

        whole = self.steps(body)
        first = self.assert_first(whole, "io-stall", 102, 71)
        self.assertIn("fread of /data/slow.bin in load", first["statement"])
        calls = whole["ranks"][0]["host_calls"]
        self.assertEqual((calls["file_read"]["calls"], calls["file_read"]["total_ns"]), (STEPS, 30 * MS * STEPS))
        self.assertEqual(calls["file_read"]["bytes"], STEPS << 20)
        self.assertEqual(whole["ranks"][0]["host_time"]["file_read_ns"], 30 * MS)
        places = whole["ranks"][0]["os_calls"]["places"]
        self.assertEqual([(p["call"], p["path"], p["within"], p["calls"]) for p in places],
                         [("fread", "/data/slow.bin", "load", STEPS), ("openat", "/data/slow.bin", "", STEPS)])

    def test_fsync_of_a_checkpoint(self) -> None:
        """Not in every step: what it costs is spread over them."""
        count = iter(range(STEPS))

        def body(t: Thread) -> None:
            self.work(t, 50)
            if next(count) % 3 == 0:
                with t.range("checkpoint", phase=True):
                    t.call("write", 20 * MS, path="/scratch/model.pt", bytes=1 << 24)
                    t.call("fsync", 60 * MS, path="/scratch/model.pt")

        whole = self.steps(body)
        # the first step writes as others do, so it is no warm-up: four of ten
        first = self.assert_first(whole, "io-stall", 50 + 4 * 80 / 10, 50, 3)
        self.assertIn("fsync of /scratch/model.pt in checkpoint", first["statement"])

    def test_memory_is_no_file(self) -> None:
        """munmap and madvise, and mmap of nothing with a name; a mapped file is one."""
        def body(t: Thread) -> None:
            self.work(t, 50)
            t.call("mmap", 10 * MS, "file_meta")
            t.call("munmap", 40 * MS, "file_meta")
            t.call("mmap", 2 * MS, "file_meta", path="/data/table")

        whole = self.steps(body)
        self.assertNotIn("munmap", " ".join(f["statement"] for f in whole["findings"] if f["id"] == "io-stall"))
        host = whole["ranks"][0]["host_time"]
        self.assertEqual((host["file_meta_ns"], host["other_ns"]), (2 * MS, 50 * MS))

    def test_a_run_of_fast_calls_counts_as_many(self) -> None:
        def body(t: Thread) -> None:
            self.work(t, 50)
            t.call("write", 1 * MS, path="/data/lines", bytes=20_000, calls=1000)
            t.call("write", 2 * MS, path="/data/lines", bytes=5)

        calls = self.steps(body)["ranks"][0]["host_calls"]["file_write"]
        self.assertEqual((calls["calls"], calls["bytes"], calls["total_ns"], calls["longest_ns"]), (1001 * STEPS, 20_005 * STEPS, 3 * MS * STEPS, 2 * MS))

    def test_network(self) -> None:
        def body(t: Thread) -> None:
            self.work(t, 50)
            t.call("recv", 50 * MS, bytes=1 << 20, peer="10.0.0.7:443")

        whole = self.steps(body)
        self.assertIn("recv of 10.0.0.7:443", self.assert_first(whole, "io-stall", 100, 50)["statement"])
        self.assertIn("waits for the network for 50 %", whole["verdict"]["text"])

    def test_loading_phase(self) -> None:
        """A phase called data is the loader, and what it waits for is told."""
        def body(t: Thread) -> None:
            with t.range("data", phase=True):
                self.work(t, 30)
                t.call("read", 10 * MS, path="/data/a.tar")
                self.work(t, 1)
            with t.range("forward", phase=True):
                self.work(t, 60)

        whole = self.steps(body)
        ids = [f["id"] for f in whole["findings"]]
        self.assertEqual(ids[0], "data-loading")
        self.assertTrue(any("read of /data/a.tar" in line for line in whole["findings"][0]["evidence"]))

    def test_no_processor(self) -> None:
        def body(t: Thread) -> None:
            self.work(t, 40)
            t.starved(25 * MS)
            self.work(t, 10)
            t.call("nanosleep", 1 * MS)

        whole = self.steps(body)
        self.assert_first(whole, "cpu-starved", 76, 51)
        self.assertEqual(whole["ranks"][0]["host_time"]["cpu_wait_ns"], 25 * MS)
        self.assertIn("is runnable and waits for a CPU for 33 %", whole["verdict"]["text"])
        self.assertEqual(whole["ranks"][0]["quality"]["by_kind"]["cpu_wait"], STEPS)

    def test_lock_contention(self) -> None:
        """Four threads share a lock, the main one waits for them to end: the waits for the lock are what holds it up."""
        r = Recording(1000 * MS)
        r.process(500, "pool")
        m = r.thread(500)
        threads = [r.thread(500, 501 + i, f"worker {i}", start=m.now + 5 * MS) for i in range(4)]
        free, waited = 0, [0] * 4
        for _ in range(25):
            for i, t in enumerate(threads):
                t.runs(1 * MS)
                wait = max(0, free - t.now)
                if wait:
                    t.call("pthread_mutex_lock", wait)
                    waited[i] += wait
                t.runs(4 * MS)
                free = t.now
                t.call("openat", 20_000, path="/etc/hosts")
        start = m.now
        m.runs(6 * MS)
        for t in threads:
            if t.now > m.now:
                m.call("pthread_join", t.now - m.now + 30_000)
        m.runs(2 * MS)
        m.call("write", 10_000, path="/out", bytes=3)
        whole = self.write(r)
        self.assert_first(whole, "lock-contention", m.now - start, m.now - start - waited[3], 3)
        text = whole["verdict"]["text"]
        self.assertRegex(text, r"waits for another thread for (?:100|99\.\d) % of the run")
        self.assertIn("on average each waits for locks for", text)
        self.assertEqual({t["name"] for t in whole["ranks"][0]["host_time"]["threads"]}, {f"worker {i}" for i in range(4)})
        self.assertEqual(sum(t["lock_ns"] for t in whole["ranks"][0]["host_time"]["threads"]), sum(waited))

    def test_lock_of_the_main_thread(self) -> None:
        def body(t: Thread) -> None:
            self.work(t, 30)
            t.call("pthread_mutex_lock", 30 * MS)
            self.work(t, 1)

        self.assert_first(self.steps(body), "lock-contention", 61, 31)

    def test_nothing_to_mend(self) -> None:
        def body(t: Thread) -> None:
            self.work(t, 99)
            t.call("read", 100_000, path="/data/a.bin")

        whole = self.steps(body)
        self.assertEqual(whole["findings"], [])
        self.assertRegex(whole["verdict"]["text"], r"The main thread runs, or waits in no recorded call, for (?:100|99\.\d) % of each step")
        self.assertNotIn("GPU", whole["verdict"]["text"])


class Steps(Case):
    def test_ranges_that_recur(self) -> None:
        def body(t: Thread) -> None:
            with t.range("iteration"):
                self.work(t, 20)
                t.call("nanosleep", 20 * MS)
            t.runs(1 * MS)

        whole = self.steps(body, marked=False)
        self.assertEqual(whole["ranks"][0]["steps"]["source"], "annotation")
        self.assert_first(whole, "sleep", 41, 21)

    def test_calls_that_recur(self) -> None:
        """No marks at all: the main thread's calls repeat, those of a busier helper are not asked."""
        r = Recording(1000 * MS)
        r.process(100, "train")
        t, helper = r.thread(100), r.thread(100, 101, "poller")
        for _ in range(20):
            t.call("read", 10 * MS, path="/data/a.bin")
            self.work(t, 20)
            t.call("write", 5 * MS, path="/out")
            self.work(t, 5)
        while helper.now < t.now - 20 * MS:
            helper.call("poll", 2 * MS)
            helper.runs(100_000)
        whole = self.write(r)
        steps = whole["ranks"][0]["steps"]
        self.assertEqual(steps["source"], "structure")
        self.assertAlmostEqual(steps["mean_ns"] / MS, 40, delta=0.5)
        self.assert_first(whole, "io-stall", 40, 25)


class Decoys(Case):
    def test_waits_of_a_helper(self) -> None:
        """A thread that sleeps, reads and waits for locks beside the main one holds up nothing."""
        r = Recording(1000 * MS)
        r.process(100, "train")
        t, helper = r.thread(100), r.thread(100, 101, "logger")
        for k in range(STEPS):
            with t.range(f"ProfilerStep#{k}"):
                self.work(t, 50)
                t.call("fsync", 10 * MS, path="/log")
            while helper.now < t.now:
                helper.call("nanosleep", 12 * MS)
                helper.call("pthread_mutex_lock", 6 * MS)
                helper.call("read", 3 * MS, path="/proc/stat")
        whole = self.write(r)
        self.assertEqual([f["id"] for f in whole["findings"]], ["io-stall"])
        self.assertIn("fsync of /log", whole["findings"][0]["statement"])
        self.assertEqual(whole["ranks"][0]["host_time"]["sleep_ns"], 0)
        self.assertGreater(whole["ranks"][0]["host_calls"]["sleep"]["total_ns"], 0)

    def test_sleep_beside_the_device(self) -> None:
        """A short sleep while the device has work costs nothing; the same one when it has none does."""
        for hidden in (True, False):
            events = []
            at = 0.0
            for k in range(STEPS):
                start = at
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": at, "dur": 10,
                               "args": {"correlation": k + 1}})
                events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 20, "dur": 10_000,
                               "args": {"device": 0, "stream": 7, "correlation": k + 1}})
                sleep = at + 100 if hidden else at + 10_040
                if not hidden:
                    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 9, "ts": at + 20,
                                   "dur": 10_010, "args": {"correlation": 1000 + k, "stream": 7}})
                events.append({"ph": "X", "cat": "os_call", "name": "usleep", "pid": 9, "tid": 9, "ts": sleep, "dur": 3_000,
                               "args": {"class": "sleep"}})
                if hidden:
                    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 9, "ts": at + 3_200,
                                   "dur": 6_830, "args": {"correlation": 1000 + k, "stream": 7}})
                at = at + 10_050 if hidden else at + 13_050
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k}", "pid": 9, "tid": 9, "ts": start,
                               "dur": at - start})
            path = self.folder / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            whole = report(path)
            with self.subTest(hidden=hidden):
                self.assertEqual("sleep" in [f["id"] for f in whole["findings"]], not hidden, whole["findings"])
                if not hidden:
                    self.assertIn("Meanwhile the main thread sleeps", whole["verdict"]["text"])

    def test_order_of_classes(self) -> None:
        """Instants are counted once: a wait for a processor inside of a call is the processor's."""
        def body(t: Thread) -> None:
            start = t.now
            t.starved(4 * MS)
            t.slice(start, start + 10 * MS, "recv", "os_call", **{"class": "network"})
            t.sleeps(6 * MS)
            self.work(t, 10)

        time = self.steps(body)["ranks"][0]["host_time"]
        self.assertEqual((time["cpu_wait_ns"], time["network_ns"]), (4 * MS, 6 * MS))
        self.assertEqual(time["step_ns"], sum(time[k] for k in time if k.endswith("_ns") and not k.startswith(("step_", "task_", "process_", "job_"))))
        self.assertEqual(time["step_ns"], sum(time[f"task_{k}_ns"] for k in ("running", "runnable", "waiting", "unknown")))


class Processes(Case):
    def test_shell_pipeline(self) -> None:
        """zcat | sort under a shell: the shell is the main process, zcat the one that works, and sort waits for it."""
        r = Recording(1000 * MS)
        for pid, name in ((10, "sh"), (11, "zcat"), (12, "sort")):
            r.process(pid, name)
        sh = r.thread(10)
        z, s = r.thread(11, start=sh.now + 2 * MS), r.thread(12, start=sh.now + 2 * MS)
        sh.runs(3 * MS)
        for _ in range(50):
            z.call("read", 1 * MS, path="/data/x.gz", bytes=65536)
            z.runs(8 * MS)
            z.call("write", 1 * MS, kind="pipe", bytes=65536)
            s.call("read", 9 * MS, kind="pipe", bytes=65536)
            s.runs(1 * MS)
        s.runs(30 * MS)
        s.call("write", 50 * MS, path="/out", bytes=1000)
        sh.call("wait4", s.now - sh.now + 200_000)
        whole = self.write(r)
        text = whole["verdict"]["text"]
        self.assertRegex(text, r"sh waits for its child processes for (?:100|99\.\d) % of the run")
        self.assertIn("The child that does most of the work is zcat", text)
        self.assertIn("sort waits for the other end of a pipe", text)
        rows = {p["name"]: p for p in whole["ranks"][0]["host_time"]["processes"]}
        self.assertEqual([p["name"] for p in whole["ranks"][0]["host_time"]["processes"]][0], "sh")
        self.assertEqual((rows["sh"]["is_main"], rows["zcat"]["is_main"]), (True, False))
        self.assertEqual(rows["sort"]["pipe_ns"], 450 * MS)
        self.assertEqual((rows["zcat"]["running_ns"], rows["zcat"]["file_ns"]), (400 * MS, 50 * MS))
        # what the last child does at its end is on the way to the end of the whole
        first = self.assert_first(whole, "io-stall", 632, 582, 1)
        self.assertIn("write of /out", first["statement"])

    def test_loader_workers(self) -> None:
        """The process with the steps is the main one, although a worker of it makes more calls."""
        r = Recording(1000 * MS)
        r.process(100, "train")
        r.process(101, "worker")
        t, w = r.thread(100), r.thread(101)
        for k in range(STEPS):
            with t.range(f"ProfilerStep#{k}"):
                t.call("poll", 5 * MS)
                self.work(t, 20)
            for _ in range(20):
                w.call("read", 1 * MS, path="/data/a.bin")
        whole = self.write(r)
        self.assertEqual(whole["ranks"][0]["host_time"]["process"], "train")
        self.assertEqual(whole["ranks"][0]["host_time"]["poll_ns"], 5 * MS)
        self.assertEqual(whole["findings"], [])


class Mpi(Case):
    def job(self, n: int, exchange, late: dict[int, int]) -> dict:
        """Ranks that compute 20 ms, the late ones longer, and then meet as `exchange` says; one file for each."""
        files, threads = [], []
        for rank in range(n):
            r = Recording(1000 * MS)
            facts = (("holdup.version", VERSION), ("holdup.rank", rank), ("holdup.world_size", n), ("holdup.host", "node1"))
            r.out.append(packet((126, message((1, [message((1, k), (2 if isinstance(v, int) else 3, v)) for k, v in facts])))))
            r.process(100 + rank, "heat")
            files.append(r)
            threads.append(r.thread(100 + rank))
        for k in range(STEPS):
            ranges = [t.range(f"ProfilerStep#{k}") for t in threads]
            for rank, t in enumerate(threads):
                ranges[rank].__enter__()
                self.work(t, 20)
                if late.get(rank):
                    t.call("nanosleep", late[rank])
                t.runs(10_000)
            exchange(threads)
            for rank, t in enumerate(threads):
                t.runs(5_000)
                ranges[rank].__exit__()
        for rank, r in enumerate(files):
            r.write(self.folder / f"rank{rank}.pftrace")
        return report(self.folder)

    def test_late_to_a_collective(self) -> None:
        def allreduce(threads: list[Thread]) -> None:
            last = max(t.now for t in threads)
            for t in threads:
                t.mpi("MPI_Allreduce", last - t.now + 200_000, bytes=8192, count=1024)

        whole = self.job(4, allreduce, {2: 15 * MS})
        self.assertEqual(whole["collectives"]["matched"], STEPS)
        self.assertEqual(whole["collectives"]["unmatched"], 0)
        self.assertEqual([(s["rank"], s["last"], s["cause"]) for s in whole["stragglers"]], [(2, STEPS, "sleep")])
        first = self.assert_first(whole, "straggler", 35.2, 20.2, 3)
        self.assertIn("rank 2", first["statement"])
        self.assertIn("of rank 2, not of most others: sleeping on the critical path", first["evidence"])
        cause = next(f for f in whole["findings"] if f["id"] == "sleep")
        self.assertIn("Rank 2: The program sleeps", cause["statement"])
        self.assertNotIn("exposed-communication", [f["id"] for f in whole["findings"]])
        self.assertEqual(whole["run"]["world_size"], 4)
        self.assertEqual(whole["inputs"][0]["tool"], "holdup run")

    def test_late_sender(self) -> None:
        def send(threads: list[Thread]) -> None:
            a, b = threads
            sent, there = a.now, b.now
            a.mpi("MPI_Send", 100_000, bytes=4096, peer=1, tag=7)
            b.mpi("MPI_Recv", max(100_000, sent + 120_000 - there), bytes=4096, peer=-1, source=0, tag=7)

        whole = self.job(2, send, {0: 15 * MS})
        self.assertEqual((whole["messages"]["matched"], whole["messages"]["unmatched"]), (STEPS, 0))
        self.assertAlmostEqual(whole["messages"]["late_sender_ns"] / STEPS / MS, 15, delta=0.5)
        self.assertEqual([(s["rank"], s["cause"]) for s in whole["stragglers"]], [(0, "sleep")])
        first = self.assert_first(whole, "straggler", 35.1, 20.1, 3)
        self.assertTrue(any("rank 0 sends or receives late" in line for line in first["evidence"]), first)

    def test_late_receiver(self) -> None:
        """A synchronous send waits until the other one is there."""
        def send(threads: list[Thread]) -> None:
            a, b = threads
            there = b.now
            a.mpi("MPI_Ssend", max(100_000, there + 120_000 - a.now), bytes=4096, peer=1, tag=1)
            b.mpi("MPI_Recv", 130_000, bytes=4096, peer=0, tag=1)

        whole = self.job(2, send, {1: 15 * MS})
        self.assertAlmostEqual(whole["messages"]["late_receiver_ns"] / STEPS / MS, 15, delta=0.5)
        self.assertEqual([s["rank"] for s in whole["stragglers"]], [1])

    def test_members_of_a_communicator(self) -> None:
        """Peers are ranks of the communicator; a call that returns at once has waited for nobody."""
        def send(threads: list[Thread]) -> None:
            a, b = threads[1], threads[3]
            sent, there = a.now, b.now
            a.mpi("MPI_Isend", 2_000, "rows [1, 3]", bytes=64, peer=1, tag=0)
            b.mpi("MPI_Recv", max(50_000, sent + 60_000 - there), "rows [1, 3]", bytes=64, peer=0, tag=0)
            threads[0].mpi("MPI_Irecv", 1_000, "MPI_COMM_WORLD", bytes=64, peer=2, tag=5)
            threads[2].mpi("MPI_Send", 9 * MS, "MPI_COMM_WORLD", bytes=64, peer=0, tag=5)

        whole = self.job(4, send, {})
        paths = {(p["source"], p["target"]): p for p in whole["messages"]["paths"]}
        self.assertEqual(set(paths), {(1, 3), (2, 0)})
        self.assertEqual(whole["messages"]["matched"], 2 * STEPS)
        self.assertEqual(paths[2, 0]["late_receiver_ns"], 0)

    def test_no_rank_is_late(self) -> None:
        def barrier(threads: list[Thread]) -> None:
            last = max(t.now for t in threads)
            for t in threads:
                t.mpi("MPI_Barrier", last - t.now + 20_000)

        whole = self.job(2, barrier, {})
        self.assertNotIn("straggler", [f["id"] for f in whole["findings"]])


class RoundTrip(Case):
    def job(self) -> Path:
        r = Recording(1000 * MS)
        r.process(100, "train")
        t = r.thread(100)
        for k in range(4):
            with t.range(f"ProfilerStep#{k}"):
                t.runs(10 * MS)
                t.call("read", 3 * MS, path="/data/\u00e4 b.bin", bytes=77)
                t.mpi("MPI_Send", 2 * MS, "rows [0, 1]", peer=1, tag=-5, root=2, bytes=9)
                t.starved(1 * MS)
                t.call("waitpid", 1 * MS, kind="wait")
        return r.write(self.path)

    SINCE = "start_ns - (select min(start_ns) from slice) as at_ns"
    TABLES = (f"select name, kind, {SINCE}, dur_ns, step from slice where kind in ('os_call', 'mpi', 'cpu_wait') order by at_ns",
              f"select name, {SINCE}, class, bytes, path, pid from os_call order by at_ns",
              f"select name, {SINCE}, comm, bytes, peer, root, tag from mpi_call order by at_ns")

    def ask(self, path: Path, sql: str) -> list:
        status, out, err = run("query", path, "--json", sql)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_exports_keep_it(self) -> None:
        original = self.job()
        rows = [self.ask(original, sql) for sql in self.TABLES]
        self.assertEqual([len(r) for r in rows], [16, 8, 4])
        self.assertEqual({k: rows[1][0][k] for k in ("name", "class", "bytes", "path", "pid")},
                         {"name": "read", "class": "file_read", "bytes": 77, "path": "/data/\u00e4 b.bin", "pid": 100})
        self.assertEqual(rows[1][1]["class"], "child")
        self.assertEqual({k: rows[2][0][k] for k in ("comm", "peer", "root", "tag", "bytes")},
                         {"comm": "rows [0, 1]", "peer": 1, "root": 2, "tag": -5, "bytes": 9})
        for kind, name in (("perfetto", "x.pftrace"), ("chrome", "x.json")):
            copy = self.folder / name
            status, _, err = run("export", original, "--format", kind, "-o", copy)
            self.assertEqual(status, 0, err)
            with self.subTest(format=kind):
                self.assertEqual([self.ask(copy, sql) for sql in self.TABLES], rows)
                self.assertEqual(report(copy)["ranks"][0]["host_calls"], report(original)["ranks"][0]["host_calls"])

    def test_every_face(self) -> None:
        path = self.job()
        for arguments in (["--view", "host"], ["--view", "oscalls"], ["--view", "oscalls", "--csv"], ["--view", "health"],
                          ["--html", self.folder / "p.html"], ["--merge", "--json"]):
            status, out, err = run("report", path, *arguments)
            self.assertEqual(status, 0, err)
        page = (self.folder / "p.html").read_text()
        self.assertIn("The main thread: each instant counts once", page)
        for kind in ("folded", "speedscope", "csv", "pprof"):
            status, _, err = run("export", path, "--format", kind, "-o", self.folder / f"y.{kind}")
            self.assertEqual(status, 0, err)
        self.assertIn("read", (self.folder / "y.folded").read_text())

    def test_lost_records(self) -> None:
        r = Recording(1000 * MS)
        t = r.thread(100)
        t.call("read", 3 * MS)
        r.lost(t, 41)
        reasons = {x["id"]: x["count"] for x in self.write(r)["ranks"][0]["quality"]["reasons"]}
        self.assertEqual(reasons.get("RECORDER"), 41)

    def test_whatif(self) -> None:
        """The reads run for 3 of 16 ms, as far as is recorded: without them the thread waits less for a CPU, too."""
        path = self.job()
        for edit, left in (("io=0", 13.86), ("cpu=0", 16), ("sleep=0", 17), ("lock=0", 17)):
            status, out, err = run("whatif", path, "--edit", edit, "--json")
            self.assertEqual(status, 0, err)
            with self.subTest(edit=edit):
                self.assertAlmostEqual(json.loads(out)["edits"][0]["step_after_ns"] / MS, left, delta=0.01)


if __name__ == "__main__":
    unittest.main()
