"""ReLU and GELU for NumPy on the CPU: compiled, accurate, and ready for ONNX.

>>> import fastact
>>> fastact.gelu([-1.0, 0.0, 1.0])
array([-0.15865525,  0.        ,  0.84134475])

`relu`, `gelu` (exact) and `gelu_tanh` are NumPy ufuncs. `fastact.export` writes ONNX models and
`fastact.bench` measures them; both need extras and are imported when first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from ._core import activations, isa, max_ulp, variants
from ._version import __version__

if TYPE_CHECKING:
    from . import accuracy as accuracy
    from . import bench as bench
    from . import export as export

__all__ = ["__version__", "activations", "gelu", "gelu_tanh", "isa", "max_ulp", "relu", "variants"]

relu, gelu, gelu_tanh = variants[isa]

_SUBMODULES = ("accuracy", "bench", "export")


def __getattr__(name: str) -> ModuleType:
    """Import a submodule when it is first used, since importing fastact stays cheap."""
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_SUBMODULES])
