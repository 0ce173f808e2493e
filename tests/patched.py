# SPDX-License-Identifier: Apache-2.0
"""The program with a small change: compiles what a diff touches, links it in front of a build that is there.

A whole build takes minutes; the objects that a diff of a few lines touches take seconds.  They are compiled without
optimisation and without sanitizers, and stand on the linker's line before the libraries, which then lack nothing.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from tests.program import EXE, ROOT

# what make test has built; a build for link-time optimisation has no objects to link with
FOLDERS = [pathlib.Path(EXE).parent, *(ROOT / name for name in ("build-asan", "build-dbg"))]


def build_folder() -> pathlib.Path | None:
    for folder in FOLDERS:
        commands = folder / "compile_commands.json"
        if commands.is_file() and (folder / "holdup").is_file() and "-flto" not in commands.read_text():
            return folder.resolve()
    return None


class Patched:
    """A copy of the sources in `home`; apply() changes it, link() makes home/holdup of it."""

    def __init__(self, build: pathlib.Path, home: pathlib.Path) -> None:
        self.build, self.home = build, home
        for name in ("src", "docs", "include", "meson.build"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, home / name)
        self.commands = {(build / row["file"]).resolve(): row["command"]
                         for row in json.loads((build / "compile_commands.json").read_text())}

    def apply(self, diff: str) -> list[pathlib.PurePosixPath]:
        """Applies a diff without line numbers: what a hunk keeps and removes stands once in its file.  The files that it names."""
        changed = []
        for part in re.split(r"(?m)^--- .*\n(?=\+\+\+ )", diff)[1:]:
            head, *hunks = re.split(r"(?m)^@@.*\n", part)
            name = re.fullmatch(r"\+\+\+ b/(\S+)\n", head)[1]
            text = (self.home / name).read_text() if (self.home / name).exists() else ""
            for hunk in hunks:
                lines = hunk.splitlines(keepends=True)
                old = "".join(line[1:] or "\n" for line in lines if line[0] != "+")
                new = "".join(line[1:] or "\n" for line in lines if line[0] != "-")
                if text.count(old) != 1 and old:
                    raise AssertionError(f"the walk does not fit {name} any more: there are {text.count(old)} of\n{old}")
                text = text.replace(old, new) if old else new
            (self.home / name).write_text(text)
            changed.append(pathlib.PurePosixPath(name))
        return changed

    def _depend_on(self, headers: set[pathlib.Path]) -> set[pathlib.Path]:
        """Sources of the program that include one of the headers."""
        said = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
        found = set()
        for block in said.split("\n\n"):
            files = {(self.build / line.strip()).resolve() for line in block.splitlines()[1:]}
            if files & headers:
                found |= {file for file in files if file.suffix == ".c" and (ROOT / "src") in file.parents}
        return found & self.commands.keys()

    def _compile(self, source: pathlib.Path) -> str:
        """The object of a file of the copy, by the command of the original or, of a new file, of one beside it."""
        original = ROOT / source.relative_to(self.home)
        like = original if original in self.commands else next(f for f in self.commands if f.parent == original.parent)
        out, words = self.home / (str(source.relative_to(self.home)).replace("/", "_") + ".o"), shlex.split(self.commands[like])
        kept, skip = [], False
        for word in words:
            if skip or word in ("-MD", "-MQ", "-MF", "-o") or re.match(r"-fsanitize|-fno-sanitize|-O", word) or word.endswith(".o"):
                skip = not skip and word in ("-MQ", "-MF", "-o")
                continue
            if (self.build / word).resolve() == like:
                word = str(source)
            elif word.startswith("-I") and (self.build / word[2:]).resolve() in (ROOT / "src", ROOT):
                word = f"-I{self.home / (self.build / word[2:]).resolve().relative_to(ROOT)}"
            kept.append(word)
        subprocess.run([*kept, "-O0", "-w", "-o", str(out)], cwd=self.build, check=True, capture_output=True, text=True)
        return str(out)

    def link(self, changed: list[pathlib.PurePosixPath]) -> pathlib.Path:
        headers = {(ROOT / name).resolve() for name in changed if name.suffix == ".h"}
        sources = {self.home / name for name in changed if name.suffix == ".c"}
        sources |= {self.home / file.relative_to(ROOT) for file in self._depend_on(headers)}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(self._compile, sorted(sources)))
        said = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "holdup"], capture_output=True, text=True, check=True).stdout
        words = shlex.split(said.strip().splitlines()[-1])
        at, out = words.index("-o"), self.home / "holdup"
        main = str(self.home / "src_cli_main.c.o")
        rest = [word for word in words[at + 2:] if not (word.endswith("main.c.o") and main in objects)]
        subprocess.run([*words[:at], "-o", str(out), *objects, *rest], cwd=self.build, check=True, capture_output=True, text=True)
        return out
