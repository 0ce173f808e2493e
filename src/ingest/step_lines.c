/* SPDX-License-Identifier: Apache-2.0
 * step_lines.c - keys and numbers; programs are told apart by keys that only they print. */
#include "ingest/step_lines.h"

#include <ctype.h>
#include <math.h>

#include "base/number.h"

enum { DIGITS = 40 };
static const double MOST_SECONDS = 1e6; /* of a step; more is no time of one */
static const double MOST_BARE = 1e9;    /* of whatever it counts */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Digits with commas between thousands, a point and an exponent; how many bytes it has.  0: none. */
static size_t number_at(hu_str s, size_t from, double *out)
{
    char   digits[DIGITS];
    size_t n = 0, i = from;

    for (; i < s.n && n + 1 < sizeof digits; i++) {
        const char c = s.p[i];
        const bool is_exponent = (c == 'e' || c == 'E') && n && i + 1 < s.n &&
                                 (isdigit((unsigned char)s.p[i + 1]) || s.p[i + 1] == '-' || s.p[i + 1] == '+');
        const bool is_sign = (c == '-' || c == '+') && n && (digits[n - 1] == 'e' || digits[n - 1] == 'E');
        const bool is_thousand = c == ',' && n && i + 3 < s.n && isdigit((unsigned char)s.p[i + 1]) &&
                                 isdigit((unsigned char)s.p[i + 2]) && isdigit((unsigned char)s.p[i + 3]);

        if (is_thousand)
            continue;
        if (!isdigit((unsigned char)c) && c != '.' && !is_exponent && !is_sign)
            break;
        digits[n++] = c;
    }
    while (n && digits[n - 1] == '.') { /* the end of a sentence */
        n--;
        i--;
    }
    return n && isdigit((unsigned char)digits[0]) && hu_parse_f64((hu_str){digits, n}, out) && isfinite(*out) ? i - from : 0;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Where a key (in lower case) stands as a word of its own from `from` on, and *end behind it.  False: nowhere. */
static bool find_word(hu_str line, size_t from, const char *key, size_t *end)
{
    const size_t n = strlen(key);
    const char   upper = key[0] >= 'a' && key[0] <= 'z' ? (char)(key[0] - 'a' + 'A') : key[0];

    for (size_t i = from; i + n <= line.n; i++) {
        size_t k = 1;

        if (line.p[i] != key[0] && line.p[i] != upper) /* nearly always: keys are many, and lines long */
            continue;
        if (i && is_word(line.p[i - 1]) && is_word(key[0]))
            continue;
        while (k < n && lower(line.p[i + k]) == key[k])
            k++;
        if (k < n || (i + n < line.n && is_word(line.p[i + n]) && is_word(key[n - 1])))
            continue;
        *end = i + n;
        return true;
    }
    return false;
}

static size_t skip(hu_str line, size_t at, const char *what)
{
    while (at < line.n && strchr(what, line.p[at]) && line.p[at])
        at++;
    return at;
}

/* The number behind a key, and *at where it begins, *end where it ends. */
static bool number_behind(hu_str line, const char *key, double *out, size_t *end)
{
    size_t from = 0, n;

    while (find_word(line, from, key, &from)) {
        const size_t at = skip(line, from, " \t:=#");

        n = number_at(line, at, out);
        if (n) {
            *end = at + n;
            return true;
        }
    }
    return false;
}

size_t hu_line_number_at(hu_str text, double *out)
{
    const size_t from = skip(text, 0, " ");
    const size_t n = number_at(text, from, out);

    return n ? from + n : 0;
}

bool hu_line_quoted(hu_str line, const char *key, double *out)
{
    size_t from = 0;

    while (find_word(line, from, key, &from))
        if (number_at(line, skip(line, from, " \t:='\""), out))
            return true;
    return false;
}

bool hu_line_number(hu_str line, const char *key, double *out)
{
    size_t end;

    return number_behind(line, key, out, &end);
}

/* A count with what sticks to it ("1.73M", "1.21K", "3.5k"); NaN: that is no prefix. */
static double count_of(hu_str line, double number, size_t end)
{
    static const char   letters[] = "kKmMgGbB";
    static const double factors[] = {1e3, 1e6, 1e9, 1e9};
    const char         *at = end < line.n && line.p[end] ? strchr(letters, line.p[end]) : NULL;

    if (end == line.n || !isalpha((unsigned char)line.p[end]))
        return end < line.n && line.p[end] == '%' ? (double)NAN : number;
    return at && (end + 1 == line.n || !is_word(line.p[end + 1])) ? number * factors[(at - letters) / 2] : (double)NAN;
}

/* Does a word without digits, or what ends in : or =, end at `end`? */
static bool has_key_before(hu_str line, size_t end)
{
    size_t from = end;

    while (from && line.p[from - 1] != ' ')
        from--;
    if (strchr(":=", line.p[end - 1]))
        return true;
    for (; from < end; from++)
        if (!isalpha((unsigned char)line.p[from]) && line.p[from] != '_')
            return false;
    return true;
}

/*
 * A rate behind its unit ("tok/s: 1,518") or before it ("171547 tok/s 42.6% MFU").  Where there is a number on both sides,
 * the one before is meant if no key stands in front of it.
 */
static bool rate_around(hu_str line, const char *key, double *out)
{
    size_t end = 0, from, at, behind, n;
    double before;

    while (find_word(line, end, key, &end)) {
        const size_t start = end - strlen(key);

        from = at = start;
        while (at && line.p[at - 1] == ' ')
            at--;
        for (from = at; from && (isdigit((unsigned char)line.p[from - 1]) || strchr(".,", line.p[from - 1])); from--)
            continue;
        while (from < at && !isdigit((unsigned char)line.p[from]))
            from++;
        behind = skip(line, end, " \t:=#");
        n = behind < line.n ? number_at(line, behind, out) : 0;
        if (n)
            *out = count_of(line, *out, behind + n);
        else
            behind = 0;
        if (from < at && number_at(line, from, &before) == at - from && (!from || strchr(" \t(|,:=", line.p[from - 1]))) {
            while (from && line.p[from - 1] == ' ')
                from--;
            if (!behind || (memchr(line.p + end, ' ', behind - end) && !memchr(line.p + end, ':', behind - end) &&
                            !memchr(line.p + end, '=', behind - end) && from && !has_key_before(line, from))) {
                *out = before;
                return true;
            }
        }
        if (behind)
            return true;
    }
    return false;
}

static double rate_or_nan(hu_str line, const char *const *keys)
{
    double value;

    for (; *keys; keys++)
        if (rate_around(line, *keys, &value))
            return value;
    return NAN;
}

static double number_or_nan(hu_str line, const char *const *keys)
{
    double value;
    size_t end;

    for (; *keys; keys++)
        if (number_behind(line, *keys, &value, &end))
            return count_of(line, value, end);
    return NAN;
}

/* The seconds of a unit; NaN: it is none. */
static double unit_of(hu_str word)
{
    static const struct {
        const char *word;
        double      seconds;
    } units[] = {
        {"ns", 1e-9},
        {"nanosecond", 1e-9},
        {"nanoseconds", 1e-9},
        {"us", 1e-6},
        {"usec", 1e-6},
        {"usecs", 1e-6},
        {"microsecond", 1e-6},
        {"microseconds", 1e-6},
        {"ms", 1e-3},
        {"msec", 1e-3},
        {"msecs", 1e-3},
        {"millis", 1e-3},
        {"millisecond", 1e-3},
        {"milliseconds", 1e-3},
        {"s", 1},
        {"sec", 1},
        {"secs", 1},
        {"second", 1},
        {"seconds", 1},
        {"min", 60},
        {"mins", 60},
        {"minute", 60},
        {"minutes", 60},
        {"h", 3600},
        {"hr", 3600},
        {"hrs", 3600},
        {"hour", 3600},
        {"hours", 3600},
        {"\xc2\xb5s", 1e-6},
        {"\xce\xbcs", 1e-6},
    };

    for (size_t i = 0; i < HU_COUNT(units); i++) {
        size_t k = 0;

        while (k < word.n && units[i].word[k] == lower(word.p[k]))
            k++;
        if (k == word.n && units[i].word[k] == '\0')
            return units[i].seconds;
    }
    return NAN;
}

/*
 * A time with its unit behind it ("345.1ms", "0.35 s"), or in `unit` seconds.  What sticks to the number and is no unit
 * makes it none: "1h2m3s", "1.21K", "2024-05-01"; a word behind a blank may be the next key ("0.35 min: 0.31").  NaN: none.
 */
static double seconds_of(hu_str line, double number, size_t end, double unit, bool *has_unit)
{
    const size_t at = skip(line, end, " ");
    size_t       to = at;
    double       factor;

    while (to < line.n && (isalpha((unsigned char)line.p[to]) || (unsigned char)line.p[to] >= 0x80))
        to++;
    factor = unit_of((hu_str){line.p + at, to - at});
    *has_unit = false;
    if (at == end && to == at)
        return to < line.n && strchr("-:/%_", line.p[to]) && line.p[to] ? (double)NAN : number * unit;
    if (isnan(factor) || (to < line.n && (is_word(line.p[to]) || line.p[to] == '/')))
        return at == end ? (double)NAN : number * unit;
    if (at > end) { /* a key, or one in front of its number: cannot tell */
        const size_t next = skip(line, to, " ");

        if (next < line.n && strchr(":=", line.p[next]) && line.p[next])
            return number * unit;
        if (next > to && next < line.n && isdigit((unsigned char)line.p[next]))
            return NAN;
    }
    *has_unit = true;
    return number * factor;
}

double hu_line_time(hu_str line, double number, size_t end, bool *is_bare)
{
    bool         has_unit;
    const double seconds = seconds_of(line, number, end, 1, &has_unit);

    *is_bare = !has_unit;
    return seconds;
}

double hu_line_unit(hu_str word)
{
    return unit_of(word);
}

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
        if (strlen(words[i]) == key - from && find_word((hu_str){line.p + from, key - from}, 0, words[i], &end))
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

        while (k < HU_COUNT(known[i]) && find_word(line, 0, known[i][k], &end))
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

        while (find_word(line, from, keys[i].key, &from)) {
            const size_t at = skip(line, from, " \t:=#");

            n = number_at(line, at, &number);
            if (!n || is_other_time(line, from - strlen(keys[i].key)))
                continue;
            seconds = seconds_of(line, number, at + n, keys[i].unit == 0 ? 1 : keys[i].unit, &has_unit);
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
    const size_t at = from < line.n && line.p[from] == '[' ? skip(line, from + 1, " ") : line.n;
    const size_t n = at < line.n ? number_at(line, at, number) : 0;
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
        for (size_t from = i, to; (to = bracket_at(line, from, &number, &end)) != 0; from = skip(line, end, " ,"))
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

        while (find_word(line, from, keys[i], &from)) {
            at = skip(line, from, " \t:=#['\"");
            n = number_at(line, at, &number);
            to = skip(line, at + n, " ");
            if (n && number < 1e15 && (i < 2 || (to < line.n && line.p[to] == '[')))
                return (int64_t)number;
        }
    }
    for (size_t i = 0; i < line.n; i++)
        if (bracket_at(line, i, &number, &end) && (to = bracket_at(line, skip(line, end, " ,"), &next, &end)) &&
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
    size_t at = skip(line, 0, " "), n;
    double number;

    if (at < line.n && line.p[at] == '[') {
        at++;
        while (at < line.n && isalpha((unsigned char)line.p[at]))
            at++;
        if (at + 1 < line.n && line.p[at - 1] == '[' && line.p[at] == '1' && line.p[at + 1] == ',')
            at += 2;
        else if (at < line.n && line.p[at - 1] == '[')
            return -1;
        n = number_at(line, at, &number);
        return n && at + n < line.n && line.p[at + n] == ']' && number < 1e9 ? (int64_t)number : -1;
    }
    n = number_at(line, at, &number);
    return n && at + n + 1 < line.n && line.p[at + n] == ':' && line.p[at + n + 1] == ' ' && number < 1e9 ? (int64_t)number
                                                                                                          : -1;
}

bool hu_line_seconds(hu_str line, const char *key, double *out, bool *is_bare)
{
    size_t end;
    double number;

    if (!number_behind(line, key, &number, &end))
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

        while (find_word(line, from, keys[i], &from)) {
            const size_t at = skip(line, from, " \t:=#[");

            n = number_at(line, at, &number);
            if (n && number < 1e15 && number == floor(number) && (!memchr(line.p + at, '.', n) || i == 0) && /* NeMo: 9.0 */
                (at + n == line.n || (!is_word(line.p[at + n]) && line.p[at + n] != '%')))
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
        if (find_word(line, 0, words[i], &end))
            return true;
    return find_word(line, 0, "val", &end) && !find_word(line, 0, "train", &end); /* "loss train: 2.1, val: n/a" */
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

bool hu_line_timing(hu_str line, size_t *at, hu_str *name, double *seconds)
{
    static const char key[] = "timing_s/";

    while (*at < line.n) {
        const char *found = memmem(line.p + *at, line.n - *at, key, sizeof key - 1);
        size_t      from, to, n;

        if (!found)
            break;
        from = to = (size_t)(found - line.p) + sizeof key - 1;
        while (to < line.n && is_word(line.p[to]))
            to++;
        *at = to;
        *name = (hu_str){line.p + from, to - from};
        n = to < line.n && line.p[to] == ':' ? number_at(line, to + 1, seconds) : 0;
        if (n && name->n && *seconds < MOST_SECONDS && !hu_str_equal(*name, HU_STR("step")))
            return true;
    }
    return false;
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
    if (find_word(line, 0, "elapsed time per iteration (ms)", &unused) ||
        find_word(line, 0, "elapsed_time_per_iteration_ms", &unused) ||
        find_word(line, 0, "elapsed time per iteration (s)", &unused))
        kind = HU_LINE_MEGATRON;
    else if (find_word(line, 0, "iter time (s)", &unused))
        kind = HU_LINE_PIPELINE;
    else if (isnan(seconds) && find_word(line, 0, "currsamplespersec", &unused))
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
    step->batch = number_or_nan(line, batches);
    step->tokens = rate_or_nan(line, tokens);
    step->samples = rate_or_nan(line, samples);
    step->tflops = rate_or_nan(line, tflops);
    count_batches(line, seconds, step);
    step->per_s = step->is_bare ? rate_or_nan(line, steps) : (double)NAN;
    return kind;
}

size_t hu_step_parts(hu_str line)
{
    static const char key[] = "time (ms) |";
    const char       *at = line.n ? memmem(line.p, line.n, key, sizeof key - 1) : NULL;

    return at ? (size_t)(at - line.p) + sizeof key - 1 : 0;
}

bool hu_step_part(hu_str line, size_t *at, hu_str *name, int64_t *ns)
{
    while (*at < line.n) {
        const size_t from = skip(line, *at, " \t");
        const char  *bar = memchr(line.p + from, '|', line.n - from);
        const size_t end = bar ? (size_t)(bar - line.p) : line.n;
        const char  *colon = end > from ? memchr(line.p + from, ':', end - from) : NULL;
        double       ms;

        *at = bar ? end + 1 : line.n;
        if (!colon)
            continue;
        *name = (hu_str){line.p + from, (size_t)(colon - line.p) - from};
        if (name->n && number_at(line, skip(line, from + name->n + 1, " "), &ms) && ms < 1e3 * MOST_SECONDS) {
            *ns = llround(ms * 1e6);
            return true;
        }
    }
    return false;
}

hu_str hu_line_behind(hu_str line, const char *text)
{
    const size_t n = strlen(text);
    const char  *at = line.n >= n ? memmem(line.p, line.n, text, n) : NULL;

    return at ? (hu_str){at + n, (size_t)(line.p + line.n - at) - n} : (hu_str){line.p, 0};
}
