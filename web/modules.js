// SPDX-License-Identifier: Apache-2.0
// modules.js - the view of modules and groups: two tables that are made of the slices of a rank.

import { addressOf, keepInAddress, linkTo } from "./address.js";
import { clean, el, replace } from "./dom.js";
import { frameName } from "./flame.js";
import { time } from "./format.js";
import { groupings, groupRows, hasModules, moduleRows, ofSubject, subjects } from "./groups.js";
import { theReport } from "./rows.js";
import { DataTable } from "./table.js";
import { drawnRanks, loadSlices } from "./timeline_load.js";

const columnOf = (key, head, type, help, shown = true) => ({ key, head, type, help, shown });

function moduleTable(t, rank) {
  const rows = moduleRows(t),
    hasGpu = rows[0].gpu_total_ns > 0;
  const columns = [
    columnOf("name", "module", "text", "as PyTorch numbers them; below the module that calls it"),
    hasGpu && columnOf("gpu_total_ns", "GPU time", "ns", "of the operations that it and what is below it launched"),
    hasGpu && columnOf("gpu_pct", "GPU %", "percent", "of all GPU time"),
    hasGpu && columnOf("gpu_self_ns", "GPU, by itself", "ns", "launched by it, and by no module below it"),
    columnOf("host_total_ns", "host time", "ns", "of its frames and what is below them"),
    columnOf("host_pct", "host %", "percent", "of all host time, threads added up"),
    columnOf("host_self_ns", "host, by itself", "ns", "without modules below it"),
    columnOf("calls", "calls", "count", "of its forward"),
  ].filter(Boolean);
  return new DataTable(
    { title: "Modules", columns, rows, empty: "", word: "modules" },
    {
      isTree: true,
      opener: "name",
      open: 4,
      bars: ["gpu_total_ns", "host_total_ns"],
      render: {
        name: (row) => (row.full ? el("a", { href: linkTo("timeline", { r: rank, find: row.full }), title: clean(row.full) }, clean(row.name, 120)) : row.name),
      },
    },
  ).element;
}

function groupTable(t, rank, of, by) {
  const rows = groupRows(t, of, by),
    hasRecorded = by === "recorded";
  const slice = (row) => `${t.start[row.longest]}.${t.row[row.longest]}`,
    room = (row) => Math.max(50, row.max_ns * 0.3);
  return new DataTable(
    {
      title: `${subjects[of][0].toUpperCase()}${subjects[of].slice(1)} by ${groupings[by]}`,
      empty: "none in this trace",
      word: "groups",
      rows,
      columns: [
        columnOf("name", groupings[by === "recorded" ? "name" : by], "text", "what the slices of a group have in common"),
        hasRecorded && columnOf("recorded", "recorded", "text", "shapes and types of an operator, grid and block of a kernel, bytes of a copy"),
        columnOf("self_ns", "by itself", "ns", "without what is directly inside of it"),
        columnOf("share_pct", "%", "percent", "of all that is counted here"),
        columnOf("total_ns", "total", "ns", "lengths added up"),
        columnOf("calls", "calls", "count", "slices of the group"),
        columnOf("mean_ns", "mean", "ns", "total by calls"),
        columnOf("max_ns", "longest", "ns", "links to it in the timeline"),
      ].filter(Boolean),
    },
    {
      bars: ["self_ns"],
      render: {
        name: (row) => el("span", { title: clean(row.name) }, clean(by === "python" || by === "name" ? frameName(row.name) : row.name, 200)),
        max_ns: (row) =>
          el(
            "a",
            { href: linkTo("timeline", { r: rank, from: Math.round(t.start[row.longest] - room(row)), to: Math.round(t.start[row.longest] + row.max_ns + room(row)), slice: slice(row) }) },
            time(row.max_ns),
          ),
      },
    },
  ).element;
}

function fillModules(box, rank, t) {
  const has = Object.keys(subjects).filter((s) => t.labels.some((_, k) => ofSubject[s](t.kinds[t.label_kinds[k]]))),
    query = addressOf("modules") ?? new URLSearchParams();
  let of = has.includes(query.get("of")) ? query.get("of") : (has[0] ?? "operators"),
    by = Object.hasOwn(groupings, query.get("by") ?? "") ? query.get("by") : "name";
  const groups = el("div"),
    select = (id, label, words, values, f) =>
      el(
        "label",
        { for: id },
        `${label} `,
        el("select", { id, onchange: (e) => f(e.target.value) }, values.map((v) => el("option", { value: v, selected: v === (id === "group-of" ? of : by) }, words[v]))),
      );
  const show = () => {
    replace(groups, groupTable(t, rank, of, by));
    keepInAddress("modules", { of, by });
  };
  replace(
    box,
    t.left_out && el("p", { class: "note" }, `This page has ${t.left_out}; --full includes all.`),
    hasModules(t)
      ? moduleTable(t, rank)
      : el(
          "div",
          { class: "empty" },
          el("p", null, "No modules in this trace: record with ", el("code", null, "torch.profiler.profile(with_stack=True, with_modules=True)")),
        ),
    el("h3", null, "Groups"),
    el(
      "div",
      { class: "tools" },
      select("group-of", "group", subjects, has, (v) => {
        of = v;
        show();
      }),
      select("group-by", "by", groupings, Object.keys(groupings), (v) => {
        by = v;
        show();
      }),
    ),
    groups,
  );
  show();
}

export function modulesView(rank) {
  const box = el("div", null, el("p", { class: "note", role: "status" }, "reading the slices …"));
  if (!drawnRanks(theReport().ranks.length).includes(rank)) {
    replace(
      box,
      el("div", { class: "empty" }, el("p", null, `This page has no slices of rank ${theReport().ranks[rank].rank}, only those that the verdict needs; --full includes all.`)),
    );
    return box;
  }
  loadSlices(rank).then(
    (t) => {
      fillModules(box, rank, t);
      box.closest("section").dataset.ready = String(rank);
    },
    (error) => replace(box, el("p", { class: "error", role: "alert" }, `The modules cannot be shown: ${clean(error.message)}`)),
  );
  return box;
}
