// SPDX-License-Identifier: Apache-2.0
// The memory of a snapshot and of a timeline: layers, ends of steps, call chains and segments are drawn from the numbers.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { copyCsv, dataTable, visit, withPage } from "./browser.mjs";
import { blocksOf, folder, makePage, memoryTraces, runJson, timelineOf } from "./program.mjs";

// A value as Python's pickle writes it, protocol 2.
function pickled(value) {
  if (value === null) return "N";
  if (value === true || value === false) return value ? "\x88" : "\x89";
  if (typeof value === "number") return `I${value}\n`;
  if (typeof value === "string") {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(value.length);
    return `X${length.toString("latin1")}${value}`;
  }
  if (Array.isArray(value)) return `](${value.map(pickled).join("")}e`;
  return `}(${Object.entries(value)
    .map(([k, v]) => pickled(k) + pickled(v))
    .join("")}u`;
}

const mib = 2 ** 20,
  start = 1_700_000_000_000_000,
  chain = (name) => [
    { name, filename: "/me/model.py", line: 5 },
    { name: "<b>main</b>", filename: "/me/train.py", line: 9 },
  ];

function writeSnapshot() {
  const history = [],
    say = (action, addr, size, name) =>
      history.push({ action, addr, size, stream: 0, time_us: start + 100 * history.length, frames: chain(name) });
  say("segment_alloc", 4096, 40 * mib, "attention");
  say("alloc", 4096, 10 * mib, "attention");
  say("alloc", 4096 + 10 * mib, 6 * mib, "mlp");
  say("free_completed", 4096, 10 * mib, "attention");
  const block = (at, mibs, state) => ({
    address: 4096 + at * mib,
    size: mibs * mib,
    requested_size: state === "inactive" ? 0 : mibs * mib,
    state,
    frames: [],
  });
  const file = join(folder, `memory-${process.pid}.pickle`);
  writeFileSync(
    file,
    `\x80\x02${pickled({
      segments: [
        {
          device: 0,
          address: 4096,
          total_size: 40 * mib,
          stream: 0,
          segment_type: "large",
          segment_pool_id: [0, 0],
          is_expandable: false,
          blocks: [block(0, 10, "inactive"), block(10, 6, "active_allocated"), block(16, 24, "inactive")],
        },
      ],
      device_traces: [history],
      external_annotations: [1, 2].map((n) => ({
        stage: "END",
        name: "Optimizer.step#A",
        device: 0,
        time_us: start + 150 * n,
      })),
    })}.`,
    "latin1",
  );
  return file;
}

test("a snapshot", async () => {
  const file = writeSnapshot(),
    memory = runJson(file).ranks[0].memory;
  assert.equal(memory.pools[0].peak_bytes, 16 * mib);
  await withPage(makePage(file), {}, async (tab) => {
    await visit(tab, "memory");
    const seen = await tab.evaluate(() => ({
      charts: [...document.querySelectorAll("#memory svg.chart, #memory canvas.flame")].map((c) => c.getAttribute("aria-label").split(". Arrow")[0]),
      steps: document.querySelectorAll("#memory .chart .guide").length,
      bold: document.querySelectorAll("#memory b").length,
      runs: [...document.querySelectorAll("#memory svg.chart:last-of-type")]
        .at(-1)
        .querySelectorAll("rect.c-compute").length,
    }));
    assert.deepEqual(seen.charts, [
      "Memory of cuda:0",
      "The peak of cuda:0, by call chain",
      "Largest segments at the end",
    ]);
    assert.equal(seen.steps, 2);
    // all, its main, and below it the one of attention and the one of mlp
    await tab.focus("#memory canvas.flame");
    const said = [];
    for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft"]) {
      await tab.keyboard.press(key);
      said.push(await tab.textContent("#memory figure .mono"));
    }
    assert.match(said[0], /^all: 16\.8 MB, 100\.0 %/);
    assert.match(said[1], /^<b>main<\/b> \(train\.py:9\): 16\.8 MB, 100\.0 % /);
    assert.match(said[2], /^attention \(model\.py:5\): 10\.5 MB, 62\.5 % /);
    assert.match(said[3], /^mlp \(model\.py:5\): 6\.29 MB, 37\.5 % /);
    assert.equal(said[4], said[2]);
    assert.equal(seen.bold, 0); // names are words, never markup
    assert.equal(seen.runs, 1);
  });
});

test("a timeline", async () => {
  const file = join(folder, `memory-${process.pid}.json`),
    now = "1700000000000000000",
    later = "1700000000000000900";
  writeFileSync(file, `[[-1,1,1000,0],[${now},2,4000,4],[${later},4,-4000,4]]`);
  await withPage(makePage(file), {}, async (tab) => {
    await visit(tab, "memory");
    const seen = await tab.evaluate(() => ({
      legend: [...document.querySelectorAll("#memory .legend li")].map((l) => l.innerText.trim()),
      text: document.getElementById("memory").innerText,
    }));
    assert.deepEqual(seen.legend, ["parameter", "activation", "held, most", "reserved"]);
    assert.match(seen.text, /5\.00 kB/);
  });
});

const facts = (tab) =>
  tab.$$eval("#memory .memory-range .dock dt", (all) => Object.fromEntries(all.map((dt) => [dt.textContent, dt.nextElementSibling.textContent])));

const onRange = (page, options, use) =>
  withPage(page, options, async (tab) => {
    if (!options.hash) await visit(tab, "memory");
    await tab.waitForSelector("#memory .memory-range .dock dt");
    return use(tab);
  });

// The curve of the snapshot has 200 µs: 10 MiB are taken at its beginning, 6 in the middle, and the 10 are freed at its end.
const wholeSnapshot = {
  takes: "200.0 µs",
  "held before": "0 B",
  "held at its end": "6.29 MB",
  change: "+6.29 MB",
  "most held in it": "16.8 MB",
  allocated: "16.8 MB in 2",
  freed: "10.5 MB in 1",
};

async function placeOnCurve(tab) {
  await tab.locator("#memory .range-chart").scrollIntoViewIfNeeded();
  const box = await tab.locator("#memory .range-chart svg.chart").boundingBox(),
    scale = box.width / 900;
  return { x: (share) => box.x + (80 + 820 * share) * scale, y: box.y + box.height / 2 };
}

test("a range that is dragged on the curve says what was allocated, freed and is held", () =>
  onRange(makePage(writeSnapshot()), {}, async (tab) => {
    assert.deepEqual(await facts(tab), wholeSnapshot);
    const at = await placeOnCurve(tab);
    await tab.mouse.move(at.x(0.7), at.y);
    await tab.mouse.down();
    await tab.mouse.move(at.x(0.9), at.y);
    assert.equal((await facts(tab))["held at its end"], "16.8 MB", "it follows while one drags");
    await tab.mouse.move(at.x(1) + 5, at.y);
    await tab.mouse.up();
    const last = await facts(tab);
    assert.deepEqual([last["held before"], last.change, last.allocated, last.freed], ["16.8 MB", "-10.5 MB", "0 B in 0", "10.5 MB in 1"]);
    const events = await copyCsv(tab, dataTable(tab, "memory", "Allocated and freed in it"));
    assert.deepEqual(
      events.map((e) => [e.what, e.bytes, e.by, e.lives_ns]),
      [["freed", String(-10 * mib), "attention (model.py:5)", "200000"]],
    );
    const held = await copyCsv(tab, dataTable(tab, "memory", "Largest held at its end"));
    assert.deepEqual(
      held.map((h) => [h.bytes, h.by, h.born_ns, h.died_ns]),
      [[String(6 * mib), "mlp (model.py:5)", "100000", ""]],
    );
    const hash = await tab.evaluate(() => location.hash);
    await tab.locator("#memory button", { hasText: "whole capture" }).click();
    assert.deepEqual(await facts(tab), wholeSnapshot);
    await onRange(makePage(writeSnapshot()), { hash }, async (other) => assert.deepEqual(await facts(other), last, "the address keeps it"));
  }));

test("keys and fingers select a range, too", () =>
  onRange(makePage(writeSnapshot()), { hasTouch: true, viewport: { width: 390, height: 844 } }, async (tab) => {
    await tab.focus('#memory input[aria-label="range begins"]');
    await tab.keyboard.press("ArrowRight");
    assert.equal((await facts(tab)).allocated, "6.29 MB in 1");
    await tab.keyboard.press("End");
    assert.deepEqual([(await facts(tab)).takes, (await facts(tab)).freed], ["0 ns", "10.5 MB in 1"]);
    const at = await placeOnCurve(tab),
      client = await tab.context().newCDPSession(tab),
      touch = (type, share) =>
        client.send("Input.dispatchTouchEvent", { type, touchPoints: share === undefined ? [] : [{ x: at.x(share), y: at.y }] });
    await touch("touchStart", 0.3);
    await touch("touchMove", 0.4);
    await touch("touchMove", 0.8);
    await touch("touchEnd");
    const seen = await facts(tab);
    assert.deepEqual([seen["held before"], seen.allocated, seen.freed], ["10.5 MB", "6.29 MB in 1", "0 B in 0"]);
  }));

test("from the peak to the call chains that hold it in one click", () =>
  onRange(makePage(writeSnapshot()), {}, async (tab) => {
    await tab.locator("#memory button", { hasText: "up to the peak" }).click();
    assert.equal((await facts(tab))["held at its end"], "16.8 MB");
    const flame = tab.locator("#memory .memory-range canvas.flame");
    await flame.focus();
    const said = [];
    for (const key of ["Home", "ArrowDown", "ArrowDown"]) {
      await tab.keyboard.press(key);
      said.push(await tab.textContent("#memory .memory-range .mono"));
    }
    assert.match(said[1], /^<b>main<\/b> \(train\.py:9\): 16\.8 MB/);
    assert.match(said[2], /^attention \(model\.py:5\): 10\.5 MB, 62\.5 % /);
  }));

// Chrome JSON of allocations alone: [device, address, bytes, ns].
function writeTrace(name, events) {
  const file = join(folder, `${name}-${process.pid}.json`);
  const lines = events.map(
    ([device, addr, bytes, ns]) =>
      `{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":${ns / 1000},"args":{"Bytes":${bytes},"Addr":${addr},"Device Id":${device},"Device Type":${device < 0 ? 0 : 1}}}`,
  );
  lines.push('{"ph":"X","cat":"cpu_op","name":"aten::outer","pid":1,"tid":1,"ts":0,"dur":400,"args":{"External id":1}}');
  lines.push('{"ph":"X","cat":"cpu_op","name":"aten::empty","pid":1,"tid":1,"ts":9,"dur":300,"args":{"External id":2}}');
  writeFileSync(file, `{"traceEvents":[${lines.join(",\n")}]}`);
  return file;
}

test("every pool has its curve, and all of them one picture", () => {
  const file = writeTrace("pools", [
    [0, 4096, 8000, 10_000],
    [1, 4096, 5000, 20_000],
    [-1, 64, 300, 30_000],
    [0, 9000, 1000, 40_000],
    [1, 4096, -5000, 50_000],
  ]);
  return onRange(makePage(file), {}, async (tab) => {
    const pool = tab.locator('#memory select[aria-label="pool"]'),
      seen = {};
    for (const name of await pool.locator("option").allTextContents()) {
      await pool.selectOption({ label: name });
      const { allocated, freed } = await facts(tab);
      seen[name] = [await tab.locator("#memory .range-chart svg.chart").getAttribute("aria-label"), allocated, freed];
    }
    assert.deepEqual(seen, {
      "cuda:0": ["Memory of cuda:0", "9.00 kB in 2", "0 B in 0"],
      "cuda:1": ["Memory of cuda:1", "5.00 kB in 1", "5.00 kB in 1"],
      cpu: ["Memory of cpu", "300 B in 1", "0 B in 0"],
      "all pools": ["Memory of all pools", "14.3 kB in 4", "5.00 kB in 1"],
    });
    assert.equal(await tab.locator("#memory .range-chart polyline").count(), 3);
    // where no chain was recorded, the operators around an allocation are one
    await tab.locator("#memory .memory-range summary", { hasText: "by call chain" }).click();
    await tab.locator("#memory .memory-range canvas.flame").focus();
    for (const key of ["Home", "ArrowDown", "ArrowDown"]) await tab.keyboard.press(key);
    assert.match(await tab.textContent("#memory .memory-range .mono"), /^aten::empty: 9\.30 kB, 100\.0 %/);
  });
});

test("of very many allocations the page has the largest, and says so", () => {
  const events = [],
    n = 101_000;
  for (let i = 0; i < n; i++) events.push([0, 4096 + i * 1000, 512 + (i % 1000), 10_000 + 2 * i], [0, 4096 + i * 1000, -(512 + (i % 1000)), 10_001 + 2 * i]);
  const page = makePage(writeTrace("many", events)),
    { allocations: a } = timelineOf(page, 0);
  assert.deepEqual([a.n, a.of, a.least], [100_000, n, 521]);
  assert.ok(a.size.every((v) => v >= 521));
  assert.equal(a.size.reduce((s, v) => s + v, 0) + a.left_out_bytes, events.reduce((s, [, , b]) => s + Math.max(0, b), 0));
  assert.ok(blocksOf(page).find((b) => b.rank === 0).packedBytes < 1e6, "they take less than a megabyte");
  return onRange(page, {}, async (tab) => {
    assert.match(
      await tab.innerText("#memory .memory-range .note"),
      /Of 101,000 allocations this page has the 100,000 largest, of 521 B and more; the others take 516 kB in all/,
    );
    assert.match((await facts(tab)).change, /by the curve/);
  });
});

// What is held behind each event is at most what the report says of the peak, and reaches it.
test("the events of real recordings add up to the peaks of their report", { skip: memoryTraces.length ? false : "real recordings of memory are not present" }, () => {
  for (const file of memoryTraces) {
    const { allocations: a } = timelineOf(makePage(file), 0),
      { pools } = runJson(file).ranks[0].memory;
    for (const p of a.pools) {
      const events = [];
      for (let k = p.at; k < p.at + p.n; k++) {
        if (a.born[k] >= a.from) events.push([a.born[k], a.size[k]]);
        if (a.died[k] < Infinity) events.push([a.died[k], -a.size[k]]);
      }
      events.sort((x, y) => x[0] - y[0] || y[1] - x[1]);
      let now = p.first_bytes,
        most = now;
      for (const [, by] of events) most = Math.max(most, (now += by));
      const told = pools.find((x) => x.pool === p.name);
      assert.ok(most >= told.peak_bytes * 0.999 && most <= told.peak_bytes * 1.05, `${file} ${p.name}: ${most}, not ${told.peak_bytes}`);
      assert.ok(Math.abs(now - told.last_bytes) <= 0.001 * told.peak_bytes, `${file} ${p.name} ends at ${now}, not ${told.last_bytes}`);
    }
  }
});
