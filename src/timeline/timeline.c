/* SPDX-License-Identifier: Apache-2.0
 * timeline.c - what a browser needs to draw one rank, and no more.
 *
 * The bytes, before gzip: the length of a JSON text as a varint, the text, then for every track of the text and in its order
 * five columns of LEB128 varints, each over all tracks before the next column begins:
 *
 *     start   since the start of the slice before it on the track; the first since the first slice of the trace
 *     dur     ns
 *     label   index into "labels": a name and a kind
 *     note    index into "notes": what else was recorded; 0 none
 *     link    0 none, else 1 + zigzag of the difference to the track's last link: the index of the call or operator that
 *             launched it or of the operator whose backward it is, in the order of these columns
 *
 * and for each counter: times as differences, then values as zigzag of differences, times "scale".  Then, for each track
 * with "rows" in its description: the row of each slice, from 0, since slices cross on it (trace/nest.h); on others a slice
 * lies below those that still run.  Last, where all slices are wanted, the columns of samples.c and of allocations.c.
 *
 * Differences keep the numbers small and columns bring equal ones together: about 4 bytes are left of a slice.
 */
#include "timeline/timeline.h"

#include <math.h>
#include <stdio.h>

#include "base/map.h"
#include "base/number.h"
#include "base/pack.h"
#include "base/json_out.h"
#include "timeline/allocations.h"
#include "timeline/notes.h"
#include "timeline/samples.h"
#include "timeline/sight.h"
#include "trace/nest.h"

enum { MAX_SAMPLES = 100000 };

typedef HU_VEC(uint8_t) column;

typedef struct {
    const hu_trace            *trace;
    const hu_digest           *digest;
    const hu_timeline_options *options;
    hu_arena                  *scratch;
    hu_slices                  s;
    int64_t                    origin_ns; /* of the first slice */
    hu_windows                 windows;
    hu_sight                   sight;
    hu_seen                    seen;
    hu_map                     label_of;
    uint32_t                  *last_label; /* by name: the label that it had last, and as far as anybody knows has again */
    HU_VEC(uint64_t) labels;               /* name << 8 | kind */
    hu_notes    notes;
    column      start, dur, label, note, link, counters, row;
    hu_str      samples; /* CPU samples */
    hu_str      allocations;
    hu_json_out head;
    bool        failed; /* no memory */
} encoder;

enum { VARINT_BYTES = 10 }; /* at most */

static inline void put_varint(encoder *e, column *c, uint64_t v)
{
    uint8_t *at;

    if (!hu_vec_reserve(e->scratch, c, VARINT_BYTES)) {
        e->failed = true;
        return;
    }
    for (at = c->at + c->n; v >= 128; v >>= 7)
        *at++ = (uint8_t)(v | 128);
    *at++ = (uint8_t)v;
    c->n = (size_t)(at - c->at);
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* Of a key: name << 8 | kind. */
static uint32_t find_label(encoder *e, uint64_t key)
{
    uint32_t *place = hu_map_put(&e->label_of, key);

    if (place && *place == HU_MAP_NONE) {
        *place = (uint32_t)e->labels.n;
        if (!hu_vec_push(e->scratch, &e->labels, key))
            place = NULL;
    }
    e->failed |= !place;
    return place ? *place : 0;
}

static uint32_t label_of(encoder *e, uint32_t slice)
{
    const uint32_t name = e->s.name[slice];
    const uint64_t key = (uint64_t)name << 8 | e->s.kind[slice];
    uint32_t      *last = &e->last_label[name];

    if (*last >= e->labels.n || e->labels.at[*last] != key)
        *last = find_label(e, key);
    return *last;
}

/*
 * What the slice comes from: the call that launched device work, the operator where no call was recorded; the forward
 * operator of a backward one.
 */
static uint32_t origin_of(const encoder *e, uint32_t i)
{
    const uint32_t from = hu_kind_in(e->s.kind[i], HU_KINDS_DEVICE) ? e->s.parent[i]
                          : e->s.kind[i] == HU_KIND_CPU_OP          ? hu_trace_forward_of(e->trace, i)
                                                                    : HU_NONE;

    return from == HU_NONE ? 0 : e->seen.number[from];
}

/*
 * Slices of a track that are drawn, up to BLOCK of them.  Columns are made for a block, one after the other: what a column
 * looks up for one slice does not wait for what it looked up for the slice before.
 */
enum { BLOCK = 64 };

typedef struct {
    uint32_t slice[BLOCK], n;
    int64_t  last_start, last_link; /* of the block before */
} block;

/* The next ones from place `k` in the order of tracks; returns the place after them. */
static uint32_t take_block(const encoder *e, block *b, uint32_t k, uint32_t end)
{
    const uint32_t *order = hu_trace_order(e->trace);

    for (b->n = 0; k < end && b->n < BLOCK; k = hu_sight_from(&e->sight, k + 1)) {
        b->slice[b->n] = order[k];
        b->n += e->seen.number[order[k]] != 0;
    }
    return k;
}

static void put_links(encoder *e, block *b)
{
    uint32_t from[BLOCK];

    for (uint32_t i = 0; i < b->n; i++)
        from[i] = origin_of(e, b->slice[i]);
    for (uint32_t i = 0; i < b->n; i++) {
        put_varint(e, &e->link, from[i] ? 1 + zigzag((int64_t)from[i] - b->last_link) : 0);
        b->last_link = from[i] ? from[i] : b->last_link;
    }
}

static void put_block(encoder *e, block *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const int64_t start = e->s.start_ns[b->slice[i]] - e->origin_ns;

        put_varint(e, &e->start, (uint64_t)(start - b->last_start));
        b->last_start = start;
    }
    for (uint32_t i = 0; i < b->n; i++)
        put_varint(e, &e->dur, (uint64_t)e->s.dur_ns[b->slice[i]]);
    for (uint32_t i = 0; i < b->n; i++)
        put_varint(e, &e->label, label_of(e, b->slice[i]));
    for (uint32_t i = 0; i < b->n; i++)
        put_varint(e, &e->note, hu_notes_of(&e->notes, b->slice[i]));
    put_links(e, b);
    for (uint32_t i = 0; i < b->n && e->sight.rows && e->sight.rows[b->slice[i]] != HU_NEST_NO_ROW; i++)
        put_varint(e, &e->row, e->sight.rows[b->slice[i]]);
}

static void put_track(encoder *e, const hu_track *t)
{
    const uint32_t end = hu_sight_end(&e->sight, t);
    block          b = {.n = 0};

    for (uint32_t k = hu_sight_from(&e->sight, t->first); k < end;) {
        k = take_block(e, &b, k, end);
        put_block(e, &b);
    }
}

/* Pieces of a replay have the name of the slice that they are part of; else they say what they are. */
static void put_scenario_track(encoder *e, const hu_scenario_track *t, const uint32_t *class_label)
{
    int64_t last_start = 0;

    for (size_t k = 0; k < t->n; k++) {
        const uint32_t i = t->slice[k];
        const int64_t  start = t->start_ns[k] - e->origin_ns > last_start ? t->start_ns[k] - e->origin_ns : last_start;

        put_varint(e, &e->start, (uint64_t)(start - last_start));
        put_varint(e, &e->dur, (uint64_t)t->dur_ns[k]);
        put_varint(e, &e->label, i == HU_NONE ? class_label[t->class[k]] : label_of(e, i));
        put_varint(e, &e->note, 0);
        put_varint(e, &e->link, 0);
        last_start = start;
    }
}

/* Slices of a thread have rows all or none. */
static bool has_rows(const encoder *e, const hu_track *t)
{
    const uint32_t *order = hu_trace_order(e->trace) + t->first;

    for (uint32_t k = 0; k < t->count && e->sight.rows; k++)
        if (e->s.kind[order[k]] != HU_KIND_SPAN)
            return e->sight.rows[order[k]] != HU_NEST_NO_ROW;
    return false;
}

static void write_track(encoder *e, const hu_track *t, uint32_t index, size_t n, int scenario)
{
    static const char *const types[] = {
        [HU_TRACK_HOST] = "host", [HU_TRACK_STREAM] = "stream", [HU_TRACK_NOTE] = "note", [HU_TRACK_COUNTER] = "counter"};
    hu_json_out *j = &e->head;

    hu_json_open(j, NULL, '{');
    hu_json_str(j, "type", hu_str_of(types[t->type]));
    hu_json_int(j, "id", index);
    hu_json_str(j, "name", hu_trace_text(e->trace, t->name));
    hu_json_str(j, "process", hu_trace_text(e->trace, t->process));
    if (t->pid_is_text)
        hu_json_str(j, "pid", hu_trace_text(e->trace, (uint32_t)t->pid));
    else
        hu_json_int(j, "pid", t->pid);
    if (t->tid_is_text)
        hu_json_str(j, "tid", hu_trace_text(e->trace, (uint32_t)t->tid));
    else
        hu_json_int(j, "tid", t->tid);
    hu_json_int(j, "device", t->device);
    hu_json_int(j, "stream", t->stream);
    hu_json_int(j, "n", (int64_t)n);
    if (scenario < 0 && has_rows(e, t))
        hu_json_bool(j, "rows", true);
    if (scenario >= 0)
        hu_json_int(j, "scenario", scenario);
    hu_json_close(j, '}');
}

/* The labels of classes that have no slice stand behind those of the trace; their name is not in its strings. */
static void label_classes(encoder *e, uint32_t *class_label)
{
    for (uint32_t c = 0; c < HU_CLASS_COUNT; c++)
        class_label[c] = find_label(e, (uint64_t)(UINT32_MAX - c) << 8 | HU_KIND_OTHER);
}

static void put_tracks(encoder *e)
{
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(e->trace, &n_tracks);
    uint32_t        class_label[HU_CLASS_COUNT] = {0};

    if (e->options->n_scenarios)
        label_classes(e, class_label);
    hu_json_open(&e->head, "tracks", '[');
    for (size_t t = 0; t < n_tracks; t++) {
        if (!e->seen.per_track[t])
            continue;
        write_track(e, &tracks[t], (uint32_t)t, e->seen.per_track[t], -1);
        put_track(e, &tracks[t]);
    }
    for (size_t k = 0; k < e->options->n_scenarios; k++) {
        const hu_scenario *x = &e->options->scenarios[k];

        for (size_t t = 0; t < x->n_tracks; t++) {
            if (x->tracks[t].track == HU_NONE || x->tracks[t].n == 0)
                continue;
            write_track(e, &tracks[x->tracks[t].track], x->tracks[t].track, x->tracks[t].n, (int)k);
            put_scenario_track(e, &x->tracks[t], class_label);
        }
    }
    hu_json_close(&e->head, ']');
}

static void write_scenarios(encoder *e)
{
    hu_json_out *j = &e->head;

    hu_json_open(j, "scenarios", '[');
    for (size_t k = 0; k < e->options->n_scenarios; k++) {
        const hu_scenario *x = &e->options->scenarios[k];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "id", hu_str_of(hu_rule_key(x->rule)));
        hu_json_str(j, "title", hu_str_of(hu_rule_title(x->rule)));
        hu_json_int(j, "start", x->start_ns - e->origin_ns);
        hu_json_int(j, "measured_end", x->measured_end_ns - e->origin_ns);
        hu_json_int(j, "simulated_end", x->simulated_end_ns - e->origin_ns);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

/* "of": a finding, or a class of time. */
static void write_proofs(encoder *e)
{
    hu_json_out *j = &e->head;

    hu_json_open(j, "proofs", '[');
    for (size_t k = 0; k < e->options->n_proofs; k++) {
        const hu_proof *x = &e->options->proofs[k];

        hu_json_open(j, NULL, '{');
        if (x->class < HU_CLASS_COUNT)
            hu_json_str(j, "class", hu_str_of(hu_class_key(x->class)));
        else
            hu_json_str(j, "finding", hu_str_of(hu_rule_key(x->rule)));
        hu_json_int(j, "track", e->s.track[x->slice]);
        hu_json_int(j, "start", e->s.start_ns[x->slice] - e->origin_ns);
        hu_json_int(j, "dur", e->s.dur_ns[x->slice]);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_labels(encoder *e)
{
    hu_json_out *j = &e->head;

    hu_json_open(j, "labels", '[');
    for (size_t i = 0; i < e->labels.n; i++) {
        const uint32_t name = (uint32_t)(e->labels.at[i] >> 8);

        hu_json_str(j, NULL,
                    name > UINT32_MAX - HU_CLASS_COUNT ? hu_str_of(hu_class_words((hu_class)(UINT32_MAX - name)))
                                                       : hu_trace_text(e->trace, name));
    }
    hu_json_close(j, ']');
    hu_json_open(j, "label_kinds", '[');
    for (size_t i = 0; i < e->labels.n; i++)
        hu_json_int(j, NULL, (int64_t)(e->labels.at[i] & 0xff));
    hu_json_close(j, ']');
    hu_json_open(j, "kinds", '[');
    for (unsigned k = 0; k < HU_KIND_COUNT; k++)
        hu_json_str(j, NULL, hu_str_of(hu_kind_name(k)));
    hu_json_close(j, ']');
    hu_notes_write(&e->notes, j, "notes");
}

static void write_steps(encoder *e)
{
    const hu_steps *steps = &e->digest->steps;
    hu_json_out    *j = &e->head;

    hu_json_open(j, "steps", '[');
    for (size_t i = 0; i < steps->n && steps->source != HU_STEPS_NONE; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", e->digest->step_names[i]);
        hu_json_int(j, "number", steps->at[i].number);
        hu_json_int(j, "start", steps->at[i].start_ns - e->origin_ns);
        hu_json_int(j, "end", steps->at[i].end_ns - e->origin_ns);
        hu_json_int(j, "host_start", steps->at[i].host_start_ns - e->origin_ns);
        hu_json_int(j, "host_end", steps->at[i].host_end_ns - e->origin_ns);
        hu_json_bool(j, "counts", hu_step_counts(&steps->at[i]));
        if (steps->at[i].work.end_ns > steps->at[i].work.start_ns) { /* of what was launched in it, wherever it ran */
            hu_json_int(j, "gpu_start", steps->at[i].work.start_ns - e->origin_ns);
            hu_json_int(j, "gpu_end", steps->at[i].work.end_ns - e->origin_ns);
        }
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

static void write_counter_head(encoder *e, hu_str name, const char *unit, size_t n, int scale)
{
    hu_json_out *j = &e->head;

    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", name);
    hu_json_str(j, "unit", hu_str_of(unit));
    hu_json_int(j, "n", (int64_t)n);
    hu_json_int(j, "scale", scale);
    hu_json_close(j, '}');
}

/* Series that an analysis made: one value for each equal piece of time. */
static void put_series(encoder *e, hu_str name, const char *unit, const hu_series *s, int scale)
{
    int64_t last = 0;

    if (s->piece_ns <= 0)
        return;
    write_counter_head(e, name, unit, HU_SERIES_POINTS, scale);
    for (int i = 0; i < HU_SERIES_POINTS; i++) {
        const int64_t at = s->start_ns - e->origin_ns + i * s->piece_ns;

        put_varint(e, &e->counters, (uint64_t)(i ? s->piece_ns : at > 0 ? at : 0));
    }
    for (int i = 0; i < HU_SERIES_POINTS; i++) {
        const int64_t value = llround(s->at[i].most * scale);

        put_varint(e, &e->counters, zigzag(value - last));
        last = value;
    }
}

/* What the file itself counted, sample by sample, thinned where there are too many. */
static void put_samples(encoder *e)
{
    size_t           n, n_tracks;
    const hu_sample *samples = hu_trace_samples(e->trace, &n);
    const hu_track  *tracks = hu_trace_tracks(e->trace, &n_tracks);
    const size_t     every = n / (e->options->pixels ? MAX_SAMPLES / 10 : MAX_SAMPLES) + 1;

    for (size_t t = 0; t < n_tracks; t++) {
        size_t  kept = 0, seen = 0;
        int64_t last = 0;

        for (size_t i = 0; tracks[t].type == HU_TRACK_COUNTER && i < n; i++)
            kept += samples[i].track == t && isfinite(samples[i].value) && seen++ % every == 0;
        if (!kept)
            continue;
        write_counter_head(e, hu_trace_text(e->trace, tracks[t].name), "", kept, 1000);
        for (int pass = 0; pass < 2; pass++) {
            seen = 0;
            last = 0;
            for (size_t i = 0; i < n; i++) {
                int64_t value;

                if (samples[i].track != t || !isfinite(samples[i].value) || seen++ % every)
                    continue;
                value = pass ? llround(fmin(fmax(samples[i].value, -1e12), 1e12) * 1000) : samples[i].time_ns - e->origin_ns;
                put_varint(e, &e->counters, pass ? zigzag(value - last) : (uint64_t)(value > last ? value - last : 0));
                last = pass || value > last ? value : last;
            }
        }
    }
}

static void put_counters(encoder *e)
{
    const hu_digest *d = e->digest;

    hu_json_open(&e->head, "counters", '[');
    put_series(e, HU_STR("launched, not started"), "count", &d->launches.queue, 1);
    for (size_t i = 0; i < d->memory.n; i++) {
        char   text[96];
        hu_str pool = d->memory.at[i].name;

        snprintf(text, sizeof text, "memory allocated, %.*s", HU_FMT(pool));
        put_series(e, hu_str_of(text), "bytes", &d->memory.at[i].allocated, 1);
        snprintf(text, sizeof text, "memory reserved, %.*s", HU_FMT(pool));
        if (d->memory.at[i].reserved_bytes > 0)
            put_series(e, hu_str_of(text), "bytes", &d->memory.at[i].reserved, 1);
    }
    put_samples(e);
    hu_json_close(&e->head, ']');
}

static void write_about(encoder *e, hu_timeline *out)
{
    const hu_trace_info *info = hu_trace_get_info(e->trace);
    hu_json_out         *j = &e->head;
    char                 text[HU_NUMBER_BYTES];

    hu_json_int(j, "version", 1);
    hu_json_int(j, "rank", info->rank);
    hu_json_str(j, "host", info->host);
    hu_json_str(j, "base_ns", (hu_str){text, hu_format_i64(text, info->base_ns + e->origin_ns)});
    hu_json_int(j, "slices", e->seen.n);
    hu_json_int(j, "of", (int64_t)e->windows.n_slices);
    hu_json_int(j, "least", e->sight.least_ns);
    hu_json_str(j, "left_out", hu_str_of(out->left_out));
    hu_json_open(j, "windows", '[');
    for (size_t i = 0; i < e->windows.n; i++) {
        hu_json_open(j, NULL, '[');
        hu_json_int(j, NULL, e->windows.at[i].start_ns);
        hu_json_int(j, NULL, e->windows.at[i].end_ns);
        hu_json_close(j, ']');
    }
    hu_json_close(j, ']');
}

/* Everything behind each other in one text. */
static int join(encoder *e, hu_str head, hu_str *out, hu_error *err)
{
    const column *columns[] = {&e->start, &e->dur, &e->label, &e->note, &e->link, &e->counters, &e->row};
    column        all = {0};
    size_t        bytes = head.n + 10 + e->samples.n + e->allocations.n;

    for (size_t i = 0; i < HU_COUNT(columns); i++)
        bytes += columns[i]->n;
    if (!hu_vec_reserve(e->scratch, &all, bytes))
        return hu_fail_memory(err);
    put_varint(e, &all, head.n);
    memcpy(all.at + all.n, head.p, head.n);
    all.n += head.n;
    for (size_t i = 0; i < HU_COUNT(columns); i++) {
        if (columns[i]->n)
            memcpy(all.at + all.n, columns[i]->at, columns[i]->n);
        all.n += columns[i]->n;
    }
    if (e->samples.n)
        memcpy(all.at + all.n, e->samples.p, e->samples.n);
    all.n += e->samples.n;
    if (e->allocations.n)
        memcpy(all.at + all.n, e->allocations.p, e->allocations.n);
    all.n += e->allocations.n;
    *out = (hu_str){(const char *)all.at, all.n};
    return 0;
}

/* How long what was asked for is. */
static int64_t span_ns(const encoder *e)
{
    int64_t last = e->origin_ns;

    if (e->options->to_ns > e->options->from_ns)
        return e->options->to_ns - e->options->from_ns;
    for (size_t i = 0; i < e->s.n; i++)
        last = e->s.start_ns[i] + e->s.dur_ns[i] > last ? e->s.start_ns[i] + e->s.dur_ns[i] : last;
    return last - e->origin_ns;
}

static int encode(encoder *e, hu_out *text, hu_timeline *out, hu_error *err)
{
    uint8_t *rows = NULL;
    int      rc;

    if (!e->options->index && !hu_nest_rows(e->trace, &rows, e->scratch))
        return hu_fail_memory(err);
    e->sight = (hu_sight){.trace = e->trace,
                          .index = e->options->index,
                          .windows = &e->windows,
                          .rows = e->options->index ? hu_sight_rows(e->options->index) : rows,
                          .origin_ns = e->origin_ns,
                          .least_ns = e->options->pixels > 0 ? span_ns(e) / e->options->pixels : 0};
    if ((rc = hu_windows_choose(e->trace, &e->digest->steps, e->origin_ns, e->options->from_ns, e->options->to_ns,
                                e->options->most, e->scratch, &e->windows, err)) < 0 ||
        (rc = hu_sight_choose(&e->sight, e->scratch, &e->seen, err)) < 0 ||
        (rc = hu_notes_init(&e->notes, e->trace, e->scratch, err)) < 0)
        return rc;
    e->last_label = hu_arena_calloc(e->scratch, (size_t)hu_trace_string_count(e->trace) + 1, sizeof *e->last_label);
    if (!e->last_label || !hu_map_init(&e->label_of, e->scratch, 1024))
        return hu_fail_memory(err);
    hu_windows_say(&e->windows, &e->digest->steps, e->seen.n, out->left_out, sizeof out->left_out);
    e->head = (hu_json_out){.out = text, .is_empty = true};
    hu_json_open(&e->head, NULL, '{');
    write_about(e, out);
    put_tracks(e);
    write_scenarios(e);
    write_proofs(e);
    write_labels(e);
    write_steps(e);
    put_counters(e);
    if (e->options->pixels == 0 &&
        ((rc = hu_samples_encode(e->trace, e->origin_ns, e->scratch, &e->head, &e->samples, err)) < 0 ||
         (rc = hu_allocations_encode(e->trace, e->digest, &e->seen, e->origin_ns, e->scratch, &e->head, &e->allocations,
                                     err)) < 0))
        return rc;
    hu_json_close(&e->head, '}');
    for (size_t i = 0; i < e->options->n_scenarios; i++)
        out->scenarios[out->n_scenarios++] = e->options->scenarios[i].rule;
    out->n = e->seen.n;
    return e->failed || e->notes.failed ? hu_fail_memory(err) : 0;
}

/* Tracks are sorted.  What has no slices, a memory snapshot for instance, begins with its first allocation. */
static int64_t first_start_ns(const encoder *e)
{
    size_t                 n, n_memory;
    const hu_track        *tracks = hu_trace_tracks(e->trace, &n);
    const hu_memory_event *memory = hu_trace_memory(e->trace, &n_memory);
    const uint32_t        *order = hu_trace_order(e->trace);
    int64_t                first = INT64_MAX;

    for (size_t t = 0; t < n; t++)
        if (tracks[t].count && e->s.start_ns[order[tracks[t].first]] < first)
            first = e->s.start_ns[order[tracks[t].first]];
    for (size_t i = 0; i < n_memory && e->s.n == 0; i++)
        first = memory[i].time_ns < first ? memory[i].time_ns : first;
    return first == INT64_MAX ? 0 : first;
}

int hu_timeline_encode(const hu_trace *trace, const hu_digest *d, const hu_timeline_options *options, hu_arena *arena,
                       hu_arena *scratch, hu_timeline *out, hu_error *err)
{
    encoder e = {.trace = trace, .digest = d, .options = options, .scratch = scratch, .s = hu_trace_slices(trace)};
    hu_out *text = hu_out_open_memory(scratch);
    hu_str  head, bytes;
    int     rc;

    if (!text)
        return hu_fail_memory(err);
    e.origin_ns = first_start_ns(&e);
    *out = (hu_timeline){.origin_ns = e.origin_ns};
    rc = encode(&e, text, out, err);
    if (rc < 0) {
        hu_out_abandon(text);
        return rc;
    }
    if ((rc = hu_out_take(text, &head, err)) < 0 || (rc = join(&e, head, &bytes, err)) < 0)
        return rc;
    out->raw_bytes = bytes.n;
    return hu_pack_gzip(bytes, arena, &out->bytes, err);
}
