# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces: written here by tests/pftrace.py with known answers, converted from Kineto's, cut, bent, and a real one."""
import collections
import json
import random
import shutil
import subprocess
import tempfile
import unittest
import zlib
from pathlib import Path

from tests.pftrace import (BEGIN, CLEARED, COUNTER, END, INSTANT, NEEDS, Fixed, clocks, ends_in_order, event, fields, interned,
                           message, note, packet, process, slices, thread, track, varint)
from tests.program import OWN, ROOT, SANITIZED, SHARED, events, ns, real_traces, report, run, skip_loudly

REAL = SHARED / "traces/perfetto"


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "t.pftrace"

    def write(self, *packets: bytes) -> Path:
        self.path.write_bytes(b"".join(packets))
        return self.path

    def ask(self, sql: str, path: Path | None = None) -> list[tuple]:
        status, out, err = run("query", path or self.path, "--json", sql)
        self.assertEqual(status, 0, err)
        return [tuple(row.values()) for row in json.loads(out)]

    def info(self) -> dict:
        status, out, err = run("info", self.path, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def reasons(self) -> dict[str, int]:
        quality = report(self.path)["ranks"][0]["quality"]
        return {r["id"].lower(): r["count"] for r in quality["reasons"] if r["count"]}


def span(start: int, end: int, uuid: int, name: str, cat: str | None = None, args: dict | None = None, **options) -> bytes:
    return packet(event(BEGIN, uuid, name, cat, args), ts=start, **options) + packet(event(END, uuid), ts=end, **options)


class Repeats(Case):
    """The same bytes again are not read again, and mean what their writer has declared by then."""

    def call(self, start: int, end: int, seq: int = 1) -> bytes:
        body = event(BEGIN, None, 1, 1, {"path": "/x", "bytes": 7})
        return packet(body, ts=start, seq=seq, flags=NEEDS) + packet(event(END), ts=end, seq=seq, flags=NEEDS)

    def state(self, uuid: int, name: str, seq: int = 1) -> bytes:
        return packet((59, message((11, message((11, uuid))))), interned(name={1: name}, cat={1: "os_call"}), seq=seq, flags=CLEARED)

    def test_a_name_that_is_declared_anew(self) -> None:
        for ours in (True, False):
            with self.subTest(ours=ours):
                self.write(packet((126, message((1, [message((1, "holdup.version"), (3, "0"))])))) if ours else b"",
                           packet(process(1, 10, "p")), packet(thread(2, 10, 10)), packet(thread(3, 10, 11)),
                           self.state(2, "read"), self.state(3, "fsync", 2),
                           self.call(10, 20), self.call(30, 45), self.call(31, 47, 2), self.call(50, 60),
                           packet(interned(name={1: "write"})),
                           self.call(70, 80), self.call(90, 99), self.call(91, 95, 2))
                got = self.ask("SELECT s.name, start_ns, dur_ns, tid FROM slice s JOIN track t ON s.track = t.id ORDER BY start_ns")
                self.assertEqual(got, [("read", 10, 10, 10), ("read", 30, 15, 10), ("fsync", 31, 16, 11), ("read", 50, 10, 10),
                                       ("write", 70, 10, 10), ("write", 90, 9, 10), ("fsync", 91, 4, 11)])

    def test_how_many_bytes(self) -> None:
        """Numbers of any length, absent, twice, and of another argument."""
        def one(at: int, args: dict) -> bytes:
            return packet(event(BEGIN, None, 1, 1, args), ts=at, flags=NEEDS) + packet(event(END), ts=at + 5, flags=NEEDS)

        numbers = [1, 100, 7, 127, 128, 16383, 300, 1 << 40, 1 << 41, 1 << 51, 3, 5, 5, -1]
        calls = [{"path": "/x", "bytes": n, "fd": 3} for n in numbers] + [{"path": "/x", "fd": n} for n in (3, 4, 3)] + [{"bytes": 9}, {"bytes": 8}]
        self.write(packet(process(1, 10, "p")), packet(thread(2, 10, 10)), self.state(2, "read"), *[one(10 * i, c) for i, c in enumerate(calls, 1)])
        known = [None if n >= 1 << 50 or n < 0 else n for n in numbers] + [None] * 3 + [9, 8]
        self.assertEqual([row[0] for row in self.ask("SELECT bytes FROM os_call ORDER BY start_ns")], known)

    def test_a_time_that_cannot_be(self) -> None:
        self.write(packet(process(1, 10, "p")), packet(thread(2, 10, 10)), self.state(2, "read"), self.call(10, 20), self.call(30, 40),
                   packet(event(BEGIN, None, 1, 1, {"path": "/x", "bytes": 7}), flags=NEEDS), self.call(50, 60))
        self.assertEqual([row[0] for row in self.ask("SELECT start_ns FROM slice ORDER BY start_ns")], [10, 30, 50])
        self.assertEqual(self.reasons().get("no_time"), 1)


class Events(Case):
    def test_threads_streams_and_launches(self) -> None:
        """An operator that launches one kernel and one copy; the wire that `holdup export` agrees on."""
        self.write(
            packet(process(1, 10, "python")), packet(thread(2, 10, 11, "main")),
            packet(track(3, "GPU 1")), packet(track(4, "stream 7", 3)),
            packet(event(BEGIN, 2, "aten::mm", "cpu_op", {"External id": 5, "Input Dims": [[2, 3], [3, 4], []],
                                                          "Sequence number": 9}), ts=1000),
            span(1100, 1200, 2, "cudaLaunchKernel", "cuda_runtime", {"correlation": 77, "External id": 5}),
            span(1300, 1400, 2, "cudaMemcpyAsync", "cuda_runtime", {"correlation": 78}),
            packet(event(END, 2), ts=2000),
            span(1500, 1900, 4, "gemm", "kernel", {"device": 1, "stream": 7, "correlation": 77, "grid": [64, 2, 1],
                                                   "block": [256, 1, 1], "registers per thread": 32,
                                                   "est. achieved occupancy %": 12.5}),
            span(1900, 2100, 4, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy",
                 {"device": 1, "stream": 7, "correlation": 78, "bytes": 4096, "memory bandwidth (GB/s)": 20.48}))
        self.assertEqual(self.ask("select name, kind, start_ns, dur_ns, correlation, external_id from slice order by start_ns"), [
            ("aten::mm", "cpu_op", 1000, 1000, None, 5), ("cudaLaunchKernel", "runtime", 1100, 100, 77, 5),
            ("cudaMemcpyAsync", "runtime", 1300, 100, 78, None), ("gemm", "kernel", 1500, 400, 77, None),
            ("Memcpy HtoD (Pageable -> Device)", "memcpy", 1900, 200, 78, None)])
        self.assertEqual(self.ask("select device, stream, grid_x, grid_y, grid_z, block_x, registers, occupancy_pct from kernel"),
                         [(1, 7, 64, 2, 1, 256, 32, 12.5)])
        self.assertEqual(self.ask("select bytes, gbps from memcpy"), [(4096, 20.48)])
        self.assertEqual(self.ask("select shapes, sequence, tid from op"), [("[[2, 3], [3, 4], []]", 9, 11)])
        self.assertEqual(self.ask("select c.name, w.name as work, delay_ns from link join slice c on c.id = call "
                                  "join slice w on w.id = work order by w.start_ns"),
                         [("cudaLaunchKernel", "gemm", 300), ("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)", 500)])
        self.assertEqual(self.ask("select type, pid, tid, name, process, slices from track order by type"),
                         [("host", 10, 11, "main", "python", 3), ("stream", 1, 7, None, None, 2)])
        self.assertEqual(report(self.path)["ranks"][0]["gpu"]["busy_ns"], 600)
        info = self.info()
        self.assertEqual((info["format"], info["streams"], info["threads"]), ("perfetto", 1, 1))
        self.assertEqual((info["events"]["total"], info["events"]["lost"], info["events"]["duration_sum_ns"]), (10, 0, 1800))
        self.assertEqual(self.reasons(), {})

    def test_every_category_is_what_chrome_says(self) -> None:
        """The same words in both formats give the same kinds."""
        words = ["cpu_op", "python_function", "cuda_runtime", "kernel", "user_annotation", "cuda_driver", "gpu_memcpy",
                 "gpu_memset", "gpu_user_annotation", "cuda_sync", "overhead", "Trace", "mtia_runtime", "xpu_driver", "Operator",
                 "Memcpy", "something else", None]
        text = [{"ph": "X", "name": w or "?", "pid": 0, "tid": 7, "ts": 1 + i, "dur": 1, **({"cat": w} if w else {}),
                 "args": {"device": 0, "stream": 7}} for i, w in enumerate(words)]
        other = self.path.with_suffix(".json")
        other.write_text(json.dumps(text))
        self.write(packet(thread(1, 0, 7)),
                   *[span(1000 + 1000 * i, 2000 + 1000 * i, 1, w or "?", w, {"device": 0, "stream": 7}) for i, w in enumerate(words)])
        sql = "select s.name, s.start_ns, s.dur_ns, s.kind, type, pid, tid from slice s join track t on t.id = s.track order by 2"
        self.assertEqual(self.ask(sql), self.ask(sql, other))

    def test_device_and_stream_make_a_stream(self) -> None:
        """Whatever the track is called, and without a category that is known."""
        self.write(packet(track(9, "queue", 8)), packet(track(8, "accelerator")),
                   span(10, 20, 9, "my_kernel", "compute", {"device": 2, "stream": 5}),
                   span(20, 25, 9, "Memset (Device)", None, {"device": 2, "stream": 5}),
                   span(30, 40, 9, "note", "gpu_user_annotation", {"device": 2, "stream": 5}))
        self.assertEqual(self.ask("select s.name, kind, device, stream, pid, tid from slice s join track t on t.id = s.track"),
                         [("my_kernel", "kernel", 2, 5, 2, 5), ("Memset (Device)", "memset", 2, 5, 2, 5),
                          ("note", "gpu_user_annotation", None, None, 2, 5)])

    def test_nested_ends_at_one_moment_and_writers_that_alternate(self) -> None:
        """Edges count by time, then by their place in the file; the outer of two equal slices stays the parent."""
        self.write(packet(thread(1, 1, 1)),
                   packet(event(BEGIN, 1, "late", "cpu_op"), ts=500, seq=2), packet(event(END, 1), ts=600, seq=2),
                   packet(event(BEGIN, 1, "outer", "cpu_op"), ts=100), packet(event(BEGIN, 1, "inner", "cpu_op"), ts=100),
                   packet(event(BEGIN, 1, "point", "cpu_op"), ts=300), packet(event(END, 1), ts=300),
                   packet(event(END, 1), ts=300), packet(event(END, 1), ts=300))
        self.assertEqual(self.ask("select s.name, s.start_ns, s.dur_ns, p.name as around from slice s left join slice p on p.id = s.parent"
                                  " order by s.start_ns, s.dur_ns desc, s.id"),
                         [("outer", 100, 200, None), ("inner", 100, 200, "outer"), ("point", 300, 0, None), ("late", 500, 100, None)])

    def test_beginnings_and_ends_without_each_other(self) -> None:
        self.write(packet(thread(1, 1, 1)), packet(event(END, 1), ts=5), packet(event(BEGIN, 1, "a", "cpu_op"), ts=10),
                   span(20, 30, 1, "b", "cpu_op"), packet(event(END, 77), ts=5))
        self.assertEqual(self.ask("select name, dur_ns from slice"), [("a", 0), ("b", 10)])
        self.assertEqual(self.reasons(), {"unmatched_begin": 1, "unmatched_end": 2})

    def test_interned_names_and_a_reset(self) -> None:
        """Ids belong to a sequence and to what it declared since it last cleared its state."""
        self.write(
            packet(thread(1, 1, 1), flags=CLEARED), packet(thread(2, 1, 2), seq=2, flags=CLEARED),
            packet(interned(name={1: "one"}, cat={1: "cpu_op"}, note={1: "External id", 2: "kernel_backend"}, text={4: "triton"})),
            packet(interned(name={1: "two"}, cat={1: "user_annotation"}), seq=2),
            packet(event(BEGIN, 1, 1, 1, {1: 42}, (4, message((1, 2), (17, 4)))), ts=10, flags=NEEDS), packet(event(END, 1), ts=20),
            packet(event(BEGIN, 2, 1, 1), ts=10, seq=2, flags=NEEDS), packet(event(END, 2), ts=30, seq=2),
            packet(interned(name={1: "three"}), event(BEGIN, 1, 1, 1), ts=40, flags=CLEARED), packet(event(END, 1), ts=50))
        self.assertEqual(self.ask("select name, kind, dur_ns, external_id from slice order by start_ns, dur_ns"),
                         [("one", "cpu_op", 10, 42), ("two", "user_annotation", 20, None), ("three", "user_annotation", 10, None)])
        self.assertEqual(self.reasons(), {"unknown_id": 1})     # category 1 is gone with the reset

    def test_state_that_is_not_there(self) -> None:
        """Before the first reset, and from a lost packet to the next one."""
        self.write(packet(thread(1, 1, 1), flags=None), packet(event(BEGIN, 1, 1, 1), ts=1, flags=NEEDS),
                   packet(interned(name={1: "n"}, cat={1: "cpu_op"}), flags=CLEARED | NEEDS),
                   packet(event(BEGIN, 1, 1, 1), ts=10, flags=NEEDS), packet(event(END, 1), ts=12, flags=NEEDS),
                   packet((42, 1)), packet(event(INSTANT, 1, 1, 1), ts=20, flags=NEEDS),
                   packet(flags=CLEARED), span(30, 31, 1, "m", "cpu_op", flags=NEEDS))
        self.assertEqual(self.ask("select name, start_ns, dur_ns from slice"), [("n", 10, 2), ("m", 30, 1)])
        self.assertEqual(self.reasons(), {"no_state": 2})
        self.assertEqual(self.info()["events"]["lost"], 2)

    def test_defaults_and_incremental_clock(self) -> None:
        """Clock 64 counts microseconds from stamp to stamp, also those of packets that hold no event."""
        state = [(59, message((58, 64), (11, message((11, 5)))))]
        self.write(
            packet(clocks((6, 1_000_000), (64, 500, 1, 1000), (1, 1_700_000_000_000_000_000)), *state, flags=CLEARED),
            packet(thread(5, 1, 9)),
            packet(event(BEGIN, None, "a", "cpu_op"), ts=10), packet(ts=5), packet(event(END), ts=5),
            packet(event(BEGIN, None, "b", "cpu_op"), ts=1_100_000, clock=6), packet(event(END), ts=85))
        # trace time of clock 64 = 1,000,000 + its own microseconds since 500
        self.assertEqual(self.ask("select s.name, start_ns, dur_ns, tid from slice s join track t on t.id = s.track"),
                         [("a", 1_010_000, 10_000, 9), ("b", 1_100_000, 5_000, 9)])
        self.assertEqual(self.info()["base_time_ns"], 1_700_000_000_000_000_000 - 1_000_000)

    def test_clocks_of_other_sequences_and_unknown_ones(self) -> None:
        """Id 64 of one sequence says nothing about another's; a foreign clock is moved by what the snapshot says."""
        self.write(packet(clocks((6, 1000), (3, 400), (64, 0, 1))), packet(thread(1, 1, 1)),
                   span(500, 600, 1, "monotonic", "cpu_op", clock=3),
                   packet(event(BEGIN, 1, "lost", "cpu_op"), ts=1, seq=2, clock=64),
                   packet(event(BEGIN, 1, "lost", "cpu_op"), ts=1, clock=200), packet(event(BEGIN, 1, "lost", "cpu_op")),
                   packet(event(BEGIN, 1, "lost", "cpu_op"), ts=1 << 63))
        self.assertEqual(self.ask("select name, start_ns, dur_ns from slice"), [("monotonic", 1100, 100)])
        self.assertEqual(self.reasons(), {"no_time": 4})

    def test_primary_clock(self) -> None:
        self.write(packet(clocks((3, 7000), (6, 1000), primary=3)), packet(thread(1, 1, 1)),
                   span(1, 2, 1, "a", "cpu_op"), span(10, 20, 1, "b", "cpu_op", clock=3), span(30, 40, 1, "c", "cpu_op", clock=6))
        self.assertEqual(self.ask("select name, start_ns from slice"), [("a", 1), ("b", 10), ("c", 6030)])

    def test_flows(self) -> None:
        """Between operators they link backward to forward; from a call to a kernel they stand in for a correlation."""
        def flow(kind, uuid, name, cat, ts, args=None, **ids):
            extra = [(47, [Fixed(i) for i in ids.get("out", [])]), (48, [Fixed(i) for i in ids.get("end", [])])]
            return packet(event(kind, uuid, name, cat, args, *extra), ts=ts) + packet(event(END, uuid), ts=ts + 5)
        self.write(packet(thread(1, 1, 1)), packet(thread(2, 1, 2)), packet(track(3, "GPU 0")), packet(track(4, "stream 3", 3)),
                   flow(BEGIN, 1, "mm", "cpu_op", 10, out=[1 << 60]), flow(BEGIN, 2, "MmBackward", "cpu_op", 50, end=[1 << 60]),
                   flow(BEGIN, 1, "add", "cpu_op", 20, out=[1 << 60]), flow(BEGIN, 2, "AddBackward", "cpu_op", 60, end=[1 << 60]),
                   flow(BEGIN, 1, "cudaLaunchKernel", "cuda_runtime", 30, out=[6]),
                   flow(BEGIN, 4, "k", "kernel", 40, {"stream": 3}, end=[6]))
        self.assertEqual(self.ask("select b.name, f.name as forward from op b join op f on f.id = b.forward order by 1"),
                         [("AddBackward", "add"), ("MmBackward", "mm")])
        self.assertEqual(self.ask("select c.name, k.name as kernel from kernel k join call c on c.id = k.launch"), [("cudaLaunchKernel", "k")])

    def test_counters_instants_and_memory(self) -> None:
        self.write(packet(thread(1, 1, 1)), packet(track(5, "power", None, (8, message((4, 2), (5, 1))))), packet(track(6, "heat", None, (8, b""))),
                   packet(event(COUNTER, 5, None, None, None, (30, 4)), ts=1), packet(event(COUNTER, 5, None, None, None, (30, -1)), ts=2),
                   packet(event(COUNTER, 6, None, None, None, (44, 1.5)), ts=3),
                   packet(event(INSTANT, 1, "[memory]", "cpu_instant_event", {"Bytes": 512, "Addr": (1 << 64) - 1, "Device Type": 1,
                                                                               "Device Id": 0, "Total Allocated": 512}), ts=4),
                   span(5, 6, 1, "a", "cpu_op"))
        self.assertEqual(self.ask("select name, time_ns, value from counter"), [("power", 1, 8.0), ("power", 2, 6.0), ("heat", 3, 1.5)])
        self.assertEqual(self.ask("select bytes, address, device, total_allocated from memory"), [(512, -1, 0, 512)])

    def test_legacy_phases(self) -> None:
        def old(phase: str, ts: int, *extra: tuple) -> bytes:
            return packet((11, message((11, 1), (22, "cpu_op"), (23, phase), (6, message((2, ord(phase)), *extra)))), ts=ts)
        self.write(packet(thread(1, 1, 1)), old("X", 1000, (3, 7)), old("B", 9000), old("E", 9500), old("I", 9600), old("b", 9700))
        self.assertEqual(self.ask("select name, start_ns, dur_ns, kind from slice"),
                         [("X", 1000, 7000, "cpu_op"), ("B", 9000, 500, "cpu_op")])
        self.assertEqual(self.reasons(), {"no_phase": 1})

    def test_gpu_render_stages(self) -> None:
        """Kernels as drivers write them: queue, stage and kernel by id, the launch by the ids of the work it submitted."""
        kernels = (12, message((1000, message((1, 8), (2, "_Z4gemmv"), (3, "gemm()"))), (24, message((1, 1), (2, "Channel #7"))),
                               (24, message((1, 2), (2, "Compute"))), (24, message((1, 3), (2, "gpu_memcpy")))))
        self.write(
            packet(thread(1, 1, 1), kernels, flags=CLEARED), packet((128, message((1, message((1, "Big GPU")))))),
            packet(event(BEGIN, 1, "cudaLaunchKernel", "cuda_runtime", None, (3000, message((1, 900))))  , ts=10), packet(event(END, 1), ts=15),
            packet((53, message((1, 900), (2, 40), (13, 1), (14, 2), (11, 1), (19, 8),
                                (21, message((1, message((1, 5), (2, 6))), (2, message((1, 128))),
                                             (3, message((2, "registers per thread"), (4, 40))))))), ts=20),
            packet((53, message((1, 901), (2, 9), (13, 1), (14, 3), (11, 1), (17, "copy"), (6, message((1, "bytes"), (2, "64"))))), ts=70),
            packet((52, message((3, 1), (1, message((1, message((1, 3), (2, "clock MHz"))))), (2, message((1, 3), (2, 1700))))), ts=80))
        self.assertEqual(self.ask("select k.name, start_ns, dur_ns, device, stream, grid_x, grid_y, grid_z, block_x, registers,"
                                  " (select name from call where id = launch) from kernel k"),
                         [("gemm()", 20, 40, 1, 7, 5, 6, 1, 128, 40, "cudaLaunchKernel")])
        self.assertEqual(self.ask("select name, bytes, device, stream from memcpy"), [("copy", 64, 1, 7)])
        self.assertEqual(self.ask("select name, value from counter"), [("clock MHz", 1700.0)])
        self.assertEqual(self.ask("select name from device"), [("Big GPU",)])

    def test_compressed_packets(self) -> None:
        inside = span(10, 20, 1, "a", "cpu_op") + span(20, 50, 1, "b", "cpu_op")
        expected = [("a", 10), ("b", 30)]
        self.write(packet(thread(1, 1, 1)), message((1, message((50, zlib.compress(inside))))))
        self.assertEqual(self.ask("select name, dur_ns from slice"), expected)
        if shutil.which("zstd"):
            packed = subprocess.run(["zstd", "-c"], input=inside, capture_output=True, check=True).stdout
            self.write(packet(thread(1, 1, 1)), message((1, message((133, packed)))))
            self.assertEqual(self.ask("select name, dur_ns from slice"), expected)
        # what is good before the damage counts; a bundle in a bundle does not
        self.write(packet(thread(1, 1, 1)), message((1, message((50, zlib.compress(inside)[:-4])))))
        self.assertEqual(self.ask("select name, dur_ns from slice"), expected)
        self.assertEqual(self.reasons(), {"malformed": 1})
        twice = message((1, message((50, zlib.compress(message((1, message((50, zlib.compress(inside))))))))))
        self.write(packet(thread(1, 1, 1)), span(1, 2, 1, "c", "cpu_op"), twice)
        self.assertEqual(self.ask("select name, dur_ns from slice"), [("c", 1)])
        self.assertEqual(self.reasons(), {"malformed": 1})

    def test_fields_in_any_order(self) -> None:
        """State behind the event that needs it, in one packet."""
        body = [(11, message((4, message((4, 5), (10, "External id"))), (10, 1), (11, 1), (9, BEGIN), (3, 1))), (13, CLEARED),
                (10, 3), (8, 77), interned(name={1: "n"}, cat={1: "cpu_op"})]
        for seed in range(5):
            random.Random(seed).shuffle(body)
            self.write(packet(thread(1, 1, 1)), message((1, message(*body))), packet(event(END, 1), ts=80))
            self.assertEqual(self.ask("select name, kind, dur_ns, external_id from slice"), [("n", "cpu_op", 3, 5)])

    def test_many_sequences_at_random(self) -> None:
        """Random nests on random tracks by several writers, names interned or not, against the list that made them."""
        for seed in range(6 if SANITIZED else 25):
            rng = random.Random(seed)
            n_tracks, out, expected = rng.randrange(1, 5), [], []
            for t in range(n_tracks):
                out.append((0, t, packet(thread(t + 1, 1, t + 1), interned(name={i: f"n{i}" for i in range(1, 5)}, cat={1: "cpu_op"}),
                                         seq=t + 1, flags=CLEARED)))
                at, stack = 10, []
                for _ in range(rng.randrange(1, 40)):
                    at += rng.randrange(0, 4)
                    if stack and rng.random() < 0.5:
                        start, name = stack.pop()
                        out.append((at, t, packet(event(END, t + 1), ts=at, seq=t + 1)))
                        expected.append((name, start, at - start, t + 1))
                    else:
                        i = rng.randrange(1, 5)
                        is_id = rng.random() < 0.5
                        out.append((at, t, packet(event(BEGIN, t + 1, i if is_id else f"n{i}", 1), ts=at, seq=t + 1, flags=NEEDS)))
                        stack.append((at, f"n{i}"))
                expected += [(name, start, 0, t + 1) for start, name in stack]
            if rng.random() < 0.5:
                out.sort(key=lambda row: row[0])        # as written by one service
            self.write(*[row[2] for row in out])
            got = self.ask("select s.name, start_ns, dur_ns, tid from slice s join track t on t.id = s.track")
            self.assertEqual(sorted(got), sorted(expected), seed)


class Converted(Case):
    """Kineto's traces as Perfetto ones: whatever is asked, both give the same rows."""

    SQL = [
        "select name, kind, start_ns, dur_ns, correlation, external_id, type, pid, tid from slice s join"
        " (select id as i, rank as r, type, pid, tid from track) t on t.i = s.track and t.r = s.rank order by 3, 4, 1, 2, 5, 6, 9",
        "select c.name, c.start_ns, w.name as work, w.start_ns as at, delay_ns from link l join slice c on c.id = l.call join slice w"
        " on w.id = l.work order by 2, 4, 3, 1",
        "select name, start_ns, tid, shapes, types, strides, inputs, sequence from op order by 2, dur_ns, 1, 4, 8",
        "select name, start_ns, device, stream, is_comm, grid_x, grid_y, grid_z, block_x, registers, shared_bytes, occupancy_pct,"
        " graph, graph_node from kernel order by 2, 1, 3, 4",
        "select name, start_ns, device, stream, is_set, bytes, gbps from memcpy order by 2, 1",
        "select name, start_ns, collective, dtype, in_elements, process_group, group_ranks, group_size, sequence from collective order by 2",
    ]

    def convert(self, source: Path) -> None:
        """Threads by their descriptor, device rows as `stream N` below `GPU D`, every slice as BEGIN and END."""
        rows: dict[tuple, list[dict]] = collections.defaultdict(list)
        names, out, uuid = {}, [], 100
        for e in events(source):
            if e.get("ph") == "X" and isinstance(e.get("pid"), int) and isinstance(e.get("tid"), int):
                if e.get("cat") in ("Trace",) or ns(e["ts"]) < 0 or ns(e["dur"]) < 0:
                    continue
                on_stream = "stream" in e.get("args", {}) and e.get("cat", "").startswith(("kernel", "gpu_", "Kernel", "Mem"))
                rows[e["pid"], e["tid"], on_stream].append(e)
            elif e.get("ph") == "M" and e["name"] == "thread_name":
                names[e["pid"], e["tid"]] = e["args"]["name"]
        for (pid, tid, on_stream), here in rows.items():
            spans = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in here]
            for lane in ends_in_order(spans):
                uuid += 2
                if on_stream:
                    out += [packet(track(uuid + 1, f"GPU {pid}")), packet(track(uuid, f"stream {tid}", uuid + 1))]
                else:
                    out.append(packet(thread(uuid, pid, tid, names.get((pid, tid)))))
                for at, kind, i in lane:
                    e = here[i]
                    args = {k: float(v) if type(v).__name__ == "Decimal" else v for k, v in e.get("args", {}).items()
                            if v is not None and not (isinstance(v, list) and any(type(x).__name__ == "Decimal" for x in v))}
                    out.append(packet(event(BEGIN, uuid, e["name"], e.get("cat"), args) if kind == BEGIN else event(END, uuid), ts=at))
        self.write(*out)

    def test_kineto_traces(self) -> None:
        chosen = [OWN[0], OWN[-1]]
        for file in real_traces():
            if any(word in str(file) for word in ("hta-amd", "tl-torch-compile", "hta-critical-path", "aorta")):
                chosen.append(file)
        for file in sorted(chosen, key=lambda f: f.stat().st_size)[: 3 if SANITIZED else 6]:
            if file.stat().st_size > 400_000:
                continue
            self.convert(file)
            kept = json.loads(run("info", file, "--json")[1])
            for sql in self.SQL:
                with self.subTest(file=file.name, sql=sql[:60]):
                    theirs = self.ask(sql, file)
                    ours = self.ask(sql)
                    if "type, pid" in sql:
                        left_out = [row for row in theirs if row[7] is None or row[1] == "span" or row[1] == "other"]
                        theirs = [row for row in theirs if row not in left_out]
                        ours = [row for row in ours if row[1] not in ("span", "other")]
                        self.assertGreater(len(ours), 0.5 * sum(kept["events"]["by_kind"].values()))
                    different = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), None)
                    self.assertIsNone(different)        # a diff of long lists takes minutes
                    self.assertEqual(len(ours), len(theirs))


class Hostile(Case):
    def survives(self, data: bytes, command: str = "info", *more: str) -> tuple[int, str]:
        self.path.write_bytes(data)
        status, _, err = run(command, self.path, *more)
        self.assertIn(status, (0, 3), err[:500])
        return status, err

    def small(self) -> bytes:
        return (packet(thread(1, 1, 1, "main"), interned(name={1: "n"}, cat={1: "cpu_op"}), clocks((6, 5), (64, 5, 1)), flags=CLEARED)
                + packet(event(BEGIN, 1, 1, 1, {"Input Dims": [[1, 2]], "stream": 3}), ts=10, flags=NEEDS)
                + packet(event(END, 1), ts=20) + message((1, message((50, zlib.compress(span(30, 40, 1, "z", "cpu_op")))))))

    def test_cut_at_every_byte(self) -> None:
        """All whole packets before the cut count, and the cut is told unless it lies between two packets."""
        whole = self.small()
        borders, at = {0}, 0
        for _, raw in fields(whole):
            at += len(message((1, raw)))
            borders.add(at)
        for n in range(0, len(whole) + 1, 3 if SANITIZED else 1):
            status, _ = self.survives(whole[:n], "info", "--json")
            if status == 0:
                info = self.info()
                self.assertEqual(info["is_truncated"], n not in borders, n)
                self.assertLessEqual(info["events"]["lost"], 1)     # a beginning whose end is behind the cut

    def test_bent_at_random(self) -> None:
        whole = self.small()
        for seed in range(60 if SANITIZED else 300):
            rng = random.Random(seed)
            bent = bytearray(whole)
            for _ in range(rng.randrange(1, 6)):
                at = rng.randrange(len(bent))
                if rng.random() < 0.5:
                    bent[at] = rng.randrange(256)
                else:
                    bent[at:at] = rng.choice([b"\xff" * 11, b"\0", varint(1 << 40), whole[at : at + 9]])
            self.survives(bytes(bent), rng.choice(["info", "report"]))

    def test_lengths(self) -> None:
        head = packet(thread(1, 1, 1)) + span(1, 2, 1, "a", "cpu_op")
        for tail in [b"\x0a" + varint(1 << 62), b"\x0a" + b"\xff" * 12, b"\x0a" + varint(1 << 33) + b"x" * 100, b"\x0b\x01", b"\x00\x00", b"\x0a"]:
            self.assertEqual(self.survives(head + tail)[0], 0)
            info = self.info()
            self.assertTrue(info["is_truncated"], tail)
            self.assertEqual(info["events"]["by_kind"], {"cpu_op": 1})
        for inner in [message((11, b"\x4a\xff\xff\xff\x7fx")), message((60, b"\x12\x7f")), b"\x5a\x7f", message((12, message((2, b"\x12\x50")))),
                      message((50, b"")), message((133, b"nonsense"))]:
            self.assertEqual(self.survives(head + message((1, inner)))[0], 0)
            self.assertEqual(self.info()["events"]["by_kind"], {"cpu_op": 1})
            self.assertEqual(self.reasons(), {"malformed": 1}, inner)

    def test_a_packet_beyond_the_limit_names_its_place(self) -> None:
        head = packet(thread(1, 1, 1)) + span(1, 2, 1, "a", "cpu_op")
        status, err = self.survives(head + message((1, b"\x0a" + varint(900_000) + b"x" * 900_000)), "info", "--limit", "event_bytes=300000")
        self.assertEqual(status, 3)
        self.assertIn("event_bytes", err)
        self.assertIn(str(len(head)), err)

    def test_bombs(self) -> None:
        one = zlib.compress(b"\x0a\x02\x08\x08" * 10_000_000, 9)
        for limits in [("--limit", "event_bytes=1000000"), ()]:
            bundle = message((1, message((50, one)))) * (3 if not limits else 1)
            status, err = self.survives(packet(thread(1, 1, 1)) + bundle, "info", *limits)
            self.assertEqual(status, 3)
            self.assertIn("event_bytes" if limits else "inflate_ratio", err)

    def test_deep_annotations(self) -> None:
        """The event is lost, its end closes nobody else, and the stack holds."""
        for depth, lost in [(200, 0), (400, 1), (60_000, 1)]:
            inner = message((4, 1))
            for _ in range(depth):
                inner = message((12, inner))
            deep = event(BEGIN, 1, "deep", "cpu_op", None, (4, message((10, "Input Dims")) + inner))
            self.write(packet(thread(1, 1, 1)), packet(event(BEGIN, 1, "outer", "cpu_op"), ts=1), packet(deep, ts=2),
                       packet(event(END, 1), ts=3), packet(event(END, 1), ts=9))
            self.assertEqual(self.ask("select name, dur_ns from slice where name = 'outer'"), [("outer", 8)])
            self.assertEqual(self.reasons(), {"too_deep": 1} if lost else {})

    def test_tracks_in_a_circle(self) -> None:
        self.write(packet(track(1, "a", 2)), packet(track(2, "b", 1)), packet(track(3, "c", 3)),
                   span(1, 2, 1, "x"), span(1, 2, 3, "y"), span(5, 6, 99, "nowhere"))
        self.assertEqual(self.info()["events"]["by_kind"], {"user_annotation": 3})

    def test_others_are_left_alone(self) -> None:
        """A newline and a brace are a tag and a length as well."""
        text = "\n{" + json.dumps({"traceEvents": [{"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})[1:]
        for data, expected in [(text.encode(), "chrome-json"), (b"\n[" + text.encode()[2:] + b"]", "chrome-json"),
                               (b"\ntimestamp, name\n1, 2\n", None), (b"SQLite format 3\0" + b"\0" * 99, None), (b"\x0a\x05hello", None),
                               (b"\x0a", None), (b"\x0a\x02\x08\x01", "perfetto")]:
            self.path.write_bytes(data)
            status, out, err = run("info", self.path, "--json")
            if expected == "chrome-json":
                self.assertEqual((status, json.loads(out)["format"]), (0, expected))
            elif expected:
                self.assertEqual(status, 3)
                self.assertIn("Perfetto trace has no track events", err)
            else:
                self.assertEqual(status, 3)
                self.assertNotIn("this Perfetto trace", err)


class Real(Case):
    def test_nested_tracks(self) -> None:
        """Google's sample, against this reader and, where it is installed, protoc's."""
        found = sorted(REAL.glob("*/*.perfetto-trace")) if REAL.is_dir() else []
        if not found:
            skip_loudly("the Perfetto sample of shared/traces/perfetto is not present")
        for path in found:
            data = path.read_bytes()
            expected = sorted((start, dur, name) for start, dur, name, _ in slices(data))
            got = self.ask("select start_ns, dur_ns, name from slice order by 1, 2, 3", path)
            self.assertEqual([tuple(row) for row in got], expected)
            self.assertEqual(len({uuid for *_, uuid in slices(data)}), self.ask("select count(*) from track where slices > 0", path)[0][0])
            if shutil.which("protoc"):
                text = subprocess.run(["protoc", "--decode_raw"], input=data, capture_output=True, check=True).stdout.decode()
                info = json.loads(run("info", path, "--json")[1])
                self.assertEqual(text.count("\n  11 {"), info["events"]["total"])
                self.assertEqual(text.count("\n    9: 1\n"), sum(info["events"]["by_kind"].values()))

    def test_a_directory_of_them(self) -> None:
        for rank in range(2):
            (self.path.parent / f"rank{rank}.pftrace").write_bytes(packet(thread(1, 1, 1)) + span(1, 9, 1, "a", "cpu_op"))
        status, out, err = run("report", self.path.parent, "--json")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(json.loads(out)["ranks"]), 2)


if __name__ == "__main__":
    unittest.main()
