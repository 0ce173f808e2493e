/* SPDX-License-Identifier: Apache-2.0
 * gpu_clocks.c - the attribute holdup.gpus says which GPUs there are; their counter tracks are known by name.
 *
 * A value holds until the next one of its track, and no longer than HOLD: what was not sampled is not known.  All values of
 * a GPU are walked through once in the order of time, from one change to the next.
 *
 * Busy is the time of the trace's GPU work, where the trace has some and says which GPU ran it, or there is one GPU to have
 * run it; else the driver's utilization, by which a stretch of time counts for its share.
 */
#include "analyze/gpu_clocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

enum { NUMBERS = 11, HOLD_NS = 2000000000, HOLD_PERIODS = 4, LIMITS_BYTES = 256 };

static const double LEAST_SHARE = 0.0005; /* of the busy time, to be worth a word */

static const struct {
    const char *words, *unit;
} quantities[] = {
#define Q(id, words, unit, factor) {words, unit},
    HU_GPU_QUANTITIES(Q)
#undef Q
};

static const struct {
    uint32_t    bit;
    bool        lowers;
    const char *words;
} reasons[] = {
#define R(id, bit, lowers, words) {bit, lowers, words},
    HU_GPU_REASONS(R)
#undef R
};

/* Fields of a line, as record/pf_gpu.c writes them. */
enum { NUMBER, BY_PROCESS, OTHERS, IS_MIG, MOST_SM, MOST_MEMORY, LIMIT_MW, MEMORY, PERIOD, HAS, PROBLEM_NS };

typedef struct {
    int64_t  ns;
    double   value;
    unsigned quantity;
} change;

typedef struct {
    const hu_ask *ask;
    hu_gpu_clock *row;
    hu_intervals  work; /* the GPU's, where row->is_work */
    char          label[HU_GPU_LABEL_BYTES];
    int64_t       hold_ns;
    hu_intervals  exposed;             /* of its work, communication that no compute covers */
    HU_VEC(change) changes;            /* by time */
    HU_VEC(hu_energy_sample) energies; /* those of energy alone */
    double  now[HU_GPU_QUANTITY_COUNT];
    int64_t seen_ns[HU_GPU_QUANTITY_COUNT];
    size_t  at; /* the first interval of `work` that does not lie before the stretch at hand */
    double  busy_mhz, watts_ns, watt_seconds, limited_mhz, limited_mhz_ns, limited_memory, limited_memory_ns, busy_mhz_ns;
} walk;

static hu_str cut(hu_str *rest, char end)
{
    const char  *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    const hu_str part = {rest->p, at ? (size_t)(at - rest->p) : rest->n};

    *rest = at ? (hu_str){at + 1, rest->n - part.n - 1} : (hu_str){rest->p + rest->n, 0};
    return part;
}

static bool read_line(hu_str line, hu_gpu_clock *out, int64_t *hold_ns, char label[HU_GPU_LABEL_BYTES])
{
    int64_t number[NUMBERS];

    for (int i = 0; i < NUMBERS; i++)
        if (!hu_parse_i64(cut(&line, '\t'), &number[i]))
            return false;
    if (number[NUMBER] < 0 || number[PERIOD] < 0 || number[PERIOD] > INT64_MAX / 16)
        return false;
    *out = (hu_gpu_clock){.number = number[NUMBER],
                          .is_ours = number[BY_PROCESS] == 1,
                          .is_mig = number[IS_MIG] == 1,
                          .others = number[OTHERS] >= 0 ? number[OTHERS] : -1,
                          .most_sm_mhz = number[MOST_SM] > 0 ? (double)number[MOST_SM] : NAN,
                          .most_memory_mhz = number[MOST_MEMORY] > 0 ? (double)number[MOST_MEMORY] : NAN,
                          .most_watts = number[LIMIT_MW] > 0 ? (double)number[LIMIT_MW] / 1000 : NAN,
                          .busy_ns = NAN,
                          .sm_mhz = NAN,
                          .watts = NAN,
                          .joules = NAN,
                          .step_joules = NAN,
                          .use = hu_energy_use_unknown,
                          .memory_bytes = NAN,
                          .celsius = NAN,
                          .limited_ns = NAN,
                          .limited_mhz = NAN,
                          .limited_memory_mhz = NAN,
                          .xid_count = -1,
                          .last_xid = -1,
                          .limits = HU_STR("")};
    *hold_ns = HOLD_NS + HOLD_PERIODS * number[PERIOD];
    out->uuid = cut(&line, '\t');
    out->bus = cut(&line, '\t');
    out->driver = cut(&line, '\t');
    out->name = cut(&line, '\t');
    out->problem = cut(&line, '\t');
    if (!hu_parse_i64(line, &out->device) || out->device < 0)
        out->device = -1;
    if (line.n) /* before, tracks had the driver's number */
        hu_gpu_label(out->device, out->number, label);
    else
        hu_gpu_label(out->number, out->number, label);
    return true;
}

/* The quantity that a track of this GPU counts; HU_GPU_QUANTITY_COUNT: none of ours. */
static unsigned quantity_of(hu_str name, const char *label)
{
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++) {
        char      text[96];
        const int n = snprintf(text, sizeof text, "%s %s (%s)", label, quantities[q].words, quantities[q].unit);

        if (n > 0 && hu_str_equal(name, (hu_str){text, (size_t)n}))
            return q;
    }
    return HU_GPU_QUANTITY_COUNT;
}

static int by_time(const void *left, const void *right)
{
    const change *a = left, *b = right;

    return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns) : (a->quantity > b->quantity) - (a->quantity < b->quantity);
}

static bool collect(walk *w)
{
    size_t           n;
    const hu_sample *samples = hu_trace_samples(w->ask->trace, &n);
    uint8_t         *of = hu_arena_alloc(w->ask->scratch, w->ask->n_tracks + 1);

    if (!of)
        return false;
    for (size_t t = 0; t < w->ask->n_tracks; t++)
        of[t] = w->ask->tracks[t].type == HU_TRACK_COUNTER
                    ? (uint8_t)quantity_of(hu_trace_text(w->ask->trace, w->ask->tracks[t].name), w->label)
                    : HU_GPU_QUANTITY_COUNT;
    for (size_t i = 0; i < n; i++)
        if (of[samples[i].track] < HU_GPU_QUANTITY_COUNT && isfinite(samples[i].value) &&
            !hu_vec_push(w->ask->scratch, &w->changes,
                         ((change){samples[i].time_ns, samples[i].value, of[samples[i].track]})))
            return false;
    if (w->changes.n)
        qsort(w->changes.at, w->changes.n, sizeof *w->changes.at, by_time);
    for (size_t i = 0; i < w->changes.n; i++)
        if (w->changes.at[i].quantity == HU_GAUGE_ENERGY &&
            !hu_vec_push(w->ask->scratch, &w->energies, ((hu_energy_sample){w->changes.at[i].ns, w->changes.at[i].value})))
            return false;
    return true;
}

static bool knows(const walk *w, unsigned quantity, int64_t ns)
{
    return !isnan(w->now[quantity]) && ns - w->seen_ns[quantity] < w->hold_ns;
}

/* How much of [from, to) the GPU worked; NaN unknown.  Stretches come in the order of time. */
static double busy_in(walk *w, int64_t from, int64_t to)
{
    const hu_intervals *busy = &w->work;
    double              ns = 0;

    if (!w->row->is_work)
        return knows(w, HU_GAUGE_BUSY, from) ? (double)(to - from) * w->now[HU_GAUGE_BUSY] / 100 : NAN;
    while (w->at < busy->n && busy->at[w->at].end_ns <= from)
        w->at++;
    for (size_t i = w->at; i < busy->n && busy->at[i].start_ns < to; i++) {
        const int64_t first = busy->at[i].start_ns > from ? busy->at[i].start_ns : from;
        const int64_t last = busy->at[i].end_ns < to ? busy->at[i].end_ns : to;

        ns += last > first ? (double)(last - first) : 0;
    }
    return ns;
}

static void add_to(double *sum, double more)
{
    *sum = isnan(*sum) ? more : *sum + more;
}

/* Between two changes nothing changed. */
static void add_stretch(walk *w, int64_t from, int64_t to)
{
    hu_gpu_clock *r = w->row;
    const double  ns = (double)(to - from), busy = busy_in(w, from, to);
    const bool    has_clock = knows(w, HU_GAUGE_SM_CLOCK, from);
    bool          is_limited = false;

    r->seen_ns += ns;
    if (knows(w, HU_GAUGE_POWER, from)) {
        w->watt_seconds += ns * w->now[HU_GAUGE_POWER];
        w->watts_ns += ns;
    }
    if (isnan(busy))
        return;
    add_to(&r->busy_ns, busy);
    if (has_clock) {
        w->busy_mhz += busy * w->now[HU_GAUGE_SM_CLOCK];
        w->busy_mhz_ns += busy;
    }
    if (!knows(w, HU_GAUGE_REASONS, from))
        return;
    add_to(&r->limited_ns, 0);
    for (size_t i = 0; i < HU_GPU_REASON_COUNT; i++) {
        if (!((uint64_t)w->now[HU_GAUGE_REASONS] & reasons[i].bit))
            continue;
        r->reason_ns[i] += busy;
        is_limited = is_limited || reasons[i].lowers;
    }
    if (!is_limited)
        return;
    r->limited_ns += busy;
    if (has_clock) {
        w->limited_mhz += busy * w->now[HU_GAUGE_SM_CLOCK];
        w->limited_mhz_ns += busy;
    }
    if (knows(w, HU_GAUGE_MEMORY_CLOCK, from)) {
        w->limited_memory += busy * w->now[HU_GAUGE_MEMORY_CLOCK];
        w->limited_memory_ns += busy;
    }
}

static void take_change(walk *w, const change *c)
{
    hu_gpu_clock *r = w->row;

    w->now[c->quantity] = c->value;
    w->seen_ns[c->quantity] = c->ns;
    switch (c->quantity) {
    case HU_GAUGE_MEMORY:
        r->memory_bytes = fmax(r->memory_bytes, c->value);
        break;
    case HU_GAUGE_TEMPERATURE:
        r->celsius = fmax(r->celsius, c->value);
        break;
    case HU_GAUGE_XID:
        r->xid_count = r->xid_count < 0 ? 1 : r->xid_count + 1;
        r->last_xid = c->value > 0 && c->value < 1e6 ? (int64_t)c->value : -1;
        break;
    default:
        break;
    }
}

/* energy */

static bool measure_energy(walk *w)
{
    const hu_energy_series e = {.at = w->energies.at, .n = w->energies.n, .hold_ns = w->hold_ns};
    hu_energy_steps        steps;

    w->row->joules = hu_energy_all(&e);
    if (!hu_energy_find_steps(&e, w->ask->steps, w->ask->scratch, &steps))
        return false;
    if (steps.is_enough)
        w->row->step_joules = steps.joules / (double)steps.n;
    if (!w->row->is_work || w->row->is_mig || w->row->others > 0) /* what others ran on it is in none of our intervals */
        return true;
    if (steps.rows.n == 0 && (!w->ask->steps || w->ask->steps->source == HU_STEPS_NONE) &&
        !hu_energy_find_span(&e, &w->work, w->ask->scratch, &steps))
        return false;
    w->row->use = hu_energy_split(&e, &steps.rows, &w->work, &w->exposed);
    return true;
}

/* words */

static double longest_below(const hu_gpu_clock *r, double below, size_t after, size_t *which)
{
    double most = -1;

    for (size_t i = 0; i < HU_GPU_REASON_COUNT; i++)
        if (reasons[i].lowers && r->reason_ns[i] > most &&
            (r->reason_ns[i] < below || (r->reason_ns[i] <= below && i > after))) {
            most = r->reason_ns[i];
            *which = i;
        }
    return most;
}

static bool say_limits(walk *w)
{
    hu_gpu_clock *r = w->row;
    char          text[LIMITS_BYTES];
    size_t        n = 0, which = 0;
    double        at = INFINITY;

    while (r->busy_ns > 0 && n < sizeof text && (at = longest_below(r, at, which, &which)) > LEAST_SHARE * r->busy_ns) {
        char share[HU_NUMBER_BYTES];

        hu_format_fixed(share, 100 * at / r->busy_ns, 1);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %s %%", n ? ", " : "", reasons[which].words, share);
    }
    n = n < sizeof text ? n : sizeof text - 1;
    r->limits = n ? hu_arena_copy(w->ask->arena, (hu_str){text, n}) : HU_STR("");
    return r->limits.p != NULL;
}

static bool measure_one(walk *w)
{
    hu_gpu_clock *r = w->row;

    if (!collect(w))
        return false;
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++)
        w->now[q] = NAN;
    for (size_t i = 0; i < w->changes.n; i++) {
        const change *c = &w->changes.at[i];
        int64_t       end = i + 1 < w->changes.n ? w->changes.at[i + 1].ns : c->ns;

        take_change(w, c);
        end = end - c->ns > w->hold_ns ? c->ns + w->hold_ns : end;
        if (end > c->ns)
            add_stretch(w, c->ns, end);
    }
    r->sm_mhz = w->busy_mhz_ns > 0 ? w->busy_mhz / w->busy_mhz_ns : NAN;
    r->limited_mhz = w->limited_mhz_ns > 0 ? w->limited_mhz / w->limited_mhz_ns : NAN;
    r->limited_memory_mhz = w->limited_memory_ns > 0 ? w->limited_memory / w->limited_memory_ns : NAN;
    r->watts = w->watts_ns > 0 ? w->watt_seconds / w->watts_ns : NAN;
    return measure_energy(w) && say_limits(w);
}

/* The work of this GPU: of the device of its number, or all where there is no other.  False: no memory. */
static bool find_work(walk *w, bool is_only)
{
    const hu_ask *ask = w->ask;
    hu_intervals  comm = {0}, compute = {0};

    for (size_t i = 0; w->row->device >= 0 && i < ask->n_work; i++) {
        const uint32_t slice = ask->work[i];
        const int64_t  start = ask->s.start_ns[slice], end = hu_ask_end(ask, slice);
        hu_intervals  *part = ask->s.kind[slice] == HU_KIND_COLLECTIVE ? &comm
                              : ask->s.kind[slice] == HU_KIND_KERNEL   ? &compute
                                                                       : NULL;

        if (ask->tracks[ask->s.track[slice]].device == w->row->device &&
            (!hu_intervals_add(ask->scratch, &w->work, start, end) ||
             (part && !hu_intervals_add(ask->scratch, part, start, end))))
            return false;
    }
    w->row->is_work = ask->n_work > 0 && (w->row->device >= 0 || is_only);
    if (w->row->device < 0 && is_only) {
        w->work = ask->busy;
        return hu_intervals_subtract(ask->scratch, &ask->comm, &ask->compute, &w->exposed);
    }
    return hu_intervals_unite(ask->scratch, &w->work) && hu_intervals_unite(ask->scratch, &comm) &&
           hu_intervals_unite(ask->scratch, &compute) && hu_intervals_subtract(ask->scratch, &comm, &compute, &w->exposed);
}

static size_t count_lines(hu_str text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

int hu_gpu_clocks_measure(const hu_ask *ask, hu_gpu_clocks *out, hu_error *err)
{
    HU_VEC(hu_gpu_clock) list = {0};
    const hu_str lines = hu_trace_get_info(ask->trace)->gpus;
    const bool   is_one = count_lines(lines) == 1;
    size_t       n = 0;

    *out = (hu_gpu_clocks){0};
    for (hu_str text = lines; text.n && n < HU_GPU_MOST; n++) {
        hu_gpu_clock row;
        walk         w = {.ask = ask, .row = &row};

        if (!read_line(cut(&text, '\n'), &row, &w.hold_ns, w.label))
            continue;
        if (!find_work(&w, is_one && row.is_ours) || !measure_one(&w) || !hu_vec_push(ask->arena, &list, row))
            return hu_fail_memory(err);
    }
    *out = (hu_gpu_clocks){.at = list.at, .n = list.n};
    return 0;
}

bool hu_gpu_clocks_merge(hu_gpu_clocks *into, const hu_gpu_clocks *from, hu_arena *arena)
{
    HU_VEC(hu_gpu_clock) list = {.at = into->at, .n = into->n, .cap = into->n};

    for (size_t i = 0; i < from->n; i++) {
        bool is_there = false;

        for (size_t k = 0; k < list.n && !is_there; k++)
            is_there = from->at[i].uuid.n && hu_str_equal(list.at[k].uuid, from->at[i].uuid);
        if (!is_there && !hu_vec_push(arena, &list, from->at[i]))
            return false;
    }
    into->at = list.at;
    into->n = list.n;
    return true;
}

double hu_gpu_clocks_joules(const hu_gpu_clocks *g)
{
    double sum = g->n ? 0 : NAN;

    for (size_t i = 0; i < g->n; i++)
        sum += g->at[i].joules;
    return sum;
}

double hu_gpu_clocks_step_joules(const hu_gpu_clocks *g)
{
    double sum = g->n ? 0 : NAN;

    for (size_t i = 0; i < g->n; i++)
        sum += g->at[i].step_joules;
    return sum;
}

void hu_gpu_clock_name(const hu_gpu_clock *c, char out[HU_GPU_NAME_BYTES])
{
    char label[HU_GPU_LABEL_BYTES];

    hu_gpu_label(c->device, c->number, label);
    if (c->device >= 0 && c->device != c->number)
        snprintf(out, HU_GPU_NAME_BYTES, "%s (nvidia-smi %lld)", label, (long long)c->number);
    else
        snprintf(out, HU_GPU_NAME_BYTES, "%s", label);
}

double hu_gpu_clock_limited(const hu_gpu_clock *c)
{
    return c->busy_ns > 0 ? c->limited_ns / c->busy_ns : NAN;
}
