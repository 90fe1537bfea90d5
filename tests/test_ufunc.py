"""Arrays of every kind: whatever NumPy's own ufuncs take, ours take by the same rules."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings

import fastact

# For every run the same examples, of which each is a whole array.
property_test = settings(max_examples=60, deadline=None, derandomize=True, database=None)

REGISTRY = fastact._core.registry[fastact.isa]
FLOATS = ("float16", "bfloat16", "float32", "float64")
CASES = st.sampled_from([(name, dtype) for name, bounds in REGISTRY.items() for dtype in bounds])


def like(name: str) -> np.ufunc:
    """NumPy's ufunc with the same dtypes: where rules are NumPy's, it tells them."""
    return np.positive if "int8" in REGISTRY[name] else np.exp


def random_bits(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Every bit pattern is as likely: NaNs, infinities and subnormals are among them."""
    count = int(np.prod(shape))
    random = np.random.default_rng(seed).bytes(count * np.dtype(dtype).itemsize)
    return np.frombuffer(bytearray(random), dtype).reshape(shape)


def alone(function: np.ufunc, x: np.ndarray) -> np.ndarray:
    """Compute each element in a contiguous array of its own: the oracle."""
    y = np.empty(x.shape, x.dtype)
    for index in np.ndindex(x.shape):
        y[index] = function(np.array([x[index]]))[0]
    return y


def assert_same_bits(y: Any, expected: np.ndarray) -> None:
    y = np.asarray(y)
    assert y.dtype == expected.dtype
    assert y.shape == expected.shape
    assert y.tobytes() == expected.tobytes()


def contiguous(x: np.ndarray, function: np.ufunc) -> np.ndarray:
    """Compute on a fresh contiguous copy, which test_any_view holds against the oracle."""
    return np.asarray(function(np.array(x, order="C", copy=True)))


@st.composite
def views(draw: Callable[..., Any], dtype: str) -> np.ndarray:
    """Draw an array and a view of it: steps, reversals, transposition, repetition."""
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=7))
    x = random_bits(dtype, shape, draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        x = np.asfortranarray(x)
    if shape:
        x = np.asarray(x[draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=5))])
    x = x.transpose(draw(st.permutations(range(x.ndim))))
    if draw(st.booleans()):
        x = np.broadcast_to(x, (draw(st.integers(0, 3)), *x.shape))
    return x


def uses(name: str, variant: str = fastact.isa) -> np.ufunc:
    function: np.ufunc = getattr(fastact.variants[variant], name)
    return function


@property_test
@given(case=CASES, variant=st.sampled_from(list(fastact.variants)), data=st.data())
def test_any_view(case: tuple[str, str], variant: str, data: Any) -> None:
    name, dtype = case
    function = uses(name, variant)
    x = data.draw(views(dtype))
    before = x.tobytes()
    y = function(x)
    assert_same_bits(y, alone(function, x))
    assert x.tobytes() == before
    assert type(y) is type(np.positive(x))  # 0-d gives a scalar
    if isinstance(y, np.ndarray):
        assert y.strides == np.positive(x).strides  # the memory order is kept


@property_test
@given(case=CASES, data=st.data())
def test_out_of_any_layout(case: tuple[str, str], data: Any) -> None:
    name, dtype = case
    function = uses(name)
    x = data.draw(views(dtype))
    steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in x.shape]
    memory = random_bits(
        dtype, tuple(abs(s) * n + 1 for s, n in zip(steps, x.shape, strict=True)), 1
    )
    expected = memory.copy()
    index = tuple(
        slice(0, s * n, s) if s > 0 else slice(-s * n, 0, s)
        for s, n in zip(steps, x.shape, strict=True)
    )
    out = memory[index] if index else memory.reshape(())
    assert function(x, out=out) is out
    if index:
        expected[index] = contiguous(x, function)
    else:
        expected = contiguous(x, function)
    assert_same_bits(memory, expected)


@property_test
@given(case=CASES, seed=st.integers(0, 99), data=st.data())
def test_out_that_overlaps_the_input(case: tuple[str, str], seed: int, data: Any) -> None:
    name, dtype = case
    function = uses(name)
    memory = random_bits(dtype, (data.draw(st.sampled_from([12, 60, 3000])),), seed)
    size = memory.size // data.draw(st.integers(2, 4))
    x_slice, y_slice = (data.draw(slices(memory.size, size)) for _ in range(2))
    expected = memory.copy()
    expected[y_slice] = contiguous(memory[x_slice], function)
    function(memory[x_slice], out=memory[y_slice])
    assert_same_bits(memory, expected)


@st.composite
def slices(draw: Callable[..., Any], length: int, size: int) -> slice:
    """`size` places among `length`, in a step of either sign."""
    step = draw(st.integers(1, length // size))
    start = draw(st.integers(0, length - 1 - step * (size - 1)))
    last = start + step * (size - 1)
    if draw(st.booleans()):
        return slice(start, last + 1, step)
    return slice(last, start - 1 if start else None, -step)


@pytest.mark.parametrize("turn", [np.transpose, np.flip, np.flipud, np.fliplr, np.rot90])
def test_in_place_turned(name: str, variant: str, turn: Callable[[np.ndarray], np.ndarray]) -> None:
    function = uses(name, variant)
    for side in (3, 17, 130):
        x = random_bits("float32", (side, side), side)
        expected = contiguous(x, function)
        function(x, out=turn(x))
        assert_same_bits(turn(x), expected)


@property_test
@given(case=CASES, data=st.data())
def test_where(case: tuple[str, str], data: Any) -> None:
    name, dtype = case
    function = uses(name)
    x = data.draw(views(dtype))
    mask = np.random.default_rng(data.draw(st.integers(0, 99))).random(x.shape) < 0.5
    out = random_bits(dtype, x.shape, 2)
    expected = np.where(mask, contiguous(x, function), out)
    assert function(x, out=out, where=mask) is out
    assert_same_bits(out, expected)


def test_broadcasts_into_out(name: str) -> None:
    function = uses(name)
    x = random_bits("float32", (1, 5), 3)
    out = np.empty((4, 5), np.float32)
    function(x, out=out)
    assert_same_bits(out, np.broadcast_to(function(x), (4, 5)).copy())


DTYPES = ["?", *"bBhHiIlLqQefd"]


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("computed", [None, *"efd"])
def test_dtype_and_casting_are_as_numpy_has_them(
    name: str, computed: str | None, casting: Any
) -> None:
    function = uses(name)
    for stored in DTYPES:
        if stored == "?" and like(name) is np.positive:
            continue  # np.positive has no loop for bool
        x = np.array([0, 1, 2, 3], stored)
        try:
            expected = like(name)(x, dtype=computed, casting=casting)
        except TypeError:
            with pytest.raises(TypeError):
                function(x, dtype=computed, casting=casting)
        else:
            y = function(x, dtype=computed, casting=casting)
            assert_same_bits(y, contiguous(x.astype(expected.dtype), function))


def test_bool_is_the_smallest_type(name: str) -> None:
    y = uses(name)(np.array([True, False]))
    assert y.dtype == ("int8" if "int8" in REGISTRY[name] else np.exp(True).dtype)
    assert_same_bits(y, uses(name)(np.array([1, 0], y.dtype)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_computes_in_the_dtype_asked_for(name: str, dtype: str) -> None:
    x = random_bits("float16", (100,), 4)
    x = x[np.isfinite(x)]
    y = uses(name)(x, dtype=dtype)
    assert_same_bits(y, uses(name)(x.astype(dtype)))


def test_out_of_another_dtype(name: str) -> None:
    # Computed in the dtype of the input, then cast, as np.exp does.
    x = np.linspace(-4, 4, 50, dtype=np.float32)
    out = np.empty(50)
    uses(name)(x, out=out)
    assert_same_bits(out, uses(name)(x).astype(np.float64))


@pytest.mark.parametrize("dtype", FLOATS)
def test_scalars_and_lists(name: str, dtype: str) -> None:
    function = uses(name)
    scalar = np.dtype(dtype).type(-1.5)
    y = function(scalar)
    assert type(y) is type(scalar)
    assert_same_bits(y, function(np.array([-1.5], dtype))[0])
    assert_same_bits(function(np.array(-1.5, dtype)), np.asarray(y))
    assert type(function(-1.5)) is np.float64
    assert_same_bits(function([[-1.5], [2]]), function(np.array([[-1.5], [2.0]])))
    assert type(function(2)) is type(like(name)(2))


@pytest.mark.parametrize("dtype", FLOATS)
def test_swapped_unaligned_and_read_only(name: str, variant: str, dtype: str) -> None:
    function = uses(name, variant)
    x = random_bits(dtype, (1500,), 5)
    expected = contiguous(x, function)
    swapped = x.byteswap().view(x.dtype.newbyteorder())
    assert_same_bits(function(swapped), expected)

    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(dtype)
    assert not unaligned.flags.aligned
    assert not unaligned.flags.writeable
    assert_same_bits(function(unaligned), expected)
    out = np.frombuffer(bytearray(x.nbytes + 1), np.uint8)[1:].view(dtype)
    function(x, out=out)
    assert_same_bits(out.copy(), expected)

    field = np.zeros(x.size, [("pad", "u1"), ("x", dtype)])["x"]  # unaligned and strided
    field[...] = x
    assert_same_bits(function(field), expected)


def test_memory_map(name: str, tmp_path: Path) -> None:
    x = random_bits("float32", (1000,), 6)
    (tmp_path / "x").write_bytes(x.tobytes())
    source = np.memmap(tmp_path / "x", np.float32, "r")
    target = np.memmap(tmp_path / "y", np.float32, "w+", shape=x.shape)
    uses(name)(source, out=target)
    target.flush()
    assert (tmp_path / "y").read_bytes() == contiguous(x, uses(name)).tobytes()
    assert type(uses(name)(source)) is type(np.positive(source))


def test_masked_array(name: str) -> None:
    x = np.ma.MaskedArray(np.float32([-1, 2, -3, 4]), mask=[0, 1, 0, 0])
    y = uses(name)(x)
    assert type(y) is np.ma.MaskedArray
    assert y.mask.tolist() == x.mask.tolist()
    assert_same_bits(y.compressed(), uses(name)(x.compressed()))


def test_subclass_and_array_ufunc(name: str) -> None:
    class Mine(np.ndarray):
        pass

    class Takes:
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any) -> tuple[Any, ...]:
            return ufunc, method, inputs

    function = uses(name)
    x = np.float32([-1, 2]).view(Mine)
    assert type(function(x)) is Mine
    takes = Takes()
    assert function(takes) == (function, "__call__", (takes,))


BAD_OUTS = {
    "shape": (lambda: np.full(4, 7, np.float32), ValueError),
    "fewer dimensions": (lambda: np.full((), 7, np.float32), ValueError),
    "integers": (lambda: np.full(3, 7), TypeError),
    "list": (lambda: [7, 7, 7], TypeError),
}


@pytest.mark.parametrize("kind", BAD_OUTS)
def test_a_wrong_out_is_refused_before_it_is_written(name: str, kind: str) -> None:
    make, error = BAD_OUTS[kind]
    out = make()
    with pytest.raises(error):
        uses(name)(np.float32([-1, 2, 3]), out=out)
    assert np.array_equal(out, make())


def test_a_read_only_out_is_refused(name: str) -> None:
    out = np.full(3, 7, np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        uses(name)(np.float32([-1, 2, 3]), out=out)
    assert out.tolist() == [7, 7, 7]


REFUSED = {
    "object": np.array([1.0, None]),
    "complex64": np.zeros(2, "F"),
    "complex128": np.zeros(2, "D"),
    np.dtype("G").name: np.zeros(2, "G"),
    np.dtype("g").name: np.zeros(2, "g"),
    "S3": np.zeros(2, "S3"),
    "U3": np.zeros(2, "U3"),
    "datetime64[s]": np.zeros(2, "M8[s]"),
    "timedelta64[s]": np.zeros(2, "m8[s]"),
    "V4": np.zeros(2, "V4"),
    "[('f0', '<i4'), ('f1', '<f4')]": np.zeros(2, "<i4,<f4"),
}


@pytest.mark.parametrize("shape", [(2,), (0,), ()])
@pytest.mark.parametrize("named", REFUSED)
def test_a_refused_dtype_is_named_with_the_accepted_ones(
    name: str, variant: str, named: str, shape: tuple[int, ...]
) -> None:
    if np.dtype("g") == np.dtype("d") and REFUSED[named].dtype == np.dtype("g"):
        pytest.skip("long double is float64 here")
    x = np.resize(REFUSED[named], shape)
    out = np.full(shape, 7.0)
    for arguments in ({}, {"out": out}):
        with pytest.raises(TypeError) as caught:
            uses(name, variant)(x, **arguments)
        message = str(caught.value)
        assert message.startswith(name)
        assert named in message
        assert all(accepted in message for accepted in REGISTRY[name])
    assert (out == 7).all()


def test_text_and_none_are_refused(name: str) -> None:
    strings = np.array(["a"], np.dtypes.StringDType())
    for x in (strings, "1.0", b"1", None, [1.0, None], object(), {}, 1j, 10**30):
        with pytest.raises(TypeError):
            uses(name)(x)


@pytest.mark.parametrize("stored", ["float8_e4m3fn", "float8_e5m2", "int4"])
def test_a_dtype_of_ml_dtypes_computes_or_is_refused(name: str, stored: str) -> None:
    values = [-3.0, -1.0, 0.0, 0.5, 2.0] if stored != "int4" else [-3, -1, 0, 1, 2]
    x = np.array(values, getattr(ml_dtypes, stored))
    try:
        y = uses(name)(x)
    except TypeError as error:
        assert stored in str(error)  # noqa: PT017
    else:
        assert_same_bits(y, uses(name)(np.array(values, y.dtype)))


def test_bfloat16_stays_bfloat16(name: str, variant: str) -> None:
    function = uses(name, variant)
    x = random_bits("bfloat16", (40, 50), 9)
    y = function(x)
    assert y.dtype == ml_dtypes.bfloat16
    assert_same_bits(y, alone(function, x))
    assert_same_bits(function(x.T), y.T)
    assert_same_bits(function(x[::-2, ::3]), y[::-2, ::3])
    assert type(function(x[0, 0])) is ml_dtypes.bfloat16
    assert_same_bits(function(x[:0]), y[:0])
    assert_same_bits(function(x, casting="no"), y)
    in_place = x.copy()
    assert function(in_place, out=in_place) is in_place
    assert_same_bits(in_place, y)


def test_bfloat16_is_computed_in_the_dtype_asked_for(name: str) -> None:
    x = random_bits("bfloat16", (100,), 10)
    x = x[np.isfinite(x)]
    for dtype in ("float32", "float64"):
        y = uses(name)(x, dtype=dtype)
        assert_same_bits(y, uses(name)(x.astype(dtype)))
    out = np.empty(x.size, np.float32)
    uses(name)(x, out=out)
    assert_same_bits(out, uses(name)(x).astype(np.float32))


LATER = """
import numpy as np, fastact
x = [-1.0, 0.5, 2.0]
early = [f(np.float32(x)).tobytes() for v in fastact.variants.values() for f in v]
import ml_dtypes
for v in fastact.variants.values():
    for f in v:
        y = f(np.array(x, ml_dtypes.bfloat16))
        z = np.array([f(np.float32([n]))[0] for n in x]).astype(ml_dtypes.bfloat16)
        assert (y.dtype, y.tobytes()) == (z.dtype, z.tobytes()), f
assert early == [f(np.float32(x)).tobytes() for v in fastact.variants.values() for f in v]
print("same")
"""


def test_bfloat16_may_come_after_fastact() -> None:
    package = str(Path(fastact.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", LATER],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
    )
    assert (result.stdout, result.stderr) == ("same\n", "")


@pytest.mark.parametrize("dtype", FLOATS)
def test_never_a_warning(name: str, variant: str, dtype: str) -> None:
    function = uses(name, variant)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    # The sweep reaches from +0 to the last NaN: every sign, exponent and kind of payload.
    stride = {"float32": 20_011, "float64": (1 << 46) + 1}.get(dtype, 1)
    count = (np.iinfo(unsigned).max) // stride + 1
    patterns = (np.arange(count, dtype=np.uint64) * np.uint64(stride)).astype(unsigned)
    x = patterns.view(dtype)
    out = np.empty_like(x)
    with np.errstate(all="raise"):
        function(x, out=out)
        function(x[::-3])
        for i in range(0, x.size, x.size // 500):
            function(x[i : i + 1])
            function(x[i])


def test_the_status_of_the_caller_is_kept(name: str) -> None:
    # A call between an operation that warns and the next one neither hides nor repeats it.
    with np.errstate(all="call"), np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)
        uses(name)(np.float32([np.nan, np.inf, 1e-40]))
        with pytest.raises(FloatingPointError):
            np.divide(np.float32([1]), np.float32([0]))


def test_is_a_ufunc(name: str, variant: str) -> None:
    function = uses(name, variant)
    assert isinstance(function, np.ufunc)
    assert function.__name__ == name
    assert (function.nin, function.nout, function.nargs) == (1, 1, 2)
    assert function.signature is None
    assert function.identity is None
    registered = set(fastact._core.registry[variant][name])
    # NumPy lists its own dtypes alone, and not what others have registered.
    assert {np.dtype(t[0]).name for t in function.types} == registered - {"bfloat16"}
    assert all(t[0] == t[-1] for t in function.types)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat", "outer"])
def test_methods_of_binary_ufuncs_are_refused(name: str, method: str) -> None:
    x = np.float32([1, 2])
    arguments = {"reduceat": ([0, 1],), "outer": (x,)}.get(method, ())
    errors = []
    for function in (uses(name), np.exp):
        with pytest.raises((ValueError, TypeError)) as caught:
            getattr(function, method)(x, *arguments)
        errors.append(caught.type)
    assert errors[0] is errors[1]


def test_at(name: str) -> None:
    x = random_bits("float32", (50,), 7)
    expected = x.copy()
    expected[[3, 7, 40]] = contiguous(x[[3, 7, 40]], uses(name))
    uses(name).at(x, [3, 7, 40])
    assert_same_bits(x, expected)


def test_pickle_and_copy(name: str, variant: str) -> None:
    function = uses(name, variant)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.copy(function) is function
    assert copy.deepcopy(function) is function


@pytest.mark.parametrize("dtype", FLOATS)
def test_across_the_buffer_of_numpy(name: str, variant: str, dtype: str) -> None:
    # Casting goes through NumPy's buffer of 8192 elements: lengths around it and its multiples.
    function = uses(name, variant)
    x = random_bits(dtype, (3 * 8192 + 1,), 8)
    swapped = x.byteswap().view(x.dtype.newbyteorder())
    expected = contiguous(x, function)
    for n in (8191, 8192, 8193, x.size):
        assert_same_bits(function(swapped[:n]), expected[:n])
