/* SPDX-License-Identifier: Apache-2.0
 * throttled.c - samples of a GPU's clock and of why the driver lowered it, as a finding with a bound. */
#include "advise/throttled.h"

#include <math.h>
#include <stdio.h>

#include "advise/gates.h"

static const double LEAST_LIMITED = 0.05; /* of its busy time */
static const double LEAST_BUSY_NS = 5e8;  /* a few samples say nothing */
static const double LEAST_POINTS = 1;     /* of the run, to be worth a finding */

/* Where no GPU is known to be the job's, one that worked at its full clock may be the one. */
const hu_gpu_clock *hu_throttled_worst(const hu_digest *d)
{
    const hu_gpu_clock *worst = NULL;
    bool                has_own = false, has_free = false;

    for (size_t i = 0; i < d->gpu_clocks.n; i++)
        has_own |= d->gpu_clocks.at[i].is_ours;
    for (size_t i = 0; i < d->gpu_clocks.n; i++) {
        const hu_gpu_clock *c = &d->gpu_clocks.at[i];

        if ((has_own && !c->is_ours) || !(c->busy_ns >= LEAST_BUSY_NS))
            continue;
        if (!(hu_gpu_clock_limited(c) >= LEAST_LIMITED))
            has_free |= !has_own;
        else if (!worst || c->limited_ns > worst->limited_ns)
            worst = c;
    }
    return has_free ? NULL : worst;
}

/* 1 where either of the two is not known. */
static double most_saved_by(double mhz, double most_mhz)
{
    return mhz > 0 && most_mhz > 0 ? fmax(0, 1 - mhz / most_mhz) : 1;
}

/* The share of the time of that work that the highest clocks could save: a kernel waits for SMs or for memory. */
static double most_saved(const hu_gpu_clock *c)
{
    return fmax(most_saved_by(c->limited_mhz, c->most_sm_mhz), most_saved_by(c->limited_memory_mhz, c->most_memory_mhz));
}

void hu_throttled_show(const hu_gpu_clock *c, hu_hint *h)
{
    char name[HU_GPU_NAME_BYTES];

    hu_gpu_clock_name(c, name);
    hu_hint_show(h, "sampled during the run: %.*s of the busy time of %s%s", HU_FMT(c->limits), name,
                 c->is_work ? "" : " (by the driver's utilization)");
    if (c->limited_mhz > 0 && c->most_sm_mhz > 0)
        hu_hint_show(h, "its SM clock was %.0f MHz then, of %.0f MHz at most", c->limited_mhz, c->most_sm_mhz);
    if (c->watts > 0 && c->most_watts > 0)
        hu_hint_show(h, "mean power %.0f W; its limit is %.0f W", c->watts, c->most_watts);
    if (c->others > 0)
        hu_hint_show(h, "%lld other process%s ran on it too: power and heat are theirs as well", (long long)c->others,
                     c->others == 1 ? "" : "es");
}

/* What lowered the clock for the longest time says what could be done. */
static const char *fix_of(const hu_gpu_clock *c)
{
    const double power = c->reason_ns[HU_GPU_REASON_POWER_CAP] + c->reason_ns[HU_GPU_REASON_POWER_BRAKE];
    const double heat = c->reason_ns[HU_GPU_REASON_THERMAL] + c->reason_ns[HU_GPU_REASON_HARDWARE_THERMAL];
    const double limit = c->reason_ns[HU_GPU_REASON_BOARD_LIMIT] + c->reason_ns[HU_GPU_REASON_RELIABILITY];

    if (power > heat && power > limit)
        return "a higher power limit where the board allows one (nvidia-smi -q -d POWER, -pl); the node's power supply, "
               "where the power brake is set; else this is the board's full speed";
    if (heat > limit)
        return "cooling: air flow, fans, the room; nvidia-smi -q -d TEMPERATURE shows how far each limit is";
    return "nvidia-smi -q -d PERFORMANCE,CLOCK while it runs; a driver or the node's administrator sets these limits";
}

bool hu_throttled_find(const hu_digest *d, const hu_findings *others, hu_finding *out)
{
    const hu_gpu_clock *c = hu_throttled_worst(d);
    hu_hint             h = {.rule = HU_RULE_THROTTLING};
    double              most;
    char                name[HU_GPU_NAME_BYTES];

    if (!c || !(c->seen_ns > 0))
        return false;
    for (size_t i = 0; i < others->n; i++)
        if (others->at[i].rule == HU_RULE_THROTTLING)
            return false;
    most = 100 * fmin(1, c->limited_ns / c->seen_ns) * most_saved(c);
    if (!(most >= LEAST_POINTS))
        return false;
    hu_gpu_clock_name(c, name);
    hu_hint_say(&h,
                "The driver lowered the clock of %s for %s of its busy time. Cannot tell how much that costs: the "
                "highest clocks would save at most %s of the run, and nothing where kernels wait for something else%s.",
                name, hu_say_pct(100 * hu_gpu_clock_limited(c)).t, hu_say_pct(most).t,
                c->is_ours ? "" : "; whether the job used this GPU is not known");
    hu_throttled_show(c, &h);
    *out = (hu_finding){.rule = HU_RULE_THROTTLING,
                        .n_evidence = h.n_evidence,
                        .gain_pct = NAN,
                        .high_pct = most,
                        .free_pct = most,
                        .before_ns = others->replayed_ns,
                        .after_ns = NAN,
                        .edit = {.kind = HU_EDIT_KINDS},
                        .confidence = c->is_ours ? HU_CONFIDENCE_MEDIUM : HU_CONFIDENCE_LOW};
    memcpy(out->statement, h.statement, sizeof out->statement);
    memcpy(out->evidence, h.evidence, sizeof h.evidence);
    snprintf(out->fix, sizeof out->fix, "%s", fix_of(c));
    return true;
}
