#include <pthread.h>
#include "bank.h"

/* A bank in which every access of the balance is under the lock, and which still loses money. */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long balance = 100;

static long amounts[] = {10, 20};

void deposit(long amount) {
    pthread_mutex_lock(&m);
    long before = balance;
    pthread_mutex_unlock(&m);

    pthread_mutex_lock(&m);
    balance = before + amount;
    pthread_mutex_unlock(&m);
}

void withdraw(long amount) {
    pthread_mutex_lock(&m);
    if (balance >= amount)
        balance = balance - amount;
    pthread_mutex_unlock(&m);
}
