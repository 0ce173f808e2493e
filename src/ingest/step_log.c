/* SPDX-License-Identifier: Apache-2.0
 * step_log.c - line by line: steps, their parts, NCCL.
 *
 * Traps: all ranks may write into one log, so a step may be told several times, some lines apart; the slowest is the step's
 * time.  After a restart from a checkpoint the numbers fall back, and those steps are computed again.  Megatron prints the
 * mean of the steps since the line before.  DeepSpeed's breakdown has micro steps beside their sums: the sums count.
 */
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
#include "ingest/log_ranks.h"
#include "ingest/log_text.h"
#include "ingest/log_time.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_lines.h"
#include "ingest/nccl_tests.h"
#include "ingest/nccl_tests_json.h"
#include "ingest/oom_lines.h"
#include "ingest/rank_times.h"
#include "ingest/rate_lines.h"
#include "ingest/stall_lines.h"
#include "ingest/step_lines.h"
#include "ingest/strangers.h"
#include "ingest/watchdog_lines.h"

enum {
    MOST_LINE = 1 << 16,
    MOST_PARTS = 64,
    TWIN_LINES = 40,
    LOOKED_BACK = 8,
    LEAST_STEPS = 2,
    LEAST_LINE = 8,
    LEAST_CUMULATIVE = 12
};

static const double LEAST_PASSED = 20e9; /* ns, of clocks that tell seconds */
static const double MOST_APART = 1.5;    /* times, that two measures of one time may differ */

typedef struct {
    hu_step_log   *out;
    hu_arena      *arena;
    const regex_t *pattern;
    uint64_t       line;   /* of this file, from 1 on */
    int64_t        now_ns; /* Unix time that was printed last; 0 none */
    size_t         first;  /* steps before this file */
    size_t         first_of_run;
    size_t         first_stall; /* of this file */
    hu_log_step    leader;      /* the last of the rank that a prefix names first; covers is 0 without */
    hu_line_kind   kind;        /* of the steps so far */
    HU_VEC(int64_t) data;       /* times of loading that say no unit, as steps */
    int64_t sum;                /* ns of forward, backward and step of a line of DeepSpeed's */
    HU_VEC(hu_log_step) sums;   /* of all such lines, for a log without lines of steps */
    hu_str          writer;     /* "" */
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

/* steps */

/* The same step of another rank, which its prefix names: any number of lines apart.  Steps of a run rise. */
static hu_log_step *find_ranked(const reader *r, const hu_log_step *step)
{
    size_t from = r->first_of_run, to = r->out->steps.n;

    while (from < to) {
        const size_t       mid = from + (to - from) / 2;
        const hu_log_step *s = &r->out->steps.at[mid];

        if (s->epoch < step->epoch || (s->epoch == step->epoch && s->iteration < step->iteration))
            from = mid + 1;
        else
            to = mid;
    }
    if (from == r->out->steps.n || r->out->steps.at[from].iteration != step->iteration ||
        r->out->steps.at[from].epoch != step->epoch)
        return NULL;
    return &r->out->steps.at[from];
}

static bool is_before(const hu_log_step *a, const hu_log_step *b)
{
    return a->epoch < b->epoch || (a->epoch == b->epoch && a->iteration < b->iteration);
}

/* Ranks write in any order; whether numbers fall back is told by those of the rank that wrote first. */
static bool falls_back(reader *r, const hu_log_step *step)
{
    bool is_back;

    if (step->rank < 0)
        return false;
    if (!r->leader.covers)
        r->leader = *step;
    else if (step->rank == r->leader.rank) {
        is_back = !is_before(&r->leader, step);
        r->leader = *step;
        return is_back;
    }
    return false;
}

/* The same step of another rank. */
static hu_log_step *find_twin(const reader *r, const hu_log_step *step, bool is_back)
{
    hu_log_step *ranked = step->rank < 0 || is_back ? NULL : find_ranked(r, step);

    if (ranked)
        return ranked;
    for (size_t i = r->out->steps.n; i > r->first && i + LOOKED_BACK > r->out->steps.n; i--) {
        hu_log_step *s = &r->out->steps.at[i - 1];

        if (s->iteration == step->iteration && s->epoch == step->epoch)
            return r->line - s->line <= TWIN_LINES ? s : NULL;
    }
    return NULL;
}

/*
 * Numbers that fall back are a restart, unless lines name epochs, or they begin as the log did: with an epoch that no line
 * names, or with another rank's lines.
 */
static uint32_t run_of(reader *r, const hu_log_step *step, const hu_log_step *before)
{
    const hu_log_step *last = r->out->steps.n ? &r->out->steps.at[r->out->steps.n - 1] : NULL;
    const bool         is_of_epochs = step->epoch >= 0 || (last && last->epoch >= 0);

    if (!last || (before && step->iteration > before->iteration))
        return last ? last->run : 0;
    if (!is_of_epochs && step->iteration > r->out->steps.at[0].iteration)
        return last->run + 1;
    r->out->has_falls = true;
    return last->run;
}

static bool add_step(reader *r, hu_log_step step, hu_line_kind kind)
{
    const size_t n = r->out->steps.n;
    const bool   is_back = falls_back(r, &step);
    hu_log_step *before = n > r->first ? &r->out->steps.at[n - 1] : NULL, *twin = find_twin(r, &step, is_back);

    if (!hu_log_ranks_add(r->out, step.rank, step.ns, r->arena))
        return false;
    if (twin) {
        r->out->n_twins++;
        if (step.ns > twin->ns && step.is_bare == twin->is_bare)
            twin->ns = step.ns;
        return true;
    }
    if (before && step.rank >= 0 && step.rank != r->leader.rank && !is_before(before, &step))
        return true; /* a step that the first one does not tell */
    step.line = r->line;
    step.at_ns = r->now_ns && !r->out->has_zone ? hu_log_time_here(r->now_ns) : r->now_ns;
    step.run = run_of(r, &step, before);
    if (!before || step.run != before->run || (step.epoch == before->epoch && step.iteration <= before->iteration))
        r->first_of_run = n;
    if (kind == HU_LINE_MEGATRON && before && before->run == step.run && step.iteration > before->iteration) {
        step.covers = step.iteration - before->iteration;
        if ((n - r->first == 1 || before[-1].run != before->run) && step.covers <= before->iteration)
            before->covers = step.covers; /* the first of a run */
    }
    return hu_vec_push(r->arena, &r->out->steps, step);
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
        r->out->steps.n = r->first_of_run = r->first;
        r->leader = (hu_log_step){0};
        r->out->ranks.n = r->data.n = 0;
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

/* parts */

static bool is_sum_of_deepspeed(hu_str name)
{
    return hu_str_equal(name, HU_STR("fwd")) || hu_str_equal(name, HU_STR("bwd")) || hu_str_equal(name, HU_STR("step"));
}

/* The part of that name, a new one where there was none; NULL: one part too many, or *has_memory is false. */
static hu_log_part *part_of(reader *r, hu_str name, bool *has_memory)
{
    hu_log_part *part = NULL;

    *has_memory = true;
    for (size_t i = 0; i < r->out->parts.n && !part; i++)
        if (hu_str_equal(r->out->parts.at[i].name, name))
            part = &r->out->parts.at[i];
    if (!part) {
        if (r->out->parts.n == MOST_PARTS)
            return NULL;
        name = hu_arena_copy(r->arena, name);
        *has_memory = name.p && hu_vec_push(r->arena, &r->out->parts, ((hu_log_part){.name = name}));
        part = *has_memory ? &r->out->parts.at[r->out->parts.n - 1] : NULL;
    }
    return part;
}

static bool add_part(reader *r, hu_str name, int64_t ns)
{
    bool         has_memory;
    hu_log_part *part = hu_str_ends(name, HU_STR("_microstep")) ? NULL : part_of(r, name, &has_memory);

    if (!part)
        return hu_str_ends(name, HU_STR("_microstep")) || has_memory;
    return hu_vec_push(r->arena, &part->ns, ns);
}

/* A timer over all ranks: the slowest counts, as they wait for it. */
static bool add_ranked(reader *r, const hu_rank_time *timer)
{
    bool         has_memory;
    hu_log_part *part = part_of(r, timer->name, &has_memory);

    if (!part)
        return has_memory;
    if (timer->least >= 0 && !hu_vec_push(r->arena, &part->spread_ns, timer->most - timer->least))
        return false;
    if (timer->least >= 0 && timer->slowest >= 0 && !hu_vec_push(r->arena, &part->slowest, timer->slowest))
        return false;
    return hu_vec_push(r->arena, &part->ns, timer->most);
}

/* Newer versions of DeepSpeed print their lines of steps only at another level of logging; these are one for each step. */
static bool add_sum(reader *r, int64_t ns)
{
    const hu_log_step step = {.iteration = (int64_t)r->sums.n + 1,
                              .ns = ns,
                              .covers = 1,
                              .epoch = -1,
                              .rank = -1,
                              .batch = NAN,
                              .tokens = NAN,
                              .samples = NAN,
                              .tflops = NAN,
                              .per_s = NAN,
                              .line = r->line,
                              .at_ns = r->now_ns && !r->out->has_zone ? hu_log_time_here(r->now_ns) : r->now_ns};

    return hu_vec_push(r->arena, &r->sums, step);
}

static bool take_parts(reader *r, hu_str line, size_t at)
{
    hu_str  name;
    int64_t ns, sum = 0;
    int     n = 0;

    while (hu_step_part(line, &at, &name, &ns)) {
        sum += is_sum_of_deepspeed(name) ? ns : 0;
        n += is_sum_of_deepspeed(name);
        if (!add_part(r, name, ns))
            return false;
    }
    if (sum) {
        r->sum = sum;
        if (!r->writer.n)
            r->writer = HU_STR("DeepSpeed");
    }
    return n != 3 || sum <= 0 || add_sum(r, sum);
}

/* Without a unit, "data: 0.02" of a step's line has that of the step. */
static bool take_data(reader *r, hu_str line)
{
    static const char *const keys[] = {"data_time", "data time", "data (t)", "data"};
    const hu_log_step       *step = &r->out->steps.at[r->out->steps.n - 1];
    double                   seconds;
    bool                     is_bare;

    for (size_t i = 0; i < HU_COUNT(keys); i++)
        if (hu_line_seconds(line, keys[i], &seconds, &is_bare)) {
            if (seconds >= 1e6)
                return true;
            if (is_bare && step->is_bare)
                return hu_vec_push(r->arena, &r->data, llround(seconds * HU_LOG_BARE));
            if (is_bare && step->unit_s > 0)
                seconds *= step->unit_s;
            return add_part(r, HU_STR("data"), llround(seconds * 1e9));
        }
    return true;
}

/* verl's timers stand on the line of their step. */
static bool take_timings(reader *r, hu_str line)
{
    size_t at = 0;
    hu_str name;
    double seconds;

    while (hu_line_timing(line, &at, &name, &seconds))
        if (!add_part(r, name, llround(seconds * 1e9)))
            return false;
    return true;
}

/* lines */

/* Group `k` of a match as a text of the line. */
static hu_str group(hu_str line, const regmatch_t *found, size_t k)
{
    return found[k].rm_so < 0 ? (hu_str){0} : (hu_str){line.p + found[k].rm_so, (size_t)(found[k].rm_eo - found[k].rm_so)};
}

/* Progress bars (tqdm) print seconds of an iteration, or, where these are short, iterations of a second.  NaN: neither. */
static double bar_seconds(hu_str unit, double number)
{
    return hu_str_starts(unit, HU_STR("s/it")) ? number : hu_str_starts(unit, HU_STR("it/s")) ? 1 / number : (double)NAN;
}

/* By the group of the unit, else by what stands behind the number. */
static double pattern_seconds(hu_str line, hu_str unit, double number, size_t end, bool *is_bare)
{
    double seconds = hu_line_unit(unit) * number;

    *is_bare = false;
    if (isnan(seconds))
        seconds = bar_seconds(unit.n ? unit : (hu_str){line.p + end, line.n - end}, number);
    if (isnan(seconds) && unit.n == 0)
        seconds = hu_line_time(line, number, end, is_bare);
    if (isfinite(seconds))
        return seconds;
    *is_bare = true;
    return number;
}

static bool take_pattern(reader *r, hu_str line)
{
    regmatch_t  found[4] = {{0, (regoff_t)line.n}};
    hu_log_step step = {
        .covers = 1, .epoch = -1, .rank = -1, .batch = NAN, .tokens = NAN, .samples = NAN, .tflops = NAN, .per_s = NAN};
    double number, seconds;
    bool   is_bare;

    if (regexec(r->pattern, line.p, HU_COUNT(found), found, 0) != 0)
        return true;
    if (!hu_parse_i64(group(line, found, 1), &step.iteration) || !hu_parse_f64(group(line, found, 2), &number))
        return true;
    seconds = pattern_seconds(line, group(line, found, 3), number, (size_t)found[2].rm_eo, &is_bare);
    if (!(seconds > 0) || seconds > (is_bare ? 1e9 : 1e6))
        return true;
    step.is_bare = is_bare;
    step.ns = llround(seconds * (is_bare ? HU_LOG_BARE : 1e9));
    r->kind = HU_LINE_STEP;
    return add_step(r, step, HU_LINE_STEP);
}

/* Tables of several lines; *is_taken: the line is of one. */
static bool take_tables(reader *r, hu_str line, bool *is_taken)
{
    hu_rank_time timer;
    bool         has;

    hu_ranks_line(&r->ranks, line, &timer, &has, is_taken);
    if (has && !add_ranked(r, &timer))
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
    if (n_before > r->first && r->out->steps.n == n_before && !r->names_epochs && hu_str_has(line, HU_STR("poch")))
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
        if (!take_timings(r, line))
            return false;
    } else if (!hu_rate_line(&r->rates, line, r->line, r->arena, &r->out->rates) ||
               !hu_bar_line(&r->bars, line, r->line, r->now_ns, r->arena)) {
        return false;
    }
    look_for_epoch(r, line, before);
    return (r->out->steps.n == before || r->kind != HU_LINE_STEP || take_data(r, line)) &&
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

/* A file of another rank covers the same steps as the files before: of each step the slowest rank counts. */
static bool take_rank_file(const reader *r)
{
    hu_log_step       *steps = r->out->steps.at;
    const size_t       first = r->first, n = r->out->steps.n;
    const hu_log_step *last;

    if (!first || first >= n)
        return false;
    last = &steps[first - 1];
    if (last->run || steps[n - 1].run != last->run || steps[first].iteration != steps[0].iteration ||
        steps[first].epoch != steps[0].epoch || steps[n - 1].epoch != last->epoch ||
        llabs(steps[n - 1].iteration - last->iteration) > 2 * last->covers + (last->iteration - steps[0].iteration) / 20)
        return false;
    for (size_t i = 0, k = first; k < n; k++) {
        while (i < first && is_before(&steps[i], &steps[k]))
            i++;
        if (i == first || is_before(&steps[k], &steps[i]))
            continue;
        r->out->n_twins++;
        if (steps[k].ns > steps[i].ns)
            steps[i].ns = steps[k].ns;
    }
    r->out->steps.n = first;
    r->out->has_rank_files = true;
    return true;
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

    if (r->kind != HU_LINE_STEP || r->out->steps.n - r->first < LEAST_CUMULATIVE)
        return false;
    for (size_t i = r->first + 1; i < r->out->steps.n; i++)
        if (steps[i].ns <= steps[i - 1].ns)
            return false;
    return !do_fill_the_clock(steps + r->first, r->out->steps.n - r->first);
}

/* One line that looks like a step is none. */
static bool is_worth(const reader *r)
{
    if (!r->is_probe && is_since_start(r)) {
        r->out->n_rising += r->out->steps.n - r->first;
        return false;
    }
    return r->out->steps.n - r->first >= (r->kind == HU_LINE_STEP ? LEAST_STEPS : 1);
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
    if (!hu_log_unit_find(r->out, r->first, how ? how->unit_s : 0, r->arena))
        return hu_fail_memory(err);
    for (size_t i = 0; i < r->data.n && r->out->unit_s > 0; i++)
        if (!add_part(r, HU_STR("data"), llround((double)r->data.at[i] * r->out->unit_s * (1e9 / HU_LOG_BARE))))
            return hu_fail_memory(err);
    return 0;
}

int hu_step_log_read(hu_input *in, const hu_log_how *how, hu_arena *arena, hu_step_log *out, hu_error *err)
{
    const regex_t *pattern = how ? how->pattern : NULL;

    reader r = {.out = out,
                .arena = arena,
                .pattern = pattern,
                .first = out->steps.n,
                .first_of_run = out->steps.n,
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
        out->steps.n = r.first;
    if (rc == 0 && !pattern && out->steps.n == r.first && !take_sums(&r))
        rc = hu_fail_memory(err);
    if (rc == 0 && !pattern && out->steps.n == r.first && !take_bars(&r))
        rc = hu_fail_memory(err);
    if (rc == 0)
        rc = find_unit(&r, how, err);
    if (rc == 0 && r.kind == HU_LINE_STEP && out->unit != HU_LOG_UNIT_UNKNOWN && !hu_log_interval_find(out, r.first, arena))
        rc = hu_fail_memory(err);
    if (rc == 0 && !hu_log_clock_find(out, r.first, arena))
        rc = hu_fail_memory(err);
    if (rc == 0 && !r.names_epochs && hu_log_blocks_join(out, r.first))
        out->has_falls = had_falls;
    if (rc == 0 && !hu_log_ranks_file(out, r.first, hu_str_of(hu_input_name(in)), arena))
        rc = hu_fail_memory(err);
    if (rc == 0 && take_rank_file(&r))
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
    const bool is = room && read_lines(&r, in, room, NULL) == 0 &&
                    (is_worth(&r) || is_known_log(&log) || r.sums.n >= LEAST_STEPS || has_bars(&r));

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
