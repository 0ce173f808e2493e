/* SPDX-License-Identifier: Apache-2.0
 * pf_opencl.c - what our layer of OpenCL saw: calls on the threads that made them, commands on a row for each queue, and who
 * waits for which command; linked by correlation.
 *
 * A device has a clock of its own.  The ring's head holds moments at which both clocks were read, each with its error.
 * Where one distance fits them all, that is the map, and differences between times of a device are exact; else the clocks
 * drift, and a line through the moments is the map.  A duration is always the device's own.
 *
 * A queue is a stream.  Commands of a queue out of order run at once, so such a queue is as many streams as commands of its
 * ran at once: number, number + 10000, ...  Waits are notes without length on a row of their own: a command's by "Command
 * Wait", a call's by "Queue Sync" and "Command Sync"; a barrier of a queue out of order is a "Queue Barrier".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/pf.h"

enum { MOST_LANES = 16, LANE_STEP = 10000, TEXT_BYTES = 112, EACH_WAIT = 3 };

#define MOST_NS (INT64_C(1) << 60)

static const double MOST_SLOPE = 0.01; /* of a clock that counts ns */

typedef struct {
    int64_t host_ns, error_ns;
    double  distance_ns; /* of the host's clock from the device's, from where the first knot has it */
} knot;

typedef struct {
    uint64_t first_ns; /* of the device's clock: the first knot's */
    int64_t  host_ns;  /* the host's then */
    double   slope;    /* ns that the host's clock gains in one of the device's */
    int64_t  error_ns; /* at most so wrong; -1: there is no knot */
    bool     is_exact; /* one distance fits all */
} device_clock;

typedef struct {
    uint64_t track[MOST_LANES];
    int64_t  free_ns[MOST_LANES];
    uint32_t n;
} row;

struct hu_pf_cl {
    device_clock clock[HU_OPENCL_DEVICES];
    uint64_t     base, last; /* correlations of this process begin behind base; the last one */
    uint32_t     first_device;
    hu_map       row_of; /* queue -> place */
    HU_VEC(row) rows;
    uint64_t waits; /* the row of waits; 0: there is none yet */
};

/* clocks */

/* One distance for all moments, in the middle of what is possible.  False: there is none. */
static bool fit_distance(const knot *k, size_t n, device_clock *out)
{
    double low = -INFINITY, high = INFINITY;

    for (size_t i = 0; i < n; i++) {
        low = fmax(low, k[i].distance_ns - (double)k[i].error_ns);
        high = fmin(high, k[i].distance_ns + (double)k[i].error_ns);
    }
    if (low > high)
        return false;
    out->host_ns += llround((low + high) / 2);
    out->error_ns = (int64_t)ceil((high - low) / 2) + 1;
    return true;
}

/* Least squares, a moment the heavier the smaller its error. */
static void fit_line(const knot *k, const double *at, size_t n, device_clock *out)
{
    double weight = 0, x = 0, y = 0, xx = 0, xy = 0, start, worst = 0, least = INFINITY;

    for (size_t i = 0; i < n; i++) {
        const double w = 1 / ((double)k[i].error_ns * (double)k[i].error_ns);

        weight += w;
        x += w * at[i];
        y += w * k[i].distance_ns;
        xx += w * at[i] * at[i];
        xy += w * at[i] * k[i].distance_ns;
    }
    out->slope = weight * xx - x * x > 0 ? (weight * xy - x * y) / (weight * xx - x * x) : 0;
    out->slope = fmax(-MOST_SLOPE, fmin(MOST_SLOPE, out->slope));
    start = (y - out->slope * x) / weight;
    for (size_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(k[i].distance_ns - start - out->slope * at[i]) - (double)k[i].error_ns);
        least = fmin(least, (double)k[i].error_ns);
    }
    out->host_ns += llround(start);
    out->error_ns = (int64_t)ceil(fmin(worst + least, (double)MOST_NS)) + 1;
}

static void fit_clock(hu_pf *p, uint32_t device, device_clock *out)
{
    const hu_opencl_facts *f = &hu_ring_get_head(p->ring)->opencl;
    knot                   knots[HU_OPENCL_KNOTS];
    double                 at[HU_OPENCL_KNOTS];
    device_clock           line;
    size_t                 n = 0;

    *out = (device_clock){.error_ns = -1};
    for (uint32_t i = 0; i < f->n_knots && i < HU_OPENCL_KNOTS; i++) {
        const hu_opencl_knot *k = &f->knots[i];
        const int64_t         host = hu_pf_ns(p, k->ticks);

        if (k->device != device || k->error_ticks > UINT64_MAX - k->ticks)
            continue;
        if (n == 0)
            *out = (device_clock){.first_ns = k->device_ns, .host_ns = host, .error_ns = 0};
        at[n] = (double)(int64_t)(k->device_ns - out->first_ns);
        if (host > MOST_NS || host < -MOST_NS || llabs((int64_t)(k->device_ns - out->first_ns)) > MOST_NS)
            continue;
        knots[n] = (knot){.host_ns = host,
                          .error_ns = hu_pf_ns(p, k->ticks + k->error_ticks) - host + 1,
                          .distance_ns = (double)(host - out->host_ns) - at[n]};
        n++;
    }
    if (n == 0) {
        out->error_ns = -1;
        return;
    }
    line = *out;
    out->is_exact = fit_distance(knots, n, out);
    if (!out->is_exact) {
        fit_line(knots, at, n, &line);
        *out = line;
    }
}

/* False: no clock that ran so long. */
static bool to_host(const device_clock *c, uint64_t device_ns, int64_t *out)
{
    const int64_t since = (int64_t)(device_ns - c->first_ns);

    if (c->error_ns < 0 || since > MOST_NS || since < -MOST_NS || c->host_ns > MOST_NS || c->host_ns < -MOST_NS)
        return false;
    *out = c->host_ns + since + (c->is_exact ? 0 : llround(c->slope * (double)since));
    return *out <= MOST_NS && *out >= -MOST_NS;
}

bool hu_pf_opencl_begin(hu_pf *p)
{
    const hu_ring_head *head = hu_ring_get_head(p->ring);
    struct hu_pf_cl    *c;

    p->cl = NULL;
    if (!(head->doors & HU_DOOR_OPENCL))
        return true;
    c = hu_arena_calloc(p->scratch, 1, sizeof *c);
    if (!c || !hu_map_init(&c->row_of, p->scratch, 16))
        return false;
    p->cl = c;
    c->first_device = head->cuda.n_devices <= HU_GPU_DEVICES_MAX ? head->cuda.n_devices : 0;
    c->base = c->last = p->correlation_base + (head->cuda.records ? UINT64_C(1) << 31 : 0);
    for (uint32_t i = 0; i < HU_OPENCL_DEVICES; i++) {
        fit_clock(p, i, &c->clock[i]);
        if (c->clock[i].error_ns > p->tally.clock_error_ns)
            p->tally.clock_error_ns = c->clock[i].error_ns;
    }
    return true;
}

void hu_pf_opencl_end(hu_pf *p)
{
    if (p->cl && p->cl->last > p->correlation_base)
        p->correlation_base = p->cl->last;
}

/* values */

static void whole(hu_pf *p, hu_pf_event *e, hu_pf_word name, int64_t value)
{
    hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_INT)->whole = value;
}

static int64_t correlation_of(struct hu_pf_cl *c, uint64_t number)
{
    const uint64_t all = c->base + (uint32_t)number;

    c->last = all > c->last ? all : c->last;
    return (int64_t)all;
}

static const hu_record *find_more(const hu_ring_event *e, hu_more kind)
{
    for (uint32_t i = 0; i < e->n_more; i++)
        if (e->more[i].aux == kind)
            return &e->more[i];
    return NULL;
}

static uint32_t name_of(const hu_pf *p, uint32_t id)
{
    return hu_ring_text(p->ring, id).n ? id : HU_PF_OWN + HU_PF_UNNAMED;
}

static void write_both(hu_pf *p, hu_pf_sequence *s, hu_pf_event *e, int64_t end_ns)
{
    hu_pf_event over = {
        .type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .ns = end_ns, .track = e->track, .text = HU_STR("")};

    hu_pf_write(p, s, e);
    hu_pf_write(p, s, &over);
}

/* calls */

static void add_note(hu_pf *p, hu_pf_sequence *s, const hu_record *call, hu_pf_word word, int64_t ns, uint32_t queue,
                     uint64_t awaited)
{
    hu_pf_event e = {.type = HU_PT_TYPE_BEGIN,
                     .category = HU_PF_OF_CL_SYNC,
                     .ns = ns,
                     .name = HU_PF_OWN + word,
                     .track = p->cl->waits,
                     .text = HU_STR("")};

    if (queue)
        whole(p, &e, HU_PF_STREAM, queue);
    whole(p, &e, HU_PF_CORRELATION, correlation_of(p->cl, call->b));
    if (awaited) {
        whole(p, &e, HU_PF_WAIT_STREAM, (int64_t)(awaited >> 32));
        whole(p, &e, HU_PF_WAIT_RECORD, correlation_of(p->cl, awaited));
    }
    write_both(p, s, &e, ns);
}

static void add_waits(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from, uint32_t queue, int64_t ns)
{
    const hu_record *r = from->record;
    const bool       waits_queue = r->aux & HU_OPENCL_WAITS_QUEUE;
    const bool       is_barrier = r->aux & HU_OPENCL_ORDERS && r->aux & HU_OPENCL_UNORDERED;
    const hu_pf_word word = r->aux & HU_OPENCL_WAITS_EVENTS ? HU_PF_COMMAND_SYNC : HU_PF_COMMAND_WAIT;

    if (!waits_queue && !is_barrier && !find_more(from, HU_MORE_OPENCL_WAIT))
        return;
    if (!p->cl->waits) {
        p->cl->waits = ++p->last_uuid;
        hu_pf_row(p, s, p->cl->waits, p->process_track, HU_STR("OpenCL waits"), false);
    }
    if (waits_queue)
        add_note(p, s, r, HU_PF_QUEUE_SYNC, ns, queue, 0);
    if (is_barrier)
        add_note(p, s, r, HU_PF_QUEUE_BARRIER, ns, queue, 0);
    for (uint32_t i = 0; i < from->n_more; i++) {
        const hu_record *m = &from->more[i];
        const uint64_t   numbers[EACH_WAIT] = {m->time, m->a, m->b};

        for (uint32_t k = 0; m->aux == HU_MORE_OPENCL_WAIT && k < m->id && k < EACH_WAIT; k++)
            if ((uint32_t)numbers[k])
                add_note(p, s, r, word, ns, queue, numbers[k]);
    }
}

static void call(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from)
{
    const hu_record *r = from->record, *queue = find_more(from, HU_MORE_OPENCL_QUEUE);
    const int32_t    code = (int32_t)(r->b >> 32);
    hu_pf_event      e = {.type = HU_PT_TYPE_BEGIN,
                          .category = HU_PF_OF_CL_RUNTIME,
                          .ns = hu_pf_ns(p, r->time),
                          .name = name_of(p, r->id),
                          .text = HU_STR("")};
    uint64_t         until;
    int64_t          end_ns = __builtin_add_overflow(r->time, r->a, &until) ? e.ns : hu_pf_ns(p, until);

    end_ns = end_ns > e.ns ? end_ns : e.ns;
    whole(p, &e, HU_PF_CORRELATION, correlation_of(p->cl, r->b));
    if (queue) {
        whole(p, &e, HU_PF_QUEUE, queue->id);
        if (queue->a)
            whole(p, &e, HU_PF_BYTES, (int64_t)queue->a);
    }
    if (code)
        whole(p, &e, HU_PF_RESULT, code);
    write_both(p, s, &e, end_ns);
    add_waits(p, s, from, queue ? queue->id : 0, end_ns);
}

/* commands */

/* A lane of the queue that is free by then; 0: no memory. */
static uint64_t lane_of(hu_pf *p, hu_pf_sequence *s, uint32_t device, uint32_t queue, int64_t start_ns, int64_t end_ns,
                        uint32_t *lane)
{
    struct hu_pf_cl *c = p->cl;
    uint32_t        *place = hu_map_put(&c->row_of, (uint64_t)device << 32 | queue), i = 0;
    char             name[TEXT_BYTES];
    row             *r;

    if (place && *place == HU_MAP_NONE && hu_vec_push(p->scratch, &c->rows, (row){0}))
        *place = (uint32_t)c->rows.n - 1;
    if (!place || *place == HU_MAP_NONE)
        return 0;
    r = &c->rows.at[*place];
    while (i < r->n && i + 1 < MOST_LANES && r->free_ns[i] > start_ns)
        i++;
    if (i == r->n) {
        r->track[i] = ++p->last_uuid;
        r->n++;
        snprintf(name, sizeof name, "OpenCL device %u queue %u", device, queue);
        hu_pf_row(p, s, r->track[i], p->process_track, hu_str_of(name), true);
    }
    r->free_ns[i] = end_ns > r->free_ns[i] ? end_ns : r->free_ns[i];
    *lane = i;
    return r->track[i];
}

static hu_str triple(char out[TEXT_BYTES], uint64_t x, uint64_t y, uint64_t z)
{
    const int n = snprintf(out, TEXT_BYTES, "[%llu, %llu, %llu]", (unsigned long long)x, (unsigned long long)y,
                           (unsigned long long)z);

    return (hu_str){out, n > 0 ? (size_t)n : 0};
}

/* Groups and the size of one, as of a grid of blocks; a size that was left to the device is not known. */
static void add_size(hu_pf *p, hu_pf_event *e, const hu_record *m, char grid[TEXT_BYTES], char block[TEXT_BYTES])
{
    const uint64_t global[3] = {m->a & UINT32_MAX, m->a >> 32, m->b & UINT32_MAX};
    const uint64_t local[3] = {m->b >> 32, m->time & UINT32_MAX, m->time >> 32};
    uint64_t       groups[3];

    if (!local[0] || !local[1] || !local[2])
        return;
    for (int i = 0; i < 3; i++)
        groups[i] = (global[i] + local[i] - 1) / local[i];
    hu_pf_add(p, e, HU_PF_OWN + HU_PF_GRID, HU_PF_TEXT)->text = triple(grid, groups[0], groups[1], groups[2]);
    hu_pf_add(p, e, HU_PF_OWN + HU_PF_BLOCK, HU_PF_TEXT)->text = triple(block, local[0], local[1], local[2]);
}

static bool command(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from, const hu_record *times, hu_opencl_kind kind)
{
    static const hu_pf_category categories[HU_OPENCL_KINDS] = {[HU_OPENCL_KERNEL] = HU_PF_OF_KERNEL,
                                                               [HU_OPENCL_COPY] = HU_PF_OF_COPY,
                                                               [HU_OPENCL_MAP] = HU_PF_OF_COPY,
                                                               [HU_OPENCL_FILL] = HU_PF_OF_FILL};
    const hu_record            *r = from->record, *size = find_more(from, HU_MORE_OPENCL_SIZE);
    const hu_record            *bytes = find_more(from, HU_MORE_OPENCL_BYTES);
    const uint32_t              queue = r->b >> 32 & 0xffffff, device = (uint32_t)(r->b >> 56);
    const device_clock         *clock = &p->cl->clock[device < HU_OPENCL_DEVICES ? device : 0];
    char                        grid[TEXT_BYTES], block[TEXT_BYTES];
    uint32_t                    lane = 0;
    hu_pf_event e = {.type = HU_PT_TYPE_BEGIN, .category = categories[kind], .name = name_of(p, r->id), .text = HU_STR("")};

    if (kind == HU_OPENCL_MARKER)
        return true; /* others refer to it */
    if (device >= HU_OPENCL_DEVICES || !to_host(clock, times->b, &e.ns) || r->a > MOST_NS) {
        p->tally.damage.odd++;
        return true;
    }
    e.track = lane_of(p, s, p->cl->first_device + device, queue, e.ns, e.ns + (int64_t)r->a, &lane);
    if (!e.track)
        return false;
    whole(p, &e, HU_PF_DEVICE, p->cl->first_device + device);
    whole(p, &e, HU_PF_STREAM, queue + (r->aux & HU_OPENCL_UNORDERED ? lane * LANE_STEP : 0));
    whole(p, &e, HU_PF_CORRELATION, correlation_of(p->cl, r->b));
    whole(p, &e, HU_PF_CL_QUEUED, (int64_t)times->time);
    whole(p, &e, HU_PF_CL_SUBMITTED, (int64_t)times->a);
    whole(p, &e, HU_PF_CL_STARTED, (int64_t)times->b);
    whole(p, &e, HU_PF_CL_ENDED, (int64_t)(times->b + r->a));
    if (size)
        add_size(p, &e, size, grid, block);
    if (bytes) {
        whole(p, &e, HU_PF_BYTES, (int64_t)bytes->a);
        if (r->a)
            hu_pf_add(p, &e, HU_PF_OWN + HU_PF_BANDWIDTH, HU_PF_DOUBLE)->real = (double)bytes->a / (double)r->a;
    }
    write_both(p, s, &e, e.ns + (int64_t)r->a);
    return true;
}

bool hu_pf_opencl_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from)
{
    const hu_opencl_kind kind = (hu_opencl_kind)(from->record->aux & ((1u << HU_OPENCL_KIND_BITS) - 1));
    const hu_record     *times = find_more(from, HU_MORE_OPENCL_TIMES);

    if (p->cl && kind == HU_OPENCL_CALL) {
        call(p, s, from);
        return true;
    }
    if (p->cl && kind < HU_OPENCL_KINDS && times)
        return command(p, s, from, times, kind);
    p->tally.damage.odd++;
    return true;
}
