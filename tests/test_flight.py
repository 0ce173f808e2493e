# SPDX-License-Identifier: Apache-2.0
"""Flight Recorder dumps: made ones of several versions with a planted cause, real ones of small gloo jobs, hostile ones."""
import gzip
import json
import os
import pickle
import random
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import EXE, OWN, ROOT, SANITIZED, report, run, torch_or_skip

MS = 1_000_000
START = 1_700_000_000_000_000_000
WORLD = ("0", "default_pg")


def frame(name: str, line: int, file: str = "/home/me/train.py") -> dict[str, Any]:
    return {"name": name, "filename": file, "line": line}


def stack(name: str, line: int) -> list[dict[str, Any]]:
    return [frame("all_reduce", 2800, "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py"), frame(name, line), frame("main", 99)]


class Rank:
    """One rank's ring, filled call by call; numbers count by group as PyTorch counts them."""

    def __init__(self, rank: int, groups: dict[tuple[str, str], list[int]], backend: str = "nccl", version: str = "2.4") -> None:
        self.rank, self.groups, self.backend, self.version = rank, groups, backend, version
        self.entries: list[dict[str, Any]] = []
        self.numbers: dict[tuple, int] = {}
        self.completed: Any = -1

    def call(self, name: str, ended: bool | str = True, group: tuple[str, str] = WORLD, sizes: tuple = ([[8, 4]], [[8, 4]]), dtype: str = "Float",
             at: int | None = None, where: tuple[str, int] = ("step", 10), same: bool = False) -> "Rank":
        p2p = name.startswith(("send", "recv"))
        self.numbers[group, p2p] = number = self.numbers.get((group, p2p), 0) + (not same)
        n = len(self.entries)
        state = ended if isinstance(ended, str) else "completed" if ended else "started"
        if self.backend != "nccl":
            state = "scheduled"
        created = START + (n if at is None else at) * MS
        entry = {"record_id": n, "pg_id": 0, "process_group": group, "collective_seq_id": 0 if p2p else number, "p2p_seq_id": number if p2p else 0,
                 "op_id": n + 1, "profiling_name": f"{self.backend}:{name}", "time_created_ns": created, "input_sizes": sizes[0],
                 "output_sizes": sizes[1], "state": state, "time_discovered_started_ns": created if state != "scheduled" else None,
                 "time_discovered_completed_ns": created + 1 if state == "completed" else None, "retired": ended is True, "frames": stack(*where)}
        if self.version >= "2.1":
            entry |= {"timeout_ms": 600000, "is_p2p": p2p, "input_dtypes": [dtype], "output_dtypes": [dtype]}
        self.entries.append(entry)
        return self

    def loop(self, times: int, *names: str) -> "Rank":
        for _ in range(times):
            for name in names or ("all_reduce",):
                self.call(name, where=(name, 10 + len(name)))
        return self

    def forget(self, n: int) -> "Rank":
        self.entries = self.entries[n:]
        return self

    def dump(self) -> dict[str, Any]:
        if self.backend == "nccl":
            config = {name: {"name": name, "desc": about, "ranks": str(ranks)} for (name, about), ranks in self.groups.items() if self.rank in ranks}
        else:  # gloo writes every group under the empty name
            config = {"": {"name": "", "desc": "", "ranks": str(list(self.groups.values())[-1])}}
        return {"version": self.version, "pg_config": config, "pg_status": {"0": {"last_enqueued_collective": 1, "last_completed_collective": self.completed}}, "entries": self.entries}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, *ranks: Rank, form: str = "pickle") -> Path:
        for file in self.folder.iterdir():
            file.unlink()
        for r in ranks:
            name = self.folder / f"nccl_trace_rank_{r.rank}"
            if form == "pickle":
                name.write_bytes(pickle.dumps(r.dump(), 2))
            elif form == "gzip":
                name.with_name(name.name + ".json.gz").write_bytes(gzip.compress(json.dumps(r.dump()).encode()))
            else:  # as nlohmann::json writes it: sorted, no blanks, no frames, 0 for no time
                dump = r.dump()
                for e in dump["entries"]:
                    del e["frames"]
                    for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
                        e[key] = e[key] or 0
                name.write_text(json.dumps(dump, sort_keys=True, separators=(",", ":")))
        return self.folder

    def ask(self, *ranks: Rank, form: str = "pickle") -> dict[str, Any]:
        return report(self.write(*ranks, form=form))

    def world(self, n: int, **options: Any) -> list[Rank]:
        return [Rank(r, {WORLD: list(range(n))}, **options) for r in range(n)]


class Made(Case):
    def test_a_rank_is_missing(self) -> None:
        """In every version and form: who, in what, and what it did last; also as text, with its stack."""
        for version in ("2.0", "2.1", "2.4", "2.10"):
            for form in ("pickle", "json", "gzip"):
                ranks = self.world(4, version=version)
                for r in ranks:
                    r.loop(5, "all_reduce", "_all_gather_base")
                for r in (0, 1, 3):
                    ranks[r].call("all_reduce", False, where=("backward", 50))
                told = self.ask(*ranks, form=form)
                self.assertEqual((told["cause"], told["culprits"], told["confidence"], told["expected"]["sequence"]), ("missing-rank", [2], "high", 11))
                self.assertRegex(told["text"], r"^Rank 2 never entered all_reduce #11 of the default group, in which ranks 0, 1 and 3 wait")
                self.assertRegex(told["text"], r"its last call was _all_gather_base #10")
        text = run("report", self.write(*ranks))[1].decode()
        self.assertIn("STACK OF RANK 2 in _all_gather_base #10, which ended", text)
        self.assertRegex(text, r"backward +/home/me/train.py:50")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_from_group_to_group(self) -> None:
        """Rank 0 waits for 1, which waits in another group for 3, which waits for nothing: 3 is named, and not 1."""
        rows, column = ("1", "rows"), ("2", "column")
        groups = {WORLD: [0, 1, 2, 3], rows: [0, 1], column: [1, 3]}
        ranks = [Rank(r, groups) for r in range(4)]
        for r in ranks:
            r.loop(2)
        for r in (1, 3):
            ranks[r].call("all_reduce", group=column)
        ranks[0].call("all_gather", False, group=rows)
        ranks[1].call("all_reduce", False, group=column)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["group"]), ("missing-rank", [3], "2"))
        self.assertIn("group 2 (column)", told["text"])

    def test_swapped_groups(self) -> None:
        a, b = ("1", "a"), ("2", "b")
        ranks = [Rank(r, {WORLD: [0, 1], a: [0, 1], b: [0, 1]}).loop(3) for r in range(2)]
        ranks[0].call("all_reduce", False, group=a)
        ranks[1].call("all_reduce", False, group=b)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["is_cycle"], told["confidence"]), ("waits-elsewhere", True, "high"))
        self.assertRegex(told["text"], r"Rank \d waits in all_reduce #1 of group . \(.\) .*for rank \d, which waits in all_reduce #1 of group . \(.\)")
        self.assertIn("in different order", told["text"])

    def test_another_operation(self) -> None:
        """A rank that skips a call gives its next one the number: the first difference is told, and that it skipped."""
        ranks = self.world(4)
        for r in ranks:
            r.loop(3, "all_reduce", "_all_gather_base")
            if r.rank != 1:
                r.call("all_reduce", False, where=("all_reduce", 20))
        ranks[1].call("_all_gather_base", False, where=("_all_gather_base", 26))
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("other-operation", [1], "high"))
        self.assertRegex(told["text"], r"In collective #7 of the default group, rank 1 called _all_gather_base .* where ranks 0, 2 and 3 called all_reduce")
        self.assertIn("seems to have skipped it", told["text"])
        ranks[1].entries[-1]["frames"] = stack("elsewhere", 77)
        self.assertNotIn("skipped", self.ask(*ranks)["text"])

    def test_other_sizes_and_types(self) -> None:
        ranks = self.world(3)
        for r in ranks:
            r.loop(2).call("all_reduce", False, sizes=([[9, 4]],) * 2 if r.rank == 2 else ([[8, 4]],) * 2)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("other-sizes", [2]))
        self.assertRegex(told["text"], r"rank 2 passed \[9, 4\] .*where ranks 0 and 1 passed \[8, 4\]")
        ranks = self.world(3)
        for r in ranks:
            r.loop(2).call("all_reduce", False, dtype="Half" if r.rank == 0 else "Float")
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("other-types", [0]))
        self.assertIn("[8, 4] of Half", told["text"])

    def test_no_majority(self) -> None:
        """One against one: both are told and nobody is called right."""
        ranks = self.world(2)
        ranks[0].loop(1).call("broadcast", False)
        ranks[1].loop(1).call("all_reduce", False)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["has_majority"], told["confidence"]), ("other-operation", False, "medium"))
        self.assertIn("it is unclear which of them is right", told["text"])

    def test_what_may_differ(self) -> None:
        """Other shapes of as many elements, roots of scatter and gather, uneven all-to-alls and coalesced calls are no differences."""
        for name, mine, theirs in (("all_reduce", ([[2, 6]], [[2, 6]]), ([[12]], [[12]])), ("scatter", ([[8], [8]], [[8]]), ([], [[8]])),
                                   ("scatter", ([[8], [8]], [[8]]), ([[1]], [[8]])), ("gather", ([[8]], [[8], [8]]), ([[8]], [])),
                                   ("gather", ([[8]], [[8], [8]]), ([[8]], [[1]])), ("reduce", ([[8]], [[8]]), ([[8]], [[1]])),
                                   ("all_to_all", ([[5]], [[3]]), ([[3]], [[5]])), ("all_gather_into_tensor_coalesced", ([[5]], [[3]]), ([[3]], [[5]]))):
            ranks = self.world(2)
            for r in ranks:
                r.loop(2).call(name, True, sizes=theirs if r.rank else mine)
            self.assertEqual(self.ask(*ranks)["cause"], "nothing", name)
        for name in ("_reduce_scatter_base", "_all_gather_base"):
            ranks = self.world(2)
            for r in ranks:
                r.loop(2).call(name, False, sizes=([[6]], [[6]]) if r.rank else ([[6]], [[8]]))
            self.assertEqual(self.ask(*ranks)["cause"], "other-sizes", name)

    def test_coalesced_calls_share_a_number(self) -> None:
        ranks = self.world(3)
        for r in ranks:
            r.loop(1).call("all_reduce", where=("a", 1)).call("broadcast", same=True).call("coalesced", r.rank == 2, same=True)
        self.assertEqual(self.ask(*ranks)["cause"], "all-entered")
        ranks[1].entries[2]["profiling_name"] = "nccl:all_gather"
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["expected"]["operation"]), ("other-operation", [1], "broadcast"))

    def test_only_the_last_of_coalesced_calls_has_events(self) -> None:
        """The others stay "scheduled" for ever: they do not wait when the last one has ended."""
        ranks = self.world(2)
        for r in ranks:
            peer = 1 - r.rank
            r.call("broadcast", "scheduled").call("broadcast", "scheduled", same=True).call("coalesced", same=True)
            r.call(f"send {r.rank}->{peer}", "scheduled").call(f"recv {r.rank}<-{peer}", "scheduled", same=True)
            r.call("recv", same=True)
            r.entries[-1]["profiling_name"] = "nccl:coalesced"
        self.assertEqual(self.ask(*ranks)["cause"], "nothing")
        for r in ranks:
            r.entries[-1]["state"] = "started"
            r.entries[-1]["time_discovered_completed_ns"] = None
        self.assertEqual(self.ask(*ranks)["cause"], "send-receive")

    def test_all_are_in_it(self) -> None:
        """Nobody is missing: who came last; or whose device has not begun it."""
        ranks = self.world(3)
        for r in ranks:
            r.loop(2).call("all_reduce", False, at=1500 if r.rank == 1 else 100 + r.rank)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["last_rank"], told["late_ns"]), ("all-entered", [], 1, 1398 * MS))
        self.assertIn("rank 1 entered last, 1.40 s after", told["text"])
        ranks = self.world(3)
        for r in ranks:
            r.loop(2).call("all_reduce", "scheduled" if r.rank == 0 else False)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("not-started", [0]))

    def test_no_dump(self) -> None:
        """A rank without a file: named, whether others wait for it or ended by an error."""
        ranks = self.world(4)
        for r in ranks:
            r.loop(3).call("all_reduce", False)
        told = self.ask(*ranks[:2], ranks[3])
        self.assertEqual((told["cause"], told["culprits"], told["without_dump"], told["confidence"]), ("no-dump", [2], [2], "medium"))
        self.assertIn("rank 2, from which there is no dump: it may be dead", told["text"])
        told = self.ask(*(r.forget(0) for r in (self.world(4)[k].loop(3) for k in (0, 1, 3))))
        self.assertEqual((told["cause"], told["without_dump"]), ("no-dump", [2]))
        ranks = self.world(4)
        for r in ranks[:2]:
            r.loop(1).call("all_reduce", False)
        told = self.ask(ranks[0], ranks[1], ranks[2].loop(1))
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("missing-rank", [2], "medium"))

    def test_the_ring_lost_it(self) -> None:
        """A ring that begins behind the number, or has nothing of the group left, does not show that a call was never made."""
        ranks = self.world(3)
        for r in ranks:
            r.loop(20)
        ranks[0].entries[4] |= {"state": "started", "time_discovered_completed_ns": None}
        told = self.ask(ranks[0], ranks[1].forget(10), ranks[2].forget(10))
        self.assertEqual((told["cause"], told["confidence"]), ("lost-beginning", "low"))
        self.assertIn("TORCH_FR_BUFFER_SIZE", told["text"])
        other = ("7", "other")
        ranks = [Rank(r, {WORLD: [0, 1], other: [0, 1]}).loop(1) for r in range(2)]
        for r in ranks:
            for _ in range(9):
                r.call("all_reduce", group=other)
        ranks[0].call("all_reduce", False)
        self.assertEqual(self.ask(ranks[0], ranks[1].forget(5))["cause"], "lost-beginning")
        ranks = self.world(3)  # a ring that is cut and still has lower numbers does show it
        for r in ranks:
            r.loop(20).forget(10)
        ranks[0].call("all_reduce", False)
        ranks[0].entries[-1]["record_id"] = 20
        ranks[1].call("all_reduce", False)
        ranks[1].entries[-1]["record_id"] = 20
        self.assertEqual(self.ask(*ranks)["culprits"], [2])

    def test_nothing_hangs(self) -> None:
        told = self.ask(*(r.loop(4) for r in self.world(3)))
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("nothing", [], "high"))
        self.assertIn("no rank waits in a collective; if the job hangs, it hangs elsewhere", told["text"])
        ranks = [r.loop(4) for r in self.world(3)]
        told = self.ask(ranks[0].call("barrier"), ranks[1], ranks[2].call("barrier"))
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("other-moment", [], "high"))
        ranks = [r.loop(4) for r in self.world(3, backend="gloo")]  # without events the barrier may have failed without rank 1
        told = self.ask(ranks[0].call("barrier"), ranks[1], ranks[2].call("barrier"))
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("nothing", [1], "low"))
        self.assertIn("written earlier", told["text"])

    def test_another_run(self) -> None:
        """Dumps stay in /tmp: one that ended before the others began is of an earlier run, and no rank is blamed for it."""
        ranks = self.world(3)
        for r in ranks:
            r.loop(3)
            if r.rank != 1:
                r.call("all_reduce", False)
        for e in ranks[1].entries:
            e["time_created_ns"] -= 3600 * 1000 * MS
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("other-run", [1]))

    def test_a_rank_that_is_ahead_is_no_other_run(self) -> None:
        """One that waits in its first call before the others make theirs, or that waits for none of its calls, is of this run."""
        group = ("1", "sub")
        ranks = [Rank(r, {WORLD: [0, 1, 2], group: [0, 1]}) for r in range(3)]
        ranks[2].call("barrier", False)
        for r in (0, 1):
            ranks[r].call("all_reduce", r == 1, group=group, at=500)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("missing-rank", [1]), told["text"])
        ranks = self.world(3)
        for r in ranks:
            r.call("all_reduce", at=0 if r.rank == 2 else 5000)
        self.assertEqual(self.ask(*ranks)["cause"], "nothing")

    def test_other_moments(self) -> None:
        """A call that needs all ranks ended on others: the dump that does not reach it was written earlier, and its rank is not missing."""
        ranks = self.world(3)
        for r in ranks:
            r.loop(5 if r.rank == 2 else 9)
            if r.rank != 2:
                r.call("all_reduce", False)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("other-moment", [], "high"))
        self.assertRegex(told["text"], r"The dump of rank 2 was written before the others went on: ranks 0 and 1 ended all_reduce #9 .*; the job ran in between")
        self.assertEqual([r["role"] for r in told["ranks"]], ["ended", "ended", "earlier"])
        ranks = self.world(3)  # all others are earlier, and wait in what has ended since
        for r in ranks:
            r.loop(9 if r.rank == 1 else 4)
            r.call("all_reduce", False)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("other-moment", []))
        self.assertIn("The dumps of ranks 0 and 2 were written before", told["text"])
        self.assertRegex(run("report", self.folder)[1].decode(), "earlier; last +all_reduce #5")

    def test_what_ends_without_all(self) -> None:
        """A broadcast ends on its root before others enter it, and without events an ended call may have failed: these prove no other moment."""
        ranks = self.world(3)
        for r in ranks:
            r.loop(3)
            if r.rank != 2:
                r.call("broadcast").call("all_reduce", False)
        self.assertEqual(self.ask(*ranks)["culprits"], [2])
        ranks = self.world(3, backend="gloo")
        for r in ranks:
            r.loop(3)
        for r in (0, 1):
            ranks[r].call("all_reduce", r == 1)
        self.assertEqual(self.ask(*ranks)["culprits"], [2])
        ranks[1].call("barrier")
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("other-moment", [], "medium"))
        self.assertIn("or that call failed", told["text"])

    def test_a_young_wait(self) -> None:
        """A wait that is shorter than the pauses of a job that runs accuses nobody; how long it lasted comes from the time of the file."""
        def told(seconds: float, pause_ms: int = 5) -> dict[str, Any]:
            ranks = self.world(3)
            for r in ranks:
                r.call("all_reduce", at=0).call("all_reduce", at=pause_ms)
                if r.rank != 1:
                    r.call("all_reduce", False, at=pause_ms + 10)
            folder = self.write(*ranks)
            for file in folder.iterdir():
                at = START + (pause_ms + 10) * MS + int(seconds * 1e9)
                os.utime(file, ns=(at, at))
            return report(folder)
        young = told(3)
        self.assertEqual((young["cause"], young["culprits"], young["waited_ns"]), ("may-run", [], 3000 * MS))
        self.assertRegex(young["text"], r"ranks 0 and 2 had waited in all_reduce #3 .* for 3.00 s at most .*; rank 1 had not entered it\. Dump again")
        self.assertEqual([told(s, p)["cause"] for s, p in ((60, 5), (60, 90000), (120, 90000), (-5, 5))],
                         ["missing-rank", "may-run", "missing-rank", "missing-rank"])
        self.assertIn("paused for 90.0 s between two calls", told(60, 90000)["text"])

    def test_nothing_recorded(self) -> None:
        told = self.ask(*self.world(2))
        self.assertEqual((told["cause"], told["culprits"]), ("no-calls", []))
        self.assertIn("TORCH_FR_BUFFER_SIZE was 0", told["text"])

    def test_gloo_tells_no_start(self) -> None:
        """Nothing is known of a start, so no device is blamed; of a broadcast the roots may differ, which no dump shows."""
        ranks = self.world(3, backend="gloo")
        for r in ranks:
            r.loop(2).call("broadcast", r.rank == 1)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("all-entered", []))
        self.assertIn("the same root", told["text"])
        ranks = self.world(3, backend="gloo")
        ranks[2].loop(2).call("barrier", False)
        told = self.ask(ranks[0].loop(2), ranks[1].loop(2), ranks[2])
        self.assertEqual(told["culprits"], [0, 1])
        self.assertIn("which this backend does not record", told["text"])

    def test_gloo(self) -> None:
        """No events: retired is the end.  No members: the default group has all ranks, as gathers show; others who used them."""
        ranks = self.world(4, backend="gloo", version="2.10")
        for r in ranks:
            r.groups = {WORLD: [0, 1, 2, 3], ("1", "sub"): [0, 1]}
            r.loop(2).call("all_gather", sizes=([[5]], [[4, 5]]))
        for r in (0, 1):
            ranks[r].call("all_reduce", False)
        told = self.ask(*ranks[:3])
        self.assertEqual((told["cause"], told["culprits"], told["without_dump"]), ("missing-rank", [2], [3]))
        ranks = [Rank(r, {WORLD: [0, 1, 2]}, backend="gloo").loop(1) for r in range(3)]
        for r in (0, 1):
            ranks[r].call("all_reduce", group=("1", "undefined"))
        ranks[0].call("all_reduce", False, group=("1", "undefined"))
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["confidence"], told["knows_members"]), ("missing-rank", [1], "medium", False))

    def test_nccl_without_events(self) -> None:
        """Recorded from outside, NCCL's calls show no events: retired is the end, where others were completed.  A first call that timed out is not."""
        for form in ("pickle", "json"):
            ranks = self.world(3)
            for r in ranks:
                r.loop(4)
                r.completed = "4" if form == "json" else 4
                if r.rank != 1:
                    r.call("all_reduce", False)
                for e in r.entries:
                    e |= {"state": "scheduled", "time_discovered_started_ns": None, "time_discovered_completed_ns": None}
            told = self.ask(*ranks, form=form)
            self.assertEqual((told["culprits"], told["expected"]["sequence"]), ([1], 5))
        ranks = self.world(3)
        for r in ranks[:2]:
            r.call("all_reduce", "scheduled")
            r.entries[0]["retired"] = True
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("missing-rank", [2]))
        self.assertIn("rank 2 called nothing at all", told["text"])

    def test_a_member_that_never_called(self) -> None:
        """Gloo does not say that 2 is in the group where 0 and 1 wait; but 3 waits for it in the default group."""
        ranks = [r.loop(2) for r in self.world(4, backend="gloo")]
        for r in (0, 1):
            ranks[r].call("all_reduce", False, group=("1", "undefined"), at=50)
        ranks[3].call("barrier", False, at=60)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("missing-rank", [2]), told["text"])

    def test_one_name_two_groups(self) -> None:
        """split_group gives groups of one name to different ranks: they are told apart by their members."""
        ranks = [Rank(r, {WORLD: [0, 1, 2, 3], ("5", "tp"): [0, 1] if r < 2 else [2, 3]}).loop(1) for r in range(4)]
        for r in ranks:
            r.call("all_reduce", group=("5", "tp"), sizes=([[r.rank // 2 + 1]],) * 2)
        ranks[2].call("all_reduce", False, group=("5", "tp"))
        self.assertEqual(self.ask(*ranks)["culprits"], [3])

    def test_sends_and_receives(self) -> None:
        ranks = self.world(2)
        ranks[0].loop(2)
        ranks[1].loop(2).call("recv 1<-0", False)
        told = self.ask(ranks[1])
        self.assertEqual((told["cause"], told["confidence"], told["culprits"]), ("send-receive", "low", []))
        self.assertIn("rank 1 waits in recv 1<-0", told["text"])

    def test_a_send_that_was_never_called(self) -> None:
        """A pipeline: 2 waits for 1, which waits for 0, which sent once and went elsewhere.  Places in the group are not ranks."""
        pipe = ("3", "pp")
        ranks = [Rank(r, {WORLD: [0, 1, 2, 3], pipe: [1, 2, 3]}).loop(1) for r in range(4)]
        ranks[1].call("send 0->1", group=pipe)
        ranks[2].call("recv 1<-0", group=pipe).call("send 1->2", group=pipe).call("recv 1<-0", False, group=pipe, where=("pull", 7))
        ranks[3].call("recv 2<-1", group=pipe).call("recv 2<-1", False, group=pipe)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"], told["confidence"]), ("send-receive", [1], "medium"))
        self.assertRegex(told["text"], r"Rank 2 waits in recv 1<-0 of group 3 \(pp\) \(pull, train.py:7\) for rank 1, which never called its side of it; its last")

    def test_sends_in_a_circle(self) -> None:
        ranks = self.world(2)
        ranks[0].call("recv 0<-1", False)
        ranks[1].call("recv 1<-0", False)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["is_cycle"]), ("send-receive", True))
        self.assertIn("they wait for each other in a circle", told["text"])

    def test_a_receive_that_has_its_send(self) -> None:
        """Both sides are there, or a ring lost its beginning: nobody is blamed."""
        ranks = self.world(2)
        ranks[0].call("send 0->1", False)
        ranks[1].call("recv 1<-0", False)
        told = self.ask(*ranks)
        self.assertEqual((told["culprits"], told["confidence"]), ([], "low"))
        ranks = self.world(2)
        ranks[0].loop(5).forget(3)
        ranks[1].call("recv 1<-0", False)
        self.assertEqual(self.ask(*ranks)["culprits"], [])

    def test_many_ranks(self) -> None:
        """512 ranks, one missing: found in seconds, and told in a line."""
        ranks = self.world(512)
        for r in ranks:
            r.loop(20)
            if r.rank != 300:
                r.call("all_reduce", False)
        told = self.ask(*ranks)
        self.assertEqual((told["cause"], told["culprits"]), ("missing-rank", [300]))
        self.assertIn("ranks 0–299 and 301–511 wait", told["text"])


class Asking(Case):
    def test_other_options_and_commands(self) -> None:
        """What dumps cannot answer is said in one line."""
        folder = self.write(*(r.loop(2) for r in self.world(2)))
        for option in (("--view", "kernels"), ("--csv",), ("--html", self.folder / "x.html"), ("--steps", "1"), ("--merge",)):
            status, out, err = run("report", folder, *option)
            self.assertEqual((status, out, len(err.splitlines())), (2, b"", 1), err)
            self.assertIn(f"{option[0]} is not for Flight Recorder dumps", err)
        status, _, err = run("stats", folder / "nccl_trace_rank_0")
        self.assertEqual(status, 3)
        self.assertIn("a Flight Recorder dump, which has no timeline", err)

    def test_names(self) -> None:
        """Files without a rank in their names, two of one rank, a file that is none, one that is cut."""
        folder = self.write(*(r.loop(2).call("all_reduce", r.rank == 9) for r in self.world(3)))
        (folder / "log7").write_text("not a dump")
        self.assertEqual(report(folder)["cause"], "all-entered")
        files = sorted(folder.glob("nccl*"))
        files[0].rename(folder / "first")
        status, _, err = run("report", folder / "first")
        self.assertEqual(status, 3)
        self.assertIn("does not say its rank", err)
        (folder / "again_rank_1").write_bytes(files[1].read_bytes())
        status, _, err = run("report", folder)
        self.assertEqual(status, 2)
        self.assertRegex(err, "are both of rank 1; pass the dumps of one run")
        (folder / "again_rank_1").unlink()
        (folder / "first").rename(files[0])
        files[0].write_bytes(files[0].read_bytes()[:-200])
        status, out, err = run("report", folder, "--json", "--strict")
        told = json.loads(out)
        self.assertEqual((status, told["without_dump"], len(told["unread"])), (4, [0], 1), err)

    def test_beside_traces(self) -> None:
        """A dump is no rank of a job: the trace is explained, and the dump beside it."""
        folder = self.write(*(r.loop(2) for r in self.world(1)))
        told = report(OWN[0], folder / "nccl_trace_rank_0")
        self.assertEqual([len(told["ranks"]), told["unread"], told["flight_recorder"]["cause"]], [1, [], "nothing"])

    def test_pipes(self) -> None:
        """What comes through a pipe is not looked at beforehand, because that would lose its beginning."""
        told = json.loads(subprocess.run(["bash", "-c", f"{EXE} report <(cat {OWN[0]}) --json"], capture_output=True, check=True, timeout=60).stdout)
        self.assertEqual(told["verdict"]["text"], report(OWN[0])["verdict"]["text"])

    def test_old_versions_and_empty_rings(self) -> None:
        folder = self.write(*self.world(2))
        self.assertEqual(report(folder)["cause"], "no-calls")
        (folder / "nccl_trace_rank_0").write_bytes(pickle.dumps({"version": "1.5", "entries": [], "pg_config": {}}))
        status, _, err = run("report", folder / "nccl_trace_rank_0")
        self.assertEqual(status, 3)
        self.assertIn("version 1.5; holdup reads versions 2.x", err)


class Hostile(Case):
    def test_nothing_is_run(self) -> None:
        victim = self.folder / "victim"
        touch = f"touch {victim}".encode()
        path = self.folder / "nccl_trace_rank_0"
        path.write_bytes(b"\x80\x02}X\x09\x00\x00\x00pg_configcos\nsystem\nX" + struct.pack("<I", len(touch)) + touch + b"\x85Rs.")
        status, out, err = run("report", path)
        self.assertEqual((status, out, len(err.splitlines())), (3, b"", 1))
        self.assertIn("import os.system", err)
        self.assertFalse(victim.exists())

    def test_names_do_not_steer_the_terminal(self) -> None:
        ranks = self.world(2)
        ranks[0].loop(1).call("all_\x1b[2Jreduce" + "x" * 9000, False, where=("f\x1b]0;x\x07", 5))
        ranks[1].loop(1)
        out = run("report", self.write(*ranks))[1]
        self.assertNotIn(b"\x1b", out)
        self.assertNotIn(b"\x07", out)

    def test_made_to_be_slow(self) -> None:
        """A group for each call, a group of a million ranks, thousands of receives that wait: seconds, not hours."""
        ranks = self.world(1)
        for n in range(20000):
            ranks[0].call("all_reduce", False, group=(f"g{n}", "x"))
        status, _, err = run("report", self.write(*ranks))
        self.assertEqual(status, 3)
        self.assertIn("process groups", err)
        ranks = [Rank(r, {WORLD: list(range(300000))}).loop(2) for r in range(2)]
        ranks[0].call("all_reduce", False)
        self.assertEqual(self.ask(*ranks)["culprits"], [1])
        ranks = self.world(2)
        for _ in range(6000):
            ranks[0].call("recv 0<-1", False)
            ranks[1].call("send 1->0", False)
        self.assertEqual(self.ask(*ranks)["cause"], "send-receive")

    def test_bent(self) -> None:
        """Real shapes with bytes changed, cut, or of the wrong types: an answer or one line."""
        ranks = self.world(2)
        ranks[0].loop(3).call("all_reduce", False)
        ranks[1].loop(3)
        dice = random.Random(7)
        for form in ("pickle", "json"):
            folder = self.write(*ranks, form=form)
            path = folder / "nccl_trace_rank_0"
            whole = path.read_bytes()
            for n in range(20 if SANITIZED else 80):
                bent = bytearray(whole[:dice.randrange(40, len(whole))] if n % 3 == 0 else whole)
                for _ in range(dice.randrange(1, 6)):
                    bent[dice.randrange(3, len(bent))] = dice.randrange(256)
                path.write_bytes(bent)
                status, _, err = run("report", folder / "nccl_trace_rank_0", folder / "nccl_trace_rank_1", "--json", timeout=30)
                self.assertIn(status, (0, 3), err)
                self.assertLessEqual(len(err.strip().splitlines()), 3, err)
        for odd in ({"entries": 5, "pg_config": 3}, {"entries": [5, None, [], {}], "pg_config": {"0": 7, 5: {}}},
                    {"entries": [{"process_group": "x", "collective_seq_id": "y", "frames": [1, {}], "input_sizes": [[], [-1], 5, [2 ** 62, 2 ** 62]]}],
                     "pg_config": {"a": {"ranks": "[9, 8, 99999999999999999999, -3, 8]"}}}):
            path.write_bytes(pickle.dumps(odd))
            self.assertIn(run("report", path)[0], (0, 3))


class Recorded(unittest.TestCase):
    """Dumps of small jobs on gloo (tests/flight/job.py), as PyTorch wrote them: MODE-VERSION, what is planted and who did it."""

    DUMPS = {"parallel-2.15": ("missing-rank", [3]), "swap-2.15": ("waits-elsewhere", [2]), "kill-2.9": ("no-dump", [2]), "skip-2.9": ("other-operation", [1]),
             "size-2.15": ("other-sizes", [2]), "moments-2.9": ("other-moment", []), "sleep-2.8": ("missing-rank", [2]), "sleep-2.7": ("no-calls", [])}

    def test_recorded(self) -> None:
        for name, (cause, culprits) in self.DUMPS.items():
            with self.subTest(name):
                with tempfile.TemporaryDirectory() as folder:  # copied, so that they lie there for longer than their waits
                    told = report(shutil.copytree(ROOT / "tests/data/flight" / name, f"{folder}/dumps", copy_function=shutil.copy))
                self.assertEqual((told["cause"], told["culprits"]), (cause, culprits), told["text"])


class Real(unittest.TestCase):
    """Jobs on gloo with a planted hang (tests/flight/job.py): the planted rank is named, and of a job without one nobody."""

    HANGS = {"sleep": ("missing-rank", [2]), "size": ("other-sizes", [2]), "dtype": ("other-types", [3]), "operation": ("other-operation", [1]),
             "skip": ("other-operation", [1]), "fewer": ("other-operation", [3]), "kill": ("no-dump", [2]), "leave": ("missing-rank", [2]),
             "swap": ("waits-elsewhere", None), "group_member": ("missing-rank", [3]), "parallel": ("missing-rank", [3]),
             "recv_without_send": ("missing-rank", [0, 1, 2]), "asynchronous_sleep": ("missing-rank", [2]), "barrier": ("missing-rank", [0]),
             "error": ("missing-rank", [1]), "root": ("missing-rank", [0]), "roots": ("all-entered", []), "hang_moments": ("missing-rank", [2])}
    HEALTHY = {"healthy": {"nothing"}, "slow": {"nothing"}, "asynchronous": {"nothing"}, "new_group": {"nothing"},
               "running": {"nothing", "may-run", "other-moment"}, "uneven": {"nothing", "may-run", "other-moment"}, "moments": {"other-moment"}}

    def test_planted(self) -> None:
        python = torch_or_skip(self)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        some = 3 if SANITIZED else None  # the jobs take the time, and the other run has all of them
        hangs, healthy = (dict(list(modes.items())[:some]) for modes in (self.HANGS, self.HEALTHY))
        subprocess.run([python, ROOT / "tests/flight/job.py", folder, "4", *hangs, *healthy], check=True, timeout=1800, stderr=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)
        for mode, (cause, culprits) in hangs.items():
            with self.subTest(mode):
                for file in (folder / mode).rglob("*rank_*"):  # the job hangs on: as if the dumps were taken ten minutes later
                    os.utime(file, ns=(file.stat().st_mtime_ns + 600_000 * MS,) * 2)
                told = report(folder / mode)
                self.assertEqual(told["cause"], cause, told["text"])
                if culprits is not None:
                    self.assertEqual(told["culprits"], culprits, told["text"])
                if mode == "swap":
                    self.assertRegex(told["text"], r"Ranks? [0-9a-z ]+ waits? .* for rank [12], which waits .* in different order")
                if (folder / mode / "json").is_dir():
                    self.assertEqual(report(folder / mode / "json")["cause"], cause, "the same dumps as JSON")
        for mode, causes in healthy.items():
            with self.subTest(mode):
                told = report(folder / mode)
                self.assertIn(told["cause"], causes, told["text"])
                self.assertEqual(told["culprits"], [], told["text"])


if __name__ == "__main__":
    unittest.main()
