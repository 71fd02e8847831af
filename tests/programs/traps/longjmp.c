// Functions that are left by longjmp end without a word: what comes after is not inside them.
// expect: clean
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

__attribute__((noinline)) static void touch(void) {
    pthread_mutex_lock(&lock);
    shared++;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void leave(jmp_buf *there) {
    touch();
    longjmp(*there, 1);
}

static void *work(void *unused) {
    jmp_buf there;
    for (volatile int i = 0; i < 200; i++)
        if (!setjmp(there))
            leave(&there);
        else
            touch();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", shared);
    return 0;
}
