# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's tables and Megatron's timers over all ranks, against regular expressions; numbers that cannot be are said to be wrong."""
import json
import re
import statistics
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.program import SHARED, run, skip_loudly
from tests.test_step_log import megatron

DEEPSPEED = SHARED / "traces/deepspeed"
ARGONNE = DEEPSPEED / "argonne-wallclock/cooldown.md"
SUPERBENCH = DEEPSPEED / "superbench-megatron/megatron_deepspeed.log"
REBALANCE = DEEPSPEED / "topomoe/rebalance_step25.out"
PROFILE = DEEPSPEED / "topomoe/flops_profile.txt"
FACTORS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "u": 1e-6}


def quantity(text: str) -> float:
    number, prefix = re.fullmatch(r"([\d.]+) ?([KMGTmu]?)(?:MACs|FLOPS|s)?\s*", text).groups()
    return float(number) * FACTORS[prefix]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ask(self, *words: object) -> dict[str, Any]:
        status, out, err = run("report", *words, "--json")
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def of(self, text: str) -> dict[str, Any]:
        path = self.folder / "train.log"
        path.write_text(text)
        return self.ask(path)

    def real(self, path: Path) -> tuple[str, dict[str, Any]]:
        if not path.exists():
            skip_loudly(f"{path} is not there")
            self.skipTest("no such file")
        return path.read_text(errors="replace"), self.ask(path)

    def ids(self, told: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {h["id"]: h for h in told["hints"]}


def rows_of(text: str) -> list[tuple[str, str, int, float, float, float, float]]:
    """Operation, size, count and four numbers of each row below the heading."""
    rows, op = [], None
    for line in text[text.index("Comm. Op "):].splitlines()[1:]:
        if match := re.fullmatch(r"\s+([\d.]+ ?[KMG]?B)\s+(\d+)" + r"\s+(-?[\d.]+)" * 4 + r"\s*", line):
            rows.append((op, match[1], int(match[2]), *map(float, match.groups()[2:])))
        elif match := re.fullmatch(r"\s*([a-z_]+)\s*", line):
            op = match[1]
        else:
            break
    return rows


SUMMARY = f"{'Comm. Op': <20}{'Message Size': <20}{'Count': <20}{'Total Latency(ms)': <20}{'Avg Latency(ms)': <20}{'tput_avg (Gbps)': <20}{'busbw_avg (Gbps)': <20}\n"
STRAGGLERS = ("_______________________________\nBreakdown with straggler effect\n-------------------------------\n" +
              f"{'Comm. Op': <20}{'Message Size': <20}{'Count': <20}{'Total comm lat(ms)': <20}{'Total straggler(ms)': <20}{'Avg comm lat(ms)': <20}{'Avg straggler(ms)': <20}\n")


def op_row(size: str, count: int, *numbers: float) -> str:
    return f"{' ': <20}{size: <20}{count: <20}" + "".join(f"{n: <20.2f}" for n in numbers) + "\n"


class Collectives(Case):
    def test_real(self) -> None:
        for path, n in ((ARGONNE, 19), (REBALANCE, 1900)):
            with self.subTest(path.name):
                text, told = self.real(path)
                rows, comm = rows_of(text), told["comm"]
                self.assertGreaterEqual(len(rows), n)
                self.assertEqual([(s["op"], s["size"], s["count"]) for s in comm["sizes"]], [r[:3] for r in rows])
                for size, row in zip(comm["sizes"], rows):
                    number, unit = re.match(r"([\d.]+) ?(\w+)", row[1]).groups()
                    self.assertEqual(size["bytes"], round(float(number) * 1024 ** ("B", "KB", "MB", "GB").index(unit)))
                    self.assertEqual((size["printed_total_ns"], size["average_ns"]), (round(row[3] * 1e6), round(row[4] * 1e6)))
                    self.assertEqual((size["alg_gbit_per_s"], size["bus_gbit_per_s"]), row[5:])
                of_op: dict[str, float] = {}
                for op, _, count, _, average, _, _ in rows:
                    of_op[op] = of_op.get(op, 0) + count * average
                self.assertEqual([o["op"] for o in comm["operations"]], sorted(of_op, key=of_op.get, reverse=True))
                for o in comm["operations"]:
                    self.assertAlmostEqual(o["time_ns"] / 1e6, of_op[o["op"]], places=3)
                    self.assertAlmostEqual(o["share"], of_op[o["op"]] / sum(of_op.values()), places=5)
                self.assertEqual(comm["negative_totals"], sum(r[3] < 0 for r in rows))

    def test_times_that_cannot_be(self) -> None:
        """One log has 23,000 s in collectives and 1,600 s in all steps: of that one nothing is concluded."""
        text, told = self.real(REBALANCE)
        self.assertGreater(told["comm"]["time_ns"], 10 * sum(float(s) for s in re.findall(r"Step ([\d.]+)ms", text)) * 1e6)
        self.assertTrue(told["comm"]["is_impossible"])
        self.assertNotIn("waits_in_collectives", self.ids(told))
        self.assertFalse(self.real(ARGONNE)[1]["comm"]["is_impossible"])

    def test_small_messages_that_wait(self) -> None:
        told = self.of(SUMMARY + "all_reduce\n" + op_row("8.0 B", 3000, 6000, 2.0, 0, 0) + op_row("64.0 MB", 100, 1000, 10.0, 53.7, 50.3))
        self.assertIn("all_reduce of 8.0 B takes 2.00 ms on average (3,000 calls)", self.ids(told)["waits_in_collectives"]["words"])
        self.assertIn("86 % of the time", self.ids(told)["waits_in_collectives"]["words"])
        told = self.of(SUMMARY + "all_reduce\n" + op_row("8.0 B", 3000, 150, 0.05, 0, 0) + op_row("64.0 MB", 100, 1000, 10.0, 53.7, 50.3))
        self.assertNotIn("waits_in_collectives", self.ids(told))

    def test_stragglers(self) -> None:
        """The second table: what the fastest rank took, and what this one waited."""
        told = self.of("node3: " + SUMMARY + "node3: all_reduce\n" + "node3: " + op_row("64.0 MB", 100, 1000, 10.0, 53.7, 50.3) + STRAGGLERS + "all_reduce\n" +
                       op_row("64.0 MB", 100, 700, 300, 7.0, 3.0))
        (size,) = told["comm"]["sizes"]
        self.assertEqual((size["average_ns"], size["fastest_rank_ns"], size["straggler_ns"]), (10_000_000, 7_000_000, 3_000_000))
        self.assertIn("300 ms of 1.00 s in collectives (30 %)", self.ids(told)["stragglers"]["words"])

    def test_callers(self) -> None:
        """With "debug" an operation has a row for each function that calls it."""
        told = self.of(SUMMARY + "all_reduce | [Caller Func: step]\n" + op_row("4.0 KB", 10, 10, 1.0, 1, 1) + "all_reduce | [Caller Func: backward]\n" + op_row("4.0 KB", 20, 40, 2.0, 1, 1) +
                       "loss: 2.5 and more\n" + op_row("8.0 KB", 20, 40, 2.0, 1, 1))
        self.assertEqual([(s["op"], s["count"]) for s in told["comm"]["sizes"]], [("all_reduce | [Caller Func: step]", 10), ("all_reduce | [Caller Func: backward]", 20)])

    def test_a_later_summary_replaces(self) -> None:
        """Row by row, as sizes that differ may be printed alike."""
        body = lambda n: SUMMARY + "all_to_all_single\n" + op_row("1.03 MB", n, 10, 1.0, 1, 1) + op_row("1.03 MB", 2 * n, 10, 3.0, 1, 1)
        told = self.of(body(1) + body(5))
        self.assertEqual([(s["count"], s["average_ns"]) for s in told["comm"]["sizes"]], [(5, 1_000_000), (10, 3_000_000)])
        told = self.of((SUMMARY + "all_reduce\n" + op_row("4.0 KB", 10, 10, 1.0, 1, 1)) * 2 + SUMMARY + "all_reduce\n" + op_row("4.0 KB", 30, 60, 2.0, 1, 1))
        self.assertEqual([(s["count"], s["average_ns"]) for s in told["comm"]["sizes"]], [(30, 2_000_000)])


class Flops(Case):
    def test_totals(self) -> None:
        text, told = self.real(PROFILE)
        flops = told["flops"]
        for key, member, unit in (("params per GPU", "params_per_gpu", 1), ("params of model", "params_of_model", 1), ("fwd MACs per GPU", "forward_macs_per_gpu", 1),
                                  ("fwd flops per GPU", "forward_flop_per_gpu", 1), ("fwd latency", "forward_ns", 1e9), ("bwd latency", "backward_ns", 1e9),
                                  ("step latency", "step_ns", 1e9), ("iter latency", "iteration_ns", 1e9), ("samples/second", "samples_per_s", 1),
                                  ("fwd FLOPS per GPU = fwd flops per GPU / fwd latency", "forward_flop_per_s", 1),
                                  ("fwd+bwd FLOPS per GPU = 3 * fwd flops per GPU / (fwd+bwd latency)", "forward_backward_flop_per_s", 1),
                                  ("FLOPS per GPU = 3 * fwd flops per GPU / iter latency", "iteration_flop_per_s", 1),
                                  ("world size", "world_size", 1), ("batch size per GPU", "batch_per_gpu", 1)):
            with self.subTest(key):
                value = quantity(re.search(rf"^{re.escape(key)}: +(.*)$", text, re.M)[1]) * unit
                self.assertAlmostEqual(flops[member] / value, 1, places=9)
        self.assertEqual(flops["step"], int(re.search(r"Profile Summary at step (\d+)", text)[1]))

    def test_classes_by_depth(self) -> None:
        text, told = self.real(PROFILE)
        seen = {}
        for depth, body in re.findall(r"^depth (\d+):\n((?:    .*\n)+)", text, re.M):
            for name, value in re.findall(r"'(\w+)': '([^']*)'", re.search(r"fwd latency - (\{.*\})", body)[1]):
                seen[int(depth), name] = round(quantity(value) * 1e9)
        self.assertGreater(len(seen), 12)
        self.assertEqual({(m["depth"], m["class"]): m["forward_ns"] for m in told["flops"]["by_depth"] if m["forward_ns"] is not None}, seen)

    def test_modules(self) -> None:
        """Each module's numbers, its path by indentation, and the time of classes without what is in them."""
        text, told = self.real(PROFILE)
        modules, numbers = [], r"([\d.]+ ?[KMG]?) = [\d.]+% Params, ([\d.]+ [KMG]?MACs) = [\d.]+% MACs, ([\d.]+ [GMmu]?s) = [\d.]+% latency, "
        lines = text[text.index("Detailed Profile per GPU"):].splitlines()
        path: list[tuple[int, str]] = []
        for i, line in enumerate(lines):
            if not (match := re.match(r"( *)(?:\(([\w.]+)\): )?([A-Z]\w+)\((.*)$", line)):
                continue
            indent, name, kind, rest = len(match[1]), match[2] or "", match[3], match[4]
            own = re.search(numbers, rest) or (not rest and re.match(" *" + numbers, lines[i + 1]))
            if rest and not own:
                continue
            while path and path[-1][0] >= indent:
                path.pop()
            path.append((indent, name))
            modules.append((".".join(n for _, n in path if n), kind, indent // 2, round(quantity(own[3]) * 1e9) if own else None))
        self.assertGreater(len(modules), 1000)
        self.assertEqual([(m["name"], m["class"], m["depth"], m["forward_ns"]) for m in told["flops"]["modules"]], modules)
        own, times = {name: ns for name, _, _, ns in modules if ns is not None}, {name: ns for name, _, _, ns in modules}
        for name, _, _, ns in modules[1:]:
            parent = name
            while ns and parent:        # up to the next module with numbers of its own
                parent = parent.rpartition(".")[0]
                if times[parent] is not None:
                    own[parent] -= ns
                    break
        classes: dict[str, int] = {}
        for name, kind, _, ns in modules[1:]:
            classes[kind] = classes.get(kind, 0) + max(own.get(name, 0), 0)
        for told_class in told["flops"]["classes"]:
            self.assertAlmostEqual(told_class["own_ns"], classes[told_class["class"]], delta=2)
        self.assertTrue(told["flops"]["root_is_wrong"])      # 1.77 Gs
        self.assertIn("forward_waits", self.ids(told))

    def test_inside_of_a_log(self) -> None:
        text, alone = self.real(PROFILE)
        told = self.of("".join(megatron(i, 1000) for i in range(1, 30)) + text + "".join(megatron(i, 1000) for i in range(30, 60)))
        self.assertEqual(told["step"]["count"], 59)
        self.assertEqual(told["flops"], alone["flops"])


def minmax(*timers: tuple[str, float, float], heading: str = "(min, max) time across ranks (ms):") -> str:
    return heading + "\n" + "".join(f"    {(name + ' ').ljust(48, '.')}: ({low:.2f}, {high:.2f})\n" for name, low, high in timers)


class Ranks(Case):
    def test_real(self) -> None:
        text, told = self.real(ARGONNE)
        for name in ("forward-backward", "optimizer"):
            pairs = [(float(a), float(b)) for a, b in re.findall(rf"^ +{name} \.+: \(([\d.]+), ([\d.]+)\)$", text, re.M)]
            self.assertEqual(len(pairs), 7)
            part = next(p for p in told["parts"] if p["name"] == name)
            self.assertAlmostEqual(part["median_ns"] / 1e6, statistics.median(b for _, b in pairs), places=3)
            self.assertAlmostEqual(part["spread_ns"] / 1e6, statistics.median(b - a for a, b in pairs), places=3)
            self.assertAlmostEqual(part["most_spread_ns"] / 1e6, max(b - a for a, b in pairs), places=3)
        self.assertNotIn("ranks_differ", self.ids(told))     # 1.4 ms of 3.4 s
        self.assertEqual({p["name"]: p["inside"] for p in told["parts"] if p["name"] in ("fwd", "bwd", "step", "optimizer", "forward-backward")},
                         {"fwd": "forward-backward", "bwd": "forward-backward", "step": "optimizer", "optimizer": None, "forward-backward": None})
        self.assertEqual([p["count"] for p in told["parts"] if p["name"] == "optimizer_step"], [len(re.findall(r"\| optimizer_step: ", text))])

    def test_once(self) -> None:
        """Behind the rank of a launcher; what is told once is no part of a step."""
        text, told = self.real(SUPERBENCH)
        seen = {name: float(most) for name, most in re.findall(r"^vm-\S+: +(\S+) \.+: \([\d.]+, ([\d.]+)\)\s*$", text, re.M)}
        self.assertEqual(len(seen), 3)
        self.assertEqual({p["name"]: p["median_ns"] / 1e6 for p in told["parts"] if p["role"] == "once"}, seen)

    def test_ranks_that_differ(self) -> None:
        told = self.of("".join(megatron(i, 1000) + minmax(("forward-backward", 700, 890), ("forward-compute", 200, 390 + i % 3), ("optimizer", 90, 90)) for i in range(1, 30)))
        hint = self.ids(told)["ranks_differ"]
        self.assertIn("forward-compute takes 191 ms longer on the slowest rank than on the fastest", hint["words"])
        self.assertEqual(hint["most_saved_ns_per_step"], 191_000_000)
        self.assertEqual(told["rest_ns"], 20_000_000)

    def test_other_options(self) -> None:
        """max tells no spread; all tells who."""
        steps = [megatron(i, 1000) for i in range(1, 30)]
        largest = "max time across ranks (ms):\n    " + "forward-backward ".ljust(48, ".") + ": 890.00\n"
        for heading in (largest, largest.replace("max time", "(min, max) time"), largest.replace("max time", "INFO:megatron.core.timers:max time")):
            part = self.of("".join(s + heading for s in steps))["parts"][0]
            self.assertEqual((part["name"], part["median_ns"], part["spread_ns"], part["slowest_rank"]), ("forward-backward", 890_000_000, None, None))
        body = "".join(s + "times across ranks (ms):\n  forward-backward:\n" + "".join(f"     rank {r:2d}: {700 + 10 * r + 120 * (r == 5 and i % 10 > 0):.2f}\n" for r in range(16)) +
                       "  optimizer:\n     rank  0: 90.00\n" for i, s in enumerate(steps))
        told = self.of(body)
        parts = {p["name"]: p for p in told["parts"]}
        self.assertEqual((parts["forward-backward"]["slowest_rank"], parts["forward-backward"]["median_ns"], parts["forward-backward"]["spread_ns"]), (5, 870_000_000, 170_000_000))
        self.assertEqual((parts["forward-backward"]["count"], parts["optimizer"]["count"], parts["optimizer"]["spread_ns"]), (29, 29, None))
        self.assertIn("rank 5 is the slowest in 90 % of the lines", self.ids(told)["ranks_differ"]["words"])

    def test_lines_of_others_between(self) -> None:
        block = minmax(("forward-backward", 700, 890), ("optimizer", 90, 91)).replace("\n    opt", "\nnode7: > building\nnode8: loading\n    opt")
        told = self.of("".join(megatron(i, 1000) + block for i in range(1, 30)))
        self.assertEqual({p["name"]: p["count"] for p in told["parts"]}, {"forward-backward": 29, "optimizer": 29})

    def test_what_ends_a_block(self) -> None:
        """Other lines with colons are no timers of all ranks."""
        told = self.of("".join(megatron(i, 1000) + minmax(("optimizer", 90, 91)) + "[Rank 0] time (ms) | fwd: 300.00 | bwd: 500.00\n[INFO] loss: 2.5\n" for i in range(1, 30)))
        self.assertEqual({p["name"] for p in told["parts"]}, {"optimizer", "fwd", "bwd"})

    def test_hostile(self) -> None:
        body = "".join(megatron(i, 1000) + minmax(("optimizer", 90, 91)) for i in range(1, 30))
        flops = "-------------- DeepSpeed Flops Profiler -------\n"
        for what in ("(min, max) time across ranks (ms):\n x .: (5, 4)\n", "times across ranks (ms):\n  a:\n  rank 99999999999999999999: 5\n",
                     "times across ranks (ms):\n" + "  a:\n  rank 1: 1e300\n" * 99,
                     "Comm. Op Message Size\nall\n 1e400 B 1 1 1 1 1\n -4 KB 1 1 1 1 1\n 4 KB 99999999999999999999 1 1 1 1\n",
                     flops + "iter latency: 1e999 s\n---- Detailed Profile per GPU ----------\n" + "(a): B(\n" * 5000 + ")\n" * 6000,
                     flops + "----------- Aggregated Profile per GPU ---------\ndepth 99999999999:\n fwd latency - {'a': '1 Qs', 'b'\n"):
            with self.subTest(what[:30]):
                told = self.of(body + what + "-" * 60 + "\n" + "".join(megatron(i, 1000) for i in range(30, 60)))
                self.assertEqual((told["step"]["count"], told["step"]["median_ns"]), (59, 1_000_000_000))


class Text(Case):
    def test_width_and_words(self) -> None:
        for path, words in ((ARGONNE, "printed totals of 4 sizes are below zero"), (REBALANCE, "far more than all steps took, which cannot be"),
                            (PROFILE, "318 ms, step 6, by DeepSpeed's flops profiler: forward 130 ms (41 %)")):
            if not path.exists():
                skip_loudly(f"{path} is not there")
                continue
            status, out, err = run("report", path)
            self.assertEqual(status, 0, err)
            self.assertIn(words, " ".join(out.decode().split()))
            self.assertLessEqual(max(map(len, out.decode().splitlines())), 80)


if __name__ == "__main__":
    unittest.main()
