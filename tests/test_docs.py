# SPDX-License-Identifier: Apache-2.0
"""The pages: the index, which `holdup help` names, leads to each of them, and no link between them is dead, also where they are installed."""
from __future__ import annotations

import pathlib
import re
import unittest

from tests.program import ROOT, run
from tests.recorder import once as load_tests

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def links(page: pathlib.Path) -> list[tuple[str, str]]:
    """File and anchor, of links to files; not those inside of code."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
    return [(m[1], m[2] or "") for m in re.finditer(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)", text)]


class Pages(unittest.TestCase):
    def test_the_index_names_each(self) -> None:
        named = {(DOCS / file).resolve() for file, _ in links(DOCS / "index.md") if file}
        self.assertEqual(set(PAGES) - named, {DOCS / "index.md"})
        self.assertEqual(named - set(PAGES), set())

    def test_no_link_is_dead(self) -> None:
        for page in [*PAGES, ROOT / "README.md", ROOT / "SECURITY.md"]:
            for file, _ in links(page):
                target = page.parent / file if file else page
                self.assertTrue(target.exists(), f"{page.relative_to(ROOT)}: {file}")

    def test_help_names_the_index(self) -> None:
        [path] = re.findall(r"^pages\n  (/.*)$", run("help")[1].decode(), re.M)
        self.assertTrue(pathlib.Path(path).samefile(DOCS / "index.md"))


if __name__ == "__main__":
    unittest.main()
