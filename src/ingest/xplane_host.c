/* SPDX-License-Identifier: Apache-2.0
 * xplane_host.c - what the host's threads did: annotations of the program and of XLA, Python's frames, calls that launch
 * work, allocations.
 *
 * All of it lies in one kind of event, so what an event is, its name and stats say:
 *   - "$file.py:12 f" is a frame of Python;
 *   - what has a correlation, or the name of a call of CUDA or HIP, is that call.  CUPTI's collector names a launch after
 *     its kernel and a copy after its direction ("MemcpyH2D"); a call is called as the driver does;
 *   - what has a step's number is a step (jax.profiler.StepTraceAnnotation, tf.profiler.experimental.Trace);
 *   - "MemoryAllocation" and "MemoryDeallocation" are instants of the allocator;
 *   - an operation of XLA or TensorFlow says so by its stats, a function of theirs by "::";
 *   - the rest are annotations: those inside of the functions are theirs too, others may be the user's.
 */
#include "base/number.h"
#include "ingest/xplane.h"

/* One line, while its events are read. */
typedef struct {
    const xplane_line *line;
    uint32_t           track;
    bool               is_python;   /* a thread of the interpreter: annotations may be the user's */
    int64_t            function_ns; /* until here a function of XLA's is open, as far as events come in order */
} host_line;

static bool is_cuda(hu_str name)
{
    return name.n > 2 && name.p[0] == 'c' && name.p[1] == 'u' && name.p[2] >= 'A' && name.p[2] <= 'Z';
}

static bool is_call(hu_str name)
{
    return is_cuda(name) || (hu_str_starts(name, HU_STR("cuda")) && name.n > 4 && name.p[4] >= 'A' && name.p[4] <= 'Z') ||
           (hu_str_starts(name, HU_STR("hip")) && name.n > 3 && name.p[3] >= 'A' && name.p[3] <= 'Z');
}

static bool is_python_thread(hu_str line)
{
    return hu_str_starts_lower(line, HU_STR("python")) || hu_str_starts(line, HU_STR("MainThread")) ||
           hu_str_starts(line, HU_STR("Thread-"));
}

/* ---- allocations ---------------------------------------------------------------------------------------------- */

/* The device in "GPU_4_bfc"; -1: the host's memory. */
static int64_t device_of(hu_str allocator)
{
    static const char *const kinds[] = {"GPU_", "gpu_", "TPU_", "tpu_"};
    int64_t                  device = 0;
    size_t                   at = 4;

    for (size_t i = 0; i < HU_COUNT(kinds); i++) {
        if (!hu_str_starts_with(allocator, kinds[i]))
            continue;
        while (at < allocator.n && at < 10 && allocator.p[at] >= '0' && allocator.p[at] <= '9')
            device = device * 10 + (allocator.p[at++] - '0');
        return at > 4 ? device : -1;
    }
    return -1;
}

static bool is_size(int64_t bytes)
{
    return bytes > 0 && bytes < INT64_C(1) << 50;
}

static bool take_memory(xplane_reader *r, const host_line *h, const xplane_event *e)
{
    const bool    is_free = hu_str_equal(e->name, HU_STR("MemoryDeallocation"));
    const int64_t bytes = xplane_number(&e->stats, XPLANE_ALLOCATION, 0);
    const int64_t held = xplane_number(&e->stats, XPLANE_ALLOCATED, -1);
    int64_t       device;

    if (!is_free && !hu_str_equal(e->name, HU_STR("MemoryAllocation")))
        return false;
    if (!is_size(bytes))
        return true;
    device = device_of(xplane_text(&e->stats, XPLANE_ALLOCATOR));
    hu_builder_memory(r->b, &(hu_memory_event){.time_ns = e->slice.start_ns,
                                               .track = h->track,
                                               .device_type = device < 0  ? 0
                                                              : r->is_amd ? 6
                                                                          : 1,
                                               .device = (int32_t)device,
                                               .address = (uint64_t)xplane_number(&e->stats, XPLANE_ADDRESS, 0),
                                               .bytes = is_free ? -bytes : bytes,
                                               .total_allocated = is_size(held) ? held : -1,
                                               .total_reserved = -1});
    hu_builder_info(r->b)->has_memory = true;
    return true;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

/* As the driver calls it. */
static hu_str call_name(const xplane_event *e)
{
    const hu_str copy = xplane_text(&e->stats, XPLANE_MEMCPY_DETAILS), is = hu_xla_copy_name(e->name);
    int64_t      is_async = 1;

    if (is_call(e->name))
        return e->name;
    if (xplane_has(&e->stats, XPLANE_KERNEL_DETAILS))
        return HU_STR("cuLaunchKernel");
    xplane_detail(copy, "async", &is_async, 1);
    if (hu_str_equal(is, HU_STR("Memcpy HtoD")))
        return is_async ? HU_STR("cuMemcpyHtoDAsync") : HU_STR("cuMemcpyHtoD_v2");
    if (hu_str_equal(is, HU_STR("Memcpy DtoH")))
        return is_async ? HU_STR("cuMemcpyDtoHAsync") : HU_STR("cuMemcpyDtoH_v2");
    return e->name;
}

static void take_call(xplane_reader *r, const host_line *h, xplane_event *e)
{
    const uint64_t correlation = (uint64_t)xplane_number(&e->stats, XPLANE_CORRELATION, 0);
    const uint32_t op = correlation ? hu_map_get(&r->op_of, correlation) : HU_MAP_NONE;
    const hu_str   name = call_name(e);
    int64_t        bytes = 0;

    e->slice.track = h->track;
    if (op != HU_MAP_NONE) { /* the operation that it launches, around it */
        hu_builder_slice around = e->slice;

        around.kind = HU_KIND_CPU_OP;
        around.name = op;
        hu_builder_add(r->b, &around);
    }
    e->slice.kind = is_cuda(name) ? HU_KIND_DRIVER : HU_KIND_RUNTIME;
    e->slice.name = hu_builder_intern(r->b, name);
    e->slice.correlation = correlation;
    xplane_detail(xplane_text(&e->stats, XPLANE_MEMCPY_DETAILS), "size", &bytes, 1);
    if (is_size(bytes))
        e->slice.detail = hu_builder_call_detail(r->b, &(hu_call_detail){.callback_id = -1, .bytes = bytes});
    hu_builder_add(r->b, &e->slice);
}

/* ---- annotations ---------------------------------------------------------------------------------------------- */

/* Of XLA or TensorFlow themselves, not of the program that uses them. */
static bool is_theirs(const host_line *h, const xplane_event *e)
{
    return !h->is_python || e->slice.start_ns < h->function_ns || xplane_has(&e->stats, XPLANE_HLO_OP) ||
           xplane_has(&e->stats, XPLANE_IS_EAGER) || xplane_has(&e->stats, XPLANE_TF_OP) ||
           hu_str_has(e->name, HU_STR("::")) || hu_str_starts(e->name, HU_STR("PjitFunction(")) ||
           hu_str_starts(e->name, HU_STR("ExecutorPropagateOutputs"));
}

static void take_step(xplane_reader *r, xplane_event *e)
{
    const int64_t number = xplane_number(&e->stats, XPLANE_STEP, -1);
    char          text[HU_XLA_NAME_BYTES];

    e->slice.kind = r->stepping ? HU_KIND_CPU_OP : HU_KIND_USER;
    if (!r->stepping)
        hu_builder_mark_step(r->b);
    if (number >= 0)
        e->slice.name = hu_builder_intern(r->b, (hu_str){text, hu_xla_step_name(e->name, number, text)});
}

static void take_range(xplane_reader *r, host_line *h, xplane_event *e)
{
    char         text[HU_XLA_NAME_BYTES];
    const size_t n = hu_xla_python_name(e->name, text);

    e->slice.track = h->track;
    if (n) {
        e->slice.kind = HU_KIND_PYTHON;
        e->slice.name = hu_builder_intern(r->b, (hu_str){text, n});
        e->slice.detail = hu_builder_python_detail(r->b, &(hu_python_detail){0});
        hu_builder_info(r->b)->has_stacks = true;
    } else if (xplane_has(&e->stats, XPLANE_STEP)) {
        take_step(r, e);
    } else if (is_theirs(h, e)) {
        const int64_t end_ns = e->slice.start_ns + e->slice.dur_ns;

        e->slice.kind = HU_KIND_CPU_OP;
        h->function_ns = end_ns > h->function_ns ? end_ns : h->function_ns;
    } else {
        e->slice.kind = HU_KIND_USER;
    }
    hu_builder_add(r->b, &e->slice);
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

/* "tf_Compute/1105654971" is the thread's name and its number. */
static hu_str thread_name(hu_str line)
{
    size_t n = line.n;

    while (n && line.p[n - 1] >= '0' && line.p[n - 1] <= '9')
        n--;
    n -= n && n < line.n && line.p[n - 1] == '-';
    return n > 1 && n < line.n && line.p[n - 1] == '/' ? (hu_str){line.p, n - 1} : line;
}

/* `home`: the line whose thread it is. */
static void read_line(xplane_reader *r, xplane_plane *plane, const xplane_line *line, const xplane_line *home)
{
    const hu_builder_id pid = {r->pid, false}, tid = {home->id, false};
    hu_protobuf         m = hu_protobuf_of(line->message);
    host_line           h = {.line = line,
                             .track = hu_builder_track(r->b, HU_TRACK_HOST, pid, tid),
                             .is_python = is_python_thread(line->name),
                             .function_ns = INT64_MIN};
    xplane_event        e;

    hu_builder_name_thread(r->b, pid, tid, hu_builder_intern(r->b, thread_name(home->name)));
    while (xplane_next_event(r, plane, line, &m, &e)) {
        if (take_memory(r, &h, &e))
            continue;
        if (xplane_has(&e.stats, XPLANE_CORRELATION) || is_call(e.name))
            take_call(r, &h, &e);
        else if (e.slice.dur_ns > 0)
            take_range(r, &h, &e); /* else an instant, which no question needs */
    }
}

void xplane_read_host(xplane_reader *r, xplane_plane *plane)
{
    hu_protobuf m = hu_protobuf_of(plane->message);
    hu_map      home_of;
    HU_VEC(xplane_line) lines = {0};
    xplane_line line;

    if (!xplane_open_plane(r, plane) || !hu_map_init(&home_of, r->arena, 0) || !xplane_join_threads(r, plane, &home_of))
        return;
    while (xplane_next_line(&m, &line))
        if (!hu_vec_push(r->arena, &lines, line)) {
            xplane_no_memory(r);
            return;
        }
    for (size_t i = 0; i < lines.n && hu_builder_status(r->b, NULL) == 0; i++) {
        const uint32_t home = hu_map_get(&home_of, i);

        read_line(r, plane, &lines.at[i], &lines.at[home == HU_MAP_NONE ? i : home]);
    }
}
