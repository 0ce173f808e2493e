/* SPDX-License-Identifier: Apache-2.0
 * perf_samples.c - a chain is stored from its outermost function on; perf gives it from the innermost.
 *
 * Samples say where threads were and not what they waited for, so a thread has a life and no states.
 */
#include "ingest/perf_samples.h"

#include <stdio.h>

enum { MODULE = 200 };

bool perf_samples_init(perf_samples *s, hu_builder *b, hu_arena *arena)
{
    *s = (perf_samples){.b = b, .arena = arena, .event = HU_STR("")};
    return hu_map_init(&s->life_of, arena, 64);
}

uint32_t perf_samples_place(perf_samples *s, hu_str module, uint64_t offset)
{
    char      name[MODULE + 32];
    const int n = snprintf(name, sizeof name, "[%.*s]+0x%llx", module.n < MODULE ? (int)module.n : MODULE, module.p,
                           (unsigned long long)offset);

    return hu_builder_intern(s->b, (hu_str){name, (size_t)n});
}

static bool is_unknown(hu_str name)
{
    return name.n == 0 || hu_str_equal(name, HU_STR("unknown")) || hu_str_equal(name, HU_STR("[unknown]"));
}

void perf_samples_frame(perf_samples *s, perf_sample *at, uint64_t place, bool is_kernel, hu_str module, hu_str function)
{
    if (is_kernel && !at->is_inside) {
        at->is_kernel = true;
        return;
    }
    at->is_inside = true;
    if (at->n == PERF_MOST_FRAMES)
        return;
    module = is_unknown(module) ? HU_STR("[unknown]") : module;
    at->module[at->n] = hu_builder_intern(s->b, module);
    at->function[at->n++] = is_unknown(function) ? perf_samples_place(s, module, place) : hu_builder_intern(s->b, function);
}

/* False: no memory. */
static bool live(perf_samples *s, uint32_t track, const perf_sample *sample)
{
    const int64_t time_ns = sample->time_ns;
    uint32_t     *at = hu_map_put(&s->life_of, track);

    if (!at)
        return false;
    if (*at == HU_MAP_NONE) {
        *at = (uint32_t)s->lives.n;
        return hu_vec_push(s->arena, &s->lives, ((perf_life){time_ns, time_ns, sample->pid, sample->tid, 1, track}));
    }
    s->lives.at[*at].samples++;
    if (time_ns < s->lives.at[*at].first_ns)
        s->lives.at[*at].first_ns = time_ns;
    if (time_ns > s->lives.at[*at].last_ns)
        s->lives.at[*at].last_ns = time_ns;
    return true;
}

void perf_samples_add(perf_samples *s, const perf_sample *sample)
{
    hu_cpu_sample row = {.time_ns = sample->time_ns, .is_kernel = sample->is_kernel};

    if (sample->tid == 0) {
        s->idle++;
        return;
    }
    hu_builder_quality(s->b)->events++;
    for (size_t i = sample->n; i-- > 0;)
        row.stack = hu_builder_cpu_stack(s->b, &(hu_cpu_stack){row.stack, sample->function[i], sample->module[i]});
    if (sample->is_kernel) { /* one function of all, as `holdup run` has it */
        const uint32_t kernel = hu_builder_intern(s->b, HU_STR("[kernel]"));

        row.stack = hu_builder_cpu_stack(s->b, &(hu_cpu_stack){row.stack, kernel, kernel});
    }
    row.track = hu_builder_track(s->b, HU_TRACK_HOST, (hu_builder_id){sample->pid, false},
                                 (hu_builder_id){sample->tid, false});
    if (hu_builder_status(s->b, NULL) < 0)
        return;
    if (!live(s, row.track, sample))
        hu_builder_fail(s->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    hu_builder_cpu_sample(s->b, &row);
}

/* "cycles:ppp": behind the colon are letters that perf knows; "sched:sched_switch" is a tracepoint. */
static bool is_modifier(hu_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!memchr("ukhHGpPSDIWeb", text.p[i], 13))
            return false;
    return true;
}

/* "cpu_core/cycles/:P" and "cpu_atom/cycles/:P" are one event of a processor with two kinds of cores. */
static bool bare_name(hu_str *event)
{
    const char *slash = event->n ? memchr(event->p, '/', event->n) : NULL;
    const char *end;
    hu_str      behind;

    if (slash)
        *event = (hu_str){slash + 1, (size_t)(event->p + event->n - slash) - 1};
    end = event->n ? memchr(event->p, slash ? '/' : ':', event->n) : NULL;
    if (!end)
        return !slash;
    behind = (hu_str){end + 1, (size_t)(event->p + event->n - end) - 1};
    if (behind.n && behind.p[0] == ':')
        behind = (hu_str){behind.p + 1, behind.n - 1};
    event->n = (size_t)(end - event->p);
    return is_modifier(behind);
}

int perf_samples_rank(hu_str event)
{
    static const struct {
        hu_str name;
        int    rank;
    } clocks[] = {{{"cpu-clock", 9}, 0},   {{"task-clock", 10}, 1}, {{"cycles", 6}, 2},
                  {{"cpu-cycles", 10}, 2}, {{"cpu_cycles", 10}, 2}, {{"ref-cycles", 10}, 3}};

    if (event.n == 0)
        return 4;
    if (!bare_name(&event))
        return -1;
    for (size_t i = 0; i < HU_COUNT(clocks); i++)
        if (hu_str_equal(event, clocks[i].name))
            return clocks[i].rank;
    return -1;
}

void perf_samples_pass(perf_samples *s, hu_str event)
{
    if (s->event.n == 0) {
        const hu_str kept = hu_arena_copy(s->arena, event);

        s->event = kept.p ? kept : HU_STR("");
    }
    s->events++;
}

void perf_samples_say(perf_samples *s, int64_t n, const char *what, hu_str name)
{
    hu_quality  *q = hu_builder_quality(s->b);
    const size_t used = strlen(q->warned);

    if (n)
        snprintf(q->warned + used, sizeof q->warned - used, "%s%lld %s%.*s", used ? "; " : "", (long long)n, what,
                 name.n < 60 ? (int)name.n : 60, name.p);
}

/* One process, or where none is printed one thread, has nearly all samples; the idle task is sampled with CPUs alone. */
static bool is_of_one(perf_samples *s)
{
    hu_map  of;
    int64_t all = 0, most = 0;

    if (s->idle || !hu_map_init(&of, s->arena, 64))
        return false;
    for (size_t i = 0; i < s->lives.n; i++) {
        const perf_life *life = &s->lives.at[i];
        uint32_t        *n = hu_map_put(&of, (uint64_t)(s->has_no_pids ? life->tid : life->pid));

        if (!n)
            return false;
        *n = (*n == HU_MAP_NONE ? 0 : *n) + (uint32_t)life->samples;
        most = *n > most ? *n : most;
        all += life->samples;
    }
    return most >= all - all / 10;
}

void perf_samples_end(perf_samples *s, int64_t sample_ns)
{
    hu_quality *q = hu_builder_quality(s->b);
    const bool  is_job = is_of_one(s);

    for (size_t i = 0; is_job && i < s->lives.n; i++)
        hu_builder_stretch(s->b, &(hu_stretch){.start_ns = s->lives.at[i].first_ns,
                                               .end_ns = s->lives.at[i].last_ns + (sample_ns > 0 ? sample_ns : 1),
                                               .track = s->lives.at[i].track,
                                               .state = HU_THREAD_UNKNOWN});
    hu_builder_info(s->b)->cpu_sample_ns = sample_ns;
    hu_builder_info(s->b)->state_source = HU_STATES_SUMS;
    q->events += s->lost;
    q->count[HU_REASON_RECORDER] += s->lost;
    perf_samples_say(s, s->idle, "samples of the idle task are left out", HU_STR(""));
    perf_samples_say(s, s->events, "records of events that are no samples of a CPU are left out, the first of ", s->event);
}
