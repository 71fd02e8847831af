// expect: clean
// variable: pool
// threads: 5
// race-free: yes
// links: -pthread
// prints: tasks run 1, limit 1
//
// The composite is an operation of the pool, under the lock of the pool.
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
    OPERATION void submit_unless_full(std::function<void()> task, std::size_t limit)
    {
        std::lock_guard<std::mutex> guard(lock_);
        if (tasks_.size() < limit) {
            interlude_if_possible();
            tasks_.push_back(std::move(task));
            changed_.notify_one();
        }
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
        pool.submit_unless_full(count_run, LIMIT);
    });
    std::thread second([] {
        await_interlude();
        pool.submit_unless_full(count_run, LIMIT);
        end_interlude();
    });
    first.join();
    second.join();
    pool.drain();
    workers[0].join();
    workers[1].join();
    std::printf("tasks run %d, limit 1\n", tasks_run.load());
}
