// SPDX-License-Identifier: Apache-2.0
// groups.js - time by nn.Module, as a tree; and slices in groups: by name, by what was recorded of them (shapes, grid), by
// module, by Python line, by stack, by step.

import { deviceKinds, launcherOf, parentsOf, sliceTree } from "./flame_tree.js";
import { trackName } from "./timeline_model.js";

const isModuleName = (name) => name.startsWith("nn.Module: ");

// Paths of modules with host and GPU time: rows that come parents first, siblings by cost.
export function moduleRows(t) {
  const root = { name: "all", kids: new Map() },
    add = (of, self, total, calls) => {
      const tree = sliceTree(t, { of, frames: "modules", areStepsOne: true }),
        at = [root];
      for (let k = 1; k < tree.above.length; k++) {
        const above = at[tree.above[k]],
          name = tree.nameOf(k);
        if (!isModuleName(name)) {
          at[k] = above; // threads, and GPU operations, which are their module's own time
          above[self] = (above[self] ?? 0) + tree.self[k];
          continue;
        }
        if (!above.kids.has(name)) above.kids.set(name, { name: name.slice(11), full: name, kids: new Map() });
        const node = (at[k] = above.kids.get(name));
        node[self] = (node[self] ?? 0) + tree.self[k];
        node[total] = (node[total] ?? 0) + tree.total[k];
        if (calls) node.calls = (node.calls ?? 0) + tree.calls[k];
      }
      root[total] = tree.total[0];
    };
  add("host", "host_self_ns", "host_total_ns", true);
  add("gpu", "gpu_self_ns", "gpu_total_ns", false);
  const rows = [];
  const walk = (node, depth) => {
    const { kids, ...row } = node;
    rows.push({
      ...row,
      gpu_total_ns: row.gpu_total_ns ?? 0,
      gpu_self_ns: row.gpu_self_ns ?? 0,
      host_self_ns: row.host_self_ns ?? 0,
      gpu_pct: root.gpu_total_ns > 0 ? (100 * (row.gpu_total_ns ?? 0)) / root.gpu_total_ns : null,
      host_pct: root.host_total_ns > 0 ? (100 * (row.host_total_ns ?? 0)) / root.host_total_ns : null,
      calls: row.calls ?? null,
      depth,
    });
    for (const kid of [...kids.values()].sort((a, b) => (b.gpu_total_ns ?? 0) - (a.gpu_total_ns ?? 0) || b.host_total_ns - a.host_total_ns)) walk(kid, depth + 1);
  };
  walk(root, 0);
  rows[0].name = "all (outside of modules, too)";
  return rows;
}

export const hasModules = (t) => t.labels.some(isModuleName);

export const groupings = {
  name: "name",
  recorded: "name and what was recorded",
  module: "module",
  python: "Python line",
  stack: "stack of operators",
  parent: "what called or launched it",
  track: "thread or stream",
  step: "step",
};
export const subjects = { gpu: "GPU operations", operators: "operators", python: "Python frames", calls: "runtime calls" };
export const ofSubject = {
  gpu: (kind) => deviceKinds.has(kind),
  operators: (kind) => kind === "cpu_op",
  python: (kind) => kind === "python_function",
  calls: (kind) => kind === "runtime" || kind === "driver",
};

// Rows of groups.  `of`: a key of subjects; `by`: one of groupings.
export function groupRows(t, of, by) {
  const parents = parentsOf(t),
    wanted = t.label_kinds.map((k) => ofSubject[of](t.kinds[k])),
    kindOf = (i) => t.kinds[t.label_kinds[t.label[i]]],
    self = Float64Array.from(t.dur),
    groups = new Map(),
    known = new Map();
  for (let i = 0; i < parents.length; i++) if (parents[i] >= 0) self[parents[i]] -= t.dur[i];
  // what a slice hangs below says the rest, once for each
  const memo = (i, f) => {
    if (i < 0) return "–";
    if (!known.has(i)) known.set(i, f(i));
    return known.get(i);
  };
  const nearestOf = (isIt) =>
    function find(i) {
      const path = [];
      let at = i;
      for (; at >= 0 && !known.has(at) && !isIt(at); at = parents[at]) path.push(at);
      const found = at < 0 ? "–" : (known.get(at) ?? t.labels[t.label[at]]);
      for (const k of path) known.set(k, found);
      return found;
    };
  const above = (i) => (of === "gpu" ? launcherOf(t, i) : parents[i]),
    inModule = nearestOf((i) => isModuleName(t.labels[t.label[i]])),
    inPython = nearestOf((i) => kindOf(i) === "python_function" && !isModuleName(t.labels[t.label[i]])),
    operators = (i) => {
      const names = [];
      for (let k = i; k >= 0 && names.length < 30; k = parents[k]) if (kindOf(k) === "cpu_op") names.unshift(t.labels[t.label[k]]);
      return names.join(" › ") || "–";
    };
  const stepAt = (at) => {
    let low = 0,
      high = t.steps.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (t.steps[middle].end > at) high = middle;
      else low = middle + 1;
    }
    return t.steps[low] && t.steps[low].start <= at ? t.steps[low].name || `step ${t.steps[low].number}` : "–";
  };
  const keyOf = {
    name: (i) => t.labels[t.label[i]],
    recorded: (i) => `${t.labels[t.label[i]]}\u0000${t.note[i] ? t.notes[t.note[i]] : ""}`,
    module: (i) => inModule(above(i)),
    python: (i) => inPython(above(i)),
    stack: (i) => memo(above(i), operators),
    parent: (i) => memo(above(i), (k) => t.labels[t.label[k]]),
    track: (i) => trackName(t.tracks[t.rows[t.row[i]].track]),
    step: (i) => stepAt(t.start[i]),
  }[by];
  let whole = 0;
  for (const i of t.order) {
    if (!wanted[t.label[i]] || t.tracks[t.rows[t.row[i]].track].scenario !== undefined) continue;
    const key = keyOf(i),
      own = Math.max(0, self[i]);
    let g = groups.get(key);
    if (!g) {
      const [name, recorded] = key.split("\u0000");
      groups.set(key, (g = { name, recorded: recorded ?? null, calls: 0, self_ns: 0, total_ns: 0, max_ns: 0, longest: i }));
    }
    g.calls++;
    g.self_ns += own;
    g.total_ns += t.dur[i];
    whole += own;
    if (t.dur[i] > g.max_ns) {
      g.max_ns = t.dur[i];
      g.longest = i;
    }
  }
  return [...groups.values()]
    .map((g) => ({ ...g, mean_ns: g.total_ns / g.calls, share_pct: whole > 0 ? (100 * g.self_ns) / whole : 0 }))
    .sort((a, b) => b.self_ns - a.self_ns);
}
