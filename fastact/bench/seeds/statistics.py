"""The accuracy of several trainings: its mean, differences of means, and how sure they are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..._extras import require

#: Of every interval.
CONFIDENCE = 0.95

# Which images are classified rightly, by seed and image.
Right = npt.NDArray[np.bool_]


class Accuracy(NamedTuple):
    """The accuracy of one activation over seeds.

    Parameters
    ----------
    counts : tuple of int
        Test images classified rightly, for each seed.
    images : int
        How many test images there are.
    mean : float
        Mean accuracy, 0 to 1.
    low, high : float
        Confidence interval of the mean over seeds.
    """

    counts: tuple[int, ...]
    images: int
    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """The difference of two accuracies over seeds and images.

    Parameters
    ----------
    mean : float
        Mean difference of the accuracies, -1 to 1.
    seed_error, image_error : float
        Its standard errors over the seeds and over the test images.
    low, high : float
        Confidence interval, for other seeds and other test images.
    """

    mean: float
    seed_error: float
    image_error: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """The standard error over both, added in squares."""
        return math.hypot(self.seed_error, self.image_error)

    @property
    def more_than_noise(self) -> bool:
        """Whether the confidence interval leaves out 0."""
        return not self.low <= 0 <= self.high


def accuracy(right: Right) -> Accuracy:
    """Average an accuracy over seeds.

    Parameters
    ----------
    right : ndarray of bool, shape (seeds, images)
        Which images are classified rightly; two seeds at least.

    Returns
    -------
    Accuracy
        With the interval of Student's t over the seeds. It tells what another training would
        give on the same test images; what other images would give, it does not tell.

    Examples
    --------
    >>> accuracy(np.array([[True, True, True, False], [True, True, False, False]]))[:3]
    ((3, 2), 4, 0.625)
    """
    each = right.mean(axis=1)
    mean, reach = float(each.mean()), _quantile(len(each) - 1) * _standard_error(each)
    counts = tuple(right.sum(axis=1).tolist())
    return Accuracy(counts, right.shape[1], mean, mean - reach, mean + reach)


def difference(a: Right, b: Right) -> Difference:
    """Tell how much more accurate `a` is than `b`, and how sure that is.

    Parameters
    ----------
    a, b : ndarray of bool, shape (seeds, images)
        Which images each classifies rightly, for the same seeds and images; two of each at
        least.

    Returns
    -------
    Difference
        The mean of ``a - b`` with its errors.

    Notes
    -----
    Both are paired. A seed gives every activation the same first weights and the same order of
    images, so the accuracies of one seed are subtracted from each other; if that makes them no
    more alike, pairing costs degrees of freedom and nothing else. And both classify the same
    images, most of them alike, so only those that they do not classify alike add to the error.

    The error over the seeds is that of the mean of the differences of each seed; the error over
    the images is that of the mean of the differences of each image, averaged over the seeds.
    They are added in squares. What varies with seed and image together is in both, so the sum
    is rather too large than too small. The interval is that of Student's t, with the degrees of
    freedom of Welch and Satterthwaite: few if the seeds make the error, many if the images do.

    Examples
    --------
    >>> a, b = np.array([[[1, 1, 1, 0], [1, 1, 0, 1]], [[1, 1, 0, 0], [1, 0, 0, 1]]], bool)
    >>> found = difference(a, b)
    >>> found.mean, found.seed_error, found.more_than_noise
    (0.25, 0.0, False)
    """
    apart = a.astype(np.int8) - b
    seeds, images = apart.mean(axis=1), apart.mean(axis=0)
    mean, errors = float(seeds.mean()), (_standard_error(seeds), _standard_error(images))
    variances = [error**2 for error in errors]
    parts = variances[0] ** 2 / (len(seeds) - 1) + variances[1] ** 2 / (len(images) - 1)
    freedom = sum(variances) ** 2 / parts if parts else math.inf
    reach = _quantile(freedom) * math.hypot(*errors)
    return Difference(mean, *errors, mean - reach, mean + reach)


def _standard_error(samples: npt.NDArray[np.float64]) -> float:
    """Estimate the standard error of the mean of independent samples."""
    return float(samples.std(ddof=1)) / math.sqrt(len(samples))


def _quantile(freedom: float) -> float:
    """Give how many standard errors of Student's t the confidence interval reaches to a side."""
    special = require("scipy.special", "report")
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
