/* Large contiguous arrays split over threads, once a user has asked for more than one.
 *
 * The calling thread posts the array and works on it itself, piece by piece; sleeping threads that
 * wake in time take pieces, too. The caller waits for those alone that have taken one, so a thread
 * that wakes late costs nothing. Elements do not depend on each other: the bits are the same.
 *
 * A second caller finds the pool busy and computes alone. A forked child has no threads but its
 * own; the handler makes its pool a new one. */

#define _POSIX_C_SOURCE 200809L /* sigset_t and pthread_sigmask under -std=c11 */

#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define PIECE (FASTACT_GRAIN / 2)

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t posted, finished;
    unsigned long generation; /* counts the arrays posted */
    int started;              /* threads that there are */
    int seats;                /* threads that may still join in the work on this array */
    int working;              /* threads that have */
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .posted = PTHREAD_COND_INITIALIZER,
          .finished = PTHREAD_COND_INITIALIZER};

/* The array at work. Written by its caller alone, while no thread works. */
static struct {
    const fastact_loop *loop;
    const char *x;
    char *y;
    ptrdiff_t n;
    atomic_ptrdiff_t next; /* the first element that nobody has taken */
} work;

static atomic_int num_threads = 1;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void take_pieces(void) {
    ptrdiff_t itemsize = (ptrdiff_t)work.loop->itemsize;
    for (;;) {
        ptrdiff_t start = atomic_fetch_add(&work.next, PIECE);
        if (start >= work.n) {
            return;
        }
        ptrdiff_t n = work.n - start < PIECE ? work.n - start : PIECE;
        work.loop->kernel(work.x + start * itemsize, work.y + start * itemsize, n);
    }
}

static void *sleep_and_work(void *unused) {
    (void)unused;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (pool.generation == seen || pool.seats == 0) {
            pthread_cond_wait(&pool.posted, &pool.mutex);
        }
        seen = pool.generation;
        pool.seats--;
        pool.working++;
        pthread_mutex_unlock(&pool.mutex);
        take_pieces();
        pthread_mutex_lock(&pool.mutex);
        if (--pool.working == 0) {
            pthread_cond_signal(&pool.finished);
        }
    }
    return NULL;
}

static void forget_threads(void) {
    pthread_mutex_init(&pool.mutex, NULL);
    pthread_cond_init(&pool.posted, NULL);
    pthread_cond_init(&pool.finished, NULL);
    pool.started = pool.seats = pool.working = 0;
    atomic_flag_clear(&busy);
}

static void start_threads(int wanted) {
    static int handler_installed;
    if (!handler_installed) {
        handler_installed = pthread_atfork(NULL, NULL, forget_threads) == 0;
        if (!handler_installed) {
            return;
        }
    }
    /* Signals are for the threads of the application. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.started < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_and_work, NULL) != 0) {
            break; /* the system gives no more: work with those there are */
        }
        pthread_detach(thread);
        pool.started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int fastact_get_num_threads(void) {
    return atomic_load(&num_threads);
}

void fastact_set_num_threads(int threads) {
    atomic_store(&num_threads, threads);
}

void fastact_run_contiguous(const fastact_loop *loop, const char *x, char *y, ptrdiff_t n) {
    int threads = atomic_load(&num_threads);
    if (threads == 1 || n < 2 * FASTACT_GRAIN || atomic_flag_test_and_set(&busy)) {
        loop->kernel(x, y, n);
        return;
    }
    ptrdiff_t useful = n / FASTACT_GRAIN;
    int helpers = (int)(useful < threads ? useful : threads) - 1;

    pthread_mutex_lock(&pool.mutex);
    work.loop = loop;
    work.x = x;
    work.y = y;
    work.n = n;
    atomic_store(&work.next, 0);
    start_threads(helpers);
    pool.generation++;
    pool.seats = helpers;
    pthread_cond_broadcast(&pool.posted);
    pthread_mutex_unlock(&pool.mutex);

    take_pieces();

    pthread_mutex_lock(&pool.mutex);
    pool.seats = 0;
    while (pool.working > 0) {
        pthread_cond_wait(&pool.finished, &pool.mutex);
    }
    pthread_mutex_unlock(&pool.mutex);
    atomic_flag_clear(&busy);
}
