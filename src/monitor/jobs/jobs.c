/* SPDX-License-Identifier: Apache-2.0
 * jobs.c - a source: whom each GPU works for, and for how long it was somebody's and did nothing.
 *
 * Two things make a GPU somebody's: a scheduler gave it to a job (job_files.c, slurm_groups.c, kubelet.c), or a process
 * uses it (the board, job_process.c).  What they say of one job is put together; a job that appears in one of them only
 * is no less one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rapl.h"
#include "monitor/files.h"
#include "monitor/jobs/job_energy.h"
#include "monitor/jobs/job_files.h"
#include "monitor/jobs/job_process.h"
#include "monitor/jobs/kubelet.h"
#include "monitor/jobs/pod_names.h"
#include "monitor/jobs/slurm_groups.h"
#include "monitor/source.h"

static const double  IDLE_BELOW = 0.05;
static const int64_t SECOND_NS = 1000000000;

enum { HOLDERS_MOST = 64, STALE_PERIODS = 5 };

/* A job that has a GPU. */
typedef struct {
    hu_owner owner;
    uint32_t n_pids;
    double   busy; /* of its processes; less than 0: not known of all of them */
} holder;

typedef struct {
    const hu_source_options *options;
    hu_board_state           board;
    hu_processes            *processes;
    hu_slurm_groups          slurm;
    hu_job_files             files;
    hu_job_files_state       files_state;
    hu_kubelet               kubelet;
    uint32_t                 looks;
    bool                     is_closed;  /* an environment could not be read */
    bool                     is_full;    /* jobs of a GPU were left out */
    bool                     is_strange; /* somebody has a GPU by a name that is none of the board's: it may be any */
    size_t                   n;          /* holders of the GPU that is looked at */
    holder                   at[HOLDERS_MOST];
    uint32_t                 n_foreign; /* its processes that are not in /proc */
    hu_rapl                  rapl;
    double                   host_joules; /* of processors and memory, at the last medium look; 0: not known */
    uint64_t                 host_job;    /* SLURM's only job then; 0: there was another number of them */
    size_t                   n_told;      /* jobs whose energy was told in this look */
    uint64_t                 told[HU_LEDGER_JOBS];
    uint32_t                 n_waits; /* jobs that tell how much of their step time they wait, in this look */
    hu_job_wait              waits[HU_JOB_WAITS];
} jobs;

static void jobs_close(void *state)
{
    jobs *j = state;

    hu_processes_free(j->processes);
    hu_slurm_free(&j->slurm);
    hu_job_files_free(&j->files);
    hu_kubelet_close(&j->kubelet);
    hu_rapl_close(&j->rapl);
    free(j);
}

static void open_rapl(jobs *j)
{
    const int root = hu_files_root(j->options->root);

    j->rapl.folder = -1;
    if (root < 0)
        return;
    hu_rapl_open(root, &HU_RAPL_FOLDER[1], &j->rapl);
    close(root);
}

static bool jobs_open(const hu_source_options *options, void **state, hu_readings *out)
{
    jobs *j = options->board ? calloc(1, sizeof *j) : NULL;

    (void)out;
    if (!j)
        return false;
    j->options = options;
    open_rapl(j);
    j->processes = hu_processes_new(options->root);
    snprintf(j->files.path, sizeof j->files.path, "%s%s", options->job_dir ? "" : options->root,
             options->job_dir ? options->job_dir : HU_JOB_DIR);
    if (!hu_kubelet_open(&j->kubelet, options->root, options->kubelet) || !j->processes) {
        jobs_close(j);
        return false;
    }
    *state = j;
    return true;
}

static holder *add(jobs *j, const hu_owner *owner)
{
    hu_owner o = *owner;

    if (j->options->no_users)
        hu_owner_hide(&o);
    for (size_t i = 0; i < j->n; i++) {
        if (hu_owner_same(&j->at[i].owner, &o)) {
            hu_owner_add(&j->at[i].owner, &o);
            return &j->at[i];
        }
    }
    if (j->n == HOLDERS_MOST) {
        j->is_full = true;
        return NULL;
    }
    j->at[j->n] = (holder){.owner = o};
    return &j->at[j->n++];
}

static void add_allocations(jobs *j, const hu_allocations *list, size_t row)
{
    for (size_t i = 0; i < list->n; i++)
        if (hu_gpu_is_named(&list->at[i].gpu, &j->board, row))
            add(j, &list->at[i].owner);
}

static void add_process(jobs *j, uint32_t pid, double busy)
{
    hu_process            *p;
    const hu_process_state state = hu_processes_find(j->processes, pid, &p);
    holder                *h;

    if (state != HU_PROCESS_KNOWN) {
        j->n_foreign += state == HU_PROCESS_FOREIGN;
        return;
    }
    j->is_closed |= p->is_closed;
    if (p->owner.pod_uid[0] && !p->owner.k8s_pod[0] && (!p->named || j->looks - p->named >= HU_MEDIUM_FACTOR)) {
        p->named = j->looks;
        hu_pod_names(j->options->root, &p->owner);
    }
    h = add(j, &p->owner);
    if (!h)
        return;
    h->n_pids++;
    h->busy = h->busy < 0 || !(busy >= 0) ? -1 : h->busy + busy;
}

/*
 * A pod that is known by its processes alone, beside one that is known by the kubelet alone: the same one if there is no
 * other pair to be made.
 */
static bool join_pods(jobs *j)
{
    holder *with_uid = NULL, *with_name = NULL;
    size_t  n_uid = 0, n_name = 0;

    for (size_t i = 0; i < j->n; i++) {
        holder *h = &j->at[i];

        if (strcmp(h->owner.scheduler, "kubernetes") != 0)
            continue;
        if (!h->owner.k8s_pod[0]) {
            with_uid = h;
            n_uid++;
        } else {
            with_name = h;
            n_name++;
        }
    }
    if (n_uid == 1 && n_name == 1 && with_name->n_pids == 0) {
        hu_owner_add(&with_name->owner, &with_uid->owner);
        with_name->n_pids = with_uid->n_pids;
        with_name->busy = with_uid->busy;
        *with_uid = j->at[--j->n];
        return true;
    }
    return n_uid == 0;
}

/* What processes disagree on is a text that starts with a sign that no text has. */
static const char *shown(const char *text)
{
    return (unsigned char)text[0] < ' ' ? "" : text;
}

static void put_info(hu_readings *out, const hu_board_gpu *g, const char *gpu, const hu_owner *o)
{
    hu_put(out, HU_METRIC_JOB_INFO, 1, g->uuid, gpu, o->scheduler, o->job_id, shown(o->step_id), o->user, o->account,
           o->partition, o->job_name, shown(o->rank), o->world, o->pod_uid, o->k8s_namespace, o->k8s_pod,
           shown(o->k8s_container), shown(o->container_id));
}

/* 1: it did nothing, 0: it worked, -1: not known.  A shared GPU that works is asked whose work it is. */
static int idleness(const jobs *j, const holder *h, double busy)
{
    const double own = h->n_pids ? h->busy : j->n_foreign ? -1 : 0;

    if (busy >= 0 && busy < IDLE_BELOW)
        return 1;
    if (j->n == 1 || busy < 0)
        return busy < 0 ? -1 : 0;
    return own < 0 ? -1 : own < IDLE_BELOW;
}

static bool put_idle(jobs *j, hu_readings *out, const hu_board_gpu *g, const char *gpu, const holder *h, double busy,
                     int64_t step_ns)
{
    const hu_owner *o = &h->owner;
    const int       idle = idleness(j, h, busy);
    hu_ledger_row  *row = hu_ledger_find(&j->options->board->jobs, g->uuid, hu_owner_hash(o), j->board.at_ns);

    if (!row)
        return true;
    row->seen_ns = j->board.at_ns;
    row->idle_ns += idle > 0 && row->is_measured ? step_ns : 0; /* the first look tells nothing of the time before it */
    row->is_measured |= idle >= 0;
    if (row->is_measured)
        hu_put(out, HU_METRIC_ALLOCATED_IDLE, (double)row->idle_ns / (double)SECOND_NS, g->uuid, gpu, o->scheduler,
               o->job_id, o->user);
    return idle >= 0;
}

/* Of a job once a look, however many GPUs it has: what all looks before this one have added. */
static void put_energy(jobs *j, hu_readings *out, const hu_owner *o)
{
    const uint64_t          job = hu_owner_hash(o);
    const hu_ledger_joules *e = hu_job_energy_find(&j->options->board->jobs, job);
    bool                    is_told = !e || j->n_told == HU_LEDGER_JOBS;

    for (size_t i = 0; i < j->n_told && !is_told; i++)
        is_told = j->told[i] == job;
    if (is_told)
        return;
    j->told[j->n_told++] = job;
    if (e->has_cpu)
        hu_put(out, HU_METRIC_JOB_ENERGY, e->cpu, o->scheduler, o->job_id, "", o->user, "cpu");
    if (!e->has_gpu)
        return;
    hu_put(out, HU_METRIC_JOB_ENERGY, e->all, o->scheduler, o->job_id, "", o->user, "gpu");
    hu_put(out, HU_METRIC_JOB_ENERGY_WASTED, e->idle, o->scheduler, o->job_id, "", o->user, "allocated-idle");
    if (e->has_waited)
        hu_put(out, HU_METRIC_JOB_ENERGY_WAITED, e->waited, o->scheduler, o->job_id, "", o->user, "data-or-communication",
               "upper");
}

/* The only job of SLURM on this node; 0: there are none or several, or some may not be seen. */
static uint64_t only_job(const hu_slurm_groups *s)
{
    uint64_t only = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->job[i].is_live && only)
            return 0;
        only = s->job[i].is_live ? s->job[i].id : only;
    }
    return s->is_there && s->has_extern ? only : 0; /* without, a job that has started nothing has no group */
}

/* Of packages and the memory beside them; 0: one of them does not tell. */
static double read_host(hu_rapl *r)
{
    double sum = 0;

    for (size_t i = 0; i < r->n; i++) {
        const hu_rapl_kind kind = hu_rapl_kind_of(hu_str_of(r->zone[i].name));
        uint64_t           uj;

        if (kind != HU_RAPL_PACKAGE && kind != HU_RAPL_MEMORY)
            continue;
        if (!hu_rapl_look(r, &r->zone[i], &uj))
            return 0;
        sum += (double)uj / 1e6;
    }
    return sum;
}

/* What lies between two looks at which the same job was the only one. */
static void take_host_energy(jobs *j)
{
    const uint64_t only = only_job(&j->slurm), before = j->host_job;
    const double   joules = only ? read_host(&j->rapl) : 0, last = j->host_joules;
    hu_owner       o = {.scheduler = "slurm"};

    j->host_job = only;
    j->host_joules = joules;
    if (!only || only != before || !(last > 0) || !(joules >= last))
        return;
    snprintf(o.job_id, sizeof o.job_id, "%" PRIu64, only);
    hu_job_energy_take_cpu(&j->options->board->jobs, hu_owner_hash(&o), joules - last, j->board.at_ns);
}

/* Less than 0: it does not tell. */
static double waiting_share(const jobs *j, uint64_t job)
{
    for (uint32_t i = 0; i < j->n_waits; i++)
        if (j->waits[i].job == job)
            return j->waits[i].share;
    return -1;
}

/* A part of a GPU, and one that is divided, has no counter of its own. */
static void take_energy(jobs *j, const hu_board_gpu *g, const holder *h, bool is_fresh, int64_t step_ns)
{
    hu_job_ledger       *l = &j->options->board->jobs;
    hu_ledger_row       *row = hu_ledger_find(l, g->uuid, hu_owner_hash(&h->owner), j->board.at_ns);
    const hu_energy_look look = {.joules = is_fresh && !g->is_divided && g->gi < 0 ? g->joules : 0,
                                 .now_ns = j->board.at_ns,
                                 .step_ns = step_ns,
                                 .is_alone = j->n == 1 && !j->n_foreign && hu_owner_has_job(&h->owner),
                                 .is_idle = idleness(j, h, is_fresh ? g->busy : -1) > 0,
                                 .waits = waiting_share(j, hu_owner_hash(&h->owner))};

    if (row)
        hu_job_energy_take(l, row, &look);
}

/* Do all who give GPUs to jobs on this node say whom they gave them to? */
static bool is_complete(const jobs *j)
{
    const bool has_kubelet = j->kubelet.is_there && !j->kubelet.why[0] && j->kubelet.answer.n_claims == 0;
    const bool has_files = j->files_state == HU_JOB_FILES_READ;

    return !j->is_strange && (has_kubelet || has_files) && !(j->kubelet.is_there && !has_kubelet) &&
           !(j->slurm.is_there && !has_files);
}

static const char *reason_of(const jobs *j, bool is_named)
{
    if (j->n_foreign)
        return "the driver lists processes that are not in /proc: the monitor must see the host's PID namespace";
    for (size_t i = 0; i < j->n; i++)
        if (!j->at[i].owner.scheduler[0] && !hu_owner_has_job(&j->at[i].owner))
            return "no group names the job, and the environment of its process cannot be read: run as root";
    if (!is_named)
        return "pods without names: /var/log/containers is not readable, and several pods have the GPU";
    if (j->kubelet.is_there && j->kubelet.why[0])
        return "the kubelet does not answer";
    if (j->kubelet.answer.n_claims && !j->n)
        return "pods have GPUs by resource claims, and no process on this one";
    if (j->n)
        return "";
    if (j->is_strange)
        return "a job has a GPU by a name that none here has";
    if (j->slurm.is_there && j->files_state != HU_JOB_FILES_READ)
        return "SLURM's prolog does not write down allocations";
    return is_complete(j) ? "" : "no scheduler tells its allocations";
}

static void put_gpu(jobs *j, hu_readings *out, size_t row, bool is_fresh, int64_t step_ns)
{
    const hu_board_gpu *g = &j->board.gpu[row];
    const double        busy = is_fresh ? g->busy : -1;
    bool                is_named, is_told = true, is_counted = true;
    const char         *reason, *state;
    char                gpu[16];

    snprintf(gpu, sizeof gpu, "%" PRId32, g->index);
    j->n = j->n_foreign = 0;
    add_allocations(j, &j->files.list, row);
    add_allocations(j, &j->slurm.list, row);
    add_allocations(j, &j->kubelet.answer.list, row);
    for (uint32_t i = 0; is_fresh && i < g->n_pids && i < HU_BOARD_PIDS; i++)
        add_process(j, g->pid[i], g->pid_busy[i]);
    is_named = join_pods(j);
    if (g->is_divided && !j->n && !j->n_foreign)
        return; /* its MIG devices have rows of their own */
    for (size_t i = 0; i < j->n; i++) {
        const hu_owner *o = &j->at[i].owner;

        put_info(out, g, gpu, o);
        put_energy(j, out, o);
        is_told &= o->scheduler[0] || hu_owner_has_job(o);
        if (is_fresh && !j->n_foreign)
            hu_put(out, HU_METRIC_JOB_PROCESSES, j->at[i].n_pids, g->uuid, gpu, o->scheduler, o->job_id, o->user);
        if (j->at[i].n_pids && j->at[i].busy >= 0)
            hu_put(out, HU_METRIC_JOB_GPU_BUSY, j->at[i].busy < 1 ? j->at[i].busy : 1, g->uuid, gpu, o->scheduler, o->job_id,
                   o->user);
        is_counted &= put_idle(j, out, g, gpu, &j->at[i], busy, step_ns);
        take_energy(j, g, &j->at[i], is_fresh, step_ns);
    }
    if (j->n || j->n_foreign || is_complete(j))
        hu_put(out, HU_METRIC_GPU_ALLOCATED, j->n || j->n_foreign, g->uuid, gpu);
    reason = reason_of(j, is_named);
    state = j->n_foreign || !is_named || !is_told || (!j->n && reason[0]) ? "unknown" : j->n ? "known" : "none";
    if (!reason[0] && !is_fresh)
        reason = "GPUs are not sampled: processes and idle time are not known";
    else if (!reason[0] && !is_counted)
        reason = "the driver does not tell how busy it is: idle time is not counted";
    hu_put(out, HU_METRIC_ATTRIBUTION, 1, g->uuid, gpu, state, reason);
}

static void put_problems(const jobs *j, hu_readings *out)
{
    char what[1024];

    if (j->kubelet.why[0]) {
        snprintf(what, sizeof what, "the kubelet at %s: %s", j->kubelet.path, j->kubelet.why);
        hu_put_problem(
            out, "jobs", what,
            "run as root with /var/lib/kubelet/pod-resources mounted; the kubelet serves it by default since 1.28");
    }
    if (j->files_state == HU_JOB_FILES_OPEN) {
        snprintf(what, sizeof what, "everybody may write to %s, so it is not read", j->files.path);
        hu_put_problem(out, "jobs", what, "chmod o-w on it: whoever writes there says who uses a GPU");
    } else if (j->files_state == HU_JOB_FILES_DENIED) {
        snprintf(what, sizeof what, "%s cannot be read", j->files.path);
        hu_put_problem(out, "jobs", what, "let the monitor's user read it (chmod o+rx)");
    } else if (j->files.stale) {
        snprintf(what, sizeof what, "%s names jobs that have ended; they are left out", j->files.path);
        hu_put_problem(out, "jobs", what,
                       "see that SLURM's Epilog is packaging/slurm/epilog, and why it failed (slurmd's log)");
    }
    if (j->is_closed)
        hu_put_problem(out, "jobs", "environments of processes cannot be read: rank, account and name of jobs are missing",
                       "run as root, or with CAP_SYS_PTRACE");
    if (j->is_full || j->files.list.is_cut || j->slurm.list.is_cut || j->kubelet.answer.list.is_cut ||
        j->kubelet.answer.is_cut)
        hu_put_problem(out, "jobs", "more allocations than the monitor keeps; some are left out", "report it");
}

static bool names_strangers(const jobs *j, const hu_allocations *list)
{
    for (size_t i = 0; i < list->n; i++) {
        bool is_known = false;

        for (uint32_t row = 0; row < j->board.n && !is_known; row++)
            is_known = hu_gpu_is_named(&list->at[i].gpu, &j->board, row);
        if (!is_known)
            return true;
    }
    return false;
}

static void put_claims(const jobs *j, hu_readings *out)
{
    for (size_t i = 0; i < j->kubelet.answer.n_claims; i++) {
        const hu_claim *c = &j->kubelet.answer.claim[i];

        hu_put(out, HU_METRIC_CLAIM, 1, c->claim_namespace, c->claim, c->k8s_namespace, c->k8s_pod, c->k8s_container,
               c->driver, c->pool, c->device);
    }
}

/* The time that this look adds.  What lies before the last period was not seen, and is not taken for idle. */
static int64_t step_of(jobs *j, int64_t period_ns)
{
    hu_job_ledger *l = &j->options->board->jobs;
    const int64_t  step = l->at_ns && j->board.at_ns > l->at_ns ? j->board.at_ns - l->at_ns : 0;

    l->at_ns = j->board.at_ns;
    return step > 2 * period_ns ? period_ns : step;
}

static bool jobs_sample(void *state, hu_sample_group group, hu_readings *out)
{
    jobs           *j = state;
    const int64_t   period_ns = j->options->period_ns > 0 ? j->options->period_ns : SECOND_NS;
    const bool      is_medium = j->looks % HU_MEDIUM_FACTOR == 0;
    struct timespec now;
    int64_t         step_ns, age_ns;

    if (group != HU_SAMPLE_FAST)
        return true;
    j->looks++;
    j->is_closed = j->is_full = false;
    j->n_told = 0;
    if (is_medium)
        hu_slurm_look(&j->slurm, j->options->root, j->processes);
    hu_processes_begin(j->processes, j->slurm.is_there);
    j->files_state = hu_job_files_look(&j->files, &j->slurm, is_medium);
    hu_kubelet_look(&j->kubelet, is_medium);
    put_claims(j, out);
    if (!hu_job_waits_read(&j->options->board->waits, hu_gpu_board_now() - STALE_PERIODS * period_ns, j->waits, &j->n_waits))
        j->n_waits = 0;
    if (hu_gpu_board_read(j->options->board, &j->board) && j->board.at_ns) {
        clock_gettime(CLOCK_BOOTTIME, &now);
        age_ns = now.tv_sec * SECOND_NS + now.tv_nsec - j->board.at_ns;
        step_ns = step_of(j, period_ns);
        if (is_medium)
            take_host_energy(j);
        j->is_strange = j->kubelet.answer.n_strange || names_strangers(j, &j->kubelet.answer.list) ||
                        names_strangers(j, &j->files.list) || names_strangers(j, &j->slurm.list);
        for (uint32_t i = 0; i < j->board.n; i++)
            put_gpu(j, out, i, age_ns < STALE_PERIODS * period_ns, step_ns);
    }
    put_problems(j, out);
    return true;
}

const hu_source hu_source_jobs = {"jobs", HU_SAMPLER_JOBS, jobs_open, jobs_sample, jobs_close};
