// SPDX-License-Identifier: Apache-2.0
// gloo_fake.cpp - how PyTorch runs collectives over gloo (ProcessGroupGloo.cpp): a queue, two threads that take from it, and a
// main thread that waits for what it asked for.  Built as libtorch_cpu.so, which the recorder looks for.
//
//     fake(NAMED, ROUNDS): each round asks for two collectives at once, waits for both, and asks for a third right behind.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>

using Clock = std::chrono::steady_clock;

namespace gloo { namespace transport { namespace tcp {
struct UnboundBuffer {
    std::mutex              mutex;
    std::condition_variable condition;

    __attribute__((noinline)) bool waitRecv(int ms)
    {
        std::unique_lock<std::mutex> lock(mutex);
        return condition.wait_for(lock, std::chrono::milliseconds(ms), [] { return false; });
    }
};
}}}

namespace {
struct Work {
    std::mutex              mutex;
    std::condition_variable condition;
    bool                    is_done = false;

    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);
        condition.wait(lock, [this] { return is_done; });
    }

    void finish()
    {
        std::lock_guard<std::mutex> lock(mutex);
        is_done = true;
        condition.notify_all();
    }
};

struct Group {
    std::mutex                        mutex;
    std::condition_variable           produce, consume;
    std::deque<std::shared_ptr<Work>> queue;
    bool                              stop = false;

    void loop(bool is_named)
    {
        if (is_named)
            pthread_setname_np(pthread_self(), "pt_gloo_runloop");
        std::unique_lock<std::mutex> lock(mutex);
        while (!stop) {
            if (queue.empty()) {
                produce.wait(lock);
                continue;
            }
            std::shared_ptr<Work> work = queue.front();
            queue.pop_front();
            lock.unlock();
            consume.notify_one();
            gloo::transport::tcp::UnboundBuffer().waitRecv(10);
            work->finish();
            lock.lock();
        }
    }

    std::shared_ptr<Work> ask()
    {
        std::shared_ptr<Work>       work = std::make_shared<Work>();
        std::lock_guard<std::mutex> lock(mutex);
        queue.push_back(work);
        produce.notify_one();
        return work;
    }
};
}

extern "C" void fake(int is_named, int rounds)
{
    Group             group;
    std::thread       threads[] = {std::thread(&Group::loop, &group, is_named), std::thread(&Group::loop, &group, is_named)};
    Clock::duration   waited{};

    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // both wait for the queue
    for (int i = 0; i < rounds; i++) {
        std::shared_ptr<Work>   first = group.ask(), second = group.ask();
        const Clock::time_point begin = Clock::now();

        first->wait();
        second->wait();
        group.ask()->wait();
        waited += Clock::now() - begin;
    }
    {
        std::lock_guard<std::mutex> lock(group.mutex);
        group.stop = true;
        group.produce.notify_all();
    }
    for (std::thread &thread : threads)
        thread.join();
    std::printf("%lld\n", (long long)std::chrono::nanoseconds(waited).count());
}
