// Functions that are left by an exception have ended.
// expect: clean
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex lock;
static int shared;

__attribute__((noinline)) static void touch() {
    std::lock_guard<std::mutex> guard(lock);
    shared++;
}

__attribute__((noinline)) static void fail() {
    touch();
    throw std::runtime_error("on purpose");
}

static void work() {
    for (int i = 0; i < 200; i++) {
        try {
            fail();
        } catch (const std::runtime_error &) {
        }
        touch();
    }
}

int main() {
    std::thread a(work), b(work);
    a.join();
    b.join();
    std::printf("%d\n", shared);
}
