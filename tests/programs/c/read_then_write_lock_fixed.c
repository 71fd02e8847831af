// expect: clean
// variable: table
// threads: 3
// race-free: yes
// links: -pthread
// prints: entries 1, expected 1
//
// The write lock over looking up and inserting.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

enum { CAPACITY = 4 };

pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
int table[CAPACITY];
int entries;

static int is_present(int key)
{
    for (int i = 0; i < entries; i++)
        if (table[i] == key)
            return 1;
    return 0;
}

OPERATION void intern(int key)
{
    pthread_rwlock_wrlock(&table_lock);
    if (!is_present(key)) {
        interlude_if_possible();
        table[entries++] = key;
    }
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
