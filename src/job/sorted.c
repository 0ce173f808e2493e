/* SPDX-License-Identifier: Apache-2.0
 * sorted.c - looks at the beginning of each file, several at once. */
#include "job/sorted.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/thread.h"
#include "ingest/flight_recorder.h"
#include "ingest/format.h"
#include "ingest/nccl_ras.h"
#include "ingest/ncu.h"
#include "ingest/node_log.h"

hu_input_kind hu_input_kind_of(const char *path, const hu_limits *limits)
{
    const hu_input_options how = {.limits = *limits};
    struct stat            about;
    hu_input              *in;
    hu_input_kind          kind = HU_INPUT_RANK;
    hu_error               unused;

    if (stat(path, &about) < 0 || !S_ISREG(about.st_mode) || !(in = hu_input_open(path, &how, &unused)))
        return HU_INPUT_RANK;
    if (hu_ncu_is_report(hu_input_head(in)))
        kind = HU_INPUT_COUNTERS;
    else if (hu_flight_recorder_probe(hu_input_head(in)))
        kind = HU_INPUT_DUMP;
    else if (hu_nccl_ras_probe(hu_input_head(in)))
        kind = HU_INPUT_RAS;
    else if (hu_node_log_probe(hu_input_head(in)))
        kind = HU_INPUT_NODE;
    hu_input_close(in);
    return kind;
}

typedef struct {
    const hu_inputs *inputs;
    const hu_limits *limits;
    hu_input_kind   *kinds;
} work;

static void look(void *context, size_t i)
{
    const work *w = context;

    w->kinds[i] = hu_input_kind_of(w->inputs->at[i], w->limits);
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

int hu_inputs_sort(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_sorted_inputs *out, hu_error *err)
{
    work w = {inputs, limits, hu_arena_calloc(arena, inputs->n + 1, sizeof *w.kinds)};

    *out = (hu_sorted_inputs){0};
    if (!w.kinds)
        return hu_fail_memory(err);
    hu_thread_each(inputs->n, hu_thread_count(), look, &w);
    for (hu_input_kind k = 0; k < HU_INPUT_KINDS; k++) {
        out->of[k].at = hu_arena_calloc(arena, inputs->n + 1, sizeof *out->of[k].at);
        if (!out->of[k].at)
            return hu_fail_memory(err);
        for (size_t i = 0; i < inputs->n; i++)
            if (w.kinds[i] == k)
                out->of[k].at[out->of[k].n++] = inputs->at[i];
    }
    out->of[HU_INPUT_RANK].unread = inputs->unread;
    out->of[HU_INPUT_RANK].bytes = bytes_without(inputs, w.kinds);
    return 0;
}

/* Named as such files are; what they begin with decides. */
static int may_lie_beside(const struct dirent *entry)
{
    static const hu_str ends[] = {{".ncu-rep", 8}, {".pickle", 7}, {".pkl", 4}},
                        ras[] = {{"ras", 3}, {"nccl_ras", 8}, {"nccl-ras", 8}, {"ncclras", 7}};
    const hu_str name = hu_str_of(entry->d_name);

    for (size_t i = 0; i < HU_COUNT(ends); i++)
        if (hu_str_ends(name, ends[i]))
            return true;
    for (size_t i = 0; i < HU_COUNT(ras); i++)
        if (hu_str_starts(name, ras[i]))
            return true;
    return entry->d_name[0] != '.' && hu_flight_recorder_rank(entry->d_name) >= 0;
}

static int by_version(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
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

int hu_inputs_beside_of(const char *folder, const hu_limits *limits, hu_arena *arena, hu_inputs *out, hu_error *err)
{
    struct dirent **entries;
    const int       n = scandir(folder, &entries, may_lie_beside, by_version);
    int             rc = 0;

    *out = (hu_inputs){.at = hu_arena_calloc(arena, n > 0 ? (size_t)n : 1, sizeof *out->at)};
    if (!out->at)
        rc = hu_fail_memory(err);
    for (int i = 0; i < n; i++) {
        const size_t room = strlen(folder) + strlen(entries[i]->d_name) + 2;
        char        *path = rc == 0 ? hu_arena_alloc(arena, room) : NULL;
        struct stat  st;

        if (path) {
            snprintf(path, room, "%s%s%s", folder, hu_str_ends(hu_str_of(folder), HU_STR("/")) ? "" : "/",
                     entries[i]->d_name);
            if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
                (hu_input_kind_of(path, limits) != HU_INPUT_RANK || is_snapshot(path, limits)))
                out->at[out->n++] = path;
        } else if (rc == 0) {
            rc = hu_fail_memory(err);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return rc;
}

static bool is_listed(const hu_inputs *inputs, const char *path)
{
    for (size_t i = 0; i < inputs->n; i++)
        if (strcmp(inputs->at[i], path) == 0)
            return true;
    return false;
}

typedef HU_VEC(const char *) path_list;

int hu_inputs_add_beside(char **paths, size_t n, const hu_limits *limits, hu_arena *arena, hu_inputs *inputs, hu_error *err)
{
    path_list    list = {0};
    const char **at;
    struct stat  st;

    for (size_t i = 0; i < n; i++) {
        hu_inputs found = {0};

        if (stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode) && hu_inputs_beside_of(paths[i], limits, arena, &found, err) < 0)
            return err->code;
        for (size_t k = 0; k < found.n; k++)
            if (!is_listed(inputs, found.at[k]) && !hu_vec_push(arena, &list, found.at[k]))
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
