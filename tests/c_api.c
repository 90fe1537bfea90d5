/* What fastact.h promises of every function; test_c_api.py builds and runs it. */

#include <fenv.h>
#include <stdio.h>
#include <string.h>

#include "fastact.h"

enum { N = 1000, LENGTHS = 70 };

static int differ(const void *x, const void *y, size_t bytes) {
    return memcmp(x, y, bytes) != 0;
}

#define CHECK(function, member, type)                                             \
    do {                                                                          \
        static type x[N], y[N], z[N];                                             \
        for (int i = 0; i < N; i++) {                                             \
            x[i] = (type)(i - N / 2) * (type)0.037;                               \
        }                                                                         \
        fesetround(FE_TONEAREST);                                                 \
        function(x, y, N);                                                        \
        fesetround(FE_UPWARD);                                                    \
        feclearexcept(FE_ALL_EXCEPT);                                             \
        function(x, z, N);                                                        \
        if (fegetround() != FE_UPWARD || fetestexcept(FE_ALL_EXCEPT) != 0) {      \
            puts(#function " changes the floating-point state");                  \
        }                                                                         \
        if (differ(y, z, sizeof y)) {                                             \
            puts(#function " depends on the floating-point state");               \
        }                                                                         \
        for (int n = 0; n < LENGTHS; n++) {                                       \
            memcpy(z, x, sizeof z);                                               \
            function(z + 1, z + 1, n); /* in place, from any element on */        \
            if (differ(z + 1, y + 1, (size_t)n * sizeof *z)) {                    \
                printf(#function " is wrong in place, n = %d\n", n);              \
            }                                                                     \
            if (differ(z, x, sizeof *z) || differ(z + n + 1, x + n + 1, sizeof *z)) { \
                printf(#function " writes beyond, n = %d\n", n);                  \
            }                                                                     \
        }                                                                         \
        if (fastact_kernel_table.member != function) {                            \
            puts(#function " is another one in the table");                       \
        }                                                                         \
    } while (0);

#define CHECK_BOTH(name, ...)                                    \
    CHECK(fastact_##name##_float32, name##_float32, float)       \
    CHECK(fastact_##name##_float64, name##_float64, double)

int main(void) {
    FASTACT_FUNCTIONS(CHECK_BOTH)
    puts("checked");
    return 0;
}
