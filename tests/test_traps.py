# SPDX-License-Identifier: Apache-2.0
"""What peers fall into, each on a trace that fits on a page: holdup's answer, worked out beside it, and HTA's for the same file."""
import json
import tempfile
import unittest
from pathlib import Path

from tests.program import report


def x(cat: str, name: str, pid: int, tid: int, ts: float, dur: float, **args: object) -> dict:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(name: str, ts: float, dur: float, correlation: int) -> dict:
    return x("cuda_runtime", name, 1, 1, ts, dur, correlation=correlation)


def kernel(name: str, ts: float, dur: float, correlation: int, stream: int = 7, cat: str = "kernel", **more: object) -> dict:
    return x(cat, name, 0, stream, ts, dur, stream=stream, device=0, correlation=correlation, **more)


def answers(events: list[dict]) -> tuple[dict, dict]:
    """The rank of the report, and HTA's view of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        path.write_text(json.dumps({"traceEvents": events}))
        rank = report(path, "--compat", "hta")["ranks"][0]
        return rank, rank["hta"]


class Traps(unittest.TestCase):
    def test_short_kernels_are_not_rounded(self) -> None:
        """Ten kernels of 1.9 µs at n + 0.1: 19 µs. HTA: from n + 1 to n + 2, 1 µs each."""
        events = [e for n in range(10) for e in (launch("cudaLaunchKernel", 10 * n + 5, 1, n + 1), kernel("k", 10 * n + 10.1, 1.9, n + 1))]
        rank, hta = answers(events)
        self.assertEqual(rank["gpu"]["compute_ns"], 19000)
        self.assertEqual(hta["compute_time_us"], 10)
        self.assertTrue(hta["is_rounded"])

    def test_a_triton_operator_with_a_stream_is_no_device_work(self) -> None:
        """The operator takes 50 µs on the host and names the stream it launches on; its kernel takes 2."""
        rank, hta = answers([x("cpu_op", "triton_poi_fused_add_0", 1, 1, 100, 50, stream=0), launch("cuLaunchKernel", 110, 5, 1),
                             kernel("triton_poi_fused_add_0", 160, 2, 1)])
        self.assertEqual((rank["gpu"]["busy_ns"], rank["gpu"]["span_ns"]), (2000, 2000))
        self.assertEqual((hta["compute_time_us"], hta["kernel_time_us"], hta["operator_rows"]), (52, 62, 1))

    def test_a_synchronisation_is_not_busy(self) -> None:
        """A kernel of 10; the host waits for it for 100, drawn on the device. Busy 10, not 110."""
        rank, hta = answers([launch("cudaLaunchKernel", 90, 5, 1), kernel("k", 100, 10, 1), launch("cudaStreamSynchronize", 105, 100, 2),
                             x("cuda_sync", "Stream Sync", 0, 7, 106, 98, stream=7, correlation=2, device=0)])
        self.assertEqual((rank["gpu"]["busy_ns"], rank["gpu"]["span_ns"]), (10000, 10000))
        self.assertEqual((hta["kernel_time_us"], hta["idle_time_us"], hta["sync_rows"]), (104, 0, 1))
        self.assertEqual((rank["waits"]["wait_calls"], rank["waits"]["wait_ns"]), (1, 100000))

    def test_communication_by_every_name(self) -> None:
        """Old and new NCCL, RCCL, and a collective by its arguments; 10 µs each, apart."""
        names = ["ncclKernel_AllReduce_RING_LL(int)", "ncclDevKernel_AllReduce_Sum_f32(int)", "rcclGenericKernel(int)", "something"]
        events = []
        for n, name in enumerate(names):
            more = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 10, "Out msg nelems": 10, "Group size": 2} if n == 3 else {}
            events += [launch("cudaLaunchKernel", 100 * n + 90, 5, n + 1), kernel(name, 100 * n + 100, 10, n + 1, **more)]
        rank, hta = answers(events)
        self.assertEqual((rank["gpu"]["comm_ns"], rank["gpu"]["compute_ns"]), (40000, 0))
        self.assertEqual(hta["compute_time_us"], 20)          # rccl, and the one without a telling name
        self.assertEqual(rank["communication"]["calls"], 4)

    def test_hip_launches_are_launches(self) -> None:
        """Delays 5 and 15; HTA knows no HIP name in its launch statistics, and counts "hip..." kernels as communication."""
        rank, hta = answers([launch("hipLaunchKernel", 100, 5, 1), kernel("Cijk_Ailk_MT", 110, 10, 1, stream=0),
                             launch("hipExtModuleLaunchKernel", 120, 5, 2), kernel("hipBlasKernel", 140, 10, 2, stream=0)])
        self.assertEqual((rank["launch"]["launches"], rank["launch"]["delay_median_ns"]), (2, 10000))
        self.assertEqual((rank["gpu"]["compute_ns"], rank["gpu"]["comm_ns"]), (20000, 0))
        self.assertEqual(hta["launches"], 0)

    def test_a_graph_is_expanded(self) -> None:
        """One launch, three kernels: all belong to the operator around the launch; three wait in the queue."""
        rank, _ = answers([x("cpu_op", "my::replay", 1, 1, 90, 20), launch("cudaGraphLaunch", 95, 10, 7)] +
                          [kernel(f"k{n}", 120 + 10 * n, 5, 7) for n in range(3)])
        self.assertEqual((rank["launch"]["graph_launches"], rank["launch"]["graph_work"], rank["launch"]["launches"]), (1, 3, 0))
        self.assertEqual(next(o for o in rank["operators"] if o["name"] == "my::replay")["device_total_ns"], 15000)
        self.assertEqual(rank["launch"]["queues"][0]["most"], 3)
        self.assertEqual(rank["quality"]["device_work_without_launch"], 0)

    def test_a_kernel_without_a_launch_counts(self) -> None:
        """It ran for 30 of 50; it is counted, and said to have no launch. HTA's step filter would lose it."""
        rank, _ = answers([kernel("early", 100, 30, 99), launch("cudaLaunchKernel", 120, 5, 1), kernel("k", 140, 10, 1)])
        self.assertEqual((rank["gpu"]["busy_ns"], rank["gpu"]["span_ns"]), (40000, 50000))
        self.assertEqual((rank["quality"]["device_work_without_launch"], rank["quality"]["device_work_without_launch_ns"]), (1, 30000))

    def test_the_last_step_counts(self) -> None:
        """Three steps with a kernel of 10 each: 30. HTA drops the last one."""
        events = []
        for n in range(3):
            t = 100 + 100 * n
            events += [x("user_annotation", f"ProfilerStep#{n}", 1, 1, t, 100), launch("cudaLaunchKernel", t + 10, 5, n + 1),
                       kernel("k", t + 20, 10, n + 1)]
        rank, hta = answers(events)
        self.assertEqual((rank["gpu"]["compute_ns"], rank["steps"]["count"], rank["steps"]["counted"]), (30000, 3, 3))
        self.assertEqual((hta["compute_time_us"], hta["gpu_rows"]), (20, 2))


if __name__ == "__main__":
    unittest.main()
