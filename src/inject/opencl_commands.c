/* SPDX-License-Identifier: Apache-2.0
 * opencl_commands.c - commands between their enqueueing and the moment at which their device says when they ran.
 *
 * A thread that enqueues takes a free slot, fills it and pushes it onto a stack; our thread takes the whole stack, puts it
 * in order behind what it had, and looks which events are complete.  The number of slots is fixed: where MOST commands wait
 * at once, more are counted, and their events are the program's alone.
 *
 * Events are handles that come back once nobody refers to them.  What a handle stands for is therefore overwritten by the
 * next call that returns it, and a table that is full forgets the oldest of its row.
 */
#include "inject/opencl.h"

#include <string.h>

#include "inject/sys.h"
#include "base/banned.h"

enum {
    MOST = 65536,
    NONE = 0,         /* slots are 1 ... MOST */
    CROWD = MOST / 2, /* so many wait: our thread is not to sleep */
    ROWS = 8192,
    WAYS = 8, /* of the table of handles */
    QUEUES = 1024,
};

#define BUSY ((hu_cl_event)1)

typedef struct {
    hu_cl_command command;
    uint32_t      next;
} slot;

typedef struct {
    hu_cl_event event;
    uint32_t    number, queue;
    uint32_t    is_held; /* by us, too */
} known;

static slot    *slots;      /* MOST + 1; pages that are never used are never there */
static known   *handles;    /* ROWS * WAYS */
static uint64_t free_slots; /* the first one | how often it changed << 32 */
static uint32_t fresh = 1;  /* slots from here on were never used */
static uint32_t arrived;    /* the stack of those that our thread has not taken */
static uint32_t n_waiting;
static uint32_t numbers;
static uint32_t first, last; /* our thread's list */

static void count(uint64_t *which)
{
    __atomic_fetch_add(which, 1, __ATOMIC_RELAXED);
}

static void count_fact(size_t offset)
{
    hu_opencl_facts *facts = hu_cl_facts();

    if (facts)
        count((uint64_t *)(void *)((char *)facts + offset));
}

#define COUNT(member) count_fact(offsetof(hu_opencl_facts, member))

uint32_t hu_cl_number(void)
{
    return __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
}

/* Memory of our own, once; NULL: there is none. */
static void *reserve(void **where, size_t bytes)
{
    void *there = __atomic_load_n(where, __ATOMIC_ACQUIRE), *fresh_map, *was = NULL;

    if (there)
        return there;
    fresh_map = hu_sys_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!fresh_map || __atomic_compare_exchange_n(where, &was, fresh_map, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh_map;
    hu_sys_unmap(fresh_map, bytes);
    return was;
}

/* handles */

static known *row_of(hu_cl_event event)
{
    known *all = reserve((void **)&handles, (size_t)ROWS * WAYS * sizeof *handles);

    return all ? &all[((uint64_t)(uintptr_t)event * 0x9e3779b97f4a7c15u >> 51) * WAYS] : NULL;
}

static known *find(hu_cl_event event)
{
    known *row = event ? row_of(event) : NULL;

    for (int i = 0; row && i < WAYS; i++)
        if (__atomic_load_n(&row[i].event, __ATOMIC_ACQUIRE) == event)
            return &row[i];
    return NULL;
}

static void know(hu_cl_event event, uint32_t number, uint32_t queue, bool is_held)
{
    known      *row = row_of(event), *at = find(event), *oldest = row;
    hu_cl_event was;

    for (int i = 0; row && !at && i < WAYS; i++) {
        if (!__atomic_load_n(&row[i].event, __ATOMIC_RELAXED))
            at = &row[i];
        else if ((int32_t)(row[i].number - oldest->number) < 0)
            oldest = &row[i];
    }
    at = at ? at : oldest;
    if (!at)
        return;
    was = __atomic_load_n(&at->event, __ATOMIC_RELAXED);
    if (was == BUSY || !__atomic_compare_exchange_n(&at->event, &was, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return; /* another thread has it: then this event is strange */
    at->number = number;
    at->queue = queue;
    at->is_held = is_held;
    __atomic_store_n(&at->event, event, __ATOMIC_RELEASE);
}

void hu_cl_commands_know(hu_cl_event event, uint32_t number)
{
    know(event, number, 0, false);
}

uint64_t hu_cl_commands_find(hu_cl_event event)
{
    const known *at = find(event);

    return at ? at->number | (uint64_t)at->queue << 32 : 0;
}

bool hu_cl_commands_hold(hu_cl_event event)
{
    const known *at = find(event);

    return at && __atomic_load_n(&at->is_held, __ATOMIC_ACQUIRE);
}

/* slots */

static uint32_t take_slot(void)
{
    slot    *all = reserve((void **)&slots, (size_t)(MOST + 1) * sizeof *slots);
    uint64_t was = __atomic_load_n(&free_slots, __ATOMIC_ACQUIRE), next;
    uint32_t at;

    while (all && (uint32_t)was != NONE) {
        next = ((was >> 32) + 1) << 32 | __atomic_load_n(&all[(uint32_t)was].next, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&free_slots, &was, next, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            return (uint32_t)was;
    }
    at = __atomic_load_n(&fresh, __ATOMIC_RELAXED);
    while (all && at <= MOST)
        if (__atomic_compare_exchange_n(&fresh, &at, at + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return at;
    return NONE;
}

static void give_back(uint32_t at)
{
    uint64_t was = __atomic_load_n(&free_slots, __ATOMIC_RELAXED), next;

    do {
        __atomic_store_n(&slots[at].next, (uint32_t)was, __ATOMIC_RELAXED);
        next = ((was >> 32) + 1) << 32 | at;
    } while (!__atomic_compare_exchange_n(&free_slots, &was, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static int32_t retain(hu_cl_event event)
{
    int32_t (*below)(hu_cl_event);

    memcpy(&below, &hu_cl_next[HU_CL_AT_RetainEvent], sizeof below);
    return below(event);
}

static void release(hu_cl_event event)
{
    int32_t (*below)(hu_cl_event);

    memcpy(&below, &hu_cl_next[HU_CL_AT_ReleaseEvent], sizeof below);
    (void)below(event);
}

void hu_cl_commands_add(const hu_cl_command *c)
{
    const uint32_t at = c->is_profiled ? take_slot() : NONE;
    uint32_t       was;

    COUNT(enqueued);
    if (at == NONE || (c->is_programs && retain(c->event) != HU_CL_SUCCESS)) {
        if (c->is_programs)
            know(c->event, c->number, c->queue, false);
        else
            release(c->event);
        if (at != NONE)
            give_back(at);
        if (c->is_profiled)
            COUNT(crowded);
        else
            COUNT(untimed);
        return;
    }
    if (c->is_programs)
        know(c->event, c->number, c->queue, true);
    slots[at].command = *c;
    was = __atomic_load_n(&arrived, __ATOMIC_RELAXED);
    do
        slots[at].next = was;
    while (!__atomic_compare_exchange_n(&arrived, &was, at, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    hu_cl_thread_need();
    if (__atomic_add_fetch(&n_waiting, 1, __ATOMIC_RELAXED) % CROWD == 0)
        hu_cl_thread_wake();
}

/* our thread */

static int32_t status_of(hu_cl_event event)
{
    int32_t (*below)(hu_cl_event, uint32_t, size_t, void *, size_t *);
    int32_t status = 1, code;

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetEventInfo], sizeof below);
    code = below(event, HU_CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return code == HU_CL_SUCCESS ? status : -1;
}

static bool read_times(hu_cl_event event, uint64_t times[4])
{
    int32_t (*below)(hu_cl_event, uint32_t, size_t, void *, size_t *);

    memcpy(&below, &hu_cl_next[HU_CL_AT_GetEventProfilingInfo], sizeof below);
    for (uint32_t i = 0; i < 4; i++)
        if (below(event, HU_CL_PROFILING_COMMAND_QUEUED + i, sizeof *times, &times[i], NULL) != HU_CL_SUCCESS)
            return false;
    return times[2] != 0 && times[3] >= times[2];
}

static void more(hu_record *r, hu_more kind, uint32_t id, uint64_t time, uint64_t a, uint64_t b)
{
    r->time = time;
    r->id = id;
    r->aux = (uint16_t)kind;
    r->a = a;
    r->b = b;
    r->type = HU_RECORD_MORE;
}

static void record(const hu_cl_command *c, const uint64_t times[4])
{
    const bool is_kernel = c->kind == HU_OPENCL_KERNEL && c->dimensions, has_bytes = c->bytes != UINT64_MAX;
    hu_record *r = hu_ring_take(2u + is_kernel + has_bytes), *m = r;

    if (!r)
        return;
    more(++m, HU_MORE_OPENCL_TIMES, 0, times[0], times[1], times[2]);
    if (is_kernel)
        more(++m, HU_MORE_OPENCL_SIZE, c->dimensions, c->local[1] | (uint64_t)c->local[2] << 32,
             c->global[0] | (uint64_t)c->global[1] << 32, c->global[2] | (uint64_t)c->local[0] << 32);
    if (has_bytes)
        more(++m, HU_MORE_OPENCL_BYTES, 0, 0, c->bytes, 0);
    r->time = c->began;
    r->id = c->name;
    r->aux = (uint16_t)(c->kind | c->flags);
    r->a = times[3] - times[2];
    r->b = c->number | (uint64_t)(c->queue & 0xffffff) << 32 | (uint64_t)(c->device & 0xff) << 56;
    hu_ring_publish(r, HU_RECORD_OPENCL);
    COUNT(timed);
}

static void complete(const hu_cl_command *c, int32_t status)
{
    uint64_t times[4] = {0};
    known   *at = c->is_programs ? find(c->event) : NULL;

    if (status < 0) {
        COUNT(failed);
    } else if (read_times(c->event, times)) {
        hu_cl_clock_take(c->device, c->began, times[0], c->returned);
        record(c, times);
    } else {
        COUNT(untimed);
    }
    if (at && at->number == c->number)
        __atomic_store_n(&at->is_held, 0, __ATOMIC_RELEASE);
    release(c->event);
}

/* What has arrived, in the order in which it did. */
static void take_arrived(void)
{
    uint32_t at = __atomic_exchange_n(&arrived, NONE, __ATOMIC_ACQUIRE), chain = NONE, end = at;

    while (at != NONE) {
        const uint32_t next = slots[at].next;

        slots[at].next = chain;
        chain = at;
        at = next;
    }
    if (chain == NONE)
        return;
    if (last == NONE)
        first = chain;
    else
        slots[last].next = chain;
    last = end;
}

void hu_cl_commands_read(bool is_last)
{
    uint64_t stops[QUEUES / 64] = {0}; /* queues in order that have come to a command which is not complete */
    uint32_t before = NONE, next;

    take_arrived();
    for (uint32_t at = first; at != NONE; at = next) {
        const hu_cl_command *c = &slots[at].command;
        const uint32_t       queue = c->queue % QUEUES;
        int32_t              status = 1;

        next = slots[at].next;
        if (!(stops[queue / 64] >> queue % 64 & 1))
            status = status_of(c->event);
        if (status > HU_CL_COMPLETE) {
            if (!(c->flags & HU_OPENCL_UNORDERED) && !is_last)
                stops[queue / 64] |= UINT64_C(1) << queue % 64;
            if (is_last)
                COUNT(unfinished);
            before = at;
            continue;
        }
        complete(c, status);
        if (before == NONE)
            first = next;
        else
            slots[before].next = next;
        if (next == NONE)
            last = before;
        give_back(at);
        __atomic_sub_fetch(&n_waiting, 1, __ATOMIC_RELAXED);
    }
}

/* Events of the parent's are nothing here.  Numbers go on: the two are different processes in the trace. */
void hu_cl_commands_forked(void)
{
    free_slots = 0;
    fresh = 1;
    arrived = first = last = NONE;
    n_waiting = 0;
}
