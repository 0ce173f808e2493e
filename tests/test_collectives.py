# SPDX-License-Identifier: Apache-2.0
"""`mpirun holdup doctor --collectives` with the real Open MPI and MPICH: what it measures, checks, and says of ranks that stop, die or are slow."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from tests.program import EXE, ROOT, run, skip_loudly, torch_or_skip
from tests.recorder import once

sys.path.insert(0, str(ROOT / "python"))
from holdup import collectives  # noqa: E402

load_tests = once       # the parts that compute are in tests/unit/test_collectives.c, which runs under sanitizers

HERE = ROOT / "tests/collectives"
KINDS = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
TCP = {"openmpi": {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_pml": "ob1"}, "mpich": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}}
TRIES = 4
MODULE = {"openmpi": "libholdup-mpi.so", "mpich": "libholdup-mpich.so"}


def mpis() -> list[str]:
    found = [m for m in MODULE if shutil.which(f"mpirun.{m}") and shutil.which(f"mpicc.{m}") and (pathlib.Path(EXE).parent / MODULE[m]).exists()]
    for m in sorted(set(MODULE) - set(found)):
        skip_loudly(f"collectives under {m}: no mpirun.{m}, no mpicc.{m}, or {MODULE[m]} was not built (scripts/setup test)")
    return found


def compile_with(mpi: str, source: str, folder: str, *flags: str) -> pathlib.Path:
    out = pathlib.Path(folder) / f"{source}.{mpi}"
    subprocess.run([f"mpicc.{mpi}", "-O2", "-Wall", "-Wextra", "-Werror", *flags, "-o", out, HERE / f"{source}.c"], check=True, timeout=120)
    return out


def mpirun(mpi: str, n: int, *command: Any, env: dict[str, str] | None = None, preload: pathlib.Path | None = None) -> tuple[int, str, str]:
    """The program alone gets the preloaded library: its launcher is no program of MPI."""
    words: list[Any] = [f"mpirun.{mpi}", *(["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []), "-n", n,
                        *(["env", f"LD_PRELOAD={preload}"] if preload else []), *command]
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    done = subprocess.run(list(map(str, words)), capture_output=True, timeout=300, check=False, cwd=ROOT, stdin=subprocess.DEVNULL,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "ASAN_OPTIONS": leaks, **(env or {})})
    return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")


def measure(mpi: str, n: int, *options: str, **more: Any) -> dict[str, Any]:
    status, out, err = mpirun(mpi, n, EXE, "doctor", "--collectives", "--json", *options, **more)
    assert status == 0, err
    return json.loads(out)


def is_crowded() -> bool:
    """Whether threads waited for a CPU for a quarter of the last minute: then the two programs of a ratio ran in different worlds."""
    try:
        return float(re.search(r"some .*avg60=([\d.]+)", pathlib.Path("/proc/pressure/cpu").read_text())[1]) > 25
    except (OSError, TypeError):
        return False


class Collectives(unittest.TestCase):
    def setUp(self) -> None:
        self.mpis = mpis()
        if not self.mpis:
            self.skipTest("no MPI")

    def check(self, found: dict[str, Any], n: int) -> None:
        factors = {"all-reduce": 2 * (n - 1) / n, "all-gather": (n - 1) / n, "reduce-scatter": (n - 1) / n, "all-to-all": (n - 1) / n, "point-to-point": 1}
        self.assertEqual([s["kind"] for s in found["series"][:4]], KINDS)
        self.assertGreaterEqual(len(found["series"]), 5)
        for series in found["series"]:
            self.assertAlmostEqual(series["bus_factor"], factors[series["kind"]], places=5)
            for size in series["sizes"]:
                if size["not_measured"]:
                    self.assertIsNone(size["median_ns"])
                    continue
                self.assertIs(size["is_right"], True)
                self.assertEqual(size["bytes"] % 4, 0)
                self.assertLessEqual(size["low_ns"], size["median_ns"])
                self.assertLessEqual(size["median_ns"], size["high_ns"])
                self.assertAlmostEqual(size["alg_gbps"], size["bytes"] / size["median_ns"], delta=0.01 * size["alg_gbps"] + 1e-4)
                self.assertAlmostEqual(size["bus_gbps"], size["alg_gbps"] * series["bus_factor"], delta=0.01 * size["bus_gbps"] + 2e-4)

    def test_each_mpi_with_several_ranks(self) -> None:
        cpus = len(os.sched_getaffinity(0))
        for mpi in self.mpis:
            for n in (2, 3, 8):
                with self.subTest(mpi=mpi, ranks=n):
                    found = measure(mpi, n, "--sizes", "1K-10K", "--seconds", "1")
                    self.check(found, n)
                    self.assertEqual((found["ranks"], found["is_right"]), (n, True))
                    self.assertEqual([m["ranks"] for m in found["machines"]], [n])
                    self.assertEqual(found["is_crowded"], n > found["machines"][0]["cpus"])
                    self.assertLessEqual(found["machines"][0]["cpus"], cpus)
                    self.assertEqual(len(found["pairs"]["at"]), n * (n - 1) // 2)
                    self.assertEqual((found["pairs"]["between"], found["pairs"]["is_judged"], found["pairs"]["odd_rank"]), ("ranks", False, None))
                    self.assertIn({"openmpi": "Open MPI", "mpich": "MPICH"}[mpi], found["library"])

    def test_sizes_and_a_budget(self) -> None:
        found = measure(self.mpis[0], 2, "--sizes", "1K-100M", "--seconds", "1")
        self.check(found, 2)
        self.assertEqual([s["bytes"] for s in found["series"][0]["sizes"]], [m * 10 ** e for e in range(3, 8) for m in (1, 3)] + [10 ** 8])
        self.assertIsNone(found["series"][0]["sizes"][0]["not_measured"])
        self.assertIn(found["series"][3]["sizes"][-1]["not_measured"], (None, "time"))

    def test_half_a_round_trip_is_what_a_program_by_hand_finds(self) -> None:
        sizes = {"1000": "1K", "100000": "100K"}
        with tempfile.TemporaryDirectory() as folder:
            for mpi in self.mpis:
                program = compile_with(mpi, "ping_pong", folder)
                for way, env in (("shared memory", {}), ("TCP", TCP[mpi])):
                    ours: dict[str, float] = {}
                    theirs: dict[str, float] = {}
                    tries = 0
                    while tries < TRIES:      # the least of quiet ones: other programs only make both slower
                        for line in mpirun(mpi, 2, program, *sizes, env=env)[1].splitlines():
                            size, ns = line.split()
                            theirs[size] = min(theirs.get(size, 1e18), float(ns))
                        for size, word in sizes.items():
                            found = measure(mpi, 2, "--sizes", word, "--seconds", "1", env=env)
                            ns = next(s for s in found["series"] if s["kind"] == "point-to-point")["sizes"][0]["median_ns"]
                            if ns and found["pairs"]["queued_share"] < 0.1:
                                ours[size] = min(ours.get(size, 1e18), ns)
                        tries += 1
                        if all(0.5 < ours.get(size, 0) / theirs[size] < 2 for size in sizes) or tries > 1 and is_crowded():     # it will be, for the next seconds
                            break
                    self.assertEqual(set(theirs), set(sizes))
                    if len(ours) < len(sizes):
                        skip_loudly(f"{mpi}, {way}: other programs took the CPUs in each of {tries} tries")
                    if any(not 0.5 < ns / theirs[size] < 2 for size, ns in ours.items()) and is_crowded():
                        skip_loudly(f"{mpi}, {way}: a crowded machine, on which the ratios are {[round(ns / theirs[size], 2) for size, ns in ours.items()]}")
                        continue
                    for size in ours:
                        with self.subTest(mpi=mpi, way=way, bytes=size):
                            self.assertGreater(ours[size] / theirs[size], 0.5)
                            self.assertLess(ours[size] / theirs[size], 2)

    def test_text_fits_and_says_what_cannot_be_judged(self) -> None:
        cpus = len(os.sched_getaffinity(0))
        for n in (2, 2 * cpus + 1):
            status, out, err = mpirun(self.mpis[0], n, EXE, "doctor", "--collectives", "--sizes", "1K-10K", "--seconds", "2")
            self.assertEqual((status, err), (0, ""))
            self.assertLessEqual(max(map(len, out.splitlines())), 80, out)
            for kind in KINDS:
                self.assertIn(f"\n{kind}\n", out)
            self.assertEqual(f"{n} ranks share {cpus} CPU" in out, n > cpus)
            self.assertIn("No pair is judged: all ranks are on one machine", out)
            self.assertTrue(out.endswith("All results were checked, and right.\n"))

    def test_wrong_use(self) -> None:
        status, out, err = run("doctor", "--collectives")
        self.assertEqual((status, out), (2, b""))
        self.assertIn("mpirun -n 4 holdup doctor --collectives", err)
        for words, told in ((["--sizes", "1K"], "--sizes needs --collectives"), (["--collectives", "--sizes", "9-1"], "--sizes needs a range"),
                            (["--collectives", "--sizes", "2G"], "4 bytes to 1G"), (["--collectives", "--job"], "cannot be used together")):
            status, _, err = run("doctor", *words)
            self.assertEqual(status, 2)
            self.assertIn(told, err)
        for mpi in self.mpis:
            status, out_, err = mpirun(mpi, 1, EXE, "doctor", "--collectives")
            self.assertNotEqual(status, 0)
            self.assertIn("needs at least 2 processes; the launcher started 1", err)
        status, _, err = run("doctor", "--collectives", env={"PMI_RANK": "0", "PMI_SIZE": "2"})
        self.assertEqual(status, 2)
        self.assertIn("not by the mpirun of Open MPI or MPICH", err)

    def trouble(self, mpi: str, folder: str, what: str, rank: int, *options: str, before: tuple[Any, ...] = ()) -> tuple[int, str, str]:
        library = compile_with(mpi, "trouble", folder, "-shared", "-fPIC")
        return mpirun(mpi, 4, *before, EXE, "doctor", "--collectives", "--sizes", "1K-30K", "--seconds", "2", *options, preload=library,
                      env={"TROUBLE": what, "TROUBLE_RANK": str(rank), "TROUBLE_CALL": "2" if what == "stop-send" else "7"})

    def test_a_rank_that_stops_or_dies(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for mpi in self.mpis:
                # the pair 0, 1 is the first: on a crowded machine the time of the pairs may be up before another one's turn
                for what, rank in (("stop", 0), ("stop", 2), ("stop-send", 1)):
                    with self.subTest(mpi=mpi, what=what, rank=rank):
                        status, out, err = self.trouble(mpi, folder, what, rank, "--timeout", "1")
                        self.assertNotEqual(status, 0)
                        self.assertRegex(err, rf"(?m)^holdup: rank {rank} on \S+ \(PID \d+\) is stopped by a signal .*: nothing for \d+ s in ")
                        self.assertNotIn("Collectives of", out)
                status, out, err = self.trouble(mpi, folder, "kill", 2)
                self.assertNotEqual(status, 0)
                self.assertRegex(out + err, "(?i)killed|exit code: 9")
                status, out, err = self.trouble(mpi, folder, "term", 0)
                self.assertNotEqual(status, 0)
                self.assertIn("holdup: rank 0 was ended by SIGTERM in all-reduce, 1.01 kB: ", err)
                self.assertNotIn("Collectives of", out)

    def test_wrong_results(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for mpi in self.mpis:
                status, out, _ = self.trouble(mpi, folder, "wrong", 2)
                self.assertEqual(status, 1)
                self.assertIn("WRONG: rank 2 got other values", out)
                self.assertIn("WRONG RESULTS", out)
                found = json.loads(self.trouble(mpi, folder, "wrong", 2, "--json")[1])
                self.assertIs(found["is_right"], False)
                self.assertEqual({s["kind"] for s in found["series"] for size in s["sizes"] if size["is_right"] is False}, {"all-reduce"})

    def test_the_slow_machine_is_named(self) -> None:
        if os.geteuid() != 0 or subprocess.run(["unshare", "--uts", "--mount", "true"], check=False, capture_output=True).returncode != 0:
            skip_loudly("machines need unshare --uts --mount, which this place does not allow")
            self.skipTest("no namespaces")
        with tempfile.TemporaryDirectory() as folder:
            for mpi in set(self.mpis) & {"openmpi"}:        # MPICH sometimes hangs then, most likely in its own start or end (UCX)
                on_machine = (HERE / "on_machine", folder)
                for what, odd in (("none", None), ("slow", 2)):
                    with self.subTest(mpi=mpi, what=what):
                        for _ in range(3):
                            status, out, err = self.trouble(mpi, folder, what, 2, "--sizes", "1K-300K", "--seconds", "4", "--json", before=on_machine)
                            self.assertEqual(status, 0, err)
                            found = json.loads(out)
                            self.assertIn(found["pairs"]["odd_rank"], (None, odd))
                            if found["pairs"]["is_judged"]:
                                break
                        self.assertEqual([m["host"] for m in found["machines"]], [f"node{i}" for i in range(4)])
                        self.assertEqual(found["pairs"]["between"], "machines")
                        self.assertEqual(found["pairs"]["is_judged"], found["pairs"]["queued_share"] < 0.05)
                        if not found["pairs"]["is_judged"]:
                            skip_loudly(f"{mpi}, {what}: other programs took the CPUs in each of 3 tries, so no machine was judged")
                            continue
                        self.assertEqual(found["pairs"]["odd_rank"], odd)
                        if odd is not None:
                            self.assertEqual([(p["a"], p["b"]) for p in found["pairs"]["at"] if p["is_odd"]], [(0, 2), (1, 2), (2, 3)])
                            self.assertTrue({2} <= set(next(s for s in found["series"] if s.get("role") == "slowest pair")["ranks"]))


class Torch(unittest.TestCase):
    """The same by torch.distributed over gloo."""

    def torchrun(self, n: int, *arguments: str, before: str = "") -> tuple[int, str, str]:
        """The module, below lines of Python that change something first."""
        python = torch_or_skip(self)
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "job.py"
            script.write_text(f"import os, sys\nimport torch.distributed as dist\n{before}\nfrom holdup import collectives\nsys.exit(collectives.main())\n")
            done = subprocess.run([python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={n}", script, *arguments], capture_output=True, timeout=300, check=False,
                                  env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "OMP_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")

    def test_gloo(self) -> None:
        for n in (2, 3):
            status, out, err = self.torchrun(n, "--sizes", "1K-10K", "--seconds", "4", "--backend", "gloo", "--json")
            self.assertEqual(status, 0, err)
            found = json.loads(out)
            Collectives.check(self, found, n)           # type: ignore[arg-type]
            self.assertEqual((found["ranks"], found["is_right"], found["pairs"]), (n, True, None))
            self.assertIn("gloo", found["library"])
            self.assertEqual([s["bytes"] for s in found["series"][0]["sizes"]], [-(-s // (4 * n)) * 4 * n for s in (1000, 3000, 10000)])

    def test_text_fits(self) -> None:
        status, out, err = self.torchrun(2, "--sizes", "1K-10K", "--seconds", "2", "--backend", "gloo")
        self.assertEqual(status, 0, err)
        self.assertLessEqual(max(map(len, out.splitlines())), 80, out)
        self.assertTrue(out.endswith("All results were checked, and right.\n"))

    def test_a_wrong_result_and_a_rank_that_ends(self) -> None:
        wrong = "real = dist.all_to_all_single\ndef bad(out, given):\n    real(out, given)\n    out[-1] += dist.get_rank()\ndist.all_to_all_single = bad"
        status, out, _ = self.torchrun(2, "--sizes", "1K", "--seconds", "2", "--backend", "gloo", before=wrong)
        self.assertNotEqual(status, 0)
        self.assertIn("WRONG: rank 1 got other values", out)
        dead = "real = dist.all_to_all_single\ndef bad(*given):\n    if dist.get_rank() == 1: os._exit(7)\n    real(*given)\ndist.all_to_all_single = bad"
        status, out, err = self.torchrun(2, "--sizes", "1K", "--seconds", "2", "--timeout", "20", "--backend", "gloo", before=dead)
        self.assertNotEqual(status, 0)
        self.assertEqual(out, "")
        self.assertRegex(err, r"exitcode\s*: 7|holdup: rank 0 on \S+ \(PID \d+\) gives up in all-to-all, 1.00 kB: ")

    def test_numbers_are_those_of_the_program(self) -> None:
        self.assertEqual(collectives.sizes_of("1K-100M"), [m * 10 ** e for e in range(3, 8) for m in (1, 3)] + [10 ** 8])
        found = collectives.described([ns * 1e-9 for ns in range(1, 101)])      # tests/unit/test_collectives.c: 40 and 61
        self.assertEqual([round(found[k], 6) for k in ("median_ns", "low_ns", "high_ns")], [50.5, 40, 61])
        alpha, slope, error = collectives.line_through([(x, 4000 + x / 8) for x in (1e3, 1e4, 1e5, 1e6)])
        self.assertAlmostEqual(alpha, 4000, delta=1)
        self.assertAlmostEqual(1 / slope, 8, delta=0.01)
        self.assertLess(error, 1e-3)
        self.assertEqual(collectives.line_through([(1e3, 105000), (3e3, 105010), (1e4, 104990)])[1], 0)      # size makes no difference

    def test_a_stopped_rank_is_found(self) -> None:
        with subprocess.Popen(["sleep", "60"]) as sleeper:
            places = [{"machine": "m", "pid": os.getpid()}, {"machine": "m", "pid": sleeper.pid}, {"machine": "other", "pid": 1}]
            self.assertEqual(collectives.stopped(places, 0), "")
            sleeper.send_signal(signal.SIGSTOP)
            os.waitpid(sleeper.pid, os.WUNTRACED)
            self.assertEqual(collectives.stopped(places, 0), f"rank 1 (PID {sleeper.pid}) is stopped; ")
            sleeper.kill()


if __name__ == "__main__":
    unittest.main()
