// expect: violated add_to_stock
// folded: receive_parcel unload_lorry
// variable: stock
// leaves: 26 27
// returns: 29 30
// threads: 3
// race-free: yes
// links: -pthread
// prints: stock 1, expected 2
//
// The innermost function is to blame; its callers are violated only because of it and fold under it.
//
//   T1: [unload_lorry [receive_parcel [add_to_stock r(stock)                      w(stock) ]]]
//   T2:                                                       [ add_to_stock ]
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
int stock;

OPERATION void add_to_stock(int pieces)
{
    pthread_mutex_lock(&stock_lock);
    int seen = stock; // leaves
    pthread_mutex_unlock(&stock_lock); // leaves
    interlude();
    pthread_mutex_lock(&stock_lock); // returns
    stock = seen + pieces; // returns
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
