/* The logistic units: gelu_tanh, gelu_quick, silu. */

#ifndef FASTACT_LOGISTIC_H
#define FASTACT_LOGISTIC_H

#include "arithmetic.h"
#include "gelu.h"
#include "piecewise.h"

/* The logistic units x / (1 + exp(-v)): silu, v = x; gelu_quick, v = 1.702 x; and gelu_tanh, the
 * tanh form of gelu, 0.5 x (1 + tanh(v/2)), v = 2 sqrt(2/pi) (x + 0.044715 x^3).
 *
 * With t = |x| and e = exp(-|v|) each is relu(x) - t e / (1 + e), again without cancellation.
 *
 * 1. e = 2^-z, z = t w. z reaches the number of exponents, so w comes with a low part.
 * 2. n = -round(z), r = z + n, 2^-r = 1 + r s(r): a polynomial, in float64 with its rounding error.
 * 3. y = relu(x) - t 2^n 2^-r / (1 + e), corrected, biased and summed as in gelu.h. The scale that
 *    takes the bias back is in the coefficients of s. */

/* 2^-r = 1 + r (E0 + E1 r + ...) on [-1/2, 1/2], relative error 2^-27.6 */
#define FLOAT32_LOGISTIC_E0 -0x1.62e43p-1f
#define FLOAT32_LOGISTIC_E1 0x1.ebfbd8p-3f
#define FLOAT32_LOGISTIC_E2 -0x1.c6af76p-5f
#define FLOAT32_LOGISTIC_E3 0x1.3b30aap-7f
#define FLOAT32_LOGISTIC_E4 -0x1.5f0bdap-10f
#define FLOAT32_LOGISTIC_E5 0x1.3f994ap-13f

/* Steps 1 and 2: returns 2^-r / SCALE, and 2^n SCALE in *scale. */
static inline float exp2_product_float32(float t, float w, float w_low, float *scale) {
    float n_bits = madd_float32(-t, w, FLOAT32_ROUND);
    float n = n_bits - FLOAT32_ROUND;
    float r = cancel_float32(t, w, n);
    r = madd_float32(t, w_low, r);
    *scale = float32_of_bits(bits_float32(n_bits) << 23);

    float s = FLOAT32_LOGISTIC_E5 / FLOAT32_SCALE;
    s = madd_float32(s, r, FLOAT32_LOGISTIC_E4 / FLOAT32_SCALE);
    s = madd_float32(s, r, FLOAT32_LOGISTIC_E3 / FLOAT32_SCALE);
    s = madd_float32(s, r, FLOAT32_LOGISTIC_E2 / FLOAT32_SCALE);
    s = madd_float32(s, r, FLOAT32_LOGISTIC_E1 / FLOAT32_SCALE);
    s = madd_float32(s, r, FLOAT32_LOGISTIC_E0 / FLOAT32_SCALE);
    return madd_float32(s, r, 1 / FLOAT32_SCALE);
}

static inline float logistic_unit_float32(float x, float t, float w, float w_low) {
    float scale;
    float power = exp2_product_float32(t, w, w_low, &scale);
    float denominator = madd_float32(power, scale, 1.0f);
    float denominator_low = madd_float32(power, scale, 1.0f - denominator);

    float tail = power / denominator;
    float remainder = cancel_float32(-tail, denominator, power);
    remainder = madd_float32(-tail, denominator_low, remainder);
    float g = remainder * rough_inverse_float32(denominator);

    float scaled_t = t * scale;
    float y = madd_float32(-scaled_t, tail, madd_float32(-scaled_t, g, relu_float32(x)));
    return keep_sign_float32(y, x);
}

/* 2^-r = 1 + r (E0 + E1 r + ...) on [-1/2, 1/2], relative error 2^-58 */
#define FLOAT64_LOGISTIC_E0 -0x1.62e42fefa39efp-1
#define FLOAT64_LOGISTIC_E1 0x1.ebfbdff82c5a5p-3
#define FLOAT64_LOGISTIC_E2 -0x1.c6b08d704a11dp-5
#define FLOAT64_LOGISTIC_E3 0x1.3b2ab6fb9ff57p-7
#define FLOAT64_LOGISTIC_E4 -0x1.5d87fe78a23cep-10
#define FLOAT64_LOGISTIC_E5 0x1.4309130f3288ap-13
#define FLOAT64_LOGISTIC_E6 -0x1.ffcbfc538f8fdp-17
#define FLOAT64_LOGISTIC_E7 0x1.62bfc6b8db8ep-20
#define FLOAT64_LOGISTIC_E8 -0x1.b5254b14510fbp-24
#define FLOAT64_LOGISTIC_E9 0x1.e61ce20d16d4dp-28
#define FLOAT64_LOGISTIC_E10 -0x1.e9368fa354e48p-32

/* Steps 1 and 2: returns 2^-r / SCALE, its rounding error in *low, and 2^n SCALE in *scale. */
static inline double exp2_product_float64(double t, double w, double w_low, double *low,
                                         double *scale) {
    double n_bits = madd_float64(-t, w, FLOAT64_ROUND);
    double n = n_bits - FLOAT64_ROUND;
    double r = cancel_float64(t, w, n);
    r = madd_float64(t, w_low, r);
    *scale = float64_of_bits(bits_float64(n_bits) << 52);

    double s = FLOAT64_LOGISTIC_E10 / FLOAT64_SCALE;
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E9 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E8 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E7 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E6 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E5 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E4 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E3 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E2 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E1 / FLOAT64_SCALE);
    s = madd_float64(s, r, FLOAT64_LOGISTIC_E0 / FLOAT64_SCALE);
    double power = madd_float64(s, r, 1 / FLOAT64_SCALE);
    *low = cancel_float64(s, r, 1 / FLOAT64_SCALE - power);
    return power;
}

static inline double logistic_unit_float64(double x, double t, double w, double w_low) {
    double power_low, scale;
    double power = exp2_product_float64(t, w, w_low, &power_low, &scale);
    double denominator = madd_float64(power, scale, 1.0);
    double denominator_low = madd_float64(power, scale, 1.0 - denominator);
    denominator_low = madd_float64(power_low, scale, denominator_low);

    double tail = power / denominator;
    double remainder = cancel_float64(-tail, denominator, power) + power_low;
    remainder = madd_float64(-tail, denominator_low, remainder);
    double g = remainder * rough_inverse_float64(denominator);

    double scaled_t = t * scale;
    double y = madd_float64(-scaled_t, tail, madd_float64(-scaled_t, g, relu_float64(x)));
    return keep_sign_float64(y, x);
}

/* w = A + B t^2 for gelu_tanh. A HIGH has bits to spare, so that w - A HIGH is exact, and with it
 * the rounding error of w. */

#define FLOAT32_GELU_TANH_CLAMP 0x1.5cp+3f
#define FLOAT32_GELU_TANH_A_HIGH 0x1.26aecp+1f /* 2 sqrt(2/pi) / ln 2, 21 bits */
#define FLOAT32_GELU_TANH_A_LOW 0x1.0de73ap-22f
#define FLOAT32_GELU_TANH_B_HIGH 0x1.a5a7dp-4f /* 0.044715 A */
#define FLOAT32_GELU_TANH_B_LOW -0x1.151aaep-29f

static inline float gelu_tanh_factor_float32(float t, float *w_low) {
    float square = t * t;
    float square_low = cancel_float32(t, t, -square);
    float w = madd_float32(square, FLOAT32_GELU_TANH_B_HIGH, FLOAT32_GELU_TANH_A_HIGH);
    float low = madd_float32(square, FLOAT32_GELU_TANH_B_LOW, FLOAT32_GELU_TANH_A_LOW);
    low = madd_float32(square_low, FLOAT32_GELU_TANH_B_HIGH, low);
    *w_low = cancel_float32(square, FLOAT32_GELU_TANH_B_HIGH, FLOAT32_GELU_TANH_A_HIGH - w) + low;
    return w;
}

static inline float gelu_tanh_float32(float x) {
    float t = __builtin_fabsf(x);
    t = t < FLOAT32_GELU_TANH_CLAMP ? t : FLOAT32_GELU_TANH_CLAMP;
    float w_low;
    float w = gelu_tanh_factor_float32(t, &w_low);
    return logistic_unit_float32(x, t, w, w_low);
}

#define FLOAT64_GELU_TANH_CLAMP 0x1.5cp+4
#define FLOAT64_GELU_TANH_A_HIGH 0x1.26aec21bce76p+1 /* 2 sqrt(2/pi) / ln 2, 48 bits */
#define FLOAT64_GELU_TANH_A_LOW -0x1.ad12d7a64bcebp-49
#define FLOAT64_GELU_TANH_B_HIGH 0x1.a5a7cf7572a98p-4 /* 0.044715 A */
#define FLOAT64_GELU_TANH_B_LOW -0x1.b91c940e4cfcfp-58

static inline double gelu_tanh_factor_float64(double t, double *w_low) {
    double square = t * t;
    double square_low = cancel_float64(t, t, -square);
    double w = madd_float64(square, FLOAT64_GELU_TANH_B_HIGH, FLOAT64_GELU_TANH_A_HIGH);
    double low = madd_float64(square, FLOAT64_GELU_TANH_B_LOW, FLOAT64_GELU_TANH_A_LOW);
    low = madd_float64(square_low, FLOAT64_GELU_TANH_B_HIGH, low);
    *w_low = cancel_float64(square, FLOAT64_GELU_TANH_B_HIGH, FLOAT64_GELU_TANH_A_HIGH - w) + low;
    return w;
}

static inline double gelu_tanh_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_TANH_CLAMP ? t : FLOAT64_GELU_TANH_CLAMP;
    double w_low;
    double w = gelu_tanh_factor_float64(t, &w_low);
    return logistic_unit_float64(x, t, w, w_low);
}

#define FLOAT32_GELU_QUICK_CLAMP 64.0f
#define FLOAT32_GELU_QUICK_HIGH 0x1.3a4cbep+1f /* 1.702 / ln 2 */
#define FLOAT32_GELU_QUICK_LOW -0x1.c08ecap-26f

static inline float gelu_quick_float32(float x) {
    float t = __builtin_fabsf(x);
    t = t < FLOAT32_GELU_QUICK_CLAMP ? t : FLOAT32_GELU_QUICK_CLAMP;
    return logistic_unit_float32(x, t, FLOAT32_GELU_QUICK_HIGH, FLOAT32_GELU_QUICK_LOW);
}

#define FLOAT64_GELU_QUICK_CLAMP 443.0
#define FLOAT64_GELU_QUICK_HIGH 0x1.3a4cbdc7ee26bp+1 /* 1.702 / ln 2 */
#define FLOAT64_GELU_QUICK_LOW 0x1.68797025e71e1p-54

static inline double gelu_quick_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_QUICK_CLAMP ? t : FLOAT64_GELU_QUICK_CLAMP;
    return logistic_unit_float64(x, t, FLOAT64_GELU_QUICK_HIGH, FLOAT64_GELU_QUICK_LOW);
}

#define FLOAT32_SILU_CLAMP 110.0f
#define FLOAT32_SILU_HIGH 0x1.715476p+0f /* 1 / ln 2 */
#define FLOAT32_SILU_LOW 0x1.4ae0cp-26f

static inline float silu_float32(float x) {
    float t = __builtin_fabsf(x);
    t = t < FLOAT32_SILU_CLAMP ? t : FLOAT32_SILU_CLAMP;
    return logistic_unit_float32(x, t, FLOAT32_SILU_HIGH, FLOAT32_SILU_LOW);
}

#define FLOAT64_SILU_CLAMP 754.0
#define FLOAT64_SILU_HIGH 0x1.71547652b82fep+0 /* 1 / ln 2 */
#define FLOAT64_SILU_LOW 0x1.777d0ffda0d24p-56

static inline double silu_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_SILU_CLAMP ? t : FLOAT64_SILU_CLAMP;
    return logistic_unit_float64(x, t, FLOAT64_SILU_HIGH, FLOAT64_SILU_LOW);
}

#endif
