/* SPDX-License-Identifier: Apache-2.0
 * nccl.c - the NCCL door: NCCL loads us as its profiler (NCCL_PROFILER_PLUGIN) and calls the newest table that it knows.
 *
 * An event is a slot of a fixed pool from its start to its stop, then a record (protocol/nccl_events.h).  Its handle is a
 * number, never an address: an event that was stopped before, begun before a fork or by another process names no slot, and
 * is nothing.  The slots are as many as events may be open at once; what finds none is counted as lost.
 *
 * NCCL reads its mask of events at each call.  While we do not record, the mask asks for one cheap event of each call, and
 * that event is how this door learns that `holdup start` opened it: nothing else runs in the program that could look.
 * Where the program itself opens it (--steps, --capture-range), the gate says so at once.  A mask that somebody else has
 * changed (NCCL's RAS client can) is left alone.
 *
 * No lock is held while NCCL runs, nothing is allocated, and every call says that all went well.
 */
#include <stdio.h>
#include <string.h>

#include "inject/live.h"
#include "inject/nccl.h"
#include "inject/process.h"
#include "inject/ring.h"
#include "base/banned.h"

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0 }; /* of NCCL's results */
enum {
    SLOTS = 4096,
    TRIES = 64,
    COMMS = 1024,
    MASKS = 16,
    COMM_TEXT_BYTES = 512,
    EPOCH_SHIFT = 48,
    PARENT_AT = 8,
    RANK_AT = 16
};
enum { NAME_AT = 24, HASH_AT = 32 }; /* of a communicator, in the events of versions 1 to 3 */

typedef struct {
    uint64_t               number; /* of its event; without its low bits: free */
    uint64_t               start, values[HU_NCCL_FIELDS_MOST];
    uint8_t                fields[HU_NCCL_FIELDS_MOST];
    uint8_t                n, kind, version;
    uint32_t               function;
    uint32_t               tid; /* of the thread that began it, as far as it was known */
    const hu_thread_state *thread;
} slot;

typedef struct {
    int     *at; /* NCCL's */
    int      version;
    uint32_t written; /* by us, last */
} mask_of_nccl;

typedef struct {
    uint32_t is_used, text;
    uint64_t hash;
    int32_t  rank;
} comm;

static slot         slots[SLOTS];
static uint64_t     last_number, epoch = UINT64_C(1) << EPOCH_SHIFT;
static mask_of_nccl masks[MASKS];
static uint32_t     n_masks, masks_are_open, lock;
static comm         comms[COMMS];

static uint64_t epoch_of(uint64_t number)
{
    return number >> EPOCH_SHIFT << EPOCH_SHIFT;
}

/* masks */

static uint32_t wanted_of(int version)
{
    const uint32_t events = hu_the_control->nccl_events ? hu_the_control->nccl_events : HU_NCCL_DEFAULT;
    uint32_t       wanted = events & hu_nccl_kinds_of(version);

    if (version <= 4 && events & HU_NCCL_DEFAULT & ~wanted)
        wanted |= 1u << HU_NCCL_COLL | 1u << HU_NCCL_P2P; /* calls are what later versions tell in more detail */
    return wanted;
}

static void write_mask(mask_of_nccl *m, bool is_open)
{
    const uint32_t next = is_open ? wanted_of(m->version) : hu_nccl_sentinel_of(m->version);

    if ((uint32_t)__atomic_load_n(m->at, __ATOMIC_RELAXED) != m->written)
        return;
    m->written = next;
    __atomic_store_n(m->at, (int)next, __ATOMIC_RELAXED);
}

static void follow_gate(bool is_open)
{
    if (__builtin_expect(__atomic_load_n(&masks_are_open, __ATOMIC_RELAXED) == is_open, 1) || !hu_lock(&lock))
        return;
    __atomic_store_n(&masks_are_open, is_open, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < n_masks; i++)
        write_mask(&masks[i], is_open);
    hu_unlock(&lock);
}

void hu_nccl_gate_changed(void)
{
    if (__atomic_load_n(&n_masks, __ATOMIC_RELAXED))
        follow_gate(hu_gate_open(HU_DOOR_NCCL));
}

/* One word is the mask of all communicators of an NCCL; a program may have two NCCLs. */
static void keep_mask(int version, int *at)
{
    const bool   is_open = hu_gate_open(HU_DOOR_NCCL);
    mask_of_nccl m = {at, version, is_open ? wanted_of(version) : hu_nccl_sentinel_of(version)};
    uint32_t     i = 0;

    if (!at)
        return;
    __atomic_store_n(at, (int)m.written, __ATOMIC_RELAXED);
    if (!hu_lock(&lock))
        return;
    while (i < n_masks && masks[i].at != at)
        i++;
    if (i < MASKS) {
        masks[i] = m;
        __atomic_store_n(&n_masks, i == n_masks ? i + 1 : n_masks, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&masks_are_open, is_open, __ATOMIC_RELAXED);
    hu_unlock(&lock);
}

/* communicators */

static uint32_t text_of(uint64_t hash, int rank, int ranks, int nodes, const char *name)
{
    char   text[COMM_TEXT_BYTES];
    size_t n = (size_t)snprintf(text, sizeof text, "%llx\t%d\t%d\t%d\t", (unsigned long long)hash, rank, ranks, nodes);

    for (; name && *name && n < sizeof text; name++)
        text[n++] = (unsigned char)*name < ' ' ? ' ' : *name;
    return hu_string(text, n);
}

/* Versions 1 to 3 say it with each event.  A thread uses few. */
static uint32_t comm_of_event(const char *descriptor)
{
    enum { FEW = 4 };
    static __thread struct {
        uint64_t hash;
        int32_t  rank;
        uint32_t text, generation;
    } known[FEW] __attribute__((tls_model("initial-exec")));
    static __thread uint32_t next __attribute__((tls_model("initial-exec")));
    const char              *name;
    uint64_t                 hash;
    int32_t                  rank;

    memcpy(&rank, descriptor + RANK_AT, sizeof rank);
    memcpy(&name, descriptor + NAME_AT, sizeof name);
    memcpy(&hash, descriptor + HASH_AT, sizeof hash);
    for (int i = 0; i < FEW; i++)
        if (known[i].text && known[i].hash == hash && known[i].rank == rank)
            return known[i].text;
    next = (next + 1) % FEW;
    known[next].hash = hash;
    known[next].rank = rank;
    return known[next].text = text_of(hash, rank, -1, -1, name);
}

static const char OURS[] = "NCCL communicator"; /* who said which rank this is */

/* A process with several ranks of one communicator (one thread for each GPU) is none of them. */
static bool is_several(uint64_t hash, int rank)
{
    for (uint32_t i = 0; i < COMMS; i++)
        if (comms[i].is_used && comms[i].hash == hash && comms[i].rank != rank)
            return true;
    return false;
}

/* Which rank this process is, where its environment did not say; and where it says otherwise, that.  Under the lock. */
static void tell_rank(uint64_t hash, int rank, int ranks)
{
    static bool   has_told;
    hu_ring_head *head = hu_the_process.head;
    bool          is_ours;

    if (!head || ranks < 2 || rank < 0 || rank >= ranks)
        return;
    is_ours = strcmp(head->rank_source, OURS) == 0;
    if (is_several(hash, rank)) {
        if (is_ours) {
            head->rank = head->world_size = -1;
            head->rank_source[0] = '\0';
        }
    } else if (head->rank < 0 || (is_ours && ranks > head->world_size)) {
        head->world_size = ranks;
        memcpy(head->rank_source, OURS, sizeof OURS);
        head->rank = rank;
    } else if (!is_ours && !has_told && (ranks > head->world_size || (ranks == head->world_size && rank != head->rank))) {
        has_told = true;
        hu_note("process %u: NCCL calls it rank %d of %d, %s says rank %d of %d: the trace keeps the latter", head->pid,
                rank, ranks, head->rank_source[0] ? head->rank_source : "its environment", head->rank, head->world_size);
    }
}

/* A number that stands for the communicator; COMMS + 1: there is no room, its events name none. */
static uint32_t enter_comm(uint64_t hash, int rank, int ranks, uint32_t text)
{
    uint32_t i = 0;

    if (!hu_lock(&lock))
        return COMMS + 1;
    tell_rank(hash, rank, ranks);
    while (i < COMMS && comms[i].is_used)
        i++;
    if (i < COMMS)
        comms[i] = (comm){1, text, hash, rank};
    hu_unlock(&lock);
    return i + 1;
}

static int begin(int version, void **context, int *mask, uint64_t hash, const char *name, int nodes, int ranks, int rank)
{
    const bool is_wanted = hu_the_control->magic == HU_CONTROL_MAGIC && hu_the_control->wanted & HU_DOOR_NCCL;
    uint32_t   number = COMMS + 1;

    if (is_wanted && hu_process_attach()) {
        hu_process_entered(HU_DOOR_NCCL);
        hu_live_hides(1u << HU_LIVE_COMMUNICATION);
        if (version > 3)
            number = enter_comm(hash, rank, ranks, text_of(hash, rank, ranks, nodes, name));
        keep_mask(version, mask);
    } else if (mask) {
        __atomic_store_n(mask, 0, __ATOMIC_RELAXED);
    }
    if (context)
        *context = (void *)(uintptr_t)number;
    return SUCCESS;
}

static int end(void *context)
{
    const uintptr_t number = (uintptr_t)context;

    if (number >= 1 && number <= COMMS)
        __atomic_store_n(&comms[number - 1].is_used, 0, __ATOMIC_RELAXED);
    return SUCCESS;
}

/* events */

/* Nobody will stop an event any more behind which so many were begun: a communicator was aborted. */
static bool is_forgotten(uint64_t was, uint64_t number)
{
    enum { LONG = SLOTS * 64 };

    return epoch_of(was) == epoch && was != epoch && number - was > LONG;
}

/* A slot that is free, and its event's number in it; NULL: there is none. */
static slot *take_slot(void)
{
    for (int i = 0; i < TRIES; i++) {
        const uint64_t number = epoch | __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
        slot          *s = &slots[number % SLOTS];
        uint64_t       was = __atomic_load_n(&s->number, __ATOMIC_RELAXED);

        if (is_forgotten(was, number))
            hu_ring_lose(1);
        else if (was != epoch_of(was) && epoch_of(was) == epoch)
            continue;
        if (__atomic_compare_exchange_n(&s->number, &was, number, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return s;
    }
    hu_ring_lose(1);
    return NULL;
}

static slot *find_slot(const void *handle)
{
    const uint64_t number = (uintptr_t)handle;
    slot          *s = &slots[number % SLOTS];

    return epoch_of(number) == epoch && number != epoch && __atomic_load_n(&s->number, __ATOMIC_RELAXED) == number ? s
                                                                                                                   : NULL;
}

static void put(slot *s, hu_nccl_field field, uint64_t value)
{
    if (s->n < HU_NCCL_FIELDS_MOST) {
        s->fields[s->n] = (uint8_t)field;
        s->values[s->n++] = value;
    }
}

static uint32_t comm_of(const void *context, int version, hu_nccl_kind kind, const void *descriptor)
{
    const uintptr_t number = (uintptr_t)context;

    if (version <= 3)
        return kind == HU_NCCL_COLL || kind == HU_NCCL_P2P ? comm_of_event(descriptor) : 0;
    return number >= 1 && number <= COMMS ? comms[number - 1].text : 0;
}

/* An event that another process began (PXN) is not ours, though the number may be one of ours. */
static bool is_from_here(hu_nccl_kind kind, const char *descriptor)
{
    enum { PID_AT = 24 };
    int32_t pid;

    memcpy(&pid, descriptor + PID_AT, sizeof pid);
    return kind != HU_NCCL_PROXY_OP || !hu_the_process.head || (uint32_t)pid == hu_the_process.head->pid;
}

static void describe(slot *s, const void *context, const char *descriptor)
{
    const hu_nccl_layout layout = hu_nccl_layout_of(s->version, s->kind);
    const uint32_t       text = comm_of(context, s->version, s->kind, descriptor);
    uint64_t             parent;

    memcpy(&parent, descriptor + PARENT_AT, sizeof parent);
    if (text)
        put(s, HU_NCCL_FIELD_COMM, text);
    if (parent && is_from_here(s->kind, descriptor))
        put(s, HU_NCCL_FIELD_PARENT, parent);
    for (size_t i = 0; i < layout.n; i++) {
        const uint64_t value = hu_nccl_value_at(descriptor, &layout.places[i]);

        if (layout.places[i].field == HU_NCCL_NO_FIELD)
            s->function = (uint32_t)value;
        else
            put(s, layout.places[i].field, value);
    }
}

static int start(int version, const void *context, void **handle, const void *descriptor)
{
    const bool is_open = hu_gate_open(HU_DOOR_NCCL);
    uint64_t   type = 0;
    slot      *s;

    if (handle)
        *handle = NULL; /* NCCL stops what it finds there */
    follow_gate(is_open);
    if (!is_open || !handle || !descriptor)
        return SUCCESS;
    memcpy(&type, descriptor, version <= 4 ? 1 : sizeof type);
    /* one of the kinds that were asked for: with one of them NCCL tells its relatives, too */
    if (type == 0 || type & (type - 1) || !(type & wanted_of(version)))
        return SUCCESS;
    s = take_slot();
    if (!s)
        return SUCCESS;
    s->kind = (uint8_t)__builtin_ctzll(type);
    s->version = (uint8_t)version;
    s->n = 0;
    s->function = 0;
    s->thread = &hu_thread;
    s->tid = hu_thread.tid;
    describe(s, context, descriptor);
    s->start = hu_ticks();
    *handle = (void *)(uintptr_t)s->number;
    return SUCCESS;
}

/* The MOREs of `n` fields, behind their record. */
static void write_fields(hu_record *more, const uint8_t *fields, const uint64_t *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += HU_NCCL_FIELDS_IN_MORE, more++) {
        const uint32_t second = i + 1 < n ? fields[i + 1] : 0, third = i + 2 < n ? fields[i + 2] : 0;

        more->id = fields[i] | second << 8 | third << 16;
        more->aux = HU_MORE_NCCL;
        more->time = values[i];
        more->a = second ? values[i + 1] : 0;
        more->b = third ? values[i + 2] : 0;
        more->type = HU_RECORD_MORE;
    }
}

static uint32_t records_of(uint32_t n_fields)
{
    return 1 + (n_fields + HU_NCCL_FIELDS_IN_MORE - 1) / HU_NCCL_FIELDS_IN_MORE;
}

static int stop(const void *handle)
{
    const bool     is_open = hu_gate_open(HU_DOOR_NCCL);
    slot          *s = find_slot(handle);
    const uint64_t ticks = hu_ticks();
    hu_record     *r;

    follow_gate(is_open);
    if (!s)
        return SUCCESS;
    if (s->thread != &hu_thread)
        put(s, HU_NCCL_FIELD_ELSEWHERE, s->tid);
    r = is_open ? hu_ring_take(records_of(s->n)) : NULL;
    if (r) {
        hu_live_hides(1u << HU_LIVE_COMMUNICATION);
        hu_process_entered(HU_DOOR_NCCL); /* a forked child has a file of its own */
        write_fields(r + 1, s->fields, s->values, s->n);
        r->time = s->start;
        r->id = s->function;
        r->aux = s->kind;
        r->a = ticks > s->start ? ticks - s->start : 0;
        r->b = s->number;
        hu_ring_publish(r, HU_RECORD_NCCL);
    }
    __atomic_store_n(&s->number, epoch, __ATOMIC_RELEASE);
    return SUCCESS;
}

static int change(int version, const void *handle, int state, const void *arguments)
{
    const hu_nccl_layout layout = hu_nccl_state_layout(version, state);
    const uint32_t       n = arguments ? (uint32_t)layout.n : 0;
    uint8_t              fields[HU_NCCL_FIELDS_IN_MORE];
    uint64_t             values[HU_NCCL_FIELDS_IN_MORE];
    hu_record           *r;

    if (!hu_gate_open(HU_DOOR_NCCL) || !find_slot(handle) || n > HU_NCCL_FIELDS_IN_MORE)
        return SUCCESS;
    for (uint32_t i = 0; i < n; i++) {
        fields[i] = layout.places[i].field;
        values[i] = hu_nccl_value_at(arguments, &layout.places[i]);
    }
    r = hu_ring_take(records_of(n));
    if (!r)
        return SUCCESS;
    write_fields(r + 1, fields, values, n);
    r->time = hu_ticks();
    r->id = 0;
    r->aux = HU_NCCL_STATE;
    r->a = (uintptr_t)handle;
    r->b = (uint64_t)(int64_t)state;
    hu_ring_publish(r, HU_RECORD_NCCL);
    return SUCCESS;
}

/* Only this thread is left; what others were in the middle of belongs to the parent. */
void hu_nccl_forked(void)
{
    epoch += UINT64_C(1) << EPOCH_SHIFT;
    if (epoch == 0)
        epoch = UINT64_C(1) << EPOCH_SHIFT;
    lock = 0;
}

/* the tables */

typedef struct {
    const char *name;
    void       *begin; /* its arguments differ */
    int (*start)(void *context, void **handle, const void *descriptor);
    int (*stop)(void *handle);
    int (*change)(void *handle, int state, const void *arguments);
    int (*end)(void *context);
} table;

static int stop_any(void *handle)
{
    return stop(handle);
}

static int begin_4(void **context, int *mask, const char *name, uint64_t hash, int nodes, int ranks, int rank, void *log)
{
    (void)log;
    return begin(4, context, mask, hash, name, nodes, ranks, rank);
}

#define VERSION(v)                                                             \
    static int start_##v(void *context, void **handle, const void *descriptor) \
    {                                                                          \
        return start(v, context, handle, descriptor);                          \
    }                                                                          \
    static int change_##v(void *handle, int state, const void *arguments)      \
    {                                                                          \
        return change(v, handle, state, arguments);                            \
    }

#define BEGIN_EARLY(v)                                       \
    static int begin_##v(void **context, int *mask)          \
    {                                                        \
        return begin(v, context, mask, 0, NULL, -1, -1, -1); \
    }

#define BEGIN_LATE(v)                                                                                                \
    static int begin_##v(void **context, uint64_t hash, int *mask, const char *name, int nodes, int ranks, int rank, \
                         void *log)                                                                                  \
    {                                                                                                                \
        (void)log;                                                                                                   \
        return begin(v, context, mask, hash, name, nodes, ranks, rank);                                              \
    }

/* clang-format off */
VERSION(1) VERSION(2) VERSION(3) VERSION(4) VERSION(5) VERSION(6)
BEGIN_EARLY(1) BEGIN_EARLY(2) BEGIN_EARLY(3) BEGIN_LATE(5) BEGIN_LATE(6)

#define TABLE(v)                                                                                              \
    extern EXPORT table ncclProfiler_v##v;                                                                    \
    EXPORT table ncclProfiler_v##v = {"holdup", (void *)begin_##v, start_##v, stop_any, change_##v, end};
    /* clang-format on */

    TABLE(1) TABLE(2) TABLE(3) TABLE(4) TABLE(5) TABLE(6)
