# SPDX-License-Identifier: Apache-2.0
"""Against Nsight Compute itself, where HOLDUP_NCU names its `ncu` (Debian non-free: nsight-compute): it imports reports and lists options, sections
and metrics without a GPU."""
import csv
import io
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import ROOT, run, skip_loudly
from tests.test_ncu import REAL, Selected

NCU = os.environ.get("HOLDUP_NCU")
# What the chips of ncu 2024.1.1 have: metrics of HU_COUNTERS that are attributes of a launch or a device are no counters.
CHIPS = ("ga100", "gh100", "tu102")
ATTRIBUTES = ("launch__", "device__")


def ncu(*arguments: Any) -> tuple[int, str]:
    done = subprocess.run([str(NCU), *map(str, arguments)], capture_output=True, timeout=120, check=False)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def setUpModule() -> None:
    if not NCU:
        skip_loudly("no ncu: set HOLDUP_NCU to compare with Nsight Compute itself")
        raise unittest.SkipTest("no ncu")


class Values(unittest.TestCase):
    def reports(self) -> list[Path]:
        found = sorted(REAL.glob("*/*.ncu-rep"))
        if not found:
            skip_loudly("no real reports of Nsight Compute")
            self.skipTest("no reports")
        return found

    def told(self, path: Path) -> list[dict[str, Any]]:
        status, out, err = run("report", path, "--json")
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)["kernels"]

    def test_every_value(self) -> None:
        """What ncu prints of each launch, in base units, is what holdup read of the file."""
        n = 0
        for path in self.reports():
            text = ncu("--import", path, "--csv", "--page", "raw", "--print-units", "base", "--print-fp")[1]
            head, units, *rows = csv.reader(io.StringIO(text))
            by_id = {int(r[0]): dict(zip(head, r)) for r in rows}
            for kernel in self.told(path):
                row = by_id[kernel["shown_launch"]]
                self.assertEqual((kernel["name"], kernel["device"]), (row["Kernel Name"], row["device__attribute_display_name"]))
                self.assertEqual("(%s)" % ", ".join(map(str, kernel["grid"])), row["Grid Size"])
                for value, metric in ((kernel["duration_ns"], "gpu__time_duration.sum"), (kernel["waves"], "launch__waves_per_multiprocessor"),
                                      (kernel["registers_per_thread"], "launch__registers_per_thread"),
                                      (kernel["occupancy"]["theoretical_pct"], "sm__maximum_warps_per_active_cycle_pct"),
                                      (kernel["occupancy"]["achieved_pct"], "sm__warps_active.avg.pct_of_peak_sustained_active"),
                                      (kernel["speed_of_light"]["sm_pct"], "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
                                      (kernel["speed_of_light"]["memory_pct"], "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),
                                      (kernel["speed_of_light"]["l1_pct"], "l1tex__throughput.avg.pct_of_peak_sustained_active"),
                                      (kernel["speed_of_light"]["l2_pct"], "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
                                      (kernel["speed_of_light"]["dram_pct"], "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")):
                    if metric not in row:
                        self.assertIsNone(value, metric)
                        continue
                    unit = units[head.index(metric)]
                    self.assertIn(unit, ("nsecond", "ns", "%", "register/thread", ""), metric)
                    self.assertAlmostEqual(value, float(row[metric].replace(",", "")), delta=max(0.0051, 1e-5 * abs(value)), msg=f"{path.name} {metric}")
                    n += 1
        self.assertGreaterEqual(n, 60)

    def test_every_page(self) -> None:
        """The same report as CSV of both pages and as text gives the same answer, but for what a page leaves out."""
        with tempfile.TemporaryDirectory() as folder:
            for path in self.reports():
                whole = {k["shown_launch"]: k for k in self.told(path)}
                for page in (("--csv", "--page", "raw"), ("--csv", "--page", "raw", "--print-units", "auto"), ("--csv", "--page", "details"), ("--page", "details"), ("--page", "raw")):
                    copy = Path(folder) / "page.txt"
                    copy.write_text(ncu("--import", path, *page)[1])
                    kernels = self.told(copy)
                    self.assertEqual(len(kernels), len(whole), page)
                    for kernel in kernels:
                        other = next(k for k in whole.values() if k["grid"] == kernel["grid"] and k["name"].split("(")[0] == kernel["name"].split("(")[0])
                        self.assertEqual((kernel["bound"], kernel["occupancy"]["limited_by"]), (other["bound"], other["occupancy"]["limited_by"]), page)
                        self.assertAlmostEqual(kernel["duration_ns"], other["duration_ns"], delta=0.01 * other["duration_ns"])

    def test_its_own_rules(self) -> None:
        """Where ncu's rule says compute and memory are balanced, or that the grid is small, holdup does; but a grid of nearly a wave is not to blame."""
        words = {"compute-memory": "well-balanced", "small-grid": "too small to fill", "compute": "Compute is more heavily", "memory": "Memory is more heavily",
                 "latency": "low compute throughput"}
        n = 0
        for path in self.reports():
            rows = list(csv.DictReader(io.StringIO(ncu("--import", path, "--csv", "--page", "details")[1])))
            rules = {int(r["ID"]): r["Rule Description"] for r in rows if r["Rule Name"] == "SOLBottleneck"}
            for kernel in self.told(path):
                rule = rules[kernel["shown_launch"]]
                full = max(kernel["speed_of_light"]["sm_pct"], kernel["speed_of_light"]["memory_pct"]) / min(1, kernel["waves"])
                if kernel["bound"] == "latency" and words["small-grid"] in rule:
                    self.assertLess(full, 60, "a whole wave would not be busy either")
                    continue
                self.assertIn(words[kernel["bound"]], rule)
                n += 1
        self.assertGreaterEqual(n, 5)


class Suggested(Selected):
    def test_its_options(self) -> None:
        """Every option and section that --suggest prints is one of ncu's; so are the sections that a report recommends."""
        self.trace("NVIDIA A100-SXM4-80GB")
        status, out, _ = self.suggest()
        self.assertEqual(status, 0)
        line = out.split("\nholdup report")[0]
        help_text, sections = ncu("--help")[1], ncu("--list-sections")[1]
        options = re.findall(r"(?<!\S)--?[a-z-]+", line)
        self.assertGreaterEqual(len(set(options)), 5)
        for option in options:
            self.assertRegex(help_text, rf"(?m)(^|[\s\[]){re.escape(option)}[\s\]]")
        for section in re.findall(r"--section (\S+)", line):
            self.assertRegex(sections, rf"(?m)^{section} ")

    def test_it_parses(self) -> None:
        """ncu takes the command line, and fails, if it does, for lack of a driver alone; it refuses one with an option too many."""
        self.trace("NVIDIA A100-SXM4-80GB")
        line = self.suggest()[1].split("\nholdup report")[0].replace("\\\n", " ")
        with tempfile.TemporaryDirectory() as folder:
            for more, refused in (("", False), (" --no-such-option", True)):
                command = line.replace("ncu ", f"{NCU} ", 1).replace("COMMAND", "true").replace(" -o ", f"{more} -o ")
                done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=folder, timeout=120, check=False)
                self.assertEqual("unrecognised option" in (done.stdout + done.stderr).decode(), refused, done.stdout + done.stderr)

    def test_metrics(self) -> None:
        """Each counter that holdup reads is a metric of every generation that ncu lists, or of one of them where only some have it."""
        table = (ROOT / "src/trace/counters.h").read_text()
        names = {m for m in re.findall(r'"((?:[a-z0-9]+__)[a-z0-9_.]+)"', table) if not m.startswith(ATTRIBUTES) and not m.endswith("_op_")}
        names |= {f"smsp__sass_thread_inst_executed_op_{p}{op}_pred_on.sum" for p in "fdh" for op in ("add", "mul", "fma")}
        names |= {f"smsp__average_warps_issue_stalled_{s}_per_issue_active.ratio" for s in re.findall(r'S\([A-Z_]+, "([a-z_]+)"', table)}
        known: dict[str, set[str]] = {}
        for chip in CHIPS:
            known[chip] = set(re.findall(r"(?m)^([a-z0-9]+__[a-z0-9_]+) ", ncu("--query-metrics", "--chips", chip)[1]))
            self.assertGreater(len(known[chip]), 500, chip)
        missing = {n for n in names if not any(n.split(".")[0] in k or n.split(".")[0].replace("sm__sass", "smsp__sass") in k for k in known.values())}
        self.assertEqual(missing, {"sm__maximum_warps_per_active_cycle_pct"} & names, "ncu computes that one itself")


if __name__ == "__main__":
    unittest.main()
