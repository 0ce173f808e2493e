# SPDX-License-Identifier: Apache-2.0
"""What a trace says, in integer nanoseconds, by the plainest reading: sets of elementary pieces, no code in common with holdup.

    python3 -m tests.peers.exact --write     makes tests/data/oracle anew: traces, exact.json, and hta.json where HTA is at hand

A piece is the time between two neighbouring instants at which anything begins or ends; a union is a sum over pieces that something
covers.  Rules (docs/numbers.md): device work is what the profiler calls kernel, gpu_memcpy and gpu_memset; kernels of NCCL
communicate, the others compute; the parts of a step exclude each other, first kernels, copies, sets, communication (the host in a
collective too), calls of the runtime, the data loader, any other host work; what is left is "other".
"""
import bisect
import gzip
import json
import os
import pathlib
import subprocess
import sys
from decimal import Decimal

from tests.parallel_traces import Group, Trace
from tests.peers.hta_traces import random_trace, trap_trace

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data/oracle"
RECORDED = sorted([*(ROOT / "examples").rglob("*.json.gz"), *(ROOT / "tests/data/pairs").rglob("*.json.gz"),
                   *(ROOT / "tests/data/key_averages").rglob("*.json.gz")])
MADE = {"traps": trap_trace, **{f"random-{n}": (lambda n=n: random_trace(n)) for n in (1, 2, 3, 7, 8)}}

COLLECTIVES = ("nccl:", "gloo:", "mpi:", "ucc:")
LOADERS = ("enumerate(DataLoader)#", "enumerate(DataPipe)#", "enumerate(IterDataPipe)#")
HOST = ("cpu_op", "user_annotation", "python_function")

Span = tuple[int, int]


def ns(microseconds: object) -> int:
    return int(Decimal(str(microseconds)) * 1000)


def read(path: pathlib.Path) -> list[dict]:
    """Slices, times exact."""
    document = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal, strict=False)
    return [e | {"from": ns(e["ts"]), "to": ns(e["ts"]) + ns(e["dur"])} for e in document["traceEvents"] if e.get("ph") == "X"]


def spans(events: list[dict]) -> list[Span]:
    return [(e["from"], e["to"]) for e in events]


class Pieces:
    """The elementary pieces of some sets of spans; each set becomes the pieces that it covers."""

    def __init__(self, *sets: list[Span]) -> None:
        self.at = sorted({t for s in sets for span in s for t in span})

    def of(self, some: list[Span]) -> set[int]:
        covered: set[int] = set()
        for start, end in some:
            covered.update(range(bisect.bisect_left(self.at, start), bisect.bisect_left(self.at, end)))
        return covered

    def length(self, pieces: set[int]) -> int:
        return sum(self.at[i + 1] - self.at[i] for i in pieces)


def gpu(events: list[dict]) -> dict[str, int] | None:
    """Unions and overlaps over the whole capture."""
    kernels = [e for e in events if e.get("cat") == "kernel"]
    comm = spans([e for e in kernels if "nccl" in e["name"].lower()])
    compute = spans([e for e in kernels if "nccl" not in e["name"].lower()])
    copies, sets = (spans([e for e in events if e.get("cat") == c]) for c in ("gpu_memcpy", "gpu_memset"))
    work = compute + comm + copies + sets
    if not work:
        return None
    p = Pieces(work)
    a, b, c, d = (p.of(s) for s in (compute, comm, copies, sets))
    span = max(end for _, end in work) - min(start for start, _ in work)
    return {"span_ns": span, "busy_ns": p.length(a | b | c | d), "idle_ns": span - p.length(a | b | c | d),
            "compute_ns": p.length(a), "comm_ns": p.length(b), "memcpy_ns": p.length(c), "memset_ns": p.length(d),
            "overlapped_comm_ns": p.length(a & b), "exposed_comm_ns": p.length(b - a), "exposed_memcpy_ns": p.length(c - a - b),
            "compute_sum_ns": sum(e - s for s, e in compute), "comm_sum_ns": sum(e - s for s, e in comm),
            "compute_kernels": len(compute), "comm_kernels": len(comm), "memcpys": len(copies), "memsets": len(sets)}


def linked(events: list[dict]) -> dict[str, int] | None:
    """As TraceLens counts: device work whose launch is in the file, sets together with what computes."""
    device = ("kernel", "gpu_memcpy", "gpu_memset")
    calls = {e["args"].get("correlation") for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")} - {None}
    work = [e for e in events if e.get("cat") in device and e["args"].get("correlation") in calls]
    if not work:
        return None
    compute = spans([e for e in work if e["cat"] == "gpu_memset" or (e["cat"] == "kernel" and "nccl" not in e["name"].lower())])
    comm = spans([e for e in work if e["cat"] == "kernel" and "nccl" in e["name"].lower()])
    copies = spans([e for e in work if e["cat"] == "gpu_memcpy"])
    p = Pieces(spans(work))
    a, b, c = (p.of(s) for s in (compute, comm, copies))
    return {"total_time_ns": max(e["to"] for e in work) - min(e["from"] for e in work), "busy_time_ns": p.length(a | b | c),
            "computation_time_ns": p.length(a), "exposed_comm_time_ns": p.length(b - a), "exposed_memcpy_time_ns": p.length(c - a - b),
            "total_memcpy_time_ns": p.length(c), "total_comm_time_ns": p.length(b),
            "left_out": sum(e.get("cat") in device for e in events) - len(work)}


def kernels(events: list[dict]) -> dict[str, list[int]]:
    """By name: calls, sum, shortest, longest."""
    rows: dict[str, list[int]] = {}
    for e in events:
        if e.get("cat") == "kernel":
            rows.setdefault(e["name"], []).append(e["to"] - e["from"])
    return {name: [len(d), sum(d), min(d), max(d)] for name, d in sorted(rows.items())}


def part_of(e: dict) -> str | None:
    """Of what the host does: which part of a step."""
    if e.get("cat") in ("cuda_runtime", "cuda_driver"):
        return "runtime_ns"
    if e.get("cat") not in HOST or e["name"].startswith("ProfilerStep#"):
        return None
    return "data_loader_ns" if e["name"].startswith(LOADERS) else "communication_ns" if e["name"].startswith(COLLECTIVES) else "cpu_exec_ns"


PARTS = ("communication_ns", "runtime_ns", "data_loader_ns", "cpu_exec_ns")


def steps(events: list[dict]) -> list[dict] | None:
    """Of a trace without device work, the marked steps and their parts; None where no step is marked."""
    marks = sorted((e for e in events if e["name"].startswith("ProfilerStep#") and e.get("cat") == "user_annotation"),
                   key=lambda e: e["from"])
    rows = []
    for mark in marks:
        there = [e for e in events if e["from"] < mark["to"] and e["to"] > mark["from"] and part_of(e)]
        inside = {part: [(max(e["from"], mark["from"]), min(e["to"], mark["to"])) for e in there if part_of(e) == part] for part in PARTS}
        p = Pieces([(mark["from"], mark["to"])], *inside.values())
        free = p.of([(mark["from"], mark["to"])])
        row = {"number": int(mark["name"].partition("#")[2]), "duration_ns": mark["to"] - mark["from"]}
        for part in PARTS:
            mine = p.of(inside[part]) & free
            row[part] = p.length(mine)
            free -= mine
        rows.append(row | {"other_ns": p.length(free)})
    return rows or None


def operators(events: list[dict]) -> dict[str, list[int]]:
    """Calls, and time with what they call, by name."""
    rows: dict[str, list[int]] = {}
    for e in events:
        if e.get("cat") == "cpu_op":
            row = rows.setdefault(e["name"], [0, 0])
            row[0] += 1
            row[1] += e["to"] - e["from"]
    return dict(sorted(rows.items()))


def measure(path: pathlib.Path) -> dict:
    events = read(path)
    device = gpu(events)
    return {"gpu": device, "linked": linked(events), "kernels": kernels(events), "operators": operators(events), "steps": None if device else steps(events)}


def name_of(path: pathlib.Path) -> str:
    return str(path.relative_to(ROOT))


def job() -> dict:
    """A rank that computes on one stream and reduces on another beside it, as Kineto writes it; HTA stops where there is more."""
    t, group = Trace(arguments="kernel"), Group("0", 8, 20)
    for k in range(4):
        with t.range(f"ProfilerStep#{k}"):
            for layer in range(5):
                t.op("aten::mm", f"ampere_sgemm_{layer}", 80.25 + 7 * layer)
                if layer % 2:
                    t.collective("all_reduce", group, 50_000, 50_000, "Float")
            t.now += 300.125 + 10 * k
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8}, "traceEvents": t.events}


def keep(file: str, of_trace: dict[str, object]) -> None:
    """A line for each trace."""
    (DATA / file).write_text("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(said)}" for name, said in of_trace.items()) + "\n}\n")


def write() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    made = []
    for name, make in {**MADE, "job": job}.items():
        path = DATA / f"{name}.json.gz"
        path.write_bytes(gzip.compress(json.dumps(make(), separators=(",", ":")).encode(), 9, mtime=0))
        made.append(path)
    keep("exact.json", {name_of(p): measure(p) for p in [*made, *RECORDED]})
    python = os.environ.get("HOLDUP_HTA_PYTHON") or ROOT / "build/venv-hta/bin/python"
    if pathlib.Path(python).exists():
        said = subprocess.run([python, ROOT / "tests/peers/hta_reference.py", *made], check=True, capture_output=True, timeout=600,
                              env=os.environ | {"NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX512_ICL"})
        keep("hta.json", dict(zip(map(name_of, made), json.loads(said.stdout))))


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
