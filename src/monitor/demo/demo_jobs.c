/* SPDX-License-Identifier: Apache-2.0
 * demo_jobs.c - a source: the jobs of a scenario, in place of those of SLURM and Kubernetes.
 *
 * Idle time and energy are not invented: they are counted from what the board says of the GPUs, as for real ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/demo/demo.h"
#include "monitor/jobs/job_energy.h"
#include "monitor/source.h"

enum { NUMBER_TEXT = 16, LABELS_MOST = 20, PLACES = HU_DEMO_GPUS + HU_DEMO_SLICES, SECOND_NS = 1000000000 };

#define IDLE_BELOW .05

typedef struct {
    const hu_demo_scenario  *scenario;
    const hu_source_options *options;
    double                   idle_s[PLACES]; /* of GPUs, then of MIG devices */
    int64_t                  before_ns;      /* of the board's state that was counted last; 0: none */
    hu_board_state           board;
} demo_jobs;

static bool demo_jobs_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const hu_demo_scenario *scenario = options->scenario ? hu_demo_find(options->scenario) : NULL;
    demo_jobs              *d = scenario ? calloc(1, sizeof *d) : NULL;

    (void)out;
    if (!d)
        return false;
    d->scenario = scenario;
    d->options = options;
    for (int i = 0; i < PLACES; i++) {
        const int owner = i < HU_DEMO_GPUS ? scenario->gpu[i].owner : scenario->slice[i - HU_DEMO_GPUS].owner;

        if (owner > 0)
            d->idle_s[i] = scenario->owner[owner - 1].idle_s;
    }
    *state = d;
    return true;
}

static hu_demo_work work_of(const hu_demo_scenario *s, int place)
{
    return place < HU_DEMO_GPUS ? s->gpu[place].work : s->slice[place - HU_DEMO_GPUS].work;
}

static const hu_board_gpu *on_board(const demo_jobs *d, const char *uuid)
{
    for (uint32_t i = 0; i < d->board.n; i++)
        if (strcmp(d->board.gpu[i].uuid, uuid) == 0)
            return &d->board.gpu[i];
    return NULL;
}

/* What passed since the last state of the board; 0 where there is no new one. */
static double passed_s(demo_jobs *d)
{
    double s = 0;

    d->board.n = 0;
    if (!d->options->board || !hu_gpu_board_read(d->options->board, &d->board) || d->board.at_ns <= d->before_ns)
        return 0;
    if (d->before_ns)
        s = (double)(d->board.at_ns - d->before_ns) / SECOND_NS;
    d->before_ns = d->board.at_ns;
    return s;
}

/* What is known of a GPU whoever has it. */
static void put_place(int place, int gpu, int owner, hu_readings *out)
{
    char uuid[HU_DEMO_TEXT], number[NUMBER_TEXT];

    hu_demo_uuid(gpu, place - HU_DEMO_GPUS, uuid);
    snprintf(number, sizeof number, "%d", gpu);
    const hu_demo_label labels[] = {{"uuid", uuid}, {"gpu", number}, {"state", owner ? "known" : "none"}};
    const size_t        n = sizeof labels / sizeof *labels;

    hu_demo_put(out, HU_METRIC_GPU_ALLOCATED, owner > 0, labels, n);
    hu_demo_put(out, HU_METRIC_ATTRIBUTION, 1, labels, n);
}

/* `place`: a GPU, or behind them a MIG device; `nth` GPU here of that owner. */
static void put_owner(demo_jobs *d, int place, int gpu, int owner, int nth, double passed, hu_readings *out)
{
    const hu_demo_owner *o = &d->scenario->owner[owner - 1];
    const bool           has_names = !d->options->no_users;
    const hu_board_gpu  *b;
    char                 uuid[HU_DEMO_TEXT], number[NUMBER_TEXT], rank[NUMBER_TEXT] = "", world[NUMBER_TEXT] = "";

    hu_demo_uuid(gpu, place - HU_DEMO_GPUS, uuid);
    snprintf(number, sizeof number, "%d", gpu);
    if (o->world) {
        snprintf(rank, sizeof rank, "%d", o->rank + nth);
        snprintf(world, sizeof world, "%d", o->world);
    }
    const hu_demo_label labels[] = {{"uuid", uuid},
                                    {"gpu", number},
                                    {"scheduler", o->scheduler},
                                    {"job_id", o->job_id},
                                    {"step_id", o->step_id},
                                    {"user", has_names ? o->user : NULL},
                                    {"account", has_names ? o->account : NULL},
                                    {"partition", o->partition},
                                    {"job_name", has_names ? o->job_name : NULL},
                                    {"rank", rank},
                                    {"world", world},
                                    {"pod_uid", o->pod_uid},
                                    {"k8s_namespace", o->k8s_namespace},
                                    {"k8s_pod", o->k8s_pod},
                                    {"k8s_container", o->k8s_container}};
    const size_t        n = sizeof labels / sizeof *labels;
    const bool          runs = work_of(d->scenario, place) != HU_DEMO_IDLE;

    b = on_board(d, uuid);
    if (b && b->busy >= 0 && b->busy < IDLE_BELOW)
        d->idle_s[place] += passed;
    hu_demo_put(out, HU_METRIC_JOB_INFO, 1, labels, n);
    hu_demo_put(out, HU_METRIC_JOB_PROCESSES, runs, labels, n);
    if (b && b->busy >= 0)
        hu_demo_put(out, HU_METRIC_JOB_GPU_BUSY, b->busy, labels, n);
    hu_demo_put(out, HU_METRIC_ALLOCATED_IDLE, d->idle_s[place], labels, n);
}

/* Of a GPU that an owner has as a whole. */
static void take_energy(demo_jobs *d, int gpu, int owner, double passed)
{
    hu_job_ledger      *l = d->options->board ? &d->options->board->jobs : NULL;
    const hu_board_gpu *b;
    hu_ledger_row      *row;
    char                uuid[HU_DEMO_TEXT];

    hu_demo_uuid(gpu, -1, uuid);
    b = on_board(d, uuid);
    row = l && b ? hu_ledger_find(l, uuid, (uint64_t)owner, d->board.at_ns) : NULL;
    if (!row)
        return;
    row->seen_ns = d->board.at_ns;
    hu_job_energy_take(l, row,
                       &(hu_energy_look){.joules = b->joules,
                                         .now_ns = d->board.at_ns,
                                         .step_ns = (int64_t)(passed * SECOND_NS),
                                         .is_alone = true,
                                         .is_idle = b->busy >= 0 && b->busy < IDLE_BELOW});
}

static void put_energy(const demo_jobs *d, int owner, hu_readings *out)
{
    const hu_demo_owner    *o = &d->scenario->owner[owner - 1];
    const hu_ledger_joules *e = d->options->board ? hu_job_energy_find(&d->options->board->jobs, (uint64_t)owner) : NULL;
    const hu_demo_label     labels[] = {{"scheduler", o->scheduler},
                                        {"job_id", o->job_id},
                                        {"user", d->options->no_users ? NULL : o->user},
                                        {"source", "gpu"},
                                        {"cause", "allocated-idle"}};

    if (!e)
        return;
    hu_demo_put(out, HU_METRIC_JOB_ENERGY, e->all, labels, sizeof labels / sizeof *labels);
    hu_demo_put(out, HU_METRIC_JOB_ENERGY_WASTED, e->idle, labels, sizeof labels / sizeof *labels);
}

static bool demo_jobs_sample(void *state, hu_sample_group group, hu_readings *out)
{
    demo_jobs *d = state;
    double     passed;
    int        nth[HU_DEMO_OWNERS + 1] = {0};

    if (group != HU_SAMPLE_FAST)
        return true;
    passed = passed_s(d);
    for (int i = 0; i < HU_DEMO_GPUS; i++) {
        const int owner = d->scenario->gpu[i].owner;

        if (!hu_demo_is_divided(d->scenario, i))
            put_place(i, i, owner, out);
        if (owner > 0)
            put_owner(d, i, i, owner, nth[owner]++, passed, out);
        if (owner > 0 && !hu_demo_is_divided(d->scenario, i))
            take_energy(d, i, owner, passed);
    }
    for (int k = 0; k < HU_DEMO_SLICES && d->scenario->slice[k].profile; k++) {
        const hu_demo_slice *s = &d->scenario->slice[k];

        put_place(HU_DEMO_GPUS + k, s->gpu, s->owner, out);
        if (s->owner > 0)
            put_owner(d, HU_DEMO_GPUS + k, s->gpu, s->owner, nth[s->owner]++, passed, out);
    }
    for (int owner = 1; owner <= HU_DEMO_OWNERS; owner++)
        if (nth[owner])
            put_energy(d, owner, out);
    return true;
}

const hu_source hu_source_demo_jobs = {"demo_jobs", HU_SAMPLER_JOBS, demo_jobs_open, demo_jobs_sample, free};
