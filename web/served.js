// SPDX-License-Identifier: Apache-2.0
// served.js - a page that a program serves: what its address says, and whether the program has read the inputs again.

import { announce, el } from "./dom.js";

const PAUSE_MS = 2000;

// What the address says for the server, while no cookie may be kept.
const own = location.search;

export const isServed = () => document.body.hasAttribute("data-server");

// The token leaves the address bar, where others can read it.
export function hideToken() {
  if (isServed() && own) history.replaceState(null, "", location.pathname + location.hash);
}

// The answer at `path`, asked with values by name.
export async function ask(path, values = {}) {
  const query = new URLSearchParams(own);
  for (const [name, value] of Object.entries(values)) query.set(name, value);
  const response = await fetch(`${path}?${query}`);
  if (!response.ok) throw new Error(`the program that serves this page says: ${await response.text()}`);
  return response;
}

function sayGone() {
  const text = "holdup view has ended: what is here stays, but the timeline shows no more detail.";
  document.getElementById("main").prepend(el("p", { class: "note gone", role: "status" }, text));
}

// When there is another edition, the page is asked for again; the address says what it showed.
export async function followEditions() {
  const mine = document.body.dataset.server;
  for (let misses = 0; misses < 3; ) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    if (document.hidden) continue;
    try {
      const edition = (await (await ask("edition")).text()).trim();
      misses = 0;
      if (edition === mine) continue;
      announce("the files have changed: the page shows them as they are now");
      if (own) history.replaceState(null, "", own + location.hash);
      location.reload();
      return;
    } catch {
      misses++;
    }
  }
  sayGone();
}
