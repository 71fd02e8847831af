// What a function does before it calls another is not done by the other: the read that races is the caller's, who is to
// blame, although it is on record only since the callee takes a lock.
// expect: violated operation
// options: --conflicts locks
// returns: 18
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int flag, count;

__attribute__((noinline)) static int take(void) {
    pthread_mutex_lock(&first);
    done();
    step(2);
    pthread_mutex_lock(&second);
    return ++count;
}

__attribute__((noinline)) static void operation(void) {
    int seen = flag;
    take();
    printf("%d\n", seen);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
}

static void *reads(void *unused) {
    operation();
    return unused;
}

static void *writes(void *unused) {
    step(1);
    flag = 1;
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    done();
    return unused;
}

int main(void) {
    run_two_threads(reads, writes);
    return 0;
}
