/* SPDX-License-Identifier: Apache-2.0
 * traces.c - reads the files side by side; what failed is listed in the order of the arguments. */
#include "job/traces.h"

#include "base/thread.h"
#include "ingest/open.h"
#include "job/partial.h"

typedef struct {
    const hu_inputs *inputs;
    hu_input_options input;
    hu_trace       **traces;
    hu_error        *errors;
} work;

static void read_one(void *context, size_t i)
{
    work *w = context;

    w->traces[i] = hu_open_trace(w->inputs->at[i], &w->input, &w->errors[i]);
}

/* What was read comes to the front; what was not is listed, and so is what is not whole. */
static int sort_out(work *w, hu_arena *arena, hu_traces *out, hu_error *err)
{
    int rc = 0;

    out->unread = w->inputs->unread;
    for (size_t i = 0; i < w->inputs->n; i++) {
        hu_trace *t = w->traces[i];

        if (t) {
            out->at[out->n++] = t;
            rc = rc < 0 ? rc
                        : hu_partial_add(&out->partial, arena, hu_trace_get_info(t)->file, hu_trace_get_quality(t), err);
        } else if (rc == 0) {
            rc = hu_unread_add_error(&out->unread, arena, w->inputs->at[i], &w->errors[i], err);
        }
    }
    return rc;
}

int hu_traces_read(const hu_inputs *inputs, hu_limits limits, hu_progress *progress, hu_arena *arena, hu_traces *out,
                   hu_error *err)
{
    const int threads = hu_thread_count();
    work      w = {.inputs = inputs,
                   .input = {.limits = limits,
                             .threads = inputs->n && inputs->n < (size_t)threads ? threads / (int)inputs->n : 1,
                             .progress = progress},
                   .traces = hu_arena_calloc(arena, inputs->n + 1, sizeof *w.traces),
                   .errors = hu_arena_calloc(arena, inputs->n + 1, sizeof *w.errors)};

    *out = (hu_traces){.at = w.traces};
    if (!w.traces || !w.errors)
        return hu_fail_memory(err);
    hu_thread_each(inputs->n, threads, read_one, &w);
    if (sort_out(&w, arena, out, err) < 0)
        hu_traces_free(out);
    else if (out->n == 0)
        *err = w.errors[0];
    return err->code;
}

void hu_traces_free(hu_traces *traces)
{
    for (size_t i = 0; i < traces->n; i++)
        hu_trace_free(traces->at[i]);
    traces->n = 0;
}
