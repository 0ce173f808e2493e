// SPDX-License-Identifier: Apache-2.0
// Pages whose script does not run: everything that the program wrote is there and whole, of whom it speaks is said, what is
// missing is said, and nothing pretends to work.

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { phone, withPage } from "./browser.mjs";
import { sampledRank, scalingRun, smallJob } from "./make.mjs";
import { examples, folder, jsonBlock, makePage, noReal, openPage, real, root, run, runJson } from "./program.mjs";

const off = { javaScriptEnabled: false };

// What looks broken: boxes and headings with nothing in them, controls that do nothing, links that lead nowhere.
const broken = (tab) =>
  tab.evaluate(() => {
    const found = [],
      seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
    const say = (what, e) => found.push(`${what}: ${e.outerHTML.slice(0, 120)}`);
    for (const e of document.querySelectorAll("button, select, input, textarea, canvas")) say("dead", e);
    for (const e of document.querySelectorAll(
      "main p, main li, main dd, main h2, main h3, main figure, main article, main td.t:first-child",
    ))
      if (seen(e) && !e.textContent.trim() && !e.querySelector("svg")) say("empty", e);
    for (const e of document.querySelectorAll("main table"))
      if (!e.querySelector("tbody tr, .key tr, tr td")) say("without rows", e);
    for (const e of document.querySelectorAll("main h3"))
      if (!e.nextElementSibling || /^(H2|H3)$/.test(e.nextElementSibling.tagName)) say("nothing below", e);
    for (const e of document.querySelectorAll("a"))
      if (!document.getElementById(e.getAttribute("href").slice(1))) say("leads nowhere", e);
    for (const e of document.querySelectorAll("main *"))
      if (e.getBoundingClientRect().right > innerWidth + 1 && seen(e) && !e.closest(".scroll, svg")) say("too wide", e);
    return found.slice(0, 5);
  });

const job = smallJob(),
  gpus = [sampledRank(0, 3, 1980, 500), sampledRank(1, 5, 1320, 690)],
  pages = {
    "two ranks without a GPU": [examples["two ranks without a GPU"].path],
    "two ranks with GPUs and memory": job,
    "GPUs that were sampled": gpus,
    "Python frames": [examples["Python frames"].path],
    ...Object.fromEntries(Object.entries(real).map(([name, { path }]) => [name, [path]])),
  };

for (const [name, words] of Object.entries(pages))
  test(`nothing looks broken: ${name}`, async () => {
    const page = makePage(...words);
    for (const viewport of [{ width: 1440, height: 900 }, phone])
      await withPage(page, { ...off, viewport }, async (tab) => {
        assert.deepEqual(await broken(tab), [], `${viewport.width} pixels`);
        assert.match(await tab.innerText("main > noscript"), /^JavaScript is switched off\./);
        for (const id of ["timeline", "flame", "modules"]) assert.match(await tab.innerText(`#${id}`), /needs? JavaScript/);
      });
  });

test("with the script nothing says that it is off", () =>
  withPage(makePage(...job), {}, async (tab) => {
    assert.doesNotMatch(await tab.innerText("body"), /JavaScript/);
    for (const id of ["timeline", "flame", "modules"]) assert.equal(await tab.locator(`#${id} .needs-script:visible`).count(), 0);
  }));

test("of several ranks each section says of whom it speaks, and each rank is in the table", async () => {
  for (const words of [job, gpus]) {
    const page = makePage(...words),
      report = jsonBlock(page, "data-report"),
      shown = report.ranks[jsonBlock(page, "data-words").rank_index];
    await withPage(page, off, async (tab) => {
      for (const section of await tab.locator("main > section").all()) {
        const id = await section.getAttribute("id"),
          scope = section.locator(":scope > .scope:visible");
        if (["timeline", "flame", "modules", "compare"].includes(id)) {
          assert.equal(await scope.count(), 0, `${id} shows nothing of one rank`);
          continue;
        }
        const said = await scope.innerText();
        if (["overview", "findings", "ranks", "energy", "beside"].includes(id)) assert.match(said, /^whole job/, id);
        else assert.match(said, new RegExp(`^rank ${shown.rank}\\b`), id);
      }
      for (const label of await tab.locator(".tile dt").allInnerTexts()) assert.match(label, new RegExp(`, rank ${shown.rank}$`));
      assert.equal(await tab.locator("#ranks .scroll").first().locator("tbody tr").count(), report.ranks.length);
      assert.match(await tab.innerText("main > noscript"), new RegExp(`of rank ${shown.rank}\\b.*other ranks`));
    });
  }
});

test("GPUs, energy and memory: the first rows of their tables", async () => {
  const report = runJson(...gpus),
    rank = report.ranks[jsonBlock(makePage(...gpus), "data-words").rank_index];
  await withPage(makePage(...gpus), off, async (tab) => {
    const cells = await tab.locator("#gpus tbody tr").first().locator("td").allInnerTexts();
    assert.ok(cells.includes(String(rank.gpus.gpus[0].number)), cells.join());
    assert.ok(
      cells.some((c) => c.includes("H100 <i>")),
      "a name is a text",
    );
    assert.ok((await tab.locator("#energy tbody tr").count()) > 0);
  });
  await withPage(makePage(...job), off, async (tab) => assert.ok((await tab.locator("#memory tbody tr").count()) > 0));
});

test("the page of scale has no script, and is whole", async () => {
  const base = join(folder, `noscript-scale-${process.pid}`),
    file = `${base}.html`;
  after(() => [base, file].forEach((path) => rmSync(path, { recursive: true, force: true })));
  const done = run("scale", "-q", scalingRun(base, 1), scalingRun(base, 2), "--weak", "--html", file);
  assert.equal(done.status, 0, done.err);
  for (const viewport of [{ width: 1440, height: 900 }, phone])
    await withPage(openPage(file), { ...off, viewport }, async (tab) => {
      assert.equal(await tab.locator("script").count(), 0);
      assert.deepEqual(await broken(tab), []);
      assert.equal(await tab.locator("main table").count(), 4);
    });
});

// A snapshot of the allocator, alone and beside a trace.
const snapshot = join(root, "../shared/traces/torch-memory/cs336-silmont/mem_snapshot.pickle");

test("a memory snapshot, alone and beside a trace", { skip: noReal }, async () => {
  for (const words of [[snapshot], [examples["Python frames"].path, snapshot]])
    for (const viewport of [{ width: 1440, height: 900 }, phone])
      await withPage(makePage(...words), { ...off, viewport }, async (tab) => {
        assert.deepEqual(await broken(tab), []);
        const place = words.length > 1 ? "#beside" : "#memory";
        assert.ok((await tab.locator(`${place} tbody tr`).count()) > 3);
      });
});
