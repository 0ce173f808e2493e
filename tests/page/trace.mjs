// SPDX-License-Identifier: Apache-2.0
// trace.mjs - reads a trace without the program: exact times, and what its slices are.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

// Microseconds in decimal text as ns, rounded to the nearest.
export function ns(text) {
  const found = /^(-?)(\d+)(?:\.(\d*))?$/.exec(text);
  if (!found) return BigInt(Math.round(Number(text) * 1000));
  const [, sign, whole, fraction = ""] = found;
  const digits = fraction.padEnd(4, "0");
  const value = BigInt(whole) * 1000n + BigInt(digits.slice(0, 3)) + (digits[3] >= "5" ? 1n : 0n);
  return sign ? -value : value;
}

const communication = /nccl|rccl|cross_device_reduce/i;

export const isDevice = (e) => /^(kernel|gpu_memcpy|gpu_memset|Kernel|Memcpy|Memset)$/.test(e.cat);
export const isCollective = (e) =>
  /^kernel$/i.test(e.cat) && (communication.test(e.name) || e.args?.["Collective name"] !== undefined);

// Complete events in the order of the file: { start, dur, end, name, cat, pid, tid, args }, in ns since the first of them.
const read = new Map();

export function readSlices(file) {
  if (!read.has(file)) read.set(file, readAll(file));
  return read.get(file);
}

function readAll(file) {
  const raw = readFileSync(file);
  const text = (raw[0] === 0x1f ? gunzipSync(raw) : raw)
    .toString("utf8")
    .replace(/"(ts|dur)"\s*:\s*(-?[\d.][\d.eE+-]*)/g, '"$1":"$2"');
  const document = JSON.parse(text),
    events = Array.isArray(document) ? document : document.traceEvents;
  const all = events.filter((e) => e.ph === "X"),
    slices = all.filter((e) => e.cat !== "Trace"); // that one is the capture itself
  for (const e of all) {
    e.at = ns(e.ts);
    e.dur = Math.max(0, Number(ns(e.dur ?? "0")));
  }
  const first = all.reduce((least, e) => (e.at < least ? e.at : least), all[0].at);
  for (const e of slices) {
    e.start = Number(e.at - first);
    e.end = e.start + e.dur;
  }
  return { slices, first: first + BigInt(document.baseTimeNanoseconds ?? 0), events };
}

// How much of each name lies between two instants.
export function sumUp(slices, from, to) {
  const sums = new Map();
  for (const e of slices) {
    if (!(e.end > from && e.start < to)) continue;
    const sum = sums.get(e.name) ?? { count: 0, total: 0 };
    sum.count++;
    sum.total += Math.min(e.end, to) - Math.max(e.start, from);
    sums.set(e.name, sum);
  }
  return sums;
}

// Two lists have the same members; says the first that differs, which takes node's own assertion minutes.
export function assertSame(ours, expected, what) {
  ours.sort();
  expected.sort();
  const at = ours.findIndex((x, i) => x !== expected[i]);
  assert.ok(at < 0, `${what}: ${ours[at]} where the trace has ${expected[at]}`);
  assert.equal(ours.length, expected.length, what);
}
