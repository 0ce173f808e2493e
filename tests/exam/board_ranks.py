# SPDX-License-Identifier: Apache-2.0
"""Runs the part of the exam that has several ranks, and prints its board.

    python3 -m tests.exam.board_ranks --holdup build/holdup [--seed N] [--only CAUSE] [--case N] [--keep FOLDER] [--markdown FILE]

--keep leaves the traces of case N in FOLDER/caseN. Sizes of seed 1 are in ranks_sizes.json; those of other seeds are sought, which
takes three times as long. --fit seeks all sizes anew and keeps them.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.exam import page
from tests.exam.plants_ranks import ASK_ALL, Plant, cases
from tests.exam.ranks_run import Exercise, exercise, load_sizes, record, save_sizes
from tests.exam.score import NULL_GAIN, POINTS, Mark, answers, cannot_tell

TIMEOUT_S = 60
HEAD = """## The exam: several ranks

{count} jobs of 2 to 16 ranks. The true gain is that of a second run with the same random numbers without the cause. The grades are those of the
exam of one process; *right* is also another cause that another run confirms to cost as much. *Unsure*: the answer itself says that it cannot tell,
or the files that were given do not show the cause and nothing was promised.

"""


@dataclass
class RankMark(Mark):
    """A mark, and what only several ranks have. place: whether the late rank was named, None: none was to be; hung: why no answer came."""

    place: bool | None = None
    hung: str = ""
    size: float = 0.0
    key: str = ""
    step_ms: float = 0.0


def ask(holdup: str, path: Path) -> dict[str, Any]:
    """The program's report, or why there is none."""
    try:
        done = subprocess.run([holdup, "report", "--json", "--quiet", str(path)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {TIMEOUT_S} s"}
    if done.returncode:
        return {"failed": f"exit {done.returncode}: {done.stderr[:160]}"}
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def text_of(finding: dict[str, Any]) -> str:
    """All that it tells a reader."""
    return " ".join([finding.get("title", ""), finding.get("statement", ""), finding.get("fix", ""), *finding.get("evidence", [])])


def words(finding: dict[str, Any]) -> str:
    """What a reader acts on; a caveat below it takes back no price."""
    return f"{finding.get('title', '')} {finding.get('statement', '')} {finding.get('fix', '')}"


def fits(finding: dict[str, Any], plant: Plant) -> bool:
    """Whether it sends the reader to the cause."""
    return finding["id"] in plant.accepts or bool(plant.says and re.search(plant.says, words(finding), re.I | re.S))


def admits(report: dict[str, Any], finding: dict[str, Any] | None) -> bool:
    """Whether the answer itself says that what was given cannot tell."""
    if finding is not None:
        return finding.get("confidence") == "low" or finding.get("gain_pct") is None or bool(re.search(ASK_ALL, words(finding), re.I | re.S))
    verdict = report.get("verdict") or {}
    said = " ".join([verdict.get("text", ""), *[str(r) for r in verdict.get("reasons", [])]])
    return cannot_tell(report) or bool(re.search(ASK_ALL, said, re.I | re.S))


def place_named(done: Exercise, report: dict[str, Any]) -> bool | None:
    """Whether the late rank comes first, in the stragglers or in the finding's words."""
    plant = done.case.plant
    if not plant or not plant.ranked or done.case.view != "all":
        return None
    listed = report.get("stragglers") or []
    if listed and listed[0].get("rank") == done.victim:
        return True
    return any(fits(f, plant) and re.search(rf"\b(rank|stage) {done.victim}\b", text_of(f)) for f in answers(report))


def judge(done: Exercise, report: dict[str, Any]) -> RankMark:
    """Marks an answer; the words of the grades are those of score.Mark."""
    case, plant = done.case, done.case.plant
    found = answers(report)
    said = [(f["id"], f.get("gain_pct"), f.get("confidence", "")) for f in found[:4]]
    assert done.ran
    result = RankMark(case.number, plant.name if plant else "nothing", f"{case.kind} × {done.shape.ranks}", "" if case.view == "all" else case.view,
                      case.want, plant is None, [(plant.name if plant else "nothing", round(done.truth, 1))], said, "silent")
    result.step_ms = done.ran.period / 1e6
    if "failed" in report:
        result.hung, result.grade = str(report["failed"]), "silent"
        return result
    result.place = place_named(done, report)
    if plant is None or done.truth < 1.5:
        return judge_null(done, result, found)
    result.named = any(fits(f, plant) for f in found)
    if not found:
        result.grade = "unsure" if case.blind() or admits(report, None) else "silent"
        return result
    first = found[0]
    result.confidence = first.get("confidence", "")
    if fits(first, plant):
        result = priced(result, first, done.truth, "right")
        if result.grade == "mispriced":     # its fix may take away more than what was planted
            own = done.alternative(first["id"])
            result = priced(result, first, own, "right") if own is not None and own > done.truth else result
        return result
    if case.blind() and admits(report, first):
        result.grade = "unsure"
        return result
    other = done.alternative(first["id"])
    if other is not None:
        result.truths.append((first["id"], round(other, 1)))
    if other is None or other < 1.0:
        result.grade = "unsure" if admits(report, first) and first.get("gain_pct") is None else "wrong"
        return result
    result = priced(result, first, other, "right" if other >= 0.7 * done.truth or done.truth - other < 2.0 else "lesser")
    if result.grade == "mispriced" and other < 0.7 * done.truth:
        result.grade = "wrong"
    return result


def priced(result: RankMark, finding: dict[str, Any], truth: float, grade: str) -> RankMark:
    """The grade where the cause is true: does the price fit?"""
    promised = finding.get("gain_pct")
    if promised is None:
        result.grade = "no price" if grade == "right" else "lesser"
        return result
    result.error = promised - truth
    result.inside = finding["gain_low_pct"] - 0.5 <= truth <= finding["gain_high_pct"] + 0.5
    result.grade = grade if abs(result.error) <= POINTS or result.inside else "mispriced"
    return result


def judge_null(done: Exercise, result: RankMark, found: list[dict[str, Any]]) -> RankMark:
    """Nothing is wrong: a finding may promise what its fix would truly gain, and a little."""
    result.null, result.grade = True, "clean"
    for finding in found:
        promised = finding.get("gain_pct")
        if promised is None or promised < NULL_GAIN:
            continue
        if done.case.blind() and admits({}, finding):
            continue
        true = done.alternative(finding["id"]) or 0.0
        if true >= 1.0:
            result.truths.append((finding["id"], round(true, 1)))
        if promised >= NULL_GAIN + true and not (true >= NULL_GAIN and promised - true <= POINTS):
            result.grade, result.confidence, result.error = "false", finding.get("confidence", ""), promised - true
            break
    return result


def examine(number: int, seed: int, holdup: str, keep: str, fit: bool, sizes: dict[str, float]) -> RankMark:
    """Makes one case, asks, marks."""
    case = cases(seed)[number]
    done = exercise(case, sizes, fit)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(keep or folder) / f"case{case.number}"
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir(parents=True)
        result = judge(done, ask(holdup, record(done, where)))
    new = next(((key, size) for key, size in sizes.items() if key.startswith(f"{case.exam}.{case.number} ")), ("", 0.0))
    result.key, result.size = new
    return result


def places(marks: list[RankMark]) -> str:
    """How often the late rank was named, and what gave no answer."""
    asked = [m for m in marks if m.place is not None]
    lines = [f"Late rank named: {sum(bool(m.place) for m in asked)} of {len(asked)}."]
    missed = [str(m.number) for m in asked if not m.place]
    if missed:
        lines.append("Not named in cases " + ", ".join(missed) + ".")
    hung = [m for m in marks if m.hung]
    lines.append("No answer: " + ("; ".join(f"case {m.number}: {m.hung}" for m in hung) if hung else "never") + ".")
    return "\n".join(lines) + "\n"


def views(marks: list[RankMark]) -> str:
    """Grades where not all ranks were seen whole."""
    rows = []
    for view in sorted({m.defect for m in marks if m.defect}):
        grades = Counter(m.grade for m in marks if m.defect == view)
        rows.append([view, sum(grades.values()), ", ".join(f"{n} {g}" for g, n in grades.most_common())])
    return page.table(["seen", "cases", "grades"], rows) if rows else ""


def tell(mark: RankMark) -> None:
    """One line while it runs."""
    print(f"{mark.number:3} {mark.cause}, {mark.preset} {mark.defect} {mark.strength:g}: {mark.grade}; truth {mark.truths}; said {mark.said[:2]}",
          file=sys.stderr, flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="tests.exam.board_ranks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdup", default="build/holdup")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="causes whose name has this; 'nothing' for the nulls")
    parser.add_argument("--case", type=int, action="append", default=[])
    parser.add_argument("--keep", default="")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--markdown", default="")
    parser.add_argument("--misses", type=int, default=25)
    parser.add_argument("--minutes", type=float, default=600.0, help="the board of what is done by then")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    chosen = [c for c in cases(options.seed) if options.only in c.name and (not options.case or c.number in options.case)]
    begun = time.time()
    chosen.sort(key=lambda c: (c.number * 47 % 131, c.number))      # what is done in --minutes is a fair part
    marks: list[RankMark] = []
    sizes = load_sizes()
    with ProcessPoolExecutor(max(1, options.processes)) as pool:
        running = [pool.submit(examine, c.number, options.seed, options.holdup, options.keep, options.fit, sizes) for c in chosen]
        try:
            for future in as_completed(running, timeout=60.0 * options.minutes):
                if future.exception():
                    print(f"a case failed: {future.exception()!r}", file=sys.stderr, flush=True)
                    continue
                marks.append(future.result())
                tell(marks[-1])
                if options.fit and marks[-1].key:
                    sizes[marks[-1].key] = marks[-1].size
                    save_sizes(sizes)
        except FutureTimeout:
            pool.shutdown(wait=False, cancel_futures=True)
    marks.sort(key=lambda m: m.number)
    text = page.board(marks, options.misses).replace(page.HEAD.format(count=len(marks)), HEAD.format(count=len(marks))) + "\n" + places(marks) + "\n" + views(marks)  # type: ignore[arg-type]
    sys.stdout.write(text + f"\n{len(marks)} cases in {time.time() - begun:.0f} s\n")
    if options.markdown:
        Path(options.markdown).write_text(text)


if __name__ == "__main__":
    main()
