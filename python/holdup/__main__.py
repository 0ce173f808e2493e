# SPDX-License-Identifier: Apache-2.0
"""`python -m holdup`"""
from ._program import main

main()
