// SPDX-License-Identifier: Apache-2.0
// The page in Firefox: what matters most of it works there as in Chromium.  Playwright speaks WebDriver BiDi with Debian's Firefox.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { firefox } from "playwright-core";
import { copyCsv, dataTable, viewsOf, visit, withPage } from "./browser.mjs";
import { makeTrace, smallJob } from "./make.mjs";
import { examples, folder, jsonBlock, makePage, runJson } from "./program.mjs";

const executablePath = process.env.FIREFOX ?? "/usr/bin/firefox-esr",
  skip = existsSync(executablePath) ? false : `${executablePath} is not there (scripts/setup firefox)`;
if (skip) console.log(`SKIPPED: the page in Firefox: ${skip}`);

const browser = skip ? null : await firefox.launch({ channel: "moz-firefox", executablePath });
after(() => browser?.close());

const inFirefox = (page, options, use) => withPage(page, { browser, ...options }, use),
  loader = examples["two ranks without a GPU"].path;

test("the verdict is seen, and each view opens", { skip }, async () => {
  const page = makePage(...smallJob()),
    report = runJson(...smallJob());
  await inFirefox(page, {}, async (tab) => {
    assert.ok(await tab.locator(".verdict").isVisible());
    assert.equal(await tab.textContent(".verdict"), report.verdict.text);
    const views = await viewsOf(tab);
    assert.ok(views.length >= 14, views.join());
    for (const id of views) {
      await visit(tab, id);
      assert.ok((await tab.innerText(`#${id}`)).split("\n").filter(Boolean).length >= 2, `${id} is empty`);
      assert.equal(await tab.locator("main [role=alert]").count(), 0, id);
    }
  });
});

// A canvas that shows nothing has one colour.
const colours = (tab) =>
  tab.locator("canvas.timeline").evaluate((c) => {
    const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height),
      seen = new Set();
    for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });

test("the verdict leads to the marked slice in the timeline, which is drawn and answers", { skip }, async () => {
  const page = makePage(loader),
    [finding] = runJson(loader).findings;
  await inFirefox(page, {}, async (tab) => {
    await tab.click(".verdict a");
    await tab.waitForSelector("#timeline .info h3");
    assert.match(await tab.textContent("#timeline .info h3"), /^enumerate\(DataLoader\)/);
    assert.ok((await tab.textContent("#timeline .proof")).includes(finding.title));
    await tab.waitForFunction(() => /slice=/.test(location.hash));
    assert.ok((await colours(tab)) > 10, "tracks, slices and words");
    const before = await tab.evaluate(() => location.hash);
    await tab.keyboard.press("ArrowDown");
    await tab.waitForFunction((was) => location.hash !== was, before);
    assert.notEqual(await tab.textContent("#timeline .info h3"), "");
  });
});

test("a table sorts and filters", { skip }, async () => {
  const page = makePage(...smallJob()),
    { operators } = runJson(...smallJob()).ranks[jsonBlock(page, "data-words").rank_index];
  await inFirefox(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators");
    await table.locator('thead button[data-key="calls"]').click();
    const calls = (await copyCsv(tab, table)).map((r) => Number(r.calls));
    assert.equal(calls.length, operators.length);
    assert.deepEqual(
      calls,
      operators.map((o) => o.calls).sort((a, b) => b - a),
    );
    await table.locator("input[type=search]").fill("name ~ inner_1 and calls > 2");
    const left = (await copyCsv(tab, table)).map((r) => r.name).sort();
    const wanted = operators.filter((o) => o.name.includes("inner_1") && o.calls > 2).map((o) => o.name);
    assert.ok(wanted.length > 0 && wanted.length < operators.length);
    assert.deepEqual(left, wanted.sort());
  });
});

test("the theme changes, and the rank", { skip }, async () => {
  await inFirefox(makePage(loader), { colorScheme: "light" }, async (tab) => {
    const back = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor),
      seen = {};
    for (let i = 0; i < 3; i++) {
      await tab.click("#theme");
      seen[await tab.textContent("#theme")] = await back();
    }
    assert.deepEqual(seen, {
      "theme: light": "rgb(255, 255, 255)",
      "theme: dark": "rgb(18, 22, 27)",
      "theme: system": "rgb(255, 255, 255)",
    });
    await visit(tab, "steps");
    const scopes = [];
    for (const rank of ["0", "1"]) {
      await tab.selectOption("#rank", rank);
      scopes.push(await tab.textContent("#steps > .scope"));
    }
    assert.match(scopes.join(), /^rank 0.*,rank 1/);
  });
});

test("names that mean harm stay text", { skip }, async () => {
  const evil = [
    "<img src=x onerror=window.__pwned=1>",
    "</script><script>window.__pwned=1</script>",
    "--><svg onload=window.__pwned=1>",
  ];
  let turn = 0;
  const rename = (name) =>
    /^(ProfilerStep|enumerate)/.test(name) ? name : JSON.stringify(evil[turn++ % evil.length] + name).slice(1, -1);
  const page = makePage(makeTrace(join(folder, "firefox-hostile.json"), { steps: 3, launches: 40, rename }));
  await inFirefox(page, {}, async (tab) => {
    for (const id of await viewsOf(tab)) {
      await visit(tab, id);
      const found = await tab.evaluate(() => [
        String(window.__pwned),
        document.querySelectorAll("img, iframe, object, embed, link, base, form").length,
        document.querySelectorAll("script:not([type])").length,
      ]);
      assert.deepEqual(found, ["undefined", 0, 0], id);
    }
    assert.ok((await tab.textContent("#kernels")).includes(evil[0]), "and are shown as they are written");
  });
});
