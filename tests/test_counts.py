# SPDX-License-Identifier: Apache-2.0
"""Counts and sums agree with Python's JSON reader, whatever the file's packing, the processor and the threads."""
import collections
import gzip
import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import OWN, events, ns, read, report, run, traces

VARIANTS = [{"HOLDUP_CPU": cpu, "HOLDUP_THREADS": threads} for cpu in ("scalar", "avx2", "avx512") for threads in ("1", "2")]
DEVICE = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset", "mtia_ccp_events"}
HOST = {"cpu_op", "Operator", "user_annotation", "cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime"}


def info(path: Path, env: dict[str, str] | None = None) -> dict:
    status, out, err = run("info", path, "--json", env=env)
    assert status == 0, err
    return json.loads(out)["events"]


class Counts(unittest.TestCase):
    def test_events_phases_and_durations(self) -> None:
        for path in traces():
            theirs = events(path)
            phases = dict(collections.Counter(e.get("ph") for e in theirs))
            total = sum(ns(e["dur"]) for e in theirs if e.get("ph") == "X")
            for env in VARIANTS:
                with self.subTest(trace=path.name, **env):
                    ours = info(path, env)
                    self.assertEqual((ours["total"], ours["by_phase"], ours["duration_sum_ns"]), (len(theirs), phases, total))

    def test_kernels_operators_and_steps(self) -> None:
        for path in traces():
            rank = report(path)["ranks"][0]
            kernels: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
            operators: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
            steps = 0
            for e in events(path):
                if e.get("ph") != "X":
                    continue
                name, row = e["name"], None
                if e.get("cat") in ("kernel", "Kernel"):
                    row = kernels[name]
                elif e.get("cat") in HOST:
                    steps += name.startswith("ProfilerStep#")
                    row = operators["ProfilerStep*" if name.startswith("ProfilerStep#") else name]
                if row is not None:
                    row[0] += 1
                    row[1] += ns(e["dur"])
            with self.subTest(trace=path.name):
                if "mtia" not in path.name:
                    self.assertEqual({k["name"]: [k["calls"], k["total_ns"]] for k in rank["kernels"]}, kernels)
                self.assertEqual({o["name"]: [o["calls"], o["host_total_ns"]] for o in rank["operators"]}, operators)
                if steps:
                    self.assertEqual((rank["steps"]["source"], rank["steps"]["count"]), ("ProfilerStep", steps))
                else:
                    self.assertNotEqual(rank["steps"]["source"], "ProfilerStep")

    def test_the_parts_of_a_step_sum_to_the_step(self) -> None:
        for path in traces():
            with self.subTest(trace=path.name):
                for step in report(path)["ranks"][0]["steps"]["list"]:
                    device = sum(step[k] for k in ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"))
                    host = sum(step[k] for k in ("kernel_ns", "memcpy_ns", "memset_ns", "communication_ns", "runtime_ns",
                                                 "data_loader_ns", "cpu_exec_ns", "other_ns"))
                    self.assertEqual((device, host), (step["duration_ns"], step["duration_ns"]))
                    self.assertTrue(all(step[k] >= 0 for k in step if k.endswith("_ns") and k != "start_ns"))

    def test_same_bytes_out_for_every_packing_and_processor(self) -> None:
        path = OWN[0]
        text = read(path)
        with tempfile.TemporaryDirectory() as folder:
            plain, packed, twice = Path(folder) / "t.json", Path(folder) / "t.json.gz", Path(folder) / "t2.json.gz"
            plain.write_bytes(text)
            packed.write_bytes(gzip.compress(text))
            twice.write_bytes(gzip.compress(text[:1000]) + gzip.compress(text[1000:]))     # two members are one stream
            variants = [report(p, env=env) for p in (plain, packed, twice) for env in VARIANTS]
            if shutil.which("zstd"):
                subprocess.run(["zstd", "-q", str(plain)], check=True)
                variants.append(report(f"{plain}.zst"))
            status, out, _ = run("report", "-", "--json", stdin=text)
            self.assertEqual(status, 0)
            variants.append(json.loads(out))
        for variant in variants:
            variant.pop("inputs")
            for row in variant["rank_table"]:
                row.pop("file")
            self.assertEqual(variant, variants[0])

    def test_minified_and_pretty_and_shuffled_are_one(self) -> None:
        document = json.loads(read(OWN[0]))
        shuffled = {k: document[k] for k in sorted(document, reverse=True)}
        shuffled["traceEvents"] = [dict(sorted(e.items(), reverse=True)) for e in document["traceEvents"]]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            seen = []
            for text in (json.dumps(document), json.dumps(document, indent=3), json.dumps(document, separators=(",", ":")),
                         json.dumps(shuffled), json.dumps(document, ensure_ascii=False)):
                path.write_text(text)
                seen.append(report(path))
                seen[-1].pop("inputs")
        for one in seen:
            self.assertEqual(one, seen[0])


if __name__ == "__main__":
    unittest.main()
