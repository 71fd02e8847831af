// 10,000 short-lived threads, 256 at once; detached, cancelled, and left by pthread_exit.
// expect: clean
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static sem_t ended;

__attribute__((noinline)) static void add(void) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void leave(void) { pthread_exit(NULL); }

static void *simple(void *unused) {
    add();
    return unused;
}

static void *exits(void *unused) {
    add();
    leave();
    return unused;
}

static void *detached(void *unused) {
    add();
    sem_post(&ended);
    return unused;
}

static void *waits(void *unused) {
    add();
    sem_post(&ended);
    for (;;)
        pthread_testcancel();
    return unused;
}

static pthread_barrier_t all_here;

static void *together(void *unused) {
    add();
    pthread_barrier_wait(&all_here);
    add();
    return unused;
}

int main(void) {
    enum { AT_ONCE = 256 };
    static pthread_t threads[AT_ONCE];
    sem_init(&ended, 0, 0);
    for (int round = 0; round < 5000; round++) {
        pthread_create(&threads[0], NULL, simple, NULL);
        pthread_create(&threads[1], NULL, exits, NULL);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    }
    for (int i = 0; i < 50; i++) {
        pthread_create(&threads[0], NULL, detached, NULL);
        pthread_detach(threads[0]);
        sem_wait(&ended);
        pthread_create(&threads[0], NULL, waits, NULL);
        sem_wait(&ended);
        pthread_cancel(threads[0]);
        pthread_join(threads[0], NULL);
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 16);
    pthread_barrier_init(&all_here, NULL, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_create(&threads[i], &attributes, together, NULL);
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", count);
    return 0;
}
