// expect: clean
// variable: visitors
// threads: 3
// race-free: yes
// links: -pthread
// prints: visitors 2, expected 2
//
// One atomic read-modify-write: an interruption before or after it harms nobody.
#include "choreography.h"

#include <stdatomic.h>
#include <stdio.h>

atomic_int visitors;

OPERATION void count_visitor(void)
{
    interlude();
    atomic_fetch_add(&visitors, 1);
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
