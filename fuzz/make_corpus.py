# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: one small file for each thing that the importer knows."""
import gzip
import pathlib
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent / "corpus"
sys.path.insert(0, str(HERE.parent.parent))
from tests import pftrace as pf  # noqa: E402   (the folder above is no package)
from tests import pipeline_job as pj  # noqa: E402

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


def rings() -> dict[str, bytes]:
    """What is poked into a ring file: {where, 16-byte units, length, bytes} (fuzz_ring.c)."""
    def record(kind: int, at: int, ident: int = 0, aux: int = 0, a: int = 0, b: int = 0) -> bytes:
        return struct.pack("<QIHHQQ", at, ident, kind, aux, a, b)

    def poke(offset: int, data: bytes, where: int = 0) -> bytes:
        return b"".join(struct.pack("<BHB", where, (offset + i) // 16 if not where else 0, len(data[i:i + 240])) + data[i:i + 240]
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
        "payload": [(2, 10, 1), (1, 0, 0, 15, 3, 16), (1, 0, 16, 6, 1, 2), (3, 20), (1, 0, 0, 15, 0x80000005, 4), (1, 0, 4, 6, 7)],
    }
    made = {name: texts + poke(2 * block + head, b"".join(record(*r) for r in records)) for name, records in types.items()}
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


def main() -> None:
    """One file for each kind of event and each kind of document."""
    (HERE / "ring").mkdir(parents=True, exist_ok=True)
    for name, data in rings().items():
        (HERE / "ring" / name).write_bytes(data)
    (HERE / "names").mkdir(parents=True, exist_ok=True)
    for name, data in names().items():
        (HERE / "names" / name).write_bytes(data)
    (HERE / "rows").mkdir(parents=True, exist_ok=True)
    for name, text in tables().items():
        (HERE / "rows" / name).write_text(text)
    for folder in ("open", "scan"):
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
    (HERE / "open/nodes").write_text('{"schema":"1.0.2","nodes":[{"id":1}]}')
    (HERE / "open/tail").write_text("[" + EVENTS["op"] + "]}}garbage")


if __name__ == "__main__":
    main()
