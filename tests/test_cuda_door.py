# SPDX-License-Identifier: Apache-2.0
"""The CUDA door, by the way that a driver takes: CUDA_INJECTION64_PATH, InitializeInjection, libcupti, its records, a trace.

The driver, the device and libcupti are stand-ins (tests/cuda); what they saw is compared with what the trace holds."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from typing import Any

from tests.cuda import sanitized, stand, wheels
from tests.program import EXE, SANITIZED, skip_loudly

HARMLESS = ("cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi", "cuptiActivityFlushPeriod", "cuptiActivityEnableLatencyTimestamps",
            "cuptiActivityEnableAndDump", "cuptiFinalize", "cuptiUnsubscribe", "cuptiEnableDomain", "cuptiGetResultString",
            "cuptiActivitySetAttribute",
            "cuptiGetTimestamp", "cuptiGetDeviceId", "cuptiActivityPushExternalCorrelationId", "cuptiActivityPopExternalCorrelationId",
            "cuptiGetCallbackName",
            "cuptiEnableCallback")
NEEDED = ("cuptiGetVersion", "cuptiSubscribe", "cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiActivityGetNextRecord",
          "cuptiActivityFlushAll",
          "cuptiSetThreadIdType", "cuptiActivityRegisterTimestampCallback", "cuptiActivityGetNumDroppedRecords")


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Case(unittest.TestCase):
    def setUp(self) -> None:
        if not stand.INJECT.exists():
            skip_loudly(f"{stand.INJECT} was not built")
            raise unittest.SkipTest("no library")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    enabling = "cuptiActivityEnable"        # by which kinds are
    disabling = "cuptiActivityDisable"

    def libcupti(self, cuda: str = stand.OWN) -> pathlib.Path | None:
        return stand.cupti(cuda)

    def record(self, program: str, *words: Any, libcupti: pathlib.Path | None = None, options: tuple[str, ...] = (), **env: str) -> stand.Recording:
        return stand.Recording(self.folder, stand.program(program), *words, libcupti=libcupti or self.libcupti(), options=options, env=env)

    def lost(self, recording: stand.Recording) -> int:
        """What the trace itself counts as lost."""
        return sum(int(row["count"]) for row in recording.rows("select count from quality where is_loss"))

    def check(self, recording: stand.Recording, status: int, out: str, kernels: dict[str, int]) -> None:
        """The job's own end and output, no misuse, and just these kernels."""
        self.assertEqual((recording.done.returncode, recording.done.stdout), (status, out), recording.done.stderr)
        self.assertEqual(recording.log.misuse(), [])
        self.assertEqual(recording.kernels(), Counter(kernels), recording.done.stderr)

    def start(self, way: str, options: tuple[str, ...] = (), **env: str) -> subprocess.Popen[str]:
        """The job under `holdup run`, as soon as it has said its way."""
        command = [EXE, "run", "--no-report", *options, "-o", str(self.folder / "trace"), "--", str(stand.program("life")), way]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env=stand.environment(self.folder, self.libcupti(), **env))

        def end_all() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)      # the recorder and the job

        self.addCleanup(end_all)
        assert job.stdout
        self.assertEqual(job.stdout.readline(), f"{way}\n")
        return job

    def end(self, job: subprocess.Popen[str]) -> stand.Recording:
        _, err = job.communicate(timeout=60)
        r = stand.Recording.__new__(stand.Recording)
        r.done = subprocess.CompletedProcess([], job.returncode, "", err)
        r.log = stand.Log(self.folder / "log")
        r.files = sorted(self.folder.rglob("*.pftrace"))
        return r

    def pid_of_job(self) -> int:
        return int((self.folder / "log").read_text().split()[0])

    def until_delivered(self, wanted: int) -> None:
        end = time.monotonic() + 30
        while stand.Log(self.folder / "log").delivered()["kernel"] < wanted:
            self.assertLess(time.monotonic(), end, "nothing is flushed while the job runs")
            time.sleep(0.05)


class Records(Case):
    """Each kind of work once, with numbers of its own."""

    def catalogue(self, cuda: str) -> None:
        libcupti = self.libcupti(cuda)
        if libcupti is None:
            raise unittest.SkipTest(f"no headers of CUDA {cuda}")
        r = stand.Recording(self.folder / cuda, stand.program("catalogue"), libcupti=libcupti)
        self.check(r, 0, "", {"void plain_one<float>(float*, int)": 1, "triton_poi_fused_add_7": 1, "node_first": 1, "node_second": 1})
        plain, = r.rows("select grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, shared_bytes, device, stream, dur_ns from kernel "
                        "where name like '%plain_one<%'")
        duration = plain.pop("dur_ns")
        self.assertEqual([int(v) for v in plain.values()], [101, 102, 3, 64, 4, 2, 77, 3072 + 4096, 0, 7])
        self.assertAlmostEqual(int(duration), 20000, delta=100)         # from clock to clock
        nodes = r.rows("select name, graph, graph_node & 4294967295 as node, stream from kernel where graph is not null order by name")
        self.assertEqual([(row["name"], int(row["graph"]), int(row["node"]), int(row["stream"])) for row in nodes], [("node_first", 2, 1, 13),
                                                                                                                     ("node_second", 2, 2, 13)])
        peer, = r.rows("select bytes, from_device, to_device from memcpy where to_device is not null")
        self.assertEqual({key: int(value) for key, value in peer.items()}, {"bytes": 444444, "from_device": 0, "to_device": 3})
        copies = r.rows("select name, bytes, stream, is_set from memcpy where to_device is null order by start_ns")
        self.assertEqual([(int(row["bytes"]), int(row["stream"]), int(row["is_set"])) for row in copies],
                         [(1234560, 13, 0), (765432, 13, 0), (555555, 13, 0), (999424, 13, 1), (111111, 7, 0)])
        for row, words in zip(copies, (("HtoD", "Pinned"), ("DtoH", "Pageable"), ("DtoD",), ("Memset",), ("HtoD", "Pageable"))):
            for word in words:
                self.assertIn(word.lower(), row["name"].lower())
        calls = Counter(row["name"] for row in r.rows("select name from call where is_driver = 0"))
        for name, n in {"cudaLaunchKernel": 1, "cudaMemcpyAsync": 3, "cudaMemcpy": 1, "cudaMemsetAsync": 1, "cudaGraphLaunch": 1,
                        "cudaStreamSynchronize": 1,
                        "cudaDeviceSynchronize": 1, "cudaEventSynchronize": 1, "cudaMalloc": 1, "cudaFree": 1}.items():
            self.assertEqual(calls[name], n, name)
        launched = r.rows("select k.name as kernel, c.name as call, c.start_ns < k.start_ns as before, c.tid from kernel k join call c on c.id = "
                          "k.launch order by k.start_ns")
        self.assertEqual([row["call"] for row in launched], ["cudaLaunchKernel", "cudaGraphLaunch", "cudaGraphLaunch", "cuLaunchKernel"])
        self.assertTrue(all(int(row["before"]) for row in launched))
        self.assertEqual({int(row["tid"]) for row in launched}, {int(r.log.lines[0].split()[0])})
        has_events = wheels.VERSIONS[stand.OWN_CUDA if cuda == stand.OWN else cuda].api >= 20        # before, there is no such kind of record
        self.assertEqual(self.events_waited_for(r), {7: (13, 7, 6), 14: (13, 13, 13)} if has_events else {})
        overhead = r.rows("select name, dur_ns from slice where kind = 'overhead'")
        self.assertEqual([row["name"] for row in overhead], ["Lazy Function Loading"])
        self.assertAlmostEqual(int(overhead[0]["dur_ns"]), 400000, delta=1000)
        device, = r.rows("select name, memory_bytes, sm_count, major, minor from device")
        self.assertEqual(list(map(str, device.values())), ["Stand-in A100", str(80 << 30), "108", "8", "0"])
        self.assertEqual(Counter(row["name"] for row in r.rows("select name from slice where kind = 'sync'")),
                         {"Stream Wait Event": 1, "Event Sync": 1, "Stream Sync": 1, "Context Sync": 1})
        waits = {row["name"] for row in r.rows("select name from call where waits")}
        self.assertLessEqual({"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"}, waits)
        self.assertEqual(self.lost(r), 0)

    def events_waited_for(self, r: stand.Recording) -> dict[int, tuple[int, int, int]]:
        """By the correlation of the call that waits: its stream, the one waited for, and the call that recorded the event, the later of two."""
        out = r.folder / "exported.json"
        subprocess.run([EXE, "export", r.files[0], "--format", "chrome", "-q", "-o", out], check=True, timeout=60)
        waits = [e["args"] for e in json.loads(out.read_text())["traceEvents"] if e.get("cat") == "cuda_sync" and "wait_on_stream" in e["args"]]
        return {a["correlation"]: (a["stream"], a["wait_on_stream"], a["wait_on_cuda_event_record_corr_id"]) for a in waits}

    def test_without_the_vendors_headers(self) -> None:
        self.catalogue(stand.OWN)

    def test_versions(self) -> None:
        for cuda in wheels.wanted():
            with self.subTest(cuda=cuda):
                self.catalogue(cuda)

    def test_the_thread_is_the_one_that_called(self) -> None:
        r = self.record("life", "threads", 40)
        self.check(r, 7, "threads\n", {"life_kernel": 40 + 80})
        tids = {int(row["tid"]) for row in r.rows("select distinct tid from call where name = 'cudaLaunchKernel'")}
        self.assertEqual((len(tids), int(r.log.lines[0].split()[0]) in tids), (5, True))
        self.assertLessEqual(tids, {int(row["tid"]) for row in r.rows("select tid from track where type = 'host'")})
        self.assertEqual(len(r.rows("select distinct stream from kernel")), 5)

    def test_times_of_device_and_host_are_on_one_clock(self) -> None:
        """A kernel begins after its launch did, and a wait for it ends after it: by the stand-in's own times, always."""
        r = self.record("train", "busy", 20)
        self.assertEqual(r.done.returncode, 0, r.done.stderr)
        links, = r.rows("select count(*) as n, sum(k.start_ns < c.start_ns - 2000) as early from kernel k join call c on c.id = k.launch and "
                        "c.rank = k.rank")
        self.assertEqual((int(links["n"]), int(links["early"])), (21 * 40, 0))
        ends = r.rows("select c.end_ns - (select max(k.end_ns) from kernel k where k.start_ns < c.end_ns) as after from call c where c.name = "
                      "'cudaStreamSynchronize'")
        self.assertTrue(ends)
        self.assertTrue(all(int(row["after"]) > -2000 for row in ends), ends)

    def test_many(self) -> None:
        """More than fit into any one buffer, and all of them."""
        r = self.record("launches", 30000, 2, STANDIN_LAUNCH="0", STANDIN_LATENCY="0", STANDIN_GAP="0")
        self.assertEqual(r.done.returncode, 0, r.done.stderr)
        self.assertEqual(r.log.misuse(), [])
        self.assertEqual(r.log.delivered()["kernel"], 90000)
        self.assertEqual(r.kernels()["launched_kernel"] + self.lost(r), 90000)

    def test_little_memory(self) -> None:
        """What does not fit is counted: no kernel is missing silently."""
        for options in (("--max-memory", "1M"), ("--max-size", "1M")):
            with self.subTest(options=options):
                self.folder = self.folder / options[0]
                r = self.record("launches", 30000, 2, options=options, STANDIN_LAUNCH="0", STANDIN_LATENCY="0", STANDIN_GAP="0")
                self.assertEqual((r.done.returncode, r.log.misuse(), r.log.delivered()["kernel"]), (0, [], 90000), r.done.stderr)
                self.assertGreaterEqual(self.lost(r), 90000 - r.kernels()["launched_kernel"])
                if self.lost(r):
                    self.assertRegex(r.done.stderr, "(?i)lost")

    def test_some_steps(self) -> None:
        """All that was launched in them, and nothing else, however late the library was switched off."""
        for program, words, each in (("train", ("busy", 20), 40), ("borders", ("20",), 8)):
            with self.subTest(program=program):
                self.folder = self.folder / program
                r = self.record(program, *words, options=("--steps", "5..9"))
                self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
                of_step = {int(row["step"]): int(row["n"]) for row in r.rows("select step, count(*) as n from kernel group by step")}
                self.assertEqual(of_step, {n: each for n in (5, 6, 7, 8, 9)})
                calls, = r.rows("select count(*) as n from call where name = 'cudaLaunchKernel'")
                self.assertEqual(int(calls["n"]), 5 * each)
                self.assertGreaterEqual(r.log.delivered()["kernel"], 5 * each)
                self.assertEqual(self.lost(r), 0)

    def test_armed_and_off_nothing_is_enabled(self) -> None:
        """No kind of record, and no call of the program is looked at; while it records, both."""
        r = self.record("life", "return", options=("--start-later",))
        self.check(r, 7, "return\n", {})
        self.assertTrue(r.log.calls("cuptiSubscribe") or r.log.calls("cuptiSubscribe_v2"))
        self.assertEqual((r.log.calls(self.enabling), r.log.calls("cuptiEnableCallback"), r.log.calls("cuptiEnableDomain")), ([], [], []))
        self.folder = self.folder / "on"
        r = self.record("life", "return")
        self.assertTrue(r.log.calls("cuptiEnableCallback"))

    def test_report_reads_it(self) -> None:
        r = self.record("train", "busy", 20)
        done = subprocess.run([EXE, "report", "--json", "--quiet", *map(str, r.files)], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ampere_bf16_s16816gemm", done.stdout)


class Lives(Case):
    """However a job ends: its output and status are its own, and all that the library delivered is in the trace."""

    def test_orderly_ends(self) -> None:
        for way in ("return", "exit", "reset"):
            with self.subTest(way=way):
                self.folder = self.folder / way
                self.check(self.record("life", way), 7, f"{way}\n", {"life_kernel": 20})

    def test_ends_without_ceremony(self) -> None:
        """They leave 0.7 s after the last kernel: a flush was between."""
        for way, status in (("quick", 7), ("abort", 128 + signal.SIGABRT), ("killed", 128 + signal.SIGKILL)):
            with self.subTest(way=way):
                self.folder = self.folder / way
                self.check(self.record("life", way), status, f"{way}\n", {"life_kernel": 20})

    def test_a_thread_ends_the_job_while_a_kernel_runs(self) -> None:
        self.check(self.record("life", "thread"), 7, "thread\n", {"life_kernel": 20})

    def test_others_launch_while_main_returns(self) -> None:
        for turn in range(3):
            with self.subTest(turn=turn):
                self.folder = self.folder / str(turn)
                r = self.record("life", "busy")
                self.assertEqual((r.done.returncode, r.done.stdout, r.log.misuse()), (7, "busy\n", []), r.done.stderr)
                self.assertLessEqual(r.kernels()["life_kernel"] + self.lost(r), 3 * r.log.delivered()["kernel"])
                self.assertGreaterEqual(r.kernels()["life_kernel"] + self.lost(r), 20)

    def test_forks_while_others_launch(self) -> None:
        r = self.record("life", "forks")
        self.assertEqual((r.done.returncode, r.done.stdout, r.log.misuse()), (7, "0 bad\nforks\n", []), r.done.stderr)
        self.assertGreaterEqual(r.kernels()["life_kernel"], 20)

    def test_many_threads_with_a_buffer_each(self) -> None:
        r = self.record("life", "many-threads", STANDIN_PER_THREAD="1")
        self.assertEqual((r.done.returncode, r.done.stdout, r.log.misuse()), (7, "many-threads\n", []), r.done.stderr)
        self.assertEqual(r.log.delivered()["kernel"], 2020)
        self.assertGreaterEqual(r.kernels()["life_kernel"] + self.lost(r), 2020)

    def test_kernels_still_run_at_the_end(self) -> None:
        r = self.record("life", "running")
        self.check(r, 7, "running\n", {"life_kernel": r.log.delivered()["kernel"]})

    def test_a_destructor_still_uses_the_device(self) -> None:
        r = self.record("life", "late")
        self.check(r, 7, "late\n", {"life_kernel": r.log.delivered()["kernel"]})
        self.assertIn(r.kernels()["life_kernel"], (20, 25))

    def test_children(self) -> None:
        self.check(self.record("life", "fork"), 7, "child 0\nchild ended with 5\nfork\n", {"life_kernel": 40})

    def test_a_child_that_leaves_at_once(self) -> None:
        self.check(self.record("life", "fork-quick"), 7, "fork-quick\n", {"life_kernel": 20})

    def test_another_program_takes_over(self) -> None:
        """exec: what was launched before it and not yet delivered is lost with its memory; the new program's is all there."""
        r = self.record("life", "exec")
        self.assertEqual((r.done.returncode, r.done.stdout, r.log.misuse()), (7, "return\n", []), r.done.stderr)
        self.assertEqual(r.log.injections(), 2)
        self.assertEqual(r.kernels()["life_kernel"], r.log.delivered()["kernel"])
        self.assertGreaterEqual(r.kernels()["life_kernel"], 30)

    def test_a_program_that_is_started(self) -> None:
        r = self.record("life", "spawn")
        self.check(r, 7, "return\nspawn\n", {"life_kernel": 50})
        self.assertEqual(r.log.injections(), 2)

    def test_a_job_that_never_stops(self) -> None:
        for name in ("SIGTERM", "SIGKILL"):
            with self.subTest(signal=name):
                self.folder = self.folder / name
                self.folder.mkdir()
                job = self.start("forever")
                self.until_delivered(20)
                os.kill(self.pid_of_job(), getattr(signal, name))
                r = self.end(job)
                self.check(r, 128 + getattr(signal, name), "", {"life_kernel": 20})

    def test_killed_while_it_flushes(self) -> None:
        """The library is slow to flush: at any instant a flush goes on."""
        for name in ("SIGTERM", "SIGKILL"):
            with self.subTest(signal=name):
                self.folder = self.folder / name
                self.folder.mkdir()
                job = self.start("on", STANDIN_SLOW_FLUSH="150")
                self.until_delivered(40)
                os.kill(self.pid_of_job(), getattr(signal, name))
                r = self.end(job)
                self.assertEqual(r.done.returncode, 128 + getattr(signal, name), r.done.stderr)
                self.assertEqual(r.log.misuse(), [])
                kernels, delivered = r.kernels()["life_kernel"], r.log.delivered()["kernel"]
                self.assertGreaterEqual(kernels, 20)
                self.assertLessEqual(kernels, delivered)

    def test_it_is_flushed_while_the_job_runs(self) -> None:
        job = self.start("forever")
        self.until_delivered(20)
        os.kill(self.pid_of_job(), signal.SIGKILL)
        self.assertGreaterEqual(len(self.end(job).log.calls("flushed 0")), 1)


class Faults(Case):
    """What the library refuses, loses or lacks: said, counted, and no matter of the job's."""

    def unharmed(self, kernels: int | None, says: str = "", libcupti: pathlib.Path | None = None, way: str = "return", **env: str) -> stand.Recording:
        r = self.record("life", way, libcupti=libcupti, **env)
        self.assertEqual((r.done.returncode, r.done.stdout), (7, f"{way}\n"), r.done.stderr)
        self.assertEqual(r.log.misuse(), [])
        if kernels is not None:
            self.assertEqual(r.kernels(), Counter({"life_kernel": kernels} if kernels else {}), r.done.stderr)
        if says:
            self.assertRegex(r.done.stderr, says)
        return r

    def test_somebody_else_has_subscribed(self) -> None:
        r = self.unharmed(0, r"(?i)(another|other|already).*|39", STANDIN_FAULT="cuptiSubscribe=39")
        self.assertEqual(r.log.calls("cuptiActivityRegisterCallbacks"), [], "who has subscribed keeps his buffers")

    def test_refusals(self) -> None:
        for fault in ("cuptiSetThreadIdType=999", "cuptiSubscribe=15", "cuptiSubscribe=999", "cuptiActivityRegisterCallbacks=999",
                      "cuptiActivityEnable:10=35",
                      "cuptiActivityEnable=35",
                      "cuptiActivityEnable=15", "cuptiActivityEnable=999", "cuptiGetVersion=999", "cuptiActivityEnable=38"):
            with self.subTest(fault=fault):
                self.folder = self.folder / fault
                self.unharmed(0, r"(?i)\b(GPU|CUDA|CUPTI)\b", STANDIN_FAULT=fault)

    def test_refused_while_another_thread_asks(self) -> None:
        """The program's thread and the recorder's both switch recording on; one is refused while the other waits for it."""
        self.unharmed(0, "(?i)permission", STANDIN_FAULT=f"{self.enabling}:10=35", STANDIN_SLOW_FAULT="20")

    def test_refusals_that_leave_the_kernels(self) -> None:
        for fault in ("cuptiActivityEnable:38=21", "cuptiActivityEnable:36=21", "cuptiActivityEnable:17=999",
                      "cuptiActivityEnable:4=7",
                      "cuptiActivityEnable:51=27", "cuptiActivityEnable:37=21", "cuptiActivityGetNumDroppedRecords=14", "cuptiEnableCallback=1",
                      "cuptiEnableDomain=1",
                      "cuptiActivitySetAttribute=1", "cuptiActivityFlushPeriod=999"):
            with self.subTest(fault=fault):
                self.folder = self.folder / fault
                self.unharmed(20, STANDIN_FAULT=fault)

    def test_the_clock_is_refused(self) -> None:
        """Its records then have times of another clock: kernels are in their places, or none is there and it is said."""
        r = self.unharmed(None, STANDIN_FAULT="cuptiActivityRegisterTimestampCallback=999")
        if r.kernels():
            links, = r.rows("select count(*) as n, sum(k.start_ns < c.start_ns or k.start_ns > c.end_ns + 1000000000) as wrong from kernel k join "
                            "call c on c.id = k.launch")
            self.assertEqual((int(links["n"]), int(links["wrong"])), (20, 0))
        else:
            self.assertRegex(r.done.stderr, r"(?i)\b(GPU|CUDA|CUPTI)\b")

    def test_drops_are_counted(self) -> None:
        r = self.record("life", "return", 210, STANDIN_DROP="7")
        self.check(r, 7, "return\n", {"life_kernel": 180})
        self.assertEqual(r.log.told_drops(), 30, "the library was asked for all of them")
        self.assertGreaterEqual(self.lost(r), 30)

    def test_kernels_without_times(self) -> None:
        """Start and end are 0: lost, and counted; never a slice at the beginning of time."""
        r = self.record("life", "return", 50, STANDIN_NO_TIME="5")
        self.check(r, 7, "return\n", {"life_kernel": 40})
        self.assertEqual(self.lost(r), 10)

    def test_late_and_unordered(self) -> None:
        for env in ({"STANDIN_LATE": "50"}, {"STANDIN_SHUFFLE": "1"}, {"STANDIN_LATE": "120", "STANDIN_SHUFFLE": "1"}):
            with self.subTest(env=env):
                self.folder = self.folder / "-".join(env)
                r = self.record("train", "busy", 60, **env)
                self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
                self.assertEqual(sum(r.kernels().values()), r.log.delivered()["kernel"])
                self.assertGreaterEqual(sum(r.kernels().values()), 61 * 40 - 200)

    def test_kernels_begin_before_their_launch(self) -> None:
        """Clocks of host and device differ by microseconds: nothing is lost, and who launched what is known."""
        r = self.record("life", "return", 100, STANDIN_EARLY="40000")
        self.check(r, 7, "return\n", {"life_kernel": 100})
        links, = r.rows("select count(*) as n, min(k.dur_ns) as shortest from kernel k join call c on c.id = k.launch where c.name = "
                        "'cudaLaunchKernel'")
        self.assertEqual(int(links["n"]), 100)
        self.assertGreater(int(links["shortest"]), 29000)

    def test_a_names_address_gets_another_text(self) -> None:
        self.check(self.record("life", "names"), 7, "names\n",
                   {"life_kernel": 20, "reused_name_0_kernel": 10, "reused_name_1_kernel": 11, "reused_name_2_kernel": 12})

    def test_symbols_that_may_be_missing(self) -> None:
        for name in HARMLESS:
            with self.subTest(missing=name):
                self.folder = self.folder / name
                self.unharmed(20, libcupti=stand.cupti(stand.OWN, (name,)))

    def test_symbols_that_must_be_there(self) -> None:
        for name in NEEDED:
            with self.subTest(missing=name):
                self.folder = self.folder / name
                r = self.unharmed(None, libcupti=stand.cupti(stand.OWN, (name,)))
                self.assertIn(r.kernels()["life_kernel"], (0, 20))
                if not r.kernels():
                    self.assertRegex(r.done.stderr, r"(?i)\b(GPU|CUDA|CUPTI)\b")

    def test_a_version_of_the_future(self) -> None:
        self.unharmed(20, STANDIN_VERSION="140000")

    def test_no_libcupti(self) -> None:
        r = stand.Recording(self.folder, stand.program("life"), "return", libcupti=None)
        self.assertEqual((r.done.returncode, r.done.stdout), (7, "return\n"), r.done.stderr)
        self.assertRegex(r.done.stderr, r"(?i)libcupti")

    def test_no_device(self) -> None:
        r = self.record("life", "return", STANDIN_DEVICES="0")
        self.assertEqual((r.done.returncode, r.done.stdout, r.log.misuse()), (8, "no device\n", []), r.done.stderr)
        self.assertRegex(r.done.stderr, r"(?i)\b(GPU|CUDA|device)\b")

    def test_incomplete_records(self) -> None:
        """A launch takes the place of its record.  Orderly ends lose nothing; where an endless kernel is in flight, what stands before it is read."""
        for way in ("return", "reset"):
            with self.subTest(way=way):
                self.folder = self.folder / way
                self.unharmed(20, way=way, STANDIN_SLOTS="1")
        self.folder = self.folder / "thread"
        r = self.unharmed(None, way="thread", STANDIN_SLOTS="1")
        self.assertEqual(r.kernels(), Counter({"life_kernel": 20}), r.done.stderr)

    def test_incomplete_records_of_a_long_run(self) -> None:
        r = self.record("train", "busy", 100, STANDIN_SLOTS="1")
        self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
        self.assertEqual(sum(r.kernels().values()), 101 * 40, [line for line in r.log.lines if "lost" in line][:3])

    def test_strange_records(self) -> None:
        """No name, a name of 100 kB, an end before the start, a kind that nobody knows: the rest is read."""
        r = self.unharmed(None, STANDIN_STRANGE="1")
        self.assertIn(r.kernels()["life_kernel"], (17, 18))             # the third is left out and counted, or kept without length
        self.assertLessEqual(sum(r.kernels().values()), 20)
        self.assertGreaterEqual(sum(r.kernels().values()) + self.lost(r), 20)
        self.assertEqual(r.rows("select name from kernel where dur_ns < 0 or dur_ns > 1000000000"), [])
        self.assertEqual(r.rows("select value from metadata where key = 'holdup.gpu_unknown_kinds'"), [{"value": "1"}])
        self.assertIn("1 GPU records are of kinds that this version of holdup does not know", r.done.stderr)

    def test_another_profiler_takes_the_buffers(self) -> None:
        """It registers callbacks of its own: what was delivered until then is there, and the job ends as ever."""
        r = self.record("life", "names", STANDIN_STEAL="2")
        self.assertEqual((r.done.returncode, r.done.stdout, r.log.misuse()), (7, "names\n", []), r.done.stderr)
        self.assertEqual(sum(r.kernels().values()), r.log.delivered()["kernel"])

    def test_a_flush_that_hangs(self) -> None:
        """The job still ends, with its own status."""
        r = self.record("life", "return", STANDIN_HANG="cuptiActivityFlushAll")
        self.assertEqual((r.done.returncode, r.done.stdout), (7, "return\n"), r.done.stderr)
        self.assertRegex(r.done.stderr, r"(?i)\b(GPU|CUPTI)\b", "what is missing is said")


class Injection(Case):
    """CUDA_INJECTION64_PATH, which others use too."""

    def other(self) -> pathlib.Path:
        source = self.folder / "other.c"
        source.write_text('#include <stdio.h>\nint InitializeInjection(void) { fputs("other was here\\n", stderr); return 1; }\n')
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.folder / "libother.so", source], check=True)
        return self.folder / "libother.so"

    def test_once_for_each_process(self) -> None:
        r = self.record("life", "return")
        self.assertEqual(r.log.injections(), 1)
        self.assertFalse([line for line in r.log.lines if "answered 0" in line or "cannot be loaded" in line])

    def test_a_library_that_was_to_be_injected_still_is(self) -> None:
        r = self.record("life", "return", CUDA_INJECTION64_PATH=str(self.other()))
        self.check(r, 7, "return\n", {"life_kernel": 20})
        self.assertEqual(r.done.stderr.count("other was here"), 1)

    def test_a_library_that_is_not_there(self) -> None:
        r = self.record("life", "return", CUDA_INJECTION64_PATH=str(self.folder / "nothing.so"))
        self.check(r, 7, "return\n", {"life_kernel": 20})

    def test_none_is_respected(self) -> None:
        r = self.record("life", "return", CUDA_INJECTION64_PATH="none")
        self.assertEqual((r.done.returncode, r.done.stdout), (7, "return\n"), r.done.stderr)
        self.assertEqual(r.log.calls("cuptiActivityEnable"), [])

    def test_not_asked_for(self) -> None:
        r = self.record("life", "return", options=("--trace", "osrt"))
        self.assertEqual((r.done.returncode, r.done.stdout), (7, "return\n"), r.done.stderr)
        self.assertEqual(r.log.calls("cuptiActivityEnable"), [])
        self.assertEqual(r.log.calls("cuptiSubscribe"), [])

    def test_the_jobs_own_copy_is_used(self) -> None:
        """Two copies of libcupti: the one that is mapped, not the one on the path."""
        own, other = stand.cupti(stand.OWN, (), ("-DCOPY=1",)), stand.cupti(stand.OWN, (), ("-DCOPY=2",))
        (self.folder / "main.c").write_text("extern int cudaGetDeviceCount(int *);\nextern int cuptiGetCallbackName(int, unsigned, const char **);\n"
                                            "int main(void) { int n; const char *s; cuptiGetCallbackName(2, 211, &s); return "
                                            "cudaGetDeviceCount(&n) ? 3 : 7; }\n")
        subprocess.run(["cc", "-o", self.folder / "main", self.folder / "main.c", own / "libcupti.so.13", f"-L{stand.libraries()}",
                        "-l:libcudart.so.12",
                        "-Wl,--unresolved-symbols=ignore-all", f"-Wl,-rpath,{own}", "-Wl,--disable-new-dtags"], check=True)
        r = stand.Recording(self.folder, self.folder / "main", libcupti=other)
        self.assertEqual(r.done.returncode, 7, r.done.stderr)
        self.assertTrue(r.log.calls("cuptiActivityEnable"))
        self.assertEqual({line.split()[1] for line in r.log.lines if " copy-" in line}, {"copy-1"})


class Sanitized(Faults):
    """The same faults, with the door under ASan and UBSan."""

    def setUp(self) -> None:
        super().setUp()
        self.program = sanitized.holdup()
        if not self.program:
            raise unittest.SkipTest("no sanitized door")

    def record(self, program: str, *words: Any, libcupti: pathlib.Path | None = None, options: tuple[str, ...] = (), **env: str) -> stand.Recording:
        r = stand.Recording(self.folder, stand.program(program, ("-fsanitize=address",)), *words, libcupti=libcupti or stand.cupti(), options=options,
                            env={**env, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0"}, holdup=str(self.program))
        self.assertNotRegex(r.done.stderr, "AddressSanitizer|runtime error")
        return r

    test_symbols_that_may_be_missing = None

    def test_every_kind(self) -> None:
        r = self.record("catalogue")
        self.assertEqual((r.done.returncode, sum(r.kernels().values())), (0, 4), r.done.stderr)

    def test_a_broken_door_would_be_seen(self) -> None:
        """The door is the sanitized one: its symbols are in it."""
        self.assertTrue(self.program)
        symbols = subprocess.run(["nm", "-D", self.program.parent / "libholdup-inject.so"], capture_output=True, text=True, check=True).stdout
        self.assertIn("__asan_report_load", symbols)


class Control(Case):
    """When it records, and what."""

    def test_armed_and_off(self) -> None:
        name = f"cuda-{os.getpid()}"
        job = self.start("on", options=("--start-later", "--session-new", name))
        time.sleep(0.5)
        self.assertEqual(stand.Log(self.folder / "log").calls(self.enabling), [], "nothing is enabled until somebody asks")
        self.assertEqual(subprocess.run([EXE, "start", "--session", name], capture_output=True, text=True, timeout=60, check=False).returncode, 0)
        self.until_delivered(50)
        self.assertEqual(subprocess.run([EXE, "stop", "--session", name], capture_output=True, text=True, timeout=60, check=False).returncode, 0)
        end = time.monotonic() + 30
        while not stand.Log(self.folder / "log").calls(f"{self.disabling} 10"):
            self.assertLess(time.monotonic(), end, "kernels are not disabled")
            time.sleep(0.05)
        os.kill(self.pid_of_job(), signal.SIGTERM)
        r = self.end(job)
        self.assertEqual((r.done.returncode, r.log.misuse()), (128 + signal.SIGTERM, []), r.done.stderr)
        self.assertGreaterEqual(r.kernels()["life_kernel"], 50)

    def test_whole_graphs(self) -> None:
        r = self.record("train", "graph", 10, options=("--cuda-graph-trace=graph",))
        self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
        self.assertIn(f"{self.enabling} 51", r.log.calls(self.enabling))
        self.assertEqual((r.log.delivered()["graph"], r.log.delivered()["kernel"]), (110, 0))
        rows, = r.rows("select count(*) as n, min(s.dur_ns) as shortest from slice s where s.name like '%raph%' and s.kind not in ('runtime', "
                       "'driver')")
        self.assertEqual(int(rows["n"]), 110)
        self.assertGreaterEqual(int(rows["shortest"]), 10 * 90000)

    def test_nodes_of_graphs(self) -> None:
        r = self.record("train", "graph", 10, options=("--cuda-graph-trace=node",))
        self.assertEqual(r.log.delivered()["graph"], 0)
        self.assertEqual(sum(r.kernels().values()), 110 * 40)

    def test_memory(self) -> None:
        r = self.record("train", "allocations", 5, options=("--cuda-memory-usage=true",))
        self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
        self.assertEqual(r.log.delivered()["memory"], 1 + 6 * 8)

    def test_memory_is_not_recorded_unless_asked_for(self) -> None:
        self.assertEqual(self.record("train", "allocations", 2).log.delivered()["memory"], 0)


class Ranges(Case):
    def test_only_what_the_program_wants(self) -> None:
        r = self.record("life", "range", options=("--capture-range=cudaProfilerApi",))
        self.check(r, 7, "range\n", {"inside_kernel": 7})

    def test_the_calls_are_nothing_special_otherwise(self) -> None:
        self.check(self.record("life", "range"), 7, "range\n", {"life_kernel": 20, "inside_kernel": 7, "after_kernel": 9})


if __name__ == "__main__":
    unittest.main()
