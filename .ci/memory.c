/* Runs every loop of every variant on blocks of memory of just its size, for valgrind: reading or
 * writing outside of one is an error, and so is a result that depends on anything else than x.
 * Built by .ci/sanitize. */

#include <stdio.h>
#include <stdlib.h>
#include <valgrind/memcheck.h>

#include "dispatch.h"
#include "strided.h"

/* Every remainder of two vectors, and the lengths around a block of HALF_KERNEL. */
static const ptrdiff_t LENGTHS[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64,
                                    65, 127, 128, 129, 511, 512, 513, 1025};
/* In elements; between those of a strided array lies memory that was never written. */
static const ptrdiff_t STRIDES[][2] = {{1, 1}, {2, 1}, {1, 3}, {-1, 2}, {-3, -1}};

/* Allocates n elements in steps of `stride` and returns the first of them. */
static char *allocate(ptrdiff_t n, ptrdiff_t stride, ptrdiff_t itemsize, char **memory) {
    ptrdiff_t steps = n > 0 ? (n - 1) * labs(stride) + 1 : 0;
    *memory = malloc((size_t)(steps * itemsize));
    return stride > 0 || n == 0 ? *memory : *memory + (steps - 1) * itemsize;
}

static long check(const fastact_loop *loop, ptrdiff_t n, ptrdiff_t x_stride, ptrdiff_t y_stride) {
    ptrdiff_t itemsize = (ptrdiff_t)loop->itemsize;
    char *x_memory, *y_memory;
    char *x = allocate(n, x_stride, itemsize, &x_memory);
    char *y = allocate(n, y_stride, itemsize, &y_memory);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < itemsize; j++) {
            x[i * x_stride * itemsize + j] = (char)(rand() >> 8); /* any bits are a value */
        }
    }
    fastact_run(loop, x, x_stride * itemsize, y, y_stride * itemsize, n);
    long wrong = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        wrong += VALGRIND_CHECK_MEM_IS_DEFINED(y + i * y_stride * itemsize, itemsize) != 0;
    }
    free(x_memory);
    free(y_memory);
    return wrong;
}

int main(void) {
    fastact_variant found[8]; /* no architecture has as many */
    int variants = fastact_find_variants(found);
    long calls = 0, wrong = 0;
    for (int v = 0; v < variants; v++) {
        for (int i = 0; i < FASTACT_LOOP_COUNT + FASTACT_FUNCTION_COUNT; i++) {
            const fastact_loop *loop = i < FASTACT_LOOP_COUNT
                                           ? &found[v].loops[i]
                                           : &found[v].bfloat16_loops[i - FASTACT_LOOP_COUNT];
            for (size_t n = 0; n < sizeof LENGTHS / sizeof *LENGTHS; n++) {
                for (size_t s = 0; s < sizeof STRIDES / sizeof *STRIDES; s++, calls++) {
                    wrong += check(loop, LENGTHS[n], STRIDES[s][0], STRIDES[s][1]);
                }
            }
        }
        printf("memory: %s: %ld calls, %ld elements undefined\n", found[v].name, calls, wrong);
    }
    return wrong != 0;
}
