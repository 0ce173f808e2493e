# SPDX-License-Identifier: Apache-2.0
"""Names of metrics: those that `holdup monitor` has rows for, and those that a query of Prometheus uses."""
import re

from tests.program import ROOT, skip_loudly


def exported() -> set[str]:
    """Of the rows of src/monitor/metrics_*.h; a histogram is three."""
    rows = [row for file in (ROOT / "src/monitor").glob("metrics_*.h") for row in re.findall(r'^ +M\w*\(\w+, "(\w+)", (\w+)', file.read_text(), re.M)]
    return {name + end for name, kind in rows for end in (("_bucket", "_sum", "_count") if kind == "HISTOGRAM" else ("",))}


def missing(used: set[str]) -> set[str]:
    """Of these, the ones that have no row."""
    left = used - exported()
    if "holdup_host_memory_total_bytes" not in exported():
        skip_loudly("the node's own metrics are not in this tree: their names were not checked")
        left = {n for n in left if not n.startswith("holdup_host_")}
    return left


def of_text(query: str) -> set[str]:
    """Words of a query that are metrics or recorded series, not functions, labels or values."""
    bare = re.sub(r"\b(?:by|on|group_left|group_right|without|ignoring)\s*\([^()]*\)", " ", re.sub(r'"[^"]*"', '""', query))
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]", " ", bare)
    return {w for w in re.findall(r"(?<![\w:])[a-z][\w:]*(?![\w:]*\s*\()", bare) if w.startswith(("holdup_", "process_")) or ":" in w or w == "up"}
