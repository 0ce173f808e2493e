/* SPDX-License-Identifier: Apache-2.0
 * checklist.c - one function for each limit; NaN says that the trace cannot tell, and the evidence why. */
#include "advise/checklist.h"

#include <math.h>
#include <stdio.h>

#include "advise/say.h"
#include "base/number.h"

typedef double measure(const hu_digest *d, char *evidence, size_t size);

static double share(const hu_digest *d, double part_ns)
{
    const hu_step_time *t = hu_digest_step_time(d);

    return t && t->step_ns > 0 ? 100 * part_ns / t->step_ns : NAN;
}

static const double MUCH_UNKNOWN = 0.1; /* of a step, in events that nobody here knows: anything may be in them */

/* Does the trace show what the host does: operators, frames, calls of MPI, or what `holdup run` sees of its threads?  Where
   perf sampled, no data loader and no communication has a name. */
static bool shows_host(const hu_digest *d)
{
    const int64_t *kinds = d->health.kinds;

    return kinds[HU_KIND_CPU_OP] || kinds[HU_KIND_PYTHON] || kinds[HU_KIND_MPI] ||
           (d->host_time.is_recorded && !hu_str_starts(d->info.tool, HU_STR("perf ")));
}

/* Why no time of the host in something may be because it was not recorded; NULL: it is none. */
static const char *why_unseen(const hu_digest *d, const hu_step_time *t)
{
    if (t->unknown_ns >= MUCH_UNKNOWN * t->step_ns)
        return "cannot tell: too much of the time is in events of unknown kinds";
    return shows_host(d) ? NULL : "cannot tell: no operators or Python frames of the host were recorded";
}

/* Were calls of the runtime recorded, in which a copy or an allocation would be seen? */
static bool shows_calls(const hu_digest *d)
{
    return d->health.kinds[HU_KIND_RUNTIME] || d->health.kinds[HU_KIND_DRIVER];
}

static double idle(const hu_digest *d, char *evidence, size_t size)
{
    const hu_step_time *t = hu_digest_step_time(d);

    if (!t || !d->breakdown.has_device)
        return NAN;
    snprintf(evidence, size, "idle for %s of %s", hu_say_time(t->idle_ns).t, hu_say_time(t->step_ns).t);
    return share(d, t->idle_ns);
}

static double gpu_busy(const hu_digest *d, char *evidence, size_t size)
{
    return 100 - idle(d, evidence, size);
}

static double data(const hu_digest *d, char *evidence, size_t size)
{
    const hu_step_time *t = hu_digest_step_time(d);
    const char         *why;

    if (!t)
        return NAN;
    why = d->health.by_xla ? "cannot tell: JAX records no data loader" : why_unseen(d, t);
    if (t->role_ns[HU_ROLE_DATA_LOADER] <= 0 && why) {
        snprintf(evidence, size, "%s", why);
        return NAN;
    }
    snprintf(evidence, size, "%s per step in the data loader", hu_say_time(t->role_ns[HU_ROLE_DATA_LOADER]).t);
    return share(d, t->role_ns[HU_ROLE_DATA_LOADER]);
}

static double comm(const hu_digest *d, char *evidence, size_t size)
{
    const hu_step_time *t = hu_digest_step_time(d);
    const char         *why;
    double              ns;

    if (!t)
        return NAN;
    ns = d->breakdown.has_device ? t->exposed_comm_ns : t->role_ns[HU_ROLE_COMMUNICATION];
    why = d->health.missing & 1u << HU_MISSING_DEVICE ? "cannot tell: no GPU operation was recorded"
          : d->breakdown.has_device                   ? NULL
                                                      : why_unseen(d, t);
    if (ns <= 0 && why) {
        snprintf(evidence, size, "%s", why);
        return NAN;
    }
    snprintf(evidence, size, "%s per step", hu_say_time(ns).t);
    return share(d, ns);
}

static double copies(const hu_digest *d, char *evidence, size_t size)
{
    const hu_step_time *t = hu_digest_step_time(d);

    if (!t || !d->breakdown.has_device)
        return NAN;
    if (!d->health.kinds[HU_KIND_MEMCPY] && !d->health.kinds[HU_KIND_MEMSET] && !shows_calls(d)) {
        snprintf(evidence, size, "cannot tell: neither copies nor calls of the runtime were recorded");
        return NAN;
    }
    snprintf(evidence, size, "%s per step", hu_say_time(t->exposed_copy_ns).t);
    return share(d, t->exposed_copy_ns);
}

static double headroom(const hu_digest *d, char *evidence, size_t size)
{
    double least = NAN;

    for (size_t i = 0; i < d->memory.n; i++) {
        const hu_memory_pool *p = &d->memory.at[i];
        const int64_t         most = p->reserved_bytes > p->peak_bytes ? p->reserved_bytes : p->peak_bytes;
        double                left;

        if (p->capacity_bytes <= 0 || p->is_relative)
            continue;
        left = 100 * (1 - (double)most / (double)p->capacity_bytes);
        if (!isnan(least) && left >= least)
            continue;
        least = left;
        snprintf(evidence, size, "%.*s: %lld of %lld MB", HU_FMT(p->name), (long long)(most / 1000000),
                 (long long)(p->capacity_bytes / 1000000));
    }
    return least;
}

static double alloc_calls(const hu_digest *d, char *evidence, size_t size)
{
    if (!d->breakdown.has_device || !d->steps.n_counted)
        return NAN;
    if (!shows_calls(d)) {
        snprintf(evidence, size, "cannot tell: no calls of the runtime were recorded");
        return NAN;
    }
    snprintf(evidence, size, "%lld calls in the whole capture, %s", (long long)d->calls.alloc_calls,
             hu_say_time((double)d->calls.alloc_ns).t);
    return (double)d->calls.alloc_calls_in_steps;
}

static double out_of_memory(const hu_digest *d, char *evidence, size_t size)
{
    (void)evidence;
    (void)size;
    return d->info.has_memory ? (double)d->memory.ooms : NAN;
}

static double precision(const hu_digest *d, char *evidence, size_t size)
{
    static const hu_kernel_family products[] = {HU_FAMILY_GEMM, HU_FAMILY_ATTENTION, HU_FAMILY_CONVOLUTION};
    double                        tensor = 0, known = 0;

    for (size_t i = 0; i < HU_COUNT(products); i++) {
        const hu_kernel_family_time *f = &d->kernels.family[products[i]];

        tensor += (double)f->tensor_ns;
        known += (double)(f->total_ns - f->unknown_ns);
    }
    if (!(known > 0))
        return NAN;
    snprintf(evidence, size, "%s of %s of matmul time", hu_say_time(tensor).t, hu_say_time(known).t);
    return 100 * tensor / known;
}

static bool has_kernel(const hu_digest *d, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < d->kernels.n; i++)
        for (size_t k = 0; k < n; k++)
            if (hu_str_has(d->kernels.at[i].name, hu_str_of(parts[k])))
                return true;
    return false;
}

static bool has_operator(const hu_digest *d, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < d->operators.n; i++)
        for (size_t k = 0; k < n; k++)
            if (hu_str_has(d->operators.at[i].name, hu_str_of(parts[k])))
                return true;
    return false;
}

static double fused_optimizer(const hu_digest *d, char *evidence, size_t size)
{
    static const char *const step[] = {"Optimizer.step"};
    static const char *const fused[] = {"aten::_foreach_", "aten::_fused_", "FusedAdam", "multi_tensor"};
    static const char *const kernels[] = {"multi_tensor_apply", "FusedAdam", "fused_adam"};

    if (has_operator(d, fused, HU_COUNT(fused)) || has_kernel(d, kernels, HU_COUNT(kernels)))
        return 1;
    if (!has_operator(d, step, HU_COUNT(step)))
        return NAN;
    snprintf(evidence, size, "Optimizer.step uses no foreach or fused operators");
    return 0;
}

static double compiled(const hu_digest *d, char *evidence, size_t size)
{
    static const char *const regions[] = {"Torch-Compiled Region", "CompiledFxGraph", "CompiledFunction"};
    static const char *const kernels[] = {"triton_"};

    if (has_operator(d, regions, HU_COUNT(regions)) || has_kernel(d, kernels, HU_COUNT(kernels)) ||
        d->launches.graph_launches)
        return 1;
    if (!d->operators.n)
        return NAN;
    snprintf(evidence, size, "none of %zu operators is in a compiled region", d->operators.n);
    return 0;
}

static double step_ms(const hu_digest *d, char *evidence, size_t size)
{
    const hu_step_time *t = hu_digest_step_time(d);

    (void)evidence;
    (void)size;
    return t && d->steps.source != HU_STEPS_NONE ? t->step_ns / 1e6 : NAN;
}

/* Of what replays say; the others are of the digest. */
static double gain(const hu_findings *f, char *evidence, size_t size)
{
    const hu_finding *most = NULL;

    if (!f || !f->is_replayed || !f->is_trusted)
        return NAN;
    for (size_t i = 0; i < f->n; i++)
        if (!isnan(f->at[i].gain_pct) && (!most || f->at[i].gain_pct > most->gain_pct))
            most = &f->at[i];
    if (most)
        snprintf(evidence, size, "%s", hu_rule_title(most->rule));
    return most ? most->gain_pct : f->n || f->blind[0] ? NAN : 0;
}

static const struct {
    const char *name, *unit, *what;
    double      limit;
    bool        is_least, fails;
} rows[HU_LIMIT_COUNT] = {
#define L(id, name, unit, is_least, limit, fails, what) [HU_LIMIT_##id] = {name, unit, what, limit, is_least, fails},
    HU_CHECKLIST(L)
#undef L
};

/* clang-format off */
static measure *const measures[HU_LIMIT_COUNT] = {
    [HU_LIMIT_GPU_BUSY] = gpu_busy,       [HU_LIMIT_IDLE] = idle,           [HU_LIMIT_DATA] = data,
    [HU_LIMIT_COMM] = comm,               [HU_LIMIT_COPIES] = copies,       [HU_LIMIT_HEADROOM] = headroom,
    [HU_LIMIT_ALLOC] = alloc_calls,       [HU_LIMIT_RETRIES] = out_of_memory, [HU_LIMIT_PRECISION] = precision,
    [HU_LIMIT_OPTIMIZER] = fused_optimizer, [HU_LIMIT_COMPILED] = compiled, [HU_LIMIT_STEP] = step_ms,
};
/* clang-format on */

void hu_checklist_none(hu_checklist *list)
{
    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT; i++) {
        list->least[i] = list->most[i] = NAN;
        list->is_named[i] = list->may_be_share[i] = false;
    }
}

void hu_checklist_defaults(hu_checklist *list)
{
    hu_checklist_none(list);
    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT; i++)
        *(rows[i].is_least ? &list->least[i] : &list->most[i]) = rows[i].limit;
}

static int fail_name(hu_str name, hu_error *err)
{
    char   list[256];
    size_t n = 0;

    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", rows[i].name);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "no limit \"%.*s\"; choose one of %s", HU_FMT(name), list);
}

int hu_checklist_set(hu_checklist *list, bool is_least, const char *text, hu_error *err)
{
    const char  *equals = strchr(text, '=');
    const hu_str name = {text, equals ? (size_t)(equals - text) : strlen(text)};
    hu_str       number = equals ? hu_str_of(equals + 1) : HU_STR("");
    double       value;

    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT; i++) {
        const hu_str unit = hu_str_of(rows[i].unit);

        if (!hu_str_equal(name, hu_str_of(rows[i].name)))
            continue;
        if (unit.n && hu_str_ends(number, unit))
            number.n -= unit.n;
        if (!hu_parse_f64(number, &value) || !isfinite(value))
            return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "write a limit as %s=10%s, not \"%.64s\"", rows[i].name,
                           rows[i].unit, text);
        *(is_least ? &list->least[i] : &list->most[i]) = value;
        list->is_named[i] = true;
        list->may_be_share[i] = strcmp(rows[i].unit, "%") == 0 && value > 0 && value < 1 &&
                                !hu_str_ends(hu_str_of(text), unit);
        return 0;
    }
    return fail_name(name, err);
}

static void check(const hu_checklist *list, hu_limit_id id, bool is_least, hu_digest *const *digests,
                  hu_findings *const *all, size_t n, hu_checklist_result *out)
{
    const double limit = is_least ? list->least[id] : list->most[id];
    hu_checked  *row = &out->at[out->n];

    if (isnan(limit))
        return;
    *row = (hu_checked){.id = id, .is_least = is_least, .limit = limit, .value = NAN, .state = HU_LIMIT_UNKNOWN};
    for (size_t i = 0; i < n; i++) {
        char         evidence[160] = "";
        const double value = measures[id] ? measures[id](digests[i], evidence, sizeof evidence)
                                          : gain(all[i], evidence, sizeof evidence);

        if (isnan(value) ? !isnan(row->value) || !evidence[0]
                         : !isnan(row->value) && (is_least ? value >= row->value : value <= row->value))
            continue;
        row->value = value;
        if (n > 1)
            snprintf(row->evidence, sizeof row->evidence, "rank %lld%s%s", (long long)hu_digest_rank_of(digests, i),
                     evidence[0] ? ": " : "", evidence);
        else
            snprintf(row->evidence, sizeof row->evidence, "%s", evidence);
    }
    if (!isnan(row->value))
        row->state = (is_least ? row->value >= limit : row->value <= limit) ? HU_LIMIT_PASS
                     : rows[id].fails || list->is_named[id]                 ? HU_LIMIT_FAIL
                                                                            : HU_LIMIT_ADVICE;
    out->failed += row->state == HU_LIMIT_FAIL;
    out->unknown += row->state == HU_LIMIT_UNKNOWN;
    out->unknown_named += row->state == HU_LIMIT_UNKNOWN && list->is_named[id];
    out->n++;
}

void hu_checklist_measure(const hu_checklist *list, hu_digest *const *digests, hu_findings *const *all, size_t n,
                          hu_checklist_result *out)
{
    *out = (hu_checklist_result){0};
    for (hu_limit_id i = 0; i < HU_LIMIT_COUNT; i++) {
        check(list, i, true, digests, all, n, out);
        check(list, i, false, digests, all, n, out);
    }
}

const char *hu_limit_name(hu_limit_id id)
{
    return rows[id].name;
}

const char *hu_limit_unit(hu_limit_id id)
{
    return rows[id].unit;
}

const char *hu_limit_what(hu_limit_id id)
{
    return rows[id].what;
}

bool hu_limit_fails(hu_limit_id id)
{
    return rows[id].fails;
}

const char *hu_limit_state_name(hu_limit_state state)
{
    static const char *const names[] = {"pass", "fail", "advice", "unknown"};

    return names[state];
}
