// SPDX-License-Identifier: Apache-2.0
// Traces of two runs: which they are, what of them is compared, what is not and why, and where the numbers lead.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { assertShows, dataTable, desktop, phone, rowsOf, visit, withPage } from "./browser.mjs";
import { makeTrace, smallJob } from "./make.mjs";
import { examples, folder, jsonBlock, makePage, runJson, web } from "./program.mjs";

const traces = dirname(examples["two ranks without a GPU"].path),
  [slow, fixed] = ["slow_loader", "fixed_loader"].map((name) => join(traces, name)),
  stacks = join(traces, "python_stacks");
const two = makePage(slow, fixed),
  words = jsonBlock(two, "data-words"),
  report = jsonBlock(two, "data-report");

const made = (name, options = {}) => {
  const file = join(folder, "compare", name);
  mkdirSync(dirname(file), { recursive: true });
  return makeTrace(file, { steps: 3, launches: 8, ...options });
};
const runsOf = (...paths) => jsonBlock(makePage(...paths), "data-words").runs;
const perStep = (row, key) => (row[key] / row.calls) * row.calls_per_step;

test("runs are told by folders, by files, or not at all", () => {
  assert.deepEqual(
    words.runs.map((r) => [r.name, r.ranks.map((i) => report.inputs[i].file.split("/").slice(-2).join("/"))]),
    [
      ["slow_loader", ["slow_loader/rank0.pt.trace.json.gz", "slow_loader/rank1.pt.trace.json.gz"]],
      ["fixed_loader", ["fixed_loader/rank0.pt.trace.json.gz", "fixed_loader/rank1.pt.trace.json.gz"]],
    ],
    "in the order in which they were named",
  );
  for (const [r, path] of [
    [words.runs[0], slow],
    [words.runs[1], fixed],
  ]) {
    const own = runJson(path);
    assert.equal(r.shown, r.ranks.reduce((a, b) => (report.ranks[a].steps.mean_ns >= report.ranks[b].steps.mean_ns ? a : b)), "its slowest rank");
    assert.equal(r.verdict.split(". ")[1], own.verdict.text.split(". ")[1], "what a report of the run alone says, but for its ranks together");
  }
  // a rank that a folder has twice is of another run; ranks of one run may lie in several folders
  const before = made("twice/before.json", { world: 2 }),
    after = made("twice/later.json", { world: 2, seed: 9 });
  assert.deepEqual(
    runsOf(after, before).map((r) => r.name),
    ["later.json", "before.json"],
  );
  assert.deepEqual(runsOf(made("nodes/0/rank0.json", { world: 2 }), made("nodes/1/rank1.json", { world: 2, rank: 1 })), []);
  // processes that know of nobody else
  const lonely = ["x", "y"].map((name) => {
    const file = made(`lonely/${name}/trace.json`);
    writeFileSync(file, readFileSync(file, "utf8").replace(/"distributedInfo":\{[^}]*\},/, ""));
    return file;
  });
  assert.deepEqual(
    runsOf(...lonely).map((r) => [r.name, r.ranks.length]),
    [
      ["x", 1],
      ["y", 1],
    ],
  );
  // one process, beside the ranks of a job with the same number
  assert.deepEqual(
    runsOf(fixed, stacks).map((r) => r.name),
    ["fixed_loader", "python_stacks"],
  );
  assert.doesNotMatch(makePage(lonely[0]).html, /id="compare"/, "one trace has nothing to be compared with");
});

test("two runs: steps, classes, operators, and where each number leads", () =>
  withPage(two, {}, async (tab) => {
    await tab.click('#overview a[href^="#/compare"]');
    await tab.waitForSelector("#compare:not([hidden]) .classes");
    const [a, b] = words.runs.map((r) => report.ranks[r.shown]);
    const first = await tab.textContent("#compare .verdict");
    assert.match(first, /^A step takes 96\.0 ms in A and 47\.2 ms in B: −48\.8 ms \(−50\.9 %\), most of it data loader \(−34\.8 ms\)\.$/);
    for (const [k, r] of words.runs.entries()) assert.ok((await tab.locator("#compare .side").nth(k).textContent()).includes(r.verdict));

    const classes = await tab.locator("#compare .classes tbody tr").evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));
    assert.deepEqual(
      classes.map((c) => c[0]),
      ["communication", "data loader", "host work", "nothing recorded"],
    );
    assertShows(classes[1][2], a.step_breakdown.categories.data_loader_ns, "A");
    assertShows(classes[1][3], b.step_breakdown.categories.data_loader_ns, "B");
    assertShows(classes[1][4].replace("−", ""), a.step_breakdown.categories.data_loader_ns - b.step_breakdown.categories.data_loader_ns, "difference");

    const table = dataTable(tab, "compare", "Operators of both, of a step"),
      rows = await rowsOf(table);
    const known = new Map(a.operators.map((o) => [o.name, [o]]));
    for (const o of b.operators) known.get(o.name)?.push(o);
    const expected = [...known]
      .filter(([, both]) => both.length === 2 && both.every((o) => o.calls_per_step > 0))
      .map(([name, [x, y]]) => [name, perStep(x, "host_self_ns"), perStep(y, "host_self_ns")])
      .sort((p, q) => Math.abs(q[2] - q[1]) - Math.abs(p[2] - p[1]));
    assert.equal(await table.locator("[role=status]").textContent(), `${expected.length} rows`);
    rows.slice(0, 12).forEach((row, i) => {
      const [name, x, y] = expected[i];
      assert.equal(row[0], name);
      assertShows(row[1], x, `${name} in A`);
      assertShows(row[2], y, `${name} in B`);
      assert.equal(row[3][0], y > x ? "+" : "−", name);
      assertShows(row[3].slice(1), Math.abs(y - x), `${name}: difference`);
      assert.equal(row[4], `${(y / x).toFixed(y / x < 9.995 ? 2 : 0)}×`);
    });
    const onlyB = await rowsOf(dataTable(tab, "compare", "Operators only in B"));
    assert.ok(onlyB.some((r) => /MultiProcessing/.test(r[0])) && !b.operators.some((o) => /_SingleProcess/.test(o.name)));

    await table.locator("tbody tr").first().locator("a").nth(1).click();
    await tab.waitForSelector("#operators tr.marked");
    assert.ok((await tab.textContent("#operators tr.marked")).includes(expected[0][0]));
    assert.equal(await tab.inputValue("#rank"), String(words.runs[1].shown), "of B's rank");
    await tab.goBack();
    await tab.locator("#compare .classes tbody a").nth(2).click();
    await tab.waitForSelector("#timeline[data-ready]");
    assert.match(await tab.evaluate(() => location.hash), new RegExp(`r=${words.runs[0].shown}\\b`));
  }));

test("a pair is chosen by keys, kept in the address, and the same trace is not compared with itself", () =>
  withPage(two, { hash: "#/compare?a=1&b=2&ops.find=conv" }, async (tab) => {
    assert.deepEqual([await tab.inputValue("#compare-a"), await tab.inputValue("#compare-b")], ["1", "2"]);
    assert.equal(await dataTable(tab, "compare", "Operators of both, of a step").locator("input[type=search]").inputValue(), "conv");
    await tab.locator("#compare button", { hasText: "swap" }).click();
    await tab.waitForFunction(() => document.getElementById("compare-a").value === "2");
    assert.match(await tab.evaluate(() => location.hash), /a=2&b=1/);
    await tab.focus("#compare-b");
    await tab.selectOption("#compare-b", "2");
    await tab.waitForFunction(() => /same trace/.test(document.getElementById("compare").textContent));
    assert.equal(await tab.locator("#compare .classes, #compare .data").count(), 0);
    assert.equal(await tab.evaluate(() => document.activeElement.id), "compare-b", "the focus stays");
  }));

test("what was recorded in another way is not compared, and the page says why", () =>
  withPage(makePage(fixed, stacks), { hash: "#/compare" }, async (tab) => {
    const text = await tab.innerText("#compare");
    assert.match(text, /cannot be compared: B was recorded with Python stacks and A without/);
    assert.equal(await tab.locator("#compare .classes, #compare .data, #compare .longer, #compare .shorter").count(), 0, "no difference is told");
    assert.equal(await tab.locator("#compare .side").count(), 2);
  }));

test("two ranks of one job on GPUs: classes of the GPU add up to the step, kernels are joined", async () => {
  const job = makePage(...smallJob()),
    { ranks } = jsonBlock(job, "data-report"),
    shown = jsonBlock(job, "data-words").rank_index;
  await withPage(job, {}, async (tab) => {
    await visit(tab, "compare");
    assert.equal(await tab.inputValue("#compare-b"), String(shown), "the slowest last");
    const sum = await tab.evaluate(() => [...document.querySelector("#compare .classes tbody").rows].map((r) => r.cells[3].textContent));
    const units = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 },
      total = sum.map((t) => t.split(" ")).reduce((n, [v, u]) => n + Number(v) * units[u], 0);
    assert.ok(Math.abs(total / ranks[shown].step_breakdown.step_ns - 1) < 0.01, `${sum} of ${ranks[shown].step_breakdown.step_ns}`);
    const kernels = await rowsOf(dataTable(tab, "compare", "Kernels of both, of a step"));
    assert.ok(kernels.length > 10);
    await dataTable(tab, "compare", "Kernels of both, of a step").locator("tbody a").first().click();
    await tab.waitForSelector("#kernels tr.marked");
  });
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

for (const [colorScheme, viewport] of [
  ["light", desktop],
  ["dark", phone],
])
  test(`axe finds nothing: ${colorScheme}, ${viewport.width} pixels`, async () => {
    for (const page of [two, makePage(fixed, stacks)])
      await withPage(page, { colorScheme, viewport, hash: "#/compare" }, async (tab) => {
        if (page === two) await tab.locator("#compare button", { hasText: "columns ▾" }).first().click();
        await tab.evaluate(axe);
        const { violations } = await tab.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
        assert.deepEqual(
          violations.map((v) => `${v.id}: ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 200))}`),
          [],
        );
        assert.ok((await tab.evaluate(() => document.documentElement.scrollWidth)) <= viewport.width);
      });
  });

const side = (name, change = {}) => ({
  name,
  tool: "PyTorch profiler",
  ...change,
  rank: {
    device: "H100",
    gpu: { span_ns: 1 },
    quality: { not_captured: [], lost: 0, is_truncated: false },
    ...change.rank,
    steps: { source: "ProfilerStep", what: "ProfilerStep", counted: 4, mean_ns: 100, stddev_ns: 10, ...change.rank?.steps },
  },
});

test("what keeps two sides from being compared", () => {
  const why = (change) => web.obstacles(side("A"), side("B", change)),
    kept = (x) => ["steps", "host", "gpu", "sums", "names"].filter((key) => x[key].length);
  const lacking = (...keys) => ({ rank: { quality: { not_captured: keys, lost: 0, is_truncated: false } } });
  assert.deepEqual(kept(why()), []);
  assert.deepEqual(kept(why({ tool: "Nsight Systems" })), ["steps", "host", "gpu", "sums", "names"]);
  assert.deepEqual(kept(why({ rank: { gpu: { span_ns: 0 } } })), ["steps", "host", "gpu", "sums", "names"]);
  assert.deepEqual(kept(why(lacking("stacks"))), ["steps", "host"], "GPUs do not mind Python stacks");
  assert.deepEqual(kept(why(lacking("host"))), ["steps", "host", "names"]);
  assert.deepEqual(kept(why({ rank: { steps: { source: "none" } } })), ["steps", "sums"], "calls can still be compared");
  assert.deepEqual(kept(why({ rank: { steps: { source: "NVTX", what: "NVTX" } } })), ["steps", "sums"]);
  assert.deepEqual(kept(why({ rank: { quality: { not_captured: [], lost: 3, is_truncated: false } } })), ["sums", "names"]);
  assert.deepEqual(kept(why({ isBrief: true })), ["host", "gpu", "names"]);
  assert.match(why(lacking("shapes")).notes.join(), /Input shapes were recorded in A alone/);
  assert.match(why({ rank: { device: "A100" } }).notes.join(), /A ran on H100, B on A100/);
});

test("steps that differ by less than they vary do not differ", () => {
  const differ = (mean_ns, stddev_ns) => web.stepDifference(side("A"), side("B", { rank: { steps: { mean_ns, stddev_ns } } })).isClear;
  assert.equal(differ(114, 10), false); // two standard errors: 2 * sqrt(100 / 4 + 100 / 4) = 14.1
  assert.equal(differ(115, 10), true);
  assert.equal(differ(115, null), null, "one step alone says nothing");
});

test("rows are joined by name, of a step or of a call", () => {
  const row = (name, calls, calls_per_step, t) => ({ name, calls, calls_per_step, t }),
    a = [row("x", 8, 2, 80), row("y", 4, 1, 4), row("x", 4, 1, 20), row("before", 1, 0, 999)],
    b = [row("x", 8, 2, 40), row("y", 4, 1, 400), row("z", 2, 1, 6)];
  const step = web.joinRows(a, b, ["t"], true);
  assert.deepEqual(
    step.both.map((r) => [r.name, r.a_t, r.b_t, r.diff_t, r.ratio_t, r.a_calls]),
    [
      ["y", 1, 100, 99, 100, 1],
      ["x", 25, 10, -15, 0.4, 3],
    ],
  );
  assert.deepEqual(step.onlyA, [], "what no step holds is nothing of a step");
  assert.deepEqual(
    step.onlyB.map((r) => [r.name, r.t, r.calls]),
    [["z", 3, 1]],
  );
  const call = web.joinRows(a, b, ["t"], false);
  assert.deepEqual(
    call.both.map((r) => [r.name, r.a_t, r.b_t]),
    [
      ["y", 1, 100],
      ["x", 100 / 12, 5],
    ],
  );
  assert.deepEqual(call.onlyA.map((r) => r.name), ["before"]);
});

for (const width of [1440, 1280, 1024, 768, 390])
  test(`tabs fit, or an arrow says that there are more: ${width} pixels`, () =>
    withPage(two, { viewport: { width, height: 800 } }, async (tab) => {
      const look = () =>
        tab.evaluate(() => {
          const nav = document.getElementById("nav"),
            list = nav.firstElementChild;
          return {
            hidden: [...nav.querySelectorAll("a")].filter((a) => a.getBoundingClientRect().right > innerWidth || a.getBoundingClientRect().left < 0).length,
            signs: ["before", "after"].filter((c) => nav.classList.contains(c) && getComputedStyle(nav, `::${c}`).content !== "none"),
            end: (list.scrollLeft = list.scrollWidth),
          };
        });
      const first = await look();
      if (width > 700) {
        assert.deepEqual([first.hidden, first.signs], [0, []]);
        return;
      }
      assert.ok(first.hidden > 0);
      assert.deepEqual(first.signs, ["after"]);
      await tab.waitForFunction(() => !document.getElementById("nav").classList.contains("after"));
      assert.deepEqual((await look()).signs, ["before"], "at the end the arrow points back");
      // the tab of the view that is shown is in sight
      for (const id of ["system", "overview", "compare"]) {
        await tab.evaluate((x) => void (location.hash = `#/${x}`), id);
        await tab.waitForSelector(`#${id}:not([hidden])`);
        const box = await tab.locator("#nav a[aria-current]").boundingBox();
        assert.ok(box.x >= 0 && box.x + box.width <= width, `${id}: ${JSON.stringify(box)}`);
      }
    }));
