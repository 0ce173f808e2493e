// SPDX-License-Identifier: Apache-2.0
// timeline_model.js - which tracks are shown, in which order and how high; and questions about slices.

export const rowHeight = 17,
  trackGap = 6,
  counterHeight = 32,
  groupHeight = 22,
  gpuStepsName = "GPU steps";

// A name short enough for a box: kernels without "void " and template arguments.
export function shortName(name) {
  const cut = name.startsWith("void ") ? name.slice(5) : name;
  const at = cut.search(/\w<(?!lambda>|module>)/) + 1; // "<module>" and "<lambda>" of Python are no template
  return at > 0 ? cut.slice(0, at).replace(/^.*::(?=[^:]+::[^:]+$)/, "") + "<…>" : cut;
}

export function trackName(t) {
  if (t.type === "stream") return `GPU ${t.device >= 0 ? t.device : "?"} · stream ${t.stream >= 0 ? t.stream : t.tid}`;
  return t.title || t.name || `thread ${t.tid}`;
}

const order = { stream: 0, host: 2, note: 3, counter: 1 };

function compareTracks(a, b) {
  return (
    order[a.type] - order[b.type] || (a.type === "stream" ? a.device - b.device || a.stream - b.stream : b.n - a.n) || a.id - b.id
  );
}

// A part of a rank's time in the rows of the whole: a track or a row without a slice in it keeps its place and its number.
function inRowsOf(part, whole) {
  const own = new Map(part.tracks.map((track) => [track.id, track])),
    row = new Uint32Array(part.row.length),
    rows = [];
  const tracks = whole.tracks.map((track, index) => {
    const found = track.scenario === undefined ? own.get(track.id) : undefined,
      depth = Math.max(track.depth, found?.depth ?? 0),
      first = rows.length;
    for (let d = 0; d < depth; d++) {
      const { from, to } = found && d < found.depth ? part.rows[found.row + d] : { from: 0, to: 0 };
      row.fill(rows.length, from, to);
      rows.push({ track: index, depth: d, from, to });
    }
    return { ...track, row: first, depth };
  });
  return { ...part, tracks, rows, row, scenarios: whole.scenarios };
}

// Steps as the GPU worked on them, each on the first row that is free; the next one's may begin earlier.
export function gpuSteps(t) {
  const ends = [];
  t.gpuSteps ??= t.steps
    .filter((s) => s.gpu_end)
    .map((s) => {
      const free = ends.findIndex((end) => end <= s.gpu_start),
        depth = free < 0 ? ends.length : free;
      ends[depth] = s.gpu_end;
      return { ...s, start: s.gpu_start, end: s.gpu_end, depth };
    });
  return t.gpuSteps;
}

// One rank on the common clock: `shift` is what its times are behind those of the first.
export class Model {
  constructor() {
    this.ranks = [];
    this.folded = new Set();
    this.hidden = new Set(); // keys of tracks
    this.pinned = new Set();
    this.filter = ""; // of their names
    this.scenario = null; // id of a finding
  }

  // `offset`: how far its clock is ahead of the common one, as far as that is known.
  add(rank, label, timeline, offset = 0) {
    const known = this.ranks.findIndex((r) => r.rank === rank);
    const base = BigInt(timeline.base_ns);
    const entry = { rank, label, timeline, base, offset, shift: 0, isAligned: true };
    entry.whole = entry;
    if (known >= 0) this.ranks[known] = entry;
    else this.ranks.push(entry);
    const first = this.ranks[0];
    const behind = Number(base - first.base) - (offset - first.offset);
    entry.isAligned = Math.abs(behind) < 3.6e12; // clocks an hour apart say nothing about each other
    entry.shift = entry.isAligned ? behind : 0;
    return entry;
  }

  // More detail of a part of its time.  The span, the rows and the simulated steps stay those of the whole.
  refine(entry, part) {
    const better = { ...entry, timeline: inRowsOf(part, entry.whole.timeline) };
    this.ranks = this.ranks.map((r) => (r === entry ? better : r));
  }

  remove(rank) {
    this.ranks = this.ranks.filter((r) => r.rank !== rank);
  }

  // [from, to] over all ranks.
  span() {
    let from = Infinity,
      to = -Infinity;
    for (const {
      whole: { timeline: t },
      shift,
    } of this.ranks) {
      for (const row of t.rows) {
        if (row.to === row.from || t.tracks[row.track].scenario !== undefined) continue;
        from = Math.min(from, t.start[row.from] + shift);
        to = Math.max(to, t.start[row.to - 1] + t.dur[row.to - 1] + shift);
      }
    }
    return from < to ? [from, to] : [0, 1];
  }

  scenarioOf(entry) {
    return entry.timeline.scenarios.findIndex((s) => s.id === this.scenario);
  }

  // What is drawn from top to bottom: { kind, y, height, entry, track | counter, rows }.
  layout() {
    const lanes = [];
    let y = 0;
    const put = (lane, height) => {
      lanes.push({ ...lane, y, height });
      y += height;
    };
    for (const entry of this.ranks) {
      const t = entry.timeline,
        simulated = entry.whole.timeline.tracks,
        scenario = this.scenarioOf(entry);
      if (this.ranks.length > 1)
        put({ kind: "group", entry, key: `g${entry.rank}`, isFolded: this.folded.has(`g${entry.rank}`) }, groupHeight);
      if (this.folded.has(`g${entry.rank}`)) continue;
      const measured = t.tracks.map((track, index) => ({ track, index })).filter(({ track }) => track.scenario === undefined);
      const isPinned = ({ index }) => this.pinned.has(`t${entry.rank}.${index}`);
      measured.sort((a, b) => isPinned(b) - isPinned(a) || compareTracks(a.track, b.track));
      let counters = false,
        steps = gpuSteps(t);
      const putCounters = () => {
        counters = true;
        for (const counter of t.counters)
          if (this.isShown(`c${entry.rank}.${counter.name}`, counter.name)) put({ kind: "counter", entry, counter, key: `c${entry.rank}.${counter.name}` }, counterHeight);
      };
      const putSteps = () => {
        const key = `k${entry.rank}`;
        if (steps.length && this.isShown(key, gpuStepsName))
          put({ kind: "steps", entry, steps, key }, (1 + Math.max(...steps.map((s) => s.depth))) * rowHeight + trackGap);
        steps = [];
      };
      for (const { track, index } of measured) {
        if (!isPinned({ index })) putSteps();
        if (track.type !== "stream" && !counters && !isPinned({ index })) putCounters();
        if (!this.isShown(`t${entry.rank}.${index}`, trackName(track))) continue;
        for (const other of simulated)
          if (scenario >= 0 && other.scenario === scenario && other.id === track.id)
            this.putTrack(put, entry.whole, other, `s${entry.rank}.${index}`);
        this.putTrack(put, entry, track, `t${entry.rank}.${index}`);
      }
      putSteps();
      if (!counters) putCounters();
    }
    return { lanes, height: y };
  }

  isShown(key, name) {
    return !this.hidden.has(key) && (!this.filter || name.toLowerCase().includes(this.filter));
  }

  // { key, name } of all that layout() could show.
  tracks() {
    return this.ranks.flatMap((entry) => [
      ...(gpuSteps(entry.timeline).length ? [{ key: `k${entry.rank}`, name: gpuStepsName }] : []),
      ...entry.whole.timeline.tracks
        .map((track, index) => ({ key: `t${entry.rank}.${index}`, name: trackName(track), track }))
        .filter(({ track }) => track.scenario === undefined)
        .sort((a, b) => compareTracks(a.track, b.track)),
      ...entry.timeline.counters.map(({ name }) => ({ key: `c${entry.rank}.${name}`, name })),
    ]);
  }

  putTrack(put, entry, track, key) {
    const isFolded = this.folded.has(key);
    const depth = isFolded ? 1 : track.depth;
    put(
      { kind: "track", entry, track, key, isFolded, rows: entry.timeline.rows.slice(track.row, track.row + depth) },
      depth * rowHeight + trackGap,
    );
  }
}

// The first place in [from, to) whose slice ends after `time`.
export function firstAfter(t, row, time) {
  let low = row.from,
    high = row.to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t.start[middle] + t.dur[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function sliceAt(t, row, time, slack) {
  const i = firstAfter(t, row, time - slack);
  return i < row.to && t.start[i] <= time + slack ? i : -1;
}

export function labelOf(t, i) {
  return t.labels[t.label[i]];
}

export function kindOf(t, i) {
  return t.kinds[t.label_kinds[t.label[i]]];
}

export const rounding = 1000; // ns that a child may end after its parent: src/trace/nest.c

// On a track whose slices cross: the shortest of those that contain it.
function shortestAround(t, track, i) {
  const end = t.start[i] + t.dur[i];
  let best = -1;
  for (const row of t.rows.slice(track.row, track.row + track.depth)) {
    const k = row.depth < t.depth[i] ? sliceAt(t, row, t.start[i], 0) : -1;
    if (k < 0 || t.start[k] + t.dur[k] + rounding < end || t.dur[k] < t.dur[i]) continue;
    if (best < 0 || t.dur[k] <= t.dur[best]) best = k;
  }
  return best;
}

// The slice that contains it, one row up; -1 at the top.
export function parentOf(t, i) {
  const row = t.rows[t.row[i]];
  if (row.depth === 0) return -1;
  if (t.tracks[row.track].rows) return shortestAround(t, t.tracks[row.track], i);
  return sliceAt(t, t.rows[t.row[i] - 1], t.start[i], 0);
}

// The slices directly inside of it.
export function childrenOf(t, i) {
  const row = t.rows[t.row[i]],
    below = t.rows[t.row[i] + 1];
  if (!below || below.track !== row.track) return [];
  const out = [],
    end = t.start[i] + t.dur[i],
    track = t.tracks[row.track],
    rows = track.rows ? t.rows.slice(t.row[i] + 1, track.row + track.depth) : [below];
  for (const r of rows)
    for (let k = firstAfter(t, r, t.start[i]); k < r.to && t.start[k] < end; k++) if (!track.rows || parentOf(t, k) === i) out.push(k);
  return track.rows ? out.sort((a, b) => t.start[a] - t.start[b]) : out;
}

// What comes from a slice: work that a call launched, backward of an operator.  Lists are made when first asked for.
export function linkedFrom(t, i) {
  if (!t.linkHead) {
    t.linkHead = new Int32Array(t.link.length).fill(-1);
    t.linkNext = new Int32Array(t.link.length).fill(-1);
    for (let k = t.link.length - 1; k >= 0; k--) {
      if (t.link[k] < 0) continue;
      t.linkNext[k] = t.linkHead[t.link[k]];
      t.linkHead[t.link[k]] = k;
    }
  }
  const out = [];
  for (let k = t.linkHead[i]; k >= 0; k = t.linkNext[k]) out.push(k);
  return out;
}

// Calls and time of each label between two instants, over the tracks that are shown.
export function sumUp(lanes, from, to) {
  const sums = new Map();
  let device = 0;
  for (const lane of lanes) {
    if (lane.kind !== "track" || lane.track.scenario !== undefined) continue;
    const t = lane.entry.timeline,
      shift = lane.entry.shift;
    const rows = t.rows.slice(lane.track.row, lane.track.row + lane.track.depth);
    for (const row of rows) {
      for (let i = firstAfter(t, row, from - shift); i < row.to && t.start[i] < to - shift; i++) {
        const part = Math.min(t.start[i] + t.dur[i], to - shift) - Math.max(t.start[i], from - shift);
        const key = `${labelOf(t, i)}\u0000${kindOf(t, i)}`;
        const sum = sums.get(key) ?? { name: labelOf(t, i), kind: kindOf(t, i), count: 0, total_ns: 0, longest_ns: 0 };
        sum.count++;
        sum.total_ns += part;
        sum.longest_ns = Math.max(sum.longest_ns, t.dur[i]);
        sums.set(key, sum);
        if (lane.track.type === "stream" && row.depth === 0) device += part;
      }
    }
  }
  return { rows: [...sums.values()].sort((a, b) => b.total_ns - a.total_ns), device };
}
