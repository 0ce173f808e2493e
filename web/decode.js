// SPDX-License-Identifier: Apache-2.0
// decode.js - the columns of a timeline as typed arrays, in rows in which no slice overlaps another.  Runs in a worker.
//
// The bytes are those that src/timeline/timeline.c describes.  A row is one depth of one track; slices of a row are sorted by
// start and by end, so that a drawing finds what it shows by bisection.

import { fromBase64, unpack } from "./data.js";

const deepest = 200;

function varints(bytes, at) {
  return {
    at,
    next() {
      let v = bytes[this.at++],
        b = v;
      if (v < 128) return v;
      v &= 127;
      let shift = 128;
      do {
        b = bytes[this.at++];
        v += (b & 127) * shift; // not <<: times have more than 32 bits
        shift *= 128;
      } while (b > 127);
      return v;
    },
    list(n, f = (v) => v) {
      const out = new Float64Array(n);
      for (let i = 0; i < n; i++) out[i] = f(this.next(), i);
      return out;
    },
  };
}

function unzigzag(v) {
  return v % 2 ? -(v + 1) / 2 : v / 2;
}

function readColumns(reader, tracks, n) {
  const start = new Float64Array(n),
    dur = new Float64Array(n);
  const label = new Uint32Array(n),
    note = new Uint32Array(n),
    link = new Int32Array(n);
  let i = 0;
  for (const t of tracks) {
    let last = 0;
    for (let k = 0; k < t.n; k++) start[i++] = last += reader.next();
  }
  for (i = 0; i < n; i++) dur[i] = reader.next();
  for (i = 0; i < n; i++) label[i] = reader.next();
  for (i = 0; i < n; i++) note[i] = reader.next();
  i = 0;
  for (const t of tracks) {
    let last = 0;
    for (let k = 0; k < t.n; k++) {
      const v = reader.next();
      link[i++] = v === 0 ? -1 : (last += unzigzag(v - 1)) - 1;
    }
  }
  return { start, dur, label, note, link };
}

function readCounters(reader, counters) {
  for (const c of counters) {
    c.time = new Float64Array(c.n);
    c.value = new Float64Array(c.n);
    let last = 0;
    for (let i = 0; i < c.n; i++) c.time[i] = last += reader.next();
    last = 0;
    for (let i = 0; i < c.n; i++) c.value[i] = (last += unzigzag(reader.next())) / c.scale;
  }
}

// The rows of tracks whose slices cross come with them.
function readRows(reader, tracks, depth) {
  let i = 0;
  for (const t of tracks) {
    if (!t.rows) {
      i += t.n;
      continue;
    }
    t.depth = 0;
    for (let k = 0; k < t.n; k++, i++) {
      depth[i] = Math.min(reader.next(), deepest - 1);
      t.depth = Math.max(t.depth, depth[i] + 1);
    }
  }
}

function readChains(reader, s) {
  s.caller = reader.list(s.stacks, (v, i) => (v ? i - v : -1));
  s.function = reader.list(s.stacks);
}

// CPU samples and the chains that they are of; src/timeline/samples.c describes them.
function readSamples(reader, s) {
  readChains(reader, s);
  let last = 0;
  s.time = reader.list(s.n, (v) => (last += unzigzag(v)));
  s.thread = reader.list(s.n);
  s.stack = reader.list(s.n, (v) => v - 1);
}

// Allocations of each pool, and its curves; src/timeline/allocations.c describes them.  A slice is its place in the bytes.
function readAllocations(reader, a) {
  let last = 0;
  const list = (n, f) => reader.list(n, f),
    orNone = (v) => v - 1;
  if (a.stacks) readChains(reader, a);
  for (const pool of a.pools)
    for (const key of ["mean", "most", "reserved"]) {
      last = 0;
      pool[key] = list(a.points, (v) => (last += unzigzag(v)));
    }
  a.born = new Float64Array(a.n).fill(-Infinity);
  let i = 0;
  for (const pool of a.pools) {
    pool.at = i;
    last = a.from;
    for (i += pool.before; i < pool.at + pool.n; i++) a.born[i] = last += reader.next();
  }
  a.died = list(a.n, (v, k) => (v ? v - 1 + Math.max(a.born[k], a.from) : Infinity));
  a.size = list(a.n);
  a.site = list(a.n, orNone);
  last = 0;
  a.slice = list(a.n, (v) => (v ? (last += unzigzag(v - 1)) - 1 : -1));
  a.stack = list(a.n, orNone);
  a.category = list(a.n);
}

// The depth of each slice: below all that still run.
function findDepths(columns, tracks) {
  const depth = new Uint8Array(columns.start.length),
    ends = new Float64Array(deepest + 1);
  let i = 0;
  for (const t of tracks) {
    let open = 0;
    t.depth = 0;
    for (let k = 0; k < t.n; k++, i++) {
      while (open && ends[open - 1] <= columns.start[i]) open--;
      const d = Math.min(open, deepest - 1);
      ends[d] = Math.max(columns.start[i] + columns.dur[i], open > d ? ends[d] : 0);
      open = d + 1;
      depth[i] = d;
      if (open > t.depth) t.depth = open;
    }
  }
  return depth;
}

// Slices of one row after the other; `link` follows them, and `order` says where each is that the bytes hold: by track, outer ones first.
function sortRows(columns, tracks, depth) {
  const n = depth.length,
    place = new Uint32Array(n),
    rows = [];
  let i = 0;
  for (const [index, t] of tracks.entries()) {
    const counts = new Uint32Array(t.depth + 1);
    for (let k = 0; k < t.n; k++) counts[depth[i + k] + 1]++;
    for (let d = 0; d < t.depth; d++) counts[d + 1] += counts[d];
    t.row = rows.length;
    for (let d = 0; d < t.depth; d++) rows.push({ track: index, depth: d, from: i + counts[d], to: i + counts[d + 1] });
    for (let k = 0; k < t.n; k++) place[i + k] = i + counts[depth[i + k]]++;
    i += t.n;
  }
  const out = {
    start: new Float64Array(n),
    dur: new Float64Array(n),
    label: new Uint32Array(n),
    note: new Uint32Array(n),
    link: new Int32Array(n),
    depth: new Uint8Array(n),
    row: new Uint32Array(n),
  };
  for (let k = 0; k < n; k++) {
    const p = place[k];
    out.start[p] = columns.start[k];
    out.dur[p] = columns.dur[k];
    out.label[p] = columns.label[k];
    out.note[p] = columns.note[k];
    out.link[p] = columns.link[k] < 0 ? -1 : place[columns.link[k]];
    out.depth[p] = depth[k];
  }
  for (const [r, row] of rows.entries()) out.row.fill(r, row.from, row.to);
  return { ...out, order: place, rows };
}

export function decodeTimeline(bytes) {
  const reader = varints(bytes, 0);
  const headBytes = reader.next();
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(reader.at, reader.at + headBytes)));
  reader.at += headBytes;
  const n = head.tracks.reduce((sum, t) => sum + t.n, 0);
  if (n > 5 * bytes.length) throw new Error("a timeline declares more slices than bytes");
  const columns = readColumns(reader, head.tracks, n);
  readCounters(reader, head.counters);
  if (head.cpu_samples?.n + head.cpu_samples?.stacks > bytes.length) throw new Error("a timeline declares more samples than bytes");
  const depth = findDepths(columns, head.tracks);
  readRows(reader, head.tracks, depth);
  if (head.cpu_samples) readSamples(reader, head.cpu_samples);
  const a = head.allocations;
  if (a?.n + a?.stacks + a?.points > bytes.length) throw new Error("a timeline declares more allocations than bytes");
  if (a) readAllocations(reader, a);
  if (reader.at > bytes.length) throw new Error("a timeline is cut");
  const timeline = { ...head, ...sortRows(columns, head.tracks, depth) };
  nameTracks(timeline);
  return timeline;
}

const noteWords = { gpu_user_annotation: "annotations", sync: "waits", overhead: "profiler", profiler_range: "counters", device_event: "events" };

// Tracks that are neither a stream nor a thread are called by what they hold; threads whose number is none have no name.
function nameTracks(t) {
  for (const track of t.tracks) {
    if (track.type === "host" && track.tid < 0 && !/^(?!thread -)./.test(track.name)) track.title = "unnamed thread";
    if (track.type !== "note") continue;
    const words = new Set();
    for (const { from, to } of t.rows.slice(track.row, track.row + track.depth))
      for (let i = from; i < to; i++) words.add(noteWords[t.kinds[t.label_kinds[t.label[i]]]] ?? "others");
    const place = track.name.trim().replace("Device", "GPU") || (/ann|wai/.test([...words]) && track.tid >= 0 && `stream ${track.tid}`);
    track.title = [...words].join(", ") + (place ? ` · ${place}` : "");
  }
}

function buffersOf(timeline) {
  const out = [];
  for (const key of ["start", "dur", "label", "note", "link", "depth", "row", "order"]) out.push(timeline[key].buffer);
  for (const c of timeline.counters) out.push(c.time.buffer, c.value.buffer);
  return out;
}

// What the worker does with a message: { packed: base64 or bytes, bytes: length unpacked }.
export async function answer(message, post) {
  try {
    const packed = typeof message.packed === "string" ? fromBase64(message.packed) : message.packed;
    const timeline = decodeTimeline(await unpack(packed, message.bytes));
    post({ id: message.id, timeline }, buffersOf(timeline));
  } catch (error) {
    post({ id: message.id, error: String(error.message ?? error) }, []);
  }
}
