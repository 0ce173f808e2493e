# SPDX-License-Identifier: Apache-2.0
"""Measures constants.json: how long things take in real traces of torch.profiler, as quantiles.

    python3 -m tests.exam.measure FOLDER            FOLDER holds the traces (Kineto JSON, also gzipped)
    python3 -m tests.exam.measure FOLDER --compare  writes nothing; FOLDER (board --keep) beside what was measured on real traces

It parses the JSON itself; nothing comes from the program under test. Times are in ns, rates in bytes per ns (GB/s).
"""

import bisect
import gzip
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUANTILES = 21
LAUNCH = re.compile(r"(cuda|hip)Launch(Cooperative|Ext)?Kernel|cuLaunchKernel|hipExtModuleLaunchKernel|hipModuleLaunchKernel")
SYNC = re.compile(r"(cuda|hip)(Stream|Device|Event)Synchronize")
COMM = re.compile(r"nccl|rccl|cross_device_reduce", re.I)
CLASSES = [
    ("comm", COMM),
    ("optimizer", re.compile(r"multi_tensor|adam|sgd|foreach", re.I)),
    ("attention", re.compile(r"flash|fmha|attention|softmax", re.I)),
    ("gemm", re.compile(r"gemm|cutlass|cublas|matmul|Cijk|xmma|conv|wgrad|dgrad|implicit|winograd", re.I)),
    ("reduce", re.compile(r"reduce|norm|welford|dot_kernel", re.I)),
    ("elementwise", re.compile(r"elementwise|vectorized|unrolled|fill|add|mul|copy|cat|index|triton_poi", re.I)),
]
SPLIT = ("launch_latency", "launch_call", "stream_gap", "event_call")
Event = dict[str, Any]


class Samples:
    """Values by name, with the files that they came from."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = defaultdict(list)
        self.files: dict[str, set[str]] = defaultdict(set)
        self.by_file: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: str, file: str, value: float) -> None:
        self.values[name].append(value)
        if name in SPLIT:
            self.by_file[name][file].append(value)
        self.files[name].add(file)

    def split(self) -> None:
        """What belongs to a machine is drawn once for a job (NAME_base: medians of files), what varies on it each time (NAME_rel)."""
        for name, files in self.by_file.items():
            for file, values in files.items():
                middle = sorted(values)[len(values) // 2]
                if len(values) < 30 or middle < 200 or middle > 1000000:
                    continue
                self.add(name + "_base", file, middle)
                for value in values:
                    self.add(name + "_rel", file, round(value / middle, 4))

    def table(self) -> dict[str, Any]:
        """Quantiles from 1 % to 99 %, equally apart, of all names with at least eight values; a file counts as it has events."""
        out: dict[str, Any] = {}
        for name, values in sorted(self.values.items()):
            values.sort()
            if len(values) < (2 if name.endswith("_base") else 8):
                continue
            last = len(values) - 1
            quantiles = [round(values[round(last * (0.01 + 0.98 * i / (QUANTILES - 1)))], 3) for i in range(QUANTILES)]
            out[name] = {"q": quantiles, "n": len(values), "files": sorted(self.files[name])}
        return out


def kernel_class(name: str) -> str:
    """The class of a kernel by its name; 'other' if none fits."""
    return next((label for label, pattern in CLASSES if pattern.search(name)), "other")


def load(path: Path) -> list[Event]:
    """The complete events of a trace, times in ns, sorted by start."""
    opened: Any = gzip.open(path, "rt", errors="replace") if path.suffix == ".gz" else open(path, errors="replace")
    with opened as file:
        data = json.load(file, strict=False)
    events = [e for e in (data["traceEvents"] if isinstance(data, dict) else data) if e.get("ph") == "X" and "dur" in e]
    for event in events:
        event["a"] = int(round(float(event["ts"]) * 1000))
        event["b"] = event["a"] + int(round(float(event["dur"]) * 1000))
        event["args"] = event.get("args") or {}
    return sorted(events, key=lambda e: (e["a"], -e["b"]))


def outermost(events: list[Event]) -> list[Event]:
    """Of slices on one thread, sorted by start, those inside no other."""
    out: list[Event] = []
    for event in events:
        if not out or event["a"] >= out[-1]["b"]:
            out.append(event)
    return out


def device(name: str, events: list[Event], out: Samples) -> None:
    """Launch latency, gaps on a stream, kernel lengths, copies, depth of the queue."""
    calls = {e["args"].get("correlation"): e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    streams: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"):
            streams[(event["pid"], event["tid"])].append(event)
    pending: list[tuple[int, int]] = []
    for operations in streams.values():
        before = None
        for event in operations:
            call = calls.get(event["args"].get("correlation"))
            length = event["b"] - event["a"]
            if event.get("cat") == "kernel":
                label = kernel_class(event["name"])
                if label != "comm" and length > 0:
                    out.add("kernel_" + label, name, length)
            copied = float(event["args"].get("bytes") or 0)
            if event.get("cat") == "gpu_memcpy" and copied > 4e5 and length > 0 and ("HtoD" in event["name"] or "DtoH" in event["name"]):
                out.add("rate_pageable" if "Pageable" in event["name"] else "rate_pinned", name, copied / length)
            if call:
                pending += [(call["b"], 1), (event["b"], -1)]
                if before is None or call["b"] > before["b"] + 3000:
                    if 0 < event["a"] - call["a"] < 200000:
                        out.add("launch_latency", name, event["a"] - call["a"])
                elif before["b"] > call["b"] + 20000 and 0 <= event["a"] - before["b"] < 100000:
                    out.add("stream_gap", name, event["a"] - before["b"])
            before = event
    depth = most = 0
    for _, change in sorted(pending):
        depth += change
        most = max(most, depth)
    if most > 64:
        out.add("queue_depth", name, most)


def host(name: str, events: list[Event], out: Samples) -> None:
    """Cost of calls, of operators before and after their launches, of Python between them, jitter, syncs, loaders."""
    threads: dict[Any, list[Event]] = defaultdict(list)
    gpu_ends = sorted(e["b"] for e in events if e.get("cat") in ("kernel", "gpu_memcpy"))
    for event in events:
        category, length = event.get("cat"), event["b"] - event["a"]
        if category in ("cuda_runtime", "cuda_driver"):
            if LAUNCH.search(event["name"]):
                out.add("launch_call", name, length)
            elif re.search("EventRecord|StreamWaitEvent", event["name"]):
                out.add("event_call", name, length)
            elif SYNC.search(event["name"]) and gpu_ends:
                last = gpu_ends[bisect.bisect_right(gpu_ends, event["b"]) - 1]
                if event["a"] < last - 20000 and 0 <= event["b"] - last < 100000:
                    out.add("sync_return", name, event["b"] - last)
        if category == "user_annotation" and "DataLoader" in event["name"]:
            out.add("loader_next", name, length)
        if category in ("cpu_op", "cuda_runtime", "cuda_driver"):
            threads[(event["pid"], event["tid"])].append(event)
    for slices in threads.values():
        host_thread(name, slices, out)
    handover(name, threads, out)


def host_thread(name: str, slices: list[Event], out: Samples) -> None:
    """Times within and between the operators of one thread."""
    tops = outermost([e for e in slices if e["cat"] == "cpu_op"])
    if len(tops) < 50:
        return
    backward = sum("Backward" in e["name"] or "autograd::" in e["name"] for e in tops) > len(tops) / 3
    label = "bwd" if backward else "fwd"
    launches = [e for e in slices if e["cat"] != "cpu_op" and LAUNCH.search(e["name"])]
    starts = [e["a"] for e in launches]
    lengths: dict[str, list[int]] = defaultdict(list)
    for op, following in zip(tops, tops[1:]):
        inside = launches[bisect.bisect_left(starts, op["a"]) : bisect.bisect_right(starts, op["b"])]
        gap = following["a"] - op["b"]
        if 0 <= gap < 2000000:
            out.add(f"{label}_between", name, gap)
        if inside:
            out.add(f"{label}_op_before", name, inside[0]["a"] - op["a"])
            out.add(f"{label}_op_after", name, op["b"] - inside[-1]["b"])
            out.add("launches_per_op", name, len(inside))
            lengths[f"{op['name']}/{len(inside)}"].append(op["b"] - op["a"])
            for one, two in zip(inside, inside[1:]):
                out.add(f"{label}_op_between_launches", name, max(0, two["a"] - one["b"]))
        elif op["b"] > op["a"]:
            out.add(f"{label}_op_without", name, op["b"] - op["a"])
    for values in lengths.values():
        if len(values) >= 12:
            middle = sorted(values)[len(values) // 2]
            for value in values:
                out.add("jitter", name, value / max(middle, 1))


def handover(name: str, threads: dict[Any, list[Event]], out: Samples) -> None:
    """Lead and tail of backward: holes of the busiest non-autograd thread that an autograd thread's burst fills."""
    tops = {key: outermost([e for e in slices if e["cat"] == "cpu_op"]) for key, slices in threads.items()}
    backward = [k for k, v in tops.items() if len(v) > 20 and sum("autograd::" in e["name"] for e in v) > len(v) / 3]
    others = [k for k in tops if k not in backward and len(tops[k]) > 20]
    if not backward or not others:
        return
    main = max(others, key=lambda k: len(tops[k]))
    for key in backward:
        starts = [e["a"] for e in tops[key]]
        for one, two in zip(tops[main], tops[main][1:]):
            first, end = bisect.bisect_left(starts, one["b"]), bisect.bisect_left(starts, two["a"])
            if two["a"] - one["b"] > 500000 and end - first > 5:
                out.add("backward_lead", name, tops[key][first]["a"] - one["b"])
                out.add("backward_tail", name, two["a"] - tops[key][end - 1]["b"])


def collectives(name: str, events: list[Event], out: Samples) -> None:
    """Length of small collectives (alpha) and bytes per ns of large ones (beta), as one rank sees them."""
    for event in events:
        args = event["args"]
        if event.get("cat") != "kernel" or not COMM.search(event["name"]) or "In msg nelems" not in args:
            continue
        width = {"Float": 4, "BFloat16": 2, "Half": 2, "Long": 8, "Int": 4}.get(str(args.get("dtype")), 4)
        moved = width * max(int(args["In msg nelems"]), int(args.get("Out msg nelems") or 0))
        length = event["b"] - event["a"]
        if 0 < moved <= 65536 and length < 500000:
            out.add("collective_small", name, length)
        elif moved >= 4 << 20 and length > 0:
            out.add("collective_rate", name, moved / length)


def skew(folders: dict[Path, list[list[Event]]], out: Samples) -> None:
    """How far apart the ranks of one job end their ProfilerSteps' collectives: starts of the n-th NCCL kernel, about their median."""
    for folder, ranks in folders.items():
        rows = [[e["a"] for e in events if e.get("cat") == "kernel" and COMM.search(e["name"])] for events in ranks]
        if len(rows) < 4 or not min(map(len, rows)):
            continue
        for index in range(min(map(len, rows))):
            starts = sorted(row[index] for row in rows)
            for start in starts:
                if start - starts[0] < 50000000:
                    out.add("arrival_skew", folder.name, start - starts[0])


def main() -> None:
    """Writes constants.json from all traces below the folder."""
    root, out = Path(sys.argv[1]), Samples()
    folders: dict[Path, list[list[Event]]] = defaultdict(list)
    for path in sorted(root.rglob("*.json*")):
        try:
            events = load(path)
        except (ValueError, KeyError, EOFError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        label = path.parent.name
        device(label, events, out)
        host(label, events, out)
        collectives(label, events, out)
        if len(list(path.parent.glob("*.json*"))) >= 4:
            folders[path.parent].append(events)
    skew(folders, out)
    out.split()
    table = out.table()
    if "--compare" in sys.argv:
        real = json.loads((HERE / "constants.json").read_text())
        for key, row in table.items():
            print(
                f"{key:28} "
                + "   ".join(f"q{5 * i:02} {row['q'][i]:>10.0f} / {real.get(key, row)['q'][i]:<10.0f}" for i in (2, 5, 10, 15, 18))
            )
        return
    (HERE / "constants.json").write_text(json.dumps(table, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    for key, row in table.items():
        print(f"{key:28} n {row['n']:7}  q05 {row['q'][1]:>12}  q50 {row['q'][10]:>12}  q95 {row['q'][19]:>12}  files {len(row['files'])}")


if __name__ == "__main__":
    main()
