/* SPDX-License-Identifier: Apache-2.0
 * outside.c - lines of the attribute holdup.outsiders: pid, uid, CPU time, life, name, why, with tabs between them. */
#include "analyze/outside.h"

#include <stdlib.h>

#include "base/number.h"

enum { FIELDS = 6 };

static int by_cpu(const void *left, const void *right)
{
    const hu_outside_process *a = left, *b = right;

    return a->cpu_ns != b->cpu_ns ? (a->cpu_ns < b->cpu_ns) - (a->cpu_ns > b->cpu_ns)
                                  : (a->pid > b->pid) - (a->pid < b->pid);
}

static hu_str cut(hu_str *rest, char end)
{
    const char  *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    const hu_str part = {rest->p, at ? (size_t)(at - rest->p) : rest->n};

    *rest = at ? (hu_str){at + 1, rest->n - part.n - 1} : (hu_str){rest->p + rest->n, 0};
    return part;
}

static bool read_line(hu_str line, hu_outside_process *out)
{
    int64_t numbers[FIELDS - 2];
    hu_str  text = line;

    for (int i = 0; i < FIELDS - 2; i++)
        if (!hu_parse_i64(cut(&text, '\t'), &numbers[i]))
            return false;
    *out = (hu_outside_process){.pid = numbers[0],
                                .uid = numbers[1] < UINT32_MAX ? numbers[1] : -1,
                                .cpu_ns = numbers[2],
                                .life_ns = numbers[3],
                                .name = cut(&text, '\t')};
    out->why = text;
    return out->cpu_ns >= 0 && out->life_ns >= 0;
}

static void sort(hu_outside *o)
{
    if (o->n)
        qsort(o->at, o->n, sizeof *o->at, by_cpu);
    o->cpu_ns = 0;
    for (size_t i = 0; i < o->n; i++)
        o->cpu_ns += o->at[i].cpu_ns;
}

int hu_outside_measure(const hu_ask *ask, hu_outside *out, hu_error *err)
{
    HU_VEC(hu_outside_process) list = {0};

    for (hu_str text = hu_trace_get_info(ask->trace)->outsiders; text.n;) {
        hu_outside_process p;

        if (read_line(cut(&text, '\n'), &p) && !hu_vec_push(ask->arena, &list, p))
            return hu_fail_memory(err);
    }
    *out = (hu_outside){.at = list.at, .n = list.n};
    sort(out);
    return 0;
}

bool hu_outside_merge(hu_outside *into, const hu_outside *from, hu_arena *arena)
{
    HU_VEC(hu_outside_process) list = {.at = into->at, .n = into->n, .cap = into->n};

    for (size_t i = 0; i < from->n; i++)
        if (!hu_vec_push(arena, &list, from->at[i]))
            return false;
    into->at = list.at;
    into->n = list.n;
    sort(into);
    return true;
}
