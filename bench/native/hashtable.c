/* A hash table with a lock per stripe: short critical sections, pointers chased under them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUCKETS = 1 << 14, STRIPES = 64, THREADS = 2, OPERATIONS = 400000, KEYS = 40000 };

struct entry {
    unsigned key;
    unsigned value;
    struct entry *next;
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t locks[STRIPES];

static unsigned hash(unsigned key) {
    key ^= key >> 16;
    key *= 0x7feb352dU;
    key ^= key >> 15;
    key *= 0x846ca68bU;
    return key ^ key >> 16;
}

static void add(unsigned key, unsigned amount) {
    unsigned bucket = hash(key) % BUCKETS;
    pthread_mutex_t *lock = &locks[bucket % STRIPES];
    pthread_mutex_lock(lock);
    struct entry *entry = buckets[bucket];
    while (entry && entry->key != key)
        entry = entry->next;
    if (!entry) {
        entry = malloc(sizeof *entry);
        entry->key = key;
        entry->value = 0;
        entry->next = buckets[bucket];
        buckets[bucket] = entry;
    }
    entry->value += amount;
    pthread_mutex_unlock(lock);
}

static unsigned get(unsigned key) {
    unsigned bucket = hash(key) % BUCKETS;
    pthread_mutex_t *lock = &locks[bucket % STRIPES];
    pthread_mutex_lock(lock);
    struct entry *entry = buckets[bucket];
    while (entry && entry->key != key)
        entry = entry->next;
    unsigned value = entry ? entry->value : 0;
    pthread_mutex_unlock(lock);
    return value;
}

static void *work(void *argument) {
    unsigned seed = (unsigned)(long)argument + 1;
    unsigned sum = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned key = (seed >> 8) % KEYS;
        if (i % 4)
            sum += get(key);
        else
            add(key, 1);
    }
    return (void *)(long)(sum & 1);
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (long t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    unsigned long total = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *entry = buckets[i]; entry; entry = entry->next)
            total += entry->value;
    printf("%lu\n", total);
    return 0;
}
