/* SPDX-License-Identifier: Apache-2.0
 * phases.c - what reading a trace costs inside one process: scan, freeze (order and links), all analyses.
 *
 * usage: phases FILE ROUNDS     one line: medians in ns of scan, freeze and analyses, and the slices
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/digest.h"
#include "base/sort.h"
#include "ingest/open.h"
#include "trace/builder.h"

enum { PHASES = 3, MOST_ROUNDS = 99 };

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The slices of the trace, or -1 after an error. */
static int64_t run(const char *path, int64_t *took)
{
    const hu_input_options  input = {.limits = hu_limits_default()};
    const hu_digest_options all = {.frames = 5};
    hu_error    err = {0};
    int64_t     at[PHASES + 1], n = -1;
    hu_builder *b;
    hu_trace   *t;
    hu_digest  *d;

    at[0] = now_ns();
    b = hu_open_builder(path, &input, &err);
    at[1] = now_ns();
    t = b ? hu_builder_freeze(b, &err) : NULL;
    at[2] = now_ns();
    d = t ? hu_digest_measure(t, &all, &err) : NULL;
    at[3] = now_ns();
    if (d)
        n = (int64_t)hu_trace_slices(t).n;
    else
        fprintf(stderr, "phases: %s\n", err.text);
    for (int i = 0; i < PHASES; i++)
        took[i] = at[i + 1] - at[i];
    hu_digest_free(d);
    hu_trace_free(t);
    return n;
}

int main(int argc, char **argv)
{
    const int rounds = argc == 3 ? atoi(argv[2]) : 0;
    int64_t   took[PHASES][MOST_ROUNDS], n = 0;

    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: phases FILE ROUNDS\n");
        return 2;
    }
    for (int r = -1; r < rounds; r++) {     /* the first touches the memory, and does not count */
        int64_t one[PHASES];

        n = run(argv[1], one);
        if (n < 0)
            return 1;
        for (int i = 0; r >= 0 && i < PHASES; i++)
            took[i][r] = one[i];
    }
    for (int i = 0; i < PHASES; i++) {
        hu_sort_i64(took[i], (size_t)rounds);
        printf("%lld ", (long long)took[i][rounds / 2]);
    }
    printf("%lld\n", (long long)n);
    return 0;
}
