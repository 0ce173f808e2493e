/* SPDX-License-Identifier: Apache-2.0
 * cupti.c - a stand-in for libcupti: real records, filled by the names of their fields, of whatever version the headers have.
 *
 * Compiled against the vendor's own headers, or with -DOWN_ABI against abi.h.  It is strict: what the interface forbids is
 * written to STANDIN_LOG as "MISUSE ...", and every record is full of junk except for the fields that are set.
 *
 *     STANDIN_FAULT=cuptiSubscribe=39,cuptiActivityEnable:10=35      what calls answer; ":10" with this first argument only
 *     STANDIN_SLOW_FAULT=20     ... after so many ms
 *     STANDIN_DROP=7            of each kind of device work, the 7th, 14th ... is dropped and counted
 *     STANDIN_LATE=50           buffers are delivered 50 ms after they are full, or at the next flush but one, the last first
 *     STANDIN_PER_THREAD=1      each thread has a buffer of its own, as is usual from 13.0 on
 *     STANDIN_EARLY=9000        device times are so many ns too early: kernels begin before they were launched
 *     STANDIN_SHUFFLE=1         records of a buffer in reverse order
 *     STANDIN_NO_TIME=5         each 5th kernel has no times
 *     STANDIN_SLOW_FLUSH=300    each flush takes this long, ms
 *     STANDIN_HANG=cuptiActivityFlushAll     this call never returns
 *     STANDIN_STRANGE=1         a record of a kind that nobody knows, and a kernel each without a name, with the longest name, that ends
 *                               before it begins
 *     STANDIN_SLOTS=1           a launch takes the place of its record, which is incomplete until the work is over; buffers with such
 *                               places are kept back, except by a forced flush, and reading stops at the first of them
 *     STANDIN_STEAL=3           after 3 buffers, another profiler takes the callbacks
 *
 * With -DSECOND it also has the second interface (cupti_v2.h); who used one of them is refused by the other.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef OWN_ABI
#include "abi.h"
#else
#include <cupti.h>
#endif
#include "standin.h"

#define API __attribute__((visibility("default")))

/* the record of each kind, in this version */
#if CUDA_VERSION >= 13040
typedef CUpti_ActivityKernel13 kernel_record;
typedef CUpti_ActivityMemcpy7  copy_record;
typedef CUpti_ActivityMemset5  set_record;
#else
typedef CUpti_ActivityMemset4         set_record;
#if CUDA_VERSION >= 13030
typedef CUpti_ActivityKernel12        kernel_record;
#elif CUDA_VERSION >= 13010
typedef CUpti_ActivityKernel11 kernel_record;
#elif CUDA_VERSION >= 13000
typedef CUpti_ActivityKernel10 kernel_record;
#elif CUDA_VERSION >= 12000
typedef CUpti_ActivityKernel9 kernel_record;
#else
typedef CUpti_ActivityKernel8 kernel_record;
#endif
#if CUDA_VERSION >= 12080
typedef CUpti_ActivityMemcpy6         copy_record;
#else
typedef CUpti_ActivityMemcpy5  copy_record;
#endif
#endif
#if CUDA_VERSION >= 12080
typedef CUpti_ActivitySynchronization2 sync_record;
#else
typedef CUpti_ActivitySynchronization sync_record;
#endif
#if CUDA_VERSION >= 13050
typedef CUpti_ActivityCudaEvent3 event_record;
#elif CUDA_VERSION >= 12080
typedef CUpti_ActivityCudaEvent2      event_record;
#else
typedef CUpti_ActivityCudaEvent event_record;
#endif
#if CUDA_VERSION >= 12040
typedef CUpti_ActivityOverhead3 overhead_record;
#elif CUDA_VERSION >= 12030
typedef CUpti_ActivityOverhead2       overhead_record;
#else
typedef CUpti_ActivityOverhead  overhead_record;
#endif
#if CUDA_VERSION >= 12030
typedef CUpti_ActivityGraphTrace2 graph_record;
#else
typedef CUpti_ActivityGraphTrace      graph_record;
#endif
#if CUDA_VERSION >= 12060
typedef CUpti_ActivityMemory4 memory_record;
#else
typedef CUpti_ActivityMemory3         memory_record;
#endif
#if CUDA_VERSION >= 13010
typedef CUpti_ActivityContext4 context_record;
#elif CUDA_VERSION >= 12050
typedef CUpti_ActivityContext3        context_record;
#elif CUDA_VERSION >= 12040
typedef CUpti_ActivityContext2  context_record;
#else
typedef CUpti_ActivityContext context_record;
#endif
#if CUDA_VERSION >= 13020
typedef CUpti_ActivityDevice6 device_record;
#elif CUDA_VERSION >= 12020
typedef CUpti_ActivityDevice5         device_record;
#else
typedef CUpti_ActivityDevice4   device_record;
#endif

static const struct {
    size_t      size;
    const char *name;
} kinds[OP_KINDS] = {
    [OP_COPY] = {sizeof(copy_record), "copy"},
    [OP_SET] = {sizeof(set_record), "set"},
    [OP_DRIVER] = {sizeof(CUpti_ActivityAPI), "driver"},
    [OP_RUNTIME] = {sizeof(CUpti_ActivityAPI), "runtime"},
    [OP_DEVICE] = {sizeof(device_record), "device"},
    [OP_CONTEXT] = {sizeof(context_record), "context"},
    [OP_KERNEL] = {sizeof(kernel_record), "kernel"},
    [OP_OVERHEAD] = {sizeof(overhead_record), "overhead"},
    [OP_PEER] = {sizeof(CUpti_ActivityMemcpyPtoP4), "peer"},
    [OP_EVENT] = {sizeof(event_record), "event"},
    [OP_STREAM] = {sizeof(CUpti_ActivityStream), "stream"},
    [OP_SYNC] = {sizeof(sync_record), "sync"},
    [OP_MEMORY] = {sizeof(memory_record), "memory"},
    [OP_GRAPH] = {sizeof(graph_record), "graph"},
    [OP_STRANGE] = {64, "strange"},
};

/* calls that have numbers */
static const struct {
    int         domain;
    uint32_t    id;
    const char *name;
} call_names[] = {
#define RUNTIME_CALL(name)                                 \
    {                                                      \
        CB_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_##name, #name \
    }
    RUNTIME_CALL(cudaSetDevice_v3020),
    RUNTIME_CALL(cudaGetDevice_v3020),
    RUNTIME_CALL(cudaMalloc_v3020),
    RUNTIME_CALL(cudaFree_v3020),
    RUNTIME_CALL(cudaHostAlloc_v3020),
    RUNTIME_CALL(cudaMemcpy_v3020),
    RUNTIME_CALL(cudaMemcpyAsync_v3020),
    RUNTIME_CALL(cudaMemsetAsync_v3020),
    RUNTIME_CALL(cudaStreamSynchronize_v3020),
    RUNTIME_CALL(cudaEventCreateWithFlags_v3020),
    RUNTIME_CALL(cudaEventRecord_v3020),
    RUNTIME_CALL(cudaEventSynchronize_v3020),
    RUNTIME_CALL(cudaEventQuery_v3020),
    RUNTIME_CALL(cudaStreamWaitEvent_v3020),
    RUNTIME_CALL(cudaMemcpyPeerAsync_v4000),
    RUNTIME_CALL(cudaDeviceReset_v3020),
    RUNTIME_CALL(cudaDeviceSynchronize_v3020),
    RUNTIME_CALL(cudaProfilerStart_v4000),
    RUNTIME_CALL(cudaProfilerStop_v4000),
    RUNTIME_CALL(cudaStreamCreateWithFlags_v5000),
    RUNTIME_CALL(cudaLaunchKernel_v7000),
    RUNTIME_CALL(cudaGraphLaunch_v10000),
    {CB_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuInit, "cuInit"},
    {CB_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, "cuModuleUnload"},
    {CB_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
};

typedef struct buffer {
    struct buffer *next;
    uint8_t       *bytes;
    size_t         size, used, records, most;
    uint32_t       of_kind[OP_KINDS];
    int64_t        full_at;
    uint32_t       holes; /* places of records that are incomplete */
} buffer;

/* where the record of some work in flight will stand; in: NULL when its buffer was handed over */
typedef struct {
    buffer  *in;
    size_t   at;
    uint32_t correlation;
    uint64_t node;
} slot;

enum { CALLS = 1024, SLOTS = 8192, THREADS = 1024 };

static pthread_mutex_t            lock = PTHREAD_MUTEX_INITIALIZER;
static buffer                    *fillings[THREADS]; /* the one, or one for each thread */
static buffer                    *pending;           /* the youngest first */
static buffer                    *delivered;         /* until the process ends: GetNextRecord looks here */
static buffer                    *held;              /* full, with holes */
static slot                       slots[SLOTS];
static size_t                     n_slots;
static uint32_t                   dropped, drop_turn[OP_KINDS], no_time_turn;
static unsigned                   buffers;
static bool                       enabled[OP_KINDS], any_enabled, call_is_off[3][CALLS], call_is_on[3][CALLS];
static uint8_t                    calls_back[4][CALLS];
static uint8_t                    domain_on[4];
static uint32_t                   next_correlation;
static int                        thread_ids; /* 1: gettid */
static bool                       latencies;
static pid_t                      owner;
static const standin_device      *device;
static bool                       attached;
static __thread bool              is_single;  /* this call was enabled by its own number */
static __thread uint64_t          call_start; /* of the call that this thread is in */
static __thread uint32_t          own_place;  /* in fillings; 0: none yet */
static __thread int               in_request, in_complete;
static __thread const standin_op *current; /* what this thread makes a record of */

static CUpti_CallbackFunc                subscriber;
static void                             *subscriber_user;
static CUpti_BuffersCallbackRequestFunc  requested;
static CUpti_BuffersCallbackCompleteFunc completed;
static CUpti_TimestampCallbackFunc       clock_of;
static int                               interface_used; /* 1, 2; 0: none yet */

/* two readings of both clocks, for the line between them */
typedef struct {
    int64_t  mono;
    uint64_t profiler;
} reading;

static reading          anchor[2];
static __thread reading line[2]; /* this thread's copy */

#ifdef SECOND
#include "cupti_v2.h"
#else
static size_t                         bytes_of(int kind)
{
    return kinds[kind].size;
}

static const void *packed(int kind, const void *record, uint8_t *space)
{
    (void)kind;
    (void)space;
    return record;
}
#endif

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* One line of the log: written with one call, so that threads and processes do not mix them. */
static void say(const char *format, ...)
{
    static int  file = -2;
    char        line[400];
    const char *path;
    va_list     list;
    int         n = snprintf(line, sizeof line, "%d ", (int)getpid());

    if (file == -2) {
        path = getenv("STANDIN_LOG");
        file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    }
    if (file < 0)
        return;
    va_start(list, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, list);
    va_end(list);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    line[n++] = '\n';
    if (write(file, line, (size_t)n) < 0)
        file = -1;
}

/* read once: records are many */
static struct {
    int drop, early, late, per_thread, shuffle, no_time, slots, slow_fault, slow_flush, steal, strange, version;
} wish;

static int setting(const char *name)
{
    const char *value = getenv(name);

    return value ? atoi(value) : 0;
}

__attribute__((constructor)) static void read_wishes(void)
{
    wish.drop = setting("STANDIN_DROP");
    wish.early = setting("STANDIN_EARLY");
    wish.late = setting("STANDIN_LATE");
    wish.per_thread = setting("STANDIN_PER_THREAD");
    wish.shuffle = setting("STANDIN_SHUFFLE");
    wish.no_time = setting("STANDIN_NO_TIME");
    wish.slots = setting("STANDIN_SLOTS");
    wish.slow_fault = setting("STANDIN_SLOW_FAULT");
    wish.slow_flush = setting("STANDIN_SLOW_FLUSH");
    wish.steal = setting("STANDIN_STEAL");
    wish.strange = setting("STANDIN_STRANGE");
    wish.version = setting("STANDIN_VERSION");
}

/* STANDIN_FAULT: "call=code" or "call:first argument=code" */
static int planned(const char *call, long argument)
{
    const char *p = getenv("STANDIN_FAULT");
    size_t      n = strlen(call);

    for (; p && *p; p = strchr(p, ','), p += p != NULL) {
        const char *rest = p + n;
        char       *end;

        if (strncmp(p, call, n) != 0 || (*rest != '=' && *rest != ':'))
            continue;
        if (*rest == ':') {
            if (strtol(rest + 1, &end, 10) != argument)
                continue;
            rest = end;
        }
        return atoi(rest + 1);
    }
    return 0;
}

static void hang_if_planned(const char *call)
{
    const char *which = getenv("STANDIN_HANG");

    while (which && strcmp(which, call) == 0)
        pause();
}

static CUptiResult no_driver(void)
{
    return CUDA_VERSION >= 13000 ? CUPTI_ERROR_UNKNOWN : CUPTI_ERROR_NOT_INITIALIZED;
}

/* clock */

static uint64_t profiler_clock(void)
{
    struct timespec t;

    if (clock_of)
        return clock_of();
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Both clocks at one instant: the closest of a few readings, for the machine may be crowded. */
static void read_anchor(int which)
{
    int64_t best = INT64_MAX;

    for (int i = 0; i < 100 && (i < 3 || best > 300); i++) {
        const int64_t  before = now_ns();
        const uint64_t there = profiler_clock();
        const int64_t  after = now_ns();

        if (after - before < best) {
            best = after - before;
            anchor[which].mono = before + (after - before) / 2;
            anchor[which].profiler = there;
        }
    }
}

/* A line through two readings that are at least 2 ms apart. */
static void start_clock(void)
{
    const struct timespec t = {0, 2000000};

    read_anchor(0);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL); /* past the C library: it is no sleep of the program's */
    read_anchor(1);
}

/* Before a record is filled: all its times are then on one line. */
static void renew_clock(void)
{
    pthread_mutex_lock(&lock);
    if (now_ns() - anchor[1].mono > 100000000)
        read_anchor(1);
    line[0] = anchor[0];
    line[1] = anchor[1];
    pthread_mutex_unlock(&lock);
}

static uint64_t to_profiler(int64_t mono)
{
    return line[0].profiler +
           (uint64_t)(int64_t)((__int128)(mono - line[0].mono) * (int64_t)(line[1].profiler - line[0].profiler) /
                               (line[1].mono - line[0].mono));
}

/* buffers */

static void deliver(buffer *b)
{
    const CUpti_BuffersCallbackCompleteFunc call = completed;
    char                                    line[300];
    int                                     n = 0;

    for (int k = 0; k < OP_KINDS; k++)
        if (b->of_kind[k])
            n += snprintf(line + n, sizeof line - (size_t)n, " %s=%u", kinds[k].name, b->of_kind[k]);
    pthread_mutex_lock(&lock);
    b->next = delivered;
    delivered = b;
    pthread_mutex_unlock(&lock);
    say("delivered %zu%s", b->records, n ? line : "");
    in_complete++;
    if (call)
        call(NULL, 0, b->bytes, b->size, b->used);
    in_complete--;
}

/* Records from the last to the first: nothing promises an order. */
static void turn_round(buffer *b)
{
    uint8_t *copy = malloc(b->used + 1);
    size_t   at = b->used;

    memcpy(copy, b->bytes, b->used);
    for (size_t from = 0; from < b->used;) {
        const uint32_t kind = *(const uint32_t *)(copy + from);

        at -= bytes_of((int)kind);
        memcpy(b->bytes + at, copy + from, bytes_of((int)kind));
        from += bytes_of((int)kind);
    }
    free(copy);
}

/* Where this thread finds its buffer, or its slot of one. */
static buffer **filling_of_thread(void)
{
    static uint32_t threads;

    if (!wish.per_thread)
        return &fillings[0];
    if (!own_place)
        own_place = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) % THREADS;
    return &fillings[own_place];
}

#define filling (*filling_of_thread())

/* Takes the buffer that is being filled away; the lock is held. */
static buffer *close_buffer(void)
{
    buffer *b = filling;

    filling = NULL;
    if (b && wish.shuffle)
        turn_round(b);
    if (b && wish.late) {
        b->full_at = now_ns();
        b->next = pending;
        pending = b;
        return NULL;
    }
    return b;
}

static void *deliver_late(void *none)
{
    const int64_t late = (int64_t)wish.late * 1000000;

    for (;;) {
        buffer *ripe = NULL;

        usleep(2000);
        pthread_mutex_lock(&lock);
        if (pending && now_ns() - pending->full_at >= late) { /* the youngest is ripe: all are, and it comes first */
            ripe = pending;
            pending = NULL;
        }
        pthread_mutex_unlock(&lock);
        while (ripe) {
            buffer *next = ripe->next;

            deliver(ripe);
            ripe = next;
        }
    }
    return none;
}

/* The lock is held, as it is in the library that this stands in for. */
static void open_buffer(void)
{
    uint8_t *bytes = NULL;
    size_t   size = 0, most = 0;

    in_request++;
    requested(&bytes, &size, &most);
    in_request--;
    if (!bytes || size == 0) {
        say("MISUSE no buffer was given: versions before 12.9 crash");
        return;
    }
    if ((uintptr_t)bytes % 8)
        say("MISUSE a buffer at an odd address");
    if (size < 1024)
        say("MISUSE a buffer of %zu bytes", size);
    filling = calloc(1, sizeof *filling);
    filling->bytes = bytes;
    filling->size = size;
    filling->most = most;
    buffers++;
    if (buffers == 1 && wish.late) {
        pthread_t thread;

        pthread_create(&thread, NULL, deliver_late, NULL);
    }
}

/* Makes room for a record: a buffer that is full, and can be handed over, is returned.  The lock is held. */
static buffer *make_room(size_t size)
{
    buffer *full = NULL;

    if (filling && (filling->used + size > filling->size || (filling->most && filling->records >= filling->most))) {
        if (filling->holes) {
            filling->next = held;
            held = filling;
            filling = NULL;
        } else {
            full = close_buffer();
        }
    }
    if (!filling)
        open_buffer();
    return full;
}

/* Work was launched: its record has a place from now on. */
static void launched(const standin_op *op)
{
    const size_t size = bytes_of(op->kind);
    buffer      *full = NULL;

    if (!wish.slots || !enabled[op->kind])
        return;
    pthread_mutex_lock(&lock);
    if (requested && n_slots < SLOTS) {
        full = make_room(size);
        if (filling) {
            memset(filling->bytes + filling->used, 0, size);
            slots[n_slots++] = (slot){filling, filling->used, op->correlation, op->graph_node};
            filling->used += size;
            filling->records++;
            filling->holes++;
        }
    }
    pthread_mutex_unlock(&lock);
    if (full)
        deliver(full);
}

/* Takes a full buffer out of those that were held for its holes. */
static buffer *release(buffer *b)
{
    for (buffer **p = &held; *p; p = &(*p)->next)
        if (*p == b) {
            *p = b->next;
            b->next = NULL;
            return b;
        }
    return NULL;
}

/* Fills the place of a record, if it has one; false where it has none.  The lock is held. */
static bool fill_slot(int kind, const void *record, buffer **full)
{
    for (size_t i = 0; current && i < n_slots; i++) {
        const slot s = slots[i];

        if (s.correlation != current->correlation || s.node != current->graph_node)
            continue;
        slots[i] = slots[--n_slots];
        if (!s.in) {
            say("lost a record that was incomplete when its buffer went");
            return true;
        }
        memcpy(s.in->bytes + s.at, record, bytes_of(kind));
        s.in->of_kind[kind]++;
        if (--s.in->holes == 0)
            *full = release(s.in);
        return true;
    }
    return false;
}

static void append(int kind, const void *whole)
{
    uint8_t      space[1024];
    const void  *record = packed(kind, whole, space);
    const size_t size = bytes_of(kind);
    buffer      *full = NULL;

    pthread_mutex_lock(&lock);
    if (!requested || (!enabled[kind] && !is_single)) {
        pthread_mutex_unlock(&lock);
        return;
    }
    if (!wish.slots || (kind != OP_KERNEL && kind != OP_COPY && kind != OP_SET) || !fill_slot(kind, record, &full)) {
        full = make_room(size);
        if (filling) {
            memcpy(filling->bytes + filling->used, record, size);
            filling->used += size;
            filling->records++;
            filling->of_kind[kind]++;
        } else {
            dropped++;
        }
    }
    pthread_mutex_unlock(&lock);
    if (full)
        deliver(full);
}

/* records */

/* Junk that differs from byte to byte: whoever reads a field at a wrong place gets a number that nothing here means. */
static void *fresh(void *record, int kind)
{
    uint8_t *p = record;

    for (size_t i = 0; i < kinds[kind].size; i++)
        p[i] = (uint8_t)(0x81 + 7 * i);
    *(uint32_t *)record = (uint32_t)kind;
    return record;
}

static bool is_left_out(const standin_op *op)
{
    const int each = wish.drop;
    bool      yes;

    if (!each || (op->kind != OP_KERNEL && op->kind != OP_COPY && op->kind != OP_SET))
        return false;
    pthread_mutex_lock(&lock);
    yes = ++drop_turn[op->kind] % (uint32_t)each == 0;
    dropped += yes;
    pthread_mutex_unlock(&lock);
    if (yes)
        say("dropped %s", kinds[op->kind].name);
    return yes;
}

/* The first three kernels. */
static void make_strange(kernel_record *r)
{
    static char     longest[100000];
    static uint32_t turn;
    uint64_t        other[8] = {OP_STRANGE, UINT64_MAX, UINT64_MAX, 1, 2, 3, 4, 5};

    switch (__atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED)) {
    case 1:
        r->name = NULL;
        enabled[OP_STRANGE] = true;
        append(OP_STRANGE, other);
        break;
    case 2:
        memset(longest, 'n', sizeof longest - 1);
        r->name = longest;
        break;
    case 3:
        r->end = r->start - 1000;
        break;
    default:
        break;
    }
}

static void took_kernel(const standin_op *op)
{
    const int     each = wish.no_time;
    kernel_record space, *r = fresh(&space, OP_KERNEL);
    const bool    has_time = !each || __atomic_add_fetch(&no_time_turn, 1, __ATOMIC_RELAXED) % (uint32_t)each != 0;

    r->start = has_time ? to_profiler(op->start) : 0;
    r->end = has_time ? to_profiler(op->end) : 0;
    r->completed = r->end;
    r->queued = latencies ? to_profiler(op->queued) : 0;
    r->submitted = latencies ? to_profiler(op->submitted) : 0;
    r->deviceId = op->device;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->correlationId = op->correlation;
    r->gridX = op->grid[0];
    r->gridY = op->grid[1];
    r->gridZ = op->grid[2];
    r->blockX = op->block[0];
    r->blockY = op->block[1];
    r->blockZ = op->block[2];
    r->registersPerThread = op->registers;
    r->staticSharedMemory = (int32_t)op->static_shared;
    r->dynamicSharedMemory = (int32_t)op->dynamic_shared;
    r->localMemoryPerThread = 16;
    r->localMemoryTotal = 1 << 20;
    r->gridId = op->correlation;
    r->name = op->name;
    r->launchType = 0;
    r->sharedMemoryExecuted = 65536;
    r->graphNodeId = op->graph_node;
    r->graphId = op->graph;
    r->pAccessPolicyWindow = NULL;
    r->channelID = 21;
    r->clusterX = r->clusterY = r->clusterZ = 0;
    r->localMemoryTotal_v2 = 1 << 20;
#if CUDA_VERSION >= 13000
    r->isDeviceLaunched = 0;
#endif
#if CUDA_VERSION >= 13010
    r->priority = op->priority;
#endif
    if (wish.strange)
        make_strange(r);
    append(OP_KERNEL, r);
}

static void took_copy(const standin_op *op)
{
    copy_record space, *r = fresh(&space, OP_COPY);

    r->copyKind = op->copy_kind;
    r->srcKind = op->from_kind;
    r->dstKind = op->to_kind;
    r->flags = op->flags;
    r->bytes = op->bytes;
    r->start = to_profiler(op->start);
    r->end = to_profiler(op->end);
    r->deviceId = op->device;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->correlationId = op->correlation;
    r->runtimeCorrelationId = op->correlation;
    r->graphNodeId = op->graph_node;
    r->graphId = op->graph;
    append(OP_COPY, r);
}

static void took_peer(const standin_op *op)
{
    CUpti_ActivityMemcpyPtoP4 space, *r = fresh(&space, OP_PEER);

    r->copyKind = op->copy_kind;
    r->srcKind = op->from_kind;
    r->dstKind = op->to_kind;
    r->flags = op->flags;
    r->bytes = op->bytes;
    r->start = to_profiler(op->start);
    r->end = to_profiler(op->end);
    r->deviceId = op->device;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->srcDeviceId = op->device;
    r->srcContextId = op->context;
    r->dstDeviceId = op->peer;
    r->dstContextId = op->context + 1;
    r->correlationId = op->correlation;
    r->graphNodeId = op->graph_node;
    r->graphId = op->graph;
    append(OP_PEER, r);
}

static void took_set(const standin_op *op)
{
    set_record space, *r = fresh(&space, OP_SET);

    r->value = op->value;
    r->bytes = op->bytes;
    r->start = to_profiler(op->start);
    r->end = to_profiler(op->end);
    r->deviceId = op->device;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->correlationId = op->correlation;
    r->flags = op->flags;
    r->memoryKind = (uint16_t)op->to_kind;
    r->graphNodeId = op->graph_node;
    r->graphId = op->graph;
    append(OP_SET, r);
}

static uint32_t this_thread(void)
{
    return thread_ids == 1 ? (uint32_t)syscall(SYS_gettid) : (uint32_t)(uintptr_t)pthread_self();
}

/* Calls are timed by the callback itself, as the real one does it. */
static void took_call(const standin_op *op, uint64_t start, uint64_t end)
{
    CUpti_ActivityAPI space, *r = fresh(&space, op->kind);

    r->cbid = op->cbid;
    r->start = start;
    r->end = end;
    r->processId = (uint32_t)getpid();
    r->threadId = op->thread;
    r->correlationId = op->correlation;
    r->returnValue = op->result;
    append(op->kind, r);
}

static void took_sync(const standin_op *op)
{
    sync_record space, *r = fresh(&space, OP_SYNC);

    r->type = op->sync_type;
    r->start = to_profiler(op->start);
    r->end = to_profiler(op->end);
    r->correlationId = op->correlation;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->cudaEventId = op->event;
#if CUDA_VERSION >= 12080
    r->cudaEventSyncId = op->sync_id;
    r->returnValue = op->result;
#endif
    append(OP_SYNC, r);
}

static void took_event(const standin_op *op)
{
    event_record space, *r = fresh(&space, OP_EVENT);

    r->correlationId = op->correlation;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->eventId = op->event;
#if CUDA_VERSION >= 12080
    r->deviceId = op->device;
    r->deviceTimestamp = 0;
    r->cudaEventSyncId = op->sync_id;
#endif
    append(OP_EVENT, r);
}

static void took_overhead(const standin_op *op)
{
    overhead_record space, *r = fresh(&space, OP_OVERHEAD);
    uint32_t        thread[2] = {(uint32_t)getpid(), op->thread};

    r->overheadKind = op->sync_type;
    r->objectKind = 2; /* a thread */
    memcpy(&r->objectId, thread, sizeof thread);
    r->start = to_profiler(op->start);
    r->end = to_profiler(op->end);
#if CUDA_VERSION >= 12030
    r->correlationId = op->correlation;
#endif
#if CUDA_VERSION >= 12040
    r->overheadData = NULL;
#endif
    append(OP_OVERHEAD, r);
}

static void took_graph(const standin_op *op)
{
    graph_record space, *r = fresh(&space, OP_GRAPH);

    r->correlationId = op->correlation;
    r->start = to_profiler(op->start);
    r->end = to_profiler(op->end);
    r->deviceId = op->device;
    r->graphId = op->graph;
    r->contextId = op->context;
    r->streamId = op->stream;
#if CUDA_VERSION >= 12030
    r->endDeviceId = op->device;
    r->endContextId = op->context;
#endif
    append(OP_GRAPH, r);
}

static void took_memory(const standin_op *op)
{
    memory_record space, *r = fresh(&space, OP_MEMORY);

    r->memoryOperationType = op->memory_op;
    r->memoryKind = op->memory_kind;
    r->correlationId = op->correlation;
    r->address = op->address;
    r->bytes = op->bytes;
    r->timestamp = to_profiler(op->start);
    r->PC = 0;
    r->processId = (uint32_t)getpid();
    r->deviceId = op->device;
    r->contextId = op->context;
    r->streamId = op->stream;
    r->name = NULL;
    r->isAsync = 0;
    memset(&r->memoryPoolConfig, 0, sizeof r->memoryPoolConfig);
#if CUDA_VERSION >= 12060
    r->source = NULL;
#endif
    append(OP_MEMORY, r);
}

static void took_stream(const standin_op *op)
{
    CUpti_ActivityStream space, *r = fresh(&space, OP_STREAM);

    r->contextId = op->context;
    r->streamId = op->stream;
    r->priority = (uint32_t)op->priority;
    r->flag = op->flags;
    r->correlationId = op->correlation;
    append(OP_STREAM, r);
}

static void took_context(const standin_op *op)
{
    context_record space, *r = fresh(&space, OP_CONTEXT);

    r->contextId = op->context;
    r->deviceId = op->device;
    r->computeApiKind = 1;
    r->nullStreamId = 7;
#if CUDA_VERSION >= 12040
    r->parentContextId = 0;
    r->isGreenContext = 0;
#endif
    append(OP_CONTEXT, r);
}

static void took_device(const standin_op *op)
{
    device_record space, *r = fresh(&space, OP_DEVICE);

    r->flags = 0;
    r->globalMemoryBandwidth = 2039000000; /* kB/s */
    r->globalMemorySize = (uint64_t)80 << 30;
    r->numMultiprocessors = 108;
    r->computeCapabilityMajor = 8;
    r->computeCapabilityMinor = 0;
    r->coreClockRate = 1410000;
    r->id = op->device;
    r->name = "Stand-in A100";
    memcpy(&r->uuid, op->uuid, sizeof op->uuid);
    r->isCudaVisible = !op->is_hidden;
    append(OP_DEVICE, r);
}

/* Of a graph, the last work tells the whole: it lasts from the begin of the first. */
static bool is_part_of_a_graph(standin_op *op)
{
    static struct {
        uint32_t correlation;
        int64_t  start, end;
    } graphs[256], *g;

    if (!op->graph || (op->kind != OP_KERNEL && op->kind != OP_GRAPH))
        return false;
    g = &graphs[op->correlation % 256];
    if (g->correlation != op->correlation) {
        g->correlation = op->correlation;
        g->start = op->start;
    }
    if (op->kind == OP_GRAPH) {
        op->start = g->start;
        op->end = g->end;
        return !enabled[OP_GRAPH];
    }
    g->end = op->end;
    return enabled[OP_GRAPH];
}

static void took(const standin_op *op)
{
    static void (*const of[OP_KINDS])(const standin_op *) = {
        [OP_COPY] = took_copy,   [OP_SET] = took_set,       [OP_KERNEL] = took_kernel,   [OP_OVERHEAD] = took_overhead,
        [OP_PEER] = took_peer,   [OP_EVENT] = took_event,   [OP_SYNC] = took_sync,       [OP_MEMORY] = took_memory,
        [OP_GRAPH] = took_graph, [OP_STREAM] = took_stream, [OP_CONTEXT] = took_context, [OP_DEVICE] = took_device,
    };
    standin_op own = *op;

    if (op->kind <= 0 || op->kind >= OP_KINDS || !of[op->kind])
        return;
    if (is_part_of_a_graph(&own)) /* whole graphs, or their nodes */
        return;
    if (!__atomic_load_n(&enabled[op->kind], __ATOMIC_RELAXED) || is_left_out(op))
        return;
    renew_clock();
    own.thread = thread_ids == 1 ? op->thread : op->thread + 1000000000U;
    if (op->kind == OP_KERNEL || op->kind == OP_COPY || op->kind == OP_SET) {
        own.start -= wish.early;
        own.end -= wish.early;
    }
    current = &own;
    of[op->kind](&own);
    current = NULL;
}

/* calls */

static bool is_recorded(int domain, uint32_t cbid)
{
    const int kind = domain == CB_DRIVER ? OP_DRIVER : OP_RUNTIME;

    return cbid < CALLS && !call_is_off[domain][cbid] && (enabled[kind] || call_is_on[domain][cbid]);
}

static void call_back(int domain, uint32_t cbid, const char *name, const char *kernel, uint32_t correlation, uint32_t site)
{
    CUpti_CallbackData data;
    uint64_t           mark = 0;

    if (!subscriber || cbid >= CALLS || (!calls_back[domain][cbid] && !domain_on[domain]))
        return;
    memset(&data, 0, sizeof data);
    data.callbackSite = site; /* the vendor's enum has these two values */
    data.functionName = name;
    data.symbolName = kernel;
    data.contextUid = 1;
    data.correlationData = &mark;
    data.correlationId = correlation;
    subscriber(subscriber_user, (CUpti_CallbackDomain)domain, cbid, &data);
}

static uint32_t call_begins(int domain, uint32_t cbid, const char *name, const char *kernel)
{
    const uint32_t n = enabled[OP_DRIVER] || enabled[OP_RUNTIME] || is_recorded(domain, cbid)
                           ? __atomic_add_fetch(&next_correlation, 1, __ATOMIC_RELAXED)
                           : 0;

    call_back(domain, cbid, name, kernel, n, 0);
    if (n)
        call_start = profiler_clock();
    return n;
}

static void call_ends(int domain, uint32_t cbid, const char *name, uint32_t correlation, int64_t start, uint32_t result)
{
    (void)start;
    if (correlation && is_recorded(domain, cbid)) {
        const standin_op op = {.kind = domain == CB_DRIVER ? OP_DRIVER : OP_RUNTIME,
                               .cbid = cbid,
                               .thread = this_thread(),
                               .correlation = correlation,
                               .result = result};

        is_single = true;
        took_call(&op, call_start, profiler_clock());
        is_single = false;
    }
    call_back(domain, cbid, name, NULL, correlation, 1);
}

static void resource(uint32_t cbid, void *context, void *stream, const void *descriptor)
{
    CUpti_ResourceData data;

    if (!subscriber || (!calls_back[CB_RESOURCE][cbid] && !domain_on[CB_RESOURCE]))
        return;
    memset(&data, 0, sizeof data);
    data.context = context;
    data.resourceHandle.stream = stream;
    data.resourceDescriptor = (void *)(uintptr_t)descriptor;
    subscriber(subscriber_user, (CUpti_CallbackDomain)CB_RESOURCE, cbid, &data);
}

/* Functions of the first interface that the second one refuses. */
static bool is_refused(const char *call)
{
    static const char *const names[] = {"cuptiActivityRegisterCallbacks",
                                        "cuptiActivityRegisterTimestampCallback",
                                        "cuptiActivityEnable",
                                        "cuptiActivityEnableAndDump",
                                        "cuptiActivityDisable",
                                        "cuptiActivityGetNumDroppedRecords",
                                        "cuptiActivityEnableRuntimeApi",
                                        "cuptiActivityEnableDriverApi"};

    for (size_t i = 0; interface_used == 2 && i < sizeof names / sizeof *names; i++)
        if (strcmp(call, names[i]) == 0)
            return true;
    return false;
}

/* Is a device there?  Asked by every call. */
static CUptiResult ready(const char *call, long argument)
{
    static const standin_profiler self = {call_begins, call_ends, took, resource, launched};
    void                         *driver;
    int                           code;

    hang_if_planned(call);
    if (owner && owner != getpid()) {
        say("MISUSE %s in a forked child", call);
        return CUPTI_ERROR_UNKNOWN;
    }
    owner = getpid();
    code = planned(call, argument);
    if (code) {
        usleep((useconds_t)wish.slow_fault * 1000);
        say("%s %ld -> %d, as planned", call, argument, code);
        return (CUptiResult)code;
    }
    if (!attached) {
        driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
        if (!driver) {
            say("MISUSE %s before libcuda.so.1 is there", call);
            return no_driver();
        }
        attached = true;
        standin_attach_fn *attach = (standin_attach_fn *)(uintptr_t)dlsym(driver, "standin_attach");
        device = attach ? attach(&self) : NULL;
        if (device)
            start_clock();
        say("version %d attached %d", CUPTI_API_VERSION, device != NULL);
#ifdef COPY
        say("copy-%d", COPY);
#endif
    }
    if (!device || device->devices() == 0)
        return no_driver();
    if (is_refused(call)) {
        say("MISUSE %s beside the second interface", call);
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    say("%s %ld", call, argument);
    return CUPTI_SUCCESS;
}

#define BEGIN(argument)                                             \
    do {                                                            \
        const CUptiResult code = ready(__func__, (long)(argument)); \
        if (code != CUPTI_SUCCESS)                                  \
            return code;                                            \
    } while (0)

API CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    const int code = planned("cuptiGetVersion", 0);

    *version = code ? 0 : CUPTI_API_VERSION;
    if (wish.version)
        *version = (uint32_t)wish.version;
    ready("cuptiGetVersion", 0); /* only for its own checks */
    return (CUptiResult)code;
}

API CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    static char known[40];

    snprintf(known, sizeof known, "CUPTI_STANDIN_RESULT_%d", (int)result);
    *text = known;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = profiler_clock();
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc call, void *user)
{
    BEGIN(0);
    if (subscriber || interface_used == 2 || getenv("STANDIN_FIRST"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    interface_used = 1;
    subscriber = call;
    subscriber_user = user;
    *handle = (CUpti_SubscriberHandle)(uintptr_t)&subscriber;
    return CUPTI_SUCCESS;
}

#ifdef SECOND
static void forget_second(void);
#endif

API CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    BEGIN(0);
    if ((void *)handle != (void *)&subscriber)
        return CUPTI_ERROR_INVALID_PARAMETER;
    subscriber = NULL;
    memset(calls_back, 0, sizeof calls_back);
#ifdef SECOND
    forget_second();
#endif
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                             CUpti_CallbackId id)
{
    BEGIN(id);
    if ((void *)handle != (void *)&subscriber || (unsigned)domain > 3 || id >= CALLS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    calls_back[domain][id] = enable != 0;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain)
{
    BEGIN(domain);
    if ((void *)handle != (void *)&subscriber || (unsigned)domain > 3)
        return CUPTI_ERROR_INVALID_PARAMETER;
    domain_on[domain] = enable != 0;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    for (size_t i = 0; i < sizeof call_names / sizeof *call_names; i++)
        if (call_names[i].domain == (int)domain && call_names[i].id == id) {
            *name = call_names[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

API CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc  request,
                                                        CUpti_BuffersCallbackCompleteFunc complete)
{
    const CUptiResult code = ready(__func__, 0);

    if (code != CUPTI_SUCCESS && (!device || device->devices() > 0 || planned(__func__, 0))) /* CUDA may come later */
        return code;
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    interface_used = 1;
    requested = request;
    completed = complete;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc call)
{
    BEGIN(0);
    if (any_enabled) {
        say("MISUSE the clock is set after a kind was enabled");
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    clock_of = call;
    start_clock();
    return CUPTI_SUCCESS;
}

/* Contexts, streams and devices that are there already. */
static void dump(int kind)
{
    if (device->in_init()) /* nothing is there yet */
        return;
    for (uint32_t n = 1;; n++) {
        standin_op op = {.value = n};

        if (!device->describe(&op))
            return;
        if (op.kind == kind)
            took(&op);
    }
}

API CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    BEGIN(kind);
    if (kind == 3)
        say("MISUSE kind 3 makes kernels wait for each other");
    if ((unsigned)kind >= OP_KINDS || ((int)kind == OP_EVENT && CUDA_VERSION < 12020))
        return CUPTI_ERROR_INVALID_KIND;
    if (kinds[kind].size == 0)
        say("kind %d is enabled, and has no records here", (int)kind);
    if (!requested)
        say("MISUSE kind %d is enabled before there is a callback for buffers", (int)kind);
    enabled[kind] = any_enabled = true;
    if ((int)kind == OP_COPY)
        enabled[OP_PEER] = true;
    if ((int)kind == OP_DEVICE || (int)kind == OP_CONTEXT)
        dump((int)kind);
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
    BEGIN(kind);
    if ((unsigned)kind >= OP_KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    enabled[kind] = any_enabled = true;
    dump((int)kind);
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    BEGIN(kind);
    if ((unsigned)kind >= OP_KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    enabled[kind] = false;
    if ((int)kind == OP_COPY)
        enabled[OP_PEER] = false;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    BEGIN(type);
    thread_ids = (int)type;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    BEGIN(attribute);
    return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

API CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
    BEGIN(enable);
    latencies = enable != 0;
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= 23
API CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
    BEGIN(cbid);
    if (cbid >= CALLS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    call_is_on[CB_RUNTIME][cbid] = enable;
    call_is_off[CB_RUNTIME][cbid] = !enable;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
    BEGIN(cbid);
    if (cbid >= CALLS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    call_is_on[CB_DRIVER][cbid] = enable;
    call_is_off[CB_DRIVER][cbid] = !enable;
    return CUPTI_SUCCESS;
}
#endif

API CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    BEGIN(milliseconds);
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    buffer *b = NULL;

    BEGIN(flag);
    if (in_request || in_complete)
        say("MISUSE flush from a callback about buffers");
    if (wish.slow_flush)
        usleep((useconds_t)wish.slow_flush * 1000);
    device->report();
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < THREADS; i++) {
        const uint32_t was = own_place;
        buffer        *closed;

        own_place = i;
        closed = !filling || (filling->holes && !flag) ? NULL : close_buffer();
        own_place = was;
        if (closed) {
            closed->next = b;
            b = closed;
        }
        if (!wish.per_thread)
            break;
    }
    if (!b && flag && pending) { /* a forced flush brings all, the youngest first */
        b = pending;
        pending = NULL;
    }
    if (flag && wish.slots) {
        buffer **last = &b;

        while (*last)
            last = &(*last)->next;
        *last = held;
        held = NULL;
        for (size_t i = 0; i < n_slots; i++)
            slots[i].in = NULL;
    }
    pthread_mutex_unlock(&lock);
    while (b) {
        buffer *next = b->next;

        deliver(b);
        b = next;
    }
    say("flushed %u", flag);
    if (wish.steal && buffers >= (unsigned)wish.steal)
        requested = NULL;
    return CUPTI_SUCCESS;
}

static CUptiResult tell_drops(size_t *number)
{
    if (in_complete || in_request)
        say("MISUSE drops are counted inside of a callback about buffers");
    pthread_mutex_lock(&lock);
    *number = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    if (*number)
        say("told drops %zu", *number);
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *number)
{
    (void)context;
    (void)stream;
    BEGIN(0);
    return tell_drops(number);
}

static CUptiResult next_record(uint8_t *bytes, size_t valid, CUpti_Activity **record)
{
    static buffer *last; /* most questions are about one buffer */
    buffer        *b;
    size_t         at = 0;

    pthread_mutex_lock(&lock);
    for (b = last && last->bytes == bytes && last == delivered ? last : delivered; b && b->bytes != bytes; b = b->next)
        continue;
    last = b;
    pthread_mutex_unlock(&lock);
    if (!b) {
        say("MISUSE records of an unknown buffer are asked for");
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (valid != b->used)
        say("MISUSE %zu bytes are valid, not %zu", b->used, valid);
    if (*record) {
        at = (size_t)((uint8_t *)*record - bytes);
        at += bytes_of(*(const int *)(const void *)(bytes + at));
    }
    if (at >= b->used)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (*(const uint32_t *)(const void *)(bytes + at) == 0)
        return CUPTI_ERROR_INVALID_KIND; /* incomplete: what stands behind it cannot be reached */
    *record = (CUpti_Activity *)(void *)(bytes + at);
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, CUpti_Activity **record)
{
    hang_if_planned("cuptiActivityGetNextRecord");
    return next_record(bytes, valid, record);
}

API CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    (void)kind;
    BEGIN(id);
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *id)
{
    BEGIN(kind);
    if (id)
        *id = 0;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    (void)context;
    BEGIN(0);
    *id = 0;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiFinalize(void)
{
    say("MISUSE cuptiFinalize");
    return CUPTI_SUCCESS;
}

#ifdef SECOND
#include "cupti_v2_calls.h"
#endif
