// SPDX-License-Identifier: Apache-2.0
// help.js - what the mouse learns of a title is said to keys and fingers, too; and tabs that hold nothing say what would fill them.

import { clean, el, replace } from "./dom.js";
import { theReport, theWords } from "./rows.js";

const settlingMs = 300;
let helpTip,
  helpSince = 0;

function showHelp(node) {
  const text = node?.getAttribute("title");
  if (!text) return hideHelp();
  helpTip ??= document.body.appendChild(el("div", { class: "help", id: "help", role: "tooltip" }));
  const box = node.getBoundingClientRect();
  replace(helpTip, clean(text, 600));
  helpTip.hidden = false;
  helpSince = performance.now();
  helpTip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - helpTip.offsetWidth - 8))}px`;
  helpTip.style.top = `${box.bottom + 6 + helpTip.offsetHeight > innerHeight ? Math.max(8, box.top - helpTip.offsetHeight - 6) : box.bottom + 6}px`;
  if (node.matches("button, a, [tabindex]")) node.setAttribute("aria-describedby", "help");
  return undefined;
}

function hideHelp() {
  if (helpTip) helpTip.hidden = true;
  document.querySelector("[aria-describedby=help]")?.removeAttribute("aria-describedby");
}

export function explain() {
  // a touch is followed by the focus that it moves and the scrolling that it causes
  const leave = () => performance.now() - helpSince > settlingMs && hideHelp();
  document.addEventListener("focusin", (event) => {
    leave();
    if (event.target.matches(":focus-visible")) showHelp(event.target.closest("[title]"));
  });
  document.addEventListener("focusout", leave);
  document.addEventListener("pointerup", (event) => {
    if (event.pointerType === "touch") showHelp(event.target.closest?.("th [title], th[title], dt[title], .badge, .legend [title], nav [title], td[title]"));
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hideHelp());
  addEventListener("scroll", leave, { passive: true });
}

const nothingIn = {
  steps: (r) => r.steps.source === "none",
  kernels: (r) => !r.kernels?.length,
  memory: (r) => !r.memory?.pools.length,
  communication: (r) => !r.communication?.collectives.length,
  copies: (r) => !r.copies?.length,
};
const fills = { steps: "steps", kernels: "device", memory: "memory", copies: "device" };

// Tabs of views that have nothing of this rank are pale, and say how to record it.
export function dimTabs(rank) {
  const r = theReport().ranks[rank];
  for (const a of document.querySelectorAll("#nav a")) {
    const id = a.getAttribute("href").replace(/^#\/?/, ""),
      isEmpty = id === "ranks" ? theReport().ranks.length < 2 : !r.is_outline && nothingIn[id]?.(r);
    a.classList.toggle("bare", Boolean(isEmpty));
    if (!isEmpty) a.removeAttribute("title");
    else
      a.setAttribute(
        "title",
        id === "ranks"
          ? "one rank was read; pass the traces of all ranks, or their directory"
          : id === "communication"
            ? "this rank does not communicate, or its collectives were not recorded"
            : `nothing recorded; record with ${theWords().missing[fills[id]].how}`,
      );
  }
}
