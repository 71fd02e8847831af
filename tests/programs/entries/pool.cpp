// A pool whose worker loop runs tasks, each a std::function. The loop and the tasks are entry functions; what tasks call by
// name is not, nor is what an algorithm of the library calls for them.
//
//   T1: task  [ deposit: r(x)              w(x) ]
//   T2: task              [ deposit: w(x) ]
#include "choreography.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

std::mutex lock;
int x, y;

OPERATION void deposit(int amount)
{
    lock.lock();
    int seen = x;
    lock.unlock();
    interlude();
    lock.lock();
    x = seen + amount;
    lock.unlock();
}

OPERATION void count()
{
    std::lock_guard<std::mutex> guard(lock);
    y++;
}

class Pool {
  public:
    Pool()
    {
        for (int i = 0; i < 2; i++)
            workers.emplace_back(&Pool::work, this);
    }
    ~Pool()
    {
        {
            std::lock_guard<std::mutex> guard(queue_lock);
            is_over = true;
        }
        not_empty.notify_all();
        for (auto &worker : workers)
            worker.join();
    }
    void submit(std::function<void()> task)
    {
        std::lock_guard<std::mutex> guard(queue_lock);
        tasks.push_back(std::move(task));
        not_empty.notify_one();
    }

  private:
    void work()
    {
        for (;;) {
            std::function<void()> task;
            {
                std::unique_lock<std::mutex> guard(queue_lock);
                not_empty.wait(guard, [this] { return is_over || !tasks.empty(); });
                if (tasks.empty())
                    return;
                task = std::move(tasks.front());
                tasks.pop_front();
            }
            task();
        }
    }
    std::mutex queue_lock;
    std::condition_variable not_empty;
    std::deque<std::function<void()>> tasks;
    bool is_over = false;
    std::vector<std::thread> workers;
};

int main()
{
    {
        Pool pool;
        pool.submit([] {
            lead();
            count();
            deposit(1);
            count();
        });
        pool.submit([] {
            await_interlude();
            std::vector<int> amounts{2, 3};
            std::for_each(amounts.begin(), amounts.end(), [](int amount) { deposit(amount); });
            count();
            end_interlude();
        });
    }
    std::cout << x << " " << y << std::endl;
}
