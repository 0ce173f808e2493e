# SPDX-License-Identifier: Apache-2.0
"""What a person reads in a terminal of 80 columns: help, errors and statuses are wrapped there, and stay one line in a pipe."""
import os
import pty
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import EXE, ROOT
from tests.recorder import environment

COLUMNS = 80
TRACE = ROOT / "tests/data/opencl_pairs/loader-waits.pftrace.gz"
JOB = ROOT / "tests/data/pairs/straggler"
COMMANDS = ("report", "check", "whatif", "info", "stats", "query", "export", "view", "diff", "scale", "stragglers", "run", "start", "stop", "cancel", "status",
            "finish", "print-env", "trace")
# arguments behind `holdup`: what fails or tells something on stderr
TALK = (
    ["repotr"], [], ["report"], ["report", "a.txt"], ["report", "a.log"], ["report", "empty"], ["report", "missing"], ["report", "a/long/path/" * 12],
    ["report", "t", "--hmtl"], ["report", "t", "--view", "zzz"], ["report", "t", "--steps", "7..3"], ["report", "t", "--json", "--csv"],
    ["report", "t", "--output", "/nonexistent/folder/report"], ["report", "t", "--nonsense"], ["whatif", "t", "-e", "zzz=0"], ["whatif", "t", "-e", "data"],
    ["query", "t", "selec"], ["stats", "t", "-r", "zzz"], ["stats", "t", "-r", "cuda_gpu_kern_sum:zzz"], ["export", "t", "-f", "zzz"], ["check", "t", "--max", "zzz=1"],
    ["run"], ["run", "--trace", "zzz", "--", "true"], ["run", "--require", "zzz", "--", "true"], ["run", "--pytorch=zzz", "--", "true"],
    ["run", "--steps", "9..1", "--", "true"], ["run", "--session-new", "a b", "--", "true"], ["run", "--mode", "zzz", "--", "true"],
    ["run", "--capture-range=cudaProfilerApi", "--steps", "1..2", "--", "true"], ["run", "/nonexistent/program"],
    ["run", "--scratch", "/nonexistent", "-o", "o1", "--", "true"], ["start"], ["stop"], ["finish", "."], ["trace", "999999"], ["help", "zzz"],
)
# the same of runs that record: what was asked for and is not there, how it ended, what was written
RUNS = (
    ["--trace", "cudnn,osrt", "-o", "r1", "--", "true"], ["-o", "r2", "--", "sh", "-c", "exit 3"], ["-o", "r3", "--", "sh", "-c", "kill -9 $$"],
    ["--require", "cuda", "-o", "r4", "--", "true"], ["--gpu-metrics-device", "0", "--export", "sqlite", "-o", "r5", "--", "true"],
    ["--duration", "200ms", "-o", "r6", "--", "sleep", "60"], ["--show-output=false", "--no-report", "-o", "r7", "--", "true"],
)
# answers: what is printed on stdout; tables of `stats` and `query` are as wide as their columns
ANSWERS = (["report", "t"], ["report", "job"], ["report", "job", "--view", "all"], ["check", "t"], ["check", "--list", "t"], ["whatif", "--list-edits"],
           ["whatif", "t", "-e", "data=0"], ["info", "t"], ["info", "job"], ["stats", "--help-reports"], ["scale", "job", "job"], ["diff", "t", "job"])


def in_terminal(words: list[str], folder: Path) -> list[str]:
    """Lines that a program writes on a terminal of 80 columns, without colours."""
    child, fd = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(EXE, [EXE, *words], {k: v for k, v in environment(XDG_RUNTIME_DIR=str(folder), TERM="xterm").items() if k != "COLUMNS"})
    said = b""
    try:
        while part := os.read(fd, 65536):
            said += part
    except OSError:        # the terminal's other end is closed
        pass
    os.waitpid(child, 0)
    os.close(fd)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()).replace("\r\n", "\n")
    return [line.split("\r")[-1] for line in text.split("\n")]


def too_long(lines: list[str]) -> list[str]:
    """Those that could have been shorter: no single word (a path, which is there to be copied), and no command to be copied."""
    return [line for line in lines if len(line) > COLUMNS and " " in line.removeprefix("holdup:").strip() and not line.startswith("next")]


class Columns(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="holdup-columns-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        shutil.copy(TRACE, cls.folder / "t")
        shutil.copytree(JOB, cls.folder / "job")
        (cls.folder / "a.txt").write_text("some words that no tool wrote\n")
        (cls.folder / "a.log").write_text("host:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n" * 8)
        (cls.folder / "empty").touch()

    def check(self, words: list[str]) -> list[str]:
        lines = in_terminal(words, self.folder)
        self.assertTrue("".join(lines), "it says something")
        self.assertEqual(too_long(lines), [])
        return lines

    def test_help(self) -> None:
        for words in (["--help"], *([name, "--help"] for name in COMMANDS)):
            with self.subTest(words=words):
                self.check(words)

    def test_errors(self) -> None:
        wrapped = 0
        for words in TALK:
            with self.subTest(words=words):
                lines = self.check(words)
                piped = subprocess.run([EXE, *words], cwd=self.folder, capture_output=True, text=True, check=False,
                                       env=environment(XDG_RUNTIME_DIR=str(self.folder))).stderr
                for line in piped.splitlines():        # each is whole there, and the terminal has all its words
                    if line.startswith("holdup: "):
                        self.assertIn(" ".join(line.split()), " ".join(" ".join(lines).split()))
                        wrapped += len(line) > COLUMNS
        self.assertGreater(wrapped, 5, "there are messages that need more than one line")

    def test_runs(self) -> None:
        for words in RUNS:
            with self.subTest(words=words):
                said = self.check(["run", "-f", *words])
                self.assertTrue(any(line.startswith("holdup: ") for line in said), said)

    def test_answers(self) -> None:
        for words in ANSWERS:
            with self.subTest(words=words):
                self.check(words)

    def test_a_path_is_there_to_be_copied(self) -> None:
        path = "/nonexistent/" + "folder/" * 20 + "trace.json"
        self.assertTrue(any(path in line for line in in_terminal(["report", path], self.folder)))


if __name__ == "__main__":
    unittest.main()
