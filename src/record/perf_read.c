/* SPDX-License-Identifier: Apache-2.0
 * perf_read.c - what each of the kernel's records means (perf_event_open(2), linux/perf_event.h).
 *
 * A switch that took the CPU from a thread that could go on is marked: then the thread is runnable until it is switched
 * in; else it sleeps, and the moment between its waking and its running counts as sleep.  A thread runs from the exec
 * that began the counting, and is runnable from its fork.  Traps:
 *  - pid and tid are -1 for a thread that is past its end;
 *  - records that the kernel lost may have been switches: a state that would last over the loss is not known any more.
 */
#include "record/perf_read.h"

#include "record/perf_spaces.h"
#include "record/perf_stacks.h"
#include "record/perf_stream.h"
#include "record/perf_threads.h"
#include "record/perf_timer.h"
#include "record/schedstat_read.h"

/* PERF_RECORD_COMM: pid, tid, text.  PERF_RECORD_FORK and EXIT: pid, ppid, tid, ptid, time. */
enum { COMM_TEXT = 8, COMM_MOST = 64, TASK_BYTES = 24, BUILD_ID_MOST = 20 };

/* PERF_RECORD_MMAP: pid, tid, start, length, offset, name.  MMAP2 has the file's identity and rights before the name. */
enum {
    MAP_START = 8,
    MAP_LENGTH = 16,
    MAP_OFFSET = 24,
    MAP_NAME = 32,
    MAP2_IDENTITY = 32,
    MAP2_RIGHTS = 56,
    MAP2_NAME = 64,
    RIGHT_TO_RUN = 4,
    PATH_MOST = 4096
};

enum { SAMPLE_IP = 0, SAMPLE_CHAIN_COUNT = 32, SAMPLE_CHAIN = 40 };

typedef struct {
    hu_perf_files *out;
    hu_perf_spaces spaces;
    hu_perf_stacks stacks;
    int64_t        last_ns;
} reader;

static uint32_t u32_at(const hu_perf_record *r, size_t at)
{
    uint32_t v;

    memcpy(&v, r->body + at, sizeof v);
    return v;
}

static hu_str text_at(const hu_perf_record *r, size_t at, size_t most)
{
    const size_t n = r->n - at < most ? r->n - at : most;

    return (hu_str){r->body + at, strnlen(r->body + at, n)};
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static bool take_switch(reader *x, const hu_perf_record *r)
{
    const bool     is_out = (r->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    const uint32_t at = hu_map_get(&x->out->thread_of, r->tid);
    uint32_t       thread;

    if (is_out && at != HU_MAP_NONE && x->out->threads.at[at].has_ended)
        return true; /* its last one */
    thread = hu_perf_threads_find(x->out, r->pid, r->tid, r->time_ns);
    return thread != UINT32_MAX &&
           hu_perf_threads_change(x->out, thread, r->time_ns, r->cpu,
                                  !is_out                                         ? HU_TASK_RUNNING
                                  : r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? HU_TASK_RUNNABLE
                                                                                  : HU_TASK_SLEEPING);
}

static bool take_fork(reader *x, const hu_perf_record *r)
{
    const uint32_t pid = u32_at(r, 0), parent = u32_at(r, 4), tid = u32_at(r, 8), parent_tid = u32_at(r, 12);
    const uint32_t from = hu_map_get(&x->out->thread_of, parent_tid);
    const uint32_t thread = hu_perf_threads_new(x->out, pid, tid, r->time_ns);

    if (thread == UINT32_MAX || !hu_perf_spaces_fork(&x->spaces, parent, pid))
        return false;
    if (from != HU_MAP_NONE)
        x->out->threads.at[thread].name = x->out->threads.at[from].name;
    x->out->threads.at[thread].parent = pid == tid ? parent : 0;
    return hu_perf_threads_change(x->out, thread, r->time_ns, r->cpu, HU_TASK_RUNNABLE);
}

static bool take_exit(reader *x, const hu_perf_record *r)
{
    const uint32_t tid = u32_at(r, 8);
    const uint32_t at = hu_map_get(&x->out->thread_of, tid);

    return at == HU_MAP_NONE || hu_perf_threads_change(x->out, at, r->time_ns, r->cpu, HU_TASK_DEAD);
}

static bool take_name(reader *x, const hu_perf_record *r)
{
    const uint32_t pid = u32_at(r, 0), tid = u32_at(r, 4);
    const uint32_t thread = hu_perf_threads_find(x->out, pid, tid, r->time_ns);

    if (thread == UINT32_MAX || !hu_perf_threads_name(x->out, thread, text_at(r, COMM_TEXT, COMM_MOST)))
        return false;
    if (!(r->misc & PERF_RECORD_MISC_COMM_EXEC))
        return true;
    return hu_perf_spaces_clear(&x->spaces, pid) &&
           hu_perf_threads_change(x->out, thread, r->time_ns, r->cpu, HU_TASK_RUNNING);
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool take_map(reader *x, const hu_perf_record *r)
{
    const bool     is_new = r->type == PERF_RECORD_MMAP2;
    const hu_str   name = text_at(r, is_new ? MAP2_NAME : MAP_NAME, PATH_MOST);
    const uint64_t start = hu_load_u64(r->body + MAP_START), n = hu_load_u64(r->body + MAP_LENGTH);
    hu_perf_module module = {.path = hu_intern_add(&x->out->texts, name),
                             .kind = (uint8_t)hu_perf_stacks_kind(name),
                             .start = start,
                             .end = start + n,
                             .offset = hu_load_u64(r->body + MAP_OFFSET)};
    hu_perf_place  place = {.start = start, .end = module.end, .offset = module.offset};

    if (is_new && !(u32_at(r, MAP2_RIGHTS) & RIGHT_TO_RUN))
        return true;
    if (is_new && (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && (uint8_t)r->body[MAP2_IDENTITY] <= BUILD_ID_MOST) {
        module.build_id_bytes = (uint8_t)r->body[MAP2_IDENTITY];
        memcpy(module.build_id, r->body + MAP2_IDENTITY + 4, module.build_id_bytes);
    }
    module.pid = module.kind == HU_MODULE_JIT ? u32_at(r, 0) : 0;
    if (module.path == UINT32_MAX)
        return false;
    place.module = hu_perf_stacks_module(&x->stacks, &module);
    return place.module != UINT32_MAX && hu_perf_spaces_map(&x->spaces, u32_at(r, 0), &place);
}

/* What follows the call chain: the registers, and the top of the stack; false: nothing. */
static bool take_stack(const hu_perf_record *r, size_t at, hu_user_stack *out)
{
    uint64_t copied, used;

    if (r->n < at + 32 || hu_load_u64(r->body + at) == 0) /* the ABI; of a thread of the kernel none */
        return false;
    *out = (hu_user_stack){.bp = hu_load_u64(r->body + at + 8), .sp = hu_load_u64(r->body + at + 16)};
    copied = hu_load_u64(r->body + at + 24);
    if (copied == 0 || copied > r->n - at - 32 || r->n - at - 32 - copied < 8)
        return false;
    used = hu_load_u64(r->body + at + 32 + copied);
    out->stack = r->body + at + 32;
    out->bytes = (size_t)(used < copied ? used : copied);
    return true;
}

static bool take_sample(reader *x, const hu_perf_record *r)
{
    hu_user_stack  user;
    const bool     is_kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    const uint64_t n = hu_load_u64(r->body + SAMPLE_CHAIN_COUNT);
    const uint32_t thread = hu_perf_threads_find(x->out, r->pid, r->tid, r->time_ns);
    hu_perf_sample sample = {.time_ns = r->time_ns, .thread = thread, .cpu = (uint16_t)r->cpu, .is_kernel = is_kernel};

    if (n > (r->n - SAMPLE_CHAIN) / 8) {
        x->out->malformed++;
        return true;
    }
    if (thread == UINT32_MAX)
        return false;
    sample.stack = hu_perf_stacks_chain(&x->stacks, r->pid, r->body + SAMPLE_CHAIN, (size_t)n,
                                        take_stack(r, SAMPLE_CHAIN + 8 * (size_t)n, &user) ? &user : NULL, is_kernel);
    x->out->threads.at[thread].samples++;
    return sample.stack != UINT32_MAX && hu_vec_push(x->out->arena, &x->out->samples, sample);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static size_t least_bytes(uint32_t type)
{
    switch (type) {
    case PERF_RECORD_MMAP:
        return MAP_NAME;
    case PERF_RECORD_MMAP2:
        return MAP2_NAME;
    case PERF_RECORD_COMM:
        return COMM_TEXT;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return TASK_BYTES;
    case PERF_RECORD_LOST:
    case HU_PERF_RECORD_CUT:
        return 16;
    case PERF_RECORD_LOST_SAMPLES:
        return 8;
    case PERF_RECORD_SAMPLE:
        return SAMPLE_CHAIN;
    default:
        return 0;
    }
}

/* False without memory. */
static bool take(reader *x, const hu_perf_record *r)
{
    const bool is_past_end = r->tid == UINT32_MAX || r->pid == UINT32_MAX;

    x->last_ns = r->time_ns;
    if (r->n < least_bytes(r->type)) {
        x->out->malformed++;
        return true;
    }
    switch (r->type) {
    case PERF_RECORD_SWITCH:
        return is_past_end || take_switch(x, r);
    case PERF_RECORD_SAMPLE:
        return is_past_end || take_sample(x, r);
    case PERF_RECORD_FORK:
        return take_fork(x, r);
    case PERF_RECORD_EXIT:
        return take_exit(x, r);
    case PERF_RECORD_COMM:
        return take_name(x, r);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return take_map(x, r);
    case PERF_RECORD_LOST:
        x->out->lost += hu_load_u64(r->body + 8);
        x->out->last_loss_ns = r->time_ns;
        return true;
    case PERF_RECORD_LOST_SAMPLES:
        x->out->lost += hu_load_u64(r->body);
        return true;
    case HU_PERF_RECORD_CUT:
        x->out->cut += hu_load_u64(r->body);
        x->out->last_loss_ns = r->time_ns;
        return true;
    default:
        return true; /* throttling, and what newer kernels tell */
    }
}

static int read_records(reader *x, const char *session, hu_arena *scratch, hu_error *err)
{
    hu_perf_stream     *stream = hu_perf_stream_open(session, scratch, err);
    const hu_perf_head *head;
    hu_perf_record      record;
    bool                is_good = true;

    if (!stream)
        return err ? err->code : HU_EIO;
    while (is_good && hu_perf_stream_next(stream, &record))
        is_good = take(x, &record);
    head = hu_perf_stream_head(stream);
    x->out->n_files = hu_perf_stream_files(stream);
    x->out->malformed += hu_perf_stream_malformed(stream);
    x->out->period_ns = head ? head->period_ns : 0;
    x->out->is_user_only = head && head->user_only;
    hu_perf_stream_close(stream);
    return is_good ? 0 : hu_fail_memory(err);
}

int hu_perf_read(const char *session, hu_arena *arena, hu_perf_files *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    reader    x = {.out = out};
    hu_error  mine;
    int       rc;

    *out = (hu_perf_files){.arena = arena, .last_loss_ns = -1};
    if (!scratch || !hu_intern_init(&out->texts, arena) || !hu_map_init(&out->thread_of, arena, 64) ||
        !hu_perf_spaces_init(&x.spaces, scratch) || !hu_perf_stacks_init(&x.stacks, out, &x.spaces, scratch)) {
        hu_perf_stacks_done(&x.stacks);
        hu_arena_free(scratch);
        return hu_fail_memory(err);
    }
    rc = read_records(&x, session, scratch, err ? err : &mine);
    if (rc == 0 && !hu_perf_threads_finish(out, x.last_ns))
        rc = hu_fail_memory(err);
    if (rc == 0 && out->n_files == 0) {
        rc = hu_schedstat_read(session, out, err);
        if (rc == 0)
            rc = hu_perf_timer_read(session, &x.stacks, &x.spaces, out, err);
    }
    hu_perf_stacks_done(&x.stacks);
    hu_arena_free(scratch);
    return rc;
}
