/*
 * steps.h: puts the steps of several threads into one order, unseen.
 *
 * A test must break a block in every run, so the order has to be forced; but semaphores and barriers are
 * synchronisation, which the checker sees, and a wait would split the block. These two functions are compiled without
 * hooks: to the checker, and to ThreadSanitizer, they are not there.
 *
 *   step(n)    waits until n steps are done, then returns: this thread does step n + 1 now
 *   done()     the step is done
 */
#ifndef STEPS_H
#define STEPS_H

#include <sched.h>

#ifdef __clang__
/* What no_sanitize means to clang leaves the hooks of atomic operations in. */
#define STEPS_UNSEEN __attribute__((noinline, disable_sanitizer_instrumentation, no_instrument_function, unused))
#else
#define STEPS_UNSEEN __attribute__((noinline, no_sanitize("thread"), no_instrument_function, unused))
#endif


static int steps_done_so_far;

STEPS_UNSEEN static void step(int number) {
    while (__atomic_load_n(&steps_done_so_far, __ATOMIC_ACQUIRE) < number)
        sched_yield();
}

STEPS_UNSEEN static void done(void) { __atomic_fetch_add(&steps_done_so_far, 1, __ATOMIC_RELEASE); }

#endif
