// Static variables, std::call_once and shared pointers: what the library does to its own counts is no data.
// expect: clean
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Settings {
    std::string name = "a name that is too long to be stored in place";
    int value = 7;
};

__attribute__((noinline)) static const Settings &settings() {
    static Settings instance;
    return instance;
}

static std::once_flag flag;
static int prepared;

__attribute__((noinline)) static int prepare() {
    std::call_once(flag, [] { prepared = 5; });
    return prepared;
}

__attribute__((noinline)) static int use(std::shared_ptr<Settings> shared) {
    std::shared_ptr<Settings> again = shared;
    return again->value;
}

__attribute__((noinline)) static int both(const std::shared_ptr<Settings> &shared) { return use(shared) + use(shared); }

static std::mutex lock;
static long total;

__attribute__((noinline)) static void add(long value) {
    std::lock_guard<std::mutex> guard(lock);
    total += value;
}

int main() {
    auto shared = std::make_shared<Settings>();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([shared] {
            for (int i = 0; i < 100; i++)
                add(both(shared) + settings().value + prepare());
        });
    for (auto &thread : threads)
        thread.join();
    std::printf("%ld\n", total);
}
