/* SPDX-License-Identifier: Apache-2.0
 * bar_lines.c - by the forms of tqdm and of Keras:
 *
 *   Epoch 0:  12%|█▏        | 12/500 [00:03<02:25,  2.50it/s, loss=1.2]
 *   1%|  | 10/500 [00:10<08:30,  1.04s/it]
 *   100/100 ━━━━━━━━━━ 3s 35ms/step - loss: 2.3025
 *   100/100 [=====] - 3s 35ms/step - loss: 2.3
 *   Epoch 1/1 ━━━━━━━━ 64/64 0:00:12 • 0:00:00 5.12it/s       (rich, of Lightning)
 *
 * Traps: the rate is no single step's: tqdm's is smoothed (or a running mean), Keras' a running mean over the epoch.  What
 * passed between two lines is in the elapsed time, in whole seconds, so steps are those of 20 s and more together.  There
 * are many bars (loading, tokenizing, evaluating) beside that of training; a run that goes on begins in the middle.
 */
#include "ingest/bar_lines.h"

#include <ctype.h>
#include <math.h>

#include "base/hash.h"
#include "base/number.h"
#include "ingest/line_numbers.h"

static const double LEAST_S = 20;      /* elapsed, of the steps of one line: whole seconds are 5 % of it */
static const double LEAST_LAST_S = 10; /* of the last ones of a bar */
static const double LEAST_TOLD_S = 2;  /* elapsed, to tell a mean (Lightning) from a smoothed rate */

typedef struct {
    uint64_t key;
    int64_t  n, total;
    double   elapsed_s; /* NaN: the bar prints the mean alone */
    double   mean_s;    /* of a step, as it is printed */
    bool     is_line;   /* of Keras, without a bar: an epoch for each */
    bool     has_valid; /* of Keras: validation's time is in the mean */
} bar;

static bool has_lower(hu_str text, const char *word)
{
    return hu_str_has_lower(text, hu_str_of(word));
}

/* Of what is not training. */
static bool is_of_something_else(hu_str name)
{
    static const char *const words[] = {"load",    "shard",   "download", "fetch", "map",    "filter",
                                        "token",   "generat", "eval",     "valid", "test",   "sanity",
                                        "predict", "sampl",   "quant",    "sav",   "captur", "warm"};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (has_lower(name, words[i]))
            return true;
    return false;
}

/* The name without its digits: "Epoch 0: " and "Epoch 1: " are one run. */
static uint64_t key_of(hu_str name)
{
    uint64_t key = 1;

    for (size_t i = 0; i < name.n; i++)
        if (!isdigit((unsigned char)name.p[i]) && name.p[i] != ' ' && name.p[i] != '.' && name.p[i] != '-')
            key = hu_hash_u64(key ^ (unsigned char)name.p[i]);
    return key;
}

/* "12/500" at the beginning of a text: the bytes that it takes; 0: it is none. */
static size_t count_at(hu_str text, bar *b)
{
    size_t at = 0, from, to;

    while (at < text.n && text.p[at] == ' ')
        at++;
    for (from = to = at; to < text.n && isdigit((unsigned char)text.p[to]); to++)
        continue;
    if (to == from || to == text.n || text.p[to] != '/' || !hu_parse_i64((hu_str){text.p + from, to - from}, &b->n))
        return 0;
    for (from = ++to; to < text.n && isdigit((unsigned char)text.p[to]); to++)
        continue;
    return to > from && hu_parse_i64((hu_str){text.p + from, to - from}, &b->total) && b->n > 0 && b->n <= b->total ? to : 0;
}

/* "02:03", "1:02:03", "1 day, 1:02:03": seconds; NaN: none. */
static double elapsed_of(hu_str text)
{
    const char *comma = memchr(text.p, ',', text.n);
    double      days = 0, seconds = 0, part;
    size_t      n;

    if (comma) {
        if (!hu_line_number_at(text, &days))
            return NAN;
        text = (hu_str){comma + 1, (size_t)(text.p + text.n - comma) - 1};
    }
    while ((n = hu_line_number_at(text, &part)) != 0) {
        seconds = 60 * seconds + part;
        if (n == text.n)
            return 86400 * days + seconds;
        if (text.p[n] != ':')
            return NAN;
        text = (hu_str){text.p + n + 1, text.n - n - 1};
    }
    return NAN;
}

/* "1.04s/it", "2.50it/s" behind the comma: seconds of a step; NaN: another unit, as of files and bytes. */
static double step_of_rate(hu_str text)
{
    double       value;
    const size_t n = hu_line_number_at(text, &value);
    const hu_str unit = {text.p + n, text.n - n};

    if (!n || !(value > 0))
        return NAN;
    return hu_str_starts(unit, HU_STR("s/it")) ? value : hu_str_starts(unit, HU_STR("it/s")) ? 1 / value : (double)NAN;
}

static bool read_tqdm(hu_str line, bar *b)
{
    const char *percent = memmem(line.p, line.n, "%|", 2), *bar_end, *open, *less, *comma;
    hu_str      name = {line.p, percent ? (size_t)(percent - line.p) : 0}, rest;
    size_t      n;

    if (!percent)
        return false;
    bar_end = memchr(percent + 2, '|', (size_t)(line.p + line.n - percent) - 2);
    if (!bar_end)
        return false;
    rest = (hu_str){bar_end + 1, (size_t)(line.p + line.n - bar_end) - 1};
    n = count_at(rest, b);
    open = n && n + 1 < rest.n && rest.p[n] == ' ' && rest.p[n + 1] == '[' ? rest.p + n + 2 : NULL;
    less = open ? memchr(open, '<', (size_t)(rest.p + rest.n - open)) : NULL;
    if (!less || is_of_something_else(name))
        return false;
    b->key = key_of(name);
    b->elapsed_s = elapsed_of((hu_str){open, (size_t)(less - open)});
    b->mean_s = NAN;
    for (comma = less; isnan(b->mean_s) && (comma = memchr(comma, ',', (size_t)(rest.p + rest.n - comma))); comma++)
        b->mean_s = step_of_rate(
            (hu_str){comma + 1, (size_t)(rest.p + rest.n - comma) - 1}); /* "<1 day, 2:00:00, 1.04s/it" */
    return b->elapsed_s >= 0 && b->mean_s > 0;
}

/* The text behind and before a blank; the whole where there is none. */
static hu_str last_word(hu_str *text)
{
    const char *blank = text->n ? memrchr(text->p, ' ', text->n) : NULL;
    hu_str      word = *text;

    if (blank)
        word = (hu_str){blank + 1, (size_t)(text->p + text->n - blank) - 1};
    *text = hu_str_trim((hu_str){text->p, text->n - word.n});
    return word;
}

static bool read_rich(hu_str line, bar *b)
{
    static const char dot[] = " \xe2\x80\xa2 ";
    const char       *at = memmem(line.p, line.n, dot, sizeof dot - 1);
    hu_str            before = {line.p, at ? (size_t)(at - line.p) : 0}, behind, elapsed, count;
    const char       *blank;

    if (!at || !memmem(line.p, before.n, "\xe2\x94\x81", 3))
        return false;
    behind = (hu_str){at + sizeof dot - 1, (size_t)(line.p + line.n - at) - (sizeof dot - 1)};
    elapsed = last_word(&before);
    count = last_word(&before);
    blank = memchr(behind.p, ' ', behind.n);
    if (!blank || elapsed.n == 0 || count.n == 0 || count_at(count, b) != count.n || is_of_something_else(before))
        return false;
    b->key = key_of((hu_str){before.p, (size_t)((const char *)memmem(before.p, before.n, "\xe2\x94\x81", 3) - before.p)});
    b->elapsed_s = elapsed_of(elapsed);
    b->mean_s = step_of_rate(hu_str_trim((hu_str){blank, (size_t)(behind.p + behind.n - blank)}));
    return b->elapsed_s >= 0 && b->mean_s > 0;
}

/* "35ms/step": the number that stands before "/step" with its unit, in seconds. */
static double step_of_keras(hu_str line)
{
    const char *at = memmem(line.p, line.n, "/step", 5);
    size_t      end = at ? (size_t)(at - line.p) : 0, unit, from;
    double      value;

    for (unit = end; unit && isalpha((unsigned char)line.p[unit - 1]); unit--)
        continue;
    for (from = unit; from && (isdigit((unsigned char)line.p[from - 1]) || line.p[from - 1] == '.'); from--)
        continue;
    return from < unit && hu_parse_f64((hu_str){line.p + from, unit - from}, &value)
               ? value * hu_line_unit((hu_str){line.p + unit, end - unit})
               : (double)NAN;
}

static bool read_keras(hu_str line, bar *b)
{
    static const char *const bars[] = {" \xe2\x94\x81", " [", " - "}; /* Keras 3, Keras 2, and verbose=2 */
    const size_t             n = count_at(line, b);
    bool                     has_bar = false;

    for (size_t i = 0; n && i < HU_COUNT(bars); i++)
        has_bar |= hu_str_starts((hu_str){line.p + n, line.n - n}, hu_str_of(bars[i]));
    if (!has_bar)
        return false;
    b->key = 0;
    b->elapsed_s = NAN;
    b->is_line = hu_str_starts((hu_str){line.p + n, line.n - n}, HU_STR(" - "));
    b->has_valid = hu_str_has(line, HU_STR(" - val_"));
    b->mean_s = step_of_keras(line);
    return b->mean_s > 0;
}

static hu_bar_series *series_of(hu_bars_reader *r, const bar *b)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].key == b->key && r->at[i].total == b->total)
            return &r->at[i];
    if (r->n == HU_BARS)
        return NULL;
    r->at[r->n] = (hu_bar_series){.key = b->key, .total = b->total, .final_s = NAN};
    return &r->at[r->n++];
}

/* Steps of the bar up to where it is. */
static bool take(hu_bar_series *s, double seconds, int64_t now_ns, hu_arena *arena)
{
    const int64_t covers = s->n - s->taken;
    hu_log_step   step = hu_log_step_of(s->epoch * s->total + s->n, llround(seconds / (double)covers * 1e9), s->line);

    step.covers = covers;
    step.at_ns = now_ns;
    if (s->total > INT64_C(1000000000000) || s->epoch > 1000000)
        return true;
    s->sum_s += seconds;
    s->taken = s->n;
    s->taken_s = s->s;
    return step.ns <= 0 || seconds / (double)covers > 1e6 || hu_vec_push(arena, &s->steps, step);
}

/* What is left of a bar that ended: by its elapsed time, or by the mean that it prints at its end. */
static bool end_bar(hu_bar_series *s, int64_t now_ns, hu_arena *arena)
{
    const double seconds = s->s - s->taken_s;

    if (s->n <= s->taken)
        return true;
    if (seconds >= LEAST_LAST_S)
        return take(s, seconds, now_ns, arena);
    return !(s->taken_s == 0 && s->final_s > 0) || take(s, s->final_s * (double)(s->n - s->taken), now_ns, arena);
}

/* tqdm prints a bar's last number with the smoothed rate, and once more with the mean when the bar closes.  Lightning's
   rate is always the mean, and what it prints again is with validation's time.  Elapsed: whole seconds, cut. */
static bool is_mean_of_all(const hu_bar_series *s, const bar *b)
{
    const double seconds = b->mean_s * (double)(b->n - s->first);

    return seconds >= 0.98 * b->elapsed_s && seconds <= 1.02 * (b->elapsed_s + 1);
}

/* The last line of a Keras bar has the mean over all of it, but for the one that validation follows. */
static bool take_bar(hu_bar_series *s, const bar *b, uint64_t number, int64_t now_ns, hu_arena *arena)
{
    const bool is_keras = isnan(b->elapsed_s);
    const bool is_new = s->n == 0 || (b->n < s->n && (2 * b->n <= s->n || b->n == 1)) ||
                        (b->is_line && b->n == b->total && s->n == s->total);

    if (!is_new && b->n == s->n && b->n == b->total && !is_keras && is_mean_of_all(s, b) &&
        (s->is_smoothed || s->s < LEAST_TOLD_S))
        s->final_s = b->mean_s;
    if (!is_new && b->n <= s->n && (!is_keras || b->has_valid))
        return true;
    if (is_new) {
        if (s->n && !end_bar(s, now_ns, arena))
            return false;
        s->epoch += s->n > 0;
        s->first = b->n > 1 && b->n < b->total ? b->n : 0;
        s->taken = is_keras ? 0 : b->n; /* the first step compiles, and a run that goes on begins in the middle */
        s->taken_s = is_keras ? 0 : b->elapsed_s;
        if (!is_keras && b->n == b->total && is_mean_of_all(s, b)) { /* its only line, and it began at 0 */
            s->taken = 0;
            s->taken_s = 0;
        }
    }
    s->n = b->n;
    s->line = number;
    s->is_smoothed = (!is_new && s->is_smoothed) || (!is_keras && !is_mean_of_all(s, b));
    s->final_s = is_keras || (b->n == b->total && is_mean_of_all(s, b)) ? b->mean_s : (double)NAN;
    if (is_keras)
        return true;
    s->s = b->elapsed_s;
    if (b->n == b->total && s->taken_s < 1 && s->s < LEAST_LAST_S) { /* short: the mean is better than whole seconds */
        s->taken = 0;
        s->taken_s = 0;
    }
    return s->n <= s->taken || s->s - s->taken_s < LEAST_S || take(s, s->s - s->taken_s, now_ns, arena);
}

bool hu_bar_line(hu_bars_reader *r, hu_str line, uint64_t number, int64_t now_ns, hu_arena *arena)
{
    bar            b = {0};
    hu_bar_series *s;

    if (!memchr(line.p, '/', line.n) || (!read_tqdm(line, &b) && !read_rich(line, &b) && !read_keras(line, &b)))
        return true;
    r->is_any = true;
    s = series_of(r, &b);
    return !s || take_bar(s, &b, number, now_ns, arena);
}

bool hu_bars_end(hu_bars_reader *r, hu_arena *arena, const hu_bar_series **out)
{
    *out = NULL;
    for (size_t i = 0; i < r->n; i++) {
        if (!end_bar(&r->at[i], 0, arena))
            return false;
        if (r->at[i].steps.n && (!*out || r->at[i].sum_s > (*out)->sum_s))
            *out = &r->at[i];
    }
    return true;
}
