// expect: clean
// variable: binary_log
// threads: 3
// race-free: yes
// links: -pthread
// prints: statements logged 1, expected 1
//
// One lock from closing to opening.
#include "choreography.h"

#include <cstdio>
#include <mutex>
#include <thread>

class BinaryLog {
  public:
    OPERATION void rotate()
    {
        std::lock_guard<std::mutex> guard(lock_);
        close();
        interlude_if_possible();
        open();
    }

    OPERATION void write()
    {
        std::lock_guard<std::mutex> guard(lock_);
        if (is_open_)
            statements_++;
    }

    void print() { std::printf("statements logged %d, expected 1\n", statements_); }

  private:
    OPERATION void close() { is_open_ = false; }
    OPERATION void open() { is_open_ = true; }

    std::mutex lock_;
    bool is_open_ = true;
    int statements_ = 0;
};

BinaryLog binary_log;

static void rotate_log()
{
    lead();
    binary_log.rotate();
}

static void run_statement()
{
    await_interlude();
    binary_log.write();
    end_interlude();
}

int main()
{
    std::thread rotating(rotate_log);
    std::thread running(run_statement);
    rotating.join();
    running.join();
    binary_log.print();
}
