/* SPDX-License-Identifier: Apache-2.0
 * fuzz_pieces.c - any bytes as a Chrome trace in small chunks: what several threads make of it is what one thread reads.
 *
 * Chunks of some hundred bytes put borders everywhere; their size and the number of threads depend on the length of the
 * input alone, so that a case repeats.
 */
#include <stdlib.h>
#include <string.h>

#include "ingest/format.h"
#include "ingest/open.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

extern const hu_format hu_format_chrome_json;

enum { SMALLEST = 64 };

/* NULL: it cannot be read, and why. */
static hu_trace *import(hu_str text, int threads, size_t chunk_bytes, hu_error *err)
{
    hu_input_options options = {.limits = hu_limits_default(), .threads = threads, .chunk_bytes = chunk_bytes};
    hu_input        *in;
    hu_builder      *b;

    options.limits.events = 100000;
    in = hu_input_open_memory(text, "fuzz", &options, err);
    b = in ? hu_builder_new("fuzz", &options.limits) : NULL;
    if (b && hu_format_chrome_json.import(in, b, err) < 0) {
        hu_builder_free(b);
        b = NULL;
    }
    hu_input_close(in);
    return b ? hu_builder_freeze(b, err) : NULL;
}

static void must(bool is)
{
    if (!is)
        abort();
}

static bool same(const void *a, const void *b, size_t n, size_t item)
{
    return n == 0 || memcmp(a, b, n * item) == 0;
}

static void compare_details(const hu_trace *a, const hu_trace *b)
{
    const hu_slices s = hu_trace_slices(a), t = hu_trace_slices(b);

    for (size_t i = 0; i < s.n; i++) {
        must((s.detail[i] == HU_NONE) == (t.detail[i] == HU_NONE));
        if (s.detail[i] == HU_NONE)
            continue;
        if (s.kind[i] == HU_KIND_CPU_OP || s.kind[i] == HU_KIND_USER) {
            const hu_op_detail *x = hu_trace_op_detail(a, s.detail[i]), *y = hu_trace_op_detail(b, t.detail[i]);

            must(x->dims == y->dims && x->types == y->types && x->strides == y->strides && x->concrete == y->concrete &&
                 x->sequence == y->sequence && x->forward_thread == y->forward_thread && !x->extra == !y->extra);
        } else if (s.kind[i] == HU_KIND_KERNEL || s.kind[i] == HU_KIND_COLLECTIVE) {
            hu_kernel_detail x = *hu_trace_kernel_detail(a, s.detail[i]), y = *hu_trace_kernel_detail(b, t.detail[i]);

            must(!x.collective == !y.collective);
            x.collective = y.collective = 0;
            must(same(&x, &y, 1, sizeof x));
        } else if (s.kind[i] == HU_KIND_MEMCPY || s.kind[i] == HU_KIND_MEMSET) {
            must(
                same(hu_trace_copy_detail(a, s.detail[i]), hu_trace_copy_detail(b, t.detail[i]), 1, sizeof(hu_copy_detail)));
        }
    }
}

static void compare(const hu_trace *a, const hu_trace *b)
{
    const hu_slices s = hu_trace_slices(a), t = hu_trace_slices(b);
    size_t          n, m;

    must(s.n == t.n);
    must(same(s.start_ns, t.start_ns, s.n, sizeof *s.start_ns) && same(s.dur_ns, t.dur_ns, s.n, sizeof *s.dur_ns));
    must(same(s.track, t.track, s.n, sizeof *s.track) && same(s.name, t.name, s.n, sizeof *s.name));
    must(same(s.correlation, t.correlation, s.n, sizeof *s.correlation));
    must(same(s.external, t.external, s.n, sizeof *s.external) && same(s.parent, t.parent, s.n, sizeof *s.parent));
    must(same(s.kind, t.kind, s.n, sizeof *s.kind));
    compare_details(a, b);
    must(hu_trace_string_count(a) == hu_trace_string_count(b));
    for (uint32_t i = 0; i < hu_trace_string_count(a); i++)
        must(hu_str_equal(hu_trace_text(a, i), hu_trace_text(b, i)));
    must(same(hu_trace_get_quality(a), hu_trace_get_quality(b), 1, sizeof(hu_quality)));
    hu_trace_tracks(a, &n);
    hu_trace_tracks(b, &m);
    must(n == m);
    hu_trace_memory(a, &n);
    hu_trace_memory(b, &m);
    must(n == m);
    hu_trace_samples(a, &n);
    hu_trace_samples(b, &m);
    must(n == m);
    hu_trace_wakes(a, &n);
    hu_trace_wakes(b, &m);
    must(n == m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const hu_str text = {(const char *)data, n};
    hu_error     err = {0}, other = {0};
    const size_t chunk = SMALLEST + n * 7919 % 900; /* of both: a damaged .gz gives as much as is asked for at a time */
    hu_trace    *one = import(text, 1, chunk, &err);
    hu_trace    *many = import(text, 2 + (int)(n % 3), chunk, &other);

    must(!one == !many && err.code == other.code);
    if (one)
        compare(one, many);
    hu_trace_free(one);
    hu_trace_free(many);
    return 0;
}
