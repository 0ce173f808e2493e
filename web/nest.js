// SPDX-License-Identifier: Apache-2.0
// nest.js - which slices of a thread lie in which, and whose each instant is: the rule of src/trace/nest.c, which says why.

import { rounding } from "./timeline_model.js";

const mostCrossed = 256;

const isShorter = (a, b) => a.dur < b.dur || (a.dur === b.dur && a.at > b.at);

// Slices that are open, by their ends, the last to end first; each knows the shortest of itself and those before it.
class Open {
  constructor() {
    this.list = [];
    this.now = -Infinity;
  }

  shortest() {
    return this.list[this.list.at(-1).shortest];
  }

  put(x, at) {
    const { list } = this;
    list.splice(at, 0, x);
    for (let k = at; k < list.length; k++) {
      const before = k ? list[k - 1].shortest : 0;
      list[k].shortest = k === 0 || isShorter(list[k], list[before]) ? k : before;
    }
  }

  // The slice that contains x; `at` is x's place.
  parentOf(x, at) {
    const { list } = this;
    let parent = at ? list[list[at - 1].shortest] : null;
    for (let k = at; k < list.length && x.end - list[k].end <= rounding; k++)
      if (x.end - list[k].end <= list[k].end - x.start && x.dur <= list[k].dur && (!parent || isShorter(list[k], parent))) parent = list[k];
    return parent;
  }
}

// Parents of the slices of one thread, which come by start and the longer one first, and what of [from, to) is their own time.
export function nestThread(t, slices, parents, self, from = -Infinity, to = Infinity) {
  const open = new Open(),
    { list } = open;
  const pass = (time) => {
    const ns = Math.min(time, to) - Math.max(open.now, from);
    if (list.length && self && ns > 0) self[open.shortest().i] += ns;
    open.now = Math.max(open.now, time);
  };
  const closeUntil = (time) => {
    while (list.length && list.at(-1).end <= time) {
      pass(list.at(-1).end);
      list.pop();
    }
    pass(time);
  };
  slices.forEach((i, order) => {
    const x = { i, start: t.start[i], dur: t.dur[i], end: t.start[i] + t.dur[i], at: order, shortest: 0 };
    closeUntil(x.start);
    let at = list.length;
    while (at && list[at - 1].end < x.end) at--;
    parents[i] = open.parentOf(x, at)?.i ?? -1;
    if (list.length - at > mostCrossed) list.length = at;
    open.put(x, at);
  });
  closeUntil(Infinity);
}
