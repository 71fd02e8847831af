// expect: violated take
// variable: queue
// leaves: 31 33 38
// returns: 40 41
// threads: 3
// race-free: yes
// links: -pthread
// prints: items left -1, expected 0
//
// The consumer waits for an item in one critical section and takes it in another; meanwhile somebody else took it.
// (An item is there from the start, so nobody waits and take() is one piece.)
//
//   T1: [ acq r(count) rel             acq w(count) rel ]
//   T2:                     [ take ]
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    int count;
};

struct queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1};

static void wait_for_item(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0) // leaves
        pthread_cond_wait(&queue.not_empty, &queue.lock);
    pthread_mutex_unlock(&queue.lock); // leaves
}

OPERATION void take(void)
{
    wait_for_item(); // leaves
    interlude();
    pthread_mutex_lock(&queue.lock); // returns
    queue.count--; // returns
    pthread_mutex_unlock(&queue.lock);
}

static void *first_worker(void *unused)
{
    lead();
    take();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    take();
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("items left %d, expected 0\n", queue.count);
    return 0;
}
