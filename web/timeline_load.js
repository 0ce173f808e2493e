// SPDX-License-Identifier: Apache-2.0
// timeline_load.js - timelines of ranks, decoded when somebody looks at them; from the page, or from the program that serves it.

import { answer } from "./decode.js";
import { ask, isServed } from "./served.js";

let worker,
  next = 0;
const waiting = new Map();

// Slower, but there.
const noWorker = { postMessage: (message) => answer(message, (reply) => settle(reply)) };

function startWorker() {
  // workerSource becomes the text of decode.js and what it imports; scripts/bundle writes it
  const url = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
  try {
    worker = new Worker(url);
    worker.onmessage = (event) => settle(event.data);
    worker.onerror = () => {
      // a browser may say only now that it runs none
      worker.terminate();
      worker = noWorker;
      for (const { message } of [...waiting.values()]) worker.postMessage(message);
    };
  } catch {
    worker = noWorker;
  }
  return worker;
}

function settle(reply) {
  const { resolve, reject } = waiting.get(reply.id);
  waiting.delete(reply.id);
  if (reply.error) reject(new Error(reply.error));
  else resolve(reply.timeline);
}

function decode(packed, bytes) {
  const id = next++;
  return new Promise((resolve, reject) => {
    const message = { id, packed, bytes };
    waiting.set(id, { resolve, reject, message });
    (worker ?? startWorker()).postMessage(message);
  });
}

function blocks() {
  return [...document.querySelectorAll("script.data-timeline")];
}

// Indices of the ranks that have a timeline, of `ranks` ones.
export function drawnRanks(ranks) {
  return isServed() ? Array.from({ length: ranks }, (_, i) => i) : blocks().map((b) => Number(b.dataset.rank));
}

// Is more detail to be had for a part?
export const canRefine = isServed;

const loaded = new Map();

export function loadTimeline(rank) {
  if (!loaded.has(rank)) {
    const block = blocks().find((b) => Number(b.dataset.rank) === rank);
    loaded.set(
      rank,
      block
        ? decode(block.textContent, Number(block.dataset.bytes)).then((t) => {
            block.textContent = ""; // half of the page's memory
            return t;
          })
        : fetchPart(rank, 0, 0, 0),
    );
  }
  return loaded.get(rank);
}

const whole = new Map();

// All slices of a rank that a page would hold, where the timeline may have only those that are seen.
export async function loadSlices(rank) {
  const seen = await loadTimeline(rank);
  if (!(seen.least > 0)) return seen;
  if (!whole.has(rank)) whole.set(rank, decodeAnswer(await ask("timeline", { rank, all: 1 })));
  return whole.get(rank);
}

const decodeAnswer = async (response) =>
  decode(new Uint8Array(await response.arrayBuffer()), Number(response.headers.get("x-unpacked-bytes")));

// A part of a rank's time in as much detail as `pixels` show; all of it when to <= from.
export async function fetchPart(rank, from, to, pixels) {
  const response = await ask("timeline", { rank, from: Math.floor(from), to: Math.ceil(to), px: pixels });
  return decodeAnswer(response);
}
