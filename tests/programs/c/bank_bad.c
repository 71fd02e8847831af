// Two critical sections in one operation: another deposit fits in between and is lost.
// expect: deposit 24
#include <pthread.h>
#include <stdio.h>

#include "../steps.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = balance;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value) {
    pthread_mutex_lock(&lock);
    balance = value;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void deposit(int amount, int reads_at, int writes_at) {
    step(reads_at);
    int value = get();
    done();
    step(writes_at);
    set(value + amount);
    done();
}

static void *slow(void *unused) {
    deposit(10, 0, 3);
    return unused;
}

static void *quick(void *unused) {
    deposit(5, 1, 2);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", balance);
    return 0;
}
