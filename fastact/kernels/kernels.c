/* Loops over the maths, compiled once per variant: FASTACT_VARIANT and the flags tell which. */

#include "activations.h"
#include "gelu_table.h"
#include "loop.h"
#include "vector.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define IN_VARIANT(name) PASTE(name, FASTACT_VARIANT)

/* No element depends on another one, also when y is x: the compiler need not check for overlap. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

/* A loop over a scalar function, which the compiler makes a loop over vectors. */
#define KERNEL(kernel, type, function)                                 \
    static void kernel(const void *input, void *output, ptrdiff_t n) { \
        const type *x = input;                                         \
        type *y = output;                                              \
        INDEPENDENT                                                    \
        for (ptrdiff_t i = 0; i < n; i++) {                            \
            y[i] = function(x[i]);                                     \
        }                                                              \
    }

/* relu and relu6 of float32. On AArch64 gcc 12 makes five instructions of relu's comparison where two
 * do, and takes one vector at a time, for which an in-order core waits: docs/neon.md. */
#if defined(__aarch64__)
#define CLAMP_KERNEL(kernel, activation)                               \
    static void kernel(const void *input, void *output, ptrdiff_t n) { \
        const float *x = input;                                        \
        float *y = output;                                             \
        ptrdiff_t i = 0;                                               \
        for (; i + 4 * FASTACT_LANES <= n; i += 4 * FASTACT_LANES) {   \
            vector v[4];                                               \
            for (int j = 0; j < 4; j++) {                              \
                v[j] = v_##activation(v_load(x + i + j * FASTACT_LANES)); \
            }                                                          \
            for (int j = 0; j < 4; j++) {                              \
                v_store(y + i + j * FASTACT_LANES, v[j]);              \
            }                                                          \
        }                                                              \
        for (; i < n; i++) {                                           \
            y[i] = activation##_float32(x[i]);                         \
        }                                                              \
    }
#else
#define CLAMP_KERNEL(kernel, activation) KERNEL(kernel, float, activation##_float32)
#endif

/* The 16-bit floats by way of float32, block by block: widened, computed in place, rounded. */
#define HALF_BLOCK 512
#define HALF_KERNEL(kernel, type, single_kernel, hard_case)            \
    static void kernel(const void *input, void *output, ptrdiff_t n) { \
        const type *x = input;                                         \
        type *y = output;                                              \
        float block[HALF_BLOCK];                                       \
        type rounded[HALF_BLOCK];                                      \
        for (ptrdiff_t i = 0; i < n; i += HALF_BLOCK) {                \
            ptrdiff_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;     \
            IN_VARIANT(widen_##type)(x + i, block, m);                 \
            single_kernel(block, block, m);                            \
            IN_VARIANT(narrow_##type)(block, rounded, m);              \
            INDEPENDENT                                                \
            for (ptrdiff_t j = 0; j < m; j++) {                        \
                y[i + j] = hard_case(x[i + j], rounded[j]);            \
            }                                                          \
        }                                                              \
    }

#ifdef FASTACT_LANES

/* A loop over a function of vectors that looks values up; the rest goes through a full vector.
 * Two vectors at a time, which took 5 % off on AVX-512 and gives an in-order core something to do
 * while it waits. Data is asked for early, about the latency of memory at GELU's pace. */
#define PREFETCH_BYTES 1024
#define TABLE_KERNEL(kernel, activation)                                       \
    static void kernel(const void *input, void *output, ptrdiff_t n) {         \
        const float *x = input;                                                \
        float *y = output;                                                     \
        activation##_table table = load_##activation##_table();                \
        ptrdiff_t i = 0;                                                       \
        for (; i + 2 * FASTACT_LANES <= n; i += 2 * FASTACT_LANES) {           \
            __builtin_prefetch((const char *)(x + i) + PREFETCH_BYTES);        \
            vector first = v_load(x + i), second = v_load(x + i + FASTACT_LANES); \
            first = activation##_vector(first, &table);                        \
            second = activation##_vector(second, &table);                      \
            v_store(y + i, first);                                             \
            v_store(y + i + FASTACT_LANES, second);                            \
        }                                                                      \
        while (i < n) {                                                        \
            float rest[FASTACT_LANES] = {0};                                   \
            ptrdiff_t m = n - i < FASTACT_LANES ? n - i : FASTACT_LANES;       \
            memcpy(rest, x + i, (size_t)m * sizeof *x);                        \
            v_store(rest, activation##_vector(v_load(rest), &table));          \
            memcpy(y + i, rest, (size_t)m * sizeof *y);                        \
            i += m;                                                            \
        }                                                                      \
    }

#define WIDEN(x, y) v_store(y, v_load_float16(x))
#define NARROW(x, y) v_store_float16(y, v_load(x))
#define STEP FASTACT_LANES

#else

#define TABLE_KERNEL(kernel, activation) KERNEL(kernel, float, activation##_float32)
#define WIDEN(x, y) *(y) = float32_of_float16(*(x))
#define NARROW(x, y) *(y) = float16_of_float32(*(x))
#define STEP 1

#endif

static void IN_VARIANT(widen_float16)(const float16 *x, float *y, ptrdiff_t n) {
    ptrdiff_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        WIDEN(x + i, y + i);
    }
    for (; i < n; i++) {
        y[i] = float32_of_float16(x[i]);
    }
}

static void IN_VARIANT(narrow_float16)(const float *x, float16 *y, ptrdiff_t n) {
    ptrdiff_t i = 0;
    for (; i + STEP <= n; i += STEP) {
        NARROW(x + i, y + i);
    }
    for (; i < n; i++) {
        y[i] = float16_of_float32(x[i]);
    }
}

static void IN_VARIANT(widen_bfloat16)(const bfloat16 *x, float *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] = float32_of_bfloat16(x[i]);
    }
}

static void IN_VARIANT(narrow_bfloat16)(const float *x, bfloat16 *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] = bfloat16_of_float32(x[i]);
    }
}

#define FLOAT16_KERNEL(activation)                                                           \
    HALF_KERNEL(IN_VARIANT(activation##_float16), float16, IN_VARIANT(activation##_float32), \
                activation##_hard_case)
#define INTEGER_KERNEL(activation, dtype, character, type) \
    KERNEL(IN_VARIANT(activation##_##dtype), type, activation##_##dtype)
#define ALL_DTYPES(activation)                                              \
    FASTACT_INTEGER_TYPES(INTEGER_KERNEL, activation)                       \
    KERNEL(IN_VARIANT(activation##_float16), float16, activation##_float16) \
    CLAMP_KERNEL(IN_VARIANT(activation##_float32), activation)
#define FLOATS(activation)                                                \
    KERNEL(IN_VARIANT(activation##_float32), float, activation##_float32) \
    FLOAT16_KERNEL(activation)
#define FLOATS_BY_TABLE(activation)                            \
    TABLE_KERNEL(IN_VARIANT(activation##_float32), activation) \
    FLOAT16_KERNEL(activation)
#define KERNELS(activation, dtypes, ...)                                              \
    dtypes(activation)                                                                \
    KERNEL(IN_VARIANT(activation##_float64), double, activation##_float64)            \
    HALF_KERNEL(IN_VARIANT(activation##_bfloat16), bfloat16,                          \
                IN_VARIANT(activation##_float32), activation##_bfloat16_case)

FASTACT_FUNCTIONS(KERNELS)

#undef ALL_DTYPES
#undef FLOATS
#undef FLOATS_BY_TABLE

#define UNPACK(max_ulp, at) {max_ulp, at}
#define LOOP(activation, dtype, character, type, bound) \
    {#activation, character, sizeof(type), UNPACK bound, IN_VARIANT(activation##_##dtype)},
#define INTEGER_LOOP(activation, dtype, character, type) \
    LOOP(activation, dtype, character, type, EXACT)
#define ALL_DTYPES(activation) FASTACT_INTEGER_TYPES(INTEGER_LOOP, activation)
#define FLOATS(activation)
#define FLOATS_BY_TABLE(activation)
#define LOOPS(activation, dtypes, half, single, twice, single_no_fma, twice_no_fma)    \
    dtypes(activation)                                                               \
    LOOP(activation, float16, 'e', float16, half)                                    \
    LOOP(activation, float32, 'f', float, FASTACT_BY_FMA(single, single_no_fma))     \
    LOOP(activation, float64, 'd', double, FASTACT_BY_FMA(twice, twice_no_fma))
#define BFLOAT16_LOOP(activation, dtypes, half, ...) LOOP(activation, bfloat16, 0, bfloat16, half)

const fastact_loop IN_VARIANT(fastact_loops)[FASTACT_LOOP_COUNT] = {FASTACT_FUNCTIONS(LOOPS)};
const fastact_loop IN_VARIANT(fastact_bfloat16_loops)[FASTACT_FUNCTION_COUNT] = {
    FASTACT_FUNCTIONS(BFLOAT16_LOOP)};
