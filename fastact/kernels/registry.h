/* The one list of activations and their derivatives: dtypes, and the largest error promised.
 *
 * A bound is (largest error in ULP, the input that attains it): over every value of float32, over
 * the sweep of docs/accuracy.md for float64. There are two of each, since every variant with a
 * fused multiply-add returns the same bits, and the x86 baseline without one its own. EXACT and
 * ROUNDED are bounds, too, which loop.h defines.
 *
 * Macros alone, without a type: fastact.h, which applications include, makes its functions of it. */

#ifndef FASTACT_REGISTRY_H
#define FASTACT_REGISTRY_H

/* What a function takes, and how it is computed there:
 *   ALL_DTYPES       integers and floats, each directly
 *   FLOATS           float32 and float64 directly, float16 by way of float32
 *   FLOATS_BY_TABLE  the same, float32 by a table where the instruction set looks values up
 *
 * name, dtypes, bound of float16 and bfloat16, bounds of float32 and float64 with FMA, without */
#define FASTACT_ACTIVATIONS(FUNCTION)                               \
    FUNCTION(relu, ALL_DTYPES, EXACT, EXACT, EXACT, EXACT, EXACT)   \
    FUNCTION(relu6, ALL_DTYPES, EXACT, EXACT, EXACT, EXACT, EXACT)  \
    FUNCTION(gelu, FLOATS_BY_TABLE, ROUNDED,                        \
             (1.84, -0x1.82067cp+1), (1.8, 0x1.310101c792c0bp-1),   \
             (3.96, -0x1.599aacp+0), (3.2, -0x1.69126b3e158d9p+0))  \
    FUNCTION(gelu_tanh, FLOATS, ROUNDED,                            \
             (1.78, 0x1.a447e6p-3), (1.85, 0x1.ac452b2f49396p-3),    \
             (2.44, -0x1.605d66p+1), (1.8, 0x1.483361a3cdf62p-2))    \
    FUNCTION(gelu_quick, FLOATS, ROUNDED,                           \
             (1.76, -0x1.5fdba6p+2), (1.8, 0x1.9d28073f55711p-3),    \
             (2.45, -0x1.44b4f2p+2), (1.8, 0x1.5b81b5075cd6bp-2))    \
    FUNCTION(silu, FLOATS, ROUNDED,                                 \
             (1.75, 0x1.c3ddd8p-3), (1.8, 0x1.ca765ef45b2b3p-3),    \
             (2.37, -0x1.4c964cp+2), (1.8, 0x1.4d589d776f6d2p-1))   \
    FUNCTION(hard_swish, FLOATS, ROUNDED,                           \
             (1.01, -0x1.84f7c6p-15), (1.01, -0x1.ca6d44909a6e2p+0), \
             (1.67, 0x1.fffffcp-24), (1.7, 0x1.037ba0737b283p+1))

#define FASTACT_DERIVATIVES(FUNCTION)                               \
    FUNCTION(relu_grad, FLOATS, EXACT, EXACT, EXACT, EXACT, EXACT)  \
    FUNCTION(gelu_grad, FLOATS, ROUNDED,                            \
             (0.501, 0x1.40d932p-25), (8.5, -0x1.12be1ef41875bp+5),  \
             (0.501, 0x1.40d932p-25), (13.0, -0x1.36aa777b687fbp+4)) \
    FUNCTION(gelu_tanh_grad, FLOATS, ROUNDED,                       \
             (0.501, -0x1.af0facp-5), (8.5, -0x1.d50eae9546eb5p-1), \
             (0.501, -0x1.af0facp-5), (12.0, -0x1.40511a8d08d39p-1))

#define FASTACT_FUNCTIONS(FUNCTION) FASTACT_ACTIVATIONS(FUNCTION) FASTACT_DERIVATIVES(FUNCTION)

/* NumPy's name, type character and C type of every integer dtype, in the order in which NumPy
 * tries them; the floats come after. */
#define FASTACT_INTEGER_TYPES(TYPE, activation)          \
    TYPE(activation, byte, 'b', signed char)             \
    TYPE(activation, ubyte, 'B', unsigned char)          \
    TYPE(activation, short, 'h', short)                  \
    TYPE(activation, ushort, 'H', unsigned short)        \
    TYPE(activation, int, 'i', int)                      \
    TYPE(activation, uint, 'I', unsigned int)            \
    TYPE(activation, long, 'l', long)                    \
    TYPE(activation, ulong, 'L', unsigned long)          \
    TYPE(activation, longlong, 'q', long long)           \
    TYPE(activation, ulonglong, 'Q', unsigned long long)

#endif
