# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/img:

    python3 -m tests.page.pictures [NAME ...]           all of the views that are there, or these
    python3 -m tests.page.pictures --before PROGRAM     the sheet of another version of the program beside this one

They show a simulated training job, so that they are the same on every machine.  screenshots.mjs and pairs.mjs take them, and
Pillow (pip install pillow) brings them down to 160 colours.
"""
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

from tests.scoreboard.job import US, draw, run
from tests.scoreboard.kineto import Capture, write

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
IMAGES = ROOT / "docs/img"
SHEET = "second-edition.png"
COLOURS = 160
THUMB = (480, 300)
GAP = 8


def write_trace() -> Path:
    """Its name is on the pictures; the program runs in the root of the project."""
    job = replace(draw(3, "ddp"), loader_ns=17_000 * US, rows=1024)
    trace = Path("build/train.json")
    (ROOT / trace).write_text(write(job, run(job, keeps_log=True), Capture()))
    return trace


def save(picture: Image.Image, name: str) -> None:
    picture.convert("RGB").quantize(COLOURS).save(IMAGES / name, optimize=True)


def views(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["node", HERE / "screenshots.mjs", folder, write_trace()], check=True)
        for name in names or sorted(path.name for path in IMAGES.glob("*.png") if path.name != SHEET):
            save(Image.open(Path(folder, name)), name)


def sheet(program: str) -> None:
    """Two pairs in a row, before on the left of after."""
    with tempfile.TemporaryDirectory() as folder:
        trace = write_trace()
        for word, holdup in (("before", program), ("after", os.environ.get("HOLDUP", "build/holdup"))):
            subprocess.run(["node", HERE / "pairs.mjs", Path(folder, word), trace], check=True,
                           env={**os.environ, "HOLDUP": str(Path(holdup).resolve())})
        files = sorted(Path(folder, "before").glob("*.png"), key=lambda path: path.stat().st_mtime_ns)
        wide, high = THUMB[0] + GAP, THUMB[1] + GAP
        whole = Image.new("RGB", (4 * wide - GAP, (len(files) + 1) // 2 * high - GAP), "white")
        for i, file in enumerate(files):
            for k, path in enumerate((file, Path(folder, "after", file.name))):
                thumb = Image.open(path).convert("RGB").resize(THUMB, Image.Resampling.LANCZOS)
                whole.paste(thumb, (((i % 2) * 2 + k) * wide, i // 2 * high))
        save(whole, SHEET)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--before"]:
        sheet(sys.argv[2])
    else:
        views(sys.argv[1:])
