/* SPDX-License-Identifier: Apache-2.0
 * profile.c - sums by function, whatever the format: its own weight, and that of all stacks that it is in. */
#include "ingest/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingest/format.h"
#include "ingest/profile_parts.h"

enum { MOST_NAME = 1024 };

static const double MOST_WHOLE = 9e18; /* fits int64 */

uint32_t profile_function(profile_sums *s, hu_str name, hu_str file)
{
    char text[MOST_NAME];
    int  n;

    if (file.n == 0)
        return hu_intern_add(&s->names, name.n ? name : HU_STR("(no name)"));
    n = snprintf(text, sizeof text, "%.*s (%.*s)", name.n < MOST_NAME / 2 ? (int)name.n : MOST_NAME / 2, name.p,
                 file.n < MOST_NAME / 3 ? (int)file.n : MOST_NAME / 3, file.p);
    return hu_intern_add(&s->names, (hu_str){text, (size_t)n});
}

static bool make_room(profile_sums *s)
{
    const size_t have = s->out->functions.n, want = s->names.entries.n;

    if (!hu_vec_reserve(s->arena, &s->out->functions, want - have) || !hu_vec_reserve(s->arena, &s->seen, want - have))
        return false;
    for (size_t i = have; i < want; i++) {
        s->out->functions.at[i] = (hu_profile_function){.name = hu_intern_get(&s->names, (uint32_t)i)};
        s->seen.at[i] = 0;
    }
    s->out->functions.n = s->seen.n = want;
    return true;
}

int profile_add(profile_sums *s, double weight, hu_error *err)
{
    hu_profile_function *f;
    size_t               n = s->stack.n;

    n -= n && s->self_frame && s->stack.at[n - 1] == s->self_frame;
    if (!isfinite(weight) || weight < 0)
        return hu_fail(err, HU_EFORMAT, s->file, HU_NO_OFFSET,
                       "has weights below 0, as a difference of two profiles has; pass the two profiles, each alone");
    if (s->out->functions.n < s->names.entries.n && !make_room(s))
        return hu_fail_memory(err);
    f = s->out->functions.at;
    s->out->n_stacks++;
    s->n_frames += (int64_t)n + 1;
    if (s->n_frames > s->limits->events)
        return hu_fail(err, HU_ELIMIT, s->file, HU_NO_OFFSET, "has more than %lld frames; raise --limit events",
                       (long long)s->limits->events);
    s->out->whole += weight;
    if (s->out->whole > MOST_WHOLE)
        return hu_fail(err, HU_EFORMAT, s->file, HU_NO_OFFSET,
                       "has weights of more than 9e18 in all, which is no sum of samples");
    s->out->n_bare += n == 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = s->stack.at[i];

        if (s->seen.at[at] != s->out->n_stacks)
            f[at].total += weight;
        s->seen.at[at] = s->out->n_stacks;
    }
    if (n)
        f[s->stack.at[n - 1]].self += weight;
    return 0;
}

/* Any reader of JSON takes a profile of speedscope, and that of packets what is protobuf. */
bool hu_profile_probe(hu_str head)
{
    return hu_profile_is_speedscope(head) || hu_profile_is_pprof(head) ||
           (hu_profile_is_folded(head) && !hu_format_find(head));
}

static int by_self(const void *a, const void *b)
{
    const hu_profile_function *x = a, *y = b;

    return x->self < y->self     ? 1
           : x->self > y->self   ? -1
           : x->total < y->total ? 1
           : x->total > y->total ? -1
                                 : hu_str_compare(x->name, y->name);
}

/* Those that are in a stack with a weight. */
static void sort_functions(hu_profile_sums *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->functions.n; i++)
        if (out->functions.at[i].total > 0)
            out->functions.at[n++] = out->functions.at[i];
    out->functions.n = n;
    if (n)
        qsort(out->functions.at, n, sizeof *out->functions.at, by_self);
}

int hu_profile_read(hu_input *in, hu_arena *arena, hu_profile_sums *out, hu_error *err)
{
    const hu_str head = hu_input_head(in);
    const bool   is_speedscope = hu_profile_is_speedscope(head), is_pprof = hu_profile_is_pprof(head);
    profile_sums s = {.out = out, .arena = arena, .limits = hu_input_limits(in), .file = hu_input_name(in)};
    hu_str       text;
    int          rc;

    *out = (hu_profile_sums){.tool = HU_STR(""), .measure = HU_STR(""), .other = HU_STR("")};
    if (!hu_intern_init(&s.names, arena))
        return hu_fail_memory(err);
    if ((rc = hu_input_read_whole(in, arena, &text, err)) < 0)
        return rc;
    rc = is_speedscope ? profile_read_speedscope(&s, text, err)
         : is_pprof    ? profile_read_pprof(&s, text, err)
                       : profile_read_folded(&s, text, err);
    if (rc == 0 && (out->whole <= 0 || out->n_bare == out->n_stacks))
        rc = hu_fail(err, HU_EEMPTY, s.file, HU_NO_OFFSET, "holds no stack with a weight: the profiler took no sample");
    if (rc == 0)
        sort_functions(out);
    return rc;
}

int hu_profile_read_path(const char *path, const hu_limits *limits, hu_arena *arena, hu_profile_sums *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_profile_read(in, arena, out, err);
    hu_input_close(in);
    return rc;
}
