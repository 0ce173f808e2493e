/* SPDX-License-Identifier: Apache-2.0
 * suggest.c - names as a regular expression, how many launches to pass and to take, and the sections that are answers. */
#include "render/suggest.h"

#include <ctype.h>

#include "advise/say.h"
#include "analyze/counters.h"

enum { MOST_FUNCTIONS = 16, MOST_LAUNCHES = 100, WARM_STEPS = 2, LAUNCHES_WITHOUT_STEPS = 10 };

typedef struct {
    hu_str  name;
    int64_t total_ns, calls_in_steps;
} function;

/*
 * Part of a demangled name, which ncu calls its function name: "reduce_kernel" of "void at::reduce_kernel<4, float>(int)".
 * "" where there is none that a regular expression can hold as it is.
 */
static hu_str kernel_function(hu_str name)
{
    const hu_str anonymous = HU_STR("(anonymous namespace)");
    size_t       end = 0, begin;

    if (hu_str_starts(name, HU_STR("_Z"))) /* mangled: ncu would see another name */
        return HU_STR("");
    while (end < name.n && name.p[end] != '<') {
        const hu_str rest = {name.p + end, name.n - end};

        if (hu_str_starts(rest, anonymous))
            end += anonymous.n;
        else if (rest.p[0] == '(')
            break;
        else
            end++;
    }
    for (begin = end; begin && (isalnum((unsigned char)name.p[begin - 1]) || name.p[begin - 1] == '_');)
        begin--;
    if (begin && name.p[begin - 1] != ':' && name.p[begin - 1] != ' ' && name.p[begin - 1] != '*')
        return HU_STR("");
    return (hu_str){name.p + begin, end - begin};
}

/* Kernels of one function are one; collectives wait for others, which do not run while ncu repeats a kernel. */
static size_t choose(const hu_kernels *k, size_t top, function out[MOST_FUNCTIONS])
{
    size_t n = 0;

    for (size_t i = 0; i < k->n; i++) {
        const hu_str name = kernel_function(k->at[i].name);
        size_t       at = 0;

        while (at < n && !hu_str_equal(out[at].name, name))
            at++;
        if (k->at[i].is_comm || k->at[i].read.family == HU_FAMILY_COMMUNICATION || name.n == 0 ||
            (at == n && (n == top || n == MOST_FUNCTIONS)))
            continue;
        if (at == n)
            out[n++] = (function){.name = name};
        out[at].total_ns += k->at[i].total_ns;
        out[at].calls_in_steps += k->at[i].calls_in_steps;
    }
    return n;
}

int hu_suggest_ncu(const hu_digest *d, size_t top, hu_out *out, hu_error *err)
{
    function      chosen[MOST_FUNCTIONS];
    const size_t  n = choose(&d->kernels, top, chosen);
    const int64_t steps = hu_digest_step_count(d);
    int64_t       ns = 0, per_step = 0, skip = 0, take = LAUNCHES_WITHOUT_STEPS;

    if (hu_str_has_lower(d->device, HU_STR("amd")) || hu_str_has_lower(d->device, HU_STR("radeon")))
        return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET, "the GPU is one of AMD, which Nsight Compute does not profile");
    if (n == 0)
        return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET,
                       "the trace has no kernel that Nsight Compute could profile; record GPU work (ProfilerActivity.CUDA)");
    for (size_t i = 0; i < n; i++) {
        ns += chosen[i].total_ns;
        per_step += chosen[i].calls_in_steps;
    }
    per_step = steps ? (per_step + steps - 1) / steps : 0;
    if (per_step) {
        skip = per_step * WARM_STEPS;
        take = per_step < MOST_LAUNCHES ? per_step : MOST_LAUNCHES;
    }
    hu_out_text(out, "ncu --kernel-name 'regex:^(.*::)?(");
    for (size_t i = 0; i < n; i++) {
        hu_out_text(out, i ? "|" : "");
        hu_out_str(out, chosen[i].name);
    }
    hu_out_printf(out, ")$' \\\n  --launch-skip %lld --launch-count %lld --section LaunchStats", (long long)skip,
                  (long long)take);
    for (hu_kernel_section s = 0; s < HU_KERNEL_SECTION_COUNT; s++)
        hu_out_printf(out, "%s --section %s", s % 2 == 0 ? " \\\n " : "", hu_kernel_section_name(s));
    hu_out_text(out, " \\\n  -o profile COMMAND\nholdup report profile.ncu-rep\n\n");
    hu_out_printf(out, "# %s of kernel time: %zu function%s, all instances of their templates.\n",
                  hu_say_pct(100.0 * (double)ns / (double)(d->kernels.total_ns ? d->kernels.total_ns : 1)).t, n,
                  hu_plural((int64_t)n));
    if (per_step)
        hu_out_printf(out, "# They are launched %lld times per step: passes %d steps, takes %s.\n", (long long)per_step,
                      WARM_STEPS, take == per_step ? "one" : "part of one");
    else
        hu_out_text(out, "# The trace has no steps: takes the first launches, warm-up included; raise --launch-skip.\n");
    hu_out_text(out, "# Collectives are left out: ncu repeats each kernel alone, and one that waits for others may hang.\n");
    return 0;
}
