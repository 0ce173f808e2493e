# SPDX-License-Identifier: Apache-2.0
"""To come."""
from tests.exam.plants import Plant

PLANTS: list[Plant] = []
