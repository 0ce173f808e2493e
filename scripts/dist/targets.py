# SPDX-License-Identifier: Apache-2.0
"""The systems that `make dist` makes a program for."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    name: str       # in the names of files
    zig: str        # what the compiler calls it: with the oldest C library whose symbols it may use
    cpu: str
    libc: str       # "glibc", or "musl": all of it in one file, for systems that have no glibc
    wheel_tag: str  # what pip calls it

    @property
    def is_static(self) -> bool:
        return self.libc == "musl"

    @property
    def triplet(self) -> str:
        return f"{self.cpu}-linux-{'musl' if self.is_static else 'gnu'}"


TARGETS = {target.name: target for target in (
    Target("linux-x86_64", "x86_64-linux-gnu.2.17", "x86_64", "glibc", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    Target("linux-musl-x86_64", "x86_64-linux-musl", "x86_64", "musl", "musllinux_1_1_x86_64"),
    Target("linux-aarch64", "aarch64-linux-gnu.2.17", "aarch64", "glibc", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    Target("linux-musl-aarch64", "aarch64-linux-musl", "aarch64", "musl", "musllinux_1_1_aarch64"),
)}
