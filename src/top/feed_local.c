/* SPDX-License-Identifier: Apache-2.0
 * feed_local.c - this node: the monitor's samplers, asked without a server, and processes from /proc.
 *
 * The thread that starts samplers must live as long as they do (PR_SET_PDEATHSIG): all of the keeper's life is in it.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/files.h"
#include "monitor/keeper.h"
#include "top/feed.h"
#include "top/processes.h"

enum { FIRST_LOOK_MS = 10000, TURN_MS = 50 };

/* Where the labels of a series are among those of the metric. */
typedef struct {
    bool   is_known;
    size_t series;
    int    label[HU_TOP_KEYS_MOST]; /* -1: the metric has none of that name */
} mapping;

typedef struct {
    const hu_source_options *how;
    hu_keeper               *keeper;
    hu_top_processes        *processes;
    hu_board_state           board;
    mapping                  map[HU_METRIC_COUNT];
    size_t                   steps; /* the series that counts them: in a reading it is part of the histogram */
} local;

static int label_of(hu_metric m, const char *key, size_t n)
{
    for (size_t i = 0; i < hu_metric_labels(m); i++) {
        size_t      length;
        const char *name = hu_metric_label(m, i, &length);

        if (length == n && memcmp(name, key, n) == 0)
            return (int)i;
    }
    return -1;
}

static void map_metrics(local *o)
{
    static const char steps[] = "holdup_job_step_duration_seconds_count";

    o->steps = hu_top_series_find(steps, sizeof steps - 1);
    for (int m = 0; m < HU_METRIC_COUNT; m++) {
        mapping    *to = &o->map[m];
        const char *name = hu_metric_rows[m].name, *keys;

        to->series = hu_top_series_find(name, strlen(name));
        to->is_known = to->series < hu_top_series_count();
        keys = to->is_known ? hu_top_series_keys(to->series) : "";
        for (size_t i = 0; i < HU_TOP_KEYS_MOST; i++) {
            const size_t n = strcspn(keys, ",");

            to->label[i] = n ? label_of((hu_metric)m, keys, n) : -1;
            keys += n + (keys[n] == ',');
        }
    }
}

typedef struct {
    const local *from;
    hu_top_look *to;
} taking;

/* How many a histogram has counted. */
static double count_of(const hu_reading *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->n_counts; i++)
        n += hu_reading_count(r, i);
    return (double)n;
}

static void take_all(void *context, const hu_held *held, size_t n)
{
    const taking *t = context;
    hu_reading    r;

    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; hu_readings_next(held[i].readings, &at, &r);) {
            const mapping *map = &t->from->map[r.metric];
            const char    *labels[HU_TOP_KEYS_MOST];

            if (!map->is_known)
                continue;
            for (size_t k = 0; k < HU_TOP_KEYS_MOST; k++)
                labels[k] = map->label[k] >= 0 && (size_t)map->label[k] < r.n && r.label[map->label[k]]
                                ? r.label[map->label[k]]
                                : "";
            hu_top_look_put(t->to, map->series, r.value, labels);
            if (r.n_counts)
                hu_top_look_put(t->to, t->from->steps, count_of(&r), labels);
        }
}

static void wait_local(hu_top_feed *f, int ms)
{
    local *o = f->own;

    if (o->keeper)
        hu_keeper_turn(o->keeper, ms, NULL);
    else
        usleep((useconds_t)ms * 1000);
}

static hu_top_look *look_local(hu_top_feed *f, char state[HU_TOP_STATE])
{
    local       *o = f->own;
    hu_top_look *l = hu_top_look_new();
    hu_error     err = {0};

    if (!l) {
        snprintf(state, HU_TOP_STATE, "out of memory");
        return NULL;
    }
    if (!o->keeper) {
        o->keeper = hu_keeper_start(o->how, &err);
        for (int ms = 0; o->keeper && ms < FIRST_LOOK_MS && !hu_keeper_has_looked(o->keeper, 1) && !hu_top_feed_must_end(f);
             ms += TURN_MS)
            hu_keeper_turn(o->keeper, TURN_MS, NULL);
    }
    if (o->keeper)
        hu_keeper_read(o->keeper, take_all, &(taking){o, l});
    else
        snprintf(state, HU_TOP_STATE, "cannot sample: %.120s", err.text);
    if (atomic_load(&f->wants_processes)) {
        const bool has_board = o->how->board && hu_gpu_board_read(o->how->board, &o->board);

        if (!o->processes)
            o->processes = hu_top_processes_open(o->how->root);
        if (o->processes)
            hu_top_processes_look(o->processes, has_board ? &o->board : NULL, l);
    }
    return l;
}

static void close_local(hu_top_feed *f)
{
    local *o = f->own;

    hu_keeper_stop(o->keeper);
    hu_top_processes_close(o->processes);
    free(o);
}

/* The node's name; that of a captured tree where it has one. */
static void name_node(const char *root, char out[HU_TOP_NAME])
{
    const int folder = hu_files_root(root);
    hu_str    name;
    char      text[HU_TOP_NAME];

    name = folder < 0 ? (hu_str){text, 0} : hu_files_text(folder, "proc/sys/kernel/hostname", text, sizeof text - 1);
    if (name.n)
        snprintf(out, HU_TOP_NAME, "%.*s", HU_FMT(name));
    else
        snprintf(out, HU_TOP_NAME, "this node");
    if (folder >= 0)
        close(folder);
}

hu_top_feed *hu_top_feed_local(const hu_source_options *how, int64_t interval_ns, hu_error *err)
{
    static const hu_top_feed_kind kind = {look_local, wait_local, close_local};
    local                        *o = calloc(1, sizeof *o);
    char                          name[HU_TOP_NAME];
    hu_top_feed                  *f;

    if (!o) {
        hu_fail_memory(err);
        return NULL;
    }
    o->how = how;
    map_metrics(o);
    name_node(how->root, name);
    f = hu_top_feed_new(&kind, name, interval_ns, o, err);
    if (!f)
        free(o);
    return f;
}
