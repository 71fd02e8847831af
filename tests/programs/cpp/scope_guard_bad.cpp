// expect: violated sell_ticket
// variable: tickets
// leaves: 30
// returns: 32
// threads: 3
// race-free: yes
// links: -pthread
// prints: tickets -1, expected 0
//
// A block that lasts as long as its scope, inside a thread's entry function: found through the annotation alone. That the
// last step is an atomic read-modify-write does not help the test before it.
//
//   T1: [ r(tickets)                     add(tickets) ]
//   T2:               [ sell_ticket ]
#include "choreography.h"

#include "atomvet.h"

#include <atomic>
#include <cstdio>
#include <thread>

std::atomic<int> tickets{1};

int main()
{
    std::thread first([] {
        lead();
        ATOMVET_ATOMIC("sell_ticket");
        if (tickets.load() > 0) { // leaves
            interlude();
            tickets.fetch_sub(1); // returns
        }
    });
    std::thread second([] {
        await_interlude();
        {
            ATOMVET_ATOMIC("sell_ticket");
            if (tickets.load() > 0)
                tickets.fetch_sub(1);
        }
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("tickets %d, expected 0\n", tickets.load());
}
