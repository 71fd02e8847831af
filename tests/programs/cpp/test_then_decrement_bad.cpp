// expect: violated sell_ticket
// variable: tickets
// leaves: 26
// returns: 28
// threads: 3
// race-free: yes
// links: -pthread
// prints: tickets -1, expected 0
//
// Test, then an atomic decrement. Decrements commute with each other, but not with the test: because the location is also
// read, the convention for commuting updates must not apply to it. (Were the two decrements taken to commute all the same,
// the run would still not be serializable, but neither block could be blamed for it.)
//
//   T1: [ r(tickets)                     sub(tickets) ]
//   T2:               [ sell_ticket ]
#include "choreography.h"

#include <atomic>
#include <cstdio>
#include <thread>

std::atomic<int> tickets{1};

OPERATION void sell_ticket()
{
    if (tickets.load() > 0) { // leaves
        interlude();
        tickets.fetch_sub(1); // returns
    }
}

int main()
{
    std::thread first([] {
        lead();
        sell_ticket();
    });
    std::thread second([] {
        await_interlude();
        sell_ticket();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("tickets %d, expected 0\n", tickets.load());
}
