# SPDX-License-Identifier: Apache-2.0
"""Exports of Nsight Systems: written here with known answers, real ones against SQLite's own sums, bent and cut ones."""
import gzip
import itertools
import json
import random
import re
import sqlite3
import statistics
import struct
import subprocess
import tempfile
import unittest
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.nsight import Export, gid
from tests.program import EXE, SANITIZED, SHARED, report, run, skip_loudly

REAL = sorted((SHARED / "traces/nsys-sqlite").glob("*/*.sqlite"))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "t.sqlite"
        self.export = Export()

    def ask(self, sql: str, path: Path | str | None = None) -> list[tuple]:
        if path is None:
            path = self.export.save(self.path)
        status, out, err = run("query", path, "--json", sql)
        self.assertEqual(status, 0, err)
        return [tuple(row.values()) for row in json.loads(out)]


class Rows(Case):
    def test_launches_and_kernels(self) -> None:
        """A launch of the runtime and of the driver, versions of the API cut off, geometry and occupancy of the SMs."""
        self.export.add("TARGET_INFO_GPU", id=0, name="GPU X", totalMemory=1 << 33, smCount=16, threadsPerWarp=32, maxWarpsPerSm=64,
                        computeMajor=9, computeMinor=0)
        self.export.call(100, 120, "cudaLaunchKernel_v7000", 5)
        self.export.call(130, 140, "cuLaunchKernelEx", 6)
        self.export.call(150, 160, "cuMemcpyHtoDAsync_v2", 8)
        self.export.kernel(200, 300, "gemm", 5)
        self.export.kernel(300, 350, "ncclDevKernel_AllReduce", 6)
        self.assertEqual(self.ask("SELECT name, kind, start_ns, dur_ns FROM slice ORDER BY start_ns"), [
            ("cudaLaunchKernel", "runtime", 100, 20), ("cuLaunchKernelEx", "driver", 130, 10), ("cuMemcpyHtoDAsync_v2", "driver", 150, 10),
            ("gemm", "kernel", 200, 100), ("ncclDevKernel_AllReduce", "collective", 300, 50)])
        self.assertEqual(self.ask("SELECT c.name FROM kernel k JOIN slice c ON c.id = k.launch WHERE k.name = 'gemm'"), [("cudaLaunchKernel",)])
        self.assertEqual(self.ask("SELECT grid_x, grid_y, block_x, registers, shared_bytes FROM kernel LIMIT 1"), [(64, 2, 128, 32, 1536)])
        device = report(self.path)["ranks"][0]["devices"][0]
        self.assertEqual((device["name"], device["sm_count"]), ("GPU X", 16))

    def test_calls_with_a_stack_count_once(self) -> None:
        """With --cudabacktrace a call is in the table twice, the second time around the first; without the first, it counts."""
        for only in (False, True):
            self.export.tables.clear()
            if not only:
                self.export.call(101, 119, "cudaMemcpy_v3020", 5)
            self.export.call(100, 120, "cudaMemcpy", 5)
            self.export.tables["CUPTI_ACTIVITY_KIND_RUNTIME"][-1]["eventClass"] = 67
            self.assertEqual(self.ask("SELECT name, start_ns FROM slice"), [("cudaMemcpy", 100 if only else 101)])

    def test_copies(self) -> None:
        """Names, bytes and bandwidth as PyTorch's profiler writes them; numbers of memory kinds are the exporter's."""
        for i, (kind, source, target) in enumerate([(1, 0, 2), (1, 1, 2), (2, 2, 1), (8, 2, 2), (10, 2, 2)]):
            self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=100 * i, end=100 * i + 50, deviceId=0, streamId=7, correlationId=i + 1,
                            globalPid=gid(10), bytes=5000, copyKind=kind, srcKind=source, dstKind=target)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=900, end=910, deviceId=0, streamId=7, correlationId=9, globalPid=gid(10), bytes=64,
                        memKind=2)
        self.assertEqual([name for name, in self.ask("SELECT name FROM slice ORDER BY start_ns")], [
            "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pinned)",
            "Memcpy DtoD (Device -> Device)", "Memcpy PtoP (Device -> Device)", "Memset (Device)"])
        self.assertEqual(self.ask("SELECT bytes, gbps FROM memcpy LIMIT 1"), [(5000, 100.0)])

    def test_waits_are_what_the_call_says(self) -> None:
        """The number of a kind of wait changed between versions; what was called did not. A query of an event is no wait."""
        calls = ["cudaStreamSynchronize_v3020", "cudaDeviceSynchronize_v3020", "cudaStreamWaitEvent_v3020", "cudaEventQuery_v3020"]
        for i, name in enumerate(calls):
            self.export.call(1000 * i, 1000 * i + 500, name, 50 + i)
            self.export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=1000 * i + 10, end=1000 * i + 490, deviceId=0, contextId=1, streamId=7,
                            correlationId=50 + i, globalPid=gid(10), syncType=2, eventId=3)
        self.assertEqual(self.ask("SELECT name FROM slice WHERE kind = 'sync' ORDER BY start_ns"),
                         [("Stream Sync",), ("Context Sync",), ("Stream Wait Event",)])

    def test_an_event_is_recorded_again_and_again(self) -> None:
        """A stream that waits for an event waits for its last record before: the replay has the link between the streams."""
        self.export.call(100, 110, "cudaLaunchKernel_v7000", 1)
        self.export.kernel(200, 5000, "first", 1, stream=7)
        self.export.call(300, 310, "cudaEventRecord_v3020", 2)
        self.export.call(320, 330, "cudaStreamWaitEvent_v3020", 3)
        self.export.call(340, 350, "cudaLaunchKernel_v7000", 4)
        self.export.kernel(5010, 6000, "second", 4, stream=9)
        for correlation, stream in ((2, 7), (9, 5)):
            self.export.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", deviceId=0, contextId=1, streamId=stream, correlationId=correlation,
                            globalPid=gid(10), eventId=4)
        self.export.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=322, end=328, deviceId=0, contextId=1, streamId=9, correlationId=3,
                        globalPid=gid(10), syncType=2, eventId=4)
        self.export.save(self.path)
        self.assertEqual(report(self.path)["ranks"][0]["replay"]["event_links"], 1)

    def test_ranges(self) -> None:
        """Operators that PyTorch wrote as ranges, with shapes; ranges that cross lie beside each other; domains; what never ended."""
        self.export.range(0, 1000, "step 1")
        self.export.range(10, 90, "aten::addmm, op_id = 7, seq = 3, sizes = [[2, 3], [3, 4], []]")
        self.export.range(20, 80, "FSDP::pre_forward, op_id = 8")
        self.export.range(100, 300, "load", kind=60)
        self.export.range(200, 400, "train", kind=60)
        self.export.range(500, None, "open")
        self.export.range(5, None, "MPI", kind=75, domain=1)
        self.export.range(600, 700, "MPI_Barrier", domain=1)
        self.assertEqual(self.ask("SELECT name, kind, start_ns, dur_ns FROM slice ORDER BY start_ns"), [
            ("step 1", "user_annotation", 0, 1000), ("aten::addmm", "cpu_op", 10, 80), ("FSDP::pre_forward", "user_annotation", 20, 60),
            ("load", "user_annotation", 100, 200), ("train", "user_annotation", 200, 200), ("MPI_Barrier", "mpi", 600, 100)])
        self.assertEqual(self.ask("SELECT count(DISTINCT track) FROM slice WHERE name IN ('load', 'train')"), [(2,)])
        self.assertEqual(self.ask("SELECT shapes FROM op WHERE shapes IS NOT NULL"), [("[[2, 3], [3, 4], []]",)])
        reasons = {r["id"].lower(): r["count"] for r in report(self.path)["ranks"][0]["quality"]["reasons"] if r["count"]}
        self.assertEqual(reasons, {"unmatched_begin": 1})

    def test_host_calls_threads_and_samples(self) -> None:
        """Calls of the C library by class; a thread runs between in and out; a sample has its chain; other processes stay out."""
        for start, end, name in ((100, 200, "read"), (300, 400, "pthread_cond_wait"), (500, 600, "waitpid"), (700, 800, "open64"),
                                 (900, 950, "ioctl")):
            self.export.add("OSRT_API", start=start, end=end, eventClass=27, globalTid=gid(10, 11), nameId=self.export.text(name),
                            returnValue=0, nestingLevel=0, callchainId=0)
        for time, is_in, pid in ((0, 1, 10), (100, 0, 10), (200, 1, 10), (1000, 0, 10), (0, 1, 99), (1000, 0, 99)):
            self.export.add("SCHED_EVENTS", start=time, cpu=0, isSchedIn=is_in, globalTid=gid(pid, 11))
        self.export.add("COMPOSITE_EVENTS", id=1, start=50, cpu=0, threadState=1, globalTid=gid(10, 11), cpuCycles=1)
        for depth, symbol in enumerate(("leaf", "middle", "main")):
            self.export.add("SAMPLING_CALLCHAINS", id=1, symbol=self.export.text(symbol), module=self.export.text("/usr/bin/prog"),
                            stackDepth=depth)
        self.assertEqual(self.ask("SELECT name, class FROM os_call ORDER BY start_ns"), [
            ("read", "file_read"), ("pthread_cond_wait", "wait"), ("waitpid", "child"), ("open64", "file_meta"), ("ioctl", "other")])
        self.assertEqual(self.ask("SELECT sum(end_ns - start_ns) FROM thread_state WHERE state = 'running'"), [(900,)])
        self.assertEqual(self.ask("SELECT function, module FROM cpu_sample"), [("leaf", "prog")])

    def test_columns_come_and_go(self) -> None:
        """An early export without globalPid, context or geometry; one with -1 for a missing end."""
        self.export.call(-3, 5, "cudaLaunchKernel", 1)
        self.export.add("CUPTI_ACTIVITY_KIND_KERNEL", start=0, end=100, deviceId=0, streamId=7, correlationId=1, shortName=self.export.text("k"))
        self.export.add("CUPTI_ACTIVITY_KIND_KERNEL", start=200, end=-1, deviceId=0, streamId=7, correlationId=2, shortName=self.export.text("k"))
        self.assertEqual(self.ask("SELECT name, start_ns, dur_ns FROM slice ORDER BY start_ns"), [("cudaLaunchKernel", -3, 8), ("k", 0, 100)])
        self.assertEqual(self.ask("SELECT count(*) FROM kernel WHERE launch IS NOT NULL"), [(1,)])

    def test_memory_and_where_it_was_made(self) -> None:
        """Allocations and releases; host, version, start and cores of the machine."""
        for start, operation in ((10, 0), (50, 1)):
            self.export.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=start, globalPid=gid(10), deviceId=0, address=4096, bytes=1000, memKind=2,
                            memoryOperationType=operation)
        self.export.call(0, 5, "cudaMalloc_v3020", 1)
        self.export.add("META_DATA_EXPORT", name="EXPORT_PRODUCT_VERSION", value="2025.1.3.140")
        self.export.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="node7")
        self.export.add("TARGET_INFO_SYSTEM_ENV", name="CpuCores", value="64")
        self.export.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1700000000000000000)
        self.assertEqual(self.ask("SELECT time_ns, bytes FROM memory ORDER BY time_ns"), [(10, 1000), (50, -1000)])
        status, out, err = run("info", self.path, "--json")
        self.assertEqual(status, 0, err)
        info = json.loads(out)
        info = info.get("files", [info])[0]
        self.assertEqual((info["tool"], info["host"], info["base_time_ns"]), ("NVIDIA Nsight Systems 2025.1.3.140", "node7", 1700000000000000000))

    def test_bytes_of_mpi_calls(self) -> None:
        """What one rank passes, as in our own recordings: nsys counts an all-reduce once for each rank, and what a root gives to all of them."""
        self.export.add("MPI_COMMUNICATORS", rank=0, timestamp=0, commHandle=7, size=3)
        for i, (name, size, received, handle) in enumerate((("MPI_Allreduce", 12, 12, 7), ("MPI_Allreduce", 12, 12, 8), ("MPI_Bcast", 3000, 1000, 7),
                                                            ("MPI_Scatter", None, 10, 7), ("MPI_Reduce", 4, None, 7), ("MPI_Alltoall", 30, 30, 7))):
            self.export.add("MPI_COLLECTIVES_EVENTS", start=100 * i, end=100 * i + 50, globalTid=gid(10, 10), textId=self.export.text(name), commHandle=handle,
                            rootRank=0, size=size, recvSize=received)
        self.assertEqual(self.ask("SELECT name, bytes FROM mpi_call ORDER BY start_ns"), [
            ("MPI_Allreduce", 4), ("MPI_Allreduce", None), ("MPI_Bcast", 1000), ("MPI_Scatter", 10), ("MPI_Reduce", 4), ("MPI_Alltoall", 30)])

    def test_what_nsys_warned_of(self) -> None:
        """Errors, and warnings of losses, of processes that take part, each once; that a child did not use CUDA is none."""
        self.export.call(0, 5, "cudaMalloc_v3020", 1)
        for severity, text, pid in ((3, "Unable to configure samples.", 0), (2, "Not all NVTX events might have been collected.", 10),
                                    (2, "Not all NVTX events might have been collected.", 10), (2, "No CUDA events collected.", 10), (1, "lost is a word", 10),
                                    (3, "of another process", 99)):
            self.export.add("DIAGNOSTIC_EVENT", timestamp=0, timestampType=1, source=1, severity=severity, text=text, globalPid=gid(pid))
        said = "Unable to configure samples; Not all NVTX events might have been collected"
        self.assertEqual(report(self.export.save(self.path))["ranks"][0]["quality"]["profiler_warned"], said)
        status, out, err = run("report", self.path, "--view", "health")
        self.assertEqual(status, 0, err)
        self.assertIn(f"the profiler warned: {said}", " ".join(out.decode().split()))

    def test_processes_with_gpu_work_are_ranks(self) -> None:
        """One capture of two processes: two ranks, each with its own calls; the path may name one."""
        for pid in (20, 30):
            self.export.call(100, 110, "cudaLaunchKernel_v7000", 1, pid=pid, tid=pid)
            self.export.kernel(200, 200 + pid, f"kernel of {pid}", 1, pid=pid, device=1 if pid == 20 else 0)
        path = self.export.save(self.path)
        told = report(path)
        self.assertEqual([r["file"].rsplit("#", 1)[1] for r in told["inputs"]], ["pid=20", "pid=30"])
        self.assertEqual(self.ask("SELECT name FROM slice WHERE kind = 'kernel'", f"{path}#pid=20"), [("kernel of 20",)])
        status, _, err = run("report", f"{path}#pid=99")
        self.assertEqual(status, 3, err)
        self.assertIn("pid", err)


class Storms(Case):
    """Of an export with more calls of the C library than a limit, fast ones are one slice for each kind within 100 us."""

    COMMON = "SELECT name, class, sum(calls), sum(dur_ns) FROM os_call GROUP BY name, class ORDER BY name"
    INSIDE = ("SELECT o.name, p.name, sum(o.calls), sum(o.dur_ns) FROM os_call o LEFT JOIN slice p ON p.id = o.parent"
              " GROUP BY o.name, p.name ORDER BY o.name, p.name")

    def calls(self, names: tuple[str, ...], start: int, n: int, length: int, every: int, tid: int = 11) -> None:
        for i in range(n):
            self.export.add("OSRT_API", start=start + i * every, end=start + i * every + length, eventClass=27, globalTid=gid(10, tid),
                            nameId=self.export.text(names[i % len(names)]), returnValue=0, nestingLevel=0, callchainId=None)

    def asked(self, sql: str, most: int) -> list[tuple]:
        status, out, err = run("query", self.path, "--limit", f"os_calls={most}", "--json", sql)
        self.assertEqual(status, 0, err)
        return [tuple(row.values()) for row in json.loads(out)]

    def same(self, slices: int) -> None:
        """As many slices as said; all sums, and which range they lie in, are those of single calls."""
        self.export.save(self.path)
        for sql in (self.COMMON, self.INSIDE):
            self.assertEqual(self.asked(sql, 1), self.asked(sql, 10**9))
        self.assertEqual(self.asked("SELECT count(*) FROM os_call", 1), [(slices,)])
        overlaps = ("SELECT count(*) FROM (SELECT start_ns, lag(start_ns + dur_ns) OVER (PARTITION BY track ORDER BY start_ns) AS before FROM slice"
                    " WHERE kind = 'os_call') WHERE start_ns < before")
        self.assertEqual(self.asked(overlaps, 1), [(0,)])

    def test_one_kind(self) -> None:
        """33 calls of 1 us fit into each 100 us, from the first one on."""
        self.calls(("munmap",), 1000, 66, 1000, 3000)
        self.same(2)
        self.assertEqual(self.asked("SELECT start_ns, dur_ns, calls FROM os_call ORDER BY start_ns", 1), [(1000, 33000, 33), (100000, 33000, 33)])

    def test_kinds_that_take_turns(self) -> None:
        """Three kinds lie one behind the other, and the storm ends no later than its last call; of six, four at most."""
        self.calls(("open64", "read", "close"), 0, 30, 2000, 3000)
        self.same(3)
        self.assertEqual(self.asked("SELECT name, start_ns, dur_ns, calls FROM os_call ORDER BY start_ns", 1),
                         [("open64", 0, 20000, 10), ("read", 20000, 20000, 10), ("close", 40000, 20000, 10)])
        self.calls(("open64", "read", "close", "stat", "mmap", "munmap"), 10**6, 12, 1000, 2000)
        self.same(3 + 12)

    def test_a_range_parts_them(self) -> None:
        """Where another slice of the thread begins or ends, a storm does: each call stays in its parent."""
        self.calls(("read",), 0, 30, 1000, 3000)
        self.export.range(0, 200_000, "step")
        self.export.range(31_500, 61_000, "load")
        self.export.range(40_000, 41_000, "elsewhere", tid=12)
        self.same(3)

    def test_what_stays_single(self) -> None:
        """Slow calls, calls apart, calls that wait or wake; calls of several threads are theirs; so are rows out of order."""
        self.calls(("read",), 0, 5, 10_000, 12_000)                        # not fast
        self.calls(("read",), 10**6, 5, 1000, 26_001)                      # not close
        self.calls(("pthread_cond_signal",), 2 * 10**6, 5, 1000, 2000)
        self.calls(("poll",), 3 * 10**6, 5, 1000, 2000)
        self.calls(("fork",), 4 * 10**6, 5, 1000, 2000)
        self.same(25)
        self.calls(("read",), 5 * 10**6, 5, 1000, 2000, tid=12)
        self.same(26)
        self.calls(("write",), 4_500_000, 5, 1000, 2000)
        self.same(27)
        self.calls(("write",), 4_400_000, 5, 1000, 2000)
        self.same(32)

    def test_a_report_says_so(self) -> None:
        """The loss of detail is counted, and sums of the report stay; without the limit nothing is merged."""
        for step in range(40):
            self.export.range(step * 10**6, step * 10**6 + 900_000, f"step {step}")
            self.export.call(step * 10**6 + 1000, step * 10**6 + 5000, "cudaLaunchKernel", step + 1)
            self.export.kernel(step * 10**6 + 6000, step * 10**6 + 300_000, "kernel", step + 1)
            self.calls(("read", "munmap"), step * 10**6 + 10_000, 20, 1000, 3000)
        path = self.export.save(self.path)
        texts = [run("report", path, "--json", "-q", *more) for more in ((), ("--limit", "os_calls=1"))]
        self.assertEqual([t[0] for t in texts], [texts[0][0]] * 2, texts)
        whole, merged = (json.loads(t[1])["ranks"][0] for t in texts)
        reasons = [{r["id"]: (r["count"], r["is_loss"]) for r in rank["quality"]["reasons"]} for rank in (whole, merged)]
        self.assertEqual(reasons, [{}, {"STORM": (40 * 18, False)}])
        for key in ("steps", "breakdown", "idle", "launches", "kernels", "findings"):
            self.assertEqual(whole.get(key), merged.get(key), key)
        sums = [[(f["name"], f["calls"], f["total_ns"]) for f in rank["os_calls"]["functions"]] for rank in (whole, merged)]
        self.assertEqual(sums[0], sums[1])
        self.assertEqual({name: calls for name, calls, _ in sums[0]}, {"read": 400, "munmap": 400})
        measured = [{k: v for k, v in rank["replay"].items() if k in ("steps", "measured_step_ns", "replayed_step_ns")} for rank in (whole, merged)]
        self.assertEqual(measured[0], measured[1])


class Nccl(Case):
    """What NCCL says of its calls in payloads of ranges: bytes behind a header of 32, laid out by schemas, or JSON of the same names."""

    COMM = 0xfedcba9876543210

    def schemas(self) -> None:
        for schema, fields in {1: [("NCCL communicator ID", 18, None), ("No. of ranks", 5, 8), ("Rank", 5, 12)],
                               5: [("NCCL communicator ID", 18, None), ("Message size [bytes]", 22, 8), ("Peer rank", 5, 16)]}.items():
            for i, (name, kind, offset) in enumerate(fields):
                self.export.add("NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=1, schemaId=1 << 24 | schema, idx=i, type=kind, name=name, offset=offset)

    def say(self, start: int, name: str, *values: int, schema: int = 5, form: str = "QQi", json_text: str | None = None) -> None:
        self.export.range(start, start + 10, name, domain=1)
        payload = struct.pack("<" + form, *values) if values else b""
        self.export.tables["NVTX_EVENTS"][-1].update(
            binaryData=struct.pack("<IIIIQQ", 1, 0, 1 << 24 | schema, 0, len(payload), 32 + len(payload)) + payload if values else None, jsonText=json_text)

    def launch(self, start: int, correlation: int, name: str) -> None:
        self.export.call(start, start + 2, "cudaLaunchKernelExC_v11060", correlation)
        self.export.kernel(start + 100, start + 1100, name, correlation)

    def collectives(self) -> list[tuple]:
        status, out, err = run("report", self.export.save(self.path), "--json")
        self.assertEqual(status, 0, err)
        rows = json.loads(out)["ranks"][0]["communication"]["collectives"]
        return sorted((r["name"], r["bytes"], r["group"], r["group_size"]) for r in rows)

    def test_sizes_and_communicators(self) -> None:
        """Bytes of a call and of a group of one; a gather's are those of all ranks, where their number is known; JSON says the same."""
        self.schemas()
        self.say(0, "ncclCommInitRank", self.COMM, 4, 1, schema=1, form="Qii")
        self.say(100, "ncclAllReduce", self.COMM, 4096, 0)
        self.launch(102, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
        self.say(2000, "ncclGroupStart")
        self.say(2020, "ncclAllGather", self.COMM, 1000, 0)
        self.say(2040, "ncclGroupEnd")
        self.launch(2042, 2, "ncclDevKernel_AllGather_RING_LL")
        self.say(4000, "ncclBroadcast", json_text='{"NCCL communicator ID":"0xfedcba9876543210","Message size [bytes]":77,"Root":0}')
        self.launch(4002, 3, "ncclDevKernel_Broadcast_RING_LL")
        group = "nccl 0xfedcba9876543210"
        self.assertEqual(self.collectives(), [("ncclAllGather", 4000, group, 4), ("ncclAllReduce", 4096, group, 4), ("ncclBroadcast", 77, group, 4)])

    def test_what_cannot_be_told(self) -> None:
        """A gather among unknown ranks has no size; a group of several collectives, a cut payload or a foreign schema say nothing."""
        self.schemas()
        self.say(100, "ncclAllGather", self.COMM, 1000, 0)
        self.launch(102, 1, "ncclDevKernel_AllGather_RING_LL")
        self.say(2000, "ncclGroupStart")
        self.say(2020, "ncclAllReduce", self.COMM, 64, 0)
        self.say(2040, "ncclReduceScatter", self.COMM, 64, 0)
        self.say(2060, "ncclGroupEnd")
        self.launch(2062, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
        self.say(4000, "ncclBroadcast", self.COMM, 5, 0, schema=9)
        self.launch(4002, 3, "ncclDevKernel_Broadcast_RING_LL")
        self.assertEqual([row[:3] for row in self.collectives()],
                         [("ncclAllGather", None, "nccl 0xfedcba9876543210"), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", None, ""),
                          ("ncclDevKernel_Broadcast_RING_LL", None, "")])

    def test_sends_and_receives_of_a_group(self) -> None:
        """An exchange by sends and receives counts what it sends."""
        self.schemas()
        self.say(2000, "ncclGroupStart")
        for i in range(3):
            self.say(2020 + 40 * i, "ncclSend", self.COMM, 100, i)
            self.say(2040 + 40 * i, "ncclRecv", self.COMM, 50, i)
        self.say(2200, "ncclGroupEnd")
        self.launch(2202, 2, "ncclDevKernel_SendRecv")
        self.assertEqual([row[:3] for row in self.collectives()], [("ncclDevKernel_SendRecv", 300, "nccl 0xfedcba9876543210")])


class Stats(Case):
    def test_columns_and_faces(self) -> None:
        """The columns of nsys, as table, CSV and JSON; an unknown report is named; of several reports --csv wants one."""
        for i, dur in enumerate((10, 20, 60)):
            self.export.call(100 * i, 100 * i + 5, "cudaLaunchKernel_v7000", i + 1)
            self.export.kernel(100 * i + 20, 100 * i + 20 + dur, "a,b", i + 1)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=900, end=950, deviceId=0, streamId=7, correlationId=9, globalPid=gid(10),
                        bytes=2_500_000, copyKind=2, srcKind=2, dstKind=1)
        path = self.export.save(self.path)
        status, out, err = run("stats", path, "-r", "cuda_gpu_kern_sum", "--csv")
        self.assertEqual((status, out.decode()), (0, "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
                                                     '100.0,90,3,30.0,20.0,10,60,26.5,"a,b"\n'), err)
        status, out, err = run("stats", path, "--json", "-r", "cuda_gpu_mem_size_sum")
        self.assertEqual(json.loads(out), {"cuda_gpu_mem_size_sum": [
            {"Total (MB)": 2.5, "Count": 1, "Avg (MB)": 2.5, "Med (MB)": 2.5, "Min (MB)": 2.5, "Max (MB)": 2.5, "StdDev (MB)": 0,
             "Operation": "[CUDA memcpy Device-to-Host]"}]}, err)
        status, out, err = run("stats", path)
        self.assertEqual(status, 0, err)
        self.assertIn(" ** CUDA API Summary (cuda_api_sum):", out.decode())
        self.assertNotIn("nvtx_sum", out.decode(), "nothing of it was recorded")
        for words, said in ((("-r", "cuda_kern"), "unknown report"), (("--csv",), "choose it")):
            status, _, err = run("stats", path, *words)
            self.assertEqual(status, 2)
            self.assertIn(said, err)

    def test_any_trace(self) -> None:
        """Kernels and annotations of a trace of PyTorch's profiler; its operators are no ranges."""
        trace = self.folder / "t.json"
        trace.write_text(json.dumps([
            {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": 5, "args": {"stream": 7, "device": 0}}
            for cat, name, ts in (("kernel", "k", 10), ("kernel", "k", 20), ("user_annotation", "step", 0), ("cpu_op", "aten::mm", 1))]))
        status, out, err = run("stats", trace, "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual([(r["Name"], r["Instances"], r["Total Time (ns)"]) for r in told["cuda_gpu_kern_sum"]], [("k", 2, 10000)])
        self.assertEqual([(r["Range"], r["Style"]) for r in told["nvtx_sum"]], [("step", "PushPop")])


    def test_launches_and_queues(self) -> None:
        """From call to kernel: the time in a queue exists where the kernel starts behind the call; the total ends with whoever ends last."""
        for i, (call, start, end) in enumerate((((100, 120), 150, 250), ((300, 340), 330, 335), ((400, 410), 500, 700))):
            self.export.call(*call, "cudaLaunchKernel_v7000", i + 1)
            self.export.kernel(start, end, "gemm", i + 1)
        path = self.export.save(self.path)
        status, out, err = run("stats", path, "--json", "-r", "cuda_kern_exec_trace,cuda_kern_exec_sum,cuda_gpu_kern_gb_sum")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual([(r["API Dur (ns)"], r["Queue Start (ns)"], r["Queue Dur (ns)"], r["Total Dur (ns)"]) for r in told["cuda_kern_exec_trace"]],
                         [(20, 120, 30, 150), (40, None, None, 40), (10, 410, 90, 300)])
        row, = told["cuda_kern_exec_sum"]
        self.assertEqual((row["PID"], row["TID"], row["DevId"], row["Count"], row["QCount"], row["TMax (ns)"], row["AAvg (ns)"], row["QAvg (ns)"],
                          row["KMed (ns)"], row["API Name"], row["Kernel Name"]), (10, 11, 0, 3, 2, 300, 23.3, 60, 100, "cudaLaunchKernel", "gemm"))
        self.assertEqual([(r["Instances"], r["GridXYZ"], r["BlockXYZ"]) for r in told["cuda_gpu_kern_gb_sum"]], [(3, "  64    2    1", " 128    1    1")])

    def test_lists_of_calls_and_work(self) -> None:
        """One row for each call, kernel and copy, by start; what was not recorded is empty; throughput is bytes by time."""
        self.export.call(100, 120, "cudaLaunchKernel_v7000", 1)
        self.export.kernel(200, 300, "gemm", 1)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=150, end=180, deviceId=0, streamId=9, correlationId=9, globalPid=gid(10),
                        bytes=6000, copyKind=1, srcKind=0, dstKind=2)
        path = self.export.save(self.path)
        status, out, err = run("stats", path, "--csv", "-r", "cuda_api_trace")
        self.assertEqual((status, out.decode()), (0, "Start (ns),Duration (ns),Name,CorrID,Pid,Tid,Thread Name\n100,20,cudaLaunchKernel,1,10,11,\n"), err)
        status, out, err = run("stats", path, "--csv", "-r", "cuda_gpu_trace")
        self.assertEqual(status, 0, err)
        self.assertEqual(out.decode().splitlines()[1:], ["150,30,9,,,,,,,,,0.006,200000.000,Pageable,Device,(0),,9,[CUDA memcpy Host-to-Device]",
                                                         "200,100,1,64,2,1,128,1,1,32,0.002,,,,,(0),1,7,gemm"])

    def test_ranges_and_what_a_gpu_did_for_them(self) -> None:
        """Work belongs to every range around its launch; a projection is from the first to the last of it; levels and children."""
        for start, end, text in ((0, 1000, "step"), (10, 200, "forward"), (300, 400, "forward"), (20, 90, "forward"), (900, 950, "idle")):
            self.export.range(start, end, text)
        for i, (call, start) in enumerate(((30, 500), (150, 700), (350, 600), (2000, 2100))):
            self.export.call(call, call + 5, "cudaLaunchKernel_v7000", i + 1)
            self.export.kernel(start, start + 50, "gemm", i + 1)
        path = self.export.save(self.path)
        status, out, err = run("stats", path, "--json", "-r", "nvtx_gpu_proj_trace,nvtx_gpu_proj_sum,nvtx_kern_sum,nvtx_pushpop_trace")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual([(r["Name"], r["Projected Start (ns)"], r["Projected Duration (ns)"], r["NumGPUOps"], r["Lvl"], r["NumChild"])
                          for r in told["nvtx_gpu_proj_trace"]],
                         [("step", 500, 250, 3, 0, 2), ("forward", 500, 250, 2, 1, 1), ("forward", 500, 50, 1, 2, 0), ("forward", 600, 50, 1, 1, 0)])
        self.assertEqual([(r["Range"], r["Total Proj Time (ns)"], r["Range Instances"], r["Total GPU Ops"]) for r in told["nvtx_gpu_proj_sum"]],
                         [("forward", 350, 3, 4), ("step", 250, 1, 3)])
        self.assertEqual([(r["NVTX Range"], r["NVTX Inst"], r["Kern Inst"], r["Total Time (ns)"]) for r in told["nvtx_kern_sum"]],
                         [("forward", 3, 4, 200), ("step", 1, 3, 150), (None, 0, 1, 50)], "the last kernel was launched outside of all ranges")
        self.assertEqual([(r["Name"], r["DurChild (ns)"], r["DurNonChild (ns)"], r["Lvl"], r["NumChild"]) for r in told["nvtx_pushpop_trace"]],
                         [("step", 340, 660, 0, 3), ("forward", 70, 120, 1, 1), ("forward", 0, 70, 2, 0), ("forward", 0, 100, 1, 0), ("idle", 0, 50, 1, 0)])

    def test_more_sums(self) -> None:
        """Ranges by style; calls and work in one list; MPI; an unknown report brings the list of those there are."""
        self.export.range(0, 100, "pushed")
        self.export.range(0, 50, "started", kind=60)
        self.export.range(5, None, "MPI", kind=75, domain=1)
        self.export.range(60, 70, "MPI_Barrier", domain=1)
        self.export.call(10, 15, "cudaLaunchKernel_v7000", 1)
        self.export.kernel(20, 30, "gemm", 1)
        path = self.export.save(self.path)
        status, out, err = run("stats", path, "--json", "-r", "nvtx_pushpop_sum,nvtx_startend_sum,cuda_api_gpu_sum,mpi_event_sum,mpi_event_trace")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual([r["Range"] for r in told["nvtx_pushpop_sum"]], ["pushed", "MPI:MPI_Barrier"])
        self.assertEqual([r["Range"] for r in told["nvtx_startend_sum"]], ["started"])
        self.assertEqual([(r["Category"], r["Operation"]) for r in told["cuda_api_gpu_sum"]], [("CUDA_KERNEL", "gemm"), ("CUDA_API", "cudaLaunchKernel")])
        self.assertEqual([(r["Name"], r["Instances"]) for r in told["mpi_event_sum"]], [("MPI_Barrier", 1)])
        self.assertEqual([(r["Event"], r["Start (ns)"]) for r in told["mpi_event_trace"]], [("MPI_Barrier", 60)])
        status, _, err = run("stats", path, "-r", "gpukernsum")
        self.assertEqual(status, 2)
        self.assertIn("cuda_gpu_kern_sum", err)

    def stats(self, report: str, path: Path | None = None) -> tuple[list[dict[str, Any]], str]:
        status, out, err = run("stats", path or self.export.save(self.path), "--json", "-r", report)
        self.assertEqual(status, 0, err)
        return json.loads(out)[report], err

    def test_domains(self) -> None:
        """A range has its domain before its name, as nsys prints it; a name that is in two domains keeps to itself."""
        self.export.range(5, None, "loader", kind=75, domain=1)
        self.export.range(5, None, "cuBLAS", kind=75, domain=2)
        self.export.range(0, 1000, "step")
        self.export.range(10, 110, "next", domain=1)
        self.export.range(200, 250, "next", domain=1)
        self.export.range(300, 320, "twice", domain=1)
        self.export.range(400, 430, "twice", domain=2)
        self.export.range(500, 540, "both", domain=1)
        self.export.range(600, 650, "both")
        self.export.range(700, 701, "noname", domain=7)
        self.export.range(0, 30, "async", kind=60, domain=2)
        self.export.range(5, None, "other", kind=75, domain=1, pid=12)
        self.export.call(20, 25, "cudaLaunchKernel_v7000", 1)
        self.export.kernel(60, 80, "gemm", 1)
        got = {r["Range"]: (r["Style"], r["Instances"], r["Total Time (ns)"]) for r in self.stats("nvtx_sum")[0]}
        self.assertEqual(got, {"step": ("PushPop", 1, 1000), "loader:next": ("PushPop", 2, 150), "twice": ("PushPop", 2, 50),
                               "both": ("PushPop", 2, 90), "noname": ("PushPop", 1, 1), "cuBLAS:async": ("StartEnd", 1, 30)})
        self.assertEqual([r["Range"] for r in self.stats("nvtx_startend_sum")[0]], ["cuBLAS:async"])
        self.assertEqual({r["Range"] for r in self.stats("nvtx_gpu_proj_sum")[0]}, {"step", "loader:next"})
        self.assertEqual({r["NVTX Range"] for r in self.stats("nvtx_kern_sum")[0]}, {"step", "loader:next"})
        self.assertEqual([r["Name"] for r in self.stats("nvtx_pushpop_trace")[0]][:2], ["step", "loader:next"])
        self.assertEqual([r["Name"] for r in self.stats("cuda_gpu_kern_sum:nvtx-name")[0]], ["next/gemm"], "there nsys leaves the domain out")

    def test_arguments(self) -> None:
        """Kernels by their own, their mangled name and the range around the launch, in every report that takes them."""
        names = {"void n::add<float>(float*)", "void n::add<int>(int*)", "void n::odd<(1 > 0)>(T)", "plain"}
        for i, (name, short, mangled) in enumerate((("void n::add<float>(float*)", "add", "_Z3addIf"), ("void n::add<int>(int*)", "add", "_Z3addIi"),
                                                    ("void n::odd<(1 > 0)>(T)", "odd", "_Z3oddA"), ("void n::odd<(1 > 0)>(T)", "odd", "_Z3oddB"),
                                                    ("plain", "plain", None))):
            self.export.call(100 * i, 100 * i + 5, "cudaLaunchKernel_v7000", i + 1)
            self.export.kernel(100 * i + 20, 100 * i + 30 + i, name, i + 1, mangledName=mangled and self.export.text(mangled))
            self.export.tables["CUPTI_ACTIVITY_KIND_KERNEL"][-1]["shortName"] = self.export.text(short)
        self.export.range(0, 150, "outer")
        self.export.range(90, 140, "inner")
        for report, name in (("cuda_gpu_kern_sum", "Name"), ("cuda_gpu_sum", "Operation"), ("cuda_gpu_kern_gb_sum", "Name"),
                             ("cuda_gpu_trace", "Name"), ("cuda_kern_exec_sum", "Kernel Name"), ("cuda_kern_exec_trace", "Kernel Name"), ("nvtx_kern_sum", "Kernel Name")):
            self.assertEqual({r[name] for r in self.stats(report)[0]}, names)
            self.assertEqual({r[name] for r in self.stats(f"{report}:base")[0]}, {"add", "odd", "plain"}, report)
            rows, err = self.stats(f"{report}:mangled")
            self.assertEqual({r[name] for r in rows}, {"_Z3addIf", "_Z3addIi", "void n::odd<(1 > 0)>(T)", "plain"}, report)
            self.assertIn("kernels of one name have several mangled names", err)
            self.assertIn("does not hold mangled names of all kernels", err)
            if report != "nvtx_kern_sum":
                for words in ("base:nvtx-name", "nvtx-name:base"):
                    self.assertEqual({r[name] for r in self.stats(f"{report}:{words}")[0]}, {"outer/add", "inner/add", "odd", "plain"}, report)
        self.assertEqual([(r["Name"], r["Instances"], r["Total Time (ns)"]) for r in self.stats("cuda_gpu_kern_sum:base")[0]],
                         [("odd", 2, 25), ("add", 2, 21), ("plain", 1, 14)])
        self.assertEqual({r["Operation"] for r in self.stats("cuda_api_gpu_sum:base")[0]}, {"add", "odd", "plain", "cudaLaunchKernel"})
        status, out, _ = run("stats", self.path, "-r", "cuda_gpu_kern_sum:base")
        self.assertIn(" ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum:base):", out.decode())
        for wrong, said in (("cuda_gpu_kern_sum:short", 'no argument "short"; it takes :base, :mangled, :nvtx-name'), ("osrt_sum:base", "takes none"),
                            ("cuda_gpu_kern_sum:base:mangled", "not both"), ("nvtx_kern_sum:nvtx-name", "no argument"),
                            ("cuda_gpu_kern_sum:", "no argument")):
            status, _, err = run("stats", self.path, "-r", wrong)
            self.assertEqual(status, 2)
            self.assertIn(said, err)

    def test_openmp_and_openacc(self) -> None:
        """Events by name, those of OpenACC with their place in the source; they are neither ranges nor calls."""
        self.export.directives()
        self.assertEqual([(r["Name"], r["Count"], r["Total Time (ns)"], r["Time (%)"]) for r in self.stats("openmp_sum")[0]],
                         [("Parallel", 2, 4001, 98.5), ("Barrier", 1, 50, 1.2), ("Task", 1, 10, 0.2)])
        self.assertEqual([(r["Name"], r["Num Calls"], r["Total Time (ns)"], r["StdDev (ns)"]) for r in self.stats("openacc_sum")[0]],
                         [("Enqueue Launch@a.c:9", 2, 3051, 2086.7), ("Enter Data@a.c:7", 1, 1000, 0), ("Wait@b.c:3", 1, 11, 0),
                          ("Device Init", 1, 10, 0)])
        for other in ("nvtx_sum", "osrt_sum", "cuda_api_sum"):
            self.assertEqual(self.stats(other)[0], [])
        self.assertEqual(self.ask("SELECT kind, count(*) FROM slice GROUP BY kind ORDER BY kind"), [("openacc", 5), ("openmp", 4)])
        copy = self.folder / "copy.json"
        status, _, err = run("export", self.path, "--format", "chrome", "-o", copy)
        self.assertEqual(status, 0, err)
        self.assertEqual([r["Name"] for r in self.stats("openmp_sum", copy)[0]], ["Parallel", "Barrier", "Task"])

    def test_managed_memory(self) -> None:
        """Faults and migrations by address, the fastest first; :rows limits them; nothing of it in other traces."""
        self.export.managed()
        columns = ("Virtual Address", "HtoD Migration size (MB)", "DtoH Migration size (MB)", "CPU Page Faults", " GPU Page Faults",
                   "Migration Throughput (MB/s)")
        want = [("0x7F0000001000", None, 2.0, 1, None, 25000.0), ("0x7F0000000000", 0.07, 0.008, 2, 5, 16558.298),
                ("0x7F0000004000", 0.004, None, None, None, 8192.0), ("0x7F0000002000", None, None, 1, None, None),
                ("0x7F0000003000", None, None, None, 7, None)]
        self.assertEqual([tuple(r[c] for c in columns) for r in self.stats("um_sum")[0]], want)
        self.assertEqual([tuple(r[c] for c in columns) for r in self.stats("um_sum:rows=2")[0]], want[:2])
        self.assertEqual([tuple(r.values()) for r in self.stats("um_total_sum")[0]], [(0.074, 2.008, 4, 12, "0x7F0000000000", "0x7F0000004000")])
        self.assertEqual([tuple(r.values()) for r in self.stats("um_cpu_page_faults_sum")[0]], [(3, "init"), (1, "main")])
        self.assertEqual(sum(r["Count"] for r in self.stats("cuda_gpu_mem_time_sum")[0]), 6)
        for i in range(12):
            self.export.add("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=10, globalPid=gid(10), address=4096 * i, CpuInstruction=self.export.text("f"))
        self.assertEqual((len(self.stats("um_sum")[0]), len(self.stats("um_sum:rows=99")[0])), (10, 17))
        for wrong in ("um_sum:rows=0", "um_sum:rows=x", "um_sum:base", "um_total_sum:rows=3"):
            status, _, err = run("stats", self.path, "-r", wrong)
            self.assertEqual(status, 2, err)
        self.export.tables = {}
        self.export.kernel(1, 2, "k", 1)
        self.assertEqual(self.stats("um_total_sum")[0], [])

    def test_own_names_of_any_trace(self) -> None:
        """Without a short name in the trace it follows from the name itself."""
        names = {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, T)":
                 "vectorized_elementwise_kernel", "void (anonymous namespace)::softmax_warp<float>(float*)": "softmax_warp",
                 "void at::native::<unnamed>::fill<int>(int)": "fill", "saxpy(double *, int)": "saxpy",
                 "ampere_sgemm_128x64_tn": "ampere_sgemm_128x64_tn",
                 "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                 "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(Params<int>)": "kernel", "CUDA graph 7": "CUDA graph 7"}
        trace = self.folder / "t.json"
        trace.write_text(json.dumps([{"ph": "X", "cat": "kernel", "name": name, "pid": 1, "tid": 2, "ts": 10 + i, "dur": 1,
                                      "args": {"stream": 7, "device": 0}} for i, name in enumerate(names)]))
        self.assertEqual({r["Name"] for r in self.stats("cuda_gpu_kern_sum:base", trace)[0]}, set(names.values()))


class Rules(Case):
    """The rules of `nsys analyze`: what they find, from which size and time on."""

    def found(self, *rules: str) -> dict[str, list[tuple]]:
        status, out, err = run("check", self.export.save(self.path), "--json", "--rules", ",".join(rules or ["nsys"]))
        told = json.loads(out or "{}")
        self.assertEqual(status, 1 if told["found"] else 0, err)
        return {r["name"]: [tuple(row.values()) for row in r["rows"]] for r in told["rules"]}

    def copy(self, i: int, call: str, kind: int, source: int, target: int, size: int) -> None:
        self.export.call(1000 * i, 1000 * i + 500, call, i)
        self.export.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=1000 * i, end=1000 * i + 100 + i, deviceId=0, streamId=7, correlationId=i,
                        globalPid=gid(10), bytes=size, copyKind=kind, srcKind=source, dstKind=target)

    def test_copies_and_fills(self) -> None:
        """Pageable memory in an asynchronous copy; synchronous copies but for small ones to the device and those on it; fills of host memory."""
        for i, words in enumerate((("cudaMemcpyAsync_v3020", 1, 0, 2, 8), ("cudaMemcpyAsync_v3020", 1, 1, 2, 8), ("cudaMemcpy_v3020", 1, 0, 2, 64000),
                                   ("cudaMemcpy_v3020", 1, 0, 2, 64001), ("cudaMemcpy_v3020", 2, 2, 0, 4), ("cudaMemcpy_v3020", 8, 2, 2, 10**6))):
            self.copy(i + 1, *words)
        for i, (call, kind) in enumerate((("cudaMemset_v3020", 1), ("cudaMemset_v3020", 2), ("cudaMemsetAsync_v3020", 4), ("cudaMemset_v3020", 4))):
            self.export.call(10000 + 100 * i, 10050 + 100 * i, call, 20 + i)
            self.export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=10000 + 100 * i, end=10020 + 100 * i + i, deviceId=0, streamId=7, correlationId=20 + i,
                            globalPid=gid(10), bytes=64, memKind=kind)
        told = self.found()
        self.assertEqual([row[:4] for row in told["cuda_memcpy_async"]], [(101, 1000, "Pageable", "Device")])
        self.assertEqual([row[:4] for row in told["cuda_memcpy_sync"]], [(105, 5000, "Device", "Pageable"), (104, 4000, "Pageable", "Device")])
        self.assertEqual([row[:3] for row in told["cuda_memset_sync"]], [(23, 10300, "Managed"), (20, 10000, "Pinned")])

    def test_waits_and_idle_times(self) -> None:
        """Calls that wait for a stream or the device, the longest first; gaps from 500 ms on; low use in thirtieths, neighbours joined."""
        ms = 1_000_000
        self.export.call(0, 10, "cudaStreamSynchronize_v3020", 50)
        self.export.call(100, 200, "cudaDeviceSynchronize_v3020", 51)
        self.export.call(300, 400, "cudaEventSynchronize_v3020", 52)
        for i, (start, end) in enumerate(((0, 100 * ms), (1300 * ms, 1400 * ms), (1899 * ms, 2000 * ms), (2500 * ms, 3000 * ms))):
            self.export.kernel(start, end, "k", i + 1)
        self.assertEqual([(row[0], row[4]) for row in self.found("cuda_api_sync")["cuda_api_sync"]],
                         [(100, "cudaDeviceSynchronize"), (10, "cudaStreamSynchronize")])
        self.assertEqual(self.found("gpu_gaps")["gpu_gaps"], [(1, 1200 * ms, 100 * ms, 10, 0), (2, 500 * ms, 2000 * ms, 10, 0)])
        self.assertEqual(self.found("gpu_time_util")["gpu_time_util"],
                         [(1, 0, 1200 * ms, 100 * ms, 10, 0), (2, 0, 500 * ms, 2000 * ms, 10, 0), (3, 0.2, 500 * ms, 1400 * ms, 10, 0)])
        self.export.add("PROFILER_OVERHEAD", start=700 * ms, end=900 * ms, globalTid=gid(10, 11), nameId=self.export.text("CUDA profiling overhead"))
        self.assertEqual(self.found("gpu_gaps")["gpu_gaps"][0], (1, 600 * ms, 100 * ms, 10, 0), "what the profiler did is no gap")

    def test_faces(self) -> None:
        """A rule that finds nothing passes; text, several words, and what cannot be together."""
        self.export.kernel(0, 1000, "k", 1)
        path = self.export.save(self.path)
        status, out, err = run("check", path, "--rules", "nsys")
        self.assertEqual(status, 0, err)
        self.assertEqual(out.decode().count("pass    "), 6)
        for words, said in ((("--rules", "gpu_gap"), "gpu_gaps"), (("--rules", "nsys", "--max", "idle=1"), "cannot be used together")):
            status, _, err = run("check", path, *words)
            self.assertEqual(status, 2)
            self.assertIn(said, err)


class Files(Case):
    def test_not_only_files(self) -> None:
        """Compressed, from standard input, and under a name with signs that mean something in a URI."""
        self.export.call(100, 120, "cudaLaunchKernel_v7000", 5)
        self.export.kernel(200, 300, "gemm", 5)
        path = self.export.save(self.path)
        packed, odd = self.folder / "t.sqlite.gz", self.folder / "a?b#c%20.sqlite"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        odd.write_bytes(path.read_bytes())
        for where in (packed, odd):
            self.assertEqual(self.ask("SELECT count(*) FROM slice", where), [(2,)])
        status, out, err = run("query", "-", "--json", "SELECT count(*) AS n FROM slice", stdin=path.read_bytes())
        self.assertEqual((status, json.loads(out or b"[]")), (0, [{"n": 2}]), err)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), sorted([packed.name, odd.name, path.name]), "nothing beside the input")

    def test_other_databases_and_reports(self) -> None:
        """What is no export is named, with the way out."""
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("CREATE TABLE t (a)")
            db.commit()
        status, _, err = run("report", self.path)
        self.assertEqual(status, 3)
        self.assertIn("no export of Nsight Systems", err)
        for head, words in ((b"NVIDIA Tegra Profiler Report\0", "nsys export --type sqlite"), (b"NVR\0\2\0", "Nsight Compute"),
                            (b"Processing [t.sqlite] with ", "SQLite file"), (b"\nProcessing [t.sqlite]", "SQLite file"),
                            (b"Time (%),Total Time (ns),Num Calls", "not of sums by name"),
                            (b"\x80\x04\x95\x00", "pickle"), (b"PERFILE2", "perf"), (b"\x7fELF", "holdup run")):
            self.path.write_bytes(head + bytes(100))
            status, _, err = run("report", self.path)
            self.assertEqual(status, 3)
            self.assertIn(words, err)

    def test_views_are_not_run(self) -> None:
        """A view under the name of a table could run without end; it is not there."""
        self.export.call(100, 120, "cudaLaunchKernel_v7000", 5)
        with closing(sqlite3.connect(self.export.save(self.path))) as db:
            db.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 0 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n")
            db.commit()
        self.assertEqual(self.ask("SELECT count(*) FROM slice", self.path), [(1,)])

    def test_cut_and_bent(self) -> None:
        """Never a crash or an endless loop: what could be read, or one line of error."""
        for i in range(3000):
            self.export.call(10 * i, 10 * i + 5, f"cudaLaunchKernel_v{7000 + i % 3}", i + 1)
        for i in range(60):
            self.export.add("NVTX_PAYLOAD_SCHEMA_ENTRIES", domainId=1, schemaId=5, idx=i % 3, type=(18, 22, 5)[i % 3], offset=8 * (i % 3),
                            name=("NCCL communicator ID", "Message size [bytes]", "Peer rank")[i % 3])
            self.export.range(10 * i, 10 * i + 9, ("ncclAllReduce", "ncclGroupStart", "ncclSend", "ncclGroupEnd")[i % 4], domain=1)
            self.export.tables["NVTX_EVENTS"][-1].update(binaryData=struct.pack("<IIIIQQQQi", 1, 0, 5, 0, 20, 52, 77, 1 << 20, i),
                                                         jsonText='{"Message size [bytes]": 5}' if i % 5 else None)
        whole = self.export.save(self.path).read_bytes()
        dice = random.Random(7)
        for n in range(12 if SANITIZED else 60):
            bent = bytearray(whole[:dice.randrange(100, len(whole))] if n % 2 else whole)
            for _ in range(dice.randrange(0, 40)):
                bent[dice.randrange(100, len(bent))] = dice.randrange(256)
            self.path.write_bytes(bent)
            status, _, err = run("report", self.path, "--json", timeout=30)
            self.assertIn(status, (0, 3), err)
            self.assertLessEqual(len(err.strip().splitlines()), 2, err)


@unittest.skipUnless(REAL, "")
class Real(unittest.TestCase):
    """Exports by versions 2023 to 2026, not shipped."""

    def sums(self, path: Path, table: str, where: str = "1") -> tuple[int, int]:
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
            try:
                return db.execute(f"SELECT count(*), coalesce(sum(end - start), 0) FROM {table} WHERE {where}").fetchone()
            except sqlite3.OperationalError:
                return 0, 0

    def plain_calls(self, path: Path) -> str:
        """Not those that are there a second time, with a stack."""
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
            has = any(row[1] == "eventClass" for row in db.execute("PRAGMA table_info(CUPTI_ACTIVITY_KIND_RUNTIME)"))
        return "eventClass != 67" if has else "1"

    def test_sums_are_those_of_sqlite(self) -> None:
        """Counts and times of kernels, calls, copies, fills, ranges and calls of the C library, exactly."""
        kinds = {"CUPTI_ACTIVITY_KIND_KERNEL": "'kernel', 'collective'", "CUPTI_ACTIVITY_KIND_RUNTIME": "'runtime', 'driver'",
                 "CUPTI_ACTIVITY_KIND_MEMCPY": "'memcpy'", "CUPTI_ACTIVITY_KIND_MEMSET": "'memset'", "OSRT_API": "'os_call'",
                 "NVTX_EVENTS": "'user_annotation', 'cpu_op', 'mpi'"}
        for path in REAL:
            files = [r["file"] for r in report(path)["inputs"]]
            with self.subTest(path.name):
                for table, names in kinds.items():
                    n = ns = 0
                    for file in files:
                        status, out, err = run("query", file, "--json",
                                               f"SELECT count(*) AS n, coalesce(sum(dur_ns), 0) AS ns FROM slice WHERE kind IN ({names})")
                        self.assertEqual(status, 0, err)
                        n, ns = n + json.loads(out)[0]["n"], ns + json.loads(out)[0]["ns"]
                    where = {"NVTX_EVENTS": "eventType IN (59, 60, 70, 71) AND end IS NOT NULL",
                             "CUPTI_ACTIVITY_KIND_RUNTIME": self.plain_calls(path),
                             "OSRT_API": "nameId NOT IN (SELECT id FROM StringIds WHERE value LIKE 'OS runtime libraries profiling %')"}.get(table, "1")
                    if len(files) > 1 and table != "CUPTI_ACTIVITY_KIND_KERNEL":
                        pids = ", ".join(f.rsplit("=", 1)[1] for f in files)
                        column = "globalPid" if table in ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET") else "globalTid"
                        where += f" AND ({column} >> 24 & 16777215) IN ({pids})"
                    self.assertEqual((n, ns), self.sums(path, table, where), table)

    def rows(self, db: sqlite3.Connection, report: str) -> list[tuple[str, int]] | None:
        """Names and values that a report sums, by SQL alone; None: the export has no table of it."""
        tables = {t for t, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = {t: {row[1] for row in db.execute(f"PRAGMA table_info({t})")} for t in tables}
        text = "(SELECT value FROM StringIds WHERE id = {})"
        kernels, copies, fills = (f"CUPTI_ACTIVITY_KIND_{t}" for t in ("KERNEL", "MEMCPY", "MEMSET"))
        names = {1: "Host-to-Device", 2: "Device-to-Host", 8: "Device-to-Device", 9: "Host-to-Host", 10: "Peer-to-Peer"}
        out = []
        if report == "osrt_sum" and "OSRT_API" in tables:
            out = [row for row in db.execute(f"SELECT {text.format('nameId')}, end - start FROM OSRT_API")
                   if not row[0].startswith("OS runtime libraries profiling ")]
        elif report == "cuda_api_sum" and "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
            where = "WHERE eventClass <> 67" if "eventClass" in columns["CUPTI_ACTIVITY_KIND_RUNTIME"] and db.execute(
                "SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass IN (0, 1)").fetchone() else ""
            out = [(re.sub(r"_v\d{4,}$", "", name), dur) for name, dur in
                   db.execute(f"SELECT {text.format('nameId')}, end - start FROM CUPTI_ACTIVITY_KIND_RUNTIME {where}")]
        elif report.startswith("cuda_gpu_kern_sum") and kernels in tables:
            column = {"cuda_gpu_kern_sum": "demangledName", "cuda_gpu_kern_sum:base": "shortName", "cuda_gpu_kern_sum:mangled": "mangledName"}[report]
            if column not in columns[kernels]:
                return None
            out = db.execute(f"SELECT {text.format(column)}, end - start FROM {kernels}").fetchall()
            if "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" in tables:  # a graph that was traced as a whole is a kernel here
                out += db.execute("SELECT 'CUDA graph ' || graphId, end - start FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE").fetchall()
        elif report in ("cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum"):
            value = "end - start" if "time" in report else "bytes"
            if copies in tables:
                out += [(f"[CUDA memcpy {names[kind]}]", v) for kind, v in db.execute(f"SELECT copyKind, {value} FROM {copies}")]
            if fills in tables:
                out += [("[CUDA memset]", v) for v, in db.execute(f"SELECT {value} FROM {fills}")]
        elif report in ("nvtx_pushpop_sum", "nvtx_startend_sum") and "NVTX_EVENTS" in tables:
            kinds = "59, 70" if "push" in report else "60, 71"
            domains = dict(((pid, number), name) for pid, number, name in db.execute(
                "SELECT globalTid >> 24, domainId, text FROM NVTX_EVENTS WHERE eventType = 75"))
            out = [((f"{domains[pid, number]}:" if domains.get((pid, number)) else "") + re.sub(r", (op_id|seq|sizes) = .*$", "", name), dur)
                   for name, dur, pid, number in db.execute(f"SELECT coalesce(text, {text.format('textId')}), end - start, globalTid >> 24, domainId "
                                                            f"FROM NVTX_EVENTS WHERE eventType IN ({kinds}) AND end IS NOT NULL")]
        return out or None

    def test_each_report_against_sql(self) -> None:
        """Every row of every sum: count, total, least, most, mean, median and deviation are those of the export's own rows."""
        reports = ["osrt_sum", "cuda_api_sum", "cuda_gpu_kern_sum", "cuda_gpu_kern_sum:base", "cuda_gpu_kern_sum:mangled", "cuda_gpu_mem_time_sum",
                   "cuda_gpu_mem_size_sum", "nvtx_pushpop_sum", "nvtx_startend_sum"]
        compared = 0
        for path in REAL:
            status, out, err = run("stats", path, "--json", "-r", ",".join(reports))
            self.assertEqual(status, 0, err)
            told = json.loads(out)
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
                for report in reports:
                    rows = self.rows(db, report)
                    if rows is None:
                        continue
                    with self.subTest(f"{path.name} {report}"):
                        by_name: dict[str, list[int]] = {}
                        for name, value in rows:
                            by_name.setdefault(name, []).append(value)
                        unit = 1e6 if "size" in report else 1
                        label = "Operation" if "mem" in report else "Range" if "nvtx" in report else "Name"
                        self.assertEqual(sorted(r[label] for r in told[report]), sorted(by_name))
                        for row in told[report]:
                            values = by_name[row[label]]
                            got = [v for k, v in row.items() if k not in ("Time (%)", label)]
                            want = [sum(values) / unit, len(values), statistics.mean(values) / unit, statistics.median(values) / unit,
                                    min(values) / unit, max(values) / unit, (statistics.stdev(values) if len(values) > 1 else 0) / unit]
                            for mine, theirs in zip(got, want):
                                self.assertLessEqual(abs(mine - theirs), 0.000501 if unit > 1 else 0.0501, (row, want))
                            self.assertEqual(got[1], len(values))
                            if unit == 1:
                                self.assertEqual((got[0], got[4], got[5]), (sum(values), min(values), max(values)))
                            compared += 1
        self.assertGreater(compared, 300)

    def test_the_printed_statistics_of_nsys(self) -> None:
        """What `nsys stats` printed of an export, number by number; it keeps versions of five digits in names."""
        text = next((SHARED / "traces/nsys-stats").glob("*/nsys_stats.txt"), None)
        path = text and next((SHARED / "traces/nsys-sqlite").glob("*/" + text.read_text().split()[3]), None)
        if not path:
            skip_loudly("no output of nsys stats with its export in shared/traces")
            self.skipTest("no output of nsys stats")
        status, out, err = run("stats", path, "--json")
        self.assertEqual(status, 0, err)
        ours, compared = json.loads(out), 0
        lines = iter(text.read_text().splitlines())
        for line in lines:
            key = re.match(r" \*\* .*\((\w+)\):", line)
            if not key:
                continue
            rows = [list(row.values()) for row in ours[key[1]]]
            cells = [row.split(None, len(rows[0]) - 1) for row in itertools.takewhile(str.strip, itertools.islice(lines, 3, None))]
            self.assertEqual(len(cells), len(rows), key[1])
            mine = {tuple(float(v) for v in row[:-1]) for row in rows}
            for row in cells:
                self.assertIn(tuple(float(v) for v in row[:-1]), mine, f"{key[1]}: {row[-1]}")
                compared += 1
        self.assertGreater(compared, 90)

    def test_nothing_is_written_beside(self) -> None:
        before = {p: p.stat().st_mtime_ns for p in REAL[0].parent.iterdir()}
        subprocess.run([EXE, "report", REAL[0]], capture_output=True, check=True)
        self.assertEqual(before, {p: p.stat().st_mtime_ns for p in REAL[0].parent.iterdir()})


if not REAL:
    skip_loudly("real exports of shared/traces/nsys-sqlite are not present")

if __name__ == "__main__":
    unittest.main()
