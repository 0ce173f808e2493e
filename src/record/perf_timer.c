/* SPDX-License-Identifier: Apache-2.0
 * perf_timer.c - from records of kind SAMPLE to call chains: addresses are placed by the copy of /proc/PID/maps that
 * the program left beside its ring.
 *
 * The copy is of a later moment than some samples: what was mapped in between is placed too, what was unmapped is not.
 */
#include "record/perf_timer.h"

#include <stdlib.h>

#include "record/perf_threads.h"
#include "record/processes.h"
#include "record/ring_read.h"
#include "record/proc.h"

enum { CHAIN_MOST = 256, PATH_MOST = 4096 };

typedef struct {
    hu_perf_stacks *stacks;
    hu_perf_spaces *spaces;
    hu_perf_files  *out;
    hu_arena       *scratch;
    hu_clock_map   *clock;
    int64_t         shift_ns; /* CLOCK_MONOTONIC = the map's time + this */
} reader;

/* ---- /proc/PID/maps ---------------------------------------------------------------------------------------------- */

/* "55d0-55f0 r-xp 00001000 08:01 1234   /usr/bin/x".  False without memory. */
static bool take_line(reader *x, uint32_t pid, hu_str line)
{
    hu_perf_place  place;
    hu_perf_module module = {0};
    bool           is_code;

    if (!hu_proc_take_hex(&line, '-', &place.start) || !hu_proc_take_hex(&line, ' ', &place.end) || line.n < 5)
        return true;
    is_code = line.p[2] == 'x';
    hu_proc_skip_word(&line);
    if (!is_code || !hu_proc_take_hex(&line, ' ', &place.offset))
        return true;
    hu_proc_skip_word(&line);
    hu_proc_skip_word(&line);
    if (line.n > PATH_MOST)
        line.n = PATH_MOST;
    module = (hu_perf_module){.path = hu_intern_add(&x->out->texts, line.n ? line : HU_STR("//anon")),
                              .kind = (uint8_t)hu_perf_stacks_kind(line),
                              .start = place.start,
                              .end = place.end,
                              .offset = place.offset};
    module.pid = module.kind == HU_MODULE_JIT ? pid : 0;
    if (module.path == UINT32_MAX)
        return false;
    place.module = hu_perf_stacks_module(x->stacks, &module);
    return place.module != UINT32_MAX && hu_perf_spaces_map(x->spaces, pid, &place);
}

static bool take_maps(reader *x, const hu_process_image *image)
{
    hu_str text = hu_proc_read_maps(image->path, x->scratch);

    if (!text.p || !hu_perf_spaces_clear(x->spaces, image->pid))
        return false;
    while (text.n) {
        const char  *end = memchr(text.p, '\n', text.n);
        const hu_str line = {text.p, end ? (size_t)(end - text.p) : text.n};

        text = (hu_str){text.p + line.n + (end != NULL), text.n - line.n - (end != NULL)};
        if (!take_line(x, image->pid, line))
            return false;
    }
    return true;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Also one that has ended: rings are read after all else. */
static uint32_t thread_of(reader *x, uint32_t pid, uint32_t tid, int64_t ns)
{
    const uint32_t at = hu_map_get(&x->out->thread_of, tid);

    return at != HU_MAP_NONE && x->out->threads.at[at].pid == pid ? at : hu_perf_threads_new(x->out, pid, tid, ns);
}

static bool take_sample(reader *x, uint32_t pid, uint32_t tid, const hu_ring_event *e)
{
    const int64_t  ns = hu_clock_map_ns(x->clock, e->record->time) + x->shift_ns;
    uint64_t       chain[CHAIN_MOST];
    size_t         n = 0;
    hu_perf_sample sample = {.time_ns = ns, .thread = thread_of(x, pid, tid, ns)};

    if (sample.thread == UINT32_MAX)
        return false;
    chain[n++] = e->record->a;
    for (uint32_t i = 0; i < e->n_more && n < CHAIN_MOST; i++)
        if (e->more[i].aux == HU_MORE_ADDRESS)
            chain[n++] = e->more[i].a;
    sample.stack = hu_perf_stacks_chain(x->stacks, pid, (const char *)chain, n, NULL, false);
    x->out->threads.at[sample.thread].samples++;
    return sample.stack != UINT32_MAX && hu_vec_push(x->out->arena, &x->out->samples, sample);
}

/* False without memory.  A ring that cannot be read is somebody else's to complain about. */
static bool take_image(reader *x, const hu_process_image *image)
{
    hu_ring_file *ring;
    hu_error      unused;
    bool          has_maps = false, is_good = true;
    size_t        n;

    if (image->path.n == 0)
        return true; /* the library was not in it */
    if (hu_ring_open(image->path.p, image->is_alive, &ring, &unused) < 0)
        return unused.code != HU_ENOMEM;
    for (size_t i = 0; is_good && i < (hu_ring_threads(ring, &n), n); i++) {
        const hu_ring_thread *thread = &hu_ring_threads(ring, &n)[i];
        hu_ring_cursor        cursor;
        hu_ring_event         event;

        hu_ring_start(ring, thread, NULL, &cursor);
        while (is_good && hu_ring_next(&cursor, &event)) {
            if (event.record->type != HU_RECORD_SAMPLE)
                continue;
            if (!has_maps)
                is_good = take_maps(x, image);
            has_maps = true;
            is_good = is_good && take_sample(x, image->pid, thread->tid, &event);
        }
    }
    hu_ring_close(ring);
    return is_good;
}

static int by_time(const void *left, const void *right)
{
    const hu_perf_sample *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

int hu_perf_timer_read(const char *session, hu_perf_stacks *stacks, hu_perf_spaces *spaces, hu_perf_files *out,
                       hu_error *err)
{
    reader          x = {.stacks = stacks, .spaces = spaces, .out = out, .scratch = hu_arena_new()};
    hu_process_list list;
    int             rc = x.scratch ? hu_processes_read(session, x.scratch, &list, err) : hu_fail_memory(err);

    if (rc == 0 && list.has_control && list.control.sample_hz) {
        x.clock = &list.clock;
        if (list.clock.n)
            x.shift_ns = list.clock.knots[0].monotonic_ns - list.clock.knots[0].boottime_ns;
        for (size_t i = 0; rc == 0 && i < list.n; i++)
            if (!take_image(&x, &list.at[i]))
                rc = hu_fail_memory(err);
        if (out->samples.n) {
            qsort(out->samples.at, out->samples.n, sizeof *out->samples.at, by_time);
            out->period_ns = 1000000000u / list.control.sample_hz;
            out->is_user_only = true;
            out->n_files++;
        }
    }
    hu_arena_free(x.scratch);
    return rc == HU_ENOMEM ? rc : 0;
}
