# SPDX-License-Identifier: Apache-2.0
"""Records a small training run with torch.profiler and, in the same process, what key_averages() says about it.

    python tests/peers/key_averages.py OUT_DIRECTORY

Writes trace.json.gz and table.json, which tests/test_key_averages.py compares.  Needs torch; the CPU is enough.
"""
import gzip
import json
import pathlib
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def rows(averages: list) -> list[dict]:
    return [{"name": r.key, "calls": r.count, "host_total_us": r.cpu_time_total, "host_self_us": r.self_cpu_time_total,
             "host_self_bytes": r.self_cpu_memory_usage, "shapes": r.input_shapes} for r in averages]


def main(folder: pathlib.Path) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
                                torch.nn.Linear(8 * 14 * 14, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True) as profiler:
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(model(torch.randn(16, 3, 16, 16)), torch.randint(10, (16,)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()
    folder.mkdir(parents=True, exist_ok=True)
    raw = folder / "trace.json"
    profiler.export_chrome_trace(str(raw))
    (folder / "trace.json.gz").write_bytes(gzip.compress(raw.read_bytes(), 9, mtime=0))
    raw.unlink()
    table = {"torch": torch.__version__, "by_name": rows(profiler.key_averages()),
             "by_shape": rows(profiler.key_averages(group_by_input_shape=True))}
    (folder / "table.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
