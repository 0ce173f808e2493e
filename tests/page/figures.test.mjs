// SPDX-License-Identifier: Apache-2.0
// What the page says equals what --json says, and its timeline equals the trace, slice for slice.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { assertShows, parseNumber, rowsOf, viewsOf, visit, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { blocksOf, examples, folder, jsonBlock, makePage, program, real, root, runJson, timelineOf } from "./program.mjs";
import { assertSame, isCollective, isDevice, readSlices } from "./trace.mjs";

const jobs = Object.entries({ ...examples, ...real }).map(([name, { path, file }]) => ({ name, words: [path], files: [file] }));
const small = smallJob();
jobs.push({ name: "a made job", words: small, files: small });

// The index of the rank that a file is of, and its member of --json.
function rankOf(report, file) {
  const index = report.inputs.findIndex((i) => file.endsWith(i.file) || i.file.endsWith(file));
  return { index, rank: report.ranks[index] };
}

for (const { name, words } of jobs) {
  test(`verdict, findings and tables are those of --json: ${name}`, async () => {
    const page = makePage(...words),
      report = runJson(...words),
      own = jsonBlock(page, "data-words");
    const rank = report.ranks[own.rank_index];
    assert.deepEqual(jsonBlock(page, "data-report"), report);
    await withPage(page, {}, async (tab) => {
      assert.equal(await tab.textContent(".verdict"), report.verdict.text);
      assert.equal(await tab.textContent(".confidence .badge"), `confidence: ${report.verdict.confidence}`);
      const step = tab.locator(".tile", { has: tab.locator("dt", { hasText: /^one step(, rank \d+)?$/ }) });
      if (rank.steps.source !== "none" && rank.steps.counted > 0)
        assertShows(await step.locator("strong").textContent(), rank.steps.mean_ns, "mean step");
      else assert.equal(await step.count(), 0);

      const cards = await tab.$$eval("article.finding", (all) =>
        all.map((a) => ({
          id: a.dataset.finding,
          head: a.querySelector("h4").textContent,
          saving: a.querySelector(".saving").textContent,
          text: a.textContent,
          fix: a.querySelector("pre.fix").textContent,
        })),
      );
      assert.deepEqual(
        cards.map((c) => c.id),
        report.findings.map((f) => f.id),
      );
      for (const [i, f] of report.findings.entries()) {
        assert.equal(cards[i].head, `${i + 1}. ${f.title}`);
        assert.equal(cards[i].fix, f.fix);
        for (const words of [f.statement, f.verify, ...f.evidence]) assert.ok(cards[i].text.includes(words), `${f.id}: ${words}`);
        assert.ok(cards[i].saving.includes(`confidence: ${f.confidence}`));
        if (f.gain_pct === null) continue;
        const found = /^−([\d.]+) % of the (?:step|run|capture): (.+) → (.+), likely (0|−\d+) to −(\d+) %/.exec(
          cards[i].saving.replaceAll("\u00a0", " "),
        );
        assert.ok(found, cards[i].saving);
        for (const [text, value] of [
          [found[1], f.gain_pct],
          [found[2], f.step_before_ns],
          [found[3], f.step_after_ns],
          [found[4].replace("−", ""), f.gain_low_pct],
          [found[5], f.gain_high_pct],
        ])
          assertShows(text, value, f.id);
      }
      await compareTables(tab, own, rank);
    });
  });
}

// Every table that a section draws of a view: how many rows, and each cell of the first of them.
async function compareTables(tab, own, rank) {
  const tables = own.views
    .flatMap((v) => v.tables.map((t) => ({ ...t, rows: v.is_list ? rank[v.key] : rank[v.key]?.[t.key] })))
    .filter((t) => Array.isArray(t.rows));
  let compared = 0;
  for (const id of await viewsOf(tab)) {
    await visit(tab, id);
    for (const box of await tab.locator(`#${id} .data`).all()) {
      if (await box.evaluate((e) => Boolean(e.closest(".memory-range")))) continue; // of a range, which --json has not
      const title = await box.locator("h3").textContent(),
        keys = await box.locator("thead button").evaluateAll((all) => all.map((b) => b.dataset.key));
      const shown = tables.filter(
        (t) => t.title === title && keys.every((k) => t.columns.some((c) => c.key === k && (c.shown || k === "name"))),
      );
      if (["ranks", "flame", "modules", "compare"].includes(id)) continue; // their tables are the script's own
      assert.ok(shown.length > 0, `${id}: nothing in --json is called ${title}`);
      const count = await box.locator("[role=status]").textContent(),
        first = (await rowsOf(box))[0];
      const table = shown.find((t) => count === `${t.rows.length} row${t.rows.length === 1 ? "" : "s"}`);
      assert.ok(table, `${id}, ${title}: ${count} for ${shown.map((t) => t.rows.length)}`);
      compared++;
      if (table.rows.length === 0) continue;
      keys.forEach((key, i) => {
        const { type, words } = table.columns.find((c) => c.key === key),
          value = (key === "name" && table.rows[0].short_name) || (words?.[table.rows[0][key]] ?? table.rows[0][key]);
        if (/^(start|peak_at)_ns$/.test(key)) return; // from the start of the first step
        assertShows(
          key === "name" ? first[i].replace(/^[▸▾]/, "") : first[i],
          type === "text" && value === "" ? "" : value,
          `${id}, ${title}, ${key}`,
        );
      });
    }
  }
  assert.ok(compared >= 10, `${compared} tables`);
}

const kindOfCategory = {
  cpu_op: "cpu_op",
  python_function: "python_function",
  user_annotation: "user_annotation",
  cuda_runtime: "runtime",
  cuda_driver: "driver",
  hip_runtime: "runtime",
  gpu_memcpy: "memcpy",
  gpu_memset: "memset",
  gpu_user_annotation: "gpu_user_annotation",
  overhead: "overhead",
  cuda_sync: "sync",
  kernel: "kernel",
  Operator: "cpu_op",
  Kernel: "kernel",
  Runtime: "runtime",
  Memcpy: "memcpy",
  Memset: "memset",
  cuda_event: "device_event",
};

for (const { name, words, files } of jobs) {
  test(`the timeline is the trace, slice for slice: ${name}`, () => {
    const page = makePage(...words),
      report = runJson(...words);
    for (const file of files) {
      const { index, rank } = rankOf(report, file),
        t = timelineOf(page, index),
        trace = readSlices(file),
        kinds = new Map();
      const block = blocksOf(page).find((b) => b.rank === index);
      assert.equal(block.bytes.length, block.declared);
      assert.equal(t.slices, block.slices);
      assert.equal(BigInt(t.base_ns), trace.first);

      const measured = t.rows.filter((r) => t.tracks[r.track].scenario === undefined),
        ours = [];
      for (const row of measured)
        for (let i = row.from; i < row.to; i++) {
          const kind = t.kinds[t.label_kinds[t.label[i]]];
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
          ours.push(`${t.start[i]} ${t.dur[i]} ${t.labels[t.label[i]]}`);
          assert.ok(
            i === row.from || t.start[i] >= t.start[i - 1] + t.dur[i - 1] || t.rows[t.row[i]].depth >= 199,
            `slices of a row overlap at ${t.start[i]}`,
          );
        }
      const expected = new Map();
      for (const e of trace.slices) {
        const kind = isCollective(e) ? "collective" : (kindOfCategory[e.cat] ?? "other");
        expected.set(kind, (expected.get(kind) ?? 0) + 1);
      }
      assert.deepEqual(Object.fromEntries([...kinds].sort()), Object.fromEntries([...expected].sort()));
      assertSame(
        ours,
        trace.slices.map((e) => `${e.start} ${e.dur} ${e.name}`),
        "slices",
      );

      const sum = (kind) =>
        measured.reduce((all, row) => {
          for (let i = row.from; i < row.to; i++) if (t.kinds[t.label_kinds[t.label[i]]] === kind) all += t.dur[i];
          return all;
        }, 0);
      assert.equal(sum("kernel"), rank.gpu.compute_sum_ns);
      assert.equal(sum("collective"), rank.gpu.comm_sum_ns);
    }
  });

  test(`device work is linked to the call that launched it: ${name}`, () => {
    const page = makePage(...words),
      report = runJson(...words);
    const file = files[files.length - 1],
      { index } = rankOf(report, file),
      t = timelineOf(page, index),
      { slices } = readSlices(file);
    const calls = new Map(),
      pairs = [];
    for (const e of slices)
      if (/runtime|driver/i.test(e.cat) && e.args?.correlation !== undefined) calls.set(e.args.correlation, e);
    for (const e of slices) {
      const call = isDevice(e) && calls.get(e.args?.correlation);
      if (call) pairs.push(`${e.start} ${e.name} ${call.start} ${call.name}`);
    }
    const ours = [];
    for (let i = 0; i < t.link.length; i++)
      if (t.link[i] >= 0 && t.tracks[t.rows[t.row[i]].track].type === "stream" && t.kinds[t.label_kinds[t.label[i]]] !== "sync")
        ours.push(`${t.start[i]} ${t.labels[t.label[i]]} ${t.start[t.link[i]]} ${t.labels[t.label[t.link[i]]]}`);
    assertSame(ours, pairs, "links");
  });
}

test("the same command writes the same page, on one thread or several", () => {
  const path = relative(root, examples["two ranks without a GPU"].path),
    read = (threads) => {
      const file = join(folder, `same-${threads}.html`);
      execFileSync(program, ["report", "-q", path, "--html", file], {
        cwd: root,
        stdio: "ignore",
        env: { ...process.env, HOLDUP_THREADS: threads },
      });
      return readFileSync(file);
    };
  const first = read("1");
  assert.ok(first.equals(read("1")));
  assert.ok(first.equals(read("4")));
  assert.ok(!first.includes(root), "the page holds a path of this machine");
});

test("what a person reads of a number is read back", () => {
  assert.equal(parseNumber("1.23 ms").value, 1.23e6);
  assert.throws(() => assertShows("1.23 ms", 1.24e6, "x"));
  assert.throws(() => assertShows("–", 0, "x"));
});
