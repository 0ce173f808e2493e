# SPDX-License-Identifier: Apache-2.0
"""What the program tells man and shells of itself: pages without warnings, and completions in the real bash, zsh and fish, at a terminal."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from tests.program import EXE, ROOT, VERSION, run, skip_loudly

# what is typed, then a tab, then END: the words that holdup is started with.  A blank before END: the word is whole.
CASES = [
    ("rep", ["report", "END"]),
    ("print-", ["print-env", "END"]),
    ("help rep", ["help", "report", "END"]),
    ("help --completion z", ["help", "--completion", "zsh", "END"]),
    ("report --vi", ["report", "--view", "END"]),
    ("report --view overv", ["report", "--view", "overview", "END"]),
    ("report -v roofl", ["report", "-v", "roofline", "END"]),
    ("report --view=overv", ["report", "--view=overview", "END"]),
    ("report --color alw", ["report", "--color", "always", "END"]),
    ("report --color=alw", ["report", "--color=always", "END"]),
    ("report --sort host_self_n", ["report", "--sort", "host_self_ns", "END"]),
    ("report --limit nest", ["report", "--limit", "nesting=END"]),
    ("report --group-by sta", ["report", "--group-by", "stack", "END"]),
    ("report tra", ["report", "trace.json", "END"]),
    ("report my", ["report", "my trace.json", "END"]),
    ("report -q tra", ["report", "-q", "trace.json", "END"]),
    ("report --html pa", ["report", "--html", "page.html", "END"]),
    ("report --html=pa", ["report", "--html=page.html", "END"]),
    ("info --js", ["info", "--json", "END"]),
    ("export --format spee", ["export", "--format", "speedscope", "END"]),
    ("whatif -e dat", ["whatif", "-e", "data=0", "END"]),
    ("whatif trace.json --edit kern", ["whatif", "trace.json", "--edit", "kernel:END"]),
    ("check --max memory-h", ["check", "--max", "memory-headroom=END"]),
    ("check --config lim", ["check", "--config", "limits.toml", "END"]),
    ("query --file que", ["query", "--file", "query.sql", "END"]),
    ("run --trace nv", ["run", "--trace", "nvtx", "END"]),
    ("run --scratch dee", ["run", "--scratch", "deep/END"]),
    ("run holdup-test-to", ["run", "holdup-test-tool", "END"]),
    ("run -t nvtx -- holdup-test-tool tra", ["run", "-t", "nvtx", "--", "holdup-test-tool", "trace.json", "END"]),
    ("run --kill none holdup-test-tool tra", ["run", "--kill", "none", "holdup-test-tool", "trace.json", "END"]),
    ("tra", ["trace", "END"]),
    ("trace --sha", ["trace", "--shapes", "END"]),
    ("trace --socket-dir dee", ["trace", "--socket-dir", "deep/END"]),
    ("status --js", ["status", "--json", "END"]),
]


class Terminal:
    """A shell with a terminal, in which `holdup` prints its arguments."""

    def __init__(self, words: list[str], folder: pathlib.Path, setup: str) -> None:
        self.child, self.fd = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {**os.environ, "TERM": "xterm", "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "PS1": "$ ",
                                         "INPUTRC": "/dev/null", "COLUMNS": "400", "LC_ALL": "C.UTF-8"})
        self.ask(setup + "; holdup a")

    def ask(self, line: str, patience_s: float = 30) -> list[str]:
        """Types the line; the arguments that holdup was started with."""
        os.write(self.fd, (line + "\r").encode())
        text, end = "", time.monotonic() + patience_s
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                text += os.read(self.fd, 65536).decode(errors="replace")
            found = re.findall(r"GOT((?:<[^>]*>)*)TOG", text)
            if found:
                time.sleep(0.05)      # the prompt
                while select.select([self.fd], [], [], 0)[0]:
                    os.read(self.fd, 65536)
                return re.findall(r"<([^>]*)>", found[-1])
        raise AssertionError(f"no answer to {line!r}: {text!r}")

    def close(self) -> None:
        os.close(self.fd)
        try:
            os.kill(self.child, 9)
        except ProcessLookupError:
            pass
        os.waitpid(self.child, 0)


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-completions-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for file in ("trace.json", "my trace.json", "page.html", "limits.toml", "query.sql", "deep/x", "bin/holdup-test-tool"):
            (cls.folder / file).parent.mkdir(exist_ok=True)
            (cls.folder / file).write_text("#!/bin/sh\n")
        (cls.folder / "bin/holdup-test-tool").chmod(0o755)
        (cls.folder / "bin/holdup").symlink_to(EXE)
        cls.scripts = cls.folder / "scripts"
        cls.scripts.mkdir()
        for shell, name in (("bash", "holdup"), ("zsh", "_holdup"), ("fish", "holdup.fish")):
            (cls.scripts / name).write_bytes(run("help", "--completion", shell)[1])

    def need(self, program: str) -> str:
        found = shutil.which(program)
        if not found:
            skip_loudly(f"{program} is not installed")
            self.skipTest(program)
        return found

    def type_all(self, shell: Terminal, is_zsh: bool = False) -> None:
        self.addCleanup(shell.close)
        for typed, wanted in CASES:
            with self.subTest(typed=typed):
                said = shell.ask(f"holdup {typed}\tEND")
                if is_zsh and typed == "report --vi":       # zsh adds a sign that a blank would replace
                    wanted = ["report", "--view=END"]
                self.assertEqual(said, wanted)

    ECHO = "holdup() { printf GOT; printf '<%s>' \"$@\"; echo TOG; }"

    def test_bash(self) -> None:
        self.type_all(Terminal([self.need("bash"), "--norc", "--noprofile", "-i"], self.folder, f"{self.ECHO}; . {self.scripts}/holdup"))

    def test_bash_with_its_library_of_completions(self) -> None:
        library = pathlib.Path("/usr/share/bash-completion/bash_completion")
        if not library.exists():
            skip_loudly("bash-completion is not installed")
            self.skipTest("bash-completion")
        self.type_all(Terminal([self.need("bash"), "--norc", "--noprofile", "-i"], self.folder, f"{self.ECHO}; . {library}; . {self.scripts}/holdup"))

    def test_zsh(self) -> None:
        self.type_all(Terminal([self.need("zsh"), "-f", "-i"], self.folder,
                               f"{self.ECHO}; fpath=({self.scripts} $fpath); autoload -U compinit; compinit -u -D; unsetopt beep list_beep"), is_zsh=True)

    def fish(self, line: str) -> dict[str, str]:
        """What fish offers for a line, with what it says of it."""
        done = subprocess.run([self.need("fish"), "--no-config", "-c", f"source {self.scripts}/holdup.fish; complete -C '{line}'"], cwd=self.folder, capture_output=True, text=True,
                              check=True, timeout=60, env={**os.environ, "HOME": str(self.folder), "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"})
        self.assertEqual(done.stderr, "")
        return dict((row.split("\t") + [""])[:2] for row in done.stdout.splitlines())

    def test_fish(self) -> None:
        for typed, wanted in CASES:
            with self.subTest(typed=typed):
                word = wanted[-2] if wanted[-1] == "END" else wanted[-1].removesuffix("END")
                self.assertIn(word, [w.replace("\\ ", " ") for w in self.fish(f"holdup {typed}")])

    def test_every_command_and_option_is_offered(self) -> None:
        commands = re.findall(r"^  ([a-z-]+) ", run("help")[1].decode().split("first steps\n")[0], re.M)
        self.assertGreater(len(commands), 15)
        texts = [(self.scripts / name).read_text() for name in ("holdup", "_holdup", "holdup.fish")]
        offered = self.fish("holdup ")
        for command in commands:
            self.assertTrue(offered[command], "it says what the command is for")
            options = re.findall(r"^ {2,6}(?:-\w, )?--([a-z-]+)", run("help", command)[1].decode(), re.M)
            self.assertIn("help", options)
            fish = self.fish(f"holdup {command} --")
            for option in options:
                self.assertTrue(any(w.split("=")[0] == f"--{option}" for w in fish), f"fish: {command} --{option}")
            block = re.search(rf"^    {command}\) .*?;;", texts[0], re.M | re.S)[0]
            self.assertLessEqual({f"--{o}" for o in options}, set(re.findall(r"--[a-z-]+", block)))

    def test_words_that_begin_alike_are_all_shown(self) -> None:
        script = f". {self.scripts}/holdup; COMP_LINE='holdup st'; COMP_POINT=9 COMP_WORDS=(holdup st) COMP_CWORD=1; _holdup; echo ${{COMPREPLY[*]}}"
        self.assertEqual(sorted(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()), ["start", "stats", "status", "stop", "stragglers"])


class Pages(unittest.TestCase):
    def setUp(self) -> None:
        self.commands = [None, *re.findall(r"^  ([a-z-]+) ", run("help")[1].decode().split("first steps\n")[0], re.M)]

    def test_pages_are_read_without_a_warning(self) -> None:
        for tool in ("groff", "man"):
            if not shutil.which(tool):
                skip_loudly(f"{tool} is not installed: manual pages were not read")
                self.skipTest(tool)
        with tempfile.TemporaryDirectory() as folder:
            for command in self.commands:
                page = pathlib.Path(folder) / f"holdup{'-' + command if command else ''}.1"
                page.write_bytes(run("help", "--man", *([command] if command else []))[1])
                for words in (["groff", "-ww", "-man", "-Tutf8", "-z", page], ["man", "-l", "--warnings", page]):
                    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
                    self.assertEqual((done.returncode, done.stderr), (0, ""), words)
                shown = re.sub(r".\x08", "", done.stdout)
                self.assertIn(f"holdup {command}" if command else "holdup COMMAND", shown)
                self.assertIn("EXIT STATUS", shown)

    def test_a_page_says_what_help_says(self) -> None:
        self.assertNotEqual(run("help", "--man")[1], run("help", "--man", "report")[1])
        for command in self.commands[1:]:
            page = run("help", "--man", command)[1].decode()
            self.assertTrue(page.isascii())
            plain = page.replace("\\-", "-")
            self.assertIn(f"holdup {VERSION}", plain)
            for option in re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", run("help", command)[1].decode(), re.M):
                self.assertIn(option, plain)
        self.assertIn("a limit is breached", run("help", "--man", "check")[1].decode())
        self.assertNotIn("a limit is breached", run("help", "--man", "report")[1].decode())

    def test_the_build_makes_every_page(self) -> None:
        told = (ROOT / "packaging/meson.build").read_text()
        listed = re.search(r"foreach name : \[(.*?)\]", told, re.S)[1]
        self.assertEqual(sorted(re.findall(r"'([a-z-]+)'", listed)), sorted(self.commands[1:]))

    def test_wrong_usage(self) -> None:
        for words, said in ((["--man", "reprot"], "did you mean `holdup report`?"), (["--completion", "tcsh"], "needs one of bash, zsh, fish"),
                            (["--man", "--completion", "bash"], "cannot be used together"), (["report", "check"], "does not take")):
            status, _, err = run("help", *words)
            self.assertEqual(status, 2, err)
            self.assertIn(said, err)


if __name__ == "__main__":
    unittest.main()
