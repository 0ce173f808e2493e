/* SPDX-License-Identifier: Apache-2.0
 * deepspeed_ops.c - a heading, then operations, and below each "914.0 MB  1650  -296460.05  230.41  66.55  66.53".
 *
 * The second table, "Breakdown with straggler effect", has the same sizes: what the fastest rank took, and what this one
 * took longer.  log_summary may be called again and again: counts grow, and the last table is the run's.  Sizes are rounded
 * when they are printed, so a table may have several rows of "1.03 MB": each replaces one of the table before, in order.
 */
#include "ingest/deepspeed_ops.h"

#include <ctype.h>
#include <math.h>

#include "base/number.h"

enum { MOST_OPS = 16384, MOST_LOOKS = 200000000, MOST_WORDS = 12, MOST_NAME = 64, NUMBERS = 4 };

/* The words of a line; 0 where it has more than that, as no row has. */
static size_t words_of(hu_str line, hu_str *words)
{
    size_t n = 0, at = 0;

    while (at < line.n) {
        size_t end;

        while (at < line.n && isspace((unsigned char)line.p[at]))
            at++;
        for (end = at; end < line.n && !isspace((unsigned char)line.p[end]); end++)
            continue;
        if (end == at)
            break;
        if (n == MOST_WORDS)
            return 0;
        words[n++] = (hu_str){line.p + at, end - at};
        at = end;
    }
    return n;
}

/* "4.0 KB", "0B": 1024 bytes each step. */
static bool read_size(const hu_str *words, size_t n, double *bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    hu_str                   number = words[0], unit = words[n - 1];

    if (n == 1) {
        if (!hu_str_ends(number, HU_STR("B")))
            return false;
        unit = HU_STR("B");
        number.n--;
    }
    if (number.n == 0 || !isdigit((unsigned char)number.p[0]) || !hu_parse_f64(number, bytes) || !(*bytes < 1e6))
        return false;
    for (size_t i = 0; i < HU_COUNT(units); i++)
        if (hu_str_equal(unit, hu_str_of(units[i]))) {
            *bytes *= pow(1024, (double)i);
            return true;
        }
    return false;
}

/* Size, count and four numbers at the end of a line; a launcher's rank may stand before them. */
static bool read_row(const hu_str *words, size_t n, hu_log_op *row, double *numbers)
{
    const size_t first = n > NUMBERS + 1 ? n - NUMBERS - 1 : 0;

    if (first == 0 || !hu_parse_i64(words[first], &row->count) || row->count < 0)
        return false;
    for (size_t i = 0; i < NUMBERS; i++)
        if (!hu_parse_f64(words[first + 1 + i], &numbers[i]) || !(fabs(numbers[i]) < 1e15))
            return false;
    if (read_size(words + first - 1, 1, &row->bytes)) {
        row->size = words[first - 1];
        return true;
    }
    if (first < 2 || !read_size(words + first - 2, 2, &row->bytes))
        return false;
    row->size = (hu_str){words[first - 2].p, (size_t)(words[first - 1].p + words[first - 1].n - words[first - 2].p)};
    return true;
}

/* That row of an earlier table which this one has not told yet. */
static hu_log_op *find(hu_ops_reader *r, hu_log_ops *out, double bytes)
{
    for (size_t i = 0; i < out->n && r->n_looks < MOST_LOOKS; i++, r->n_looks++) {
        const size_t at = (r->next + i) % out->n;
        hu_log_op   *op = &out->at[at];

        if (op->bytes == bytes && op->last_line < r->heading && hu_str_equal(op->op, r->op)) {
            r->next = at + 1;
            return op;
        }
    }
    return NULL;
}

static bool take_row(hu_ops_reader *r, hu_log_op row, const double *numbers, hu_arena *arena, hu_log_ops *out)
{
    hu_log_op *op = find(r, out, row.bytes);

    if (!op) {
        if (out->n == MOST_OPS || r->n_looks >= MOST_LOOKS)
            return true;
        row.op = r->op;
        row.size = hu_arena_copy(arena, row.size);
        row.total_ns = row.avg_ns = row.alg_gbps = row.bus_gbps = row.least_ns = row.straggler_ns = (double)NAN;
        if (!row.size.p || !hu_vec_push(arena, out, row))
            return false;
        op = &out->at[out->n - 1];
    }
    op->count = row.count;
    op->last_line = row.line;
    if (r->table == HU_OPS_STRAGGLERS) {
        op->least_ns = numbers[2] * 1e6;
        op->straggler_ns = numbers[3] * 1e6;
        return true;
    }
    op->line = row.line;
    op->total_ns = numbers[0] * 1e6;
    op->avg_ns = numbers[1] * 1e6;
    op->alg_gbps = numbers[2];
    op->bus_gbps = numbers[3];
    return true;
}

static bool is_name(hu_str word)
{
    if (word.n == 0 || word.n > MOST_NAME || !isalpha((unsigned char)word.p[0]))
        return false;
    for (size_t i = 0; i < word.n; i++)
        if (!isalnum((unsigned char)word.p[i]) && !strchr("_.-", word.p[i]))
            return false;
    return true;
}

/* "all_reduce", behind a launcher's rank; with "debug": "all_reduce | [Caller Func: step]".  n is 0 where it is none. */
static hu_str op_of(const hu_str *words, size_t n)
{
    const size_t first = n > 1 && hu_str_ends(words[0], HU_STR(":")) ? 1 : 0;
    hu_str       op = {words[first].p, 0};

    if (n <= first || !is_name(words[first]) || (n > first + 1 && !hu_str_equal(words[first + 1], HU_STR("|"))))
        return op;
    op.n = (size_t)(words[n - 1].p + words[n - 1].n - op.p);
    op.n = op.n > MOST_NAME ? MOST_NAME : op.n;
    return op;
}

bool hu_ops_line(hu_ops_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_ops *out, bool *is_taken)
{
    hu_log_op row = {.line = number};
    hu_str    words[MOST_WORDS], op;
    double    numbers[NUMBERS];
    size_t    n;

    *is_taken = false;
    if (hu_str_has(line, HU_STR("Comm. Op ")) && hu_str_has(line, HU_STR("Message Size"))) {
        r->table = hu_str_has(line, HU_STR("straggler")) ? HU_OPS_STRAGGLERS : HU_OPS_SUMMARY;
        r->op = HU_STR("");
        r->heading = number;
        r->next = 0;
        *is_taken = true;
        return true;
    }
    if (r->table == HU_OPS_NONE)
        return true;
    n = words_of(line, words);
    if (n && r->op.n && read_row(words, n, &row, numbers)) {
        *is_taken = true;
        return take_row(r, row, numbers, arena, out);
    }
    op = n ? op_of(words, n) : HU_STR("");
    if (op.n) {
        *is_taken = true;
        r->op = hu_arena_copy(arena, op);
        return r->op.p != NULL;
    }
    r->table = HU_OPS_NONE;
    return true;
}
