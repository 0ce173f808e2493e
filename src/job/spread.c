/* SPDX-License-Identifier: Apache-2.0
 * spread.c - each process lists what it sees; process 0 joins the lists and divides the files by their bytes.
 *
 * Nodes often write their traces to disks of their own, so lists may differ.  A path that several processes see is one
 * file.  What is not a plain file, standard input above all, is for process 0, as it would be for one process.
 */
#include "job/spread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/wire.h"
#include "job/sorted.h"

typedef struct {
    int64_t argument; /* number of the one that it comes from */
    hu_str  path;
    int64_t bytes; /* -1: only process 0 can read it */
    int64_t process;
} entry;

/* A part of an argument that cannot be read, such as the session of a rank that was killed. */
typedef struct {
    int64_t argument;
    hu_str  file, error;
} lost;

/* Of one process, or of all. */
typedef struct {
    entry *at;
    size_t n;
    lost  *lost;
    size_t n_lost;
} entries;

typedef struct {
    int64_t reader, bytes;
} share;

typedef struct {
    hu_str *paths;
    share  *shares;
    size_t  n;
} plan;

/* What the command line names. */
typedef struct {
    char           **paths;
    int              n;
    const hu_limits *limits;
    hu_arena        *arena; /* for all that is listed */
    hu_error        *why;   /* each cannot be expanded here; code is 0 where it can */
} arguments;

#define ENTRY(F, T) F(T, I64, argument) F(T, STR, path) F(T, I64, bytes) F(T, I64, process)
HU_WIRE_TABLE(entry, ENTRY);

#define LOST(F, T) F(T, I64, argument) F(T, STR, file) F(T, STR, error)
HU_WIRE_TABLE(lost, LOST);

#define ENTRIES(F, T) F(T, LIST, at, n, entry) F(T, SIZE, n) F(T, LIST, lost, n_lost, lost) F(T, SIZE, n_lost)
HU_WIRE_TABLE(entries, ENTRIES);

#define SHARE(F, T) F(T, I64, reader) F(T, I64, bytes)
HU_WIRE_TABLE(share, SHARE);

#define PLAN(F, T) F(T, STRS, paths, n) F(T, LIST, shares, n, share) F(T, SIZE, n)
HU_WIRE_TABLE(plan, PLAN);

static int64_t bytes_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0 ? (int64_t)st.st_size : -1;
}

static bool is_named(const arguments *a, const char *path)
{
    for (int k = 0; k < a->n; k++)
        if (strcmp(a->paths[k], path) == 0)
            return true;
    return false;
}

/* What lies beside the traces of a directory, but for what is named by itself. */
static int add_beside(const arguments *a, int k, hu_inputs *inputs, hu_error *err)
{
    const size_t before = inputs->n;
    size_t       kept = before;

    if (hu_inputs_add_beside(&a->paths[k], 1, a->arena, inputs, err) < 0)
        return err->code;
    for (size_t i = before; i < inputs->n; i++)
        if (!is_named(a, inputs->at[i]))
            inputs->at[kept++] = inputs->at[i];
    inputs->n = kept;
    return 0;
}

static void add_left(hu_left *all, const hu_left *more)
{
    for (size_t i = 0; i < more->n && i < HU_LEFT_NAMED && all->n + i < HU_LEFT_NAMED; i++)
        all->at[all->n + i] = more->at[i];
    all->n += more->n;
    all->n_traces += more->n_traces;
}

/* What this process sees.  An argument that cannot be expanded adds nothing. */
static int list_own(const arguments *a, int process, bool beside, entries *out, hu_left *left, hu_error *err)
{
    HU_VEC(entry) list = {0};
    HU_VEC(lost) unread = {0};

    for (int k = 0; k < a->n; k++) {
        hu_inputs inputs;

        if (hu_inputs_expand(&a->paths[k], 1, a->limits, a->arena, &inputs, &a->why[k]) < 0)
            continue;
        if (beside && add_beside(a, k, &inputs, err) < 0)
            return err->code;
        add_left(left, &inputs.left);
        for (size_t i = 0; i < inputs.unread.n; i++) {
            const lost u = {k, inputs.unread.at[i].file, inputs.unread.at[i].error};

            if (!hu_vec_push(a->arena, &unread, u))
                return hu_fail_memory(err);
        }
        for (size_t i = 0; i < inputs.n; i++) {
            const entry e = {k, hu_str_of(inputs.at[i]), bytes_of(inputs.at[i]), process};

            if (!hu_vec_push(a->arena, &list, e))
                return hu_fail_memory(err);
        }
    }
    *out = (entries){list.at, list.n, unread.at, unread.n};
    return 0;
}

/* As hu_inputs_expand orders them; the same path of several processes together, process 0 first. */
static int by_place(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    int          c;

    if (a->argument != b->argument)
        return a->argument < b->argument ? -1 : 1;
    c = strverscmp(a->path.p, b->path.p);
    return c ? c : (a->process > b->process) - (a->process < b->process);
}

typedef struct {
    int64_t bytes;
    size_t  file;
} weight;

static int by_weight(const void *left, const void *right)
{
    const weight *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->file > b->file) - (a->file < b->file);
}

/*
 * The shares of `size` processes: the largest file first, each to the process with the least bytes so far, of equal ones
 * the first.  sees[file * size + process] is 0 where the process cannot read it; what nobody sees goes to process 0.
 * False when there is no memory.
 */
static bool share_out(const int64_t *bytes, size_t n, const uint8_t *sees, int size, hu_arena *scratch, int *reader)
{
    weight  *order = hu_arena_alloc(scratch, (n + 1) * sizeof *order);
    int64_t *load = hu_arena_calloc(scratch, (size_t)size, sizeof *load);

    if (!order || !load)
        return false;
    for (size_t i = 0; i < n; i++)
        order[i] = (weight){bytes[i], i};
    if (n)
        qsort(order, n, sizeof *order, by_weight);
    for (size_t k = 0; k < n; k++) {
        const size_t file = order[k].file;
        int          best = -1;

        for (int p = 0; p < size; p++)
            if (sees[file * (size_t)size + (size_t)p] && (best < 0 || load[p] < load[best]))
                best = p;
        reader[file] = best < 0 ? 0 : best;
        load[reader[file]] += order[k].bytes > 0 ? order[k].bytes : 1; /* so that empty files are divided too */
    }
    return true;
}

/* Joins the lists of all processes into one plan. */
static bool make_plan(entry *at, size_t n, int size, hu_arena *arena, plan *out)
{
    int64_t *bytes = hu_arena_alloc(arena, (n + 1) * sizeof *bytes);
    uint8_t *sees;
    int     *reader = hu_arena_alloc(arena, (n + 1) * sizeof *reader);
    size_t   room;

    *out = (plan){.paths = hu_arena_alloc(arena, (n + 1) * sizeof *out->paths),
                  .shares = hu_arena_calloc(arena, n + 1, sizeof *out->shares)};
    if (!hu_mul_size(n + 1, (size_t)size, &room) || !(sees = hu_arena_calloc(arena, room, 1)) || !bytes || !reader ||
        !out->paths || !out->shares)
        return false;
    if (n)
        qsort(at, n, sizeof *at, by_place);
    for (size_t i = 0; i < n; i++) {
        const entry *e = &at[i];

        if (out->n == 0 || e->argument != at[i - 1].argument || !hu_str_equal(e->path, at[i - 1].path)) {
            out->paths[out->n] = e->path;
            bytes[out->n++] = e->bytes;
        }
        bytes[out->n - 1] = e->bytes > bytes[out->n - 1] ? e->bytes : bytes[out->n - 1];
        sees[(out->n - 1) * (size_t)size + (size_t)e->process] = e->bytes >= 0;
    }
    if (!share_out(bytes, out->n, sees, size, arena, reader))
        return false;
    for (size_t i = 0; i < out->n; i++)
        out->shares[i] = (share){reader[i], bytes[i]};
    return true;
}

/* What of one argument cannot be read, once for each file. */
static int list_lost(int argument, const entries *all, hu_arena *arena, hu_unread_list *out, hu_error *err)
{
    for (size_t i = 0; i < all->n_lost; i++) {
        const lost *l = &all->lost[i];
        bool        is_listed = l->argument != argument;

        for (size_t k = 0; k < out->n && !is_listed; k++)
            is_listed = hu_str_equal(out->at[k].file, l->file);
        if (!is_listed && hu_unread_add(out, arena, l->file, l->error, err) < 0)
            return err->code;
    }
    return 0;
}

/*
 * What cannot be read, as one process would have listed it, with the arguments of which nobody sees anything; files of
 * `all` are sorted by argument.  Returns 0, HU_ENOMEM, or the first error when there is nothing else.
 */
static int list_unread(const arguments *a, const entries *all, hu_unread_list *out, hu_error *err)
{
    size_t i = 0;

    for (int k = 0; k < a->n; k++) {
        const bool is_seen = i < all->n && all->at[i].argument == k;

        while (i < all->n && all->at[i].argument == k)
            i++;
        if (list_lost(k, all, a->arena, out, err) < 0)
            return err->code;
        if (is_seen || !a->why[k].code)
            continue;
        if (all->n == 0) {
            *err = a->why[k];
            return err->code;
        }
        if (hu_unread_add_error(out, a->arena, a->paths[k], &a->why[k], err) < 0)
            return err->code;
    }
    return 0;
}

static int send_table(hu_crew *crew, int to, const hu_wire_table *table, const void *what, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    hu_str    bytes;
    int       rc = scratch ? hu_wire_pack(table, what, scratch, scratch, &bytes, err) : hu_fail_memory(err);

    if (rc == 0)
        hu_crew_send(crew, to, bytes);
    hu_arena_free(scratch);
    return rc;
}

static int receive_table(hu_crew *crew, int from, hu_arena *arena, const hu_wire_table *table, void *into, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    hu_str    bytes;
    int       rc = scratch ? hu_crew_receive(crew, from, scratch, &bytes, err) : hu_fail_memory(err);

    if (rc == 0)
        rc = hu_wire_unpack(table, bytes, arena, into, err);
    hu_arena_free(scratch);
    return rc;
}

/* Process 0: asks everybody, and tells everybody; a plan without files where there is an error. */
static int lead(hu_crew *crew, const arguments *a, entries own, plan *out, hu_unread_list *unread, hu_error *err)
{
    HU_VEC(entry) all = {0};
    HU_VEC(lost) lost_parts = {0};
    const int size = hu_crew_size(crew);
    int       rc = 0;

    hu_crew_call(crew);
    for (int p = 0; p < size; p++) {
        entries theirs = {0};

        if (p && (rc = receive_table(crew, p, a->arena, &entries_wire, &theirs, err)) < 0)
            crew->give_up(crew, err);
        if (p == 0)
            theirs = own;
        if (theirs.n && !hu_vec_reserve(a->arena, &all, theirs.n)) {
            hu_fail_memory(err);
            crew->give_up(crew, err);
        }
        for (size_t i = 0; i < theirs.n; i++) {
            theirs.at[i].process = p;
            all.at[all.n++] = theirs.at[i];
        }
        for (size_t i = 0; i < theirs.n_lost; i++)
            if (!hu_vec_push(a->arena, &lost_parts, theirs.lost[i])) {
                hu_fail_memory(err);
                crew->give_up(crew, err);
            }
    }
    if (!make_plan(all.at, all.n, size, a->arena, out)) {
        hu_fail_memory(err);
        crew->give_up(crew, err);
    }
    rc = list_unread(a, &(entries){all.at, all.n, lost_parts.at, lost_parts.n}, unread, err);
    if (rc < 0)
        *out = (plan){0};
    for (int p = 1; p < size; p++)
        if (send_table(crew, p, &plan_wire, out, err) < 0)
            crew->give_up(crew, err);
    return rc;
}

static int follow(hu_crew *crew, entries own, hu_arena *arena, plan *out, hu_error *err)
{
    int rc;

    if ((rc = send_table(crew, 0, &entries_wire, &own, err)) < 0 ||
        (rc = receive_table(crew, 0, arena, &plan_wire, out, err)) < 0)
        crew->give_up(crew, err);
    return out->n ? 0 : hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET, "nothing to read");
}

int hu_spread_inputs(hu_crew *crew, char **paths, int n, bool beside, const hu_limits *limits, hu_arena *arena,
                     hu_inputs *out, hu_error *err)
{
    arguments a = {.paths = paths, .n = n, .limits = limits, .arena = arena};
    plan      p = {0};
    entries   own;
    int      *reader;
    int       rc;

    *out = (hu_inputs){0};
    if (!crew)
        return hu_inputs_expand(paths, n, limits, arena, out, err);
    if (!hu_crew_is_first(crew) && !hu_crew_await(crew))
        return hu_fail(err, HU_EEMPTY, NULL, HU_NO_OFFSET, "nothing to read");
    a.why = hu_arena_calloc(arena, (size_t)n, sizeof *a.why);
    out->glances = hu_glances_new(arena, limits);
    if (!a.why || !out->glances) {
        hu_fail_memory(err);
        crew->give_up(crew, err);
    }
    if (list_own(&a, hu_crew_rank(crew), beside && hu_crew_is_first(crew), &own, &out->left, err) < 0)
        crew->give_up(crew, err);
    rc = hu_crew_is_first(crew) ? lead(crew, &a, own, &p, &out->unread, err) : follow(crew, own, arena, &p, err);
    if (rc < 0)
        return rc;
    out->at = hu_arena_alloc(arena, (p.n + 1) * sizeof *out->at);
    out->reader = reader = hu_arena_alloc(arena, (p.n + 1) * sizeof *reader);
    if (!out->at || !reader) {
        hu_fail_memory(err);
        crew->give_up(crew, err);
    }
    out->n = p.n;
    for (size_t i = 0; i < p.n; i++) {
        out->at[i] = p.paths[i].p;
        reader[i] = (int)p.shares[i].reader;
        out->bytes += reader[i] == hu_crew_rank(crew) && p.shares[i].bytes > 0 ? (uint64_t)p.shares[i].bytes : 0;
    }
    return 0;
}
