/* SPDX-License-Identifier: Apache-2.0
 * phases.c - what a trace costs inside one process: scan, freeze (order and links), all analyses, one replay of all of it.
 *
 * usage: phases FILE ROUNDS     one line: medians in ns of scan, freeze, analyses and replay; bytes of graph and replay; events
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/digest.h"
#include "base/sort.h"
#include "graph/simulation.h"
#include "ingest/open.h"
#include "trace/builder.h"

enum { PHASES = 4, MOST_ROUNDS = 99 };

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* One sweep over the graph of the whole trace; -1 after an error. */
static int64_t replay(const hu_trace *t, int64_t *bytes, hu_error *err)
{
    const hu_graph_options whole = {.max_slices = SIZE_MAX};
    hu_simulation         *s = hu_simulation_new(t, NULL, &whole, err);
    int64_t               *ends, began, took = -1;

    if (!s)
        return -1;
    ends = hu_arena_alloc(s->scratch, s->graph.n_marks * sizeof *ends);
    if (ends) {
        *bytes = (int64_t)hu_arena_bytes(s->arena);
        began = now_ns();
        hu_replay_run(hu_pricer_replay(s->pricer), hu_pricer_costs(s->pricer), ends);
        took = now_ns() - began;
    }
    hu_simulation_free(s);
    return took;
}

/* The events of the trace, or -1 after an error. */
static int64_t run(const char *path, int64_t *took, int64_t *bytes)
{
    const hu_input_options  input = {.limits = hu_limits_default()};
    const hu_digest_options all = {.frames = 5};
    hu_error                err = {0};
    int64_t                 at[PHASES], n = -1;
    hu_builder             *b;
    hu_trace               *t;
    hu_digest              *d;

    at[0] = now_ns();
    b = hu_open_builder(path, &input, &err);
    at[1] = now_ns();
    t = b ? hu_builder_freeze(b, &err) : NULL;
    at[2] = now_ns();
    d = t ? hu_digest_measure(t, &all, &err) : NULL;
    at[3] = now_ns();
    if (d)
        n = hu_trace_get_quality(t)->events;
    for (int i = 0; i + 1 < PHASES; i++)
        took[i] = at[i + 1] - at[i];
    took[PHASES - 1] = t ? replay(t, bytes, &err) : -1;
    if (took[PHASES - 1] < 0)
        n = -1;
    if (n < 0)
        fprintf(stderr, "phases: %s\n", err.text);
    hu_digest_free(d);
    hu_trace_free(t);
    return n;
}

int main(int argc, char **argv)
{
    const int rounds = argc == 3 ? atoi(argv[2]) : 0;
    int64_t   took[PHASES][MOST_ROUNDS], bytes = 0, n = 0;

    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: phases FILE ROUNDS\n");
        return 2;
    }
    for (int r = -1; r < rounds; r++) { /* the first touches the memory, and does not count */
        int64_t one[PHASES];

        n = run(argv[1], one, &bytes);
        if (n < 0)
            return 1;
        for (int i = 0; r >= 0 && i < PHASES; i++)
            took[i][r] = one[i];
    }
    for (int i = 0; i < PHASES; i++) {
        hu_sort_i64(took[i], (size_t)rounds);
        printf("%lld ", (long long)took[i][rounds / 2]);
    }
    printf("%lld %lld\n", (long long)bytes, (long long)n);
    return 0;
}
