/* The maths of every activation, once: branch-free scalar functions for a compiler to vectorise.
 *
 * Every function is total: infinities, NaN, signed zeros and subnormals come out right. Every
 * constant is derived by coefficients.py. Largest errors stand in registry.h. */

#ifndef FASTACT_ACTIVATIONS_H
#define FASTACT_ACTIVATIONS_H

#include "arithmetic.h"

/* relu(x) = max(0, x): NaN stays NaN, -0.0 stays -0.0, negatives give +0.0.
 *
 * Written in the order of the x86 maximum instruction, which returns its second operand, x, when
 * one is NaN or both are zero. */

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

/* gelu(x) = x P(X <= x), X normal: the exact (erf) form.
 *
 * With t = |x| and Q the upper tail of the normal distribution, gelu(x) = relu(x) - t Q(t), which
 * has no cancellation anywhere, unlike 0.5 x (1 + erf(x / sqrt 2)) in the negative tail.
 *
 * 1. n = round(-t^2/2 / ln 2), r = t^2 + n 2 ln 2: then exp(-t^2/2) = 2^n exp(-r/2). 2 ln 2 is
 *    cut so that n HIGH is exact; the first sum then keeps every bit of t^2.
 * 2. exp(-r/2) = 1 + s, s a polynomial on [-ln 2, ln 2].
 * 3. 2 R(t) = N / (N + t (K N - C)), where Q(t) = exp(-t^2/2) R(t); N and C are polynomials of a
 *    minimax rational on [0, CLAMP], K = sqrt(pi/2). An error of N nearly cancels in the ratio.
 * 4. y = relu(x) - t 2^n R(t) (1 + s), rounded once. t 2^n would be subnormal too early, so n is
 *    biased and the scale taken back on the other factor.
 *
 * t is clamped where the product has long rounded to zero, so that infinities pass. */

#define FLOAT32_GELU_CLAMP 14.5f
#define FLOAT32_GELU_RATE -0x1.715476p-1f /* -1 / (2 ln 2) */
#define FLOAT32_TWO_LN2_HIGH 0x1.62e4p+0f /* 15 bits */
#define FLOAT32_TWO_LN2_LOW 0x1.7f7d1cp-19f
/* exp(-r/2) = 1 + r (E0 + E1 r + ...), relative error 2^-27.6 */
#define FLOAT32_GELU_E0 -0x1.000000p-1f
#define FLOAT32_GELU_E1 0x1.fffff8p-4f
#define FLOAT32_GELU_E2 -0x1.55548cp-6f
#define FLOAT32_GELU_E3 0x1.555b8ep-9f
#define FLOAT32_GELU_E4 -0x1.123d3ap-12f
#define FLOAT32_GELU_E5 0x1.685eecp-16f
/* N = 1 + N1 t + ..., C = C0 + C1 t + ..., relative error of the ratio 2^-25.7 on [0, 14.5] */
#define FLOAT32_GELU_N1 0x1.d3849ap-1f
#define FLOAT32_GELU_N2 0x1.934c36p-2f
#define FLOAT32_GELU_N3 0x1.72ff2cp-4f
#define FLOAT32_GELU_N4 0x1.3ba8a4p-7f
#define FLOAT32_GELU_C0 0x1.d25bf0p-2f
#define FLOAT32_GELU_C1 0x1.1df412p-2f
#define FLOAT32_GELU_C2 0x1.41c5e4p-4f
#define FLOAT32_GELU_C3 0x1.3b9e54p-7f
#define FLOAT32_GELU_K 0x1.40d932p+0f /* sqrt(pi/2) */

/* Adding 1.5 2^23 leaves a rounded integer in the low bits; 127 is the exponent's bias, 40 ours. */
#define FLOAT32_ROUND (0x1.8p23f + 127.0f + 40.0f)

static inline float gelu_float32(float x) {
    float t = __builtin_fabsf(x);
    t = t < FLOAT32_GELU_CLAMP ? t : FLOAT32_GELU_CLAMP;

    float n_bits = madd_float32(t * FLOAT32_GELU_RATE, t, FLOAT32_ROUND);
    float n = n_bits - FLOAT32_ROUND;
    float r = cancel_float32(t, t, n * FLOAT32_TWO_LN2_HIGH);
    r = madd_float32(n, FLOAT32_TWO_LN2_LOW, r);

    float s = FLOAT32_GELU_E5;
    s = madd_float32(s, r, FLOAT32_GELU_E4);
    s = madd_float32(s, r, FLOAT32_GELU_E3);
    s = madd_float32(s, r, FLOAT32_GELU_E2);
    s = madd_float32(s, r, FLOAT32_GELU_E1);
    s = madd_float32(s, r, FLOAT32_GELU_E0);
    s = s * r;

    float numerator = FLOAT32_GELU_N4;
    numerator = madd_float32(numerator, t, FLOAT32_GELU_N3);
    numerator = madd_float32(numerator, t, FLOAT32_GELU_N2);
    numerator = madd_float32(numerator, t, FLOAT32_GELU_N1);
    numerator = madd_float32(numerator, t, 1.0f);
    float c = FLOAT32_GELU_C3;
    c = madd_float32(c, t, FLOAT32_GELU_C2);
    c = madd_float32(c, t, FLOAT32_GELU_C1);
    c = madd_float32(c, t, FLOAT32_GELU_C0);
    float denominator = madd_float32(t, madd_float32(numerator, FLOAT32_GELU_K, -c), numerator);

    float tail = 0x1p-41f * numerator / denominator; /* R(t) 2^-40 */
    tail = madd_float32(tail, s, tail);
    float scaled_t = t * float32_of_bits(bits_float32(n_bits) << 23);
    return madd_float32(-scaled_t, tail, relu_float32(x));
}

#define FLOAT64_GELU_CLAMP 38.625
#define FLOAT64_GELU_RATE -0x1.71547652b82fep-1
#define FLOAT64_TWO_LN2_HIGH 0x1.62e42fefa4p+0 /* 41 bits */
#define FLOAT64_TWO_LN2_LOW -0x1.8432a1b0e2634p-42
/* relative error 2^-58 */
#define FLOAT64_GELU_E0 -0x1p-1
#define FLOAT64_GELU_E1 0x1.000000000000cp-3
#define FLOAT64_GELU_E2 -0x1.5555555555514p-6
#define FLOAT64_GELU_E3 0x1.555555554fe0fp-9
#define FLOAT64_GELU_E4 -0x1.111111112156ep-12
#define FLOAT64_GELU_E5 0x1.6c16c1860884dp-16
#define FLOAT64_GELU_E6 -0x1.a01a014c90b83p-20
#define FLOAT64_GELU_E7 0x1.a01995a9abe28p-24
#define FLOAT64_GELU_E8 -0x1.71ded963e5cccp-28
#define FLOAT64_GELU_E9 0x1.28b1133cf8ecbp-32
#define FLOAT64_GELU_E10 -0x1.adf75510cf10bp-37
/* relative error of the ratio 2^-56 on [0, 38.625] */
#define FLOAT64_GELU_N1 0x1.ac8bed865ac1fp+0
#define FLOAT64_GELU_N2 0x1.633bd26e01e1p+0
#define FLOAT64_GELU_N3 0x1.792c27efc601bp-1
#define FLOAT64_GELU_N4 0x1.197d4187c30cp-2
#define FLOAT64_GELU_N5 0x1.33454e72970ddp-4
#define FLOAT64_GELU_N6 0x1.f047eea9b895ap-7
#define FLOAT64_GELU_N7 0x1.25351f5079f6ep-9
#define FLOAT64_GELU_N8 0x1.e72b985ed0c89p-13
#define FLOAT64_GELU_N9 0x1.02e4380ee6bd8p-16
#define FLOAT64_GELU_N10 0x1.0ee30aa4a99e8p-21
#define FLOAT64_GELU_C0 0x1.d25c218302f72p-2
#define FLOAT64_GELU_C1 0x1.4065718407559p-1
#define FLOAT64_GELU_C2 0x1.b57e47254503dp-2
#define FLOAT64_GELU_C3 0x1.7d834194b2125p-3
#define FLOAT64_GELU_C4 0x1.cfc2c56dfa1e1p-5
#define FLOAT64_GELU_C5 0x1.95ad9cb24af7bp-7
#define FLOAT64_GELU_C6 0x1.fe6ca4e599507p-10
#define FLOAT64_GELU_C7 0x1.be9c7ada0d2e4p-13
#define FLOAT64_GELU_C8 0x1.f09056138aa5dp-17
#define FLOAT64_GELU_C9 0x1.0ee30aa4a319dp-21
#define FLOAT64_GELU_K 0x1.40d931ff62706p+0 /* sqrt(pi/2) */

/* 1.5 2^52; 1023 is the exponent's bias, 100 ours. */
#define FLOAT64_ROUND (0x1.8p52 + 1023.0 + 100.0)

static inline double gelu_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_CLAMP ? t : FLOAT64_GELU_CLAMP;

    double n_bits = madd_float64(t * FLOAT64_GELU_RATE, t, FLOAT64_ROUND);
    double n = n_bits - FLOAT64_ROUND;
    double r = cancel_float64(t, t, n * FLOAT64_TWO_LN2_HIGH);
    r = madd_float64(n, FLOAT64_TWO_LN2_LOW, r);

    double s = FLOAT64_GELU_E10;
    s = madd_float64(s, r, FLOAT64_GELU_E9);
    s = madd_float64(s, r, FLOAT64_GELU_E8);
    s = madd_float64(s, r, FLOAT64_GELU_E7);
    s = madd_float64(s, r, FLOAT64_GELU_E6);
    s = madd_float64(s, r, FLOAT64_GELU_E5);
    s = madd_float64(s, r, FLOAT64_GELU_E4);
    s = madd_float64(s, r, FLOAT64_GELU_E3);
    s = madd_float64(s, r, FLOAT64_GELU_E2);
    s = madd_float64(s, r, FLOAT64_GELU_E1);
    s = madd_float64(s, r, FLOAT64_GELU_E0);
    s = s * r;

    double numerator = FLOAT64_GELU_N10;
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N9);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N8);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N7);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N6);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N5);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N4);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N3);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N2);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_N1);
    numerator = madd_float64(numerator, t, 1.0);
    double c = FLOAT64_GELU_C9;
    c = madd_float64(c, t, FLOAT64_GELU_C8);
    c = madd_float64(c, t, FLOAT64_GELU_C7);
    c = madd_float64(c, t, FLOAT64_GELU_C6);
    c = madd_float64(c, t, FLOAT64_GELU_C5);
    c = madd_float64(c, t, FLOAT64_GELU_C4);
    c = madd_float64(c, t, FLOAT64_GELU_C3);
    c = madd_float64(c, t, FLOAT64_GELU_C2);
    c = madd_float64(c, t, FLOAT64_GELU_C1);
    c = madd_float64(c, t, FLOAT64_GELU_C0);
    double denominator = madd_float64(t, madd_float64(numerator, FLOAT64_GELU_K, -c), numerator);

    double tail = 0x1p-101 * numerator / denominator; /* R(t) 2^-100 */
    tail = madd_float64(tail, s, tail);
    double scaled_t = t * float64_of_bits(bits_float64(n_bits) << 52);
    return madd_float64(-scaled_t, tail, relu_float64(x));
}

/* gelu_tanh(x) = 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form.
 *
 * 0.5 (1 + tanh u) = 1 / (1 + exp(-2u)), so with t = |x| and e = exp(-2 |u|) it is
 * relu(x) - t e / (1 + e), again without cancellation.
 *
 * 1. exp(-2 |u|) = 2^-z, z = t w, w = A + B t^2. z reaches 150, so w carries a low part: A has bits to
 *    spare, so that w - A HIGH is exact and the rounding error of w can be had.
 * 2. n = -round(z), r = z + n, and 2^-r = 1 + r s(r), a polynomial on [-1/2, 1/2].
 * 3. y = relu(x) - (t 2^n) (2^-r / (1 + e)), with n biased as above. */

#define FLOAT32_GELU_TANH_CLAMP 10.875f
#define FLOAT32_GELU_TANH_A_HIGH 0x1.26aecp+1f /* 2 sqrt(2/pi) / ln 2, 21 bits */
#define FLOAT32_GELU_TANH_A_LOW 0x1.0de73ap-22f
#define FLOAT32_GELU_TANH_B_HIGH 0x1.a5a7dp-4f /* 0.044715 A */
#define FLOAT32_GELU_TANH_B_LOW -0x1.151aaep-29f
/* 2^-r = 1 + r (E0 + E1 r + ...), relative error 2^-27.6 */
#define FLOAT32_GELU_TANH_E0 -0x1.62e43p-1f
#define FLOAT32_GELU_TANH_E1 0x1.ebfbd8p-3f
#define FLOAT32_GELU_TANH_E2 -0x1.c6af76p-5f
#define FLOAT32_GELU_TANH_E3 0x1.3b30aap-7f
#define FLOAT32_GELU_TANH_E4 -0x1.5f0bdap-10f
#define FLOAT32_GELU_TANH_E5 0x1.3f994ap-13f

static inline float gelu_tanh_float32(float x) {
    float t = __builtin_fabsf(x);
    t = t < FLOAT32_GELU_TANH_CLAMP ? t : FLOAT32_GELU_TANH_CLAMP;

    float square = t * t;
    float square_low = cancel_float32(t, t, -square);
    float w = madd_float32(square, FLOAT32_GELU_TANH_B_HIGH, FLOAT32_GELU_TANH_A_HIGH);
    float w_low = cancel_float32(square, FLOAT32_GELU_TANH_B_HIGH, FLOAT32_GELU_TANH_A_HIGH - w);
    w_low += madd_float32(square_low, FLOAT32_GELU_TANH_B_HIGH,
                          madd_float32(square, FLOAT32_GELU_TANH_B_LOW, FLOAT32_GELU_TANH_A_LOW));

    float n_bits = madd_float32(-t, w, FLOAT32_ROUND);
    float n = n_bits - FLOAT32_ROUND;
    float r = cancel_float32(t, w, n);
    r = madd_float32(t, w_low, r);

    float s = FLOAT32_GELU_TANH_E5;
    s = madd_float32(s, r, FLOAT32_GELU_TANH_E4);
    s = madd_float32(s, r, FLOAT32_GELU_TANH_E3);
    s = madd_float32(s, r, FLOAT32_GELU_TANH_E2);
    s = madd_float32(s, r, FLOAT32_GELU_TANH_E1);
    s = madd_float32(s, r, FLOAT32_GELU_TANH_E0);

    float power = 0x1p-40f * madd_float32(s, r, 1.0f); /* 2^(-r - 40) */
    float scale = float32_of_bits(bits_float32(n_bits) << 23);
    float tail = power / madd_float32(power, scale, 1.0f);
    return madd_float32(-(t * scale), tail, relu_float32(x));
}

#define FLOAT64_GELU_TANH_CLAMP 21.75
#define FLOAT64_GELU_TANH_A_HIGH 0x1.26aec21bce76p+1 /* 48 bits */
#define FLOAT64_GELU_TANH_A_LOW -0x1.ad12d7a64bcebp-49
#define FLOAT64_GELU_TANH_B_HIGH 0x1.a5a7cf7572a98p-4
#define FLOAT64_GELU_TANH_B_LOW -0x1.b91c940e4cfcfp-58
/* relative error 2^-58 */
#define FLOAT64_GELU_TANH_E0 -0x1.62e42fefa39efp-1
#define FLOAT64_GELU_TANH_E1 0x1.ebfbdff82c5a5p-3
#define FLOAT64_GELU_TANH_E2 -0x1.c6b08d704a11dp-5
#define FLOAT64_GELU_TANH_E3 0x1.3b2ab6fb9ff57p-7
#define FLOAT64_GELU_TANH_E4 -0x1.5d87fe78a23cep-10
#define FLOAT64_GELU_TANH_E5 0x1.4309130f3288ap-13
#define FLOAT64_GELU_TANH_E6 -0x1.ffcbfc538f8fdp-17
#define FLOAT64_GELU_TANH_E7 0x1.62bfc6b8db8ep-20
#define FLOAT64_GELU_TANH_E8 -0x1.b5254b14510fbp-24
#define FLOAT64_GELU_TANH_E9 0x1.e61ce20d16d4dp-28
#define FLOAT64_GELU_TANH_E10 -0x1.e9368fa354e48p-32

static inline double gelu_tanh_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_TANH_CLAMP ? t : FLOAT64_GELU_TANH_CLAMP;

    double square = t * t;
    double square_low = cancel_float64(t, t, -square);
    double w = madd_float64(square, FLOAT64_GELU_TANH_B_HIGH, FLOAT64_GELU_TANH_A_HIGH);
    double w_low = cancel_float64(square, FLOAT64_GELU_TANH_B_HIGH, FLOAT64_GELU_TANH_A_HIGH - w);
    w_low += madd_float64(square_low, FLOAT64_GELU_TANH_B_HIGH,
                          madd_float64(square, FLOAT64_GELU_TANH_B_LOW, FLOAT64_GELU_TANH_A_LOW));

    double n_bits = madd_float64(-t, w, FLOAT64_ROUND);
    double n = n_bits - FLOAT64_ROUND;
    double r = cancel_float64(t, w, n);
    r = madd_float64(t, w_low, r);

    double s = FLOAT64_GELU_TANH_E10;
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E9);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E8);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E7);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E6);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E5);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E4);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E3);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E2);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E1);
    s = madd_float64(s, r, FLOAT64_GELU_TANH_E0);

    double power = 0x1p-100 * madd_float64(s, r, 1.0); /* 2^(-r - 100) */
    double scale = float64_of_bits(bits_float64(n_bits) << 52);
    double tail = power / madd_float64(power, scale, 1.0);
    return madd_float64(-(t * scale), tail, relu_float64(x));
}

/* float16 is computed in float32 and rounded. */

static inline float16 gelu_float16(float16 x) {
    return float16_of_float32(gelu_float32(float32_of_float16(x)));
}

static inline float16 gelu_tanh_float16(float16 x) {
    return float16_of_float32(gelu_tanh_float32(float32_of_float16(x)));
}

#endif
