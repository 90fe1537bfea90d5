"""Types of the compiled core; a test holds it against the extension."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

class Bound(NamedTuple):
    """The largest error of a function, and the input that attains it."""

    max_ulp: float
    at: float

class Variant(NamedTuple):
    """The ufuncs of one variant."""

    relu: np.ufunc
    relu6: np.ufunc
    gelu: np.ufunc
    gelu_tanh: np.ufunc
    gelu_quick: np.ufunc
    silu: np.ufunc
    hard_swish: np.ufunc
    relu_grad: np.ufunc
    gelu_grad: np.ufunc
    gelu_tanh_grad: np.ufunc

activations: Final[tuple[str, ...]]
derivatives: Final[tuple[str, ...]]
isa: Final[str]
registry: Final[Mapping[str, Mapping[str, Mapping[str, Bound]]]]
variants: Final[Mapping[str, Variant]]

def max_ulp(function: str, dtype: DTypeLike = ..., *, variant: str | None = None) -> float: ...
def set_num_threads(threads: int | None = None) -> None: ...
def get_num_threads() -> int: ...
