/* SPDX-License-Identifier: Apache-2.0
 * log_tuning.c - the order of experiments: more is better, but for a latency. */
#include "render/log_tuning.h"

#include <math.h>
#include <stdlib.h>

static bool is_latency(const hu_log_tuning *t)
{
    return hu_str_equal(t->metric, HU_STR("latency"));
}

bool hu_tuning_is_there(const hu_log_tuning *t)
{
    return t->experiments.n || t->spaces.n;
}

double hu_tuning_value(const hu_log_tuning *t, const hu_log_experiment *e)
{
    if (is_latency(t))
        return e->latency;
    return hu_str_has_lower(t->metric, HU_STR("flops")) ? e->flops : e->throughput;
}

typedef struct {
    const hu_log_experiment *experiment;
    double                   worth; /* more is better; NaN last */
    size_t                   at;
} ranked;

static int by_worth(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (isnan(x->worth) != isnan(y->worth))
        return isnan(x->worth) ? 1 : -1;
    if (x->worth != y->worth && !isnan(x->worth))
        return x->worth > y->worth ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

const hu_log_experiment **hu_tuning_ranked(const hu_log_tuning *t, hu_arena *scratch)
{
    const size_t              n = t->experiments.n;
    ranked                   *list = hu_arena_alloc(scratch, (n + 1) * sizeof *list);
    const hu_log_experiment **out = hu_arena_calloc(scratch, n + 1, sizeof *out);

    if (!list || !out)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const double value = hu_tuning_value(t, &t->experiments.at[i]);

        list[i] = (ranked){&t->experiments.at[i], is_latency(t) ? -value : value, i};
    }
    qsort(list, n, sizeof *list, by_worth);
    for (size_t i = 0; i < n; i++)
        out[i] = list[i].experiment;
    return out;
}
