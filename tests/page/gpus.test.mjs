// SPDX-License-Identifier: Apache-2.0
// GPUs that were sampled beside a run: the section has what `--view gpus` has, of the rank that is chosen, and is missing where none were.

import assert from "node:assert/strict";
import { test } from "node:test";
import { viewsOf, visit, withPage } from "./browser.mjs";
import { sampledRank } from "./make.mjs";
import { examples, makePage, runJson } from "./program.mjs";

// The cells of the only row, by their heads; a head that stands twice has a number behind it.
const readRow = (tab) =>
  tab.evaluate(() => {
    const heads = [...document.querySelectorAll("#gpus th")].map((h) => h.innerText.trim()),
      cells = [...document.querySelectorAll("#gpus tbody tr td, #gpus tbody tr th")].map((c) => c.innerText.trim());
    return { heads, cells, elements: document.querySelectorAll("#gpus tbody i, #gpus tbody b").length };
  });

test("GPUs: the row of each rank, and what lowered its clock", async () => {
  const files = [sampledRank(0, 3, 1980, 500), sampledRank(1, 5, 1320, 690)],
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
