# SPDX-License-Identifier: Apache-2.0
"""Names from files never steer the terminal, and where a chunk of the input ends never changes what is found in it."""
import json
import os
import pty
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import EXE, OWN, ROOT, read, report, run, skip_loudly, traces

CHUNK = 256 * 1024      # of base/input.c; another value only makes the tests less sharp
EVIL = "\x1b]0;x\x07\x1b[2J\x9b31m\u202e\u2066\x7f\r"
BAD = {chr(c) for c in (*range(32), *range(0x7F, 0xA0))} - {"\n"} | set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def hostile() -> dict:
    """Every text that a trace can hold, made of what steers terminals."""
    def slices(cat: str, name: str, at: int, dur: int, **args: object) -> list[dict]:
        return [{"ph": "X", "cat": cat, "name": EVIL + name, "pid": 1, "tid": 1, "ts": 100 * i + at, "dur": dur, "args": args}
                for i in range(6)]

    events = (slices("user_annotation", "step", 0, 90) + slices("cpu_op", "op", 1, 40, **{"Input Dims": [[EVIL]]})
              + slices("kernel", "k", 5, 40, stream=7) + slices("gpu_memcpy", f"Memcpy HtoD ({EVIL} -> {EVIL})", 50, 4, stream=7))
    events += [{"ph": "M", "name": what, "pid": 1, "tid": 1, "args": {"name": EVIL}} for what in ("process_name", "thread_name")]
    return {"host_name": EVIL, "deviceProperties": [{"id": 0, "name": EVIL}],
            "distributedInfo": {"rank": 0, "world_size": 2, "backend": EVIL}, "traceEvents": events}


class Hostile(unittest.TestCase):
    def setUp(self) -> None:
        self.keep = tempfile.TemporaryDirectory()
        self.folder = Path(self.keep.name)

    def tearDown(self) -> None:
        self.keep.cleanup()

    def harmless(self, what: str, text: str) -> None:
        self.assertEqual({hex(ord(c)) for c in text if c in BAD}, set(), what)

    def test_text_and_page_hold_nothing_that_steers(self) -> None:
        path, page = self.folder / f"{EVIL.replace('/', '')}.json", self.folder / "page.html"
        path.write_text(json.dumps(hostile()))
        for arguments in (["info"], ["report", "--html", page], ["report", "-g", "shapes", "-v", "ops"],
                          *(["report", "-v", v] for v in ("overview", "ops", "kernels", "copies", "steps", "health"))):
            with self.subTest(arguments=[str(a) for a in arguments]):
                status, out, _ = run(*arguments, path)
                self.assertEqual(status, 0)
                self.harmless("standard output", out.decode())
                self.assertLessEqual(max(len(line) for line in out.decode().splitlines() if not line.startswith("next")), 80)
        self.harmless("page", page.read_bytes().decode())

    def test_messages_hold_nothing_that_steers(self) -> None:
        # a folder of somebody else's files may hold any name
        good, bad = self.folder / "a.json", self.folder / f"b{EVIL}.json"
        good.write_text(json.dumps(hostile()))
        bad.write_text("no trace")
        for arguments in (["report", self.folder], ["info", bad], ["report", f"{EVIL}.json"], ["report", f"--{EVIL}"], [EVIL],
                          ["report", good, "--sort", EVIL], ["report", good, "--view", EVIL], ["report", good, "--html", f"/no/{EVIL}"]):
            with self.subTest(arguments=[ascii(str(a)) for a in arguments]):
                self.harmless("standard error", run(*arguments)[2])

    def test_json_and_csv_keep_the_name(self) -> None:
        path = self.folder / "t.json"
        path.write_text(json.dumps(hostile()))
        names = {k["name"] for k in report(path)["ranks"][0]["kernels"]}
        self.assertEqual(names, {EVIL + "k"})

    def test_one_bad_rank_of_a_folder(self) -> None:
        for name in ("rank0.json", "rank1.json"):
            (self.folder / name).write_text(json.dumps(hostile()))
        (self.folder / "rank2.json").write_text("")
        status, out, err = run("report", self.folder, "--json")
        self.assertEqual((status, len(json.loads(out)["ranks"])), (0, 2))
        self.assertIn("rank2.json", err)
        self.assertEqual(run("report", self.folder, "--strict")[0], 4)
        self.assertEqual(run("report", self.folder, "-q")[2], "")

    def test_info_fits_80_columns(self) -> None:
        for path in traces():
            with self.subTest(trace=path.name):
                self.assertLessEqual(max(len(line) for line in run("info", path)[1].decode().splitlines()), 80)

    def test_a_full_disk_is_an_error_everywhere(self) -> None:
        for arguments in (["report", OWN[0]], ["report", OWN[0], "--json"], ["report", OWN[0], "--csv", "-v", "ops"], ["info", OWN[0]],
                          ["help"], ["report", "--help"], ["--version"]):
            with self.subTest(arguments=[str(a) for a in arguments]), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([EXE, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE, check=False, cwd=ROOT)
                self.assertEqual(done.returncode, 3)


class Terminal(unittest.TestCase):
    def on_terminal(self, *arguments: str, **env: str) -> bytes:
        try:
            pid, fd = pty.fork()
        except OSError as why:      # a bare container has no /dev/pts
            skip_loudly(f"no pseudo terminal: {why}")
            self.skipTest("no pseudo terminal")
        if pid == 0:
            try:
                os.environ.pop("NO_COLOR", None)
                os.environ.update(env)
                os.execv(EXE, [EXE, *arguments])
            finally:
                os._exit(127)
        out = b""
        try:
            while block := os.read(fd, 65536):
                out += block
        except OSError:         # what Linux says when the other end has closed
            pass
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        return out

    def test_colours_on_a_terminal_unless_declined(self) -> None:
        path = str(OWN[0])
        self.assertIn(b"\033[1m", self.on_terminal("report", "-q", path))
        self.assertNotIn(b"\033[", self.on_terminal("report", "-q", path, NO_COLOR="1"))
        self.assertNotIn(b"\033[", self.on_terminal("report", "-q", path, "--color", "never"))
        self.assertIn(b"\033[1m", self.on_terminal("report", "-q", path, "--color", "always", NO_COLOR="1"))


class Borders(unittest.TestCase):
    def setUp(self) -> None:
        self.keep = tempfile.TemporaryDirectory()
        self.path = Path(self.keep.name) / "t.json"

    def tearDown(self) -> None:
        self.keep.cleanup()

    def rank(self, text: bytes) -> dict:
        self.path.write_bytes(text)
        return report(self.path)["ranks"][0]

    def test_an_event_on_the_border_of_a_chunk(self) -> None:
        events = [{"ph": "X", "cat": "cpu_op", "name": f"a\\\u00e9\"{i}", "pid": 1, "tid": 1, "ts": 20.5 * i, "dur": 9.125,
                   "args": {"External id": i, "Input Dims": [[i, 2], []], "x": None}} for i in range(2)]
        text = json.dumps({"schemaVersion": 1, "traceEvents": events, "record_shapes": 1}).encode()
        expected = self.rank(text)
        for inside in range(1, len(text)):
            with self.subTest(bytes_before_the_border=inside):
                self.assertEqual(self.rank(b" " * (CHUNK - inside) + text), expected)

    def test_damage_on_the_border_of_a_chunk(self) -> None:
        event = b'{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":1,"dur":1}'
        text = b"[" + event % b"a" + b"," + event % b'b"c' + b"," + event % b"d" + b"]"
        expected = self.rank(text)
        self.assertEqual((expected["quality"]["events"], expected["quality"]["lost"]), (3, 1))
        for inside in range(1, len(text), 3):
            with self.subTest(bytes_before_the_border=inside):
                self.assertEqual(self.rank(b" " * (CHUNK - inside) + text), expected)

    def test_trailing_bytes_are_counted_across_the_border(self) -> None:
        event = b'[{"ph":"X","cat":"cpu_op","name":"a","ts":1,"dur":1}]'
        text = event + b"abcde     fghij"
        self.assertEqual(self.rank(text)["quality"]["trailing_bytes"], 15)
        self.assertEqual(self.rank(b" " * (CHUNK - len(event) - 5) + text)["quality"]["trailing_bytes"], 15)

    def test_absolute_and_relative_times(self) -> None:
        rows = [(1, 10), (20, 3)]

        def text(base: int) -> bytes:
            events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": base + ts, "dur": dur, "args": {"stream": 7}}
                      for ts, dur in rows]
            return json.dumps({"baseTimeNanoseconds": 0 if base else 1712195495000000000, "traceEvents": events}).encode()

        relative, absolute = self.rank(text(0)), self.rank(text(1712195495000000))
        self.assertEqual(relative["gpu"], absolute["gpu"])
        self.assertEqual(relative["gpu"]["span_ns"], 22000)

    def test_invalid_utf8_is_counted(self) -> None:
        rank = self.rank(b'[{"ph":"X","cat":"cpu_op","name":"a\xff\xc0\x80","ts":1,"dur":1}]')
        self.assertEqual(rank["quality"]["invalid_utf8_names"], 1)

    def test_demo_trace_over_chunks(self) -> None:
        text = read(OWN[0])
        expected = self.rank(text)
        for blanks in (1, 1000, CHUNK // 2, CHUNK - 1000):
            with self.subTest(blanks=blanks):
                self.assertEqual(self.rank(b" " * blanks + text), expected)


if __name__ == "__main__":
    unittest.main()
