# SPDX-License-Identifier: Apache-2.0
"""Traces with a known answer, and the score holdup reaches on them."""
