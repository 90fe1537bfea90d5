"""A peer without a Python interface: the normal distribution of Intel's MKL, through ctypes."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import metadata

import numpy as np

from ..environment import cpu_name
from .peer import Array, Call, UnsupportedError

#: MKL's accuracy modes, VML_HA and VML_LA.
HIGH, LOW = 2, 1

#: Whether MKL holds to MKL_ENABLE_INSTRUCTIONS; on other makers' CPUs it goes by rules of its own.
OBEYS = "Intel" in cpu_name()


@cache
def _mkl() -> ctypes.CDLL:
    """Load the Math Kernel Library that the distribution mkl brings."""
    try:
        files = metadata.files("mkl") or []
    except metadata.PackageNotFoundError as error:
        raise ImportError("'mkl' is not installed") from error
    library = ctypes.CDLL(str(next(f for f in files if "libmkl_rt" in f.name).locate()))
    library.MKL_Set_Num_Threads(1)
    return library


def bind_mkl(function: str, x: Array, y: Array, *, mode: int, product: bool = True) -> Call:
    """Bind the normal distribution function, times x by np.multiply or alone.

    Parameters
    ----------
    function : str
        ``gelu``.
    x, y : ndarray
        Input and output.
    mode : int
        `HIGH` or `LOW`.
    product : bool, optional
        Whether to multiply by x, which makes it a GELU.

    Returns
    -------
    Call
        The call.
    """
    if function != "gelu":
        raise UnsupportedError(f"no {function}")
    if x.dtype.name not in ("float32", "float64"):
        raise UnsupportedError(f"no {x.dtype.name}")
    if not x.flags.c_contiguous:
        raise UnsupportedError("contiguous arrays only")
    library = _mkl()
    cdf = library.vmsCdfNorm if x.dtype == np.float32 else library.vmdCdfNorm
    cdf.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    cdf.restype = None
    names = {
        **{"cdf": cdf, "n": x.size, "mode": mode, "multiply": np.multiply, "x": x, "y": y},
        # The pointers hold no reference to the arrays, which stand beside them.
        **{"px": ctypes.c_void_p(x.ctypes.data), "py": ctypes.c_void_p(y.ctypes.data)},
    }
    statement = "cdf(n, px, py, mode)" + ", multiply(x, y, out=y)" * product
    return Call(statement, names, y)
