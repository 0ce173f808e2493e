/* SPDX-License-Identifier: Apache-2.0
 * chrome_async.c - asynchronous operations (b and e; S and F of old) belong to no thread, and no question is asked of them
 * where there are slices.  A trace that holds nothing else (NCCL's example of a profiler) is a list of what it names.
 *
 * An end belongs to the youngest open beginning of the same process, category, scope, id and name.
 */
#include "base/map.h"
#include "ingest/chrome_reader.h"

enum { MOST = 1 << 20 }; /* operations of one trace */

static const int64_t NOT_ENDED = -1;

typedef struct {
    int64_t       start_ns, dur_ns;
    hu_builder_id pid;
    uint32_t      name, category;
    uint32_t      below; /* that was open when this began; HU_MAP_NONE */
} operation;

struct chrome_async {
    HU_VEC(operation) list;
    hu_map open; /* by key: the youngest open one */
};

static uint64_t key_of(chrome_reader *r)
{
    static const int    places[] = {CHROME_PID, CHROME_CAT, CHROME_SCOPE, CHROME_ID, CHROME_ID2, CHROME_NAME};
    const chrome_event *e = &r->event;
    uint64_t            key = 0;

    for (size_t i = 0; i < HU_COUNT(places); i++) {
        const chrome_value *v = &e->at[places[i]];

        key += !chrome_has(e, places[i]) ? 0 : v->type == CHROME_INT ? 1 + (uint64_t)v->number : hu_hash_bytes(v->p, v->n);
        key = hu_hash_u64(key);
    }
    return key;
}

static bool prepare(chrome_reader *r)
{
    if (!r->async) {
        r->async = hu_arena_calloc(r->arena, 1, sizeof *r->async);
        if (r->async && !hu_map_init(&r->async->open, r->arena, 0))
            r->async = NULL;
    }
    return r->async != NULL;
}

static bool begin(chrome_reader *r, struct chrome_async *a, int64_t ns)
{
    const operation fresh = {.start_ns = ns,
                             .dur_ns = NOT_ENDED,
                             .pid = chrome_take_row(r, CHROME_PID),
                             .name = chrome_take_text(r, CHROME_NAME),
                             .category = chrome_take_text(r, CHROME_CAT)};
    uint32_t       *youngest;

    if (a->list.n >= MOST)
        return true;
    youngest = hu_map_put(&a->open, key_of(r));
    if (!youngest || !hu_vec_push(r->arena, &a->list, fresh))
        return false;
    a->list.at[a->list.n - 1].below = *youngest;
    *youngest = (uint32_t)a->list.n - 1;
    return true;
}

static bool end(chrome_reader *r, struct chrome_async *a, int64_t ns)
{
    uint32_t  *youngest = hu_map_put(&a->open, key_of(r));
    operation *o;

    if (!youngest || *youngest == HU_MAP_NONE)
        return youngest != NULL;
    o = &a->list.at[*youngest];
    *youngest = o->below;
    if (ns >= o->start_ns)
        o->dur_ns = ns - o->start_ns;
    return true;
}

void chrome_async_note(chrome_reader *r, bool is_end)
{
    int64_t ns;

    if (hu_builder_slice_count(r->b) > 0 || !chrome_take_time(r, &ns))
        return;
    if (!prepare(r) || !(is_end ? end(r, r->async, ns) : begin(r, r->async, ns)))
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

bool chrome_async_finish(chrome_reader *r)
{
    hu_quality *q = hu_builder_quality(r->b);
    size_t      n = 0;

    if (!r->async || hu_builder_slice_count(r->b) > 0)
        return false;
    for (size_t i = 0; i < r->async->list.n; i++) {
        const operation       *o = &r->async->list.at[i];
        const hu_builder_slice s = {
            .kind = HU_KIND_OTHER,
            .start_ns = o->start_ns,
            .dur_ns = o->dur_ns,
            .name = o->name,
            .detail = HU_NONE,
            .track = hu_builder_track(r->b, HU_TRACK_NOTE, o->pid, (hu_builder_id){o->category, true})};

        if (o->dur_ns == NOT_ENDED)
            continue;
        hu_builder_add(r->b, &s);
        q->duration_sum_ns += o->dur_ns;
        q->count[HU_REASON_ASYNC] -= 2;
        n++;
    }
    return n > 0;
}
