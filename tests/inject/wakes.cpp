// SPDX-License-Identifier: Apache-2.0
// wakes.cpp - std::mutex and std::condition_variable, 20 ms of waiting for each.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex              mutex_of_cpp;
static std::condition_variable condition_of_cpp;
static volatile bool           has_lock, is_ready;

static void pause()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

__attribute__((noinline)) void wakes_it()
{
    {
        std::lock_guard<std::mutex> guard(mutex_of_cpp);
        has_lock = true;
        pause();
    }
    pause();
    std::unique_lock<std::mutex> lock(mutex_of_cpp);
    is_ready = true;
    condition_of_cpp.notify_all();
}

__attribute__((noinline)) void waits_for_it()
{
    std::unique_lock<std::mutex> lock(mutex_of_cpp);
    condition_of_cpp.wait(lock, [] { return is_ready; });
}

int main()
{
    std::thread other(wakes_it);

    while (!has_lock)
        ;
    waits_for_it();
    other.join();
    return 0;
}
