// Locks that mostly stay with a thread and sometimes change hands, as fast as that goes: each operation is one critical section, and none
// is ever to be blamed, however the threads get in each other's way.
// expect: clean
#include <pthread.h>
#include <stdio.h>

enum { STRIPES = 16, THREADS = 4, OPERATIONS = 20000 };

static pthread_mutex_t locks[STRIPES];
static int values[STRIPES];

__attribute__((noinline)) static void add(unsigned stripe) {
    pthread_mutex_lock(&locks[stripe]);
    values[stripe]++;
    pthread_mutex_unlock(&locks[stripe]);
}

__attribute__((noinline)) static int get(unsigned stripe) {
    pthread_mutex_lock(&locks[stripe]);
    int value = values[stripe];
    pthread_mutex_unlock(&locks[stripe]);
    return value;
}

static void *work(void *argument) {
    unsigned seed = (unsigned)(long)argument, least = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned stripe = (seed >> 16) % STRIPES;
        if (i % 2)
            add(stripe);
        else
            least += get(stripe) < 0;
    }
    return (void *)(long)least;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)(t + 1));
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    int total = 0;
    for (int i = 0; i < STRIPES; i++)
        total += values[i];
    printf("%d\n", total);
    return 0;
}
