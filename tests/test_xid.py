# SPDX-License-Identifier: Apache-2.0
"""The table of errors of NVIDIA's GPUs: what NVIDIA's catalog recommends, what the rules for Prometheus alert on, what the documentation says."""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tempfile
import unittest
from typing import Any

from tests.program import EXE, ROOT, run

# What to do first with A100 and later, as NVIDIA's "Analyzing Xid Errors with the Xid Catalog" has it (column "Immediate Action"), for every code in use.
CATALOG = {
    "RESTART_APP": "8 11 13 25 31 32 39-41 60 68-72 75-77 80 82-86 88 89 94 96-105 126-135 139",
    "RESET_GPU": "46 62 64 95 109 110 119 120 136 140 143 155 156 158",
    "RESTART_BM": "79",
    "RESTART_VM": "151",
    "CHECK_MECHANICALS": "54",
    "UPDATE_SWFW": "78",
    "WORKFLOW": "45 48 74 144-150",
    "CHECK_UVM": "159",
    "CONTACT_SUPPORT": "142",
    "XID_154": "154",
    "IGNORE": "14 37 38 43 44 63 66 67 92 93 106 107 121 137 141 152 153 157 160 161",
    "NONE_GIVEN": "162-172",
}
# Its column "Investigatory Action": where the program is to be looked at.
PROGRAM = {11, 13, 25, 31, 37, 69, 137}
# A link that was taken down on purpose tells so with 155, and 156 is a part that was replaced: jobs go on until the reset.
NO_HURRY = {155, 156}


def codes(text: str) -> set[int]:
    found: set[int] = set()
    for word in text.split():
        first, _, last = word.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def table() -> dict[int, dict[str, Any]]:
    done = subprocess.run([EXE, "doctor", "--xid", "list", "--json"], check=True, capture_output=True)
    return {row["xid"]: row for row in json.loads(done.stdout)}


class Table(unittest.TestCase):
    def test_codes_are_those_of_the_catalog(self) -> None:
        used = set().union(*map(codes, CATALOG.values()))
        self.assertEqual(sum(len(codes(v)) for v in CATALOG.values()), len(used), "a code in two rows of the test")
        # 108 is one that the catalog has as unused, with an action
        self.assertEqual(set(table()), used)

    def test_severity_follows_the_action(self) -> None:
        rows = table()
        for code in codes(CATALOG["RESET_GPU"]) | codes(CATALOG["RESTART_BM"]) | codes(CATALOG["CHECK_MECHANICALS"]) | {48, 74}:
            self.assertEqual(rows[code]["severity"], "warning" if code in NO_HURRY else "critical", code)
        for code in codes(CATALOG["IGNORE"]) - {63, 92, 157} - PROGRAM - {43}:
            self.assertEqual(rows[code]["severity"], "note", code)
        for code in PROGRAM - {37} | {43, 45}:
            self.assertEqual(rows[code]["severity"], "application", code)
            self.assertTrue(rows[code]["fault"].startswith("program"), code)
        for code in codes(CATALOG["RESTART_APP"]) - PROGRAM:
            self.assertEqual(rows[code]["severity"], "warning", code)

    def test_action_has_what_the_catalog_wants(self) -> None:
        rows = table()
        for code in codes(CATALOG["RESET_GPU"]) - {110}:
            self.assertIn("reset", rows[code]["action"], code)
        for code in codes(CATALOG["RESTART_APP"]) - {13, 31}:
            self.assertIn("start the job again", rows[code]["action"], code)
        for code in (79, 110):
            self.assertIn("restart", rows[code]["action"])
        for code in (13, 31, 137):
            self.assertIn("compute-sanitizer", rows[code]["action"])
        for code, row in rows.items():
            self.assertTrue(row["name"] and row["action"] and row["fault"] != "not known", code)

    def test_rules_alert_on_the_same_codes(self) -> None:
        rules = (ROOT / "packaging/prometheus/holdup.rules.yml").read_text()
        rows = table()
        for alert, severity in (("Critical", "critical"), ("Warning", "warning"), ("Application", "application")):
            pattern = re.search(rf'alert: HoldupGpuXid{alert}\n.*?xid=~"([^"]+)"', rules, re.S)[1]
            alerted = {n for n in range(1000) if re.fullmatch(pattern, str(n))}
            self.assertEqual(alerted, {c for c, row in rows.items() if row["severity"] == severity}, alert)

    def test_document_is_the_table(self) -> None:
        text = (ROOT / "docs/xid.md").read_text()
        for code, row in table().items():
            self.assertIn(f'| {code} | {row["name"]} | {row["severity"]} | {row["fault"]} | {row["action"]} |\n', text)
        self.assertEqual(len(re.findall(r"^\| [0-9]+ \|", text, re.M)), len(table()))


class Faces(unittest.TestCase):
    def test_one(self) -> None:
        status, out, err = run("doctor", "--xid", "79")
        self.assertEqual((status, err), (0, ""))
        self.assertTrue(out.decode().startswith("XID 79: GPU has fallen off the bus\n"), out)
        self.assertRegex(out.decode(), r"severity +critical\n +fault of +hardware\n +do +drain the node")

    def test_what_is_not_known_is_said_so(self) -> None:
        for code, words in (("5", "not used by any GPU since A100"), ("108", "not used by any GPU since A100"), ("173", "not in the catalog"), ("0", "not in the catalog")):
            status, out, _ = run("doctor", "--xid", code)
            self.assertEqual(status, 0)
            self.assertIn(words, " ".join(out.decode().split()))
            self.assertNotIn("severity", out.decode())
            self.assertEqual(json.loads(run("doctor", "--xid", code, "--json")[1]), [])

    def test_wrong_words(self) -> None:
        for word in ("x", "79x", "-1", "", "99999999999999999999"):
            status, out, err = run("doctor", f"--xid={word}")
            self.assertEqual((status, out), (2, b""), word)
            self.assertIn("--xid needs a number", err)

    def test_lines_fit_a_terminal(self) -> None:
        out = run("doctor", "--xid", "list", env={"COLUMNS": "80"})[1].decode()
        self.assertEqual([line for line in out.splitlines() if len(line) > 80], [])
        self.assertEqual(out.count("\n      severity"), len(table()))


class Log(unittest.TestCase):
    """Records of the kernel's log, in a captured tree with a GPU that its driver shows."""

    FACTS = "nvml 0\nnvml.driver 580.95.05\ngpu.0.error 0\ngpu.0.bus 0000:3b:00.0\n"

    def judge(self, log: str, facts: str = FACTS, up: str = "500000.00 1.00") -> list[tuple[str, str, str]]:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for path, text in (("dev/kmsg", log), ("holdup/facts", facts), ("proc/uptime", up), ("proc/driver/nvidia/version", "")):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            done = subprocess.run([EXE, "doctor", "--root", root, "--only", "gpu-xid", "--json"], capture_output=True, check=False)
            return [(a["verdict"], a["subject"], a["evidence"]) for a in json.loads(done.stdout)["checks"][0]["answers"]]

    def line(self, xid: int, at_s: int, bus: str = "PCI:0000:3b:00") -> str:
        return f"4,17,{at_s * 1000000},-;NVRM: Xid ({bus}): {xid}, pid=4711, name=python, more\n"

    def verdicts(self, *arguments: Any, **more: Any) -> list[str]:
        return [v for v, _, _ in self.judge(*arguments, **more)]

    def test_nothing(self) -> None:
        log = "6,1,5000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n6,2,6000000,-;some Xid (of somebody): 79, else\n"
        self.assertEqual(self.judge(log), [("ok", None, "no XID in /dev/kmsg")])

    def test_counts_and_says_when(self) -> None:
        (verdict, subject, text), = self.judge(self.line(79, 400000) + " SUBSYSTEM=pci\n" + self.line(79, 496400))
        self.assertEqual((verdict, subject), ("failure", "GPU at 0000:3b:00"))
        self.assertEqual(text, "XID 79: GPU has fallen off the bus, 2 times since boot, last 60 min ago (/dev/kmsg)")

    def test_what_a_day_and_the_driver_change(self) -> None:
        new, old = 499000, 100000
        self.assertEqual(self.verdicts(self.line(79, old)), ["warning"])
        well = self.FACTS + "gpu.0.recovery 0\n"       # seen to since: the driver shows the GPU and asks for nothing
        self.assertEqual(self.verdicts(self.line(79, new), well), ["warning"])
        self.assertEqual(self.verdicts(self.line(79, old), well), ["note"])
        self.assertEqual(self.verdicts(self.line(79, new), self.FACTS + "gpu.0.recovery 2\n"), ["failure"])
        self.assertEqual(self.verdicts(self.line(79, new, "PCI:0000:4c:00"), well), ["failure"])    # of one that the driver does not show
        self.assertEqual(self.verdicts(self.line(94, new)), ["warning"])
        self.assertEqual(self.verdicts(self.line(94, old)), ["note"])
        self.assertEqual(self.verdicts(self.line(31, new)), ["note"])
        self.assertEqual(self.verdicts(self.line(777, new)), ["note"])

    def test_old_drivers_and_odd_lines(self) -> None:
        (_, subject, _), = self.judge("4,9,1,-;NVRM: Xid (0000:3B:00): 31, Ch 00000010\n")
        self.assertEqual(subject, "GPU at 0000:3b:00")
        odd = ["NVRM: Xid (PCI:): 79, x", "NVRM: Xid (PCI:0000:3b:00) 79", "NVRM: Xid (PCI:0000:3b:00): x", "NVRM: Xid (PCI:0000:3b:00): 79x", "NVRM: Xid (" + "0" * 99 + "): 79,"]
        self.assertEqual(self.verdicts("".join(f"4,1,1,-;{text}\n" for text in odd) + ";\n,,,;NVRM\n4,1"), ["ok"])

    def test_many_kinds_end(self) -> None:
        """A log of somebody who wants to fill the table."""
        self.assertEqual(len(self.judge("".join(self.line(n, 1) for n in range(1, 300)))), 64)


if __name__ == "__main__":
    unittest.main()
