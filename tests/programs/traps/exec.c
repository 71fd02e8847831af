// A program that executes another (itself, here) is followed.
// expect: increment 17
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    return unused;
}

static void *quick(void *unused) {
    increment(1, 2);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t a, b;
    if (count == 1) {
        set(5);
        execl(arguments[0], arguments[0], "again", NULL);
        return 9;
    }
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%s %d\n", arguments[1], shared);
    return 0;
}
