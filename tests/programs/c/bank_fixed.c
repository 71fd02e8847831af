// One critical section over the whole operation.
// expect: clean
#include <pthread.h>
#include <stdio.h>

#include "../steps.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int get(void) { return balance; }

static void set(int value) { balance = value; }

__attribute__((noinline)) static void deposit(int amount) {
    pthread_mutex_lock(&lock);
    set(get() + amount);
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    for (int i = 0; i < 100; i++)
        deposit(10);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", balance);
    return 0;
}
