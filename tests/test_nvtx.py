# SPDX-License-Identifier: Apache-2.0
"""The NVTX door: what NVIDIA's own headers, the Python package `nvtx` and a client of our own make of it."""
from __future__ import annotations

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import unittest
from typing import Any

from tests.program import ROOT, python_with, skip_loudly
from tests.recorder import LIBRARY, Recorded, once
from tests.rings import DOORS, Process, make_session, notes, read_session

load_tests = once
FAKE = ROOT / "tests/inject/nvtx_fake.py"
CLEAN = ("SLURM", "HOLDUP", "OMPI", "PMI", "RANK", "LOCAL_RANK", "WORLD_SIZE", "NVTX")


def record(folder: pathlib.Path, *command: Any, preload: bool = True, doors: str = "nvtx", env: dict[str, str] | None = None,
           **control: Any) -> tuple[subprocess.CompletedProcess, list[Process]]:
    """Runs a command in a session, and reads the rings of its processes."""
    session = make_session(folder / "session", doors, **control)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(CLEAN)}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, check=False,
                          env={**clean, "HOLDUP_SESSION": str(session), "NVTX_INJECTION64_PATH": str(LIBRARY),
                               **({"LD_PRELOAD": str(LIBRARY)} if preload else {}), **(env or {})})
    return done, read_session(session)


def names(process: Process, *types: str) -> list[str]:
    return [r.text for r in process.of(*types)]


class Case(Recorded):
    def one(self, result: tuple[subprocess.CompletedProcess, list[Process]]) -> Process:
        done, processes = result
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(processes), 1)
        self.assertEqual(sum(processes[0].lost), 0)
        return processes[0]


class Fake(Case):
    """A client that follows the public interface, without anybody's headers."""

    def fake(self, mode: str, **more: Any) -> tuple[subprocess.CompletedProcess, list[Process]]:
        return record(self.folder, sys.executable, FAKE, LIBRARY, mode, **more)

    def test_tables_that_are_none_are_refused_and_real_ones_are_filled(self) -> None:
        done, _ = result = self.fake("init")
        process = self.one(result)
        self.assertEqual(done.stdout, "no table 0 null 0\ninit 1\npop -2\n")
        self.assertEqual(names(process, "begin"), ["range"])
        self.assertEqual(len(process.of("end")), 1)
        self.assertEqual([(m.text, m.values) for m in process.of("mark")],
                         [("a stream", {"names": "CUDA stream", "handle": "0x7f00"}), ("a device", {"names": "CUDA device", "handle": "0x1"})])
        self.assertEqual(process.doors & DOORS["nvtx"], DOORS["nvtx"])

    def test_names_of_threads_hold_no_secret(self) -> None:
        """Also without --redact-ranges: it is for the texts of ranges."""
        process = self.one(self.fake("names"))
        self.assertEqual(set(names(process, "thread")), {"narrow --token ***", "wide --token ***", "narrow token=***", "wide token=***"})
        self.assertEqual(set(names(process, "mark")), set(names(process, "thread")))

    def test_it_is_called_once_for_each_library_that_uses_nvtx(self) -> None:
        done, _ = result = self.fake("twice")
        self.assertIn("init 1\ninit 1\n", done.stdout)
        self.assertEqual(names(self.one(result), "begin"), ["range"])

    def test_nvtx_that_is_not_asked_for_is_not_entered(self) -> None:
        done, processes = self.fake("init", doors="user")
        self.assertIn("init 0\nno handler\n", done.stdout)
        self.assertEqual(processes[0].records, [])

    def test_without_a_session_there_is_no_door(self) -> None:
        done, processes = self.fake("init", env={"HOLDUP_SESSION": ""})
        self.assertIn("init 0\nno handler\n", done.stdout)
        self.assertEqual(processes, [])

    def test_a_paused_run_records_nothing(self) -> None:
        _, processes = self.fake("threads", mask=0)
        self.assertEqual(processes[0].records, [])

    def test_eight_threads_and_three_domains(self) -> None:
        process = self.one(self.fake("threads"))
        begins = process.of("begin")
        self.assertEqual(len(begins), 8 * 200)
        self.assertEqual(len(process.of("end")), 8 * 200)
        for n in range(8):
            mine = [r for r in begins if r.text == f"work {n}"]
            self.assertEqual([r.values["payload"] for r in mine], list(range(200)))
            self.assertEqual({process.strings[r.aux] for r in mine}, {f"domain {n % 3}"})
            self.assertEqual({r.a for r in mine}, {0xFF000000 + n})
            self.assertEqual(len({r.thread for r in mine}), 1)
        for r in begins:
            self.assertGreater(r.time, 0)

    def test_handles_and_sizes_that_are_wrong_harm_nobody(self) -> None:
        done, _ = result = self.fake("wrong")
        process = self.one(result)
        self.assertIn("alive", done.stdout)
        long = max(names(process, "begin"), key=len)
        self.assertEqual(long, "x" * 4000)
        self.assertEqual(names(process, "mark"), [""] * 48)

    def test_handles_stay_good_in_a_forked_child(self) -> None:
        done, processes = self.fake("fork")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(processes), 2)
        child = next(p for p in processes if p.of("mark"))
        self.assertEqual(names(child, "mark"), ["known before the fork"])

    def test_works_without_preload(self) -> None:
        done, processes = self.fake("init", preload=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(names(processes[0], "begin"), ["range"])


def headers() -> str | None:
    """Where nvtx3/nvToolsExt.h is: a CUDA toolkit, or NVIDIA's package of PyPI."""
    torch = pathlib.Path.home() / ".cache/holdup/torch"
    for folder in (os.environ.get("HOLDUP_NVTX_INCLUDE", ""), "/usr/local/cuda/include", "/usr/include",
                   *map(str, torch.glob("lib/python3*/site-packages/nvidia/*/include"))):
        if folder and (pathlib.Path(folder) / "nvtx3/nvToolsExtPayload.h").exists():
            return folder
    python = python_with("nvidia-nvtx", "HOLDUP_NVTX_HEADERS_PYTHON", "venv-nvtx-headers", "a python with nvidia-nvtx")
    if python:
        for path in pathlib.Path(python).parent.parent.rglob("nvtx3/nvToolsExtPayload.h"):
            return str(path.parent.parent)
    skip_loudly("NVIDIA's headers of NVTX are not here; set HOLDUP_NVTX_INCLUDE to where nvtx3/nvToolsExt.h is")
    return None


class RealHeaders(Case):
    include: str | None = None

    def setUp(self) -> None:
        super().setUp()
        RealHeaders.include = RealHeaders.include or headers()
        if not RealHeaders.include:
            self.skipTest("no headers")
        self.client = self.folder / "nvtx_client"
        subprocess.run(["cc", "-O1", f"-I{RealHeaders.include}", "-o", self.client, ROOT / "tests/inject/nvtx_client.c", "-ldl", "-lpthread"],
                       check=True, capture_output=True)

    def test_every_call(self) -> None:
        done, _ = result = record(self.folder, self.client)
        process = self.one(result)
        self.assertEqual(done.stdout, "same handles 1 1\nenabled 1\n")
        begins = process.of("begin")
        self.assertEqual([r.text for r in begins], ["ascii", "w\u00efde \u20ac \U0001f600", "registered", "AllReduce", "registered"])
        self.assertEqual([process.strings.get(r.aux, "") for r in begins], ["", "", "a domain", "a domain", "a domain"])
        self.assertEqual(len(process.of("end")), 5)
        marks = process.of("mark")
        self.assertEqual(marks[0].text, "a mark")
        self.assertEqual([(m.values, m.a) for m in marks[1:3]],
                         [({"category": "cat of none"}, 0x3FF0088FF), ({"category": "cat of a domain"}, 0x3FF0088FF)])
        self.assertEqual([m.values["payload"] for m in marks if m.text == "classic"], [2**64 - 1, -5, 0.25, 4000000000, -7, 1.5])
        self.assertEqual([(m.text, m.a) for m in marks[9:12]], [("of a later version", 0), ("", 0xFF00FF00), ("", 0)])
        self.assertEqual(marks[12].values["names"], "resource")

    def test_ranges_that_overlap_and_end_elsewhere(self) -> None:
        process = self.one(record(self.folder, self.client))
        starts, stops = process.of("start"), process.of("stop")
        self.assertEqual(names(process, "start"), ["overlapping 1", "registered", "registered"])
        self.assertEqual(len({s.b for s in starts}), 3)
        self.assertEqual({s.b for s in starts}, {s.b for s in stops})
        by_handle = {s.b: s for s in stops}
        self.assertEqual(by_handle[starts[0].b].thread, starts[0].thread)
        self.assertNotEqual(by_handle[starts[1].b].thread, starts[1].thread)
        self.assertEqual(names(process, "thread"), ["main thread", "ender"])

    def test_payloads_keep_their_bytes_and_their_schema(self) -> None:
        process = self.one(record(self.folder, self.client))
        reduce = next(r for r in process.of("begin") if r.text == "AllReduce")
        (schema, said, there), (scalar, _, number) = reduce.payloads
        self.assertEqual((said, len(there), scalar, number), (72, 72, 0x80000000 + 15, b"*\0\0\0"))
        comm, size, root, op, label, registered, *factors = struct.unpack_from("<QQiIQQ3d", there)
        self.assertEqual((comm, size, root, op, factors), (0xFEEDFACECAFEBEEF, 1 << 20, -1, 2, [0.5, 1, -2]))
        self.assertEqual((process.strings[label], process.strings[registered]), ("from a pointer", "registered"))
        lines = process.strings[schema].splitlines()
        self.assertEqual(lines[0], "holdup-schema\t1\t72\t0\tmessage")
        self.assertEqual([line.split("\t")[4] for line in lines[1:]],
                         ["comm", "bytes", "root", "operation", "label", "registered", "factors", "fixed"])
        self.assertEqual([line.split("\t")[0] for line in lines[5:7]], ["80", "80"])
        enum = lines[4].split("\t")[0]
        self.assertTrue(enum.startswith("@"))
        self.assertEqual(process.strings[int(enum[1:])], "holdup-enum\t4\t\n0\t0\tsum\n1\t0\tprod\n2\t0\tmax\n")
        named = [r for r in process.records if r.text == "registered" and r.payloads]
        self.assertEqual([r.type for r in named], ["mark", "begin", "start"])
        end = [r for r in process.of("end") if r.payloads]
        self.assertEqual(struct.unpack_from("<i", end[0].payloads[0][2], 8)[0], 4)

    def test_a_capture_range_opens_and_closes(self) -> None:
        process = self.one(record(self.folder, self.client, "only", doors="nvtx watch", capture_range=b"only"))
        inside = [(r.type, r.text) for r in process.records if r.type not in ("thread", "mark")]
        self.assertEqual(inside, [("resume", ""), ("begin", "only"), ("begin", "inside"), ("end", ""), ("end", ""), ("pause", "")])

    def test_a_second_tool_gets_its_own_handles(self) -> None:
        tool = self.folder / "libtool.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", tool, ROOT / "tests/inject/nvtx_tool.c"], check=True, capture_output=True)
        done, processes = record(self.folder, self.client, env={"HOLDUP_NVTX_CHAIN": str(tool)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tool: push ascii\n", done.stdout)
        self.assertIn("tool: domain push a domain: registered of a domain\n", done.stdout)
        self.assertIn("tool: domain pop a domain\n", done.stdout)
        self.assertIn("tool: end 77\n", done.stdout)
        process = processes[0]
        self.assertEqual([r.text for r in process.of("begin")], ["ascii", "w\u00efde \u20ac \U0001f600", "registered", "AllReduce", "registered"])
        self.assertEqual({s.b for s in process.of("start")}, {s.b for s in process.of("stop")})
        reduce = next(r for r in process.of("begin") if r.text == "AllReduce")
        self.assertEqual(process.strings[struct.unpack_from("<Q", reduce.payloads[0][2], 32)[0]], "registered")
        self.assertEqual(notes(self.folder / "session"), "")

    def test_the_tool_of_a_profiler_around_the_program_stays(self) -> None:
        """nsys and its like start the program with NVTX_INJECTION64_PATH as their own library."""
        tool = self.folder / "libtool.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", tool, ROOT / "tests/inject/nvtx_tool.c"], check=True, capture_output=True)
        for command in ([self.client], ["env", f"NVTX_INJECTION64_PATH={tool}", self.client], ["sh", "-c", f"{self.client}; true"]):
            with self.subTest(command=command[0]):
                shutil.rmtree(self.folder / "session", ignore_errors=True)
                done, processes = record(self.folder, *command, env={} if command[0] == "env" else {"NVTX_INJECTION64_PATH": str(tool)})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("tool: push ascii\n", done.stdout)
                self.assertEqual([len(p.of("begin")) for p in processes if p.of("begin")], [5])

    def proxy(self) -> dict[str, str]:
        """The library by which Nsight Systems enters a program, its NVTX tool, and the variables that start both."""
        for name, source in (("libToolsInjectionProxy64.so", "nsys_proxy.c"), ("libtool.so", "nvtx_tool.c")):
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.folder / name, ROOT / "tests/inject" / source], check=True, capture_output=True)
        return {"TOOL": str(self.folder / "libtool.so"), "NVTX_INJECTION64_PATH": str(self.folder / "libtool.so"),
                "LD_PRELOAD": str(self.folder / "libToolsInjectionProxy64.so")}

    def test_nsys_around_the_program_takes_nvtx_while_it_is_loaded(self) -> None:
        """Also where the recorder, or a parent, has chained the two before."""
        there = self.proxy()
        there["LD_PRELOAD"] += f":{LIBRARY}"
        for chain in ({}, {"HOLDUP_NVTX_CHAIN": there["TOOL"]}):
            with self.subTest(chain=chain):
                shutil.rmtree(self.folder / "session", ignore_errors=True)
                done, processes = record(self.folder, self.client, env={**there, **chain})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("tool: push ascii\n", done.stdout)
                self.assertEqual([len(p.of("begin")) for p in processes], [5])

    def test_behind_the_library_of_nsys_we_find_the_real_functions(self) -> None:
        """In front of it we would find those of nsys, which call us: a thread then waits for a lock that it has."""
        there = self.proxy()
        proxy = there["LD_PRELOAD"]
        for given in (proxy, f"{LIBRARY}:{proxy}", f"{proxy}:{LIBRARY}", f"{LIBRARY}:{proxy}:libm.so.6"):
            with self.subTest(given=given):
                shutil.rmtree(self.folder / "session", ignore_errors=True)
                done, _ = record(self.folder, "env", f"LD_PRELOAD={given}", f"TOOL={there['TOOL']}", "sh", "-c", "echo $LD_PRELOAD")
                order = [pathlib.Path(name).name for name in done.stdout.strip().split(":") if name]
                self.assertEqual(order[0], "libToolsInjectionProxy64.so", done.stderr)
                self.assertEqual((order[-1], order.count(LIBRARY.name)), (LIBRARY.name, 1))
                self.assertEqual("libm.so.6" in order, "libm" in given)

    def test_what_nsys_does_not_see_is_said(self) -> None:
        there = self.proxy()
        there["LD_PRELOAD"] += f":{LIBRARY}"
        for traced, count in (("Mmap,OSRT,NVTX", 1), ("NVTX", 0)):
            with self.subTest(traced):
                shutil.rmtree(self.folder / "session", ignore_errors=True)
                record(self.folder, self.client, env={**there, "QUADD_INJECTION_PROXY": traced})
                self.assertEqual(notes(self.folder / "session").count("Nsight Systems sees no calls"), count)

    def test_a_second_tool_that_is_not_there_is_said_once(self) -> None:
        process = self.one(record(self.folder, self.client, env={"HOLDUP_NVTX_CHAIN": "/nonexistent/tool.so"}))
        self.assertEqual(len(process.of("begin")), 5)
        self.assertEqual(notes(self.folder / "session"),
                         "HOLDUP_NVTX_CHAIN: /nonexistent/tool.so cannot be loaded; NVTX is recorded without it\n")

    def test_a_second_tool_alone_is_called_as_if_we_were_not_there(self) -> None:
        tool = self.folder / "libtool.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", tool, ROOT / "tests/inject/nvtx_tool.c"], check=True, capture_output=True)
        done, processes = record(self.folder, self.client, doors="user", env={"HOLDUP_NVTX_CHAIN": str(tool)})
        self.assertIn("tool: push ascii\n", done.stdout)
        self.assertEqual(processes[0].records, [])


PROGRAM = """
import nvtx
@nvtx.annotate("decorated", color="blue", domain="py", category="loops")
def f(n):
    with nvtx.annotate("inner", domain="py", payload=n):
        pass
for i in range(50):
    f(i)
nvtx.mark("done", domain="py")
nvtx.push_range("plain"); nvtx.pop_range()
nvtx.end_range(nvtx.start_range("process range", domain="py"))
"""


class PythonPackage(Case):
    def test_the_package_of_pypi(self) -> None:
        python = python_with("nvtx", "HOLDUP_NVTX_PYTHON", "venv-nvtx", "a python with the package nvtx")
        if not python:
            self.skipTest("no package nvtx")
        done, processes = record(self.folder, python, "-c", PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr)
        process = next(p for p in processes if p.records)
        begins = process.of("begin")
        self.assertEqual([r.text for r in begins].count("decorated"), 50)
        self.assertEqual([r.values["payload"] for r in begins if r.text == "inner"], list(range(50)))
        self.assertEqual({r.values["category"] for r in begins if r.text == "decorated"}, {"loops"})
        self.assertEqual({process.strings[r.aux] for r in begins if r.text == "inner"}, {"py"})
        self.assertEqual({r.a & 0xFFFFFFFF for r in begins if r.text == "decorated"}, {0xFF})
        self.assertEqual(len(process.of("end")), len(begins))
        self.assertEqual(names(process, "mark"), ["done"])
        self.assertEqual(names(process, "start"), ["process range"])
        self.assertEqual(process.of("start")[0].b, process.of("stop")[0].b)



NCCL_CALLS = """
import ctypes, sys
nccl = ctypes.CDLL(sys.argv[1])
nccl.ncclGroupStart(); nccl.ncclGroupEnd()
print(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1000), 7, 2, None, None) != 0)
"""


class Nccl(Case):
    def test_a_real_collective_says_its_bytes(self) -> None:
        path = os.environ.get("HOLDUP_NCCL") or next((str(p) for p in pathlib.Path("/").glob("usr/lib*/*/libnccl.so.2")), None)
        if not path or not pathlib.Path(path).exists():
            skip_loudly("no libnccl.so.2; set HOLDUP_NCCL to one (pip download nvidia-nccl-cu12 has it; no GPU is needed)")
            self.skipTest("no NCCL")
        done, processes = record(self.folder, sys.executable, "-c", NCCL_CALLS, path)
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)     # no communicator: refused, as without us
        process = next(p for p in processes if p.records)
        self.assertEqual([(r.text, process.strings[r.aux]) for r in process.of("begin")],
                         [(n, "NCCL") for n in ("ncclGroupStart", "ncclGroupEnd", "ncclAllReduce")])
        (schema, said, there), = process.of("begin")[-1].payloads
        fields = [line.split("\t") for line in process.strings[schema].splitlines()[1:]]
        size = next(f for f in fields if "size" in f[4].lower() or "bytes" in f[4].lower())
        self.assertEqual(said, len(there))
        self.assertEqual(struct.unpack_from("<Q", there, int(size[3]))[0], 4000)
        self.assertEqual(len(process.of("end")), 3)


if __name__ == "__main__":
    unittest.main()
