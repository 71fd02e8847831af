// A load and a store of an atomic are two operations: an update in between is lost.
// expect: add 11
#include <atomic>
#include <cstdio>
#include <thread>

#include "../steps.h"

static std::atomic<int> counter{0};

__attribute__((noinline)) static void add(int amount, int loads_at, int stores_at) {
    step(loads_at);
    int value = counter.load();
    done();
    step(stores_at);
    counter.store(value + amount);
    done();
}

int main() {
    std::thread slow([] { add(1, 0, 3); });
    std::thread quick([] { add(2, 1, 2); });
    slow.join();
    quick.join();
    std::printf("%d\n", counter.load());
}
