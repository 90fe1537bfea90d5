/* The kernels of fastact for C, C++ and Cython: contiguous float32 and float64.
 *
 * For every function of registry.h, such as gelu, there are
 *
 *     void fastact_gelu_float32(const float *x, float *y, ptrdiff_t n);
 *     void fastact_gelu_float64(const double *x, double *y, ptrdiff_t n);
 *
 * which write gelu(x[i]) to y[i] for every i < n. y is x or does not overlap it. The results are the
 * bits that the ufuncs of the same variant give, whatever floating-point state the caller has set,
 * and that state is left as it was. Any number of threads may call them; none is started.
 *
 * fastact.mk, beside this file, builds them without Python. */

#ifndef FASTACT_H
#define FASTACT_H

#include <stddef.h>

#include "../kernels/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FASTACT_DECLARE(name, ...)                                       \
    void fastact_##name##_float32(const float *x, float *y, ptrdiff_t n); \
    void fastact_##name##_float64(const double *x, double *y, ptrdiff_t n);
FASTACT_FUNCTIONS(FASTACT_DECLARE)
#undef FASTACT_DECLARE

/* The name of the variant that computes: the best one that this CPU can run, unless another was
 * set. In Python it is the one of fastact.isa. */
const char *fastact_isa(void);

/* Lets another variant compute; returns 0, or -1 if this CPU cannot run it or there is none of that
 * name. Not while another thread computes. */
int fastact_set_isa(const char *name);

/* The same functions as a table, as the Cython module passes it on. */
typedef struct {
#define FASTACT_MEMBER(name, ...)                                   \
    void (*name##_float32)(const float *x, float *y, ptrdiff_t n);  \
    void (*name##_float64)(const double *x, double *y, ptrdiff_t n);
    FASTACT_FUNCTIONS(FASTACT_MEMBER)
#undef FASTACT_MEMBER
} fastact_kernels;

extern const fastact_kernels fastact_kernel_table;

#ifdef __cplusplus
}
#endif

#endif
