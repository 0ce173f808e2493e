# SPDX-License-Identifier: Apache-2.0
"""Writes tables of sums as `nsys stats` has printed them since 2019: headings, units, titles and forms of each time."""
import csv
import io
import statistics
from typing import Any, NamedTuple

TITLES = {  # report of today: report and title of until 2022, title of today, heading of counts, of counts until 2020, of names
    "osrt_sum": ("osrtsum", "Operating System Runtime API Statistics", "OS Runtime Summary", "Num Calls", "Calls", "Name"),
    "cuda_api_sum": ("cudaapisum", "CUDA API Statistics", "CUDA API Summary", "Num Calls", "Calls", "Name"),
    "cuda_gpu_kern_sum": ("gpukernsum", "CUDA Kernel Statistics", "CUDA GPU Kernel Summary", "Instances", "Instances", "Name"),
    "cuda_gpu_mem_time_sum": ("gpumemtimesum", "CUDA Memory Operation Statistics (by time)", "CUDA GPU MemOps Summary (by Time)", "Count",
                              "Operations", "Operation"),
    "cuda_gpu_mem_size_sum": ("gpumemsizesum", "CUDA Memory Operation Statistics (by size)", "CUDA GPU MemOps Summary (by Size)", "Count",
                              "Operations", "Operation"),
    "cuda_gpu_sum": ("gpusum", "CUDA GPU Summary", "CUDA GPU Summary (Kernels/MemOps)", "Instances", "Instances", "Operation"),
    "cuda_api_gpu_sum": ("apigpusum", "CUDA Summary", "CUDA Summary (API/Kernels/MemOps)", "Instances", "Instances", "Operation"),
    "nvtx_sum": ("nvtxsum", "NVTX Range Statistics", "NVTX Range Summary", "Instances", "Instances", "Range"),
    "mpi_event_sum": ("mpieventsum", "MPI Event Statistics", "MPI Event Summary", "Instances", "Instances", "Name"),
    "openmp_sum": ("openmpevtsum", "OpenMP Statistics", "OpenMP Summary", "Count", "Count", "Name"),
}
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "sec": 1e9}


class Row(NamedTuple):
    """A name and its durations in ns, or its sizes in bytes."""
    name: str
    values: list[int]
    group: str = ""


class Table(NamedTuple):
    report: str
    rows: list[Row]

    @property
    def is_size(self) -> bool:
        return self.report == "cuda_gpu_mem_size_sum"

    def cells(self, year: int, unit: str, grouped: bool) -> list[list[str]]:
        """Headings and rows as text; `grouped`: with a comma behind each three digits."""
        _, _, _, count, old_count, name = TITLES[self.report]
        by, decimals = (1e6, 3) if self.is_size else (UNITS[unit], 0 if unit == "ns" else 4)
        if self.is_size and year <= 2020:
            by = 1024
        unit = "MB" if self.is_size else unit
        total = sum(sum(r.values) for r in self.rows)
        one = 1 if decimals == 0 else decimals
        modern = year >= 2022
        words = ["Avg", "Med", "Min", "Max", "StdDev"] if modern else ["Average", None, "Minimum", "Maximum", "StdDev" if year == 2021 else None]
        tail = f" ({unit})" if year >= 2021 else ""
        pct = [] if self.is_size else ["Time (%)" if modern else "Time(%)"]
        sums = f"Total Time{tail}" if year != 2020 else "Total Time (ns)"
        if self.is_size:
            sums = f"Total ({unit})" if year >= 2021 else "Total"
        head = pct + [sums, count if year >= 2021 else old_count] + [f"{w}{tail}" for w in words if w]
        if any(r.group for r in self.rows):
            head.append("Style" if name == "Range" else "Category")
        if self.report == "cuda_gpu_kern_sum" and year == 2022:
            head += ["GridXYZ", "BlockXYZ"]
        head.append(name if year > 2019 else "Name")

        def said(value: float, places: int) -> str:
            return f"{value / by:{',' if grouped else ''}.{places}f}"

        out = [head]
        for r in sorted(self.rows, key=lambda r: -sum(r.values)):
            cells = [] if self.is_size else [f"{100 * sum(r.values) / total:.1f}"]
            cells += [said(sum(r.values), decimals), f"{len(r.values):{',' if grouped else ''}}", said(statistics.mean(r.values), one)]
            if modern:
                cells.append(said(statistics.median(r.values), one))
            cells += [said(min(r.values), decimals), said(max(r.values), decimals)]
            if modern or year == 2021:
                cells.append(said(statistics.stdev(r.values) if len(r.values) > 1 else 0, one))
            if len(head) > len(cells) + 1 and head[len(cells)] in ("Style", "Category"):
                cells.append(r.group)
            if self.report == "cuda_gpu_kern_sum" and year == 2022:
                cells += ["  64    1    1", " 256    1    1"]
            out.append(cells + [r.name])
        return out


def columns(cells: list[list[str]], cut: int | None, indent: str = " ") -> str:
    """Padded with spaces, dashes below the headings; numbers stand at the right, texts at the left."""
    cells = [[c if cut is None or len(c) <= cut else c[: cut - 1] + "\u2026" for c in row] for row in cells]
    wide = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    texts = [i for i, h in enumerate(cells[0]) if h in ("Name", "Range", "Operation", "Style", "Category", "GridXYZ", "BlockXYZ")]

    def line(row: list[str], centre: bool) -> str:
        return indent + "  ".join(c.center(w) if centre and i in texts else c.ljust(w) if i in texts else c.rjust(w)
                                  for i, (c, w) in enumerate(zip(row, wide))) + "\n"
    return line(cells[0], True) + indent + "  ".join("-" * w for w in wide) + "\n" + "".join(line(row, False) for row in cells[1:])


def bars(cells: list[list[str]]) -> str:
    wide = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    rule = "+" + "+".join("-" * (w + 2) for w in wide) + "+\n"
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, wide)) + " |\n" for row in cells]
    return rule + lines[0] + rule + "".join(lines[1:]) + rule


def marks(cells: list[list[str]], mark: str) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=mark, lineterminator="\n").writerows(cells)
    return out.getvalue()


def table(t: Table, form: str = "column", year: int = 2024, unit: str = "ns", grouped: bool = False) -> str:
    cells = t.cells(year, unit, grouped)
    return (bars(cells) if form == "table" else marks(cells, ",") if form == "csv" else marks(cells, "\t") if form == "tsv"
            else columns(cells, 100 if year >= 2023 else None, "" if year == 2019 else " "))


def console(tables: list[Table], absent: list[str] = [], form: str = "column", year: int = 2024, sqlite: str = "run.sqlite", **how: Any) -> str:
    """All that the command prints: its own words, then each table below what names it."""
    out = {2019: "Exporting data to SQLite...\n", 2020: f"Exporting data to {sqlite}...\n"}.get(
        year, f"Generating SQLite file {sqlite} from {sqlite.removesuffix('.sqlite')}.nsys-rep\n")
    if year == 2022:
        out = f"[1/8] [========================100%] {sqlite.removesuffix('.sqlite')}.nsys-rep\n[2/8] [========================100%] {sqlite}\n"
    for t in tables:
        old, title, new, *_ = TITLES[t.report]
        if year == 2019:
            title = title.replace(" (by time)", "").replace(" (by size)", "")
            out += f"Generating {title}...\n{title} ({'KiB' if t.is_size else 'nanoseconds'})\n\n"
        elif year <= 2021:
            out += title.replace("(by size)", "(by size in KiB)" if year == 2020 else "(by size)") + ":\n\n"
        elif year == 2022:
            out += f"[4/8] Executing '{old}' stats report\n\n" + f"{title}:\n\n"
        else:
            out += f"Processing [{sqlite}] with [/opt/nvidia/reports/{t.report}.py]... \n"
            out += "" if form in ("csv", "tsv") else f"\n ** {new} ({t.report}):\n\n"
        out += table(t, form, year, **how) + "\n"
    for report in absent:
        out += f"Processing [{sqlite}] with [/opt/nvidia/reports/{report}.py]... \nSKIPPED: {sqlite} does not contain such data.\n\n"
    return out
