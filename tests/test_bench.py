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
import inputs  # noqa: E402


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
