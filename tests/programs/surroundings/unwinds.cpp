// Throws and catches in two threads, and looks at texts in quotes: nothing of this concerns anybody else.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

static const char *volatile quoted = "a text in quotes";
static char copied[2][32];

__attribute__((noinline)) static void fail(char *where) {
    std::memcpy(where, quoted, std::strlen(quoted));
    throw std::runtime_error(where);
}

static void work(char *where) {
    try {
        fail(where);
    } catch (const std::exception &) {
    }
}

int main() {
    std::thread a(work, copied[0]), b(work, copied[1]);
    a.join();
    b.join();
    std::puts(copied[0]);
}
