/* Calls the thread pool from many threads at once, and from forked children: built with
 * ThreadSanitizer by .ci/sanitize. The results are compared with those of one thread.
 *
 * Forks come before and after the other threads, not among them: ThreadSanitizer does not support
 * a child that starts threads then. tests/test_process.py forks among them. */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch.h"
#include "threads.h"

/* More callers than there are CPUs, and an array for several threads each; no piece divides it. */
enum { CALLERS = 8, ROUNDS = 20, MOST_THREADS = 5, N = 4 * FASTACT_GRAIN + 1237 };

static const fastact_loop *loop;
static float *x, *expected;

static int call(void) {
    float *y = malloc(N * sizeof *y);
    if (y == NULL) {
        return 1;
    }
    fastact_run_contiguous(loop, (const char *)x, (char *)y, N);
    int wrong = memcmp(y, expected, N * sizeof *y) != 0;
    free(y);
    return wrong;
}

static void *call_often(void *number) {
    long wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
        fastact_set_num_threads(1 + (i + *(int *)number) % MOST_THREADS);
        wrong += call();
    }
    return (void *)wrong;
}

/* A child has the forking thread alone, and starts threads of its own. */
static int call_in_child(void) {
    pid_t child = fork();
    if (child == 0) {
        fastact_set_num_threads(MOST_THREADS);
        _exit(call() || call());
    }
    int status;
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(void) {
    fastact_variant found[8]; /* no architecture has as many */
    fastact_find_variants(found);
    for (loop = found[0].loops; strcmp(loop->activation, "gelu") != 0 || loop->type != 'f';) {
        loop++;
    }
    x = malloc(N * sizeof *x);
    expected = malloc(N * sizeof *expected);
    if (x == NULL || expected == NULL) {
        return 1;
    }
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 1999 - 999) / 100;
    }
    loop->kernel(x, expected, N);

    long wrong = call_in_child();
    pthread_t callers[CALLERS];
    int numbers[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        numbers[i] = i;
        pthread_create(&callers[i], NULL, call_often, &numbers[i]);
    }
    for (int i = 0; i < CALLERS; i++) {
        void *result;
        pthread_join(callers[i], &result);
        wrong += (long)result;
    }
    wrong += call_in_child();
    printf("threads: %d calls from each of %d threads and 2 forks, %ld wrong\n", ROUNDS, CALLERS,
           wrong);
    free(x);
    free(expected);
    return wrong != 0;
}
