/*
 * The handshake of choreography.h.
 *
 * A handshake by mutex, semaphore or instrumented atomics would order the two threads in the eyes of the checker (and of
 * ThreadSanitizer): it would add events to the block on trial and edges that the program itself does not have, which hides
 * races and invents violations. So nothing here may be observed:
 *   - this file is compiled without -fsanitize=thread and without -finstrument-functions, hence no hooks;
 *   - waiting and waking are futex system calls made here, not library calls that a runtime interposes.
 * The exception is run_two_threads, whose create and join are meant to be seen.
 *
 * No time is involved: a thread waits for a change of `stage` or `steps_done`, or yields a fixed number of times.
 */
#if defined(__SANITIZE_THREAD__)
#error "compile choreography.c without -fsanitize=thread: its handshake must stay invisible"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#error "compile choreography.c without -fsanitize=thread: its handshake must stay invisible"
#endif
#endif

#define _GNU_SOURCE
#include "choreography.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOT_YET, OPEN, ENTERED, OVER };

/* Where the only interlude of the run stands; never goes back. */
static int stage = NOT_YET;

/* How many steps are done. */
static int steps_done = 0;

/* This thread leads and has not come to the interlude yet. */
static __thread int leads;

/* How often the leader of a fixed program yields, once the other thread is about to act, before it goes on. */
enum { CHANCES = 200 };

static long system_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    register long no_timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(no_timeout)
                     : "rcx", "r11", "memory");
    return result;
#else
    return syscall(number, a, b, c, 0L);
#endif
}

static void wake_all(int *number)
{
    system_call(SYS_futex, (long)number, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void wait_until(int *number, int wanted)
{
    int seen;
    while ((seen = __atomic_load_n(number, __ATOMIC_SEQ_CST)) < wanted)
        system_call(SYS_futex, (long)number, FUTEX_WAIT_PRIVATE, seen);
}

static int current_stage(void)
{
    return __atomic_load_n(&stage, __ATOMIC_SEQ_CST);
}

static void advance_to(int next)
{
    __atomic_store_n(&stage, next, __ATOMIC_SEQ_CST);
    wake_all(&stage);
}

static void wait_for(int wanted)
{
    wait_until(&stage, wanted);
}

void step(int number)
{
    wait_until(&steps_done, number);
}

void done(void)
{
    __atomic_fetch_add(&steps_done, 1, __ATOMIC_SEQ_CST);
    wake_all(&steps_done);
}

void lead(void)
{
    leads = 1;
}

void open_interlude(void)
{
    if (!leads)
        return;
    leads = 0;
    advance_to(OPEN);
}

void interlude(void)
{
    if (!leads)
        return;
    open_interlude();
    wait_for(OVER);
}

void interlude_if_possible(void)
{
    if (!leads)
        return;
    open_interlude();
    wait_for(ENTERED);
    for (int chance = 0; chance < CHANCES && current_stage() != OVER; chance++)
        system_call(SYS_sched_yield, 0, 0, 0);
}

void await_interlude(void)
{
    wait_for(OPEN);
    advance_to(ENTERED);
}

void end_interlude(void)
{
    advance_to(OVER);
}

void run_two_threads(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, first, NULL) || pthread_create(&threads[1], NULL, second, NULL))
        abort();
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}
