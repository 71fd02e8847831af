// What runs before main, and before any constructor of ours: the very first code of the program, then threads that a
// constructor starts.
// expect: violated increment
// returns: 25 26
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared, first;

__attribute__((noinline)) static void very_first(void) { first = shared + 40; }

typedef void (*function)(void);
__attribute__((section(".preinit_array"), used)) static function before_all = very_first;

__attribute__((noinline)) static void increment(int reads_at, int writes_at) {
    step(reads_at);
    pthread_mutex_lock(&lock);
    int seen = shared;
    pthread_mutex_unlock(&lock);
    done();
    step(writes_at);
    pthread_mutex_lock(&lock);
    shared = seen + 1;
    pthread_mutex_unlock(&lock);
    done();
}

static void *slow(void *unused) {
    increment(0, 3);
    return unused;
}

static void *quick(void *unused) {
    increment(1, 2);
    return unused;
}

__attribute__((constructor(101))) static void early(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

int main(void) {
    printf("%d %d\n", first, shared);
    return 0;
}
