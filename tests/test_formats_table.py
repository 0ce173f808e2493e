# SPDX-License-Identifier: Apache-2.0
"""docs/formats.md: one table of all that is read and all that is refused, checked against src/ingest and against every file of shared/traces.

    python3 -m tests.test_formats_table --write      writes docs/formats.md anew
"""
from __future__ import annotations

import fnmatch
import json
import re
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.program import ROOT, SHARED, run, skip_loudly

TRACES = SHARED / "traces"
OUT = ROOT / "docs/formats.md"
DASH = "\u2013"


class Format(NamedTuple):
    """A row. `name`: as `holdup info --json` has it; "" for what `holdup report` alone reads. `tried`: globs below shared/traces."""

    name: str
    title: str
    page: str
    seen: str
    read: str
    lost: str
    record: str
    tried: tuple[str, ...] = ()


READ = [
    Format("chrome-json", "torch.profiler (Kineto), other Chrome traces", "chrome", "PyTorch of 2021 to today; CUDA, ROCm, MTIA, CPU",
           "operators, calls, GPU work, links, shapes, stacks, memory, counters, steps, ranks", "phases that are none of Kineto's: counted",
           "`torch.profiler.profile(record_shapes=True, with_stack=True)`, `export_chrome_trace`", ("kineto/*/*",)),
    Format("nsight-sqlite", "Nsight Systems, export", "nsight", "2022 to 2026", "kernels, copies, CUDA, OS and MPI calls, NVTX, NCCL, graphs", "backtraces of calls, graphics, metrics of NICs",
           "`nsys profile`, `nsys export --type sqlite`", ("nsys-sqlite/*/*",)),
    Format("rocpd", "rocprofv3, database", "rocprof", "both schemas; no real file yet", "kernels, copies, HIP, HSA, RCCL, roctx, memory", "counters, PC samples, thread traces",
           "`rocprofv3 --sys-trace`"),
    Format("rocprof-json", "rocprofv3, JSON", "rocprof", "one real file (MI350)", "the same", "the same", "`rocprofv3 --sys-trace --output-format json`", ("rocprof/*/*",)),
    Format("rocprof-csv", "rocprofv3, rocprofv2 and rocprof, CSV", "rocprof", "no real file yet", "kernels, copies, calls, ranges", "what is in no table",
           "`rocprofv3 --sys-trace --output-format csv`"),
    Format("xplane", "XLA: JAX, TensorFlow", "xplane", "JAX 0.8, TensorFlow 2", "GPU streams, TPU operations, host threads, Python, steps", "the compiled programs, so shapes and FLOPs",
           "`jax.profiler.trace`", ("xplane/*/*",)),
    Format("perfetto", "Perfetto, `holdup run`", "perfetto", "SDK, converters, exporters", "track events, GPU stages, counters, states of threads, CPU samples", "ftrace, logs, heap profiles",
           "`holdup run -- COMMAND`", ("perfetto/*/*",)),
    Format("perf-data", "Linux perf, `perf.data`", "perf", "6.1, and one older file; files and pipes", "CPU samples with call chains, names of threads",
           "names of functions (not in the file), tracepoints, hardware counts, packed files", "`perf record -g -e cpu-clock`", ("perf/perf-data-converter/*",)),
    Format("perf-script", "Linux perf, text of `perf script`", "perf", "6.1", "the same, with names of functions", "CPU numbers, tracepoints",
           "`perf script -F comm,pid,tid,time,period,event,ip,sym,dso`"),
    Format("perf-json", "Linux perf, JSON", "perf", "6.1", "the same", "which event a sample is of, periods, CPU numbers",
           "`perf data convert --to-json out.json`"),
    Format("torch-memory-snapshot", "PyTorch, memory snapshot", "torch-snapshot", "PyTorch 2", "allocations, call chains, segments, failures", "",
           "`torch.cuda.memory._record_memory_history()`, `_dump_snapshot`", ("torch-memory/cs336-*/*",)),
    Format("torch-memory-timeline", "PyTorch, memory timeline", "torch-timeline", "raw and summed", "allocations, or sums by category", "call chains, the device (not in the file)",
           "`export_memory_timeline(\"x.raw.json.gz\")`", ("torch-memory/hta-memory-timeline/*",)),
    Format("torch-flight-recorder", "PyTorch, Flight Recorder", "flight-recorder", "2.x to 2.10 with gloo; NCCL's by their source", "collectives, states, stacks: who is missing", "",
           "`TORCH_FR_BUFFER_SIZE=2000`, `TORCH_FR_DUMP_ON_TIMEOUT=1`"),
    Format("nccl-ras", "NCCL RAS", "nccl-ras", "2.28, by its source; no real job yet", "communicators, ranks behind, dead or silent", "", "`ncclras -v`"),
    Format("nsys-stats", "Nsight Systems, sums", "nsys-stats", "2019 to 2026", "times and counts by name (`report` alone)", "when anything ran (not in the file)", "`nsys stats`", ("nsys-stats/*/*",)),
    Format("", "Nsight Compute", "ncu", "2022.4 to today: report, CSV, text", "counters of kernels: bounds, occupancy, stalls (`report` alone)",
           "ranges, graphs and command lists: counted", "`ncu --set full`", ("ncu/*/*",)),
    Format("", "execution traces: PyTorch, Chakra", "execution-trace", "schemas 1.0.1 to 1.1.0, `.et`", "operators, calls, shapes, nesting (`report`; joined to a trace by `rf_id`)",
           "values, outputs, dependencies", "`torch.profiler.ExecutionTraceObserver`", ("et/*/*",)),
    Format("", "logs of training runs", "step-log", "Megatron-LM, DeepSpeed, torchtitan, Transformers, Keras, verl, vLLM and others; NCCL 2.7 to 2.27",
           "times of steps and their parts, or throughput; NCCL's lines and calls, timeouts (`report`, alone or beside a trace)",
           "why (not in the file)", "`NCCL_DEBUG=INFO`", ("deepspeed/*/*.md", "deepspeed/*/*.out", "deepspeed/*/*.log", "nccl/bigscience-bandwidth/*")),
    Format("", "DeepSpeed: comms logger, flops profiler, autotuner", "step-log", "0.4, 0.12 and one that does not say; metrics.json not yet seen",
           "collectives and their waits, modules by time, the best configuration", "when anything ran", "`comms_logger`, `flops_profiler`",
           ("deepspeed/autotuning-*/*", "deepspeed/topomoe/flops_profile.txt")),
    Format("", "nccl-tests, rccl-tests", "nccl-tests", "of NCCL 2.10 to 2.29; of rccl-tests no real file yet",
           "bus bandwidth by size, latency, wrong results; also `-J` JSON, of which no real file yet", "",
           "`all_reduce_perf -b 8 -e 8G -f 2`", ("nccl/aws-*/*", "nccl/superbench/*", "nccl/timez-*/*", "nccl/xxrjun-*/*")),
    Format("", "NCCL Inspector", "nccl-inspector", "formats v4.0 to v4.3, by their source; no real job yet", "calls by size, bandwidth, which rank the others wait for",
           "channels, proxy traces, algorithm", "`NCCL_PROFILER_PLUGIN`, `NCCL_INSPECTOR_ENABLE=1`"),
    Format("", "benchmarks: pytest-benchmark, asv, TorchBench, TorchDynamo, Google Benchmark, hyperfine", "results",
           "pytest-benchmark 5, Google Benchmark 1.9; the others by their sources",
           "medians and quartiles; `holdup diff A B`: what got slower beyond its own spread",
           "single rounds, profiles", "`pytest --benchmark-json=a.json`"),
    Format("", "speedscope, collapsed stacks, pprof", "profile", "py-spy 0.4, pyinstrument 5, memray 1.20, Go", "functions by samples, time or bytes, own and total (`report` alone)",
           "when anything ran (not in the file)", "`py-spy record -f speedscope`"),
    Format("", "memory_profiler", "results", "0.61", "peak of host memory, when and in which function", "lines", "`mprof run`"),
    Format("", "samples of GPUs", "node-log", "holdup monitor, Prometheus, dcgm-exporter, nvidia-smi, rocm-smi (JSON, CSV, text); amd-smi and dcgmi dmon not yet seen",
           "clocks, power, throttling, errors: alone, or beside a trace of the same time; processes of `pmon` alone", "the table that nvidia-smi prints without options", "`holdup monitor --jsonl`",
           ("smi/*/*.xml", "smi/*/*.csv", "smi/*/*.json", "smi/utkuozdemir-captures/*", "dcgm/*/*.prom")),
]

REFUSED = [
    # what it is, the words that are said of it, the way out, where it was tried
    ("Nsight Systems, report (`.nsys-rep`, `.qdrep`, `.qdstrm`)", "Nsight Systems", "`nsys export --type sqlite`; done by holdup where `nsys` is on the PATH", ("nsys-rep/*/*",)),
    ("HPCToolkit, database", "HPCToolkit", "pipit's `to_chrome`; `holdup run`", ("hpctoolkit/*/*.db",)),
    ("Score-P (OTF2)", "OTF2", "pipit's `to_chrome`; `holdup run`", ("otf2/*/*.otf2", "otf2/*/*.def", "otf2/*/traces/*", "otf2/*/*.cfg")),
    ("Intel PT branches of `perf script`", "branches of Intel PT", "`perf script --itrace=i100us`", ("perf/dynolog-intelpt/*",)),
    ("straggler analysis: tables (Parquet), results, timelines", "holdup stragglers", "`holdup stragglers rows.csv`", ("straggler/*/*", "timeline/*/*")),
    ("notes that quote dcgm-exporter", "dcgm-exporter", "its lines alone in a file", ("dcgm/*/*.md",)),
    ("DeepSpeed, configuration", "DeepSpeed", "pass a trace or the log", ()),
    ("XLA profile that an editor or shell took for text", "U\\+FFFD", "copy it again as binary data", ("damaged/*/*",)),
    ("notes and other text", "this is text", "", ("hpctoolkit/*/*.md", "hpctoolkit/*/metrics/*", "otf2/*/*.md")),
    ("TensorBoard events and curves; nvprof (CSV, log, `.nvvp`); trtexec; Paraver; SLOG-2", "", "torch.profiler, Nsight Systems, `holdup run`", ()),
    ("Scalene, cProfile, line_profiler, austin, pyinstrument (JSON), gperftools, gprof, Valgrind, heaptrack, VTune, V8, Firefox, Java's Flight Recorder, "
     "Go's execution trace", "", "`holdup run`; Python: torch.profiler with stacks", ()),
    ("flame graphs (SVG)", "", "what they were made of: `perf.data`, `perf script`, collapsed stacks", ()),
    ("tables of `perf report`, `perf stat`, `key_averages()`; strace, ltrace, bpftrace; vmstat, sysstat, top; Slurm's sacct, seff, squeue; "
     "mpiP, IPM, TAU, Score-P, Caliper; spans of OpenTelemetry; gpustat; OSU, nvbandwidth, Darshan; serving benchmarks", "", "the recording itself; `holdup run`", ()),
    ("archives (zip, tar, 7z, rar), xz, bzip2, LZ4", "", "unpack", ()),
    ("checkpoints, safetensors, ONNX, GGUF, NumPy", "", "pass a trace", ()),
    ("git LFS pointers; pages to sign in", "", "`git lfs pull`; get it again", ()),
]

HEAD = """\
# Formats

What holdup reads, what a file of each kind lacks, and what it refuses with the way out. The content decides, not the name; all of it may be compressed (gzip, zstd). This
page is written by `python3 -m tests.test_formats_table --write`; the test checks it against the readers, and against files of these tools where they are (folders of a
collection of real files, named in the last column).

## Read

| format | versions seen | what is read | what is lost | record with | tried on |
|---|---|---|---|---|---|
"""


def matches(globs: tuple[str, ...], files: list[str]) -> list[str]:
    """Files below shared/traces that a row speaks of."""
    return [f for f in files if any(fnmatch.fnmatch(f, g) for g in globs)]


def folders(globs: tuple[str, ...]) -> str:
    return DASH if not globs else ", ".join(dict.fromkeys(f"`{g.split('/')[0]}`" for g in globs))


def table() -> str:
    lines = [HEAD.rstrip("\n")]
    for f in READ:
        lines.append(f"| [{f.title}](formats/{f.page}.md) | {f.seen} | {f.read} | {f.lost or DASH} | {f.record} | {folders(f.tried)} |")
    lines += ["", "## Refused, with words", "", "| what it is | what to do | tried on |", "|---|---|---|"]
    for title, _, way, globs in REFUSED:
        lines.append(f"| {title} | {way or DASH} | {folders(globs)} |")
    lines += ["", "A trace of another kind whose events holdup knows nothing of (a Chrome trace of a build, nested tracks of Perfetto) is read: its events are listed by name and time, and",
              "`holdup query` has them all. Speed of reading: [performance.md](performance.md).", ""]
    return "\n".join(lines)


def names_of_readers() -> set[str]:
    """Those of the table in formats.c, by the rows that it lists."""
    listed = set(re.findall(r"&(hu_format_\w+)", (ROOT / "src/ingest/formats.c").read_text()))
    found = {}
    for path in (ROOT / "src/ingest").glob("*.c"):
        for row, body in re.findall(r"const hu_format (hu_format_\w+) = \{(.*?)\};", path.read_text(), re.S):
            found[row] = re.search(r'\.name = "([^"]+)"', body)[1]
    return {found[row] for row in listed}


class Table(unittest.TestCase):
    def test_page(self) -> None:
        self.assertEqual(OUT.read_text(), table(), "python3 -m tests.test_formats_table --write writes docs/formats.md anew")
        for f in READ:
            self.assertTrue((ROOT / f"docs/formats/{f.page}.md").exists(), f.page)

    def test_every_reader_is_in_it(self) -> None:
        self.assertEqual({f.name for f in READ if f.name}, names_of_readers())
        pages = {p.stem for p in (ROOT / "docs/formats").glob("*.md")} - {"ring"}  # of recordings in progress, not of a file
        self.assertEqual({f.page for f in READ}, pages)

    def test_every_file(self) -> None:
        """Each file of shared/traces is in one row, and is what the row says: read as that format, or refused with its words."""
        files = sorted(str(p.relative_to(TRACES)) for p in TRACES.rglob("*") if p.is_file() and p.name != "INDEX.md")
        if not files:
            skip_loudly("no files in shared/traces: the table of formats is not tried")
            return
        expected: dict[str, list[Format | tuple[str, str, str, tuple[str, ...]]]] = {f: [] for f in files}
        for row in READ:
            for f in matches(row.tried, files):
                expected[f].append(row)
        for refused in REFUSED:
            for f in matches(refused[3], files):
                expected[f].append(refused)
        self.assertEqual({f: len(rows) for f, rows in expected.items() if len(rows) != 1}, {})
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda f: self.check(f, expected[f][0]), files))

    def check(self, file: str, row: Format | tuple[str, str, str, tuple[str, ...]]) -> None:
        path = TRACES / file
        if isinstance(row, Format) and row.name and row.name != "nsys-stats":
            status, out, err = run("info", path, "--json", "-q")
            self.assertEqual(status, 0, err)
            told = json.loads(out)
            self.assertEqual({one["format"] for one in (told if isinstance(told, list) else [told])}, {row.name}, file)     # one for each process
            return
        status, out, err = run("report", path, "-q")
        self.assertEqual(status, 0 if isinstance(row, Format) else 3, f"{file}: {err}")
        if not isinstance(row, Format):
            self.assertRegex(err, row[1], file)


if __name__ == "__main__":
    if "--write" in sys.argv:
        OUT.write_text(table())
    else:
        unittest.main()
