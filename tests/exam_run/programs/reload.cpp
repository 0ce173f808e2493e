// SPDX-License-Identifier: Apache-2.0
// reload.cpp - loads parts of a scene; a helper waits on a condition for work that never comes.  The cause: each load waits 30 ms
// for a licence server.
#include "work.h"

#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex              mutex;
static std::condition_variable changed;
static bool                    is_over;

__attribute__((noinline)) static uint64_t load_part(uint64_t x, bool licensed)
{
    if (licensed)
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return work_mix(x, 9000000);
}

int main(int argc, char **argv)
{
    bool        with = work_begin(argc, argv);
    uint64_t    x = 1;
    std::thread helper([] {
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [] { return is_over; });
    });

    for (int i = 0; i < 14; i++)
        x = load_part(x, with);
    {
        std::lock_guard<std::mutex> guard(mutex);
        is_over = true;
    }
    changed.notify_all();
    helper.join();
    printf("%llu\n", static_cast<unsigned long long>(x));
    work_end();
    return 0;
}
