/* SPDX-License-Identifier: Apache-2.0
 * builder.c - appends rows to columns; whatever can be derived is derived once, at freeze.
 *
 * The importer calls this some million times a second, so the common path is a handful of stores: room for a slice is
 * made for all columns at once, and the track of an event is nearly always the one of the event before.
 */
#include "base/hash.h"
#include "trace/builder_state.h"
#include "trace/device_rows.h"

enum {
    FIRST_SLICES = 4096,
    FIRST_TRACK_SLOTS = 64,
};

static const int64_t LONGEST_NS = INT64_C(7) * 24 * 3600 * 1000000000; /* a week, as for complete events */

hu_builder *hu_builder_new(const char *name, const hu_limits *limits)
{
    hu_arena   *arena = hu_arena_new(), *scratch = hu_arena_new();
    hu_trace   *t = arena ? hu_arena_calloc(arena, 1, sizeof *t) : NULL;
    hu_builder *b = scratch ? hu_arena_calloc(scratch, 1, sizeof *b) : NULL;

    if (!t || !b)
        goto fail;
    t->arena = arena;
    b->trace = t;
    b->scratch = scratch;
    b->limits = *limits;
    b->last_track = HU_NONE;
    b->name = hu_arena_copy(arena, hu_str_of(name));
    b->track_slots = hu_arena_grow(scratch, NULL, FIRST_TRACK_SLOTS * sizeof *b->track_slots);
    if (!b->name.p || !b->track_slots || !hu_intern_init(&t->strings, arena) || !hu_map_init(&t->aliases, arena, 0) ||
        !hu_map_init(&b->wide_ids, scratch, 0) || !hu_map_init(&b->open_top, scratch, 0) ||
        !hu_map_init(&b->stack_of, scratch, 0) || !hu_map_init(&b->process_of, scratch, 0))
        goto fail;
    memset(b->track_slots, 0, FIRST_TRACK_SLOTS * sizeof *b->track_slots);
    for (size_t i = 0; i < HU_SEEN_TABLES; i++)
        if (!(b->seen[i] = hu_arena_calloc(scratch, HU_SEEN_SLOTS, sizeof *b->seen[i])))
            goto fail;
    b->track_mask = FIRST_TRACK_SLOTS - 1;
    t->info = (hu_trace_info){.file = b->name, .cpus = limits->cpus, .rank = -1, .world_size = -1, .schema_version = -1};
    return b;
fail:
    hu_arena_free(arena);
    hu_arena_free(scratch);
    return NULL;
}

void hu_builder_free(hu_builder *b)
{
    if (!b)
        return;
    if (b->trace->strings.texts != b->trace->arena)
        hu_arena_free(b->trace->strings.texts);
    hu_arena_free(b->trace->arena);
    hu_arena_free(b->scratch);
}

int hu_builder_status(const hu_builder *b, hu_error *err)
{
    if (b->error.code && err)
        *err = b->error;
    return b->error.code;
}

int hu_builder_fail(hu_builder *b, int code, int64_t offset, const char *text)
{
    if (!b->error.code)
        hu_fail(&b->error, code, b->name.p, offset, "%s", text);
    return b->error.code;
}

void hu_builder_fail_texts(hu_builder *b)
{
    hu_builder_fail(b, HU_ELIMIT, HU_NO_OFFSET,
                    "the names in this file exceed the memory limit; raise --limit string_bytes=N");
}

uint32_t hu_builder_intern(hu_builder *b, hu_str text)
{
    uint32_t id;

    if (hu_builder_failed(b))
        return 0;
    id = hu_intern_add(&b->trace->strings, text);
    if (id == UINT32_MAX) {
        hu_builder_no_memory(b);
        return 0;
    }
    if (b->trace->strings.bytes > (uint64_t)b->limits.string_bytes)
        hu_builder_fail_texts(b);
    return id;
}

void hu_builder_alias(hu_builder *b, hu_alias kind, uint32_t name, uint32_t alias)
{
    uint32_t *place;

    if (hu_builder_failed(b) || alias == 0)
        return;
    place = hu_map_put(&b->trace->aliases, (uint64_t)kind << 32 | name);
    if (!place)
        hu_builder_no_memory(b);
    else
        *place = *place == HU_MAP_NONE || *place == alias ? alias : 0;
}

hu_str hu_builder_text(const hu_builder *b, uint32_t id)
{
    return hu_intern_get(&b->trace->strings, id);
}

hu_str hu_builder_keep(hu_builder *b, hu_str text)
{
    hu_str kept = hu_arena_copy(b->trace->arena, text);

    if (!kept.p) {
        hu_builder_no_memory(b);
        return HU_STR("");
    }
    return kept;
}

static uint64_t track_hash(const hu_track *t)
{
    uint64_t h = hu_hash_mix((uint64_t)t->pid ^ 0x9e3779b97f4a7c15u, (uint64_t)t->tid ^ 0xd6e8feb86659fd93u);

    h = hu_hash_mix(h ^ (uint64_t)t->device, (uint64_t)t->stream ^ 0xa0761d6478bd642fu);
    return h ^ (uint64_t)t->type << 3 ^ (uint64_t)t->pid_is_text << 1 ^ (uint64_t)t->tid_is_text;
}

static bool same_track(const hu_track *a, const hu_track *b)
{
    return a->tid == b->tid && a->pid == b->pid && a->device == b->device && a->stream == b->stream && a->type == b->type &&
           a->pid_is_text == b->pid_is_text && a->tid_is_text == b->tid_is_text;
}

static bool grow_track_slots(hu_builder *b)
{
    const size_t slots = (b->track_mask + 1) * 2;
    uint32_t    *fresh = hu_arena_grow(b->scratch, NULL, slots * sizeof *fresh);

    if (!fresh)
        return false;
    memset(fresh, 0, slots * sizeof *fresh);
    for (size_t i = 0; i < b->trace->tracks.n; i++) {
        size_t at = track_hash(&b->trace->tracks.at[i]) & (slots - 1);

        while (fresh[at])
            at = (at + 1) & (slots - 1);
        fresh[at] = (uint32_t)i + 1;
    }
    hu_arena_drop(b->scratch, b->track_slots);
    b->track_slots = fresh;
    b->track_mask = slots - 1;
    return true;
}

/* Its number, or HU_NONE and where it would stand. */
static uint32_t look_up(const hu_builder *b, const hu_track *want, size_t *at)
{
    for (*at = track_hash(want) & b->track_mask; b->track_slots[*at]; *at = (*at + 1) & b->track_mask)
        if (same_track(&b->trace->tracks.at[b->track_slots[*at] - 1], want))
            return b->track_slots[*at] - 1;
    return HU_NONE;
}

uint32_t hu_builder_find_track(hu_builder *b, const hu_track *want)
{
    hu_trace *t = b->trace;
    uint32_t  known;
    size_t    at;

    if (b->last_track != HU_NONE && same_track(&t->tracks.at[b->last_track], want))
        return b->last_track;
    known = look_up(b, want, &at);
    if (known != HU_NONE)
        return b->last_track = known;
    if (hu_builder_failed(b) || !hu_vec_push(t->arena, &t->tracks, *want)) {
        hu_builder_no_memory(b);
        return 0;
    }
    b->track_slots[at] = (uint32_t)t->tracks.n;
    b->last_track = (uint32_t)t->tracks.n - 1;
    if (t->tracks.n * 2 > b->track_mask && !grow_track_slots(b))
        hu_builder_no_memory(b);
    return b->last_track;
}

static hu_track row_of(hu_track_type type, hu_builder_id pid, hu_builder_id tid)
{
    return (hu_track){.type = type,
                      .pid = pid.value,
                      .pid_is_text = pid.is_text,
                      .tid = tid.value,
                      .tid_is_text = tid.is_text,
                      .device = -1,
                      .stream = -1};
}

uint32_t hu_builder_track(hu_builder *b, hu_track_type type, hu_builder_id pid, hu_builder_id tid)
{
    const hu_track row = row_of(type, pid, tid);

    return hu_builder_find_track(b, &row);
}

uint32_t hu_builder_stream(hu_builder *b, hu_builder_id pid, int64_t device, int64_t stream)
{
    return hu_builder_find_track(b, &(hu_track){.type = HU_TRACK_STREAM,
                                                .pid = pid.value,
                                                .pid_is_text = pid.is_text,
                                                .tid = stream,
                                                .device = device,
                                                .stream = stream});
}

uint32_t hu_builder_counter(hu_builder *b, hu_builder_id pid, uint32_t name)
{
    const uint32_t track = hu_builder_find_track(b, &(hu_track){.type = HU_TRACK_COUNTER,
                                                                .pid = pid.value,
                                                                .pid_is_text = pid.is_text,
                                                                .tid = name,
                                                                .tid_is_text = true,
                                                                .device = -1,
                                                                .stream = -1});

    if (!hu_builder_failed(b))
        b->trace->tracks.at[track].name = name;
    return track;
}

void hu_builder_name_thread(hu_builder *b, hu_builder_id pid, hu_builder_id tid, uint32_t name)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->scratch, &b->thread_names, ((hu_pending_name){pid, tid, name})))
        hu_builder_no_memory(b);
}

void hu_builder_mark_step(hu_builder *b)
{
    b->n_marked++;
}

void hu_builder_name_track(hu_builder *b, uint32_t track, uint32_t name)
{
    if (!hu_builder_failed(b))
        b->trace->tracks.at[track].name = name;
}

void hu_builder_name_process(hu_builder *b, hu_builder_id pid, uint32_t name)
{
    if (hu_builder_failed(b) || !hu_vec_push(b->scratch, &b->process_names, ((hu_pending_name){.pid = pid, .name = name})))
        hu_builder_no_memory(b);
}

void hu_builder_describe_process(hu_builder *b, int64_t pid, int64_t parent_pid, uint32_t command)
{
    uint32_t *place = hu_builder_failed(b) ? NULL : hu_map_put(&b->process_of, (uint64_t)pid);

    if (place && *place == HU_MAP_NONE && hu_vec_push(b->scratch, &b->processes, ((hu_described_process){.pid = pid})))
        *place = (uint32_t)b->processes.n - 1;
    if (!place || *place == HU_MAP_NONE) {
        hu_builder_no_memory(b);
        return;
    }
    if (parent_pid)
        b->processes.at[*place].parent_pid = parent_pid;
    if (command)
        b->processes.at[*place].command = command;
}

static bool grow_column(hu_trace *t, void **column, size_t item, size_t cap)
{
    size_t bytes;
    void  *p = hu_mul_size(item, cap, &bytes) ? hu_arena_grow(t->arena, *column, bytes) : NULL;

    if (p)
        *column = p;
    return p != NULL;
}

/* Most events have no such number, so it is only written where it is not 0. */
static bool grow_ids(hu_trace *t, uint32_t **column, size_t cap)
{
    size_t    bytes;
    uint32_t *p = hu_mul_size(sizeof *p, cap, &bytes) ? hu_arena_grow_cleared(t->arena, *column, t->cap * sizeof *p, bytes)
                                                      : NULL;

    if (p)
        *column = p;
    return p != NULL;
}

static bool fail_events(hu_builder *b)
{
    hu_builder_fail(b, HU_ELIMIT, HU_NO_OFFSET, "more events than the limit; raise --limit events=N, or record fewer steps");
    return false;
}

static bool grow_columns(hu_builder *b, size_t want)
{
    hu_trace *t = b->trace;
    size_t    cap = t->cap ? t->cap : FIRST_SLICES;

    while (cap < want)
        cap *= 2;
    if (!grow_column(t, (void **)&t->start_ns, sizeof *t->start_ns, cap) ||
        !grow_column(t, (void **)&t->dur_ns, sizeof *t->dur_ns, cap) ||
        !grow_column(t, (void **)&t->track, sizeof *t->track, cap) ||
        !grow_column(t, (void **)&t->name, sizeof *t->name, cap) || !grow_ids(t, &t->correlation, cap) ||
        !grow_ids(t, &t->external, cap) || !grow_column(t, (void **)&t->detail, sizeof *t->detail, cap) ||
        !grow_column(t, (void **)&t->kind, sizeof *t->kind, cap)) {
        hu_builder_no_memory(b);
        return false;
    }
    t->cap = cap;
    return true;
}

bool hu_builder_make_room(hu_builder *b, size_t more)
{
    const size_t want = b->trace->n + more;

    if (want >= HU_NONE || (int64_t)want > b->limits.events)
        return fail_events(b);
    return want <= b->trace->cap || grow_columns(b, want);
}

uint32_t hu_builder_number_wide(hu_builder *b, uint64_t id)
{
    uint32_t *place = hu_map_put(&b->wide_ids, id);

    if (place && *place != HU_MAP_NONE)
        return *place;
    /* past 65,535 of them ids are shared no more: 0 links to nothing, which is better than to something wrong */
    if (place && b->wide.n == UINT32_MAX - HU_FIRST_WIDE_ID)
        return *place = 0;
    if (!place || !hu_vec_push(b->scratch, &b->wide, id)) {
        hu_builder_no_memory(b);
        return 0;
    }
    return *place = HU_FIRST_WIDE_ID + (uint32_t)b->wide.n - 1;
}

static uint32_t narrow_id(hu_builder *b, uint64_t id)
{
    if (id < HU_FIRST_WIDE_ID)
        return (uint32_t)id;
    hu_quality_count(&b->trace->quality, HU_REASON_WIDE_ID, 0);
    return hu_builder_number_wide(b, id);
}

void hu_builder_add(hu_builder *b, const hu_builder_slice *s)
{
    hu_trace *t = b->trace;
    size_t    i = t->n;

    if (hu_builder_failed(b) || !hu_builder_make_room(b, 1))
        return;
    t->start_ns[i] = s->start_ns;
    t->dur_ns[i] = s->dur_ns;
    t->track[i] = s->track;
    t->name[i] = s->name;
    if (s->correlation)
        t->correlation[i] = narrow_id(b, s->correlation);
    if (s->external)
        t->external[i] = narrow_id(b, s->external);
    t->detail[i] = s->detail;
    t->kind[i] = (uint8_t)s->kind;
    t->n = i + 1;
}

void hu_builder_begin(hu_builder *b, const hu_builder_slice *slice)
{
    uint32_t *top;

    hu_builder_add(b, slice);
    if (hu_builder_failed(b))
        return;
    b->trace->dur_ns[b->trace->n - 1] = -1; /* open */
    top = hu_map_put(&b->open_top, slice->track);
    if (!top || !hu_vec_push(b->scratch, &b->open, ((hu_open_slice){(uint32_t)b->trace->n - 1, *top}))) {
        hu_builder_no_memory(b);
        return;
    }
    *top = (uint32_t)b->open.n - 1;
}

/* Between a beginning and its end; what cannot be is counted and 0. */
static int64_t length_of(hu_builder *b, int64_t from_ns, int64_t to_ns)
{
    int64_t dur_ns;

    if (__builtin_sub_overflow(to_ns, from_ns, &dur_ns) || dur_ns < 0) {
        hu_quality_count(&b->trace->quality, HU_REASON_NEGATIVE_DURATION, 0);
        return 0;
    }
    if (dur_ns > LONGEST_NS) {
        hu_quality_count(&b->trace->quality, HU_REASON_ABSURD_DURATION, 0);
        return 0;
    }
    return dur_ns;
}

void hu_builder_end(hu_builder *b, uint32_t track, int64_t time_ns)
{
    hu_trace *t = b->trace;
    uint32_t *top, slice;

    if (hu_builder_failed(b))
        return;
    top = hu_map_put(&b->open_top, track);
    if (!top) {
        hu_builder_no_memory(b);
        return;
    }
    if (*top == HU_MAP_NONE) {
        hu_quality_count(&t->quality, HU_REASON_UNMATCHED_END, 0);
        return;
    }
    slice = b->open.at[*top].slice;
    t->dur_ns[slice] = length_of(b, t->start_ns[slice], time_ns);
    *top = b->open.at[*top].below;
}

void hu_builder_end_row(hu_builder *b, hu_builder_id pid, hu_builder_id tid, int64_t time_ns)
{
    static const hu_track_type types[] = {HU_TRACK_HOST, HU_TRACK_NOTE};
    uint32_t                   youngest = HU_MAP_NONE, of = HU_NONE;

    for (size_t i = 0; i < HU_COUNT(types) && !hu_builder_failed(b); i++) {
        const hu_track row = row_of(types[i], pid, tid);
        size_t         at;
        const uint32_t track = look_up(b, &row, &at);
        const uint32_t top = track == HU_NONE ? HU_MAP_NONE : hu_map_get(&b->open_top, track);

        if (top != HU_MAP_NONE && (of == HU_NONE || top > youngest)) {
            youngest = top;
            of = track;
        }
    }
    if (of == HU_NONE)
        hu_quality_count(&b->trace->quality, HU_REASON_UNMATCHED_END, 0);
    else
        hu_builder_end(b, of, time_ns);
}

void hu_builder_set_end(hu_builder *b, uint32_t slice, int64_t time_ns)
{
    hu_trace *t = b->trace;

    if (hu_builder_failed(b))
        return;
    t->dur_ns[slice] = length_of(b, t->start_ns[slice], time_ns);
    t->quality.duration_sum_ns += t->dur_ns[slice];
}

hu_trace_info *hu_builder_info(hu_builder *b)
{
    return &b->trace->info;
}

hu_quality *hu_builder_quality(hu_builder *b)
{
    return &b->trace->quality;
}

void hu_builder_truncated(hu_builder *b, int64_t offset, const char *why)
{
    hu_quality *q = &b->trace->quality;
    size_t      n = strlen(why);

    if (q->is_truncated)
        return;
    q->is_truncated = true;
    q->truncated_at = offset;
    n = n < sizeof q->truncated_why ? n : sizeof q->truncated_why - 1;
    memcpy(q->truncated_why, why, n);
    q->truncated_why[n] = '\0';
}

/* A begin without an end lasts until its file stops mentioning it: we cannot know, so it gets no length. */
static void close_open_slices(hu_builder *b)
{
    hu_trace *t = b->trace;

    for (size_t i = 0; i < b->open.n; i++) {
        if (t->dur_ns[b->open.at[i].slice] < 0) {
            t->dur_ns[b->open.at[i].slice] = 0;
            hu_quality_count(&t->quality, HU_REASON_UNMATCHED_BEGIN, 0);
        }
    }
}

static void apply_names(hu_builder *b)
{
    hu_map processes;

    if (!hu_map_init(&processes, b->scratch, b->process_names.n)) {
        hu_builder_no_memory(b);
        return;
    }
    for (size_t i = 0; i < b->process_names.n; i++) {
        const hu_pending_name *p = &b->process_names.at[i];
        uint32_t              *place = hu_map_put(&processes, (uint64_t)p->pid.value << 1 ^ p->pid.is_text);

        if (!place) {
            hu_builder_no_memory(b);
            return;
        }
        *place = p->name;
    }
    for (size_t i = 0; i < b->thread_names.n; i++) {
        const hu_pending_name *p = &b->thread_names.at[i];
        hu_track               want = {.pid = p->pid.value,
                                       .pid_is_text = p->pid.is_text,
                                       .tid = p->tid.value,
                                       .tid_is_text = p->tid.is_text,
                                       .device = -1,
                                       .stream = -1};

        for (want.type = HU_TRACK_HOST; want.type <= HU_TRACK_NOTE; want.type++) {
            for (size_t at = track_hash(&want) & b->track_mask; b->track_slots[at]; at = (at + 1) & b->track_mask)
                if (same_track(&b->trace->tracks.at[b->track_slots[at] - 1], &want))
                    b->trace->tracks.at[b->track_slots[at] - 1].name = p->name;
        }
    }
    for (size_t i = 0; i < b->trace->tracks.n; i++) {
        hu_track      *t = &b->trace->tracks.at[i];
        const uint32_t name = hu_map_get(&processes, (uint64_t)t->pid << 1 ^ t->pid_is_text);
        const uint32_t row = t->pid_is_text ? HU_MAP_NONE : hu_map_get(&b->process_of, (uint64_t)t->pid);

        t->process = name == HU_MAP_NONE ? 0 : name;
        if (row != HU_MAP_NONE) {
            t->parent_pid = b->processes.at[row].parent_pid;
            t->command = b->processes.at[row].command;
        }
    }
}

void hu_builder_settle_rows(hu_builder *b, const hu_row_reader *reader)
{
    if (hu_builder_failed(b))
        return;
    apply_names(b);
    hu_device_rows_settle(b, b->trace, reader);
}

hu_trace *hu_builder_freeze(hu_builder *b, hu_error *err)
{
    hu_trace *t = b->trace;
    int       rc;

    if (!hu_builder_failed(b)) {
        close_open_slices(b);
        apply_names(b);
        t->quality.invalid_utf8 = (int64_t)t->strings.invalid_utf8;
    }
    rc = hu_builder_status(b, err);
    if (rc == 0)
        rc = hu_index_build(t, err);
    hu_arena_free(b->scratch);
    if (rc == 0)
        return t;
    hu_arena_free(t->arena);
    return NULL;
}
