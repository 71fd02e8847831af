// Who comes first initialises, and comes before the others in no other sense: `both` of T1 initialises what T2 reads in its own
// `both`, which ends before that of T1 takes the lock. Nothing is wrong with either.
// expect: clean
#include <cstdio>
#include <mutex>
#include <thread>

#include "choreography.h"

static std::mutex lock;
static std::once_flag flag;
static int prepared, total;

struct Settings {
    int value;
    Settings() : value(7) {}
};

__attribute__((noinline)) static int settings() {
    static Settings instance;
    return instance.value;
}

__attribute__((noinline)) static int prepare() {
    std::call_once(flag, [] { prepared = 5; });
    return prepared;
}

__attribute__((noinline)) static void add(int value) {
    std::lock_guard<std::mutex> guard(lock);
    total += value;
}

__attribute__((noinline)) static void both() {
    int value = settings() + prepare();
    interlude();
    add(value);
}

int main() {
    std::thread first([] {
        lead();
        both();
    });
    std::thread second([] {
        await_interlude();
        both();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("%d\n", total);
}
