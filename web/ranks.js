// SPDX-License-Identifier: Apache-2.0
// ranks.js - one measure of all ranks of a job on one axis: ordered, grouped by host, with what stands out; for ten thousand too.

import { clean, el, replace } from "./dom.js";
import { cell } from "./format.js";
import { onTheme, palette } from "./palette.js";

const high = 200,
  below = 34,
  left = 74;

const middle = (sorted) => (sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : 0);

// Values far from the median: more than five times the usual distance from it, and a tenth of it.
export function outliersOf(values) {
  const known = values.filter((v) => v !== null && v !== undefined).sort((a, b) => a - b),
    median = middle(known),
    usual = 1.4826 * middle(known.map((v) => Math.abs(v - median)).sort((a, b) => a - b));
  const is = (v) => v !== null && v !== undefined && Math.abs(v - median) > Math.max(5 * usual, 0.1 * Math.abs(median));
  const found = values.map((v, i) => (is(v) ? i : -1)).filter((i) => i >= 0);
  return { median, found: found.sort((a, b) => Math.abs(values[b] - median) - Math.abs(values[a] - median)) };
}

const rankOrders = {
  "worst first": (rows, value) => (a, b) => (value(b) ?? -1) - (value(a) ?? -1) || a - b,
  "by rank": (rows) => (a, b) => rows[a].rank - rows[b].rank,
  "by host": (rows) => (a, b) => rows[a].host.localeCompare(rows[b].host, "en", { numeric: true }) || rows[a].rank - rows[b].rank,
};

// rows: { rank, host, KEY … }; measures: [[KEY, words, type]], the first is shown first; pick(i): a rank is chosen.
export class RankChart {
  constructor({ rows, measures, pick }) {
    Object.assign(this, { rows, measures, pick, measure: measures[0], order: "worst first", at: 0, matches: null });
    const choose = (label, words, f) =>
      el("label", null, `${label} `, el("select", { onchange: (e) => f(e.target.selectedIndex) }, words.map((w) => el("option", null, w))));
    this.canvas = el("canvas", { class: "ranks", role: "img", tabindex: "0" });
    this.words = el("p", { class: "note", "aria-live": "polite" }, "point at a rank, or use the arrow keys; Enter shows why");
    this.out = el("p", { class: "outliers" });
    this.find = el("input", {
      type: "search",
      placeholder: "rank or host",
      "aria-label": "find a rank by its number or host",
      oninput: () => this.search(),
      onkeydown: (e) => e.key === "Enter" && this.matches?.size && pick(this.list.find((i) => this.matches.has(i))),
    });
    this.element = el(
      "figure",
      { class: "plot wide" },
      el(
        "div",
        { class: "tools" },
        choose("show", measures.map((m) => m[1]), (k) => this.show(measures[k])),
        choose("order", Object.keys(rankOrders), (k) => this.sort(Object.keys(rankOrders)[k])),
        this.find,
      ),
      this.canvas,
      this.words,
      this.out,
    );
    this.canvas.addEventListener("pointermove", (e) => this.point(e));
    this.canvas.addEventListener("click", (e) => {
      this.point(e);
      pick(this.list[this.at]);
    });
    this.canvas.addEventListener("keydown", (e) => this.onKey(e));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    onTheme(() => this.draw());
    this.show(this.measure);
  }

  value(i) {
    return this.rows[i][this.measure[0]];
  }

  show(measure) {
    this.measure = measure;
    const { median, found } = outliersOf(this.rows.map((_, i) => this.value(i)));
    this.median = median;
    this.outliers = new Set(found);
    replace(
      this.out,
      found.length
        ? `${found.length === 1 ? "One rank stands" : `${found.length} ranks stand`} out (median ${cell(measure[2], median)}): `
        : `No rank stands out (median ${cell(measure[2], median)}).`,
      found
        .slice(0, 8)
        .map((i, k) => [
          k ? ", " : "",
          el("a", { href: `#/ranks?row=${i}` }, `rank ${this.rows[i].rank}`),
          ` ${cell(measure[2], this.value(i))}`,
        ]),
      found.length > 8 ? ` and ${found.length - 8} more` : "",
    );
    this.canvas.setAttribute("aria-label", `${measure[1]} of ${this.rows.length} ranks; the same numbers are in the table below`);
    this.sort(this.order);
  }

  sort(order) {
    this.order = order;
    this.list = this.rows.map((_, i) => i).sort(rankOrders[order](this.rows, (i) => this.value(i)));
    this.draw();
  }

  search() {
    const text = this.find.value.trim().toLowerCase();
    this.matches = text
      ? new Set(this.list.filter((i) => String(this.rows[i].rank) === text || this.rows[i].host.toLowerCase().includes(text)))
      : null;
    const n = this.matches?.size ?? 0;
    if (text) this.words.textContent = n ? `${n} rank${n === 1 ? "" : "s"}; Enter goes to the first` : "no such rank";
    if (n) this.at = this.list.findIndex((i) => this.matches.has(i));
    this.draw();
  }

  say() {
    const i = this.list[this.at],
      row = this.rows[i];
    this.words.textContent = clean(
      `rank ${row.rank}${row.host ? ` on ${row.host}` : ""}, place ${this.at + 1} of ${this.list.length}: ${this.measure[1]} ${cell(this.measure[2], this.value(i))}`,
    );
    this.draw();
  }

  point(event) {
    const share = (event.offsetX - left) / Math.max(1, this.canvas.clientWidth - left),
      n = this.list.length;
    let at = Math.min(n - 1, Math.max(0, Math.floor(share * n)));
    // of ranks that share a pixel the worst is what is drawn there
    for (let k = at; k < Math.min(n, at + this.perPixel); k++) if ((this.value(this.list[k]) ?? -1) > (this.value(this.list[at]) ?? -1)) at = k;
    this.at = at;
    this.say();
  }

  onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 50, PageUp: -50, Home: -1e9, End: 1e9 }[event.key];
    if (event.key === "Enter") this.pick(this.list[this.at]);
    if (!step) return;
    this.at = Math.min(this.list.length - 1, Math.max(0, this.at + step));
    this.say();
    event.preventDefault();
  }

  draw() {
    const wide = this.canvas.clientWidth;
    if (!wide) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1),
      c = this.canvas.getContext("2d"),
      colors = palette(),
      n = this.list.length,
      room = (wide - left) / n;
    this.canvas.width = wide * ratio;
    this.canvas.height = (high + below) * ratio;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = "11px system-ui, sans-serif";
    this.perPixel = Math.max(1, Math.ceil(1 / room));
    const most = this.list.reduce((m, i) => Math.max(m, this.value(i) ?? 0), 0) || 1,
      y = (v) => high - (v / most) * (high - 14);
    if (this.order === "by host") this.drawHosts(c, colors, room);
    c.textBaseline = "middle";
    for (let k = 0; k <= 4; k++) {
      c.fillStyle = colors.soft;
      c.fillRect(left, y((most * k) / 4), wide - left, 1);
      c.fillStyle = colors.text;
      c.textAlign = "right";
      c.fillText(cell(this.measure[2], (most * k) / 4), left - 6, Math.max(8, y((most * k) / 4)));
    }
    for (let k = 0; k < n; k += this.perPixel) {
      let worst = this.list[k];
      for (let j = k; j < Math.min(n, k + this.perPixel); j++)
        if ((this.value(this.list[j]) ?? -1) > (this.value(worst) ?? -1)) worst = this.list[j];
      const v = this.value(worst);
      if (v === null || v === undefined) continue;
      const isLit = !this.matches || this.list.slice(k, k + this.perPixel).some((i) => this.matches.has(i));
      c.fillStyle = !isLit ? colors.line : this.outliers.has(worst) ? colors.kinds.collective : colors.kinds.cpu_op;
      const x = left + k * room,
        width = Math.max(1, room * this.perPixel - (room > 4 ? 1 : 0));
      c.fillRect(x, Math.min(y(v), high - 1), width, Math.max(1, high - y(v)));
      if (room > 26) {
        c.fillStyle = colors.text;
        c.textAlign = "center";
        c.fillText(String(this.rows[worst].rank), x + room / 2, high + 10);
      }
    }
    c.strokeStyle = colors.text;
    c.setLineDash([4, 4]);
    c.beginPath();
    c.moveTo(left, y(this.median));
    c.lineTo(wide, y(this.median));
    c.stroke();
    c.setLineDash([]);
    c.strokeStyle = colors.focus;
    c.lineWidth = 2;
    c.strokeRect(left + this.at * room - 1, 1, Math.max(3, room), high);
    c.fillStyle = colors.text;
    c.textAlign = "left";
    c.fillText(room > 26 ? "rank" : `${n} ranks, ${this.order}; dashed: median`, room > 26 ? 4 : left, high + 26);
  }

  drawHosts(c, colors, room) {
    let from = 0,
      isOdd = false;
    for (let k = 1; k <= this.list.length; k++) {
      const host = this.rows[this.list[from]].host;
      if (k < this.list.length && this.rows[this.list[k]].host === host) continue;
      if (isOdd) {
        c.fillStyle = colors.panel;
        c.fillRect(left + from * room, 0, (k - from) * room, high);
      }
      if ((k - from) * room > 6.2 * host.length + 6) {
        c.fillStyle = colors.text;
        c.textAlign = "left";
        c.fillText(clean(host, 40), left + from * room + 3, high + 26);
      }
      isOdd = !isOdd;
      from = k;
    }
  }
}
