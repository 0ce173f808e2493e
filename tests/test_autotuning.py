# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's autotuner: files of one directory are one experiment; the best comes first; what was not measured has no rank."""
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, run, skip_loudly

REAL = SHARED / "traces/deepspeed/autotuning-dbgpt"
SUMMARY = """| tuning_space | num_experiments | best_metric_val | best_exp_name   |
| :----------- | --------------: | --------------: | :-------------- |
| z0           |               4 |         59.0229 | z0_gas1_tmbspg2 |
| z1           |               5 |         87.3017 | z1_gas1_tmbspg3 |
| z3           |               1 |               0 | z3_gas1_tmbspg3 |
| global       |              10 |         87.3017 | z1_gas1_tmbspg3 |

Tuning completed in 0:27:33.988447. Total number of experiments: 10.
"""


class Autotuning(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def experiment(self, stage: int, micro: int, metrics: dict[str, Any] | None, **tuning: str) -> Path:
        """A directory as the autotuner makes it; the table of metrics has times of phases and the rank, too."""
        name = f"z{stage}_gas1_tmbspg{micro}"
        path = self.folder / name
        path.mkdir()
        config = {"train_micro_batch_size_per_gpu": micro, "gradient_accumulation_steps": 1, "fp16": {"enabled": "auto"},
                  "zero_optimization": {"stage": stage, **({"offload_optimizer": {"device": "cpu"}} if stage == 3 else {})}, "autotuning": {"enabled": True, **tuning}}
        (path / "ds_config.json").write_text(json.dumps(config))
        (path / "exp.json").write_text(json.dumps({"name": name, "ds_config": config, "num_gpus": 8, "num_nodes": 2, "exp_id": micro, "result_dir": f"results/{name}"}))
        if metrics:
            (path / "metrics.json").write_text(json.dumps({"forward": 1, "backward": 2, "step": 3, **metrics, "rank": 0}))
        return path

    def ask(self, *words: object) -> dict[str, Any]:
        status, out, err = run("report", *words, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)["tuning"]

    def test_real(self) -> None:
        if not REAL.exists():
            skip_loudly(f"{REAL} is not there")
            self.skipTest("no such files")
        exp, info = (json.loads((REAL / f).read_text()) for f in ("exp.json", "model_info.json"))
        for words in ((REAL,), sorted(REAL.iterdir(), reverse=True)):
            told = self.ask(*words)
            (experiment,) = told["experiments"]
            self.assertEqual((experiment["name"], experiment["gpus"], experiment["nodes"]), (exp["name"], exp["num_gpus"], exp["num_nodes"]))
            self.assertEqual((experiment["zero_stage"], experiment["micro_batch"], experiment["accumulation"]), (exp["ds_config"]["zero_optimization"]["stage"], 1, None))
            self.assertEqual((told["params"], told["trainable_params"], told["activation_bytes_per_gpu"]),
                             (info["num_params"], info["trainable_num_params"], info["activation_mem_per_gpu"]))
        status, out, _ = run("report", REAL)
        self.assertIn("cannot tell which configuration is best: no experiment has a metrics.json", " ".join(out.decode().split()))

    def test_ranking(self) -> None:
        paths = [self.experiment(stage, micro, metrics) for stage, micro, metrics in (
            (0, 2, {"throughput": 59.0229, "latency": 30.5, "FLOPS_per_gpu": 1.5e12}), (1, 3, {"throughput": 87.3017, "latency": 40.5, "FLOPS_per_gpu": 2.5e12}),
            (2, 3, {"throughput": 77.8338, "latency": 44.5, "FLOPS_per_gpu": 2.25e12}), (3, 3, None))]
        told = self.ask(*paths)
        self.assertEqual([(e["name"], e["value"], e["zero_stage"], e["offload_optimizer"]) for e in told["experiments"]],
                         [("z1_gas1_tmbspg3", 87.3017, 1, ""), ("z2_gas1_tmbspg3", 77.8338, 2, ""), ("z0_gas1_tmbspg2", 59.0229, 0, ""), ("z3_gas1_tmbspg3", None, 3, "cpu")])
        status, out, err = run("report", *paths)
        words = " ".join(out.decode().split())
        self.assertIn("z1_gas1_tmbspg3 is the best of 3 measured by throughput (87.30): ZeRO 1, micro batch 3, accumulation 1.", words)
        self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)

    def test_what_was_tuned_for(self) -> None:
        """Of latencies the least is the best."""
        for metric, best in (("latency", "z0_gas1_tmbspg1"), ("FLOPS_per_gpu", "z0_gas1_tmbspg2")):
            paths = [self.experiment(0, micro, {"throughput": 10.0, "latency": 10.0 * micro, "FLOPS_per_gpu": 1e12 * micro}, metric=metric) for micro in (1, 2)]
            self.assertEqual(self.ask(*paths)["experiments"][0]["name"], best)
            for path in paths:
                for file in path.iterdir():
                    file.unlink()
                path.rmdir()

    def test_summary(self) -> None:
        """Alone, and in the log that it was printed into."""
        for text in (SUMMARY, "[INFO] tuning\n" * 50 + "".join("    " + line + "\n" for line in SUMMARY.splitlines())):
            path = self.folder / "summary.txt"
            path.write_text(text)
            self.assertEqual([(s["space"], s["experiments"], s["best"], s["name"]) for s in self.ask(path)["spaces"]],
                             [("z0", 4, 59.0229, "z0_gas1_tmbspg2"), ("z1", 5, 87.3017, "z1_gas1_tmbspg3"), ("z3", 1, 0, "z3_gas1_tmbspg3"), ("global", 10, 87.3017, "z1_gas1_tmbspg3")])
            _, out, _ = run("report", path)
            self.assertIn("z3, 1 experiment: none ran to its end (stderr.log of z3_gas1_tmbspg3 says why)", " ".join(out.decode().split()))

    def test_files_of_experiments_to_come(self) -> None:
        """autotuning_exps has all of them in one directory, by name."""
        for micro in (1, 2):
            config = {"train_micro_batch_size_per_gpu": micro, "zero_optimization": {"stage": 1}}
            (self.folder / f"z1_tmbspg{micro}.json").write_text(json.dumps({"name": f"z1_tmbspg{micro}", "ds_config": config, "num_gpus": 8}))
        self.assertEqual([(e["name"], e["micro_batch"]) for e in self.ask(self.folder)["experiments"]], [("z1_tmbspg1", 1), ("z1_tmbspg2", 2)])

    def test_hostile(self) -> None:
        path = self.folder / "exp.json"
        for text, status in (('{"name": "x", "ds_config": {"zero_optimization"', 3), ('{"name": [], "ds_config": 7, "num_gpus": -1e300}', 0), ('{"ds_config": {}, "num_gpus": ' + "[" * 5000, 3),
                             ('{"throughput": 1e999, "FLOPS_per_gpu": "a"}', 0), ('{"num_params": {}, "activation_mem_per_gpu": null}', 0)):
            path.write_text(text)
            told, out, err = run("report", path)
            self.assertEqual(told, status, (text[:40], err))
            if status:
                self.assertIn("exp.json", err)


if __name__ == "__main__":
    unittest.main()
