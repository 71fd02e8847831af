/* Two critical sections in one operation, by two threads in turn: nothing goes wrong in this run. */
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

__attribute__((noinline)) static void increment(void)
{
    pthread_mutex_lock(&lock);
    int seen = shared;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    shared = seen + 1;
    pthread_mutex_unlock(&lock);
}

static void *first_worker(void *unused)
{
    increment();
    done();
    return unused;
}

static void *second_worker(void *unused)
{
    step(1);
    increment();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("%d\n", shared);
    return 0;
}
