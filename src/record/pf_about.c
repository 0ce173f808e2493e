/* SPDX-License-Identifier: Apache-2.0
 * pf_about.c - attributes, "holdup.KEY", which our importer reads by these names; what is not known has none. */
#include "record/pf_about.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "protocol/perfetto.h"
#include "protocol/redact.h"

enum { MOST_ARGUMENTS = 256, OUTSIDER_BYTES = 256 };

static size_t open_attribute(hu_pftrace_work *w, const char *key)
{
    const size_t open = hu_pb_write_open(&w->p.w, HU_PT_ATTRIBUTES_ATTRIBUTE);

    hu_pb_write_str(&w->p.w, HU_PT_ATTRIBUTE_KEY, hu_str_of(key));
    return open;
}

static void whole(hu_pftrace_work *w, const char *key, int64_t value)
{
    const size_t open = open_attribute(w, key);

    hu_pb_write_int(&w->p.w, HU_PT_ATTRIBUTE_WHOLE, value);
    hu_pb_write_close(&w->p.w, open);
}

static void text(hu_pftrace_work *w, const char *key, hu_str value)
{
    size_t open;

    if (value.n == 0)
        return;
    open = open_attribute(w, key);
    hu_pb_write_str(&w->p.w, HU_PT_ATTRIBUTE_TEXT, value);
    hu_pb_write_close(&w->p.w, open);
}

static void some(hu_pftrace_work *w, const char *key, uint64_t value)
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

void hu_pf_about_each_argument(hu_pftrace_work *w, const hu_process_image *image,
                               void (*take)(hu_pftrace_work *w, hu_str argument))
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

static void append_word(hu_pftrace_work *w, hu_str argument)
{
    for (size_t i = 0; i < argument.n + 1; i++) {
        const char c = i < argument.n ? argument.p[i] : ' ';

        if (w->command_n < sizeof w->command)
            w->command[w->command_n++] = c < ' ' && c >= 0 ? ' ' : c;
    }
}

/* The same as one line. */
static hu_str command_of(hu_pftrace_work *w, const hu_process_image *image)
{
    w->command_n = 0;
    hu_pf_about_each_argument(w, image, append_word);
    return (hu_str){w->command, w->command_n ? w->command_n - 1 : 0};
}

const hu_process_image *hu_pf_about_first(const hu_pftrace_work *w)
{
    for (size_t i = 0; i < w->n_members; i++) /* a process that says its rank speaks for its children */
        if (w->list->at[w->members[i]].rank >= 0)
            return &w->list->at[w->members[i]];
    return &w->list->at[w->members[0]];
}

/* CPU time of the command, without the tools that ran it. */
static int64_t job_ns(const hu_pftrace_work *w)
{
    return w->o->cost->job_ns > w->tools_ns ? w->o->cost->job_ns - w->tools_ns : 0;
}

/*
 * CPU time of the command that no state of a thread accounts for, as a part of the time in which states are not known, in
 * millionths: what ran there, ran unseen.  0 also where nothing is known of that.
 */
static int64_t unseen_share(const hu_pftrace_work *w)
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
static int64_t running_ns(const hu_pftrace_work *w, uint32_t pid)
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
static void write_outsiders(hu_pftrace_work *w)
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

void hu_pf_about_write_head(hu_pftrace_work *w, const hu_pftrace_file *file)
{
    const hu_process_image *first = hu_pf_about_first(w);
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

static void write_extra(hu_pftrace_work *w, const char *key, uint64_t value)
{
    char         digits[HU_NUMBER_BYTES];
    const size_t open = hu_pb_write_open(&w->p.w, HU_PT_GPU_EXTRA);

    hu_pb_write_str(&w->p.w, HU_PT_EXTRA_KEY, hu_str_of(key));
    hu_pb_write_str(&w->p.w, HU_PT_EXTRA_VALUE, (hu_str){digits, hu_format_u64(digits, value)});
    hu_pb_write_close(&w->p.w, open);
}

static void write_device(hu_pftrace_work *w, const hu_gpu_device *d)
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
static void write_opencl_devices(hu_pftrace_work *w, const hu_process_image *p, uint64_t *seen)
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

/* Each number once. */
void hu_pf_about_write_devices(hu_pftrace_work *w)
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

static void write_gpu_facts(hu_pftrace_work *w)
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
static void write_opencl_facts(hu_pftrace_work *w)
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

void hu_pf_about_write_tail(hu_pftrace_work *w)
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
