/* SPDX-License-Identifier: Apache-2.0
 * log_bench.c - the sentences about tests of collectives: what is reached, what the links carry, what is wrong. */
#include "render/log_bench.h"

#include <math.h>

#include "advise/say.h"

static const double LEAST_OF_PEAK = 0.5; /* below it, the links are not what limits */

/* "512 MiB", "24 KiB", "1,000 B": tests run powers of two. */
static hu_said say_size(int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    size_t                   i = 0;
    hu_said                  s;

    while (i + 1 < HU_COUNT(units) && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    if (bytes > 9999) {
        hu_units_bytes(s.t, (double)bytes * pow(1024, (double)i));
        return s;
    }
    hu_units_count(s.t, bytes);
    snprintf(s.t + strlen(s.t), sizeof s.t - strlen(s.t), " %s", units[i]);
    return s;
}

static hu_said say_gbps(double gbps)
{
    hu_said s;

    hu_format_fixed(s.t, gbps, gbps >= 99.95 ? 0 : gbps >= 9.995 ? 1 : 2);
    return s;
}

static hu_said name_of(const hu_bench_answer *a)
{
    hu_said s;

    if (a->test->name.n)
        snprintf(s.t, sizeof s.t, "%.*s", (int)(a->test->name.n < 48 ? a->test->name.n : 48), a->test->name.p);
    else
        snprintf(s.t, sizeof s.t, "%s", a->guess ? "all-reduce (by its factor)" : "a test without a name");
    if (a->test->pass)
        snprintf(s.t + strlen(s.t), sizeof s.t - strlen(s.t), ", pass %d", (int)a->test->pass);
    return s;
}

void hu_bench_sentence(const hu_bench_answer *a, char out[HU_BENCH_WORDS])
{
    size_t n = (size_t)snprintf(out, HU_BENCH_WORDS, "%s: ", name_of(a).t);

    if (a->test->failure.n) {
        snprintf(out + n, HU_BENCH_WORDS - n, "it FAILED%s%s, so cannot tell what bandwidth it reaches.",
                 a->test->rows.n ? " behind " : "",
                 a->test->rows.n ? say_size(a->test->rows.at[a->test->rows.n - 1].bytes).t : "");
        return;
    }
    if (a->test->rows.n == 0 || !(a->best > 0)) {
        snprintf(out + n, HU_BENCH_WORDS - n, "cannot tell, it printed no bandwidth.");
        return;
    }
    if (a->test->rows.n == 1) {
        snprintf(
            out + n, HU_BENCH_WORDS - n,
            "%s GB/s bus bandwidth at %s, its only size: cannot tell from one whether others reach more, nor the latency.",
            say_gbps(a->best).t, say_size(a->best_at).t);
        return;
    }
    if (!a->is_flat && a->best_at == a->test->rows.at[a->test->rows.n - 1].bytes) {
        n += (size_t)snprintf(out + n, HU_BENCH_WORDS - n,
                              "cannot tell what bandwidth it reaches: %s GB/s at %s, the largest size", say_gbps(a->best).t,
                              say_size(a->best_at).t);
        if (isfinite(a->growth))
            n += (size_t)snprintf(out + n, HU_BENCH_WORDS - n, ", and a factor of two adds %s",
                                  hu_say_pct(100 * a->growth).t);
    } else if (a->from) {
        n += (size_t)snprintf(out + n, HU_BENCH_WORDS - n, "%s GB/s bus bandwidth from %s on", say_gbps(a->best).t,
                              say_size(a->from).t);
    } else {
        n += (size_t)snprintf(out + n, HU_BENCH_WORDS - n, "%s GB/s bus bandwidth at %s, and less at larger sizes",
                              say_gbps(a->best).t, say_size(a->best_at).t);
    }
    if (a->half)
        n += (size_t)snprintf(out + n, HU_BENCH_WORDS - n, "; half of it is reached at %s", say_size(a->half).t);
    if (isfinite(a->latency))
        snprintf(out + n, HU_BENCH_WORDS - n, "; latency %s.", hu_say_time(a->latency).t);
    else
        snprintf(out + n, HU_BENCH_WORDS - n, "; cannot tell the latency, as the smallest size is %s (-b 8).",
                 say_size(a->test->rows.at[0].bytes).t);
}

/* "NVLink 4", "4 InfiniBand or RoCE ports of a node", "the links that NCCL's topology has" */
static hu_said say_links(const hu_bench_answer *a)
{
    hu_said s;

    if (a->n_ports)
        snprintf(s.t, sizeof s.t, "%d InfiniBand or RoCE port%s of a node", (int)a->n_ports, hu_plural(a->n_ports));
    else
        snprintf(s.t, sizeof s.t, "%s", a->links ? a->links : "a GPU's links, in NCCL's topology,");
    return s;
}

void hu_bench_peak_words(const hu_bench_answer *a, char out[HU_BENCH_WORDS])
{
    const char  *carry = a->n_ports == 1 || a->links ? "carries" : "carry";
    const double share = a->best / a->peak;

    if (!(a->best > 0) || a->test->failure.n)
        out[0] = '\0';
    else if (a->peak <= 0 && a->is_part)
        snprintf(
            out, HU_BENCH_WORDS,
            "cannot tell which links connect these %d GPUs, fewer than a board of 8 has, so there is nothing to compare "
            "the bandwidth with",
            (int)a->test->ranks);
    else if (a->peak <= 0)
        snprintf(out, HU_BENCH_WORDS, "%s, so there is nothing to compare the bandwidth with",
                 a->test->several_hosts ? "what the network between the nodes can carry is not told"
                                        : "what the links between these GPUs can carry is not known");
    else if (share > HU_BENCH_ABOVE)
        snprintf(out, HU_BENCH_WORDS,
                 "above the %s GB/s that %s %s in one direction: bus bandwidth counts a ring, and %s less",
                 say_gbps(a->peak).t, say_links(a).t, carry,
                 a->n_ports ? "trees and reductions in the network send" : "reductions in the switch (NVLS) send");
    else
        snprintf(out, HU_BENCH_WORDS, "%s of the %s%s GB/s that %s %s in one direction%s", hu_say_pct(100 * share).t,
                 a->is_at_most ? "at most " : "", say_gbps(a->peak).t, say_links(a).t, carry,
                 a->is_at_most ? ": a port for each GPU, of more that the node has" : "");
}

static void hint_wrong(const hu_bench_answer *a, hu_log_hint *out, size_t *n)
{
    if (a->wrong > 0)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "wrong_results", NAN),
            "%s: %s elements of the results are wrong, first at %s (line %llu). Data is damaged on its way: train on none "
            "of these GPUs before it is found. Run the test on half of them at a time; look at ECC and XID errors (holdup "
            "doctor), links and the fabric manager.",
            name_of(a).t, hu_say_count((int64_t)fmin(a->wrong, 9e18)).t, say_size(a->first_wrong->bytes).t,
            (unsigned long long)a->first_wrong->line);
    else if (a->test->out_of_bounds > 0 || a->test->has_failed)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "wrong_results", NAN),
            "%s: the test FAILED with %s values out of bounds. Data is damaged on its way, or the last lines are missing.",
            name_of(a).t, hu_say_count(a->test->out_of_bounds).t);
}

static void hint_failed(const hu_bench_answer *a, hu_log_hint *out, size_t *n)
{
    if (a->test->failure.n)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "test_failed", NAN),
            "%s did not end: \"%.*s\". Look at what NCCL warned of before it, and at the node that printed it, before any "
            "number of this test.",
            name_of(a).t, (int)a->test->failure.n, a->test->failure.p);
}

static void hint_bandwidth(const hu_bench_answer *a, hu_log_hint *out, size_t *n)
{
    if (a->peak > 0 && !a->is_at_most && !a->test->failure.n && a->best < LEAST_OF_PEAK * a->peak && a->is_flat)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "far_below_links", NAN),
            "%s reaches %s of what the links carry (%s of %s GB/s). Look at %s, ACS and IOMMU (holdup doctor), NCCL_ALGO "
            "and NCCL_PROTO.",
            name_of(a).t, hu_say_pct(100 * a->best / a->peak).t, say_gbps(a->best).t, say_gbps(a->peak).t,
            a->n_ports ? "GPUDirect RDMA, NCCL_IB_HCA, ibstat and the switches"
                       : "nvidia-smi topo -m and nvlink --status, NCCL_P2P_DISABLE");
    if (!a->is_flat && a->test->rows.n > 1 && !a->test->failure.n &&
        a->best_at == a->test->rows.at[a->test->rows.n - 1].bytes)
        HU_LOG_SAY(
            hu_log_hint_add(out, n, "not_saturated", NAN),
            "The sizes of %s end before its bandwidth does: run it up to larger ones (-e 8G) to know what the links give.",
            name_of(a).t);
}

void hu_bench_hints(const hu_log_answer *a, hu_log_hint *out, size_t *n)
{
    for (size_t i = 0; i < a->benches.n; i++)
        hint_failed(&a->benches.at[i], out, n);
    for (size_t i = 0; i < a->benches.n; i++)
        hint_wrong(&a->benches.at[i], out, n);
    for (size_t i = 0; i < a->benches.n; i++)
        hint_bandwidth(&a->benches.at[i], out, n);
}
