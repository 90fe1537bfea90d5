/* The arithmetic that activations.h is written in: multiply-add, bits, halves. */

#ifndef FASTACT_ARITHMETIC_H
#define FASTACT_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

/* A variant whose instruction set has a fused multiply-add uses it everywhere, so that all such
 * variants return the same bits. Without one, fmaf() would be a call into libm (13 ns an
 * element), so the x86 baseline multiplies and adds, and splits its factors where the low part
 * of a product matters. */
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA) \
    || defined(__aarch64__) || defined(__FP_FAST_FMAF)
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

/* Round to nearest, ties to even; NaN stays NaN. */
static inline float16 float16_of_float32(float x) {
    uint32_t sign = (bits_float32(x) >> 16) & 0x8000u;
    uint32_t magnitude = bits_float32(x) & 0x7FFFFFFFu;
    uint32_t normal = (magnitude + 0x0FFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
    /* 0.5 has the unit 2^-24 of float16's subnormals, so the addition rounds to them. */
    uint32_t subnormal = bits_float32(float32_of_bits(magnitude) + 0.5f) - 0x3F000000u;
    uint32_t bits = magnitude < 0x38800000u ? subnormal : normal;
    bits = magnitude >= 0x477FF000u ? 0x7C00u : bits; /* rounds above 65,504 */
    bits = magnitude > 0x7F800000u ? 0x7E00u : bits;
    float16 h = {(uint16_t)(bits | sign)};
    return h;
}

#endif
