/* SPDX-License-Identifier: Apache-2.0
 * wiping.h - does a fork empty the pages that it was told to?  QEMU's user mode says so, and does not. */
#ifndef HU_TEST_WIPING_H
#define HU_TEST_WIPING_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static inline bool forks_wipe_pages(void)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int   status = 0;
    pid_t pid;

    if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0)
        return true; /* whoever asked for it knows that it did not get it */
    page[0] = 1;
    pid = fork();
    if (pid == 0)
        _exit(page[0]);
    waitpid(pid, &status, 0);
    munmap(page, 4096);
    if (status != 0)
        fputs("SKIPPED: no page is wiped in a child here, as in QEMU's user mode\n", stderr);
    return status == 0;
}

#endif
