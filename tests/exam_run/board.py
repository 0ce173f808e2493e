# SPDX-License-Identifier: Apache-2.0
"""Runs the exam of the recorder and prints its board.

    python3 -m tests.exam_run.board --holdup build/holdup [--only X] [--quick] [--busy] [--repeats N] [--markdown FILE] [--keep FOLDER]

--only: programs or causes whose name holds X; several, separated by commas. --quick: one repeat. --busy: a neighbour takes one core while
programs are recorded; only what is named counts then. The machine should be idle otherwise: truths are times.
"""

import argparse
import contextlib
import sys
import tempfile
import time
from pathlib import Path

from tests.exam_run import page
from tests.exam_run.conserve import checks
from tests.exam_run.measure import CROWDED, Truth, neighbours, record, run
from tests.exam_run.plants import CAUSES, NULLS, Plant
from tests.exam_run.score import Mark, mark
from tests.exam_run.toolbox import CannotBuild, Toolbox


def truth_of(plant: Plant, tools: Toolbox, repeats: int) -> Truth:
    """Runs with and without the cause, by turns, after one that only fills caches and makes files."""
    truth = Truth([], [])
    run(tools.command(plant, "with"), tools.desk)
    for _ in range(repeats):
        with neighbours(tools.neighbour(), plant.neighbours):
            truth.slow.append(run(tools.command(plant, "with"), tools.desk))
        truth.fast.append(run(tools.command(plant, "without"), tools.desk))
    return truth


def examine(plant: Plant, tools: Toolbox, holdup: str, repeats: int, busy: bool, folder: Path) -> Mark:
    """One program: its truth, its recording, its mark."""
    truth = truth_of(plant, tools, repeats)
    with neighbours(tools.neighbour(), plant.neighbours + busy) if plant.neighbours + busy else contextlib.nullcontext():
        answer = record(holdup, tools.command(plant, "with"), tools.desk, folder)
    others = 0.0 if plant.neighbours else answer.ran.others
    result = mark(plant, answer.report, truth.gain(), truth.of_work(), truth.spread(), busy or others > CROWDED)
    if answer.failed or answer.ran.hung:
        result.grade, result.said = "failed", answer.failed or "hung when recorded"
    elif busy and result.grade in ("mispriced", "no price"):
        result.grade = "right"
    result.work, result.others, result.checks = truth.work(), others, checks(truth.slow[0], answer)
    result.slowdown = 100 * (answer.ran.work / truth.work() - 1)
    return result


def chosen(only: str) -> list[Plant]:
    """The plants that were asked for."""
    wanted = [w.lower() for w in only.split(",") if w]
    everything = [*CAUSES, *NULLS]
    return [p for p in everything if not wanted or any(w in p.name.lower() or w in p.program.lower() for w in wanted)]


def tell(result: Mark) -> None:
    """One line while it runs."""
    broken = [f"{c.name}: {c.numbers}" for c in result.checks if c.holds is False]
    print(f"{result.grade:12} {result.plant.name}: truth {result.truth:.1f}, promised {result.price}, {result.work:.2f} s, "
          f"recorded {result.slowdown:+.0f} %{'; ' if broken else ''}{'; '.join(broken)}", file=sys.stderr, flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="tests.exam_run.board", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--holdup", default="build/holdup")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--markdown", default="")
    parser.add_argument("--keep", default="", help="leave the traces and reports here")
    options = parser.parse_args()
    holdup = str(Path(options.holdup).resolve())
    repeats = 1 if options.quick or options.busy else options.repeats
    marks: list[Mark] = []
    skipped: list[tuple[str, str]] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="exam-run-") as scratch:
        tools = Toolbox(Path(holdup).parent / "exam_run", Path(scratch) / "desk")
        tools.prepare()
        for plant in chosen(options.only):
            folder = Path(options.keep or scratch).resolve() / "kept" / plant.key()
            try:
                tools.command(plant, "with")
            except CannotBuild as why:
                print(f"SKIPPED: {plant.name}: {why}", file=sys.stderr, flush=True)
                skipped.append((plant.name, str(why)))
                continue
            marks.append(examine(plant, tools, holdup, repeats, options.busy, folder))
            tell(marks[-1])
    text = page.board(marks, skipped, repeats, options.busy)
    sys.stdout.write(text + f"{len(marks)} programs in {time.monotonic() - begun:.0f} s\n")
    if options.markdown:
        Path(options.markdown).write_text(text.replace(scratch, "/tmp"))


if __name__ == "__main__":
    main()
