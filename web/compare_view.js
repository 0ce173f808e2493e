// SPDX-License-Identifier: Apache-2.0
// compare_view.js - two traces side by side: what holds each up, where the time goes, operators and kernels by their names.

import { addressOf, linkTo } from "./address.js";
import { classRows, gpuClasses, joinRows, obstacles, stepDifference } from "./compare.js";
import { clean, el, replace, svg } from "./dom.js";
import { nothing, percent, time } from "./format.js";
import { roles, theReport, theWords } from "./rows.js";
import { DataTable } from "./table.js";

const MOST_IN_LIST = 200;
let comparedBox, comparedPair;

const runOf = (i) => theWords().runs.find((run) => run.ranks.includes(i));

// A trace that is a run alone may have no rank.
function rankOfRun(i) {
  const run = runOf(i),
    rank = `rank ${theReport().ranks[i].rank}`;
  return !run ? rank : run.ranks.length > 1 ? `${run.name}, ${rank}` : run.name;
}

// All that is compared of rank number `i` of the page.
function sideOf(letter, i) {
  const rank = theReport().ranks[i],
    run = runOf(i),
    words = theWords();
  return {
    name: letter,
    key: letter.toLowerCase(),
    index: i,
    rank,
    run,
    tool: theReport().inputs[i].tool,
    file: theReport().inputs[i].file,
    title: rankOfRun(i),
    isBrief: words.is_brief && i !== words.rank_index && !words.runs.some((r) => r.shown === i),
  };
}

// Of two runs their slowest ranks, as they were named; of one the fastest and the slowest.
function firstPair() {
  const { runs, rank_index } = theWords(),
    { ranks } = theReport();
  if (runs.length > 1) return [runs[0].shown, runs[1].shown];
  let fastest = rank_index ? 0 : 1;
  ranks.forEach((r, i) => i !== rank_index && (r.steps.mean_ns ?? Infinity) < (ranks[fastest].steps.mean_ns ?? Infinity) && (fastest = i));
  return [fastest, rank_index];
}

function pairOf(query) {
  const { ranks } = theReport(),
    first = firstPair();
  return ["a", "b"].map((key, k) => (/^\d+$/.test(query?.get(key) ?? "") && Number(query.get(key)) < ranks.length ? Number(query.get(key)) : first[k]));
}

const goTo = (a, b) => void (location.hash = linkTo("compare", { a, b }));

const more = (value) => (value > 0 ? "+" : value < 0 ? "−" : "");
const signed = (ns) => (ns === null || Number.isNaN(ns) ? nothing : `${more(ns)}${time(Math.abs(ns))}`);
const times = (ratio) => (ratio === null || ratio === undefined ? nothing : `${ratio < 9.995 ? ratio.toFixed(2) : ratio.toFixed(0)}×`);
const change = (ns) => el("span", { class: ns > 0 ? "longer" : ns < 0 ? "shorter" : null }, signed(ns));

function chooser(letter, chosen, f) {
  const { ranks } = theReport(),
    { runs } = theWords(),
    id = `compare-${letter.toLowerCase()}`;
  const option = (i, run) =>
    el(
      "option",
      { value: i, selected: i === chosen },
      `${rankOfRun(i)}: ${time(ranks[i].steps.mean_ns)}${run && run.ranks.length > 1 && run.shown === i ? ", the slowest" : ""}`,
    );
  const choice =
    ranks.length > MOST_IN_LIST
      ? el("input", {
          id,
          type: "number",
          min: "0",
          value: String(ranks[chosen].rank),
          onchange: (e) => {
            const i = ranks.findIndex((r) => r.rank === Number(e.target.value));
            if (i >= 0) f(i);
          },
        })
      : el(
          "select",
          { id, onchange: (e) => f(Number(e.target.value)) },
          runs.length > 1
            ? runs.map((run) => el("optgroup", { label: clean(run.name) }, run.ranks.map((i) => option(i, run))))
            : ranks.map((_, i) => option(i)),
        );
  return el("label", { for: id }, `${letter} `, choice);
}

// What one side is, and what holds it up.
function card(side) {
  const { rank, run } = side,
    best = rank.replay?.findings?.[0],
    slowest = run && (run.shown === side.index ? "this is the slowest" : `the slowest is rank ${theReport().ranks[run.shown].rank}`),
    fact = (head, value) => value && [el("dt", null, head), el("dd", null, value)];
  return el(
    "div",
    { class: "side" },
    el("h3", null, el("span", { class: "letter" }, side.name), ` ${clean(side.title)}`),
    run && [
      el("p", null, run.verdict, run.ranks.length > 1 && el("small", null, ` (Of ${run.ranks.length} ranks; ${slowest}.)`)),
      el("p", null, el("span", { class: `badge ${run.confidence}` }, `confidence: ${run.confidence}`)),
    ],
    !run && best && el("p", null, `Largest saving of this rank: ${best.title}${best.gain_pct === null ? "" : `, −${percent(best.gain_pct)} % of a step`}.`),
    el(
      "dl",
      { class: "facts" },
      fact("steps", rank.steps.counted > 0 && `${rank.steps.counted} of ${time(rank.steps.mean_ns)}${rank.steps.stddev_ns === null ? "" : ` ± ${time(rank.steps.stddev_ns)}`}`),
      fact("device", rank.device),
      fact("host", rank.host),
      fact("recorded by", side.tool),
      fact("file", side.file),
    ),
    el(
      "p",
      { class: "note" },
      ["steps", "operators", "kernels", "timeline"].map((id, k) => [k ? " · " : "", el("a", { href: linkTo(id, { r: side.index }), "aria-label": `${id} of ${side.name}` }, id)]),
    ),
  );
}

// The first sentence: how long the steps are, and what makes most of the difference.
function headline(a, b, classes) {
  const step = stepDifference(a, b),
    most = classes.filter((c) => c.diff * step.diff > 0).sort((p, q) => Math.abs(q.diff) - Math.abs(p.diff))[0];
  return el(
    "p",
    { class: "verdict" },
    `A step takes ${time(step.a)} in A and ${time(step.b)} in B: `,
    step.isClear === false
      ? "no difference that is larger than the steps of each vary."
      : [
          change(step.diff),
          step.a > 0 && ` (${more(step.diff)}${percent(Math.abs((100 * step.diff) / step.a))} %)`,
          most ? `, most of it ${most.label} (${signed(most.diff)}).` : ".",
          step.isClear === null && el("small", null, " Of one step alone nobody knows how much steps vary."),
        ],
  );
}

function pairOfBars(row, longest) {
  const bar = (value, y) => svg("rect", { class: row.class, y, width: longest > 0 ? ((100 * value) / longest).toFixed(2) : 0, height: 8 });
  return el(
    "td",
    { class: "pair", "aria-hidden": "true" },
    el("div", null, el("span", null, "A"), el("span", null, "B")),
    svg("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none" }, bar(row.a, 1), bar(row.b, 11)),
  );
}

// Classes of time as bars of one scale, the upper one A's.
function classTable(title, rows, a, b) {
  const longest = Math.max(0, ...rows.flatMap((r) => [r.a, r.b])),
    head = (text, c) => el("th", { scope: "col", class: c }, text),
    value = (side, row) => {
      const ns = row[side.key],
        text = time(ns),
        to = { href: linkTo("timeline", { r: side.index, proof: row.proof }), "aria-label": `${row.label} of ${side.name}: ${text}` };
      return el("td", null, row.proof && ns > 0 ? el("a", to, text) : text);
    };
  return el(
    "figure",
    { class: "plot classes" },
    el("figcaption", null, title),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": title },
      el(
        "table",
        null,
        el("thead", null, el("tr", null, head("class of time", "t"), el("td", { class: "pair" }), head("A"), head("B"), head("difference"), head("B / A"))),
        el(
          "tbody",
          null,
          rows.map((row) =>
            el(
              "tr",
              null,
              el("th", { scope: "row", class: "t" }, row.label),
              pairOfBars(row, longest),
              value(a, row),
              value(b, row),
              el("td", null, change(row.diff)),
              el("td", null, times(row.ratio)),
            ),
          ),
        ),
      ),
    ),
  );
}

// Two tables of rows with names, joined: section and parameter are where a row is found.
function joined(what, a, b, keys, isPerStep, { section, parameter, saysOnly }) {
  const of = isPerStep ? "of a step" : "of a call",
    { both, onlyA, onlyB } = joinRows(a.rank[what], b.rank[what], Object.keys(keys), isPerStep);
  const link = (side, name, text) =>
    el("a", { href: linkTo(section, { r: side.index, [parameter]: name }), "aria-label": `${text}: ${clean(name, 80)} in ${side.name}` }, text);
  const column = (key, head, type, help, shown = true) => ({ key, head, type, help, shown });
  const name = column("name", "name", "text", "as recorded"),
    calls = isPerStep ? ["number", "calls in a step"] : ["count", "calls in the capture"];
  const columns = [name],
    render = { name: (row) => el("span", { title: clean(row.name) }, clean(row.short_name || row.name, 200)) };
  Object.entries(keys).forEach(([key, words], k) => {
    const isFirst = k === 0;
    columns.push(
      column(`a_${key}`, `A ${words}`, "ns", `${words} ${of}, in A; links to its row there`),
      column(`b_${key}`, `B ${words}`, "ns", `${words} ${of}, in B; links to its row there`),
      column(`diff_${key}`, `${words} B − A`, "ns", "by how much B takes longer"),
      column(`ratio_${key}`, "B / A", "number", `how many times as long B takes (${words})`, isFirst),
    );
    for (const side of [a, b]) render[`${side.key}_${key}`] = (row) => link(side, row.name, time(row[`${side.key}_${key}`]));
    render[`diff_${key}`] = (row) => change(row[`diff_${key}`]);
    render[`ratio_${key}`] = (row) => times(row[`ratio_${key}`]);
  });
  const toSlices = (side, row) => ({ href: linkTo("timeline", { r: side.index, find: row.name }), "aria-label": `slices of ${clean(row.name, 80)} in ${side.name}` });
  render.slices = (row) => [el("a", toSlices(a, row), "A"), " ", el("a", toSlices(b, row), "B")];
  columns.push(
    column("a_calls", "A calls", calls[0], `${calls[1]}, in A`),
    column("b_calls", "B calls", calls[0], `${calls[1]}, in B`),
    column("diff_calls", "calls B − A", calls[0], "how many calls B has more", false),
    column("slices", "timeline", "text", "its slices in the timelines of A and of B"),
  );
  const title = what[0].toUpperCase() + what.slice(1),
    short = what === "kernels" ? "kernels" : "ops";
  const onlyTable = (side, rows) =>
    rows.length > 0 &&
    new DataTable(
      {
        title: `${title} only in ${side.name}`,
        word: `${short}-${side.key}`,
        empty: "",
        rows,
        columns: [name, ...Object.entries(keys).map(([key, words]) => column(key, words, "ns", `${words} ${of}; links to its row`)), column("calls", "calls", calls[0], calls[1])],
      },
      { render: { name: render.name, ...Object.fromEntries(Object.keys(keys).map((key) => [key, (row) => link(side, row.name, time(row[key]))])) } },
    ).element;
  return [
    new DataTable({ title: `${title} of both, ${of}`, word: short, columns, rows: both, empty: `no ${what} of the same name in both` }, { render }).element,
    saysOnly && [onlyTable(a, onlyA), onlyTable(b, onlyB)],
  ];
}

// What cannot be compared, by the reason.
function refusals(why) {
  const parts = { steps: "steps and classes of time", host: "host times of operators", gpu: "GPU times", sums: "times per step of operators and kernels", names: "what only one of them has" },
    by = new Map();
  for (const [key, words] of Object.entries(parts)) for (const reason of why[key]) by.set(reason, [...(by.get(reason) ?? []), words]);
  return [...by].map(([reason, list]) => el("p", { class: "refusal" }, el("strong", null, `${list.join(", ").replace(/^./, (c) => c.toUpperCase())} cannot be compared: `), `${reason}.`));
}

// Below the choice: what cannot be said, the first sentence, the two sides, then the differences.
function compared(a, b) {
  const why = obstacles(a, b),
    isWhole = !a.rank.is_outline && !b.rank.is_outline,
    hasGpu = isWhole && a.rank.gpu.span_ns > 0,
    isPerStep = !why.sums.length,
    cards = [el("div", { class: "columns sides" }, card(a), card(b)), why.notes.length > 0 && el("p", { class: "note" }, `${why.notes.join(". ")}.`)],
    out = [refusals(why)];
  const of = (side) => side.rank.step_breakdown;
  if (why.steps.length) out.push(cards);
  else {
    const host = classRows(a, b, roles, (side) => of(side)?.categories),
      gpu = hasGpu ? classRows(a, b, gpuClasses, of) : [];
    out.push(headline(a, b, gpu.length ? gpu : host), cards);
    if (gpu.length) out.push(classTable("Where a step's time on the GPU goes", gpu, a, b));
    if (host.length) out.push(classTable("What a step is busy with", host, a, b));
  }
  if (isWhole) {
    const keys = { ...(hasGpu && !why.gpu.length && { device_self_ns: "GPU self" }), ...(!why.host.length && { host_self_ns: "host self" }) };
    const saysOnly = !why.names.length;
    if (Object.keys(keys).length) out.push(joined("operators", a, b, keys, isPerStep, { section: "operators", parameter: "operator", saysOnly }));
    if (hasGpu && !why.gpu.length) out.push(joined("kernels", a, b, { total_ns: "time" }, isPerStep, { section: "kernels", parameter: "kernel", saysOnly }));
    if (Object.keys(keys).length)
      out.push(el("p", { class: "note" }, isPerStep ? "Of a step: the mean of all calls, times the calls in a step that counts." : "Of a call: the mean of all calls."));
  }
  return out;
}

function fillCompared() {
  const [i, k] = comparedPair,
    a = sideOf("A", i),
    b = sideOf("B", k);
  replace(
    comparedBox,
    el(
      "div",
      { class: "tools" },
      chooser("A", i, (x) => goTo(x, k)),
      el("button", { type: "button", onclick: () => goTo(k, i) }, "⇄ swap"),
      chooser("B", k, (x) => goTo(i, x)),
    ),
    i === k ? el("p", { class: "note" }, "A and B are the same trace: choose another one.") : compared(a, b),
  );
}

export function compareView() {
  comparedBox = el("div");
  comparedPair = null;
  showCompared(addressOf("compare"));
  return comparedBox;
}

// The pair that the address names.
export function showCompared(query) {
  const pair = pairOf(query);
  if (comparedPair?.join() === pair.join()) return false;
  const at = document.activeElement?.id;
  comparedPair = pair;
  fillCompared();
  if (/^compare-/.test(at ?? "")) document.getElementById(at)?.focus();
  return true;
}
