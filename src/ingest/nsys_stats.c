/* SPDX-License-Identifier: Apache-2.0
 * nsys_stats.c - finds tables of sums in what `nsys stats` or `nsys profile --stats=true` printed, and names their reports.
 *
 * Which report a table is stands before it, in other words every year; of a CSV file, in its name; else its columns tell. */
#include "ingest/nsys_stats.h"

#include "ingest/format.h"
#include "ingest/nsys_table.h"
#include "ingest/producers.h"

enum { MOST_TABLES = 4096, TEXT_BYTES = 4096 };

/* Keys of today and of until 2022, and the title that stood before them; NULL: none, or said by the columns. */
static const struct {
    hu_nsys_kind kind;
    const char  *key, *old, *title;
} reports[] = {
    {HU_NSYS_KERNELS, "cuda_gpu_kern_sum", "gpukernsum", "CUDA Kernel Statistics"},
    {HU_NSYS_KERNELS, "cuda_gpu_kern_gb_sum", "gpukerngbsum", NULL},
    {HU_NSYS_COPIES, "cuda_gpu_mem_time_sum", "gpumemtimesum", "CUDA Memory Operation Statistics (by time)"},
    {HU_NSYS_COPY_SIZES, "cuda_gpu_mem_size_sum", "gpumemsizesum", "CUDA Memory Operation Statistics (by size"},
    {HU_NSYS_CALLS, "cuda_api_sum", "cudaapisum", "CUDA API Statistics"},
    {HU_NSYS_OS_CALLS, "osrt_sum", "osrtsum", "Operating System Runtime API Statistics"},
    {HU_NSYS_RANGES, "nvtx_sum", "nvtxsum", "NVTX"},
    {HU_NSYS_RANGES, "nvtx_pushpop_sum", "nvtxppsum", NULL},
    {HU_NSYS_RANGES, "nvtx_startend_sum", "nvtxsesum", NULL},
    {HU_NSYS_MPI, "mpi_event_sum", "mpieventsum", NULL},
    {HU_NSYS_MIXED, "cuda_gpu_sum", "gpusum", NULL},
    {HU_NSYS_MIXED, "cuda_api_gpu_sum", "apigpusum", NULL},
};

typedef struct {
    hu_nsys_sums *out;
    hu_arena     *arena;
    int64_t       rows, most_rows, headings;
    const char   *file; /* its name */
    hu_str        key;  /* of the report that the next table is of; "" unknown */
} reader;

static bool is_key(hu_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] == '_' || (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9')))
            return false;
    return s.n > 0;
}

/* "cuda_gpu_kern_sum:base" has an argument; a report of our list gets the key of today. */
static void set_key(reader *r, hu_str key)
{
    const char *colon = key.n ? memchr(key.p, ':', key.n) : NULL;

    key.n = colon ? (size_t)(colon - key.p) : key.n;
    r->key = is_key(key) ? key : HU_STR("");
    for (size_t i = 0; i < HU_COUNT(reports); i++)
        if (hu_str_equal(key, hu_str_of(reports[i].old)))
            r->key = hu_str_of(reports[i].key);
}

/* What stands between `before` and `behind`; "" without them. */
static hu_str between(hu_str line, const char *before, const char *behind)
{
    const hu_str a = hu_str_of(before), b = hu_str_of(behind);
    const char  *begin = line.n ? memmem(line.p, line.n, a.p, a.n) : NULL;
    const char  *end = begin ? memmem(begin + a.n, (size_t)(line.p + line.n - begin) - a.n, b.p, b.n) : NULL;

    return end ? (hu_str){begin + a.n, (size_t)(end - begin) - a.n} : HU_STR("");
}

/* What stands behind the first `mark`; "" without it. */
static hu_str behind(hu_str s, const char *mark)
{
    const hu_str m = hu_str_of(mark);
    const char  *at = s.n ? memmem(s.p, s.n, m.p, m.n) : NULL;

    return at ? (hu_str){at + m.n, (size_t)(s.p + s.n - at) - m.n} : HU_STR("");
}

/* Stands in a command line as it is: no blank, quote or other mark of a shell. */
static bool is_plain_path(hu_str path)
{
    for (size_t i = 0; i < path.n; i++)
        if (!(hu_char_is_letter(path.p[i]) || (path.p[i] >= '0' && path.p[i] <= '9') ||
              memchr("_./+=@%:,-", path.p[i], sizeof "_./+=@%:,-" - 1)))
            return false;
    return path.n > 0 && path.n < 4096 && path.p[0] != '-';
}

/* The export or report that a line names, unless an earlier one did. */
static void take_path(reader *r, hu_str path)
{
    if (!is_plain_path(path))
        return;
    if (hu_str_ends(path, HU_STR(".sqlite")) && !r->out->sqlite.n)
        r->out->sqlite = path;
    else if ((hu_str_ends(path, HU_STR(".nsys-rep")) || hu_str_ends(path, HU_STR(".qdrep"))) && !r->out->report.n)
        r->out->report = path;
}

/* The report that is the next one has no rows. */
static int add_absent(reader *r, hu_error *err)
{
    for (size_t i = 0; i < HU_COUNT(reports); i++)
        if (r->key.n && hu_str_equal(r->key, hu_str_of(reports[i].key)) && r->out->tables.n < MOST_TABLES &&
            !hu_vec_push(r->arena, &r->out->tables,
                         ((hu_nsys_table){.kind = reports[i].kind, .key = r->key, .is_absent = true})))
            return hu_fail_memory(err);
    r->key = HU_STR("");
    return 0;
}

/* A line that is in no table may say what the next one is. */
static int read_line(reader *r, hu_str line, hu_error *err)
{
    hu_str text;

    while (line.n && line.p[0] == ' ')
        line = (hu_str){line.p + 1, line.n - 1};
    if (hu_str_starts(line, HU_STR("SKIPPED:")) || hu_str_starts(line, HU_STR("Report was successfully run, but no data")))
        return add_absent(r, err);
    if (hu_str_starts(line, HU_STR("Generating SQLite file "))) {
        take_path(r, between(line, "Generating SQLite file ", " from "));
        text = between(line, " from ", ".nsys-rep");
        if (text.n)
            take_path(r, (hu_str){text.p, text.n + sizeof ".nsys-rep" - 1});
    } else if (hu_str_starts(line, HU_STR("NOTICE: Existing SQLite export found: "))) {
        take_path(r, behind(line, "found: "));
    } else if (hu_str_starts(line, HU_STR("Processing ["))) {
        take_path(r, between(line, "Processing [", "]"));
        text = between(line, "with [", "]");
        text = hu_str_base_name(text);
        if (hu_str_ends(text, HU_STR(".py")))
            text.n -= 3;
        set_key(r, text);
    } else if (hu_str_starts(line, HU_STR("** ")) && hu_str_ends(line, HU_STR("):"))) {
        const char *open = memrchr(line.p, '(', line.n);

        set_key(r, open ? (hu_str){open + 1, (size_t)(line.p + line.n - open) - 3} : HU_STR(""));
    } else if ((text = between(line, "Executing '", "' stats report")).n) {
        set_key(r, text);
    } else if (line.n && line.p[0] == '[' && hu_str_has(line, HU_STR("100%] "))) {
        for (text = line; (text = behind(text, "100%] ")).n;) /* a progress bar is drawn again and again on one line */
            take_path(r, text);
    } else {
        for (size_t i = 0; i < HU_COUNT(reports); i++)
            if (reports[i].title && hu_str_starts(line, hu_str_of(reports[i].title)) &&
                hu_str_has(line, HU_STR("Statistics")))
                set_key(r, hu_str_of(reports[i].key));
    }
    return 0;
}

/* "sums_cuda_gpu_kern_sum.csv": the longest key in the name of the file. */
static hu_str key_of_file(hu_str file)
{
    hu_str best = HU_STR(""), found = HU_STR("");

    file = hu_str_base_name(file);
    for (size_t i = 0; i < HU_COUNT(reports); i++)
        for (int old = 0; old < 2; old++) {
            const hu_str key = hu_str_of(old ? reports[i].old : reports[i].key);

            if (key.n > found.n && hu_str_has(file, key)) {
                found = key;
                best = hu_str_of(reports[i].key);
            }
        }
    return best;
}

static size_t count_starts(const hu_nsys_table *t, const char *const *starts, size_t n)
{
    size_t found = 0;

    for (size_t i = 0; i < t->rows.n; i++)
        for (size_t k = 0; k < n; k++)
            if (hu_str_starts(t->rows.at[i].name, hu_str_of(starts[k]))) {
                found++;
                break;
            }
    return found;
}

/* Without a word of nsys: what has such columns and such names. */
static hu_nsys_kind kind_of_columns(const hu_nsys_heading *h, const hu_nsys_table *t)
{
    static const char *const cuda[] = {"cuda", "cuA", "cuC", "cuD", "cuE", "cuG", "cuI", "cuK", "cuL",
                                       "cuM",  "cuO", "cuP", "cuS", "cuT", "hip", "cuV", "cuF", "cuStream"};
    static const char *const mpi[] = {"MPI_"};
    static const char *const omp[] = {"Parallel", "Task", "Barrier", "Implicit", "Taskwait", "Critical", "Idle"};
    const bool is_call = hu_str_equal(h->count, HU_STR("Num Calls")) || hu_str_equal(h->count, HU_STR("Calls"));

    if (h->is_bytes)
        return HU_NSYS_COPY_SIZES;
    for (size_t i = 0; i < h->n; i++)
        if (h->columns[i] == HU_NSYS_COLUMN_GROUP)
            return hu_str_equal(h->name, HU_STR("Range")) ? HU_NSYS_RANGES : HU_NSYS_MIXED;
    if (hu_str_equal(h->name, HU_STR("Range")))
        return HU_NSYS_RANGES;
    for (size_t i = 0; is_call && i < t->rows.n; i++) /* "Enqueue Launch@saxpy.c:9", of OpenACC */
        if (memchr(t->rows.at[i].name.p, ' ', t->rows.at[i].name.n) ||
            memchr(t->rows.at[i].name.p, '@', t->rows.at[i].name.n))
            return HU_NSYS_OTHER;
    if (is_call)
        return 2 * count_starts(t, cuda, HU_COUNT(cuda)) >= t->rows.n ? HU_NSYS_CALLS : HU_NSYS_OS_CALLS;
    for (size_t i = 0; i < t->rows.n; i++)
        if (hu_str_starts(t->rows.at[i].name, HU_STR("[CUDA ")))
            return HU_NSYS_COPIES;
    if (count_starts(t, mpi, HU_COUNT(mpi)) == t->rows.n)
        return HU_NSYS_MPI;
    if (count_starts(t, omp, HU_COUNT(omp)) == t->rows.n)
        return HU_NSYS_OTHER;
    return hu_str_equal(h->count, HU_STR("Instances")) && hu_str_equal(h->name, HU_STR("Name")) ? HU_NSYS_KERNELS
                                                                                                : HU_NSYS_OTHER;
}

/* "cudaGraphLaunch_v10000" is cudaGraphLaunch; cuMemcpyDtoH_v2 keeps its version, which is part of the name. */
static hu_str without_version(hu_str name)
{
    size_t n = name.n;

    while (n && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    if (name.n - n >= 4 && n > 2 && name.p[n - 1] == 'v' && name.p[n - 2] == '_')
        name.n = n - 2;
    return name;
}

/* The report by its key, unless the columns cannot be of it. */
static void name_table(reader *r, const hu_nsys_heading *h, hu_nsys_table *t)
{
    const hu_str key = r->key.n ? r->key : key_of_file(hu_str_of(r->file));

    t->kind = key.n ? HU_NSYS_OTHER : kind_of_columns(h, t);
    t->key = key;
    for (size_t i = 0; i < HU_COUNT(reports); i++)
        if (hu_str_equal(key, hu_str_of(reports[i].key)))
            t->kind = reports[i].kind;
    if (h->is_bytes != (t->kind == HU_NSYS_COPY_SIZES) && t->kind != HU_NSYS_OTHER) {
        t->kind = kind_of_columns(h, t);
        t->key = HU_STR("");
    }
    for (size_t i = 0; i < t->rows.n; i++) {
        hu_nsys_row *row = &t->rows.at[i];

        row->is_comm = (t->kind == HU_NSYS_KERNELS || t->kind == HU_NSYS_MIXED) && hu_producers_is_comm(row->name);
        if (t->kind == HU_NSYS_CALLS || t->kind == HU_NSYS_MIXED)
            row->name = without_version(row->name);
        r->out->n_clipped += hu_str_ends(row->name, HU_STR("\xe2\x80\xa6"));
    }
}

/* Rows that somebody left out of a copy: "......". */
static bool take_dots(hu_str *text)
{
    hu_str       rest = *text;
    const hu_str line = hu_nsys_line_take(&rest);
    size_t       dots = 0;

    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == '.')
            dots++;
        else if (line.p[i] != ' ')
            return false;
    if (dots < 3)
        return false;
    *text = rest;
    return true;
}

static int read_table(reader *r, const hu_nsys_heading *h, hu_str *text, hu_error *err)
{
    hu_nsys_table t = {.is_bytes = h->is_bytes};
    hu_nsys_row   row;
    hu_nsys_taken taken;

    if (++r->headings > MOST_TABLES)
        return hu_fail(err, HU_ELIMIT, r->file, HU_NO_OFFSET, "has more than %d tables", MOST_TABLES);
    for (;;) {
        taken = hu_nsys_row_take(h, text, r->arena, &row);
        if (taken == HU_NSYS_NO_ROW && take_dots(text)) {
            r->out->is_cut = true;
            continue;
        }
        if (taken != HU_NSYS_ROW)
            break;
        if (++r->rows > r->most_rows)
            return hu_fail(err, HU_ELIMIT, r->file, HU_NO_OFFSET, "has more than %lld rows; raise --limit events",
                           (long long)r->most_rows);
        if (!hu_vec_push(r->arena, &t.rows, row))
            return hu_fail_memory(err);
    }
    r->out->is_cut |= taken == HU_NSYS_CUT_ROW;
    if (taken == HU_NSYS_CUT_ROW)
        text->n = 0;
    if (taken == HU_NSYS_NO_MEMORY)
        return hu_fail_memory(err);
    name_table(r, h, &t);
    r->key = HU_STR("");
    return t.rows.n == 0 || hu_vec_push(r->arena, &r->out->tables, t) ? 0 : hu_fail_memory(err);
}

/* Where the line begins whose first word the byte at `at` begins; NULL when something stands before it. */
static const char *line_of(const char *begin, const char *at)
{
    while (at > begin && at[-1] != '\n') {
        at--;
        if (*at != ' ' && *at != '\t' && *at != '|' && *at != '"' && *at != '\xef' && *at != '\xbb' && *at != '\xbf')
            return NULL;
    }
    return at;
}

/* Headings begin with "Time" or "Total".  A trace has many lines and few such letters, and every file is asked. */
bool hu_nsys_stats_probe(hu_str head)
{
    const char *const end = head.p + head.n;
    hu_nsys_heading   heading;

    if (head.n && memchr(head.p, 0, head.n < TEXT_BYTES ? head.n : TEXT_BYTES))
        return false;
    for (const char *t = head.p; t < end && (t = memchr(t, 'T', (size_t)(end - t))); t++) {
        const char *line = t + 1 < end && (t[1] == 'i' || t[1] == 'o') ? line_of(head.p, t) : NULL;

        if (line && hu_nsys_heading_read((hu_str){line, (size_t)(end - line)}, &heading))
            return true;
    }
    return false;
}

extern const hu_format hu_format_nsys_stats;

bool hu_nsys_stats_is(hu_str head)
{
    return hu_nsys_stats_probe(head) && hu_format_find(head) == &hu_format_nsys_stats;
}

int hu_nsys_stats_read(hu_input *in, hu_arena *arena, hu_nsys_sums *out, hu_error *err)
{
    const size_t before = out->tables.n;
    reader       r = {.out = out, .arena = arena, .file = hu_input_name(in), .key = HU_STR("")};
    hu_str       text;
    size_t       rows = 0;
    int          rc = hu_input_read_whole(in, arena, &text, err);

    r.most_rows = hu_input_limits(in)->events;
    while (rc == 0 && text.n) {
        hu_nsys_heading heading;

        if (hu_nsys_heading_read(text, &heading)) {
            text = (hu_str){text.p + heading.n_bytes, text.n - heading.n_bytes};
            rc = read_table(&r, &heading, &text, err);
        } else {
            rc = read_line(&r, hu_nsys_line_take(&text), err);
        }
    }
    for (size_t i = before; i < out->tables.n; i++)
        rows += out->tables.at[i].rows.n;
    if (rc == 0 && rows == 0)
        rc = hu_fail(err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET,
                     "is output of nsys stats without a row; export the report: nsys export --type sqlite FILE.nsys-rep");
    return rc;
}

/* Sums are no timeline: they are read, so that broken ones are reported, with the way to their meaning. */
static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena    *arena = hu_arena_new();
    hu_nsys_sums sums = {0};
    const int    rc = arena ? hu_nsys_stats_read(in, arena, &sums, err) : hu_fail_memory(err);

    (void)b;
    hu_arena_free(arena);
    return rc < 0 ? rc
                  : hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                            "sums of nsys stats, which have no timeline; pass them as files, and nothing else, to "
                            "`holdup report`, or "
                            "export the report: nsys export --type sqlite FILE.nsys-rep");
}

const hu_format hu_format_nsys_stats = {
    .name = "nsys-stats",
    .what = "sums that nsys stats printed, as text or CSV",
    .suffixes = ".csv .tsv .txt",
    .probe = hu_nsys_stats_probe,
    .import = import,
};
