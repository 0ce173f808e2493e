# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets: one small file for each thing that the importer knows."""
import gzip
import pathlib

HERE = pathlib.Path(__file__).resolve().parent / "corpus"

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


def main() -> None:
    """One file for each kind of event and each kind of document."""
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
    (HERE / "open/nodes").write_text('{"schema":"1.0.2","nodes":[{"id":1}]}')
    (HERE / "open/tail").write_text("[" + EVENTS["op"] + "]}}garbage")


if __name__ == "__main__":
    main()
