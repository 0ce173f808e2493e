/* SPDX-License-Identifier: Apache-2.0
 * measured.c - by name, grid and block; where only one kernel of a function has the shape on both sides, by its function.
 *
 * CUPTI's names come from __cxa_demangle, those of Nsight Compute from NVIDIA's own demangler: f<4, true> of the one is
 * f<(int)4, (bool)1> of the other, {lambda(int)#1} is [lambda(int) (instance 1)], T const& is const T &, and parameters that
 * depend on template arguments are T1 in the one and their type in the other.
 *
 * The most that a faster kernel can save is its own time beyond what its work takes at the peak of the unit it uses most:
 * a step is no longer than its parts, so it cannot get shorter by more than what they lose.
 */
#include "analyze/measured.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/map.h"

static const char *const words[] = {
#define M(id, word) word,
    HU_MEASURED_MATCHES(M)
#undef M
};

const char *hu_measured_match_word(hu_measured_match match)
{
    return words[match];
}

static const hu_str anonymous[] = {{"(anonymous namespace)", 21}, {"<unnamed>", 9}};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of a cast that stands before a number: "(int)" of "(int)4", "(cutlass::Kind)" of "(cutlass::Kind)-1"; 0 none. */
static size_t cast_at(hu_str s)
{
    size_t n = 1;

    while (n < s.n && (is_word(s.p[n]) || s.p[n] == ':' || s.p[n] == ' '))
        n++;
    return n + 1 < s.n && n > 1 && s.p[n] == ')' && (isdigit((unsigned char)s.p[n + 1]) || s.p[n + 1] == '-') ? n + 1 : 0;
}

/* Up to the "(" outside of template arguments with which the parameters begin. */
static hu_str without_parameters(hu_str s)
{
    int depth = 0;

    for (size_t i = 0; i < s.n; i++) {
        const hu_str rest = {s.p + i, s.n - i};

        if (hu_str_starts(rest, anonymous[0])) {
            i += anonymous[0].n - 1;
        } else if (hu_str_starts(rest, anonymous[1])) {
            i += anonymous[1].n - 1;
        } else if (s.p[i] == '(' && depth == 0) {
            return (hu_str){s.p, i};
        } else {
            depth += (s.p[i] == '<') - (s.p[i] == '>');
        }
    }
    return s;
}

/* Length of a list in parentheses, with those in it; of one that is not closed all of it. */
static size_t list_at(hu_str s)
{
    int depth = 0;

    for (size_t i = 0; i < s.n; i++) {
        depth += (s.p[i] == '(') - (s.p[i] == ')');
        if (depth == 0)
            return i + 1;
    }
    return s.n;
}

/* Is "void" in front of it the result of a function? */
static bool begins_name(hu_str s)
{
    return is_word(s.p[0]) || hu_str_starts(s, anonymous[0]) || hu_str_starts(s, anonymous[1]);
}

/* Words that the two place differently, or that only one of them writes. */
static bool is_left_out(hu_str word, bool is_result)
{
    return hu_str_equal(word, HU_STR("const")) || (hu_str_equal(word, HU_STR("void")) && is_result);
}

/* Copies a word or a number, and returns how much of `s` it was. */
static size_t copy_word(hu_str s, char *out, size_t *n)
{
    size_t end = 0, kept;
    hu_str word;

    while (end < s.n && is_word(s.p[end]))
        end++;
    word = (hu_str){s.p, end};
    kept = end;
    if (isdigit((unsigned char)s.p[0]))
        while (kept > 1 && (s.p[kept - 1] == 'u' || s.p[kept - 1] == 'l' || s.p[kept - 1] == 'U' || s.p[kept - 1] == 'L'))
            kept--;
    if (is_left_out(word, end + 1 < s.n && s.p[end] == ' ' && begins_name((hu_str){s.p + end + 1, s.n - end - 1})))
        return end;
    if (hu_str_equal(word, HU_STR("true")) || hu_str_equal(word, HU_STR("false"))) {
        out[(*n)++] = s.p[0] == 't' ? '1' : '0';
        return end;
    }
    memcpy(out + *n, s.p, kept);
    *n += kept;
    return end;
}

/* "#1" of a lambda's "(instance 1)"; nothing of parameters.  Returns how much of `s` it was. */
static size_t copy_list(hu_str s, char *out, size_t *n)
{
    const hu_str instance = HU_STR("(instance ");

    if (cast_at(s))
        return cast_at(s);
    if (!hu_str_starts(s, instance))
        return list_at(s);
    out[(*n)++] = '#';
    for (size_t i = instance.n; i < s.n && isdigit((unsigned char)s.p[i]); i++)
        out[(*n)++] = s.p[i];
    return list_at(s);
}

static size_t copy_sign(char sign, char *out, size_t *n)
{
    if (sign != ' ')
        out[(*n)++] = sign == '[' ? '{' : sign == ']' ? '}' : sign;
    return 1;
}

/*
 * A kernel's name as both CUPTI and Nsight Compute would have it: without result, parameters, const, casts of template
 * arguments, suffixes of numbers and blanks.  Lives in `arena`; empty when there is no memory.
 */
static hu_str measured_name(hu_str name, hu_arena *arena)
{
    const hu_str s = without_parameters(name);
    char        *out = hu_arena_alloc(arena, s.n + 1);
    size_t       n = 0;

    if (!out)
        return HU_STR("");
    for (size_t i = 0; i < s.n;) {
        const hu_str rest = {s.p + i, s.n - i};

        if (hu_str_starts(rest, anonymous[0]) || hu_str_starts(rest, anonymous[1])) {
            out[n++] = '?';
            i += anonymous[hu_str_starts(rest, anonymous[1])].n;
        } else if (s.p[i] == '(') {
            i += copy_list(rest, out, &n);
        } else if (is_word(s.p[i])) {
            i += copy_word(rest, out, &n);
        } else {
            i += copy_sign(s.p[i], out, &n);
        }
    }
    return (hu_str){out, n};
}

/* "f" of "a::b::f<1,2>", of a name as above. */
static hu_str function_of(hu_str name)
{
    size_t end = 0, begin;

    while (end < name.n && name.p[end] != '<')
        end++;
    for (begin = end; begin && is_word(name.p[begin - 1]);)
        begin--;
    return (hu_str){name.p + begin, end - begin};
}

/* Rows of the trace or groups of the report, found by a hash of what they have in common. */
typedef struct {
    hu_map  by_name, by_shape, by_function; /* name; name and shape; function and shape -> the first row */
    hu_str *names;                          /* of each row, as both would have it */
    bool   *is_mixed;                       /* other names have the function and shape of this first row */
} rows;

typedef struct {
    const hu_counters      *counters;
    const hu_kernel_groups *groups;
    const hu_kernel_shapes *shapes;
    rows                    in_report, in_trace;
    uint32_t               *next;  /* by shape: the next one of the same name and shape; HU_MAP_NONE none */
    uint32_t               *same;  /* by shape: the first one of the same name and shape */
    uint64_t               *names; /* by shape: equal for equal names */
    hu_launch_places        places;
    bool                   *is_taken; /* by shape: its time is counted */
    bool                   *is_taken_class;
    int64_t                 steps;
} joining;

static const hu_counted *shown(const joining *j, size_t group)
{
    return &j->counters->kernels.at[j->groups->at[group].shown];
}

static uint64_t key_of(hu_str text, const uint64_t shape[6])
{
    uint64_t key = hu_hash_bytes(text.p, text.n);

    for (int i = 0; shape && i < 6; i++)
        key = hu_hash_u64(key ^ shape[i]);
    return key;
}

static void shape_of_group(const joining *j, size_t group, uint64_t out[6])
{
    memcpy(out, shown(j, group)->grid, 3 * sizeof *out);
    memcpy(out + 3, shown(j, group)->block, 3 * sizeof *out);
}

static void shape_of_row(const joining *j, size_t row, uint64_t out[6])
{
    for (int i = 0; i < 3; i++) {
        out[i] = j->shapes->at[row].grid[i];
        out[i + 3] = j->shapes->at[row].block[i];
    }
}

/* The first row of a key: this one where there was none.  HU_MAP_NONE when there is no memory. */
static uint32_t put_first(hu_map *map, uint64_t key, uint32_t row)
{
    uint32_t *place = hu_map_put(map, key);

    if (place && *place == HU_MAP_NONE)
        *place = row;
    return place ? *place : HU_MAP_NONE;
}

static bool add_row(rows *r, uint32_t row, hu_str name, const uint64_t shape[6], uint32_t *same_shape, hu_arena *arena)
{
    uint32_t same_function;

    r->names[row] = measured_name(name, arena);
    if (!r->names[row].p || put_first(&r->by_name, key_of(r->names[row], NULL), row) == HU_MAP_NONE)
        return false;
    *same_shape = put_first(&r->by_shape, key_of(r->names[row], shape), row);
    same_function = put_first(&r->by_function, key_of(function_of(r->names[row]), shape), row);
    if (*same_shape == HU_MAP_NONE || same_function == HU_MAP_NONE)
        return false;
    r->is_mixed[same_function] |= !hu_str_equal(r->names[same_function], r->names[row]);
    return true;
}

static bool init_rows(rows *r, size_t n, hu_arena *arena)
{
    r->names = hu_arena_calloc(arena, n + 1, sizeof *r->names);
    r->is_mixed = hu_arena_calloc(arena, n + 1, sizeof *r->is_mixed);
    return r->names && r->is_mixed && hu_map_init(&r->by_name, arena, n) && hu_map_init(&r->by_shape, arena, n) &&
           hu_map_init(&r->by_function, arena, n);
}

static bool read_rows(joining *j, hu_arena *arena)
{
    uint64_t shape[6];
    uint32_t first;

    j->next = hu_arena_calloc(arena, j->shapes->n + 1, sizeof *j->next);
    j->same = hu_arena_calloc(arena, j->shapes->n + 1, sizeof *j->same);
    j->names = hu_arena_calloc(arena, j->shapes->n + 1, sizeof *j->names);
    j->is_taken = hu_arena_calloc(arena, j->shapes->n + 1, sizeof *j->is_taken);
    if (!j->next || !j->same || !j->names || !j->is_taken || !init_rows(&j->in_report, j->groups->n, arena) ||
        !init_rows(&j->in_trace, j->shapes->n, arena))
        return false;
    for (size_t i = 0; i < j->groups->n; i++) {
        shape_of_group(j, i, shape);
        if (!add_row(&j->in_report, (uint32_t)i, shown(j, i)->name, shape, &first, arena))
            return false;
    }
    for (size_t i = 0; i < j->shapes->n; i++) {
        shape_of_row(j, i, shape);
        if (!add_row(&j->in_trace, (uint32_t)i, j->shapes->at[i].name, shape, &first, arena))
            return false;
        j->next[i] = HU_MAP_NONE;
        j->same[i] = first;
        j->names[i] = key_of(j->in_trace.names[i], NULL);
        if (first != i) { /* behind the first of them */
            j->next[i] = j->next[first];
            j->next[first] = (uint32_t)i;
        }
    }
    return true;
}

static void find_match(const joining *j, size_t group, hu_measured_kernel *out)
{
    const hu_str name = j->in_report.names[group], function = function_of(name);
    const rows  *t = &j->in_trace;
    uint64_t     shape[6], key;
    uint32_t     at, mine;

    shape_of_group(j, group, shape);
    at = hu_map_get(&t->by_shape, key_of(name, shape));
    if (at != HU_MAP_NONE && hu_str_equal(t->names[at], name)) {
        *out = (hu_measured_kernel){.match = HU_MEASURED_EXACT, .shape = at};
        return;
    }
    key = key_of(function, shape);
    at = hu_map_get(&t->by_function, key);
    mine = hu_map_get(&j->in_report.by_function, key);
    if (function.n && at != HU_MAP_NONE && mine != HU_MAP_NONE && !t->is_mixed[at] && !j->in_report.is_mixed[mine] &&
        hu_str_equal(function_of(t->names[at]), function)) {
        *out = (hu_measured_kernel){.match = HU_MEASURED_FUNCTION, .shape = at};
        return;
    }
    at = hu_map_get(&t->by_name, key_of(name, NULL));
    if (at != HU_MAP_NONE && hu_str_equal(t->names[at], name))
        *out = (hu_measured_kernel){.match = HU_MEASURED_OTHER_SHAPE, .shape = at};
}

/* Per cent of its peak of the unit that a kernel uses most; NaN unknown. */
static double busiest_pct(const hu_counted *k)
{
    return k->value[HU_COUNTER_SM_PCT] > k->value[HU_COUNTER_MEMORY_PCT] ? k->value[HU_COUNTER_SM_PCT]
                                                                         : k->value[HU_COUNTER_MEMORY_PCT];
}

/* All launches of the group's shape in the trace. */
static void take_shape(joining *j, hu_measured_kernel *out, int64_t *calls, int64_t *ns)
{
    for (uint32_t i = (uint32_t)out->shape; i != HU_MAP_NONE; i = j->next[i]) {
        const hu_kernel_shape *s = &j->shapes->at[i];

        out->calls += s->calls;
        out->total_ns += s->total_ns;
        *calls += s->calls_in_steps;
        *ns += s->steps_ns;
    }
}

/* Of all launches of the shape, those that the group stands for; the rest waits for another group, or was not measured. */
static void take_part(hu_measured_kernel *out)
{
    const hu_launch_class *c = &out->place;
    const double           share = c->step_ns / c->shape_ns;

    out->calls = out->calls * c->n / c->of;
    out->total_ns = (int64_t)((double)out->total_ns * share);
    out->calls_per_step *= (double)c->n / (double)c->of;
    out->step_ns *= share;
}

/* What no other group stands for: of a shape as a whole, or of a class of its launches. */
static void count_once(joining *j, hu_measured_kernel *out)
{
    const bool is_part = out->order == HU_ORDER_SEQUENCE || out->order == HU_ORDER_DURATIONS;
    bool      *taken = is_part ? &j->is_taken_class[out->class] : &j->is_taken[out->shape];

    out->counted_ns = *taken || j->is_taken[out->shape] ? 0 : out->total_ns;
    *taken = true;
}

static void take_times(joining *j, size_t group, hu_measured_kernel *out, hu_measured *all)
{
    const hu_counted *k = shown(j, group);
    const double      busy = busiest_pct(k);
    int64_t           calls = 0, ns = 0;

    out->calls_per_step = out->step_ns = out->slower = out->saved_ns = (double)NAN;
    if (out->match < HU_MEASURED_FUNCTION)
        return;
    take_shape(j, out, &calls, &ns);
    if (j->steps > 0) {
        out->calls_per_step = (double)calls / (double)j->steps;
        out->step_ns = (double)ns / (double)j->steps;
    }
    if (out->order == HU_ORDER_SEQUENCE || out->order == HU_ORDER_DURATIONS)
        take_part(out);
    count_once(j, out);
    all->matched_ns += out->counted_ns;
    all->n_matched++;
    if (out->total_ns > 0 && out->order != HU_ORDER_UNKNOWN)
        out->slower = k->value[HU_COUNTER_DURATION_NS] / ((double)out->total_ns / (double)out->calls);
    if (busy >= 0 && busy <= 100 && out->order != HU_ORDER_UNKNOWN)
        out->saved_ns = out->step_ns * (1 - busy / 100);
}

typedef struct {
    int64_t total_ns;
    size_t  group;
} place;

/* The longest in the trace first; what does not match stays in its order behind them. */
static int by_trace_time(const void *left, const void *right)
{
    const place *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

/* Where the launches of all groups stand in a step. */
static int find_places(joining *j, const hu_measured_kernel *matches, hu_arena *arena, hu_error *err)
{
    uint32_t          *shape_of = hu_arena_calloc(arena, j->counters->kernels.n + 1, sizeof *shape_of);
    hu_launch_question q = {.counters = j->counters,
                            .shapes = j->shapes,
                            .shape_of = shape_of,
                            .same = j->same,
                            .names = j->names,
                            .has_steps = j->steps > 0};

    if (!shape_of)
        return hu_fail_memory(err);
    for (size_t i = 0; i < j->counters->kernels.n; i++) {
        const hu_measured_kernel *m = &matches[j->groups->of[i]];

        shape_of[i] = m->match >= HU_MEASURED_FUNCTION ? j->same[m->shape] : HU_MAP_NONE;
    }
    return hu_launch_places_find(&q, arena, &j->places, err);
}

typedef struct {
    const hu_counted *launch;
    uint32_t class;
} member;

static int by_class(const void *left, const void *right)
{
    const member *a = left, *b = right;

    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return (a->launch > b->launch) - (a->launch < b->launch);
}

typedef struct {
    hu_kernel_groups   *groups;
    hu_measured_kernel *at;
} split_list;

/* A group as it is, or one for each class of its launches, `n` of them. */
static void split(const joining *j, hu_measured_kernel m, const hu_kernel_group *group, member *of, size_t n,
                  const hu_counted **room, split_list *out)
{
    const bool is_matched = m.match >= HU_MEASURED_FUNCTION;

    for (size_t i = 0; is_matched && i < n; i++) {
        const hu_launch_order order = j->places.order[of[i].launch - j->counters->kernels.at];

        m.order = order > m.order ? order : m.order;
    }
    if (!is_matched || (m.order != HU_ORDER_SEQUENCE && m.order != HU_ORDER_DURATIONS)) {
        out->groups->at[out->groups->n] = *group;
        out->at[out->groups->n++] = m;
        return;
    }
    qsort(of, n, sizeof *of, by_class);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && of[end].class == of[i].class; end++)
            room[end - i] = of[end].launch;
        hu_kernel_group_of(j->counters, room, end - i, &out->groups->at[out->groups->n]);
        m.class = of[i].class;
        m.place = j->places.classes[m.class];
        out->at[out->groups->n++] = m;
    }
}

/* One group for each class that was measured.  False when there is no memory. */
static bool split_all(const joining *j, const hu_measured_kernel *matches, hu_arena *arena, hu_measured *out)
{
    const size_t       n = j->counters->kernels.n;
    member            *of = hu_arena_calloc(arena, n + 1, sizeof *of);
    size_t            *ends = hu_arena_calloc(arena, j->groups->n + 1, sizeof *ends);
    const hu_counted **room = hu_arena_calloc(arena, n + 1, sizeof *room);
    split_list         list = {&out->groups, hu_arena_calloc(arena, n + 1, sizeof *out->at)};

    out->groups = (hu_kernel_groups){.at = hu_arena_calloc(arena, n + 1, sizeof *out->groups.at),
                                     .total_ns = j->groups->total_ns};
    if (!of || !ends || !room || !list.at || !out->groups.at)
        return false;
    for (size_t g = 0, end = 0; g < j->groups->n; g++) {
        ends[g] = end; /* becomes the end when its launches are put behind it */
        end += j->groups->at[g].n;
    }
    for (size_t i = 0; i < n; i++)
        of[ends[j->groups->of[i]]++] = (member){&j->counters->kernels.at[i], j->places.class_of[i]};
    for (size_t g = 0; g < j->groups->n; g++)
        split(j, matches[g], &j->groups->at[g], of + (ends[g] - j->groups->at[g].n), j->groups->at[g].n, room, &list);
    out->at = list.at;
    out->n = out->groups.n;
    return true;
}

int hu_measured_join(const hu_counters *counters, const hu_kernel_groups *groups, const hu_kernel_shapes *shapes,
                     int64_t steps, double step_ns, hu_arena *arena, hu_measured *out, hu_error *err)
{
    joining             j = {.counters = counters, .groups = groups, .shapes = shapes, .steps = steps};
    hu_measured_kernel *matches = hu_arena_calloc(arena, groups->n + 1, sizeof *matches);
    place              *places;
    int                 rc;

    *out = (hu_measured){.steps = steps, .step_ns = steps > 0 ? step_ns : (double)NAN, .shapes = shapes};
    if (!matches || !read_rows(&j, arena))
        return hu_fail_memory(err);
    for (size_t i = 0; i < groups->n; i++)
        find_match(&j, i, &matches[i]);
    rc = find_places(&j, matches, arena, err);
    if (rc < 0)
        return rc;
    if (!split_all(&j, matches, arena, out))
        return hu_fail_memory(err);
    out->orders = j.places.shapes;
    j.groups = &out->groups;
    j.is_taken_class = hu_arena_calloc(arena, j.places.n_classes + 1, sizeof *j.is_taken_class);
    places = hu_arena_calloc(arena, out->n + 1, sizeof *places);
    out->order = hu_arena_calloc(arena, out->n + 1, sizeof *out->order);
    if (!j.is_taken_class || !places || !out->order)
        return hu_fail_memory(err);
    for (size_t i = 0; i < shapes->n; i++)
        out->all_ns += shapes->at[i].total_ns;
    for (size_t i = 0; i < out->n; i++) {
        take_times(&j, i, &out->at[i], out);
        places[i] = (place){out->at[i].total_ns, i};
    }
    if (out->n > 1)
        qsort(places, out->n, sizeof *places, by_trace_time);
    for (size_t i = 0; i < out->n; i++)
        out->order[i] = places[i].group;
    return 0;
}
