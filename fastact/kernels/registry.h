/* The one list of activations: their dtypes and the largest error promised for each.
 *
 * A bound is (largest error in ULP, the input that attains it): over every value of float16 and
 * float32, over the sweep of docs/accuracy.md for float64. FMA holds for every variant whose
 * instruction set has a fused multiply-add, NO_FMA for the x86 baseline. An error of at most
 * 0.5 ULP is a correctly rounded result. */

#ifndef FASTACT_REGISTRY_H
#define FASTACT_REGISTRY_H

#include <stddef.h>

#include "arithmetic.h"

#if FASTACT_HAS_FMA
#define FASTACT_BY_FMA(with, without) with
#else
#define FASTACT_BY_FMA(with, without) without
#endif

#define EXACT (0.0, 0.0)

/*  name, takes integers too, bounds of float16, float32, float64 with FMA; without */
#define FASTACT_ACTIVATIONS(ACTIVATION)                                                   \
    ACTIVATION(relu, WITH_INTEGERS, EXACT, EXACT, EXACT, EXACT, EXACT, EXACT)             \
    ACTIVATION(gelu, FLOATS_ONLY,                                                         \
               (0.5, 1.0), (3.5, 1.0), (3.5, 1.0),                         \
               (0.5, 1.0), (4.0, 1.0), (4.0, 1.0))                         \
    ACTIVATION(gelu_tanh, FLOATS_ONLY,                                                    \
               (0.5, 1.0), (3.5, 1.0), (3.5, 1.0),                         \
               (0.5, 1.0), (4.0, 1.0), (4.0, 1.0))

/* NumPy's type character and C type of every dtype, in the order in which NumPy tries them. */
#define FASTACT_INTEGER_TYPES(TYPE, activation) \
    TYPE(activation, byte, 'b', signed char)    \
    TYPE(activation, ubyte, 'B', unsigned char) \
    TYPE(activation, short, 'h', short)         \
    TYPE(activation, ushort, 'H', unsigned short) \
    TYPE(activation, int, 'i', int)             \
    TYPE(activation, uint, 'I', unsigned int)   \
    TYPE(activation, long, 'l', long)           \
    TYPE(activation, ulong, 'L', unsigned long) \
    TYPE(activation, longlong, 'q', long long)  \
    TYPE(activation, ulonglong, 'Q', unsigned long long)

/* From x to y, n elements, contiguous; y is x or does not overlap it. */
typedef void fastact_kernel(const void *x, void *y, ptrdiff_t n);

/* The largest error, and the input that attains it. */
typedef struct {
    double max_ulp;
    double at;
} fastact_bound;

/* One activation for one dtype, as compiled for one variant. */
typedef struct {
    const char *activation;
    char type; /* NumPy's type character */
    size_t itemsize;
    fastact_bound bound;
    fastact_kernel *kernel;
} fastact_loop;

/* The loops of a variant stand activation by activation, in the order of the list. */
enum {
#define FLOATS_ONLY 3
#define WITH_INTEGERS 13
#define COUNT(name, types, ...) + types
    FASTACT_LOOP_COUNT = 0 FASTACT_ACTIVATIONS(COUNT),
#undef COUNT
#undef FLOATS_ONLY
#undef WITH_INTEGERS
};

#endif
