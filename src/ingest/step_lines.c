/* SPDX-License-Identifier: Apache-2.0
 * step_lines.c - programs are told apart by keys that only they print. */
#include "ingest/step_lines.h"

#include <ctype.h>
#include <math.h>

#include "base/number.h"
#include "ingest/line_numbers.h"

static const double MOST_SECONDS = 1e6; /* of a step; more is no time of one */
static const double MOST_BARE = 1e9;    /* of whatever it counts */

/* "elapsed time", "total time": of more than a step, or of something else. */
static bool is_other_time(hu_str line, size_t key)
{
    static const char *const words[] = {"elapsed",    "total", "wall",    "clock",      "remaining", "eta",
                                        "cumulative", "run",   "running", "epoch",      "left",      "start",
                                        "end",        "eval",  "val",     "validation", "training",  "overall",
                                        "data",       "load",  "loading", "current",    "date"};
    size_t                   from, end;

    while (key && (line.p[key - 1] == ' ' || line.p[key - 1] == '-'))
        key--;
    for (from = key; from && isalpha((unsigned char)line.p[from - 1]); from--)
        continue;
    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (strlen(words[i]) == key - from && hu_line_find((hu_str){line.p + from, key - from}, 0, words[i], &end))
            return true;
    return false;
}

/* Of programs that are known to print seconds without saying so: words that stand together in their lines alone. */
static bool is_known_for_seconds(hu_str line)
{
    static const char *const known[][4] = {
        {"eta", "time", "data_time", "time"}, /* mmcv, mmengine, Detectron2 */
        {"eta", "time", "data", "max mem"},   /* references of torchvision */
        {"epoch: [", "time", "data", "loss"}, /* PyTorch's example of ImageNet */
        {"train: [", "eta", "time", "mem"},   /* Swin Transformer */
        {"epoch(train)", "time", "data_time", "time"},
    };
    size_t end;

    for (size_t i = 0; i < HU_COUNT(known); i++) {
        size_t k = 0;

        while (k < HU_COUNT(known[i]) && hu_line_find(line, 0, known[i][k], &end))
            k++;
        if (k == HU_COUNT(known[i]))
            return true;
    }
    return false;
}

/* "time" alone says neither that it is a step's nor that it is that of all steps since the line before. */
static bool is_vague_key(const char *key)
{
    static const char *const vague[] = {"time", "time_ms", "took"};

    for (size_t i = 0; i < HU_COUNT(vague); i++)
        if (strcmp(key, vague[i]) == 0)
            return true;
    return false;
}

/*
 * NaN: no key of a time is there, or it is no time of a step; *is_bare: neither key nor line says the unit; *is_vague: it
 * does not say of how many steps.
 */
static double find_seconds(hu_str line, bool *is_bare, bool *is_vague, double *unit_s)
{
    static const struct {
        const char *key;
        double      unit; /* seconds, where none is behind the number; 0: not known, NaN: then it is no time */
    } keys[] = {
        {"elapsed time per iteration (ms)", 1e-3},
        {"elapsed_time_per_iteration_ms", 1e-3},
        {"elapsed time per iteration (s)", 1},
        {"iter time (s)", 1},
        {"iter time (ms)", 1e-3},
        {"step time (s)", 1},
        {"step time (ms)", 1e-3},
        {"step_time_ms", 1e-3},
        {"iter_time_ms", 1e-3},
        {"time_ms", 1e-3},
        {"step_time_s", 1},
        {"train_step_timing in s", 1}, /* NeMo */
        {"step_seconds", 1},
        {"timing_s/step", 1}, /* verl */
        {"batch (t)", 1},     /* open_clip */
        {"seconds:", 1},      /* MaxText: "completed step: 7, seconds: 4.118, TFLOP/s/device: 412.1" */
        {"step_time", 0},
        {"iter_time", 0},
        {"step time", 0},
        {"iter time", 0},
        {"batch_time", 0},
        {"time", 0},
        {"dt", NAN},
        {"step", NAN}, /* "Step 6033.8ms" */
        {"took", NAN},
    };

    for (size_t i = 0; i < HU_COUNT(keys); i++) {
        double number, seconds;
        size_t from = 0, n;
        bool   has_unit;

        while (hu_line_find(line, from, keys[i].key, &from)) {
            const size_t at = hu_line_skip(line, from, " \t:=#");

            n = hu_line_number_from(line, at, &number);
            if (!n || is_other_time(line, from - strlen(keys[i].key)))
                continue;
            seconds = hu_line_seconds_at(line, number, at + n, keys[i].unit == 0 ? 1 : keys[i].unit, &has_unit);
            *is_bare = !has_unit && keys[i].unit == 0 && !is_known_for_seconds(line);
            *is_vague = is_vague_key(keys[i].key) && !is_known_for_seconds(line);
            *unit_s = *is_bare ? 0 : seconds / number;
            if (seconds > 0 && seconds < (*is_bare ? MOST_BARE : MOST_SECONDS))
                return seconds;
        }
    }
    return NAN;
}

/* The number behind the bracket at `from`, and *end behind its closing one, or behind the number.  0: none. */
static size_t bracket_at(hu_str line, size_t from, double *number, size_t *end)
{
    const size_t at = from < line.n && line.p[from] == '[' ? hu_line_skip(line, from + 1, " ") : line.n;
    const size_t n = at < line.n ? hu_line_number_from(line, at, number) : 0;
    const char  *close = n ? memchr(line.p + at + n, ']', line.n - at - n) : NULL;

    *end = close ? (size_t)(close - line.p) + 1 : at + n;
    return n && *number == floor(*number) && *number < 1e15 ? at + n : 0;
}

/* The first of "[ 10/1251]", of the last of several that are side by side: the others are epochs.  Negative: none. */
static int64_t iteration_of_brackets(hu_str line)
{
    int64_t iteration = -1;
    double  number;

    for (size_t i = 0, end; i < line.n && iteration < 0; i++)
        for (size_t from = i, to; (to = bracket_at(line, from, &number, &end)) != 0; from = hu_line_skip(line, end, " ,"))
            if (to < line.n && line.p[to] == '/')
                iteration = (int64_t)number;
    return iteration;
}

/* "Epoch: [3]", "'epoch': 0.7", "Epoch(train) [3]", "Train: 3 [ 50/1251", "[3/300][50/1251]".  Negative: not told. */
static int64_t find_epoch(hu_str line)
{
    static const char *const keys[] = {"epoch", "epoch(train)", "train"};
    double                   number, next;
    size_t                   end, to;

    for (size_t i = 0; i < HU_COUNT(keys); i++) {
        size_t from = 0, at, n;

        while (hu_line_find(line, from, keys[i], &from)) {
            at = hu_line_skip(line, from, " \t:=#['\"");
            n = hu_line_number_from(line, at, &number);
            to = hu_line_skip(line, at + n, " ");
            if (n && number < 1e15 && (i < 2 || (to < line.n && line.p[to] == '[')))
                return (int64_t)number;
        }
    }
    for (size_t i = 0; i < line.n; i++)
        if (bracket_at(line, i, &number, &end) && (to = bracket_at(line, hu_line_skip(line, end, " ,"), &next, &end)) &&
            to < line.n && line.p[to] == '/')
            return (int64_t)number;
    return -1;
}

int64_t hu_line_epoch(hu_str line)
{
    return find_epoch(line);
}

/* "53: " of srun -l, "[rank3]", "[default3]:", "[1,3]<stdout>" of mpirun.  Negative: none. */
int64_t hu_line_rank(hu_str line)
{
    size_t at = hu_line_skip(line, 0, " "), n;
    double number;

    if (at < line.n && line.p[at] == '[') {
        at++;
        while (at < line.n && isalpha((unsigned char)line.p[at]))
            at++;
        if (at + 1 < line.n && line.p[at - 1] == '[' && line.p[at] == '1' && line.p[at + 1] == ',')
            at += 2;
        else if (at < line.n && line.p[at - 1] == '[')
            return -1;
        n = hu_line_number_from(line, at, &number);
        return n && at + n < line.n && line.p[at + n] == ']' && number < 1e9 ? (int64_t)number : -1;
    }
    n = hu_line_number_from(line, at, &number);
    return n && at + n + 1 < line.n && line.p[at + n] == ':' && line.p[at + n + 1] == ' ' && number < 1e9 ? (int64_t)number
                                                                                                          : -1;
}

bool hu_line_seconds(hu_str line, const char *key, double *out, bool *is_bare)
{
    size_t end;
    double number;

    if (!hu_line_number_behind(line, key, &number, &end))
        return false;
    *out = hu_line_time(line, number, end, is_bare);
    *is_bare = *is_bare && !is_known_for_seconds(line);
    return isfinite(*out);
}

/* A whole number behind "step", "iter" …, or the first of "[ 10/1251]" and "[0][10/5005]".  Negative: none. */
int64_t hu_line_iteration(hu_str line)
{
    static const char *const keys[] = {"global_step", "iteration", "iter", "step", "steps", "it", "batch"};
    double                   number;

    for (size_t i = 0; i < HU_COUNT(keys); i++) {
        size_t from = 0, n;

        while (hu_line_find(line, from, keys[i], &from)) {
            const size_t at = hu_line_skip(line, from, " \t:=#[");

            n = hu_line_number_from(line, at, &number);
            if (n && number < 1e15 && number == floor(number) && (!memchr(line.p + at, '.', n) || i == 0) && /* NeMo: 9.0 */
                (at + n == line.n || (!hu_line_is_word(line.p[at + n]) && line.p[at + n] != '%')))
                return (int64_t)number;
        }
    }
    return iteration_of_brackets(line);
}

/* Words of what is no step of training. */
bool hu_line_is_of_something_else(hu_str line)
{
    static const char *const words[] = {
        "eval",  "[eval]",     "evaluation", "evaluating",      "valid",  "validation",     "test",
        "test:", "checkpoint", "saved",      "save_checkpoint", "saving", "load_checkpoint"};
    size_t end;

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_line_find(line, 0, words[i], &end))
            return true;
    return hu_line_find(line, 0, "val", &end) && !hu_line_find(line, 0, "train", &end); /* "loss train: 2.1, val: n/a" */
}

static bool has_any_of(hu_str line, const char *const *parts)
{
    for (; *parts; parts++)
        if (hu_str_has(line, hu_str_of(*parts)))
            return true;
    return false;
}

/* Most lines of a log tell of something else: those without the pieces of a number's and a time's keys. */
static bool may_tell(hu_str line)
{
    static const char *const numbers[] = {"tep", "ter", "TEP", "TER", "atch", "[", "it ", "it:", NULL};
    static const char *const times[] = {"ime", "IME", "dt", "tep", "TEP", "took", "PerSec", "(t)", NULL};

    return line.n && has_any_of(line, numbers) && has_any_of(line, times);
}

/* verl tells of the steps that it validates, too, on their line. */
static bool has_timings(hu_str line)
{
    return hu_str_has(line, HU_STR("timing_s/step"));
}

/* open_clip counts samples: "Train Epoch: 0 [409600/10000000 (4%)] … Batch (t): 0.456, 8982.46/s, …". */
static void count_batches(hu_str line, double seconds, hu_log_step *step)
{
    static const char key[] = "Batch (t): ";
    const char       *at = memmem(line.p, line.n, key, sizeof key - 1);
    const char       *comma = at ? memchr(at, ',', (size_t)(line.p + line.n - at)) : NULL;
    const hu_str      rest = comma ? (hu_str){comma + 1, (size_t)(line.p + line.n - comma) - 1} : (hu_str){0};
    double            rate;
    const size_t      n = comma ? hu_line_number_at(rest, &rate) : 0;

    if (n && n + 1 < rest.n && rest.p[n] == '/' && rest.p[n + 1] == 's' && rate * seconds >= 1) {
        step->iteration = llround((double)step->iteration / (rate * seconds));
        step->samples = rate;
    }
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

hu_line_kind hu_step_line(hu_str line, hu_log_step *step)
{
    static const char *const batches[] = {"global batch size", "global_batch_size", NULL};
    static const char *const tokens[] = {"tokens/sec",     "tokens/s",          "tok/s", "tok/sec", "tokens_per_second",
                                         "tokens_per_sec", "tokens per second", "tps",   NULL};
    static const char *const samples[] = {
        "samples/sec", "samples per second", "currsamplespersec", "img/s", "images/sec", "samples_per_second", NULL};
    static const char *const steps[] = {"steps_per_sec", "steps_per_second", "steps/s", "steps/sec",
                                        "it/s",          "iters/s",          NULL};
    static const char *const tflops[] = {"throughput per gpu (tflop/s/gpu)", "tflops", "tflop/s", NULL};
    double                   seconds;
    bool                     is_bare = false;
    size_t                   unused;
    hu_line_kind             kind = HU_LINE_STEP;

    if (!may_tell(line))
        return HU_LINE_NONE;
    *step = (hu_log_step){.iteration = hu_line_iteration(line), .covers = 1, .epoch = -1, .rank = -1};
    if (step->iteration < 0)
        return HU_LINE_NONE;
    seconds = find_seconds(line, &is_bare, &step->is_vague, &step->unit_s);
    if (hu_line_find(line, 0, "elapsed time per iteration (ms)", &unused) ||
        hu_line_find(line, 0, "elapsed_time_per_iteration_ms", &unused) ||
        hu_line_find(line, 0, "elapsed time per iteration (s)", &unused))
        kind = HU_LINE_MEGATRON;
    else if (hu_line_find(line, 0, "iter time (s)", &unused))
        kind = HU_LINE_PIPELINE;
    else if (isnan(seconds) && hu_line_find(line, 0, "currsamplespersec", &unused))
        kind = HU_LINE_DEEPSPEED;
    else if (isnan(seconds) || (hu_line_is_of_something_else(line) && !has_timings(line)))
        return HU_LINE_NONE;
    if (isnan(seconds) && kind != HU_LINE_DEEPSPEED)
        return HU_LINE_NONE;
    step->epoch = find_epoch(line);
    step->rank = hu_line_rank(line);
    if (step->rank < 0)
        step->rank = rank_of_object(line);
    step->is_bare = is_bare && isfinite(seconds);
    step->ns = isnan(seconds) ? 0 : llround(seconds * (step->is_bare ? HU_LOG_BARE : 1e9));
    step->batch = hu_line_count(line, batches);
    step->tokens = hu_line_rate(line, tokens);
    step->samples = hu_line_rate(line, samples);
    step->tflops = hu_line_rate(line, tflops);
    count_batches(line, seconds, step);
    step->per_s = step->is_bare ? hu_line_rate(line, steps) : (double)NAN;
    return kind;
}
