/* The arithmetic that activations.h is written in: multiply-add, bits, halves. */

#ifndef FASTACT_ARITHMETIC_H
#define FASTACT_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

/* A variant whose instruction set has a fused multiply-add uses it everywhere, so that all such
 * variants return the same bits. Without one, fmaf() would be a call into libm (13 ns an
 * element), so the baseline multiplies and adds, and splits its factors where the low part of a
 * product matters. */
#if defined(__FMA__) || defined(__aarch64__)
#define FASTACT_HAS_FMA 1
#else
#define FASTACT_HAS_FMA 0
#endif

static inline uint32_t bits_float32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float32_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_float64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double float64_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* madd: a b + c, fused where the instruction set can. */
static inline float madd_float32(float a, float b, float c) {
#if FASTACT_HAS_FMA
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double madd_float64(double a, double b, double c) {
#if FASTACT_HAS_FMA
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* cancel: a b + c where c is close to -a b, so that the low part of the product is the result.
 * Without fma, each factor is cut into a high half, whose product is exact, and the rest. */
static inline float cancel_float32(float a, float b, float c) {
#if FASTACT_HAS_FMA
    return __builtin_fmaf(a, b, c);
#else
    float a_high = float32_of_bits(bits_float32(a) & 0xFFFFF000u);
    float b_high = float32_of_bits(bits_float32(b) & 0xFFFFF000u);
    return (a_high * b_high + c) + ((a - a_high) * b + a_high * (b - b_high));
#endif
}

static inline double cancel_float64(double a, double b, double c) {
#if FASTACT_HAS_FMA
    return __builtin_fma(a, b, c);
#else
    double a_high = float64_of_bits(bits_float64(a) & 0xFFFFFFFFF8000000u);
    double b_high = float64_of_bits(bits_float64(b) & 0xFFFFFFFFF8000000u);
    return (a_high * b_high + c) + ((a - a_high) * b + a_high * (b - b_high));
#endif
}

/* 1 / a to within 12 %, for a normal: enough where it multiplies a correction. The difference of
 * bit patterns negates the exponent and the fraction; the constant minimises the error. */
static inline float rough_inverse_float32(float a) {
    return float32_of_bits(0x7EF311C7u - bits_float32(a));
}

static inline double rough_inverse_float64(double a) {
    return float64_of_bits(0x7FDE623822FC16E6u - bits_float64(a));
}

/* keep_sign: y, which is negative or zero for negative x, as -0.0 where it is zero. A fused last
 * step rounds to -0.0 by itself; after a product has underflowed, a sum with 0.0 does not. */
static inline float keep_sign_float32(float y, float x) {
#if FASTACT_HAS_FMA
    (void)x;
    return y;
#else
    return float32_of_bits(bits_float32(y) | (bits_float32(x) & 0x80000000u));
#endif
}

static inline double keep_sign_float64(double y, double x) {
#if FASTACT_HAS_FMA
    (void)x;
    return y;
#else
    return float64_of_bits(bits_float64(y) | (bits_float64(x) & 0x8000000000000000u));
#endif
}

/* float16 is stored as its 16 bits; a type of its own, so that it cannot pass for an integer. */
typedef struct {
    uint16_t bits;
} float16;

/* Exact. The multiplication by 2^112 moves the exponent and normalises subnormals. */
static inline float float32_of_float16(float16 h) {
    uint32_t magnitude = (uint32_t)(h.bits & 0x7FFFu) << 13;
    uint32_t sign = (uint32_t)(h.bits & 0x8000u) << 16;
    uint32_t bits = bits_float32(float32_of_bits(magnitude) * 0x1p112f);
    uint32_t special = magnitude >= 0x0F800000u ? 0x7F800000u : 0u; /* inf and NaN */
    return float32_of_bits(bits | special | sign);
}

/* Round to nearest, ties to even; NaN stays NaN, quiet, with what fits of its payload, as the
 * instructions of vector.h have it. */
static inline float16 float16_of_float32(float x) {
    uint32_t sign = (bits_float32(x) >> 16) & 0x8000u;
    uint32_t magnitude = bits_float32(x) & 0x7FFFFFFFu;
    uint32_t normal = (magnitude + 0x0FFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    /* 0.5 has the unit 2^-24 of float16's subnormals, so the addition rounds to them. */
    uint32_t subnormal = bits_float32(float32_of_bits(magnitude) + 0.5f) - 0x3F000000u;
    uint32_t bits = magnitude < 0x38800000u ? subnormal : normal;
    bits = magnitude >= 0x477FF000u ? 0x7C00u : bits; /* rounds above 65,504 */
    bits = magnitude > 0x7F800000u ? 0x7E00u | ((magnitude >> 13) & 0x01FFu) : bits;
    float16 h = {(uint16_t)(bits | sign)};
    return h;
}

/* bfloat16: the upper half of a float32. */
typedef struct {
    uint16_t bits;
} bfloat16;

static inline float float32_of_bfloat16(bfloat16 x) {
    return float32_of_bits((uint32_t)x.bits << 16);
}

/* Round to nearest, ties to even; NaN stays NaN. */
static inline bfloat16 bfloat16_of_float32(float x) {
    uint32_t bits = bits_float32(x);
    uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    uint32_t nan = bits >> 16 | 0x40u;
    bfloat16 y = {(uint16_t)((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded)};
    return y;
}

#endif
