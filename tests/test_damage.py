# SPDX-License-Identifier: Apache-2.0
"""Damaged files: no crash, no hang, bounded memory, and nothing lost that lies before the damage."""
import json
import random
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.program import EXE, OWN, SANITIZED, SHARED, read, skip_loudly

CUTS = 200
FLIPS = 60
MEMORY = 2 << 30


def limit_memory() -> None:
    """In the child; address space of sanitizers is huge by design."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def inputs() -> list[Path]:
    """Files of different makers, none of them large."""
    chosen = [OWN[0], OWN[-1]]
    for name in ("kineto/hta-amd", "kineto/hta-critical-path", "kineto/tl-torch-compile"):
        found = sorted((SHARED / "traces" / name).glob("*.gz"))
        if not found:
            skip_loudly(f"shared/traces/{name} is not present")
        chosen += found[:1]
    return chosen


class Damage(unittest.TestCase):
    def holdup(self, command: str, path: Path, *arguments: str) -> subprocess.CompletedProcess:
        done = subprocess.run([EXE, command, str(path), *arguments], capture_output=True, timeout=20, check=False,
                              preexec_fn=limit_memory)
        self.assertIn(done.returncode, (0, 3), done.stderr[:2000])
        self.assertNotIn(b"ERROR: AddressSanitizer", done.stderr)
        self.assertNotIn(b"runtime error", done.stderr)
        return done

    def test_truncated_anywhere(self) -> None:
        files = inputs()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cut.json"
            for file in files:
                text = read(file)
                for i in range(CUTS // len(files)):
                    at = (i + 1) * len(text) // (CUTS // len(files) + 1)
                    path.write_bytes(text[:at])
                    with self.subTest(file=file.name, at=at):
                        done = self.holdup("info", path, "--json")
                        if done.returncode == 0:
                            seen = json.loads(done.stdout)
                            # each event has one phase; the last one may be cut
                            self.assertGreaterEqual(seen["events"]["total"], text[:at].count(b'"ph":') - 1)
                            self.assertEqual(seen["events"]["lost"], 0)
                            self.assertTrue(seen["is_truncated"])

    def test_random_bytes(self) -> None:
        rng = random.Random(7)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bent.json"
            for file in inputs():
                text = read(file)
                for i in range(FLIPS):
                    bent = bytearray(text)
                    for _ in range(rng.randrange(1, 30)):
                        at = rng.randrange(len(bent))
                        if i % 3 == 0:
                            bent[at] = rng.randrange(256)
                        elif i % 3 == 1:
                            del bent[at : at + rng.randrange(1, 40)]
                        else:
                            bent[at:at] = rng.choice([b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"\0", b'{"ph":'])
                    path.write_bytes(bent)
                    with self.subTest(file=file.name, case=i):
                        self.holdup("report", path)

    def test_one_bad_event_costs_one_event(self) -> None:
        text = read(OWN[0])
        at = text.index(b'"name": "aten::', len(text) // 2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "quote.json"
            path.write_bytes(text[: at + 11] + b'"' + text[at + 11 :])
            seen = json.loads(self.holdup("info", path, "--json").stdout)["events"]
        self.assertEqual((seen["total"], seen["lost"]), (len(json.loads(text)["traceEvents"]), 1))

    def test_compressed_files_with_damage(self) -> None:
        rng = random.Random(8)
        packed = OWN[0].read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bent.json.gz"
            for _ in range(FLIPS):
                bent = bytearray(packed)
                bent[rng.randrange(2, len(bent))] ^= 1 << rng.randrange(8)
                path.write_bytes(bent[: rng.randrange(20, len(bent) + 1)])
                self.holdup("report", path)


if __name__ == "__main__":
    unittest.main()
