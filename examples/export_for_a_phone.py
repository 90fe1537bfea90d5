"""Exports one CNN for several runtimes and in 8 bits, and says what was chosen for each and why."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fastact.export import cnn, save
from fastact.export.cost import cost


def main() -> None:
    """Export the digits CNN with GELU, or what comes nearest to it where there is no GELU."""
    found = cost(cnn("digits", "gelu"))
    print(f"digits CNN: {found.parameters} parameters, {found.macs} multiply-accumulates\n")

    for target in ("onnxruntime>=1.15", "onnxruntime>=1.18", "openvino", "tract"):
        print(cnn("digits", "gelu", target=target).doc_string)
    print(cnn("digits", "gelu", target="nnapi").doc_string)
    for target in ("mnn", "tflite-micro"):
        try:
            cnn("digits", "gelu", target=target)
        except ValueError as error:
            print(f"not for {target}: {error}")
    print(cnn("digits", "gelu_tanh", target="nnapi").doc_string)

    print(f"\n{'':28}{'bytes':>6}  accuracy")
    with tempfile.TemporaryDirectory() as folder:
        for activation, dtype, form in (
            ("relu", "float32", None),
            ("relu", "uint8", None),
            ("gelu", "float32", None),
            ("gelu", "uint8", None),
            ("gelu", "uint8", "table"),
        ):
            model = cnn("digits", activation, dtype=dtype, form=form)
            size = save(model, Path(folder, "model.onnx")).stat().st_size
            facts = {entry.key: entry.value for entry in model.metadata_props}
            label = f"{activation}, {facts['form']}, {dtype}"
            print(f"{label:28}{size:6}  {facts['accuracy']}")


if __name__ == "__main__":
    main()
