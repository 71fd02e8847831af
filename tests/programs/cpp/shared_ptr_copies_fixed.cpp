// expect: clean
// variable: document
// threads: 3
// race-free: yes
// links: -pthread
// prints: words read 2, expected 2
//
// Workers copy a shared_ptr, use it and drop it. Between the two updates of the count by one thread come those of the other:
// not atomic when taken literally (--strict-atomics reports read_document), harmless because additions commute.
//
//   T1: [ add(count)                              sub(count) ]
//   T2:               [ add(count) sub(count) ]
#include "choreography.h"

#include <cstdio>
#include <memory>
#include <thread>

struct Document {
    int words = 1;
};

std::shared_ptr<Document> document = std::make_shared<Document>();

OPERATION int read_document()
{
    std::shared_ptr<Document> copy = document;
    interlude();
    return copy->words;
}

int main()
{
    int first_read = 0;
    int second_read = 0;
    std::thread first([&first_read] {
        lead();
        first_read = read_document();
    });
    std::thread second([&second_read] {
        await_interlude();
        second_read = read_document();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("words read %d, expected 2\n", first_read + second_read);
}
