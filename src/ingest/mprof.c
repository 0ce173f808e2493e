/* SPDX-License-Identifier: Apache-2.0
 * mprof.c - lines of memory_profiler's `mprof run`: samples of a process's memory, and calls of the functions it watched.
 *
 *     CMDLINE python train.py
 *     MEM 6.378906 1795903772.4647
 *     CHLD 1 22.8 1795903772.5
 *     FUNC train.load 22.8594 1795903772.6600 80.0820 1795903773.2335 0
 *
 * Memory is in units of 1,048,576 bytes, times are seconds since 1970; the last number of FUNC is how deep the call lies in
 * others that are watched.  Functions come when the program ends, which may be before the samples; children have their
 * number, or their process.
 */
#include <math.h>

#include "base/number.h"
#include "ingest/results.h"

enum { MOST_CALLS = 100000, MOST_NAME = 256, MOST_CHILDREN = 256, WORDS = 7 };

static const double MIB = 1 << 20;

typedef struct {
    hu_results *out;
    hu_arena   *arena;
    int64_t     children[MOST_CHILDREN];
} reader;

static size_t words_of(hu_str line, hu_str words[WORDS])
{
    size_t n = 0;

    for (size_t at = 0; at < line.n && n < WORDS;) {
        size_t from;

        while (at < line.n && line.p[at] == ' ')
            at++;
        for (from = at; at < line.n && line.p[at] != ' '; at++)
            continue;
        if (at > from)
            words[n++] = (hu_str){line.p + from, at - from};
    }
    return n;
}

/* Memory and time, as they stand in all lines. */
static bool pair_of(hu_str memory, hu_str time, double *bytes, int64_t *ns)
{
    if (!hu_parse_f64(memory, bytes) || !(*bytes >= 0 && *bytes < 1e9) || !hu_parse_scaled(time, 9, ns) || *ns < 0)
        return false;
    *bytes *= MIB;
    return true;
}

/* The program's own lines of FUNC may stand before the samples. */
static bool is_line(hu_str line)
{
    hu_str       words[WORDS];
    const size_t n = words_of(line, words);
    double       bytes;
    int64_t      ns;

    if (n == 3 && hu_str_equal(words[0], HU_STR("MEM")))
        return pair_of(words[1], words[2], &bytes, &ns);
    return n >= WORDS - 1 && hu_str_equal(words[0], HU_STR("FUNC")) && pair_of(words[2], words[3], &bytes, &ns) &&
           pair_of(words[4], words[5], &bytes, &ns);
}

bool hu_mprof_probe(hu_str head)
{
    for (size_t at = 0, lines = 0; at < head.n && lines < 3; lines++) {
        const char  *newline = memchr(head.p + at, '\n', head.n - at);
        const hu_str line = hu_str_trim((hu_str){head.p + at, (newline ? (size_t)(newline - head.p) : head.n) - at});

        if (is_line(line))
            return true;
        if (!hu_str_starts(line, HU_STR("CMDLINE ")))
            return false;
        at += (newline ? (size_t)(newline - head.p) : head.n) - at + 1;
    }
    return false;
}

static void take_peak(hu_memory_curve *m, double bytes, int64_t ns)
{
    if (bytes <= m->peak)
        return;
    m->peak = bytes;
    m->peak_ns = ns;
}

static void take_sample(hu_memory_curve *m, double bytes, int64_t ns)
{
    if (m->n_samples++ == 0) {
        m->first_ns = ns;
        m->first = bytes;
    }
    m->last_ns = ns;
    m->last = bytes;
    take_peak(m, bytes, ns);
}

static bool take_call(reader *r, const hu_str words[WORDS], size_t n)
{
    hu_memory_curve *m = &r->out->memory;
    hu_memory_call   call = {.depth = 0};

    if (n < WORDS - 1 || !pair_of(words[2], words[3], &call.from, &call.from_ns) ||
        !pair_of(words[4], words[5], &call.to, &call.to_ns) || call.to_ns < call.from_ns) {
        r->out->n_bad++;
        return true;
    }
    if (n == WORDS && !hu_parse_i64(words[6], &call.depth))
        call.depth = 0;
    if (m->calls.n == MOST_CALLS)
        return true;
    take_peak(m, call.from, call.from_ns);
    take_peak(m, call.to, call.to_ns);
    call.name = hu_arena_copy(r->arena, (hu_str){words[1].p, words[1].n < MOST_NAME ? words[1].n : MOST_NAME});
    return call.name.p && hu_vec_push(r->arena, &m->calls, call);
}

static void take_child(reader *r, int64_t child, double bytes)
{
    hu_memory_curve *m = &r->out->memory;

    m->child_peak = fmax(bytes, m->child_peak);
    for (int64_t i = 0; i < m->n_children; i++)
        if (r->children[i] == child)
            return;
    if (m->n_children < MOST_CHILDREN)
        r->children[m->n_children++] = child;
}

static bool take_line(reader *r, hu_str line)
{
    hu_memory_curve *m = &r->out->memory;
    hu_str           words[WORDS];
    double           bytes;
    int64_t          ns, child;
    const size_t     n = words_of(line, words);

    if (n == 0)
        return true;
    if (hu_str_equal(words[0], HU_STR("FUNC")))
        return take_call(r, words, n);
    if (hu_str_equal(words[0], HU_STR("CMDLINE"))) {
        line = hu_str_trim((hu_str){words[0].p + words[0].n, (size_t)(line.p + line.n - words[0].p) - words[0].n});
        m->command = hu_arena_copy(r->arena, (hu_str){line.p, line.n < MOST_NAME ? line.n : MOST_NAME});
        return m->command.p != NULL;
    }
    if (n == 3 && hu_str_equal(words[0], HU_STR("MEM")) && pair_of(words[1], words[2], &bytes, &ns))
        take_sample(m, bytes, ns);
    else if (n == 4 && hu_str_equal(words[0], HU_STR("CHLD")) && hu_parse_i64(words[1], &child) &&
             pair_of(words[2], words[3], &bytes, &ns))
        take_child(r, child, bytes);
    else
        r->out->n_bad++;
    return true;
}

int hu_mprof_read(hu_input *in, hu_arena *arena, hu_results *out, hu_error *err)
{
    reader *r = hu_arena_calloc(arena, 1, sizeof *r);
    hu_span span = {0};
    size_t  left = 0;

    if (!r)
        return hu_fail_memory(err);
    *r = (reader){.out = out, .arena = arena};
    out->tool = HU_STR("memory_profiler");
    out->memory.command = HU_STR("");
    out->memory.peak = -1;
    while (!span.is_last) {
        const int rc = hu_input_next(in, left, &span, err);

        if (rc < 0)
            return rc;
        for (left = span.n; left;) {
            const char  *at = span.p + span.n - left, *newline = memchr(at, '\n', left);
            const size_t n = newline ? (size_t)(newline - at) : left;

            if (!newline && !span.is_last)
                break;
            if (!take_line(r, hu_str_trim((hu_str){at, n})))
                return hu_fail_memory(err);
            left -= newline ? n + 1 : n;
        }
    }
    if (out->memory.n_samples == 0)
        return hu_fail(err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET, "a file of memory_profiler without a sample (MEM)");
    return hu_input_status(in, err);
}
