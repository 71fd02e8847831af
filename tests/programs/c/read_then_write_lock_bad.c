// expect: violated intern
// variable: table
// leaves: 28 37 38
// returns: 42 43
// threads: 3
// race-free: yes
// links: -pthread
// prints: entries 2, expected 1
//
// A read lock upgraded by hand: what was looked up under the read lock no longer holds under the write lock.
// (Looking again under the write lock repairs the result, but not the order: the whole would still not be atomic.)
//
//   T1: [ racq r(table) rrel              acq w(table) rel ]
//   T2:                       [ intern ]
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

enum { CAPACITY = 4 };

pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
int table[CAPACITY];
int entries;

static int is_present(int key)
{
    for (int i = 0; i < entries; i++) // leaves
        if (table[i] == key)
            return 1;
    return 0;
}

OPERATION void intern(int key)
{
    pthread_rwlock_rdlock(&table_lock);
    int present = is_present(key); // leaves
    pthread_rwlock_unlock(&table_lock); // leaves
    if (present)
        return;
    interlude();
    pthread_rwlock_wrlock(&table_lock); // returns
    table[entries++] = key; // returns
    pthread_rwlock_unlock(&table_lock);
}

static void *first_worker(void *unused)
{
    lead();
    intern(7);
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    intern(7);
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("entries %d, expected 1\n", entries);
    return 0;
}
