// What a library without hooks copies, it copies for the program: `append` of a long text is a memcpy in libstdc++.
// expect: violated copy_twice
// returns: 20
#include <cstdio>
#include <string>
#include <thread>

#include "choreography.h"

static char shared[] = "a text that is too long to be kept inside a string";

OPERATION static std::string copy_twice() {
    std::string both;
    both.reserve(1000);
    step(0);
    both.append(shared, sizeof shared - 1);
    done();
    step(2);
    // It has changed meanwhile.
    both.append(shared, sizeof shared - 1);
    return both;
}

OPERATION static void change() {
    step(1);
    shared[20] = 'b';
    done();
}

int main() {
    std::string both;
    std::thread copies([&] { both = copy_twice(); });
    std::thread changes(change);
    copies.join();
    changes.join();
    std::printf("%s\n", both.c_str());
}
