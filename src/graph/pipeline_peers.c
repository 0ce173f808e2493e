/* SPDX-License-Identifier: Apache-2.0
 * pipeline_peers.c - the sends and receives of a pipeline: whose result each carries, and who is at its other end.
 *
 * The k-th receive of a direction serves the k-th pass of that direction on its worker, the k-th send takes away the
 * result of the k-th.  Three things disturb the count:
 *  - a call that moves nothing, at the rim of the step: a receive that begins behind the last pass has begun, a send that
 *    ends before the first pass has ended.  It serves no pass.
 *  - the rim of the model: with several chunks for each stage the first stage receives in every pass but has nothing to
 *    receive for the model's first chunk.  Such a call serves its pass and has no other end.  The very first one may not
 *    be recorded at all; then receives serve passes from the second one on.  In the same way the last send.
 *  - rows that are missing.  Then a receive serves the first pass that begins behind it, a send the last that ended.
 *
 * The k-th send that carries something to the next stage meets the k-th receive there; the stages are a ring, because the
 * last stage sends to the first one's next chunk.  Where the two numbers differ, rows are missing, and those meet that
 * carry the same microbatch over the same border of the model.  What is left waits for the pass at its other end.
 */
#include "graph/pipeline_build.h"

static const struct direction {
    hu_operation_kind pass, send, recv;
    int               ahead; /* in chunks of the model */
} directions[] = {
    {HU_OPERATION_FORWARD, HU_OPERATION_FORWARD_SEND, HU_OPERATION_FORWARD_RECV, 1},
    {HU_OPERATION_BACKWARD, HU_OPERATION_BACKWARD_SEND, HU_OPERATION_BACKWARD_RECV, -1},
};

/* When the first pass of a direction ended; when the last began. */
static void rim(const hu_pipeline_work *w, const hu_pipeline_part *part, const struct direction *d, int64_t *first_end_ns,
                int64_t *last_start_ns)
{
    const uint32_t *passes = hu_pipeline_list(part, d->pass);

    *first_end_ns = INT64_MAX;
    *last_start_ns = INT64_MIN;
    for (uint32_t i = 0; i < hu_pipeline_count(part, d->pass); i++) {
        const hu_operation *pass = &w->at[passes[i]];

        if (hu_operation_end_ns(pass) < *first_end_ns)
            *first_end_ns = hu_operation_end_ns(pass);
        *last_start_ns = pass->start_ns;
    }
}

/* Rows are missing: by time.  Each pass is served once; both lists are in time order. */
static void match_by_time(hu_pipeline_work *w, const hu_pipeline_part *part, const struct direction *d, bool is_send,
                          const uint32_t *calls, uint32_t n_calls)
{
    const uint32_t *passes = hu_pipeline_list(part, d->pass);
    const uint32_t  n = hu_pipeline_count(part, d->pass);
    uint32_t        next = 0;

    for (uint32_t i = 0; i < n_calls; i++) {
        const hu_operation *call = &w->at[calls[i]];

        if (is_send) {
            uint32_t last = HU_PIPELINE_NONE;

            while (next < n && hu_operation_end_ns(&w->at[passes[next]]) <= call->start_ns + HU_PIPELINE_SAME_NS)
                last = next++;
            if (last != HU_PIPELINE_NONE)
                w->match.at[calls[i]] = passes[last];
        } else {
            while (next < n && w->at[passes[next]].start_ns < hu_operation_end_ns(call) - HU_PIPELINE_SAME_NS)
                next++;
            if (next < n)
                w->match.at[calls[i]] = passes[next++];
        }
    }
}

/* The model has a chunk before or behind that of this pass. */
static bool goes_on(const hu_pipeline *p, const hu_operation *pass, int ahead)
{
    const int64_t beyond = hu_pipeline_chunk(p, pass) + ahead;

    return beyond >= 0 && beyond < p->n_model_chunks;
}

static void match(hu_pipeline_work *w, const hu_pipeline_part *part, const struct direction *d, bool is_send)
{
    const hu_operation_kind kind = is_send ? d->send : d->recv;
    const uint32_t         *calls = hu_pipeline_list(part, kind), *passes = hu_pipeline_list(part, d->pass);
    const uint32_t          n_passes = hu_pipeline_count(part, d->pass);
    int64_t                 first_end_ns, last_start_ns;
    bool                    skip;

    rim(w, part, d, &first_end_ns, &last_start_ns);
    w->room.n = 0;
    for (uint32_t i = 0; i < hu_pipeline_count(part, kind); i++) {
        const hu_operation *call = &w->at[calls[i]];
        const bool          moves = is_send ? hu_operation_end_ns(call) >= first_end_ns - HU_PIPELINE_SAME_NS
                                            : call->start_ns <= last_start_ns + HU_PIPELINE_SAME_NS;

        if (moves && !hu_vec_push(w->arena, &w->room, calls[i]))
            w->is_short = true;
    }
    skip = w->room.n + 1 == n_passes &&
           !goes_on(w->p, &w->at[passes[is_send ? n_passes - 1 : 0]], is_send ? d->ahead : -d->ahead);
    if (w->room.n + skip == n_passes) {
        for (uint32_t i = 0; i < w->room.n; i++)
            w->match.at[w->room.at[i]] = passes[i + (skip && !is_send)];
    } else {
        match_by_time(w, part, d, is_send, w->room.at, (uint32_t)w->room.n);
    }
    for (uint32_t i = 0; i < w->room.n; i++) {
        const uint32_t row = w->room.at[i], pass = w->match.at[row];

        if (pass != HU_PIPELINE_NONE && goes_on(w->p, &w->at[pass], is_send ? d->ahead : -d->ahead))
            w->cargo.at[row] = HU_CARGO_CARRIED;
    }
}

/* What a send or receive waits for, and what waits for it, on its own worker. */
static void chain(hu_pipeline_work *w, const hu_pipeline_part *part, const struct direction *d)
{
    const uint32_t *passes = hu_pipeline_list(part, d->pass);
    const uint32_t  n = hu_pipeline_count(part, d->pass);

    for (uint32_t i = 0, k = 0; i < hu_pipeline_count(part, d->recv); i++) {
        const uint32_t row = hu_pipeline_list(part, d->recv)[i];

        if (w->match.at[row] == HU_PIPELINE_NONE)
            continue;
        while (k < n && passes[k] != w->match.at[row])
            k++;
        hu_pipeline_wait_for(w, row, w->match.at[row]);
        if (k > 0 && k < n)
            hu_pipeline_wait_for(w, passes[k - 1], row); /* it is asked for when the pass before it is done */
    }
    for (uint32_t i = 0; i < hu_pipeline_count(part, d->send); i++) {
        const uint32_t row = hu_pipeline_list(part, d->send)[i];

        if (w->match.at[row] != HU_PIPELINE_NONE)
            hu_pipeline_wait_for(w, w->match.at[row], row);
    }
    for (int k = 0; k < 2; k++) { /* each of the four sorts of calls is a queue of its own */
        const hu_operation_kind kind = k ? d->send : d->recv;

        for (uint32_t i = 1; i < hu_pipeline_count(part, kind); i++)
            hu_pipeline_wait_for(w, hu_pipeline_list(part, kind)[i - 1], hu_pipeline_list(part, kind)[i]);
    }
}

/*
 * The first gradients are asked for when the pass before the last of the warm-up is done: one forward pass is still to run
 * before the first backward pass.
 */
static void ask_for_gradients(hu_pipeline_work *w, const hu_pipeline_part *part)
{
    uint32_t first = 0;

    while (first < part->n_computes && w->at[part->computes[first]].kind != HU_OPERATION_BACKWARD)
        first++;
    if (first < 2 || first == part->n_computes)
        return;
    if (hu_pipeline_count(part, HU_OPERATION_BACKWARD_RECV))
        hu_pipeline_wait_for(w, part->computes[first - 2], hu_pipeline_list(part, HU_OPERATION_BACKWARD_RECV)[0]);
    if (hu_pipeline_count(part, HU_OPERATION_BACKWARD_SEND))
        hu_pipeline_wait_for(w, part->computes[first - 2], hu_pipeline_list(part, HU_OPERATION_BACKWARD_SEND)[0]);
}

/* The border of the model that a pass sends over or receives from, and the microbatch: equal for both ends. */
static uint64_t cargo_of(const hu_pipeline_work *w, const struct direction *d, uint32_t pass, bool is_send)
{
    const int64_t from = hu_pipeline_chunk(w->p, &w->at[pass]) - (is_send ? 0 : d->ahead);

    return (uint64_t)from << 32 | (uint32_t)w->at[pass].microbatch;
}

static void meet(hu_pipeline_work *w, uint32_t a, uint32_t b)
{
    const uint32_t first = a < b ? a : b;

    w->meets.at[a] = w->meets.at[b] = first;
    w->cargo.at[a] = w->cargo.at[b] = HU_CARGO_MET;
}

/* The places in a worker's list of passes by what they send or receive. */
static bool index_passes(hu_pipeline_work *w, const struct direction *d, const hu_pipeline_part *part, bool is_send,
                         hu_map *map)
{
    const uint32_t *passes = hu_pipeline_list(part, d->pass);

    if (!hu_map_init(map, w->arena, hu_pipeline_count(part, d->pass) + 1))
        return false;
    for (uint32_t i = 0; i < hu_pipeline_count(part, d->pass); i++) {
        uint32_t *place = hu_map_put(map, cargo_of(w, d, passes[i], is_send));

        if (!place)
            return false;
        *place = i;
    }
    return true;
}

/*
 * The row of one end is missing.  The other end waits for what that one would have waited for, which its pass tells: a
 * send comes behind the pass that it serves, a receive behind the pass before.
 */
static bool stand_in(hu_pipeline_work *w, const struct direction *d, const hu_pipeline_part *from,
                     const hu_pipeline_part *to, const uint32_t *calls, uint32_t n, bool are_sends)
{
    const hu_pipeline_part *far = are_sends ? to : from;
    const uint32_t         *passes = hu_pipeline_list(far, d->pass);
    hu_map                  map;

    if (!index_passes(w, d, far, !are_sends, &map))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t pass = w->match.at[calls[i]];
        const uint32_t k = hu_map_get(&map, cargo_of(w, d, pass, are_sends));

        if (w->cargo.at[calls[i]] != HU_CARGO_CARRIED || k == HU_MAP_NONE || w->at[pass].microbatch < 0)
            continue;
        w->cargo.at[calls[i]] = HU_CARGO_LONE;
        if (!are_sends)
            hu_pipeline_wait_for(w, passes[k], calls[i]);
        else
            hu_pipeline_wait_for(w, calls[i], passes[k]);
        if (are_sends && k > 0)
            hu_pipeline_wait_for(w, passes[k - 1], calls[i]);
    }
    hu_map_drop(&map);
    return true;
}

/* Rows are missing: those meet that carry the same. */
static bool meet_by_cargo(hu_pipeline_work *w, const struct direction *d, const uint32_t *sends, uint32_t n_sends,
                          const uint32_t *recvs, uint32_t n_recvs)
{
    hu_map map;

    if (!hu_map_init(&map, w->arena, n_sends + 1))
        return false;
    for (uint32_t i = 0; i < n_sends; i++) {
        uint32_t *place = hu_map_put(&map, cargo_of(w, d, w->match.at[sends[i]], true));

        if (!place)
            return false;
        if (*place == HU_MAP_NONE)
            *place = sends[i];
    }
    for (uint32_t i = 0; i < n_recvs; i++) {
        const uint32_t send = hu_map_get(&map, cargo_of(w, d, w->match.at[recvs[i]], false));

        if (send != HU_MAP_NONE && w->cargo.at[send] == HU_CARGO_CARRIED && w->cargo.at[recvs[i]] == HU_CARGO_CARRIED)
            meet(w, send, recvs[i]);
    }
    hu_map_drop(&map);
    return true;
}

/* The calls of a kind that carry something, into w->room from `at` on. */
static uint32_t carriers(hu_pipeline_work *w, const hu_pipeline_part *part, hu_operation_kind kind)
{
    const size_t before = w->room.n;

    for (uint32_t i = 0; part && i < hu_pipeline_count(part, kind); i++) {
        const uint32_t row = hu_pipeline_list(part, kind)[i];

        if (w->cargo.at[row] && !hu_vec_push(w->arena, &w->room, row))
            w->is_short = true;
    }
    return (uint32_t)(w->room.n - before);
}

static const hu_pipeline_part *find_part(const hu_pipeline_work *w, uint32_t dp, uint32_t stage)
{
    size_t low = 0, high = w->parts.n;

    while (low < high) {
        const size_t            middle = (low + high) / 2;
        const hu_pipeline_part *part = &w->parts.at[middle];

        if (part->dp < dp || (part->dp == dp && part->stage < stage))
            low = middle + 1;
        else
            high = middle;
    }
    return low < w->parts.n && w->parts.at[low].dp == dp && w->parts.at[low].stage == stage ? &w->parts.at[low] : NULL;
}

static void pair(hu_pipeline_work *w, const hu_pipeline_part *part, const struct direction *d)
{
    const uint32_t          n = w->p->n_stages;
    const hu_pipeline_part *peer = find_part(w, part->dp, (part->stage + (d->ahead > 0 ? 1 : n - 1)) % n);
    uint32_t                n_sends, n_recvs;

    w->room.n = 0;
    n_sends = carriers(w, part, d->send);
    n_recvs = carriers(w, peer, d->recv);
    if (w->is_short)
        return;
    if (n_sends != n_recvs) {
        const uint32_t *sends = w->room.at, *recvs = sends + n_sends;

        w->is_short |= peer && !(meet_by_cargo(w, d, sends, n_sends, recvs, n_recvs) &&
                                 stand_in(w, d, part, peer, sends, n_sends, true) &&
                                 stand_in(w, d, part, peer, recvs, n_recvs, false));
        return;
    }
    for (uint32_t i = 0; i < n_sends; i++)
        meet(w, w->room.at[i], w->room.at[n_sends + i]);
}

void hu_pipeline_peers(hu_pipeline_work *w)
{
    for (size_t i = 0; i < w->parts.n && !w->is_short; i++) {
        const hu_pipeline_part *part = &w->parts.at[i];

        for (size_t k = 0; k < HU_COUNT(directions); k++) {
            match(w, part, &directions[k], true);
            match(w, part, &directions[k], false);
            chain(w, part, &directions[k]);
        }
        ask_for_gradients(w, part);
    }
    for (size_t i = 0; i < w->parts.n && !w->is_short; i++)
        for (size_t k = 0; k < HU_COUNT(directions); k++)
            pair(w, &w->parts.at[i], &directions[k]);
}
