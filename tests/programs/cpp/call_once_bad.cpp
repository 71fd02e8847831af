// expect: violated config
// variable: instance
// leaves: 28
// returns: 32
// threads: 3
// race-free: yes
// links: -pthread
// prints: instances 2, expected 1
//
// Initialisation on first use, tested without a lock: both threads find nothing and build their own.
//
//   T1: [ r(instance)              w(instance) ]
//   T2:                [ config ]
#include "choreography.h"

#include <atomic>
#include <cstdio>
#include <thread>

struct Config {
    int verbosity = 1;
};

std::atomic<Config *> instance{nullptr};

OPERATION Config *config()
{
    Config *found = instance.load(); // leaves
    if (found == nullptr) {
        interlude();
        found = new Config;
        instance.store(found); // returns
    }
    return found;
}

int main()
{
    Config *first_got = nullptr;
    Config *second_got = nullptr;
    std::thread first([&first_got] {
        lead();
        first_got = config();
    });
    std::thread second([&second_got] {
        await_interlude();
        second_got = config();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("instances %d, expected 1\n", first_got == second_got ? 1 : 2);
    delete first_got;
    if (second_got != first_got)
        delete second_got;
}
