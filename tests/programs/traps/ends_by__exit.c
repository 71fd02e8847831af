// However a program ends, what was found until then is reported.
// expect: increment 17
// exit: 7
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "choreography.h"

static int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int get(void) { pthread_mutex_lock(&lock); int v = shared; pthread_mutex_unlock(&lock); return v; }
static void set(int v) { pthread_mutex_lock(&lock); shared = v; pthread_mutex_unlock(&lock); }
__attribute__((noinline)) static void increment(int reads_at, int writes_at) {
    step(reads_at);
    int value = get();
    done();
    step(writes_at);
    set(value + 1);
    done();
}

static void *slow(void *unused) {
    increment(0, 3);
    done();
    return unused;
}

static void *quick(void *unused) {
    increment(1, 2);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    step(5);
    printf("now\n");
    fflush(stdout);
    _exit(7);
    return 0;
}
