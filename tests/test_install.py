# SPDX-License-Identifier: Apache-2.0
"""What is put into place is the same by both ways, finds its parts wherever it is, and goes again; one version; tools that are missing are named."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from tests.program import EXE, ROOT, SANITIZED, VERSION, skip_loudly

BUILD = pathlib.Path(EXE).parent
RUN = ROOT / "examples/training/traces/slow_loader"


def do(*words: Any, status: int = 0, **how: Any) -> str:
    """Standard output and error together."""
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300, cwd=how.pop("cwd", ROOT), **how)
    assert done.returncode == status, f"{words}: exit {done.returncode}: {done.stdout}"
    return done.stdout


def content(folder: pathlib.Path) -> dict[str, tuple[int, bytes]]:
    return {str(p.relative_to(folder)): (p.stat().st_mode & 0o777, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
@unittest.skipUnless((BUILD / "build.ninja").exists() and shutil.which("meson"), "the program under test is in no build of meson")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.said = do("make", "--no-print-directory", "install", f"BUILD={os.path.relpath(BUILD, ROOT)}", f"DESTDIR={cls.folder / 'make'}", "PREFIX=/usr/local")
        do("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.folder / "meson")
        cls.place = cls.folder / "make/usr/local"

    def test_both_ways_lay_out_the_same(self) -> None:
        ours, theirs = content(self.folder / "make"), content(self.folder / "meson")
        self.assertEqual(ours.keys(), theirs.keys())
        self.assertEqual({p: mode for p, (mode, _) in ours.items()}, {p: mode for p, (mode, _) in theirs.items()})
        self.assertEqual([p for p in ours if ours[p][1] != theirs[p][1]], [])
        for file in ("bin/holdup", "lib/holdup/libholdup-inject.so", "lib/holdup/python/holdup/__init__.py", "include/holdup_annotate.h", "share/holdup/report.schema.json",
                     "share/man/man1/holdup.1", "share/man/man1/holdup-report.1", "share/man/man1/holdup-print-env.1", "share/bash-completion/completions/holdup",
                     "share/zsh/site-functions/_holdup", "share/fish/vendor_completions.d/holdup.fish", "share/holdup/prometheus/holdup.rules.yml", "share/holdup/grafana/holdup-fleet.json",
                     "share/holdup/kubernetes/daemonset.yaml", "lib/systemd/system/holdup-monitor.service", "share/pkgconfig/holdup.pc",
                     f"share/holdup/modulefiles/holdup/{VERSION}", f"share/holdup/modulefiles/holdup/{VERSION}.lua", "share/doc/holdup/README.md", "share/doc/holdup/docs/formats/chrome.md"):
            self.assertIn("usr/local/" + file, ours)
        self.assertEqual(set(re.findall(r"^/.*", self.said, re.M)), {str(self.folder / "make" / p) for p in ours})

    def test_manual_and_completions_are_those_of_the_program(self) -> None:
        for words, file in ((["--man"], "man/man1/holdup.1"), (["--man", "report"], "man/man1/holdup-report.1"),
                            (["--completion", "bash"], "bash-completion/completions/holdup"), (["--completion", "zsh"], "zsh/site-functions/_holdup")):
            self.assertEqual(do(self.place / "bin/holdup", "help", *words), (self.place / "share" / file).read_text())

    def environment(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if k not in ("HOLDUP_LIBRARY", "HOLDUP_SESSION", "LD_PRELOAD", "PYTHONPATH")}

    def test_it_finds_its_parts(self) -> None:
        command = do(self.place / "bin/holdup", "run", "--print-command", "--", "true", env=self.environment())
        self.assertIn(f"LD_PRELOAD={self.place}/lib/holdup/libholdup-inject.so", command)
        self.assertIn(f"PYTHONPATH={self.place}/lib/holdup/python", command)
        trace = self.folder / "x.pftrace"
        do(self.place / "bin/holdup", "run", "-q", "-o", trace, "--", sys.executable, "-c", "import holdup\nwith holdup.annotate('here'): pass", env=self.environment(), cwd=self.folder)
        self.assertIn("here", do(self.place / "bin/holdup", "query", trace, "select name from slice", "--csv"))

    def test_it_works_where_it_is_moved_to(self) -> None:
        moved = self.folder / "moved"
        shutil.copytree(self.place, moved)
        self.assertEqual(do(moved / "bin/holdup", "--version").splitlines()[0], f"holdup {VERSION}")
        link = self.folder / "holdup"
        link.symlink_to(moved / "bin/holdup")
        self.assertIn(f"{moved}/lib/holdup/libholdup-inject.so", do(link, "run", "--print-command", "--", "true", env=self.environment()))

    def test_help_names_the_pages_that_were_installed(self) -> None:
        [index] = re.findall(r"^pages\n  (/.*)$", do(self.place / "bin/holdup", "help"), re.M)
        self.assertEqual(index, str(self.place / "share/doc/holdup/docs/index.md"))
        self.assertEqual(pathlib.Path(index).read_bytes(), (ROOT / "docs/index.md").read_bytes())
        public = {p for p in content(self.place / "share/doc/holdup")}
        self.assertEqual(public, {str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*") if p.is_file()} | {"README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"})

    def test_a_program_finds_the_header_by_pkg_config(self) -> None:
        if not shutil.which("pkg-config"):
            skip_loudly("pkg-config is not installed: holdup.pc was not tried")
            return
        env = {**os.environ, "PKG_CONFIG_PATH": str(self.place / "share/pkgconfig")}
        self.assertEqual(do("pkg-config", "--modversion", "holdup", env=env), VERSION + "\n")
        do("pkg-config", "--validate", "holdup", env=env)
        source = self.folder / "marked.c"
        source.write_text('#include <holdup_annotate.h>\nint main(void) { holdup_range_push("one"); holdup_range_pop(); return 0; }\n')
        do("sh", "-c", 'cc $(pkg-config --cflags holdup) -o "$1" "$2" $(pkg-config --libs holdup)', "sh", self.folder / "marked", source, env=env)
        trace = self.folder / "marked.pftrace"
        do(self.place / "bin/holdup", "run", "-q", "-o", trace, self.folder / "marked", env=self.environment(), cwd=self.folder)
        self.assertIn("one", do(self.place / "bin/holdup", "query", trace, "select name from slice", "--csv"))

    def loaded(self, said: str, unset: str) -> None:
        """What a module tool would have a shell do, done by one."""
        out = do("bash", "-c", said + '\ncommand -v holdup; echo "$CPATH"; echo "$PKG_CONFIG_PATH"', env={"PATH": os.environ["PATH"]})
        self.assertEqual(out.splitlines()[-3:], [str(self.place / "bin/holdup"), str(self.place / "include"), str(self.place / "share/pkgconfig")], unset)

    def test_the_module_loads_in_environment_modules(self) -> None:
        tool = next((p for p in ("/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/lib/aarch64-linux-gnu/modulecmd.tcl") if os.path.exists(p)), shutil.which("modulecmd.tcl"))
        if not tool:
            skip_loudly("Environment Modules is not installed: its module file was not tried")
            return
        env = {"PATH": os.environ["PATH"], "MODULEPATH": str(self.place / "share/holdup/modulefiles")}
        self.loaded(do("tclsh", tool, "sh", "load", f"holdup/{VERSION}", env=env), "modulecmd.tcl")
        self.assertIn(f"holdup {VERSION}: what is holding up", do("tclsh", tool, "sh", "help", f"holdup/{VERSION}", env=env))

    def test_the_module_loads_in_lmod(self) -> None:
        tool = next((p for p in ("/usr/share/lmod/lmod/libexec/lmod", os.environ.get("LMOD_CMD", "")) if p and os.path.exists(p)), None)
        if not tool:
            skip_loudly("Lmod is not installed: its module file was not tried")
            return
        env = {"PATH": os.environ["PATH"], "MODULEPATH": str(self.place / "share/holdup/modulefiles")}
        self.loaded(do(tool, "bash", "load", f"holdup/{VERSION}", env=env), "lmod")

    def test_processes_of_mpi_find_their_module(self) -> None:
        if not shutil.which("mpirun") or not (self.place / "lib/holdup/libholdup-mpi.so").exists():
            skip_loudly("Open MPI is not installed: the installed module was not tried")
            return
        env = {**self.environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        said = do("mpirun", "-n", 2, self.place / "bin/holdup", "report", RUN, "-v", "overview", env=env)
        self.assertNotIn("one process does all the work", said)
        self.assertIn("2 ranks", said)

    def test_uninstall_leaves_nothing(self) -> None:
        place = self.folder / "gone"
        do("make", "--no-print-directory", "install", f"BUILD={os.path.relpath(BUILD, ROOT)}", f"PREFIX={place}")
        (place / "lib/other").mkdir(parents=True)
        (place / "lib/other/file").write_text("")
        (place / "share/man/man1/holdupper.1").write_text("")
        (place / "lib/holdup/python/holdup/__pycache__").mkdir()
        (place / "lib/holdup/python/holdup/__pycache__/x.pyc").write_text("")
        do("make", "--no-print-directory", "uninstall", f"PREFIX={place}")
        self.assertEqual(sorted(content(place)), ["lib/other/file", "share/man/man1/holdupper.1"])
        self.assertFalse((place / "lib/holdup").exists())

    def test_a_relative_prefix_is_refused(self) -> None:
        self.assertIn("must be an absolute path", do("scripts/install", BUILD, "relative", status=2))


class OneVersion(unittest.TestCase):
    """python/holdup/VERSION; the build, the package and the archives read it."""

    def test_copies_are_equal(self) -> None:
        self.assertEqual(do(EXE, "--version").splitlines()[0], f"holdup {VERSION}")
        self.assertEqual(do(sys.executable, "-c", "import holdup; print(holdup.__version__)", env={**os.environ, "PYTHONPATH": str(ROOT / "python")}), f"{VERSION}\n")
        self.assertIn(f"\n## {VERSION}\n", (ROOT / "CHANGELOG.md").read_text())

    def test_nobody_else_has_one(self) -> None:
        allowed = {"CHANGELOG.md", "docs/performance.md",      # the last: what was measured
                   "packaging/spack/package.py", "docs/install.md"}      # held together by tests/test_recipes.py
        files = do("git", "ls-files", "*.py", "*.c", "*.h", "*.md", "*.toml", "*.build", "*.js", "*.json", "scripts", "Makefile").split()
        number = re.compile(r"(?<![\d.])" + re.escape(VERSION) + r"(?![\d.])")
        found = {f for f in files if not f.startswith("tests/page/") and (ROOT / f).is_file() and number.search((ROOT / f).read_text(errors="replace"))}
        self.assertLessEqual(found, allowed)


class Fuzzing(unittest.TestCase):
    """Clang without its runtime is named before anything is built."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        clang = self.folder / "clang"
        clang.write_text("#!/bin/sh\ncase $* in\n--version) echo 'clang version 19.1.0' ;;\n-dumpversion) echo 19.1.0 ;;\n"
                         "-print-runtime-dir) echo /opt/llvm/lib/clang/19/lib/linux ;;\n*) echo 'ld: cannot find libclang_rt.fuzzer.a' >&2; exit 1 ;;\nesac\n")
        clang.chmod(0o755)
        self.env = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}

    def test_says_what_is_missing_before_it_builds(self) -> None:
        said = do("scripts/fuzz", status=1, env=self.env)
        self.assertIn("/opt/llvm/lib/clang/19/lib/linux", said)
        self.assertIn("libclang-rt-19-dev", said)
        self.assertIn("cannot find libclang_rt.fuzzer.a", said)

    def test_setup_wants_the_runtime_of_that_clang(self) -> None:
        if not shutil.which("dpkg-query"):
            skip_loudly("no Debian: what scripts/setup would install was not asked")
            return
        self.assertIn("libclang-rt-19-dev", do("scripts/setup", "--dry-run", "fuzz", env=self.env))


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class Browser(unittest.TestCase):
    """The Chromium without windows, which costs a third, or the other one: where that is installed, or Debian has nothing else."""

    def asked(self, installed: str, known: bool) -> set[str]:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for tool, line in {"dpkg-query": f'[ "$3" = "{installed}" ] && echo install ok installed', "id": "echo 0", "tee": "cat >/dev/null", "chmod": "",
                               "apt-cache": "exit 0" if known else "exit 100", "apt-get": f'echo "$@" >>{folder}/asked'}.items():
                (folder / tool).write_text(f"#!/bin/sh\n{line}\n")
                (folder / tool).chmod(0o755)
            do("scripts/setup", "test", env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            return {word for word in (folder / "asked").read_text().split() if word.startswith("chromium")}

    def test_one_of_the_two(self) -> None:
        self.assertEqual(self.asked("nothing", known=True), {"chromium-headless-shell"})
        self.assertEqual(self.asked("nothing", known=False), {"chromium"})
        self.assertEqual(self.asked("chromium", known=True), set())
        self.assertEqual(self.asked("chromium-headless-shell", known=True), set())


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class WithoutRoot(unittest.TestCase):
    """`make demo` where nobody may install packages: what is there is used, or what is missing is named, with both ways out, and no half of a build is left."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-no-root-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for tool in ("sh", "make", "cat", "sed", "tr", "dirname", "grep", "test", "rm"):
            (self.folder / tool).symlink_to(shutil.which(tool))
        self.tool("id", "echo 1000")
        self.tool("dpkg-query", "exit 1")  # nothing is installed as a package

    def tool(self, name: str, line: str) -> None:
        (self.folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.folder / name).chmod(0o755)

    def demo(self, status: int) -> str:
        return do("make", "--no-print-directory", "demo", f"BUILD={self.folder}/build", status=status, env={"PATH": str(self.folder)})

    def test_what_is_missing_and_both_ways_out(self) -> None:
        said = self.demo(2)
        for words in ("only root can install packages", "the build does not find: cc meson ninja pkg-config\n", "apt-get install gcc libc6-dev", "the wheel and the archives", "docs/install.md"):
            self.assertIn(words, said)
        self.assertNotIn("installing gcc", said)
        self.assertFalse((self.folder / "build").exists())

    def test_a_library_that_is_missing(self) -> None:
        for tool in ("cc", "meson", "ninja"):
            self.tool(tool, "exit 1")
        self.tool("pkg-config", "[ $2 != gnutls ]")
        self.assertIn("the build does not find: gnutls.pc\n", self.demo(2))

    def test_no_debian(self) -> None:
        (self.folder / "dpkg-query").unlink()
        said = self.demo(2)
        for words in ("this is no Debian system", "the build does not find: cc meson ninja pkg-config\n", "please install what these Debian packages hold: gcc libc6-dev", "docs/install.md"):
            self.assertIn(words, said)

    def test_what_came_otherwise_is_used(self) -> None:
        for tool in ("cc", "ninja", "pkg-config"):
            self.tool(tool, "exit 0")
        self.tool("meson", 'echo "meson was called: $*"; exit 1')
        self.assertIn(f"meson was called: setup {self.folder}/build", self.demo(2))


if __name__ == "__main__":
    unittest.main()
