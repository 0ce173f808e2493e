// SPDX-License-Identifier: Apache-2.0
// timeline_info.js - what is said below the timeline about the chosen slice, or about the chosen piece of time.

import { clean, el, replace } from "./dom.js";
import { count, percent, time } from "./format.js";
import { kindWords } from "./palette.js";
import { DataTable } from "./table.js";
import { childrenOf, kindOf, labelOf, linkedFrom, parentOf, sumUp, trackName } from "./timeline_model.js";

// All slices of the same label: how often, how long.
function sameLabel(t, i) {
  t.labelSums ??= new Map();
  const label = t.label[i];
  if (!t.labelSums.has(label)) {
    const sum = { n: 0, total: 0, longest: 0 };
    for (const row of t.rows) {
      if (t.tracks[row.track].scenario !== undefined) continue;
      for (let k = row.from; k < row.to; k++)
        if (t.label[k] === label) {
          sum.n++;
          sum.total += t.dur[k];
          sum.longest = Math.max(sum.longest, t.dur[k]);
        }
    }
    t.labelSums.set(label, sum);
  }
  return t.labelSums.get(label);
}

function jump(t, i, go, words) {
  return el(
    "button",
    { type: "button", class: "link", onclick: () => go(i), title: clean(labelOf(t, i)) },
    words,
    " ",
    clean(labelOf(t, i), 90),
    " · ",
    time(t.dur[i]),
  );
}

// A sentence for those who hear it.
export function describe(entry, i) {
  const t = entry.timeline;
  return `${labelOf(t, i)}, ${kindWords[kindOf(t, i)] ?? ""}, ${time(t.dur[i])}, at ${time(t.start[i])}, on ${trackName(t.tracks[t.rows[t.row[i]].track])}`;
}

const pythonOwn = /torch\/|site-packages|dist-packages|<built-in|^nn\.Module/;

// The operator and the line that it comes from: of device work, those around its launch.
function codeOf(t, i, launch) {
  const out = [];
  for (let p = parentOf(t, launch >= 0 ? launch : i), k = 0; p >= 0 && k < 200; p = parentOf(t, p), k++) {
    const kind = kindOf(t, p),
      name = labelOf(t, p);
    if (kind === "cpu_op" && launch >= 0 && !out.some(([key]) => key === "operator")) out.push(["operator", clean(name, 200)]);
    if (kind === "python_function" && !pythonOwn.test(name)) {
      out.push(["called from", clean(name, 200)]);
      break;
    }
  }
  return out;
}

export function showSlice(box, entry, i, go, find) {
  const t = entry.timeline,
    row = t.rows[t.row[i]],
    track = t.tracks[row.track],
    kind = kindOf(t, i),
    same = sameLabel(t, i);
  const inside = childrenOf(t, i),
    held = inside.reduce((sum, k) => sum + t.dur[k], 0),
    from = t.link[i],
    to = linkedFrom(t, i);
  const stack = [];
  for (let p = parentOf(t, i); p >= 0 && stack.length < 60; p = parentOf(t, p)) stack.push(p);
  const isDevice = track.type === "stream";
  const facts = [
    ["kind", kindWords[kind] ?? kind],
    ["where", `${trackName(track)}${track.process ? ` of ${track.process}` : ""}`],
    ...codeOf(t, i, from),
    ["begins", time(t.start[i])],
    ["takes", time(t.dur[i])],
    inside.length > 0 && ["by itself", time(Math.max(0, t.dur[i] - held))],
    t.note[i] > 0 && ["recorded", t.notes[t.note[i]]],
    isDevice && from >= 0 && ["queued after launch", time(Math.max(0, t.start[i] - t.start[from] - t.dur[from]))],
    same.n > 1 && [
      "same name",
      `${count(same.n)} × ${time(same.total / same.n)} = ${time(same.total)}, longest ${time(same.longest)}`,
    ],
    track.scenario !== undefined && ["simulated", "position in the replay, not as measured"],
  ];
  replace(
    box,
    el("h3", null, el("span", { class: "mono" }, clean(labelOf(t, i), 600))),
    el(
      "dl",
      { class: "facts" },
      facts.filter(Boolean).map(([k, v]) => [el("dt", null, k), el("dd", null, v)]),
    ),
    el(
      "p",
      { class: "jumps" },
      from >= 0 && jump(t, from, go, isDevice ? "launched by" : "backward of"),
      to
        .slice(0, 12)
        .map((k) => jump(t, k, go, t.tracks[t.rows[t.row[k]].track].type === "stream" ? "launches" : "its backward:")),
      to.length > 12 && el("span", { class: "note" }, `and ${to.length - 12} more`),
      el("button", { type: "button", class: "link", onclick: () => find(labelOf(t, i)) }, "find all with this name"),
    ),
    stack.length > 0 &&
      el(
        "details",
        { open: stack.length < 8 },
        el("summary", null, `parents (${stack.length})`),
        el(
          "ol",
          { class: "stack" },
          stack.map((p) => el("li", null, jump(t, p, go, ""))),
        ),
      ),
  );
}

export function showRange(box, lanes, from, to, clear) {
  const { rows, device } = sumUp(lanes, from, to);
  const streams = lanes.filter((l) => l.kind === "track" && l.track.type === "stream" && l.track.scenario === undefined).length;
  const column = (key, head, type) => ({ key, head, type, shown: true });
  const table = new DataTable({
    title: "Contents",
    empty: "empty",
    rows: rows.map((r) => ({ ...r, kind: kindWords[r.kind] ?? r.kind })),
    columns: [
      column("total_ns", "time inside", "ns"),
      column("count", "count", "count"),
      column("longest_ns", "longest", "ns"),
      column("kind", "kind", "text"),
      column("name", "name", "text"),
    ],
  });
  replace(
    box,
    el("h3", null, `${time(to - from)} selected`),
    el(
      "p",
      null,
      `from ${time(from)} to ${time(to)}`,
      streams > 0 &&
        `; GPU operations fill ${percent((100 * device) / (to - from) / streams)} % of it${streams > 1 ? ` on ${streams} streams` : ""}`,
      " ",
      el("button", { type: "button", onclick: clear }, "clear"),
    ),
    table.element,
  );
}
