/* SPDX-License-Identifier: Apache-2.0
 * heir.c - a child that outlives its parent, and records for the first time when the parent has long been gone:
 *     heir FILE
 *
 * The parent exits with 6.  The child makes FILE when it is through. */
#include <fcntl.h>
#include <holdup_annotate.h>
#include <time.h>
#include <unistd.h>

static void range(const char *name)
{
    holdup_range_push(name);
    holdup_range_pop();
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    const pid_t parent = getpid();
    double      end;

    range("of both");
    if (fork() != 0)
        return 6;
    while (getppid() == parent)
        ;
    /* nothing here that is recorded: by its end the supervisor has done with the parent, whoever it waits for */
    for (end = now() + 0.5; now() < end;)
        ;
    for (int i = 0; i < 3; i++) {
        range("of both");
        range("of the child");
    }
    return argc < 2 || open(argv[1], O_CREAT | O_WRONLY, 0600) < 0;
}
