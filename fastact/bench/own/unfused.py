"""A model whose ReLUs onnxruntime cannot fold, to measure what folding saves."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

import onnx

from ..._extras import require
from ...export import ModelError, rewrite, sites, verifying
from ...export.elementwise import ACTIVATIONS
from ...export.planning import replaceable, to_replace
from ...export.reading import check, embedded
from ...export.rewriting import load
from ...export.scopes import Scope, scopes
from ..session import OPTIMIZATION, session_options

# What the names of the ReLUs begin with, by which to find them again in the optimised graph.
MARK = "fastact_relu_"


def unfused_relu(
    model: onnx.ModelProto | str | os.PathLike[str],
    *,
    replace: str | Collection[str] | None = None,
    inputs: verifying.Inputs | None = None,
    optimization: str = OPTIMIZATION,
) -> onnx.ModelProto:
    """Make a model whose ReLUs onnxruntime computes as nodes of their own, as it does GELUs.

    Its latency, less that of the variant with ReLU, is what a GELU costs only because it is not
    folded into the convolution or product before it; the rest is arithmetic, and up to
    onnxruntime 1.24 also the reordering of the blocked layout around each Gelu.

    Every activation becomes a ReLU, and where onnxruntime folds that one, a second ReLU follows,
    which it cannot fold and which changes no value. A ThresholdedRelu with alpha = 0 would not
    do: onnxruntime 1.32 folds it into a Gemm, reorders the layout around it, which it no longer
    does for a Gelu, and has it turn NaN into 0.

    Parameters
    ----------
    model : onnx.ModelProto or path-like
        The model, or its file. It is not changed.
    replace : str or collection of str, optional
        The activations to replace; the default is all that are known.
    inputs : mapping of str to ndarray, optional
        What to run the model on; random values by default.
    optimization : str, optional
        How far onnxruntime changes the graph: see `fastact.bench.session.session_options`.

    Returns
    -------
    onnx.ModelProto
        The model. Its outputs are those of the variant with ReLU to the bit.

    Raises
    ------
    TypeError, ValueError, ModelError, ImportError, OSError
        As `fastact.bench.own.variants.alternatives`; also ModelError if onnxruntime drops the
        second ReLU, too, as it does before a quantisation that holds no negative value.

    Examples
    --------
    >>> from fastact.bench import optimized_operators
    >>> from fastact.export import cnn
    >>> operators = optimized_operators(unfused_relu(cnn("digits", "gelu")).SerializeToString())
    >>> operators["Conv"], operators["Relu"]
    (3, 3)
    """
    replaced = to_replace(replace, tuple(ACTIVATIONS))
    source = embedded(*load(model))
    found = replaceable(sites.find(source), replaced)
    places = {(site.scope.name, site.y) for site in found}
    relu = rewrite(source, activation="relu", form="op", replace=replaced, inputs=inputs).model
    probe = onnx.ModelProto()
    probe.CopyFrom(relu)
    nodes = _marked(probe, places)
    alone = _alone(probe, optimization)
    for mark, (scope, node) in nodes.items():
        if mark not in alone:
            _precede(scope, node)
    check(probe)
    if verifying.difference(relu, probe, inputs)[0] != 0:
        raise ModelError("a second ReLU behind each one changes what the model computes")
    folded = {*nodes} - _alone(probe, optimization)
    if folded:
        raise ModelError(
            f"onnxruntime has no node of its own for {len(folded)} of {len(nodes)} ReLUs, "
            "even where one follows another"
        )
    return probe


def _marked(
    model: onnx.ModelProto, places: Collection[tuple[str, str]]
) -> dict[str, tuple[Scope, onnx.NodeProto]]:
    """Give the nodes that make these values names by which to find them again."""
    marked: dict[str, tuple[Scope, onnx.NodeProto]] = {}
    for scope in scopes(model):
        for y, node in scope.producers.items():
            if (scope.name, y) in places:
                # Ends so that none is the beginning of another.
                node.name = f"{MARK}{len(marked)}_"
                marked[node.name] = (scope, node)
    return marked


def _alone(model: onnx.ModelProto, optimization: str) -> set[str]:
    """Find the marks of the ReLUs that onnxruntime computes as nodes of their own."""
    names = [node.name for node in _optimized(model, optimization) if node.op_type == "Relu"]
    # Where a function was expanded, there is more around the mark.
    return {mark for name in names for mark in re.findall(rf"{MARK}\d+_", name)}


def _optimized(model: onnx.ModelProto, optimization: str) -> Iterator[onnx.NodeProto]:
    ort = require("onnxruntime", "report")
    options = session_options(optimization=optimization)
    with tempfile.TemporaryDirectory(prefix="fastact-") as folder:
        path = Path(folder) / "optimized.onnx"
        options.optimized_model_filepath = str(path)
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        for scope in scopes(onnx.load(path)):
            yield from scope.body.node


def _precede(scope: Scope, relu: onnx.NodeProto) -> None:
    """Put another ReLU before this one."""
    first = onnx.helper.make_node("Relu", [relu.input[0]], [f"{relu.name}folded"])
    first.name = first.output[0]
    relu.input[0] = first.output[0]
    position = next(i for i, node in enumerate(scope.body.node) if node.name == relu.name)
    scope.body.node.insert(position, first)
