// expect: clean
// variable: instance
// threads: 3
// race-free: yes
// links: -pthread
// prints: instances 1, expected 1
//
// Initialisation by std::call_once: the second thread arrives while the first one builds.
#include "choreography.h"

#include <cstdio>
#include <mutex>
#include <thread>

struct Config {
    int verbosity = 1;
};

Config *instance = nullptr;
std::once_flag built;

OPERATION void build()
{
    interlude_if_possible();
    instance = new Config;
}

OPERATION Config *config()
{
    std::call_once(built, build);
    return instance;
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
    delete instance;
}
