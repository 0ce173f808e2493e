// SPDX-License-Identifier: Apache-2.0
// Names of strangers stay names, and a page that was changed or cut says so instead of hanging.

import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { copyCsv, dataTable, viewsOf, visit, withPage } from "./browser.mjs";
import { makeTrace } from "./make.mjs";
import { blocksOf, examples, folder, jsonBlock, makePage, run, timelineOf, writePage } from "./program.mjs";

const evil = [
  "</script><script>window.__pwned=1</script>",
  "<img src=x onerror=window.__pwned=1>",
  "<!--",
  "--><svg onload=window.__pwned=1>",
  '"\'` onmouseover=window.__pwned=1 x="',
  "\u202egnp.exe\u202c\u2066",
  "\ud800",
  "\u0000",
  "a\u2028b\u2029c",
  "javascript:window.__pwned=1",
  "=cmd|' /C calc'!A0",
  "+1+1",
  "-2+3",
  "@SUM(A1)",
  "\t=1+1",
  "&lt;b&gt;&#60;i&#62;",
  "${window.__pwned=1}",
  "__proto__",
  "constructor",
  "\\u003cscript\\u003e",
  "]]>",
  "</style></title></textarea><iframe src=javascript:window.__pwned=1>",
  "x".repeat(1_000_000),
];

// Each name of the trace begins with another of them; in JSON's own escapes where raw text is no JSON.
let turn = 0;
const given = new Map();
function rename(name) {
  if (/^(ProfilerStep|enumerate)/.test(name)) return name;
  if (!given.has(name)) given.set(name, evil[turn++ % (turn > 30 ? evil.length - 1 : evil.length)]);
  return JSON.stringify(given.get(name) + name).slice(1, -1);
}

function hostileTrace() {
  const every = evil.slice(0, -1),
    raw = join(folder, "hostile.json");
  const more = every
    .flatMap((e, i) => [
      { ph: "X", cat: "user_annotation", name: `${e}step`, pid: 100, tid: 1, ts: 5_000_000_000 + i * 3, dur: 1 },
      {
        ph: "X",
        cat: "cpu_op",
        name: `${e}op`,
        pid: 100,
        tid: 50 + i,
        ts: 5_000_000_100 + i * 3,
        dur: 2,
        args: { "Input Dims": [[e]], "Input type": [e], "Call stack": e, "Module Hierarchy": e },
      },
      {
        ph: "X",
        cat: "kernel",
        name: `${e}kernel`,
        pid: 0,
        tid: 7,
        ts: 4_999_999_000 + i * 3,
        dur: 2,
        args: { device: 0, stream: 30 + (i % 3), "Collective name": i % 2 ? e : undefined, dtype: e },
      },
      { ph: "M", name: "thread_name", pid: 100, tid: 50 + i, ts: 0, args: { name: e } },
      { ph: "M", name: "process_name", pid: 100 + i, tid: 0, ts: 0, args: { name: e } },
      { ph: "C", name: e, pid: 100, tid: 1, ts: 5_000_000_000 + i, args: { [e]: i } },
    ])
    .map((event) => JSON.stringify(event));
  for (let k = 1; k < 4; k++)
    more.push(
      JSON.stringify({
        ph: "X",
        cat: "user_annotation",
        name: `ProfilerStep#${evil[0]}${k}`,
        pid: 100,
        tid: 3,
        ts: 5_000_000_000 + k * 10,
        dur: 9,
      }),
    );
  makeTrace(raw, {
    steps: 3,
    launches: 40,
    rename,
    more,
    host: "<b>host</b>",
    head: `"pt</script>":${JSON.stringify(evil[0])},"record_shapes":1,`,
  });
  // bytes that are no UTF-8 and raw control characters go in behind JSON's back; the file's own name is as bad
  const bytes = readFileSync(raw),
    at = bytes.indexOf("cudaMemcpyAsync");
  bytes.set([0xff, 0xc0, 0x80, 0x1b], at);
  const file = join(folder, `"><img src=x onerror=window.__pwned=1> '=&lt;${"\u202e"}.json`);
  writeFileSync(raw, bytes);
  renameSync(raw, file);
  return file;
}

const page = makePage(hostileTrace());
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/u;

// What a page of ours consists of, and nothing else.
const foreign = (tab) =>
  tab.evaluate(() => ({
    pwned: window.__pwned,
    scripts: document.querySelectorAll("script:not([type])").length,
    modules: document.querySelectorAll("script[type=module]").length,
    blocks: [...document.querySelectorAll("script[type]:not([type=module])")].every((s) => s.type === "application/octet-stream"),
    elements: document.querySelectorAll("img, iframe, object, embed, link, base, form, style:not(head > style), video, audio")
      .length,
    metas: document.querySelectorAll("meta").length,
    handlers: [...document.querySelectorAll("*")].filter((e) =>
      [...e.attributes].some((a) => /^on|^style$/.test(a.name) && !(a.name === "style" && e.matches(".tip, .help, canvas.timeline"))),
    ).length,
    links: [...document.querySelectorAll("a")]
      .filter((a) => !/^#/.test(a.getAttribute("href")))
      .map((a) => a.getAttribute("href")),
  }));
const clean = { pwned: undefined, scripts: 0, modules: 1, blocks: true, elements: 0, metas: 5, handlers: 0, links: [] };

test("names never become markup, in any view", async () => {
  await withPage(page, {}, async (tab) => {
    assert.deepEqual(await foreign(tab), clean);
    for (const id of await viewsOf(tab)) {
      await visit(tab, id);
      for (const more of await tab.locator(`#${id} summary`).all()) if (await more.isVisible()) await more.click();
      assert.deepEqual(await foreign(tab), clean, id);
      const found = invisible.exec(await tab.evaluate((wanted) => document.getElementById(wanted).textContent, id));
      assert.equal(found && found[0].codePointAt(0).toString(16), null, `${id} holds what nobody sees`);
    }
    assert.equal(invisible.exec(await tab.textContent("header")), null);
  });
});

test("names are shown as they are written", async () => {
  await withPage(page, { hash: "#/operators" }, async (tab) => {
    const table = dataTable(tab, "operators", "Operators"),
      find = table.locator("input[type=search]");
    for (const [wanted, shown] of [
      ["</script><script>", "</script><script>window.__pwned=1</script>"],
      ["<!--", "<!--"],
      ["gnp.exe", "\\u202egnp.exe\\u202c\\u2066"],
      ["&lt;b&gt;", "&lt;b&gt;&#60;i&#62;"],
      ["javascript:", "javascript:window.__pwned=1"],
      ["__proto__", "__proto__"],
    ]) {
      await find.fill(wanted);
      assert.ok((await table.locator("tbody").textContent()).includes(shown), wanted);
      assert.deepEqual(await foreign(tab), clean);
    }
    await find.fill("=cmd|");
    const [row] = await copyCsv(tab, table);
    assert.match(row.name, /^'=cmd\|' \/C calc'!A0/);
    await find.fill("");
    const rows = await copyCsv(tab, table),
      text = jsonBlock(page, "data-words")
        .views.find((v) => v.word === "ops")
        .tables[0].columns.filter((c) => c.type === "text")
        .map((c) => c.key);
    assert.ok(rows.length > 40);
    for (const r of rows) for (const key of text) assert.doesNotMatch(r[key] ?? "", /^[=+\-@\t\r]/, key);
    await visit(tab, "kernels");
    const kernels = await copyCsv(tab, dataTable(tab, "kernels", "Kernels"));
    assert.ok(
      kernels.some((r) => r.name.length >= 1_000_000),
      "what is long is copied whole",
    );
  });
});

test("the timeline takes such names", async () => {
  await withPage(page, { hash: "#/timeline" }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    for (const name of ["</script>", "<img", "gnp.exe", "__proto__", "xxxxxxxxxxxxxxxx", "=cmd"]) {
      await tab.fill("#timeline input[type=search]", name);
      await tab.keyboard.press("Enter");
      await tab.waitForFunction((n) => document.querySelector("#timeline .info h3")?.textContent.includes(n), name);
      assert.deepEqual(await foreign(tab), clean, name);
      assert.ok((await tab.textContent("#timeline .info h3")).length < 1000);
    }
    await tab.focus("canvas.timeline");
    await tab.keyboard.press("m");
    assert.deepEqual(await foreign(tab), clean);
  });
  const hash = `#/timeline?find=${encodeURIComponent("<img src=x onerror=window.__pwned=1>")}&slice=1e999.-1&from=NaN&to=x&step=__proto__&whatif=constructor&r=-1`;
  await withPage(page, { hash }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    assert.deepEqual(await foreign(tab), clean);
  });
});

test("the flame graph takes such names", async () => {
  await withPage(page, { hash: "#/flame" }, async (tab) => {
    await tab.waitForSelector("#flame[data-ready]");
    for (const name of ["</script>", "<img", "gnp.exe", "__proto__", "constructor"]) {
      await tab.fill("#flame .flame-view input[type=search]", name);
      await tab.keyboard.press("Enter");
      await tab.waitForFunction((n) => document.querySelector("#flame .info h3")?.textContent.includes(n), name);
      assert.deepEqual(await foreign(tab), clean, name);
      const text = await tab.textContent("#flame");
      assert.equal(invisible.exec(text), null, name);
    }
    await tab.hover("canvas.flame", { position: { x: 100, y: 50 } });
    assert.deepEqual(await foreign(tab), clean);
  });
  const hash = `#/flame?find=${encodeURIComponent("<img src=x onerror=window.__pwned=1>")}&of=__proto__&kind=constructor&frames=toString&order=valueOf&track=1e9&step=__proto__&r=-1`;
  await withPage(page, { hash }, async (tab) => {
    await tab.waitForSelector("#flame[data-ready]");
    assert.deepEqual(await foreign(tab), clean);
  });
});

test("the policy lets nothing run but what the page brings", async () => {
  const metas = [...page.html.matchAll(/<meta http-equiv="Content-Security-Policy" content="([^"]*)">/g)];
  assert.equal(metas.length, 1);
  const policy = Object.fromEntries(
    metas[0][1]
      .split(";")
      .map((part) => part.trim().split(" "))
      .map(([key, ...values]) => [key, values.join(" ")]),
  );
  assert.doesNotMatch(metas[0][1], /unsafe|\*|https?:/);
  assert.equal(policy["default-src"], "'none'");
  assert.match(policy["script-src"], /^'sha256-[A-Za-z0-9+/=]{44}'$/);
  assert.match(policy["style-src"], /^'sha256-[A-Za-z0-9+/=]{44}'$/);
  assert.equal(policy["base-uri"], "'none'");
  assert.equal(policy["form-action"], "'none'");
  assert.ok(
    page.html.indexOf("Content-Security-Policy") < page.html.indexOf("<title>"),
    "before anything that comes from a trace",
  );
  // what got into the markup all the same would not run
  const broken = writePage(
    "hostile-inside.html",
    page.html.replace(
      "<main ",
      '<script>window.__pwned=1</script><img src=x onerror="window.__pwned=1"><style>body{display:none}</style><main ',
    ),
  );
  await withPage(broken, { isQuiet: true }, async (tab) => {
    assert.equal(await tab.evaluate(() => window.__pwned), undefined);
    assert.ok(await tab.locator(".verdict").isVisible());
    assert.equal(tab.problems.filter((p) => p.startsWith("request")).length, 0);
  });
});

const small = makePage(examples["two ranks without a GPU"].path);
const whole = Object.fromEntries(blocksOf(small).map((b) => [b.id ?? `timeline ${b.rank}`, b]));
const change = (name, id, f) => writePage(`hostile-${name}.html`, small.html.replace(whole[id].whole, f(whole[id].whole)));
const bomb = gzipSync(Buffer.alloc(200 * 2 ** 20), { level: 9 }).toString("base64");
const body = (f) => (block) => block.replace(/>([^<]*)</, (_, text) => `>${f(text)}<`);
const declared = (n) => (block) => block.replace(/data-bytes="\d+"/, `data-bytes="${n}"`);

const damages = {
  "declared too small": declared(100),
  "declared too large": declared(100_000_000),
  "declared as terabytes": declared(1e13),
  "declared as nothing": declared("x"),
  "declared below nothing": declared(-5),
  "base64 cut": body((text) => text.slice(0, Math.floor(text.length / 8) * 4)),
  "base64 cut in a letter": body((text) => text.slice(0, 1001)),
  "no base64": body(() => "%%%"),
  empty: body(() => ""),
  "a bomb": body(() => bomb),
  "a bomb that says so": (block) => declared(200 * 2 ** 20)(body(() => bomb)(block)),
  "a byte turned": body((text) => text.slice(0, 600) + (text[600] === "A" ? "B" : "A") + text.slice(601)),
  "other bytes": (block) => {
    const bytes = Buffer.from("nothing of the kind");
    return declared(bytes.length)(body(() => gzipSync(bytes).toString("base64"))(block));
  },
};

for (const [name, f] of Object.entries(damages)) {
  test(`a page that was changed says so and stands: ${name}`, async () => {
    await withPage(change("report", "data-report", f), { wait: false, isQuiet: true }, async (tab) => {
      await tab.waitForSelector("main > [role=alert]");
      assert.match(await tab.innerText("main > [role=alert]"), /could not be read/);
      assert.ok(await tab.locator(".verdict").isVisible());
      assert.equal(await tab.locator("main > section:visible").count(), await tab.locator("main > section").count());
      assert.ok((await tab.locator("#operators tbody tr").count()) >= 10, "the tables as they were written");
    });
    const rank = jsonBlock(small, "data-words").rank_index;
    await withPage(change("timeline", `timeline ${rank}`, f), { hash: "#/timeline", expected: [] }, async (tab) => {
      await tab.waitForFunction(() => /cannot be shown/.test(document.querySelector("#timeline p[role=status]")?.textContent));
      await visit(tab, "operators");
      assert.ok(await tab.locator("#operators .data").first().isVisible(), "the other views are there");
    });
  });
}

test("a browser that runs no worker shows the timeline all the same", async () => {
  const refused = writePage("hostile-no-worker.html", small.html.replace("worker-src blob:", "worker-src 'none'"));
  await withPage(refused, { hash: "#/timeline", isQuiet: true }, async (tab) => {
    await tab.waitForSelector("#timeline[data-ready]");
    assert.match(await tab.innerText("#timeline p[role=status]"), /^2,\d{3} slices/);
    assert.equal(tab.problems.length, 1, "the browser's own word about it");
  });
});

test("a timeline whose numbers lie is refused", () => {
  const bytes = blocksOf(small).find((b) => b.rank === 0).bytes,
    read = timelineOf(small, 0);
  assert.ok(read.slices > 0);
  const lie = (from, to) => Buffer.from(bytes.toString("latin1").replace(from, to), "latin1");
  const damaged = [
    bytes.subarray(0, bytes.length - 20),
    bytes.subarray(0, 40),
    Buffer.alloc(0),
    Buffer.from([255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
    lie(/("n": ?)(\d+)/, (_, key, n) => `${key}${"9".repeat(n.length)}`),
  ];
  return import("./program.mjs").then(({ web }) => {
    for (const [i, b] of damaged.entries()) assert.throws(() => web.decodeTimeline(new Uint8Array(b)), undefined, `number ${i}`);
  });
});

test("the program says what it lost of the hostile trace", () => {
  const done = run("report", "--json", page.words[0]);
  assert.equal(done.status, 0, done.err);
  assert.ok(JSON.parse(done.out).ranks[0].quality.invalid_utf8_names >= 1);
});
