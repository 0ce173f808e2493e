// SPDX-License-Identifier: Apache-2.0
// timeline_draw.js - puts what is in sight onto a canvas: at most one box for each pixel of a row, however many slices there are.

import { clean } from "./dom.js";
import { cell, instant, time } from "./format.js";
import { palette, shadeCount } from "./palette.js";
import { firstAfter, gpuStepsName, rowHeight, shortName, trackGap, trackName } from "./timeline_model.js";

export const rulerHeight = 40;
const letter = 6.1,
  box = rowHeight - 1;

function textOf(t, label) {
  t.shortLabels ??= [];
  return (t.shortLabels[label] ??= clean(shortName(t.labels[label]), 120));
}

// Sums of durations up to each slice, so that the busy share of a pixel is a difference.
function sumsOf(t) {
  if (!t.sums) {
    t.sums = new Float64Array(t.dur.length + 1);
    for (let i = 0; i < t.dur.length; i++) t.sums[i + 1] = t.sums[i] + t.dur[i];
  }
  return t.sums;
}

// Which shade of its kind's colour a name has.
function shadesOf(t) {
  if (!t.shades) {
    t.shades = Uint8Array.from(t.labels, (name) => {
      let hash = 2166136261;
      for (let i = 0; i < name.length && i < 200; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
      return ((hash ^ (hash >>> 15)) >>> 0) % shadeCount;
    });
  }
  return t.shades;
}

const alphaSteps = 8;

// view: { from, to, left, width, height, top, pixel } in ns and CSS pixels.
export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  resize(width, height) {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  // Drawn again only when something changed; `state`: { view, lanes, steps, selected, range, matches, scenario }
  paint(state) {
    const { view, lanes } = state,
      c = this.context,
      colors = palette();
    c.fillStyle = colors.back;
    c.fillRect(0, 0, view.width, view.height);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.save();
    c.beginPath();
    c.rect(0, rulerHeight, view.width, view.height - rulerHeight);
    c.clip();
    for (const lane of lanes) {
      const y = lane.y - view.top + rulerHeight;
      if (y > view.height || y + lane.height < rulerHeight) continue;
      this.paintLane(state, lane, y, colors);
    }
    this.paintMarks(state, colors);
    c.restore();
    this.paintRuler(state, colors);
  }

  paintLane(state, lane, y, colors) {
    const c = this.context,
      { view } = state;
    if (lane.kind === "group") {
      c.fillStyle = colors.panel;
      c.fillRect(0, y, view.width, lane.height);
    }
    if (lane.kind === "track") {
      if (lane.track.scenario !== undefined) {
        c.fillStyle = colors.soft;
        c.fillRect(view.left, y, view.width - view.left, lane.height - 1);
      }
      lane.rows.forEach((row, depth) => this.paintRow(state, lane, row, y + depth * rowHeight, colors));
    }
    if (lane.kind === "counter") this.paintCounter(state, lane, y, colors);
    if (lane.kind === "steps")
      lane.steps.forEach((s, i) => this.paintStep(view, s, lane.entry.shift, y + s.depth * rowHeight, box, i, colors));
    c.fillStyle = colors.back;
    if (lane.kind !== "group") c.fillRect(0, y, view.left - 4, lane.height);
    this.paintName(view, lane, y, colors);
    c.fillStyle = colors.line;
    c.fillRect(0, y + lane.height - trackGap / 2, view.width, 0.5);
  }

  paintName(view, lane, y, colors) {
    const c = this.context;
    const name =
      lane.kind === "group"
        ? lane.entry.label
        : lane.kind === "counter"
          ? lane.counter.name
          : lane.kind === "steps"
          ? gpuStepsName
          : lane.track.scenario !== undefined
            ? "after the fix ↴"
            : trackName(lane.track);
    const isFoldable = lane.kind === "group" || (lane.kind === "track" && lane.track.depth > 1);
    const room = Math.max(4, Math.floor((view.left - 22) / letter));
    const text = clean(name, 200);
    c.fillStyle = colors.text;
    c.fillText(
      `${isFoldable ? (lane.isFolded ? "▸ " : "▾ ") : "   "}${text.length > room ? text.slice(0, room - 1) + "…" : text}`,
      4,
      y + rowHeight / 2 + 1,
    );
  }

  paintRow(state, lane, row, y, colors) {
    const { view, selected, matches } = state,
      c = this.context,
      t = lane.entry.timeline,
      { shift } = lane.entry;
    const scale = 1 / view.pixel,
      from = view.from - shift,
      to = view.to - shift,
      { start, dur, label, label_kinds, kinds } = t;
    const sums = sumsOf(t),
      shades = shadesOf(t);
    let painted = "",
      alpha = alphaSteps,
      runFrom = -1,
      runTo = -1,
      i = firstAfter(t, row, from);
    const flush = () => {
      if (runTo > runFrom) {
        c.globalAlpha = alpha / alphaSteps;
        c.fillRect(runFrom, y, runTo - runFrom, box);
        c.globalAlpha = 1;
      }
      runFrom = runTo = -1;
    };
    while (i < row.to && start[i] < to) {
      const kind = kinds[label_kinds[label[i]]];
      let color = colors.shades[kind]?.[shades[label[i]]] ?? colors.kinds[kind];
      if (matches && !matches.get(t)[label[i]]) color = colors.line;
      if (color !== painted) {
        flush();
        c.fillStyle = painted = color;
      }
      const x = view.left + (start[i] - from) * scale,
        width = dur[i] * scale;
      if (width >= 2) {
        flush();
        const x0 = Math.max(x, view.left),
          x1 = Math.min(x + width, view.width);
        c.fillRect(x0, y, Math.max(1, x1 - x0 - (width > 3 ? 0.6 : 0)), box);
        const isStriped = kind === "collective" && width > 6,
          room = width > 26 ? x1 - x0 - (isStriped ? 20 : 0) : 0,
          end = this.paintText(t, label[i], x0, room, y, color === colors.line ? colors.text : colors["on-color"]);
        if (isStriped) this.paintStripes(end, x1, y, colors); // none go through its name
        if (width > 26) painted = "";
        i++;
        continue;
      }
      const pixel = Math.max(view.left, Math.floor(x));
      // the first slice that is seen beyond this pixel
      const next = from + (pixel + 1 - view.left) * view.pixel;
      let step = 1,
        low = i + 1;
      while (low + step < row.to && start[low + step] + dur[low + step] <= next) {
        low += step;
        step *= 2;
      }
      let high = Math.min(row.to, low + step);
      while (low < high) {
        const middle = (low + high) >> 1;
        if (start[middle] + dur[middle] > next) high = middle;
        else low = middle + 1;
      }
      // as pale as the pixel is idle, but never unseen
      const share = Math.min(1, (sums[low] - sums[i]) * scale),
        level = Math.max(2, Math.ceil(share * alphaSteps));
      if (pixel > runTo || level !== alpha) flush();
      alpha = level;
      if (runFrom < 0) runFrom = Math.max(pixel, runTo);
      runTo = pixel + 1;
      i = low;
    }
    flush();
    if (selected && selected.entry.timeline === t && t.rows[t.row[selected.index]] === row)
      this.outline(view, t, selected.index, shift, y, colors);
  }

  // Communication is told by its stripes as well as by its colour.
  paintStripes(x0, x1, y, colors) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(x0, y, x1 - x0, box);
    c.clip();
    c.strokeStyle = colors["on-color"];
    c.globalAlpha = 0.28;
    c.lineWidth = 2;
    c.beginPath();
    for (let x = x0 - box; x < Math.min(x1, x0 + 3000); x += 9) {
      c.moveTo(x, y + box);
      c.lineTo(x + box, y);
    }
    c.stroke();
    c.restore();
  }

  // Where the text ends.
  paintText(t, label, x, width, y, color) {
    const most = Math.floor((width - 6) / letter);
    if (most < 3) return x;
    const text = textOf(t, label);
    this.context.fillStyle = color;
    this.context.fillText(text.length > most ? text.slice(0, most - 1) + "…" : text, x + 3, y + box / 2 + 0.5);
    return x + 6 + Math.min(most, text.length) * letter;
  }

  outline(view, t, i, shift, y, colors) {
    const c = this.context;
    c.strokeStyle = colors.focus;
    c.lineWidth = 2;
    const x = view.left + (t.start[i] + shift - view.from) / view.pixel,
      from = Math.max(x, view.left - 2);
    c.strokeRect(from, y, Math.max(3, Math.min(x + t.dur[i] / view.pixel, view.width + 2) - from), box);
  }

  paintCounter(state, lane, y, colors) {
    const { view } = state,
      c = this.context,
      { counter, entry } = lane,
      height = lane.height - 8;
    counter.most ??= counter.value.reduce((m, v) => Math.max(m, v), 0);
    if (counter.most <= 0) return;
    c.fillStyle = colors.kinds.cpu_op;
    c.beginPath();
    let x = view.left,
      h = 0;
    c.moveTo(x, y + height);
    for (let i = 0; i < counter.n; i++) {
      const next = view.left + (counter.time[i] + entry.shift - view.from) / view.pixel;
      if (next > view.left) {
        c.lineTo(Math.max(x, view.left), y + height - h);
        c.lineTo(Math.min(next, view.width), y + height - h);
      }
      x = next;
      h = (Math.max(0, counter.value[i]) / counter.most) * (height - 2);
      if (x > view.width) break;
    }
    c.lineTo(Math.min(Math.max(x, view.left) + 4, view.width), y + height - h);
    c.lineTo(Math.min(Math.max(x, view.left) + 4, view.width), y + height);
    c.fill();
    const words = `most ${cell(counter.unit === "bytes" ? "bytes" : "number", counter.most).replace(/\.00$/, "")}`;
    c.fillStyle = colors.back;
    c.fillRect(view.left, y + 1, words.length * letter + 6, 14);
    c.fillStyle = colors.text;
    c.fillText(words, view.left + 4, y + 8);
  }

  paintMarks(state, colors) {
    const { view, range, scenario, arrows } = state,
      c = this.context,
      at = (ns) => view.left + (ns - view.from) / view.pixel;
    if (range) {
      c.fillStyle = colors.accent;
      c.globalAlpha = 0.16;
      c.fillRect(
        Math.max(view.left, at(range[0])),
        rulerHeight,
        Math.min(view.width, at(range[1])) - Math.max(view.left, at(range[0])),
        view.height,
      );
      c.globalAlpha = 1;
    }
    if (scenario) {
      this.vertical(view, at(scenario.measured_end + scenario.shift), "measured end", [], colors, 12);
      this.vertical(view, at(scenario.simulated_end + scenario.shift), "end after the fix", [5, 4], colors, 26);
    }
    (state.bookmarks ?? []).forEach((ns, i) => this.vertical(view, at(ns), `mark ${i + 1}`, [2, 3], colors, 40));
    for (const arrow of arrows ?? []) this.paintArrow(view, at(arrow.from), arrow.fromY, at(arrow.to), arrow.toY, colors);
  }

  // Its words stand so far above the lower border, where they hide least.
  vertical(view, x, words, dash, colors, up) {
    const c = this.context;
    if (x < view.left || x > view.width) return;
    c.strokeStyle = colors.accent;
    c.lineWidth = 2;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(x, rulerHeight);
    c.lineTo(x, view.height);
    c.stroke();
    c.setLineDash([]);
    const wide = words.length * letter + 8,
      left = x + wide > view.width ? x - wide - 2 : x + 2;
    c.fillStyle = colors.back;
    c.fillRect(left, view.height - up - 8, wide, 15);
    c.fillStyle = colors.text;
    c.fillText(words, left + 4, view.height - up);
  }

  paintArrow(view, x0, y0, x1, y1, colors) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(view.left, rulerHeight, view.width - view.left, view.height - rulerHeight);
    c.clip();
    c.strokeStyle = c.fillStyle = colors.focus;
    c.lineWidth = 1.5;
    const bend = Math.max(20, Math.abs(x1 - x0) / 3);
    c.beginPath();
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x1 - 7, y1 - 4);
    c.lineTo(x1 - 7, y1 + 4);
    c.fill();
    c.restore();
  }

  // A step as a box with its name, every second one darker.
  paintStep(view, s, shift, y, height, i, colors) {
    const c = this.context,
      x0 = Math.max(view.left, view.left + (s.start + shift - view.from) / view.pixel),
      x1 = Math.min(view.width, view.left + (s.end + shift - view.from) / view.pixel);
    if (x1 <= x0 || x1 < view.left) return;
    c.fillStyle = i % 2 ? colors.soft : colors.panel;
    c.fillRect(x0, y, x1 - x0, height);
    c.fillStyle = colors.line;
    c.fillRect(x0, y, 1, height);
    const words = clean(`${s.name || `step ${s.number}`}  ${time(s.end - s.start)}`, 120),
      most = Math.floor((x1 - x0 - 6) / letter);
    c.fillStyle = colors.text;
    if (most > 4) c.fillText(words.length > most ? words.slice(0, most - 1) + "…" : words, x0 + 4, y + 9);
  }

  paintRuler(state, colors) {
    const { view, steps } = state,
      c = this.context;
    c.fillStyle = colors.back;
    c.fillRect(0, 0, view.width, rulerHeight);
    const rough = view.pixel * 110,
      power = 10 ** Math.floor(Math.log10(rough)),
      times = rough / power;
    const piece = power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
    c.fillStyle = colors.text;
    c.strokeStyle = colors.line;
    c.lineWidth = 1;
    for (let k = Math.ceil(view.from / piece); k * piece < view.to; k++) {
      const x = view.left + (k * piece - view.from) / view.pixel;
      c.fillText(instant(k * piece, piece), x + 3, 9);
      c.fillRect(x, 2, 0.7, 14);
    }
    steps.forEach((s, i) => this.paintStep(view, s, 0, 19, 18, i, colors));
    c.fillStyle = colors.back;
    c.fillRect(0, 0, view.left - 4, rulerHeight);
    c.fillStyle = colors.text;
    c.fillText(clean(`${time(view.to - view.from)} visible`), 4, 9);
    c.fillStyle = colors.line;
    c.fillRect(0, rulerHeight - 1, view.width, 1);
  }

  // The whole capture in one strip: how busy the devices are, or the busiest thread; and which part is in sight.
  static paintMap(canvas, model, span, view) {
    const ratio = Math.min(2, window.devicePixelRatio || 1),
      width = canvas.clientWidth,
      height = canvas.clientHeight;
    const key = `${width}.${view.left}.${model.ranks.map((r) => r.rank)}`,
      colors = palette(),
      room = width - view.left;
    if (width === 0) return;
    if (canvas.density?.key !== key) canvas.density = { key, values: Painter.density(model, span, Math.round(room)) };
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const c = canvas.getContext("2d", { alpha: false });
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.panel;
    c.fillRect(0, 0, width, height);
    const at = (ns) => view.left + ((ns - span[0]) / (span[1] - span[0])) * room;
    c.fillStyle = canvas.density.values.isDevice ? colors.kinds.kernel : colors.kinds.cpu_op;
    canvas.density.values.forEach((v, x) => v > 0 && c.fillRect(view.left + x, height - 2 - v * (height - 6), 1, v * (height - 6)));
    const x0 = at(view.from),
      x1 = Math.max(at(view.to), x0 + 2);
    c.fillStyle = colors.back;
    c.globalAlpha = 0.55;
    c.fillRect(view.left, 0, Math.max(0, x0 - view.left), height);
    c.fillRect(x1, 0, Math.max(0, width - x1), height);
    c.globalAlpha = 1;
    c.fillStyle = colors.back;
    c.fillRect(0, 0, view.left, height);
    c.fillStyle = colors.text;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillText("all of it", 4, height / 2);
    c.strokeStyle = colors.accent;
    c.lineWidth = 2;
    c.strokeRect(Math.max(view.left, x0) + 1, 1, Math.max(2, Math.min(width, x1) - Math.max(view.left, x0) - 2), height - 2);
  }

  static density(model, [from, to], width) {
    const entry = model.ranks[0]?.whole,
      out = new Float64Array(width);
    if (!entry) return out;
    const t = entry.timeline,
      piece = (to - from) / width;
    const streams = t.tracks.filter((x) => x.type === "stream" && x.scenario === undefined);
    const hosts = t.tracks
      .filter((x) => x.type === "host" && x.scenario === undefined)
      .sort((a, b) => b.n - a.n)
      .slice(0, 1);
    for (const track of streams.length ? streams : hosts) {
      const rows = t.rows.slice(track.row, track.row + (streams.length ? 1 : Math.min(2, track.depth)));
      const row = rows[rows.length - 1];
      for (let i = row.from; i < row.to; i++) {
        let a = (t.start[i] + entry.shift - from) / piece;
        const b = (t.start[i] + t.dur[i] + entry.shift - from) / piece;
        for (; a < b; a = Math.floor(a) + 1) if (a >= 0 && a < width) out[Math.floor(a)] += Math.min(b, Math.floor(a) + 1) - a;
      }
    }
    for (let x = 0; x < width; x++) out[x] = Math.min(1, out[x]);
    out.isDevice = streams.length > 0;
    return out;
  }
}
