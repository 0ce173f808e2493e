// SPDX-License-Identifier: Apache-2.0
// ingest.cpp - receives batches and hands them to an index.  The cause: one consumer, which waits 3 ms for the index each time.
#include "work.h"

#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <queue>
#include <thread>
#include <vector>

static const int    BATCHES = 200;
static const size_t ROOM = 8;

static std::mutex              mutex;
static std::condition_variable filled, emptied;
static std::queue<uint64_t>    batches;
static bool                    is_done;
static uint64_t                stored;

__attribute__((noinline)) static void store_batch(uint64_t batch)
{
    work_sleep(3000); // the index answers
    __atomic_fetch_add(&stored, work_mix(batch, 50000) | 1, __ATOMIC_RELAXED);
}

static void consume()
{
    for (;;) {
        std::unique_lock<std::mutex> guard(mutex);
        filled.wait(guard, [] { return !batches.empty() || is_done; });
        if (batches.empty())
            return;
        uint64_t batch = batches.front();
        batches.pop();
        emptied.notify_one();
        guard.unlock();
        store_batch(batch);
    }
}

int main(int argc, char **argv)
{
    int                      consumers = work_begin(argc, argv) ? 1 : 3;
    std::vector<std::thread> threads;
    uint64_t                 x = 1;

    for (int i = 0; i < consumers; i++) {
        threads.emplace_back(consume);
        pthread_setname_np(threads.back().native_handle(), "indexer");
    }
    for (int i = 0; i < BATCHES; i++) {
        x = work_mix(x, 300000);
        std::unique_lock<std::mutex> guard(mutex);
        emptied.wait(guard, [] { return batches.size() < ROOM; });
        batches.push(x);
        filled.notify_one();
    }
    {
        std::lock_guard<std::mutex> guard(mutex);
        is_done = true;
    }
    filled.notify_all();
    for (auto &t : threads)
        t.join();
    printf("%d\n", stored != 0);
    work_end();
    return 0;
}
