# SPDX-License-Identifier: Apache-2.0
"""What a job tells the monitor of its node: the numbers are those of the program's own log, whoever listens, and whatever becomes of the job."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import textwrap
import time
import unittest

from tests.cuda import stand
from tests.live import CAUSES, FIELDS, FORMAT, LIMITS_US, Ear, Told, bucket, check, environment
from tests.program import EXE, NOBODY, ROOT, for_nobody, skip_loudly, torch_or_skip
from tests.recorder import LIBRARY, Recorded, build, holdup, once

sys.path.insert(0, str(ROOT / "python"))
from holdup import _live, markers  # noqa: E402

sys.path.remove(str(ROOT / "python"))

load_tests = once

SLACK = 1.01            # one clock against another
MORE_NS = 50000


class Log:
    """What the program's own clock says: for each sum the least and the most that it can be, since each marker took some time itself."""

    def __init__(self, path: pathlib.Path) -> None:
        self.steps: list[tuple[int, int]] = []
        self.causes: dict[str, list[int]] = {}
        stack: list[str] = []
        step = last = None
        for line in path.read_text().splitlines():
            word, *cause, before, after = line.split()
            before, after = int(before), int(after)
            if word == "child":
                continue
            if step and last and any(stack):
                sums = self.causes.setdefault(next(c for c in reversed(stack) if c), [0, 0])
                sums[0] += max(before - last[1], 0)
                sums[1] += after - last[0]
            if word in ("step", "end") and step:
                self.steps.append((max(before - step[1], 0), after - step[0]))
            if word in ("step", "end"):
                step = (before, after) if word == "step" else None
            elif word == "push":
                stack.append(cause[0] if cause else "")
            elif word == "pop":
                stack.pop()
            last = (before, after)

    def compare(self, case: unittest.TestCase, told: Told, *others: "Log") -> None:
        logs = (self, *others)
        steps = [step for log in logs for step in log.steps]
        case.assertEqual(told["steps"], len(steps))
        case.assertGreaterEqual(told["step_ns"] * SLACK + MORE_NS, sum(least for least, _ in steps))
        case.assertLessEqual(told["step_ns"], sum(most for _, most in steps) * SLACK + MORE_NS)
        for i, n in enumerate(told.histogram):
            places = [{bucket(least / SLACK), bucket(most * SLACK)} for least, most in steps]
            between = [range(min(p), max(p) + 1) for p in places]
            case.assertGreaterEqual(n, sum(p == {i} for p in places), f"steps of at most {LIMITS_US[i:i + 1]} us")
            case.assertLessEqual(n, sum(i in p for p in between), f"steps of at most {LIMITS_US[i:i + 1]} us")
        case.assertEqual(set(told.causes), {cause for log in logs for cause in log.causes})
        for cause, ns in told.causes.items():
            least, most = (sum(log.causes.get(cause, [0, 0])[k] for log in logs) for k in (0, 1))
            case.assertGreaterEqual(ns * SLACK + MORE_NS, least, cause)
            case.assertLessEqual(ns, most * SLACK + MORE_NS, cause)


class Case(Recorded):
    def setUp(self) -> None:
        super().setUp()
        self.socket, self.log = self.folder / "job.sock", self.folder / "log"
        self.ear = Ear(self.socket)
        self.addCleanup(lambda: self.ear.close())

    def program(self) -> pathlib.Path:
        return self.folder / "live_steps" if (self.folder / "live_steps").exists() else build(self.folder, "live_steps")

    def start(self, *command: object, env: dict[str, str] | None = None, options: tuple[str, ...] = ("--mode", "off")) -> subprocess.Popen:
        process = subprocess.Popen([EXE, "run", "-q", *options, "--no-report", "-f", "-o", self.trace, "--", *map(str, command)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env or environment(self.socket))
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process: subprocess.Popen) -> None:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    def run_it(self, *command: object, **more: object) -> subprocess.CompletedProcess:
        process = self.start(*command, **more)      # type: ignore[arg-type]
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def hear_all(self) -> list[Told]:
        told = self.ear.close()
        check(self, told)
        return told


class Layout(Recorded):
    def test_python_and_c_agree(self) -> None:
        """Python's packing, limits and causes against the header itself."""
        source = self.folder / "layout.c"
        source.write_text("#include <stdio.h>\n#include \"protocol/format.h\"\nint main(void) {\n" + "".join(
            f'printf("%zu ", offsetof(hu_live_datagram, {name}));\n' for name in [*FIELDS, "cause_ns", "histogram"]) + """
            printf("\\n%zu %d %d %u %d\\n", sizeof(hu_live_datagram), HU_LIVE_VERSION, HU_LIVE_PERIOD_MS, HU_LIVE_MAGIC, HU_LIVE_CAUSES_ROOM);
            #define L(id, name, help) printf("%s ", name);
            HU_LIVE_CAUSES(L)
            #define U(us) printf("%d ", us);
            printf("\\n"); HU_LIVE_LIMITS_US(U)
            printf("\\n%u", (unsigned)HU_DOOR_LIVE);
            printf("\\n%s %s %s\\n", HU_LIVE_VARIABLE, HU_LIVE_SOCKET, HU_LIVE_SOCKET_OF_USER); return 0; }""")
        subprocess.run(["cc", f"-I{ROOT / 'src'}", "-o", self.folder / "layout", source], check=True)
        offsets, facts, causes, limits, door, names = subprocess.run([self.folder / "layout"], check=True, capture_output=True, text=True).stdout.splitlines()
        at, expected = 0, []
        for token in re.findall(r"(\d*)([A-Za-z])", FORMAT):
            n, kind = int(token[0] or 1), token[1]
            size = struct.calcsize("<" + kind)
            expected += [at] if kind == "s" or n in (16, 23) else [at + i * size for i in range(n)]
            at += n * size
        self.assertEqual(list(map(int, offsets.split())), expected)
        self.assertEqual(list(map(int, facts.split())), [struct.calcsize(FORMAT), _live.VERSION, _live.PERIOD_S * 1000, _live.MAGIC, _live.CAUSES_ROOM])
        self.assertEqual(causes.split(), CAUSES)
        self.assertEqual(list(map(int, limits.split())), LIMITS_US)
        self.assertEqual(names.split(), [_live.VARIABLE, _live.SOCKET, _live.SOCKET_OF_USER])
        self.assertEqual((_live.FORMAT, [us * 1000 for us in LIMITS_US]), (FORMAT, _live.LIMITS_NS))
        self.assertEqual(len(CAUSES), _live.CAUSES)
        for name, cause in (("data-loading", _live.DATA), ("communication", _live.COMMUNICATION), ("checkpoint", _live.CHECKPOINT),
                            ("copies", _live.TRANSFER), ("device-wait", _live.DEVICE), ("forward", _live.FORWARD), ("backward", _live.BACKWARD),
                            ("optimizer", _live.OPTIMIZER)):
            self.assertEqual(CAUSES[cause], name)
        self.assertEqual(int(door), markers.LIVE)
        self.assertIn(f"LIVE = 1 << {markers.LIVE.bit_length() - 1} ", (ROOT / "python/hook/holdup_torch.py").read_text())


class Counts(Case):
    def test_in_every_mode(self) -> None:
        """Recorded or not, the numbers are those of the program's own clock."""
        for options in (("--mode", "off"), (), ("--mode", "flight"), ("--steps", "3..4"), ("--trace", "user"), ("--start-later",)):
            self.ear.told.clear()
            done = self.run_it(self.program(), self.log, 25, options=options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            told = self.ear.wait(lambda t: t["is_over"])
            with self.subTest(options=options):
                Log(self.log).compare(self, told)
                self.assertEqual((told["samples"], told["tokens"], told["checkpoints"]), (200, 25000, 25))
                self.assertEqual((told["step_number"], told["now"], told["name"], told["rank"]), (-1, 0, "live_steps", -1))
                self.assertRegex(told["job_id"], r"^live_steps-\d+$")
                self.assertLess(abs(told["last_step_ns"] - told["sent_ns"]), 60e9)
                check(self, self.ear.told)

    def test_a_rank_says_which(self) -> None:
        env = environment(self.socket, SLURM_JOB_ID="77", SLURM_STEP_ID="3", SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="2", SLURM_LOCALID="1",
                          SLURM_STEP_TASKS_PER_NODE="4", SLURM_NODEID="0")
        self.run_it(self.program(), self.log, 2, env=env)
        told = self.hear_all()[-1]
        self.assertEqual([told[k] for k in ("job_id", "step_id", "rank", "local_rank", "world_size", "local_size")], ["77", "3", 2, 1, 4, 4])

    def test_a_forked_child_has_counts_of_its_own(self) -> None:
        self.assertEqual(self.run_it(self.program(), self.log, 10, "fork", 5, "more", 1).returncode, 0)
        told = self.hear_all()
        child = int(re.search(r"child (\d+)", self.log.read_text())[1])
        self.assertEqual(len({t["pid"] for t in told}), 2)
        parents = [t for t in told if t["pid"] != child]
        self.assertEqual((self.ear.of(child)[-1]["steps"], parents[-1]["steps"]), (5, 11))
        self.assertTrue(self.ear.of(child)[-1]["is_over"] and parents[-1]["is_over"])
        Log(self.folder / "log.fork").compare(self, self.ear.of(child)[-1])
        Log(self.log).compare(self, parents[-1])

    def test_no_half_of_a_step_is_told(self) -> None:
        """Ten million steps, a handler and a thread that mark, too: each datagram adds up, and nearly nothing is missed."""
        n = 10000000
        self.assertEqual(self.run_it(self.program(), self.log, 0, "storm", n).returncode, 0)
        told = self.hear_all()
        self.assertGreater(len(told), 1)
        self.assertGreater(told[-1]["steps"], 0.999 * n)
        self.assertLess(told[-1]["steps"], 1.1 * n)
        self.assertEqual(set(told[-1].causes), {"forward", "checkpoint"}, "a thread that makes no steps has no causes")
        self.assertGreater(told[-1]["samples"], 0)

    def test_exec_goes_on_counting(self) -> None:
        for options in (("--mode", "off"), ()):
            self.ear.told.clear()
            self.assertEqual(self.run_it(self.program(), self.log, 10, "exec", 6, options=options).returncode, 0)
            told = self.ear.wait(lambda t: t["is_over"])
            self.assertEqual(len({(t["pid"], t["began"]) for t in self.ear.told}), 1)
            Log(self.log).compare(self, told, Log(self.folder / "log.exec"))
            self.assertEqual(told["samples"], 16 * 8)
            check(self, self.ear.told)


class Elsewhere(Case):
    def still(self, *before: object) -> Told:
        """What a program tells that hangs, in a process that has just begun."""
        process = self.start(*before, self.program(), self.log, 3, "hang")
        told = self.ear.wait(lambda t: t["steps"] == 3 and t.now == "checkpoint")
        stat = pathlib.Path(f"/proc/{told['pid']}/stat").read_text()
        self.assertEqual(stat.partition("(")[2].rpartition(")")[0], "live_steps")
        self.assertEqual(int(stat.rpartition(")")[2].split()[19]), told["began"])
        os.kill(told["pid"], signal.SIGKILL)
        process.communicate(timeout=60)
        return told

    def test_in_a_container_it_has_the_number_that_we_know_it_by(self) -> None:
        if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True, check=False).returncode:
            skip_loudly("no namespace of processes can be made here")
            self.skipTest("no namespaces")
        self.still("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh")

    def test_of_another_user(self) -> None:
        """It cannot open the session: its ring is given to it."""
        folder = for_nobody(self, LIBRARY, EXE, self.program())
        self.log = folder / "log"
        self.log.touch()
        self.log.chmod(0o666)
        process = subprocess.Popen([folder / pathlib.Path(EXE).name, "run", "-q", "--mode", "off", "--no-report", "-f", "-o", self.trace, "--", *NOBODY,
                                    folder / "live_steps", self.log, "3", "hang"], env=environment(self.socket), stdin=subprocess.DEVNULL)
        self.addCleanup(self.stop, process)
        told = self.ear.wait(lambda t: t["steps"] == 3 and t.now == "checkpoint")
        self.assertEqual(os.stat(f"/proc/{told['pid']}").st_uid, 65534)
        os.kill(told["pid"], signal.SIGKILL)
        process.wait(timeout=60)


class Ends(Case):
    def test_what_is_killed_says_nothing_more(self) -> None:
        process = self.start(self.program(), self.log, 3, "hang")
        told = self.ear.wait(lambda t: t["steps"] == 3 and t["step_number"] == 3 and t.now == "checkpoint")
        self.assertLess(told["step_since_ns"], told["now_since_ns"] + 1)
        self.assertGreater(told["step_since_ns"], told["last_step_ns"] - 1)
        later = self.ear.wait(lambda t: t["sequence"] >= told["sequence"] + 2)       # it goes on telling that it waits
        self.assertEqual((later["steps"], later.now), (3, "checkpoint"))
        self.assertLess(abs(later["now_since_ns"] - told["now_since_ns"]), 1e8)
        os.kill(told["pid"], signal.SIGKILL)
        process.communicate(timeout=60)
        self.assertFalse(any(t["is_over"] for t in self.hear_all()))

    def test_an_error_is_an_end(self) -> None:
        self.assertEqual(self.run_it(self.program(), self.log, 2, "exit", 3).returncode, 3)
        self.assertEqual([t["is_over"] for t in self.hear_all()][-1], 1)

    def test_a_killed_supervisor(self) -> None:
        """Nothing is told any more, and the program goes on."""
        go = self.folder / "go"
        process = self.start(self.program(), self.log, 3, "await", go, "more", 2)
        told = self.ear.wait(lambda t: t["steps"] == 3)
        process.kill()
        process.wait(timeout=60)
        go.touch()
        for _ in range(6000):
            if self.log.read_text().count("end") == 2:
                break
            time.sleep(0.01)
        self.assertEqual(len(Log(self.log).steps), 5)
        self.assertEqual(self.ear.of(told["pid"])[-1]["steps"], 3)


class Receivers(Case):
    def test_one_that_comes_later_and_again(self) -> None:
        """Sums are of the whole process: whoever comes late has missed nothing."""
        self.ear.close()
        go, end = self.folder / "go", self.folder / "end"
        process = self.start(self.program(), self.log, 5, "await", go, "more", 4, "await", end)
        while not self.log.exists() or self.log.read_text().count("end") < 1:
            time.sleep(0.01)
        self.ear = Ear(self.socket)
        self.assertEqual(self.ear.wait(lambda t: True)["steps"], 5)
        self.ear.close()
        go.touch()
        while self.log.read_text().count("end") < 2:
            time.sleep(0.01)
        self.ear = Ear(self.socket)
        self.assertEqual(self.ear.wait(lambda t: t["steps"] == 9)["samples"], 72)
        status = holdup("status", "--json", env=environment(None))
        run, = (run for run in json.loads(status.stdout) if run["supervisor"] == process.pid)
        self.assertGreaterEqual(run["told"], 2)
        self.assertGreater(run["not_told"], 0, "nobody was there for a while")
        end.touch()
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, err), (0, "", ""))
        Log(self.log).compare(self, self.hear_all()[-1])

    def test_a_full_queue_holds_nobody_up(self) -> None:
        """A receiver that does not read: the job ends as ever, and nothing is said about it."""
        self.ear.close()
        self.ear = Ear(self.socket, listens=False)
        with open("/proc/sys/net/unix/max_dgram_qlen", encoding="ascii") as file:
            room = int(file.read())
        if room > 64:
            skip_loudly(f"net.unix.max_dgram_qlen is {room}: that queue is not filled here")
            self.skipTest("a long queue")
        # each process tells at its first marker and at its end: more than the queue holds
        script = self.script(f"""
            import subprocess
            for i in range({room}):
                subprocess.run([{str(self.program())!r}, f"{self.log}-{{i}}", "1"], check=True)
            """)
        done = self.run_it(sys.executable, script)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(len(list(self.folder.glob("log-*"))), room)
        told = self.hear_all()
        self.assertGreater(len(told), 0)
        self.assertLess(len(told), 2 * room)

    def test_nobody_asked(self) -> None:
        """HOLDUP_JOB_SOCKET=0 is no, wherever sockets are; without it the user's own is found."""
        folder = self.folder / "run/holdup"
        folder.mkdir(parents=True)
        self.ear.close()
        self.ear = Ear(folder / "job.sock")
        mine = environment(None, XDG_RUNTIME_DIR=str(self.folder / "run"))
        self.run_it(self.program(), self.log, 2, env={**mine, "HOLDUP_JOB_SOCKET": "0"})
        self.assertEqual(self.ear.told, [])
        self.run_it("HOLDUP_JOB_SOCKET=0", self.program(), self.log, 2, env=mine)
        self.assertEqual(self.ear.told, [])
        self.run_it(self.program(), self.log, 2, env=mine)
        self.assertEqual(self.ear.wait(lambda t: t["is_over"])["steps"], 2)

    def test_who_uses_no_marker_tells_nothing(self) -> None:
        self.run_it("true")
        self.run_it(sys.executable, "-c", "import time; time.sleep(0.7)")
        self.run_it(sys.executable, "-c", "import holdup, time\nwith holdup.phase('data'): time.sleep(0.7)")
        self.assertEqual(self.hear_all(), [])

    def test_a_path_that_is_too_long(self) -> None:
        done = self.run_it(self.program(), self.log, 2, env=environment(pathlib.Path("/" + "x" * 120)))
        self.assertEqual(done.returncode, 0)
        self.assertIn("HOLDUP_JOB_SOCKET: /xxx", done.stderr)
        self.assertEqual(len(Log(self.log).steps), 2)


PYTHON = """
    import sys, time
    log = open(sys.argv[1], "w")
    def logged(word, call, *args):
        before = time.monotonic_ns(); done = call(*args); log.write(f"{word} {before} {time.monotonic_ns()}\\n"); return done
    import holdup
    def phase(name, cause):
        class P:
            def __enter__(self): self.p = holdup.phase(name); logged("push " + cause, self.p.__enter__)
            def __exit__(self, *a): logged("pop", self.p.__exit__, *a)
        return P()
    def steps(n):
        for i in range(n):
            logged("step", holdup.step)
            with phase("preprocessing", "data-loading"): time.sleep(0.001)
            with phase("forward", "forward"):
                time.sleep(0.002 * (i % 4))
                with holdup.range("attention"):
                    with phase("checkpoint", "checkpoint"): time.sleep(0.0005)
            with phase("optimizer_step", "optimizer"): pass
            holdup.count(samples=8, tokens=1000)
        logged("end", holdup.step_end)
        log.flush()
"""


class Python(Case):
    def own(self, text: str, python: str = sys.executable, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        path = self.script(textwrap.dedent(PYTHON) + textwrap.dedent(text))
        return subprocess.run([python, path, self.log], capture_output=True, text=True, timeout=120, check=False,
                              env={**(env or environment(self.socket)), "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"})

    def test_without_a_recorder(self) -> None:
        done = self.own("steps(200)\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        told = self.hear_all()
        self.assertEqual({t.sender for t in told}, {told[0]["pid"]}, "it tells by itself")
        self.assertTrue(told[-1]["is_over"])
        self.assertEqual((told[-1]["name"], told[-1]["samples"], told[-1]["tokens"], told[-1]["checkpoints"]), ("train.py", 1600, 200000, 200))
        Log(self.log).compare(self, told[-1])

    def test_with_a_recorder(self) -> None:
        """The supervisor tells, and nobody else."""
        path = self.script(textwrap.dedent(PYTHON) + "steps(100)\n")
        for options in (("--mode", "off"), ()):
            self.ear.told.clear()
            done = self.run_it(sys.executable, path, self.log, options=options)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            told = self.ear.wait(lambda t: t["is_over"])
            self.assertNotIn(told["pid"], {t.sender for t in self.ear.told})
            self.assertEqual((told["name"], told["samples"], told["tokens"], told["checkpoints"]), ("train.py", 800, 100000, 100))
            Log(self.log).compare(self, told)
            check(self, self.ear.told)

    def test_forked_children(self) -> None:
        done = self.own("""
            import os
            steps(10)
            child = os.fork()
            if child == 0:
                log = open(sys.argv[1] + ".fork", "w")
                for _ in range(300): steps(1)
                sys.exit(0)
            os.waitpid(child, 0)
            if os.fork() == 0:
                with holdup.phase("data"): time.sleep(0.7)
                os._exit(0)             # a worker without a step: not told of
            os.wait()
            print(child)
            """)
        self.assertEqual(done.stderr, "")
        told, child = self.hear_all(), int(done.stdout)
        self.assertEqual(len({t["pid"] for t in told}), 2)
        self.assertEqual({t.sender for t in self.ear.of(child)}, {child})
        self.assertEqual([t["steps"] for t in told if t["pid"] != child][-1], 10)
        Log(self.folder / "log.fork").compare(self, self.ear.of(child)[-1])

    def test_a_monitor_that_comes_later(self) -> None:
        """Its socket is not named: nothing is counted until a step finds it."""
        folder = self.folder / "run/holdup"
        folder.mkdir(parents=True)
        self.ear.close()
        self.ear = Ear(folder / "other.sock")
        done = self.own(f"""
            import os, threading
            from holdup import _live
            _live.SOCKET = "/nowhere"           # this machine may have a monitor
            steps(10)
            assert threading.active_count() == 1 and holdup.markers.hub.live is None
            log.seek(0), log.truncate()
            os.link({str(folder / "other.sock")!r}, {str(folder / "job.sock")!r})
            while threading.active_count() == 1:
                holdup.step_end(); holdup.step(); holdup.step_end()
                log.seek(0), log.truncate()
            steps(20)
            """, env=environment(None, XDG_RUNTIME_DIR=str(self.folder / "run")))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        told = self.hear_all()[-1]
        self.assertGreaterEqual(told["steps"], 20)
        self.assertLess(told["steps"], 30)
        self.assertTrue(told["is_over"])

    def test_what_is_killed_says_nothing_more(self) -> None:
        done = self.own("""
            import os
            steps(3)
            holdup.step(7)
            holdup.phase("data").__enter__()
            time.sleep(1.5)
            os.kill(os.getpid(), 9)
            """)
        self.assertEqual(done.returncode, -9)
        told = self.hear_all()
        self.assertGreater(len(told), 0)
        self.assertEqual((told[-1]["step_number"], told[-1].now, told[-1]["is_over"], told[-1]["steps"]), (7, "data-loading", 0, 3))

    def test_loaders_and_ranks(self) -> None:
        done = self.own("""
            for batch in holdup.ProfiledDataLoader([[1, 2]] * 20):
                holdup.step()
            """, env=environment(self.socket, RANK="1", LOCAL_RANK="1", WORLD_SIZE="4", LOCAL_WORLD_SIZE="2", TORCHELASTIC_RUN_ID="run7"))
        self.assertEqual(done.stderr, "")
        told = self.hear_all()[-1]
        self.assertEqual(set(told.causes), {"data-loading"})
        self.assertEqual([told[k] for k in ("job_id", "step_id", "rank", "local_rank", "world_size", "local_size", "steps")], ["run7", "", 1, 1, 4, 2, 19])

    def test_ranks_are_those_of_the_recorder(self) -> None:
        """Two readers of one list of launchers: src/protocol/rank_id.c and the package."""
        for variables in ({"RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "3"},
                          {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
                           "PMIX_NAMESPACE": "ns1"},
                          {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2", "PBS_JOBID": "9.host"},
                          {"SLURM_JOB_ID": "5", "SLURM_ARRAY_JOB_ID": "4", "SLURM_ARRAY_TASK_ID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8",
                           "SLURM_PROCID": "3", "SLURM_LOCALID": "3"},
                          {"RANK": "9", "LOCAL_RANK": "9", "WORLD_SIZE": "3", "TORCHELASTIC_RUN_ID": "none"}):
            env, seen = environment(self.socket, **variables), []
            self.own("steps(1)\n", env=env)
            path = self.script(textwrap.dedent(PYTHON) + "steps(1)\n")
            self.run_it(sys.executable, path, self.log, env=env)
            for told in (self.ear.told[0], self.ear.told[-1]):
                seen.append([told[k] for k in ("rank", "local_rank", "world_size", "local_size", "step_id")])
            with self.subTest(**variables):
                self.assertEqual(seen[0], seen[1])
                self.assertEqual(self.ear.told[0]["job_id"], self.ear.told[-1]["job_id"])
            self.ear.told.clear()


class Mpi(Case):
    def test_waiting_for_others_is_communication(self) -> None:
        """A supervisor for each rank, and one for all of them."""
        flavours = [(name, start) for name, start in (("openmpi", ("--oversubscribe",)), ("mpich", ())) if shutil.which(f"mpicc.{name}")]
        if not flavours:
            skip_loudly("neither Open MPI nor MPICH is installed (scripts/setup test)")
            self.skipTest("no MPI")
        env = environment(self.socket, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name, options in flavours:
            program = build_mpi(self.folder, name)
            run = [EXE, "run", "-q", "--mode", "off", "--no-report", "-f", "-o", str(self.folder / "r%r.pftrace"), "--"]
            mpirun = [f"mpirun.{name}", *options, "-n", "2"]
            for command in ([*mpirun, *run, str(program)], [*run, *mpirun, str(program)]):
                self.ear.told.clear()
                done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0, done.stderr)
                waited = {int(rank): (int(pid), float(ns)) for rank, pid, ns in map(str.split, done.stdout.splitlines())}
                self.assertEqual(set(waited), {0, 1})
                for rank, (pid, ns) in waited.items():
                    told = self.ear.wait(lambda t, pid=pid: t["pid"] == pid and t["is_over"])
                    with self.subTest(mpi=name, rank=rank, command=command[0]):
                        self.assertEqual((told["rank"], told["world_size"], told["steps"]), (rank, 2, 20))
                        self.assertEqual(set(told.causes), {"communication", "backward"})
                        self.assertLess(abs(told.causes["communication"] - ns), 0.01 * ns + 20 * MORE_NS)
                self.assertGreater(max(ns for _, ns in waited.values()), 0)     # who waits more is the scheduler's on a crowded machine
                check(self, self.ear.told)


def build_mpi(folder: pathlib.Path, flavour: str) -> pathlib.Path:
    out = folder / f"live_mpi.{flavour}"
    subprocess.run([f"mpicc.{flavour}", "-O1", "-w", f"-I{ROOT / 'include'}", "-o", out, ROOT / "tests/inject/live_mpi.c", "-ldl"], check=True, capture_output=True)
    return out


class Device(Case):
    def run_steps(self, *options: str) -> tuple[Told, float]:
        self.ear.told.clear()
        r = stand.Recording(self.folder / "cuda", stand.program("live"), libcupti=stand.cupti(), options=("-f", *options), env={"HOLDUP_JOB_SOCKET": str(self.socket)})
        self.assertEqual(r.done.returncode, 0, r.done.stderr)
        self.assertEqual(r.log.misuse(), [])
        return self.ear.wait(lambda t: t["is_over"]), float(r.done.stdout)

    def test_waiting_for_the_device(self) -> None:
        """By the stand-in of CUPTI: calls that wait for it are told to its subscriber while it records, and to nobody else."""
        told, waited = self.run_steps()
        self.assertEqual((told["steps"], set(told.causes)), (20, {"device-wait", "forward"}))
        self.assertGreater(waited, 20 * 3 * 1e6)
        self.assertGreater(told.causes["device-wait"], 0.8 * waited)
        self.assertLess(told.causes["device-wait"], waited + MORE_NS)
        check(self, self.ear.told)
        for options in (("--mode", "off"), ("--trace", "user")):     # CUPTI is not asked
            self.assertEqual(set(self.run_steps(*options)[0].causes), {"forward"}, options)

    def test_numbers_of_the_calls(self) -> None:
        """Against the vendor's headers, where PyTorch brought them."""
        headers = sorted(pathlib.Path(torch_or_skip(self)).parent.parent.glob("lib/python*/site-packages/nvidia/*/include/cupti_runtime_cbid.h"))
        if not headers:
            skip_loudly("this PyTorch comes without headers of CUPTI")
            self.skipTest("no headers")
        source = (ROOT / "src/inject/cupti_calls.c").read_text()
        for kind, names in (("runtime", r"cuda(Thread|Stream|Event|Device)Synchronize_\w+"), ("driver", r"cu(Ctx|Event|Stream)Synchronize(_ptsz|_v2)?")):
            text = headers[-1].with_name(f"cupti_{kind}_cbid.h").read_text()
            real = {int(m[1]) for m in re.finditer(r"_TRACE_CBID_(?:" + names.replace("(", "(?:") + r") += (\d+),", text)}
            listed = re.search(kind + r"_waits\[\] = \{([0-9, ]+)\}", source)
            assert listed
            self.assertEqual({int(n) for n in listed[1].split(",")}, real, kind)


TRAIN = """
    import gc, sys, time, torch, torch.distributed as dist
    from torch.utils.data import DataLoader, Dataset
    torch.set_num_threads(1)
    class Slow(Dataset):
        def __len__(self): return 80
        def __getitem__(self, i): time.sleep(0.001); return torch.ones(16)
    model, rank = torch.nn.Linear(16, 16), 0
    if len(sys.argv) > 2:
        dist.init_process_group("gloo")
        rank, model = dist.get_rank(), torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for i, x in enumerate(DataLoader(Slow(), batch_size=8)):
        time.sleep((2 if i == 7 else 0.04) * rank)
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        if i in (3, 6):
            torch.save(model.state_dict(), sys.argv[1] + str(rank))
    if len(sys.argv) > 2:
        model = optimizer = None        # as in test_gloo.py: PyTorch aborts at exit otherwise, now and then
        gc.collect()
        dist.destroy_process_group()
"""


class Torch(Case):
    def test_the_hook_tells_steps_and_causes(self) -> None:
        python = torch_or_skip(self)
        for options in (("--pytorch", "--mode", "off"), ("--pytorch",)):
            self.ear.told.clear()
            done = self.run_it(python, self.script(TRAIN), self.folder / "state", options=options)
            self.assertEqual(done.returncode, 0, done.stderr)
            told = self.ear.wait(lambda t: t["is_over"])
            self.assertEqual((told["steps"], told["checkpoints"], told["name"]), (10, 2, "train.py"))
            self.assertEqual(set(told.causes), {"data-loading", "checkpoint", "optimizer"}, "no collective, no DDP: nothing is known of these")
            self.assertGreater(told.causes["data-loading"], 80e6)
            self.assertGreater(min(told.causes.values()), 0)
            check(self, self.ear.told)

    def test_waiting_for_gloo_is_communication(self) -> None:
        python = torch_or_skip(self)
        run = pathlib.Path(python).parent / "torchrun"
        command = [run] if run.exists() else [python, "-m", "torch.distributed.run"]
        done = self.run_it(*command, "--nproc-per-node", "2", self.script(TRAIN), self.folder / "state", "ddp", options=("--pytorch", "--mode", "off"))
        self.assertEqual(done.returncode, 0, done.stderr)
        ends = {t["rank"]: t for t in self.hear_all() if t["is_over"]}
        self.assertEqual(set(ends), {0, 1})
        for told in ends.values():
            self.assertEqual((told["steps"], told["checkpoints"], told["world_size"], told["local_size"]), (10, 2, 2, 2))
            self.assertEqual(set(told.causes), {"data-loading", "communication", "checkpoint", "forward", "optimizer"})
        self.assertGreater(ends[0].causes["communication"], 1e9, "rank 1 sleeps 2 s in a step, and rank 0 waits for it")
        while_waiting = [t for t in self.ear.told if t["rank"] == 0 and t.now == "communication"]
        self.assertIn(7, {t["step_number"] for t in while_waiting}, "it says so while it waits")
        self.assertGreater(ends[0].causes["communication"], 2 * ends[1].causes["communication"])


if __name__ == "__main__":
    unittest.main()
