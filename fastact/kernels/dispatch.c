/* Which variants this CPU can run, best first. */

#include "dispatch.h"

#define VARIANT(name, condition)                                        \
    extern const fastact_loop fastact_loops_##name[FASTACT_LOOP_COUNT]; \
    extern const fastact_loop fastact_bfloat16_loops_##name[FASTACT_FUNCTION_COUNT];
FASTACT_VARIANTS
#undef VARIANT

int fastact_find_variants(fastact_variant *found) {
    int count = 0;
#define VARIANT(variant, condition)                     \
    if (condition) {                                    \
        found[count].name = #variant;                   \
        found[count].loops = fastact_loops_##variant;   \
        found[count].bfloat16_loops = fastact_bfloat16_loops_##variant; \
        count++;                                        \
    }
    FASTACT_VARIANTS
#undef VARIANT
    return count;
}
