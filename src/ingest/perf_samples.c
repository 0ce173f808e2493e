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

/* False: no memory. */
static bool live(perf_samples *s, uint32_t track, const perf_sample *sample)
{
    const int64_t time_ns = sample->time_ns;
    uint32_t     *at = hu_map_put(&s->life_of, track);

    if (!at)
        return false;
    if (*at == HU_MAP_NONE) {
        *at = (uint32_t)s->lives.n;
        return hu_vec_push(s->arena, &s->lives, ((perf_life){time_ns, time_ns, sample->pid, sample->tid, track}));
    }
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

/* "sched:sched_switch" is one; "cycles:ppp" is not: what follows its colon are letters that perf knows. */
bool perf_samples_is_tracepoint(hu_str event)
{
    static const char modifiers[] = "ukhHGpPSDIWeb";
    const char       *colon = event.n ? memchr(event.p, ':', event.n) : NULL;

    for (const char *p = colon ? colon + 1 : NULL; p && p < event.p + event.n; p++)
        if (!memchr(modifiers, *p, sizeof modifiers - 1))
            return true;
    return false;
}

void perf_samples_pass(perf_samples *s, hu_str event)
{
    if (s->event.n == 0) {
        const hu_str kept = hu_arena_copy(s->arena, event);

        s->event = kept.p ? kept : HU_STR("");
    }
    s->events++;
}

static void say(hu_quality *q, int64_t n, const char *what, hu_str name)
{
    const size_t used = strlen(q->warned);

    if (n)
        snprintf(q->warned + used, sizeof q->warned - used, "%s%lld %s%.*s", used ? "; " : "", (long long)n, what,
                 name.n < 60 ? (int)name.n : 60, name.p);
}

void perf_samples_end(perf_samples *s, int64_t sample_ns)
{
    hu_quality *q = hu_builder_quality(s->b);

    for (size_t i = 0; i < s->lives.n; i++)
        hu_builder_stretch(s->b, &(hu_stretch){.start_ns = s->lives.at[i].first_ns,
                                               .end_ns = s->lives.at[i].last_ns + (sample_ns > 0 ? sample_ns : 1),
                                               .track = s->lives.at[i].track,
                                               .state = HU_THREAD_UNKNOWN});
    hu_builder_info(s->b)->cpu_sample_ns = sample_ns;
    hu_builder_info(s->b)->state_source = HU_STATES_SUMS;
    q->events += s->lost;
    q->count[HU_REASON_RECORDER] += s->lost;
    say(q, s->idle, "samples of the idle task are left out", HU_STR(""));
    say(q, s->events, "records of events that are no samples of a CPU are left out, the first of ", s->event);
}
