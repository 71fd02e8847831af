// expect: violated BinaryLog::rotate
// variable: binary_log
// leaves: 24 41 42 43
// returns: 26 47 48
// threads: 3
// race-free: yes
// links: -pthread
// prints: statements logged 0, expected 1
//
// Closing and opening again, as in MySQL bug 791: a statement that comes in between finds the log closed and is not logged.
//
//   T1: [ close()                open() ]
//   T2:            [ write() ]
#include "choreography.h"

#include <cstdio>
#include <mutex>
#include <thread>

class BinaryLog {
  public:
    OPERATION void rotate()
    {
        close(); // leaves
        interlude();
        open(); // returns
    }

    OPERATION void write()
    {
        std::lock_guard<std::mutex> guard(lock_);
        if (is_open_)
            statements_++;
    }

    void print() { std::printf("statements logged %d, expected 1\n", statements_); }

  private:
    OPERATION void close()
    {
        std::lock_guard<std::mutex> guard(lock_); // leaves
        is_open_ = false; // leaves
    } // leaves

    OPERATION void open()
    {
        std::lock_guard<std::mutex> guard(lock_); // returns
        is_open_ = true; // returns
    }

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
