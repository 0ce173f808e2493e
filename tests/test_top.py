# SPDX-License-Identifier: Apache-2.0
"""`holdup top` on real terminals: whole screens, keys, the mouse, sizes, and what the terminal is like afterwards.

    HOLDUP_TEST_WRITE=1 python3 -m pytest tests/test_top.py      writes tests/golden/top anew: read the difference
"""
from __future__ import annotations

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

from tests.monitor import scene, standin
from tests.monitor_trees import Tree
from tests.program import EXE, ROOT, SANITIZED, skip_loudly
from tests.recorder import once
from tests.top_terminal import PATIENCE, Node, Terminal

load_tests = once       # screens; what is parsed has a fuzz target

try:
    import jsonschema
except ImportError:
    jsonschema = None

GOLDEN = ROOT / "tests/golden/top"
JOB = (ROOT / "tests/data/top/job.prom").read_text()
SCHEMA = json.loads((ROOT / "docs/top.schema.json").read_text())


def series(name: str, value: float, **labels: str) -> str:
    pairs = ",".join(f'{k}="{v}"' for k, v in labels.items())
    return f"{name}{{{pairs}}} {value}\n"


def many_gpus(n: int) -> str:
    out = ""
    for i in range(n):
        gpu = {"gpu": str(i), "uuid": f"GPU-{i:04}"}
        out += series("holdup_gpu_up", 1, **gpu) + series("holdup_gpu_utilization_ratio", i / n, **gpu)
        out += series("holdup_gpu_memory_used_bytes", (i + 1) * 2 ** 30, **gpu) + series("holdup_gpu_memory_total_bytes", 80 * 2 ** 30, **gpu)
        out += series("holdup_gpu_power_watts", 100 + i, **gpu) + series("holdup_gpu_temperature_celsius", 30 + i % 40, **gpu)
    return out


def host(cpu_busy: float, cpu_idle: float, received: float = 0, waiting: float = 0) -> str:
    return (series("holdup_host_cpus", 4) + series("holdup_host_cpu_seconds_total", cpu_busy, mode="user") +
            series("holdup_host_cpu_seconds_total", cpu_idle, mode="idle") + series("holdup_host_network_receive_bytes_total", received, device="eth0") +
            series("holdup_host_pressure_waiting_seconds_total", waiting, resource="io"))


def processes(root: pathlib.Path, n: int) -> None:
    """A node without a GPU: `n` processes, whose names are hostile, and the kernel's own thread."""
    tree = Tree(root)
    tree.put("proc/sys/kernel/hostname", "testnode")
    tree.put("etc/passwd", f"ada:x:{os.getuid()}:0::/:/bin/sh")
    tree.put("proc/stat", "cpu  1000 0 500 8000 500 0 0 0 0 0\ncpu0 1000 0 500 8000 500 0 0 0 0 0\nctxt 1\nprocs_running 1\nprocs_blocked 0")
    tree.put("proc/loadavg", "1.50 1.00 0.50 1/1000 1")
    tree.put("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1048576 kB\nMemAvailable: 12582912 kB")
    for i in range(n):
        name = "python (3) x" if i == 1 else "\033[31mred" if i == 2 else f"worker{i}"
        flags = 0x200000 if i == 3 else 0x400000
        fields = f"{'R' if i == 0 else 'S'} 1 1 1 0 -1 {flags} 0 0 0 0 {100 * (n - i)} 50 0 0 20 0 2 0 {500 + i} 100000 {1024 * (1 + i % 7)} 0 0 0"
        tree.put(f"proc/{1000 + i}/stat", f"{1000 + i} ({name}) {fields}")
        tree.put(f"proc/{1000 + i}/cmdline", f"/usr/bin/{name}\0--number\0{i}\0".encode() if i != 4 else b"")


def plain(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    options.setdefault("env", {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80"})
    return subprocess.run([EXE, "top", *words], capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL, **options)


class Case(unittest.TestCase):
    maxDiff = None

    def folder(self) -> pathlib.Path:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        return pathlib.Path(holder.name)

    def assert_golden(self, name: str, screen: str) -> None:
        """Ports are of the moment, and so is how long a node was silent."""
        screen = re.sub(r"127\.0\.0\.1:\d{5}", "127.0.0.1:PPPPP", screen)
        screen = re.sub(r"no answer for \d+ s", "no answer for N s", screen)
        screen = "\n".join(line.rstrip() for line in screen.rstrip("\n").split("\n")) + "\n"
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("HOLDUP_TEST_WRITE"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(screen)
        self.assertEqual(screen, path.read_text(), f"{path}: HOLDUP_TEST_WRITE=1 writes it anew")

    def top(self, *words: object, **options: object) -> Terminal:
        return Terminal(self, [EXE, "top", *words], **options)


class Screens(Case):
    def show(self, name: str, *words: object, text: str = JOB, keys: tuple[str, ...] = (), shows: str = "400.0 ms", **options: object) -> None:
        terminal = self.top(*(words or (Node(self, text).address,)), **options)
        terminal.until(lambda s: "q quit" in s, "the screen")
        terminal.keys(*keys)
        self.assert_golden(name, terminal.until(lambda s: shows in s, shows))

    def test_overview(self) -> None:
        self.show("overview")
        self.show("overview-wide", width=200, height=60)

    def test_ascii(self) -> None:
        self.show("overview-ascii", utf8=False)

    def test_pages(self) -> None:
        for page, (name, shows) in enumerate((("gpus", "sw power cap"), ("jobs", "1d01h"), ("ranks", "late")), 2):
            self.show(name, keys=(str(page),), shows="late" if name == "ranks" else shows, width=100)

    def test_help(self) -> None:
        self.show("help", keys=("3", "h"), shows="  its name", height=40)  # the last line that is drawn

    def test_help_fits(self) -> None:
        """No explanation of a column is cut at 80 columns."""
        terminal = self.top("--root", self.folder(), height=50)
        terminal.until(lambda s: "q quit" in s, "the screen")
        for page, title in (("2", "GPUs"), ("3", "Jobs"), ("4", "Ranks"), ("5", "Processes")):
            terminal.keys(page, "h")
            screen = terminal.until(lambda s, title=title: f"Columns: {title}" in s, title)
            self.assertNotIn("…", screen)

    def test_note(self) -> None:
        """Why something is not known, where nothing graver is to be said and somebody can do something about it."""
        problem = [series("holdup_monitor_problem", 1, source="nvidia", what=what, fix=fix) for what, fix in (
            ("no NVIDIA driver is loaded", "nothing, where there are no NVIDIA GPUs"), ("no permission", "run it as root"))]
        self.assertIn("\nNote  no permission; run it as root\n", plain("--once", Node(self, "".join(problem)).address).stdout)
        self.assertNotIn("Note", plain("--once", Node(self, problem[0]).address).stdout)
        self.assertNotIn("Note", plain("--once", Node(self, problem[1] + JOB).address).stdout)

    def test_ranks_that_cannot_be_seen(self) -> None:
        """Where another monitor has the jobs' socket, nobody says that there are no ranks."""
        node = Node(self, series("holdup_monitor_problem", 1, source="live", what="another monitor reads /run/holdup/job.sock", fix="ask that one (holdup top HOST:PORT)"))
        said = plain("--once", "--page", "ranks", node.address).stdout
        self.assertIn("\nnot known: another monitor reads /run/holdup/job.sock; ask that one (holdup top", said)
        self.assertNotIn("no process tells", said)
        self.assertIn("\nno process tells of its steps\n", plain("--once", "--page", "ranks", Node(self, host(1, 1)).address).stdout)

    def test_two_nodes(self) -> None:
        silent = socket.create_server(("127.0.0.1", 0))
        while silent.getsockname()[1] < 10000:
            silent = socket.create_server(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        silent.close()
        first = Node(self, JOB)
        terminal = self.top(first.address, f"127.0.0.1:{port}", width=130, height=30)
        self.assert_golden("two-nodes", terminal.until(lambda s: re.search(r"no answer for \d s: Connection refused", s) and "400.0 ms" in s, "both states"))

    def test_many_gpus(self) -> None:
        node = Node(self, many_gpus(64))
        terminal = self.top("--page", "gpus", node.address)
        terminal.until(lambda s: "\n0 " in s, "the first GPU")
        self.assert_golden("gpus-64", terminal.screen())
        terminal.keys("End")
        self.assert_golden("gpus-64-end", terminal.until(lambda s: "\n63 " in s, "the last GPU"))

    def test_no_gpu(self) -> None:
        root = self.folder()
        processes(root, 1000)
        for name, utf8 in (("processes-1000", True), ("processes-1000-ascii", False)):
            terminal = self.top("--root", root, utf8=utf8)
            # a crowded machine may say in a note that something was late, until the next reading
            self.assert_golden(name, terminal.until(lambda s: "  0.0 " in s and "worker" in s and "\nNote" not in s, "CPU of processes"))
        terminal.keys("<")                     # by user: all are the same; then by number
        terminal.keys("<", "<")
        screen = terminal.until(lambda s: re.search(r"^ *1999 ada", s, re.M), "the greatest number first")
        self.assertNotIn("1003 ", screen)      # the kernel's own

    def test_demo(self) -> None:
        """Numbers move: what stands where is compared, not how much it is."""
        terminal = self.top("--demo=idle-allocation", "--page", "gpus", width=120)
        screen = terminal.until(lambda s: s.count("H100 80GB") == 8 and re.search(r"^7 .*grace", s, re.M), "eight GPUs")
        self.assertIn("invented GPUs and jobs", screen)
        self.assertRegex(screen, r"(?m)^Holds job 48219 of grace has 2 GPUs and uses none: \d+h\d\dm of GPU time lost$")
        self.assertEqual([line.split()[0] for line in screen.split("\n") if "H100" in line], [str(i) for i in range(8)])
        terminal.keys("P")
        terminal.until(lambda s: re.findall(r"(?m)^(\d) +H100", s)[-2:] == ["6", "7"], "the idle ones last")
        terminal.keys("P")
        terminal.until(lambda s: re.findall(r"(?m)^(\d) +H100", s)[:2] == ["6", "7"], "the idle ones first")

    def test_colors(self) -> None:
        node = Node(self, JOB)
        for no, has in (("", True), ("1", False)):
            terminal = self.top(node.address, NO_COLOR=no)
            terminal.until(lambda s: "q quit" in s, "the screen")
            self.assertEqual(bool(re.search(r"\x1b\[3[1-7]m", terminal.screen(colors=True))), has)


class Keys(Case):
    def setUp(self) -> None:
        self.node = Node(self, JOB)
        self.terminal = self.top(self.node.address)
        self.terminal.until(lambda s: "q quit" in s and "400.0 ms" in s, "the screen")

    def column(self, heading: str, screen: str) -> list[str]:
        """Words below a heading, on a page with one table."""
        lines = screen.split("\n")
        at = next(i for i, line in enumerate(lines) if heading in line)
        start = lines[at].index(heading)
        return [line[start:].split()[0] for line in lines[at + 1:-2] if line[start:].strip()]

    def test_sort(self) -> None:
        t = self.terminal
        t.keys("4", ">")
        t.until(lambda s: "by JOB" in s, "sorted by the first column")
        t.keys(">", "r")
        t.until(lambda s: "reverse by RANK" in s and self.column("RANK", s) == ["0", "1", "2", "3"], "greatest first, turned round")
        t.keys("M")
        t.until(lambda s: "by DATA%" in s and self.column("RANK", s)[0] == "2", "who waits most for data first")

    def test_filter(self) -> None:
        t = self.terminal
        t.keys("3", "/", "g", "r", "A", "c")
        t.until(lambda s: "Filter: grAc_" in s and self.column("JOB", s) == ["48219"], "hers alone")
        t.keys("BSpace", "Enter")
        t.until(lambda s: "filter grA" in s and "48213" not in s, "the filter stays")
        t.keys("/", "z", "z", "Enter")
        t.until(lambda s: "no row passes the filter" in s, "nobody's")
        t.keys("Escape")
        t.until(lambda s: "48213" in s and "48219" in s, "all again")

    def test_mine(self) -> None:
        self.terminal.keys("3", "u")
        self.terminal.until(lambda s: "no row passes the filter" in s and "user " in s, "nothing is mine")

    def test_job(self) -> None:
        t = self.terminal
        t.keys("3", "j", "Enter")
        t.until(lambda s: "no row passes the filter" in s and "job 48219" in s, "a job without ranks")
        t.keys("Escape", "1", "k", "Enter")
        t.until(lambda s: "job 48213" in s and self.column("RANK", s) == ["0", "1", "2", "3"], "ranks of the first")

    def test_pause(self) -> None:
        t = self.terminal
        t.keys("Space")
        t.until(lambda s: "PAUSED" in s, "pause")
        self.node.text = JOB.replace("48213", "59999")
        before = self.node.requests
        end = time.monotonic() + PATIENCE
        while self.node.requests < before + 3 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertNotIn("59999", t.screen())
        t.keys("Space")
        t.until(lambda s: "59999" in s and "48213" not in s, "what came meanwhile")

    def test_resize(self) -> None:
        t = self.terminal
        for width, height in ((200, 60), (20, 5), (1, 1), (80, 24)):
            t.resize(width, height)
            t.keys("j", "2", "h", "g", "h", "g", "1")
        self.assert_golden("overview", t.until(lambda s: "q quit" in s and "400.0 ms" in s and "Holds" in s, "as it was"))

    def test_mouse(self) -> None:
        t = self.terminal
        lines = t.screen().split("\n")
        y = next(i for i, line in enumerate(lines) if line.startswith("JOB "))
        t.mouse(0, lines[y].index("GPU IDLE") + 2, y)
        t.until(lambda s: "by GPU IDLE" in s and s.split("\n")[y + 1].startswith("48219"), "sorted by what was clicked")
        t.mouse(0, 3, y + 2)
        t.keys("Enter")
        t.until(lambda s: "job 48213" in s, "the row that was clicked")
        t.mouse(0, lines[4].index("2 GPUs"), 4)
        t.until(lambda s: "MODEL" in s or "SLOWED BY" in s and "RANK" not in s, "the page that was clicked")
        self.node.text = many_gpus(64)
        t.until(lambda s: "63 GPUs" in s or "64 GPUs" in s, "more GPUs")
        for _ in range(12):
            t.mouse(65, 5, 10)
        t.until(lambda s: re.search(r"(?m)^3\d ", s), "the wheel goes down")

    def test_plots(self) -> None:
        self.terminal.keys("g")
        self.terminal.until(lambda s: "GPU 0: SMs active, %" in s and re.search("[▁▂▃▄▅▆▇█]", s), "a plot")


class Ends(Case):
    """The terminal is as it was, whatever ended the program."""

    def start(self) -> Terminal:
        node = Node(self, JOB)
        t = Terminal(self, ["bash", "--norc", "-i"], PS1="ready:")
        t.until(lambda s: "ready:" in s, "a shell")
        t.type(f"{EXE} top {node.address}\r")
        t.until(lambda s: "q quit" in s, "the screen")
        self.assertEqual((t.fact("alternate_on"), t.fact("cursor_flag")), ("1", "0"))
        return t

    def program(self, t: Terminal) -> int:
        shell = int(t.fact("pane_pid"))
        return int(pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def assert_restored(self, t: Terminal) -> None:
        t.until(lambda s: "q quit" not in s, "the end")
        t.type("stty -a; echo status=$((6 * 7))\r")
        screen = t.until(lambda s: "status=42" in s, "the shell's answer")
        self.assertRegex(screen, r"[ ;]icanon ")
        self.assertRegex(screen, r" echo ")
        self.assertEqual((t.fact("alternate_on"), t.fact("cursor_flag"), t.fact("mouse_any_flag")), ("0", "1", "0"))

    def test_keys(self) -> None:
        for key in ("q", "C-c", "F10"):
            t = self.start()
            t.keys(key)
            self.assert_restored(t)

    def test_signals(self) -> None:
        wanted = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
        if not SANITIZED:
            wanted += [signal.SIGSEGV, signal.SIGABRT]
        for number in wanted:
            with self.subTest(number):
                t = self.start()
                os.kill(self.program(t), number)
                self.assert_restored(t)

    def test_stop(self) -> None:
        for stop in ("key", "signal"):
            t = self.start()
            if stop == "key":
                t.keys("C-z")
            else:
                os.kill(self.program(t), signal.SIGTSTP)
            t.until(lambda s: "Stopped" in s, "the shell sees that it stopped")
            self.assert_restored(t)
            t.type("fg\r")
            t.until(lambda s: "q quit" in s and "400.0 ms" in s, "the screen again")
            self.assertEqual((t.fact("alternate_on"), t.fact("cursor_flag")), ("1", "0"))
            t.keys("q")
            self.assert_restored(t)

    def test_sizes(self) -> None:
        """No size is too small, also at the start."""
        node = Node(self, JOB)
        for rows, columns in ((1, 1), (1, 80), (24, 1), (2, 2), (5, 10), (400, 500)):
            pid, fd = pty.fork()
            if pid == 0:
                os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
                os.execl(EXE, EXE, "top", node.address)
            reader = threading.Thread(target=self.drain, args=(fd,), daemon=True)
            reader.start()
            before = node.requests
            end = time.monotonic() + PATIENCE
            while node.requests < before + 2 and time.monotonic() < end:
                time.sleep(0.02)
            os.write(fd, b"2345g/x\rhq1jq")         # the first q is of the filter's page of help
            os.write(fd, b"q")
            status = os.waitpid(pid, 0)[1]
            reader.join(PATIENCE)
            os.close(fd)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0, (rows, columns))

    @staticmethod
    def drain(fd: int) -> None:
        try:
            while os.read(fd, 65536):
                pass
        except OSError:
            pass


class Plain(Case):
    def test_once(self) -> None:
        node = Node(self, JOB)
        done = plain("--once", node.address)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assert_golden("plain", done.stdout)
        self.assertNotIn("\033", done.stdout)
        self.assertEqual(plain("--once", node.address, env={**os.environ, "LC_ALL": "C", "COLUMNS": "80"}).stdout, done.stdout.replace("–", "-"))

    def test_choice(self) -> None:
        node = Node(self, JOB)
        done = plain("--once", "--page", "jobs", "--sort", "idle", "--filter", "48", node.address)
        rows = [line.split()[0] for line in done.stdout.split("\n") if line.startswith("48")]
        self.assertEqual(rows, ["48219", "48213"])
        self.assertNotIn("GPU  UTIL%", done.stdout)

    def test_errors(self) -> None:
        for words, status, says in ((("--sort", "temprature"), 2, 'did you mean "temperature"?'), (("nonsense:x",), 2, "is not HOST:PORT"), (("https://a",), 2, "ssh tunnel"),
                                    (("--demo", "a:1"), 2, "are of this node"), (("--interval", "0"), 2, "0.1 to 3600"),
                                    (("--once", "127.0.0.1:1"), 3, "no answer for")):
            done = plain(*words)
            self.assertEqual((done.returncode, done.stdout), (status, ""), words)
            self.assertIn(says, done.stderr)

    def test_no_terminal(self) -> None:
        """A pipe gets tables, one for each look, until it closes; a terminal that cannot move its cursor too, and is told why."""
        node = Node(self, JOB)
        with subprocess.Popen([EXE, "top", "--interval", "0.1", node.address], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as p:
            seen = 0
            for line in p.stdout:
                seen += "Holds" in line
                if seen == 3:
                    break
            p.terminate()
        self.assertEqual(p.returncode, 0)
        for term in ("dumb", ""):
            t = self.top(node.address, TERM=term)
            screen = t.until(lambda s: "Holds" in s, "a table")
            self.assertNotIn("q quit", screen)
        t = self.top(node.address, TERM="no-such-terminal", height=60)
        screen = t.until(lambda s: "Holds" in s, "a table")
        self.assertIn("TERM=no-such-terminal", screen)

    def test_json(self) -> None:
        node = Node(self, JOB)
        root = self.folder()
        processes(root, 20)
        for words in ((node.address,), ("--demo",), ("--root", str(root))):
            done = plain("--json", "--once", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("\n"), 1)
            got = json.loads(done.stdout)
            if jsonschema:
                jsonschema.validate(got, SCHEMA)
            else:
                skip_loudly("no jsonschema: the lines of holdup top --json are not validated")
            if words == ("--root", str(root)):
                self.assertEqual(len(got["processes"]), 19)
                self.assertIn("\033[31mred", "".join(p["command"] for p in got["processes"]))
        got = json.loads(plain("--json", "--once", node.address).stdout)
        self.assertEqual([r["late"] for r in got["ranks"]], [False, False, True, False])
        self.assertEqual((got["ranks"][2]["shares"]["data-loading"], got["ranks"][2]["shares"]["forward"], got["ranks"][0]["step_seconds"]), (.6, None, .4))
        self.assertEqual(got["jobs"][0]["samples_per_second"], 4 * 32 / .4)


class Remote(Case):
    """What another node says, and what it may not do."""

    def look(self, first: str, *then: str) -> dict:
        """The last line of --json after each of these texts was served once at least."""
        node = Node(self, first)
        with subprocess.Popen([EXE, "top", "--json", "--interval", "0.1", node.address], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as p:
            line = p.stdout.readline()
            for text in then:
                node.text = text
                before = node.requests
                while node.requests < before + 3:
                    line = p.stdout.readline()
                line = p.stdout.readline()
            p.kill()
        return json.loads(line)

    def test_rates(self) -> None:
        """Time is that of the node's own processors: 4 of them, 8 s each."""
        node = self.look(host(100, 1000, 5e6, 3), host(124, 1008, 5e6 + 8e6, 5))["nodes"][0]
        self.assertAlmostEqual(node["cpu_ratio"], .75)
        self.assertAlmostEqual(node["network_receive_bytes_per_second"], 1e6)
        self.assertAlmostEqual(node["waiting_for_io_ratio"], .25)
        node = self.look(host(100, 1000, 5e6, 3), host(124, 1008, 1e6, 5))["nodes"][0]
        self.assertIsNone(node["network_receive_bytes_per_second"], "a counter that began again")

    def test_pace(self) -> None:
        """Ten more steps of 0.9 s, of which 0.8 s are data: not the mean of the whole run."""
        labels = {"scheduler": "none", "job_id": "pid-7", "step_id": "", "user": "ada", "rank": "0", "pid": ""}

        def text(steps: int, seconds: float, data: float) -> str:
            return (series("holdup_job_step_duration_seconds_count", steps, **labels) + series("holdup_job_step_duration_seconds_sum", seconds, **labels) +
                    series("holdup_job_cause_seconds_total", data, cause="data-loading", **labels))

        rank = self.look(text(100, 10, 1), text(110, 19, 9))["ranks"][0]
        self.assertAlmostEqual(rank["step_seconds"], .9)
        self.assertAlmostEqual(rank["shares"]["data-loading"], 8 / 9, places=6)
        self.assertIsNone(rank["shares"]["communication"])

    def test_lost(self) -> None:
        text = JOB.replace('rank="3"} 1\nholdup_job_cause', 'rank="3"} 0\nholdup_job_cause')
        self.assertNotEqual(text, JOB)
        done = plain("--once", "--page", "ranks", Node(self, text).address)
        self.assertIn("\nHolds rank 3 of job 48213 died or is stopped\n", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^48213\.0 +3 lost ")
        alone = series("holdup_job_rank_up", 0, scheduler="none", job_id="pid-7", user="ada")
        self.assertIn("\nHolds a process of job pid-7 died or is stopped\n", plain("--once", Node(self, alone).address).stdout)

    def test_refused(self) -> None:
        for text, status, says in ((JOB, 401, "wants a password"), (JOB, 500, "HTTP status 500"), ("<html>\n", 200, "line 1 of its answer is no series")):
            done = plain("--once", Node(self, text, status).address)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn(says, done.stderr)

    def test_no_http(self) -> None:
        """Something else listens there: it says nonsense, nothing, or never ends."""
        for say, says in ((b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and more of it", "does not speak HTTP"), (b"", "does not speak HTTP")):
            server = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(server.close)
            stopped = threading.Event()

            def serve(server: socket.socket = server, say: bytes = say, stopped: threading.Event = stopped) -> None:
                server.settimeout(.2)
                while not stopped.is_set():
                    try:
                        with server.accept()[0] as c:
                            c.recv(4096)
                            c.sendall(say)
                    except TimeoutError:
                        pass

            thread = threading.Thread(target=serve)
            thread.start()
            done = plain("--once", f"127.0.0.1:{server.getsockname()[1]}")
            stopped.set()
            thread.join()
            self.assertEqual(done.returncode, 3)
            self.assertIn(says, done.stderr)

    def test_gone(self) -> None:
        """A node that falls silent has no rows any more, and says since when."""
        node = Node(self, JOB)
        terminal = self.top("--interval", "0.2", node.address, width=100)
        terminal.until(lambda s: "48213" in s, "its jobs")
        node.status = 503
        terminal.until(lambda s: "no answer for" in s and "HTTP status 503" in s, "its state")
        terminal.until(lambda s: "48213" not in s, "no rows of before")
        node.status = 200
        terminal.until(lambda s: "48213" in s and "no answer" not in s, "its jobs again")

    def test_hostile_names(self) -> None:
        """Whatever a name holds, a table has only printable characters of one column, and as many lines as rows."""
        names = ["\x1b]0;title\x07\x1b[2J", "two\\nlines", "\u202eright to left", "\u6f22\u5b57", "e\u0301", "\x9b31m", "x" * 5000, 'quote \\" and \\\\']
        text = "".join(f'holdup_job_info{{uuid="G{i}",gpu="{i}",scheduler="s",job_id="j{i}",user="{n}",job_name="{n}"}} 1\n' for i, n in enumerate(names))
        done = plain("--once", "--page", "jobs", Node(self, text).address, env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "200"})
        rows = [line for line in done.stdout.split("\n") if line.startswith("j")]
        self.assertEqual(len(rows), len(names))
        self.assertTrue(all(c == "\n" or (c.isprintable() and c not in "\u202e\u0301\u6f22") for c in done.stdout))

    def test_many(self) -> None:
        """Limits hold: more of everything than is kept."""
        text = many_gpus(1500) + "".join(series("holdup_job_ranks", 1, scheduler="x", job_id=str(i), step_id="", user="") for i in range(3000))
        got = json.loads(plain("--json", "--once", Node(self, text).address).stdout)
        self.assertEqual((len(got["gpus"]), len(got["jobs"]), got["nodes"][0]["cut"]), (1024, 2048, True))


class Gpus(Case):
    def test_processes(self) -> None:
        """GPUs of a stand-in driver: who uses them, and how much memory of theirs."""
        folder = self.folder()
        cuda = standin.ALWAYS[-1]
        header = standin.header(cuda)
        library = standin.build(cuda, folder / "libnvidia-ml.so.1")
        s = scene.scenario(folder / "scenario", cuda, header, gpus=2)
        for gpu in range(2):
            s.drop(gpu, "compute")
            for key in [k for d, k in s.lines if d == str(gpu) and k.startswith("compute.")]:
                s.drop(gpu, key)
        s.set(0, "compute.0", f"{os.getpid()} {3 << 30}")
        s.set(1, "compute.0", f"{os.getpid()} {2 << 30}")
        s.write()
        done = plain("--json", "--once", "--nvml", str(library), env={**os.environ, "HOLDUP_TEST_NVML": str(folder / "scenario"),
                                                                      "HOLDUP_TEST_NVML_LOG": str(folder / "log")})
        got = json.loads(done.stdout)
        self.assertEqual([g["gpu"] for g in got["gpus"]], ["0", "1"])
        me = next(p for p in got["processes"] if p["pid"] == os.getpid())
        self.assertEqual((me["gpus"], me["gpu_memory_bytes"]), ("0,1", 5 << 30))
        self.assertTrue(all(p["gpu_memory_bytes"] is None for p in got["processes"] if not p["gpus"]))

    def test_screens(self) -> None:
        """Nodes of 0, 1 and 64 GPUs with 1,000 processes, on small and large terminals, with UTF-8 and without."""
        folder = self.folder()
        cuda = standin.ALWAYS[-1]
        header = standin.header(cuda)
        library = standin.build(cuda, folder / "libnvidia-ml.so.1")
        processes(folder / "root", 1000)
        for n in (0, 1, 64):
            s = scene.scenario(folder / f"scenario{n}", cuda, header, gpus=n)
            for gpu in range(n):
                for key, value in (("nvmlDeviceGetName", "NVIDIA H100 80GB HBM3"), ("nvmlDeviceGetPciInfo.busId", f"00000000:{gpu + 1:02X}:00.0"),
                                   ("nvmlDeviceGetUtilizationRates.gpu", 100 - gpu), ("nvmlDeviceGetUtilizationRates.memory", gpu), ("nvmlDeviceGetMemoryInfo.used", (gpu + 1) * 10 ** 9),
                                   ("nvmlDeviceGetTemperature", 30 + gpu), ("nvmlDeviceGetCurrPcieLinkWidth", 16), ("nvmlDeviceGetCurrPcieLinkGeneration", 5)):
                    s.set(gpu, key, value)
                for key in [k for d, k in s.lines if d == str(gpu) and k.startswith("compute")]:
                    s.drop(gpu, key)
            s.write()
            for utf8 in (True, False):
                terminal = self.top("--root", folder / "root", "--nvml", library, utf8=utf8, HOLDUP_TEST_NVML=str(folder / f"scenario{n}"), HOLDUP_TEST_NVML_LOG=str(folder / "log"))
                for width, height in ((80, 24), (200, 60)):
                    terminal.resize(width, height)
                    name = f"node-{n}-gpus-{width}x{height}{'' if utf8 else '-ascii'}"
                    with self.subTest(screen=name):
                        # what needs two looks is there, and the screen has its size
                        screen = terminal.until(lambda s, n=n, rows=height: s.rstrip("\n").count("\n") == rows - 1 and re.search(r"(?m)^ +1000 ada .* 0\.0 ", s) and
                                                (n == 0 or re.search(r"(?m)^0 .* 100 +\d+ ", s)), name)
                        self.assert_golden(name, screen)
                terminal.close()


if __name__ == "__main__":
    unittest.main()
