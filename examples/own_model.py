"""Looks into an ONNX model, and writes its activations as one runtime likes them best.

    python examples/own_model.py [MODEL [TARGET]]

Without a model it takes a small CNN whose GELUs are operators of opset 20.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from fastact.export import cnn, inspect, rewrite, save


def main(model: str | None = None, target: str = "onnxruntime>=1.15") -> None:
    """Print what is in the model, what the target lacks, and what became of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = model or save(cnn("digits", "gelu", form="op"), Path(folder) / "cnn.onnx")
        before = inspect(path)
        print(f"{before.parameters:,} parameters, loads in onnxruntime {before.oldest_onnxruntime}")
        for found in before.activations:
            print(f"  {found.y}: {found.activation} as {' '.join(found.operators)}")
        print(f"in the way of {target}: {'; '.join(before.targets[target]) or 'nothing'}")

        result = rewrite(path, target=target)
        for change in result.changes:
            print(f"  {change.y}: {change.after or 'kept'} ({change.reason})")
        print(f"largest change of an output: {result.difference:.1e}")
        after = inspect(result.model)
        print(f"in the way of {target} now: {'; '.join(after.targets[target]) or 'nothing'}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
