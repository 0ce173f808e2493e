/* SPDX-License-Identifier: Apache-2.0
 * maps_copy.c - /proc/PID/maps next to the ring, as inject/maps.c writes it.
 *
 * A program copies it when it has waited for a while in calls that returned.  One whose threads never return from their
 * waits has not come to that: the supervisor copies it while the process lives.
 */
#include "record/maps_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/format.h"
#include "protocol/redact.h"

enum { PATH_ROOM = HU_SESSION_PATH_MAX + 320, LINES = 4096 };

/* The kernel ends each reading behind a line. */
static bool copy(int in, int out)
{
    char    from[LINES], clean[3 * LINES];
    ssize_t got;

    while ((got = read(in, from, sizeof from)) > 0) {
        const size_t n = hu_redact_text((hu_str){from, (size_t)got}, clean, sizeof clean);

        if (write(out, clean, n) != (ssize_t)n)
            return false;
    }
    return got == 0;
}

void hu_maps_copy_of(pid_t pid, const char *ring_path)
{
    const size_t n = strlen(ring_path), suffix = sizeof ".ring" - 1;
    char         path[PATH_ROOM], part[PATH_ROOM], maps[64];
    int          in, out;
    bool         is_whole;

    if (n <= suffix || n + 8 > sizeof path)
        return;
    snprintf(path, sizeof path, "%.*s.maps", (int)(n - suffix), ring_path);
    snprintf(part, sizeof part, "%.*s.maps~~", (int)(n - suffix), ring_path);
    if (access(path, F_OK) == 0)
        return;
    snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
    in = open(maps, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return;
    out = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    is_whole = out >= 0 && copy(in, out);
    close(in);
    if (out < 0)
        return;
    close(out);
    if (is_whole)
        (void)!link(part, path); /* not over one that the program made meanwhile */
    unlink(part);
}
