# SPDX-License-Identifier: Apache-2.0
"""How long the collectives of torch.distributed take between the ranks of this torchrun.

    torchrun --nproc-per-node 4 -m holdup.collectives                       gloo, or nccl where each rank has a GPU
    torchrun ... -m holdup.collectives --sizes 1K-10M --seconds 10 --json

The same measurement as `mpirun holdup doctor --collectives`, in the same words and the same JSON, by the library that a training job uses: median over samples of the
slowest rank's time, sizes and bandwidths as nccl-tests counts them, every result checked.  docs/collectives.md
"""
from __future__ import annotations

import argparse
import json
import math
import os
import re
import socket
import sys
from datetime import timedelta
from time import perf_counter
from typing import Any, Callable, Sequence

PERIOD, STRIDE = 1021, 101                      # of the values that are sent: their sums are exact in float32
SAMPLES_LEAST, SAMPLES_MOST, SAMPLES_P95, SAMPLES_INTERVAL, ROUND = 3, 200, 20, 6, 16
SAMPLE_S, LEAST_S, ENOUGH, WORST_LINE, DRAWS, DISTURBED = 200e-6, 0.05, 0.03, 0.15, 100, 0.02
TRIALS_LEAST, CALLS_MOST, GROWTH, LONG_S = 3, 1024, 4, 0.02
LEAST_ERROR = 0.005
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


def size_of(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMGkmg]?)[Bb]?", text)
    size = int(found[1]) * 1000 ** " KMG".index(found[2].upper() or " ") if found else 0
    if not 4 <= size <= 10 ** 9:
        raise argparse.ArgumentTypeError(f"needs a range such as 1K-100M or one size, 4 bytes to 1G, not {text!r}")
    return size


def sizes_of(text: str) -> list[int]:
    """1, 3, 10, 30 ... times the first, and the last."""
    first, last = ([size_of(word) for word in text.split("-", 1)] * 2)[:2]
    if first > last:
        raise argparse.ArgumentTypeError(f"needs the smaller size first, not {text!r}")
    sizes, at = [], first
    while at <= last:
        sizes += [at] + ([3 * at] if 3 * at <= last else [])
        at *= 10
    return sizes + ([last] if sizes[-1] < last else [])


def factor_of(kind: str, n: int) -> float:
    """Bus bandwidth over algorithm bandwidth: PERFORMANCE.md of NVIDIA/nccl-tests."""
    return {"all-reduce": 2 * (n - 1) / n, "point-to-point": 1.0}.get(kind, (n - 1) / n)


def quantile(ordered: Sequence[float], q: float) -> float:
    at = q * (len(ordered) - 1)
    low = int(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def described(samples: Sequence[float]) -> dict[str, Any]:
    """Seconds to ns: median with its 95 % interval by the binomial distribution of samples below it; of few samples, all of them."""
    ordered, n = sorted(s * 1e9 for s in samples), len(samples)
    half = math.floor(n / 2 - 0.98 * math.sqrt(n))
    low = max(half - 1, 0) if n >= SAMPLES_INTERVAL else 0
    return {"samples": n, "median_ns": quantile(ordered, 0.5), "low_ns": ordered[low], "high_ns": ordered[n - 1 - low],
            "p95_ns": quantile(ordered, 0.95) if n >= SAMPLES_P95 else None}


def line_through(points: list[tuple[float, float]]) -> tuple[float, float, float]:
    """alpha, slope and mean relative error of the line with the least of it: for a slope alpha is a weighted median; the slope is searched by golden section."""
    def alpha_for(slope: float) -> tuple[float, float]:
        rows = sorted((y - slope * x, 1 / y) for x, y in points)
        half, below = sum(w for _, w in rows) / 2, 0.0
        alpha = 0.0
        for value, weight in rows:
            below += weight
            if below >= half:
                alpha = max(0.0, value)
                break
        return sum(abs(alpha + slope * x - y) / y for x, y in points) / len(points), alpha

    golden, low, high = (math.sqrt(5) - 1) / 2, 0.0, max(y / x for x, y in points)
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if alpha_for(left)[0] <= alpha_for(right)[0]:
            high = right
        else:
            low = left
    slope = (low + high) / 2
    error, alpha = alpha_for(slope)
    # what makes less difference than one can measure is not seen: 0
    if slope * max(x for x, _ in points) < LEAST_ERROR * alpha:
        slope = 0.0
    if alpha < LEAST_ERROR * slope * min(x for x, _ in points):
        alpha = 0.0
    return alpha, slope, error


def fit(rows: list[dict[str, Any]], factor: float, is_crowded: bool) -> dict[str, Any] | None:
    """The line of a series, with intervals of its noise: samples are drawn again."""
    import random

    rows = [r for r in rows if r["samples"]]
    if len(rows) < 2 or rows[-1]["bytes"] < 8 * rows[0]["bytes"]:
        return None
    dice = random.Random(1)
    alpha, slope, error = line_through([(r["bytes"] * factor, r["median_ns"]) for r in rows])
    again = []
    for _ in range(DRAWS):
        again.append(line_through([(r["bytes"] * factor, quantile(sorted(dice.choices(r["all_ns"], k=r["samples"])), 0.5)) for r in rows]))
    alphas, betas = sorted(a for a, _, _ in again), sorted(1 / s for _, s, _ in again if s > 0)
    known = len(betas) >= DRAWS * 0.9
    return {"alpha_ns": alpha, "alpha_low_ns": quantile(alphas, 0.025), "alpha_high_ns": quantile(alphas, 0.975), "beta_gbps": 1 / slope if slope > 0 else None,
            "beta_low_gbps": quantile(betas, 0.025) if known else None, "beta_high_gbps": quantile(betas, 0.975) if known else None, "lines": 1, "error": error,
            "is_line": error < WORST_LINE and not is_crowded}


class Ranks:
    """The process group, and what is measured in it."""

    def __init__(self, backend: str | None, timeout: float) -> None:
        import torch
        import torch.distributed as dist

        self.torch, self.dist = torch, dist
        has_gpus = torch.cuda.is_available() and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
        self.backend = backend or ("nccl" if has_gpus and dist.is_nccl_available() else "gloo")
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if self.backend == "nccl" else torch.device("cpu")
        if self.backend == "nccl":
            torch.cuda.set_device(self.device)
        self.what = "the start"
        dist.init_process_group(self.backend, timeout=timedelta(seconds=timeout))
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.timeout = timeout
        self.places: list[Any] = [None] * self.size

    def wait(self) -> None:
        if self.backend == "nccl":
            self.torch.cuda.synchronize(self.device)

    def maximum(self, values: Sequence[float]) -> list[float]:
        found = self.torch.tensor(values, dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(found, op=self.dist.ReduceOp.MAX)
        return found.tolist()

    def meet(self) -> None:
        """All have come, or the error names who has not; NCCL has no such barrier."""
        if self.backend == "gloo":
            self.dist.monitored_barrier(timeout=timedelta(seconds=self.timeout), wait_all_ranks=True)

    def row(self, start: int, n: int, scale: int = 1) -> Any:
        """What a rank with this offset has at each place; with scale, the sum over all ranks."""
        at = self.torch.arange(n, device=self.device) + start
        if scale == 1:
            return (at % PERIOD).to(self.torch.float32)
        found = self.torch.zeros(n, device=self.device)
        for r in range(self.size):
            found += ((at + STRIDE * r) % PERIOD).to(self.torch.float32)
        return found

    def prepared(self, kind: str, n: int) -> tuple[Callable[[], Any], Callable[[], bool]]:
        """The call, for n floats of each rank's share, and whether its result is right.  The result of the point-to-point call is that of rank 0."""
        torch, dist, all_n = self.torch, self.dist, n * self.size
        mine = self.row(STRIDE * self.rank, n if kind == "all-gather" else all_n)
        if kind == "all-reduce":
            out = torch.full((all_n,), math.nan, device=self.device)

            out.copy_(mine)
            dist.all_reduce(out)
            is_right = bool(torch.equal(out, self.row(0, all_n, self.size)))
            out.zero_()                 # it is in place: sums of sums would not stay exact
            return lambda: dist.all_reduce(out), lambda: is_right
        if kind == "reduce-scatter":
            part = torch.full((n,), math.nan, device=self.device)
            return lambda: dist.reduce_scatter_tensor(part, mine), lambda: bool(torch.equal(part, self.row(n * self.rank, n, self.size)))
        out = torch.full((all_n,), math.nan, device=self.device)
        if kind == "all-gather":
            return lambda: dist.all_gather_into_tensor(out, mine), lambda: bool(torch.equal(out, torch.cat([self.row(STRIDE * r, n) for r in range(self.size)])))
        return (lambda: dist.all_to_all_single(out, mine),
                lambda: bool(torch.equal(out, torch.cat([self.row(STRIDE * r + n * self.rank, n) for r in range(self.size)]))))

    def message(self, n: int) -> tuple[Callable[[], Any], Callable[[], bool]]:
        """A round trip of ranks 0 and 1; the others do nothing."""
        mine, got = self.row(1, n), self.torch.full((n,), math.nan, device=self.device)

        def trip() -> None:
            if self.rank == 0:
                self.dist.send(mine, 1)
                self.dist.recv(got, 1)
            elif self.rank == 1:
                self.dist.recv(got, 0)
                self.dist.send(got, 0)

        return trip, lambda: self.rank > 1 or bool(self.torch.equal(got, mine))

    def sample(self, call: Callable[[], Any], calls: int) -> float:
        self.dist.barrier()
        self.wait()
        began = perf_counter()
        for _ in range(calls):
            call()
        self.wait()
        return perf_counter() - began

    def measure(self, kind: str, size: int, share: float, until: Callable[[], float]) -> dict[str, Any]:
        """All ranks see the same numbers, so that all decide alike when it is enough."""
        import torch

        self.what = f"{kind}, {size_text(size)}"
        self.meet()
        half = 2 if kind == "point-to-point" else 1
        with torch.no_grad():
            call, is_right = self.message(size // 4) if half == 2 else self.prepared(kind, size // 4 // self.size)
            first = self.sample(call, 1)
            wrong = -1.0 if is_right() else float(self.rank)
            first, wrong, now = self.maximum([first, wrong, until()])
            began, calls, again, last = now, 1, 0, first
            while again < TRIALS_LEAST and calls < CALLS_MOST:      # as hu_measuring_calls of the program
                last = self.maximum([self.sample(call, calls)])[0]
                if last >= LONG_S:
                    break
                if last < SAMPLE_S / 2:
                    calls, again = calls * GROWTH, 0
                else:
                    again += 1
            if last >= LONG_S and calls > 1:
                calls //= GROWTH
            each = int(min(ROUND, max(1, share / 5 / max(last, 1e-9))))
            samples: list[float] = []
            while len(samples) < SAMPLES_LEAST or (len(samples) < SAMPLES_MOST and now - began < share and not (now - began > LEAST_S and is_enough(samples))):
                *found, now = self.maximum([self.sample(call, calls) for _ in range(each)] + [until()])
                samples += [f / calls / half for f in found]
        samples = samples[:SAMPLES_MOST]
        row = {"bytes": size, "calls_per_sample": calls, **described(samples), "is_right": wrong < 0, "not_measured": None, "wrong_rank": wrong, "all_ns": [s * 1e9 for s in samples]}
        return row


def turns() -> tuple[int, int]:
    """ns that threads of this process ran, and were ready without a CPU; gloo's work is in threads of its own."""
    ran = queued = 0
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/schedstat", encoding="ascii") as file:
                row = file.read().split()
            ran, queued = ran + int(row[0]), queued + int(row[1])
        except (OSError, IndexError):
            pass
    return ran, queued


def is_enough(samples: Sequence[float]) -> bool:
    if len(samples) < SAMPLES_P95:
        return False
    d = described(samples)
    return bool(d["high_ns"] - d["low_ns"] < ENOUGH * d["median_ns"])


def place_of() -> dict[str, Any]:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            machine = file.read().strip()
    except OSError:
        machine = socket.gethostname()
    return {"host": socket.gethostname(), "machine": machine, "pid": os.getpid(), "cpus": sorted(os.sched_getaffinity(0))}


def stopped(places: list[Any], mine: int) -> str:
    """Which rank of this machine a signal or a debugger stopped; "" where none is."""
    for rank, place in enumerate(places):
        if not place or not places[mine] or place["machine"] != places[mine]["machine"]:
            continue
        try:
            with open(f"/proc/{place['pid']}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] in "Tt":
                    return f"rank {rank} (PID {place['pid']}) is stopped; "
        except (OSError, IndexError):
            pass
    return ""


def machines_of(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in dict.fromkeys(p["machine"] for p in places):
        here = [(r, p) for r, p in enumerate(places) if p["machine"] == name]
        cpus = len(set().union(*(p["cpus"] for _, p in here)))
        found.append({"host": here[0][1]["host"], "ranks": len(here), "first_rank": here[0][0], "cpus": cpus, "is_crowded": len(here) > cpus, "links": []})
    return found


def foresee(measured: list[dict[str, Any]], size: int) -> float:
    """Seconds of a call, by the line through the last two sizes."""
    if not measured:
        return 0
    last = measured[-1]
    slope = last["median_ns"] / last["bytes"]
    if len(measured) > 1:
        slope = max(0, (last["median_ns"] - measured[-2]["median_ns"]) / (last["bytes"] - measured[-2]["bytes"]))
    return float(last["median_ns"] + slope * (size - last["bytes"])) * 1e-9


def measure_all(ranks: Ranks, sizes: list[int], seconds: float) -> dict[str, Any]:
    began, at_first = perf_counter(), turns()
    ranks.dist.all_gather_object(ranks.places, place_of())
    machines = machines_of(ranks.places)
    is_crowded = any(m["is_crowded"] for m in machines)
    kinds = (*KINDS, "point-to-point")
    series: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
    weights = [1 if s < 10 ** 6 else 2 if s < 10 ** 7 else 4 for s in sizes]
    left = float(sum(weights) * len(kinds))
    now = 0.0
    for size, weight in zip(sizes, weights):
        whole = 4 * ranks.size
        size = -(-size // whole) * whole
        for kind in kinds:
            rows = series[kind]
            foreseen = (3 + SAMPLES_LEAST) * foresee([row for row in rows if row["samples"]], size)
            now = ranks.maximum([perf_counter() - began])[0]
            rest = seconds - now
            if rest <= 0 or foreseen > rest:
                rows.append({"bytes": size, "samples": 0, "calls_per_sample": 0, "median_ns": None, "low_ns": None, "high_ns": None, "p95_ns": None, "is_right": None,
                             "not_measured": "time", "foreseen_s": foreseen})
            else:
                rows.append(ranks.measure(kind, size, rest * weight / left, lambda: perf_counter() - began))
            left -= weight
    ran, queued = (after - before for after, before in zip(turns(), at_first))
    share = ranks.maximum([queued / max(ran + queued, 1)])[0]
    found: list[dict[str, Any]] = []
    for kind in kinds:
        factor = factor_of(kind, ranks.size)
        for row in series[kind]:
            row["alg_gbps"] = row["bytes"] / row["median_ns"] if row["samples"] else None
            row["bus_gbps"] = row["alg_gbps"] * factor if row["samples"] else None
        pair = {"role": "neighbours", "ranks": [0, 1]} if kind == "point-to-point" else {}
        found.append({"kind": kind, **pair, "bus_factor": factor, "sizes": series[kind], "fit": fit(series[kind], factor, is_crowded)})
    return {"library": f"torch {ranks.torch.__version__}, {ranks.backend}", "ranks": ranks.size, "took_s": perf_counter() - began, "is_crowded": is_crowded,
            "queued_share": share, "is_right": not any(row["is_right"] is False for s in found for row in s["sizes"]), "machines": machines, "series": found, "pairs": None}


def time_text(ns: float) -> str:
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            break
    else:
        unit, size = "s", 1e9
    value = ns / size
    return f"{value:.{0 if unit == 'ns' else 2 if value < 9.995 else 1}f} {unit}"


def size_text(size: int) -> str:
    for unit, one in (("B", 1), ("kB", 1000), ("MB", 10 ** 6)):
        if size < 999.5 * one:
            break
    else:
        unit, one = "GB", 10 ** 9
    value = size / one
    return f"{value:.{0 if one == 1 else 2 if value < 9.995 else 1}f} {unit}"


def rate_text(gbps: float) -> str:
    return f"{gbps:.{3 if gbps < 1 else 2 if gbps < 100 else 1}f}"


def text_of(found: dict[str, Any]) -> str:
    n = len(found["machines"])
    lines = [f"Collectives of {found['ranks']} ranks on {n} machine{'s' * (n != 1)}, {found['library']}, took {time_text(found['took_s'] * 1e9)}",
             "Times are those of the slowest rank; sizes and GB/s as nccl-tests counts them.", "", "  host                      ranks  first   CPUs"]
    lines += [f"  {m['host'][:24]:24}{m['ranks']:7}{m['first_rank']:7}{m['cpus']:7}" for m in found["machines"]]
    for m in found["machines"]:
        if m["is_crowded"]:
            lines.append(f"  {m['host'][:24]}: {m['ranks']} ranks share {m['cpus']} CPU{'s' * (m['cpus'] != 1)}: times are those of the scheduler")
    if not found["is_crowded"] and found["queued_share"] > DISTURBED:
        lines.append(f"  A rank waited for a CPU in {100 * found['queued_share']:.1f} % of the time that it could run:\n  other programs disturb these times.")
    for s in found["series"]:
        lines += ["", "messages of ranks 0 and 1 (neighbours)" if "ranks" in s else s["kind"], "       size     median      95 % interval          p95   algGB/s  busGB/s"]
        for row in s["sizes"]:
            if not row["samples"]:
                needs = f"needs about {time_text(row['foreseen_s'] * 1e9)}, and " if row["foreseen_s"] else ""
                lines.append(f"{size_text(row['bytes']):>11}   not measured: {needs}--seconds is up")
                continue
            star = "*" if row["samples"] < SAMPLES_INTERVAL else " "
            p95 = time_text(row["p95_ns"]) if row["p95_ns"] is not None else "–"
            lines.append(f"{size_text(row['bytes']):>11}{time_text(row['median_ns']):>11}{time_text(row['low_ns']):>11} …{time_text(row['high_ns']):>10}{star}{p95:>10}"
                         f"{rate_text(row['alg_gbps']):>9}{rate_text(row['bus_gbps']):>9}")
            if row["is_right"] is False:
                lines.append(f"  WRONG: rank {row['wrong_rank']:.0f} got other values than it should")
        if any(0 < row["samples"] < SAMPLES_INTERVAL for row in s["sizes"]):
            lines.append(f"  * of fewer than {SAMPLES_INTERVAL} samples: the lowest and the highest")
        f = s["fit"]
        if f and f["is_line"]:
            beta = f" + bus bytes / {f['beta_gbps']:.3f} [{f['beta_low_gbps']:.3f} … {f['beta_high_gbps']:.3f}] GB/s" if f["beta_gbps"] and f["beta_low_gbps"] else ""
            lines += [f"  line: {time_text(f['alpha_ns'])} [{time_text(f['alpha_low_ns'])} … {time_text(f['alpha_high_ns'])}]{beta}", f"        (times lie {100 * f['error']:.1f} % beside it)"]
        elif f and not found["is_crowded"]:
            lines.append(f"  line: none; times lie {100 * f['error']:.1f} % beside the best one")
    lines += ["", "  Pairs are not compared here: mpirun holdup doctor --collectives does.", ""]
    lines.append("All results were checked, and right." if found["is_right"] else "WRONG RESULTS: see above. Do not train on this.")
    return "\n".join(lines) + "\n"


def json_of(found: dict[str, Any]) -> str:
    for s in found["series"]:
        for row in s["sizes"]:
            for key in ("all_ns", "wrong_rank", "foreseen_s"):
                row.pop(key, None)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="torchrun -m holdup.collectives", description="Time collectives of torch.distributed between the ranks of this torchrun.")
    parser.add_argument("--sizes", type=sizes_of, default=sizes_of("1K-100M"), metavar="A-B", help="in bytes (default 1K-100M)")
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="in all, about (default 30); what would take longer is left out")
    parser.add_argument("--timeout", type=float, default=30, metavar="S", help="end the job when one call takes longer (default 30)")
    parser.add_argument("--backend", choices=("gloo", "nccl"), help="default: nccl where each rank of a machine has a GPU, else gloo")
    parser.add_argument("--json", action="store_true", help="write JSON")
    o = parser.parse_args(arguments)
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        print("holdup: collectives need at least 2 ranks: torchrun --nproc-per-node 4 -m holdup.collectives", file=sys.stderr)
        return 2
    try:
        ranks = Ranks(o.backend, o.timeout)
    except (ImportError, RuntimeError) as problem:
        print(f"holdup: rank {os.environ.get('RANK', '?')} cannot start torch.distributed: {problem}", file=sys.stderr)
        return 3
    try:
        found = measure_all(ranks, o.sizes, o.seconds)
    except RuntimeError as problem:
        why = re.sub(r"^\[\S+\] ", "", str(problem).strip()).partition("\n")[0]
        print(f"holdup: rank {ranks.rank} on {socket.gethostname()} (PID {os.getpid()}) gives up in {ranks.what}: {stopped(ranks.places, ranks.rank)}{why}", file=sys.stderr)
        os._exit(3)                     # a group that lost a rank does not end by itself
    if ranks.rank == 0:
        sys.stdout.write(json_of(found) if o.json else text_of(found))
        sys.stdout.flush()
    ranks.dist.barrier()
    ranks.dist.destroy_process_group()
    return 0 if found["is_right"] else 1


if __name__ == "__main__":
    sys.exit(main())
