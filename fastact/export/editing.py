"""Replacing the nodes of an activation in a model's protobuf message, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from . import forms, sites
from .elementwise import FLOATS
from .planning import Decision
from .reading import ModelError, infer_shapes
from .scopes import Scope, scopes
from .sites import Site

_HALVES = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}


def apply(
    model: onnx.ModelProto, decisions: Mapping[tuple[str, str], Decision], opset: int
) -> None:
    """Write sites of a model anew, in place.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, which is changed.
    decisions : mapping
        What becomes of each site, by the name of its scope and of its value y. One without a
        form is kept.
    opset : int
        The opset whose spelling of the forms to write.

    Raises
    ------
    ModelError
        If a site is not there.
    """
    found: dict[int, list[Site]] = {}
    for site in sites.find(model):
        decision = decisions.get((site.scope.name, site.y))
        if decision is not None and decision.form is not None:
            found.setdefault(id(site.scope), []).append(site)
    there = {(site.scope.name, site.y) for together in found.values() for site in together}
    lost = {key for key, decision in decisions.items() if decision.form is not None} - there
    if lost:  # the change of opset turned them into something else
        raise ModelError(f"no activation at {', '.join(sorted(y for _, y in lost))} any more")
    domains = _domains(model)
    writer = _Writer(model, opset)
    # Inner graphs first: when the nodes around are replaced, they are copied with what is inside.
    for together in reversed(found.values()):
        written = {s.y: writer.write(s, decisions[s.scope.name, s.y]) for s in together}
        _replace(together[0].scope, written, [node for s in together for node in s.nodes])
    imports = [e for e in model.opset_import if e.domain not in domains - _domains(model)]
    if found and not any(entry.domain in ("", "ai.onnx") for entry in imports):
        imports.append(onnx.helper.make_opsetid("", opset))
    del model.opset_import[:]
    model.opset_import.extend(imports)


def element_types(model: onnx.ModelProto) -> dict[str, int]:
    """Tell the element type of each value, as far as it can be inferred.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Returns
    -------
    dict of str to int
        Members of ``onnx.TensorProto.DataType``.
    """
    types = {}
    for scope in scopes(infer_shapes(model)):
        body = scope.body
        for port in (*body.input, *body.value_info, *body.output):
            if not isinstance(port, str) and port.type.HasField("tensor_type"):
                types[port.name] = port.type.tensor_type.elem_type
        types |= {tensor.name: tensor.data_type for tensor in getattr(body, "initializer", ())}
    return {name: kind for name, kind in types.items() if kind}


def in_half_precision(model: onnx.ModelProto) -> bool:
    """Tell whether any value of a model is in half precision.

    Parameters
    ----------
    model : onnx.ModelProto
        The model.

    Returns
    -------
    bool
        True if there is one.
    """
    return not _HALVES.isdisjoint(element_types(model).values())


class _Writer:
    """Writes the nodes of sites, with names that nothing in the model has yet."""

    def __init__(self, model: onnx.ModelProto, opset: int) -> None:
        self._opset = opset
        self._types = element_types(model)
        self._constants: dict[tuple[int, str, int], str] = {}
        self._taken = set()
        for scope in scopes(model):
            body = scope.body
            for port in (*body.input, *body.output, *getattr(body, "initializer", ())):
                self._taken.add(port if isinstance(port, str) else port.name)
            for node in body.node:
                self._taken |= {node.name, *node.input, *node.output}

    def write(self, site: Site, decision: Decision) -> list[onnx.NodeProto]:
        """Write the nodes of a site; its constants go to the outermost graph or function."""
        assert decision.form is not None
        text = forms.nodes(decision.activation, decision.form, self._opset, "x", "y")
        nodes = list(onnx.parser.parse_graph(f"g (float x) => (float y) {{ {text} }}").node)
        names = {"x": site.x, "y": site.y}
        if site.bias is not None:
            names |= {"x": self._new(f"{site.y}_biased"), "x_alone": site.x, "bias": site.bias}
            nodes.insert(0, onnx.helper.make_node("Add", ["x_alone", "bias"], ["x"]))

        made_by = site.scope.producers[site.y]
        for node in nodes:
            for name in node.input:
                if name in forms.CONSTANTS and name not in names:
                    names[name] = self._constant(site, name)
            for name in node.output:
                if name not in names:  # such as "y_erf"
                    names[name] = self._new(site.y + name.removeprefix("y"))
            for values in (node.input, node.output):
                values[:] = [names[name] for name in values]
            # The last node keeps the name by which people know the layer.
            last = node is nodes[-1]
            node.name = made_by.name if last else self._new(f"{node.output[0]}_node")
            node.metadata_props.extend(made_by.metadata_props)
            node.doc_string = made_by.doc_string
        return nodes

    def _constant(self, site: Site, name: str) -> str:
        """Name the scalar of this value and of the site's type, made when first asked for."""
        outermost = site.scope
        while outermost.parent is not None:
            outermost = outermost.parent
        # Inside a function no value has a type, but its constants have.
        data_type = self._types.get(site.x) or _constant_type(site)
        key = (id(outermost), name, data_type)
        if key not in self._constants:
            if data_type not in FLOATS:
                kind = onnx.TensorProto.DataType.Name(data_type).lower()
                raise ModelError(f"{site.y!r} is {kind}, but {name} is no integer")
            made = self._constants[key] = self._new(f"fastact_{name}")
            value = onnx.helper.make_tensor(made, data_type, [], [forms.CONSTANTS[name]])
            if isinstance(outermost.body, onnx.GraphProto):
                outermost.body.initializer.append(value)
            else:
                node = onnx.helper.make_node("Constant", [], [made], name=made, value=value)
                outermost.body.node.insert(0, node)
        return self._constants[key]

    def _new(self, wish: str) -> str:
        name, number = wish, 1
        while name in self._taken:
            number += 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        return name


def _constant_type(site: Site) -> int:
    for node in site.nodes:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                return int(attribute.t.data_type)
    return int(onnx.TensorProto.FLOAT)


def _replace(
    scope: Scope, written: Mapping[str, Sequence[onnx.NodeProto]], old: Sequence[onnx.NodeProto]
) -> None:
    """Put nodes in the place of those that made the values, and drop what is unused then."""
    body = scope.body
    nodes = [new for node in body.node for new in written.get(node.output[0], [node])]
    del body.node[:]
    body.node.extend(nodes)

    # Backwards, so that the uses of a value are settled before the node that makes it.
    uses = scope.uses()
    droppable = {node.output[0] for node in old} - {*written}
    dropped = set()
    for node in reversed(nodes):
        if node.output[0] in droppable and not uses[node.output[0]]:
            dropped.add(node.output[0])
            uses.subtract(node.input)
    kept = [node for node in nodes if node.output[0] not in dropped]
    del body.node[:]
    body.node.extend(kept)
    _remove(getattr(body, "value_info", None), dropped)

    constants = {name for node in old for name in node.input}
    around: Scope | None = scope
    while around is not None:
        uses = around.uses()
        unused = {name for name in constants & {*around.initializers} if not uses[name]}
        _remove(getattr(around.body, "initializer", None), unused)
        if around.parent is None and unused:  # before IR 4 they are inputs as well
            _remove(around.body.input, unused)
        around = around.parent


def _remove(entries: object, names: set[str]) -> None:
    """Remove the entries of these names from a repeated field, if the body has that field."""
    if entries is not None and names:
        kept = [entry for entry in entries if entry.name not in names]  # type: ignore[attr-defined]
        del entries[:]  # type: ignore[attr-defined]
        entries.extend(kept)  # type: ignore[attr-defined]


def _domains(model: onnx.ModelProto) -> set[str]:
    return {node.domain for scope in scopes(model) for node in scope.body.node}
