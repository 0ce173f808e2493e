// SPDX-License-Identifier: Apache-2.0
// table.js - a table that sorts, searches and copies itself, and draws only the rows that are in sight.

import { clean, copyText, el, replace } from "./dom.js";
import { cell } from "./format.js";

const rowPixels = 26,
  sight = 420,
  drawAll = 60;

function compare(type, a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return type === "text" ? (a < b ? -1 : 1) : b - a;
}

// A field of a CSV file: in quotes where it needs them, and never a formula of a spreadsheet.
function csvField(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(columns, rows) {
  const lines = [columns.map((c) => csvField(c.key)).join(",")];
  for (const row of rows) lines.push(columns.map((c) => csvField(row[c.key])).join(","));
  return lines.join("\n") + "\n";
}

export class DataTable {
  // options.onrow(row) when a row is chosen; options.render[key](row) for a cell of its own; options.children(row) makes a tree
  constructor(data, options = {}) {
    this.data = data;
    this.options = options;
    this.columns = data.columns.filter((c) => c.shown);
    this.sorted = null;
    this.search = "";
    this.open = new Set();
    this.id = "table" + DataTable.count++;
    this.element = el("div", { class: "data" });
    this.build();
    this.update();
  }

  build() {
    const { data } = this;
    const find = el("input", {
      type: "search",
      placeholder: "search",
      "aria-label": `search in ${data.title}`,
      oninput: (event) => {
        this.search = event.target.value.toLowerCase();
        this.update();
      },
    });
    const csv = el(
      "button",
      {
        type: "button",
        onclick: (event) =>
          copyText(
            toCsv(
              data.columns,
              this.shown.map((r) => r.row),
            ),
            event.currentTarget,
          ),
      },
      "copy as CSV",
    );
    const more =
      data.columns.some((c) => !c.shown) &&
      el(
        "button",
        {
          type: "button",
          "aria-pressed": "false",
          onclick: (event) => {
            const all = event.currentTarget.getAttribute("aria-pressed") !== "true";
            event.currentTarget.setAttribute("aria-pressed", all);
            this.columns = data.columns.filter((c) => all || c.shown);
            this.update();
          },
        },
        "all columns",
      );
    this.counter = el("span", { class: "note", role: "status" });
    this.body = el("tbody");
    this.head = el("tr");
    this.box = el(
      "div",
      { class: "scroll tall", tabindex: "0", role: "group", "aria-label": data.title },
      el("table", { id: this.id }, el("thead", null, this.head), this.body),
    );
    this.box.addEventListener("scroll", () => this.draw());
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    this.element.append(
      el("h3", null, data.title),
      el("div", { class: "tools" }, find, more || null, csv, this.counter),
      this.box,
    );
  }

  onKey(event) {
    const step = { ArrowDown: rowPixels, ArrowUp: -rowPixels, PageDown: sight, PageUp: -sight }[event.key];
    if (!step || event.target !== this.box) return;
    this.box.scrollTop += step;
    event.preventDefault();
  }

  drawHead() {
    replace(
      this.head,
      this.columns.map((c) => {
        const by = this.sorted?.key === c.key ? this.sorted : null;
        const label = c.head || c.key;
        return el(
          "th",
          {
            scope: "col",
            class: c.type === "text" ? "t" : null,
            "aria-sort": by ? (by.isUp ? "ascending" : "descending") : null,
          },
          el(
            "button",
            {
              type: "button",
              title: c.help ? `${c.key}: ${c.help}` : c.key,
              "data-key": c.key,
              onclick: () => {
                this.sorted = { key: c.key, type: c.type, isUp: by ? !by.isUp : c.type === "text" };
                this.update();
                this.head.querySelector(`[data-key="${c.key}"]`)?.focus();
              },
            },
            label,
            by ? (by.isUp ? " ▲" : " ▼") : "",
          ),
        );
      }),
    );
  }

  // Rows in order, with their depth in a tree.
  select() {
    const { rows } = this.data,
      out = [];
    const matches = (row) =>
      !this.search ||
      this.data.columns.some(
        (c) =>
          c.type === "text" &&
          String(row[c.key] ?? "")
            .toLowerCase()
            .includes(this.search),
      );
    let list = rows.filter(matches);
    if (this.sorted) {
      const { key, type, isUp } = this.sorted,
        sign = (type === "text") === isUp ? 1 : -1;
      list = list
        .map((row, i) => [row, i])
        .sort(([a, i], [b, k]) => {
          const c = compare(type, a[key], b[key]);
          const isAbsent = a[key] === null || b[key] === null;
          return (isAbsent ? c : c * sign) || i - k;
        })
        .map(([row]) => row);
    }
    for (const row of list) {
      out.push({ row, depth: 0 });
      if (this.open.has(row)) for (const child of this.options.children(row)) out.push({ row: child, depth: 1, isChild: true });
    }
    return out;
  }

  update() {
    this.shown = this.select();
    this.drawHead();
    const n = this.shown.filter((r) => !r.isChild).length;
    const all = this.data.rows.length;
    this.counter.textContent = `${n === all ? "" : `${n} of `}${all} row${all === 1 ? "" : "s"}`;
    this.from = -1;
    if (this.shown.length <= drawAll) this.box.classList.remove("tall");
    else this.box.classList.add("tall");
    this.draw();
  }

  draw() {
    const n = this.shown.length;
    if (n === 0) {
      replace(
        this.body,
        el(
          "tr",
          null,
          el(
            "td",
            { class: "t", colspan: this.columns.length },
            this.search ? `nothing matches “${clean(this.search, 60)}”` : this.data.empty || "nothing recorded",
          ),
        ),
      );
      return;
    }
    const all = n <= drawAll;
    const from = all ? 0 : Math.max(0, Math.floor(this.box.scrollTop / rowPixels) - 20);
    const to = all ? n : Math.min(n, from + Math.ceil(sight / rowPixels) + 40);
    if (from === this.from) return;
    this.from = from;
    const gap = (rows) =>
      rows > 0 &&
      el("tr", { "aria-hidden": "true", class: "gap" }, el("td", { colspan: this.columns.length, height: rows * rowPixels }));
    replace(
      this.body,
      gap(from),
      this.shown.slice(from, to).map((r) => this.drawRow(r)),
      gap(n - to),
    );
  }

  drawRow({ row, isChild }) {
    const { options } = this;
    const cells = this.columns.map((c) => {
      const own = isChild ? options.renderChild?.[c.key]?.(row) : options.render?.[c.key]?.(row);
      if (own !== undefined) return el("td", { class: c.type === "text" ? "t" : null }, own);
      const text = isChild && row[c.key] === undefined ? "" : cell(c.type, row[c.key]);
      return el("td", { class: c.type === "text" ? "t" : null, title: c.type === "text" ? clean(text) : null }, text);
    });
    if (!isChild && options.children) this.addOpener(cells, row);
    return el("tr", { class: isChild ? "child" : null }, cells);
  }

  addOpener(cells, row) {
    const at = this.columns.findIndex((c) => c.type === "text" && c.key === this.options.opener);
    if (at < 0 || this.options.children(row).length === 0) return;
    const isOpen = this.open.has(row);
    cells[at].prepend(
      el(
        "button",
        {
          type: "button",
          class: "opener",
          "aria-expanded": String(isOpen),
          "aria-label": `${isOpen ? "hide" : "show"} what ${clean(String(row.name), 80)} holds`,
          onclick: () => {
            if (isOpen) this.open.delete(row);
            else this.open.add(row);
            this.update();
          },
        },
        isOpen ? "▾" : "▸",
      ),
    );
  }
}
DataTable.count = 0;
