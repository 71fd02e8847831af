// expect: clean
// variable: seats
// threads: 3
// race-free: yes
// links: -pthread
// prints: seats 0, expected 0
//
// The spin lock over test and reservation. Were its own atomics taken for data, the spinning thread would be blamed: it
// sets the flag again and again, and the holder clears it in between.
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
    LOCKED(lock);
}

static void spin_unlock(atomic_flag *lock)
{
    UNLOCKING(lock);
    atomic_flag_clear_explicit(lock, memory_order_release);
    UNLOCKED(lock);
}

OPERATION void reserve_seat(void)
{
    spin_lock(&seats_lock);
    if (seats > 0) {
        interlude_if_possible();
        seats--;
    }
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
