// expect: violated sell_ticket
// variable: tickets
// leaves: 29
// returns: 31
// threads: 3
// race-free: yes
// links: -pthread
// prints: tickets 1, expected 0
//
// A block that lasts as long as its scope, inside a thread's entry function: found through the annotation alone.
//
//   T1: [ r(tickets)                     w(tickets) ]
//   T2:               [ sell_ticket ]
#include "choreography.h"

#include "atomvet.h"

#include <atomic>
#include <cstdio>
#include <thread>

std::atomic<int> tickets{2};

int main()
{
    std::thread first([] {
        lead();
        ATOMVET_ATOMIC("sell_ticket");
        int left = tickets.load(); // leaves
        interlude();
        tickets.store(left - 1); // returns
    });
    std::thread second([] {
        await_interlude();
        {
            ATOMVET_ATOMIC("sell_ticket");
            tickets.store(tickets.load() - 1);
        }
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("tickets %d, expected 0\n", tickets.load());
}
