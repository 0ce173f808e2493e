# SPDX-License-Identifier: Apache-2.0
"""What a monitor sampled, laid beside a trace: values against those that were logged, and whose GPU it was."""
import datetime
import json
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from tests.program import EXE, SHARED, run, skip_loudly

START = 1_795_000_000  # Unix time of the traces' first slice
LENGTH = 20            # s of one
GIB = 1 << 30


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-0000-4000-8000-00000000abcd"


def trace(rank: int | None = None, base: int = START * 10**9, device: int = 0, host: str = "") -> dict[str, Any]:
    """Steps of one second with a kernel of 0.8 s each."""
    events = []
    for i in range(LENGTH):
        at = i * 1e6
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at, "dur": 1e6},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 10, "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 20, "dur": 8e5,
             "args": {"device": device, "stream": 7, "correlation": i + 1}}]
    out: dict[str, Any] = {"schemaVersion": 1, "traceEvents": events, "deviceProperties": [{"id": device, "name": "NVIDIA H100 80GB HBM3"}]}
    if base:
        out["baseTimeNanoseconds"] = base
    if rank is not None:
        out["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    if host:
        out["holdup.host"] = host
    return out


def gpus(told: dict[str, Any]) -> list[dict[str, Any]]:
    return told["ranks"][0]["gpus"]["gpus"]


def sample(gpu: int, second: float, **labels: str) -> list[tuple[str, dict[str, str], float]]:
    """Ours: GPU n draws 300 + 10 n W at 1200 MHz, of which a power cap is the reason."""
    of = {"gpu": str(gpu), "uuid": uuid(gpu)} | labels
    return [("holdup_gpu_info", of | {"model": "NVIDIA H100 80GB HBM3", "pci_bus_id": f"0000:{gpu:02x}:00.0", "driver": "550.1"}, 1),
            ("holdup_gpu_power_watts", of, 300 + 10 * gpu),
            ("holdup_gpu_power_limit_watts", of, 700),
            ("holdup_gpu_utilization_ratio", of, 0.8),
            ("holdup_gpu_sm_clock_hertz", of, 1.2e9),
            ("holdup_gpu_sm_clock_max_hertz", of, 1.98e9),
            ("holdup_gpu_memory_used_bytes", of, (gpu + 1) * GIB),
            ("holdup_gpu_temperature_celsius", of, 60 + gpu),
            ("holdup_gpu_clock_event_reason", of | {"reason": "software power cap"}, 1),
            ("holdup_gpu_clock_event_reason", of | {"reason": "idle"}, 0),
            ("holdup_gpu_energy_joules_total", of, 1e6 + (300 + 10 * gpu) * second),
            ("holdup_gpu_xid_errors_total", of | {"xid": "31"}, 2 + (second >= 5))]


def dcgm(gpu: int, second: float, **labels: str) -> list[tuple[str, dict[str, str], float]]:
    of = {"gpu": str(gpu), "UUID": uuid(gpu), "modelName": "NVIDIA H100 80GB HBM3", "pci_bus_id": f"00000000:{gpu:02X}:00.0"} | labels
    return [("DCGM_FI_DEV_POWER_USAGE", of, 300 + 10 * gpu), ("DCGM_FI_DEV_GPU_UTIL", of, 80), ("DCGM_FI_DEV_SM_CLOCK", of, 1200),
            ("DCGM_FI_DEV_FB_USED", of, (gpu + 1) * 1024), ("DCGM_FI_DEV_GPU_TEMP", of, 60 + gpu),
            ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", of, 1e9 + (300e3 + 10e3 * gpu) * second), ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", of, 4)]


Rows = list[tuple[float, list[tuple[str, dict[str, str], float]]]]


def rows(n: int, maker: Any = sample, at: float = START, ranks: bool = False, **labels: str) -> Rows:
    out: Rows = []
    for second in range(-3, LENGTH + 3):
        row = [one for gpu in range(n) for one in maker(gpu, second, **labels)]
        if ranks:
            row += [("holdup_job_info", {"gpu": str(gpu), "uuid": uuid(gpu), "rank": str(n - 1 - gpu), "job_id": "7"}, 1.0) for gpu in range(n)]
        out.append((at + second, row))
    return out


def lines(log: Rows, host: str = "n1") -> str:
    return "".join(json.dumps({"time": time, "source": "nvidia", "host": host, "metrics": [
        {"name": name, "labels": labels, "value": value} for name, labels, value in row]}, separators=(",", ":")) + "\n" for time, row in log)


def answer(log: Rows) -> str:
    """As Prometheus gives it: a series, then all its values as texts."""
    series: dict[tuple[str, tuple[tuple[str, str], ...]], list[list[Any]]] = {}
    for time, row in log:
        for name, labels, value in row:
            series.setdefault((name, tuple(sorted(labels.items()))), []).append([time, repr(value)])
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": {"__name__": name, "instance": "n1:9878"} | dict(labels), "values": values} for (name, labels), values in series.items()]}})


class Logs(unittest.TestCase):
    def setUp(self) -> None:
        keep = tempfile.TemporaryDirectory(prefix="holdup-test-")
        self.addCleanup(keep.cleanup)
        self.folder = Path(keep.name)

    def put(self, name: str, content: str | dict[str, Any]) -> Path:
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def told(self, *arguments: object) -> dict[str, Any]:
        status, out, err = run("report", *arguments, "--json", "-q")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_values_are_those_of_the_log(self) -> None:
        """One GPU and one trace: whose it is needs no word. 300 W over 0.8 of the time at work, and 300 J in a step of 1 s."""
        for name, text in (("a.jsonl", lines(rows(1))), ("a.json", answer(rows(1)))):
            with self.subTest(name):
                told = self.told(self.put("t.json", trace()), "--with", self.put(name, text))
                (gpu,) = gpus(told)
                self.assertEqual((gpu["uuid"], gpu["device"], gpu["number"], told["doubts"]), (uuid(0), 0, 0, []))
                self.assertAlmostEqual(gpu["watts"], 300)
                self.assertAlmostEqual(gpu["step_joules"], 300, delta=1)
                self.assertEqual((gpu["memory_bytes"], gpu["celsius"], gpu["sm_mhz"]), (GIB, 60, 1200))
                self.assertEqual((gpu["xid_count"], gpu["last_xid"], gpu["busy_pct"], gpu["joules"]), (1, 31, 80.0, 300.0 * LENGTH), "the two before the run began are no errors of it")
                self.assertIn("throttling", [f["id"] for f in told["findings"]])

    def test_csv_of_nvidia_smi(self) -> None:
        """With units in values, in the heading, or with a zone in the times; the same numbers as from the monitor."""
        heading = "timestamp, index, uuid, name, utilization.gpu [%], clocks.current.sm [MHz], power.draw [W], memory.used [MiB], temperature.gpu, clocks_event_reasons.active"
        local, zone = (lambda t: time.strftime("%Y/%m/%d %H:%M:%S.250", time.localtime(t))), (lambda t: time.strftime("%Y-%m-%dT%H:%M:%S.250+02:00", time.gmtime(t + 7200)))
        for form, stamp, units in (("units", local, (" %", " MHz", " W", " MiB")), ("nounits", local, ("", "", "", "")), ("zone", zone, ("", "", "", ""))):
            with self.subTest(form):
                text = heading + "\n" + "".join(
                    f"{stamp(START + s)}, 0, {uuid(0)}, NVIDIA H100 80GB HBM3, 80{units[0]}, 1200{units[1]}, 300.00{units[2]}, 1024{units[3]}, 60, 0x0000000000000004\n"
                    for s in range(-3, LENGTH + 3))
                told = self.told(self.put("t.json", trace()), "--with", self.put("smi.csv", text + "2026/11/28 1"))
                (gpu,) = gpus(told)
                self.assertEqual((gpu["uuid"], gpu["number"], told["doubts"]), (uuid(0), 0, []))
                self.assertAlmostEqual(gpu["watts"], 300)
                self.assertEqual((gpu["memory_bytes"], gpu["celsius"], gpu["sm_mhz"], gpu["busy_pct"]), (GIB, 60, 1200, 80.0))
                self.assertIn("throttling", [f["id"] for f in told["findings"]])

    def test_rows_in_any_order(self) -> None:
        """Pieces of a log that were joined in another order, rows of which change: the answer is that of rows in order."""
        heading = "timestamp, index, uuid, power.draw [W], clocks.current.sm [MHz]\n"
        in_order = [f"{time.strftime('%Y/%m/%d %H:%M:%S', time.localtime(START + s))}.000, 0, {uuid(0)}, {200 + 10 * s} W, {1000 + s} MHz\n" for s in range(LENGTH + 2)]
        told = []
        for order in (in_order, in_order[::-1], in_order[1::2] + in_order[::2]):
            (gpu,) = gpus(self.told(self.put("t.json", trace()), "--with", self.put("smi.csv", heading + "".join(order))))
            told.append(gpu)
        self.assertEqual(told[0]["watts"], told[1]["watts"])
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[0], told[2])

    def test_a_real_csv(self) -> None:
        """Eight GPUs of another day: read, and said to be apart."""
        path = SHARED / "traces/smi/gpu_glasses/nvidia_smi.csv"
        if not path.exists():
            skip_loudly(f"{path} is not there")
            self.skipTest("no such file")
        told = self.told(self.put("t.json", trace()), "--with", path)
        self.assertIn("days before the trace begins", json.dumps(told["doubts"]))
        first = datetime.datetime.fromisoformat(path.read_text().splitlines()[1].split(",")[0]).timestamp()
        told = self.told(self.put("t.json", trace(base=int(first) * 10**9)), "--with", path)
        self.assertEqual(len(gpus(told)), 8)
        watts = [float(line.split(",")[5]) for line in path.read_text().splitlines()[1:] if line.split(",")[1].strip() == "0"]
        self.assertTrue(min(watts) <= gpus(told)[0]["watts"] <= max(watts), (watts, gpus(told)[0]["watts"]))

    def test_names_of_dcgm_exporter(self) -> None:
        told = self.told(self.put("t.json", trace()), "--with", self.put("dcgm.json", answer(rows(1, dcgm))))
        (gpu,) = gpus(told)
        self.assertEqual((gpu["watts"], gpu["sm_mhz"], gpu["memory_bytes"], gpu["celsius"]), (300, 1200, GIB, 60))
        self.assertAlmostEqual(gpu["step_joules"], 300, delta=1)

    def test_each_rank_gets_its_gpu(self) -> None:
        """Ranks and GPUs are numbered the other way round here: only the job information can tell."""
        run_folder = self.folder / "run"
        run_folder.mkdir()
        for rank in range(2):
            (run_folder / f"rank{rank}.json").write_text(json.dumps(trace(rank, device=0)))
        told = self.told(run_folder, "--with", self.put("a.jsonl", lines(rows(2, ranks=True))))
        for rank in told["ranks"]:
            (gpu,) = rank["gpus"]["gpus"]
            self.assertEqual((gpu["uuid"], gpu["watts"]), (uuid(1 - rank["rank"]), 300 + 10 * (1 - rank["rank"])))

    def test_nobody_says_whose_it_is(self) -> None:
        """Two GPUs, one limited: the job may have had the other one."""
        log = [(time, [one for one in row if one[1].get("gpu") == "0" or one[1].get("reason") is None]) for time, row in rows(2)]
        log = [(time, row + [("holdup_gpu_clock_event_reason", {"gpu": "1", "uuid": uuid(1), "reason": "idle"}, 0.0)]) for time, row in log]
        told = self.told(self.put("t.json", trace()), "--with", self.put("a.jsonl", lines(log)))
        self.assertEqual([gpu["device"] for gpu in gpus(told)], [None, None])
        self.assertNotIn("throttling", [f["id"] for f in told["findings"]])

    def test_several_nodes(self) -> None:
        other = [(time, [(name, labels | {"gpu": "5", "uuid": uuid(5)}, value) for name, labels, value in row]) for time, row in rows(1)]
        log = self.put("a.jsonl", lines(rows(1), "n1") + lines(other, "n2"))
        told = self.told(self.put("t.json", trace(host="n2.cluster")), "--with", log)
        self.assertEqual([gpu["uuid"] for gpu in gpus(told)], [uuid(5)])
        told = self.told(self.put("u.json", trace()), "--with", log)
        self.assertEqual(gpus(told), [])
        self.assertIn("several nodes", told["doubts"][0]["doubt"])

    def test_two_files_are_fitted_each(self) -> None:
        """Whose doubt it is: one is of another day, the other has no times."""
        late, timeless = self.put("late.jsonl", lines(rows(1))), self.put("looks.csv", "index, uuid, power.draw [W]\n" + "0, GPU-x, 300 W\n" * 3)
        for files in ((late, timeless), (timeless, late)):
            told = self.told(self.put("t.json", trace(base=(START - 86400 * 3) * 10**9)), "--with", files[0], "--with", files[1])
            by_file = {Path(d["file"]).name: d["doubt"] for d in told["doubts"]}
            self.assertIn("it begins 2 days after the trace ends", by_file["late.jsonl"])
            self.assertIn("has no times of day", by_file["looks.csv"])
            told = self.told(self.put("t.json", trace()), "--with", files[0], "--with", files[1])
            self.assertEqual([Path(d["file"]).name for d in told["doubts"]], ["looks.csv"])

    def test_another_time_or_none(self) -> None:
        log = self.put("a.jsonl", lines(rows(1)))
        for base, said in (((START - 86400 * 3) * 10**9, "it begins 2 days after the trace ends"), (START * 10**9 + 3600 * 10**9, "before the trace begins"),
                           (0, "does not say when it was taken")):
            told = self.told(self.put("t.json", trace(base=base)), "--with", log)
            self.assertEqual(gpus(told), [])
            self.assertIn(said, told["doubts"][0]["doubt"])

    def test_named_like_any_input(self) -> None:
        log, one = self.put("a.jsonl", lines(rows(1))), self.put("t.json", trace())
        self.assertEqual(self.told(one, log)["ranks"], self.told(one, "--with", log)["ranks"])
        status, out, _ = run("info", log)
        self.assertEqual(status, 0)
        self.assertRegex(out.decode(), r"GPUs +1\n")

    def test_what_the_monitor_writes(self) -> None:
        """GPU 2 of the scenario is too hot, which its heat, its clock and the driver's words say."""
        log = self.folder / "demo.jsonl"
        monitor = subprocess.Popen([EXE, "monitor", "-q", "--demo=throttled", "--period", "0.1", "--jsonl", log], stderr=subprocess.DEVNULL)
        self.addCleanup(monitor.wait)
        self.addCleanup(monitor.kill)
        time.sleep(4)
        monitor.terminate()
        self.assertEqual(monitor.wait(10), 0)
        start = json.loads(log.read_text().splitlines()[0])["time"]
        base = trace(base=int(start * 1e9))
        base["traceEvents"] = [e for e in base["traceEvents"] if e["ts"] < 3e6]
        by_number = {gpu["number"]: gpu for gpu in gpus(self.told(self.put("t.json", base), "--with", log))}
        self.assertEqual(sorted(by_number), list(range(8)))
        self.assertIn("hardware thermal slowdown", by_number[2]["limits"])
        self.assertEqual(by_number[0]["limits"], "")
        self.assertLess(by_number[2]["sm_mhz"], by_number[0]["sm_mhz"])

    def test_bad_logs(self) -> None:
        one = self.put("t.json", trace())
        good = lines(rows(1))
        cut = self.put("cut.jsonl", good[:-300])
        self.assertEqual(len(gpus(self.told(one, "--with", cut))), 1, "the last line is still being written")
        at = good.index("\n") + 1
        told = self.told(one, "--with", self.put("torn.jsonl", good[:at] + "{\"time\":12}\n" + good[at:]))
        self.assertEqual(gpus(told), gpus(self.told(one, "--with", self.put("good.jsonl", good))), "the other lines count")
        self.assertIn(f"1 of its lines are no samples and were left out, the first at byte {at}", told["doubts"][0]["doubt"])
        for text, said in (("{}\n", "no log of holdup monitor"), (answer(rows(1))[:-400], "ends early"),
                           (lines([(START, [("holdup_host_cpus", {}, 4.0)])]), "no sample of a GPU")):
            status, out, err = run("report", one, "--with", self.put("bad.jsonl", text))
            self.assertIn(said, out.decode() + err)
            self.assertIn("bad.jsonl", out.decode() + err)
        status, out, err = run("report", self.put("only.jsonl", good))
        self.assertEqual((status, out.decode().startswith("GPU 0 reported XID 31")), (0, True), err)
        for command in (["query", cut, "select 1"], ["whatif", cut, "-e", "data=0"], ["stats", cut]):
            status, _, err = run(*command)
            self.assertEqual(status, 3)
            self.assertIn("--with FILE", err)
        status, _, err = run("report", one, "--with", one)
        self.assertEqual(status, 3)
        self.assertIn("no log of holdup monitor", err)


if __name__ == "__main__":
    unittest.main()
