// SPDX-License-Identifier: Apache-2.0
// GPUs that were sampled beside a run: the section has what `--view gpus` has, of the rank that is chosen, and is missing where none were.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { viewsOf, visit, withPage } from "./browser.mjs";
import { examples, folder, makePage, runJson } from "./program.mjs";

// A second of kernels on device 0, which is GPU `number` of the machine, with a clock and a power of its own.
function writeRank(rank, number, mhz, watts) {
  const track = (name, ts, value) => ({ ph: "C", name: `GPU 0 ${name}`, pid: 1, ts, args: { value } }),
    events = [];
  for (let i = 0; i < 10; i++) {
    const ts = 1e5 * i,
      args = { correlation: i + 1, device: 0, stream: 7 };
    events.push(
      { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts, dur: 10, args },
      { ph: "X", cat: "kernel", name: "<b>work</b>", pid: 0, tid: 7, ts: ts + 20, dur: 80000, args },
      track("SM clock (MHz)", ts, mhz),
      track("power (W)", ts, watts),
      track("energy (J)", ts, watts * i),
      track("clock event reasons (bits)", ts, rank ? 4 : 0),
    );
  }
  const line = [number, 1, 0, 0, 1980, 2619, 700000, 8e10, 1e8, 1023, 0, `GPU-${number}`, "1B", "580", "H100 <i>", "", 0];
  const path = join(folder, `gpus-${process.pid}-${rank}.json`);
  const job = { distributedInfo: { rank, world_size: 2 }, "holdup.gpus": `${line.join("\t")}\n`, traceEvents: events };
  writeFileSync(path, JSON.stringify(job));
  return path;
}

// The cells of the only row, by their heads; a head that stands twice has a number behind it.
const readRow = (tab) =>
  tab.evaluate(() => {
    const heads = [...document.querySelectorAll("#gpus th")].map((h) => h.innerText.trim()),
      cells = [...document.querySelectorAll("#gpus tbody tr td, #gpus tbody tr th")].map((c) => c.innerText.trim());
    return { heads, cells, elements: document.querySelectorAll("#gpus tbody i, #gpus tbody b").length };
  });

test("GPUs: the row of each rank, and what lowered its clock", async () => {
  const files = [writeRank(0, 3, 1980, 500), writeRank(1, 5, 1320, 690)],
    report = runJson(...files);
  await withPage(makePage(...files), {}, async (tab) => {
    await visit(tab, "gpus");
    for (const rank of [0, 1]) {
      await tab.selectOption("#rank", String(rank));
      const [gpu] = report.ranks[rank].gpus.gpus,
        { heads, cells, elements } = await readRow(tab),
        of = (head) => cells[heads.indexOf(head)];
      assert.deepEqual([gpu.device, gpu.number, gpu.watts], [0, [3, 5][rank], [500, 690][rank]]);
      assert.deepEqual([of("GPU"), of("nvidia-smi")], ["0", String(gpu.number)]);
      assert.equal(Number(of("clock")), gpu.sm_mhz);
      assert.equal(Number(of("power")), gpu.watts);
      assert.equal(of("name"), "H100 <i>");
      assert.equal(of("clock lowered by"), rank ? gpu.limits : "");
      assert.equal(gpu.limits.startsWith("software power cap"), rank === 1);
      assert.equal(elements, 0, "a name is a text");
    }
  });
});

test("GPUs: no section where none were sampled", async () => {
  await withPage(makePage(examples["two ranks without a GPU"].path), {}, async (tab) => {
    assert.ok(!(await viewsOf(tab)).includes("gpus"));
    await visit(tab, "system");
    assert.match(await tab.innerText("#system"), /holdup run records them/);
  });
});
