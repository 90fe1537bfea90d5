/* The derivatives of relu, gelu and gelu_tanh. */

#ifndef FASTACT_DERIVATIVES_H
#define FASTACT_DERIVATIVES_H

#include "arithmetic.h"
#include "gelu.h"
#include "logistic.h"

/* The derivatives. That of relu is 0 at 0. Those of gelu and gelu_tanh cross zero, where only
 * float64 keeps a float32 result accurate, so float32 is computed in float64. */

static inline float relu_grad_float32(float x) {
    return x > 0.0f ? 1.0f : (x <= 0.0f ? 0.0f : x);
}

static inline double relu_grad_float64(double x) {
    return x > 0.0 ? 1.0 : (x <= 0.0 ? 0.0 : x);
}

/* gelu'(x) = P(X <= x) + x phi(x): G(t) for negative x and 1 - G(t) for positive ones, where
 * G(t) = exp(-t^2/2) (R(t) - t / sqrt(2 pi)). The factor in brackets is (ZERO - t) N / D, which
 * keeps the zero itself accurate. */

#define FLOAT64_GELU_GRAD_CLAMP 0x1.36p+5
#define FLOAT64_GELU_GRAD_ZERO_HIGH 0x1.80ead197f00b4p-1
#define FLOAT64_GELU_GRAD_ZERO_LOW -0x1.13e74c58cada8p-56
/* N = N0 + N1 t + ..., D = 1 + D1 t + ..., relative error 2^-55 on [0, CLAMP] */
#define FLOAT64_GELU_GRAD_N0 0x1.54851a5cc1ec8p-1
#define FLOAT64_GELU_GRAD_N1 0x1.547bf7d62bda4p+0
#define FLOAT64_GELU_GRAD_N2 0x1.47aefec430bdep+0
#define FLOAT64_GELU_GRAD_N3 0x1.8ab0501df72e1p-1
#define FLOAT64_GELU_GRAD_N4 0x1.47b0e453ce5ebp-2
#define FLOAT64_GELU_GRAD_N5 0x1.874370a62d03ap-4
#define FLOAT64_GELU_GRAD_N6 0x1.546f4b924a362p-6
#define FLOAT64_GELU_GRAD_N7 0x1.ab5d753d9ef0cp-9
#define FLOAT64_GELU_GRAD_N8 0x1.74051057f2d0bp-12
#define FLOAT64_GELU_GRAD_N9 0x1.984621cd41f34p-16
#define FLOAT64_GELU_GRAD_N10 0x1.b15a83ecac9b7p-21
#define FLOAT64_GELU_GRAD_D1 0x1.21f8be5acb5e1p+1
#define FLOAT64_GELU_GRAD_D2 0x1.3097e2477a5dbp+1
#define FLOAT64_GELU_GRAD_D3 0x1.87979633035e9p+0
#define FLOAT64_GELU_GRAD_D4 0x1.560ec8cbc15f8p-1
#define FLOAT64_GELU_GRAD_D5 0x1.a98d8bf165853p-3
#define FLOAT64_GELU_GRAD_D6 0x1.7f3f2867d6a33p-5
#define FLOAT64_GELU_GRAD_D7 0x1.efb45d5af7b79p-8
#define FLOAT64_GELU_GRAD_D8 0x1.bb468249bb54ap-11
#define FLOAT64_GELU_GRAD_D9 0x1.f2ef7fd1b1af9p-15
#define FLOAT64_GELU_GRAD_D10 0x1.0f9067a227214p-19

static inline double gelu_grad_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_GRAD_CLAMP ? t : FLOAT64_GELU_GRAD_CLAMP;

    double scale;
    double s = exp_half_square_float64(t, &scale);

    double numerator = FLOAT64_GELU_GRAD_N10;
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N9);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N8);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N7);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N6);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N5);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N4);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N3);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N2);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N1);
    numerator = madd_float64(numerator, t, FLOAT64_GELU_GRAD_N0);
    double denominator = FLOAT64_GELU_GRAD_D10;
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D9);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D8);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D7);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D6);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D5);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D4);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D3);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D2);
    denominator = madd_float64(denominator, t, FLOAT64_GELU_GRAD_D1);
    denominator = madd_float64(denominator, t, 1.0);
    double from_zero = (FLOAT64_GELU_GRAD_ZERO_HIGH - t) + FLOAT64_GELU_GRAD_ZERO_LOW;
    double g = numerator / denominator * from_zero / FLOAT64_SCALE;
    g = madd_float64(g, s, g);
    double y = g * scale;
    return x <= 0.0 ? y : (x > 0.0 ? 1.0 - y : x);
}

/* gelu_tanh'(x): with e and v' = dv/dx it is e / (1 + e)^2 (1 + e - t v') for negative x, and one
 * minus that for positive ones. */

#define FLOAT64_GELU_TANH_GRAD_A 0x1.9884533d43651p+0 /* 2 sqrt(2/pi) */
#define FLOAT64_GELU_TANH_GRAD_3B 0x1.b6676bf7450fp-3 /* 3 0.044715 A */

static inline double gelu_tanh_grad_float64(double x) {
    double t = __builtin_fabs(x);
    t = t < FLOAT64_GELU_TANH_CLAMP ? t : FLOAT64_GELU_TANH_CLAMP;
    double w_low, power_low, scale;
    double w = gelu_tanh_factor_float64(t, &w_low);
    double power = exp2_product_float64(t, w, w_low, &power_low, &scale);
    double sum = madd_float64(power, scale, 1.0);

    double slope = madd_float64(t * t, FLOAT64_GELU_TANH_GRAD_3B, FLOAT64_GELU_TANH_GRAD_A);
    double bracket = madd_float64(-t, slope, 1.0) + power * scale;
    double y = power * bracket / (sum * sum) * scale;
    return x <= 0.0 ? y : (x > 0.0 ? 1.0 - y : x);
}

static inline float gelu_grad_float32(float x) {
    return (float)gelu_grad_float64(x);
}

static inline float gelu_tanh_grad_float32(float x) {
    return (float)gelu_tanh_grad_float64(x);
}

#endif
