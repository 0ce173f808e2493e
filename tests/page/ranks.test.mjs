// SPDX-License-Identifier: Apache-2.0
// Ranks: whom a section speaks of is said everywhere; of very many ranks the page stays small, and the late one is found.

import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";
import { assertShows, viewsOf, visit, withPage } from "./browser.mjs";
import { manyRanks, smallJob } from "./make.mjs";
import { jsonBlock, makePage, shellOf } from "./program.mjs";

const job = makePage(...smallJob()),
  shown = jsonBlock(job, "data-words").rank_index,
  labels = jsonBlock(job, "data-report").ranks.map((r) => `rank ${r.rank}${r.host ? ` on ${r.host}` : ""}`);

// More than the page holds whole.
const n = 600,
  late = 7,
  many = makePage(manyRanks(n, late)),
  report = jsonBlock(many, "data-report");

test("each section says whether it is of the rank that is chosen or of the whole job", () =>
  withPage(job, {}, async (tab) => {
    for (const rank of [shown, 1 - shown]) {
      await tab.selectOption("#rank", String(rank));
      for (const id of await viewsOf(tab)) {
        await visit(tab, id);
        if (id === "timeline" || id === "compare") continue; // its address says it
        const words = await tab.textContent(`#${id} > .scope`);
        if (["steps", "operators", "flame", "modules", "kernels", "memory", "communication", "copies", "host"].includes(id)) assert.equal(words, labels[rank], id);
        else if (["overview", "findings", "ranks"].includes(id)) assert.match(words, /^whole job/, id);
        else assert.ok(words.startsWith(labels[shown]), `${id}: ${words}`);
        if (["overview", "findings"].includes(id)) {
          assert.ok(words.includes(labels[shown]), `${id} says of whom its numbers are: ${words}`);
          assert.equal(words.includes(`${labels[1 - shown]} is chosen`), rank !== shown, words);
        }
      }
    }
  }));

test("tiles say whose number they have, and add the number of the rank that is chosen", () =>
  withPage(job, {}, async (tab) => {
    const { ranks } = jsonBlock(job, "data-report"),
      other = ranks[1 - shown],
      lost = (b) => 100 * (1 - b.compute_ns / b.step_ns),
      tile = (of) => tab.locator(`.tile[data-of="${of}"]`),
      numbers = { step: (r) => r.steps.mean_ns, lost: (r) => lost(r.step_breakdown), peak: (r) => r.memory.pools[0].peak_bytes };
    for (const [of, number] of Object.entries(numbers)) {
      assert.match(await tile(of).locator("dt").textContent(), new RegExp(`, rank ${ranks[shown].rank}$`));
      assertShows(await tile(of).locator("strong").textContent(), number(ranks[shown]), of);
    }
    assert.equal(await tab.locator(".tile .chosen").count(), 0);
    await tab.selectOption("#rank", String(1 - shown));
    for (const [of, number] of Object.entries(numbers)) {
      const [, rank, value] = /^rank (\d+): (.*)$/.exec(await tile(of).locator(".chosen").textContent());
      assert.equal(Number(rank), other.rank);
      assertShows(value, number(other), of);
    }
    await tab.selectOption("#rank", String(shown));
    assert.equal(await tab.locator(".tile .chosen").count(), 0);
    // of all ranks, each by its own step
    const sum = ranks.reduce((n, r) => n + lost(r.step_breakdown) / 10, 0);
    assert.match(await tile("lost").textContent(), new RegExp(`the job loses ${sum.toFixed(1)} of ${10 * ranks.length} GPU-hours`));
  }));

test("of many ranks the page holds a line each, and whole ones that it draws", () => {
  assert.equal(report.ranks.length, n);
  const outlines = report.ranks.filter((r) => r.is_outline);
  assert.ok(outlines.length >= n - 20 && outlines.length < n, `${outlines.length} outlines`);
  assert.ok(statSync(many.file).size < 700_000, `${statSync(many.file).size} bytes`);
  assert.ok(shellOf(many).length - shellOf(job).length < 40_000, `${shellOf(many).length} bytes, of two ranks ${shellOf(job).length}`);
});

test("the late rank of many comes first: on the first screen, on the axis, in the table", () =>
  withPage(many, {}, async (tab) => {
    assert.match(await tab.textContent(".strip li:first-child"), new RegExp(`^.*rank ${late}:`));
    assert.equal(await tab.locator(".strip li").count(), 64);
    await tab.click(".strip li:first-child a");
    assert.equal(await tab.textContent("#ranks tr.marked td:first-child"), String(late));
    const select = tab.locator("#ranks .plot.wide select").first();
    assert.equal(await select.evaluate((s) => s.selectedOptions[0].textContent), "others wait for it");
    assert.match(await tab.textContent("#ranks .outliers"), new RegExp(`^One rank stands out .*: rank ${late} `));
    const cells = await tab.locator("#ranks tr.marked td").allTextContents(),
      r = report.ranks[late];
    assertShows(cells[6], r.rendezvous.caused_wait_ns / r.steps.count, "others wait for it");
  }));

test("the axis by keys, by typing, by host; another measure", () =>
  withPage(many, { hash: "#/ranks" }, async (tab) => {
    const words = tab.locator("#ranks .plot.wide .note");
    await tab.focus("canvas.ranks");
    await tab.keyboard.press("ArrowRight");
    assert.match(await words.textContent(), /place 2 of 600/);
    await tab.keyboard.press("Home");
    assert.match(await words.textContent(), new RegExp(`^rank ${late} on node0000, place 1 of 600: others wait for it`));
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("#rank-why:not([hidden])");
    assert.match(await tab.textContent("#rank-why"), /GPU: compute/);
    const find = tab.locator("#ranks .plot.wide input");
    await find.fill("node0003");
    assert.match(await words.textContent(), /^8 ranks; Enter/);
    await find.fill("511");
    await find.press("Enter");
    await tab.waitForFunction(() => document.querySelector("#ranks tr.marked td")?.textContent === "511");
    await tab.locator("#ranks .plot.wide select").nth(1).selectOption("by host");
    await tab.locator("#ranks .plot.wide select").nth(0).selectOption("mean step");
    await tab.focus("canvas.ranks");
    await tab.keyboard.press("Home");
    assert.match(await words.textContent(), /^rank 0 on node0000, place 1 of 600: mean step/);
  }));

test("a rank of which the page holds a line is said to be one", () =>
  withPage(many, {}, async (tab) => {
    await tab.fill("#rank", "411");
    await tab.press("#rank", "Enter");
    await visit(tab, "kernels");
    assert.match(await tab.textContent("#kernels"), /Of rank 411 .* holds only what compares ranks/);
    assert.match(await tab.textContent("#kernels code"), /rank411\.json --html/);
  }));

test("the word before the choice of a rank stands on its line", () =>
  withPage(job, {}, async (tab) => {
    const [word, choice] = await tab.evaluate(() =>
      ["header .pick label", "#rank"].map((s) => {
        const box = document.querySelector(s).getBoundingClientRect();
        return (box.top + box.bottom) / 2;
      }),
    );
    assert.ok(Math.abs(word - choice) < 4, `${word} and ${choice}`);
  }));
