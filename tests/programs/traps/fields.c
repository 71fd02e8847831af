// Two fields of one word, each with a lock of its own, have nothing to do with each other.
// expect: clean
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

static struct {
    short first, second;
} pair __attribute__((aligned(8)));

__attribute__((noinline)) static void change_first(int reads_at, int writes_at) {
    step(reads_at);
    short value = pair.first;
    done();
    step(writes_at);
    pair.first = value + 1;
    done();
}

__attribute__((noinline)) static void change_second(int reads_at, int writes_at) {
    step(reads_at);
    short value = pair.second;
    done();
    step(writes_at);
    pair.second = value + 1;
    done();
}

static void *one(void *unused) {
    change_first(0, 3);
    return unused;
}

static void *two(void *unused) {
    change_second(1, 2);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d %d\n", pair.first, pair.second);
    return 0;
}
