# SPDX-License-Identifier: Apache-2.0
"""--compat hta agrees with what HolisticTraceAnalysis itself printed for the same file, or the difference is named here."""
import json
import math
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.peers.exact import DATA
from tests.peers.hta_traces import random_trace, trap_trace
from tests.program import ROOT, SHARED, python_with, report, skip_loudly

ORACLE = SHARED / "oracle"
RELEASE = "HolisticTraceAnalysis==0.5.0"


def labels() -> list[str]:
    found = sorted(p.name[len("hta_"):-len(".json")] for p in ORACLE.glob("hta_*.json")
                   if not p.name.startswith(("hta_kernels_", "hta_critical_path", "hta_cupti", "hta_trace_diff", "hta_memory")))
    if not found:
        skip_loudly("outputs of HolisticTraceAnalysis in shared/oracle are not present")
    return found


def near(a: float | None, b: float | None, slack: float = 1e-6) -> bool:
    if a is None or b is None or (isinstance(b, float) and math.isnan(b)):
        return (a is None) == (b is None or math.isnan(b))
    return abs(a - b) <= slack + 1e-9 * abs(b)


class Hta(unittest.TestCase):
    def each(self):
        for label in labels():
            theirs = json.loads((ORACLE / f"hta_{label}.json").read_text())
            paths = [SHARED / f for f in theirs["files"]]
            if len(paths) != 1 or not paths[0].exists():
                continue
            ours = report(paths[0], "--compat", "hta")["ranks"][0]["hta"]
            yield label, theirs, ours

    def test_all(self) -> None:
        compared = 0
        for label, theirs, ours in self.each():
            with self.subTest(trace=label):
                self.assertEqual(differences(label, theirs, ours), [])
            compared += 1
        if labels():
            self.assertGreater(compared, 12)


    def test_recorded(self) -> None:
        """Traces of this repository and what HTA printed for them (tests/peers/exact.py --write): a clone alone is judged too."""
        compared = 0
        for name, theirs in json.loads((DATA / "hta.json").read_text()).items():
            if not theirs:
                continue
            with self.subTest(trace=name):
                ours = report(ROOT / name, "--compat", "hta")["ranks"][0]["hta"]
                self.assertEqual(differences(None, flatten(theirs), ours), [])
            compared += 1
        self.assertGreaterEqual(compared, 7)

    def test_hta_itself(self) -> None:
        """The same numbers from HTA run here: on a trace that has every trap, on random ones full of equal times, on real ones."""
        python = hta_python()
        if not python:
            self.skipTest("no HolisticTraceAnalysis")
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"{name}.json" for name in ["traps", *range(RANDOM)]]
            for i, path in enumerate(paths):
                path.write_text(json.dumps(random_trace(i) if i else trap_trace()))
            paths += [p for p in REAL if p.exists()]
            answers = json.loads(subprocess.run([python, ROOT / "tests/peers/hta_reference.py", *paths], check=True, timeout=300,
                                                capture_output=True, env=os.environ | PLAIN_SORT).stdout)
            for path, theirs in zip(paths, answers):
                if not theirs:
                    continue
                with self.subTest(trace=path.name):
                    ours = report(path, "--compat", "hta")["ranks"][0]["hta"]
                    self.assertEqual(differences(None, flatten(theirs), ours), [])
        self.assertGreater(sum(a is not None for a in answers), RANDOM // 2)


RANDOM = 24
# numpy's vector instructions leave rows of equal time in another order, and HTA's sums depend on it
PLAIN_SORT = {"NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX512_ICL"}
REAL = [SHARED / "traces/kineto/hta-nccl/nccl_data.json.gz", SHARED / "traces/kineto/tl-bert/h100.json.gz"]

def hta_python() -> str | None:
    return python_with(RELEASE, "HOLDUP_HTA_PYTHON", "venv-hta", "compare with it")


def flatten(answer: dict) -> dict:
    """The shape of the files in shared/oracle."""
    answer["idle_time_breakdown"] = {"0": {"breakdown": answer["idle_time_breakdown"]}}
    answer["launch_stats"] = {"0": answer["launch_stats"]}
    answer["queue_length_summary"] = [{k.strip("()").replace("'", "").replace(", ", "_").rstrip("_"): v for k, v in row.items()}
                                      for row in answer["queue_length_summary"]]
    return answer


def differences(label: str | None, theirs: dict, ours: dict) -> list[str]:
    wrong = []

    def check(what: str, a: float | None, b: float | None, slack: float = 1e-6) -> None:
        if not near(a, b, slack):
            wrong.append(f"{what}: {a} is not {b}")

    if "rows" in theirs:
        check("rows", ours["rows"], theirs["rows"]["0"])
        check("gpu_rows", ours["gpu_rows"], theirs["gpu_rows"]["0"])
    for t in theirs["temporal_breakdown"] or []:
        for name in ("kernel_time", "idle_time", "compute_time", "non_compute_time"):
            check(name, ours[f"{name}_us"], t[f"{name}(us)"])
            if name != "kernel_time":
                check(f"{name}_pctg", ours[f"{name}_pct"], t[f"{name}_pctg"], 0.0051)
    for o in theirs["comm_comp_overlap"] or []:
        check("overlap", ours["comp_comm_overlap_pct"], o["comp_comm_overlap_pctg"], 0.0051)
    idle = {(r["stream"], r["idle_category"]): r["idle_time_us"] for r in ours["idle_time_breakdown"]}
    for r in (theirs["idle_time_breakdown"] or {}).get("0", {}).get("breakdown", []):
        check(f"idle {r['stream']} {r['idle_category']}", idle.get((r["stream"], r["idle_category"])), r["idle_time"])
    types = {r["kernel_type"]: r for r in ours["kernel_type_breakdown"]}
    for r in theirs["kernel_type_breakdown"] or []:
        check(f"type {r['kernel_type']}", types.get(r["kernel_type"], {}).get("sum_us", 0), r["sum"])
        check(f"type {r['kernel_type']} %", types.get(r["kernel_type"], {}).get("percentage", 0), r["percentage"], 0.051)
    kernels = {r["name"]: r for r in ours["kernels"]}
    listed = json.loads((ORACLE / f"hta_kernels_{label}.json").read_text())["kernels"] if label else theirs["kernels"]
    for r in listed:
        k = kernels.get(r["name"])
        if k is None:
            wrong.append(f"kernel {r['name']} is missing")
            continue
        for name in ("sum", "max", "min", "mean"):
            check(f"kernel {r['name'][:40]} {name}", k[f"{name}_us"], r[f"{name} (us)"], 1e-4)
        check(f"kernel {r['name'][:40]} stddev", k["stddev_us"], r["stddev"], 1e-4)
        if k["kernel_type"] != r["kernel_type"]:
            wrong.append(f"kernel {r['name'][:40]} is {k['kernel_type']}, not {r['kernel_type']}")
    queues = {r["stream"]: r for r in ours["queue_length_summary"]}
    for r in theirs["queue_length_summary"] or []:
        for key, name in (("count", "count"), ("mean", "mean"), ("std", "std"), ("min", "min"), ("25%", "p25"), ("50%", "p50"),
                          ("75%", "p75"), ("max", "max")):
            q = queues.get(r["stream"], {})
            check(f"queue {r['stream']} {key}", q.get(name), r[f"queue_length_{key}"], 1e-4)
    copies = {r["name"]: r for r in ours["memory_bw_summary"]}
    for r in theirs.get("memory_bw_summary") or []:
        for key, name in (("count", "count"), ("mean", "mean"), ("std", "std"), ("min", "min"), ("25%", "p25"), ("50%", "p50"),
                          ("75%", "p75"), ("max", "max")):
            check(f"bandwidth {r['name']} {key}", copies.get(r["name"], {}).get(name), r[f"memory_bw_gbps_{key}"], 1e-4)
    for r in [(theirs["launch_stats"] or {}).get("0")]:
        if not r or "n" not in r:
            continue
        check("launches", ours["launches"], r["n"])
        if "describe" in r:
            check("short", ours["short_kernels"], r.get("short_gpu_lt_cpu"))
            check("runtime outliers", ours["runtime_outliers"], r.get("runtime_outliers_gt50us"))
            check("delay outliers", ours["launch_delay_outliers"], r.get("launch_delay_outliers_gt100us"))
        for name in ("cpu_duration", "gpu_duration", "launch_delay"):
            check(f"sum of {name}", ours[f"{name}_sum_us"], r.get("sums", {}).get(name), 1e-3)
    return wrong


if __name__ == "__main__":
    unittest.main()
