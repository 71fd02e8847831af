// pthread_exit unwinds: destructors run, `catch (...)` sees it pass, and the blocks that it leaves are over.
// expect: violated increment
// returns: 31 32
#include <cstdio>
#include <mutex>
#include <thread>

#include <pthread.h>

#include "choreography.h"

static std::mutex guard;
static int shared, destroyed, passed;

struct Counted {
    ~Counted() {
        std::lock_guard<std::mutex> lock(guard);
        destroyed++;
    }
};

__attribute__((noinline)) static void increment(int reads_at, int writes_at) {
    step(reads_at);
    guard.lock();
    int seen = shared;
    guard.unlock();
    done();
    step(writes_at);

    // Between the two, the other thread has done all of its own.
    guard.lock();
    shared = seen + 1;
    guard.unlock();
    done();
}

__attribute__((noinline)) static void leave() {
    Counted counted;
    pthread_exit(nullptr);
}

__attribute__((noinline)) static void leave_through_a_handler() {
    try {
        leave();
    } catch (...) {
        passed++;
        throw;
    }
}

static void *slow(void *) {
    increment(0, 3);
    leave_through_a_handler();
    return nullptr;
}

static void *quick(void *) {
    increment(1, 2);
    leave();
    return nullptr;
}

int main() {
    pthread_t a, b;
    pthread_create(&a, nullptr, slow, nullptr);
    pthread_create(&b, nullptr, quick, nullptr);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
    std::printf("%d, %d destroyed, %d passed\n", shared, destroyed, passed);
}
