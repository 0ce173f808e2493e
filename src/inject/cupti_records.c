/* SPDX-License-Identifier: Apache-2.0
 * cupti_records.c - from the records in a buffer of CUPTI to records of our ring.
 *
 * Where a field lies is known to cupti_fields.h, and where the next record begins to CUPTI alone.
 *
 * A record whose begin and end are 0 is one that CUPTI had no room to time: counted, and left out.  Names belong to CUPTI:
 * they are interned here, and no pointer is kept.
 */
#include <string.h>

#include "inject/cuda.h"
#include "inject/cupti_fields.h"
#include "base/banned.h"

enum { MOST_NAME = HU_STRING_BYTES_MAX };

static uint64_t get(const uint8_t *record, hu_cupti_field f)
{
    return hu_cupti_get(record, f);
}

static uint32_t get32(const uint8_t *record, hu_cupti_field f)
{
    return (uint32_t)hu_cupti_get(record, f);
}

static hu_cuda_facts *facts(void)
{
    static hu_cuda_facts nobodys;
    hu_cuda_facts       *mine = hu_cuda_get_facts();

    return mine ? mine : &nobodys;
}

/* writing */

/* A record with `n` MOREs behind it; NULL: lost, and counted. */
static hu_record *take(uint32_t n)
{
    hu_record *r = hu_ring_take(1 + n);

    for (uint32_t i = 1; r && i <= n; i++)
        r[i] = (hu_record){.type = HU_RECORD_NONE};
    return r;
}

/* Correlations are given in the order of calls: work with one of a call behind the border was launched there.  Which call
 * that is is seen when the border is asked for the first time, or later. */
static uint64_t border;       /* ticks; 0: nobody asked */
static uint32_t first_behind; /* the lowest correlation of a call that began there; 0: none came */
static bool     is_past;

bool hu_cupti_is_past(uint64_t ticks)
{
    if (__atomic_exchange_n(&border, ticks, __ATOMIC_RELAXED) != ticks) {
        __atomic_store_n(&first_behind, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&is_past, false, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&is_past, __ATOMIC_RELAXED);
}

static void look_at_call(uint64_t start, uint32_t correlation)
{
    const uint64_t asked = __atomic_load_n(&border, __ATOMIC_RELAXED);
    const uint32_t first = __atomic_load_n(&first_behind, __ATOMIC_RELAXED);

    if (asked && start >= asked && (!first || correlation < first))
        __atomic_store_n(&first_behind, correlation, __ATOMIC_RELAXED);
}

static void look_at_work(uint32_t correlation)
{
    const uint32_t first = __atomic_load_n(&first_behind, __ATOMIC_RELAXED);

    if (first && correlation >= first)
        __atomic_store_n(&is_past, true, __ATOMIC_RELAXED);
}

/* A device whose number has no bit is one whose UUID nobody asks for. */
static void note_use(uint32_t device)
{
    hu_cuda_facts *f = facts();

    if (device < 64 && !(f->used >> device & 1))
        f->used |= UINT64_C(1) << device;
}

static void put(hu_record *r, hu_gpu_kind kind, uint32_t name, uint64_t start, uint64_t end, uint32_t correlation,
                uint32_t high)
{
    r->time = start;
    r->id = name;
    r->aux = (uint16_t)kind;
    r->a = end > start ? end - start : 0;
    r->b = correlation | (uint64_t)high << 32;
    hu_ring_publish(r, HU_RECORD_GPU);
    if (kind == HU_GPU_KERNEL || kind == HU_GPU_COPY || kind == HU_GPU_FILL || kind == HU_GPU_GRAPH) {
        note_use(high);
        look_at_work(correlation);
    }
}

/* A MORE, filled before its record is published. */
static void more(hu_record *r, hu_more kind, uint64_t time, uint32_t id, uint64_t a, uint64_t b)
{
    r->time = time;
    r->id = id;
    r->aux = (uint16_t)kind;
    r->a = a;
    r->b = b;
    r->type = HU_RECORD_MORE;
}

static void place(hu_record *r, uint32_t stream, uint32_t context, uint32_t graph, uint64_t node, uint64_t queued)
{
    more(r, HU_MORE_GPU_PLACE, queued, stream, context | (uint64_t)graph << 32, node);
}

/* False: CUPTI had no room to time it. */
static bool has_time(uint64_t start, uint64_t end)
{
    if (start || end)
        return true;
    facts()->no_time++;
    return false;
}

/* kinds of records */

static uint64_t dimension(const uint8_t *record, hu_cupti_field f)
{
    const uint64_t size = get(record, f);

    return size <= UINT16_MAX ? size : UINT16_MAX;
}

static void take_kernel(const uint8_t *k)
{
    const uint64_t start = get(k, KERNEL_START), end = get(k, KERNEL_END), queued = get(k, KERNEL_QUEUED);
    const char    *name = (const char *)(uintptr_t)get(k, KERNEL_NAME);
    const uint64_t shared = get(k, KERNEL_STATIC_SHARED) + get(k, KERNEL_DYNAMIC_SHARED);
    hu_record     *r;

    if (!has_time(start, end))
        return;
    r = take(2);
    if (!r)
        return;
    place(&r[1], get32(k, KERNEL_STREAM), get32(k, KERNEL_CONTEXT), get32(k, KERNEL_GRAPH), get(k, KERNEL_NODE),
          queued < start ? queued : 0);
    more(&r[2], HU_MORE_GPU_LAUNCH,
         dimension(k, KERNEL_BLOCK_X) | dimension(k, KERNEL_BLOCK_Y) << 16 | dimension(k, KERNEL_BLOCK_Z) << 32 |
             get(k, KERNEL_REGISTERS) << 48,
         hu_cupti_has(KERNEL_PRIORITY) ? get32(k, KERNEL_PRIORITY) : HU_GPU_NO_PRIORITY,
         get(k, KERNEL_GRID_X) | get(k, KERNEL_GRID_Y) << 32,
         get(k, KERNEL_GRID_Z) | (shared <= UINT32_MAX ? shared : UINT32_MAX) << 32);
    put(r, HU_GPU_KERNEL, name ? hu_string_as_is(name, strnlen(name, MOST_NAME)) : 0, start, end,
        get32(k, KERNEL_CORRELATION), get32(k, KERNEL_DEVICE));
}

static void take_copy(const uint8_t *c)
{
    const uint64_t start = get(c, COPY_START), end = get(c, COPY_END);
    hu_record     *r = has_time(start, end) ? take(2) : NULL;

    if (!r)
        return;
    place(&r[1], get32(c, COPY_STREAM), get32(c, COPY_CONTEXT), get32(c, COPY_GRAPH), get(c, COPY_NODE), 0);
    more(&r[2], HU_MORE_GPU_BYTES, 0, 0, get(c, COPY_BYTES), HU_GPU_NONE | (uint64_t)HU_GPU_NONE << 32);
    put(r, HU_GPU_COPY,
        hu_cupti_copy_name((unsigned)get(c, COPY_KIND), (unsigned)get(c, COPY_FROM), (unsigned)get(c, COPY_TO)), start, end,
        get32(c, COPY_CORRELATION), get32(c, COPY_DEVICE));
}

/* From one device to another. */
static void take_peer_copy(const uint8_t *c)
{
    const uint64_t start = get(c, PEER_START), end = get(c, PEER_END);
    hu_record     *r = has_time(start, end) ? take(2) : NULL;

    if (!r)
        return;
    place(&r[1], get32(c, PEER_STREAM), get32(c, PEER_CONTEXT), get32(c, PEER_GRAPH), get(c, PEER_NODE), 0);
    more(&r[2], HU_MORE_GPU_BYTES, 0, 0, get(c, PEER_BYTES), get32(c, PEER_FROM_DEVICE) | get(c, PEER_TO_DEVICE) << 32);
    put(r, HU_GPU_COPY,
        hu_cupti_copy_name((unsigned)get(c, PEER_KIND), (unsigned)get(c, PEER_FROM), (unsigned)get(c, PEER_TO)), start, end,
        get32(c, PEER_CORRELATION), get32(c, PEER_DEVICE));
}

static void take_fill(const uint8_t *f)
{
    const uint64_t start = get(f, FILL_START), end = get(f, FILL_END);
    hu_record     *r = has_time(start, end) ? take(2) : NULL;

    if (!r)
        return;
    place(&r[1], get32(f, FILL_STREAM), get32(f, FILL_CONTEXT), get32(f, FILL_GRAPH), get(f, FILL_NODE), 0);
    more(&r[2], HU_MORE_GPU_BYTES, 0, 0, get(f, FILL_BYTES), HU_GPU_NONE | (uint64_t)HU_GPU_NONE << 32);
    put(r, HU_GPU_FILL, hu_cupti_fill_name((unsigned)get(f, FILL_MEMORY)), start, end, get32(f, FILL_CORRELATION),
        get32(f, FILL_DEVICE));
}

static void take_graph(const uint8_t *g)
{
    const uint64_t start = get(g, GRAPH_START), end = get(g, GRAPH_END);
    hu_record     *r = has_time(start, end) ? take(1) : NULL;

    if (!r)
        return;
    place(&r[1], get32(g, GRAPH_STREAM), get32(g, GRAPH_CONTEXT), get32(g, GRAPH_ID), 0, 0);
    put(r, HU_GPU_GRAPH, 0, start, end, get32(g, GRAPH_CORRELATION), get32(g, GRAPH_DEVICE));
}

/* Its thread, and what it returned: both fit where others have their device. */
static uint32_t thread_and(uint32_t thread, uint32_t result)
{
    return (thread & ((1u << HU_GPU_TID_BITS) - 1)) | (result < 1u << 10 ? result : (1u << 10) - 1) << HU_GPU_TID_BITS;
}

static void take_call(const uint8_t *c, uint32_t domain)
{
    const uint32_t cbid = get32(c, CALL_CBID), name = hu_cupti_call_name(domain, cbid);
    const uint64_t start = get(c, CALL_START), end = get(c, CALL_END);
    hu_record     *r = name && has_time(start, end) ? take(0) : NULL;
    const uint32_t kind = domain == HU_CUPTI_OF_DRIVER ? HU_GPU_DRIVER : HU_GPU_RUNTIME;

    look_at_call(start, get32(c, CALL_CORRELATION));
    if (r)
        put(r, (hu_gpu_kind)(kind | (cbid < HU_CUPTI_MOST_CBIDS ? cbid << HU_GPU_KIND_BITS : 0)), name, start, end,
            get32(c, CALL_CORRELATION), thread_and(get32(c, CALL_THREAD), get32(c, CALL_RESULT)));
}

/* Its device is known by its context. */
static void take_wait(const uint8_t *w)
{
    const uint32_t name = hu_cupti_wait_name(get32(w, WAIT_TYPE));
    const uint64_t start = get(w, WAIT_START), end = get(w, WAIT_END);
    hu_record     *r = name && has_time(start, end) ? take(2) : NULL;

    if (!r)
        return;
    place(&r[1], get32(w, WAIT_STREAM), get32(w, WAIT_CONTEXT), 0, 0, 0);
    more(&r[2], HU_MORE_GPU_EVENT, 0, 0, get(w, WAIT_EVENT), get(w, WAIT_SYNC));
    put(r, HU_GPU_WAIT, name, start, end, get32(w, WAIT_CORRELATION), HU_GPU_NONE);
}

/* It has no time: its call has. */
static void take_event(const uint8_t *e)
{
    hu_record *r = take(2);

    if (!r)
        return;
    place(&r[1], get32(e, EVENT_STREAM), get32(e, EVENT_CONTEXT), 0, 0, 0);
    more(&r[2], HU_MORE_GPU_EVENT, 0, 0, get(e, EVENT_ID), get(e, EVENT_SYNC));
    put(r, HU_GPU_EVENT, 0, 0, 0, get32(e, EVENT_CORRELATION), HU_GPU_NONE);
}

static void take_cost(const uint8_t *c)
{
    enum { OBJECT_IS_THREAD = 2 };
    const uint64_t start = get(c, COST_START), end = get(c, COST_END);
    hu_record     *r = has_time(start, end) ? take(0) : NULL;

    if (r)
        put(r, HU_GPU_COST, hu_cupti_cost_name(get32(c, COST_KIND)), start, end, get32(c, COST_CORRELATION),
            !hu_cupti_has(COST_OBJECT) || get32(c, COST_OBJECT) == OBJECT_IS_THREAD ? thread_and(get32(c, COST_THREAD), 0)
                                                                                    : 0);
}

static void take_memory(const uint8_t *m)
{
    const uint64_t time = get(m, MEMORY_TIME);
    hu_record     *r = has_time(time, time) ? take(3) : NULL;

    if (!r)
        return;
    place(&r[1], get32(m, MEMORY_STREAM), get32(m, MEMORY_CONTEXT), 0, 0, 0);
    more(&r[2], HU_MORE_GPU_BYTES, 0, 0, get(m, MEMORY_BYTES), 0);
    more(&r[3], HU_MORE_GPU_MEMORY, 0, 0, get(m, MEMORY_ADDRESS),
         (get(m, MEMORY_OPERATION) & 0xff) | (get(m, MEMORY_KIND) & 0xff) << 8);
    put(r, HU_GPU_MEMORY, 0, time, time, get32(m, MEMORY_CORRELATION), get32(m, MEMORY_DEVICE));
}

static void take_context(const uint8_t *c)
{
    hu_record *r = take(1);

    if (!r)
        return;
    place(&r[1], get32(c, CONTEXT_NULL_STREAM), get32(c, CONTEXT_ID), 0, 0, 0);
    put(r, HU_GPU_CONTEXT, 0, 0, 0, 0, get32(c, CONTEXT_DEVICE));
}

static void take_stream(const uint8_t *s)
{
    hu_record *r = take(1);

    if (!r)
        return;
    place(&r[1], get32(s, STREAM_ID), get32(s, STREAM_CONTEXT), 0, get(s, STREAM_PRIORITY) | get(s, STREAM_FLAG) << 32, 0);
    put(r, HU_GPU_STREAM, 0, 0, 0, 0, HU_GPU_NONE);
}

/* Into the head: a flight recorder would forget it.  One that CUDA_VISIBLE_DEVICES hides has a number, too, which may be
 * that of another one: it is not believed then, and never with its UUID. */
static void take_device(const uint8_t *d)
{
    const bool     is_hidden = hu_cupti_has(DEVICE_IS_CUDA_VISIBLE) && !get(d, DEVICE_IS_CUDA_VISIBLE);
    hu_cuda_facts *f = facts();
    const uint32_t n = f->n_devices;
    const char    *name = (const char *)(uintptr_t)get(d, DEVICE_NAME);
    hu_gpu_device *out = hu_cuda_device(f, get32(d, DEVICE_ID));

    if (!out || (is_hidden && n == f->n_devices))
        return;
    out->sm_count = get32(d, DEVICE_SMS);
    out->warp_size = get32(d, DEVICE_WARP);
    out->max_threads_per_sm = get32(d, DEVICE_WARPS_PER_SM) * out->warp_size;
    out->major = get32(d, DEVICE_MAJOR);
    out->minor = get32(d, DEVICE_MINOR);
    out->memory_bytes = get(d, DEVICE_MEMORY);
    if (!is_hidden)
        (void)hu_cupti_get_bytes(d, DEVICE_UUID, out->uuid, sizeof out->uuid);
    if (name) {
        const size_t length = strnlen(name, sizeof out->name - 1);

        memcpy(out->name, name, length);
        out->name[length] = '\0';
    }
}

static void take_host(const uint8_t *h, bool is_node)
{
    static const char name[] = "host function";
    const uint64_t    start = get(h, is_node ? NODE_START : HOST_START), end = get(h, is_node ? NODE_END : HOST_END);
    hu_record        *r = has_time(start, end) ? take(1) : NULL;

    if (!r)
        return;
    place(&r[1], get32(h, is_node ? NODE_STREAM : HOST_STREAM), get32(h, is_node ? NODE_CONTEXT : HOST_CONTEXT),
          is_node ? get32(h, NODE_GRAPH) : 0, is_node ? get(h, NODE_ID) : 0, 0);
    put(r, HU_GPU_HOST, hu_string_as_is(name, sizeof name - 1), start, end,
        get32(h, is_node ? NODE_CORRELATION : HOST_CORRELATION),
        thread_and(get32(h, is_node ? NODE_THREAD : HOST_THREAD), 0));
}

static void take_record(const uint8_t *record)
{
    uint32_t kind;

    memcpy(&kind, record, sizeof kind);
    switch (kind) {
    case OF_KERNEL:
        take_kernel(record);
        break;
    case OF_COPY:
        take_copy(record);
        break;
    case OF_PEER_COPY:
        take_peer_copy(record);
        break;
    case OF_FILL:
        take_fill(record);
        break;
    case OF_RUNTIME_CALL:
    case OF_DRIVER_CALL:
        take_call(record, kind == OF_DRIVER_CALL ? HU_CUPTI_OF_DRIVER : HU_CUPTI_OF_RUNTIME);
        break;
    case OF_WAIT:
        take_wait(record);
        break;
    case OF_EVENT:
        take_event(record);
        break;
    case OF_COST:
        take_cost(record);
        break;
    case OF_GRAPH:
        take_graph(record);
        break;
    case OF_MEMORY:
        take_memory(record);
        break;
    case OF_CONTEXT:
        take_context(record);
        break;
    case OF_STREAM:
        take_stream(record);
        break;
    case OF_DEVICE:
        take_device(record);
        break;
    case OF_HOST_NODE:
    case OF_HOST_LAUNCH:
        take_host(record, kind == OF_HOST_NODE);
        break;
    default:
        facts()->unknown++;
        break;
    }
}

static int next(uint8_t *buffer, size_t bytes, uint8_t **record)
{
    const hu_cupti *c = &hu_the_cupti;

    return c->subscriber ? c->next_record_2(c->subscriber, buffer, bytes, record) : c->next_record(buffer, bytes, record);
}

/* The next record that lies in the buffer.  False: that was the last one, and `code` says why. */
static bool has_next(uint8_t *at, size_t bytes, uint8_t **record, int *code)
{
    if (!bytes || (*code = next(at, bytes, record)) != HU_CUPTI_OK || !*record)
        return false;
    return *record >= at && *record < at + bytes;
}

uint64_t hu_cupti_count(uint8_t *at, size_t valid_bytes)
{
    uint8_t *record = NULL;
    uint64_t n = 0;
    int      code;

    while (has_next(at, valid_bytes, &record, &code))
        n++;
    return n;
}

void hu_cupti_decode(hu_buffer *b)
{
    uint8_t *record = NULL;
    int      code = HU_CUPTI_OK;

    while (has_next(b->at, b->valid, &record, &code)) {
        facts()->records++;
        if (b->is_spare)
            facts()->thrown++;
        else
            take_record(record);
    }
    facts()->no_time += code == HU_CUPTI_INVALID_KIND;
}
