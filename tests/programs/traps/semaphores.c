// A post comes before the wait that it lets through, and nothing else follows from it: producers that post after
// their critical section are atomic.
// expect: clean
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t filled, vacant;
static int ring[8], head, tail, sum;

__attribute__((noinline)) static void put(int value) {
    pthread_mutex_lock(&lock);
    ring[head++ % 8] = value;
    pthread_mutex_unlock(&lock);
    sem_post(&filled);
}

__attribute__((noinline)) static int take(void) {
    sem_wait(&filled);
    pthread_mutex_lock(&lock);
    int value = ring[tail++ % 8];
    pthread_mutex_unlock(&lock);
    sem_post(&vacant);
    return value;
}

static void *produce(void *unused) {
    for (int i = 0; i < 500; i++) {
        sem_wait(&vacant);
        put(i);
    }
    return unused;
}

static void *consume(void *unused) {
    int total = 0;
    for (int i = 0; i < 500; i++)
        total += take();
    __atomic_fetch_add(&sum, total, __ATOMIC_RELAXED);
    return unused;
}

int main(void) {
    pthread_t threads[4];
    sem_init(&filled, 0, 0);
    sem_init(&vacant, 0, 8);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i % 2 ? produce : consume, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", sum);
    return 0;
}
