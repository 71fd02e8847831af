// One read-modify-write.
// expect: clean
#include <atomic>
#include <cstdio>
#include <thread>

static std::atomic<int> counter{0};

__attribute__((noinline)) static void add(int amount) { counter.fetch_add(amount); }

__attribute__((noinline)) static void add_twice(int amount) {
    add(amount);
    add(amount);
}

static void work() {
    for (int i = 0; i < 100; i++)
        add_twice(1);
}

int main() {
    std::thread a(work);
    std::thread b(work);
    a.join();
    b.join();
    std::printf("%d\n", counter.load());
}
