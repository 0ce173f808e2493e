# SPDX-License-Identifier: Apache-2.0
"""Archives whose bytes depend on their contents alone: sorted, of one time, owned by nobody."""
from __future__ import annotations

import base64
import gzip
import hashlib
import io
import pathlib
import tarfile
import time
import zipfile


def is_program(path: pathlib.Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def files(tree: pathlib.Path) -> list[tuple[str, pathlib.Path]]:
    """Each file below a folder and its name from there, in the order of the names."""
    return sorted((str(path.relative_to(tree)), path) for path in tree.rglob("*") if path.is_file())


def pack(rows: list[tuple[str, pathlib.Path | bytes]], out: pathlib.Path, when: int) -> None:
    """Files and their names, below one folder, called as the archive is."""
    top = out.name[:-len(".tar.gz")]
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, what in rows:
            data = what if isinstance(what, bytes) else what.read_bytes()
            row = tarfile.TarInfo(f"{top}/{name}")
            row.size, row.mtime, row.mode = len(data), when, 0o755 if isinstance(what, pathlib.Path) and is_program(what) else 0o644
            tar.addfile(row, io.BytesIO(data))
    with open(out, "wb") as file, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=when) as packed:
        packed.write(text.getvalue())


class Wheel:
    """A wheel being filled; close() writes its list of files."""

    def __init__(self, out: pathlib.Path, name: str, version: str, when: int) -> None:
        self.info, self.data = f"{name}-{version}.dist-info", f"{name}-{version}.data"
        self.zip = zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.when = time.gmtime(max(when, 315532800))[:6]  # zip begins in 1980
        self.record: list[str] = []

    def add(self, name: str, text: bytes, executable: bool = False) -> None:
        row = zipfile.ZipInfo(name, self.when)
        row.compress_type, row.create_system = zipfile.ZIP_DEFLATED, 3
        row.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(row, text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(text)}\n")

    def tree(self, folder: pathlib.Path, at: str) -> None:
        for name, path in files(folder):
            self.add(f"{at}/{name}", path.read_bytes(), is_program(path))

    def close(self) -> None:
        name = f"{self.info}/RECORD"
        row = zipfile.ZipInfo(name, self.when)
        row.compress_type, row.create_system, row.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
        self.zip.writestr(row, "".join(self.record) + f"{name},,\n")
        self.zip.close()


def checksums(folder: pathlib.Path) -> None:
    """SHA256SUMS, as sha256sum --check reads it."""
    rows = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())
            if path.name.endswith((".tar.gz", ".whl", ".deb"))]
    (folder / "SHA256SUMS").write_text("".join(rows))
