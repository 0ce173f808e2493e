/* SPDX-License-Identifier: Apache-2.0
 * perf_armed.c - see perf_armed.h. */
#include "record/perf_armed.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "record/perf_file.h"

enum {
    SWITCH_BYTES = sizeof(struct perf_event_header) + sizeof(hu_perf_trailer),
    EXIT_TID = sizeof(struct perf_event_header) + 2 * sizeof(uint32_t), /* behind pid and parent */
    NOBODY = 0,
};

typedef struct {
    uint32_t tid; /* NOBODY: a free place */
    uint32_t cpu;
    int64_t  time_ns;
    char     record[SWITCH_BYTES];
} last_switch;

struct hu_perf_armed {
    hu_arena *arena;
    hu_map    place_of; /* tid -> last; it may be another thread's meanwhile */
    HU_VEC(last_switch) last;
    HU_VEC(uint32_t) unused; /* places in it */
    HU_VEC(const last_switch *) taken;
    HU_VEC(char) bytes;
};

hu_perf_armed *hu_perf_armed_new(hu_arena *arena)
{
    hu_perf_armed *a = hu_arena_calloc(arena, 1, sizeof *a);

    if (!a || !hu_map_init(&a->place_of, arena, 64))
        return NULL;
    a->arena = arena;
    return a;
}

static last_switch *find(hu_perf_armed *a, uint32_t tid)
{
    const uint32_t at = hu_map_get(&a->place_of, tid);

    return at != HU_MAP_NONE && a->last.at[at].tid == tid ? &a->last.at[at] : NULL;
}

static void forget(hu_perf_armed *a, last_switch *l)
{
    l->tid = NOBODY;
    hu_vec_push(a->arena, &a->unused, (uint32_t)(l - a->last.at));
}

/* A place for a thread that has none; NULL: no memory. */
static last_switch *add(hu_perf_armed *a, uint32_t tid)
{
    uint32_t at, *place;

    if (!a->unused.n &&
        !(hu_vec_push(a->arena, &a->last, (last_switch){0}) && hu_vec_push(a->arena, &a->unused, (uint32_t)a->last.n - 1)))
        return NULL;
    place = hu_map_put(&a->place_of, tid);
    if (!place)
        return NULL;
    at = a->unused.at[--a->unused.n];
    *place = at;
    return &a->last.at[at];
}

static void remember(hu_perf_armed *a, uint32_t cpu, const char *record)
{
    hu_perf_trailer who;
    last_switch    *l;

    memcpy(&who, record + sizeof(struct perf_event_header), sizeof who);
    if (who.tid == NOBODY)
        return;
    l = find(a, who.tid);
    if (l && l->time_ns > who.time_ns)
        return; /* rings are read one after the other */
    if (!l)
        l = add(a, who.tid);
    if (!l)
        return;
    *l = (last_switch){.tid = who.tid, .cpu = cpu, .time_ns = who.time_ns};
    memcpy(l->record, record, sizeof l->record);
}

size_t hu_perf_armed_keep(hu_perf_armed *a, uint32_t cpu, char *bytes, size_t n, uint64_t *records)
{
    size_t to = 0;

    *records = 0;
    for (size_t at = 0; n - at >= sizeof(struct perf_event_header);) {
        struct perf_event_header h;

        memcpy(&h, bytes + at, sizeof h);
        if (h.size < sizeof h || h.size > n - at)
            break;
        if (h.type == PERF_RECORD_SWITCH && h.size == SWITCH_BYTES) {
            remember(a, cpu, bytes + at);
        } else if (h.type != PERF_RECORD_SAMPLE) {
            uint32_t tid = NOBODY;

            if (h.type == PERF_RECORD_EXIT && h.size >= EXIT_TID + sizeof tid)
                memcpy(&tid, bytes + at + EXIT_TID, sizeof tid);
            if (tid != NOBODY && find(a, tid))
                forget(a, find(a, tid));
            memmove(bytes + to, bytes + at, h.size);
            to += h.size;
            ++*records;
        }
        at += h.size;
    }
    return to;
}

static int by_time(const void *a, const void *b)
{
    const last_switch *const x = *(const last_switch *const *)a, *const y = *(const last_switch *const *)b;

    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

const char *hu_perf_armed_take(hu_perf_armed *a, uint32_t cpu, size_t *n, uint64_t *records)
{
    a->taken.n = a->bytes.n = 0;
    for (size_t i = 0; i < a->last.n; i++)
        if (a->last.at[i].tid != NOBODY && a->last.at[i].cpu == cpu)
            (void)hu_vec_push(a->arena, &a->taken, &a->last.at[i]);
    if (a->taken.n)
        qsort(a->taken.at, a->taken.n, sizeof *a->taken.at, by_time);
    if (!hu_vec_reserve(a->arena, &a->bytes, a->taken.n * SWITCH_BYTES))
        a->taken.n = 0;
    for (size_t i = 0; i < a->taken.n; i++) {
        memcpy(a->bytes.at + a->bytes.n, a->taken.at[i]->record, SWITCH_BYTES);
        a->bytes.n += SWITCH_BYTES;
        forget(a, (last_switch *)(uintptr_t)a->taken.at[i]);
    }
    *n = a->bytes.n;
    *records = a->taken.n;
    return a->bytes.at;
}
