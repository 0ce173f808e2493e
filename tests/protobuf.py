# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers as an independent reader sees them: a few lines for the wire, and protoc for the last word."""
from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.program import skip_loudly

DATA = Path(__file__).parent / "data/export"


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Value and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of one message; varints and fixed64 as unsigned numbers."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            assert tag & 7 == 2, tag
            n, at = varint(data, at)
            assert at + n <= len(data)
            yield tag >> 3, data[at : at + n]
            at += n


def packed(data: bytes) -> list[int]:
    """A packed list of varints."""
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def protoc(proto: str, message: str, data: bytes) -> str | None:
    """The message as protoc prints it, which fails on what is no such message; None where there is no protoc."""
    if not shutil.which("protoc"):
        skip_loudly("protoc (Debian package protobuf-compiler) is not installed")
        return None
    done = subprocess.run(["protoc", f"--decode={message}", f"--proto_path={DATA}", proto], input=data, capture_output=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()
