// expect: clean
// variable: queue
// threads: 3
// race-free: yes
// links: -pthread
// prints: sum 36, expected 36
//
// A bounded queue with two condition variables. The consumer comes first and is forced to wait for the producer. The
// waits split put() and take(); judged as a whole (--strict-waits) a take() that waited is not atomic.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

enum { CAPACITY = 2, ITEMS = 8 };

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_empty;
    pthread_cond_t not_full;
    int count;
    int next;
    int items[CAPACITY];
};

struct queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, {0}};
int sum;

OPERATION void put(int item)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == CAPACITY)
        pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.items[(queue.next + queue.count) % CAPACITY] = item;
    queue.count++;
    pthread_cond_signal(&queue.not_empty);
    pthread_mutex_unlock(&queue.lock);
}

OPERATION int take(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0) {
        // The producer starts only now, and gets the lock only through the wait.
        open_interlude();
        pthread_cond_wait(&queue.not_empty, &queue.lock);
    }
    int item = queue.items[queue.next];
    queue.next = (queue.next + 1) % CAPACITY;
    queue.count--;
    pthread_cond_signal(&queue.not_full);
    pthread_mutex_unlock(&queue.lock);
    return item;
}

static void *consumer(void *unused)
{
    lead();
    for (int i = 0; i < ITEMS; i++)
        sum += take();
    return unused;
}

static void *producer(void *unused)
{
    await_interlude();
    for (int item = 1; item <= ITEMS; item++)
        put(item);
    return unused;
}

int main(void)
{
    run_two_threads(consumer, producer);
    printf("sum %d, expected 36\n", sum);
    return 0;
}
