/* SPDX-License-Identifier: Apache-2.0
 * writer.c - writes ranges, says how many, and dies as it is told: what a killed job leaves behind is counted by tests.
 *
 *     writer HOW N [THREADS]      HOW: exit, _exit, abort, kill, segv, hang, oom
 *
 * Each thread writes N ranges "work"; every thousandth is said on standard output (one line, by one write) after it was
 * recorded.  oom allocates until the kernel ends it; hang stays inside of a read for ever.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdup_annotate.h"

static long n;

static void say(const char *what, long value)
{
    char      text[64];
    const int bytes = snprintf(text, sizeof text, "%s %ld\n", what, value);

    if (write(STDOUT_FILENO, text, (size_t)bytes) != bytes)
        _exit(9);
}

static void *work(void *unused)
{
    static holdup_name name = HOLDUP_NAME("work");

    (void)unused;
    for (long i = 1; i <= n; i++) {
        holdup_range_push_name(&name);
        holdup_range_pop();
        if (i % 1000 == 0)
            say("wrote", i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char    *how = argc > 1 ? argv[1] : "exit";
    const int      threads = argc > 3 ? atoi(argv[3]) : 1;
    pthread_t     *thread = calloc((size_t)threads, sizeof *thread);
    pthread_attr_t small;

    n = argc > 2 ? atol(argv[2]) : 1000;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread[i], &small, work, NULL) != 0)
            return 8;
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "hang") == 0) {
        char c;
        int  ends[2];

        if (pipe(ends) == 0 && read(ends[0], &c, 1) < 0)
            return 7;
    }
    for (size_t i = 0; strcmp(how, "oom") == 0; i++) {
        char *more = malloc(1 << 20);

        if (more)
            memset(more, (int)i, 1 << 20);
    }
    return 3;
}
