/* SPDX-License-Identifier: Apache-2.0
 * pf_omp.c - what OpenMP told, as slices of a row of its own below each thread: ranges of the program may cross them.
 *
 * When a worker is released from the last barrier of a region is not known from itself: LLVM keeps it there until there is
 * more to do.  It is where the region ends, which the thread knows that started it: all regions are read first.
 */
#include <stdio.h>

#include "protocol/omp_events.h"
#include "record/pf.h"

struct hu_pf_omp {
    hu_map ends; /* number of a region -> place in `at` */
    HU_VEC(uint64_t) at;
};

static bool survey_thread(hu_pf *p, struct hu_pf_omp *o, const hu_ring_thread *thread)
{
    hu_ring_cursor c;
    hu_ring_event  e;

    hu_ring_start(p->ring, thread, NULL, &c);
    while (hu_ring_next(&c, &e)) {
        uint32_t *place;
        uint64_t  end;

        if (e.record->type != HU_RECORD_OMP || (e.record->aux & 0xff) != HU_OMP_REGION ||
            __builtin_add_overflow(e.record->time, e.record->a, &end))
            continue;
        place = hu_map_put(&o->ends, e.record->id);
        if (!place || !hu_vec_push(p->scratch, &o->at, end))
            return false;
        *place = (uint32_t)o->at.n - 1;
    }
    return true;
}

bool hu_pf_omp_survey(hu_pf *p)
{
    size_t                n;
    const hu_ring_thread *threads = hu_ring_threads(p->ring, &n);

    p->omp = NULL;
    if (!(hu_ring_get_head(p->ring)->doors & HU_DOOR_OPENMP))
        return true;
    p->omp = hu_arena_calloc(p->scratch, 1, sizeof *p->omp);
    if (!p->omp || !hu_map_init(&p->omp->ends, p->scratch, 0))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!survey_thread(p, p->omp, &threads[i]))
            return false;
    return true;
}

/* events */

typedef struct {
    hu_pf           *p;
    hu_pf_sequence  *s;
    const hu_record *r, *more;
    uint64_t         row;
} work;

static void add_int(work *w, hu_pf_event *e, hu_pf_word name, uint64_t value)
{
    hu_pf_add(w->p, e, HU_PF_OWN + name, HU_PF_INT)->whole = value <= INT64_MAX ? (int64_t)value : INT64_MAX;
}

static void add_site(work *w, hu_pf_event *e, hu_pf_word name, uint32_t id)
{
    if (id != HU_CALL_SITE_NONE)
        hu_pf_add(w->p, e, HU_PF_OWN + name, HU_PF_TEXT_ID)->whole = (int64_t)HU_PF_SITES + id;
}

/* Ticks of a record as ns; what cannot be is nothing. */
static uint64_t ns_of(work *w, uint64_t ticks)
{
    const int64_t from = hu_pf_ns(w->p, w->r->time);
    int64_t       ns;
    uint64_t      end;

    if (__builtin_add_overflow(w->r->time, ticks, &end) || __builtin_sub_overflow(hu_pf_ns(w->p, end), from, &ns))
        return 0;
    return ns > 0 && ns < INT64_C(1) << 60 ? (uint64_t)ns : 0;
}

static hu_pf_event begin(work *w, const char *name, uint64_t ticks)
{
    hu_pf_event e = {.type = HU_PT_TYPE_BEGIN,
                     .category = HU_PF_OF_OPENMP,
                     .ns = hu_pf_ns(w->p, ticks),
                     .track = w->row,
                     .text = hu_str_of(name)};

    if (w->r->id)
        add_int(w, &e, HU_PF_REGION, w->r->id);
    add_site(w, &e, HU_PF_CALLER, hu_call_sites_caller(&w->p->sites, w->more->a));
    add_site(w, &e, HU_PF_PLACE, hu_call_sites_place(&w->p->sites, w->more->a));
    add_site(w, &e, HU_PF_LINE, hu_call_sites_line(&w->p->sites, w->more->a));
    return e;
}

static void write_until(work *w, hu_pf_event *e, uint64_t ticks)
{
    hu_pf_event   over = {.type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .track = w->row, .text = HU_STR("")};
    const int64_t ns = hu_pf_ns(w->p, ticks);

    over.ns = ns > e->ns ? ns : e->ns;
    hu_pf_write(w->p, w->s, e);
    hu_pf_write(w->p, w->s, &over);
}

/* Numbers of OMPT; those from 10 on are of LLVM and OpenMP 6. */
static const char *workshare_word(uint32_t what)
{
    static const char *const words[] = {"",           "loop",     "sections", "single", "single",      "workshare",
                                        "distribute", "taskloop", "scope",    "",       "static loop", "dynamic loop",
                                        "guided loop"};

    return what < HU_COUNT(words) ? words[what] : "";
}

static void phase(work *w, uint64_t arrived)
{
    const uint64_t waits = w->more->time < w->r->a ? w->more->time : w->r->a;
    const char    *workshare = workshare_word(w->r->aux >> HU_OMP_SHIFT);
    const uint32_t at = hu_map_get(&w->p->omp->ends, w->r->id);
    const uint64_t end = at == HU_MAP_NONE ? 0 : w->p->omp->at.at[at];
    uint64_t       released = 0;
    hu_pf_event    e = begin(w, "implicit task", w->r->time);

    add_int(w, &e, HU_PF_WORK_NS, ns_of(w, w->r->a - waits) + ns_of(w, w->more->b));
    if (w->more->id)
        add_int(w, &e, HU_PF_TASKS, w->more->id);
    if (workshare[0])
        hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_WORKSHARE, HU_PF_TEXT)->text = hu_str_of(workshare);
    write_until(w, &e, arrived);
    if (w->r->b && __builtin_add_overflow(arrived, w->r->b, &released))
        released = 0;
    released = w->r->b ? released : end;
    if (end && released > end)
        released = end;
    if (released > arrived) {
        e = begin(w, "barrier", arrived);
        if (w->more->b)
            add_int(w, &e, HU_PF_WORK_NS, ns_of(w, w->more->b));
        write_until(w, &e, released);
    }
}

static void short_regions(work *w, uint64_t until)
{
    hu_pf_event e;

    if (w->more->b) {
        e = begin(w, "short parallel regions", w->r->time);
        add_int(w, &e, HU_PF_CALLS, w->more->b);
        add_int(w, &e, HU_PF_WORK_NS, ns_of(w, w->r->b));
        write_until(w, &e, until);
    }
    if (w->more->id) {
        e = begin(w, "short implicit tasks", w->r->time);
        add_int(w, &e, HU_PF_CALLS, w->more->id);
        add_int(w, &e, HU_PF_WORK_NS, ns_of(w, w->more->time));
        write_until(w, &e, until);
    }
}

static void mutex(work *w, uint64_t until)
{
    static const char *const kinds[] = {"lock",        "lock",     "lock",   "nested lock",
                                        "nested lock", "critical", "atomic", "ordered"};
    const uint32_t           kind = w->r->aux >> HU_OMP_SHIFT;
    hu_pf_event              e = begin(w, kind < HU_COUNT(kinds) ? kinds[kind] : "lock", w->r->time);
    char                     text[24];

    snprintf(text, sizeof text, "0x%llx", (unsigned long long)w->r->b);
    hu_pf_add(w->p, &e, HU_PF_OWN + HU_PF_OBJECT, HU_PF_TEXT)->text = hu_str_of(text);
    write_until(w, &e, until);
}

static void region(work *w, uint64_t until)
{
    hu_pf_event e = begin(w, w->more->b ? "nested parallel region" : "parallel region", w->r->time);

    add_int(w, &e, HU_PF_THREADS, w->more->time);
    if (w->r->b)
        add_int(w, &e, HU_PF_REQUESTED, w->r->b);
    write_until(w, &e, until);
}

bool hu_pf_omp_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from, uint64_t parent, uint64_t *row)
{
    work        w = {p, s, from->record, from->n_more ? from->more : NULL, 0};
    hu_pf_event e;
    uint64_t    until;

    if (!w.more || w.more->aux != HU_MORE_OMP || !p->omp || __builtin_add_overflow(w.r->time, w.r->a, &until)) {
        p->tally.damage.odd++;
        return true;
    }
    if (!*row) {
        *row = ++p->last_uuid;
        hu_pf_row(p, s, *row, parent, HU_STR("OpenMP"), false);
    }
    w.row = *row;
    switch ((hu_omp_record)(w.r->aux & 0xff)) {
    case HU_OMP_REGION:
        region(&w, until);
        return true;
    case HU_OMP_PHASE:
        phase(&w, until);
        return true;
    case HU_OMP_TASKS:
        e = begin(&w, "tasks", w.r->time);
        add_int(&w, &e, HU_PF_TASKS, w.more->id);
        add_int(&w, &e, HU_PF_WORK_NS, ns_of(&w, w.r->b));
        write_until(&w, &e, until);
        return true;
    case HU_OMP_WAIT:
        e = begin(&w, w.r->aux >> HU_OMP_SHIFT == 6 ? "taskgroup" : "taskwait", w.r->time);
        write_until(&w, &e, until);
        return true;
    case HU_OMP_MUTEX:
        mutex(&w, until);
        return true;
    case HU_OMP_SHORT:
        short_regions(&w, until);
        return true;
    case HU_OMP_RECORDS:
        break;
    }
    p->tally.damage.odd++;
    return true;
}
