// SPDX-License-Identifier: Apache-2.0
// marks.js - where a link leads is marked: a row of a table, opened, in sight and with the focus; or a figure.

import { clean, el } from "./dom.js";
import { DataTable } from "./table.js";

const rowHigh = 26;

// A table of which one row can be marked.
export class MarkedTable extends DataTable {
  mark(row) {
    this.marked = row;
    this.search = "";
    if (this.options.children?.(row).length) this.open.add(row);
    this.update();
    const place = this.shown.findIndex((r) => r.row === row);
    if (place < 0) return false;
    this.box.scrollTop = Math.max(0, rowHigh * (place - 3));
    this.draw();
    const line = this.body.querySelector("tr.marked");
    line?.focus({ preventScroll: true });
    line?.scrollIntoView({ block: "center" });
    return Boolean(line);
  }

  drawRow(entry) {
    const line = super.drawRow(entry);
    if (entry.row === this.marked && !entry.isChild) {
      line.classList.add("marked");
      line.setAttribute("tabindex", "-1");
      line.setAttribute("aria-current", "true");
    }
    return line;
  }
}

// Puts what a place needs to be seen upon a figure or a paragraph.
export function markBox(box) {
  for (const old of document.querySelectorAll(".marked-box")) old.classList.remove("marked-box");
  if (!box) return;
  box.classList.add("marked-box");
  box.setAttribute("tabindex", "-1");
  box.focus({ preventScroll: true });
  box.scrollIntoView({ block: "center" });
}

// A name of a kernel: the short one, where there is one, with the whole behind it; it leads to `href`.
export function nameLink(row, href) {
  const text = row.short_name || row.name;
  return el("a", { href, title: clean(row.name) }, text);
}
