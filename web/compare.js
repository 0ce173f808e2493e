// SPDX-License-Identifier: Apache-2.0
// compare.js - two ranks, of one run or of two: what of them can be compared, and by how much it differs.
//
// A difference is told only of what both recorded alike: a recorder that costs the program more time makes everything longer, and
// what only one of them recorded is no difference of the runs.  Everything here is per step, else per call.

export const gpuClasses = [
  ["compute_ns", "compute", "c-compute", "compute"],
  ["exposed_comm_ns", "exposed communication", "c-comm", "exposed_comm"],
  ["exposed_copy_ns", "exposed copies", "c-copy", "exposed_copy"],
  ["idle_ns", "GPU idle", "c-idle", "idle"],
];

const lacks = (side, key) => side.rank.quality.not_captured.includes(key);
const hasGpuWork = (side) => side.rank.gpu.span_ns > 0;
const isLossy = (side) => side.rank.quality.lost > 0 || side.rank.quality.is_truncated;
const hasSteps = (side) => side.rank.steps.source !== "none" && side.rank.steps.counted > 0;

// Who of the two it holds for, alone; null: for both or neither.
function alone(a, b, is) {
  return is(a) === is(b) ? null : is(a) ? [a, b] : [b, a];
}

// What keeps parts of two sides from being compared, as sentences: of their steps, of what the host and what the GPU did, of sums (times
// of a call can still be), of names that only one has; and what to bear in mind.
export function obstacles(a, b) {
  const out = { steps: [], host: [], gpu: [], sums: [], names: [], notes: [] };
  const add = (parts, words) => parts.forEach((part) => out[part].push(words));
  const all = ["steps", "host", "gpu", "sums", "names"];
  let pair;
  if (a.rank.is_outline || b.rank.is_outline) {
    add(all, "of very many ranks this page holds only what compares all of them; report the two files alone");
    return out;
  }
  if (a.isBrief || b.isBrief)
    add(["host", "gpu", "names"], `of ${[a, b].filter((s) => s.isBrief).map((s) => s.name).join(" and ")} this page holds a few rows each; report the two files alone`);
  if (a.tool !== b.tool) add(all, `A was recorded by ${a.tool || "an unknown tool"}, B by ${b.tool || "an unknown tool"}: they cost different time and name things differently`);
  if ((pair = alone(a, b, hasGpuWork))) add(all, `${pair[0].name} has GPU work and ${pair[1].name} has none: either it ran without a GPU, or its GPU was not recorded`);
  if ((pair = alone(a, b, (s) => !lacks(s, "stacks"))))
    add(["steps", "host"], `${pair[0].name} was recorded with Python stacks and ${pair[1].name} without: recording them takes host time`);
  if ((pair = alone(a, b, (s) => !lacks(s, "host"))))
    add(["steps", "host", "names"], `only ${pair[0].name} has operators of the host: recording them takes host time`);
  const noSteps = [a, b].filter((s) => !hasSteps(s));
  if (noSteps.length) add(["steps", "sums"], `${noSteps.map((s) => s.name).join(" and ")} ${noSteps.length > 1 ? "have" : "has"} no complete step, and a capture may have any length`);
  else if (a.rank.steps.source !== b.rank.steps.source)
    add(["steps", "sums"], `the steps of A are ${a.rank.steps.what || a.rank.steps.source}, of B ${b.rank.steps.what || b.rank.steps.source}, which may hold different work`);
  const lossy = [a, b].filter(isLossy);
  if (lossy.length) add(["sums", "names"], `${lossy.map((s) => s.name).join(" and ")} ${lossy.length > 1 ? "are" : "is"} cut or lost events, so that sums are too small`);
  for (const [key, what] of [["shapes", "Input shapes"], ["memory", "Allocations"]])
    if ((pair = alone(a, b, (s) => !lacks(s, key)))) out.notes.push(`${what} were recorded in ${pair[0].name} alone, which takes some host time`);
  if (a.rank.device !== b.rank.device) out.notes.push(`A ran on ${a.rank.device || "no GPU"}, B on ${b.rank.device || "no GPU"}`);
  return out;
}

// The mean step of both, and whether it differs by more than the steps of each vary (two standard errors); null: nobody knows.
export function stepDifference(a, b) {
  const [x, y] = [a.rank.steps, b.rank.steps],
    diff = y.mean_ns - x.mean_ns;
  const error = Math.sqrt((x.stddev_ns ?? NaN) ** 2 / x.counted + (y.stddev_ns ?? NaN) ** 2 / y.counted);
  return { a: x.mean_ns, b: y.mean_ns, diff, ratio: x.mean_ns > 0 ? y.mean_ns / x.mean_ns : null, isClear: Number.isFinite(error) ? Math.abs(diff) > 2 * error : null };
}

// Classes of time that add up to a step, on both sides: [{ key, label, class, proof, a, b, diff }], without those that neither has.
export function classRows(a, b, classes, of) {
  return classes
    .map(([key, label, c, proof]) => ({ key, label, class: c, proof, a: of(a)?.[key] ?? 0, b: of(b)?.[key] ?? 0 }))
    .filter((row) => row.a > 0 || row.b > 0)
    .map((row) => ({ ...row, diff: row.b - row.a, ratio: row.a > 0 ? row.b / row.a : null }));
}

// Rows of the same name as one, by name.  Of a step: what a call takes, times the calls in a step that counts; for sums are of the whole
// capture.  Of a call: the mean.
function byName(rows, keys, isPerStep) {
  const out = new Map();
  for (const row of rows) {
    const weight = isPerStep ? (row.calls_per_step ?? 0) / row.calls : 1;
    if (!(row.calls > 0 && weight > 0)) continue;
    const sum = out.get(row.name) ?? { name: row.name, short_name: row.short_name, calls: 0, ...Object.fromEntries(keys.map((k) => [k, 0])) };
    for (const key of keys) sum[key] += (row[key] ?? 0) * weight;
    sum.calls += row.calls * weight;
    out.set(row.name, sum);
  }
  if (!isPerStep) for (const sum of out.values()) for (const key of keys) sum[key] /= sum.calls;
  return out;
}

// Rows of two tables joined by name, the largest difference first: { both, onlyA, onlyB }.  Of each key KEY there are
// a_KEY, b_KEY, diff_KEY and ratio_KEY: of a step, or of a call.
export function joinRows(rowsA, rowsB, keys, isPerStep) {
  const [x, y] = [byName(rowsA, keys, isPerStep), byName(rowsB, keys, isPerStep)],
    most = (row) => Math.max(...keys.map((key) => row[key])),
    only = (of, others) => [...of.values()].filter((row) => !others.has(row.name)).sort((p, q) => most(q) - most(p));
  const both = [];
  for (const p of x.values()) {
    const q = y.get(p.name);
    if (!q) continue;
    const row = { name: p.name, short_name: p.short_name, a_calls: p.calls, b_calls: q.calls, diff_calls: q.calls - p.calls };
    for (const key of keys) {
      row[`a_${key}`] = p[key];
      row[`b_${key}`] = q[key];
      row[`diff_${key}`] = q[key] - p[key];
      row[`ratio_${key}`] = p[key] > 0 ? q[key] / p[key] : null;
    }
    both.push(row);
  }
  const size = (row) => Math.max(...keys.map((key) => Math.abs(row[`diff_${key}`])));
  both.sort((p, q) => size(q) - size(p));
  return { both, onlyA: only(x, y), onlyB: only(y, x) };
}
