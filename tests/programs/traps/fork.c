// A child of fork is judged by itself; its parent goes on.
// expect: increment 17
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
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

int main(void) {
    pthread_t a, b;
    pid_t child = fork();
    if (child == 0) {
        pthread_create(&a, NULL, slow, NULL);
        pthread_create(&b, NULL, quick, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
        printf("child %d\n", shared);
        fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    printf("parent %d %d\n", shared, status);
    return 0;
}
