"""The runtimes that can be exported for: what each reads, and what it makes of an activation.

Every row says how its facts were found: by running the version named, in its source, or only in
its documentation. Where a row says nothing about a form, nothing is known, and `choose` says so.
"""

from __future__ import annotations

import re

from .checks import one_of
from .forms import FORMS
from .support import Support, Target
from .table import TABLE


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ONE = Support.FUSED, "runs it as one operator"
_RUNS = Support.RUNS, "runs it operator by operator"
_EXACT = Support.RUNS, "computes it right"

# What onnxruntime's CPU provider makes of each form; its versions differ in the opset they read.
_ONNXRUNTIME = {
    ("relu", "op"): (Support.FUSED, "folds it into the convolution before it"),
    ("relu6", "clip"): (Support.FUSED, "folds it into the convolution before it"),
    ("gelu", "op"): _ONE,
    ("gelu", "erf"): (Support.FUSED, "makes it one Gelu"),
    ("gelu_tanh", "op"): _ONE,
    ("gelu_tanh", "tanh"): (Support.RUNS, "runs it as 9 operators, never fused"),
    ("gelu_quick", "quick"): (Support.FUSED, "makes it one QuickGelu"),
    ("silu", "sigmoid"): (Support.FUSED, "makes it one QuickGelu with alpha = 1"),
    ("hard_swish", "op"): (Support.RUNS, "runs it as HardSigmoid and Mul"),
    ("hard_swish", "hard_sigmoid"): _RUNS,
    ("hard_swish", "clip"): _RUNS,
    **{(name, TABLE): (Support.RUNS, "looks it up, slower than it computes") for name in FORMS},
}

# Which reads the operator Gelu, but has no kernel for it.
_ONNXRUNTIME_1_17 = {
    ("gelu", "op"): (Support.RUNS, "runs it as 9 operators"),
    ("gelu_tanh", "op"): (Support.RUNS, "runs it as 14 operators"),
}

# The first version of each generation that was run, and the newest opset it loads.
_ONNXRUNTIME_OPSETS = {
    (1, 15): 19,
    (1, 17): 20,
    (1, 18): 21,
    (1, 21): 22,
    (1, 23): 23,
    (1, 24): 25,
    (1, 25): 26,
    (1, 32): 28,
}

# From the operator lists that the mobile-usability checker of onnxruntime 1.32 goes by.
_MOBILE = "run: the mobile-usability checker of onnxruntime 1.32.0"
_COREML = _names("""
    Add AveragePool Cast Clip Concat Conv DepthToSpace Div Gemm GlobalAveragePool GlobalMaxPool
    LeakyRelu MatMul MaxPool Mul Pow PRelu Reciprocal ReduceSum Relu Reshape Resize Shape Sigmoid
    Slice Softmax Split Squeeze Sqrt Sub Tanh Transpose
    """)
_COREML_NEURAL_NETWORK = _COREML | _names("ArgMax BatchNormalization Flatten Gather LRN Pad")
_COREML_ML_PROGRAM = _COREML | _names("""
    And ArgMax Ceil ConvTranspose Cos Elu Erf Exp GatherND Gelu GridSample GroupNormalization
    HardSigmoid Identity InstanceNormalization LayerNormalization Max ReduceMax ReduceMean Round
    Sin Softplus Tile Unsqueeze Where
    """)
_NNAPI = _names("""
    Abs Add AveragePool BatchNormalization Cast Clip Concat Conv DepthToSpace DequantizeLinear Div
    Elu Exp Flatten Floor Gather Gemm GlobalAveragePool GlobalMaxPool Identity LeakyRelu Log LRN
    MatMul MaxPool Max Min Mul Neg Pad Pow PRelu QLinearConv QLinearMatMul QuantizeLinear
    ReduceMean Relu Reshape Resize Sigmoid Sin Slice Softmax Split Sqrt Squeeze Sub Tanh Transpose
    Unsqueeze
    """)

TARGETS = {
    **{
        f"onnxruntime>={major}.{minor}": Target(
            f"onnxruntime from {major}.{minor} on",
            "run: 1.15.1 to 1.32.0",
            opset,
            notes=_ONNXRUNTIME | (_ONNXRUNTIME_1_17 if (major, minor) == (1, 17) else {}),
        )
        for (major, minor), opset in _ONNXRUNTIME_OPSETS.items()
    },
    "nnapi": Target("onnxruntime's NNAPI provider", _MOBILE, has=_NNAPI),
    "coreml": Target("onnxruntime's CoreML NeuralNetwork", _MOBILE, has=_COREML_NEURAL_NETWORK),
    "coreml-mlprogram": Target("onnxruntime's CoreML MLProgram", _MOBILE, has=_COREML_ML_PROGRAM),
    "xnnpack": Target(
        "onnxruntime's XNNPACK provider",
        "its source",
        lacks=frozenset({"Gelu", "Erf", "Tanh"}),
        notes={("relu", "op"): (Support.FUSED, "folds it into the convolution before it")},
    ),
    "qnn": Target(
        "onnxruntime's QNN provider",
        "its source and documentation",
        lacks=frozenset({"Erf"}),
        notes={("relu", "op"): _RUNS, ("gelu", "op"): _ONE, ("gelu_tanh", "tanh"): _RUNS},
    ),
    "openvino": Target(
        "OpenVINO",
        "run: 2026.4",
        notes={
            ("relu", "op"): (Support.FUSED, "folds it into the convolution before it"),
            ("relu6", "clip"): _ONE,
            ("gelu", "op"): (Support.FUSED, "folds it into the convolution before it"),
            ("gelu", "erf"): (Support.FUSED, "makes it one Gelu"),
            ("gelu_tanh", "op"): _ONE,
            ("gelu_tanh", "tanh"): (Support.FUSED, "makes it one Gelu"),
            ("gelu_quick", "quick"): _ONE,
            ("silu", "sigmoid"): _ONE,
            ("hard_swish", "op"): _ONE,
            ("hard_swish", "hard_sigmoid"): _RUNS,
            ("hard_swish", "clip"): _ONE,
        },
    ),
    "tract": Target(
        "tract",
        "run: 0.23.9",
        notes={
            ("relu", "op"): _ONE,
            ("relu6", "clip"): _ONE,
            ("gelu", "op"): _ONE,
            ("gelu", "erf"): (Support.FUSED, "makes it one GeluExact"),
            ("gelu_tanh", "op"): _ONE,
            ("gelu_tanh", "tanh"): _RUNS,
            ("gelu_quick", "quick"): _RUNS,
            ("silu", "sigmoid"): _ONE,
            ("hard_swish", "op"): _ONE,
            ("hard_swish", "hard_sigmoid"): _RUNS,
            ("hard_swish", "clip"): _RUNS,
        },
    ),
    "ncnn": Target(
        "ncnn through pnnx",
        "run by hand",
        notes={
            ("relu", "op"): _EXACT,
            ("gelu", "op"): _EXACT,
            ("gelu", "erf"): (Support.FUSED, "makes it its own GELU"),
            ("gelu_tanh", "tanh"): (
                Support.RUNS,
                "computes it right, but turns a spelling with Pow into the exact GELU",
            ),
        },
    ),
    "mnn": Target(
        "MNN",
        "run: 3.6.1",
        notes={
            ("relu", "op"): _ONE,
            ("relu6", "clip"): _ONE,
            ("gelu", "op"): (Support.WRONG, "computes an approximation that is 4.7e-4 off"),
            ("gelu", "erf"): (Support.WRONG, "makes it its operator, which is 4.7e-4 off"),
            ("gelu_tanh", "op"): (Support.WRONG, "computes an approximation that is 1.8e-4 off"),
            ("gelu_tanh", "tanh"): _RUNS,
            ("gelu_quick", "quick"): _RUNS,
            ("silu", "sigmoid"): _ONE,
            ("hard_swish", "op"): _ONE,
            ("hard_swish", "hard_sigmoid"): _RUNS,
            ("hard_swish", "clip"): _ONE,
        },
    ),
    "tensorrt": Target(
        "TensorRT",
        "the source of 8.4",
        notes={
            ("relu", "op"): _ONE,
            ("gelu", "erf"): (Support.RUNS, "runs it in float32 and float16"),
            ("gelu_tanh", "tanh"): (Support.RUNS, "runs it, in int8 too"),
        },
    ),
    "rknn": Target(
        "RKNN",
        "the documentation of 1.6",
        opset=19,
        lacks=frozenset({"Gelu"}),
        notes={("relu", "op"): _RUNS, ("gelu", "erf"): _RUNS},
    ),
    "ethos-u": Target(
        "Ethos-U after conversion to TFLite",
        "run: Vela 5.2, on TFLite files",
        lacks=frozenset({"Erf"}),
        notes={("relu", "op"): _RUNS, ("gelu_tanh", "tanh"): (Support.RUNS, "runs TANH, in int8")},
    ),
    "tflite-micro": Target(
        "TFLite Micro and Edge TPU after conversion to TFLite",
        "documentation",
        lacks=frozenset({"Gelu", "Erf"}),
        notes={("relu", "op"): _RUNS, ("gelu_tanh", "tanh"): _RUNS},
    ),
}

# Providers that take from onnxruntime the operators they have.
DELEGATING = ("nnapi", "coreml", "coreml-mlprogram", "xnnpack", "qnn")


def find(name: str) -> Target:
    """Look up a target.

    Parameters
    ----------
    name : str
        A key of `TARGETS`; or ``"onnxruntime>="`` and any version from the oldest there on; or
        ``"onnxruntime"``, which is all of these.

    Returns
    -------
    Target
        The runtime.

    Raises
    ------
    TypeError
        If `name` is not a string.
    ValueError
        If it is unknown, or the version of onnxruntime is too old to be known.

    Examples
    --------
    >>> find("onnxruntime>=1.20").opset
    21
    """
    version = re.fullmatch(r"onnxruntime(?:>=(\d+)\.(\d+)(?:\.\d+)?)?", str(name))
    if version is None:
        return TARGETS[one_of("target", name, ("onnxruntime", *TARGETS))]
    oldest = min(_ONNXRUNTIME_OPSETS)
    asked = tuple(map(int, version.groups())) if version[1] else oldest
    if asked < oldest:
        raise ValueError(
            f"target {name!r} is not known; the oldest onnxruntime that was run is "
            f"{'.'.join(map(str, oldest))}"
        )
    major, minor = max(first for first in _ONNXRUNTIME_OPSETS if first <= asked)
    return TARGETS[f"onnxruntime>={major}.{minor}"]
