// A thread library of the program's own: `launch` starts a thread in `ignition`, which calls what it was given. Those functions
// are entry functions; what they call by name is not.
//
//   T1: compress  [ deposit: r(x)              w(x) ]
//   T2: write_out             [ deposit: w(x) ]
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct capsule {
    void (*probe)(void *);
    void *payload;
};

static void *ignition(void *given)
{
    struct capsule *capsule = given;
    capsule->probe(capsule->payload);
    free(capsule);
    return NULL;
}

static pthread_t launch(void (*probe)(void *), void *payload)
{
    pthread_t thread;
    struct capsule *capsule = malloc(sizeof *capsule);
    capsule->probe = probe;
    capsule->payload = payload;
    pthread_create(&thread, NULL, ignition, capsule);
    return thread;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x, y;

OPERATION void deposit(int amount)
{
    pthread_mutex_lock(&lock);
    int seen = x;
    pthread_mutex_unlock(&lock);
    interlude();
    pthread_mutex_lock(&lock);
    x = seen + amount;
    pthread_mutex_unlock(&lock);
}

static void compress(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    y++;
    pthread_mutex_unlock(&lock);
    lead();
    deposit(1);
    pthread_mutex_lock(&lock);
    y++;
    pthread_mutex_unlock(&lock);
}

static void write_out(void *unused)
{
    (void)unused;
    await_interlude();
    pthread_mutex_lock(&lock);
    y++;
    pthread_mutex_unlock(&lock);
    deposit(2);
    end_interlude();
}

int main(void)
{
    pthread_t first = launch(compress, NULL), second = launch(write_out, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%d %d\n", x, y);
    return 0;
}
