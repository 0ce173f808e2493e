# SPDX-License-Identifier: Apache-2.0
"""What is written never replaces what is read; a reader that leaves early ends the program as it ends git and jq."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from typing import Any

from tests.program import EXE, OWN, ROOT, run

TRACE = next(p for p in OWN if p.parent.name == "slow_loader")
ROWS = ROOT / "fuzz/corpus/rows/chunks"
MANY = next(p for p in OWN if p.parent.name == "python_stacks")

# command: words around its input, and the input
COMMANDS: dict[str, tuple[list[str], list[str], pathlib.Path]] = {
    "report": ([], [], TRACE),
    "info": ([], [], TRACE),
    "whatif": ([], ["--edit", "data=0"], TRACE),
    "diff": ([str(TRACE)], [], TRACE),
    "scale": ([str(TRACE)], [], TRACE),
    "stragglers": ([], [], ROWS),
    "check": ([], ["--only-named", "--max", "data=90"], TRACE),
    "stats": ([], [], TRACE),
    "query": ([], ["select count(*) from slice"], TRACE),
    "export": ([], ["--format", "chrome"], TRACE),
}
NAMES_NO_INPUT = {"run": {"--output"}, "finish": {"--output"}, "print-env": {"--output"}, "trace": {"--output"}, "monitor": {"--jsonl"},
                  "doctor": {"--bundle"}}   # templates, a folder, a bundle: only new files


def file_options(command: str) -> set[str]:
    """Long options of a command whose value is a file to write, as its help says."""
    status, out, err = run("help", command)
    assert status == 0, err
    options = re.findall(r"^ +(?:-\w, )?(--[a-z-]+) (FILE|TEMPLATE)\b", out.decode(), re.M)
    return {name for name, _ in options} - {"--config", "--file", "--env-file", "--with", "--web-config", "--nvml"}


class Overwriting(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def refused(self, command: str, option: str, given: pathlib.Path | str, output: pathlib.Path | str, **how: Any) -> None:
        before, after, _ = COMMANDS[command]
        status, out, err = run(command, *before, given, option, output, *after, "-q" if command != "info" else "--", **how)
        with self.subTest(command=command, option=option, output=str(output)):
            self.assertEqual(status, 2, err)
            self.assertIn(f"{output}: is an input: {option} would overwrite it", err)
            self.assertEqual(out, b"")

    def test_every_command_and_option_that_writes_a_file(self) -> None:
        commands = re.findall(r"^  ([a-z-]+) ", run("help")[1].decode().split("first steps\n")[0], re.M)
        self.assertTrue(set(COMMANDS) < set(commands))
        for command in commands:
            options = file_options(command) if command != "help" else set()
            if command not in COMMANDS:
                self.assertLessEqual(options, NAMES_NO_INPUT.get(command, set()), f"{command} writes a file that no test covers")
                continue
            self.assertTrue(options, command)
            for option in options:
                original = COMMANDS[command][2]
                path = self.folder / original.name
                shutil.copyfile(original, path)
                self.refused(command, option, path, path)
                self.assertEqual(path.read_bytes(), original.read_bytes())

    def test_other_names_of_the_input(self) -> None:
        path = self.folder / "run/rank0.json.gz"
        path.parent.mkdir()
        shutil.copyfile(TRACE, path)
        (self.folder / "link").symlink_to(path)
        (self.folder / "links").symlink_to(path.parent)
        os.link(path, self.folder / "hard")
        for command, option in (("report", "--html"), ("check", "--junit"), ("export", "--output"), ("scale", "--svg")):
            for name in ("link", "hard", "links/rank0.json.gz", "run/../run/rank0.json.gz"):
                self.refused(command, option, path, self.folder / name)
                self.refused(command, option, path.parent, self.folder / name)      # found in a directory
                self.refused(command, option, os.path.relpath(path, ROOT), self.folder / name)
        self.assertEqual(path.read_bytes(), TRACE.read_bytes())
        self.assertTrue((self.folder / "link").is_symlink())

    def test_standard_input(self) -> None:
        path = self.folder / "rank0.json.gz"
        shutil.copyfile(TRACE, path)
        with open(path, "rb") as file:
            done = subprocess.run([EXE, "report", "-", "-o", path], stdin=file, capture_output=True, check=False, timeout=60)
        self.assertEqual((done.returncode, path.read_bytes()), (2, TRACE.read_bytes()), done.stderr)

    def test_statements_and_limits(self) -> None:
        sql, limits = self.folder / "q.sql", self.folder / "limits.toml"
        sql.write_text("select count(*) from slice")
        limits.write_text("[max]\ndata = 90\n")
        for path, words in ((sql, ["query", TRACE, "--file", sql, "-o", sql]), (limits, ["check", TRACE, "--config", limits, "--junit", limits]),
                            (limits, ["check", TRACE, "--config", limits, "-o", limits])):
            text = path.read_text()
            status, _, err = run(*words)
            self.assertEqual((status, path.read_text()), (2, text))
            self.assertIn(f"{path}: is also an input", err)

    def test_lists(self) -> None:
        """A list reads no input, and must not overwrite the one that was named all the same."""
        path = self.folder / "rank0.json.gz"
        shutil.copyfile(TRACE, path)
        for words in (["query", path, "--schema"], ["report", path, "--view", "list", "--csv"], ["report", self.folder, "--view", "list"],
                      ["export", path, "--list-formats"], ["whatif", path, "--list-edits"], ["check", path, "--list-limits"]):
            with self.subTest(words=words):
                status, _, err = run(*words, "-o", path)
                self.assertEqual((status, path.read_bytes()), (2, TRACE.read_bytes()), err)
                self.assertIn("is an input", err)
        self.assertEqual(run("report", "--view", "list", "-o", self.folder / "list")[0], 0)

    def test_no_name(self) -> None:
        status, _, err = run("report", TRACE, "--output=")
        self.assertEqual(status, 2)
        self.assertIn("--output needs the name of a file", err)

    def test_a_dash_is_standard_output(self) -> None:
        for command, (before, after, source) in COMMANDS.items():
            for name in file_options(command):
                with self.subTest(command=command, option=name):
                    words = [command, *before, str(source), *after]
                    status, out, err = run(*words, name, "-")
                    if name == "--output":
                        self.assertEqual((status, out), run(*words)[:2], err)
                    else:
                        self.assertEqual((status, out), (2, b""))
                        self.assertIn(f"{name} needs the name of a file: standard output is for the answer", err)
                    self.assertFalse((ROOT / "-").exists())

    def test_two_outputs_of_one_name(self) -> None:
        out = self.folder / "x"
        for words in (["report", TRACE, "-o", out, "--html", out], ["check", TRACE, "-o", out, "--junit", self.folder / ".." / self.folder.name / "x"],
                      ["scale", TRACE, TRACE, "--svg", out, "--html", out]):
            status, _, err = run(*words)
            self.assertEqual(status, 2)
            self.assertIn("one would overwrite the other", err)
            self.assertFalse(out.exists())

    def test_other_files_are_replaced_as_before(self) -> None:
        out = self.folder / "x.json"
        out.write_text("old")
        link = self.folder / "link.json"
        link.symlink_to(out)
        self.assertEqual(run("info", TRACE, "--json", "-o", link)[0], 0)
        self.assertTrue(out.read_text().startswith("{"))
        self.assertTrue(link.is_symlink())
        self.assertEqual(run("info", TRACE, "-o", "/dev/null")[0], 0)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["link.json", "x.json"])

    def test_log_behind_standard_output_is_appended_to(self) -> None:
        log = self.folder / "log"
        log.write_text("before\n")
        with open(log, "ab") as file:
            subprocess.run([EXE, "info", TRACE, "-o", "/dev/stdout"], stdout=file, check=True, timeout=60)
        self.assertTrue(log.read_text().startswith("before\n"))
        self.assertGreater(len(log.read_text()), 100)


class Links(unittest.TestCase):
    def test_where_they_lead(self) -> None:
        """A file behind a link is replaced, wherever it is; one that is not there yet is made; a descriptor is appended to."""
        folder = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.addCleanup(shutil.rmtree, folder)
        file, link, new, log = (folder / name for name in ("file", "link", "new", "log"))
        file.write_text("old")
        link.symlink_to("file")
        self.assertEqual(run("info", TRACE, "--json", "-o", link)[0], 0)
        self.assertTrue(link.is_symlink() and file.read_text().startswith("{"))
        new.symlink_to("made")
        self.assertEqual(run("info", TRACE, "--json", "-o", new)[0], 0)
        self.assertTrue(new.is_symlink() and (folder / "made").read_text().startswith("{"))
        (folder / "out").symlink_to("/dev/stdout")
        for name in ("/dev/stdout", folder / "out"):
            log.write_text("kept\n")
            with open(log, "a", encoding="utf-8") as out:
                subprocess.run([EXE, "info", TRACE, "--json", "-o", name], stdout=out, check=True, timeout=60)
            self.assertTrue(log.read_text().startswith("kept\n{"), name)


class LeavingReaders(unittest.TestCase):
    """More is printed than a pipe holds, and its reader is gone."""

    ROWS = (["report", MANY, "--json"], ["export", MANY, "--format", "csv"], ["export", MANY, "--format", "perfetto"],
            ["query", MANY, "--csv", "select a.name, b.name from slice a, slice b limit 100000"], ["help", "run"], ["info", MANY])

    def ended(self, words: list[Any], ignored: bool = False) -> tuple[int, bytes]:
        read, write = os.pipe()
        os.close(read)
        prepare = (lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)) if ignored else None
        try:
            done = subprocess.run([EXE, *map(str, words)], stdout=write, stderr=subprocess.PIPE, check=False, timeout=120, preexec_fn=prepare, restore_signals=not ignored)
        finally:
            os.close(write)
        return done.returncode, done.stderr

    def test_end_silently(self) -> None:
        for words in self.ROWS:
            for ignored in (False, True):       # as git does: some parents ignore the signal by mistake
                with self.subTest(words=words, ignored=ignored):
                    self.assertEqual(self.ended(words, ignored), (-signal.SIGPIPE, b""))

    def test_talk_that_nobody_hears_ends_nothing(self) -> None:
        """A warning into a closed pipe: the answer that goes into a file is written."""
        with tempfile.TemporaryDirectory() as folder:
            broken, output = pathlib.Path(folder, "broken.json"), pathlib.Path(folder, "out")
            broken.write_text("{broken")
            for words in (["report", TRACE, broken], ["check", TRACE, broken, "--allow-missing", "--only-named", "--max", "data=90"],
                          ["query", TRACE, broken, "select 1"], ["export", TRACE, broken, "--format", "chrome"]):
                read, write = os.pipe()
                os.close(read)
                try:
                    done = subprocess.run([EXE, *map(str, words), "-o", output], stderr=write, check=False, timeout=120)
                finally:
                    os.close(write)
                with self.subTest(words=words):
                    self.assertEqual(done.returncode, 0)
                    self.assertGreater(output.stat().st_size, 0)
                    output.unlink()

    def test_status_in_a_pipeline(self) -> None:
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {EXE} query {MANY} --csv 'select a.name from slice a, slice b limit 1000000' | head -1"],
                              capture_output=True, check=False, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (141, b""))
        self.assertEqual(done.stdout, b"name\r\n")

    def test_files_are_there_all_the_same(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page, junit, svg = (pathlib.Path(folder, name) for name in ("page.html", "j.xml", "s.svg"))
            self.assertEqual(self.ended(["report", MANY, "--html", page, "-q"])[0], -signal.SIGPIPE)
            self.assertEqual(self.ended(["check", TRACE, "--junit", junit, "-q"])[0], -signal.SIGPIPE)
            self.assertTrue(page.read_text().startswith("<!doctype html>"))
            self.assertIn("</testsuite>", junit.read_text())
            self.assertEqual(sorted(os.listdir(folder)), ["j.xml", "page.html"])

    def test_recorded_command_keeps_its_own(self) -> None:
        """The recorder outlives readers of its words; the command has the disposition that it would have without it."""
        program = "import signal; print(signal.getsignal(signal.SIGPIPE) == signal.SIG_DFL)"
        with tempfile.TemporaryDirectory() as folder:
            read, write = os.pipe()
            os.close(read)
            done = subprocess.run([EXE, "run", "-o", pathlib.Path(folder, "x"), "--", "sh", "-c", f"python3 -c '{program}' >{folder}/said; exit 7"],
                                  stderr=write, stdout=subprocess.DEVNULL, check=False, timeout=120)
            os.close(write)
            self.assertEqual(done.returncode, 7)
            self.assertTrue(pathlib.Path(folder, "x.pftrace").exists())


if __name__ == "__main__":
    unittest.main()
