// SPDX-License-Identifier: Apache-2.0
// memory_range.js - a range of time on the curves of memory: what was allocated and freed in it, and what is held at its end.

import { addressOf, keepInAddress } from "./address.js";
import { lineChart, width } from "./chart.js";
import { el, replace, svg } from "./dom.js";
import { bytes, count, time } from "./format.js";
import { icicle, layerChart } from "./memory.js";
import { originOf, theReport, wordsOf } from "./rows.js";
import { DataTable } from "./table.js";
import { labelOf, parentOf } from "./timeline_model.js";

const mostListed = 2000,
  mostHeld = 200,
  notches = 1000,
  axisLeft = 80,
  lineClasses = ["c-compute", "c-comm", "c-copy", "c-op", "c-set", "c-data", "c-user", "c-call"];

const head = (key, words, type, help) => ({ key, head: words, type, help, shown: true });
const who = [
  head("by", "by", "text", "The line or operator that allocated it."),
  head("category", "category", "text", "As in “The peak by category”."),
];

export class MemoryRange {
  // link(parameters): to a place of the timeline
  constructor(rank, t, link) {
    this.t = t;
    this.a = t.allocations;
    this.rank = rank;
    this.link = link;
    this.m = theReport().ranks[rank].memory;
    this.picture = el("div", { class: "range-chart" });
    this.info = el("div", { "aria-live": "polite" });
    this.below = el("div", { class: "range-below" });
    this.chains = el("details", { ontoggle: () => this.drawChains() }, el("summary", null, "Held at its end, by call chain"));
    const { a } = this,
      select = (words, options, f) =>
        el("select", { "aria-label": words, onchange: (e) => f(e.target.value) }, options.map(([v, text]) => el("option", { value: v }, text))),
      button = (words, f) => el("button", { type: "button", onclick: f }, words);
    this.ends = ["range begins", "range ends"].map((words, k) =>
      el("input", { type: "range", min: 0, max: notches, "aria-label": words, oninput: () => this.slide(k) }),
    );
    const pools = select(
      "pool",
      [...a.pools.map((p, i) => [i, p.name]), ...(a.pools.length > 1 ? [[-1, "all pools"]] : [])],
      (v) => this.setPool(Number(v)),
    );
    // a snapshot knows the ends of its steps alone
    const origin = originOf(rank),
      ends = this.m.steps.map((s) => s.end_ns - origin),
      steps = t.steps.length ? t.steps : ends.slice(1).map((end, i) => ({ name: `step ${i + 1}`, host_start: ends[i] + 1, host_end: end }));
    this.element = el(
      "div",
      { class: "memory-range" },
      el(
        "div",
        { class: "tools" },
        pools,
        button("up to the peak", () => this.toPeak()),
        button("whole capture", () => this.choose(a.from, a.to)),
        steps.length > 0 &&
          select("a step as range", [["", "a step"], ...steps.slice(0, 500).map((s, i) => [i, s.name || `step ${s.number}`])], (i) => i && this.choose(steps[i].host_start, steps[i].host_end)),
      ),
      el("p", { class: "note" }, this.said()),
      el("div", { class: "desk" }, el("div", { class: "stage" }, this.picture, el("div", { class: "ends" }, this.ends)), el("div", { class: "dock" }, this.info)),
      this.chains,
      this.below,
    );
    const query = addressOf("memory"),
      asked = (query?.get("range") ?? "").split("_").map(Number),
      pool = a.pools.findIndex((p) => p.name === query?.get("pool"));
    pools.value = Math.max(0, pool);
    this.range = asked[1] >= asked[0] && asked[1] > 0 ? asked : [a.from, a.to];
    this.setPool(Math.max(0, pool));
  }

  said() {
    const { a } = this;
    return [
      "Drag over the curve, or move the two ends below it: the range.",
      a.n < a.of && ` Of ${count(a.of)} allocations this page has the ${count(a.n)} largest, of ${bytes(a.least)} and more; the others take ${bytes(a.left_out_bytes)} in all.`,
      !a.has_address && " Without addresses nobody knows which of them is freed when: what is held has no list.",
    ];
  }

  by(k) {
    const { a, t } = this;
    return a.site[k] >= 0 ? a.sites[a.site[k]] : a.slice[k] >= 0 ? labelOf(t, t.order[a.slice[k]]) : a.born[k] < a.from ? "before the capture" : "not recorded";
  }

  // Every event of the chosen pools by time, and what is held behind it.
  setPool(index) {
    const { a } = this,
      events = [];
    this.pools = index < 0 ? a.pools : [a.pools[index]];
    this.pool = index;
    for (const p of this.pools)
      for (let k = p.at; k < p.at + p.n; k++) {
        if (a.born[k] >= a.from) events.push({ k, at: a.born[k], by: a.size[k] });
        if (a.died[k] < Infinity) events.push({ k, at: a.died[k], by: -a.size[k] });
      }
    events.sort((x, y) => x.at - y.at || x.by - y.by);
    this.held = this.pools.reduce((sum, p) => sum + p.first_bytes, 0);
    let now = this.held;
    for (const e of events) e.held = now += e.by;
    this.events = events;
    this.drawCurve();
    this.choose(...this.range);
  }

  drawCurve() {
    const { a, m } = this,
      [pool] = this.pools,
      isLargest = this.pool >= 0 && m.pools[0]?.pool === pool.name && m.series.length > 1;
    const figure = isLargest
      ? layerChart({ title: `Memory of ${pool.name}`, points: m.series, steps: m.steps, from: a.from })
      : lineChart({
          title: `Memory of ${this.pool < 0 ? "all pools" : pool.name}`,
          x: Array.from({ length: a.points }, (_, i) => i * a.piece),
          xLabel: (v) => time(v + a.from),
          lines:
            this.pool < 0
              ? this.pools.slice(0, lineClasses.length).map((p, i) => ({ label: p.name, class: lineClasses[i], values: [...p.most] }))
              : ["most", "reserved"].map((key, i) => ({ label: ["held, most", "reserved"][i], class: ["c-op", "c-data"][i], values: [...pool[key]] })),
        });
    const chart = figure.querySelector("svg.chart"),
      timeAt = (e) => {
        const box = chart.getBoundingClientRect(),
          share = (((e.clientX - box.left) / box.width) * width - axisLeft) / (width - axisLeft);
        return a.from + Math.min(1, Math.max(0, share)) * this.span();
      };
    this.shade = chart.appendChild(svg("rect", { class: "chosen", y: 0, height: isLargest ? 220 : 180 }));
    let first = null;
    chart.addEventListener("pointerdown", (e) => {
      chart.setPointerCapture(e.pointerId);
      first = timeAt(e);
    });
    chart.addEventListener("pointermove", (e) => first !== null && this.show(first, timeAt(e)));
    for (const end of ["pointerup", "pointercancel"])
      chart.addEventListener(end, (e) => {
        if (first !== null && end === "pointerup") this.choose(first, timeAt(e));
        first = null;
      });
    replace(this.picture, figure);
  }

  span() {
    return Math.max(1, this.a.piece * this.a.points);
  }

  toPeak() {
    const { a, events } = this,
      row = this.m.pools.find((p) => p.pool === this.pools[0].name);
    let peak = row && a.n < a.of ? row.peak_at_ns - originOf(this.rank) : a.to;
    if (a.n === a.of && events.length) peak = events.reduce((x, y) => (y.held > x.held ? y : x)).at;
    this.choose(a.from, peak);
    this.chains.open = true;
    this.drawChains();
  }

  slide(k) {
    const v = this.ends.map((e) => this.a.from + (e.value / notches) * (this.a.to - this.a.from));
    if (v[0] > v[1]) v[1 - k] = v[k];
    this.choose(...v);
  }

  // What is said while one drags: sums.
  show(a0, b0) {
    const { a, events } = this,
      [from, to] = (this.range = [Math.round(Math.min(a0, b0)), Math.round(Math.max(a0, b0))]),
      x = (v) => axisLeft + ((v - a.from) / this.span()) * (width - axisLeft),
      first = events.findIndex((e) => e.at >= from),
      inside = first < 0 ? [] : events.slice(first).filter((e) => e.at <= to);
    this.inside = inside;
    this.shade.setAttribute("x", x(from));
    this.shade.setAttribute("width", Math.max(2, x(to) - x(from)));
    this.ends.forEach((e, k) => {
      e.value = ((this.range[k] - a.from) / Math.max(1, a.to - a.from)) * notches;
      e.setAttribute("aria-valuetext", time(this.range[k]));
    });
    const all = a.n === a.of,
      piece = (v) => Math.min(a.points - 1, Math.max(0, Math.floor((v - a.from) / a.piece))),
      curve = (key, i) => this.pools.reduce((sum, p) => sum + p[key][i], 0),
      before = all ? (first < 0 ? events : events.slice(0, first)).at(-1)?.held ?? this.held : curve("mean", piece(from)),
      end = all ? (inside.at(-1)?.held ?? before) : curve("mean", piece(to));
    let most = Math.max(before, end);
    for (const e of all ? inside : []) most = Math.max(most, e.held);
    for (let i = piece(from); !all && i <= piece(to); i++) most = Math.max(most, curve("most", i));
    const sum = (isFree) => {
      const of = inside.filter((e) => e.by < 0 === isFree);
      return `${bytes(of.reduce((s, e) => s + Math.abs(e.by), 0))} in ${count(of.length)}`;
    };
    replace(
      this.info,
      el("h3", null, `${time(from)} to ${time(to)}`),
      el(
        "dl",
        { class: "facts" },
        [
          ["takes", time(to - from)],
          ["held before", bytes(before)],
          ["held at its end", bytes(end)],
          ["change", `${end > before ? "+" : ""}${bytes(end - before)}${all ? "" : ", by the curve"}`],
          ["most held in it", bytes(most)],
          ["allocated", sum(false)],
          ["freed", sum(true)],
        ].map(([k, v]) => [el("dt", null, k), el("dd", null, v)]),
      ),
    );
  }

  choose(from, to) {
    this.show(from, to);
    const { a } = this,
      rows = [...this.inside].sort((x, y) => Math.abs(y.by) - Math.abs(x.by)).slice(0, mostListed),
      row = (k) => ({ k, by: this.by(k), category: wordsOf("memory", "holders", "category", a.categories[a.category[k]]), bytes: a.size[k] }),
      place = (v) => (Math.abs(v) < Infinity ? v : null);
    this.kept = [];
    for (const p of a.has_address ? this.pools : [])
      for (let k = p.at; k < p.at + p.n; k++) if (a.born[k] <= this.range[1] && a.died[k] > this.range[1]) this.kept.push(k);
    this.kept.sort((x, y) => a.size[y] - a.size[x]);
    const render = { by: (r) => this.byLink(r.k) },
      when = (key, words, help) => head(key, words, "ns", help);
    replace(
      this.below,
      new DataTable(
        {
          title: `Largest held at its end${this.kept.length > mostHeld ? `: ${mostHeld} of ${count(this.kept.length)}` : ""}`,
          columns: [head("bytes", "bytes", "bytes"), ...who, when("born_ns", "allocated at", "–: before the capture"), when("died_ns", "freed at", "–: not in the capture")],
          rows: this.kept.slice(0, mostHeld).map((k) => ({ ...row(k), born_ns: place(a.born[k]), died_ns: place(a.died[k]) })),
          empty: "nothing that is known",
        },
        { render },
      ).element,
      new DataTable(
        {
          title: `Allocated and freed in it${this.inside.length > rows.length ? `: the ${count(rows.length)} largest of ${count(this.inside.length)}` : ""}`,
          columns: [when("at_ns", "at"), head("what", "what", "text"), head("bytes", "bytes", "bytes"), ...who, when("lives_ns", "lives", "–: begin or end is not in the capture")],
          rows: rows
            .sort((x, y) => x.at - y.at)
            .map((e) => ({ ...row(e.k), at_ns: e.at, what: e.by < 0 ? "freed" : "allocated", bytes: e.by, lives_ns: place(a.died[e.k] - a.born[e.k]) })),
          empty: "nothing",
        },
        { render },
      ).element,
    );
    this.chainsOf = null;
    this.drawChains();
    if (this.element.isConnected) keepInAddress("memory", { range: this.range.join("_"), pool: this.pool > 0 ? a.pools[this.pool].name : "" });
  }

  byLink(k) {
    const { a, t } = this,
      i = a.slice[k] < 0 ? -1 : t.order[a.slice[k]];
    return i < 0 ? this.by(k) : el("a", { href: this.link({ slice: `${t.start[i]}.${t.row[i]}`, from: t.start[i] - 2 * t.dur[i], to: t.start[i] + 3 * t.dur[i] }) }, this.by(k));
  }

  // From the outermost frame: of a recorded chain, else operators and Python frames around it.
  stackOf(k) {
    const { a, t } = this,
      out = [];
    if (a.stacks && a.stack[k] >= 0) for (let s = a.stack[k]; s >= 0; s = a.caller[s]) out.push(a.functions[a.function[s]]);
    else if (a.slice[k] >= 0) for (let i = t.order[a.slice[k]]; i >= 0; i = parentOf(t, i)) out.push(labelOf(t, i));
    return out.length ? out.reverse() : [this.by(k)];
  }

  drawChains() {
    if (!this.chains.open || this.chainsOf === this.kept) return;
    this.chainsOf = this.kept;
    const rows = this.kept.map((k) => ({ stack: this.stackOf(k), bytes: this.a.size[k], category: this.a.categories[this.a.category[k]] }));
    replace(this.chains, this.chains.firstChild, rows.length ? icicle({ title: `Held after ${time(this.range[1])}`, rows }) : el("p", null, "nothing that is known"));
  }
}
