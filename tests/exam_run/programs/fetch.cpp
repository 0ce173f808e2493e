// SPDX-License-Identifier: Apache-2.0
// fetch.cpp - a cache in front of a slow store, used by four threads.  The cause: its mutex is held during the round trip.
#include "work.h"

#include <map>
#include <mutex>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const int THREADS = 4, KEYS = 50;

// The store: answers each connection 3 ms after it was asked.
static void serve(std::vector<int> ends)
{
    std::vector<std::thread> threads;

    for (int end : ends)
        threads.emplace_back([end] {
            char key[16];

            while (read(end, key, sizeof key) > 0) {
                work_sleep(3000);
                if (write(end, key, sizeof key) < 0)
                    break;
            }
        });
    for (auto &t : threads)
        t.join();
    _exit(0);
}

class Cache
{
  public:
    explicit Cache(bool held) : is_held(held) {}

    __attribute__((noinline)) void load(int connection, int key)
    {
        if (is_held) {
            std::lock_guard<std::mutex> guard(mutex);
            entries[key] = ask(connection, key);
            return;
        }
        uint64_t                    value = ask(connection, key);
        std::lock_guard<std::mutex> guard(mutex);
        entries[key] = value;
    }

    size_t size() const { return entries.size(); }

  private:
    static uint64_t ask(int connection, int key)
    {
        char text[16] = {};

        snprintf(text, sizeof text, "%d", key);
        if (write(connection, text, sizeof text) < 0 || read(connection, text, sizeof text) < 0)
            perror("store");
        return static_cast<uint64_t>(atoi(text));
    }

    bool                    is_held;
    std::mutex              mutex;
    std::map<int, uint64_t> entries;
};

int main(int argc, char **argv)
{
    std::vector<int> ours, theirs;

    for (int i = 0; i < THREADS; i++) {
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
            return 1;
        ours.push_back(pair[0]);
        theirs.push_back(pair[1]);
    }
    pid_t store = fork();
    if (store == 0) {
        for (int end : ours)
            close(end);
        serve(theirs);
    }
    for (int end : theirs)
        close(end);

    Cache                    cache(work_begin(argc, argv));
    std::vector<std::thread> threads;

    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([&cache, t, connection = ours[static_cast<size_t>(t)]] {
            for (int i = 0; i < KEYS; i++)
                cache.load(connection, t * KEYS + i);
        });
    for (auto &t : threads)
        t.join();
    for (int end : ours)
        close(end);
    waitpid(store, nullptr, 0);
    printf("%zu\n", cache.size());
    work_end();
    return 0;
}
