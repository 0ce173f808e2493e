/* SPDX-License-Identifier: Apache-2.0
 * omp_team.c - a team works while any of its threads but the main one does; who does not is waiting at the region's end.
 *
 * Threads wait for each other by spinning and in futexes of their own.  A sample inside of the library stands for the time
 * since the one before it, which was spent spinning.  The main thread also works outside of parallel regions.  While another
 * thread works it is in one; else only its samples tell, by their chain, or where there is none by their function.
 */
#include "analyze/omp_team.h"

#include "analyze/code_owner.h"
#include "base/map.h"

enum { IS_TEAM = 1, IS_SPINNING = 2 };

static const double OFTEN = 0.1; /* of the team's samples, that a function of it has */

typedef struct {
    const hu_ask *ask;
    uint32_t      main;
    hu_interval   window;
    uint8_t      *of_stack; /* IS_*, by 1 + row */
    size_t        n_stacks;
    uint8_t      *is_member; /* by track */
    hu_map        of_function;
    HU_VEC(int64_t) counts; /* samples of the team's other threads, by place in of_function */
    int64_t      counted;
    hu_intervals region; /* united */
    hu_omp_team *out;
} work;

static bool is_region_name(hu_str name)
{
    return hu_str_has(name, HU_STR("._omp_fn.")) || hu_str_has(name, HU_STR("omp_outlined")) ||
           hu_str_starts(name, HU_STR("GOMP_")) || hu_str_starts(name, HU_STR("gomp_")) ||
           hu_str_starts(name, HU_STR("__kmp"));
}

static bool judge_stacks(work *w)
{
    const hu_trace *trace = w->ask->trace;
    bool            is_any = false;

    w->n_stacks = hu_trace_cpu_stack_count(trace) + 1;
    w->of_stack = hu_arena_calloc(w->ask->scratch, w->n_stacks, 1);
    if (!w->of_stack)
        return false;
    for (uint32_t i = 1; i < w->n_stacks; i++) {
        const hu_cpu_stack *s = hu_trace_cpu_stack(trace, i);
        const bool          is_library = hu_code_is_openmp(hu_trace_text(trace, s->module));

        /* of one that a library waits in, the kernel or libc below it waits too */
        w->of_stack[i] = w->of_stack[s->caller] & IS_TEAM;
        if (is_library || (hu_code_is_system(hu_trace_text(trace, s->module)) && w->of_stack[s->caller] & IS_SPINNING))
            w->of_stack[i] |= IS_TEAM | IS_SPINNING;
        else if (is_region_name(hu_trace_text(trace, s->function)))
            w->of_stack[i] |= IS_TEAM;
        is_any |= w->of_stack[i] != 0;
    }
    if (!is_any)
        w->n_stacks = 0;
    return true;
}

static bool is_of_process(const work *w, uint32_t track)
{
    const hu_track *t = &w->ask->tracks[track], *main = &w->ask->tracks[w->main];

    return t->type == HU_TRACK_HOST && t->pid == main->pid && t->pid_is_text == main->pid_is_text;
}

static uint32_t function_of(const work *w, const hu_cpu_sample *s)
{
    const uint32_t owner = s->stack < w->n_stacks ? hu_code_owner(w->ask->trace, s->stack) : 0;

    return owner ? hu_trace_cpu_stack(w->ask->trace, owner)->function : 0;
}

/* A thread that a sample shows; HU_NONE: of another process. */
static uint32_t member_of(const work *w, const hu_cpu_sample *s)
{
    return s->track < w->ask->n_tracks && is_of_process(w, s->track) ? s->track : HU_NONE;
}

/* Functions that samples of the team's threads are in, the main one's too or not, and how often. */
static bool count_functions(work *w, bool has_main)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);

    w->counts.n = 0;
    w->counted = 0;
    if (!hu_map_init(&w->of_function, w->ask->scratch, 16))
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t t = member_of(w, &samples[i]);
        const uint32_t function = t != HU_NONE && w->is_member[t] && (has_main || t != w->main) ? function_of(w, &samples[i])
                                                                                                : 0;
        uint32_t      *at = function ? hu_map_put(&w->of_function, function) : NULL;

        if (!function)
            continue;
        if (!at)
            return false;
        if (*at == HU_MAP_NONE) {
            *at = (uint32_t)w->counts.n;
            if (!hu_vec_push(w->ask->scratch, &w->counts, 0))
                return false;
        }
        w->counts.at[*at]++;
        w->counted++;
    }
    return true;
}

/* Who waits in the library or is called by it; then who is in no such chain, but in the same functions. */
static bool find_members(work *w)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);

    w->is_member = hu_arena_calloc(w->ask->scratch, w->ask->n_tracks + 1, 1);
    if (!w->is_member)
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t t = member_of(w, &samples[i]);

        if (t != HU_NONE && samples[i].stack < w->n_stacks && w->of_stack[samples[i].stack])
            w->is_member[t] = w->is_member[w->main] = 1;
    }
    if (!count_functions(w, true))
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t t = member_of(w, &samples[i]), function = t != HU_NONE ? function_of(w, &samples[i]) : 0;

        if (function && w->counted && hu_map_get(&w->of_function, function) != HU_MAP_NONE)
            w->is_member[t] = 1;
    }
    return count_functions(w, false);
}

/* Is what the main thread does in a sample the team's work? */
static bool is_of_team(const work *w, const hu_cpu_sample *s)
{
    const uint32_t function = function_of(w, s);
    const uint32_t at = function ? hu_map_get(&w->of_function, function) : HU_MAP_NONE;

    if (s->stack < w->n_stacks && w->of_stack[s->stack] & IS_SPINNING)
        return false;
    return (s->stack < w->n_stacks && w->of_stack[s->stack] & IS_TEAM) ||
           (at != HU_MAP_NONE && (double)w->counts.at[at] >= OFTEN * (double)w->counted);
}

/* What a sample stands for: the time that the thread ran since the one before it. */
static bool add_samples(work *w, uint32_t track, bool is_spin, hu_intervals *out)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);
    int64_t              last_ns = w->window.start_ns;

    for (size_t i = 0; i < n; i++) {
        const hu_cpu_sample *s = &samples[i];

        if (s->track != track)
            continue;
        if ((is_spin ? s->stack < w->n_stacks && w->of_stack[s->stack] & IS_SPINNING : is_of_team(w, s)) &&
            !hu_intervals_add(w->ask->scratch, out, last_ns, s->time_ns))
            return false;
        last_ns = s->time_ns;
    }
    return hu_intervals_unite(w->ask->scratch, out);
}

/* Did it wait in a futex that no function of the C library waits in?  The library's threads wait for each other so. */
static bool is_wait_of_team(const hu_ask *ask, uint32_t slice)
{
    const uint32_t row = ask->s.detail[slice];

    return ask->s.kind[slice] == HU_KIND_OS_CALL && row != HU_NONE && hu_trace_os_detail(ask->trace, row)->is_outside &&
           hu_str_equal(hu_ask_name(ask, slice), HU_STR("futex"));
}

/* When a thread works, and when it is busy: it works, or it calls or wants a CPU, which equal work does not change. */
static bool find_work(work *w, uint32_t track, hu_intervals *works, hu_intervals *busy)
{
    hu_arena         *scratch = w->ask->scratch;
    const hu_track   *t = &w->ask->tracks[track];
    size_t            n;
    const hu_stretch *s = hu_trace_stretches(w->ask->trace, &n);
    hu_intervals      runs = {0}, spins = {0}, other = {0}, all, whole = {0};

    for (uint32_t k = 0; k < t->n_stretches; k++) {
        const hu_stretch *x = &s[t->first_stretch + k];

        if ((x->state == HU_THREAD_RUNNING && !hu_intervals_add(scratch, &runs, x->start_ns, x->end_ns)) ||
            (x->state == HU_THREAD_RUNNABLE && !hu_intervals_add(scratch, &other, x->start_ns, x->end_ns)))
            return false;
    }
    for (uint32_t k = 0; k < t->count; k++) {
        const uint32_t i = w->ask->order[t->first + k];

        if (hu_kind_in(w->ask->s.kind[i], HU_BIT(OS_CALL) | HU_BIT(MPI)) && !is_wait_of_team(w->ask, i) &&
            !hu_intervals_add(scratch, &other, w->ask->s.start_ns[i], hu_ask_end(w->ask, i)))
            return false;
    }
    return hu_intervals_add(scratch, &whole, w->window.start_ns, w->window.end_ns) && hu_intervals_unite(scratch, &runs) &&
           hu_intervals_unite(scratch, &other) && add_samples(w, track, true, &spins) &&
           hu_intervals_subtract(scratch, &runs, &spins, &all) && hu_intervals_intersect(scratch, &all, &whole, works) &&
           hu_intervals_join(scratch, works, &other, busy);
}

/* The time in which any of the others works. */
static bool find_region(work *w)
{
    for (uint32_t t = 0; t < w->ask->n_tracks; t++) {
        hu_intervals works, busy, all;

        if (!w->is_member[t] || t == w->main)
            continue;
        if (!find_work(w, t, &works, &busy) || !hu_intervals_join(w->ask->scratch, &w->region, &works, &all))
            return false;
        w->region = all;
    }
    return true;
}

/* What the main thread does for the team beyond it. */
static bool find_alone(work *w)
{
    hu_intervals works, busy, team = {0}, its, alone;

    if (!find_work(w, w->main, &works, &busy) || !add_samples(w, w->main, false, &team) ||
        !hu_intervals_intersect(w->ask->scratch, &team, &works, &its) ||
        !hu_intervals_subtract(w->ask->scratch, &its, &w->region, &alone))
        return false;
    w->out->alone_ns = hu_intervals_length(&alone);
    return true;
}

static bool sum_threads(work *w)
{
    w->out->region_ns = hu_intervals_length(&w->region) + w->out->alone_ns;
    for (uint32_t t = 0; t < w->ask->n_tracks; t++) {
        hu_intervals works, busy;
        int64_t      work_ns;

        if (!w->is_member[t])
            continue;
        if (!find_work(w, t, &works, &busy))
            return false;
        work_ns = hu_intervals_common(&works, &w->region) + (t == w->main ? w->out->alone_ns : 0);
        w->out->threads++;
        w->out->work_ns += work_ns;
        w->out->busy_ns += hu_intervals_common(&busy, &w->region) + (t == w->main ? w->out->alone_ns : 0);
        if (work_ns > w->out->longest_ns) {
            w->out->longest_ns = work_ns;
            w->out->longest = t;
        }
    }
    return true;
}

static void find_function(work *w)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);
    uint32_t             most = HU_MAP_NONE;

    for (size_t i = 0; i < w->counts.n; i++)
        if (most == HU_MAP_NONE || w->counts.at[i] > w->counts.at[most])
            most = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        const hu_cpu_sample *s = &samples[i];
        uint32_t             function;

        if (s->track >= w->ask->n_tracks || !w->is_member[s->track] || (s->track == w->main && !is_of_team(w, s)))
            continue;
        function = function_of(w, s);
        w->out->samples += function != 0;
        w->out->is_chained |= s->track == w->main && s->stack < w->n_stacks && w->of_stack[s->stack] & IS_TEAM;
        if (function && hu_map_get(&w->of_function, function) == most) {
            w->out->in_function++;
            w->out->function = function;
        }
    }
}

bool hu_omp_team_measure(const hu_ask *ask, uint32_t main, hu_interval window, hu_omp_team *out)
{
    const hu_trace_info *info = hu_trace_get_info(ask->trace);
    work                 w = {.ask = ask, .main = main, .window = window, .out = out};

    *out = (hu_omp_team){0};
    if (info->state_source != HU_STATES_SWITCHES)
        return true;
    if (!judge_stacks(&w))
        return false;
    if (!w.n_stacks)
        return true;
    if (!find_members(&w) || !find_region(&w) || !find_alone(&w) || !sum_threads(&w))
        return false;
    find_function(&w);
    return true;
}
