# SPDX-License-Identifier: Apache-2.0
"""The page without a browser: its markup is the report, its data are --json and the trace.  tests/page/ has the browser's part."""
import base64
import collections
import hashlib
import html.parser
import importlib.machinery
import importlib.util
import pathlib
import re
import tempfile
import time
import unittest
from decimal import Decimal

from tests import page_data
from tests.program import OWN, ROOT, SANITIZED, events, real_traces, report, run

ELEMENTS = {"!doctype", "html", "head", "meta", "title", "style", "body", "a", "header", "p", "h1", "h2", "h3", "h4", "h5", "nav", "ul", "ol", "li", "main",
            "section", "span", "dl", "dt", "dd", "div", "strong", "br", "small", "figure", "figcaption", "svg", "rect", "table", "thead",
            "tbody", "tr", "th", "td", "code", "pre", "article", "details", "summary", "script", "noscript", "n-u"}
VOID = {"meta", "br"}
CATEGORIES = {"kernel", "cpu_op", "cuda_runtime", "gpu_memcpy", "gpu_memset", "user_annotation", "python_function", "cuda_driver"}


class Markup(html.parser.HTMLParser):
    """Fails on anything that the page's author did not write."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        assert tag in ELEMENTS, tag
        names = [name for name, _ in attrs]
        assert "style" not in names and not [n for n in names if n.startswith("on")], (tag, attrs)
        self.ids += [value for name, value in attrs if name == "id"]
        self.text += " " * (tag not in ("span", "n-u"))      # which stands inside of a sentence
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.text += " " * (tag not in ("span", "n-u"))
        if tag not in VOID and not (self.open and self.open[-1] == tag):
            assert tag in {"rect"}, f"</{tag}> closes {self.open[-3:]}"
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.text.append(data)


def write_page(*arguments) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.html"
        status, _, err = run("report", *arguments, "--html", path)
        assert status == 0, err
        return path.read_text(encoding="utf-8")


def microseconds(value) -> int:
    return int(Decimal(str(value)) * 1000)


class Page(unittest.TestCase):
    def inputs(self):
        """A folder first, then files; of the real ones those that differ most."""
        wanted = {"hta-amd", "hta-mtia", "tl-bert", "kineto-tb-samples", "tl-vllm-decode", "hta-nccl", "tl-mi300-ddp", "particle-transformer"}
        found = [OWN[0].parent, *OWN[:3], *(p for p in real_traces() if p.parent.name in wanted)]
        return found[:6] if SANITIZED else found

    def test_markup_is_whole_and_holds_the_report(self):
        for path in self.inputs():
            with self.subTest(path.name):
                page, result = write_page(path), report(path)
                markup = Markup()
                markup.feed(page)
                self.assertEqual(markup.open, [])
                self.assertEqual(len(markup.ids), len(set(markup.ids)))
                text = " ".join("".join(markup.text).split())
                self.assertIn(" ".join(result["verdict"]["text"].split()), text)
                for finding in result["findings"]:
                    self.assertIn(" ".join(finding["statement"].split()), text)
                    self.assertIn(f'id="finding-{finding["id"]}"', page)
                for word in ("NaN", "undefined", "(null)", "nan "):
                    self.assertNotIn(word, text)

    def test_policy_names_the_very_script_and_style(self):
        page = write_page(OWN[0])
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
        for tag, text in (("script", re.search(r'<script type="module">(.*?)</script>', page, re.S).group(1)),
                          ("style", re.search(r"<style>(.*?)</style>", page, re.S).group(1))):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("http", policy)
        self.assertNotIn("connect-src", policy)

    def test_shell_is_small(self):
        shell = page_data.BLOCK.sub("", write_page(OWN[0]))
        self.assertLess(len(shell.encode()), 250_000)

    def test_report_in_it_is_what_json_prints(self):
        for path in self.inputs():
            with self.subTest(path.name):
                self.assertEqual(page_data.json_block(write_page(path), "data-report"), report(path))

    def test_words_name_every_column_of_the_report(self):
        words = page_data.json_block(write_page(OWN[0]), "data-words")
        rank = report(OWN[0])["ranks"][0]
        for view in words["views"]:
            member = rank[view["key"]]
            for table in view["tables"]:
                rows = member if view["is_list"] else member[table["key"]]
                for row in rows[:1]:
                    self.assertEqual([c["key"] for c in table["columns"]], list(row), view["word"])

    def test_runs_are_told_apart_and_have_a_verdict_each(self):
        slow, fixed, lonely = (OWN[0].parents[1] / name for name in ("slow_loader", "fixed_loader", "python_stacks"))
        for paths, names in (((slow, fixed), ["slow_loader", "fixed_loader"]), ((fixed, slow), ["fixed_loader", "slow_loader"]),
                             ((lonely, fixed), ["python_stacks", "fixed_loader"]),      # of which nothing says that it is a rank of two
                             ((slow,), [])):
            page = write_page(*paths)
            runs, said = (page_data.json_block(page, name) for name in ("data-words", "data-report"))
            with self.subTest(names):
                self.assertEqual([r["name"] for r in runs["runs"]], names)
                for run_, path in zip(runs["runs"], paths):
                    files = [pathlib.Path(said["inputs"][i]["file"]) for i in run_["ranks"]]
                    self.assertEqual({f.parent.name for f in files}, {path.name})
                    self.assertIn(f"of {said['ranks'][run_['shown']]['steps']['mean_ns'] / 1e6:.1f} ms", run_["verdict"])

    def test_timeline_holds_every_slice_of_the_trace(self):
        for path in self.inputs()[1:]:
            with self.subTest(path.name):
                timeline = page_data.timelines(write_page(path))[0]
                raw = [e for e in events(path) if e.get("ph") == "X" and e.get("cat") in CATEGORIES and e.get("dur") is not None]
                if any(microseconds(e["dur"]) < 0 or e.get("ts") in (0, None) for e in raw):
                    continue                    # damaged ones are counted elsewhere
                measured = [s for s in timeline["slices_list"] if "scenario" not in timeline["tracks"][s[0]]]
                kinds = report(path)["ranks"][0]["quality"]["by_kind"]
                self.assertEqual(len(measured), sum(kinds.values()) - kinds.get("span", 0))
                self.assertEqual(timeline["slices"], len(measured))
                if not raw:
                    continue                    # categories of another time
                seen = collections.Counter((start, dur) for _, start, dur, *_ in measured)
                first = min(microseconds(e["ts"]) for e in events(path) if e.get("ph") == "X" and e.get("dur") is not None)
                expected = collections.Counter((microseconds(e["ts"]) - first, microseconds(e["dur"])) for e in raw)
                self.assertEqual(sum((expected - seen).values()), 0)

    def test_links_lead_from_the_launch_to_the_kernel(self):
        for path in [p for p in real_traces() if p.parent.name in ("tl-owlv2", "tl-mi300-ddp", "tl-b200", "hta-nccl")][:2 if SANITIZED else None]:
            with self.subTest(path.name):
                timeline = page_data.timelines(write_page(path))[0]
                by_time = {}
                launch_of = {}
                for e in events(path):
                    if e.get("ph") == "X" and e.get("cat") in ("cuda_runtime", "cuda_driver", "hip_runtime"):
                        by_time[e.get("args", {}).get("correlation")] = (microseconds(e["dur"]), e["name"])
                for e in events(path):
                    if e.get("ph") == "X" and e.get("cat") == "kernel" and e["args"].get("correlation") in by_time:
                        launch_of.setdefault((e["name"], microseconds(e["dur"])), set()).add(by_time[e["args"]["correlation"]])
                slices, checked = timeline["slices_list"], 0
                for _, _, dur, name, kind, _, link in slices:
                    if kind == "kernel" and (name, dur) in launch_of and link is not None:
                        self.assertIn((slices[link][2], slices[link][3]), launch_of[name, dur])
                        checked += 1
                self.assertGreater(checked, 100)

    def test_simulated_step_ends_where_the_finding_says(self):
        path = OWN[0].parent
        page, result = write_page(path), report(path)
        words = page_data.json_block(page, "data-words")
        timeline = page_data.timelines(page)[words["rank_index"]]
        self.assertEqual(words["scenarios"], [s["id"] for s in timeline["scenarios"]])
        self.assertIn(result["findings"][0]["id"], words["scenarios"])
        for k, scenario in enumerate(timeline["scenarios"]):
            mine = [s for s in timeline["slices_list"] if timeline["tracks"][s[0]].get("scenario") == k]
            self.assertGreater(len(mine), 10)
            self.assertGreaterEqual(min(s[1] for s in mine), scenario["start"] - 1_000_000)
            gain = 1 - (scenario["simulated_end"] - scenario["start"]) / (scenario["measured_end"] - scenario["start"])
            finding = next(f for f in result["findings"] if f["id"] == scenario["id"])
            if finding["gain_pct"] > 10:        # a small gain of the mean may be none of this step
                self.assertLess(scenario["simulated_end"], scenario["measured_end"])
            self.assertAlmostEqual(100 * gain, finding["gain_pct"], delta=25)       # one step, not their mean

    def test_two_runs_write_the_same_bytes(self):
        self.assertEqual(write_page(OWN[0].parent), write_page(OWN[0].parent))

    def test_full_and_open_want_a_page(self):
        for option in ("--full", "--open"):
            status, _, err = run("report", OWN[0], option)
            self.assertEqual(status, 2)
            self.assertIn("--html", err)

    def test_open_without_a_screen_says_how_to_get_at_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            status, _, err = run("report", OWN[0], "--html", path, "--open", env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""})
            self.assertEqual(status, 0)
            self.assertIn("scp", err)
            self.assertRegex(err, r"wrote .*page\.html \([\d.]+ kB, [\d.]+k? slices\)")

    def test_a_browser_of_the_users_choice_is_started(self):
        with tempfile.TemporaryDirectory() as folder:
            path, browser, log = (pathlib.Path(folder) / name for name in ("page.html", "browser", "log"))
            browser.write_text(f'#!/bin/sh\necho "$1" >{log}\n')
            browser.chmod(0o755)
            status, _, _ = run("report", OWN[0], "--html", path, "--open", env={"BROWSER": str(browser)})
            self.assertEqual(status, 0)
            for _ in range(100):
                if log.exists() and log.read_text().strip():
                    break
                time.sleep(0.05)
            self.assertEqual(log.read_text().strip(), str(path))

    def test_long_names_of_the_script_become_short_where_they_are_nothing_else(self):
        loader = importlib.machinery.SourceFileLoader("bundle", str(ROOT / "scripts/bundle"))
        bundle = importlib.util.module_from_spec(importlib.util.spec_from_loader("bundle", loader))
        loader.exec_module(bundle)
        for code, expected in (
                ('const rowHeight=1;function f(rowHeight){return rowHeight+"rowHeight";}', 'const $a=1;function f($a){return $a+"rowHeight";}'),
                ("f(first,rowHeight,last);[a,rowHeight]", "f(first,$a,last);[a,$a]"),
                ("const rowHeight=1;x.rowHeight", None),                # a property
                ("const rowHeight=1;x={rowHeight:2}", None),
                ("const rowHeight=1;x={a,rowHeight}", None),            # a key, too
                ("const{rowHeight}=x;rowHeight", None),
                ("const{rowHeight=1}=x;rowHeight", None),
                ("const rowHeight=1;`${rowHeight}`", None),             # nobody looks into templates
                ("const rowHeight=1;/rowHeight/.test(x)", "const $a=1;/rowHeight/.test(x)"),
                ("const $a=1,rowHeight=2;", "const $a=1,$b=2;")):       # short names that are taken
            with self.subTest(code):
                self.assertEqual(bundle.shorten(code, ["rowHeight"]), expected or code)


if __name__ == "__main__":
    unittest.main()
