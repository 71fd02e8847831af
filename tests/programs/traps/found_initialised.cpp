// Who finds something initialised might as well have had to do it: `both` of T1 takes the lock before, and finds initialised
// after, what `both` of T2 does both to in between. Nothing is wrong with either. (libgcc initialises itself when something is thrown.)
// expect: clean
#include <cstdio>
#include <mutex>
#include <stdexcept>
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
    add(1);
    interlude();
    int value = settings() + prepare();
    if (value == 12)
        throw std::runtime_error("on purpose");
}

static void work() {
    try {
        both();
    } catch (const std::runtime_error &) {
    }
}

int main() {
    std::thread first([] {
        lead();
        work();
    });
    std::thread second([] {
        await_interlude();
        work();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("%d\n", total);
}
