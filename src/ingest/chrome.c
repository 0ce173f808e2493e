/* SPDX-License-Identifier: Apache-2.0
 * chrome.c - Chrome trace JSON as torch.profiler (Kineto) and others write it: the document around the events.
 *
 * The document is an object with a member "traceEvents" among metadata that may come before or after it, or a bare
 * array of events.  It is walked span by span; nothing but the event at hand has to be in memory.  Traps:
 *  - a job that was killed leaves no "]}"; some writers leave a comma instead, and a bare array needs no ']';
 *  - one unescaped quote in a name must not cost the rest of the file: after an event that is no JSON the search for
 *    the next one starts at a brace that follows a comma and is followed by a member that events have;
 *  - PyTorch's execution traces are named like profiler traces and are something else.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/json_scan.h"
#include "ingest/chrome_pieces.h"
#include "ingest/chrome_reader.h"
#include "ingest/format.h"
#include "ingest/producers.h"

enum {
    LOOK_AHEAD_BYTES = 512, /* what chrome_is_event_start may need to see */
};

typedef struct {
    chrome_reader      r;
    chrome_scan_event *scan;
    hu_span            span;
    const char        *p, *end;
    chrome_pieces     *pieces;    /* NULL: nobody scans ahead */
    const char        *piece_at;  /* the event from which on the span was scanned ahead; NULL: it was not */
    int64_t            n_members; /* of the top object */
    bool      is_list; /* events alone, without an object around them: the format lets such a text end without ']' */
    bool      saw_events, saw_nodes, saw_schema, saw_rocprof;
    hu_error *err;
} document;

/* "2025-05-01", which no number of JSON is. */
static bool is_date(const char *p, const char *end)
{
    return end - p > 10 && isdigit((unsigned char)p[0]) && p[4] == p[7] && (p[4] == '-' || p[4] == '/');
}

/* "12345.678901] text" of the kernel's log: a list of one number would end there. */
static bool is_kernel_time(const char *p, const char *end)
{
    while (p < end && (isdigit((unsigned char)*p) || *p == '.'))
        p++;
    return end - p > 2 && p[0] == ']' && p[1] == ' ' && isalpha((unsigned char)p[2]);
}

static bool probe(hu_str head)
{
    const char *p = head.p, *end = head.p + head.n;

    if (head.n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    if (p == end || *p != '[')
        return p < end && *p == '{';
    for (p++; p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'); p++)
        continue;
    /* "[rank0]: …" and "[2025-05-01 …" are logs */
    return p == end || (!isalpha((unsigned char)*p) && !is_date(p, end) && !is_kernel_time(p, end));
}

static int64_t offset_of(const document *d, const char *p)
{
    return (int64_t)(d->span.offset + (uint64_t)(p - d->span.p));
}

/* More text behind what is left from d->p on.  1: there is some; 0: the end; negative: a failure. */
static int more(document *d)
{
    int rc;

    if (d->span.is_last)
        return 0;
    rc = hu_input_next(d->r.in, (size_t)(d->end - d->p), &d->span, d->err);
    if (rc < 0)
        return rc;
    d->p = d->span.p;
    d->end = d->span.p + d->span.n;
    d->piece_at = d->pieces ? chrome_pieces_begin(d->pieces, &d->span) : NULL;
    return 1;
}

/* Skips blanks and refills.  1: d->p is at something; 0: the end; negative: a failure. */
static int next_solid(document *d)
{
    for (;;) {
        int rc;

        d->p = skip_space(d->p);
        if (d->p < d->end)
            return 1;
        d->p = d->end;
        rc = more(d);
        if (rc <= 0)
            return rc;
    }
}

static void truncated(document *d, const char *why)
{
    hu_error broken = {0};

    hu_input_status(d->r.in, &broken);
    hu_builder_truncated(d->r.b, offset_of(d, d->end), broken.code ? broken.text : why);
}

/* From behind d->p to the next event.  1: found; 0: the end; negative: a failure. */
static int resync(document *d)
{
    char before = '\0';

    for (d->p++;; d->p++) {
        if (d->end - d->p < LOOK_AHEAD_BYTES) {
            const int rc = more(d);

            if (rc < 0)
                return rc;
            if (d->p >= d->end)
                return 0;
        }
        if (*d->p == '{' && (before == ',' || before == '[') && chrome_is_event_start(d->p))
            return 1;
        if ((unsigned char)*d->p > 0x20)
            before = *d->p;
    }
}

/* The event at d->p could not be scanned.  1: go on at d->p; 0: the end; negative: a failure. */
static int recover(document *d)
{
    hu_quality *q = hu_builder_quality(d->r.b);
    const bool  cut = d->r.scanner.stop == d->end;
    int         rc;

    q->has_all_events = false; /* another one begins here */
    if (cut && !d->span.is_last)
        return more(d);
    rc = resync(d);
    if (rc < 0)
        return rc;
    if (rc == 0 && cut) {
        truncated(d, "");
        return 0;
    }
    q->events++;
    hu_quality_count(q, d->r.event.too_deep ? HU_REASON_TOO_DEEP : HU_REASON_MALFORMED, 0);
    if (rc == 0)
        truncated(d, "");
    return rc;
}

/* d->p is behind '['. */
static int read_events(document *d)
{
    hu_quality *q = hu_builder_quality(d->r.b);
    int         rc;

    d->saw_events = true;
    while ((rc = *d->p == '{' ? 1 : next_solid(d)) > 0) {
        const char *after;

        if (d->p == d->piece_at) {
            d->p = chrome_pieces_take(d->pieces, &d->span, &d->r);
            d->piece_at = NULL;
        } else if (*d->p == '{') {
            after = d->scan(&d->r.scanner, d->p, d->end, &d->r.event);
            if (after) {
                q->events++;
                chrome_take_event(&d->r);
                d->p = after;
                if (memcmp(after, ",\n  {", 5) == 0) /* as Kineto writes it: no search for the next one */
                    d->p += 4;
                continue;
            }
            rc = recover(d);
            if (rc <= 0)
                return rc;
        } else if (*d->p == ',') {
            d->p++;
        } else if (*d->p == ']') {
            d->p++;
            q->has_all_events = true;
            return 0;
        } else {
            d->r.event.too_deep = false;
            d->r.scanner.stop = d->p;
            rc = recover(d);
            if (rc <= 0)
                return rc;
        }
        if (q->events > 0 && hu_builder_status(d->r.b, NULL) < 0)
            return 0;
    }
    if (rc == 0 && d->is_list && q->events > 0 && hu_input_status(d->r.in, NULL) == 0)
        q->has_all_events = true; /* behind a whole event, or the comma that follows it */
    else if (rc == 0)
        truncated(d, "");
    return rc;
}

/* Finds the end of the value at d->p, refilling as needed.  1: *after is behind it; 0: the text ends; negative: failed. */
static int whole_value(document *d, const char **after)
{
    for (;;) {
        unsigned found = 0;
        int      rc;

        if (*d->p == '"') {
            *after = string_close(d->p + 1, d->end, &found);
            if (*after < d->end) {
                ++*after;
                return 1;
            }
        } else if (*d->p == '{' || *d->p == '[') {
            *after = container_close(d->p, d->end, INT64_MAX);
            if (*after)
                return 1;
        } else {
            const char *p = d->p;

            while (p < d->end && *p != ',' && *p != '}' && *p != ']' && (unsigned char)*p > 0x20)
                p++;
            if (p < d->end) {
                *after = p;
                return 1;
            }
        }
        rc = more(d);
        if (rc <= 0)
            return rc;
    }
}

/* A member whose value may be larger than memory and interests nobody: walks it without keeping it. */
static int skip_huge(document *d)
{
    int64_t depth = 0;
    bool    in_string = false, escaped = false;

    for (;;) {
        for (; d->p < d->end; d->p++) {
            const char c = *d->p;

            if (in_string) {
                in_string = escaped || c != '"';
                escaped = !escaped && c == '\\';
            } else if (c == '"') {
                in_string = true;
            } else if (c == '{' || c == '[') {
                depth++;
            } else if ((c == '}' || c == ']') && --depth == 0) {
                d->p++;
                return 1;
            }
        }
        const int rc = more(d);

        if (rc <= 0)
            return rc;
    }
}

static bool is_wanted(hu_str key)
{
    return !hu_str_equal(key, HU_STR("nodes")) && !hu_str_equal(key, HU_STR("rocprofiler-sdk-tool")) &&
           !hu_str_equal(key, HU_STR("stackFrames")) && !hu_str_equal(key, HU_STR("samples"));
}

/* One member of the top object, d->p at its opening quote.  1: go on; 0: the text ends; negative: a failure. */
static int read_member(document *d)
{
    char        text[128];
    const char *after;
    hu_str      key;
    int         rc;

    rc = whole_value(d, &after);
    if (rc <= 0)
        return rc;
    key.n = (size_t)(after - d->p) - 2;
    key.n = key.n < sizeof text ? key.n : sizeof text;
    memcpy(text, d->p + 1, key.n); /* a refill moves the span */
    key.p = text;
    d->p = after;
    rc = next_solid(d);
    if (rc <= 0)
        return rc;
    if (*d->p == ':') {
        d->p++;
        rc = next_solid(d);
        if (rc <= 0)
            return rc;
    }
    d->n_members++;
    if (hu_str_equal(key, HU_STR("traceEvents")) && *d->p == '[') {
        d->p++;
        rc = read_events(d);
        return rc < 0 ? rc : !hu_builder_quality(d->r.b)->is_truncated;
    }
    d->saw_nodes |= hu_str_equal(key, HU_STR("nodes"));
    d->saw_schema |= hu_str_equal(key, HU_STR("schema"));
    d->saw_rocprof |= hu_str_equal(key, HU_STR("rocprofiler-sdk-tool"));
    if (!is_wanted(key) && (*d->p == '[' || *d->p == '{'))
        return skip_huge(d);
    rc = whole_value(d, &after);
    if (rc > 0) {
        chrome_take_metadata(&d->r, key, (hu_str){d->p, (size_t)(after - d->p)});
        d->p = after;
    }
    return rc;
}

/* d->p is behind '{'. */
static int read_object(document *d)
{
    int rc;

    while ((rc = next_solid(d)) > 0) {
        if (*d->p == '}') {
            d->p++;
            return 0;
        }
        if (*d->p == '"') {
            rc = read_member(d);
            if (rc < 0 || (rc == 0 && hu_builder_quality(d->r.b)->is_truncated))
                return rc;
            if (rc == 0)
                break;
        } else if (*d->p == ',') {
            d->p++;
        } else if (d->saw_events) {
            return 0; /* the rest is garbage behind the events; counted by the caller */
        } else {
            return hu_fail(d->err, HU_EFORMAT, hu_input_name(d->r.in), offset_of(d, d->p),
                           "not JSON: a member name in quotes was expected here; is this a profiler trace");
        }
        if (hu_builder_status(d->r.b, NULL) < 0)
            return 0;
    }
    if (rc == 0)
        truncated(d, "");
    return rc;
}

/* From the first thing behind the document to the end, blanks in between included. */
static int count_trailing(document *d)
{
    hu_quality *q = hu_builder_quality(d->r.b);
    int         rc = next_solid(d);

    while (rc > 0) {
        q->trailing_bytes += d->end - d->p;
        d->p = d->end;
        rc = more(d);
    }
    return rc;
}

/* "b (5), e (5), X (1)": what events there are, none of which could be used. */
static bool say_phases(const hu_quality *q, char *text, size_t room)
{
    size_t n = 0;

    text[0] = '\0';
    for (int c = '!'; c < 127 && n < room; c++)
        if (q->by_phase[c])
            n += (size_t)snprintf(text + n, room - n, "%s%c (%lld)", n ? ", " : "", c, (long long)q->by_phase[c]);
    return n > 0;
}

/* Nothing was found: says what the file is, where that can be told. */
static int fail_empty(document *d)
{
    const char       *name = hu_input_name(d->r.in);
    const hu_quality *q = hu_builder_quality(d->r.b);
    char              phases[200];

    if (d->saw_nodes && d->saw_schema)
        return hu_fail(d->err, HU_EFORMAT, name, 0,
                       "this is a PyTorch execution trace (ExecutionTraceObserver), which has no GPU timestamps; pass the "
                       "trace that torch.profiler exported");
    if (d->saw_rocprof)
        return hu_fail(d->err, HU_EFORMAT, name, 0,
                       "rocprofv3's JSON behind other members; pass the file as rocprofv3 wrote it");
    if (q->events == 0 && q->is_truncated)
        return hu_fail(d->err, HU_EEMPTY, name, q->truncated_at,
                       "the file ends before the first event%s%s; was the job killed while it wrote?",
                       q->truncated_why[0] ? ": " : "", q->truncated_why);
    if (!d->saw_events)
        return hu_fail(d->err, HU_EFORMAT, name, 0,
                       "JSON without \"traceEvents\"; holdup reads what torch.profiler's export_chrome_trace writes");
    if (q->events == 0)
        return hu_fail(d->err, HU_EEMPTY, name, 0,
                       "the trace has no events; was the profiler stopped before its first step?");
    if (say_phases(q, phases, sizeof phases))
        return hu_fail(
            d->err, HU_EFORMAT, name, 0,
            "none of %lld elements is a slice with a beginning and an end; there are events of phase %s, and needed "
            "are X with ts and dur, or B and E; is this a profiler trace",
            (long long)q->events, phases);
    return hu_fail(d->err, HU_EFORMAT, name, 0,
                   "none of %lld elements is a trace event with a phase and a timestamp; is this a profiler trace",
                   (long long)q->events);
}

static int read_document(document *d)
{
    int rc;

    if (d->end - d->p >= 3 && memcmp(d->p, "\xef\xbb\xbf", 3) == 0)
        d->p += 3;
    rc = next_solid(d);
    if (rc <= 0)
        return rc;
    d->is_list = *d->p++ == '[';
    rc = d->is_list ? read_events(d) : read_object(d);
    if (rc < 0 || hu_builder_status(d->r.b, NULL) < 0)
        return rc;
    if (!hu_builder_quality(d->r.b)->is_truncated) {
        rc = count_trailing(d);
        if (rc < 0)
            return rc;
        if (hu_input_status(d->r.in, NULL) < 0)
            truncated(d, "");
    }
    return 0;
}

static bool found_nothing(const document *d)
{
    const hu_quality *q = hu_builder_quality(d->r.b);

    return q->events == hu_quality_lost(q) + q->count[HU_REASON_ASYNC];
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    document *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    int       rc;

    if (!d) {
        hu_arena_free(arena);
        return hu_fail_memory(err);
    }
    d->r.in = in;
    d->r.b = b;
    d->r.arena = arena;
    d->err = err;
    d->scan = chrome_scan_for(hu_cpu_chosen());
    chrome_scanner_init(&d->r.scanner, hu_input_limits(in)->nesting);
    d->pieces = chrome_pieces_new(&d->r, d->scan);
    rc = hu_input_next(in, 0, &d->span, err);
    if (rc == 0) {
        d->p = d->span.p;
        d->end = d->p + d->span.n;
        rc = read_document(d);
    }
    if (rc == 0)
        rc = hu_builder_status(b, err);
    if (rc == 0) {
        chrome_finish_metadata(&d->r);
        hu_builder_settle_rows(b, &hu_producers_rows);
        if (!hu_builder_info(b)->tool.n && hu_builder_has_process(b, HU_STR("/job:")))
            hu_builder_info(b)->tool = HU_STR("TensorFlow timeline");
        if (!hu_builder_info(b)->tool.n &&
            (hu_builder_has_process(b, HU_STR("/host:CPU")) || hu_builder_has_process(b, HU_STR("/device:"))))
            hu_builder_info(b)->tool = HU_STR("XLA profiler");
        hu_builder_info(b)->bytes = offset_of(d, d->end);
        if (!chrome_async_finish(&d->r) && found_nothing(d))
            rc = fail_empty(d);
    }
    chrome_pieces_free(d->pieces);
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_chrome_json = {
    .name = "chrome-json",
    .what = "torch.profiler (Kineto) and other Chrome trace JSON",
    .suffixes = ".json .json.gz .json.zst",
    .probe = probe,
    .import = import,
};
