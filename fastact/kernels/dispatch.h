/* Which variants this CPU can run. */

#ifndef FASTACT_DISPATCH_H
#define FASTACT_DISPATCH_H

#include "registry.h"

typedef struct {
    const char *name;
    const fastact_loop *loops;          /* FASTACT_LOOP_COUNT of them */
    const fastact_loop *bfloat16_loops; /* FASTACT_FUNCTION_COUNT of them */
} fastact_variant;

/* Writes the variants that this CPU can run, best first, into found, which holds
 * FASTACT_VARIANT_COUNT of them, and returns how many there are. */
int fastact_find_variants(fastact_variant *found);

/* FASTACT_VARIANTS is defined by setup.py, which owns the list of variants: VARIANT(name,
 * condition), best first, where the condition tells whether this CPU can run it. */
#define FASTACT_CPU_HAS(feature) __builtin_cpu_supports(feature)

enum {
#define VARIANT(name, condition) + 1
    FASTACT_VARIANT_COUNT = 0 FASTACT_VARIANTS,
#undef VARIANT
};

#endif
