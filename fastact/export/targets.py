"""The runtimes that can be exported for: what each reads, and what it makes of an activation.

Every row says how its facts were found: by running the version named, in its source, or only in
its documentation. Where a row says nothing about a form, nothing is known, and `choose` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from .checks import one_of
from .forms import FORMS
from .table import TABLE


class Support(IntEnum):
    """What a runtime makes of a form, the worst first."""

    NO = 0
    WRONG = 1
    UNKNOWN = 2
    RUNS = 3
    FUSED = 4


@dataclass(frozen=True)
class Target:
    """A runtime.

    Parameters
    ----------
    runtime : str
        Its name for people.
    source : str
        How its facts were found, and with which version.
    opset : int, optional
        The newest opset it reads; None if not known.
    has : frozenset of str, optional
        All operators it has, in the default domain; None if no list is known.
    lacks : frozenset of str, optional
        Operators that it is known not to have.
    notes : mapping, optional
        For (activation, form) what is known beyond that.
    """

    runtime: str
    source: str
    opset: int | None = None
    has: frozenset[str] | None = None
    lacks: frozenset[str] = frozenset()
    notes: Mapping[tuple[str, str], tuple[Support, str]] = field(default_factory=dict)

    def missing(self, operators: Iterable[str]) -> list[str]:
        """Tell which operators the runtime does not have.

        Parameters
        ----------
        operators : iterable of str
            Names in ONNX's default domain.

        Returns
        -------
        list of str
            Those, sorted; what is not known to be missing is not among them.

        Examples
        --------
        >>> TARGETS["nnapi"].missing(["Conv", "Erf"])
        ['Erf']
        """
        wanted = set(operators)
        return sorted(wanted & self.lacks if self.has is None else wanted - self.has)

    def support(self, activation: str, form: str, operators: Iterable[str]) -> tuple[Support, str]:
        """Tell what the runtime makes of an activation in one of its forms.

        Parameters
        ----------
        activation, form : str
            The activation and its form.
        operators : iterable of str
            Those that the form consists of.

        Returns
        -------
        support : Support
            How well it runs.
        note : str
            That in words.
        """
        missing = self.missing(operators)
        if missing:
            return Support.NO, f"has no {' and no '.join(missing)}"
        if (activation, form) in self.notes:
            return self.notes[activation, form]
        if self.has is not None:
            return Support.RUNS, "has its operators"
        return Support.UNKNOWN, "was not tried with it"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUSED = Support.FUSED, "runs it as one operator"
_RUNS = Support.RUNS, "runs it operator by operator"
_EXACT = Support.RUNS, "computes it right"

# What onnxruntime's CPU provider makes of each form; its versions differ in the opset they read.
_ONNXRUNTIME = {
    ("relu", "op"): (Support.FUSED, "folds it into the convolution before it"),
    ("relu6", "clip"): (Support.FUSED, "folds it into the convolution before it"),
    ("gelu", "op"): _FUSED,
    ("gelu", "erf"): (Support.FUSED, "makes it one Gelu"),
    ("gelu_tanh", "op"): _FUSED,
    ("gelu_tanh", "tanh"): (Support.RUNS, "runs it as 9 operators, never fused"),
    ("gelu_quick", "quick"): (Support.FUSED, "makes it one QuickGelu"),
    ("silu", "sigmoid"): (Support.FUSED, "makes it one QuickGelu with alpha = 1"),
    ("hard_swish", "op"): (Support.RUNS, "runs it as HardSigmoid and Mul"),
    ("hard_swish", "hard_sigmoid"): _RUNS,
    ("hard_swish", "clip"): _RUNS,
    **{(name, TABLE): (Support.RUNS, "looks it up, slower than it computes") for name in FORMS},
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
            notes=_ONNXRUNTIME,
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
        notes={("relu", "op"): _RUNS, ("gelu", "op"): _FUSED, ("gelu_tanh", "tanh"): _RUNS},
    ),
    "openvino": Target(
        "OpenVINO",
        "run: 2026.4",
        notes={
            ("relu", "op"): (Support.FUSED, "folds it into the convolution before it"),
            ("gelu", "op"): (Support.FUSED, "folds it into the convolution before it"),
            ("gelu", "erf"): (Support.FUSED, "makes it one Gelu"),
            ("gelu_tanh", "tanh"): (Support.FUSED, "makes it one Gelu"),
        },
    ),
    "tract": Target(
        "tract",
        "run: 0.23.9",
        notes={
            ("relu", "op"): _EXACT,
            ("gelu", "op"): _EXACT,
            ("gelu", "erf"): _EXACT,
            ("gelu_tanh", "tanh"): _EXACT,
        },
    ),
    "ncnn": Target(
        "ncnn through pnnx",
        "run",
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
            ("relu", "op"): _EXACT,
            ("gelu", "op"): (Support.WRONG, "computes an approximation that is 4.7e-4 off"),
            ("gelu", "erf"): _EXACT,
            ("gelu_tanh", "tanh"): _EXACT,
        },
    ),
    "tensorrt": Target(
        "TensorRT",
        "the source of 8.4",
        notes={
            ("relu", "op"): _FUSED,
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
