// SPDX-License-Identifier: Apache-2.0
// flame_view.js - the flame graph of a rank: what is counted, in which order it is drawn, what was found, and what was chosen.

import { addressOf, keepInAddress, linkTo } from "./address.js";
import { clean, copyText, el, replace } from "./dom.js";
import { FlameChart, frameName } from "./flame.js";
import { Callers, foldedText, frameWords, kindsOf, matchedTotal, sumFrames, sliceTree } from "./flame_tree.js";
import { count, percent, time } from "./format.js";
import { kindWords } from "./palette.js";
import { theReport } from "./rows.js";
import { DataTable } from "./table.js";
import { drawnRanks, loadSlices } from "./timeline_load.js";
import { trackName } from "./timeline_model.js";

const orders = { left: "left-heavy", time: "in time order", callers: "bottom-up" },
  sources = { host: "host time", gpu: "GPU time", cpu: "CPU samples" },
  flameKeys = ["of", "kind", "frames", "order", "track", "step", "steps", "find"];

const colorOf = (kind, colors) =>
  kind === "track" ? colors.soft : kind === "function" ? colors.kinds.cpu_op : kind === "module" ? colors.kinds.memset : (colors.kinds[kind] ?? colors.kinds.other);

// Those that a trace has.
const sourcesOf = (t) =>
  Object.keys(sources).filter((k) => (k === "cpu" ? t.cpu_samples : t.tracks.some((x) => x.type === (k === "gpu" ? "stream" : "host")) || k === "host"));

// What the address says, with what is shown otherwise.
function readAddress(t) {
  const query = addressOf("flame") ?? new URLSearchParams(),
    has = (table, key, otherwise) => (Object.hasOwn(table, query.get(key) ?? "") ? query.get(key) : otherwise);
  const asked = has(sources, "of", "host"),
    of = sourcesOf(t).includes(asked) ? asked : sourcesOf(t)[0],
    kinds = kindsOf(t, of).map(([k]) => k);
  return {
    of,
    kind: kinds.includes(query.get("kind")) ? query.get("kind") : "",
    frames: has(frameWords, "frames", "all"),
    order: has(orders, "order", "left"),
    track: t.tracks[Number(query.get("track") ?? -1)] ? Number(query.get("track") ?? -1) : -1,
    step: t.steps.some((s) => String(s.number) === query.get("step")) ? query.get("step") : "",
    steps: query.get("steps") === "each" ? "each" : "one",
    find: query.get("find") ?? "",
  };
}

class FlameView {
  constructor(box, rank, t) {
    this.box = box;
    this.rank = rank;
    this.t = t;
    this.asked = readAddress(t);
    this.chart = new FlameChart({
      label: "Time by stack",
      colorOf,
      words: (node) => this.words(node),
      pick: (node) => this.pick(node),
    });
    this.status = el("p", { class: "note", role: "status" });
    this.found = el("span", { class: "note", role: "status" });
    this.info = el("div", { class: "info" });
    this.sums = el("div");
    this.selects = {};
    this.find = el("input", {
      type: "search",
      placeholder: "search  /",
      "aria-label": "search for frames by name",
      value: this.asked.find,
      oninput: () => this.search(),
      onkeydown: (e) => {
        if (e.key === "Enter") this.next(e.shiftKey ? -1 : 1);
      },
    });
    this.element = el(
      "div",
      { class: "flame-view" },
      el("div", { class: "tools" }, this.makeSelects()),
      el(
        "div",
        { class: "tools" },
        this.find,
        el("button", { type: "button", onclick: () => this.next(1) }, "next match"),
        this.found,
        el("button", { type: "button", onclick: () => this.chart.widen(0) }, "show all"),
        el(
          "button",
          { type: "button", onclick: (e) => copyText(foldedText(sliceTree(this.t, this.options)), e.currentTarget), title: "what `holdup export --format folded` writes, of what is chosen here" },
          "copy as folded stacks",
        ),
      ),
      this.status,
      this.chart.element,
      this.info,
      this.sums,
    );
    this.element.addEventListener("keydown", (e) => {
      if (e.key !== "/" || e.target.matches("input, select")) return;
      this.find.focus();
      e.preventDefault();
    });
    this.rebuild();
  }

  // One after the other: word, values with their words.
  choices() {
    const { t, asked } = this,
      type = asked.of === "gpu" ? "stream" : "host";
    return [
      ["of", "count", Object.entries(sources).filter(([k]) => sourcesOf(t).includes(k))],
      ["kind", "of", [["", asked.of === "gpu" ? "all GPU operations" : "all slices"], ...kindsOf(t, asked.of).map(([k, words]) => [k, words])]],
      ["frames", "frames", asked.of === "cpu" ? [] : Object.entries(frameWords)],
      ["order", "order", Object.entries(orders)],
      [
        "track",
        "on",
        [
          ["-1", type === "stream" ? "all streams" : "all threads"],
          ...(asked.of === "cpu" ? [] : t.tracks).map((x, i) => [String(i), clean(trackName(x), 60), x]).filter(([, , x]) => x.type === type && x.scenario === undefined),
        ],
      ],
      ["steps", "steps", asked.of !== "cpu" && t.steps.length > 1 ? [["one", "as one"], ["each", "each"]] : []],
      ["step", "in", [["", "the whole capture"], ...t.steps.slice(0, 500).map((s) => [String(s.number), clean(s.name || `step ${s.number}`, 60)])]],
    ];
  }

  makeSelects() {
    return this.choices().map(([key, label, values]) => {
      const select = el("select", {
        id: `flame-${key}`,
        onchange: () => {
          this.asked[key] = key === "track" ? Number(select.value) : select.value;
          if (key === "of") Object.assign(this.asked, { kind: "", track: -1 });
          this.rebuild();
        },
      });
      this.selects[key] = select;
      this.fill(select, key, values);
      return el("label", { for: select.id }, `${label} `, select);
    });
  }

  fill(select, key, values) {
    replace(select, values.map(([value, words]) => el("option", { value }, words)));
    select.value = String(this.asked[key]);
    select.parentElement?.toggleAttribute("hidden", values.length < 2);
  }

  rebuild() {
    const { asked, t } = this,
      began = performance.now(),
      step = t.steps.find((s) => String(s.number) === asked.step);
    for (const [key, , values] of this.choices()) this.fill(this.selects[key], key, values);
    this.options = { ...asked, isTimed: asked.order === "time", ...(step && { from: step.start, to: step.end }) };
    this.tree = sliceTree(t, { ...this.options, areStepsOne: asked.steps === "one" && !this.options.isTimed });
    this.shown = asked.order === "callers" ? new Callers(this.tree) : this.tree;
    this.chart.set(this.shown);
    performance.measure("flame-tree", { start: began, end: performance.now() });
    this.sayStatus(step);
    replace(this.info, el("p", { class: "note" }, "Choose a frame: its time, its callers, and the way to its slices."));
    this.showSums();
    this.search();
    this.keep();
  }

  keep() {
    const plain = { of: "host", frames: "all", order: "left", track: -1, steps: "one" };
    keepInAddress("flame", { r: this.rank, ...Object.fromEntries(flameKeys.map((k) => [k, this.asked[k] === plain[k] ? "" : this.asked[k]])) });
  }

  sayStatus(step) {
    const { t, tree, asked } = this,
      parts = [
        `${time(tree.total[0])} of ${sources[asked.of]}${asked.kind ? ` in ${kindWords[asked.kind] ?? asked.kind}` : ""}${step ? ` in ${step.name || `step ${step.number}`}` : ""}`,
      ];
    if (asked.track < 0 && asked.of === "host") parts.push("Threads are added up");
    if (asked.order === "time") parts.push("From the first on, gaps left out; equal frames that follow each other are one");
    if (asked.of === "cpu") parts.push(t.cpu_samples.each_ns ? `A sample stands for ${time(t.cpu_samples.each_ns)} of CPU time` : "A sample counts as 1 ns: its time is not recorded");
    if (asked.of === "cpu" && t.cpu_samples.every > 1) parts.push(`This page has one of ${t.cpu_samples.every} samples`);
    if (t.left_out) parts.push(`This page has ${t.left_out}; --full includes all`);
    if (t.least > 0) parts.push(`Slices shorter than ${time(t.least)} are in part left out`);
    if (tree.isCut) parts.push("Stacks are cut at 512 frames; deeper time counts at the last frame");
    replace(this.status, `${parts.join(". ")}.`);
  }

  share(node) {
    return `${percent((100 * this.shown.total[node]) / (this.shown.total[0] || 1))} %`;
  }

  words(node) {
    return `${this.shown.nameOf(node)}: ${time(this.shown.total[node])}, ${this.share(node)}`;
  }

  pick(node) {
    const { shown, t, asked } = this,
      own = asked.order === "callers" ? null : shown.self[node],
      i = shown.longest[node],
      path = [];
    for (let k = shown.above[node]; k > 0 && path.length < 80; k = shown.above[k]) path.push(k);
    const calls = shown.calls[node],
      facts = [
        ["kind", node ? (kindWords[shown.kindOf(node)] ?? shown.kindOf(node)) : ""],
        [asked.order === "callers" ? "time itself, called this way" : "with all below it", `${time(shown.total[node])}, ${this.share(node)}`],
        own !== null && ["by itself", `${time(own)}, ${percent((100 * own) / (shown.total[0] || 1))} %`],
        node && calls > 0 && [asked.of === "cpu" ? "samples" : "slices", count(calls)],
      ];
    replace(
      this.info,
      el("h3", null, el("span", { class: "mono" }, clean(shown.nameOf(node), 600))),
      el("dl", { class: "facts" }, facts.filter((f) => f && f[1]).map(([k, v]) => [el("dt", null, k), el("dd", null, v)])),
      node > 0 && el("p", { class: "jumps" }, this.links(node, i)),
      path.length > 0 &&
        el(
          "details",
          { open: path.length < 8 },
          el("summary", null, asked.order === "callers" ? `what it calls (${path.length})` : `callers (${path.length})`),
          el(
            "ol",
            { class: "stack" },
            path.map((k) =>
              el(
                "li",
                null,
                el("button", { type: "button", class: "link", onclick: () => this.goTo(k) }, clean(frameName(shown.nameOf(k)), 120)),
                ` ${time(shown.total[k])}`,
              ),
            ),
          ),
        ),
    );
  }

  // From a frame to slices in the timeline.
  links(node, i) {
    const { t, rank, shown } = this,
      name = shown.nameOf(node);
    if (["track", "function"].includes(shown.kindOf(node))) return null;
    const room = i >= 0 && Math.max(50, t.dur[i] * 0.3);
    return [
      i >= 0 &&
        el(
          "a",
          {
            class: "action",
            href: linkTo("timeline", {
              r: rank,
              from: Math.round(t.start[i] - room),
              to: Math.round(t.start[i] + t.dur[i] + room),
              slice: `${t.start[i]}.${t.row[i]}`,
            }),
          },
          `the longest of them in the timeline: ${time(t.dur[i])}`,
        ),
      el("a", { href: linkTo("timeline", { r: rank, find: name }) }, "all slices of this name in the timeline"),
      el("button", { type: "button", class: "link", onclick: () => this.searchFor(name) }, "find all frames of this name here"),
    ];
  }

  goTo(node) {
    this.chart.widen(node);
    this.chart.choose(node);
  }

  searchFor(name) {
    this.find.value = name;
    this.search();
  }

  search() {
    const wanted = this.find.value.toLowerCase();
    this.asked.find = this.find.value;
    this.matches = [];
    if (!wanted) {
      this.chart.mark(null);
      this.found.textContent = "";
    } else {
      const isMatch = Uint8Array.from(this.tree.names, (name) => name.toLowerCase().includes(wanted)),
        { sum, stacks } = matchedTotal(this.tree, isMatch);
      this.chart.mark(isMatch);
      this.found.textContent = stacks ? `${time(sum)}, ${percent((100 * sum) / (this.tree.total[0] || 1))} %, in ${count(stacks)} place${stacks === 1 ? "" : "s"}` : "no match";
      this.isMatch = isMatch;
    }
    this.keep();
  }

  // The next match, the largest first; its surroundings are widened where it is too small to see.
  next(by) {
    const { shown, chart } = this;
    if (!this.find.value) return;
    if (!this.matches.length)
      for (let k = 1; k < shown.above.length; k++) if (this.isMatch[shown.frame[k]]) this.matches.push(k);
    if (!this.matches.length) return;
    if (this.sortedFor !== this.matches) this.matches.sort((a, b) => shown.total[b] - shown.total[a] || a - b);
    this.sortedFor = this.matches;
    const now = this.matches.indexOf(chart.chosen),
      node = this.matches[now < 0 && by < 0 ? this.matches.length - 1 : (now + by + this.matches.length) % this.matches.length];
    if (!chart.isLaidOut(node)) chart.widen(shown.above[node]);
    if (!chart.isLaidOut(node)) chart.widen(node);
    chart.choose(node);
  }

  // The same for those who do not see the picture, and for those who look for one function.
  showSums() {
    const column = (key, head, type, help) => ({ key, head, type, help, shown: true });
    const whole = this.tree.total[0] || 1,
      rows = sumFrames(this.tree).map((r) => ({ ...r, kind: kindWords[r.kind] ?? r.kind, share: (100 * r.self_ns) / whole }));
    replace(
      this.sums,
      new DataTable(
        {
          title: "Frames by name",
          empty: "no frames",
          rows,
          columns: [
            column("name", "frame", "text", "the name of the slice"),
            column("self_ns", "by itself", "ns", "without what is below it"),
            column("share", "%", "percent", "of all that is counted here"),
            column("total_ns", "with all below it", "ns", "each instant once, however often it calls itself"),
            column("calls", this.asked.of === "cpu" ? "samples" : "slices", "count", "how many"),
            column("kind", "kind", "text", "of the slice"),
          ],
        },
        {
          render: {
            name: (row) =>
              el(
                "button",
                { type: "button", class: "link", title: clean(row.name), onclick: () => this.searchFor(row.name) },
                clean(frameName(row.name), 160),
              ),
          },
        },
      ).element,
    );
  }
}

let flameShown;

// Of the section; the slices come later.
export function flameView(rank) {
  const box = el("div", null, el("p", { class: "note", role: "status" }, "reading the slices …"));
  const ranks = drawnRanks(theReport().ranks.length);
  if (!ranks.includes(rank)) {
    replace(box, el("div", { class: "empty" }, el("p", null, `This page has no slices of rank ${theReport().ranks[rank].rank}, only those that the verdict needs; --full includes all.`)));
    return box;
  }
  loadSlices(rank).then(
    (t) => {
      flameShown = new FlameView(box, rank, t);
      replace(box, flameShown.element);
      box.closest("section").dataset.ready = String(rank);
    },
    (error) => replace(box, el("p", { class: "error", role: "alert" }, `The flame graph cannot be drawn: ${clean(error.message)}`)),
  );
  return box;
}

// Another address of the same view: a link was followed.
addEventListener("hashchange", () => {
  if (!flameShown || !addressOf("flame") || !flameShown.element.isConnected) return;
  const asked = readAddress(flameShown.t);
  if (JSON.stringify(asked) === JSON.stringify(flameShown.asked)) return;
  flameShown.asked = asked;
  flameShown.find.value = flameShown.asked.find;
  flameShown.rebuild();
});
