/* SPDX-License-Identifier: Apache-2.0
 * ompt.c - the OpenMP door: LLVM's and Intel's runtimes ask for a tool (OMPT) and call it at regions, barriers and tasks.
 *
 * A runtime has one tool.  One of the program's own comes first: what it links or preloads, or OMP_TOOL_LIBRARIES names.
 *
 * Each thread keeps what it is inside of in a page of its own, one entry for each region that it started and each implicit
 * task that it runs.  Its time is work or waiting; what is inside of what (a task run at a barrier, a lock waited for in
 * it) is a stack of bits.  At a barrier the thread's phase ends and becomes a record (protocol/omp_events.h).  Traps:
 *  - LLVM ends the last wait and the implicit task of a worker when the next region begins, or the thread ends: the phase is
 *    written when the thread arrives, and how long it waited is known by the end of the region;
 *  - threads run explicit tasks while they wait at a barrier: that is work;
 *  - a loop of a hundred thousand tiny regions would fill any file.  A place whose regions were over in no time is added up,
 *    and what is written of it is the sum of some milliseconds.
 *
 * All threads of a region must do the same, so the one that starts it decides, and hands it on in the region's number.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "inject/maps.h"
#include "inject/ompt_abi.h"
#include "inject/process.h"
#include "inject/ring.h"
#include "inject/sys.h"
#include "protocol/omp_events.h"
#include "base/banned.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    DEEPEST = 8,  /* regions and tasks inside of each other; what lies deeper is not recorded */
    SITES = 1024, /* places in the program that start regions or wait at barriers */
    SITE_TRIES = 16,
    SUMS = 8,        /* of a thread, before they are written */
    FIRST_SEEN = 16, /* of a place, that are recorded however short they are */
    PAGE_BYTES = 4096,
};

/* Of ompt_data.value of a region: number << 16 | is short << 15 | site. */
enum { SITE_BITS = 15, IS_SHORT = 1 << SITE_BITS, NUMBER_SHIFT = 16 };

static const double SHORT_S = 50e-6, SHORT_S_PER_THREAD = 5e-6; /* what it takes to record one region is far below */
static const double SUM_S = 5e-3;                               /* for so long they are added up */

static const uint64_t TASK_MARK = UINT64_C(0x686f6c6475700000); /* ompt_data.value of explicit tasks */

typedef struct {
    uintptr_t code;
    uint64_t  last; /* ticks: what the latest ones took */
    uint32_t  seen, threads;
} site;

/* A region that this thread started. */
typedef struct {
    uint64_t  region, begin; /* region 0: not recorded */
    uintptr_t code;
    uint32_t  requested, threads;
} open_region;

/* An implicit task that this thread runs, since its last barrier. */
typedef struct {
    uint64_t  region;      /* 0: not recorded */
    uint64_t  begin, last; /* last: until when its time was added to `spent` */
    uint64_t  spent[2];    /* ticks: work, waits */
    uint64_t  modes;       /* what it is inside of, the innermost in the low bit: 0 work, 1 a wait */
    uint64_t  arrived;     /* at the barrier that ends the phase; 0: not yet */
    uint64_t  worked;      /* spent[0] then */
    uint64_t  last_task_end;
    uintptr_t barrier; /* where it was called */
    uint32_t  tasks;   /* explicit ones that it ran */
    uint32_t  phases;  /* that were written */
    uint16_t  workshare;
    bool      is_first;   /* thread 0 of its team */
    bool      is_written; /* the phase, when it arrived */
} open_task;

/* Short regions of one place. */
typedef struct {
    uintptr_t code;
    uint64_t  wall, work;
    uint32_t  regions, phases;
} short_sum;

typedef struct {
    uint32_t    generation; /* of the process: all of this is of its parent else */
    uint32_t    n_regions, n_tasks, n_waits, n_sums;
    uint64_t    sums_since, sums_until;
    uint64_t    since[16]; /* when waits began: the youngest ones */
    open_region regions[DEEPEST];
    open_task   tasks[DEEPEST];
    short_sum   sums[SUMS];
} thread_state;

_Static_assert(sizeof(thread_state) <= PAGE_BYTES, "a thread has one page");
_Static_assert((int)SITES <= (int)IS_SHORT, "a site fits into its bits");

static __thread thread_state *this_thread __attribute__((tls_model("initial-exec")));

static site     sites[SITES]; /* the first one is all that found no room */
static uint64_t last_region;
static uint64_t short_ticks, short_ticks_per_thread, sum_ticks;

/* This thread's; NULL: no memory. */
static thread_state *state(void)
{
    thread_state *t = this_thread;

    if (__builtin_expect(!t, 0)) {
        t = hu_sys_map(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!t)
            return NULL;
        t->generation = hu_the_process.generation;
        this_thread = t;
    }
    if (__builtin_expect(t->generation != hu_the_process.generation, 0)) {
        memset(t, 0, sizeof *t);
        t->generation = hu_the_process.generation;
    }
    return t;
}

static uint32_t find_site(uintptr_t code)
{
    const uint64_t hash = (uint64_t)code * UINT64_C(0x9e3779b97f4a7c15) >> 40;

    for (uint32_t i = 0; code && i < SITE_TRIES; i++) {
        const uint32_t at = 1 + (uint32_t)((hash + i) % (SITES - 1));
        uintptr_t      there = __atomic_load_n(&sites[at].code, __ATOMIC_RELAXED);

        if (there == code)
            return at;
        if (!there &&
            (__atomic_compare_exchange_n(&sites[at].code, &there, code, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
             there == code))
            return at;
    }
    return 0;
}

/* Threads that race here decide by one number or the other: both were true a moment ago. */
static bool is_short_site(const site *s)
{
    return __atomic_load_n(&s->seen, __ATOMIC_RELAXED) >= FIRST_SEEN &&
           __atomic_load_n(&s->last, __ATOMIC_RELAXED) <
               short_ticks + short_ticks_per_thread * __atomic_load_n(&s->threads, __ATOMIC_RELAXED);
}

/* What is rare counts little: a region that lost its CPU is no long one. */
static void learn(site *s, uint64_t took, uint32_t threads)
{
    const uint64_t last = __atomic_load_n(&s->last, __ATOMIC_RELAXED), most = 2 * last;
    const uint32_t seen = __atomic_load_n(&s->seen, __ATOMIC_RELAXED);

    if (seen)
        took = last - last / 4 + (took < most ? took : most) / 4 + 1;
    __atomic_store_n(&s->last, took, __ATOMIC_RELAXED);
    if (threads)
        __atomic_store_n(&s->threads, threads, __ATOMIC_RELAXED);
    __atomic_store_n(&s->seen, seen < FIRST_SEEN ? seen + 1 : FIRST_SEEN, __ATOMIC_RELAXED);
}

/* records */

static void add_record(hu_omp_record kind, uint32_t what, uint64_t region, uint64_t begin, uint64_t took, uint64_t b,
                       const hu_record *more)
{
    hu_record *r = hu_ring_take(2);

    if (!r)
        return;
    r[1] = *more;
    r[1].aux = HU_MORE_OMP;
    r[1].type = HU_RECORD_MORE;
    r->time = begin;
    r->id = (uint32_t)(region >> NUMBER_SHIFT);
    r->aux = (uint16_t)(kind | (what & 0xff) << HU_OMP_SHIFT);
    r->a = took;
    r->b = b;
    hu_ring_publish(r, HU_RECORD_OMP);
}

/* What was added up, before anything else of this thread is written: so that it lies beside it, and never across. */
static void write_sums(thread_state *t)
{
    for (uint32_t i = 0; i < t->n_sums; i++) {
        const short_sum *s = &t->sums[i];
        const hu_record  more = {.a = s->code, .time = s->work, .b = s->regions, .id = s->phases};

        add_record(HU_OMP_SHORT, 0, 0, t->sums_since, t->sums_until - t->sums_since, s->wall, &more);
    }
    t->n_sums = 0;
}

static short_sum *sum_of(thread_state *t, uintptr_t code, uint64_t begin, uint64_t end)
{
    uint32_t i = 0;

    if (t->n_sums && end - t->sums_since > sum_ticks)
        write_sums(t);
    while (i < t->n_sums && t->sums[i].code != code)
        i++;
    if (i == SUMS) {
        write_sums(t);
        i = 0;
    }
    if (t->n_sums == 0)
        t->sums_since = begin;
    if (i == t->n_sums)
        t->sums[t->n_sums++] = (short_sum){.code = code};
    t->sums_until = end;
    return &t->sums[i];
}

/* regions */

static void parallel_begin(hu_ompt_data *task, const void *frame, hu_ompt_data *region, uint32_t requested, int flags,
                           const void *code)
{
    const bool    is_open = hu_gate_open(HU_DOOR_OPENMP);
    thread_state *t;
    open_region  *o;
    uint32_t      at;

    (void)task;
    (void)frame;
    (void)flags;
    region->value = 0;
    if (is_open)
        hu_process_entered(HU_DOOR_OPENMP); /* a forked child gets a file of its own, and forgets what its parent was in */
    t = state();
    if (!t || t->n_regions++ >= DEEPEST)
        return;
    o = &t->regions[t->n_regions - 1];
    o->region = 0;
    if (!is_open)
        return;
    at = find_site((uintptr_t)code);
    *o = (open_region){.region = __atomic_add_fetch(&last_region, 1, __ATOMIC_RELAXED) << NUMBER_SHIFT |
                                 (is_short_site(&sites[at]) ? (uint64_t)IS_SHORT : 0) | at,
                       .code = (uintptr_t)code,
                       .requested = requested};
    region->value = o->region;
    if (!(o->region & IS_SHORT) && t->n_sums)
        write_sums(t);
    o->begin = hu_ticks();
}

static void parallel_end(hu_ompt_data *region, hu_ompt_data *task, int flags, const void *code)
{
    thread_state      *t = state();
    const open_region *o;
    uint64_t           now;

    (void)region;
    (void)task;
    (void)flags;
    (void)code;
    if (!t || t->n_regions == 0 || t->n_regions-- > DEEPEST)
        return;
    o = &t->regions[t->n_regions];
    if (!o->region)
        return;
    now = hu_ticks();
    if (!__atomic_load_n(&sites[o->region & (IS_SHORT - 1)].seen, __ATOMIC_RELAXED)) /* for its name */
        hu_maps_want(o->code, (uint64_t)hu_the_control->ticks_per_second);
    learn(&sites[o->region & (IS_SHORT - 1)], now - o->begin, o->threads);
    if (!hu_gate_open(HU_DOOR_OPENMP))
        return;
    if (o->region & IS_SHORT) {
        short_sum *s = sum_of(t, o->code, o->begin, now);

        s->regions++;
        s->wall += now - o->begin;
    } else {
        if (t->n_sums)
            write_sums(t);
        add_record(HU_OMP_REGION, 0, o->region, o->begin, now - o->begin, o->requested,
                   &(hu_record){.a = o->code, .time = o->threads, .b = t->n_tasks});
    }
}

/* what a thread does in them */

static open_task *task_of(thread_state *t)
{
    open_task *k = t && t->n_tasks && t->n_tasks <= DEEPEST ? &t->tasks[t->n_tasks - 1] : NULL;

    return k && k->region ? k : NULL;
}

static void settle(open_task *k, uint64_t now)
{
    k->spent[k->modes & 1] += now - k->last;
    k->last = now;
}

static void begin_phase(open_task *k, uint64_t now)
{
    k->begin = k->last = now;
    k->spent[0] = k->spent[1] = k->modes = k->arrived = 0;
    k->tasks = k->workshare = 0;
    k->is_written = false;
}

static uintptr_t code_of(const open_task *k)
{
    return sites[k->region & (IS_SHORT - 1)].code;
}

/* Where an inner barrier was called; NULL: it is the region's last one, or not known. */
static site *inner_barrier(const open_task *k)
{
    return k->barrier && k->barrier != code_of(k) ? &sites[find_site(k->barrier)] : NULL;
}

/* The phase until it arrived at its barrier, and the wait there until `released`; 0: it is still there. */
static void write_phase(thread_state *t, open_task *k, uint64_t released)
{
    const site    *inner = inner_barrier(k);
    const bool     is_short = k->region & IS_SHORT || (inner && is_short_site(inner));
    const uint64_t all = k->arrived - k->begin;
    hu_record      more;

    k->phases++;
    if (!hu_gate_open(HU_DOOR_OPENMP))
        return;
    if (is_short) {
        short_sum *s = sum_of(t, k->region & IS_SHORT ? code_of(k) : k->barrier, k->begin, released ? released : k->arrived);

        s->phases++;
        s->work += k->spent[0];
        return;
    }
    if (t->n_sums)
        write_sums(t);
    more = (hu_record){.a = k->barrier, .time = all - k->worked, .b = k->spent[0] - k->worked, .id = k->tasks};
    add_record(HU_OMP_PHASE, k->workshare, k->region, k->begin, all, released ? released - k->arrived : 0, &more);
}

/* It ran tasks at a barrier whose phase was written when it arrived. */
static void write_tasks(thread_state *t, const open_task *k)
{
    const uint64_t work = k->spent[0] - k->worked;

    if (!k->tasks || !work || !hu_gate_open(HU_DOOR_OPENMP))
        return;
    if (k->region & IS_SHORT) {
        sum_of(t, code_of(k), k->arrived, k->last_task_end)->work += work;
        return;
    }
    if (t->n_sums)
        write_sums(t);
    add_record(HU_OMP_TASKS, 0, k->region, k->arrived, k->last_task_end - k->arrived, work,
               &(hu_record){.a = k->barrier, .id = k->tasks});
}

static void arrive(open_task *k, uint64_t now, const void *code)
{
    k->arrived = now;
    k->worked = k->spent[0];
    k->barrier = (uintptr_t)code;
}

static void leave_barrier(thread_state *t, open_task *k, uint64_t now)
{
    if (k->is_written)
        write_tasks(t, k);
    else
        write_phase(t, k, now);
    if (k->is_first && inner_barrier(k))
        learn(inner_barrier(k), now - k->begin, 0);
    begin_phase(k, now);
}

static void implicit_task(int endpoint, hu_ompt_data *region, hu_ompt_data *task, uint32_t threads, uint32_t index,
                          int flags)
{
    thread_state *t = state();
    open_task    *k;

    (void)task;
    if (!t || flags & HU_OMPT_TASK_INITIAL)
        return;
    if (endpoint == HU_OMPT_BEGIN) {
        if (t->n_tasks++ >= DEEPEST)
            return;
        k = &t->tasks[t->n_tasks - 1];
        *k = (open_task){.region = region ? region->value : 0, .is_first = index == 0};
        if (!k->region)
            return;
        if (index == 0 && t->n_regions && t->n_regions <= DEEPEST)
            t->regions[t->n_regions - 1].threads = threads;
        if (!(k->region & IS_SHORT) && t->n_sums)
            write_sums(t);
        begin_phase(k, hu_ticks());
    } else if (endpoint == HU_OMPT_END && t->n_tasks) {
        k = task_of(t);
        /* what is behind the last barrier of a region is nothing; a team of one has none */
        if (k && (k->arrived || !k->phases)) {
            const uint64_t now = hu_ticks();

            settle(k, now);
            if (!k->arrived)
                arrive(k, now, NULL);
            if (k->is_written)
                write_tasks(t, k);
            else
                write_phase(t, k, 0);
        }
        t->n_tasks--;
    }
}

static bool is_barrier(int kind)
{
    return (kind >= HU_OMPT_SYNC_BARRIER && kind <= HU_OMPT_SYNC_BARRIER_IMPLEMENTATION) ||
           (kind >= HU_OMPT_SYNC_BARRIER_WORKSHARE && kind <= HU_OMPT_SYNC_BARRIER_TEAMS);
}

static uint64_t *wait_slot(thread_state *t, uint32_t depth)
{
    return &t->since[depth % (sizeof t->since / sizeof *t->since)];
}

static void begin_wait(thread_state *t, open_task *k, uint64_t now)
{
    *wait_slot(t, t->n_waits++) = now;
    if (k) {
        settle(k, now);
        k->modes = k->modes << 1 | 1;
    }
}

/* When the wait began that is over now. */
static uint64_t end_wait(thread_state *t, open_task *k, uint64_t now)
{
    if (k) {
        settle(k, now);
        k->modes >>= 1;
    }
    t->n_waits -= t->n_waits > 0;
    return *wait_slot(t, t->n_waits);
}

/* Does a wait that is no barrier say more than its part of the phase's waits?  Not the thousandth short one of a place. */
static bool is_worth_it(uint64_t took, const void *code)
{
    site *s;

    if (took < hu_the_control->os_threshold)
        return false;
    s = &sites[find_site((uintptr_t)code)];
    learn(s, took, 0);
    return took >= short_ticks || !is_short_site(s);
}

static void write_wait(thread_state *t, const open_task *k, hu_omp_record kind, int what, uint64_t began, uint64_t now,
                       uint64_t object, const void *code)
{
    if (began == 0 || (k && k->region & IS_SHORT) || !hu_gate_open(HU_DOOR_OPENMP) || !is_worth_it(now - began, code))
        return;
    if (t->n_sums)
        write_sums(t);
    add_record(kind, (uint32_t)what, k ? k->region : 0, began, now - began, object, &(hu_record){.a = (uintptr_t)code});
}

static void sync_region_wait(int kind, int endpoint, hu_ompt_data *region, hu_ompt_data *task, const void *code)
{
    thread_state *t = this_thread ? state() : NULL;
    open_task    *k = task_of(t);
    uint64_t      now, began;

    (void)region;
    (void)task;
    if (!k || (!is_barrier(kind) && kind != HU_OMPT_SYNC_TASKWAIT && kind != HU_OMPT_SYNC_TASKGROUP))
        return;
    now = hu_ticks();
    if (endpoint == HU_OMPT_BEGIN) {
        begin_wait(t, k, now);
        if (!is_barrier(kind) || k->arrived)
            return;
        arrive(k, now, code);
        /* the region's last one, which a worker leaves when there is more to do */
        if (kind == HU_OMPT_SYNC_BARRIER_PARALLEL || (!code && !k->is_first)) {
            write_phase(t, k, 0);
            k->is_written = true;
            k->tasks = 0;
        }
    } else if (endpoint == HU_OMPT_END) {
        began = end_wait(t, k, now);
        if (!is_barrier(kind))
            write_wait(t, k, HU_OMP_WAIT, kind, began, now, 0, code);
        else if (k->arrived)
            leave_barrier(t, k, now);
    }
}

static void work(int what, int endpoint, hu_ompt_data *region, hu_ompt_data *task, uint64_t count, const void *code)
{
    open_task *k = task_of(this_thread);

    (void)region;
    (void)task;
    (void)count;
    (void)code;
    if (k && endpoint == HU_OMPT_BEGIN)
        k->workshare = (uint16_t)what;
}

/* explicit tasks */

static void task_create(hu_ompt_data *task, const void *frame, hu_ompt_data *made, int flags, int depends, const void *code)
{
    (void)task;
    (void)frame;
    (void)depends;
    (void)code;
    if (flags & HU_OMPT_TASK_EXPLICIT && made)
        made->value = TASK_MARK;
}

static void task_schedule(hu_ompt_data *left, int how, hu_ompt_data *next)
{
    thread_state *t = this_thread ? state() : NULL;
    open_task    *k = task_of(t);
    const bool    was_task = left && left->value == TASK_MARK, is_task = next && next->value == TASK_MARK;
    uint64_t      now;

    if (!k || (!was_task && !is_task))
        return;
    now = hu_ticks();
    settle(k, now);
    if (how == HU_OMPT_TASK_COMPLETE || how == HU_OMPT_TASK_CANCEL || how == HU_OMPT_TASK_DETACH) {
        k->modes >>= was_task;
        k->tasks += was_task;
        k->last_task_end = now;
    } else if (how == HU_OMPT_TASK_SWITCH || how == HU_OMPT_TASK_YIELD) {
        k->modes = is_task ? k->modes << 1 : k->modes >> 1;
    }
}

/* locks */

/* One that is only tried may not be had, and nobody says so. */
static bool is_waited_for(int kind)
{
    return kind != HU_OMPT_MUTEX_TEST_LOCK && kind != HU_OMPT_MUTEX_TEST_NEST;
}

static void mutex_acquire(int kind, uint32_t hint, uint32_t how, uint64_t object, const void *code)
{
    thread_state *t = is_waited_for(kind) ? state() : NULL;

    (void)hint;
    (void)how;
    (void)object;
    (void)code;
    if (t)
        begin_wait(t, task_of(t), hu_ticks());
}

static void mutex_acquired(int kind, uint64_t object, const void *code)
{
    thread_state  *t = is_waited_for(kind) ? state() : NULL;
    open_task     *k = task_of(t);
    const uint64_t now = t ? hu_ticks() : 0;

    if (t && t->n_waits)
        write_wait(t, k, HU_OMP_MUTEX, kind, end_wait(t, k, now), now, object, code);
}

/* the tool */

static void thread_end(hu_ompt_data *data)
{
    thread_state *t = this_thread;

    (void)data;
    if (!t)
        return;
    if (t->generation == hu_the_process.generation)
        write_sums(t);
    this_thread = NULL;
    hu_sys_unmap(t, PAGE_BYTES);
}

static int initialize(hu_ompt_lookup lookup, int device, hu_ompt_data *tool)
{
    static const struct {
        int              event;
        hu_ompt_function call;
    } calls[] = {
#define CALL(event, function) {HU_OMPT_##event, (hu_ompt_function)(function)}
        CALL(THREAD_END, thread_end),
        CALL(PARALLEL_BEGIN, parallel_begin),
        CALL(PARALLEL_END, parallel_end),
        CALL(TASK_CREATE, task_create),
        CALL(TASK_SCHEDULE, task_schedule),
        CALL(IMPLICIT_TASK, implicit_task),
        CALL(SYNC_REGION_WAIT, sync_region_wait),
        CALL(WORK, work),
        CALL(MUTEX_ACQUIRE, mutex_acquire),
        CALL(MUTEX_ACQUIRED, mutex_acquired),
#undef CALL
    };
    const hu_ompt_set_callback set = (hu_ompt_set_callback)lookup("ompt_set_callback");
    const double               hz = hu_the_control->ticks_per_second;

    (void)device;
    (void)tool;
    if (!set)
        return 0;
    short_ticks = (uint64_t)(hz * SHORT_S);
    short_ticks_per_thread = (uint64_t)(hz * SHORT_S_PER_THREAD);
    sum_ticks = (uint64_t)(hz * SUM_S);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        (void)set(calls[i].event, calls[i].call);
    return 1;
}

static void finalize(hu_ompt_data *tool)
{
    (void)tool;
    if (this_thread)
        write_sums(state());
}

/* A library that is not ours?  Its path is whatever the user wrote; ours ends in our name. */
static bool names_another(const char *list)
{
    static const char ours[] = "libholdup-inject.so";

    while (list && *list) {
        const size_t n = strcspn(list, ":");

        if (n && (n < sizeof ours - 1 || memcmp(list + n - (sizeof ours - 1), ours, sizeof ours - 1) != 0))
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

EXPORT hu_ompt_tool *ompt_start_tool(unsigned version, const char *runtime);

/* The runtime asks whoever has this name first; it has one itself, which asks on.  Who answers is the tool. */
EXPORT hu_ompt_tool *ompt_start_tool(unsigned version, const char *runtime)
{
    static hu_ompt_tool tool = {initialize, finalize, {0}};
    hu_ompt_tool *(*next)(unsigned, const char *);
    hu_ompt_tool *other;

    *(void **)&next = dlsym(RTLD_NEXT, "ompt_start_tool");
    other = next ? next(version, runtime) : NULL;
    if (hu_the_control->magic != HU_CONTROL_MAGIC || !(hu_the_control->wanted & HU_DOOR_OPENMP) || !hu_process_attach())
        return other;
    if (other) {
        hu_note("OpenMP is not recorded: the program has an OMPT tool of its own");
        return other;
    }
    if (names_another(getenv("OMP_TOOL_LIBRARIES"))) {
        hu_note("OpenMP is not recorded: OMP_TOOL_LIBRARIES names another OMPT tool; unset it to record OpenMP");
        return NULL;
    }
    return &tool;
}
