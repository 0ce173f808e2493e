/* SPDX-License-Identifier: Apache-2.0
 * merge.c - nodes of a thread on which nothing else depends, as one node for each kind of them.
 *
 * A run of ten million calls has twenty million pieces of host time, most shorter than a switch of threads.  A thread
 * is a chain: between two instants at which anything of another thread begins or ends, only the sum of what it does counts.
 * So the short nodes between two such instants (the anchors) become one node for each kind of them, with their number and
 * how long their thread ran in them.  The chunk still begins and ends where it did.
 *
 * may_merge() alone decides on which nodes something depends: code that adds links to nodes of short calls must name these
 * calls there, or add an anchor where the link begins or ends (find_anchors).
 */
#include "graph/merge.h"

#include <stdlib.h>

#include "analyze/host_calls.h"
#include "analyze/wakes.h"
#include "graph/edit.h"

enum {
    SHORT_NS = 50000, /* rules about the length of one node begin here: joins.c, host_work.c */
    APIECE = 8,       /* slices that may be, for each chunk: kinds of nodes in it */
    FEWEST_CHUNKS = 16,
    MERGED = HU_CLASS_BIT(IO) | HU_CLASS_BIT(LOCK) | HU_CLASS_BIT(SLEEP) | HU_CLASS_BIT(WAIT) | HU_CLASS_BIT(OTHER_CALL) |
             HU_CLASS_BIT(UNRECORDED) | HU_CLASS_BIT(PYTHON),
};

/* What the name of a call says, in b->name_merges. */
enum { NAME_KNOWN = 1, NAME_LINKS = 2, NAME_MOVES = 4 };

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static bool add_anchor(hu_building *b, int64_t time_ns)
{
    return hu_vec_push(b->ask->scratch, &b->anchors, time_ns);
}

/* Instants at which a node of any thread may be linked: threads begin and end, and so do what they do together. */
static bool find_anchors(hu_building *b)
{
    const hu_ask    *ask = b->ask;
    size_t           n_wakes;
    const hu_wakeup *wakes = hu_trace_wakes(ask->trace, &n_wakes);

    for (uint32_t t = 0; t < ask->n_tracks; t++) {
        const hu_track *track = &ask->tracks[t];

        if (track->type != HU_TRACK_HOST)
            continue;
        if (track->n_stretches && (!add_anchor(b, track->born_ns) || !add_anchor(b, track->died_ns)))
            return false;
        if (track->count && (!add_anchor(b, ask->s.start_ns[ask->order[track->first]]) ||
                             !add_anchor(b, hu_ask_end(ask, ask->order[track->first + track->count - 1]))))
            return false;
    }
    for (size_t i = 0; i < n_wakes; i++)
        if (!add_anchor(b, wakes[i].time_ns))
            return false;
    for (uint32_t i = 0; i < ask->s.n; i++)
        if ((ask->s.kind[i] == HU_KIND_MPI || ask->names[ask->s.name[i]] & HU_NAME_COMM) &&
            (!add_anchor(b, ask->s.start_ns[i]) || !add_anchor(b, hu_ask_end(ask, i))))
            return false;
    if (b->anchors.n)
        qsort(b->anchors.at, b->anchors.n, sizeof *b->anchors.at, by_time);
    return true;
}

bool hu_merge_prepare(hu_building *b, size_t most)
{
    const hu_ask *ask = b->ask;
    size_t        threads = 0, chunks;

    if (!b->g->is_whole || ask->n_work || ask->s.n <= most)
        return true;
    for (uint32_t i = 0; i < ask->s.n; i++) /* whoever launches work wakes other threads, of which bursts.c tells */
        if (hu_kind_in(ask->s.kind[i], HU_KINDS_CALL | HU_BIT(CPU_OP)))
            return true;
    for (uint32_t t = 0; t < ask->n_tracks; t++)
        threads += ask->tracks[t].type == HU_TRACK_HOST;
    chunks = most / APIECE / (threads ? threads : 1);
    b->chunk_ns = (b->to_ns - b->from_ns) / (int64_t)(chunks > FEWEST_CHUNKS ? chunks : FEWEST_CHUNKS);
    b->merges = true;
    b->name_merges = hu_arena_calloc(ask->scratch, hu_trace_string_count(ask->trace) + 1, 1);
    return b->name_merges && find_anchors(b);
}

/* NAME_LINKS: such calls begin or end another thread or process, however short they are; NAME_MOVES: they move bytes. */
static uint8_t name_of(hu_building *b, uint32_t name)
{
    static const char *const linked[] = {"pthread_join", "fork", "posix_spawn", "popen", "system"};
    const hu_str             text = hu_trace_text(b->ask->trace, name);

    if (b->name_merges[name])
        return b->name_merges[name];
    b->name_merges[name] = hu_edit_is_small_name(text) ? NAME_KNOWN | NAME_MOVES : NAME_KNOWN;
    for (size_t i = 0; i < HU_COUNT(linked); i++)
        if (hu_str_starts_with(text, linked[i]))
            b->name_merges[name] |= NAME_LINKS;
    return b->name_merges[name];
}

/* Does nothing depend on where a node begins or ends, nor on its own length?  `has_anchor`: something of another thread
   begins or ends in it. */
static bool may_merge(hu_building *b, const hu_node *n, bool has_anchor)
{
    const hu_ask *ask = b->ask;

    if (has_anchor || n->call != HU_CALL_NONE || n->seen_ns >= SHORT_NS || !(1u << n->class & MERGED) ||
        n->in & ~(unsigned)HU_IN_IO)
        return false;
    if (n->slice == HU_NONE || ask->s.kind[n->slice] != HU_KIND_OS_CALL)
        return true;
    return hu_host_calls_class(ask, n->slice) != HU_HOST_CHILD && !hu_wakes_detail(ask, n->slice) &&
           !(name_of(b, ask->s.name[n->slice]) & NAME_LINKS);
}

/* What rules and edits ask of a node: what is the same here is the same to them. */
static uint64_t key_of(const hu_ask *ask, const hu_node *n, int64_t left_ns)
{
    uint64_t key = (uint64_t)n->class | (uint64_t)n->in << 8 | (uint64_t)(left_ns >= 0) << 16;
    uint32_t row;

    if (n->slice == HU_NONE)
        return key;
    key |= UINT64_C(1) << 17 | (uint64_t)ask->s.kind[n->slice] << 18 | (uint64_t)ask->s.name[n->slice] << 32;
    row = ask->s.kind[n->slice] == HU_KIND_OS_CALL ? ask->s.detail[n->slice] : HU_NONE;
    if (row == HU_NONE)
        return key;
    const hu_os_detail *d = hu_trace_os_detail(ask->trace, row);

    return hu_hash_u64(key ^ hu_hash_u64((uint64_t)d->path << 8 | d->class));
}

/* How long the thread ran in a node, and was ready to; nodes are asked for in their order. */
static void measure(hu_merge *m, const hu_node *n, hu_merged *out)
{
    const int64_t     end = n->start_ns + n->seen_ns;
    size_t            all;
    const hu_stretch *s = hu_trace_stretches(m->b->ask->trace, &all) + (m->track->n_stretches ? m->track->first_stretch : 0);

    while (m->stretch < m->track->n_stretches && s[m->stretch].end_ns <= n->start_ns)
        m->stretch++;
    for (uint32_t k = m->stretch; k < m->track->n_stretches && s[k].start_ns < end; k++) {
        const int64_t from = s[k].start_ns > n->start_ns ? s[k].start_ns : n->start_ns;
        const int64_t to = s[k].end_ns < end ? s[k].end_ns : end;

        out->run_ns += s[k].state == HU_THREAD_RUNNING ? to - from : 0;
        out->ready_ns += s[k].state == HU_THREAD_RUNNABLE ? to - from : 0;
        if (s[k].state == HU_THREAD_RUNNABLE && k > 0 && s[k - 1].state == HU_THREAD_RUNNING &&
            s[k - 1].end_ns == s[k].start_ns)
            out->preempted_ns += to - from;
    }
}

/* The chunk ends before node `end`: its nodes take their places behind each other. */
static bool close_chunk(hu_merge *m, uint32_t end)
{
    hu_building *b = m->b;
    int64_t      now = m->begin_ns;

    for (uint32_t i = m->first; i < end; i++) {
        hu_node         *n = &b->nodes.at[i];
        const hu_merged *sums = &m->sums[i - m->first];

        n->start_ns = now;
        now += n->seen_ns;
        if (sums->n < 2)
            continue;
        n->merged = (uint32_t)b->merged.n;
        if (!hu_vec_push(b->ask->arena, &b->merged, *sums))
            return false;
    }
    return true;
}

static hu_merged sums_of(hu_merge *m, const hu_node *n, uint64_t *key)
{
    const hu_ask *ask = m->b->ask;
    const bool is_io = n->class == HU_CLASS_IO && n->slice != HU_NONE && name_of(m->b, ask->s.name[n->slice]) & NAME_MOVES;
    hu_merged  sums = {.n = 1, .left_ns = is_io ? hu_edit_small_slice_ns(ask, n->slice, ask->s.dur_ns[n->slice]) : -1};

    *key = key_of(ask, n, sums.left_ns);
    if (sums.left_ns >= 0) {
        const hu_os_detail *d = hu_trace_os_detail(ask->trace, ask->s.detail[n->slice]);

        sums.left_ns = sums.left_ns < n->seen_ns ? sums.left_ns : n->seen_ns;
        sums.calls = d->calls ? d->calls : 1;
        sums.bytes = d->bytes;
    }
    measure(m, n, &sums);
    return sums;
}

/* The last node is final: it goes into the chunk, begins a new one, or stays alone. */
static bool fold(hu_merge *m)
{
    hu_building   *b = m->b;
    const uint32_t last = (uint32_t)b->nodes.n - 1;
    hu_node       *n;
    int64_t        end;
    uint64_t       key;
    hu_merged      sums;
    uint32_t       k;

    if (b->nodes.n <= m->first)
        return true;
    n = &b->nodes.at[last];
    end = n->start_ns + n->seen_ns;
    while (m->anchor < b->anchors.n && b->anchors.at[m->anchor] < n->start_ns)
        m->anchor++;
    if (!may_merge(b, n, m->anchor < b->anchors.n && b->anchors.at[m->anchor] <= end)) {
        const uint32_t from = m->first;

        m->first = last + 1;
        if (last == from)
            return true;
        m->first = from;
        if (!close_chunk(m, last))
            return false;
        m->first = last + 1;
        return true;
    }
    sums = sums_of(m, n, &key);
    if (last > m->first && (end - m->begin_ns > b->chunk_ns || last - m->first >= HU_MERGE_KINDS)) {
        if (!close_chunk(m, last))
            return false;
        m->first = last;
    }
    if (last == m->first)
        m->begin_ns = n->start_ns;
    for (k = m->first; k < last && m->key[k - m->first] != key; k++)
        ;
    if (k == last) {
        m->sums[k - m->first] = sums;
        m->key[k - m->first] = key;
        return true;
    }
    b->nodes.at[k].seen_ns += n->seen_ns;
    b->nodes.n--;
    m->sums[k - m->first].n++;
    m->sums[k - m->first].calls += sums.calls;
    m->sums[k - m->first].bytes += sums.bytes;
    m->sums[k - m->first].left_ns += sums.left_ns > 0 ? sums.left_ns : 0;
    m->sums[k - m->first].run_ns += sums.run_ns;
    m->sums[k - m->first].ready_ns += sums.ready_ns;
    m->sums[k - m->first].preempted_ns += sums.preempted_ns;
    return true;
}

void hu_merge_begin(hu_merge *m, hu_building *b, const hu_track *track)
{
    m->b = b;
    m->track = track;
    m->first = (uint32_t)b->nodes.n;
    m->begin_ns = b->from_ns;
    m->anchor = 0;
    m->stretch = 0;
}

bool hu_merge_push(hu_merge *m, const hu_node *node)
{
    return (!m->b->merges || fold(m)) && hu_vec_push(m->b->ask->arena, &m->b->nodes, *node);
}

bool hu_merge_end(hu_merge *m)
{
    if (!m->b->merges)
        return true;
    if (!fold(m) || !close_chunk(m, (uint32_t)m->b->nodes.n))
        return false;
    m->first = (uint32_t)m->b->nodes.n;
    return true;
}
