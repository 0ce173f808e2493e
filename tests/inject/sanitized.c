/* SPDX-License-Identifier: Apache-2.0
 * sanitized.c - writes behind its memory, loses some, races, or asks a shell what is preloaded: for GCC's sanitizers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int shared;

static void *add(void *nothing)
{
    shared++;
    return nothing;
}

int main(int argc, char **argv)
{
    const char   *what = argc > 1 ? argv[1] : "";
    volatile char beyond = 10;
    char         *memory = malloc(10);
    pthread_t     thread;

    if (!memory)
        return 9;
    memset(memory, 1, 10);
    usleep(5000);
    if (strcmp(what, "overflow") == 0)
        memory[(int)beyond] = 1;
    if (strcmp(what, "leak") == 0)
        memory = NULL;
    if (strcmp(what, "race") == 0 && pthread_create(&thread, NULL, add, NULL) == 0) {
        shared++;
        pthread_join(thread, NULL);
    }
    fflush(stdout);
    if (strcmp(what, "shell") == 0 && system("grep -c san[.]so /proc/self/maps; echo $LD_PRELOAD | grep -c san[.]so") < 0)
        return 9;
    free(memory);
    puts("done");
    return 0;
}
