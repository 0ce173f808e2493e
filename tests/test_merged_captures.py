# SPDX-License-Identifier: Apache-2.0
"""A file that was made of two captures has each correlation id twice: its GPU work belongs to the call before it, as if the ids were unique."""
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import run

STEPS = 8


def event(name: str, category: str, start_us: float, length_us: float, thread: int, **arguments: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "cat": category, "ts": start_us, "dur": length_us, "pid": int(thread == 1), "tid": thread, "args": arguments}


def trace(repeat: int) -> dict[str, Any]:
    """Steps of 10 ms with 6 ms of GPU work each; ids begin anew every `repeat` steps."""
    events = []
    for step in range(STEPS):
        at, number = step * 10_000.0, 100 + step % repeat
        events += [event("train_step", "user_annotation", at, 9_900, 1),
                   event("cudaLaunchKernel", "cuda_runtime", at + 300, 50, 1, correlation=number),
                   event("cuLaunchKernel", "cuda_driver", at + 310, 30, 1, correlation=number),
                   event("gemm", "kernel", at + 500, 6_000, 7, correlation=number, stream=7, device=0),
                   event("cudaDeviceSynchronize", "cuda_runtime", at + 600, 5_950, 1, correlation=1000 + number)]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": events}


class Repeated(unittest.TestCase):
    def answers(self, repeat: int) -> tuple[str, str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.json"
            path.write_text(json.dumps(trace(repeat)))
            said = [run("report", path), run("query", path, "select call.start_ns, work.start_ns from slice work join slice call on call.id = work.parent where work.kind = 'kernel' order by 2")]
        for status, _, err in said:
            self.assertEqual(status, 0, err)
        return said[0][1].decode().replace(folder, ""), said[1][1].decode()

    def test_the_answer_is_that_of_unique_ids(self) -> None:
        unique, twice = self.answers(STEPS), self.answers(STEPS // 2)
        self.assertIn("9.99 ms per step", unique[0])
        self.assertEqual(unique, twice)


if __name__ == "__main__":
    unittest.main()
