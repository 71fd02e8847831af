// expect: violated submit_unless_full
// variable: pool
// leaves: 29 30 31 81
// returns: 35 36 83
// threads: 5
// race-free: yes
// links: -pthread
// prints: tasks run 2, limit 1
//
// A thread pool whose operations are all atomic, and a composite of two of them that is not.
//
//   T1: [ pool.pending()                               pool.submit() ]
//   T2:                   [ submit_unless_full ]
#include "choreography.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

class Pool {
  public:
    OPERATION std::size_t pending()
    {
        std::lock_guard<std::mutex> guard(lock_); // leaves
        return tasks_.size(); // leaves
    } // leaves

    OPERATION void submit(std::function<void()> task)
    {
        std::lock_guard<std::mutex> guard(lock_); // returns
        tasks_.push_back(std::move(task)); // returns
        changed_.notify_one();
    }

    /* Workers begin to take tasks, and end when none is left. */
    OPERATION void drain()
    {
        std::lock_guard<std::mutex> guard(lock_);
        draining_ = true;
        changed_.notify_all();
    }

    /* An empty function when the pool is drained. */
    OPERATION std::function<void()> take()
    {
        std::unique_lock<std::mutex> guard(lock_);
        while (!draining_)
            changed_.wait(guard);
        std::function<void()> task;
        if (!tasks_.empty()) {
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        return task;
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool draining_ = false;
};

enum { LIMIT = 1 };

Pool pool;
std::atomic<int> tasks_run{0};

static void count_run()
{
    tasks_run.fetch_add(1);
}

OPERATION void submit_unless_full()
{
    if (pool.pending() < LIMIT) { // leaves
        interlude();
        pool.submit(count_run); // returns
    }
}

static void work()
{
    while (std::function<void()> task = pool.take())
        task();
}

int main()
{
    std::thread workers[] = {std::thread(work), std::thread(work)};
    std::thread first([] {
        lead();
        submit_unless_full();
    });
    std::thread second([] {
        await_interlude();
        submit_unless_full();
        end_interlude();
    });
    first.join();
    second.join();
    pool.drain();
    workers[0].join();
    workers[1].join();
    std::printf("tasks run %d, limit 1\n", tasks_run.load());
}
