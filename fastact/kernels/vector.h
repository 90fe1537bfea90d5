/* Vectors of float32, for what a compiler does not make out of plain C: looking values up in a table
 * of eight, converting float16, and relu on AArch64. Empty without such instructions. */

#ifndef FASTACT_VECTOR_H
#define FASTACT_VECTOR_H

#include <stddef.h>
#include <string.h>

#include "arithmetic.h"

#if defined(__AVX512F__)

#include <immintrin.h>

#define FASTACT_LANES 16
typedef __m512 vector;
typedef __m512i vector_bits;

#define v_load(p) _mm512_loadu_ps(p)
#define v_store(p, x) _mm512_storeu_ps(p, x)
#define v_all(c) _mm512_set1_ps(c)
#define v_bits(x) _mm512_castps_si512(x)
#define v_of_bits(b) _mm512_castsi512_ps(b)
#define v_subtract_bits(b, c) _mm512_sub_epi32(b, _mm512_set1_epi32(c))
#define v_shift_left(b, k) _mm512_slli_epi32(b, k)
#define v_shift_right(b, k) _mm512_srli_epi32(b, k)
#define v_mul(a, b) _mm512_mul_ps(a, b)
#define v_sub(a, b) _mm512_sub_ps(a, b)
#define v_madd(a, b, c) _mm512_fmadd_ps(a, b, c)   /* a b + c */
#define v_nmadd(a, b, c) _mm512_fnmadd_ps(a, b, c) /* c - a b */
#define v_abs(x) _mm512_abs_ps(x)
#define v_min(x, c) _mm512_min_ps(x, c)  /* x < c ? x : c */
#define v_max(x, c) _mm512_max_ps(x, c)
#define v_relu(x) _mm512_max_ps(_mm512_setzero_ps(), x) /* 0 > x ? 0 : x */
/* The instruction takes four bits of the index, of which the highest is not ours. */
typedef __m512 v_table;
#define v_load_table(p) _mm512_broadcast_f32x8(_mm256_loadu_ps(p))
#define v_index(b) (b)
#define v_lookup(table, index) _mm512_permutexvar_ps(index, table)
#define v_load_float16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define v_store_float16(p, x)              \
    _mm256_storeu_si256((__m256i *)(p), \
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))

#elif defined(__AVX2__)

#include <immintrin.h>

#define FASTACT_LANES 8
typedef __m256 vector;
typedef __m256i vector_bits;

#define v_load(p) _mm256_loadu_ps(p)
#define v_store(p, x) _mm256_storeu_ps(p, x)
#define v_all(c) _mm256_set1_ps(c)
#define v_bits(x) _mm256_castps_si256(x)
#define v_of_bits(b) _mm256_castsi256_ps(b)
#define v_subtract_bits(b, c) _mm256_sub_epi32(b, _mm256_set1_epi32(c))
#define v_shift_left(b, k) _mm256_slli_epi32(b, k)
#define v_shift_right(b, k) _mm256_srli_epi32(b, k)
#define v_mul(a, b) _mm256_mul_ps(a, b)
#define v_sub(a, b) _mm256_sub_ps(a, b)
#define v_madd(a, b, c) _mm256_fmadd_ps(a, b, c)
#define v_nmadd(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define v_abs(x) _mm256_and_ps(x, v_of_bits(_mm256_set1_epi32(0x7FFFFFFF)))
#define v_min(x, c) _mm256_min_ps(x, c)
#define v_max(x, c) _mm256_max_ps(x, c)
#define v_relu(x) _mm256_max_ps(_mm256_setzero_ps(), x)
/* The instruction takes the low three bits of the index. */
typedef __m256 v_table;
#define v_load_table(p) _mm256_loadu_ps(p)
#define v_index(b) (b)
#define v_lookup(table, index) _mm256_permutevar8x32_ps(table, index)
#define v_load_float16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define v_store_float16(p, x)           \
    _mm_storeu_si128((__m128i *)(p), \
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))

#elif defined(__aarch64__)

#include <arm_neon.h>

#define FASTACT_LANES 4
typedef float32x4_t vector;
typedef uint32x4_t vector_bits;

#define v_load(p) vld1q_f32(p)
#define v_store(p, x) vst1q_f32(p, x)
#define v_all(c) vdupq_n_f32(c)
#define v_bits(x) vreinterpretq_u32_f32(x)
#define v_of_bits(b) vreinterpretq_f32_u32(b)
#define v_subtract_bits(b, c) vsubq_u32(b, vdupq_n_u32(c))
#define v_shift_left(b, k) vshlq_n_u32(b, k)
#define v_shift_right(b, k) vshrq_n_u32(b, k)
#define v_mul(a, b) vmulq_f32(a, b)
#define v_sub(a, b) vsubq_f32(a, b)
#define v_madd(a, b, c) vfmaq_f32(c, a, b)
#define v_nmadd(a, b, c) vfmsq_f32(c, a, b)
#define v_abs(x) vabsq_f32(x)
/* As the comparison, but for a signalling NaN, which stays NaN. */
#define v_min(x, c) vminnmq_f32(x, c)
#define v_max(x, c) vmaxnmq_f32(x, c)
/* Not vmaxq, which makes -0.0 a 0.0. */
#define v_relu(x) vbslq_f32(vcgtq_f32(vdupq_n_f32(0.0f), x), vdupq_n_f32(0.0f), x)
static inline vector v_relu6(vector x) {
    vector y = v_relu(x);
    return vbslq_f32(vcltq_f32(vdupq_n_f32(6.0f), y), vdupq_n_f32(6.0f), y);
}
/* The instruction looks bytes up, four a float: 4 i to 4 i + 3, where i is the low three bits of the
 * index. Above them the index has an exponent, the same for all: subtracted in the constant. */
#define V_INDEX_EXPONENT 0x100u
typedef uint8x16x2_t v_table;
#define v_load_table(p) vld1q_u8_x2((const uint8_t *)(p))
#define v_index(b)                                                                 \
    vreinterpretq_u8_u32(                                                          \
        vmlaq_u32(vdupq_n_u32(0x03020100u - 0x04040404u * V_INDEX_EXPONENT), b,    \
                  vdupq_n_u32(0x04040404u)))
#define v_lookup(table, index) vreinterpretq_f32_u8(vqtbl2q_u8(table, index))
#define v_load_float16(p) vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)(p))))
#define v_store_float16(p, x) vst1_u16((uint16_t *)(p), vreinterpret_u16_f16(vcvt_f16_f32(x)))

#endif

#endif
