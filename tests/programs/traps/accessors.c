// A lock that was taken often before leaves no record of its own. The other thread comes while this one is still in the first of two
// accessors, and records on its behalf where it stands: inside `deposit`, which is to blame, although the accessor is over by the time
// it goes on.
// expect: violated deposit
// returns: 25 26 32
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

OPERATION static int get(void)
{
    pthread_mutex_lock(&lock);
    int seen = balance;
    pthread_mutex_unlock(&lock);
    interlude();
    return seen;
}

OPERATION static void set(int value)
{
    pthread_mutex_lock(&lock); // returns
    balance = value; // returns
    pthread_mutex_unlock(&lock);
}

OPERATION static void deposit(int amount)
{
    set(get() + amount); // returns
}

static void *first_worker(void *unused)
{
    for (int i = 0; i < 100; i++)
        deposit(0);
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
