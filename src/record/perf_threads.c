/* SPDX-License-Identifier: Apache-2.0
 * perf_threads.c - one record for each thread that lived; a number that returns after its end is another thread. */
#include "record/perf_threads.h"

#include "protocol/redact.h"

uint32_t hu_perf_threads_new(hu_perf_files *f, uint32_t pid, uint32_t tid, int64_t time_ns)
{
    const hu_perf_thread thread = {.pid = pid, .tid = tid, .first_ns = time_ns, .last_ns = time_ns};
    uint32_t            *place = hu_map_put(&f->thread_of, tid);

    if (!place || !hu_vec_push(f->arena, &f->threads, thread))
        return UINT32_MAX;
    return *place = (uint32_t)f->threads.n - 1;
}

uint32_t hu_perf_threads_find(hu_perf_files *f, uint32_t pid, uint32_t tid, int64_t time_ns)
{
    const uint32_t at = hu_map_get(&f->thread_of, tid);

    if (at == HU_MAP_NONE || f->threads.at[at].has_ended || f->threads.at[at].pid != pid)
        return hu_perf_threads_new(f, pid, tid, time_ns);
    f->threads.at[at].last_ns = time_ns;
    return at;
}

/* Changes are in the order of time; this one may come before the last ones. */
static bool insert(hu_perf_files *f, const hu_perf_change *change)
{
    size_t i;

    if (!hu_vec_push(f->arena, &f->changes, *change))
        return false;
    for (i = f->changes.n - 1; i && f->changes.at[i - 1].time_ns > change->time_ns; i--)
        f->changes.at[i] = f->changes.at[i - 1];
    f->changes.at[i] = *change;
    return true;
}

/* A state that lasted over a loss counts as far as that.  False without memory. */
static bool close_state(hu_perf_files *f, uint32_t thread, int64_t time_ns)
{
    hu_perf_thread      *t = &f->threads.at[thread];
    const hu_perf_change lost = {.time_ns = f->last_loss_ns, .thread = thread, .state = HU_TASK_LOST};
    const bool           was_lost = t->is_known && t->since_ns <= f->last_loss_ns;
    const int64_t        end_ns = was_lost && f->last_loss_ns < time_ns ? f->last_loss_ns : time_ns;

    if (t->is_known && end_ns > t->since_ns)
        t->in_ns[t->state] += end_ns - t->since_ns;
    if (was_lost)
        t->is_known = false;
    t->since_ns = time_ns;
    return !was_lost || lost.time_ns >= time_ns || insert(f, &lost);
}

bool hu_perf_threads_change(hu_perf_files *f, uint32_t thread, int64_t time_ns, uint32_t cpu, hu_task_state state)
{
    hu_perf_thread      *t = &f->threads.at[thread];
    const hu_perf_change change = {.time_ns = time_ns, .thread = thread, .cpu = (uint16_t)cpu, .state = (uint8_t)state};

    if (t->has_ended || (t->is_known && t->state == (uint8_t)state && t->since_ns > f->last_loss_ns))
        return true;
    if (!close_state(f, thread, time_ns))
        return false;
    t->last_ns = time_ns;
    t->state = (uint8_t)state;
    t->is_known = true;
    t->has_ended = state == HU_TASK_DEAD;
    t->switches += state == HU_TASK_RUNNING;
    return hu_vec_push(f->arena, &f->changes, change);
}

bool hu_perf_threads_name(hu_perf_files *f, uint32_t thread, hu_str name)
{
    char           clean[256];
    const uint32_t id = hu_intern_add(&f->texts, (hu_str){clean, hu_redact_text(name, clean, sizeof clean)});

    if (id != UINT32_MAX)
        f->threads.at[thread].name = id;
    return id != UINT32_MAX;
}

bool hu_perf_threads_finish(hu_perf_files *f, int64_t end_ns)
{
    for (size_t i = 0; i < f->threads.n; i++) {
        hu_perf_thread *t = &f->threads.at[i];

        if (t->has_ended || !t->is_known)
            continue;
        if (!close_state(f, (uint32_t)i, end_ns))
            return false;
        t->last_ns = end_ns;
    }
    return true;
}
