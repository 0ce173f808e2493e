// SPDX-License-Identifier: Apache-2.0
// views.js - what the script makes of each section: charts, and tables that sort and search, from the rows of the report.

import { addressOf } from "./address.js";
import { barChart, heatMap, lineChart, scatterChart } from "./chart.js";
import { compareView, showCompared } from "./compare_view.js";
import { clean, copyText, el, replace } from "./dom.js";
import { flameView } from "./flame_view.js";
import { called, cell, time } from "./format.js";
import { icicle, layerChart, segmentMap } from "./memory.js";
import { MemoryRange } from "./memory_range.js";
import { MarkedTable, markBox, nameLink } from "./marks.js";
import { modulesView } from "./modules.js";
import { queryView } from "./query.js";
import { RankChart } from "./ranks.js";
import { facts, originOf, roles, table, theReport, theWords, view } from "./rows.js";
import { drawnRanks, loadSlices } from "./timeline_load.js";

export function placeLink(id, rank, parameters = {}) {
  const query = new URLSearchParams({ r: rank });
  for (const [key, value] of Object.entries(parameters)) if (value !== undefined) query.set(key, value);
  return `#/${id}?${query}`;
}

export const timelineLink = (rank, parameters) => placeLink("timeline", rank, parameters);

// Times of rows, as the timeline names them.
function showTimes(data, rank) {
  const origin = originOf(rank),
    moments = data.columns.filter((c) => /^(start|peak_at)_ns$/.test(c.key)).map((c) => c.key);
  return Object.fromEntries(moments.map((key) => [key, (row) => (row[key] === null ? "–" : time(row[key] - origin))]));
}

const drawnTables = new Map(); // by the word of the view: its first table as it was drawn last

function keep(word, made) {
  drawnTables.set(word, made);
  return made.element;
}

function dataTable(rank, word, index = 0, options = {}) {
  const data = table(rank, word, index);
  const made = new MarkedTable(data, { ...options, render: { ...showTimes(data, rank), ...options.render } });
  return index === 0 ? keep(word, made) : made.element;
}

function factList(rank, word) {
  const list = facts(rank, word).filter((f) => f.value !== null && f.value !== "");
  return (
    list.length > 0 &&
    el(
      "dl",
      { class: "facts" },
      list.map((f) => [el("dt", { title: f.help }, f.head), el("dd", null, cell(f.type, f.value))]),
    )
  );
}

// All of a view: its facts and its tables.
function wholeView(rank, word) {
  const v = view(word);
  return [
    factList(rank, word),
    ...v.tables.map((t, i) => !t.is_series && (table(rank, word, i).rows.length > 0 || i === 0) && dataTable(rank, word, i)),
  ];
}

// What would have to be recorded for a view that is empty.
function missing(rank, keys, otherwise) {
  const absent = theReport()
    .ranks[rank].quality.not_captured.filter((k) => keys.includes(k))
    .map((k) => theWords().missing[k]);
  return el(
    "div",
    { class: "empty" },
    el("p", null, otherwise),
    absent.map((m) => el("p", null, `${m.what}: record with `, el("code", null, m.how))),
  );
}

function steps(rank) {
  const r = theReport().ranks[rank],
    list = r.steps.list;
  if (r.steps.source === "none") return missing(rank, ["steps"], "No steps found: the capture counts as one step.");
  const hasTimeline = drawnRanks(theReport().ranks.length).includes(rank);
  const shown = list.slice(0, 200);
  const link = (row) => timelineLink(rank, { step: row.number });
  return [
    factList(rank, "steps"),
    barChart({
      title: `Where the time of each step goes${list.length > shown.length ? `: the first ${shown.length}` : ""}`,
      type: "ns",
      parts: roles.map(([, label, c]) => ({ label, class: c })),
      bars: shown.map((s) => ({
        label: s.name || `step ${s.number}`,
        short: String(s.number),
        values: roles.map(([key]) => s[key]),
        isFaint: s.is_warm_up || s.is_incomplete,
      })),
      link: hasTimeline ? (i) => link(shown[i]) : undefined,
    }),
    dataTable(
      rank,
      "steps",
      0,
      hasTimeline ? { render: { number: (row) => el("a", { href: link(row) }, String(row.number)) } } : {},
    ),
    r.serving.length ? dataTable(rank, "serving") : null,
  ];
}

function operators(rank) {
  const pairs = new Map();
  const shorts = new Map(table(rank, "kernels").rows.map((k) => [k.name, k.short_name]));
  for (const row of table(rank, "op-kernels").rows) {
    if (!pairs.has(row.operator)) pairs.set(row.operator, []);
    pairs.get(row.operator).push({ ...row, short_name: shorts.get(row.name) });
  }
  const toTimeline = (row) => nameLink(row, timelineLink(rank, { find: row.name }));
  return [
    dataTable(rank, "ops", 0, {
      opener: "name",
      children: (row) => pairs.get(row.name) ?? [],
      render: { name: toTimeline },
      renderChild: {
        name: (row) =>
          el(
            "span",
            { class: "kernel-of" },
            nameLink(row, placeLink("kernels", rank, { kernel: row.name })),
            row.source && el("code", { class: "source" }, row.source),
          ),
        device_self_ns: (row) => time(row.total_ns),
        calls: (row) => String(row.calls),
        device_total_ns: () => "",
        host_self_ns: () => "",
      },
    }),
    missing(rank, ["shapes", "stacks"], ""),
    callTree(rank),
  ];
}

// Rows come parents first.
function callTree(rank) {
  const data = table(rank, "tree");
  const name = { ...data.columns.find((c) => c.key === "name"), head: "operator", shown: true };
  data.columns = [name, ...data.columns.filter((c) => c.key !== "name")];
  return (
    data.rows.length > 0 &&
    new MarkedTable(data, { isTree: true, opener: "name", bars: ["host_total_ns", "device_total_ns"] }).element
  );
}

const familyClass = (row) => (row.is_communication ? "c-comm" : row.tensor_cores === "yes" ? "c-compute" : "c-op");

function kernels(rank) {
  const rows = table(rank, "kernels").rows;
  if (!rows.length) return missing(rank, ["device"], "This trace has no kernels.");
  const chart = scatterChart({
    title: "Kernels: how long, how often",
    xType: "count",
    yType: "ns",
    xTitle: "calls",
    yTitle: "mean duration",
    points: rows.slice(0, 500).map((k) => ({
      x: k.calls,
      y: k.mean_ns,
      class: familyClass(k),
      label: `${k.name}: ${k.calls} × ${time(k.mean_ns)} = ${time(k.total_ns)}`,
      group: { "c-comm": "communication", "c-compute": "on tensor cores", "c-op": "others" }[familyClass(k)],
    })),
  });
  const launchers = new Map();
  for (const row of table(rank, "op-kernels").rows) {
    if (!launchers.has(row.name)) launchers.set(row.name, []);
    launchers.get(row.name).push(row);
  }
  const toTimeline = (row) => nameLink(row, timelineLink(rank, { find: row.name }));
  return [
    chart,
    dataTable(rank, "kernels", 0, {
      opener: "name",
      children: (row) => launchers.get(row.name) ?? [],
      render: { name: toTimeline },
      renderChild: {
        name: (row) =>
          el(
            "span",
            { class: "kernel-of" },
            "launched by ",
            row.operator
              ? el("a", { href: placeLink("operators", rank, { operator: row.operator, kernel: row.name }) }, row.operator)
              : "nothing recorded",
            row.source && el("code", { class: "source" }, row.source),
          ),
        total_ns: (row) => time(row.total_ns),
        calls: (row) => String(row.calls),
        mean_ns: (row) => time(row.total_ns / Math.max(1, row.calls)),
        total_pct: () => "",
        occupancy_pct: () => "",
      },
    }),
    roofline(rank),
    ...wholeView(rank, "families"),
    ...wholeView(rank, "sequences"),
  ];
}

function roofline(rank) {
  const member = theReport().ranks[rank].roofline,
    rows = member.operators;
  const points = rows
    .filter((o) => o.flop_per_byte > 0 && o.tflops > 0)
    .map((o) => ({
      x: o.flop_per_byte,
      y: o.tflops,
      class: o.bound === "compute" ? "c-compute" : "c-copy",
      group: o.bound === "compute" ? "compute-bound" : "memory-bound",
      label: `${o.operator} ${o.shapes}: ${cell("number", o.tflops)} TFLOP/s, ${cell("number", o.flop_per_byte)} FLOP per byte`,
    }));
  const guides = [],
    peak = Math.max(0, ...rows.map((o) => o.peak_tflops || 0)),
    gbps = member.memory_gbps;
  if (points.length && gbps && peak) {
    const ridge = (peak * 1e3) / gbps,
      from = Math.min(...points.map((p) => p.x), ridge) / 2,
      to = Math.max(...points.map((p) => p.x), ridge) * 2;
    guides.push(
      [
        [from, (from * gbps) / 1e3],
        [ridge, peak],
      ],
      [
        [ridge, peak],
        [to, peak],
      ],
    );
  }
  return el(
    "div",
    null,
    el("h3", null, "Roofline"),
    points.length
      ? scatterChart({
          title: `What operators reach of the peaks${member.peaks_of ? ` of ${member.peaks_of}` : ""}`,
          points,
          guides,
          xType: "number",
          yType: "number",
          xTitle: "FLOP per byte",
          yTitle: "TFLOP/s",
        })
      : missing(rank, ["shapes"], "FLOPs need input shapes."),
    wholeView(rank, "roofline").filter(Boolean),
  );
}

let memoryRange; // of the memory that is drawn

// What holds the peak, by call chain; as long as its allocations are not there, the curve.
function markPeak() {
  if (memoryRange?.element.isConnected) memoryRange.toPeak();
  markBox(document.querySelector("#memory .memory-range details figure") ?? document.querySelector("#memory .plot, #memory .data"));
}

// The curve, until its allocations are read; then curves of all pools with a range in them.
function memoryCurves(rank, still) {
  const box = el("div", null, still);
  if (drawnRanks(theReport().ranks.length).includes(rank))
    loadSlices(rank).then(
      (t) => {
        if (!t.allocations) return;
        memoryRange = new MemoryRange(rank, t, (to) => timelineLink(rank, to));
        box.replaceChildren(memoryRange.element);
        if (addressOf("memory")?.has("peak")) markPeak();
      },
      (error) => box.append(el("p", { class: "error" }, clean(error.message))),
    );
  else box.append(el("p", { class: "note" }, "Without a timeline of this rank the page has none of its allocations; --full includes them."));
  return box;
}

function memory(rank) {
  const m = theReport().ranks[rank].memory;
  if (!m.pools.length) return missing(rank, ["memory"], "No allocations were recorded.");
  const pool = m.pools[0].pool,
    pools = m.pools.map((p) => p.pool).filter((name) => m.stacks.some((s) => s.pool === name));
  return [
    factList(rank, "memory"),
    memoryCurves(rank, m.series.length > 1 && layerChart({ title: `Memory of ${pool}`, points: m.series, steps: m.steps })),
    pools.map((name) =>
      icicle({ title: `The peak of ${name}, by call chain`, rows: m.stacks.filter((s) => s.pool === name) }),
    ),
    m.segments.length > 0 && segmentMap({ title: "Largest segments at the end", segments: m.segments, runs: m.runs }),
    ...view("memory").tables.map(
      (t, i) => !t.is_series && (i === 0 || table(rank, "memory", i).rows.length > 0) && dataTable(rank, "memory", i),
    ),
  ];
}

function communication(rank) {
  const c = theReport().ranks[rank].communication;
  if (!c.collectives.length)
    return el(
      "div",
      { class: "empty" },
      el("p", null, "This rank does not communicate: a single process, or its collectives were not recorded."),
    );
  const others = theReport().ranks;
  const chart =
    others.length > 1 &&
    others.length <= 64 &&
    barChart({
      title: "Communication of each rank",
      parts: [
        { label: "exposed", class: "c-comm" },
        { label: "overlapped with compute", class: "c-compute" },
      ],
      bars: others.map((r) => ({
        label: `rank ${r.rank}`,
        short: String(r.rank),
        values: [r.communication.exposed_ns ?? r.communication.total_ns, r.communication.overlapped_ns ?? 0],
      })),
    });
  return [chart, ...wholeView(rank, "comm"), ...wholeView(rank, "parallelism"), ...wholeView(rank, "phases")];
}

const perStep = (r, ns) => (ns === undefined ? null : ns / Math.max(1, r.steps.count));

function ranks() {
  const all = theReport().ranks,
    joint = document.getElementById("joint");
  if (all.length < 2)
    return el(
      "div",
      { class: "empty" },
      el("p", null, "One rank was read. Pass the traces of all ranks, or their directory: "),
      el("p", null, el("code", null, "holdup report run/ --html report.html")),
    );
  const heats = [
    ["duration_ns", "length of the step"],
    ["communication_ns", "communication"],
    ["data_loader_ns", "data loader"],
    ["idle_ns", "GPU idle"],
    ["compute_ns", "computing"],
  ];
  const columns = [
    ["rank", "rank", "id"],
    ["step", "mean step", "ns"],
    ["busy", "GPU busy %", "percent"],
    ["exposed", "exposed comm", "ns", "communication in a step while no kernel computes"],
    ["data", "data loader", "ns"],
    ["waits", "waits for others", "ns", "in a step, until the last rank comes to a collective"],
    ["caused", "others wait for it", "ns", "in a step, because it came last, added up"],
    ["last", "came last", "count", "to so many collectives"],
    ["clock", "clock off by", "ns", "ahead of the common one, by the ends of collectives"],
    ["device", "device", "text"],
    ["host", "host", "text"],
  ];
  const rows = all.map((r) => ({
    rank: r.rank,
    step: r.steps.mean_ns,
    busy: r.step_breakdown?.gpu_busy_pct ?? null,
    exposed: r.step_breakdown?.exposed_comm_ns ?? null,
    data: r.step_breakdown?.categories.data_loader_ns ?? null,
    waits: perStep(r, r.rendezvous?.wait_ns),
    caused: perStep(r, r.rendezvous?.caused_wait_ns),
    last: r.rendezvous?.last ?? null,
    clock: r.rendezvous?.clock_offset_ns ?? null,
    device: r.device,
    host: r.host,
  }));
  const waited = rows.some((r) => r.caused > 0),
    key = waited ? "caused" : "step";
  const chart = new RankChart({
    rows,
    measures: columns
      .filter(([k]) => ["caused", "step", "waits", "exposed", "data", "busy", "last"].includes(k))
      .map(([k, head, type]) => [k, head, type])
      .sort((a, b) => (b[0] === key) - (a[0] === key)),
    pick: (i) => void (location.hash = `#/ranks?row=${i}`),
  });
  const listed = new MarkedTable(
    {
      title: "Ranks",
      columns: columns.map(([k, head, type, help]) => ({ key: k, head, type, help, shown: true })),
      rows,
      empty: "",
    },
    { render: { rank: (row) => el("a", { href: `#/ranks?row=${rows.indexOf(row)}` }, String(row.rank)) } },
  );
  listed.sorted = { key, type: "ns", isUp: false };
  listed.update();
  // of very many ranks the steps of the worst alone
  const drawnRows = rows
    .map((_, i) => i)
    .filter((i) => all[i].steps.list.length)
    .sort((a, b) => (rows[b][key] ?? -1) - (rows[a][key] ?? -1))
    .slice(0, 64)
    .sort((a, b) => (all.length > 64 ? 0 : a - b));
  const numbers = [...new Set(drawnRows.flatMap((i) => all[i].steps.list.map((s) => s.number)))].sort((a, b) => a - b).slice(0, 400);
  const box = el("div");
  const draw = (key, words) =>
    replace(
      box,
      heatMap({
        title: `Rank × step: ${words}${drawnRows.length < all.length ? `; ${drawnRows.length} of ${all.length} ranks` : ""}`,
        type: "ns",
        rows: drawnRows.map((i) => `rank ${all[i].rank}`),
        columns: numbers.map((n) => `step ${n}`),
        values: drawnRows.map((i) => {
          const r = all[i],
            by = new Map(r.steps.list.map((s) => [s.number, s[key]]));
          return numbers.map((n) => by.get(n) ?? null);
        }),
        pick: (row, column) =>
          drawnRanks(all.length).includes(drawnRows[row]) &&
          (location.hash = timelineLink(drawnRows[row], { step: numbers[column] })),
      }),
    );
  const select = el(
    "select",
    { id: "heat-measure", onchange: (e) => draw(...heats[e.target.selectedIndex]) },
    heats.map(([, words]) => el("option", null, words)),
  );
  if (numbers.length) draw(...heats[0]);
  return [
    chart.element,
    el("div", { id: "rank-why", hidden: true }),
    keep("ranks", listed),
    numbers.length > 0 && [el("p", null, el("label", { for: "heat-measure" }, "colour: "), select), box],
    joint,
  ];
}

function copies(rank) {
  const r = theReport().ranks[rank];
  if (!r.copies.length) return missing(rank, ["device"], "This trace has no copies.");
  const series = r.copy_bandwidth.series,
    charts = [];
  if (series.length > 1) {
    const keys = Object.keys(series[0]).filter((k) => k.endsWith("_gbps")),
      headOf = (key) => called(view("bandwidth").tables.flatMap((t) => t.columns).find((c) => c.key === key));
    charts.push(
      ...keys.map(
        (k) =>
          series.some((p) => p[k] > 0) &&
          lineChart({
            title: `Copy bandwidth: ${headOf(k)}`,
            type: "number",
            x: series.map((p) => p.start_ns),
            lines: [{ label: "GB/s", class: "c-copy", isArea: true, values: series.map((p) => p[k]) }],
          }),
      ),
    );
  }
  return [...wholeView(rank, "copies"), ...charts.slice(0, 4), factList(rank, "bandwidth")];
}

function host(rank) {
  const recorded = theReport().ranks[rank].host_time.is_recorded ? ["host", "oscalls"] : [];
  const sampled = theReport().ranks[rank].cpu_samples.samples ? ["hot"] : [];
  return [...recorded, ...sampled, "idle", "launch", "calls", "waits", "overheads"].flatMap((word) => [
    el("h3", { class: "view-name" }, view(word).about),
    ...wholeView(rank, word),
  ]);
}

const gpus = (rank) => wholeView(rank, "gpus");

const makers = { steps, operators, kernels, flame: flameView, modules: modulesView, query: queryView, memory, communication, ranks, compare: compareView, copies, gpus, host };

// Which sections a script draws, by their id; the others stand as they were written.
export const drawn = Object.keys(makers);

// Which of them show one rank alone.
const isOfRank = (id) => !["ranks", "compare", "query"].includes(id) && id in makers;

export function draw(id, rank) {
  const section = document.getElementById(id),
    head = section.querySelectorAll("h2, :scope > .scope"),
    isOutline = isOfRank(id) && theReport().ranks[rank].is_outline;
  replace(
    section,
    [...head],
    isOutline
      ? el(
          "div",
          { class: "empty" },
          el("p", null, `Of ${rankLabel(rank)} this page holds only what compares ranks. Its own report has the rest: `),
          el("p", null, el("code", null, `holdup report ${theReport().inputs[rank].file} --html rank.html`)),
        )
      : makers[id](rank),
  );
}

const written = new Map(); // what the program wrote of whom a section speaks

// Says of whom a section speaks, where there are several ranks: the selector changes nothing of what is the whole job's.
export function sayScope(id, rank) {
  const place = document.querySelector(`#${id} > .scope`),
    isShown = rank === theWords().rank_index;
  if (!place || id === "compare") return;
  if (!written.has(id)) written.set(id, place.textContent);
  place.replaceWith(
    el(
      "p",
      { class: "scope" },
      isOfRank(id) ? rankLabel(rank) : written.get(id),
      !isOfRank(id) && !isShown && id !== "ranks" && id !== "query" && [
        `; ${rankLabel(rank)} is chosen for: `,
        ["steps", "operators", "kernels", "timeline"].map((x, k) => [k ? ", " : "", el("a", { href: placeLink(x, rank) }, x)]),
      ],
    ),
  );
  if (id === "overview") compareTiles(rank, isShown);
}

// What tiles of the first screen say of a rank.
const tileNumbers = {
  step: (r) => r.steps.source !== "none" && r.steps.counted > 0 && cell("ns", r.steps.mean_ns),
  lost: ({ step_breakdown: b }) => b?.step_ns > 0 && b.gpu_busy_pct !== null && `${(100 * (1 - b.compute_ns / b.step_ns)).toFixed(0)} %`,
  peak: (r) => r.memory?.pools[0]?.peak_bytes > 0 && cell("bytes", r.memory.pools[0].peak_bytes),
};

// The number of the rank that is chosen, below that of the rank that the verdict speaks of.
function compareTiles(rank, isShown) {
  for (const tile of document.querySelectorAll(".tile")) {
    tile.querySelector(".chosen")?.remove();
    const words = !isShown && tileNumbers[tile.dataset.of]?.(theReport().ranks[rank]);
    if (words) tile.querySelector("dd a").append(el("small", { class: "chosen" }, `rank ${theReport().ranks[rank].rank}: ${words}`));
  }
}

// Why the others wait for a rank, as far as it is known, and where that is seen.
function sayWhy(rank) {
  const r = theReport().ranks[rank],
    late = theReport().stragglers.find((s) => s.rank === r.rank),
    box = document.getElementById("rank-why"),
    cause = theWords().classes[late?.cause];
  const hasTimeline = drawnRanks(theReport().ranks.length).includes(rank);
  box.hidden = false;
  replace(
    box,
    el(
      "p",
      null,
      el("strong", null, rankLabel(rank)),
      late
        ? `: each other rank waits ${time(late.lost_ns_per_step)} in a step for it (${cell("percent", late.share_pct)} % of all such waiting). `
        : ": the others hardly wait for it. ",
      cause
        ? `Why: ${time(late.cause_ns_per_step)} more of “${cause}” on its critical path than the median of the others. `
        : late
          ? "Its critical path does not say why. "
          : "",
      hasTimeline &&
        el(
          "a",
          { class: "action", href: timelineLink(rank, late?.cause ? { proof: late.cause } : {}) },
          cause ? `show the longest “${cause}” of this rank` : "show its timeline",
        ),
    ),
  );
}

// Marks what the address asks for in a section that has been drawn.
export function markPlace(id, rank, query) {
  if (id === "compare") return showCompared(query);
  const name = { operators: "operator", kernels: "kernel" }[id],
    made = drawnTables.get({ operators: "ops", kernels: "kernels", ranks: "ranks" }[id]);
  if (made && (query.has("row") || query.has(name))) {
    const { rows } = made.data,
      row = query.has("row") ? rows[Number(query.get("row"))] : rows.find((r) => r.name === query.get(name));
    if (id === "ranks" && row) sayWhy(rows.indexOf(row));
    return Boolean(row) && made.mark(row);
  }
  if (id === "memory" && query.has("peak")) markPeak();
  return false;
}

// The column of a step that a finding is about.
const evidenceOf = {
  "data-loading": ["data_loader_ns", "data loader", "c-data"],
  "exposed-communication": ["exposed_comm_ns", "exposed communication", "c-comm"],
  "poor-overlap": ["exposed_comm_ns", "exposed communication", "c-comm"],
  "comm-latency": ["communication_ns", "communication", "c-comm"],
  straggler: ["communication_ns", "communication", "c-comm"],
  "copy-bound": ["exposed_copy_ns", "exposed copies", "c-copy"],
  "launch-bound": ["idle_ns", "GPU idle", "c-idle"],
  "host-sync": ["idle_ns", "GPU idle", "c-idle"],
  "bandwidth-bound": ["kernel_ns", "kernels", "c-compute"],
  "tensor-cores-unused": ["kernel_ns", "kernels", "c-compute"],
  "overlap-contention": ["kernel_ns", "kernels", "c-compute"],
  recompute: ["kernel_ns", "kernels", "c-compute"],
};

// Cards of findings: a button that copies the fix, a chart of the evidence, and the way to the timeline.
export function enhanceFindings(rank) {
  const r = theReport().ranks[rank],
    shown = r.steps.list.slice(0, 60);
  const hasTimeline = drawnRanks(theReport().ranks.length).includes(rank);
  for (const card of document.querySelectorAll("article.finding")) {
    const id = card.dataset.finding,
      fix = card.querySelector("pre.fix"),
      [key, label, c] = evidenceOf[id] ?? ["duration_ns", "the step", "c-op"];
    fix.after(
      el("button", { type: "button", class: "copy", onclick: (e) => copyText(fix.textContent, e.currentTarget) }, "copy"),
    );
    if (r.steps.source !== "none" && shown.length > 1)
      card.querySelector("pre.fix").previousElementSibling.before(
        barChart({
          title: `In each step: ${label}`,
          height: 90,
          parts:
            key === "duration_ns"
              ? [{ label, class: c }]
              : [
                  { label, class: c },
                  { label: "the rest of the step", class: "c-rest" },
                ],
          bars: shown.map((s) => ({
            label: s.name || `step ${s.number}`,
            short: String(s.number),
            isFaint: s.is_warm_up || s.is_incomplete,
            values: key === "duration_ns" ? [s[key]] : [s[key], Math.max(0, s.duration_ns - s[key])],
          })),
          link: hasTimeline ? (i) => timelineLink(rank, { step: shown[i].number }) : undefined,
        }),
      );
    if (hasTimeline)
      card.append(
        el(
          "p",
          { class: "ways" },
          el("a", { class: "prove", href: timelineLink(rank, { proof: id }) }, "show the slice that proves it"),
          " · ",
          el(
            "a",
            { class: "action", href: timelineLink(rank, theWords().scenarios.includes(id) ? { whatif: id } : {}) },
            theWords().scenarios.includes(id) ? "show the step before and after the fix in the timeline" : "look at the timeline",
          ),
        ),
      );
  }
}

export function rankLabel(index) {
  const r = theReport().ranks[index];
  return `rank ${r.rank}${r.host ? ` on ${r.host}` : ""}`;
}
