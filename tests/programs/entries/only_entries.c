// Two threads whose entry functions do all the work, as in many small test programs.
//
//   T1: [ r(x)              w(x) ]
//   T2:         [ w(x) ]
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *increment(void *unused)
{
    lead();
    pthread_mutex_lock(&lock);
    int seen = x;
    pthread_mutex_unlock(&lock);
    interlude();
    pthread_mutex_lock(&lock);
    x = seen + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reset(void *unused)
{
    await_interlude();
    pthread_mutex_lock(&lock);
    x = 10;
    pthread_mutex_unlock(&lock);
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(increment, reset);
    printf("%d\n", x);
    return 0;
}
