/* SPDX-License-Identifier: Apache-2.0
 * builder.c - appends rows to columns; whatever can be derived is derived once, at freeze.
 *
 * The importer calls this some million times a second, so the common path is a handful of stores: room for a slice is
 * made for all columns at once, and the track of an event is nearly always the one of the event before.
 */
#include "trace/builder.h"

#include "base/hash.h"
#include "base/sort.h"
#include "trace/columns.h"
#include "trace/device_rows.h"

enum {
    FIRST_SLICES = 4096,
    FIRST_TRACK_SLOTS = 64,
    SEEN_SLOTS = 4096,
};

/* Tables whose rows come again and again: a kernel is launched a million times in a dozen ways. */
enum { SEEN_OPS, SEEN_KERNELS, SEEN_COPIES, SEEN_CALLS, SEEN_TABLES };

/* Ids beyond 32 bits are rare (some writers hash); they get numbers from the top, where no profiler counts. */
static const uint32_t FIRST_WIDE_ID = 0xffff0000u;

static const int64_t LONGEST_NS = INT64_C(7) * 24 * 3600 * 1000000000; /* a week, as for complete events */

typedef struct {
    uint32_t slice, below; /* below: the open slice under it on the same track, or HU_NONE */
} open_slice;

typedef struct {
    hu_builder_id pid, tid; /* tid unused when it names a process */
    uint32_t      name;
} pending_name;

typedef struct {
    int64_t  pid, parent_pid;
    uint32_t command;
} described_process;

struct hu_builder {
    hu_trace *trace; /* its arena holds everything but the builder's own tables */
    hu_arena *scratch;
    hu_limits limits;
    hu_error  error;
    hu_str    name;
    uint32_t *track_slots; /* 1 + track; 0 free */
    size_t    track_mask;
    uint32_t  last_track;
    hu_map    wide_ids;
    uint32_t  n_wide;
    hu_map    open_top; /* track -> innermost open begin */
    hu_map    stack_of; /* hash of a call chain's last step -> 1 + row */
    HU_VEC(open_slice) open;
    HU_VEC(pending_name) thread_names;
    HU_VEC(pending_name) process_names;
    HU_VEC(described_process) processes;
    hu_map    process_of;        /* number -> row of `processes` */
    uint32_t *seen[SEEN_TABLES]; /* hash of a row -> 1 + the last row with it; 0 none */
};

static void no_memory(hu_builder *b)
{
    if (!b->error.code)
        hu_fail_memory(&b->error);
}

static bool failed(const hu_builder *b)
{
    return b->error.code != 0;
}

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
    for (size_t i = 0; i < SEEN_TABLES; i++)
        if (!(b->seen[i] = hu_arena_calloc(scratch, SEEN_SLOTS, sizeof *b->seen[i])))
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

uint32_t hu_builder_intern(hu_builder *b, hu_str text)
{
    uint32_t id;

    if (failed(b))
        return 0;
    id = hu_intern_add(&b->trace->strings, text);
    if (id == UINT32_MAX) {
        no_memory(b);
        return 0;
    }
    if (b->trace->strings.bytes > (uint64_t)b->limits.string_bytes)
        hu_builder_fail(b, HU_ELIMIT, HU_NO_OFFSET,
                        "the names in this file exceed the memory limit; raise --limit string_bytes=N");
    return id;
}

void hu_builder_alias(hu_builder *b, hu_alias kind, uint32_t name, uint32_t alias)
{
    uint32_t *place;

    if (failed(b) || alias == 0)
        return;
    place = hu_map_put(&b->trace->aliases, (uint64_t)kind << 32 | name);
    if (!place)
        no_memory(b);
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
        no_memory(b);
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

static uint32_t find_track(hu_builder *b, const hu_track *want)
{
    hu_trace *t = b->trace;
    size_t    at;

    if (b->last_track != HU_NONE && same_track(&t->tracks.at[b->last_track], want))
        return b->last_track;
    for (at = track_hash(want) & b->track_mask; b->track_slots[at]; at = (at + 1) & b->track_mask)
        if (same_track(&t->tracks.at[b->track_slots[at] - 1], want))
            return b->last_track = b->track_slots[at] - 1;
    if (failed(b) || !hu_vec_push(t->arena, &t->tracks, *want)) {
        no_memory(b);
        return 0;
    }
    b->track_slots[at] = (uint32_t)t->tracks.n;
    b->last_track = (uint32_t)t->tracks.n - 1;
    if (t->tracks.n * 2 > b->track_mask && !grow_track_slots(b))
        no_memory(b);
    return b->last_track;
}

uint32_t hu_builder_track(hu_builder *b, hu_track_type type, hu_builder_id pid, hu_builder_id tid)
{
    return find_track(b, &(hu_track){.type = type,
                                     .pid = pid.value,
                                     .pid_is_text = pid.is_text,
                                     .tid = tid.value,
                                     .tid_is_text = tid.is_text,
                                     .device = -1,
                                     .stream = -1});
}

uint32_t hu_builder_stream(hu_builder *b, hu_builder_id pid, int64_t device, int64_t stream)
{
    return find_track(b, &(hu_track){.type = HU_TRACK_STREAM,
                                     .pid = pid.value,
                                     .pid_is_text = pid.is_text,
                                     .tid = stream,
                                     .device = device,
                                     .stream = stream});
}

uint32_t hu_builder_counter(hu_builder *b, hu_builder_id pid, uint32_t name)
{
    const uint32_t track = find_track(b, &(hu_track){.type = HU_TRACK_COUNTER,
                                                     .pid = pid.value,
                                                     .pid_is_text = pid.is_text,
                                                     .tid = name,
                                                     .tid_is_text = true,
                                                     .device = -1,
                                                     .stream = -1});

    if (!failed(b))
        b->trace->tracks.at[track].name = name;
    return track;
}

void hu_builder_name_thread(hu_builder *b, hu_builder_id pid, hu_builder_id tid, uint32_t name)
{
    if (failed(b) || !hu_vec_push(b->scratch, &b->thread_names, ((pending_name){pid, tid, name})))
        no_memory(b);
}

void hu_builder_name_process(hu_builder *b, hu_builder_id pid, uint32_t name)
{
    if (failed(b) || !hu_vec_push(b->scratch, &b->process_names, ((pending_name){.pid = pid, .name = name})))
        no_memory(b);
}

void hu_builder_describe_process(hu_builder *b, int64_t pid, int64_t parent_pid, uint32_t command)
{
    uint32_t *place = failed(b) ? NULL : hu_map_put(&b->process_of, (uint64_t)pid);

    if (place && *place == HU_MAP_NONE && hu_vec_push(b->scratch, &b->processes, ((described_process){.pid = pid})))
        *place = (uint32_t)b->processes.n - 1;
    if (!place || *place == HU_MAP_NONE) {
        no_memory(b);
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

static bool make_room(hu_builder *b)
{
    hu_trace    *t = b->trace;
    const size_t cap = t->cap ? t->cap * 2 : FIRST_SLICES;

    if (t->n < t->cap)
        return true;
    if (t->n >= HU_NONE - 1 || (int64_t)t->n >= b->limits.events) {
        hu_builder_fail(b, HU_ELIMIT, HU_NO_OFFSET,
                        "more events than the limit; raise --limit events=N, or record fewer steps");
        return false;
    }
    if (!grow_column(t, (void **)&t->start_ns, sizeof *t->start_ns, cap) ||
        !grow_column(t, (void **)&t->dur_ns, sizeof *t->dur_ns, cap) ||
        !grow_column(t, (void **)&t->track, sizeof *t->track, cap) ||
        !grow_column(t, (void **)&t->name, sizeof *t->name, cap) || !grow_ids(t, &t->correlation, cap) ||
        !grow_ids(t, &t->external, cap) || !grow_column(t, (void **)&t->detail, sizeof *t->detail, cap) ||
        !grow_column(t, (void **)&t->kind, sizeof *t->kind, cap)) {
        no_memory(b);
        return false;
    }
    t->cap = cap;
    return true;
}

static uint32_t narrow_id(hu_builder *b, uint64_t id)
{
    uint32_t *place;

    if (id < FIRST_WIDE_ID)
        return (uint32_t)id;
    hu_quality_count(&b->trace->quality, HU_REASON_WIDE_ID, 0);
    place = hu_map_put(&b->wide_ids, id);
    if (!place) {
        no_memory(b);
        return 0;
    }
    if (*place == HU_MAP_NONE) {
        /* past 65,535 of them ids are shared no more: 0 links to nothing, which is better than to something wrong */
        *place = b->n_wide < UINT32_MAX - FIRST_WIDE_ID ? FIRST_WIDE_ID + b->n_wide : 0;
        b->n_wide++;
    }
    return *place;
}

void hu_builder_add(hu_builder *b, const hu_builder_slice *s)
{
    hu_trace *t = b->trace;
    size_t    i = t->n;

    if (failed(b) || !make_room(b))
        return;
    if ((int64_t)i >= b->limits.events) {
        hu_builder_fail(b, HU_ELIMIT, HU_NO_OFFSET,
                        "more events than the limit; raise --limit events=N, or record fewer steps");
        return;
    }
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
    if (failed(b))
        return;
    b->trace->dur_ns[b->trace->n - 1] = -1; /* open */
    top = hu_map_put(&b->open_top, slice->track);
    if (!top || !hu_vec_push(b->scratch, &b->open, ((open_slice){(uint32_t)b->trace->n - 1, *top}))) {
        no_memory(b);
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

    if (failed(b))
        return;
    top = hu_map_put(&b->open_top, track);
    if (!top) {
        no_memory(b);
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

void hu_builder_set_end(hu_builder *b, uint32_t slice, int64_t time_ns)
{
    hu_trace *t = b->trace;

    if (failed(b))
        return;
    t->dur_ns[slice] = length_of(b, t->start_ns[slice], time_ns);
    t->quality.duration_sum_ns += t->dur_ns[slice];
}

/* Appends a row and returns `base` + its number. */
#define APPEND(b, column, row, base)                                        \
    do {                                                                    \
        if (failed(b) || !hu_vec_push((b)->trace->arena, column, *(row))) { \
            no_memory(b);                                                   \
            return (base) ? 0 : HU_NONE;                                    \
        }                                                                   \
        return (uint32_t)(column)->n - 1 + (base);                          \
    } while (0)

static bool same_bytes(const void *a, const void *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

/* Returns the number of a row that was appended not long ago and has the same bytes, or appends this one. */
#define SHARE(b, table, column, row)                                                                          \
    do {                                                                                                      \
        uint32_t *place_ = &(b)->seen[table][hu_hash_bytes((const char *)(row), sizeof *(row)) % SEEN_SLOTS]; \
                                                                                                              \
        if (failed(b))                                                                                        \
            return HU_NONE;                                                                                   \
        if (*place_ && same_bytes(&(column)->at[*place_ - 1], row, sizeof *(row)))                            \
            return *place_ - 1;                                                                               \
        *place_ = (uint32_t)(column)->n + 1;                                                                  \
        APPEND(b, column, row, 0);                                                                            \
    } while (0)

/* No bytes between the members that nobody wrote. */
_Static_assert(sizeof(hu_op_detail) == 28 && sizeof(hu_kernel_detail) == 56 && sizeof(hu_copy_detail) == 32 &&
                   sizeof(hu_call_detail) == 16,
               "rows are compared byte by byte");

uint32_t hu_builder_op_detail(hu_builder *b, const hu_op_detail *row)
{
    SHARE(b, SEEN_OPS, &b->trace->ops, row);
}

uint32_t hu_builder_kernel_detail(hu_builder *b, const hu_kernel_detail *row)
{
    SHARE(b, SEEN_KERNELS, &b->trace->kernels, row);
}

uint32_t hu_builder_copy_detail(hu_builder *b, const hu_copy_detail *row)
{
    SHARE(b, SEEN_COPIES, &b->trace->copies, row);
}

uint32_t hu_builder_call_detail(hu_builder *b, const hu_call_detail *row)
{
    SHARE(b, SEEN_CALLS, &b->trace->calls, row);
}

uint32_t hu_builder_sync_detail(hu_builder *b, const hu_sync_detail *row)
{
    APPEND(b, &b->trace->syncs, row, 0);
}

uint32_t hu_builder_python_detail(hu_builder *b, const hu_python_detail *row)
{
    APPEND(b, &b->trace->pythons, row, 0);
}

uint32_t hu_builder_os_detail(hu_builder *b, const hu_os_detail *row)
{
    APPEND(b, &b->trace->os_calls, row, 0);
}

uint32_t hu_builder_omp_detail(hu_builder *b, const hu_omp_detail *row)
{
    APPEND(b, &b->trace->omps, row, 0);
}

uint32_t hu_builder_os_detail_like(hu_builder *b, uint32_t row, int64_t bytes)
{
    hu_os_detail like = b->trace->os_calls.at[row];

    like.bytes = bytes;
    return hu_builder_os_detail(b, &like);
}

uint32_t hu_builder_mpi_detail(hu_builder *b, const hu_mpi_detail *row)
{
    APPEND(b, &b->trace->mpi_calls, row, 0);
}

uint32_t hu_builder_op_extra(hu_builder *b, const hu_op_extra *row)
{
    APPEND(b, &b->trace->op_extras, row, 1);
}

uint32_t hu_builder_wait_detail(hu_builder *b, const hu_wait_detail *row)
{
    APPEND(b, &b->trace->waits, row, 1);
}

uint32_t hu_builder_geometry(hu_builder *b, const hu_geometry *row)
{
    APPEND(b, &b->trace->geometries, row, 1);
}

uint32_t hu_builder_collective_detail(hu_builder *b, const hu_collective_detail *row)
{
    APPEND(b, &b->trace->collectives, row, 1);
}

void hu_builder_memory(hu_builder *b, const hu_memory_event *event)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->memory, *event))
        no_memory(b);
}

uint32_t hu_builder_memory_count(const hu_builder *b)
{
    return (uint32_t)b->trace->memory.n;
}

void hu_builder_managed(hu_builder *b, const hu_managed_event *event)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->managed, *event))
        no_memory(b);
}

void hu_builder_segment(hu_builder *b, const hu_memory_segment *segment)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->segments, *segment))
        no_memory(b);
}

void hu_builder_block(hu_builder *b, const hu_memory_block *row)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->blocks, *row))
        no_memory(b);
}

void hu_builder_memory_action(hu_builder *b, const hu_memory_action *row)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->memory_actions, *row))
        no_memory(b);
}

void hu_builder_memory_mark(hu_builder *b, const hu_memory_mark *row)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->memory_marks, *row))
        no_memory(b);
}

uint32_t hu_builder_cpu_stack(hu_builder *b, const hu_cpu_stack *stack)
{
    uint64_t key = hu_hash_mix((uint64_t)stack->caller << 32 | stack->function, stack->module ^ 0x9e3779b97f4a7c15u);

    for (; !failed(b); key++) {
        uint32_t           *place = hu_map_put(&b->stack_of, key);
        const hu_cpu_stack *known;

        if (!place || (*place == HU_MAP_NONE && !hu_vec_push(b->trace->arena, &b->trace->cpu_stacks, *stack))) {
            no_memory(b);
            break;
        }
        if (*place == HU_MAP_NONE)
            return *place = (uint32_t)b->trace->cpu_stacks.n;
        known = &b->trace->cpu_stacks.at[*place - 1];
        if (known->caller == stack->caller && known->function == stack->function && known->module == stack->module)
            return *place;
    }
    return 0;
}

void hu_builder_cpu_sample(hu_builder *b, const hu_cpu_sample *sample)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->cpu_samples, *sample))
        no_memory(b);
}

void hu_builder_stretch(hu_builder *b, const hu_stretch *stretch)
{
    if (stretch->end_ns > stretch->start_ns && (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->stretches, *stretch)))
        no_memory(b);
}

void hu_builder_sample(hu_builder *b, uint32_t track, int64_t time_ns, double value)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->samples, ((hu_sample){time_ns, track, value})))
        no_memory(b);
}

void hu_builder_wake(hu_builder *b, const hu_wakeup *wake)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->wakes, *wake))
        no_memory(b);
}

void hu_builder_flow(hu_builder *b, const hu_flow *flow)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->flows, *flow))
        no_memory(b);
}

void hu_builder_device(hu_builder *b, const hu_device *device)
{
    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->devices, *device))
        no_memory(b);
}

void hu_builder_metadata(hu_builder *b, hu_str key, hu_str json)
{
    const hu_metadata row = {hu_builder_intern(b, key), hu_builder_intern(b, json)};

    if (failed(b) || !hu_vec_push(b->trace->arena, &b->trace->metadata, row))
        no_memory(b);
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

const hu_os_detail *hu_builder_get_os_detail(const hu_builder *b, uint32_t row)
{
    return &b->trace->os_calls.at[row];
}

bool hu_builder_list_moments(const hu_builder *b, hu_arena *arena, hu_builder_moments *out)
{
    const hu_trace *t = b->trace;

    *out = (hu_builder_moments){.n_tracks = t->tracks.n};
    out->at = hu_arena_grow(arena, NULL, (2 * t->n + 1) * sizeof *out->at);
    out->first = hu_arena_grow(arena, NULL, (t->tracks.n + 2) * sizeof *out->first);
    if (!out->at || !out->first)
        return false;
    memset(out->first, 0, (t->tracks.n + 2) * sizeof *out->first);
    for (size_t i = 0; i < t->n; i++) /* counted two places further on, so that first[t + 1] is where t is filled */
        out->first[t->track[i] + 2] += t->tracks.at[t->track[i]].type == HU_TRACK_HOST ? 2 : 0;
    for (size_t i = 2; i < t->tracks.n + 2; i++)
        out->first[i] += out->first[i - 1];
    for (size_t i = 0; i < t->n; i++) {
        if (t->tracks.at[t->track[i]].type != HU_TRACK_HOST)
            continue;
        out->at[out->first[t->track[i] + 1]++] = t->start_ns[i];
        out->at[out->first[t->track[i] + 1]++] = t->start_ns[i] + t->dur_ns[i];
    }
    for (size_t i = 0; i < t->tracks.n; i++)
        hu_sort_i64(out->at + out->first[i], out->first[i + 1] - out->first[i]);
    return true;
}

size_t hu_builder_slice_count(const hu_builder *b)
{
    return b->trace->n;
}

bool hu_builder_span(const hu_builder *b, int64_t *from_ns, int64_t *to_ns)
{
    const hu_trace *t = b->trace;

    for (size_t i = 0; i < t->n; i++) {
        const int64_t end_ns = t->start_ns[i] + t->dur_ns[i];

        *from_ns = i == 0 || t->start_ns[i] < *from_ns ? t->start_ns[i] : *from_ns;
        *to_ns = i == 0 || end_ns > *to_ns ? end_ns : *to_ns;
    }
    return t->n > 0;
}

int64_t hu_builder_only_device(const hu_builder *b)
{
    const hu_trace *t = b->trace;
    int64_t         device = -1;

    for (size_t i = 0; i < t->tracks.n; i++) {
        if (t->tracks.at[i].type != HU_TRACK_STREAM)
            continue;
        if (device >= 0 && t->tracks.at[i].device != device)
            return -1;
        device = t->tracks.at[i].device;
    }
    return device;
}

void hu_builder_count_kinds(const hu_builder *b, int64_t counts[HU_KIND_COUNT])
{
    memset(counts, 0, HU_KIND_COUNT * sizeof *counts);
    for (size_t i = 0; i < b->trace->n; i++)
        counts[b->trace->kind[i]]++;
}

size_t hu_builder_track_count(const hu_builder *b, hu_track_type type)
{
    size_t n = 0;

    for (size_t i = 0; i < b->trace->tracks.n; i++)
        n += b->trace->tracks.at[i].type == type;
    return n;
}

size_t hu_builder_step_count(const hu_builder *b)
{
    const hu_trace *t = b->trace;
    size_t          n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->kind[i] == HU_KIND_USER && hu_str_starts(hu_intern_get(&t->strings, t->name[i]), HU_STR("ProfilerStep#"));
    return n;
}

const hu_device *hu_builder_devices(const hu_builder *b, size_t *n)
{
    *n = b->trace->devices.n;
    return b->trace->devices.at;
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
        no_memory(b);
        return;
    }
    for (size_t i = 0; i < b->process_names.n; i++) {
        const pending_name *p = &b->process_names.at[i];
        uint32_t           *place = hu_map_put(&processes, (uint64_t)p->pid.value << 1 ^ p->pid.is_text);

        if (!place) {
            no_memory(b);
            return;
        }
        *place = p->name;
    }
    for (size_t i = 0; i < b->thread_names.n; i++) {
        const pending_name *p = &b->thread_names.at[i];
        hu_track            want = {.pid = p->pid.value,
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
    if (b->process_names.n == 0 || failed(b))
        return;
    apply_names(b);
    hu_device_rows_settle(b->trace, reader);
}

hu_trace *hu_builder_freeze(hu_builder *b, hu_error *err)
{
    hu_trace *t = b->trace;
    int       rc;

    if (!failed(b)) {
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
