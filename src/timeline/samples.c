/* SPDX-License-Identifier: Apache-2.0
 * samples.c - samples and chains as columns of LEB128 varints, each over all rows before the next begins:
 *
 *     caller     of a chain: 0 none, else how many rows before it the chain of its caller is
 *     function   of a chain: index into "functions"
 *     time       of a sample: zigzag of the difference to the one before it
 *     thread     of a sample: index into "threads"
 *     stack      of a sample: 0 not known, else 1 + row of a chain
 *
 * "each_ns" is the CPU time that a sample stands for, 0 when nobody knows; "every": one of so many is here.
 */
#include "timeline/samples.h"

#include "timeline/put.h"

void hu_samples_put_stacks(hu_put *w, hu_json_out *head)
{
    const uint32_t n = (uint32_t)hu_trace_cpu_stack_count(w->trace);

    hu_put_begin_numbers(w);
    for (uint32_t row = 1; row <= n; row++) {
        const uint32_t caller = hu_trace_cpu_stack(w->trace, row)->caller;

        hu_put_varint(w, caller ? row - caller : 0);
    }
    for (uint32_t row = 1; row <= n; row++)
        hu_put_varint(w, hu_put_number(w, hu_trace_cpu_stack(w->trace, row)->function));
    hu_put_strings(w, head, "functions");
}

static void write_threads(hu_put *w, hu_json_out *head)
{
    size_t          n;
    const hu_track *tracks = hu_trace_tracks(w->trace, &n);

    hu_json_open(head, "threads", '[');
    for (size_t i = 0; i < w->values.n; i++) {
        const hu_track *t = &tracks[w->values.at[i]];

        hu_json_open(head, NULL, '{');
        hu_json_str(head, "name", hu_trace_text(w->trace, t->name));
        if (t->tid_is_text)
            hu_json_str(head, "tid", hu_trace_text(w->trace, (uint32_t)t->tid));
        else
            hu_json_int(head, "tid", t->tid);
        hu_json_close(head, '}');
    }
    hu_json_close(head, ']');
}

static void put_samples(hu_put *w, const hu_cpu_sample *samples, size_t n, size_t every, int64_t origin_ns)
{
    int64_t last_ns = origin_ns;

    for (size_t i = 0; i < n; i += every) {
        hu_put_varint(w, hu_put_zigzag(samples[i].time_ns - last_ns));
        last_ns = samples[i].time_ns;
    }
    for (size_t i = 0; i < n; i += every)
        hu_put_varint(w, hu_put_number(w, samples[i].track));
    for (size_t i = 0; i < n; i += every)
        hu_put_varint(w, samples[i].stack);
}

int hu_samples_encode(const hu_trace *trace, int64_t origin_ns, hu_arena *arena, hu_json_out *head, hu_str *out,
                      hu_error *err)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(trace, &n);
    const size_t n_stacks = hu_trace_cpu_stack_count(trace), every = n / HU_SAMPLES_MOST + (n % HU_SAMPLES_MOST != 0);
    hu_put       w = {.trace = trace, .arena = arena};

    *out = (hu_str){"", 0};
    if (n == 0 || n_stacks > HU_SAMPLES_STACKS)
        return 0;
    hu_json_open(head, "cpu_samples", '{');
    hu_json_int(head, "n", (int64_t)((n + every - 1) / every));
    hu_json_int(head, "every", (int64_t)every);
    hu_json_int(head, "each_ns", hu_trace_get_info(trace)->cpu_sample_ns);
    hu_json_int(head, "stacks", (int64_t)n_stacks);
    hu_samples_put_stacks(&w, head);
    hu_put_begin_numbers(&w);
    put_samples(&w, samples, n, every, origin_ns);
    write_threads(&w, head);
    hu_json_close(head, '}');
    *out = (hu_str){(const char *)w.out.at, w.out.n};
    return w.failed ? hu_fail_memory(err) : 0;
}
