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
KINDS = {"KERNEL": (10,), "COPY": (1,), "PEER": (22,), "FILL": (2,), "CALL": (4, 5), "WAIT": (38,), "EVENT": (36,), "COST": (17,), "GRAPH": (51,),
         "MEMORY": (49,), "CONTEXT": (9,), "STREAM": (37,), "DEVICE": (8,), "NODE": (56,), "HOST": (58,)}
# what the field is called there; by default all words but the first
NAMES = {
    "KERNEL_REGISTERS": "registersPerThread", "KERNEL_STATIC_SHARED": "staticSharedMemory", "KERNEL_DYNAMIC_SHARED": "dynamicSharedMemory",
    "KERNEL_NODE": "graphNodeId", "COPY_KIND": "copyKind", "COPY_FROM": "srcKind", "COPY_TO": "dstKind", "COPY_NODE": "graphNodeId",
    "PEER_KIND": "copyKind", "PEER_FROM": "srcKind", "PEER_TO": "dstKind", "PEER_FROM_DEVICE": "srcDeviceId", "PEER_TO_DEVICE": "dstDeviceId", "PEER_NODE": "graphNodeId", "FILL_MEMORY": "memoryKind",
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


def name_of(row: str) -> str:
    rest = row.partition("_")[2].lower()
    if row in NAMES:
        return NAMES[row]
    if rest in IDS:
        return rest + "Id"
    return re.sub(r"_([a-z])", lambda m: m[1].upper(), rest)


# the second interface: prefixes of field names, and those that differ from the first one's in more than their spelling
GROUPS = {"KERNEL": "KERNEL", "COPY": "MEMCPY", "PEER": "MEMCPY2", "FILL": "MEMSET", "CALL": "API", "WAIT": "SYNCHRONIZATION", "EVENT": "CUDA_EVENT",
          "COST": "OVERHEAD", "GRAPH": "GRAPH_TRACE", "MEMORY": "MEMORY", "CONTEXT": "CONTEXT", "STREAM": "STREAM", "DEVICE": "DEVICE",
          "NODE": "GRAPH_HOST_NODE", "HOST": "HOST_LAUNCH"}
RENAMED = {"KERNEL_PRIORITY": "LAUNCH_PRIORITY", "MEMORY_OPERATION": "OPERATION_TYPE", "COST_THREAD": "THREAD_ID"}


def number_name(row: str) -> str:
    return RENAMED.get(row) or re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name_of(row)).upper()


def field_numbers(header: str) -> dict[str, int]:
    numbers = {}
    plain = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for body in re.findall(r"typedef enum\s*\{([^}]*)\}", plain):
        names = [word.split("=")[0].strip() for word in body.split(",") if word.strip()]
        numbers.update({name: k for k, name in enumerate(names) if "_FIELD_" in name})
    return numbers


class Table(unittest.TestCase):
    def table(self) -> list[tuple[str, int, int, int, int]]:
        """Name, offset, bytes, the version of the interface since which it is there, and its number in the second interface."""
        text = (ROOT / "src/inject/cupti_fields.h").read_text()
        found = re.findall(r"\bF\((\w+),\s+\w+,\s+(\d+),\s+(\d),\s+(\d+),\s+(-?\d+)\)", text)
        return [(name, int(offset), int(size), int(since), int(number)) for name, offset, size, since, number in found]

    def rows(self) -> list[tuple[str, int, int, int]]:
        return [row[:4] for row in self.table()]

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
                kinds = KINDS[row.partition("_")[0]]
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
                for kind in KINDS[row.partition("_")[0]]:
                    facts = Layouts(cuda) if version.api < since else None
                    if facts and kind in facts.record:
                        self.assertNotIn(name_of(row), facts.fields[facts.record[kind]], f"{row} {cuda}")

    def test_numbers_of_the_second_interface(self) -> None:
        """The place of each field's name in the enumerations of the vendor's headers."""
        compared = 0
        for cuda in (c for c, v in wheels.VERSIONS.items() if v.api >= 130300):
            folder = wheels.fetch(cuda)
            if not folder:
                continue
            numbers = field_numbers((folder / "include/cupti_activity.h").read_text())
            for row, _, _, _, number in self.table():
                group = row.partition("_")[0]
                with self.subTest(cuda=cuda, row=row):
                    self.assertEqual(number, numbers.get(f"{GROUPS[group]}_FIELD_{number_name(row)}", -1))
                    compared += 1
        if not compared:
            skip_loudly("no headers of CUPTI 13.3 or later: numbers of its second interface were not compared")
            raise unittest.SkipTest("no headers")

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
