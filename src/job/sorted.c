/* SPDX-License-Identifier: Apache-2.0
 * sorted.c - by what was seen of each file. */
#include "job/sorted.h"

#include <string.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "ingest/flight_recorder.h"
#include "job/below.h"

/* CPU samples alone, and no rank: beside traces they would be a second one, of a program that never waits. */
static bool has_samples_alone(const hu_glance *seen)
{
    return hu_glance_is_of(seen, "perf-data") || hu_glance_is_of(seen, "perf-script") || hu_glance_is_of(seen, "perf-json");
}

typedef struct {
    const hu_inputs *inputs;
    hu_input_kind   *kinds;
    bool            *are_samples;
} work;

/* Where the user says how a log prints a step, any text may be one. */
static void look_for_text(void *context, size_t i)
{
    const work *w = context;

    w->kinds[i] = hu_input_kind_of_text(w->inputs->at[i], hu_glances_limits(w->inputs->glances));
}

/* Returns 0 or HU_ENOMEM. */
static int find_kinds(work *w, bool any_text, hu_error *err)
{
    const hu_inputs  *inputs = w->inputs;
    const hu_glance **seen = hu_glances_each(inputs->glances, inputs->at, inputs->n, err);

    if (!seen)
        return err->code;
    for (size_t i = 0; i < inputs->n; i++) {
        w->kinds[i] = seen[i]->kind;
        w->are_samples[i] = inputs->n > 1 && has_samples_alone(seen[i]);
    }
    if (any_text)
        hu_thread_each(inputs->n, hu_thread_count(), look_for_text, w);
    for (size_t i = 0; i < inputs->n; i++)
        w->are_samples[i] &= w->kinds[i] == HU_INPUT_RANK;
    return 0;
}

/* Bytes on disk of those that are read as ranks. */
static uint64_t bytes_without(const hu_inputs *inputs, const hu_input_kind *kinds)
{
    uint64_t    bytes = inputs->bytes;
    struct stat st;

    for (size_t i = 0; i < inputs->n; i++)
        if (kinds[i] != HU_INPUT_RANK && stat(inputs->at[i], &st) == 0 && bytes >= (uint64_t)st.st_size)
            bytes -= (uint64_t)st.st_size;
    return bytes;
}

/* The job joins execution traces to its ranks (executions.h). */
static void join_ranks(hu_input_kind *kinds, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++)
        any |= kinds[i] == HU_INPUT_RANK;
    for (size_t i = 0; any && i < n; i++)
        if (kinds[i] == HU_INPUT_EXECUTION)
            kinds[i] = HU_INPUT_RANK;
}

/* Samples beside traces are left out, and said; they have kind HU_INPUT_KINDS then. */
static int leave_samples(const work *w, hu_arena *arena, hu_unread_list *unread, hu_error *err)
{
    bool any = false;
    int  rc = 0;

    for (size_t i = 0; i < w->inputs->n; i++)
        any |= w->kinds[i] == HU_INPUT_RANK && !w->are_samples[i];
    for (size_t i = 0; any && rc == 0 && i < w->inputs->n; i++)
        if (w->are_samples[i]) {
            w->kinds[i] = HU_INPUT_KINDS;
            rc = hu_unread_add(unread, arena, hu_str_of(w->inputs->at[i]),
                               HU_STR("CPU samples of perf are reported alone: holdup report FILE"), err);
        }
    return rc;
}

int hu_inputs_sort(const hu_inputs *inputs, bool any_text, hu_arena *arena, hu_sorted_inputs *out, hu_error *err)
{
    work w = {inputs, hu_arena_calloc(arena, inputs->n + 1, sizeof *w.kinds),
              hu_arena_calloc(arena, inputs->n + 1, sizeof *w.are_samples)};

    *out = (hu_sorted_inputs){0};
    if (!w.kinds || !w.are_samples)
        return hu_fail_memory(err);
    if (find_kinds(&w, any_text, err) < 0)
        return err->code;
    join_ranks(w.kinds, inputs->n);
    out->of[HU_INPUT_RANK].unread = inputs->unread;
    if (leave_samples(&w, arena, &out->of[HU_INPUT_RANK].unread, err) < 0)
        return err->code;
    for (hu_input_kind k = 0; k < HU_INPUT_KINDS; k++) {
        out->of[k].at = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->of[k].at);
        if (!out->of[k].at)
            return hu_fail_memory(err);
        for (size_t i = 0; i < inputs->n; i++)
            if (w.kinds[i] == k)
                out->of[k].at[out->of[k].n++] = inputs->at[i];
    }
    out->of[HU_INPUT_RANK].glances = inputs->glances;
    out->of[HU_INPUT_RANK].left = inputs->left;
    out->of[HU_INPUT_RANK].bytes = bytes_without(inputs, w.kinds);
    return 0;
}

/* "ras", "ras.2": of other endings, sources of programs have such names, too. */
static bool has_no_ending(hu_str name)
{
    const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;

    return !dot || (dot + 1 < name.p + name.n && dot[1] >= '0' && dot[1] <= '9');
}

/* Named as such files are; what they hold decides. */
static bool may_lie_beside(const char *file)
{
    static const hu_str packed[] = {{".gz", 3}, {".zst", 4}},
                        ends[] = {{".ncu-rep", 8}, {".pickle", 7}, {".pkl", 4},    {".log", 4},        {".out", 4},
                                  {".err", 4},     {".txt", 4},    {".csv", 4},    {".tsv", 4},        {".jsonl", 6},
                                  {".prom", 5},    {".json", 5},   {".folded", 7}, {".collapsed", 10}, {".speedscope", 11},
                                  {".pprof", 6},   {".pb", 3}},
                        ras[] = {{"ras", 3}, {"nccl_ras", 8}, {"nccl-ras", 8}, {"ncclras", 7}};
    const hu_str whole = hu_str_base_name(hu_str_of(file));
    hu_str       name = whole;

    for (size_t i = 0; i < HU_COUNT(packed); i++)
        if (hu_str_ends(name, packed[i])) {
            name.n -= packed[i].n;
            break;
        }
    for (size_t i = 0; i < HU_COUNT(ends); i++)
        if (hu_str_ends(name, ends[i]))
            return true;
    for (size_t i = 0; i < HU_COUNT(ras); i++)
        if (hu_str_starts(name, ras[i]) && has_no_ending(name))
            return true;
    return hu_flight_recorder_rank(whole.p) >= 0;
}

typedef HU_VEC(const char *) path_list;

/* "run//a" is "run/a". */
static bool is_same_path(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (a[0] == '/' && a[1] == '/')
            a++;
        while (b[0] == '/' && b[1] == '/')
            b++;
        if (*a != *b || !*a)
            return *a == *b;
    }
}

/* From *next on, behind the last one that was found: of ten thousand ranks both are in the order of their names. */
static bool is_listed(const hu_inputs *inputs, const char *path, size_t *next)
{
    for (size_t k = 0; inputs && k < inputs->n; k++) {
        const size_t i = (*next + k) % inputs->n;

        if (is_same_path(inputs->at[i], path)) {
            *next = i + 1;
            return true;
        }
    }
    return false;
}

static void leave(hu_left *left, const char *path, bool is_trace)
{
    if (hu_str_ends(hu_str_of(path), HU_STR(".html"))) /* an answer: a page of an earlier report */
        return;
    if (left->n < HU_LEFT_NAMED)
        left->at[left->n] = path;
    left->n++;
    left->n_traces += is_trace;
}

/* Results are told alone, where nothing else was found.  A snapshot is read as a trace, which sets it apart; other pickles
   are of no concern. */
static bool is_wanted(const hu_glance *seen, bool is_alone)
{
    return seen->kind == HU_INPUT_RESULTS || seen->kind == HU_INPUT_PROFILE
               ? is_alone
               : seen->kind != HU_INPUT_RANK || hu_glance_is_of(seen, "torch-memory-snapshot");
}

/* Of memory_profiler, by its beginning: other files that end so are data, and large. */
static bool is_curve(const hu_glances *glances, const char *path)
{
    return hu_str_ends(hu_str_of(path), HU_STR(".dat")) && hu_glance_briefly(glances, path).is_curve;
}

/* Those whose names say that they may be of the run. */
static int look_at_all(hu_glances *glances, const hu_below *below, hu_arena *arena, hu_error *err)
{
    path_list paths = {0};

    for (size_t i = 0; i < below->files.n; i++) {
        const char *path = below->files.at[i].path;

        if ((hu_inputs_is_trace(path) || may_lie_beside(path)) && !hu_vec_push(arena, &paths, path))
            return hu_fail_memory(err);
    }
    return hu_glances_take(glances, paths.at, paths.n, err);
}

typedef struct {
    const hu_inputs *listed; /* NULL: nothing is */
    size_t           next;   /* of them, probably */
    hu_glances      *glances;
    hu_inputs       *out;
    hu_left         *left; /* what is not read */
} search;

/* What was recorded beside the traces is taken, the rest is left.  Returns 0 or HU_ENOMEM. */
static int take(search *s, const hu_file_below *file, hu_error *err)
{
    const bool       is_named = hu_inputs_is_trace(file->path), may_lie = may_lie_beside(file->path);
    const hu_glance *seen = NULL;
    bool             is_trace;

    if (is_listed(s->listed, file->path, &s->next))
        return 0;
    if ((is_named || may_lie) && !(seen = hu_glances_at(s->glances, file->path, err)))
        return err->code;
    is_trace = is_named && !seen->is_stray;
    if (is_trace && file->depth == 0) /* a rank, or what one stands for */
        return 0;
    if ((may_lie && is_wanted(seen, !s->listed)) || (!s->listed && is_curve(s->glances, file->path)))
        s->out->at[s->out->n++] = file->path;
    else
        leave(s->left, file->path, is_trace);
    return 0;
}

/* What is not in `listed` yet. */
static int find_beside(const char *folder, const hu_inputs *listed, hu_glances *glances, hu_arena *arena, hu_inputs *out,
                       hu_left *left, hu_error *err)
{
    search   s = {.listed = listed, .glances = glances, .out = out, .left = left};
    hu_below below;
    int      rc = hu_below_find(folder, arena, &below, err);

    *out = (hu_inputs){.at = rc < 0 ? NULL : hu_arena_calloc(arena, below.files.n + 1, sizeof *out->at), .glances = glances};
    if (rc == 0 && !out->at)
        rc = hu_fail_memory(err);
    if (rc == 0)
        rc = look_at_all(glances, &below, arena, err);
    for (size_t i = 0; rc == 0 && i < below.files.n; i++)
        rc = take(&s, &below.files.at[i], err);
    return rc;
}

int hu_inputs_beside_of(const char *folder, hu_glances *glances, hu_arena *arena, hu_inputs *out, hu_error *err)
{
    hu_left left = {0};

    return find_beside(folder, NULL, glances, arena, out, &left, err);
}

int hu_inputs_add_beside(char **paths, size_t n, hu_arena *arena, hu_inputs *inputs, hu_error *err)
{
    path_list    list = {0};
    const char **at;
    struct stat  st;

    for (size_t i = 0; i < n; i++) {
        hu_inputs found = {0};

        if (stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode) &&
            find_beside(paths[i], inputs, inputs->glances, arena, &found, &inputs->left, err) < 0)
            return err->code;
        for (size_t k = 0; k < found.n; k++)
            if (!hu_vec_push(arena, &list, found.at[k]))
                return hu_fail_memory(err);
    }
    if (list.n == 0)
        return 0;
    at = hu_arena_alloc(arena, (inputs->n + list.n) * sizeof *at);
    if (!at)
        return hu_fail_memory(err);
    memcpy(at, inputs->at, inputs->n * sizeof *at);
    memcpy(at + inputs->n, list.at, list.n * sizeof *at);
    for (size_t i = 0; i < list.n && inputs->bytes; i++)
        inputs->bytes += stat(list.at[i], &st) == 0 ? (uint64_t)st.st_size : 0;
    inputs->at = at;
    inputs->n += list.n;
    return 0;
}
