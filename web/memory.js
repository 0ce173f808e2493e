// SPDX-License-Identifier: Apache-2.0
// memory.js - pictures of memory: layers over time, call chains as an icicle, segments of the allocator as a map.

import { frame, legend, timeTicks, width, yAxis } from "./chart.js";
import { clean, el, replace, svg } from "./dom.js";
import { FlameChart } from "./flame.js";
import { treeOfStacks } from "./flame_tree.js";
import { bytes, time } from "./format.js";

// Categories from the bottom to the top.
const classOf = {
  before_capture: "c-idle",
  parameter: "c-set",
  optimizer: "c-call",
  gradient: "c-comm",
  activation: "c-compute",
  autograd: "c-user",
  input: "c-op",
  temporary: "c-copy",
  other: "c-rest",
};
const swatch = (name) => ({ label: name.replace("_", " "), class: classOf[name] });

// What is held over time by category, what is reserved, and where steps end.
export function layerChart({ title, points, steps, from = 0 }) {
  const left = 80,
    height = 220,
    seen = Object.keys(classOf).filter((name) => points.some((p) => p[`${name}_bytes`] > 0)),
    most = Math.max(1, ...points.map((p) => Math.max(p.allocated_max_bytes, p.reserved_max_bytes))),
    first = points[0].start_ns,
    n = points.length,
    span = n * (points[1].start_ns - first);
  const x = (share) => (left + share * (width - left)).toFixed(1),
    edge = (v, i) => [i, i + 1].map((k) => `${x(k / n)},${(height - (v / most) * height).toFixed(1)}`),
    line = (name, key) => svg("polyline", { class: `${name} line`, points: points.flatMap((p, i) => edge(p[key], i)).join(" ") });
  let below = points.map(() => 0);
  const drawn = seen.map((name) => {
    const above = below.map((v, i) => v + Math.max(0, points[i][`${name}_bytes`] ?? 0)),
      outline = [...above.flatMap(edge), ...below.flatMap(edge).reverse()];
    below = above;
    return svg("polygon", { class: classOf[name], points: outline.join(" ") });
  });
  const ends = steps.map((s) => {
    const at = x((s.end_ns - first) / (span || 1));
    return svg("line", { class: "guide", x1: at, x2: at, y1: 0, y2: height }, svg("title", null, `step: ${bytes(s.bytes)}`));
  });
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title, steps.length > 0 && el("span", { class: "note" }, ` dashed: ends of ${steps.length} steps`)),
    legend([...seen.map(swatch), { label: "held, most", class: "c-op" }, { label: "reserved", class: "c-data" }]),
    frame(title, height, [
      ...yAxis(most, height, "bytes", left),
      ...drawn,
      line("c-op", "allocated_max_bytes"),
      line("c-data", "reserved_max_bytes"),
      ...ends,
      ...timeTicks(span, height, left, (v) => time(v + from)),
    ]),
  );
}

// Colours of slices that stand for those of categories on a canvas.
const kindOfCategory = {
  parameter: "memset",
  optimizer: "runtime",
  gradient: "collective",
  activation: "kernel",
  autograd: "user_annotation",
  input: "cpu_op",
  temporary: "memcpy",
};

// Call chains at the peak, callers above, as wide as what they hold; a click widens one and says what it holds.
export function icicle({ title, rows }) {
  const tree = treeOfStacks(rows.map((r) => ({ stack: r.stack, weight: r.bytes, kind: r.category }))),
    words = (node) =>
      `${tree.nameOf(node)}: ${bytes(tree.total[node])}, ${((100 * tree.total[node]) / (tree.total[0] || 1)).toFixed(1)} %${node ? ` (${tree.kindOf(node).replace("_", " ")})` : ""}`,
    said = el("p", { class: "note mono" }, "Choose a call chain: what it holds."),
    chart = new FlameChart({
      label: title,
      colorOf: (kind, colors) => colors.kinds[kindOfCategory[kind]] ?? colors.kinds.other,
      words,
      pick: (node) => replace(said, clean(words(node), 600)),
    });
  chart.set(tree);
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title, el("span", { class: "note" }, " callers above")),
    legend([...new Set(rows.map((r) => r.category))].map(swatch)),
    el("div", { class: "tools" }, el("button", { type: "button", onclick: () => chart.widen(0) }, "show all")),
    chart.element,
    said,
  );
}

// A line for each segment, as long as it is large; what is held is filled.
export function segmentMap({ title, segments, runs }) {
  const shown = segments.slice(0, 60),
    tall = 10,
    scale = width / Math.max(...shown.map((s) => s.bytes));
  const rect = (name, i, from, long) =>
    svg("rect", { class: name, x: from * scale, y: i * tall, width: Math.max(0.5, long * scale), height: tall - 2 });
  const drawn = shown.map((s, i) =>
    svg(
      "g",
      null,
      svg("title", null, `${bytes(s.bytes)}: ${bytes(s.held_bytes)} held, largest free block ${bytes(s.largest_free_bytes)}`),
      rect("c-rest", i, 0, s.bytes),
      runs.filter((r) => r.segment === i && r.is_held).map((r) => rect("c-compute", i, r.offset_bytes, r.bytes)),
    ),
  );
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title),
    legend([
      { label: "held", class: "c-compute" },
      { label: "free", class: "c-rest" },
    ]),
    svg("svg", { class: "chart", viewBox: `0 0 ${width} ${shown.length * tall}`, role: "img", "aria-label": title }, drawn),
  );
}
