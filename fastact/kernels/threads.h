/* Large contiguous arrays split over threads, once a user has asked for more than one. */

#ifndef FASTACT_THREADS_H
#define FASTACT_THREADS_H

#include "loop.h"

/* The least that a thread is given, and half the least that is split. Waking a thread takes from
 * 10 us on a plain machine to half a millisecond in a virtual one, and posting the work some 3 us,
 * so that less would gain nothing and could lose. */
#define FASTACT_GRAIN 262144

/* How many threads a call may use, itself included; 1 at first. */
int fastact_get_num_threads(void);
void fastact_set_num_threads(int threads);

/* Runs a loop over n contiguous elements. */
void fastact_run_contiguous(const fastact_loop *loop, const char *x, char *y, ptrdiff_t n);

#endif
