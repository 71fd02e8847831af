// expect: clean
// variable: tickets
// threads: 3
// race-free: yes
// links: -pthread
// prints: tickets 0, expected 0
//
// The marked scope with one lock over all of it.
#include "choreography.h"

#include "atomvet.h"

#include <cstdio>
#include <mutex>
#include <thread>

int tickets = 2;
std::mutex box_office;

int main()
{
    std::thread first([] {
        lead();
        ATOMVET_ATOMIC("sell_ticket");
        std::lock_guard<std::mutex> guard(box_office);
        int left = tickets;
        interlude_if_possible();
        tickets = left - 1;
    });
    std::thread second([] {
        await_interlude();
        {
            ATOMVET_ATOMIC("sell_ticket");
            std::lock_guard<std::mutex> guard(box_office);
            tickets--;
        }
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("tickets %d, expected 0\n", tickets);
}
