/* SPDX-License-Identifier: Apache-2.0
 * traffic.c - collectives as PyTorch has recorded them over the years, brought to one form.
 *
 * New traces carry arguments on the kernel ("Collective name", "In msg nelems", "Process Group Ranks"), older ones on
 * the operator record_param_comms around its launch, the oldest only names and shapes: "c10d::_allgather_base_" with the
 * dims of both tensors around "nccl:_all_gather_base".  Without any of these the kernel's name tells the kind, and the
 * stream stands for the process group, because NCCL's back end gives each group a stream of its own.  Where no device took
 * part (gloo), operators of c10d are the calls.
 */
#include "analyze/traffic.h"

#include <stdlib.h>

#include "analyze/comm.h"
#include "analyze/shapes.h"
#include "base/map.h"

enum { MOST_ABOVE = 8 }; /* operators between a launch and the outermost one of its collective */

typedef struct {
    const hu_ask         *ask;
    const hu_phase_spans *spans;
    hu_intervals          steps;
    HU_VEC(hu_traffic_call) list;
    HU_VEC(hu_traffic_call) peers;
    HU_VEC(hu_traffic_call) ranges;
    HU_VEC(hu_traffic_group) groups;
    hu_map   group_of_key;
    hu_map   type_of_size;  /* elements of a tensor that the back end was given -> hu_dtype */
    uint8_t *flags;         /* by name: NAME_* */
    HU_VEC(uint32_t) marks; /* places in ask->order of operators and ranges so named */
} work;

typedef enum { INTO_LIST, INTO_PEERS, INTO_RANGES } target;

enum { NAME_NONE, NAME_PARAMS, NAME_C10D, NAME_BACKEND };

/* Lower-case letters alone, so that "_allgather_base", "AllGather" and "all_gather" are one. */
static size_t letters_of(hu_str name, char *out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < name.n && n < room; i++) {
        char c = name.p[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c + ('a' - 'A'));
        if (c >= 'a' && c <= 'z')
            out[n++] = c;
    }
    return n;
}

hu_traffic_kind hu_traffic_kind_of(hu_str name)
{
    static const struct {
        const char     *word;
        hu_traffic_kind kind;
        /* clang-format off */
    } words[] = {       /* the first that is in the name */
        {"barrier", HU_TRAFFIC_BARRIER},          {"reducescatter", HU_TRAFFIC_REDUCE_SCATTER},
        {"allreduce", HU_TRAFFIC_ALL_REDUCE},     {"allgather", HU_TRAFFIC_ALL_GATHER},
        {"alltoall", HU_TRAFFIC_ALL_TO_ALL},      {"crossdevicereduce", HU_TRAFFIC_ALL_REDUCE},
        {"deepep", HU_TRAFFIC_ALL_TO_ALL},        {"dpskep", HU_TRAFFIC_ALL_TO_ALL},
        {"epinternode", HU_TRAFFIC_ALL_TO_ALL},   {"epintranode", HU_TRAFFIC_ALL_TO_ALL},
        {"moeaa", HU_TRAFFIC_ALL_TO_ALL},         {"epdispatch", HU_TRAFFIC_ALL_TO_ALL},
        {"epcombine", HU_TRAFFIC_ALL_TO_ALL},
        {"sendrecv", HU_TRAFFIC_EXCHANGE},        {"coalesced", HU_TRAFFIC_EXCHANGE},
        {"broadcast", HU_TRAFFIC_BROADCAST},      {"reduce", HU_TRAFFIC_REDUCE},
        {"gather", HU_TRAFFIC_OTHER},             {"scatter", HU_TRAFFIC_OTHER},
        {"recv", HU_TRAFFIC_RECV},                {"send", HU_TRAFFIC_SEND},
    };
    /* clang-format on */
    char         letters[96];
    const hu_str text = {letters, letters_of(name, letters, sizeof letters)};

    for (size_t i = 0; i < HU_COUNT(words); i++)
        if (hu_str_has(text, hu_str_of(words[i].word)))
            return words[i].kind;
    return HU_TRAFFIC_OTHER;
}

const char *hu_traffic_kind_name(hu_traffic_kind kind)
{
    static const char *const names[HU_TRAFFIC_COUNT] = {"all-gather", "reduce-scatter", "all-reduce",   "all-to-all",
                                                        "send",       "receive",        "send/receive", "broadcast",
                                                        "reduce",     "barrier",        "other"};

    return kind < HU_TRAFFIC_COUNT ? names[kind] : "other";
}

/* `says`: HU_NAME_* of it. */
static uint8_t flag_of_name(hu_str name, uint8_t says)
{
    if (hu_str_equal(name, HU_STR("record_param_comms")))
        return NAME_PARAMS;
    if (hu_str_starts(name, HU_STR("c10d::")) || hu_str_starts(name, HU_STR("_c10d_functional::")) ||
        hu_str_starts(name, HU_STR("c10d_functional::")))
        return hu_str_has(name, HU_STR("wait_tensor")) ? NAME_NONE : NAME_C10D;
    return says & HU_NAME_COMM ? NAME_BACKEND : NAME_NONE;
}

static bool read_names(work *w)
{
    const hu_ask  *ask = w->ask;
    const uint32_t n = hu_trace_string_count(ask->trace);

    w->flags = hu_arena_alloc(ask->scratch, n + 1);
    for (uint32_t i = 0; w->flags && i < n; i++)
        w->flags[i] = flag_of_name(hu_trace_text(ask->trace, i), ask->names[i]);
    return w->flags != NULL;
}

static int flag_of(const work *w, uint32_t slice)
{
    return w->flags[w->ask->s.name[slice]];
}

static const hu_op_detail *op_of(const hu_ask *ask, uint32_t i)
{
    return hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER) | HU_BIT(OTHER)) && ask->s.detail[i] != HU_NONE
               ? hu_trace_op_detail(ask->trace, ask->s.detail[i])
               : NULL;
}

static const hu_collective_detail *args_of(const hu_ask *ask, uint32_t i)
{
    const hu_op_detail *d = op_of(ask, i);
    uint32_t            row = 0;

    if (d)
        row = d->extra ? hu_trace_op_extra(ask->trace, d->extra)->collective : 0;
    else if (ask->s.kind[i] == HU_KIND_COLLECTIVE && ask->s.detail[i] != HU_NONE)
        row = hu_trace_kernel_detail(ask->trace, ask->s.detail[i])->collective;
    return row ? hu_trace_collective_detail(ask->trace, row) : NULL;
}

static bool is_integer(hu_str dtype)
{
    static const char *const types[] = {"Int", "Long", "Short", "Bool", "int", "long", "long int", "bool", "short"};

    for (size_t i = 0; i < HU_COUNT(types); i++)
        if (hu_str_equal(dtype, hu_str_of(types[i])))
            return true;
    return false;
}

/* "[1, 1, 1]" is even, "[]" too. */
static bool is_uneven(hu_str splits)
{
    hu_str first = {0};

    for (size_t i = 0; i < splits.n;) {
        size_t from = i;

        while (i < splits.n && splits.p[i] >= '0' && splits.p[i] <= '9')
            i++;
        if (i == from) {
            i++;
            continue;
        }
        if (!first.p)
            first = (hu_str){splits.p + from, i - from};
        else if (!hu_str_equal(first, (hu_str){splits.p + from, i - from}))
            return true;
    }
    return false;
}

/* What the arguments say.  Sizes by kind as in comm.c. */
static void take_args(const hu_ask *ask, const hu_collective_detail *d, hu_traffic_call *c)
{
    const hu_str          name = hu_trace_text(ask->trace, d->name);
    const hu_traffic_kind kind = hu_traffic_kind_of(name);
    const bool            moves_input = kind == HU_TRAFFIC_ALL_REDUCE || kind == HU_TRAFFIC_REDUCE_SCATTER ||
                             kind == HU_TRAFFIC_ALL_TO_ALL;
    int64_t elements = d->in_elements > d->out_elements ? d->in_elements : d->out_elements;

    if (kind != HU_TRAFFIC_OTHER) {
        c->kind = kind;
        c->is_named = true;
    }
    if (kind == HU_TRAFFIC_ALL_GATHER)
        elements = d->out_elements;
    else if (moves_input)
        elements = d->in_elements;
    c->dtype = hu_trace_text(ask->trace, d->dtype);
    c->is_integer = is_integer(c->dtype);
    c->bytes = elements < 0 || !hu_comm_dtype_bytes(c->dtype) ? -1 : hu_times(elements, hu_comm_dtype_bytes(c->dtype));
    if (c->bytes < 0 && d->bytes > 0)
        c->bytes = d->bytes;
    c->peer = kind == HU_TRAFFIC_SEND ? d->target_rank : kind == HU_TRAFFIC_RECV ? d->source_rank : -1;
    c->is_uneven = is_uneven(hu_trace_text(ask->trace, d->in_split)) || is_uneven(hu_trace_text(ask->trace, d->out_split));
}

typedef struct {
    int64_t large, small; /* bytes of the largest and the smallest tensor; -1 */
    int64_t elements;     /* of the largest list of tensors, whose type is not recorded; -1 */
    hu_str  type;
} tensors;

static hu_str type_name(hu_dtype type)
{
    if (hu_dtype_is_float(type) || type == HU_DTYPE_INT8)
        return hu_str_of(hu_dtype_name(type));
    return type == HU_DTYPE_INT64 ? HU_STR("long") : HU_STR("int");
}

static void look_at_tensors(const hu_ask *ask, uint32_t i, tensors *t)
{
    const hu_op_detail *d = op_of(ask, i);
    hu_args             args;

    if (!d || !d->dims ||
        !hu_args_parse(hu_trace_text(ask->trace, d->dims), hu_trace_text(ask->trace, d->types), HU_STR(""), &args))
        return;
    for (size_t k = 0; k < args.n; k++) {
        const int64_t bytes = hu_arg_is_tensor(&args, k) ? hu_arg_bytes(&args.at[k]) : -1;

        if (args.at[k].is_list && args.at[k].elements > t->elements)
            t->elements = args.at[k].elements;
        if (bytes < 0 || hu_dtype_bytes(args.at[k].dtype) == 0)
            continue;
        if (t->type.n == 0 || bytes > t->large)
            t->type = type_name(args.at[k].dtype);
        t->large = bytes > t->large ? bytes : t->large;
        t->small = t->small < 0 || bytes < t->small ? bytes : t->small;
    }
}

/* Climbs from a launch, or from a call of the host, for what is not said yet; *size: the group's, where shapes tell it. */
static const hu_collective_detail *climb(const work *w, uint32_t from, hu_traffic_call *c, int64_t *size)
{
    const hu_ask *ask = w->ask;
    tensors       t = {-1, -1, -1, {0}};
    int           n = 0;

    for (uint32_t at = from; at != HU_NONE && n < MOST_ABOVE; at = ask->s.parent[at], n++) {
        const int                   flag = flag_of(w, at);
        const bool                  may = flag == NAME_PARAMS || ask->s.kind[at] == HU_KIND_COLLECTIVE;
        const hu_collective_detail *d = may ? args_of(ask, at) : NULL;
        hu_traffic_kind             kind;

        if (d) {
            take_args(ask, d, c);
            return d;
        }
        if (flag == NAME_NONE)
            continue;
        kind = flag == NAME_PARAMS ? HU_TRAFFIC_OTHER : hu_traffic_kind_of(hu_ask_name(ask, at));
        if (kind != HU_TRAFFIC_OTHER && !(kind == HU_TRAFFIC_EXCHANGE && c->is_named)) {
            c->kind = kind;
            c->is_named = true;
        }
        look_at_tensors(ask, at, &t);
    }
    if (c->bytes < 0 && t.large < 0 && t.elements > 0 && w->type_of_size.n) {
        const uint32_t type = hu_map_get(&w->type_of_size, (uint64_t)t.elements);

        if (type < HU_DTYPE_COUNT && hu_dtype_bytes((hu_dtype)type)) {
            t.large = hu_times(t.elements, hu_dtype_bytes((hu_dtype)type));
            t.type = type_name((hu_dtype)type);
        }
    }
    if (c->bytes < 0 && t.large >= 0) {
        c->bytes = t.large;
        c->dtype = t.type;
        c->is_integer = is_integer(t.type);
        if ((c->kind == HU_TRAFFIC_ALL_GATHER || c->kind == HU_TRAFFIC_REDUCE_SCATTER) && t.small > 0 && t.large > t.small &&
            t.large % t.small == 0)
            *size = t.large / t.small;
    }
    return NULL;
}

static bool put_group(work *w, uint32_t slice, const hu_collective_detail *d, int64_t size, hu_traffic_call *c)
{
    const hu_ask    *ask = w->ask;
    hu_traffic_group g = {.name = HU_STR(""), .description = HU_STR(""), .ranks = HU_STR(""), .size = size};
    uint64_t         key;
    uint32_t        *place;

    if (d) {
        g.name = hu_trace_text(ask->trace, d->group);
        g.description = hu_trace_text(ask->trace, d->group_description);
        g.ranks = hu_trace_text(ask->trace, d->group_ranks);
        g.size = d->group_size > 0 ? d->group_size : -1;
        key = hu_hash_u64(hu_hash_u64((uint64_t)d->group << 32 | d->group_ranks) ^ (uint64_t)g.size);
    } else {
        g.is_stream = true;
        key = hu_hash_u64(ask->s.kind[slice] == HU_KIND_COLLECTIVE ? ask->s.track[slice] : UINT32_MAX) + 1;
    }
    place = hu_map_put(&w->group_of_key, key);
    if (!place)
        return false;
    if (*place == HU_MAP_NONE) {
        if (!hu_vec_push(ask->scratch, &w->groups, g))
            return false;
        *place = (uint32_t)w->groups.n - 1;
    }
    c->group = *place;
    if (w->groups.at[c->group].size < 0)
        w->groups.at[c->group].size = g.size;
    return true;
}

static hu_slot slot_of(const hu_phase_spans *spans, uint32_t span, int64_t time_ns)
{
    if (span == HU_NONE)
        return HU_SLOT_OTHER;
    if (time_ns < spans->at[span].end_ns)
        return (hu_slot)spans->at[span].phase;
    return spans->at[span].phase == HU_PHASE_FORWARD ? HU_SLOT_OTHER : HU_SLOT_AFTER;
}

/* False when there is no memory; calls outside of the steps are left out. */
static bool add(work *w, uint32_t slice, uint32_t host, target into)
{
    const hu_ask *ask = w->ask;
    int64_t       time_ns = ask->s.start_ns[slice];
    const bool    is_orphan = hu_kind_in(ask->s.kind[slice], HU_KINDS_DEVICE) &&
                           !hu_phase_started(ask, w->spans, slice, &time_ns);
    const size_t                step = hu_select_find(&w->steps, time_ns);
    hu_traffic_call             c = {.host_ns = time_ns,
                                     .is_orphan = is_orphan,
                                     .start_ns = ask->s.start_ns[slice],
                                     .dur_ns = ask->s.dur_ns[slice],
                                     .bytes = -1,
                                     .peer = -1,
                                     .dtype = HU_STR(""),
                                     .step = (uint32_t)step};
    const hu_collective_detail *d = args_of(ask, slice);
    int64_t                     size = -1;

    if (w->steps.n ? step == w->steps.n : !hu_ask_has(ask, slice))
        return true;
    c.kind = hu_traffic_kind_of(hu_ask_name(ask, slice));
    if (d)
        take_args(ask, d, &c);
    if (!d || (c.kind == HU_TRAFFIC_EXCHANGE && !c.is_named))
        d = climb(w, host, &c, &size);
    c.span = is_orphan ? HU_NONE : hu_phase_span_before(w->spans, time_ns);
    c.slot = slot_of(w->spans, c.span, time_ns);
    if (into == INTO_PEERS ? c.kind != HU_TRAFFIC_SEND && c.kind != HU_TRAFFIC_RECV
                           : c.kind == HU_TRAFFIC_OTHER && ask->s.kind[slice] != HU_KIND_COLLECTIVE)
        return true; /* "wait", "init" */
    if (into == INTO_RANGES)
        return hu_vec_push(ask->scratch, &w->ranges, c);
    return put_group(w, slice, d, size, &c) &&
           (into == INTO_PEERS ? hu_vec_push(ask->scratch, &w->peers, c) : hu_vec_push(ask->scratch, &w->list, c));
}

static bool add_device(work *w)
{
    const hu_ask *ask = w->ask;

    for (size_t k = 0; k < ask->n_work; k++) {
        const uint32_t i = ask->work[k];

        if (ask->s.kind[i] == HU_KIND_COLLECTIVE && !add(w, i, hu_trace_op_of(ask->trace, i), INTO_LIST))
            return false;
    }
    return true;
}

/* Is the slice the outermost of its collective? */
static bool is_outermost(const work *w, uint32_t i)
{
    uint32_t at = w->ask->s.parent[i];

    for (int n = 0; at != HU_NONE && n < 3; at = w->ask->s.parent[at], n++)
        if (flag_of(w, at) != NAME_NONE)
            return false;
    return true;
}

/* The innermost record of a collective below `i`, the outermost: arguments are there.  Children follow on the track. */
static uint32_t find_args(const work *w, const hu_track *t, uint32_t k)
{
    const hu_ask *ask = w->ask;
    const int64_t end = hu_ask_end(ask, ask->order[t->first + k]);

    for (uint32_t m = k; m < t->count && m < k + MOST_ABOVE; m++) {
        const uint32_t i = ask->order[t->first + m];

        if (ask->s.start_ns[i] > end)
            break;
        if (flag_of(w, i) == NAME_PARAMS && args_of(ask, i))
            return i;
    }
    return ask->order[t->first + k];
}

/* Few slices of the host are named after communication, and they are asked for in several ways. */
static bool list_marks(work *w)
{
    const hu_ask *ask = w->ask;

    for (uint32_t place = 0; place < ask->s.n; place++) {
        const uint32_t i = ask->order[place];

        if (flag_of(w, i) != NAME_NONE && hu_kind_in(ask->s.kind[i], HU_BIT(CPU_OP) | HU_BIT(USER)) &&
            !hu_vec_push(ask->scratch, &w->marks, place))
            return false;
    }
    return true;
}

/* Operators or ranges of the host of one origin. */
static bool add_host(work *w, int flag, target into)
{
    const hu_ask *ask = w->ask;

    for (size_t m = 0; m < w->marks.n; m++) {
        const uint32_t  i = ask->order[w->marks.at[m]];
        const hu_track *track = &ask->tracks[ask->s.track[i]];
        uint32_t        inner;

        if (flag_of(w, i) != flag || track->type != HU_TRACK_HOST || !is_outermost(w, i))
            continue;
        inner = flag == NAME_C10D ? find_args(w, track, w->marks.at[m] - track->first) : i;
        if (!add(w, inner, inner, into))
            return false;
    }
    return true;
}

/*
 * What the host started: the calls themselves where no device took part, else only who sends to whom.  Operators of c10d
 * hold the records; where they were not recorded, records stand alone, and the back end's ranges come last.
 */
static bool add_host_calls(work *w, target into)
{
    static const int flags[] = {NAME_C10D, NAME_PARAMS, NAME_BACKEND};

    for (size_t f = 0; f < HU_COUNT(flags); f++) {
        if (flags[f] == NAME_BACKEND && (into == INTO_PEERS ? w->peers.n : w->list.n))
            break;
        if (!add_host(w, flags[f], into))
            return false;
    }
    return true;
}

/* gloo works in threads of its own, and there alone the types of tensors are recorded. */
static bool learn_types(work *w)
{
    const hu_ask *ask = w->ask;
    hu_args       args;

    if (!hu_map_init(&w->type_of_size, ask->scratch, 16))
        return false;
    for (size_t m = 0; m < w->marks.n; m++) {
        const uint32_t      i = ask->order[w->marks.at[m]];
        const hu_op_detail *d = flag_of(w, i) == NAME_BACKEND ? op_of(ask, i) : NULL;
        uint32_t           *place, type;

        if (!d || !d->dims ||
            !hu_args_parse(hu_trace_text(ask->trace, d->dims), hu_trace_text(ask->trace, d->types), HU_STR(""), &args) ||
            !hu_arg_is_tensor(&args, 0))
            continue;
        place = hu_map_put(&w->type_of_size, (uint64_t)args.at[0].elements);
        if (!place)
            return false;
        type = (uint32_t)args.at[0].dtype;
        *place = *place == HU_MAP_NONE || *place == type ? type : HU_DTYPE_UNKNOWN;
    }
    return true;
}

/* Calls that NCCL itself told of (`holdup run --trace nccl`): what the framework has around them says the same again. */
static bool add_recorded(work *w)
{
    const hu_ask *ask = w->ask;
    const size_t  n = hu_trace_collective_count(ask->trace) ? ask->s.n : 0;

    for (size_t k = 0; k < n; k++) {
        const uint32_t              i = ask->order[k];
        const hu_collective_detail *d = hu_kind_in(ask->s.kind[i], HU_BIT(USER) | HU_BIT(OTHER)) ? args_of(ask, i) : NULL;

        if (d && d->recorded != HU_COLLECTIVE_UNSAID && !add(w, i, i, INTO_LIST))
            return false;
    }
    return true;
}

static bool add_host_only(work *w)
{
    if (!add_recorded(w))
        return false;
    if (w->list.n)
        return true;
    return list_marks(w) && learn_types(w) && add_host_calls(w, INTO_LIST) && add_host(w, NAME_BACKEND, INTO_RANGES);
}

/* Calls of one group side by side, each group's in the order they were found. */
static hu_traffic_call *sort_by_group(const hu_ask *ask, const hu_traffic_call *calls, size_t n, hu_traffic_group *groups,
                                      size_t n_groups)
{
    hu_traffic_call *sorted = hu_arena_alloc(ask->scratch, (n + 1) * sizeof *sorted);
    size_t          *place = hu_arena_calloc(ask->scratch, n_groups + 1, sizeof *place);

    if (!sorted || !place)
        return NULL;
    for (size_t i = 0; i < n; i++)
        groups[calls[i].group].n++;
    for (size_t g = 0; g < n_groups; g++) {
        groups[g].first = g ? groups[g - 1].first + groups[g - 1].n : 0;
        place[g] = groups[g].first;
    }
    for (size_t i = 0; i < n; i++)
        sorted[place[calls[i].group]++] = calls[i];
    return sorted;
}

int hu_traffic_by_peers(const hu_ask *ask, const hu_traffic *from, hu_traffic *out, hu_error *err)
{
    hu_traffic_call  *calls;
    hu_traffic_group *groups;
    size_t            n = 0;

    *out = *from;
    if (from->n_peers == 0)
        return 0;
    calls = hu_arena_alloc(ask->scratch, (from->n + from->n_peers) * sizeof *calls);
    groups = hu_arena_alloc(ask->scratch, from->n_groups * sizeof *groups);
    if (!calls || !groups)
        return hu_fail_memory(err);
    for (size_t i = 0; i < from->n; i++)
        if (!hu_traffic_is_exchange(from->at[i].kind))
            calls[n++] = from->at[i];
    for (size_t i = 0; i < from->n_peers; i++)
        calls[n++] = from->peers[i];
    memcpy(groups, from->groups, from->n_groups * sizeof *groups);
    for (size_t g = 0; g < from->n_groups; g++)
        groups[g].n = 0;
    out->at = sort_by_group(ask, calls, n, groups, from->n_groups);
    out->n = n;
    out->groups = groups;
    return out->at ? 0 : hu_fail_memory(err);
}

/* One by one, also where one begins as the other ends. */
static bool list_steps(work *w)
{
    const hu_steps *s = w->ask->steps;

    if (!s || s->source == HU_STEPS_NONE || s->n_counted == 0)
        return true;
    w->steps.at = hu_arena_alloc(w->ask->scratch, s->n * sizeof *w->steps.at);
    for (size_t i = 0; w->steps.at && i < s->n; i++)
        if (hu_step_counts(&s->at[i]) && s->at[i].host_end_ns > s->at[i].host_start_ns)
            w->steps.at[w->steps.n++] = (hu_interval){s->at[i].host_start_ns, s->at[i].host_end_ns};
    return w->steps.at != NULL;
}

int hu_traffic_list(const hu_ask *ask, const hu_phase_spans *spans, hu_traffic *out, hu_error *err)
{
    work w = {.ask = ask, .spans = spans};
    bool ok, exchanges = false;

    *out = (hu_traffic){.on_host = ask->comm.n == 0};
    if (!read_names(&w) || !hu_map_init(&w.group_of_key, ask->scratch, 16) || !list_steps(&w))
        return hu_fail_memory(err);
    ok = out->on_host ? add_host_only(&w) : add_device(&w);
    for (size_t i = 0; i < w.list.n; i++) {
        const hu_traffic_kind kind = w.list.at[i].kind;

        exchanges |= kind == HU_TRAFFIC_EXCHANGE ||
                     ((kind == HU_TRAFFIC_SEND || kind == HU_TRAFFIC_RECV) && w.list.at[i].peer < 0);
    }
    if (ok && exchanges && !out->on_host)
        ok = list_marks(&w) && add_host_calls(&w, INTO_PEERS);
    out->at = ok ? sort_by_group(ask, w.list.at, w.list.n, w.groups.at, w.groups.n) : NULL;
    if (!out->at)
        return hu_fail_memory(err);
    out->steps = w.steps;
    out->n = w.list.n;
    out->groups = w.groups.at;
    out->n_groups = w.groups.n;
    out->peers = w.peers.at;
    out->n_peers = w.peers.n;
    out->ranges = w.ranges.at;
    out->n_ranges = w.ranges.n;
    return 0;
}
