// expect: clean
// variable: instance
// threads: 3
// race-free: yes
// links: -pthread
// prints: constructed 1, expected 1
//
// Double-checked initialisation whose first read is marked as a hint: it decides nothing that is not looked at again under
// the lock, so it must not count. Everything else happens exactly as in the bad form.
#include "choreography.h"

#include "atomvet.h"

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
    Config *found = ATOMVET_HINT_READ(instance.load(std::memory_order_acquire));
    if (found == nullptr) {
        interlude();
        std::lock_guard<std::mutex> guard(building);
        found = instance.load(std::memory_order_relaxed);
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
