/* The floating-point environment around a kernel: default inside, the caller's again outside.
 *
 * Inside, rounding is to nearest and subnormals are kept, whatever the caller has set, so results
 * depend on the input alone. Outside, no exception flag appears (NumPy would warn of it) and
 * nothing is left changed. Reading and writing the register takes 3 ns; fesetenv() takes 100. */

#ifndef FASTACT_ENVIRONMENT_H
#define FASTACT_ENVIRONMENT_H

#if defined(__SSE2__)

#include <xmmintrin.h>

typedef unsigned int fastact_environment;

#define FASTACT_DEFAULT_MXCSR 0x1F80u /* all exceptions masked, no flag, to nearest */

static inline fastact_environment fastact_enter(void) {
    fastact_environment saved = _mm_getcsr();
    if (saved != FASTACT_DEFAULT_MXCSR) {
        _mm_setcsr(FASTACT_DEFAULT_MXCSR);
    }
    return saved;
}

static inline void fastact_leave(fastact_environment saved) {
    _mm_setcsr(saved);
}

#elif defined(__aarch64__)

#include <stdint.h>

typedef struct {
    uint64_t control, status;
} fastact_environment;

static inline fastact_environment fastact_enter(void) {
    fastact_environment saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(saved.status));
    if (saved.control != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    }
    return saved;
}

static inline void fastact_leave(fastact_environment saved) {
    if (saved.control != 0) {
        __asm__ volatile("msr fpcr, %0" : : "r"(saved.control));
    }
    __asm__ volatile("msr fpsr, %0" : : "r"(saved.status));
}

#else

#include <fenv.h>

typedef fenv_t fastact_environment;

static inline fastact_environment fastact_enter(void) {
    fastact_environment saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}

static inline void fastact_leave(fastact_environment saved) {
    fesetenv(&saved);
}

#endif

#endif
