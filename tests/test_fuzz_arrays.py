"""Random calls: what NumPy's own ufuncs do with the same arguments, ours do, errors included.

A short run has the same examples every time; `--hypothesis-profile long` draws many new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import ml_dtypes  # noqa: F401  # NumPy learns bfloat16 from it
import numpy as np
import pytest
from hypothesis import event, given

import fastact

REGISTRY = fastact._core.registry[fastact.isa]
STORED = [*"?bBhHiIlLqQefd", ">i2", ">u8", ">f2", ">f4", ">f8", "bfloat16"]
REFUSED = [*"FDgO", "S3", "U2", "M8[s]", "m8[s]", "V3", "i4,f4"]
DTYPES = st.sampled_from(4 * [*"efd", "bfloat16"] + 2 * STORED + REFUSED)


def like(name: str, asked: Any = None) -> np.ufunc:
    """NumPy's ufunc with the same dtypes, which tells the rules."""
    # Only np.positive takes dtype= of a dtype that is not NumPy's own.
    return np.positive if "int8" in REGISTRY[name] and asked != "bfloat16" else np.exp


class Mine(np.ndarray):
    """A subclass without rules of its own."""


@st.composite
def shapes(draw: Callable[..., Any]) -> tuple[int, ...]:
    # Beyond the blocks of strided data and the buffer of NumPy, too.
    long = st.sampled_from([511, 513, 1025, 2049, 4097, 8191, 8193])
    small = st.lists(st.integers(0, 5), max_size=3)
    return tuple(draw(st.one_of(small, small, small, st.tuples(long), st.tuples(long, st.just(2)))))


@st.composite
def layouts(draw: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype) -> dict[str, Any]:
    """Draw strides of either sign and any alignment, such that no two elements overlap."""
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in draw(st.permutations(range(len(shape)))):
        # One byte more leaves every second element, or more of them, unaligned.
        step = step * draw(st.sampled_from([1, 1, 2, 3])) + draw(st.sampled_from([0, 0, 0, 1]))
        strides[axis] = step * draw(st.sampled_from([1, 1, -1]))
        step *= max(shape[axis], 1)
    return {"shape": shape, "dtype": dtype, "strides": tuple(strides)}


def extent(layout: dict[str, Any]) -> tuple[int, int]:
    """Tell how many bytes lie before the first element, and how many from there on."""
    if 0 in layout["shape"]:
        return 0, 0
    spans = [(n - 1) * s for n, s in zip(layout["shape"], layout["strides"], strict=True)]
    before = -sum(span for span in spans if span < 0)
    return before, sum(span for span in spans if span > 0) + layout["dtype"].itemsize


@st.composite
def calls(draw: Callable[..., Any]) -> dict[str, Any]:
    """Draw the input, the output and the mask of a call by their places in memory, and options."""
    shape, dtype = draw(shapes()), np.dtype(draw(DTYPES))
    x = draw(layouts(shape, dtype))
    repeated = [draw(st.sampled_from([False, False, False, True])) for _ in shape]
    x["strides"] = tuple(0 if r else s for r, s in zip(repeated, x["strides"], strict=True))
    call: dict[str, Any] = {"x": x, "options": {}, "out": None, "where": None}
    options = call["options"]
    if draw(st.booleans()):
        options["casting"] = draw(
            st.sampled_from(["no", "equiv", "safe", "same_kind", "unsafe", "any"])
        )
    if draw(st.sampled_from([False, False, True])):
        options["dtype"] = draw(st.sampled_from([*"efdbL?Fg", "bfloat16", ">f4", None]))
    if draw(st.sampled_from([False, True])):
        options["order"] = draw(st.sampled_from([*"CFAKZ"]))
    if draw(st.sampled_from([False, False, True])):
        options["subok"] = draw(st.booleans())
    if draw(st.booleans()):
        same = dtype if dtype.name in REGISTRY["relu"] else np.dtype("f")
        kind = draw(st.one_of(st.just(same), st.just(same), DTYPES.map(np.dtype)))
        if kind.hasobject or kind.char in "gG":  # whose unused bytes nobody defines
            kind = same
        wanted = draw(st.sampled_from([shape, shape, shape, (2, *shape), shape[1:], (1,)]))
        call["out"] = draw(layouts(wanted, kind))
    if draw(st.sampled_from([False, False, True])):
        wanted = draw(st.sampled_from([shape, shape, shape[-1:], (), (3, *shape)]))
        call["where"] = draw(layouts(wanted, np.dtype(draw(st.sampled_from(["?", "?", "?", "f"])))))
    call["subclass"] = draw(st.sampled_from([np.ndarray, np.ndarray, Mine, np.matrix]))
    call["read_only"] = draw(st.sampled_from([False, False, False, True]))
    call["seed"] = draw(st.integers(0, 99))
    # In bytes: the output may lie anywhere over the input, or behind it.
    call["x_at"] = draw(st.integers(0, 9))
    call["out_at"] = draw(st.one_of(st.integers(0, 40), st.just("behind")))
    if call["where"]:  # with a mask and a cast, NumPy itself computes overlapping arrays wrongly
        call["out_at"] = "behind"
    return call


def places(call: dict[str, Any]) -> dict[str, int]:
    """Tell where the first element of each array lies, and where the last array ends."""
    found, end = {}, 0
    for key, at in (("x", call["x_at"]), ("out", call["out_at"]), ("where", "behind")):
        if call[key] is not None:
            before, behind = extent(call[key])
            found[key] = before + (end + 64 if at == "behind" else at)
            end = max(end, found[key] + behind)
    return {**found, "end": end}


class Made:
    """The arrays of a call, in memory of their own."""

    def __init__(self, call: dict[str, Any]) -> None:
        at = places(call)
        random = np.random.default_rng(call["seed"])
        self.memory = bytearray(random.bytes(at["end"] + 64))
        self.arrays: dict[str, Any] = {}
        # Small numbers where a float may become an integer, for the others are no defined cast.
        kinds = [call[key]["dtype"].kind for key in ("x", "out") if call[key]]
        kinds += [np.dtype(call["options"].get("dtype") or "f").kind]
        for key in ("x", "where", "out"):
            layout = call[key]
            if layout is None:
                continue
            if layout["dtype"].hasobject:
                array = np.full(layout["shape"], 1.5, "O")
            else:
                array = np.ndarray(**layout, buffer=self.memory, offset=at[key])
            if key == "where" and layout["dtype"] == "?":
                array[...] = np.random.default_rng(1).random(layout["shape"]) < 0.5
            if key == "x" and {*kinds} & {*"iub"} and layout["dtype"].char not in "gG":
                array[...] = np.resize(np.arange(1, 101), layout["shape"]).astype(array.dtype)
            self.arrays[key] = array
        if call["out"] is not None and call["read_only"]:
            self.arrays["out"].flags.writeable = False
        self.x = self.arrays["x"]
        if call["subclass"] is Mine or self.x.ndim == 2:
            self.x = self.x.view(call["subclass"])
        self.arguments = {k: v for k, v in self.arrays.items() if k != "x"} | call["options"]


def outcome(function: np.ufunc, made: Made) -> Any:
    """Return the result, or the class of the error among Python's own."""
    try:
        with np.errstate(all="ignore"):
            return function(made.x, **made.arguments)
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def loop_dtype(function: np.ufunc, made: Made) -> np.dtype:
    """Tell in which dtype NumPy computes the call."""
    out, dtype = made.arrays.get("out"), made.arguments.get("dtype")
    dtypes = function.resolve_dtypes(
        (made.x.dtype, None if out is None else out.dtype),
        casting=made.arguments.get("casting", "same_kind"),
        **({} if dtype is None else {"signature": (None, np.dtype(dtype))}),
    )
    return dtypes[1].newbyteorder("=")


@given(
    name=st.sampled_from(list(REGISTRY)), variant=st.sampled_from([*fastact.variants]), call=calls()
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_random_call(name: str, variant: str, call: dict[str, Any]) -> None:
    function = getattr(fastact.variants[variant], name)
    numpys = like(name, call["options"].get("dtype"))
    oracle, ours = Made(call), Made(call)
    expected, result = outcome(numpys, oracle), outcome(function, ours)
    if isinstance(expected, type):
        event("NumPy refuses it")
        asked = {ours.x.dtype.name, np.dtype(call["options"].get("dtype") or "f").name}
        if not asked <= {*REGISTRY[name]} and result is not expected:
            # No loop for it, which may be told before something else; np.positive takes no bool.
            assert result is TypeError or ours.x.dtype == "?"
        else:
            assert result is expected
            assert ours.memory == Made(call).memory
        return
    computed = loop_dtype(numpys, oracle)
    if computed.name not in REGISTRY[name]:
        event("a dtype that NumPy alone has")
        assert result is TypeError
        return
    event("computed")
    assert not isinstance(result, type), result
    assert type(result) is type(expected)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype

    fresh = Made(call)
    mask = np.asarray(fresh.arrays.get("where", True))
    with np.errstate(all="ignore"):  # overflow in a cast, of which NumPy warns
        x = np.array(fresh.x, computed, order="C")
        values = np.asarray(function(x)).astype(expected.dtype, order="C")
    shape = np.shape(expected)
    values, mask = np.broadcast_to(values, shape), np.broadcast_to(mask, shape)
    if "out" in ours.arrays:
        assert result is ours.arrays["out"]
        fresh.arrays["out"][mask] = values[mask]
        assert ours.memory == fresh.memory
    else:
        assert np.asarray(result)[mask].tobytes() == values[mask].tobytes()
        assert getattr(result, "strides", None) == getattr(expected, "strides", None)
        assert ours.memory == fresh.memory
