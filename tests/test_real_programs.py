# SPDX-License-Identifier: Apache-2.0
"""Real programs under `holdup run`, each checked from outside: the same output, states that make up every life, the kernel's own counts of CPU time and
context switches, strace's times of calls and perf's hot functions, and an answer that names what an expert would. Programs that are not installed are
skipped, loudly. On a crowded machine an answer may say first, and truly, that a thread waits for a CPU; what would be false then is still refused."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

from tests import recorder
from tests.program import EXE, ROOT, SANITIZED, report, skip_loudly, torch_or_skip
from tests.recorder import environment
from tests.test_perf import REFUSAL

HERE = ROOT / "tests/real"
PYTHON = "/usr/bin/python3"     # what `python3` is may be a script of pyenv, which starts 40 processes
OURS = re.compile(r"^holdup: .*\n", re.M)
NETWORK, LOCK = "waits for the network", "lock contention|waits for locks"
CROWDED = r"waits for a CPU|waiting for a CPU"


class Case(unittest.TestCase):
    folder: pathlib.Path
    trace: pathlib.Path

    def setUp(self) -> None:
        if SANITIZED:
            self.skipTest("programs that take their time")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-real-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.trace = self.folder / "out.pftrace"

    def need(self, *names: str) -> None:
        for name in names:
            if not (pathlib.Path(name).exists() if "/" in name else shutil.which(name)):
                skip_loudly(f"{name} is not installed (scripts/setup test)")
                self.skipTest(f"no {name}")

    def compile(self, name: str, compiler: str = "cc") -> pathlib.Path:
        self.need(compiler)
        out = self.folder / pathlib.Path(name).stem
        words = ["-O2", "-g", "-o", out, HERE / name] if compiler != "rustc" else ["-O", "-g", "-o", out, HERE / name]
        if compiler == "go":
            words = ["build", "-o", out, HERE / name]
        done = subprocess.run([compiler, *map(str, words)], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    strict = True

    def plain(self, *command: Any, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*map(str, command)], capture_output=True, text=True, errors="replace", timeout=60, cwd=self.folder, env=environment(),
                              check=False, **more)

    def record(self, *command: Any, options: tuple[str, ...] = (), **more: Any) -> subprocess.CompletedProcess[str]:
        """--strict: a loss that is not said would be the worst, and one that is said is no success."""
        done = self.plain(EXE, "run", "-f", *(["--strict"] if self.strict else []), "-o", "out", "--no-report", *options, "--", *command, **more)
        self.assertTrue(self.trace.exists(), done.stderr)
        return done

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return recorder.rows(self.trace, sql)

    def check_lives(self) -> None:
        """States of a thread make up its life, and nothing was lost."""
        for row in self.rows("select pid, tid, sum(dur_ns) as known, max(end_ns) - min(start_ns) as life from thread_state group by 1, 2"):
            self.assertLessEqual(row["known"], row["life"], row)
            self.assertGreaterEqual(row["known"], 0.99 * row["life"] - 20e3, row)
        self.assertEqual(self.rows("select reason, count from quality where is_loss and count > 0"), [])

    def told(self) -> str:
        """The answer in words, of the trace alone."""
        self.check_lives()
        answer = report(self.trace)
        return answer["verdict"]["text"] + "".join("\n" + f["statement"] for f in answer["findings"])

    def check_words(self, text: str, wanted: str, never: str) -> None:
        self.assertNotRegex(text, never)
        if not re.search(CROWDED, text):
            self.assertRegex(text, wanted)

    def check(self, *command: Any, wanted: str, never: str, same: Callable[[str], str] = lambda s: s, **more: Any) -> str:
        """The same output and exit status with and without the recorder; the answer names what it should, and not what it should not."""
        plain, recorded = self.plain(*command, **more), self.record(*command, **more)
        self.assertEqual(plain.returncode, recorded.returncode, recorded.stderr)
        self.assertEqual(same(plain.stdout), same(recorded.stdout))
        self.assertEqual(same(plain.stderr), same(OURS.sub("", recorded.stderr)))
        text = self.told()
        self.check_words(text, wanted, never)
        return text

    def check_usage(self, *command: Any) -> None:
        """CPU time and context switches, as the kernel tells the process that waited for the command, in one and the same run."""
        if REFUSAL:
            return      # without perf_event_open the states are sums of /proc
        usage = self.compile("usage.c")
        self.record(usage, "used", *command)
        user, system, voluntary, involuntary, _ = map(int, (self.folder / "used").read_text().split())
        job = self.rows("select pid, tid, start_ns, dur_ns from thread_state where state = 'running'")
        parent = min(job, key=lambda r: r["start_ns"])["pid"]
        ran = [r for r in job if r["pid"] != parent]
        self.assertAlmostEqual(sum(r["dur_ns"] for r in ran), 1e3 * (user + system), delta=0.02 * 1e3 * (user + system) + 8e6)
        threads = len({(r["pid"], r["tid"]) for r in ran})
        self.assertAlmostEqual(len(ran) - threads, voluntary + involuntary, delta=0.1 * (voluntary + involuntary) + 10 + 2 * threads)


class Interpreters(Case):
    def test_python_thread(self) -> None:
        self.need(PYTHON)
        self.check(PYTHON, HERE / "threads.py", wanted=r"waits for another thread|waited|joins", never=f"sleeps|{NETWORK}|reach the disk")
        self.check_usage(PYTHON, HERE / "threads.py")

    def test_python_tasks_that_sleep(self) -> None:
        self.need(PYTHON)
        text = self.check(PYTHON, HERE / "tasks.py", wanted="events on file descriptors|timer|sleep", never=f"{NETWORK}|pipe|{LOCK}|reach the disk|its own code")
        self.assertNotRegex(text, "Fix first: blocking")

    def test_python_pool(self) -> None:
        """The processes of the pool compute, not the main one."""
        self.need(PYTHON)
        self.check(PYTHON, HERE / "pool.py", wanted="process that works meanwhile is python3: it computes",  never=f"sleeps|reach the disk|{NETWORK}")
        self.check_usage(PYTHON, HERE / "pool.py")

    def test_numpy(self) -> None:
        if not importlib.util.find_spec("numpy"):
            skip_loudly("no numpy to record")
            self.skipTest("no numpy")
        self.check("python3", HERE / "arrays.py", wanted="computes", never=f"sleeps|reach the disk|{NETWORK}|pipe")

    def test_a_loader_of_torch(self) -> None:
        python = torch_or_skip(self)
        self.check(python, HERE / "loader.py", wanted="loader|sleep", never=f"{NETWORK}|reach the disk|{LOCK}")

    def test_java(self) -> None:
        self.need("java")
        self.check("java", HERE / "Sieve.java", wanted="computes|other threads do the work", never=f"sleeps|{NETWORK}|reach the disk")

    def test_node_timers(self) -> None:
        self.need("node")
        self.check("node", HERE / "timers.js", "file.txt", wanted="events on file descriptors|timer", never=f"{NETWORK}|pipe|its own code|{LOCK}")

    def test_node_worker(self) -> None:
        self.need("node")
        self.check("node", HERE / "worker.js", wanted="computes", never=f"sleeps|{NETWORK}|reach the disk")


class Compiled(Case):
    def test_go(self) -> None:
        program = self.compile("hash.go", "go")
        self.strict = False     # a static program is not recorded from inside, which --strict does not accept
        self.check(program, wanted="computes", never=f"sleeps|{NETWORK}|reach the disk|pipe")
        self.check_usage(program)

    def test_rust(self) -> None:
        program = self.compile("sorts.rs", "rustc")
        self.check(program, wanted="waits for another thread|joins|waited", never=f"sleeps|{NETWORK}|reach the disk|{LOCK}")
        self.check_usage(program)

    def test_make(self) -> None:
        self.need("make", "gcc")
        for k in range(2):
            (self.folder / f"u{k}.c").write_text("".join(
                f"int f{k}_{i}(int x){{ int s = 0; for (int j = 0; j < x; j++) s += (j ^ {i}) * x % {i + 3}; return s + x; }}\n" for i in range(150)))
        (self.folder / "main.c").write_text("int f0_1(int); int main(void) { return f0_1(3) == 0; }\n")
        (self.folder / "Makefile").write_text("prog: u0.o u1.o main.o\n\tgcc -o $@ $^\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n")
        text = self.check("make", "-B", "-s", "-j2", wanted="^make .*cc1", never=f"sleeps|{NETWORK}|reach the disk|^gcc")
        self.assertRegex(text, "cc1")
        host = report(self.trace)["ranks"][0]["host_time"]
        self.assertEqual(host["process"], "make")
        self.check_usage("make", "-B", "-s", "-j2")

    def test_hot_functions_are_perfs(self) -> None:
        self.need("perf")
        if REFUSAL:
            self.skipTest("no perf_event_open")
        program = self.compile("mix.c")
        done = self.record(program, options=("--sample=999",))
        self.assertEqual((done.returncode, done.stdout), (0, self.plain(program).stdout), done.stderr)
        self.check_words(self.told(), "Hottest: pack_rows", f"sleeps|{NETWORK}|reach the disk")
        ours = {f["name"]: f["self_pct"] for f in report(self.trace)["ranks"][0]["cpu_samples"]["functions"]}
        done = self.plain("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o", "perf.data", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = self.plain("perf", "report", "-i", "perf.data", "--stdio", "--sort", "symbol", "-F", "overhead,symbol")
        theirs = {name: float(share) for share, name in re.findall(r"^\s*([0-9.]+)%\s+\[\.\] (\w+)", said.stdout, re.M)}
        for name in ("pack_rows", "sort_rows", "send_rows"):
            self.assertAlmostEqual(ours.get(name, 0), theirs.get(name, 0), delta=8, msg=f"{ours} {theirs}")
        self.assertAlmostEqual(ours["pack_rows"], 60, delta=7)      # three standard deviations of 500 samples
        self.check_usage(program)

    def test_calls_that_wait(self) -> None:
        """Their time as the program's own clock has it, in the same run; their number as strace counts."""
        self.need("strace")
        program = self.compile("calls.c")
        self.check(program, "file", "times", wanted="pipe|sleeps|reach the disk", never=f"its own code|{NETWORK}|{LOCK}")
        words = (self.folder / "times").read_text().split()
        main = self.rows("select pid from thread_state order by start_ns limit 1")[0]["pid"]
        ours = {r["name"]: r for r in self.rows(f"select name, sum(dur_ns) as ns, count(*) as n from os_call where pid = {main} group by 1")}
        for name, ns in zip(words[::2], map(int, words[1::2])):
            self.assertAlmostEqual(ours[name]["ns"], ns, delta=0.02 * ns + 2e6, msg=name)
        traced = self.plain("strace", "-f", "-c", "-w", "-o", "sums", program, "file", "times")
        self.assertEqual(traced.returncode, 0, traced.stderr)
        strace = {name: (float(seconds), int(calls)) for seconds, calls, name in
                  re.findall(r"^\s*[0-9.]+\s+([0-9.]+)\s+\d+\s+(\d+)(?:\s+\d+)?\s+(\w+)$", (self.folder / "sums").read_text(), re.M)}
        self.assertEqual((ours["nanosleep"]["n"], strace["clock_nanosleep"][1]), (20, 40))     # the child sleeps as often
        self.assertEqual(ours["fdatasync"]["n"], strace["fdatasync"][1])
        for name in ("read", "clock_nanosleep"):
            self.assertGreaterEqual(strace[name][0], 0.06, strace)


class Servers(Case):
    def serve(self, command: list[Any], ready: Callable[[], bool], work: Callable[[], None], stop: Callable[[], Any]) -> str:
        """Starts a server under the recorder, works with it and ends it; its answer."""
        def drive() -> None:
            until = time.monotonic() + 20
            while not ready() and time.monotonic() < until:
                time.sleep(0.02)
            try:
                work()
            except (subprocess.SubprocessError, OSError, AssertionError) as problem:
                problems.append(problem)
            finally:
                stop()
        problems: list[Exception] = []
        client = threading.Thread(target=drive)
        client.start()
        done = self.record(*command)
        client.join()
        self.assertEqual((problems, done.returncode), ([], 0), done.stderr + done.stdout)
        return self.told()

    def test_redis(self) -> None:
        """A server that mostly waits for its clients: that accuses nobody."""
        self.need("redis-server", "redis-cli", "redis-benchmark")
        socket = self.folder / "socket"

        def cli(*words: str) -> subprocess.CompletedProcess[str]:
            return self.plain("redis-cli", "-s", socket, *words)

        def work() -> None:
            done = self.plain("redis-benchmark", "-s", socket, "-n", 2000, "-c", 4, "-t", "set,get", "-q")
            self.assertEqual(done.returncode, 0, done.stderr)
            time.sleep(0.8)
        text = self.serve(["redis-server", "--port", 0, "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", self.folder],
                          lambda: cli("ping").stdout == "PONG\n", work, lambda: cli("shutdown", "nosave"))
        self.check_words(text, "waits for events on file descriptors.*epoll_wait", f"reach the disk|sleeps|{LOCK}|its own code")
        self.assertNotRegex(text, "File, disk and network I/O takes")

    def test_nginx(self) -> None:
        """A master that waits for signals, and a worker that answers; both say what they do in the trace."""
        self.need("nginx")
        socket = self.folder / "socket"
        (self.folder / "page").write_bytes(bytes(100_000))
        places = "".join(f"{kind}_temp_path {self.folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; user root; pid {self.folder}/pid; error_log {self.folder}/errors; events {{ worker_connections 64; }}\n"
            f"http {{ access_log off; {places} server {{ listen unix:{socket}; location / {{ root {self.folder}; }} }} }}\n")
        self.need("curl")

        def get(count: int) -> None:
            for _ in range(count):
                done = subprocess.run(["curl", "-s", "--unix-socket", socket, "http://x/page"], capture_output=True, timeout=20, check=False)
                self.assertEqual(len(done.stdout), 100_000)

        def stop() -> None:
            os.kill(int((self.folder / "pid").read_text()), signal.SIGQUIT)
        text = self.serve(["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder], lambda: socket.exists() and (self.folder / "pid").exists(),
                          lambda: get(20), stop)
        self.check_words(text, "signal", f"another thread|reach the disk|sleeps|{LOCK}|its own code")
        self.assertEqual(len(self.rows("select distinct pid from thread_state")), 2)
        calls = {r["name"] for r in self.rows("select distinct name from os_call")}
        self.assertLessEqual({"sigsuspend", "epoll_wait", "sendfile" if "sendfile" in calls else "writev"}, calls)

    def test_sqlite_with_and_without_a_transaction(self) -> None:
        """Each insert of its own waits for the disk twice; in one transaction they all do once."""
        self.need("sqlite3")
        inserts = "".join(f"insert into t values({i}, 'row {i}');\n" for i in range(200))
        syncs = []
        for name, sql in (("apart", inserts), ("together", f"begin;\n{inserts}commit;\n")):
            def run(recorded: bool) -> subprocess.CompletedProcess[str]:
                for old in self.folder.glob("rows*"):
                    old.unlink()
                script = f"create table t(a, b);\n{sql}select count(*), sum(a) from t;\n"
                return (self.record if recorded else self.plain)("sqlite3", "rows", input=script)
            plain, done = run(False), run(True)
            self.assertEqual((plain.returncode, plain.stdout), (done.returncode, done.stdout), name)
            calls = self.rows("select count(*) as n, sum(dur_ns) as ns from os_call where name in ('fsync', 'fdatasync')")[0]
            syncs.append(calls["n"])
            text = self.told()
            life = self.rows("select max(end_ns) - min(start_ns) as life from thread_state")[0]["life"]
            if name == "apart" and calls["ns"] > 0.4 * life:
                self.check_words(text, r"waits for data to reach the disk.*(fsync|fdatasync) of \S*rows", f"{NETWORK}|sleeps|{LOCK}")
                fix = next(f["fix"] for f in report(self.trace)["findings"] if f["id"] == "io-stall")
                self.assertRegex(fix, "one transaction")
        self.assertGreaterEqual(syncs[0], 200)
        self.assertLess(syncs[1], 20)


class Tools(Case):
    def test_a_pipeline(self) -> None:
        """gzip computes; tar and wc wait for it."""
        self.need("tar", "gzip")
        (self.folder / "tree").mkdir()
        for i in range(40):
            (self.folder / f"tree/{i}").write_text("".join(f"{i * k * k % 9973} some words {k}\n" for k in range(12000)))
        text = self.check("sh", "-c", "tar cf - tree | gzip -6 | wc -c", wanted="child processes.*gzip", never=f"sleeps|{NETWORK}", same=lambda s: re.sub(r"\d+", "n", s))
        self.assertRegex(text, "gzip|" + CROWDED)
        self.check_usage("sh", "-c", "tar cf - tree | gzip -6 | wc -c")

    def test_find_and_grep(self) -> None:
        self.check("sh", "-c", "find /usr/include -name '*.h' | xargs grep -l pthread | sort | tail -n 5", wanted="child processes", never=f"sleeps|{NETWORK}")

    def test_git(self) -> None:
        self.need("git")
        self.plain("git", "init", "-q", ".")
        for i in range(30):
            (self.folder / f"file{i}").write_text(f"{i}\n")
        self.plain("git", "add", ".")
        self.plain("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")
        self.check("git", "log", "--stat", "--oneline", wanted=".", never=f"sleeps|{NETWORK}|{LOCK}")

    def test_curl_of_a_file_that_is_not_there(self) -> None:
        """A failure stays the same failure."""
        self.need("curl")
        (self.folder / "data").write_bytes(bytes(3_000_000))
        self.check("curl", "-s", "-o", "copy", f"file://{self.folder}/data", wanted=".", never=f"sleeps|{LOCK}")
        self.assertEqual((self.folder / "copy").stat().st_size, 3_000_000)
        self.check("curl", "-s", "-S", f"file://{self.folder}/missing", wanted=".", never="sleeps")
        self.assertEqual(self.record("curl", "-s", f"file://{self.folder}/missing").returncode, 37)


class Crowded(Case):
    def test_waits_for_a_cpu_go_with_the_computing(self) -> None:
        """Beside a neighbour on its only CPU: a buffer saves what its calls compute, and the waits that this costs; more CPUs save all waits."""
        self.need("taskset")
        if REFUSAL:
            self.skipTest("no perf_event_open")
        program, usage, burn = self.compile("lines.c"), self.compile("usage.c"), self.compile("burn.c")
        cpu = str(max(os.sched_getaffinity(0)))
        spent = []
        with subprocess.Popen(["taskset", "-c", cpu, burn]) as neighbour:
            try:
                for mode in ("each", "buffered"):
                    self.assertEqual(self.plain("taskset", "-c", cpu, usage, "used", program, "file", mode).returncode, 0)
                    spent.append(sum(map(int, (self.folder / "used").read_text().split()[:2])))
                self.record("taskset", "-c", cpu, program, "file", "each")
            finally:
                neighbour.kill()
        truth = 100 * (1 - spent[1] / spent[0])
        host = report(self.trace)["ranks"][0]["host_time"]
        found = {f["id"]: f for f in report(self.trace)["findings"]}
        waited = 100 * host["task_runnable_ns"] / host["process_wall_ns"]
        self.assertGreater(waited, 30)
        self.assertAlmostEqual(found["many-small-calls"]["gain_pct"], truth, delta=0.25 * truth, msg=str(spent))
        self.assertAlmostEqual(found["cpu-starved"]["gain_pct"], waited, delta=5)


class Ranks(Case):
    """mpirun of both implementations: who waits for whom, with all ranks and with one."""

    def mpi(self, kind: str, mode: str) -> None:
        self.need(f"mpicc.{kind}", f"mpirun.{kind}")
        program = self.compile("ranks.c", f"mpicc.{kind}")
        words = ["--oversubscribe"] if kind == "openmpi" else []
        env = environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        done = subprocess.run([f"mpirun.{kind}", *words, "-n", "2", EXE, "run", "-q", "-f", "--no-report", "-o", "out/rank%r", "--", program, mode],
                              capture_output=True, text=True, timeout=60, check=False, cwd=self.folder, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^\d+\n$")

    def findings(self, what: str) -> tuple[str, dict[str, Any]]:
        answer = report(self.folder / what)
        return answer["verdict"]["text"], {f["id"]: f for f in answer["findings"]}

    def check_mode(self, kind: str, mode: str) -> None:
        self.mpi(kind, mode)
        for rank in range(2):
            self.trace = self.folder / f"out/rank{rank}.pftrace"
            self.check_lives()
            waits = self.rows("select count(*) as n from thread_state where state = 'waiting' and tid = pid")[0]["n"]
            if kind == "mpich":
                self.assertLess(waits, 1000, "the recorder itself makes the main thread wait: without it, it does some 100 times")
        text, found = self.findings("out")
        if mode == "large":
            return
        self.assertNotIn("exposed-communication", found, text)
        if mode == "equal":
            if "cpu-starved" not in found:      # a neighbour makes a rank late, too
                self.assertLess(found.get("straggler", {"gain_pct": 0})["gain_pct"], 30, text)
            return
        said = subprocess.run([EXE, "report", "-q", self.folder / "out"], capture_output=True, text=True, timeout=60, check=False).stdout
        self.assertNotIn("clocks or matches are wrong", said)
        if mode != "post":      # of posted receives only their sender is seen to be late
            self.assertRegex(found["straggler"]["statement"], "rank 1")
        alone, found = self.findings("out/rank0.pftrace")
        self.assertNotIn("exposed-communication", found, alone)
        if not re.search(CROWDED, alone):
            self.assertRegex(alone, "waits for other ranks. One rank cannot tell")

    def test_equal_ranks(self) -> None:
        """MPI_Init and MPI_Finalize take most of the run, and are no communication that anything could hide."""
        self.check_mode("openmpi", "equal")
        self.check_mode("mpich", "equal")

    def test_a_rank_that_comes_late_to_collectives(self) -> None:
        self.check_mode("openmpi", "late")
        self.check_mode("mpich", "late")

    def test_a_rank_that_sends_late(self) -> None:
        self.check_mode("openmpi", "send")
        self.check_mode("mpich", "send")
        self.check_mode("openmpi", "post")

    def test_what_is_communication_is_called_so(self) -> None:
        """Sums of 4 MB with hardly any work between."""
        self.mpi("openmpi", "large")
        text, found = self.findings("out/rank0.pftrace")
        self.assertIn("exposed-communication", found, text)


if __name__ == "__main__":
    unittest.main()
