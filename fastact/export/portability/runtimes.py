"""The runtimes that the models are tried on, and those that must be tried by hand."""

from __future__ import annotations

import re
from typing import NamedTuple


class Runtime(NamedTuple):
    """A runtime that pip installs.

    Parameters
    ----------
    title : str
        Its name for people.
    target : str
        What the table of targets calls it.
    runner : str
        The function that runs a model, as ``module.function`` of `runners`.
    requirements : tuple of str
        What its environment holds, the runtime itself first.
    newest_python : tuple of int, optional
        The last Python that it has wheels for.
    ci : bool, optional
        Whether it is tried at every check, and not only by hand.
    """

    title: str
    target: str
    runner: str
    requirements: tuple[str, ...]
    newest_python: tuple[int, int] | None = None
    ci: bool = False

    @property
    def packages(self) -> list[str]:
        """The names of the required packages.

        Examples
        --------
        >>> RUNTIMES["tract"].packages
        ['tract', 'numpy']
        """
        return [re.split(r"[^\w-]", requirement)[0] for requirement in self.requirements]


# With onnx, which the mobile-usability checker reads models with.
_ONNXRUNTIME = ("onnxruntime>=1.32,<2", "numpy", "onnx>=1.17")

RUNTIMES = {
    "onnxruntime": Runtime(
        "onnxruntime", "onnxruntime>=1.32", "run_onnxruntime.run", _ONNXRUNTIME, ci=True
    ),
    # The first one that has the operator Gelu.
    "onnxruntime-1.17": Runtime(
        "onnxruntime 1.17",
        "onnxruntime>=1.17",
        "run_onnxruntime.run",
        ("onnxruntime==1.17.*", "numpy<2"),
        newest_python=(3, 12),
        ci=True,
    ),
    # The oldest one of the table of targets.
    "onnxruntime-1.15": Runtime(
        "onnxruntime 1.15",
        "onnxruntime>=1.15",
        "run_onnxruntime.run",
        ("onnxruntime==1.15.*", "numpy<2"),
        newest_python=(3, 11),
    ),
    "openvino": Runtime(
        "OpenVINO",
        "openvino",
        "run_openvino.run",
        ("openvino>=2026.4,<2027", "numpy"),
        ci=True,
    ),
    "tract": Runtime("tract", "tract", "run_tract.run", ("tract>=0.23.9,<0.24", "numpy"), ci=True),
    "mnn": Runtime("MNN", "mnn", "run_mnn.run", ("MNN>=3.6,<4", "numpy")),
    "nnapi": Runtime("NNAPI (checker)", "nnapi", "run_checker.nnapi", _ONNXRUNTIME),
    "coreml": Runtime("CoreML (checker)", "coreml", "run_checker.coreml", _ONNXRUNTIME),
    "coreml-mlprogram": Runtime(
        "CoreML MLProgram (checker)",
        "coreml-mlprogram",
        "run_checker.coreml_mlprogram",
        _ONNXRUNTIME,
    ),
}

# Targets that the command does not try, and why.
BY_HAND = {
    "xnnpack": "onnxruntime's package for Python is built without it",
    "qnn": "it needs a Qualcomm device or its emulator",
    "ncnn": "its converter, pnnx, brings gigabytes of PyTorch",
    "tensorrt": "it needs an NVIDIA device",
    "rknn": "it needs a Rockchip device or its emulator",
    "ethos-u": "the way to it, through LiteRT, has no light converter from ONNX",
    "tflite-micro": "the way to it, through LiteRT, has no light converter from ONNX",
}
