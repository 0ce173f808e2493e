# SPDX-License-Identifier: Apache-2.0
"""An exam of `holdup run` that knows nothing of the engine: small ordinary programs with a cause, and the same without it."""
