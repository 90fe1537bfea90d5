"""What `fastact inspect` and `fastact rewrite` print."""

from __future__ import annotations

from collections.abc import Iterator

from .inspection import Activation, Inspection, Port
from .rewriting import Rewritten


def describe(found: Inspection, name: str) -> Iterator[str]:
    """Yield the lines that tell what is in a model.

    Parameters
    ----------
    found : Inspection
        What is in it.
    name : str
        Its file.

    Yields
    ------
    str
        A line.
    """
    opsets = ", ".join(f"{domain or 'opset'} {n}" for domain, n in found.opsets.items())
    yield name
    yield f"  {'versions':<12}{opsets}, IR {found.ir}"
    yield f"  {'made by':<12}{found.producer or 'unknown'}"
    for what, ports in (("input", found.inputs), ("output", found.outputs)):
        for port in ports:
            yield f"  {what:<12}{_port(port)}"
    functions = f", {found.functions} functions" if found.functions else ""
    yield f"  {'size':<12}{found.nodes} nodes{functions}, {found.parameters:,} parameters, " + (
        "MACs not known, as a shape is not" if found.macs is None else f"{found.macs:,} MACs"
    )
    oldest = found.oldest_onnxruntime
    yield f"  {'loads in':<12}" + (
        "no onnxruntime known" if oldest is None else f"onnxruntime {oldest} and later"
    )
    yield ""
    yield "activations" if found.activations else "no activations found"
    for activation in found.activations:
        yield f"  {_activation(activation)}"
    yield ""
    yield "what stands in the way of"
    for target, ways in found.targets.items():
        yield f"  {target:<19} {'; '.join(ways) or 'nothing known'}"


def describe_changes(result: Rewritten, name: str, given: bool) -> Iterator[str]:
    """Yield the lines that tell what was rewritten.

    Parameters
    ----------
    result : Rewritten
        The outcome.
    name : str
        The file that was written.
    given : bool
        Whether the model was run on inputs that the user gave.

    Yields
    ------
    str
        A line.
    """
    opset, ir = (
        f"{what} {old}" if old == new else f"{what} {old} -> {new}"
        for what, (old, new) in (("opset", result.opset), ("IR", result.ir))
    )
    count = sum(change.after is not None for change in result.changes)
    yield f"{name}: {count} of {len(result.changes)} activations rewritten, {opset}, {ir}"
    for change in result.changes:
        where = f"{change.y} in {change.scope}" if change.scope else change.y
        outcome = f"-> {change.after}" if change.after else f"kept: {change.reason}"
        yield f"  {where}: {change.activation} ({' '.join(change.before)}) {outcome}"
    inputs = "the given inputs" if given else "random inputs"
    yield (
        f"Largest change of an output on {inputs}: {result.difference:.2g}, which is "
        f"{result.relative:.2g} of its largest value"
        + (f" (tolerance {result.tolerance:.0e})." if result.tolerance is not None else ".")
    )
    if result.tolerance is None:
        yield "This model computes something else than before: train it again before using it."


def _port(port: Port) -> str:
    shape = "of unknown shape" if port.shape is None else f"[{', '.join(map(str, port.shape))}]"
    return f"{port.name}: {port.type} {shape}"


def _activation(found: Activation) -> str:
    elements = "?" if found.elements is None else f"{found.elements:,}"
    where = f" in {found.scope}" if found.scope else ""
    island = ", float between quantised values" if found.between_quantised else ""
    return (
        f"{found.activation:<11} {found.form:<12} {elements:>10} elements  "
        f"{found.y}{where} ({' '.join(found.operators)}){island}"
    )
