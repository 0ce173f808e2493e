/* SPDX-License-Identifier: Apache-2.0
 * bandwidth.c - a test runs sizes up to one that somebody chose: whether the curve is at its end there has to be seen.
 *
 * It is flat where the last factor of two in size adds less than GROWTH.  The latency is alpha of the line through the small
 * sizes, where at the smallest one it is ALMOST_ALL of the time: else no size was small enough.
 */
#include "analyze/bandwidth.h"

#include <math.h>

#include "analyze/links.h"

static const double GROWTH = 0.05, NEAR = 0.95, HALF = 0.5, SAME_FACTOR = 0.01, ALMOST_ALL = 0.9;

double hu_bandwidth_of(const hu_bench_row *row)
{
    return fmax(row->busbw[HU_BENCH_OUT], row->busbw[HU_BENCH_IN]); /* of a number and NaN: the number */
}

static double time_of(const hu_bench_row *row)
{
    return fmin(row->ns[HU_BENCH_OUT], row->ns[HU_BENCH_IN]);
}

/* Of the row where rounding matters least. */
static double printed_factor(const hu_log_bench *test)
{
    double most = 0, factor = (double)NAN;

    for (size_t i = 0; i < test->rows.n; i++)
        for (unsigned k = 0; k < HU_BENCH_PLACES; k++) {
            const double bus = test->rows.at[i].busbw[k], alg = test->rows.at[i].algbw[k];

            if (alg > 0 && bus > most) {
                most = bus;
                factor = bus / alg;
            }
        }
    return factor;
}

/* What a factor is of; of two ranks, 2(n-1)/n is 1, and says nothing. */
static void measure_factor(const hu_log_bench *test, hu_bench_answer *a)
{
    const double n = (double)test->ranks, candidates[] = {2 * (n - 1) / n, (n - 1) / n, 1};

    a->factor = printed_factor(test);
    for (size_t i = 0; i < HU_COUNT(candidates) && test->ranks > 1; i++)
        if (fabs(a->factor / candidates[i] - 1) < SAME_FACTOR) {
            a->factor = candidates[i];
            a->guess = i == 0 && test->ranks > 2 ? "all-reduce" : NULL;
            return;
        }
}

/* From which size on all sizes reach a share of the best. */
static int64_t reached_from(const hu_log_bench *test, double least)
{
    size_t i = test->rows.n;

    while (i && hu_bandwidth_of(&test->rows.at[i - 1]) >= least)
        i--;
    return i < test->rows.n ? test->rows.at[i].bytes : 0;
}

static void measure_curve(const hu_log_bench *test, hu_bench_answer *a)
{
    const size_t  n = test->rows.n;
    const int64_t last = test->rows.at[n - 1].bytes;

    for (size_t i = 0; i < n; i++) {
        const double bus = hu_bandwidth_of(&test->rows.at[i]);

        if (bus > 0 && !(bus <= a->best)) {
            a->best = bus;
            a->best_at = test->rows.at[i].bytes;
        }
    }
    if (!(a->best > 0))
        return;
    for (size_t i = n; i-- > 0 && isnan(a->growth);)
        if (test->rows.at[i].bytes <= last / 2 && test->rows.at[i].bytes >= last / 8)
            a->growth = hu_bandwidth_of(&test->rows.at[n - 1]) / hu_bandwidth_of(&test->rows.at[i]) - 1;
    a->is_flat = a->growth < GROWTH;
    a->from = reached_from(test, NEAR * a->best);
    a->half = reached_from(test, HALF * a->best);
    if (a->half == test->rows.at[0].bytes)
        a->half = 0;
}

static bool measure_fit(const hu_log_bench *test, hu_arena *arena, hu_bench_answer *a)
{
    const size_t  n = test->rows.n;
    hu_fit_point *points = hu_arena_alloc(arena, (n + 1) * sizeof *points);

    if (!points)
        return false;
    for (size_t i = 0; i < n; i++)
        points[i] = (hu_fit_point){(double)test->rows.at[i].bytes * a->factor, time_of(&test->rows.at[i]), 1};
    for (size_t i = 0; i < n; i++)
        if (!(points[i].bytes > 0) || !(points[i].ns > 0))
            points[i].weight = 0;
    if (!hu_fit_measure(points, n, arena, &a->fit))
        return false;
    if (a->fit.n) {
        const hu_fit_piece *small = &a->fit.at[0], *large = &a->fit.at[a->fit.n - 1];

        if (small->alpha_ns >= ALMOST_ALL * (small->alpha_ns + small->ns_per_byte * small->from_bytes))
            a->latency = small->alpha_ns;
        if (large->ns_per_byte > 0)
            a->beta = 1 / large->ns_per_byte;
    }
    return true;
}

/*
 * In a ring each byte of bus bandwidth leaves a node once, however many GPUs it has: the ports of a node are its limit, and
 * no more of them than it has GPUs.  Some may be for storage: where there are more than GPUs, or of several speeds, nobody
 * knows which are used.  An all-to-all has another limit, and of a test without a name nobody knows.
 */
static void measure_network(const hu_log_bench *test, const hu_log_nccl *nccl, hu_bench_answer *a)
{
    static const char *const rings[] = {"all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "broadcast_perf",
                                        "reduce_perf"};
    bool                     is_ring = false, is_even = true;
    double                   mbps = 0;
    int64_t                  n = 0;

    for (size_t i = 0; i < HU_COUNT(rings); i++)
        is_ring |= hu_str_equal(test->name, hu_str_of(rings[i]));
    if (!is_ring || nccl->n_ib + nccl->n_ib_direct == 0 || nccl->n_socket + nccl->n_other > 0)
        return;
    for (size_t i = 0; i < HU_LOG_NICS; i++)
        if (nccl->nic_mbps[i] > 0) {
            is_even &= mbps <= 0 || fabs(nccl->nic_mbps[i] / mbps - 1) < SAME_FACTOR;
            mbps = nccl->nic_mbps[i];
            n++;
        }
    if (n == 0 || !is_even || test->host_ranks == 0 || test->ranks % test->host_ranks != 0)
        return;
    a->is_at_most = n > test->host_ranks;
    a->n_ports = a->is_at_most ? test->host_ranks : n;
    a->peak = mbps / 8e3 * (double)a->n_ports;
}

static bool is_all_reduce(const hu_bench_answer *a)
{
    return a->guess || hu_str_equal(a->test->name, HU_STR("all_reduce_perf"));
}

static bool is_off(const hu_log_nccl *nccl, const char *setting)
{
    for (size_t i = 0; i < nccl->settings.n; i++) {
        const hu_str text = nccl->settings.at[i].text;

        if (hu_str_starts_with(text, setting) && hu_str_has(text, HU_STR(" to 0")))
            return true;
    }
    return false;
}

/* Of GPUs of one machine by their makers' documents; *reduces: they, or the network, may send less than a ring. */
static void measure_local(const hu_log_bench *test, const hu_log_nccl *nccl, hu_bench_answer *a, bool *reduces)
{
    const hu_links_board board = hu_links_whole(test->device, test->ranks);
    const bool           is_to_all = test->name.n && !hu_str_equal(test->name, HU_STR("sendrecv_perf"));

    a->is_part = board.is_part;
    *reduces = board.reduces && !is_off(nccl, "NCCL_NVLS_ENABLE");
    if (board.gbps > 0 && (is_to_all || !board.is_mesh)) {
        a->peak = board.gbps;
        a->links = board.what;
    } else {
        a->peak = nccl->local_gbps;
        *reduces = false;
    }
}

/* More than a ring can have is there only where something adds up on the way, and up to the factor; else it is no peak. */
static void measure_peak(const hu_log_bench *test, const hu_log_nccl *nccl, hu_bench_answer *a)
{
    const bool is_peer_to_peer = nccl->n_shm == 0 || nccl->n_p2p > 0;
    bool       reduces = true;

    if (test->several_hosts)
        measure_network(test, nccl, a);
    else if (!test->several_devices && test->ranks > 1 && is_peer_to_peer)
        measure_local(test, nccl, a, &reduces);
    reduces &= is_all_reduce(a) && !a->is_at_most;
    if (a->best > HU_BENCH_ABOVE * a->peak * (reduces ? a->factor : 1)) {
        a->peak = 0;
        a->n_ports = 0;
        a->links = NULL;
    }
}

static void measure_wrong(const hu_log_bench *test, hu_bench_answer *a)
{
    for (size_t i = 0; i < test->rows.n; i++)
        for (unsigned k = 0; k < HU_BENCH_PLACES; k++) {
            const double wrong = test->rows.at[i].wrong[k];

            a->is_checked |= !isnan(wrong);
            if (!(wrong > 0))
                continue;
            a->wrong += wrong;
            if (!a->first_wrong)
                a->first_wrong = &test->rows.at[i];
        }
}

bool hu_bandwidth_measure(const hu_log_bench *test, const hu_log_nccl *nccl, hu_arena *arena, hu_bench_answer *out)
{
    *out = (hu_bench_answer){.test = test,
                             .factor = (double)NAN,
                             .best = (double)NAN,
                             .growth = (double)NAN,
                             .latency = (double)NAN,
                             .beta = (double)NAN};
    if (test->rows.n == 0)
        return true;
    measure_factor(test, out);
    measure_curve(test, out);
    measure_peak(test, nccl, out);
    measure_wrong(test, out);
    return measure_fit(test, arena, out);
}
