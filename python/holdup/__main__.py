# SPDX-License-Identifier: Apache-2.0
"""`python -m holdup`"""
from __future__ import annotations

from ._program import main

main()
