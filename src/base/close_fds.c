/* SPDX-License-Identifier: Apache-2.0
 * close_fds.c - by one call of the kernel, or by the list of /proc: between fork() and exec nothing may be allocated. */
#include "base/close_fds.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"

static bool close_between(unsigned first, unsigned last)
{
    return first > last || syscall(SYS_close_range, first, last, 0) == 0;
}

void hu_close_listed_fds(int first, int keep)
{
    _Alignas(struct dirent) char entries[4096];
    const int                    list = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long                         n;

    if (list < 0) { /* no /proc: as many as a process may have if nobody raised its limit */
        for (int fd = first; fd < 1024; fd++)
            if (fd != keep)
                close(fd);
        return;
    }
    while ((n = syscall(SYS_getdents64, list, entries, sizeof entries)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent *entry = (const struct dirent *)(const void *)(entries + at); /* as the kernel has it */
            int64_t              fd;

            at += entry->d_reclen;
            if (hu_parse_i64(hu_str_of(entry->d_name), &fd) && fd >= first && fd != keep && fd != list)
                close((int)fd);
        }
    close(list);
}

void hu_close_fds(int first, int keep)
{
    const bool has_kept = keep >= first;

    if (has_kept ? close_between((unsigned)first, (unsigned)keep - 1) && close_between((unsigned)keep + 1, ~0u)
                 : close_between((unsigned)first, ~0u))
        return;
    hu_close_listed_fds(first, keep);
}
