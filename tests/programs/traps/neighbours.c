// Three variables next to each other: one is written by both threads under a lock, the others by one thread each, all as fast as that goes. Then an
// operation of the second thread writes to the first variable and stays open, the first thread writes to it after that, and a third thread reads it
// when told. Nothing comes back to the operation, whatever the threads took each other's accesses for meanwhile.
// expect: clean
#include "choreography.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

enum { ROUNDS = 20000, TIMES = 20 };

static struct {
    int second, shared, first;
} variables __attribute__((aligned(64)));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t written;

OPERATION static void write_shared(int value) {
    pthread_mutex_lock(&lock);
    variables.shared = value;
    pthread_mutex_unlock(&lock);
}

OPERATION static void write_to(volatile int *own, int value) { *own = value; }

// Not a function, which would be an operation.
#define WRITE_BOTH(own)                   \
    for (int i = 0; i < ROUNDS; i++) {    \
        write_shared(i);                  \
        for (int j = 0; j < TIMES; j++)   \
            write_to(own, j);             \
    }

static void *first_worker(void *unused) {
    WRITE_BOTH(&variables.first)
    done();
    step(3);
    write_shared(1);
    sem_post(&written);
    return unused;
}

OPERATION static void write_and_stay(void) {
    write_shared(2);
    done();
    step(4);
}

static void *second_worker(void *unused) {
    WRITE_BOTH(&variables.second)
    done();
    step(2);
    write_and_stay();
    return unused;
}

static void *third_worker(void *seen) {
    step(3);
    sem_wait(&written);
    *(int *)seen = variables.shared;
    done();
    return seen;
}

int main(void) {
    int seen = 0;
    pthread_t threads[3];
    sem_init(&written, 0, 0);
    pthread_create(&threads[0], NULL, first_worker, NULL);
    pthread_create(&threads[1], NULL, second_worker, NULL);
    pthread_create(&threads[2], NULL, third_worker, &seen);
    for (int t = 0; t < 3; t++)
        pthread_join(threads[t], NULL);
    printf("%d %d %d %d\n", variables.second, variables.shared, variables.first, seen);
    return 0;
}
