// SPDX-License-Identifier: Apache-2.0
// pairs.mjs - pictures of what a page shows, of any version of the program: HOLDUP=OLD node tests/page/pairs.mjs FOLDER TRACE
//
// pictures.py sets those of two versions side by side.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { theBrowser, withPage } from "./browser.mjs";
import { manyRanks, smallJob } from "./make.mjs";
import { examples, makePage } from "./program.mjs";

const [folder, trace] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

const press = (keys) => async (tab) => {
  await tab.waitForSelector("#timeline[data-ready]");
  await tab.focus("canvas.timeline");
  for (const key of keys) await tab.keyboard.press(key);
};

const places = [
  ["nesting", [examples["Python frames"].path], "timeline", press("www")],
  ["names", [trace], "kernels"],
  ["details", [trace], "timeline", press(["w", "w", "ArrowRight"])],
  ["shades", [trace], "timeline", press([])],
  ["rank", [examples["two ranks without a GPU"].path], "overview", (tab) => tab.selectOption("#rank", "1")],
  ["many", [manyRanks(600)], "ranks"],
  ["memory", smallJob(), "memory"],
  ["fixes", [trace], "overview"],
];

for (const [name, words, id, act = async () => {}] of places)
  await withPage(makePage(...words), { hash: `#/${id}`, isQuiet: true, viewport: { width: 1440, height: 900 } }, async (tab) => {
    await act(tab);
    await tab.waitForTimeout(600);
    await tab.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  });
await (await theBrowser()).close();
