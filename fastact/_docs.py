"""The docstrings of the ufuncs: what is said of each activation, and the form they share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Text(NamedTuple):
    """What is particular to one activation."""

    summary: str
    notes: str
    example: str


TEXTS = {
    "relu": Text(
        "Rectified linear unit, max(0, x), element-wise.",
        """\
    NaN stays NaN, -0.0 stays -0.0, and every other negative number gives +0.0; +inf stays
    +inf and -inf gives 0.0. Integers keep their dtype; unsigned ones pass unchanged. Exact.""",
        """\
    >>> fastact.relu(np.array([-2, 0, 3], dtype=np.int8))
    array([0, 0, 3], dtype=int8)
    >>> fastact.relu(np.float32([-1.5, 2.5, np.inf]))
    array([0. , 2.5, inf], dtype=float32)""",
    ),
    "gelu": Text(
        "Gaussian error linear unit, exact form: x Phi(x), element-wise.",
        """\
    Phi is the standard normal distribution function, so this is 0.5 x (1 + erf(x / sqrt(2))):
    ``approximate="none"`` of ONNX and PyTorch. It is computed as relu(x) - t Q(t) with t = abs(x)
    and Q the upper tail of Phi, which keeps every digit of the negative tail. The smallest value
    is -0.16997121 at -0.751792. gelu(-inf) is -0.0, the limit; gelu(inf) is inf; NaN stays NaN.
    Integers give the float dtype that `numpy.exp` gives. float16 is computed in float32.

    Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.""",
        """\
    >>> fastact.gelu(np.float32([-1, 0, 1]))
    array([-0.15865526,  0.        ,  0.8413448 ], dtype=float32)
    >>> print(fastact.gelu(-10.0))  # 0.5 x (1 + erf(x / sqrt(2))) gives -0.0
    -7.619853024160525e-23""",
    ),
    "gelu_tanh": Text(
        "Gaussian error linear unit, tanh form, element-wise.",
        """\
    0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3): ``approximate="tanh"`` of ONNX
    and PyTorch, at most 4.7324e-4 from the exact form (at abs(x) = 2.699). It is computed as
    relu(x) - t e / (1 + e) with t = abs(x) and e = exp(-2 abs(u)), which keeps every digit of the
    negative tail. The smallest value is -0.17004075 at -0.752461. gelu_tanh(-inf) is -0.0, the
    limit; gelu_tanh(inf) is inf; NaN stays NaN. Integers give the float dtype that `numpy.exp`
    gives. float16 is computed in float32.

    Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.""",
        """\
    >>> fastact.gelu_tanh(np.float32([-1, 0, 1]))
    array([-0.15880801,  0.        ,  0.841192  ], dtype=float32)
    >>> float(fastact.gelu_tanh(2.699) - fastact.gelu(2.699)).hex()[:8]
    '0x1.f03b'""",
    ),
}


def docstring(
    activation: str, variant: str, registry: Mapping[str, Mapping[str, tuple[float, float]]]
) -> str:
    """Compose the docstring of one activation's ufunc.

    Parameters
    ----------
    activation : str
        A key of `TEXTS`.
    variant : str
        The variant that the ufunc belongs to.
    registry : mapping
        Activation to dtype name to (largest error in ULP, the input that attains it), for this
        variant.

    Returns
    -------
    str
        The docstring, in the style of NumPy.
    """
    text = TEXTS[activation]
    bounds = registry[activation]
    integers = [dtype for dtype in bounds if "int" in dtype]
    floats = [dtype for dtype in bounds if "int" not in dtype]
    accepted = ", ".join(floats) + (", and every integer dtype" if integers else "")
    errors = "\n".join(
        f"    {dtype:<10} {bounds[dtype][0]:<10g} {bounds[dtype][1]!r}" for dtype in floats
    )
    return f"""\
{text.summary}

    Parameters
    ----------
    x : array_like
        Input of any shape: {accepted}.
    out, where, **kwargs
        As of every NumPy ufunc.

    Returns
    -------
    ndarray or scalar
        The result, of the shape and float dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not one of those and cannot safely be cast to one.

    Notes
    -----
{text.notes}

    No floating-point warning is ever raised. Largest error of the {variant} variant:

    ========== ========== =====================
    dtype      ULP        at x =
    ========== ========== =====================
{errors}
    ========== ========== =====================

    Examples
    --------
    >>> import fastact
    >>> import numpy as np
{text.example}
"""
