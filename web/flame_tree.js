// SPDX-License-Identifier: Apache-2.0
// flame_tree.js - slices with the same stack of names become one node of a tree, as `holdup export --format folded` does it.
//
// Host time is a slice's length without what is directly inside of it.  GPU time is the length of an operation, below the
// operators and Python frames that launched it, without calls of the runtime; below its stream where the launch is not known.
// All that is left out (frames of other kinds) gives its time to the nearest frame around it, so sums stay what they are.

import { kindWords } from "./palette.js";
import { nestThread } from "./nest.js";
import { trackName } from "./timeline_model.js";

export const deviceKinds = new Set(["kernel", "collective", "memcpy", "memset"]);
const callKinds = new Set(["runtime", "driver"]),
  nesting = new Set(["cpu_op", "python_function", "user_annotation", "runtime", "driver", "os_call", "mpi"]),
  deepestStack = 512;

// The slices of each thread that may lie in each other, in order.
function threadsOf(t) {
  if (t.threads) return t.threads;
  const nests = t.label_kinds.map((k) => nesting.has(t.kinds[k])),
    threads = new Map();
  for (const i of t.order) {
    const { track } = t.rows[t.row[i]];
    if (t.tracks[track].type !== "host" || !nests[t.label[i]]) continue;
    if (!threads.has(track)) threads.set(track, []);
    threads.get(track).push(i);
  }
  for (const slices of threads.values()) slices.sort((a, b) => t.start[a] - t.start[b] || t.dur[b] - t.dur[a]);
  return (t.threads = [...threads.values()]);
}

// What a slice lies in; -1 where it is in none.
export function parentsOf(t) {
  if (t.parents) return t.parents;
  const parents = new Int32Array(t.start.length).fill(-1);
  for (const slices of threadsOf(t)) nestThread(t, slices, parents, null);
  return (t.parents = parents);
}

// What launched a piece of GPU work, calls of the runtime left out; -1 where nobody knows.
export function launcherOf(t, i) {
  const parents = parentsOf(t);
  let above = t.link[i];
  while (above >= 0 && callKinds.has(t.kinds[t.label_kinds[t.label[above]]])) above = parents[above];
  return above;
}

// Nodes are numbers; a node comes behind the one above it, and 0 is the root.
export class Tree {
  // names: of the frames; kinds: of each its kind of slice, for its colour
  constructor(names, kinds, isTimed = false) {
    this.names = names;
    this.kinds = kinds;
    this.isTimed = isTimed; // in the order of time: only what follows its like is one with it
    this.above = [-1];
    this.frame = [-1];
    this.depth = [0];
    this.self = [0];
    this.calls = [0];
    this.longest = [-1]; // a slice of the timeline
    this.longestNs = [-1];
    this.lastChild = [0];
    this.before = [0]; // the child of the same node that was made before
    this.width = [0];
    this.places = new Map();
    this.isCut = false;
  }

  child(above, frame) {
    const last = this.lastChild[above];
    if (last && this.frame[last] === frame) return last;
    let key;
    if (!this.isTimed && this.width[above] > 8) {
      key = above * 4194304 + frame;
      const known = this.places.get(key);
      if (known) return known;
    } else if (!this.isTimed) {
      for (let k = last; k; k = this.before[k]) if (this.frame[k] === frame) return k;
    }
    if (this.depth[above] >= deepestStack) {
      this.isCut = true;
      return above;
    }
    const id = this.above.length;
    this.above.push(above);
    this.frame.push(frame);
    this.depth.push(this.depth[above] + 1);
    this.self.push(0);
    this.calls.push(0);
    this.longest.push(-1);
    this.longestNs.push(-1);
    this.lastChild.push(0);
    this.width.push(0);
    this.before.push(last);
    this.lastChild[above] = id;
    if (!this.isTimed && ++this.width[above] > 8) {
      if (this.width[above] === 9)
        for (let k = id; k; k = this.before[k]) this.places.set(above * 4194304 + this.frame[k], k);
      else this.places.set(key, id);
    }
    return id;
  }

  count(node, slice, ns) {
    this.calls[node]++;
    if (ns > this.longestNs[node]) {
      this.longestNs[node] = ns;
      this.longest[node] = slice;
    }
  }

  // Sums from below, and children in the order in which they are drawn.
  finish() {
    const n = this.above.length,
      from = new Uint32Array(n + 2);
    this.total = Float64Array.from(this.self);
    for (let k = n - 1; k > 0; k--) this.total[this.above[k]] += this.total[k];
    for (let k = 1; k < n; k++) from[this.above[k] + 2]++;
    for (let k = 2; k < n + 2; k++) from[k] += from[k - 1];
    this.kids = new Uint32Array(n - 1);
    for (let k = 1; k < n; k++) this.kids[from[this.above[k] + 1]++] = k;
    this.kidsFrom = from;
    if (!this.isTimed)
      for (let k = 0; k < n; k++)
        if (from[k + 1] - from[k] > 1) this.kids.subarray(from[k], from[k + 1]).sort((a, b) => this.total[b] - this.total[a] || a - b);
    this.places = null;
    return this;
  }

  kidsOf(node) {
    return this.kids.subarray(this.kidsFrom[node], this.kidsFrom[node + 1]);
  }

  nameOf(node) {
    return node ? this.names[this.frame[node]] : "all";
  }

  kindOf(node) {
    return this.kinds[this.frame[node]];
  }
}

// The same from below: the root's children are what has time itself, below each its callers.  Nodes are made when asked for.
export class Callers {
  constructor(tree) {
    this.base = tree;
    this.names = tree.names;
    this.kinds = tree.kinds;
    this.above = [-1];
    this.frame = [-1];
    this.depth = [0];
    this.total = [tree.total[0]];
    this.self = [0];
    this.calls = [0];
    this.longest = [-1];
    this.parts = [null]; // of each node the places of the tree where it is, with the time that is theirs
    this.made = [null];
    this.isCut = tree.isCut;
  }

  kidsOf(node) {
    return (this.made[node] ??= this.make(node));
  }

  make(node) {
    const { base } = this,
      by = new Map();
    const put = (at, ns, source) => {
      if (at <= 0) return;
      const frame = base.frame[at];
      if (!by.has(frame)) by.set(frame, { ns: 0, parts: [], calls: 0, longest: -1, longestNs: -1 });
      const found = by.get(frame);
      found.ns += ns;
      found.parts.push(at, ns, source);
      found.calls += base.calls[source];
      if (base.longestNs[source] > found.longestNs) {
        found.longestNs = base.longestNs[source];
        found.longest = base.longest[source];
      }
    };
    if (node === 0) {
      for (let k = 1; k < base.above.length; k++) if (base.self[k] > 0) put(k, base.self[k], k);
    } else {
      const parts = this.parts[node];
      for (let k = 0; k < parts.length; k += 3) put(base.above[parts[k]], parts[k + 1], parts[k + 2]);
    }
    return Array.from(by, ([frame, found]) => {
      const id = this.above.length;
      this.above.push(node);
      this.frame.push(frame);
      this.depth.push(this.depth[node] + 1);
      this.total.push(found.ns);
      this.self.push(node === 0 ? found.ns : 0);
      this.calls.push(found.calls);
      this.longest.push(found.longest);
      this.parts.push(found.parts);
      this.made.push(null);
      return id;
    }).sort((a, b) => this.total[b] - this.total[a]);
  }

  nameOf(node) {
    return node ? this.names[this.frame[node]] : "all";
  }

  kindOf(node) {
    return this.kinds[this.frame[node]];
  }
}

const isModule = (name) => name.startsWith("nn.Module: ");

// Which frames a tree has, by the word that the address says.
const framesOf = {
  all: () => true,
  operators: (kind) => kind === "cpu_op" || kind === "user_annotation",
  python: (kind) => kind === "python_function",
  modules: (kind, name) => kind === "python_function" && isModule(name),
};
export const frameWords = { all: "all frames", operators: "operators", python: "Python frames", modules: "modules" };

// One frame for each name, whatever its kind; behind them one for each track, and one for all steps.
function namesOf(t) {
  if (t.frames) return t.frames;
  const names = [],
    kinds = [],
    by = new Map(),
    of = new Uint32Array(t.labels.length);
  t.labels.forEach((name, label) => {
    if (!by.has(name)) {
      by.set(name, names.length);
      names.push(name);
      kinds.push(isModule(name) ? "module" : t.kinds[t.label_kinds[label]]);
    }
    of[label] = by.get(name);
  });
  const first = names.length;
  for (const track of t.tracks) {
    names.push(trackName(track));
    kinds.push("track");
  }
  const steps = new Set(t.steps.map((s) => s.name)),
    step = names.findIndex((name) => steps.has(name)),
    merged = of.map((frame) => (steps.has(names[frame]) ? names.length : frame));
  if (step >= 0) {
    names.push(`${names[step].replace(/#?\d+$/, "")}*`);
    kinds.push(kinds[step]);
  }
  return (t.frames = { names, kinds, of, merged, first });
}

// CPU samples: the thread, then the functions from the outermost one in.  A sample counts as the CPU time that it stands for.
function sampleTree(s, { from, to, isTimed }) {
  const first = s.functions.length,
    names = [...s.functions, ...s.threads.map((t) => t.name || `thread ${t.tid}`)],
    tree = new Tree(names, names.map((_, i) => (i < first ? "function" : "track")), isTimed),
    each = (s.each_ns || 1) * s.every,
    path = [];
  for (let i = 0; i < s.n; i++) {
    if (s.time[i] < from || s.time[i] >= to) continue;
    path.length = 0;
    for (let k = s.stack[i]; k >= 0 && path.length < deepestStack; k = s.caller[k]) path.push(s.function[k]);
    let node = tree.child(0, first + s.thread[i]);
    while (path.length) node = tree.child(node, path.pop());
    tree.self[node] += each;
    tree.calls[node]++;
  }
  return tree.finish();
}

// options: { of: "host" | "gpu" | "cpu", kind: a kind of slice or "", frames, from, to, track: -1 all, isTimed, areStepsOne }
export function sliceTree(t, options) {
  const { names, kinds, first, ...labels } = namesOf(t),
    of = options.areStepsOne ? labels.merged : labels.of,
    parents = parentsOf(t),
    { from = -Infinity, to = Infinity, track: wanted = -1, isTimed = false } = options,
    tree = new Tree(names, kinds, isTimed),
    isShown = Uint8Array.from(t.labels, (name, k) => framesOf[options.frames ?? "all"](t.kinds[t.label_kinds[k]], name)),
    isOfKind = Uint8Array.from(t.label_kinds, (k) => !options.kind || t.kinds[k] === options.kind),
    isWork = Uint8Array.from(t.label_kinds, (k) => deviceKinds.has(t.kinds[k]));
  const inside = (i) => Math.max(0, Math.min(t.start[i] + t.dur[i], to) - Math.max(t.start[i], from));
  const trackOf = (i) => t.rows[t.row[i]].track;
  const measured = (track, type) => t.tracks[track].type === type && t.tracks[track].scenario === undefined;

  if (options.of === "cpu") return sampleTree(t.cpu_samples, { from, to, isTimed });
  if (options.of === "gpu") {
    // on a stream a tree of time goes by start; elsewhere the order does not matter
    const work = t.order.filter((i) => isWork[t.label[i]] && isOfKind[t.label[i]] && t.tracks[trackOf(i)].scenario === undefined);
    if (isTimed) work.sort((a, b) => t.start[a] - t.start[b]);
    const path = [],
      memo = isTimed ? null : new Int32Array(t.start.length);
    for (const i of work) {
      const ns = inside(i),
        launcher = launcherOf(t, i),
        track = launcher >= 0 ? trackOf(launcher) : trackOf(i);
      if ((wanted >= 0 && trackOf(i) !== wanted && track !== wanted) || (ns === 0 && (t.start[i] < from || t.start[i] >= to))) continue;
      path.length = 0;
      let at = launcher;
      for (; at >= 0 && !memo?.[at]; at = parents[at]) path.push(at);
      let node = at >= 0 ? memo[at] : tree.child(0, first + track);
      while (path.length) {
        const slice = path.pop();
        if (isShown[t.label[slice]]) node = tree.child(node, of[t.label[slice]]);
        if (memo) memo[slice] = node;
      }
      node = tree.child(node, of[t.label[i]]);
      tree.self[node] += ns;
      tree.count(node, i, t.dur[i]);
    }
    return tree.finish();
  }
  const node = new Int32Array(t.start.length),
    self = new Float64Array(t.start.length),
    nests = t.label_kinds.map((k) => nesting.has(t.kinds[k]));
  for (const slices of threadsOf(t)) nestThread(t, slices, parents, self, from, to);
  for (const i of t.order) {
    const track = trackOf(i);
    if (!measured(track, "host") || (wanted >= 0 && track !== wanted)) continue;
    const parent = parents[i],
      ns = inside(i),
      above = parent >= 0 ? node[parent] : 0;
    if (ns === 0 && (t.start[i] < from || t.start[i] >= to)) continue;
    const around = above || tree.child(0, first + track);
    if (!nests[t.label[i]]) self[i] = ns;
    if (isShown[t.label[i]]) {
      node[i] = tree.child(around, of[t.label[i]]);
      tree.count(node[i], i, t.dur[i]);
    } else node[i] = around;
  }
  for (let i = 0; i < self.length; i++) if (node[i] && self[i] > 0 && isOfKind[t.label[i]]) tree.self[node[i]] += self[i];
  return tree.finish();
}

// Rows of { stack: "outer;inner", weight, kind } as a tree; a frame is of the kind that has most of its weight.
export function treeOfStacks(rows) {
  const names = [],
    kinds = [],
    by = new Map(),
    most = [],
    tree = new Tree(names, kinds);
  for (const { stack, weight, kind } of rows) {
    let at = 0;
    for (const name of stack.split?.(";") ?? stack) {
      if (!by.has(name)) {
        by.set(name, names.length);
        names.push(name);
        most.push(new Map());
      }
      const frame = by.get(name);
      most[frame].set(kind, (most[frame].get(kind) ?? 0) + weight);
      at = tree.child(at, frame);
    }
    tree.self[at] += weight;
    tree.calls[at]++;
  }
  kinds.push(...most.map((m) => [...m].sort((a, b) => b[1] - a[1])[0][0]));
  return tree.finish();
}

// The kinds that have time of their own in a tree of `of`, with the words for them.
export function kindsOf(t, of) {
  if (of === "cpu") return [];
  const seen = new Set();
  for (const row of t.rows) {
    const track = t.tracks[row.track];
    if (track.scenario !== undefined || (of === "gpu" ? track.type !== "stream" : track.type !== "host")) continue;
    for (let i = row.from; i < row.to; i++) seen.add(t.label_kinds[t.label[i]]);
  }
  return [...seen].map((k) => t.kinds[k]).filter((k) => of !== "gpu" || deviceKinds.has(k)).map((k) => [k, kindWords[k] ?? k]);
}

const frameText = (name) => (name || "(no name)").replaceAll(";", ":").replace(/[\u0000-\u001f\u007f\u0085\u2028\u2029]/g, " ");

// One line for each stack that has time itself: what flamegraph.pl, inferno and speedscope read.
export function foldedText(tree) {
  const sums = new Map(),
    paths = [""];
  for (let k = 1; k < tree.above.length; k++) {
    const name = frameText(tree.nameOf(k));
    paths.push(tree.above[k] ? `${paths[tree.above[k]]};${name}` : name);
    if (tree.self[k] > 0) sums.set(paths[k], (sums.get(paths[k]) ?? 0) + tree.self[k]);
  }
  return Array.from(sums, ([path, ns]) => `${path} ${Math.round(ns)}\n`).join("");
}

// Rows of one frame each: time of its own, and with what is below it, each instant once however often it calls itself.
export function sumFrames(tree) {
  const sums = new Map(),
    seen = new Int32Array(tree.names.length);
  const rowOf = (frame) => {
    if (!sums.has(frame)) sums.set(frame, { frame, name: tree.names[frame], kind: tree.kinds[frame], self_ns: 0, total_ns: 0, calls: 0 });
    return sums.get(frame);
  };
  // a walk in which `seen` counts the frames on the way down
  const stack = [0];
  while (stack.length) {
    const k = stack.pop();
    if (k < 0) {
      seen[tree.frame[~k]]--;
      continue;
    }
    if (k) {
      const row = rowOf(tree.frame[k]);
      row.self_ns += tree.self[k];
      row.calls += tree.calls[k];
      if (!seen[tree.frame[k]]) row.total_ns += tree.total[k];
      seen[tree.frame[k]]++;
      stack.push(~k);
    }
    for (const kid of tree.kidsOf(k)) stack.push(kid);
  }
  return [...sums.values()].filter((r) => r.kind !== "track").sort((a, b) => b.self_ns - a.self_ns || b.total_ns - a.total_ns);
}

// How much of a tree lies in what matches, each instant once.
export function matchedTotal(tree, isMatch) {
  let sum = 0,
    stacks = 0;
  const within = new Uint8Array(tree.above.length);
  for (let k = 1; k < tree.above.length; k++) {
    const hit = isMatch[tree.frame[k]];
    within[k] = within[tree.above[k]] || hit;
    if (hit && !within[tree.above[k]]) {
      sum += tree.total[k];
      stacks++;
    }
  }
  return { sum, stacks };
}
