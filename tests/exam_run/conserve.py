# SPDX-License-Identifier: Apache-2.0
"""What a recording must keep whole: time, CPU time, context switches, output, exit status, every record."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.exam_run.measure import Answer, Ran

STATES_PCT = 1.0  # states of a thread against its wall time
CPU_PCT = 2.0
SWITCHES_PCT = 5.0  # the process still switches between its own count and its end
SLACK_S = 0.005
NOT_REPORTED = "–"


@dataclass
class Check:
    """One law: what it is, whether it holds (None: not reported, or not known), and the numbers."""

    name: str
    holds: bool | None
    numbers: str = NOT_REPORTED


# of the same time once more: by the scheduler's states alone, and CPU time
OTHER_SUMS = ("cpu_ns", "cpu_time", "task_", "process_", "job_")


def _states(row: dict[str, Any], wall: str) -> tuple[float, float] | None:
    """Sum of the states of a row and its wall time, s."""
    values = [v for k, v in row.items() if k.endswith("_ns") and k != wall and not k.startswith(OTHER_SUMS)]
    if row.get(wall) is None or any(v is None for v in values):
        return None
    return sum(values) / 1e9, row[wall] / 1e9


def _host_rows(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for rank in report.get("ranks") or []:
        if rank.get("host_time"):
            yield rank["host_time"]


def states(report: dict[str, Any]) -> Check:
    """The states of each thread add up to its wall time."""
    worst, text = -1.0, NOT_REPORTED
    for host in _host_rows(report):
        rows = [(host, "step_ns", "main")]
        rows += [(t, "wall_ns", f"thread {t['name']}") for t in host.get("threads") or []]
        rows += [(p, "wall_ns", f"process {p['name']}") for p in host.get("processes") or []]
        for row, wall, name in rows:
            pair = _states(row, wall)
            if not pair or pair[1] <= 0:
                continue
            error = 100 * abs(pair[0] - pair[1]) / pair[1]
            if error > worst:
                worst, text = error, f"{name}: {1e3 * pair[0]:.1f} of {1e3 * pair[1]:.1f} ms"
    return Check("states = wall", None if worst < 0 else worst <= STATES_PCT, text)


def covers(report: dict[str, Any], ran: Ran) -> Check:
    """Main thread and main process are there from their start to their end: at least the work by its own clock, at most the run."""
    rows = list(_host_rows(report))
    steps = (report.get("replay") or {}).get("steps") or 1
    mains = [h["step_ns"] / 1e9 for h in rows if h.get("step_ns")] if steps == 1 else [ran.work]    # a step is not the run
    processes = [p["wall_ns"] / 1e9 for h in rows for p in h.get("processes") or []]
    if not mains or not processes:
        return Check("run covered", None)
    low, high = 0.99 * ran.work - SLACK_S, ran.wall + SLACK_S
    return Check("run covered", all(low <= max(walls) <= high for walls in (mains, processes)),
                 f"main {max(mains):.3f}, process {max(processes):.3f} s of {ran.work:.3f} s work + {ran.wall - ran.work:.3f} s around it")


def _on_cpu(row: dict[str, Any]) -> float | None:
    """CPU time of a row; where the report has none, the time that it calls running."""
    return next((row[key] for key in ("cpu_time_ns", "cpu_ns", "on_cpu_ns", "running_ns") if row.get(key) is not None), None)


def cpu(report: dict[str, Any], ran: Ran) -> Check:
    """CPU time of all threads against getrusage; of ranks, only one tells its own."""
    if ran.cpu is None or len(report.get("ranks") or []) != 1:
        return Check("CPU = getrusage", None)
    total, seen = 0.0, False
    for host in _host_rows(report):
        if host.get("job_cpu_ns") is not None:
            total, seen = total + host["job_cpu_ns"] / 1e9, True
            continue
        rows = [*(host.get("processes") or []), *(host.get("threads") or [])]     # main threads, and the others of the main process
        known = [v for v in map(_on_cpu, rows) if v is not None]
        seen = seen or bool(known)
        total += sum(known) / 1e9
    if not seen:
        return Check("CPU = getrusage", None)
    off = abs(total - ran.cpu)
    return Check("CPU = getrusage", off <= CPU_PCT / 100 * ran.cpu + SLACK_S, f"{total:.3f} of {ran.cpu:.3f} s")


def _find(tree: Any, words: str) -> Iterator[float]:
    """Numbers of all keys that hold a word."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if words in key and isinstance(value, (int, float)):
                yield value
            else:
                yield from _find(value, words)
    elif isinstance(tree, list):
        for value in tree:
            yield from _find(value, words)


def switches(report: dict[str, Any], ran: Ran) -> Check:
    """Context switches, if the report has them, against getrusage."""
    found = list(_find(report, "context_switches"))
    if not found or ran.switches is None:
        return Check("switches", None)
    total = sum(found)
    return Check("switches", abs(total - ran.switches) <= SWITCHES_PCT / 100 * ran.switches + 20, f"{total:.0f} of {ran.switches}")


def unchanged(plain: Ran, recorded: Ran) -> Check:
    """Output and exit status are those of the run without the recorder."""
    differ = [word for word, same in (("status", plain.status == recorded.status), ("stdout", plain.out == recorded.out),
                                      ("stderr", plain.err == recorded.err)) if not same]
    if differ == ["stderr"]:
        return Check("unchanged", False, f"stderr: {recorded.err[:120]!r}")
    return Check("unchanged", not differ, ", ".join(differ) or "same")


def complete(report: dict[str, Any], ran: Ran) -> Check:
    """Nothing was lost, by the report and by what the recorder said."""
    qualities = [r.get("quality") or {} for r in report.get("ranks") or []]
    counts = [f"{key} {q[key]}" for q in qualities for key in ("lost", "lost_records", "torn_records") if q.get(key)]
    said = [line for line in ran.ours if " lost" in line or "could not be written" in line]
    return Check("nothing lost", not counts and not said, "; ".join(counts + said)[:200] or "0")


def checks(plain: Ran, answer: Answer) -> list[Check]:
    """All laws, for one recording."""
    report, ran = answer.report, answer.ran
    return [states(report), covers(report, ran), cpu(report, ran), switches(report, ran), unchanged(plain, ran), complete(report, ran)]
