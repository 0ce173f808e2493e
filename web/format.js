// SPDX-License-Identifier: Apache-2.0
// format.js - numbers for people, in the words that the text report uses.

export const nothing = "–";

export function time(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return nothing;
  const size = Math.abs(ns);
  if (size < 999.5) return `${Math.round(ns)} ns`;
  const [unit, by] = size < 999950 ? ["µs", 1e3] : size < 999.95e6 ? ["ms", 1e6] : ["s", 1e9];
  return `${three(ns / by)} ${unit}`;
}

// Three or four digits.
function three(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : 1);
}

export function bytes(n) {
  if (n === null || n === undefined) return nothing;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let size = Math.abs(n),
    k = 0;
  while (size >= 999.5 && k < units.length - 1) {
    size /= 1000;
    k++;
  }
  return `${n < 0 ? "-" : ""}${k ? (size < 10 ? size.toFixed(2) : size < 100 ? size.toFixed(1) : size.toFixed(0)) : size} ${units[k]}`;
}

export function count(n) {
  return n === null || n === undefined ? nothing : String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function percent(p) {
  return p === null || p === undefined || Number.isNaN(p) ? nothing : p.toFixed(1);
}

export function cell(type, value) {
  if (value === null || value === undefined) return nothing;
  switch (type) {
    case "ns":
      return time(value);
    case "bytes":
      return bytes(value);
    case "count":
      return count(value);
    case "id":
      return String(value);
    case "percent":
      return percent(value);
    case "bool":
      return value ? "yes" : "no";
    case "number":
      // a zero that is none would be read as one
      if (value !== 0 && Math.abs(value) < 0.005) return value > 0 ? "<0.01" : ">-0.01";
      return Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0);
    default:
      return String(value);
  }
}

// What people read for a value of a column whose values are words of programs.
export const asRead = (column, value) => column?.words?.[value] ?? value;

// What people call a column; in its table no other one is called so.
export const called = (column) => column.name || column.head || column.key;

// "1.234567 ms" to compare what lies near each other on an axis whose pieces are `piece` ns long.
export function instant(ns, piece) {
  const size = Math.max(Math.abs(ns), piece);
  const [unit, by] = size < 1e3 ? ["ns", 1] : size < 1e6 ? ["µs", 1e3] : size < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(piece / by) - 1e-9)));
  return `${(ns / by).toFixed(decimals)} ${unit}`;
}
