/* SPDX-License-Identifier: Apache-2.0
 * torch_snapshot.c - memory snapshots of PyTorch: torch.cuda.memory._dump_snapshot (docs/formats/torch-snapshot.md).
 *
 * A snapshot has the history of allocations, one list for each device, and the state at its end: segments that the allocator
 * holds, and the blocks in them.  A history is often a ring that lost its beginning, so what was held before is what the
 * end has beyond it.
 */
#include <stdio.h>

#include "ingest/format.h"
#include "ingest/torch_frames.h"

enum { CUDA = 1, MOST_DEVICES = 1024, US = 1000 };

typedef struct {
    hu_builder     *b;
    hu_torch_frames frames;
    hu_map          taken; /* an address -> the frames of who took it last, as 1 + place in `takers` */
    HU_VEC(const hu_value *) takers;
    hu_arena *arena;
    int64_t   held, reserved;
} reader;

static bool probe(hu_str head)
{
    const hu_str beginning = {head.p, head.n < 4096 ? head.n : 4096};

    return head.n > 2 && (unsigned char)head.p[0] == 0x80 && head.p[1] >= 2 && head.p[1] <= 5 &&
           (hu_str_has(beginning, HU_STR("segments")) || hu_str_has(beginning, HU_STR("device_traces")));
}

static hu_memory_state state_of(const hu_value *block)
{
    const hu_str state = hu_value_text(hu_value_get(block, "state"));

    if (hu_str_equal(state, HU_STR("active_allocated")))
        return HU_MEMORY_HELD;
    return hu_str_equal(state, HU_STR("active_pending_free")) || hu_str_equal(state, HU_STR("active_awaiting_free"))
               ? HU_MEMORY_GOING
               : HU_MEMORY_FREE;
}

static int64_t size_of(const hu_value *v, const char *key)
{
    const int64_t bytes = hu_value_int(hu_value_get(v, key), 0);

    return bytes > 0 && bytes < INT64_C(1) << 50 ? bytes : 0;
}

/* What a record changes: bytes that are held, and bytes that the allocator has of the device. */
static void change_of(const hu_value *record, int64_t *held, int64_t *reserved)
{
    const hu_str  action = hu_value_text(hu_value_get(record, "action"));
    const int64_t bytes = size_of(record, "size");

    *held = hu_str_equal(action, HU_STR("alloc"))            ? bytes
            : hu_str_equal(action, HU_STR("free_completed")) ? -bytes
            : hu_str_equal(action, HU_STR("free"))           ? -bytes
                                                             : 0;
    *reserved = hu_str_equal(action, HU_STR("segment_alloc")) || hu_str_equal(action, HU_STR("segment_map"))    ? bytes
                : hu_str_equal(action, HU_STR("segment_free")) || hu_str_equal(action, HU_STR("segment_unmap")) ? -bytes
                                                                                                                : 0;
}

/* Before records had times their order stands for it. */
static int64_t time_of(const hu_value *record, size_t i)
{
    const int64_t us = hu_value_int(hu_value_get(record, "time_us"), -1);

    return us >= 0 && us < INT64_MAX / (2 * US) ? us * US : (int64_t)i * US;
}

static uint64_t address_of(const hu_value *v, const char *key)
{
    return (uint64_t)hu_value_int(hu_value_get(v, key), 0);
}

static void add(reader *r, const hu_value *record, int64_t device, int64_t ns, int64_t bytes)
{
    const hu_value     *frames = hu_value_get(record, "frames");
    const hu_torch_site code = hu_torch_frames_site(&r->frames, frames);
    hu_memory_event     m = {.time_ns = ns,
                             .device_type = CUDA,
                             .device = (int32_t)device,
                             .address = address_of(record, "addr"),
                             .bytes = bytes,
                             .total_allocated = r->held,
                             .total_reserved = r->reserved,
                             .site = code.name,
                             .stack = code.stack,
                             .phase = code.phase};
    uint32_t           *taker = bytes > 0 ? hu_map_put(&r->taken, hu_hash_u64(m.address) ^ (uint64_t)device) : NULL;

    m.track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){0, false}, (hu_builder_id){device, false});
    hu_builder_memory(r->b, &m);
    if (bytes > 0 && (!taker || !hu_vec_push(r->arena, &r->takers, frames)))
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    else if (taker)
        *taker = (uint32_t)r->takers.n - 1;
}

/* What changes nothing that anybody holds. */
static void add_action(reader *r, const hu_value *record, int64_t device, int64_t ns)
{
    static const struct {
        hu_str         word;
        hu_memory_deed deed;
    } deeds[] = {
        {{"segment_alloc", 13}, HU_MEMORY_SEGMENT_ALLOC},
        {{"segment_free", 12}, HU_MEMORY_SEGMENT_FREE},
        {{"segment_map", 11}, HU_MEMORY_SEGMENT_MAP},
        {{"segment_unmap", 13}, HU_MEMORY_SEGMENT_UNMAP},
        {{"free_requested", 14}, HU_MEMORY_FREE_REQUESTED},
        {{"oom", 3}, HU_MEMORY_OOM},
        {{"snapshot", 8}, HU_MEMORY_SNAPSHOT},
    };
    const hu_str        action = hu_value_text(hu_value_get(record, "action"));
    const hu_torch_site code = hu_torch_frames_site(&r->frames, hu_value_get(record, "frames"));

    for (size_t i = 0; i < HU_COUNT(deeds); i++)
        if (hu_str_equal(action, deeds[i].word)) {
            hu_builder_memory_action(
                r->b, &(hu_memory_action){.time_ns = ns,
                                          .address = address_of(record, "addr"),
                                          .bytes = size_of(record, "size"),
                                          .device_free = hu_value_int(hu_value_get(record, "device_free"), -1),
                                          .device_type = CUDA,
                                          .device = (int32_t)device,
                                          .after = hu_builder_memory_count(r->b),
                                          .site = code.name,
                                          .stack = code.stack,
                                          .deed = (uint8_t)deeds[i].deed});
            return;
        }
}

/* As the history counts: what was asked for.  The allocator rounds up, so blocks are larger; old files do not say. */
static int64_t asked_of(const hu_value *block)
{
    const int64_t asked = size_of(block, "requested_size");

    return asked ? asked : size_of(block, "size");
}

/* What is held and reserved when the history of a device begins: the end, and all changes undone. */
static void find_start(reader *r, const hu_value *segments, const hu_value *history, int64_t device)
{
    r->held = r->reserved = 0;
    for (size_t i = 0; i < hu_value_count(segments); i++) {
        const hu_value *segment = hu_value_at(segments, i), *blocks = hu_value_get(segment, "blocks");

        if (hu_value_int(hu_value_get(segment, "device"), 0) != device)
            continue;
        r->reserved += size_of(segment, "total_size");
        for (size_t k = 0; k < hu_value_count(blocks); k++)
            r->held += state_of(hu_value_at(blocks, k)) ? asked_of(hu_value_at(blocks, k)) : 0;
    }
    for (size_t i = 0; i < hu_value_count(history); i++) {
        int64_t held, reserved;

        change_of(hu_value_at(history, i), &held, &reserved);
        r->held -= held;
        r->reserved -= reserved;
    }
    r->held = r->held > 0 ? r->held : 0;
    r->reserved = r->reserved > 0 ? r->reserved : 0;
}

static void read_history(reader *r, const hu_value *segments, const hu_value *history, int64_t device)
{
    hu_quality *q = hu_builder_quality(r->b);

    find_start(r, segments, history, device);
    for (size_t i = 0; i < hu_value_count(history) && hu_builder_status(r->b, NULL) == 0; i++) {
        const hu_value *record = hu_value_at(history, i);
        int64_t         held, reserved;

        q->events++;
        if (record->type != HU_VALUE_DICT) {
            hu_quality_count(q, HU_REASON_MALFORMED, 0);
            continue;
        }
        if (hu_str_equal(hu_value_text(hu_value_get(record, "action")), HU_STR("oom"))) {
            hu_builder_info(r->b)->out_of_memory++;
            hu_builder_info(r->b)->failed_bytes = size_of(record, "size");
        }
        change_of(record, &held, &reserved);
        r->held += held;
        r->reserved += reserved;
        if (held)
            add(r, record, device, time_of(record, i), held);
        else
            add_action(r, record, device, time_of(record, i));
    }
}

/* Whoever took it last, as the history says; blocks of a history that began later say it themselves. */
static hu_torch_site holder_of(reader *r, const hu_value *block, uint64_t address, int64_t device)
{
    const uint32_t      taker = hu_map_get(&r->taken, hu_hash_u64(address) ^ (uint64_t)device);
    const hu_torch_site told = taker != HU_MAP_NONE ? hu_torch_frames_site(&r->frames, r->takers.at[taker])
                                                    : (hu_torch_site){0};

    return told.name ? told : hu_torch_frames_site(&r->frames, hu_value_get(block, "frames"));
}

/* Old files say no addresses of blocks, which follow each other. */
static void add_block(reader *r, const hu_value *block, hu_memory_segment *of, uint32_t row, uint64_t next)
{
    hu_memory_block b = {.address = address_of(block, "address"),
                         .bytes = size_of(block, "size"),
                         .requested_bytes = size_of(block, "requested_size"),
                         .segment = row,
                         .state = (uint8_t)state_of(block)};

    b.address = b.address ? b.address : next;
    of->n_blocks++;
    if (b.state != HU_MEMORY_FREE) {
        const hu_torch_site code = holder_of(r, block, b.address, of->device);

        b.site = code.name;
        b.stack = code.stack;
        of->allocated_bytes += b.bytes;
    } else {
        of->n_free++;
        of->largest_free_bytes = b.bytes > of->largest_free_bytes ? b.bytes : of->largest_free_bytes;
    }
    hu_builder_block(r->b, &b);
}

/* Graphs have pools of their own, named by two numbers. */
static int64_t pool_of(const hu_value *segment)
{
    const hu_value *id = hu_value_get(segment, "segment_pool_id");

    return (hu_value_int(hu_value_at(id, 0), 0) & 0xffffffff) << 32 | (hu_value_int(hu_value_at(id, 1), 0) & 0xffffffff);
}

static void read_segments(reader *r, const hu_value *segments)
{
    for (size_t i = 0; i < hu_value_count(segments); i++) {
        const hu_value   *segment = hu_value_at(segments, i), *blocks = hu_value_get(segment, "blocks");
        hu_memory_segment row = {
            .address = address_of(segment, "address"),
            .total_bytes = size_of(segment, "total_size"),
            .stream = hu_value_int(hu_value_get(segment, "stream"), 0),
            .pool = pool_of(segment),
            .device_type = CUDA,
            .device = (int32_t)hu_value_int(hu_value_get(segment, "device"), 0),
            .is_expandable = hu_value_int(hu_value_get(segment, "is_expandable"), 0) != 0,
            .is_small = hu_str_equal(hu_value_text(hu_value_get(segment, "segment_type")), HU_STR("small"))};
        uint64_t next = row.address;

        for (size_t k = 0; k < hu_value_count(blocks); k++) {
            add_block(r, hu_value_at(blocks, k), &row, (uint32_t)i, next);
            next += (uint64_t)size_of(hu_value_at(blocks, k), "size");
        }
        hu_builder_segment(r->b, &row);
    }
}

/* Steps of the optimizer, which newer versions write down beside the allocations. */
static void read_marks(reader *r, const hu_value *marks)
{
    for (size_t i = 0; i < hu_value_count(marks); i++) {
        const hu_value *mark = hu_value_at(marks, i);
        const hu_str    name = hu_value_text(hu_value_get(mark, "name"));

        if (name.n && hu_value_get(mark, "time_us"))
            hu_builder_memory_mark(
                r->b, &(hu_memory_mark){.time_ns = time_of(mark, i),
                                        .device = (int32_t)hu_value_int(hu_value_get(mark, "device"), 0),
                                        .name = hu_builder_intern(r->b, name),
                                        .is_end = hu_str_equal(hu_value_text(hu_value_get(mark, "stage")), HU_STR("END"))});
    }
}

/* Each setting is metadata of the file, but for those that are tables. */
static void read_settings(reader *r, const hu_value *settings)
{
    const hu_value *conf = hu_value_get(settings, "PYTORCH_CUDA_ALLOC_CONF");
    hu_trace_info  *info = hu_builder_info(r->b);

    conf = conf ? conf : hu_value_get(settings, "PYTORCH_ALLOC_CONF");
    info->has_alloc_conf = conf != NULL;
    info->alloc_conf = conf ? hu_builder_keep(r->b, hu_value_text(conf)) : HU_STR("");
    for (uint32_t i = 0; settings && settings->type == HU_VALUE_DICT && i + 1 < settings->n; i += 2) {
        const hu_value *v = settings->items[i + 1];
        char            text[64];

        if (v->type == HU_VALUE_BOOL)
            snprintf(text, sizeof text, "%s", v->integer ? "true" : "false");
        else if (v->type == HU_VALUE_INT)
            snprintf(text, sizeof text, "%lld", (long long)v->integer);
        else if (v->type == HU_VALUE_REAL)
            snprintf(text, sizeof text, "%g", v->real);
        else
            continue;
        hu_builder_metadata(r->b, hu_value_text(settings->items[i]), hu_str_of(text));
    }
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena       *arena = hu_arena_new();
    reader          r = {.b = b, .arena = arena};
    hu_str          bytes;
    int             rc = hu_input_read_whole(in, arena, &bytes, err);
    const hu_value *root = rc == 0 ? hu_pickle_read(bytes, hu_input_name(in), hu_input_limits(in), arena, err) : NULL;
    const hu_value *traces = hu_value_get(root, "device_traces"), *segments = hu_value_get(root, "segments");

    if (rc == 0 && !root)
        rc = err->code;
    if (rc == 0 && (!traces || !segments))
        rc = hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                     "a pickle, but no memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot)");
    if (rc == 0 && (!hu_torch_frames_init(&r.frames, b, arena) || !hu_map_init(&r.taken, arena, 1024)))
        rc = hu_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < hu_value_count(traces) && i < MOST_DEVICES; i++)
        read_history(&r, segments, hu_value_at(traces, i), (int64_t)i);
    if (rc == 0) {
        read_segments(&r, segments);
        read_marks(&r, hu_value_get(root, "external_annotations"));
        read_settings(&r, hu_value_get(root, "allocator_settings"));
        hu_builder_info(b)->tool = HU_STR("PyTorch memory snapshot");
        hu_builder_info(b)->bytes = (int64_t)bytes.n;
        hu_builder_info(b)->has_memory = true;
        hu_builder_quality(b)->has_all_events = true;
        rc = hu_builder_status(b, err);
    }
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_torch_snapshot = {
    .name = "torch-memory-snapshot",
    .what = "memory snapshots of PyTorch",
    .suffixes = ".pickle .pkl",
    .probe = probe,
    .import = import,
};
