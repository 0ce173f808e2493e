# SPDX-License-Identifier: Apache-2.0
"""The bench finds its inputs where nobody has the traces that the project measures itself on."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from tests.program import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import costs  # noqa: E402
import inputs  # noqa: E402


class Costs(unittest.TestCase):
    """Two commands write one page: each leaves the other's sections alone."""

    def test_a_section_is_replaced_and_kept(self) -> None:
        page, old, new = "# Page\n\n## One\n\na\n", f"## {costs.TITLE}\n\n### x\n\n1", f"## {costs.TITLE}\n\n2"
        self.assertEqual(costs.cut(page), (page, ""))
        self.assertEqual(costs.put(page, ""), page)
        with_old = costs.put(page, old)
        self.assertEqual(with_old, page + "\n" + old + "\n")
        self.assertEqual(costs.put(with_old, new), page + "\n" + new + "\n")
        between = page + "\n" + old + "\n\n## Two\n\nb\n"
        self.assertEqual(costs.cut(between)[0], page + "\n## Two\n\nb\n")
        self.assertEqual(costs.put(page, costs.cut(with_old)[1]), with_old)


class Inputs(unittest.TestCase):
    def test_a_clone_alone_has_one(self) -> None:
        with mock.patch.object(inputs, "SHARED", pathlib.Path("/nonexistent")):
            found = inputs.find_sources([])
        self.assertEqual([s.key for s in found], ["ex"])
        self.assertTrue(found[0].path.is_file())
        self.assertTrue(found[0].path.is_relative_to(ROOT / "examples"))
        self.assertIn("not comparable", inputs.fallback_note(found))

    def test_it_can_be_replicated(self) -> None:
        with mock.patch.object(inputs, "SHARED", pathlib.Path("/nonexistent")), tempfile.TemporaryDirectory() as folder:
            source = inputs.find_sources([])[0]
            done = subprocess.run([sys.executable, inputs.MAKER, source.path, pathlib.Path(folder, "x.json"), "--mb", "2"],
                                  capture_output=True, check=True, timeout=60)
            made = json.loads(done.stdout)
            self.assertGreater(made["events"], 1000)
            self.assertEqual(pathlib.Path(folder, "x.json").stat().st_size, made["json_bytes"])


if __name__ == "__main__":
    unittest.main()
