/* The activations made of straight lines and parabolas: relu, relu6, hard_swish. */

#ifndef FASTACT_PIECEWISE_H
#define FASTACT_PIECEWISE_H

#include "arithmetic.h"
#include "registry.h"

/* relu(x) = max(0, x): NaN stays NaN, -0.0 stays -0.0, other negatives give +0.0.
 *
 * A comparison says that exactly; fmaxf() and the maximum instruction of AArch64 do not. */

static inline float relu_float32(float x) {
    return 0.0f > x ? 0.0f : x;
}

static inline double relu_float64(double x) {
    return 0.0 > x ? 0.0 : x;
}

static inline float16 relu_float16(float16 x) {
    /* 0x8001 to 0xFC00 are the negative numbers, -inf the last of them. */
    uint16_t from_smallest = (uint16_t)(x.bits - 0x8001u);
    float16 y = {from_smallest <= 0x7BFFu ? (uint16_t)0 : x.bits};
    return y;
}

#define RELU_OF_INTEGER(activation, dtype, character, type) \
    static inline type relu_##dtype(type x) {               \
        return x > 0 ? x : 0;                               \
    }
FASTACT_INTEGER_TYPES(RELU_OF_INTEGER, relu)

/* relu6(x) = min(max(0, x), 6). */

static inline float relu6_float32(float x) {
    float y = relu_float32(x);
    return 6.0f < y ? 6.0f : y;
}

static inline double relu6_float64(double x) {
    double y = relu_float64(x);
    return 6.0 < y ? 6.0 : y;
}

static inline float16 relu6_float16(float16 x) {
    /* 0x4601 to 0x7C00 are the numbers above 6, +inf the last of them. */
    float16 y = relu_float16(x);
    uint16_t from_above_6 = (uint16_t)(y.bits - 0x4601u);
    float16 z = {from_above_6 <= 0x7C00u - 0x4601u ? (uint16_t)0x4600 : y.bits};
    return z;
}

#define RELU6_OF_INTEGER(activation, dtype, character, type) \
    static inline type relu6_##dtype(type x) {               \
        type y = relu_##dtype(x);                            \
        return y > 6 ? 6 : y;                                \
    }
FASTACT_INTEGER_TYPES(RELU6_OF_INTEGER, relu6)

/* hard_swish(x) = x min(max(0, x + 3), 6) / 6: -0.0 below -3, x above 3.
 *
 * x + 3 is taken with its rounding error, which x l makes up for; |x| < 3 where it matters, so
 * that 3 - h is exact but for what x + 3 has lost. In this order a zero keeps its sign. */

static inline float hard_swish_float32(float x) {
    float h = x + 3.0f;
    float low = (3.0f - h) + x;
    float y = madd_float32(x, h, x * low) / 6.0f;
    y = x < 3.0f ? y : x;
    return x > -3.0f ? y : (x <= -3.0f ? -0.0f : x);
}

static inline double hard_swish_float64(double x) {
    double h = x + 3.0;
    double low = (3.0 - h) + x;
    double y = madd_float64(x, h, x * low) / 6.0;
    y = x < 3.0 ? y : x;
    return x > -3.0 ? y : (x <= -3.0 ? -0.0 : x);
}

#endif
