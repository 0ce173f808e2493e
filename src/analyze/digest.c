/* SPDX-License-Identifier: Apache-2.0
 * digest.c - one arena for the answers, one for the work; texts are copied last, so that the trace can go. */
#include "analyze/digest.h"

#include "analyze/names.h"

static bool keep(hu_arena *arena, hu_str *s)
{
    const hu_str kept = hu_arena_copy(arena, *s);

    if (kept.p)
        *s = kept;
    return kept.p != NULL;
}

static bool keep_info(hu_digest *d)
{
    hu_trace_info *i = &d->info;

    return keep(d->arena, &i->file) && keep(d->arena, &i->tool) && keep(d->arena, &i->host) && keep(d->arena, &i->backend) &&
           keep(d->arena, &i->format) && keep(d->arena, &i->compression);
}

static bool keep_devices(const hu_trace *trace, hu_digest *d)
{
    const hu_device *devices = hu_trace_devices(trace, &d->n_devices);

    d->devices = hu_arena_calloc(d->arena, d->n_devices + 1, sizeof *d->devices);
    d->device_names = hu_arena_calloc(d->arena, d->n_devices + 1, sizeof *d->device_names);
    if (!d->devices || !d->device_names)
        return false;
    for (size_t i = 0; i < d->n_devices; i++) {
        d->devices[i] = devices[i];
        d->device_names[i] = hu_trace_text(trace, devices[i].name);
        if (!keep(d->arena, &d->device_names[i]))
            return false;
    }
    return true;
}

/* The device with the most work; deviceProperties lists all of a machine, used or not. */
static void find_device(const hu_trace *trace, hu_digest *d)
{
    size_t          n, best = 0;
    const hu_track *tracks = hu_trace_tracks(trace, &n);
    uint32_t        most = 0;

    d->device = HU_STR("");
    for (size_t i = 0; i < n; i++) {
        if (tracks[i].type == HU_TRACK_STREAM && tracks[i].count > most) {
            most = tracks[i].count;
            best = i;
        }
    }
    for (size_t i = 0; most && i < d->n_devices; i++)
        if (d->devices[i].id == tracks[best].device)
            d->device = d->device_names[i];
}

static bool keep_texts(const hu_trace *trace, hu_digest *d)
{
    bool ok = keep(d->arena, &d->steps.what);

    d->step_names = hu_arena_calloc(d->arena, d->steps.n + 1, sizeof *d->step_names);
    ok = ok && d->step_names;
    for (size_t i = 0; ok && i < d->steps.n; i++) {
        d->step_names[i] = hu_trace_text(trace, d->steps.at[i].name);
        ok = keep(d->arena, &d->step_names[i]);
    }
    for (size_t i = 0; ok && i < d->operators.n; i++)
        ok = keep(d->arena, &d->operators.at[i].name) && keep(d->arena, &d->operators.at[i].shapes);
    for (size_t i = 0; ok && i < d->kernels.n; i++)
        ok = keep(d->arena, &d->kernels.at[i].name);
    for (size_t i = 0; ok && i < d->copies.n; i++) {
        hu_copy *c = &d->copies.at[i];

        ok = keep(d->arena, &c->name) && keep(d->arena, &c->direction) && keep(d->arena, &c->from) && keep(d->arena, &c->to);
    }
    return ok;
}

/* The steps as the host marked them, for what was launched in them; `counted` keeps only those in the means. */
static bool windows(const hu_steps *steps, bool counted, hu_arena *arena, hu_intervals *out)
{
    *out = (hu_intervals){0};
    for (size_t i = 0; i < steps->n; i++)
        if ((!counted || hu_step_counts(&steps->at[i])) &&
            !hu_intervals_add(arena, out, steps->at[i].host_start_ns, steps->at[i].host_end_ns))
            return false;
    return true;
}

static int measure(const hu_trace *trace, const hu_digest_options *o, hu_digest *d, hu_arena *scratch, hu_error *err)
{
    hu_intervals all, counted;
    const hu_intervals *scope = o->steps.is_limited ? &all : NULL;
    const uint8_t *names = hu_names_classify(trace, scratch);
    int rc;

    if (!names)
        return hu_fail_memory(err);
    if ((rc = hu_gpu_time_measure(trace, scratch, &d->gpu_time, err)) < 0 ||
        (rc = hu_steps_measure(trace, &o->steps, d->arena, scratch, &d->steps, err)) < 0 ||
        (rc = hu_breakdown_measure(trace, &d->steps, d->arena, scratch, &d->breakdown, err)) < 0)
        return rc;
    if (!windows(&d->steps, false, scratch, &all) || !windows(&d->steps, true, scratch, &counted))
        return hu_fail_memory(err);
    if ((rc = hu_operators_measure(trace, &(hu_operators_options){o->by_shape, scope, &counted}, d->arena, scratch,
                                   &d->operators, err)) < 0 ||
        (rc = hu_kernels_measure(trace, scope, &counted, d->arena, scratch, &d->kernels, err)) < 0 ||
        (rc = hu_copies_measure(trace, scope, d->arena, scratch, &d->copies, err)) < 0)
        return rc;
    hu_health_measure(trace, &d->steps, names, &d->health);
    return 0;
}

hu_digest *hu_digest_measure(const hu_trace *trace, const hu_digest_options *options, hu_error *err)
{
    hu_arena  *arena = hu_arena_new(), *scratch = hu_arena_new();
    hu_digest *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    int        rc = d && scratch ? 0 : hu_fail_memory(err);

    if (rc == 0) {
        d->arena = arena;
        d->info = *hu_trace_get_info(trace);
        rc = measure(trace, options, d, scratch, err);
    }
    if (rc == 0) {
        if (!keep_info(d) || !keep_devices(trace, d) || !keep_texts(trace, d))
            rc = hu_fail_memory(err);
        else
            find_device(trace, d);
    }
    hu_arena_free(scratch);
    if (rc == 0)
        return d;
    hu_arena_free(arena);
    return NULL;
}

void hu_digest_free(hu_digest *d)
{
    if (d)
        hu_arena_free(d->arena);
}
