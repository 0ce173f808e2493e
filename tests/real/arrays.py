# SPDX-License-Identifier: Apache-2.0
"""Sorts an array in numpy."""
import numpy

x = numpy.random.default_rng(1).random(3_000_000)
for _ in range(2):
    y = numpy.sort(x)
print(float(y[1000]))
