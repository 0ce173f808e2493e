# SPDX-License-Identifier: Apache-2.0
"""The pictures of docs/img: python3 -m tests.page.pictures [NAME ...]      all that are there, or these

They show a simulated training job, so that they are the same on every machine.  tests/page/screenshots.mjs takes them, and Pillow
(pip install pillow) brings them down to 160 colours.
"""
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

from tests.scoreboard.job import US, draw, run
from tests.scoreboard.kineto import Capture, write

HERE = Path(__file__).resolve().parent
IMAGES = HERE.parents[1] / "docs/img"
COLOURS = 160


def main() -> None:
    job = replace(draw(3, "ddp"), loader_ns=17_000 * US, rows=1024)
    names = set(sys.argv[1:]) or {path.name for path in IMAGES.glob("*.png")}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "train.json")
        trace.write_text(write(job, run(job, keeps_log=True), Capture()))
        subprocess.run(["node", HERE / "screenshots.mjs", folder, trace], check=True)
        for name in sorted(names):
            Image.open(Path(folder, name)).convert("RGB").quantize(COLOURS).save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main()
