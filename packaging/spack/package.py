# SPDX-License-Identifier: Apache-2.0
"""Spack: put this file into a repository of yours as packages/holdup/package.py.  holdup is published nowhere that a recipe could name: the
tarball that `make dist DIST=source` makes lies in the folder that spack is called from, or HOLDUP_TARBALLS names its folder.

    spack install --no-checksum holdup
"""
import os

from spack.package import *


class Holdup(MesonPackage):
    """Explains where the time of a GPU job goes, and what each fix would save; records jobs, watches nodes."""

    url = "file://" + os.environ.get("HOLDUP_TARBALLS", os.getcwd()) + "/holdup-0.2.0.tar.gz"

    license("Apache-2.0")

    version("0.2.0")

    variant("openmpi", default=False, description="One report of all processes of an mpirun, for Open MPI")
    variant("mpich", default=False, description="The same for MPICH and what has its ABI")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    # opened when a command needs them, by the names that the build finds
    depends_on("isa-l")
    depends_on("zstd")
    depends_on("sqlite@3.36:")
    depends_on("libmicrohttpd")
    depends_on("nghttp2")
    depends_on("gnutls")
    depends_on("libyaml")
    depends_on("libxcrypt")
    depends_on("ncurses")
    depends_on("openmpi", when="+openmpi")
    depends_on("mpich", when="+mpich")

    conflicts("platform=darwin", msg="it reads /proc and needs Linux")
    conflicts("platform=windows", msg="it reads /proc and needs Linux")

    def meson_args(self):
        return ["-Db_lto=true"]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_version(self):
        Executable(self.prefix.bin.holdup)("--version")
