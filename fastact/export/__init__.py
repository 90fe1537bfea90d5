"""ONNX export: each activation in each of its forms, and small trained CNNs."""

from .._extras import require

# Before the modules below import onnx, so that its absence is reported as a missing extra.
require("onnx", "onnx")

from .architectures import ARCHITECTURES  # noqa: E402
from .choice import Choice, choose  # noqa: E402
from .files import save  # noqa: E402
from .forms import DEFAULT_OPSET, FORMS  # noqa: E402
from .inspection import Inspection, inspect  # noqa: E402
from .models import activation, cnn  # noqa: E402
from .quantization import quantize  # noqa: E402
from .reading import ModelError  # noqa: E402
from .rewriting import Rewritten, rewrite  # noqa: E402
from .support import Target  # noqa: E402
from .targets import TARGETS  # noqa: E402

__all__ = [
    "ARCHITECTURES",
    "DEFAULT_OPSET",
    "FORMS",
    "TARGETS",
    "Choice",
    "Inspection",
    "ModelError",
    "Rewritten",
    "Target",
    "activation",
    "choose",
    "cnn",
    "inspect",
    "quantize",
    "rewrite",
    "save",
]
