"""dask: arrays stay lazy, and worker processes compute the same bits within their memory."""

from __future__ import annotations

import doctest
import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import ml_dtypes
import numpy as np
import numpy.typing as npt
import psutil
import pytest
from dask.base import tokenize
from distributed import Client, LocalCluster, wait

import fastact
from fastact import _core

MEMORY_LIMIT = 256 << 20  # bytes of a worker, of which Python and the libraries take half
BLOCK = 1 << 20  # elements, 4 MiB
BLOCKS = 128
STEP = (1 << 32) // (BLOCKS * BLOCK)  # of all float32 values, every 32nd: 512 MiB


def accepted(name: str) -> Iterator[np.dtype[Any]]:
    for dtype in _core.registry[fastact.isa][name]:
        yield np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("something was computed")


def assert_same_bits(got: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    assert (type(got), got.dtype, got.shape) == (np.ndarray, expected.dtype, expected.shape)
    assert got.tobytes() == expected.tobytes()


def sample() -> tuple[npt.NDArray[np.float32], da.Array]:
    x = np.linspace(-6, 6, 24, dtype=np.float32).reshape(4, 6)
    return x, da.from_array(x, chunks=(3, 4))


def test_a_dask_array_stays_lazy_and_keeps_chunks_and_dtype(name: str) -> None:
    function = getattr(fastact, name)
    for dtype in accepted(name):
        x = np.arange(-12, 12).astype(dtype).reshape(4, 6)
        with dask.config.set(scheduler=refuse):
            lazy = da.from_array(x, chunks=((3, 1), (4, 2)))
            y = function(lazy)
        expected = function(x)
        assert isinstance(y, da.Array)
        assert (y.dtype, y.chunks, y.shape) == (expected.dtype, lazy.chunks, x.shape)
        assert (type(y._meta), y._meta.dtype) == (np.ndarray, expected.dtype)
        for scheduler in ("synchronous", "threads"):
            assert_same_bits(y.compute(scheduler=scheduler), expected)


def test_the_test_of_laziness_would_notice() -> None:
    _, lazy = sample()
    with dask.config.set(scheduler=refuse), pytest.raises(AssertionError, match="computed"):
        np.asarray(fastact.gelu(lazy))


def test_the_dtype_that_integers_get(name: str) -> None:
    function, lazy = getattr(fastact, name), da.arange(5, dtype=np.int16, chunks=2)
    assert function(lazy).dtype == function(np.arange(5, dtype=np.int16)).dtype


def test_keyword_arguments(name: str) -> None:
    function, (x, lazy) = getattr(fastact, name), sample()
    # dask computes in the dtype of the array, and converts the result: so it does for np.exp.
    y = function(lazy, dtype="float64")
    assert y.dtype == np.float64
    assert_same_bits(y.compute(), function(x).astype("float64"))
    out = da.zeros_like(lazy)
    assert function(lazy, out=out) is out
    assert_same_bits(out.compute(), function(x))
    out = da.full_like(lazy, 7)
    function(lazy, where=lazy > 0, out=out)
    assert_same_bits(out.compute(), function(x, where=x > 0, out=np.full_like(x, 7)))


def test_unknown_chunks() -> None:
    x, lazy = sample()
    y = fastact.gelu(lazy[lazy > 0])
    assert np.isnan(y.shape[0])
    assert_same_bits(y.compute(), fastact.gelu(x[x > 0]))


def test_a_dtype_that_is_not_taken_is_a_type_error_before_anything_is_computed() -> None:
    with dask.config.set(scheduler=refuse), pytest.raises(TypeError, match="gelu"):
        fastact.gelu(da.zeros(4, dtype=complex))


PRINT_TOKENS = """
import fastact
from dask.base import tokenize
print(*(tokenize(function) for ufuncs in fastact.variants.values() for function in ufuncs))
"""


def test_every_ufunc_has_a_token_that_is_the_same_in_every_process() -> None:
    with dask.config.set({"tokenize.ensure-deterministic": True}):
        functions = [function for ufuncs in fastact.variants.values() for function in ufuncs]
        tokens = [tokenize(function) for function in functions]
    assert len(set(tokens)) == len(functions)
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_TOKENS],
        env={**os.environ, "PYTHONPATH": str(Path(fastact.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.split() == tokens


def pids(client: Client) -> set[int]:
    return set(client.run(os.getpid).values())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Two worker processes of one thread each, which spill to a folder of their own."""
    # Some time after a worker was lost, 15 s by default, LocalCluster looks whether it is back, and
    # gives it up if not; by then, the next test may just have killed it again.
    patience = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with (
        dask.config.set(patience),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit=MEMORY_LIMIT,
            dashboard_address="127.0.0.1:0",  # None takes 8787, which may be in use
            local_directory=tmp_path_factory.mktemp("spilled"),
            silence_logs=logging.CRITICAL,  # losing a worker is what is tested
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
        left = pids(client)
    assert not [pid for pid in left if psutil.pid_exists(pid)]
    assert multiprocessing.active_children() == []


def every_32nd_float32() -> da.Array:
    """Make a lazy array that is larger than a worker's memory limit."""
    x = da.arange(0, 1 << 32, STEP, dtype=np.uint32, chunks=BLOCK).view(np.float32)
    assert x.nbytes >= 2 * MEMORY_LIMIT
    return x


def checksum(y: da.Array) -> da.Array:
    return y.view(np.uint32).sum(dtype=np.uint64)


def numpy_checksum(function: np.ufunc, blocks: int = BLOCKS) -> int:
    total = 0
    for block in range(blocks):
        bits = STEP * np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint32)
        total += int(function(bits.view(np.float32)).view(np.uint32).sum(dtype=np.uint64))
    return total


def test_an_array_larger_than_the_memory_of_a_worker(client: Client) -> None:
    before = pids(client)
    y = fastact.gelu(every_32nd_float32()).persist()  # all of it is kept, half of it on disk
    assert int(checksum(y).compute()) == numpy_checksum(fastact.gelu)
    spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
    assert len(spilled) == 2
    assert sum(spilled.values()) > y.nbytes - 2 * MEMORY_LIMIT
    assert min(spilled.values()) > 0
    assert pids(client) == before, "a worker used more memory than it may, and was started again"


def test_a_worker_killed_while_it_computes(client: Client, tmp_path: Path) -> None:
    before, killed = pids(client), tmp_path / "killed"

    def gelu_once_killed(
        block: npt.NDArray[np.float32], block_id: tuple[int]
    ) -> npt.NDArray[np.float32]:
        if block_id == (BLOCKS // 2,) and not killed.exists():
            killed.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return fastact.gelu(block)

    x = every_32nd_float32()
    y = x.map_blocks(gelu_once_killed, dtype=x.dtype, meta=x._meta)
    assert int(checksum(y).compute()) == numpy_checksum(fastact.gelu)
    client.wait_for_workers(2, timeout=60)
    assert before - pids(client) == {int(killed.read_text())}


def test_a_worker_killed_with_results_in_its_memory(client: Client) -> None:
    y = fastact.gelu(every_32nd_float32().blocks[: BLOCKS // 4]).persist()
    wait(y)
    before = client.run(os.getpid)
    worker, keys = max(client.has_what().items(), key=lambda held: len(held[1]))
    assert keys
    os.kill(before[worker], signal.SIGKILL)
    assert int(checksum(y).compute()) == numpy_checksum(fastact.gelu, BLOCKS // 4)
    client.wait_for_workers(2, timeout=60)
    assert set(before.values()) - pids(client) == {before[worker]}


def test_ufuncs_of_every_variant_reach_a_worker(client: Client) -> None:
    x = np.linspace(-9, 9, 1001, dtype=np.float32)
    for ufuncs in fastact.variants.values():
        for function in ufuncs:
            assert_same_bits(client.submit(function, x).result(timeout=60), function(x))


EXAMPLE = Path(__file__).parents[1] / "examples" / "dask_batch.py"


def test_the_example_survives_the_loss_of_a_worker(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE, "--copies", "40", "--kill-a-worker"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^killed the worker .* after 10 of 40 batches$", done.stdout, re.MULTILINE)
    assert "14,400 images, " in done.stdout
    assert done.stdout.endswith("one process sees the same digits: True\n")


def test_the_code_of_the_guide() -> None:
    guide = Path(__file__).parents[1] / "docs" / "scale.md"
    told: list[str] = []
    code = doctest.DocTestParser().get_doctest(guide.read_text("utf-8"), {}, guide.name, None, 0)
    assert len(code.examples) > 10
    doctest.DocTestRunner(verbose=False).run(code, out=told.append)
    assert not told, "".join(told)
