"""The peers: each library's quickest public way to apply an activation to an array of NumPy's."""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import numpy as np

import fastact

from ..._extras import require
from ..session import session_options
from .mkl import HIGH, LOW, OBEYS, bind_mkl
from .peer import Array, Call, Peer, UnsupportedError

_EXTRA = "peers"
_ROOT = math.sqrt(2 / math.pi)


def _choose(function: str, statements: dict[str, str]) -> str:
    if function not in statements:
        raise UnsupportedError(f"no {function}")
    return statements[function]


def _only(x: Array, *dtypes: str) -> None:
    """Refuse other dtypes than those, and arrays that are not contiguous."""
    if x.dtype.name not in dtypes:
        raise UnsupportedError(f"no {x.dtype.name}")
    if not x.flags.c_contiguous:
        raise UnsupportedError("contiguous arrays only")


def bind_fastact(function: str, x: Array, y: Array) -> Call:
    """Bind ours, a ufunc."""
    names = {function: getattr(fastact, function), "x": x, "y": y}
    return Call(f"{function}(x, out=y)", names, y)


def bind_numpy(function: str, x: Array, y: Array) -> Call:
    """Bind the textbook formulas, each step with ``out=``; GELU's error function is SciPy's."""
    scalar = x.dtype.type
    names: dict[str, Any] = {
        **{"x": x, "y": y, "half": scalar(0.5), "one": scalar(1), "six": scalar(6)},
        **{"root": scalar(math.sqrt(0.5)), "slope": scalar(_ROOT), "cubic": scalar(0.044715)},
        **{name: getattr(np, name) for name in ("add", "exp", "maximum", "minimum")},
        **{name: getattr(np, name) for name in ("multiply", "negative", "divide", "tanh")},
    }
    # Halved before x comes in, since twice the largest number is not a number.
    half = "add(y, one, out=y), multiply(y, half, out=y), multiply(y, x, out=y)"
    cube = "multiply(x, x, out=y), multiply(y, cubic, out=y), add(y, one, out=y)"
    statements = {
        "relu": "maximum(x, 0, out=y)",
        "relu6": "maximum(x, 0, out=y), minimum(y, six, out=y)",
        "gelu": f"multiply(x, root, out=y), erf(y, out=y), {half}",
        "gelu_tanh": f"{cube}, multiply(y, x, out=y), multiply(y, slope, out=y), "
        f"tanh(y, out=y), {half}",
        "silu": "negative(x, out=y), exp(y, out=y), add(y, one, out=y), divide(x, y, out=y)",
    }
    if function == "gelu":
        names["erf"] = require("scipy.special", _EXTRA).erf
    return Call(_choose(function, statements), names, y)


def bind_copy(function: str, x: Array, y: Array) -> Call:
    """Bind a plain copy, the least that any function of an array costs."""
    names = {"copyto": np.copyto, "x": x, "y": y}
    return Call(_choose(function, {"relu": "copyto(y, x)"}), names, y)


def bind_torch(function: str, x: Array, y: Array) -> Call:
    """Bind PyTorch on tensors that share the memory of the arrays."""
    torch = require("torch", _EXTRA)
    torch.set_num_threads(1)
    statements = {
        "relu": "clamp_min(x, 0, out=y)",
        "relu6": "clamp(x, 0, 6, out=y)",
        "gelu": "gelu(x, out=y)",
        "gelu_tanh": "gelu(x, approximate='tanh', out=y)",
        "silu": "silu(x, out=y)",
        "hard_swish": "hardswish(x)",
    }
    with torch.inference_mode():
        tensors = {"x": torch.from_numpy(x), "y": torch.from_numpy(y)}
    names = {
        **tensors,
        **{"clamp": torch.clamp, "clamp_min": torch.clamp_min},
        "gelu": torch.nn.functional.gelu,
        "hardswish": torch.nn.functional.hardswish,
        "silu": torch.ops.aten.silu.out,
    }
    statement = _choose(function, statements)
    output = y if "out=y" in statement else None
    return Call(statement, names, output, torch.inference_mode)


def bind_onnxruntime(function: str, x: Array, y: Array) -> Call:
    """Bind a model of one operator, its input and output bound to the arrays' memory."""
    _choose(function, dict.fromkeys(["relu", "gelu", "gelu_tanh"], ""))
    _only(x, "float16", "float32", *["float64"] * (function == "relu"))
    ort = require("onnxruntime", _EXTRA)
    require("onnx", _EXTRA)
    from ...export import activation

    model = activation(function, form="op", opset=20, shape=x.shape, dtype=x.dtype.name)
    session = ort.InferenceSession(
        model.SerializeToString(), session_options(), providers=["CPUExecutionProvider"]
    )
    (source,), (target,) = session.get_inputs(), session.get_outputs()
    binding = session.io_binding()
    binding.bind_ortvalue_input(source.name, ort.OrtValue.ortvalue_from_numpy(x))
    binding.bind_ortvalue_output(target.name, ort.OrtValue.ortvalue_from_numpy(y))
    return Call("run(binding)", {"run": session.run_with_iobinding, "binding": binding}, y)


def bind_openvino(function: str, x: Array, y: Array) -> Call:
    """Bind a model of one operation, on tensors that share the arrays' memory."""
    _only(x, "float16", "float32")
    _choose(function, dict.fromkeys(["relu", "gelu", "gelu_tanh", "silu"], ""))
    ov = require("openvino", _EXTRA)
    operations = require("openvino.opset13", _EXTRA)
    source = operations.parameter(list(x.shape), x.dtype.type, "x")
    node = {
        "relu": lambda: operations.relu(source),
        "gelu": lambda: operations.gelu(source, "erf"),
        "gelu_tanh": lambda: operations.gelu(source, "tanh"),
        "silu": lambda: operations.swish(source, operations.constant(1, x.dtype.type)),
    }[function]()
    settings = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
        "ENABLE_CPU_PINNING": False,  # quicker for small arrays
    }
    compiled = ov.Core().compile_model(ov.Model([node], [source], function), "CPU", settings)
    request = compiled.create_infer_request()
    request.set_input_tensor(ov.Tensor(x, shared_memory=True))
    request.set_output_tensor(ov.Tensor(y, shared_memory=True))
    return Call("infer()", {"infer": request.infer}, y)


def bind_jax(function: str, x: Array, y: Array) -> Call:
    """Bind a compiled JAX function; it has no ``out=`` and allocates its result."""
    _only(x, "float16", "float32", "float64")
    jax = require("jax", _EXTRA)
    jax.config.update("jax_enable_x64", True)  # otherwise float64 becomes float32
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    nn = jax.nn
    functions = {
        "relu": nn.relu,
        "relu6": nn.relu6,
        "gelu": lambda v: nn.gelu(v, approximate=False),
        "gelu_tanh": lambda v: nn.gelu(v, approximate=True),
        "silu": nn.silu,
        "hard_swish": nn.hard_swish,
    }
    statement = _choose(function, dict.fromkeys(functions, f"{function}(x).block_until_ready()"))
    names = {function: jax.jit(functions[function]), "x": jax.numpy.asarray(x)}
    return Call(statement, names)


@cache
def _numba_function(function: str, dtype: str) -> Any:
    numba = require("numba", _EXTRA)
    erf, tanh, exp = math.erf, math.tanh, math.exp
    scalar = np.dtype(dtype).type
    half, one, root = scalar(0.5), scalar(1), scalar(math.sqrt(0.5))
    slope, cubic = scalar(_ROOT), scalar(0.044715)
    functions = {
        "relu": lambda x: max(x, scalar(0)),
        "gelu": lambda x: half * x * (one + erf(x * root)),
        "gelu_tanh": lambda x: half * x * (one + tanh(slope * x * (one + cubic * x * x))),
        "silu": lambda x: x / (one + exp(-x)),
    }
    if function not in functions:
        raise UnsupportedError(f"no {function}")
    return numba.vectorize([f"{dtype}({dtype})"])(functions[function])


def bind_numba(function: str, x: Array, y: Array) -> Call:
    """Bind a ufunc compiled by Numba, without fast-math, with erf and tanh of Python's math."""
    if x.dtype.name not in ("float32", "float64"):
        raise UnsupportedError(f"no {x.dtype.name}")
    names = {function: _numba_function(function, x.dtype.name), "x": x, "y": y}
    return Call(f"{function}(x, out=y)", names, y)


def bind_numexpr(function: str, x: Array, y: Array) -> Call:
    """Bind a compiled expression of numexpr, which has no erf."""
    if x.dtype.name not in ("float32", "float64"):
        raise UnsupportedError(f"no {x.dtype.name}")
    numexpr = require("numexpr", _EXTRA)
    numexpr.set_num_threads(1)
    scalar = x.dtype.type
    constants = {
        **{"half": scalar(0.5), "one": scalar(1), "zero": scalar(0)},
        **{"slope": scalar(_ROOT), "cubic": scalar(0.044715)},
    }
    expression = _choose(
        function,
        {
            "relu": "where(x > zero, x, zero)",
            "gelu_tanh": "half * x * (one + tanh(slope * x * (one + cubic * x * x)))",
            "silu": "x / (one + exp(-x))",
        },
    )
    names = {"evaluate": numexpr.evaluate, "e": expression, "names": {"x": x, **constants}, "y": y}
    return Call("evaluate(e, names, out=y)", names, y)


def bind_simd_ml_kernels(function: str, x: Array, y: Array) -> Call:
    """Bind simd-ml-kernels; it has no ``out=`` and allocates its result."""
    _only(x, "float32")
    kernels = require("simd_ml_kernels", _EXTRA)
    statements = {
        "relu": "relu(x)",
        "gelu": "gelu(x)",
        "gelu_tanh": "gelu(x, 'tanh')",
        "silu": "silu(x)",
    }
    names = {name: getattr(kernels, name) for name in ("relu", "gelu", "silu")}
    return Call(_choose(function, statements), {**names, "x": x})


_ALLOCATES = "has no out= and allocates its result in every call"
_CTYPES = "called through ctypes, which takes some 0.4 us of each call"

PEERS = (
    Peer("fastact", "fastact", bind_fastact),
    Peer("NumPy + SciPy", "scipy", bind_numpy, remark="NumPy's steps with out=, SciPy's erf"),
    Peer("np.copyto", "numpy", bind_copy, counts=False, remark="a plain copy, no function at all"),
    Peer("torch", "torch", bind_torch, remark="in inference mode"),
    Peer(
        "onnxruntime",
        "onnxruntime",
        bind_onnxruntime,
        capped=False,
        remark="buffers bound, no spinning",
    ),
    Peer("OpenVINO", "openvino", bind_openvino, remark="tensors share the arrays' memory"),
    Peer("jax", "jax", bind_jax, remark=_ALLOCATES),
    Peer("numba", "numba", bind_numba, remark="@vectorize, no fast-math"),
    Peer("numexpr", "numexpr", bind_numexpr, remark="has no erf"),
    Peer("simd-ml-kernels", "simd-ml-kernels", bind_simd_ml_kernels, remark=_ALLOCATES),
    Peer(
        "MKL HA",
        "mkl",
        partial(bind_mkl, mode=HIGH),
        capped=OBEYS,
        remark=f"vmsCdfNorm, then times x; {_CTYPES}",
    ),
    Peer(
        "MKL LA", "mkl", partial(bind_mkl, mode=LOW), capped=OBEYS, remark="its less accurate mode"
    ),
    Peer(
        "MKL CdfNorm alone",
        "mkl",
        partial(bind_mkl, mode=HIGH, product=False),
        counts=False,
        remark="mode HA, without the multiplication by x: not yet a GELU",
    ),
)
