// SPDX-License-Identifier: Apache-2.0
// What a person does to the tables: sort, search, copy, open; and to the page: another rank, another theme.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertShows, copyCsv, dataTable, rowsOf, visit, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { examples, jsonBlock, makePage, real, runJson } from "./program.mjs";

const job = smallJob(),
  page = makePage(...job),
  report = runJson(...job);
const shown = jsonBlock(page, "data-words").rank_index,
  rank = report.ranks[shown];
const nameOf = (row, at) => row[at].replace(/^[▸▾]/, "");

async function keysOf(table) {
  return table.locator("thead button").evaluateAll((all) => all.map((b) => b.dataset.key));
}

// Equal values keep the order of the report.
function sorted(rows, key, isUp) {
  const sign = isUp ? 1 : -1;
  return rows
    .map((row, i) => [row, i])
    .sort(([a, i], [b, k]) => (a[key] < b[key] ? -sign : a[key] > b[key] ? sign : i - k))
    .map(([row]) => row);
}

test("a table sorts by numbers and by names, both ways", async () => {
  const { operators } = rank;
  assert.ok(operators.length > 60, "more rows than are drawn at once");
  await withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators"),
      keys = await keysOf(table),
      at = keys.indexOf("name");
    const expectOrder = async (key, isUp, words) => {
      const rows = await rowsOf(table),
        expected = sorted(operators, key, isUp);
      assert.ok(rows.length >= 20);
      assert.deepEqual(
        rows.map((r) => nameOf(r, at)),
        expected.slice(0, rows.length).map((o) => o.name),
      );
      assertShows(rows[0][keys.indexOf(key)].replace(/^[▸▾]/, ""), expected[0][key], key);
      const heads = await table
        .locator("th[aria-sort]")
        .evaluateAll((all) => all.map((h) => [h.querySelector("button").dataset.key, h.getAttribute("aria-sort")]));
      assert.deepEqual(heads, [[key, words]]);
    };
    const click = (key) => table.locator(`thead button[data-key="${key}"]`).click();
    for (const key of ["calls", "host_self_ns", "device_total_ns"]) {
      await click(key);
      await expectOrder(key, false, "descending");
      await click(key);
      await expectOrder(key, true, "ascending");
    }
    await click("name");
    await expectOrder("name", true, "ascending");
    await click("name");
    await expectOrder("name", false, "descending");
    assert.equal(await tab.evaluate(() => document.activeElement.dataset.key), "name", "the focus stays on the head");

    // the end of the list is drawn when it comes into sight
    await table.locator(".scroll").evaluate((box) => (box.scrollTop = box.scrollHeight));
    await tab.waitForTimeout(100);
    const last = (await rowsOf(table)).pop();
    assert.equal(nameOf(last, at), sorted(operators, "name", false).pop().name);
  });
});

test("a search leaves what matches, and CSV is what is left", async () => {
  const { operators } = rank,
    wanted = operators.filter((o) => o.name.toLowerCase().includes("inner_1"));
  assert.ok(wanted.length > 1 && wanted.length < operators.length);
  await withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators"),
      find = table.locator("input[type=search]"),
      status = table.locator("[role=status]");
    const all = await copyCsv(tab, table);
    assert.equal(all.length, operators.length);
    for (const key of Object.keys(all[0]))
      assert.deepEqual(
        all.map((r) => r[key]),
        operators.map((o) => (o[key] === null || o[key] === undefined ? "" : String(o[key]))),
        key,
      );
    assert.ok(Object.keys(all[0]).length >= 10);

    await find.fill("INNER_1");
    assert.equal(await status.textContent(), `${wanted.length} of ${operators.length} rows`);
    assert.deepEqual(
      (await copyCsv(tab, table)).map((r) => r.name),
      wanted.map((o) => o.name),
    );
    await find.fill("nobody has this name");
    assert.match((await rowsOf(table))[0][0], /nothing matches “nobody has this name”/);
    await find.fill("");
    assert.equal(await status.textContent(), `${operators.length} rows`);
  });
});

test("all columns, and back", async () => {
  await withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators"),
      button = table.locator("button", { hasText: "all columns" });
    const few = await keysOf(table),
      asWritten = jsonBlock(page, "data-words").views.find((v) => v.word === "ops").tables[0].columns,
      whole = [asWritten.find((c) => c.key === "name"), ...asWritten.filter((c) => c.key !== "name")]; // names stand first
    assert.deepEqual(
      few,
      whole.filter((c) => c.shown).map((c) => c.key),
    );
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    assert.deepEqual(
      await keysOf(table),
      whole.map((c) => c.key),
    );
    assert.equal((await rowsOf(table))[0].length, whole.length);
    await button.click();
    assert.deepEqual(await keysOf(table), few);
  });
});

test("columns one by one, by keys, and kept in the address", async () => {
  await withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators"),
      menu = table.locator(".pick"),
      button = table.locator("button", { hasText: "columns ▾" }),
      few = await keysOf(table),
      all = jsonBlock(page, "data-words").views.find((v) => v.word === "ops").tables[0].columns;
    const hidden = all.find((c) => !c.shown),
      boxOf = (c) => menu.locator("label", { hasText: new RegExp(`^ ${c.name || c.head}$`) }).locator("input");
    await button.focus();
    await tab.keyboard.press("Enter");
    assert.equal(await button.getAttribute("aria-expanded"), "true");
    assert.equal(await menu.locator("input").count(), all.length);
    assert.equal(await menu.locator("input:checked").count(), few.length);
    await menu.locator("input").first().focus();
    await tab.keyboard.press("Space"); // the first box is the name's
    assert.deepEqual(await keysOf(table), few.slice(1));
    await boxOf(hidden).click();
    const now = await keysOf(table);
    assert.ok(now.includes(hidden.key) && !now.includes("name"));
    assert.match(decodeURIComponent(await tab.evaluate(() => location.hash)), new RegExp(`ops\\.columns=${now.join()}`));
    await tab.keyboard.press("Escape");
    assert.ok(await menu.isHidden());
    assert.equal(await tab.evaluate(() => document.activeElement.textContent), "columns ▾");

    const { hash } = new URL(tab.url());
    await withPage(page, { hash }, async (other) => {
      assert.deepEqual(await keysOf(dataTable(other, "operators", "Operators")), now, "a link shows the same columns");
    });
    await withPage(page, { hash: "#/operators?ops.columns=nobody" }, async (other) => {
      assert.deepEqual(await keysOf(dataTable(other, "operators", "Operators")), few, "where there is no such column, the usual ones");
    });
    // the last one stays
    await button.click();
    for (const key of now) await boxOf(all.find((c) => c.key === key)).click();
    assert.equal((await keysOf(table)).length, 1);
    assert.equal(await menu.locator("input:checked").count(), 1);
  });
});

test("an operator opens to the kernels that it launched", async () => {
  await withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators"),
      at = (await keysOf(table)).indexOf("name");
    // aten::inner_3 launches gemm_kernel_3 and nothing else
    const row = table
        .locator("tbody tr", { has: tab.locator(".opener") })
        .filter({ hasText: /inner_\d+/ })
        .first(),
      opener = row.locator(".opener");
    const name = nameOf(await row.locator("td").evaluateAll((cells) => cells.map((c) => c.textContent)), at);
    assert.equal(await opener.getAttribute("aria-expanded"), "false");
    await opener.click();
    const children = await table
      .locator("tr.child")
      .evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
    assert.ok(children.length >= 1, name);
    // by the name that the report gives it for people
    const number = /_(\d+)$/.exec(name)[1],
      kernel = rank.kernels.find((k) => k.name.includes(`gemm_kernel_${number}<`));
    for (const child of children) assert.equal(child[at], kernel.short_name);
    assert.equal(await opener.getAttribute("aria-expanded"), "true");
    await opener.click();
    assert.equal(await table.locator("tr.child").count(), 0);
  });
});

test("a step and an operator lead to the timeline", async () => {
  await withPage(page, { hash: "#/steps" }, async (tab) => {
    await dataTable(tab, "steps", "Steps").locator("tbody a").nth(1).click();
    await tab.waitForSelector("#timeline[data-ready]");
    await tab.waitForTimeout(400);
    const query = new URLSearchParams((await tab.evaluate(() => location.hash)).split("?")[1]);
    const step = rank.steps.list[1],
      length = Number(query.get("to")) - Number(query.get("from"));
    assert.ok(length >= step.duration_ns && length < 1.2 * step.duration_ns, `${length} ns for a step of ${step.duration_ns}`);
    await visit(tab, "kernels");
    const link = dataTable(tab, "kernels", "Kernels").locator("tbody a").first(),
      name = await link.getAttribute("title");
    assert.equal(await link.textContent(), rank.kernels.find((k) => k.name === name).short_name);
    await link.click();
    await tab.waitForSelector("#timeline .info h3");
    assert.equal(await tab.textContent("#timeline .info h3"), name);
    assert.equal(await tab.textContent("#timeline .tools .note"), `${rank.kernels.find((k) => k.name === name).calls} matches`);
  });
});

const many = real["8 ranks"]
  ? { words: [real["8 ranks"].path], name: "8 ranks" }
  : { words: [examples["two ranks without a GPU"].path], name: "two ranks" };

test(`another rank is shown everywhere: ${many.name}`, async () => {
  const pages = makePage(...many.words),
    { ranks } = runJson(...many.words);
  await withPage(pages, {}, async (tab) => {
    assert.deepEqual(
      await tab.$$eval("#rank option", (all) => all.map((o) => Number(/^rank (\d+)/.exec(o.textContent)[1]))),
      ranks.map((r) => r.rank),
    );
    assert.equal(Number(await tab.inputValue("#rank")), jsonBlock(pages, "data-words").rank_index);
    for (const i of [0, ranks.length - 1]) {
      await visit(tab, "operators");
      await tab.selectOption("#rank", String(i));
      const table = dataTable(tab, "operators", "Operators"),
        at = (await keysOf(table)).indexOf("name"),
        time = (await keysOf(table)).indexOf("host_self_ns");
      const first = (await rowsOf(table))[0],
        expected = ranks[i].operators[0];
      assert.equal(nameOf(first, at), expected.name);
      assertShows(first[time], expected.host_self_ns, "host_self_ns");
      await visit(tab, "timeline");
      await tab.waitForTimeout(400);
      assert.equal(new URLSearchParams((await tab.evaluate(() => location.hash)).split("?")[1]).get("r"), String(i));
    }
    // from the timeline itself
    await tab.selectOption("#rank", "1");
    await tab.waitForFunction(() => /[?&]r=1(&|$)/.test(location.hash));
    await tab.waitForTimeout(400);
    assert.match(await tab.innerText("#timeline p[role=status]"), new RegExp(`^${jsonCount(pages, 1)} slices`));
  });
});

const jsonCount = (p, rankIndex) =>
  Number(new RegExp(`data-rank="${rankIndex}" data-bytes="\\d+" data-slices="(\\d+)"`).exec(p.html)[1]).toLocaleString("en");

test("the theme: of the system, light, dark; kept for the next time", async () => {
  const look = (tab) =>
    tab.evaluate(() => {
      const style = getComputedStyle(document.body),
        canvas = document.querySelector("canvas.timeline");
      return {
        back: style.backgroundColor,
        text: style.color,
        label: document.getElementById("theme").textContent,
        corner: canvas?.width
          ? [...canvas.getContext("2d").getImageData(2, canvas.height - 3, 1, 1).data].slice(0, 3).join()
          : null,
      };
    });
  const white = "rgb(255, 255, 255)",
    dark = "rgb(18, 22, 27)";
  await withPage(page, { colorScheme: "light", hash: "#/timeline" }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    const settle = () => tab.waitForTimeout(150);
    await settle();
    assert.deepEqual(await look(tab), { back: white, text: "rgb(27, 31, 36)", label: "theme: system", corner: "255,255,255" });
    await tab.emulateMedia({ colorScheme: "dark" });
    await settle();
    assert.deepEqual(await look(tab), { back: dark, text: "rgb(230, 237, 243)", label: "theme: system", corner: "18,22,27" });
    await tab.click("#theme");
    await settle();
    assert.deepEqual(await look(tab), { back: white, text: "rgb(27, 31, 36)", label: "theme: light", corner: "255,255,255" });
    await tab.emulateMedia({ colorScheme: "light" });
    await tab.click("#theme");
    await settle();
    assert.deepEqual(await look(tab), { back: dark, text: "rgb(230, 237, 243)", label: "theme: dark", corner: "18,22,27" });
    await tab.reload();
    await tab.waitForSelector("#timeline[data-ready]");
    await settle();
    assert.deepEqual(await look(tab), { back: dark, text: "rgb(230, 237, 243)", label: "theme: dark", corner: "18,22,27" });
    await tab.click("#theme");
    await settle();
    assert.equal((await look(tab)).label, "theme: system");
  });
});

test("a fix is copied from its card", async () => {
  const own = makePage(examples["two ranks without a GPU"].path),
    { findings } = runJson(examples["two ranks without a GPU"].path);
  await withPage(own, { hash: "#/findings" }, async (tab) => {
    await tab.locator("article.finding .copy").first().click();
    await tab.waitForFunction(() => window.copied !== undefined);
    assert.equal(await tab.evaluate(() => window.copied), findings[0].fix);
    await tab.waitForFunction(() => document.querySelector(".finding .copy").textContent === "copied");
  });
});
