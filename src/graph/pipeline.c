/* SPDX-License-Identifier: Apache-2.0
 * pipeline.c - each step of a job as a graph, in an order in which everything comes behind what it waits for.
 *
 * What waits for what on a worker, and who meets whom: pipeline_chains.c, pipeline_peers.c.
 *
 * Time of what meets: a member that came early waited.  The transfer is from the last arrival on,
 *
 *     cost(o) = end(o) - max over the group of start
 *
 * Clocks that disagree make it slightly negative, and are left so, because their errors cancel over many; beyond
 * HU_PIPELINE_CLOCK_NS it is 0.
 */
#include "graph/pipeline_build.h"

#include <stdio.h>
#include <stdlib.h>

static void collect_part(hu_pipeline_work *w, hu_pipeline_part *part)
{
    uint32_t place[HU_OPERATION_COUNT];

    memset(part->list_first, 0, sizeof part->list_first);
    for (uint32_t i = 0; i < part->n; i++)
        part->list_first[w->at[part->first + i].kind + 1]++;
    for (int k = 0; k < HU_OPERATION_COUNT; k++) {
        part->list_first[k + 1] += part->list_first[k];
        place[k] = part->list_first[k];
    }
    part->list = w->lists.at + part->first;
    part->computes = w->computes.at + part->first;
    part->n_computes = 0;
    for (uint32_t i = part->first; i < part->first + part->n; i++) {
        const uint8_t kind = w->at[i].kind;

        part->list[place[kind]++] = i;
        if (kind == HU_OPERATION_FORWARD || kind == HU_OPERATION_BACKWARD)
            part->computes[part->n_computes++] = i;
    }
}

static uint32_t find_worker(const hu_pipeline *p, uint32_t dp, uint32_t stage)
{
    size_t low = 0, high = p->n_workers;

    while (low < high) {
        const size_t              middle = (low + high) / 2;
        const hu_pipeline_worker *x = &p->workers[middle];

        if (x->dp < dp || (x->dp == dp && x->stage < stage))
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* The step's rows by worker; false when there is no memory. */
static bool collect(hu_pipeline_work *w)
{
    w->parts.n = w->waits.n = 0;
    if (!hu_vec_make_room(w->arena, (void **)&w->lists.at, &w->lists.cap, w->n, sizeof *w->lists.at) ||
        !hu_vec_make_room(w->arena, (void **)&w->computes.at, &w->computes.cap, w->n, sizeof *w->computes.at) ||
        !hu_vec_make_room(w->arena, (void **)&w->meets.at, &w->meets.cap, w->n, sizeof *w->meets.at) ||
        !hu_vec_make_room(w->arena, (void **)&w->match.at, &w->match.cap, w->n, sizeof *w->match.at) ||
        !hu_vec_make_room(w->arena, (void **)&w->cargo.at, &w->cargo.cap, w->n, sizeof *w->cargo.at))
        return false;
    for (uint32_t i = 0; i < w->n; i++) {
        hu_pipeline_part *last = w->parts.n ? &w->parts.at[w->parts.n - 1] : NULL;

        w->meets.at[i] = i;
        w->match.at[i] = HU_PIPELINE_NONE;
        w->cargo.at[i] = HU_CARGO_NONE;
        if (last && last->dp == w->at[i].dp && last->stage == w->at[i].stage) {
            last->n++;
            continue;
        }
        if (!hu_vec_push(w->arena, &w->parts,
                         ((hu_pipeline_part){.dp = w->at[i].dp,
                                             .stage = w->at[i].stage,
                                             .worker = find_worker(w->p, w->at[i].dp, w->at[i].stage),
                                             .first = i,
                                             .n = 1})))
            return false;
    }
    for (size_t i = 0; i < w->parts.n; i++)
        collect_part(w, &w->parts.at[i]);
    return true;
}

static const char *say(hu_pipeline_work *w, hu_arena *arena, const char *text)
{
    const hu_str copy = hu_arena_copy(arena, hu_str_of(text));

    w->is_short |= !copy.p;
    return copy.p ? copy.p : "";
}

/* What shows that rows of the step are missing, in words; NULL when nothing does. */
static const char *find_hole(hu_pipeline_work *w, hu_arena *arena)
{
    const hu_pipeline_part *like[HU_OPERATIONS_STAGES] = {NULL};
    char                    text[160];

    if (w->parts.n != w->p->n_workers) {
        snprintf(text, sizeof text, "%zu of %zu workers have rows", w->parts.n, w->p->n_workers);
        return say(w, arena, text);
    }
    for (size_t i = 0; i < w->parts.n; i++) {
        const hu_pipeline_part *part = &w->parts.at[i], *before = i ? part - 1 : part, *twin = like[part->stage];
        const uint32_t          forward = hu_pipeline_count(part, HU_OPERATION_FORWARD);

        if (forward != hu_pipeline_count(part, HU_OPERATION_BACKWARD) || forward == 0) {
            snprintf(text, sizeof text, "dp %u stage %u has %u forward and %u backward passes", part->dp, part->stage,
                     forward, hu_pipeline_count(part, HU_OPERATION_BACKWARD));
            return say(w, arena, text);
        }
        if (before->dp == part->dp && forward != hu_pipeline_count(before, HU_OPERATION_FORWARD)) {
            snprintf(text, sizeof text, "dp %u has %u forward passes in stage %u and %u in stage %u", part->dp,
                     hu_pipeline_count(before, HU_OPERATION_FORWARD), before->stage, forward, part->stage);
            return say(w, arena, text);
        }
        like[part->stage] = part;
        for (hu_operation_kind k = 0; twin && k < HU_OPERATION_COUNT; k++) {
            const bool meets = k == HU_OPERATION_PARAMS || k == HU_OPERATION_GRADS || k == HU_OPERATION_SEPARATE_GRADS ||
                               k == HU_OPERATION_CLIP || k == HU_OPERATION_OPTIMIZER || k == HU_OPERATION_EMBEDDING_GRADS;

            if (meets && hu_pipeline_count(part, k) != hu_pipeline_count(twin, k)) {
                snprintf(text, sizeof text, "stage %u has %u %s in dp %u and %u in dp %u", part->stage,
                         hu_pipeline_count(twin, k), hu_operation_name(k), twin->dp, hu_pipeline_count(part, k), part->dp);
                return say(w, arena, text);
            }
        }
    }
    return NULL;
}

/* Room for ordering one step, by row; the arena of the work holds it. */
typedef struct {
    uint32_t *open;                /* of a group's first row: waits that are not over */
    uint32_t *next;                /* the next member of a row's group */
    uint32_t *tail;                /* of a group's first row: its last member so far */
    uint32_t *after_first, *after; /* n + 1, and who waits for each row */
    uint32_t *queue;               /* first rows of groups, in the order in which they are ready */
    uint32_t *number;              /* of each row in the order that results */
} ordering;

static bool take_ordering(hu_pipeline_work *w, hu_arena *arena, ordering *o)
{
    const size_t n = w->n;

    o->open = hu_arena_calloc(arena, n, sizeof *o->open);
    o->next = hu_arena_calloc(arena, n, sizeof *o->next);
    o->tail = hu_arena_calloc(arena, n, sizeof *o->tail);
    o->after_first = hu_arena_calloc(arena, n + 2, sizeof *o->after_first);
    o->after = hu_arena_calloc(arena, w->waits.n + 1, sizeof *o->after);
    o->queue = hu_arena_calloc(arena, n, sizeof *o->queue);
    o->number = hu_arena_calloc(arena, n, sizeof *o->number);
    return o->open && o->next && o->tail && o->after_first && o->after && o->queue && o->number;
}

static void index_waits(const hu_pipeline_work *w, ordering *o)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const uint32_t first = w->meets.at[i];

        o->next[i] = HU_PIPELINE_NONE;
        if (first != i)
            o->next[o->tail[first]] = i;
        o->tail[first] = i;
    }
    for (size_t i = 0; i < w->waits.n; i++) {
        o->after_first[w->waits.at[i].from + 2]++;
        o->open[w->meets.at[w->waits.at[i].to]]++;
    }
    for (uint32_t i = 0; i < w->n; i++)
        o->after_first[i + 2] += o->after_first[i + 1];
    for (size_t i = 0; i < w->waits.n; i++)
        o->after[o->after_first[w->waits.at[i].from + 1]++] = w->waits.at[i].to;
}

/* Numbers the rows; returns how many groups could be ordered, and how many rows are in them. */
static uint32_t order_rows(const hu_pipeline_work *w, ordering *o, uint32_t *n_rows)
{
    uint32_t head = 0, tail = 0, n = 0;

    for (uint32_t i = 0; i < w->n; i++)
        if (w->meets.at[i] == i && o->open[i] == 0)
            o->queue[tail++] = i;
    for (; head < tail; head++) {
        for (uint32_t i = o->queue[head]; i != HU_PIPELINE_NONE; i = o->next[i]) {
            o->number[i] = n++;
            for (uint32_t k = o->after_first[i]; k < o->after_first[i + 1]; k++) {
                const uint32_t group = w->meets.at[o->after[k]];

                if (--o->open[group] == 0)
                    o->queue[tail++] = group;
            }
        }
    }
    *n_rows = n;
    return head;
}

typedef struct {
    uint32_t *group_first, *wait_first, *waits, *worker, *row;
    uint8_t  *kind;
    bool     *is_frozen, *is_first;
} columns;

static bool take_columns(const hu_pipeline_work *w, hu_arena *arena, uint32_t n_groups, columns *c, hu_pipeline_step *s)
{
    const size_t n = w->n;

    c->group_first = hu_arena_calloc(arena, (size_t)n_groups + 1, sizeof *c->group_first);
    c->wait_first = hu_arena_calloc(arena, n + 2, sizeof *c->wait_first);
    c->waits = hu_arena_calloc(arena, w->waits.n + 1, sizeof *c->waits);
    c->worker = hu_arena_calloc(arena, n, sizeof *c->worker);
    c->row = hu_arena_calloc(arena, n, sizeof *c->row);
    c->kind = hu_arena_calloc(arena, n, sizeof *c->kind);
    c->is_frozen = hu_arena_calloc(arena, n, sizeof *c->is_frozen);
    c->is_first = hu_arena_calloc(arena, n, sizeof *c->is_first);
    s->cost_ns = hu_arena_calloc(arena, n, sizeof *s->cost_ns);
    s->delay_ns = hu_arena_calloc(arena, n, sizeof *s->delay_ns);
    s->scratch = hu_arena_calloc(arena, 4 * n, sizeof *s->scratch);
    *s = (hu_pipeline_step){.step = s->step,
                            .n = w->n,
                            .n_groups = n_groups,
                            .group_first = c->group_first,
                            .wait_first = c->wait_first,
                            .waits = c->waits,
                            .worker = c->worker,
                            .row = c->row,
                            .kind = c->kind,
                            .is_frozen = c->is_frozen,
                            .is_first = c->is_first,
                            .cost_ns = s->cost_ns,
                            .delay_ns = s->delay_ns,
                            .scratch = s->scratch,
                            .measured_ns = s->measured_ns};
    return c->group_first && c->wait_first && c->waits && c->worker && c->row && c->kind && c->is_frozen && c->is_first &&
           s->cost_ns && s->delay_ns && s->scratch;
}

static void fill_columns(const hu_pipeline_work *w, const ordering *o, columns *c, uint32_t first_row, hu_pipeline_step *s)
{
    uint32_t n = 0;

    for (size_t i = 0; i < w->parts.n; i++) {
        const hu_pipeline_part *part = &w->parts.at[i];
        const hu_operation_kind begins = part->stage == 0 ? HU_OPERATION_FORWARD : HU_OPERATION_FORWARD_RECV;

        for (uint32_t k = part->first; k < part->first + part->n; k++) {
            const uint32_t number = o->number[k];

            c->worker[number] = part->worker;
            c->row[number] = first_row + k;
            c->kind[number] = w->at[k].kind;
            c->is_frozen[number] = w->cargo.at[k] == HU_CARGO_CARRIED;
            s->unpaired += w->cargo.at[k] == HU_CARGO_CARRIED || w->cargo.at[k] == HU_CARGO_LONE;
        }
        if (hu_pipeline_count(part, begins))
            c->is_first[o->number[hu_pipeline_list(part, begins)[0]]] = true;
    }
    for (uint32_t group = 0, i; n < w->n; group++) {
        c->group_first[group] = n;
        for (i = o->queue[group]; i != HU_PIPELINE_NONE; i = o->next[i])
            n++;
        c->group_first[group + 1] = n;
    }
    for (size_t i = 0; i < w->waits.n; i++)
        c->wait_first[o->number[w->waits.at[i].to] + 2]++;
    for (uint32_t i = 0; i < w->n; i++)
        c->wait_first[i + 2] += c->wait_first[i + 1];
    for (size_t i = 0; i < w->waits.n; i++)
        c->waits[c->wait_first[o->number[w->waits.at[i].to] + 1]++] = o->number[w->waits.at[i].from];
}

/* When an operation could have begun: what it waits for has ended. */
static int64_t ready_ns(const hu_operation *table, const hu_pipeline_step *s, uint32_t i, int64_t begin_ns)
{
    int64_t ready = s->wait_first[i] < s->wait_first[i + 1] ? INT64_MIN : begin_ns;

    for (uint32_t k = s->wait_first[i]; k < s->wait_first[i + 1]; k++) {
        const int64_t end = hu_operation_end_ns(&table[s->row[s->waits[k]]]);

        if (end > ready)
            ready = end;
    }
    return ready;
}

/* Costs and delays as they were: from the last arrival on, and from when it could have begun. */
static void measure(const hu_pipeline_work *w, hu_pipeline_step *s, uint32_t first_row, int64_t begin_ns)
{
    const hu_operation *table = w->p->table->at;

    for (uint32_t g = 0; g < s->n_groups; g++) {
        int64_t last = INT64_MIN;

        for (uint32_t i = s->group_first[g]; i < s->group_first[g + 1]; i++)
            if (table[s->row[i]].start_ns > last)
                last = table[s->row[i]].start_ns;
        for (uint32_t i = s->group_first[g]; i < s->group_first[g + 1]; i++) {
            const hu_operation *o = &table[s->row[i]];
            const int64_t       ready = ready_ns(table, s, i, begin_ns);
            const bool          is_lone = w->cargo.at[s->row[i] - first_row] == HU_CARGO_LONE && ready > last;
            const int64_t       cost = hu_operation_end_ns(o) - (is_lone ? ready : last);
            const int64_t       delay = is_lone ? 0 : o->start_ns - ready;

            s->cost_ns[i] = cost <= -HU_PIPELINE_CLOCK_NS ? 0 : (double)cost;
            s->delay_ns[i] = delay <= -HU_PIPELINE_CLOCK_NS ? 0 : (double)delay;
        }
    }
}

/* Draws one step; `scratch` is for this step alone.  False when there is no memory. */
static bool build_step(hu_pipeline_work *w, hu_arena *arena, hu_arena *scratch, uint32_t first_row, int64_t begin_ns,
                       hu_pipeline_step *s)
{
    ordering o;
    columns  c;
    uint32_t n_groups, n_rows;

    if (!collect(w))
        return false;
    s->left_out = find_hole(w, arena);
    if (s->left_out)
        return !w->is_short;
    hu_pipeline_chains(w);
    hu_pipeline_peers(w);
    if (w->is_short || !take_ordering(w, scratch, &o))
        return false;
    index_waits(w, &o);
    n_groups = order_rows(w, &o, &n_rows);
    if (n_rows < w->n) {
        s->left_out = "its operations wait for each other in a cycle; are rows duplicated or out of order";
        return true;
    }
    if (!take_columns(w, arena, n_groups, &c, s))
        return false;
    fill_columns(w, &o, &c, first_row, s);
    measure(w, s, first_row, begin_ns);
    return true;
}

static int by_worker(const void *a, const void *b)
{
    const hu_pipeline_worker *x = a, *y = b;

    return x->dp != y->dp ? (x->dp > y->dp) - (x->dp < y->dp) : (x->stage > y->stage) - (x->stage < y->stage);
}

/* Who works in the job, and its shape. */
static bool survey(hu_pipeline *p, hu_arena *arena)
{
    HU_VEC(hu_pipeline_worker) workers = {0};
    hu_map        seen;
    bool          has_dp[HU_OPERATIONS_DP] = {false};
    const int64_t none = -1;
    int64_t       last_chunk = none, last_model_chunk = none;

    if (!hu_map_init(&seen, arena, 64))
        return false;
    for (size_t i = 0; i < p->table->n; i++) {
        const hu_operation *o = &p->table->at[i];
        uint32_t           *place;

        p->n_steps += i == 0 || o->step != o[-1].step;
        if (i == 0 || o->dp != o[-1].dp || o->stage != o[-1].stage) {
            place = hu_map_put(&seen, (uint64_t)o->dp << 32 | o->stage);
            if (!place)
                return false;
            if (*place == HU_MAP_NONE) {
                *place = (uint32_t)workers.n;
                if (!hu_vec_push(arena, &workers, ((hu_pipeline_worker){o->dp, o->stage, o->rank})))
                    return false;
            }
        }
        p->n_dp_seen += !has_dp[o->dp];
        has_dp[o->dp] = true;
        p->n_dp = o->dp >= p->n_dp ? o->dp + 1 : p->n_dp;
        p->n_stages = o->stage >= p->n_stages ? o->stage + 1 : p->n_stages;
        p->has_dp |= o->kind == HU_OPERATION_PARAMS || o->kind == HU_OPERATION_GRADS ||
                     o->kind == HU_OPERATION_SEPARATE_GRADS;
        p->overlaps_grads |= o->kind == HU_OPERATION_SEPARATE_GRADS;
        if (o->kind == HU_OPERATION_FORWARD || o->kind == HU_OPERATION_BACKWARD) {
            last_chunk = o->chunk > last_chunk ? o->chunk : last_chunk;
            last_model_chunk = o->model_chunk > last_model_chunk ? o->model_chunk : last_model_chunk;
        }
    }
    hu_map_drop(&seen);
    p->n_model_chunks = (last_chunk < 0 ? 1 : last_chunk + 1) * p->n_stages;
    if (last_model_chunk >= p->n_model_chunks)
        p->n_model_chunks = last_model_chunk + 1;
    p->workers = workers.at;
    p->n_workers = workers.n;
    qsort(p->workers, p->n_workers, sizeof *p->workers, by_worker);
    return true;
}

static int fail_empty(const hu_pipeline *p, hu_error *err)
{
    return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET,
                   "no step is complete: in step %lld %s; at least some steps need all operations of all workers",
                   (long long)p->steps[0].step, p->steps[0].left_out);
}

static bool build_steps(hu_pipeline_work *w, hu_arena *arena)
{
    const hu_operations *t = w->p->table;
    size_t               k = 0;

    for (size_t i = 0, end; i < t->n; i = end, k++) {
        hu_pipeline_step *s = &w->p->steps[k];
        hu_arena         *scratch = hu_arena_new();
        int64_t           begin = INT64_MAX, last = INT64_MIN;
        bool              good;

        for (end = i; end < t->n && t->at[end].step == t->at[i].step; end++) {
            const int64_t end_ns = hu_operation_end_ns(&t->at[end]);

            begin = t->at[end].start_ns < begin ? t->at[end].start_ns : begin;
            last = end_ns > last ? end_ns : last;
        }
        *s = (hu_pipeline_step){.step = t->at[i].step, .measured_ns = (double)(last - begin)};
        w->at = t->at + i;
        w->n = (uint32_t)(end - i);
        good = scratch && build_step(w, arena, scratch, (uint32_t)i, begin, s);
        hu_arena_free(scratch);
        if (!good)
            return false;
        w->p->n_kept += !s->left_out;
    }
    return true;
}

int hu_pipeline_build(const hu_operations *table, hu_arena *arena, hu_pipeline *out, hu_error *err)
{
    hu_pipeline_work w = {.p = out};
    bool             good;

    *out = (hu_pipeline){.table = table};
    if (table->n == 0)
        return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET, "no operations; record some steps of the job");
    w.arena = hu_arena_new();
    good = w.arena && survey(out, arena) && (out->steps = hu_arena_calloc(arena, out->n_steps, sizeof *out->steps)) &&
           build_steps(&w, arena);
    hu_arena_free(w.arena);
    if (!good)
        return hu_fail_memory(err);
    return out->n_kept ? 0 : fail_empty(out, err);
}

double hu_pipeline_replay(const hu_pipeline_step *s, const double *cost_ns, const double *delay_ns, double *end)
{
    double last = 0, last_optimizer = 0;
    bool   has_optimizer = false;

    for (uint32_t g = 0; g < s->n_groups; g++) {
        double begin = 0;
        bool   is_first = true;

        for (uint32_t i = s->group_first[g]; i < s->group_first[g + 1]; i++) {
            const uint32_t *wait = s->waits + s->wait_first[i], *waits_end = s->waits + s->wait_first[i + 1];
            double          start = wait < waits_end ? end[*wait] : 0;

            for (; wait < waits_end; wait++)
                start = end[*wait] > start ? end[*wait] : start;
            if (delay_ns)
                start += delay_ns[i];
            begin = is_first || start > begin ? start : begin;
            is_first = false;
        }
        for (uint32_t i = s->group_first[g]; i < s->group_first[g + 1]; i++) {
            end[i] = begin + cost_ns[i];
            last = end[i] > last ? end[i] : last;
            if (s->kind[i] == HU_OPERATION_OPTIMIZER) {
                has_optimizer = true;
                last_optimizer = end[i] > last_optimizer ? end[i] : last_optimizer;
            }
        }
    }
    return has_optimizer ? last_optimizer : last;
}
