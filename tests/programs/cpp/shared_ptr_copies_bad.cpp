// expect: violated write_document
// variable: document
// leaves: 31
// returns: 33
// threads: 3
// race-free: yes
// links: -pthread
// prints: snapshot reads 2, expected 1
//
// Copy on write, decided by use_count(): alone a moment ago does not mean alone now, and a snapshot changes under its owner.
// The read of the count is what makes the counting visible: here copies do not commute with everything else.
//
//   T1: [ r(count)                                 w(words) ]
//   T2:             [ add(count) r(words) ]
#include "choreography.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>

struct Document {
    std::atomic<int> words{1};
};

std::shared_ptr<Document> document = std::make_shared<Document>();
std::shared_ptr<Document> snapshot;

OPERATION void write_document(int words)
{
    if (document.use_count() == 1) { // leaves
        interlude();
        document->words.store(words); // returns
    }
}

OPERATION int take_snapshot()
{
    snapshot = document;
    return snapshot->words.load();
}

int main()
{
    std::thread first([] {
        lead();
        write_document(2);
    });
    std::thread second([] {
        await_interlude();
        take_snapshot();
        end_interlude();
    });
    first.join();
    second.join();
    std::printf("snapshot reads %d, expected 1\n", snapshot->words.load());
}
