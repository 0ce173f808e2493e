# SPDX-License-Identifier: Apache-2.0
"""Files of other tools that holdup does not read: each is named, with the way out, and none is taken for another."""
import tempfile
import unittest
from pathlib import Path

from tests.program import SHARED, run, skip_loudly

# Beginnings as the tools write them.
DATABASE = b"HPCTOOLKITmeta\x04\x00"
MADE = {
    "events.out.tfevents.1": (b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\xc0\xec\x15\x5b\xda\x41\x1a\x0dbrain.Event:2", "event file of TensorBoard"),
    "r.qdstrm": (b"U3w[END]NVIDIA Nsight Systems Stream 2023.4.4.54-234433681190v0!", "QdstrmImporter"),
    "r.qdrep": (b"\x01\x02\x03", "old Nsight Systems"),
    "r.nsys-rep": (b"NVIDIA Tegra Profiler Report 2024@6@2@225", "nsys export --type sqlite"),
    "r.nvvp": (b"\x01\x02\x03", "nvprof"),
    "meta.db": (DATABASE, "HPCToolkit"),
    "traces.otf2": (b"\x03BOTF2\x00\x03\x02\x02\x03", "OTF2"),
    "a.prom": (b'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 31\n', "dcgm-exporter"),
    "all_reduce.txt": (b"# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592\n", "nccl-tests"),
    "results.stats.csv": (b'"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n', "rocprof"),
    "kernel_trace.csv": (b'"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name"\n', "rocprofv3"),
    "chakra.0.et": (b"m\x12\x1d\n\x06schema\xea\x01\x121.1.0-chakra.0.0.4", "Chakra"),
    "flops.txt": (b"\n---- DeepSpeed Flops Profiler ----\n", "DeepSpeed's flops profiler"),
    "notes.txt": ("step 1: löss 3.2\n".encode(), "this is text, not a format that holdup reads"),
    "x.bin": (b"\x01\x02\x03\x04", "begins with byte 0x01"),
}


class Strangers(unittest.TestCase):
    def refused(self, path: Path, words: str) -> None:
        for command in ("report", "info", "stats"):
            status, out, err = run(command, path, "-q")
            self.assertEqual(status, 3, err)
            self.assertIn(words, err)
            self.assertEqual(len(err.strip().splitlines()), 1, err)

    def test_made(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, (content, words) in MADE.items():
                with self.subTest(name):
                    path = Path(folder) / name
                    path.write_bytes(content)
                    self.refused(path, words)

    def test_beside_a_trace(self) -> None:
        """Named as unread, and the trace is explained."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "meta.db"
            path.write_bytes(DATABASE)
            status, out, err = run("report", "examples/training/traces/slow_loader/rank0.pt.trace.json.gz", path)
            self.assertEqual(status, 0)
            self.assertIn("HPCToolkit", err)
            self.assertIn("HPCToolkit", " ".join(out.decode().split()))

    def test_real(self) -> None:
        """Files that these tools wrote; none is read as something else."""
        found = 0
        for pattern, words in (("hpctoolkit/*/*.db", "HPCToolkit"), ("otf2/*/traces.otf2", "OTF2"),
                               ("dcgm/*/*", "dcgm-exporter"), ("smi/*/*.txt", "nvidia-smi"), ("smi/*/*.csv", "nvidia-smi"),
                               ("smi/*/*.xml", "nvidia-smi"), ("et/chakra-protobuf/*.et", "Chakra")):
            for path in sorted((SHARED / "traces").glob(pattern)):
                with self.subTest(path.name):
                    status, _, err = run("report", path, "-q")
                    self.assertEqual(status, 3)
                    self.assertRegex(err, words)
                    found += 1
        if not found:
            skip_loudly("no real files of other tools")


if __name__ == "__main__":
    unittest.main()
