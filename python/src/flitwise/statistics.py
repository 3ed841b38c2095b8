"""Means with 95 % confidence intervals by Student's t.

The tables of a study take t with three decimals for up to 32 values, so their intervals may differ in the fourth digit.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Iterable, NamedTuple, Optional

#: 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom.
_T = (
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
    2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
    2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
)


class Mean(NamedTuple):
    """A mean and half its 95 % confidence interval."""

    #: The mean.
    mean: float
    #: Half the interval; ``None`` for a single value.
    ci95: Optional[float]
    #: The number of values.
    count: int

    @property
    def is_tie(self) -> bool:
        """True if the interval contains 0: the difference may be none."""
        return self.ci95 is not None and abs(self.mean) <= self.ci95

    def __str__(self) -> str:
        if self.ci95 is None:
            return f"{self.mean:.4g}"
        return f"{self.mean:.4g} ± {self.ci95:.2g}"


def _t975(freedom: int) -> float:
    if freedom <= len(_T):
        return _T[freedom - 1]
    # Cornish-Fisher expansion (Abramowitz and Stegun, 26.7.5): six digits from 31 degrees of freedom on.
    z = NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def mean_ci95(values: Iterable[float]) -> Mean:
    """The mean of some values and half its 95 % confidence interval."""
    found = [float(value) for value in values]
    count = len(found)
    if not found:
        raise ValueError("there are no values to take the mean of")
    mean = math.fsum(found) / count
    if count == 1:
        return Mean(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in found) / (count - 1)
    return Mean(mean, _t975(count - 1) * math.sqrt(variance / count), count)
