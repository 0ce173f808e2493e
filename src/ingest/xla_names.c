/* SPDX-License-Identifier: Apache-2.0
 * xla_names.c - names of XLA's profiler in the words of all other traces.
 *
 * An operation is called by its opcode, a point and a number ("all-reduce-start.3"), so its opcode is what stands before
 * the point.  A fusion says nothing by its name; its category does ("all-reduce fusion").
 */
#include "ingest/xla_names.h"

#include <stdio.h>
#include <string.h>

static size_t no_longer(int n)
{
    return n < 0 ? 0 : n < HU_XLA_NAME_BYTES ? (size_t)n : HU_XLA_NAME_BYTES - 1;
}

size_t hu_xla_python_name(hu_str name, char out[HU_XLA_NAME_BYTES])
{
    const char *space = name.n > 1 ? memchr(name.p, ' ', name.n) : NULL;
    hu_str      place, function;
    size_t      digits;

    if (name.n < 2 || name.p[0] != '$' || !space || space == name.p + 1)
        return 0;
    place = (hu_str){name.p + 1, (size_t)(space - name.p) - 1};
    function = (hu_str){space + 1, name.n - place.n - 2};
    for (digits = place.n; digits && place.p[digits - 1] >= '0' && place.p[digits - 1] <= '9';)
        digits--;
    if (digits > 1 && digits < place.n && place.p[digits - 1] == ':')
        return no_longer(snprintf(out, HU_XLA_NAME_BYTES, "%.*s(%.*s): %.*s", (int)(digits - 1), place.p,
                                  (int)(place.n - digits), place.p + digits, HU_FMT(function)));
    if (place.p[0] == '<')
        return no_longer(snprintf(out, HU_XLA_NAME_BYTES, "%.*s %.*s", HU_FMT(place), HU_FMT(function)));
    return no_longer(snprintf(out, HU_XLA_NAME_BYTES, "<built-in function %.*s>", HU_FMT(function)));
}

size_t hu_xla_step_name(hu_str name, int64_t number, char out[HU_XLA_NAME_BYTES])
{
    static const hu_str words[] = {{"step", 4}, {"iter", 4}, {"iteration", 9}, {"batch", 5}};
    const char         *word = " step";

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (name.n >= words[i].n && hu_str_starts_lower((hu_str){name.p + name.n - words[i].n, words[i].n}, words[i]))
            word = "";
    if (!name.n)
        word = "step";
    return no_longer(snprintf(out, HU_XLA_NAME_BYTES, "%.*s%s %lld", (int)(name.n < 256 ? name.n : 256),
                              name.n ? name.p : "", word, (long long)number));
}

hu_str hu_xla_copy_name(hu_str name)
{
    static const struct {
        hu_str begins, is;
    } names[] = {
        {{"MemcpyH2D", 9}, {"Memcpy HtoD", 11}}, {{"MemcpyD2H", 9}, {"Memcpy DtoH", 11}},
        {{"MemcpyD2D", 9}, {"Memcpy DtoD", 11}}, {{"MemcpyP2P", 9}, {"Memcpy PtoP", 11}},
        {{"MemcpyH2H", 9}, {"Memcpy HtoH", 11}}, {{"MemcpyOther", 11}, {"Memcpy Unknown", 14}},
        {{"Memcpy", 6}, {"Memcpy Unknown", 14}},
    };

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_starts(name, names[i].begins))
            return names[i].is;
    return HU_STR("");
}

static bool has_any(hu_str text, const hu_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_has(text, words[i]))
            return true;
    return false;
}

static bool starts_with_any(hu_str text, const hu_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_starts(text, words[i]))
            return true;
    return false;
}

/* Does a name or a category of an HLO operation say that it exchanges data between devices? */
static bool is_comm(hu_str op)
{
    static const hu_str anywhere[] = {{"all-reduce", 10},     {"all-gather", 10},         {"all-to-all", 10},
                                      {"reduce-scatter", 14}, {"collective-permute", 18}, {"collective-broadcast", 20}};
    static const hu_str first[] = {{"send.", 5}, {"recv.", 5}, {"send-done", 9}, {"recv-done", 9}};

    return has_any(op, anywhere, HU_COUNT(anywhere)) || starts_with_any(op, first, HU_COUNT(first)) ||
           hu_str_equal(op, HU_STR("send")) || hu_str_equal(op, HU_STR("recv"));
}

hu_kind hu_xla_op_kind(hu_str op, hu_str category, bool is_async)
{
    static const hu_str copies[] = {
        {"copy-start", 10}, {"copy-done", 9},      {"slice-start", 11},         {"slice-done", 10},        {"infeed", 6},
        {"outfeed", 7},     {"host transfer", 13}, {"dynamic-slice-start", 19}, {"dynamic-slice-done", 18}};

    if (is_comm(op) || is_comm(category))
        return HU_KIND_COLLECTIVE;
    if (is_async || starts_with_any(op, copies, HU_COUNT(copies)) || starts_with_any(category, copies, HU_COUNT(copies)))
        return HU_KIND_MEMCPY;
    return HU_KIND_KERNEL;
}

bool hu_xla_is_control(hu_str op, hu_str category)
{
    static const hu_str words[] = {{"while", 5}, {"conditional", 11}, {"call", 4}};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_equal(category, words[i]) ||
            (hu_str_starts(op, words[i]) && (op.n == words[i].n || op.p[words[i].n] == '.')))
            return true;
    return false;
}
