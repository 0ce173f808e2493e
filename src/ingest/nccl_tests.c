/* SPDX-License-Identifier: Apache-2.0
 * nccl_tests.c - tables of "size count type redop root time algbw busbw #wrong".
 *
 * Traps: a row is printed in pieces, and with NCCL_DEBUG lines of NCCL's stand between them and even behind a number without
 * a blank ("-1node7:64904:64904 [0] NCCL INFO").  Only the name of the host tells where they begin.  Older tests print no
 * name, no root, and "error" for "#wrong"; newer ones have further columns, so the heading says what a number is.  Launchers
 * put the rank before each line.  Sizes are as nccl-tests counts them: the whole buffer.
 */
#include "ingest/nccl_tests.h"

#include <ctype.h>
#include <math.h>

#include "base/number.h"

enum { MOST_TABLES = 64, MOST_ROWS = 512, MOST_TEXT = 80, WORDS = 40 };

enum { SKIPPED, TIME, ALGBW, BUSBW, WRONG };
enum { ROLE = 7, IN_PLACE = 8 }; /* of a column */

/* words */

/* The next word of a line from *at on; n is 0 at its end. */
static hu_str next_word(hu_str line, size_t *at)
{
    size_t from = *at, end;

    while (from < line.n && isspace((unsigned char)line.p[from]))
        from++;
    for (end = from; end < line.n && !isspace((unsigned char)line.p[end]); end++)
        continue;
    *at = end;
    return (hu_str){line.p + from, end - from};
}

static hu_str from_on(hu_str line, size_t at)
{
    return hu_str_trim((hu_str){line.p + at, line.n - at});
}

/* What stands behind a text in the line; n is 0 where it is not there. */
static hu_str behind(hu_str line, const char *text)
{
    const size_t n = strlen(text);
    const char  *at = line.n >= n ? memmem(line.p, line.n, text, n) : NULL;

    return at ? (hu_str){at + n, (size_t)(line.p + line.n - at) - n} : (hu_str){line.p, 0};
}

static bool keep(hu_str *to, hu_str text, hu_arena *arena)
{
    text = hu_str_trim(text);
    *to = hu_arena_copy(arena, (hu_str){text.p, text.n > MOST_TEXT ? MOST_TEXT : text.n});
    return to->p != NULL;
}

static bool is_whole(hu_str word, int64_t *out)
{
    return word.n && isdigit((unsigned char)word.p[0]) && hu_parse_i64(word, out);
}

/* A number of a row, or that there is none. */
static bool is_value(hu_str word, double *out)
{
    *out = (double)NAN;
    if (hu_str_equal(word, HU_STR("N/A")))
        return true;
    if (word.n == 0 || word.n >= HU_NUMBER_BYTES || !isdigit((unsigned char)word.p[0]) || !hu_parse_f64(word, out))
        return false;
    return isfinite(*out) && *out <= 1e18;
}

/* tables */

static bool open_table(hu_tests_reader *r, hu_arena *arena, hu_log_benches *out)
{
    hu_tests_end(r);
    *r = (hu_tests_reader){0};
    if (out->n == MOST_TABLES)
        return true;
    if (!hu_vec_push(arena, out,
                     ((hu_log_bench){.name = HU_STR(""),
                                     .version = HU_STR(""),
                                     .type = HU_STR(""),
                                     .redop = HU_STR(""),
                                     .host = HU_STR(""),
                                     .device = HU_STR(""),
                                     .average = (double)NAN,
                                     .out_of_bounds = -1})))
        return false;
    r->open = &out->at[out->n - 1];
    return true;
}

/* A first line of several begins a table; the others add to it. */
static bool open_new(hu_tests_reader *r, hu_arena *arena, hu_log_benches *out)
{
    return (r->open && !r->open->ranks && !r->n_columns) || open_table(r, arena, out);
}

/* "  Rank  0 Group  0 Pid  64904 on       mew0 device  0 [0000:17:00] NVIDIA A100 80GB PCIe" */
static bool take_rank(hu_log_bench *b, hu_str line, hu_arena *arena)
{
    const hu_str on = behind(line, " on "), device = behind(on, "] ");
    size_t       at = 0;
    hu_str       host, name;

    if (!on.n || !device.n)
        return true;
    b->ranks++;
    host = next_word(on, &at);
    name = hu_str_trim(device);
    name.n = name.n > MOST_TEXT ? MOST_TEXT : name.n;
    host.n = host.n > MOST_TEXT ? MOST_TEXT : host.n;
    if (b->ranks == 1)
        return keep(&b->host, host, arena) && keep(&b->device, name, arena);
    b->several_hosts |= !hu_str_equal(b->host, host);
    b->several_devices |= !hu_str_equal(b->device, name);
    return true;
}

/* "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong" */
static void take_heading(hu_tests_reader *r, hu_str line)
{
    unsigned place = 0;
    size_t   at = 0;
    bool     has_time = false;
    hu_str   word;

    r->n_columns = 0;
    r->has_root = false;
    while ((word = next_word(line, &at)).n && r->n_columns < HU_TESTS_COLUMNS) {
        const bool is_time = hu_str_equal(word, HU_STR("time")) || hu_str_equal(word, HU_STR("cputime"));
        unsigned   role = SKIPPED;

        r->has_root |= hu_str_equal(word, HU_STR("root"));
        place += is_time && has_time;
        has_time |= is_time;
        if (!has_time)
            continue;
        if (is_time)
            role = TIME;
        else if (hu_str_equal(word, HU_STR("algbw")))
            role = ALGBW;
        else if (hu_str_equal(word, HU_STR("busbw")))
            role = BUSBW;
        else if (hu_str_equal(word, HU_STR("#wrong")) || hu_str_equal(word, HU_STR("error")))
            role = WRONG;
        r->columns[r->n_columns++] = (uint8_t)(place < HU_BENCH_PLACES ? role | (place ? IN_PLACE : 0) : SKIPPED);
    }
}

/* Lines that begin with #, behind the rank that a launcher puts before them. */
static bool take_comment(hu_tests_reader *r, hu_str line, hu_arena *arena, hu_log_benches *out)
{
    const hu_str version = behind(line, "nccl-tests version "), name = behind(line, "Collective test starting: ");
    hu_str       found;
    size_t       at = 0;

    if (version.n)
        return open_new(r, arena, out) && (!r->open || keep(&r->open->version, next_word(version, &at), arena));
    if (name.n)
        return open_new(r, arena, out) && (!r->open || keep(&r->open->name, next_word(name, &at), arena));
    if (behind(line, "nThread ").n)
        return open_new(r, arena, out);
    if (!r->open)
        return true;
    if (behind(line, " Rank ").n && behind(line, " Pid ").n)
        return take_rank(r->open, line, arena);
    if (behind(line, " algbw ").n && behind(line, " size ").n) {
        take_heading(r, line);
        return true;
    }
    found = behind(line, "Out of bounds values : ");
    if (found.n) {
        if (!is_whole(next_word(found, &at), &r->open->out_of_bounds))
            r->open->out_of_bounds = -1;
        r->open->has_failed = hu_str_has(found, HU_STR("FAILED"));
    }
    found = behind(line, "Avg bus bandwidth ");
    if (found.n && (found = behind(found, ":")).n && !is_value(next_word(found, &at), &r->open->average))
        r->open->average = (double)NAN;
    return true;
}

/* rows */

static void put(hu_bench_row *row, unsigned column, double value)
{
    const unsigned place = column & IN_PLACE ? HU_BENCH_IN : HU_BENCH_OUT;

    switch (column & ROLE) {
    case TIME:
        row->ns[place] = value * 1e3;
        break;
    case ALGBW:
        row->algbw[place] = value;
        break;
    case BUSBW:
        row->busbw[place] = value;
        break;
    case WRONG:
        row->wrong[place] = value;
        break;
    default:
        break;
    }
}

/* Numbers of the row that waits, and the row where these are all. */
static bool take_values(hu_tests_reader *r, hu_str line, size_t at, hu_arena *arena)
{
    double value;

    while (r->n_values < r->n_columns) {
        const hu_str word = next_word(line, &at);

        if (word.n == 0)
            return true;
        if (!is_value(word, &value)) {
            r->open->n_torn++;
            r->has_row = false;
            return true;
        }
        put(&r->row, r->columns[r->n_values++], value);
    }
    r->has_row = false;
    if (r->open->rows.n == MOST_ROWS || r->row.bytes == 0)
        return true;
    return hu_vec_push(arena, &r->open->rows, r->row);
}

static bool is_name(hu_str word)
{
    return word.n && isalpha((unsigned char)word.p[0]) && !hu_str_equal(word, HU_STR("N/A"));
}

/* "  8388608  2097152  float  sum  -1 …", behind the rank of a launcher.  *at: behind it.  False: it is none. */
static bool begins_row(const hu_tests_reader *r, hu_str line, size_t *at, int64_t *bytes, hu_str *type, hu_str *redop)
{
    size_t  from = 0;
    int64_t count;
    hu_str  word = next_word(line, &from);

    while (word.n && word.p[word.n - 1] == ':') /* "0:", "[1,0]<stdout>:" */
        word = next_word(line, &from);
    if (!is_whole(word, bytes) || !is_whole(next_word(line, &from), &count))
        return false;
    *type = next_word(line, &from);
    if (!is_name(*type))
        return false;
    *at = from;
    *redop = next_word(line, &from);
    if (is_name(*redop))
        *at = from;
    else
        *redop = HU_STR("");
    if (r->has_root)
        next_word(line, at);
    return true;
}

/* Rows of another type or operation are a curve of their own: the same table without rows. */
static bool split_table(hu_tests_reader *r, hu_arena *arena, hu_log_benches *out)
{
    hu_log_bench next = *r->open;

    if (out->n == MOST_TABLES) {
        r->open = NULL;
        return true;
    }
    memset(&next.rows, 0, sizeof next.rows);
    next.type = next.redop = HU_STR("");
    next.n_torn = 0;
    if (!hu_vec_push(arena, out, next))
        return false;
    r->open = &out->at[out->n - 1];
    return true;
}

static bool take_row(hu_tests_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_benches *out, bool *is_row)
{
    hu_bench_row row = {.line = number};
    hu_str       type, redop;
    size_t       at = 0;

    *is_row = begins_row(r, line, &at, &row.bytes, &type, &redop);
    if (!*is_row)
        return true;
    for (unsigned i = 0; i < HU_BENCH_PLACES; i++)
        row.ns[i] = row.algbw[i] = row.busbw[i] = row.wrong[i] = (double)NAN;
    hu_tests_end(r);
    if (r->open->rows.n && (!hu_str_equal(r->open->type, type) || !hu_str_equal(r->open->redop, redop)) &&
        !split_table(r, arena, out))
        return false;
    if (!r->open)
        return true;
    if (!r->open->type.n && (!keep(&r->open->type, type, arena) || !keep(&r->open->redop, redop, arena)))
        return false;
    r->row = row;
    r->has_row = true;
    r->n_values = 0;
    return take_values(r, line, at, arena);
}

/* Where a line of NCCL's begins behind something else: at the host's name; the line's length where none does. */
static size_t nccl_begins(const hu_tests_reader *r, hu_str line)
{
    const hu_str host = r->open->host;
    const char  *at = host.n ? memmem(line.p, line.n, host.p, host.n) : NULL;
    const size_t end = at ? (size_t)(at - line.p) + host.n : line.n;

    return end < line.n && line.p[end] == ':' ? (size_t)(at - line.p) : line.n;
}

bool hu_tests_print(hu_str line, int64_t *bits)
{
    size_t at = 0;
    double value;

    if (!hu_str_ends(line, HU_STR("Gbps")) || !hu_str_equal(next_word(line, &at), HU_STR("busbw:")) ||
        !is_value(next_word(line, &at), &value) || !(value < 1e6))
        return false;
    *bits = llround(value * 1e9);
    return true;
}

void hu_tests_end(hu_tests_reader *r)
{
    if (r->has_row && r->open)
        r->open->n_torn++;
    r->has_row = false;
}

bool hu_tests_line(hu_tests_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_benches *out, hu_str *rest)
{
    const char *mark = memchr(line.p, '#', line.n < WORDS ? line.n : WORDS);
    hu_str      own = line;
    double      value;
    size_t      at = 0, end = line.n;
    bool        is_row;

    *rest = line;
    if (mark && (mark == line.p || mark[-1] == ' ' || mark[-1] == ':')) {
        const hu_str text = {mark, (size_t)(line.p + line.n - mark)};

        return take_comment(r, text, arena, out);
    }
    if (!r->open || !r->n_columns)
        return true;
    if (hu_str_has(line, HU_STR(" NCCL ")))
        end = nccl_begins(r, line);
    own.n = end;
    if (own.n == 0 || (end == line.n && hu_str_has(line, HU_STR(" NCCL "))))
        return true;
    if (!take_row(r, own, number, arena, out, &is_row))
        return false;
    if (!is_row) {
        const hu_str word = next_word(own, &at);

        if (!r->has_row || !is_value(word, &value))
            return true;
        if (!take_values(r, own, 0, arena))
            return false;
    }
    *rest = from_on(line, end);
    return true;
}
