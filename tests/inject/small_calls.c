/* SPDX-License-Identifier: Apache-2.0
 * small_calls.c - copies N bytes of /dev/zero to FILE, one call for each, in a thread that ends and in the main one. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int from, to, n;

static void *copy(void *unused)
{
    char byte;

    (void)unused;
    for (int i = 0; i < n; i++)
        if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
            abort();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc < 3)
        return 2;
    n = atoi(argv[1]);
    from = open("/dev/zero", O_RDONLY);
    to = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (pthread_create(&thread, NULL, copy, NULL) || pthread_join(thread, NULL))
        return 1;
    copy(NULL);
    return close(to);
}
