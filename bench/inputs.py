# SPDX-License-Identifier: Apache-2.0
"""Makes the traces that the bench reads, once, and keeps them in a cache folder beside what they were made from.
Measures nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import stop

ROOT = Path(__file__).resolve().parent.parent
MAKER = Path(__file__).with_name("make_trace.py")
JOB_MAKER = Path(__file__).with_name("make_ranks.py")
SHARED = ROOT.parent / "shared" / "traces" / "kineto"
EXAMPLE = ROOT / "examples" / "training" / "traces" / "slow_loader"

WORDS = {
    "ns": "a V100 training trace with nanosecond times (test data of HolisticTraceAnalysis)",
    "st": "an H100 inference trace with Python stacks and shapes (OWLv2)",
    "ex": "the slow_loader example of this repository",
}


@dataclass(frozen=True)
class Source:
    key: str
    path: Path

    @property
    def words(self) -> str:
        return WORDS.get(self.key, f"a trace given by the user ({self.path.name})")


@dataclass(frozen=True)
class Trace:
    """One made trace; gz and zst are the same bytes of JSON."""

    key: str
    words: str
    path: Path
    events: int
    json_bytes: int

    @property
    def mb(self) -> float:
        return self.json_bytes / 1e6

    def packed(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


def find_sources(given: list[str]) -> list[Source]:
    """The first is the one that everything is measured on, the others are measured at one size."""
    if given:
        return [Source(*pair) for pair in (split_pair(g) for g in given)]
    real = [Source("ns", p) for p in sorted((SHARED / "hta-ns-resolution").glob("*.json.gz"))[:1]]
    real += [Source("st", p) for p in [SHARED / "tl-owlv2" / "h100.json.gz"] if p.is_file()]
    found = real or [Source("ex", p) for p in sorted(EXAMPLE.glob("rank0.*json.gz"))[:1]]
    if not found:
        stop("no trace to replicate: name one with --source KEY=FILE.json.gz")
    return found


def split_pair(text: str) -> tuple[str, Path]:
    key, equals, path = text.partition("=")
    if not equals or not key.isidentifier() or not Path(path).is_file():
        stop(f"--source {text}: want KEY=FILE, KEY a word, FILE a trace")
    return key, Path(path)


def fallback_note(sources: list[Source]) -> str:
    return ("The traces that the project measures itself on are not at hand (they are not shipped); this run replicated"
            " the example in the repository instead, so its numbers are not comparable with those of other runs."
            if sources[0].key == "ex" else "")


class Cache:
    """A folder of made traces; each is remade when its source, its arguments or the maker change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.maker = hashlib.sha256(MAKER.read_bytes()).hexdigest()

    def trace(self, source: Source, name: str, words: str, arguments: list[str]) -> Trace:
        path = self.folder / f"{name}.json"
        meta = self.folder / f"{name}.made"
        stamp = [self.maker, str(source.path.resolve()), source.path.stat().st_size, arguments]
        made = read_meta(meta)
        if made.get("stamp") != stamp or not path.is_file() or path.stat().st_size != made.get("json_bytes"):
            made = {"stamp": stamp, **self.make(source, path, arguments)}
            meta.write_text(json.dumps(made))
        return Trace(name, words, path, int(made["events"]), int(made["json_bytes"]))

    def make(self, source: Source, path: Path, arguments: list[str]) -> dict[str, int]:
        print(f"  making {path.name}", file=sys.stderr, flush=True)
        for old in path.parent.glob(path.name + ".*"):
            old.unlink()
        made = subprocess.run([sys.executable, str(MAKER), str(source.path), str(path), *arguments],
                              stdout=subprocess.PIPE, text=True, check=True)
        found: dict[str, int] = json.loads(made.stdout)
        return found

    def forget(self, name: str) -> None:
        """Deletes a made trace and all that was made of it; none is fine."""
        for path in [*self.folder.glob(f"{name}.*"), *self.folder.glob(f".{name}.part")]:
            path.unlink()

    def pack(self, trace: Trace, suffix: str) -> Path | None:
        """The same trace compressed, as torch.profiler (gzip) and people (zstd) do; None when the tool is missing."""
        out = trace.packed(suffix)
        if not out.is_file():
            command = {".gz": ["gzip", "-6", "-n", "-c"], ".zst": ["zstd", "-q", "-3", "-c"]}[suffix]
            if not shutil.which(command[0]):
                return None
            part = out.with_name("." + out.name + ".part")
            print(f"  making {out.name}", file=sys.stderr, flush=True)
            with open(part, "wb") as file:
                subprocess.run([*command, str(trace.path)], stdout=file, check=True)
            part.rename(out)
        return out

    def ranks(self, source: Source, name: str, megabytes: float, most: int) -> tuple[list[Trace], dict[int, Path]]:
        """`most` traces that differ in rank, and folders that hold the first 1, 2, 4 … of them."""
        traces = [self.trace(source, f"{name}-rank{r}", f"rank {r}",
                             ["--mb", str(megabytes), "--rank", str(r), "--world", str(most)]) for r in range(most)]
        folders = {}
        n = 1
        while n <= most:
            folders[n] = link_folder(self.folder / f"{name}-of-{n}", traces[:n])
            n *= 2
        return traces, folders


    def job(self, ranks: int, events: int) -> tuple[Path, int]:
        """A folder of `ranks` files, and the events of each; most are links to a few."""
        folder, meta = self.folder / f"job-{ranks}-{events}", self.folder / f"job-{ranks}-{events}.made"
        stamp = [hashlib.sha256(JOB_MAKER.read_bytes()).hexdigest(), ranks, events]
        made = read_meta(meta)
        if made.get("stamp") != stamp or not folder.is_dir():
            print(f"  making {folder.name}", file=sys.stderr, flush=True)
            done = subprocess.run([sys.executable, str(JOB_MAKER), str(folder), "--ranks", str(ranks), "--events", str(events)],
                                  stdout=subprocess.PIPE, text=True, check=True)
            made = {"stamp": stamp, **json.loads(done.stdout)}
            meta.write_text(json.dumps(made))
        return folder, int(made["events"])


def link_folder(folder: Path, traces: list[Trace]) -> Path:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for r, trace in enumerate(traces):
        os.link(trace.path, folder / f"rank{r}.json")
    return folder


def read_meta(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
