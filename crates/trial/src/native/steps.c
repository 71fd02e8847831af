/* Gives out the steps of programs, one at a time and in their order. Compiled without hooks: the checker sees nothing of this. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "steps.h"

enum { THREADS = 128 };

/* Not by libc's function: waits that the C++ library makes by that are seen. */
static void futex(void *word, long operation, long value)
{
    long result;
    register long no_timeout __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_futex), "D"(word), "S"(operation), "d"(value), "r"(no_timeout)
                     : "rcx", "r11", "memory");
}

static struct program *programs, *running;
static int turn;
/* Per thread: counts its turns, for the futex; whether it waits for one; where it is. */
static unsigned woken[THREADS];
static int waiting[THREADS], cursor[THREADS], interrupted[THREADS];
static pthread_t handles[THREADS];
static void *slots[SLOTS];
static int signalled[LOCKS];
static __thread int me;

static void fail(const char *what)
{
    fprintf(stderr, "the order of program %d cannot be kept: %s at step %d\n", running ? running->number : -1, what, turn);
    _exit(99);
}

struct program *read_programs(const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    struct program one;
    programs = malloc(2 * NUMBERS * sizeof *programs);
    *count = 0;
    while (file && fscanf(file, " P %d %d %d %d %d %d", &one.number, &one.threads, &one.initial, &one.parties, &one.has_child, &one.count) == 6) {
        one.steps = malloc((one.count + 1) * sizeof *one.steps);
        for (int i = 0; i < one.count; i++) {
            struct step *step = &one.steps[i];
            if (fscanf(file, " %d %c %d %d %d %d %d", &step->thread, &step->operation, &step->a, &step->b, &step->c, &step->d, &step->e) != 7)
                fail("a step cannot be read");
        }
        programs[(*count)++] = one;
    }
    return programs;
}

void begin_program(struct program *program)
{
    /* Whatever goes wrong, nobody waits for ever. */
    alarm(60);
    running = program;
    turn = 0;
    for (int i = 0; i < THREADS; i++) {
        cursor[i] = -1;
        waiting[i] = 0;
    }
    for (int i = 0; i < SLOTS; i++)
        slots[i] = NULL;
    for (int i = 0; i < LOCKS; i++)
        signalled[i] = 0;
}

/* Waits until all steps were taken: steps join threads, too. */
void await_end(void)
{
    unsigned seen;
    while (seen = __atomic_load_n(&woken[0], __ATOMIC_SEQ_CST), __atomic_load_n(&turn, __ATOMIC_SEQ_CST) < running->count)
        futex(&woken[0], FUTEX_WAIT_PRIVATE, seen);
}

struct program *child_of_running(void)
{
    return running + 1;
}

void enter_thread(int thread)
{
    me = thread;
}

pthread_t *handle(int thread)
{
    return &handles[thread];
}

/* The running thread's next step, when it is its turn; operation 0 if there is none. */
struct step await_step(void)
{
    struct step none = {0};
    for (;;) {
        int next = cursor[me] + 1;
        while (next < running->count && running->steps[next].thread != me)
            next++;
        if (next == running->count)
            return none;
        unsigned seen = __atomic_load_n(&woken[me], __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) == next) {
            cursor[me] = next;
            __atomic_store_n(&waiting[me], 0, __ATOMIC_SEQ_CST);
            return running->steps[next];
        }
        __atomic_store_n(&waiting[me], 1, __ATOMIC_SEQ_CST);
        /* A handler may run here and take steps: look again afterwards. */
        futex(&woken[me], FUTEX_WAIT_PRIVATE, seen);
        __atomic_store_n(&waiting[me], 0, __ATOMIC_SEQ_CST);
    }
}

void end_step(void)
{
    int next = __atomic_add_fetch(&turn, 1, __ATOMIC_SEQ_CST);
    /* At the end it is main's turn, which is nobody's number. */
    int thread = next < running->count ? running->steps[next].thread : 0;
    __atomic_add_fetch(&woken[thread], 1, __ATOMIC_SEQ_CST);
    futex(&woken[thread], FUTEX_WAKE_PRIVATE, 1);
}

void enter_handler(void)
{
    __atomic_add_fetch(&interrupted[me], 1, __ATOMIC_SEQ_CST);
}

/* Sends a signal to a thread while it waits for its turn, so that it interrupts neither hooks nor libc. */
void interrupt_thread(int thread)
{
    if (thread == me) {
        end_step();
        raise(SIGUSR1);
        return;
    }
    while (!__atomic_load_n(&waiting[thread], __ATOMIC_SEQ_CST))
        sched_yield();
    /* Signals that come before the handler runs would be one. */
    int before = __atomic_load_n(&interrupted[thread], __ATOMIC_SEQ_CST);
    pthread_kill(handles[thread], SIGUSR1);
    while (__atomic_load_n(&interrupted[thread], __ATOMIC_SEQ_CST) == before)
        sched_yield();
    end_step();
}

void wait_for_process(int process)
{
    int status = 0;
    if (waitpid(process, &status, 0) != process || status != 0)
        fail("the child has failed");
}

/* Conditions, each with one waiter at most, who looks and is told with its mutex held. */
void signal_waiter(int lock)
{
    signalled[lock] = 1;
}

int take_signal(int lock)
{
    int was_signalled = signalled[lock];
    signalled[lock] = 0;
    return was_signalled;
}

void *slot(int number)
{
    return slots[number];
}

void set_slot(int number, void *memory)
{
    slots[number] = memory;
}

/* The value of an atomic, unseen. */
unsigned __int128 peek(const void *address, int width)
{
    unsigned __int128 value = 0;
    for (int i = 0; i < width; i++)
        value |= (unsigned __int128)((const unsigned char *)address)[i] << 8 * i;
    return value;
}

void must(int holds, const char *what)
{
    if (!holds)
        fail(what);
}

int value_of_step(void)
{
    return turn + 1;
}
