// expect: clean
// variable: source
// threads: 3
// race-free: yes
// links: -pthread
// prints: text "to Alice", expected "to Alice" or "to "
//
// The source stays locked from asking its length to copying.
#include "choreography.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

class StringBuffer {
  public:
    explicit StringBuffer(const char *text) : used_(std::strlen(text)) { std::memcpy(bytes_, text, used_); }

    OPERATION void clear()
    {
        std::lock_guard<std::mutex> guard(lock_);
        std::memset(bytes_, '.', used_);
        used_ = 0;
    }

    OPERATION void append(StringBuffer &other)
    {
        std::lock_guard<std::mutex> guard(lock_);
        std::lock_guard<std::mutex> other_guard(other.lock_);
        std::size_t count = other.used_;
        interlude_if_possible();
        std::memcpy(bytes_ + used_, other.bytes_, count);
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
