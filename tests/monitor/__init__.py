# SPDX-License-Identifier: Apache-2.0
"""The exam of the monitor: a libnvidia-ml by its vendor's header, scenarios, and what the metrics must say of them."""
