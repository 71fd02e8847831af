// expect: clean
// variable: stock
// threads: 3
// race-free: yes
// links: -pthread
// prints: stock 2, expected 2
//
// With the innermost function atomic, all its callers are.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
int stock;

OPERATION void add_to_stock(int pieces)
{
    pthread_mutex_lock(&stock_lock);
    int seen = stock;
    interlude_if_possible();
    stock = seen + pieces;
    pthread_mutex_unlock(&stock_lock);
}

OPERATION int receive_parcel(int pieces)
{
    add_to_stock(pieces);
    return pieces;
}

OPERATION int unload_lorry(void)
{
    return receive_parcel(1) + 1;
}

static void *first_worker(void *unused)
{
    lead();
    unload_lorry();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    add_to_stock(1);
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("stock %d, expected 2\n", stock);
    return 0;
}
