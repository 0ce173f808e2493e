// SPDX-License-Identifier: Apache-2.0
// The first screen is a door: everything on it leads to what proves it, in few clicks, and the place is marked there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { visit, withPage } from "./browser.mjs";
import { makeTrace, smallJob } from "./make.mjs";
import { examples, folder, jsonBlock, makePage, root, runJson, timelineOf } from "./program.mjs";

const loader = { path: examples["two ranks without a GPU"].path };
loader.page = makePage(loader.path);
loader.report = runJson(loader.path);
loader.shown = jsonBlock(loader.page, "data-words").rank_index;

const framed = makePage(makeTrace(join(folder, "framed.json"), { frame: "train.py(12): train_step" }));
const job = makePage(...smallJob());

const query = async (tab) => new URLSearchParams((await tab.evaluate(() => location.hash)).split("?")[1]);
const settled = (tab) => tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));

// What of an element can be seen in the window without scrolling.
const inSight = (tab, selector) =>
  tab
    .locator(selector)
    .first()
    .evaluate((e) => {
      const box = e.getBoundingClientRect();
      return box.width > 0 && box.bottom > 0 && box.top < innerHeight;
    });

// The slice that the replay's edit shortens most, as the timeline says it.
function proofOf(page, rank, finding) {
  const t = timelineOf(page, rank),
    proof = t.proofs.find((p) => p.finding === finding);
  const rows = t.rows.map((r, k) => [r, k]).filter(([r]) => t.tracks[r.track].id === proof.track && t.tracks[r.track].scenario === undefined);
  for (const [r, k] of rows)
    for (let i = r.from; i < r.to; i++)
      if (t.start[i] === proof.start && t.dur[i] === proof.dur) return { slice: `${t.start[i]}.${k}`, name: t.labels[t.label[i]] };
  throw new Error(`no slice is the proof of ${finding}`);
}

test("verdict → the slice that proves it: one click", () =>
  withPage(loader.page, {}, async (tab) => {
    const first = loader.report.findings[0],
      proof = proofOf(loader.page, loader.shown, first.id);
    assert.equal(first.id, "data-loading");
    assert.match(proof.name, /^enumerate\(DataLoader\)/);
    await tab.click(".verdict a");
    await tab.waitForSelector("#timeline .info h3");
    await settled(tab);
    assert.equal((await query(tab)).get("slice"), proof.slice);
    assert.equal(await tab.textContent("#timeline .info h3"), proof.name);
    const words = await tab.textContent("#timeline .proof");
    assert.ok(words.includes(first.title), words);
    assert.equal(await tab.evaluate(() => document.activeElement.className), "timeline", "keys go on from there");
    await tab.click("#timeline .proof a");
    assert.ok(await inSight(tab, `#finding-${first.id}`));
  }));

test("the longest loader of the slowest step is the proof: no other slice loses more to the fix", () => {
  const t = timelineOf(loader.page, loader.shown),
    { name } = proofOf(loader.page, loader.shown, "data-loading"),
    [start] = proofOf(loader.page, loader.shown, "data-loading").slice.split(".").map(Number);
  let longest = -1;
  for (let i = 0; i < t.start.length; i++)
    if (
      t.labels[t.label[i]] === name &&
      t.steps.some((s) => s.counts && t.start[i] >= s.start && t.start[i] < s.end) &&
      (longest < 0 || t.dur[i] > t.dur[longest])
    )
      longest = i;
  assert.equal(t.start[longest], start);
});

test("slowest rank → why: two clicks", () =>
  withPage(loader.page, {}, async (tab) => {
    const worst = loader.report.stragglers[0];
    assert.match(await tab.textContent(".strip li:first-child a"), new RegExp(`^rank ${worst.rank}: `));
    assert.equal(await tab.locator(".strip li").count(), loader.report.ranks.length);
    await tab.click(".strip li:first-child a");
    assert.match(await tab.textContent("#rank-why"), /waits .* in a step for it .* Why: .*data loader/);
    assert.equal(await tab.textContent("#ranks tr.marked td:first-child"), String(worst.rank));
    assert.equal(await tab.evaluate(() => document.activeElement.className), "marked");
    await tab.click("#rank-why a");
    await tab.waitForSelector("#timeline .info h3");
    assert.match(await tab.textContent("#timeline .info h3"), /DataLoader/);
  }));

test("kernel → operator → source line: two clicks", () =>
  withPage(framed, {}, async (tab) => {
    const link = tab.locator('#overview td a[data-to^="/kernels"]').first(),
      name = await link.textContent();
    await link.click();
    assert.ok((await tab.textContent("#kernels tr.marked td.t")).includes(name));
    await tab.locator("#kernels tr.child a").first().click();
    const kernels = await tab.locator("#operators tr.child").allTextContents();
    assert.ok(
      kernels.some((k) => k.includes(name)),
      `${name} in ${kernels}`,
    );
    assert.ok(await inSight(tab, "#operators tr.marked"));
    assert.match(await tab.textContent("#operators tr.child .source"), /train\.py/);
  }));

test("peak memory → what holds it: one click", () =>
  withPage(job, {}, async (tab) => {
    await tab.locator(".tile", { hasText: "peak memory" }).locator("a").click();
    await tab.waitForFunction(() => document.activeElement.classList.contains("marked-box"));
    assert.ok(await inSight(tab, "#memory .marked-box"));
  }));

test("everything on the first screen is a link that leads somewhere, and marks it", () =>
  withPage(job, {}, async (tab) => {
    for (const [what, count] of [
      [".verdict a", 1],
      [".tile", await tab.locator(".tile a").count()],
      ["#overview svg.bar rect", await tab.locator("#overview svg.bar a rect").count()],
      ["#overview .key th", await tab.locator("#overview .key th a").count()],
      ["#overview .scroll tbody tr", await tab.locator("#overview .scroll tbody td:first-child a").count()],
      [".strip li", await tab.locator(".strip a").count()],
    ])
      assert.ok(count > 0 && (await tab.locator(what).count()) === count, what);
    const places = await tab.locator("#overview a").evaluateAll((all) => [...new Set(all.map((a) => a.getAttribute("href")))]);
    assert.ok(places.length >= 12, places.join());
    for (const place of places) {
      await tab.evaluate((hash) => (location.hash = hash), place);
      const id = /^#\/?([a-z]+)/.exec(place)[1];
      await tab.waitForSelector(`#${id === "finding" ? "findings" : id}:not([hidden])`);
      if (id === "timeline") {
        await tab.waitForSelector("#timeline[data-ready]");
        await settled(tab);
        assert.equal(await tab.locator("#timeline .info > h3").count(), /proof=/.test(place) ? 1 : 0, place);
      }
      if (/row=/.test(place)) assert.equal(await tab.locator(`#${id} tr.marked`).count(), 1, place);
      await tab.evaluate(() => (location.hash = "#/overview"));
      await tab.waitForSelector("#overview:not([hidden])");
    }
  }));

test("from the verdict to its proof and back by keys alone", () =>
  withPage(loader.page, {}, async (tab) => {
    const at = () => tab.evaluate(() => document.activeElement.closest(".verdict, canvas, .proof")?.className ?? "");
    for (let i = 0; i < 40 && (await at()) !== "verdict"; i++) await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    await tab.waitForSelector("#timeline .info h3");
    assert.equal(await at(), "timeline");
    await tab.keyboard.press("ArrowDown"); // into the slice
    assert.notEqual(await tab.textContent("#timeline .info h3"), "");
    for (let i = 0; i < 40 && (await at()) !== "proof"; i++) await tab.keyboard.press("Shift+Tab");
    await tab.keyboard.press("Enter");
    assert.ok(await inSight(tab, "#finding-data-loading"));
  }));

test("without the script the links of the first screen lead to sections and cards", () =>
  withPage(loader.page, { javaScriptEnabled: false }, async (tab) => {
    const links = await tab.locator("#overview a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    assert.ok(links.length > 10);
    for (const href of links) assert.equal(await tab.locator(href).count(), 1, href);
    assert.equal(links[0], "#finding-data-loading");
  }));

test("the names of kernels are on the first screen", async () => {
  for (const width of [1920, 1440, 1024, 390])
    await withPage(job, { viewport: { width, height: 900 } }, async (tab) => {
      await tab.click('#nav a[href="#/kernels"]');
      const box = await tab
        .locator("#kernels .data")
        .first()
        .locator("tbody td")
        .first()
        .boundingBox();
      assert.ok(box.x >= 0 && box.x + Math.min(box.width, 150) <= width, `at ${width} the name is at ${box.x}`);
      const scroll = tab.locator("#kernels .data .scroll").first();
      await scroll.evaluate((e) => (e.scrollLeft = 400));
      const after = await tab.locator("#kernels .data tbody td").first().boundingBox();
      assert.ok(after.x >= 0 && after.x <= box.x + 1, "it stays when the table is moved");
    });
});

test("heads, badges and empty tabs are explained to the mouse, to keys and to fingers", () =>
  withPage(loader.page, { hasTouch: true }, async (tab) => {
    const said = () => tab.locator("body > .help:not([hidden])").textContent();
    await tab.focus("#overview h2 ~ p.confidence a, .skip");
    for (let i = 0; i < 40 && !(await tab.evaluate(() => document.activeElement.matches(".badge"))); i++) await tab.keyboard.press("Tab");
    assert.match(await said(), /^(high|medium|low): /);
    await tab.keyboard.press("Escape");
    assert.equal(await tab.locator("body > .help:not([hidden])").count(), 0);
    await tab.locator("#overview .badge").tap();
    assert.match(await said(), /^(high|medium|low): /);
    await tab.locator("#overview thead th[title]").first().tap();
    assert.match(await said(), /\.$/);
    const bare = await tab.locator("#nav a.bare").evaluateAll((all) => all.map((a) => [a.textContent, a.title]));
    assert.deepEqual(
      bare.map(([name]) => name),
      ["Kernels", "Copies"],
    );
    for (const [, title] of bare) assert.match(title, /record with /);
    await tab.click('#nav a[href="#/operators"]');
    await tab.locator("#operators thead button").first().focus();
    await tab.keyboard.press("Tab");
    assert.match(await said(), /: .*\.$/);
  }));

test("grades of the self-check and kinds of slices are explained, in the words of docs/words.md and of the column", () =>
  withPage(loader.page, { hasTouch: true }, async (tab) => {
    const said = () => tab.locator("body > .help:not([hidden])").textContent(),
      words = readFileSync(join(root, "docs/words.md"), "utf8");
    await visit(tab, "findings");
    const grade = tab.locator("#findings .note .badge", { hasText: "self-check" });
    await tab.locator("#findings .unmeasured").first().waitFor({ state: "attached" });
    await grade.tap();
    assert.match(await said(), /^green: .*amber: .*red: .*unknown: /);
    await visit(tab, "timeline");
    const kinds = tab.locator("#timeline .legend [title]"),
      shown = await kinds.evaluateAll((all) => all.map((k) => [k.textContent, k.title]));
    assert.ok(shown.length >= 9);
    for (const [kind, title] of shown) assert.ok(words.includes(`| ${kind} | ${title} |`), `${kind}: ${title}`);
    await kinds.first().tap();
    assert.equal(await said(), shown[0][1]);
    await tab.keyboard.press("Escape");
    await kinds.first().focus();
    await tab.keyboard.press("Tab");
    assert.equal(await said(), shown[1][1]);
  }));
