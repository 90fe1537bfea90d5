/* Which variants this CPU can run. */

#ifndef FASTACT_DISPATCH_H
#define FASTACT_DISPATCH_H

#include "loop.h"

typedef struct {
    const char *name;
    const fastact_loop *loops;          /* FASTACT_LOOP_COUNT of them */
    const fastact_loop *bfloat16_loops; /* FASTACT_FUNCTION_COUNT of them */
} fastact_variant;

/* Writes the variants that this CPU can run, best first, into found, which holds
 * FASTACT_VARIANT_COUNT of them, and returns how many there are. */
int fastact_find_variants(fastact_variant *found);

/* FASTACT_VARIANTS is made of variants.mk by setup.py and fastact.mk: VARIANT(name, condition), best
 * first, where the condition tells whether this CPU can run it. */
#if defined(__x86_64__)
#include <cpuid.h>

/* f16c comes with every feature that a variant names; older compilers cannot be asked for it by
 * name (clang 14). */
static inline int fastact_cpu_has_f16c(void) {
    unsigned int a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

#define FASTACT_CPU_HAS(feature) (__builtin_cpu_supports(feature) && fastact_cpu_has_f16c())
#endif

enum {
#define VARIANT(name, condition) + 1
    FASTACT_VARIANT_COUNT = 0 FASTACT_VARIANTS,
#undef VARIANT
};

#endif
