/* SPDX-License-Identifier: Apache-2.0
 * pf_outside.c - waits that were seen from outside, as calls on the tracks of their threads.
 *
 * They have a sequence of their own for each thread.  Their `source` tells them from calls that were recorded inside.
 */
#include "record/pf.h"

#include <stdio.h>

#include "record/wait_calls.h"

typedef struct {
    hu_pf                       *p;
    const hu_pf_outside_options *o;
    hu_pf_sequence               s;
} work;

/* How far CLOCK_BOOTTIME is ahead: for as long as the machine was suspended by then. */
static int64_t ahead_ns(const hu_pf *p, int64_t ns, bool is_boottime)
{
    const hu_clock_map *m = p->clock;
    size_t              low = 0, high = m->n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if ((is_boottime ? m->knots[middle].boottime_ns : m->knots[middle].monotonic_ns) > ns)
            high = middle;
        else
            low = middle + 1;
    }
    low = low ? low - 1 : 0;
    return m->n ? m->knots[low].boottime_ns - m->knots[low].monotonic_ns : 0;
}

int64_t hu_pf_monotonic_ns(const hu_pf *p, int64_t boottime_ns)
{
    return boottime_ns - ahead_ns(p, boottime_ns, true);
}

static void describe(work *w, const hu_wait_thread *t)
{
    hu_pf       *p = w->p;
    const size_t packet = hu_pf_open(p, &w->s), open = hu_pb_write_open(&p->w, HU_PT_PACKET_TRACK);
    size_t       nest;

    hu_pb_write_uint(&p->w, HU_PT_TRACK_UUID, w->s.track);
    nest = hu_pb_write_open(&p->w, HU_PT_TRACK_THREAD);
    hu_pb_write_uint(&p->w, HU_PT_THREAD_PID, t->pid);
    hu_pb_write_uint(&p->w, HU_PT_THREAD_TID, t->tid);
    hu_pb_write_close(&p->w, nest);
    hu_pb_write_close(&p->w, open);
    hu_pf_close(p, &w->s, packet);
}

static void add_own(hu_pf *p, hu_pf_event *e, const char *name, const char *text)
{
    hu_pf_note *n = hu_pf_add(p, e, 0, HU_PF_TEXT);

    n->name_text = hu_str_of(name);
    n->text = hu_str_of(text);
}

static void write_wait(work *w, const hu_wait *wait, int64_t start_ns, int64_t end_ns)
{
    static const char *const classes[] = {
#define C(id, name) name,
        HU_OS_CLASSES(C)
#undef C
    };
    hu_pf              *p = w->p;
    const hu_wait_seen *seen = &p->waits->seen.at[wait->seen];
    const hu_str        path = seen->text < p->waits->texts.n ? p->waits->texts.at[seen->text] : HU_STR("");
    char                object[24];
    hu_pf_event         e = {.type = HU_PT_TYPE_BEGIN,
                             .category = HU_PF_OF_OS_CALL,
                             .ns = start_ns + ahead_ns(p, start_ns, false),
                             .text = hu_str_of(hu_wait_call_at(seen->call)->name)};
    hu_pf_event         over = {
                .type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .ns = e.ns + end_ns - start_ns, .text = HU_STR("")};

    hu_pf_add(p, &e, HU_PF_OWN + HU_PF_CLASS, HU_PF_TEXT)->text = hu_str_of(classes[seen->class]);
    if (path.n)
        hu_pf_add(p, &e, HU_PF_OWN + HU_PF_PATH, HU_PF_TEXT)->text = path;
    add_own(p, &e, "source", wait->source == HU_WAIT_INFERRED ? "inferred" : "sampled");
    if (seen->object && wait->source == HU_WAIT_SAMPLED) {
        snprintf(object, sizeof object, "0x%llx", (unsigned long long)seen->object);
        add_own(p, &e, "object", object);
    }
    hu_pf_write(p, &w->s, &e);
    hu_pf_write(p, &w->s, &over);
}

static void write_thread(work *w, const hu_wait_thread *t)
{
    bool has_begun = false;

    for (size_t i = 0; i < t->n; i++) {
        const hu_wait *wait = &w->p->waits->at.at[t->first + i];
        const int64_t  start_ns = wait->start_ns > w->o->first_ns ? wait->start_ns : w->o->first_ns;
        const int64_t  end_ns = w->o->end_ns && wait->end_ns > w->o->end_ns ? w->o->end_ns : wait->end_ns;

        if ((wait->source != HU_WAIT_SAMPLED && wait->source != HU_WAIT_INFERRED) || end_ns <= start_ns ||
            wait->end_ns - wait->start_ns < w->o->least_ns)
            continue;
        if (!has_begun) {
            hu_pf_begin_sequence(w->p, ++w->p->last_uuid, &w->s);
            describe(w, t);
            has_begun = true;
        }
        write_wait(w, wait, start_ns, end_ns);
    }
}

static bool is_member(const uint32_t *pids, size_t n_pids, uint32_t pid)
{
    for (size_t i = 0; pids && i < n_pids; i++)
        if (pids[i] == pid)
            return true;
    return !pids;
}

bool hu_pf_outside_write(hu_pf *p, const hu_pf_outside_options *options)
{
    work w = {.p = p, .o = options};
    bool is_good;

    if (!p->waits || !p->waits->threads.n)
        return true;
    hu_waits_infer(p->waits);
    p->scratch = hu_arena_new();
    p->n_ids = 0; /* own words alone */
    is_good = p->scratch != NULL;
    for (size_t i = 0; is_good && i < HU_COUNT(p->stamps); i++) {
        p->stamps[i] = hu_arena_calloc(p->scratch, HU_PF_OWN_MOST, sizeof *p->stamps[i]);
        is_good = p->stamps[i] != NULL;
    }
    for (size_t i = 0; is_good && i < p->waits->threads.n; i++)
        if (is_member(options->pids, options->n_pids, p->waits->threads.at[i].pid) &&
            !(options->n_own && is_member(options->own, options->n_own, p->waits->threads.at[i].tid)))
            write_thread(&w, &p->waits->threads.at[i]);
    hu_arena_free(p->scratch);
    p->scratch = NULL;
    return is_good && !p->w.no_memory;
}
