/* What a variant is made of: one loop for each function and dtype of registry.h. */

#ifndef FASTACT_LOOP_H
#define FASTACT_LOOP_H

#include <math.h>
#include <stddef.h>

#include "arithmetic.h"
#include "registry.h"

#define EXACT (0.0, NAN)
#define ROUNDED (0.5, NAN) /* correctly, all 65,536 values */

#if FASTACT_HAS_FMA
#define FASTACT_BY_FMA(with, without) with
#else
#define FASTACT_BY_FMA(with, without) without
#endif

/* From x to y, n elements, contiguous; y is x or does not overlap it. */
typedef void fastact_kernel(const void *x, void *y, ptrdiff_t n);

/* The largest error, and the input that attains it. */
typedef struct {
    double max_ulp;
    double at; /* NaN where there is nothing to tell: exact or correctly rounded */
} fastact_bound;

/* One activation for one dtype, as compiled for one variant. */
typedef struct {
    const char *activation;
    char type; /* NumPy's type character; 0 for bfloat16, which is not NumPy's own */
    size_t itemsize;
    fastact_bound bound;
    fastact_kernel *kernel;
} fastact_loop;

/* The loops of a variant stand function by function, in the order of the list, and the dtypes of a
 * function with float32 and float64 last. */
enum {
#define ALL_DTYPES 13
#define FLOATS 3
#define FLOATS_BY_TABLE 3
#define COUNT(name, dtypes, ...) +dtypes
    FASTACT_LOOP_COUNT = 0 FASTACT_FUNCTIONS(COUNT),
#undef COUNT
#define COUNT(...) +1
    FASTACT_ACTIVATION_COUNT = 0 FASTACT_ACTIVATIONS(COUNT),
    FASTACT_FUNCTION_COUNT = 0 FASTACT_FUNCTIONS(COUNT),
#undef COUNT
    FASTACT_POSITION_BEFORE = -1,
#define POSITION(name, dtypes, ...)                                           \
    FASTACT_POSITION_##name,                                                  \
    FASTACT_POSITION_##name##_float32 = FASTACT_POSITION_##name + dtypes - 2, \
    FASTACT_POSITION_##name##_float64,
    FASTACT_FUNCTIONS(POSITION)
#undef POSITION
#undef ALL_DTYPES
#undef FLOATS
#undef FLOATS_BY_TABLE
};

#endif
