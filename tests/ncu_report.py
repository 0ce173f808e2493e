# SPDX-License-Identifier: Apache-2.0
"""Writes reports of Nsight Compute: .ncu-rep, its two pages of CSV and its text, with the fields that the real ones have."""
import struct
from typing import Any

SPEED = "GPU Speed Of Light Throughput"
LABELS = {  # metric: section, label, unit of the details page
    "gpu__time_duration.sum": (SPEED, "Duration", "ns"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": (SPEED, "Compute (SM) Throughput", "%"),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (SPEED, "Memory Throughput", "%"),
    "l1tex__throughput.avg.pct_of_peak_sustained_active": (SPEED, "L1/TEX Cache Throughput", "%"),
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": (SPEED, "L2 Cache Throughput", "%"),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": (SPEED, "DRAM Throughput", "%"),
    "sm__maximum_warps_per_active_cycle_pct": ("Occupancy", "Theoretical Occupancy", "%"),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("Occupancy", "Achieved Occupancy", "%"),
    "launch__occupancy_limit_registers": ("Occupancy", "Block Limit Registers", "block"),
    "launch__occupancy_limit_shared_mem": ("Occupancy", "Block Limit Shared Mem", "block"),
    "launch__occupancy_limit_warps": ("Occupancy", "Block Limit Warps", "block"),
    "launch__occupancy_limit_blocks": ("Occupancy", "Block Limit SM", "block"),
    "launch__registers_per_thread": ("Launch Statistics", "Registers Per Thread", "register/thread"),
    "launch__waves_per_multiprocessor": ("Launch Statistics", "Waves Per SM", ""),
    "dram__bytes.sum.per_second": ("Memory Workload Analysis", "Memory Throughput", "byte/s"),
}


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number: int, value: Any) -> bytes:
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def triple(of: tuple[int, int, int]) -> bytes:
    return b"".join(field(i + 1, n) for i, n in enumerate(of))


def sized(message: bytes) -> bytes:
    return struct.pack("<I", len(message)) + message


class Launch:
    def __init__(self, name: str, metrics: dict[str, Any], grid: tuple = (16, 16, 1), block: tuple = (512, 1, 1)) -> None:
        self.name, self.metrics, self.grid, self.block = name, metrics, grid, block

    def message(self, names: list[str]) -> bytes:
        out = field(1, 7) + field(2, 1) + field(3, 9) + field(4, 8) + field(5, "_Z1k") + field(6, self.name.split("(")[0]) + field(7, self.name)
        out += field(8, 3) + field(9, triple((0, 0, 0))) + field(10, triple(self.grid)) + field(11, triple(self.block)) + field(14, 1761688041)
        out += field(15, field(1, 1 << 40)) + field(16, 0) + field(22, 1) + field(23, 7)
        for name, value in self.metrics.items():
            out += field(13, field(1, names.index(name)) + field(2, field(1, value) if isinstance(value, str) else field(3, float(value))))
        return out


def block(launches: list[Launch], names: list[str], *, with_names: bool = True, ranges: int = 0) -> bytes:
    payload = b"".join(sized(launch.message(names)) for launch in launches) + sized(b"") * ranges
    table = b"".join(field(1, name) for name in names) if with_names else b""
    more = field(7, ranges) if ranges else b""
    process = field(6, field(1, 7) + field(2, "127.0.0.1") + field(3, "/home/me/a.out"))
    return sized(field(1, 0) + field(2, len(launches)) + field(4, table) + field(5, len(payload)) + process + more) + payload


def names_of(launches: list[Launch]) -> list[str]:
    return sorted({name for launch in launches for name in launch.metrics})


def binary(launches: list[Launch], **more: Any) -> bytes:
    """One block with the table of names and the first launch, the others in blocks without a table, as ncu writes them."""
    names = names_of(launches)
    head = b"NVR\0" + sized(field(1, 7)) + block([], [], with_names=False)
    return head + block(launches[:1], names) + b"".join(block([one], names, with_names=False) for one in launches[1:]) + (
        block([], [], with_names=False, **more) if more else b"")


def quoted(*fields: Any) -> str:
    return ",".join('"%s"' % str(one).replace('"', '""') for one in fields)


def begin(at: int, launch: Launch) -> tuple:
    return (at, 7, "a.out", "127.0.0.1", launch.name, 1, 7, launch.block, launch.grid, 0, "8.6")


HEAD = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC")


def raw(launches: list[Launch], units: dict[str, tuple[str, float]] | None = None) -> str:
    """`ncu --csv --page raw`; units: of a metric, and what its value is divided by."""
    names, units = names_of(launches), units or {}
    lines = [quoted(*HEAD, *names), quoted(*("" for _ in HEAD), *(units.get(n, (LABELS.get(n, ("", "", ""))[2], 1))[0] for n in names))]
    for at, one in enumerate(launches):
        values = [one.metrics.get(n, "") for n in names]
        lines.append(quoted(*begin(at, one), *(v / units[n][1] if n in units and v != "" else v for n, v in zip(names, values))))
    return "\n".join(lines) + "\n"


def details(launches: list[Launch]) -> str:
    """`ncu --csv --page details`, as a program's output with it: rows of metrics end early, rules fill the rest."""
    lines = ["==PROF== Connected to process 7 (/home/me/a.out)", 'loss, "epoch" 1', "2208    2048", "==PROF== Disconnected from process 7",
             quoted(*HEAD, "Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description")]
    for at, one in enumerate(launches):
        for name, value in one.metrics.items():
            if name in LABELS:
                title, label, unit = LABELS[name]
                lines.append(quoted(*begin(at, one), title, label, unit, f"{value:,}") + ",")
        lines.append(quoted(*begin(at, one), "SpeedOfLight", "", "", "", "SOLBottleneck", "OPT", 'two lines,\nand a "word"'))
    return "\n".join(lines) + "\n"


def text(launches: list[Launch]) -> str:
    """The details page as text."""
    lines = ["==PROF== Connected to process 7 (/home/me/a.out)", "[7] a.out@127.0.0.1"]
    rule = "    %s %s %s" % ("-" * 30, "-" * 16, "-" * 12)
    for one in launches:
        lines.append(f"  {one.name} {one.grid}x{one.block}, Context 1, Stream 7, Device 0, CC 8.6")
        for section in sorted({LABELS[n][0] for n in one.metrics if n in LABELS}):
            lines += [f"    Section: {section}", rule, "    %-30s %16s %12s" % ("Metric Name", "Metric Unit", "Metric Value"), rule]
            lines += ["    %-30s %16s %12s" % (LABELS[n][1], LABELS[n][2], f"{v:,}") for n, v in one.metrics.items()
                      if n in LABELS and LABELS[n][0] == section]
            lines += [rule, "", "    INF   Some words about it.", ""]
    return "\n".join(lines) + "\n"
