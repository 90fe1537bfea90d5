"""xarray and pandas: what np.exp does with labels, missing values and errors, fastact does, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import fastact
from fastact import _core

VALUES = np.linspace(-4, 4, 12, dtype=np.float32).reshape(3, 4)
NUMBERS = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]


def data_array() -> xr.DataArray:
    return xr.DataArray(
        VALUES,
        dims=("image", "channel"),
        coords={"image": [10, 20, 30], "label": ("image", list("abc"))},
        attrs={"units": "1"},
        name="logits",
    )


def dataset() -> xr.Dataset:
    scores = ("channel", np.linspace(-1, 1, 4), {"long_name": "score"})
    return xr.Dataset({"logits": data_array(), "scores": scores}, attrs={"title": "digits"})


def data_frame() -> pd.DataFrame:
    columns = pd.MultiIndex.from_product([["p", "q"], [0, 1]], names=["part", "channel"])
    return pd.DataFrame(VALUES, index=pd.Index([3, 1, 2], name="image"), columns=columns)


@pytest.mark.parametrize("keep_attrs", ["default", True, False])
def test_data_array(name: str, keep_attrs: Any) -> None:
    function, x = getattr(fastact, name), data_array()
    with xr.set_options(keep_attrs=keep_attrs):
        expected = np.exp(x).copy(data=function(VALUES))
        got = function(x)
    xr.testing.assert_identical(got, expected)
    assert got.dtype == np.float32


@pytest.mark.parametrize("keep_attrs", ["default", True, False])
def test_dataset(name: str, keep_attrs: Any) -> None:
    function, x = getattr(fastact, name), dataset()
    with xr.set_options(keep_attrs=keep_attrs):
        expected = np.exp(x).copy(data={key: function(x[key].values) for key in x.data_vars})
        xr.testing.assert_identical(function(x), expected)


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("something was computed")


@pytest.mark.parametrize("make", [data_array, dataset])
def test_chunked_xarray_stays_lazy(name: str, make: Callable[[], Any]) -> None:
    function, x = getattr(fastact, name), make()
    with dask.config.set(scheduler=refuse):
        chunked = x.chunk({"image": 2, "channel": 3})
        lazy = function(chunked)
    assert dask.is_dask_collection(lazy)
    assert lazy.chunks == chunked.chunks
    xr.testing.assert_identical(lazy.compute(scheduler="synchronous"), function(x))


def test_apply_ufunc(name: str) -> None:
    function, x = getattr(fastact, name), data_array()
    lazy = xr.apply_ufunc(
        function, x.chunk({"image": 2}), dask="parallelized", output_dtypes=[x.dtype]
    )
    xr.testing.assert_equal(lazy.compute(scheduler="synchronous"), function(x))


def test_series(name: str) -> None:
    function = getattr(fastact, name)
    for dtype in NUMBERS:
        values = np.array([1, 0, 3]).astype(dtype)
        x = pd.Series(values, index=pd.Index(list("xyz"), name="key"), name="logit")
        expected = pd.Series(function(values), index=x.index, name=x.name)
        pd.testing.assert_series_equal(function(x), expected, check_exact=True)


def test_data_frame(name: str) -> None:
    function, x = getattr(fastact, name), data_frame()
    expected = pd.DataFrame(function(VALUES), index=x.index, columns=x.columns)
    pd.testing.assert_frame_equal(function(x), expected, check_exact=True)


def test_each_column_keeps_its_dtype(name: str) -> None:
    function = getattr(fastact, name)
    x = pd.DataFrame({dtype: np.array([1, 0, 3]).astype(dtype) for dtype in NUMBERS})
    expected = {column: function(x[column].to_numpy()) for column in x}
    pd.testing.assert_frame_equal(function(x), pd.DataFrame(expected), check_exact=True)


def test_index(name: str) -> None:
    function, x = getattr(fastact, name), pd.Index([-1.0, 2.0, 3.0], name="key")
    pd.testing.assert_index_equal(function(x), pd.Index(function(x.to_numpy()), name="key"))


@pytest.mark.parametrize("dtype", ["Float32", "Float64", "Int8", "Int32", "Int64", "UInt8"])
def test_missing_values_stay_missing(name: str, dtype: str) -> None:
    function = getattr(fastact, name)
    x = pd.Series([1, None, 3], index=list("xyz"), dtype=dtype)
    got = function(x)
    values = function(np.array([1, 3], dtype=x.dtype.numpy_dtype))
    assert got.index.equals(x.index)
    assert got.isna().tolist() == [False, True, False]
    assert got[["x", "z"]].to_numpy(dtype=np.float64).tolist() == values.tolist()
    takes_integers = "int8" in _core.registry[fastact.isa][name]
    assert got.dtype == (x if takes_integers else np.exp(x)).dtype


@pytest.mark.parametrize(
    "x", [pd.Series(list("ab")), pd.Series([1.0, 2.0], dtype="category"), data_frame().astype(str)]
)
def test_what_has_no_numbers_is_a_type_error(x: Any) -> None:
    with pytest.raises(TypeError, match=r"gelu|category"):
        fastact.gelu(x)
