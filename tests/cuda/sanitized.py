# SPDX-License-Identifier: Apache-2.0
"""The recorder's library with its CUDA door under ASan and UBSan, beside a copy of the program, for programs that have ASan too.

Only the door is compiled anew; all else is of the build that is there."""
from __future__ import annotations

import functools
import pathlib
import re
import shlex
import shutil
import subprocess

from tests.cuda import stand
from tests.program import EXE, skip_loudly

FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g", "-O1")
DOOR = re.compile(r"src/inject/(cuda|cupti)\w*\.c$")


def _compile(words: list[str], build: pathlib.Path, folder: pathlib.Path) -> tuple[str, str]:
    """The old object and the new one."""
    old = words[words.index("-o") + 1]
    new = str(folder / old.replace("/", "_"))
    kept, skip = [], False
    for word in words:
        if skip or word in ("-MD", "-MQ", "-MF", "-o"):
            skip = not skip and word != "-MD"
            continue
        kept.append(word)
    subprocess.run([*kept, *FLAGS, "-o", new], cwd=build, check=True, capture_output=True, timeout=300)
    return old, new


@functools.lru_cache(None)
def holdup(door: re.Pattern[str] = DOOR) -> pathlib.Path | None:
    """A program like EXE whose library has the sanitized door; None where there is no build, or no door."""
    build = pathlib.Path(EXE).resolve().parent
    said = subprocess.run(["ninja", "-C", build, "-t", "commands", "libholdup-inject.so"], capture_output=True, text=True, check=False).stdout
    lines = [shlex.split(line) for line in said.splitlines()]
    compiles = [words for words in lines if "-c" in words and door.search(words[-1])]
    if not compiles:
        skip_loudly(f"{build} cannot build the CUDA door again under ASan")
        return None
    folder = stand.scratch() / "sanitized"
    folder.mkdir(exist_ok=True)
    anew = dict(_compile(words, build, folder) for words in compiles)
    link = next(words for words in reversed(lines) if "-shared" in words)
    link = [anew.get(word, word) for word in link if word not in ("-Wl,-z,defs", "-Wl,--no-undefined")]
    link[link.index("-o") + 1] = str(folder / "libholdup-inject.so")
    subprocess.run([*link, FLAGS[0]], cwd=build, check=True, capture_output=True, timeout=300)
    shutil.copy(EXE, folder / "holdup")
    return folder / "holdup"
