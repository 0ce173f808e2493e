/* SPDX-License-Identifier: Apache-2.0
 * nccl_ras.c - what `ncclras` prints, as text (NCCL 2.24 and newer) or JSON (docs/formats/nccl-ras.md).
 *
 * Traps: the text names the ranks of a set only where they are few, on lines of their own behind it, or in the line of the
 * set where there is one; communicators are "#group-index", and their size stands in the table of groups.  JSON has the
 * numbers of NCCL's results, of which 0 is success and 7 "in progress", no errors.
 */
#include "ingest/nccl_ras.h"

#include <stdlib.h>

#include "base/intern.h"
#include "base/json_value.h"
#include "base/number.h"
#include "ingest/format.h"

/* Beyond any job: more comes from a file that was made to be slow. */
enum { HEAD_BYTES = 64 << 10, MOST_GROUPS = 4096, MOST_COMMS = 1 << 16, MOST_SETS = 4096, IN_PROGRESS = 7 };

typedef struct {
    hu_ras_status *out;
    hu_intern      texts;
    hu_ras_comm   *comm; /* the one that lines are about; of the job: &out->job */
    hu_ras_set    *set;  /* the one that ranks on the next lines belong to; NULL: none */
    hu_str         operation;
    HU_VEC(int64_t) sizes; /* ranks of the communicators of each group */
    bool has_memory;
    bool is_table; /* the next lines are rows of the table of groups */
    bool has_end;  /* the last section has begun */
} reader;

bool hu_nccl_ras_probe(hu_str head)
{
    head.n = head.n < HEAD_BYTES ? head.n : HEAD_BYTES;
    if (hu_str_has(head, HU_STR("\"nccl_version\"")) && hu_str_has(head, HU_STR("\"communicators\"")))
        return true;
    return hu_str_has(head, HU_STR("NCCL version ")) && hu_str_has(head, HU_STR("\nJob summary\n")) &&
           hu_str_has(head, HU_STR("\nCommunicators..."));
}

static hu_str keep(reader *r, hu_str text)
{
    const uint32_t id = hu_intern_add(&r->texts, text);

    if (id == UINT32_MAX)
        r->has_memory = false;
    return id == UINT32_MAX ? HU_STR("") : hu_intern_get(&r->texts, id);
}

/* Texts. */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cuts `word` off the beginning; false, and *s as it was: it does not begin with it. */
static bool cut(hu_str *s, const char *word)
{
    const hu_str w = hu_str_of(word);

    if (!hu_str_starts(*s, w))
        return false;
    *s = (hu_str){s->p + w.n, s->n - w.n};
    return true;
}

/* Cuts a number off the beginning. */
static bool cut_number(hu_str *s, int64_t *out)
{
    size_t n = 0;

    while (n < s->n && is_digit(s->p[n]))
        n++;
    if (n == 0 || !hu_parse_i64((hu_str){s->p, n}, out))
        return false;
    *s = (hu_str){s->p + n, s->n - n};
    return true;
}

/* What stands before `mark`, or all; *s goes on behind it. */
static hu_str cut_before(hu_str *s, const char *mark)
{
    const hu_str m = hu_str_of(mark);
    const char  *at = s->n ? memmem(s->p, s->n, m.p, m.n) : NULL;
    const hu_str head = {s->p, at ? (size_t)(at - s->p) : s->n};

    *s = at ? (hu_str){at + m.n, s->n - head.n - m.n} : (hu_str){s->p + s->n, 0};
    return head;
}

static void add_set(reader *r, hu_ras_kind kind, hu_str what, int64_t count, int64_t n)
{
    r->set = NULL;
    if (r->comm->sets.n >= MOST_SETS)
        return;
    if (!hu_vec_push(r->out->arena, &r->comm->sets,
                     ((hu_ras_set){.kind = kind, .what = keep(r, what), .count = count, .n = n})))
        r->has_memory = false;
    else
        r->set = &r->comm->sets.at[r->comm->sets.n - 1];
}

static void add_member(reader *r, hu_ras_member m)
{
    if (r->set && !hu_vec_push(r->out->arena, &r->set->members, m))
        r->has_memory = false;
}

/* "GPU 1 (NVML 5) managed by process 77 on node 10.0.0.7"; or that it is not known. */
static void add_rank(reader *r, int64_t rank, hu_str where)
{
    hu_ras_member m = {.rank = rank, .pid = -1, .host = HU_STR(""), .gpu = HU_STR("")};

    if (cut(&where, "GPU ")) {
        m.gpu = keep(r, cut_before(&where, " managed by process "));
        if (cut_number(&where, &m.pid) && cut(&where, " on node "))
            m.host = keep(r, where);
    }
    add_member(r, m);
}

/* "launched up to operation 7" behind "have " or "has ", and the like; false: nothing of the kind. */
static bool read_state(reader *r, hu_str text, int64_t n)
{
    int64_t count = 0;

    if (cut(&text, "launched up to operation ") && cut_number(&text, &count))
        add_set(r, HU_RAS_COUNT, r->operation, count, n);
    else if (hu_str_starts(text, HU_STR("not launched any operations")))
        add_set(r, HU_RAS_COUNT, r->operation, 0, n);
    else if (cut(&text, "status "))
        add_set(r, HU_RAS_STATUS, text, 0, n);
    else
        return false;
    return true;
}

/* A line that begins with "Rank ": of the set before, or a set of its own. */
static void read_rank(reader *r, hu_str line)
{
    int64_t rank;
    hu_str  where = line, head;

    if (!cut(&where, "Rank ") || !cut_number(&where, &rank))
        return;
    head = hu_str_trim(cut_before(&where, "-- "));
    if (cut(&head, "has ")) {
        if (!read_state(r, head, 1))
            return;
    } else if (cut(&head, "reported ")) {
        add_set(r, HU_RAS_ERROR, head, 0, 1);
    }
    add_rank(r, rank, where);
}

/* "Process 77 on node 10.0.0.7 managing GPUs 0,1" */
static void read_process(reader *r, hu_str line)
{
    hu_ras_member m = {.rank = -1, .pid = -1};

    if (!cut(&line, "Process ") || !cut_number(&line, &m.pid) || !cut(&line, " on node "))
        return;
    m.host = keep(r, cut_before(&line, " managing GPU"));
    cut(&line, "s");
    m.gpu = keep(r, hu_str_trim(line));
    add_member(r, m);
}

/* "7 ranks have launched …", "2 ranks reported …", "3 job processes are considered dead …" */
static void read_number(reader *r, hu_str line)
{
    int64_t n;

    if (!cut_number(&line, &n))
        return;
    if (cut(&line, " ranks have "))
        read_state(r, line, n);
    else if (cut(&line, " ranks reported "))
        add_set(r, HU_RAS_ERROR, line, 0, n);
    else if (hu_str_starts(line, HU_STR(" job process")) && hu_str_has(line, HU_STR("considered dead")))
        add_set(r, HU_RAS_DEAD, HU_STR(""), 0, n);
}

/* "#0-1 (3f…) MISMATCH": what follows is about this communicator. */
static void read_comm(reader *r, hu_str line)
{
    const hu_str name = cut_before(&line, " (");
    const hu_str hash = cut_before(&line, ")");
    hu_str       group = {name.p + 1, name.n - 1};
    int64_t      at;

    r->set = NULL;
    for (size_t i = 0; i < r->out->comms.n; i++)
        if (hu_str_equal(r->out->comms.at[i].name, name)) {
            r->comm = &r->out->comms.at[i];
            return;
        }
    if (r->out->comms.n >= MOST_GROUPS)
        return;
    if (!hu_vec_push(r->out->arena, &r->out->comms,
                     ((hu_ras_comm){.name = keep(r, name), .hash = keep(r, hash), .size = -1}))) {
        r->has_memory = false;
        return;
    }
    r->comm = &r->out->comms.at[r->out->comms.n - 1];
    if (cut_number(&group, &at) && at >= 0 && (size_t)at < r->sizes.n)
        r->comm->size = r->sizes.at[at];
}

/* A row of the table: group, communicators in it, nodes, ranks of a node, ranks of a communicator, ... */
static bool read_group(reader *r, hu_str line)
{
    int64_t values[5] = {0};

    for (int i = 0; i < 5; i++) {
        line = hu_str_trim(line);
        if (!cut_number(&line, &values[i]))
            return false;
        if (i == 3 && cut(&line, "-") && !cut_number(&line, &values[i])) /* "4-8" */
            return false;
    }
    if (r->sizes.n < MOST_GROUPS && !hu_vec_push(r->out->arena, &r->sizes, values[4]))
        r->has_memory = false;
    r->out->n_comms += values[1] < MOST_COMMS ? values[1] : MOST_COMMS;
    return true;
}

static void read_line(reader *r, hu_str line)
{
    line = hu_str_trim(line);
    if (r->is_table && line.n && is_digit(line.p[0]) && read_group(r, line))
        return;
    r->is_table = false;
    if (line.n && line.p[0] == '#')
        read_comm(r, line);
    else if (hu_str_starts(line, HU_STR("Group ")))
        r->is_table = true;
    else if (cut(&line, "NCCL version "))
        r->out->version = keep(r, cut_before(&line, " "));
    else if (hu_str_equal(line, HU_STR("Warnings")))
        r->has_end = true;
    else if (hu_str_equal(line, HU_STR("INCOMPLETE")) || hu_str_equal(line, HU_STR("DEAD")))
        r->comm = &r->out->job;
    else if (cut(&line, "Missing communicator data from ")) {
        int64_t n = 0;

        if (cut_number(&line, &n))
            add_set(r, HU_RAS_SILENT, HU_STR(""), 0, n);
    } else if (cut(&line, "Encountered "))
        cut_number(&line, &r->out->timeouts);
    else if (cut(&line, "Communicator ranks have different ")) {
        r->set = NULL;
        r->operation = keep(r, cut_before(&line, " operation count"));
    } else if (hu_str_starts(line, HU_STR("Rank ")))
        read_rank(r, line);
    else if (hu_str_starts(line, HU_STR("Process ")))
        read_process(r, line);
    else if (line.n && is_digit(line.p[0]))
        read_number(r, line);
}

static void read_text(reader *r, hu_str text)
{
    r->comm = &r->out->job;
    while (text.n && r->has_memory) {
        const hu_str line = cut_before(&text, "\n");

        /* the header of the table has two lines, and its first one begins as no row does */
        if (hu_str_has(line, HU_STR("#  in group")))
            r->is_table = true;
        else
            read_line(r, line);
    }
    r->out->is_cut = !r->has_end;
}

/* JSON. */

/* Of a rank in JSON, what its set has in common. */
typedef struct {
    hu_ras_kind   kind;
    hu_str        what;
    int64_t       count;
    hu_ras_member member;
} fact;

typedef HU_VEC(fact) facts;

static hu_ras_member member_of(reader *r, const hu_value *v)
{
    const int64_t gpu = hu_value_int(hu_value_get(v, "cuda_dev"), -1);
    char          text[24];

    return (hu_ras_member){.rank = hu_value_int(hu_value_get(v, "rank"), -1),
                           .pid = hu_value_int(hu_value_get(v, "pid"), -1),
                           .host = keep(r, hu_value_text(hu_value_get(v, "host"))),
                           .gpu = gpu < 0 ? HU_STR("") : keep(r, (hu_str){text, hu_format_i64(text, gpu)})};
}

static hu_str error_word(int64_t result)
{
    static const hu_str words[] = {
        {"success", 7},           {"unhandled CUDA error", 20}, {"system error", 12},        {"internal error", 14},
        {"invalid argument", 16}, {"invalid usage", 13},        {"remote process error", 20}};

    return result >= 0 && (size_t)result < HU_COUNT(words) ? words[result] : HU_STR("unexpected error");
}

static hu_str status_word(const hu_value *status)
{
    if (hu_value_int(hu_value_get(status, "abort_flag"), 0))
        return HU_STR("ABORT");
    if (hu_value_int(hu_value_get(status, "finalize_called"), 0) || hu_value_int(hu_value_get(status, "destroy_flag"), 0))
        return HU_STR("FINALIZE");
    return hu_value_int(hu_value_get(status, "init_state"), 0) ? HU_STR("INIT") : HU_STR("RUNNING");
}

static void add_fact(reader *r, facts *all, fact f)
{
    if (!hu_vec_push(r->out->arena, all, f))
        r->has_memory = false;
}

static void read_json_rank(reader *r, const hu_value *v, facts *all)
{
    const hu_value          *status = hu_value_get(v, "status"), *counts = hu_value_get(v, "collective_counts");
    const hu_ras_member      m = member_of(r, v);
    static const char *const results[] = {"init_state", "async_error"};

    add_fact(r, all, (fact){HU_RAS_STATUS, status_word(status), 0, m});
    for (size_t i = 0; i < HU_COUNT(results); i++) {
        const int64_t result = hu_value_int(hu_value_get(status, results[i]), 0);

        if (result != 0 && result != IN_PROGRESS)
            add_fact(r, all, (fact){HU_RAS_ERROR, error_word(result), 0, m});
    }
    for (uint32_t i = 0; counts && counts->type == HU_VALUE_DICT && i + 1 < counts->n && i < 64; i += 2)
        add_fact(r, all,
                 (fact){HU_RAS_COUNT, keep(r, hu_value_text(counts->items[i])), hu_value_int(counts->items[i + 1], 0), m});
}

static void read_json_missing(reader *r, const hu_value *v, facts *all)
{
    const hu_value *status = hu_value_get(v, "status");
    const bool      is_dead = hu_value_int(hu_value_get(status, "considered_dead"), 0) != 0;
    const bool      is_silent = hu_value_int(hu_value_get(status, "unresponsive"), 0) != 0;

    add_fact(r, all,
             (fact){is_dead     ? HU_RAS_DEAD
                    : is_silent ? HU_RAS_SILENT
                                : HU_RAS_STATUS,
                    is_dead || is_silent ? HU_STR("") : HU_STR("NOCOMM"), 0, member_of(r, v)});
}

static int by_fact(const void *a, const void *b)
{
    const fact *x = a, *y = b;
    const int   what = x->kind == y->kind ? hu_str_compare(x->what, y->what) : x->kind < y->kind ? -1 : 1;

    if (what)
        return what;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return (x->member.rank > y->member.rank) - (x->member.rank < y->member.rank);
}

static bool is_same_set(const fact *a, const fact *b)
{
    return a->kind == b->kind && a->count == b->count && hu_str_equal(a->what, b->what);
}

/* Are all ranks alike in this?  Then it says nothing of any: the same count, or all RUNNING. */
static bool is_common(const fact *first, size_t n, size_t n_ranks)
{
    if (first->kind != HU_RAS_COUNT && first->kind != HU_RAS_STATUS)
        return false;
    return n == n_ranks || (first->kind == HU_RAS_STATUS && hu_str_equal(first->what, HU_STR("RUNNING")));
}

static void add_sets(reader *r, facts *all, size_t n_ranks)
{
    if (all->n)
        qsort(all->at, all->n, sizeof *all->at, by_fact);
    for (size_t i = 0, end; i < all->n && r->has_memory; i = end) {
        for (end = i + 1; end < all->n && is_same_set(&all->at[i], &all->at[end]);)
            end++;
        if (is_common(&all->at[i], end - i, n_ranks))
            continue;
        add_set(r, all->at[i].kind, all->at[i].what, all->at[i].count, (int64_t)(end - i));
        for (size_t k = i; k < end; k++)
            add_member(r, all->at[k].member);
    }
}

static void read_json(reader *r, const hu_value *root)
{
    const hu_value *comms = hu_value_get(root, "communicators");

    r->out->version = keep(r, hu_value_text(hu_value_get(root, "nccl_version")));
    r->out->timeouts = hu_value_int(hu_value_get(hu_value_get(root, "ras"), "timeouts_count"), 0);
    for (size_t i = 0; i < hu_value_count(comms) && i < MOST_COMMS && r->has_memory; i++) {
        const hu_value *v = hu_value_at(comms, i), *ranks = hu_value_get(v, "ranks"),
                       *missing = hu_value_get(v, "missing_ranks");
        facts all = {0};

        if (!hu_vec_push(r->out->arena, &r->out->comms,
                         ((hu_ras_comm){.name = HU_STR(""),
                                        .hash = keep(r, hu_value_text(hu_value_get(v, "hash"))),
                                        .size = hu_value_int(hu_value_get(v, "size"), -1)}))) {
            r->has_memory = false;
            return;
        }
        r->comm = &r->out->comms.at[r->out->comms.n - 1];
        for (size_t k = 0; k < hu_value_count(ranks) && r->has_memory; k++)
            read_json_rank(r, hu_value_at(ranks, k), &all);
        for (size_t k = 0; k < hu_value_count(missing) && r->has_memory; k++)
            read_json_missing(r, hu_value_at(missing, k), &all);
        add_sets(r, &all, hu_value_count(ranks));
    }
    r->out->n_comms = (int64_t)r->out->comms.n;
}

int hu_nccl_ras_read(hu_input *in, hu_ras_status *out, hu_error *err)
{
    hu_arena       *scratch = hu_arena_new();
    reader          r = {.out = out, .has_memory = true};
    hu_str          bytes = {0};
    const hu_value *root = NULL;
    bool            is_json = false;
    int             rc;

    *out = (hu_ras_status){.arena = hu_arena_new(), .job = {.size = -1}};
    rc = !scratch || !out->arena || !hu_intern_init(&r.texts, out->arena) ? hu_fail_memory(err)
                                                                          : hu_input_read_whole(in, scratch, &bytes, err);
    if (rc == 0 && !hu_nccl_ras_probe(bytes))
        rc = hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET, "no output of ncclras");
    for (size_t i = 0; rc == 0 && i < bytes.n && !is_json && (unsigned char)bytes.p[i] <= ' '; i++)
        is_json = i + 1 < bytes.n && bytes.p[i + 1] == '{';
    is_json |= rc == 0 && bytes.n && bytes.p[0] == '{';
    if (rc == 0 && is_json && !(root = hu_json_value_read(bytes, hu_input_name(in), hu_input_limits(in), scratch, err)))
        rc = err->code;
    if (rc == 0) {
        out->file = keep(&r, hu_str_of(hu_input_name(in)));
        if (is_json)
            read_json(&r, root);
        else
            read_text(&r, bytes);
        rc = r.has_memory ? 0 : hu_fail_memory(err);
    }
    hu_arena_free(scratch);
    return rc;
}

void hu_nccl_ras_free(hu_ras_status *status)
{
    hu_arena_free(status->arena);
    status->arena = NULL;
}

/* An answer of RAS is no timeline: it is read, so that a broken one is reported, with the way to its meaning. */
static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_ras_status status;
    int           rc = hu_nccl_ras_read(in, &status, err);

    (void)b;
    hu_nccl_ras_free(&status);
    return rc < 0 ? rc
                  : hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                            "output of ncclras, which has no timeline; pass it, or two of one job, and nothing else to "
                            "`holdup report`");
}

const hu_format hu_format_nccl_ras = {
    .name = "nccl-ras",
    .what = "answers of NCCL's RAS subsystem",
    .suffixes = ".json",
    .probe = hu_nccl_ras_probe,
    .import = import,
};
