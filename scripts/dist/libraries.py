# SPDX-License-Identifier: Apache-2.0
"""The libraries that a program for any Linux contains: Debian's sources, with Debian's repairs, compiled for the target."""
from __future__ import annotations

import functools
import hashlib
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from targets import Target
from toolchain import FLAGS, Toolchain, run, succeeds


@dataclass(frozen=True)
class Library:
    source: str                 # Debian's name of the source package
    name: str                   # its own
    licence: str                # as SPDX writes it, of the parts that are linked in
    pkgconfig: str | None       # what it tells pkg-config, where the program asks for it
    configure: tuple[str, ...] = ()
    recipe: str = "configure"   # or another function of Build
    make: tuple[str, ...] = ()
    folder: str = "."           # in which configure is
    flags: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()   # makefiles that Debian's sources lack, since what they would build is no free documentation


HWCAP = {"FP": 0, "ASIMD": 1, "AES": 3, "PMULL": 4, "SHA1": 5, "SHA2": 6, "CRC32": 7, "SVE": 22}

# In the order in which they need each other.
LIBRARIES = (
    Library("libisal", "ISA-L", "BSD-3-Clause", "libisal", recipe="isal"),
    Library("libzstd", "zstd", "BSD-3-Clause", "libzstd", recipe="zstd"),
    Library("sqlite3", "SQLite", "blessing", "sqlite3", recipe="sqlite",
            flags=("-DSQLITE_ENABLE_MATH_FUNCTIONS", "-DSQLITE_ENABLE_COLUMN_METADATA", "-DSQLITE_ENABLE_DBSTAT_VTAB",
                   "-DSQLITE_MAX_VARIABLE_NUMBER=250000", "-DSQLITE_THREADSAFE=1", "-DSQLITE_OMIT_LOAD_EXTENSION")),
    Library("libyaml", "libyaml", "MIT", "yaml-0.1", ("--disable-dependency-tracking",)),
    Library("libxcrypt", "libxcrypt", "LGPL-2.1-or-later", "libcrypt", ("--disable-werror", "--enable-obsolete-api=no", "--disable-failure-tokens",
            "--enable-hashes=strong,glibc")),
    Library("nghttp2", "nghttp2", "MIT", "libnghttp2", ("--enable-lib-only",)),
    Library("ncurses", "ncurses", "MIT-X11-distribute-modifications-variant", "ncursesw",
            ("--enable-widec", "--without-cxx", "--without-cxx-binding", "--without-ada", "--without-manpages", "--without-tests",
             "--without-progs", "--without-debug", "--without-shared", "--with-normal", "--enable-pc-files", "--with-pkg-config-libdir=/usr/lib/pkgconfig",
             "--with-terminfo-dirs=/etc/terminfo:/lib/terminfo:/usr/share/terminfo", "--with-default-terminfo-dir=/usr/share/terminfo",
             "--with-fallbacks=xterm-256color,xterm,screen-256color,screen,tmux-256color,linux,vt100", "--disable-stripping",
             "--enable-ext-colors", "--without-gpm", "--disable-db-install"), make=("libs",)),
    Library("gmp", "GMP", "LGPL-3.0-or-later OR GPL-2.0-or-later", None, ("--disable-assembly", "--disable-cxx"), removed=("doc/Makefile.in",)),
    Library("nettle", "Nettle", "LGPL-3.0-or-later OR GPL-2.0-or-later", None, ("--disable-documentation", "--disable-openssl", "--disable-assembler",
            "--disable-shared", "--libdir=/usr/lib")),
    Library("gnutls28", "GnuTLS", "LGPL-2.1-or-later", "gnutls",
            ("--with-included-libtasn1", "--with-included-unistring", "--without-p11-kit", "--without-idn", "--without-zlib", "--without-brotli",
             "--without-zstd", "--without-tpm", "--without-tpm2", "--disable-doc", "--disable-tools", "--disable-tests", "--disable-cxx",
             "--disable-nls", "--disable-libdane", "--disable-guile", "--disable-hardware-acceleration", "--disable-openssl-compatibility",
             "--disable-full-test-suite", "--disable-rpath", "--with-system-priority-file=/etc/gnutls/config")),
    Library("libmicrohttpd", "libmicrohttpd", "LGPL-2.1-or-later", "libmicrohttpd",
            ("--disable-doc", "--disable-examples", "--disable-curl", "--enable-https=yes", "--disable-nls"),
            flags=("-DAUTOINIT_FUNCS_INCLUDED=1",)),  # without its header of constructors it begins with its first server
)

# What unit tests are written with: in no program.
CMOCKA = Library("cmocka", "cmocka", "Apache-2.0", "cmocka", recipe="cmocka",
                 flags=tuple(f"-DHAVE_{name}=1" for name in ("MALLOC_H", "INTTYPES_H", "SIGNAL_H", "STDINT_H", "STRINGS_H", "TIME_H", "STRUCT_TIMESPEC", "CLOCK_REALTIME",
                                                            "GCC_THREAD_LOCAL_STORAGE", "SNPRINTF", "VSNPRINTF")))


def in_order(one: str, other: str) -> int:
    """Which of two versions of Debian is the newer one: 1, -1 or 0."""
    def holds(relation: str) -> bool:
        return subprocess.run(["dpkg", "--compare-versions", one, relation, other], check=False).returncode == 0
    return holds("gt") - holds("lt")


@dataclass
class Sources:
    """Debian's source packages, fetched by the list of this machine's own mirrors and checked by apt's signatures."""
    cache: pathlib.Path
    versions: dict[str, str] = field(default_factory=dict)

    def apt(self, tool: str, *words: str) -> list[str]:
        own = self.cache / "apt"
        return [tool, "-o", f"Dir::Etc::sourcelist={own}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={own}/lists",
                "-o", f"Dir::Cache={own}/cache", "-o", "APT::Sandbox::User=root", *words]

    def fetch(self, log: pathlib.Path) -> None:
        folder = self.cache / "sources"
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [library for library in (*LIBRARIES, CMOCKA) if not list(folder.glob(f"{library.source}_*.dsc"))]
        if wanted:
            print("dist: fetching the sources of " + ", ".join(library.name for library in wanted) + " from Debian ...", file=sys.stderr)
            self.lists(log)
        for library in wanted:
            self.one(library, folder, log)
        for library in (*LIBRARIES, CMOCKA):
            [dsc] = folder.glob(f"{library.source}_*.dsc")
            [self.versions[library.source]] = re.findall(r"^Version: (?:\d+:)?(\S+)", dsc.read_text(errors="replace"), re.M)

    def one(self, library: Library, folder: pathlib.Path, log: pathlib.Path) -> None:
        """The newest version whose files the mirror has: one may be listed whose files are gone."""
        rows = subprocess.run(self.apt("apt-cache", "madison", library.source), capture_output=True, text=True, check=True).stdout.splitlines()
        versions = {version for name, version, where in ([word.strip() for word in row.split("|")] for row in rows)
                    if name == library.source and where.endswith(" Sources")}
        partial = folder / "partial"
        for version in sorted(versions, key=functools.cmp_to_key(in_order), reverse=True):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            if succeeds(self.apt("apt-get", "source", "--download-only", "--only-source", f"{library.source}={version}"), log, cwd=partial):
                for file in sorted(partial.iterdir(), key=lambda path: path.suffix == ".dsc"):  # .dsc last: it says that the others are there
                    file.rename(folder / file.name)
                partial.rmdir()
                return
            print(f"dist: the mirror lists {library.name} {version} but does not serve all of its files ({log})", file=sys.stderr)
        sys.exit(f"dist: no version of {library.name} could be fetched: " + (", ".join(sorted(versions)) or f"Debian's lists have no source {library.source}"))

    def lists(self, log: pathlib.Path) -> None:
        own = self.cache / "apt"
        for folder in ("lists/partial", "cache/archives/partial"):
            (own / folder).mkdir(parents=True, exist_ok=True)
        rows = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(CREATED_BY)"],
                              capture_output=True, text=True, check=True).stdout.split()
        lines = sorted({f"deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {uri} {release} {component}\n"
                        for origin, uri, release, component, made_by in (row.split("|") for row in rows)
                        if origin == "Debian" and component == "main" and made_by == "Packages"})
        if not lines:
            sys.exit("dist: this machine's apt has no lists of Debian; run apt-get update, on a Debian machine")
        (own / "sources.list").write_text("".join(lines))
        run(self.apt("apt-get", "update"), log)

    def unpack(self, library: Library, place: pathlib.Path, log: pathlib.Path) -> None:
        [dsc] = (self.cache / "sources").glob(f"{library.source}_*.dsc")
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        run(["dpkg-source", "--no-check", "-x", str(dsc), str(place)], log)


class Build:
    """Builds the libraries of one target into a sysroot."""

    def __init__(self, toolchain: Toolchain, target: Target, sources: Sources) -> None:
        self.toolchain, self.target, self.sources = toolchain, target, sources
        self.home = toolchain.cache / target.name
        self.sysroot = self.home / "sysroot"
        self.log = self.home / "libraries.log"
        tools = toolchain.compilers(target)
        self.cc, self.ar = tools["cc"], tools["ar"]
        lib = self.sysroot / "usr" / "lib"
        # No part is C++, but configure tries it, and Zig's c++ would compile a C++ library for that.
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}, "SOURCE_DATE_EPOCH": "1", "ZERO_AR_DATE": "1",
            "CC": self.cc, "CXX": self.cc, "AR": self.ar, "RANLIB": tools["ranlib"], "STRIP": "true", "CC_FOR_BUILD": "gcc",
            "CPPFLAGS": f"-I{self.sysroot}/usr/include", "LDFLAGS": f"-L{lib}", "PKG_CONFIG_LIBDIR": f"{lib}/pkgconfig",
            "PKG_CONFIG_SYSROOT_DIR": str(self.sysroot), "PKG_CONFIG": "pkg-config --static"}

    def libraries(self) -> tuple[Library, ...]:
        return LIBRARIES

    def all(self) -> pathlib.Path:
        for library in self.libraries():
            self.one(library)
        self.mpi()
        return self.sysroot

    def one(self, library: Library) -> None:
        """Builds a library, unless this version of it was, in this way."""
        way = hashlib.sha256((repr(library) + inspect.getsource(getattr(type(self), library.recipe))).encode()).hexdigest()[:12]
        done = self.home / "done" / f"{library.source}_{self.sources.versions[library.source]}_{way}"
        if done.exists():
            return
        print(f"dist: {self.target.name}: building {library.name} {self.sources.versions[library.source]} ...", file=sys.stderr)
        place = self.home / "work" / library.source
        self.sources.unpack(library, place, self.log)
        self.environment["CFLAGS"] = " ".join([*FLAGS, f"-ffile-prefix-map={self.home}=.", *library.flags])
        getattr(self, library.recipe)(library, place)
        for file in self.sysroot.glob("usr/lib/*.la"):
            file.unlink()
        if library is not CMOCKA:
            self.licence(library, place)
        done.parent.mkdir(exist_ok=True)
        done.touch()
        shutil.rmtree(place)

    def licence(self, library: Library, place: pathlib.Path) -> None:
        """All that the sources say of their licence, as one file."""
        found = [path for pattern in ("debian/copyright", "COPYING*", "LICEN[CS]*", "doc/COPYING*") for path in sorted(place.glob(pattern)) if path.is_file()]
        if not found:
            sys.exit(f"dist: the sources of {library.name} have no licence")
        to = self.home / "licences" / library.source
        to.parent.mkdir(exist_ok=True)
        to.write_text("\n\n".join(path.read_text(errors="replace") for path in found))

    def mpi(self) -> None:
        """MPI's headers; its libraries are the cluster's, and the program opens them before what is built with these."""
        if self.target.is_static:
            return
        include, lib = self.sysroot / "usr" / "include", self.sysroot / "usr" / "lib"
        for package in ("ompi-c", "mpich"):
            flags = subprocess.run(["pkg-config", "--cflags-only-I", package], capture_output=True, text=True, check=True).stdout.split()
            [folder] = [path for path in (pathlib.Path(flag[2:]) for flag in flags) if (path / "mpi.h").exists()]
            shutil.copytree(folder, include / package, dirs_exist_ok=True)
            (lib / "pkgconfig" / f"{package}.pc").write_text(
                f"prefix=/usr\nName: {package}\nDescription: {package}\nVersion: 4\nLibs:\nCflags: -I${{prefix}}/include/{package}\n")

    def run(self, place: pathlib.Path, *command: str) -> None:
        run(list(command), self.log, cwd=place, env=self.environment)

    def configure(self, library: Library, place: pathlib.Path) -> None:
        for name in library.removed:
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text("all install install-data-am:\n")
        if not (place / "configure").exists():
            self.run(place, "autoreconf", "-fi")
        self.run(place, "./configure", "--prefix=/usr", "--libdir=/usr/lib", "--sysconfdir=/etc", f"--host={self.target.triplet}",
                 f"--build={os.uname().machine}-pc-linux-gnu", "--enable-static", "--disable-shared", *library.configure)
        self.run(place, "make", f"-j{os.cpu_count()}", *library.make)
        self.run(place, "make", f"DESTDIR={self.sysroot}", "install" if library.source != "ncurses" else "install.libs")

    def archive(self, name: str, objects: list[pathlib.Path]) -> None:
        lib = self.sysroot / "usr" / "lib"
        lib.mkdir(parents=True, exist_ok=True)
        (lib / name).unlink(missing_ok=True)
        self.run(self.home, self.ar, "rcsD", str(lib / name), *map(str, sorted(objects)))

    def package(self, library: Library, link: str, folder: str = "") -> None:
        """What pkg-config says of a library that has no install step of its own."""
        at = self.sysroot / "usr" / "lib" / "pkgconfig"
        at.mkdir(parents=True, exist_ok=True)
        version = re.split(r"[-+~]", self.sources.versions[library.source])[0]
        (at / f"{library.pkgconfig}.pc").write_text(
            f"prefix=/usr\nName: {library.name}\nDescription: {library.name}\nVersion: {version}\nLibs: -L${{prefix}}/lib {link}\nCflags: -I${{prefix}}/include{folder}\n")

    def headers(self, files: list[pathlib.Path], folder: str = ".") -> None:
        to = self.sysroot / "usr" / "include" / folder
        to.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, to)

    def compile(self, library: Library, place: pathlib.Path, files: list[pathlib.Path], flags: list[str]) -> list[pathlib.Path]:
        objects = [file.with_suffix(".o") for file in files]
        for file, out in zip(files, objects):
            self.run(place, self.cc, *self.environment["CFLAGS"].split(), *flags, "-c", str(file.relative_to(place)), "-o", str(out))
        return objects

    def isal(self, library: Library, place: pathlib.Path) -> None:
        """Of ISA-L, what reads and writes gzip: its own makefile builds for a target that it is told; its assembler for Arm is GNU's."""
        assembler, name, flags = "nasm", "CFLAGS_", self.environment["CFLAGS"]
        if self.target.cpu == "aarch64":
            assembler, name = "aarch64-linux-gnu-gcc -D__ASSEMBLY__", "CFLAGS_aarch64"
            # Its Adler-32 for NEON keeps two constants in a section whose entries a linker may move, which LLVM's does, and reads beyond the text.
            flags += " -Dadler32_neon=adler32_base"
            # a header of Linux that Zig does not have: bits of AT_HWCAP, part of the kernel's interface
            (place / "include" / "asm").mkdir()
            (place / "include" / "asm" / "hwcap.h").write_text("".join(f"#define HWCAP_{name} (1 << {bit})\n" for name, bit in HWCAP.items()))
        self.run(place, "make", "-f", "Makefile.unx", f"-j{os.cpu_count()}", "lib", "units=igzip crc", f"host_cpu={self.target.cpu}", f"CC={self.cc}",
                 f"AR={self.ar}", f"AS={assembler}", f"{name}={flags}", "D=NDEBUG", "STRIP=true")
        self.archive("libisal.a", [path for path in (place / "bin").glob("*.o")])
        self.headers([place / "include" / name for name in ("igzip_lib.h", "crc.h", "types.h")], "isa-l")
        self.package(library, "-lisal")

    def zstd(self, library: Library, place: pathlib.Path) -> None:
        lib = place / "lib"
        files = [path for part in ("common", "compress", "decompress") for path in (lib / part).glob("*.[cS]")]
        if self.target.cpu != "x86_64":
            files = [path for path in files if path.suffix == ".c"]
        self.archive("libzstd.a", self.compile(library, place, files, ["-DZSTD_MULTITHREAD", "-DXXH_NAMESPACE=ZSTD_", "-DZSTD_LEGACY_SUPPORT=0"]))
        self.headers([lib / "zstd.h", lib / "zstd_errors.h"])
        self.package(library, "-lzstd")

    def sqlite(self, library: Library, place: pathlib.Path) -> None:
        """One file is made of SQLite's sources by programs that run here; that one is compiled for the target."""
        here = {name: self.environment[name] for name in ("PATH", "HOME", "SOURCE_DATE_EPOCH") if name in self.environment}
        for command in (["./configure", "--disable-tcl", "--disable-shared"], ["make", "sqlite3.c"]):
            run(command, self.log, cwd=place, env={**here, "CC": "gcc"})
        self.archive("libsqlite3.a", self.compile(library, place, [place / "sqlite3.c"], list(library.flags)))
        self.headers([place / "sqlite3.h", place / "sqlite3ext.h"])
        self.package(library, "-lsqlite3")

    def cmocka(self, library: Library, place: pathlib.Path) -> None:
        self.archive("libcmocka.a", self.compile(library, place, [place / "src" / "cmocka.c"], [f"-I{place}/include"]))
        self.headers(list((place / "include").glob("cmocka*.h")))
        self.package(library, "-lcmocka")
