/* SPDX-License-Identifier: Apache-2.0
 * ncu.c - which form a report of Nsight Compute has, and what its metrics, labels and units mean to us. */
#include "ingest/ncu.h"

#include <math.h>

#include "base/number.h"

#define RATIO       "smsp__average_warps_issue_stalled_"
#define PER_ISSUE   "_per_issue_active.ratio"
#define SAMPLES     "smsp__pcsamp_warps_issue_stalled_"
#define NAME_LIST   HU_STR("ID,Process ID,")
#define QUOTED_LIST HU_STR("\"ID\",\"Process ID\",")

static const struct {
    const char *metric, *title, *label;
} counters[] = {
#define C(id, metric, title, label) {metric, title, label},
    HU_COUNTERS(C)
#undef C
};

static const struct {
    const char *name, *label;
} stalls[] = {
#define S(id, name, label) {name, label},
    HU_STALLS(S)
#undef S
};

/* value[], stall[] and sample[] of a hu_counted, one behind the other. */
enum { STALLS = HU_COUNTER_COUNT, SAMPLED = STALLS + HU_STALL_COUNT };

/* Does a line of the head begin so?  A program that was profiled may have printed before it.  Nearly all files are something
   else and have many lines, so the words are looked for first. */
static bool has_line(hu_str head, hu_str begins)
{
    if (!hu_str_has(head, begins))
        return false;
    for (const char *p = head.p, *end = head.p + head.n; p && p < end;) {
        if (hu_str_starts((hu_str){p, (size_t)(end - p)}, begins))
            return true;
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    return false;
}

static bool is_csv(hu_str head)
{
    return has_line(head, QUOTED_LIST) || has_line(head, NAME_LIST);
}

/* "[9267] a.out@127.0.0.1" and a launch: what `ncu --import` prints, without a word of who prints it. */
static bool is_imported_text(hu_str head)
{
    const char *const end = head.p + head.n, *line = memchr(head.p, '\n', head.n), *next;
    size_t            digits = 1;

    while (digits < head.n && head.p[digits] >= '0' && head.p[digits] <= '9')
        digits++;
    if (!line || head.p[0] != '[' || digits == 1 ||
        !hu_str_starts((hu_str){head.p + digits, head.n - digits}, HU_STR("] ")) ||
        !memchr(head.p, '@', (size_t)(line - head.p)))
        return false;
    next = memchr(line + 1, '\n', (size_t)(end - line - 1));
    return next && hu_str_has((hu_str){line, (size_t)(next - line)}, HU_STR(", Context ")) &&
           hu_str_has((hu_str){line, (size_t)(next - line)}, HU_STR(", CC "));
}

bool hu_ncu_is_report(hu_str head)
{
    return hu_str_starts(head, (hu_str){"NVR\0", 4}) || has_line(head, HU_STR("==PROF==")) || is_csv(head) ||
           is_imported_text(head);
}

int hu_ncu_read(hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err)
{
    hu_str    file;
    const int rc = hu_input_read_whole(in, arena, &file, err);

    if (rc < 0)
        return rc;
    if (hu_str_starts(file, (hu_str){"NVR\0", 4}))
        return hu_ncu_read_binary(file, in, arena, out, err);
    return is_csv(file) ? hu_ncu_read_csv(file, in, arena, out, err) : hu_ncu_read_text(file, in, arena, out, err);
}

static int stall_place(hu_str name)
{
    for (int i = 0; i < HU_STALL_COUNT; i++)
        if (hu_str_equal(name, hu_str_of(stalls[i].name)))
            return i;
    /* The sampler writes it in the plural. */
    return hu_str_equal(name, HU_STR("no_instructions")) ? HU_STALL_NO_INSTRUCTION : -1;
}

static hu_str inside(hu_str s, hu_str before, hu_str behind)
{
    return (hu_str){s.p + before.n, s.n - before.n - behind.n};
}

int hu_ncu_place(hu_str metric)
{
    const hu_str ratio = HU_STR(RATIO), per_issue = HU_STR(PER_ISSUE), samples = HU_STR(SAMPLES), none = {"", 0};
    const hu_str sub = HU_STR("smsp__sass_"), sm = HU_STR("sm__sass_");
    int          place;

    if (hu_str_starts(metric, ratio) && hu_str_ends(metric, per_issue) && metric.n > ratio.n + per_issue.n) {
        place = stall_place(inside(metric, ratio, per_issue));
        return place < 0 ? -1 : STALLS + place;
    }
    if (hu_str_starts(metric, samples)) {
        place = stall_place(inside(metric, samples, none));
        return place < 0 ? -1 : SAMPLED + place;
    }
    for (int i = 0; i < HU_COUNTER_COUNT; i++) {
        const hu_str name = hu_str_of(counters[i].metric);

        if (hu_str_equal(metric, name) || (hu_str_starts(metric, sub) && hu_str_starts(name, sm) &&
                                           hu_str_equal(inside(metric, sub, none), inside(name, sm, none))))
            return i;
    }
    return -1;
}

int hu_ncu_label_place(hu_str title, hu_str label)
{
    if (hu_str_equal(title, HU_STR("Command line profiler metrics")))
        return hu_ncu_place(label);
    for (int i = 0; i < HU_COUNTER_COUNT; i++)
        if (counters[i].label && hu_str_equal(label, hu_str_of(counters[i].label)) &&
            hu_str_equal(title, hu_str_of(counters[i].title)))
            return i;
    for (int i = 0; i < HU_STALL_COUNT && hu_str_equal(title, HU_STR(HU_TITLE_STALLS)); i++)
        if (hu_str_equal(label, hu_str_of(stalls[i].label)))
            return STALLS + i;
    return -1;
}

/* 10^3 for "K" before one of the words that units are made of, 1 for such a word; 0: unknown. */
static double unit_part(hu_str part)
{
    static const char *const words[] = {"second", "s",        "byte",   "hz", "cycle",   "inst",  "block",
                                        "warp",   "register", "thread", "SM", "request", "sector"};
    static const struct {
        char   letter;
        double factor;
    } prefixes[] = {{'n', 1e-9}, {'u', 1e-6}, {'m', 1e-3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};

    for (size_t i = 0; i < HU_COUNT(words); i++) {
        const hu_str word = hu_str_of(words[i]);

        if (hu_str_equal(part, word))
            return 1;
        if (part.n != word.n + 1 || !hu_str_ends(part, word))
            continue;
        for (size_t k = 0; k < HU_COUNT(prefixes); k++)
            if (part.p[0] == prefixes[k].letter)
                return prefixes[k].factor;
    }
    return 0;
}

/* What a number of that unit is multiplied by; 0: unknown. */
static double unit_factor(hu_str unit)
{
    const char *slash = unit.n ? memchr(unit.p, '/', unit.n) : NULL;
    double      below;

    if (unit.n == 0 || hu_str_equal(unit, HU_STR("%")))
        return 1;
    if (!slash)
        return unit_part(unit);
    below = unit_part((hu_str){slash + 1, (size_t)(unit.p + unit.n - slash) - 1});
    return below > 0 ? unit_part((hu_str){unit.p, (size_t)(slash - unit.p)}) / below : 0;
}

/* "2,093,187" without its commas into `plain`; 0 where a comma is no group of three, as decimal ones of some languages. */
static size_t plain_number(hu_str number, char plain[HU_NUMBER_BYTES])
{
    size_t n = 0, digits = 3;
    bool   is_grouped = false, has_point = false;

    for (size_t i = 0; i < number.n; i++) {
        const char c = number.p[i];

        if ((c == ',' || c == '.') && is_grouped && digits != 3)
            return 0;
        if (c == ',' && has_point)
            return 0;
        if (c == ',') {
            is_grouped = true;
            digits = 0;
            continue;
        }
        has_point |= c == '.';
        digits += !has_point;
        if (n == HU_NUMBER_BYTES)
            return 0;
        plain[n++] = c;
    }
    return is_grouped && digits != 3 ? 0 : n;
}

void hu_ncu_store(hu_counted *k, int place, double value)
{
    if (place < 0 || !isfinite(value))
        return;
    if (place < STALLS)
        k->value[place] = value;
    else if (place < SAMPLED)
        k->stall[place - STALLS] = value;
    else
        k->sample[place - SAMPLED] = value;
}

void hu_ncu_store_text(hu_counted *k, int place, hu_str number, hu_str unit)
{
    const double factor = place == HU_COUNTER_DURATION_NS ? unit_factor(unit) * 1e9 : unit_factor(unit);
    char         plain[HU_NUMBER_BYTES];
    const size_t n = plain_number(number, plain);
    double       value;

    if (n && factor > 0 && (place != HU_COUNTER_DURATION_NS || unit.n) && hu_parse_f64((hu_str){plain, n}, &value))
        hu_ncu_store(k, place, value * factor);
}

bool hu_ncu_triple(hu_str text, uint64_t out[3])
{
    size_t at = 0;

    for (int i = 0; i < 3; i++) {
        uint64_t value = 0;
        size_t   digits = 0;

        while (at < text.n && (text.p[at] == '(' || text.p[at] == ' ' || text.p[at] == ','))
            at++;
        for (; at < text.n && text.p[at] >= '0' && text.p[at] <= '9' && digits < 18; at++, digits++)
            value = value * 10 + (uint64_t)(text.p[at] - '0');
        if (digits == 0)
            return false;
        out[i] = value;
    }
    return true;
}

hu_counted *hu_ncu_add(hu_counters *out, hu_arena *arena, const hu_limits *limits, hu_error *err)
{
    hu_counted *k;

    if (out->kernels.n >= (uint64_t)limits->events) {
        hu_fail(err, HU_ELIMIT, NULL, HU_NO_OFFSET, "has more than %lld launches; raise --limit events",
                (long long)limits->events);
        return NULL;
    }
    if (!hu_vec_reserve(arena, &out->kernels, 1)) {
        hu_fail_memory(err);
        return NULL;
    }
    k = &out->kernels.at[out->kernels.n++];
    *k = (hu_counted){.name = HU_STR(""), .device = HU_STR(""), .cc = HU_STR("")};
    for (int i = 0; i < HU_COUNTER_COUNT; i++)
        k->value[i] = (double)NAN;
    for (int i = 0; i < HU_STALL_COUNT; i++)
        k->stall[i] = k->sample[i] = (double)NAN;
    return k;
}
