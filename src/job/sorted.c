/* SPDX-License-Identifier: Apache-2.0
 * sorted.c - looks at the beginning of each file, several at once. */
#include "job/sorted.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "ingest/execution_trace.h"
#include "ingest/flight_recorder.h"
#include "ingest/format.h"
#include "ingest/nccl_ras.h"
#include "ingest/ncu.h"
#include "ingest/node_log.h"
#include "ingest/nsys_stats.h"
#include "ingest/results.h"
#include "ingest/step_log.h"
#include "job/below.h"
#include "job/stray.h"

hu_input_kind hu_input_kind_of_open(hu_input *in, bool any_text)
{
    const hu_str head = hu_input_head(in);

    return hu_ncu_is_report(head)           ? HU_INPUT_COUNTERS
           : hu_flight_recorder_probe(head) ? HU_INPUT_DUMP
           : hu_nccl_ras_probe(head)        ? HU_INPUT_RAS
           : hu_nsys_stats_is(head)         ? HU_INPUT_SUMS
           : hu_results_probe(head)         ? HU_INPUT_RESULTS
           : hu_execution_trace_probe(head) ? HU_INPUT_EXECUTION
           : hu_node_log_probe(head) ? (hu_step_log_begins(in) ? HU_INPUT_LOG : HU_INPUT_NODE) /* a job's log may begin so */
           : hu_step_log_is(in, any_text) ? HU_INPUT_LOG                                       /* the last: it reads on */
                                          : HU_INPUT_RANK;
}

/* What can be opened twice; standard input may be a file, too. */
static bool is_file(const char *path)
{
    struct stat about;

    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &about) : stat(path, &about)) == 0 && S_ISREG(about.st_mode);
}

static hu_input_kind kind_of(const char *path, const hu_limits *limits, bool any_text)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in;
    hu_input_kind          kind;
    hu_error               unused;

    if (!is_file(path) || !(in = hu_input_open(path, &how, &unused)))
        return HU_INPUT_RANK;
    kind = hu_input_kind_of_open(in, any_text);
    hu_input_close(in);
    return kind;
}

hu_input_kind hu_input_kind_of(const char *path, const hu_limits *limits)
{
    return kind_of(path, limits, false);
}

/* It has CPU samples alone, and no rank: beside traces it would be a second one, of a program that never waits. */
static bool has_samples_alone(const char *path, const hu_limits *limits)
{
    const hu_input_options how = {.limits = *limits};
    hu_error               unused;
    hu_input              *in = is_file(path) ? hu_input_open(path, &how, &unused) : NULL;
    const hu_format       *format = in ? hu_format_find(hu_input_head(in)) : NULL;
    const bool             is = format && (hu_str_equal(hu_str_of(format->name), HU_STR("perf-data")) ||
                               hu_str_equal(hu_str_of(format->name), HU_STR("perf-script")) ||
                               hu_str_equal(hu_str_of(format->name), HU_STR("perf-json")));

    if (in)
        hu_input_close(in);
    return is;
}

typedef struct {
    const hu_inputs *inputs;
    const hu_limits *limits;
    hu_input_kind   *kinds;
    bool            *are_samples;
    bool             any_text;
} work;

static void look(void *context, size_t i)
{
    const work *w = context;

    w->kinds[i] = kind_of(w->inputs->at[i], w->limits, w->any_text);
    w->are_samples[i] = w->kinds[i] == HU_INPUT_RANK && w->inputs->n > 1 && has_samples_alone(w->inputs->at[i], w->limits);
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

int hu_inputs_sort(const hu_inputs *inputs, const hu_limits *limits, bool any_text, hu_arena *arena, hu_sorted_inputs *out,
                   hu_error *err)
{
    work w = {inputs, limits, hu_arena_calloc(arena, inputs->n + 1, sizeof *w.kinds),
              hu_arena_calloc(arena, inputs->n + 1, sizeof *w.are_samples), any_text};

    *out = (hu_sorted_inputs){0};
    if (!w.kinds || !w.are_samples)
        return hu_fail_memory(err);
    hu_thread_each(inputs->n, hu_thread_count(), look, &w);
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
                        ends[] = {{".ncu-rep", 8}, {".pickle", 7}, {".pkl", 4}, {".log", 4},   {".out", 4},  {".err", 4},
                                  {".txt", 4},     {".csv", 4},    {".tsv", 4}, {".jsonl", 6}, {".prom", 5}, {".json", 5}},
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

/* A snapshot is read as a trace, which sets it apart; other pickles are of no concern. */
static bool is_snapshot(const char *path, const hu_limits *limits)
{
    const hu_input_options how = {.limits = *limits};
    hu_error               unused;
    hu_input              *in = hu_input_open(path, &how, &unused);
    const hu_format       *format = in ? hu_format_find(hu_input_head(in)) : NULL;
    const bool             is = format && hu_str_equal(hu_str_of(format->name), HU_STR("torch-memory-snapshot"));

    if (in)
        hu_input_close(in);
    return is;
}

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

/* Of memory_profiler, by its beginning: other files that end so are data, and large. */
static bool is_curve(const char *path, const hu_limits *limits)
{
    const hu_input_options how = {.limits = *limits};
    hu_error               unused;
    hu_input              *in = hu_str_ends(hu_str_of(path), HU_STR(".dat")) ? hu_input_open(path, &how, &unused) : NULL;
    const bool             is = in && hu_mprof_probe(hu_input_head(in));

    if (in)
        hu_input_close(in);
    return is;
}

/* Results are told alone, where nothing else was found. */
static bool is_wanted(const char *path, bool is_alone, const hu_limits *limits)
{
    const hu_input_kind kind = hu_input_kind_of(path, limits);

    return kind == HU_INPUT_RESULTS ? is_alone : kind != HU_INPUT_RANK || is_snapshot(path, limits);
}

/* What is not in `listed` yet (NULL: nothing is), and in *left what is not read. */
static int find_beside(const char *folder, const hu_inputs *listed, const hu_limits *limits, hu_arena *arena, hu_inputs *out,
                       hu_left *left, hu_error *err)
{
    hu_below below;
    size_t   next = 0;
    int      rc = hu_below_find(folder, arena, &below, err);

    *out = (hu_inputs){.at = rc < 0 ? NULL : hu_arena_calloc(arena, below.files.n + 1, sizeof *out->at)};
    if (rc == 0 && !out->at)
        rc = hu_fail_memory(err);
    for (size_t i = 0; rc == 0 && i < below.files.n; i++) {
        const hu_file_below *file = &below.files.at[i];
        const bool           is_named = hu_inputs_is_trace(file->path), is_here = is_listed(listed, file->path, &next);
        const bool           is_trace = is_named && !is_here && !hu_is_stray(file->path);

        if (is_here || (is_trace && file->depth == 0)) /* a rank, or what one stands for */
            continue;
        if ((may_lie_beside(file->path) && is_wanted(file->path, !listed, limits)) ||
            (!listed && is_curve(file->path, limits)))
            out->at[out->n++] = file->path;
        else
            leave(left, file->path, is_trace);
    }
    return rc;
}

int hu_inputs_beside_of(const char *folder, const hu_limits *limits, hu_arena *arena, hu_inputs *out, hu_error *err)
{
    hu_left left = {0};

    return find_beside(folder, NULL, limits, arena, out, &left, err);
}

typedef HU_VEC(const char *) path_list;

int hu_inputs_add_beside(char **paths, size_t n, const hu_limits *limits, hu_arena *arena, hu_inputs *inputs, hu_error *err)
{
    path_list    list = {0};
    const char **at;
    struct stat  st;

    for (size_t i = 0; i < n; i++) {
        hu_inputs found = {0};

        if (stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode) &&
            find_beside(paths[i], inputs, limits, arena, &found, &inputs->left, err) < 0)
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
