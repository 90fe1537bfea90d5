/* A kernel over strided data, through a block on the stack. */

#ifndef FASTACT_STRIDED_H
#define FASTACT_STRIDED_H

#include <stdalign.h>
#include <stdint.h>

#include "loop.h"
#include "threads.h"

/* Enough elements to hide the call of the kernel, little enough for the first-level cache. */
#define FASTACT_BLOCK_BYTES 4096

/* Strides are in bytes, of any sign; the data is aligned to its item size. */
static inline void fastact_copy_strided(const char *from, ptrdiff_t from_stride, char *to,
                                        ptrdiff_t to_stride, ptrdiff_t n, size_t itemsize) {
#define COPY(type)                                                                    \
    for (ptrdiff_t i = 0; i < n; i++) {                                               \
        *(type *)(to + i * to_stride) = *(const type *)(from + i * from_stride);      \
    }                                                                                 \
    break;
    switch (itemsize) {
        case 1: COPY(uint8_t)
        case 2: COPY(uint16_t)
        case 4: COPY(uint32_t)
        case 8: COPY(uint64_t)
    }
#undef COPY
}

static inline void fastact_run(const fastact_loop *loop, const char *x, ptrdiff_t x_stride, char *y,
                               ptrdiff_t y_stride, ptrdiff_t n) {
    ptrdiff_t itemsize = (ptrdiff_t)loop->itemsize;
    int x_contiguous = x_stride == itemsize, y_contiguous = y_stride == itemsize;
    if (n == 1 || (x_contiguous && y_contiguous)) {
        fastact_run_contiguous(loop, x, y, n);
        return;
    }
    alignas(64) char block[FASTACT_BLOCK_BYTES];
    ptrdiff_t most = FASTACT_BLOCK_BYTES / itemsize;
    while (n > 0) {
        ptrdiff_t m = n < most ? n : most;
        const char *source = x_contiguous ? x : block;
        char *target = y_contiguous ? y : block;
        if (!x_contiguous) {
            fastact_copy_strided(x, x_stride, block, itemsize, m, loop->itemsize);
        }
        loop->kernel(source, target, m);
        if (!y_contiguous) {
            fastact_copy_strided(block, itemsize, y, y_stride, m, loop->itemsize);
        }
        x += m * x_stride;
        y += m * y_stride;
        n -= m;
    }
}

#endif
