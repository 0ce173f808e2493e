# SPDX-License-Identifier: Apache-2.0
"""Does a series grow?  A straight line by least squares, and a t-test of its slope that knows that neighbours resemble each other.

    slope = sum((x - mx)(y - my)) / sum((x - mx)^2)          t = slope / (s / sqrt(sum((x - mx)^2)))

The residuals of memory figures are correlated (a cache fills, a pool grows in blocks), which makes the textbook error too
small.  It is therefore taken for n' = n (1 - r) / (1 + r) values, r the lag-1 correlation of the residuals, not below 0
(Bayley & Hammersley 1946; Santer et al. 2000).  p and the interval are Student's t with n' - 2
degrees of freedom, two-sided; its distribution is the incomplete beta function (DLMF 8.17, continued fraction 8.17.22).

Where fewer than fifteen values are left, the series wanders more than it scatters, and a line through it proves nothing.  Then the
growth from each value to the next is tested instead: the t-test of its mean, its neighbours' resemblance taken away alike.
"""
from __future__ import annotations

import math
from typing import NamedTuple, Sequence


class Trend(NamedTuple):
    """Per step, in the unit of the values."""

    n: int
    slope: float
    low: float                  # 95 % interval of the slope
    high: float
    p: float                    # of a slope of 0; 1 of fewer than four values
    n_effective: float          # values, when their resemblance is taken away
    of: str                     # what was tested: "slope" or "growth from step to step"


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), by Lentz' method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 300):
        for numerator in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            result *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return result


def incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), regularised."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def t_two_sided(t: float, freedom: float) -> float:
    """The chance of a |t| as large or larger."""
    return 0.0 if math.isinf(t) else incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile_975(freedom: float) -> float:
    """t with 2.5 % above it, by halving."""
    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_two_sided(middle, freedom) > 0.05 else (low, middle)
    return (low + high) / 2


FEWEST_INDEPENDENT = 15         # with fewer, random walks passed for trends in 1 to 4 of 100 (p < 0.001); with these in less than 1
_SLOPE, _GROWTH = "slope", "growth from step to step"


def _independent(rest: Sequence[float], squares: float) -> float:
    """How many values residuals are worth, given their lag-1 correlation."""
    likeness = min(max(0.0, math.fsum(a * b for a, b in zip(rest, rest[1:])) / squares), 1.0)
    return len(rest) * (1 - likeness) / (1 + likeness)


def _test(n: int, slope: float, effective: float, lost: int, error: float, of: str) -> Trend:
    """`lost`: degrees of freedom that the estimate took; `error` of the slope."""
    freedom = effective - lost
    if freedom < 1:
        return Trend(n, slope, -math.inf, math.inf, 1.0, effective, of)
    half = t_quantile_975(freedom) * error
    return Trend(n, slope, slope - half, slope + half, t_two_sided(slope / error, freedom), effective, of)


def _growth(values: Sequence[float]) -> Trend:
    steps = [b - a for a, b in zip(values, values[1:])]
    mean = math.fsum(steps) / len(steps)
    rest = [s - mean for s in steps]
    squares = math.fsum(r * r for r in rest)
    if squares <= 1e-18 * math.fsum(s * s for s in steps):
        return Trend(len(values), mean, mean, mean, 0.0 if mean else 1.0, float(len(steps)), _GROWTH)
    effective = _independent(rest, squares)
    if effective <= 1:
        return Trend(len(values), mean, -math.inf, math.inf, 1.0, effective, _GROWTH)
    return _test(len(values), mean, effective, 1, math.sqrt(squares / len(steps) / (effective - 1)), _GROWTH)


def fit(values: Sequence[float]) -> Trend:
    """The trend of values taken at equal distances."""
    n = len(values)
    if n < 2:
        return Trend(n, 0.0, -math.inf, math.inf, 1.0, float(n), _SLOPE)
    mean_x, mean_y = (n - 1) / 2, math.fsum(values) / n
    spread = n * (n * n - 1) / 12                       # sum of (x - mean)^2 of 0 ... n - 1
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in enumerate(values)) / spread
    rest = [y - mean_y - slope * (x - mean_x) for x, y in enumerate(values)]
    squares = math.fsum(r * r for r in rest)
    # rounding of a line without any noise is no noise
    if squares <= 1e-18 * math.fsum((y - mean_y) ** 2 for y in values):
        return Trend(n, slope, slope, slope, (0.0 if slope else 1.0) if n >= 4 else 1.0, float(n), _SLOPE)
    effective = _independent(rest, squares)
    if effective < FEWEST_INDEPENDENT:
        return _growth(values)
    return _test(n, slope, effective, 2, math.sqrt(squares / max(effective - 2, 1e-9) / spread), _SLOPE)
