# SPDX-License-Identifier: Apache-2.0
"""A small job on GPUs of AMD, written as rocprofv3 writes its databases (both schemas), its JSON and its CSV, and as rocprof did.

No file of rocprofv3's database or CSV of a real run was at hand: layouts follow its published schema and documentation.
"""
from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

GUID = "0193f8a2-0000-7000-8000-00000000002a"
KINDS = {"HIP_RUNTIME_API_EXT": ["hipApiName", "hipLaunchKernel", "hipMemcpyAsync", "hipStreamSynchronize", "hipMalloc", "hipFree"],
         "HSA_CORE_API": ["hsa_init", "hsa_queue_create"], "RCCL_API": ["ncclAllReduce"],
         "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA", "roctxGetThreadId"],
         "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"],
         "MEMORY_COPY": [f"MEMORY_COPY_{w}" for w in ("NONE", "HOST_TO_HOST", "HOST_TO_DEVICE", "DEVICE_TO_HOST", "DEVICE_TO_DEVICE")],
         "MEMORY_ALLOCATION": [f"MEMORY_ALLOCATION_{w}" for w in ("NONE", "ALLOCATE", "VMEM_ALLOCATE", "FREE", "VMEM_FREE")]}
LISTS = {"HIP_RUNTIME_API_EXT": "hip_api", "HSA_CORE_API": "hsa_api", "RCCL_API": "rccl_api", "MARKER_CORE_RANGE_API": "marker_api"}
# node, kind, number among its kind, handle, name
AGENTS = [(0, "CPU", 0, 900, "AMD EPYC"), (1, "CPU", 1, 901, "AMD EPYC"), (2, "GPU", 0, 902, "AMD Instinct MI300X"), (3, "GPU", 1, 903, "AMD Instinct MI300X")]
BANKS = [{"heap_type": 1, "size_in_bytes": 1 << 37}, {"heap_type": 4, "size_in_bytes": 65536}]
SYMBOLS = {1: ("void gemm<float>(float*, \"q\", int)", "_Z4gemmPf.kd"), 2: ("ncclDevKernel_Generic", "ncclDevKernel_Generic.kd"),
           3: ("relu(float*)", "_Z4reluPf.kd")}


class Job:
    """Records of one process; times are ns since boot."""

    def __init__(self, pid: int = 908, base: int = 5_000_000_000) -> None:
        self.pid, self.base = pid, base
        self.calls: list[dict[str, Any]] = []
        self.kernels: list[dict[str, Any]] = []
        self.copies: list[dict[str, Any]] = []
        self.memory: list[dict[str, Any]] = []
        self.environment: dict[str, str] = {}

    def call(self, at: int, dur: int, kind: str, name: str, correlation: int, tid: int = 0, message: str = "") -> None:
        self.calls.append({"start": self.base + at, "end": self.base + at + dur, "kind": kind, "name": name, "correlation": correlation,
                           "tid": tid or self.pid, "message": message})

    def range(self, at: int, dur: int, text: str, correlation: int, *, of_process: bool = False) -> None:
        name = "roctxMarkA" if not dur else "roctxProcessRangeA" if of_process else "roctxThreadRangeA"
        self.call(at, dur, "MARKER_CORE_RANGE_API", name, correlation, message=text)

    def kernel(self, at: int, dur: int, symbol: int, correlation: int, *, node: int = 2, stream: int = 1, queue: int = 7) -> None:
        self.kernels.append({"start": self.base + at, "end": self.base + at + dur, "symbol": symbol, "correlation": correlation, "node": node,
                             "stream": stream, "queue": queue, "tid": self.pid, "group": (256, 1, 1), "grid": (1000, 2, 1)})

    def copy(self, at: int, dur: int, source: int, target: int, size: int, correlation: int, stream: int = 2) -> None:
        words = ("HOST" if source < 2 else "DEVICE") + "_TO_" + ("HOST" if target < 2 else "DEVICE")
        self.copies.append({"start": self.base + at, "end": self.base + at + dur, "from": source, "to": target, "size": size, "stream": stream,
                            "correlation": correlation, "tid": self.pid, "name": f"MEMORY_COPY_{words}"})

    def allocate(self, at: int, size: int | None, address: int, node: int = 2) -> None:
        self.memory.append({"start": self.base + at, "end": self.base + at + 10, "size": size, "address": address, "node": node, "tid": self.pid})

    @staticmethod
    def steps(pid: int = 908, n: int = 6) -> Job:
        """Steps of 10 ms: a copy, two kernels and a collective, each with its call; the host waits at the end; and some of everything else."""
        job, c = Job(pid), 1
        job.environment = {"RANK": str(pid % 10), "WORLD_SIZE": "4", "LOCAL_RANK": str(pid % 10), "API_KEY": "hush"}
        job.call(10, 500, "HSA_CORE_API", "hsa_init", 100_000)
        job.range(600, 0, "a mark", 100_001)
        job.range(700, 30_000_000, "epoch \"1\"", 100_002, of_process=True)
        job.range(20_000_000, 30_000_000, "other epoch", 100_003, of_process=True)
        job.allocate(800, 4096, 0x7F0000000000)
        job.allocate(900, 1024, 0x7F0000100000, node=0)         # of the host
        job.allocate(55_000_000, None, 0x7F0000000000)
        for step in range(n):
            at = 1_000_000 + step * 10_000_000
            job.range(at, 9_900_000, f"step {step}", c)
            job.call(at + 1000, 5000, "HIP_RUNTIME_API_EXT", "hipMemcpyAsync", c + 1)
            job.copy(at + 20_000, 900_000, 0, 2, 1 << 20, c + 1)
            for k, (symbol, dur) in enumerate(((1, 4_000_000), (3, 1_000_000 + 1000 * step))):
                job.call(at + 10_000 + 6000 * k, 5000, "HIP_RUNTIME_API_EXT", "hipLaunchKernel", c + 2 + k)
                job.kernel(at + 1_000_000 + 4_100_000 * k, dur, symbol, c + 2 + k)
            job.call(at + 30_000, 9000, "RCCL_API", "ncclAllReduce", c + 4)
            job.call(at + 31_000, 5000, "HIP_RUNTIME_API_EXT", "hipLaunchKernel", c + 5)
            job.kernel(at + 5_500_000, 3_000_000, 2, c + 5, stream=3, queue=8)
            job.copy(at + 8_600_000, 50_000, 2, 3, 4096, 0)
            job.call(at + 40_000, 9_000_000, "HIP_RUNTIME_API_EXT", "hipStreamSynchronize", c + 6)
            c += 7
        return job

    # JSON

    def json(self, path: Path, **how: Any) -> Path:
        path.write_text(json.dumps({"rocprofiler-sdk-tool": [self.process()]}, **how))
        return path

    def process(self) -> dict[str, Any]:
        kinds = list(KINDS)

        def common(r: dict[str, Any], kind: str, operation: str) -> dict[str, Any]:
            return {"size": 64, "kind": kinds.index(kind), "operation": KINDS[kind].index(operation), "thread_id": r["tid"],
                    "correlation_id": {"internal": r.get("correlation", 0), "external": 0}, "start_timestamp": r["start"], "end_timestamp": r["end"]}

        def triple(v: tuple[int, int, int]) -> dict[str, int]:
            return dict(zip("xyz", v, strict=True))

        handles = {a[0]: a[3] for a in AGENTS}
        records: dict[str, list[Any]] = {
            "kernel_dispatch": [common(k, "KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE") | {
                "dispatch_info": {"size": 72, "agent_id": {"handle": handles.get(k["node"], 0)}, "queue_id": {"handle": k["queue"]}, "kernel_id": k["symbol"],
                                  "dispatch_id": i + 1, "private_segment_size": 0, "group_segment_size": 512, "workgroup_size": triple(k["group"]),
                                  "grid_size": triple(k["grid"])},
                "stream_id": {"handle": k["stream"]}} for i, k in enumerate(self.kernels)]}
        for name in LISTS.values():
            records[name] = [common(c, c["kind"], c["name"]) for c in self.calls if LISTS[c["kind"]] == name]
        records["memory_copy"] = [common(c, "MEMORY_COPY", c["name"]) | {
            "dst_agent_id": {"handle": handles[c["to"]]}, "src_agent_id": {"handle": handles[c["from"]]}, "bytes": c["size"],
            "stream_id": {"handle": c["stream"]}} for c in self.copies]
        records["memory_allocation"] = [common(m, "MEMORY_ALLOCATION", "MEMORY_ALLOCATION_" + ("FREE" if m["size"] is None else "ALLOCATE")) | {
            "agent_id": {"handle": 0 if m["size"] is None else handles[m["node"]]}, "address": f"0x{m['address']:016x}", "allocation_size": m["size"] or 0}
            for m in self.memory]
        records["scratch_memory"] = []
        return {
            "metadata": {"node": {"id": 1, "hostname": "node7"}, "pid": self.pid, "init_time": self.base, "fini_time": self.base + 10**9,
                         "command": ["/usr/bin/python3", "train.py", "--token", "hush"], "config": {}},
            "agents": [{"id": {"handle": handle}, "type": 1 if kind == "CPU" else 2, "node_id": node, "logical_node_id": node, "cu_count": 304,
                        "logical_node_type_id": number, "product_name": name, "name": "gfx942", "wave_front_size": 64, "max_waves_per_cu": 32,
                        "mem_banks": BANKS if kind == "GPU" else []}
                       for node, kind, number, handle, name in AGENTS],
            "counters": [],
            "strings": {"callback_records": [], "buffer_records": [{"kind": k, "operations": o} for k, o in KINDS.items()],
                        "marker_api": [{"key": c["correlation"], "value": c["message"]} for c in self.calls if c["message"]]},
            "code_objects": [],
            "kernel_symbols": [{"kernel_id": i, "formatted_kernel_name": shown, "kernel_name": linked, "arch_vgpr_count": 24, "accum_vgpr_count": 8}
                               for i, (shown, linked) in SYMBOLS.items()],
            "host_functions": [], "summary": [], "callback_records": {"counter_collection": []}, "buffer_records": records}

    # CSV

    def tables(self, folder: Path, prefix: str = "") -> Path:
        """Returns the path of the table of kernels."""
        prefix = prefix or f"{self.pid}_"

        def write(name: str, heading: list[str], rows: list[list[Any]]) -> Path:
            path = folder / f"{prefix}{name}.csv"
            with path.open("w", newline="") as f:
                writer = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
                writer.writerow(heading)
                writer.writerows(rows)
            return path

        write("agent_info", ["Node_Id", "Logical_Node_Id", "Agent_Type", "Wave_Front_Size", "Cu_Count", "Max_Waves_Per_Cu", "Name", "Product_Name"],
              [[node, node, kind, 64, 304, 32, "gfx942", name] for node, kind, _, _, name in AGENTS])
        for name in LISTS.values():
            write(f"{name}_trace", ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
                  [[c["kind"], c["message"] or c["name"], self.pid, 0 if c["name"] == "roctxProcessRangeA" else c["tid"], c["correlation"], c["start"],
                    c["end"]] for c in self.calls if LISTS[c["kind"]] == name])
        write("memory_copy_trace", ["Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id", "Correlation_Id", "Start_Timestamp",
                                    "End_Timestamp"],
              [["MEMORY_COPY", c["name"], c["stream"], f"Agent {c['from']}", f"Agent {c['to']}", c["correlation"], c["start"], c["end"]]
               for c in self.copies])
        write("memory_allocation_trace", ["Kind", "Operation", "Agent_Id", "Allocation_Size", "Address", "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
              [["MEMORY_ALLOCATION", "MEMORY_ALLOCATION_" + ("FREE" if m["size"] is None else "ALLOCATE"),
                "" if m["size"] is None else f"Agent {m['node']}", m["size"] or 0, f"0x{m['address']:016x}", 0, m["start"], m["end"]] for m in self.memory])
        return write("kernel_trace", ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name", "Correlation_Id",
                                      "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count",
                                      "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z", "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"],
                     [["KERNEL_DISPATCH", f"Agent {k['node']}", k["queue"], k["stream"], k["tid"], i + 1, k["symbol"], SYMBOLS[k["symbol"]][0],
                       k["correlation"], k["start"], k["end"], 512, 0, 24, 8, 32, *k["group"], *k["grid"]] for i, k in enumerate(self.kernels)])

    def legacy(self, path: Path) -> Path:
        """results.csv of rocprof: kernels alone, names of which nobody quoted inside."""
        rows = ['"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","arch_vgpr","accum_vgpr","sgpr","wave_size",'
                '"sig","obj","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"']
        for i, k in enumerate(self.kernels):
            name = SYMBOLS[k["symbol"]][1].replace(".kd", " [clone .kd]")
            rows.append(f'{i},"{name}",{k["node"] - 2},{k["queue"]},{i},{self.pid},{self.pid},2000,256,512,0,24,8,32,64,"0x0","0x7f00",'
                        f'{k["start"] - 50},{k["start"]},{k["end"]},{k["end"] + 9},{k["end"] - k["start"]}')
        path.write_text("\n".join(rows) + "\n")
        return path


# Databases

OWN = {"region": "nid, pid, tid, start, end, name_id, event_id", "sample": "track_id, timestamp, event_id",
       "kernel_dispatch": "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size, group_segment_size, "
                          "workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id",
       "memory_copy": "nid, pid, tid, start, end, name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, queue_id, stream_id, event_id",
       "memory_allocate": "nid, pid, tid, agent_id, type, level, start, end, address, size, queue_id, stream_id, event_id"}
TRACKED = {"region": "track_id, name_id, start_id, end_id, event_id", "sample": "track_id, name_id, timestamp_id, event_id",
           "kernel_dispatch": "track_id, kernel_id, dispatch_id, start_id, end_id, private_segment_size, group_segment_size, workgroup_size_x, "
                              "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id",
           "memory_copy": "track_id, start_id, end_id, name_id, dst_agent_id, dst_address, src_agent_id, src_address, size, event_id",
           "memory_allocate": "track_id, type, level, start_id, end_id, name_id, address, size, event_id"}
COMMON = {"metadata": "tag, value", "string": "string", "info_node": "hash, machine_id, hostname", "info_process": "nid, ppid, pid, init, fini, command, environment",
          "info_thread": "nid, ppid, pid, tid, name", "info_agent": "nid, pid, type, absolute_index, logical_index, type_index, name, product_name, extdata",
          "info_queue": "nid, pid, name", "info_stream": "nid, pid, name", "info_kernel_symbol": "nid, pid, code_object_id, kernel_name, display_name, "
          "arch_vgpr_count, accum_vgpr_count", "event": "category_id, stack_id, parent_stack_id, correlation_id, extdata"}


class Database:
    """One file for one or more jobs; `tracked`: the schema in which rows name tracks and timestamps."""

    def __init__(self, *jobs: Job, tracked: bool = False, views: bool = True) -> None:
        self.jobs, self.tracked, self.views = jobs, tracked, views
        self.drop: set[str] = set()             # tables, or "table.column", that the file shall not have

    def save(self, path: Path) -> Path:
        path.unlink(missing_ok=True)
        db = sqlite3.connect(path)
        db.execute("PRAGMA page_size=512")
        for n, job in enumerate(self.jobs):
            self.write(db, job, f"_{GUID.replace('-', '_')}{n}")
        db.commit()
        db.close()
        return path

    def write(self, db: sqlite3.Connection, job: Job, ending: str) -> None:
        columns = COMMON | (TRACKED if self.tracked else OWN)
        if self.tracked:
            columns |= {"track": "nid, ppid, pid, tid, agent_id, queue_id, stream_id, name_id", "timestamp": "value, phase, track_id"}
        else:
            columns |= {"track": "nid, ppid, pid, tid, name_id"}
        kept = {t: [c for c in cs.split(", ") if f"{t}.{c}" not in self.drop] for t, cs in columns.items() if t not in self.drop}
        for table, names in kept.items():
            listed = ", ".join(f'"{c}"' for c in names)
            db.execute(f'CREATE TABLE "rocpd_{table}{ending}" ("id" INTEGER NOT NULL PRIMARY KEY, {listed})')
            if self.views and ending.endswith("0"):
                db.execute(f'CREATE VIEW "rocpd_{table}" AS SELECT * FROM "rocpd_{table}{ending}"')
        count: dict[str, int] = {}

        def add(table: str, row_id: int | None = None, **row: Any) -> int:
            count[table] = count.get(table, 0) + 1 if row_id is None else row_id
            if table in kept:
                names = [c for c in kept[table] if c in row]
                listed = ", ".join(f'"{c}"' for c in ["id", *names])
                db.execute(f'INSERT INTO "rocpd_{table}{ending}" ({listed}) VALUES ({", ".join("?" * (1 + len(names)))})',
                           [count[table], *(row[c] for c in names)])
            return count[table]

        texts: dict[str, int] = {}
        tracks: dict[tuple, int] = {}

        def text(value: str) -> int:
            if value not in texts:
                texts[value] = add("string", string=value)
            return texts[value]

        def event(r: dict[str, Any], kind: str) -> int:
            more = json.dumps({"message": r["message"]}) if r.get("message") else "{}"
            return add("event", category_id=text(kind), stack_id=r.get("correlation", 0), parent_stack_id=0, correlation_id=0, extdata=more)

        def where(r: dict[str, Any], **at: int | None) -> dict[str, Any]:
            if not self.tracked:
                return {"nid": 1, "pid": job.pid, "tid": r["tid"], "start": r["start"], "end": r["end"], **at}
            key = (r["tid"], *sorted(at.items()))
            if key not in tracks:
                tracks[key] = add("track", nid=1, pid=job.pid, tid=r["tid"], **at)
            return {"track_id": tracks[key], "start_id": add("timestamp", value=r["start"], phase=1), "end_id": add("timestamp", value=r["end"], phase=2)}

        for tag, value in (("schema_version", "3"), ("uuid", ending), ("guid", GUID)):
            add("metadata", tag=tag, value=value)
        add("info_node", hash=1, machine_id="m", hostname="node7")
        add("info_process", job.pid, nid=1, ppid=1, pid=job.pid, command="/usr/bin/python3 train.py --token hush", environment=json.dumps(job.environment))
        add("info_thread", job.pid, nid=1, pid=job.pid, tid=job.pid, name="main")
        for node, kind, number, _, name in AGENTS:
            add("info_agent", node, nid=1, pid=job.pid, type=kind, absolute_index=node, logical_index=node, type_index=number, name="gfx942",
                product_name=name, extdata=json.dumps({"cu_count": 304, "wave_front_size": 64, "max_waves_per_cu": 32, "mem_banks": BANKS}))
        for i, (shown, linked) in SYMBOLS.items():
            add("info_kernel_symbol", i, nid=1, pid=job.pid, kernel_name=linked, display_name=shown, arch_vgpr_count=24, accum_vgpr_count=8)
        for c in job.calls:
            if c["start"] != c["end"]:
                add("region", c["correlation"], name_id=text(c["name"]), event_id=event(c, c["kind"]), **where(c))
        for i, k in enumerate(job.kernels):
            sizes = {f"{of}_size_{x}": v for of, s in (("workgroup", k["group"]), ("grid", k["grid"])) for x, v in zip("xyz", s, strict=True)}
            add("kernel_dispatch", kernel_id=k["symbol"], dispatch_id=i + 1, group_segment_size=512, event_id=event(k, "KERNEL_DISPATCH"),
                **where(k, agent_id=k["node"], queue_id=k["queue"], stream_id=k["stream"]), **sizes)
        for c in job.copies:
            add("memory_copy", name_id=text(c["name"]), src_agent_id=c["from"], dst_agent_id=c["to"], size=c["size"],
                event_id=event(c, "MEMORY_COPY"), **where(c, stream_id=c["stream"], queue_id=None))
        for m in job.memory:
            add("memory_allocate", type="FREE" if m["size"] is None else "ALLOC", level="REAL", address=m["address"], size=m["size"] or 0,
                event_id=event(m, "MEMORY_ALLOCATION"), **where(m, agent_id=None if m["size"] is None else m["node"]))
