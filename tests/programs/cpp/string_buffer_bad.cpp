// expect: violated StringBuffer::append
// options: --conflicts locks
// variable: source
// leaves: 29 30 31 49
// returns: 35 36 51
// threads: 3
// race-free: yes
// links: -pthread
// prints: text "to .....", expected "to Alice" or "to "
//
// The append of Java's StringBuffer: it asks the source for its length, then for that many characters, with the source
// unlocked in between. Every method but append() is atomic.
//
//   T1: [ source.length()                       source.copy_to() ]
//   T2:                    [ source.clear() ]
#include "choreography.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

class StringBuffer {
  public:
    explicit StringBuffer(const char *text) : used_(std::strlen(text)) { std::memcpy(bytes_, text, used_); }

    OPERATION std::size_t length()
    {
        std::lock_guard<std::mutex> guard(lock_); // leaves
        return used_; // leaves
    } // leaves

    OPERATION void copy_to(char *target, std::size_t count)
    {
        std::lock_guard<std::mutex> guard(lock_); // returns
        std::memcpy(target, bytes_, count); // returns
    }

    OPERATION void clear()
    {
        std::lock_guard<std::mutex> guard(lock_);
        std::memset(bytes_, '.', used_);
        used_ = 0;
    }

    OPERATION void append(StringBuffer &other)
    {
        std::lock_guard<std::mutex> guard(lock_);
        std::size_t count = other.length(); // leaves
        interlude();
        other.copy_to(bytes_ + used_, count); // returns
        used_ += count;
    }

    void print() { std::printf("text \"%.*s\", expected \"to Alice\" or \"to \"\n", static_cast<int>(used_), bytes_); }

  private:
    std::mutex lock_;
    std::size_t used_;
    char bytes_[32];
};

StringBuffer target("to ");
StringBuffer source("Alice");

int main()
{
    std::thread first([] {
        lead();
        target.append(source);
    });
    std::thread second([] {
        await_interlude();
        source.clear();
        end_interlude();
    });
    first.join();
    second.join();
    target.print();
}
