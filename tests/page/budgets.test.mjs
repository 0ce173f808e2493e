// SPDX-License-Identifier: Apache-2.0
// How large and how fast the page of a million slices is.  Times are printed beside their budgets; as machines are shared, a
// test fails only beyond three times the budget.  Sizes do not depend on the machine and have no such slack.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { visit, withPage } from "./browser.mjs";
import { cachedTrace, manyRanks } from "./make.mjs";
import { blocksOf, examples, makePage, shellOf, timelineOf, web } from "./program.mjs";

const slack = 3,
  table = [];

function within(what, measured, budget, unit, isTime = true) {
  table.push([
    what,
    `${measured.toFixed(unit === "MB" ? 2 : 0)} ${unit}`,
    `${budget} ${unit}`,
    measured <= budget ? "" : isTime && measured <= slack * budget ? "over" : "FAILED",
  ]);
  assert.ok(measured <= budget * (isTime ? slack : 1), `${what}: ${measured} ${unit}, the budget is ${budget}`);
}

after(() => {
  const widths = [0, 1, 2].map((k) => Math.max(...table.map((row) => row[k].length)));
  for (const row of [["", "measured", "budget", ""], ...table])
    console.log(
      `budget: ${row[0].padEnd(widths[0])}  ${row[1].padStart(Math.max(widths[1], 8))}  ${row[2].padStart(widths[2])}  ${row[3]}`,
    );
});

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

// 4 slices of a launch and a few of each step.
const million = () => makePage(cachedTrace("million", { steps: 25, launches: 9990 }));

const shell = (page) => Buffer.byteLength(shellOf(page)) / 1000;

// Script, style and markup.  The tables of the markup grow with the names of a trace, so the budget is that of the example.
test("bytes: the page without its data, and a timeline of a million slices", () => {
  const page = million(),
    block = blocksOf(page).find((b) => b.rank === 0);
  assert.ok(block.slices > 990_000 && block.slices < 1_010_000, `${block.slices} slices`);
  within("page of a million slices without its data", shell(page), 250, "kB", false);
  within("timeline of a million slices", block.packedBytes / 1e6, 8, "MB", false);
  within("page of the example without its data", shell(makePage(examples["two ranks without a GPU"].path)), 250, "kB", false);
});

// When the first screen is seen.
const firstPaint = (tab) =>
  tab.evaluate(
    () =>
      new Promise((resolve) => {
        const paint = performance.getEntriesByName("first-contentful-paint")[0];
        if (paint) resolve(paint.startTime);
        new PerformanceObserver((list) =>
          list.getEntriesByName("first-contentful-paint").forEach((e) => resolve(e.startTime)),
        ).observe({ type: "paint", buffered: true });
      }),
  );

async function heapOf(tab) {
  const client = await tab.context().newCDPSession(tab);
  await client.send("HeapProfiler.collectGarbage");
  return tab.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
}

test("a million slices: the verdict, the timeline, movement, memory", async () => {
  const page = million(),
    verdict = [],
    parsed = [],
    interactive = [],
    p95 = [],
    heap = [];
  for (let i = 0; i < 3; i++)
    await withPage(page, {}, async (tab) => {
      verdict.push(await firstPaint(tab));
      parsed.push(await tab.evaluate(() => performance.getEntriesByType("navigation")[0].domInteractive));
      assert.ok(await tab.locator(".verdict").isVisible());

      await tab.evaluate(() =>
        document.querySelector('#nav a[href="#/timeline"]').addEventListener("click", () => performance.mark("asked")),
      );
      await visit(tab, "timeline");
      interactive.push(
        await tab.evaluate(
          () =>
            performance.getEntriesByName("timeline-interactive")[0].startTime -
            performance.getEntriesByName("asked")[0].startTime,
        ),
      );
      assert.match(await tab.innerText("#timeline p[role=status]"), /^(99\d|1,00\d),\d{3} slices/);

      await tab.focus("canvas.timeline");
      await tab.waitForTimeout(300);
      await tab.evaluate(() => performance.clearMeasures("timeline-frame"));
      for (let k = 0; k < 60; k++) {
        await tab.keyboard.press("wwwdddaaasssawsd"[k % 16]);
        await tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
      }
      await tab.waitForTimeout(300);
      const frames = await tab.evaluate(() =>
        performance
          .getEntriesByName("timeline-frame")
          .map((e) => e.duration)
          .sort((a, b) => a - b),
      );
      assert.ok(frames.length >= 50, `${frames.length} frames for 60 keys`);
      p95.push(frames[Math.floor(frames.length * 0.95)]);

      heap.push(await heapOf(tab));
    });
  const all = [
    ["verdict is seen", verdict, 200, "ms"],
    ["timeline answers, from the click", interactive, 1000, "ms"],
    ["frame of zooming and moving, p95", p95, 33, "ms"],
    ["JavaScript heap", heap, 150, "MB"],
  ];
  const failures = [];
  table.push(["all of it is parsed", `${median(parsed).toFixed(0)} ms`, "-", ""]);
  for (const [what, values, budget, unit] of all) {
    try {
      within(what, median(values), budget, unit, unit === "ms");
    } catch (error) {
      failures.push(error.message);
    }
  }
  assert.deepEqual(failures, []);
});

// A line for each; the late one is found on the first screen, by typing its number, and by typing its host.
test("10,000 ranks: the page, its ranks, one by its number", async () => {
  const n = 10_000,
    late = 7,
    page = makePage(manyRanks(n, late));
  within("page of 10,000 ranks", page.html.length / 1e6, 1.2, "MB", false);
  await withPage(page, {}, async (tab) => {
    within("10,000 ranks: verdict is seen", await firstPaint(tab), 300, "ms");
    assert.equal(await tab.locator(".strip li").count(), 64);
    assert.match(await tab.textContent(".strip li:first-child"), new RegExp(`rank ${late}:`));
    const spent = await tab.evaluate(async () => {
      const began = performance.now();
      document.querySelector('#nav a[href="#/ranks"]').click();
      while (!document.querySelector("#ranks .data tbody tr")) await new Promise((resolve) => setTimeout(resolve));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      return performance.now() - began;
    });
    within("10,000 ranks: the view Ranks, from the click", spent, 500, "ms");
    assert.equal(await tab.textContent("#ranks .data tbody tr:not(.gap) td"), String(late));
    await tab.locator("#ranks .plot.wide input").fill("node1249");
    assert.match(await tab.textContent("#ranks .plot.wide .note"), /^8 ranks; Enter/);
    await tab.fill("#rank", String(n - 1));
    await tab.press("#rank", "Enter");
    await visit(tab, "kernels");
    assert.match(await tab.textContent("#kernels"), new RegExp(`Of rank ${n - 1} `));
    within("10,000 ranks: JavaScript heap", await heapOf(tab), 150, "MB", false);
  });
});

test("more than two million slices: the page says which steps it holds, and --full lifts it", async () => {
  const file = cachedTrace("more", { steps: 12, launches: 44_000 });
  const page = makePage(file),
    block = blocksOf(page).find((b) => b.rank === 0),
    t = timelineOf(page, 0);
  assert.ok(block.slices > 500_000 && block.slices <= 2_000_000, `${block.slices} slices`);
  assert.ok(t.of > 2_000_000);
  assert.match(t.left_out, /step/);
  assert.ok(t.windows.length >= 2 && t.windows.length < 12);
  for (const row of t.rows.filter((r) => t.tracks[r.track].scenario === undefined))
    for (let i = row.from; i < row.to; i += 97)
      assert.ok(
        t.windows.some(([from, to]) => t.start[i] < to && t.start[i] + t.dur[i] > from),
        `a slice at ${t.start[i]} lies in no step that the page holds`,
      );
  await withPage(page, { hash: "#/timeline" }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    const words = await tab.innerText("#timeline p[role=status]");
    assert.ok(words.includes(t.left_out) && words.includes("--full"), words);
    assert.ok(words.startsWith(block.slices.toLocaleString("en")));
  });
  const full = makePage(file, "--full"),
    whole = blocksOf(full).find((b) => b.rank === 0);
  assert.equal(whole.slices, t.of);
  const { left_out: left } = web.decodeTimeline(new Uint8Array(whole.bytes));
  assert.equal(left, "");
});
