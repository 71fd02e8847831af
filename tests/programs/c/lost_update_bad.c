// expect: violated count_visitor
// variable: visitors
// leaves: 23
// returns: 25
// threads: 3
// race-free: yes
// links: -pthread
// prints: visitors 1, expected 2
//
// Lost update: an atomic load and an atomic store are not an atomic increment.
//
//   T1: [ r(visitors)                     w(visitors) ]
//   T2:                [ count_visitor ]
#include "choreography.h"

#include <stdatomic.h>
#include <stdio.h>

atomic_int visitors;

OPERATION void count_visitor(void)
{
    int seen = atomic_load(&visitors); // leaves
    interlude();
    atomic_store(&visitors, seen + 1); // returns
}

static void *first_worker(void *unused)
{
    lead();
    count_visitor();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    count_visitor();
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("visitors %d, expected 2\n", atomic_load(&visitors));
    return 0;
}
