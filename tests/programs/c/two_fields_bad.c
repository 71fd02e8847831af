// expect: violated move_range
// options: --conflicts locks
// variable: range
// leaves: 32 33
// returns: 35 36
// threads: 3
// race-free: yes
// links: -pthread
// prints: width -5, expected 5
//
// Two fields that must agree (lower <= upper) are written in two critical sections; a reader sees half of the change.
//
//   T1: [ w(lower)                   w(upper) ]
//   T2:             [ r(lower) r(upper) ]
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
    range.lower += distance; // leaves
    pthread_mutex_unlock(&range.lock); // leaves
    interlude();
    pthread_mutex_lock(&range.lock); // returns
    range.upper += distance; // returns
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
