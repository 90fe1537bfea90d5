/* Runs a kernel of the neon variant over a stream: neon ACTIVATION TYPE < input > output.
 *
 * TYPE is NumPy's character: e, f or d. Used by neon.py, under an emulator. */

#include <stdio.h>
#include <string.h>

#include "registry.h"

extern const fastact_loop fastact_loops_neon[FASTACT_LOOP_COUNT];

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
    for (int i = 0; argc == 3 && i < FASTACT_LOOP_COUNT; i++) {
        const fastact_loop *loop = &fastact_loops_neon[i];
        if (strcmp(loop->activation, argv[1]) == 0 && loop->type == argv[2][0]) {
            return run(loop);
        }
    }
    fputs("usage: neon ACTIVATION e|f|d\n", stderr);
    return 2;
}
