// A function that a member of a team calls is a block like any other, also if the member is not the master.
// flags: -fopenmp
// compilers: gcc
// expect: violated increment
// returns: 24 25
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

__attribute__((noinline)) static void increment(int reads_at, int writes_at) {
    step(reads_at);
    pthread_mutex_lock(&lock);
    int seen = shared;
    pthread_mutex_unlock(&lock);
    done();
    step(writes_at);

    // Between the two, the master has done all of its own.
    pthread_mutex_lock(&lock);
    shared = seen + 1;
    pthread_mutex_unlock(&lock);
    done();
}

int main(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            increment(1, 2);
        else
            increment(0, 3);
    }
    printf("%d\n", shared);
    return 0;
}
