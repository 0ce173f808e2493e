# SPDX-License-Identifier: Apache-2.0
"""Samples of Linux's perf: perf.data and what `perf script` prints of it, against the real perf and against files made byte by byte."""
from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

from tests.program import SHARED, run, skip_loudly

DATA = SHARED / "traces/perf/perf-data-converter/single-event-single-process.perf.data"
BRANCHES = SHARED / "traces/perf/dynolog-intelpt/perf_script_output__stress_ushort.txt"

SCRIPT = """\
# ========
# hostname : node7
# ========
#
python 812/812 [003]  5717.000001:    1000000 cpu-clock:u:\x20
\t    7f1c2b3d0 at::native::add_stub(int, float)+0x1d (/usr/lib/libtorch_cpu.so)
\t     55d0a2f1 main+0x40 (/usr/bin/python3.11)

pt autograd 0   812/814 [001]  5717.001001:    1000000 cpu-clock:u:\x20
\tffffffff811f2fa7 exc_page_fault+0xd7 ([kernel.kallsyms])
\t     55d0a300 [unknown] (/usr/bin/python3.11)
\t     55d0a2f1 main+0x40 (/usr/bin/python3.11)

python 812/812 [003]  5717.002001:    1000000 cpu-clock:u:           7f0010 memcpy@plt+0x4 (/usr/lib/libc.so.6)
swapper     0/0     [000]  5717.002001:    1000000 cpu-clock:  ffffffff8107f92d native_safe_halt+0xd ([kernel.kallsyms])
python 812/812 [003]  5717.002101:          1 sched:sched_switch: prev_comm=python prev_pid=812
"""


def told(path: Path) -> dict[str, Any]:
    status, out, err = run("report", path, "--json", "-q")
    assert status == 0, err
    return json.loads(out)["ranks"][0]


def hot(path: Path) -> dict[str, int]:
    """Samples by module of the innermost function."""
    found: Counter[str] = Counter()
    for row in told(path)["cpu_samples"]["functions"]:
        found[row["module"]] += row["self_samples"]
    return dict(found)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


class Script(Case):
    def test_samples(self) -> None:
        """Commands with blanks, functions with brackets, a chain through the kernel, one frame behind the event; the idle task and a tracepoint are left out."""
        path = self.write("out.txt", SCRIPT)
        functions = {r["name"]: r["self_samples"] for r in told(path)["cpu_samples"]["functions"] if r["self_samples"]}
        self.assertEqual(functions, {"at::native::add_stub(int, float)": 1, "[kernel]": 1, "memcpy@plt": 1})
        total = {r["name"]: r["total_samples"] for r in told(path)["cpu_samples"]["functions"]}
        self.assertEqual((total["main"], total["python3.11 (no symbols)"]), (2, 1))
        health = told(path)["quality"]
        self.assertEqual(health["events"], 3)
        self.assertIn("1 samples of the idle task", health["profiler_warned"])
        self.assertIn("sched:sched_switch", health["profiler_warned"])
        out = run("info", path)[1].decode()
        self.assertNotIn("size        0 B", out)
        self.assertIn("node7", out)
        self.assertIn("perf script", out)

    def test_two_events(self) -> None:
        """Each samples the same time: the first counts."""
        more = SCRIPT + "python 812/812 [003]  5717.003001:    2000000 cycles:u:           7f0010 memcpy@plt+0x4 (/usr/lib/libc.so.6)\n"
        self.assertEqual(hot(self.write("two.txt", more)), hot(self.write("out.txt", SCRIPT)))
        self.assertIn("the first of sched:sched_switch", told(self.folder / "two.txt")["quality"]["profiler_warned"])
        self.assertIn("2 records of events", told(self.folder / "two.txt")["quality"]["profiler_warned"])

    def test_threads(self) -> None:
        status, out, err = run("query", self.write("out.txt", SCRIPT), "select t.pid, c.tid, count(*) as n from cpu_sample c join track t on t.id = c.track group by 1, 2 order by 2", "--csv")
        self.assertEqual((status, out.decode().split()[1:]), (0, ["812,812,2", "812,814,1"]), err)

    def test_cut(self) -> None:
        """A sample that the cut takes frames from is no sample."""
        text = SCRIPT[: SCRIPT.index("main+0x40 (/usr/bin/python3.11)\n\npython 812")]
        self.assertEqual(sum(hot(self.write("cut.txt", text)).values()), 1)
        self.assertEqual(run("report", self.folder / "cut.txt", "--strict", "-q")[0], 4)

    def test_what_is_no_sample(self) -> None:
        """Branches and tracepoints alone are named, with the way to samples."""
        branch = "  stress 15/15 [043] 25717.334360551:   call     _IO_iter_end   7fb22e726fdb __libc_fork+0x17b (/usr/lib64/libc-2.17.so)\n"
        status, _, err = run("report", self.write("pt.txt", branch * 3), "-q")
        self.assertEqual(status, 3)
        self.assertIn("--itrace=i100us", err)
        only = "".join(line + "\n" for line in SCRIPT.splitlines() if "sched:" in line)
        status, _, err = run("report", self.write("sched.txt", only), "-q")
        self.assertEqual(status, 3)
        self.assertIn("perf record -g -e cpu-clock", err)

    def test_other_events(self) -> None:
        """What happens now and then is no sample of a CPU, also where it stands first; of clocks cpu-clock is preferred."""
        def line(event: str, function: str) -> str:
            return f"python 812/812 [003]  5717.000001:          1 {event}:           7f0010 {function}+0x4 (/usr/lib/libc.so.6)\n"

        clocks = ["cpu-clock:u", "task-clock:ppp", "cpu_core/cycles/:P", "ref-cycles"]
        others = ["page-faults", "context-switches", "instructions:u", "cache-misses", "cpu_core/instructions/", "sched:sched_switch", "cpu-migrations"]
        for i, clock in enumerate(clocks):
            text = "".join(line(e, "other") for e in others * 2 + clocks[:i:-1]) + line(clock, "right") * 3
            functions = {r["name"]: r["self_samples"] for r in told(self.write("out.txt", text))["cpu_samples"]["functions"]}
            self.assertEqual(functions, {"right": 3}, clock)
        cores = line("cpu_core/cycles/:P", "right") + line("cpu_atom/cycles/:P", "right") + line("cycles", "right")
        self.assertEqual(told(self.write("out.txt", cores))["cpu_samples"]["samples"], 3)
        status, _, err = run("report", self.write("pf.txt", "".join(line(e, "other") for e in others)), "-q")
        self.assertEqual(status, 3)
        self.assertIn("only other events, the first of page-faults", err)

    def forms(self, text: str) -> tuple[dict[str, int], dict[str, Any]]:
        rank = told(self.write("form.txt", text))
        return {r["name"]: r["total_samples"] for r in rank["cpu_samples"]["functions"]}, rank["quality"]

    def test_forms(self) -> None:
        """Fields that -F leaves out or adds, and records of perf's own among the samples; blanks before frames."""
        wanted = {"add_stub": 2, "main": 2}
        frames = "\t        7f1c2b3d add_stub\n\t        55d0a2f1 main\n\n"
        heads = "bash 814 5717.334360:", "bash 814 5717.335360:"
        functions, quality = self.forms("".join(f"{h} \n{frames}" for h in heads))  # -F comm,tid,time,ip,sym
        self.assertEqual((functions, quality["lost_records"]), (wanted, 0))
        self.assertIn("2 samples do not say their event", quality["profiler_warned"])
        functions, _ = self.forms("".join(f"{h}      7f1c2b3d0a10 add_stub\n" for h in heads))  # the same without chains
        self.assertEqual(functions, {"add_stub": 2})
        for before, after in (("\t", "        "), ("stub\n", "stub+0x1d (/lib/a.so)\n  add.cpp:12\n"), ("\n\n", "\n  main.c:7\n\n")):
            functions, quality = self.forms("".join(f"{h}    1000000 cpu-clock:u: \n{frames.replace(before, after)}" for h in heads))
            self.assertEqual((functions, quality["lost_records"], quality["profiler_warned"]), (wanted, 0, ""), after)
        tasks = "".join(f"python3 22748 18456.393300: PERF_RECORD_{r}\n" for r in (
            "COMM exec: python3:22748/22748", "MMAP2 22748/22748: [0x5629(0x6000) @ 0x2000 fe:00 247149 0]: r-xp /usr/bin/env", "SWITCH OUT preempt", "FORK(1:1):(2:2)"))
        functions, quality = self.forms(tasks * 20 + "".join(f"{h}    1000000 cpu-clock:u: \n{frames}{tasks}" for h in heads))
        self.assertEqual((functions, quality["lost_records"], quality["profiler_warned"]), (wanted, 0, ""))
        functions, quality = self.forms("".join(f"{h} cpu-clock: \n" for h in heads))  # -F sym without ip: perf prints no function
        self.assertIn("2 samples have no function", quality["profiler_warned"])

    def test_a_command_with_line_breaks(self) -> None:
        """`--header` prints it as it is, and lines of it may look like samples."""
        for command in ("python -c \nimport time\n\ndef f():\n    pass\n", "x \npython 812/812 [003]  5717.000001:    1000000 cpu-clock:u:\n\t 7f1c f\n", "x \n" + "a\n" * 100):
            text = SCRIPT.replace("# hostname : node7\n", f"# hostname : node7\n# cmdline : /usr/bin/perf record -g {command} \n# missing features: X\n")
            rank = told(self.write("out.txt", text))
            self.assertEqual((rank["quality"]["events"], rank["quality"]["lost_records"]), (3, 0))
            self.assertEqual(rank["cpu_samples"], told(self.write("plain.txt", SCRIPT))["cpu_samples"])

    def test_logs_are_no_scripts(self) -> None:
        for text in ("step 1 took 0.250000: ok\n", "2024-01-01 12:00:00.123456: I tensorflow/core: cuda\n", "[rank0] 12 1.250000: loss\n",
                     "epoch 3 1.250000:\n", "epoch 3 1.250000:\n  loss\n", "epoch 3 1.250000: abc def\n"):
            status, _, err = run("info", self.write("a.txt", text), "-q")
            self.assertEqual(status, 3, text)
            self.assertNotIn("perf script", err.replace("samples that `perf script` printed", ""))

    def test_real_branches(self) -> None:
        if not BRANCHES.exists():
            skip_loudly("no Intel PT text in shared/traces")
        else:
            status, _, err = run("report", BRANCHES, "-q")
            self.assertEqual(status, 3)
            self.assertIn("branches of Intel PT", err)


SAMPLE_TYPE = 1 | 2 | 4 | 32 | 256  # IP, TID, TIME, CALLCHAIN, PERIOD


def record(kind: int, body: bytes, misc: int = 2) -> bytes:
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def stamp(pid: int, tid: int, time: int) -> bytes:
    """What sample_id_all lays behind records that are no samples."""
    return struct.pack("<iiQ", pid, tid, time)


def text(name: bytes) -> bytes:
    return name + bytes(8 - len(name) % 8)


def mapped(pid: int, start: int, size: int, name: bytes, time: int, offset: int = 0) -> bytes:
    return record(10, struct.pack("<iiQQQIIQQII", pid, pid, start, size, offset, 8, 1, 99, 0, 5, 2) + text(name) + stamp(pid, pid, time))


def command(pid: int, tid: int, name: bytes, time: int, executes: bool = False) -> bytes:
    return record(3, struct.pack("<ii", pid, tid) + text(name) + stamp(pid, tid, time), 0x2000 if executes else 0)


def forked(pid: int, parent: int, time: int) -> bytes:
    return record(7, struct.pack("<iiiiQ", pid, parent, pid, parent, time) + stamp(pid, pid, time))


def sampled(pid: int, tid: int, time: int, chain: list[int], misc: int = 2) -> bytes:
    inner = next((a for a in chain if a < 2**64 - 4095), 0)
    return record(9, struct.pack("<QiiQQQ", inner, pid, tid, time, 1000000, len(chain)) + struct.pack(f"<{len(chain)}Q", *chain), misc)


USER, KERNEL = 2**64 - 512, 2**64 - 128


def perf_data(records: bytes, freq: int = 1000, sample_type: int = SAMPLE_TYPE) -> bytes:
    """One event, cpu-clock by frequency, with sample_id_all."""
    attribute = struct.pack("<IIQQQQQ", 1, 64, 0, freq, sample_type, 0, 1 << 10 | 1 << 18) + bytes(16)
    entry = attribute + struct.pack("<QQ", 0, 0)
    head = b"PERFILE2" + struct.pack("<QQ", 104, len(entry)) + struct.pack("<QQQQQQ", 104, len(entry), 104 + len(entry), len(records), 0, 0) + bytes(32)
    assert len(head) == 104
    return head + entry + records


MADE = b"".join([
    sampled(5, 5, 3000, [USER, 0x5010, 0x4020]),      # before its mapping in the file, after it in time
    command(5, 5, b"trainer", 1000), mapped(5, 0x4000, 0x1000, b"/opt/trainer", 1100), mapped(5, 0x5000, 0x1000, b"/opt/libold.so", 1200, 0x100),
    forked(6, 5, 3100), sampled(6, 6, 3200, [USER, 0x4030]),                   # the child has its parent's mappings
    command(6, 6, b"other", 3300, True), sampled(6, 6, 3400, [USER, 0x4030]),  # until it executes another program
    mapped(5, 0x5000, 0x800, b"/opt/libnew.so", 3500), sampled(5, 7, 3600, [USER, 0x5010]), sampled(5, 7, 3700, [USER, 0x5810]),
    sampled(5, 5, 3800, [KERNEL, 2**64 - 9000, USER, 0x4020], 1), sampled(0, 0, 3900, [KERNEL, 2**64 - 9000], 1),
    record(2, struct.pack("<QQ", 1, 17) + stamp(5, 5, 4000)), record(4, bytes(24) + stamp(5, 5, 4100)), record(70, bytes(8))])


class Made(Case):
    def test_samples(self) -> None:
        """By time and not by place; mappings by process, newer ones over older ones; the kernel; what was lost."""
        path = self.write("perf.data", perf_data(MADE))
        status, out, err = run("query", path, "select tid, is_kernel, stack from cpu_sample order by time_ns", "--csv")
        self.assertEqual(status, 0, err)
        self.assertEqual(out.decode().splitlines()[1:], [
            "5,0,[trainer]+0x20;[libold.so]+0x110", "6,0,[trainer]+0x30", "6,0,[[unknown]]+0x4030", "7,0,[libnew.so]+0x10",
            "7,0,[libold.so]+0x910", "5,1,[trainer]+0x20;[kernel]"])
        rank = told(path)
        self.assertEqual(rank["cpu_samples"]["sample_ns"], 1_000_000)
        self.assertEqual(rank["quality"]["lost_records"], 17)
        self.assertIn("1 samples of the idle task", rank["quality"]["profiler_warned"])

    def test_two_events(self) -> None:
        """Samples say by their identifier which event they are of: the best clock counts, wherever it stands."""
        self.told_of(((2, 314), (1, 0), (0, 0)), 5, "5 records of events")  # a tracepoint, cpu-clock, cycles
        self.told_of(((0, 0), (1, 1), (1, 0)), 3, "7 records of events")    # cycles, task-clock, cpu-clock
        self.told_of(((0, 1), (1, 2), (0, 0)), 3, "the first of a count")   # instructions, page-faults, cycles

    def told_of(self, events: tuple[tuple[int, int], ...], samples: int, warned: str) -> None:
        kind = SAMPLE_TYPE | 1 << 16
        ids, entries, records = [21, 22, 23], b"", b""
        at = 104 + 3 * 80
        for i, (of_type, config) in enumerate(events):
            entries += struct.pack("<IIQQQQQ", of_type, 64, config, 1000, kind, 0, 1 << 10 | 1 << 18) + bytes(16) + struct.pack("<QQ", at + 8 * i, 8)
        for number, n in zip(ids, (2, 5, 3)):
            for k in range(n):
                records += record(9, struct.pack("<QQiiQQQ", number, 0x4000, 5, 5, 1000 + k, 1, 0))
        data = at + 24
        head = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 80, 104, 240, data, len(records), 0, 0) + bytes(32)
        rank = told(self.write("perf.data", head + entries + struct.pack("<3Q", *ids) + records))
        self.assertEqual(rank["cpu_samples"]["samples"], samples)
        self.assertIn(warned, rank["quality"]["profiler_warned"])

    def test_cut(self) -> None:
        whole = perf_data(MADE)
        for end in (len(whole) - 4, len(whole) - 100, 104 + 88 + 80):
            path = self.write("cut.data", whole[:end])
            self.assertEqual(run("report", path, "--strict", "-q")[0], 4, end)
        for end in (8, 60, 150):
            self.assertEqual(run("report", self.write("head.data", whole[:end]), "-q")[0], 3, end)

    def test_names(self) -> None:
        """A child and a thread have the name of what made them until they take another."""
        records = b"".join([command(5, 5, b"trainer", 1000), forked(6, 5, 1100), forked(8, 6, 1150), command(8, 8, b"other", 1200),
                            record(7, struct.pack("<iiiiQ", 5, 5, 7, 5, 1100) + stamp(5, 5, 1100))])
        records += b"".join(sampled(5 if t == 7 else t, t, 2000 + t, [USER, 0x4020]) for t in (5, 6, 7, 8))
        status, out, err = run("query", self.write("perf.data", perf_data(records)), "select c.tid, t.name from cpu_sample c join track t on t.id = c.track order by 1", "--csv")
        self.assertEqual((status, out.decode().split()[1:]), (0, ["5,trainer", "6,trainer", "7,trainer", "8,other"]), err)

    def test_stacks(self) -> None:
        """Stacks that were copied (--call-graph dwarf) are not followed, which is said; records of other types are nothing to warn of."""
        records = b"".join(sampled(5, 5, 1000 + i, [USER, 0x4020]) for i in range(3)) + record(4, bytes(24) + stamp(5, 5, 4100))
        self.assertEqual(told(self.write("perf.data", perf_data(records)))["quality"]["profiler_warned"], "")
        warned = told(self.write("perf.data", perf_data(records, sample_type=SAMPLE_TYPE | 1 << 12 | 1 << 13)))["quality"]["profiler_warned"]
        self.assertIn("3 samples have a copy of the stack (--call-graph dwarf), which is not followed", warned)
        self.assertIn("perf script -i FILE", warned)

    def test_killed(self) -> None:
        """perf that was killed leaves a length of 0."""
        whole = bytearray(perf_data(MADE))
        whole[48:56] = bytes(8)
        self.assertEqual(hot(self.write("perf.data", bytes(whole))), hot(self.write("whole.data", perf_data(MADE))))

    def test_refused(self) -> None:
        packed = perf_data(record(81, bytes(32)))
        status, _, err = run("report", self.write("z.data", packed), "-q")
        self.assertEqual(status, 3)
        self.assertIn("perf script -i FILE > out.txt", err)

    def test_without_samples(self) -> None:
        """What perf prints of it is nothing, so that is no way out."""
        others = command(5, 5, b"trainer", 1000) + mapped(5, 0x4000, 0x1000, b"/opt/trainer", 1100)
        for name, records, words in (("none", b"", "has no samples; record more often"), ("others", others, "has no samples; record more often"),
                                     ("lost", others + record(2, struct.pack("<QQ", 1, 17) + stamp(5, 5, 4000)), "has no samples: all of them were lost; record"),
                                     ("idle", sampled(0, 0, 3900, [KERNEL, 2**64 - 9000], 1), "only samples of the idle task")):
            with self.subTest(name):
                status, _, err = run("report", self.write(name + ".data", perf_data(records)), "-q")
                self.assertEqual(status, 3)
                self.assertIn(words, err)
                self.assertIn("perf record -F 999 -g -e cpu-clock -- COMMAND", err)
                self.assertNotIn("perf script", err)


class Beside(Case):
    def test_traces(self) -> None:
        """Samples alone are no rank of a job that has traces; of several recordings each is one."""
        ops = [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 8} for i in range(5)]
        trace = self.write("trace.json", json.dumps({"traceEvents": ops}))
        data, text = self.write("perf.data", perf_data(MADE)), self.write("out.txt", SCRIPT)
        status, out, err = run("report", trace, data, text, "--json", "-q")
        self.assertEqual(status, 0, err)
        answer = json.loads(out)
        self.assertEqual([Path(r["file"]).name for r in answer["rank_table"]], ["trace.json"])
        self.assertEqual([(Path(u["file"]).name, u["error"]) for u in answer["unread"]], [
            (name, "CPU samples of perf are reported alone: holdup report FILE") for name in ("perf.data", "out.txt")])
        status, out, err = run("report", data, text, "--json", "-q")
        self.assertEqual((status, len(json.loads(out)["ranks"])), (0, 2), err)


class Whole(Case):
    """Samples of a whole system, or of processes none of which stands for the others."""
    def verdict(self, name: str, content: str | bytes) -> tuple[str, dict[str, Any]]:
        status, out, err = run("report", self.write(name, content), "--json", "-q")
        self.assertEqual(status, 0, err)
        answer = json.loads(out)
        return answer["verdict"]["text"], answer

    def test_no_job(self) -> None:
        def samples(n: int, pid: int) -> bytes:
            return b"".join(sampled(pid, pid, 1000 + i, [USER, 0x4020]) for i in range(n))

        for content in (samples(80, 5) + samples(20, 6), samples(99, 5) + samples(9, 6) + samples(1, 0)):  # the idle task: of CPUs
            text, answer = self.verdict("perf.data", perf_data(content))
            self.assertIn("A recording of 2 processes by CPU samples alone", text)
            self.assertNotIn("main thread", text)
            self.assertEqual((answer["findings"], answer["ranks"][0]["host_time"]["is_recorded"]), ([], False))
        text, answer = self.verdict("perf.data", perf_data(samples(95, 5) + samples(5, 6)))
        self.assertIn("main thread", text)
        self.assertEqual([p["running_ns"] for p in answer["ranks"][0]["host_time"]["processes"]], [None, None])  # asleep, for all that is known
        line = "{} 5717.{:06}:    1000000 cpu-clock:u:           7f0010 memcpy@plt+0x4 (/usr/lib/libc.so.6)\n"
        text, _ = self.verdict("out.txt", "".join(line.format(("cc1 81", "ld 82")[i % 2], i) for i in range(60)))
        self.assertIn("A recording of threads by CPU samples alone", text)

    def test_several_files(self) -> None:
        """Ranks by their names; without, nothing says that they are of one job."""
        contents = [perf_data(b"".join(sampled(pid, pid, 1000 + i, [USER, 0x4020]) for i in range(50 + pid))) for pid in (5, 6)]
        for names, ranks in ((("perf.rank0.data", "perf.rank7.data"), [0, 7]), (("a.data", "b.data"), None)):
            paths = [self.write(name, content) for name, content in zip(names, contents)]
            status, out, err = run("report", *paths, "--json", "-q")
            self.assertEqual(status, 0, err)
            answer = json.loads(out)
            apart = any("no ranks of one job" in reason for reason in answer["verdict"]["reasons"])
            self.assertEqual(apart, ranks is None, answer["verdict"])
            if ranks:
                self.assertEqual([r["rank"] for r in answer["ranks"]], ranks)


class Real(Case):
    def test_google(self) -> None:
        """By the layout alone, in Python: samples by where they were."""
        if not DATA.exists():
            self.skipTest("no perf.data in shared/traces")
        data = DATA.read_bytes()
        at, size = struct.unpack_from("<QQ", data, 40)
        end, kernel, user = at + size, 0, 0
        while at < end:
            kind, misc, length = struct.unpack_from("<IHH", data, at)
            if kind == 9:
                kernel += misc & 7 == 1
                user += misc & 7 != 1
            at += length
        rank = told(DATA)
        self.assertEqual((rank["cpu_samples"]["samples"], rank["cpu_samples"]["kernel_samples"]), (kernel + user, kernel))
        self.assertEqual(rank["cpu_samples"]["sample_ns"], 250_000)

    def test_no_limit_is_kept_by_what_was_not_recorded(self) -> None:
        """Samples name no data loader and no communication: a limit on them is neither kept nor breached."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "perf.txt")
            path.write_text("".join(f"python 42 [000] {100 + i / 100:.6f}: 250000 cycles:u: \n\t 55d0 gemm+0x1 (/lib/a.so)\n\n" for i in range(99)))
            status, out, err = run("check", path, "--json", "--max", "data=5%", "--max", "comm=5%", "-q")
        got = {c["name"]: c["state"] for c in json.loads(out)["limits"]}
        self.assertEqual((status, got["data"], got["comm"]), (0, "unknown", "unknown"), err)

    def test_against_perf(self) -> None:
        """perf's own reading of the same file: samples by module of the innermost frame; and its text, read by us."""
        if not DATA.exists() or not shutil.which("perf"):
            skip_loudly("no perf, or no perf.data in shared/traces: not compared")
            return
        ran = subprocess.run(["perf", "script", "-i", DATA, "-F", "comm,pid,tid,time,period,event,ip,sym,dso"], capture_output=True, check=False)
        if ran.returncode:
            skip_loudly(f"perf script fails here: {ran.stderr.decode()[:200]}")
            return
        modules: Counter[str] = Counter()
        for line in ran.stdout.decode().splitlines():
            module = re.search(r" \(([^()]*)\)$", line)
            if module:
                name = module[1].rsplit("/", 1)[-1]
                modules["[kernel]" if name.startswith("[kernel") else name] += 1
        self.assertGreater(sum(modules.values()), 1000)
        self.assertEqual(hot(DATA), modules)
        self.assertEqual(hot(self.write("out.txt", ran.stdout)), modules)

    def test_recorded_here(self) -> None:
        """A program that perf samples now, with chains: the file and its text tell the same."""
        path = self.folder / "perf.data"
        if not shutil.which("perf") or subprocess.run(
                ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-g", "-o", path, "--", sys.executable, "-c", "sum(i * i for i in range(2000000))"],
                capture_output=True, check=False).returncode or not path.exists():
            skip_loudly("perf cannot record here")
            return
        pipe = self.folder / "pipe.data"
        with pipe.open("wb") as out:
            subprocess.run(["perf", "inject", "-i", path, "-o", "-"], stdout=out, stderr=subprocess.DEVNULL, check=False)
        if pipe.stat().st_size:
            self.assertEqual(hot(pipe), hot(path))
        script = subprocess.run(["perf", "script", "-i", path, "-F", "comm,pid,tid,time,period,event,ip,sym,dso"], capture_output=True, check=True)
        self.assertEqual(hot(path), hot(self.write("out.txt", script.stdout)))
        headed = subprocess.run(["perf", "script", "--header", "-i", path, "-F", "comm,pid,tid,time,period,event,ip,sym,dso"], capture_output=True, check=True)
        self.assertEqual(told(self.write("headed.txt", headed.stdout))["cpu_samples"], told(self.folder / "out.txt")["cpu_samples"])
        converted = self.folder / "out.json"
        if subprocess.run(["perf", "data", "convert", "--to-json", converted, "-i", path], capture_output=True, check=False).returncode:
            skip_loudly("this perf does not convert to JSON")
            return
        of_json, of_file = hot(converted), hot(path)  # perf names the file of a frame there only where it has a symbol of it
        self.assertEqual(sum(of_json.values()), sum(of_file.values()))
        self.assertTrue(all(n <= of_file[module] for module, n in of_json.items() if module != "[unknown]"), (of_json, of_file))
        names = [{r["name"]: (r["self_samples"], r["total_samples"]) for r in told(f)["cpu_samples"]["functions"] if "no symbols" not in r["name"]} for f in (converted, self.folder / "out.txt")]
        self.assertEqual(*names)


def perf_json(samples: list[dict[str, Any]], command: list[str] | None = None) -> str:
    """As perf 6.1 writes it."""
    return json.dumps({"linux-perf-json-version": 1, "headers": {"header-version": 1, "captured-on": "2026-01-02T03:04:05Z", "data-offset": 264, "data-size": 100, "feat-offset": 364,
                                                                 "hostname": "node7",
                                                                 "perf-version": "6.1.187", "cmdline": command or ["/usr/bin/perf", "record", "-g", "-e", "cpu-clock", "-o", "p.data", "python3",
                                                                                                                  "-e", "x"]},
                       "samples": samples}, indent="\t")


class Json(Case):
    """What `perf data convert --to-json` writes; the same samples as SCRIPT has."""

    SAMPLES = [
        {"timestamp": 5717000001000, "pid": 812, "tid": 812, "comm": "python", "callchain": [
            {"ip": "0x7f1c2b3d0", "symbol": "at::native::add_stub(int, float)", "dso": "libtorch_cpu.so"}, {"ip": "0x55d0a2f1", "symbol": "main", "dso": "python3.11"}]},
        {"timestamp": 5717001001000, "pid": 812, "tid": 814, "comm": "pt \"autograd\" 0", "callchain": [
            {"ip": "0xffffffff811f2fa7", "symbol": "exc_page_fault", "dso": "[kernel.kallsyms]"}, {"ip": "0x55d0a300", "dso": "python3.11"},
            {"ip": "0x55d0a2f1", "symbol": "main", "dso": "python3.11"}]},
        {"timestamp": 5717002001000, "pid": 812, "tid": 812, "comm": "python", "callchain": [{"ip": "0x7f0010", "symbol": "memcpy@plt", "dso": "libc.so"}]},
        {"timestamp": 5717002001000, "pid": 0, "tid": 0, "comm": "swapper", "callchain": [{"ip": "0xffffffff8107f92d", "symbol": "native_safe_halt", "dso": "[kernel.kallsyms]"}]}]

    def test_samples(self) -> None:
        rank = told(self.write("p.json", perf_json(self.SAMPLES)))
        functions = {r["name"]: r for r in rank["cpu_samples"]["functions"]}
        self.assertEqual({k: r["self_samples"] for k, r in functions.items() if r["self_samples"]}, {"at::native::add_stub(int, float)": 1, "[kernel]": 1, "memcpy@plt": 1})
        self.assertEqual((functions["main"]["total_samples"], functions["python3.11 (no symbols)"]["total_samples"]), (2, 1))
        self.assertEqual(rank["quality"]["events"], 3)
        self.assertEqual(rank["quality"]["profiler_warned"], "1 samples of the idle task are left out")
        out = run("info", self.folder / "p.json")[1].decode()
        self.assertIn("size        1.51 kB", out)
        self.assertIn('pt "autograd" 0', run("query", self.folder / "p.json", "select name from track")[1].decode())

    def test_events(self) -> None:
        """Samples do not say theirs; the command may."""
        for command, code, words in (
                (["perf", "record", "-e", "cpu-clock,sched:sched_switch", "a"], 3, "samples of several events"),
                (["perf", "record", "-ecycles", "--event=cpu-clock", "a"], 3, "samples of several events"),
                (["perf", "record", "-g", "--event", "page-faults", "a"], 3, "samples of page-faults and not of a CPU"),
                (["perf", "record", "-F", "99", "-o", "x", "-e", "page-faults", "a"], 3, "samples of page-faults"),
                (["perf", "record", "-g", "a", "-e", "page-faults"], 0, "3 samples do not say their event"),
                (["perf", "record", "-F", "99", "--event=cycles:u", "a"], 0, "")):
            path = self.write("p.json", perf_json(self.SAMPLES, command))
            status, out, err = run("report", path, "--json", "-q")
            self.assertEqual(status, code, (command, err))
            self.assertIn(words, err if code else json.loads(out)["ranks"][0]["quality"]["profiler_warned"], command)

    def test_cut_and_damaged(self) -> None:
        text = perf_json(self.SAMPLES * 20)
        whole = told(self.write("p.json", text))["quality"]["events"]
        for at in (len(text) // 2, text.index('"pid"', len(text) // 3), text.rindex("}", 0, len(text) // 2) + 2):
            quality = told(self.write("p.json", text[:at]))["quality"]
            self.assertTrue(quality["is_truncated"], at)
            self.assertTrue(0 < quality["events"] < whole)
        bad: list[dict[str, Any]] = [{"timestamp": "x", "pid": 1, "tid": 1}, {"pid": 1}, {"timestamp": 1, "pid": -5, "tid": 1}]
        self.assertEqual(told(self.write("p.json", perf_json(self.SAMPLES + bad)))["quality"]["lost"], 3)
        for samples in ([], bad):
            status, _, err = run("report", self.write("p.json", perf_json(samples)), "-q")
            self.assertEqual(status, 3)
            self.assertIn("without a sample", err)


if __name__ == "__main__":
    unittest.main()
