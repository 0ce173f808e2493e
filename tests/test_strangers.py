# SPDX-License-Identifier: Apache-2.0
"""Files of other tools that holdup does not read: each is named, with the way out, and none is taken for another."""
import codecs
import json
import marshal
import re
import sqlite3
import struct
import tempfile
import unittest
from pathlib import Path

from tests.program import ROOT, SHARED, run, skip_loudly

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
    # beginnings of files that these tools wrote here; of Slurm, mpiP, IPM, TAU, Score-P and Caliper by their documented forms
    "callgrind.out": (b"# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n", "Valgrind"),
    "massif.out": (b"desc: --massif-out-file=massif.out.1\ncmd: ./w\ntime_unit: i\n", "Valgrind"),
    "memcheck.txt": (b"==8631== Memcheck, a memory error detector\n==8631== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info\n", "Valgrind"),
    "dhat.out": (b'{"dhatFileVersion":2\n,"mode":"heap","verb":"Allocated"\n}', "Valgrind"),
    "gmon.out": (b"gmon\x01\0\0\0" + bytes(16), "gprof"),
    "go.trace": (b"go 1.26 trace\0\0\0\x01\x02\x03\xff", "go tool trace"),
    "heap.txt": (b"heap profile: 5: 3276816 [5: 3276817] @ heap/1048576\n0: 0 [0: 0] @ 0x47e0d3\n", "as pprof writes it"),
    "goroutines.txt": (b"goroutine 1 [running]:\nruntime/pprof.writeGoroutineStacks({0x51cba8})\n", "dump of goroutines"),
    "top.pprof.txt": (b"File: g\nType: cpu\nDuration: 597.26ms, Total samples = 120ms (20.09%)\nShowing nodes accounting for 120ms, 100% of 120ms total\n", "what `go tool pprof` printed"),
    "bench.txt": (b"goos: linux\npkg: x\nBenchmarkInner-2   \t    6027\t      8470 ns/op\n", "Go's benchmarks"),
    "w.jfr": (b"FLR\0\0\x02\0\x01" + bytes(32), "Flight Recorder, which holdup does not read"),
    "jfr.json": (b'{\n  "recording": {\n    "events": [{\n      "type": "jdk.ExecutionSample"}]}}', "Flight Recorder, which holdup does not read"),
    "gc.log": (b"[0.023s][info][gc] Using G1\n[0.029s][info][gc,init] Version: 17.0.15\n", "Java's garbage collector"),
    "report.perf.txt": (b"# To display the perf.data header info, please use --header/--header-only options.\n#\n", "perf report"),
    "stat.json": (b'{"counter-value" : "0.797640", "unit" : "msec", "event" : "task-clock"}\n', "perf stat"),
    "strace.e": (b'openat(AT_FDCWD</tmp>, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3</etc/ld.so.cache>\n', "output of strace"),
    "ltrace.c": (b"% time     seconds  usecs/call     calls      function\n------ ----------- ----------- --------- ----\n", "output of ltrace"),
    "heaptrack.zst": (b"v 10400 3\nX ./w\nI 1000 5e298f\n", "heaptrack"),
    "bpf.txt": (b"Attaching 2 probes...\n\n@[\n    do_futex+200\n]: 12\n", "stackcollapse-bpftrace.pl"),
    "iostat.x": (b"Linux 6.18.44 (vm) \t11/29/26 \t_x86_64_\t(2 CPU)\n\n\nDevice            r/s     rkB/s\n", "sysstat"),
    "sadf.json": (b'{"sysstat": {\n  "hosts": [\n    {"nodename": "vm"}]}}', "sysstat"),
    "sacct.txt": (b"JobID           JobName  Partition    Account  AllocCPUS      State ExitCode \n", "Slurm"),
    "seff.txt": (b"Job ID: 1234\nCluster: hpc\nCPU Utilized: 10:00:00\nCPU Efficiency: 15.62% of 2-16:00:00 core-walltime\n", "Slurm"),
    "mpip.txt": (b"@ mpiP\n@ Command : ./a.out \n", "mpiP"),
    "ipm.txt": (b"##IPMv2.0.6####\n#\n# command   : ./a.out\n", "IPM"),
    "profile.0.0.0": (b'3 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n".TAU application" 1 1 100 60000000 0 GROUP="TAU_DEFAULT"\n', "TAU"),
    "scorep.txt": (b"Estimated aggregate size of event trace:                   40kB\n", "scorep-score"),
    "cali.json": (b'{"data": [[0, 1.0]], "columns": ["path", "time"], "column_metadata": [{"is_value": false}, {"is_value": true}], "nodes": []}', "Caliper"),
    "hf.txt": (b"Benchmark 1: sleep 0.01\n  Time (mean \xc2\xb1 \xcf\x83):      21.8 ms\n", "--export-json"),
    "lp.txt": (b"Timer unit: 1e-06 s\n\nTotal time: 0.933686 s\n", "line_profiler"),
    "pyinstrument.txt": (b"\n  _     ._   __/__   _ _  _  _ _/_   Recorded: 10:57:06  Samples:  474\n", "-r speedscope"),
    "fault.txt": (b'Thread 0x00007f565dd646c0 (most recent call first):\n  File "a.py", line 982 in run\n', "at one moment"),
    "dump.txt": (b"Process 9409: python a.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 9409 (idle): \"MainThread\"\n    <module> (a.py:4)\n", "a dump of py-spy"),
    "dump.json": (b'[\n  {\n    "pid": 9409,\n    "thread_id": 1,\n    "thread_name": "w",\n    "active": false,\n    "owns_gil": false,\n    "frames": []}]', "a dump of py-spy"),
    "otlp.json": (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b","name":"step"}]}]}]}', "spans of requests"),
    "jaeger.json": (b'{"data":[{"traceID":"abc","spans":[{"traceID":"abc","operationName":"step"}]}]}', "spans of requests"),
    "scrape.prom": (b"# HELP python_info Python platform information\n# TYPE python_info gauge\npython_info{version=\"3.11\"} 1.0\n", "says nothing of GPUs"),
    # other profilers, and tools that watch a machine
    "speedscope.json": (b'{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{"type":"sampled","samples":[[0]],"weights":[1]}],"shared":{"frames":[]}}', "speedscope"),
    "scalene.json": (b'{\n    "alloc_samples": 0,\n    "args": [\n        "prog.py"\n    ],\n    "elapsed_time_sec": 3.2' + b" " * 70000 + b"}", "Scalene"),
    "pyinstrument.json": (b'{"start_time": 1795920616.04,"duration": 3.68,"sample_count": 1096,"root_frame": {}}', "pyinstrument"),
    "a.prof": (marshal.dumps({("a.py", 1, "main"): (1, 1, 0.1, 3.0, {})}), "cProfile"),
    "b.prof": (b"\xfb)\x03\xfa8/root/threading.py\xe9\x03", "cProfile"),
    "cprofile.txt": (b"         4000473 function calls (4000472 primitive calls) in 3.898 seconds\n\n   Ordered by: cumulative time\n", "cProfile"),
    "memray.bin": (b"\x04\x22\x4d\x18\x40\x40\xc0\x3f\x05\0\0\xfa\x04memray\0\x0c\0\0\0", "recording of memray"),
    "plain.bin": (b"memray\0\x0c\0\0\0\xf0", "recording of memray"),
    "t.json.lz4": (b"\x04\x22\x4d\x18\x64\x40\xa7\x10\0\0\x80{}", "lz4 -dk"),
    "austin.txt": (b"# austin: 3.6.0\n# interval: 100\n# mode: wall\n\nP1;T0:1;/a.py:main:3 9900\n", "austin"),
    "austin.mojo": (b"MOJ\x03\x01mode\0wall\0", "austin"),
    "nvprof.csv": (b'==12== NVPROF is profiling process 12, command: ./a\n==12== Profiling result:\n"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n', "output of nvprof"),
    "nvprof-log.csv": (b'"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,ms,,us,us,us,\n"GPU activities",53.2,12.1,100,121.0,100.0,140.0,"k"\n', "CSV of nvprof"),
    "vtune.csv": (b"Function,CPU Time,CPU Time:Effective Time,CPU Time:Spin Time,Module\nmatmul,12.3,12.3,0,libmkl.so\n", "Intel VTune"),
    "gperftools.prof": (struct.pack("<8Q", 0, 3, 0, 10000, 0, 1, 1, 4096), "gperftools"),
    "x.cpuprofile": (b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},"hitCount":0}],"startTime":1,"endTime":2,"samples":[1],"timeDeltas":[0]}', "V8"),
    "firefox.json": (b'{"meta":{"interval":1,"startTime":0,"product":"Firefox","stackwalk":1,"version":24},"libs":[],"threads":[]}', "Firefox"),
    "flame.svg": (b'<?xml version="1.0" standalone="no"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x"><svg version="1.1">', "picture (SVG)"),
    "gprof.txt": (b"Flat profile:\n\nEach sample counts as 0.01 seconds.\n", "gprof"),
    "key_averages.txt": (b"-------  ------------\n   Name    Self CPU %      Self CPU\n-------  ------------\n  aten::addmm  50.00%  1.000ms\nSelf CPU time total: 2.000ms\n", "export_chrome_trace"),
    "perf_stat.txt": (b"\n Performance counter stats for 'python a.py':\n\n          1,234.56 msec task-clock\n", "perf record"),
    "perf_report.txt": (b"# Samples: 1K of event 'cpu-clock'\n#\n# Overhead  Command  Shared Object         Symbol\n    23.0%  python3  [kernel.kallsyms]     [k] do_syscall_64\n", "perf report"),
    "strace.txt": (b'12:00:01.123456 execve("/usr/bin/python3", ["python3"], 0x7ffe /* 20 vars */) = 0 <0.000312>\n', "strace"),
    "strace_f.txt": (b"[pid  1234] 1795903772.660011 futex(0x7f, FUTEX_WAIT, 2, NULL) = 0 <0.5>\n", "strace"),
    "strace_c.txt": (b"% time     seconds  usecs/call     calls    errors syscall\n 45.21    0.001234           5       234           read\n", "strace -c"),
    "vmstat.txt": (b"procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free\n", "vmstat"),
    "iostat.txt": (b"Linux 6.1.0 (n1) \t11/28/2026 \t_x86_64_\t(64 CPU)\n\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n", "iostat"),
    "sar.txt": (b"Linux 6.1.0 (n1)\n\n12:00:01 AM     CPU     %user     %nice   %system\n12:00:02 AM     all     12.00      0.00      1.00\n", "sar or mpstat"),
    "amd-smi.txt": (b"GPU  XCP  POWER   GPU_T   MEM_T   GFX_CLK   GFX%   MEM%  ENC%\n  0    0  553 W  60 C  50 C  1700 MHz  98 %  40 %  N/A\n", "amd-smi metric --json"),
    "gpu_trace.csv": (b"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,Strm,Name\n1000,2000,5,1,1,1,7,kernelA\n", "nsys export"),
    "lightning.txt": (b"FIT Profiler Report\n\n----\n|  Action  |  Mean duration (s)   |\n", "Lightning"),
    "topo.xml": (b'<system version="1">\n  <cpu numaid="0">\n', "topology that NCCL wrote"),
    "memory.txt": (b"|=====|\n|     PyTorch CUDA memory summary, device ID 0     |\n|-----|\n", "_dump_snapshot"),
    "apps.csv": (b"timestamp, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n2026/11/28 12:00:00.000, GPU-1, 1234, python, 4000 MiB\n", "pmon"),
    "gpus.txt": (b"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-4000-8000-00000000abcd)\n\t Link 0: 26.562 GB/s\n", "dmon"),
    "tegrastats.txt": (b"11-28-2026 12:00:00 RAM 4722/7765MB (lfb 1x512kB) CPU [10%@1420] GR3D_FREQ 98% GPU@45C\n", "tegrastats"),
    "xpu-smi.csv": (b"Timestamp, DeviceId, GPU Utilization (%), GPU Power (W)\n12:00:00.000,    0, 98.00, 300.00\n", "xpu-smi"),
    "node.prom": (b"# HELP node_load1 1m load average.\n# TYPE node_load1 gauge\nnode_load1 0.5\n", "nothing of GPUs"),
    "answer.json": (b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_load1"},"values":[[1795000000,"1"]]}]}}', "answer of Prometheus"),
    "nvtop.json": (b'[{"device_name":"NVIDIA H100","gpu_clock":"1980MHz","gpu_util":"98%"}]', "nvtop"),
    "intel.json": (b'[{"period":{"duration":1000.0,"unit":"ms"},"engines":{"Render/3D/0":{"busy":50.0,"unit":"%"}}}]', "intel_gpu_top"),
    "trainer_state.json": (b'{"epoch":1.0,"global_step":100,"log_history":[{"epoch":0.1,"loss":2.0,"step":10}]}', "Hugging Face"),
    "top.txt": (b"top - 12:00:01 up 10 days,  3:04,  1 user,  load average: 1.00, 2.00, 3.00\nTasks: 300 total\n", "output of top"),
    "scalars.csv": (b"Wall time,Step,Value\n1795903772.1,0,2.1\n1795903773.1,1,2.0\n", "TensorBoard exported"),
    "osu.txt": (b"# OSU MPI-CUDA Latency Test v7.2\n# Size          Latency (us)\n1                       1.93\n", "OSU"),
    "vllm.json": (b'{"date":"20261128","backend":"vllm","duration":100.0,"completed":1000,"mean_ttft_ms":50.0}', "serving benchmark"),
    "trtexec.txt": (b"[11/28/2026-12:00:00] [I] === Performance summary ===\n[11/28/2026-12:00:00] [I] Throughput: 100.0 qps\n", "trtexec"),
    "layers.json": (b'[{"name":"conv1","timeMs":10.0,"averageMs":1.0,"percentage":50.0}]', "trtexec"),
    "gpustat.json": (b'{"hostname":"n1","query_time":"2026-11-28T12:00:00","gpus":[{"index":0,"utilization.gpu":98}]}', "gpustat"),
    "perf_trace.txt": (b"         ? (         ): ls/10329  ... [continued]: execve())       = 0\n     0.049 ( 0.012 ms): ls/10329 brk()      = 0x55be59611000\n", "output of `perf trace`"),
    "ps_aux.txt": (b"USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot         1  0.5  0.0  42656 13200 ?        SLl  10:43   0:02 init\n", "output of ps"),
    "ps_elf.txt": (b"UID        PID  PPID   LWP  C NLWP STIME TTY          TIME CMD\nroot         1     0     1  0   13 10:43 ?        00:00:02 init\n", "output of ps"),
    "ps_pid.txt": (b"  PID CMD\n    1 init\n", "output of ps"),
    "time_v.txt": (b'79751.990182\n\tCommand being timed: "./w"\n\tUser time (seconds): 0.00\n', "output of time -v"),
    "time.txt": (b"\nreal\t0m0.003s\nuser\t0m0.001s\nsys\t0m0.002s\n", "output of time"),
    "vmstat_s.txt": (b"     24684092 K total memory\n      1449188 K used memory\n", "output of vmstat -s"),
    "sadf_p.txt": (b"vm\t1\t2026-11-29 11:06:54 UTC\tall\t%user\t78.61\nvm\t1\t2026-11-29 11:06:54 UTC\tall\t%nice\t0.00\n", "output of sadf -p"),
    "traces.pprof.txt": (b"File: g\nBuild ID: 5984\nType: cpu\nDuration: 597.26ms\n-----------+-------------------\n      10ms   runtime.asyncPreempt\n             math.sin\n",
                         "what `go tool pprof` printed"),
    "metrics.csv": (b"epoch,step,train_loss,val_loss\n0,49,0.5,\n0,63,,0.4\n", "CSVLogger"),
    "pyinstrument.html": (b'<!DOCTYPE html>\n   <html>\n   <head>\n   </head>\n   <body>\n   <script>var pyinstrumentHTMLRenderer=function(){}', "pyinstrument -r speedscope"),
    "memray.html": (b'\n<!DOCTYPE html>\n<html lang="en">\n\n<head>\n  <title>memray - flamegraph report</title>\n', "a page of memray"),
    "viztracer.html": (b"<!DOCTYPE html>\n<!--\nhttps://github.com/catapult-project/catapult/blob/master/tracing/LICENSE\n-->\n", "viztracer -o"),
    "smi.txt": (b"Sun Nov 29 12:00:00 2026       \n+-----------------------+\n| NVIDIA-SMI 550.54.14   |\n", "--query-gpu=timestamp,index,utilization.gpu"),
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

    def test_nvprof_database(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.sqlite")
            with sqlite3.connect(path) as db:
                db.execute("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT)")
                db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT, threadId INT, correlationId INT, returnValue INT)")
            db.close()
            self.refused(path, "recording of nvprof")

    def test_a_directory_names_them(self) -> None:
        """`info DIR` counts no database as an export of Nsight Systems that is none."""
        with tempfile.TemporaryDirectory() as folder:
            for name, (content, _) in MADE.items():
                Path(folder, name).write_bytes(content)
            for name, tables in (("optuna.db", ("studies", "trials")), ("a.rpd", ("rocpd_op", "rocpd_api")), ("old.nvvp", ("StringTable", "CUPTI_ACTIVITY_KIND_RUNTIME"))):
                with sqlite3.connect(Path(folder, name)) as db:
                    for table in tables:
                        db.execute(f"CREATE TABLE {table} (id INTEGER)")
                db.close()
            told = json.loads(run("info", folder, "--json", "-q")[1])[0]
            self.assertEqual([k for k in told["kinds"] if "Nsight Systems (" in json.dumps(k) or "erfetto" in json.dumps(k)], [])
            why = {Path(one["file"]).name: one["why"] for one in told["not_read"]}
            self.assertGreater(len(why), len(MADE) - 8)
            self.assertIn("rocmProfileData", why["a.rpd"])
            self.assertIn("recording of nvprof", why["old.nvvp"])
            self.assertIn("SQLite database", why["optuna.db"])
            for name, (_, words) in MADE.items():
                if name in why and "begins with byte" not in words and "not a format" not in words:
                    self.assertIn(words, why[name], name)

    def test_diff_of_them(self) -> None:
        """No two of them are compared, and nothing is made of one and a trace."""
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "rank0.json")
            trace.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5} for i in range(9)]}))
            for name, (content, _) in MADE.items():
                path = Path(folder, "x-" + name)
                path.write_bytes(content)
                for pair in ((path, path), (trace, path)):
                    with self.subTest(name):
                        status, out, err = run("diff", *pair, "-q")
                        self.assertIn(status, (2, 3), err)
                        self.assertEqual(out, b"")
                path.unlink()

    def test_none_sends_back_to_the_command_that_refused(self) -> None:
        """Every sign of a stranger, as the tables of the source list them, at the beginning of a text and inside of one."""
        strings = r'(?:"(?:[^"\\]|\\.)*"\s*)+'
        signs = {m.group(1) for name in ("strangers", "stranger_tools", "stranger_marks")
                 for m in re.finditer(r"\{\{(" + strings + r"),\s*\d+\}", (ROOT / f"src/ingest/{name}.c").read_text())}
        self.assertGreater(len(signs), 150)
        texts = [b"".join(codecs.escape_decode(part[1:-1].encode())[0]  # type: ignore[attr-defined]
                          for part in re.findall(r'"(?:[^"\\]|\\.)*"', sign)) for sign in sorted(signs)]
        refused = 0
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.txt")
            for content in [before + text + b"\n" for text in texts for before in (b"", b"hello\n")] + [made for made, _ in MADE.values()]:
                path.write_bytes(content)
                status, _, err = run("report", path, "-q")
                refused += status == 3
                self.assertNotIn("holdup report FILE`", err, content[:80])
        self.assertGreater(refused, 300)

    def test_lines_that_are_nearly_those_of_a_tool(self) -> None:
        """Columns that may hold times of steps, tables of others, and quotes of tools in the middle of a text stay what they are."""
        for text in ("epoch,step,step_time\n0,1,0.5\n", "epoch,step,tokens_per_s\n0,1,900\n", "epoch,loss,acc\n0,1,2\n", "NAME PID USER\na 1 b\n", "Pid CMD\n1 a\n",
                     "we ran ps:\n  PID CMD\n    1 init\n", "a\t1\tb\tc\td\t1\n", "     | a\n-----------+-----\n   1 | 2\n", "0.1 (0.2 ms): started\n", "1 K total memory of all\n"):
            with tempfile.TemporaryDirectory() as folder, self.subTest(text):
                path = Path(folder, "a.txt")
                path.write_text(text)
                self.assertRegex(run("report", path, "-q")[2], "this is text, not a format that holdup reads")

    def test_what_is_nearly_one(self) -> None:
        """Lines of logs and of traces that look like a stranger's, and are none."""
        log = "".join(f"a;b step {i} 12\n" for i in range(3)) + "no number here\n" * 8
        for name, text in (("log.txt", log), ("numbers.txt", "1 2\n3 4\n"), ("list.txt", "a 1\nb 2\nc;d 3\n")):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, name)
                path.write_text(text)
                self.assertNotIn("collapsed", run("report", path, "-q")[2])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "trace.json")
            path.write_text(json.dumps({"about": "https://www.speedscope.app/file-format-schema.json",
                                        "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5} for i in range(9)]}))
            self.assertEqual(run("report", path, "-q")[0], 0)

    def test_a_log_of_the_kernel(self) -> None:
        """"[ 1234.567890] NVRM: Xid …" is no list of JSON, and says why a job ended."""
        xid = "[ 1234.567890] NVRM: Xid (PCI:0000:04:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "dmesg.txt")
            for text in ("[    0.000000] Linux version 6.1.0\n" + xid, xid):
                path.write_text(text)
                status, out, err = run("report", path, "-q")
                self.assertEqual(status, 0, err)
                self.assertIn("The driver reported XID 79 of GPU 0000:04:00", " ".join(out.decode().split()))
            path.write_text("[    0.000000] Linux version 6.1.0\n[    0.1] x86/fpu: Supporting\n")
            status, _, err = run("report", path, "-q")
            self.assertEqual(status, 3)
            self.assertNotIn("trace event", err)

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
            self.assertIn("5 events with a duration, and none is known as GPU work", text)
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
            for name in ("[I] === Performance summary", "[0.1s][info][gc] Pause", "[I] === Trace details"):
                path.write_text("[%s]" % event.replace("aten::add", name))
                self.assertEqual(run("info", path)[0], 0, name)


if __name__ == "__main__":
    unittest.main()
