"""What Cython modules get of the extension: the kernels of the variant in use."""

from libc.stddef cimport ptrdiff_t

ctypedef void (*float32_kernel)(const float *x, float *y, ptrdiff_t n) noexcept nogil
ctypedef void (*float64_kernel)(const double *x, double *y, ptrdiff_t n) noexcept nogil

cdef extern from "fastact.h":
    ctypedef struct fastact_kernels:
        float32_kernel relu_float32, relu6_float32
        float32_kernel gelu_float32, gelu_tanh_float32, gelu_quick_float32
        float32_kernel silu_float32, hard_swish_float32
        float32_kernel relu_grad_float32, gelu_grad_float32, gelu_tanh_grad_float32

        float64_kernel relu_float64, relu6_float64
        float64_kernel gelu_float64, gelu_tanh_float64, gelu_quick_float64
        float64_kernel silu_float64, hard_swish_float64
        float64_kernel relu_grad_float64, gelu_grad_float64, gelu_tanh_grad_float64

cdef const fastact_kernels *kernels
