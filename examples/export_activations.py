"""Exports every activation in every form, and compares onnxruntime with fastact's own ufunc."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

import fastact
from fastact.export import FORMS, activation, save


def main() -> None:
    """Print the largest difference of each form."""
    x = np.linspace(-6, 6, 1_000, dtype=np.float32).reshape(10, 100)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1

    print(f"{'activation':12}{'form':14}{'opset':>5}{'bytes':>7}  largest difference")
    with tempfile.TemporaryDirectory() as folder:
        for name, forms in FORMS.items():
            for form in forms:
                # The first dimension is dynamic, so that any number of rows can be run.
                model = activation(name, form=form, shape=("batch", 100))
                path = save(model, Path(folder) / f"{name}_{form}.onnx")
                session = onnxruntime.InferenceSession(path, options)
                (y,) = session.run(["y"], {"x": x})
                difference = np.abs(y - getattr(fastact, name)(x)).max()
                opset, size = model.opset_import[0].version, path.stat().st_size
                print(f"{name:12}{form:14}{opset:5}{size:7}  {difference:.1e}")


if __name__ == "__main__":
    main()
