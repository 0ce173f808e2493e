/* SPDX-License-Identifier: Apache-2.0
 * launch_places.c - the profile's launches as a word in the repeated word of a step.
 *
 * Filters of the profiler (--kernel-name, --launch-skip, --launch-count) let through all launches of some names from one
 * place on.  So of these names the profile is a part of what the trace launches, without a gap; what other names it left
 * out does not matter.  All places of a step are tried.  Where several fit, they must mean the same for a launch, or the
 * durations decide: a launch that takes twice as long as another in the job does so under the profiler, too.
 */
#include "analyze/launch_places.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"

static const double UNEQUAL = 1.5; /* launches of one shape whose durations are so far apart do not do the same */
static const double LOOSE = 3;     /* the same, beyond which the order cannot be right */
static const double TIGHT =
    1.25; /* the ratios of durations in the job and under the profiler, of launches in their right places */
static const uint64_t MOST_WORK = 200000000; /* comparisons, after which places are not looked for any more */

enum { MOST_NAMES = 64 }; /* that are tried alone */

static const char NO_STEPS_ALIKE[] = "the steps of the trace do not launch the same kernels in the same order";
static const char NO_PLACE[] = "the measured launches do not follow each other as in a step of the trace";
static const char PLACES[] = "several places of a step fit";
static const char CONTRADICTED[] = "the order of launches and their durations contradict each other";
static const char TOO_MANY[] = "there are too many launches to compare";

static const char *const words[] = {
#define O(id, word) word,
    HU_LAUNCH_ORDERS(O)
#undef O
};

const char *hu_launch_order_word(hu_launch_order order)
{
    return words[order];
}

/* One step: what each of its launches is, and takes in the mean. */
typedef struct {
    uint32_t *shape, *class; /* rows; class HU_MAP_NONE where the shape does not differ */
    double   *ns;
    size_t    n, n_steps;
} period;

typedef struct {
    const hu_launch_question *q;
    hu_arena                 *arena, *scratch;
    hu_launch_places         *out;
    bool                     *is_in;   /* by row: of the names that are looked at */
    double                   *lo, *hi; /* by row: ratios of durations at a place that is tried */
    size_t                   *epoch;   /* by row: of which place they are */
    size_t                    n_epochs;
    uint64_t                  work;
    HU_VEC(hu_launch_class) classes;
} finding;

static uint32_t row_of(const finding *f, size_t launch)
{
    return f->q->same[f->q->shapes->launches[launch].shape];
}

/* --- do launches of a shape differ? --- */

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

typedef struct {
    uint32_t row, step;
    size_t   launch;
} seen;

static int by_row(const void *left, const void *right)
{
    const seen *a = left, *b = right;

    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->launch > b->launch) - (a->launch < b->launch);
}

/* Launches [from, to) of one row: by their place in the step where each has as many; else by what the middle half takes. */
static void judge_shape(finding *f, const seen *s, size_t n, double *room)
{
    const hu_kernel_launch *l = f->q->shapes->launches;
    hu_shape_order         *o = &f->out->shapes[s[0].row];
    size_t                  n_steps = 1, of;

    for (size_t i = 1; i < n; i++)
        n_steps += s[i].step != s[i - 1].step;
    of = n / n_steps;
    o->of = n_steps > 1 && n % n_steps == 0 ? (uint32_t)of : 0; /* of one step, what differs may be chance */
    for (size_t i = 0; o->of && i < n; i++)
        if (s[i].step != s[i - i % of].step || (i >= of && s[i].step == s[i - of].step))
            o->of = 0;
    if (o->of) {
        for (size_t k = 0; k < of; k++)
            room[k] = 0;
        for (size_t i = 0; i < n; i++)
            room[i % of] += (double)l[s[i].launch].dur_ns / (double)n_steps;
        qsort(room, of, sizeof *room, by_value);
        o->least_ns = room[0];
        o->most_ns = room[of - 1];
    } else {
        for (size_t i = 0; i < n; i++)
            room[i] = (double)l[s[i].launch].dur_ns;
        qsort(room, n, sizeof *room, by_value);
        o->least_ns = room[n / 4];
        o->most_ns = room[n - 1 - n / 4];
    }
    o->differs = o->most_ns >= UNEQUAL * o->least_ns;
}

static bool judge_shapes(finding *f)
{
    const size_t n = f->q->shapes->n_launches;
    seen        *all = hu_arena_calloc(f->scratch, n + 1, sizeof *all);
    double      *room = hu_arena_calloc(f->scratch, n + 1, sizeof *room);

    if (!all || !room)
        return false;
    for (size_t i = 0; i < n; i++)
        all[i] = (seen){row_of(f, i), f->q->shapes->launches[i].step, i};
    if (n > 1)
        qsort(all, n, sizeof *all, by_row);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && all[end].row == all[i].row; end++)
            ;
        judge_shape(f, all + i, end - i, room);
    }
    return true;
}

/* --- a step of some names --- */

/* Returns why there is none, or NULL.  *ok is false when there is no memory. */
static const char *find_period(finding *f, period *out, bool *ok)
{
    const hu_kernel_launch *l = f->q->shapes->launches;
    const size_t            n = f->q->shapes->n_launches;
    size_t                  at = 0;
    uint32_t                step = 0;
    bool                    has_step = false;

    *out = (period){.shape = hu_arena_alloc(f->scratch, (n + 1) * sizeof *out->shape),
                    .class = hu_arena_alloc(f->scratch, (n + 1) * sizeof *out->class),
                    .ns = hu_arena_alloc(f->scratch, (n + 1) * sizeof *out->ns)};
    *ok = out->shape && out->class && out->ns;
    for (size_t i = 0; *ok && i < n; i++) {
        const uint32_t row = row_of(f, i);

        if (!f->is_in[row])
            continue;
        if (!has_step || l[i].step != step) {
            if (out->n_steps > 1 && at != out->n)
                return NO_STEPS_ALIKE;
            has_step = true;
            step = l[i].step;
            out->n_steps++;
            at = 0;
        }
        if (out->n_steps == 1) {
            out->shape[out->n] = row;
            out->ns[out->n++] = 0;
        } else if (at == out->n || out->shape[at] != row) {
            return NO_STEPS_ALIKE;
        }
        out->ns[at++] += (double)l[i].dur_ns;
    }
    if (out->n_steps > 1 && at != out->n)
        return NO_STEPS_ALIKE;
    for (size_t i = 0; i < out->n; i++)
        out->ns[i] /= (double)out->n_steps;
    return out->n ? NULL : NO_PLACE;
}

typedef struct {
    uint32_t row, at, place; /* at: in the step; place: among those of its shape, from 1 */
    double   ns;
} position;

static int by_duration(const void *left, const void *right)
{
    const position *a = left, *b = right;

    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->ns < b->ns || a->ns > b->ns)
        return a->ns < b->ns ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Keeps the first of them; `n` are named. */
static void name_place(hu_launch_class *c, size_t n, uint32_t place)
{
    size_t at = n < HU_PLACES_NAMED ? n : HU_PLACES_NAMED - 1;

    if (n >= HU_PLACES_NAMED && place >= c->place[at])
        return;
    for (; at && c->place[at - 1] > place; at--)
        c->place[at] = c->place[at - 1];
    c->place[at] = place;
}

static bool add_class(finding *f, const position *p, size_t n, size_t of, double shape_ns, period *step)
{
    hu_launch_class c = {.shape = p[0].row, .n = (uint32_t)n, .of = (uint32_t)of, .shape_ns = shape_ns};

    for (size_t i = 0; i < n; i++) {
        name_place(&c, i, p[i].place);
        c.step_ns += p[i].ns;
        step->class[p[i].at] = (uint32_t)f->classes.n;
    }
    return hu_vec_push(f->arena, &f->classes, c);
}

/* Launches of a shape that differ, by how long they take.  False when there is no memory. */
static bool find_classes(finding *f, period *step)
{
    position *all = hu_arena_calloc(f->scratch, step->n + 1, sizeof *all);
    uint32_t *places = hu_arena_calloc(f->scratch, f->q->shapes->n + 1, sizeof *places);

    if (!all || !places)
        return false;
    for (size_t i = 0; i < step->n; i++) {
        step->class[i] = HU_MAP_NONE;
        all[i] = (position){step->shape[i], (uint32_t)i, ++places[step->shape[i]], step->ns[i]};
    }
    if (step->n > 1)
        qsort(all, step->n, sizeof *all, by_duration);
    for (size_t i = 0, end; i < step->n; i = end) {
        double sum = 0;

        for (end = i; end < step->n && all[end].row == all[i].row; end++)
            sum += all[end].ns;
        for (size_t k = i, to; f->out->shapes[all[i].row].differs && k < end; k = to) {
            for (to = k; to < end && all[to].ns < UNEQUAL * all[k].ns; to++)
                ;
            to = to == k ? k + 1 : to; /* of no duration */
            if (!add_class(f, all + k, to - k, end - i, sum, step))
                return false;
        }
    }
    return true;
}

/* --- the profile in it --- */

typedef struct {
    const uint32_t *at; /* measured launches of the names, of one report */
    size_t          n;
} word;

static bool fits(finding *f, const period *step, word w, size_t from)
{
    size_t at = from;

    if (!f->q->has_steps && from + w.n > step->n)
        return false;
    for (size_t i = 0; i < w.n; i++, at = at + 1 == step->n ? 0 : at + 1) {
        f->work++;
        if (step->shape[at] != f->q->shape_of[w.at[i]])
            return false;
    }
    return true;
}

/*
 * Are the durations of launches of each shape in the same ratio to those of the job?  *tells: two of a shape that
 * differs are.
 */
static bool fits_durations(finding *f, const period *step, word w, size_t from, double most, bool *tells)
{
    const hu_counted *k = f->q->counters->kernels.at;
    size_t            at = from;

    f->n_epochs++;
    for (size_t i = 0; i < w.n; i++, at = at + 1 == step->n ? 0 : at + 1) {
        const uint32_t row = step->shape[at];
        const double   ratio = k[w.at[i]].value[HU_COUNTER_DURATION_NS] / step->ns[at];

        f->work++;
        if (step->class[at] == HU_MAP_NONE)
            continue;
        if (!isfinite(ratio))
            return false;
        *tells |= f->epoch[row] == f->n_epochs;
        f->lo[row] = f->epoch[row] == f->n_epochs ? fmin(f->lo[row], ratio) : ratio;
        f->hi[row] = f->epoch[row] == f->n_epochs ? fmax(f->hi[row], ratio) : ratio;
        f->epoch[row] = f->n_epochs;
        if (f->hi[row] >= most * f->lo[row])
            return false;
    }
    return true;
}

/*
 * Adds what a place says of each launch: its class; where another place said another, it is HU_MAP_NONE and *is_one
 * false.
 */
static void take_place(finding *f, const period *step, word w, size_t from, bool is_first, bool *is_one)
{
    size_t at = from;

    for (size_t i = 0; i < w.n; i++, at = at + 1 == step->n ? 0 : at + 1) {
        uint32_t *class = &f->out->class_of[w.at[i]];

        f->work++;
        if (is_first)
            *class = step->class[at];
        else if (*class != step->class[at])
            *class = HU_MAP_NONE, *is_one = false;
    }
}

static void set_order(finding *f, word w, hu_launch_order order, const char *why)
{
    for (size_t i = 0; i < w.n; i++) {
        hu_shape_order *s = &f->out->shapes[f->q->shape_of[w.at[i]]];

        if (!s->differs)
            continue;
        f->out->order[w.at[i]] = f->out->class_of[w.at[i]] == HU_MAP_NONE ? HU_ORDER_UNKNOWN : order;
        if (f->out->class_of[w.at[i]] == HU_MAP_NONE)
            s->why = why;
    }
}

/*
 * All places whose durations are apart by less than `most`; 0: all.  Returns how many; *is_one: they say the same of
 * every launch.
 */
static size_t try_places(finding *f, const period *step, word w, double most, bool *is_one, bool *tells)
{
    size_t n = 0;

    *is_one = true;
    *tells = false;
    for (size_t i = 0; i < w.n; i++)
        f->out->class_of[w.at[i]] = HU_MAP_NONE;
    for (size_t from = 0; from < step->n && f->work < MOST_WORK; from++)
        if (fits(f, step, w, from) && (most <= 0 || fits_durations(f, step, w, from, most, tells)))
            take_place(f, step, w, from, n++ == 0, is_one);
    return n;
}

/* Says of no launch which it is. */
static void forget(finding *f, word w)
{
    for (size_t i = 0; i < w.n; i++)
        f->out->class_of[w.at[i]] = HU_MAP_NONE;
}

/* Returns why there is no place at all, or NULL. */
static const char *place_word(finding *f, const period *step, word w)
{
    bool            is_one, tells, unused;
    const size_t    n = try_places(f, step, w, 0, &is_one, &unused);
    hu_launch_order order = HU_ORDER_SEQUENCE;
    const char     *why = n ? PLACES : NO_PLACE;

    if (n && try_places(f, step, w, LOOSE, &unused, &tells) == 0) {
        forget(f, w);
        why = CONTRADICTED;
    } else if (n) {
        order = HU_ORDER_DURATIONS;
        if (is_one || try_places(f, step, w, TIGHT, &unused, &tells) == 0 || !tells) {
            order = HU_ORDER_SEQUENCE;
            try_places(f, step, w, 0, &unused, &tells);
        }
    }
    if (f->work >= MOST_WORK) {
        forget(f, w);
        why = TOO_MANY;
    }
    set_order(f, w, order, why);
    return why == NO_PLACE ? why : NULL;
}

/* Measured launches of the names that are looked at, from `from` to the end of their report.  *end is where that is. */
static word next_word(finding *f, size_t from, uint32_t *room, size_t *end)
{
    const hu_counted *k = f->q->counters->kernels.at;
    word              w = {.at = room};

    for (*end = from; *end < f->q->counters->kernels.n; (*end)++) {
        if (*end > from && k[*end].id <= k[*end - 1].id)
            break;
        if (f->q->shape_of[*end] != HU_MAP_NONE && f->is_in[f->q->shape_of[*end]])
            room[w.n++] = (uint32_t)*end;
    }
    return w;
}

/*
 * Of the names in f->is_in.  Returns whether all reports have a place, or fail for another reason than that.  *ok:
 * memory.
 */
static bool place_all(finding *f, bool *ok)
{
    const size_t n = f->q->counters->kernels.n;
    hu_arena    *whole = f->scratch, *mine = f->scratch = hu_arena_new();
    uint32_t    *room = mine ? hu_arena_alloc(mine, (n + 1) * sizeof *room) : NULL;
    bool         has_place = true;
    period       step = {0};
    const char  *why = NULL;

    *ok = room != NULL;
    if (*ok)
        why = find_period(f, &step, ok);
    *ok = *ok && (why || find_classes(f, &step));
    for (size_t from = 0, end; *ok && from < n; from = end) {
        const word w = next_word(f, from, room, &end);

        if (why)
            set_order(f, w, HU_ORDER_UNKNOWN, why);
        else if (w.n && place_word(f, &step, w))
            has_place = false;
    }
    hu_arena_free(mine);
    f->scratch = whole;
    return !why && has_place;
}

/* Each name by itself, whose launches keep their order where those of others do not. */
static bool place_by_name(finding *f)
{
    hu_map done;
    size_t n_names = 0;
    bool   ok = hu_map_init(&done, f->scratch, MOST_NAMES);

    for (size_t i = 0; ok && i < f->q->counters->kernels.n && n_names < MOST_NAMES; i++) {
        const uint32_t row = f->q->shape_of[i];
        uint32_t      *place;

        if (row == HU_MAP_NONE || !f->out->shapes[row].why)
            continue;
        place = hu_map_put(&done, f->q->names[row]);
        ok = place != NULL;
        if (!ok || *place != HU_MAP_NONE)
            continue;
        *place = (uint32_t)n_names++;
        for (size_t k = 0; k < f->q->shapes->n; k++) {
            f->is_in[k] = f->q->names[k] == f->q->names[row];
            if (f->is_in[k])
                f->out->shapes[k].why = NULL;
        }
        place_all(f, &ok);
    }
    return ok;
}

static bool init(finding *f)
{
    const size_t n = f->q->shapes->n + 1, n_launches = f->q->counters->kernels.n + 1;

    f->out->class_of = hu_arena_alloc(f->arena, n_launches * sizeof *f->out->class_of);
    f->out->order = hu_arena_calloc(f->arena, n_launches, sizeof *f->out->order);
    f->out->shapes = hu_arena_calloc(f->arena, n, sizeof *f->out->shapes);
    f->is_in = hu_arena_calloc(f->scratch, n, sizeof *f->is_in);
    f->lo = hu_arena_calloc(f->scratch, n, sizeof *f->lo);
    f->hi = hu_arena_calloc(f->scratch, n, sizeof *f->hi);
    f->epoch = hu_arena_calloc(f->scratch, n, sizeof *f->epoch);
    return f->out->class_of && f->out->order && f->out->shapes && f->is_in && f->lo && f->hi && f->epoch;
}

/* Names that both have; false: none of their launches differ. */
static bool choose_names(finding *f, bool *ok)
{
    hu_map measured;
    bool   differs = false;

    *ok = hu_map_init(&measured, f->scratch, 64);
    for (size_t i = 0; *ok && i < f->q->counters->kernels.n; i++) {
        const uint32_t row = f->q->shape_of[i];
        uint32_t      *place = row == HU_MAP_NONE ? NULL : hu_map_put(&measured, f->q->names[row]);

        if (row == HU_MAP_NONE)
            continue;
        *ok = place != NULL;
        if (place)
            *place = 1;
        differs |= f->out->shapes[row].differs;
    }
    for (size_t k = 0; *ok && k < f->q->shapes->n; k++)
        f->is_in[k] = hu_map_get(&measured, f->q->names[k]) != HU_MAP_NONE;
    return differs;
}

int hu_launch_places_find(const hu_launch_question *q, hu_arena *arena, hu_launch_places *out, hu_error *err)
{
    finding f = {.q = q, .arena = arena, .scratch = hu_arena_new(), .out = out};
    bool    ok;

    *out = (hu_launch_places){0};
    ok = f.scratch && init(&f) && judge_shapes(&f);
    for (size_t i = 0; ok && i < q->counters->kernels.n; i++)
        out->class_of[i] = HU_MAP_NONE, out->order[i] = q->shapes->why_unordered ? HU_ORDER_UNCHECKED : HU_ORDER_ALIKE;
    if (ok && choose_names(&f, &ok) && ok && !place_all(&f, &ok) && ok)
        ok = place_by_name(&f);
    out->classes = f.classes.at;
    out->n_classes = f.classes.n;
    hu_arena_free(f.scratch);
    return ok ? 0 : hu_fail_memory(err);
}
