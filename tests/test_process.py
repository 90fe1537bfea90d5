"""What a call leaves as it was: other threads running, a forked child right, subnormals kept."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fastact


def python(script: str, *arguments: str) -> str:
    """Return what a fresh process prints, with this package; a warning in it is an error."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(fastact.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_threads_on_shared_input_get_the_same_bits(name: str, variant: str) -> None:
    function = getattr(fastact.variants[variant], name)
    x = np.random.default_rng(0).normal(scale=4, size=100_003).astype(np.float32)
    before, expected = x.tobytes(), function(x).tobytes()
    start = threading.Barrier(8)
    results: dict[int, bool] = {}

    def work(number: int) -> None:
        strided, out = np.empty(2 * x.size, x.dtype)[::2], np.empty_like(x)
        start.wait()
        same = True
        for _ in range(10):
            function(x, out=out)
            function(x, out=strided)
            same = same and out.tobytes() == expected == strided.tobytes()
        results[number] = same

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(8), True)
    assert x.tobytes() == before


def others_run_during(call: Callable[[], object]) -> bool:
    """Whether this thread gets to run while another one is in `call`.

    The interpreter is told to never take the lock away from a thread, so that this one runs only
    if `call` gives it up.
    """
    entered = left = False

    def work() -> None:
        nonlocal entered, left
        entered = True
        call()
        left = True

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        seen = entered and not left
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    return seen


def gil_is_there() -> bool:
    return getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.mark.skipif(not gil_is_there(), reason="this Python has no global lock")
def test_other_threads_run_during_a_call(name: str, variant: str) -> None:
    function = getattr(fastact.variants[variant], name)
    x = np.linspace(-4, 4, 1 << 20)
    out, out_strided = np.empty_like(x), np.empty(2 * x.size)[::2]
    for y in (out, out_strided):
        # A machine with something else to do may let the whole call pass: try again.
        assert any(others_run_during(lambda y=y: function(x, out=y)) for _ in range(200))


@pytest.mark.skipif(not gil_is_there(), reason="this Python has no global lock")
def test_other_threads_do_not_run_during_a_call_that_keeps_the_lock() -> None:
    numbers = list(range(100_000))
    assert not any(others_run_during(lambda: sum(numbers)) for _ in range(20))


FORK = """
import os, numpy as np, fastact
x = np.linspace(-9, 9, 100_001, dtype=np.float32)
def results():
    return [f(x).tobytes() for variant in fastact.variants.values() for f in variant]
before = results()
child = os.fork()
if child == 0:
    os._exit(0 if results() == before else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), results() == before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork()")
def test_a_forked_child_and_its_parent_compute_the_same() -> None:
    assert python(FORK) == "0 True\n"


SUBNORMALS = """
import numpy as np
def kept():
    halves = [np.full(1000, np.finfo(d).tiny) / np.array(2, d) for d in (np.float32, np.float64)]
    one = np.float32(1e-40) * np.float32(1) != 0
    return bool(one and all((h > 0).all() for h in halves)) and 5e-324 * 1.0 > 0
print(kept())
import fastact
print(kept())
for variant in fastact.variants.values():
    for function in variant:
        for dtype in ("float16", "float32", "float64"):
            function(np.full(1000, np.finfo(dtype).tiny) / np.array(2, dtype))
            function(np.full(1000, -13, dtype)[::2])
            print(kept())
"""


def test_subnormals_work_everywhere_after_a_call() -> None:
    assert set(python(SUBNORMALS).split()) == {"True"}


THREADS = """
import os, threading, numpy as np
def count():
    tasks = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
    return threading.active_count(), tasks
before = count()  # NumPy's BLAS may have some
import fastact
x = np.linspace(-9, 9, 1 << 22)
for variant in fastact.variants.values():
    for function in variant:
        function(x)
print(count() == before)
"""


def test_no_thread_is_started() -> None:
    assert python(THREADS) == "True\n"


FORK_AMONG_THREADS = """
import os, signal, sys, threading, warnings, numpy as np, fastact
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork with threads
fastact.set_num_threads(int(sys.argv[1]) or None)
x = np.linspace(-9, 9, 1_500_007, dtype=np.float32)
expected = fastact.gelu(x).tobytes()
done = threading.Event()
wrong = []
def work():
    while not done.is_set():
        if fastact.gelu(x).tobytes() != expected:
            wrong.append("thread")
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # should it wait for a thread that is not there
        os._exit(fastact.gelu(x).tobytes() != expected)
    if os.waitpid(child, 0)[1]:
        wrong.append("child")
done.set()
for thread in threads:
    thread.join()
print(wrong)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork()")
@pytest.mark.parametrize("threads", ["1", "0"], ids=["one thread", "all threads"])
def test_a_fork_while_others_compute(threads: str) -> None:
    assert python(FORK_AMONG_THREADS, threads) == "[]\n"


SIGNALS = """
import os, signal, sys, threading, numpy as np, fastact
fastact.set_num_threads(int(sys.argv[1]) or None)
x = np.linspace(-9, 9, 1 << 21)
expected = fastact.gelu(x)
out = np.empty_like(x)

# Handlers run after a call; the thread pool waits on, whatever interrupts it.
rang = []
signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
right = []
while len(rang) < 20:
    right.append(np.array_equal(fastact.gelu(x, out=out), expected))
signal.setitimer(signal.ITIMER_REAL, 0)
print(all(right))

# Ctrl-C ends the call before it or after it, and never leaves it half done.
signal.signal(signal.SIGINT, signal.default_int_handler)
main = threading.get_ident()
states = set()
for _ in range(200):
    out[:] = 7
    start = threading.Event()
    def press():
        start.wait()
        signal.pthread_kill(main, signal.SIGINT)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        try:
            start.set()
            fastact.gelu(x, out=out)
        finally:
            thread.join()
    except KeyboardInterrupt:
        whole = np.array_equal(out, expected)
        states.add("whole" if whole else "not begun" if (out == 7).all() else "half")
    if "whole" in states:
        break
print("whole" in states, "half" in states)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no setitimer()")
@pytest.mark.parametrize("threads", ["1", "0"], ids=["one thread", "all threads"])
def test_signals_during_a_call(threads: str) -> None:
    assert python(SIGNALS, threads) == "True\nTrue False\n"


SUBINTERPRETER = """
import importlib, sys, fastact
for name in ("concurrent.interpreters", "_interpreters", "_xxsubinterpreters"):
    try:
        interpreters = importlib.import_module(name)
        break
    except ImportError:
        continue
code = '''
import warnings
warnings.simplefilter("ignore")  # NumPy warns of itself
try:
    import fastact
except ImportError as error:
    print("refused:", error, flush=True)
'''
interpreter = interpreters.create()
if hasattr(interpreter, "exec"):
    interpreter.exec(code)
else:
    interpreters.run_string(interpreter, code)
print(fastact.relu(-1.0), fastact.gelu(3e5))
"""


def test_a_subinterpreter_is_refused() -> None:
    # NumPy does not support them, and the tables of the ufuncs are there once in a process.
    refused, computed = python(SUBINTERPRETER).splitlines()
    assert refused.startswith("refused: ")
    assert "interpreter" in refused
    assert computed == "0.0 300000.0"
