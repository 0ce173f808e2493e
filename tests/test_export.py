# SPDX-License-Identifier: Apache-2.0
"""`holdup export`: each format is read by an independent reader, and every count is made again from the trace."""
from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pty
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from tests import protobuf
from tests.host_traces import DEAD, MS, RUNNABLE, RUNNING, Recording
from tests.program import EXE, OWN, ROOT, SANITIZED, events, ns, report, run, skip_loudly, traces

ONE = ROOT / "examples/training/traces/slow_loader/rank0.pt.trace.json.gz"
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "mtia_ccp_events", "hpu_op", "collective_comm"}
BEGIN, END, COUNTER = 1, 2, 4
HOSTILE = ["=1+1", "+x", "-x", "@x", "a;b;c", "a,b\"c", "\t", "new\nline", "\u0000", "", "\u2028", "é", "😀", "'", "\\", "</script>",
           "f.py(12): g", "<built-in method x>", "\x7f", "%s%n", "x" * 300]


def export(path: Any, name: str, *arguments: Any) -> bytes:
    """The file that is written."""
    status, out, err = run("export", path, "--format", name, *arguments)
    assert status == 0, f"{path}: exit {status}: {err}"
    return out


class Track:
    """One Perfetto track: its descriptor and what is on it."""

    def __init__(self, data: bytes) -> None:
        d = dict(protobuf.fields(data))
        self.uuid, self.parent = d[1], d.get(5, 0)
        self.process = dict(protobuf.fields(d[3])) if 3 in d else None
        self.thread = dict(protobuf.fields(d[4])) if 4 in d else None
        self.is_counter = 8 in d
        self.name = (d.get(2) or (self.thread or {}).get(5) or (self.process or {}).get(6) or b"").decode()
        self.open: list[dict[str, Any]] = []
        self.slices: list[dict[str, Any]] = []
        self.values: list[tuple[int, Any]] = []
        self.time = 0


class Perfetto:
    """Reads a .pftrace and fails where ui.perfetto.dev would complain."""

    def __init__(self, data: bytes) -> None:
        self.tracks: dict[int, Track] = {}
        self.begun: set[int] = set()
        self.ended: list[int] = []
        self.n_packets = self.n_clears = 0
        self.interned: dict[int, tuple[dict[int, str], ...]] = {}
        for number, packet in protobuf.fields(data):
            assert number == 1
            self.n_packets += 1
            self.packet(dict(protobuf.fields(packet)))
        for track in self.tracks.values():
            assert not track.open, track.name

    def packet(self, p: dict[int, Any]) -> None:
        """Its fields are all different ones."""
        sequence = p[10]
        if p.get(13, 0) & 1:
            self.interned[sequence] = ({}, {}, {}, {})
            self.n_clears += 1
        for number, entry in protobuf.fields(p.get(12, b"")):
            e = dict(protobuf.fields(entry))
            self.interned[sequence][{1: 0, 2: 1, 3: 2, 29: 3}[number]][e[1]] = e.get(2, b"").decode()
        if 60 in p:
            track = Track(p[60])
            assert track.uuid not in self.tracks and track.uuid
            assert track.parent == 0 or track.parent in self.tracks
            self.tracks[track.uuid] = track
        if 11 in p:
            self.event(p[8], sequence, list(protobuf.fields(p[11])))

    def event(self, time: int, sequence: int, fields: list[tuple[int, Any]]) -> None:
        """Brackets of a track come in order of time and close what was opened last."""
        e = dict(fields)
        track = self.tracks[e[11]]
        if e[9] == COUNTER:
            assert track.is_counter
            track.values.append((time, e.get(30, e.get(44))))
            return
        assert time >= track.time, track.name
        track.time = time
        if e[9] == END:
            track.open.pop()["end"] = time
            return
        categories, names, keys, texts = self.interned[sequence]
        s: dict[str, Any] = {"name": names[e[10]], "cat": categories[e[3]], "start": time, "depth": len(track.open), "args": {}}
        for number, value in fields:
            if number == 4:
                a = dict(protobuf.fields(value))
                s["args"][keys[a[1]]] = texts[a[17]] if 17 in a else next(v for k, v in a.items() if k != 1)
            elif number == 47:
                self.begun.add(value)
            elif number == 48:
                self.ended.append(value)
        track.open.append(s)
        track.slices.append(s)

    def slices(self) -> list[dict[str, Any]]:
        """Of all tracks."""
        return [s for t in self.tracks.values() for s in t.slices]


class Made:
    """A random trace, with what is true of it.  Names of slices are unique and begin with the depth they must have."""

    def __init__(self, seed: int, overlaps: bool = True, n: int = 150) -> None:
        self.random = random.Random(seed)
        self.events: list[dict[str, Any]] = []
        self.dur: dict[str, int] = {}               # by name, in ns
        self.depth: dict[str, int] = {}
        self.flows = 0
        self.streams: Counter[str] = Counter()
        self.overlaps = overlaps
        self.top_ns = 0                             # of the outermost slices on threads
        self.left = 0
        for thread in (101, 102, 139_912_345_678_912):
            self.left = n
            self.thread(thread)
        for k in range(20):
            self.events.append({"ph": "i", "name": "[memory]", "pid": 77, "tid": 101, "ts": k * 50, "args": {
                "Device Type": 1, "Device Id": k % 2, "Addr": k + 1, "Bytes": 64, "Total Allocated": 64 * k, "Total Reserved": 4096}})
            self.events.append({"ph": "C", "name": "power", "pid": 77, "ts": k * 50, "args": {"watts": k / 8}})
        self.random.shuffle(self.events)

    def add(self, cat: str, tid: int, start: int, dur: int, depth: int | None, pid: int = 77, **args: Any) -> None:
        """Times in ns."""
        name = f"{len(self.dur)} {self.random.choice(HOSTILE)}"
        if self.random.random() < 0.3:
            name = name[::-1]
        while name in self.dur:
            name += "!"
        self.dur[name] = dur
        if depth is not None:
            self.depth[name] = depth
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start / 1000, "dur": dur / 1000,
                            "args": args})

    def thread(self, tid: int) -> None:
        """Trees of operators, now and then one without length or one that ends in the middle of another."""
        at = 1_000_000 + self.random.randrange(5000)
        while self.left > 0:
            end = at + self.random.randrange(1, 90_000)
            self.tree(tid, at, end, 0)
            self.top_ns += end - at
            if self.overlaps and self.random.random() < 0.2:
                self.add("user_annotation", tid, end - (end - at) // 3, 100_000, None)
                end += 100_000
            at = end + self.random.choice([0, 0, 1, 2500])

    def tree(self, tid: int, start: int, end: int, depth: int) -> None:
        """One operator and what is inside."""
        self.left -= 1
        number = len(self.dur) + 1
        self.add("cpu_op", tid, start, end - start, depth, **{"External id": number, "Input Dims": [[2, number % 5], []]})
        at = start
        while depth < 6 and self.left > 0 and end - at > 20 and self.random.random() < 0.7:
            a = self.random.randrange(at, end - 10)
            b = self.random.randrange(a + 1, end + 1)
            if self.random.random() < 0.3:
                self.launch(tid, a, b, depth + 1)
            else:
                self.tree(tid, a, b, depth + 1)
            at = b

    def launch(self, tid: int, start: int, end: int, depth: int) -> None:
        """A call and its kernel, on one of four streams, where kernels overlap or take no time."""
        number = len(self.dur) + 1
        stream, device = self.random.choice([(7, 0), (20, 0), (7, 1), (0, 1)])
        delay, dur = self.random.choice([1, 1000, 30_000]), self.random.choice([0, 0, 1, 900, 40_000])
        self.add("cuda_runtime", tid, start, end - start, depth, correlation=number, cbid=211)
        self.add("kernel", stream, start + delay, dur, None, pid=device, correlation=number, device=device, stream=stream,
                 grid=[number, 1, 1], block=[128, 1, 1])
        self.flows += 1
        self.streams[f"GPU {device} / stream {stream}"] += 1

    def write(self, path: Path) -> None:
        """Some names with bytes that are no UTF-8."""
        text = json.dumps({"schemaVersion": 1, "traceEvents": self.events}).encode()
        path.write_bytes(text.replace(b"%s%n", b"\xff\xfe\xc3"))


def as_written(name: str) -> str:
    """What the bytes that are no UTF-8 become."""
    return name.replace("%s%n", "\ufffd\ufffd\ufffd")


def some_traces() -> list[Path]:
    """Small ones of each producer."""
    return [p for p in traces() if p.stat().st_size < 400_000][: 8 if SANITIZED else None]


def complete(path: Path) -> list[dict[str, Any]]:
    """What is a slice: complete events with a name, a time and a length; device work at time 0 is lost work."""
    return [e for e in events(path) if e.get("ph") == "X" and "dur" in e and not (e.get("cat") in DEVICE and e["ts"] == 0)]


def host_self_ns(path: Path) -> int:
    """Over the slices of threads: the time that they cover, each instant of a thread once."""
    kinds = "('cpu_op', 'python_function', 'user_annotation', 'runtime', 'driver')"
    status, out, err = run("query", path, "--csv", f"select track, start_ns, dur_ns from slice where kind in {kinds} order by 1, 2")
    assert status == 0, err
    total = 0
    last: tuple[str, int] = ("", 0)
    for r in csv.DictReader(io.StringIO(out.decode())):
        start, end = int(r["start_ns"]), int(r["start_ns"]) + int(r["dur_ns"])
        covered = last[1] if last[0] == r["track"] else start
        total += max(0, end - max(start, covered))
        last = (r["track"], max(end, covered))
    return total


class ToPerfetto(unittest.TestCase):
    def test_random_traces(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(5 if SANITIZED else 25):
                with self.subTest(seed=seed):
                    made, path = Made(seed), Path(folder) / "t.json"
                    made.write(path)
                    self.check_made(made, Perfetto(export(path, "perfetto")))

    def check_made(self, made: Made, got: Perfetto) -> None:
        slices = got.slices()
        want = {as_written(name): dur for name, dur in made.dur.items()}
        self.assertEqual(Counter(s["name"] for s in slices), Counter(want.keys()))
        for s in slices:
            self.assertEqual(s["args"].get("whole duration (ns)", s["end"] - s["start"]), want[s["name"]])
        self.assertEqual(set(got.ended), got.begun)
        self.assertEqual(len(got.ended), len(got.begun))
        self.assertEqual(len(got.ended), made.flows)
        streams: Counter[str] = Counter()
        for t in got.tracks.values():
            streams[t.name] += len(t.slices)
            if t.name.startswith("GPU") and t.slices:
                self.assertEqual({s["depth"] for s in t.slices}, {0})
        self.assertEqual({k: v for k, v in streams.items() if "stream" in k}, dict(made.streams))
        self.assertEqual({t.name: len(t.values) for t in got.tracks.values() if t.is_counter and "launched" not in t.name},
                         {"GPU 0 memory allocated": 10, "GPU 1 memory allocated": 10, "GPU 0 memory reserved": 10,
                          "GPU 1 memory reserved": 10, "power": 20})
        for t in got.tracks.values():
            if "launched" in t.name:
                self.assertEqual(t.values[-1][1], 0)
                self.assertGreater(max(v for _, v in t.values), 0)

    def test_depth_of_nested_slices(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(5):
                made, path = Made(seed, overlaps=False), Path(folder) / "t.json"
                made.write(path)
                depth = {s["name"]: s["depth"] for s in Perfetto(export(path, "perfetto")).slices()}
                for name, want in made.depth.items():
                    self.assertEqual(depth[as_written(name)], want, name)

    def test_real_traces(self) -> None:
        for path in some_traces():
            with self.subTest(trace=path.name):
                got, want = Perfetto(export(path, "perfetto")), complete(path)
                self.assertEqual(Counter(s["name"] for s in got.slices()), Counter(e["name"] for e in want))
                self.assertEqual(set(got.ended), got.begun)
                streams = Counter(f"GPU {e['args']['device']} / stream {e['args']['stream']}" for e in want
                                  if e.get("cat") in DEVICE and {"device", "stream"} <= e.get("args", {}).keys())
                drawn: Counter[str] = Counter()
                for t in got.tracks.values():
                    drawn[t.name] += len(t.slices)
                if streams:
                    self.assertEqual({k: drawn[k] for k in streams}, dict(streams))
                memory = [e for e in events(path) if e.get("name") == "[memory]" and "Total Allocated" in e["args"]]
                self.assertEqual(sum(len(t.values) for t in got.tracks.values() if t.name.endswith("memory allocated")), len(memory))

    def test_launches_of_real_traces(self) -> None:
        for path in some_traces():
            want, launched = complete(path), 0
            calls = {e["args"]["correlation"]: e for e in want
                     if e.get("cat") in ("cuda_runtime", "cuda_driver") and e["args"].get("correlation")}
            for e in want:
                call = calls.get(e.get("args", {}).get("correlation")) if e.get("cat") in DEVICE else None
                launched += call is not None and call["ts"] < e["ts"]
            with self.subTest(trace=path.name):
                self.assertGreaterEqual(len(Perfetto(export(path, "perfetto")).ended), launched)

    def test_a_report_of_it_has_the_same_numbers(self) -> None:
        """What Perfetto's format has no place for is left out: allocations, and all that the replay makes of them."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.pftrace"
            for path in some_traces() if SANITIZED else [*some_traces(), *traces()[-8::3]]:
                with self.subTest(trace=path.name):
                    copy.write_bytes(export(path, "perfetto"))
                    one, two = report(path)["ranks"][0], report(copy)["ranks"][0]
                    crossing = any(r["id"] in ("CROSSING", "crossing") for r in one["quality"]["reasons"])
                    if crossing:                # what crosses has a thread of its own there, on which steps may be sought
                        for kernel in [*one["kernels"], *two["kernels"]]:
                            del kernel["calls_per_step"]
                        del one["roofline"], two["roofline"]
                    for key in ("device", "devices", "gpu", "temporal_breakdown", "kernels", "copies", "roofline"):
                        self.assertEqual(one.get(key), two.get(key), key)
                    for key in ("by_kind", "lost", "device_work_without_launch", "kernels_launched_by_graphs"):
                        self.assertEqual(one["quality"][key], two["quality"][key], key)
                    if not crossing:            # a slice that ends late is drawn shorter, for the viewer's sake
                        self.assertEqual([(s["start_ns"] - one["steps"]["list"][0]["start_ns"], s["duration_ns"], s["name"]) for s in one["steps"]["list"]],
                                         [(s["start_ns"] - two["steps"]["list"][0]["start_ns"], s["duration_ns"], s["name"]) for s in two["steps"]["list"]])
                        self.assertEqual({(o["name"], o["calls"], o["device_self_ns"], o["host_total_ns"]) for o in one["operators"]},
                                         {(o["name"], o["calls"], o["device_self_ns"], o["host_total_ns"]) for o in two["operators"]})

    def test_protoc_reads_it_and_knows_every_field(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made, path = Made(1), Path(folder) / "t.json"
            made.write(path)
            for p in [path, *some_traces()[:4]]:
                data = export(p, "perfetto")
                text = protobuf.protoc("perfetto.proto", "Trace", data)
                if text is None:
                    return
                self.assertIsNone(re.search(r"^ *\d+[: ]", text, re.M), "a field that is not in the file")
                self.assertEqual(len(re.findall(r"^packet \{", text, re.M)), Perfetto(data).n_packets)
                self.assertEqual(len(re.findall(r"^    type: 1$", text, re.M)), len(Perfetto(data).slices()))

    def test_interned_names_are_sent_again(self) -> None:
        event = '{"ph":"X","cat":"cpu_op","name":"op%d","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"External id":%d}}'
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text('{"traceEvents":[' + ",".join(event % (i % 9, 2 * i, i + 1) for i in range(250_000)) + "]}")
            got = Perfetto(export(path, "perfetto"))      # fails where a name is not known
            self.assertGreater(got.n_clears, 1)
            self.assertEqual(len(got.slices()), 250_000)

    def test_processes_of_ranks_do_not_collide(self) -> None:
        for name, find in (("perfetto", lambda d: [t.process[1] for t in Perfetto(d).tracks.values() if t.process]),
                           ("chrome", lambda d: sorted({e["pid"] for e in json.loads(d)["traceEvents"] if e["ph"] == "X"}))):
            with tempfile.TemporaryDirectory() as folder:   # one file named three times is one rank
                ranks = [shutil.copy(ONE, Path(folder) / f"{i}-{Path(ONE).name}") for i in range(3)]
                status, out, err = run("export", *ranks, "--format", name)
            self.assertEqual(status, 0, err)
            pids = find(out)
            self.assertEqual(len(pids), len(set(pids)))
            self.assertEqual(len(pids) % 3, 0)
            self.assertEqual(sum(p < 1_000_000_000 for p in pids), 1, pids)

    def test_times_before_1970(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text('[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":-5.5,"dur":2},'
                            '{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1.25,"dur":2}]')
            self.assertEqual([(s["start"], s["end"]) for s in Perfetto(export(path, "perfetto")).slices()], [(0, 2000), (6750, 8750)])


class ToChrome(unittest.TestCase):
    def same_numbers(self, path: Path, copy: Path) -> None:
        one, two = report(path), report(copy)
        for member in ("verdict", "findings"):
            self.assertEqual(one[member], two[member], member)
        for a, b in zip(one["ranks"], two["ranks"], strict=True):
            for key in a.keys() | b.keys():
                if key not in ("file", "quality", "format", "bytes"):
                    self.assertEqual(a.get(key), b.get(key), key)

    def test_a_report_of_the_copy_has_the_same_numbers(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.json"
            for path in some_traces() if SANITIZED else [*some_traces(), *traces()[-8::3]]:
                with self.subTest(trace=path.name):
                    copy.write_bytes(export(path, "chrome"))
                    self.same_numbers(path, copy)

    def test_random_traces_survive(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path, copy, again = Path(folder) / "t.json", Path(folder) / "copy.json", Path(folder) / "again.json"
            for seed in range(8):
                made = Made(seed)
                made.write(path)
                copy.write_bytes(export(path, "chrome"))
                self.same_numbers(path, copy)
                again.write_bytes(export(copy, "chrome"))
                self.assertEqual(copy.read_bytes(), again.read_bytes())
                got = {e["name"]: e for e in events(copy) if e["ph"] == "X"}
                self.assertEqual({n: ns(e["dur"]) for n, e in got.items()}, {as_written(n): d for n, d in made.dur.items()})

    def test_ranks_share_one_clock(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{i}.json" for i in range(2)]
            for i, path in enumerate(paths):
                path.write_text(json.dumps({"baseTimeNanoseconds": 1_700_000_000_000_000_000 + 1_000_001 * i, "traceEvents": [
                    {"ph": "X", "cat": "cpu_op", "name": f"r{i}", "pid": 1, "tid": 1, "ts": 5, "dur": 1}]}))
            status, out, err = run("export", *paths, "--format", "chrome")
            self.assertEqual(status, 0, err)
            self.assertEqual({e["name"]: str(e["ts"]) for e in json.loads(out)["traceEvents"] if e["ph"] == "X"},
                             {"r0": "5.0", "r1": "1005.001"})

    def test_values_that_look_like_json_and_are_not(self) -> None:
        odd = ["[", "[1,2", '["\\x"]', "[1] [2]", "{]}", '{"a":1,}', "[01]", "[nul]", "[" * 200 + "]" * 200, '["a\tb"]', "]"]
        with tempfile.TemporaryDirectory() as folder:
            path, copy = Path(folder) / "t.json", Path(folder) / "c.json"
            path.write_text(json.dumps({"traceEvents": [
                {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": i, "dur": 1, "args": {"Input Dims": o}}
                for i, o in enumerate([*odd, [[1, 2], []], '[[3]]'])]}))
            copy.write_bytes(export(path, "chrome"))
            got = [e["args"]["Input Dims"] for e in json.loads(copy.read_text())["traceEvents"] if e["ph"] == "X"]
            self.assertEqual(got, [*odd, [[1, 2], []], [[3]]])


class States(unittest.TestCase):
    """What threads did by the scheduler goes there and back: the copy says of each state when and how long it was."""

    QUERY = "select t.pid, t.tid, s.state, s.start_ns, s.dur_ns from thread_state s join track t on s.track = t.id order by 1, 2, 4"

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace = self.folder / "rank0.pftrace"
        job = Recording(5 * MS)
        job.facts(cpus=3, command_pid=100)
        job.process(100, "job")
        main, worker, silent = (job.thread(100, tid, name) for tid, name in ((100, "job"), (101, "worker"), (102, "silent")))
        for t in (main, worker, silent):
            t.state(RUNNING)
            t.runs(3 * MS)
        main.call("read", MS, path="/x", bytes=4096)
        main.starved(2 * MS)
        main.waits("pthread_join", 40 * MS)
        worker.sleeps(7 * MS)
        worker.state(0)     # records were lost: a hole
        worker.runs(4 * MS)
        worker.state(RUNNABLE)
        worker.runs(MS)
        for t in (main, worker, silent):
            t.state(DEAD)
        self.trace.write_bytes(b"".join(job.out))

    def ask(self, path: Path) -> list[tuple]:
        status, out, err = run("query", path, "--json", self.QUERY)
        self.assertEqual(status, 0, err)
        rows = [tuple(row.values()) for row in json.loads(out)]
        first = min(row[3] for row in rows)     # a copy may count from 1970
        return [(*row[:3], row[3] - first, row[4]) for row in rows]

    def test_there_and_back(self) -> None:
        known = self.ask(self.trace)
        self.assertEqual({(row[1], row[2]) for row in known}, {(100, "running"), (100, "runnable"), (100, "waiting"), (101, "running"), (101, "waiting"),
                                                               (101, "runnable"), (102, "running")})
        for name, ending in (("perfetto", "pftrace"), ("chrome", "json")):
            with self.subTest(format=name):
                copy = self.folder / f"copy.{ending}"
                copy.write_bytes(export(self.trace, name))
                self.assertEqual(self.ask(copy), known)
                was, now = (report(path)["ranks"][0] for path in (self.trace, copy))
                self.assertEqual(now["host_time"], was["host_time"])
                self.assertEqual(now["host_time"]["states_from"], "switches")
                status, out, err = run("query", copy, "--json", "select count(*) as n from slice where kind = 'cpu_wait'")
                self.assertEqual((status, json.loads(out)[0]["n"]), (0, 2), err)

    def test_two_ranks_of_one_host(self) -> None:
        other = self.folder / "rank1.pftrace"
        other.write_bytes(self.trace.read_bytes())
        known = [row[2:] for row in self.ask(self.trace)]
        for name, ending in (("perfetto", "pftrace"), ("chrome", "json")):
            with self.subTest(format=name):
                both = self.folder / f"both.{ending}"
                both.write_bytes(export(self.trace, name, other))
                self.assertEqual(sorted(row[2:] for row in self.ask(both)), sorted(2 * known))


class ToSpeedscope(unittest.TestCase):
    def check(self, data: bytes, n_slices: int) -> dict[str, int]:
        """Time of the outermost frames by profile."""
        document, opened, tops = json.loads(data), 0, {}
        frames = document["shared"]["frames"]
        for p in document["profiles"]:
            stack: list[int] = []
            last, tops[p["name"]], began = p["startValue"], tops.get(p["name"], 0), 0
            self.assertEqual((p["type"], p["unit"]), ("evented", "nanoseconds"))
            for e in p["events"]:
                self.assertGreaterEqual(e["at"], last)
                last = e["at"]
                self.assertLess(e["frame"], len(frames))
                if e["type"] == "O":
                    opened += 1
                    began = began if stack else e["at"]
                    stack.append(e["frame"])
                else:
                    self.assertEqual(stack.pop(), e["frame"])
                    tops[p["name"]] += 0 if stack else e["at"] - began
            self.assertFalse(stack)
            self.assertEqual(last, p["endValue"])
        self.assertEqual(opened, n_slices)
        return tops

    def test_brackets(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            for seed in range(8):
                made = Made(seed)
                made.write(path)
                self.check(export(path, "speedscope"), len(made.dur))
            made = Made(1, overlaps=False)
            made.write(path)
            tops = self.check(export(path, "speedscope"), len(made.dur))
            self.assertEqual(sum(v for k, v in tops.items() if "stream" not in k), made.top_ns)
        for trace in some_traces()[:10]:
            with self.subTest(trace=trace.name):
                self.check(export(trace, "speedscope"), len(complete(trace)))


def folded_sum(data: bytes) -> int:
    """Every line is a stack and a number."""
    return sum(int(line.rpartition(" ")[2]) for line in data.decode().split("\n") if line)


class ToStacks(unittest.TestCase):
    def test_sums_are_self_times(self) -> None:
        for path in some_traces():
            with self.subTest(trace=path.name):
                self.assertEqual(folded_sum(export(path, "folded")), host_self_ns(path))
                device = sum(ns(e["dur"]) for e in complete(path) if e.get("cat") in DEVICE)
                self.assertEqual(folded_sum(export(path, "folded", "--weight", "gpu")), device)

    def test_a_tree_with_known_times(self) -> None:
        # a 0..10 holds b 2..5 and calls k, which runs for 4 us; c 20..23
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            x = '{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%d,"dur":%d,"args":{"correlation":%d}}'
            path.write_text("[" + ",".join([
                '{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}}',
                x % ("cpu_op", "a;x", 1, 1, 0, 10, 0), x % ("cpu_op", "b", 1, 1, 2, 3, 0), x % ("cpu_op", "c", 1, 1, 20, 3, 0),
                x % ("cuda_runtime", "launch", 1, 1, 6, 1, 9), x % ("kernel", "k", 0, 7, 8, 4, 9),
                x % ("kernel", "lost", 0, 7, 30, 5, 0)]) + "]")
            self.assertEqual(sorted(export(path, "folded").decode().splitlines()),
                             ["main;a:x 6000", "main;a:x;b 3000", "main;a:x;launch 1000", "main;c 3000"])
            self.assertEqual(sorted(export(path, "folded", "--weight", "gpu").decode().splitlines()),
                             ["GPU 0 / stream 7;lost 5000", "main;a:x;k 4000"])

    def test_deep_stacks_keep_their_sum(self) -> None:
        n = 3000
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text("[" + ",".join('{"ph":"X","cat":"cpu_op","name":"f%d","pid":1,"tid":1,"ts":%d,"dur":%d}'
                                           % (i, i, 3 * n - 2 * i) for i in range(n)) + "]")
            self.assertEqual(folded_sum(export(path, "folded")), 3 * n * 1000)

    def test_pprof(self) -> None:
        for path in [*OWN[:2], *some_traces()[:6]]:
            with self.subTest(trace=path.name):
                data = gzip.decompress(export(path, "pprof"))
                strings = [v.decode() for k, v in protobuf.fields(data) if k == 6]
                samples = [dict(protobuf.fields(v)) for k, v in protobuf.fields(data) if k == 2]
                values = [protobuf.packed(s[2]) for s in samples]
                self.assertEqual(strings[0], "")
                self.assertEqual(sum(v[0] for v in values), folded_sum(export(path, "folded")))
                self.assertEqual(sum(v[1] for v in values), folded_sum(export(path, "folded", "--weight", "gpu")))
                functions = {f[1]: strings[f[2]] for f in (dict(protobuf.fields(v)) for k, v in protobuf.fields(data) if k == 5)}
                locations = {m[1] for m in (dict(protobuf.fields(v)) for k, v in protobuf.fields(data) if k == 4)}
                self.assertEqual(locations, set(functions))
                self.assertLessEqual({i for s in samples for i in protobuf.packed(s[1])}, locations)
                text = protobuf.protoc("profile.proto", "Profile", data)
                if text is not None:
                    self.assertIsNone(re.search(r"^ *\d+[: ]", text, re.M), "a field that is not in the file")
                    self.assertEqual(len(re.findall(r"^sample \{", text, re.M)), len(samples))

    def test_go_reads_it(self) -> None:
        go = shutil.which("go") or ("/usr/local/go/bin/go" if os.path.exists("/usr/local/go/bin/go") else None)
        if not go:
            skip_loudly("go is not installed: `go tool pprof` does not read our profile")
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "p.pb.gz"
            path.write_bytes(export(ONE, "pprof"))
            done = subprocess.run([go, "tool", "pprof", "-top", "-unit=ns", str(path)], capture_output=True, check=False, timeout=300)
            if done.returncode and b"no such tool" in done.stderr:
                skip_loudly("this go has no pprof")
                return
            text = done.stdout.decode()
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            self.assertIn(f"{folded_sum(export(ONE, 'folded'))}ns total", text)


class ToCsv(unittest.TestCase):
    def test_a_row_for_each_slice_and_no_formula(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            for seed in range(8):
                made = Made(seed)
                made.write(path)
                rows = list(csv.DictReader(io.StringIO(export(path, "csv").decode(), newline="")))
                self.assertEqual(sorted(int(r["dur_ns"]) for r in rows), sorted(made.dur.values()))
                self.assertEqual(min(int(r["start_ns"]) for r in rows), 0)
                for r in rows:
                    self.assertNotIn(None, r)
                    for cell in r.values():
                        self.assertNotIn(cell[:1], {"=", "+", "-", "@", "\t", "\r"})
                guarded = Counter(re.sub("^'(?=[-=+@\t\r])", "", r["name"]) for r in rows)
                self.assertEqual(guarded, Counter(as_written(n).replace("\0", "\ufffd") for n in made.dur))


class CommandLine(unittest.TestCase):
    def test_rows(self) -> None:
        for arguments, status, words in [
            (["export"], 2, "needs a trace"),
            (["export", ONE], 2, "--list-formats"),
            (["export", ONE, "--format", "perfeto"], 2, "did you mean perfetto?"),
            (["export", ONE, "--format", "xyzzy"], 2, "--list-formats lists them"),
            (["export", ONE, "--format", "csv", "--weight", "gpu"], 2, "--weight needs --format folded"),
            (["export", ONE, "--format", "folded", "--weight", "disk"], 2, "needs one of host, gpu"),
            (["export", ONE, "--format", "csv", "--steps", "90..99"], 2, "this trace has steps"),
            (["export", ONE, "-o", "no/such/folder/x.csv"], 3, "cannot write"),
            (["export", "nothing.json", "--format", "csv"], 3, "nothing.json"),
            (["export", "--list-formats"], 0, ".speedscope.json"),
            (["export", "--help"], 0, "--weight"),
            (["export", ONE, "--format", "csv", "--limit", "events=10"], 3, "--limit events=N"),
        ]:
            with self.subTest(arguments=[str(a) for a in arguments]):
                got, out, err = run(*arguments)
                self.assertEqual(got, status, err)
                self.assertIn(words, out.decode() + err)
                self.assertLessEqual(max(len(line) for line in out.decode().splitlines() or [""]), 80)

    def test_binary_is_not_for_terminals(self) -> None:
        for name, fails in (("perfetto", True), ("pprof", True), ("folded", False)):
            master, slave = pty.openpty()
            with subprocess.Popen([EXE, "export", str(ONE), "--format", name], stdout=slave, stderr=subprocess.PIPE, cwd=ROOT) as p:
                os.close(slave)
                while True:
                    try:
                        if not os.read(master, 65536):
                            break
                    except OSError:
                        break
                err = p.stderr.read().decode() if p.stderr else ""
                self.assertEqual(p.wait(), 2 if fails else 0, err)
            os.close(master)
            if fails:
                self.assertIn("add -o rank0.pt.trace.", err)

    def test_the_ending_names_the_format_and_stderr_what_was_written(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for suffix, words in ((".pftrace", "ui.perfetto.dev"), (".speedscope.json", "speedscope.app"), (".json", "chrome://tracing"),
                                  (".folded", "flamegraph"), (".pb.gz", "go tool pprof"), (".csv", "slices)")):
                path = Path(folder) / ("x" + suffix)
                status, out, err = run("export", ONE, "-o", path)
                self.assertEqual((status, out), (0, b""), err)
                self.assertIn(f"wrote {path} (", err)
                self.assertIn(words, err)
                self.assertEqual(run("export", "-q", ONE, "-o", path)[2], "")

    def test_the_trace_itself_is_not_replaced(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            Made(1).write(path)
            before = path.read_bytes()
            status, _, err = run("export", path, "--format", "chrome", "-o", f"{folder}/../{Path(folder).name}/t.json")
            self.assertEqual(status, 2, err)
            self.assertEqual(path.read_bytes(), before)

    def test_steps_cut(self) -> None:
        for name in ("perfetto", "chrome", "speedscope", "folded", "pprof", "csv"):
            whole, some = export(ONE, name), export(ONE, name, "--steps", "3..4")
            self.assertLess(len(some), len(whole), name)
        steps = sorted({e["name"] for e in json.loads(export(ONE, "chrome", "--steps", "3..4"))["traceEvents"]
                        if e["ph"] == "X" and e["name"].startswith("ProfilerStep")})
        self.assertEqual(steps, ["ProfilerStep#3", "ProfilerStep#4"])
        got = Perfetto(export(ONE, "perfetto", "--steps", "3..4"))
        marks = defaultdict(list)
        for s in got.slices():
            marks["ProfilerStep" if s["name"].startswith("ProfilerStep") else "other"].append(s)
        first, last = min(s["start"] for s in marks["ProfilerStep"]), max(s["end"] for s in marks["ProfilerStep"])
        self.assertTrue(all(first <= s["start"] and s["end"] <= last for s in marks["other"]))

    def test_same_bytes_every_time(self) -> None:
        for name in ("perfetto", "chrome", "speedscope", "folded", "pprof", "csv"):
            self.assertEqual(export(ONE, name), export(ONE, name))


if __name__ == "__main__":
    unittest.main()
