// expect: violated play_round
// variable: cells
// leaves: 27
// returns: 29
// threads: 3
// race-free: yes
// links: -pthread
// prints: neighbour's cell 2 in round 1, expected 1
//
// Phases without a barrier between them: before this thread has read its neighbour's cell of round 1, the neighbour has
// read ours and written its cell of round 2.
//
//   T1: [ w(cells[0])                                              r(cells[1]) ]
//   T2:                [ w(cells[1]) r(cells[0]) ] [ w(cells[1]) … ]
#include "choreography.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int cells[2];
int neighbour_seen[2];
pthread_barrier_t start;

OPERATION int play_round(int player, int round)
{
    atomic_store(&cells[player], round); // leaves
    interlude();
    return atomic_load(&cells[1 - player]); // returns
}

static void *first_worker(void *unused)
{
    pthread_barrier_wait(&start);
    lead();
    neighbour_seen[0] = play_round(0, 1);
    return unused;
}

static void *second_worker(void *unused)
{
    pthread_barrier_wait(&start);
    await_interlude();
    play_round(1, 1);
    neighbour_seen[1] = play_round(1, 2);
    end_interlude();
    return unused;
}

int main(void)
{
    pthread_barrier_init(&start, NULL, 2);
    run_two_threads(first_worker, second_worker);
    pthread_barrier_destroy(&start);
    printf("neighbour's cell %d in round 1, expected 1\n", neighbour_seen[0]);
    return 0;
}
