/* Loops over the maths, compiled once per variant: FASTACT_VARIANT and the flags tell which. */

#include "activations.h"
#include "registry.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define IN_VARIANT(name) PASTE(name, FASTACT_VARIANT)

/* No element depends on another one, also when y is x: the compiler need not check for overlap. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

#define KERNEL(kernel, type, function)                                     \
    static void kernel(const void *input, void *output, ptrdiff_t n) {     \
        const type *x = input;                                             \
        type *y = output;                                                  \
        INDEPENDENT                                                        \
        for (ptrdiff_t i = 0; i < n; i++) {                                \
            y[i] = function(x[i]);                                         \
        }                                                                  \
    }

/* Integers: only relu; for an unsigned type it is a copy. */
#define INTEGER_KERNEL(activation, dtype, character, type)                 \
    static inline type activation##_##dtype(type x) {                      \
        return x > 0 ? x : 0;                                              \
    }                                                                      \
    KERNEL(IN_VARIANT(activation##_##dtype), type, activation##_##dtype)

#define FLOATS_ONLY(activation)
#define WITH_INTEGERS(activation) FASTACT_INTEGER_TYPES(INTEGER_KERNEL, activation)
#define KERNELS(activation, types, ...)                                              \
    types(activation)                                                                \
    KERNEL(IN_VARIANT(activation##_float16), float16, activation##_float16)          \
    KERNEL(IN_VARIANT(activation##_float32), float, activation##_float32)            \
    KERNEL(IN_VARIANT(activation##_float64), double, activation##_float64)

FASTACT_ACTIVATIONS(KERNELS)

#undef FLOATS_ONLY
#undef WITH_INTEGERS

#define UNPACK(max_ulp, at) {max_ulp, at}
#define LOOP(activation, dtype, character, type, bound)                              \
    {#activation, character, sizeof(type), UNPACK bound, IN_VARIANT(activation##_##dtype)},
#define INTEGER_LOOP(activation, dtype, character, type)                             \
    LOOP(activation, dtype, character, type, EXACT)
#define FLOATS_ONLY(activation)
#define WITH_INTEGERS(activation) FASTACT_INTEGER_TYPES(INTEGER_LOOP, activation)
#define LOOPS(activation, types, half, single, twice, half_no_fma, single_no_fma, twice_no_fma) \
    types(activation)                                                                \
    LOOP(activation, float16, 'e', float16, FASTACT_BY_FMA(half, half_no_fma))       \
    LOOP(activation, float32, 'f', float, FASTACT_BY_FMA(single, single_no_fma))     \
    LOOP(activation, float64, 'd', double, FASTACT_BY_FMA(twice, twice_no_fma))

const fastact_loop IN_VARIANT(fastact_loops)[FASTACT_LOOP_COUNT] = {FASTACT_ACTIVATIONS(LOOPS)};
