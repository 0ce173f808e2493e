/* SPDX-License-Identifier: Apache-2.0
 * energy.c - what the job used, in a step and for a sample, and what of it while its GPUs waited. */
#include <math.h>
#include <stdio.h>

#include "across/energy.h"
#include "base/number.h"
#include "base/rapl.h"
#include "render/text/text.h"

enum { MOST_GPUS = 8, LINE = 512 };

/* "3,124.5 J" below a hundred with two decimals, above 10 kJ in kJ. */
static const char *joules(char out[HU_NUMBER_BYTES + 8], double j)
{
    char number[HU_NUMBER_BYTES];

    if (j >= 1e4)
        hu_format_fixed(number, j / 1e3, j < 1e5 ? 2 : 1);
    else
        hu_format_fixed(number, j, j < 100 ? 2 : j < 1000 ? 1 : 0);
    snprintf(out, HU_NUMBER_BYTES + 8, "%s %s", number, j >= 1e4 ? "kJ" : "J");
    return out;
}

typedef char amount[HU_NUMBER_BYTES + 8];

/* All of the job, or of what was read of it. */
static void write_sum(hu_text_page *p, const char *what, double all, double step)
{
    const hu_report *r = p->r;
    char             line[LINE];
    amount           a, b;
    size_t           n;

    if (isnan(all) && isnan(step))
        return;
    n = (size_t)snprintf(line, sizeof line, "%s: %s", what, isnan(step) ? joules(a, all) : joules(a, step));
    n += (size_t)snprintf(line + n, sizeof line - n, isnan(step) ? " in all" : " per step");
    if (!isnan(step) && r->batch && r->job->roster.n_missing == 0)
        n += (size_t)snprintf(line + n, sizeof line - n, " · %s for each of %lld %.24s", joules(b, step / (double)r->batch),
                              (long long)r->batch, r->unit);
    if (!isnan(step) && !isnan(all))
        snprintf(line + n, sizeof line - n, " · %s in all", joules(b, all));
    hu_out_text(p->out, "  ");
    hu_text_hanging(p, line, 4);
}

/* "10.2 to 12.3 J", "12 J" where the bounds meet. */
static void put_bounds(char *line, size_t *n, double low, double high, double of)
{
    amount a, b;

    if (high - low <= 0.005 * high)
        *n += (size_t)snprintf(line + *n, LINE - *n, "%s (%.1f %%)", joules(a, high), 100 * high / of);
    else
        *n += (size_t)snprintf(line + *n, LINE - *n, "%s to %s (%.1f to %.1f %%)", joules(a, low), joules(b, high),
                               100 * low / of, 100 * high / of);
}

/* What of a GPU's energy did no work. */
static void write_use(hu_text_page *p, const hu_gpu_clock *c)
{
    const hu_energy_use *u = &c->use;
    char                 line[LINE], name[HU_GPU_NAME_BYTES];
    amount               a;
    size_t               n;

    hu_gpu_clock_name(c, name);
    if (!(u->joules > 0)) {
        if (!(c->is_mig || c->others > 0))
            return;
        n = (size_t)snprintf(line, sizeof line, "%s: %s; its energy is theirs, too", name,
                             c->is_mig ? "divided (MIG)" : "others work on it");
    } else {
        n = (size_t)snprintf(line, sizeof line, "%s: of %s, idle ", name, joules(a, u->joules));
        put_bounds(line, &n, u->idle_low, u->idle_high, u->joules);
        if (u->exposed_ns > 0) {
            n += (size_t)snprintf(line + n, sizeof line - n, " · exposed communication ");
            put_bounds(line, &n, u->exposed_low, u->exposed_high, u->joules);
        }
    }
    hu_out_text(p->out, "  ");
    hu_text_hanging(p, line, 4);
}

static const char *missing(int64_t state)
{
    switch (state) {
    case HU_RAPL_NONE:
        return "processors: this machine has no energy counters (RAPL)";
    case HU_RAPL_HIDDEN:
        return "processors: this container hides their energy counters (RAPL)";
    case HU_RAPL_DENIED:
        return "processors: RAPL is not readable (root only)";
    case HU_RAPL_FAILED:
        return "processors: their energy counters (RAPL) gave no number";
    default:
        return NULL;
    }
}

void hu_text_energy(hu_text_page *p, const hu_digest *shown)
{
    const hu_job       *job = p->r->job;
    const hu_job_energy e = hu_job_energy_measure(job->digests, job->n);
    const char         *why = missing(shown->host_energy.state);
    char                line[LINE];

    if (isnan(e.gpu_joules) && isnan(e.cpu_joules))
        return;
    hu_text_heading(p, "ENERGY");
    hu_out_text(p->out, "\n");
    snprintf(line, sizeof line, "%zu GPU%s", e.n_gpus, e.n_gpus == 1 ? "" : "s");
    write_sum(p, line, e.gpu_joules, e.gpu_step_joules);
    if (e.is_shared)
        hu_out_text(p->out, "    shared, divided or perhaps not the job's: what is its own is not known\n");
    for (size_t i = 0; i < shown->gpu_clocks.n && i < MOST_GPUS; i++)
        write_use(p, &shown->gpu_clocks.at[i]);
    snprintf(line, sizeof line, "processors and memory%s", e.n_nodes > 1 ? " of all nodes" : "");
    write_sum(p, line, e.cpu_joules, e.cpu_step_joules);
    if (e.n_nodes)
        hu_out_text(p->out, "    of all that ran on the node, not of the job alone\n");
    else if (why)
        hu_out_printf(p->out, "  %s\n", why);
    hu_out_text(p->out, "\n");
}
