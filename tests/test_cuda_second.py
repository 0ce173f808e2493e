# SPDX-License-Identifier: Apache-2.0
"""The CUDA door by CUPTI's second interface (13.3 and later): several subscribers, records of chosen fields.

What the first interface is asked in test_cuda_door.py, and what only the second one can do or refuse.  Its stand-in needs the vendor's headers."""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import unittest
from collections import Counter
from typing import Any

from tests import test_cuda_door as door
from tests.cuda import sanitized, stand, wheels
from tests.program import EXE, SANITIZED, skip_loudly

NEWEST = "13.5"
VERSIONS = tuple(cuda for cuda, version in wheels.VERSIONS.items() if version.api >= 130300)
SECOND = ("-DSECOND=1",)
TURN = re.compile("(?i)corr|addr|bandwidth")            # what differs from run to run
# all that is needed of it: where one is missing, the first interface is used
FUNCTIONS = ("cuptiSubscribe_v2", "cuptiActivitySetAttribute_v2", "cuptiActivityGetAttribute_v2", "cuptiActivityRegisterCallbacks_v2",
             "cuptiActivityEnable_v2", "cuptiActivityEnableAndDump_v2", "cuptiActivityDisable_v2", "cuptiActivityGetNextRecord_v2",
             "cuptiActivityGetNumDroppedRecords_v2")


def load_tests(_loader, tests, _pattern):
    """What is tried here lives in other programs, without sanitizers: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


class Second(door.Case):
    """With a libcupti of 13.5 that has both interfaces."""
    enabling = "cuptiActivityEnable_v2"
    disabling = "cuptiActivityDisable_v2"

    def libcupti(self, cuda: str = stand.OWN) -> pathlib.Path | None:
        found = stand.cupti(NEWEST if cuda == stand.OWN else cuda, (), SECOND)
        if found is None:
            skip_loudly("no headers of CUDA 13.3 or later: CUPTI's second interface was not tried")
            raise unittest.SkipTest("no headers")
        return found

    def record(self, program: str, *words: Any, libcupti: pathlib.Path | None = None, options: tuple[str, ...] = (), **env: str) -> stand.Recording:
        """All of them are by the second interface alone, unless they fail to be recorded at all."""
        r = super().record(program, *words, libcupti=libcupti, options=options, **env)
        if libcupti is None:
            self.assertEqual(r.log.calls("cuptiActivityEnable"), [], "a kind was enabled by the first interface")
        return r


class Records(Second, door.Records):
    test_without_the_vendors_headers = None

    def test_versions(self) -> None:
        for cuda in VERSIONS:
            with self.subTest(cuda=cuda):
                self.catalogue(cuda)
                log = stand.Log(self.folder / cuda / "log")
                self.assertTrue(log.calls("selected 10"), "kernels are of chosen fields")
                self.assertEqual(log.calls("cuptiActivityEnable"), [])

    def exported(self, r: stand.Recording) -> Counter[tuple[str, str, str]]:
        """All that the trace says of the GPU and of CUDA's calls: kinds, names and fields, without times and numbers of calls."""
        out = r.folder / "exported.json"
        subprocess.run([EXE, "export", r.files[0], "--format", "chrome", "-q", "-o", out], check=True, timeout=60)
        events = [e for e in json.loads(out.read_text())["traceEvents"] if e.get("ph") != "M" and e.get("cat") not in ("os_call", "thread_state")]
        return Counter((e.get("cat", ""), e["name"], json.dumps({k: v for k, v in sorted(e.get("args", {}).items()) if not TURN.search(k)}))
                       for e in events)

    def test_the_same_by_either_interface(self) -> None:
        for program, options, kind in (("catalogue", (), "kernel"), ("train graph 2", ("--cuda-graph-trace=graph",), "cuda_runtime"),
                                       ("train allocations 2", ("--cuda-memory-usage=true",), "cpu_instant_event")):
            with self.subTest(program=program):
                found = []
                for flags in (SECOND, ()):
                    name, *words = program.split()
                    self.libcupti()
                    r = stand.Recording(self.folder / f"{program.replace(' ', '-')}-{len(flags)}", stand.program(name), *words,
                                        libcupti=stand.cupti(NEWEST, (), flags), options=options)
                    self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
                    self.assertEqual(bool(r.log.calls("cuptiSubscribe_v2")), flags == SECOND)
                    found.append((self.exported(r), r.kernels(), r.log.delivered()["kernel"]))
                self.assertIn(kind, {cat for cat, _, _ in found[0][0]})
                self.assertEqual(found[0], found[1])

    def test_only_wanted_calls(self) -> None:
        """Since 13.4 CUPTI leaves out the others; 13.3 cannot, and they are left out later."""
        for cuda in VERSIONS:
            with self.subTest(cuda=cuda):
                libcupti = self.libcupti(cuda)
                r = stand.Recording(self.folder / cuda, stand.program("train"), "busy", "5", libcupti=libcupti)
                self.assertEqual((r.done.returncode, r.log.misuse()), (0, []), r.done.stderr)
                can = wheels.VERSIONS[cuda].api >= 130400
                self.assertEqual((bool(r.log.calls("only of kind 4")), bool(r.log.calls("all but of kind 5"))), (can, can))
                self.assertGreater(r.kernels().total(), 0)
                self.assertEqual(r.rows("select name from call where name in ('cudaGetDevice', 'cudaSetDevice', 'cudaGetLastError')"), [])


class Lives(Second, door.Lives):
    """However a job ends."""


class Ranges(Second, door.Ranges):
    pass


class Control(Second, door.Control):
    def test_whole_graphs_where_they_are_shared(self) -> None:
        """The first subscriber says whether graphs or their nodes come, before anything is enabled."""
        r = self.record("train", "graph", 2, options=("--cuda-graph-trace=graph",))
        self.assertEqual(r.log.calls("cuptiActivitySetAttribute_v2 20"), ["cuptiActivitySetAttribute_v2 20"])
        self.assertEqual((r.log.misuse(), r.log.delivered()["kernel"]), ([], 0))


class Faults(Second):
    """What it refuses."""
    unharmed = door.Faults.unharmed
    test_drops_are_counted = door.Faults.test_drops_are_counted
    test_refused_while_another_thread_asks = door.Faults.test_refused_while_another_thread_asks
    test_kernels_without_times = door.Faults.test_kernels_without_times
    test_late_and_unordered = door.Faults.test_late_and_unordered
    test_strange_records = door.Faults.test_strange_records
    test_incomplete_records = door.Faults.test_incomplete_records
    test_incomplete_records_of_a_long_run = door.Faults.test_incomplete_records_of_a_long_run
    test_a_flush_that_hangs = door.Faults.test_a_flush_that_hangs

    def by_the_first(self, r: stand.Recording) -> None:
        self.assertEqual(r.log.calls("cuptiActivityEnable_v2"), [])
        self.assertIn("cuptiActivityEnable 10", r.log.calls("cuptiActivityEnable"))

    def test_drops_are_those_of_the_subscriber(self) -> None:
        r = self.record("life", "return", 210, STANDIN_DROP="7")
        self.assertEqual((r.log.told_drops(), r.log.calls("cuptiActivityGetNumDroppedRecords")), (30, []))

    def test_functions_that_are_missing(self) -> None:
        for name in FUNCTIONS:
            with self.subTest(missing=name):
                self.libcupti()
                self.folder = self.folder / name
                self.by_the_first(self.unharmed(20, libcupti=stand.cupti(NEWEST, (name,), SECOND)))

    def test_an_older_version_that_has_them(self) -> None:
        """13.2 has some of it as a beta."""
        self.by_the_first(self.unharmed(20, libcupti=self.libcupti(), STANDIN_VERSION="130200"))

    def test_refused_and_the_first_is_not(self) -> None:
        for fault in ("cuptiSubscribe_v2=999", "cuptiActivitySetAttribute_v2:22=27", "cuptiActivitySetAttribute_v2:11=27",
                      "cuptiActivitySetAttribute_v2:21=1", "cuptiActivityRegisterCallbacks_v2=999"):
            with self.subTest(fault=fault):
                self.folder = self.folder / fault
                self.by_the_first(self.unharmed(20, libcupti=self.libcupti(), STANDIN_FAULT=fault))

    def test_refused_by_both(self) -> None:
        """The words are those of the first refusal."""
        r = self.unharmed(0, "cuptiActivityRegisterCallbacks_v2", STANDIN_FAULT="cuptiActivityRegisterCallbacks_v2=27,cuptiSubscribe=39")
        self.assertNotIn("another tool", r.done.stderr)

    def test_kernels_are_refused(self) -> None:
        self.unharmed(0, "(?i)permission", STANDIN_FAULT="cuptiActivityEnable_v2:10=35")

    def test_kinds_that_are_refused(self) -> None:
        for kind, words in ((38, "waits"), (36, "events"), (17, "costs"), (22, "peer copies")):
            with self.subTest(kind=kind):
                self.folder = self.folder / str(kind)
                self.unharmed(20, f"CUPTI refused to record: {words}\n", STANDIN_FAULT=f"cuptiActivityEnable_v2:{kind}=21")

    def test_somebody_else_is_named(self) -> None:
        """Who came first and shares with nobody; or by the first interface, which has no names."""
        for first, words in (("CUPTI for nightwatch:0", r"\(CUPTI for nightwatch\).*code 39"), (":v1", "another tool has subscribed.*code 39")):
            with self.subTest(first=first):
                self.folder = self.folder / re.sub(r"\W", "-", first)
                r = self.unharmed(0, words, STANDIN_FIRST=first)
                self.assertEqual(r.log.calls("cuptiActivityRegisterCallbacks_v2"), [])

    def test_somebody_who_shares_is_joined(self) -> None:
        r = self.unharmed(20, STANDIN_FIRST="CUPTI for nightwatch:1")
        self.assertEqual(r.log.calls("cuptiSubscribe_v2"), ["cuptiSubscribe_v2 1"])
        self.assertNotIn("nightwatch", r.done.stderr)

    def test_the_clock_of_13_3(self) -> None:
        """Nobody who shares has a clock of his own there: alone, also where that is said once for ever; beside another one not at all."""
        libcupti = self.libcupti("13.3")
        for sticky in ("0", "1"):
            with self.subTest(sticky=sticky):
                self.folder = self.folder / sticky
                r = self.unharmed(20, libcupti=libcupti, STANDIN_STICKY=sticky)
                self.assertEqual((r.log.calls("cuptiSubscribe_v2"), r.log.calls("cuptiActivityEnable")), (["cuptiSubscribe_v2 0"], []))
        self.folder = self.folder / "shared"
        self.unharmed(0, r"another tool shares CUPTI, and .*libcupti\S* before 13.4 gives no second one a clock; use CUPTI 13.4", libcupti=libcupti, STANDIN_FIRST="CUPTI for nightwatch:1")

    def test_the_clock_is_refused_to_who_shares(self) -> None:
        """Later versions, too, might: then alone."""
        r = self.unharmed(20, STANDIN_NO_SHARED_CLOCK="1")
        self.assertEqual(r.log.calls("cuptiSubscribe_v2"), ["cuptiSubscribe_v2 1", "cuptiSubscribe_v2 0"])


class Sanitized(Faults):
    """The same refusals, with the door under ASan and UBSan."""
    test_functions_that_are_missing = None

    def setUp(self) -> None:
        super().setUp()
        self.program = sanitized.holdup()
        if not self.program:
            raise unittest.SkipTest("no sanitized door")

    def record(self, program: str, *words: Any, libcupti: pathlib.Path | None = None, options: tuple[str, ...] = (), **env: str) -> stand.Recording:
        r = stand.Recording(self.folder, stand.program(program, ("-fsanitize=address",)), *words, libcupti=libcupti or self.libcupti(),
                            options=options, env={**env, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0"}, holdup=str(self.program))
        self.assertNotRegex(r.done.stderr, "AddressSanitizer|runtime error")
        return r

    def test_every_kind(self) -> None:
        r = self.record("catalogue")
        self.assertEqual((r.done.returncode, sum(r.kernels().values())), (0, 4), r.done.stderr)
        self.assertTrue(r.log.calls("selected 10"))


class Others(Second):
    """Who uses the first interface in the same process."""

    def test_a_user_who_comes_later(self) -> None:
        """He gets all that he asks for; what was recorded until then is kept, and both is said."""
        for first, said in (("subscribe", "0 0 0: 10\n"), ("register", "-1 0 0: 10\n")):
            with self.subTest(first=first):
                self.folder = self.folder / first
                r = self.record("latecomer", first, libcupti=self.libcupti())
                self.check(r, 7, said, {"before_kernel": 20})
                self.assertRegex(r.done.stderr, r"latecomer\S* asked for CUPTI \(cupti\w+\): GPU work after that was not recorded\n")
                self.assertEqual(self.lost(r), 0)
                self.assertEqual(r.log.calls("cuptiUnsubscribe"), ["cuptiUnsubscribe 0"])

    def test_a_user_who_was_there_before(self) -> None:
        """He has registered buffers when CUDA is initialised: the first interface, in turns."""
        r = self.record("latecomer", "early", libcupti=self.libcupti())
        self.check(r, 7, "-1 0 0: 10\n", {"before_kernel": 20})
        self.assertEqual(r.log.calls("cuptiSubscribe_v2"), [])

    def test_a_user_who_registers_nothing(self) -> None:
        r = self.record("latecomer", "enable", libcupti=self.libcupti())
        self.assertEqual((r.done.returncode, r.done.stdout, r.kernels()), (7, "-1 0 0: 10\n", Counter({"before_kernel": 20})), r.done.stderr)

    def test_the_same_user_beside_the_first_interface(self) -> None:
        """There they take turns."""
        self.libcupti()
        r = self.record("latecomer", "subscribe", libcupti=stand.cupti(NEWEST))
        self.assertEqual((r.done.returncode, r.done.stdout), (7, "0 0 0: 10\n"), r.done.stderr)
        self.assertEqual(r.kernels(), Counter({"before_kernel": 20}))

    def test_kineto_is_in_the_process(self) -> None:
        """torch.profiler would be refused later, and does not ask twice: the first interface, which can be shared in turns."""
        program = stand.program("life", ("-rdynamic", "-Wl,--defsym=libkineto_init=main"))
        r = stand.Recording(self.folder, program, "return", libcupti=self.libcupti())
        self.check(r, 7, "return\n", {"life_kernel": 20})
        self.assertEqual(r.log.calls("cuptiSubscribe_v2"), [])
        self.assertIn("cuptiActivityEnable 10", r.log.calls("cuptiActivityEnable"))

    def test_kineto_beside_somebody_who_shares(self) -> None:
        """The first interface is refused to everybody then."""
        program = stand.program("life", ("-rdynamic", "-Wl,--defsym=libkineto_init=main"))
        r = stand.Recording(self.folder, program, "return", libcupti=self.libcupti(), env={"STANDIN_FIRST": "CUPTI for nightwatch:1"})
        self.check(r, 7, "return\n", {"life_kernel": 20})
        self.assertEqual(r.log.calls("cuptiSubscribe_v2"), ["cuptiSubscribe_v2 1"])


if __name__ == "__main__":
    unittest.main()
