// SPDX-License-Identifier: Apache-2.0
// The language of the tables' search fields, its errors, and the address that keeps a table as it is.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { copyCsv, dataTable, rowsOf, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { jsonBlock, makePage, runJson, web } from "./program.mjs";

const columns = [
  { key: "name", head: "kernel", type: "text" },
  { key: "total_ns", head: "total", type: "ns" },
  { key: "calls", head: "calls", type: "count" },
  { key: "size_bytes", head: "moved at most", type: "bytes" },
  { key: "is_communication", head: "comm", type: "bool" },
  { key: "busy_pct", head: "busy %", type: "percent" },
];
const rows = [
  { name: "void gemm<float, 3>(float*)", total_ns: 2.5e6, calls: 10, size_bytes: 4e6, is_communication: false, busy_pct: 50 },
  { name: "ncclAllReduce", total_ns: 900_000, calls: 3, size_bytes: 2 ** 20, is_communication: true, busy_pct: null },
  { name: "Gemm and or not", total_ns: 1e6, calls: 2000, size_bytes: null, is_communication: false, busy_pct: 9.5 },
];
const left = (text) => rows.filter(web.rowFilter(text, columns)).map((r) => rows.indexOf(r));

test("filters leave what they say", () => {
  for (const [text, expected] of [
    ["name ~ gemm and dur > 1ms", [0]],
    ["name ~ gemm and dur >= 1 ms", [0, 2]],
    ["kernel ~ GEMM", [0, 2]],
    ["total<1000000", [1]],
    ["total < 1,000,000ns or calls = 2k", [1, 2]],
    ["not name ~ gemm", [1]],
    ["not (name ~ gemm or comm = yes)", []],
    ["comm != yes and size > 3MB", [0]],
    ["size = 1MiB", [1]],
    ["moved at most >= 1.0 MiB", [0, 1]],
    ["name ~ 'and or'", [2]],
    ['name = "ncclallreduce"', [1]],
    ["name !~ gemm", [1]],
    ["busy > 10%", [0]],
    ["busy <= 10", [2]],
    ["busy != 50", [1, 2]], // what was not measured is not 50, and neither less nor more
    ["calls >= 3 and calls < 100 or name ~ not", [0, 1, 2]],
    ["name ~ nccl or name ~ gemm and dur > 2ms", [0, 1]], // "and" binds closer
    ["(name ~ nccl or name ~ gemm) and dur > 2ms", [0]],
    // no filter: looked for as it stands
    ["gemm<float", [0]],
    ["gemm<float, 3>(float*)", [0]],
    ["NCCL", [1]],
    ["", [0, 1, 2]],
  ])
    assert.deepEqual(left(text), expected, text);
});

test("what is wrong is said, at its place", () => {
  for (const [text, at, words] of [
    ["nam ~ gemm", "nam", /no column “nam” here; did you mean name\?/],
    ["name ~ gemm ad dur > 1ms", "ad", /“and” or “or” is missing before “ad”/],
    ["dur > 3MB", "3MB", /“total” is a time: ns, µs, ms or s, not MB/],
    ["dur > fast", "fast", /needs a time/],
    ["size > 1ms", "1ms", /a size/],
    ["name ~", "", /a value is missing behind “~”/],
    ["(name ~ x or calls > 1", "(", /“\)” is missing/],
    ["name ~ 'x", "'x", /no closing quote/],
    ["name ~ x and", "", /a column is missing before the end/],
    ["comm > yes", "> yes", /yes or no/],
    ["calls > 1 2", "2", /“and” or “or” is missing/],
  ])
    assert.throws(
      () => web.parseFilter(text, columns),
      (e) => {
        assert.match(e.message, words, text);
        assert.equal(text.slice(e.at, e.end), at, text);
        return true;
      },
      text,
    );
});

const job = smallJob(),
  page = makePage(...job),
  rank = runJson(...job).ranks[jsonBlock(page, "data-words").rank_index];

test("a table is filtered, says what is wrong, and its address holds it", async () => {
  const wanted = rank.kernels.filter((k) => k.name.includes("gemm") && k.total_ns > 60_000);
  assert.ok(wanted.length > 0 && wanted.length < rank.kernels.length);
  let hash;
  await withPage(page, { hash: "#/kernels" }, async (tab) => {
    const table = dataTable(tab, "kernels", "Kernels"),
      find = table.locator("input[type=search]");
    assert.match(await find.getAttribute("title"), /name ~ gemm and dur > 1ms/);
    await find.fill("name ~ gemm and total > 60 µs");
    assert.deepEqual(new Set((await copyCsv(tab, table)).map((r) => r.name)), new Set(wanted.map((k) => k.name)));
    await table.locator('thead button[data-key="calls"]').click();
    await table.locator("button", { hasText: "all columns" }).click();
    hash = await tab.evaluate(() => location.hash);
    assert.match(hash, /kernels\.sort=-calls/);
    // while it is wrong, all rows stay
    await find.fill("nam ~ gemm");
    assert.equal(await table.locator(".filter-error mark").textContent(), "nam");
    assert.match(await table.locator(".filter-error").textContent(), /did you mean name/);
    assert.equal(await find.getAttribute("aria-invalid"), "true");
    assert.equal((await copyCsv(tab, table)).length, rank.kernels.length);
    await find.fill("");
    assert.equal(await table.locator(".filter-error").textContent(), "");
  });
  await withPage(page, { hash }, async (tab) => {
    const table = dataTable(tab, "kernels", "Kernels"),
      got = await copyCsv(tab, table);
    const sorted = [...wanted].sort((a, b) => b.calls - a.calls).map((k) => k.calls);
    assert.deepEqual(
      got.map((r) => Number(r.calls)),
      sorted,
    );
    assert.equal(await table.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
    assert.equal(await table.locator("button", { hasText: "all columns" }).getAttribute("aria-pressed"), "true");
  });
});

test("what is shown is kept as a file, of CSV or JSON", () =>
  withPage(page, { hash: "#/kernels" }, async (tab) => {
    const table = dataTable(tab, "kernels", "Kernels");
    await table.locator("input[type=search]").fill("gemm_kernel_1");
    const wanted = rank.kernels.filter((k) => k.name.includes("gemm_kernel_1"));
    for (const [label, check] of [
      ["JSON", (text) => JSON.parse(text).map((r) => [r.name, r.total_ns])],
      ["CSV", (text) => text.trim().split("\n").slice(1).map((line) => [line.includes("gemm_kernel_1")])],
    ]) {
      const coming = tab.waitForEvent("download");
      await table.locator("button", { hasText: `↓ ${label}` }).click();
      const file = await coming;
      assert.equal(file.suggestedFilename(), `kernels.${label.toLowerCase()}`);
      const got = check(readFileSync(await file.path(), "utf8"));
      if (label === "JSON")
        assert.deepEqual(
          got,
          wanted.map((k) => [k.name, k.total_ns]),
        );
      else assert.equal(got.length, wanted.length);
    }
    assert.equal((await rowsOf(table)).length, wanted.length);
  }));

test("the call tree opens, closes, and shows what matches with all around it", () =>
  withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Call tree"),
      { nodes } = rank.call_tree;
    assert.ok(nodes.some((n) => n.depth > 0));
    const all = (await rowsOf(table)).length;
    await table.locator("button", { hasText: "open or close all" }).click();
    const roots = nodes.filter((n) => n.depth === 0);
    assert.deepEqual(
      (await rowsOf(table)).map((r) => r[0].replace(/^[▸▾]/, "")),
      roots.map((n) => n.name),
    );
    await table.locator(".opener").first().click();
    assert.ok((await rowsOf(table)).length > roots.length && all > roots.length);
    const leaf = nodes.find((n) => n.depth > 0);
    await table.locator("input[type=search]").fill(`name = "${leaf.name}"`);
    const seen = (await rowsOf(table)).map((r) => r[0].replace(/^[▸▾]/, ""));
    assert.ok(seen.includes(leaf.name) && seen.includes(nodes[leaf.parent].name));
    assert.match(await table.locator("[role=status]").textContent(), /^\d+ of /);
  }));
