// SPDX-License-Identifier: Apache-2.0
// Every view of every trace opens from a file: nothing fails, nothing is asked of a network, nothing is empty.

import assert from "node:assert/strict";
import { test } from "node:test";
import { viewsOf, visit, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { examples, makePage, noReal, real } from "./program.mjs";

const all = { ...examples, ...real };

// What a person would take for a fault of the page; a kernel may have such a word inside of its name.
const broken = /(?<![\w:.])(undefined|NaN|Infinity|\[object \w+\]|null)(?![\w:.])/;

async function readView(tab, id) {
  await visit(tab, id);
  const seen = await tab.evaluate(
    (wanted) => ({
      visible: [...document.querySelectorAll("main > section.view")].filter((s) => !s.hidden).map((s) => s.id),
      current: [...document.querySelectorAll("#nav a[aria-current]")].map((a) => a.getAttribute("href")),
      head: document.querySelector(`#${wanted} h2`).innerText,
      text: document.getElementById(wanted).innerText,
      height: document.getElementById(wanted).getBoundingClientRect().height,
      title: document.title,
    }),
    id,
  );
  assert.deepEqual(seen.visible, [id]);
  assert.deepEqual(seen.current, [`#/${id}`]);
  assert.ok(seen.text.replace(seen.head, "").trim().length > 20, `${id} is empty: “${seen.text}”`);
  assert.ok(seen.height > 60, `${id} is ${seen.height} pixels high`);
  assert.doesNotMatch(seen.text, broken, id);
  assert.match(seen.title, /\S+ · .+ · holdup$/);
}

// Colours on a canvas: one that was never painted has a single one.
const colorsOf = (tab, selector) =>
  tab.$eval(selector, (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height),
      seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });

const pages = Object.entries(all).map(([name, { path }]) => [name, () => makePage(path)]);

for (const [name, page] of [...pages, ["a made job", () => makePage(...smallJob())]]) {
  test(`every view: ${name}`, async () => {
    await withPage(page(), {}, async (tab) => {
      const ids = await viewsOf(tab);
      assert.ok(ids.length >= 13, ids.join());
      for (const id of ids) await readView(tab, id);
      await visit(tab, "timeline");
      assert.match(await tab.innerText("#timeline p[role=status]"), /^[\d,]+ slices/);
      await tab.waitForTimeout(100);
      assert.ok((await colorsOf(tab, "canvas.timeline")) > 4, "the timeline is blank");
      assert.ok((await colorsOf(tab, "canvas.map")) > 2, "the map is blank");
      await tab.goBack(); // an address of before
      await tab.waitForSelector("#timeline[hidden]", { state: "attached" });
      await visit(tab, "overview");
    });
  });
}

test("real traces are there", { skip: noReal }, () => assert.equal(Object.keys(real).length, 5));

test("addresses: without a slash, of a finding, of nothing", async () => {
  const page = makePage(examples["two ranks without a GPU"].path);
  for (const [hash, id] of [
    ["#kernels", "kernels"],
    ["#/kernels", "kernels"],
    ["#/nothing-of-the-kind", "overview"],
    ["#/finding-data-loading", "findings"],
    ["", "overview"],
  ])
    await withPage(page, { hash }, async (tab) => {
      assert.deepEqual(await tab.$$eval("main > section.view:not([hidden])", (s) => s.map((x) => x.id)), [id], hash);
    });
});
