/* SPDX-License-Identifier: Apache-2.0
 * pf_ranges.c - ranges that begin in one thread and may end in another: rows below the process.
 *
 * They overlap as they like, so each lies on a row where no other one is at that time; rows of a domain have one name,
 * under which a viewer puts them together.
 */
#include <stdlib.h>

#include "record/pf.h"

bool hu_pf_ranges_take(hu_pf *p, const hu_ring_event *e, uint32_t tid)
{
    const hu_pf_range range = {
        .record = *e->record, .order = p->ranges.n, .tid = tid, .more = (uint32_t)p->range_more.n, .n_more = e->n_more};

    for (uint32_t i = 0; i < e->n_more; i++)
        if (!hu_vec_push(p->scratch, &p->range_more, e->more[i]))
            return false;
    return hu_vec_push(p->scratch, &p->ranges, range);
}

static int by_handle(const void *a, const void *b)
{
    const hu_pf_range *x = a, *y = b;

    if (x->record.b != y->record.b)
        return x->record.b < y->record.b ? -1 : 1;
    if (x->record.time != y->record.time)
        return x->record.time < y->record.time ? -1 : 1;
    if (x->record.type != y->record.type) /* a beginning before an end of the same tick */
        return x->record.type == HU_RECORD_START ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A beginning with its end. */
typedef struct {
    const hu_pf_range *start;
    int64_t            start_ns, end_ns;
    bool               is_unfinished;
} whole;

static int by_domain_and_time(const void *a, const void *b)
{
    const whole *x = a, *y = b;

    if (x->start->record.aux != y->start->record.aux)
        return x->start->record.aux < y->start->record.aux ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->start->order < y->start->order ? -1 : x->start->order > y->start->order;
}

/* Pairs what has one handle, in the order of time; returns how many ranges there are. */
static size_t pair(hu_pf *p, whole *out)
{
    size_t n = 0;

    for (size_t i = 0; i < p->ranges.n; i++) {
        const hu_pf_range *r = &p->ranges.at[i];
        const bool has_end = i + 1 < p->ranges.n && r[1].record.b == r->record.b && r[1].record.type == HU_RECORD_STOP;

        if (r->record.type == HU_RECORD_STOP) {
            p->tally.orphans++;
            continue;
        }
        out[n] = (whole){r, hu_pf_ns(p, r->record.time), has_end ? hu_pf_ns(p, r[1].record.time) : p->last_ns, !has_end};
        if (out[n].end_ns < out[n].start_ns)
            out[n].end_ns = out[n].start_ns;
        n++;
        i += has_end;
    }
    return n;
}

/* Rows by when they become free: the earliest on top. */
typedef struct {
    int64_t  free_ns;
    uint64_t track;
} row;

static void sink(row *heap, size_t n)
{
    const row top = heap[0];
    size_t    i = 0;

    for (size_t child = 1; child < n; i = child, child = 2 * i + 1) {
        child += child + 1 < n && heap[child + 1].free_ns < heap[child].free_ns;
        if (heap[child].free_ns >= top.free_ns)
            break;
        heap[i] = heap[child];
    }
    heap[i] = top;
}

static void rise(row *heap, size_t i)
{
    const row last = heap[i];

    for (; i && heap[(i - 1) / 2].free_ns > last.free_ns; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = last;
}

static void write_range(hu_pf *p, hu_pf_sequence *s, const whole *w, uint64_t track)
{
    const hu_record    *r = &w->start->record;
    const hu_ring_event from = {r, w->start->n_more ? p->range_more.at + w->start->more : NULL, w->start->n_more};
    hu_pf_event         e = {
                .type = HU_PT_TYPE_BEGIN, .category = HU_PF_OF_USER, .ns = w->start_ns, .track = track, .text = HU_STR("")};
    char color[8];

    e.name = hu_ring_text(p->ring, r->id).n ? r->id : HU_PF_OWN + HU_PF_UNNAMED;
    hu_pf_add_range(p, &e, &from, color);
    hu_pf_add(p, &e, HU_PF_OWN + HU_PF_THREAD, HU_PF_INT)->whole = w->start->tid;
    hu_pf_write(p, s, &e);
    e = (hu_pf_event){
        .type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .ns = w->end_ns, .track = track, .text = HU_STR("")};
    if (w->is_unfinished) {
        hu_pf_add(p, &e, HU_PF_OWN + HU_PF_UNFINISHED, HU_PF_BOOL)->whole = 1;
        p->tally.unfinished++;
    }
    hu_pf_write(p, s, &e);
}

bool hu_pf_ranges_write(hu_pf *p, hu_pf_sequence *s)
{
    whole *at = p->ranges.n ? hu_arena_calloc(p->scratch, p->ranges.n, sizeof *at) : NULL;
    row   *heap = p->ranges.n ? hu_arena_calloc(p->scratch, p->ranges.n, sizeof *heap) : NULL;
    size_t n, rows = 0;

    if (p->ranges.n == 0)
        return true;
    if (!at || !heap)
        return false;
    qsort(p->ranges.at, p->ranges.n, sizeof *p->ranges.at, by_handle);
    n = pair(p, at);
    if (n)
        qsort(at, n, sizeof *at, by_domain_and_time);
    for (size_t i = 0; i < n; i++) {
        const uint32_t domain = at[i].start->record.aux;
        const hu_str   name = hu_ring_text(p->ring, domain);

        if (i && at[i - 1].start->record.aux != domain)
            rows = 0;
        if (rows && heap[0].free_ns <= at[i].start_ns) {
            heap[0].free_ns = at[i].end_ns;
            write_range(p, s, &at[i], heap[0].track);
            sink(heap, rows);
            continue;
        }
        heap[rows] = (row){at[i].end_ns, ++p->last_uuid};
        hu_pf_row(p, s, heap[rows].track, p->process_track, name.n ? name : HU_STR("ranges"), true);
        write_range(p, s, &at[i], heap[rows].track);
        rise(heap, rows++);
    }
    return !p->w.no_memory;
}
