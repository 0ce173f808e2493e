/* SPDX-License-Identifier: Apache-2.0
 * page_faults.c - a thread that is inside the kernel, but in no call of the system, is there for a page of memory.
 *
 * CPU samples say so: of the kernel, on behalf of a function that makes no system call: of the program's own code, or of
 * the C library's that copies memory.  How many faults there were, and how many pages the process held at most, the
 * recorder inside it says when it ends.
 */
#include "graph/page_faults.h"

#include "base/map.h"

static bool is_one_of(hu_str name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(name, hu_str_of(list[i])))
            return true;
    return false;
}

bool hu_page_faults_is_memory(const hu_ask *ask, uint32_t slice)
{
    static const char *const calls[] = {"munmap", "mmap", "madvise"};

    return slice != HU_NONE && ask->s.kind[slice] == HU_KIND_OS_CALL && ask->s.detail[slice] != HU_NONE &&
           hu_trace_os_detail(ask->trace, ask->s.detail[slice])->class == HU_HOST_OTHER &&
           is_one_of(hu_ask_name(ask, slice), calls, HU_COUNT(calls));
}

bool hu_page_faults_is_call(const hu_graph *g, size_t node)
{
    return hu_page_faults_is_memory(g->ask, g->node[node].slice);
}

/* Of the C library, whose functions make calls of the system. */
static bool is_library(hu_str module)
{
    static const char *const names[] = {"libc.so", "libc-", "ld-linux", "ld-musl", "libholdup", "[vdso]", "libpthread"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_starts(module, hu_str_of(names[i])))
            return true;
    return false;
}

/*
 * Of the C library only what is known to touch memory counts, and what it does not name: its variants of memcpy and
 * memset, while its calls of the system have names.
 */
static bool touches_memory(const hu_trace *trace, const hu_cpu_stack *at)
{
    static const char *const releases[] = {"munmap", "__munmap", "mmap", "__mmap", "madvise", "__madvise", "brk", "__brk"};
    const hu_str             name = hu_trace_text(trace, at->function), module = hu_trace_text(trace, at->module);

    if (hu_str_has(name, HU_STR("yscall")) || hu_str_starts(module, HU_STR("[kernel")) || !module.n)
        return false;
    return !is_library(module) || hu_str_starts(name, HU_STR("[")) || hu_str_has(name, HU_STR("no symbols")) ||
           hu_str_starts(name, HU_STR("__mem")) || hu_str_starts(name, HU_STR("mem")) ||
           is_one_of(name, releases, HU_COUNT(releases));
}

/* The innermost function of the program below the kernel's; NULL: not known. */
static const hu_cpu_stack *innermost(const hu_trace *trace, uint32_t at)
{
    for (; at; at = hu_trace_cpu_stack(trace, at)->caller)
        if (!hu_str_starts(hu_trace_text(trace, hu_trace_cpu_stack(trace, at)->module), HU_STR("[kernel")))
            return hu_trace_cpu_stack(trace, at);
    return NULL;
}

static int64_t counter_of(const hu_graph *g, const hu_track *of, hu_str name)
{
    size_t           n;
    const hu_sample *samples = hu_trace_samples(g->ask->trace, &n);
    double           last = 0;

    for (size_t i = 0; i < n; i++) {
        const hu_track *t = &g->ask->tracks[samples[i].track];

        if (t->pid == of->pid && hu_str_equal(hu_trace_text(g->ask->trace, t->name), name))
            last = samples[i].value;
    }
    return last > 0 && last < 1e15 ? (int64_t)last : 0;
}

static bool count(const hu_graph *g, uint32_t row, hu_arena *scratch, hu_page_faults *out)
{
    size_t               n;
    const hu_trace      *trace = g->ask->trace;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(trace, &n);
    const int64_t        from = g->mark[0].host_end_ns, to = g->mark[g->n_marks - 1].host_end_ns;
    hu_map               of_function;
    uint32_t             most = 0;

    if (!hu_map_init(&of_function, scratch, 64))
        return false;
    for (size_t i = 0; i < n; i++) {
        const hu_cpu_stack *at = innermost(trace, samples[i].stack);
        uint32_t           *times;

        if (samples[i].track != row || !samples[i].is_kernel || samples[i].time_ns < from || samples[i].time_ns >= to ||
            !at || !touches_memory(trace, at) ||
            hu_ask_slice_at(g->ask, row, samples[i].time_ns, HU_BIT(OS_CALL)) != HU_NONE)
            continue;
        times = hu_map_put(&of_function, at->function);
        if (!times)
            return false;
        *times = *times == HU_MAP_NONE ? 1 : *times + 1;
        if (*times > most && !is_library(hu_trace_text(trace, at->module))) {
            most = *times;
            out->function = at->function;
        }
        out->samples++;
    }
    return true;
}

bool hu_page_faults_find(const hu_graph *g, hu_arena *scratch, hu_page_faults *out)
{
    const uint32_t  row = hu_graph_main_track(g);
    const hu_track *main_thread;
    double          own = 0;

    *out = (hu_page_faults){0};
    if (row == HU_NONE || !hu_trace_get_info(g->ask->trace)->cpu_sample_ns)
        return true;
    main_thread = &g->ask->tracks[row];
    out->faults = counter_of(g, main_thread, HU_STR("page faults"));
    out->pages = counter_of(g, main_thread, HU_STR("pages held at most"));
    if (!out->faults)
        return true;
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->node[i].lane == g->main_lane &&
            (g->node[i].slice == HU_NONE || g->ask->s.kind[g->node[i].slice] != HU_KIND_OS_CALL))
            own += (double)g->node[i].seen_ns;
    if (!count(g, row, scratch, out))
        return false;
    out->ns = out->samples * hu_trace_get_info(g->ask->trace)->cpu_sample_ns;
    out->share = own > 0 ? (double)out->ns / own : 0;
    out->share = out->share < 1 ? out->share : 1;
    return true;
}
