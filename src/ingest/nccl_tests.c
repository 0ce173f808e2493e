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

enum { MOST_TABLES = 64, MOST_ROWS = 512, MOST_TEXT = 80, WORDS = 40, MOST_HOSTS = 256, MOST_FAILURE = 160 };

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
                                     .failure = HU_STR(""),
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

/* Of all ranks, in the order of the list; those of one host stand together. */
static bool keep_host(hu_tests_reader *r, hu_str host, hu_arena *arena)
{
    for (size_t i = r->hosts.n; i-- > 0;)
        if (hu_str_equal(r->hosts.at[i], host))
            return true;
    if (host.n == 0 || r->hosts.n == MOST_HOSTS)
        return true;
    return keep(&host, host, arena) && hu_vec_push(arena, &r->hosts, host);
}

/* "  Rank  0 Group  0 Pid  64904 on       mew0 device  0 [0000:17:00] NVIDIA A100 80GB PCIe" */
static bool take_rank(hu_tests_reader *r, hu_str line, hu_arena *arena)
{
    hu_log_bench *b = r->open;
    const hu_str  on = behind(line, " on "), device = behind(on, "] ");
    size_t        at = 0;
    hu_str        host, name;

    if (!on.n || !device.n)
        return true;
    b->ranks++;
    host = next_word(on, &at);
    name = hu_str_trim(device);
    name.n = name.n > MOST_TEXT ? MOST_TEXT : name.n;
    host.n = host.n > MOST_TEXT ? MOST_TEXT : host.n;
    if (!keep_host(r, host, arena))
        return false;
    b->host_ranks += b->ranks == 1 || hu_str_equal(b->host, host);
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
        return take_rank(r, line, arena);
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

/*
 * Rows of another type or operation, and sizes from the first on (-N, -r), are a curve of their own: the same table without
 * rows.
 */
static bool split_table(hu_tests_reader *r, bool is_again, hu_arena *arena, hu_log_benches *out)
{
    hu_log_bench next;

    if (is_again && !r->open->pass)
        r->open->pass = 1;
    next = *r->open;
    next.pass = is_again ? next.pass + 1 : 0;

    if (out->n == MOST_TABLES) {
        r->open = NULL;
        return true;
    }
    memset(&next.rows, 0, sizeof next.rows);
    if (!is_again)
        next.type = next.redop = HU_STR("");
    next.n_torn = 0;
    if (!hu_vec_push(arena, out, next))
        return false;
    r->open = &out->at[out->n - 1];
    return true;
}

/* Numbers of the row that waits, and the row where these are all. */
static bool take_values(hu_tests_reader *r, hu_str line, size_t at, hu_arena *arena, hu_log_benches *out)
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
    if (r->row.bytes == 0)
        return true;
    if (r->open->rows.n && r->row.bytes <= r->open->rows.at[r->open->rows.n - 1].bytes && !split_table(r, true, arena, out))
        return false;
    if (!r->open || r->open->rows.n == MOST_ROWS)
        return true;
    return hu_vec_push(arena, &r->open->rows, r->row);
}

static bool is_name(hu_str word)
{
    return word.n && isalpha((unsigned char)word.p[0]) && !hu_str_equal(word, HU_STR("N/A"));
}

/* "  8388608  2097152  float  sum  -1 …", *at: behind what is not a number of it.  False: it is none. */
static bool begins_row(const hu_tests_reader *r, hu_str line, size_t *at, int64_t *bytes, hu_str *type, hu_str *redop)
{
    size_t  from = 0;
    int64_t count;

    if (!is_whole(next_word(line, &from), bytes) || !is_whole(next_word(line, &from), &count))
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

static bool has_dashes(hu_str word)
{
    return word.n >= 10 && isdigit((unsigned char)word.p[0]) && word.p[4] == '-' && word.p[7] == '-';
}

/* A line without what launchers and collectors of logs put before it: "0:", "[1,0]<stdout>:", "pod-0 |", a time. */
static hu_str without_prefix(hu_str line)
{
    size_t at = 0, end = 0;

    for (unsigned i = 0; i < 4; i++, at = end) {
        hu_str word = next_word(line, &end);
        size_t next = end;

        if (word.n && word.p[0] == '[' && memchr(line.p + end - word.n, ']', line.n - end + word.n)) {
            while (!memchr(word.p, ']', word.n))
                word = next_word(line, &end);
        } else if (has_dashes(word)) {
            word = word.n == 10 ? next_word(line, &next) : (hu_str){0};
            if (word.n && memchr(word.p, ':', word.n))
                end = next;
        } else if (word.n && word.p[word.n - 1] != ':' && !hu_str_equal(next_word(line, &next), HU_STR("|"))) {
            break;
        } else {
            end = next > end && word.n && word.p[word.n - 1] != ':' ? next : end;
        }
    }
    return (hu_str){line.p + at, line.n - at};
}

static bool take_row(hu_tests_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_benches *out, bool *is_row)
{
    hu_bench_row row = {.line = number};
    hu_str       type, redop;
    size_t       at = 0;
    bool         is_other;

    *is_row = begins_row(r, line, &at, &row.bytes, &type, &redop);
    if (!*is_row)
        return true;
    for (unsigned i = 0; i < HU_BENCH_PLACES; i++)
        row.ns[i] = row.algbw[i] = row.busbw[i] = row.wrong[i] = (double)NAN;
    hu_tests_end(r);
    is_other = !hu_str_equal(r->open->type, type) || !hu_str_equal(r->open->redop, redop);
    if (r->open->rows.n && is_other && !split_table(r, false, arena, out))
        return false;
    if (!r->open)
        return true;
    if (!r->open->type.n && (!keep(&r->open->type, type, arena) || !keep(&r->open->redop, redop, arena)))
        return false;
    r->row = row;
    r->has_row = true;
    r->n_values = 0;
    return take_values(r, line, at, arena, out);
}

/* Where a line of NCCL's begins behind something else: at a host's name; the line's length where none does. */
static size_t nccl_begins(const hu_tests_reader *r, hu_str line)
{
    size_t first = line.n;

    for (size_t i = 0; i < r->hosts.n; i++) {
        const hu_str host = r->hosts.at[i];

        for (size_t from = 0; from < first;) {
            const char *at = memmem(line.p + from, line.n - from, host.p, host.n);
            size_t      end;

            if (!at)
                break;
            from = (size_t)(at - line.p) + 1;
            end = from - 1 + host.n;
            if (end + 1 < line.n && line.p[end] == ':' && isdigit((unsigned char)line.p[end + 1]) && from - 1 < first)
                first = from - 1;
        }
    }
    return first;
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

/* A line of NCCL's of a host that no list has, glued to a row: the row is torn, and the host's name too. */
static void take_glued(hu_tests_reader *r, hu_str line, hu_str *rest)
{
    const char  *nccl = memmem(line.p, line.n, " NCCL ", 6);
    const hu_str own = without_prefix(line);
    hu_str       type, redop;
    int64_t      bytes;
    size_t       at = 0;

    const bool begins = begins_row(r, own, &at, &bytes, &type, &redop);

    if (!begins && !(r->has_row && next_word(own, &at).n && isdigit((unsigned char)hu_str_trim(own).p[0])))
        return;
    hu_tests_end(r);
    r->open->n_torn += begins;
    *rest = from_on(line, (size_t)(nccl - line.p));
}

/* "node7: Test NCCL failure common.cu:303 'remote process exited …'": the first of these. */
static bool take_failure(hu_tests_reader *r, hu_str line, hu_arena *arena)
{
    static const char *const words[] = {"Test NCCL failure ", "Test CUDA failure ", "Test failure "};

    for (size_t i = 0; i < HU_COUNT(words) && !r->open->failure.n; i++) {
        const hu_str found = behind(line, words[i]);

        if (found.n) {
            const hu_str text = hu_str_trim((hu_str){found.p - strlen(words[i]), found.n + strlen(words[i])});

            hu_tests_end(r);
            r->open->failure = hu_arena_copy(arena, (hu_str){text.p, text.n < MOST_FAILURE ? text.n : MOST_FAILURE});
            return r->open->failure.p != NULL;
        }
    }
    return true;
}

/* Numbers of a row, and of one that stands in pieces. */
static bool take_numbers(hu_tests_reader *r, hu_str own, uint64_t number, hu_arena *arena, hu_log_benches *out)
{
    double value;
    size_t at = 0;
    bool   is_row;

    if (!take_row(r, own, number, arena, out, &is_row))
        return false;
    if (is_row || !r->has_row || !is_value(next_word(own, &at), &value))
        return true;
    return take_values(r, own, 0, arena, out);
}

bool hu_tests_line(hu_tests_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_benches *out, hu_str *rest)
{
    const char *mark = memchr(line.p, '#', line.n < WORDS ? line.n : WORDS);
    const bool  is_nccl = hu_str_has(line, HU_STR(" NCCL "));
    hu_str      own = line;
    size_t      end = line.n;

    *rest = line;
    if (mark && (mark == line.p || mark[-1] == ' ' || mark[-1] == ':')) {
        const hu_str text = {mark, (size_t)(line.p + line.n - mark)};

        return take_comment(r, text, arena, out);
    }
    if (r->open && !take_failure(r, line, arena))
        return false;
    if (!r->open || !r->n_columns || r->open->failure.n)
        return true;
    if (is_nccl)
        end = nccl_begins(r, line);
    own.n = end;
    if (is_nccl && end == line.n)
        take_glued(r, line, rest);
    if (own.n == 0 || (is_nccl && end == line.n))
        return true;
    if (!take_numbers(r, without_prefix(own), number, arena, out))
        return false;
    *rest = from_on(line, end);
    return true;
}
