/* SPDX-License-Identifier: Apache-2.0
 * energy.c - of ranks that sampled the same thing the first counts: their samples differ by moments at the ends. */
#include "across/energy.h"

#include <math.h>

static bool has_gpu(const hu_digest *d, hu_str uuid)
{
    for (size_t i = 0; i < d->gpu_clocks.n; i++)
        if (uuid.n && hu_str_equal(d->gpu_clocks.at[i].uuid, uuid))
            return true;
    return false;
}

static bool has_node(const hu_digest *d, hu_str host)
{
    return d->host_energy.n > 0 && hu_str_equal(d->host_energy.at[0].host, host);
}

static void add_gpu(hu_job_energy *e, const hu_gpu_clock *c)
{
    e->gpu_joules += c->joules;
    e->gpu_step_joules += c->step_joules;
    e->is_shared |= c->is_mig || c->others > 0 || !c->is_ours;
    e->n_gpus++;
}

hu_job_energy hu_job_energy_measure(hu_digest *const *digests, size_t n)
{
    hu_job_energy e = {0};

    for (size_t r = 0; r < n; r++) {
        const hu_digest *d = digests[r];
        bool             is_there = d->host_energy.n == 0;

        for (size_t i = 0; i < d->gpu_clocks.n; i++) {
            bool is_known = false;

            for (size_t k = 0; k < r && !is_known; k++)
                is_known = has_gpu(digests[k], d->gpu_clocks.at[i].uuid);
            if (!is_known)
                add_gpu(&e, &d->gpu_clocks.at[i]);
        }
        for (size_t k = 0; k < r && !is_there; k++)
            is_there = has_node(digests[k], d->host_energy.at[0].host);
        if (!is_there && !isnan(hu_host_energy_joules(&d->host_energy))) {
            e.cpu_joules += hu_host_energy_joules(&d->host_energy);
            e.cpu_step_joules += hu_host_energy_step_joules(&d->host_energy);
            e.n_nodes++;
        }
    }
    if (e.n_gpus == 0)
        e.gpu_joules = e.gpu_step_joules = NAN;
    if (e.n_nodes == 0)
        e.cpu_joules = e.cpu_step_joules = NAN;
    return e;
}
