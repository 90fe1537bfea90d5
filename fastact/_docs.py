"""The docstrings of the ufuncs: what is said of each activation, and the form they share."""

from __future__ import annotations

import math
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
    >>> fastact.gelu(np.float32([-1, 0, 1])).round(6)
    array([-0.158655,  0.      ,  0.841345], dtype=float32)
    >>> print(f"{fastact.gelu(-10.0):.14e}")  # 0.5 x (1 + erf(x / sqrt(2))) gives -0.0
    -7.61985302416053e-23""",
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
    >>> fastact.gelu_tanh(np.float32([-1, 0, 1])).round(6)
    array([-0.158808,  0.      ,  0.841192], dtype=float32)
    >>> print(round(fastact.gelu_tanh(2.699) - fastact.gelu(2.699), 7))
    0.0004732""",
    ),
    "relu6": Text(
        "Rectified linear unit capped at 6, min(max(0, x), 6), element-wise.",
        """\
    As `relu`, with 6 for everything above: the activation of the MobileNet family. NaN stays NaN,
    -0.0 stays -0.0. Integers keep their dtype. Exact.

    Howard et al., "MobileNets", 2017.""",
        """\
    >>> fastact.relu6(np.float32([-1, 2, 8]))
    array([0., 2., 6.], dtype=float32)""",
    ),
    "gelu_quick": Text(
        "Gaussian error linear unit, sigmoid form: x sigmoid(1.702 x), element-wise.",
        """\
    The cheap approximation of GELU that CLIP uses, at most 0.0204 from the exact form. It is
    computed as relu(x) - t e / (1 + e) with t = abs(x) and e = exp(-1.702 t), which keeps every
    digit of the negative tail. gelu_quick(-inf) is -0.0, the limit; NaN stays NaN. Integers give
    the float dtype that `numpy.exp` gives. float16 is computed in float32.

    Hendrycks and Gimpel, "Gaussian Error Linear Units (GELUs)", 2016.""",
        """\
    >>> fastact.gelu_quick(np.float32([-1, 0, 1])).round(6)
    array([-0.154204,  0.      ,  0.845796], dtype=float32)""",
    ),
    "silu": Text(
        "Sigmoid linear unit, also called swish: x sigmoid(x), element-wise.",
        """\
    It is computed as relu(x) - t e / (1 + e) with t = abs(x) and e = exp(-t), which keeps every
    digit of the negative tail. The smallest value is -0.27846454 at -1.2784645. silu(-inf) is
    -0.0, the limit; NaN stays NaN. Integers give the float dtype that `numpy.exp` gives. float16
    is computed in float32.

    Elfwing, Uchibe and Doya, "Sigmoid-weighted linear units", 2017.""",
        """\
    >>> fastact.silu(np.float32([-1, 0, 1])).round(6)
    array([-0.268941,  0.      ,  0.731059], dtype=float32)""",
    ),
    "hard_swish": Text(
        "Piecewise quadratic swish, x min(max(0, x + 3), 6) / 6, element-wise.",
        """\
    The activation of MobileNetV3: -0.0 up to -3, x from 3 on. The smallest value is -0.375 at
    -1.5. hard_swish(-inf) is -0.0, the limit; NaN stays NaN. Integers give the float dtype that
    `numpy.exp` gives. float16 is computed in float32.

    Howard et al., "Searching for MobileNetV3", 2019.""",
        """\
    >>> fastact.hard_swish(np.float32([-4, -1.5, 1, 4]))
    array([-0.       , -0.375    ,  0.6666667,  4.       ], dtype=float32)""",
    ),
    "relu_grad": Text(
        "Derivative of relu: 1 for positive x, else 0, element-wise.",
        """\
    0 at 0, as PyTorch and TensorFlow have it. NaN stays NaN. Integers give the float dtype that
    `numpy.exp` gives. Exact.""",
        """\
    >>> fastact.relu_grad(np.float32([-2, 0, 3]))
    array([0., 0., 1.], dtype=float32)""",
    ),
    "gelu_grad": Text(
        "Derivative of gelu (exact form): Phi(x) + x phi(x), element-wise.",
        """\
    Phi and phi are the standard normal distribution function and density. It is -0.0 at -inf, 0
    at -0.751792 (the minimum of gelu), 0.5 at 0, at most 1.1289 (at sqrt(2)) and 1 at inf; NaN
    stays NaN. Integers give the float dtype that `numpy.exp` gives. float32 and float16 are
    computed in float64.""",
        """\
    >>> fastact.gelu_grad(np.float32([-np.inf, 0, 1, np.inf]))
    array([-0.       ,  0.5      ,  1.0833155,  1.       ], dtype=float32)""",
    ),
    "gelu_tanh_grad": Text(
        "Derivative of gelu_tanh, element-wise.",
        """\
    It is -0.0 at -inf, 0 at -0.752461 (the minimum of gelu_tanh), 0.5 at 0 and 1 at inf; NaN
    stays NaN. Integers give the float dtype that `numpy.exp` gives. float32 and float16 are
    computed in float64. In float64 the error near the zero is absolute: at most 2^-54.""",
        """\
    >>> fastact.gelu_tanh_grad(np.float32([-np.inf, 0, 1, np.inf]))
    array([-0.       ,  0.5      ,  1.0829641,  1.       ], dtype=float32)""",
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
        f"    {dtype:<10} {max_ulp:<10g} {'any' if math.isnan(at) else repr(at)}"
        for dtype, (max_ulp, at) in ((dtype, bounds[dtype]) for dtype in floats)
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
