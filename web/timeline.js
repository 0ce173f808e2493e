// SPDX-License-Identifier: Apache-2.0
// timeline.js - the view of slices over time: what it shows, what is chosen in it, and the address that says so.

import { announce, clean, el, replace } from "./dom.js";
import { time } from "./format.js";
import { kindWords, onTheme } from "./palette.js";
import { proofOf, sliceOf } from "./proof.js";
import { theReport, theWords } from "./rows.js";
import { Painter, rulerHeight } from "./timeline_draw.js";
import { TimelineInput, timelineKeys } from "./timeline_input.js";
import { describe, showRange, showSlice } from "./timeline_info.js";
import { canRefine, drawnRanks, fetchPart, loadTimeline } from "./timeline_load.js";
import { childrenOf, firstAfter, gpuSteps, kindOf, labelOf, linkedFrom, Model, parentOf, rowHeight, sliceAt } from "./timeline_model.js";

const leastSpan = 50,
  settleMs = 250;

const clockOffset = (rank) => theReport().ranks[rank].rendezvous?.clock_offset_ns ?? 0;

// How far what stands below each other may be apart.
function sayClocks() {
  const { clocks } = theReport();
  return clocks?.ends
    ? `ranks share one clock, to within ${time(clocks.residual_ns)}`
    : "ranks use their own hosts' clocks";
}

export class Timeline {
  constructor(section, getRank, setRank) {
    this.section = section;
    this.getRank = getRank;
    this.setRank = setRank;
    this.model = new Model();
    this.view = { from: 0, to: 1, top: 0, left: 170, width: 800, height: 400, pixel: 1 };
    this.selected = this.range = this.matches = null;
    this.bookmarks = []; // moments
    this.build();
    onTheme(() => this.redraw());
  }

  build() {
    const ranks = drawnRanks(theReport().ranks.length),
      head = this.section.querySelector("h2");
    this.status = el("p", { class: "note", role: "status" });
    this.proof = el("p", { class: "proof", hidden: true });
    this.find = el("input", {
      type: "search",
      placeholder: "search  /",
      "aria-label": "search for slices by name",
      onkeydown: (e) => this.onFindKey(e),
      oninput: () => this.search(this.find.value),
    });
    this.found = el("span", { class: "note", role: "status" });
    this.whatif = el("select", { "aria-label": "simulated step", onchange: () => this.setScenario(this.whatif.value) });
    const tool = (label, f, name) =>
      el("button", { type: "button", onclick: f, "aria-label": name ?? label, title: name ?? label }, label);
    this.others =
      ranks.length > 1 &&
      el(
        "details",
        { class: "others" },
        el("summary", null, "other ranks"),
        el(
          "div",
          { class: "panel list" },
          ranks.map((r) =>
            el(
              "label",
              null,
              el("input", { type: "checkbox", value: r, onchange: (e) => this.toggleRank(r, e.target.checked) }),
              ` rank ${theReport().ranks[r].rank}`,
            ),
          ),
        ),
      );
    this.trackList = el("details", { class: "tracks", ontoggle: () => this.fitHeight() });
    this.map = el("canvas", { class: "map", "aria-hidden": "true" });
    this.canvas = el("canvas", {
      class: "timeline",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "timeline",
      "aria-describedby": "timeline-keys",
      "aria-label": "Slices over time. Arrow keys go from slice to slice, w and s zoom, a and d move.",
    });
    this.info = el("div", { class: "info" });
    this.tip = el("div", { class: "tip", hidden: true });
    const keys = el(
      "details",
      { id: "timeline-keys", class: "keys" },
      el("summary", null, "keys"),
      el(
        "dl",
        null,
        timelineKeys.map(([k, what]) => [el("dt", null, el("kbd", null, k)), el("dd", null, what)]),
      ),
    );
    const tools = el(
      "div",
      { class: "tools" },
      this.find,
      tool("‹", () => this.step(-1), "previous match"),
      tool("›", () => this.step(1), "next match"),
      this.found,
      tool("−", () => this.zoom(2), "zoom out"),
      tool("+", () => this.zoom(0.5), "zoom in"),
      tool("all", () => this.fit(), "show all"),
      this.trackList,
      this.whatif,
      this.others || null,
    );
    // the lists lie over the tracks
    const closeLists = () => tools.querySelectorAll("details[open]").forEach((list) => (list.open = false));
    tools.addEventListener("keydown", (e) => e.key === "Escape" && closeLists());
    this.canvas.addEventListener("pointerdown", closeLists);
    replace(
      this.section,
      head,
      this.proof,
      tools,
      this.status,
      el(
        "div",
        { class: "desk" },
        el("div", { class: "stage" }, this.map, el("div", { class: "sheet" }, this.canvas, this.tip)),
        el("div", { class: "dock" }, this.info, el("div", { class: "about" }, this.legend(), keys)),
      ),
    );
    this.painter = new Painter(this.canvas);
    this.canvas.classList.add("unpainted"); // a canvas without transparency is black until it is painted
    new TimelineInput(this);
    addEventListener("resize", () => this.fitHeight());
  }

  // As high as its tracks, or as what is left of the window: then the wheel and a finger move the page, not the tracks.
  fitHeight() {
    if (!this.lanes) return;
    const wanted = this.lanesHeight + rulerHeight + 20,
      top = this.canvas.getBoundingClientRect().top + scrollY,
      room = Math.max(300, innerHeight - top - 16);
    this.canvas.style.height = `${Math.max(160, Math.min(wanted, room))}px`;
    this.allFit = wanted <= room;
    this.canvas.toggleAttribute("data-all-fit", this.allFit); // then a finger moves the page
    this.redraw();
  }

  legend() {
    const shown = [
      "kernel",
      "collective",
      "memcpy",
      "memset",
      "cpu_op",
      "runtime",
      "python_function",
      "user_annotation",
      "overhead",
    ];
    return el(
      "ul",
      { class: "legend", "aria-label": "colours" },
      shown.map((k) => el("li", null, el("span", { class: `dot k-${k}` }), " ", el("span", { title: theWords().kinds[k], tabindex: "0" }, kindWords[k]))),
      el("li", null, "shades tell names apart; pale: slices fill only part of that time"),
      el("li", null, "steps on top: as the host marks them; GPU steps: from the start of the first GPU operation launched in one to the end of the last"),
    );
  }

  // Called when the address says so.
  async show(query) {
    const rank = this.getRank();
    if (query.toString() === this.written && this.model.ranks.length) return;
    const ranks = drawnRanks(theReport().ranks.length);
    if (!ranks.includes(rank)) {
      this.status.textContent = ranks.length
        ? `This page has no timeline of rank ${theReport().ranks[rank].rank}, only those that the verdict needs; --full includes all.`
        : "This page was generated without a timeline.";
      if (!ranks.length) return;
      this.setRank(ranks[0]);
      return this.show(query);
    }
    const isNew = this.model.ranks[0]?.rank !== rank;
    if (isNew) {
      this.status.textContent = "reading the slices …";
      try {
        const timeline = await loadTimeline(rank);
        this.model = new Model();
        this.model.add(rank, `rank ${theReport().ranks[rank].rank}`, timeline, clockOffset(rank));
      } catch (error) {
        this.status.textContent = `The timeline cannot be shown: ${clean(error.message)}`;
        return;
      }
      this.selected = this.range = this.matches = this.detail = this.wanted = null;
      this.layOut();
      this.listTracks();
      this.fillScenarios();
      this.sayStatus();
      if (!query.has("from")) this.fit();
    }
    this.apply(query);
    performance.mark("timeline-interactive");
    this.section.dataset.ready = "1";
  }

  sayStatus() {
    const t = this.model.ranks[0].timeline,
      parts = [`${t.slices.toLocaleString("en")} slices`];
    if (t.left_out) parts.push(`This page has ${t.left_out}; --full includes all`);
    if (t.least > 0)
      parts.push(`Adjacent slices shorter than ${time(t.least)} are drawn as one until you zoom in`);
    if (this.model.ranks.some((r) => !r.isAligned)) parts.push("ranks whose clocks are more than an hour apart start together");
    else if (this.model.ranks.length > 1) parts.push(sayClocks());
    replace(this.status, parts.join(". ") + ".");
  }

  // What the address asks for.
  apply(query) {
    const entry = this.model.ranks[0],
      { steps } = entry.timeline;
    this.fitHeight();
    if (!query.has("slice")) {
      this.selected = this.range = null;
      replace(this.info);
    }
    if (query.has("find")) {
      this.find.value = query.get("find");
      this.search(this.find.value);
      if (!query.has("from")) this.step(1);
    }
    if (query.has("whatif")) this.setScenario(query.get("whatif"));
    const step = query.has("step") && steps.find((s) => s.number === Number(query.get("step")));
    if (step) this.setView(step.start - (step.end - step.start) * 0.02, step.end + (step.end - step.start) * 0.02);
    const from = Number(query.get("from")),
      to = Number(query.get("to"));
    if (query.has("from") && to > from) this.setView(from, to);
    this.bookmarks = (query.get("marks") ?? "").split(".").filter(Boolean).map(Number).filter(Number.isFinite);
    const range = (query.get("range") ?? "").split(".").map(Number);
    if (range.length === 2 && range[1] > range[0]) this.choose(...range);
    const [at, row] = query.get("slice")?.split(".").map(Number) ?? [];
    this.wanted = query.has("slice") ? { at, row } : null;
    this.proof.hidden = true;
    if (query.has("proof")) this.showProof(entry, query.get("proof"));
    this.selectWanted(entry);
    this.redraw();
  }

  // Goes to what proves a sentence of the page, chooses it, and says why it is that.
  showProof(entry, of) {
    const t = entry.whole.timeline,
      found = proofOf(t, entry.rank, of),
      card = document.getElementById(`finding-${of}`);
    this.proof.hidden = false;
    replace(
      this.proof,
      found ? clean(found.words) : "No slice of this timeline shows it.",
      card && " ",
      card && el("a", { href: `#/finding-${of}` }, "back to the finding"),
    );
    this.paint(); // only what is painted takes the focus, and knows where its rows stand
    this.canvas.focus({ preventScroll: true });
    if (!found) return;
    const place = found.index >= 0 ? { start: t.start[found.index], dur: t.dur[found.index] } : found.place,
      from = (place?.start ?? found.from) + entry.shift,
      length = Math.max(place?.dur ?? found.to - found.from, leastSpan);
    this.setView(from - 1.5 * length, from + 2.5 * length);
    if (!place) this.choose(found.from + entry.shift, found.to + entry.shift);
    else if (found.index >= 0) this.goTo(entry, found.index);
    else this.wanted = { place };
    announce(found.words);
  }

  // What the address names, once it is there: it may be too small for the whole.
  selectWanted(entry) {
    const { at, row, place } = this.wanted ?? {},
      t = entry.timeline;
    const index = place ? sliceOf(t, place) : t.rows[row] ? sliceAt(t, t.rows[row], at, 0) : -1;
    if (index < 0 || (canRefine() && !place && t.start[index] !== at)) return;
    this.wanted = null;
    this.goTo(entry, index);
  }

  layOut() {
    const { lanes, height } = this.model.layout();
    this.span = this.model.span();
    this.lanes = lanes;
    this.lanesHeight = height;
    this.fitHeight();
    this.redraw();
  }

  fillScenarios() {
    const { scenarios } = this.model.ranks[0].timeline;
    replace(
      this.whatif,
      el("option", { value: "" }, "as measured"),
      scenarios.map((s) => el("option", { value: s.id }, `after the fix: ${s.title}`)),
    );
    this.whatif.hidden = scenarios.length === 0;
  }

  setScenario(id) {
    const entry = this.model.ranks[0],
      s = entry.timeline.scenarios.find((x) => x.id === id);
    this.whatif.value = s ? id : "";
    this.model.scenario = s ? id : null;
    this.layOut();
    if (!s) {
      this.sayStatus();
      this.settle();
      return;
    }
    const length = s.measured_end - s.start;
    this.setView(s.start - length * 0.03, s.measured_end + length * 0.08);
    announce(`step of ${time(length)}, after the fix ${time(s.simulated_end - s.start)}`);
    replace(
      this.status,
      `One step: measured ${time(length)}; replay after fixing “${s.title}” takes ${time(s.simulated_end - s.start)}. Above each track: where its work would be.`,
    );
  }

  async toggleRank(rank, isOn) {
    if (isOn) {
      try {
        this.model.add(rank, `rank ${theReport().ranks[rank].rank}`, await loadTimeline(rank), clockOffset(rank));
      } catch (error) {
        this.status.textContent = `Rank ${rank} cannot be shown: ${clean(error.message)}`;
        return;
      }
    } else if (this.model.ranks.length > 1 && this.model.ranks[0].rank !== rank) {
      this.model.remove(rank);
    }
    this.detail = null;
    this.layOut();
    this.listTracks();
    this.settle();
    this.sayStatus();
    if (this.find.value) this.search(this.find.value);
  }

  setView(from, to) {
    const [first, last] = this.span,
      most = (last - first) * 1.1,
      span = Math.min(Math.max(to - from, leastSpan), Math.max(most, leastSpan));
    const middle = (from + to) / 2,
      low = first - span * 0.5,
      high = last + span * 0.5;
    this.view.from = Math.min(Math.max(middle - span / 2, low), Math.max(low, high - span));
    this.view.to = this.view.from + span;
    this.tip.hidden = true; // what it spoke of has moved away
    this.redraw();
    this.settle();
  }

  fit() {
    const [first, last] = this.span;
    this.setView(first - (last - first) * 0.01, last + (last - first) * 0.01);
  }

  zoom(factor, at = (this.view.from + this.view.to) / 2) {
    this.setView(at - (at - this.view.from) * factor, at + (this.view.to - at) * factor);
  }

  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.setView(this.view.from + by, this.view.to + by);
  }

  moveTo(middle) {
    const half = (this.view.to - this.view.from) / 2;
    this.setView(middle - half, middle + half);
  }

  scroll(by) {
    const most = Math.max(0, this.lanesHeight - this.view.height + rulerHeight + 20);
    const before = this.view.top;
    this.view.top = Math.min(most, Math.max(0, before + by));
    this.tip.hidden = true;
    this.redraw();
    return this.view.top !== before;
  }

  // After the last movement: the address, and more detail where the program has it.
  settle() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      this.writeAddress();
      if (canRefine()) this.refine();
    }, settleMs);
  }

  writeAddress() {
    if (!location.hash.startsWith("#/timeline")) return;
    const query = new URLSearchParams({
      r: this.model.ranks[0].rank,
      from: Math.round(this.view.from),
      to: Math.round(this.view.to),
    });
    if (this.selected?.entry.rank === this.model.ranks[0].rank) {
      const t = this.selected.entry.timeline,
        i = this.selected.index;
      query.set("slice", `${t.start[i]}.${t.row[i]}`);
    }
    if (this.range) query.set("range", this.range.map(Math.round).join("."));
    if (this.bookmarks.length) query.set("marks", this.bookmarks.join("."));
    if (this.find.value) query.set("find", this.find.value);
    if (this.model.scenario) query.set("whatif", this.model.scenario);
    this.written = query.toString();
    history.replaceState(null, "", `#/timeline?${query}`);
  }

  // Asks for what is in sight and as much again on either side, unless what is there has at least half of its detail.
  async refine() {
    const [first, last] = this.span,
      from = Math.max(this.view.from, first),
      to = Math.min(this.view.to, last),
      length = to - from;
    const has = this.detail ?? { from: first, to: last, length: last - first };
    if (!(length > 0) || (from >= has.from && to <= has.to && length > has.length / 2)) return;
    const asked = (this.detail = { from: Math.max(first, from - length), to: Math.min(last, to + length), length });
    const pixels = Math.round((this.view.width * (asked.to - asked.from)) / length),
      entries = [...this.model.ranks];
    try {
      const parts = await Promise.all(
        entries.map((e) => fetchPart(e.rank, Math.max(0, asked.from - e.shift), Math.max(1, asked.to - e.shift), pixels)),
      );
      if (this.detail !== asked || entries.some((e) => !this.model.ranks.includes(e))) return;
      entries.forEach((e, i) => this.model.refine(e, parts[i]));
      this.layOut();
      this.sayStatus();
      if (this.find.value) this.search(this.find.value);
      if (this.wanted) this.selectWanted(this.model.ranks[0]);
      else this.reselect();
    } catch (error) {
      this.detail = has;
      this.status.textContent = clean(error.message);
    }
  }

  // The same slice in the detail that came; what is not in it stays what it was.
  reselect() {
    if (!this.selected) return;
    const {
        entry: { rank, timeline: old },
        index,
      } = this.selected,
      entry = this.model.ranks.find((e) => e.rank === rank),
      row = entry?.timeline.rows[old.row[index]];
    const k = row ? sliceAt(entry.timeline, row, old.start[index], 0) : -1;
    if (k >= 0 && entry.timeline.start[k] === old.start[index] && labelOf(entry.timeline, k) === labelOf(old, index))
      this.select(entry, k, true);
  }

  redraw() {
    if (this.frame || !this.span) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  paint() {
    const { view, canvas } = this,
      box = canvas.getBoundingClientRect();
    if (box.width === 0) return;
    const began = performance.now();
    view.width = box.width;
    view.height = box.height;
    view.left = box.width < 520 ? 96 : 180;
    view.pixel = (view.to - view.from) / (view.width - view.left);
    this.painter.resize(view.width, view.height);
    this.canvas.classList.remove("unpainted");
    const first = this.model.ranks[0],
      s = first?.timeline.scenarios.find((x) => x.id === this.model.scenario);
    this.painter.paint({
      view,
      lanes: this.lanes,
      steps: first ? first.timeline.steps.map((x) => ({ ...x, start: x.host_start + first.shift, end: x.host_end + first.shift })) : [],
      selected: this.selected,
      range: this.range,
      matches: this.matches,
      scenario: s && { ...s, shift: first.shift },
      arrows: this.arrows(),
      bookmarks: this.bookmarks,
    });
    Painter.paintMap(this.map, this.model, this.span, view);
    performance.measure("timeline-frame", { start: began, end: performance.now() });
  }

  laneOf(entry, index) {
    const t = entry.timeline,
      row = t.rows[t.row[index]];
    return this.lanes.find((l) => l.kind === "track" && l.entry === entry && l.track === t.tracks[row.track]);
  }

  // Where a slice stands on the canvas, by its row.
  yOf(entry, index) {
    const lane = this.laneOf(entry, index);
    if (!lane) return -100;
    const depth = lane.isFolded ? 0 : entry.timeline.rows[entry.timeline.row[index]].depth;
    return lane.y - this.view.top + rulerHeight + depth * rowHeight + rowHeight / 2;
  }

  arrows() {
    if (!this.selected) return [];
    const { entry, index } = this.selected,
      t = entry.timeline;
    const pairs = linkedFrom(t, index)
      .slice(0, 50)
      .map((k) => [index, k]);
    if (t.link[index] >= 0) pairs.push([t.link[index], index]);
    return pairs.map(([a, b]) => ({
      from: t.start[a] + Math.min(t.dur[a], this.view.pixel * 6) + entry.shift,
      fromY: this.yOf(entry, a),
      to: t.start[b] + entry.shift,
      toY: this.yOf(entry, b),
    }));
  }

  select(entry, index, isQuiet) {
    this.selected = { entry, index };
    this.range = null;
    showSlice(
      this.info,
      entry,
      index,
      (k) => this.goTo(entry, k),
      (name) => {
        this.find.value = name;
        this.search(name);
        this.find.focus();
      },
    );
    this.addClose();
    if (!isQuiet) announce(describe(entry, index));
    this.redraw();
    this.settle();
  }

  // For fingers, which have no Esc.
  addClose() {
    this.info.prepend(el("button", { type: "button", class: "close", "aria-label": "close the details", onclick: () => this.letGo() }, "×"));
  }

  letGo() {
    this.selected = this.range = null;
    replace(this.info);
    this.redraw();
    this.settle();
  }

  // Selects it and moves so that it is in sight.
  goTo(entry, index) {
    const t = entry.timeline,
      start = t.start[index] + entry.shift,
      end = start + t.dur[index];
    this.select(entry, index);
    if (end < this.view.from || start > this.view.to) this.moveTo((start + end) / 2);
    const y = this.yOf(entry, index);
    if (y < rulerHeight + rowHeight) this.scroll(y - rulerHeight - 3 * rowHeight);
    else if (y > this.view.height - rowHeight) this.scroll(y - this.view.height + 3 * rowHeight);
  }

  fillWith() {
    if (this.range) this.setView(...this.range);
    if (!this.selected) return;
    const { entry, index } = this.selected,
      t = entry.timeline,
      length = Math.max(t.dur[index], leastSpan);
    this.setView(t.start[index] + entry.shift - length * 0.1, t.start[index] + entry.shift + length * 1.1);
  }

  choose(from, to) {
    this.range = [Math.min(from, to), Math.max(from, to)];
    this.selected = null;
    showRange(this.info, this.lanes, ...this.range, () => this.letGo());
    this.addClose();
    this.redraw();
    this.settle();
  }

  // From the chosen slice to another one: what lies between them.
  measure(hit) {
    if (!this.selected || hit.index < 0) return false;
    const ends = [this.selected, hit].map(({ entry, index }) => {
      const start = entry.timeline.start[index] + entry.shift;
      return [start, start + entry.timeline.dur[index]];
    });
    const [a, b] = ends[0][0] <= ends[1][0] ? ends : [ends[1], ends[0]];
    this.choose(a[0], Math.max(a[1], b[1]));
    this.info.querySelector("h3").after(
      el("p", { class: "measured" }, `start to start ${time(b[0] - a[0])}; end to start ${time(b[0] - a[1])}; end to end ${time(b[1] - a[1])}`),
    );
    return true;
  }

  // Sets a mark where the chosen slice or range begins, or in the middle; the same again takes it away.  It is in the address.
  bookmark() {
    const at = Math.round(
      this.selected
        ? this.selected.entry.timeline.start[this.selected.index] + this.selected.entry.shift
        : (this.range?.[0] ?? (this.view.from + this.view.to) / 2),
    );
    this.bookmarks = this.bookmarks.includes(at) ? this.bookmarks.filter((m) => m !== at) : [...this.bookmarks, at].sort((x, y) => x - y);
    announce(this.bookmarks.includes(at) ? `marked ${time(at)}` : `no mark at ${time(at)}`);
    this.redraw();
    this.settle();
  }

  nextBookmark() {
    if (!this.bookmarks.length) return;
    const now = (this.view.from + this.view.to) / 2;
    this.moveTo(this.bookmarks.find((m) => m > now + this.view.pixel) ?? this.bookmarks[0]);
  }

  search(text) {
    const wanted = text.toLowerCase();
    if (!wanted) {
      this.matches = null;
      this.found.textContent = "";
      this.redraw();
      return;
    }
    const timelines = this.model.ranks.flatMap((r) => [r.timeline, r.whole.timeline]);
    this.matches = new Map(
      timelines.map((t) => [t, Uint8Array.from(t.labels, (l) => (l.toLowerCase().includes(wanted) ? 1 : 0))]),
    );
    let n = 0;
    for (const { timeline: t } of this.model.ranks) {
      const is = this.matches.get(t);
      for (const row of t.rows)
        if (t.tracks[row.track].scenario === undefined) for (let i = row.from; i < row.to; i++) n += is[t.label[i]];
    }
    const among = this.model.ranks[0].timeline.least > 0 ? " among what is drawn" : "";
    this.found.textContent = (n === 0 ? "no match" : `${n.toLocaleString("en")} match${n === 1 ? "" : "es"}`) + among;
    this.redraw();
  }

  // To the next match in time, or the one before; around at the end.
  step(direction) {
    if (!this.matches) return;
    const entry = this.model.ranks[0],
      t = entry.timeline,
      is = this.matches.get(t);
    const here = this.selected?.entry === entry ? this.selected.index : -1;
    const key = (i) => t.start[i] + t.depth[i] * 1e-3;
    const now = here >= 0 ? key(here) : direction > 0 ? this.view.from : this.view.to;
    let best = -1,
      around = -1;
    for (let i = 0; i < t.label.length; i++) {
      if (!is[t.label[i]] || i === here || t.tracks[t.rows[t.row[i]].track].scenario !== undefined) continue;
      const ahead = direction * (key(i) - now);
      if (ahead >= 0 && (best < 0 || ahead < direction * (key(best) - now))) best = i;
      if (around < 0 || direction * (key(i) - key(around)) < 0) around = i;
    }
    if (best < 0) best = around;
    if (best < 0) return;
    this.goTo(entry, best);
    const span = this.view.to - this.view.from;
    if (t.dur[best] > 0 && span > t.dur[best] * 4000)
      this.setView(t.start[best] + entry.shift - t.dur[best] * 200, t.start[best] + entry.shift + t.dur[best] * 200);
  }

  onFindKey(event) {
    if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.find.value = "";
      this.search("");
      this.canvas.focus();
    }
  }

  chooseSelected() {
    if (!this.selected) return;
    const { entry, index } = this.selected,
      t = entry.timeline;
    this.choose(t.start[index] + entry.shift, t.start[index] + t.dur[index] + entry.shift);
  }

  // The next GPU step as a time range; after the last the first.
  nextGpuStep() {
    const [entry] = this.model.ranks,
      steps = gpuSteps(entry.timeline),
      from = this.range?.[0] ?? -Infinity,
      s = steps.find((x) => x.start + entry.shift > from) ?? steps[0];
    if (!s) return;
    this.choose(s.start + entry.shift, s.end + entry.shift);
    this.moveTo((s.start + s.end) / 2 + entry.shift);
  }

  // The slice beside the chosen one on its row; without one, the first in sight.
  walk(direction) {
    if (!this.selected) {
      const lane = this.lanes.find((l) => l.kind === "track");
      const i = lane ? firstAfter(lane.entry.timeline, lane.rows[0], this.view.from - lane.entry.shift) : -1;
      if (lane && i < lane.rows[0].to) this.goTo(lane.entry, i);
      return;
    }
    const { entry, index } = this.selected,
      row = entry.timeline.rows[entry.timeline.row[index]],
      next = index + direction;
    if (next >= row.from && next < row.to) this.goTo(entry, next);
  }

  // To what contains it or what it contains; past the first and last row to the neighbouring track.
  climb(direction) {
    if (!this.selected) return this.walk(1);
    const { entry, index } = this.selected,
      t = entry.timeline;
    const near = direction < 0 ? parentOf(t, index) : (childrenOf(t, index)[0] ?? -1);
    if (near >= 0) return this.goTo(entry, near);
    const tracks = this.lanes.filter((l) => l.kind === "track"),
      lane = tracks[tracks.indexOf(this.laneOf(entry, index)) + direction];
    if (!lane) return undefined;
    const other = lane.entry.timeline,
      row = lane.rows[direction < 0 ? lane.rows.length - 1 : 0];
    const k = firstAfter(other, row, t.start[index] + entry.shift - lane.entry.shift);
    return this.goTo(lane.entry, Math.min(k, row.to - 1));
  }

  timeAt(x) {
    return this.view.from + (x - this.view.left) * this.view.pixel;
  }

  // { lane, entry, index } under the pointer; index is -1 between slices.
  pick(x, y) {
    const at = y - rulerHeight + this.view.top,
      lane = this.lanes?.find((l) => at >= l.y && at < l.y + l.height);
    if (!lane || y < rulerHeight) return null;
    const depth = Math.floor((at - lane.y) / rowHeight),
      time = this.timeAt(x) - lane.entry.shift,
      step = x < this.view.left ? null : lane.steps?.find((s) => s.depth === depth && s.start <= time && s.end >= time);
    if (lane.kind !== "track" || x < this.view.left) return { lane, entry: lane.entry, index: -1, step };
    const row = lane.rows[depth],
      t = lane.entry.timeline;
    const under = row ? sliceAt(t, row, time, 0) : -1;
    return { lane, entry: lane.entry, index: row && under < 0 ? sliceAt(t, row, time, this.view.pixel) : under };
  }

  // Every track with a box to show it and a button to pin it to the top; typing leaves those that match.
  listTracks() {
    const list = el("div", { class: "list" }),
      { model } = this,
      find = el("input", { type: "text", placeholder: "filter tracks", "aria-label": "show only tracks whose name holds" });
    const fill = () =>
      replace(
        list,
        model
          .tracks()
          .filter(({ name }) => name.toLowerCase().includes(model.filter))
          .map(({ key, name }) =>
            el(
              "div",
              null,
              el(
                "label",
                null,
                el("input", { type: "checkbox", checked: !model.hidden.has(key), onchange: (e) => set(model.hidden, key, !e.target.checked) }),
                ` ${name}`,
              ),
              el(
                "button",
                {
                  type: "button",
                  "aria-pressed": String(model.pinned.has(key)),
                  "aria-label": `pin ${clean(name, 80)} to the top`,
                  onclick: (e) => {
                    set(model.pinned, key, !model.pinned.has(key));
                    e.currentTarget.setAttribute("aria-pressed", String(model.pinned.has(key)));
                  },
                },
                "pin",
              ),
            ),
          ),
      );
    const set = (where, key, isIn) => {
      if (isIn) where.add(key);
      else where.delete(key);
      this.layOut();
      this.scroll(0);
    };
    find.value = model.filter;
    find.addEventListener("input", () => {
      model.filter = find.value.trim().toLowerCase();
      fill();
      this.layOut();
      this.scroll(0);
    });
    fill();
    replace(this.trackList, el("summary", null, "tracks"), el("div", { class: "panel" }, find, list));
  }

  fold(lane) {
    const { folded } = this.model;
    if (folded.has(lane.key)) folded.delete(lane.key);
    else folded.add(lane.key);
    this.layOut();
    this.scroll(0);
  }

  showTip(x, y) {
    const hit = this.pick(x, y);
    this.tip.hidden = !hit || (hit.index < 0 && !hit.step);
    if (this.tip.hidden) return;
    const { step } = hit,
      t = hit.entry.timeline;
    replace(
      this.tip,
      el("strong", null, clean(step ? step.name || `step ${step.number}` : labelOf(t, hit.index), 200)),
      el("br"),
      step ? `GPU step · ${time(step.end - step.start)}` : `${kindWords[kindOf(t, hit.index)] ?? ""} · ${time(t.dur[hit.index])}`,
    );
    this.tip.style.left = `${Math.min(x + 12, this.view.width - 280)}px`;
    this.tip.style.top = `${Math.min(y + 16, this.view.height - 50)}px`;
  }
}
