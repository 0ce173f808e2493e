/* SPDX-License-Identifier: Apache-2.0
 * cold.c - launches that first load the code of their kernel.
 *
 * CUDA since 11.7 (CUDA_MODULE_LOADING=LAZY) and HIP load a kernel's code at its first launch: a call that usually takes
 * microseconds takes milliseconds to seconds, once for each kernel or module.  So it is the first launch of its kernel in
 * the capture, far longer than the usual call, and its kernel begins only near its end; and the device was idle meanwhile,
 * for a call that waits for room in a full queue looks the same.  A name as recorded may stand for several kernels (other
 * modules, other types behind "..."), so until one launch of a name was quick, the next long one loads too.  Whatever call
 * comes first makes the device ready: one that usually does nothing to speak of, as long as that, is of the same kind.
 *
 * The profiler works inside of launch calls too, when it needs a buffer, and records that: such a call is long for the
 * profiler's sake, and its kernel begins behind that.
 *
 * Some operators set something up at their first call, in which the device is busy trying: a convolution runs all algorithms
 * for its shapes (torch.backends.cudnn.benchmark), the first collective makes the communicator.  Then the first call takes
 * far longer than all later ones of the same name and, where it depends on them, shapes; and it calls the runtime far more
 * often, which no pause of the host does.
 */
#include "graph/cold.h"

#include <stdlib.h>

#include "base/sort.h"

enum {
    LEAST_NS = 1000000,
    FACTOR = 30, /* of the median launch, or of the later calls of an operator */
    LEAST_PROFILER_NS = 50000,
    CLOCKS_NS = 2000, /* clocks of host and device disagree by so much */
    FEWEST_CALLS = 3, /* of an operator, to tell the first from the others */
    MORE_CALLS = 3,   /* times as many of the runtime in the first */
};

static const double IDLE = 0.5;     /* of the call, the device */
static const double PROFILED = 0.5; /* of the call, the profiler */
static const double LATE = 0.8;     /* of the call have passed when its kernel begins */

bool hu_cold_loads_code(hu_str name)
{
    static const char *const calls[] = {"cudaModuleLoad", "cuModuleLoad",        "cuLibraryLoad", "cudaLibraryLoad",
                                        "hipModuleLoad",  "cuModuleGetFunction", "nvrtcCompile",  "hiprtcCompile",
                                        "clBuildProgram", "clCompileProgram",    "clLinkProgram"};

    if (hu_str_starts(name, HU_STR("cudaLaunch"))) /* nearly all calls, and each is asked */
        return false;
    for (size_t i = 0; i < HU_COUNT(calls); i++)
        if (hu_str_starts_with(name, calls[i]))
            return true;
    return false;
}

static bool is_launch(const hu_ask *ask, uint32_t slice)
{
    return hu_kind_in(ask->s.kind[slice], HU_KINDS_CALL) && ask->names[ask->s.name[slice]] & HU_NAME_LAUNCH;
}

/* What a launch takes: the median over the trace. */
static bool measure_usual(const hu_ask *ask, int64_t *out)
{
    int64_t *samples = hu_arena_grow(ask->scratch, NULL, (ask->s.n + 1) * sizeof *samples);
    size_t   n = 0;

    if (!samples)
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++)
        if (is_launch(ask, i))
            samples[n++] = ask->s.dur_ns[i];
    *out = n ? hu_sort_nth_i64(samples, n, n / 2) : 0;
    hu_arena_drop(ask->scratch, samples);
    return true;
}

/* The first of united intervals that ends behind a time. */
static size_t first_behind(const hu_intervals *list, int64_t time_ns)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->at[middle].end_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t busy_in(const hu_intervals *busy, int64_t start_ns, int64_t end_ns)
{
    int64_t sum = 0;

    for (size_t k = first_behind(busy, start_ns); k < busy->n && busy->at[k].start_ns < end_ns; k++) {
        const int64_t from = busy->at[k].start_ns > start_ns ? busy->at[k].start_ns : start_ns;
        const int64_t to = busy->at[k].end_ns < end_ns ? busy->at[k].end_ns : end_ns;

        sum += to > from ? to - from : 0;
    }
    return sum;
}

/* Calls that do nothing to speak of, but for the first. */
static bool makes_ready(const hu_ask *ask, uint32_t slice)
{
    static const char *const parts[] = {
        "GetAttribute", "GetStreamPriorityRange", "GetDevice",        "SetDevice", "StreamCreate",       "EventCreate",
        "Properties",   "FuncGetAttributes",      "FuncSetAttribute", "Init",      "OccupancyMaxActive", "CtxCreate"};
    const hu_str name = hu_ask_name(ask, slice);

    if (!hu_kind_in(ask->s.kind[slice], HU_KINDS_CALL))
        return false;
    for (size_t i = 0; i < HU_COUNT(parts); i++)
        if (hu_str_has(name, hu_str_of(parts[i])))
            return true;
    return false;
}

static bool is_idle_in(const hu_ask *ask, uint32_t call)
{
    const int64_t length = ask->s.dur_ns[call];

    return (double)busy_in(&ask->busy, ask->s.start_ns[call], hu_ask_end(ask, call)) <= (1 - IDLE) * (double)length;
}

/* When the profiler itself worked, as recorded; loading, which it records in the same way, is not its work. */
static bool find_profiler(const hu_ask *ask, hu_intervals *out)
{
    *out = (hu_intervals){0};
    for (uint32_t i = 0; i < ask->s.n; i++)
        if (ask->s.kind[i] == HU_KIND_OVERHEAD && !hu_str_has(hu_ask_name(ask, i), HU_STR("Loading")) &&
            !hu_intervals_add(ask->scratch, out, ask->s.start_ns[i], hu_ask_end(ask, i)))
            return false;
    return hu_intervals_unite(ask->scratch, out);
}

static bool is_profiled(const hu_ask *ask, const hu_intervals *profiler, uint32_t call)
{
    return (double)busy_in(profiler, ask->s.start_ns[call], hu_ask_end(ask, call)) > PROFILED * (double)ask->s.dur_ns[call];
}

/* The end of the profiler's last work in a call, at most the call's own. */
static int64_t profiled_until(const hu_ask *ask, const hu_intervals *profiler, uint32_t call)
{
    const int64_t end = hu_ask_end(ask, call);
    int64_t       until = ask->s.start_ns[call];

    for (size_t k = first_behind(profiler, until); k < profiler->n && profiler->at[k].start_ns < end; k++)
        until = profiler->at[k].end_ns > until ? profiler->at[k].end_ns : until;
    return until < end ? until : end;
}

bool hu_cold_find_profiled(const hu_ask *ask, hu_arena *arena, hu_map *out)
{
    hu_intervals profiler;

    if (!find_profiler(ask, &profiler) || !hu_map_init(out, arena, 16))
        return false;
    for (size_t k = 0; profiler.n && k < ask->n_work; k++) {
        const uint32_t i = ask->work[k], call = hu_trace_launch_of(ask->trace, i);
        uint32_t      *place;
        int64_t        until;

        if (call == HU_NONE || ask->s.dur_ns[call] < LEAST_PROFILER_NS || !is_launch(ask, call) ||
            busy_in(&profiler, ask->s.start_ns[call], hu_ask_end(ask, call)) < LEAST_PROFILER_NS)
            continue;
        until = profiled_until(ask, &profiler, call);
        if (ask->s.start_ns[i] < until - CLOCKS_NS || hu_ask_end(ask, call) - until >= UINT32_MAX)
            continue;
        place = hu_map_put(out, call);
        if (!place)
            return false;
        *place = (uint32_t)(hu_ask_end(ask, call) - until);
    }
    return true;
}

/* The long calls that only make the device ready, all of each. */
static bool add_ready(const hu_ask *ask, int64_t usual, const hu_intervals *profiler, hu_map *out)
{
    for (uint32_t i = 0; i < ask->s.n; i++) {
        uint32_t *place;

        if (ask->s.dur_ns[i] < LEAST_NS || ask->s.dur_ns[i] < FACTOR * usual || !makes_ready(ask, i) ||
            !is_idle_in(ask, i) || is_profiled(ask, profiler, i))
            continue;
        place = hu_map_put(out, i);
        if (!place)
            return false;
        *place = 0;
    }
    return true;
}

/* Does a launch load the code of its kernel first, by what is seen of it? */
static bool loads(const hu_ask *ask, int64_t usual, const hu_intervals *profiler, uint32_t work, uint32_t call)
{
    const int64_t length = ask->s.dur_ns[call];

    return length >= LEAST_NS && length >= FACTOR * usual && is_launch(ask, call) &&
           (double)(ask->s.start_ns[work] - ask->s.start_ns[call]) >= LATE * (double)length && is_idle_in(ask, call) &&
           !is_profiled(ask, profiler, call);
}

/* Operators that may set something up at their first call. */
static bool is_set_up(hu_str name)
{
    static const char *const starts[] = {"c10d::", "aten::cudnn_convolution", "aten::miopen_convolution",
                                         "aten::convolution_backward"};

    for (size_t i = 0; i < HU_COUNT(starts); i++)
        if (hu_str_starts_with(name, starts[i]))
            return true;
    return false;
}

enum { UNKNOWN, YES, NO };

/* `known`: by string id, for each name is read once. */
static bool sets_up(const hu_ask *ask, uint32_t slice, uint8_t *known)
{
    uint8_t *name = &known[ask->s.name[slice]];

    if (ask->s.kind[slice] != HU_KIND_CPU_OP)
        return false;
    if (*name == UNKNOWN)
        *name = is_set_up(hu_ask_name(ask, slice)) ? YES : NO;
    return *name == YES;
}

typedef struct {
    uint64_t key; /* name and shapes */
    int64_t  start_ns, dur_ns;
    uint32_t slice;
} op_call;

static int by_key(const void *left, const void *right)
{
    const op_call *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->slice > b->slice) - (a->slice < b->slice);
}

/* How often an operator calls the runtime. */
static size_t calls_in(const hu_ask *ask, uint32_t op)
{
    const hu_track *t = &ask->tracks[ask->s.track[op]];
    size_t          n = 0;

    for (uint32_t k = hu_ask_first_from(ask, t, ask->s.start_ns[op]);
         k < t->count && ask->s.start_ns[ask->order[t->first + k]] < hu_ask_end(ask, op); k++)
        n += hu_kind_in(ask->s.kind[ask->order[t->first + k]], HU_KINDS_CALL);
    return n;
}

/* A communicator is for any size; a trial of algorithms is for one. */
static uint64_t key_of(const hu_ask *ask, uint32_t op)
{
    const uint32_t row = ask->s.detail[op];
    const bool     by_name = row == HU_NONE || hu_str_starts(hu_ask_name(ask, op), HU_STR("c10d::"));

    return (uint64_t)ask->s.name[op] << 32 | (by_name ? 0 : hu_trace_op_detail(ask->trace, row)->dims);
}

/* The first of each operator's calls, where it takes far longer than every later one. */
static bool add_set_up(const hu_ask *ask, hu_map *out)
{
    HU_VEC(op_call) calls = {0};
    uint8_t *known = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, 1);

    if (!known)
        return false;
    for (uint32_t i = 0; i < ask->s.n; i++)
        if (sets_up(ask, i, known) &&
            !hu_vec_push(ask->scratch, &calls, ((op_call){key_of(ask, i), ask->s.start_ns[i], ask->s.dur_ns[i], i})))
            return false;
    if (calls.n)
        qsort(calls.at, calls.n, sizeof *calls.at, by_key);
    for (size_t first = 0, end; first < calls.n; first = end) {
        int64_t   longest = 0;
        uint32_t *place;

        for (end = first + 1; end < calls.n && calls.at[end].key == calls.at[first].key; end++)
            longest = calls.at[end].dur_ns > longest ? calls.at[end].dur_ns : longest;
        if (end - first < FEWEST_CALLS || calls.at[first].dur_ns < LEAST_NS || calls.at[first].dur_ns < FACTOR * longest ||
            calls_in(ask, calls.at[first].slice) < MORE_CALLS * (1 + calls_in(ask, calls.at[first + 1].slice)))
            continue;
        place = hu_map_put(out, calls.at[first].slice);
        if (!place)
            return false;
        *place = 0;
    }
    return true;
}

bool hu_cold_find(const hu_ask *ask, hu_arena *arena, hu_map *out)
{
    uint8_t     *warm = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, 1);
    hu_intervals profiler;
    int64_t      usual;

    if (!warm || !measure_usual(ask, &usual) || !find_profiler(ask, &profiler) || !hu_map_init(out, arena, 16))
        return false;
    for (size_t k = 0; k < ask->n_work; k++) { /* in the order in which it began */
        const uint32_t i = ask->work[k], call = hu_trace_launch_of(ask->trace, i);
        uint32_t      *place;

        if (warm[ask->s.name[i]])
            continue;
        if (call == HU_NONE || !loads(ask, usual, &profiler, i, call)) {
            warm[ask->s.name[i]] = 1;
            continue;
        }
        place = hu_map_put(out, call);
        if (!place)
            return false;
        *place = (uint32_t)(usual < ask->s.dur_ns[call] ? usual : ask->s.dur_ns[call]); /* left for the launch; fits */
    }
    return ask->n_work == 0 || (add_ready(ask, usual, &profiler, out) && add_set_up(ask, out));
}
