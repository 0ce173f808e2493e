/* SPDX-License-Identifier: Apache-2.0
 * fuzz_open.c - any bytes as a trace, from the first byte to the last answer: no crash, no hang, no leak.
 *
 * Plain text is read a second time behind so many blanks that the border between two chunks of the input falls inside
 * of it; what is found must not depend on where that border lies.
 */
#include <stdio.h>
#include <stdlib.h>

#include "advise/findings.h"
#include "across/rendezvous.h"
#include "ingest/format.h"
#include "ingest/open.h"
#include "ingest/strangers.h"
#include "render/export/export.h"
#include "render/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

extern const hu_format hu_format_chrome_json;

enum { CHUNK_BYTES = 256 * 1024 }; /* as in base/input.c; another value only makes the second reading less sharp */

enum { MOST_REPLAYED = 20000 }; /* pricing replays dozens of times: the fuzzer wants small cases */

typedef struct {
    int        code;
    hu_quality quality;
    size_t     n_slices;
} outcome;

/* The page with its timeline, whole and for few pixels, and every export: all to nowhere. */
static void draw(const hu_trace *trace, hu_digest *digest, hu_simulation *s, hu_findings *findings)
{
    hu_arena            *arena = hu_arena_new();
    hu_out              *out = hu_out_open_memory(arena);
    hu_scenario          scenarios[HU_SCENARIOS];
    hu_timeline_options  how = {.scenarios = scenarios, .most = 1000};
    hu_rank              rank = {.digest = digest, .findings = findings};
    hu_job               job = {.ranks = &rank, .n = 1, .digests = &digest, .findings = &findings};
    const hu_export_part part = hu_export_all(trace);
    const hu_export      e = {&part, 1, false};
    hu_report            r = {.job = &job, .scratch = arena, .unit = "samples"};
    hu_rendezvous        meeting;
    hu_error             err = {0};

    hu_rendezvous_measure((hu_digest *[]){digest, digest}, 2, arena, arena, &meeting, &err); /* the rank with itself */
    hu_verdict_measure(&digest, &findings, 1, NULL, &job.verdict);
    if (s && findings) {
        const int n = hu_scenarios_build(s, findings, arena, scenarios, &err);

        how.n_scenarios = n > 0 ? (size_t)n : 0;
    }
    if (hu_timeline_encode(trace, digest, &how, arena, arena, &rank.timeline, &err) == 0)
        hu_html_write(&r, out, &err);
    for (size_t i = 0; hu_export_formats[i]; i++)
        hu_export_formats[i]->write(&e, out, &err);
    hu_out_abandon(out);
    hu_arena_free(arena);
}

static void read_all(hu_str bytes, hu_grouping grouping, outcome *out)
{
    const hu_limits limits = {
        .events = 100000, .nesting = 64, .event_bytes = 1 << 20, .string_bytes = 16 << 20, .inflate_ratio = 400};
    const hu_input_options  options = {limits, false, NULL};
    const hu_digest_options what = {.grouping = grouping, .frames = 4};
    hu_error                err = {0};
    hu_input               *in = hu_input_open_memory(bytes, "fuzz", &options, &err);
    hu_builder             *b = in ? hu_open_input(in, &options, &err) : NULL;
    hu_trace               *trace = NULL;
    hu_digest              *digest;

    memset(out, 0, sizeof *out);
    if (b) {
        out->quality = *hu_builder_quality(b);
        out->n_slices = hu_builder_slice_count(b);
        trace = hu_builder_freeze(b, &err);
    }
    if (trace) {
        digest = hu_digest_measure(trace, &what, &err);
        if (digest && out->n_slices < MOST_REPLAYED) {
            hu_error       why = {0};
            hu_simulation *s = hu_simulation_new(trace, NULL, NULL, &why);
            hu_findings   *findings = hu_findings_measure(s, &why, digest, &err);

            draw(trace, digest, s, findings);
            hu_findings_free(findings);
            hu_simulation_free(s);
        }
        if (digest) {
            hu_digest *const ranks[] = {digest, digest};
            hu_digest *const merged = hu_digest_merge(ranks, 2, &err);

            hu_digest_free(merged);
        }
        hu_digest_free(digest);
        hu_trace_free(trace);
    }
    out->code = err.code;
}

static void check(bool holds, const char *what, int64_t a, int64_t b)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_open: %s: %lld, behind blanks %lld\n", what, (long long)a, (long long)b);
    abort();
}

static void compare(const outcome *a, const outcome *b)
{
    const hu_quality *q = &a->quality, *r = &b->quality;

    check(a->code == b->code, "code", a->code, b->code);
    check(a->n_slices == b->n_slices, "slices", (int64_t)a->n_slices, (int64_t)b->n_slices);
    check(q->events == r->events, "events", q->events, r->events);
    check(q->duration_sum_ns == r->duration_sum_ns, "durations", q->duration_sum_ns, r->duration_sum_ns);
    check(q->is_truncated == r->is_truncated, "truncated", q->is_truncated, r->is_truncated);
    check((q->trailing_bytes > 0) == (r->trailing_bytes > 0), "trailing bytes", q->trailing_bytes, r->trailing_bytes);
    for (hu_reason i = 0; i < HU_REASON_COUNT; i++)
        check(q->count[i] == r->count[i], hu_reason_name(i), q->count[i], r->count[i]);
}

/* A format that is told by its first words is another one behind blanks. */
static bool is_plain(const uint8_t *data, size_t n)
{
    return n > 0 && n <= CHUNK_BYTES / 2 && (data[0] == '{' || data[0] == '[') &&
           !hu_stranger_impostor_words((hu_str){(const char *)data, n}) && /* nor is it sought there */
           hu_format_find((hu_str){(const char *)data, n}) == &hu_format_chrome_json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    outcome once, again;

    read_all((hu_str){(const char *)data, n}, (hu_grouping)(n % 4), &once);
    if (is_plain(data, n) && data[n - 1] % 4 == 1) {                     /* "}" and "]" are among these */
        const size_t blanks = CHUNK_BYTES - 1 - (n * data[n / 2]) / 257; /* the first chunk shows the format */
        char        *text = malloc(blanks + n);

        if (!text)
            return 0;
        memset(text, ' ', blanks);
        memcpy(text + blanks, data, n);
        read_all((hu_str){text, blanks + n}, HU_GROUP_NAME, &again);
        free(text);
        compare(&once, &again);
    }
    return 0;
}
