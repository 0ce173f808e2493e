// SPDX-License-Identifier: Apache-2.0
// program.mjs - runs the program under test, takes its page apart, and finds traces.

import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const program = resolve(root, process.env.HOLDUP ?? "build/holdup");
export const folder = join(root, "build/page-tests");
mkdirSync(folder, { recursive: true });

export function run(...words) {
  const done = spawnSync(program, words, { cwd: root, maxBuffer: 2 ** 30 });
  return { status: done.status, out: done.stdout, err: String(done.stderr) };
}

export function runJson(...words) {
  return JSON.parse(execFileSync(program, ["report", "-q", "--json", ...words], { cwd: root, maxBuffer: 2 ** 30 }));
}

let pages = 0;
const made = new Map();
process.on("exit", () => [...made.values()].forEach(({ file }) => rmSync(file, { force: true })));

// The page of traces: { file, url, html, words }, made once for the same words.
export function makePage(...words) {
  const key = words.join("\n");
  if (!made.has(key)) {
    const file = join(folder, `page-${process.pid}-${pages++}.html`);
    execFileSync(program, ["report", "-q", ...words, "--html", file], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
      maxBuffer: 2 ** 30,
    });
    made.set(key, openPage(file, words));
  }
  return made.get(key);
}

export function openPage(file, words = []) {
  return { file, url: pathToFileURL(file).href, html: readFileSync(file, "utf8"), words };
}

// A changed page beside the others.
export function writePage(name, html) {
  const file = join(folder, name);
  writeFileSync(file, html);
  return openPage(file);
}

const blockPattern = /<script type="application\/octet-stream"([^>]*)>([A-Za-z0-9+/=]*)<\/script>\n/g;

// The page without what it carries.
export const shellOf = (page) => page.html.replace(blockPattern, "");

// Its blocks: [{ id | rank, declared, slices, packedBytes, bytes }].
export function blocksOf(page) {
  page.blocks ??= [...page.html.matchAll(blockPattern)].map(([whole, attributes, text]) => {
    const value = (name) => new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1];
    const bytes = gunzipSync(Buffer.from(text, "base64"));
    return {
      whole,
      id: value("id"),
      rank: value("data-rank") === undefined ? undefined : Number(value("data-rank")),
      declared: Number(value("data-bytes")),
      slices: Number(value("data-slices")),
      packedBytes: text.length,
      bytes,
    };
  });
  return page.blocks;
}

export const jsonBlock = (page, id) =>
  JSON.parse(
    blocksOf(page)
      .find((b) => b.id === id)
      .bytes.toString(),
  );

// web/ as modules of node, which takes .js for something else where no package.json says otherwise.
async function loadWeb() {
  const copy = join(folder, `web-${process.pid}`);
  mkdirSync(copy, { recursive: true });
  process.on("exit", () => rmSync(copy, { recursive: true, force: true }));
  writeFileSync(join(copy, "package.json"), '{ "type": "module" }\n');
  for (const name of readdirSync(join(root, "web")))
    if (name.endsWith(".js")) copyFileSync(join(root, "web", name), join(copy, name));
  const module = (name) => import(pathToFileURL(join(copy, name)).href);
  const all = ["decode.js", "timeline_model.js", "timeline_draw.js", "flame_tree.js", "groups.js", "filter.js", "compare.js"];
  return Object.assign({}, ...(await Promise.all(all.map(module))));
}
export const web = await loadWeb();

// What web/decode.js makes of the block of a rank.
export function timelineOf(page, rank) {
  return web.decodeTimeline(new Uint8Array(blocksOf(page).find((b) => b.rank === rank).bytes));
}

// Where the lanes of one rank stand: the page's own model, so that a test knows where to click.
export function layoutOf(timeline, { folded = [], scenario = null } = {}) {
  const model = new web.Model();
  model.add(0, "rank 0", timeline);
  model.folded = new Set(folded);
  model.scenario = scenario;
  return { ...model.layout(), span: model.span() };
}

const shared = resolve(root, "../shared/traces/kineto");
const traces = join(root, "examples/training/traces");

export const examples = {
  "two ranks without a GPU": { path: join(traces, "slow_loader"), file: join(traces, "slow_loader/rank0.pt.trace.json.gz") },
  "Python frames": { path: join(traces, "python_stacks/rank0.pt.trace.json.gz") },
};

// Traces of other people's runs, where this machine has them.
export const real = Object.fromEntries(
  Object.entries({
    small: "hta-amd/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    large: "tl-owlv2/h100.json.gz",
    memory: "kineto-tb-samples/resnet50_autograd_api_num_workers_4-worker0.pt.trace.json.gz",
    "CUDA graphs": "tl-vllm-decode/graph_execution.json.gz",
    "8 ranks": "astra-sim-megatron-tp8",
  })
    .map(([name, path]) => [name, { path: join(shared, path) }])
    .filter(([, { path }]) => existsSync(path)),
);

for (const t of [...Object.values(examples), ...Object.values(real)])
  if (!t.file) t.file = t.path.endsWith(".gz") ? t.path : join(t.path, readdirSync(t.path).sort()[0]);

export const memoryTraces = [
  "../torch-memory/cs336-niu/forward_and_backward_memory_snapshot_200_mixed_precision.pickle",
  "../torch-memory/cs336-silmont/mem_snapshot.pickle",
  "../torch-memory/cs336-silmont/memory_forward_bf16_128.pickle",
  "../torch-memory/hta-memory-timeline/memory_timeline.raw.gz",
  "particle-transformer/profiler_trace_single_sample.json.gz",
  "tl-bert/h100.json.gz",
]
  .map((path) => join(shared, path))
  .filter(existsSync);

export const hasReal = existsSync(shared);
export const noReal = hasReal ? false : "real traces of shared/traces/kineto are not present";
