/* SPDX-License-Identifier: Apache-2.0
 * perf_packets.c - GenericKernelTaskStateEvent, GenericKernelProcessTree and PerfSample packets, in the order of time.
 *
 * Field numbers are those of google/perfetto's .proto files (trace/generic_kernel/generic_task.proto,
 * trace/profiling/profile_common.proto and profile_packet.proto).  Traps:
 *  - two states RUNNING of one thread in a row are an error of the file; so a state is written when it is another one;
 *  - frames of a Callstack begin with the outermost;
 *  - interned data is declared anew every CLEAR_BYTES, so that a file that was cut or split stays readable.
 */
#include "record/perf_packets.h"
#include "protocol/perfetto.h"

#include <stdio.h>

enum { CLEAR_BYTES = 8 << 20, DEEPEST = 1025, NAME_MOST = 4200 };

typedef struct {
    const hu_perf_files           *f;
    hu_symbols                    *symbols;
    const hu_perf_packets_options *o;
    hu_arena                      *arena; /* scratch */
    hu_pbw                        *w;
    hu_out                        *out;
    hu_intern                      names;   /* of functions */
    uint32_t                      *name_of; /* frame: its function + 1; 0: not looked up */
    uint32_t                      *frame_stamp, *stack_stamp, *module_stamp, *path_stamp;
    HU_VEC(uint32_t) name_stamp;
    uint8_t *is_wanted;    /* of a thread */
    uint8_t *early_state;  /* of a thread before the first time that is asked for: 1 + the state; 0: none */
    uint8_t *thread_state; /* 0: nothing was written of it; else 1 + the last state, or HAS_TREE */
    uint32_t generation;
    uint64_t bytes; /* since the last clearing */
} writer;

enum { HAS_TREE = 100 };

/* ---- names ------------------------------------------------------------------------------------------------------- */

static hu_str base_name(hu_str path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/' && i + 1 < path.n)
            return (hu_str){path.p + i + 1, path.n - i - 1};
    return path;
}

/* The name of a frame's function as an id of names; UINT32_MAX without memory. */
static uint32_t name_of(writer *x, uint32_t frame)
{
    const hu_perf_frame  *f = &x->f->frames.at[frame];
    const hu_perf_module *m = &x->f->modules.at[f->module];
    const hu_str          path = hu_perf_text(x->f, m->path);
    hu_str                name = HU_STR("");
    char                  text[NAME_MOST];
    uint32_t              id;

    if (x->name_of[frame])
        return x->name_of[frame] - 1;
    if (x->symbols && m->kind == HU_MODULE_FILE)
        name = hu_symbols_find(x->symbols, path, m->build_id, m->build_id_bytes, f->at);
    else if (x->symbols && m->kind == HU_MODULE_JIT)
        name = hu_symbols_find_jit(x->symbols, m->pid, f->at);
    else if (m->kind == HU_MODULE_KERNEL || m->kind == HU_MODULE_UNKNOWN)
        name = path;
    if (name.n == 0) {
        const hu_str base = base_name(path);
        const bool   is_bracketed = base.n && base.p[0] == '[';
        const int    n = snprintf(text, sizeof text, is_bracketed ? "%.*s+0x%llx" : "[%.*s]+0x%llx", HU_FMT(base),
                                  (unsigned long long)f->at);

        name = (hu_str){text, n > 0 ? (size_t)n : 0};
    }
    id = hu_intern_add(&x->names, name);
    while (id != UINT32_MAX && x->name_stamp.n <= id)
        if (!hu_vec_push(x->arena, &x->name_stamp, 0))
            return UINT32_MAX;
    x->name_of[frame] = id + 1;
    return id;
}

/* ---- interned data ----------------------------------------------------------------------------------------------- */

/* Is it new to the reader?  It is not from now on. */
static bool is_new(const writer *x, uint32_t *stamp)
{
    const bool now = *stamp != x->generation;

    *stamp = x->generation;
    return now;
}

static void put_text(writer *x, uint32_t field, uint64_t iid, hu_str text)
{
    const size_t open = hu_pb_write_open(x->w, field);

    hu_pb_write_uint(x->w, HU_PT_ENTRY_IID, iid);
    hu_pb_write_str(x->w, HU_PT_ENTRY_TEXT, text);
    hu_pb_write_close(x->w, open);
}

static void put_module(writer *x, uint32_t at)
{
    static const char     digits[] = "0123456789abcdef";
    const hu_perf_module *m = &x->f->modules.at[at];
    const uint64_t        iid = (uint64_t)at + 1;
    char                  hex[2 * sizeof m->build_id];
    size_t                open;

    if (!is_new(x, &x->module_stamp[at]))
        return;
    if (is_new(x, &x->path_stamp[m->path]))
        put_text(x, HU_PT_INTERNED_PATH, (uint64_t)m->path + 1, hu_perf_text(x->f, m->path));
    for (size_t i = 0; i < m->build_id_bytes; i++) {
        hex[2 * i] = digits[m->build_id[i] >> 4];
        hex[2 * i + 1] = digits[m->build_id[i] & 15];
    }
    if (m->build_id_bytes)
        put_text(x, HU_PT_INTERNED_BUILD_ID, iid, (hu_str){hex, 2u * m->build_id_bytes});
    open = hu_pb_write_open(x->w, HU_PT_INTERNED_MAPPING);
    hu_pb_write_uint(x->w, HU_PT_ENTRY_IID, iid);
    if (m->build_id_bytes)
        hu_pb_write_uint(x->w, HU_PT_MAPPING_BUILD_ID, iid);
    hu_pb_write_uint(x->w, HU_PT_MAPPING_START, m->start);
    hu_pb_write_uint(x->w, HU_PT_MAPPING_END, m->end);
    hu_pb_write_uint(x->w, HU_PT_MAPPING_PATH, (uint64_t)m->path + 1);
    hu_pb_write_uint(x->w, HU_PT_MAPPING_OFFSET, m->offset);
    hu_pb_write_close(x->w, open);
}

/* False without memory. */
static bool put_frame(writer *x, uint32_t frame)
{
    const hu_perf_frame *f = &x->f->frames.at[frame];
    uint32_t             name;
    size_t               open;

    if (!is_new(x, &x->frame_stamp[frame]))
        return true;
    name = name_of(x, frame);
    if (name == UINT32_MAX)
        return false;
    if (is_new(x, &x->name_stamp.at[name]))
        put_text(x, HU_PT_INTERNED_FUNCTION, (uint64_t)name + 1, hu_intern_get(&x->names, name));
    put_module(x, f->module);
    open = hu_pb_write_open(x->w, HU_PT_INTERNED_FRAME);
    hu_pb_write_uint(x->w, HU_PT_ENTRY_IID, (uint64_t)frame + 1);
    hu_pb_write_uint(x->w, HU_PT_FRAME_FUNCTION, (uint64_t)name + 1);
    hu_pb_write_uint(x->w, HU_PT_FRAME_MAPPING, (uint64_t)f->module + 1);
    hu_pb_write_uint(x->w, HU_PT_FRAME_REL_PC, f->at);
    hu_pb_write_close(x->w, open);
    return true;
}

static bool put_stack(writer *x, uint32_t stack)
{
    uint32_t frames[DEEPEST];
    size_t   n = 0, open;

    if (stack == 0 || !is_new(x, &x->stack_stamp[stack]))
        return true;
    for (uint32_t at = stack; at && n < DEEPEST; at = x->f->stacks.at[at].caller)
        frames[n++] = x->f->stacks.at[at].frame;
    open = hu_pb_write_open(x->w, HU_PT_PACKET_INTERNED);
    for (size_t i = n; i-- > 0;)
        if (!put_frame(x, frames[i]))
            return false;
    {
        const size_t callstack = hu_pb_write_open(x->w, HU_PT_INTERNED_STACK);

        hu_pb_write_uint(x->w, HU_PT_ENTRY_IID, stack);
        for (size_t i = n; i-- > 0;)
            hu_pb_write_uint(x->w, HU_PT_STACK_FRAMES, (uint64_t)frames[i] + 1);
        hu_pb_write_close(x->w, callstack);
    }
    hu_pb_write_close(x->w, open);
    return true;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static size_t begin(writer *x, int64_t time_ns)
{
    const int64_t shifted = time_ns + x->o->shift_ns;
    size_t        open;

    hu_pbw_clear(x->w);
    open = hu_pb_write_open(x->w, HU_PT_TRACE_PACKET);
    hu_pb_write_uint(x->w, HU_PT_PACKET_TIMESTAMP, shifted > 0 ? (uint64_t)shifted : 0);
    hu_pb_write_uint(x->w, HU_PT_PACKET_SEQUENCE, x->o->sequence);
    return open;
}

static bool end(writer *x, size_t open)
{
    hu_pb_write_close(x->w, open);
    if (x->w->no_memory)
        return false;
    hu_out_write(x->out, x->w->at, x->w->n);
    x->bytes += x->w->n;
    return true;
}

/* Nothing is known to the reader from here on but these defaults. */
static bool clear(writer *x, int64_t time_ns)
{
    const size_t packet = begin(x, time_ns);
    size_t       defaults, sample, timebase;

    hu_pb_write_uint(x->w, HU_PT_DEFAULTS_CLOCK, x->o->clock ? x->o->clock : HU_PT_MONOTONIC);
    hu_pb_write_uint(x->w, HU_PT_PACKET_FLAGS, HU_PT_FLAG_CLEARED);
    defaults = hu_pb_write_open(x->w, HU_PT_PACKET_DEFAULTS);
    sample = hu_pb_write_open(x->w, HU_PT_DEFAULTS_SAMPLE);
    timebase = hu_pb_write_open(x->w, HU_PT_SAMPLE_DEFAULTS_TIMEBASE);
    if (x->f->period_ns)
        hu_pb_write_uint(x->w, HU_PT_TIMEBASE_PERIOD, x->f->period_ns);
    hu_pb_write_uint(x->w, HU_PT_TIMEBASE_COUNTER, HU_PT_COUNTER_CPU_CLOCK);
    hu_pb_write_uint(x->w, HU_PT_TIMEBASE_CLOCK, HU_PT_PERF_CLOCK_MONOTONIC);
    hu_pb_write_close(x->w, timebase);
    hu_pb_write_close(x->w, sample);
    hu_pb_write_uint(x->w, HU_PT_DEFAULTS_CLOCK, x->o->clock ? x->o->clock : HU_PT_MONOTONIC);
    hu_pb_write_close(x->w, defaults);
    x->generation++;
    if (!end(x, packet))
        return false;
    x->bytes = 0;
    return true;
}

static size_t begin_with_state(writer *x, int64_t time_ns)
{
    const size_t open = begin(x, time_ns);

    hu_pb_write_uint(x->w, HU_PT_PACKET_FLAGS, HU_PT_FLAG_NEEDS_STATE);
    return open;
}

/* To which process the thread belongs, and their names, once. */
static bool put_tree(writer *x, uint32_t thread, int64_t time_ns)
{
    const hu_perf_thread *t = &x->f->threads.at[thread];
    const hu_str          name = hu_perf_text(x->f, t->name);
    size_t                packet, tree, open;

    if (x->thread_state[thread])
        return true;
    x->thread_state[thread] = HAS_TREE;
    packet = begin_with_state(x, time_ns);
    tree = hu_pb_write_open(x->w, HU_PT_PACKET_TREE);
    if (t->tid == t->pid) {
        open = hu_pb_write_open(x->w, HU_PT_TREE_PROCESS);
        hu_pb_write_uint(x->w, HU_PT_TREE_PROCESS_PID, t->pid);
        if (t->parent)
            hu_pb_write_uint(x->w, HU_PT_TREE_PROCESS_PARENT, t->parent);
        hu_pb_write_str(x->w, HU_PT_TREE_PROCESS_COMMAND, name);
        hu_pb_write_close(x->w, open);
    }
    open = hu_pb_write_open(x->w, HU_PT_TREE_THREAD);
    hu_pb_write_uint(x->w, HU_PT_TREE_THREAD_TID, t->tid);
    hu_pb_write_uint(x->w, HU_PT_TREE_THREAD_PID, t->pid);
    hu_pb_write_str(x->w, HU_PT_TREE_THREAD_NAME, name);
    hu_pb_write_uint(x->w, HU_PT_TREE_THREAD_IS_MAIN, t->tid == t->pid);
    hu_pb_write_close(x->w, open);
    hu_pb_write_close(x->w, tree);
    return end(x, packet);
}

static bool put_change(writer *x, const hu_perf_change *c)
{
    static const uint8_t  state_of[HU_TASK_STATES] = {[HU_TASK_RUNNABLE] = 2, [HU_TASK_RUNNING] = 3, [HU_TASK_SLEEPING] = 4,
                                                      [HU_TASK_DEAD] = 7,     [HU_TASK_LOST] = 0,    [HU_TASK_ALIVE] = 1};
    const hu_perf_thread *t = &x->f->threads.at[c->thread];
    size_t                packet, open;

    if (x->thread_state[c->thread] == c->state + 1)
        return true;
    if (!put_tree(x, c->thread, c->time_ns))
        return false;
    x->thread_state[c->thread] = (uint8_t)(c->state + 1);
    packet = begin_with_state(x, c->time_ns);
    open = hu_pb_write_open(x->w, HU_PT_PACKET_TASK);
    if (c->state == HU_TASK_RUNNING)
        hu_pb_write_uint(x->w, HU_PT_TASK_CPU, c->cpu);
    hu_pb_write_str(x->w, HU_PT_TASK_NAME, hu_perf_text(x->f, t->name));
    hu_pb_write_uint(x->w, HU_PT_TASK_TID, t->tid);
    hu_pb_write_uint(x->w, HU_PT_TASK_STATE, state_of[c->state]);
    hu_pb_write_close(x->w, open);
    return end(x, packet);
}

static bool put_sample(writer *x, const hu_perf_sample *s)
{
    const hu_perf_thread *t = &x->f->threads.at[s->thread];
    size_t                packet, open;

    if (!put_tree(x, s->thread, s->time_ns))
        return false;
    packet = begin_with_state(x, s->time_ns);
    if (!put_stack(x, s->stack))
        return false;
    open = hu_pb_write_open(x->w, HU_PT_PACKET_SAMPLE);
    hu_pb_write_uint(x->w, HU_PT_SAMPLE_CPU, s->cpu);
    hu_pb_write_uint(x->w, HU_PT_SAMPLE_PID, t->pid);
    hu_pb_write_uint(x->w, HU_PT_SAMPLE_TID, t->tid);
    if (s->stack)
        hu_pb_write_uint(x->w, HU_PT_SAMPLE_STACK, s->stack);
    hu_pb_write_uint(x->w, HU_PT_SAMPLE_MODE, s->is_kernel ? HU_PT_MODE_KERNEL : HU_PT_MODE_USER);
    hu_pb_write_close(x->w, open);
    return end(x, packet);
}

static bool put_lost(writer *x, int64_t time_ns)
{
    const size_t packet = begin_with_state(x, time_ns);
    const size_t open = hu_pb_write_open(x->w, HU_PT_PACKET_SAMPLE);

    hu_pb_write_uint(x->w, HU_PT_SAMPLE_LOST, x->f->lost + x->f->cut);
    hu_pb_write_close(x->w, open);
    return end(x, packet);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static bool is_own(const writer *x, uint32_t tid)
{
    for (size_t i = 0; i < x->o->n_own; i++)
        if (x->o->own[i] == tid)
            return true;
    return false;
}

/* Which threads are asked for, by their processes. */
static bool choose(writer *x)
{
    hu_map pids;

    if (x->o->pids && !hu_map_init(&pids, x->arena, x->o->n_pids))
        return false;
    for (size_t i = 0; x->o->pids && i < x->o->n_pids; i++) {
        uint32_t *place = hu_map_put(&pids, x->o->pids[i]);

        if (!place)
            return false;
        *place = 1;
    }
    for (size_t i = 0; i < x->f->threads.n; i++)
        x->is_wanted[i] = (!x->o->pids || hu_map_get(&pids, x->f->threads.at[i].pid) == 1) &&
                          !is_own(x, x->f->threads.at[i].tid);
    return true;
}

static bool is_wanted(const writer *x, uint32_t thread, int64_t time_ns)
{
    return x->is_wanted[thread] && time_ns >= x->o->first_ns && (x->o->end_ns == 0 || time_ns < x->o->end_ns);
}

/* What each thread was in when the window began. */
static bool put_early(writer *x)
{
    const hu_perf_files *f = x->f;

    for (uint32_t i = 0; i < f->threads.n; i++) {
        const hu_perf_change c = {.time_ns = x->o->first_ns, .thread = i, .state = (uint8_t)(x->early_state[i] - 1)};

        if (x->early_state[i] && c.state != HU_TASK_DEAD && !put_change(x, &c))
            return false;
    }
    return true;
}

static bool write_all(writer *x)
{
    const hu_perf_files *f = x->f;
    size_t               change = 0, sample = 0;
    bool                 has_begun = false;

    while (change < f->changes.n || sample < f->samples.n) {
        const bool is_change = sample >= f->samples.n ||
                               (change < f->changes.n && f->changes.at[change].time_ns <= f->samples.at[sample].time_ns);
        const int64_t  time_ns = is_change ? f->changes.at[change].time_ns : f->samples.at[sample].time_ns;
        const uint32_t thread = is_change ? f->changes.at[change].thread : f->samples.at[sample].thread;

        if (is_wanted(x, thread, time_ns)) {
            if ((!has_begun || x->bytes > CLEAR_BYTES) && !clear(x, time_ns))
                return false;
            if (!has_begun && ((f->lost + f->cut && !put_lost(x, time_ns)) || !put_early(x)))
                return false;
            has_begun = true;
            if (!(is_change ? put_change(x, &f->changes.at[change]) : put_sample(x, &f->samples.at[sample])))
                return false;
        }
        if (is_change && x->is_wanted[thread] && time_ns < x->o->first_ns)
            x->early_state[thread] = (uint8_t)(f->changes.at[change].state + 1);
        change += is_change;
        sample += !is_change;
    }
    return true;
}

int hu_perf_packets_write(const hu_perf_files *files, hu_symbols *symbols, const hu_perf_packets_options *options, hu_pbw *w,
                          hu_out *out, hu_error *err)
{
    hu_arena *arena = hu_arena_new();
    writer    x = {.f = files, .symbols = symbols, .o = options, .arena = arena, .w = w, .out = out};
    bool      is_good = arena && hu_intern_init(&x.names, arena);

    if (is_good) {
        x.name_of = hu_arena_calloc(arena, files->frames.n + 1, sizeof *x.name_of);
        x.frame_stamp = hu_arena_calloc(arena, files->frames.n + 1, sizeof *x.frame_stamp);
        x.stack_stamp = hu_arena_calloc(arena, files->stacks.n + 1, sizeof *x.stack_stamp);
        x.module_stamp = hu_arena_calloc(arena, files->modules.n + 1, sizeof *x.module_stamp);
        x.path_stamp = hu_arena_calloc(arena, files->texts.entries.n + 1, sizeof *x.path_stamp);
        x.thread_state = hu_arena_calloc(arena, files->threads.n + 1, sizeof *x.thread_state);
        x.early_state = hu_arena_calloc(arena, files->threads.n + 1, sizeof *x.early_state);
        x.is_wanted = hu_arena_calloc(arena, files->threads.n + 1, sizeof *x.is_wanted);
        is_good = x.name_of && x.frame_stamp && x.stack_stamp && x.module_stamp && x.path_stamp && x.thread_state &&
                  x.is_wanted && x.early_state && choose(&x) && write_all(&x);
    }
    hu_arena_free(arena);
    return is_good ? 0 : hu_fail_memory(err);
}
