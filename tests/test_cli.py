# SPDX-License-Identifier: Apache-2.0
"""The command line as a person meets it: help, typos, missing and empty files, exit status, 80 columns."""
import csv
import gzip
import io
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import EXE, OWN, ROOT, SANITIZED, SHARED, read, report, run, skip_loudly, traces

SLOW = ROOT / "examples/training/traces/slow_loader"
ONE = SLOW / "rank0.pt.trace.json.gz"
STACKS = ROOT / "examples/training/traces/python_stacks"

# arguments, exit status, what the output must hold
ROWS = [
    (["help"], 0, "holdup report"),
    (["--help"], 0, "usage"),
    (["help", "report"], 0, "--group-by"),
    (["report", "--help"], 0, "--strict"),
    (["info", "--help"], 0, "--json"),
    (["--version"], 0, "holdup 0."),
    ([], 2, "look inside a trace"),
    (["reprot"], 2, "did you mean `holdup report`?"),
    (["help", "reprot"], 2, "did you mean"),
    (["strag"], 2, "did you mean `holdup stragglers`?"),
    (["st"], 2, "`holdup help` lists them"),
    ([ONE], 2, f"did you mean `holdup report {ONE}`?"),
    (["examples"], 2, "did you mean `holdup report examples`?"),
    (["no-such-file.json"], 2, "`holdup help` lists them"),
    (["frobnicate"], 2, "`holdup help` lists them"),
    (["report"], 2, "needs a trace"),
    (["report", "--jsn", "x"], 2, "did you mean --json?"),
    (["report", "--vew", "x"], 2, "did you mean --view?"),
    (["report", "--foo", "x"], 2, "unknown option --foo; --help lists the options"),
    (["chek"], 2, "did you mean `holdup check`?"),
    (["report", ONE, "--sort", "foo"], 2, "unknown column \"foo\"; the heading of --csv lists them"),
    (["report", ONE, "--view", "why"], 0, "critical path"),
    (["whatif", "--list-edits"], 0, "kernel:GLOBxN"),
    (["whatif", ONE], 2, "needs a trace and an edit"),
    (["whatif", ONE, "--edit", "dta=0"], 2, "no edit \"dta=0\"; did you mean data=0?"),
    (["whatif", ONE, "--edit", "dat=0"], 2, "did you mean data=0?"),
    (["whatif", ONE, "--edit", "datx3"], 2, "did you mean datax3?"),
    (["whatif", ONE, "--edit", "kernl:*gemm*x2"], 2, "did you mean kernel:*gemm*x2?"),
    (["whatif", ONE, "--edit", "frob=0"], 2, "no edit \"frob=0\"; holdup whatif --list-edits lists them"),
    (["whatif", ONE, "--edit", "data"], 2, "cannot read the edit \"data\"; write dataxN, such as datax2, or data=0"),
    (["whatif", ONE, "--edit", "sync"], 2, "cannot read the edit \"sync\"; write sync=0"),
    (["whatif", ONE, "--edit", "op"], 2, "write op:GLOBxN, such as op:*gemm*x1.5"),
    (["whatif", ONE, "--edit", "straggler"], 2, "write straggler:N, such as straggler:5, or straggler=0"),
    (["whatif", ONE, "--edit", "op:a*=0", "--edit", "op:b*=0"], 2, "one op: pattern at a time"),
    (["whatif", ONE, "--edit", "kernel:nosuch*=0"], 0, "kernel:nosuch*=0 matches nothing in these steps"),
    (["whatif", ONE, "--edit", "data=0"], 0, "step      change  interval"),
    (["info", ONE], 0, "format      torch.profiler (Kineto) and other Chrome trace JSON"),
    (["whatif", SLOW, "--edit", "data=0"], 0, "mean of 2 ranks"),
    (["whatif", ONE, "--edit", "data=0"], 0, "per step as measured"),
    (["stragglers"], 2, "needs a table"),
    (["stragglers", "--help"], 0, "--per-step"),
    (["stragglers", "no-such-file.csv"], 3, "no-such-file.csv"),
    (["stragglers", ONE], 3, "no column dp_rank"),
    (["stragglers", ROOT / "fuzz/corpus/rows/chunks"], 0, "2 dp ranks × 2 stages, 4 model chunks"),
    (["whatif", ONE, "--edit", "comm=x2"], 2, "did you mean commx2?"),
    (["whatif", ONE, "--edit", "comm=1.5"], 2, "did you mean commx1.5?"),
    (["whatif", ONE, "--edit", "comm=maybe"], 2, "write commxN, such as commx2, or comm=0"),
    (["check"], 2, "needs a trace"),
    (["check", "--list-limits"], 0, "max 20 %    of a step is exposed communication"),
    (["check", ONE, "--only-named", "--max", "idle=0.9"], 0, "idle=0.9 means 0.9 %; for 90 % write idle=90%"),
    (["check", ONE], 1, "Optimizer.step uses no foreach"),
    (["check", ONE, "--max", "idel=3"], 2, "choose one of gpu-busy, idle"),
    (["check", ONE, "--max", "idle=lots"], 2, "write a limit as idle=10%"),
    (["check", ONE, "--config", "/nonexistent.toml"], 2, "/nonexistent.toml: cannot read: No such file or directory"),
    (["check", ONE, "--config", ROOT], 2, "cannot read: Is a directory"),
    (["query", ONE, "--file", "/nonexistent.sql"], 2, "/nonexistent.sql: cannot read: No such file or directory"),
    (["check", ONE, "--only-named", "--max", "data=90"], 0, "0 of 1 limits breached"),
    (["check", ONE], 1, "fail    data"),
    (["report", "--no-such-option"], 2, "unknown option"),
    (["report", ONE, "--view"], 2, "needs a value"),
    (["report", ONE, "--view", "opps"], 2, "did you mean ops?"),
    (["report", ONE, "--view", "xyzzy"], 2, "--view list lists them"),
    (["report", ONE, "--view", "idle.xyzzy"], 2, "unknown view"),
    (["report", "--view", "list"], 0, "launch.queues"),
    (["report", STACKS, "--view", "ops", "--group-by", "stack"], 0, "train.py"),
    (["report", STACKS, "--view", "ops", "--group-by", "module"], 0, "Conv2d"),
    (["report", ONE, "--view", "idle"], 0, "no GPU operations recorded"),
    (["report", SLOW, "--view", "ops", "--merge"], 0, "aten::"),
    (["report", ONE, "--steps", "x"], 2, "3..7"),
    (["report", ONE, "--steps", "90..99"], 2, "no step 90..99; this trace has steps "),
    (["report", ONE, "--steps", "90..90"], 2, "no step 90; this trace has steps "),
    (["report", ONE, "--steps", "7..3"], 2, "--steps needs a range such as 3..7 or one number, not \"7..3\""),
    (["export", ONE, "--format", "csv", "--steps", "7..3"], 2, "not \"7..3\""),
    (["report", ONE, "--top", "0"], 2, "at least 1"),
    (["report", ONE, "--sort", "host_slf_ns"], 2, "did you mean host_self_ns?"),
    (["report", ONE, "--json", "--csv"], 2, "cannot be used together"),
    (["report", ONE, "--json", "--csv", "--no-json", "-v", "time"], 0, "rank,"),
    (["report", ONE, "--full"], 2, "--full needs --html FILE"),
    (["report", ONE, "--unit", "foo"], 2, "--unit needs --batch-size N"),
    (["export", ONE, "-o", "a.d/a.xyz"], 2, "unknown ending \".xyz\"; choose a format with --format NAME; --list-formats lists them"),
    (["export", ONE, "-o", "a.d/a"], 2, "export needs a format"),
    (["export", ONE, "--format", "folded", "--weight", "gpu"], 0, "no stacks were written: the trace has no GPU work"),
    (["report", ONE, "-c"], 2, "unknown option -c; it is --csv here"),
    (["query", ONE, "-s"], 2, "unknown option -s; it is --schema here"),
    (["query", ONE], 2, "query needs a trace and a statement: holdup query"),
    (["export", ONE, "-f", "csv"], 2, "unknown option -f; it is --format NAME here"),
    (["export", ONE, "-w", "gpu"], 2, "it is --weight host|gpu|cpu here"),
    (["status", "-s", "x"], 2, "it is --session NAME here"),
    (["view", ONE, "-p", "0"], 2, "it is --port N here"),
    (["run", "-e", "A=1", "true"], 2, "it is --env-var NAME=VALUE here"),
    (["run", "-s", "none", "true"], 2, "-s is --steps here; for nsys's -s write --sample=none"),
    (["run", "-s", "99", "true"], 2, "-s 99..99 for one step, --sample=99 for samples"),
    (["scale", ONE], 2, "scale needs 2 to 64 runs: holdup scale"),
    (["stop", "a", "b"], 2, "stop does not take \"b\""),
    (["run"], 2, "run needs a command: holdup run -- python train.py"),
    (["finish"], 2, "finish needs a session directory: holdup finish DIRECTORY"),
    (["report", ONE, "--limit", "foo=1"], 2, "inflate_ratio"),
    (["report", ONE, "--limit", "events=10"], 3, "--limit events=N"),
    (["report", "no-such-file.json"], 3, "no-such-file.json"),
    (["report", "/dev/null"], 3, "is empty"),
    (["report", "src"], 3, "no file in this directory"),
    (["report", "Makefile"], 3, "not a format that holdup reads"),
    (["report", ONE, "-o", "no/such/folder/x"], 3, "cannot write"),
    (["report", ONE, "--view", "ops"], 0, "aten::"),
    (["report", ONE, "--view", "ops", "--group-by", "shapes"], 0, "[["),
    (["report", ONE, "--view", "steps"], 0, "duration"),
    (["report", ONE, "--view", "health"], 0, "events read"),
    (["report", ONE, "--view", "kernels"], 0, "no kernels were recorded"),
    (["report", ONE, "--view", "copies"], 0, "no memory copies"),
    (["report", "-q", ONE, "-v", "overview"], 0, "DataLoader"),
    (["report", SLOW], 0, "slowest of 2 ranks"),
    (["info", ONE], 0, "PyTorch profiler"),
    (["info", SLOW], 0, "rank"),
]


def every_view() -> list[str]:
    """The words of --view list, parts included."""
    text = run("report", "--view", "list")[1].decode()
    return [w for line in text.splitlines() for w in (line.split() if line.startswith(" ") else line.split()[:1])]


class CommandLine(unittest.TestCase):
    def test_rows(self) -> None:
        for arguments, status, words in ROWS:
            with self.subTest(arguments=[str(a) for a in arguments]):
                got, out, err = run(*arguments)
                text = out.decode() + err
                self.assertEqual(got, status, text)
                self.assertIn(words, text)
                if arguments != ["--version"]:      # its paths and options are as long as they are
                    self.assertLessEqual(max((len(line) for line in out.decode().splitlines() if not line.startswith("next")), default=0), 80)

    def test_a_percentage_that_is_meant_so_gets_no_hint(self) -> None:
        for limit in ("idle=0.9%", "idle=1", "idle=0", "alloc-calls=0.5"):
            self.assertNotIn("of the time", run("check", ONE, "--only-named", "--max", limit)[2])
        self.assertEqual(run("check", ONE, "--only-named", "--max", "idle=0.9", "-q")[2], "")

    def test_every_help_fits_a_terminal(self) -> None:
        for command in re.findall(r"^  ([a-z-]+) ", run("help")[1].decode().split("first steps\n")[0], re.M):
            for columns in (80, 100):
                lines = run("help", command, env={"COLUMNS": str(columns)})[1].decode().splitlines()
                self.assertLessEqual(max(map(len, lines)), columns, command)

    def test_no_sentence_of_check_is_cut(self) -> None:
        for columns in ("60", "80", "200"):
            text = run("check", SLOW, env={"COLUMNS": columns})[1].decode()
            self.assertNotIn("…", text)
            self.assertLessEqual(max(len(line) for line in text.splitlines()), int(columns))

    def test_columns_counts_for_a_pipe_and_a_file(self) -> None:
        widths = {}
        with tempfile.TemporaryDirectory() as folder:
            for columns in ("80", "120"):
                env = {"COLUMNS": columns}
                out = Path(folder) / columns
                texts = [run("report", ONE, "--view", "ops", env=env)[1].decode(), run("help", "run", env=env)[1].decode(),
                         run("query", ONE, "select name || name || name || name || name || name || name as n, dur_ns from op limit 3", env=env)[1].decode()]
                self.assertEqual(run("report", ONE, "--view", "ops", "-o", out, env=env)[0], 0)
                texts.append(out.read_text())
                widths[columns] = [max(len(line) for line in text.splitlines() if not line.startswith("next")) for text in texts]
        for narrow, wide in zip(widths["80"], widths["120"]):
            self.assertLessEqual(narrow, 80)
            self.assertGreater(wide, narrow)
            self.assertLessEqual(wide, 120)

    def test_a_directory_of_directories_names_them(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b", "empty"):
                (Path(folder) / name).mkdir()
            (Path(folder) / "a/rank0.json.gz").symlink_to(ONE)
            for command in (["info"], ["report", "--json"], ["check"]):
                status, out, err = run(*command, folder)
                self.assertEqual((status, err), (run(*command, ONE)[0], ""), "the only directory with traces is meant")
                self.assertEqual(b"rank0.json.gz" in out, command != ["check"])
            (Path(folder) / "b/rank0.json.gz").symlink_to(ONE)
            for command in (["info"], ["report"], ["check"]):
                status, _, err = run(*command, folder)
                self.assertEqual(status, 3, err)
                self.assertIn(f"traces are in {folder}/a, {folder}/b: pass one, or several for several ranks", err)

    def test_what_no_trace_is(self) -> None:
        """A profile of V8 has nodes and no schema; of events that are none for holdup it says which there are."""
        def said(content: object) -> str:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "x.json"
                path.write_text(json.dumps(content))
                status, _, err = run("report", path)
                self.assertEqual(status, 3)
                return " ".join(err.split())
        self.assertIn('JSON without "traceEvents"', said({"nodes": [{"id": 1}], "startTime": 1, "samples": [1]}))
        unended = [{"ph": p, "cat": "net", "id": 0, "name": "request", "pid": 1, "tid": 1, "ts": 1} for p in "bnb"]
        self.assertIn("there are events of phase b (2), n (1), and needed are X with ts and dur", said({"traceEvents": unended}))
        self.assertIn("phase X (1)", said({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1}]}))

    def test_help_lists_every_exit_status(self) -> None:
        text = run("help")[1].decode().split("exit status\n")[1]
        listed = [line.split()[0] for line in text.splitlines()]
        self.assertEqual(listed, ["0", "1", "2", "3", "4", *map(str, range(123, 128)), "128+N"])
        table = (ROOT / "docs/run.md").read_text().split("| exit status |")[1].split("\n\n")[0]
        told = {int(n) for row in table.splitlines()[2:] for n in row.split("|")[1].split(",") if n.strip().isdigit()}
        self.assertEqual(told - {130}, {2, *range(123, 128)})

    def test_the_next_command_can_be_pasted(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "a folder of it's own " + 60 * "x")
            folder.mkdir()
            paths = [folder / f"rank{i}.json.gz" for i in range(4)]
            for path in paths:
                path.write_bytes(ONE.read_bytes())
            (Path(name) / "z.json.gz").write_bytes(ONE.read_bytes())
            for given, want in ((paths[:1], paths[:1]), (paths[:3], paths[:3]), ([folder], [folder]), (paths, [folder]),
                                ([*paths, Path(name) / "z.json.gz"], None)):
                text = run("report", *given)[1].decode()
                command = shlex.split(text[text.index("\nnext  ") + 7:].splitlines()[0])
                if want is None:
                    self.assertEqual(command[:4], ["holdup", "report", "--view", "list"])
                    continue
                self.assertEqual(command, ["holdup", "report", *map(str, want), "--view", "ops"])
                self.assertEqual(run(*command[1:])[0], 0)

    def test_info_names_the_format(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            run("export", ONE, "-o", f"{folder}/a.pftrace")
            told = run("info", f"{folder}/a.pftrace")[1].decode()
            self.assertIn("\nformat      track events and GPU work of Perfetto traces\n", told)
            self.assertRegex(told, r"\nsize        [0-9.]+ [kM]?B\n")

    def test_every_view_of_some_traces(self) -> None:
        views = every_view()
        self.assertGreater(len(views), 40)
        for path in [ONE, *traces()[:12:4], *traces()[12::24]]:     # tests/test_impossible.py walks over all
            for view in views:
                with self.subTest(trace=path.name, view=view):
                    if not SANITIZED or "." not in view:        # a view prints its parts
                        status, out, err = run("report", path, "--view", view, "-n", 40)
                        self.assertEqual(status, 0, err)
                        self.assertTrue(out)
                        self.assertLessEqual(max(len(line) for line in out.decode().splitlines() if not line.startswith("next")), 80)
                    status, out, _ = run("report", path, "--view", view, "--csv")
                    rows = list(csv.reader(io.StringIO(out.decode(), newline="")))
                    self.assertEqual({len(r) for r in rows}, {len(rows[0])})

    def test_merged_ranks_are_sums(self) -> None:
        whole = report(SLOW, "--merge")
        both = {}
        for rank in whole["ranks"]:
            for o in rank["operators"]:
                both[o["name"]] = both.get(o["name"], 0) + o["host_self_ns"]
        self.assertEqual({o["name"]: o["host_self_ns"] for o in whole["merged"]["operators"]}, both)
        rows = list(csv.DictReader(io.StringIO(run("report", SLOW, "--merge", "--csv", "-v", "ops")[1].decode(), newline="")))
        self.assertEqual({r["rank"] for r in rows}, {"all"})
        self.assertEqual({r["name"]: int(r["host_self_ns"]) for r in rows}, both)

    def test_a_dumb_terminal_gets_no_colour(self) -> None:
        for term, is_coloured in (("xterm", True), ("dumb", False)):
            child, fd = pty.fork()
            if child == 0:
                env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "OMPI_COMM_WORLD_RANK")}
                os.execve(EXE, [EXE, "report", "-q", str(ONE), "-v", "overview"], {**env, "TERM": term})
            said = b""
            try:
                while part := os.read(fd, 65536):
                    said += part
            except OSError:        # the terminal's other end is closed
                pass
            os.waitpid(child, 0)
            os.close(fd)
            self.assertIn(b"WHERE", said)
            self.assertEqual(b"\033[" in said, is_coloured, term)

    def test_color_is_a_choice(self) -> None:
        self.assertIn(b"\033[", run("report", ONE, "--color", "always")[1])
        self.assertNotIn(b"\033[", run("report", ONE, "--color", "never")[1])

    def test_hostile_names_are_made_harmless(self) -> None:
        name = "\u001b[2J</script><img src=x>\u202e\u0000\ud800 &\"' aten::x"
        event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 5, "name": name}
        with tempfile.TemporaryDirectory() as folder:
            path, page = Path(folder) / "t.json", Path(folder) / "page.html"
            path.write_text(json.dumps({"traceEvents": [event]}))
            status, out, _ = run("report", path, "--view", "ops", "--html", page)
            self.assertEqual(status, 0)
            self.assertNotIn(b"\033", out)
            self.assertNotIn("\u202e".encode(), out)
            text = page.read_text().split("<script", 1)[0]          # markup; the scripts behind it hold no name
            self.assertNotIn("</script>", text)
            self.assertNotIn("<img", text)
            self.assertNotIn("http", text.replace("http-equiv", ""))
            self.assertIn("&lt;img src=x&gt;", text)
            self.assertIn("aten::x", report(path)["ranks"][0]["operators"][0]["name"])

    def test_csv_is_a_table(self) -> None:
        for view in ("ops", "kernels", "copies", "steps"):
            status, out, _ = run("report", SLOW, "--csv", "--view", view)
            self.assertEqual(status, 0)
            rows = list(csv.reader(io.StringIO(out.decode(), newline="")))
            self.assertEqual(rows[0][0], "rank")
            self.assertEqual({len(r) for r in rows}, {len(rows[0])})
            if view == "ops":
                self.assertEqual({r[0] for r in rows[1:]}, {"0", "1"})

    def test_sort_and_top(self) -> None:
        rows = report(ONE, "--sort", "calls", "--top", "5")["ranks"][0]["operators"]
        self.assertEqual(len(rows), 5)
        calls = [r["calls"] for r in rows]
        self.assertEqual(calls, sorted(calls, reverse=True))

    def test_sort_moves_no_rows_that_others_refer_to(self) -> None:
        spans = [("aa", 0, 100), ("zz", 10, 80), ("mm", 20, 60), ("bb", 200, 300), ("yy", 210, 10)]
        events = [{"ph": "X", "cat": "cpu_op", "name": n, "pid": 1, "tid": 1, "ts": ts, "dur": dur} for n, ts, dur in spans]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            for sort in ((), ("--sort", "name")):
                nodes = report(path, *sort)["ranks"][0]["call_tree"]["nodes"]
                around = {n["name"]: nodes[n["parent"]]["name"] for n in nodes if n["parent"] is not None}
                self.assertEqual(around, {"zz": "aa", "mm": "zz", "yy": "bb"})

    def test_copies_of_no_device_are_in_no_series(self) -> None:
        kinds = ["Memcpy HtoD (Pageable -> Device)", "Memcpy HtoH (Pinned -> Pinned)", "Memcpy", "Memcpy DtoD (Device -> Device)"]
        events = [{"ph": "X", "cat": "gpu_memcpy", "name": n, "pid": 0, "tid": 7, "ts": 1000 * (i + 1), "dur": 1000,
                   "args": {"stream": 7, "device": 0, "bytes": 10**6}} for i, n in enumerate(kinds)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps({"traceEvents": events}))
            rank = report(path)["ranks"][0]
        used = {key: [i // 50 for i, row in enumerate(rank["copy_bandwidth"]["series"]) if row[key]] for key in ("htod_gbps", "dtod_gbps")}
        self.assertEqual({key: set(at) for key, at in used.items()}, {"htod_gbps": {0}, "dtod_gbps": {3}})
        self.assertIsNone(rank["waits"]["wait_calls_per_step"], "there are no steps")

    def test_steps_choose(self) -> None:
        everything = report(ONE)["ranks"][0]
        numbers = [s["number"] for s in everything["steps"]["list"]]
        chosen = report(ONE, "--steps", f"{numbers[1]}..{numbers[2]}")["ranks"][0]
        self.assertEqual([s["number"] for s in chosen["steps"]["list"]], numbers[1:3])
        calls = {o["name"]: o["calls"] for o in everything["operators"]}
        self.assertEqual({o["calls"] for o in chosen["operators"] if o["name"] == "ProfilerStep*"}, {2})
        self.assertTrue(all(o["calls"] <= calls[o["name"]] for o in chosen["operators"]))

    def test_output_file_and_disk_that_is_full(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out.json"
            self.assertEqual(run("report", ONE, "--json", "-o", path)[0], 0)
            self.assertEqual(json.loads(path.read_text()), report(ONE))
            self.assertEqual(os.listdir(folder), ["out.json"])
        self.assertEqual(run("report", ONE, "-o", "/dev/full")[0], 3)

    def test_strict_and_partial_data(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cut = Path(folder) / "cut.json"
            cut.write_bytes(read(ONE)[:200000])
            self.assertEqual(run("report", cut)[0], 0)
            self.assertEqual(run("report", cut, "--strict")[0], 4)
            self.assertEqual(run("report", ONE, "--strict")[0], 0)
            bad = Path(folder) / "bad.json"
            bad.write_text("no trace")
            status, out, err = run("report", ONE, bad, "--json")
            self.assertEqual((status, len(json.loads(out)["ranks"])), (0, 1))
            self.assertIn("bad.json", err)
            self.assertEqual(run("report", ONE, bad, "--strict")[0], 4)
            self.assertEqual(run("report", bad)[0], 3)

    def test_same_input_same_bytes(self) -> None:
        self.assertEqual(run("report", SLOW, "--json")[1], run("report", SLOW, "--json", env={"HOLDUP_THREADS": "1"})[1])

    def test_threads(self) -> None:
        answers = {run("report", SLOW, "--json", "--threads", str(n))[1] for n in (1, 2, 3, 16)}
        self.assertEqual(answers, {run("report", SLOW, "--json")[1]})
        for wrong in ("0", "257", "many"):
            status, _, said = run("report", SLOW, "--threads", wrong)
            self.assertEqual((status, said), (2, f'holdup: --threads needs a number from 1 to 256, not "{wrong}"\n'))

    @unittest.skipUnless(shutil.which("strace") and not SANITIZED, "strace counts the threads")
    def test_the_option_wins_over_the_variable(self) -> None:
        def started(n: int, variable: int) -> int:
            done = subprocess.run(["strace", "-f", "-qq", "-e", "trace=clone,clone3", EXE, "report", SLOW, "--threads", str(n)], capture_output=True, text=True, check=True,
                                  env={**os.environ, "HOLDUP_THREADS": str(variable)})
            return sum("clone" in line and "resumed" not in line for line in done.stderr.splitlines())
        self.assertEqual(started(1, 4), 0)
        self.assertGreater(started(4, 1), 0)

    def test_gzip_that_breaks_off_gives_what_came_before(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json.gz"
            path.write_bytes(gzip.compress(read(ONE))[:-2000])
            quality = report(path)["ranks"][0]["quality"]
            self.assertTrue(quality["is_truncated"])
            self.assertIn("gzip", quality["truncated_why"])
            self.assertGreater(quality["events"], 1000)

    def test_demo_traces_are_all_there(self) -> None:
        self.assertGreaterEqual(len(OWN), 6)


if __name__ == "__main__":
    unittest.main()
