# SPDX-License-Identifier: Apache-2.0
"""The stand-ins of libcuda, libcudart and libcupti: what they write lies where the tables of facts say, and they complain of misuse."""
from __future__ import annotations

import pathlib
import re
import struct
import tempfile
import unittest
from collections import Counter

from tests.cuda import make_abi, stand, wheels
from tests.program import SANITIZED, SHARED, skip_loudly

FACTS = SHARED / "oracle/gpu-abi"
KINDS = "1 2 4 5 8 9 10 17 22 36 37 38 49"
KERNEL, COPY, SET, RUNTIME, DRIVER, SYNC, MEMORY, STREAM, EVENT = 10, 1, 2, 5, 4, 38, 49, 37, 36
FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def load_tests(_loader, tests, _pattern):
    """Nothing of holdup's is in here."""
    return unittest.TestSuite() if SANITIZED else tests


class Layouts:
    """Offsets and sizes of one version, of each kind's record, as the tables have them."""

    def __init__(self, cuda: str) -> None:
        wanted = make_abi.number(cuda)
        self.fields: dict[str, dict[str, tuple[int, int]]] = {}
        self.sizes: dict[str, int] = {}
        for line in (FACTS / "cupti_layouts_compact.tsv").read_text().splitlines()[1:]:
            name, size, field, offset, width, first, last = line.split("\t")
            if make_abi.number(first) <= wanted <= make_abi.number(last):
                self.fields.setdefault(name, {})[field] = (int(offset), int(width))
                self.sizes[name] = int(size)
        self.record = {}
        for line in (FACTS / "cupti_kind_record.tsv").read_text().splitlines()[1:]:
            version, kind, name = line.split("\t")
            if version == cuda:
                self.record[int(kind.rpartition("=")[2])] = name

    def read(self, kind: int, record: bytes, field: str) -> int:
        offset, width = self.fields[self.record[kind]][field]
        return struct.unpack_from("<" + FORMATS[width], record, offset)[0]


class Stand(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def listen(self, cuda: str) -> list[tuple[int, bytes, str]]:
        """Kind, bytes and name of each record of the catalogue."""
        libcupti = stand.cupti(cuda)
        if libcupti is None:
            raise unittest.SkipTest(f"no headers of CUDA {cuda}")
        version = wheels.VERSIONS[stand.OWN_CUDA if cuda == stand.OWN else cuda]
        done = stand.plain(self.folder, stand.program("catalogue"), libcupti=libcupti,
                           CUDA_INJECTION64_PATH=str(stand.libraries() / "liblistener.so"),
                           LISTENER_CUPTI=version.soname(), LISTENER_KINDS=KINDS, LISTENER_OUT=str(self.folder / "records"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        log = stand.Log(self.folder / "log")
        self.assertEqual(log.misuse(), [])
        self.assertIn(f"version {version.api} attached 1", "\n".join(log.lines))
        found = []
        for line in (self.folder / "records").read_text().splitlines():
            kind, data, *name = line.split(" ", 2)
            found.append((int(kind), bytes.fromhex(data), name[0] if name else ""))
        expected = {COPY: 4, SET: 1, DRIVER: 1, RUNTIME: 19, 17: 1, 22: 1, 8: 1, 9: 1, KERNEL: 4, EVENT: 2, STREAM: 1, SYNC: 4, MEMORY: 2}
        if version.api < 20:
            del expected[EVENT]         # refused, as by the real one
        self.assertEqual(Counter(kind for kind, _, _ in found), expected)
        return found

    def check(self, cuda: str) -> None:
        found = self.listen(cuda)
        if not FACTS.is_dir():
            skip_loudly("the tables of shared/oracle/gpu-abi are not present: offsets were not compared")
            raise unittest.SkipTest("no tables")
        facts = Layouts(stand.OWN_CUDA if cuda == stand.OWN else cuda)
        for kind, record, _ in found:
            self.assertEqual(len(record), facts.sizes[facts.record[kind]], facts.record[kind])

        def all_of(kind: int, *fields: str) -> list[tuple[int, ...]]:
            return [tuple(facts.read(kind, record, f) for f in fields) for k, record, _ in found if k == kind]

        kernels = {name: record for kind, record, name in found if kind == KERNEL}
        self.assertEqual(set(kernels), {"_Z9plain_oneIfEvPT_i", "triton_poi_fused_add_7", "node_first", "node_second"})
        plain = kernels["_Z9plain_oneIfEvPT_i"]
        said = {f: facts.read(KERNEL, plain, f) for f in ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
                                                          "staticSharedMemory",
                                                           "dynamicSharedMemory", "deviceId", "contextId", "streamId", "graphId", "graphNodeId")}
        self.assertEqual(list(said.values()), [101, 102, 3, 64, 4, 2, 77, 3072, 4096, 0, 1, 7, 0, 0])
        self.assertAlmostEqual(facts.read(KERNEL, plain, "end") - facts.read(KERNEL, plain, "start"), 20000, delta=20)     # from clock to clock
        node = kernels["node_second"]
        self.assertEqual((facts.read(KERNEL, node, "graphId"), facts.read(KERNEL, node, "graphNodeId") & 0xFFFFFFFF), (2, 2))
        self.assertEqual(all_of(COPY, "copyKind", "srcKind", "dstKind", "flags", "bytes", "streamId"),
                         [(1, 2, 3, 1, 1234560, 13), (2, 3, 1, 1, 765432, 13), (8, 3, 3, 1, 555555, 13), (1, 1, 3, 0, 111111, 7)])
        self.assertEqual(all_of(22, "copyKind", "bytes", "srcDeviceId", "dstDeviceId", "flags"), [(10, 444444, 0, 3, 1)])
        self.assertEqual(all_of(17, "overheadKind"), [(5 << 16,)])
        self.assertEqual(all_of(SET, "value", "bytes", "streamId"), [(7, 999424, 13)])
        self.assertEqual(Counter(t for t, in all_of(SYNC, "type")), {2: 1, 1: 1, 3: 1, 4: 1})
        self.assertEqual(all_of(MEMORY, "memoryOperationType", "memoryKind", "bytes"), [(1, 3, 4 << 20), (2, 3, 4 << 20)])
        self.assertEqual([c for c, in all_of(DRIVER, "cbid")], [307])
        self.assertEqual(sorted(c for c, in all_of(RUNTIME, "cbid")),
                         sorted([20, 27, 198, 134, 211, 135, 147, 41, 41, 41, 161, 51, 135, 137, 31, 311, 131, 165, 22]))
        launch, = (r for k, r, _ in found if k == RUNTIME and facts.read(RUNTIME, r, "cbid") == 211)
        self.assertEqual(facts.read(RUNTIME, launch, "correlationId"), facts.read(KERNEL, plain, "correlationId"))
        self.assertLess(facts.read(RUNTIME, launch, "start"), facts.read(KERNEL, plain, "start") + 20000)

    def test_the_committed_header_is_what_the_tables_say(self) -> None:
        if not FACTS.is_dir():
            skip_loudly("the tables of shared/oracle/gpu-abi are not present: tests/cuda/abi.h was not compared")
            raise unittest.SkipTest("no tables")
        make_abi.main(FACTS, self.folder / "abi.h")
        self.assertEqual(re.sub(r"\s+", "", (self.folder / "abi.h").read_text()), re.sub(r"\s+", "", (stand.HERE / "abi.h").read_text()))
        self.check(stand.OWN)

    def test_records_of_two_versions_lie_where_the_tables_say(self) -> None:
        for cuda in wheels.wanted():
            with self.subTest(cuda=cuda):
                self.check(cuda)

    def test_own_records_without_any_table(self) -> None:
        self.assertEqual(len(self.listen(stand.OWN)), 42)

    def test_misuse_is_written_down(self) -> None:
        """CUPTI without libcuda: the listener opens it by force."""
        code = ("import ctypes, sys\nlib = ctypes.CDLL(sys.argv[1])\nn = ctypes.c_uint32()\nlib.cuptiGetVersion(ctypes.byref(n))\nprint(n.value, "
                "lib.cuptiActivityEnable(3))\n")
        (self.folder / "early.py").write_text(code)
        done = stand.plain(self.folder, "python3", self.folder / "early.py", stand.cupti() / "libcupti.so.13", libcupti=stand.cupti())
        self.assertEqual(done.stdout, "130001 999\n")
        self.assertEqual([m.partition(" ")[2] for m in stand.Log(self.folder / "log").misuse()],
                         ["cuptiGetVersion before libcuda.so.1 is there", "cuptiActivityEnable before libcuda.so.1 is there"])

    def test_the_device_keeps_its_time(self) -> None:
        """40 kernels of 90 µs one after the other, 30 steps: never faster than that."""
        done = stand.plain(self.folder, stand.program("train"), "busy", 30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(float(done.stderr.split()[1]), 30 * 40 * 90e-6)

    def test_no_driver_and_no_device(self) -> None:
        (self.folder / "alone").mkdir()
        (self.folder / "alone/libcudart.so.12").symlink_to(stand.libraries() / "libcudart.so.12")
        done = stand.plain(self.folder, stand.program("life"), "return", LD_LIBRARY_PATH=str(self.folder / "alone"))
        self.assertEqual((done.returncode, done.stdout), (8, "no device\n"))
        done = stand.plain(self.folder, stand.program("life"), "return", STANDIN_DEVICES="0")
        self.assertEqual((done.returncode, done.stdout), (8, "no device\n"))


if __name__ == "__main__":
    unittest.main()
