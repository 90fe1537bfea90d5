/* The functions of fastact.h: one variant's kernels, in the default floating-point environment. */

#include "../include/fastact.h"

#include <string.h>

#include "dispatch.h"
#include "environment.h"

static fastact_variant variants[FASTACT_VARIANT_COUNT];
static int variant_count;
static const fastact_variant *in_use;

/* Before main(), and before any thread. */
__attribute__((constructor)) static void find_variants(void) {
    variant_count = fastact_find_variants(variants);
    in_use = variants;
}

const char *fastact_isa(void) {
    return in_use->name;
}

int fastact_set_isa(const char *name) {
    for (int i = 0; i < variant_count; i++) {
        if (strcmp(variants[i].name, name) == 0) {
            in_use = &variants[i];
            return 0;
        }
    }
    return -1;
}

static void run(int position, const void *x, void *y, ptrdiff_t n) {
    fastact_environment saved = fastact_enter();
    in_use->loops[position].kernel(x, y, n);
    fastact_leave(saved);
}

#define DEFINE(name, ...)                                                    \
    void fastact_##name##_float32(const float *x, float *y, ptrdiff_t n) {   \
        run(FASTACT_POSITION_##name##_float32, x, y, n);                     \
    }                                                                        \
    void fastact_##name##_float64(const double *x, double *y, ptrdiff_t n) { \
        run(FASTACT_POSITION_##name##_float64, x, y, n);                     \
    }
FASTACT_FUNCTIONS(DEFINE)

#define MEMBER(name, ...) \
    .name##_float32 = fastact_##name##_float32, .name##_float64 = fastact_##name##_float64,
const fastact_kernels fastact_kernel_table = {FASTACT_FUNCTIONS(MEMBER)};
