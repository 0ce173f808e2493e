# SPDX-License-Identifier: Apache-2.0
"""What no report of any trace may say: sums that do not add up, shares above 100 %, two lengths of one step, gains beyond all
that there is.  One table of named checks over the JSON, one over the text; each yields complaints, and each names a
forgery that it must complain of, so that a check that cannot fail is found out."""
from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Report = dict[str, Any]
Complaints = Iterator[str]
ROUNDING = 0.06                         # points: shares are printed with one digit
ONE_STEP = 0.05                         # two statements of one step time may be so far apart


# walking a document


def leaves(value: Any, where: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every number of a document, with its path and its own name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            yield from leaves(inner, f"{where}[{n}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield where, where.rsplit(".", 1)[-1].split("[")[0], value


def ranks(report: Report) -> Iterator[tuple[str, Report]]:
    for n, rank in enumerate(report["ranks"]):
        yield f"ranks[{n}]", rank


def steps_that_count(rank: Report) -> list[Report]:
    return [s for s in rank["steps"]["list"] if not s["is_warm_up"] and not s["is_incomplete"]]


def differ(a: float, b: float, share: float, floor: float = 0) -> bool:
    return abs(a - b) > max(floor, share * max(abs(a), abs(b)))


def listed(rows: list[Report], *names: str) -> int:
    return sum(row[name] or 0 for row in rows for name in names)


# numbers by their names

SIGNED = {
    "start_ns", "clock_offset_ns", "clock_device_ns", "host_self_bytes", "device_self_bytes", "growth_bytes_per_step", "first_bytes",
    "last_bytes", "peak_at_ns", "peak_bytes",
    "gap_ns",                           # kernels of one stream overlap on devices that start the next one early
}
NOT_A_SHARE = {"error_pct", "variation_pct", "gain_pct", "gain_low_pct", "gain_high_pct", "gain_free_pct"}


def numbers_are_finite(report: Report) -> Complaints:
    for where, _, value in leaves(report):
        if not math.isfinite(value):
            yield f"{where} = {value}"


def lengths_are_not_negative(report: Report) -> Complaints:
    for where, name, value in leaves(report):
        if name.endswith(("_ns", "_us", "_bytes", "bytes", "calls", "count", "gbps", "kernels")) and name not in SIGNED and value < 0:
            if ".hta." not in where and ".critical_path" not in where:      # HTA's rounding makes them; the path has a check of its own
                yield f"{where} = {value}"


def shares_are_shares(report: Report) -> Complaints:
    for where, name, value in leaves(report):
        in_cache = name == "roofline_pct" and ".operators[" in where         # caches are faster than the memory of the roofline
        if name.endswith("_pct") and name not in NOT_A_SHARE and not in_cache and not -ROUNDING <= value <= 100 + ROUNDING:
            yield f"{where} = {value}"


def use_of_the_device_is_possible(report: Report) -> Complaints:
    for at, rank in ranks(report):
        roofline = rank["roofline"]
        for name in ("mfu_pct", "hfu_pct", "roofline_pct"):
            if (roofline[name] or 0) > 100:
                yield f"{at}.roofline.{name} = {roofline[name]}"
        for row in roofline["operators"]:
            if row["bound"] == "compute" and (row["roofline_pct"] or 0) > 100 + ROUNDING:
                yield f"{at}.roofline.operators {row['operator']}: {row['roofline_pct']} % of what the device can compute"
        if (roofline["mfu_pct"] or 0) > (roofline["hfu_pct"] or 0) + ROUNDING:
            yield f"{at}.roofline: MFU {roofline['mfu_pct']} above HFU {roofline['hfu_pct']}"


# findings


def all_findings(report: Report) -> Iterator[tuple[str, Report]]:
    for n, finding in enumerate(report["findings"]):
        yield f"findings[{n}] {finding['id']}", finding
    for at, rank in ranks(report):
        for finding in rank["replay"]["findings"]:
            yield f"{at}.replay.findings {finding['id']}", finding


def gains_lie_in_their_intervals(report: Report) -> Complaints:
    for at, f in all_findings(report):
        low, gain, high = f["gain_low_pct"], f["gain_pct"], f["gain_high_pct"]
        if gain is None:
            continue
        if not low - ROUNDING <= gain <= high + ROUNDING:
            yield f"{at}: {gain} outside of [{low} ... {high}]"


def gains_can_be_had(report: Report) -> Complaints:
    """Nothing gains more than the step, and no fix that is named makes it longer."""
    for at, f in all_findings(report):
        for name in ("gain_pct", "gain_low_pct", "gain_high_pct", "gain_free_pct"):
            if f[name] is not None and not 0 <= f[name] <= 100:
                yield f"{at}.{name} = {f[name]}"
    for n, priced in enumerate((report["joint_replay"] or {}).get("what_if", [])):
        for name in ("gain_pct", "gain_low_pct", "gain_high_pct"):
            if priced[name] > 100:
                yield f"joint_replay.what_if[{n}] {priced['edit']}.{name} = {priced[name]}"


def gains_are_the_steps_that_are_said(report: Report) -> Complaints:
    for at, f in all_findings(report):
        before, after, gain = f.get("step_before_ns"), f["step_after_ns"], f["gain_pct"]
        if (after is None) != (gain is None):
            yield f"{at}: gain {gain}, step after {after}"
        if before is None or after is None:
            continue
        if not 0 <= after <= before:
            yield f"{at}: from {before} to {after} ns"
        elif abs(gain - 100 * (1 - after / max(before, 1))) > 0.5:
            yield f"{at}: {gain} % from {before} to {after} ns"


def findings_are_sorted(report: Report) -> Complaints:
    """By what can be counted on: the middle between the low end and the gain.  What a job's usual steps do not pay comes last; a late rank
    may stand before what makes it late."""
    usual = [f for f in report["findings"] if f["gain_pct"] is not None and f["id"] not in ("graph-capture", "cold-start")]
    gains = [(f["gain_low_pct"] + f["gain_pct"]) / 2 for f in usual]
    for first, second in zip(list(usual), usual[1:]):
        if first["id"] == "straggler" and first["gain_pct"] >= 0.95 * second["gain_pct"] - ROUNDING:
            gains.remove((first["gain_low_pct"] + first["gain_pct"]) / 2)
    if any(later > earlier + ROUNDING for earlier, later in zip(gains, gains[1:])):
        yield f"findings by gain: {gains}"


def the_ladder_goes_down(report: Report) -> Complaints:
    for at, rank in ranks(report):
        last = None
        for rung in rank["replay"]["ladder"]:
            before, after = rung["step_before_ns"], rung["step_after_ns"]
            if after > before or after < 0 or (last is not None and before != last):
                yield f"{at}.replay.ladder {rung['id']}: {before} -> {after}, the rung above ends at {last}"
            last = after


def no_price_without_trust(report: Report) -> Complaints:
    """Points are given only where the replay may be believed, and belief in them is no greater than in the replay."""
    replay = report["replay"]
    if not replay:
        return
    for at, f in ((f"findings[{n}] {f['id']}", f) for n, f in enumerate(report["findings"])):
        if f["gain_pct"] is not None and not replay["is_trusted"] and f["confidence"] != "low":
            yield f"{at}: {f['gain_pct']} % with confidence {f['confidence']} from a replay that is not trusted"
        if replay["grade"] == "red" and f["confidence"] == "high":
            yield f"{at}: confidence high while a check of the replay is red"
    if replay["grade"] == "red" and report["verdict"]["confidence"] == "high":
        yield "verdict.confidence = high while a check of the replay is red"


def the_verdict_is_the_first_finding(report: Report) -> Complaints:
    """What the sentence promises is what the first finding is priced at, and it is silent only where there is nothing."""
    text, priced = report["verdict"]["text"], [f for f in report["findings"] if f["gain_pct"] is not None]
    promise = PROMISE.search(text)
    if promise and not priced:
        yield f"the verdict promises {promise[0]}, and no finding has a gain"
    elif promise and abs(float(promise[1] or promise[2]) - priced[0]["gain_pct"]) > 0.6:
        yield f"the verdict promises {promise[0]}, the first finding {priced[0]['id']} {priced[0]['gain_pct']} %"
    if re.search(r"no (single )?fix (we|that)|nothing (else )?(that|holds)", text, re.I) and priced and priced[0]["gain_pct"] >= 3:
        yield f"the verdict knows no fix, and {priced[0]['id']} gains {priced[0]['gain_pct']} %"
    if "not the host" in text and priced and priced[0]["id"] in ("launch-bound", "host-sync", "data-loading", "python-gc"):
        yield f"the verdict: not the host; the first finding: {priced[0]['id']}"


PROMISE = re.compile(r"(\d[\d.]*) % less|[-−](\d[\d.]*) %")
BEFORE = re.compile(r"instead of (\d[\d.]*) (\S+?)[,.; ]|from (\d[\d.]*) (\S+) to \d")


def what_fills_the_idle_time_is_a_finding(report: Report) -> Complaints:
    """Where the device is idle for a third of the step and the host spends that waiting for its loader, the loader is named."""
    text = report["verdict"]["text"]
    idle = re.search(r"idle for (\d+) % of each step", text)
    if idle and int(idle[1]) >= 33 and "waits for the data loader" in text and "data-loading" not in {f["id"] for f in report["findings"]}:
        yield f"idle for {idle[1]} % of each step in the data loader; findings: {[f['id'] for f in report['findings']]}"


OF_KERNELS = {"compute-bound", "bandwidth-bound", "low-efficiency-kernels", "tensor-cores-unused", "overlap-contention", "throttling"}
OF_NETWORK = {"exposed-communication", "poor-overlap", "comm-latency", "comm-bandwidth", "repeated-reduction"}
OF_RANKS = {"straggler", "pipeline-bubble", "load-imbalance", "overlap-contention"}
NOT_FOR = (     # what a verdict names first: findings that are for something else
    (r"^Exposed communication takes|On the host, communication takes|main thread communicates", lambda i: i not in OF_NETWORK | OF_RANKS),
    (r"^The GPU is idle", lambda i: i in OF_KERNELS | OF_NETWORK),
    (r"^Exposed memory copies take", lambda i: i != "copy-bound"),
    (r"kernel time dominates", lambda i: i not in OF_KERNELS | {"recompute", "validation", "repeated-reduction"}),
    (r"main thread sleeps", lambda i: i not in {"sleep", "polled-child"}))
BOTH = re.compile(r"A fix for .* (saves less|is less sure)|No fix for |How much faster |What a fix for |; it shortens ")


def the_verdict_speaks_of_its_fix(report: Report) -> Complaints:
    """Where the first fix is for something else than what takes longest, the verdict says so."""
    text, found = report["verdict"]["text"], report["findings"]
    if not found or "Fixing it would cut" not in text or BOTH.search(text) or is_of_capture(found[0]) or found[0]["id"] in ("cold-start", "graph-capture"):
        return
    for named, is_other in NOT_FOR:
        if re.search(named, text) and is_other(found[0]["id"]):
            yield f"the verdict names one thing and fixes another, {found[0]['id']}, and does not say why: {text}"


def the_verdict_counts_right(report: Report) -> Complaints:
    """N % (A of B): A is that part of B."""
    for found in re.finditer(r"(\d[\d.]*) %[^.;(]*\((\d[\d.]*) (?:(\S+) )?of (\d[\d.]*) (\S+?)\)", report["verdict"]["text"]):
        share, part, part_unit, whole, whole_unit = found.groups()
        ratio = 100 * (float(part) * UNITS.get(part_unit or whole_unit, 1)) / max(float(whole) * UNITS.get(whole_unit, 1), 1e-12)
        if abs(ratio - float(share)) > 1.5 or float(share) > 100:
            yield f"verdict: {found[0]}"


UNITS = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 6e10, "h": 3.6e12}


def is_of_capture(finding: dict[str, Any]) -> bool:
    """A first step that does not count is priced in the mean of all captured steps, and says so."""
    return finding["id"] == "cold-start" and "left out of the means" in finding.get("statement", "left out of the means")


OF_THE_HOST = {"launch-bound", "host-sync", "data-loading", "io-stall", "lock-contention", "gil", "sleep", "cpu-starved", "cpu-quota", "python-gc", "allocator",
               "warm-up", "host-work", "unrecorded", "synchronous-launches", "pinned-allocation", "cold-start"}


def the_host_gains_what_the_device_waits(report: Report) -> Complaints:
    """A fix on the host shortens the time in which no kernel or copy runs, and no other."""
    for at, rank in ranks(report):
        mean = rank["step_breakdown"]
        if not mean or mean["gpu_busy_pct"] is None or not rank["replay"]["findings"] or rank["steps"]["source"] == "none":
            continue
        waits = 100 * (mean["idle_ns"] + mean["exposed_comm_ns"]) / max(mean["step_ns"], 1)
        for f in rank["replay"]["findings"]:
            if f["id"] in OF_THE_HOST and not is_of_capture(f) and f["gain_pct"] is not None and f["gain_pct"] > waits * (1 + ONE_STEP) + 1:
                yield f"{at}: {f['id']} gains {f['gain_pct']} %, and the device waits for {waits:.1f} % of the step"


def a_finding_is_named_once(report: Report) -> Complaints:
    for at, found in (("findings", report["findings"]), *((f"{at}.replay", rank["replay"]["findings"]) for at, rank in ranks(report))):
        ids = [f["id"] for f in found]
        yield from (f"{at}: {i} stands twice" for i in sorted(set(ids)) if ids.count(i) > 1)
    for at, rank in ranks(report):
        ids = [f["id"] for f in rank["replay"]["findings"]]
        yield from (f"{at}.replay.ladder: {rung['id']} is no finding" for rung in rank["replay"]["ladder"] if rung["id"] not in ids)


def the_verdict_is_as_sure_as_its_finding(report: Report) -> Complaints:
    text, found = report["verdict"]["text"], report["findings"]
    if "Fix first" in text and found and found[0]["confidence"] == "low":
        yield f"the verdict tells to fix what is a guess: {found[0]['id']}"
    if "A guess" in text and found and found[0]["confidence"] != "low":
        yield f"the verdict calls a guess what has confidence {found[0]['confidence']}: {found[0]['id']}"
    if "Fixing it would cut" in text and found and found[0]["confidence"] != "high" and report["verdict"]["confidence"] == "high":
        yield f"the verdict is surer than the gain that it names: {found[0]['id']}"


def silence_is_earned(report: Report) -> Complaints:
    """That no fix helps can be said where the device was seen at work, and was not idle for reasons that nobody saw."""
    for at, rank in ranks(report):
        if len(report["ranks"]) > 1 or "No fix we can simulate" not in report["verdict"]["text"]:
            return
        gpu, mean = rank["gpu"], rank["step_breakdown"]
        if mean and mean["gpu_busy_pct"] is not None and mean["gpu_busy_pct"] < 89:
            yield f"{at}: no fix is known, and the device is busy for {mean['gpu_busy_pct']} %"
        if rank["quality"]["device_work_without_launch"] > 0.6 * max(gpu["compute_kernels"] + gpu["memcpys"] + gpu["memsets"], 1):
            yield f"{at}: no fix is known, and {rank['quality']['device_work_without_launch']} operations have no launch"


# times of the device


def device_times_add_up(report: Report) -> Complaints:
    for at, rank in ranks(report):
        g = rank["gpu"]
        parts = [g["compute_ns"], g["comm_ns"], g["memcpy_ns"], g["memset_ns"]]
        for what, holds in (
            ("busy + idle = span", g["busy_ns"] + g["idle_ns"] == g["span_ns"]),
            ("busy between its largest part and their sum", max(parts) <= g["busy_ns"] <= sum(parts)),
            ("exposed + overlapped = communication", g["overlapped_comm_ns"] + g["exposed_comm_ns"] == g["comm_ns"]),
            ("overlapped communication within computation", g["overlapped_comm_ns"] <= g["compute_ns"]),
            ("exposed copies within copies and sets", g["exposed_memcpy_ns"] <= g["memcpy_ns"] + g["memset_ns"]),
            ("unions within sums", g["compute_ns"] <= g["compute_sum_ns"] and g["comm_ns"] <= g["comm_sum_ns"]),
            ("no time without kernels", bool(g["compute_kernels"]) or not g["compute_ns"]),
            ("no time without collectives", bool(g["comm_kernels"]) or not g["comm_ns"]),
            ("no time without copies", bool(g["memcpys"]) or not g["memcpy_ns"]),
        ):
            if not holds:
                yield f"{at}.gpu: {what}: {g}"


def device_times_are_the_same_everywhere(report: Report) -> Complaints:
    for at, rank in ranks(report):
        g, t, hta, idle = rank["gpu"], rank["time"], rank["temporal_breakdown"], rank["idle"]
        pairs: list[tuple[str, float, float]] = [
            ("time.span_ns", t["span_ns"], g["span_ns"]),
            ("time.idle_ns", t["idle_ns"], g["idle_ns"]),
            ("time.compute_ns", t["compute_ns"], g["compute_ns"]),
            ("sum of time.split", listed(t["split"], "time_ns"), g["span_ns"]),
            ("idle.idle_ns", idle["idle_ns"], g["idle_ns"]),
            ("sum of idle.causes", listed(idle["causes"], "time_ns"), g["idle_ns"]),
            ("temporal_breakdown.kernel_time_us", (hta["kernel_time_us"] or 0) * 1000, g["span_ns"]),
            ("temporal_breakdown.idle_time_us", (hta["idle_time_us"] or 0) * 1000, g["idle_ns"]),
            ("temporal_breakdown.compute_time_us", (hta["compute_time_us"] or 0) * 1000, g["compute_ns"]),
        ]
        if not rank["communication"]["measured_on_host"]:
            pairs.append(("communication.total_ns", rank["communication"]["total_ns"] or 0, g["comm_ns"]))
            pairs.append(("communication.exposed_ns", rank["communication"]["exposed_ns"] or 0, g["exposed_comm_ns"]))
        for name, here, there in pairs:
            if abs((here or 0) - there) > 2:
                yield f"{at}.{name} = {here}, gpu says {there}"


def kernels_are_counted_alike(report: Report) -> Complaints:
    for at, rank in ranks(report):
        g, kinds, rows = rank["gpu"], rank["quality"]["by_kind"], rank["kernels"]
        kernels, copies = g["compute_kernels"] + g["comm_kernels"], g["memcpys"] + g["memsets"]
        for name, here, there in (
            ("calls of kernels", listed(rows, "calls"), kernels),
            ("calls of communication kernels", listed([k for k in rows if k["is_communication"]], "calls"), g["comm_kernels"]),
            ("calls of families", listed(rank["kernel_families"]["families"], "calls"), kernels),
            ("quality.by_kind kernel + collective", kinds.get("kernel", 0) + kinds.get("collective", 0), kernels),
            ("calls of copies", listed(rank["copies"], "calls"), copies),
            ("quality.by_kind memcpy + memset", kinds.get("memcpy", 0) + kinds.get("memset", 0), copies),
            ("time of kernels", listed(rows, "total_ns"), g["compute_sum_ns"] + g["comm_sum_ns"]),
        ):
            if here != there:
                yield f"{at}: {name} = {here}, gpu says {there}"


def rows_are_possible(report: Report) -> Complaints:
    """Shortest, mean and longest in order; no call without time, nor a mean that is not total over calls."""
    for at, rank in ranks(report):
        for table in ("kernels", "copies", "calls"):
            for row in rank[table]:
                low, mean, high, total, calls = (row[k] for k in ("min_ns", "mean_ns", "max_ns", "total_ns", "calls"))
                if not low <= mean <= high or abs(total - mean * calls) > calls or calls < 1:
                    yield f"{at}.{table} {row['name'][:40]}: {low} {mean} {high} total {total} calls {calls}"
        for row in rank["copies"]:
            if (row["exposed_ns"] or 0) > row["total_ns"] or (row["blocking_calls"] or 0) > row["calls"]:
                yield f"{at}.copies {row['name']}: exposed {row['exposed_ns']} of {row['total_ns']}"
        for table, share in (("kernels", "total_pct"), ("calls", "total_pct"), ("operators", "host_self_pct"), ("operators", "device_self_pct")):
            whole = sum(row[share] or 0 for row in rank[table])
            if rank[table] and not (abs(whole - 100) < 0.1 + 0.001 * len(rank[table]) or whole == 0):
                yield f"{at}.{table}: {share} sums to {whole}"


def operators_have_what_there_is(report: Report) -> Complaints:
    """Work belongs to one operator itself, and none has more than the device did."""
    for at, rank in ranks(report):
        g = rank["gpu"]
        done = g["compute_sum_ns"] + g["comm_sum_ns"] + listed(rank["copies"], "total_ns")
        for row in rank["operators"]:
            if not 0 <= row["device_self_ns"] <= row["device_total_ns"] or not 0 <= row["host_self_ns"] <= row["host_total_ns"]:
                yield f"{at}.operators {row['name'][:50]}: self above total"
            if row["device_total_ns"] > done:
                yield f"{at}.operators {row['name'][:50]}: {row['device_total_ns']} ns on a device that did {done}"
        if listed(rank["operators"], "device_self_ns") > done:
            yield f"{at}.operators: their own device work exceeds {done} ns"


# steps


def steps_add_up(report: Report) -> Complaints:
    for at, rank in ranks(report):
        for row in rank["steps"]["list"]:
            whole = row["compute_ns"] + row["exposed_comm_ns"] + row["exposed_copy_ns"] + row["idle_ns"]
            kinds = sum(row[k] for k in CATEGORIES)
            if row["gpu_busy_pct"] is not None and whole != row["duration_ns"]:
                yield f"{at} step {row['number']}: parts are {whole} of {row['duration_ns']} ns"
            if kinds != row["duration_ns"]:
                yield f"{at} step {row['number']}: categories are {kinds} of {row['duration_ns']} ns"
            busy = 100 * (1 - row["idle_ns"] / max(row["duration_ns"], 1))
            if row["gpu_busy_pct"] is not None and abs(busy - row["gpu_busy_pct"]) > ROUNDING:
                yield f"{at} step {row['number']}: busy {row['gpu_busy_pct']} %, by its idle time {busy:.2f}"
        mean = rank["step_breakdown"]
        if not mean:
            continue
        whole = mean["compute_ns"] + mean["exposed_comm_ns"] + mean["exposed_copy_ns"] + mean["idle_ns"]
        if mean["gpu_busy_pct"] is not None and abs(whole - mean["step_ns"]) > 4:
            yield f"{at}.step_breakdown: parts are {whole} of {mean['step_ns']} ns"
        if abs(sum(mean["categories"].values()) - mean["step_ns"]) > 8:
            yield f"{at}.step_breakdown: categories are {sum(mean['categories'].values())} of {mean['step_ns']} ns"


CATEGORIES = ("kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns", "data_loader_ns", "cpu_exec_ns", "other_ns")


def means_are_of_their_steps(report: Report) -> Complaints:
    for at, rank in ranks(report):
        s, rows = rank["steps"], [r["period_ns"] for r in steps_that_count(rank)]
        if s["counted"] > s["count"]:
            yield f"{at}.steps: {s['counted']} of {s['count']} count"
        if s["mean_ns"] is None:
            continue
        if not min(rows) <= s["p10_ns"] <= s["median_ns"] <= s["p90_ns"] <= max(rows):
            yield f"{at}.steps: p10 {s['p10_ns']}, median {s['median_ns']}, p90 {s['p90_ns']} of {min(rows)} ... {max(rows)}"
        if len(rows) == s["counted"] and abs(sum(rows) / len(rows) - s["mean_ns"]) > 1:
            yield f"{at}.steps.mean_ns = {s['mean_ns']}, its steps {sum(rows) / len(rows):.0f}"


def there_is_one_step_time(report: Report) -> Complaints:
    """All places that state the mean step of the first rank agree within 5 %."""
    for at, rank in ranks(report):
        mean = rank["steps"]["mean_ns"]
        if not mean:
            continue
        stated = {
            f"{at}.step_breakdown.step_ns": rank["step_breakdown"]["step_ns"],
            f"{at}.replay.measured_step_ns": rank["replay"]["measured_step_ns"],
        }
        if len(report["ranks"]) == 1:
            stated["replay.measured_step_ns"] = (report["replay"] or {}).get("measured_step_ns")
            stated |= {f"findings[{n}].step_before_ns": f["step_before_ns"] for n, f in enumerate(report["findings"]) if not is_of_capture(f)}
            if said := BEFORE.search(report["verdict"]["text"]):
                stated["verdict.text"] = float(said[1] or said[3]) * UNITS[said[2] or said[4]]
        for where, value in stated.items():
            if value is not None and differ(value, mean, ONE_STEP):
                yield f"{where} = {value:.0f}, {at}.steps.mean_ns = {mean}"


def the_path_fills_the_step(report: Report) -> Complaints:
    for at, rank in ranks(report):
        replay = rank["replay"]
        classes, step = replay["critical_path_classes"], replay["replayed_step_ns"]
        for row in (*classes, *replay["critical_path"]):
            if (row["step_ns"] or 0) < 0:
                yield f"{at}.replay.critical_path {row['class']}: {row['step_ns']} ns"
        if classes and step and differ(listed(classes, "step_ns"), step, 0.01, 1000):
            yield f"{at}.replay.critical_path_classes: {listed(classes, 'step_ns')} of {step} ns"
        if classes and abs(sum(r["pct"] or 0 for r in classes) - 100) > 0.5:
            yield f"{at}.replay.critical_path_classes: {sum(r['pct'] or 0 for r in classes):.2f} %"
        if step and listed(replay["critical_path"], "step_ns") > 1.01 * step:
            yield f"{at}.replay.critical_path: {listed(replay['critical_path'], 'step_ns')} of {step} ns"
        for row in replay["slack"]:
            if (row["on_path_ns"] or 0) > (row["step_ns"] or 0) + 1000:
                yield f"{at}.replay.slack {row['name'][:40]}: on the path {row['on_path_ns']} of {row['step_ns']} ns"


def host_time_fills_the_step(report: Report) -> Complaints:
    for at, rank in ranks(report):
        host = rank["host_time"]
        if host["is_recorded"] and host["step_ns"]:
            apart = ("step_", "task_", "process_", "job_")
            parts = sum(v or 0 for k, v in host.items() if k.endswith("_ns") and not k.startswith(apart))
            if differ(parts, host["step_ns"], 0.001, 100):
                yield f"{at}.host_time: {parts} of {host['step_ns']} ns"
            tasks = [v for k, v in host.items() if k.startswith("task_")]
            if None not in tasks and tasks and differ(sum(tasks), host["step_ns"], 0.001, 100):
                yield f"{at}.host_time: the scheduler's states are {sum(tasks)} of {host['step_ns']} ns"
            for row in [*host.get("processes", ()), *host.get("threads", ())]:
                if (row["cpu_ns"] or 0) > row["wall_ns"] * row.get("threads", 1) * 1.001 + 1000:
                    yield f"{at}.host_time: {row['cpu_ns']} ns of CPU time in {row['wall_ns']} ns"
        samples = rank["cpu_samples"]
        if samples["samples"] and listed(samples["functions"], "self_samples") > samples["samples"]:
            yield f"{at}.cpu_samples.functions: more than {samples['samples']}"


def waits_of_ranks_are_shared_out(report: Report) -> Complaints:
    whole = sum(s["share_pct"] for s in report["stragglers"])
    if whole > 100 + ROUNDING:
        yield f"stragglers: {whole} %"
    named = {r["rank"] for r in report["ranks"]}
    for s in report["stragglers"]:
        if s["rank"] not in named:
            yield f"stragglers: rank {s['rank']} of {sorted(named)}"


OF_THE_ALLOCATOR = {"peak_bytes", "peak_reserved_bytes", "peak_free_bytes", "peak_largest_free_bytes"}


def the_peak_is_the_sum_of_its_holders(report: Report) -> Complaints:
    for at, rank in ranks(report):
        for pool in rank["memory"]["pools"]:
            parts = sum(v or 0 for k, v in pool.items() if k.startswith("peak_") and k.endswith("_bytes") and k not in OF_THE_ALLOCATOR)
            if parts and pool["peak_bytes"] and abs(parts - pool["peak_bytes"]) > 1:
                yield f"{at}.memory {pool['pool']}: {parts} of {pool['peak_bytes']} bytes"
            if (pool.get("peak_free_bytes") or 0) > (pool.get("peak_reserved_bytes") or 0):
                yield f"{at}.memory {pool['pool']}: {pool['peak_free_bytes']} free of {pool['peak_reserved_bytes']} reserved bytes"
            if pool["capacity_bytes"] and (pool["peak_bytes"] or 0) > pool["capacity_bytes"]:
                yield f"{at}.memory {pool['pool']}: {pool['peak_bytes']} of {pool['capacity_bytes']} bytes"


# the table


def put(where: str, value: Any) -> Callable[[Report], None]:
    """A forgery: the value at a path such as ranks.0.gpu.idle_ns becomes another; a function is given the one that is there."""
    def forge(report: Report) -> None:
        *path, last = where.split(".")
        inner: Any = report
        for part in path:
            inner = inner[int(part)] if isinstance(inner, list) else inner[part]
        key: Any = int(last) if isinstance(inner, list) else last
        inner[key] = value(inner[key]) if callable(value) else value
    return forge


@dataclass(frozen=True)
class Check:
    name: str
    run: Callable[[Report], Complaints]
    forgeries: tuple[Callable[[Report], None], ...]     # each makes a report that the check must complain of


def more(by: float) -> Callable[[Any], Any]:
    return lambda value: (value or 0) + by


def together(*forgeries: Callable[[Report], None]) -> Callable[[Report], None]:
    def forge(report: Report) -> None:
        for one in forgeries:
            one(report)
    return forge


def times(by: float) -> Callable[[Any], Any]:
    return lambda value: int((value or 0) * by)


CHECKS = {check.name: check for check in (
    Check("finite", numbers_are_finite, (put("ranks.0.kernels.0.total_pct", math.nan), put("findings.0.gain_pct", math.inf))),
    Check("negative", lengths_are_not_negative, (put("ranks.0.kernels.0.mean_ns", -1), put("ranks.0.gpu.idle_ns", -5))),
    Check("shares", shares_are_shares, (put("ranks.0.kernels.0.total_pct", 100.2), put("ranks.0.time.idle_pct", -1))),
    Check("mfu", use_of_the_device_is_possible, (put("ranks.0.roofline.mfu_pct", 101), put("ranks.0.roofline.mfu_pct", 60))),
    Check("interval", gains_lie_in_their_intervals, (put("findings.0.gain_high_pct", 1), put("findings.0.gain_low_pct", 99))),
    Check("gain", gains_can_be_had, (put("findings.0.gain_high_pct", 105), put("ranks.0.replay.findings.0.gain_low_pct", -3),
                                     put("findings.0.gain_pct", 117))),
    Check("gain-steps", gains_are_the_steps_that_are_said, (put("findings.0.step_after_ns", times(30)), put("findings.0.step_after_ns", -1),
                                                            put("findings.0.step_after_ns", None), put("findings.0.gain_pct", more(2)))),
    Check("sorted", findings_are_sorted, (together(put("findings.0.gain_pct", 0.1), put("findings.0.gain_low_pct", 0)),)),
    Check("ladder", the_ladder_goes_down, (put("ranks.0.replay.ladder.0.step_after_ns", more(10)),
                                           put("ranks.0.replay.ladder.0.step_after_ns", times(1000)))),
    Check("trust", no_price_without_trust, (
        put("replay.is_trusted", False), together(put("replay.grade", "red"), put("verdict.confidence", "high")))),
    Check("verdict-finding", the_verdict_is_the_first_finding, (
        put("findings.0.gain_pct", more(-9)), put("findings", []),
        put("verdict.text", "No fix we can simulate saves 1 %."),
        put("verdict.text", "The kernels are the limit, not the host."))),
    Check("host-gains", the_host_gains_what_the_device_waits, (
        together(put("ranks.0.replay.findings.0.id", "launch-bound"), put("ranks.0.replay.findings.0.gain_pct", 99.9)),)),
    Check("named-once", a_finding_is_named_once, (
        lambda report: report["findings"].append(report["findings"][0]), put("ranks.0.replay.ladder.0.id", "sleep"))),
    Check("verdict-sure", the_verdict_is_as_sure_as_its_finding, (
        together(put("findings.0.confidence", "low"), put("verdict.text", "Fix first: late launches.")),
        together(put("findings.0.confidence", "high"), put("verdict.text", "A guess, to be checked first: late launches.")),
        put("verdict.confidence", "high"))),
    Check("silence", silence_is_earned, (
        together(put("verdict.text", "No fix we can simulate saves 1 %."), put("ranks.0.step_breakdown.gpu_busy_pct", 30)),
        together(put("verdict.text", "No fix we can simulate saves 1 %."), put("ranks.0.quality.device_work_without_launch", 10**6)))),
    Check("verdict-cause", what_fills_the_idle_time_is_a_finding, (
        together(put("findings", []), put("verdict.text", "The GPU is idle for 51 % of each step (165.3 of 322.2 ms). For 92 % of that time "
                                                          "the host waits for the data loader.")),)),
    Check("verdict-fix", the_verdict_speaks_of_its_fix, (
        together(put("findings.0.id", "io-stall"), put("verdict.text", "Exposed communication takes 60 % of each step (60.0 of 100.0 ms). Fix first: "
                                                       "blocking file or network I/O. Fixing it would cut the step from 100 ms to 80.0 ms (−20 %).")),)),
    Check("verdict-sums", the_verdict_counts_right, (put("verdict.text", "The GPU is idle for 76 % of each step (109.9 of 222.4 ms)."),
                                                     put("verdict.text", "waits for 300 % of the run (3.00 of 1.00 ms)"))),
    Check("device-sums", device_times_add_up, tuple(put(f"ranks.0.gpu.{k}_ns", v) for k, v in (
        ("busy", more(1)), ("compute", times(3)), ("exposed_comm", more(1)), ("overlapped_comm", more(7)), ("exposed_memcpy", more(10**12)),
        ("compute_sum", 5)))),
    Check("device-twice", device_times_are_the_same_everywhere, (
        put("ranks.0.time.compute_ns", more(9)), put("ranks.0.idle.idle_ns", more(9)), put("ranks.0.idle.causes.0.time_ns", more(9)),
        put("ranks.0.temporal_breakdown.idle_time_us", more(1)), put("ranks.0.communication.exposed_ns", more(9)))),
    Check("counts", kernels_are_counted_alike, (put("ranks.0.kernels.0.calls", more(1)), put("ranks.0.gpu.memcpys", more(1)),
                                                put("ranks.0.quality.by_kind.kernel", more(-1)))),
    Check("rows", rows_are_possible, (put("ranks.0.kernels.0.mean_ns", more(10**9)), put("ranks.0.copies.0.exposed_ns", more(10**12)),
                                      put("ranks.0.calls.0.total_pct", more(3)), put("ranks.0.kernels.0.calls", 0))),
    Check("operators", operators_have_what_there_is, (put("ranks.0.operators.0.device_self_ns", more(10**12)),
                                                      put("ranks.0.operators.0.device_total_ns", more(10**12)),
                                                      put("ranks.0.operators.0.host_self_ns", more(10**12)))),
    Check("step-sums", steps_add_up, (put("ranks.0.steps.list.0.idle_ns", more(1000)), put("ranks.0.steps.list.0.other_ns", more(1)),
                                      put("ranks.0.steps.list.0.gpu_busy_pct", more(1)), put("ranks.0.step_breakdown.compute_ns", more(10)),
                                      put("ranks.0.step_breakdown.categories.other_ns", more(10)))),
    Check("step-means", means_are_of_their_steps, (put("ranks.0.steps.mean_ns", more(1000)), put("ranks.0.steps.p10_ns", times(2)),
                                                   put("ranks.0.steps.counted", more(10)))),
    Check("one-step", there_is_one_step_time, (
        put("replay.measured_step_ns", times(1.1)), put("ranks.0.replay.measured_step_ns", times(0.9)), put("findings.0.step_before_ns", times(2)),
        put("ranks.0.step_breakdown.step_ns", times(1.06)),
        put("verdict.text", "without that a step would take 41.6 ms instead of 999 ms, 81 % less."))),
    Check("path", the_path_fills_the_step, (
        put("ranks.0.replay.critical_path_classes.0.step_ns", -1580), put("ranks.0.replay.critical_path_classes.0.pct", more(3)),
        put("ranks.0.replay.critical_path.0.step_ns", times(1000)), put("ranks.0.replay.slack.0.on_path_ns", more(10**9)))),
    Check("host-sums", host_time_fills_the_step, (put("ranks.0.host_time", {"is_recorded": True, "step_ns": 10**6, "sleep_ns": 10**7}),
                                                  put("ranks.0.host_time", {"is_recorded": True, "step_ns": 10**6, "sleep_ns": 10**6, "task_running_ns": 5}),
                                                  put("ranks.0.host_time", {"is_recorded": True, "step_ns": 10**6, "sleep_ns": 10**6,
                                                                            "threads": [{"wall_ns": 10**6, "cpu_ns": 10**7}]}),
                                                  put("ranks.0.cpu_samples", {"samples": 3, "functions": [{"self_samples": 4}]}))),
    Check("stragglers", waits_of_ranks_are_shared_out, (put("stragglers", [{"rank": 0, "share_pct": 101}]),
                                                        put("stragglers", [{"rank": 77, "share_pct": 50}]))),
    Check("peak", the_peak_is_the_sum_of_its_holders, (
        put("ranks.0.memory.pools", [{"pool": "cuda:0", "peak_bytes": 9, "capacity_bytes": 5}]),
        put("ranks.0.memory.pools", [{"pool": "cuda:0", "peak_bytes": 9, "peak_other_bytes": 5, "capacity_bytes": None}]),
        put("ranks.0.memory.pools", [{"pool": "cuda:0", "peak_bytes": 5, "peak_other_bytes": 5, "capacity_bytes": None, "peak_reserved_bytes": 7,
                                      "peak_free_bytes": 8}]))),
)}


def forged(report: Report, forgery: Callable[[Report], None]) -> Report:
    changed = copy.deepcopy(report)
    forgery(changed)
    return changed


# text


@dataclass(frozen=True)
class TextCheck:
    name: str
    run: Callable[[str, Any], Complaints]       # of a text, and of the part of the JSON that it shows
    forgery: str                        # appended to a text, it must be complained of


def lines_with(pattern: str, text: str) -> Complaints:
    for line in text.splitlines():
        if not NAMES.search(line) and re.search(pattern, line):
            yield line.strip()


NAMES = re.compile(r"^next |holdup (report|query|whatif)")


def every_number_is_one(text: str, _: Any) -> Complaints:
    yield from lines_with(r"(?<![\w.:/*])[-+−]?(nan|inf|NaN|Infinity|infinity)(?![\w:/(])|\(null\)|\bNone\b ?(%|ms|µs|ns)", text)


def there_is_no_minus_zero(text: str, _: Any) -> Complaints:
    yield from lines_with(r"(^|[\s(\[])[-−]0([.,]0+)?(?![\w.,])", text)


def lengths_have_no_sign(text: str, _: Any) -> Complaints:
    """A minus before a time or a size; changes are told as a percentage, and kernels of one stream may overlap."""
    yield from (line for line in lines_with(r"(^|[\s(\[])[-−]\d[\d.,]* ?(ns|µs|us|ms|s|min|B|kB|MB|GB)\b", text) if "between kernels of one stream" not in line)


def shares_are_at_most_everything(text: str, _: Any) -> Complaints:
    for line in text.splitlines():
        for found in re.finditer(r"(?<![\w.,+])(\d[\d,]*(?:\.\d+)?) ?%", line):
            if float(found[1].replace(",", "")) > 100 and not re.search(r"slower|faster|more|longer|larger|varies|spread|up to|error|x<", line):
                yield line.strip()


def zero_is_printed_for_zero(text: str, shown: Any) -> Complaints:
    """As many 0.00 as there are zeros in what is shown, and no more: the others were something."""
    printed = len(re.findall(r"(?<![\w.,-])0\.00(?![\d.])", text))
    zeros = sum(value == 0 for _, _, value in leaves(shown))
    small = [f"{where} = {value}" for where, _, value in leaves(shown) if 0 < abs(value) < 0.005]
    if printed > zeros and small:
        yield f"0.00 is printed {printed} times for {zeros} zeros; {small[0]}"


FIGURE = re.compile(r"(?<![\w.,:/*-])([-+−]?\d[\d,]*(?:\.\d+)?)(?![\w.:/-])|(?<!\S)–(?!\S)")


def rows_of(line: str, table: list[Report]) -> list[Report]:
    """The rows of a table that a line of text may show: those one of whose texts stands in it, whole or cut."""
    def stands(text: str) -> bool:
        return len(text) > 2 and (text in line or ("…" in line and len(text) > 8 and text[:8] in line))
    return [row for row in table if any(stands(value) for key, value in row.items() if key and number(value) is None)]


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def fits(figure: str, cell: str) -> bool:
    """A 0.00 says zero and "–" nothing; shares below 0.05 % are 0.0, as all that has one digit."""
    value = number(cell)
    if figure == "–" or value is None:
        return figure == "–" and cell == ""
    return value == 0 if figure == "0.00" else value != 0 or not figure.strip("-+−0.,")


def in_order(figures: list[str], cells: list[str]) -> bool:
    """Are the figures of a line found in the cells of a row, from left to right?"""
    left = iter(cells)
    return all(any(fits(figure, cell) for cell in left) for figure in figures)


def zeros_are_zeros(text: str, table: list[Report]) -> Complaints:
    """Cell by cell, against the same table as `--csv` writes it: a 0.00 in a row is a cell that is zero.  Lines that show no
    row of it (facts, other tables of the view) are not looked at."""
    for line in text.splitlines():
        rows = rows_of(line, table) if re.search(r"(?<![\w.,-])0\.00(?![\d.])", line) else []
        if not rows:
            continue
        shown = line
        for value in sorted((v for row in rows for v in row.values() if v and number(v) is None), key=len, reverse=True):
            shown = shown.replace(value, " ")
        figures = [found[0] for found in FIGURE.finditer(re.sub(r"\S*…\S*", " ", shown))]
        cells = [[value for key, value in row.items() if key != "rank" and not key.startswith(("is_", "has_"))
                  and (value == "" or number(value) is not None)] for row in rows]
        if not any(in_order(figures, each) for each in cells):
            yield f"{line.strip()[:120]} against {rows[0]}"


def lines_fit(text: str, _: Any) -> Complaints:
    """80 columns, and nothing that steers a terminal: nobody asked for colours."""
    for line in text.splitlines():
        if (len(line) > 80 and not line.startswith("next")) or "\033" in line:
            yield repr(line[:120])


TEXT_CHECKS = {check.name: check for check in (
    TextCheck("text-numbers", every_number_is_one, "GPU busy nan %"),
    TextCheck("text-minus-zero", there_is_no_minus_zero, "gain -0.0 %"),
    TextCheck("text-negative", lengths_have_no_sign, "the path takes -1,580 ns"),
    TextCheck("text-shares", shares_are_at_most_everything, "idle for 104.6 % of each step"),
    TextCheck("text-zero", zero_is_printed_for_zero, "0.00 GB/s"),
    TextCheck("text-width", lines_fit, "a" * 81),
)}
