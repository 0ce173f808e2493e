// SPDX-License-Identifier: Apache-2.0
// query.js - SQL over the whole trace, asked of the program that serves the page; times and names lead to the timeline.

import { addressOf, keepInAddress, linkTo } from "./address.js";
import { clean, el, replace } from "./dom.js";
import { cell, time } from "./format.js";
import { originOf, theReport } from "./rows.js";
import { ask } from "./served.js";
import { DataTable } from "./table.js";

const examples = {
  "the longest kernels": "select start_ns, dur_ns, name, rank\nfrom kernel\norder by dur_ns desc\nlimit 50",
  "kernels by name": "select name, count(*) as calls, sum(dur_ns) as total_ns\nfrom kernel\ngroup by name\norder by total_ns desc",
  "host time by operator": "select name, count(*) as calls, sum(self_ns) as self_ns\nfrom op\ngroup by name\norder by self_ns desc",
};

function typeOf(key, values) {
  const first = values.find((v) => v !== null);
  if (typeof first === "number") return /(^|_)ns$/.test(key) ? "ns" : /(^|_)bytes$/.test(key) ? "bytes" : values.every((v) => v === null || Number.isInteger(v)) ? "id" : "number";
  return "text";
}

// Rows as a table; of a row with a start its time is a link to the timeline.
function resultTable({ columns, rows, is_cut: isCut }) {
  const keys = columns.map((name, i) => (columns.indexOf(name) === i ? name : `${name} (${i + 1})`)),
    list = rows.map((values) => Object.fromEntries(keys.map((key, i) => [`$${key}`, values[i]])));
  const rankOf = (row) => {
    const { ranks } = theReport(),
      index = row.$rank === undefined ? (ranks.length === 1 ? 0 : -1) : ranks.findIndex((r) => r.rank === row.$rank);
    return index >= 0 ? index : ranks.length === 1 ? 0 : -1;
  };
  const linked = (row) => {
    const rank = rankOf(row),
      start = row.$start_ns;
    if (rank < 0 || typeof start !== "number") return time(start);
    const from = start - originOf(rank),
      dur = row.$dur_ns ?? 0,
      room = Math.max(50, dur * 0.5);
    return el(
      "a",
      { href: linkTo("timeline", { r: rank, find: typeof row.$name === "string" ? row.$name : undefined, from: Math.round(from - room), to: Math.round(from + dur + room) }) },
      time(from),
    );
  };
  const table = new DataTable(
    {
      title: "Result",
      empty: "no rows",
      rows: list,
      columns: keys.map((key, i) => ({ key: `$${key}`, head: clean(key, 60), type: typeOf(key, rows.map((r) => r[i])), shown: true })),
    },
    { render: keys.includes("start_ns") ? { $start_ns: linked } : {} },
  );
  return [isCut && el("p", { class: "note" }, `Only the first ${cell("count", rows.length)} rows: add a limit, or ask for less.`), table.element];
}

export function queryView() {
  const result = el("div"),
    status = el("p", { class: "note", role: "status" }),
    field = el("textarea", { class: "mono sql", rows: 6, spellcheck: "false", "aria-label": "SQL", "aria-describedby": "sql-note" });
  field.value = addressOf("query")?.get("sql") ?? Object.values(examples)[0];
  const run = async () => {
    const began = performance.now();
    keepInAddress("query", { sql: field.value });
    status.textContent = "asking …";
    try {
      const answer = await (await ask("query", { sql: field.value })).json();
      status.textContent = `${answer.rows.length} row${answer.rows.length === 1 ? "" : "s"} in ${time((performance.now() - began) * 1e6)}`;
      replace(result, resultTable(answer));
    } catch (error) {
      status.textContent = "";
      replace(result, el("p", { class: "error", role: "alert" }, clean(error.message)));
    }
  };
  field.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
    e.preventDefault();
    run();
  });
  return [
    el(
      "p",
      { id: "sql-note", class: "note" },
      "One SELECT over every slice of every rank, as `holdup query` runs it: up to 10 s and 10,000 rows. Ctrl + Enter runs it. Times of a column start_ns lead to the timeline. Tables: `holdup query --schema`.",
    ),
    field,
    el(
      "div",
      { class: "tools" },
      el("button", { type: "button", onclick: run }, "run"),
      Object.entries(examples).map(([words, sql]) => el("button", { type: "button", onclick: () => (field.value = sql) }, words)),
    ),
    status,
    result,
  ];
}
