"""Uses a freshly installed fastact that has NumPy and nothing else."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import fastact

x = np.float32([-6, -1, 0, 1])
assert isinstance(fastact.gelu, np.ufunc)
gelu = [-5.9195258e-09, -0.15865526, 0.0, 0.8413448]
np.testing.assert_array_max_ulp(fastact.gelu(x), np.float32(gelu), maxulp=4)
np.testing.assert_array_equal(fastact.relu(x), [0, 0, 0, 1])

# What needs an extra names it.
for words, extra in ((["-c", "import fastact.export"], "onnx"), (["-m", "fastact"], "report")):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, ""), done
    assert f"fastact[{extra}]" in done.stderr, done

print(f"fastact {fastact.__version__} from {fastact.__path__[0]}, variant {fastact.isa}")
