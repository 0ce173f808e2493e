# SPDX-License-Identifier: Apache-2.0
"""What `make dist` packs: the same bytes from the same contents, wheels that pip takes, parts that are named; scripts/dist-check uses the real ones."""
import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
import unittest.mock
import zipfile

from tests.program import EXE, ROOT, SANITIZED, VERSION, skip_loudly

sys.path.insert(0, str(ROOT / "scripts" / "dist"))
import archives  # noqa: E402
import backend  # noqa: E402
import contents  # noqa: E402
import source  # noqa: E402
from libraries import LIBRARIES, Sources  # noqa: E402
from targets import TARGETS  # noqa: E402

WHEN = 1_700_000_000


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class Packed(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-dist-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def tree(self, name: str, backwards: bool = False) -> pathlib.Path:
        """A small tree; made in either order, with times of its own."""
        tree = self.folder / name
        rows = [("bin/holdup", "#!/bin/sh\necho holdup 9.9 \"$@\"\n", 0o755), ("lib/holdup/libholdup-inject.so", "library", 0o600), ("share/man/man1/holdup.1", "page", 0o644),
                *((f"share/{part}/file", part, 0o664) for part in ("bash-completion", "zsh", "fish", "holdup", "doc/holdup", "doc/holdup/licences"))]
        for path, text, mode in reversed(rows) if backwards else rows:
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(mode)
            os.utime(file, (len(text) + backwards, 5))
        return tree

    def wheel(self, tree: pathlib.Path, folder: str) -> pathlib.Path:
        out = self.folder / folder / f"holdup-9.9-py3-none-{TARGETS['linux-x86_64'].wheel_tag}.whl"
        out.parent.mkdir()
        wheel = archives.Wheel(out, "holdup", "9.9", WHEN)
        contents.wheel(wheel, ROOT, tree, "9.9", TARGETS["linux-x86_64"].wheel_tag)
        wheel.close()
        return out

    def test_an_archive_depends_on_its_contents_alone(self) -> None:
        for name, backwards in (("a", False), ("b", True)):
            (self.folder / f"out-{name}").mkdir()
            archives.pack(archives.files(self.tree(name, backwards)), self.folder / f"out-{name}" / "holdup-9.9-linux-x86_64.tar.gz", WHEN)
        first, second = ((self.folder / f"out-{name}" / "holdup-9.9-linux-x86_64.tar.gz").read_bytes() for name in "ab")
        self.assertEqual(first, second)
        with tarfile.open(fileobj=io.BytesIO(first)) as tar:
            rows = tar.getmembers()
        self.assertEqual([row.name for row in rows], sorted(row.name for row in rows))
        self.assertEqual({row.name.split("/")[0] for row in rows}, {"holdup-9.9-linux-x86_64"})
        self.assertEqual({(row.uid, row.gid, row.uname, row.mtime) for row in rows}, {(0, 0, "", WHEN)})
        self.assertEqual({row.name.split("/", 1)[1]: row.mode for row in rows if row.mode != 0o644}, {"bin/holdup": 0o755})

    def test_a_wheel_is_the_same_and_its_record_true(self) -> None:
        first, second = self.wheel(self.tree("a"), "first"), self.wheel(self.tree("b", True), "second")
        self.assertEqual(first.read_bytes(), second.read_bytes())
        with zipfile.ZipFile(first) as wheel:
            names = wheel.namelist()
            [record] = [name for name in names if name.endswith(".dist-info/RECORD")]
            rows = list(csv.reader(wheel.read(record).decode().splitlines()))
            self.assertEqual(sorted(row[0] for row in rows), sorted(names))
            self.assertEqual(len(names), len(set(names)))
            for name, digest, size in rows:
                if name != record:
                    text = wheel.read(name)
                    self.assertEqual((digest, size), ("sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode(), str(len(text))), name)
            self.assertIn("Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-manylinux2014_x86_64\n", wheel.read("holdup-9.9.dist-info/WHEEL").decode())

    def test_pip_installs_it(self) -> None:
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode or os.uname().machine != "x86_64":
            skip_loudly("no pip here, or another processor: the wheel was not installed")
            return
        place = self.folder / "a target"
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--root-user-action=ignore",
                               "--target", place, self.wheel(self.tree("a"), "out")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((place / "libexec/holdup/libholdup-inject.so").read_text(), "library")
        for words in ([place / "bin/holdup"], [sys.executable, "-m", "holdup"]):
            said = subprocess.run([*words, "a word"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(place)})
            self.assertEqual((said.stdout, said.stderr), ("holdup 9.9 a word\n", ""))

    def test_checksums_are_those_of_sha256sum(self) -> None:
        self.wheel(self.tree("a"), "out")
        archives.checksums(self.folder / "out")
        subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=self.folder / "out", check=True)


APT = """#!/bin/sh
case "$0 $*" in
*apt-cache*) printf ' libzstd | %s | http://deb.debian.org/debian-security bookworm-security/main Sources\\n' 1.5.4-5+deb12u9 1.5.4-5+deb12u10 1.5.4-5 ;;
*) version=${*##*=}
   echo dsc > "libzstd_$version.dsc"
   [ "$version" = "$SERVED" ] && echo tar > libzstd_1.5.4.orig.tar.xz ;;
esac
"""


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class Fetched(unittest.TestCase):
    """A mirror whose lists are newer than its files."""

    def fetch(self, served: str) -> tuple[pathlib.Path, str]:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-dist-"))
        self.addCleanup(shutil.rmtree, folder)
        for tool in ("apt-get", "apt-cache"):
            (folder / "bin" / tool).parent.mkdir(exist_ok=True)
            (folder / "bin" / tool).write_text(APT)
            (folder / "bin" / tool).chmod(0o755)
        (folder / "sources").mkdir()
        [zstd] = [library for library in LIBRARIES if library.source == "libzstd"]
        told = io.StringIO()
        with unittest.mock.patch.dict(os.environ, PATH=f"{folder}/bin:{os.environ['PATH']}", SERVED=served), contextlib.redirect_stderr(told):
            Sources(folder).one(zstd, folder / "sources", folder / "log")
        return folder / "sources", told.getvalue()

    def test_the_newest_that_is_there(self) -> None:
        sources, told = self.fetch("1.5.4-5+deb12u10")
        self.assertEqual(sorted(os.listdir(sources)), ["libzstd_1.5.4-5+deb12u10.dsc", "libzstd_1.5.4.orig.tar.xz"])
        self.assertEqual(told, "")

    def test_the_one_before_is_told(self) -> None:
        sources, told = self.fetch("1.5.4-5")
        self.assertEqual(sorted(os.listdir(sources)), ["libzstd_1.5.4-5.dsc", "libzstd_1.5.4.orig.tar.xz"])
        self.assertEqual([line.split()[5] for line in told.splitlines()], ["1.5.4-5+deb12u10", "1.5.4-5+deb12u9"])

    def test_none_is_an_error(self) -> None:
        with self.assertRaisesRegex(SystemExit, "no version of zstd could be fetched: 1.5.4-5, "):
            self.fetch("1.5.5")


@unittest.skipIf(SANITIZED, "says nothing more about holdup")
class Named(unittest.TestCase):
    """Every library that the program opens elsewhere is in the program for any Linux, and in what that says of itself."""

    def build(self, target: str) -> types.SimpleNamespace:
        return types.SimpleNamespace(target=TARGETS[target], libraries=lambda: LIBRARIES, sources=types.SimpleNamespace(versions={row.source: f"1.{i}+dfsg-1" for i, row in enumerate(LIBRARIES)}))

    def test_all_of_late_are_built(self) -> None:
        text = (ROOT / "meson.build").read_text()
        table = text[text.index("foreach key, names"):text.index("]}", text.index("foreach key, names"))]
        packages = {row.split("'")[1] for row in table.split("[")[1:]}
        self.assertEqual(packages, {row.pkgconfig for row in LIBRARIES if row.pkgconfig})

    def test_bill_and_notice(self) -> None:
        for target, more in (("linux-x86_64", set()), ("linux-musl-aarch64", {"musl (of Zig)"})):
            bill = json.loads(contents.bill(self.build(target), "9.9", WHEN))
            names = {row.name for row in LIBRARIES} | {"compiler-rt (of Zig)"} | more
            self.assertEqual({row["name"] for row in bill["components"]}, names)
            self.assertEqual(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z")
            self.assertEqual(set(bill["dependencies"][0]["dependsOn"]), {row["bom-ref"] for row in bill["components"]})
            self.assertIn("pkg:deb/debian/gnutls28@1.9%2Bdfsg-1?arch=source", {row["purl"] for row in bill["components"]})
            notice = contents.notice(self.build(target), "9.9")
            for row in bill["components"]:
                self.assertRegex(notice, rf"(?m)^  {re.escape(row['name'])} \S+ +{re.escape(row['licenses'][0]['expression'])}$")

    def test_the_page_names_what_there_is(self) -> None:
        page = (ROOT / "docs/install.md").read_text()
        for name in TARGETS:
            self.assertIn(f"`{name}`", page)

    def test_python_starts_the_program_of_these_sources(self) -> None:
        if pathlib.Path(EXE).resolve() != (ROOT / "build/holdup").resolve():
            skip_loudly("the program under test is not build/holdup: python -m holdup was not asked")
            return
        said = subprocess.run([sys.executable, "-m", "holdup", "--version"], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(said.stdout.splitlines()[0], f"holdup {VERSION}")

    def test_a_package_without_a_program_says_so(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(ROOT / "python/holdup", pathlib.Path(folder) / "holdup", ignore=shutil.ignore_patterns("__pycache__"))
            done = subprocess.run([sys.executable, "-m", "holdup"], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": folder})
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the program does not lie beside this package", done.stderr)


# As meson is called: `install` lays out a small tree, and all calls are kept.
MESON = """#!/bin/sh
echo "$*" >>"$0.calls"
[ "$1" = "$MESON_FAILS" ] && { echo "Dependency libisal not found"; exit 1; }
[ "$1" = install ] || exit 0
while [ $# -gt 1 ]; do [ "$1" = --destdir ] && to=$2/usr; shift; done
mkdir -p "$to/bin" "$to/lib/holdup" "$to/share/man/man1"
echo program >"$to/bin/holdup"; chmod 755 "$to/bin/holdup"
echo library >"$to/lib/holdup/libholdup-inject.so"; echo page >"$to/share/man/man1/holdup.1"
"""


@unittest.skipIf(SANITIZED or not source.is_clone(), "says nothing more about holdup")
class Source(unittest.TestCase):
    """The tarball of the source, and what pip makes of it."""

    def setUp(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-source-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_it_is_the_clone_and_what_git_says(self) -> None:
        with tarfile.open(source.pack(self.folder)) as tar:
            names = {row.name.split("/", 1)[1]: row for row in tar.getmembers()}
            commit, when = tar.extractfile(names["COMMIT"]).read().decode().splitlines()
            about = tar.extractfile(names["PKG-INFO"]).read().decode()
        tracked = {name for name in source.git("ls-files", "-z").split("\0") if (ROOT / name).is_file()}
        self.assertEqual(set(names), tracked | {"COMMIT", "PKG-INFO"})
        self.assertEqual({row.mtime for row in names.values()}, {int(when)})
        self.assertIn(commit.split()[0], source.git("rev-parse", "HEAD"))
        self.assertTrue(about.startswith(f"Metadata-Version: 2.1\nName: holdup\nVersion: {VERSION}\n"))
        self.assertEqual(names["scripts/setup"].mode, 0o755)

    def test_the_tarball_makes_the_same_tarball(self) -> None:
        first = source.pack(self.folder)
        with tarfile.open(first) as tar:
            tar.extractall(self.folder)
        (self.folder / "again").mkdir()
        subprocess.run([sys.executable, "-B", "-c", "import backend; backend.build_sdist('again')"], cwd=self.folder, check=True,
                       env={**os.environ, "PYTHONPATH": str(self.folder / f"holdup-{VERSION}" / "scripts/dist")})
        self.assertEqual((self.folder / "again" / first.name).read_bytes(), first.read_bytes())

    def build(self, fails: str = "") -> tuple[list[str], str]:
        """What meson was told, and the wheel's name or the error."""
        meson = self.folder / "meson"
        meson.write_text(MESON)
        meson.chmod(0o755)
        with unittest.mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}", "MESON_FAILS": fails}):
            try:
                said = backend.build_wheel(str(self.folder), {"setup-args": "-Db_lto=false"})
            except SystemExit as error:
                said = str(error)
        return (self.folder / "meson.calls").read_text().splitlines(), said

    def test_pip_compiles_a_wheel_for_this_system(self) -> None:
        calls, name = self.build()
        self.assertEqual([call.split()[0] for call in calls], ["setup", "compile", "install"])
        self.assertIn(f" {ROOT} ", calls[0])
        self.assertTrue(calls[0].endswith("-Db_lto=true -Db_lto=false"), calls[0])
        self.assertRegex(name, rf"^holdup-{re.escape(VERSION)}-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(self.folder / name) as wheel:
            self.assertEqual(wheel.read(f"holdup-{VERSION}.data/scripts/holdup"), b"program\n")
            self.assertEqual(wheel.read(f"holdup-{VERSION}.data/data/libexec/holdup/libholdup-inject.so"), b"library\n")
            info = backend.prepare_metadata_for_build_wheel(str(self.folder))
            for part in ("METADATA", "WHEEL"):
                self.assertEqual((self.folder / info / part).read_bytes(), wheel.read(f"{info}/{part}"))
            self.assertIn(f"Tag: py3-none-{backend.wheel_tag()}\n", wheel.read(f"holdup-{VERSION}.dist-info/WHEEL").decode())
            self.assertIn(f"holdup-{VERSION}.dist-info/licenses/LICENSE", wheel.namelist())

    def test_a_missing_header_names_both_ways_out(self) -> None:
        calls, said = self.build(fails="setup")
        self.assertEqual(len(calls), 1)
        for word in ("`meson setup` failed", "scripts/setup", "docs/install.md"):
            self.assertIn(word, said)


if __name__ == "__main__":
    unittest.main()
