# SPDX-License-Identifier: Apache-2.0
"""Results of benchmarks and sampled memory: numbers are computed here from rounds and samples, not read from holdup's answer."""
from __future__ import annotations

import json
import random
import statistics
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import run

MIB = 1 << 20
# As `mprof run` of memory_profiler 0.61 wrote it.
MPROF = """FUNC __main__.grow 22.8594 1795903772.6600 80.0820 1795903773.2335 0
FUNC __main__.rest 80.0820 1795903773.2336 80.0820 1795903773.5340 0
CMDLINE python3 m.py
MEM 6.378906 1795903772.4647
MEM 31.343750 1795903772.6728
MEM 80.082031 1795903772.7732
MEM 80.082031 1795903773.4859
MEM 22.859375 1795903773.5863
"""


def quartiles(rounds: list[float]) -> tuple[float, float]:
    half = len(rounds) // 2
    ordered = sorted(rounds)
    return statistics.median(ordered[:half]), statistics.median(ordered[-half:])


def pytest_json(**benchmarks: list[float]) -> dict[str, Any]:
    """As pytest-benchmark 5 writes it, of rounds in seconds."""
    out = []
    for name, rounds in benchmarks.items():
        q1, q3 = quartiles(rounds)
        out.append({"group": None, "name": name, "fullname": f"test_b.py::{name}", "params": None, "param": None, "extra_info": {}, "options": {"timer": "perf_counter"},
                    "stats": {"min": min(rounds), "max": max(rounds), "mean": statistics.mean(rounds), "stddev": statistics.stdev(rounds), "rounds": len(rounds), "median": statistics.median(rounds),
                              "iqr": q3 - q1, "q1": q1, "q3": q3, "iqr_outliers": sum(r < q1 - 1.5 * (q3 - q1) or r > q3 + 1.5 * (q3 - q1) for r in rounds), "stddev_outliers": 0, "outliers": "0;0",
                              "ops": 1 / statistics.mean(rounds), "total": sum(rounds), "data": rounds, "iterations": 1}})
    return {"machine_info": {"node": "vm", "system": "Linux"}, "commit_info": {"id": "abc"}, "benchmarks": out, "datetime": "2026-01-02T03:04:05+00:00", "version": "5.2.3"}


def asv_json(**results: list[Any]) -> dict[str, Any]:
    return {"commit_hash": "0123abcd", "env_name": "virtualenv-py3.11", "date": 1767322800000, "params": {"cpu": "x"}, "python": "3.11", "requirements": {}, "env_vars": {},
            "result_columns": ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25", "stats_q_75",
                               "stats_number", "stats_repeat", "samples", "profile"],
            "results": {f"suite.{k}": v for k, v in results.items()}, "durations": {}, "version": 2}


def rounds(rng: random.Random, middle: float, spread: float, n: int = 41) -> list[float]:
    return [middle * (1 + rng.uniform(-spread, spread)) for _ in range(n)]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name: str, value: object) -> Path:
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
        return path

    def ask(self, *words: object, command: str = "report") -> dict[str, Any]:
        status, out, err = run(command, *words, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def text(self, *words: object) -> str:
        status, out, err = run(*words)
        self.assertEqual(status, 0, err)
        return " ".join(out.decode().split())


class Benchmarks(Case):
    def test_pytest_benchmark(self) -> None:
        rng = random.Random(3)
        made = {"test_a": rounds(rng, 1e-3, 0.02), "test_b": rounds(rng, 3e-6, 0.5)}
        file = self.ask(self.put("a.json", pytest_json(**made)))["files"][0]
        self.assertEqual((file["tool"], file["about"]), ("pytest-benchmark", "2026-01-02T03:04:05+00:00"))
        for have, (name, times) in zip(file["benchmarks"], made.items()):
            q1, q3 = quartiles(times)
            self.assertEqual((have["name"], have["unit"], have["rounds"]), (f"test_b.py::{name}", "time_ns", len(times)))
            for key, value in (("median", statistics.median(times)), ("q1", q1), ("q3", q3), ("min", min(times)), ("max", max(times))):
                self.assertAlmostEqual(have[key], value * 1e9, delta=value * 1e3)
        self.assertIn("1 of 2 spread over more than a tenth", self.text("report", self.folder / "a.json"))

    def test_asv(self) -> None:
        """Trailing columns are left out; parameters are combined, the last one first; null is a benchmark that failed."""
        value = asv_json(time_add=[[0.002], [], "v", 1, 2, [0.0019], [0.0022], [0.00198], [0.00203], [1], [10]],
                         time_scale=[[0.1, 0.2, None, 0.4], [["'x'", "'y'"], ["1", "2"]], "v", 1, 2, None, None, [0.09, 0.19, None, 0.39], [0.11, 0.21, None, 0.41], [1] * 4, [5] * 4],
                         peakmem_load=[[83886080], []], track_loss=[[0.25], []], time_broken=[None, []])
        file = self.ask(self.put("0123abcd-env.json", value))["files"][0]
        seen = {b["name"]: (b["unit"], b["median"], b["q1"], b["q3"], b["rounds"]) for b in file["benchmarks"]}
        self.assertEqual((file["tool"], file["about"], file["without_result"]), ("asv", "0123abcd", 2))
        self.assertEqual(set(seen), {"suite.time_add", "suite.time_scale('x', 1)", "suite.time_scale('x', 2)", "suite.time_scale('y', 2)", "suite.peakmem_load", "suite.track_loss"})
        for name, (unit, *numbers) in {"suite.time_add": ("time_ns", 2e6, 1.98e6, 2.03e6, 10), "suite.time_scale('y', 2)": ("time_ns", 4e8, 3.9e8, 4.1e8, 5)}.items():
            self.assertEqual(seen[name][0], unit)
            for have, number in zip(seen[name][1:], numbers):
                self.assertAlmostEqual(have, number, delta=number * 1e-9)
        self.assertEqual(seen["suite.peakmem_load"], ("bytes", 83886080, None, None, None))
        self.assertEqual(seen["suite.track_loss"][:2], ("number", 0.25))

    def test_torchbench(self) -> None:
        value = {"name": "optim", "environ": {"pytorch_git_version": "deadbeef"}, "metrics": {"resnet50, Adam": 0.0123, "broken": None}}
        file = self.ask(self.put("metrics.json", value))["files"][0]
        self.assertEqual([(b["name"], b["median"], b["unit"]) for b in file["benchmarks"]], [("resnet50, Adam", 0.0123, "number")])
        self.assertEqual((file["tool"], file["about"], file["without_result"]), ("TorchBench", "deadbeef", 1))
        self.assertIn("nothing tells a change from noise", self.text("report", self.folder / "metrics.json"))

    @staticmethod
    def google_json(by_name: dict[str, list[float]], unit: str = "us", aggregates: bool = True, only: bool = False) -> dict[str, Any]:
        """As Google Benchmark 1.9 writes it: an entry for each repetition, then what it computed of them."""
        out: list[dict[str, Any]] = []
        for name, times in by_name.items():
            common = {"family_index": 0, "per_family_instance_index": 0, "run_name": name, "repetitions": len(times), "threads": 1, "iterations": 100, "time_unit": unit}
            out += [common | {"name": name, "run_type": "iteration", "repetition_index": i, "real_time": t, "cpu_time": t / 2} for i, t in enumerate(times) if not only]
            out += [common | {"name": f"{name}_{what}", "run_type": "aggregate", "aggregate_name": what, "aggregate_unit": "time", "real_time": value, "cpu_time": value} for what, value in (
                ("mean", statistics.mean(times)), ("median", statistics.median(times)), ("stddev", 1.0)) if aggregates]
        out.append({"name": "broken", "run_name": "broken", "run_type": "iteration", "error_occurred": True, "error_message": "no GPU", "real_time": 0.0, "cpu_time": 0.0, "time_unit": unit})
        return {"context": {"date": "2026-01-02T03:04:05+00:00", "host_name": "n1", "executable": "./b", "num_cpus": 8, "mhz_per_cpu": 3000, "library_build_type": "release"}, "benchmarks": out}

    def rounds_are(self, have: dict[str, Any], times: list[float], by: float) -> None:
        q1, q3 = quartiles(times)
        self.assertEqual((have["unit"], have["rounds"]), ("time_ns", len(times)))
        for key, value in (("median", statistics.median(times)), ("q1", q1), ("q3", q3), ("min", min(times)), ("max", max(times))):
            self.assertAlmostEqual(have[key], value * by, delta=value * by * 1e-9)

    def test_google_benchmark(self) -> None:
        rng = random.Random(7)
        made = {"BM_gemm/256": rounds(rng, 12, 0.1, 7), "BM_copy": rounds(rng, 900, 0.1, 8)}
        for unit, by in (("ns", 1), ("us", 1e3), ("ms", 1e6), ("s", 1e9)):
            file = self.ask(self.put("a.json", self.google_json(made, unit)))["files"][0]
            self.assertEqual((file["tool"], file["about"], file["without_result"], [b["name"] for b in file["benchmarks"]]), ("Google Benchmark", "2026-01-02T03:04:05+00:00", 1, list(made)))
            for have, times in zip(file["benchmarks"], made.values()):
                self.rounds_are(have, times, by)
        file = self.ask(self.put("a.json", self.google_json(made, only=True)))["files"][0]  # --benchmark_report_aggregates_only
        for have, times in zip(file["benchmarks"], made.values()):
            self.assertAlmostEqual(have["median"], statistics.median(times) * 1e3, places=3)
            self.assertEqual((have["q1"], have["rounds"]), (None, None))
        slower = {name: [2 * t for t in times] for name, times in made.items()}
        told = self.ask(self.put("a.json", self.google_json(made)), self.put("b.json", self.google_json(slower)), command="diff")
        self.assertEqual({b["verdict"] for b in told["benchmarks"]}, {"slower"})

    def test_hyperfine(self) -> None:
        rng = random.Random(9)
        made = {"sleep 0.1": rounds(rng, 0.1, 0.02, 10), "train --fast": rounds(rng, 2.5, 0.02, 11)}
        results = [{"command": name, "mean": statistics.mean(t), "stddev": statistics.stdev(t), "median": statistics.median(t), "user": 0.1, "system": 0.1, "min": min(t), "max": max(t), "times": t,
                    "exit_codes": [0] * len(t)} for name, t in made.items()]
        file = self.ask(self.put("a.json", {"results": results}))["files"][0]
        self.assertEqual((file["tool"], [b["name"] for b in file["benchmarks"]]), ("hyperfine", list(made)))
        for have, times in zip(file["benchmarks"], made.values()):
            self.rounds_are(have, times, 1e9)

    def test_torchdynamo(self) -> None:
        """benchmarks/dynamo: a step in ms, compilation in seconds; a model that failed has zeros or nothing."""
        heading = "dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem,calls_captured,unique_graphs\n"
        text = heading + "cuda,BERT_pytorch,16,1.8231,12.31,33.1,0.91,4.1,4.5,300,1\ncuda,alexnet,128,0.0,0.0\n" + heading + \
            "cuda,broken,0,0,0,0,0,0,0,0,0\r\ncuda,resnet50,32,0.9,22.5,20.25,1.0,3.0,3.0,200,1\n"
        file = self.ask(self.put("inductor.csv", text))["files"][0]
        self.assertEqual((file["tool"], file["without_result"]), ("TorchDynamo", 2))
        self.assertEqual([(b["name"], b["unit"], b["median"]) for b in file["benchmarks"]], [
            ("BERT_pytorch, batch 16: compiled step", "time_ns", 12.31e6), ("BERT_pytorch, batch 16: speedup over eager", "number", 1.8231), ("BERT_pytorch, batch 16: compilation", "time_ns", 33.1e9),
            ("resnet50, batch 32: compiled step", "time_ns", 22.5e6), ("resnet50, batch 32: speedup over eager", "number", 0.9), ("resnet50, batch 32: compilation", "time_ns", 20.25e9)])
        tagged = "dev,name,batch_size,tag,speedup,abs_latency\ncpu,gpt2,1,cpp,2.0,5.0\n"  # older, and of another order
        self.assertEqual([b["name"] for b in self.ask(self.put("t.csv", tagged))["files"][0]["benchmarks"]], ["gpt2 cpp, batch 1: compiled step", "gpt2 cpp, batch 1: speedup over eager"])
        told = self.ask(self.folder / "inductor.csv", self.put("b.csv", text.replace("22.5", "45.0")), command="diff")
        self.assertEqual({b["name"]: b["ratio"] for b in told["benchmarks"] if b["ratio"] != 1}, {"resnet50, batch 32: compiled step": 2})
        self.assertEqual({b["verdict"] for b in told["benchmarks"]}, {"no_spread"})
        said = self.text("diff", self.folder / "inductor.csv", self.folder / "b.csv")
        self.assertIn("UNCLEAR", said)
        status, _, err = run("report", self.put("accuracy.csv", "dev,name,batch_size,accuracy,calls_captured\ncuda,resnet50,4,pass,200\n"))
        self.assertEqual(status, 3)
        self.assertIn("without times", err)

    def test_cut(self) -> None:
        path = self.put("a.json", json.dumps(pytest_json(test_a=[1.0, 2.0, 3.0]))[:-60])
        status, _, err = run("report", path)
        self.assertNotEqual(status, 0)
        self.assertIn("a.json", err)


class Diff(Case):
    def test_beyond_its_own_spread(self) -> None:
        rng = random.Random(5)
        before = {"slow": rounds(rng, 1e-3, 0.02), "noisy": rounds(rng, 1e-3, 0.4), "fast": rounds(rng, 1e-3, 0.02), "gone": rounds(rng, 1, 0.1)}
        after = {"slow": rounds(rng, 1.1e-3, 0.02), "noisy": rounds(rng, 1.1e-3, 0.4), "fast": rounds(rng, 0.9e-3, 0.02), "new": rounds(rng, 1, 0.1), "new2": rounds(rng, 1, 0.1)}
        a, b = self.put("a.json", pytest_json(**before)), self.put("b.json", pytest_json(**after))
        told = self.ask(a, b, command="diff")
        expected = {}
        for name in ("slow", "noisy", "fast"):
            (a1, a3), (b1, b3) = quartiles(before[name]), quartiles(after[name])
            expected[f"test_b.py::{name}"] = "slower" if b1 > a3 else "faster" if b3 < a1 else "within_spread"
        self.assertEqual({k["name"]: k["verdict"] for k in told["benchmarks"]}, expected)
        self.assertEqual(set(expected.values()), {"slower", "faster", "within_spread"})
        self.assertEqual((told["only_in_a"], told["only_in_b"]), (1, 2))
        first = told["benchmarks"][0]
        self.assertAlmostEqual(first["ratio"], statistics.median(after["slow"]) / statistics.median(before["slow"]), places=9)
        said = self.text("diff", a, b)
        self.assertIn("1 got slower (or larger) beyond their own spread and 1 faster; 1 stayed within it", said)
        self.assertIn("1 only in A, 2 only in B", said)

    def test_without_spread(self) -> None:
        def metrics(value: float) -> dict[str, Any]:
            return {"name": "x", "environ": {"pytorch_git_version": "a"}, "metrics": {"m": value}}
        told = self.ask(self.put("a.json", metrics(1)), self.put("b.json", metrics(3)), command="diff")
        self.assertEqual([(k["verdict"], k["ratio"]) for k in told["benchmarks"]], [("no_spread", 3)])

    def test_few_rounds_tell_nothing(self) -> None:
        """Quartiles of one round are that round, and of three they lie apart by chance."""
        for n, verdict in ((1, "no_spread"), (3, "no_spread"), (5, "slower")):
            made = []
            for name, middle in (("a.json", 1.0), ("b.json", 1.5)):
                text = json.loads(json.dumps(pytest_json(t=[middle * (1 + k / 1000) for k in range(5)])))
                text["benchmarks"][0]["stats"]["rounds"] = n
                made.append(self.put(name, text))
            self.assertEqual([k["verdict"] for k in self.ask(*made, command="diff")["benchmarks"]], [verdict])
            self.assertEqual("The file has no spread" in self.text("report", made[0]), verdict == "no_spread")

    def test_other_things(self) -> None:
        a = self.put("a.json", pytest_json(test_a=[1.0, 2.0, 3.0]))
        for other in (self.put("m.dat", MPROF), self.put("t.json", {"traceEvents": []}), self.put("s.json", asv_json(time_a=[[1.0], []]))):
            status, _, err = run("diff", a, other)
            self.assertNotEqual(status, 0)
            self.assertRegex(err, "of one (tool|kind)")


class Memory(Case):
    def test_peak(self) -> None:
        told = self.ask(self.put("m.dat", MPROF))["files"][0]
        samples = [(float(line.split()[1]) * MIB, float(line.split()[2])) for line in MPROF.splitlines() if line.startswith("MEM")]
        m = told["memory"]
        peak, at = max(samples, key=lambda s: (s[0], -s[1]))
        self.assertEqual((m["peak_bytes"], m["samples"], m["command"], m["peak_in"]), (round(peak), len(samples), "python3 m.py", "__main__.grow"))
        self.assertAlmostEqual(m["peak_after_s"], at - samples[0][1], places=3)
        self.assertEqual([(c["function"], c["before_bytes"], c["after_bytes"]) for c in m["calls"]],
                         [("__main__.grow", round(22.8594 * MIB), round(80.0820 * MIB)), ("__main__.rest", round(80.0820 * MIB), round(80.0820 * MIB))])

    def test_children_and_depth(self) -> None:
        text = ("CMDLINE python train.py --all\n" + "".join(f"MEM {100 + i} {1000 + i}.5\nCHLD 71 {5 + i} {1000 + i}.5\nCHLD 72 {50 - i} {1000 + i}.5\n" for i in range(10))
                + "FUNC t.outer 100 1000.0 109 1020.0 0\nFUNC t.inner 100 1005.0 109 1019.0 1\nFUNC t.broken 1 2\nnonsense\n")
        told = self.ask(self.put("m.dat", text))["files"][0]
        self.assertEqual((told["memory"]["peak_in"], told["memory"]["children"], told["memory"]["child_peak_bytes"], told["lines_left_out"]), ("t.inner", 2, 50 * MIB, 2))

    def test_no_sample(self) -> None:
        status, _, err = run("report", self.put("m.dat", "".join(line + "\n" for line in MPROF.splitlines() if not line.startswith("MEM"))))
        self.assertNotEqual(status, 0)
        self.assertIn("without a sample", err)

    def test_in_none(self) -> None:
        self.assertIn("in none of the functions", self.text("report", self.put("m.dat", MPROF.replace("80.0820 1795903773.2335", "23.0 1795903772.7000")
                                                                             .replace("rest 80.0820 1795903773.2336 80.0820", "rest 1.0 1795903773.5000 1.0"))))


class Places(Case):
    def test_a_directory_of_results(self) -> None:
        self.put("m.dat", MPROF)
        self.put("a.json", pytest_json(test_a=[1.0, 2.0, 3.0]))
        self.assertEqual({f["tool"] for f in self.ask(self.folder)["files"]}, {"memory_profiler", "pytest-benchmark"})

    def test_beside_a_trace(self) -> None:
        trace = self.put("rank0.json", {"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"device": 0, "stream": 7}}]})
        path = self.put("m.dat", MPROF)
        self.assertIn("reported alone", json.dumps(self.ask(trace, path)["unread"]))
        self.put("a.json", pytest_json(test_a=[1.0, 2.0, 3.0]))
        told = self.ask(self.folder)
        self.assertEqual(len(told["ranks"]), 1)
        self.assertEqual(told["unread"], [])

    def test_words(self) -> None:
        for path, word in ((self.put("m.dat", MPROF), "memory_profiler"), (self.put("a.json", pytest_json(test_a=[1.0, 2.0, 3.0])), "pytest-benchmark")):
            self.assertIn(word, run("info", path)[1].decode())
            self.assertIn("holdup report FILE", run("query", path, "select 1")[2])

    def test_curves_are_not_compared(self) -> None:
        """It does not say that two files of one tool are of two."""
        status, _, err = run("diff", self.put("m.dat", MPROF), self.put("n.dat", MPROF))
        self.assertEqual(status, 2)
        self.assertIn("curves of memory_profiler are not compared", err)


if __name__ == "__main__":
    unittest.main()
