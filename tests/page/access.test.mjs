// SPDX-License-Identifier: Apache-2.0
// The page without a mouse, for a screen reader, on a phone, on paper, without its script.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { choose, desktop, phone, viewsOf, visit, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { examples, jsonBlock, makePage, real, runJson } from "./program.mjs";

const job = makePage(...smallJob());
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// The element that has the focus, in words; and whether one can see that it has.
const focused = (tab) =>
  tab.evaluate(() => {
    const e = document.activeElement;
    if (!e || e === document.body) return null;
    e.dataset.at ??= String((window.counted = (window.counted ?? 0) + 1));
    const style = getComputedStyle(e),
      box = e.getBoundingClientRect();
    return {
      tag: e.localName,
      id: e.id,
      at: e.dataset.at,
      text: e.textContent.slice(0, 30),
      section: e.closest("section")?.id,
      inNav: Boolean(e.closest("nav")),
      inTable: Boolean(e.closest("table")),
      isScroll: e.classList.contains("scroll"),
      isSeen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 && box.width > 1 && box.height > 1,
    };
  });

// Tab until the focus leaves the page or comes round: everything it stopped at.
async function tabThrough(tab, most = 400) {
  const stops = [];
  for (let i = 0; i < most; i++) {
    await tab.keyboard.press("Tab");
    const at = await focused(tab);
    if (!at || stops.some((s) => s.at === at.at)) return stops;
    stops.push(at);
  }
  throw new Error(`no end after ${most} stops; the last: ${JSON.stringify(stops.slice(-3))}`);
}

for (const id of ["overview", "findings", "operators", "timeline", "flame", "modules", "ranks", "host"]) {
  test(`Tab goes through everything and out again: ${id}`, () =>
    withPage(job, { hash: `#/${id}` }, async (tab) => {
      if (["timeline", "flame", "modules"].includes(id)) await tab.waitForSelector(`#${id}[data-ready]`);
      const stops = await tabThrough(tab),
        links = (await viewsOf(tab)).length;
      assert.match(stops[0].text, /skip to the report/, "the first is the link that skips");
      assert.equal(stops.filter((s) => s.inNav).length, links);
      for (const wanted of ["theme", "rank"])
        assert.ok(
          stops.some((s) => s.id === wanted),
          wanted,
        );
      for (const s of stops) {
        assert.ok(s.isSeen, `nobody sees the focus on ${JSON.stringify(s)}`);
        assert.ok(!s.section || s.section === id, `the focus goes to the hidden ${s.section}`);
      }
      const inside = stops.filter((s) => s.section === id);
      const has = (what) => assert.ok(inside.some(what), `${what} in ${inside.map((s) => `${s.tag} ${s.text}`)}`);
      if (id === "overview") has((s) => s.isScroll);
      if (id === "findings") has((s) => s.tag === "summary");
      if (id === "operators")
        for (const what of [
          (s) => s.isScroll,
          (s) => s.tag === "input",
          (s) => /copy as CSV/.test(s.text),
          (s) => s.inTable && s.tag === "button",
        ])
          has(what);
      if (id === "timeline")
        for (const what of [(s) => s.tag === "canvas", (s) => s.tag === "input", (s) => s.tag === "summary"]) has(what);
      if (id === "flame")
        for (const what of [(s) => s.tag === "canvas", (s) => s.tag === "input", (s) => s.tag === "select", (s) => s.isScroll]) has(what);
      if (id === "ranks") has((s) => s.tag === "canvas");
      // and back
      await tab.keyboard.press("Shift+Tab");
    }));
}

test("the link that skips, and a view by its key", () =>
  withPage(job, {}, async (tab) => {
    await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    assert.equal(await tab.evaluate(() => document.activeElement.id), "main");
    await tab.keyboard.press("Tab");
    assert.equal((await focused(tab)).section, "overview", "what follows is of the report");
    await tab.focus('#nav a[href="#/kernels"]');
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("#kernels:not([hidden])");
    const box = tab.locator("#operators .scroll.tall").first();
    await visit(tab, "operators");
    await box.focus();
    await tab.keyboard.press("PageDown");
    assert.ok((await box.evaluate((b) => b.scrollTop)) > 0, "a table scrolls by keys");
  }));

test("what is chosen on the timeline is said", () =>
  withPage(job, { hash: "#/timeline" }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    await choose(tab, "timeline", "ArrowRight");
    const said = await tab.textContent("body > [aria-live=polite]");
    assert.ok(said.startsWith(await tab.textContent("#timeline .info h3")), said);
    assert.match(said, /, kernel|, copy/);
  }));

// Colours do not depend on the width, nor the rest on colours: each rule is asked where its answer may differ.
const contrast = ["color-contrast"],
  looks = [
    ["light", desktop, {}],
    ["dark", desktop, { runOnly: { type: "rule", values: contrast } }],
    ["light", phone, { rules: { [contrast]: { enabled: false } } }],
  ];

for (const [colorScheme, viewport, rules] of looks) {
  test(`axe finds nothing serious: ${colorScheme}, ${viewport.width} pixels`, () =>
    withPage(job, { colorScheme, viewport }, async (tab) => {
      await tab.evaluate(axe);
      const found = [];
      for (const id of await viewsOf(tab)) {
        await visit(tab, id);
        if (id === "timeline") {
          await choose(tab, "timeline", "ArrowRight");
        }
        if (id === "flame") {
          await tab.focus("canvas.flame");
          for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await tab.keyboard.press(key);
          await tab.waitForSelector("#flame .info h3");
        }
        const { violations } = await tab.evaluate((o) => axe.run(document, { resultTypes: ["violations"], preload: false, ...o }), rules);
        for (const v of violations.filter((x) => /serious|critical/.test(x.impact)))
          found.push(
            `${id}: ${v.id}: ${v.nodes
              .slice(0, 3)
              .map((n) => `${n.target} ${n.any[0]?.message ?? n.failureSummary}`)
              .join(" | ")}`,
          );
        if (viewport !== desktop) {
          const wide = await tab.evaluate(() => ({
            page: document.documentElement.scrollWidth,
            window: innerWidth,
            over: [...document.querySelectorAll("main *")]
              .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg"))
              .slice(0, 3)
              .map((e) => e.outerHTML.slice(0, 120)),
          }));
          assert.ok(wide.page <= wide.window, `${id} is ${wide.page} pixels wide: ${wide.over}`);
        }
        // what has been looked at is walked over again with each view that follows
        if (id !== "overview") await tab.evaluate((done) => document.getElementById(done).replaceChildren(), id);
      }
      assert.deepEqual(found, []);
    }));
}

for (const [name, { path }] of Object.entries({ ...examples, ...real })) {
  test(`on a phone nothing is wider than the screen, on paper it takes two pages, with many ranks three: ${name}`, () =>
    withPage(makePage(path), { viewport: phone, isMobile: true, hasTouch: true }, async (tab) => {
      for (const id of await viewsOf(tab)) {
        await visit(tab, id);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= phone.width, `${id} is ${wide} pixels wide`);
      }
      const pages = countPages(await tab.pdf({ format: "A4", printBackground: true }));
      assert.ok(pages >= 1 && pages <= (name === "8 ranks" ? 3 : 2), `${pages} pages`);
    }));
}

// Pages may stand in packed objects.
function countPages(pdf) {
  let text = pdf.toString("latin1");
  for (const found of text.matchAll(/stream\r?\n/g)) {
    try {
      text += inflateSync(pdf.subarray(found.index + found[0].length), { finishFlush: 2 }).toString("latin1");
    } catch {
      /* a picture, or not packed */
    }
  }
  return (text.match(/\/Type\s*\/Page(?![a-zA-Z])/g) ?? []).length;
}

for (const [name, { path }] of Object.entries({ ...examples, ...real })) {
  test(`without its script it is read from top to bottom: ${name}`, () =>
    withPage(makePage(path), { javaScriptEnabled: false }, async (tab) => {
      const report = runJson(path),
        text = await tab.innerText("body");
      assert.ok(text.includes(report.verdict.text));
      for (const f of report.findings) assert.ok(text.includes(f.title) && text.includes(f.statement), f.id);
      const sections = tab.locator("main > section");
      assert.ok((await sections.count()) >= 13);
      for (const section of await sections.all()) {
        assert.ok(await section.isVisible(), await section.getAttribute("id"));
        assert.ok(
          (await section.innerText()).split("\n").filter(Boolean).length >= 2,
          `${await section.getAttribute("id")} is empty`,
        );
      }
      assert.doesNotMatch(text, /\[object|(?<![\w:.])(undefined|nan|NaN|inf|\(null\))(?![\w:.])/);
      const rank = report.ranks.find((r) => r.operators.length && text.includes(r.operators[0].name));
      assert.ok(rank, "the first operator is there");
      assert.ok((await tab.locator("#operators tbody tr").count()) >= Math.min(10, rank.operators.length));
      const { kernels } = report.ranks[jsonBlock(makePage(path), "data-words").rank_index],
        names = tab.locator("#kernels .scroll").first().locator("tbody td:first-child");
      if (kernels.length) {
        assert.deepEqual(await names.allTextContents(), kernels.slice(0, 10).map((k) => k.short_name));
        assert.equal((await names.first().getAttribute("title")).slice(0, 100), kernels[0].name.slice(0, 100));
      }
      // links of the navigation lead to what is on the page
      for (const href of await tab.locator("#nav a").evaluateAll((all) => all.map((a) => a.getAttribute("href"))))
        assert.equal(await tab.locator(href).count(), 1, href);
    }));
}
