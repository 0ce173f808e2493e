/* SPDX-License-Identifier: Apache-2.0
 * loader.c - a worker loads while the job computes only where a CPU is free for it.
 *
 * A loader that waits (for a disk, a network, a sleep) needs none: its waits overlap on any machine.  One that computes (it
 * decodes, augments, collates) needs a CPU for each worker.  A job on a GPU leaves all but one of its CPUs to them; one that
 * computes on CPUs itself uses those that its operators' threads run on, and how many that are no trace of the profiler
 * says. So where the CPUs are not known, workers may gain nothing there, and beside a GPU at least half: two of them
 * overlap.
 */
#include "advise/loader.h"

bool hu_loader_is_range(hu_str name)
{
    return hu_str_equal(name, HU_STR("data")) || hu_str_equal(name, HU_STR("preprocessing")) ||
           hu_str_has(name, HU_STR("DataLoader"));
}

void hu_loader_doubt(const hu_scene *c, hu_hint *h, bool has_workers)
{
    const hu_calibration *cal = &c->s->graph.calibration;
    const int64_t         cpus = c->d->info.cpus;

    if (hu_edit_loader_waits(&c->s->graph))
        return;
    if (cal->loaders_wait && cal->loader_threads) {
        h->may_gain_half = true;
        hu_hint_show(
            h, "threads that wait need no CPU; but what they wait for may serve one at a time, and then more gain less");
        return;
    }
    h->may_gain_nothing = c->d->gpu_time.n_slices == 0;
    h->may_gain_half = !h->may_gain_nothing && (cpus == 0 || has_workers);
    if (cpus == 0)
        hu_hint_show(
            h, "how many CPUs are free for workers is not in the trace, and a busy CPU loads no sooner: --cpus N says it");
    else if (c->d->gpu_time.n_slices == 0)
        hu_hint_show(h, "%lld CPU%s: workers would take them from the job, which computes there too", (long long)cpus,
                     hu_plural(cpus));
    else if (has_workers)
        hu_hint_show(h, "%lld CPU%s, and the trace does not say how many workers there are", (long long)cpus,
                     hu_plural(cpus));
    else
        hu_hint_show(h, "%lld CPU%s: one for the job, the others for workers", (long long)cpus, hu_plural(cpus));
}
