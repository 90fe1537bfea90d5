"""Import of optional dependencies, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or raise an ImportError that names the extra that brings it.

    Parameters
    ----------
    module : str
        The module to import, e.g. ``"onnx"``.
    extra : str
        The extra of fastact that installs it, e.g. ``"onnx"``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If `module` is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[0] != error.name.split(".")[0]:
            raise  # `module` is there, but something it needs itself is not
        raise ImportError(
            f"{module!r} is not installed; install it with: pip install 'fastact[{extra}]'"
        ) from None
