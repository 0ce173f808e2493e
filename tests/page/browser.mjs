// SPDX-License-Identifier: Apache-2.0
// browser.mjs - opens pages in Chromium, or in another browser, and watches what they do.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after } from "node:test";
import { chromium } from "playwright-core";

// The one without windows has the same engine, and takes a third of the CPU for a page.
const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
export const executablePath = process.env.CHROMIUM ?? installed.find(existsSync) ?? installed[0];

let browser;
export async function theBrowser() {
  browser ??= await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      "--enable-precise-memory-info",
      "--js-flags=--expose-gc",
    ],
  });
  return browser;
}
after(() => browser?.close());

export const desktop = { width: 1280, height: 900 },
  phone = { width: 390, height: 844 };

// A fresh context for one page, of `browser` or else Chromium; `use(tab)` may read tab.problems.  What the page must never do
// fails the test at the end.
export async function withPage(page, options, use) {
  const { hash = "", expected = [], wait = true, isQuiet = false, browser: other, ...contextOptions } = options;
  const context = await (other ?? (await theBrowser())).newContext({ viewport: desktop, ...contextOptions });
  await context.addInitScript(() => {
    // what is copied, without the system's clipboard
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void (window.copied = text) } });
  });
  const tab = await context.newPage();
  tab.setDefaultTimeout(60000);
  tab.problems = [];
  tab.on("console", (m) => m.type() === "error" && tab.problems.push(`console: ${m.text()}`));
  tab.on("pageerror", (e) => tab.problems.push(`error: ${e.message}`));
  tab.on("request", (r) => /^(file|blob):/.test(r.url()) || tab.problems.push(`request: ${r.url().slice(0, 200)}`));
  tab.on("dialog", (d) => {
    tab.problems.push(`dialog: ${d.message()}`);
    d.dismiss();
  });
  try {
    await tab.goto(page.url + hash);
    if (wait && contextOptions.javaScriptEnabled !== false) await tab.waitForSelector("html[data-ready]", { state: "attached" });
    const result = await use(tab);
    if (!isQuiet) assert.deepEqual(tab.problems, expected);
    return result;
  } finally {
    await context.close();
  }
}

export const viewsOf = (tab) => tab.$$eval("#nav a", (links) => links.map((a) => a.getAttribute("href").replace(/^#\/?/, "")));

export async function visit(tab, id) {
  await tab.click(`#nav a[href="#/${id}"]`);
  await tab.waitForSelector(`#${id}:not([hidden])`);
  if (["timeline", "flame", "modules"].includes(id)) await tab.waitForSelector(`#${id}[data-ready]`);
}

// A key for a canvas, until what it chose is told.  The first one was once lost, nobody knows why: what had the focus is printed.
export async function choose(tab, id, key) {
  const told = `#${id} .info h3`;
  for (let tries = 3; tries > 0; tries--) {
    await tab.focus(`canvas.${id}`);
    await tab.keyboard.press(key);
    try {
      return await tab.waitForSelector(told, tries > 1 ? { timeout: 5000 } : {});
    } catch (error) {
      if (tries === 1) throw error;
      console.log(`# ${key} chose nothing in ${id}: ${await tab.evaluate(() => `${document.activeElement?.outerHTML.slice(0, 80)} ${location.hash}`)}`);
    }
  }
  return undefined;
}

// The table of a view, by its title: what is read of it stands in the DOM.
export const dataTable = (tab, id, title) =>
  tab
    .locator(`#${id} .data`)
    .filter({ has: tab.locator("h3", { hasText: new RegExp(`^${title.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`) }) })
    .first();

export const rowsOf = (table) =>
  table.locator("tbody tr:not(.gap)").evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)));

// The columns of what "copy as CSV" copies, as objects.
export async function copyCsv(tab, table) {
  await tab.evaluate(() => void (window.copied = undefined));
  await table.locator("button", { hasText: "copy as CSV" }).click();
  await tab.waitForFunction(() => window.copied !== undefined);
  return parseCsv(await tab.evaluate(() => window.copied));
}

export function parseCsv(text) {
  const rows = [[""]];
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i],
      row = rows[rows.length - 1];
    if (isQuoted && c === '"' && text[i + 1] === '"') row[row.length - 1] += text[++i];
    else if (c === '"') isQuoted = !isQuoted;
    else if (!isQuoted && c === ",") row.push("");
    else if (!isQuoted && c === "\n") rows.push([""]);
    else row[row.length - 1] += c;
  }
  rows.pop();
  const [head, ...lines] = rows;
  return lines.map((line) => Object.fromEntries(head.map((key, i) => [key, line[i]])));
}

// A number as the page writes it, with half a unit of its last digit: { value, slack }.
export function parseNumber(text) {
  const found = /^(-?[\d,]+(?:\.(\d+))?)\s*(ns|µs|ms|s|B|kB|MB|GB|TB|%)?$/.exec(text.trim());
  if (!found) return null;
  const by = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }[found[3]] ?? 1;
  return { value: Number(found[1].replaceAll(",", "")) * by, slack: 0.5001 * by * 10 ** -(found[2]?.length ?? 0) };
}

export function assertShows(text, value, what) {
  if (value === null || value === undefined) return assert.equal(text, "–", what);
  if (typeof value === "boolean") return assert.equal(text, value ? "yes" : "no", what);
  if (typeof value === "string") return assert.equal(text, value, what);
  const shown = parseNumber(text);
  assert.ok(shown && Math.abs(shown.value - value) <= shown.slack, `${what}: “${text}” is shown for ${value}`);
  return undefined;
}
