// Memory that is given back and handed out again is another variable, and a lock in it another lock.
// expect: clean
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "choreography.h"

struct object {
    pthread_mutex_t lock;
    long value;
};

__attribute__((noinline)) static long use(long value) {
    struct object *object = malloc(sizeof *object);
    pthread_mutex_init(&object->lock, NULL);
    pthread_mutex_lock(&object->lock);
    object->value = value;
    pthread_mutex_unlock(&object->lock);
    pthread_mutex_lock(&object->lock);
    value = object->value;
    pthread_mutex_unlock(&object->lock);
    pthread_mutex_destroy(&object->lock);
    free(object);
    return value;
}

/* The same memory serves both threads in turn, as far as the allocator gives it. */
__attribute__((noinline)) static long use_twice(int first, int second) {
    step(first);
    long a = use(1);
    done();
    step(second);
    long b = use(2);
    done();
    return a + b;
}

static void *one(void *result) {
    *(long *)result = use_twice(0, 2);
    return NULL;
}

static void *two(void *result) {
    *(long *)result = use_twice(1, 3);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    long results[2];
    pthread_create(&a, NULL, one, &results[0]);
    pthread_create(&b, NULL, two, &results[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%ld\n", results[0] + results[1]);
    return 0;
}
