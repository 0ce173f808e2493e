/* SPDX-License-Identifier: Apache-2.0
 * nsight_storms.c - storms of fast calls of the C library: one slice for all calls of a kind within BATCH_NS.
 *
 * Two of three rows of a large export may be calls that took microseconds (munmap when a loader ends, ioctl of the driver,
 * read byte by byte).  One by one they fill the memory and say nothing more than their sum.  So of an export with more calls
 * than the limit they are read as our recorder writes them (inject/osrt_batch.c): a slice begins with the first call that it
 * stands for and lasts for what all of them took, so that times are whole and the place is wrong by BATCH_NS at most.
 *
 * Nothing may depend on one of them: no call in which a thread waits for another or wakes it, or makes a process.  And no
 * other slice of the thread begins or ends between them, so that all lie in the same parent.
 */
#include "ingest/nsight.h"

static const int64_t BATCH_NS = 100000, CLOSE_NS = 25000, FAST_NS = 10000; /* as of the recorder */

enum { KINDS = 4 /* that take turns: open, read, read, mmap */ };

/* Calls of one kind. */
typedef struct {
    hu_builder_slice first;
    int64_t          took_ns, calls;
} kind;

/* The calls of a thread that may become a slice for each kind. */
typedef struct {
    kind    kinds[KINDS]; /* in the order of their first calls */
    size_t  n;
    int64_t last_start_ns, last_ns; /* of the last call: when it began, and how long it took */
    size_t  next;                   /* the first moment of the thread behind the first call */
    bool    is_unordered;           /* rows do not lie in time: nothing is known of what lies between two of them */
} run;

struct nsight_storms {
    nsight_reader     *r;
    hu_builder_moments moments;
    hu_map             run_of;  /* track -> row of `runs` */
    hu_map             details; /* name and number of calls -> row of hu_os_detail */
    HU_VEC(run) runs;
};

static void no_memory(nsight_storms *s)
{
    hu_builder_fail(s->r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
}

nsight_storms *nsight_storms_new(nsight_reader *r, int64_t most)
{
    nsight_storms *s;

    if (nsight_last_row(r, "OSRT_API") <= most)
        return NULL;
    s = hu_arena_calloc(r->arena, 1, sizeof *s);
    if (!s || !hu_map_init(&s->run_of, r->arena, 64) || !hu_map_init(&s->details, r->arena, 256) ||
        !hu_builder_list_moments(r->b, r->arena, &s->moments)) {
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return NULL;
    }
    s->r = r;
    return s;
}

static run *run_of(nsight_storms *s, uint32_t track)
{
    uint32_t    *place = hu_map_put(&s->run_of, track);
    const size_t first = track < s->moments.n_tracks ? s->moments.first[track] : 0;

    if (place && *place == HU_MAP_NONE &&
        hu_vec_push(s->r->arena, &s->runs, ((run){.next = first, .last_start_ns = INT64_MIN / 2})))
        *place = (uint32_t)s->runs.n - 1;
    return place && *place != HU_MAP_NONE ? &s->runs.at[*place] : NULL;
}

static uint32_t detail_of(nsight_storms *s, const kind *k)
{
    uint32_t *place = hu_map_put(&s->details, (uint64_t)k->first.name << 32 | (uint32_t)k->calls);

    if (!place) {
        no_memory(s);
        return HU_NONE;
    }
    if (*place == HU_MAP_NONE) {
        hu_os_detail d = *hu_builder_get_os_detail(s->r->b, k->first.detail);

        d.calls = (uint32_t)k->calls;
        *place = hu_builder_os_detail(s->r->b, &d);
    }
    return *place;
}

/* Each kind where its first call was, or behind the kind before it.  All of that ends no later than the last call did, as no
   two calls ran at the same time. */
static void write_run(nsight_storms *s, run *r)
{
    int64_t at_ns = INT64_MIN;

    for (size_t i = 0; i < r->n; i++) {
        kind *k = &r->kinds[i];

        k->first.start_ns = k->first.start_ns > at_ns ? k->first.start_ns : at_ns;
        k->first.dur_ns = k->took_ns;
        if (k->calls > 1)
            k->first.detail = detail_of(s, k);
        hu_builder_quality(s->r->b)->count[HU_REASON_STORM] += k->calls - 1;
        hu_builder_add(s->r->b, &k->first);
        at_ns = k->first.start_ns + k->took_ns;
    }
    r->n = 0;
}

/* Nobody waits in such a call for another thread, and it begins and ends none. */
static bool may_merge(const nsight_storms *s, const hu_builder_slice *call)
{
    static const char *const others[] = {"pthread_", "sem_", "fork", "vfork", "posix_spawn", "exec", "popen", "system"};
    const unsigned           classes = 1u << HU_HOST_FILE_READ | 1u << HU_HOST_FILE_WRITE | 1u << HU_HOST_FILE_META |
                             1u << HU_HOST_OTHER;
    const hu_str name = hu_builder_text(s->r->b, call->name);

    if (call->dur_ns >= FAST_NS || !(classes >> hu_builder_get_os_detail(s->r->b, call->detail)->class & 1))
        return false;
    for (size_t i = 0; i < HU_COUNT(others); i++)
        if (hu_str_starts(name, hu_str_of(others[i])))
            return false;
    return true;
}

/* Does another slice of the thread begin or end between the first call and the end of this one? */
static bool is_cut(nsight_storms *s, run *r, uint32_t track, int64_t end_ns)
{
    const hu_builder_moments *m = &s->moments;
    const size_t              end = track < m->n_tracks ? m->first[track + 1] : 0;

    while (r->next < end && m->at[r->next] <= r->kinds[0].first.start_ns)
        r->next++;
    return r->next < end && m->at[r->next] < end_ns;
}

/* Adds a call to its kind.  False: there are other kinds enough. */
static bool add_to_kind(run *r, const hu_builder_slice *call)
{
    size_t i = 0;

    while (i < r->n && r->kinds[i].first.name != call->name)
        i++;
    if (i == KINDS)
        return false;
    if (i == r->n)
        r->kinds[r->n++] = (kind){.first = *call};
    r->kinds[i].took_ns += call->dur_ns;
    r->kinds[i].calls++;
    return true;
}

static bool belongs(nsight_storms *s, run *r, const hu_builder_slice *call)
{
    const int64_t end_ns = call->start_ns + call->dur_ns;

    return r->n && call->start_ns >= r->last_start_ns + r->last_ns &&
           call->start_ns - r->last_start_ns < CLOSE_NS + r->last_ns && end_ns - r->kinds[0].first.start_ns < BATCH_NS &&
           !is_cut(s, r, call->track, end_ns);
}

void nsight_storms_add(nsight_storms *s, const hu_builder_slice *call)
{
    run *r = hu_builder_status(s->r->b, NULL) < 0 ? NULL : run_of(s, call->track);
    bool is_fast;

    if (!r) {
        no_memory(s);
        return;
    }
    if (call->start_ns < r->last_start_ns)
        r->is_unordered = true;
    is_fast = !r->is_unordered && may_merge(s, call);
    if (!is_fast || !belongs(s, r, call) || !add_to_kind(r, call)) {
        write_run(s, r);
        if (is_fast)
            add_to_kind(r, call);
        else
            hu_builder_add(s->r->b, call);
    }
    r->last_start_ns = call->start_ns;
    r->last_ns = call->dur_ns;
}

void nsight_storms_end(nsight_storms *s)
{
    for (size_t i = 0; i < s->runs.n; i++)
        write_run(s, &s->runs.at[i]);
    hu_arena_drop(s->r->arena, s->moments.at);
    hu_arena_drop(s->r->arena, s->moments.first);
}
