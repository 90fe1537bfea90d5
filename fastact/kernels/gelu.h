/* gelu, the exact form, without a table: float64, and float32 of the baseline. */

#ifndef FASTACT_GELU_H
#define FASTACT_GELU_H

#include "arithmetic.h"
#include "piecewise.h"

/* gelu(x) = x P(X <= x), X normal: the exact (erf) form.
 *
 * With t = |x| and Q the upper tail of the normal distribution, gelu(x) = relu(x) - t Q(t), which
 * has no cancellation anywhere, unlike 0.5 x (1 + erf(x / sqrt 2)) in the negative tail.
 *
 * 1. n = round(-t^2/2 / ln 2), r = t^2 + n 2 ln 2: then exp(-t^2/2) = 2^n exp(-r/2). 2 ln 2 is
 *    cut so that n HIGH is exact; the first sum then keeps every bit of t^2.
 * 2. exp(-r/2) = 1 + s, s a polynomial.
 * 3. 2 R(t) = N / (N (1 + K t) - t C), where Q(t) = exp(-t^2/2) R(t); N and C are polynomials of
 *    a minimax rational, K = sqrt(pi/2). An error of N or C nearly cancels in the ratio; what the
 *    sums and the division round off is computed and given back, to first order.
 * 4. y = relu(x) - t 2^n R(t) (1 + s), in two sums of which the first is that of the small parts.
 *    2^n alone would be subnormal, so n is biased, and the scale taken back in the denominator.
 *
 * t is clamped where the product has long rounded to zero, so that infinities pass. */

#define FLOAT32_GELU_CLAMP 0x1.ccp+3f
#define FLOAT32_GELU_RATE -0x1.715476p-1f /* -1 / (2 ln 2) */
#define FLOAT32_TWO_LN2_HIGH 0x1.62e4p+0f /* 15 bits */
#define FLOAT32_TWO_LN2_LOW 0x1.7f7d1cp-19f
/* exp(-r/2) = 1 + r (E0 + E1 r + ...) on [-ln 2, ln 2], relative error 2^-27.6 */
#define FLOAT32_GELU_E0 -0.5f
#define FLOAT32_GELU_E1 0x1.fffff8p-4f
#define FLOAT32_GELU_E2 -0x1.55548cp-6f
#define FLOAT32_GELU_E3 0x1.555b8ep-9f
#define FLOAT32_GELU_E4 -0x1.123d3ap-12f
#define FLOAT32_GELU_E5 0x1.685eecp-16f
/* N = 1 + N1 t + ..., C = C0 + C1 t + ..., relative error of the ratio 2^-25.7 on [0, CLAMP] */
#define FLOAT32_GELU_N1 0x1.d351eap-1f
#define FLOAT32_GELU_N2 0x1.92fce6p-2f
#define FLOAT32_GELU_N3 0x1.728fbep-4f
#define FLOAT32_GELU_N4 0x1.3b1b68p-7f
#define FLOAT32_GELU_C0 0x1.d25bf2p-2f
#define FLOAT32_GELU_C1 0x1.1dc5ep-2f
#define FLOAT32_GELU_C2 0x1.416d22p-4f
#define FLOAT32_GELU_C3 0x1.3b10f4p-7f
#define FLOAT32_GELU_K 0x1.40d932p+0f /* sqrt(pi/2) */

/* Adding 1.5 2^23 leaves a rounded integer in the low bits; 127 is the
 * exponent's bias, 40 ours. */
#define FLOAT32_ROUND (0x1.8p23f + 127.0f + 40.0f)
#define FLOAT32_SCALE 0x1p40f

/* Steps 1 and 2: returns s, and 2^n SCALE in *scale. */
static inline float exp_half_square_float32(float t, float *scale) {
    float n_bits = madd_float32(t * FLOAT32_GELU_RATE, t, FLOAT32_ROUND);
    float n = n_bits - FLOAT32_ROUND;
    float r = cancel_float32(t, t, n * FLOAT32_TWO_LN2_HIGH);
    r = madd_float32(n, FLOAT32_TWO_LN2_LOW, r);
    *scale = float32_of_bits(bits_float32(n_bits) << 23);

    float s = FLOAT32_GELU_E5;
    s = madd_float32(s, r, FLOAT32_GELU_E4);
    s = madd_float32(s, r, FLOAT32_GELU_E3);
    s = madd_float32(s, r, FLOAT32_GELU_E2);
    s = madd_float32(s, r, FLOAT32_GELU_E1);
    s = madd_float32(s, r, FLOAT32_GELU_E0);
    return s * r;
}

/* For the baseline, of whose sums in step 3 only the rounding errors are given back: products would
 * have to be cut in halves. Where an instruction looks values up, gelu_table.h takes its place. */
static inline float gelu_float32(float x) {
    float t = __builtin_fabsf(x);
    t = t < FLOAT32_GELU_CLAMP ? t : FLOAT32_GELU_CLAMP;
    float scale;
    float s = exp_half_square_float32(t, &scale);

    float numerator = FLOAT32_GELU_N4;
    numerator = madd_float32(numerator, t, FLOAT32_GELU_N3);
    numerator = madd_float32(numerator, t, FLOAT32_GELU_N2);
    numerator = madd_float32(numerator, t, FLOAT32_GELU_N1);
    numerator = madd_float32(numerator, t, 1.0f);
    float c = FLOAT32_GELU_C3;
    c = madd_float32(c, t, FLOAT32_GELU_C2);
    c = madd_float32(c, t, FLOAT32_GELU_C1);
    c = madd_float32(c, t, FLOAT32_GELU_C0);
    float kn = FLOAT32_GELU_K * numerator;
    float k = kn - c;
    float p = t * k;
    float denominator = p + numerator;
    float denominator_low = numerator - (denominator - p) + t * (kn - k - c);
    s = s - denominator_low * rough_inverse_float32(denominator);

    float tail = numerator / (2 * FLOAT32_SCALE) / denominator; /* R(t) / SCALE */
    tail = t * scale * tail;
    return keep_sign_float32(relu_float32(x) - (tail + tail * s), x);
}

#define FLOAT64_GELU_CLAMP 0x1.35p+5
#define FLOAT64_GELU_RATE -0x1.71547652b82fep-1 /* -1 / (2 ln 2) */
#define FLOAT64_TWO_LN2_HIGH 0x1.62e42fefa4p+0 /* 41 bits */
#define FLOAT64_TWO_LN2_LOW -0x1.8432a1b0e2634p-42
/* exp(-r/2) = 1 + r (E0 + E1 r + ...) on [-ln 2, ln 2], relative error 2^-58 */
#define FLOAT64_GELU_E0 -0.5
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
/* N = 1 + N1 t + ..., C = C0 + C1 t + ..., relative error of the ratio 2^-57 on [0, CLAMP] */
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

/* Adding 1.5 2^52 leaves a rounded integer in the low bits; 1023 is the
 * exponent's bias, 100 ours. */
#define FLOAT64_ROUND (0x1.8p52 + 1023.0 + 100.0)
#define FLOAT64_SCALE 0x1p100

/* Steps 1 and 2: returns s, and 2^n SCALE in *scale. E0 r is exact, which halves the error of s. */
static inline double exp_half_square_float64(double t, double *scale) {
    double n_bits = madd_float64(t * FLOAT64_GELU_RATE, t, FLOAT64_ROUND);
    double n = n_bits - FLOAT64_ROUND;
    double r = cancel_float64(t, t, n * FLOAT64_TWO_LN2_HIGH);
    r = madd_float64(n, FLOAT64_TWO_LN2_LOW, r);
    *scale = float64_of_bits(bits_float64(n_bits) << 52);

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
    return madd_float64(r * r, s, FLOAT64_GELU_E0 * r);
}

static inline double gelu_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_CLAMP ? t : FLOAT64_GELU_CLAMP;

    double scale;
    double s = exp_half_square_float64(t, &scale);

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
    double c = 2 * FLOAT64_SCALE * FLOAT64_GELU_C9;
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C8);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C7);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C6);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C5);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C4);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C3);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C2);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C1);
    c = madd_float64(c, t, 2 * FLOAT64_SCALE * FLOAT64_GELU_C0);
    double tc = t * c;
    double k = madd_float64(t, 2 * FLOAT64_SCALE * FLOAT64_GELU_K, 2 * FLOAT64_SCALE);
    double k_low = cancel_float64(t, 2 * FLOAT64_SCALE * FLOAT64_GELU_K, 2 * FLOAT64_SCALE - k);
    double denominator = madd_float64(numerator, k, -tc);
    double denominator_low = cancel_float64(numerator, k, -denominator) - tc;
    denominator_low = madd_float64(numerator, k_low, denominator_low);

    double tail = numerator / denominator; /* R(t) / SCALE */
    double remainder = cancel_float64(-tail, denominator, numerator);
    remainder = madd_float64(-tail, denominator_low, remainder);
    double correction = remainder * rough_inverse_float64(denominator);
    double g = madd_float64(tail, s, madd_float64(correction, s, correction));

    double scaled_t = t * scale;
    double y = madd_float64(-scaled_t, tail, madd_float64(-scaled_t, g, relu_float64(x)));
    return keep_sign_float64(y, x);
}

#endif
