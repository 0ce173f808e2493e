/* SPDX-License-Identifier: Apache-2.0
 * topic.c - which findings are about the time that a verdict names, as a table.
 *
 * A gain is the replay's, a share is measured: compared with each other they tell only what is far apart.
 */
#include "advise/topic.h"

#include <math.h>
#include <stdio.h>

#include "advise/say.h"

static const double MOSTLY_LEFT = 1.0 / 3; /* of a share that all fixes together save: the rest is most of it */
static const double LEAST_WAIT = 0.25;     /* of the step: what is left of less is not what holds a job up */
static const double POINTS = 2;            /* of a hundred: a gain that is so much more than the rest of the step */

#define RULE(id) (UINT64_C(1) << HU_RULE_##id)
_Static_assert(HU_RULE_COUNT <= 64, "a set of rules is one word");

enum { IS_CODE = 1, IS_WAIT = 2 }; /* what faster code saves is in no recording; a wait has an end that a fix brings near */

static const uint64_t ALL = UINT64_MAX;
static const uint64_t OF_KERNELS = RULE(COMPUTE_BOUND) | RULE(BANDWIDTH_BOUND) | RULE(LOW_EFFICIENCY) | RULE(TENSOR_CORES) |
                                   RULE(CONTENTION) | RULE(THROTTLING);
static const uint64_t OF_NETWORK = RULE(EXPOSED_COMM) | RULE(POOR_OVERLAP) | RULE(COMM_LATENCY) | RULE(COMM_BANDWIDTH) |
                                   RULE(ACCUMULATION);
static const uint64_t OF_RANKS = RULE(STRAGGLER) | RULE(BUBBLE) | RULE(IMBALANCE);
static const uint64_t OF_FILES = RULE(IO_STALL) | RULE(SMALL_CALLS) | RULE(KERNEL_CALLS);
static const uint64_t OF_CPUS = RULE(STARVED) | RULE(CPU_QUOTA);
static const uint64_t OF_SYSTEM = RULE(IO_STALL) | RULE(SMALL_CALLS) | RULE(KERNEL_CALLS) | RULE(SLEEP) | RULE(LOCK) |
                                  RULE(GIL) | RULE(PAGE_FAULTS) | RULE(PROCESSES) | RULE(STARVED) | RULE(CPU_QUOTA);

/* The set of a topic, and what that is called. */
static const struct {
    const char *noun;
    uint64_t    rules;
    unsigned    is;
} topics[HU_TOPIC_COUNT] = {
    [HU_TOPIC_NONE] = {"", ALL, 0},
    [HU_TOPIC_KERNELS] = {"the kernels", OF_KERNELS | RULE(RECOMPUTE) | RULE(VALIDATION) | RULE(ACCUMULATION), IS_CODE},
    [HU_TOPIC_COMMUNICATION] = {"the communication", OF_NETWORK | OF_RANKS | RULE(CONTENTION), IS_WAIT},
    [HU_TOPIC_COPIES] = {"the copies", RULE(COPY_BOUND), IS_WAIT},
    [HU_TOPIC_IDLE] = {"the idle time", ALL & ~OF_KERNELS & ~OF_NETWORK, IS_WAIT},
    [HU_TOPIC_LOADING] = {"the data loading", RULE(DATA_LOADING) | RULE(UNRECORDED) | OF_SYSTEM, IS_WAIT},
    [HU_TOPIC_CODE] = {"that code", ALL & ~OF_NETWORK & ~OF_RANKS & ~RULE(DATA_LOADING) & ~RULE(UNRECORDED), IS_CODE},
    [HU_TOPIC_RUNNING] = {"that code",
                          ALL & ~OF_NETWORK & ~OF_RANKS & ~OF_CPUS & ~RULE(DATA_LOADING) & ~RULE(UNRECORDED) & ~RULE(SLEEP) &
                              ~RULE(IO_STALL) & ~RULE(COPY_BOUND) & ~RULE(HOST_SYNC),
                          IS_CODE},
    [HU_TOPIC_UNRECORDED] = {"the unrecorded time", RULE(UNRECORDED) | RULE(PYTHON_GC) | RULE(HOST_WORK) | OF_SYSTEM,
                             IS_WAIT},
    [HU_TOPIC_FILES] = {"the calls for files", OF_FILES | RULE(DATA_LOADING) | RULE(SLOW_READER), IS_WAIT},
    [HU_TOPIC_NETWORK] = {"the network", OF_FILES | OF_NETWORK | RULE(SMALL_POOL) | RULE(DATA_LOADING), IS_WAIT},
    [HU_TOPIC_PIPE] = {"the pipe", ALL & ~OF_CPUS, IS_WAIT},
    [HU_TOPIC_SLEEP] = {"the sleep", RULE(SLEEP) | RULE(POLLED_CHILD), IS_WAIT},
    [HU_TOPIC_CPU] = {"the waits for a CPU", OF_CPUS | RULE(GIL), IS_WAIT},
    [HU_TOPIC_TEAM] = {"the barriers", RULE(IMBALANCE) | RULE(LOCK) | OF_CPUS, IS_WAIT},
    [HU_TOPIC_WAITS] = {"the waiting", ALL & ~RULE(STARVED), IS_WAIT},
};

hu_topic hu_topic_of_state(hu_host_state state)
{
    switch ((unsigned)state) {
    case HU_HOST_FILE_READ:
    case HU_HOST_FILE_WRITE:
    case HU_HOST_FILE_META:
    case HU_HOST_FSYNC:
        return HU_TOPIC_FILES;
    case HU_HOST_NETWORK:
        return HU_TOPIC_NETWORK;
    case HU_HOST_PIPE:
        return HU_TOPIC_PIPE;
    case HU_HOST_SLEEP:
        return HU_TOPIC_SLEEP;
    case HU_STATE_TEAM:
        return HU_TOPIC_TEAM;
    case HU_STATE_COMM:
        return HU_TOPIC_COMMUNICATION;
    case HU_STATE_STARVED:
        return HU_TOPIC_CPU;
    case HU_STATE_RUNS:
        return HU_TOPIC_RUNNING;
    case HU_HOST_LOCK:
    case HU_HOST_POLL:
    case HU_HOST_WAIT:
    case HU_HOST_CHILD:
    case HU_STATE_BLOCKED:
        return HU_TOPIC_WAITS;
    default:
        return HU_TOPIC_NONE;
    }
}

bool hu_topic_has(hu_topic topic, hu_rule rule)
{
    return (topics[topic].rules >> rule & 1) != 0;
}

/* The finding about that time which saves most; one without a gain only where there is no other. */
static const hu_finding *find_own(hu_topic topic, const hu_findings *f)
{
    const hu_finding *best = NULL;

    for (size_t i = 0; i < f->n; i++) {
        const hu_finding *x = &f->at[i];

        if (hu_topic_has(topic, x->rule) && !hu_finding_is_of_capture(x) &&
            (!best || isnan(best->gain_pct) || x->gain_pct > best->gain_pct))
            best = x;
    }
    return best;
}

/* Percent of the step that fixes of that time save at most, one alone or all one after the other. */
static double most_saved(hu_topic topic, const hu_findings *f)
{
    double most = 0;

    for (size_t i = 0; i < f->n; i++)
        if (hu_topic_has(topic, f->at[i].rule))
            most = fmax(most, f->at[i].high_pct);
    if (f->n_ladder && f->ladder[0].before_ns > 0)
        most = fmax(most, 100 * (1 - f->ladder[f->n_ladder - 1].after_ns / f->ladder[0].before_ns));
    return most;
}

static const hu_finding *first_fix(hu_named named, const hu_findings *f)
{
    const hu_finding *first = f->n ? &f->at[0] : NULL;

    return named.topic == HU_TOPIC_NONE || !first || hu_finding_is_of_capture(first) || isnan(first->gain_pct) ? NULL
                                                                                                               : first;
}

/* Is the gain more than all of the step but the named time? */
static bool is_more_than_rest(hu_named named, const hu_finding *first)
{
    return !hu_topic_has(named.topic, first->rule) && first->gain_pct > 100 * (1 - named.share) + POINTS;
}

hu_topic_words hu_topic_say(hu_named named, const hu_findings *f)
{
    const hu_finding *first = first_fix(named, f), *own;
    const char       *noun = topics[named.topic].noun;
    const unsigned    is = topics[named.topic].is;
    const char       *where = named.is_of_one_rank && named.topic == HU_TOPIC_COMMUNICATION ? "the trace of one rank shows"
                                                                                            : "we can simulate";
    hu_topic_words    said = {""};

    if (!first || is_more_than_rest(named, first))
        return said;
    if (hu_topic_has(named.topic, first->rule)) {
        if (is & IS_WAIT && named.share >= LEAST_WAIT && most_saved(named.topic, f) < 100 * named.share * MOSTLY_LEFT)
            snprintf(said.t, sizeof said.t, " Fixes that %s leave most of %s.", where, noun);
        return said;
    }
    own = find_own(named.topic, f);
    if (own && !isnan(own->gain_pct))
        snprintf(said.t, sizeof said.t, " A fix for %s %s (%s).", noun,
                 own->gain_pct > first->gain_pct ? "is less sure" : "saves less", hu_say_pct(own->gain_pct).t);
    else if (own)
        snprintf(said.t, sizeof said.t, " What a fix for %s saves cannot be computed.", noun);
    else if (is & IS_CODE)
        snprintf(said.t, sizeof said.t, " How much faster %s could be is not in a trace.", noun);
    else
        snprintf(said.t, sizeof said.t, " No fix for %s that %s saves 1 %%.", noun, where);
    return said;
}

hu_topic_words hu_topic_say_more(hu_named named, const hu_findings *f)
{
    const hu_finding *first = first_fix(named, f);
    hu_topic_words    said = {""};

    if (first && is_more_than_rest(named, first))
        snprintf(said.t, sizeof said.t, "; it shortens %s, too", topics[named.topic].noun);
    return said;
}
