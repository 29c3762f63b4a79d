"""What repeats tell: a mean with its standard error, and a power with its own.

m ± e,  e = std/√R over R repeats;        y ~ x^p,  p by least squares of the logarithms, once for every repeat
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from widelimit.experiments.catalogue.claims import Measurement


def mean_over(values: ArrayLike) -> Measurement:
    """The mean of some repeats; one alone has no error.

    >>> mean_over([1.0, 3.0])
    Measurement(value=2.0, error=1.0, theory=None)
    """
    found = np.asarray(values, float)
    spread = float(found.std(ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    return Measurement(float(found.mean()), spread)


def errors_over(values: ArrayLike) -> np.ndarray:
    """The standard errors of means over the first axis, repeats; 0 for one alone.

    >>> errors_over([[1.0, 2.0], [3.0, 2.0]]).tolist()
    [1.0, 0.0]
    """
    found = np.asarray(values, float)
    return found.std(axis=0, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else np.zeros(found.shape[1:])


def power_over(x: ArrayLike, y: ArrayLike) -> Measurement:
    """p of y ~ x^p: x (X,), y (repeats, X), or (X,) for one alone.

    >>> power_over([1.0, 2.0, 4.0], [1.0, 4.0, 16.0]).value
    2.0
    """
    logs = np.log(np.atleast_2d(np.asarray(y, float)))
    return mean_over(np.round(np.polyfit(np.log(np.asarray(x, float)), logs.T, 1)[0], 12))
