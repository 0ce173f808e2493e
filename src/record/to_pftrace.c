/* SPDX-License-Identifier: Apache-2.0
 * to_pftrace.c - the processes of a session, file by file, as packets.
 *
 * A file begins with what it is about (clocks, attributes), then comes process by process, each with its threads, and it
 * ends with how much was lost.  Nothing is held in memory but one block of records, the texts of one process, and what
 * is open.
 */
#include "record/to_pftrace.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "record/lives.h"
#include "record/perf_packets.h"
#include "record/pf.h"
#include "record/pf_energy.h"
#include "record/pf_gpu_counters.h"
#include "record/processes.h"
#include "record/tools.h"
#include "record/waits.h"
#include "protocol/redact.h"
#include "protocol/perfetto.h"

enum { MOST_CLOCKS = 256, MOST_ARGUMENTS = 256, OUTSIDER_BYTES = 256 };

typedef struct {
    const hu_pftrace_options *o;
    hu_process_list          *list;
    hu_arena                 *arena;
    hu_pftrace_result        *out;
    hu_pf                     p;
    hu_pf_sequence            about;   /* the sequence of what belongs to no thread */
    uint32_t                 *members; /* of the file at hand */
    size_t                    n_members;
    hu_perf_files             perf; /* samples and states of threads; n_files 0: there are none */
    hu_waits                  waits;
    hu_gpus_seen              gpus;     /* sampled beside the job; n 0: none */
    const hu_process_image   *program;  /* that tools run; NULL: there are none */
    int64_t                   tools_ns; /* their CPU time */
    const char               *states;   /* where states of threads are from */
    hu_symbols               *symbols;
    uint8_t                  *has_arrow; /* by process: its parent's fork or exec was drawn */
    uint8_t                  *is_member;
    uint64_t                  lost, lost_texts, overwritten, cut_bytes;
    size_t                    threads;
    hu_str                    gpu_lines; /* of the file at hand */
    hu_str                    rapl_lines;
    char                      command[4096];
    size_t                    command_n;
} work;

/* attributes */

static size_t open_attribute(work *w, const char *key)
{
    const size_t open = hu_pb_write_open(&w->p.w, HU_PT_ATTRIBUTES_ATTRIBUTE);

    hu_pb_write_str(&w->p.w, HU_PT_ATTRIBUTE_KEY, hu_str_of(key));
    return open;
}

static void whole(work *w, const char *key, int64_t value)
{
    const size_t open = open_attribute(w, key);

    hu_pb_write_int(&w->p.w, HU_PT_ATTRIBUTE_WHOLE, value);
    hu_pb_write_close(&w->p.w, open);
}

static void text(work *w, const char *key, hu_str value)
{
    size_t open;

    if (value.n == 0)
        return;
    open = open_attribute(w, key);
    hu_pb_write_str(&w->p.w, HU_PT_ATTRIBUTE_TEXT, value);
    hu_pb_write_close(&w->p.w, open);
}

static void some(work *w, const char *key, uint64_t value)
{
    if (value)
        whole(w, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void doors_of(uint32_t doors, char *out, size_t room)
{
    static const char *const names[] = {
#define D(id, name, bit) [bit] = name,
        HU_DOORS(D)
#undef D
    };
    size_t n = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < HU_COUNT(names); i++)
        if (doors >> i & 1 && n < room)
            n += (size_t)snprintf(out + n, room - n, "%s%s", n ? "," : "", names[i]);
}

/* The arguments of a process, their secrets left out; `take` is called with each. */
static void each_argument(work *w, const hu_process_image *image, void (*take)(work *w, hu_str argument))
{
    hu_redactor r = {0}; /* who wrote the ring may not have known all of its patterns */
    size_t      n = 0;
    char        shown[sizeof((hu_ring_head *)0)->command];

    for (size_t from = 0, to; from < image->command.n && n < MOST_ARGUMENTS; from = to + 1, n++) {
        const char *argument = image->command.p + from; /* ends in NUL: if not its own, then the copy's */

        to = from + strlen(argument);
        take(w, (hu_str){shown, hu_redact_argument(&r, (hu_str){argument, to - from}, shown, sizeof shown)});
    }
}

static void append_word(work *w, hu_str argument)
{
    for (size_t i = 0; i < argument.n + 1; i++) {
        const char c = i < argument.n ? argument.p[i] : ' ';

        if (w->command_n < sizeof w->command)
            w->command[w->command_n++] = c < ' ' && c >= 0 ? ' ' : c;
    }
}

/* The same as one line. */
static hu_str command_of(work *w, const hu_process_image *image)
{
    w->command_n = 0;
    each_argument(w, image, append_word);
    return (hu_str){w->command, w->command_n ? w->command_n - 1 : 0};
}

static const hu_process_image *first_of(const work *w)
{
    for (size_t i = 0; i < w->n_members; i++) /* a process that says its rank speaks for its children */
        if (w->list->at[w->members[i]].rank >= 0)
            return &w->list->at[w->members[i]];
    return &w->list->at[w->members[0]];
}

/*
 * CPU time of the command that no state of a thread accounts for, as a part of the time in which states are not known, in
 * millionths: what ran there, ran unseen.  0 also where nothing is known of that.
 */
/* The command's, without the tools that ran it. */
static int64_t job_ns(const work *w)
{
    return w->o->cost->job_ns > w->tools_ns ? w->o->cost->job_ns - w->tools_ns : 0;
}

static int64_t unseen_share(const work *w)
{
    int64_t running_ns = 0, lost_ns = 0, unseen_ns;

    for (size_t i = 0; i < w->perf.threads.n; i++) {
        running_ns += w->perf.threads.at[i].in_ns[HU_TASK_RUNNING];
        lost_ns += w->perf.threads.at[i].in_ns[HU_TASK_LOST];
    }
    unseen_ns = w->o->cost && w->perf.is_estimate ? job_ns(w) - running_ns : 0;
    if (unseen_ns <= 0 || lost_ns <= 0)
        return 0;
    return unseen_ns < lost_ns ? (int64_t)(1e6 * ((double)unseen_ns / (double)lost_ns)) : 1000000;
}

/* CPU time of a process that has no ring, by what the scheduler said of its threads; 0: not known. */
static int64_t running_ns(const work *w, uint32_t pid)
{
    int64_t ns = 0;

    for (size_t i = 0; i < w->list->n; i++)
        if (w->list->at[i].pid == pid && !w->list->at[i].is_outsider)
            return 0; /* what it was before ran, too */
    for (size_t i = 0; i < w->perf.threads.n; i++)
        ns += w->perf.threads.at[i].pid == pid ? w->perf.threads.at[i].in_ns[HU_TASK_RUNNING] : 0;
    return ns;
}

/* Processes without a ring, a line for each: numbers, CPU time and life in ns, the name, and why; with tabs. */
static void write_outsiders(work *w)
{
    const hu_process_list *l = w->list;
    char                  *lines = hu_arena_alloc(w->arena, l->n_outsiders * OUTSIDER_BYTES + 1);
    size_t                 n = 0;

    for (size_t i = 0; lines && i < l->n_outsiders; i++) {
        const hu_outsider *o = &l->outsiders[i];
        const int64_t      ns = running_ns(w, o->pid);
        bool               is_here = false;

        for (size_t m = 0; m < w->n_members && !is_here; m++)
            is_here = l->at[w->members[m]].is_outsider && l->at[w->members[m]].pid == o->pid;
        if (is_here)
            n += (size_t)snprintf(lines + n, OUTSIDER_BYTES, "%u\t%u\t%lld\t%lld\t%s\t%s\n", o->pid, o->uid,
                                  (long long)(ns > 0 ? ns : o->cpu_ns), (long long)(o->last_ns - o->first_ns), o->name,
                                  hu_outsider_words(o->reason));
    }
    if (lines && n)
        text(w, "holdup.outsiders", (hu_str){lines, n});
}

static void write_head(work *w, const hu_pftrace_file *file)
{
    const hu_process_image *first = first_of(w);
    const hu_control       *c = &w->list->control;
    const size_t            packet = hu_pf_open(&w->p, &w->about), open = hu_pb_write_open(&w->p.w, HU_PT_PACKET_ATTRIBUTES);
    char                    host[256] = "", doors[128];
    uint32_t                entered = 0;
    cpu_set_t               cpus;

    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    for (size_t i = 0; i < w->n_members; i++)
        entered |= w->list->at[w->members[i]].doors;
    text(w, "holdup.version", HU_STR(HU_VERSION));
    text(w, "holdup.host", hu_str_of(w->o->host ? w->o->host : host));
    /* of this machine, where it is the one that ran the program */
    if ((!w->o->host || strcmp(w->o->host, host) == 0) && sched_getaffinity(0, sizeof cpus, &cpus) == 0 &&
        CPU_COUNT(&cpus) > 0)
        whole(w, "holdup.cpus", CPU_COUNT(&cpus));
    text(w, "holdup.command", w->o->command ? hu_str_of(w->o->command) : command_of(w, first));
    text(w, "holdup.job_id", first->job_id);
    if (file->rank >= 0)
        whole(w, "holdup.rank", file->rank);
    if (file->local_rank >= 0)
        whole(w, "holdup.local_rank", file->local_rank);
    if (file->world_size > 0)
        whole(w, "holdup.world_size", file->world_size);
    if (file->node >= 0)
        whole(w, "holdup.node", file->node);
    text(w, "holdup.rank_source", first->rank_source);
    doors_of(entered, doors, sizeof doors);
    text(w, "holdup.doors", hu_str_of(doors));
    if (w->list->has_control) {
        doors_of(c->wanted, doors, sizeof doors);
        text(w, "holdup.wanted", hu_str_of(doors));
        text(w, "holdup.mode", c->mode == HU_MODE_FLIGHT ? HU_STR("flight recorder") : HU_STR("stream"));
        if (c->ticks_per_second > 0)
            whole(w, "holdup.os_threshold_ns", hu_processes_ns(w->list, c->os_threshold));
    }
    whole(w, "holdup.processes", (int64_t)w->n_members);
    write_outsiders(w);
    text(w, "holdup.thread_states", hu_str_of(w->states));
    some(w, "holdup.unseen_running_ppm", (uint64_t)unseen_share(w));
    for (size_t i = 0; i < w->waits.go.n; i++)
        whole(w, "holdup.go_process", w->waits.go.at[i]);
    if (w->o->cost) {
        whole(w, "holdup.recording_in_command_ns", w->o->cost->records_ns);
        whole(w, "holdup.recording_beside_command_ns", w->o->cost->supervisor_ns);
        whole(w, "holdup.command_cpu_ns", job_ns(w));
        some(w, "holdup.command_pid", w->program ? w->program->pid : (uint64_t)w->o->cost->pid);
    }
    if (w->o->cost && !w->program) {
        some(w, "holdup.command_main_running_ns", (uint64_t)w->o->cost->main_run_ns);
        some(w, "holdup.command_main_runnable_ns", (uint64_t)w->o->cost->main_delay_ns);
    }
    if (w->o->quota && w->o->quota->limit_milli) {
        whole(w, "holdup.cpu_limit_milli", w->o->quota->limit_milli);
        whole(w, "holdup.cpu_periods", w->o->quota->periods);
        whole(w, "holdup.cpu_throttled_periods", w->o->quota->throttled);
        whole(w, "holdup.cpu_throttled_ns", w->o->quota->throttled_ns);
    }
    text(w, "holdup.tools", w->out->tools);
    if (w->o->status != -1 && WIFSIGNALED(w->o->status))
        whole(w, "holdup.command_signal", WTERMSIG(w->o->status));
    hu_pb_write_close(&w->p.w, open);
    hu_pf_close(&w->p, &w->about, packet);
}

/* what the GPUs are, and how much of their work CUPTI told */

static void write_extra(work *w, const char *key, uint64_t value)
{
    char         digits[HU_NUMBER_BYTES];
    const size_t open = hu_pb_write_open(&w->p.w, HU_PT_GPU_EXTRA);

    hu_pb_write_str(&w->p.w, HU_PT_EXTRA_KEY, hu_str_of(key));
    hu_pb_write_str(&w->p.w, HU_PT_EXTRA_VALUE, (hu_str){digits, hu_format_u64(digits, value)});
    hu_pb_write_close(&w->p.w, open);
}

static void write_device(work *w, const hu_gpu_device *d)
{
    const size_t open = hu_pb_write_open(&w->p.w, HU_PT_GPU_INFO_GPU);

    hu_pb_write_str(&w->p.w, HU_PT_GPU_NAME, hu_str_of(d->name));
    write_extra(w, "id", d->id);
    write_extra(w, "memory_bytes", d->memory_bytes);
    write_extra(w, "sm_count", d->sm_count);
    write_extra(w, "compute_major", d->major);
    write_extra(w, "compute_minor", d->minor);
    write_extra(w, "warp_size", d->warp_size);
    write_extra(w, "max_threads_per_sm", d->max_threads_per_sm);
    hu_pb_write_close(&w->p.w, open);
}

/* The processes of a file rarely have different ones; a device of CUDA has its number before those of OpenCL. */
static void write_opencl_devices(work *w, const hu_process_image *p, uint64_t *seen)
{
    const uint32_t first = p->cuda ? p->cuda->n_devices : 0;

    for (uint32_t i = 0; p->opencl && i < p->opencl->n_devices && first + i < 64; i++) {
        const hu_opencl_device *d = &p->opencl->devices[i];
        hu_gpu_device           as = {.id = first + i, .memory_bytes = d->memory_bytes};

        if (*seen >> as.id & 1)
            continue;
        *seen |= UINT64_C(1) << as.id;
        snprintf(as.name, sizeof as.name, "%s", d->name);
        write_device(w, &as);
    }
}

/* Of all processes; each number once. */
static void write_devices(work *w)
{
    uint64_t     seen = 0; /* of the first 64 numbers: there are no more in a machine */
    const size_t packet = hu_pf_open(&w->p, &w->about), open = hu_pb_write_open(&w->p.w, HU_PT_PACKET_GPU_INFO);

    for (size_t i = 0; i < w->n_members; i++) {
        const hu_cuda_facts *c = w->list->at[w->members[i]].cuda;

        for (uint32_t k = 0; c && k < c->n_devices; k++) {
            if (c->devices[k].id >= 64 || seen >> c->devices[k].id & 1 ||
                !c->devices[k].name[0]) /* CUPTI did not describe it */
                continue;
            seen |= UINT64_C(1) << c->devices[k].id;
            write_device(w, &c->devices[k]);
        }
        write_opencl_devices(w, &w->list->at[w->members[i]], &seen);
    }
    hu_pb_write_close(&w->p.w, open);
    if (seen)
        hu_pf_close(&w->p, &w->about, packet);
    else
        hu_pbw_clear(&w->p.w);
}

static void write_gpu_facts(work *w)
{
    static const char *const states[HU_CUDA_STATES] = {[HU_CUDA_UNTOUCHED] = "untouched",
                                                       [HU_CUDA_NO_DRIVER] = "no driver",
                                                       [HU_CUDA_OLD_DRIVER] = "old driver",
                                                       [HU_CUDA_NO_CUPTI] = "no CUPTI",
                                                       [HU_CUDA_LACKS_FUNCTION] = "CUPTI lacks functions",
                                                       [HU_CUDA_NO_DEVICE] = "no device",
                                                       [HU_CUDA_TAKEN] = "another tool",
                                                       [HU_CUDA_REFUSED] = "no permission",
                                                       [HU_CUDA_FAILED] = "failed",
                                                       [HU_CUDA_READY] = "ready",
                                                       [HU_CUDA_RECORDED] = "recorded",
                                                       [HU_CUDA_DISABLED] = "disabled"};
    hu_cuda_facts            sum = {0};

    for (size_t i = 0; i < w->n_members; i++) {
        const hu_cuda_facts *c = w->list->at[w->members[i]].cuda;

        if (!c)
            continue;
        if (c->state > sum.state)
            sum.state = c->state;
        sum.version = c->version ? c->version : sum.version;
        sum.driver = c->driver ? c->driver : sum.driver;
        sum.runtime = c->runtime ? c->runtime : sum.runtime;
        sum.records += c->records;
        sum.dropped += c->dropped;
        sum.thrown += c->thrown;
        sum.no_time += c->no_time;
        sum.unknown += c->unknown;
        sum.yielded += c->yielded;
        sum.hangs += c->hangs;
    }
    if (sum.state == HU_CUDA_UNTOUCHED)
        return;
    text(w, "holdup.gpu_door", hu_str_of(states[sum.state]));
    some(w, "holdup.cupti_version", sum.version);
    some(w, "holdup.cuda_driver", sum.driver);
    some(w, "holdup.cuda_runtime", sum.runtime);
    some(w, "holdup.gpu_records", sum.records);
    some(w, "holdup.gpu_dropped", sum.dropped);
    some(w, "holdup.gpu_thrown_away", sum.thrown);
    some(w, "holdup.gpu_without_time", sum.no_time);
    some(w, "holdup.gpu_unknown_kinds", sum.unknown);
    some(w, "holdup.gpu_hangs", sum.hangs);
    some(w, "holdup.gpu_yielded_ns", (uint64_t)hu_processes_ns(w->list, sum.yielded));
}

/* What became of commands of OpenCL, and where they ran: on the host's own cores, or on devices of their own. */
static void write_opencl_facts(work *w)
{
    enum { TYPE_CPU = 2 };
    hu_opencl_facts sum = {0};
    bool            is_host = true, is_any = false;

    for (size_t i = 0; i < w->n_members; i++) {
        const hu_opencl_facts *f = w->list->at[w->members[i]].opencl;

        for (uint32_t k = 0; f && f->enqueued && k < f->n_devices; k++) {
            is_any = true;
            is_host = is_host && f->devices[k].type & TYPE_CPU;
        }
        if (!f)
            continue;
        sum.untimed += f->untimed + f->crowded;
        sum.unfinished += f->unfinished;
        sum.failed += f->failed;
        sum.strange += f->strange;
        sum.users += f->users;
    }
    if (!is_any)
        return;
    text(w, "holdup.opencl", is_host ? HU_STR("host cores") : HU_STR("devices"));
    some(w, "holdup.opencl_clock_error_ns", (uint64_t)w->p.tally.clock_error_ns);
    some(w, "holdup.opencl_without_time", sum.untimed);
    some(w, "holdup.opencl_unfinished", sum.unfinished);
    some(w, "holdup.opencl_failed", sum.failed);
    some(w, "holdup.opencl_unknown_waits", sum.strange);
    some(w, "holdup.opencl_user_events", sum.users);
}

/* What is known only when all was read. */
static void write_tail(work *w)
{
    const hu_pf_tally *t = &w->p.tally;
    const size_t       packet = hu_pf_open(&w->p, &w->about), open = hu_pb_write_open(&w->p.w, HU_PT_PACKET_ATTRIBUTES);

    whole(w, "holdup.events", (int64_t)t->events);
    whole(w, "holdup.threads", (int64_t)w->threads);
    whole(w, "holdup.lost_records", (int64_t)(w->lost < INT64_MAX ? w->lost : INT64_MAX));
    whole(w, "holdup.torn_records", (int64_t)t->damage.torn);
    some(w, "holdup.lost_texts", w->lost_texts);
    some(w, "holdup.overwritten_records", w->overwritten);
    some(w, "holdup.odd_records", t->damage.odd);
    some(w, "holdup.missing_records", t->damage.gaps);
    some(w, "holdup.cut_bytes", w->cut_bytes);
    some(w, "holdup.ends_without_begin", t->orphans);
    some(w, "holdup.unfinished", t->unfinished);
    some(w, "holdup.before_the_beginning", t->early);
    write_gpu_facts(w);
    write_opencl_facts(w);
    if (t->nccl_rank)
        whole(w, "holdup.nccl_rank", t->nccl_rank - 1);
    text(w, "holdup.gpus", w->gpu_lines);
    text(w, "holdup.gpu_problem", hu_str_of(w->gpus.problem));
    text(w, "holdup.rapl", w->rapl_lines);
    hu_pb_write_close(&w->p.w, open);
    hu_pf_close(&w->p, &w->about, packet);
}

/* clocks */

static void write_clock(work *w, uint32_t id, int64_t time)
{
    const size_t clock = hu_pb_write_open(&w->p.w, HU_PT_SNAPSHOT_CLOCK);

    hu_pb_write_uint(&w->p.w, HU_PT_CLOCK_ID, id);
    hu_pb_write_uint(&w->p.w, HU_PT_CLOCK_TIME, (uint64_t)time);
    hu_pb_write_close(&w->p.w, clock);
}

static void write_clocks(work *w)
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

static void label(work *w, const char *format, int64_t number)
{
    char words[64];

    snprintf(words, sizeof words, format, (long long)number);
    hu_pb_write_str(&w->p.w, HU_PT_PROCESS_LABEL, hu_str_of(words));
}

static void write_argument(work *w, hu_str argument)
{
    hu_pb_write_str(&w->p.w, HU_PT_PROCESS_COMMAND, argument);
}

static void describe(work *w, const hu_process_image *image)
{
    const size_t packet = hu_pf_open(&w->p, &w->about), open = hu_pb_write_open(&w->p.w, HU_PT_PACKET_TRACK);
    size_t       nest;

    hu_pb_write_uint(&w->p.w, HU_PT_TRACK_UUID, w->p.process_track);
    nest = hu_pb_write_open(&w->p.w, HU_PT_TRACK_PROCESS);
    hu_pb_write_uint(&w->p.w, HU_PT_PROCESS_PID, image->pid);
    each_argument(w, image, write_argument);
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
    const work             *w = context;
    const hu_process_image *image = &w->list->at[process];
    const bool              is_fork = r->type == HU_RECORD_FORK;
    const uint32_t          pid = is_fork ? (uint32_t)r->a : image->pid;
    const uint32_t          child = hu_processes_child(w->list, pid, r->time, is_fork, image->pid);

    if (child == UINT32_MAX || child <= process || !w->is_member[child] || w->list->at[child].is_outsider)
        return 0;
    w->has_arrow[child] = 1;
    return (uint64_t)child + 1;
}

static void write_start(work *w, uint32_t process)
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
static void write_losses(work *w, const hu_process_image *image, uint64_t placed)
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

static bool enter_process(work *w, uint32_t process)
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

static int write_process(work *w, uint32_t process, hu_error *err)
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
static int write_perf(work *w, hu_error *err)
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
static bool list_used(work *w, hu_pf_gpu_options *how)
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
static int write_gpus(work *w, hu_error *err)
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
static int64_t beginning(work *w)
{
    const hu_clock_map *m = &w->list->clock;
    int64_t             first = m->n ? m->knots[0].boottime_ns : 0;

    for (size_t i = 0; i < w->n_members; i++) {
        const int64_t ns = hu_pf_ns(&w->p, w->list->at[w->members[i]].started);

        first = ns < first ? ns : first;
    }
    return first;
}

static int write_packets(work *w, const hu_pftrace_file *file, hu_error *err)
{
    int rc = 0;

    hu_pf_begin_sequence(&w->p, 0, &w->about);
    write_clocks(w);
    write_head(w, file);
    write_devices(w);
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
        write_tail(w);
    return rc == 0 && w->p.w.no_memory ? hu_fail_memory(err) : rc;
}

static void add_up(work *w)
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

static int write_file(work *w, const hu_pftrace_file *file, const char *path, hu_error *err)
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
static void take_members(work *w, int32_t rank)
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

static hu_pftrace_file file_of(const work *w, int32_t rank)
{
    const hu_process_image *first = first_of(w);

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
static size_t list_ranks(const work *w, int32_t *out)
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

static int write_all(work *w, hu_error *err)
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
static bool find_tools(work *w)
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
static void stand_in(work *w)
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
    work            w = {.o = options, .list = &list, .arena = arena, .out = out};
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
