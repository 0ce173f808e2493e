// SPDX-License-Identifier: Apache-2.0
// dom.js - elements are made here and nowhere else; text goes in by textContent alone, so that no name becomes markup.

const invisible = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]/u;
const invisibleAll = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]/gu;

// A name with what nobody sees, and what turns the line around, written out.
export function clean(name, most = 2000) {
  const text = name.length > most ? name.slice(0, most) + "…" : name;
  return invisible.test(text) ? text.replace(invisibleAll, (c) => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0")) : text;
}

// el("td", { class: "t", onclick: f }, "text", child, …)
export function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  fill(node, properties, children);
  return node;
}

export function svg(tag, properties, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(node, properties, children);
  return node;
}

function fill(node, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    if (child instanceof Node) node.append(child);
    else appendText(node, clean(String(child)));
  }
}

// A number with its sign and its unit.  Cells never break; the others hold texts alone.
const quantity = /[−+±-]?\s?\d[\d.,]* (?:[nµm]?s|[kMGTP]?B|[KMG]iB|%|GB\/s|TFLOP\/s|W|k?J|kWh|MHz)(?![\p{L}\d])/gu,
  wholeTexts = ["td", "th", "option", "textarea", "code", "pre"];

// No line breaks between a number and its unit.
function appendText(node, text) {
  if (!/\d [^ ]/.test(text) || node.namespaceURI.endsWith("svg") || wholeTexts.includes(node.localName)) return void node.append(text);
  let at = 0;
  for (const { 0: found, index } of text.matchAll(quantity)) {
    const from = index + found.search(/\S/);
    node.append(text.slice(at, from), el("n-u"));
    at = index + found.length;
    node.lastChild.textContent = text.slice(from, at);
  }
  if (at < text.length) node.append(text.slice(at));
}

export function replace(node, ...children) {
  node.replaceChildren();
  fill(node, null, children.flat(Infinity).filter(Boolean));
  return node;
}

let announcer;
// For those who do not see the page.
export function announce(text) {
  announcer ??= document.body.appendChild(el("div", { class: "hidden", "aria-live": "polite" }));
  announcer.textContent = clean(text);
}

export async function copyText(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    const area = document.body.appendChild(el("textarea", { class: "hidden" })); // file:// in some browsers
    area.value = text;
    area.select();
    button.textContent = document.execCommand("copy") ? "copied" : "not allowed";
    area.remove();
    button.focus();
  }
  announce(button.textContent);
  setTimeout(() => (button.textContent = label), 1500);
}
