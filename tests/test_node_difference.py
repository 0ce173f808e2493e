# SPDX-License-Identifier: Apache-2.0
"""`holdup diff` of what monitors sampled of two runs: means and their errors are computed here from what was written."""
from __future__ import annotations

import json
import math
import random
import statistics
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, run, skip_loudly

START = 1_795_000_000
MIB = 1 << 20
H100 = "NVIDIA H100 80GB HBM3"


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-0000-4000-8000-00000000abcd"


class Run:
    """Samples of GPUs, one a second; `busy`, `watts`, `mhz` are means of what varies."""

    def __init__(self, seed: int, n: int = 60, gpus: int = 2, busy: float = 60, watts: float = 400, mhz: float = 1500, capped: float = 0.0, mib: int = 40000, celsius: int = 60):
        rng = random.Random(seed)
        self.n, self.gpus = n, gpus
        self.at = [[{"busy": min(100, max(0, round(rng.gauss(busy, 4)))), "watts": round(rng.gauss(watts, 8), 2), "mhz": round(rng.gauss(mhz, 15)), "mem": 2619,
                     "bits": 4 if rng.random() < capped else 0, "mib": mib, "celsius": celsius + rng.randint(0, 1)} for _ in range(gpus)] for _ in range(n)]

    def looks(self) -> list[tuple[int, int, dict[str, Any]]]:
        return [(i, g, self.at[i][g]) for i in range(self.n) for g in range(self.gpus)]

    def series(self, gpu: int, key: str) -> list[float]:
        return [row[gpu][key] for row in self.at]

    def csv(self, first: int = 0, name: str = H100) -> str:
        heading = "timestamp, index, uuid, name, utilization.gpu [%], clocks.current.sm [MHz], clocks.max.sm [MHz], " \
            "clocks.current.memory [MHz], power.draw [W], memory.used [MiB], temperature.gpu, clocks_event_reasons.active\n"
        return heading + "".join(f"2026/11/18 18:{26 + i // 60:02}:{i % 60:02}.000, {g}, {uuid(first + g)}, {name}, {v['busy']} %, {v['mhz']} MHz, 1980 MHz, {v['mem']} MHz, {v['watts']} W, "
                                 f"{v['mib']} MiB, {v['celsius']}, "
                                 f"0x{v['bits']:016x}\n" for i, g, v in self.looks())

    def jsonl(self, host: str = "n1") -> str:
        out = ""
        for i in range(self.n):
            metrics = []
            for g in range(self.gpus):
                v, labels = self.at[i][g], {"gpu": str(g), "uuid": uuid(g)}
                metrics += [{"name": name, "labels": labels, "value": value} for name, value in (
                    ("holdup_gpu_utilization_ratio", v["busy"] / 100), ("holdup_gpu_sm_clock_hertz", v["mhz"] * 1e6), ("holdup_gpu_memory_clock_hertz", v["mem"] * 1e6),
                    ("holdup_gpu_power_watts", v["watts"]),
                    ("holdup_gpu_memory_used_bytes", v["mib"] * MIB), ("holdup_gpu_temperature_celsius", v["celsius"]))]
                metrics.append({"name": "holdup_gpu_clock_event_reason", "labels": labels | {"reason": "software power cap"}, "value": int(v["bits"] > 0)})
            out += json.dumps({"time": START + i, "source": "nvidia", "host": host, "metrics": metrics}) + "\n"
        return out

    def dcgm(self) -> list[tuple[str, dict[str, str], int, float]]:
        return [(name, {"gpu": str(g), "UUID": uuid(g), "modelName": H100, "Hostname": "n1"}, i, value) for i, g, v in self.looks() for name, value in (
            ("DCGM_FI_DEV_GPU_UTIL", v["busy"]), ("DCGM_FI_DEV_SM_CLOCK", v["mhz"]), ("DCGM_FI_DEV_MEM_CLOCK", v["mem"]), ("DCGM_FI_DEV_POWER_USAGE", v["watts"]), ("DCGM_FI_DEV_FB_USED", v["mib"]),
            ("DCGM_FI_DEV_GPU_TEMP", v["celsius"]), ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", v["bits"]))]

    def scrapes(self) -> str:
        return "".join("%s{%s} %s %d\n" % (name, ",".join(f'{k}="{v}"' for k, v in labels.items()), value, (START + i) * 1000) for name, labels, i, value in self.dcgm())

    def prometheus(self) -> str:
        series: dict[str, tuple[dict[str, str], list[list[Any]]]] = {}
        for name, labels, i, value in self.dcgm():
            series.setdefault(name + labels["gpu"], (labels | {"__name__": name}, []))[1].append([START + i, str(value)])
        return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [{"metric": m, "values": v} for m, v in series.values()]}})

    def dmon(self) -> str:
        return "# gpu   pwr gtemp    sm   mem  mclk  pclk    fb\n# Idx     W     C     %     %   MHz   MHz    MB\n" + "".join(
            f"  {g}   {v['watts']:.0f}   {v['celsius']}   {v['busy']}   40   {v['mem']}   {v['mhz']}   {v['mib']}\n" for _, g, v in self.looks())


def error(a: list[float], b: list[float]) -> float:
    """One standard error of the difference of the means, by eight blocks each."""
    def of(values: list[float]) -> float:
        blocks = [statistics.mean(values[i * len(values) // 8:(i + 1) * len(values) // 8]) for i in range(8)]
        mean = statistics.mean(values)
        return math.sqrt(sum((x - mean) ** 2 for x in blocks) / 7 / 8)
    return math.hypot(of(a), of(b))


class NodeDifference(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def told(self, a: str, b: str) -> dict[str, Any]:
        status, out, err = run("diff", self.put("a", a), self.put("b", b), "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual(told["kind"], "node_difference")
        return told

    def text(self, a: str, b: str) -> str:
        status, out, err = run("diff", self.put("a", a), self.put("b", b))
        self.assertEqual(status, 0, err)
        self.assertTrue(all(len(line) <= 80 for line in out.decode().splitlines()), out.decode())
        return " ".join(out.decode().split())

    @staticmethod
    def changes(told: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {c["name"]: c for c in told}

    def test_numbers_of_every_format(self) -> None:
        a, b = Run(1), Run(2, n=50, busy=93, watts=612, mhz=1905, mib=60000)
        for name in ("csv", "jsonl", "scrapes", "prometheus", "dmon"):
            with self.subTest(name):
                told = self.told(getattr(a, name)(), getattr(b, name)())
                self.assertEqual((told["only_in_a"], told["only_in_b"], [g["number"] for g in told["gpus"]]), (0, 0, [0, 1]))
                for gpu in told["gpus"]:
                    got = self.changes(gpu["changes"])
                    for key, of, by in (("busy_pct", "busy", 1), ("watts", "watts", 1), ("memory_mhz", "mem", 1), ("memory_bytes", "mib", MIB), ("celsius", "celsius", 1)):
                        x, y = ([v * by if name != "dmon" or of != "watts" else float(f"{v:.0f}") for v in r.series(gpu["number"], of)] for r in (a, b))
                        self.assertAlmostEqual(got[key]["a"], statistics.mean(x), 2)
                        self.assertAlmostEqual(got[key]["b"], statistics.mean(y), 2)
                        self.assertAlmostEqual(got[key]["diff"], statistics.mean(y) - statistics.mean(x), 2)
                        self.assertAlmostEqual(got[key]["standard_error"], error(x, y), 2)
                        self.assertEqual((got[key]["a_samples"], got[key]["b_samples"]), (60, 50))
                    self.assertEqual({k: got[k]["is_clear"] for k in ("busy_pct", "watts", "memory_mhz", "memory_bytes", "celsius")},
                                     {"busy_pct": True, "watts": True, "memory_mhz": False, "memory_bytes": True, "celsius": False})
                    x, y = ([mhz for mhz, busy in zip(r.series(gpu["number"], "mhz"), r.series(gpu["number"], "busy")) if busy >= 50] for r in (a, b))
                    self.assertAlmostEqual(got["sm_mhz_while_busy"]["a"], statistics.mean(x), 2)
                    self.assertAlmostEqual(got["sm_mhz_while_busy"]["b"], statistics.mean(y), 2)
                    self.assertEqual(got["sm_mhz_while_busy"]["a_samples"], len(x))
                both = self.changes(told["all"])
                for key, of in (("busy_pct", "busy"), ("celsius", "celsius")):
                    self.assertAlmostEqual(both[key]["a"], statistics.mean(a.series(0, of) + a.series(1, of)), 2)
                    self.assertAlmostEqual(both[key]["b"], statistics.mean(b.series(0, of) + b.series(1, of)), 2)
                    self.assertAlmostEqual(both[key]["standard_error"], statistics.mean(error(a.series(g, of), b.series(g, of)) for g in range(2)), 2)

    def test_two_forms_are_compared(self) -> None:
        told = self.told(Run(1).csv(), Run(1).jsonl())
        self.assertEqual([c["diff"] for c in told["all"]], [0] * len(told["all"]))
        self.assertIn("nothing changed", told["words"])
        text = self.text(Run(1).csv(), Run(1).jsonl())
        self.assertNotRegex(text, "[+\N{MINUS SIGN}]0[.]?0* ")

    def test_the_same_job_twice_has_not_changed(self) -> None:
        """Of noise alone, three errors and a hundredth leave next to nothing."""
        clear = total = 0
        for seed in range(40):
            told = self.told(Run(2 * seed + 1000, capped=0.3).jsonl(), Run(2 * seed + 1001, capped=0.3).jsonl())
            changes = [c for gpu in told["gpus"] for c in gpu["changes"]]
            clear += sum(bool(c["is_clear"]) for c in changes)
            total += len(changes)
        self.assertLess(clear / total, 0.01)

    def test_the_sentence(self) -> None:
        words = self.text(Run(1).csv(), Run(2, busy=93, watts=612).csv())
        self.assertRegex(words, r"Over all GPUs, utilization rose by 3[1-5] points to 9[0-9] % and power rose by 5[1-5] % to 61[0-9] W\.")
        self.assertIn("samples do not say", words)
        words = self.text(Run(2, gpus=1, busy=93).csv(), Run(1, gpus=1).csv())
        self.assertRegex(words, r"On the GPU utilization fell by 3[1-5] points to [56][0-9] %\.")

    def test_throttling(self) -> None:
        a, b = Run(1, capped=0.5), Run(2)
        told = self.told(a.csv(), b.csv())
        for gpu in told["gpus"]:
            lowered = self.changes(gpu["changes"])["lowered_pct"]
            self.assertAlmostEqual(lowered["a"], 100 * statistics.mean(v > 0 for v in a.series(gpu["number"], "bits")), 2)
            self.assertEqual((lowered["b"], lowered["is_clear"]), (0, True))
        self.assertEqual([(t["id"], t["in"]) for t in told["troubles"]], [("throttled", "a")])
        self.assertRegex(self.text(a.csv(), b.csv()), r"throttling fell by 38 points to 0 %.* TROUBLE gone GPU [01] was throttled by power")
        self.assertIn("TROUBLE new GPU", self.text(b.csv(), a.csv()))
        self.assertIn("TROUBLE both GPU", self.text(a.csv(), a.csv()))

    def test_too_few_samples(self) -> None:
        told = self.told(Run(1, n=15).csv(), Run(2, busy=93).csv())
        self.assertEqual({c["is_clear"] for g in told["gpus"] for c in g["changes"]}, {None})
        self.assertIn("Cannot tell what changed: the GPUs have 15 samples in A and 60 in B", told["words"])
        self.assertIn("(cannot tell)", self.text(Run(1, n=15).csv(), Run(2, busy=93).csv()))
        one_short = "".join(line for line in Run(1).csv().splitlines(True) if ", 1, GPU" not in line or ":26:0" in line)
        told = self.told(one_short, Run(2, busy=93).csv())
        self.assertEqual({c["is_clear"] for c in told["all"]}, {None})
        self.assertIn("Cannot tell what changed: the GPUs have 10 samples in A and 60 in B", told["words"])
        self.assertNotIn("Cannot tell", self.told(Run(1, n=16).csv(), Run(2, busy=93).csv())["words"])

    def test_other_sets_of_gpus(self) -> None:
        told = self.told(Run(1, gpus=4).csv(), Run(2, gpus=2).csv())
        self.assertEqual((told["only_in_a"], told["only_in_b"], told["all"], len(told["gpus"])), (2, 0, None, 2))
        self.assertIn("Cannot tell what changed over all: the runs have different GPUs (4 in A, 2 in B)", told["words"])
        self.assertEqual(told["notes"], ["2 GPUs are in A alone"])
        told = self.told(Run(1).csv(), Run(2).csv(first=1))  # of the same node: GPU 1 alone is in both, with another number
        self.assertEqual([(g["a_uuid"], g["b_uuid"]) for g in told["gpus"]], [(uuid(1), uuid(1))])
        told = self.told(Run(1).csv(), Run(2).csv(first=8))  # of another node
        self.assertEqual(len(told["gpus"]), 2)
        self.assertIn("the GPUs of A are others than those of B", told["notes"][0])
        self.assertIn("cannot compare", self.told(Run(1, gpus=1).jsonl(), "".join(Run(2, gpus=1).dmon().replace("\n  0 ", "\n  5 ")))["words"].lower())

    def test_what_is_to_be_borne_in_mind(self) -> None:
        told = self.told(Run(1).csv(), Run(1).csv(name="NVIDIA A100-SXM4-80GB"))
        self.assertEqual(told["notes"], [f"GPU 0 is a {H100} in A and a NVIDIA A100-SXM4-80GB in B"])
        told = self.told(Run(1).csv(), Run(1).dmon())
        self.assertIn("UUID", told["notes"][0])
        self.assertEqual(told["notes"][1:], ["only A tells of throttling", "only B tells of memory utilization"])
        self.assertNotIn("lowered_pct", self.changes(told["all"]))

    def test_what_is_no_pair(self) -> None:
        log = "".join(f"step {i} loss 2.0 step time 0.5 s\n" for i in range(30))
        status, _, err = run("diff", self.put("a", Run(1).csv()), self.put("b", log))
        self.assertEqual(status, 2)
        self.assertIn("A is samples of a monitor and B is a log", err)
        pmon = "# gpu        pid  type    sm   mem   enc   dec   command\n# Idx          #   C/G     %     %     %     %   name\n    0     1234     C    97    40     -     -   python\n" * 2
        status, _, err = run("diff", self.put("a", pmon), self.put("b", Run(1).csv()))
        self.assertEqual(status, 2)
        self.assertIn("holds no sample of a GPU", err)

    def test_directories_of_several_nodes(self) -> None:
        for name, busy in (("before", 60), ("after", 90)):
            (self.folder / name).mkdir()
            for k, host in enumerate(("n1", "n2")):
                self.put(f"{name}/{host}.jsonl", Run(k, busy=busy).jsonl(host).replace("-00000000abcd", f"-00000000{host}00"))
        status, out, err = run("diff", self.folder / "before", self.folder / "after", "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertEqual([(g["host"], g["number"]) for g in told["gpus"]], [("n1", 0), ("n1", 1), ("n2", 0), ("n2", 1)])
        self.assertEqual([round(self.changes(g["changes"])["busy_pct"]["diff"]) for g in told["gpus"]], [30, 30, 30, 30])
        self.put("after/train.log", "".join(f"step {i} loss 2.0 step time 0.5 s\n" for i in range(30)))
        self.assertNotEqual(run("diff", self.folder / "before", self.folder / "after")[0], 0)  # a directory of other things is no run of samples

    def test_real_files(self) -> None:
        """A file beside itself has not changed."""
        found = [p for p in sorted((SHARED / "traces/smi").rglob("*.csv"))[:3]] if (SHARED / "traces/smi").is_dir() else []
        if not found:
            skip_loudly("no CSV of nvidia-smi below shared/traces/smi")
            self.skipTest("no such files")
        for path in found:
            status, out, err = run("diff", path, path, "--json")
            self.assertEqual(status, 0, (path, err))
            self.assertEqual({c["diff"] for g in json.loads(out)["gpus"] for c in g["changes"]} - {0}, set())


if __name__ == "__main__":
    unittest.main()
