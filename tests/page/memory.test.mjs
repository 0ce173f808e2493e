// SPDX-License-Identifier: Apache-2.0
// The memory of a snapshot and of a timeline: layers, ends of steps, call chains and segments are drawn from the numbers.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { visit, withPage } from "./browser.mjs";
import { folder, makePage, runJson } from "./program.mjs";

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
