# SPDX-License-Identifier: Apache-2.0
"""`holdup view` over its socket: what it answers, and whom it does not.  What timelines hold is compared with the trace's own JSON."""
import collections
import concurrent.futures
import csv
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
import sys
import tempfile
import time
import unittest
from typing import Any
from urllib.parse import urlencode

from tests import page_data
from tests.program import EXE, OWN, ROOT, SANITIZED, events, ns, real_traces, run

PERFETTO = "https://ui.perfetto.dev"
RUN = OWN[0].parent


class Served:
    """The program as it serves some traces, and requests to it."""

    def __init__(self, *arguments: Any, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen([EXE, "view", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
                                        env={**os.environ, **(env or {})}, text=True)
        self.line = self.process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.line)
        assert match, self.line + self.process.communicate()[1]
        self.port, self.token = int(match[1]), match[2]

    def ask(self, path: str, query: dict[str, Any] | None = None, method: str = "GET", token: str | None = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers by their small names, body; `token` "" is the right one, None is none."""
        given = dict(query or {}, **({} if token is None else {"token": token or self.token}))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path + ("?" + urlencode(given) if given else ""), headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def timeline(self, **query: int) -> dict[str, Any]:
        status, headers, body = self.ask("/timeline", query)
        assert status == 200, body
        raw = gzip.decompress(body)
        assert len(raw) == int(headers["x-unpacked-bytes"])
        return page_data.decode(raw)

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit status and standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        err = self.process.communicate(timeout=60)[1]
        return self.process.returncode, err


class Changing(unittest.TestCase):
    """Files that change while they are served."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-view-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "rank0.pt.trace.json.gz"
        self.old, self.new = OWN[0], ROOT / "examples/training/traces/python_stacks/rank0.pt.trace.json.gz"
        shutil.copy(self.old, self.file)
        self.served = Served(self.folder, "--port", 0)
        self.addCleanup(lambda: self.assertEqual(self.served.stop()[0], 0))

    def edition(self) -> str:
        status, headers, body = self.served.ask("/edition")
        self.assertEqual((status, headers["content-type"]), (200, "text/plain"))
        return body.decode().strip()

    def wait_for(self, edition: str) -> None:
        until = time.monotonic() + 60
        while self.edition() != edition:
            self.assertLess(time.monotonic(), until, f"no edition {edition}")
            time.sleep(0.1)

    def operators(self) -> set[str]:
        _, _, body = self.served.ask("/")
        self.assertIn(f'<body data-server="{self.edition()}">', body.decode())
        return {row["name"] for row in page_data.json_block(body.decode(), "data-report")["ranks"][0]["operators"]}

    def test_another_file_in_its_place_is_the_next_edition(self) -> None:
        before = self.operators()
        part = self.served.timeline(rank=0)
        time.sleep(2.5)
        self.assertEqual(self.edition(), "1", "nothing has changed")
        shutil.copy(self.new, self.folder / "part")
        (self.folder / "part").rename(self.file)
        self.wait_for("2")
        self.assertNotEqual(self.operators(), before)
        self.assertNotEqual(self.served.timeline(rank=0), part)
        shutil.copy(self.old, self.file)
        self.wait_for("3")
        self.assertEqual(self.operators(), before)
        self.assertEqual(self.served.timeline(rank=0), part)

    def test_a_rank_that_comes_later(self) -> None:
        shutil.copy(OWN[1], self.folder / "rank1.pt.trace.json.gz")
        self.wait_for("2")
        _, _, body = self.served.ask("/")
        self.assertEqual([r["rank"] for r in page_data.json_block(body.decode(), "data-report")["ranks"]], [0, 1])

    def test_what_cannot_be_read_leaves_the_page_as_it_is(self) -> None:
        before = self.operators()
        self.file.write_bytes(b"{")
        time.sleep(3.5)
        self.assertEqual(self.edition(), "1")
        self.assertEqual(self.operators(), before)
        shutil.copy(self.new, self.file)
        self.wait_for("2")
        _, err = self.served.stop()
        self.assertIn("holdup: the files have changed and cannot be read now: the page stays as it is\n", err)
        self.assertIn("holdup: the files have changed: the page shows them now\n", err)

    def test_what_is_being_sent_outlives_its_edition(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", f"/trace.json?token={self.served.token}")
        answer = connection.getresponse()
        first = answer.read(1000)
        shutil.copy(self.new, self.file)
        self.wait_for("2")
        names = {e["name"] for e in json.loads(first + answer.read())["traceEvents"] if e["ph"] == "X"}
        self.assertLessEqual({e["name"] for e in events(self.old) if e.get("cat") == "cpu_op"}, names)


class View(unittest.TestCase):
    served: Served

    @classmethod
    def setUpClass(cls) -> None:
        cls.served = Served(RUN, "--port", 0)

    @classmethod
    def tearDownClass(cls) -> None:
        status, err = cls.served.stop()
        assert status == 0, err

    def test_page_asks_for_its_timelines(self) -> None:
        status, headers, body = self.served.ask("/")
        page = body.decode()
        self.assertEqual(status, 200)
        self.assertTrue(headers["content-type"].startswith("text/html"))
        self.assertIn('<body data-server="1">', page)
        self.assertIn("connect-src 'self'", page)
        self.assertNotIn('class="data-timeline"', page)
        self.assertNotIn(self.served.token, page)
        self.assertTrue(page_data.json_block(page, "data-words")["scenarios"])
        self.assertEqual(len(page_data.json_block(page, "data-report")["ranks"]), 2)

    def sql(self, text: str) -> tuple[int, Any]:
        status, headers, body = self.served.ask("/query", {"sql": text})
        if status == 200:
            self.assertEqual(headers["content-type"], "application/json")
        return status, json.loads(body) if status == 200 else body.decode()

    def test_sql_answers_what_holdup_query_answers(self) -> None:
        text = "select rank, name, count(*) as n, sum(dur_ns) as total_ns, avg(dur_ns), null from op group by 1, 2 order by 4 desc limit 20"
        status, answer = self.sql(text)
        self.assertEqual(status, 200)
        self.assertEqual(answer["columns"][:4], ["rank", "name", "n", "total_ns"])
        self.assertFalse(answer["is_cut"])
        status, out, err = run("query", RUN, "--csv", text)
        self.assertEqual(status, 0, err)
        rows = list(csv.reader(out.decode().splitlines()))[1:]
        self.assertEqual([[str(v) for v in row[:4]] for row in answer["rows"]], [row[:4] for row in rows])
        self.assertTrue(all(row[5] is None and row[4] > 0 for row in answer["rows"]))

    def test_sql_reads_and_does_nothing_else(self) -> None:
        for text in ("create table t (a)", "insert into op values (1)", "delete from op", "drop table op", "attach '/tmp/x.db' as x", "pragma journal_mode",
                     "vacuum into '/tmp/x.db'", "create view v as select 1", "begin", "select load_extension('/tmp/x')", "update op set name = 'x'"):
            status, answer = self.sql(text)
            with self.subTest(text=text):
                self.assertEqual(status, 400, answer)
        self.assertIn("read-only", self.sql("delete from op")[1])
        self.assertIn("no such column: nam", self.sql("select nam from op")[1])
        self.assertIn("one statement", self.sql("select 1; select 2")[1])
        self.assertEqual(self.sql("")[0], 400)
        for method in ("POST", "PUT"):
            self.assertEqual(self.served.ask("/query", {"sql": "select 1"}, method=method)[0], 405)
        self.assertEqual(self.served.ask("/query", {"sql": "select 1"}, token=None)[0], 403)
        self.assertEqual(self.sql("select 1 as a")[1], {"columns": ["a"], "rows": [[1]], "is_cut": False})

    def test_sql_has_limits(self) -> None:
        endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select "
        status, answer = self.sql(endless + "i from n")
        self.assertEqual((status, len(answer["rows"]), answer["is_cut"]), (200, 10000, True))
        began = time.monotonic()
        status, answer = self.sql(endless + "max(i) from n")
        self.assertEqual(status, 400, answer)
        self.assertIn("stopped after 10 s", answer)
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(self.sql("select hex(zeroblob(100000000))")[0], 400)
        self.assertEqual(self.sql("select 2 as b")[1]["rows"], [[2]])

    def test_every_answer_forbids_frames_copies_and_guesses(self) -> None:
        for path, token in (("/", ""), ("/timeline", ""), ("/nothing", ""), ("/", None)):
            _, headers, _ = self.served.ask(path, token=token)
            with self.subTest(path=path, token=token):
                self.assertEqual(headers["x-content-type-options"], "nosniff")
                self.assertEqual(headers["cache-control"], "no-store")
                self.assertEqual(headers["referrer-policy"], "no-referrer")
                self.assertEqual(headers["x-frame-options"], "DENY")
                self.assertIn("frame-ancestors 'none'", headers["content-security-policy"])
                self.assertNotIn("access-control-allow-origin", headers)

    def test_who_does_not_know_the_token_learns_nothing(self) -> None:
        good = self.served.token
        answers = {self.served.ask(path, token=token, method=method)[0::2] if method == "GET" else (self.served.ask(path, token=token, method=method)[0], b"")
                   for path in ("/", "/timeline", "/nothing", "/trace.json") for method in ("GET", "POST", "OPTIONS")
                   for token in (None, "0" * 32, good[:-1], good + "0", good.upper() + "x", "\0")}
        self.assertEqual({status for status, _ in answers}, {403})
        self.assertEqual(len({body for _, body in answers if body}), 1)

    def test_cookie_stands_for_the_token(self) -> None:
        _, headers, _ = self.served.ask("/")
        cookie = headers["set-cookie"]
        name = f"holdup_{self.served.port}"
        self.assertEqual(cookie, f"{name}={self.served.token}; Path=/; HttpOnly; SameSite=Strict")
        self.assertEqual(self.served.ask("/", token=None, Cookie=f"a=b; {name}={self.served.token}")[0], 200)
        self.assertEqual(self.served.ask("/timeline", token=None, Cookie=f"{name}={self.served.token}")[0], 200)
        self.assertEqual(self.served.ask("/", token=None, Cookie=f"{name}={'0' * 32}")[0], 403)
        self.assertEqual(self.served.ask("/", token=None, Cookie=f"holdup_1={self.served.token}")[0], 403)

    def test_only_its_own_host_name(self) -> None:
        port = self.served.port
        for host, status in ((f"127.0.0.1:{port}", 200), (f"localhost:{port}", 200), ("evil.example", 403), (f"evil.example:{port}", 403),
                             ("127.0.0.1", 403), (f"127.0.0.1:{port}0", 403), (f"localhost.:{port}", 403), ("", 403), (f"[::1]:{port}", 403)):
            with self.subTest(host=host):
                self.assertEqual(self.served.ask("/", Host=host)[0], status)

    def test_pages_from_elsewhere_are_refused(self) -> None:
        for origin in ("https://evil.example", "null", PERFETTO, PERFETTO + ".evil.example", f"https://127.0.0.1:{self.served.port}"):
            with self.subTest(origin=origin):
                status, headers, _ = self.served.ask("/timeline", Origin=origin)
                self.assertEqual(status, 403)
                self.assertNotIn("access-control-allow-origin", headers)
        self.assertEqual(self.served.ask("/timeline", Origin=f"http://127.0.0.1:{self.served.port}")[0], 200)

    def test_only_get_and_head(self) -> None:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "FROB"):
            with self.subTest(method=method):
                status, headers, _ = self.served.ask("/", method=method)
                self.assertEqual((status, headers["allow"]), (405, "GET, HEAD"))
        status, headers, body = self.served.ask("/", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["content-length"]), 10_000)

    def test_numbers_that_are_none_are_answered_with_a_sentence(self) -> None:
        for query in ({"rank": 2}, {"rank": -1}, {"rank": "x"}, {"rank": ""}, {"rank": "0;"}, {"from": "1e3", "to": 5}, {"from": -5, "to": 5}, {"from": 5, "to": 5},
                      {"from": 6, "to": 5}, {"from": 1}, {"to": 2 ** 63}, {"to": 10 ** 40}, {"to": 9, "px": -1}, {"to": 9, "px": 10 ** 6}, {"to": "%00"}):
            with self.subTest(query=query):
                status, headers, body = self.served.ask("/timeline", query)
                self.assertEqual(status, 400)
                self.assertIn(b"needs", body)
                self.assertTrue(headers["content-type"].startswith("text/plain"))
        for path in ("/timeline/", "//", "/../etc/passwd", "/%2e%2e/etc/passwd", "/page", "/TIMELINE"):
            self.assertEqual(self.served.ask(path)[0], 404, path)

    def test_requests_that_are_none_do_not_end_it(self) -> None:
        head = f"GET /?token={self.served.token} HTTP/1.1\r\n".encode()
        for raw in (b"\0" * 100, b"GET\r\n\r\n", head + b"\r\n", head + b"Host: x\r\n" * 5000, b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
                    head + b"X: " + b"y" * 100_000, b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" + b"z" * 10_000):
            with socket.create_connection(("127.0.0.1", self.served.port), timeout=20) as connection:
                try:
                    connection.sendall(raw)
                    connection.shutdown(socket.SHUT_WR)
                    answer = connection.recv(1 << 16)
                except OSError:
                    answer = b""
            self.assertNotIn(b" 200 ", answer[:20])
        self.assertEqual(self.served.ask("/")[0], 200)

    def test_many_at_once_get_what_one_gets(self) -> None:
        asked = [{"rank": i % 2, "from": 1_000_000 * (i % 7), "to": 40_000_000 * (1 + i % 5), "px": 100 + 300 * (i % 3)} for i in range(210)]
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            got = list(pool.map(lambda q: self.served.ask("/timeline", q)[0::2], asked))
        self.assertEqual({status for status, _ in got}, {200})
        same = collections.defaultdict(set)
        for query, (_, body) in zip(asked, got):
            same[tuple(query.items())].add(body)
        self.assertEqual({len(bodies) for bodies in same.values()}, {1})

    def test_whole_capture_comes_with_the_simulated_steps(self) -> None:
        words = page_data.json_block(self.served.ask("/")[2].decode(), "data-words")
        whole = self.served.timeline(rank=words["rank_index"], **{"from": 0, "to": 0, "px": 0})
        self.assertEqual([s["id"] for s in whole["scenarios"]], words["scenarios"])
        self.assertEqual(self.served.timeline(rank=1 - words["rank_index"])["scenarios"], [])
        self.assertEqual(self.served.timeline()["rank"], whole["rank"])


def raw_slices(path: pathlib.Path) -> list[tuple[int, int, str]]:
    """Start since the first, duration and name of all that is drawn."""
    found = [(ns(e["ts"]), ns(e["dur"]), e["name"]) for e in events(path) if e.get("ph") == "X" and e.get("dur") is not None]
    drawn = [(ns(e["ts"]), ns(e["dur"]), e["name"]) for e in events(path) if e.get("ph") == "X" and e.get("dur") is not None and e.get("cat") != "Trace"]
    first = min(start for start, _, _ in found)
    return [(start - first, dur, name) for start, dur, name in drawn]


class Detail(unittest.TestCase):
    """Windows of traces against an independent reading."""

    def inputs(self) -> list[pathlib.Path]:
        real = [p for p in real_traces() if p.parent.name in ("hta-ns-resolution", "kineto-tb-samples")]
        return [OWN[0], *real[: 1 if SANITIZED else None]]

    def check(self, timeline: dict[str, Any], raw: list[tuple[int, int, str]], begin: int, end: int, pixels: int) -> None:
        measured = [s for s in timeline["slices_list"] if "scenario" not in timeline["tracks"][s[0]]]
        have = collections.Counter((start, dur, name) for _, start, dur, name, *_ in measured)
        inside = collections.Counter(s for s in raw if s[0] < end and (s[0] + s[1] > begin or s[0] == begin))
        least = timeline["least"]
        self.assertEqual(sum((have - inside).values()), 0, "slices that are not in the trace")
        self.assertEqual(sum((collections.Counter({s: n for s, n in inside.items() if s[1] >= least}) - have).values()), 0, "a slice that can be seen is hidden")
        # each pixel of each depth has a slice: a hidden one lies in the piece of time of one that is not
        pieces = {start // max(1, least) for start, _, _ in have}
        self.assertEqual({s[0] // max(1, least) for s in inside} - pieces if least else set(), set())
        depths = collections.Counter()
        for track in {s[0] for s in measured}:
            ends: list[int] = []
            for _, start, dur, *_ in [s for s in measured if s[0] == track]:
                while ends and ends[-1] <= start:
                    ends.pop()
                ends.append(start + dur)
                if dur < least:
                    depths[track, len(ends)] += 1
        for rows in depths.values():
            self.assertLessEqual(rows, 4 * (pixels + 2))

    def test_windows_hold_what_can_be_seen(self) -> None:
        for path in self.inputs():
            raw = raw_slices(path)
            span = max(start + dur for start, dur, _ in raw)
            served = Served(path, "--port", 0)
            try:
                with self.subTest(path.name, window="whole"):
                    whole = served.timeline(**{"from": 0, "to": 0})
                    self.assertEqual(whole["of"], sum(1 for e in events(path) if e.get("ph") == "X" and e.get("dur") is not None))
                    self.check(whole, raw, 0, span + 1, 1600)
                for begin, end, pixels in ((0, span, 50), (span // 3, span // 2, 400), (span // 2, span // 2 + span // 100, 4000), (span // 4, span // 4 + 1, 10),
                                           (span - 5, span + 10 ** 12, 3), (span * 2, span * 3, 100), (0, span + 1, 1 << 15)):
                    with self.subTest(path.name, begin=begin, end=end, pixels=pixels):
                        part = served.timeline(**{"from": begin, "to": end, "px": pixels})
                        self.assertEqual(part["least"], (end - begin) // pixels)
                        self.check(part, raw, begin, end, pixels)
            finally:
                self.assertEqual(served.stop()[0], 0)


class Traces(unittest.TestCase):
    """For other viewers."""

    def test_perfetto_may_read_traces_and_nobody_else(self) -> None:
        served = Served(OWN[0], "--port", 0)
        try:
            for path in ("/trace.pftrace", "/trace.json"):
                with self.subTest(path):
                    plain, headers, body = served.ask(path)
                    self.assertEqual(plain, 200)
                    self.assertNotIn("access-control-allow-origin", headers)
                    self.assertEqual(headers["transfer-encoding"], "chunked")      # sent while it is made
                    self.assertGreater(len(body), 10_000)
                    status, headers, same = served.ask(path, {"rank": 0}, Origin=PERFETTO)
                    self.assertEqual((status, headers["access-control-allow-origin"], same), (200, PERFETTO, body))
                    status, headers, _ = served.ask(path, method="OPTIONS", Origin=PERFETTO, Access_Control_Request_Private_Network="true")
                    self.assertEqual((status, headers["access-control-allow-origin"], headers["access-control-allow-private-network"]), (204, PERFETTO, "true"))
                    self.assertEqual(served.ask(path, token=None, Origin=PERFETTO)[0], 403)
                    self.assertEqual(served.ask(path, method="OPTIONS", token=None, Origin=PERFETTO)[0], 403)
                    self.assertEqual(served.ask(path, method="OPTIONS")[0], 405)
                    self.assertEqual(served.ask(path, Origin="https://evil.example")[0], 403)
                    self.assertEqual(served.ask(path, {"rank": 1})[0], 400)
            for name, path in (("perfetto", "/trace.pftrace"), ("chrome", "/trace.json")):
                status, exported, err = run("export", OWN[0], "--format", name)
                self.assertEqual((status, served.ask(path)[2]), (0, exported), err)
            status, headers, body = served.ask("/trace.json", method="HEAD")
            self.assertEqual((status, body), (200, b""))
        finally:
            status, err = served.stop()
        self.assertEqual(status, 0)
        self.assertIn("no link for Perfetto", err)

    def test_link_for_perfetto_on_its_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if probe.connect_ex(("127.0.0.1", 9001)) == 0:
                self.skipTest("port 9001 is taken")
        served = Served(OWN[0])
        err = served.stop()[1]
        if served.port == 9001:
            self.assertIn(f"{PERFETTO}/#!/?url=http://127.0.0.1:9001/trace.pftrace%3Ftoken%3D{served.token}", err)
        else:
            self.assertIn("no link for Perfetto", err)


class Strangers(unittest.TestCase):
    """Any program on the machine can connect; who has the token gets in all the same."""

    def setUp(self) -> None:
        self.served = Served(OWN[0], "--port", 0, "-q")
        self.addCleanup(self.served.stop)
        self.sockets: list[socket.socket] = []
        self.addCleanup(lambda: [s.close() for s in self.sockets])

    def connect(self, said: bytes = b"") -> socket.socket:
        s = socket.create_connection(("127.0.0.1", self.served.port), timeout=20)
        self.sockets.append(s)
        s.sendall(said)
        return s

    def ask_in(self, seconds: float) -> None:
        started = time.monotonic()
        self.assertEqual(self.served.ask("/timeline")[0], 200)
        self.assertLess(time.monotonic() - started, seconds)

    def test_idle_connections_lock_nobody_out(self) -> None:
        for _ in range(200):
            self.connect()
        self.ask_in(8)      # 30 s of silence each, before

    def test_begun_requests_lock_nobody_out(self) -> None:
        for _ in range(200):
            self.connect(b"GET / HTTP/1.1\r\nX: ")
        self.ask_in(8)

    def test_whole_head_has_a_deadline(self) -> None:
        slow = self.connect(b"GET / HTTP/1.1\r\nHost: ")
        started = time.monotonic()
        slow.settimeout(0.3)
        ended = False
        while not ended and time.monotonic() - started < 20:
            try:
                slow.sendall(b"x")
                ended = slow.recv(1) == b""
            except TimeoutError:
                pass
            except OSError:
                ended = True
        self.assertTrue(ended)
        self.assertLess(time.monotonic() - started, 12)
        self.ask_in(5)

    def test_who_is_known_stays(self) -> None:
        known = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=20)
        for seconds in (0, 6, 0):
            time.sleep(seconds)
            known.request("GET", f"/timeline?token={self.served.token}")
            answer = known.getresponse()
            self.assertEqual((answer.status, len(answer.read()) > 100), (200, True))
        known.close()


class Ends(unittest.TestCase):
    def test_at_once_while_a_trace_is_sent(self) -> None:
        """Of a trace whose export takes long, to readers that are slow and to one that has gone."""
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "x.json")
            subprocess.run([sys.executable, ROOT / "bench/make_trace.py", RUN / "rank0.pt.trace.json.gz", trace, "--mb", "6" if SANITIZED else "100"], check=True, capture_output=True)
            for path in ("/trace.json", "/trace.pftrace"):
                served = Served(trace, "--port", 0, "-q")
                readers = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(5)]
                for reader in readers:
                    reader.sendall(f"GET {path}?token={served.token} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
                readers.pop().close()
                time.sleep(0.2)
                started = time.monotonic()
                self.assertEqual(served.stop(signal.SIGINT), (0, ""))
                took = time.monotonic() - started
                for reader in readers:
                    reader.close()
                with self.subTest(path):
                    self.assertLess(took, 5 if SANITIZED else 1)

    def test_signals_end_it_well(self) -> None:
        for how in (signal.SIGTERM, signal.SIGINT):
            served = Served(OWN[0], "--port", 0)
            served.ask("/")
            self.assertEqual(served.stop(how)[0], 0)

    def test_port_that_is_taken(self) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            status, out, err = run("view", OWN[0], "--port", port)
        self.assertEqual((status, out), (3, b""))
        self.assertIn(f"port {port} is in use", err)
        self.assertIn("--port 0", err)

    def test_wrong_ports(self) -> None:
        for port in ("-1", "80", "65536", "x", ""):
            status, _, err = run("view", OWN[0], "--port", port)
            self.assertEqual(status, 2, port)
            self.assertIn("--port needs", err)

    def test_wrong_words(self) -> None:
        self.assertEqual(run("view")[0], 2)
        self.assertEqual(run("view", "no-such-file.json", "--port", 0)[0], 3)

    def test_nothing_but_the_own_machine_is_bound(self) -> None:
        served = Served(OWN[0], "--port", 0)
        try:
            table = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
            mine = [line.split()[1] for line in table if line.split()[1].endswith(f":{served.port:04X}") and line.split()[3] == "0A"]
            self.assertEqual(mine, [f"0100007F:{served.port:04X}"])
        finally:
            served.stop()

    def test_without_a_screen_the_way_goes_over_ssh(self) -> None:
        served = Served(OWN[0], "--port", 0, "--open", env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", "SSH_CONNECTION": "1 2 3 4", "USER": "ann"})
        err = served.stop()[1]
        self.assertRegex(err, rf"from your machine: ssh -N -L {served.port}:127\.0\.0\.1:{served.port} ann@")
        self.assertIn("Ctrl-C", err)

    def test_browser_is_given_no_token(self) -> None:
        """Its arguments can be read by everybody: they name a file that only this user can read."""
        with tempfile.TemporaryDirectory() as folder:
            seen, browser = pathlib.Path(folder, "seen"), pathlib.Path(folder, "browser")
            browser.write_text(f'#!/bin/sh\nstat -c "%a" "$1" >{folder}/mode; cp "$1" {folder}/page; echo "$*" >{folder}/part; mv {folder}/part {seen}\n')
            browser.chmod(0o755)
            served = Served(OWN[0], "--port", 0, "-q", "--open", env={"BROWSER": str(browser), "TMPDIR": folder, "XDG_RUNTIME_DIR": ""})
            for _ in range(100):
                if seen.exists():
                    break
                time.sleep(0.1)
            given = seen.read_text().strip()
            self.assertTrue(pathlib.Path(given).exists())
            self.assertEqual(served.stop(), (0, ""))
            self.assertRegex(given, re.escape(folder) + r"/holdup-\w{6}\.html")
            self.assertNotIn(served.token, given)
            self.assertEqual(pathlib.Path(folder, "mode").read_text(), "600\n")
            self.assertIn(f'content="0;url=http://127.0.0.1:{served.port}/?token={served.token}"', pathlib.Path(folder, "page").read_text())
            self.assertFalse(pathlib.Path(given).exists())

    def test_quiet_says_the_address_alone(self) -> None:
        served = Served(OWN[0], "--port", 0, "-q")
        self.assertEqual(served.stop(), (0, ""))


if __name__ == "__main__":
    unittest.main()
