// expect: clean
// variable: range
// threads: 3
// race-free: yes
// links: -pthread
// prints: width 5, expected 5
//
// Both fields change in one critical section.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

struct range {
    pthread_mutex_t lock;
    int lower;
    int upper;
};

struct range range = {PTHREAD_MUTEX_INITIALIZER, 0, 5};
int width_seen;

OPERATION void move_range(int distance)
{
    pthread_mutex_lock(&range.lock);
    range.lower += distance;
    interlude_if_possible();
    range.upper += distance;
    pthread_mutex_unlock(&range.lock);
}

OPERATION int range_width(void)
{
    pthread_mutex_lock(&range.lock);
    int width = range.upper - range.lower;
    pthread_mutex_unlock(&range.lock);
    return width;
}

static void *first_worker(void *unused)
{
    lead();
    move_range(10);
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    width_seen = range_width();
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("width %d, expected 5\n", width_seen);
    return 0;
}
