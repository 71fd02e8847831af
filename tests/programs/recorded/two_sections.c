// `deposit` reads and writes in two critical sections, in one thread after the other: nothing is violated, but another
// schedule would lose a deposit.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static int get(void)
{
    pthread_mutex_lock(&lock);
    int value = balance;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value)
{
    pthread_mutex_lock(&lock);
    balance = value;
    pthread_mutex_unlock(&lock);
}

OPERATION void deposit(int amount)
{
    set(get() + amount);
}

static void *first(void *nothing)
{
    deposit(10);
    done();
    return nothing;
}

static void *second(void *nothing)
{
    step(1);
    deposit(20);
    return nothing;
}

int main(void)
{
    run_two_threads(first, second);
    printf("balance %d\n", balance);
}
