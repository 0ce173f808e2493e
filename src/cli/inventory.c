/* SPDX-License-Identifier: Apache-2.0
 * inventory.c - what a report would make of each file, without reading more than its beginning; of a text, its lines. */
#include "cli/inventory.h"

#include <stdio.h>

#include "across/roster.h"
#include "base/units.h"
#include "ingest/strangers.h"

enum { NAMED = 4, COUNT_COLUMN = 8, BYTES_COLUMN = 10 };

/* What a report makes of a file. */
typedef struct {
    hu_input_kind    kind;
    const hu_format *format; /* of HU_INPUT_RANK; NULL: none reads it */
    const char      *why;    /* of those */
    bool             has_way_out;
} judged;

static const struct {
    const char *word, *what;
} kinds[] = {
    [HU_INPUT_COUNTERS] = {"counters", "counters of single kernels (Nsight Compute)"},
    [HU_INPUT_DUMP] = {"flight-recorder", "Flight Recorder dumps of PyTorch"},
    [HU_INPUT_RAS] = {"nccl-ras", "answers of NCCL's RAS subsystem"},
    [HU_INPUT_LOG] = {"log", "logs of training runs and of NCCL"},
    [HU_INPUT_SUMS] = {"sums", "sums that nsys stats printed"},
    [HU_INPUT_RESULTS] = {"results", "results of benchmarks, and sampled memory"},
    [HU_INPUT_PROFILE] = {"stacks", "profiles that sum stacks (speedscope, collapsed stacks, pprof)"},
    [HU_INPUT_NODE] = {"monitor", "samples of GPUs by a monitor"},
    [HU_INPUT_EXECUTION] = {"execution-trace", "execution traces of PyTorch or Chakra, which have no times"},
};

/* Why no reader takes it. */
static void refuse(const hu_glance *seen, const char *path, judged *out)
{
    const char *words = seen->stranger ? seen->stranger : hu_stranger_name_words(hu_str_of(path));

    words = seen->impostor ? seen->impostor : words;
    out->has_way_out = words != NULL;
    out->why = words            ? words
               : seen->format   ? "JSON without events"
               : seen->is_empty ? "empty"
               : seen->is_text  ? "text without lines of steps or of NCCL"
                                : "no known format";
}

static judged judge(const hu_glance *seen, const char *path)
{
    const bool is_taken = seen->format && !seen->impostor &&
                          (!hu_glance_is_of(seen, "chrome-json") || hu_glance_may_have_events(seen));
    judged j = {.kind = seen->kind, .format = is_taken ? seen->format : NULL, .why = "cannot be opened"};

    if (seen->is_open && !is_taken)
        refuse(seen, path, &j);
    return j;
}

static hu_inventory_kind *find_kind(hu_inventory *v, const char *word, const char *what, hu_arena *arena)
{
    for (size_t i = 0; i < v->kinds.n; i++)
        if (v->kinds.at[i].word == word)
            return &v->kinds.at[i];
    if (!hu_vec_push(arena, &v->kinds, ((hu_inventory_kind){.word = word, .what = what, .first_rank = -1, .last_rank = -1})))
        return NULL;
    return &v->kinds.at[v->kinds.n - 1];
}

static bool add(hu_inventory *v, const hu_file_below *file, const judged *j, hu_arena *arena)
{
    const char        *word = j->kind == HU_INPUT_RANK ? j->format->name : kinds[j->kind].word;
    const char        *what = j->kind == HU_INPUT_RANK ? j->format->what : kinds[j->kind].what;
    hu_inventory_kind *k = find_kind(v, word, what, arena);
    const int64_t      rank = hu_roster_rank_of_name(hu_str_of(file->path), 0);

    if (!k)
        return false;
    k->n++;
    k->bytes += file->bytes;
    if (rank < 0)
        return true;
    k->first_rank = k->n_ranks && k->first_rank < rank ? k->first_rank : rank;
    k->last_rank = rank > k->last_rank ? rank : k->last_rank;
    k->n_ranks++;
    return true;
}

static bool add_refused(hu_inventory *v, const judged *all, bool has_way_out, hu_arena *arena)
{
    for (size_t i = 0; i < v->below.files.n; i++) {
        const judged *j = &all[i];

        if (j->kind == HU_INPUT_RANK && !j->format && j->has_way_out == has_way_out &&
            !hu_vec_push(arena, &v->refused, ((hu_refused_file){&v->below.files.at[i], j->why, has_way_out})))
            return false;
    }
    return true;
}

/* Returns 0 or HU_ENOMEM. */
static int judge_all(const hu_below *below, hu_glances *glances, hu_arena *arena, judged *out, hu_error *err)
{
    const size_t      n = below->files.n;
    const char      **paths = hu_arena_calloc(arena, n + 1, sizeof *paths);
    const hu_glance **seen;

    for (size_t i = 0; paths && i < n; i++)
        paths[i] = below->files.at[i].path;
    if (!paths)
        return hu_fail_memory(err);
    if (!(seen = hu_glances_each(glances, paths, n, err)))
        return err->code;
    for (size_t i = 0; i < n; i++)
        out[i] = judge(seen[i], paths[i]);
    return 0;
}

int hu_inventory_take(const char *folder, hu_glances *glances, hu_arena *arena, hu_inventory *out, hu_error *err)
{
    judged *all;

    *out = (hu_inventory){.folder = folder};
    if (hu_below_find(folder, arena, &out->below, err) < 0)
        return err->code;
    all = hu_arena_calloc(arena, out->below.files.n + 1, sizeof *all);
    if (!all)
        return hu_fail_memory(err);
    if (judge_all(&out->below, glances, arena, all, err) < 0)
        return err->code;
    for (size_t i = 0; i < out->below.files.n; i++) {
        out->bytes += out->below.files.at[i].bytes;
        if ((all[i].kind != HU_INPUT_RANK || all[i].format) && !add(out, &out->below.files.at[i], &all[i], arena))
            return hu_fail_memory(err);
    }
    return add_refused(out, all, true, arena) && add_refused(out, all, false, arena) ? 0 : hu_fail_memory(err);
}

/* text */

static void write_counts(hu_out *out, size_t n, uint64_t bytes)
{
    char count[HU_UNIT_BYTES], size[HU_UNIT_BYTES];

    hu_units_count(count, (int64_t)n);
    hu_units_bytes(size, (double)bytes);
    hu_out_printf(out, "%*s%*s  ", COUNT_COLUMN, count, BYTES_COLUMN, size);
}

static void write_kind(const hu_inventory_kind *k, size_t width, hu_out *out)
{
    char words[256];

    if (k->n_ranks == 0)
        snprintf(words, sizeof words, "%s", k->what);
    else if (k->first_rank == k->last_rank)
        snprintf(words, sizeof words, "%s; rank %lld by its name", k->what, (long long)k->first_rank);
    else
        snprintf(words, sizeof words, "%s; ranks %lld to %lld by their names", k->what, (long long)k->first_rank,
                 (long long)k->last_rank);
    write_counts(out, k->n, k->bytes);
    hu_units_wrap(out, hu_str_of(words), COUNT_COLUMN + BYTES_COLUMN + 2, COUNT_COLUMN + BYTES_COLUMN + 2, width);
    hu_out_text(out, "\n");
}

/* A path without that of the directory. */
static hu_str below(const hu_inventory *v, const char *path)
{
    size_t n = strlen(v->folder);

    while (path[n] == '/')
        n++;
    return hu_str_of(path + n);
}

/* Up to `most` names of the files that are refused for one reason; returns how many there are. */
static size_t write_names(const hu_inventory *v, const char *why, size_t most, size_t width, hu_out *out)
{
    size_t n = 0;

    for (size_t i = 0; i < v->refused.n; i++) {
        if (v->refused.at[i].why != why || n++ >= most)
            continue;
        hu_out_text(out, "  ");
        hu_units_clip(out, below(v, v->refused.at[i].file->path), width - 2);
        hu_out_text(out, "\n");
    }
    return n;
}

/* Reasons once, each behind its files: they are constants. */
static void write_refused(const hu_inventory *v, size_t width, hu_out *out)
{
    uint64_t bytes = 0;

    if (v->refused.n == 0)
        return;
    for (size_t i = 0; i < v->refused.n; i++)
        bytes += v->refused.at[i].file->bytes;
    write_counts(out, v->refused.n, bytes);
    hu_out_text(out, "not read:\n");
    for (size_t i = 0; i < v->refused.n; i++) {
        const char *why = v->refused.at[i].why;
        size_t      n, k = 0;

        while (v->refused.at[k].why != why)
            k++;
        if (k < i) /* told with the first of them */
            continue;
        n = write_names(v, why, NAMED, width, out);
        if (n > NAMED)
            hu_out_printf(out, "  and %zu more; --json names all\n", n - NAMED);
        hu_out_text(out, "      ");
        hu_units_wrap(out, hu_str_of(why), 6, 6, width);
        hu_out_text(out, "\n");
    }
}

void hu_inventory_text(const hu_inventory *v, size_t width, hu_out *out)
{
    hu_out_text(out, "directory   ");
    hu_units_clip(out, hu_str_of(v->folder), width - 12);
    hu_out_text(out, "\n");
    write_counts(out, v->below.files.n, v->bytes);
    hu_out_text(out, "all files\n");
    for (size_t i = 0; i < v->kinds.n; i++)
        write_kind(&v->kinds.at[i], width, out);
    write_refused(v, width, out);
    if (v->below.n_folders_left)
        hu_out_printf(out, "  %zu director%s not entered: too deep, too many files, or closed to you\n",
                      v->below.n_folders_left, v->below.n_folders_left == 1 ? "y was" : "ies were");
}

void hu_inventory_json(const hu_inventory *v, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "directory", hu_str_of(v->folder));
    hu_json_int(&j, "files", (int64_t)v->below.files.n);
    hu_json_int(&j, "bytes", (int64_t)v->bytes);
    hu_json_open(&j, "kinds", '[');
    for (size_t i = 0; i < v->kinds.n; i++) {
        const hu_inventory_kind *k = &v->kinds.at[i];

        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "format", hu_str_of(k->word));
        hu_json_int(&j, "files", (int64_t)k->n);
        hu_json_int(&j, "bytes", (int64_t)k->bytes);
        hu_json_int(&j, "first_rank", k->first_rank);
        hu_json_int(&j, "last_rank", k->last_rank);
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_open(&j, "not_read", '[');
    for (size_t i = 0; i < v->refused.n; i++) {
        hu_json_open(&j, NULL, '{');
        hu_json_str(&j, "file", hu_str_of(v->refused.at[i].file->path));
        hu_json_int(&j, "bytes", (int64_t)v->refused.at[i].file->bytes);
        hu_json_str(&j, "why", hu_str_of(v->refused.at[i].why));
        hu_json_close(&j, '}');
    }
    hu_json_close(&j, ']');
    hu_json_int(&j, "directories_not_entered", (int64_t)v->below.n_folders_left);
    hu_json_close(&j, '}');
}
