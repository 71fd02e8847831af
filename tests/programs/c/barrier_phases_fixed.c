// expect: clean
// variable: cells
// threads: 3
// race-free: yes
// links: -pthread
// prints: rounds that agree 8, expected 8
//
// Phases kept apart by a barrier, with plain memory. The barrier splits a round into two pieces, each atomic.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

enum { ROUNDS = 4 };

int cells[2];
int agreed[2];
pthread_barrier_t phase;

OPERATION int play_round(int player, int round)
{
    cells[player] = round;
    interlude_if_possible();
    pthread_barrier_wait(&phase);
    int neighbour = cells[1 - player];
    pthread_barrier_wait(&phase);
    return neighbour;
}

static void play(int player)
{
    for (int round = 1; round <= ROUNDS; round++)
        agreed[player] += play_round(player, round) == round;
}

static void *first_worker(void *unused)
{
    lead();
    play(0);
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    play(1);
    end_interlude();
    return unused;
}

int main(void)
{
    pthread_barrier_init(&phase, NULL, 2);
    run_two_threads(first_worker, second_worker);
    pthread_barrier_destroy(&phase);
    printf("rounds that agree %d, expected 8\n", agreed[0] + agreed[1]);
    return 0;
}
