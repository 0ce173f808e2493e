// SPDX-License-Identifier: Apache-2.0
// chart.js - small charts as SVG: bars of steps, lines over time, points on two logarithmic axes; and a heat map on a canvas.
//
// Every chart has a name, and the same numbers as a table, beside it or behind "as a table".

import { clean, el, svg } from "./dom.js";
import { cell, time } from "./format.js";
import { heatColor } from "./palette.js";

export const width = Math.min(900, Math.max(320, innerWidth - 30)); // of every chart

// 1, 2 or 5 times a power of ten, so that about `n` of them make `most`.
function roundStep(most, n) {
  const raw = most / n,
    power = 10 ** Math.floor(Math.log10(raw)),
    x = raw / power;
  return (x < 1.5 ? 1 : x < 3.5 ? 2 : x < 7.5 ? 5 : 10) * power;
}

export function yAxis(most, height, type, left) {
  const out = [],
    step = most > 0 ? roundStep(most, Math.max(2, height / 45)) : 1;
  for (let v = 0; v <= most * 1.0001; v += step) {
    const y = height - (most > 0 ? (v / most) * height : 0);
    out.push(
      svg("line", { class: "grid", x1: left, x2: width, y1: y, y2: y }),
      svg("text", { class: "tick", x: left - 6, y: y + 4, "text-anchor": "end" }, cell(type, v)),
    );
  }
  return out;
}

// A picture, unless what is in it leads somewhere: then its pieces are what one reads.
export function frame(title, height, children, hasLinks = false) {
  return svg(
    "svg",
    { class: "chart", viewBox: `0 -10 ${width} ${height + 34}`, role: hasLinks ? "group" : "img", "aria-label": title },
    children,
  );
}

export function legend(parts) {
  return el(
    "ul",
    { class: "legend" },
    parts.map((p) =>
      el(
        "li",
        null,
        svg("svg", { class: "swatch", "aria-hidden": "true" }, svg("rect", { class: p.class })),
        " ",
        p.label,
      ),
    ),
  );
}

function asTable(title, heads, rows) {
  const details = el("details", { class: "twin" }, el("summary", null, "as a table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1)
      details.append(
        el(
          "div",
          { class: "scroll tall", tabindex: "0", role: "group", "aria-label": title },
          el(
            "table",
            null,
            el(
              "thead",
              null,
              el(
                "tr",
                null,
                heads.map((h) => el("th", { scope: "col" }, h)),
              ),
            ),
            el(
              "tbody",
              null,
              rows().map((r) =>
                el(
                  "tr",
                  null,
                  r.map((c) => el("td", null, c)),
                ),
              ),
            ),
          ),
        ),
      );
  });
  return details;
}

// Bars of one piece for each part: { label, parts: [{ class, value }] }; `link(i)` is where a bar leads.
export function barChart({ title, bars, parts, type = "ns", link, height = 180 }) {
  const left = 70,
    most = Math.max(1, ...bars.map((b) => b.values.reduce((s, v) => s + (v || 0), 0)));
  const room = (width - left) / Math.max(bars.length, 1),
    wide = Math.max(1, Math.min(48, room * 0.8));
  const drawn = bars.map((b, i) => {
    let y = height;
    const x = left + room * i + (room - wide) / 2;
    const rects = b.values.map((v, k) => {
      const h = ((v || 0) / most) * height;
      y -= h;
      return h > 0 && svg("rect", { class: parts[k].class, x, y, width: wide, height: h });
    });
    const words = `${b.label}: ${b.values
      .map((v, k) => v > 0 && `${parts[k].label} ${cell(type, v)}`)
      .filter(Boolean)
      .join(", ")}`;
    const group = svg("g", { class: b.isFaint ? "faint" : null }, svg("title", null, clean(words)), rects);
    return link ? svg("a", { href: link(i), "aria-label": clean(words) }, group) : group;
  });
  const every = Math.ceil((bars.length * 41) / (width - left));
  const labels = bars.map(
    (b, i) =>
      i % every === 0 &&
      svg("text", { class: "tick", x: left + room * (i + 0.5), y: height + 16, "text-anchor": "middle" }, b.short ?? b.label),
  );
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title),
    legend(parts.filter((_, k) => bars.some((b) => b.values[k] > 0))),
    frame(title, height, [...yAxis(most, height, type, left), ...drawn, ...labels.filter(Boolean)], Boolean(link)),
  );
}

// Times below a chart.
export function timeTicks(span, height, left, label = time) {
  return (width < 500 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((s) =>
    svg(
      "text",
      {
        class: "tick",
        x: left + s * (width - left),
        y: height + 16,
        "text-anchor": s === 0 ? "start" : s === 1 ? "end" : "middle",
      },
      label(span * s),
    ),
  );
}

// Lines over the same times: { label, class, values }.
export function lineChart({ title, x, lines, type = "bytes", height = 180, xLabel = time }) {
  const left = 80,
    n = x.length,
    most = Math.max(1, ...lines.flatMap((l) => l.values.map((v) => v ?? 0)));
  const at = (i) => left + ((x[i] - x[0]) / Math.max(1, x[n - 1] - x[0])) * (width - left);
  const drawn = lines
    .map((l) => {
      const points = l.values.map((v, i) => `${at(i).toFixed(1)},${(height - ((v ?? 0) / most) * height).toFixed(1)}`).join(" ");
      return [
        l.isArea && svg("polygon", { class: l.class + " area", points: `${at(0)},${height} ${points} ${at(n - 1)},${height}` }),
        svg("polyline", { class: l.class + " line", points }),
      ];
    })
    .flat()
    .filter(Boolean);
  const ticks = timeTicks(x[n - 1] - x[0], height, left, xLabel);
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title),
    legend(lines),
    frame(title, height, [...yAxis(most, height, type, left), ...drawn, ...ticks]),
    asTable(title, ["time", ...lines.map((l) => l.label)], () =>
      x.map((t, i) => [xLabel(t - x[0]), ...lines.map((l) => cell(type, l.values[i]))]),
    ),
  );
}

// A power of ten: small ones as such, for two decimals would show several as the same.
const powerTick = (type, v) => (type === "number" && v < 0.01 ? v.toExponential(0) : cell(type, v));

// Points on two logarithmic axes: { x, y, label, class }; `guides` are lines [[x1, y1], [x2, y2]].
export function scatterChart({ title, points, xType, yType, xTitle, yTitle, guides = [], height = 300 }) {
  const left = 90,
    seen = points.filter((p) => p.x > 0 && p.y > 0);
  if (!seen.length) return null;
  const range = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + 1e-9)];
  const [x0, x1] = range([
    ...seen.map((p) => p.x),
    ...guides
      .flat()
      .map((g) => g[0])
      .filter((v) => v > 0),
  ]);
  const [y0, y1] = range([
    ...seen.map((p) => p.y),
    ...guides
      .flat()
      .map((g) => g[1])
      .filter((v) => v > 0),
  ]);
  const px = (v) => left + ((Math.log10(v) - x0) / Math.max(1, x1 - x0)) * (width - left - 30);
  const py = (v) => height - ((Math.log10(v) - y0) / Math.max(1, y1 - y0)) * height;
  const grid = [];
  for (let e = y0; e <= Math.max(y1, y0 + 1); e++)
    grid.push(
      svg("line", { class: "grid", x1: left, x2: width, y1: py(10 ** e), y2: py(10 ** e) }),
      svg("text", { class: "tick", x: left - 6, y: py(10 ** e) + 4, "text-anchor": "end" }, powerTick(yType, 10 ** e)),
    );
  for (let e = x0; e <= Math.max(x1, x0 + 1); e++)
    grid.push(svg("text", { class: "tick", x: px(10 ** e), y: height + 16, "text-anchor": "middle" }, powerTick(xType, 10 ** e)));
  const lines = guides.map(([a, b]) => svg("line", { class: "guide", x1: px(a[0]), y1: py(a[1]), x2: px(b[0]), y2: py(b[1]) }));
  const dots = seen.map((p) =>
    svg("circle", { class: p.class, cx: px(p.x), cy: py(p.y), r: p.r ?? 5 }, svg("title", null, clean(p.label, 300))),
  );
  const classes = [...new Map(seen.map((p) => [p.class, { class: p.class, label: p.group }])).values()].filter((c) => c.label);
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title, el("span", { class: "note" }, ` across: ${xTitle}; up: ${yTitle}`)),
    legend(classes),
    frame(title, height, [...grid, ...lines, ...dots]),
  );
}

// Rows × columns as colours; null is no measurement.
export function heatMap({ title, rows, columns, values, type, pick }) {
  const flat = values.flat().filter((v) => v !== null),
    least = Math.min(...flat),
    most = Math.max(...flat);
  const cellWidth = Math.max(2, Math.min(120, Math.floor((width - 60) / columns.length))),
    cellHeight = rows.length > 64 ? Math.max(1, Math.floor(640 / rows.length)) : 22;
  const canvas = el("canvas", {
    class: "heat",
    role: "img",
    tabindex: "0",
    "aria-label": title,
    width: cellWidth * columns.length,
    height: cellHeight * rows.length,
  });
  const context = canvas.getContext("2d");
  const labels =
    cellHeight >= 14 &&
    el(
      "ol",
      { class: "heat-rows", "aria-hidden": "true" },
      rows.map((r) => el("li", null, r)),
    );
  for (let r = 0; r < rows.length; r++)
    for (let c = 0; c < columns.length; c++) {
      if (values[r][c] === null) continue;
      context.fillStyle = heatColor(most > least ? (values[r][c] - least) / (most - least) : 0.5);
      context.fillRect(c * cellWidth, r * cellHeight, cellWidth - (cellWidth > 6 ? 1 : 0), cellHeight - (cellHeight > 6 ? 1 : 0));
    }
  let row = 0,
    column = 0;
  const words = el("p", { class: "note", "aria-live": "polite" }, "point at a square, or use the arrow keys");
  const say = () => {
    const value = values[row][column];
    words.textContent = clean(`${rows[row]}, ${columns[column]}: ${value === null ? "not measured" : cell(type, value)}`);
  };
  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    column = Math.min(columns.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * columns.length)));
    row = Math.min(rows.length - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * rows.length)));
    say();
  };
  canvas.addEventListener("pointermove", find);
  canvas.addEventListener("click", (event) => {
    find(event);
    pick?.(row, column);
  });
  canvas.addEventListener("keydown", (event) => {
    const [dr, dc] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
    if (event.key === "Enter") pick?.(row, column);
    if (!dr && !dc) return;
    row = Math.min(rows.length - 1, Math.max(0, row + dr));
    column = Math.min(columns.length - 1, Math.max(0, column + dc));
    say();
    event.preventDefault();
  });
  const scale = el(
    "p",
    { class: "scale" },
    cell(type, least),
    " ",
    svg(
      "svg",
      { viewBox: "0 0 200 12", class: "ramp", "aria-hidden": "true" },
      Array.from({ length: 40 }, (_, i) => svg("rect", { x: i * 5, width: 5.5, height: 12, fill: heatColor(i / 39) })),
    ),
    " ",
    cell(type, most),
  );
  return el(
    "figure",
    { class: "plot" },
    el("figcaption", null, title),
    scale,
    el("div", { class: "scroll heat-box" }, labels || null, canvas),
    words,
    asTable(title, ["", ...columns], () => rows.map((label, r) => [label, ...values[r].map((v) => cell(type, v))])),
  );
}
