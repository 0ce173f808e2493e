// SPDX-License-Identifier: Apache-2.0
// make.mjs - makes traces of a training job on GPUs whose every number follows from its options, for what the shipped
// traces do not hold: kernels, copies, collectives, memory, ranks; a million slices; names by somebody who means harm.

import { closeSync, existsSync, mkdirSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { folder } from "./program.mjs";

function random(seed) {
  let state = seed >>> 0 || 1;
  return (most) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

const us = (ns) => `${Math.floor(ns / 1000)}.${String(ns % 1000).padStart(3, "0")}`;

// Writes pieces of text as they come, behind a temporary name.
function writer(file) {
  const part = `${file}.${process.pid}.part`,
    fd = openSync(part, "w");
  let lines = [],
    isFirst = true;
  const flush = () => {
    writeSync(fd, lines.join(""));
    lines = [];
  };
  return {
    text(s) {
      lines.push(s);
    },
    event(s) {
      lines.push(isFirst ? "\n" : ",\n", s);
      isFirst = false;
      if (lines.length > 20000) flush();
    },
    close() {
      flush();
      closeSync(fd);
      renameSync(part, file);
    },
  };
}

// `rename(name)` is what stands in the file for a name, without quotes.
export function makeTrace(
  file,
  { steps = 4, launches = 60, seed = 7, rank = 0, world = 1, rename = (s) => s, more = [], head = "", host = "node0", frame = "" } = {},
) {
  const out = writer(file),
    next = random(seed + rank),
    name = (s) => rename(s);
  let at = 5_000_000_000_000,
    correlation = 1,
    external = 1,
    free = at,
    commFree = at,
    memory = 0,
    isHigh = false;
  const slice = (cat, what, start, dur, tid, args) =>
    out.event(
      `{"ph":"X","cat":"${cat}","name":"${name(what)}","pid":${args.startsWith('"device') ? 0 : 100 + rank},"tid":${tid},"ts":${us(start)},"dur":${us(dur)},"args":{${args}}}`,
    );
  const launch = (call, cat, kernel, dur, stream, args) => {
    const id = correlation++;
    slice("cuda_runtime", call, at, 2100 + next(900), 1, `"cbid":211,"correlation":${id}`);
    const start = Math.max(stream === 7 ? free : commFree, at + 4000 + next(2000));
    slice(cat, kernel, start, dur, stream, `"device":${rank},"stream":${stream},"correlation":${id},"context":1${args}`);
    if (stream === 7) free = start + dur;
    else commFree = start + dur;
    at += 4500 + next(1500);
  };
  out.text(
    `{"schemaVersion":1,${head}"deviceProperties":[{"id":${rank},"name":"${name("NVIDIA H100 80GB HBM3")}","totalGlobalMem":85000000000,"numSms":132,"computeMajor":9,"computeMinor":0}],` +
      `"distributedInfo":{"backend":"nccl","rank":${rank},"world_size":${world}},"hostname":"${name(host)}","traceEvents":[`,
  );
  out.event(`{"ph":"M","name":"process_name","pid":${100 + rank},"tid":0,"ts":0,"args":{"name":"${name("python")}"}}`);
  out.event(`{"ph":"M","name":"thread_name","pid":${100 + rank},"tid":1,"ts":0,"args":{"name":"${name("main")}"}}`);
  for (const line of more) out.event(line);
  for (let step = 1; step <= steps; step++) {
    const began = at;
    const opened = at;
    slice(
      "user_annotation",
      "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
      at + 1000,
      900_000 + next(200_000),
      1,
      `"External id":${external++}`,
    );
    at += 1_200_000;
    launch(
      "cudaMemcpyAsync",
      "gpu_memcpy",
      "Memcpy HtoD (Pinned -> Device)",
      40_000 + next(9000),
      7,
      ',"bytes":1048576,"memory bandwidth (GB/s)":25.0',
    );
    for (let i = 0; i < launches; i++) {
      const kind = next(40),
        opened = at,
        args = `"External id":${external++},"Input Dims":[[${64 + kind},256],[256,128]],"Input type":["float","float"]`;
      const isComm = i % 16 === 15,
        op = isComm ? "nccl:all_reduce" : `aten::op_${kind}`;
      at += 3000 + next(1000);
      const inner = at;
      at += 2000 + next(1000);
      if (isComm)
        launch(
          "cudaLaunchKernelExC",
          "kernel",
          "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
          60_000 + next(20_000),
          20,
          ',"grid":[24,1,1],"block":[512,1,1],"Collective name":"allreduce","In msg nelems":262144,"Out msg nelems":262144,"Group size":2,"dtype":"Float"',
        );
      else
        launch(
          "cudaLaunchKernel",
          "kernel",
          `void gemm_kernel_${kind}<float, ${kind}>(float const*, float*)`,
          4000 + next(16_000),
          7,
          `,"grid":[${1 + kind},1,1],"block":[256,1,1],"registers per thread":64,"shared memory":0,"est. achieved occupancy %":50`,
        );
      slice("cpu_op", isComm ? "record_param_comms" : `aten::inner_${kind}`, inner, at - inner, 1, args);
      at += 900;
      slice("cpu_op", op, opened, at - opened, 1, args);
      if (i % 8 === 0) {
        isHigh = !isHigh;
        memory += isHigh ? 8 << 20 : -(8 << 20);
        out.event(
          `{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":${100 + rank},"tid":1,"ts":${us(at)},"args":{"Total Reserved":67108864,"Total Allocated":${33554432 + memory},"Bytes":${isHigh ? 8 << 20 : -(8 << 20)},"Addr":4096,"Device Id":${rank},"Device Type":1}}`,
        );
      }
      at += 500 + next(500);
    }
    if (frame) slice("python_function", frame, opened + 500, at - opened, 1, `"Python id":${step},"Python parent id":null`);
    const waits = Math.max(free, commFree, at) - at + 5000;
    slice("cuda_runtime", "cudaDeviceSynchronize", at, waits, 1, `"cbid":165,"correlation":${correlation++}`);
    at += waits + 10_000;
    slice("user_annotation", `ProfilerStep#${step}`, began, at - began, 1, `"External id":${external++}`);
    at += 1000;
  }
  out.text("\n]}\n");
  out.close();
  return file;
}

// Made once for the same options; `version` changes with what this file writes.
const version = 1;

export function cachedTrace(name, options) {
  const file = join(folder, `${name}-v${version}-${options.steps}x${options.launches}.json`);
  return existsSync(file) ? file : makeTrace(file, options);
}

// Two ranks of a small job.
export const smallJob = () =>
  [0, 1].map((rank) => makeTrace(join(folder, `small-rank${rank}.json`), { rank, world: 2, launches: rank ? 60 : 48 }));

// A job of very many ranks, each a trace of a few kilobytes: every rank computes, then all meet in a collective, to which one
// rank of each 500 comes late, and rank `late` latest.  Returns the folder.
export function manyRanks(n, late = 7) {
  const place = join(folder, `many-${n}-v1`);
  if (existsSync(place)) return place;
  const part = `${place}.part`;
  mkdirSync(part, { recursive: true });
  for (let rank = 0; rank < n; rank++) {
    const events = [],
      delay = rank === late ? 300 : rank % 500 === 11 ? 40 : rank % 3,
      slice = (cat, name, ts, dur, tid, args) =>
        events.push({ ph: "X", cat, name, pid: tid === 1 ? 100 : 0, tid, ts: 1e6 + ts, dur, args });
    for (let step = 0; step < 3; step++) {
      const at = step * 2000,
        id = 10 * step,
        comes = at + 500 + delay,
        ends = at + 900;
      slice("user_annotation", `ProfilerStep#${step + 3}`, at, 1990, 1, {});
      slice("cpu_op", "aten::mm", at + 50, 60 + delay, 1, { "External id": id + 1 });
      slice("cuda_runtime", "cudaLaunchKernel", at + 60, 20, 1, { correlation: id + 1 });
      slice("kernel", "gemm", at + 100, 400 + delay, 7, { device: 0, stream: 7, correlation: id + 1 });
      slice("cuda_runtime", "cudaLaunchKernel", at + 120 + delay, 20, 1, { correlation: id + 2 });
      slice("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", comes, ends - comes, 20, {
        device: 0,
        stream: 20,
        correlation: id + 2,
        "Collective name": "allreduce",
        "In msg nelems": 1048576,
        "Out msg nelems": 1048576,
        "Group size": n,
        dtype: "Float",
      });
      slice("cuda_runtime", "cudaDeviceSynchronize", at + 400, 600, 1, { correlation: id + 3 });
    }
    writeFileSync(
      join(part, `rank${rank}.json`),
      JSON.stringify({
        schemaVersion: 1,
        deviceProperties: [{ id: 0, name: "NVIDIA H100 80GB HBM3", totalGlobalMem: 85e9, numSms: 132 }],
        distributedInfo: { backend: "nccl", rank, world_size: n },
        host_name: `node${String(rank >> 3).padStart(4, "0")}`,
        traceEvents: events,
      }),
    );
  }
  renameSync(part, place);
  return place;
}

// A second of kernels on device 0, which is GPU `number` of the machine, with a clock and a power of its own.
export function sampledRank(rank, number, mhz, watts) {
  const track = (name, ts, value) => ({ ph: "C", name: `GPU 0 ${name}`, pid: 1, ts, args: { value } }),
    events = [];
  for (let i = 0; i < 10; i++) {
    const ts = 1e5 * i,
      args = { correlation: i + 1, device: 0, stream: 7 };
    events.push(
      { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts, dur: 10, args },
      { ph: "X", cat: "kernel", name: "<b>work</b>", pid: 0, tid: 7, ts: ts + 20, dur: 80000, args },
      track("SM clock (MHz)", ts, mhz),
      track("power (W)", ts, watts),
      track("energy (J)", ts, watts * i),
      track("clock event reasons (bits)", ts, rank ? 4 : 0),
    );
  }
  const line = [number, 1, 0, 0, 1980, 2619, 700000, 8e10, 1e8, 1023, 0, `GPU-${number}`, "1B", "580", "H100 <i>", "", 0];
  const path = join(folder, `gpus-${process.pid}-${rank}.json`);
  const job = { distributedInfo: { rank, world_size: 2 }, "holdup.gpus": `${line.join("\t")}\n`, traceEvents: events };
  writeFileSync(path, JSON.stringify(job));
  return path;
}

// Five steps of one kernel and one all-reduce on each rank, below `base`.
export function scalingRun(base, ranks) {
  const at = join(base, `a-run-whose-name-is-rather-long-${ranks}`);
  mkdirSync(at, { recursive: true });
  for (let rank = 0; rank < ranks; rank++) {
    const traceEvents = [],
      put = (cat, name, ts, dur, tid, args = {}) =>
        traceEvents.push({ ph: "X", cat, name, pid: cat === "kernel" ? 0 : 1, tid, ts, dur, args });
    for (let k = 0; k < 5; k++) {
      const t = 1000 + 12000 * k;
      put("user_annotation", `ProfilerStep#${k}`, t, 12000, 1);
      for (const [i, name, start, dur] of [
        [0, "gemm", 10, 10000],
        [1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 10010, 300 * ranks],
      ]) {
        const correlation = 100 + 2 * k + i;
        put("cuda_runtime", "cudaLaunchKernel", t + 2 * i, 2, 1, { correlation });
        put("kernel", name, t + start, dur, 7, { stream: 7, device: 0, correlation });
      }
    }
    const distributedInfo = { backend: "nccl", rank, world_size: ranks };
    writeFileSync(join(at, `rank${rank}.json`), JSON.stringify({ distributedInfo, traceEvents }));
  }
  return at;
}
