# SPDX-License-Identifier: Apache-2.0
"""Logs, sums and samples beside traces: one answer, which says whether they are of one run, and where they lie on its clock."""
import json
import os
import unittest
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tests.program import run
from tests.test_node_log import lines, rows, trace as long_trace
from tests.test_one_run import BASE, STEP_US, Case, trace

SECOND = 10**9


def log(ms: float, n: int = 20, first: int = 1) -> str:
    return "".join(f"step {first + i} loss 2.1 time: {ms / 1000:.6f} s\n" for i in range(n))


def stamped(ms: float, begin_ns: int, n: int = 20, form: str = "%Y-%m-%d %H:%M:%S.%f", zone: str = "Z", tz: Any = timezone.utc) -> str:
    """Each line when its step has ended."""
    return "".join(f"[{datetime.fromtimestamp(begin_ns / SECOND + (i + 1) * ms / 1000, tz).strftime(form)}{zone}] {line}\n"
                   for i, line in enumerate(log(ms, n).splitlines()))


class Fit(Case):
    def one(self, text: str, *more: object) -> dict[str, Any]:
        (got,) = self.told(self.put("train.log", text), *more)["logs"]
        return got

    def test_step_times(self) -> None:
        """Steps of the trace take 1 ms."""
        for ms, fit, words, doubts in ((1.04, "same", "they are of one run, as far as that tells", 0), (0.95, "same", "they are of one run", 0),
                                       (0.8, "longer", "25 % longer than the log's of 800", 0), (1.3, "shorter", "23 % shorter than the log's of 1.30 ms", 0),
                                       (4, "parts", "is 4 of the traces'", 0), (0.2, "longer", "the profiler slows the job", 1), (200.5, "shorter", "or the log is of another run", 1)):
            with self.subTest(ms=ms):
                path = self.put("train.log", log(ms))
                told = self.told(path)
                (got,) = told["logs"]
                self.assertEqual((got["fit"], got["trace_step_ns"], len(told["doubts"])), (fit, STEP_US * 1000, doubts))
                self.assertAlmostEqual(got["step_ratio"], ms / (STEP_US / 1000), places=3)
                self.assertIn(words, got["text"])
                self.assertIn("cannot be aligned: the log prints no time of day", got["text"])
                self.assertEqual(got["log"], json.loads(run("report", path, "--json")[1]), "what it says alone")
                text = " ".join(self.words(path).split())
                self.assertIn(f"LOG train.log {got['text']}", text)
                self.assertNotIn("Cannot tell from a log", text)

    def test_the_trace_answers(self) -> None:
        """Its verdict and findings are those of the trace alone, and nothing is unread."""
        alone, told = self.told(), self.told(self.put("train.log", log(1)))
        for key in ("verdict", "findings", "ranks", "unread", "doubts"):
            self.assertEqual(alone[key], told[key], key)
        self.assertEqual((alone["logs"], alone["sums"]), ([], []))

    def test_a_log_without_a_unit(self) -> None:
        """Nothing says whether its steps are the traces', until the user does."""
        bare = self.put("train.log", "".join(f"step {i} loss 2.1 time: {STEP_US * 1e-3:.4f}\n" for i in range(1, 21)))
        got = json.loads(run("report", self.trace, bare, "--json")[1])["logs"][0]
        self.assertEqual((got["fit"], got["log"]["step"]["median_ns"]), ("unknown", None))
        self.assertIn("The log does not say the unit of its times (give it with --time-unit s, ms or us)", got["text"])
        got = json.loads(run("report", self.trace, bare, "--time-unit", "ms", "--json")[1])["logs"][0]
        self.assertEqual((got["fit"], got["log"]["step"]["median_ns"]), ("same", STEP_US * 1000))

    def test_clock(self) -> None:
        """The trace begins at BASE and lasts 4 ms: by the log, its steps 3 to 6, and the line of one that ended then."""
        begin = BASE - 2_000_000
        got = self.one(stamped(1, begin))
        self.assertEqual((got["clock"], got["first_step"], got["last_step"], got["then_ns"]), ("aligned", 3, 7, 1_000_000))
        self.assertIn("By its clock the traces lie at its steps 3 to 7, which took 1.00 ms in the log.", got["text"])
        east = stamped(1, begin + 3600 * SECOND, zone="+01:00")
        self.assertEqual(self.one(east)["first_step"], 3)
        for form in ("%Y/%m/%dT%H:%M:%S,%f", "%Y-%m-%d %H:%M:%S.%f"):
            got = self.one(stamped(1, begin, form=form, zone=""))
            self.assertEqual((got["clock"], got["first_step"]), ("aligned", 3) if not os.environ.get("TZ") else (got["clock"], got["first_step"]))
            self.assertIn("they name none", got["text"])

    def test_zone_of_this_machine(self) -> None:
        path = self.put("train.log", stamped(1, BASE - 2_000_000 - 5 * 3600 * SECOND, zone=""))
        for zone, clock in (("EST5", "aligned"), ("UTC", "apart")):
            status, out, err = run("report", self.trace, path, "--json", env={"TZ": zone})
            self.assertEqual((status, json.loads(out)["logs"][0]["clock"]), (0, clock), err)

    def test_apart(self) -> None:
        for begin, words in ((BASE - 3 * 3600 * SECOND, r"its last step was printed 2 hours before the traces begin: is it of another run"),
                             (BASE + 172800 * SECOND, r"its first step was printed 47 hours after the traces end|its first step was printed 2 days after")):
            told = self.told(self.put("train.log", stamped(1, begin)))
            self.assertEqual((told["logs"][0]["clock"], told["logs"][0]["then_ns"]), ("apart", None))
            self.assertRegex(told["doubts"][0]["doubt"], words)

    def test_a_trace_without_a_clock(self) -> None:
        old = self.put("old.json", trace(base=0))
        path = self.put("train.log", stamped(1, BASE))
        status, out, _ = run("report", old, path, "--json")
        self.assertEqual(status, 0)
        self.assertIn("They cannot be aligned: the traces do not say when they were taken.", json.loads(out)["logs"][0]["text"])

    def test_several_logs(self) -> None:
        """Each by itself: the second is no restart of the first."""
        files = [self.put(f"rank{i}.log", log(1 + i / 100)) for i in range(4)]
        told = self.told(*files)
        self.assertEqual([(Path(g["file"]).name, g["log"]["step"]["restarts"], g["log"]["step"]["count"]) for g in told["logs"]],
                         [(f"rank{i}.log", 0, 20) for i in range(4)])
        text = self.words(*files)
        self.assertEqual([text.count(f"LOG  rank{i}.log") for i in range(4)], [1] * 4)
        self.assertEqual(text.count("STEP    "), 2, "of ranks that say the same a line is enough")

    def test_the_log_that_says_why_it_ended(self) -> None:
        """It is no line, wherever it stands."""
        files = [self.put(f"rank{i}.log", log(1 + i / 100)) for i in range(3)]
        files.append(self.put("slurm.out", "[Wed Mar  4] NVRM: Xid (PCI:0000:07:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"))
        self.assertIn("The driver reported XID 79 of GPU 0000:07:00", " ".join(self.words(*files).split()))

    def test_pattern(self) -> None:
        """Steps in a form of one's own, of the logs alone."""
        path = self.put("mine.txt", "".join(f"<{i}> {1000 + i} us\n" for i in range(9)))
        self.assertEqual(len(self.told(path)["unread"]), 1)
        status, out, err = run("report", self.trace, path, "--json", "--pattern", "<([0-9]+)> ([0-9.]+) (us)")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(json.loads(out)["logs"][0]["log"]["step"]["count"], 9)
        status, _, err = run("report", self.trace, "--pattern", "<([0-9]+)> ([0-9.]+) (us)")
        self.assertEqual((status, "none of these files is text" in err), (2, True))

    def test_nccl_of_another_job(self) -> None:
        line = "n1:10:10 [0] NCCL INFO comm 0x1 rank 3 nranks 64 cudaDev 3 busId 8a000 - Init COMPLETE\n"
        told = self.told(self.put("nccl.log", line * 2))
        self.assertIn("has a communicator of 64 ranks, and the traces are of a job of 8", told["doubts"][0]["doubt"])
        self.assertEqual(told["logs"][0]["text"], "")

    def test_page(self) -> None:
        page = self.folder / "r.html"
        log_file = self.put("<b>.log", log(1))
        self.assertEqual(run("report", self.trace, log_file, "--html", page)[0], 0)
        html = page.read_text()
        self.assertIn("<h3>Log ", html)
        self.assertIn("they are of one run, as far as that tells", html)
        self.assertNotIn("<b>.log", html)

    def test_tables_are_of_the_traces(self) -> None:
        status, out, err = run("report", self.trace, self.put("train.log", log(1)), "--view", "kernels")
        self.assertEqual((status, b"LOG" in out), (0, False))
        self.assertIn("train.log: not in what these options print", err)


class Folder(Case):
    def files(self) -> None:
        (self.folder / "logs/deep").mkdir(parents=True)
        self.put("logs/train.log", log(1))
        self.put("logs/deep/memory.pickle", self.snapshot().read_bytes())
        (self.folder / "memory.pickle").unlink()
        self.put("model.py", "print(1)\n")
        self.put("logs/notes.txt", "nothing of interest\n")
        self.put("logs/deep/x.nsys-rep", b"NVIDIA Tegra Profiler Report\0\1")

    def test_below(self) -> None:
        self.files()
        status, out, err = run("report", self.folder, "--json")
        self.assertEqual((status, err), (0, ""))
        told = json.loads(out)
        self.assertEqual((len(told["ranks"]), len(told["logs"]), len(told["memory_snapshots"]), told["unread"]), (1, 1, 1, []))
        self.assertEqual((told["not_read"]["count"], sorted(Path(p).name for p in told["not_read"]["files"])), (3, ["model.py", "notes.txt", "x.nsys-rep"]))
        self.assertEqual(json.loads(run("report", f"{self.folder}/", "--json")[1])["not_read"]["count"], 3)
        text = " ".join(run("report", self.folder)[1].decode().split())
        self.assertIn("NOT READ 3 other files of the directory: model.py, notes.txt, x.nsys-rep. `holdup info DIRECTORY` says what each is.", text)

    def test_traces_of_other_runs(self) -> None:
        """In a directory below there may be another run: it is named, and no rank."""
        (self.folder / "before").mkdir()
        self.put("before/rank1.json", trace(rank=1))
        told = json.loads(run("report", self.folder, "--json")[1])
        self.assertEqual((len(told["ranks"]), told["not_read"]["traces"]), (1, 1))
        self.assertIn("1 of them is a trace by its name, lies in a directory below", " ".join(run("report", self.folder)[1].decode().split()))
        self.trace.unlink()
        told = json.loads(run("report", self.folder, "--json")[1])
        self.assertEqual((len(told["ranks"]), told["not_read"]["count"]), (1, 0), "the only directory with traces is meant")
        (self.folder / "settings").mkdir()
        self.put("settings/ds_config.json", {"train_batch_size": 8, "zero_optimization": {"stage": 2}})
        self.assertEqual(len(json.loads(run("report", self.folder, "--json")[1])["ranks"]), 1, "settings are no traces")
        (self.folder / "after").mkdir()
        self.put("after/rank1.json", trace(rank=1))
        self.put("train.log", log(1))
        status, _, err = run("report", self.folder)
        self.assertEqual((status, "pass one, or several for several ranks" in err), (3, True), "logs beside them change nothing")

    def test_strays(self) -> None:
        """JSON that nobody named and that is no trace: not read, and no reason to fail, nor to overlook the traces below."""
        strays = {"config.json": "{}", "list.json": "[1, 2]", "tokenizer.json": {"vocab": {f"word {i}": i for i in range(9000)}}}
        for name, content in strays.items():
            self.put(name, content)
        self.assertGreater((self.folder / "tokenizer.json").stat().st_size, 100_000)
        self.put("late.json", {"settings": "x" * 300_000, **trace(rank=1)})
        (self.folder / "dir.json").mkdir()
        for where in ("", "traces"):
            with self.subTest(where=where):
                if where:
                    (self.folder / where).mkdir()
                    for name in ("rank0.json", "late.json"):
                        (self.folder / name).rename(self.folder / where / name)
                    self.put("ds_config.json", {"train_batch_size": 8, "zero_optimization": {"stage": 2}})
                status, out, err = run("report", self.folder, "--json", "--strict")
                self.assertEqual((status, err), (0, ""))
                told = json.loads(out)
                self.assertEqual((len(told["ranks"]), told["unread"], told["not_read"]["traces"]), (2, [], 0))
                self.assertEqual({Path(p).name for p in told["not_read"]["files"]} & set(strays), set(strays))
                self.assertEqual(run("check", self.folder, "--strict", "--min", "gpu-busy=0")[::2], (0, ""))
                self.assertNotIn("config.json", run("whatif", self.folder, "--edit", "data=0")[2])
        named = json.loads(run("report", self.folder, self.folder / "config.json", "--json")[1])
        self.assertEqual([Path(u["file"]).name for u in named["unread"]], ["config.json"], "what was named is an error")
        self.put("cut.json", '{"schemaVersion": 1, "devicePro')
        told = json.loads(run("report", self.folder, self.folder / "traces", "--json")[1])
        self.assertEqual([Path(u["file"]).name for u in told["unread"]], ["cut.json"], "a damaged trace is told")

    def test_nothing_but_strays(self) -> None:
        self.trace.unlink()
        self.put("config.json", "{}")
        status, _, err = run("report", self.folder)
        self.assertEqual((status, "config.json: JSON without" in err), (3, True), err)

    def test_no_files(self) -> None:
        """Nobody writes to the pipe: to open it would last."""
        os.mkfifo(self.folder / "rank1.json")
        os.mkfifo(self.folder / "train.log")
        for command in ("report", "info"):
            status, _, err = run(command, self.folder, timeout=20)
            self.assertEqual((status, err), (0, ""))

    def test_the_same_file_twice(self) -> None:
        """Is one rank, unless names say different ones."""
        self.trace = self.trace.rename(self.folder / "trace.json")
        (self.folder / "link.json").symlink_to(self.trace)
        os.link(self.trace, self.folder / "zlink.json")
        for paths, n in (([self.folder], 1), ([self.trace, self.trace], 1), ([self.trace, self.folder / "zlink.json"], 1)):
            status, out, err = run("report", *paths, "--json")
            self.assertEqual((status, len(json.loads(out)["ranks"]), err.count("the same file as one before it")), (0, n, 1), err)
            self.assertEqual(err.count("\n"), 1)
        for i in range(2):
            os.link(self.trace, self.folder / f"rank{i}.json")
        status, out, err = run("report", self.folder / "rank0.json", self.folder / "rank1.json", "--json")
        self.assertEqual((status, len(json.loads(out)["ranks"]), err), (0, 2, ""))

    def test_files_that_are_read_when_they_are_named(self) -> None:
        """One message names them, and does not say that there is nothing."""
        self.trace.rename(self.folder / "trace.txt")
        self.put("notes.md", "nothing\n")
        for command in ("info", "report"):
            status, _, err = run(command, self.folder)
            said = " ".join(err.split())
            self.assertEqual((status, f"pass {self.folder}/trace.txt" in said, "ends in" in said, "notes.md" in said), (3, True, False, False), err)

    def test_other_gpus_without_ranks_are_no_job(self) -> None:
        paths = []
        for i, gpu in enumerate(("NVIDIA A10G", "AMD MI300X")):
            made = json.loads(json.dumps(trace()).replace("NVIDIA A10G", gpu))
            del made["distributedInfo"]
            paths.append(self.put("ab"[i] + ".json", made))
        told = json.loads(run("report", *paths, "--json")[1])
        self.assertTrue(any("no ranks of one job" in reason for reason in told["verdict"]["reasons"]), told["verdict"])
        self.assertEqual(told["verdict"]["confidence"], "low")
        paths[1].write_text(paths[0].read_text())
        told = json.loads(run("report", *paths, "--json")[1])
        self.assertFalse(any("no ranks of one job" in reason for reason in told["verdict"]["reasons"]), told["verdict"])

    def test_inventory(self) -> None:
        self.files()
        (self.folder / "empty.json").write_bytes(b"")
        self.put("logs/ds_config.json", {"train_batch_size": 8})
        status, out, err = run("info", self.folder, "--json")
        first, *rest = json.loads(out)          # one document
        self.assertIn(str(self.trace), [one["file"] for one in rest])
        self.assertIsInstance(json.loads(run("info", self.trace, "--json")[1]), dict)
        self.assertEqual([one["file"] for one in json.loads(run("info", self.trace, self.folder / "logs/train.log", "--json")[1])], [str(self.trace), str(self.folder / "logs/train.log")])
        found = [p for p in self.folder.rglob("*") if p.is_file()]
        self.assertEqual((first["files"], first["bytes"]), (len(found), sum(p.stat().st_size for p in found)))
        kinds = {k["format"]: (k["files"], k["first_rank"]) for k in first["kinds"]}
        self.assertEqual(kinds, {"chrome-json": (1, 0), "log": (1, -1), "torch-memory-snapshot": (1, -1)})
        why = {Path(r["file"]).name: r["why"] for r in first["not_read"]}
        self.assertEqual(set(why), {"model.py", "notes.txt", "x.nsys-rep", "empty.json", "ds_config.json"})
        self.assertTrue(why["ds_config.json"].startswith("a configuration of DeepSpeed"), why["ds_config.json"])
        self.assertIn("nsys export --type sqlite", why["x.nsys-rep"])
        ways = {Path(r["file"]).name for r in first["not_read"][:2]}
        self.assertEqual(ways, {"x.nsys-rep", "ds_config.json"}, "what has a way out comes first")
        text = run("info", self.folder)[1].decode()
        self.assertRegex(text, r" +1 +\S+ \S+  logs of training runs and of NCCL\n")
        self.assertIn("logs/deep/x.nsys-rep\n", text)
        self.assertIn("file        " + str(self.trace), text, "then the traces, one by one")

    def test_inventory_without_traces(self) -> None:
        self.trace.unlink()
        self.put("x.nsys-rep", b"NVIDIA Tegra Profiler Report\0\1")
        status, out, err = run("info", self.folder)
        self.assertIn("a report of Nsight Systems", " ".join(out.decode().split()))
        self.assertEqual(status, 3)
        self.assertIn("no file in this directory ends in", " ".join((out.decode() + err).split()))


class Samples(Case):
    """What a monitor sampled needs no option."""

    def asked(self, *words: object) -> dict[str, Any]:
        status, out, err = run("report", *words, "--json", "-q")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def test_plain_inputs(self) -> None:
        one = self.put("t.json", long_trace())
        samples = self.put("a.jsonl", lines(rows(1)))
        plain, named = self.asked(one, samples), self.asked(one, "--with", samples)
        self.assertEqual(plain["ranks"], named["ranks"])
        (self.folder / "monitor").mkdir()
        samples.rename(self.folder / "monitor/a.jsonl")
        self.trace.unlink()
        self.assertEqual(self.asked(self.folder)["ranks"][0]["gpus"], named["ranks"][0]["gpus"])

    def test_one_gpu_of_several_ranks(self) -> None:
        """A log with one GPU may be another rank's, unless log and trace name one node."""
        samples = self.put("a.jsonl", lines(rows(1)))
        for made, ours in ((long_trace(), True), (long_trace(rank=0), False), (long_trace(rank=0, host="n1"), True)):
            (gpu,) = self.asked(self.put("t.json", made), samples)["ranks"][0]["gpus"]["gpus"]
            self.assertEqual(gpu["is_ours"], ours)

    def test_of_its_rank_without_a_host(self) -> None:
        """A log of two nodes that says whose GPU is which: the trace need not name its node."""
        both = lines(rows(1, ranks=True)) + lines([(t, [(k, l | {"gpu": "0", "uuid": "GPU-other", **({"rank": "5"} if "rank" in l else {})}, v) for k, l, v in row])
                                                   for t, row in rows(1, ranks=True)], host="n2")
        told = self.asked(self.put("t.json", long_trace(rank=0)), self.put("a.jsonl", both))
        self.assertEqual((told["doubts"], len(told["ranks"][0]["gpus"]["gpus"])), ([], 1))
        told = self.asked(self.put("t.json", long_trace()), self.folder / "a.jsonl")
        self.assertIn("the trace does not name its own", told["doubts"][0]["doubt"])


if __name__ == "__main__":
    unittest.main()
