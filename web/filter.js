// SPDX-License-Identifier: Apache-2.0
// filter.js - the language of the tables' search fields: name ~ gemm and dur > 1ms.
//
//     filter      comparisons with "and", "or", "not" and brackets; "and" binds closer than "or"
//     comparison  column operator value
//     column      its heading, or its key with or without the unit; "dur": the first time of the table
//     operator    ~ holds, !~ holds not (capitals are the same as small letters), = != < <= > >=
//     value       a word, a text in quotes, a number with a unit: ns us µs ms s, B kB MB GB KiB MiB GiB, %, k M
//
// Anything else is looked for as it stands: names of kernels hold "<" and ">" and must be found when they are pasted.

import { called, asRead } from "./format.js";

const timeUnits = { ns: 1, us: 1e3, µs: 1e3, μs: 1e3, ms: 1e6, s: 1e9 },
  byteUnits = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 },
  countUnits = { k: 1e3, m: 1e6, "%": 1 };

export const filterHelp =
  "text to look for, or a filter: name ~ gemm and dur > 1ms. Operators ~ !~ = != < <= > >=, and, or, not, brackets; " +
  "texts in quotes; units ns µs ms s, B kB MB GB, %";

// What is wrong, and where: [at, end) of the text.
export class FilterError extends Error {
  constructor(message, at, end) {
    super(message);
    this.at = at;
    this.end = end;
  }
}

const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}%]+/gu, "_").replace(/^_+|_+$/g, "");

// Every word by which a column may be called.
function columnsByWord(columns) {
  const by = new Map();
  for (const c of columns) for (const word of [c.key, c.name ?? "", c.head ?? "", c.key.replace(/_(ns|bytes|pct)$/, "")]) if (word && !by.has(plain(word))) by.set(plain(word), c);
  const time = columns.find((c) => c.type === "ns" && /dur|total/.test(c.key)) ?? columns.find((c) => c.type === "ns");
  if (time && !by.has("dur")) by.set("dur", time);
  return by;
}

function tokensOf(text) {
  const out = [],
    pattern = /\s*(?:("(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|([()])|(!?~|[<>]=?|!?=)|([^\s()<>=!~"']+))/gy;
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex,
      found = pattern.exec(text);
    if (!found) {
      if (!text.slice(at).trim()) break;
      const start = at + text.slice(at).search(/\S/);
      throw new FilterError(`“${text[start]}” means nothing here`, start, start + 1);
    }
    const [whole, quoted, bracket, operator, word] = found,
      end = pattern.lastIndex,
      start = end - whole.trimStart().length;
    if (quoted && (quoted.length < 2 || quoted[0] !== quoted[quoted.length - 1])) throw new FilterError("this text has no closing quote", start, end);
    out.push({
      type: quoted ? "text" : bracket ? bracket : operator ? "operator" : "word",
      text: quoted ? quoted.slice(1, -1).replace(/\\(.)/g, "$1") : (bracket ?? operator ?? word),
      at: start,
      end,
    });
  }
  return out;
}

// A filter, or a text to look for?
export function isFilter(text, columns) {
  if (/\s(!?~|[<>]=?|!?=)\s/.test(text) || /^\s*not\s+\S+\s*(!?~|[<>]=?|!?=)/i.test(text)) return true;
  const first = /^[\s(]*([^\s()<>=!~"']+)\s*(!?~|[<>]=?|!?=)/.exec(text);
  return Boolean(first && columnsByWord(columns).has(plain(first[1])));
}

function nearest(word, by) {
  const known = [...by.keys()].find((k) => k.startsWith(word.slice(0, 3)));
  return known ? `; did you mean ${known}?` : "";
}

// A number in the unit of the column.
function numberOf(token, column) {
  const found = /^([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-zµμ%]*)$/i.exec(token.text),
    units = column.type === "ns" ? timeUnits : column.type === "bytes" ? byteUnits : countUnits,
    say = { ns: "a time: ns, µs, ms or s", bytes: "a size: B, kB, MB, GB, KiB, MiB or GiB" }[column.type] ?? "a number";
  if (!found) throw new FilterError(`“${called(column)}” needs ${say}`, token.at, token.end);
  const unit = found[2].toLowerCase();
  if (unit && !Object.hasOwn(units, unit)) throw new FilterError(`“${called(column)}” is ${say}, not ${found[2]}`, token.at, token.end);
  return Number(found[1].replaceAll(",", "")) * (unit ? units[unit] : 1);
}

const comparisons = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

function comparison(column, operator, token) {
  const { key, type } = column,
    wanted = token.text.toLowerCase(),
    asText = (row) => String(asRead(column, row[key]) ?? "").toLowerCase();
  if (operator.text === "~") return (row) => asText(row).includes(wanted);
  if (operator.text === "!~") return (row) => !asText(row).includes(wanted);
  if (type === "bool") {
    if (!/^(yes|no|true|false)$/.test(wanted) || !/=$/.test(operator.text) || /[<>]/.test(operator.text))
      throw new FilterError(`“${called(column)}” is yes or no: use = or !=`, operator.at, token.end);
    const is = /^(yes|true)$/.test(wanted);
    return (row) => (Boolean(row[key]) === is) === (operator.text === "=");
  }
  const compare = comparisons[operator.text];
  if (type === "text") return (row) => compare(asText(row), wanted);
  const number = numberOf(token, column);
  // what was not measured is neither more nor less, and it is not that number
  return (row) => (row[key] === null || row[key] === undefined ? operator.text === "!=" : compare(row[key], number));
}

// A function of a row.  Throws FilterError.
export function parseFilter(text, columns) {
  const by = columnsByWord(columns),
    tokens = tokensOf(text);
  let k = 0;
  const here = () => tokens[k] ?? { type: "end", text: "the end", at: text.length, end: text.length + 1 },
    isWord = (word) => here().type === "word" && here().text.toLowerCase() === word;

  function one() {
    const first = here();
    if (isWord("not")) {
      k++;
      const inner = one();
      return (row) => !inner(row);
    }
    if (first.type === "(") {
      k++;
      const inner = any();
      if (here().type !== ")") throw new FilterError(`“)” is missing for this bracket`, first.at, first.end);
      k++;
      return inner;
    }
    if (first.type !== "word" && first.type !== "text") throw new FilterError(`a column is missing before ${first.type === "end" ? "the end" : `“${first.text}”`}`, first.at, first.end);
    k++;
    // a heading of several words may be written as it stands
    let name = plain(first.text),
      end = first.end;
    while (here().type === "word" && !by.has(name)) {
      name += `_${plain(here().text)}`;
      end = here().end;
      k++;
    }
    const column = by.get(name);
    if (!column) throw new FilterError(`no column “${text.slice(first.at, end)}” here${nearest(name, by)}`, first.at, end);
    const operator = here();
    if (operator.type !== "operator") throw new FilterError(`an operator is missing behind ${name}: ~ !~ = != < <= > >=`, operator.at, operator.end);
    k++;
    const value = here();
    if (value.type !== "word" && value.type !== "text") throw new FilterError(`a value is missing behind “${operator.text}”`, value.at, value.end);
    k++;
    if (value.type === "word" && /^[\d.,+-]+$/.test(value.text) && here().type === "word" && /^[a-zµμ%]{1,3}$/i.test(here().text) && !/^(and|or|not)$/i.test(here().text)) {
      value.text += here().text; // "1 ms"
      value.end = here().end;
      k++;
    }
    return comparison(column, operator, value);
  }

  function all() {
    const parts = [one()];
    while (isWord("and")) {
      k++;
      parts.push(one());
    }
    return parts.length === 1 ? parts[0] : (row) => parts.every((f) => f(row));
  }

  function any() {
    const parts = [all()];
    while (isWord("or")) {
      k++;
      parts.push(all());
    }
    return parts.length === 1 ? parts[0] : (row) => parts.some((f) => f(row));
  }

  const filter = any();
  if (k < tokens.length) throw new FilterError(`“and” or “or” is missing before “${here().text}”`, here().at, here().end);
  return filter;
}

// The rows that a text leaves; throws FilterError.
export function rowFilter(text, columns) {
  if (!text.trim()) return () => true;
  if (isFilter(text, columns)) return parseFilter(text, columns);
  const wanted = text.toLowerCase(),
    texts = columns.filter((c) => c.type === "text");
  return (row) => texts.some((c) => String(asRead(c, row[c.key]) ?? "").toLowerCase().includes(wanted));
}
