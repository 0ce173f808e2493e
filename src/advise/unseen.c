/* SPDX-License-Identifier: Apache-2.0
 * unseen.c - a rank's own replay takes its time in communication for transfer.
 *
 * Where it is waiting for a rank that nobody replayed, that rank sets the pace: a fix on this one saves nothing unless the
 * other one gets it too.  How likely that is the size tells: a wait that is longer than the gain leaves room for all of it.
 * Ranks that wait for less than they would gain have most of the cause in common, for else they would not arrive together.
 */
#include "advise/unseen.h"

#include <math.h>

#include "advise/amount.h"

static const char *const ways[] = {
    [HU_UNSEEN_ALONE] = "one rank cannot tell. Record the same steps on all ranks and pass all traces",
    [HU_UNSEEN_MISSING] = "ranks are missing that take part in it. Record the same steps on all ranks and pass all traces",
    [HU_UNSEEN_UNMATCHED] = "most of the communication could not be matched across ranks",
    [HU_UNSEEN_APART] = "the ranks could not be replayed together",
};

double hu_findings_comm_pct(const hu_findings *f)
{
    return 100 * (f->by_class[HU_CLASS_COMM] + f->by_class[HU_CLASS_HOST_COMM]) / f->replayed_ns;
}

/* Kernels that could do the same in less time: the other ranks run the same program, and wait less when all are fixed. */
static bool is_of_kernels(const hu_finding *x)
{
    return x->edit.kind == HU_EDIT_TENSOR || x->edit.kind == HU_EDIT_FUSE || x->edit.kind == HU_EDIT_KERNEL ||
           x->edit.kind == HU_EDIT_RECOMPUTE;
}

static void doubt(hu_finding *x, const char *sign)
{
    x->confidence = HU_CONFIDENCE_LOW;
    x->low_pct = 0;
    if (x->n_evidence == HU_EVIDENCE)
        x->n_evidence--; /* why it is no more than a guess is worth more than the fourth sign */
    snprintf(x->evidence[x->n_evidence++], HU_EVIDENCE_BYTES, "%s", sign);
}

void hu_findings_doubt_unseen(hu_findings *f, double comm_pct, hu_unseen why)
{
    char network[HU_EVIDENCE_BYTES], other[HU_EVIDENCE_BYTES];

    if (!f || !f->is_replayed)
        return;
    snprintf(network, sizeof network, "waiting for a late rank or transfer: %s", ways[why]);
    if (comm_pct < 100)
        snprintf(other, sizeof other, "saves nothing if the %s that it communicates for is waiting: %s",
                 hu_say_pct(comm_pct).t, ways[why]);
    else
        snprintf(other, sizeof other, "saves nothing if other ranks would then be the slower ones: %s", ways[why]);
    for (size_t i = 0; i < f->n; i++) {
        hu_finding *x = &f->at[i];

        if (hu_finding_is_of_network(x) || x->rule == HU_RULE_ACCUMULATION)
            doubt(x, network);
        else if (!hu_finding_is_of_capture(x) && !is_of_kernels(x) &&
                 !(why == HU_UNSEEN_APART && x->rule == HU_RULE_STRAGGLER) && x->gain_pct <= comm_pct)
            doubt(x, other);
    }
}
