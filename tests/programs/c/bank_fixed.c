// expect: clean
// variable: balance
// threads: 3
// race-free: yes
// links: -pthread
// prints: balance 200, expected 200
//
// One lock over the whole deposit.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;
int balance = 100;

OPERATION void deposit(int amount)
{
    pthread_mutex_lock(&account_lock);
    int seen = balance;
    interlude_if_possible();
    balance = seen + amount;
    pthread_mutex_unlock(&account_lock);
}

static void *first_worker(void *unused)
{
    lead();
    deposit(50);
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    deposit(50);
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("balance %d, expected 200\n", balance);
    return 0;
}
