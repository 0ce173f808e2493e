// SPDX-License-Identifier: Apache-2.0
// rows.js - rows of a report's view with the words for their columns, for one rank.

import { asRead } from "./format.js";

let words, report;

export function setReport(newWords, newReport) {
  words = newWords;
  report = newReport;
}

export const theReport = () => report;
export const theWords = () => words;

export function view(word) {
  return words.views.find((v) => v.word === word);
}

// Into what a step is divided on the host's side: the key of a step's row, its words, its class of colour, what proves it.
export const roles = [
  ["kernel_ns", "kernels", "c-compute", "compute"],
  ["memcpy_ns", "copies", "c-copy", "copy"],
  ["memset_ns", "sets", "c-set"],
  ["communication_ns", "communication", "c-comm", "communication"],
  ["runtime_ns", "runtime calls", "c-call"],
  ["data_loader_ns", "data loader", "c-data", "data_loader"],
  ["cpu_exec_ns", "host work", "c-op", "operator"],
  ["other_ns", "nothing recorded", "c-idle"],
];

// What a row is called comes first; "note" of a step is no name.  As in src/render/page/table.c.
function namesFirst(columns) {
  const name = columns.find((c) => c.shown && ["name", "words", "title"].includes(c.key));
  return name ? [name, ...columns.filter((c) => c !== name)] : columns;
}

// { title, empty, columns, rows } of table number `index` of a view.
export function table(rank, word, index = 0) {
  const v = view(word),
    t = v.tables[index];
  const member = report.ranks[rank][v.key];
  return {
    title: t.title,
    empty: t.empty,
    columns: namesFirst(t.columns),
    rows: v.is_list ? member : member[t.key],
    word: index ? `${word}${index}` : word,
  };
}

// What people read for a value of a column, such as the cause of a gap.
export const wordsOf = (word, of, key, value) => asRead(view(word).tables.find((t) => t.key === of).columns.find((c) => c.key === key), value);

// [{ head, type, value }] that a view says beside its tables.
export function facts(rank, word) {
  const v = view(word),
    member = report.ranks[rank][v.key];
  return v.facts.filter((f) => f.head).map((f) => ({ ...f, value: member[f.key] }));
}

// The moment from which times on the page count: the first slice, as in the timeline; else the first step.
export function originOf(rank) {
  return words.origins[rank] ?? report.ranks[rank].steps.list[0]?.start_ns ?? 0;
}
