/* SPDX-License-Identifier: Apache-2.0
 * gpus.c - a line for each GPU that was sampled during the run: what it drew, and what lowered its clock. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/number.h"
#include "render/text/text.h"

enum { MOST_GPUS = 8, LINE = 512 };

__attribute__((format(printf, 3, 4))) static size_t add(char *line, size_t n, const char *format, ...)
{
    va_list args;
    int     more;

    if (n >= LINE)
        return n;
    va_start(args, format);
    more = vsnprintf(line + n, LINE - n, format, args);
    va_end(args);
    return n + (size_t)(more > 0 ? more : 0);
}

static void write_gpu(hu_text_page *p, const hu_gpu_clock *c)
{
    char   line[LINE] = "", name[HU_GPU_NAME_BYTES], joules[HU_NUMBER_BYTES];
    size_t n;

    hu_gpu_clock_name(c, name);
    n = add(line, 0, "%s", name);

    if (c->busy_ns >= 0 && c->seen_ns > 0)
        n = add(line, n, " · %.0f %% busy", 100 * c->busy_ns / c->seen_ns);
    if (c->sm_mhz > 0)
        n = add(line, n, " · SM clock %.0f MHz", c->sm_mhz);
    if (c->sm_mhz > 0 && c->most_sm_mhz > 0)
        n = add(line, n, " of %.0f", c->most_sm_mhz);
    if (c->watts >= 0)
        n = add(line, n, " · %.0f W", c->watts);
    if (c->watts >= 0 && c->most_watts > 0)
        n = add(line, n, " of %.0f", c->most_watts);
    if (c->step_joules >= 0) {
        hu_format_fixed(joules, c->step_joules, 2);
        n = add(line, n, " · %s J per step", joules);
    } else if (c->joules >= 0) {
        hu_format_fixed(joules, c->joules, 0);
        n = add(line, n, " · %s J", joules);
    }
    if (c->limits.n)
        n = add(line, n, " · clock lowered: %.*s", HU_FMT(c->limits));
    if (c->xid_count > 0)
        n = add(line, n, " · XID %lld", (long long)c->last_xid);
    if (c->problem.n)
        add(line, n, " · then: %.*s", HU_FMT(c->problem));
    hu_out_text(p->out, "  ");
    hu_text_hanging(p, line, 4);
}

/* Kernels have CUDA's numbers, and these GPUs may have others. */
static bool are_numbers_unknown(const hu_digest *d)
{
    bool is_any = false;

    for (size_t i = 0; i < d->gpu_clocks.n; i++)
        is_any = is_any || d->gpu_clocks.at[i].device < 0;
    return is_any && d->kernels.n > 0;
}

void hu_text_gpus(hu_text_page *p, const hu_digest *d)
{
    const hu_gpu_clocks *g = &d->gpu_clocks;

    if (g->n == 0)
        return;
    hu_text_heading(p, "GPUS");
    hu_out_text(p->out, g->at[0].is_ours ? "  sampled during the run\n"
                                         : "  sampled during the run; which of them the job used is not known\n");
    if (are_numbers_unknown(d))
        hu_out_text(p->out, "  which of the trace's devices a \"nvidia-smi GPU\" is: not known\n");
    for (size_t i = 0; i < g->n && i < MOST_GPUS; i++)
        write_gpu(p, &g->at[i]);
    if (g->n > MOST_GPUS)
        hu_out_printf(p->out, "  and %zu more: --view gpus\n", g->n - MOST_GPUS);
    hu_out_text(p->out, "\n");
}
