/* SPDX-License-Identifier: Apache-2.0
 * retry.c - asks again until a value is there; a helper thread sits on an eventfd all the time, as in an event loop.  The cause:
 * the pause between two tries.  The helper does nothing until main wakes it at the end. */
#include "work.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { TRIES = 16 };

static int wake;

static void *event_loop(void *unused)
{
    int                poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    uint64_t           count;

    epoll_ctl(poll, EPOLL_CTL_ADD, wake, &event);
    while (epoll_wait(poll, &event, 1, -1) != 1)
        ;
    if (read(wake, &count, sizeof count) < 0)
        perror("eventfd");
    close(poll);
    return unused;
}

__attribute__((noinline)) static uint64_t try_again(uint64_t x, bool pause)
{
    if (pause)
        usleep(25000);
    return work_mix(x, 9000000);
}

int main(int argc, char **argv)
{
    bool      with = work_begin(argc, argv);
    uint64_t  x = 1, one = 1;
    pthread_t loop;

    wake = eventfd(0, 0);
    pthread_create(&loop, NULL, event_loop, NULL);
    pthread_setname_np(loop, "event-loop");
    for (int i = 0; i < TRIES; i++)
        x = try_again(x, with);
    if (write(wake, &one, sizeof one) < 0)
        perror("eventfd");
    pthread_join(loop, NULL);
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
