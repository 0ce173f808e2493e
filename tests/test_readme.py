# SPDX-License-Identifier: Apache-2.0
"""The README tells the truth: its printed answer is what the program prints, and its commands work."""
import re
import unittest

from tests.program import ROOT, SHARED, run

TEXT = (ROOT / "README.md").read_text()


class Readme(unittest.TestCase):
    def test_the_printed_answers(self) -> None:
        """Each sample is the beginning of what the program prints.  The first is of a public GPU trace that is not part of the project."""
        samples = re.findall(r"    \$ holdup (.*)\n((?:    .*\n|\n)+?)    …\n", TEXT)
        self.assertEqual(len(samples), 2)
        public = SHARED / "traces/kineto/tl-owlv2/h100.json.gz"
        for command, block in samples:
            expected = "".join(line[4:] if line.strip() else "\n" for line in block.splitlines(keepends=True))
            words = command.split()
            if words[-1] == "h100.json.gz":
                self.assertIn("exposed comm", expected, "a GPU is in it")
                if not public.exists():
                    continue
                words[-1] = str(public)
            with self.subTest(command=command):
                status, out, _ = run(*words)
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
