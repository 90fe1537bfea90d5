# cython: boundscheck=False, wraparound=False
"""A layer's bias and GELU in one pass, row by row, so that each row stays in the cache."""

from libc.stddef cimport ptrdiff_t
from fastact cimport kernels


def bias_gelu(float[:, ::1] x, const float[::1] bias):
    """Replace x by gelu(x + bias), without the GIL."""
    if x.shape[1] != bias.shape[0]:
        raise ValueError(f"bias has {bias.shape[0]} elements; accepted: {x.shape[1]}")
    cdef ptrdiff_t i, j
    with nogil:
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] += bias[j]
            kernels.gelu_float32(&x[i, 0], &x[i, 0], x.shape[1])
