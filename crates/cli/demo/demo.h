/*
 * demo.h: what the demos share.
 *
 *   turn(n)        returns when turns 1 to n-1 have been taken, and takes turn n: forces the interleaving that breaks
 *                  the block, so that the demo fails in every run. It is compiled without hooks: to the checker it is
 *                  not there.
 *   threads(f, …)  runs these functions, each in a thread of its own, and waits for them.
 *   BUG(s), FIX(s) s, if the program is compiled as it is; s, if it is compiled with -DFIXED.
 */
#ifndef DEMO_H
#define DEMO_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#ifdef __clang__
#define UNSEEN __attribute__((noinline, disable_sanitizer_instrumentation, no_instrument_function, unused))
#else
#define UNSEEN __attribute__((noinline, no_sanitize("thread"), no_instrument_function, unused))
#endif

#ifdef FIXED
#define BUG(statement) ((void)0)
#define FIX(statement) statement
#else
#define BUG(statement) statement
#define FIX(statement) ((void)0)
#endif

static int turns_taken;

UNSEEN static void turn(int number) {
#ifndef FIXED /* A mended program lets nobody in, so nobody may wait for that. */
    while (__atomic_load_n(&turns_taken, __ATOMIC_ACQUIRE) != number - 1)
        sched_yield();
    __atomic_store_n(&turns_taken, number, __ATOMIC_RELEASE);
#endif
    (void)number;
}

typedef void *work(void *);

#define threads(...) run_threads((work *[]){__VA_ARGS__, NULL})
UNSEEN static void run_threads(work **functions) {
    pthread_t ids[8];
    int count = 0;
    for (; functions[count]; count++)
        pthread_create(&ids[count], NULL, functions[count], NULL);
    while (count > 0)
        pthread_join(ids[--count], NULL);
}

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

#define lock() pthread_mutex_lock(&m)
#define unlock() pthread_mutex_unlock(&m)

#endif
