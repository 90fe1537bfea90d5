/* Applies a function of fastact to a stream of raw numbers, without Python:
 *
 *     activate FUNCTION float32|float64 [VARIANT] < input > output */

#include <stdio.h>
#include <string.h>

#include "fastact.h"

enum { COUNT = 4096 };

/* One row for each function that there is. */
static const struct {
    const char *name;
    void (*float32)(const float *x, float *y, ptrdiff_t n);
    void (*float64)(const double *x, double *y, ptrdiff_t n);
} FUNCTIONS[] = {
#define ROW(name, ...) {#name, fastact_##name##_float32, fastact_##name##_float64},
    FASTACT_FUNCTIONS(ROW)
#undef ROW
};

static void activate_float32(void (*function)(const float *, float *, ptrdiff_t)) {
    static float x[COUNT];
    size_t n;
    while ((n = fread(x, sizeof *x, COUNT, stdin)) > 0) {
        function(x, x, (ptrdiff_t)n); /* in place */
        fwrite(x, sizeof *x, n, stdout);
    }
}

static void activate_float64(void (*function)(const double *, double *, ptrdiff_t)) {
    static double x[COUNT], y[COUNT];
    size_t n;
    while ((n = fread(x, sizeof *x, COUNT, stdin)) > 0) {
        function(x, y, (ptrdiff_t)n);
        fwrite(y, sizeof *y, n, stdout);
    }
}

int main(int argc, char **argv) {
    if (argc == 4 && fastact_set_isa(argv[3]) != 0) {
        fprintf(stderr, "this CPU cannot run the variant %s\n", argv[3]);
        return 1;
    }
    if (argc == 3 || argc == 4) {
        for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
            if (strcmp(FUNCTIONS[i].name, argv[1]) != 0) {
                continue;
            }
            fprintf(stderr, "%s of %s, variant %s\n", argv[1], argv[2], fastact_isa());
            if (strcmp(argv[2], "float32") == 0) {
                activate_float32(FUNCTIONS[i].float32);
                return ferror(stdin) || fflush(stdout) != 0;
            }
            if (strcmp(argv[2], "float64") == 0) {
                activate_float64(FUNCTIONS[i].float64);
                return ferror(stdin) || fflush(stdout) != 0;
            }
        }
    }
    fputs("usage: activate FUNCTION float32|float64 [VARIANT] < input > output\n", stderr);
    return 2;
}
