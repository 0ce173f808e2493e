# SPDX-License-Identifier: Apache-2.0
"""`holdup monitor` from outside: what it serves, to whom, and what it does when something hangs."""
from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request
from typing import Any

from tests.program import EXE, NOBODY, SANITIZED, for_nobody, run, skip_loudly

OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
SERIES = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)')
PATIENCE = 60  # seconds: how long a crowded machine may take for anything


def wait_for(what: Any, why: str) -> Any:
    """What the function returns as soon as it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{why} did not happen in {PATIENCE} s")



def strace(case: unittest.TestCase, call: str) -> list[str]:
    """Words of strace that hold a process up in a system call for longer than any test takes: a call that hangs, without a line for it in the program."""
    if subprocess.run(["strace", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode != 0:
        skip_loudly(f"strace cannot trace for {case.id()}")
        case.skipTest("no strace")
    return ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:delay_enter=1000000000"]


class Monitor:
    """One that runs."""

    def __init__(self, *arguments: Any, listen: bool = True, prefix: tuple[str, ...] = (), exe: str = EXE, **options: Any) -> None:
        options.setdefault("stderr", subprocess.PIPE)
        if "--job-socket" not in map(str, arguments) and "env" not in options:   # the usual one can be had by one monitor at a time
            arguments = (*arguments, "--job-socket", "off")
        self.process = subprocess.Popen([*prefix, exe, "monitor", *(["--listen", "127.0.0.1:0"] if listen else []), *map(str, arguments)],
                                        text=True, **options)
        self.said: list[str] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        if self.process.stderr:
            self.reader.start()
        if listen:
            wait_for(lambda: any("serving" in line for line in self.said) or self.process.poll() is not None, "serving")
            assert self.process.poll() is None, self.said
            url = next(line for line in self.said if "serving" in line)
            self.scheme, self.port = re.search(r"(https?)://[^ ]*:(\d+)/metrics", url).groups()
            self.port = int(self.port)

    def _read(self) -> None:
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE)
        if self.process.stderr:
            self.reader.join(PATIENCE)
            self.process.stderr.close()

    def get(self, path: str = "/metrics", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def series(self) -> dict[str, float]:
        status, _, text = self.get()
        assert status == 200, status
        return parse(text.decode())

    def wait(self, name: str, value: float | None) -> None:
        """Until a series has a value; None: until it is gone."""
        wait_for(lambda: self.series().get(name) == value, f"{name} {value}")

    def children(self) -> dict[str, int]:
        """Process ids of the samplers."""
        found = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            for pid in (task / "children").read_text().split():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it may end between the open and the read
                    found[pathlib.Path(f"/proc/{pid}/comm").read_text().strip()] = int(pid)
        return found


def parse(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, value = line.rsplit(" ", 1)
        assert SERIES.fullmatch(line), line
        assert name not in found, f"twice: {line}"
        found[name] = float(value)
    return found


def check_openmetrics(case: unittest.TestCase, text: str) -> dict[str, str]:
    """Types of the families, after a look at what OpenMetrics 1.0 asks for."""
    types: dict[str, str] = {}
    family, kind, told, lines = "", "", set(), text.split("\n")
    case.assertEqual(lines[-2:], ["# EOF", ""], "the last line")
    for line in lines[:-2]:
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            if name != family:
                case.assertNotIn(name, types, "a family in two places")
                family, told = name, set()
            case.assertNotIn(what, told)
            told.add(what)
            if what == "TYPE":
                types[name] = kind = rest
            elif what == "UNIT":
                case.assertTrue(name.endswith("_" + rest), line)
            else:
                case.assertEqual(what, "HELP")
        else:
            name = SERIES.fullmatch(line)[1]
            ends = {"counter": ["_total"], "info": ["_info"], "histogram": ["_bucket", "_sum", "_count"]}
            case.assertIn(name, [family + end for end in ends.get(kind, [""])], line)
            if kind == "info":
                case.assertTrue(line.endswith(" 1"), line)
    return types


class Text(unittest.TestCase):
    """Formats, types and words."""

    def test_prometheus_own_tool_finds_nothing(self) -> None:
        if not shutil.which("promtool"):
            skip_loudly("no promtool: apt install prometheus")
            self.skipTest("no promtool")
        for more in ([], ["--dcgm-names"]):
            _, out, _ = run("monitor", "--once", *more)
            done = subprocess.run(["promtool", "check", "metrics"], input=out, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_once_is_the_same_text_in_the_same_order(self) -> None:
        status, out, err = run("monitor", "--once")
        self.assertEqual((status, err), (0, ""))
        found = parse(out.decode())
        self.assertGreaterEqual(found["holdup_host_cpus"], 1)
        self.assertEqual(found['holdup_monitor_source_up{source="host_cpu"}'], 1)
        modes = [name for name in found if name.startswith("holdup_host_cpu_seconds_total")]
        self.assertEqual(modes, sorted(modes))

    def test_a_format_is_what_was_asked_for(self) -> None:
        with Monitor() as m:
            for accept, is_open in ((None, False), ("*/*", False), (OPENMETRICS, True), ("text/plain", False),
                                    ("application/openmetrics-text", True), ("application/openmetrics-text;version=0.0.1,*/*;q=0.1", False),
                                    ("application/openmetrics-text;q=0.1,text/plain;q=0.9", False),
                                    ('application/openmetrics-text; version="1.0.0"; q=0, text/plain', False)):
                _, headers, text = m.get(**({"Accept": accept} if accept else {}))
                with self.subTest(accept=accept):
                    self.assertEqual(headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8" if is_open
                                     else "text/plain; version=0.0.4; charset=utf-8")
                    self.assertEqual(text.endswith(b"\n# EOF\n"), is_open)

    def test_openmetrics_is_exact(self) -> None:
        with Monitor() as m:
            types = check_openmetrics(self, m.get(Accept=OPENMETRICS)[2].decode())
        self.assertEqual(types["holdup_host_cpu_seconds"], "counter")
        self.assertEqual(types["holdup_build"], "info")
        self.assertEqual(types["process_cpu_seconds"], "counter")
        self.assertEqual(types["process_resident_memory_bytes"], "gauge")

    def test_the_five_of_every_process(self) -> None:
        with Monitor() as m:
            found = m.series()
            self.assertLess(abs(found["process_start_time_seconds"] - time.time()), PATIENCE)
            self.assertGreater(found["process_cpu_seconds_total"], 0)
            self.assertGreater(found["process_resident_memory_bytes"], 1e6)
            self.assertGreater(found["process_max_fds"], found["process_open_fds"])
            self.assertGreater(found["process_open_fds"], 3)


class Http(unittest.TestCase):
    """Paths, sockets and guests."""

    def test_paths_and_methods(self) -> None:
        with Monitor() as m:
            self.assertEqual(m.get("/-/healthy")[0::2], (200, b"OK\n"))
            wait_for(lambda: m.get("/-/ready")[0] == 200, "ready")
            for path in ("/metrics", "/-/healthy", "/-/ready"):
                self.assertIn(f'href="{path}"'.encode(), m.get("/")[2])
            self.assertEqual(m.get("/metric")[0], 404)
            self.assertEqual(m.get("/metrics?x=1")[0], 200)
            status, headers, body = m.get(method="HEAD")
            self.assertEqual((status, body), (200, b""))
            self.assertGreater(int(headers["Content-Length"]), 1000)
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                status, headers, _ = m.get(method=method)
                self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)

    def test_gzip_holds_the_same(self) -> None:
        with Monitor("--period", "1000") as m:
            wait_for(lambda: m.get("/-/ready")[0] == 200, "ready")
            _, headers, packed = m.get(Accept_Encoding="deflate, gzip;q=0.5")
            _, plain_headers, plain = m.get(Accept_Encoding="gzip;q=0")
        self.assertEqual(headers["Content-Encoding"], "gzip")
        self.assertNotIn("Content-Encoding", plain_headers)
        self.assertLess(len(packed), len(plain) / 2)
        self.assertEqual(gzip.decompress(packed).splitlines()[:3], plain.splitlines()[:3])
        self.assertEqual(len(gzip.decompress(packed).splitlines()), len(plain.splitlines()))

    def test_several_addresses_and_a_socket(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/holdup.sock"
            stale = socket.socket(socket.AF_UNIX)
            stale.bind(path)
            stale.close()  # its file stays, and nobody is behind it
            with Monitor("--listen", "[::1]:0", "--listen", f"unix:{path}") as m:
                wait_for(lambda: len(m.said) == 3, "three addresses")
                port = int(re.search(r"\[::1\]:(\d+)", m.said[1])[1])
                self.assertIn(path, m.said[2])
                with urllib.request.urlopen(f"http://[::1]:{port}/metrics", timeout=PATIENCE) as answer:
                    self.assertIn(b"holdup_build_info", answer.read())
                done = subprocess.run(["curl", "-s", "--unix-socket", path, "http://node/metrics"], capture_output=True, check=False)
                self.assertIn(b"holdup_build_info", done.stdout)
                status, _, err = run("monitor", "--listen", f"unix:{path}")
                self.assertEqual(status, 3)
                self.assertIn("another program listens there", err)
            self.assertFalse(os.path.exists(path), "the socket's file is left")

    def test_all_addresses_are_of_both_kinds(self) -> None:
        with Monitor("--listen", ":0", listen=False) as m:
            wait_for(lambda: m.said, "serving")
            port = int(re.search(r":(\d+)/", m.said[0])[1])
            for host in ("127.0.0.1", "::1"):
                with socket.create_connection((host, port), PATIENCE) as s:
                    s.sendall(b"HEAD /-/healthy HTTP/1.0\r\n\r\n")
                    self.assertIn(b"200", s.recv(1000))

    def test_wrong_addresses_say_what_is_right(self) -> None:
        for address, status, words in (("127.0.0.1", 2, "is no address"), ("::1:80", 2, "is no address"), ("a:b:c", 2, "is no address"),
                                       ("127.0.0.1:70000", 2, "is no address"), ("no.such.host.invalid:1", 2, "is no address"),
                                       ("unix:", 2, "cannot be the path"), ("unix:/no/such/folder/s", 3, "No such file"),
                                       ("192.0.2.1:9", 3, "no interface of this machine")):
            got, _, err = run("monitor", "--listen", address)
            self.assertEqual(got, status, err)
            self.assertIn(words, err)

    def test_two_on_one_port(self) -> None:
        with Monitor() as m:
            status, _, err = run("monitor", "--listen", f"127.0.0.1:{m.port}")
            self.assertEqual(status, 3)
            self.assertIn(f"cannot listen on 127.0.0.1:{m.port}: Address already in use; another program listens there", err)

    def test_a_socket_of_systemd_is_taken(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
            program = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True);"
                       "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])")
            process = subprocess.Popen([shutil.which("python3"), "-c", program, str(s.fileno()), EXE, "monitor"], pass_fds=[s.fileno()],
                                       stderr=subprocess.PIPE, text=True)
            try:
                self.assertIn(f"127.0.0.1:{port}", process.stderr.readline())
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
                    self.assertIn(b"holdup_build_info", answer.read())
            finally:
                process.terminate()
                process.wait(PATIENCE)
                process.stderr.close()

    def test_a_thousand_idle_connections_and_slow_ones_shut_nobody_out(self) -> None:
        with Monitor() as m, contextlib.ExitStack() as all_of_them:
            for i in range(1000):
                guest = all_of_them.enter_context(socket.socket())
                guest.setblocking(False)
                guest.connect_ex(("127.0.0.1", m.port))
                if i % 2:
                    with contextlib.suppress(OSError):
                        guest.send(b"GET /metrics HTT")
                if i % 100 == 99:
                    self.assertEqual(m.get()[0], 200, f"behind {i + 1} others")
            self.assertLess(m.series()["process_open_fds"], 400)
            self.assertLess(m.series()["process_resident_memory_bytes"], 30e6 * (10 if SANITIZED else 1))

    def test_who_says_one_byte_now_and_then_is_sent_away_after_a_time(self) -> None:
        with Monitor() as m, socket.create_connection(("127.0.0.1", m.port), PATIENCE) as guest:
            guest.sendall(b"GET /metrics HTTP/1.1\r\n")
            guest.settimeout(0.2)
            ended = False
            for _ in range(PATIENCE * 5):
                try:
                    guest.sendall(b"X")
                    ended = guest.recv(100) == b""
                except TimeoutError:
                    continue
                except OSError:
                    ended = True
                if ended:
                    break
            self.assertTrue(ended, "it is still connected")

    def test_40_scrapes_at_a_time_and_slow_readers_make_room(self) -> None:
        request = b"GET /metrics HTTP/1.1\r\nHost: a\r\nX-Prometheus-Scrape-Timeout-Seconds: 20\r\n\r\n" * 200
        with Monitor() as m, contextlib.ExitStack() as all_of_them:
            guests = [all_of_them.enter_context(socket.socket()) for _ in range(45)]
            for guest in guests:
                guest.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                guest.connect(("127.0.0.1", m.port))
                guest.setblocking(False)

            def refused() -> bool:
                for guest in guests:
                    with contextlib.suppress(OSError):
                        guest.send(request)  # and never read
                return m.get()[0] == 503
            wait_for(refused, "503")
            wait_for(lambda: m.get()[0] == 200, "an answer")

    def test_a_body_is_of_no_use(self) -> None:
        with Monitor() as m, socket.create_connection(("127.0.0.1", m.port), PATIENCE) as guest:
            guest.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
            with contextlib.suppress(OSError):
                for _ in range(10000):
                    guest.sendall(b"x" * 10000)
            self.assertEqual(m.get()[0], 200)
            self.assertLess(m.series()["process_resident_memory_bytes"], 30e6 * (10 if SANITIZED else 1))

    def test_it_ends_at_once_whatever_goes_on(self) -> None:
        for what in (signal.SIGTERM, signal.SIGINT):
            with Monitor() as m, socket.create_connection(("127.0.0.1", m.port), PATIENCE) as guest:
                guest.sendall(b"GET /metrics HTT")
                m.process.send_signal(what)
                self.assertEqual(m.process.wait(PATIENCE), 0)
                self.assertEqual(m.said, m.said[:1], "nothing but where it serves")


class Hangs(unittest.TestCase):
    """A source that does not come back, samplers that die, places that are not there."""

    def test_a_call_that_hangs_is_named_and_left_out_for_a_while(self) -> None:
        delay = strace(self, "openat")
        with Monitor("--period", "0.2") as m:
            m.wait("holdup_host_cpus", os.cpu_count())
            pid = m.children()["holdup-host"]
            tracer = subprocess.Popen([*delay, "-p", str(pid)], stderr=subprocess.DEVNULL)
            try:
                problem = wait_for(lambda: [s for s in m.series() if "did not return" in s], "a problem")
                source = re.search(r'source="(\w+)"', problem[0])[1]
                self.assertIn(f'what="a call of {source} did not return; it is tried again after 5 s"', problem[0])
                found = m.series()
                self.assertEqual(found[f'holdup_monitor_source_up{{source="{source}"}}'], 0)
                self.assertEqual(found['holdup_monitor_stuck{process="host"}'], 1)
                if source == "host_cpu":
                    self.assertNotIn("holdup_host_cpus", found)
                self.assertEqual(found['holdup_monitor_restarts_total{process="host"}'], 0, "it is traced, and cannot die: as in a driver")
            finally:
                tracer.kill()
                tracer.wait(PATIENCE)
            wait_for(lambda: m.children().get("holdup-host") not in (None, pid), "another sampler")
            m.wait('holdup_monitor_stuck{process="host"}', 0)
            m.wait("holdup_host_cpus", os.cpu_count())
            found = m.series()
            self.assertFalse([s for s in found if "did not return" in s])
            self.assertEqual(found[f'holdup_monitor_source_up{{source="{source}"}}'], 1)
            self.assertEqual(found['holdup_monitor_restarts_total{process="host"}'], 1)

    def test_a_sampler_that_is_silent_is_replaced(self) -> None:
        """Between two looks, so that no source is to blame."""
        with Monitor("--period", "0.1") as m:
            m.wait("holdup_host_cpus", os.cpu_count())
            os.kill(m.children()["holdup-host"], signal.SIGSTOP)
            m.wait("holdup_host_cpus", None)
            m.wait('holdup_monitor_restarts_total{process="host"}', 1)
            m.wait("holdup_host_cpus", os.cpu_count())
            m.wait('holdup_monitor_stuck{process="host"}', 0)

    def test_it_ends_while_a_sampler_hangs(self) -> None:
        with Monitor() as m:
            pid = wait_for(lambda: m.children().get("holdup-host"), "a sampler")
            os.kill(pid, signal.SIGSTOP)
            m.process.terminate()
            self.assertEqual(m.process.wait(PATIENCE), 0)
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "its end")

    def test_killed_samplers_come_back(self) -> None:
        """They are forked by a program that has threads by then, while those work."""
        with Monitor("--period", "0.1") as m, contextlib.ExitStack() as at_the_end:
            has_to_end = threading.Event()
            scraper = threading.Thread(target=lambda: [m.get(Accept_Encoding="gzip") for _ in iter(has_to_end.is_set, True)])
            scraper.start()
            at_the_end.callback(lambda: (has_to_end.set(), scraper.join(PATIENCE)))
            for n in range(1, 4):
                m.wait("holdup_host_cpus", os.cpu_count())
                os.kill(wait_for(lambda: m.children().get("holdup-host"), "a sampler"), signal.SIGKILL)
                m.wait('holdup_monitor_restarts_total{process="host"}', n)
            m.wait("holdup_host_cpus", os.cpu_count())

    def test_samplers_end_with_their_monitor(self) -> None:
        m = Monitor()
        pids = list(m.children().values())
        self.assertTrue(pids)
        m.process.kill()
        m.__exit__()
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "their end")

    def test_nothing_of_the_node_is_there(self) -> None:
        with tempfile.TemporaryDirectory() as root, Monitor("--root", root, "--period", "0.1") as m:
            self.assertNotIn("holdup_host_cpus", m.series())
            self.assertIn("process_start_time_seconds", m.series())

    def test_no_proc_is_mounted(self) -> None:
        if SANITIZED or os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
            skip_loudly("only root can take /proc away, and sanitizers cannot do without")
            self.skipTest("cannot take /proc away")
        for more in ([], ["--json"]):
            done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none /proc && exec "$@"', "sh", EXE, "monitor", "--once", *more],
                                  capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("process_start_time_seconds", done.stdout)
            self.assertNotIn("process_resident_memory_bytes", done.stdout, "not known is absent, not 0")

    def test_nobody_without_a_terminal_and_a_folder_to_write_in(self) -> None:
        exe = for_nobody(self, EXE) / pathlib.Path(EXE).name
        with Monitor("--quiet", "--listen", "127.0.0.1:0", prefix=NOBODY, exe=str(exe), listen=False, stdin=subprocess.DEVNULL,
                     stderr=subprocess.DEVNULL, cwd="/", start_new_session=True) as m:
            wait_for(m.children, "samplers")
            ports = wait_for(lambda: listening(m.process.pid), "a port")
            with urllib.request.urlopen(f"http://127.0.0.1:{ports[0]}/metrics", timeout=PATIENCE) as answer:
                self.assertIn(b"holdup_build_info", answer.read())


def listening(pid: int) -> list[int]:
    """Ports of IPv4 that a process listens on."""
    sockets = {m[1] for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir() if (m := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(fd)))}
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in sockets]


class Files(unittest.TestCase):
    """--textfile, --jsonl and --once --json."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-out-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_textfile_is_a_whole_page_and_goes_with_the_monitor(self) -> None:
        page = self.folder / "holdup.prom"
        with Monitor("--textfile", self.folder, "--period", "0.1", listen=False) as m:
            first = wait_for(lambda: page.exists() and page.stat().st_ino, "a page")
            wait_for(lambda: page.stat().st_ino != first, "another page")
            for _ in range(50):
                found = parse(page.read_text())
                self.assertIn("holdup_host_cpus", found)
                self.assertFalse([name for name in found if name.startswith("process_")], "node_exporter has its own")
            self.assertEqual(listening(m.process.pid), [], "no HTTP without --listen")
            self.assertEqual(page.stat().st_mode & 0o444, 0o444)
        self.assertEqual(os.listdir(self.folder), [])

    def test_node_exporter_reads_it(self) -> None:
        exporter = shutil.which("prometheus-node-exporter")
        if not exporter:
            skip_loudly("no prometheus-node-exporter")
            self.skipTest("no prometheus-node-exporter")
        with Monitor("--textfile", self.folder, listen=False):
            wait_for((self.folder / "holdup.prom").exists, "a page")
            port = free_port()
            other = subprocess.Popen([exporter, f"--web.listen-address=127.0.0.1:{port}", f"--collector.textfile.directory={self.folder}"],
                                     stderr=subprocess.DEVNULL)
            try:
                text = wait_for(lambda: fetch(f"http://127.0.0.1:{port}/metrics"), "node_exporter")
            finally:
                other.terminate()
                other.wait(PATIENCE)
        self.assertEqual(parse(text)["node_textfile_scrape_error"], 0)
        self.assertEqual(parse(text)["holdup_host_cpus"], os.cpu_count())

    def test_lines_hold_what_the_text_holds(self) -> None:
        status, out, err = run("monitor", "--once", "--json")
        self.assertEqual((status, err), (0, ""))
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual({line["source"] for line in lines} & {"host_cpu", "monitor"}, {"host_cpu", "monitor"})
        cpu = next(line for line in lines if line["source"] == "host_cpu" and "holdup_host_cpus" in {m["name"] for m in line["metrics"]})
        self.assertEqual(list(cpu), ["time", "host", "source", "group", "metrics"])
        self.assertIn(cpu["group"], ("fast", "medium", "slow"))
        self.assertEqual(cpu["host"], socket.gethostname())
        self.assertLess(abs(cpu["time"] - time.time()), PATIENCE)
        self.assertIn({"name": "holdup_host_cpus", "labels": {}, "value": os.cpu_count()}, cpu["metrics"])
        self.assertEqual({m["labels"]["mode"] for m in cpu["metrics"] if m["name"] == "holdup_host_cpu_seconds_total"},
                         {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"})

    def test_a_line_for_each_look_and_no_more_bytes_than_asked_for(self) -> None:
        path = self.folder / "node.jsonl"
        with Monitor("--jsonl", path, "--jsonl-size", "20K", "--period", "0.01", listen=False) as m:
            wait_for(pathlib.Path(f"{path}.1").exists, "a second file")
            first = pathlib.Path(f"{path}.1").stat().st_ino
            wait_for(lambda: pathlib.Path(f"{path}.1").stat().st_ino != first, "a third file")
            status, _, err = run("monitor", "--jsonl", path)
            self.assertEqual(status, 3)
            self.assertIn("another monitor writes this file", err)
            self.assertIsNone(m.process.poll())
        for file in (path, pathlib.Path(f"{path}.1")):
            self.assertLessEqual(file.stat().st_size, 20000)
            times = [json.loads(line)["time"] for line in file.read_text().splitlines()]
            self.assertEqual(times, sorted(times))
        self.assertEqual(sorted(os.listdir(self.folder)), ["node.jsonl", "node.jsonl.1"])

    def test_a_batch_of_lines_is_larger_than_a_file_may_be(self) -> None:
        """What several sources say at one time is shared out; only a line that is too long alone has a file of its own."""
        path = self.folder / "node.jsonl"
        with Monitor("--demo", "--jsonl", path, "--jsonl-size", "10K", "--period", "0.1", listen=False):
            wait_for(pathlib.Path(f"{path}.1").exists, "a second file")
            wait_for(path.exists, "another one")
        sizes = [[len(line) + 1 for line in file.read_bytes().splitlines()] for file in (path, pathlib.Path(f"{path}.1"))]
        for lines in sizes:
            self.assertTrue(sum(lines) <= 10000 or len(lines) == 1, sizes)

    def test_lines_go_on_in_a_new_file_after_a_hangup(self) -> None:
        path = self.folder / "node.jsonl"
        with Monitor("--jsonl", path, "--period", "0.05", listen=False) as m:
            wait_for(lambda: path.exists() and path.stat().st_size, "lines")
            path.rename(self.folder / "away")
            m.process.send_signal(signal.SIGHUP)
            wait_for(lambda: path.exists() and path.stat().st_size, "lines in another file")
            self.assertIsNone(m.process.poll())

    def test_stdout_gets_lines(self) -> None:
        with Monitor("--jsonl", "-", "--period", "0.05", listen=False, stdout=subprocess.PIPE) as m:
            self.assertEqual(list(json.loads(m.process.stdout.readline())), ["time", "host", "source", "group", "metrics"])
            m.process.stdout.close()
            wait_for(lambda: any("cannot write: Broken pipe" in line for line in m.said), "an error")
            self.assertIsNone(m.process.poll())

    def test_a_full_disk_is_said_once(self) -> None:
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", self.folder], check=False,
                                               capture_output=True).returncode != 0:
            skip_loudly("only root can make a small disk")
            self.skipTest("no small disk")
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder], check=True)
        filler = self.folder / "filler"
        with Monitor("--textfile", self.folder, "--jsonl", self.folder / "node.jsonl", "--period", "0.05") as m:
            with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as f:
                while True:
                    f.write(b"x" * 4096)
            wait_for(lambda: sum("No space left" in line for line in m.said) == 2, "two errors")
            page, said_ns = self.folder / "holdup.prom", time.time_ns()
            wait_for(lambda: not page.exists() or page.stat().st_mtime_ns > said_ns, "no page with old values")
            series = wait_for(lambda: [s for s in m.series() if s.startswith("holdup_monitor_problem")], "problems")
            self.assertTrue(any('source="jsonl"' in s for s in series) or any('source="textfile"' in s for s in series), series)
            self.assertIn("holdup_host_cpus", m.series())
            filler.unlink()
            wait_for(lambda: sum("written again" in line for line in m.said) == 2, "two good ends")
            self.assertEqual(sum("No space left" in line for line in m.said), 2, m.said)
            m.wait('holdup_monitor_stuck{process="host"}', 0)
            self.assertFalse([s for s in m.series() if s.startswith("holdup_monitor_problem") and 'source="nvidia"' not in s])
        for line in (self.folder / "node.jsonl").read_text().splitlines():
            json.loads(line)

    def pipe(self) -> pathlib.Path:
        """That nobody reads."""
        os.mkfifo(self.folder / "pipe")
        return self.folder / "pipe"

    def test_invented_gpus_ask_no_library(self) -> None:
        """What is shown would look as if it came from there; --demo=list shows nothing and is wrong with them, too."""
        for option, value in (("--dcgm", None), ("--dcgm", "127.0.0.1:1"), ("--nvml", "/dev/null")):
            given = [option if value is None else f"{option}={value}"]
            for words in (["--once", "--demo"], ["--demo=throttled"], ["--demo=list"]):
                for arguments in ([*words, *given], [*given, *words]):
                    status, out, err = run("monitor", *arguments)
                    self.assertEqual((status, out), (2, b""), err)
                    self.assertIn(f"--demo and {option} cannot be used together", err)

    def test_what_cannot_be_written_is_said_before_anything_runs(self) -> None:
        for arguments, words in ((["--textfile", self.folder / "none"], "no such folder"),
                                 (["--jsonl", self.folder / "none/x"], "No such file or directory"),
                                 (["--jsonl", self.pipe()], "No such device"), (["--jsonl-size", "10"], "--jsonl"), (["--jsonl", "x", "--jsonl-size", "ten"], "is no size"),
                                 (["--dcgm-names=all"], "--dcgm-names=only"), (["--once", "--listen", ":0"], "--listen"),
                                 (["--json"], "--once")):
            status, out, err = run("monitor", *arguments)
            self.assertIn(status, (2, 3), err)
            self.assertEqual(out, b"")
            self.assertIn(words, err)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def fetch(url: str) -> str | None:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return answer.read().decode()
    except OSError:
        return None


if __name__ == "__main__":
    unittest.main()
