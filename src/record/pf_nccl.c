/* SPDX-License-Identifier: Apache-2.0
 * pf_nccl.c - what NCCL told its profiler, as slices that readers know for collectives.
 *
 * A call (ncclAllReduce, and the group around it) is a slice of its thread: kernels are launched inside of it.  What NCCL
 * made of the call (number, algorithm, protocol, channels) it says later, as an event of its own, which is laid upon the
 * call's slice; so one collective is one, however many events told of it.  Everything else lies on rows of the process.
 *
 * NCCL's own events last until the work was handed to the GPU.  How long a collective took is only known where the events of
 * its kernels (kernelch) or its network (proxyop) were asked for: then it is a slice from the first to the last of them.
 * That is nobody's time on a CPU, and so has a category of its own.  Readers must not mix both up: "recorded" says "span" of
 * these, and "call" of a call that says nothing about time.
 * A call that a CUDA graph captured ran nothing; the events that NCCL makes when the graph runs count.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "protocol/nccl_events.h"
#include "record/pf.h"

enum { NAME_BYTES = 96, GROUP_BYTES = 192, LANES_MOST = 256 };

typedef struct {
    hu_record record;
    uint32_t  more, n_more; /* in `mores` */
    uint32_t  tid;
    bool      is_merged;                 /* its call says all that it says */
    int64_t   kernel_ns[2], proxy_ns[2]; /* of its parts: first start, last end; both 0: none */
} rest;

typedef struct {
    bool     is_captured;
    uint32_t rest; /* what NCCL made of it; HU_MAP_NONE */
} call;

typedef struct {
    hu_str  group, description;
    int64_t rank, ranks;
} comm;

/* A group call and what is in it, as nsight_nccl.c has it. */
typedef struct {
    hu_record first;
    hu_record more[8];
    uint32_t  n_more, n;
    bool      is_exchange, is_mixed;
    uint64_t  sent, received;
} group;

struct hu_pf_nccl {
    HU_VEC(rest) rests;
    HU_VEC(hu_record) mores;
    HU_VEC(call) calls;
    HU_VEC(comm) comms;
    HU_VEC(group) groups;
    hu_map rest_of, call_of, group_of; /* by number */
    hu_map comm_of;                    /* by text */
};

static const uint8_t types[] = {0,
#define F(id, key, type) HU_NCCL_##type,
                                HU_NCCL_FIELDS(F)
#undef F
};

static const char *const kinds[] = {
#define K(id, word) word,
    HU_NCCL_KINDS(K)
#undef K
};

static const char *const states[] = {
#define S(words) words,
    HU_NCCL_STATES(S)
#undef S
};

static bool get(const hu_record *more, uint32_t n_more, hu_nccl_field field, uint64_t *out)
{
    for (uint32_t i = 0; i < n_more; i++) {
        const uint64_t values[] = {more[i].time, more[i].a, more[i].b};

        for (unsigned k = 0; more[i].aux == HU_MORE_NCCL && k < HU_NCCL_FIELDS_IN_MORE; k++)
            if ((more[i].id >> 8 * k & 0xff) == field) {
                *out = values[k];
                return true;
            }
    }
    return false;
}

static uint64_t get_or(const hu_record *more, uint32_t n_more, hu_nccl_field field, uint64_t absent)
{
    uint64_t value;

    return get(more, n_more, field, &value) ? value : absent;
}

static bool is_call(unsigned kind)
{
    return kind == HU_NCCL_COLL_API || kind == HU_NCCL_P2P_API;
}

static bool is_operation(unsigned kind)
{
    return kind == HU_NCCL_COLL || kind == HU_NCCL_P2P || kind == HU_NCCL_CE_COLL;
}

/* Does it lie on its thread? */
static bool is_on_thread(const hu_record *r, const hu_record *more, uint32_t n_more)
{
    uint64_t unused;

    return (is_call(r->aux) || r->aux == HU_NCCL_GROUP_API || r->aux == HU_NCCL_KERNEL_LAUNCH) &&
           !get(more, n_more, HU_NCCL_FIELD_ELSEWHERE, &unused);
}

/* first reading: what belongs to what */

static bool keep(hu_pf *p, const hu_ring_event *e, uint32_t tid)
{
    struct hu_pf_nccl *n = p->nccl;
    const rest         one = {.record = *e->record, .more = (uint32_t)n->mores.n, .n_more = e->n_more, .tid = tid};
    uint32_t          *place = hu_map_put(&n->rest_of, e->record->b);

    if (!place || !hu_vec_push(p->scratch, &n->rests, one))
        return false;
    *place = (uint32_t)n->rests.n - 1;
    for (uint32_t i = 0; i < e->n_more; i++)
        if (!hu_vec_push(p->scratch, &n->mores, e->more[i]))
            return false;
    return true;
}

static bool survey_one(hu_pf *p, const hu_ring_event *e, uint32_t tid)
{
    struct hu_pf_nccl *n = p->nccl;
    const hu_record   *r = e->record;
    uint32_t          *place;

    if (r->type != HU_RECORD_NCCL || r->aux >= HU_NCCL_KIND_COUNT)
        return true;
    if (is_call(r->aux)) {
        const call c = {get_or(e->more, e->n_more, HU_NCCL_FIELD_CAPTURED, 0) != 0, HU_MAP_NONE};

        place = hu_map_put(&n->call_of, r->b);
        if (!place || !hu_vec_push(p->scratch, &n->calls, c))
            return false;
        *place = (uint32_t)n->calls.n - 1;
    }
    return is_on_thread(r, e->more, e->n_more) || keep(p, e, tid);
}

static void widen(int64_t span[2], int64_t start_ns, int64_t end_ns)
{
    const bool is_first = span[0] == 0 && span[1] == 0;

    span[0] = is_first || start_ns < span[0] ? start_ns : span[0];
    span[1] = is_first || end_ns > span[1] ? end_ns : span[1];
}

static int64_t end_of(hu_pf *p, const hu_record *r)
{
    uint64_t until;

    return hu_pf_ns(p, __builtin_add_overflow(r->time, r->a, &until) ? r->time : until);
}

static const hu_record *mores_of(const struct hu_pf_nccl *n, const rest *one)
{
    return one->n_more ? &n->mores.at[one->more] : NULL;
}

/* The operation that it is a part of, or that its part is a part of; HU_MAP_NONE. */
static uint32_t operation_of(const struct hu_pf_nccl *n, const rest *one)
{
    return hu_map_get(&n->rest_of, get_or(mores_of(n, one), one->n_more, HU_NCCL_FIELD_PARENT, 0));
}

static void connect(hu_pf *p)
{
    struct hu_pf_nccl *n = p->nccl;

    for (size_t i = 0; i < n->rests.n; i++) {
        rest          *one = &n->rests.at[i];
        const uint32_t above = operation_of(n, one);

        if (is_operation(one->record.aux)) {
            const uint32_t k = hu_map_get(&n->call_of, get_or(mores_of(n, one), one->n_more, HU_NCCL_FIELD_PARENT, 0));

            if (k != HU_MAP_NONE && !n->calls.at[k].is_captured && n->calls.at[k].rest == HU_MAP_NONE) {
                n->calls.at[k].rest = (uint32_t)i;
                one->is_merged = true;
            }
        } else if (above != HU_MAP_NONE && is_operation(n->rests.at[above].record.aux)) {
            rest *of = &n->rests.at[above];

            if (one->record.aux == HU_NCCL_KERNEL_CH)
                widen(of->kernel_ns, hu_pf_ns(p, one->record.time), end_of(p, &one->record));
            else if (one->record.aux == HU_NCCL_PROXY_OP)
                widen(of->proxy_ns, hu_pf_ns(p, one->record.time), end_of(p, &one->record));
        }
    }
}

/* The slot that a number had: an operation's parts come after it, and a number is never given twice. */
bool hu_pf_nccl_survey(hu_pf *p)
{
    struct hu_pf_nccl    *n;
    size_t                n_threads;
    const hu_ring_thread *threads = hu_ring_threads(p->ring, &n_threads);

    p->nccl = NULL;
    if (!(hu_ring_get_head(p->ring)->doors & HU_DOOR_NCCL))
        return true;
    n = hu_arena_calloc(p->scratch, 1, sizeof *n);
    if (!n || !hu_map_init(&n->rest_of, p->scratch, 64) || !hu_map_init(&n->call_of, p->scratch, 64) ||
        !hu_map_init(&n->group_of, p->scratch, 16) || !hu_map_init(&n->comm_of, p->scratch, 16))
        return false;
    p->nccl = n;
    for (size_t i = 0; i < n_threads; i++) {
        hu_ring_cursor c;
        hu_ring_event  e;

        hu_ring_start(p->ring, &threads[i], NULL, &c);
        while (hu_ring_next(&c, &e))
            if (!survey_one(p, &e, threads[i].tid))
                return false;
    }
    connect(p);
    return true;
}

/* communicators */

static hu_str copy(hu_pf *p, const char *text, int n)
{
    return n > 0 ? hu_arena_copy(p->scratch, (hu_str){text, (size_t)n < GROUP_BYTES ? (size_t)n : GROUP_BYTES - 1})
                 : HU_STR("");
}

static hu_str cut(hu_str *line)
{
    const char *tab = line->n ? memchr(line->p, '\t', line->n) : NULL;
    hu_str      word = {line->p, tab ? (size_t)(tab - line->p) : line->n};

    *line = tab ? (hu_str){tab + 1, line->n - word.n - 1} : (hu_str){line->p + line->n, 0};
    return word;
}

/* A communicator of the whole job knows who this is. */
static void compare_rank(hu_pf *p, const comm *c)
{
    const hu_ring_head *head = hu_ring_get_head(p->ring);

    if (c->ranks > 1 && c->rank >= 0 && c->ranks == head->world_size && c->rank != head->rank && head->rank >= 0)
        p->tally.nccl_rank = c->rank + 1;
}

/* NULL: no memory, or none. */
static const comm *comm_at(hu_pf *p, uint64_t text)
{
    struct hu_pf_nccl *n = p->nccl;
    uint32_t          *place;
    char               words[GROUP_BYTES];
    comm               c = {.rank = -1, .ranks = -1, .group = HU_STR(""), .description = HU_STR("")};
    hu_str             line, hash;

    if (text == 0 || text >= p->n_ids || !(place = hu_map_put(&n->comm_of, text)))
        return NULL;
    if (*place != HU_MAP_NONE)
        return &n->comms.at[*place];
    line = hu_ring_text(p->ring, (uint32_t)text);
    hash = cut(&line);
    if (hash.n > 16)
        hash.n = 16;
    (void)hu_parse_i64(cut(&line), &c.rank);
    (void)hu_parse_i64(cut(&line), &c.ranks);
    (void)cut(&line);
    if (hash.n)
        c.group = copy(p, words, snprintf(words, sizeof words, "nccl 0x%.*s", HU_FMT(hash)));
    if (line.n) /* names are not unique, and not all communicators have one */
        c.description = copy(p, words, snprintf(words, sizeof words, "%.*s (0x%.*s)", HU_FMT(line), HU_FMT(hash)));
    compare_rank(p, &c);
    if (!hu_vec_push(p->scratch, &n->comms, c))
        return NULL;
    *place = (uint32_t)n->comms.n - 1;
    return &n->comms.at[*place];
}

/* what a slice says */

static void note_text(hu_pf *p, hu_pf_event *e, hu_pf_word name, hu_str text)
{
    if (text.n)
        hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_TEXT)->text = text;
}

static void note_whole(hu_pf *p, hu_pf_event *e, hu_pf_word name, int64_t value)
{
    hu_pf_add(p, e, HU_PF_OWN + name, HU_PF_INT)->whole = value;
}

/* What tells events apart; the rest of a number says in which life of the process (forks) it was given. */
static int64_t number_of(uint64_t number)
{
    return (int64_t)(number & ((UINT64_C(1) << 48) - 1));
}

/* `said`: fields that are there already; NULL: none. */
static void add_fields(hu_pf *p, hu_pf_event *e, const hu_record *more, uint32_t n_more, const hu_ring_event *said)
{
    static const hu_pf_value values[] = {[HU_NCCL_UINT] = HU_PF_UINT,
                                         [HU_NCCL_INT] = HU_PF_INT,
                                         [HU_NCCL_TEXT] = HU_PF_TEXT_ID,
                                         [HU_NCCL_ADDRESS] = HU_PF_POINTER};
    uint64_t                 there;

    for (uint32_t i = 0; i < n_more; i++) {
        const uint64_t wide[] = {more[i].time, more[i].a, more[i].b};

        for (unsigned k = 0; more[i].aux == HU_MORE_NCCL && k < HU_NCCL_FIELDS_IN_MORE; k++) {
            const uint32_t field = more[i].id >> 8 * k & 0xff;

            if (field == HU_NCCL_NO_FIELD || field >= HU_NCCL_FIELD_END || field == HU_NCCL_FIELD_COMM ||
                (said && get(said->more, said->n_more, (hu_nccl_field)field, &there)))
                continue;
            if (types[field] == HU_NCCL_TEXT && (wide[k] >= p->n_ids || !hu_ring_text(p->ring, (uint32_t)wide[k]).n))
                continue;
            hu_pf_add(p, e, HU_PF_NCCL_KEYS + field, values[types[field]])->whole =
                field == HU_NCCL_FIELD_PARENT || field == HU_NCCL_FIELD_PARENT_GROUP ? number_of(wide[k]) : (int64_t)wide[k];
        }
    }
}

/* NCCL's types by the names that PyTorch writes, which all readers know. */
static hu_str dtype_of(hu_str name)
{
    static const struct {
        const char *nccl, *torch;
    } names[] = {{"ncclInt8", "Char"},
                 {"ncclUint8", "Byte"},
                 {"ncclInt32", "Int"},
                 {"ncclUint32", "UInt32"},
                 {"ncclInt64", "Long"},
                 {"ncclUint64", "Long"},
                 {"ncclFloat16", "Half"},
                 {"ncclFloat32", "Float"},
                 {"ncclFloat64", "Double"},
                 {"ncclBfloat16", "BFloat16"},
                 {"ncclFloat8e4m3", "Float8_e4m3fn"},
                 {"ncclFloat8e5m2", "Float8_e5m2"}};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_equal(name, hu_str_of(names[i].nccl)))
            return hu_str_of(names[i].torch);
    return name;
}

/* How many elements go in and out on this rank, where NCCL counts those of one rank; false: not known. */
static bool elements_of(hu_str function, uint64_t count, int64_t ranks, int64_t *in, int64_t *out)
{
    const bool gathers = hu_str_equal(function, HU_STR("AllGather")) || hu_str_equal(function, HU_STR("Gather"));
    const bool scatters = hu_str_equal(function, HU_STR("ReduceScatter")) || hu_str_equal(function, HU_STR("Scatter"));
    const bool exchanges = hu_str_equal(function, HU_STR("AlltoAll"));
    int64_t    all;

    if (count > INT64_MAX)
        return false;
    *in = *out = (int64_t)count;
    if (!gathers && !scatters && !exchanges)
        return true;
    if (ranks <= 0 || __builtin_mul_overflow((int64_t)count, ranks, &all))
        return false;
    *in = scatters || exchanges ? all : *in;
    *out = gathers || exchanges ? all : *out;
    return true;
}

/* Is a rank of the communicator the job's rank of the same number? */
static bool is_world(const hu_pf *p, const comm *c)
{
    const hu_ring_head *head = hu_ring_get_head(p->ring);

    return c && c->ranks > 0 && c->ranks == head->world_size && c->rank == head->rank;
}

/* The arguments that readers take for a collective, in PyTorch's words.  `beside`: what NCCL made of it; NULL. */
static void add_collective(hu_pf *p, hu_pf_event *e, const hu_record *r, const hu_record *more, uint32_t n_more,
                           const rest *beside, const char *recorded, char name[NAME_BYTES])
{
    struct hu_pf_nccl *n = p->nccl;
    const hu_record   *other = beside ? mores_of(n, beside) : NULL;
    const uint32_t     n_other = beside ? beside->n_more : 0;
    const hu_str       function = hu_ring_text(p->ring, r->id);
    const comm        *c = comm_at(p, get_or(more, n_more, HU_NCCL_FIELD_COMM, 0));
    const uint64_t     datatype = get_or(more, n_more, HU_NCCL_FIELD_DATATYPE, 0);
    const int64_t      ranks = c ? c->ranks : -1;
    uint64_t           value;
    int64_t            in, out;

    snprintf(name, NAME_BYTES, "nccl%.*s", HU_FMT(function));
    note_text(p, e, HU_PF_COLLECTIVE, hu_str_of(name));
    if (datatype < p->n_ids)
        note_text(p, e, HU_PF_DTYPE, dtype_of(hu_ring_text(p->ring, (uint32_t)datatype)));
    if (get(more, n_more, HU_NCCL_FIELD_COUNT, &value) && elements_of(function, value, ranks, &in, &out)) {
        note_whole(p, e, HU_PF_IN_ELEMENTS, in);
        note_whole(p, e, HU_PF_OUT_ELEMENTS, out);
    }
    if (c) {
        note_text(p, e, HU_PF_GROUP_NAME, c->group);
        note_text(p, e, HU_PF_GROUP_DESCRIPTION, c->description);
        note_whole(p, e, HU_PF_COMM_RANK, c->rank);
    }
    if (ranks > 0)
        note_whole(p, e, HU_PF_GROUP_SIZE, ranks);
    if ((get(more, n_more, HU_NCCL_FIELD_SEQUENCE, &value) || get(other, n_other, HU_NCCL_FIELD_SEQUENCE, &value)) &&
        value <= INT64_MAX)
        note_whole(p, e, HU_PF_SEQUENCE, (int64_t)value);
    if (is_world(p, c) &&
        (get(more, n_more, HU_NCCL_FIELD_PEER, &value) || get(other, n_other, HU_NCCL_FIELD_PEER, &value)) &&
        (hu_str_equal(function, HU_STR("Send")) || hu_str_equal(function, HU_STR("Recv"))))
        note_whole(p, e, hu_str_equal(function, HU_STR("Send")) ? HU_PF_TARGET_RANK : HU_PF_SOURCE_RANK, (int64_t)value);
    if (recorded)
        note_text(p, e, HU_PF_RECORDED, hu_str_of(recorded));
}

static void write_slice(hu_pf *p, hu_pf_sequence *s, hu_pf_event *e, int64_t end_ns)
{
    hu_pf_event over = {
        .type = HU_PT_TYPE_END, .category = HU_PF_OF_NONE, .ns = end_ns > e->ns ? end_ns : e->ns, .track = e->track};

    over.text = HU_STR("");
    hu_pf_write(p, s, e);
    hu_pf_write(p, s, &over);
}

/* groups of calls */

static bool join(hu_pf *p, const hu_ring_event *e)
{
    struct hu_pf_nccl *n = p->nccl;
    const hu_str       function = hu_ring_text(p->ring, e->record->id);
    const bool         sends = hu_str_equal(function, HU_STR("Send")), receives = hu_str_equal(function, HU_STR("Recv"));
    const uint64_t     parent = get_or(e->more, e->n_more, HU_NCCL_FIELD_PARENT, 0);
    uint32_t          *place = parent ? hu_map_put(&n->group_of, parent) : NULL;
    uint64_t           count = get_or(e->more, e->n_more, HU_NCCL_FIELD_COUNT, 0);
    group             *g;

    if (!parent)
        return true;
    if (!place || (*place == HU_MAP_NONE && !hu_vec_push(p->scratch, &n->groups, ((group){.first = *e->record}))))
        return false;
    if (*place == HU_MAP_NONE)
        *place = (uint32_t)n->groups.n - 1;
    g = &n->groups.at[*place];
    if (g->n == 0) {
        g->n_more = e->n_more < HU_COUNT(g->more) ? e->n_more : (uint32_t)HU_COUNT(g->more);
        memcpy(g->more, e->more, g->n_more * sizeof *g->more);
        g->is_exchange = sends || receives;
    }
    g->is_mixed |= g->n > 0 &&
                   (!(sends || receives) || !g->is_exchange ||
                    get_or(e->more, e->n_more, HU_NCCL_FIELD_COMM, 0) != get_or(g->more, g->n_more, HU_NCCL_FIELD_COMM, 0) ||
                    get_or(e->more, e->n_more, HU_NCCL_FIELD_DATATYPE, 0) !=
                        get_or(g->more, g->n_more, HU_NCCL_FIELD_DATATYPE, 0));
    g->n++;
    g->sent += sends ? count : 0;
    g->received += receives ? count : 0;
    return true;
}

/* A kernel that is launched in a group is what the group is, where that is one thing. */
static void add_group(hu_pf *p, hu_pf_event *e, uint64_t number, char name[NAME_BYTES])
{
    struct hu_pf_nccl *n = p->nccl;
    const uint32_t     at = hu_map_get(&n->group_of, number);
    const group       *g = at == HU_MAP_NONE ? NULL : &n->groups.at[at];
    uint32_t           made;

    if (!g || g->is_mixed)
        return;
    if (g->n == 1) {
        made = hu_map_get(&n->call_of, g->first.b);
        add_collective(p, e, &g->first, g->more, g->n_more,
                       made != HU_MAP_NONE && n->calls.at[made].rest != HU_MAP_NONE ? &n->rests.at[n->calls.at[made].rest]
                                                                                    : NULL,
                       NULL, name);
        return;
    }
    { /* sends and receives of one communicator: under no name of their own */
        const comm    *c = comm_at(p, get_or(g->more, g->n_more, HU_NCCL_FIELD_COMM, 0));
        const uint64_t datatype = get_or(g->more, g->n_more, HU_NCCL_FIELD_DATATYPE, 0);

        note_text(p, e, HU_PF_COLLECTIVE, HU_STR("ncclSendRecv"));
        if (datatype < p->n_ids)
            note_text(p, e, HU_PF_DTYPE, dtype_of(hu_ring_text(p->ring, (uint32_t)datatype)));
        if (g->sent <= INT64_MAX && g->received <= INT64_MAX) {
            note_whole(p, e, HU_PF_IN_ELEMENTS, (int64_t)g->sent);
            note_whole(p, e, HU_PF_OUT_ELEMENTS, (int64_t)g->received);
        }
        if (c) {
            note_text(p, e, HU_PF_GROUP_NAME, c->group);
            note_text(p, e, HU_PF_GROUP_DESCRIPTION, c->description);
        }
        if (c && c->ranks > 0)
            note_whole(p, e, HU_PF_GROUP_SIZE, c->ranks);
    }
}

/* second reading */

static void number_it(hu_pf *p, hu_pf_event *e, uint64_t number)
{
    hu_pf_add(p, e, HU_PF_OWN + HU_PF_EVENT, HU_PF_UINT)->whole = number_of(number);
}

static void write_state(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from)
{
    const hu_record *r = from->record;
    hu_pf_event      e = {.type = HU_PT_TYPE_INSTANT, .category = HU_PF_OF_NCCL, .ns = hu_pf_ns(p, r->time)};

    e.text = r->b < HU_COUNT(states) ? hu_str_of(states[r->b]) : HU_STR("nccl state");
    number_it(p, &e, r->a);
    hu_pf_add(p, &e, HU_PF_OWN + HU_PF_STATE, HU_PF_INT)->whole = (int64_t)r->b;
    add_fields(p, &e, from->more, from->n_more, NULL);
    hu_pf_write(p, s, &e);
}

static bool has_span(const rest *one)
{
    return one->kernel_ns[0] || one->kernel_ns[1] || one->proxy_ns[0] || one->proxy_ns[1];
}

static void write_call(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from, uint64_t track)
{
    struct hu_pf_nccl *n = p->nccl;
    const hu_record   *r = from->record;
    const uint32_t     k = is_call(r->aux) ? hu_map_get(&n->call_of, r->b) : HU_MAP_NONE;
    const call        *c = k == HU_MAP_NONE ? NULL : &n->calls.at[k];
    const rest        *made = c && c->rest != HU_MAP_NONE ? &n->rests.at[c->rest] : NULL;
    hu_pf_event        e = {.type = HU_PT_TYPE_BEGIN, .category = HU_PF_OF_USER, .track = track, .text = HU_STR("")};
    char               name[NAME_BYTES];

    e.ns = hu_pf_ns(p, r->time);
    if (c) {
        add_collective(p, &e, r, from->more, from->n_more, made, c->is_captured || (made && has_span(made)) ? NULL : "call",
                       name);
        e.text = hu_str_of(name);
    } else {
        e.text = r->aux == HU_NCCL_GROUP_API ? HU_STR("ncclGroup") : HU_STR("nccl kernel launch");
        if (r->aux == HU_NCCL_GROUP_API)
            add_group(p, &e, r->b, name);
    }
    number_it(p, &e, r->b);
    add_fields(p, &e, from->more, from->n_more, NULL);
    if (made)
        add_fields(p, &e, mores_of(n, made), made->n_more, from);
    write_slice(p, s, &e, end_of(p, r));
}

bool hu_pf_nccl_take(hu_pf *p, hu_pf_sequence *s, const hu_ring_event *from)
{
    const hu_record *r = from->record;

    if (!p->nccl || (r->aux != HU_NCCL_STATE && r->aux >= HU_NCCL_KIND_COUNT)) {
        p->tally.damage.odd++;
        return true;
    }
    if (r->aux == HU_NCCL_STATE)
        write_state(p, s, from);
    else if (is_on_thread(r, from->more, from->n_more))
        write_call(p, s, from, 0);
    return !is_call(r->aux) || join(p, from);
}

/* rows of the process */

enum { ROWS = 5 };

static unsigned row_of(unsigned kind)
{
    switch (kind) {
    case HU_NCCL_KERNEL_CH:
        return 1;
    case HU_NCCL_PROXY_OP:
    case HU_NCCL_PROXY_STEP:
    case HU_NCCL_PROXY_CTRL:
        return 2;
    case HU_NCCL_NET:
        return 3;
    case HU_NCCL_CE_SYNC:
    case HU_NCCL_CE_BATCH:
        return 4;
    default:
        return 0;
    }
}

typedef struct {
    int64_t  start_ns, end_ns;
    uint32_t rest;
    uint8_t  row;
    bool     is_span;
} drawn;

static int by_row_and_time(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x->rest < y->rest ? -1 : x->rest > y->rest;
}

static void write_drawn(hu_pf *p, hu_pf_sequence *s, const drawn *d, uint64_t track)
{
    struct hu_pf_nccl  *n = p->nccl;
    const rest         *one = &n->rests.at[d->rest];
    const hu_record    *more = mores_of(n, one);
    const hu_ring_event from = {&one->record, more, one->n_more};
    hu_pf_event         e = {
                .type = HU_PT_TYPE_BEGIN, .category = HU_PF_OF_NCCL, .ns = d->start_ns, .track = track, .text = HU_STR("")};
    char name[NAME_BYTES];

    if (!is_operation(one->record.aux) && row_of(one->record.aux) == 0 && one->record.aux != HU_NCCL_GROUP) {
        write_call(p, s, &from, track); /* that began in another thread */
        return;
    }
    if (is_operation(one->record.aux)) {
        add_collective(p, &e, &one->record, more, one->n_more, NULL, d->is_span ? "span" : "call", name);
        e.text = hu_str_of(name);
    } else {
        snprintf(name, sizeof name, "nccl %s", kinds[one->record.aux]);
        e.text = hu_str_of(name);
    }
    number_it(p, &e, one->record.b);
    add_fields(p, &e, more, one->n_more, NULL);
    hu_pf_add(p, &e, HU_PF_OWN + HU_PF_THREAD, HU_PF_INT)->whole = one->tid;
    write_slice(p, s, &e, d->end_ns);
}

static uint64_t lane_for(hu_pf *p, hu_pf_sequence *s, const drawn *d, int64_t *free_ns, uint64_t *tracks, size_t *n_lanes)
{
    static const char *const names[ROWS] = {"NCCL operations", "NCCL kernels", "NCCL proxy", "NCCL network", "NCCL copies"};
    size_t                   i = 0;

    while (i < *n_lanes && free_ns[i] > d->start_ns)
        i++;
    if (i == LANES_MOST)
        i--;
    if (i == *n_lanes) {
        tracks[(*n_lanes)++] = ++p->last_uuid;
        hu_pf_row(p, s, p->last_uuid, p->process_track, hu_str_of(names[d->row]), true);
    }
    free_ns[i] = d->end_ns;
    return tracks[i];
}

bool hu_pf_nccl_write(hu_pf *p, hu_pf_sequence *s)
{
    struct hu_pf_nccl *n = p->nccl;
    drawn             *list;
    size_t             count = 0, n_lanes = 0;
    int64_t            free_ns[LANES_MOST];
    uint64_t           tracks[LANES_MOST];

    if (!n || n->rests.n == 0)
        return true;
    list = hu_arena_alloc(p->scratch, n->rests.n * sizeof *list);
    if (!list)
        return false;
    for (size_t i = 0; i < n->rests.n; i++) {
        const rest    *one = &n->rests.at[i];
        const bool     is_span = is_operation(one->record.aux) && has_span(one);
        const int64_t *span = one->kernel_ns[0] || one->kernel_ns[1] ? one->kernel_ns : one->proxy_ns;

        if (one->is_merged && !is_span)
            continue;
        list[count++] = (drawn){is_span ? span[0] : hu_pf_ns(p, one->record.time),
                                is_span ? span[1] : end_of(p, &one->record), (uint32_t)i, (uint8_t)row_of(one->record.aux),
                                is_span};
    }
    if (count)
        qsort(list, count, sizeof *list, by_row_and_time);
    for (size_t i = 0; i < count; i++) {
        if (i && list[i].row != list[i - 1].row)
            n_lanes = 0;
        write_drawn(p, s, &list[i], lane_for(p, s, &list[i], free_ns, tracks, &n_lanes));
    }
    return !p->w.no_memory;
}
