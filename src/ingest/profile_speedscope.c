/* SPDX-License-Identifier: Apache-2.0
 * profile_speedscope.c - speedscope's file format: frames once, then profiles, one for each thread, or for each quantity.
 *
 * Samples are stacks of indices of frames, the outermost first, each with a weight; events open and close a frame.
 * Profiles of one unit are added up; those of another unit than that of the first are left out.
 */
#include "base/json_value.h"
#include "base/number.h"
#include "ingest/profile.h"
#include "ingest/profile_parts.h"

enum { LOOKED_AT = 4096 };

/* The schema is named first by most, last by some: then the beginning has the frames, whose texts may quote anything. */
bool hu_profile_is_speedscope(hu_str head)
{
    const hu_str part = {head.p, head.n < LOOKED_AT ? head.n : LOOKED_AT};

    return head.n && head.p[0] == '{' && hu_str_has(part, HU_STR("\"$schema\"")) &&
           hu_str_has(part, HU_STR("speedscope.app/file-format-schema.json"));
}

static double number_of(const hu_value *v)
{
    return !v ? 0 : v->type == HU_VALUE_INT ? (double)v->integer : v->type == HU_VALUE_REAL ? v->real : 0;
}

/* ns of one unit of time, 1 of others. */
static double scale_of(hu_str unit, hu_profile_unit *kind)
{
    static const struct {
        hu_str          word;
        hu_profile_unit kind;
        double          scale;
    } units[] = {{{"nanoseconds", 11}, HU_PROFILE_TIME, 1},
                 {{"microseconds", 12}, HU_PROFILE_TIME, 1e3},
                 {{"milliseconds", 12}, HU_PROFILE_TIME, 1e6},
                 {{"seconds", 7}, HU_PROFILE_TIME, 1e9},
                 {{"bytes", 5}, HU_PROFILE_BYTES, 1}};

    for (size_t i = 0; i < HU_COUNT(units); i++)
        if (hu_str_equal(unit, units[i].word)) {
            *kind = units[i].kind;
            return units[i].scale;
        }
    *kind = HU_PROFILE_COUNT;
    return 1;
}

static int malformed(const profile_sums *s, const char *what, hu_error *err)
{
    return hu_fail(err, HU_EFORMAT, s->file, HU_NO_OFFSET, "is a damaged profile for speedscope: %s", what);
}

typedef struct {
    const uint32_t *function; /* by frame */
    size_t          n;
    double          scale;
} frames;

static bool push(profile_sums *s, const frames *f, const hu_value *index, int *rc, hu_error *err)
{
    const int64_t at = hu_value_int(index, -1);

    if (at < 0 || (size_t)at >= f->n)
        *rc = malformed(s, "a stack names a frame that is not there", err);
    else if (!hu_vec_push(s->arena, &s->stack, f->function[at]))
        *rc = hu_fail_memory(err);
    return *rc == 0;
}

static int take_samples(profile_sums *s, const frames *f, const hu_value *profile, hu_error *err)
{
    const hu_value *samples = hu_value_get(profile, "samples"), *weights = hu_value_get(profile, "weights");
    const size_t    n = hu_value_count(samples);
    int             rc = 0;

    if (hu_value_count(weights) != n)
        return malformed(s, "it has not one weight for each sample", err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const hu_value *stack = hu_value_at(samples, i);

        s->stack.n = 0;
        for (size_t k = 0; k < hu_value_count(stack) && push(s, f, hu_value_at(stack, k), &rc, err); k++)
            continue;
        if (rc == 0)
            rc = profile_add(s, number_of(hu_value_at(weights, i)) * f->scale, err);
    }
    return rc;
}

/* Between two events the stack is as the first left it. */
static int take_events(profile_sums *s, const frames *f, const hu_value *profile, hu_error *err)
{
    const hu_value *events = hu_value_get(profile, "events");
    double          last = 0;
    int             rc = 0;

    s->stack.n = 0;
    for (size_t i = 0; rc == 0 && i < hu_value_count(events); i++) {
        const hu_value *e = hu_value_at(events, i);
        const double    at = number_of(hu_value_get(e, "at"));
        const hu_str    type = hu_value_text(hu_value_get(e, "type"));

        if (s->stack.n && at > last)
            rc = profile_add(s, (at - last) * f->scale, err);
        else if (i && at < last)
            rc = malformed(s, "its events are not in the order of time", err);
        last = at;
        if (rc == 0 && hu_str_equal(type, HU_STR("O")))
            push(s, f, hu_value_get(e, "frame"), &rc, err);
        else if (rc == 0 && (s->stack.n == 0 || !hu_str_equal(type, HU_STR("C"))))
            rc = malformed(s, "a frame is closed that is not open", err);
        else if (rc == 0)
            s->stack.n--;
    }
    return rc;
}

static int name_frames(profile_sums *s, const hu_value *list, frames *out, hu_error *err)
{
    const size_t n = hu_value_count(list);
    uint32_t    *function = hu_arena_calloc(s->arena, n + 1, sizeof *function);

    if (!function)
        return hu_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        const hu_value *frame = hu_value_at(list, i);

        function[i] = profile_function(s, hu_value_text(hu_value_get(frame, "name")),
                                       hu_value_text(hu_value_get(frame, "file")));
        if (function[i] == UINT32_MAX)
            return hu_fail_memory(err);
    }
    *out = (frames){.function = function, .n = n, .scale = 1};
    return 0;
}

/* What clock it is only the tool says. */
static void tell_clock(hu_profile_sums *out)
{
    if (out->unit == HU_PROFILE_BYTES)
        out->clock = HU_PROFILE_MEMORY;
    else if (hu_str_starts(out->tool, HU_STR("py-spy")))
        out->clock = HU_PROFILE_BUSY;
    else if (hu_str_starts(out->tool, HU_STR("pyinstrument")))
        out->clock = HU_PROFILE_WALL;
}

int profile_read_speedscope(profile_sums *s, hu_str text, hu_error *err)
{
    const hu_value  *all = hu_json_value_read(text, s->file, s->limits, s->arena, err);
    const hu_value  *profiles = hu_value_get(all, "profiles");
    hu_profile_sums *out = s->out;
    hu_str           first = HU_STR("");
    frames           f;
    int              rc = all ? name_frames(s, hu_value_get(hu_value_get(all, "shared"), "frames"), &f, err) : err->code;

    if (rc == 0 && hu_str_starts(hu_value_text(hu_value_get(all, "exporter")), HU_STR("holdup")))
        rc = hu_fail(err, HU_EFORMAT, s->file, HU_NO_OFFSET,
                     "is what `holdup export` made of a trace, whose tracks are no threads alone; pass that trace");
    out->format = "speedscope";
    out->tool = hu_value_text(hu_value_get(all, "exporter"));
    if (hu_str_starts(out->tool, HU_STR("pyinstrument")) &&
        (s->self_frame = hu_intern_add(&s->names, HU_STR("[self]"))) == UINT32_MAX)
        rc = hu_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < hu_value_count(profiles); i++) {
        const hu_value *profile = hu_value_at(profiles, i);
        const hu_str    unit = hu_value_text(hu_value_get(profile, "unit"));
        const hu_str    name = hu_value_text(hu_value_get(profile, "name"));

        if (i && !hu_str_equal(unit, first)) {
            out->other = out->other.n ? out->other : name;
            continue;
        }
        first = unit;
        out->n_threads++;
        f.scale = scale_of(unit, &out->unit);
        out->measure = out->n_threads == 1 ? name : out->measure;
        rc = hu_str_equal(hu_value_text(hu_value_get(profile, "type")), HU_STR("evented"))
                 ? take_events(s, &f, profile, err)
                 : take_samples(s, &f, profile, err);
    }
    if (rc == 0 && out->other.n == 0)
        out->measure = HU_STR(""); /* the name of a thread, or of the run */
    if (rc == 0)
        tell_clock(out);
    return rc;
}
