// expect: violated deposit
// variable: balance
// leaves: 25 26
// returns: 28 29
// threads: 3
// race-free: yes
// links: -pthread
// prints: balance 150, expected 200
//
// Two critical sections in one operation: every access is locked, the deposit of the other thread is lost.
//
//   T1: [ r(balance)                  w(balance) ]
//   T2:               [ deposit 50 ]
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;
int balance = 100;

OPERATION void deposit(int amount)
{
    pthread_mutex_lock(&account_lock);
    int seen = balance; // leaves
    pthread_mutex_unlock(&account_lock); // leaves
    interlude();
    pthread_mutex_lock(&account_lock); // returns
    balance = seen + amount; // returns
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
