// Uses much of the C++ library. Nothing is wrong.
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

std::mutex lock;
std::map<std::string, int> counts;

void count(int number)
{
    std::lock_guard<std::mutex> guard(lock);
    counts[std::to_string(number)]++;
}

int main()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back([] {
            for (int j = 0; j < 10; j++)
                count(j);
        });
    for (auto &thread : threads)
        thread.join();
    std::cout << counts.size() << std::endl;
}
