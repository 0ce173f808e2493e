// SPDX-License-Identifier: Apache-2.0
// The flame graph says what `export --format folded` and the call tree say; it is searched, widened and read by keys; and a deep
// stack or a long one does not slow it down.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { copyCsv, dataTable, visit, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { examples, folder, makePage, real, run, runJson, timelineOf, web } from "./program.mjs";

const python = examples["Python frames"].path;

// { stack: ns }, the first frame (the thread) as the export names it: the page writes "·" in the names of streams.
function folded(text) {
  const sums = new Map();
  for (const line of text.split("\n").filter(Boolean)) {
    const at = line.lastIndexOf(" "),
      stack = line.slice(0, at).replaceAll(" · stream ", " / stream ");
    sums.set(stack, (sums.get(stack) ?? 0) + Number(line.slice(at + 1)));
  }
  return sums;
}

function assertSameStacks(ours, theirs, what) {
  assert.ok(theirs.size > 0, what);
  const wrong = [...new Set([...ours.keys(), ...theirs.keys()])].filter((k) => ours.get(k) !== theirs.get(k));
  assert.deepEqual(
    wrong.slice(0, 3).map((k) => `${k}: ${ours.get(k)}, exported ${theirs.get(k)}`),
    [],
    `${what}: ${wrong.length} of ${theirs.size} stacks differ`,
  );
}

const exported = (file, ...more) => folded(String(run("export", "-q", file, "--format", "folded", ...more).out));

const inputs = { "Python frames": python, "a made rank": smallJob()[0], ...Object.fromEntries(Object.entries(real).map(([k, v]) => [k, v.file])) };

for (const [name, file] of Object.entries(inputs)) {
  test(`time by stack is what the export says: ${name}`, () => {
    const t = timelineOf(makePage(file), 0);
    for (const [of, weight] of [
      ["host", "host"],
      ["gpu", "gpu"],
    ]) {
      const theirs = exported(file, "--weight", weight);
      const ours = folded(web.foldedText(web.sliceTree(t, { of })));
      if (theirs.size || ours.size) assertSameStacks(ours, theirs, of);
      // however it is drawn, the sum is the same
      const whole = [...theirs.values()].reduce((sum, ns) => sum + ns, 0);
      for (const options of [{ isTimed: true }, { frames: "operators" }, { frames: "python" }, { areStepsOne: true }]) {
        const tree = web.sliceTree(t, { of, ...options });
        assert.equal(tree.total[0], whole, `${of} ${JSON.stringify(options)}`);
        const callers = new web.Callers(tree);
        assert.equal([...callers.kidsOf(0)].reduce((sum, k) => sum + callers.total[k], 0), whole);
      }
    }
  });
}

test("CPU samples by stack are what the export says", (context) => {
  const trace = join(folder, `samples-${process.pid}.pftrace`),
    spin = "def inner():\n  sum(range(300000))\nfor _ in range(120): inner()";
  const done = run("run", "-q", "--sample", "500", "-o", trace, "--", "python3", "-c", spin);
  const theirs = done.status === 0 ? exported(trace, "--weight", "cpu") : new Map();
  if (!theirs.size) return context.skip("this machine lets nobody take CPU samples");
  const t = timelineOf(makePage(trace), 0);
  assertSameStacks(folded(web.foldedText(web.sliceTree(t, { of: "cpu" }))), theirs, "samples");
  const middle = t.cpu_samples.time[t.cpu_samples.n >> 1];
  const [early, late] = [{ to: middle }, { from: middle }].map((o) => web.sliceTree(t, { of: "cpu", ...o }).total[0]);
  assert.ok(early > 0 && late > 0);
  assert.equal(early + late, [...theirs.values()].reduce((sum, ns) => sum + ns, 0));
  return withPage(makePage(trace), { hash: "#/flame?of=cpu" }, async (tab) => {
    await open(tab);
    assert.equal(await tab.inputValue("#flame-of"), "cpu");
    assert.match(await tab.textContent("#flame > div p[role=status]"), /of CPU samples.*A sample stands for/);
  });
});

test("time in a step is what the export says of the step", () => {
  const t = timelineOf(makePage(python), 0),
    step = t.steps[1];
  const ours = folded(web.foldedText(web.sliceTree(t, { of: "host", from: step.start, to: step.end })));
  assertSameStacks(ours, exported(python, "--steps", String(step.number)), step.name);
});

// The report's tree has operators and annotations; the flame graph's, with the same frames, has its nodes.
test("operators by stack are the report's call tree", () => {
  const rows = runJson(python).ranks[0].call_tree.nodes,
    tree = web.sliceTree(timelineOf(makePage(python), 0), { of: "host", frames: "operators", areStepsOne: true });
  const paths = new Map(),
    names = [""];
  for (let k = 1; k < tree.above.length; k++) {
    names[k] = tree.kindOf(k) === "track" ? "" : `${names[tree.above[k]]};${tree.nameOf(k)}`;
    if (!names[k]) continue;
    const sum = paths.get(names[k]) ?? { calls: 0, total: 0 };
    paths.set(names[k], { calls: sum.calls + tree.calls[k], total: sum.total + tree.total[k] });
  }
  const above = [];
  assert.ok(rows.length > 20);
  for (const row of rows) {
    above[row.depth] = `${row.depth ? above[row.depth - 1] : ""};${row.name}`;
    const ours = paths.get(above[row.depth]);
    assert.equal(ours.calls, row.calls, above[row.depth]);
    // a frame that crosses the end of a step has its time in the step, so that stacks add up
    if (/^aten::/.test(row.name)) assert.ok(Math.abs(ours.total - row.host_total_ns) <= 1000 * row.calls, `${above[row.depth]}: ${ours.total}, ${row.host_total_ns}`);
  }
});

const infoOf = (tab) => tab.textContent("#flame .info h3");

async function open(tab) {
  await tab.waitForSelector("#flame[data-ready]", { state: "attached" });
  await tab.waitForTimeout(150);
}

test("a search says its share, a frame is chosen by keys, widened, and leads to its slices", () =>
  withPage(makePage(python), { hash: "#/flame" }, async (tab) => {
    await open(tab);
    const t = timelineOf(makePage(python), 0),
      tree = web.sliceTree(t, { of: "host", areStepsOne: true });
    const isMatch = Uint8Array.from(tree.names, (n) => n.toLowerCase().includes("backward")),
      { sum, stacks } = web.matchedTotal(tree, isMatch);
    assert.ok(sum > 0 && sum < tree.total[0]);
    await tab.keyboard.press("Tab");
    await tab.focus("canvas.flame");
    await tab.keyboard.press("/");
    await tab.keyboard.type("BACKWARD");
    const said = await tab.textContent("#flame .tools [role=status]");
    assert.ok(said.includes(`${((100 * sum) / tree.total[0]).toFixed(1)} %, in ${stacks} place`), said);
    await tab.keyboard.press("Enter");
    assert.match((await infoOf(tab)).toLowerCase(), /backward/);

    await tab.focus("canvas.flame");
    await tab.keyboard.press("Home");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"]) await tab.keyboard.press(key);
    const name = await infoOf(tab);
    const first = [0, 1, 2].reduce((at) => tree.kidsOf(at)[0], 0);
    assert.equal(name, tree.nameOf(first));
    assert.ok((await tab.textContent("body > [aria-live=polite]")).startsWith(name));
    await tab.keyboard.press("Enter");
    await tab.keyboard.press("ArrowRight"); // nothing else is in its row
    assert.equal(await infoOf(tab), name);
    await tab.keyboard.press("Escape");
    await tab.locator("#flame .jumps a", { hasText: "the longest of them" }).click();
    await tab.waitForSelector("#timeline .info h3");
    assert.equal(await tab.textContent("#timeline .info h3"), name);
    await tab.goBack();
    await open(tab);
    await tab.locator("#flame .jumps a", { hasText: "all slices of this name" }).click();
    await tab.waitForSelector("#timeline .info h3");
    assert.equal(await tab.inputValue("#timeline input[type=search]"), name);
  }));

test("a click widens a frame, and the address keeps what was chosen", () =>
  withPage(makePage(python), { hash: "#/flame?frames=operators&order=callers&step=3&steps=each&find=aten" }, async (tab) => {
    await open(tab);
    const chosen = () => tab.$$eval("#flame select", (all) => Object.fromEntries(all.map((s) => [s.id.slice(6), s.value])));
    const now = await chosen();
    assert.deepEqual([now.frames, now.order, now.step, now.steps], ["operators", "callers", "3", "each"]);
    assert.equal(await tab.inputValue("#flame input[type=search]"), "aten");
    await tab.selectOption("#flame-order", "left");
    await tab.selectOption("#flame-frames", "python");
    assert.match(await tab.evaluate(() => location.hash), /frames=python/);
    assert.doesNotMatch(await tab.evaluate(() => location.hash), /order=/);
    await tab.click("canvas.flame", { position: { x: 200, y: 60 } });
    const words = await tab.innerText("#flame .info");
    assert.match(words, /by itself/);
    await tab.evaluate(() => (location.hash = "#/flame?order=time"));
    await tab.waitForFunction(() => document.getElementById("flame-order").value === "time");
    assert.match(await tab.textContent("#flame > div p[role=status]"), /gaps left out/);
  }));

test("frames by name: what a screen reader gets, in the numbers of the tree", () =>
  withPage(makePage(python), { hash: "#/flame" }, async (tab) => {
    await open(tab);
    const rows = await copyCsv(tab, dataTable(tab, "flame", "Frames by name")),
      tree = web.sliceTree(timelineOf(makePage(python), 0), { of: "host" });
    const self = new Map();
    for (let k = 1; k < tree.above.length; k++) self.set(tree.nameOf(k), (self.get(tree.nameOf(k)) ?? 0) + tree.self[k]);
    for (const row of rows.filter((r) => !r.name.startsWith("ProfilerStep"))) assert.equal(Number(row.self_ns), self.get(row.name.replace(/^'/, "")), row.name);
    assert.equal(Math.round(rows.reduce((sum, r) => sum + Number(r.self_ns), 0)), tree.total[0]);
    await tab.click("#flame button:has-text('copy as folded')");
    await tab.waitForFunction(() => window.copied?.includes(";"));
    assertSameStacks(folded(await tab.evaluate(() => window.copied)), exported(python), "copied");
  }));

// Python frames, `deep` of them inside of each other, `wide` times.
function stackTrace(deep, wide, names) {
  const file = join(folder, `stack-${process.pid}-${deep}x${wide}.json`),
    events = [];
  for (let w = 0, id = 0; w < wide; w++)
    for (let d = 0; d < deep; d++, id++)
      events.push(
        `{"ph":"X","cat":"python_function","name":"model.py(${id % names}): layer_${id % names}","pid":1,"tid":1,"ts":${w * (2 * deep + 10) + d},"dur":${2 * (deep - d)},"args":{"Python id":${id}}}`,
      );
  writeFileSync(file, `{"schemaVersion":1,"traceEvents":[\n${events.join(",\n")}\n]}`);
  return file;
}

for (const [words, deep, wide, names] of [
  ["200,000 frames in one stack", 200_000, 1, 5000],
  ["200,000 frames in stacks of 100", 100, 2000, 40_000],
])
  test(`${words} open, and moving stays smooth`, async () => {
    const page = makePage(stackTrace(deep, wide, names));
    await withPage(page, { hash: "#/flame?frames=python" }, async (tab) => {
      await open(tab);
      const opened = await tab.evaluate(() => performance.now());
      if (deep > 512) assert.match(await tab.textContent("#flame > div p[role=status]"), /Stacks are cut at 512 frames/);
      await tab.evaluate(() => performance.clearMeasures());
      await tab.focus("canvas.flame");
      const frame = () => tab.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
      for (let k = 0; k < 80; k++) {
        await tab.keyboard.press(["ArrowDown", "ArrowDown", "ArrowRight", "Enter", "ArrowDown", "Backspace", "ArrowDown", "Escape"][k % 8]);
        await frame();
        await tab.evaluate((y) => (document.querySelector(".flame-box").scrollTop = y), (k * 311) % 9000);
        await frame();
      }
      const spent = (await tab.evaluate(() => performance.getEntriesByType("measure").filter((e) => /^flame-(frame|layout)$/.test(e.name)).map((e) => e.duration))).sort((a, b) => a - b);
      const p95 = spent[Math.floor(spent.length * 0.95)];
      const client = await tab.context().newCDPSession(tab);
      await client.send("HeapProfiler.collectGarbage");
      const heap = await tab.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
      console.log(`budget: ${words}: frame p95 ${p95.toFixed(1)} ms of 20, heap ${heap.toFixed(0)} MB of 150`);
      assert.ok(spent.length > 100 && p95 <= 3 * 20, `${p95} ms`);
      assert.ok(heap <= 150, `${heap} MB`);
      // and its timeline: every frame a slice, of which most rows are narrower than a pixel
      await tab.evaluate(() => {
        document.querySelector('#nav a[href="#/timeline"]').addEventListener("click", () => performance.mark("asked"));
      });
      await visit(tab, "timeline");
      const answered = await tab.evaluate(() => performance.getEntriesByName("timeline-interactive")[0].startTime - performance.getEntriesByName("asked")[0].startTime);
      console.log(`budget: ${words}: flame graph seen ${opened.toFixed(0)} ms of 2000, timeline answers ${answered.toFixed(0)} ms of 1000`);
      assert.ok(opened <= 3 * 2000 && answered <= 3 * 1000, `${opened} ms, ${answered} ms`);
    });
  });
