# SPDX-License-Identifier: Apache-2.0
"""The OpenCL door on PoCL: a real program that keeps its own times of each event (tests/opencl/program.c), with the layer and without."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest
from typing import Any

from tests.pf_events import Event, read
from tests.program import EXE, ROOT, SANITIZED, skip_loudly
from tests.recorder import environment, holdup, rows
from tests.rings import DOORS, make_session
from tests.test_finish import Ring

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"
HEADERS = pathlib.Path("/usr/include/CL/cl_layer.h")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
NAMES = {"spin": "spin", "tiny": "tiny", "fill": "Memset (fill buffer)", "write": "Memcpy HtoD (write buffer)", "copy": "Memcpy DtoD (copy buffer)", "read": "Memcpy DtoH (read buffer)",
         "map": "Memcpy DtoH (map buffer)", "unmap": "Memcpy HtoD (unmap)"}
program: pathlib.Path | None = None
tools: tempfile.TemporaryDirectory


def devices() -> bool:
    """Does the system have a device of OpenCL?"""
    if not shutil.which("clinfo"):
        return any(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd"))
    done = subprocess.run(["clinfo", "-l"], capture_output=True, text=True, check=False)
    return "Device" in done.stdout


def setUpModule() -> None:
    global program, tools  # pylint: disable=global-statement
    tools = tempfile.TemporaryDirectory()
    if not HEADERS.exists() or not devices():
        skip_loudly("no headers, loader or device of OpenCL: apt-get install pocl-opencl-icd ocl-icd-opencl-dev opencl-headers")
        return
    program = pathlib.Path(tools.name) / "program"
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, ROOT / "tests/opencl/program.c", "-lOpenCL", "-lpthread"], check=True, capture_output=True)


def tearDownModule() -> None:
    tools.cleanup()


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def told(output: str) -> tuple[list[tuple[str, list[int]]], list[str]]:
    """What the program said of its events, and of all else."""
    events, facts = [], []
    for line in output.splitlines():
        words = line.split()
        if words and words[0] == "event":
            events.append((NAMES[words[1]], [int(w) for w in words[2:]]))
        elif words and words[0] == "fact":
            facts.append(line)
    return events, facts


def device_times(event: Event) -> list[int]:
    return [event.notes[f"{word} (device ns)"] for word in ("queued", "submitted", "started", "ended")]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        if not LIBRARY.exists():
            skip_loudly(f"{LIBRARY} was not built")
        if program is None or not LIBRARY.exists():
            self.skipTest("no OpenCL here")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.done: subprocess.CompletedProcess

    def plain(self, *words: Any) -> subprocess.CompletedProcess:
        return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, timeout=120, env=environment(), check=False)

    def trace(self, *words: Any, status: int = 0, doors: str = "opencl", options: tuple = ("--no-report",)) -> pathlib.Path:
        self.done = holdup("run", *options, "--trace", doors, "-o", self.folder / "trace", "--", program, *words)
        self.assertEqual(self.done.returncode, status, self.done.stderr)
        return self.folder / "trace.pftrace"

    def events(self, *words: Any, **more: Any) -> list[Event]:
        return read(self.trace(*words, **more), rows=True)

    def check_times(self, events: list[Event]) -> list[Event]:
        """Each event that the program kept is there, to the nanosecond; differences on the trace's clock are the device's.  Returns them in the program's order."""
        kept, _ = told(self.done.stdout)
        work = [e for e in events if e.category in WORK]
        by_time = {(e.name, *device_times(e)): e for e in work}
        self.assertGreater(len(kept), 0)
        found = []
        for name, times in kept:
            self.assertIn((name, *times), by_time)
            found.append(by_time[(name, *times)])
        distances = {e.start - device_times(e)[2] for e in work}
        self.assertEqual(len(distances), 1, "one distance between the clocks: differences are exact")
        for e in work:
            self.assertEqual(e.end - e.start, device_times(e)[3] - device_times(e)[2], e.name)
        return found


class Layer(Case):
    def test_our_declarations_are_those_of_the_headers(self) -> None:
        subprocess.run(["cc", "-std=gnu17", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", "-D_GNU_SOURCE", "-Wall", "-Werror", "-fsyntax-only", ROOT / "tests/opencl/check_abi.c"],
                       check=True, capture_output=True)

    def test_the_layer_alone_is_enough(self) -> None:
        """Without LD_PRELOAD: the loader of OpenCL loads the library."""
        done = subprocess.run([str(program), "queues", "1"], capture_output=True, text=True, timeout=120, check=False, env=environment(OPENCL_LAYERS=str(LIBRARY)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(told(done.stdout)[1], told(self.plain("queues", 1).stdout)[1])

    def test_a_layer_of_the_users_is_kept(self) -> None:
        for there, layers in (("", str(LIBRARY)), ("/no/such.so", f"/no/such.so:{LIBRARY}"), (str(LIBRARY), str(LIBRARY))):
            done = holdup("run", "--no-report", "-f", "-o", self.folder / "trace", "--", "sh", "-c", 'echo "$OPENCL_LAYERS"', env=environment(OPENCL_LAYERS=there))
            self.assertEqual(done.stdout.strip(), layers)
        done = holdup("run", "--no-report", "-f", "-o", self.folder / "trace", "--", "env", "-i", "/bin/sh", "-c", 'echo "$OPENCL_LAYERS"')
        self.assertEqual(done.stdout.strip(), str(LIBRARY), "it is put back where the environment was cleared")
        done = holdup("run", "--no-report", "-f", "--trace", "osrt", "-o", self.folder / "trace", "--", "sh", "-c", 'echo "$OPENCL_LAYERS"')
        self.assertEqual(done.stdout.strip(), "", "it was not asked for")

    def test_the_program_sees_no_difference(self) -> None:
        for words in (("questions",), ("queues", 2), ("unordered", 2), ("user",), ("all",), ("storm", 500), ("forks",), ("parts",)):
            with self.subTest(words=words):
                without = self.plain(*words)
                self.assertEqual(without.returncode, 0, without.stderr)
                self.trace(*words, options=("--no-report", "-f"), doors="opencl,osrt")
                self.assertEqual(told(self.done.stdout)[1], told(without.stdout)[1])


class Times(Case):
    def test_two_queues(self) -> None:
        events = self.events("queues", 4)
        found = self.check_times(events)
        work = [e for e in events if e.category in WORK]
        self.assertEqual(len(work), len(found) + 4, "one kernel in each round has no event of the program's")
        self.assertEqual({e.notes["stream"] for e in work}, {1, 2})
        self.assertEqual({e.notes["device"] for e in work}, {0})
        self.assertEqual({e.notes.get("bytes") for e in work if e.name == NAMES["write"]}, {4 * 65536})
        self.assertEqual({(e.notes["grid"], e.notes["block"]) for e in work if e.name == "spin"}, {("[64, 1, 1]", "[64, 1, 1]")})

    def test_calls_and_their_commands(self) -> None:
        events = self.events("queues", 3)
        calls = {e.notes["correlation"]: e for e in events if e.category == "opencl_runtime"}
        work = [e for e in events if e.category in WORK]
        for e in work:
            call = calls[e.notes["correlation"]]
            self.assertTrue(call.name.startswith("clEnqueue"), call.name)
            self.assertEqual(call.notes["queue"], e.notes["stream"])
            self.assertLess(call.start, e.end)
            if call.name.endswith("(blocking)"):
                self.assertLessEqual(e.end, call.end + 1_000_000, "it returned when that was complete, but for the error of the clocks")
        self.assertEqual(len({e.notes["correlation"] for e in work}), len(work))
        names = [e.name for e in calls.values()]
        self.assertEqual([names.count(n) for n in ("clFinish", "clBuildProgram", "clCreateContext", "clEnqueueReadBuffer (blocking)", "clEnqueueMapBuffer (blocking)",
                                                   "clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList")], [6, 1, 1, 3, 3, 3, 3])

    def test_who_waits_for_whom(self) -> None:
        events = self.events("queues", 3)
        calls = {e.notes["correlation"]: e for e in events if e.category == "opencl_runtime"}
        waits = [(calls[e.notes["correlation"]].name, calls[e.notes["wait_on_cuda_event_record_corr_id"]].name, e.notes["wait_on_stream"])
                 for e in events if e.name == "Command Wait"]
        self.assertEqual(sorted(waits), sorted(3 * [("clEnqueueCopyBuffer", "clEnqueueNDRangeKernel", 1), ("clEnqueueBarrierWithWaitList", "clEnqueueMarkerWithWaitList", 2)]))
        finishes = [e for e in events if e.name == "Queue Sync"]
        self.assertEqual(sorted(e.notes["stream"] for e in finishes), [1, 1, 1, 2, 2, 2])
        syncs = [calls[e.notes["wait_on_cuda_event_record_corr_id"]].name for e in events if e.name == "Command Sync"]
        self.assertEqual(len(syncs), len(told(self.done.stdout)[0]), "the program waits for each event that it prints")

    def test_the_map_of_the_clocks_keeps_its_bound(self) -> None:
        """The program looks at the host's clock before and behind the call in which a command is queued."""
        trace = self.trace("clocks", 20)
        error = int(rows(trace, "select value from metadata where key = 'holdup.opencl_clock_error_ns'")[0]["value"])
        between = [tuple(int(w) for w in line.split()[2:]) for line in told(self.done.stdout)[1]]
        events = {tuple(device_times(e)): e for e in read(trace, rows=True) if e.category in WORK}
        starts = sorted(int(r["start_ns"]) for r in rows(trace, "select start_ns from slice where kind = 'kernel'"))
        base = starts[0] - min(e.start for e in events.values())
        kept, _ = told(self.done.stdout)
        self.assertEqual(len(kept), len(between))
        for (_, times), (before, after) in zip(kept, between):
            queued = base + events[tuple(times)].start - (times[2] - times[0])
            self.assertLessEqual(before - error, queued)
            self.assertLessEqual(queued, after + error)

    def test_out_of_order(self) -> None:
        events = self.events("unordered", 4)
        self.check_times(events)
        waits = [e for e in events if e.name == "Command Wait"]
        self.assertEqual(len(waits), 8)
        for stream in {e.notes["stream"] for e in events if e.category in WORK}:
            row = sorted((e.start, e.end) for e in events if e.category in WORK and e.notes["stream"] == stream)
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(row, row[1:])), "commands of one stream follow each other")

    def test_user_events_and_errors(self) -> None:
        events = self.events("user")
        kept, facts = told(self.done.stdout)
        self.assertEqual(facts, ["fact callbacks 2", "fact failed -14"])
        self.assertEqual(len(kept), 1)
        self.check_times(events)
        self.assertEqual([e.name for e in events if e.category in WORK], ["spin"], "a command that failed did no work")
        self.assertIn("1 OpenCL command ended with an error", self.done.stderr)

    def test_every_call_that_enqueues(self) -> None:
        """A command for each; bytes of rectangles and images."""
        events = self.events("all")
        calls = {e.notes["correlation"]: e for e in events if e.category == "opencl_runtime"}
        made = {calls[e.notes["correlation"]].name: e for e in events if e.category in WORK}
        expected = {"clEnqueueReadBufferRect (blocking)": 512, "clEnqueueWriteBufferRect": 512, "clEnqueueCopyBufferRect": 512, "clEnqueueTask": None}
        facts = told(self.done.stdout)[1]
        if "fact image 0 svm 1" in facts:
            expected |= {"clEnqueueFillImage": 512, "clEnqueueWriteImage (blocking)": 512, "clEnqueueCopyImage": 512, "clEnqueueCopyImageToBuffer": 512,
                         "clEnqueueCopyBufferToImage": 512, "clEnqueueReadImage (blocking)": 512, "clEnqueueMapImage (blocking)": 512,
                         "clEnqueueSVMMap (blocking)": 4096, "clEnqueueSVMMemFill": 4096, "clEnqueueSVMMemcpy (blocking)": 4096}
        else:
            skip_loudly("this device has no images, or no shared virtual memory")
        self.assertEqual({name: made[name].notes.get("bytes") if name in made else "missing" for name in expected}, expected)
        if "fact native 0" in facts:
            self.assertEqual(made["clEnqueueNativeKernel"].name, "native kernel")
        self.assertEqual({e.notes["result"] for e in calls.values() if "result" in e.notes}, {int(f.split()[-1]) for f in facts if f.split()[1] in ("native", "migrate")} - {0})

    def test_parts_of_a_device(self) -> None:
        events = self.events("parts")
        kept, facts = told(self.done.stdout)
        if facts != ["fact parts 0"]:
            skip_loudly("this device has no parts")
            self.skipTest("no parts")
        work = [e for e in events if e.category in WORK]
        self.assertEqual(len(work), len(kept))
        self.assertEqual(sorted(e.notes["device"] for e in work), list(range(len(work))))


class Ends(Case):
    def test_without_a_release(self) -> None:
        self.check_times(self.events("leaves", 0))

    def test_by_exit_without_handlers(self) -> None:
        self.check_times(self.events("leaves", 1, status=3))

    def test_killed(self) -> None:
        """What was complete a fifth of a second before is there."""
        self.check_times(self.events("leaves", 2, status=128 + 9))

    def test_a_fork(self) -> None:
        events = self.events("forks")
        self.assertEqual(len(self.check_times(events)), 2)
        self.assertIn("fact child 7", self.done.stdout)


class Many(Case):
    def test_a_hundred_thousand_kernels(self) -> None:
        """All are there, the program's memory stays what it is, and nothing is lost."""
        trace = self.trace("storm", 100000)
        self.assertEqual(rows(trace, "select count(*) as n, count(distinct correlation) as k from slice where kind = 'kernel'")[0], {"n": 100000, "k": 100000})
        self.assertNotIn("OpenCL command", self.done.stderr)
        self.assertNotIn("lost", self.done.stderr)
        self.assertEqual(told(self.done.stdout)[1], ["fact sum 100000"])


    def test_threads_that_enqueue_at_once(self) -> None:
        events = self.events("threads")
        self.assertEqual(len(self.check_times(events)), 2000)
        calls = {e.notes["correlation"]: e for e in events if e.category == "opencl_runtime"}
        waits = [(calls[e.notes["correlation"]], calls[e.notes["wait_on_cuda_event_record_corr_id"]]) for e in events if e.name == "Command Wait"]
        self.assertEqual(len(waits), 4 * 499)
        self.assertTrue(all(a.tid == b.tid and b.start < a.start and a.notes["queue"] == b.notes["queue"] for a, b in waits), "each for one of its own thread")


class Drift(unittest.TestCase):
    """A ring made by hand, whose device has a clock that the test knows; ticks are nanoseconds."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "at.c").write_text('#include <stdio.h>\n#include "protocol/format.h"\nint main(void) { printf("%zu %zu %zu", offsetof(hu_ring_head, opencl), '
                                          'offsetof(hu_opencl_facts, devices), offsetof(hu_opencl_facts, knots)); }\n')
        subprocess.run(["cc", f"-I{ROOT / 'src'}", "-o", self.folder / "at", self.folder / "at.c"], check=True, capture_output=True)
        self.places = [int(n) for n in subprocess.run([self.folder / "at"], check=True, capture_output=True, text=True).stdout.split()]

    def commands(self, knots: list[tuple[int, int, int]], starts: list[int]) -> tuple[list[int], int]:
        """Where commands that the device started then lie on the host's clock, from the first one on; and the bound that is said."""
        session = make_session(self.folder / "session", "opencl")
        ring = Ring(42, exited=20_000_000_000, state=2, doors=DOORS["opencl"])
        name = ring.text("spin")
        records = []
        for i, at in enumerate(starts):
            records += [ring.record("opencl", 1000 + i, name, 1, 5000, i + 1 | 1 << 32), ring.record("more", at - 30, 0, 50, at - 20, at)]
        ring.block(1, records, 3)
        path = ring.write(session)
        data = bytearray(path.read_bytes())
        head, devices, at = self.places
        struct.pack_into("<IIII", data, head, 0, 1, len(knots), 0)
        struct.pack_into("<QQ", data, head + 16, len(starts), len(starts))
        struct.pack_into("<I", data, head + devices, 4)
        for i, (host, device, error) in enumerate(knots):
            struct.pack_into("<QQII", data, head + at + 24 * i, host, device, error, 0)
        path.write_bytes(data)
        done = holdup("finish", "-q", "-o", self.folder / "trace", session)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = self.folder / "trace.pftrace"
        found = rows(trace, "select start_ns, dur_ns from slice where name = 'spin' order by start_ns")
        self.assertEqual([r["dur_ns"] for r in found], [5000] * len(starts))
        error = int(rows(trace, "select value from metadata where key = 'holdup.opencl_clock_error_ns'")[0]["value"])
        return [int(r["start_ns"]) - int(found[0]["start_ns"]) for r in found], error

    def test_one_distance(self) -> None:
        knots = [(s * 10**9 + wrong, s * 10**9 + 77_000, 400) for s, wrong in ((1, 0), (2, 300), (3, -200), (9, 100))]
        starts = [10**9 + 80_001, 2 * 10**9 + 90_007, 8 * 10**9 + 3]
        found, error = self.commands(knots, starts)
        self.assertEqual(found, [s - starts[0] for s in starts], "differences are the device's, exactly")
        self.assertLessEqual(error, 152, "half of the 300 ns that the bounds leave open, and rounding")

    def test_a_device_that_runs_fast(self) -> None:
        """100 ns in a millisecond: in ten seconds one millisecond."""
        def device(host: int) -> int:
            return 5 * 10**12 + host + host // 10_000

        knots = [(s * 10**9, device(s * 10**9), 300) for s in range(1, 11)]
        hosts = [1_500_000_000, 4_000_000_000, 9_700_000_000]
        found, error = self.commands(knots, [device(h) for h in hosts])
        self.assertLessEqual(error, 400)
        for said, host in zip(found, hosts):
            self.assertLessEqual(abs(said - (host - hosts[0])), 2 * error)


class Report(Case):
    def test_in_the_words_of_opencl(self) -> None:
        self.trace("queues", 20, doors="opencl,osrt,user", options=())
        said = " ".join(self.done.stderr.split())
        self.assertIn("the OpenCL device (\"GPU\" here) is the host's own cores", said)
        self.assertNotIn("cuda", said.lower())
        self.assertNotIn("torch", said)
        self.assertNotIn("DataLoader", said)

    def test_our_thread_is_not_the_programs(self) -> None:
        trace = self.trace("storm", 3000, doors="opencl,osrt,cpu")
        found = rows(trace, "select s.name from slice s join track t on s.track = t.id where t.name = 'holdup-opencl'")
        self.assertEqual(found, [], "its naps are no waits of the program")

    def test_the_replay_infers_no_wait(self) -> None:
        trace = self.trace("queues", 20)
        done = holdup("report", "--json", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        replay = json.loads(done.stdout)["ranks"][0]["replay"]
        self.assertEqual(replay["inferred"], 0)
        self.assertGreaterEqual(replay["event_links"], 36, "in each round the copy waits for the kernel of the other queue, and the read for its marker")
        self.assertGreaterEqual(replay["wait_links"], 54, "the blocking read and the calls of clFinish")


if __name__ == "__main__":
    os.environ.setdefault("HOLDUP", str(EXE))
    unittest.main()
