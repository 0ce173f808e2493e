// SPDX-License-Identifier: Apache-2.0
// The page of `holdup scale`: it fits a phone, and has the colours of the report in both themes.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import test, { after } from "node:test";
import { phone, withPage } from "./browser.mjs";
import { scalingRun } from "./make.mjs";
import { folder, openPage, run } from "./program.mjs";

const base = join(folder, `scale-${process.pid}`);
after(() => rmSync(base, { recursive: true, force: true }));

const file = join(folder, `scale-${process.pid}.html`);
after(() => rmSync(file, { force: true }));
const done = run("scale", "-q", scalingRun(base, 1), scalingRun(base, 2), "--weak", "--html", file);
assert.equal(done.status, 0, done.err);
const page = openPage(file);

const colorOf = (tab, selector, property) =>
  tab.evaluate(([s, p]) => getComputedStyle(document.querySelector(s)).getPropertyValue(p), [selector, property]);

for (const colorScheme of ["light", "dark"])
  test(`on a phone, ${colorScheme}`, async () => {
    await withPage(page, { colorScheme, viewport: phone, wait: false }, async (tab) => {
      assert.deepEqual(await tab.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]), [390, 390]);
      const chart = await tab.locator("svg.scaling").boundingBox();
      assert.ok(chart.x >= 0 && chart.x + chart.width <= 390 && chart.width > 300, JSON.stringify(chart));
      const tall = await tab.evaluate(() => document.querySelector(".scaling text").getBoundingClientRect().height);
      assert.ok(tall >= 10, `text of ${tall} px`);
      assert.equal(await tab.locator("svg.scaling rect").count(), 0, "no ground of its own");
      assert.equal(await colorOf(tab, "header .brand", "display"), "block");
    });
  });

test("colours are those of the report", async () => {
  for (const [colorScheme, text, compute, comm] of [
    ["light", "rgb(27, 31, 36)", "rgb(0, 114, 178)", "rgb(184, 74, 0)"],
    ["dark", null, "rgb(86, 180, 233)", "rgb(240, 128, 60)"],
  ])
    await withPage(page, { colorScheme, wait: false }, async (tab) => {
      if (text) assert.equal(await colorOf(tab, ".scaling text", "fill"), text);
      assert.equal(await colorOf(tab, ".scaling text", "fill"), await colorOf(tab, "body", "color"));
      assert.equal(await colorOf(tab, ".scaling .reached", "stroke"), compute);
      const row = tab.locator("tr", { hasText: "exposed communication" }).filter({ has: tab.locator("svg.swatch") }).first();
      assert.equal(await row.locator("svg.swatch rect").evaluate((e) => getComputedStyle(e).fill), comm);
    });
});
