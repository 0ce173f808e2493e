# SPDX-License-Identifier: Apache-2.0
"""Programs of OpenCL with and without a cause: two of them recorded here, the others as they were, and the page about them."""
import json
import shutil
import tempfile
import unittest
from pathlib import Path

from tests.opencl_pairs import page, run
from tests.pairs import measure
from tests.program import EXE, skip_loudly

POINTS = 8.0        # recorded, and measured, next to other work
MISSED: dict[str, str] = {}     # pair -> "name" or "price": docs/accuracy.md says why
BLAMED = ("copy-bound", "data-loading", "io-stall", "sleep", "poor-overlap", "allocator", "python-gc", "lock-contention")     # what no load of the machine makes true
WIDE_PCT = 15.0     # recorded next to other tests: what a null may be promised, and what a cause must be allowed


def pair(name: str) -> run.Pair:
    return next(p for p in run.PAIRS if p.name == name)


class Here(unittest.TestCase):
    """Records what runs now; nothing is said about how long it takes."""

    def setUp(self) -> None:
        why = run.missing()
        if why:
            skip_loudly(f"pairs of OpenCL: {why}")
            self.skipTest(why)
        self.place = run.Place(Path(tempfile.mkdtemp(prefix="holdup-opencl-pairs-")))
        self.addCleanup(shutil.rmtree, self.place.folder, ignore_errors=True)

    def report(self, name: str) -> dict:
        """Of one recording of the arm before; both arms have computed the same."""
        chosen = pair(name)
        run.build(self.place.folder, [chosen])
        sums = {run.turn(self.place, chosen, arm, 8)["sum"] for arm in (chosen.before, chosen.after)}
        self.assertEqual(len(sums), 1)
        trace, _ = run.record(self.place, chosen, Path(EXE), 0.0, takes=1)
        said, why = measure.explain(Path(EXE), trace)
        self.assertIsNotNone(said, why)
        return said

    def test_a_blocking_read_is_named(self) -> None:
        said = self.report("blocking-read")
        found = [f for f in said["findings"] if f["id"] in pair("blocking-read").expects]
        self.assertEqual(len(found), 1, [f["id"] for f in said["findings"]])
        self.assertGreater(found[0]["gain_high_pct"], WIDE_PCT)

    def test_a_busy_device_accuses_nobody(self) -> None:
        """Nothing is copied, loaded or locked for long. Next to other programs the host may well be late: about that the kept recordings are asked."""
        said = self.report("decoy-finish")
        blamed = {f["id"]: f["gain_low_pct"] for f in said["findings"] if f["id"] in BLAMED and (f["gain_low_pct"] or 0.0) > WIDE_PCT}
        self.assertEqual(blamed, {})

    def test_the_arms_of_all_pairs_compute_the_same(self) -> None:
        """Each program checks its last result against the host's; the sums say that both arms did the same work."""
        run.build(self.place.folder, run.PAIRS)
        for each in run.PAIRS:
            with self.subTest(pair=each.name):
                before, after = (run.turn(self.place, each, arm, 4) for arm in (each.before, each.after))
                self.assertEqual(before["sum"], after["sum"])
                self.assertEqual((before["steps"], len(before["step_ms"])), (4, 4))


def row(name: str, expects: tuple[str, ...], truth: measure.Gain, said: measure.Prediction, edit: str | None = None) -> dict:
    return {**measure.row(name, expects, truth, said), "what": "a -> b", "edit": edit, "recorded_step_ms": 11.0}


class Page(unittest.TestCase):
    truth = measure.Gain(10.0, 6.0, 40.0, 38.0, 42.0)
    nothing = measure.Gain(10.0, 10.0, 0.0, -1.0, 1.0)

    def test_table(self) -> None:
        rows = [row("near", ("host-sync",), self.truth, measure.Prediction("host-sync", 37.0, 30.0, 39.0, "host-sync", 37.0, True)),
                row("far", ("copy-bound",), self.truth, measure.Prediction("copy-bound", 20.0, 10.0, 25.0, "host-sync", 30.0, False)),
                row("no-point", ("copy-bound",), self.truth, measure.Prediction("copy-bound", None, 0.0, 45.0, "copy-bound", None, True)),
                row("silent", ("launch-bound",), self.truth, measure.Prediction(right=False)),
                row("edit", (), self.truth, measure.Prediction("kernel:ax4", 41.0, 40.0, 42.0, None, None, True), "kernel:ax4"),
                row("null", (), self.nothing, measure.Prediction(None, None, None, None, "host-sync", 12.0, False))]
        lines = page.table(rows)
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:8]]
        self.assertEqual(cells[0], ["near", "a -> b", "10.00 -> 6.00", "40.0 [38.0 … 42.0]", "37.0 [30.0 … 39.0]", "3.0", "yes", "host-sync 37.0", "yes", "+10"])
        self.assertEqual(cells[1][4:9], ["20.0 [10.0 … 25.0]", "20.0", "no", "host-sync 30.0", "no"])
        self.assertEqual(cells[2][4:9], ["– [0.0 … 45.0]", "–", "yes", "copy-bound", "yes"])
        self.assertEqual(cells[3][4:9], ["–", "–", "–", "nothing", "no"])
        self.assertEqual(cells[4][4:9], ["41.0 [40.0 … 42.0] by `kernel:ax4`", "1.0", "yes", "nothing", "yes"])
        self.assertEqual(cells[5][4:9], ["–", "–", "–", "host-sync 12.0", "no"])
        self.assertIn("Mean absolute error 8.0 points over 3 pairs; 20.8 over 5, no point counting as 0.", lines)
        self.assertIn("3 of 4 gains in the interval; 2 of 4 causes named first; 1 of 2 programs without one promised nothing.", lines)

    def test_the_section_is_replaced_and_nothing_else(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            document = Path(folder) / "accuracy.md"
            document.write_text("# Accuracy\n\nbefore\n\n## Again\n\nbehind\n")
            for words in ("one", "another"):        # where it is not there yet, and where it is
                page.replace_section([page.TITLE, "", words, ""], document)
                self.assertEqual(document.read_text(), f"# Accuracy\n\nbefore\n\n{page.TITLE}\n\n{words}\n\n## Again\n\nbehind\n")


class Kept(unittest.TestCase):
    """Pairs that were measured once; their recordings are read without OpenCL."""

    def setUp(self) -> None:
        self.rows = json.loads((page.KEPT / "truth.json").read_text())["pairs"]

    def test_all_are_there(self) -> None:
        self.assertEqual(set(self.rows), {p.name for p in run.PAIRS})
        self.assertEqual({p.name for p in page.KEPT.glob("*.gz")}, {r["trace"] for r in self.rows.values() if r["trace"]})

    def test_the_document_has_them(self) -> None:
        text = page.DOCUMENT.read_text()
        section = text[text.index(page.TITLE):]
        for name, kept in self.rows.items():
            self.assertIn(f"| {name} | {kept['what']} | {kept['truth']['before']:.2f} -> {kept['truth']['after']:.2f} |", section)

    def test_predictions(self) -> None:
        """The cause comes first and its price is near what was achieved; where none is planted, nobody is accused."""
        for name, kept in self.rows.items():
            with self.subTest(pair=name):
                now = page.again(Path(EXE), kept)
                self.assertEqual(now["note"], "")
                if MISSED.get(name) != "name":
                    self.assertTrue(now["prediction"]["right"], f"first is {now['prediction']['top']}")
                if kept["trace"] and (kept["expects"] or kept["edit"]) and MISSED.get(name) != "price":
                    self.assertLess(abs(now["error_points"]), POINTS)
