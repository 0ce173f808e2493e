# SPDX-License-Identifier: Apache-2.0
"""include/holdup_annotate.h: compiles everywhere without a warning, finds the recorder once, tells it everything, else nothing."""
import collections
import ctypes
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from tests.markers import HERE, INCLUDE, PACKAGE, build, told
from tests.program import SANITIZED, skip_loudly

WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror"]
LANGUAGES = [("gcc", "c", ["c99", "c11", "c17", "gnu17"]), ("clang", "c", ["c99", "c11", "c17"]),
             ("g++", "c++", ["c++11", "c++14", "c++17", "c++20"]), ("clang++", "c++", ["c++11", "c++17", "c++20"])]

IN_C = """asked
step -1
phase 4
push_text attention
pop
name 1 encode
push encode
push encode
pop
pop
pop
name 2 saved
mark saved
mark encode
name 3 loss
counter loss 0.25
counter encode -1.5
count 1 32
count 2 5000000000
name 4 copy
start copy 1
end 1
start encode 2
end 2
step 41
step_end""".splitlines()
MORE_IN_CPP = ["step 42", "push_text outer", "push encode", "phase 1", "pop", "pop", "pop", "step_end"]


def load_tests(_loader, tests, _pattern):
    """Nothing of the program is in these: once is enough."""
    return unittest.TestSuite() if SANITIZED else tests


def program(compiler: str = "gcc", language: str = "c", *flags: str) -> pathlib.Path:
    return build("-".join(("program", compiler, *flags)), "-O2", *flags, "-x", language, HERE / "program.c", "-x", "none", compiler=compiler)


class TestHeader(unittest.TestCase):
    def test_compiles_without_a_warning(self):
        checked = 0
        for compiler, language, standards in LANGUAGES:
            if not shutil.which(compiler):
                skip_loudly(f"{compiler} is not installed: the header was not compiled with it")
                continue
            for standard in standards:
                for more in ([], ["-DHOLDUP_DISABLE"], ["-O0"]):
                    done = subprocess.run([compiler, f"-std={standard}", "-O2", *more, *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", "-x", language,
                                           HERE / "program.c"], capture_output=True, text=True, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), f"{compiler} {standard} {more}")
                    checked += 1
        self.assertGreater(checked, 0)

    def test_without_a_recorder_nothing_happens(self):
        for compiler, language in (("gcc", "c"), ("g++", "c++")):
            for flags in ((), ("-DHOLDUP_DISABLE",)):
                out, log = told([program(compiler, language, *flags)], preload=False)
                self.assertEqual(out, "errno 77 dlerror (null) listening 0 range 0\n")
                self.assertEqual(log, [])

    def test_a_recorder_is_told_everything_in_order(self):
        out, log = told([program()])
        self.assertEqual(out, "errno 77 dlerror (null) listening 1 range 1\n")
        self.assertEqual(log, IN_C)
        _, log = told([program("g++", "c++")])
        self.assertEqual(log, IN_C + MORE_IN_CPP)

    def test_a_recorder_that_does_not_listen_is_not_called(self):
        out, log = told([program()], {"MARKERS_DEAF": "1"})
        self.assertEqual((out, log), ("errno 77 dlerror (null) listening 0 range 0\n", ["asked"]))

    def test_another_version_or_an_older_table_is_left_alone(self):
        for env in ({"MARKERS_VERSION": "2"}, {"MARKERS_SIZE": "24"}):
            out, log = told([program()], env)
            self.assertEqual((out, log), ("errno 77 dlerror (null) listening 0 range 0\n", ["asked"]))

    def test_a_longer_table_is_a_later_recorder(self):
        _, log = told([program()], {"MARKERS_SIZE": "4096"})
        self.assertEqual(log, IN_C)

    def test_an_older_recorder_does_not_count(self):
        """It has all but the last member, and is told all but that."""
        _, log = told([program()], {"MARKERS_SIZE": "104"})
        self.assertEqual(log, [line for line in IN_C if not line.startswith("count ")])

    def test_names_without_room_are_passed_as_texts(self):
        _, log = told([program()], {"MARKERS_FULL": "1"})
        self.assertIn("push_text encode", log)
        self.assertIn("mark (none)", log)
        self.assertEqual(log.count("pop"), 4)

    def test_listening_may_change_while_the_program_runs(self):
        source = """#include "holdup_annotate.h"
                    extern void markers_listen(uint32_t) __attribute__((weak));
                    int main(void) { holdup_mark("a"); markers_listen(0); holdup_mark("b"); holdup_range_push("b"); holdup_range_pop();
                                     markers_listen(1); holdup_mark("c"); return holdup_listening() ? 0 : 1; }"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "change.c"
            path.write_text(source)
            _, log = told([build("change", "-O2", "-fPIE", "-pie", "-Wl,-z,dynamic-undefined-weak", path)])
        self.assertEqual(log, ["asked", "name 1 a", "mark a", "name 2 c", "mark c"])

    def test_disabled_leaves_nothing_in_the_object(self):
        for compiler, language in (("gcc", "c"), ("g++", "c++")):
            target = build(f"disabled-{compiler}.o", "-O2", "-DHOLDUP_DISABLE", "-c", "-x", language, HERE / "program.c", compiler=compiler)
            symbols = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
            self.assertNotRegex(symbols, "dlsym|holdup_private")

    def test_each_shared_object_asks_once(self):
        """Two files of C, one of C++ in the program, and a library: two questions."""
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            (here / "part.c").write_text('#include "holdup_annotate.h"\nvoid part(void);\nvoid part(void) { holdup_mark("part"); }\n')
            (here / "more.cpp").write_text('#include "holdup_annotate.h"\nextern "C" void more(void);\nvoid more() { holdup::range r("more"); }\n')
            (here / "lib.c").write_text('#include "holdup_annotate.h"\nvoid lib(void);\nvoid lib(void) { holdup_mark("lib"); }\n')
            (here / "main.c").write_text('#include "holdup_annotate.h"\nvoid part(void); void more(void); void lib(void);\n'
                                         'int main(void) { holdup_mark("main"); part(); more(); lib(); part(); return 0; }\n')
            library = build("libasks.so", "-O2", "-shared", "-fPIC", here / "lib.c")
            objects = [build(f"asks-{name}.o", "-O2", "-c", here / name, compiler=compiler)
                       for name, compiler in (("part.c", "gcc"), ("more.cpp", "g++"), ("main.c", "gcc"))]
            _, log = told([build("asks", *objects, library, f"-Wl,-rpath,{library.parent}", compiler="g++")])
        self.assertEqual(log.count("asked"), 2)
        self.assertEqual([line for line in log if not line.startswith(("name", "asked"))],
                         ["mark main", "mark part", "push_text more", "pop", "mark lib", "mark part"])

    def test_first_calls_of_many_threads(self):
        _, log = told([build("threads", "-O2", "-pthread", HERE / "threads.c")])
        kinds = collections.Counter(line.split()[0] for line in log)
        self.assertEqual((kinds["push"], kinds["pop"]), (1600, 1600))
        self.assertEqual(log[-2:], ["start elsewhere 1", "end 1"])
        self.assertEqual([line for line in log if line.startswith("name")], ["name 1 shared", "name 2 elsewhere"])

    def test_first_calls_do_not_race(self):
        """ThreadSanitizer sees the program and the recorder as one."""
        try:
            target = build("threads-tsan", "-O1", "-g", "-fsanitize=thread", "-pthread", "-rdynamic", HERE / "threads.c", HERE / "recorder.c",
                           compiler="clang" if shutil.which("clang") else "cc")
        except subprocess.CalledProcessError:
            skip_loudly("no ThreadSanitizer: the header's first calls were not watched for races")
            self.skipTest("no ThreadSanitizer")
        _, log = told([target], preload=False)
        self.assertEqual(log.count("push shared"), 1600)

    def test_the_python_package_knows_the_same_table_and_phases(self):
        source = """#define HOLDUP_DISABLE
                    #include "holdup_annotate.h"
                    #include <stdio.h>
                    #define O(m) printf(#m " %zu\\n", offsetof(holdup_annotate_api, m));
                    int main(void) { O(size) O(version) O(listening) O(name) O(push) O(push_text) O(pop) O(mark) O(step) O(step_end) O(counter)
                                     O(start) O(end) O(phase_push) O(count)
                                     printf("%s %u %zu\\n", HOLDUP_ANNOTATE_SYMBOL, HOLDUP_ANNOTATE_VERSION, sizeof(holdup_annotate_api));
                                     printf("%d %d %d %d %d %d %d\\n", HOLDUP_PHASE_DATA, HOLDUP_PHASE_PREPROCESSING, HOLDUP_PHASE_TRANSFER,
                                            HOLDUP_PHASE_FORWARD, HOLDUP_PHASE_BACKWARD, HOLDUP_PHASE_OPTIMIZER, HOLDUP_PHASE_CHECKPOINT);
                                     return 0; }"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.c"
            path.write_text(source)
            out, _ = told([build("table", path)], preload=False)
        sys.path.insert(0, str(PACKAGE))
        try:
            from holdup import _hub, _recorder
        finally:
            sys.path.remove(str(PACKAGE))
        lines = out.splitlines()
        self.assertEqual(lines[:-2], [f"{name} {getattr(_recorder.Api, name).offset}" for name, *_ in _recorder.Api._fields_])
        self.assertEqual(lines[-2], f"{_recorder.SYMBOL} {_recorder.VERSION} {ctypes.sizeof(_recorder.Api)}")
        self.assertEqual(lines[-1], "1 2 3 4 5 6 7")
        self.assertEqual(_hub.PHASES, ("data", "preprocessing", "transfer", "forward", "backward", "optimizer", "checkpoint"))


if __name__ == "__main__":
    unittest.main()
