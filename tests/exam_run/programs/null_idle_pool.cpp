// SPDX-License-Identifier: Apache-2.0
// null_idle_pool.cpp - computes in main.  Not a cause: a pool of four threads that waits for work during all of it.
#include "work.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex              mutex;
static std::condition_variable changed;
static bool                    is_over;

__attribute__((noinline)) static uint64_t plan(uint64_t x)
{
    return work_mix(x, 3000000);
}

__attribute__((noinline)) static uint64_t route(uint64_t x)
{
    return work_mix(x + 1, 3000000);
}

int main(int argc, char **argv)
{
    bool                     with = work_begin(argc, argv);
    std::vector<std::thread> pool;
    uint64_t                 x = 1;

    for (int i = 0; i < (with ? 4 : 0); i++)
        pool.emplace_back([] {
            std::unique_lock<std::mutex> guard(mutex);
            changed.wait(guard, [] { return is_over; });
        });
    for (int i = 0; i < 70; i++)
        x = route(plan(x));
    {
        std::lock_guard<std::mutex> guard(mutex);
        is_over = true;
    }
    changed.notify_all();
    for (auto &t : pool)
        t.join();
    printf("%llu\n", static_cast<unsigned long long>(x));
    work_end();
    return 0;
}
