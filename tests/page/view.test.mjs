// SPDX-License-Identifier: Apache-2.0
// The page of `holdup view`: the token leaves the address bar, and the page goes on without it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { theBrowser } from "./browser.mjs";
import { folder, program, root } from "./program.mjs";

const trace = join(root, "examples/training/traces/slow_loader");

// The program as it serves, `use(address, file)`; file is what it gives to a browser.
async function served(use, input = trace) {
  const own = mkdtempSync(join(folder, "view-")),
    browser = join(own, "browser");
  writeFileSync(browser, `#!/bin/sh\necho "$1" >${own}/part; mv ${own}/part ${own}/given\n`);
  chmodSync(browser, 0o755);
  const child = spawn(program, ["view", input, "--port", "0", "-q", "--open"], {
    env: { ...process.env, BROWSER: browser, XDG_RUNTIME_DIR: own },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  try {
    let line = "";
    for await (const part of child.stdout) {
      line += part;
      if (line.includes("\n")) break;
    }
    for (let i = 0; i < 200 && !existsSync(join(own, "given")); i++) await pause(50);
    await use(line.trim(), readFileSync(join(own, "given"), "utf8").trim());
  } finally {
    child.kill("SIGTERM");
    assert.equal(await ended, 0);
    rmSync(own, { recursive: true });
  }
}

async function check(tab, address) {
  const { origin, searchParams } = new URL(address);
  await tab.waitForSelector("html[data-ready]", { state: "attached" });
  assert.equal(tab.url().split("#")[0], `${origin}/`);
  await tab.click('#nav a[href="#/timeline"]');
  await tab.waitForSelector("#timeline[data-ready]");
  assert.ok(!tab.url().includes(searchParams.get("token")));
}

test("SQL over the trace, its errors, and the way to the timeline", () =>
  served(async (address) => {
    const context = await (await theBrowser()).newContext(),
      tab = await context.newPage(),
      problems = [];
    tab.on("pageerror", (e) => problems.push(e.message));
    await tab.goto(address);
    await tab.waitForSelector("html[data-ready]", { state: "attached" });
    await tab.click('#nav a[href="#/query"]');
    await tab.fill("#query textarea", "select start_ns, dur_ns, name, rank, '<b>x</b>' as bold from op order by dur_ns desc limit 5");
    await tab.keyboard.press("Control+Enter");
    await tab.waitForSelector("#query .data");
    assert.match(await tab.textContent("#query > [role=status]"), /^5 rows in /);
    assert.equal(await tab.locator("#query tbody b").count(), 0);
    const name = await tab.locator("#query tbody tr").first().locator("td").nth(2).textContent();
    await tab.locator("#query tbody a").first().click();
    await tab.waitForSelector("#timeline[data-ready]");
    assert.equal(await tab.inputValue("#timeline input[type=search]"), name);
    await tab.goBack();
    assert.match(await tab.inputValue("#query textarea"), /limit 5/);
    await tab.fill("#query textarea", "select nam from op");
    await tab.click("#query button:text-is('run')");
    await tab.waitForSelector("#query [role=alert]");
    assert.match(await tab.textContent("#query [role=alert]"), /no such column: nam/);
    // what adds slices up is given all of them
    await tab.click('#nav a[href="#/flame"]');
    await tab.waitForSelector("#flame[data-ready]");
    assert.match(await tab.textContent("#flame > div p[role=status]"), /of host time/);
    assert.doesNotMatch(await tab.textContent("#flame > div p[role=status]"), /in part left out/);
    assert.deepEqual(problems, []);
    await context.close();
  }));

for (const [way, isFile] of [
  ["the printed address", false],
  ["the file that a browser is given", true],
])
  test(`${way} leads to the page, whose address holds no token`, () =>
    served(async (address, file) => {
      const context = await (await theBrowser()).newContext(),
        tab = await context.newPage(),
        problems = [];
      tab.on("pageerror", (e) => problems.push(e.message));
      tab.on("response", (r) => r.status() === 200 || problems.push(`${r.status()} ${r.url()}`));
      await tab.goto(isFile ? `file://${file}` : address);
      if (isFile) await tab.waitForURL(/^http/);
      await check(tab, address);
      await tab.reload(); // the cookie stands for the token
      await check(tab, address);
      assert.deepEqual(
        problems.filter((p) => !p.includes("favicon")),
        [],
      );
      await context.close();
    }));

test("an open page follows its files, stays where it was, and says when the program has ended", async () => {
  const input = mkdtempSync(join(folder, "changing-")),
    file = join(input, "rank0.pt.trace.json.gz"),
    context = await (await theBrowser()).newContext(),
    tab = await context.newPage();
  copyFileSync(join(trace, "rank0.pt.trace.json.gz"), file);
  await served(async (address) => {
    await tab.goto(address);
    await tab.waitForSelector("html[data-ready]", { state: "attached" });
    await tab.click('#nav a[href="#/kernels"]');
    copyFileSync(join(root, "examples/training/traces/python_stacks/rank0.pt.trace.json.gz"), file);
    await tab.waitForSelector('body[data-server="2"]', { timeout: 30000 });
    await tab.waitForSelector("html[data-ready]", { state: "attached" });
    assert.ok(tab.url().endsWith("/#/kernels"), tab.url());
    assert.ok(await tab.isVisible("#kernels"));
    assert.equal(await tab.locator("#main > .gone").count(), 0);
  }, input);
  await tab.waitForSelector("#main > .gone", { timeout: 30000 });
  assert.match(await tab.innerText("#main > .gone"), /holdup view has ended/);
  await context.close();
  rmSync(input, { recursive: true });
});
