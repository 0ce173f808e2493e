// SPDX-License-Identifier: Apache-2.0
// The first screen is a door: everything on it leads to what proves it, in few clicks, and the place is marked there.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { dataTable, rowsOf, visit, withPage } from "./browser.mjs";
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
// Waits: what scrolls does so after the click.
const inSight = (tab, selector) =>
  tab
    .waitForFunction(
      (of) => {
        const box = document.querySelector(of).getBoundingClientRect();
        return box.width > 0 && box.bottom > 0 && box.top < innerHeight;
      },
      selector,
      { timeout: 5000 },
    )
    .then(
      () => true,
      () => false,
    );

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

// A place is reached by the mouse; or by keys alone: Tab until it has the focus, from where the focus is, then Enter.
const ways = {
  mouse: (tab, selector) => tab.locator(selector).first().click(),
  keys: async (tab, selector) => {
    for (let i = 0; i < 150; i++) {
      await tab.keyboard.press("Tab");
      if (await tab.evaluate((s) => document.activeElement === document.querySelector(s), selector)) return tab.keyboard.press("Enter");
    }
    throw new Error(`150 times Tab do not lead to ${selector}`);
  },
};

for (const [way, go] of Object.entries(ways)) {
  test(`verdict → the slice that proves it: one click, by ${way}`, () =>
    withPage(loader.page, {}, async (tab) => {
      const proof = proofOf(loader.page, loader.shown, loader.report.findings[0].id);
      await go(tab, ".verdict a");
      await tab.waitForSelector("#timeline .info h3");
      assert.equal(await tab.textContent("#timeline .info h3"), proof.name);
      await tab.waitForFunction((slice) => location.hash.includes(`slice=${slice}`), proof.slice);
    }));

  test(`slowest rank → why: two clicks, by ${way}`, () =>
    withPage(loader.page, {}, async (tab) => {
      const worst = loader.report.stragglers[0];
      assert.match(await tab.textContent(".strip li:first-child a"), new RegExp(`^rank ${worst.rank}: `));
      assert.equal(await tab.locator(".strip li").count(), loader.report.ranks.length);
      await go(tab, ".strip li:first-child a");
      await tab.waitForSelector("#rank-why:not([hidden])");
      assert.match(await tab.textContent("#rank-why"), /waits .* in a step for it .* Why: .*data loader/);
      assert.equal(await tab.textContent("#ranks tr.marked td:first-child"), String(worst.rank));
      assert.equal(await tab.evaluate(() => document.activeElement.className), "marked");
      if (way === "keys") await tab.focus("canvas.ranks"); // what says why stands before the table
      await go(tab, "#rank-why a");
      await tab.waitForSelector("#timeline .info h3");
      assert.match(await tab.textContent("#timeline .info h3"), /DataLoader/);
    }));

  test(`kernel → operator → source line: two clicks, by ${way}`, () =>
    withPage(framed, {}, async (tab) => {
      const kernel = '#overview td a[href^="#/kernels"]',
        name = await tab.locator(kernel).first().textContent();
      await go(tab, kernel);
      await tab.waitForSelector("#kernels tr.marked");
      assert.ok((await tab.textContent("#kernels tr.marked td.t")).includes(name));
      await go(tab, "#kernels tr.child a");
      await tab.waitForSelector("#operators tr.marked");
      const kernels = await tab.locator("#operators tr.child").allTextContents();
      assert.ok(
        kernels.some((k) => k.includes(name)),
        `${name} in ${kernels}`,
      );
      assert.ok(await inSight(tab, "#operators tr.marked"));
      assert.match(await tab.textContent("#operators tr.child .source"), /train\.py/);
    }));

  test(`peak memory → what holds it: one click; → its call chain: two, by ${way}`, () =>
    withPage(framed, {}, async (tab) => {
      await go(tab, '.tile[data-of="peak"] a');
      await tab.waitForSelector("#memory .marked-box canvas.flame");
      await tab.waitForFunction(() => document.activeElement.classList.contains("marked-box"));
      assert.ok(await inSight(tab, "#memory .marked-box"));
      if (way === "keys") {
        await go(tab, "#memory .memory-range canvas.flame");
        await tab.keyboard.press("ArrowDown");
      } else await tab.locator("#memory .memory-range canvas.flame").click({ position: { x: 40, y: 30 } });
      assert.match(await tab.textContent("#memory .memory-range .mono"), /\S+: [\d.]+ MB/);
    }));
}

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
    assert.match(await said(), /^[A-Z].*\.$/);
    assert.doesNotMatch(await said(), /[a-z]_[a-z]|\bnull\b/);
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

test("help and menus of columns speak of headings, and causes in words: no name of JSON, no null", async () => {
  const keys = /\b[a-z]+_[a-z_]+\b|\bnull\b/;
  for (const page of [loader.page, job])
    for (const v of jsonBlock(page, "data-words").views)
      for (const c of [...v.facts, ...v.tables.flatMap((t) => t.columns)]) {
        assert.doesNotMatch(c.help.replace(/\b(empty_cache|expandable_segments)\b/g, ""), keys, `${v.word} ${c.key}`);
        assert.doesNotMatch(c.name ?? c.head, keys, `${v.word} ${c.key}`);
        assert.ok(c.name || c.head, `${v.word} ${c.key} has no name`);
      }
  const { columns } = jsonBlock(job, "data-words").views.find((v) => v.word === "idle").tables.find((t) => t.key === "streams"),
    words = Object.fromEntries(columns.map((c) => [c.key, c]));
  assert.equal(words.host_wait_pct.help, "“host wait” as a share of “idle”.");
  assert.equal(words.host_wait_pct.name, "host wait %");
  await withPage(job, { hash: "#/host" }, async (tab) => {
    const gaps = dataTable(tab, "host", "Longest gaps"),
      heads = await gaps.locator("thead button").evaluateAll((all) => all.map((b) => b.dataset.key)),
      shown = jsonBlock(job, "data-report").ranks[jsonBlock(job, "data-words").rank_index].idle.gaps;
    const causes = (await rowsOf(gaps)).map((r) => r[heads.indexOf("cause")]);
    assert.ok(shown.some((g) => g.cause === "data_loader"));
    shown.forEach((g, i) => g.cause === "data_loader" && assert.equal(causes[i], "host: data loader"));
    for (const cause of causes) assert.doesNotMatch(cause, keys);
    await gaps.locator("input[type=search]").fill("cause ~ 'data loader'");
    assert.equal((await rowsOf(gaps)).length, shown.filter((g) => g.cause === "data_loader").length);
    for (const title of await tab.locator("[title]").evaluateAll((all) => all.map((e) => [e.closest("dt, th, label") && e.title, e.textContent])))
      if (title[0]) assert.doesNotMatch(title[0].replace(/\b(empty_cache|expandable_segments)\b/g, ""), keys, title[1]);
  });
});

// Of all numbers with units that are seen, those whose line breaks inside.
const brokenNumbers = (tab) =>
  tab.evaluate(() => {
    const found = [],
      walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT),
      range = document.createRange();
    let seen = 0;
    while (walk.nextNode()) {
      const node = walk.currentNode;
      if (!node.parentElement.checkVisibility() || node.parentElement.closest("svg, code, pre")) continue;
      for (const { 0: text, index } of node.data.matchAll(/[−+]?\d[\d.,]* (?:[nµm]?s|[kMGTP]?B|%)(?![\p{L}\d])/gu)) {
        range.setStart(node, index);
        range.setEnd(node, index + text.length);
        seen++;
        if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) found.push(text);
      }
    }
    return { found, seen };
  });

test("no line breaks between a number and its unit, at any width", async () => {
  for (const options of [{}, { javaScriptEnabled: false }])
    for (const page of [loader.page, job])
      await withPage(page, { ...options, viewport: { width: 390, height: 844 } }, async (tab) => {
        let all = 0;
        for (const id of options.javaScriptEnabled === false ? [""] : ["overview", "findings", "ranks"]) {
          if (id) await visit(tab, id);
          for (let width = 330; width <= 500; width += 17) {
            await tab.setViewportSize({ width, height: 844 });
            const { found, seen } = await brokenNumbers(tab);
            assert.deepEqual(found, [], `${id} at ${width}`);
            all += seen;
          }
        }
        assert.ok(all > 200, `${all} numbers`);
      });
});

test("a table that goes on beyond its box shows it by a shadow, until its end is in sight", async () => {
  for (const [width, colorScheme] of [
    [1024, "light"],
    [390, "dark"],
  ])
    await withPage(job, { hash: "#/kernels", colorScheme, viewport: { width, height: 900 } }, async (tab) => {
      const box = dataTable(tab, "kernels", "Kernels").locator(".scroll");
      await dataTable(tab, "kernels", "Kernels").locator("button", { hasText: "all columns" }).click();
      await box.scrollIntoViewIfNeeded();
      // how far the brightness of the last pixels rises or falls all the way, in a line of a picture: what no letter does
      const edge = async () => {
        const picture = (await box.screenshot({ animations: "disabled" })).toString("base64");
        return tab.evaluate(async (data) => {
          const image = new Image();
          image.src = `data:image/png;base64,${data}`;
          await image.decode();
          const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height }),
            c = canvas.getContext("2d");
          c.drawImage(image, 0, 0);
          const { data: line } = c.getImageData(0, image.height - 34, image.width, 1),
            steps = [2, 5, 8, 11, 14].map((x) => line[4 * (image.width - x)]).map((x, i, all) => (i ? x - all[i - 1] : 0)).slice(1);
          return steps.every((x) => x > 0) || steps.every((x) => x < 0) ? Math.abs(steps.reduce((a, b) => a + b)) : 0;
        }, picture);
      };
      assert.ok(await box.evaluate((e) => e.scrollWidth > e.clientWidth + 20), `at ${width} the table fits`);
      assert.ok((await edge()) > 8, `at ${width} nothing says that there is more`);
      await box.evaluate((e) => (e.scrollLeft = e.scrollWidth));
      assert.equal(await edge(), 0, `at ${width} the end looks like more`);
    });
});
