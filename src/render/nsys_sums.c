/* SPDX-License-Identifier: Apache-2.0
 * nsys_sums.c - the sentences: what sums hint at, what they lack, and what to do for the rest. */
#include "render/nsys_sums.h"

#include <math.h>

#include "advise/say.h"

static const double  LEAST_SHARE = 0.05; /* of its whole, for a hint */
static const int64_t MANY_ALLOCATIONS = 100;

const char hu_nsys_why_not[] =
    "Cannot tell from sums: they do not say when anything ran, so steps, idle time of the GPU, overlap, and what waited for "
    "what are unknown.";

void hu_nsys_next(const hu_nsys_sums *sums, hu_out *out)
{
    if (sums->sqlite.n)
        hu_out_printf(out, "holdup report %.*s", HU_FMT(sums->sqlite));
    else if (sums->report.n)
        hu_out_printf(out, "nsys export --type sqlite -o report.sqlite %.*s && holdup report report.sqlite",
                      HU_FMT(sums->report));
    else
        hu_out_text(out, "nsys export --type sqlite -o report.sqlite FILE.nsys-rep && holdup report report.sqlite");
}

static double gpu_ns(const hu_nsys_answer *a)
{
    return a->compute.ns + a->comm.ns + a->memcpys.ns + a->memsets.ns;
}

size_t hu_nsys_hints(const hu_nsys_answer *a, char out[HU_NSYS_HINTS][HU_NSYS_HINT_BYTES])
{
    const double fp32 = a->kernels.total > 0 ? a->plain_fp32.ns / a->kernels.total : 0;
    const double launching = (double)a->launches.count * a->launch_median_ns;
    size_t       n = 0;

    if (fp32 >= LEAST_SHARE)
        snprintf(
            out[n++], HU_NSYS_HINT_BYTES,
            "Matrix products in fp32 without tensor cores take %s of kernel time, by the names of the kernels: if the GPU "
            "has tensor cores, lower precision (TF32, bf16) makes them faster.",
            hu_say_pct(100 * fp32).t);
    if (a->kernels.n && !a->lacks_graphs && launching > gpu_ns(a) && gpu_ns(a) > 0)
        snprintf(out[n++], HU_NSYS_HINT_BYTES,
                 "%s launches of typically %s are more host time than the %s of GPU work: if one thread launches them, the "
                 "GPU waits for the host. CUDA graphs or fused kernels need fewer launches.",
                 hu_say_count(a->launches.count).t, hu_say_time(a->launch_median_ns).t, hu_say_time(gpu_ns(a)).t);
    if (a->memory.count >= MANY_ALLOCATIONS && a->memory.ns >= LEAST_SHARE * a->calls.total)
        snprintf(
            out[n++], HU_NSYS_HINT_BYTES,
            "%s calls that allocate, free or register memory take %s of the time in calls of CUDA: a program that is warm "
            "needs none, if it keeps what it has (sums do not say when they were).",
            hu_say_count(a->memory.count).t, hu_say_pct(100 * a->memory.ns / a->calls.total).t);
    return n;
}

static void say_missing(const char *what, const hu_nsys_list *list, hu_out *out)
{
    if (list->missing > 0)
        hu_out_printf(out, " Rows of %s that the table leaves out take %s of their time.", what,
                      hu_say_pct(100 * list->missing).t);
}

hu_str hu_nsys_doubts(const hu_nsys_report *r, hu_arena *scratch)
{
    const hu_nsys_answer *a = r->answer;
    hu_out               *out = hu_out_open_memory(scratch);
    hu_str                text = HU_STR("");

    if (!out)
        return text;
    if (a->lacks_graphs)
        hu_out_printf(
            out,
            " %s launch%s of CUDA graphs: nsys traced them as a whole, and what ran in them is in no table, so the GPU's "
            "work is more than this. The export has it; nsys profile --cuda-graph-trace=node records its kernels.",
            hu_say_count(a->graphs.count).t, a->graphs.count == 1 ? "" : "es");
    say_missing("kernels", &a->kernels, out);
    say_missing("copies", &a->copies, out);
    say_missing("calls of CUDA", &a->calls, out);
    say_missing("calls of the C library", &a->os_calls, out);
    say_missing("ranges", &a->ranges, out);
    if (r->sums->is_cut)
        hu_out_text(out, " A table is cut: rows are missing.");
    if (r->sums->n_clipped)
        hu_out_printf(out, " nsys cut %s name%s short; --format csv has whole ones.",
                      hu_say_count((int64_t)r->sums->n_clipped).t, hu_plural((int64_t)r->sums->n_clipped));
    if (a->n_twins)
        hu_out_printf(out, " %s call%s of CUDA stood in the table twice, as --cudabacktrace records them, and count%s once.",
                      hu_say_count((int64_t)a->n_twins).t, hu_plural((int64_t)a->n_twins), a->n_twins == 1 ? "s" : "");
    if (a->n_left_out)
        hu_out_printf(out, " %zu more table%s of a report that another one told: left out; pass one run at a time.",
                      a->n_left_out, hu_plural((int64_t)a->n_left_out));
    if (hu_out_take(out, &text, NULL) < 0)
        return HU_STR("");
    return text.n ? (hu_str){text.p + 1, text.n - 1} : text;
}
