// SPDX-License-Identifier: Apache-2.0
// flame.js - a tree as an icicle: outer frames above, each as wide as its share; on a canvas, with keys, and said aloud.
//
// Only what is at leastWide half a pixel wide is laid out, and only the rows in sight are painted, so neither the number of frames
// nor the depth of their stacks matters while one moves.

import { announce, clean, el, svg } from "./dom.js";
import { onTheme, palette } from "./palette.js";
import { shortName } from "./timeline_model.js";

const flameRow = 19,
  flameLetter = 6.1,
  mostTall = 560,
  leastWide = 0.5;

// A frame as short as it is still told from others: "forward  layer.py:123", a kernel without its arguments.
export function frameName(name) {
  const python = /^(?:.*[\\/])?([^\\/]+)\((\d+)\): (.+)$/s.exec(name);
  return python ? `${python[3]}  ${python[1]}:${python[2]}` : shortName(name);
}

export class FlameChart {
  // options: label; words(node): of a node for a tip and for those who listen; pick(node): it was chosen; classOf(kind): its colour
  constructor(options) {
    this.options = options;
    this.canvas = el("canvas", {
      class: "flame",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "icicle",
      "aria-label": `${options.label}. Arrow keys go from frame to frame, Enter widens one, Escape goes back to all.`,
      onkeydown: (e) => this.onKey(e),
      onclick: (e) => this.onClick(e),
      onmousemove: (e) => this.onMove(e),
      onmouseleave: () => this.hover(-1),
    });
    this.space = svg("svg", { class: "space", width: 1, height: 0, "aria-hidden": "true" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.box = el("div", { class: "flame-box", onscroll: () => this.redraw() }, this.canvas, this.space);
    this.element = el("div", { class: "stage" }, this.box, this.tip);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.texts = new Map();
    new ResizeObserver(() => this.layOut()).observe(this.box);
    onTheme(() => this.redraw());
  }

  set(tree) {
    this.tree = tree;
    this.root = 0;
    this.chosen = this.over = -1;
    this.isMatch = null;
    this.texts.clear();
    this.box.scrollTop = 0;
    this.layOut();
  }

  // Those that match stay in colour: an array by frame, or null.
  mark(isMatch) {
    this.isMatch = isMatch;
    this.redraw();
  }

  // What is above the widened node as wide as the picture, what is below it as wide as its share.
  layOut() {
    const { tree } = this,
      width = this.box.clientWidth;
    if (!tree || width === 0) return;
    const began = performance.now(),
      path = [];
    for (let k = this.root; k >= 0; k = tree.above[k]) path.push(k);
    path.reverse();
    this.boxes = { x: [], wide: [], row: [], node: [] };
    this.at = new Map(); // node -> place in boxes
    let rows = 0;
    const put = (node, x, wide, row) => {
      this.at.set(node, this.boxes.node.length);
      this.boxes.x.push(x);
      this.boxes.wide.push(wide);
      this.boxes.row.push(row);
      this.boxes.node.push(node);
      if (row >= rows) rows = row + 1;
    };
    path.forEach((node, row) => put(node, 0, width, row));
    const whole = tree.total[this.root] || 1,
      open = [[this.root, 0, path.length - 1]];
    while (open.length) {
      const [node, x, row] = open.pop();
      let at = x;
      for (const kid of tree.kidsOf(node)) {
        const wide = (width * tree.total[kid]) / whole;
        if (wide >= leastWide) {
          put(kid, at, wide, row + 1);
          open.push([kid, at, row + 1]);
        } else if (!tree.isTimed) break; // the widest come first
        at += wide;
      }
    }
    this.byRow = Array.from({ length: rows }, () => []);
    this.boxes.row.forEach((row, k) => this.byRow[row].push(k));
    for (const row of this.byRow) row.sort((a, b) => this.boxes.x[a] - this.boxes.x[b]);
    this.width = width;
    this.height = Math.min(mostTall, Math.max(3, rows) * flameRow + 2);
    this.space.setAttribute("height", Math.max(0, rows * flameRow - this.height));
    performance.measure("flame-layout", { start: began, end: performance.now() });
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paint();
    });
  }

  paint() {
    if (!this.boxes || this.box.clientWidth === 0) return;
    const began = performance.now(),
      c = this.context,
      colors = palette(),
      ratio = Math.min(2, window.devicePixelRatio || 1),
      wide = Math.round(this.width * ratio),
      high = Math.round(this.height * ratio);
    if (this.canvas.width !== wide || this.canvas.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.fillStyle = colors.back;
    c.fillRect(0, 0, this.width, this.height);
    c.font = "11.5px system-ui, sans-serif";
    c.textBaseline = "middle";
    const top = this.box.scrollTop,
      first = Math.max(0, Math.floor(top / flameRow)),
      last = Math.min(this.byRow.length - 1, Math.floor((top + this.height) / flameRow));
    for (let row = first; row <= last; row++) for (const k of this.byRow[row]) this.paintBox(c, k, row * flameRow - top, colors);
    performance.measure("flame-frame", { start: began, end: performance.now() });
  }

  paintBox(c, k, y, colors) {
    const { tree, boxes } = this,
      node = boxes.node[k],
      x = boxes.x[k],
      wide = boxes.wide[k],
      isFaint = this.isMatch && !(node && this.isMatch[tree.frame[node]]),
      isAround = node !== this.root && boxes.row[k] < tree.depth[this.root];
    c.fillStyle = isFaint ? colors.line : node ? this.options.colorOf(tree.kindOf(node), colors) : colors.soft;
    c.fillRect(x, y, Math.max(leastWide, wide - (wide > 3 ? 0.7 : 0)), flameRow - 1);
    if (isAround && !isFaint && node) {
      c.fillStyle = colors.back;
      c.globalAlpha = 0.3;
      c.fillRect(x, y + flameRow - 4, wide, 3);
      c.globalAlpha = 1;
    }
    if (wide > 26) {
      const most = Math.floor((wide - 8) / flameLetter),
        text = this.textOf(node);
      c.fillStyle = isFaint || !node || tree.kindOf(node) === "track" ? colors.text : colors["on-color"];
      if (most >= 3) c.fillText(text.length > most ? text.slice(0, most - 1) + "…" : text, x + 4, y + flameRow / 2);
    }
    if (node === this.chosen || node === this.over) {
      c.strokeStyle = node === this.chosen ? colors.focus : colors.text;
      c.lineWidth = 2;
      c.strokeRect(x + 1, y + 1, Math.max(2, wide - 2.7), flameRow - 3);
    }
  }

  textOf(node) {
    const key = node ? this.tree.frame[node] : -1;
    if (!this.texts.has(key)) this.texts.set(key, clean(frameName(this.tree.nameOf(node)), 200));
    return this.texts.get(key);
  }

  nodeAt(event) {
    if (!this.boxes) return -1;
    const box = this.canvas.getBoundingClientRect(),
      x = event.clientX - box.left,
      row = this.byRow[Math.floor((event.clientY - box.top + this.box.scrollTop) / flameRow)] ?? [];
    const k = row.find((i) => x >= this.boxes.x[i] && x < this.boxes.x[i] + Math.max(1, this.boxes.wide[i]));
    return k === undefined ? -1 : this.boxes.node[k];
  }

  onMove(event) {
    const node = this.nodeAt(event);
    this.hover(node);
    if (node < 0) return;
    const stage = this.element.getBoundingClientRect(),
      x = Math.min(event.clientX - stage.left + 12, Math.max(0, stage.width - 280));
    this.tip.style.left = `${x}px`;
    this.tip.style.top = `${event.clientY - stage.top + 16}px`;
  }

  hover(node) {
    this.tip.hidden = node < 0;
    if (node === this.over) return;
    this.over = node;
    if (node >= 0) this.tip.textContent = clean(this.options.words(node), 400);
    this.redraw();
  }

  onClick(event) {
    const node = this.nodeAt(event);
    if (node < 0) return;
    this.choose(node);
    this.widen(node);
  }

  choose(node, isQuiet) {
    this.chosen = node;
    if (!isQuiet) announce(this.options.words(node));
    this.options.pick(node);
    this.show(node);
    this.redraw();
  }

  // Its row comes into sight.
  show(node) {
    const k = this.at?.get(node);
    if (k === undefined) return;
    const y = this.boxes.row[k] * flameRow;
    if (y < this.box.scrollTop) this.box.scrollTop = y;
    else if (y + flameRow > this.box.scrollTop + this.height) this.box.scrollTop = y + flameRow - this.height;
  }

  isLaidOut(node) {
    return this.at?.has(node) ?? false;
  }

  widen(node) {
    if (node === this.root) return;
    this.root = node;
    this.layOut();
    this.show(node);
  }

  // The box that is `by` places to the right in its row; at the end of the row the same one.
  beside(node, by) {
    const row = this.byRow[this.boxes.row[this.at.get(node)]],
      i = row.indexOf(this.at.get(node)) + by;
    return row[i] === undefined ? node : this.boxes.node[row[i]];
  }

  onKey(event) {
    if (!this.boxes || event.ctrlKey || event.metaKey || event.altKey) return;
    const { tree } = this,
      known = this.at.has(this.chosen) ? this.chosen : this.root;
    const go = {
      ArrowUp: () => Math.max(0, tree.above[known]),
      ArrowDown: () => [...tree.kidsOf(known)].find((k) => this.at.has(k)) ?? known,
      ArrowLeft: () => this.beside(known, -1),
      ArrowRight: () => this.beside(known, 1),
      Home: () => 0,
    }[event.key];
    if (go) {
      const to = go();
      if (!this.at.has(to)) this.widen(to);
      this.choose(to);
    } else if (event.key === "Enter" || event.key === "f") this.widen(known);
    else if (event.key === "Escape" || event.key === "0") this.widen(0);
    else if (event.key === "Backspace") this.widen(Math.max(0, tree.above[this.root]));
    else return;
    event.preventDefault();
  }
}
