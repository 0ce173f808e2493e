/* SPDX-License-Identifier: Apache-2.0
 * journal.c - takes orders and keeps a journal of them.  The cause: fsync after each record, where one after all would do. */
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

enum { ORDERS = 600 };

__attribute__((noinline)) static uint64_t match_order(uint64_t book)
{
    return work_mix(book, 450000);
}

__attribute__((noinline)) static void keep(int fd, const char *record, size_t n, bool now)
{
    if (write(fd, record, n) < 0 || (now && fsync(fd) < 0))
        perror("orders.journal");
}

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    int      fd = open("orders.journal", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    uint64_t book = 1;

    for (int i = 0; i < ORDERS; i++) {
        char record[512] = "order";

        book = match_order(book);
        memcpy(record + 8, &book, sizeof book);
        keep(fd, record, sizeof record, with || i == ORDERS - 1);
    }
    close(fd);
    printf("%llu\n", (unsigned long long)book);
    work_end();
    return 0;
}
