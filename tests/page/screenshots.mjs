// SPDX-License-Identifier: Apache-2.0
// screenshots.mjs - pictures of every view: node tests/page/screenshots.mjs FOLDER TRACE...
//
// Of each view light and dark, of a fix in the timeline, and of the overview and the timeline on a phone.  pictures.py makes
// those of docs/img with it.

import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { desktop, phone, theBrowser, viewsOf, visit, withPage } from "./browser.mjs";
import { makePage } from "./program.mjs";

const [folder, ...traces] = process.argv.slice(2);
if (!traces.length) {
  console.error("usage: node tests/page/screenshots.mjs FOLDER TRACE...");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });
const page = makePage(...traces);

async function shoot(tab, file) {
  const path = join(folder, file);
  await tab.screenshot({ path, animations: "disabled" });
  console.log(`${path}  ${Math.round(statSync(path).size / 1000)} kB`);
}

// Something to see on the timeline: a step, and a slice of it with what launched it.
async function choose(tab) {
  await tab.focus("canvas.timeline");
  for (const key of ["w", "w", "ArrowRight"]) await tab.keyboard.press(key);
  await tab.waitForTimeout(400);
}

// The step with the fix that the first screen names, down to the last of its tracks.
async function shootFix(tab, file) {
  await tab.evaluate(() => (location.hash = document.querySelector('.tile a[href*="whatif="]').getAttribute("href")));
  await tab.waitForSelector("#timeline[data-ready]");
  await tab.waitForTimeout(600);
  await shoot(tab, file);
}

for (const colorScheme of ["light", "dark"]) {
  await withPage(page, { colorScheme, viewport: desktop }, async (tab) => {
    for (const id of await viewsOf(tab)) {
      await visit(tab, id);
      if (id === "timeline") await choose(tab);
      await shoot(tab, `${id}-${colorScheme}.png`);
    }
  });
  await withPage(page, { colorScheme, viewport: { width: 1280, height: 720 } }, (tab) =>
    shootFix(tab, `whatif-${colorScheme}.png`),
  );
  await withPage(page, { colorScheme, viewport: phone, isMobile: true, hasTouch: true, deviceScaleFactor: 1 }, async (tab) => {
    for (const id of ["overview", "timeline"]) {
      await visit(tab, id);
      if (id === "timeline") await choose(tab);
      await shoot(tab, `${id}-phone-${colorScheme}.png`);
    }
  });
}
await (await theBrowser()).close();
