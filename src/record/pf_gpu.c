/* SPDX-License-Identifier: Apache-2.0
 * pf_gpu.c - what CUPTI said, as PyTorch's profiler would have written it: kernels and copies on a row for each stream,
 * calls on the threads that made them, waits, costs and memory on rows of their own; linked by correlation.
 *
 * The records are read twice: first for what others refer to (which device a context is on, when events were recorded),
 * then to be written.  They come in no order, so an event is written with its end behind it, and a row whose last event ends
 * later gets a second lane of the same name: branches of a graph run at the same time.
 *
 * Correlations are counted in each process, from 1; in a file of several processes those of the next begin behind.
 */
#include <stdio.h>
#include <stdlib.h>

#include "record/pf_gpu_borders.h"

enum { MOST_LANES = 16, TEXT_BYTES = 96 };

/* Of work, of waits, of costs: what a row is about. */
typedef enum { OF_WORK, OF_WAITS, OF_COSTS } about;

typedef struct {
    uint64_t track[MOST_LANES];
    int64_t  free_ns[MOST_LANES];
    uint32_t n;
} row;

/* An event that was recorded on a stream. */
typedef struct {
    uint64_t sync;
    uint32_t context, event, correlation, stream;
} event_record;

typedef struct {
    int64_t  ns, bytes; /* bytes: less than 0 for what is given back */
    uint32_t device;
} memory_change;

struct hu_pf_gpu {
    hu_map row_of, device_of, thread_of; /* place of a row; device of a context; place of a thread's track */
    HU_VEC(row) rows;
    HU_VEC(uint64_t) threads;
    HU_VEC(event_record) events;
    HU_VEC(memory_change) memory;
    hu_gpu_borders borders;
    hu_map         bytes_at; /* place in `sizes` of what lies at an address */
    HU_VEC(int64_t) sizes;
    uint64_t last_correlation;
};

/* A record with what is behind it; NULL: it has none of that kind. */
typedef struct {
    const hu_record *r, *place, *launch, *bytes, *event, *memory;
    uint32_t         correlation, high, stream, context, graph;
    hu_gpu_kind      kind;
} activity;

static activity read_activity(const hu_ring_event *e)
{
    activity a = {.r = e->record,
                  .kind = (hu_gpu_kind)(e->record->aux & ((1u << HU_GPU_KIND_BITS) - 1)),
                  .correlation = (uint32_t)e->record->b,
                  .high = (uint32_t)(e->record->b >> 32),
                  .stream = HU_GPU_NONE,
                  .context = HU_GPU_NONE};

    for (uint32_t i = 0; i < e->n_more; i++) {
        const hu_record *m = &e->more[i];

        if (m->aux == HU_MORE_GPU_PLACE)
            a.place = m;
        else if (m->aux == HU_MORE_GPU_LAUNCH)
            a.launch = m;
        else if (m->aux == HU_MORE_GPU_BYTES)
            a.bytes = m;
        else if (m->aux == HU_MORE_GPU_EVENT)
            a.event = m;
        else if (m->aux == HU_MORE_GPU_MEMORY)
            a.memory = m;
    }
    if (a.place) {
        a.stream = a.place->id;
        a.context = (uint32_t)a.place->a;
        a.graph = (uint32_t)(a.place->a >> 32);
    }
    return a;
}

/* first reading */

static bool has_device(hu_gpu_kind kind)
{
    return kind == HU_GPU_KERNEL || kind == HU_GPU_COPY || kind == HU_GPU_FILL || kind == HU_GPU_GRAPH ||
           kind == HU_GPU_CONTEXT;
}

static bool survey(hu_pf *p, const activity *a)
{
    hu_pf_gpu *g = p->gpu;
    uint32_t  *device;

    if (a->place && has_device(a->kind)) {
        device = hu_map_put(&g->device_of, a->context);
        if (!device)
            return false;
        *device = a->high;
    }
    if ((a->kind == HU_GPU_RUNTIME || a->kind == HU_GPU_DRIVER) &&
        !hu_gpu_borders_add_call(p, &g->borders, a->correlation, a->r->time))
        return false;
    if (a->kind == HU_GPU_EVENT && a->event)
        return hu_vec_push(p->scratch, &g->events,
                           ((event_record){a->event->b, a->context, (uint32_t)a->event->a, a->correlation, a->stream}));
    return true;
}

static int by_event(const void *a, const void *b)
{
    const event_record *x = a, *y = b;

    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

bool hu_pf_gpu_begin(hu_pf *p, const hu_ring_thread *thread)
{
    hu_pf_gpu     *g = hu_arena_calloc(p->scratch, 1, sizeof *g);
    hu_ring_cursor c;
    hu_ring_event  e;

    p->gpu = g;
    p->readable = hu_arena_calloc(p->scratch, p->n_ids + 1, sizeof *p->readable);
    if (!g || !p->readable || !hu_map_init(&g->row_of, p->scratch, 0) || !hu_map_init(&g->device_of, p->scratch, 0) ||
        !hu_map_init(&g->thread_of, p->scratch, 0) || !hu_map_init(&g->bytes_at, p->scratch, 0) ||
        !hu_gpu_borders_find(p, &g->borders))
        return false;
    hu_ring_start(p->ring, thread, NULL, &c);
    while (hu_ring_next(&c, &e)) {
        const activity a = read_activity(&e);

        if (e.record->type == HU_RECORD_GPU && !survey(p, &a))
            return false;
    }
    hu_gpu_borders_sort(&g->borders);
    if (g->events.n)
        qsort(g->events.at, g->events.n, sizeof *g->events.at, by_event);
    return true;
}

/* rows */

static uint32_t device_of(const hu_pf *p, const activity *a)
{
    return has_device(a->kind) || a->kind == HU_GPU_MEMORY ? a->high : hu_map_get(&p->gpu->device_of, a->context);
}

static void name_row(about what, uint32_t device, uint32_t stream, char out[TEXT_BYTES])
{
    char gpu[24] = "GPU", of[32] = "";

    if (device != HU_GPU_NONE)
        snprintf(gpu, sizeof gpu, "GPU %u", device);
    if (stream != HU_GPU_NONE)
        snprintf(of, sizeof of, " stream %u", stream);
    if (what == OF_COSTS)
        snprintf(out, TEXT_BYTES, "costs of CUDA and CUPTI");
    else
        snprintf(out, TEXT_BYTES, "%s%s%s", gpu, of, what == OF_WAITS ? " waits" : "");
}

/* A lane of the row that is free by then; 0: no memory. */
static uint64_t lane_of(hu_pf *p, hu_pf_sequence *s, about what, uint32_t device, uint32_t stream, int64_t start_ns,
                        int64_t end_ns)
{
    hu_pf_gpu *g = p->gpu;
    uint32_t  *place = hu_map_put(&g->row_of, (uint64_t)what << 62 ^ (uint64_t)device << 32 ^ stream), i = 0;
    char       name[TEXT_BYTES];
    row       *r;

    if (place && *place == HU_MAP_NONE && hu_vec_push(p->scratch, &g->rows, (row){0}))
        *place = (uint32_t)g->rows.n - 1;
    if (!place || *place == HU_MAP_NONE)
        return 0;
    r = &g->rows.at[*place];
    while (i < r->n && i + 1 < MOST_LANES && r->free_ns[i] > start_ns)
        i++;
    if (i == r->n) {
        r->track[i] = ++p->last_uuid;
        r->n++;
        name_row(what, device, stream, name);
        hu_pf_row(p, s, r->track[i], p->process_track, hu_str_of(name), true);
    }
    r->free_ns[i] = end_ns > r->free_ns[i] ? end_ns : r->free_ns[i];
    return r->track[i];
}

/* The track of a thread by its number: where its own records lie, if it has any. */
static uint64_t thread_track(hu_pf *p, hu_pf_sequence *s, uint32_t tid)
{
    hu_pf_gpu            *g = p->gpu;
    uint32_t             *place = hu_map_put(&g->thread_of, tid);
    const hu_ring_thread *threads;
    uint64_t              track = 0;
    size_t                n;

    if (!place)
        return 0;
    if (*place != HU_MAP_NONE)
        return g->threads.at[*place];
    threads = hu_ring_threads(p->ring, &n);
    for (size_t i = 0; i < n; i++)
        if (threads[i].tid == tid)
            track = hu_pf_track_of(p, threads[i].thread);
    if (!track) {
        track = ++p->last_uuid;
        hu_pf_describe_thread(p, s, track, tid, HU_STR(""));
    }
    if (!hu_vec_push(p->scratch, &g->threads, track))
        return 0;
    *place = (uint32_t)g->threads.n - 1;
    return track;
}

/* values */

static void whole(hu_pf *p, hu_pf_event *e, hu_pf_word name, int64_t value)
{
    hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_INT)->whole = value;
}

static void real(hu_pf *p, hu_pf_event *e, hu_pf_word name, double value)
{
    hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_DOUBLE)->real = value;
}

static void text(hu_pf *p, hu_pf_event *e, hu_pf_word name, hu_str value)
{
    hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_TEXT)->text = value;
}

static int64_t correlation_of(hu_pf *p, uint32_t correlation)
{
    const uint64_t number = p->correlation_base + correlation;

    if (correlation && number > p->gpu->last_correlation)
        p->gpu->last_correlation = number;
    return (int64_t)number;
}

static void add_correlation(hu_pf *p, hu_pf_event *e, uint32_t correlation)
{
    if (correlation)
        whole(p, e, HU_PF_CORRELATION, correlation_of(p, correlation));
}

static void add_place(hu_pf *p, hu_pf_event *e, const activity *a, uint32_t device)
{
    if (device != HU_GPU_NONE)
        whole(p, e, HU_PF_DEVICE, device);
    if (a->context != HU_GPU_NONE)
        whole(p, e, HU_PF_CONTEXT, a->context);
    whole(p, e, HU_PF_STREAM, a->stream == HU_GPU_NONE ? -1 : (int64_t)a->stream);
    add_correlation(p, e, a->correlation);
    if (a->graph) {
        whole(p, e, HU_PF_GRAPH, a->graph);
        whole(p, e, HU_PF_NODE, (uint32_t)a->place->b); /* its upper half is the graph again */
    }
}

static hu_str triple(char out[TEXT_BYTES], uint64_t x, uint64_t y, uint64_t z)
{
    const int n = snprintf(out, TEXT_BYTES, "[%llu, %llu, %llu]", (unsigned long long)x, (unsigned long long)y,
                           (unsigned long long)z);

    return (hu_str){out, n > 0 ? (size_t)n : 0};
}

static const hu_gpu_device *find_device(const hu_pf *p, uint32_t id)
{
    const hu_cuda_facts *facts = &hu_ring_get_head(p->ring)->cuda;

    for (uint32_t i = 0; i < facts->n_devices && i < HU_GPU_DEVICES_MAX; i++)
        if (facts->devices[i].id == id)
            return &facts->devices[i];
    return NULL;
}

/* Grid and block must live as long as the event. */
static void add_launch(hu_pf *p, hu_pf_event *e, const activity *a, char grid[TEXT_BYTES], char block[TEXT_BYTES])
{
    const hu_record     *l = a->launch;
    const uint64_t       x = l->a & UINT32_MAX, y = l->a >> 32, z = l->b & UINT32_MAX;
    const uint64_t       i = l->time & UINT16_MAX, j = l->time >> 16 & UINT16_MAX, k = l->time >> 32 & UINT16_MAX;
    const hu_gpu_device *d = find_device(p, a->high);
    const double         blocks = (double)x * (double)y * (double)z, threads = (double)(i * j * k);

    whole(p, e, HU_PF_REGISTERS, (int64_t)(l->time >> 48));
    whole(p, e, HU_PF_SHARED_MEMORY, (int64_t)(l->b >> 32));
    text(p, e, HU_PF_GRID, triple(grid, x, y, z));
    text(p, e, HU_PF_BLOCK, triple(block, i, j, k));
    if (d && d->sm_count && d->warp_size) {
        real(p, e, HU_PF_BLOCKS_PER_SM, blocks / d->sm_count);
        real(p, e, HU_PF_WARPS_PER_SM, blocks / d->sm_count * threads / d->warp_size);
    }
    if (l->id != HU_GPU_NO_PRIORITY)
        whole(p, e, HU_PF_PRIORITY, (int32_t)l->id);
    if (a->place && a->place->time)
        whole(p, e, HU_PF_QUEUED, hu_pf_ns(p, a->place->time));
}

static void add_bytes(hu_pf *p, hu_pf_event *e, const activity *a, int64_t took_ns)
{
    const uint32_t from = (uint32_t)a->bytes->b, to = (uint32_t)(a->bytes->b >> 32);

    whole(p, e, HU_PF_BYTES, (int64_t)a->bytes->a);
    if (took_ns > 0)
        real(p, e, HU_PF_BANDWIDTH, (double)a->bytes->a / (double)took_ns);
    if (from != HU_GPU_NONE)
        whole(p, e, HU_PF_FROM_DEVICE, from);
    if (to != HU_GPU_NONE)
        whole(p, e, HU_PF_TO_DEVICE, to);
}

/* events */

static uint32_t name_of(const hu_pf *p, uint32_t id)
{
    return hu_ring_text(p->ring, id).n ? id : HU_PF_OWN + HU_PF_UNNAMED;
}

/* Of C++ where libstdc++ is: looked up once for each name. */
static uint32_t kernel_name(hu_pf *p, uint32_t id)
{
    const hu_str name = hu_ring_text(p->ring, id);

    if (name.n && id < p->n_ids && !p->readable[id].p && p->symbols)
        p->readable[id] = hu_symbols_demangle(p->symbols, name);
    return name_of(p, id);
}

static int64_t end_of(hu_pf *p, const activity *a, int64_t start_ns)
{
    uint64_t until;
    int64_t  ns = __builtin_add_overflow(a->r->time, a->r->a, &until) ? start_ns : hu_pf_ns(p, until);

    return ns > start_ns ? ns : start_ns;
}

static void write_both(hu_pf *p, hu_pf_sequence *s, hu_pf_event *e, int64_t end_ns)
{
    hu_pf_event over = {
        .type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .ns = end_ns, .track = e->track, .text = HU_STR("")};

    hu_pf_write(p, s, e);
    over.ns = end_ns > e->ns ? end_ns : e->ns;
    hu_pf_write(p, s, &over);
}

static hu_pf_event begin_at(hu_pf *p, const activity *a, hu_pf_category category, uint32_t name)
{
    return (hu_pf_event){
        .type = HU_PT_TYPE_BEGIN, .category = category, .ns = hu_pf_ns(p, a->r->time), .name = name, .text = HU_STR("")};
}

static bool work(hu_pf *p, hu_pf_sequence *s, const activity *a)
{
    static const hu_pf_category categories[] = {[HU_GPU_KERNEL] = HU_PF_OF_KERNEL,
                                                [HU_GPU_COPY] = HU_PF_OF_COPY,
                                                [HU_GPU_FILL] = HU_PF_OF_FILL,
                                                [HU_GPU_GRAPH] = HU_PF_OF_KERNEL};
    char                        grid[TEXT_BYTES], block[TEXT_BYTES], graph[TEXT_BYTES];
    hu_pf_event                 e = begin_at(p, a, categories[a->kind], 0);
    const int64_t               end_ns = end_of(p, a, e.ns);

    if (a->kind == HU_GPU_GRAPH) {
        snprintf(graph, sizeof graph, "CUDA graph %u", a->graph);
        e.text = hu_str_of(graph);
    } else {
        e.name = a->kind == HU_GPU_KERNEL ? kernel_name(p, a->r->id) : name_of(p, a->r->id);
    }
    e.track = lane_of(p, s, OF_WORK, a->high, a->stream, e.ns, end_ns);
    if (!e.track)
        return false;
    add_place(p, &e, a, a->high);
    if (a->launch)
        add_launch(p, &e, a, grid, block);
    if (a->bytes)
        add_bytes(p, &e, a, end_ns - e.ns);
    write_both(p, s, &e, end_ns);
    return true;
}

/* On its thread; also a function that a stream called there. */
static bool on_thread(hu_pf *p, hu_pf_sequence *s, const activity *a)
{
    static const hu_pf_category categories[] = {
        [HU_GPU_RUNTIME] = HU_PF_OF_RUNTIME, [HU_GPU_DRIVER] = HU_PF_OF_DRIVER, [HU_GPU_HOST] = HU_PF_OF_HOST};
    hu_pf_event    e = begin_at(p, a, categories[a->kind], name_of(p, a->r->id));
    const uint32_t result = a->high >> HU_GPU_TID_BITS;

    e.track = thread_track(p, s, a->high & ((1u << HU_GPU_TID_BITS) - 1));
    if (!e.track)
        return false;
    if (a->kind != HU_GPU_HOST)
        whole(p, &e, HU_PF_CBID, a->r->aux >> HU_GPU_KIND_BITS);
    else if (a->stream != HU_GPU_NONE)
        whole(p, &e, HU_PF_STREAM, a->stream);
    add_correlation(p, &e, a->correlation);
    if (a->kind != HU_GPU_HOST && result)
        whole(p, &e, HU_PF_RESULT, result);
    write_both(p, s, &e, end_of(p, a, e.ns));
    return true;
}

/* An event is recorded again and again: the last time before the wait, or the one that says it is its own. */
static const event_record *find_event(const hu_pf_gpu *g, const activity *a)
{
    const event_record  wait = {.context = a->context, .event = (uint32_t)a->event->a, .correlation = a->correlation};
    const event_record *found = NULL;
    size_t              low = 0, high = g->events.n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (by_event(&g->events.at[middle], &wait) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && g->events.at[low].context == wait.context && g->events.at[low].event == wait.event) {
        found = found ? found : &g->events.at[low];
        if (!a->event->b || g->events.at[low].sync == a->event->b)
            return &g->events.at[low];
    }
    return found;
}

static bool wait(hu_pf *p, hu_pf_sequence *s, const activity *a)
{
    const uint32_t device = device_of(p, a);
    const hu_str   name = hu_ring_text(p->ring, a->r->id);
    const bool    is_for_event = hu_str_equal(name, HU_STR("Event Sync")) || hu_str_equal(name, HU_STR("Stream Wait Event"));
    hu_pf_event   e = begin_at(p, a, HU_PF_OF_SYNC, name_of(p, a->r->id));
    const int64_t end_ns = end_of(p, a, e.ns);
    const event_record *event = is_for_event && a->event ? find_event(p->gpu, a) : NULL;

    e.track = lane_of(p, s, OF_WAITS, device, a->stream, e.ns, end_ns);
    if (!e.track)
        return false;
    text(p, &e, HU_PF_SYNC_KIND, name);
    add_place(p, &e, a, device);
    if (is_for_event && a->event)
        whole(p, &e, HU_PF_WAIT_EVENT, (int64_t)a->event->a);
    if (event) {
        whole(p, &e, HU_PF_WAIT_STREAM, event->stream);
        whole(p, &e, HU_PF_WAIT_RECORD, correlation_of(p, event->correlation));
    }
    write_both(p, s, &e, end_ns);
    return true;
}

static bool cost(hu_pf *p, hu_pf_sequence *s, const activity *a)
{
    hu_pf_event   e = begin_at(p, a, HU_PF_OF_OVERHEAD, name_of(p, a->r->id));
    const int64_t end_ns = end_of(p, a, e.ns);

    e.track = lane_of(p, s, OF_COSTS, HU_GPU_NONE, HU_GPU_NONE, e.ns, end_ns);
    if (!e.track)
        return false;
    if (a->high)
        whole(p, &e, HU_PF_THREAD, a->high & ((1u << HU_GPU_TID_BITS) - 1));
    add_correlation(p, &e, a->correlation);
    write_both(p, s, &e, end_ns);
    return true;
}

/* memory */

/* What is given back says how much it was, or else we know from when it was taken. */
static bool resize(hu_pf *p, const activity *a, int64_t *bytes)
{
    hu_pf_gpu *g = p->gpu;
    uint32_t  *place = hu_map_put(&g->bytes_at, a->memory->a);

    if (place && *place == HU_MAP_NONE && hu_vec_push(p->scratch, &g->sizes, 0))
        *place = (uint32_t)g->sizes.n - 1;
    if (!place || *place == HU_MAP_NONE)
        return false;
    *bytes = a->bytes->a < UINT64_C(1) << 50 ? (int64_t)a->bytes->a : 0;
    if ((a->memory->b & 0xff) == HU_GPU_TAKES)
        g->sizes.at[*place] = *bytes;
    else
        *bytes = -(*bytes ? *bytes : g->sizes.at[*place]);
    return true;
}

/* An allocation or release of device memory; that of pinned memory is the host's. */
static bool memory(hu_pf *p, hu_pf_sequence *s, const activity *a)
{
    enum { ON_DEVICE = 3, MANAGED = 5, GPU = 1 };
    const uint64_t kind = a->memory->b >> 8 & 0xff;
    hu_pf_event    e = begin_at(p, a, HU_PF_OF_NONE, HU_PF_OWN + HU_PF_MEMORY);
    int64_t        bytes;

    if (kind != ON_DEVICE && kind != MANAGED)
        return true;
    if (!resize(p, a, &bytes))
        return false;
    e.type = HU_PT_TYPE_INSTANT;
    e.track = p->process_track;
    whole(p, &e, HU_PF_DEVICE_TYPE, GPU);
    whole(p, &e, HU_PF_DEVICE_ID, a->high);
    whole(p, &e, HU_PF_ADDRESS, (int64_t)a->memory->a);
    whole(p, &e, HU_PF_ALLOC_BYTES, bytes);
    hu_pf_write(p, s, &e);
    return hu_vec_push(p->scratch, &p->gpu->memory, ((memory_change){e.ns, bytes, a->high}));
}

static int by_device_and_time(const void *a, const void *b)
{
    const memory_change *x = a, *y = b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void write_memory(hu_pf *p, hu_pf_sequence *s)
{
    const hu_pf_gpu *g = p->gpu;
    uint64_t         track = 0;
    double           total = 0;
    char             name[TEXT_BYTES];

    if (g->memory.n)
        qsort(g->memory.at, g->memory.n, sizeof *g->memory.at, by_device_and_time);
    for (size_t i = 0; i < g->memory.n; i++) {
        const memory_change *m = &g->memory.at[i];
        hu_pf_event          e = {.type = HU_PT_TYPE_COUNTER, .category = HU_PF_OF_NONE, .ns = m->ns, .text = HU_STR("")};

        if (i == 0 || m[-1].device != m->device) {
            track = ++p->last_uuid;
            total = 0;
            snprintf(name, sizeof name, "GPU %u memory allocated while recorded (bytes)", m->device);
            hu_pf_describe_counter(p, s, track, hu_str_of(name));
        }
        total += (double)m->bytes;
        e.track = track;
        e.counter = total;
        hu_pf_write(p, s, &e);
    }
}

static bool is_reference(hu_gpu_kind kind)
{
    return kind == HU_GPU_EVENT || kind == HU_GPU_CONTEXT || kind == HU_GPU_STREAM;
}

bool hu_pf_gpu_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from)
{
    const activity a = read_activity(from);

    if (!is_reference(a.kind) &&
        !hu_gpu_borders_have(&p->gpu->borders, has_device(a.kind) || a.kind == HU_GPU_HOST, a.correlation, a.r->time))
        return true;
    switch (a.kind) {
    case HU_GPU_KERNEL:
    case HU_GPU_COPY:
    case HU_GPU_FILL:
    case HU_GPU_GRAPH:
        if (a.place)
            return work(p, s, &a);
        break;
    case HU_GPU_RUNTIME:
    case HU_GPU_DRIVER:
    case HU_GPU_HOST:
        return on_thread(p, s, &a);
    case HU_GPU_WAIT:
        if (a.place)
            return wait(p, s, &a);
        break;
    case HU_GPU_COST:
        return cost(p, s, &a);
    case HU_GPU_MEMORY:
        if (a.memory && a.bytes)
            return memory(p, s, &a);
        break;
    case HU_GPU_EVENT:
    case HU_GPU_CONTEXT:
    case HU_GPU_STREAM:
        return true; /* others refer to it */
    case HU_GPU_KINDS:
        break;
    }
    p->tally.damage.odd++;
    return true;
}

bool hu_pf_gpu_end(hu_pf *p, hu_pf_sequence *s)
{
    write_memory(p, s);
    p->correlation_base = p->gpu->last_correlation;
    return !p->w.no_memory;
}
