# SPDX-License-Identifier: Apache-2.0
"""The list of scripts/mutate belongs to the text as it is; the faults themselves are planted by that script, not here."""
import json
import pathlib
import runpy
import subprocess
import sys
import unittest

from tests.program import ROOT

SCRIPT = ROOT / "scripts/mutate"


class List(unittest.TestCase):
    def test_each_old_text_stands_once(self) -> None:
        """A change of one of these places takes its mutant along: scripts/mutate names the row."""
        done = subprocess.run([sys.executable, SCRIPT, "--list"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("\n  -> "), len(json.loads((ROOT / "tests/mutants.json").read_text())))

    def test_a_place_is_found_however_its_lines_break(self) -> None:
        script = runpy.run_path(str(SCRIPT))
        text = "if (a &&\n    b(c,\n      d))\n    e();\n"
        first, end = script["place"](text, "b(c, d)")
        self.assertEqual(text[first:end], "b(c,\n      d)")
        for old in ("e() ;;", "(", "  "):
            with self.assertRaises(script["Broken"]):
                script["place"](text, old)

    def test_unknown_numbers_are_refused(self) -> None:
        for number in ("0", "9999", "3-x", "5-2"):
            done = subprocess.run([sys.executable, SCRIPT, "--list", number], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, number)
            self.assertIn(f"no mutant {number}", done.stderr)

    def test_the_files_are_ours(self) -> None:
        for mutant in json.loads((ROOT / "tests/mutants.json").read_text()):
            self.assertEqual(pathlib.PurePath(mutant["file"]).parts[0], "src")


if __name__ == "__main__":
    unittest.main()
