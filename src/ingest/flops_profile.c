/* SPDX-License-Identifier: Apache-2.0
 * flops_profile.c - three parts between lines of dashes.
 *
 *     fwd latency:                                  130.11 ms              totals: a key, a number, a unit
 *     fwd latency - {'MoE': '125.85 ms', …}                                classes at one depth
 *     (ln1): LayerNorm(512 = 0% Params, 0 MACs = 0% MACs, 70.1 us = 0% latency, 18.7 GFLOPS, (256,), …)
 *     (moe): MoE(                                                     a module with others in it: numbers in the next line
 *
 * Containers (ModuleList) have no numbers of their own in the detailed part: what is in them counts for the module around
 * them.
 */
#include "ingest/flops_profile.h"

#include <ctype.h>
#include <math.h>

#include "base/number.h"

enum { MOST_MODULES = 20000, MOST_CLASSES = 1024, MOST_PATH = 200, MOST_KIND = 80 };

/* numbers */

/* "21.83 GMACs", "130.11 ms", "229.36 M", "0 s"; NaN where it is none. */
static double quantity(hu_str text)
{
    static const hu_str suffixes[] = {{"MACs", 4}, {"FLOPS", 5}, {"FLOPs", 5}, {"s", 1}};
    static const struct {
        char   letter;
        double factor;
    } prefixes[] = {{'K', 1e3},  {'k', 1e3},  {'M', 1e6},  {'G', 1e9}, {'T', 1e12},
                    {'P', 1e15}, {'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}};
    double value;
    size_t n = 0;
    hu_str unit;

    text = hu_str_trim(text);
    while (n < text.n && (isdigit((unsigned char)text.p[n]) || text.p[n] == '.'))
        n++;
    if (n == 0 || !isdigit((unsigned char)text.p[0]) || !hu_parse_f64((hu_str){text.p, n}, &value) || !(value < 1e30))
        return (double)NAN;
    unit = hu_str_trim((hu_str){text.p + n, text.n - n});
    for (size_t i = 0; i < HU_COUNT(suffixes); i++)
        if (hu_str_ends(unit, suffixes[i])) {
            unit.n -= suffixes[i].n;
            break;
        }
    if (unit.n == 0)
        return value;
    for (size_t i = 0; i < HU_COUNT(prefixes) && unit.n == 1; i++)
        if (unit.p[0] == prefixes[i].letter)
            return value * prefixes[i].factor;
    return (double)NAN;
}

/* What stands behind a text in the line; n is 0 where it is not there. */
static hu_str behind(hu_str line, const char *text)
{
    const size_t n = strlen(text);
    const char  *at = line.n >= n ? memmem(line.p, line.n, text, n) : NULL;

    return at ? (hu_str){at + n, (size_t)(line.p + line.n - at) - n} : (hu_str){line.p, 0};
}

/* What stands before a text. */
static hu_str until(hu_str line, const char *text)
{
    const hu_str rest = behind(line, text);
    const char  *at = rest.n || hu_str_has(line, hu_str_of(text)) ? memmem(line.p, line.n, text, strlen(text)) : NULL;

    return at ? (hu_str){line.p, (size_t)(at - line.p)} : line;
}

/* totals */

static void take_total(hu_str line, hu_log_flops *out)
{
    const char *colon = line.n ? memrchr(line.p, ':', line.n) : NULL;
    const struct {
        const char *key; /* in lower case, the beginning */
        double     *to;
        double      unit;
    } totals[] = {
        {"batch size per gpu", &out->batch, 1},
        {"params per gpu", &out->params, 1},
        {"params of model", &out->model_params, 1},
        {"fwd macs per gpu", &out->fwd_macs, 1},
        {"fwd flops per gpu", &out->fwd_flops, 1},
        {"fwd latency", &out->fwd_ns, 1e9},
        {"fwd flops per gpu = fwd flops per gpu / fwd latency", &out->fwd_rate, 1},
        {"bwd latency", &out->bwd_ns, 1e9},
        {"fwd+bwd flops per gpu", &out->train_rate, 1},
        {"step latency", &out->step_ns, 1e9},
        {"iter latency", &out->iter_ns, 1e9},
        {"flops per gpu", &out->iter_rate, 1},
        {"samples/second", &out->samples, 1},
    };
    const struct {
        const char *key;
        int64_t    *to;
    } counts[] = {{"world size", &out->world},
                  {"data parallel size", &out->data_parallel},
                  {"model parallel size", &out->model_parallel}};
    hu_str  key, value;
    double *to = NULL;
    double  unit = 1;

    if (!colon)
        return;
    key = hu_str_trim((hu_str){line.p, (size_t)(colon - line.p)});
    value = (hu_str){colon + 1, (size_t)(line.p + line.n - colon) - 1};
    for (size_t i = 0; i < HU_COUNT(totals); i++)
        if (hu_str_starts_lower(key, hu_str_of(totals[i].key))) {
            to = totals[i].to;
            unit = totals[i].unit;
        }
    if (to)
        *to = quantity(value) * unit;
    for (size_t i = 0; i < HU_COUNT(counts); i++)
        if (hu_str_starts_lower(key, hu_str_of(counts[i].key)) && !hu_parse_i64(hu_str_trim(value), counts[i].to))
            *counts[i].to = -1;
}

/* classes by depth */

static hu_log_module *class_at(hu_log_flops *out, int32_t depth, hu_str kind, hu_arena *arena, bool *has_memory)
{
    for (size_t i = out->by_depth.n; i-- > 0 && out->by_depth.at[i].depth == depth;)
        if (hu_str_equal(out->by_depth.at[i].kind, kind))
            return &out->by_depth.at[i];
    if (out->by_depth.n == MOST_CLASSES)
        return NULL;
    kind = hu_arena_copy(arena, (hu_str){kind.p, kind.n > MOST_KIND ? MOST_KIND : kind.n});
    *has_memory = kind.p && hu_vec_push(arena, &out->by_depth,
                                        ((hu_log_module){.name = HU_STR(""),
                                                         .kind = kind,
                                                         .depth = depth,
                                                         .params = (double)NAN,
                                                         .macs = (double)NAN,
                                                         .ns = (double)NAN,
                                                         .flops = (double)NAN}));
    return *has_memory ? &out->by_depth.at[out->by_depth.n - 1] : NULL;
}

/* The next text in quotes; n is 0 at the end. */
static hu_str next_quoted(hu_str *rest)
{
    const char *from = rest->n ? memchr(rest->p, '\'', rest->n) : NULL;
    const char *end = from && from + 1 < rest->p + rest->n ? memchr(from + 1, '\'', (size_t)(rest->p + rest->n - from) - 1)
                                                           : NULL;
    hu_str      text;

    if (!end)
        return (hu_str){rest->p, 0};
    text = (hu_str){from + 1, (size_t)(end - from) - 1};
    *rest = (hu_str){end + 1, (size_t)(rest->p + rest->n - end) - 1};
    return text;
}

static bool take_classes(hu_flops_reader *r, hu_str line, hu_arena *arena, hu_log_flops *out)
{
    const hu_str text = hu_str_trim(line);
    const bool   is_params = hu_str_starts_with(text, "params"), is_macs = hu_str_starts_with(text, "MACs");
    const bool   is_latency = hu_str_starts_with(text, "fwd latency");
    hu_str       rest = behind(text, "- {"), kind;
    bool         has_memory = true;

    if (hu_str_starts_with(text, "depth ")) {
        int64_t depth;

        r->depth = hu_parse_i64(until(behind(text, "depth "), ":"), &depth) && depth >= 0 && depth < 1000 ? (int32_t)depth
                                                                                                          : -1;
        return true;
    }
    if (r->depth < 0 || (!is_params && !is_macs && !is_latency))
        return true;
    while ((kind = next_quoted(&rest)).n) {
        const double value = quantity(next_quoted(&rest));
        hu_log_module *class = class_at(out, r->depth, kind, arena, &has_memory);

        if (!has_memory)
            return false;
        if (class && is_params)
            class->params = value;
        else if (class && is_macs)
            class->macs = value;
        else if (class)
            class->ns = value * 1e9;
    }
    return true;
}

/* modules */

/* "512 = 0% Params, 0 MACs = 0% MACs, 70.1 us = 0% latency, 18.7 GFLOPS, …" */
static bool read_numbers(hu_str text, hu_log_module *m)
{
    const hu_str macs = behind(text, " Params, "), latency = behind(macs, " MACs, "), flops = behind(latency, " latency, ");

    if (!macs.n || !latency.n || !flops.n)
        return false;
    m->params = quantity(until(text, " = "));
    m->macs = quantity(until(macs, " = "));
    m->ns = quantity(until(latency, " = ")) * 1e9;
    m->flops = quantity(until(until(flops, ","), ")"));
    return true;
}

/* The innermost open module that has numbers. */
static hu_log_module *around(const hu_flops_reader *r, hu_log_flops *out)
{
    for (size_t i = r->n_open; i-- > 0;)
        if (i < HU_FLOPS_NESTING && r->module[i] >= 0 && isfinite(out->modules.at[r->module[i]].ns))
            return &out->modules.at[r->module[i]];
    return NULL;
}

static hu_str path_of(const hu_flops_reader *r, const hu_log_flops *out, hu_str name, hu_arena *arena)
{
    char   path[MOST_PATH];
    size_t n = 0;

    if (r->n_open && r->n_open <= HU_FLOPS_NESTING && r->module[r->n_open - 1] >= 0) {
        const hu_str parent = out->modules.at[r->module[r->n_open - 1]].name;

        n = parent.n;
        memcpy(path, parent.p, n);
        if (n && n + 1 < sizeof path)
            path[n++] = '.';
    }
    name.n = name.n > sizeof path - n ? sizeof path - n : name.n;
    memcpy(path + n, name.p, name.n);
    return hu_arena_copy(arena, (hu_str){path, n + name.n});
}

/* "(moe): MoE(" and "MoEGPT(": a name, a class, and whether something is in it. */
static bool take_module(hu_flops_reader *r, hu_str text, hu_arena *arena, hu_log_flops *out)
{
    hu_log_module m = {.params = (double)NAN, .macs = (double)NAN, .ns = (double)NAN, .flops = (double)NAN};
    hu_str        name = HU_STR(""), rest = text;
    const bool    is_open = text.p[text.n - 1] == '(';
    int32_t       place = -1;

    if (text.p[0] == '(') {
        rest = behind(text, "): ");
        name = until((hu_str){text.p + 1, text.n - 1}, "): ");
    }
    m.kind = until(rest, "(");
    if (m.kind.n == 0 || m.kind.n > MOST_KIND || (!is_open && !read_numbers(behind(rest, "("), &m)))
        return true;
    if (out->modules.n < MOST_MODULES) {
        hu_log_module *outer = around(r, out);

        if (outer && m.ns > 0)
            outer->inner_ns += m.ns;
        m.depth = (int32_t)(r->n_open < 1000 ? r->n_open : 1000);
        m.kind = hu_arena_copy(arena, m.kind);
        m.name = path_of(r, out, name, arena);
        if (!m.kind.p || !m.name.p || !hu_vec_push(arena, &out->modules, m))
            return false;
        place = (int32_t)out->modules.n - 1;
    } else {
        out->n_more++;
    }
    if (is_open && r->n_open++ < HU_FLOPS_NESTING)
        r->module[r->n_open - 1] = place;
    return true;
}

static bool take_module_line(hu_flops_reader *r, hu_str line, hu_arena *arena, hu_log_flops *out)
{
    const hu_str  text = hu_str_trim(line);
    hu_log_module numbers;

    if (text.n == 0)
        return true;
    if (hu_str_equal(text, HU_STR(")"))) {
        r->n_open -= r->n_open > 0;
        return true;
    }
    if (isdigit((unsigned char)text.p[0])) {
        const int32_t place = r->n_open && r->n_open <= HU_FLOPS_NESTING ? r->module[r->n_open - 1] : -1;

        if (place >= 0 && isnan(out->modules.at[place].ns) && read_numbers(text, &numbers)) {
            hu_log_module *m = &out->modules.at[place], *outer = around(r, out);

            if (outer && numbers.ns > 0)
                outer->inner_ns += numbers.ns;
            m->params = numbers.params;
            m->macs = numbers.macs;
            m->ns = numbers.ns;
            m->flops = numbers.flops;
        }
        return true;
    }
    if (text.p[0] == '(' || (text.p[text.n - 1] == '(' && isalpha((unsigned char)text.p[0])))
        return take_module(r, text, arena, out);
    return true;
}

/* parts */

static void begin(hu_flops_reader *r, uint64_t number, hu_log_flops *out)
{
    const double none = (double)NAN;

    *r = (hu_flops_reader){.part = HU_FLOPS_TOTALS, .depth = -1};
    *out = (hu_log_flops){.is_there = true,
                          .step = -1,
                          .world = -1,
                          .data_parallel = -1,
                          .model_parallel = -1,
                          .batch = none,
                          .params = none,
                          .model_params = none,
                          .fwd_macs = none,
                          .fwd_flops = none,
                          .fwd_ns = none,
                          .bwd_ns = none,
                          .step_ns = none,
                          .iter_ns = none,
                          .fwd_rate = none,
                          .train_rate = none,
                          .iter_rate = none,
                          .samples = none,
                          .line = number};
}

static bool is_dashes(hu_str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] != '-' && line.p[i] != ' ')
            return false;
    return line.n > 20;
}

bool hu_flops_line(hu_flops_reader *r, hu_str line, uint64_t number, hu_arena *arena, hu_log_flops *out, bool *is_taken)
{
    const bool has_dashes = hu_str_has(line, HU_STR("----------"));

    *is_taken = true;
    if (has_dashes && hu_str_has(line, HU_STR(" DeepSpeed Flops Profiler -"))) {
        begin(r, number, out);
        return true;
    }
    *is_taken = r->part != HU_FLOPS_NONE;
    if (!*is_taken)
        return true;
    if (has_dashes && hu_str_has(line, HU_STR(" Aggregated Profile per GPU "))) {
        r->part = HU_FLOPS_DEPTHS;
        r->depth = -1;
    } else if (has_dashes && hu_str_has(line, HU_STR(" Detailed Profile per GPU "))) {
        r->part = HU_FLOPS_MODULES;
        r->n_open = 0;
    } else if (is_dashes(line)) {
        r->part = HU_FLOPS_NONE;
    } else if (r->part == HU_FLOPS_TOTALS) {
        const hu_str step = behind(line, "Profile Summary at step ");

        if (!step.n)
            take_total(line, out);
        else if (!hu_parse_i64(until(step, ":"), &out->step))
            out->step = -1;
    } else {
        return r->part == HU_FLOPS_DEPTHS ? take_classes(r, line, arena, out) : take_module_line(r, line, arena, out);
    }
    return true;
}
