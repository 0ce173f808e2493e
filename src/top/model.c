/* SPDX-License-Identifier: Apache-2.0
 * model.c - looks of all nodes become rows. */
#include "top/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top/past.h"

bool hu_top_model_init(hu_top_model *m, size_t n_nodes)
{
    memset(m, 0, sizeof *m);
    m->nodes = calloc(n_nodes, sizeof *m->nodes);
    m->n_nodes = m->nodes ? n_nodes : 0;
    for (size_t i = 0; i < m->n_nodes; i++) {
        m->nodes[i].past = hu_top_past_new();
        if (!m->nodes[i].past)
            return false;
    }
    return m->nodes != NULL;
}

void hu_top_model_free(hu_top_model *m)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        hu_top_past_free(m->nodes[i].past);
        hu_top_look_free(m->nodes[i].look);
    }
    free(m->nodes);
    free(m->gpus);
    free(m->jobs);
    free(m->ranks);
    free(m->processes);
    memset(m, 0, sizeof *m);
}

/* Is the GPU a row of work?  One that is divided has its parts for that. */
static bool is_divided(const hu_top_look *l, const hu_top_gpu *g)
{
    for (size_t i = 0; i < l->n_gpus; i++)
        if (l->gpus[i].parent[0] && strcmp(l->gpus[i].parent, g->uuid) == 0)
            return true;
    return false;
}

/* GPUs in the order of their numbers, not of who spoke of them first; links follow. */
static int by_number(const void *a, const void *b)
{
    const hu_top_gpu *x = *(const hu_top_gpu *const *)a, *y = *(const hu_top_gpu *const *)b;
    const int         gpu = strverscmp(x->gpu, y->gpu), gi = strverscmp(x->gi, y->gi);

    return gpu ? gpu : gi ? gi : strcmp(x->uuid, y->uuid);
}

static void sort_gpus(hu_top_look *l)
{
    const hu_top_gpu **order = calloc(l->n_gpus + 1, sizeof *order);
    hu_top_gpu        *sorted = calloc(l->n_gpus + 1, sizeof *sorted);
    uint32_t          *place = calloc(l->n_gpus + 1, sizeof *place);

    if (order && sorted && place) {
        for (size_t i = 0; i < l->n_gpus; i++)
            order[i] = &l->gpus[i];
        qsort(order, l->n_gpus, sizeof *order, by_number);
        for (size_t i = 0; i < l->n_gpus; i++) {
            sorted[i] = *order[i];
            place[order[i] - l->gpus] = (uint32_t)i;
        }
        for (size_t i = 0; i < l->n_links; i++)
            l->links[i].gpu = place[l->links[i].gpu];
        free(l->gpus);
        l->gpus = sorted;
        l->gpus_room = l->n_gpus + 1;
        sorted = NULL;
    }
    free(order);
    free(sorted);
    free(place);
}

/* What a node shows as one. */
static void sum_up(hu_top_node *n)
{
    const hu_top_look *l = n->look;
    double             busy = 0;
    size_t             with_busy = 0;

    n->n_gpus = 0;
    n->busy = n->power = NAN;
    n->n_jobs = l->n_jobs;
    for (size_t i = 0; i < l->n_gpus; i++) {
        const hu_top_gpu *g = &l->gpus[i];
        const double      use = isnan(g->busy) ? g->sm_active : g->busy;

        n->n_gpus += !is_divided(l, g);
        if (!isnan(g->power))
            n->power = isnan(n->power) ? g->power : n->power + g->power;
        if (!isnan(use)) {
            busy += use;
            with_busy++;
        }
    }
    if (with_busy)
        n->busy = busy / (double)with_busy;
}

static double memory_share(const hu_top_host *h)
{
    return h->memory_total > 0 ? 1 - h->memory_available / h->memory_total : NAN;
}

void hu_top_model_take(hu_top_model *m, size_t node, hu_top_look *look, const char *state, double patience_s)
{
    hu_top_node    *n = &m->nodes[node];
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    m->now = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    snprintf(n->state, sizeof n->state, "%s", state);
    if (look) {
        hu_top_look_free(n->look);
        n->look = look;
        sort_gpus(look);
        hu_top_past_host(n->past, look, &n->rates);
        if (!hu_top_past_take(n->past, look))
            snprintf(n->state, sizeof n->state, "out of memory");
        hu_top_history_add(&n->cpu, n->rates.cpu);
        hu_top_history_add(&n->memory, memory_share(&look->host));
        sum_up(n);
    } else if (n->look && (double)hu_top_now_ns() / 1e9 - n->look->at_s > patience_s) {
        hu_top_look_free(n->look);
        n->look = NULL;
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void row_of_gpu(hu_top_gpu_row *r, const hu_top_node *n, size_t i)
{
    const hu_top_look *l = n->look;

    *r = (hu_top_gpu_row){.node = n, .gpu = &l->gpus[i], .history = hu_top_past_history(n->past, i)};
    for (size_t k = 0; k < l->n_links; k++)
        if (l->links[k].gpu == i) {
            if (!r->job)
                r->job = &l->jobs[l->links[k].job];
            r->n_jobs++;
        }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median, since one rank that is new or stuck is not the job; NAN where there is none. */
static double median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void add_known(double *sum, double value)
{
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

/* A step that the device's work or the program's own fills is not held up. */
bool hu_top_is_holdup(const hu_top_share *s)
{
    static const char *const own[] = {"device-wait", "host", "other"};
    static const double      least = .1; /* of the step: less is not worth a word */

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], s->cause) == 0)
            return false;
    return s->share >= least;
}

static bool is_more(const hu_top_share *a, const hu_top_share *b)
{
    return hu_top_is_holdup(a) != hu_top_is_holdup(b) ? hu_top_is_holdup(a) : a->share > b->share;
}

static void row_of_job(hu_top_job_row *r, const hu_top_node *n, size_t i, double *room)
{
    const hu_top_look *l = n->look;
    double             busy = 0;
    size_t             with_busy = 0, with_steps = 0;

    *r = (hu_top_job_row){.node = n, .job = &l->jobs[i], .busy = NAN, .samples_per_s = NAN, .tokens_per_s = NAN};
    for (size_t k = 0; k < l->n_links; k++) {
        const hu_top_gpu *g = &l->gpus[l->links[k].gpu];
        const double      use = isnan(g->busy) ? g->sm_active : g->busy;

        if (l->links[k].job != i)
            continue;
        r->n_gpus++;
        if (!isnan(use)) {
            busy += use;
            with_busy++;
        }
    }
    if (with_busy)
        r->busy = busy / (double)with_busy;
    for (size_t k = 0; k < l->n_ranks; k++) {
        const hu_top_pace *pace = l->ranks[k].job == i ? hu_top_past_pace(n->past, k) : NULL;

        if (!pace)
            continue;
        r->n_ranks++;
        if (!isnan(pace->step_s))
            room[with_steps++] = pace->step_s;
        add_known(&r->samples_per_s, pace->samples_per_s);
        add_known(&r->tokens_per_s, pace->tokens_per_s);
    }
    r->step_s = median(room, with_steps);
    r->watts = hu_top_past_watts(n->past, i);
    r->joules_per_step = r->watts * r->step_s;
    r->joules_per_sample = r->samples_per_s > 0 ? r->watts / r->samples_per_s : NAN;
    r->wasted = r->job->energy_j > 0 ? r->job->wasted_j / r->job->energy_j : NAN;
    r->waited = r->job->energy_j > 0 ? r->job->waited_j / r->job->energy_j : NAN;
    for (size_t k = 0; k < r->job->n_shares; k++)
        if (!r->most || is_more(&r->job->share[k], r->most))
            r->most = &r->job->share[k];
}

static void *room_for(void *rows, size_t n, size_t bytes)
{
    return realloc(rows, (n + 1) * bytes);
}

bool hu_top_model_rows(hu_top_model *m)
{
    size_t gpus = 0, jobs = 0, ranks = 0, processes = 0;
    void  *all[4];

    for (size_t i = 0; i < m->n_nodes; i++) {
        const hu_top_look *l = m->nodes[i].look;

        gpus += l ? l->n_gpus : 0;
        jobs += l ? l->n_jobs : 0;
        ranks += l ? l->n_ranks : 0;
        processes += l ? l->n_processes : 0;
    }
    m->n_gpus = m->n_jobs = m->n_ranks = m->n_processes = 0;
    m->gpus = (all[0] = room_for(m->gpus, gpus, sizeof *m->gpus)) ? all[0] : m->gpus;
    m->jobs = (all[1] = room_for(m->jobs, jobs, sizeof *m->jobs)) ? all[1] : m->jobs;
    m->ranks = (all[2] = room_for(m->ranks, ranks, sizeof *m->ranks)) ? all[2] : m->ranks;
    m->processes = (all[3] = room_for(m->processes, processes, sizeof *m->processes)) ? all[3] : m->processes;
    if (!all[0] || !all[1] || !all[2] || !all[3])
        return false;
    for (size_t i = 0; i < m->n_nodes; i++) {
        const hu_top_node *n = &m->nodes[i];
        const hu_top_look *l = n->look;
        double            *room = l ? calloc(l->n_ranks + 1, sizeof *room) : NULL;

        if (!room)
            continue;
        for (size_t k = 0; k < l->n_gpus; k++)
            row_of_gpu(&m->gpus[m->n_gpus++], n, k);
        for (size_t k = 0; k < l->n_jobs; k++)
            row_of_job(&m->jobs[m->n_jobs++], n, k, room);
        for (size_t k = 0; k < l->n_ranks; k++)
            m->ranks[m->n_ranks++] = (hu_top_rank_row){.node = n,
                                                       .job = &l->jobs[l->ranks[k].job],
                                                       .rank = &l->ranks[k],
                                                       .pace = hu_top_past_pace(n->past, k),
                                                       .now = m->now};
        for (size_t k = 0; k < l->n_processes; k++)
            m->processes[m->n_processes++] = (hu_top_process_row){n, &l->processes[k]};
        free(room);
    }
    return true;
}
