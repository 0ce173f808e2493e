/* SPDX-License-Identifier: Apache-2.0
 * render.c - draws a picture in a thread of its own.  The cause: main waits for that one thread while a core is free. */
#include "work.h"

#include <pthread.h>

enum { ROWS = 700 };

static uint64_t picture[ROWS];

struct part {
    int from, to;
};

__attribute__((noinline)) static void render_rows(int from, int to)
{
    for (int row = from; row < to; row++)
        picture[row] = work_mix((uint64_t)row + 1, 700000);
}

static void *draw(void *argument)
{
    const struct part *p = argument;

    render_rows(p->from, p->to);
    return NULL;
}

int main(int argc, char **argv)
{
    int         n = work_begin(argc, argv) ? 1 : 2;
    struct part parts[2] = {{0, n == 1 ? ROWS : ROWS / 2}, {ROWS / 2, ROWS}};
    pthread_t   threads[2];
    uint64_t    sum = 0;

    for (int i = 0; i < n; i++) {
        pthread_create(&threads[i], NULL, draw, &parts[i]);
        pthread_setname_np(threads[i], "renderer");
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROWS; i++)
        sum += picture[i];
    printf("%llu\n", (unsigned long long)sum);
    work_end();
    return 0;
}
