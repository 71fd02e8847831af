// A bounded queue with condition variables; producers make small messages and consumers work on them.
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Message {
    int number;
    std::string text;
};

class Queue {
  public:
    void put(Message message) {
        std::unique_lock<std::mutex> lock(mutex);
        while (messages.size() >= 64)
            not_full.wait(lock);
        messages.push_back(std::move(message));
        not_empty.notify_one();
    }

    Message take() {
        std::unique_lock<std::mutex> lock(mutex);
        while (messages.empty())
            not_empty.wait(lock);
        Message message = std::move(messages.front());
        messages.pop_front();
        not_full.notify_one();
        return message;
    }

  private:
    std::mutex mutex;
    std::condition_variable not_full, not_empty;
    std::deque<Message> messages;
};

static Queue queue;

static unsigned checksum(const std::string &text) {
    unsigned sum = 1;
    for (int round = 0; round < 8; round++)
        for (char c : text)
            sum = sum * 31 + static_cast<unsigned char>(c);
    return sum;
}

static void produce(int count) {
    for (int i = 0; i < count; i++)
        queue.put({i, "message number " + std::to_string(i) + " with some text to work on"});
}

static void consume(int count, unsigned *total) {
    for (int i = 0; i < count; i++)
        *total += checksum(queue.take().text);
}

int main() {
    const int pairs = 2, count = 50000;
    unsigned totals[pairs] = {};
    std::vector<std::thread> threads;
    for (int i = 0; i < pairs; i++) {
        threads.emplace_back(produce, count);
        threads.emplace_back(consume, count, &totals[i]);
    }
    for (auto &thread : threads)
        thread.join();
    unsigned total = 0;
    for (unsigned one : totals)
        total += one;
    std::printf("%u\n", total);
}
