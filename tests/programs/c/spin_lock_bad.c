// expect: violated reserve_seat
// variable: seats
// leaves: 34 36 42 43
// returns: 29 47 48
// threads: 3
// race-free: yes
// links: -pthread
// prints: seats -1, expected 0
//
// A spin lock of one's own, annotated as a lock. Each access is protected, test and reservation together are not.
//
//   T1: [ acq r(seats) rel                   acq w(seats) rel ]
//   T2:                   [ reserve_seat ]
#include "choreography.h"
#include "lock_annotations.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_flag seats_lock = ATOMIC_FLAG_INIT;
int seats = 1;

static void spin_lock(atomic_flag *lock)
{
    LOCKING(lock);
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        sched_yield();
    LOCKED(lock); // returns
}

static void spin_unlock(atomic_flag *lock)
{
    UNLOCKING(lock); // leaves
    atomic_flag_clear_explicit(lock, memory_order_release);
    UNLOCKED(lock); // leaves
}

OPERATION void reserve_seat(void)
{
    spin_lock(&seats_lock);
    int free_seats = seats; // leaves
    spin_unlock(&seats_lock); // leaves
    if (free_seats == 0)
        return;
    interlude();
    spin_lock(&seats_lock); // returns
    seats--; // returns
    spin_unlock(&seats_lock);
}

static void *first_worker(void *unused)
{
    lead();
    reserve_seat();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    reserve_seat();
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("seats %d, expected 0\n", seats);
    return 0;
}
