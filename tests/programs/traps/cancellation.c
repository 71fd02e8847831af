// Threads that are cancelled while they wait, in blocks and with locks held: their handlers run, nothing stays locked, and
// what comes after is judged as usual.
// expect: violated increment
// returns: 26 27
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t here, never_posted;
static int shared, handled;
static pthread_key_t key;
static int destroyed;

__attribute__((noinline)) static void increment(int reads_at, int writes_at) {
    step(reads_at);
    pthread_mutex_lock(&lock);
    int seen = shared;
    pthread_mutex_unlock(&lock);
    done();
    step(writes_at);

    pthread_mutex_lock(&lock);
    shared = seen + 1;
    pthread_mutex_unlock(&lock);
    done();
}

static void give_back(void *unused) {
    (void)unused;
    handled++;
    pthread_mutex_unlock(&lock);
}

static void count(void *counter) {
    pthread_mutex_lock(&lock);
    ++*(int *)counter;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void wait_for_condition(void) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(give_back, NULL);
    sem_post(&here);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
}

__attribute__((noinline)) static void wait_for_semaphore(void) {
    pthread_cleanup_push(count, &handled);
    sem_post(&here);
    for (;;)
        sem_wait(&never_posted);
    pthread_cleanup_pop(1);
}

__attribute__((noinline)) static void leave_from_within(void) {
    pthread_cleanup_push(count, &handled);
    sem_post(&here);
    pthread_exit(NULL);
    pthread_cleanup_pop(1);
}

static void *waiting(void *way) {
    static void (*const ways[])(void) = {wait_for_condition, wait_for_semaphore, leave_from_within};
    pthread_setspecific(key, &destroyed);
    ways[(long)way]();
    return NULL;
}

static void *slow(void *unused) {
    increment(0, 3);
    return unused;
}

static void *quick(void *unused) {
    increment(1, 2);
    return unused;
}

int main(void) {
    sem_init(&here, 0, 0);
    sem_init(&never_posted, 0, 0);
    pthread_key_create(&key, count);
    for (long way = 0; way < 30; way++) {
        pthread_t thread;
        pthread_create(&thread, NULL, waiting, (void *)(way % 3));
        sem_wait(&here);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    pthread_t a, b;
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d handled, %d destroyed, %d\n", handled, destroyed, shared);
    return 0;
}
