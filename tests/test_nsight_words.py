# SPDX-License-Identifier: Apache-2.0
"""What is said of exports of Nsight Systems: by all faces the same, of each process apart, and no cause that the file does not show."""
from __future__ import annotations

import json
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests import rule_traces
from tests.nsight import Export, gid
from tests.program import ROOT, report, run
from tests.test_two_tools import Nsys, found


class Words(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "a_report_with_a_long_name.sqlite"
        self.export = Export()

    def text(self, *words: Any) -> str:
        """Words of the answer, with one blank between them."""
        status, out, err = run(*words, env={"COLUMNS": "80"})
        self.assertIn(status, (0, 1), err)
        for line in out.decode().splitlines():
            if line.startswith("next "):        # to be copied whole
                continue
            self.assertLessEqual(len(line), 80, line)
        return " ".join(out.decode().split())

    def two_processes(self) -> None:
        for pid in (144, 145):
            for i in range(6):
                at, correlation = 1_000_000 * i + pid, 1000 * pid + i
                self.export.range(at, at + 900_000, f"step {i}", pid=pid, tid=pid)
                self.export.call(at + 1000, at + 6000, "cudaLaunchKernel_v7000", correlation, pid=pid, tid=pid)
                self.export.kernel(at + 8000, at + 600_000, "gemm", correlation, pid=pid, device=pid - 144)
        self.export.save(self.path)

    def test_processes_keep_their_numbers(self) -> None:
        """In tables and in `info`, where a name is too long; `check` names ranks as `report` does."""
        self.two_processes()
        self.assertIn("#pid=144", self.text("report", self.path, "--view", "ranks"))
        self.assertIn("#pid=145", self.text("info", self.path))
        said = self.text("check", self.path)
        self.assertIn("rank 0: ", said)
        self.assertNotIn("rank -1", said)

    def test_a_copy_of_several_processes_says_so(self) -> None:
        """One file has no ranks to compare: what is said of it is said of a mixture, in doubt; of one process there is none."""
        self.two_processes()
        copy = self.folder / "copy.json"
        for path, is_mixed in ((self.path, True), (f"{self.path}#pid=144", False)):
            self.assertEqual(run("export", path, "--format", "chrome", "-o", copy)[0], 0)
            verdict = report(copy)["verdict"]
            self.assertEqual(any("GPU work of 2 processes is in this file" in reason for reason in verdict["reasons"]), is_mixed, verdict)
            if is_mixed:
                self.assertEqual(verdict["confidence"], "low")

    def test_the_page_names_a_rank_and_a_gpu(self) -> None:
        """The device has no name in this export, and the trace does not number its ranks."""
        self.two_processes()
        page = self.folder / "page.html"
        self.assertEqual(run("report", self.path, "--html", page)[0], 0)
        said = page.read_text()
        self.assertRegex(said, r"<dd>2; rank [01] is shown")
        self.assertIn("<dt>device</dt><dd>a GPU whose name was not recorded</dd>", said)
        self.assertNotIn("no GPU work", said.split("<script")[0])

    def test_processes_without_a_collective(self) -> None:
        """The way out is one that can be typed."""
        self.two_processes()
        status, _, err = run("whatif", self.path, "-e", "sync=0")
        self.assertEqual(status, 2)
        self.assertIn(f"pass one trace at a time, such as {self.path}#pid=144", err)
        self.assertEqual(run("whatif", f"{self.path}#pid=144", "-e", "launch=0")[0], 0)

    def steps_of_copies(self, pinned: bool) -> dict[str, Any]:
        """Steps that copy to the device; a copy of 1 µs behind them is from pageable memory."""
        trace = json.loads(rule_traces.EXAMS["copy-bound"].plant().write(self.folder).read_text(), parse_float=Decimal)
        self.export = Nsys(trace).export
        copies = self.export.tables["CUPTI_ACTIVITY_KIND_MEMCPY"]
        for row in copies:
            row["srcKind"] = 1 if pinned else row["srcKind"]
        end = max(row["end"] for row in self.export.tables["CUPTI_ACTIVITY_KIND_KERNEL"])
        copies.append({**copies[0], "srcKind": 0, "start": end + 1000, "end": end + 2000, "bytes": 64, "correlationId": 999_999})
        return next(f for f in report(self.export.save(self.path))["findings"] if f["id"] == "copy-bound")

    def test_copies_that_are_pinned_already(self) -> None:
        """One copy of 1 µs from pageable memory does not make pinning the fix."""
        finding = self.steps_of_copies(pinned=True)
        self.assertIn("Nearly all of it is from pinned memory.", finding["statement"])
        self.assertNotIn("pin_memory", finding["fix"])

    def test_copies_that_are_not(self) -> None:
        finding = self.steps_of_copies(pinned=False)
        self.assertIn("from pageable memory", finding["statement"])
        self.assertIn("pin_memory", finding["fix"])

    def pauses(self) -> None:
        trace = json.loads(rule_traces.EXAMS["unrecorded"].plant().write(self.folder).read_text(), parse_float=Decimal)
        self.export = Nsys(trace).export

    def test_what_to_record_is_an_option_of_nsys(self) -> None:
        self.pauses()
        job = report(self.export.save(self.path))
        fix = next(f["fix"] for f in job["findings"] if f["id"] == "unrecorded")
        self.assertIn("nsys profile --trace=cuda,nvtx,osrt", fix)
        self.assertNotIn("with_stack", fix)
        self.assertIn("nsys profile --cuda-memory-usage=true", self.text("report", self.path, "--view", "memory"))
        self.assertIn("nsys profile --sample=process-tree", self.text("report", self.path, "--view", "hot"))

    def test_samples_name_what_calls_do_not(self) -> None:
        self.pauses()
        tid = self.export.tables["CUPTI_ACTIVITY_KIND_RUNTIME"][0]["globalTid"]
        for i in range(200):
            self.export.add("COMPOSITE_EVENTS", id=i + 1, start=6_000_000 + 10_000 * i, cpu=1, threadState=1, globalTid=tid, cpuCycles=1)
            self.export.add("SAMPLING_CALLCHAINS", id=i + 1, symbol=self.export.text("tokenize" if i % 4 else "other"),
                            module=self.export.text("/usr/lib/libtok.so"), kernelMode=0, thumbCode=0, unresolved=0, specialEntry=0, stackDepth=0)
        finding = next(f for f in report(self.export.save(self.path))["findings"] if f["id"] == "unrecorded")
        self.assertIn("CPU samples of the main thread in the whole capture: 75 % in tokenize (libtok.so).", finding["statement"])
        self.assertIn("--view hot", finding["fix"])

    def test_a_thread_without_states_is_not_said_to_run(self) -> None:
        for i in range(6):
            at = 1_000_000 * i
            self.export.range(at, at + 900_000, f"step {i}")
            self.export.call(at + 1000, at + 6000, "cudaLaunchKernel_v7000", i + 1)
            self.export.kernel(at + 8000, at + 600_000, "gemm", i + 1)
            self.export.add("OSRT_API", start=at + 700_000, end=at + 800_000, eventClass=27, globalTid=gid(10, 11), nameId=self.export.text("read"),
                            returnValue=0, nestingLevel=0, callchainId=None)
        said = self.text("report", self.export.save(self.path))
        self.assertIn("reads files 100.0 µs", said)
        self.assertIn("in no known call", said)
        self.assertNotRegex(said, r" runs \d")

    def test_sends_are_no_collectives(self) -> None:
        for i in range(8):
            at = 10_000_000 * i
            self.export.call(at, at + 6000, "cudaLaunchKernel_v7000", i + 1)
            self.export.kernel(at + 8000, at + 3_000_000, "gemm", i + 1)
            self.export.range(at, at + 9_900_000, f"step {i}")
            self.export.add("MPI_P2P_EVENTS", start=at + 3_100_000, end=at + 9_800_000, globalTid=gid(10, 11), textId=self.export.text("MPI_Send"),
                            size=8, remoteRank=1, tag=0, commHandle=1)
            self.export.call(at + 10_000, at + 3_050_000, "cudaDeviceSynchronize_v3020", 100 + i)
        job = report(self.export.save(self.path))
        finding = next(f for f in job["findings"] if f["id"] == "exposed-communication")
        self.assertIn("in MPI calls.", finding["statement"])
        self.assertNotIn("collectives", finding["statement"])

    def test_copies_of_an_export_say_the_same(self) -> None:
        """Of a job without marks: its steps, its device, the tool and its options; a kernel at 0 is no lost one."""
        trace = json.loads(rule_traces.EXAMS["tensor-cores-unused"].plant().write(self.folder).read_text(), parse_float=Decimal)
        for event in trace["traceEvents"]:
            if event.get("cat") == "user_annotation":
                event["cat"] = "not recorded"
        nsys = Nsys(trace)
        first = min(row["start"] for row in nsys.export.tables["CUPTI_ACTIVITY_KIND_KERNEL"])
        for rows in nsys.export.tables.values():
            for row in rows:
                row.update({key: row[key] - first for key in ("start", "end") if key in row})
        one = report(nsys.export.save(self.path))
        self.assertEqual(one["ranks"][0]["steps"]["source"], "structure")
        self.assertTrue(found(one))
        for form, suffix in (("chrome", ".json"), ("perfetto", ".pftrace")):
            with self.subTest(form):
                copy = self.folder / f"copy{suffix}"
                self.assertEqual(run("export", self.path, "--format", form, "-o", copy)[0], 0)
                two = report(copy)
                for part in ("gpu", "device", "kernels"):
                    self.assertEqual(one["ranks"][0][part], two["ranks"][0][part], part)
                for part in ("source", "count", "what", "mean_ns", "stddev_ns"):
                    self.assertEqual(one["ranks"][0]["steps"][part], two["ranks"][0]["steps"][part], part)
                self.assertEqual(found(one), found(two))
                if form == "chrome":
                    self.assertIn("Nsight Systems", self.text("info", copy))
                    self.assertIn("nsys profile", self.text("report", copy))


class Ladder(unittest.TestCase):
    def test_its_first_rung_is_what_the_finding_says(self) -> None:
        """Of a job whose ranks are replayed together, where one keeps its own price."""
        job = report(ROOT / "examples/training/traces/slow_loader")
        rung, finding = job["ranks"][0]["replay"]["ladder"][0], job["findings"][0]
        self.assertEqual(rung["id"], finding["id"])
        self.assertEqual(rung["step_after_ns"], finding["step_after_ns"])


if __name__ == "__main__":
    unittest.main()
