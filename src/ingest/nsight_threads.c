/* SPDX-License-Identifier: Apache-2.0
 * nsight_threads.c - when threads ran, and where.
 *
 * A capture of the whole system has the threads of every process; only those of processes that take part in the run, by
 * recorded calls, ranges or work of the GPU, are read.  Off the CPU a thread waits or wants a CPU, which exports do not say
 * (a column threadState tells some of it where it exists), so such stretches are in an unknown state.
 */
#include <stdlib.h>

#include "ingest/nsight.h"

enum { MOST_FRAMES = 1024, STATE_RUNNING = 1 };

static void add_stretch(nsight_reader *r, int64_t thread, int64_t start_ns, int64_t end_ns, bool is_running)
{
    const hu_stretch stretch = {.start_ns = start_ns,
                                .end_ns = end_ns,
                                .track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){nsight_pid(thread), false},
                                                          (hu_builder_id){nsight_tid(thread), false}),
                                .state = is_running ? HU_THREAD_RUNNING : HU_THREAD_UNKNOWN};

    if (end_ns > start_ns)
        hu_builder_stretch(r->b, &stretch);
}

static bool takes_part(const nsight_reader *r, int64_t pid)
{
    return nsight_wants(r, pid) && hu_map_get(&r->parts, (uint64_t)pid) != HU_MAP_NONE;
}

/* The last change of a thread. */
typedef struct {
    int64_t thread, since_ns;
    bool    is_running;
} last_change;

static void read_switches(nsight_reader *r)
{
    enum { TIME, IS_IN, THREAD };
    static const char *const columns[] = {"start", "isSchedIn", "globalTid", NULL};
    nsight_rows              rows;
    hu_map                   last;
    HU_VEC(last_change) threads = {0};
    int64_t end_ns = 0;

    if (!hu_map_init(&last, r->arena, 64) || !nsight_begin(r, &rows, "SCHED_EVENTS", columns, "start"))
        return;
    while (nsight_next(&rows)) {
        const last_change now = {.thread = nsight_int(&rows, THREAD, 0),
                                 .since_ns = nsight_int(&rows, TIME, -1),
                                 .is_running = nsight_int(&rows, IS_IN, 0) != 0};
        uint32_t         *place;

        if (now.since_ns < 0 || !takes_part(r, nsight_pid(now.thread)))
            continue;
        hu_builder_quality(r->b)->events++;
        place = hu_map_put(&last, (uint64_t)now.thread);
        if (!place || (*place == HU_MAP_NONE && !hu_vec_push(r->arena, &threads, now))) {
            hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
            continue;
        }
        end_ns = now.since_ns > end_ns ? now.since_ns : end_ns;
        if (*place == HU_MAP_NONE) {
            *place = (uint32_t)threads.n - 1;
            continue;
        }
        add_stretch(r, now.thread, threads.at[*place].since_ns, now.since_ns, threads.at[*place].is_running);
        threads.at[*place] = now;
    }
    for (size_t i = 0; i < threads.n; i++)
        add_stretch(r, threads.at[i].thread, threads.at[i].since_ns, end_ns, threads.at[i].is_running);
    if (threads.n)
        hu_builder_info(r->b)->state_source = HU_STATES_SWITCHES;
}

typedef struct {
    uint32_t function, module;
} frame;

/* From the outermost caller on. */
static uint32_t chain_of(nsight_reader *r, const frame *frames, size_t n)
{
    uint32_t number = 0;

    while (n-- > 0)
        number = hu_builder_cpu_stack(
            r->b, &(hu_cpu_stack){.caller = number, .function = frames[n].function, .module = frames[n].module});
    return number;
}

static uint32_t module_name(nsight_reader *r, uint32_t path)
{
    return path ? hu_builder_intern(r->b, hu_str_base_name(hu_builder_text(r->b, path))) : 0;
}

/* Call chains by the id of their sample. */
static bool read_chains(nsight_reader *r, hu_map *chains)
{
    enum { ID, SYMBOL, MODULE };
    static const char *const columns[] = {"id", "symbol", "module", "stackDepth", NULL};
    nsight_rows              rows;
    frame                   *frames = hu_arena_alloc(r->arena, MOST_FRAMES * sizeof *frames);
    int64_t                  id = -1;
    size_t                   n = 0;
    bool                     more;

    if (!frames || !nsight_begin(r, &rows, "SAMPLING_CALLCHAINS", columns, "id, stackDepth"))
        return frames != NULL;
    do {
        more = nsight_next(&rows);
        if (n && (!more || nsight_int(&rows, ID, -1) != id)) {
            uint32_t *place = hu_map_put(chains, (uint64_t)id);

            if (!place)
                hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
            else
                *place = chain_of(r, frames, n);
            n = 0;
        }
        if (more) {
            id = nsight_int(&rows, ID, -1);
            if (n < MOST_FRAMES)
                frames[n++] = (frame){nsight_string(&rows, SYMBOL), module_name(r, nsight_string(&rows, MODULE))};
        }
    } while (more);
    return true;
}

static void read_samples(nsight_reader *r)
{
    enum { ID, TIME, THREAD, STATE };
    static const char *const columns[] = {"id", "start", "globalTid", "threadState", NULL};
    nsight_rows              rows;
    hu_map                   chains;

    if (!hu_map_init(&chains, r->arena, 1024) || !read_chains(r, &chains) ||
        !nsight_begin(r, &rows, "COMPOSITE_EVENTS", columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t  thread = nsight_int(&rows, THREAD, 0);
        const uint32_t chain = hu_map_get(&chains, (uint64_t)nsight_int(&rows, ID, -1));
        hu_cpu_sample  sample = {.time_ns = nsight_int(&rows, TIME, -1), .stack = chain == HU_MAP_NONE ? 0 : chain};

        if (sample.time_ns < 0 || !takes_part(r, nsight_pid(thread)) ||
            nsight_int(&rows, STATE, STATE_RUNNING) != STATE_RUNNING)
            continue;
        hu_builder_quality(r->b)->events++;
        sample.track = hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){nsight_pid(thread), false},
                                        (hu_builder_id){nsight_tid(thread), false});
        hu_builder_cpu_sample(r->b, &sample);
    }
}

void nsight_read_threads(nsight_reader *r)
{
    read_switches(r);
    read_samples(r);
}
