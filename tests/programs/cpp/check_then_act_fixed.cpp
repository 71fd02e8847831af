// expect: clean
// variable: taken
// threads: 3
// race-free: yes
// links: -pthread
// prints: owners 1, expected 1
//
// One atomic exchange checks and acts at once.
#include "choreography.h"

#include <atomic>
#include <cstdio>
#include <thread>

std::atomic<bool> taken{false};

OPERATION bool claim()
{
    interlude();
    return !taken.exchange(true);
}

int main()
{
    bool first_owns = false;
    bool second_owns = false;
    std::thread first([&first_owns] {
        lead();
        first_owns = claim();
    });
    std::thread second([&second_owns] {
        await_interlude();
        second_owns = claim();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("owners %d, expected 1\n", first_owns + second_owns);
}
