# SPDX-License-Identifier: Apache-2.0
"""What simulated jobs cannot show: pairs of real runs, before and after, and how real traces replay."""
from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests/data/pairs"
KINETO = ROOT.parent / "shared/traces/kineto"


def report(holdup: str, path: Path) -> dict[str, Any] | None:
    done = subprocess.run([holdup, "report", "--json", "-q", path], capture_output=True, check=False, timeout=300)
    return json.loads(done.stdout) if done.returncode == 0 else None


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def pair_row(holdup: str, name: str, pair: dict[str, Any]) -> list[str]:
    said = report(holdup, RECORDED / pair["trace"]) or {"findings": []}
    found = next((f for f in said["findings"] if f["id"] in pair["expects"]), None)
    first = said["findings"][0]["id"] if said["findings"] else "nothing"
    truth = pair["truth"]
    achieved = f"{truth['pct']:.1f} [{truth['low']:.1f} … {truth['high']:.1f}]"
    if not found:
        return [name, pair["what"], achieved, "–", "–", first]
    predicted = f"{percent(found['gain_pct'])} [{percent(found['gain_low_pct'])} … {percent(found['gain_high_pct'])}]"
    return [name, pair["what"], achieved, predicted, percent(abs(found["gain_pct"] - truth["pct"])), first]


def pairs(holdup: str) -> list[str]:
    """Runs of PyTorch on a processor, with and without the cause; the truth was measured without the profiler."""
    known = json.loads((RECORDED / "truth.json").read_text())["pairs"]
    rows = [pair_row(holdup, name, pair) for name, pair in known.items()]
    errors = [float(r[4]) for r in rows if r[4] != "–"]
    return [
        "## Real runs, before and after",
        "",
        "PyTorch on two processor cores (`python -m tests.pairs.cpu`), recorded once and kept in `tests/data/pairs`: the gain that",
        "removing the cause achieved, measured without the profiler, beside the one that was predicted from a trace of the run",
        "before. Target: 4 points. Two cores leave a straggler's neighbour nothing to wait with, and no replay knows that; nor what many small",
        "messages cost when four threads of gloo take turns on them (`buckets`).",
        "",
        "| pair | cause -> without it | achieved, % | predicted, % | off by | said first |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(r) + " |" for r in rows),
        "",
        f"Mean absolute error {sum(errors) / len(errors):.1f} points over {len(errors)} pairs.",
        "",
        "Pairs on a GPU (`tests/gpu/pairs`): not yet seen on a GPU.",
        "",
    ]


def replay_row(name: str, said: dict[str, Any]) -> list[str]:
    replay = next((r["replay"] for r in said["ranks"] if r["replay"]["steps"]), None)
    if not replay:
        return [name, "–", "–", "–", "–", "nothing to replay"]
    checks = {c["check"]: c["value"] for c in replay["self_check"]}
    first = said["findings"][0] if said["findings"] else None
    told = f"{first['id']} {percent(first['gain_pct'])}" if first else "nothing"
    return [name, str(replay["steps"]), percent(replay["error_pct"]), percent(checks["local"]), percent(checks["coverage"]),
            told if replay["is_trusted"] else "no point given"]


def replays(holdup: str) -> list[str]:
    """Real traces of other people's jobs, where this machine has them."""
    found = sorted(p for p in KINETO.glob("*/*") if p.name.endswith((".json", ".json.gz"))) if KINETO.exists() else []
    rows = []
    for path in found:
        said = report(holdup, path)
        if said and said["ranks"][0]["steps"]["source"] != "none":
            rows.append(replay_row(f"{path.parent.name}/{path.name.split('.')[0]}", said))
    if not rows:
        return []
    return [
        "## Real traces, replayed",
        "",
        "Traces of other people's jobs that have steps. Replay error of the mean step in %; starts explained within 2 µs in %;",
        "critical path in delays that were inferred or frozen in %. Whether the first finding is right nobody knows.",
        "",
        "| trace | steps | error | local | unexplained | first finding, % |",
        "|---|---|---|---|---|---|",
        *("| " + " | ".join(r) + " |" for r in rows),
        "",
    ]
