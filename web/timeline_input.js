// SPDX-License-Identifier: Apache-2.0
// timeline_input.js - what keys, wheel, mouse and fingers do to the timeline.

import { rulerHeight } from "./timeline_draw.js";

// For the list below the timeline.
export const timelineKeys = [
  ["w s", "zoom in, out"],
  ["a d", "left, right"],
  ["drag", "move"],
  ["shift + drag", "select a time range"],
  ["ctrl + wheel", "zoom"],
  ["wheel", "tracks up, down; the page where all fit"],
  ["arrows", "next slice, parent, child"],
  ["f", "zoom to the selection"],
  ["0", "everything"],
  ["/", "search"],
  ["n p", "next, previous match"],
  ["m", "select the slice's time range"],
  ["shift + click", "measure from the chosen slice"],
  ["g", "select the next GPU step"],
  ["b", "set or take away a mark"],
  ["j", "to the next mark"],
  ["Esc", "let go"],
];

export class TimelineInput {
  constructor(timeline) {
    const { canvas } = timeline;

    this.timeline = timeline;
    canvas.addEventListener("keydown", (e) => this.onKey(e));
    // letters work wherever the focus is, unless somebody types
    document.addEventListener("keydown", (e) => {
      const at = document.activeElement;
      if (timeline.section.hidden || at === canvas || e.key.length > 1 || e.key === " ") return;
      if (at === document.body || at?.id === "main") this.onKey(e);
    });
    canvas.addEventListener("wheel", (e) => this.onWheel(e), { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.onDown(e));
    canvas.addEventListener("pointermove", (e) => this.onMove(e));
    canvas.addEventListener("pointerup", (e) => this.onUp(e));
    canvas.addEventListener("pointercancel", (e) => this.pointers.delete(e.pointerId));
    canvas.addEventListener("pointerleave", () => (this.timeline.tip.hidden = true));
    canvas.addEventListener("dblclick", () => this.timeline.fillWith());
    this.pointers = new Map();
    const drag = (e) =>
      e.buttons &&
      this.timeline.moveTo(
        this.timeline.span[0] +
          ((e.offsetX - this.timeline.view.left) / (this.timeline.map.clientWidth - this.timeline.view.left)) *
            (this.timeline.span[1] - this.timeline.span[0]),
      );
    this.timeline.map.addEventListener("pointerdown", (e) => {
      this.timeline.map.setPointerCapture(e.pointerId);
      drag(e);
    });
    this.timeline.map.addEventListener("pointermove", drag);
    new ResizeObserver(() => this.timeline.redraw()).observe(canvas);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      w: () => this.timeline.zoom(0.6),
      s: () => this.timeline.zoom(1 / 0.6),
      a: () => this.timeline.pan(-0.2),
      d: () => this.timeline.pan(0.2),
      "+": () => this.timeline.zoom(0.6),
      "-": () => this.timeline.zoom(1 / 0.6),
      f: () => this.timeline.fillWith(),
      0: () => this.timeline.fit(),
      "/": () => this.timeline.find.focus(),
      n: () => this.timeline.step(1),
      p: () => this.timeline.step(-1),
      m: () => this.timeline.chooseSelected(),
      g: () => this.timeline.nextGpuStep(),
      b: () => this.timeline.bookmark(),
      j: () => this.timeline.nextBookmark(),
      Escape: () => this.timeline.letGo(),
      ArrowRight: () => this.timeline.walk(1),
      ArrowLeft: () => this.timeline.walk(-1),
      ArrowUp: () => this.timeline.climb(-1),
      ArrowDown: () => this.timeline.climb(1),
      Enter: () => this.timeline.fillWith(),
      PageDown: () => this.timeline.scroll(this.timeline.view.height / 2),
      PageUp: () => this.timeline.scroll(-this.timeline.view.height / 2),
      Home: () => this.timeline.scroll(-1e9),
      End: () => this.timeline.scroll(1e9),
    };
    const f = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!f || !this.timeline.model.ranks.length) return;
    f();
    event.preventDefault();
  }

  onWheel(event) {
    const isAlong = event.ctrlKey || event.metaKey || event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!isAlong) {
      // the page moves where the tracks have nowhere to go
      if (!this.timeline.allFit && this.timeline.scroll(event.deltaY)) event.preventDefault();
      return;
    }
    event.preventDefault();
    if (event.ctrlKey || event.metaKey)
      this.timeline.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 80), this.timeline.timeAt(event.offsetX));
    else this.timeline.pan((event.deltaX || event.deltaY) / this.timeline.view.width);
  }

  onDown(event) {
    this.timeline.canvas.setPointerCapture(event.pointerId);
    this.timeline.canvas.focus({ preventScroll: true });
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.press = {
      x: event.offsetX,
      y: event.offsetY,
      isMoved: false,
      range: event.shiftKey || event.offsetY < rulerHeight,
      time: this.timeline.timeAt(event.offsetX),
    };
  }

  onMove(event) {
    const last = this.pointers.get(event.pointerId),
      x = event.offsetX,
      y = event.offsetY;
    if (!last) return this.timeline.showTip(x, y);
    if (this.pointers.size === 2) this.pinch(event, last);
    else if (Math.abs(x - this.press.x) + Math.abs(y - this.press.y) > 4 || this.press.isMoved) {
      this.press.isMoved = true;
      if (this.press.range) {
        this.timeline.range = [
          Math.min(this.press.time, this.timeline.timeAt(x)),
          Math.max(this.press.time, this.timeline.timeAt(x)),
        ];
        this.timeline.redraw();
      } else {
        this.timeline.setView(
          this.timeline.view.from - (x - last.x) * this.timeline.view.pixel,
          this.timeline.view.to - (x - last.x) * this.timeline.view.pixel,
        );
        if (!this.timeline.allFit) this.timeline.scroll(last.y - y);
      }
    }
    this.pointers.set(event.pointerId, { x, y });
    return undefined;
  }

  pinch(event, last) {
    const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
    const before = Math.max(10, Math.abs(last.x - other.x)),
      after = Math.max(10, Math.abs(event.offsetX - other.x));
    this.press.isMoved = true;
    this.timeline.zoom(before / after, this.timeline.timeAt((event.offsetX + other.x) / 2));
  }

  onUp(event) {
    this.pointers.delete(event.pointerId);
    if (this.press.isMoved && this.press.range && this.timeline.range) return this.timeline.choose(...this.timeline.range);
    if (this.press.isMoved || this.pointers.size) return undefined;
    const hit = this.timeline.pick(event.offsetX, event.offsetY);
    if (!hit) return undefined;
    if (event.offsetX < this.timeline.view.left) return this.timeline.fold(hit.lane);
    if (event.shiftKey && this.timeline.measure(hit)) return undefined;
    if (hit.index >= 0) return this.timeline.select(hit.entry, hit.index);
    if (hit.step) return this.timeline.choose(hit.step.start + hit.entry.shift, hit.step.end + hit.entry.shift);
    return this.timeline.letGo();
  }
}
