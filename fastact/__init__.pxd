"""The kernels for Cython: `from fastact cimport kernels`, then `kernels.gelu_float32(x, y, n)`.

x and y point to n contiguous elements, and y is x or does not overlap it. They are called without
the GIL, and compute with the variant of `fastact.isa`. Compile with the folder of
`fastact.get_include()` in the include path; fastact.h, there, tells the rest.
"""

from fastact._core cimport kernels
