# SPDX-License-Identifier: Apache-2.0
"""The OS runtime door: every call of the list recorded for real, and programs that do what wrappers do not like unharmed."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from typing import Any

from tests import rings
from tests.program import EXE, NOBODY, ROOT, SANITIZED, for_nobody, skip_loudly

LIBRARY = pathlib.Path(EXE).parent / "libholdup-inject.so"
ROWS = re.findall(r"\bC\((\w+), ([A-Z_]+)\)", (ROOT / "src/protocol/os_calls.h").read_text())
CLASSES = {name: kind.lower() for name, kind in ROWS}
NAMES = [name for name, _kind in ROWS]
MS = 1_000_000
STATES = {1: "runs", 2: "exited", 3: "replaced"}


def os_calls(process: rings.Process) -> list[rings.Record]:
    return process.of("os_call")


def name_of(record: rings.Record) -> str:
    return NAMES[record.aux]


def state(path: pathlib.Path) -> str:
    """How a process's file says that it ended."""
    return STATES[rings.Head.from_buffer_copy(path.read_bytes()).state]


def inside(path: pathlib.Path) -> list[str]:
    """The calls that threads were in when the file was written last."""
    data = path.read_bytes()
    calls = []
    for at in range(rings.BLOCK, len(data), rings.BLOCK):
        block_state, kind = struct.unpack_from("<II", data, at)
        call = struct.unpack_from("<I", data, at + 32)[0]
        if block_state == 1 and kind == 0 and call:
            calls.append(NAMES[call - 1])
    return calls


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Page(unittest.TestCase):
    def test_page_has_every_call(self) -> None:
        lines = re.findall(r"^\| `(\w+)` \| (.*) \|$", (ROOT / "docs/osrt.md").read_text(), re.M)
        told = {name: kind for kind, names in lines for name in re.findall(r"`(\w+)`", names)}
        self.assertEqual(told, CLASSES)


class Session(unittest.TestCase):
    folder: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-osrt-"))
        cls.folder.chmod(0o755)
        cls.torture = cls.build("torture")

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    @classmethod
    def build(cls, name: str, *flags: str, out: str = "", compiler: str = "cc") -> pathlib.Path:
        program = cls.folder / (out or name)
        subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-Wall", "-o", program, ROOT / f"tests/inject/{name}.c", *flags, "-lpthread", "-lrt",
                        "-ldl"],
                       check=True, capture_output=True)
        return program

    def session(self, name: str, threshold: int = 100_000, **members: Any) -> pathlib.Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        return rings.make_session(folder, "osrt user", os_threshold=threshold, wants_paths=1, **members)

    @staticmethod
    def environment(session: pathlib.Path | None, **more: str) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HOLDUP", "LD_PRELOAD"))}
        ours = {"LD_PRELOAD": str(LIBRARY), "HOLDUP_SESSION": str(session)} if session else {}
        return {**clean, **ours, **more}

    def run_in(self, session: pathlib.Path | None, *words: Any, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess:
        return subprocess.run([str(w) for w in words], capture_output=True, check=False, timeout=120,
                              env=self.environment(session, **(env or {})), **options)

    def same(self, session: pathlib.Path, *words: Any, **options: Any) -> subprocess.CompletedProcess:
        """Output and exit status are those of a run without us."""
        plain = self.run_in(None, *words, **options)
        done = self.run_in(session, *words, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (plain.returncode, plain.stdout, plain.stderr))
        return done

    def nothing_lost(self, session: pathlib.Path) -> list[rings.Process]:
        processes = rings.read_session(session)
        for process in processes:
            self.assertEqual(sum(process.lost), 0, process.pid)
        return processes


class EveryCall(Session):
    def check(self, name: str, *flags: str) -> None:
        program = self.build("every_call", *flags, out=name)
        outputs = []
        session = self.session(f"{name}.session", threshold=0)
        for chosen in (None, session):
            files = self.folder / "files"
            files.mkdir()
            done = self.run_in(chosen, program, files)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            outputs.append(done.stdout)
            shutil.rmtree(files)
        self.assertEqual(outputs[0], outputs[1])
        recorded = [r for p in self.nothing_lost(session) for r in os_calls(p)]
        covered = set()
        for line in outputs[1].decode().splitlines():
            row, us, n_bytes, kind, path, error = line.split(" ")
            path = path.replace("%", " ")
            covered.add(row)
            with self.subTest(line):
                found = [r for r in recorded if name_of(r) == row and r.a >= int(us) * 1000 and r.b == int(n_bytes) and
                         r.values.get("class", CLASSES[row]) == (CLASSES[row] if kind == "-" else kind) and
                         r.values.get("error", 0) == int(error) and
                         (r.text.startswith(path[:-1]) and r.text[-1].isdigit() if path.endswith("*") else r.text == ("" if path == "-" else path))]
                self.assertTrue(found, [(r.a, r.b, r.text, r.values) for r in recorded if name_of(r) == row][:5])
        if "mq_send" not in covered:
            skip_loudly("this kernel has no POSIX message queues")
            covered |= {"mq_send", "mq_receive"}
        self.assertEqual(covered, set(NAMES), "each row of os_calls.h is called")

    def test_plain(self) -> None:
        self.check("plain")

    def test_checked_by_the_headers(self) -> None:
        """__read_chk, __fprintf_chk, __poll_chk and their like."""
        self.check("fortified", "-D_FORTIFY_SOURCE=2")

    def test_large_files(self) -> None:
        """open64, pread64, fopen64 and their like."""
        self.check("large", "-D_FILE_OFFSET_BITS=64", "-D_FORTIFY_SOURCE=2")

    def test_short_calls_are_not_recorded(self) -> None:
        program = self.build("every_call", out="short")
        files = self.folder / "short-files"
        files.mkdir()
        session = self.session("short.session", threshold=15 * MS)
        self.assertEqual(self.run_in(session, program, files).returncode, 0)
        recorded = [r for p in self.nothing_lost(session) for r in os_calls(p)]
        self.assertTrue(all(r.a >= 15 * MS for r in recorded))
        self.assertTrue({"sleep", "nanosleep", "pthread_mutex_lock", "pthread_cond_wait", "waitpid"} <= {name_of(r) for r in recorded})

    def test_fast_calls_are_counted(self) -> None:
        """Each too short for a record; together they are nearly all that were made, and no two records overlap."""
        n = 20_000
        program = self.build("small_calls")
        copy = self.folder / "small.copy"
        session = self.session("small.session", threshold=1000 * MS)
        self.assertEqual(self.run_in(session, program, n, copy).returncode, 0)
        self.assertEqual(copy.stat().st_size, 2 * n)
        recorded = [r for p in self.nothing_lost(session) for r in os_calls(p)]
        self.assertLess(len(recorded), n)
        threads = {r.thread for r in recorded}
        self.assertEqual(len(threads), 2)
        for thread in threads:
            mine = sorted((r for r in recorded if r.thread == thread), key=lambda r: r.time)
            for name, path in (("read", "/dev/zero"), ("write", str(copy))):
                of_kind = [r for r in mine if name_of(r) == name]
                self.assertEqual({r.text for r in of_kind}, {path})
                self.assertEqual(sum(r.b for r in of_kind), sum(r.values["calls"] for r in of_kind))
                self.assertTrue(0.5 * n <= sum(r.b for r in of_kind) <= n, sum(r.b for r in of_kind))
            for before, after in zip(mine, mine[1:]):
                self.assertLessEqual(before.time + before.a, after.time)

    def test_page_faults_are_told_at_the_end(self) -> None:
        """Of a process that has many: how many, and how many pages it held at most; two numbers of which one is no multiple."""
        program = self.build("fresh_memory")
        for pages, is_told in ((30_000, True), (1000, False)):
            session = self.session("faults.session")
            self.assertEqual(self.run_in(session, program, pages).returncode, 0)
            counters = {r.text: struct.unpack("<d", struct.pack("<Q", r.a))[0] for p in self.nothing_lost(session) for r in p.of("counter")}
            self.assertEqual(set(counters), {"page faults", "pages held at most"} if is_told else set())
            if is_told:
                self.assertTrue(pages <= counters["page faults"] < pages + 5000, counters)
                self.assertTrue(1000 <= counters["pages held at most"] < 6000, counters)

    def test_no_paths_unless_wanted(self) -> None:
        program = self.build("every_call", out="pathless")
        files = self.folder / "pathless-files"
        files.mkdir()
        session = self.session("pathless.session", threshold=0)
        rings.make_session(session, "osrt", os_threshold=0, wants_paths=0)
        self.assertEqual(self.run_in(session, program, files).returncode, 0)
        self.assertEqual({r.text for p in self.nothing_lost(session) for r in os_calls(p)}, {""})

    def test_closed_gate(self) -> None:
        """A paused session, and one that asked for other doors."""
        for members in ({"mask": 0}, {"mask": rings.DOORS["user"]}):
            session = self.session("closed.session", threshold=0, **members)
            self.same(session, self.torture, "threads", 20)
            self.assertEqual([os_calls(p) for p in self.nothing_lost(session)], [[]])

    def test_outermost_call_only(self) -> None:
        """popen and system start processes inside of the C library: one record each, not two."""
        session = self.session("outer.session", threshold=0)
        program = self.build("every_call", out="outer")
        files = self.folder / "outer-files"
        files.mkdir()
        self.assertEqual(self.run_in(session, program, files).returncode, 0)
        parent = max(self.nothing_lost(session), key=lambda p: len(p.records))
        main = sorted(r for r in ((r.time, r.time + r.a, name_of(r)) for r in os_calls(parent) if r.thread == os_calls(parent)[0].thread))
        for before, after in zip(main, main[1:]):
            self.assertLessEqual(before[1], after[0], f"{before[2]} holds {after[2]}")


class Torture(Session):
    def slow(self, session: pathlib.Path, name: str, at_least: int = 2 * MS) -> int:
        return sum(name_of(r) == name and r.a >= at_least for p in self.nothing_lost(session) for r in os_calls(p))

    def test_fork_storm(self) -> None:
        session = self.session("storm")
        self.same(session, self.torture, "storm", 500)
        parent = max(self.nothing_lost(session), key=lambda p: len(p.of("fork")))
        self.assertEqual(len({r.a for r in parent.of("fork")}), 500)
        children = [p for p in rings.read_session(session) if p.pid != parent.pid]
        self.assertEqual({p.pid for p in children}, {r.a for r in parent.of("fork")})
        self.assertEqual({[name_of(r) for r in os_calls(p)].count("usleep") for p in children}, {1})
        self.assertEqual({state(p) for p in session.glob("*.ring")}, {"exited"})

    def test_chain_of_programs(self) -> None:
        """Each member of the exec family, with environments that lack us, or hold a library of their own."""
        session = self.session("chain")
        self.same(session, self.torture, "chain", 50)
        self.assertEqual(self.slow(session, "usleep"), 51)
        states = [state(p) for p in session.glob("*.ring")]
        self.assertEqual((states.count("replaced"), states.count("exited")), (50, 1))
        programs = [r.text for p in rings.read_session(session) for r in p.of("exec")]
        self.assertEqual(programs.count("/nowhere"), 50, "an exec that failed is followed by the one that did not")
        self.assertEqual(len(programs), 100)

    def test_program_is_not_followed_when_told(self) -> None:
        session = self.session("alone")
        self.same(session, self.torture, "chain", 12, env={"HOLDUP_FOLLOW": "0"})
        self.assertEqual(len(rings.read_session(session)), 1, "the second image has a clean environment")

    def test_env_i(self) -> None:
        session = self.session("env")
        done = self.run_in(session, "env", "-i", "sh", "-c", "env; exec sleep 0.01")
        self.assertIn(b"HOLDUP_SESSION=", done.stdout)
        self.assertEqual(self.slow(session, "nanosleep") + self.slow(session, "clock_nanosleep"), 1)

    def test_thousand_threads(self) -> None:
        session = self.session("threads", threshold=MS)
        self.same(session, self.torture, "threads", 1000)
        self.assertEqual(self.slow(session, "usleep"), 2000)
        process, = self.nothing_lost(session)
        self.assertGreaterEqual(len({r.thread for r in os_calls(process) if name_of(r) == "usleep"}), 1000)

    def test_signals_at_1_khz(self) -> None:
        session = self.session("alarms", threshold=0)
        self.same(session, self.torture, "alarms", 1000)
        process, = self.nothing_lost(session)
        self.assertGreater(self.slow(session, "usleep", 0), 200)
        starts = [r.time for r in os_calls(process) if r.thread == 1 and name_of(r) == "read"]
        self.assertEqual(starts, sorted(starts))

    def test_jumps_out_of_calls(self) -> None:
        """After a jump out of a call, calls further down the stack are recorded."""
        session = self.session("jumps", threshold=MS)
        self.same(session, self.torture, "jumps", 50)
        self.assertEqual(self.slow(session, "usleep", MS), 50)
        self.assertEqual(self.slow(session, "read", 0), 0)

    def test_cancellation(self) -> None:
        session = self.session("cancels", threshold=MS)
        self.same(session, self.torture, "cancels", 20)
        self.assertEqual(self.slow(session, "pthread_join", MS), 20)

    def test_descriptors_closed_under_us(self) -> None:
        session = self.session("closes", threshold=0)
        self.same(session, self.torture, "closes", 5000)
        self.assertEqual(self.slow(session, "nanosleep", 0), 10000)

    def test_daemon(self) -> None:
        session = self.session("demon")
        self.same(session, self.torture, "demon")
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not list(self.folder.glob("torture.done")):
            time.sleep(0.05)
        time.sleep(0.2)
        self.assertEqual(self.slow(session, "usleep", 20 * MS), 1)
        self.assertEqual([state(p) for p in session.glob("*.ring")], ["exited", "exited"])

    def test_vfork(self) -> None:
        """A child of vfork that fails, or becomes another program, leaves its parent's file alone."""
        session = self.session("vforks")
        self.same(session, self.torture, "vforks", 20)
        processes = self.nothing_lost(session)
        self.assertEqual(self.slow(session, "usleep", MS), 10)
        parent = max(processes, key=lambda p: len(p.records))
        self.assertEqual(len(parent.of("fork")), 10, "those that called exec")
        self.assertEqual({r.a for r in parent.of("fork")}, {p.pid for p in processes if p is not parent})
        self.assertEqual({state(p) for p in session.glob("*.ring")}, {"exited"})

    def test_names_of_threads(self) -> None:
        session = self.session("names")
        self.same(session, self.torture, "names")
        process, = self.nothing_lost(session)
        self.assertIn("a-worker", [r.text for r in process.of("thread")])

    def test_ways_to_end(self) -> None:
        for how, status, expected in (("exit", 6, "exited"), ("_exit", 7, "exited"), ("_Exit", 8, "exited"), ("quick_exit", 9, "exited"),
                                      ("abort", -signal.SIGABRT, "runs"), ("kill", -signal.SIGKILL, "runs")):
            with self.subTest(how):
                session = self.session(f"end-{how}", threshold=MS)
                done = self.same(session, self.torture, how)
                self.assertEqual(done.returncode, status)
                self.assertEqual(self.slow(session, "usleep", 2 * MS), 1)
                self.assertEqual([state(p) for p in session.glob("*.ring")], [expected])

    def test_killed_while_it_waits(self) -> None:
        session = self.session("hang", threshold=0)
        with subprocess.Popen([self.torture, "hang"], stdout=subprocess.PIPE, env=self.environment(session)) as process:
            self.assertEqual(process.stdout.readline(), b"hangs 1\n")
            time.sleep(0.1)
            process.kill()
        self.assertEqual([inside(p) for p in session.glob("*.ring")], [["read"]])

    def test_two_copies(self) -> None:
        copy = self.folder / "libholdup-inject.so"
        shutil.copy(LIBRARY, copy)
        session = self.session("twice", threshold=MS)
        for preload in (f"{LIBRARY}:{copy}", f"{copy} {LIBRARY}", f"{LIBRARY}:{LIBRARY}"):
            shutil.rmtree(session)
            self.session("twice", threshold=MS)
            self.same(session, self.torture, "threads", 20, env={"LD_PRELOAD": preload})
            self.assertEqual(self.slow(session, "usleep"), 40, preload)

    def library(self, name: str, *flags: str) -> pathlib.Path:
        return self.build("early", "-fPIC", "-shared", *flags, out=name)

    def test_before_and_after_us(self) -> None:
        """Constructors that run before ours and destructors after; an allocator that our first calls enter."""
        early, allocator = self.library("early.so"), self.library("allocator.so", "-DWITH_ALLOCATOR", "-fno-builtin")
        for other in (early, allocator):
            for preload in (f"{LIBRARY}:{other}", f"{other}:{LIBRARY}"):
                with self.subTest(preload):
                    session = self.session("early", threshold=0)
                    done = self.run_in(session, self.torture, "threads", 20, env={"LD_PRELOAD": preload})
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"shared 400\n", b""))
                    self.assertIn(self.slow(session, "usleep", MS), range(40, 43), "forty of threads, two of the library")

    def test_libraries_loaded_and_unloaded(self) -> None:
        session = self.session("libraries", threshold=MS // 2)
        self.same(session, self.torture, "libraries", 50, env={"TORTURE_LIBRARY": str(self.library("loaded.so"))})
        self.assertEqual(self.slow(session, "usleep", MS), 100)

    def test_forks_of_a_process_with_threads(self) -> None:
        """A child may be born while another thread holds our locks."""
        session = self.session("forks", threshold=0)
        self.same(session, self.torture, "forks", 100)
        processes = self.nothing_lost(session)
        self.assertEqual(len(processes), 101)
        self.assertEqual(self.slow(session, "usleep"), 100)
        for process in processes:
            names = {r.text for r in os_calls(process) if name_of(r) == "access"}
            self.assertTrue(all(text.startswith("/nowhere/") for text in names), "texts are those of the calls")

    def test_static_binary(self) -> None:
        """It is not recorded, and not harmed; what it starts is."""
        program = self.build("torture", "-static", "-s", out="torture-static")
        session = self.session("static", threshold=MS)
        for way in ("alarms", "threads"):
            self.same(session, program, way, 20)
        self.assertEqual(rings.read_session(session), [])
        self.same(session, "sh", "-c", f"{program} nap; {self.torture} nap")
        self.assertEqual(self.slow(session, "usleep", MS), 1)

    def test_other_c_library(self) -> None:
        """One library for glibc and musl."""
        if not shutil.which("musl-gcc"):
            skip_loudly("musl-gcc is not installed: no program of another C library is recorded")
            return
        program = self.build("torture", compiler="musl-gcc", out="torture-musl")
        for way, number, call, least, expected in (("threads", 20, "usleep", 2 * MS, 40), ("chain", 20, "usleep", 2 * MS, 21), ("jumps", 20, "usleep", MS, 20),
                                                   ("storm", 50, "usleep", 100_000, 50), ("vforks", 10, "usleep", MS, 5), ("alarms", 50, "read", 10 * MS, 0)):
            with self.subTest(way):
                session = self.session(f"musl-{way}", threshold=100_000)
                self.same(session, program, way, number)
                found = self.slow(session, call, least) + self.slow(session, "nanosleep" if call == "usleep" else "none", least)
                self.assertEqual(found, expected)

    def test_nobody(self) -> None:
        """A user without rights, in a session directory that is open to it, and in one that is not."""
        library = for_nobody(self, LIBRARY, self.torture) / LIBRARY.name
        become = (*NOBODY, "--no-new-privs")
        for mode, expected in ((0o777, 5), (0o700, 0)):
            session = self.session("nobody", threshold=MS)
            (session / "control").chmod(0o666)
            session.chmod(mode)
            self.same(session, *become, "/bin/sh", "-c", f"{self.torture} nap; {self.torture} exit; {self.torture} threads 1",
                      env={"LD_PRELOAD": str(library)})
            session.chmod(0o777)
            self.assertEqual(self.slow(session, "usleep", MS) + self.slow(session, "pthread_join", MS), expected)

    def test_no_proc(self) -> None:
        hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
        if subprocess.run([*hide, "true"], capture_output=True, check=False).returncode != 0:
            skip_loudly("unshare is not permitted here: no run without /proc")
            return
        session = self.session("no-proc", threshold=MS)
        self.same(session, *hide, self.torture, "threads", 10)
        self.assertEqual(self.slow(session, "usleep"), 20)

    def test_everyday_programs(self) -> None:
        """Output and exit status as without us."""
        repository = self.folder / "repository"
        repository.mkdir()
        (repository / "text").write_text("\n".join(f"line {i * 7919 % 1000}" for i in range(5000)))
        git = "git -c user.name=n -c user.email=e@x"
        commands = {
            "bash": "for i in 1 2 3; do echo $i | cat; done; (exit 3) & wait $!; echo $?; read x < text; echo \"$x\"; exit 5",
            "python3": "python3 -c 'import threading, subprocess, sys; t = threading.Thread(target=lambda: print(sum(range(1000)))); t.start(); t.join(); "
                       "print(subprocess.run([\"sort\", \"text\"], capture_output=True).stdout[:50]); sys.exit(4)'",
            "perl": "perl -e 'open my $f, \"<\", \"text\"; my @l = <$f>; print scalar(@l), \"\\n\"; print `echo from a shell`; exit 2'",
            "git": f"rm -rf .git; git init -q -b main . && git add text && GIT_AUTHOR_DATE=@1 GIT_COMMITTER_DATE=@1 {git} commit -q -m one && git log --format=%H && git fsck",
            "tar": "tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - text | tar -tvf - ; tar -cf - text | gzip -n | gzip -d | tar -xOf - | cksum",
            "sort": "sort -S 64k --parallel=2 -T . text | uniq -c | tail -3",
            "find": "find . -name text -exec wc -l {} +",
            "make": "printf 'all: a b\\na b:\\n\\techo $@\\n' | make -s -j2 -f - | sort; make -s -f /nowhere",
        }
        for name, command in commands.items():
            if not shutil.which(name):
                skip_loudly(f"{name} is not installed")
                continue
            with self.subTest(name):
                session = self.session(f"everyday-{name}", threshold=0)
                self.same(session, "bash", "-c", command, cwd=repository)
                self.assertGreater(sum(len(os_calls(p)) for p in self.nothing_lost(session)), 5)


if __name__ == "__main__":
    unittest.main()
