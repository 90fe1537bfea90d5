"""Makes the stored models with torch: ``python tests/export/models/make.py [FOLDER]``.

The stored files were made with torch 2.13.0, onnxscript 0.7.2 and onnx 1.23.2. They are kept
because torch is too large for the tests; where it is installed, a test makes them anew and
compares what is found in them.
"""

from __future__ import annotations

import inspect
import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import onnx
import torch
from torch import nn

Image = torch.Tensor


class ConvNext(nn.Module):
    """A ConvNeXt block: depthwise convolution, norm, and two layers with GELU between."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.norm = nn.LayerNorm(4)
        self.expand = nn.Linear(4, 8)
        self.act = nn.GELU(approximate)
        self.shrink = nn.Linear(8, 4)

    def forward(self, image: Image) -> Image:
        y = self.norm(self.depthwise(image).permute(0, 2, 3, 1))
        return image + self.shrink(self.act(self.expand(y))).permute(0, 3, 1, 2)


class Vit(nn.Module):
    """A vision transformer of one block: patches, attention, an MLP with GELU."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.patches = nn.Conv2d(4, 8, 2, stride=2)
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(approximate), nn.Linear(16, 8))
        self.head = nn.Linear(8, 3)

    def forward(self, image: Image) -> Image:
        x = self.patches(image).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        x = x + self.out(torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1) @ v)
        x = x + self.mlp(self.norm2(x))
        return self.head(x.mean(dim=1))


class Quick(nn.Module):
    """CLIP's activation, SiLU, Hardswish and ReLU6, each behind a convolution."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(4, 4, 1) for _ in range(4))

    def forward(self, image: Image) -> Image:
        a, b, c, d = self.layers
        x = a(image)
        x = b(x * torch.sigmoid(1.702 * x))
        x = c(nn.functional.silu(x))
        x = d(nn.functional.hardswish(x))
        return nn.functional.relu6(x)


class HandWritten(nn.Module):
    """Both GELUs as people write them themselves."""

    def __init__(self, approximate: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(4, 4, 1) for _ in range(2))

    def forward(self, image: Image) -> Image:
        a, b = self.layers
        x = a(image)
        x = b(x * 0.5 * (1.0 + torch.erf(x / 2.0**0.5)))
        cubic = x + 0.044715 * torch.pow(x, 3.0)
        return 0.5 * x * (1.0 + torch.tanh((2.0 / torch.pi) ** 0.5 * cubic))


# name: network, approximate, exporter is dynamo, opset
MODELS = {
    "convnext_none_script_13": (ConvNext, "none", False, 13),
    "convnext_tanh_script_13": (ConvNext, "tanh", False, 13),
    "convnext_none_dynamo_18": (ConvNext, "none", True, 18),
    "convnext_tanh_dynamo_20": (ConvNext, "tanh", True, 20),
    "vit_none_script_17": (Vit, "none", False, 17),
    "vit_tanh_script_20": (Vit, "tanh", False, 20),
    "vit_none_dynamo_20": (Vit, "none", True, 20),
    "vit_tanh_dynamo_18": (Vit, "tanh", True, 18),
    "quick_script_14": (Quick, "none", False, 14),
    "quick_dynamo_18": (Quick, "none", True, 18),
    "handwritten_script_13": (HandWritten, "none", False, 13),
    "handwritten_dynamo_18": (HandWritten, "none", True, 18),
}


def make(folder: Path) -> Iterator[Path]:
    """Export every model and yield its file.

    Parameters
    ----------
    folder : Path
        Where to.

    Yields
    ------
    Path
        The file of one model.
    """
    for name, (network, approximate, dynamo, opset) in MODELS.items():
        torch.manual_seed(1)
        module = network(approximate).eval()
        image = torch.randn(2, 4, 4, 4)
        names = {"input_names": ["image"], "output_names": ["result"], "opset_version": opset}
        batch = (
            {"dynamic_shapes": {"image": {0: torch.export.Dim("batch")}}}
            if dynamo
            else {"dynamic_axes": {"image": {0: "batch"}}}
        )
        path = folder / f"{name}.onnx"
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(module, (image,), str(path), dynamo=dynamo, **names, **batch)
        model = onnx.load(path)  # with the tensors that the exporter put beside it
        path.with_suffix(".onnx.data").unlink(missing_ok=True)
        _forget_paths(model)
        path.write_bytes(model.SerializeToString(deterministic=True))
        yield path


def _forget_paths(model: onnx.ModelProto) -> None:
    """Take out the stack traces, which name files of the machine."""
    for node in (*model.graph.node, *(n for f in model.functions for n in f.node)):
        kept = [entry for entry in node.metadata_props if "stack_trace" not in entry.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        node.doc_string = ""


if __name__ == "__main__":
    default = Path(inspect.getfile(make)).parent
    for made in make(Path(*sys.argv[1:]) if sys.argv[1:] else default):
        print(made.name, made.stat().st_size)
