/* SPDX-License-Identifier: Apache-2.0
 * demo_live.c - a source: what the processes of a scenario's jobs would tell of their steps.
 *
 * Only the datagrams are invented.  The table and the shares are those of real jobs (monitor/live), so that a scenario shows
 * what they make of it.  Steps have the phases of demo_model.c; their length varies by a fixed pattern.  The demo begins two
 * minutes after its first datagram: something is known from the first look.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "monitor/demo/demo.h"
#include "monitor/live/table.h"
#include "monitor/source.h"

#define EARLIER_S 120.0 /* of datagrams before the demo began */
#define TURN_S    60.0  /* before the demo began, when what hangs began to */
#define STEPS     3000  /* that were over when the first datagram was sent */
#define FOREVER_S 1e9
#define SAMPLES   512
#define TOKENS    (SAMPLES * 4096)

enum { RANKS = HU_DEMO_GPUS + HU_DEMO_SLICES, SUPERVISOR = 40000, FIRST_PID = 40001, BEGAN = 1000000 };

static const int64_t SECOND_NS = 1000000000;

/* A process; times in seconds since the demo began. */
typedef struct {
    const hu_demo_owner *owner;
    hu_demo_work         work;
    hu_demo_fault        fault;
    int                  rank;             /* -1: it is the only one */
    uint64_t             step;             /* the one that runs */
    double               step_s, turned_s; /* when it began; the step that never ends */
    hu_live_datagram     d;                /* totals of steps that are over */
} rank_of;

typedef struct {
    const hu_demo_scenario *scenario;
    hu_live_table          *table;
    int64_t                 real_ns; /* CLOCK_REALTIME at which it began */
    int64_t                 boot_ns;
    double                  told_s;
    size_t                  n;
    rank_of                 rank[RANKS];
} demo_live;

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * SECOND_NS + now.tv_nsec;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

typedef struct {
    hu_live_cause cause;
    double        s;
} phase;

enum { PHASES = 7 };

/* What a step consists of; `begin_s`: when it begins. */
static void phases_of(const demo_live *l, const rank_of *r, double begin_s, phase out[PHASES])
{
    static const double pattern[] = {0, .03, -.02, .05, -.04, .01, -.03, .02, .04, -.05, -.01, 0, .02, -.02, .03, -.03};
    const bool          is_bound = r->work == HU_DEMO_INPUT_BOUND;
    const double        most = HU_DEMO_COMPUTE_S * hu_demo_slowest(l->scenario);
    const double        compute = is_bound ? 2.6 : r->fault == HU_DEMO_CAPPED ? most : HU_DEMO_COMPUTE_S;
    const double        wait = is_bound || r->fault == HU_DEMO_CAPPED ? 0 : most - HU_DEMO_COMPUTE_S;
    const bool          is_late = r->work == HU_DEMO_SLOWED && begin_s >= HU_DEMO_SLOWED_AT_S;
    const double        data = is_bound ? 3.1 : is_late ? HU_DEMO_SLOW_DATA_S : HU_DEMO_DATA_S;
    const uint64_t saves = (uint64_t)(HU_DEMO_CHECKPOINT_EVERY_S / (HU_DEMO_COMPUTE_S + HU_DEMO_REDUCE_S + HU_DEMO_DATA_S));
    const bool     is_saved = r->step % saves == saves - 1;
    const phase    all[PHASES] = {
           {HU_LIVE_DATA, data - .05 + pattern[r->step % (sizeof pattern / sizeof *pattern)]},
           {HU_LIVE_TRANSFER, .05},
           {HU_LIVE_FORWARD, compute * .32},
           {HU_LIVE_BACKWARD, compute * .64},
           {HU_LIVE_COMMUNICATION, is_bound      ? .3
                                   : r->rank < 0 ? 0
                                                 : HU_DEMO_REDUCE_S + wait},
           {HU_LIVE_OPTIMIZER, compute * .04},
           {HU_LIVE_CHECKPOINT, is_saved ? HU_DEMO_CHECKPOINT_S : 0},
    };

    memcpy(out, all, sizeof all);
    if (begin_s >= -TURN_S && (r->work == HU_DEMO_HANGING || r->fault == HU_DEMO_DIED))
        out[4].s = FOREVER_S;
    if (begin_s >= -TURN_S && r->work == HU_DEMO_SAVING)
        out[6].s = FOREVER_S;
}

static uint64_t ns_of(double s)
{
    return (uint64_t)(s * 1e9 + .5);
}

static size_t bucket_of(double s)
{
#define U(us) (us) / 1e6,
    static const double limits[] = {HU_LIVE_LIMITS_US(U)};
#undef U
    size_t i = 0;

    while (i < HU_LIVE_LIMITS && s > limits[i])
        i++;
    return i;
}

static void end_step(const demo_live *l, rank_of *r, const phase *phases, double length)
{
    hu_live_datagram *d = &r->d;

    for (int p = 0; p < PHASES; p++)
        d->cause_ns[phases[p].cause] += ns_of(phases[p].s);
    d->steps++;
    d->step_ns += ns_of(length);
    d->histogram[bucket_of(length)]++;
    d->samples += SAMPLES;
    d->tokens += TOKENS;
    d->checkpoints += phases[PHASES - 1].s > 0;
    r->step_s += length;
    r->step++;
    d->last_step_ns = l->real_ns + (int64_t)(r->step_s * 1e9);
}

/* The datagram of that time. */
static hu_live_datagram tell(const demo_live *l, rank_of *r, double at_s)
{
    hu_live_datagram d;
    phase            phases[PHASES];
    double           length, since;

    for (;;) {
        phases_of(l, r, r->step_s, phases);
        length = 0;
        for (int p = 0; p < PHASES; p++)
            length += phases[p].s;
        if (r->step_s + length > at_s)
            break;
        end_step(l, r, phases, length);
    }
    d = r->d;
    d.sequence = ++r->d.sequence;
    d.sent_ns = l->real_ns + (int64_t)(at_s * 1e9);
    d.step_number = (int64_t)r->step;
    d.step_since_ns = l->real_ns + (int64_t)(r->step_s * 1e9);
    since = r->step_s;
    for (int p = 0; p < PHASES; p++) {
        if (since + phases[p].s > at_s) {
            d.now = (uint32_t)phases[p].cause + 1;
            d.now_since_ns = l->real_ns + (int64_t)(since * 1e9);
            break;
        }
        since += phases[p].s;
    }
    return d;
}

/* ---- processes ----------------------------------------------------------------------------------------------------- */

static bool makes_steps(hu_demo_work work, hu_demo_fault fault)
{
    return fault == HU_DEMO_DIED || (work != HU_DEMO_FREE && work != HU_DEMO_IDLE && work != HU_DEMO_SERVING);
}

static void add(demo_live *l, hu_demo_work work, hu_demo_fault fault, int owner, int nth)
{
    const hu_demo_owner *o = &l->scenario->owner[owner - 1];
    rank_of             *r = &l->rank[l->n];
    phase                phases[PHASES];

    *r = (rank_of){.owner = o, .work = work, .fault = fault, .rank = o->world ? o->rank + nth : -1, .step_s = -EARLIER_S};
    r->d = (hu_live_datagram){.magic = HU_LIVE_MAGIC,
                              .version = HU_LIVE_VERSION,
                              .bytes = sizeof r->d,
                              .pid = FIRST_PID + (uint32_t)l->n,
                              .measured = (1u << HU_LIVE_CAUSE_COUNT) - 1,
                              .began = BEGAN,
                              .rank = r->rank,
                              .local_rank = o->world ? nth : -1,
                              .world_size = o->world ? o->world : -1,
                              .local_size = -1,
                              .name = "train.py"};
    l->n++;
    while (r->step < STEPS) {
        double length = 0;

        r->step_s = -EARLIER_S - FOREVER_S; /* long before anything went wrong */
        phases_of(l, r, r->step_s, phases);
        for (int p = 0; p < PHASES; p++)
            length += phases[p].s;
        end_step(l, r, phases, length);
    }
    r->step_s = -EARLIER_S;
    r->d.last_step_ns = l->real_ns - (int64_t)(EARLIER_S * 1e9);
}

static hu_live_state ask(void *context, uint32_t pid, uint64_t began)
{
    const demo_live *l = context;

    (void)began;
    return l->rank[pid - FIRST_PID].fault == HU_DEMO_DIED && l->told_s >= -TURN_S ? HU_LIVE_GONE : HU_LIVE_RUNS;
}

static void name(const hu_demo_owner *o, hu_owner *out)
{
#define SET(field) hu_owner_text(out->field, sizeof out->field, hu_str_of(o->field ? o->field : ""))
    SET(scheduler);
    SET(job_id);
    SET(step_id);
    SET(user);
#undef SET
    if (o->k8s_pod)
        snprintf(out->job_id, sizeof out->job_id, "%s/%s", o->k8s_namespace, o->k8s_pod);
}

/* Every process tells, as it would twice a second. */
static void tell_all(demo_live *l, double at_s)
{
    const hu_live_sender sender = {.pid = SUPERVISOR, .uid = 0};
    const int64_t        now_ns = l->boot_ns + (int64_t)(at_s * 1e9);

    l->told_s = at_s;
    for (size_t i = 0; i < l->n; i++) {
        rank_of               *r = &l->rank[i];
        const hu_live_datagram d = tell(l, r, at_s);
        hu_live_who            who = {.pid = d.pid, .is_own_group = true};
        hu_live_verdict        verdict;

        if (r->fault == HU_DEMO_DIED && at_s >= -TURN_S)
            continue;
        name(r->owner, &who.owner);
        if (!hu_live_table_take(l->table, &sender, &d, now_ns, &verdict))
            verdict = hu_live_table_add(l->table, &sender, &who, &d, now_ns);
        hu_live_table_count(l->table, verdict);
    }
}

static void demo_live_close(void *state)
{
    demo_live *l = state;

    hu_live_table_free(l->table);
    free(l);
}

static bool demo_live_open(const hu_source_options *options, void **state, hu_readings *out)
{
    const hu_demo_scenario *s = options->scenario ? hu_demo_find(options->scenario) : NULL;
    demo_live              *l = s ? calloc(1, sizeof *l) : NULL;
    int                     nth[HU_DEMO_OWNERS + 1] = {0};

    (void)out;
    if (!l)
        return false;
    l->scenario = s;
    l->table = hu_live_table_new(options->no_users, ask, l);
    if (!l->table) {
        free(l);
        return false;
    }
    l->real_ns = clock_ns(CLOCK_REALTIME);
    l->boot_ns = clock_ns(CLOCK_BOOTTIME);
    for (int i = 0; i < HU_DEMO_GPUS; i++) {
        const hu_demo_gpu *g = &s->gpu[i];

        if (g->owner > 0 && makes_steps(g->work, g->fault))
            add(l, g->work, g->fault, g->owner, nth[g->owner]);
        nth[g->owner > 0 ? g->owner : 0]++;
    }
    for (int k = 0; k < HU_DEMO_SLICES && s->slice[k].profile; k++)
        if (s->slice[k].owner > 0 && makes_steps(s->slice[k].work, HU_DEMO_SOUND))
            add(l, s->slice[k].work, HU_DEMO_SOUND, s->slice[k].owner, 0);
    for (double at_s = -EARLIER_S; at_s <= 0; at_s += .5)
        tell_all(l, at_s);
    *state = l;
    return true;
}

static bool demo_live_sample(void *state, hu_sample_group group, hu_readings *out)
{
    demo_live    *l = state;
    const int64_t now_ns = clock_ns(CLOCK_BOOTTIME);

    if (group != HU_SAMPLE_FAST)
        return true;
    tell_all(l, (double)(now_ns - l->boot_ns) / 1e9);
    hu_live_table_look(l->table, now_ns);
    hu_live_table_put(l->table, now_ns, l->real_ns + (now_ns - l->boot_ns), NULL, out);
    return true;
}

const hu_source hu_source_demo_live = {"demo_live", HU_SAMPLER_LIVE, demo_live_open, demo_live_sample, demo_live_close};
