"""Types of the compiled core; a test holds it against the extension."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

class Bound(NamedTuple):
    """The largest error of an activation, and the input that attains it."""

    max_ulp: float
    at: float

class Variant(NamedTuple):
    """The ufuncs of one variant."""

    relu: np.ufunc
    gelu: np.ufunc
    gelu_tanh: np.ufunc

activations: Final[tuple[str, ...]]
isa: Final[str]
registry: Final[Mapping[str, Mapping[str, Mapping[str, Bound]]]]
variants: Final[Mapping[str, Variant]]

def max_ulp(activation: str, dtype: DTypeLike = ..., *, variant: str | None = None) -> float: ...
