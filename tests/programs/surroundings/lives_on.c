/* Violates an operation, says its process number, waits for a line of input, then does more than any ring holds, and says so. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shared;

__attribute__((noinline)) static void increment(void)
{
    pthread_mutex_lock(&lock);
    long seen = shared;
    pthread_mutex_unlock(&lock);
    interlude();
    pthread_mutex_lock(&lock);
    shared = seen + 1;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void add(void)
{
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
}

static void *first_worker(void *unused)
{
    lead();
    increment();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    increment();
    end_interlude();
    return unused;
}

static void *adds(void *unused)
{
    for (int i = 0; i < 200000; i++)
        add();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (getchar() == EOF)
        return 3;
    run_two_threads(adds, adds);
    printf("%ld\n", shared);
    return 0;
}
