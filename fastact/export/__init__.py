"""ONNX export: each activation in each of its forms, and small trained CNNs."""

from .._extras import require

# Before the modules below import onnx, so that its absence is reported as a missing extra.
require("onnx", "onnx")

from .architectures import ARCHITECTURES  # noqa: E402
from .files import save  # noqa: E402
from .forms import DEFAULT_OPSET, FORMS  # noqa: E402
from .models import activation, cnn  # noqa: E402

__all__ = ["ARCHITECTURES", "DEFAULT_OPSET", "FORMS", "activation", "cnn", "save"]
