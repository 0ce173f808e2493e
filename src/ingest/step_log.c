/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - each line goes to the readers of what it may tell; behind the last, others judge what lines leave open. */
#include "ingest/step_log.h"

#include "ingest/autotuning.h"
#include "ingest/bar_lines.h"
#include "ingest/call_lines.h"
#include "ingest/deepspeed_ops.h"
#include "ingest/end_lines.h"
#include "ingest/flops_profile.h"
#include "ingest/log_blocks.h"
#include "ingest/log_interval.h"
#include "ingest/log_json.h"
#include "ingest/log_parts.h"
#include "ingest/log_ranks.h"
#include "ingest/log_rising.h"
#include "ingest/log_steps.h"
#include "ingest/log_text.h"
#include "ingest/log_time.h"
#include "ingest/log_unit.h"
#include "ingest/nccl_lines.h"
#include "ingest/nccl_tests.h"
#include "ingest/oom_lines.h"
#include "ingest/pattern_lines.h"
#include "ingest/rank_times.h"
#include "ingest/rate_lines.h"
#include "ingest/stall_lines.h"
#include "ingest/step_lines.h"
#include "ingest/watchdog_lines.h"

enum { MOST_LINE = 1 << 16, LEAST_STEPS = 2, LEAST_LINE = 8 };

typedef struct {
    hu_step_log   *out;
    hu_arena      *arena;
    const regex_t *pattern;
    uint64_t       line;        /* of this file, from 1 on */
    int64_t        now_ns;      /* Unix time that was printed last; 0 none */
    size_t         first_stall; /* of this file */
    hu_line_kind   kind;        /* of the steps so far */
    hu_bare_times  bare_data;
    int64_t        sum;       /* ns of forward, backward and step of a line of DeepSpeed's */
    HU_VEC(hu_log_step) sums; /* of all such lines, for a log without lines of steps */
    hu_str          writer;   /* "" */
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

/* Newer versions of DeepSpeed print their lines of steps only at another level of logging; these are one for each step. */
static bool add_sum(reader *r, int64_t ns)
{
    hu_log_step step = hu_log_step_of((int64_t)r->sums.n + 1, ns, r->line);

    step.at_ns = r->now_ns && !r->out->has_zone ? hu_log_time_here(r->now_ns) : r->now_ns;
    return hu_vec_push(r->arena, &r->sums, step);
}

static bool take_parts(reader *r, hu_str line, size_t at)
{
    hu_parts_sum sum;

    if (!hu_log_parts_line(line, at, &sum, r->arena, r->out))
        return false;
    if (sum.ns) {
        r->sum = sum.ns;
        if (!r->writer.n)
            r->writer = HU_STR("DeepSpeed");
    }
    return !sum.is_whole || sum.ns <= 0 || add_sum(r, sum.ns);
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
    parts = hu_log_parts_at(line);
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

/* One line that looks like a step is none. */
static bool is_worth(const reader *r)
{
    if (!r->is_probe && r->kind == HU_LINE_STEP && hu_log_is_rising(r->out, r->steps.first)) {
        r->out->n_rising += r->out->steps.n - r->steps.first;
        return false;
    }
    return r->out->steps.n - r->steps.first >= (r->kind == HU_LINE_STEP ? LEAST_STEPS : 1);
}

/* Where parts alone are told. */
static bool take_sums(reader *r)
{
    if (r->sums.n < LEAST_STEPS)
        return true;
    r->out->is_from_parts = true;
    for (size_t i = 0; i < r->sums.n; i++)
        if (!hu_vec_push(r->arena, &r->out->steps, r->sums.at[i]))
            return false;
    return true;
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

/* What is known behind the last line alone.  False: no memory. */
static bool end_file(reader *r, const hu_log_how *how, hu_str name)
{
    hu_step_log *log = r->out;
    const size_t first = r->steps.first;
    bool         is_taken;

    hu_tests_end(&r->tests);
    if (!take_tables(r, HU_STR(""), &is_taken))
        return false;
    if (r->writer.n)
        log->writer = r->writer;
    if (!r->pattern && !is_worth(r))
        log->steps.n = first;
    if (!r->pattern && log->steps.n == first && (!take_sums(r) || (log->steps.n == first && !take_bars(r))))
        return false;
    if (!hu_log_unit_find(log, first, how ? how->unit_s : 0, r->arena) || !hu_log_parts_end(&r->bare_data, r->arena, log))
        return false;
    if (r->kind == HU_LINE_STEP && log->unit != HU_LOG_UNIT_UNKNOWN && !hu_log_interval_find(log, first, r->arena))
        return false;
    if (!hu_log_clock_find(log, first, r->arena))
        return false;
    if (!r->names_epochs && hu_log_blocks_join(log, first))
        log->has_falls = r->steps.has_falls;
    if (!hu_log_ranks_file(log, first, name, r->arena))
        return false;
    if (hu_log_steps_join(&r->steps, log))
        log->has_falls = r->steps.has_falls;
    return true;
}

int hu_step_log_read(hu_input *in, const hu_log_how *how, hu_arena *arena, hu_step_log *out, hu_error *err)
{
    reader r = {.out = out,
                .arena = arena,
                .pattern = how ? how->pattern : NULL,
                .steps = hu_log_steps_begin(out),
                .first_stall = out->stalls.n,
                .rates = {.step = -1},
                .writer = HU_STR("")};
    char  *room;
    int    rc;

    if (!r.pattern && hu_log_json_probe(hu_input_head(in)))
        return hu_log_json_read(in, arena, out, err);
    room = hu_arena_alloc(arena, MOST_LINE + 1);
    rc = room ? read_lines(&r, in, room, err) : hu_fail_memory(err);
    if (rc == 0)
        rc = hu_input_status(in, err);
    if (rc == 0 && !end_file(&r, how, hu_str_of(hu_input_name(in))))
        rc = hu_fail_memory(err);
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

static bool has_bars(reader *r)
{
    const hu_bar_series *bars;

    return hu_bars_end(&r->bars, r->arena, &bars) && bars;
}

bool hu_step_log_tells(hu_input *in, bool is_brief)
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
    const bool is = room && read_lines(&r, in, room, NULL) == 0 &&
                    (is_worth(&r) || is_known_log(&log) || r.sums.n >= LEAST_STEPS || has_bars(&r));

    hu_arena_free(arena);
    return is;
}
