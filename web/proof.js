// SPDX-License-Identifier: Apache-2.0
// proof.js - which slice, or which range of time, shows what a link says: of the replay where the page has one, else the longest.

import { originOf, theReport, theWords, wordsOf } from "./rows.js";
import { kindOf, labelOf, sliceAt } from "./timeline_model.js";

// Slices that a class of time consists of, for ranks of which no replay says which is the largest.
const provingKinds = {
  compute: ["kernel"],
  communication: ["collective"],
  host_communication: ["mpi"],
  copy: ["memcpy", "memset"],
  operator: ["cpu_op"],
  python: ["python_function"],
  launch_call: ["runtime", "driver"],
  sync_call: ["runtime", "driver"],
  memory_call: ["runtime", "driver"],
  other_call: ["runtime", "driver"],
  io: ["os_call"],
  lock: ["os_call"],
  sleep: ["os_call"],
  wait: ["os_call"],
};
const provingNames = { data_loader: /DataLoader|dataloader|data_loader/, python_gc: /\bgc\b|garbage/i };

const measuredRows = (t) => t.rows.filter((row) => t.tracks[row.track].scenario === undefined);

// The index of the longest slice for which `is` holds; -1.
function longest(t, is) {
  let best = -1;
  for (const row of measuredRows(t))
    for (let i = row.from; i < row.to; i++) if ((best < 0 || t.dur[i] > t.dur[best]) && is(i)) best = i;
  return best;
}

// Device slices of some kinds, as [from, to, index], by start.
function pieces(t, kinds) {
  const out = [];
  for (const row of measuredRows(t)) {
    if (t.tracks[row.track].type !== "stream") continue;
    for (let i = row.from; i < row.to; i++)
      if (kinds.includes(kindOf(t, i))) out.push([t.start[i], t.start[i] + t.dur[i], i]);
  }
  return out.sort((a, b) => a[0] - b[0]);
}

// The slice of `kinds` that runs longest while nothing of `over` does.
function mostExposed(t, kinds, over) {
  const others = pieces(t, over);
  let k = 0,
    end = -Infinity, // until here something of `over` has run
    best = -1,
    most = 0;
  for (const [from, to, i] of pieces(t, kinds)) {
    let bare = 0,
      at = from;
    while (k < others.length && others[k][1] <= from) end = Math.max(end, others[k++][1]);
    at = Math.max(at, Math.min(end, to));
    for (let j = k; j < others.length && others[j][0] < to; j++) {
      bare += Math.max(0, others[j][0] - at);
      at = Math.max(at, others[j][1]);
    }
    bare += Math.max(0, to - at);
    if (bare > most) {
      most = bare;
      best = i;
    }
  }
  return best;
}

// The longest time without work on the GPU, as the report measured it.
function longestGap(rank) {
  const gaps = theReport().ranks[rank].idle?.gaps ?? [],
    inSteps = gaps.filter((g) => g.step !== null);
  const gap = (inSteps.length ? inSteps : gaps).reduce((a, b) => (a && a.duration_ns >= b.duration_ns ? a : b), null);
  return gap && { from: gap.start_ns - originOf(rank), to: gap.start_ns - originOf(rank) + gap.duration_ns, cause: gap.cause };
}

export function sliceOf(t, place) {
  for (const row of measuredRows(t)) {
    if (t.tracks[row.track].id !== place.track) continue;
    const i = sliceAt(t, row, place.start, 0);
    if (i >= 0 && t.start[i] === place.start && t.dur[i] === place.dur) return i;
  }
  return -1;
}

function byKind(t, of) {
  const kinds = provingKinds[of],
    names = provingNames[of];
  return kinds
    ? longest(t, (i) => kinds.includes(kindOf(t, i)))
    : names
      ? longest(t, (i) => names.test(labelOf(t, i)) && t.tracks[t.rows[t.row[i]].track].type === "host")
      : -1;
}

// What the whole capture of a rank shows of `of`: a finding, a class of time, or a part of the GPU's time.
// { index, words } of a slice; { place, words } of one that is too small to be drawn; { from, to, words }; null.
export function proofOf(t, rank, of) {
  const finding = theReport().findings.find((f) => f.id === of),
    made = t.proofs?.find((p) => p.finding === of) ?? t.proofs?.find((p) => p.class === of);
  const known = made && sliceOf(t, made),
    title = `“${finding?.title ?? theWords().classes[of] ?? of.replaceAll("_", " ")}”`;
  if (made?.finding) return { index: known, place: made, words: `Evidence for ${title}: of all that the fix shortens, this slice gains most.` };
  if (made) return { index: known, place: made, words: `The largest piece of ${title} in the steps that were replayed.` };
  if (of === "idle") {
    const gap = longestGap(rank);
    return gap && { ...gap, words: `The longest time in which the GPU has no work${gap.cause ? `; mostly: ${wordsOf("idle", "gaps", "cause", gap.cause)}` : ""}.` };
  }
  if (of === "straggler") {
    const late = theReport().stragglers.find((s) => s.rank === theReport().ranks[rank].rank);
    if (late?.cause) return proofOf(t, rank, late.cause);
  }
  const [kinds, over, what, than] = /^(exposed_comm|exposed-communication|poor-overlap|comm-bandwidth|comm-latency|straggler)$/.test(of)
    ? [["collective"], ["kernel"], "communication", "compute"]
    : /^(exposed_copy|copy-bound)$/.test(of)
      ? [["memcpy", "memset"], ["kernel", "collective"], "copy", "compute or communication"]
      : [];
  if (kinds) {
    const index = mostExposed(t, kinds, over);
    return index < 0 ? null : { index, words: `The ${what} that runs longest without ${than}.` };
  }
  if (of === "pipeline-bubble") return proofOf(t, rank, "idle");
  const index = byKind(t, of);
  return index < 0 ? null : { index, words: `The longest ${title} of this rank.` };
}
