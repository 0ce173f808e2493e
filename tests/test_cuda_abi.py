# SPDX-License-Identifier: Apache-2.0
"""The table by which the CUDA door reads CUPTI's records, against tables of facts: each field lies there in each version that has it."""
from __future__ import annotations

import re
import unittest

from tests.cuda import wheels
from tests.program import ROOT, SHARED, skip_loudly
from tests.test_cuda_stand import Layouts

FACTS = SHARED / "oracle/gpu-abi"
# of each row's first word: the kinds whose records it is read in
KINDS = {"KERNEL": (10,), "COPY": (1, 22), "PEER": (22,), "FILL": (2,), "CALL": (4, 5), "WAIT": (38,), "EVENT": (36,), "COST": (17,), "GRAPH": (51,),
         "MEMORY": (49,), "CONTEXT": (9,), "STREAM": (37,), "DEVICE": (8,), "NODE": (56,), "HOST": (58,)}
# what the field is called there; by default all words but the first
NAMES = {
    "KERNEL_REGISTERS": "registersPerThread", "KERNEL_STATIC_SHARED": "staticSharedMemory", "KERNEL_DYNAMIC_SHARED": "dynamicSharedMemory",
    "KERNEL_NODE": "graphNodeId", "COPY_KIND": "copyKind", "COPY_FROM": "srcKind", "COPY_TO": "dstKind", "COPY_NODE": "graphNodeId",
    "PEER_FROM_DEVICE": "srcDeviceId", "PEER_TO_DEVICE": "dstDeviceId", "PEER_NODE": "graphNodeId", "FILL_MEMORY": "memoryKind",
    "FILL_NODE": "graphNodeId",
    "CALL_CBID": "cbid", "CALL_THREAD": "threadId", "CALL_RESULT": "returnValue", "WAIT_TYPE": "type", "WAIT_EVENT": "cudaEventId",
    "WAIT_SYNC": "cudaEventSyncId", "EVENT_ID": "eventId", "EVENT_SYNC": "cudaEventSyncId", "COST_KIND": "overheadKind", "COST_OBJECT": "objectKind",
    "COST_THREAD": "objectId.pt.threadId", "GRAPH_ID": "graphId", "MEMORY_OPERATION": "memoryOperationType", "MEMORY_KIND": "memoryKind",
    "MEMORY_TIME": "timestamp", "CONTEXT_ID": "contextId", "CONTEXT_NULL_STREAM": "nullStreamId", "STREAM_ID": "streamId", "STREAM_FLAG": "flag",
    "DEVICE_MEMORY": "globalMemorySize", "DEVICE_WARP": "numThreadsPerWarp", "DEVICE_SMS": "numMultiprocessors",
    "DEVICE_WARPS_PER_SM": "maxWarpsPerMultiprocessor", "DEVICE_MAJOR": "computeCapabilityMajor", "DEVICE_MINOR": "computeCapabilityMinor",
    "DEVICE_ID": "id", "NODE_ID": "graphNodeId",
}
IDS = ("device", "context", "stream", "correlation", "graph", "thread")
# in both kinds of copies these stand elsewhere, and are not read in one of them
ONLY = {"COPY_CORRELATION": (1,), "COPY_NODE": (1,), "COPY_GRAPH": (1,)}


def name_of(row: str) -> str:
    rest = row.partition("_")[2].lower()
    if row in NAMES:
        return NAMES[row]
    if rest in IDS:
        return rest + "Id"
    return re.sub(r"_([a-z])", lambda m: m[1].upper(), rest)


class Table(unittest.TestCase):
    def rows(self) -> list[tuple[str, int, int, int]]:
        """Name, offset, bytes, and the version of the interface since which it is there."""
        text = (ROOT / "src/inject/cupti_records.c").read_text()
        return [(name, int(offset), int(size), int(since)) for name, offset, size, since in re.findall(r"\bF\((\w+), (\d+), (\d), (\d+)\)", text)]

    def test_every_field_of_every_version(self) -> None:
        if not FACTS.is_dir():
            skip_loudly("the tables of shared/oracle/gpu-abi are not present: the door's offsets were not compared")
            raise unittest.SkipTest("no tables")
        rows = self.rows()
        self.assertGreater(len(rows), 100)
        compared = 0
        for cuda, version in wheels.VERSIONS.items():
            facts = Layouts(cuda)
            for row, offset, size, since in rows:
                kinds = ONLY.get(row, KINDS[row.partition("_")[0]])
                if version.api < since:
                    continue
                for kind in kinds:
                    with self.subTest(cuda=cuda, row=row, kind=kind):
                        self.assertIn(kind, facts.record, "this version has no such kind")
                        self.assertEqual(facts.fields[facts.record[kind]].get(name_of(row)), (offset, size), facts.record[kind])
                        compared += 1
        self.assertGreater(compared, 100 * len(wheels.VERSIONS))

    def test_no_version_has_it_earlier(self) -> None:
        """What is not read before some version is not there before: nothing is left out for want of a look."""
        if not FACTS.is_dir():
            skip_loudly("the tables of shared/oracle/gpu-abi are not present: the door's offsets were not compared")
            raise unittest.SkipTest("no tables")
        for row, _, _, since in self.rows():
            for cuda, version in wheels.VERSIONS.items():
                for kind in ONLY.get(row, KINDS[row.partition("_")[0]]):
                    facts = Layouts(cuda) if version.api < since else None
                    if facts and kind in facts.record:
                        self.assertNotIn(name_of(row), facts.fields[facts.record[kind]], f"{row} {cuda}")

    def test_versions_are_those_of_the_headers(self) -> None:
        """What cuptiGetVersion answers, by the headers that are there."""
        for cuda in wheels.wanted():
            folder = wheels.fetch(cuda)
            if folder:
                found = re.search(r"#define CUPTI_API_VERSION (\d+)", (folder / "include/cupti_version.h").read_text())
                assert found
                self.assertEqual(int(found[1]), wheels.VERSIONS[cuda].api)


if __name__ == "__main__":
    unittest.main()
