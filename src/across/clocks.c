/* SPDX-License-Identifier: Apache-2.0
 * clocks.c - how far the clocks of hosts are apart, by when their ranks left the same collectives.
 *
 * Nobody leaves a synchronising collective before all have come, and all leave it nearly together, so its ends are moments
 * that all clocks saw.  (Starts differ by how late ranks are, which says nothing about clocks.)
 *
 * Links.  Ranks of one host read one clock.  In each collective the first host of its group is compared with each other one:
 * one pair for each, of the medians of the ends on both.  Collectives that are long beside the others of their group are
 * left out where enough remain, because what takes longer ends less sharply.  Of all pairs of two hosts
 *
 *     slope    median of the slopes between pairs of pairs (Theil, Sen), or none
 *     offset   median of what the slope leaves
 *
 * after what lies beyond 5 median deviations was dropped; whether clocks drift is decided by Bayes' information criterion
 * for errors of Laplace's distribution: 2 n ln(mean error) + k ln n, k = 1 for a constant, 2 for a line.
 *
 * Ways.  Hosts that never meet the reference are reached through those that do: by the spanning tree of the most certain
 * links.  Where there are several ways to a host, all links are made to agree by weighted least squares, at both ends of the
 * capture; what they disagree by then is the error that they show.
 *
 * Devices.  A device's clock is mapped to its host's by the driver.  Where the ends on one rank lie apart from those of the
 * others by more than HU_CLOCKS_SLACK_NS, and the criterion agrees, that is called the device's offset.
 *
 * Check.  The latest start of a collective comes before every end.
 *
 * How ends differ by the order of a ring's hops cannot be told from a difference of clocks: the floor is a few microseconds.
 */
#include "across/clocks.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/sort.h"

enum {
    LEAST_PAIRS = 8,        /* of a link */
    ENOUGH_PAIRS = 32,      /* for short collectives alone to be used */
    MOST_PAIRS = 8000000,   /* of all links; of more collectives every k-th is used */
    MOST_SLOPES = 20000000, /* of all links */
    MOST_LINK_SLOPES = 180000,
    LEAST_LINK_SLOPES = 512,
    MOST_ROUNDS = 500, /* of the least squares */
};

static const int64_t LONG_WAY = INT64_C(1) << 61; /* times and offsets that no clock has */
static const double  LONGER = 4;                  /* than a quarter of its group's: not short */
static const double  SLOPE_UNITS = 1e15;
static const double  SPREAD_OF_MEDIAN = 1.2533 * 1.4826; /* of normal errors, from their median deviation */

typedef struct {
    int64_t at, later; /* the hub's clock; how much later the node's, less the link's base */
} pair;

/* later = base + offset + slope * (at - middle) */
typedef struct {
    uint32_t hub, node;
    HU_VEC(pair) pairs;
    int64_t base, first, last, middle;
    double  offset, slope, error; /* error: of the offset */
    bool    is_known, is_line, is_used;
} link;

typedef struct {
    const hu_meetings *m;
    hu_arena          *scratch;
    hu_clocks         *out;
    uint32_t          *host; /* of each digest */
    uint32_t          *ranks_of_host;
    HU_VEC(link) links;
    hu_map link_of;
    /* of hosts */
    bool    *is_reached;
    int64_t *coarse; /* by the tree, whole ns */
    double  *variance;
    double  *begin, *end; /* what is finer, at both ends of the capture */
    int64_t  first_ns, last_ns;
    /* of one group */
    uint32_t *order; /* members by host */
    int64_t  *ends, *values;
} work;

static bool find_hosts(work *w)
{
    const hu_meetings *m = w->m;
    hu_map             names;

    w->host = hu_arena_calloc(w->scratch, m->n_digests + 1, sizeof *w->host);
    w->ranks_of_host = hu_arena_calloc(w->scratch, m->n_digests + 1, sizeof *w->ranks_of_host);
    if (!w->host || !w->ranks_of_host || !hu_map_init(&names, w->scratch, 64))
        return false;
    for (size_t i = 0; i < m->n_digests; i++) {
        const hu_str name = m->digests[i]->info.host;
        uint32_t    *place = name.n ? hu_map_put(&names, hu_hash_bytes(name.p, name.n)) : NULL;

        if (name.n && !place)
            return false;
        w->host[i] = place && *place != HU_MAP_NONE ? *place : (uint32_t)w->out->n_hosts++;
        if (place)
            *place = w->host[i];
        w->ranks_of_host[w->host[i]]++;
    }
    return true;
}

/* links */

static link *link_between(work *w, uint32_t hub, uint32_t node)
{
    uint32_t *place = hu_map_put(&w->link_of, (uint64_t)hub << 32 | node);

    if (!place)
        return NULL;
    if (*place == HU_MAP_NONE) {
        if (!hu_vec_push(w->scratch, &w->links, ((link){.hub = hub, .node = node})))
            return NULL;
        *place = (uint32_t)w->links.n - 1;
    }
    return &w->links.at[*place];
}

/* The places of a group's members by host; false when it is all on one. */
static bool sort_members(work *w, const hu_meeting *one)
{
    const hu_member *who = &w->m->members.at[one->first];
    bool             differ = false;

    for (uint32_t i = 0; i < one->n; i++) {
        w->values[i] = (int64_t)((uint64_t)w->host[who[i].digest] << 32 | i);
        differ |= w->host[who[i].digest] != w->host[who[0].digest];
    }
    if (!differ)
        return false;
    hu_sort_i64(w->values, one->n);
    for (uint32_t i = 0; i < one->n; i++)
        w->order[i] = (uint32_t)w->values[i];
    return true;
}

/* The middle one of the ends on the host of the member at `i`, which moves on to the next host. */
static int64_t end_on_host(work *w, const hu_meeting *one, uint32_t *i, uint32_t *host)
{
    const hu_member *who = &w->m->members.at[one->first];
    uint32_t         n = 0;

    *host = w->host[who[w->order[*i]].digest];
    for (; *i < one->n && w->host[who[w->order[*i]].digest] == *host; (*i)++)
        w->values[n++] = hu_comm_call_end(hu_meetings_call(w->m, who[w->order[*i]]));
    hu_sort_i64(w->values, n);
    return w->values[(n - 1) / 2];
}

static bool compare_hosts(work *w, const hu_meeting *one)
{
    uint32_t      i = 0, hub, node;
    const int64_t at = end_on_host(w, one, &i, &hub);

    while (i < one->n) {
        const int64_t later = end_on_host(w, one, &i, &node) - at;
        link         *l = link_between(w, hub, node);

        if (!l)
            return false;
        if (l->pairs.n == 0)
            l->base = later;
        if (!hu_vec_push(w->scratch, &l->pairs, ((pair){at, later - l->base})))
            return false;
    }
    return true;
}

/* How short a collective of a group must be to be used. */
static int64_t most_ns(work *w, size_t first, size_t end, int64_t *lengths)
{
    size_t n = 0, count = 0;
    double limit;

    for (size_t i = first; i < end; i++)
        if (w->m->list.at[i].synchronises)
            lengths[n++] = w->m->list.at[i].least_ns;
    hu_sort_i64(lengths, n);
    limit = LONGER * hu_stats_quantile(lengths, n, 0.25);
    while (count < n && (double)lengths[count] <= limit)
        count++;
    return count < ENOUGH_PAIRS ? INT64_MAX : lengths[count - 1];
}

static bool make_links(work *w)
{
    const hu_meetings *m = w->m;
    const size_t       every = m->members.n / MOST_PAIRS + 1;
    int64_t           *lengths = hu_arena_alloc(w->scratch, (m->list.n + 1) * sizeof *lengths);

    if (!lengths || !hu_map_init(&w->link_of, w->scratch, 64))
        return false;
    for (size_t i = 0, end; i < m->list.n; i = end) {
        int64_t most;

        end = hu_meetings_next_group(m, i);
        if (!sort_members(w, &m->list.at[i]))
            continue;
        most = most_ns(w, i, end, lengths);
        for (size_t k = i; k < end; k += every)
            if (m->list.at[k].synchronises && m->list.at[k].least_ns <= most && !compare_hosts(w, &m->list.at[k]))
                return false;
    }
    return true;
}

static int by_time(const void *left, const void *right)
{
    const pair *a = left, *b = right;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->later > b->later) - (a->later < b->later);
}

static double median_of(int64_t *values, size_t n)
{
    hu_sort_i64(values, n);
    return hu_stats_quantile(values, n, 0.5);
}

/* Of all pairs of pairs, or of `most` that lie far apart. */
static double slope_of(const link *l, size_t most, int64_t *slopes)
{
    const pair  *p = l->pairs.at;
    const size_t n = l->pairs.n, all = n * (n - 1) / 2;
    const size_t near = all <= most ? 1 : n / 4 + 1, far = all <= most ? n - 1 : n - n / 4;
    const size_t shifts = all <= most ? far - near + 1 : 2 * most / n + 1;
    const size_t every = (far - near + 1) / shifts + ((far - near + 1) % shifts != 0);
    size_t       count = 0;

    for (size_t shift = near; shift <= far; shift += every)
        for (size_t i = 0; i + shift < n && count < most; i++)
            if (p[i + shift].at > p[i].at)
                slopes[count++] = llround(SLOPE_UNITS * fmax(-1, fmin(1, (double)(p[i + shift].later - p[i].later) /
                                                                             (double)(p[i + shift].at - p[i].at))));
    return count ? median_of(slopes, count) / SLOPE_UNITS : 0;
}

static int64_t far_at_most(int64_t x)
{
    return x > LONG_WAY ? LONG_WAY : x < -LONG_WAY ? -LONG_WAY : x;
}

static int64_t whole(double x)
{
    return llround(fmin((double)LONG_WAY, fmax(-(double)LONG_WAY, x)));
}

static double left_over(const link *l, const pair *p)
{
    return (double)p->later - l->offset - l->slope * (double)(p->at - l->middle);
}

static double mean_error(const link *l)
{
    double sum = 0;

    for (size_t i = 0; i < l->pairs.n; i++)
        sum += fabs(left_over(l, &l->pairs.at[i]));
    return fmax(1, sum / (double)l->pairs.n);
}

/* Sets the offset that leaves as much above as below; returns the median deviation. */
static double centre(link *l, int64_t *values)
{
    l->offset = 0;
    for (size_t i = 0; i < l->pairs.n; i++)
        values[i] = whole(left_over(l, &l->pairs.at[i]));
    l->offset = median_of(values, l->pairs.n);
    for (size_t i = 0; i < l->pairs.n; i++)
        values[i] = whole(fabs(left_over(l, &l->pairs.at[i])));
    return median_of(values, l->pairs.n);
}

static void drop_outliers(link *l, double deviation)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->pairs.n; i++)
        if (fabs(left_over(l, &l->pairs.at[i])) <= 5 * deviation + 1)
            l->pairs.at[kept++] = l->pairs.at[i];
    l->pairs.n = kept;
}

static bool fit_link(const work *w, link *l, size_t most_slopes)
{
    const size_t n = l->pairs.n, room = most_slopes > n ? most_slopes : n;
    int64_t     *values = hu_arena_grow(w->scratch, NULL, (room + 1) * sizeof *values);
    double       deviation, error, slope;

    if (!values)
        return false;
    qsort(l->pairs.at, n, sizeof *l->pairs.at, by_time);
    l->first = l->pairs.at[0].at;
    l->last = l->pairs.at[n - 1].at;
    l->middle = l->first + (l->last - l->first) / 2;
    l->slope = slope_of(l, most_slopes, values);
    drop_outliers(l, centre(l, values));
    deviation = centre(l, values);
    error = mean_error(l);
    slope = l->slope;
    l->slope = 0;
    l->error = centre(l, values);
    l->is_line = 2 * (double)l->pairs.n * log(mean_error(l) / error) > log((double)l->pairs.n);
    if (l->is_line) {
        l->slope = slope;
        l->error = deviation;
        centre(l, values);
    }
    l->error = fmax(1, SPREAD_OF_MEDIAN * l->error / sqrt((double)l->pairs.n));
    l->is_known = true;
    hu_arena_drop(w->scratch, values);
    return true;
}

static bool fit_links(work *w)
{
    const size_t share = MOST_SLOPES / (w->links.n + 1);
    const size_t most = share > MOST_LINK_SLOPES ? MOST_LINK_SLOPES : share < LEAST_LINK_SLOPES ? LEAST_LINK_SLOPES : share;

    for (size_t i = 0; i < w->links.n; i++)
        if (w->links.at[i].pairs.n >= LEAST_PAIRS && !fit_link(w, &w->links.at[i], most))
            return false;
    return true;
}

/* ways */

static int by_error(const void *left, const void *right)
{
    const link *a = left, *b = right;

    if (a->is_known != b->is_known)
        return a->is_known ? -1 : 1;
    if (a->is_known && a->error != b->error)
        return a->error < b->error ? -1 : 1;
    if (a->hub != b->hub)
        return a->hub < b->hub ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static uint32_t root_of(uint32_t *above, uint32_t i)
{
    for (; above[i] != i; i = above[i])
        above[i] = above[above[i]];
    return i;
}

/* From a host that is reached to one that is not, over a link of the tree. */
static void reach(work *w, const link *l, uint32_t from)
{
    const uint32_t to = l->hub == from ? l->node : l->hub;
    const int64_t  later = far_at_most(l->base + whole(l->offset));

    w->is_reached[to] = true;
    w->coarse[to] = far_at_most(l->hub == from ? w->coarse[from] + later : w->coarse[from] - later);
    w->variance[to] = w->variance[from] + l->error * l->error;
}

/* The spanning tree of the most certain links (Kruskal), walked from the reference. */
static bool walk_tree(work *w, uint32_t *edges, uint32_t *starts)
{
    const size_t n = w->out->n_hosts;
    uint32_t    *above = hu_arena_alloc(w->scratch, (n + 1) * sizeof *above);
    uint32_t    *queue = hu_arena_alloc(w->scratch, (n + 1) * sizeof *queue);
    bool        *in_tree = hu_arena_calloc(w->scratch, w->links.n + 1, sizeof *in_tree);
    size_t       read = 0, written = 0;

    if (!above || !queue || !in_tree)
        return false;
    for (uint32_t i = 0; i < n; i++)
        above[i] = i;
    for (size_t i = 0; i < w->links.n && w->links.at[i].is_known; i++) {
        const link    *l = &w->links.at[i];
        const uint32_t a = root_of(above, l->hub), b = root_of(above, l->node);

        in_tree[i] = a != b;
        above[a] = b;
        starts[l->hub + 1] += in_tree[i];
        starts[l->node + 1] += in_tree[i];
    }
    for (size_t i = 0; i < n; i++)
        starts[i + 1] += starts[i];
    starts[n + 1] = starts[n];
    for (size_t i = w->links.n; i-- > 0;) { /* afterwards those of a host begin one place further */
        if (!in_tree[i])
            continue;
        edges[--starts[w->links.at[i].hub + 1]] = (uint32_t)i;
        edges[--starts[w->links.at[i].node + 1]] = (uint32_t)i;
    }
    queue[written++] = w->host[w->out->reference];
    w->is_reached[queue[0]] = true;
    while (read < written) {
        const uint32_t from = queue[read++];

        for (uint32_t k = starts[from + 1]; k < starts[from + 2]; k++) {
            const link *l = &w->links.at[edges[k]];

            if (w->is_reached[l->hub] && w->is_reached[l->node])
                continue;
            queue[written++] = l->hub == from ? l->node : l->hub;
            reach(w, l, from);
        }
    }
    return true;
}

/* What a link says about its hosts at a time of the reference, beyond what is coarsely known. */
static double link_at(const work *w, const link *l, int64_t time_ns)
{
    const __int128 rest = (__int128)l->base - w->coarse[l->node] + w->coarse[l->hub];

    return (double)rest + l->offset + l->slope * (double)((__int128)time_ns + w->coarse[l->hub] - l->middle);
}

/*
 * Weighted least squares of x[node] - x[hub] over all links, x of the reference 0, by conjugate gradients from what x holds;
 * without ways around the tree's own answer comes out.
 */
static bool agree(work *w, int64_t time_ns, double *x)
{
    const size_t   n = w->out->n_hosts;
    double        *r = hu_arena_calloc(w->scratch, n + 1, sizeof *r), *p = hu_arena_calloc(w->scratch, n + 1, sizeof *p);
    double        *q = hu_arena_calloc(w->scratch, n + 1, sizeof *q);
    double        *diagonal = hu_arena_calloc(w->scratch, n + 1, sizeof *diagonal);
    const uint32_t reference = w->host[w->out->reference];
    double         size = 0, least = 0;

    if (!r || !p || !q || !diagonal)
        return false;
    for (size_t i = 0; i < w->links.n; i++) {
        const link  *l = &w->links.at[i];
        const double weight = 1 / (l->error * l->error);

        if (!l->is_used)
            continue;
        r[l->node] += weight * link_at(w, l, time_ns);
        r[l->hub] -= weight * link_at(w, l, time_ns);
        diagonal[l->node] += weight;
        diagonal[l->hub] += weight;
    }
    r[reference] = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = diagonal[i] > 0 ? r[i] / diagonal[i] : 0;
        size += r[i] * p[i];
    }
    least = size * 1e-20;
    for (int round = 0; round < MOST_ROUNDS && size > least; round++) {
        double step = 0, next = 0;

        memset(q, 0, n * sizeof *q);
        for (size_t i = 0; i < w->links.n; i++) {
            const link  *l = &w->links.at[i];
            const double flow = l->is_used ? (p[l->node] - p[l->hub]) / (l->error * l->error) : 0;

            q[l->node] += flow;
            q[l->hub] -= flow;
        }
        q[reference] = 0;
        for (size_t i = 0; i < n; i++)
            step += p[i] * q[i];
        if (step <= 0)
            break;
        step = size / step;
        for (size_t i = 0; i < n; i++) {
            x[i] += step * p[i];
            r[i] -= step * q[i];
            next += diagonal[i] > 0 ? r[i] * r[i] / diagonal[i] : 0;
        }
        for (size_t i = 0; i < n; i++)
            p[i] = (diagonal[i] > 0 ? r[i] / diagonal[i] : 0) + next / size * p[i];
        size = next;
    }
    return true;
}

/* Root of the mean square that links disagree with what was agreed on, per way too many. */
static double disagreement(const work *w, size_t used, size_t needed)
{
    double sum = 0, weights = 0;

    for (size_t i = 0; i < w->links.n; i++) {
        const link  *l = &w->links.at[i];
        const double weight = 1 / (l->error * l->error);
        const double begin = link_at(w, l, w->first_ns) - (w->begin[l->node] - w->begin[l->hub]);
        const double end = link_at(w, l, w->last_ns) - (w->end[l->node] - w->end[l->hub]);

        if (!l->is_used)
            continue;
        sum += weight * (begin + end) * (begin + end) / 4;
        weights += weight;
    }
    return used > needed ? sqrt(sum / weights * (double)used / (double)(used - needed)) : (double)NAN;
}

static bool find_ways(work *w)
{
    const size_t n = w->out->n_hosts;
    uint32_t    *edges = hu_arena_alloc(w->scratch, (2 * w->links.n + 1) * sizeof *edges);
    uint32_t    *starts = hu_arena_calloc(w->scratch, n + 2, sizeof *starts);
    size_t       used = 0, reached = 0;
    double       worst = 0;

    w->is_reached = hu_arena_calloc(w->scratch, n + 1, sizeof *w->is_reached);
    w->coarse = hu_arena_calloc(w->scratch, n + 1, sizeof *w->coarse);
    w->variance = hu_arena_calloc(w->scratch, n + 1, sizeof *w->variance);
    w->begin = hu_arena_calloc(w->scratch, n + 1, sizeof *w->begin);
    w->end = hu_arena_calloc(w->scratch, n + 1, sizeof *w->end);
    if (!edges || !starts || !w->is_reached || !w->coarse || !w->variance || !w->begin || !w->end)
        return false;
    if (w->links.n)
        qsort(w->links.at, w->links.n, sizeof *w->links.at, by_error);
    if (!walk_tree(w, edges, starts))
        return false;
    for (size_t i = 0; i < n; i++) {
        reached += w->is_reached[i];
        worst = w->is_reached[i] && w->variance[i] > worst ? w->variance[i] : worst;
    }
    for (size_t i = 0; i < w->links.n; i++) {
        link         *l = &w->links.at[i];
        const int64_t first = l->first - w->coarse[l->hub], last = l->last - w->coarse[l->hub];

        if (!l->is_known || !w->is_reached[l->hub])
            continue;
        w->first_ns = used == 0 || first < w->first_ns ? first : w->first_ns;
        w->last_ns = used == 0 || last > w->last_ns ? last : w->last_ns;
        l->is_used = true;
        w->out->n_drifting += l->is_line;
        used++;
    }
    if (!agree(w, w->first_ns, w->begin) || !agree(w, w->last_ns, w->end))
        return false;
    w->out->n_links = used;
    w->out->middle_ns = w->first_ns + (w->last_ns - w->first_ns) / 2;
    w->out->cycle_ns = disagreement(w, used, reached - 1);
    if (used)
        w->out->error_ns = fmax(sqrt(worst), isnan(w->out->cycle_ns) ? 0 : w->out->cycle_ns);
    return true;
}

static void set_clocks(work *w)
{
    const double window = (double)(w->last_ns - w->first_ns);

    for (size_t r = 0; r < w->m->n_digests; r++) {
        const uint32_t host = w->host[r];
        hu_clock      *c = &w->out->at[r];

        *c = (hu_clock){.offset_ns = (double)NAN};
        if (!w->is_reached[host]) {
            w->out->n_unreached++;
            continue;
        }
        c->offset_ns = (double)w->coarse[host] + (w->begin[host] + w->end[host]) / 2;
        c->drift_ppm = window > 0 ? 1e6 * (w->end[host] - w->begin[host]) / window : 0;
        if (host == w->host[w->out->reference])
            *c = (hu_clock){0};
    }
}

int64_t hu_clocks_time(const hu_clocks *c, size_t digest, int64_t time_ns)
{
    const hu_clock *clock = &c->at[digest];
    int64_t         time;

    if (isnan(clock->offset_ns))
        return time_ns;
    time = far_at_most(time_ns - whole(clock->offset_ns));
    return far_at_most(time - whole(clock->device_ns + clock->drift_ppm * 1e-6 * (double)(time - c->middle_ns)));
}

/* what is left over */

/* The members whose clocks are known, to the front of `order`; and their ends on the reference's clock. */
static uint32_t known_ends(work *w, const hu_meeting *one)
{
    const hu_member *who = &w->m->members.at[one->first];
    uint32_t         n = 0;

    for (uint32_t i = 0; i < one->n; i++) {
        if (isnan(w->out->at[who[i].digest].offset_ns))
            continue;
        w->order[n] = i;
        w->ends[n++] = hu_clocks_time(w->out, who[i].digest, hu_comm_call_end(hu_meetings_call(w->m, who[i])));
    }
    return n;
}

/* Ends of one rank that are all early or all late, beside others that read the same host's clock. */
static bool find_devices(work *w)
{
    struct ends {
        HU_VEC(int64_t) later;
    } *of = hu_arena_calloc(w->scratch, w->m->n_digests + 1, sizeof *of);

    if (!of)
        return false;
    for (size_t i = 0; i < w->m->list.n; i++) {
        const hu_meeting *one = &w->m->list.at[i];
        const uint32_t    n = one->synchronises ? known_ends(w, one) : 0;
        int64_t           middle;

        if (n < 3) /* of two nobody knows who is right */
            continue;
        memcpy(w->values, w->ends, n * sizeof *w->ends);
        hu_sort_i64(w->values, n);
        middle = w->values[(n - 1) / 2];
        for (uint32_t k = 0; k < n; k++)
            if (!hu_vec_push(w->scratch, &of[w->m->members.at[one->first + w->order[k]].digest].later, w->ends[k] - middle))
                return false;
    }
    for (size_t r = 0; r < w->m->n_digests; r++) {
        const size_t n = of[r].later.n;
        double       none = 0, some = 0, offset;

        if (n < LEAST_PAIRS || w->ranks_of_host[w->host[r]] < 2 || w->m->digests[r]->comm.on_host)
            continue; /* also where no device's clock was read */
        offset = median_of(of[r].later.at, n);
        for (size_t i = 0; i < n; i++) {
            none += fabs((double)of[r].later.at[i]);
            some += fabs((double)of[r].later.at[i] - offset);
        }
        if (fabs(offset) > HU_CLOCKS_SLACK_NS &&
            2 * (double)n * log(fmax(1, none / (double)n) / fmax(1, some / (double)n)) > log((double)n))
            w->out->at[r].device_ns = offset;
    }
    return true;
}

/* Sums for a correlation. */
typedef struct {
    double n, x, y, xx, yy, xy;
} moments;

static double correlation(const moments *s)
{
    const double vx = s->xx - s->x * s->x / s->n, vy = s->yy - s->y * s->y / s->n;

    return s->n >= LEAST_PAIRS && vx > 0 && vy > 0 ? (s->xy - s->x * s->y / s->n) / sqrt(vx * vy) : (double)NAN;
}

/* Does anybody leave before the last has come?  And do waits by clocks agree with those that need none? */
static void check(work *w, const hu_meeting *one, uint32_t n, moments *waits)
{
    const hu_member *who = &w->m->members.at[one->first];
    const double     least = isnan(w->out->error_ns) ? 0 : 3 * w->out->error_ns;
    int64_t          latest = INT64_MIN;

    for (uint32_t i = 0; i < n; i++) {
        const hu_member m = who[w->order[i]];

        w->values[i] = hu_clocks_time(w->out, m.digest, hu_meetings_call(w->m, m)->start_ns);
        latest = w->values[i] > latest ? w->values[i] : latest;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double by_clock = (double)(latest - w->values[i]);
        const double without = (double)(hu_meetings_call(w->m, who[w->order[i]])->dur_ns - one->least_ns);

        w->out->checked++;
        w->out->violations += latest - w->ends[i] > HU_CLOCKS_SLACK_NS;
        if (fmax(by_clock, without) <= least)
            continue;
        waits->n += 1;
        waits->x += by_clock;
        waits->y += without;
        waits->xx += by_clock * by_clock;
        waits->yy += without * without;
        waits->xy += by_clock * without;
    }
}

static bool find_rest(work *w)
{
    HU_VEC(int64_t) rest = {0};
    moments waits = {0};

    for (size_t i = 0; i < w->m->list.n; i++) {
        const hu_meeting *one = &w->m->list.at[i];
        const uint32_t    n = one->synchronises ? known_ends(w, one) : 0;

        for (uint32_t k = 1; k < n; k++)
            if (!hu_vec_push(w->scratch, &rest, llabs(w->ends[k] - w->ends[0])))
                return false;
        if (n > 1)
            check(w, one, n, &waits);
    }
    w->out->n_ends = rest.n;
    w->out->residual_ns = rest.n ? median_of(rest.at, rest.n) : (double)NAN;
    w->out->worst_ns = rest.n ? (double)rest.at[rest.n - 1] : (double)NAN;
    w->out->agreement = correlation(&waits);
    return true;
}

bool hu_clocks_measure(const hu_meetings *m, hu_arena *arena, hu_arena *scratch, hu_clocks *out)
{
    work w = {.m = m, .scratch = scratch, .out = out};

    *out = (hu_clocks){.at = hu_arena_calloc(arena, m->n_digests + 1, sizeof *out->at),
                       .n = m->n_digests,
                       .residual_ns = (double)NAN,
                       .worst_ns = (double)NAN,
                       .error_ns = (double)NAN,
                       .cycle_ns = (double)NAN,
                       .agreement = (double)NAN};
    w.order = hu_arena_alloc(scratch, (m->n_digests + 1) * sizeof *w.order);
    w.ends = hu_arena_alloc(scratch, (m->n_digests + 1) * sizeof *w.ends);
    w.values = hu_arena_alloc(scratch, (m->n_digests + 1) * sizeof *w.values);
    if (!out->at || !w.order || !w.ends || !w.values || !find_hosts(&w) || !make_links(&w) || !fit_links(&w) ||
        !find_ways(&w))
        return false;
    set_clocks(&w);
    return find_devices(&w) && find_rest(&w);
}
