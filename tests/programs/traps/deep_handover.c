// Locks that are handed over often are recorded in few words, and by others. A thread that has done so a thousand times takes one over deep inside a
// recursion, gives it back there, and the other thread takes it before the recursion goes on: that order counts for all functions that are open.
// expect: violated deposit
// folded: descend
// leaves: 19 20 31
// returns: 25 26 36
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

enum { TIMES = 1100, DEPTH = 1500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance;

OPERATION static int get(void) {
    pthread_mutex_lock(&lock);
    int value = balance;
    pthread_mutex_unlock(&lock);
    return value;
}

OPERATION static void set(int value) {
    pthread_mutex_lock(&lock);
    balance = value;
    pthread_mutex_unlock(&lock);
}

OPERATION static void deposit(int amount) {
    int before = get();
    if (amount > 0) {
        done();
        step(2 * TIMES + 2);
    }
    set(before + amount);
}

OPERATION static void descend(int depth, int amount) {
    if (depth > 0)
        descend(depth - 1, amount);
    else
        deposit(amount);
    __asm__ volatile("" ::: "memory");
}

static void *first(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        step(2 * i);
        set(i);
        done();
    }
    step(2 * TIMES);
    descend(DEPTH, 1);
    return unused;
}

static void *second(void *unused) {
    for (int i = 0; i < TIMES; i++) {
        step(2 * i + 1);
        set(i);
        done();
    }
    step(2 * TIMES + 1);
    set(100);
    done();
    return unused;
}

int main(void) {
    // Functions that were never seen before are recorded in any case.
    descend(1, 0);
    run_two_threads(first, second);
    printf("%d\n", balance);
    return 0;
}
