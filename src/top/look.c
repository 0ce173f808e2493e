/* SPDX-License-Identifier: Apache-2.0
 * look.c - the table of series, and what each of them fills. */
#include "top/look.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_counters.h"
#include "base/number.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void hu_top_host_clear(hu_top_host *h)
{
    for (size_t i = 0; i < sizeof *h / sizeof(double); i++)
        ((double *)h)[i] = NAN;
}

hu_top_look *hu_top_look_new(void)
{
    hu_top_look *l = calloc(1, sizeof *l);

    if (l)
        hu_top_host_clear(&l->host);
    return l;
}

void hu_top_look_free(hu_top_look *l)
{
    if (!l)
        return;
    free(l->gpus);
    free(l->jobs);
    free(l->links);
    free(l->ranks);
    free(l->processes);
    free(l);
}

static void set_text(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text);
}

/* A cleared row behind the others. */
static void *add(hu_top_look *l, void **rows, size_t *n, size_t *room, size_t most, size_t bytes)
{
    void *more;

    if (*n == *room) {
        const size_t wanted = *room ? 2 * *room : 16;

        more = *n >= most ? NULL : realloc(*rows, wanted * bytes);
        if (!more) {
            l->is_cut = true;
            return NULL;
        }
        *rows = more;
        *room = wanted;
    }
    more = (char *)*rows + *n * bytes;
    memset(more, 0, bytes);
    ++*n;
    return more;
}

hu_top_process *hu_top_look_process(hu_top_look *l)
{
    hu_top_process *p = add(l, (void **)&l->processes, &l->n_processes, &l->processes_room, HU_TOP_PROCESSES_MOST,
                            sizeof *p);

    if (p)
        p->cpu = p->memory = p->gpu_memory = p->gpu_busy = NAN;
    return p;
}

/* Series of one subject follow one another: the last one is looked at first. */
static hu_top_gpu *gpu_of(hu_top_look *l, const char *uuid, const char *number, const char *gi)
{
    hu_top_gpu *g;

    for (size_t i = l->n_gpus; i-- > 0;)
        if (strcmp(l->gpus[i].uuid, uuid) == 0 && (!gi[0] || !l->gpus[i].gi[0] || strcmp(l->gpus[i].gi, gi) == 0))
            return &l->gpus[i];
    g = add(l, (void **)&l->gpus, &l->n_gpus, &l->gpus_room, HU_TOP_GPUS_MOST, sizeof *g);
    if (!g)
        return NULL;
    g->up = g->allocated = g->busy = g->sm_active = g->memory_used = g->memory_total = g->power = g->power_limit = NAN;
    g->temperature = g->clock = NAN;
    set_text(g->uuid, sizeof g->uuid, uuid);
    set_text(g->gpu, sizeof g->gpu, number);
    set_text(g->gi, sizeof g->gi, gi);
    return g;
}

static hu_top_job *job_of(hu_top_look *l, const char *scheduler, const char *id, const char *user)
{
    hu_top_job *j = NULL;

    for (size_t i = l->n_jobs; i-- > 0 && !j;)
        if (strcmp(l->jobs[i].id, id) == 0 && strcmp(l->jobs[i].scheduler, scheduler) == 0)
            j = &l->jobs[i];
    if (!j) {
        j = add(l, (void **)&l->jobs, &l->n_jobs, &l->jobs_room, HU_TOP_JOBS_MOST, sizeof *j);
        if (!j)
            return NULL;
        j->world = j->idle_s = j->ranks_sending = j->ranks_lost = j->energy_j = j->wasted_j = j->waited_j = NAN;
        set_text(j->scheduler, sizeof j->scheduler, scheduler);
        set_text(j->id, sizeof j->id, id);
    }
    if (user[0])
        set_text(j->user, sizeof j->user, user);
    return j;
}

static hu_top_rank *rank_of(hu_top_look *l, const char *const *label)
{
    const hu_top_job *job = job_of(l, label[0], label[1], label[3]);
    const uint32_t    number = job ? (uint32_t)(job - l->jobs) : 0;
    hu_top_rank      *r;

    if (!job)
        return NULL;
    for (size_t i = l->n_ranks; i-- > 0;) {
        r = &l->ranks[i];
        if (r->job == number && strcmp(r->rank, label[4]) == 0 && strcmp(r->pid, label[5]) == 0 &&
            strcmp(r->step_id, label[2]) == 0)
            return r;
    }
    r = add(l, (void **)&l->ranks, &l->n_ranks, &l->ranks_room, HU_TOP_RANKS_MOST, sizeof *r);
    if (!r)
        return NULL;
    r->job = number;
    set_text(r->step_id, sizeof r->step_id, label[2]);
    set_text(r->rank, sizeof r->rank, label[4]);
    set_text(r->pid, sizeof r->pid, label[5]);
    r->world = r->up = r->step_number = r->last_step_at = r->samples = r->tokens = NAN;
    r->step_s = r->steps = NAN;
    for (int i = 0; i < HU_LIVE_CAUSE_COUNT; i++)
        r->cause_s[i] = NAN;
    return r;
}

static void add_to(double *sum, double value)
{
    *sum = isnan(*sum) ? value : *sum + value;
}

/* ---- what a series fills ----------------------------------------------------------------------------------------- */

typedef void taking(hu_top_look *l, double value, const char *const *label);

static void take_gpu_info(hu_top_look *l, double value, const char *const *label)
{
    hu_top_gpu *g = gpu_of(l, label[0], label[1], label[2]);

    (void)value;
    if (!g)
        return;
    set_text(g->gi, sizeof g->gi, label[2]);
    set_text(g->parent, sizeof g->parent, label[3]);
    set_text(g->model, sizeof g->model, label[4]);
}

/* Is it a reason that lowers the clock of work?  Those of other drivers, which are not in the table, are. */
static bool lowers(const char *reason)
{
#define R(id, bit, limits, words)   \
    if (strcmp(reason, words) == 0) \
        return limits;
    HU_GPU_REASONS(R)
#undef R
    return true;
}

/* "hardware slowdown" says no more where a hardware reason of its own stands beside it. */
static void drop_general(char *limits)
{
    static const char general[] = "hardware slowdown, ";
    const size_t      n = sizeof general - 1;

    if (strncmp(limits, general, n) == 0 && strstr(limits + n, "hardware "))
        memmove(limits, limits + n, strlen(limits + n) + 1);
}

static void take_reason(hu_top_look *l, double value, const char *const *label)
{
    hu_top_gpu *g = gpu_of(l, label[0], label[1], "");
    size_t      n;

    if (!g)
        return;
    g->has_reasons = true;
    if (value <= 0 || !lowers(label[2]))
        return;
    n = strlen(g->limit);
    snprintf(g->limit + n, sizeof g->limit - n, "%s%s", n ? ", " : "", label[2]);
    drop_general(g->limit);
}

static void take_job_info(hu_top_look *l, double value, const char *const *label)
{
    hu_top_job  *j = job_of(l, label[2], label[3][0] ? label[3] : label[8], label[4]);
    hu_top_gpu  *g = gpu_of(l, label[0], label[1], "");
    hu_top_link *link;
    uint64_t     world;

    (void)value;
    if (!j || !g)
        return;
    if (label[5][0] || label[7][0])
        set_text(j->name, sizeof j->name, label[5][0] ? label[5] : label[7]);
    if (hu_parse_u64(hu_str_of(label[6]), &world))
        j->world = (double)world;
    for (size_t i = 0; i < l->n_links; i++)
        if (l->links[i].gpu == (uint32_t)(g - l->gpus) && l->links[i].job == (uint32_t)(j - l->jobs))
            return;
    link = add(l, (void **)&l->links, &l->n_links, &l->links_room, HU_TOP_LINKS_MOST, sizeof *link);
    if (link)
        *link = (hu_top_link){(uint32_t)(g - l->gpus), (uint32_t)(j - l->jobs)};
}

static void take_idle(hu_top_look *l, double value, const char *const *label)
{
    hu_top_job *j = label[1][0] ? job_of(l, label[0], label[1], label[2]) : NULL;

    if (j)
        add_to(&j->idle_s, value);
}

static void take_holdup(hu_top_look *l, double value, const char *const *label)
{
    hu_top_job *j = job_of(l, label[0], label[1], label[3]);

    if (!j || !label[4][0] || value < 0)
        return;
    for (size_t i = 0; i < j->n_shares; i++)
        if (strcmp(j->share[i].cause, label[4]) == 0) { /* of another step of the job */
            j->share[i].share = fmax(j->share[i].share, value);
            return;
        }
    if (j->n_shares == HU_TOP_SHARES_MOST)
        return;
    set_text(j->share[j->n_shares].cause, HU_TOP_WORD, label[4]);
    j->share[j->n_shares++].share = value;
}

static void take_process_info(hu_top_look *l, double value, const char *const *label)
{
    hu_top_rank *r = rank_of(l, label);
    uint64_t     world;

    (void)value;
    if (!r)
        return;
    if (hu_parse_u64(hu_str_of(label[6]), &world))
        r->world = (double)world;
    set_text(r->name, sizeof r->name, label[7]);
}

static void take_cause(hu_top_look *l, double value, const char *const *label)
{
    static const char *const names[HU_LIVE_CAUSE_COUNT] = {
#define L(id, name, help) name,
        HU_LIVE_CAUSES(L)
#undef L
    };
    hu_top_rank *r = rank_of(l, label);

    for (int i = 0; r && i < HU_LIVE_CAUSE_COUNT; i++)
        if (strcmp(names[i], label[6]) == 0)
            r->cause_s[i] = value;
}

static void take_cpu(hu_top_look *l, double value, const char *const *label)
{
    add_to(&l->host.cpu_s, value);
    if (strcmp(label[0], "idle") != 0 && strcmp(label[0], "iowait") != 0)
        add_to(&l->host.cpu_busy_s, value);
}

static void take_pressure(hu_top_look *l, double value, const char *const *label)
{
    static const char *const names[HU_TOP_PRESSURES] = {"cpu", "memory", "io"};

    for (int i = 0; i < HU_TOP_PRESSURES; i++)
        if (strcmp(names[i], label[0]) == 0)
            l->host.waiting_s[i] = value;
}

static void take_problem(hu_top_look *l, double value, const char *const *label)
{
    hu_top_problem *p = &l->problem[l->n_problems];

    if (value <= 0 || l->n_problems == HU_TOP_PROBLEMS_MOST)
        return;
    set_text(p->source, sizeof p->source, label[0]);
    set_text(p->what, sizeof p->what, label[1]);
    set_text(p->fix, sizeof p->fix, label[2]);
    l->n_problems++;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef enum { OF_GPU, OF_HOST, OF_HOSTS, OF_JOBS, OF_RANK, SPECIAL } kind;

typedef struct {
    const char *name, *keys;
    kind        kind;
    size_t      offset; /* of a double in hu_top_gpu, _host, _job or _rank; OF_HOSTS, OF_JOBS: one that sums */
    taking     *take;   /* SPECIAL */
} row;

#define JOB_KEYS  "scheduler,job_id,step_id,user"
#define RANK_KEYS JOB_KEYS ",rank,pid"

#define GPU(name, member)                                                             \
    {                                                                                 \
        "holdup_gpu_" name, "uuid,gpu,gi", OF_GPU, offsetof(hu_top_gpu, member), NULL \
    }
#define HOST(name, member)                                                    \
    {                                                                         \
        "holdup_host_" name, "", OF_HOST, offsetof(hu_top_host, member), NULL \
    }
#define HOSTS(name, member)                                                    \
    {                                                                          \
        "holdup_host_" name, "", OF_HOSTS, offsetof(hu_top_host, member), NULL \
    }
#define JOBS(name, member)                                                        \
    {                                                                             \
        "holdup_job_" name, JOB_KEYS, OF_JOBS, offsetof(hu_top_job, member), NULL \
    }
#define RANK(name, member)                                                          \
    {                                                                               \
        "holdup_job_" name, RANK_KEYS, OF_RANK, offsetof(hu_top_rank, member), NULL \
    }
#define TAKE(name, keys, f)       \
    {                             \
        name, keys, SPECIAL, 0, f \
    }

static const row rows[] = {
    TAKE("holdup_gpu_info", "uuid,gpu,gi,parent,model", take_gpu_info),
    GPU("up", up),
    GPU("allocated", allocated),
    GPU("utilization_ratio", busy),
    GPU("sm_active_ratio", sm_active),
    GPU("memory_used_bytes", memory_used),
    GPU("memory_total_bytes", memory_total),
    GPU("power_watts", power),
    GPU("power_limit_watts", power_limit),
    GPU("temperature_celsius", temperature),
    GPU("sm_clock_hertz", clock),
    TAKE("holdup_gpu_clock_event_reason", "uuid,gpu,reason", take_reason),
    TAKE("holdup_job_info", "uuid,gpu,scheduler,job_id,user,job_name,world,k8s_pod,pod_uid", take_job_info),
    TAKE("holdup_gpu_allocated_idle_seconds_total", "scheduler,job_id,user", take_idle),
    TAKE("holdup_job_holdup", JOB_KEYS ",cause", take_holdup),
    JOBS("ranks", ranks_sending),
    JOBS("ranks_lost_total", ranks_lost),
    JOBS("energy_joules_total", energy_j),
    JOBS("energy_wasted_joules_total", wasted_j),
    JOBS("energy_waited_joules_total", waited_j),
    TAKE("holdup_job_process_info", RANK_KEYS ",world,name", take_process_info),
    TAKE("holdup_job_cause_seconds_total", RANK_KEYS ",cause", take_cause),
    RANK("rank_up", up),
    RANK("step_number", step_number),
    RANK("last_step_timestamp_seconds", last_step_at),
    RANK("samples_total", samples),
    RANK("tokens_total", tokens),
    RANK("step_duration_seconds_sum", step_s),
    RANK("step_duration_seconds", step_s), /* a histogram that was not written as text: its sum */
    RANK("step_duration_seconds_count", steps),
    TAKE("holdup_host_cpu_seconds_total", "mode", take_cpu),
    HOST("boot_time_seconds", boot_at),
    HOST("cpus", cpus),
    HOST("load1", load1),
    HOST("memory_total_bytes", memory_total),
    HOST("memory_available_bytes", memory_available),
    TAKE("holdup_host_pressure_waiting_seconds_total", "resource", take_pressure),
    HOSTS("network_receive_bytes_total", received),
    HOSTS("network_transmit_bytes_total", sent),
    HOSTS("infiniband_received_bytes_total", received),
    HOSTS("infiniband_transmitted_bytes_total", sent),
    HOSTS("disk_read_bytes_total", read),
    HOSTS("disk_written_bytes_total", written),
    TAKE("holdup_monitor_problem", "source,what,fix", take_problem),
};

size_t hu_top_series_count(void)
{
    return sizeof rows / sizeof *rows;
}

const char *hu_top_series_name(size_t series)
{
    return rows[series].name;
}

const char *hu_top_series_keys(size_t series)
{
    return rows[series].keys;
}

size_t hu_top_series_find(const char *name, size_t n)
{
    size_t i = 0;

    while (i < hu_top_series_count() && !(strncmp(rows[i].name, name, n) == 0 && rows[i].name[n] == '\0'))
        i++;
    return i;
}

void hu_top_look_put(hu_top_look *l, size_t series, double value, const char *const *labels)
{
    const row *r = &rows[series];
    void      *at = NULL;

    if (!isfinite(value))
        return;
    switch (r->kind) {
    case OF_GPU:
        at = labels[0][0] ? gpu_of(l, labels[0], labels[1], labels[2]) : NULL;
        break;
    case OF_JOBS:
        at = job_of(l, labels[0], labels[1], labels[3]);
        break;
    case OF_RANK:
        at = rank_of(l, labels);
        break;
    case OF_HOST:
    case OF_HOSTS:
        at = &l->host;
        break;
    case SPECIAL:
        r->take(l, value, labels);
        return;
    }
    if (!at)
        return;
    at = (char *)at + r->offset;
    if (r->kind == OF_HOSTS || r->kind == OF_JOBS)
        add_to(at, value);
    else
        *(double *)at = value;
}
