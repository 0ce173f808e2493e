/* SPDX-License-Identifier: Apache-2.0
 * xplane_device.c - what a device did: kernels and copies of a GPU's streams, operations of a TPU's core.
 *
 * A GPU's line is a stream: "Stream #16(Kernel)".  Its other lines ("XLA Ops", "Steps", "TensorFlow Ops") are made of these
 * kernels, for the eye; counted, they would be the same work a second time.  A TPU has no streams: its core runs
 * one operation after the other, which is the line "XLA Ops"; "Async XLA Ops" holds what runs beside it.
 */
#include <math.h>
#include <stdio.h>

#include "ingest/producers.h"
#include "ingest/xplane.h"

static hu_builder_id process_of(const xplane_reader *r)
{
    return (hu_builder_id){r->pid, false};
}

static uint32_t at_most(int64_t v, uint32_t most)
{
    return v > 0 && v <= most ? (uint32_t)v : 0;
}

/* ---- GPUs ----------------------------------------------------------------------------------------------------- */

static uint32_t kernel_detail(xplane_reader *r, hu_str words)
{
    int64_t          grid[3] = {0}, block[3] = {0}, v = 0;
    hu_kernel_detail d = {
        .blocks_per_sm = (float)NAN, .warps_per_sm = (float)NAN, .occupancy_pct = (float)NAN, .priority = INT32_MIN};
    static const char *const shared[] = {"shm", "group_mem", "static_shared", "dynamic_shared"};

    if (xplane_detail(words, "grid", grid, 3) == 0 && xplane_detail(words, "block", block, 3) == 0)
        return HU_NONE;
    xplane_detail(words, "block", block, 3);
    for (int i = 0; i < 3; i++) {
        d.grid[i] = at_most(grid[i], UINT32_MAX);
        d.block[i] = (uint16_t)at_most(block[i], UINT16_MAX);
    }
    if (xplane_detail(words, "regs", &v, 1))
        d.registers = (uint16_t)at_most(v, UINT16_MAX);
    for (size_t i = 0; i < HU_COUNT(shared); i++)
        if (xplane_detail(words, shared[i], &v, 1))
            d.shared_bytes += at_most(v, 1 << 30);
    if (xplane_detail(words, "occ_pct", &v, 1) && v > 0 && v <= 100)
        d.occupancy_pct = (float)v; /* theoretical; AMD's collector writes 0 for unknown */
    return hu_builder_kernel_detail(r->b, &d);
}

static hu_str word_behind(hu_str details, const char *key)
{
    const hu_str want = hu_str_of(key);
    const char  *at = details.n ? memmem(details.p, details.n, want.p, want.n) : NULL;
    size_t       n = 0;

    if (!at)
        return HU_STR("");
    at += want.n;
    while (at + n < details.p + details.n && at[n] != ' ')
        n++;
    return (hu_str){at, n};
}

/* "Memcpy HtoD (Pageable -> Device)", as CUPTI's names of memory are everywhere. */
static uint32_t copy_name(xplane_reader *r, hu_str name, hu_str details)
{
    hu_str is = hu_xla_copy_name(name), from = word_behind(details, "kind_src:"), to = word_behind(details, "kind_dst:");
    char   text[160];

    if (!is.n)
        is = HU_STR("Memcpy Unknown");
    if (!from.n || !to.n || from.n > 40 || to.n > 40 || from.p[0] < 'a' || from.p[0] > 'z' || to.p[0] < 'a' || to.p[0] > 'z')
        return hu_builder_intern(r->b, is);
    return hu_builder_intern(
        r->b, (hu_str){text, (size_t)snprintf(text, sizeof text, "%.*s (%c%.*s -> %c%.*s)", HU_FMT(is), from.p[0] - 32,
                                              (int)from.n - 1, from.p + 1, to.p[0] - 32, (int)to.n - 1, to.p + 1)});
}

static uint32_t copy_detail(xplane_reader *r, hu_str details)
{
    int64_t bytes = 0;

    xplane_detail(details, "size", &bytes, 1); /* AMD's collector writes 0 where it does not know */
    return hu_builder_copy_detail(r->b, &(hu_copy_detail){.bytes = bytes > 0 && bytes < INT64_C(1) << 50 ? bytes : -1,
                                                          .gbps = NAN,
                                                          .from_device = -1,
                                                          .to_device = -1});
}

/* The operation that a kernel belongs to: "fusion.3 (jit_step)", or what TensorFlow's executor was in. */
static uint32_t op_name(xplane_reader *r, const xplane_stats *s)
{
    const hu_str op = xplane_text(s, XPLANE_HLO_OP), module = xplane_text(s, XPLANE_HLO_MODULE);
    hu_str       note = xplane_text(s, XPLANE_ANNOTATION);
    const char  *hash = note.n ? memchr(note.p, '#', note.n) : NULL;
    char         text[HU_XLA_NAME_BYTES];

    if (op.n && op.n < 200 && module.n && module.n < 200)
        return hu_builder_intern(
            r->b, (hu_str){text, (size_t)snprintf(text, sizeof text, "%.*s (%.*s)", HU_FMT(op), HU_FMT(module))});
    if (hash)
        note.n = (size_t)(hash - note.p);
    return op.n ? hu_builder_intern(r->b, op) : note.n ? hu_builder_intern(r->b, note) : 0;
}

static void note_op(xplane_reader *r, const xplane_event *e)
{
    const uint32_t name = e->slice.correlation ? op_name(r, &e->stats) : 0;
    uint32_t      *place = name ? hu_map_put(&r->op_of, e->slice.correlation) : NULL;

    if (name && !place)
        xplane_no_memory(r);
    else if (place && *place == HU_MAP_NONE)
        *place = name;
}

static void take_gpu_event(xplane_reader *r, xplane_event *e)
{
    const hu_str copy = xplane_text(&e->stats, XPLANE_MEMCPY_DETAILS);

    e->slice.correlation = (uint64_t)xplane_number(&e->stats, XPLANE_CORRELATION, 0);
    if (xplane_has(&e->stats, XPLANE_MEMSET_DETAILS) || hu_str_starts(e->name, HU_STR("Memset"))) {
        e->slice.kind = HU_KIND_MEMSET;
        e->slice.detail = copy_detail(r, xplane_text(&e->stats, XPLANE_MEMSET_DETAILS));
    } else if (copy.n || hu_xla_copy_name(e->name).n) {
        e->slice.kind = HU_KIND_MEMCPY;
        e->slice.name = copy_name(r, e->name, copy);
        e->slice.detail = copy_detail(r, copy);
    } else if (hu_str_starts(e->name, HU_STR("Mem")) && !xplane_has(&e->stats, XPLANE_KERNEL_DETAILS)) {
        return; /* MemAlloc, MemFree, MemoryResidency: no work of the device */
    } else {
        e->slice.kind = hu_producers_is_comm(e->name) ? HU_KIND_COLLECTIVE : HU_KIND_KERNEL;
        e->slice.detail = kernel_detail(r, xplane_text(&e->stats, XPLANE_KERNEL_DETAILS));
    }
    note_op(r, e);
    hu_builder_add(r->b, &e->slice);
}

static void read_stream(xplane_reader *r, xplane_plane *plane, const xplane_line *line, int64_t device)
{
    hu_protobuf    m = hu_protobuf_of(line->message);
    const uint32_t track = hu_builder_stream(r->b, process_of(r), device, line->id);
    xplane_event   e;

    while (xplane_next_event(r, plane, line, &m, &e)) {
        e.slice.track = track;
        take_gpu_event(r, &e);
    }
}

/* ---- lines that are drawn ------------------------------------------------------------------------------------- */

static uint32_t row_of(xplane_reader *r, int64_t device, hu_str line)
{
    char      text[128];
    const int n = snprintf(text, sizeof text, "%.*s of device %lld", (int)(line.n < 80 ? line.n : 80), line.n ? line.p : "",
                           (long long)device);
    const uint32_t name = hu_builder_intern(r->b, (hu_str){text, (size_t)n});

    hu_builder_name_thread(r->b, process_of(r), (hu_builder_id){name, true}, name);
    return hu_builder_track(r->b, HU_TRACK_NOTE, process_of(r), (hu_builder_id){name, true});
}

/* The number of a step, by its name ("12") or what is told of it. */
static uint32_t step_name(xplane_reader *r, const xplane_event *e)
{
    char          text[HU_XLA_NAME_BYTES];
    const hu_str  said = xplane_text(&e->stats, XPLANE_STEP_NAME).n ? xplane_text(&e->stats, XPLANE_STEP_NAME) : e->name;
    xplane_stats  one = {.has = UINT64_C(1) << XPLANE_STEP_NAME};
    const int64_t number = (one.at[XPLANE_STEP_NAME] = (xplane_value){true, 0, said},
                            xplane_number(&one, XPLANE_STEP_NAME, -1));

    if (number < 0)
        return e->name_id;
    return hu_builder_intern(r->b, (hu_str){text, hu_xla_step_name(HU_STR(""), number, text)});
}

static void read_drawn(xplane_reader *r, xplane_plane *plane, const xplane_line *line, int64_t device)
{
    const bool     is_steps = hu_str_equal(line->name, HU_STR("Steps")) && r->stepping == plane;
    const uint32_t track = row_of(r, device, line->name);
    hu_protobuf    m = hu_protobuf_of(line->message);
    xplane_event   e;

    while (xplane_next_event(r, plane, line, &m, &e)) {
        e.slice.track = track;
        e.slice.kind = is_steps ? HU_KIND_USER : HU_KIND_GPU_USER;
        e.slice.name = is_steps ? step_name(r, &e) : e.slice.name;
        if (is_steps)
            hu_builder_mark_step(r->b);
        hu_builder_add(r->b, &e.slice);
    }
}

/* ---- planes --------------------------------------------------------------------------------------------------- */

static void describe(xplane_reader *r, const xplane_plane *plane, int64_t device)
{
    xplane_stats s;

    xplane_plane_stats(plane, &s);
    if (hu_str_equal(xplane_text(&s, XPLANE_VENDOR), HU_STR("AMD")))
        r->is_amd = true;
    hu_builder_device(r->b, &(hu_device){.id = device,
                                         .name = hu_builder_intern(r->b, xplane_text(&s, XPLANE_DEVICE_TYPE)),
                                         .memory_bytes = xplane_number(&s, XPLANE_MEMORY, 0),
                                         .sm_count = (int32_t)at_most(xplane_number(&s, XPLANE_CORES, 0), 1 << 20),
                                         .major = (int32_t)at_most(xplane_number(&s, XPLANE_MAJOR, 0), 1 << 20),
                                         .minor = (int32_t)at_most(xplane_number(&s, XPLANE_MINOR, 0), 1 << 20)});
}

void xplane_read_device(xplane_reader *r, xplane_plane *plane, int64_t device, bool is_gpu)
{
    hu_protobuf m = hu_protobuf_of(plane->message);
    xplane_line line;

    if (!xplane_open_plane(r, plane))
        return;
    if (!hu_str_has(plane->name, HU_STR(" "))) /* "/device:TPU:0 SparseCore 1" is a part of one */
        describe(r, plane, device);
    while (hu_builder_status(r->b, NULL) == 0 && xplane_next_line(&m, &line)) {
        if (is_gpu && hu_str_starts(line.name, HU_STR("Stream")))
            read_stream(r, plane, &line, device);
        else if (!is_gpu &&
                 (hu_str_equal(line.name, HU_STR("XLA Ops")) || hu_str_equal(line.name, HU_STR("Sparse Core Ops"))))
            xplane_read_ops(r, plane, &line, device, false);
        else if (!is_gpu && hu_str_equal(line.name, HU_STR("Async XLA Ops")))
            xplane_read_ops(r, plane, &line, device, true);
        else
            read_drawn(r, plane, &line, device);
    }
}
