/* Does what programs say, step by step: see program.rs. Compiled with hooks. */
#define _GNU_SOURCE
#include <atomvet.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "steps.h"

typedef unsigned __int128 uint128_t;

/* What a program has. Each has memory of its own. */
struct memory {
    _Alignas(64) unsigned char arena[ARENA_BYTES];
    int64_t flags[ARENA_BYTES];
    int initialised[INITIALISATIONS];
    pthread_mutex_t mutexes[3];
    pthread_cond_t conditions[3];
    pthread_spinlock_t spin;
    pthread_rwlock_t locks[2];
    sem_t semaphores[SEMAPHORES];
    pthread_barrier_t barrier;
    pthread_once_t initialisations[INITIALISATIONS];
};

static struct memory memories[NUMBERS];
static struct memory *memory;
static int number;

static void walk(void);

/* The functions that are blocks. */
#define FUNCTION(n, label) \
    __attribute__((noinline)) void p##n##_f##label(void) { end_step(); walk(); }
#define FUNCTIONS(n) FUNCTION(n, 0) FUNCTION(n, 2) FUNCTION(n, 4)
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define TEN(X, n) EIGHT(X, n) X(n##8) X(n##9)
#define EVERY(X) \
    TEN(X, ) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9) TEN(X, 10) TEN(X, 11) EIGHT(X, 12)
EVERY(FUNCTIONS)
#define POINTERS(n) {p##n##_f0, p##n##_f2, p##n##_f4},
static void (*const functions[NUMBERS][LABELS / 2])(void) = {EVERY(POINTERS)};

static void initialise_0(void) { memory->initialised[0] = 1; }
static void initialise_1(void) { memory->initialised[1] = 1; }
static void (*const initialise[INITIALISATIONS])(void) = {initialise_0, initialise_1};

static void *address_of(int space, int offset)
{
    return (space ? (unsigned char *)slot(space - 1) : memory->arena) + offset;
}

#define ACCESSES(type)                                                                                        \
    struct __attribute__((packed)) packed_##type { type value; };                                             \
    static void read_##type(void *address)                                                                    \
    {                                                                                                         \
        if ((uintptr_t)address % sizeof(type) == 0)                                                           \
            (void)*(volatile type *)address;                                                                  \
        else                                                                                                  \
            (void)((volatile struct packed_##type *)address)->value;                                          \
    }                                                                                                         \
    static void write_##type(void *address, type value)                                                       \
    {                                                                                                         \
        if ((uintptr_t)address % sizeof(type) == 0)                                                           \
            *(volatile type *)address = value;                                                                \
        else                                                                                                  \
            ((volatile struct packed_##type *)address)->value = value;                                        \
    }                                                                                                         \
    static void atomic_##type(type *address, int operation, int order, type value)                            \
    {                                                                                                         \
        type found = (type)peek(address, sizeof(type));                                                       \
        switch (operation * 4 + order) {                                                                      \
            ORDERS(0, LOAD, type)                                                                             \
            ORDERS(1, STORE, type)                                                                            \
            ORDERS(2, EXCHANGE, type)                                                                         \
            ORDERS(3, ADD, type)                                                                              \
            ORDERS(4, SUB, type)                                                                              \
            ORDERS(5, AND, type)                                                                              \
            ORDERS(6, OR, type)                                                                               \
            ORDERS(7, XOR, type)                                                                              \
            ORDERS(8, NAND, type)                                                                             \
            ORDERS(9, COMPARE, type)                                                                          \
            ORDERS(10, FAIL, type)                                                                            \
        }                                                                                                     \
    }
/* A load cannot release, and a store cannot acquire: they get the next best order. */
#define ORDERS(n, OPERATION, type)                                                                            \
    case n * 4: OPERATION(__ATOMIC_RELAXED, __ATOMIC_RELAXED, __ATOMIC_RELAXED) break;                        \
    case n * 4 + 1: OPERATION(__ATOMIC_ACQUIRE, __ATOMIC_RELAXED, __ATOMIC_ACQUIRE) break;                    \
    case n * 4 + 2: OPERATION(__ATOMIC_RELAXED, __ATOMIC_RELEASE, __ATOMIC_ACQ_REL) break;                    \
    case n * 4 + 3: OPERATION(__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) break;
#define LOAD(load, store, update) (void)__atomic_load_n(address, load);
#define STORE(load, store, update) __atomic_store_n(address, value, store);
#define EXCHANGE(load, store, update) (void)__atomic_exchange_n(address, value, update);
#define ADD(load, store, update) (void)__atomic_fetch_add(address, value, update);
#define SUB(load, store, update) (void)__atomic_sub_fetch(address, value, update);
#define AND(load, store, update) (void)__atomic_fetch_and(address, value, update);
#define OR(load, store, update) (void)__atomic_fetch_or(address, value, update);
#define XOR(load, store, update) (void)__atomic_xor_fetch(address, value, update);
#define NAND(load, store, update) (void)__atomic_fetch_nand(address, value, update);
#define COMPARE(load, store, update) must(__atomic_compare_exchange_n(address, &found, found + value, 0, update, load), "a compare-exchange fails");
#define FAIL(load, store, update) found++; must(!__atomic_compare_exchange_n(address, &found, value, 1, update, load), "a compare-exchange succeeds");

ACCESSES(uint8_t)
ACCESSES(uint16_t)
ACCESSES(uint32_t)
ACCESSES(uint64_t)
ACCESSES(uint128_t)

static void access_memory(struct step step)
{
    void *address = address_of(step.a, step.b);
    int value = value_of_step();
#define WIDTH(type)                                                                                           \
    case sizeof(type):                                                                                        \
        if (step.operation == 'r')                                                                            \
            read_##type(address);                                                                             \
        else if (step.operation == 'w')                                                                       \
            write_##type(address, (type)value);                                                               \
        else                                                                                                  \
            atomic_##type(address, step.d, step.e, (type)value);                                              \
        break;
    switch (step.c) {
        WIDTH(uint8_t)
        WIDTH(uint16_t)
        WIDTH(uint32_t)
        WIDTH(uint64_t)
        WIDTH(uint128_t)
    }
}

static void *start(void *argument)
{
    enter_thread((int)(intptr_t)argument);
    walk();
    return NULL;
}

static void create(int thread)
{
    must(pthread_create(handle(thread), NULL, start, (void *)(intptr_t)thread) == 0, "a thread cannot be created");
}

struct name {
    char text[24];
};

static struct name name_of(int program, int label)
{
    struct name name;
    snprintf(name.text, sizeof name.text, "p%d_b%d", program, label);
    return name;
}

/* Locks 0 and 1 are mutexes, 2 is a recursive one, 3 a spin lock, 4 and 5 are read-write locks. */
static int lock(int which)
{
    return which < 3 ? pthread_mutex_lock(&memory->mutexes[which]) : which == 3 ? pthread_spin_lock(&memory->spin) : pthread_rwlock_wrlock(&memory->locks[which - 4]);
}

static int try_lock(int which)
{
    return which < 3 ? pthread_mutex_trylock(&memory->mutexes[which]) : which == 3 ? pthread_spin_trylock(&memory->spin) : pthread_rwlock_trywrlock(&memory->locks[which - 4]);
}

static int unlock(int which)
{
    return which < 3 ? pthread_mutex_unlock(&memory->mutexes[which]) : which == 3 ? pthread_spin_unlock(&memory->spin) : pthread_rwlock_unlock(&memory->locks[which - 4]);
}

static void run_program(struct program *program);

/* The running thread's steps, up to the end of the function or handler that it is in. */
static __attribute__((noinline)) void walk(void)
{
    for (;;) {
        struct step step = await_step();
        struct timespec past = {0, 0};
        pid_t process;
        switch (step.operation) {
        case 0:
            return;
        case 'B':
            if (step.a % 2 == 0) {
                functions[number][step.a / 2]();
                break;
            }
            ATOMVET_BEGIN(name_of(number, step.a).text);
            break;
        case 'E':
            if (step.a % 2 == 0)
                return;
            ATOMVET_END();
            break;
        case 'Q':
            return;
        case 'r':
        case 'w':
        case 'A':
            access_memory(step);
            break;
        case 's':
            memset(address_of(step.a, step.b), value_of_step(), step.c);
            break;
        case 'c':
            memcpy(address_of(step.a, step.b), address_of(step.c, step.d), step.e);
            break;
        case 'l':
            must(lock(step.a) == 0, "a lock is not free");
            break;
        case 't':
            must(try_lock(step.a) == 0, "a lock is not free");
            break;
        case 'x':
            must(try_lock(step.a) != 0, "a lock is free");
            break;
        case 'R':
            must(pthread_rwlock_rdlock(&memory->locks[step.a - 4]) == 0, "a lock is not free");
            break;
        case 'u':
            must(unlock(step.a) == 0, "a lock is not held");
            break;
        case 'S':
            signal_waiter(step.a);
            pthread_cond_broadcast(&memory->conditions[step.a]);
            break;
        case 'D':
            pthread_cond_timedwait(&memory->conditions[step.a], &memory->mutexes[step.a], &past);
            break;
        /* Others go on while this one waits. Who takes the mutex next, or leaves the barrier, does so after this one has begun to wait. */
        case 'W':
            end_step();
            do
                pthread_cond_wait(&memory->conditions[step.a], &memory->mutexes[step.a]);
            while (!take_signal(step.a));
            continue;
        case 'b':
            end_step();
            pthread_barrier_wait(&memory->barrier);
            continue;
        case '-':
            sem_wait(&memory->semaphores[step.a]);
            break;
        case '+':
            sem_post(&memory->semaphores[step.a]);
            break;
        case 'o':
            pthread_once(&memory->initialisations[step.a], initialise[step.a]);
            (void)*(volatile int *)&memory->initialised[step.a];
            break;
        case 'C':
            create(step.a);
            break;
        case 'J':
            pthread_join(*handle(step.a), NULL);
            *handle(step.a) = 0;
            break;
        case '>':
            __atomic_store_n(&memory->flags[step.a], 1, __ATOMIC_RELEASE);
            break;
        case '<':
            (void)__atomic_load_n(&memory->flags[step.a], __ATOMIC_ACQUIRE);
            break;
        case 'm':
            set_slot(step.a, malloc(SLOT_BYTES));
            break;
        case 'f':
            free(slot(step.a));
            set_slot(step.a, NULL);
            break;
        case 'M':
            set_slot(step.a, realloc(slot(step.a), SLOT_BYTES));
            break;
        case 'F':
            process = fork();
            if (process == 0) {
                run_program(child_of_running());
                _exit(0);
            }
            wait_for_process(process);
            break;
        case 'K':
            interrupt_thread(step.a);
            continue;
        default:
            must(0, "a step is unknown");
        }
        end_step();
    }
}

static void on_signal(int signal)
{
    (void)signal;
    enter_handler();
    walk();
    /* The step that returns. */
    end_step();
}

static void run_program(struct program *program)
{
    pthread_mutexattr_t recursive;
    begin_program(program);
    number = program->number;
    memory = &memories[number];
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < 3; i++) {
        pthread_mutex_init(&memory->mutexes[i], i == 2 ? &recursive : NULL);
        pthread_cond_init(&memory->conditions[i], NULL);
    }
    pthread_spin_init(&memory->spin, 0);
    for (int i = 0; i < 2; i++)
        pthread_rwlock_init(&memory->locks[i], NULL);
    sem_init(&memory->semaphores[0], 0, 1);
    sem_init(&memory->semaphores[1], 0, 0);
    for (int i = 0; i < INITIALISATIONS; i++)
        memory->initialisations[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    pthread_barrier_init(&memory->barrier, NULL, program->parties);
    for (int i = 1; i <= program->threads; i++)
        *handle(i) = 0;
    for (int i = 1; i <= program->initial; i++)
        create(i);
    await_end();
    for (int i = 1; i <= program->threads; i++)
        if (*handle(i))
            pthread_join(*handle(i), NULL);
}

/* Arguments: a file of programs, and "known" if all labels are to be met before. */
int main(int count, char **arguments)
{
    int programs;
    struct program *all = read_programs(arguments[1], &programs);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < NUMBERS * LABELS && count > 2; i++)
        if (i % LABELS % 2) {
            ATOMVET_BEGIN(name_of(i / LABELS, i % LABELS).text);
            ATOMVET_END();
        }
    for (int i = 0; i < programs; i += 1 + all[i].has_child)
        run_program(&all[i]);
    puts("done");
    return 0;
}
