// SPDX-License-Identifier: Apache-2.0
// table.js - a table that sorts, filters and copies itself, and draws only the rows that are in sight.
//
// A table that has a word keeps its order, its filter and its columns in the address: WORD.sort=-total_ns, WORD.find,
// WORD.columns=all or =name,calls.

import { addressOf, keepInAddress } from "./address.js";
import { clean, copyText, el, replace, svg } from "./dom.js";
import { filterHelp, rowFilter } from "./filter.js";
import { called, cell, asRead } from "./format.js";

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

// A file of a text, for whoever wants to keep it.
function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const tables = new WeakMap(); // by element

export class DataTable {
  // options.render[key](row) for a cell of its own; options.children(row): rows of another kind below a row; options.isTree: rows
  // have a depth and come parents first; options.bars: keys of columns that are drawn as bars, too; options.open: depth to which a
  // tree is open at first
  constructor(data, options = {}) {
    this.data = data;
    this.options = options;
    this.columns = data.columns.filter((c) => c.shown);
    this.sorted = null;
    this.search = "";
    this.open = new Set();
    this.id = "table" + DataTable.count++;
    this.element = el("div", { class: "data" });
    if (options.isTree) for (const [i, row] of data.rows.entries()) if (this.hasChild(i) && row.depth < (options.open ?? 3)) this.open.add(row);
    this.most = Object.fromEntries((options.bars ?? []).map((key) => [key, Math.max(0, ...data.rows.map((r) => r[key] ?? 0))]));
    this.build();
    tables.set(this.element, this);
    this.readAddress();
    this.update();
  }

  // What the address says; a table of which it says nothing stays as it is.
  readAddress() {
    const { word } = this.data,
      query = word && addressOf(location.hash.replace(/^#\/?/, "").split("?")[0]);
    if (!query || ![`${word}.sort`, `${word}.find`, `${word}.columns`].some((key) => query.has(key))) return;
    const sort = /^(-?)(\w+)$/.exec(query.get(`${word}.sort`) ?? ""),
      column = sort && this.data.columns.find((c) => c.key === sort[2]);
    this.sorted = column ? { key: column.key, type: column.type, isUp: !sort[1] } : null;
    this.find.value = this.search = query.get(`${word}.find`) ?? "";
    this.showColumns(query.get(`${word}.columns`) ?? "");
  }

  keepAddress() {
    const { word } = this.data;
    if (!word || !this.element.isConnected) return;
    keepInAddress(location.hash.replace(/^#\/?/, "").split("?")[0], {
      [`${word}.sort`]: this.sorted && `${this.sorted.isUp ? "" : "-"}${this.sorted.key}`,
      [`${word}.find`]: this.search,
      [`${word}.columns`]: this.chosen,
    });
  }

  // `chosen`: "" the usual ones, "all", or their keys: "name,calls"; where none of these is a column, the usual ones.
  showColumns(chosen) {
    const all = this.data.columns,
      usual = all.filter((c) => c.shown),
      keys = chosen.split(",");
    const wanted = chosen === "all" ? all : all.filter((c) => keys.includes(c.key));
    this.columns = wanted.length ? wanted : usual;
    const isSame = (list) => list.length === this.columns.length && list.every((c, i) => c === this.columns[i]);
    this.chosen = isSame(usual) ? "" : isSame(all) ? "all" : this.columns.map((c) => c.key).join();
    this.more?.setAttribute("aria-pressed", this.chosen === "all");
    this.boxes.querySelectorAll("input").forEach((box, i) => (box.checked = this.columns.includes(all[i])));
  }

  // A button that opens a box for each column; the last one that is shown cannot be taken away.
  addMenu() {
    const { columns, title } = this.data,
      id = `${this.id}-columns`;
    const box = (c) =>
      el(
        "label",
        { title: c.help || null },
        el("input", {
          type: "checkbox",
          checked: this.columns.includes(c),
          onchange: () => {
            const inputs = this.boxes.querySelectorAll("input");
            this.showColumns(columns.filter((_, i) => inputs[i].checked).map((x) => x.key).join() || c.key);
            this.update();
            this.keepAddress();
          },
        }),
        ` ${called(c)}`,
      );
    const open = (is) => {
      if (!this.boxes.hasChildNodes()) this.boxes.append(...columns.map(box));
      this.boxes.hidden = !is;
      this.pick.setAttribute("aria-expanded", is);
    };
    this.pick = el("button", { type: "button", "aria-expanded": "false", "aria-controls": id, onclick: () => open(this.boxes.hidden) }, "columns ▾");
    this.boxes = el("div", {
      class: "pick",
      id,
      role: "group",
      "aria-label": `columns of ${title}`,
      hidden: true,
      onkeydown: (e) => {
        if (e.key !== "Escape") return;
        open(false);
        this.pick.focus();
      },
    });
  }

  // Of a tree: does the row hold others?
  hasChild(i) {
    const { rows } = this.data;
    return rows[i + 1]?.depth > rows[i].depth;
  }

  build() {
    const { data } = this;
    this.find = el("input", {
      type: "search",
      placeholder: "search or filter",
      title: filterHelp,
      "aria-label": `search in ${data.title}`,
      "aria-describedby": `${this.id}-error`,
      oninput: (event) => {
        this.search = event.target.value;
        this.update();
        this.keepAddress();
      },
    });
    this.error = el("p", { class: "filter-error", id: `${this.id}-error`, "aria-live": "polite" });
    const visible = () => this.shown.map((r) => r.row),
      file = (data.word ?? data.title).toLowerCase().replace(/\W+/g, "-");
    const csv = el(
      "button",
      { type: "button", onclick: (event) => copyText(toCsv(data.columns, visible()), event.currentTarget) },
      "copy as CSV",
    );
    const save = (words, f) => el("button", { type: "button", title: `download what is shown of ${data.title} as ${words}`, onclick: f }, `↓ ${words}`);
    const files = [
      save("CSV", () => download(`${file}.csv`, "text/csv", toCsv(data.columns, visible()))),
      save("JSON", () =>
        download(
          `${file}.json`,
          "application/json",
          JSON.stringify(visible().map((row) => Object.fromEntries(data.columns.map((c) => [c.key, row[c.key] ?? null]))), null, 1) + "\n",
        ),
      ),
    ];
    const isMore = data.columns.some((c) => !c.shown);
    this.more = isMore
      ? el(
          "button",
          {
            type: "button",
            "aria-pressed": "false",
            onclick: () => {
              this.showColumns(this.chosen === "all" ? "" : "all");
              this.update();
              this.keepAddress();
            },
          },
          "all columns",
        )
      : null;
    const folds =
      this.options.isTree &&
      data.rows.some((_, i) => this.hasChild(i)) &&
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            const isAny = this.open.size > 0;
            this.open.clear();
            if (!isAny) data.rows.forEach((row, i) => this.hasChild(i) && this.open.add(row));
            this.update();
          },
        },
        "open or close all",
      );
    this.addMenu();
    this.chosen = "";
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
      el("div", { class: "tools" }, this.find, this.more, data.columns.length > 2 && this.pick, folds || null, csv, files, this.counter),
      this.boxes,
      this.error,
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
        const label = c.head || called(c);
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
              title: c.help || null,
              "data-key": c.key,
              onclick: () => {
                this.sorted = { key: c.key, type: c.type, isUp: by ? !by.isUp : c.type === "text" };
                this.update();
                this.keepAddress();
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

  // What the filter leaves; what is wrong with it stands below the field.
  filter() {
    try {
      const f = rowFilter(this.search, this.data.columns);
      replace(this.error);
      this.find.removeAttribute("aria-invalid");
      return f;
    } catch (error) {
      if (error.at === undefined) throw error;
      const text = this.search;
      replace(
        this.error,
        el("code", null, text.slice(0, error.at), el("mark", null, text.slice(error.at, error.end) || "\u2423"), text.slice(error.end)),
        el("span", null, ` ${error.message}`),
      );
      this.find.setAttribute("aria-invalid", "true");
      return () => true;
    }
  }

  compare() {
    const { key, type, isUp } = this.sorted,
      column = this.data.columns.find((c) => c.key === key),
      sign = (type === "text") === isUp ? 1 : -1;
    return (a, b) => {
      const c = compare(type, asRead(column, a[key]), asRead(column, b[key]));
      return a[key] === null || b[key] === null ? c : c * sign;
    };
  }

  // Rows of a tree: siblings in order, what matches with all around it, and of the rest what is open.
  selectTree(matches) {
    const { rows } = this.data,
      kids = new Map([[null, []]]),
      wanted = new Set(),
      above = [],
      out = [];
    for (const row of rows) {
      above.length = row.depth;
      above[row.depth] = row;
      kids.set(row, []);
      kids.get(row.depth ? above[row.depth - 1] : null)?.push(row);
      if (matches(row)) for (const a of above) if (a) wanted.add(a);
    }
    const order = this.sorted && this.compare(),
      isSearch = this.search.trim() !== "" && !this.error.hasChildNodes();
    const walk = (list) => {
      for (const row of order ? [...list].sort(order) : list) {
        if (!wanted.has(row)) continue;
        out.push({ row, depth: row.depth, isParent: kids.get(row).length > 0 });
        if (isSearch || this.open.has(row)) walk(kids.get(row));
      }
    };
    walk(kids.get(null));
    this.matching = isSearch ? rows.filter(matches).length : rows.length;
    return out;
  }

  // Rows in order, with their depth in a tree.
  select() {
    const { rows } = this.data,
      out = [],
      matches = this.filter();
    if (this.options.isTree) return this.selectTree(matches);
    let list = rows.filter(matches);
    if (this.sorted) {
      const order = this.compare();
      list = list
        .map((row, i) => [row, i])
        .sort(([a, i], [b, k]) => order(a, b) || i - k)
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
    const n = this.options.isTree ? this.matching : this.shown.filter((r) => !r.isChild).length;
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

  drawBar(key, row) {
    const share = this.most[key] > 0 ? Math.max(0, (100 * (row[key] ?? 0)) / this.most[key]) : 0;
    return svg(
      "svg",
      { class: "cell-bar", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { width: share.toFixed(2), height: 4 }),
    );
  }

  drawRow({ row, isChild, depth, isParent }) {
    const { options } = this;
    const cells = this.columns.map((c) => {
      const own = isChild ? options.renderChild?.[c.key]?.(row) : options.render?.[c.key]?.(row);
      if (own !== undefined) return el("td", { class: c.type === "text" ? "t" : null }, own);
      const text = isChild && row[c.key] === undefined ? "" : cell(c.type, asRead(c, row[c.key]));
      const bar = options.bars?.includes(c.key) && this.drawBar(c.key, row);
      return el("td", { class: c.type === "text" ? "t" : bar ? "barred" : null, title: c.type === "text" ? clean(text) : null }, bar, text);
    });
    if (options.isTree) this.indent(cells, row, depth, isParent);
    else if (!isChild && options.children && options.children(row).length) this.addOpener(cells, row);
    return el("tr", { class: isChild ? "child" : null }, cells);
  }

  indent(cells, row, depth, isParent) {
    const at = this.columns.findIndex((c) => c.key === this.options.opener);
    if (at < 0) return;
    if (isParent) this.addOpener(cells, row);
    else cells[at].prepend(el("span", { class: "no-opener", "aria-hidden": "true" }));
    cells[at].prepend(...Array.from({ length: Math.min(depth, 24) }, () => el("span", { class: "indent", "aria-hidden": "true" })));
  }

  addOpener(cells, row) {
    const at = this.columns.findIndex((c) => c.type === "text" && c.key === this.options.opener);
    if (at < 0) return;
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

// A link to the same view with another order or filter.
addEventListener("hashchange", () => {
  for (const element of document.querySelectorAll("section.view:not([hidden]) .data")) {
    const table = tables.get(element);
    table?.readAddress();
    table?.update();
  }
});
