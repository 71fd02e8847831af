/* Every access of the balance is under the lock, so there is no data race. But deposit takes the lock twice, once to
 * read and once to write: the withdrawal in between gets lost. */
#include "demo.h"


/* The account. */
static int balance = 100;

/* Reads and writes in two critical sections. */
static void deposit(int amount) {
    lock();
    int seen = balance;
    BUG(unlock());
    turn(3), turn(6); /* here another thread withdraws */
    BUG(lock());
    balance = seen + amount;
    unlock();
}

static void withdraw(int amount) {
    lock();
    int seen = balance;
    balance = seen - amount;
    unlock();
}

static void *depositor(void *none) { turn(2); deposit(50); return none; }
static void *withdrawer(void *none) { turn(4); withdraw(30); turn(5); return none; }

static int audit(void) {
    lock();
    int seen = balance;
    unlock();
    return seen;
}

static void *auditor(void *none) { audit(); turn(1); return none; }
int main(void) {
    pthread_t t1, t2, t3;
    pthread_create(&t1, NULL, depositor, NULL);
    pthread_create(&t2, NULL, withdrawer, NULL);
    pthread_create(&t3, NULL, auditor, NULL);

    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    pthread_join(t3, NULL);
    printf("the balance is %d; 100 + 50 - 30 is 120\n", balance);
    return 0;
}
