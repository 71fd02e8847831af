// expect: violated claim
// variable: taken
// leaves: 24
// returns: 27
// threads: 3
// race-free: yes
// links: -pthread
// prints: owners 2, expected 1
//
// Check, then act, on a std::atomic: each access is atomic, the claim is not.
//
//   T1: [ r(taken)             w(taken) ]
//   T2:             [ claim ]
#include "choreography.h"

#include <atomic>
#include <cstdio>
#include <thread>

std::atomic<bool> taken{false};

OPERATION bool claim()
{
    if (taken.load()) // leaves
        return false;
    interlude();
    taken.store(true); // returns
    return true;
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
