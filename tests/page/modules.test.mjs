// SPDX-License-Identifier: Apache-2.0
// Modules with the time of the GPU operations that they launched, and slices in groups: numbers worked out by hand.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { copyCsv, dataTable, visit, withPage } from "./browser.mjs";
import { folder, makePage, real, runJson, timelineOf, web } from "./program.mjs";

// Times in µs.  Net [0, 100] holds Linear [10, 60] and its own aten::relu [70, 80]; each launches, and so does nobody at 200.
function write() {
  const file = join(folder, `modules-${process.pid}.json`),
    events = [];
  const slice = (cat, name, ts, dur, args = {}, tid = 1, pid = 1) => events.push({ ph: "X", cat, name, pid, tid, ts, dur, args });
  const launch = (ts, id, kernel, start, dur, grid) => {
    slice("cuda_runtime", "cudaLaunchKernel", ts, 2, { correlation: id });
    slice("kernel", kernel, start, dur, { device: 0, stream: 7, correlation: id, grid, block: [64, 1, 1] }, 7, 0);
  };
  for (const [k, base] of [1000, 2000].entries()) {
    slice("python_function", "nn.Module: Net_0", base, 100, { "Python id": 10 * k });
    slice("python_function", "model.py(7): forward", base + 1, 98, { "Python id": 10 * k + 1 });
    slice("python_function", "nn.Module: <b>Linear_0", base + 10, 50, { "Python id": 10 * k + 2 });
    slice("cpu_op", "aten::mm", base + 20, 30, { "Input Dims": [[4, 8 + k]], "Input type": ["float"] });
    launch(base + 30, 10 * k + 1, "gemm", base + 40, 33, [1 + k, 1, 1]);
    slice("cpu_op", "aten::relu", base + 70, 10, { "Input Dims": [[4]], "Input type": ["float"] });
    launch(base + 72, 10 * k + 2, "relu", base + 90, 5, [1, 1, 1]);
    slice("cpu_op", "aten::relu", base + 200, 10, { "Input Dims": [[4]], "Input type": ["float"] });
    launch(base + 202, 10 * k + 3, "relu", base + 300, 7, [1, 1, 1]);
  }
  writeFileSync(file, JSON.stringify({ schemaVersion: 1, deviceProperties: [{ id: 0, name: "GPU" }], traceEvents: events }));
  return file;
}
const page = makePage(write()),
  us = 1000;

test("modules: GPU time below what launched it", () => {
  const rows = web.moduleRows(timelineOf(page, 0)).map((r) => [r.depth, r.name, r.gpu_total_ns / us, r.gpu_self_ns / us, r.host_total_ns / us, r.host_self_ns / us, r.calls]);
  assert.deepEqual(rows, [
    [0, "all (outside of modules, too)", 90, 14, 220, 20, null],
    [1, "Net_0", 76, 10, 200, 100, 2],
    [2, "<b>Linear_0", 66, 66, 100, 100, 2],
  ]);
});

test("groups: by name, by what was recorded, by module, by Python line, by stack", () => {
  const t = timelineOf(page, 0),
    groups = (of, by) => web.groupRows(t, of, by).map((g) => [g.name, ...(by === "recorded" ? [g.recorded] : []), g.calls, g.self_ns / us, g.max_ns / us]);
  assert.deepEqual(groups("gpu", "name"), [
    ["gemm", 2, 66, 33],
    ["relu", 4, 24, 7],
  ]);
  assert.deepEqual(groups("gpu", "module"), [
    ["nn.Module: <b>Linear_0", 2, 66, 33],
    ["–", 2, 14, 7],
    ["nn.Module: Net_0", 2, 10, 5],
  ]);
  assert.deepEqual(groups("gpu", "python"), [
    ["model.py(7): forward", 4, 76, 33],
    ["–", 2, 14, 7],
  ]);
  assert.deepEqual(groups("gpu", "stack"), [
    ["aten::mm", 2, 66, 33],
    ["aten::relu", 4, 24, 7],
  ]);
  assert.deepEqual(groups("gpu", "recorded").map((g) => [g[0], /grid (\d)/.exec(g[1])[1], g[2]]), [
    ["gemm", "1", 1],
    ["gemm", "2", 1],
    ["relu", "1", 4],
  ]);
  // an operator without the calls that it makes
  assert.deepEqual(groups("operators", "recorded").map((g) => [g[0], g[1].replace(/\s/g, ""), g[2], g[3]]), [
    ["aten::relu", '[[4]]["float"]', 4, 32],
    ["aten::mm", '[[4,8]]["float"]', 1, 28],
    ["aten::mm", '[[4,9]]["float"]', 1, 28],
  ]);
});

test("the page shows them, keeps the choice in its address, and leads to the timeline", () =>
  withPage(page, { hash: "#/modules?of=gpu&by=module" }, async (tab) => {
    await tab.waitForSelector("#modules[data-ready]");
    assert.deepEqual(
      (await copyCsv(tab, dataTable(tab, "modules", "Modules"))).map((r) => [r.name, Number(r.gpu_total_ns)]),
      [
        ["all (outside of modules, too)", 90_000],
        ["Net_0", 76_000],
        ["<b>Linear_0", 66_000],
      ],
    );
    assert.equal(await tab.locator("#modules tbody b").count(), 0);
    const table = dataTable(tab, "modules", "GPU operations by module");
    assert.equal((await copyCsv(tab, table)).length, 3);
    await tab.selectOption("#group-by", "recorded");
    assert.match(await tab.evaluate(() => location.hash), /by=recorded/);
    const link = dataTable(tab, "modules", "GPU operations by name and what was recorded").locator("tbody a").first();
    await link.click();
    await tab.waitForSelector("#timeline .info h3");
    assert.equal(await tab.textContent("#timeline .info h3"), "gemm");
    await visit(tab, "modules");
    await dataTable(tab, "modules", "Modules").locator("tbody a").first().click();
    await tab.waitForFunction(() => document.querySelector("#timeline input[type=search]").value === "nn.Module: Net_0");
  }));

for (const [name, { path, file }] of Object.entries(real))
  test(`groups by name are the report's tables: ${name}`, { skip: name === "8 ranks" }, () => {
    const t = timelineOf(makePage(path), 0),
      { kernels } = runJson(file).ranks[0],
      ours = new Map(web.groupRows(t, "gpu", "name").map((g) => [g.name, g]));
    for (const k of kernels) assert.deepEqual([ours.get(k.name)?.calls, ours.get(k.name)?.total_ns], [k.calls, k.total_ns], k.name);
  });
