// SPDX-License-Identifier: Apache-2.0
// The timeline under keys, mouse, wheel and fingers: what it shows is checked against the trace, read by the test itself.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertShows, copyCsv, parseNumber, visit, withPage } from "./browser.mjs";
import { smallJob } from "./make.mjs";
import { blocksOf, examples, folder, layoutOf, makePage, real, runJson, timelineOf, web } from "./program.mjs";
import { isDevice, readSlices, sumUp } from "./trace.mjs";

// A job with a GPU that the test made; where there are others' traces, a real one goes through the same.
const job = smallJob();
const subjects = { "a made job": { page: makePage(job[0]), file: job[0] } };
if (real.memory) subjects["a real trace"] = { page: makePage(real.memory.path), file: real.memory.file };
for (const s of Object.values(subjects)) {
  s.trace = readSlices(s.file).slices;
  s.timeline = timelineOf(s.page, 0);
  s.layout = layoutOf(s.timeline);
  s.launches = new Map(s.trace.filter((e) => /runtime|driver/i.test(e.cat)).map((e) => [e.args?.correlation, e]));
  s.kernels = s.trace
    .filter((e) => isDevice(e) && s.launches.has(e.args?.correlation) && e.dur > 1000)
    .sort((a, b) => a.start - b.start);
}

test("timelines are unpacked by a worker, made of the page's own functions", () =>
  withPage(subjects["a made job"].page, { hash: "#/timeline" }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    assert.equal(tab.workers().length, 1, "one that fails is ended, and the page does its work");
  }));

// The address is written 250 ms after the last movement; a later timer of the same page fires behind it, however slow it is.
const settled = (tab) => tab.evaluate(() => new Promise((resolve) => setTimeout(resolve, 270)));

async function address(tab) {
  await settled(tab);
  const query = new URLSearchParams((await tab.evaluate(() => location.hash)).split("?")[1]);
  const [at, row] = (query.get("slice") ?? "").split(".").map(Number);
  return {
    from: Number(query.get("from")),
    to: Number(query.get("to")),
    length: query.get("to") - query.get("from"),
    slice: query.has("slice") ? { at, row } : null,
    query,
  };
}

const onTimeline = (subject, hash, use, options = {}) =>
  withPage(subject.page, { hash: `#/timeline${hash}`, ...options }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    await tab.focus("canvas.timeline");
    await settled(tab);
    return use(tab);
  });

// Where a lane's row stands in the window, and a time on it.
async function placer(tab, layout) {
  const box = await tab.locator("canvas.timeline").boundingBox(),
    left = box.width < 520 ? 96 : 180,
    { from, to } = await address(tab);
  return {
    box,
    left,
    from,
    to,
    pixel: (to - from) / (box.width - left),
    x: (ns) => box.x + left + ((ns - from) / (to - from)) * (box.width - left),
    y: (lane, depth = 0) => box.y + web.rulerHeight + lane.y + depth * web.rowHeight + web.rowHeight / 2,
    time: (x) => from + ((x - box.x - left) / (box.width - left)) * (to - from),
  };
}

// The lane and depth where a slice of the trace is drawn.
function placeOf({ timeline: t, layout }, slice) {
  for (const lane of layout.lanes) {
    if (lane.kind !== "track") continue;
    for (const [depth, row] of lane.rows.entries())
      for (let i = row.from; i < row.to; i++)
        if (t.start[i] === slice.start && t.dur[i] === slice.dur && t.labels[t.label[i]] === slice.name)
          return { lane, depth, row: t.row[i], index: i };
  }
  throw new Error(`${slice.name} is on no lane`);
}

// A piece of the canvas as a number; a negative size counts from the far border, whose last column is half a pixel.
const pixels = (tab, x, y, width, height) =>
  tab.$eval(
    "canvas.timeline",
    (c, [x, y, width, height]) => {
      const { data } = c
        .getContext("2d")
        .getImageData(x, y, width < 0 ? c.width + width : width, height < 0 ? c.height + height : height);
      return data.reduce((hash, v) => (Math.imul(hash, 31) + v) | 0, 7);
    },
    [x, y, width, height],
  );

const around = (slice, more = 6) =>
  `?from=${Math.round(slice.start - slice.dur * more)}&to=${Math.round(slice.end + slice.dur * more)}`;
const infoName = (tab) => tab.textContent("#timeline .info h3");
const fact = (tab, name) =>
  tab
    .locator("#timeline .info dt", { hasText: new RegExp(`^${name}$`) })
    .locator("xpath=following-sibling::dd[1]")
    .textContent();

async function clickSlice(tab, subject, slice) {
  const place = placeOf(subject, slice),
    at = await placer(tab);
  await tab.mouse.click(at.x((Math.max(slice.start, at.from) + Math.min(slice.end, at.to)) / 2), at.y(place.lane, place.depth));
  await tab.waitForSelector("#timeline .info h3");
  return place;
}

// When the GPU worked on each step, from the trace: what was launched between the marks of the step.
test("GPU steps are a row: what each step launched, from its first start to its last end", async () => {
  const subject = subjects["a made job"],
    { timeline: t, layout } = subject,
    marks = subject.trace.filter((e) => /^ProfilerStep#/.test(e.name));
  assert.ok(marks.length > 2);
  const expected = marks.map((m) => {
    const work = subject.trace.filter((e) => {
      const call = isDevice(e) && subject.launches.get(e.args.correlation);
      return call && call.start >= m.start && call.start < m.end;
    });
    return [m.name, Math.min(...work.map((e) => e.start)), Math.max(...work.map((e) => e.end))];
  });
  assert.deepEqual(
    t.steps.map((s) => [s.name, s.gpu_start, s.gpu_end]),
    expected,
  );
  assert.deepEqual(
    t.steps.map((s) => [s.host_start, s.host_end]),
    marks.map((m) => [m.start, m.end]),
    "those on top are as the host marks them",
  );
  const lane = layout.lanes.find((l) => l.kind === "steps"),
    [, from, to] = expected[1];
  assert.equal(layout.lanes.indexOf(lane), 0, "they stand above the streams");
  await onTimeline(subject, "", async (tab) => {
    const at = await placer(tab);
    await tab.mouse.move(at.x((from + to) / 2), at.y(lane));
    assert.match(await tab.textContent("#timeline .tip"), new RegExp(`^${expected[1][0]}GPU step · `));
    await tab.mouse.click(at.x((from + to) / 2), at.y(lane));
    assert.deepEqual((await address(tab)).query.get("range"), `${from}.${to}`);
    await tab.keyboard.press("g");
    assert.deepEqual((await address(tab)).query.get("range"), `${expected[2][1]}.${expected[2][2]}`);
    assert.match(await tab.textContent("#timeline .tracks"), /GPU steps/);
  });
});

for (const [name, subject] of Object.entries(subjects)) {
  const { trace, kernels } = subject,
    middle = kernels[kernels.length >> 1];

  test(`keys zoom and move: ${name}`, () =>
    onTimeline(subject, "", async (tab) => {
      const whole = await address(tab),
        near = (a, b, what) => assert.ok(Math.abs(a - b) <= 2 + whole.length * 1e-9, `${what}: ${a}, not ${b}`);
      const centre = (v) => (v.from + v.to) / 2;
      assert.ok(
        whole.from <= 0 && whole.to >= trace.reduce((most, e) => Math.max(most, e.end), 0),
        "all of it is in sight at first",
      );
      await tab.keyboard.press("w");
      const closer = await address(tab);
      near(closer.length, whole.length * 0.6, "w");
      near(centre(closer), centre(whole), "w stays in place");
      await tab.keyboard.press("d");
      const right = await address(tab);
      near(right.from, closer.from + closer.length * 0.2, "d");
      near(right.length, closer.length, "d keeps the length");
      await tab.keyboard.press("a");
      near((await address(tab)).from, closer.from, "a");
      await tab.keyboard.press("s");
      near((await address(tab)).length, whole.length, "s");
      for (let i = 0; i < 60; i++) await tab.keyboard.press("w");
      const least = await address(tab);
      assert.ok(least.length >= 49 && least.length <= 51, `zooming ends at ${least.length} ns`);
      await tab.keyboard.press("0");
      near((await address(tab)).length, whole.length, "0");
    }));

  test(`wheel and mouse zoom, move and scroll: ${name}`, () =>
    onTimeline(subject, around(middle, 40), async (tab) => {
      const before = await placer(tab),
        { box } = before,
        x = box.x + before.left + 300,
        y = box.y + 200;
      await tab.mouse.move(x, y);
      await tab.keyboard.down("Control");
      await tab.mouse.wheel(0, -80);
      await tab.keyboard.up("Control");
      let now = await placer(tab);
      assert.ok(now.to - now.from < 0.5 * (before.to - before.from), "ctrl + wheel zooms");
      assert.ok(Math.abs(now.time(x) - before.time(x)) <= 2 * now.pixel + 2, "what is under the pointer stays there");
      const zoomed = now;
      await tab.keyboard.down("Shift");
      await tab.mouse.wheel(0, 100);
      await tab.keyboard.up("Shift");
      now = await placer(tab);
      assert.ok(now.from > zoomed.from && Math.abs(now.to - now.from - (zoomed.to - zoomed.from)) <= 2, "shift + wheel moves");
      await tab.mouse.move(x, y);
      await tab.mouse.down();
      await tab.mouse.move(x - 60, y);
      await tab.mouse.move(x - 120, y);
      await tab.mouse.up();
      const dragged = await placer(tab);
      assert.ok(
        Math.abs(dragged.from - now.from - 120 * now.pixel) <= now.pixel + 2,
        `dragging by 120 pixels moves by ${(dragged.from - now.from) / now.pixel}`,
      );
      assert.equal((await address(tab)).slice, null, "dragging chooses nothing");

      // the wheel alone goes to the tracks below: what was at the top is no longer under the pointer
      const picture = () => pixels(tab, 0, 0, -1, -1);
      const seen = await picture(),
        { height } = subject.layout;
      await tab.mouse.wheel(0, 60);
      await tab.waitForTimeout(100);
      assert.equal(
        (await picture()) !== seen,
        height + web.rulerHeight + 20 > box.height,
        "the wheel scrolls where there is more than fits",
      );
    }));

  test(`a click says what the trace says; arrows walk: ${name}`, () =>
    onTimeline(subject, around(middle), async (tab) => {
      const place = await clickSlice(tab, subject, middle),
        { timeline: t } = subject;
      assert.equal(await infoName(tab), middle.name);
      assertShows(await fact(tab, "takes"), middle.dur, "takes");
      assertShows(await fact(tab, "begins"), middle.start, "begins");
      const same = trace.filter((e) => e.name === middle.name && e.cat === middle.cat),
        sum = same.reduce((all, e) => all + e.dur, 0);
      if (same.length > 1) {
        const [, count, mean, total] = /^([\d,]+) × (.+) = (.+), longest/.exec(await fact(tab, "same name"));
        assert.equal(Number(count.replaceAll(",", "")), same.length);
        assertShows(mean, sum / same.length, "mean");
        assertShows(total, sum, "total");
      }
      assert.deepEqual((await address(tab)).slice, { at: middle.start, row: place.row });

      // its row: everything of this track that no other slice holds
      const row = t.rows[place.row],
        expected = Array.from({ length: row.to - row.from }, (_, k) => t.start[row.from + k]);
      assert.ok(expected.every((v, i) => i === 0 || v > expected[i - 1]));
      const here = place.index - row.from;
      for (const [key, step] of [
        ["ArrowRight", 1],
        ["ArrowRight", 2],
        ["ArrowLeft", 1],
        ["ArrowLeft", 0],
        ["ArrowLeft", -1],
      ]) {
        await tab.keyboard.press(key);
        const at = (await address(tab)).slice;
        assert.equal(at.at, expected[Math.min(expected.length - 1, Math.max(0, here + step))], key);
        const of = trace.filter((e) => e.start === at.at).map((e) => e.name);
        assert.ok(of.includes(await infoName(tab)), `${await infoName(tab)} does not begin at ${at.at}`);
      }
      await tab.keyboard.press("Escape");
      assert.equal(await tab.locator("#timeline .info h3").count(), 0);
      assert.equal((await address(tab)).slice, null);
    }));

  test(`what launched it, and back: ${name}`, () =>
    onTimeline(subject, around(middle), async (tab) => {
      await clickSlice(tab, subject, middle);
      const call = subject.launches.get(middle.args.correlation),
        jump = tab.locator("#timeline .jumps button", { hasText: /^launched by/ });
      assertShows(await fact(tab, "queued after launch"), Math.max(0, middle.start - call.end), "waited");
      await jump.click();
      assert.equal(await infoName(tab), call.name);
      const there = await address(tab);
      assert.equal(there.slice.at, call.start);
      assert.ok(there.from <= call.end && there.to >= call.start, "the call is in sight");
      await tab
        .locator("#timeline .jumps button", { hasText: /^launches/ })
        .first()
        .click();
      assert.equal(await infoName(tab), middle.name);
      assert.equal((await address(tab)).slice.at, middle.start);
      // up to what holds the call, and down again
      await tab.locator("#timeline .jumps button", { hasText: /^launched by/ }).click();
      const holders = trace
        .filter((e) => e.pid === call.pid && e.tid === call.tid && e.start <= call.start && e.end >= call.end && e !== call)
        .sort((a, b) => a.dur - b.dur);
      await tab.focus("canvas.timeline");
      if (holders.length) {
        await tab.keyboard.press("ArrowUp");
        assert.equal((await address(tab)).slice.at, holders[0].start);
        assert.equal(await infoName(tab), holders[0].name);
        await tab.keyboard.press("ArrowDown");
        const at = (await address(tab)).slice.at;
        assert.ok(at >= holders[0].start && at < holders[0].end, "down goes inside");
      }
    }));

  test(`a chosen piece of time sums up what lies in it: ${name}`, () =>
    onTimeline(subject, around(middle, 12), async (tab) => {
      const at = await placer(tab),
        x0 = Math.round(at.box.x + at.left + 150),
        x1 = x0 + 400,
        y = at.box.y + 120;
      await tab.keyboard.down("Shift");
      await tab.mouse.move(x0, y);
      await tab.mouse.down();
      await tab.mouse.move(x0 + 100, y);
      await tab.mouse.move(x1, y);
      await tab.mouse.up();
      await tab.keyboard.up("Shift");
      const table = tab.locator("#timeline .info .data"),
        from = at.time(x0),
        to = at.time(x1),
        slack = 1.5 * at.pixel + 1;
      const rows = await copyCsv(tab, table),
        low = sumUp(trace, from + slack, to - slack),
        high = sumUp(trace, from - slack, to + slack);
      assertShows(
        (await tab.textContent("#timeline .info h3")).replace(" selected", ""),
        Math.round(to - from),
        "length of the piece",
      ) ?? 0;
      const ours = new Map();
      for (const r of rows)
        ours.set(r.name, {
          count: (ours.get(r.name)?.count ?? 0) + Number(r.count),
          total: (ours.get(r.name)?.total ?? 0) + Number(r.total_ns),
        });
      assert.ok(low.size > 0);
      for (const [what, least] of low)
        assert.ok(
          ours.get(what)?.total >= least.total && ours.get(what).count >= least.count,
          `${what}: ${JSON.stringify(ours.get(what))}, at least ${JSON.stringify(least)}`,
        );
      for (const [what, sum] of ours)
        assert.ok(
          sum.total <= high.get(what)?.total && sum.count <= high.get(what).count,
          `${what}: ${JSON.stringify(sum)}, at most ${JSON.stringify(high.get(what))}`,
        );
      assert.deepEqual(
        rows.map((r) => Number(r.total_ns)),
        rows.map((r) => Number(r.total_ns)).sort((a, b) => b - a),
      );
      await tab.locator("#timeline .info button", { hasText: /^clear$/ }).click();
      assert.equal(await tab.locator("#timeline .info .data").count(), 0);

      // the time of one slice, to the nanosecond
      await clickSlice(tab, subject, middle);
      await tab.keyboard.press("m");
      const exact = sumUp(trace, middle.start, middle.end),
        sums = new Map();
      for (const r of await copyCsv(tab, table))
        sums.set(r.name, {
          count: (sums.get(r.name)?.count ?? 0) + Number(r.count),
          total: (sums.get(r.name)?.total ?? 0) + Number(r.total_ns),
        });
      assert.deepEqual(Object.fromEntries([...sums].sort()), Object.fromEntries([...exact].sort()));
      await tab.focus("canvas.timeline");
      await tab.keyboard.press("Escape");
      assert.equal(await tab.locator("#timeline .info .data").count(), 0);
    }));

  test(`search counts and goes through the matches: ${name}`, () =>
    onTimeline(subject, "", async (tab) => {
      const counts = new Map();
      for (const e of trace) counts.set(e.name, (counts.get(e.name) ?? 0) + 1);
      const [word] = [...counts]
        .filter(([n, c]) => c > 3 && n.length > 5)
        .sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1))[0];
      const matches = trace.filter((e) => e.name.toLowerCase().includes(word.toLowerCase())).sort((a, b) => a.start - b.start);
      await tab.keyboard.press("/");
      assert.equal(await tab.evaluate(() => document.activeElement.type), "search");
      await tab.keyboard.type(word.toUpperCase());
      assert.equal(await tab.textContent("#timeline .tools .note"), `${matches.length.toLocaleString("en")} matches`);
      await tab.keyboard.press("Enter");
      await tab.focus("canvas.timeline");
      const starts = matches.map((e) => e.start);
      assert.equal((await address(tab)).slice.at, starts[0]);
      await tab.keyboard.press("n");
      assert.equal((await address(tab)).slice.at, starts[1]);
      await tab.keyboard.press("n");
      await tab.keyboard.press("p");
      assert.equal((await address(tab)).slice.at, starts[1]);
      await tab.keyboard.press("p");
      await tab.keyboard.press("p");
      const last = await address(tab);
      assert.equal(last.slice.at, starts[starts.length - 1], "before the first comes the last");
      assert.ok(last.from <= last.slice.at && last.to >= last.slice.at, "a match is in sight");
      assert.equal(last.query.get("find"), word.toUpperCase());
      await tab.fill("#timeline input[type=search]", "nobody has this name");
      assert.equal(await tab.textContent("#timeline .tools .note"), "no match");
      await tab.focus("#timeline input[type=search]");
      await tab.keyboard.press("Escape");
      assert.equal(await tab.textContent("#timeline .tools .note"), "");
      assert.ok(await tab.evaluate(() => document.activeElement.matches("canvas.timeline")));
    }));

  test(`an address shows the same again: ${name}`, async () => {
    const hash = await onTimeline(subject, around(middle), async (tab) => {
      await clickSlice(tab, subject, middle);
      await tab.keyboard.press("w");
      await settled(tab);
      return tab.evaluate(() => location.hash);
    });
    await withPage(subject.page, { hash }, async (tab) => {
      await tab.waitForSelector("#timeline[data-ready]");
      assert.equal(await infoName(tab), middle.name);
      assertShows(await fact(tab, "takes"), middle.dur, "takes");
      assert.equal((await address(tab)).query.toString(), new URLSearchParams(hash.split("?")[1]).toString());
    });
  });

  test(`the map moves what is in sight; names fold their tracks: ${name}`, () =>
    onTimeline(subject, "", async (tab) => {
      const { span, lanes } = subject.layout,
        map = await tab.locator("canvas.map").boundingBox();
      for (let i = 0; i < 4; i++) await tab.keyboard.press("w");
      // it stands over the tracks, behind their names
      const at = (x) => span[0] + ((x - map.x - 180) / (map.width - 180)) * (span[1] - span[0]);
      const x0 = map.x + map.width * 0.3,
        x1 = map.x + map.width * 0.7;
      await tab.mouse.move(x0, map.y + 20);
      await tab.mouse.down();
      let now = await address(tab);
      const slack = (2 * (span[1] - span[0])) / map.width;
      assert.ok(Math.abs((now.from + now.to) / 2 - at(x0)) <= slack, "a press on the map");
      await tab.mouse.move(x1, map.y + 20);
      await tab.mouse.up();
      now = await address(tab);
      assert.ok(Math.abs((now.from + now.to) / 2 - at(x1)) <= slack, "a drag on the map");

      const foldable = lanes.find((l) => l.kind === "track" && l.track.depth > 1),
        tracks = lanes.filter((l) => l.kind === "track");
      const below = tracks[tracks.indexOf(foldable) + 1];
      await tab.keyboard.press("0");
      const place = await placer(tab);
      if (place.y(foldable) > place.box.y + place.box.height) return;
      const line = () => pixels(tab, 200, Math.round(web.rulerHeight + foldable.y + web.rowHeight * 1.5), -201, 1);
      const open = await line();
      await tab.mouse.click(place.box.x + 40, place.y(foldable));
      await tab.waitForTimeout(100);
      assert.ok((await line()) !== open, "the second row has gone");
      assert.ok(
        !below || layoutOf(subject.timeline, { folded: [foldable.key] }).lanes.find((l) => l.key === below.key).y < below.y,
      );
      await tab.mouse.click(place.box.x + 40, place.y(foldable));
      await tab.waitForTimeout(100);
      assert.ok((await line()) === open, "and comes back");
    }));
}

test("pointing at a slice says what it is", () => {
  const subject = subjects["a made job"],
    { kernels } = subject,
    middle = kernels[kernels.length >> 1];
  return onTimeline(subject, around(middle), async (tab) => {
    const place = placeOf(subject, middle),
      at = await placer(tab);
    await tab.mouse.move(at.x((middle.start + middle.end) / 2), at.y(place.lane, place.depth));
    const [name, rest] = await tab.$eval("#timeline .tip:not([hidden])", (tip) => [
      tip.querySelector("strong").textContent,
      tip.textContent,
    ]);
    assert.equal(name, middle.name);
    assertShows(rest.split(" · ")[1], middle.dur, "tip");
    await tab.mouse.move(at.box.x + 300, at.box.y + 10);
    assert.equal(await tab.locator("#timeline .tip:not([hidden])").count(), 0);
  });
});

test("a click takes what is under it before what is beside it", () => {
  const subject = subjects["a made job"],
    { timeline: t } = subject,
    lane = subject.layout.lanes.find((l) => l.kind === "track" && l.track.type === "stream"),
    row = lane.rows[0];
  // a kernel right behind another one, 3 pixels wide
  let i = row.from + 1;
  while (t.start[i] !== t.start[i - 1] + t.dur[i - 1]) i++;
  const middle = t.start[i] + t.dur[i] / 2,
    span = (t.dur[i] / 3) * 714; // pixels of the canvas behind the names, with the details beside it
  return onTimeline(subject, `?from=${Math.round(middle - span / 2)}&to=${Math.round(middle + span / 2)}`, async (tab) => {
    const at = await placer(tab);
    await tab.evaluate(() =>
      document.querySelector("canvas.timeline").addEventListener("pointermove", (e) => {
        window.offset = e.offsetX;
      }),
    );
    let x = at.x(t.start[i]) - 1,
      time; // the first place that the browser says is on it
    do {
      await tab.mouse.move((x += 0.5), at.y(lane));
      time = at.from + ((await tab.evaluate(() => window.offset)) - at.left) * at.pixel;
    } while (time <= t.start[i]);
    assert.ok(time < t.start[i] + at.pixel, "not within a pixel of the one before");
    await tab.mouse.down();
    await tab.mouse.up();
    assert.equal((await address(tab)).slice.at, t.start[i]);
  });
});

test("two fingers zoom", () => {
  const subject = subjects["a made job"];
  return onTimeline(
    subject,
    "",
    async (tab) => {
      const before = await placer(tab),
        { box } = before,
        client = await tab.context().newCDPSession(tab),
        y = box.y + 150;
      const touch = (type, ...xs) =>
        client.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x, y, id })) });
      const middle = box.x + before.left + 80,
        apart = [20, 40, 60, 80];
      await touch("touchStart", middle - 10, middle + 10);
      for (const d of apart) await touch("touchMove", middle - d, middle + d);
      await touch("touchEnd");
      const after = await placer(tab),
        factor = (before.to - before.from) / (after.to - after.from);
      assert.ok(factor > 5 && factor < 12, `fingers that go from 20 to 160 pixels apart zoom by ${factor}`);
      assert.ok(
        Math.abs(after.time(middle) - before.time(middle)) < 0.1 * (before.to - before.from),
        "what lies between them stays",
      );
      assert.equal((await address(tab)).slice, null);
      await touch("touchStart", middle);
      for (const d of [20, 40, 60]) await touch("touchMove", middle - d);
      await touch("touchEnd");
      assert.ok((await address(tab)).from > after.from, "one finger moves");
    },
    { hasTouch: true, viewport: { width: 390, height: 844 }, isMobile: true },
  );
});

for (const [name, path] of Object.entries({
  "two ranks without a GPU": examples["two ranks without a GPU"].path,
  // the real jobs of eight ranks have gains that only all ranks together show, and no replay of one rank draws them
})) {
  test(`the step without a finding is drawn beside the measured one: ${name}`, async () => {
    const page = makePage(path),
      report = runJson(path),
      shown = blocksOf(page)
        .map((b) => b.rank)
        .find((r) => r !== undefined && timelineOf(page, r).scenarios.length > 0);
    const t = timelineOf(page, shown);
    assert.ok(t.scenarios.length > 0);
    assert.ok(t.scenarios.every((s) => report.findings.some((f) => f.id === s.id)));
    for (const s of t.scenarios) {
      const finding = report.findings.find((f) => f.id === s.id),
        measured = s.measured_end - s.start,
        simulated = s.simulated_end - s.start;
      const span = t.steps.find((x) => Math.abs(x.end - s.measured_end) < 1e6);
      assert.ok(simulated < measured, s.id);
      // one step of several: nearer to the mean the more alike they are
      const slack = report.ranks[shown].steps.counted <= 1 ? 2 : 10;
      assert.ok(
        Math.abs((100 * (measured - simulated)) / measured - finding.gain_pct) < slack,
        `${s.id}: ${(100 * (measured - simulated)) / measured} % of the step, the finding says ${finding.gain_pct}`,
      );
      assert.ok(span, `${s.id} does not end with a step`);
    }
    await withPage(page, { hash: "#/findings" }, async (tab) => {
      await tab.locator(`#finding-${t.scenarios[0].id} a.action`).click();
      await tab.waitForSelector("#timeline[data-ready]");
      await settled(tab);
      const s = t.scenarios[0],
        words = await tab.innerText("#timeline p[role=status]"),
        [, measured, simulated] = /measured (.+?); .* takes (.+?)\. /.exec(words);
      assertShows(measured, s.measured_end - s.start, "measured");
      assertShows(simulated, s.simulated_end - s.start, "simulated");
      assert.equal(await tab.inputValue("#timeline select"), s.id);
      const now = await address(tab);
      assert.equal(now.query.get("whatif"), s.id);
      assert.ok(now.from <= s.start && now.to >= s.measured_end, "the whole step is in sight");

      // a lane of the replay stands beside its track, and a click on it says that it is simulated
      const layout = layoutOf(t, { scenario: s.id }),
        lane = layout.lanes.find((l) => l.kind === "track" && l.track.scenario !== undefined);
      const row = lane.rows[0];
      let long = row.from;
      for (let i = row.from; i < row.to; i++) if (t.dur[i] > t.dur[long]) long = i;
      await tab.evaluate(
        (hash) => {
          location.hash = hash;
        },
        `#/timeline?r=${now.query.get("r")}&whatif=${s.id}&from=${t.start[long] - t.dur[long]}&to=${t.start[long] + 2 * t.dur[long]}`,
      );
      const at = await placer(tab);
      await tab.mouse.click(at.x(t.start[long] + t.dur[long] / 2), at.y(lane));
      assert.match(await fact(tab, "simulated"), /replay/);
      assertShows(await fact(tab, "takes"), t.dur[long], "takes");

      await tab.selectOption("#timeline select", "");
      await settled(tab);
      assert.doesNotMatch(await tab.innerText("#timeline p[role=status]"), /replay/, "the words of the replay stay behind");
      assert.equal((await address(tab)).query.get("whatif"), null);
    });
  });
}

test("another rank beside it", async () => {
  const page = makePage(...job);
  await withPage(page, {}, async (tab) => {
    await visit(tab, "timeline");
    const find = tab.locator("#timeline input[type=search]"),
      count = async () => parseNumber((await tab.textContent("#timeline .tools .note")).replace(/ match.*/, "")).value;
    await find.fill("ProfilerStep");
    const steps = job.map((file) => readSlices(file).slices.filter((e) => e.name.includes("ProfilerStep")).length);
    const shown = Number(await tab.inputValue("#rank"));
    assert.equal(await count(), steps[shown]);
    await tab.locator("#timeline details.others summary").click();
    await tab.locator(`#timeline details.others input[value="${1 - shown}"]`).check();
    await tab.waitForFunction(
      (before) => document.querySelector("#timeline .tools .note").textContent !== before,
      `${steps[shown]} matches`,
    );
    assert.equal(await count(), steps[0] + steps[1]);
    await tab.locator(`#timeline details.others input[value="${1 - shown}"]`).uncheck();
    await tab.waitForFunction(
      (before) => document.querySelector("#timeline .tools .note").textContent !== before,
      `${steps[0] + steps[1]} matches`,
    );
    assert.equal(await count(), steps[shown]);
  });
});

test("at 1366 × 768 a click shows the details without scrolling; on a phone as a sheet", async () => {
  const subject = subjects["a made job"],
    middle = subject.kernels[subject.kernels.length >> 1];
  for (const [width, height] of [
    [1366, 768],
    [390, 844],
  ])
    await onTimeline(
      subject,
      around(middle),
      async (tab) => {
        await clickSlice(tab, subject, middle);
        const box = await tab.locator("#timeline .info h3").boundingBox();
        assert.ok(box.y >= 0 && box.y + box.height <= height, `${width}: the name is at ${box.y}`);
        assert.equal(await tab.evaluate(() => scrollY), 0);
        const colours = await tab.locator("#timeline .dock .legend").boundingBox();
        assert.ok(width < 1000 || colours.y + 40 < height, "colours are explained in sight");
        await tab.click("#timeline .info .close");
        assert.equal(await tab.locator("#timeline .info h3").count(), 0);
      },
      { viewport: { width, height } },
    );
});

test("letters work without the focus on the canvas; the wheel moves the page where all tracks fit", () => {
  const subject = subjects["a made job"];
  return onTimeline(
    subject,
    "",
    async (tab) => {
      await tab.evaluate(() => document.activeElement.blur());
      const before = await address(tab);
      await tab.keyboard.press("w");
      assert.ok((await address(tab)).length < before.length, "w zooms");
      await tab.focus("#timeline input[type=search]");
      await tab.keyboard.type("w");
      assert.equal(await tab.inputValue("#timeline input[type=search]"), "w", "what is typed is text");
      const { box } = await placer(tab);
      assert.ok(subject.layout.height + web.rulerHeight + 20 <= box.height + 1, "all tracks fit");
      assert.equal(await tab.$eval("canvas.timeline", (c) => getComputedStyle(c).touchAction), "pan-y");
      await tab.evaluate(() => (document.body.style.paddingBottom = "2000px"));
      await tab.mouse.move(box.x + 300, box.y + 100);
      await tab.mouse.wheel(0, 120);
      await tab.waitForFunction(() => scrollY > 50);
    },
    { viewport: { width: 1280, height: 1100 } },
  );
});

// Kernels of 330 ns each microsecond, and then of 990 ns, on one stream.
test("a stream that is busy for a third of the time looks paler than one that is busy", async () => {
  const events = [];
  for (let i = 0; i < 40000; i++)
    events.push({
      ph: "X",
      cat: "kernel",
      name: "k",
      pid: 0,
      tid: 7,
      ts: 1000 + i,
      dur: i < 20000 ? 0.33 : 0.99,
      args: { device: 0, stream: 7, correlation: i + 1 },
    });
  const file = join(folder, `busy-${process.pid}.json`);
  writeFileSync(file, JSON.stringify({ traceEvents: events }));
  await withPage(makePage(file), { hash: "#/timeline" }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    await settled(tab);
    const at = await placer(tab),
      color = (ns) =>
        tab.$eval(
          "canvas.timeline",
          (c, [x, y]) => [...c.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3).reduce((a, b) => a + b),
          [Math.round(at.x(ns) - at.box.x), web.rulerHeight + 8],
        );
    const [idle, third, full] = [await color(-100_000), await color(10_000_000), await color(30_000_000)];
    const share = (third - idle) / (full - idle);
    assert.ok(share > 0.25 && share < 0.55, `a third busy is drawn at ${share} of the way to busy`);
  });
});

test("tracks are hidden, filtered and pinned", () => {
  const subject = subjects["a made job"];
  return onTimeline(subject, "", async (tab) => {
    const top = () => pixels(tab, 0, web.rulerHeight, 170, 16),
      height = async () => (await tab.locator("canvas.timeline").boundingBox()).height,
      first = await top(),
      all = await height();
    const edge = async () => (await tab.locator("canvas.timeline").boundingBox()).y,
      before = await edge();
    await tab.click("#timeline .tracks summary");
    assert.equal(await edge(), before, "the list lies over the tracks");
    const names = await tab.locator("#timeline .tracks label").allTextContents();
    assert.equal(names.length, subject.layout.lanes.filter((l) => l.kind !== "group").length);
    const host = names.findIndex((x) => /main|thread/.test(x));
    await tab.locator("#timeline .tracks button").nth(host).click();
    await settled(tab);
    assert.notEqual(await top(), first, "the host thread is on top");
    await tab.locator("#timeline .tracks button").nth(host).click();
    await settled(tab);
    assert.equal(await top(), first);
    await tab.locator("#timeline .tracks input[type=checkbox]").nth(0).uncheck();
    await settled(tab);
    const second = await top();
    assert.notEqual(second, first, "the first track is hidden");
    await tab.locator("#timeline .tracks input[type=checkbox]").nth(0).check();
    await tab.fill("#timeline .tracks input[type=text]", "stream 7");
    await settled(tab);
    assert.equal(await top(), second, "the stream below the GPU steps");
    assert.ok((await height()) < all, "the canvas is as high as what is left");
  });
});

test("shift and a click measure between two slices; range and marks are in the address", () => {
  const subject = subjects["a made job"],
    { timeline: t } = subject,
    lane = subject.layout.lanes.find((l) => l.kind === "track" && l.track.type === "stream"),
    row = lane.rows[0],
    a = row.from + 10,
    b = a + 2;
  return onTimeline(subject, `?from=${t.start[a] - 20000}&to=${t.start[b] + t.dur[b] + 20000}`, async (tab) => {
    const at = await placer(tab);
    await tab.mouse.click(at.x(t.start[a] + t.dur[a] / 2), at.y(lane));
    await tab.keyboard.press("b");
    await tab.keyboard.down("Shift");
    await tab.mouse.click(at.x(t.start[b] + t.dur[b] / 2), at.y(lane));
    await tab.keyboard.up("Shift");
    const [, starts, gap] = /^start to start (.+?); end to start (.+?); end to end/.exec(await tab.textContent("#timeline .measured"));
    assertShows(starts, t.start[b] - t.start[a], "start to start");
    assertShows(gap, t.start[b] - t.start[a] - t.dur[a], "end to start");
    const { query } = await address(tab);
    assert.equal(query.get("range"), `${t.start[a]}.${t.start[b] + t.dur[b]}`);
    assert.equal(query.get("marks"), String(t.start[a]));
    await withPage(subject.page, { hash: `#/timeline?${query}` }, async (other) => {
      await other.waitForSelector("#timeline .info h3");
      assert.equal((await address(other)).query.toString(), query.toString());
    });
  });
});

test("tracks that are neither a stream nor a thread are called by what they hold", () => {
  const event = (cat, name, pid, tid, ts, args = {}) => ({ ph: "X", cat, name, pid, tid, ts, dur: 5, args }),
    path = join(folder, `tracks-${process.pid}.json`);
  writeFileSync(
    path,
    JSON.stringify({
      schemaVersion: 1,
      traceEvents: [
        { ph: "M", name: "thread_name", pid: 0, tid: 7, ts: 0, args: { name: "stream 7 " } },
        event("cuda_runtime", "cudaLaunchKernel", 1, 1, 0, { correlation: 1 }),
        event("cuda_runtime", "cudaEventQuery", 1, -549452224, 3, { correlation: 2 }),
        event("kernel", "gemm", 0, 7, 10, { device: 0, stream: 7, correlation: 1 }),
        event("gpu_user_annotation", "forward", 0, 7, 10),
        event("cuda_sync", "Stream Wait Event", 0, 20, 30, { stream: 20 }),
        event("overhead", "Command Buffer Full", -1, 0, 40),
      ],
    }),
  );
  const t = timelineOf(makePage(path), 0),
    kindsOf = (track) => t.rows.slice(track.row, track.row + track.depth).flatMap((r) => Array.from({ length: r.to - r.from }, (_, k) => web.kindOf(t, r.from + k)));
  const names = Object.fromEntries(t.tracks.map((track) => [kindsOf(track)[0] + (track.tid < 0 ? " without a number" : ""), web.trackName(track)]));
  assert.deepEqual(names, {
    kernel: "GPU 0 · stream 7",
    runtime: "thread 1",
    "runtime without a number": "unnamed thread",
    gpu_user_annotation: "annotations · stream 7",
    sync: "waits · stream 20",
    overhead: "profiler",
  });
});
