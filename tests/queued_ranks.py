# SPDX-License-Identifier: Apache-2.0
"""Ranks of a data-parallel job whose GPUs are the limit, captured in the middle: their hosts run many steps ahead and block on a full queue, so
most of what runs in the capture was launched before it, and what is launched in it runs behind it."""
import dataclasses
import json
import pathlib
import random
import statistics
from typing import Any

US = 1000
LAUNCH, LATENCY = 5 * US, 3 * US


@dataclasses.dataclass
class Queued:
    ranks: int = 4
    steps: int = 40
    first: int = 20             # step of the capture
    captured: int = 6
    layers: int = 8
    queue: int = 120            # pieces of work of one stream that may be outstanding
    shared: bool = False        # or of all streams
    transfer: int = 400 * US
    seed: int = 0
    numbers: bool = True        # collectives have their sequence number
    slow: int = -1
    factor: float = 1.5

    def run(self) -> tuple[float, list[list[dict[str, Any]]]]:
        """The period of a step in ns, and the events of each rank."""
        r, n = random.Random(self.seed), self.ranks
        base = [r.randint(800, 2000) * US for _ in range(self.layers)]
        host = [0] * n
        free = [{7: 0, 20: 0} for _ in range(n)]
        done: list[dict[int, list[int]]] = [{7: [], 20: []} for _ in range(n)]
        calls: list[list[tuple]] = [[] for _ in range(n)]
        work: list[list[tuple]] = [[] for _ in range(n)]
        number = [0] * n
        marks: list[list[tuple[int, int]]] = [[] for _ in range(n)]
        ends: list[list[int]] = []

        def launch(q: int, stream: int) -> int:
            """Blocks while the queue of the stream is full."""
            number[q] += 1
            start, full = host[q], sorted(done[q][7] + done[q][20]) if self.shared else done[q][stream]
            end = max(start + LAUNCH, full[-self.queue] if len(full) >= self.queue else 0)
            calls[q].append(("cudaLaunchKernel", start, end - start, number[q]))
            host[q] = end + 10 * US
            return end + LATENCY

        def wait(q: int, stream: int, on: int) -> None:
            number[q] += 2
            calls[q] += [("cudaEventRecord", host[q], US, number[q] - 1), ("cudaStreamWaitEvent", host[q] + US, US, number[q])]
            work[q].append(("wait", host[q] + US, stream, number[q], on, number[q] - 1))
            host[q] += 2 * US

        for k in range(self.steps):
            begin = list(host)
            for layer in range(self.layers):
                arrive, named = [0] * n, [0] * n
                for q in range(n):
                    cost = int(base[layer] * (self.factor if q == self.slow else 1) * r.uniform(0.99, 1.01))
                    start = max(launch(q, 7), free[q][7] + US)
                    work[q].append(("kernel", f"gemm{layer}", start, cost, 7, number[q], -1))
                    free[q][7] = start + cost
                    done[q][7].append(start + cost)
                    wait(q, 20, 7)
                    arrive[q] = max(launch(q, 20), free[q][20] + US, free[q][7] + US)
                    named[q] = number[q]
                end = max(arrive) + self.transfer
                for q in range(n):
                    work[q].append(("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", arrive[q], end - arrive[q], 20, named[q], k * self.layers + layer))
                    free[q][20] = end
                    done[q][20].append(end)
            for q in range(n):
                wait(q, 7, 20)
                start = max(launch(q, 7), free[q][7] + US, free[q][20] + US)
                free[q][7] = start + 300 * US
                done[q][7].append(free[q][7])
                work[q].append(("kernel", "adam", start, 300 * US, 7, number[q], -1))
                marks[q].append((begin[q], host[q]))
            ends.append([free[q][7] for q in range(n)])
        half = self.steps // 2
        return statistics.mean((ends[-1][q] - ends[half][q]) / (self.steps - 1 - half) for q in range(n)), [
            self.capture(q, calls[q], work[q], marks[q], ends) for q in range(n)]

    def capture(self, q: int, calls: list[tuple], work: list[tuple], marks: list[tuple[int, int]], ends: list[list[int]]) -> list[dict[str, Any]]:
        last = self.first + self.captured - 1
        begin, end = marks[self.first][0], marks[last][1]
        newest = max(c[3] for c in calls if c[1] < end)
        events: list[dict[str, Any]] = []

        def put(cat: str, name: str, ts: int, dur: int, tid: int, **args: Any) -> None:
            events.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat in ("kernel", "cuda_sync") else 1, "tid": tid, "ts": ts / 1000, "dur": dur / 1000, "args": args})

        for name, start, dur, number in calls:
            if begin <= start < end:
                put("cuda_runtime", name, start, dur, 1, correlation=number)
        for what in work:
            if what[0] == "wait":
                _, at, stream, number, on, record = what
                if begin <= at < end:
                    put("cuda_sync", "Stream Wait Event", at, US, stream, stream=stream, device=0, context=1, correlation=number, wait_on_stream=on,
                        wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=1)
                continue
            _, name, start, dur, stream, number, sequence = what
            if start + dur <= begin or number > newest:
                continue
            args: dict[str, Any] = {"stream": stream, "device": 0, "context": 1, "correlation": number}
            if sequence < 0:
                args.update(grid=[100, 1, 1], block=[128, 1, 1])
            else:
                args.update({"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": self.ranks,
                             "Process Group Name": "0", "Process Group Ranks": str(list(range(self.ranks)))})
                if self.numbers:
                    args["Seq"] = sequence
            put("kernel", name, start, dur, stream, **args)
        for k in range(self.first, last + 1):
            put("user_annotation", f"ProfilerStep#{k}", marks[k][0], marks[k][1] - marks[k][0], 1)
        put("cuda_runtime", "cudaDeviceSynchronize", end, max(ends[last][q] - end, 0) + 5 * US, 1, correlation=10**6)
        return events

    def write(self, folder: pathlib.Path) -> float:
        step, events = self.run()
        for rank, own in enumerate(events):
            (folder / f"rank{rank}.json").write_text(json.dumps({
                "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "host_name": "node0",
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.ranks}, "traceEvents": own}))
        return step
