/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - each line goes to the readers of what it may tell; behind the last, others judge what lines leave open. */
#include "ingest/step_log.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/utf8.h"
#include "ingest/autotuning.h"
#include "ingest/bar_lines.h"
#include "ingest/call_lines.h"
#include "ingest/deepspeed_ops.h"
#include "ingest/end_lines.h"
#include "ingest/flops_profile.h"
#include "ingest/format.h"
#include "ingest/log_unit.h"
#include "ingest/log_blocks.h"
#include "ingest/log_interval.h"
#include "ingest/log_parts.h"
#include "ingest/log_ranks.h"
#include "ingest/log_steps.h"
#include "ingest/log_text.h"
#include "ingest/log_time.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_lines.h"
#include "ingest/nccl_tests.h"
#include "ingest/nccl_tests_json.h"
#include "ingest/oom_lines.h"
#include "ingest/pattern_lines.h"
#include "ingest/rank_times.h"
#include "ingest/rate_lines.h"
#include "ingest/stall_lines.h"
#include "ingest/step_lines.h"
#include "ingest/strangers.h"
#include "ingest/watchdog_lines.h"

enum { MOST_LINE = 1 << 16, LEAST_STEPS = 2, LEAST_LINE = 8, LEAST_CUMULATIVE = 12 };

static const double LEAST_PASSED = 20e9; /* ns, of clocks that tell seconds */
static const double MOST_APART = 1.5;    /* times, that two measures of one time may differ */

typedef struct {
    hu_step_log    *out;
    hu_arena       *arena;
    const regex_t  *pattern;
    uint64_t        line;        /* of this file, from 1 on */
    int64_t         now_ns;      /* Unix time that was printed last; 0 none */
    size_t          first_stall; /* of this file */
    hu_line_kind    kind;        /* of the steps so far */
    hu_bare_times   bare_data;
    int64_t         sum;    /* ns of forward, backward and step of a line of DeepSpeed's */
    hu_str          writer; /* "" */
    hu_steps_reader steps;
    hu_tests_reader tests;
    hu_ops_reader   ops;
    hu_flops_reader flops;
    hu_ranks_reader ranks;
    hu_end_reader   ends;
    hu_rates_reader rates;
    hu_bars_reader  bars;
    bool            names_epochs; /* a line between those of steps does */
    bool            is_in_tuning; /* a table of the autotuner's */
    bool            is_probe;     /* ends as soon as it is known to be a log */
    bool            is_brief;     /* and looks at the beginning alone */
} reader;

static bool add_step(reader *r, hu_log_step step, hu_line_kind kind)
{
    step.line = r->line;
    step.at_ns = r->now_ns;
    return hu_log_steps_add(&r->steps, step, kind, r->arena, r->out);
}

/* {"rank": 3, "step": 5, …} without its quotes.  -1: it does not say. */
static int64_t rank_of_object(hu_str line)
{
    const char *at = line.n && line.p[0] == '{' ? memmem(line.p, line.n, "rank: ", 6) : NULL;
    size_t      from, to;
    int64_t     rank;

    if (!at || (at[-1] != '{' && at[-1] != ' '))
        return -1;
    for (from = to = (size_t)(at - line.p) + 6; to < line.n && isdigit((unsigned char)line.p[to]); to++)
        continue;
    return hu_parse_i64((hu_str){line.p + from, to - from}, &rank) ? rank : -1;
}

/* Lines of one program have one form: what is worth more replaces what was taken for steps before. */
static bool take_step(reader *r, hu_str line)
{
    static const char *const writers[] = {"", "Megatron-LM", "DeepSpeed", "DeepSpeed", ""};
    hu_log_step              step;
    const hu_line_kind       kind = hu_step_line(line, &step);

    if (kind == HU_LINE_NONE || (r->kind && kind > r->kind) || (kind == HU_LINE_DEEPSPEED && !r->sum))
        return true;
    if (r->kind && kind < r->kind) {
        hu_log_steps_drop(&r->steps, r->out);
        r->bare_data.n = 0;
    }
    if (kind == HU_LINE_DEEPSPEED) { /* a rate; the times are those that were told before */
        step.ns = r->sum;
        r->out->is_from_parts = true;
        r->sum = 0;
    } else {
        r->out->is_from_parts = false;
    }
    if (step.rank < 0)
        step.rank = rank_of_object(line);
    r->kind = kind;
    r->writer = hu_str_of(writers[kind]);
    return add_step(r, step, kind);
}

/* lines */

static bool take_pattern(reader *r, hu_str line)
{
    hu_log_step step;

    if (!hu_pattern_line(r->pattern, line, &step))
        return true;
    r->kind = HU_LINE_STEP;
    return add_step(r, step, HU_LINE_STEP);
}

static bool take_parts(reader *r, hu_str line, size_t at)
{
    int64_t sum;

    if (!hu_log_parts_line(line, at, &sum, r->arena, r->out))
        return false;
    if (sum) {
        r->sum = sum;
        if (!r->writer.n)
            r->writer = HU_STR("DeepSpeed");
    }
    return true;
}

/* Tables of several lines; *is_taken: the line is of one. */
static bool take_tables(reader *r, hu_str line, bool *is_taken)
{
    hu_rank_time timer;
    bool         has;

    hu_ranks_line(&r->ranks, line, &timer, &has, is_taken);
    if (has && !hu_log_parts_timer(&timer, r->arena, r->out))
        return false;
    if (*is_taken)
        return true;
    if (!hu_autotuning_line(&r->is_in_tuning, line, r->arena, &r->out->tuning) ||
        !hu_flops_line(&r->flops, line, r->line, r->arena, &r->out->flops, is_taken))
        return false;
    return *is_taken || hu_ops_line(&r->ops, line, r->line, r->arena, &r->out->ops, is_taken);
}

static void take_time(reader *r, hu_str line)
{
    bool          has_zone = false;
    const int64_t ns = hu_log_time(line, &has_zone);

    if (ns) {
        r->now_ns = ns;
        r->out->has_zone = has_zone;
    }
}

/* "Epoch 2/3" between steps whose lines do not say so. */
static void look_for_epoch(reader *r, hu_str line, size_t n_before)
{
    if (n_before > r->steps.first && r->out->steps.n == n_before && !r->names_epochs && hu_str_has(line, HU_STR("poch")))
        r->names_epochs = hu_line_epoch(line) >= 0;
}

/* A job that goes on hangs no more. */
static void end_stalls(reader *r)
{
    for (size_t i = r->first_stall; i < r->out->stalls.n; i++)
        r->out->stalls.at[i].is_over = true;
}

static bool take_line(reader *r, hu_str line, char *room)
{
    const size_t before = r->out->steps.n;
    int64_t      bits;
    size_t       parts;
    bool         is_taken;

    r->line++;
    r->out->n_lines++;
    line = hu_log_cleaned(line, room);
    if (line.n >= LEAST_LINE) {
        if (!r->is_probe)
            take_time(r, line);
        if (!hu_oom_line(line, r->line, r->arena, &r->out->oom) ||
            !hu_end_line(&r->ends, line, r->line, r->arena, &r->out->ends) ||
            !hu_stall_line(line, r->line, r->first_stall, r->arena, &r->out->stalls) ||
            !hu_watchdog_line(line, r->line, r->arena, &r->out->timeouts, &is_taken))
            return false;
        if (is_taken)
            return true;
    }
    if (r->pattern)
        return line.n == 0 || (take_pattern(r, hu_log_ended(line, room)) && (look_for_epoch(r, line, before), true));
    line = hu_log_unquoted(line, room);
    if (!take_tables(r, line, &is_taken))
        return false;
    if (line.n < LEAST_LINE || is_taken)
        return true;
    if (hu_tests_print(line, &bits))
        return hu_vec_push(r->arena, &r->out->bus_prints, bits);
    if (!hu_tests_line(&r->tests, line, r->line, r->arena, &r->out->benches, &line))
        return false;
    parts = hu_step_parts(line);
    if (parts)
        return take_parts(r, line, parts);
    if (!take_step(r, line))
        return false;
    if (r->out->steps.n > before) {
        end_stalls(r);
        if (!hu_log_parts_timings(line, r->arena, r->out))
            return false;
    } else if (!hu_rate_line(&r->rates, line, r->line, r->arena, &r->out->rates) ||
               !hu_bar_line(&r->bars, line, r->line, r->now_ns, r->arena)) {
        return false;
    }
    look_for_epoch(r, line, before);
    return (r->out->steps.n == before || r->kind != HU_LINE_STEP ||
            hu_log_parts_data(line, &r->bare_data, r->arena, r->out)) &&
           hu_nccl_line(line, r->line, r->arena, &r->out->nccl) && hu_call_line(line, r->line, r->arena, &r->out->calls);
}

/* Is there what a log is read for, for certain? */
static bool is_known_log(const hu_step_log *log)
{
    return log->steps.n >= LEAST_STEPS || log->nccl.n_lines || log->oom.n || log->ends.n || log->timeouts.n ||
           log->stalls.n || log->rates.at.n >= LEAST_STEPS || log->rates.is_serving || log->rates.steps_per_s > 0 ||
           log->ops.n || log->tuning.spaces.n || log->bus_prints.n || log->flops.iter_ns > 0 ||
           (log->benches.n && log->benches.at[0].rows.n);
}

/* Lines end in \n or, of progress bars, in \r; of one that is very long only the beginning is looked at. */
static int read_lines(reader *r, hu_input *in, char *room, hu_error *err)
{
    hu_span span = {0};
    size_t  keep = 0;
    bool    is_skipping = false;
    int     rc;

    do {
        size_t from = 0;

        rc = hu_input_next(in, keep, &span, err);
        if (rc < 0)
            return rc;
        for (size_t i = keep; i <= span.n; i++) {
            const bool is_end = i == span.n ? span.is_last : span.p[i] == '\n' || span.p[i] == '\r';

            if (!is_end && i < span.n && i - from < MOST_LINE)
                continue;
            if (!is_end && i == span.n)
                break;
            if (!is_skipping && !take_line(r, (hu_str){span.p + from, i - from}, room))
                return hu_fail_memory(err);
            is_skipping = !is_end;
            from = i + 1;
            if (r->is_probe && is_known_log(r->out))
                return 0;
        }
        keep = from < span.n ? span.n - from : 0;
    } while (!span.is_last && !r->is_brief);
    return 0;
}

/* The times of day say that as much passed as all these steps took. */
static bool do_fill_the_clock(const hu_log_step *steps, size_t n)
{
    const double passed = (double)(steps[n - 1].at_ns - steps[0].at_ns);
    double       sum = 0;

    if (!steps[0].at_ns || !steps[n - 1].at_ns || passed < LEAST_PASSED)
        return false;
    for (size_t i = 1; i < n; i++)
        sum += (double)steps[i].ns * (double)(steps[i].iteration - steps[i - 1].iteration);
    return !steps[0].is_bare && sum < MOST_APART * passed && passed < MOST_APART * sum;
}

/* A time that is longer on every line is that since the start of the run, not of a step; or else steps grow. */
static bool is_since_start(const reader *r)
{
    const hu_log_step *steps = r->out->steps.at;

    if (r->kind != HU_LINE_STEP || r->out->steps.n - r->steps.first < LEAST_CUMULATIVE)
        return false;
    for (size_t i = r->steps.first + 1; i < r->out->steps.n; i++)
        if (steps[i].ns <= steps[i - 1].ns)
            return false;
    return !do_fill_the_clock(steps + r->steps.first, r->out->steps.n - r->steps.first);
}

/* One line that looks like a step is none. */
static bool is_worth(const reader *r)
{
    if (!r->is_probe && is_since_start(r)) {
        r->out->n_rising += r->out->steps.n - r->steps.first;
        return false;
    }
    return r->out->steps.n - r->steps.first >= (r->kind == HU_LINE_STEP ? LEAST_STEPS : 1);
}

/* Where no line tells the time of a step. */
static bool take_bars(reader *r)
{
    const hu_bar_series *bars;

    if (!hu_bars_end(&r->bars, r->arena, &bars))
        return false;
    for (size_t i = 0; bars && i < bars->steps.n; i++) {
        r->out->is_from_bars = true;
        if (!hu_vec_push(r->arena, &r->out->steps, bars->steps.at[i]))
            return false;
    }
    return true;
}

/* What tools of the same kind write as JSON, and no lines. */
static bool is_json_of_log(hu_str head)
{
    return hu_autotuning_probe(head) || hu_inspector_probe(head) || hu_tests_json_probe(head);
}

static int read_json(hu_input *in, hu_arena *arena, hu_step_log *out, hu_error *err)
{
    const hu_str head = hu_input_head(in);

    if (hu_inspector_probe(head))
        return hu_inspector_read(in, arena, &out->inspector, &out->n_lines, err);
    if (hu_tests_json_probe(head))
        return hu_tests_json_read(in, arena, &out->benches, err);
    return hu_autotuning_read(in, arena, &out->tuning, err);
}

/* Times without a unit get one, if it can be known. */
static int find_unit(reader *r, const hu_log_how *how, hu_error *err)
{
    if (!hu_log_unit_find(r->out, r->steps.first, how ? how->unit_s : 0, r->arena))
        return hu_fail_memory(err);
    return hu_log_parts_end(&r->bare_data, r->arena, r->out) ? 0 : hu_fail_memory(err);
}

int hu_step_log_read(hu_input *in, const hu_log_how *how, hu_arena *arena, hu_step_log *out, hu_error *err)
{
    const regex_t *pattern = how ? how->pattern : NULL;

    reader r = {.out = out,
                .arena = arena,
                .pattern = pattern,
                .steps = hu_log_steps_begin(out),
                .first_stall = out->stalls.n,
                .rates = {.step = -1},
                .writer = HU_STR("")};
    char  *room = hu_arena_alloc(arena, MOST_LINE + 1);
    bool   is_taken, had_falls = out->has_falls;
    int    rc;

    if (!pattern && is_json_of_log(hu_input_head(in)))
        return read_json(in, arena, out, err);
    rc = room ? read_lines(&r, in, room, err) : hu_fail_memory(err);

    if (rc == 0)
        rc = hu_input_status(in, err);
    hu_tests_end(&r.tests);
    if (rc == 0 && !take_tables(&r, HU_STR(""), &is_taken))
        rc = hu_fail_memory(err);
    if (rc == 0 && r.writer.n)
        out->writer = r.writer;
    if (rc == 0 && !pattern && !is_worth(&r))
        out->steps.n = r.steps.first;
    if (rc == 0 && !pattern && out->steps.n == r.steps.first && !take_bars(&r))
        rc = hu_fail_memory(err);
    if (rc == 0)
        rc = find_unit(&r, how, err);
    if (rc == 0 && r.kind == HU_LINE_STEP && out->unit != HU_LOG_UNIT_UNKNOWN &&
        !hu_log_interval_find(out, r.steps.first, arena))
        rc = hu_fail_memory(err);
    if (rc == 0 && !hu_log_clock_find(out, r.steps.first, arena))
        rc = hu_fail_memory(err);
    if (rc == 0 && !r.names_epochs && hu_log_blocks_join(out, r.steps.first))
        out->has_falls = had_falls;
    if (rc == 0 && !hu_log_ranks_file(out, r.steps.first, hu_str_of(hu_input_name(in)), arena))
        rc = hu_fail_memory(err);
    if (rc == 0 && hu_log_steps_join(&r.steps, out))
        out->has_falls = had_falls;
    return rc;
}

int hu_step_log_read_path(const char *path, const hu_log_how *how, const hu_limits *limits, hu_arena *arena,
                          hu_step_log *out, hu_error *err)
{
    const hu_input_options options = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &options, err);
    int                    rc;

    if (!in)
        return err->code;
    rc = hu_step_log_read(in, how, arena, out, err);
    hu_input_close(in);
    return rc;
}

/* An object in each line, as programs write metrics. */
static bool is_json_lines(hu_str head)
{
    const char *end = memchr(head.p, '\n', head.n);

    return end && end > head.p + 1 && (end[-1] == '}' || (end[-1] == '\r' && end[-2] == '}')) &&
           hu_str_starts((hu_str){end + 1, (size_t)(head.p + head.n - end) - 1}, HU_STR("{\""));
}

/* "[2023-11-29 08:50:46,232] [INFO] …" and "{'loss': 2.1}" begin like JSON. */
static bool is_known(hu_str head)
{
    size_t i = 0;

    while (i < head.n && isspace((unsigned char)head.p[i]))
        i++;
    if (i + 1 < head.n && ((head.p[i] == '[' && isalnum((unsigned char)head.p[i + 1])) || memcmp(head.p + i, "{'", 2) == 0))
        return false;
    if (i == 0 && is_json_lines(head))
        return false;
    if (i + 1 < head.n && head.p[i] == '{' && strchr("\"\n\r ", head.p[i + 1])) /* JSON: no need to ask each format */
        return true;
    return hu_format_find(head) != NULL;
}

static bool has_bars(reader *r)
{
    const hu_bar_series *bars;

    return hu_bars_end(&r->bars, r->arena, &bars) && bars;
}

/* Reads until there is what a log is read for. */
static bool probe(hu_input *in, bool is_brief)
{
    hu_arena   *arena = hu_arena_new();
    char       *room = arena ? hu_arena_alloc(arena, MOST_LINE + 1) : NULL;
    hu_step_log log = {.writer = HU_STR("")};
    reader      r = {
             .out = &log,
             .arena = arena,
             .writer = HU_STR(""),
             .rates = {.step = -1},
             .is_probe = true,
             .is_brief = is_brief,
    };
    const bool is = room && read_lines(&r, in, room, NULL) == 0 && (is_worth(&r) || is_known_log(&log) || has_bars(&r));

    hu_arena_free(arena);
    return is;
}

static bool is_log(hu_input *in, bool any_text, bool is_brief)
{
    const hu_str head = hu_input_head(in);

    return hu_looks_like_text(head) && ((!any_text && is_json_of_log(head)) ||
                                        (!is_known(head) && !hu_stranger_words(head) && (any_text || probe(in, is_brief))));
}

bool hu_step_log_is(hu_input *in, bool any_text)
{
    return is_log(in, any_text, false);
}

bool hu_step_log_begins(hu_input *in)
{
    return is_log(in, false, true);
}
