"""Threads: the same bits, off until asked for, and of no concern to a forked child."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import fastact

GRAIN = 262_144  # of the docstring of set_num_threads
# Several grains, and a length that no vector and no grain divides.
N = 5 * GRAIN + 1_237

USABLE = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.fixture(autouse=True)
def _one_thread_again() -> Iterator[None]:
    yield
    fastact.set_num_threads(1)


def values(dtype: str, n: int = N) -> np.ndarray:
    return np.random.default_rng(7).normal(0, 4, n).astype(dtype)


def test_one_thread_unless_asked_for() -> None:
    code = "import fastact; print(fastact.get_num_threads())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.strip() == "1"


def test_no_more_than_the_usable_cpus() -> None:
    fastact.set_num_threads(10_000)
    assert fastact.get_num_threads() == USABLE
    fastact.set_num_threads(None)
    assert fastact.get_num_threads() == USABLE
    fastact.set_num_threads(np.int64(1))
    assert fastact.get_num_threads() == 1


@pytest.mark.parametrize("threads", [0, -1])
def test_less_than_one_thread_is_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=rf"threads is {threads}; accepted: 1 or more"):
        fastact.set_num_threads(threads)
    assert fastact.get_num_threads() == 1


@pytest.mark.parametrize("threads", [1.5, "2"])
def test_what_is_no_integer_is_refused(threads: object) -> None:
    with pytest.raises(TypeError):
        fastact.set_num_threads(threads)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_bits_are_the_same(name: str, dtype: str) -> None:
    ufunc = getattr(fastact, name)
    x = values(dtype)
    alone = ufunc(x)
    fastact.set_num_threads(None)
    guarded = np.full(N + 2, -7, dtype)
    ufunc(x, out=guarded[1:-1])
    assert guarded[1:-1].tobytes() == alone.tobytes()
    assert guarded[0] == guarded[-1] == -7
    ufunc(x, out=x)
    assert x.tobytes() == alone.tobytes()


def test_many_callers_at_once() -> None:
    x = values("float32")
    alone = fastact.gelu(x)
    fastact.set_num_threads(None)
    same = []

    def call() -> None:
        same.extend(np.array_equal(fastact.gelu(x), alone) for _ in range(10))

    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert same == [True] * 80


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads through /proc")
@pytest.mark.skipif(USABLE < 2, reason="more than one thread needs more than one usable CPU")
def test_small_and_strided_arrays_start_no_thread() -> None:
    code = f"""
import os, numpy as np, fastact
count = lambda: len(os.listdir("/proc/self/task"))
before = count()
fastact.set_num_threads(2)
x = np.ones({2 * GRAIN}, np.float32)
fastact.gelu(x[:-1])
fastact.gelu(np.ones({8 * GRAIN}, np.float32)[::2])
print(count() - before)
fastact.gelu(x)
print(count() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.split() == ["0", "1"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_goes_on_using_threads() -> None:
    code = f"""
import os, numpy as np, fastact
fastact.set_num_threads(None)
x = np.linspace(-9, 9, {N}, dtype=np.float32)
before = fastact.gelu(x)
child = os.fork()
if child == 0:
    same = all(np.array_equal(fastact.gelu(x), before) for _ in range(5))
    os._exit(0 if same else 1)
assert np.array_equal(fastact.gelu(x), before)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert done.stdout.strip() == "0", done.stderr
