"""ReLU and GELU for NumPy on the CPU: compiled, accurate, and ready for ONNX.

>>> import fastact
>>> fastact.gelu([-1.0, 0.0, 1.0])
array([-0.15865525,  0.        ,  0.84134475])

`relu`, `gelu` (exact), `gelu_tanh` and the others in `activations` and `derivatives` are NumPy
ufuncs. `fastact.export` writes ONNX models and
`fastact.bench` measures them; both need extras and are imported when first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from ._core import (
    activations,
    derivatives,
    get_num_threads,
    isa,
    max_ulp,
    set_num_threads,
    variants,
)
from ._version import __version__

if TYPE_CHECKING:
    from . import accuracy as accuracy
    from . import bench as bench
    from . import export as export

__all__ = [
    "__version__",
    "activations",
    "derivatives",
    "gelu",
    "gelu_grad",
    "gelu_quick",
    "gelu_tanh",
    "gelu_tanh_grad",
    "get_include",
    "get_num_threads",
    "hard_swish",
    "isa",
    "max_ulp",
    "relu",
    "relu6",
    "relu_grad",
    "set_num_threads",
    "silu",
    "variants",
]

_best = variants[isa]
relu, relu6 = _best.relu, _best.relu6
gelu, gelu_tanh, gelu_quick = _best.gelu, _best.gelu_tanh, _best.gelu_quick
silu, hard_swish = _best.silu, _best.hard_swish
relu_grad, gelu_grad, gelu_tanh_grad = _best.relu_grad, _best.gelu_grad, _best.gelu_tanh_grad

_SUBMODULES = ("accuracy", "bench", "export")


def get_include() -> str:
    """Return the folder of fastact.h, the kernels for C, C++ and Cython.

    Beside it is fastact.mk, which builds the kernels without Python.

    Returns
    -------
    str
        The absolute path.

    Examples
    --------
    >>> import os, fastact
    >>> sorted(os.listdir(fastact.get_include()))
    ['fastact.h', 'fastact.mk']
    """
    return f"{__path__[0]}/include"


def __getattr__(name: str) -> ModuleType:
    """Import a submodule when it is first used, since importing fastact stays cheap."""
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBMODULES])
