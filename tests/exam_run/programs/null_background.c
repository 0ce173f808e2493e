/* SPDX-License-Identifier: Apache-2.0
 * null_background.c - computes in main.  Not a cause: a thread that writes and fsyncs meanwhile, and is done long before. */
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t fold(uint64_t x)
{
    return work_mix(x, 3000000);
}

__attribute__((noinline)) static uint64_t unfold(uint64_t x)
{
    return work_mix(x + 9, 3000000);
}

static void *save(void *unused)
{
    int  fd = open("background.dat", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char block[4096] = "block";

    for (int i = 0; i < 20; i++) {
        if (write(fd, block, sizeof block) < 0 || fsync(fd) < 0)
            perror("background.dat");
        work_sleep(5000);
    }
    close(fd);
    return unused;
}

int main(int argc, char **argv)
{
    bool      with = work_begin(argc, argv);
    pthread_t saver;
    uint64_t  x = 1;

    if (with)
        pthread_create(&saver, NULL, save, NULL);
    for (int i = 0; i < 60; i++)
        x = unfold(fold(x));
    if (with)
        pthread_join(saver, NULL);
    printf("%llu\n", (unsigned long long)x);
    work_end();
    return 0;
}
