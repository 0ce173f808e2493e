/* SPDX-License-Identifier: Apache-2.0
 * to_pftrace.c - the processes of a session, file by file, as packets.
 *
 * A file begins with what it is about (clocks, attributes), then comes process by process, each with its threads, and it
 * ends with how much was lost.  Nothing is held in memory but one block of records, the texts of one process, and what
 * is open.
 */
#include "record/to_pftrace.h"

#include <stdio.h>
#include <stdlib.h>

#include "record/lives.h"
#include "record/perf_packets.h"
#include "record/pf.h"
#include "record/pf_about.h"
#include "record/pf_energy.h"
#include "record/pf_gpu_counters.h"
#include "record/processes.h"
#include "record/tools.h"
#include "record/waits.h"
#include "protocol/perfetto.h"

enum { MOST_CLOCKS = 256 };

/* clocks */

static void write_clock(hu_pftrace_work *w, uint32_t id, int64_t time)
{
    const size_t clock = hu_pb_write_open(&w->p.w, HU_PT_SNAPSHOT_CLOCK);

    hu_pb_write_uint(&w->p.w, HU_PT_CLOCK_ID, id);
    hu_pb_write_uint(&w->p.w, HU_PT_CLOCK_TIME, (uint64_t)time);
    hu_pb_write_close(&w->p.w, clock);
}

static void write_clocks(hu_pftrace_work *w)
{
    const hu_clock_map *m = &w->list->clock;
    const size_t        each = m->n > MOST_CLOCKS ? (m->n + MOST_CLOCKS - 1) / MOST_CLOCKS : 1;

    for (size_t i = 0; i < m->n; i += each) {
        const hu_clock_snapshot *k = &m->knots[i];
        const size_t packet = hu_pf_open(&w->p, &w->about), open = hu_pb_write_open(&w->p.w, HU_PT_PACKET_CLOCK_SNAPSHOT);

        write_clock(w, HU_PT_BOOTTIME, k->boottime_ns);
        write_clock(w, HU_PT_REALTIME, k->realtime_ns);
        write_clock(w, HU_PT_MONOTONIC, k->monotonic_ns);
        hu_pb_write_uint(&w->p.w, HU_PT_SNAPSHOT_PRIMARY, HU_PT_BOOTTIME);
        hu_pb_write_close(&w->p.w, open);
        hu_pf_close(&w->p, &w->about, packet);
    }
}

/* processes */

static void label(hu_pftrace_work *w, const char *format, int64_t number)
{
    char words[64];

    snprintf(words, sizeof words, format, (long long)number);
    hu_pb_write_str(&w->p.w, HU_PT_PROCESS_LABEL, hu_str_of(words));
}

static void write_argument(hu_pftrace_work *w, hu_str argument)
{
    hu_pb_write_str(&w->p.w, HU_PT_PROCESS_COMMAND, argument);
}

static void describe(hu_pftrace_work *w, const hu_process_image *image)
{
    const size_t packet = hu_pf_open(&w->p, &w->about), open = hu_pb_write_open(&w->p.w, HU_PT_PACKET_TRACK);
    size_t       nest;

    hu_pb_write_uint(&w->p.w, HU_PT_TRACK_UUID, w->p.process_track);
    nest = hu_pb_write_open(&w->p.w, HU_PT_TRACK_PROCESS);
    hu_pb_write_uint(&w->p.w, HU_PT_PROCESS_PID, image->pid);
    hu_pf_about_each_argument(w, image, write_argument);
    hu_pb_write_str(&w->p.w, HU_PT_PROCESS_NAME, image->name);
    hu_pb_write_int(&w->p.w, HU_PT_PROCESS_START, hu_pf_ns(&w->p, image->started));
    if (image->owner >= 0)
        label(w, "rank %lld", image->owner);
    if (!image->exited && !image->is_alive)
        label(w, "killed", 0);
    hu_pb_write_close(&w->p.w, nest);
    hu_pb_write_close(&w->p.w, open);
    hu_pf_close(&w->p, &w->about, packet);
}

/* The parent's fork or exec points here, when it is in this file; parents come first. */
static uint64_t flow_to(const void *context, uint64_t process, const hu_record *r)
{
    const hu_pftrace_work  *w = context;
    const hu_process_image *image = &w->list->at[process];
    const bool              is_fork = r->type == HU_RECORD_FORK;
    const uint32_t          pid = is_fork ? (uint32_t)r->a : image->pid;
    const uint32_t          child = hu_processes_child(w->list, pid, r->time, is_fork, image->pid);

    if (child == UINT32_MAX || child <= process || !w->is_member[child] || w->list->at[child].is_outsider)
        return 0;
    w->has_arrow[child] = 1;
    return (uint64_t)child + 1;
}

static void write_start(hu_pftrace_work *w, uint32_t process)
{
    const int64_t ns = hu_pf_ns(&w->p, w->list->at[process].started);
    hu_pf_event   e = {.type = HU_PT_TYPE_INSTANT,
                       .category = HU_PF_OF_PROCESS,
                       .ns = ns,
                       .name = HU_PF_OWN + HU_PF_STARTED,
                       .track = w->p.process_track,
                       .text = HU_STR("")};

    e.flow_end = w->has_arrow[process] ? (uint64_t)process + 1 : 0;
    hu_pf_write(&w->p, &w->about, &e);
}

/* Losses whose thread wrote no record of them: it had no block to write it into. */
static void write_losses(hu_pftrace_work *w, const hu_process_image *image, uint64_t placed)
{
    static const char *const reasons[HU_LOSS_REASONS] = {"no free block",     "disk full",   "in a signal handler",
                                                         "string table full", "overwritten", "size limit"};
    uint64_t                 total = 0;
    unsigned                 most = HU_LOSS_FULL;
    hu_pf_event              e = {.type = HU_PT_TYPE_INSTANT,
                                  .category = HU_PF_OF_LOST,
                                  .name = HU_PF_OWN + HU_PF_LOST,
                                  .track = w->p.process_track,
                                  .text = HU_STR("")};

    for (unsigned i = 0; i < HU_LOSS_REASONS; i++) {
        if (i == HU_LOSS_STRINGS || i == HU_LOSS_OVERWRITTEN)
            continue;
        total += image->lost[i];
        most = image->lost[i] > image->lost[most] ? i : most;
    }
    w->lost += total;
    w->lost_texts += image->lost[HU_LOSS_STRINGS];
    w->overwritten += image->lost[HU_LOSS_OVERWRITTEN];
    if (total <= placed)
        return;
    e.ns = hu_pf_ns(&w->p, image->first_lost);
    hu_pf_add(&w->p, &e, HU_PF_OWN + HU_PF_COUNT, HU_PF_INT)->whole = (int64_t)(total - placed);
    hu_pf_add(&w->p, &e, HU_PF_OWN + HU_PF_REASON, HU_PF_TEXT)->text = hu_str_of(reasons[most]);
    hu_pf_write(&w->p, &w->about, &e);
}

static bool enter_process(hu_pftrace_work *w, uint32_t process)
{
    hu_pf                  *p = &w->p;
    const hu_process_image *image = &w->list->at[process];
    uint64_t                last = hu_ring_last_ticks(p->ring);

    p->n_ids = hu_ring_texts(p->ring);
    for (size_t i = 0; i < HU_COUNT(p->stamps); i++)
        p->stamps[i] = hu_arena_calloc(p->scratch, p->n_ids + HU_PF_OWN_MOST, sizeof *p->stamps[i]);
    last = image->exited > last ? image->exited : last;
    last = image->end.ticks > last ? image->end.ticks : last;
    p->last_ns = hu_pf_ns(p, last > image->started ? last : image->started);
    p->process_id = process;
    p->process_track = ++p->last_uuid;
    p->counter_tracks.at = NULL;
    p->counter_tracks.n = p->counter_tracks.cap = 0;
    p->ranges.at = NULL;
    p->ranges.n = p->ranges.cap = 0;
    p->gpu = NULL;
    p->readable = NULL;
    p->site_stamps.at = NULL;
    p->site_stamps.n = p->site_stamps.cap = 0;
    p->range_more.at = NULL;
    p->range_more.n = p->range_more.cap = 0;
    /* what was declared with the texts of the process before must not be taken for ours */
    hu_pf_declare(p, &w->about);
    return p->stamps[0] && p->stamps[1] && p->stamps[2] && hu_map_init(&p->counters, p->scratch, 0) &&
           hu_map_init(&p->unlocks, p->scratch, 0) &&
           hu_call_sites_read(&p->sites, image->path, image->program, w->symbols, p->scratch);
}

static int write_process(hu_pftrace_work *w, uint32_t process, hu_error *err)
{
    hu_pf                *p = &w->p;
    const uint64_t        placed = p->tally.placed;
    const hu_ring_thread *threads;
    size_t                n = 0;
    int                   rc = hu_ring_open(w->list->at[process].path.p, w->list->at[process].is_alive, &p->ring, err);

    if (rc < 0)
        return rc;
    p->scratch = hu_arena_new();
    if (!p->scratch || !enter_process(w, process))
        rc = hu_fail_memory(err);
    if (rc == 0) {
        describe(w, &w->list->at[process]);
        write_start(w, process);
        hu_pf_threads(p, &w->about);
        threads = hu_ring_threads(p->ring, &n);
        rc = hu_pf_nccl_survey(p) && hu_pf_omp_survey(p) && hu_pf_gloo_survey(p) && hu_pf_opencl_begin(p)
                 ? 0
                 : hu_fail_memory(err);
        for (size_t i = 0; rc == 0 && i < n; i++)
            rc = hu_pf_thread(p, &threads[i], err);
    }
    if (rc == 0) {
        hu_pf_opencl_end(p);
        rc = hu_pf_ranges_write(p, &w->about) && hu_pf_nccl_write(p, &w->about) ? 0 : hu_fail_memory(err);
        write_losses(w, &w->list->at[process], p->tally.placed - placed);
    }
    w->threads += n;
    w->cut_bytes += hu_ring_cut_bytes(p->ring);
    hu_arena_free(p->scratch);
    hu_ring_close(p->ring);
    p->ring = NULL;
    p->readable = NULL; /* it was in `scratch` */
    p->gpu = NULL;
    p->omp = NULL;
    p->gloo = NULL;
    return rc;
}

/* Samples and states of the threads of these processes, and the waits that were seen from outside. */
static int write_perf(hu_pftrace_work *w, hu_error *err)
{
    const hu_control       *c = &w->list->control;
    hu_pf_outside_options   waits = {.n_pids = w->n_members, .first_ns = c->began_ns, .end_ns = c->stopped_ns};
    hu_perf_packets_options how = {
        .sequence = ++w->p.last_sequence, .n_pids = w->n_members, .first_ns = c->began_ns, .end_ns = c->stopped_ns};
    uint32_t *pids = hu_arena_calloc(w->p.arena, w->n_members + w->perf.threads.n, sizeof *pids);
    uint32_t *own = hu_arena_calloc(w->p.arena, 2 * w->n_members + 1, sizeof *own);
    int       rc;

    if (!pids || !own)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->n_members; i++) {
        const hu_process_image *image = &w->list->at[w->members[i]];

        pids[i] = image->pid;
        if (image->cuda && image->cuda->tid)
            own[how.n_own++] = image->cuda->tid;
        if (image->opencl && image->opencl->tid)
            own[how.n_own++] = image->opencl->tid;
    }
    how.own = waits.own = own;
    waits.n_own = how.n_own;
    if (w->program && !w->list->has_ranks) { /* all but the tools */
        how.n_pids = 0;
        for (size_t i = 0; i < w->perf.threads.n; i++)
            if (!hu_tools_are_all_of(w->list, w->perf.threads.at[i].pid))
                pids[how.n_pids++] = w->perf.threads.at[i].pid;
    }
    how.pids = w->list->has_ranks || w->program ? pids : NULL;
    rc = w->perf.n_files ? hu_perf_packets_write(&w->perf, w->symbols, &how, &w->p.w, w->p.out, err) : 0;
    if (rc < 0)
        return rc;
    waits.least_ns = hu_processes_ns(w->list, c->os_threshold);
    waits.pids = how.pids;
    waits.n_pids = how.n_pids;
    return hu_pf_outside_write(&w->p, &waits) ? 0 : hu_fail_memory(err);
}

/* The devices that these processes worked on; each pair of a number and a GPU once.  False: no memory. */
static bool list_used(hu_pftrace_work *w, hu_pf_gpu_options *how)
{
    HU_VEC(hu_pf_gpu_used) list = {0};

    for (size_t i = 0; i < w->n_members; i++) {
        const hu_cuda_facts *c = w->list->at[w->members[i]].cuda;

        for (uint32_t number = 0; c && number < 64; number++) {
            hu_pf_gpu_used one = {.number = number};
            size_t         at = 0;

            if (!(c->used >> number & 1))
                continue;
            for (uint32_t k = 0; k < c->n_devices; k++)
                if (c->devices[k].id == number)
                    memcpy(one.uuid, c->devices[k].uuid, sizeof one.uuid);
            while (at < list.n && memcmp(&list.at[at], &one, sizeof one) != 0)
                at++;
            if (at == list.n && !hu_vec_push(w->p.arena, &list, one))
                return false;
        }
    }
    how->used = list.at;
    how->n_used = list.n;
    return true;
}

/* The GPUs of these processes, by their numbers of the whole session. */
static int write_gpus(hu_pftrace_work *w, hu_error *err)
{
    const hu_control *c = &w->list->control;
    hu_pf_gpu_options how = {.session = w->o->session, .gpus = &w->gpus, .first_ns = c->began_ns, .end_ns = c->stopped_ns};
    const size_t      n = w->list->n + w->perf.threads.n;
    uint32_t         *own = hu_arena_calloc(w->p.arena, n + 1, sizeof *own);
    uint32_t         *known = hu_arena_calloc(w->p.arena, n + 1, sizeof *known);
    hu_pf_gpu_choice  choice;

    if (!own || !known || !list_used(w, &how))
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->n_members; i++)
        own[how.n_own++] = w->list->at[w->members[i]].pid;
    for (size_t i = 0; i < w->list->n; i++)
        known[how.n_known++] = w->list->at[i].pid;
    for (size_t i = 0; i < w->perf.threads.n; i++) /* programs without a ring */
        known[how.n_known++] = w->perf.threads.at[i].pid;
    how.own = w->list->has_ranks ? own : known;
    how.n_own = w->list->has_ranks ? how.n_own : how.n_known;
    how.known = known;
    choice = hu_pf_gpus_choose(&how);
    w->gpu_lines = hu_pf_gpus_lines(&w->p, &how, &choice, w->p.arena);
    return hu_pf_gpus_write(&w->p, &w->about, &how, &choice) ? 0 : hu_fail_memory(err);
}

/* files */

/* Everything is on one clock; the beginning is what no event comes before. */
static int64_t beginning(hu_pftrace_work *w)
{
    const hu_clock_map *m = &w->list->clock;
    int64_t             first = m->n ? m->knots[0].boottime_ns : 0;

    for (size_t i = 0; i < w->n_members; i++) {
        const int64_t ns = hu_pf_ns(&w->p, w->list->at[w->members[i]].started);

        first = ns < first ? ns : first;
    }
    return first;
}

static int write_packets(hu_pftrace_work *w, const hu_pftrace_file *file, hu_error *err)
{
    int rc = 0;

    hu_pf_begin_sequence(&w->p, 0, &w->about);
    write_clocks(w);
    hu_pf_about_write_head(w, file);
    hu_pf_about_write_devices(w);
    for (size_t i = 0; rc == 0 && i < w->n_members; i++)
        if (w->list->at[w->members[i]].path.n)
            rc = write_process(w, w->members[i], err);
    if (rc == 0)
        rc = write_perf(w, err);
    if (rc == 0 && w->gpus.n)
        rc = write_gpus(w, err);
    if (rc == 0 && !hu_pf_energy_write(&w->p, &w->about, w->o->session, w->list->control.began_ns,
                                       w->list->control.stopped_ns, &w->rapl_lines))
        rc = hu_fail_memory(err);
    if (rc == 0)
        hu_pf_about_write_tail(w);
    return rc == 0 && w->p.w.no_memory ? hu_fail_memory(err) : rc;
}

static void add_up(hu_pftrace_work *w)
{
    hu_pftrace_result *r = w->out;
    const hu_pf_tally *t = &w->p.tally;

    r->processes += w->n_members;
    r->threads += w->threads;
    r->events += t->events;
    r->lost += w->lost;
    r->lost_texts += w->lost_texts;
    r->overwritten += w->overwritten;
    r->cut_bytes += w->cut_bytes;
    r->torn += t->damage.torn;
    r->odd += t->damage.odd;
    r->gaps += t->damage.gaps;
    r->orphans += t->orphans;
    r->unfinished += t->unfinished;
}

static int write_file(hu_pftrace_work *w, const hu_pftrace_file *file, const char *path, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    int       rc;

    w->gpu_lines = HU_STR("");
    w->lost = w->lost_texts = w->overwritten = w->cut_bytes = w->threads = 0;
    w->p = (hu_pf){
        .arena = arena, .clock = &w->list->clock, .flow_to = flow_to, .flows = w, .waits = &w->waits, .symbols = w->symbols};
    if (!arena)
        return hu_fail_memory(err);
    w->p.out = hu_out_open_file(path, err);
    if (!w->p.out) {
        hu_arena_free(arena);
        return err->code;
    }
    hu_pbw_init(&w->p.w, arena);
    w->p.base_ns = beginning(w);
    w->p.is_limited = w->list->control.wants_steps || w->list->control.capture_range[0] ||
                      w->list->control.cuda & HU_CUDA_ONLY_RANGE;
    rc = write_packets(w, file, err);
    if (rc == 0) {
        const hu_str             name = hu_arena_copy(w->arena, hu_str_of(path));
        const hu_pftrace_written written = {name, file->rank, hu_out_bytes(w->p.out), w->p.tally.events};

        if (!name.p || !hu_vec_push(w->arena, &w->out->files, written))
            rc = hu_fail_memory(err);
    }
    if (rc < 0) {
        hu_out_abandon(w->p.out);
    } else {
        rc = hu_out_close(w->p.out, err);
        w->out->files.n -= rc < 0;
    }
    if (rc == 0)
        add_up(w);
    hu_arena_free(arena);
    return rc;
}

/* Takes a rank's processes, or (rank -1) all that belong to none, as those of the file at hand. */
static void take_members(hu_pftrace_work *w, int32_t rank)
{
    w->n_members = 0;
    memset(w->is_member, 0, w->list->n);
    for (uint32_t i = 0; i < w->list->n; i++) {
        if (w->list->at[i].owner != rank || w->list->at[i].is_tool)
            continue;
        w->is_member[i] = 1;
        w->members[w->n_members++] = i;
    }
}

static hu_pftrace_file file_of(const hu_pftrace_work *w, int32_t rank)
{
    const hu_process_image *first = hu_pf_about_first(w);

    return (hu_pftrace_file){.rank = rank,
                             .local_rank = first->local_rank,
                             .world_size = w->list->world_size,
                             .node = first->node,
                             .is_launcher = w->list->has_ranks && rank < 0,
                             .is_one_of_many = w->list->has_ranks,
                             .pid = first->pid,
                             .program = first->name,
                             .job_id = first->job_id};
}

/* Launchers poll and wait, which says nothing; one that marks ranges itself has something to say. */
static bool are_launchers_worth_it(const hu_process_list *list)
{
    uint32_t doors = 0;

    for (size_t i = 0; i < list->n; i++)
        doors |= list->at[i].owner < 0 ? list->at[i].doors : 0;
    return (doors & (HU_DOOR_USER | HU_DOOR_NVTX | HU_DOOR_MPI | HU_DOOR_CUDA | HU_DOOR_NCCL | HU_DOOR_OPENCL |
                     HU_DOOR_OPENMP)) != 0;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* The ranks that have a file, and -1 behind them where there is one of the others. */
static size_t list_ranks(const hu_pftrace_work *w, int32_t *out)
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < w->list->n; i++)
        if (w->list->at[i].owner >= 0)
            out[n++] = w->list->at[i].owner;
    if (n)
        qsort(out, n, sizeof *out, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || out[i] != out[i - 1])
            out[kept++] = out[i];
    if (!w->list->has_ranks || are_launchers_worth_it(w->list))
        out[kept++] = -1;
    return kept;
}

static int write_all(hu_pftrace_work *w, hu_error *err)
{
    const size_t n = w->list->n;
    int32_t     *ranks = hu_arena_calloc(w->arena, n + 1, sizeof *ranks);
    size_t       n_ranks;
    int          rc = 0;

    w->members = hu_arena_calloc(w->arena, n, sizeof *w->members);
    w->is_member = hu_arena_calloc(w->arena, n, 1);
    w->has_arrow = hu_arena_calloc(w->arena, n, 1);
    if (!ranks || !w->members || !w->is_member || !w->has_arrow)
        return hu_fail_memory(err);
    n_ranks = list_ranks(w, ranks);
    for (size_t i = 0; rc == 0 && i < n_ranks; i++) {
        hu_pftrace_file file;
        char            path[4096];

        take_members(w, ranks[i]);
        if (w->n_members == 0)
            continue;
        file = file_of(w, ranks[i]);
        rc = w->o->name(w->o->context, &file, path, sizeof path, err);
        if (rc == 0)
            rc = write_file(w, &file, path, err);
        w->out->ranks += ranks[i] >= 0;
    }
    return rc;
}

/* Finds tools in front of the program: "strace", "nsys, nsys-launcher", and their CPU time. */
static bool find_tools(hu_pftrace_work *w)
{
    hu_process_list *l = w->list;
    char             names[256] = "";

    if (hu_tools_mark(l, &w->program) == 0) {
        w->program = NULL;
        return true;
    }
    for (size_t i = 0; i < l->n; i++) {
        const hu_str name = hu_tools_name(&l->at[i]);
        const size_t n = strlen(names);

        if (l->at[i].is_tool && !memmem(names, n, name.p, name.n) && n + name.n + 3 < sizeof names)
            snprintf(names + n, sizeof names - n, "%s%.*s", n ? ", " : "", HU_FMT(name));
    }
    for (size_t i = 0; i < w->perf.threads.n; i++)
        if (hu_tools_are_all_of(l, w->perf.threads.at[i].pid))
            w->tools_ns += w->perf.threads.at[i].in_ns[HU_TASK_RUNNING];
    w->out->tools = hu_arena_copy(w->arena, hu_str_of(names));
    w->out->program = hu_arena_copy(w->arena,
                                    w->program->program.n ? hu_str_base_name(w->program->program) : w->program->name);
    return w->out->tools.p && w->out->program.p;
}

/* A static program has no ring; the kernel saw its threads all the same. */
static void stand_in(hu_pftrace_work *w)
{
    const hu_perf_thread *first = NULL;
    hu_process_image     *image = hu_arena_calloc(w->arena, 1, sizeof *image);

    for (size_t i = 0; i < w->perf.threads.n; i++) {
        const hu_perf_thread *t = &w->perf.threads.at[i];

        first = !first || t->first_ns < first->first_ns ? t : first;
    }
    if (!first || !image || w->list->n_snapshots == 0)
        return;
    *image = (hu_process_image){.pid = first->pid,
                                .parent = UINT32_MAX,
                                .owner = -1,
                                .rank = -1,
                                .local_rank = -1,
                                .world_size = -1,
                                .node = -1,
                                .state = HU_PROCESS_EXITED,
                                .name = hu_perf_text(&w->perf, first->name),
                                .started = w->list->snapshots[0].ticks};
    image->exited = image->started;
    w->list->at = image;
    w->list->n = 1;
}

int hu_pftrace_write(const hu_pftrace_options *options, hu_arena *arena, hu_pftrace_result *out, hu_error *err)
{
    hu_process_list list;
    hu_pftrace_work w = {.o = options, .list = &list, .arena = arena, .out = out};
    int             rc;

    *out = (hu_pftrace_result){0};
    rc = hu_processes_read(options->session, arena, &list, err);
    w.symbols = rc == 0 ? hu_symbols_new(arena) : NULL;
    if (rc == 0)
        rc = w.symbols ? hu_perf_read(options->session, arena, &w.perf, err) : hu_fail_memory(err);
    if (rc == 0) {
        w.states = w.perf.changes.n == 0 ? "lives" : w.perf.is_estimate ? "schedstat" : "switches";
        rc = hu_waits_read(options->session, &w.perf, arena, &w.waits, err);
    }
    if (rc == 0)
        rc = hu_gpus_read(options->session, arena, &w.gpus) ? 0 : hu_fail_memory(err);
    if (rc == 0)
        rc = hu_lives_add(&list, &w.perf) ? 0 : hu_fail_memory(err);
    if (rc == 0)
        hu_lives_parents(&list, &w.perf);
    if (rc < 0) {
        hu_symbols_free(w.symbols);
        return rc;
    }
    out->unreadable = list.unreadable;
    memcpy(out->first_unreadable, list.first_unreadable, sizeof out->first_unreadable);
    if (!find_tools(&w)) {
        hu_symbols_free(w.symbols);
        return hu_fail_memory(err);
    }
    if (list.n == 0 && !list.unreadable)
        stand_in(&w);
    if (list.n == 0) {
        hu_symbols_free(w.symbols);
        return hu_fail(err, HU_EEMPTY, options->session, HU_NO_OFFSET,
                       list.unreadable ? "none of its ring files can be read: %s" : "nothing was recorded%s",
                       list.unreadable ? list.first_unreadable : "");
    }
    for (size_t i = 0; i < list.n; i++)
        out->alive += list.at[i].is_alive;
    rc = write_all(&w, err);
    hu_symbols_free(w.symbols);
    return rc;
}
