# SPDX-License-Identifier: Apache-2.0
"""--compat hta agrees with what HolisticTraceAnalysis itself printed for the same file, or the difference is named here."""
import json
import math
import unittest

from tests.program import SHARED, report, skip_loudly

ORACLE = SHARED / "oracle"


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
            wrong = [w for w in differences(label, theirs, ours) if w not in KNOWN.get(label, ())]
            with self.subTest(trace=label):
                self.assertEqual(wrong, [])
            compared += 1
        if labels():
            self.assertGreater(compared, 12)


KNOWN: dict[str, tuple[str, ...]] = {}


def differences(label: str, theirs: dict, ours: dict) -> list[str]:
    wrong = []

    def check(what: str, a: float | None, b: float | None, slack: float = 1e-6) -> None:
        if not near(a, b, slack):
            wrong.append(f"{what}: {a} is not {b}")

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
        check(f"type {r['kernel_type']}", types.get(r["kernel_type"], {}).get("sum_us"), r["sum"])
        check(f"type {r['kernel_type']} %", types.get(r["kernel_type"], {}).get("percentage"), r["percentage"], 0.051)
    kernels = {r["name"]: r for r in ours["kernels"]}
    listed = json.loads((ORACLE / f"hta_kernels_{label}.json").read_text())["kernels"]
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
            check(f"queue {r['stream']} {key}", queues.get(r["stream"], {}).get(name), r[f"queue_length_{key}"], 1e-4)
    copies = {r["name"]: r for r in ours["memory_bw_summary"]}
    for r in theirs["memory_bw_summary"] or []:
        for key, name in (("count", "count"), ("mean", "mean"), ("std", "std"), ("min", "min"), ("25%", "p25"), ("50%", "p50"),
                          ("75%", "p75"), ("max", "max")):
            check(f"bandwidth {r['name']} {key}", copies.get(r["name"], {}).get(name), r[f"memory_bw_gbps_{key}"], 1e-4)
    for r in [(theirs["launch_stats"] or {}).get("0")]:
        if not r or "n" not in r:
            continue
        check("launches", ours["launches"], r["n"])
        check("short", ours["short_kernels"], r.get("short_gpu_lt_cpu"))
        check("runtime outliers", ours["runtime_outliers"], r.get("runtime_outliers_gt50us"))
        check("delay outliers", ours["launch_delay_outliers"], r.get("launch_delay_outliers_gt100us"))
        for name in ("cpu_duration", "gpu_duration", "launch_delay"):
            check(f"sum of {name}", ours[f"{name}_sum_us"], r.get("sums", {}).get(name), 1e-3)
    return wrong


if __name__ == "__main__":
    unittest.main()
