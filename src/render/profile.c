/* SPDX-License-Identifier: Apache-2.0
 * profile.c - functions by their own share and with what they call; of what clock the sums are, in words. */
#include "render/profile.h"

#include <stdlib.h>
#include <string.h>

#include "render/left.h"

enum { LABEL = 8, ROWS = 10, LEAST_NAME = 24, NAME = 60, LONG_NAME = 200 };

static const char why_not[] =
    "Cannot tell from sums of stacks: they do not say when anything ran, so steps, work of the GPU, overlap, and what "
    "waited for what are unknown.";

static const char next[] =
    "holdup run -- COMMAND records the same program with times, waits and the GPU; of PyTorch, torch.profiler with "
    "with_stack=True has Python's functions beside them";

static const struct {
    const char *word, *words;
} clocks[] = {
    [HU_PROFILE_UNSAID] = {NULL, "The file does not say by which clock its stacks were taken: whether a function that waits "
                                 "counts is unknown."},
    [HU_PROFILE_CPU] = {"cpu", "Only time on a CPU counts: what waits is not in it, however long."},
    [HU_PROFILE_WALL] = {"wall", "Waits count: a function may have run, or slept."},
    [HU_PROFILE_WAITING] = {"blocked", "Only waits count: a function's time is how long it was blocked, of all threads."},
    [HU_PROFILE_BUSY] = {"busy", "py-spy counts a thread that looks idle only with --idle, and one without the GIL not with "
                                 "--gil; the file does not say which was given, so whether waits count is unknown."},
    [HU_PROFILE_MEMORY] = {"memory", "These are bytes, and no times."},
    [HU_PROFILE_EVENTS] = {"events", "These are counts of events, and no times."},
};

static hu_said say(const hu_profile_sums *s, double value)
{
    hu_said said;

    if (s->unit == HU_PROFILE_TIME)
        return hu_say_time(value);
    if (s->unit == HU_PROFILE_BYTES)
        hu_units_bytes(said.t, value);
    else
        hu_units_count(said.t, (int64_t)value);
    return said;
}

/* "samples", "contentions"; of what the others' counts are, nothing says. */
static hu_str counted(const hu_profile_sums *s)
{
    const bool is_pprof = hu_str_equal(hu_str_of(s->format), HU_STR("pprof"));

    return s->unit != HU_PROFILE_COUNT ? HU_STR("") : is_pprof && s->measure.n ? s->measure : HU_STR("counts");
}

static double pct(const hu_profile_sums *s, double value)
{
    return 100 * value / s->whole;
}

/* Names steer no terminal. */
static hu_str clean(hu_str name, size_t width, hu_arena *scratch)
{
    hu_out *out = hu_out_open_memory(scratch);
    hu_str  text = HU_STR("");

    if (out)
        hu_units_clip(out, name, width);
    return out && hu_out_take(out, &text, NULL) == 0 ? text : HU_STR("");
}

static hu_str doubts(const hu_profile_sums *s, hu_arena *scratch)
{
    hu_out *out = hu_out_open_memory(scratch);
    hu_str  text = HU_STR("");

    if (!out)
        return text;
    hu_out_text(out, clocks[s->clock].words);
    if (hu_str_equal(counted(s), HU_STR("counts")))
        hu_out_text(out, " Nor does it say what its counts are: samples, or some unit of time.");
    if (s->n_threads > 1)
        hu_out_printf(out, " %s threads are added up: the sum is not time that passed.", hu_say_count(s->n_threads).t);
    if (s->n_bare)
        hu_out_printf(out, " %s of %s stacks have no function.", hu_say_count(s->n_bare).t, hu_say_count(s->n_stacks).t);
    if (s->n_malformed)
        hu_out_printf(out, " %s line%s or sample%s could not be read and %s left out.", hu_say_count(s->n_malformed).t,
                      hu_plural(s->n_malformed), hu_plural(s->n_malformed), s->n_malformed == 1 ? "is" : "are");
    if (s->other.n)
        hu_out_printf(out, " The file has other quantities, too, the first of them %.*s: left out.",
                      HU_FMT(clean(s->other, NAME, scratch)));
    return hu_out_take(out, &text, NULL) < 0 ? HU_STR("") : text;
}

static void write_wrapped(hu_out *out, const char *label, hu_str words, size_t width)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, words, LABEL, LABEL, width);
    hu_out_text(out, "\n");
}

static void write_head(const hu_profile_file *f, hu_arena *scratch, hu_out *out)
{
    const hu_profile_sums *s = &f->sums;
    const hu_str           what = clean(counted(s), NAME, scratch);

    hu_units_clip_file(out, hu_str_base_name(hu_str_of(f->path)), NAME);
    hu_out_printf(out, " \xc2\xb7 %s%s", s->format, s->tool.n ? " profile" : "");
    if (s->tool.n)
        hu_out_printf(out, " of %.*s", HU_FMT(clean(s->tool, NAME, scratch)));
    hu_out_printf(out, " \xc2\xb7 %s%s%.*s", say(s, s->whole).t, what.n ? " " : "", HU_FMT(what));
    if (s->clock == HU_PROFILE_CPU || s->clock == HU_PROFILE_WALL)
        hu_out_printf(out, " of %s time", s->clock == HU_PROFILE_CPU ? "CPU" : "wall");
    if (s->n_threads > 1)
        hu_out_printf(out, " of %s threads", hu_say_count(s->n_threads).t);
    if (s->duration_ns > 0)
        hu_out_printf(out, " in %s", hu_say_time(s->duration_ns).t);
    hu_out_text(out, "\n\n");
}

/* "inner (train.py) itself takes 71 % of CPU time (0.89 of 1.26 s), more than any other function." */
static void write_first(const hu_profile_sums *s, size_t width, hu_arena *scratch, hu_out *out)
{
    const hu_profile_function *f = &s->functions.at[0];
    hu_out                    *line = hu_out_open_memory(scratch);
    hu_str                     words = counted(s), text;

    if (s->clock == HU_PROFILE_EVENTS || hu_str_equal(words, HU_STR("counts")))
        words = HU_STR("all counts");
    else if (s->unit != HU_PROFILE_COUNT)
        words = s->clock == HU_PROFILE_CPU       ? HU_STR("CPU time")
                : s->clock == HU_PROFILE_WAITING ? HU_STR("the time that threads were blocked")
                : s->clock == HU_PROFILE_MEMORY  ? HU_STR("the bytes")
                                                 : HU_STR("the time");
    if (!line)
        return;
    hu_out_printf(line, "%.*s itself takes %s of %.*s (%s of %s)%s", HU_FMT(clean(f->name, LONG_NAME, scratch)),
                  hu_say_pct(pct(s, f->self)).t, HU_FMT(clean(words, NAME, scratch)), say(s, f->self).t, say(s, s->whole).t,
                  s->functions.n > 1 && s->functions.at[1].self < f->self ? ", more than any other function." : ".");
    if (hu_out_take(line, &text, NULL) == 0)
        hu_units_wrap(out, text, 0, 0, width);
    hu_out_text(out, "\n\n");
}

static void write_row(const hu_profile_sums *s, const hu_profile_function *f, bool is_total, size_t width, hu_out *out)
{
    const double one = is_total ? f->total : f->self;
    const size_t used = LABEL + 6 + 2 + 12 + 2;

    hu_out_printf(out, "%*s%6s  ", LABEL, "", hu_say_pct(pct(s, one)).t);
    hu_units_right(out, say(s, one).t, 12);
    hu_out_text(out, "  ");
    hu_units_clip(out, f->name, width > used + LEAST_NAME ? width - used : LEAST_NAME);
    hu_out_text(out, "\n");
}

static int by_total(const void *a, const void *b)
{
    const hu_profile_function *x = *(const hu_profile_function *const *)a, *y = *(const hu_profile_function *const *)b;

    return x->total < y->total ? 1 : x->total > y->total ? -1 : x < y ? -1 : x > y;
}

/* Those that call others: what only runs itself stands in the first list. */
static void write_callers(const hu_profile_sums *s, size_t most, size_t width, hu_arena *scratch, hu_out *out)
{
    const hu_profile_function **order = hu_arena_calloc(scratch, s->functions.n + 1, sizeof *order);
    size_t                      n = 0;

    for (size_t i = 0; order && i < s->functions.n; i++)
        if (s->functions.at[i].total > s->functions.at[i].self)
            order[n++] = &s->functions.at[i];
    if (n == 0)
        return;
    qsort(order, n, sizeof *order, by_total);
    hu_out_printf(out, "%*sfunctions with what they call, which lie inside of each other\n", LABEL, "");
    for (size_t i = 0; i < n && i < most; i++)
        write_row(s, order[i], true, width, out);
    if (n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", n - most);
}

static void write_one(const hu_profile_file *f, size_t top, size_t width, hu_arena *scratch, hu_out *out)
{
    const hu_profile_sums *s = &f->sums;
    const size_t           most = top ? top : ROWS;
    size_t                 n = 0;

    while (n < s->functions.n && s->functions.at[n].self > 0)
        n++;
    write_head(f, scratch, out);
    write_first(s, width, scratch, out);
    hu_out_printf(out, "%-*s%s\n", LABEL, "WHAT", "functions themselves, without what they call");
    for (size_t i = 0; i < n && i < most; i++)
        write_row(s, &s->functions.at[i], false, width, out);
    if (n > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", n - most);
    write_callers(s, most, width, scratch, out);
    hu_out_text(out, "\n");
    write_wrapped(out, "WHY", hu_str_of(why_not), width);
    write_wrapped(out, "but", doubts(s, scratch), width);
    write_wrapped(out, "next", hu_str_of(next), width);
}

static void write_rest(const hu_profile_report *r, hu_arena *scratch, hu_out *out)
{
    char unread[HU_UNREAD_TEXT], left[HU_LEFT_TEXT];

    hu_unread_say(r->unread, r->n, unread, sizeof unread);
    hu_left_say(r->left, left);
    if (unread[0])
        write_wrapped(out, "UNREAD", clean(hu_str_of(unread), strlen(unread), scratch), r->width);
    if (left[0])
        write_wrapped(out, "LEFT", clean(hu_str_of(left), strlen(left), scratch), r->width);
}

void hu_profile_text(const hu_profile_report *r, hu_arena *scratch, hu_out *out)
{
    for (size_t i = 0; i < r->n; i++) {
        hu_out_text(out, i ? "\n" : "");
        write_one(&r->files[i], r->top, r->width, scratch, out);
    }
    write_rest(r, scratch, out);
}

static void put(hu_json_out *j, const char *key, const hu_profile_sums *s, double value)
{
    if (s->unit == HU_PROFILE_TIME)
        hu_json_ns(j, key, value);
    else
        hu_json_int(j, key, (int64_t)value);
}

static void put_text(hu_json_out *j, const char *key, hu_str text)
{
    if (text.n)
        hu_json_str(j, key, text);
    else
        hu_json_null(j, key);
}

static void put_file(hu_json_out *j, const hu_profile_file *f, hu_arena *scratch)
{
    static const char *const units[] = {"count", "time_ns", "bytes"};
    const hu_profile_sums   *s = &f->sums;

    hu_json_open(j, NULL, '{');
    hu_json_str(j, "file", hu_str_of(f->path));
    hu_json_str(j, "format", hu_str_of(s->format));
    put_text(j, "tool", s->tool);
    put_text(j, "measure", s->measure);
    put_text(j, "left_out", s->other);
    hu_json_str(j, "unit", hu_str_of(units[s->unit]));
    put_text(j, "clock", hu_str_of(clocks[s->clock].word));
    put(j, "whole", s, s->whole);
    hu_json_int(j, "stacks", s->n_stacks);
    hu_json_int(j, "stacks_without_function", s->n_bare);
    hu_json_int(j, "malformed", s->n_malformed);
    if (s->n_threads)
        hu_json_int(j, "threads", s->n_threads);
    else
        hu_json_null(j, "threads");
    hu_json_open(j, "functions", '[');
    for (size_t i = 0; i < s->functions.n; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "name", s->functions.at[i].name);
        put(j, "self", s, s->functions.at[i].self);
        put(j, "total", s, s->functions.at[i].total);
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_str(j, "doubts", doubts(s, scratch));
    hu_json_close(j, '}');
}

void hu_profile_json(const hu_profile_report *r, hu_arena *scratch, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "kind", HU_STR("stacks"));
    hu_json_open(&j, "files", '[');
    for (size_t i = 0; i < r->n; i++)
        put_file(&j, &r->files[i], scratch);
    hu_json_close(&j, ']');
    hu_json_unread(&j, "unread", r->unread);
    hu_json_null(&j, "why");
    hu_json_str(&j, "why_not", hu_str_of(why_not));
    hu_json_str(&j, "next", hu_str_of(next));
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
