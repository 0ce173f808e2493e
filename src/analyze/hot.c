/* SPDX-License-Identifier: Apache-2.0
 * hot.c - self: samples whose innermost function it is; total: samples whose chain holds it, once each.  What a module has
 * no symbols for is one row.
 *
 * Samples of one chain are counted first, so that a chain is walked once, however often it was met.  A sample inside of
 * the kernel belongs to the function that called it: "[kernel]" is a row of its own, and its caller has the total.
 */
#include "analyze/hot.h"

#include <stdlib.h>

#include "analyze/code_owner.h"
#include "analyze/join.h"
#include "analyze/main_thread.h"
#include "base/map.h"

typedef struct {
    int64_t samples, main_samples, kernel;
} chain;

typedef struct {
    const hu_ask  *ask;
    chain         *chains; /* by 1 + row of the stack */
    size_t         n_chains;
    hu_map         row_of;  /* function and module: place in list */
    const uint8_t *is_main; /* by track */
    uint32_t      *met;     /* by place in list: 1 + the chain that was there last */
    HU_VEC(hu_hot_function) list;
} work;

/* By track: is it the main thread of a process?  NULL without memory. */
static const uint8_t *find_mains(const hu_ask *ask)
{
    uint8_t         *is_main = hu_arena_calloc(ask->scratch, ask->n_tracks + 1, 1);
    hu_process_span *spans = NULL;
    size_t           n = 0, n_samples;

    hu_trace_cpu_samples(ask->trace, &n_samples);
    if (!n_samples)
        return is_main;
    if (!is_main || !hu_main_thread_processes(ask->trace, ask->scratch, &spans, &n))
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (spans[i].main < ask->n_tracks)
            is_main[spans[i].main] = 1;
    for (size_t t = 0; t < ask->n_tracks; t++) /* one that did nothing but compute, in a file without states */
        is_main[t] |= !ask->tracks[t].count && !ask->tracks[t].n_stretches && ask->tracks[t].pid == ask->tracks[t].tid &&
                      !ask->tracks[t].tid_is_text;
    return is_main;
}

bool hu_hot_has_symbol(hu_str name)
{
    return !(hu_str_starts(name, HU_STR("[")) && hu_str_has(name, HU_STR("]+0x")));
}

/* All places of a module that has no symbols for them are one row; empty without memory. */
static hu_str name_without_symbol(work *w, hu_str module)
{
    static const char words[] = " (no symbols)";
    char             *text;

    if (hu_code_is_jit(module))
        return HU_STR("compiled code (no perf-PID.map)");
    text = hu_arena_alloc(w->ask->arena, module.n + sizeof words);

    if (!text)
        return HU_STR("");
    memcpy(text, module.p, module.n);
    memcpy(text + module.n, words, sizeof words);
    return (hu_str){text, module.n + sizeof words - 1};
}

static hu_hot_function *row_of(work *w, const hu_cpu_stack *stack, uint32_t *at)
{
    const bool     is_named = hu_hot_has_symbol(hu_trace_text(w->ask->trace, stack->function));
    const uint32_t function = is_named ? stack->function : HU_NONE;
    uint32_t      *place = hu_map_put(&w->row_of, (uint64_t)function << 32 | stack->module);

    if (!place)
        return NULL;
    if (*place == HU_MAP_NONE) {
        const hu_str          module = hu_trace_text(w->ask->trace, stack->module);
        const hu_hot_function row = {.name = is_named ? hu_trace_text(w->ask->trace, stack->function)
                                                      : name_without_symbol(w, module),
                                     .module = module};

        if (!row.name.n && !is_named)
            return NULL;
        if (!hu_vec_push(w->ask->arena, &w->list, row))
            return NULL;
        *place = (uint32_t)w->list.n - 1;
    }
    *at = *place;
    return &w->list.at[*place];
}

/* What the trace holds, by chain; false without memory. */
static bool count(work *w, hu_hot *out)
{
    size_t               n;
    const hu_cpu_sample *samples = hu_trace_cpu_samples(w->ask->trace, &n);
    uint32_t             highest = 0;
    hu_map               processes;

    for (size_t i = 0; i < n; i++)
        highest = samples[i].stack > highest ? samples[i].stack : highest;
    w->n_chains = (size_t)highest + 1;
    w->chains = hu_arena_calloc(w->ask->scratch, w->n_chains, sizeof *w->chains);
    if (!w->chains || !hu_map_init(&processes, w->ask->scratch, 16))
        return false;
    for (size_t i = 0; i < n; i++) {
        const hu_cpu_sample *s = &samples[i];
        chain               *c = &w->chains[s->stack];
        uint32_t            *process;

        if (!hu_select_in(w->ask->scope, s->time_ns))
            continue;
        process = s->track < w->ask->n_tracks ? hu_map_put(&processes, (uint64_t)w->ask->tracks[s->track].pid) : NULL;
        if (process && *process == HU_MAP_NONE) {
            *process = 0;
            out->processes++;
        }
        c->samples++;
        c->main_samples += (s->track < w->ask->n_tracks && w->is_main[s->track]);
        c->kernel += s->is_kernel;
        out->samples++;
        out->main_samples += (s->track < w->ask->n_tracks && w->is_main[s->track]);
        out->kernel_samples += s->is_kernel;
    }
    return true;
}

static bool walk(work *w, uint32_t number)
{
    const chain *c = &w->chains[number];
    bool         is_innermost = true;

    for (uint32_t at = number; at;) {
        const hu_cpu_stack *stack = hu_trace_cpu_stack(w->ask->trace, at);
        uint32_t            place;
        hu_hot_function    *row = row_of(w, stack, &place);

        if (!row)
            return false;
        if (is_innermost) {
            row->self += c->samples;
            row->main_self += c->main_samples;
        }
        if (w->met[place] != number) { /* else it called itself */
            row->total += c->samples;
            row->kernel += c->kernel;
        }
        w->met[place] = number;
        is_innermost = false;
        at = stack->caller;
    }
    return true;
}

static int by_self(const void *left, const void *right)
{
    const hu_hot_function *a = left, *b = right;
    int                    c;

    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    c = hu_str_compare(a->name, b->name);
    return c ? c : hu_str_compare(a->module, b->module);
}

int hu_hot_measure(const hu_ask *ask, hu_hot *out, hu_error *err)
{
    hu_hot result = {.sample_ns = hu_trace_get_info(ask->trace)->cpu_sample_ns};
    work   w = {.ask = ask};
    size_t n_rows;

    w.is_main = find_mains(ask);
    if (!w.is_main)
        return hu_fail_memory(err);
    if (!count(&w, &result) || !hu_map_init(&w.row_of, ask->scratch, 64))
        return hu_fail_memory(err);
    n_rows = hu_trace_cpu_stack_count(ask->trace) + 1; /* no more functions than links of chains */
    w.met = hu_arena_calloc(ask->scratch, n_rows, sizeof *w.met);
    if (!w.met)
        return hu_fail_memory(err);
    for (size_t i = 1; i < w.n_chains; i++)
        if (w.chains[i].samples && !walk(&w, (uint32_t)i))
            return hu_fail_memory(err);
    if (w.list.n)
        qsort(w.list.at, w.list.n, sizeof *w.list.at, by_self);
    result.at = w.list.at;
    result.n = w.list.n;
    *out = result;
    return 0;
}

static void key(const void *row, hu_str *a, hu_str *b)
{
    *a = ((const hu_hot_function *)row)->name;
    *b = ((const hu_hot_function *)row)->module;
}

static void add(void *left, const void *right)
{
    hu_hot_function       *into = left;
    const hu_hot_function *from = right;

    into->self += from->self;
    into->total += from->total;
    into->main_self += from->main_self;
    into->kernel += from->kernel;
}

bool hu_hot_merge(hu_hot *into, const hu_hot *from, hu_arena *arena)
{
    static const hu_join_rule rule = {sizeof(hu_hot_function), key, add, by_self};

    into->samples += from->samples;
    into->main_samples += from->main_samples;
    into->kernel_samples += from->kernel_samples;
    into->processes += from->processes;
    into->sample_ns = into->sample_ns ? into->sample_ns : from->sample_ns;
    return hu_join_rows(&rule, (void **)&into->at, &into->n, from->at, from->n, arena);
}
