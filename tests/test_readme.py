# SPDX-License-Identifier: Apache-2.0
"""The README tells the truth: its printed answer is what the program prints, and its commands work."""
import re
import unittest

from tests.program import ROOT, run

TEXT = (ROOT / "README.md").read_text()


class Readme(unittest.TestCase):
    def test_the_printed_answer(self) -> None:
        block = re.search(r"    \$ holdup (.*)\n((?:    .*\n|\n)+?)    …\n", TEXT)
        self.assertIsNotNone(block)
        expected = "".join(line[4:] if line.strip() else "\n" for line in block.group(2).splitlines(keepends=True))
        status, out, _ = run(*block.group(1).split())
        self.assertEqual(status, 0)
        self.assertEqual(out.decode()[: len(expected)], expected)

    def test_the_commands(self) -> None:
        trace = "examples/training/traces/slow_loader/rank0.pt.trace.json.gz"
        lines = re.findall(r"^    (holdup (?:report|info|whatif|check) .*?)(?:  +.*)?$", TEXT, re.MULTILINE)
        self.assertGreaterEqual(len(lines), 9)
        for line in lines:
            words = line.replace("trace.json.gz", trace).replace("run/", "examples/training/traces/slow_loader").replace(
                "page.html", "build/page.html").replace("3..7", "3..5").split()[1:]
            with self.subTest(command=line):
                self.assertEqual(run(*words)[0], 1 if "check" in words else 0)     # the example breaches its limits

    def test_files_that_it_names(self) -> None:
        for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
            self.assertTrue((ROOT / link).exists() or link == "docs/performance.md", link)


if __name__ == "__main__":
    unittest.main()
