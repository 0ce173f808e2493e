# SPDX-License-Identifier: Apache-2.0
"""What a release says of its parts: NOTICE for people, a bill of materials for programs, and the licences themselves."""
from __future__ import annotations

import json
import pathlib
import shutil
import time
import uuid

from archives import Wheel
from libraries import Build, Library
from toolchain import PACKAGES


def parts(build: Build) -> list[tuple[str, str, str, str]]:
    """Name, version, licence and package URL of each library that is linked in."""
    def row(library: Library) -> tuple[str, str, str, str]:
        version = build.sources.versions[library.source]
        return library.name, version, library.licence, f"pkg:deb/debian/{library.source}@{version.replace('+', '%2B')}?arch=source"
    zig = PACKAGES[0].split("==")[1]
    rows = [row(library) for library in build.libraries()]
    rows.append(("compiler-rt (of Zig)", zig, "MIT", f"pkg:pypi/ziglang@{zig}"))
    if build.target.is_static:
        rows.append(("musl (of Zig)", zig, "MIT", f"pkg:pypi/ziglang@{zig}"))
    return rows


def notice(build: Build, version: str) -> str:
    rows = parts(build)
    width = max(len(name) + len(number) for name, number, _, _ in rows) + 3
    lines = [f"  {name + ' ' + number:<{width}}{licence}" for name, number, licence, _ in rows]
    return (f"holdup {version}, licence Apache-2.0 (LICENSE).\n\nThe program contains these libraries; their licences are in licences/:\n\n" + "\n".join(lines) + "\n\n"
            "Their sources are Debian's source packages of these versions: `apt-get source NAME=VERSION`, names as in sbom.cdx.json.\n"
            "To link the program with other versions of them, run `make dist` of holdup's sources, which compiles them (scripts/dist/libraries.py).\n")


def bill(build: Build, version: str, when: int) -> str:
    """CycloneDX 1.5."""
    own = f"pkg:generic/holdup@{version}"
    components = [{"type": "library", "bom-ref": f"{url}#{name}", "name": name, "version": number, "purl": url, "licenses": [{"expression": licence}]}
                  for name, number, licence, url in parts(build)]
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
                     "tools": {"components": [{"type": "application", "name": name, "version": number} for name, number in (p.split("==") for p in PACKAGES)]},
                     "component": {"type": "application", "bom-ref": own, "name": "holdup", "version": version, "purl": own,
                                   "licenses": [{"expression": "Apache-2.0"}],
                                   "properties": [{"name": "holdup:target", "value": build.target.zig}]}},
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [row["bom-ref"] for row in components]}],
    }
    document["serialNumber"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True)))
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def write(build: Build, root: pathlib.Path, to: pathlib.Path, version: str, when: int) -> None:
    """Fills share/doc/holdup of a release."""
    (to / "licences").mkdir(parents=True, exist_ok=True)
    for name in ("LICENSE", "README.md", "CHANGELOG.md"):
        shutil.copy(root / name, to / name)
    for path in (build.home / "licences").iterdir():
        shutil.copy(path, to / "licences" / path.name)
    zig = build.toolchain.zig.parent
    shutil.copy(zig / "LICENSE", to / "licences" / "zig")
    if build.target.is_static:
        shutil.copy(zig / "lib" / "libc" / "musl" / "COPYRIGHT", to / "licences" / "musl")
    (to / "NOTICE").write_text(notice(build, version))
    (to / "sbom.cdx.json").write_text(bill(build, version, when))


def metadata(root: pathlib.Path, version: str) -> bytes:
    """What pip says of the package."""
    return (f"Metadata-Version: 2.1\nName: holdup\nVersion: {version}\nSummary: Tells what is holding up a GPU job: where the time goes, why, and what a fix would bring\n"
            "License: Apache-2.0\nRequires-Python: >=3.8\nClassifier: Operating System :: POSIX :: Linux\nClassifier: Programming Language :: C\n"
            "Classifier: Topic :: System :: Monitoring\nDescription-Content-Type: text/markdown\n\n").encode() + (root / "python" / "README.md").read_bytes()


def kind(tag: str) -> bytes:
    """What pip asks of a wheel before it installs it."""
    return ("Wheel-Version: 1.0\nGenerator: holdup-dist\nRoot-Is-Purelib: false\n" + "".join(f"Tag: py3-none-{part}\n" for part in tag.split("."))).encode()


def wheel(to: Wheel, root: pathlib.Path, tree: pathlib.Path, version: str, tag: str) -> None:
    """Fills a wheel: the package for Python, and the tree below the environment's own folder, where the program finds its parts as anywhere."""
    for path in sorted((root / "python" / "holdup").iterdir()):
        if path.is_file():
            to.add(f"holdup/{path.name}", path.read_bytes())
    to.add(f"{to.data}/scripts/holdup", (tree / "bin" / "holdup").read_bytes(), executable=True)
    to.tree(tree / "lib" / "holdup", f"{to.data}/data/libexec/holdup")  # pip install --target drops lib
    for name in ("share/man", "share/bash-completion", "share/zsh", "share/fish", "share/doc/holdup", "share/holdup"):
        to.tree(tree / name, f"{to.data}/data/{name}")
    to.add(f"{to.info}/METADATA", metadata(root, version))
    to.add(f"{to.info}/WHEEL", kind(tag))
    for path in [root / "LICENSE", *sorted((tree / "share" / "doc" / "holdup" / "licences").glob("*"))]:
        to.add(f"{to.info}/licenses/{path.name}", path.read_bytes())
