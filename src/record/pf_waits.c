/* SPDX-License-Identifier: Apache-2.0
 * pf_waits.c - what calls waited for, from where they were called, and who woke whom.
 *
 * Who unlocked a lock is in the record of the thread that waited for it: drawn on the track of the one that unlocked.
 */
#include "record/pf.h"

#include <stdio.h>

static void add_name(hu_pf *p, hu_pf_event *e, hu_pf_word name, uint32_t id)
{
    if (id != HU_CALL_SITE_NONE)
        hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_TEXT_ID)->whole = (int64_t)HU_PF_SITES + id;
}

static void add_object(hu_pf *p, hu_pf_event *e, uint64_t object)
{
    add_name(p, e, HU_PF_OBJECT, hu_call_sites_address(&p->sites, object));
    add_name(p, e, HU_PF_OBJECT_NAME, hu_call_sites_object(&p->sites, object));
}

static void add_place(hu_pf *p, hu_pf_event *e, uint64_t object, uint64_t caller, uint32_t holder)
{
    if (object)
        add_object(p, e, object);
    if (holder)
        hu_pf_add(p, e, HU_PF_OWN + HU_PF_HOLDER, HU_PF_INT)->whole = holder;
    add_name(p, e, HU_PF_CALLER, hu_call_sites_caller(&p->sites, caller));
}

void hu_pf_add_unfinished(hu_pf *p, hu_pf_event *e, const hu_ring_thread *thread)
{
    add_place(p, e, thread->object, thread->caller, thread->holder);
}

void hu_pf_add_place(hu_pf *p, hu_pf_event *e, const hu_ring_event *from)
{
    for (uint32_t i = 0; i < from->n_more; i++) {
        const hu_record *m = &from->more[i];

        if (m->aux == HU_MORE_PLACE) {
            add_place(p, e, m->a, m->b, m->id);
        } else if (m->aux == HU_MORE_MUTEX) {
            add_name(p, e, HU_PF_MUTEX, hu_call_sites_address(&p->sites, m->a));
        }
    }
}

static void write_wake(hu_pf *p, hu_pf_sequence *s, hu_wake how, uint64_t ticks, uint64_t object, uint64_t caller,
                       uint64_t track)
{
    static const hu_pf_word words[HU_WAKE_KINDS] = {HU_PF_UNLOCK, HU_PF_SIGNAL, HU_PF_BROADCAST,
                                                    HU_PF_POST,   HU_PF_FUTEX,  HU_PF_EVENTFD};
    char                    number[32];
    hu_pf_event             e = {.type = HU_PT_TYPE_INSTANT,
                                 .category = HU_PF_OF_WAKE,
                                 .ns = hu_pf_ns(p, ticks),
                                 .name = HU_PF_OWN + HU_PF_WAKE,
                                 .track = track,
                                 .text = HU_STR("")};

    if (how == HU_WAKE_EVENTFD) {
        snprintf(number, sizeof number, "fd %llu", (unsigned long long)object);
        hu_pf_add(p, &e, HU_PF_OWN + HU_PF_OBJECT, HU_PF_TEXT)->text = hu_str_of(number);
    } else {
        add_object(p, &e, object);
    }
    hu_pf_add(p, &e, HU_PF_OWN + HU_PF_HOW, HU_PF_TEXT_ID)->whole = HU_PF_OWN + words[how];
    add_name(p, &e, HU_PF_CALLER, hu_call_sites_caller(&p->sites, caller));
    hu_pf_write(p, s, &e);
}

void hu_pf_wake(hu_pf *p, hu_pf_sequence *s, const hu_record *r)
{
    if (r->aux >= HU_WAKE_KINDS)
        p->tally.damage.odd++;
    else
        write_wake(p, s, (hu_wake)r->aux, r->time, r->a, r->b, 0);
}

/* Several threads may have waited for the same unlocking. */
static bool is_new(hu_pf *p, uint64_t track, uint64_t ticks)
{
    uint32_t  *place = hu_map_put(&p->unlocks, ticks * HU_PF_TRACKS_MOST + track % HU_PF_TRACKS_MOST);
    const bool is = place && *place == HU_MAP_NONE;

    if (place)
        *place = 0;
    return is;
}

void hu_pf_waker(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from)
{
    const hu_record *lock = NULL, *waker = NULL;
    uint64_t         track;

    for (uint32_t i = 0; i < from->n_more; i++) {
        const hu_record *m = &from->more[i];

        lock = m->aux == HU_MORE_PLACE || m->aux == HU_MORE_MUTEX ? m : lock;
        waker = m->aux == HU_MORE_WAKER ? m : waker;
    }
    track = lock && waker ? hu_pf_track_of(p, waker->id) : 0;
    if (track && is_new(p, track, waker->a))
        write_wake(p, s, HU_WAKE_UNLOCK, waker->a, lock->a, waker->b, track);
}

uint64_t hu_pf_track_of(const hu_pf *p, uint32_t thread)
{
    size_t                n, low = 0, high;
    const hu_ring_thread *threads = hu_ring_threads(p->ring, &n);

    for (high = n; low < high;) {
        const size_t middle = low + (high - low) / 2;

        if (threads[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && threads[low].thread == thread ? p->first_track + low : 0;
}
