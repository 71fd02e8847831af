// expect: clean
// variable: tickets
// threads: 3
// race-free: yes
// links: -pthread
// prints: tickets 0, expected 0
//
// One lock over test and decrement.
#include "choreography.h"

#include <cstdio>
#include <mutex>
#include <thread>

int tickets = 1;
std::mutex box_office;

OPERATION void sell_ticket()
{
    std::lock_guard<std::mutex> guard(box_office);
    if (tickets > 0) {
        interlude_if_possible();
        tickets--;
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
    std::printf("tickets %d, expected 0\n", tickets);
}
