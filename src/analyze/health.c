/* SPDX-License-Identifier: Apache-2.0
 * health.c - silent drops are the trust killer of this field, so links that do not meet are counted, with their time.
 *
 * A kernel without a launch was launched before the capture began, or its call was lost; a launch without a kernel was
 * still queued when the capture ended, or the kernel was lost.
 */
#include "analyze/health.h"

#include <stdio.h>

#include "analyze/names.h"
#include "analyze/unknown.h"
#include "base/units.h"

static bool is_on(const hu_health *h, hu_kind kind)
{
    return h->kinds[kind] > 0;
}

/* Who named iterations has marked them; what recurs under another name may be less than a step, or more. */
static bool has_marks(const hu_steps *steps, const hu_health *h)
{
    hu_str  stem;
    int64_t number;

    return steps->source == HU_STEPS_PROFILER ||
           (steps->source == HU_STEPS_ANNOTATION && (h->by_nsight || h->by_rocm || h->by_xla || steps->is_engine ||
                                                     hu_names_is_iteration(steps->what, &stem, &number)));
}

static unsigned find_missing(const hu_trace *trace, const hu_steps *steps, const hu_health *h)
{
    const hu_trace_info *info = hu_trace_get_info(trace);
    const bool           device = is_on(h, HU_KIND_KERNEL) || is_on(h, HU_KIND_COLLECTIVE) || is_on(h, HU_KIND_MEMCPY);
    const bool           cuda = hu_trace_find_text(trace, HU_STR("cudaLaunchKernel")) != HU_NONE;
    unsigned             missing = 0;

    if (hu_trace_slices(trace).n && !has_marks(steps, h) && (info->tool.n || !hu_health_is_unknown(h)))
        missing |= 1u << HU_MISSING_STEPS;
    if (is_on(h, HU_KIND_CPU_OP) && !info->has_shapes)
        missing |= 1u << HU_MISSING_SHAPES;
    if (is_on(h, HU_KIND_CPU_OP) && !info->has_stacks)
        missing |= 1u << HU_MISSING_STACKS;
    if (is_on(h, HU_KIND_CPU_OP) && !info->has_memory)
        missing |= 1u << HU_MISSING_MEMORY;
    if (cuda && device && !is_on(h, HU_KIND_SYNC))
        missing |= 1u << HU_MISSING_SYNC;
    if (h->unlinked_launches > 0 && !device)
        missing |= 1u << HU_MISSING_DEVICE;
    if (device && !is_on(h, HU_KIND_CPU_OP))
        missing |= 1u << HU_MISSING_HOST;
    return missing;
}

enum { MOST_PROCESSES = 9 };

/* One more process that launches. */
static void note_process(int64_t pids[MOST_PROCESSES], int64_t *n, int64_t pid)
{
    for (int64_t i = 0; i < *n; i++)
        if (pids[i] == pid)
            return;
    if (*n < MOST_PROCESSES)
        pids[(*n)++] = pid;
}

enum { OTHERS = 3, OTHER_NAME = 60 };

typedef struct {
    int64_t ns, count;
} sum;

bool hu_health_is_unknown(const hu_health *h)
{
    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        if (h->kinds[k] && k != HU_KIND_OTHER && k != HU_KIND_SPAN)
            return false;
    return h->kinds[HU_KIND_OTHER] > 0;
}

/* "a (1.5 s in 12), b (20 ms in 3)": of events of unknown kinds, the names of most time, then of most events.  Without
   memory nothing is said. */
static void name_others(const hu_trace *trace, hu_health *h)
{
    const hu_slices s = hu_trace_slices(trace);
    const uint32_t  n_names = hu_trace_string_count(trace);
    hu_arena       *arena = hu_arena_new();
    sum            *sums = arena ? hu_arena_calloc(arena, n_names + 1u, sizeof *sums) : NULL;
    size_t          used = 0;

    for (uint32_t i = 0; sums && i < s.n; i++) {
        if (!hu_unknown_is(trace, i))
            continue;
        sums[s.name[i]].ns += s.dur_ns[i];
        sums[s.name[i]].count++;
    }
    for (int k = 0; sums && k < OTHERS; k++) {
        char     time[HU_UNIT_BYTES], count[HU_UNIT_BYTES];
        uint32_t most = 0;
        hu_str   name;

        for (uint32_t i = 1; i < n_names; i++)
            if (sums[i].ns > sums[most].ns || (sums[i].ns == sums[most].ns && sums[i].count > sums[most].count))
                most = i;
        if (sums[most].count == 0)
            break;
        name = hu_trace_text(trace, most);
        hu_units_time(time, (double)sums[most].ns);
        hu_units_count(count, sums[most].count);
        used += (size_t)snprintf(h->others + used, sizeof h->others - used, "%s%.*s%s (%s in %s)", k ? ", " : "",
                                 name.n < OTHER_NAME ? (int)name.n : OTHER_NAME, name.p, name.n > OTHER_NAME ? "…" : "",
                                 time, count);
        sums[most] = (sum){0};
    }
    hu_arena_free(arena);
}

void hu_health_measure(const hu_trace *trace, const hu_steps *steps, const uint8_t *names, hu_health *out)
{
    const hu_slices s = hu_trace_slices(trace);
    hu_health       h = {.quality = *hu_trace_get_quality(trace),
                         .by_rocm = hu_str_starts(hu_trace_get_info(trace)->tool, HU_STR("rocprof")),
                         .by_nsight = hu_str_starts(hu_trace_get_info(trace)->tool, HU_STR("NVIDIA Nsight Systems")),
                         .by_holdup = hu_str_equal(hu_trace_get_info(trace)->tool, HU_STR("holdup run")),
                         .by_xla = hu_str_starts(hu_trace_get_info(trace)->tool, HU_STR("XLA profiler")) ||
                                   hu_str_starts(hu_trace_get_info(trace)->tool, HU_STR("TensorFlow"))};
    size_t          n_tracks;
    const hu_track *tracks = hu_trace_tracks(trace, &n_tracks);
    int64_t         pids[MOST_PROCESSES];

    for (uint32_t i = 0; i < s.n; i++) {
        h.kinds[s.kind[i]]++;
        if (hu_kind_in(s.kind[i], HU_KINDS_DEVICE)) {
            const uint32_t launch = hu_trace_launch_of(trace, i);

            if (launch == HU_NONE) {
                h.unlinked_kernels++;
                h.unlinked_kernels_ns += s.dur_ns[i];
            } else {
                note_process(pids, &h.gpu_processes, tracks[s.track[launch]].pid);
            }
        } else if (hu_kind_in(s.kind[i], HU_KINDS_CALL) && (names[s.name[i]] & HU_NAME_LAUNCH) && s.correlation[i]) {
            size_t n;

            if (!hu_trace_work_of(trace, i, &n) && s.kind[i] == HU_KIND_RUNTIME)
                h.unlinked_launches++;
            if (n > 1)
                h.graph_kernels += (int64_t)n;
        }
    }
    h.has_early_marks = steps->is_outlived;
    h.missing = find_missing(trace, steps, &h);
    if (h.kinds[HU_KIND_OTHER])
        name_others(trace, &h);
    *out = h;
}

static void merge_quality(hu_quality *into, const hu_quality *from)
{
    for (hu_reason r = 0; r < HU_REASON_COUNT; r++) {
        into->count[r] += from->count[r];
        into->dur_ns[r] += from->dur_ns[r];
    }
    for (size_t i = 0; i < HU_COUNT(into->by_phase); i++)
        into->by_phase[i] += from->by_phase[i];
    into->events += from->events;
    into->duration_sum_ns += from->duration_sum_ns;
    into->invalid_utf8 += from->invalid_utf8;
    into->trailing_bytes += from->trailing_bytes;
    if (!into->warned[0])
        memcpy(into->warned, from->warned, sizeof into->warned);
    if (from->is_truncated && !into->is_truncated) {
        into->is_truncated = true;
        into->truncated_at = from->truncated_at;
        into->has_all_events = from->has_all_events;
        memcpy(into->truncated_why, from->truncated_why, sizeof into->truncated_why);
    }
}

void hu_health_merge(hu_health *into, const hu_health *from)
{
    merge_quality(&into->quality, &from->quality);
    for (hu_kind k = 0; k < HU_KIND_COUNT; k++)
        into->kinds[k] += from->kinds[k];
    into->unlinked_kernels += from->unlinked_kernels;
    into->unlinked_kernels_ns += from->unlinked_kernels_ns;
    into->unlinked_launches += from->unlinked_launches;
    into->graph_kernels += from->graph_kernels;
    into->gpu_processes = from->gpu_processes > into->gpu_processes ? from->gpu_processes : into->gpu_processes;
    into->missing |= from->missing;
}

static const struct {
    const char *key, *what, *torch, *nsight, *holdup, *xla;
} rows[] = {
#define M(id, key, what, torch, nsight, holdup, xla) [HU_MISSING_##id] = {key, what, torch, nsight, holdup, xla},
    HU_MISSING(M)
#undef M
};

const char *hu_missing_key(hu_missing m)
{
    return rows[m].key;
}

const char *hu_missing_what(hu_missing m)
{
    return rows[m].what;
}

/* rocprofv3 records no operators, shapes or stacks: the profiler of PyTorch does, which runs on ROCm too. */
static const char *rocm_how(hu_missing m)
{
    switch (m) {
    case HU_MISSING_STEPS:
        return "mark them in the program: roctxRangePush(\"step N\"), and rocprofv3 --marker-trace";
    case HU_MISSING_DEVICE:
        return "rocprofv3 --kernel-trace --memory-copy-trace; no other profiler may run";
    case HU_MISSING_HOST:
        return "rocprofv3 --sys-trace has calls and ranges; operators: torch.profiler";
    case HU_MISSING_MEMORY:
        return "rocprofv3 --memory-allocation-trace";
    default:
        return rows[m].torch;
    }
}

const char *hu_missing_how(const hu_health *h, hu_missing m)
{
    if (m == HU_MISSING_STEPS && h->has_early_marks)
        return "the marks end long before the work does: wait for its result in each, such as by "
               "jax.block_until_ready(x)";
    if (h->by_rocm)
        return rocm_how(m);
    if (m == HU_MISSING_STEPS && h->kinds[HU_KIND_PYTHON] && !h->kinds[HU_KIND_CPU_OP] && !h->by_nsight && !h->by_holdup &&
        !h->by_xla)
        return "holdup run, of a program that calls holdup.step() once per iteration (docs/markers.md); of PyTorch, "
               "torch.profiler and prof.step()";
    return h->by_nsight ? rows[m].nsight : h->by_holdup ? rows[m].holdup : h->by_xla ? rows[m].xla : rows[m].torch;
}
