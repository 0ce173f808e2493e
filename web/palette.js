// SPDX-License-Identifier: Apache-2.0
// palette.js - one colour for each kind of work, from the palette of Okabe and Ito, which the colour-blind can tell apart.

const classes = {
  cpu_op: "--c-op",
  python_function: "--c-python",
  user_annotation: "--c-user",
  runtime: "--c-call",
  driver: "--c-call",
  os_call: "--c-data",
  mpi: "--c-comm",
  cpu_wait: "--c-idle",
  overhead: "--c-overhead",
  kernel: "--c-compute",
  collective: "--c-comm",
  memcpy: "--c-copy",
  memset: "--c-set",
  sync: "--c-idle",
  gpu_user_annotation: "--c-user",
  device_event: "--c-idle",
  profiler_range: "--c-idle",
  openmp: "--c-user",
  openacc: "--c-user",
  span: "--c-idle",
  other: "--c-idle",
};

export const kindWords = {
  cpu_op: "operator",
  python_function: "Python",
  module: "module",
  function: "function",
  user_annotation: "annotation",
  runtime: "runtime call",
  driver: "driver call",
  os_call: "system call",
  mpi: "MPI",
  cpu_wait: "no processor",
  overhead: "profiler",
  kernel: "kernel",
  collective: "communication",
  memcpy: "copy",
  memset: "set",
  sync: "wait",
  gpu_user_annotation: "annotation",
  device_event: "event",
  profiler_range: "counters",
  openmp: "OpenMP",
  openacc: "OpenACC",
  span: "capture",
  other: "other",
};

// Names of these kinds are told apart by shades of the kind's colour.
const shaded = ["kernel", "cpu_op", "python_function", "user_annotation", "runtime", "driver", "os_call", "memcpy"];
export const shadeCount = 6;

// The colour turned a little, and darker or lighter: away from the text on it, so that this stays readable.
function shadesOfColor(hex, isDark) {
  const [r, g, b] = [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255),
    most = Math.max(r, g, b),
    least = Math.min(r, g, b),
    light = (most + least) / 2,
    range = most - least;
  const turn = range === 0 ? 0 : most === r ? ((g - b) / range + 6) % 6 : most === g ? (b - r) / range + 2 : (r - g) / range + 4,
    full = range === 0 ? 0 : range / (1 - Math.abs(2 * light - 1));
  return Array.from({ length: shadeCount }, (_, k) => {
    const part = Math.floor(k / 3) * 0.26;
    return `hsl(${60 * turn + ((k % 3) - 1) * 7} ${100 * full}% ${100 * (isDark ? light + (1 - light) * part : light * (1 - part))}%)`;
  });
}

let colors = {};

function read() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  colors = { kinds: {} };
  for (const [kind, name] of Object.entries(classes)) colors.kinds[kind] = value(name);
  for (const name of ["text", "soft", "line", "back", "panel", "accent", "focus", "on-color"]) colors[name] = value("--" + name);
  const isDark = style.colorScheme === "dark";
  colors.shades = Object.fromEntries(shaded.map((kind) => [kind, shadesOfColor(colors.kinds[kind], isDark)]));
}

// The theme's colours as they are now.
export function palette() {
  if (!colors.kinds) read();
  return colors;
}

const listeners = new Set();

export function onTheme(f) {
  listeners.add(f);
}

export function themeChanged() {
  read();
  for (const f of listeners) f();
}

// Dark to light, as good for the colour-blind and in grey: the stops of cividis.
const heat = [
  [0, 34, 78],
  [48, 71, 107],
  [87, 93, 109],
  [124, 123, 120],
  [166, 157, 117],
  [210, 193, 98],
  [254, 232, 56],
];

export function heatColor(share) {
  const x = Math.min(1, Math.max(0, share)) * (heat.length - 1);
  const i = Math.min(heat.length - 2, Math.floor(x));
  const mixed = heat[i].map((c, k) => Math.round(c + (heat[i + 1][k] - c) * (x - i)));
  return `rgb(${mixed})`;
}
