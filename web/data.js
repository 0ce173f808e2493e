// SPDX-License-Identifier: Apache-2.0
// data.js - from the page's blocks to bytes: base64, then gzip, and never more than the block said it would be.

const mostBytes = 2 ** 31;

export function fromBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

// Refuses what unpacks to more than `expected` bytes: a page that was changed must not fill the memory.
export async function unpack(packed, expected) {
  if (!(expected >= 0 && expected <= mostBytes)) throw new Error("a data block of the page declares too large a size");
  const out = new Uint8Array(expected);
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  let n = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (n + value.length > expected) {
      reader.cancel();
      throw new Error("a data block of the page is larger than declared");
    }
    out.set(value, n);
    n += value.length;
  }
  if (n !== expected) throw new Error("a data block of the page is cut");
  return out;
}

export async function readJson(id) {
  const block = document.getElementById(id);
  const bytes = await unpack(fromBase64(block.textContent), Number(block.dataset.bytes));
  return JSON.parse(new TextDecoder().decode(bytes));
}
