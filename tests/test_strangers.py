# SPDX-License-Identifier: Apache-2.0
"""Files of other tools that holdup does not read: each is named, with the way out, and none is taken for another."""
import json
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
    "a.prom": (b'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 31\n', "sample"),
    "all_reduce.txt": (b"# nThread 1 nGpus 8 minBytes 1 maxBytes 8589934592\n", "nccl-tests"),
    "results.stats.csv": (b'"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n', "rocprof"),
    "kernel_trace.csv": (b'"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name"\n', "rocprofv3"),
    "traces.def": (b"\x03B\x01\0\0\0\0\0\0\0", "part of a trace of Score-P"),
    "0.evt": (b"\x03B\x01\0\0\0\0\0<\0", "part of a trace of Score-P"),
    "scorep.cfg": (b"SCOREP_ENABLE_TRACING=true\n", "configuration of Score-P"),
    "trace.json.zip": (b"PK\x03\x04\x14\0\0\0\x08\0trace.json", "unzip"),
    "model.pt": (b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x12\0model/data.pklFB", "checkpoint of PyTorch"),
    "old.pt": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M", "checkpoint of PyTorch"),
    "model.safetensors": (b"\x60\0\0\0\0\0\0\0" + b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', "safetensors"),
    "model.onnx": (b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x10", "ONNX"),
    "array.npy": (b"\x93NUMPY\x01\0v\0{'descr'", "NumPy"),
    "traces.tar": (b"rank0.json" + bytes(247) + b"ustar\x0000" + bytes(249) + b'{"traceEvents": []}', "tar xf"),
    "trace.json": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"),
    "login.json": (b"<!doctype html>\n<html><head><title>Sign in</title>", "sign in"),
    "ds_config.json": (b'{"fp16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1}', "configuration of DeepSpeed"),
    "result.json": (b'{"job_meta": {"trial_name": "AR"}, "step_t_base": {"16": 46.67}}', "holdup stragglers"),
    "timeline.json": (b'[{"name":"backward-compute","cat":"backward-compute","pid":0,"tid":0,"ts":1.5,"dur":2.5,"ph":"X","args":'
                      b'{"step":23,"model_chunk":0,"mb_id":0,"seq_id":0}}]', "holdup stragglers"),
    "rows.parquet": (b"PAR1\x15\x04\x15", "holdup stragglers"),
    "bench.json": (b'{"machine_info": {"node": "a"}, "benchmarks": []}', "pytest-benchmark"),
    "torchbench.json": (b'{"name": "x", "environ": {"pytorch_git_version": "abc"}, "metrics": {}}', "TorchBench"),
    "asv.json": (b'{"commit_hash": "abc", "result_columns": ["result"], "results": {}}', "asv"),
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
        for pattern, words in (("hpctoolkit/*/*.db", "HPCToolkit"), ("otf2/*/traces.otf2", "OTF2"), ("otf2/*/traces.def", "OTF2"), ("otf2/*/traces/*", "OTF2"), ("otf2/*/scorep.cfg", "OTF2"),
                               ("straggler/*/*", "holdup stragglers"), ("timeline/*/*", "holdup stragglers"), ("nsys-rep/*/*", "nsys export"),
                               ("dcgm/*/*.md", "dcgm-exporter")):
            for path in sorted((SHARED / "traces").glob(pattern)):
                with self.subTest(path.name):
                    status, _, err = run("report", path, "-q")
                    self.assertEqual(status, 3)
                    self.assertRegex(err, words)
                    found += 1
        if not found:
            skip_loudly("no real files of other tools")


    def test_events_of_unknown_kinds(self) -> None:
        """A trace that holds nothing of a GPU's job: what takes its time is listed by name, and nothing is made up."""
        events = [{"ph": "X", "cat": "build", "name": name, "pid": 1, "tid": i, "ts": 1000 * i, "dur": us}
                  for i, (name, us) in enumerate([("link", 500), ("compile", 300), ("compile", 400), ("test", 20), ("copy", 1)])]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps(events))
            status, out, err = run("report", path, "--json")
            self.assertEqual(status, 0, err)
            text = json.loads(out)["verdict"]["text"]
            self.assertIn("5 events, and none is known as GPU work", text)
            marks = [{"ph": "X", "cat": "nvtx", "name": "step", "pid": 1, "tid": 1, "ts": 1000 * i, "dur": 990} for i in range(6)]
            path.write_text(json.dumps(marks + [{**m, "cat": "app", "name": "mine", "tid": 2, "dur": 700} for m in marks]))
            verdict = json.loads(run("report", path, "--json")[1])["verdict"]
            self.assertIn("Nobody can tell what takes most of the time: for 7", verdict["text"])
            self.assertEqual(verdict["confidence"], "low")
            path.write_text(json.dumps(events))
            self.assertIn("compile (700.0 \u00b5s in 2), link (500.0 \u00b5s in 1), test (20.0 \u00b5s in 1).", text)
            path.write_text("[]")
            self.assertNotIn("no time to explain.", json.loads(run("report", path, "--json")[1] or b'{"verdict": {"text": ""}}')["verdict"]["text"])

    def test_what_recurs_in_a_program_of_any_kind_is_no_step(self) -> None:
        """clang -ftime-trace gives no categories: "Source" is no step, "step" is one."""
        for name, source in (("Source", "none"), ("step", "annotation")):
            events = [{"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 900} for at in (0, 1000, 2500, 3900, 6000)]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "trace.json"
                path.write_text(json.dumps({"traceEvents": events, "beginningOfTime": 1}))
                self.assertEqual(json.loads(run("report", path, "--json")[1])["ranks"][0]["steps"]["source"], source, name)

    def test_a_trace_that_mentions_them(self) -> None:
        """The same words inside of a trace: it stays one."""
        event = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            for text in ('{"card0": 1, "traceEvents": [%s]}', '{"train_batch_size": 8, "traceEvents": [%s]}', '{"machine_info": {}, "traceEvents": [%s]}', "[%s]"):
                path.write_text(text % event)
                self.assertEqual(run("info", path)[0], 0, text)


if __name__ == "__main__":
    unittest.main()
