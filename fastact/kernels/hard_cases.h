/* Where float16 and bfloat16 cannot be rounded from float32. */

#ifndef FASTACT_HARD_CASES_H
#define FASTACT_HARD_CASES_H

#include "arithmetic.h"

/* The hard cases of float16: inputs at which the exact value is so close to the middle between two
 * float16 numbers that rounding the float32 result goes wrong in some variant, with the correct
 * result. Found by trying all 65,536. Masks, since gcc would make a chain of
 * conditions a switch, which it does not vectorise. */
#define HARD_CASE(input, result)                            \
    {                                                       \
        uint16_t hit = (uint16_t)-(x.bits == (input));      \
        y = (uint16_t)((y & ~hit) | ((result) & hit));      \
    }
#define HARD_CASES(activation, cases)                                         \
    static inline float16 activation##_hard_case(float16 x, float16 rounded) { \
        uint16_t y = rounded.bits;                                            \
        (void)x; /* where there are no cases */                               \
        cases                                                                 \
        float16 result = {y};                                                 \
        return result;                                                        \
    }

HARD_CASES(gelu, HARD_CASE(0x0001, 0x0001) HARD_CASE(0x157C, 0x117D) HARD_CASE(0x957C, 0x917B))
HARD_CASES(gelu_tanh,
           HARD_CASE(0x0001, 0x0001) HARD_CASE(0x157C, 0x117D) HARD_CASE(0x2DF1, 0x2A61)
           HARD_CASE(0x334F, 0x3051) HARD_CASE(0x35A7, 0x3337) HARD_CASE(0x957C, 0x917B)
           HARD_CASE(0xB3FE, 0xAE6B) HARD_CASE(0xB5A7, 0xB017))
HARD_CASES(gelu_quick, HARD_CASE(0x0001, 0x0001) HARD_CASE(0x8E22, 0x8A21))
HARD_CASES(silu, HARD_CASE(0x0001, 0x0001) HARD_CASE(0x1E00, 0x1A04) HARD_CASE(0xC173, 0xB15D))
HARD_CASES(hard_swish, HARD_CASE(0x0001, 0x0001))
HARD_CASES(relu_grad, )
HARD_CASES(gelu_grad, )
HARD_CASES(gelu_tanh_grad, )

/* The hard cases of bfloat16 are the inputs whose half is subnormal. Each activation that is x/2
 * near 0 is a little more than x/2, which decides where x/2 lies in the middle. Below 0x0100 the
 * bits count units. */
static inline bfloat16 bfloat16_half_case(bfloat16 x, bfloat16 rounded) {
    uint16_t magnitude = x.bits & 0x7FFFu, sign = x.bits & 0x8000u;
    uint16_t half = (uint16_t)(sign | (magnitude + (sign ? 0u : 1u)) >> 1);
    bfloat16 y = {magnitude < 0x0100u ? half : rounded.bits};
    return y;
}

static inline bfloat16 bfloat16_no_case(bfloat16 x, bfloat16 rounded) {
    (void)x;
    return rounded;
}

#define relu_bfloat16_case bfloat16_no_case
#define relu6_bfloat16_case bfloat16_no_case
#define gelu_bfloat16_case bfloat16_half_case
#define gelu_tanh_bfloat16_case bfloat16_half_case
#define gelu_quick_bfloat16_case bfloat16_half_case
#define silu_bfloat16_case bfloat16_half_case
#define hard_swish_bfloat16_case bfloat16_half_case
#define relu_grad_bfloat16_case bfloat16_no_case
#define gelu_grad_bfloat16_case bfloat16_no_case
#define gelu_tanh_grad_bfloat16_case bfloat16_no_case

#endif
