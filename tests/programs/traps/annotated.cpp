// Annotations: a part of a function as a block, and a read that is only a hint.
// expect: transfer 35
// options: --conflicts locks
#include <cstdio>
#include <pthread.h>
#include <thread>

#include "../../../include/atomvet.h"
#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long account[2] = {100, 100};
static long initialised;

static void change(int which, long amount) {
    pthread_mutex_lock(&lock);
    account[which] += amount;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void initialise() {
    if (ATOMVET_HINT_READ(initialised))
        return;
    pthread_mutex_lock(&lock);
    if (!initialised)
        initialised = 1;
    pthread_mutex_unlock(&lock);
}

static void run(int from, int first, int second) {
    step(first);
    initialise();
    done();
    {
        ATOMVET_ATOMIC("transfer");
        change(from, -10);
        done();
        step(second);
        change(!from, 10);
        done();
    }
}

int main() {
    std::thread slow([] { run(0, 0, 5); });
    std::thread quick([] { run(1, 2, 4); });
    slow.join();
    quick.join();
    std::printf("%ld %ld\n", account[0], account[1]);
}
