# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: one small file for each thing that the importer knows."""
import gzip
import json
import pathlib
import pickle
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent / "corpus"
sys.path.insert(0, str(HERE.parent.parent))
from tests import pftrace as pf  # noqa: E402   (the folder above is no package)
from tests.nsight import Export, gid  # noqa: E402
from tests import ncu_report as ncu  # noqa: E402
from tests import nsys_text as ns  # noqa: E402
from tests import pipeline_job as pj  # noqa: E402
from tests import live_sender as live  # noqa: E402
from tests import monitor_texts  # noqa: E402
from tests.rocprof import Database as RocmDatabase, Job as RocmJob  # noqa: E402
from tests import xplane as xp  # noqa: E402

EVENTS = {
    "op": '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":10.125,"dur":5.5,"args":{"External id":3,'
          '"Sequence number":4,"Fwd thread id":1,"Input Dims":[[2,3],[3,4],[]],"Input type":["float","float",""],'
          '"Input Strides":[[3,1],[4,1],[]],"Concrete Inputs":["","","1"],"Call stack":"a;b","Ev Idx":7}}',
    "launch": '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":11,"dur":1,'
              '"args":{"External id":3,"cbid":211,"correlation":9}}',
    "kernel": '{"ph":"X","cat":"kernel","name":"void k<int>(int)","pid":0,"tid":7,"ts":20,"dur":2.25,"args":{"External id":3,'
              '"queued":0,"device":0,"context":1,"stream":7,"correlation":9,"registers per thread":32,"shared memory":0,'
              '"blocks per SM":0.5,"warps per SM":4.0,"grid":[64,1,1],"block":[256,1,1],"est. achieved occupancy %":50,'
              '"graph id":0,"graph node id":0,"priority":0}}',
    "nccl": '{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":9,"ts":21,"dur":9,"args":{"stream":9,'
            '"Collective name":"allreduce","dtype":"Float","In msg nelems":10,"Out msg nelems":10,"Group size":2,'
            '"In split size":"[]","Out split size":"[]","Process Group Name":"0","Process Group Description":"default_pg",'
            '"Process Group Ranks":"[0, 1]","Seq":1,"Is asynchronized op":true}}',
    "batch": '{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":2,"ts":10,"dur":3,"args":{"Collective name":"send",'
             '"dtype":"Float","In msg nelems":10,"Out msg nelems":10,"Group size":2,"Process Group Name":"0","Dst Rank":0}},'
             '{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":2,"ts":14,"dur":3,"args":{"Collective name":"recv",'
             '"dtype":"Float","In msg nelems":10,"Out msg nelems":10,"Group size":2,"Process Group Name":"0","Src Rank":0}},'
             '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":19,"dur":1,"args":{"correlation":10}},'
             '{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":9,"ts":22,"dur":9,"args":{"stream":9,"correlation":10}}',
    "inside": '{"ph":"X","cat":"cpu_op","name":"c10d::alltoall_base_","pid":1,"tid":2,"ts":10,"dur":9},'
              '{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":11,"dur":1,"args":{"correlation":11}},'
              '{"ph":"X","cat":"kernel","name":"acme::exchange","pid":0,"tid":9,"ts":22,"dur":9,"args":{"stream":9,"correlation":11}}',
    "copy": '{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":30,"dur":3,'
            '"args":{"bytes":4096,"memory bandwidth (GB/s)":1.365,"stream":7,"device":0,"fromDevice":0,"toDevice":1}}',
    "sync": '{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":31,"dur":1,"args":{"stream":-1,'
            '"wait_on_stream":7,"wait_on_cuda_event_id":1,"wait_on_cuda_event_record_corr_id":-1}}',
    "python": '{"ph":"X","cat":"python_function","name":"train.py(1): f","pid":1,"tid":2,"ts":9,"dur":40,'
              '"args":{"Python id":2,"Python parent id":1,"Python module id":0}}',
    "memory": '{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":2,"ts":12,"args":{"Bytes":-8,'
              '"Addr":18446744073709551615,"Device Type":1,"Device Id":0,"Total Allocated":8,"Total Reserved":16}}',
    "flow": '{"ph":"s","id":1,"pid":1,"tid":2,"ts":10.125,"cat":"fwdbwd","name":"fwdbwd"},'
            '{"ph":"f","id":1,"pid":1,"tid":2,"ts":11,"cat":"fwdbwd","name":"fwdbwd","bp":"e"}',
    "begin": '{"ph":"B","name":"r","pid":1,"tid":2,"ts":1},{"ph":"E","pid":1,"tid":2,"ts":5}',
    "meta": '{"ph":"M","name":"thread_name","pid":1,"tid":2,"ts":0,"args":{"name":"main"}}',
    "counter": '{"ph":"C","name":"c","pid":"GPU 0 Counters","ts":5,"args":{"":3.5}}',
    "steps": ",".join('{"ph":"X","cat":"user_annotation","name":"ProfilerStep#%d","pid":1,"tid":2,"ts":%d,"dur":100}' % (i, i * 100)
                      for i in range(4)),
    "odd": '{"ph":"X","cat":"cpu_op","name":"a\\"b\\u00e9\\ud83d\\ude00\\q\\n","pid":"p","tid":"7","ts":-1e2,"dur":NaN,"args":{"x":N/A}}',
}


def counters() -> dict[str, bytes]:
    """A small report of Nsight Compute in each form."""
    launches = [ncu.Launch("f<1>(int)", {"gpu__time_duration.sum": 1600, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 64.5,
                                         "launch__occupancy_limit_registers": 2, "smsp__pcsamp_warps_issue_stalled_wait": 7,
                                         "device__attribute_display_name": "GPU"}),
                ncu.Launch("g", {"gpu__time_duration.sum": 900}, grid=(1, 1, 1))]
    return {"report": ncu.binary(launches, ranges=1), "raw": ncu.raw(launches).encode(), "details": ncu.details(launches).encode(),
            "text": ncu.text(launches).encode()}


def perfetto() -> dict[str, bytes]:
    """Packets of each sort that the Perfetto importer knows."""
    thread = pf.packet(pf.thread(1, 1, 2, "main"), flags=pf.CLEARED)
    stream = pf.packet(pf.track(3, "GPU 0")) + pf.packet(pf.track(4, "stream 7", 3))
    made = {
        "op": pf.packet(pf.event(pf.BEGIN, 1, "aten::mm", "cpu_op", {"External id": 3, "Input Dims": [[2, 3], []], "x": {"a": True}}), ts=10)
        + pf.packet(pf.event(pf.END, 1), ts=20),
        "launch": pf.packet(pf.event(pf.BEGIN, 1, "cudaLaunchKernel", "cuda_runtime", {"correlation": 9}, (47, pf.Fixed(5))), ts=12)
        + pf.packet(pf.event(pf.END, 1), ts=14),
        "kernel": stream + pf.packet(pf.event(pf.BEGIN, 4, "k", "kernel", {"device": 0, "stream": 7, "correlation": 9, "grid": [1, 2, 3],
                                                                          "est. achieved occupancy %": 0.5}, (48, pf.Fixed(5))), ts=30)
        + pf.packet(pf.event(pf.END, 4), ts=40),
        "interned": pf.packet(pf.interned(name={1: "n"}, cat={1: "cpu_op"}, note={1: "External id"}, text={1: "t"}), flags=pf.CLEARED)
        + pf.packet(pf.event(pf.BEGIN, 1, 1, 1, {1: 4}), ts=5, flags=pf.NEEDS) + pf.packet(pf.event(pf.END, 1), ts=6),
        "clocks": pf.packet(pf.clocks((6, 100), (64, 7, 1, 1000), (1, 99)), (59, pf.message((58, 64), (11, pf.message((11, 1))))))
        + pf.packet(pf.event(pf.BEGIN, None, "c", "cpu_op"), ts=1) + pf.packet(pf.event(pf.END), ts=1),
        "stage": pf.packet(pf.interned(gpu={1: "Channel #7", 2: "Compute"}, kernel={8: "gemm"}), (
            53, pf.message((1, 9), (2, 40), (13, 1), (14, 2), (19, 8), (21, pf.message((1, pf.message((1, 5))))))), ts=20)
        + pf.packet((52, pf.message((1, pf.message((1, pf.message((1, 3), (2, "MHz"))))), (2, pf.message((1, 3), (3, 1.5))))), ts=21),
        "counter": pf.packet(pf.track(5, "power", None, (8, pf.message((5, 1)))))
        + pf.packet(pf.event(pf.COUNTER, 5, None, None, None, (30, 4)), ts=1),
        "legacy": pf.packet((11, pf.message((11, 1), (23, "x"), (6, pf.message((2, ord("X")), (3, 7))))), ts=3),
    }
    whole = thread + b"".join(made.values())
    made = {name: thread + data for name, data in made.items()}
    return made | {"whole": whole, "bundle": thread + pf.message((1, pf.message((50, zlib.compress(whole)))))}


def tables() -> dict[str, str]:
    """Operations of small jobs, of each shape that is told apart, and odd ways to write them."""
    shapes = {"plain": pj.Shape(dp=1, pp=2, microbatches=1, steps=1), "dp": pj.Shape(dp=2, pp=1, microbatches=1, steps=2),
              "chunks": pj.Shape(dp=2, pp=2, vpp=2, microbatches=2, steps=1, overlaps=True, idle_calls=True)}
    made = {name: pj.text(pj.Job(shape, pj.plain_costs()).rows()) for name, shape in shapes.items()}
    lines = made["plain"].splitlines()
    return made | {
        "hole": "\n".join(lines[:5] + lines[6:]), "twice": "\n".join(lines + lines[1:]), "tabs": made["plain"].replace(",", "\t"),
        "quotes": lines[0] + "\r\n" + "\r\n".join('"' + '","'.join(x.split(",")) + '"' for x in lines[1:]),
        "absent": "dp_rank,stage,step,optype,start_ts,duration\n" + "\n".join(
            ",".join(x.split(",")[i] for i in (0, 1, 3, 4, 5, 6)) for x in lines[1:]),
    }


def sums() -> dict[str, str]:
    """Tables of nsys stats in each form and of each time."""
    tables = [ns.Table("cuda_api_sum", [ns.Row("cudaLaunchKernel", [7, 9, 8]), ns.Row("cudaGraphLaunch_v10000", [5])]),
              ns.Table("cuda_gpu_kern_sum", [ns.Row('a<"b", |c>(int)', [1200, 1300]), ns.Row("ncclDevKernel_AllReduce", [10])]),
              ns.Table("cuda_gpu_mem_time_sum", [ns.Row("[CUDA memset]", [7])]), ns.Table("cuda_gpu_mem_size_sum", [ns.Row("[CUDA memset]", [4096])]),
              ns.Table("nvtx_sum", [ns.Row("Caf\u00e9", [40], "PushPop")])]
    made = {f"console_{year}": ns.console(tables, ["osrt_sum"], year=year, grouped=year == 2022) for year in (2019, 2020, 2021, 2022, 2024)}
    return made | {form: ns.console(tables, form=form) for form in ("table", "csv", "tsv")} | {"bare": "\n".join(ns.table(t, "csv") for t in tables)}


def rings() -> dict[str, bytes]:
    """What is poked into a ring file: {where, 16-byte units, length, bytes} (fuzz_ring.c)."""
    def record(kind: int, at: int, ident: int = 0, aux: int = 0, a: int = 0, b: int = 0) -> bytes:
        return struct.pack("<QIHHQQ", at, ident, kind, aux, a, b)

    def poke(offset: int, data: bytes, where: int = 0) -> bytes:
        return b"".join(struct.pack("<BHB", where, (offset + i) // 16 if where != 1 else 0, len(data[i:i + 240])) + data[i:i + 240]
                        for i in range(0, len(data), 240))

    block, head = 16384, 64
    texts = poke(block + head, b"".join(struct.pack("<II8s", i + 1, 8, name) for i, name in enumerate((b"work\0\0\0\0", b"lib.name", b"classify"))))
    types = {
        "ranges": [(2, 10, 1, 2, 0xFF0000 | 2 << 32), (1, 0, 3, 0, 5), (3, 20, 0, 2), (2, 30, 1), (7, 40, 2), (3, 50), (4, 60, 1), (3, 70)],
        "steps": [(9, 10, 0, 0, 1), (2, 20, 1), (9, 30, 0, 0, 2), (3, 40), (10, 50), (11, 60, 1, 0, 0x4004000000000000), (11, 70, 2, 0, 1), (0, 0)],
        "async": [(5, 10, 1, 0, 0, 1), (5, 20, 1, 2, 0, 2), (6, 30, 0, 0, 0, 1), (6, 40, 0, 2, 0, 9), (5, 50, 1, 0, 0, 3), (5, 60, 1, 0, 0, 4)],
        "calls": [(12, 10, 1, 0, 5, 100), (1, 0, 3, 3, 2), (12, 20, 2, 54, 5), (13, 30, 1, 0, 5, 8), (13, 40, 1, 9999, 5), (12, 50, 0, 999, 1)],
        "rest": [(15, 10, 1), (16, 20, 0, 0, 2), (17, 30, 1), (18, 40, 0, 0, 7, 35), (19, 50), (20, 60), (21, 70, 0, 2, 99), (14, 80, 1)],
        "crossing": [(2, 10, 1, 1), (2, 20, 1, 2), (3, 30, 0, 1), (2, 35, 1, 3), (3, 40, 0, 2), (3, 50, 0, 3), (3, 60, 0, 3), (1, 0)],
        # of CUPTI: aux of a MORE is 32 place, 33 launch, 34 bytes, 35 event, 36 memory
        "gpu_work": [(22, 10, 1, 0, 50, 9), (1, 77, 7, 32, 1 | 3 << 32, 5), (1, 64 | 1 << 16 | 1 << 32, 1 << 31, 33, 9 | 2 << 32, 1), (22, 20, 2, 3, 5, 8), (1, 0, 7, 32, 1 | 4 << 32)],
        "gpu_copies": [(22, 10, 1, 1, 50, 9 | 1 << 32), (1, 0, 7, 32, 1), (1, 0, 0, 34, 4096, 1 | 2 << 32), (22, 5, 2, 2, 100, 7), (1, 0, 7, 32, 1), (1, 0, 0, 34, 1 << 60, -1 % 2**64)],
        "gpu_calls": [(22, 10, 1, 4 | 211 << 5, 5, 9 | 7 << 32), (22, 20, 2, 5, 5, 9 | 8 << 32 | 700 << 54), (22, 30, 2, 8, 5, 7 << 32), (22, 40, 3, 12, 5, 9 << 32), (1, 0, 7, 32, 1)],
        "gpu_waits": [(22, 0, 0, 7, 0, 9), (1, 0, 13, 32, 1), (1, 0, 0, 35, 5, 0), (22, 20, 1, 6, 5, 10), (1, 0, 7, 32, 1), (1, 0, 0, 35, 5, 0), (22, 0, 0, 10, 0, 3 << 32), (1, 0, 0, 32, 1)],
        "gpu_memory": [(22, 10, 0, 9, 0, 0), (1, 0, 7, 32, 1), (1, 0, 0, 34, 4096), (1, 0, 0, 36, 64, 1 | 3 << 8), (22, 20, 0, 9), (1, 0, 0, 34, 0), (1, 0, 0, 36, 64, 2 | 3 << 8), (22, 30, 0, 31)],
        "nccl": [(23, 10, 1, 9, 5, 1 << 48 | 2), (1, 1, 0x060501, 10, 1000, 2), (1, 1 << 48 | 1, 0x000002, 10), (23, 9, 0, 8, 20, 1 << 48 | 1),
                 (23, 20, 1, 1, 5, 1 << 48 | 3), (1, 1 << 48 | 2, 0x040502, 10, 4, 7), (23, 30, 0, 6, 9, 1 << 48 | 4), (1, 1 << 48 | 3, 0x1a1502, 10, 1, 2)],
        "nccl_rest": [(23, 10, 0, 31, 1 << 48 | 9, 19), (1, 5, 0x000026, 10), (23, 20, 1, 2, 3, 7), (23, 30, 0, 0, 3, 8), (23, 40, 0, 14, 3, 9), (23, 50, 3, 10, 1, 11),
                      (1, 5, 0x00002b, 10, 1, 1)],
        # of OpenCL: aux of a record is its kind and flags, of a MORE 48 queue, 49 waits, 50 times, 51 size, 52 bytes
        "opencl": [(24, 10, 1, 512, 5, 1), (1, 0, 1, 48, 64), (24, 10, 2, 1, 30, 1 | 1 << 32), (1, 110, 0, 50, 111, 112), (1, 4 | 1 << 32, 1, 51, 64 | 1 << 32, 1 | 16 << 32),
                   (24, 20, 1, 64, 5, 2), (1, 1 | 1 << 32, 2, 49, 9)],
        "opencl_odd": [(24, 10, 1, 257, 1 << 62, 1 | 1 << 32), (1, 1, 0, 50, 1, 1 << 63), (24, 20, 2, 2 | 256, 9, 2 | 2 << 32 | 7 << 56), (1, 9, 0, 50, 9, 9), (24, 30, 1, 384, 5, 3),
                       (1, 0, 2, 48, 0), (24, 40, 1, 32, 1 << 63, 4 | -5 % 2**32 << 32)],
        "omp": [(25, 10, 1, 2 | 10 << 8, 5, 3), (1, 2, 2, 56, 4096, 9), (25, 11, 1, 3, 6, 2), (1, 0, 1, 56, 4096), (25, 9, 1, 1, 30, 2), (1, 2, 0, 56, 4096, 0)],
        "omp_rest": [(25, 10, 0, 6, 50, 40), (1, 30, 9, 56, 4096, 7), (25, 20, 1, 4 | 5 << 8, 5), (1, 0, 0, 56), (25, 20, 1, 5 | 5 << 8, 5, 64), (1, 0, 0, 56), (25, 30, 0, 9), (1, 0, 0, 56)],
        # of PyTorch: steps of its hook among the program's own, one that was none, operators one in the other
        "operators": [(9, 5, 0, 0, 0, 1), (26, 10, 1, 0, 3, 2), (26, 20, 2, 0, -1 % 2**64, 0), (3, 30), (3, 40), (9, 45, 0, 0, 1, 1), (26, 50, 1, 0, 1 << 62, 1 << 40),
                      (10, 60, 0, 0, 1, 1), (9, 70, 0, 0, 7), (10, 80, 0, 0, 0, 1), (10, 90), (3, 95)],
        "payload": [(2, 10, 1), (1, 0, 0, 15, 3, 16), (1, 0, 16, 6, 1, 2), (3, 20), (1, 0, 0, 15, 0x80000005, 4), (1, 0, 4, 6, 7)],
    }
    made = {name: texts + poke(2 * block + head, b"".join(record(*r) for r in records)) for name, records in types.items()}
    # other files of the session, with times and numbers that no clock and no driver shows; offsets are those of protocol/format.h, record/gpu_file.h,
    # record/wait_file.h and record/outsiders.h
    least, most = struct.pack("<q", -2**63), struct.pack("<q", 2**63 - 1)
    late = texts + poke(2 * block + head, b"".join(record(*r) for r in [(22, 2**63, 1, 0, 2**64 - 1, 9), (1, 0, 7, 32, 1), (2, 2**64 - 1, 1), (12, 2**63 - 5, 1, 0, 2**63)]))
    rate = late + poke(48, b"\xff" * 8 + struct.pack("<d", 1e-300), 2)
    there = poke(0, struct.pack("<QQ", 2 * 10**9, 10**9), 3) + poke(1600, bytes(24), 2)       # clocks and control
    ended = poke(16 * 7, most + most) + poke(16 * 1, least + most)       # in the ring's head: seen, exited, started
    made |= {
        "hostile_control": rate + poke(1600, least + least, 2) + poke(1616, most, 2) + poke(32, most, 4),
        "hostile_rate": late + poke(48, b"\xff" * 8 + struct.pack("<d", 1e3), 2),
        "hostile_clocks": late + poke(0, struct.pack("<Q", 1) + most, 3) + poke(16, most + bytes(8), 3) + poke(32, most + bytes(8), 3) + poke(48, most + most, 3) + ended,
        "hostile_ahead": late + poke(0, struct.pack("<QQ", 1, 2**62 - 1) + bytes(16), 3) + ended,
        "hostile_gpu": late + there + poke(400, least + least, 4) + poke(416, (least + most) * 5, 4) + poke(528, (most + least) * 4, 4),
        "hostile_gpu_late": late + poke(400, most + b"\xff" * 8, 4) + poke(512, most * 2, 4) + poke(608, most, 4),
        "hostile_waits": late + poke(16, least + least + least + most, 5) + poke(80, most * 4, 5),
        "hostile_outsiders": late + there + poke(16, least + most, 6) + poke(32, least + bytes(8), 6),
        "hostile_energy": poke(448, least + least, 4) + poke(560, most + most, 4),
    }
    piece = struct.pack("<IIIIQII", 0x314E5244, 0, 9, 1, 2, 0, 2) + record(4, 5, 1) + record(4, 6, 1)
    inside = poke(2 * block, struct.pack("<IIIIQIIIIQ", 1, 0, 7, 1, 2, 9, 0, 3, 0, 100))
    return made | {"drained": texts + poke(0, piece + piece[:50], 1), "inside": made["calls"] + inside, "torn": made["ranges"] + poke(2 * block + 96, bytes(16)),
                   "nothing": b""}


def names() -> dict[str, bytes]:
    """Names that read alike in a narrow column; the first byte is its width (fuzz_names.c)."""
    path = "library_" * 11
    made = {
        "arguments": (33, ["void a::kernel<4, a::FillFunctor<float>, int>(int)", "void a::kernel<4, a::AddFunctor<float>, int>(int)"]),
        "anonymous": (20, ["void a::(anonymous namespace)::f<b::(anonymous namespace)::x>(int)", "void a::(anonymous namespace)::f<c::y>(int)"]),
        "namespaces": (60, ["x::kern", "y" * 90 + "::x::kern"]),
        "path": (33, [f"{path}one::kern", f"{path}two::kern"]),
        "returns": (12, ["void f::kernel_name(int)", "int f::kernel_name(int)"]),
        "pieces": (24, ["k<a1, b1, c1, d1>(int)::f", "k<a2, b1, c1, d1>(int)::f", "k<a1, b2, c1, d1>(int)::f", "k<a1, b1, c2, d2>(int)::f"]),
        "accents": (8, ["void kernel<Caf\u00e9>(float)", "void kernel<Caf\u00e8>(float)"]),
        "operator": (16, ["void a::operator<<<int>(int (*)[(8>3)])", "void a::operator<<<char>(int (*)[(8>3)])"]),
        "nothing": (0, ["a::bcdefgh", "a::bcdefgi"]),
    }
    return {name: bytes([width]) + "\n".join(rows).encode() for name, (width, rows) in made.items()} | {
        "broken": b"\x0aa::k<\xe2\x82>(\x80\x80int)\na::k<\xe2\x83>(\x80int)"}


def kineto() -> dict[str, bytes]:
    """Datagrams at the socket of `holdup trace` (fuzz_kineto.c): a header of 40 bytes, then what it announces."""
    def datagram(kind: bytes, payload: bytes, length: int | None = None) -> bytes:
        return struct.pack("<Q32s", len(payload) if length is None else length, kind) + payload

    def ask(bits: int, n: int, *pids: int) -> bytes:
        return struct.pack("<iiq", bits, n, 4711) + struct.pack(f"<{len(pids)}i", *pids)

    return {
        "idle": datagram(b"req", ask(2, 3, 300, 200, 100)), "busy": datagram(b"req", ask(0, 1, 1)), "registers": datagram(b"ctxt", ask(0, 300)),
        "most": datagram(b"req", ask(2, 64, *range(64))), "more": datagram(b"req", ask(2, 65, *range(65))),
        "fewer": datagram(b"req", ask(2, 5, 1, 2)), "negative": datagram(b"req", ask(2, -1, 1)), "lies": datagram(b"req", ask(2, 1, 1), 2**63),
        "type": datagram(b"r" * 32, ask(2, 1, 1)), "name": b"/tmp/trace.json", "lines": b"/tmp/a\nPROFILE_START_TIME=0\n.json", "long": b"/" + b"x" * 1100,
    }


def node() -> dict[str, bytes]:
    """What the monitor reads of a node (fuzz_node.c): the first byte says which file it is."""
    table = bytearray(b"\xff" * 288)
    struct.pack_into("<HBB6H", table, 0, len(table), 1, 4, 71, 64, 50, 750, 93, 40)
    texts = ("drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t7\ndrm-engine-render:\t9 ns\ndrm-engine-capacity-video:\t2\n"
             "drm-cycles-rcs:\t1\ndrm-total-cycles-rcs:\t2\ndrm-resident-vram0:\t16 MiB\ndrm-memory-vram:\t1 KiB\n",
             "some total=1", "Tcp: OutSegs RetransSegs\nTcp: 5 6\n", "2.5 Gb/sec (1X SDR)", "nr_periods 4\nnr_throttled 2\nthrottled_usec 3\n",
             "high 1\nmax 2\noom_kill 3\n")
    files = {2: "MemTotal: 5 kB\nHugePages_Total: 1\nHugepagesize: 2048 kB\n", 3: "oom_kill 1\npswpin 2\n",
             4: "some avg10=0.00 total=5\nfull avg10=0.00 total=4\n", 5: "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n",
             6: "22 1 8:1 / / rw,relatime shared:1 - tmpfs none rw\n23 22 8:2 / /a\\040b ro - ext4 /dev/x rw\n30 22 0:5 / /n rw - nfs4 s:/ rw\n",
             7: "h\nh\n eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n", 8: texts[2], 9: texts[3], 10: texts[4], 11: texts[5],
             12: "device s:/x mounted on /d with fstype nfs4 statvers=1.1\n\tbytes:\t1 2 3 4 5 6 7 8\n\tper-op statistics\n\tREAD: 1 2 3 4 5 6 7 8\n",
             13: "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8\nctxt 5\nbtime 6\n", 14: "0.10 0.20 0.30 1/2 3\n"}
    return {"table": b"\0" + bytes(table), "fdinfo": b"\1" + texts[0].encode()} | {f"file_{k}": bytes([k]) + v.encode() for k, v in files.items()}


def lives() -> dict[str, bytes]:
    """Datagrams of jobs (fuzz_live.c): each behind its length, its sender and quarters of a second since the last one."""
    def told(sender: int, quarters: int, datagram: bytes) -> bytes:
        return struct.pack("<HBB", len(datagram), sender, quarters) + datagram

    def process(pid: int, rank: int, world: int) -> live.Process:
        return live.Process(pid, rank=rank, world=world, job_id="7", began=pid + 1, clock=lambda: 1795473876 * live.NS)

    ranks, text, hang = [process(10, 0, 2), process(11, 1, 2)], b"", process(12, -1, -1)
    for turn in range(4):
        for i, p in enumerate(ranks):
            p.step(0.5, data_loading=0.1, communication=0.3 if i else 0.1, forward=0.1)
            text += told(9, 2, p.bytes(is_over=turn == 3))
    hang.step(0.25, data_loading=0.1)
    one = told(1, 1, hang.bytes())
    hang.step(0.25, checkpoint=0.1)
    hang.step_since_ns, hang.now, hang.now_since_ns = hang.clock(), "communication", hang.clock() + 1
    return {"one": one, "hang": one + told(1, 2, hang.bytes()) + told(1, 255, hang.bytes()), "later": told(1, 1, hang.bytes(version=2, bytes=live.LAYOUT.size + 8) + bytes(8)),
            "two-ranks": text, "old": one + one}


def xplanes() -> dict[str, bytes]:
    """A plane of each kind with what the reader asks for; whole files, and what stands in a plane behind its name."""
    us = 1_000_000
    host, gpu, tpu = xp.Plane("/host:CPU", {"process_id": 7}), xp.Plane("/device:GPU:0", {"device_vendor": "AMD", "core_count": 8}), xp.Plane("/device:TPU:0", {"device_type_string": "TPU"})
    host.line(1, "python/1", [host.event("train", 0, 90 * us, {"step_num": 3, "_r": 1}), host.event("$a.py:1 f", us, us), host.event("$gc collect", 2 * us, us),
                              host.event("A::b", 3 * us, us, {"hlo_op": ("ref", "f.1")}), host.event("hipModuleLaunchKernel", 5 * us, us, {"correlation_id": 1}),
                              host.event("MemcpyH2D", 7 * us, us, {"correlation_id": 2, "memcpy_details": "kind_src:pageable kind_dst:device size:8 async:0"}),
                              host.event("MemoryAllocation", 8 * us, 0, {"allocator_name": "GPU_0_bfc", "allocation_bytes": 64, "bytes_allocated": 64, "addr": 1})])
    gpu.line(16, "Stream #16(Kernel)", [gpu.event("k.kd", 9 * us, 9 * us, {"correlation_id": 1, "hlo_op": "f.1", "hlo_module": "jit_f",
                                                                          "kernel_details": "regs:1 shm:2 grid:3,1,1 block:4,1,1 occ_pct:5"}),
                                        gpu.event("MemcpyH2D", 20 * us, us, {"correlation_id": 2, "memcpy_details": "size:8"}), gpu.event("Memset", 22 * us, us)])
    gpu.line(-1, "Steps", [gpu.event("3", 0, 30 * us, {"step_name": "3"})])
    tpu.line(1, "Steps", [tpu.event("0", 0, 9 * us)]).line(4, "Async XLA Ops", [tpu.event("copy-start.1", us, 5 * us)])
    tpu.line(3, "XLA Ops", [tpu.event("%while.1 = while()", 0, 8 * us, shown="while.1", constant={"hlo_category": "while"}),
                            tpu.event("fusion.1", us, 3 * us, constant={"hlo_category": "loop fusion"}),
                            tpu.event("inner.1", 2 * us, us), tpu.event("all-reduce.1", 5 * us, us)])
    whole = {"host": xp.space(host, warnings=["lost"]), "gpu": xp.space(gpu, host), "tpu": xp.space(tpu)}
    return whole | {"cut": whole["gpu"][:-40], "sums": xp.space(xp.Plane("/host:CPU").line(1, "python", [xp.message((1, 1), (5, 3), (3, 9))]))}


def pods() -> dict[str, bytes]:
    """Answers of a kubelet's pod-resources service, lines of control groups and names of logs (fuzz_pods.c)."""
    def part(number: int, value: bytes | str) -> bytes:
        data = value.encode() if isinstance(value, str) else value
        length = bytes([len(data) & 0x7F | 0x80, len(data) >> 7]) if len(data) > 127 else bytes([len(data)])
        return bytes([number << 3 | 2]) + length + data

    def pod(*containers: bytes) -> bytes:
        return part(1, part(1, "train-0") + part(2, "team-a") + b"".join(part(3, c) for c in containers))

    def devices(resource: str, *ids: str) -> bytes:
        return part(2, part(1, resource) + b"".join(part(2, i) for i in ids) + part(3, part(1, b"\x08\x01")))

    digits, uid = "0123456789abcdef" * 4, "11111111-2222-3333-4444-555555555555"
    claim = part(2, "gpu-x") + part(3, "team-a") + part(4, part(1, part(1, "k8s.gpu.nvidia.com/claim=x")) + part(2, "gpu.nvidia.com") + part(3, "n7") + part(4, "gpu-1"))
    whole = pod(part(1, "main") + devices("nvidia.com/gpu", "GPU-0", "GPU-0::3") + b"\x1a\x02\x01\x02" + part(4, part(1, "memory") + b"\x10\x05"))
    return {
        "plugin": whole, "mig": pod(part(1, "a") + devices("nvidia.com/mig-1g.5gb", "MIG-1", "nvidia0/gi1", "nvidia0/vgpu2", "nvidia999")),
        "amd": pod(devices("amd.com/gpu", "0000:3b:00.0"), b""), "claim": pod(part(1, "main") + part(5, claim)), "cut": whole[:-9],
        "systemd": f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid.replace('-', '_')}.slice/cri-containerd-{digits}.scope\n".encode(),
        "cgroupfs": f"11:devices:/kubepods/besteffort/pod{uid}/{digits}\n1:name=systemd:/\n".encode(),
        "slurm": b"0::/system.slice/n7_slurmstepd.scope/job_42/step_0/user/task_3\n", "slurm1": b"12:devices:/slurm/uid_1001/job_42/step_0/task_3\n",
        "podman": f"0::/user.slice/user-1001.slice/user@1001.service/user.slice/libpod-{digits}.scope\n".encode(),
        "log": (digits[:32] + digits[:32] + f"train-0_team-a_main-{digits[:32]}{digits[:32]}.log").encode(),
    }


def nsight() -> Export:
    """A row of each table of Nsight Systems' exports."""
    e = Export()
    e.call(100, 120, "cudaLaunchKernel_v7000", 5)
    e.call(130, 150, "cudaStreamWaitEvent_v3020", 6)
    e.kernel(200, 300, "gemm", 5, graphNodeId=7)
    e.range(0, 400, "aten::mm, op_id = 7, seq = 3, sizes = [[2, 3], []]")
    e.range(10, 300, "load", kind=60)
    e.range(5, None, "NCCL", kind=75, domain=1)
    where = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": gid(10)}
    e.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=1, end=9, **where, correlationId=9, bytes=64, copyKind=1, srcKind=0, dstKind=2)
    e.add("CUPTI_ACTIVITY_KIND_MEMSET", start=11, end=19, **where, correlationId=10, bytes=64, memKind=2)
    e.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=21, end=29, **where, correlationId=11, graphId=2)
    e.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **where, correlationId=4, eventId=3)
    e.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=131, end=140, **where, correlationId=6, syncType=2, deprecatedSyncType=1, eventId=3)
    e.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=3, **where, address=4096, bytes=64, memKind=2, memoryOperationType=0)
    e.add("OSRT_API", start=30, end=40, globalTid=gid(10, 12), nameId=e.text("read"))
    e.add("MPI_P2P_EVENTS", start=41, end=50, globalTid=gid(10, 12), textId=e.text("MPI_Send"), tag=1, remoteRank=2, size=8)
    e.add("SCHED_EVENTS", start=0, cpu=0, isSchedIn=1, globalTid=gid(10, 12))
    e.add("SCHED_EVENTS", start=90, cpu=0, isSchedIn=0, globalTid=gid(10, 12))
    e.add("COMPOSITE_EVENTS", id=1, start=2, cpu=0, threadState=1, globalTid=gid(10, 12))
    e.add("SAMPLING_CALLCHAINS", id=1, symbol=e.text("main"), module=e.text("/bin/x"), stackDepth=0)
    e.add("TARGET_INFO_GPU_METRICS", typeId=0, metricId=1, metricName="SM Active")
    e.add("GPU_METRICS", timestamp=5, typeId=0, metricId=1, value=50)
    e.add("TARGET_INFO_GPU", id=0, name="GPU", totalMemory=1, smCount=2, threadsPerWarp=32, maxWarpsPerSm=64)
    e.add("MPI_RANKS", globalTid=gid(10, 12), rank=3)
    e.directives()
    e.managed()
    e.range(5, None, "loader", kind=75, domain=2)
    e.range(20, 30, "next", domain=2)
    return e


RANKS = b"\n====\n"  # between the files of one job, in fuzz_hang.c
RAS = """NCCL version 2.28.3 compiled with CUDA 12.9

Job summary
===========

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2       2-4         8         8   RUNNING  MISMATCH

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 77 on node 10.0.0.7 managing GPUs 0,1

#0-0 (5ed) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 6 -- GPU 1 (NVML 5) managed by process 77 on node 10.0.0.7

#0-0 (5ed) ERROR
  Asynchronous error on 1 rank
  Rank 2 reported System error -- [process information not found]

Warnings
========

TIMEOUT
  Encountered 1 communication timeout while gathering communicator data

#0-0 (5ed) MISMATCH
  Communicator ranks have different status
  2 ranks have status ABORT
  Rank 1 -- GPU 0 managed by process 78 on node 10.0.0.7
  Communicator ranks have different AllReduce operation counts
  6 ranks have launched up to operation 40
  Rank 5 has launched up to operation 39 -- GPU 0 managed by process 78 on node 10.0.0.7
"""


def pickles(frames):
    """A snapshot as each protocol writes it, a history whose state is kept, and instructions that are refused."""
    state = {"segments": [{"device": 0, "address": 4096, "total_size": 4 << 20, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 1),
                           "is_expandable": False, "blocks": [{"address": 4096 + i * (1 << 20), "size": 1 << 20, "requested_size": 1 << 19,
                                                               "state": state, "frames": frames}
                                                              for i, state in enumerate(("active_allocated", "inactive", "active_pending_free",
                                                                                         "active_awaiting_free"))]}],
             "device_traces": [[{"action": action, "addr": 4096, "size": 1 << 19, "stream": 0, "time_us": 10 + i, "frames": frames}
                                for i, action in enumerate(("segment_alloc", "alloc", "free_requested", "free_completed", "alloc"))] +
                               [{"action": "oom", "size": 1 << 30, "device_free": 5, "time_us": 20, "frames": frames},
                                {"action": "segment_map", "addr": 1 << 40, "size": 2 << 20}, {"action": "segment_unmap", "addr": 1 << 40,
                                                                                             "size": 2 << 20}]],
             "external_annotations": [{"stage": stage, "name": "Optimizer.step#A", "device": 0, "time_us": 11 + i}
                                      for i, stage in enumerate(("START", "END", "START", "END"))],
             "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1, "a": 0.5, "b": True}}
    odd = {"t": (1, (2, 3), ()), "s": {1, 2}, "f": frozenset({3}), "b": b"bytes" * 60, "i": [0, -1, 255, 65536, 1 << 40, -(1 << 70)],
           "r": 1e300, "n": None, "y": [True, False], "u": "\u00e9" * 300, "a": bytearray(b"x")}
    out = {f"snapshot_{p}": pickle.dumps(state, p) for p in range(6)}
    out.update({f"odd_{p}": pickle.dumps({k: v for k, v in odd.items() if k not in "sfba" or p > 4}, p) for p in range(6)})
    head = b"\x80\x02}X\x08\x00\x00\x00segments"
    for i, code in enumerate((b"cos\nsystem\n.", b"]]R.", b"]]b.", b"(ios\nsystem\n.", b"]Q.", b"\x82\x01.", b"]\x94" + b"(h\x00h\x00e" * 9 + b".")):
        out[f"refused_{i}"] = head + code
    return out


def rocm(folder: pathlib.Path) -> None:
    """A step of a job in each form of rocprofv3, and rocprof's table; files of the real names are renamed, since the target sees bytes alone."""
    folder.mkdir(exist_ok=True)
    job = RocmJob.steps(n=1)
    job.json(folder / "json", separators=(",", ":"))
    job.tables(folder, "table_")
    for table in folder.glob("table_*.csv"):
        table.rename(folder / table.stem.removesuffix("_trace").replace("kernel", "kernels"))
    job.legacy(folder / "legacy")
    RocmDatabase(job, views=False).save(folder / "database")
    RocmDatabase(job, RocmJob.steps(2, n=1), tracked=True).save(folder / "tracked")


def main() -> None:
    """One file for each kind of event and each kind of document."""
    (HERE / "ring").mkdir(parents=True, exist_ok=True)
    for name, data in rings().items():
        (HERE / "ring" / name).write_bytes(data)
    (HERE / "names").mkdir(parents=True, exist_ok=True)
    for name, data in names().items():
        (HERE / "names" / name).write_bytes(data)
    (HERE / "kineto").mkdir(parents=True, exist_ok=True)
    for name, data in kineto().items():
        (HERE / "kineto" / name).write_bytes(data)
    (HERE / "node").mkdir(parents=True, exist_ok=True)
    for name, data in node().items():
        (HERE / "node" / name).write_bytes(data)
    (HERE / "live").mkdir(parents=True, exist_ok=True)
    for name, data in lives().items():
        (HERE / "live" / name).write_bytes(data)
    (HERE / "pods").mkdir(parents=True, exist_ok=True)
    for name, data in pods().items():
        (HERE / "pods" / name).write_bytes(data)
    (HERE / "top").mkdir(parents=True, exist_ok=True)
    text = (HERE.parent.parent / "tests/data/top/job.prom").read_bytes()      # fuzz_top.c: width, height, two looks
    for name, size in (("wide", b"\xc7\x3c"), ("narrow", b"\x50\x18"), ("one", b"\x01\x01")):
        (HERE / "top" / name).write_bytes(size + text)
    (HERE / "top/odd").write_bytes(b"\x50\x18" + b'holdup_gpu_up{uuid="\\\\\\"\\n\xff\xc2\x9b",gpu="\xe2\x80\xae"} 1 1700000000\nholdup_host_cpus +Inf\n\nx{} nan\n')
    (HERE / "counters").mkdir(parents=True, exist_ok=True)
    for name, data in counters().items():
        (HERE / "counters" / name).write_bytes(data)
    (HERE / "sums").mkdir(parents=True, exist_ok=True)
    for name, text in sums().items():
        (HERE / "sums" / name).write_text(text)
    (HERE / "rows").mkdir(parents=True, exist_ok=True)
    for name, text in tables().items():
        (HERE / "rows" / name).write_text(text)
    for folder in ("pickle", "open", "scan"):
        (HERE / folder).mkdir(parents=True, exist_ok=True)
    for name, text in EVENTS.items():
        (HERE / "scan" / name).write_text(text)
        (HERE / "open" / name).write_text(f"[{text}]")
    head = ('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU","totalGlobalMem":1,"numSms":2}],'
            '"distributedInfo":{"backend":"nccl","rank":1,"world_size":2},"record_shapes":1,"baseTimeNanoseconds":17,')
    whole = head + '"traceEvents":[\n  ' + ",\n  ".join(EVENTS.values()) + '\n],"traceName":"t"}'
    (HERE / "open/whole").write_text(whole)
    (HERE / "open/whole.gz").write_bytes(gzip.compress(whole.encode(), mtime=0))
    (HERE / "open/members.gz").write_bytes(gzip.compress(whole[:300].encode(), mtime=0) + gzip.compress(whole[300:].encode(), mtime=0))
    for name, data in perfetto().items():
        (HERE / "open" / f"perfetto_{name}").write_bytes(data)
    (HERE / "xplane").mkdir(exist_ok=True)
    for name, data in xplanes().items():
        (HERE / "xplane" / name).write_bytes(data)
    (HERE / "open/xplane").write_bytes(xplanes()["gpu"])
    nsight().save(HERE / "open/nsight")
    rocm(HERE / "rocm")
    for name in ("json", "table_kernels", "database"):
        (HERE / f"open/rocm_{name}").write_bytes((HERE / "rocm" / name).read_bytes())
    frames = [{"name": "forward", "filename": "/home/me/model.py", "line": 84}, {"name": "at::_ops::mm::call(x)", "filename": "??", "line": 0}]
    history = [{"action": action, "addr": 64, "size": 1 << 20, "stream": 0, "time_us": 10 + i, "frames": frames}
               for i, action in enumerate(("segment_alloc", "alloc", "free_requested", "free_completed", "oom"))]
    blocks = [{"size": 1 << 20, "state": state, "frames": []} for state in ("active_allocated", "inactive")]
    for protocol in (2, 5):
        (HERE / f"open/snapshot_{protocol}").write_bytes(pickle.dumps({"segments": [
            {"device": 0, "total_size": 2 << 20, "is_expandable": False, "blocks": blocks}], "device_traces": [history, []]}, protocol))
    call = {"record_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 1, "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce",
            "time_created_ns": 5, "input_sizes": [[2, 3]], "output_sizes": [[2, 3]], "input_dtypes": ["Float"], "output_dtypes": ["Float"],
            "state": "started", "retired": False, "is_p2p": False, "frames": frames}
    dump = {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "pg_status": {}, "entries": [call, call]}
    (HERE / "open/flight").write_bytes(pickle.dumps(dump, 2))
    (HERE / "open/flight_json").write_text(json.dumps(dump, sort_keys=True))
    (HERE / "hang").mkdir(exist_ok=True)
    other = dump | {"entries": [call, call | {"record_id": 1, "collective_seq_id": 2, "state": "completed"}]}
    (HERE / "hang/dumps").write_bytes(RANKS.join(pickle.dumps(d, 2) for d in (dump, other, dump | {"entries": []})))
    (HERE / "hang/json").write_bytes(RANKS.join(json.dumps(d, sort_keys=True).encode() for d in (dump, other)))
    sends = [call | {"record_id": n, "profiling_name": f"nccl:{name}", "is_p2p": True} for n, name in enumerate(("send 0->1", "recv 0<-1"))]
    (HERE / "hang/sends").write_bytes(RANKS.join(pickle.dumps(dump | {"entries": sends}, 2) for _ in range(2)))
    (HERE / "hang/ras").write_bytes(RANKS.join(RAS.replace("39", at).encode() for at in ("39", "12")))
    rank = {"rank": 0, "host": "h", "pid": 7, "cuda_dev": 1, "status": {"init_state": 0, "async_error": 6, "abort_flag": True},
            "collective_counts": {"AllReduce": 3}}
    gone = {"rank": 2, "pid": 9, "status": {"unresponsive": True, "considered_dead": True}}
    (HERE / "node_log").mkdir(exist_ok=True)
    gpu = {"gpu": "0", "uuid": "GPU-1"}
    rows = [[{"name": "holdup_gpu_power_watts", "labels": gpu, "value": 300.5}, {"name": "holdup_gpu_xid_errors_total", "labels": gpu | {"xid": "79"}, "value": k},
             {"name": "holdup_gpu_clock_event_reason", "labels": gpu | {"reason": "idle"}, "value": 1},
             {"name": "holdup_host_energy_joules_total", "labels": {"zone": "package-0"}, "value": 7 + k},
             {"name": "holdup_job_info", "labels": gpu | {"rank": "0"}, "value": 1}] for k in range(3)]
    (HERE / "node_log/lines").write_text("".join(
        json.dumps({"time": 1795000000.5 + k, "source": "nvidia", "host": "n1", "metrics": row}, separators=(",", ":")) + "\n" for k, row in enumerate(rows)))
    for name, text in monitor_texts.ALL.items():
        (HERE / f"node_log/{name}").write_text(text)
    (HERE / "node_log/two").write_text(monitor_texts.query() + "\n====\n" + monitor_texts.TOPOLOGY + monitor_texts.dmon())
    (HERE / "node_log/answer").write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": "0", "UUID": "GPU-1", "Hostname": "n1"}, "values": [[1795000000 + k, str(k)] for k in range(4)]}]}}))
    (HERE / "hang/ras_json").write_text(json.dumps({"nccl_version": "2.28.3", "communicators": [
        {"hash": "0x5", "size": 3, "ranks": [rank, rank | {"rank": 1, "collective_counts": {"AllReduce": 2}}], "missing_ranks": [gone]}]}))
    (HERE / "open/nodes").write_text('{"schema":"1.0.2","nodes":[{"id":1}]}')
    (HERE / "open/tail").write_text("[" + EVENTS["op"] + "]}}garbage")
    (HERE / "open/memory_timeline_raw").write_text("[[-1,1,1000,0],[1700000000000000000,2,40,4],[1700000000000000050,3,-40,4],[1700000000000000050,3,40,5]]")
    (HERE / "open/memory_timeline_sums").write_text("[[1700000000000000,1700000000000005],[[0,7,0,0,0,0,0,0,1],[0,0,0,0,9,0,0,0,0]]]")
    for name, data in pickles(frames).items():
        (HERE / f"pickle/{name}").write_bytes(data)


if __name__ == "__main__":
    main()
