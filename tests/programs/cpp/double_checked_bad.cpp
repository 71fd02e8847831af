// expect: violated config
// variable: instance
// leaves: 32
// returns: 35 36
// threads: 3
// race-free: yes
// links: -pthread
// prints: constructed 1, expected 1
//
// Double-checked initialisation, done right: reported all the same, because no serial order lets one thread find no
// instance and, in the same operation, find that of another. That this does no harm must be said: see the fixed form.
//
//   T1: [ r(instance)              acq r(instance) rel ]
//   T2:                [ config ]
#include "choreography.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

struct Config {
    int verbosity = 1;
};

std::atomic<Config *> instance{nullptr};
std::mutex building;
int constructed = 0;

OPERATION Config *config()
{
    Config *found = instance.load(std::memory_order_acquire); // leaves
    if (found == nullptr) {
        interlude();
        std::lock_guard<std::mutex> guard(building); // returns
        found = instance.load(std::memory_order_relaxed); // returns
        if (found == nullptr) {
            found = new Config;
            constructed++;
            instance.store(found, std::memory_order_release);
        }
    }
    return found;
}

int main()
{
    std::thread first([] {
        lead();
        config();
    });
    std::thread second([] {
        await_interlude();
        config();
        end_interlude();
    });
    first.join();
    second.join();
    delete instance.load();
    std::printf("constructed %d, expected 1\n", constructed);
}
