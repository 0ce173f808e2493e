# SPDX-License-Identifier: Apache-2.0
"""What communication could be: transfer times, latency and bandwidth, messages; planted, and computed a second time."""
import json
import math
import pathlib
import random
import statistics
import tempfile
import time
import unittest
from typing import Any

from tests.program import SANITIZED, SHARED, report, run, skip_loudly
from tests.test_scale import job as scaled_job

try:
    import jsonschema
except ImportError:
    jsonschema = None

US, MS = 1_000, 1_000_000
FACTOR = {"allreduce": lambda n: 2 * (n - 1) / n, "_allgather_base": lambda n: (n - 1) / n, "_reduce_scatter_base": lambda n: (n - 1) / n}
KERNEL = {"allreduce": "AllReduce_Sum_f32_RING_LL", "_allgather_base": "AllGather_RING_LL", "_reduce_scatter_base": "ReduceScatter_Sum_f32_RING_LL"}


class Job:
    """Ranks that compute, then meet; times in ns, written as Kineto would."""

    def __init__(self, ranks: int, hosts: int = 1, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.events: list[list[dict[str, Any]]] = [[] for _ in range(ranks)]
        self.ranks, self.hosts, self.now, self.correlation = ranks, hosts, 10**15, 0

    def put(self, rank: int, cat: str, name: str, start: int, dur: int, tid: int, **args: Any) -> None:
        self.events[rank].append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 1, "tid": tid,
                                  "ts": f"@{start // 1000}.{start % 1000:03d}@", "dur": f"@{dur // 1000}.{dur % 1000:03d}@", "args": args})

    def launch(self, rank: int, start: int, stream: int, name: str, begin: int, dur: int, **args: Any) -> None:
        self.correlation += 1
        self.put(rank, "cuda_runtime", "cudaLaunchKernel", start, 2 * US, 1, correlation=self.correlation)
        self.put(rank, "kernel", name, begin, dur, stream, stream=stream, device=0, correlation=self.correlation, **args)

    def collective(self, name: str, bytes_: int, transfer: float, members: list[int] | None = None, group: str = "0", launched: int = 0) -> None:
        members = members or list(range(self.ranks))
        arrive = {r: self.now + int(self.random.expovariate(1 / (200 * US))) for r in members}
        end = max(arrive.values()) + round(transfer)
        elements, n = bytes_ // 4, len(members)
        sizes = {"allreduce": (elements, elements), "_allgather_base": (elements // n, elements), "_reduce_scatter_base": (elements, elements // n)}[name]
        for r in members:
            self.launch(r, launched or arrive[r] - 10 * US, 20, f"ncclDevKernel_{KERNEL[name]}(x)", arrive[r], end - arrive[r], dtype="Float", **{
                "Collective name": name, "In msg nelems": sizes[0], "Out msg nelems": sizes[1], "Group size": n,
                "Process Group Name": group, "Process Group Ranks": str(members)})
        self.now = end + 1 * MS

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        for rank, list_ in enumerate(self.events):
            text = json.dumps({"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": self.ranks},
                               "host_name": f"node{rank * self.hosts // self.ranks}", "traceEvents": list_})
            (folder / f"rank{rank}.json").write_text(text.replace('"@', "").replace('@"', ""))
        return folder

    def ask(self, *arguments: Any) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as name:
            result = report(self.write(pathlib.Path(name)), *arguments)
        if jsonschema:
            jsonschema.validate(result, json.loads((pathlib.Path(__file__).parent.parent / "docs/report.schema.json").read_text()))
        return result

    def text(self, *arguments: Any) -> str:
        with tempfile.TemporaryDirectory() as name:
            return run("report", self.write(pathlib.Path(name)), *arguments)[1].decode()


def p10(values: list[float]) -> float:
    values = sorted(values)
    at = 0.1 * (len(values) - 1)
    low = math.floor(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


class Transfers(unittest.TestCase):
    def planted(self, seed: int, hosts: int = 1) -> tuple[Job, float, float]:
        r = random.Random(seed)
        job, alpha, beta = Job(4, hosts, seed), r.uniform(10, 80) * US, r.uniform(5, 400)
        for k in range(8):
            for _ in range(12):
                bytes_ = 4096 * 8**k
                job.collective("allreduce", bytes_, (alpha + bytes_ * 1.5 / beta) * r.uniform(1, 1.04))
        return job, alpha, beta

    def test_latency_and_bandwidth_are_those_that_were_planted(self) -> None:
        for seed in range(2 if SANITIZED else 10):
            job, alpha, beta = self.planted(seed, 1 + seed % 2)
            result = job.ask()["collectives"]
            self.assertEqual(len(result["fits"]), 1)
            fit = result["fits"][0]
            self.assertEqual((fit["kind"], fit["group_size"], fit["link"], fit["sizes"]), ("all-reduce", 4, ("host", "network")[seed % 2], 8))
            self.assertAlmostEqual(fit["alpha_ns"] / alpha, 1, delta=0.06)
            self.assertAlmostEqual(fit["beta_gbps"] / beta, 1, delta=0.06)
            self.assertAlmostEqual(fit["half_bytes"] / (alpha * beta / 1.5), 1, delta=0.12)
            for size in result["sizes"]:
                ratio = size["bytes"] / fit["half_bytes"]
                if not 0.8 < ratio < 1.25:
                    self.assertEqual(size["bound"], "latency" if ratio < 1 else "bandwidth")
            self.assertEqual(result["latency_bound_calls"] + result["bandwidth_bound_calls"], 96)
            self.assertEqual(result["latency_bound_calls"], sum(s["calls"] for s in result["sizes"] if s["bound"] == "latency"))

    def test_a_second_computation_agrees(self) -> None:
        """tau, algorithm and bus bandwidth of each size as TraceLens defines its latency, and nccl-tests their factors."""
        r = random.Random(5)
        job = Job(4, 2, 5)
        for _ in range(60):
            name = r.choice(list(FACTOR))
            members = r.choice([[0, 1, 2, 3], [0, 1], [2, 3], [1, 3]])
            bytes_ = 2048 * 16 ** r.randint(0, 3)
            job.collective(name, bytes_, 20 * US + bytes_ / 40 * r.uniform(1, 1.3), members, str(members))
        shortest: dict[tuple, list[int]] = {}
        calls: dict[tuple, list[int]] = {}
        order: dict[tuple, int] = {}
        for rank, list_ in enumerate(job.events):
            for e in list_:
                if e["cat"] != "kernel":
                    continue
                a = e["args"]
                members = json.loads(a["Process Group Ranks"])
                at = order[rank, a["Process Group Ranks"]] = order.get((rank, a["Process Group Ranks"]), -1) + 1
                bytes_ = 4 * (a["Out msg nelems"] if "gather" in a["Collective name"] else a["In msg nelems"])
                link = "host" if len({m // 2 for m in members}) == 1 else "network"
                key = (a["Collective name"], bytes_, len(members), link, a["Process Group Ranks"], at)
                calls.setdefault(key, []).append(round(float(e["dur"].strip("@")) * 1000))
        for key, durations in calls.items():
            self.assertEqual(len(durations), key[2])
            shortest.setdefault(key[:4], []).append(min(durations))
        result = job.ask()["collectives"]
        self.assertEqual(result["matched"], 60)
        seen = {(s["name"], s["bytes"], s["group_size"], s["link"]): s for s in result["sizes"]}
        self.assertEqual(seen.keys(), shortest.keys())
        for key, list_ in shortest.items():
            size, tau = seen[key], p10(list_)
            self.assertAlmostEqual(size["transfer_ns"], tau, delta=1)
            self.assertAlmostEqual(size["median_transfer_ns"], statistics.median(list_), delta=1)
            self.assertEqual((size["calls"], size["total_transfer_ns"]), (len(list_), sum(list_)))
            self.assertAlmostEqual(size["alg_gbps"], key[1] / tau, places=3)
            self.assertAlmostEqual(size["bus_gbps"], key[1] / tau * FACTOR[key[0]](key[2]), places=3)

    def test_sizes_near_each_other_tell_no_latency(self) -> None:
        job = Job(4)
        for bytes_ in (1 << 20, 2 << 20, 7 << 20):
            for _ in range(10):
                job.collective("allreduce", bytes_, 1e5 + bytes_ / 10)
        result = job.ask()["collectives"]
        self.assertEqual(result["fits"], [])
        self.assertEqual({s["bound"] for s in result["sizes"]}, {""})
        self.assertEqual({s["bandwidth_pct"] for s in result["sizes"]}, {None})

    def test_another_protocol_is_another_line(self) -> None:
        job = Job(4)
        for k in range(14):
            bytes_ = 8192 * 2**k
            for _ in range(6):
                job.collective("allreduce", bytes_, 10 * US + bytes_ * 1.5 / 10 if k < 7 else 60 * US + bytes_ * 1.5 / 150)
        small, large = job.ask()["collectives"]["fits"]
        self.assertAlmostEqual(small["alpha_ns"], 10 * US, delta=1 * US)
        self.assertAlmostEqual(small["beta_gbps"], 10, delta=0.5)
        self.assertAlmostEqual(large["beta_gbps"], 150, delta=8)
        self.assertEqual((small["to_bytes"], large["from_bytes"]), (8192 * 64, 8192 * 128))

    def test_the_text_says_it(self) -> None:
        job, _, _ = self.planted(3, 2)
        text = job.text()
        self.assertIn("communication without waiting", text)
        self.assertIn("all-reduce between 4 ranks on several hosts: ", text)
        self.assertRegex(text, r"µs and \d+(\.\d+)? GB/s, equal at")
        self.assertRegex(text, r"\n .* latency +4  allreduce")
        self.assertRegex(text, r"\n .* bandwidth +4  allreduce")
        self.assertTrue(all(len(line) <= 80 for line in text.split("RANKS")[1].split("WHERE")[0].splitlines()), text)

    def test_one_rank_alone_fits_what_it_sees(self) -> None:
        job, alpha, beta = self.planted(4)
        with tempfile.TemporaryDirectory() as name:
            result = report(job.write(pathlib.Path(name)) / "rank0.json")
            text = run("report", pathlib.Path(name) / "rank0.json", "--view", "comm")[1].decode()
        self.assertIsNone(result["collectives"])
        fit = result["ranks"][0]["communication"]["fits"][-1]
        self.assertGreater(fit["alpha_ns"], 0.9 * alpha)        # it waited as well
        self.assertAlmostEqual(fit["beta_gbps"] / beta, 1, delta=0.25)
        rows = sorted(result["ranks"][0]["communication"]["collectives"], key=lambda c: c["bytes"])
        self.assertEqual([rows[0]["bound"], rows[-1]["bound"]], ["latency", "bandwidth"])
        self.assertIn("waiting for other ranks included", text.replace("\n", " "))


def message(job: Job, source: int, target: int, elements: int, start: int, late: int, transfer: int) -> None:
    """`late` > 0: the sender comes so much later than the receiver; < 0 the receiver."""
    send, receive = start + max(late, 0), start + max(-late, 0)
    end = max(send, receive) + transfer
    for rank, name, begin, peer in ((source, "send", send, {"Dst Rank": target}), (target, "recv", receive, {"Src Rank": source})):
        args = {"Collective name": name, "dtype": "Float", "In msg nelems": elements, "Out msg nelems": elements, "Group size": job.ranks, "Process Group Name": "0", **peer}
        job.put(rank, "cpu_op", "record_param_comms", begin - 15 * US, 12 * US, 1, **args)
        job.launch(rank, begin - 10 * US, 21, "ncclDevKernel_SendRecv(x)", begin, end - begin, **args)


class Messages(unittest.TestCase):
    def test_sends_meet_their_receives(self) -> None:
        job, r, truth = Job(4), random.Random(1), {"late_sender_ns": 0, "late_receiver_ns": 0}
        of = [{"late_sender_ns": 0, "late_receiver_ns": 0} for _ in range(4)]
        for k in range(80):
            source = r.randrange(3)
            late = r.randint(-500, 500) * US
            message(job, source, source + 1, 10000, 10**15 + k * 5 * MS, late, 100 * US)
            key, who = ("late_sender_ns", source + 1) if late > 0 else ("late_receiver_ns", source)
            truth[key] += abs(late)
            of[who][key] += abs(late)
        result = job.ask()
        m = result["messages"]
        self.assertEqual((m["matched"], m["unmatched"], m["peer_missing"], m["sizes_differ"]), (80, 0, 0, 0))
        self.assertEqual({k: m[k] for k in truth}, truth)
        self.assertEqual([{k: rank["rendezvous"][k] for k in truth} for rank in result["ranks"]], of)
        self.assertEqual(sum(p["messages"] for p in m["paths"]), 80)
        self.assertEqual(sum(p["bytes"] for p in m["paths"]), 80 * 40000)
        self.assertEqual({(p["source"], p["target"]) for p in m["paths"]}, {(0, 1), (1, 2), (2, 3)})
        self.assertEqual(result["clocks"]["violations"], 0)
        self.assertGreaterEqual(result["clocks"]["checked"], 80)
        self.assertEqual([(s["name"], s["kind"], s["bytes"], s["calls"], s["transfer_ns"]) for s in result["collectives"]["sizes"]],
                         [("send", "send", 40000, 80, 100 * US)])
        self.assertEqual((result["collectives"]["matched"], result["collectives"]["unmatched"]), (0, 0))
        self.assertIn("80 sends matched", job.text())

    def test_what_has_no_partner_is_counted(self) -> None:
        job = Job(3)
        for k in range(10):
            message(job, 0, 1, 100, 10**15 + k * MS, 0, 10 * US)
            message(job, 1, 2, 100, 10**15 + k * MS + 300 * US, 0, 10 * US)
        job.events[1] = [e for e in job.events[1] if e["args"].get("Src Rank") != 0 or e["cat"] != "kernel" or float(e["ts"].strip("@")) < 10**12 + 8 * 1000]
        with tempfile.TemporaryDirectory() as name:
            folder = job.write(pathlib.Path(name))
            (folder / "rank2.json").unlink()
            m = report(folder)["messages"]
        self.assertEqual((m["matched"], m["unmatched"], m["peer_missing"]), (8, 2, 10))

    def test_batches_are_told_apart_by_their_operators(self) -> None:
        """batch_isend_irecv: operators with peers and no kernels, then one kernel without a peer."""
        job = Job(2)
        for k in range(6):
            start = 10**15 + k * 5 * MS
            for rank, begin in ((0, start), (1, start + (k + 1) * 100 * US)):
                for i, (name, key) in enumerate((("send", "Dst Rank"), ("recv", "Src Rank"))):
                    job.put(rank, "cpu_op", "record_param_comms", begin - (60 - 20 * i) * US, 10 * US, 1, **{
                        "Collective name": name, "dtype": "Float", "In msg nelems": 64, "Out msg nelems": 64, "Group size": 2, "Process Group Name": "0", key: 1 - rank})
                job.launch(rank, begin - 10 * US, 21, "ncclDevKernel_SendRecv(x)", begin, start + (k + 1) * 100 * US + 50 * US - begin)
        result = job.ask()
        m = result["messages"]
        self.assertEqual((m["matched"], m["unmatched"]), (12, 0))
        late = sum((k + 1) * 100 * US for k in range(6))
        self.assertEqual((m["late_sender_ns"], m["late_receiver_ns"]), (late, late))     # 0 waits both ways: for 1's data, and to be rid of its own
        self.assertEqual([r["rendezvous"]["late_sender_ns"] for r in result["ranks"]], [late, 0])
        self.assertEqual([r["rendezvous"]["late_receiver_ns"] for r in result["ranks"]], [late, 0])
        self.assertEqual(result["ranks"][0]["communication"]["calls"], 6)


class Clocks(unittest.TestCase):
    def test_pipeline_stages_on_their_own_hosts_have_one_clock(self) -> None:
        """2 x 2: data-parallel pairs (0, 1) and (2, 3), and pairs across stages (0, 2) and (1, 3)."""
        offsets, job = [0, 3 * MS, -4 * MS, 1 * MS], Job(4, 4, 8)
        r = random.Random(8)
        for k in range(150):
            for members in ([0, 1], [2, 3], [0, 2], [1, 3]):
                job.collective("allreduce", 4096, 30 * US, members, str(members))
            job.now += r.randint(0, 1000)
        for rank, list_ in enumerate(job.events):
            for e in list_:
                at = round(float(e["ts"].strip("@")) * 1000) + offsets[rank] + int(r.expovariate(1 / 2000))
                e["ts"] = f"@{at // 1000}.{at % 1000:03d}@"
        result = job.ask()
        clocks = result["clocks"]
        self.assertEqual((clocks["hosts"], clocks["links"], clocks["ranks_without_clock"]), (4, 4, 0))
        self.assertLess(clocks["cycle_ns"], 2 * US)
        self.assertLess(clocks["error_ns"], 3 * US)
        self.assertEqual(clocks["violations"], 0)
        for rank, truth in enumerate(offsets):
            self.assertAlmostEqual(result["ranks"][rank]["rendezvous"]["clock_offset_ns"], truth, delta=2 * US)
        self.assertIn("4 clocks known to ±", job.text())


    def test_a_device_beside_its_host(self) -> None:
        """One of four ranks of a host ends 400 us after the others, always: its device's clock."""
        job = Job(4)
        for _ in range(40):
            job.collective("allreduce", 4096, 30 * US)
        for e in job.events[2]:
            at = round(float(e["ts"].strip("@")) * 1000) + 400 * US
            e["ts"] = f"@{at // 1000}.{at % 1000:03d}@"
        result = job.ask()
        self.assertEqual([r["rendezvous"]["clock_device_ns"] for r in result["ranks"]], [0, 0, 400 * US, 0])
        self.assertEqual([r["rendezvous"]["clock_offset_ns"] for r in result["ranks"]], [0, 0, 0, 0])
        self.assertEqual((result["clocks"]["violations"], result["clocks"]["hosts"]), (0, 1))
        self.assertIn("1 GPU clock is off the host's by up to 400 µs", job.text().replace("\n  ", " "))


class Recognition(unittest.TestCase):
    """Which kernels are communication: by their names, or because a collective of PyTorch launched them."""

    def kinds(self, kernels: list[tuple[str, str, bool]]) -> dict[str, bool]:
        """Name, operator around its launch ("" none), beside a kernel of NCCL; each with 1 us more than the last: is it communication?"""
        job = Job(1)
        for i, (name, op, beside) in enumerate(kernels):
            start = 10**15 + i * MS
            if op:
                job.put(0, "cpu_op", op, start, 100 * US, 1)
            job.launch(0, start + 10 * US, 7, name, start + 200 * US, (i + 1) * US)
            if beside:
                job.launch(0, start + 20 * US, 20, "ncclDevKernel_AllGather_RING_LL(x)", start + 200 * US, 1 * US)
        with tempfile.TemporaryDirectory() as folder:
            rank = report(job.write(pathlib.Path(folder)) / "rank0.json", "--top", 1000)["ranks"][0]
        communication = {k["name"] for k in rank["kernels"] if k["family"] == "communication"}
        self.assertEqual(rank["gpu"]["comm_kernels"], sum(n in communication for n, _, _ in kernels) + sum(b for _, _, b in kernels))
        return {name: name in communication for name, _, _ in kernels}

    def test_libraries_are_known_by_their_kernels(self) -> None:
        names = ["ncclDevKernel_SendRecv(x)", "ncclKernel_AllReduce_RING_LL_Sum_float(x)", "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*)",
                 "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)", "void sglang::cross_device_reduce_2stage<__half, 2>()",
                 "void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(x)", "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<2>(x)",
                 "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(x)1, __nv_bfloat16>(y)",
                 "quickreduce::allreduce_prototype_twoshot<A, __half>(x)", "userbuffers_fp16_sum_inplace_gpu_rw_ag(int)", "kuserbuffers_pushsend(int*)",
                 "void deep_ep::internode::notify_dispatch<false, 4>(int const*)", "void deep_ep::intranode::combine<x>(y)", "dpsk::ep::internode::dispatch(x)",
                 "nvshmemi_transfer_rma_kernel(x)", "EpDispatchIntraNodeKernel_bf16", "moeA2ADispatchKernel(x)"]
        seen = self.kinds([(name, "", False) for name in names])
        self.assertEqual([n for n, is_comm in seen.items() if not is_comm], [])
        others = ["void at::native::vectorized_elementwise_kernel<4>(x)", "sm90_xmma_gemm_f16f16(x)", "void vllm::reshape_and_cache_kernel<x>(y)"]
        self.assertEqual([n for n, is_comm in self.kinds([(name, "", False) for name in others]).items() if is_comm], [])

    def test_what_a_collective_launches_is_one(self) -> None:
        copy, unknown = "void at::native::vectorized_elementwise_kernel<4>(x)", "acme::exchange_tiles(x)"
        for op in ("c10d::alltoall_base_", "record_param_comms", "nccl:all_to_all", "oneccl_bindings_for_pytorch::alltoall"):
            self.assertEqual(self.kinds([(unknown, op, False)]), {unknown: True}, op)
        self.assertEqual(self.kinds([("acme_all_reduce_ring(x)", "c10d::allreduce_", False)]), {"acme_all_reduce_ring(x)": True})
        self.assertEqual(self.kinds([(unknown, "aten::mm", False), (copy, "c10d::allgather_", False)]), {unknown: False, copy: False})
        self.assertEqual(self.kinds([(unknown, "c10d::allgather_", True)]), {unknown: False})       # it prepares or copies for the one of NCCL

    def test_symmetric_memory_is_labelled_and_counted_as_the_peers_do(self) -> None:
        job, name = Job(1), "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)"
        job.launch(0, 10**15, 7, name, 10**15 + 50 * US, 5 * US)
        with tempfile.TemporaryDirectory() as folder:
            rank = report(job.write(pathlib.Path(folder)) / "rank0.json")["ranks"][0]
        self.assertEqual((rank["kernels"][0]["family"], rank["gpu"]["comm_kernels"], rank["gpu"]["compute_kernels"]), ("communication", 0, 1))

    def test_another_tool_keeps_its_own_words(self) -> None:
        job = Job(1)
        job.launch(0, 10**15, 7, "void deep_ep::intranode::combine<x>(y)", 10**15 + 50 * US, 5 * US)
        job.launch(0, 10**15 + 100 * US, 7, "ncclDevKernel_AllReduce(x)", 10**15 + 150 * US, 7 * US)
        with tempfile.TemporaryDirectory() as folder:
            rank = report(job.write(pathlib.Path(folder)) / "rank0.json", "--compat", "tracelens")["ranks"][0]
        self.assertEqual(rank["gpu"]["comm_ns"], 12 * US)
        self.assertEqual((rank["tracelens"]["total_comm_time_ns"] if "total_comm_time_ns" in rank["tracelens"] else rank["tracelens"]["comm_ns"]), 7 * US)


class Findings(unittest.TestCase):
    def test_what_a_collective_needs_is_evidence(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            scaled_job(pathlib.Path(name) / "job", 4, compute=4000 * US, transfer=3000 * US)
            found = {f["id"]: f for f in report(pathlib.Path(name) / "job", "--top", 30)["findings"]}
        self.assertIn("without waiting, allreduce of 4.00 MB takes 3.00 ms per call", found["poor-overlap"]["evidence"])


class Scale(unittest.TestCase):
    @unittest.skipIf(SANITIZED, "too slow under sanitizers")
    def test_many_ranks_and_groups_take_seconds(self) -> None:
        job = Job(128, 16)
        for _ in range(30):
            for host in range(16):
                for kind in ("allreduce", "_allgather_base"):
                    job.collective(kind, 1 << 20, 50 * US, list(range(8 * host, 8 * host + 8)), f"tp{host}")
            for local in range(8):
                job.collective("allreduce", 1 << 22, 500 * US, list(range(local, 128, 8)), f"dp{local}")
        with tempfile.TemporaryDirectory() as name:
            folder = job.write(pathlib.Path(name))
            begin = time.monotonic()
            result = report(folder)
            self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(result["collectives"]["matched"], 30 * (32 + 8))
        self.assertEqual((result["clocks"]["hosts"], result["clocks"]["links"], result["clocks"]["ranks_without_clock"]), (16, 15, 0))


class Real(unittest.TestCase):
    def test_real_ranks(self) -> None:
        folder = SHARED / "traces/kineto/astra-sim-megatron-tp8"
        if not folder.is_dir():
            skip_loudly("the eight real ranks of shared/traces/kineto/astra-sim-megatron-tp8 are not present")
            self.skipTest("no shared traces")
        result = report(folder)
        self.assertEqual(sum(s["calls"] for s in result["collectives"]["sizes"]), 84)
        self.assertEqual(sum(s["total_transfer_ns"] for s in result["collectives"]["sizes"]), result["ranks"][0]["rendezvous"]["transfer_ns"])
        self.assertGreater(result["clocks"]["agreement"], 0.99)
        self.assertEqual(result["clocks"]["ranks_without_clock"], 0)
        self.assertNotIn("communication without waiting", run("report", folder)[1].decode())    # no sizes were recorded


if __name__ == "__main__":
    unittest.main()
