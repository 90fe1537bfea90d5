/* Runs a kernel of the neon variant over a stream: neon FUNCTION TYPE < input > output.
 *
 * TYPE is NumPy's character: e, f or d, or E for bfloat16. Used by neon.py, under an emulator. */

#include <stdio.h>
#include <string.h>

#include "loop.h"

extern const fastact_loop fastact_loops_neon[FASTACT_LOOP_COUNT];
extern const fastact_loop fastact_bfloat16_loops_neon[FASTACT_FUNCTION_COUNT];

/* A prime, so that the last call of a vector loop is left with every kind of remainder. */
enum { ELEMENTS = 1009 };

static int run(const fastact_loop *loop) {
    static double x[ELEMENTS], y[ELEMENTS]; /* of the widest type; filled bytewise */
    size_t n;
    while ((n = fread(x, loop->itemsize, ELEMENTS, stdin)) > 0) {
        loop->kernel(x, y, (ptrdiff_t)n);
        if (fwrite(y, loop->itemsize, n, stdout) != n) {
            return 1;
        }
    }
    return ferror(stdin) != 0;
}

int main(int argc, char **argv) {
    if (argc == 3) {
        int is_bfloat16 = argv[2][0] == 'E';
        const fastact_loop *loop = is_bfloat16 ? fastact_bfloat16_loops_neon : fastact_loops_neon;
        const fastact_loop *end = loop + (is_bfloat16 ? FASTACT_FUNCTION_COUNT : FASTACT_LOOP_COUNT);
        for (; loop < end; loop++) {
            if (strcmp(loop->activation, argv[1]) == 0
                && (is_bfloat16 || loop->type == argv[2][0])) {
                return run(loop);
            }
        }
    }
    fputs("usage: neon FUNCTION e|f|d|E\n", stderr);
    return 2;
}
