/* SPDX-License-Identifier: Apache-2.0
 * flight_recorder.c - dumps of PyTorch's Flight Recorder (docs/formats/flight-recorder.md).
 *
 * Traps: gloo and other backends without device events leave every call "scheduled" and only mark it retired when it has
 * ended, while a retired call of NCCL that is not completed has timed out.  Of coalesced calls, which share a number, only
 * the last one, "coalesced", has events; the others stay "scheduled" for ever.  JSON writes times that are unknown as 0 and
 * no frames.  The members of groups are one text, "[0, 1]"; gloo writes all groups under the same empty name.
 */
#include "ingest/flight_recorder.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/json_value.h"
#include "base/map.h"
#include "base/number.h"
#include "base/pickle.h"
#include "ingest/format.h"

enum {
    HEAD_BYTES = 64 << 10,
    MOST_FRAMES = 512,
    MOST_RANKS = 1 << 20,
    MOST_MEMBERS = 1 << 24,
    MOST_TENSORS = 4096,
    TEXT_BYTES = 400
};

typedef struct {
    hu_flight_dump *dump;
    hu_intern       texts;
    hu_map          stack_of; /* hash of frames -> place in stacks */
    HU_VEC(const hu_flight_stack *) stacks;
    size_t n_members;  /* of all groups */
    bool   has_memory; /* false: an allocation failed */
} reader;

bool hu_flight_recorder_probe(hu_str head)
{
    static const hu_str keys[] = {{"pg_config", 9}, {"pg_status", 9}, {"collective_seq_id", 17}};
    const bool          is_pickle = head.n > 2 && (unsigned char)head.p[0] == 0x80 && head.p[1] >= 2 && head.p[1] <= 5;
    size_t              found = 0, n = head.n < HEAD_BYTES ? head.n : HEAD_BYTES;

    head.n = n;
    while (n && (unsigned char)head.p[head.n - n] <= ' ')
        n--;
    if (!is_pickle && (n == 0 || head.p[head.n - n] != '{' || hu_str_has(head, HU_STR("traceEvents"))))
        return false;
    for (size_t i = 0; i < HU_COUNT(keys); i++)
        found += hu_str_has(head, keys[i]);
    return is_pickle ? found > 0 : hu_str_has(head, keys[1]) || hu_str_has(head, keys[2]);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int64_t hu_flight_recorder_rank(const char *path)
{
    static const hu_str suffixes[] = {{".gz", 3}, {".zst", 4}, {".json", 5}, {".pickle", 7}, {".pkl", 4}};
    hu_str              name = hu_str_base_name(hu_str_of(path));
    int64_t             rank;
    size_t              n = 0;

    for (size_t i = 0; i < HU_COUNT(suffixes); i++)
        if (hu_str_ends(name, suffixes[i]))
            name.n -= suffixes[i].n;
    while (n < name.n && is_digit(name.p[name.n - n - 1]))
        n++;
    return hu_parse_i64((hu_str){name.p + name.n - n, n}, &rank) && rank < MOST_RANKS ? rank : -1;
}

static hu_str keep(reader *r, hu_str text)
{
    const uint32_t id = hu_intern_add(&r->texts, text);

    if (id == UINT32_MAX)
        r->has_memory = false;
    return id == UINT32_MAX ? HU_STR("") : hu_intern_get(&r->texts, id);
}

static hu_str text_of(reader *r, const hu_value *dict, const char *key)
{
    return keep(r, hu_value_text(hu_value_get(dict, key)));
}

static int by_rank(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* "[0, 1, 2]", or a list of numbers. */
static void read_ranks(reader *r, const hu_value *v, hu_flight_group *out)
{
    const hu_str text = hu_value_text(v);
    HU_VEC(int64_t) ranks = {0};
    size_t n = 0;

    for (size_t i = 0; i < hu_value_count(v) && i < MOST_RANKS; i++)
        if (!hu_vec_push(r->dump->arena, &ranks, hu_value_int(hu_value_at(v, i), 0)))
            r->has_memory = false;
    for (size_t i = 0; i < text.n && ranks.n < MOST_RANKS;) {
        const size_t from = i;
        int64_t      rank;

        while (i < text.n && is_digit(text.p[i]))
            i++;
        if (i > from && hu_parse_i64((hu_str){text.p + from, i - from}, &rank) && rank < MOST_RANKS &&
            !hu_vec_push(r->dump->arena, &ranks, rank))
            r->has_memory = false;
        i += i == from;
    }
    if (ranks.n)
        qsort(ranks.at, ranks.n, sizeof *ranks.at, by_rank);
    for (size_t i = 0; i < ranks.n; i++)
        if (n == 0 || ranks.at[n - 1] != ranks.at[i])
            ranks.at[n++] = ranks.at[i];
    out->ranks = ranks.at;
    out->n = n;
    r->n_members += n;
}

static void read_groups(reader *r, const hu_value *config)
{
    if (!config || config->type != HU_VALUE_DICT)
        return;
    for (uint32_t i = 0; i + 1 < config->n && r->has_memory && r->n_members < MOST_MEMBERS; i += 2) {
        hu_flight_group group = {.name = keep(r, hu_value_text(config->items[i])),
                                 .about = text_of(r, config->items[i + 1], "desc")};

        read_ranks(r, hu_value_get(config->items[i + 1], "ranks"), &group);
        if (group.n && !hu_vec_push(r->dump->arena, &r->dump->groups, group))
            r->has_memory = false;
    }
}

/* "[8, 4] [2]" and how many elements that is. */
static hu_str read_sizes(reader *r, const hu_value *list, int64_t *elements)
{
    char   text[TEXT_BYTES];
    size_t n = 0;

    *elements = list && list->type == HU_VALUE_LIST ? 0 : -1;
    for (size_t i = 0; i < hu_value_count(list) && i < MOST_TENSORS; i++) {
        const hu_value *sizes = hu_value_at(list, i);
        int64_t         product = 1;

        if (n < sizeof text - 1)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s[", i ? " " : "");
        for (size_t k = 0; k < hu_value_count(sizes) && k < MOST_TENSORS; k++) {
            const int64_t size = hu_value_int(hu_value_at(sizes, k), 0);

            if (__builtin_mul_overflow(product, size, &product))
                product = INT64_MAX;
            if (n < sizeof text - 1)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", k ? ", " : "", (long long)size);
        }
        if (n < sizeof text - 1)
            n += (size_t)snprintf(text + n, sizeof text - n, "]");
        if (__builtin_add_overflow(*elements, product, elements))
            *elements = INT64_MAX;
    }
    return keep(r, (hu_str){text, n < sizeof text ? n : sizeof text - 1});
}

/* "Float", or "Float, Half" where tensors differ. */
static hu_str read_types(reader *r, const hu_value *list)
{
    char   text[TEXT_BYTES];
    hu_str before = HU_STR("");
    size_t n = 0;

    for (size_t i = 0; i < hu_value_count(list) && i < MOST_TENSORS && n < sizeof text - 1; i++) {
        const hu_str type = hu_value_text(hu_value_at(list, i));

        if (i && hu_str_equal(type, before))
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s", n ? ", " : "", (int)(type.n < 60 ? type.n : 60), type.p);
        before = type;
    }
    return keep(r, (hu_str){text, n < sizeof text ? n : sizeof text - 1});
}

/* Equal stacks of a dump are one, because a training loop calls from the same few places. */
static const hu_flight_stack *read_stack(reader *r, const hu_value *frames)
{
    const size_t     n = hu_value_count(frames) < MOST_FRAMES ? hu_value_count(frames) : MOST_FRAMES;
    hu_flight_frame *at;
    hu_flight_stack *stack;
    uint64_t         hash = n;
    uint32_t        *place;

    if (n == 0)
        return NULL;
    at = hu_arena_calloc(r->dump->arena, n, sizeof *at);
    for (size_t i = 0; at && i < n; i++) {
        const hu_value *frame = hu_value_at(frames, i);

        at[i] = (hu_flight_frame){text_of(r, frame, "name"), text_of(r, frame, "filename"),
                                  hu_value_int(hu_value_get(frame, "line"), 0)};
        hash = hu_hash_mix(hash ^ (uint64_t)(uintptr_t)at[i].function.p, (uint64_t)(uintptr_t)at[i].file.p + 1);
        hash = hu_hash_mix(hash ^ (uint64_t)at[i].line, i + 0x9e3779b97f4a7c15u);
    }
    place = at ? hu_map_put(&r->stack_of, hash) : NULL;
    if (!place)
        return r->has_memory = false, NULL;
    if (*place != HU_MAP_NONE) {
        const hu_flight_stack *same = r->stacks.at[*place];

        if (same->n == n && memcmp(same->at, at, n * sizeof *at) == 0)
            return same;
    }
    *place = (uint32_t)r->stacks.n;
    stack = hu_arena_calloc(r->dump->arena, 1, sizeof *stack);
    if (!stack || !hu_vec_push(r->dump->arena, &r->stacks, stack))
        return r->has_memory = false, NULL;
    *stack = (hu_flight_stack){at, n};
    return stack;
}

static uint8_t read_state(const hu_value *v)
{
    const hu_str state = hu_value_text(hu_value_get(v, "state"));

    if (hu_str_equal(state, HU_STR("completed")) || hu_value_int(hu_value_get(v, "time_discovered_completed_ns"), 0) > 0)
        return HU_FLIGHT_ENDED;
    return hu_str_equal(state, HU_STR("started")) ? HU_FLIGHT_STARTED : HU_FLIGHT_SCHEDULED;
}

static void read_entry(reader *r, const hu_value *v)
{
    static const char *const sizes[] = {"input_sizes", "output_sizes"}, *const types[] = {"input_dtypes", "output_dtypes"};
    const hu_value *group = hu_value_get(v, "process_group");
    const hu_str    name = hu_value_text(hu_value_get(v, "profiling_name"));
    const char     *colon = name.n ? memchr(name.p, ':', name.n) : NULL;
    const size_t    before = colon ? (size_t)(colon - name.p) : 0;
    hu_flight_entry e = {.group = keep(r, hu_value_text(hu_value_at(group, 0))),
                         .about = keep(r, hu_value_text(hu_value_at(group, 1))),
                         .backend = keep(r, (hu_str){name.p, before}),
                         .operation = keep(r, colon ? (hu_str){colon + 1, name.n - before - 1} : name),
                         .record = hu_value_int(hu_value_get(v, "record_id"), -1),
                         .created_ns = hu_value_int(hu_value_get(v, "time_created_ns"), 0),
                         .timeout_ms = hu_value_int(hu_value_get(v, "timeout_ms"), 0),
                         .state = read_state(v),
                         .is_p2p = hu_value_int(hu_value_get(v, "is_p2p"), 0) != 0};

    e.sequence = hu_value_int(hu_value_get(v, e.is_p2p ? "p2p_seq_id" : "collective_seq_id"), -1);
    for (int i = 0; i < 2; i++) {
        e.sizes[i] = read_sizes(r, hu_value_get(v, sizes[i]), &e.elements[i]);
        e.types[i] = read_types(r, hu_value_get(v, types[i]));
    }
    e.stack = read_stack(r, hu_value_get(v, "frames"));
    if (!hu_vec_push(r->dump->arena, &r->dump->entries, e))
        r->has_memory = false;
}

/* The highest number that a group of this process has completed, by its own count; JSON writes it as text. */
static int64_t last_completed(const hu_value *status)
{
    int64_t most = 0;

    for (uint32_t i = 0; status && status->type == HU_VALUE_DICT && i + 1 < status->n; i += 2) {
        const hu_value *v = hu_value_get(status->items[i + 1], "last_completed_collective");
        int64_t         number = hu_value_int(v, 0);

        if (v && v->type == HU_VALUE_TEXT && !hu_parse_i64(hu_value_text(v), &number))
            continue;
        most = number > most ? number : most;
    }
    return most;
}

/*
 * NCCL and its kind are asked for events; of others "retired" is all that is known of an end.  Newer versions also record
 * NCCL from outside, without events: then calls are counted as completed, and none of them shows it.
 */
static bool has_events(const hu_value *entries, const hu_value *status)
{
    bool is_nccl = false;

    for (size_t i = 0; i < hu_value_count(entries); i++) {
        const hu_value *v = hu_value_at(entries, i);
        const hu_str    name = hu_value_text(hu_value_get(v, "profiling_name"));

        if (read_state(v) != HU_FLIGHT_SCHEDULED)
            return true;
        is_nccl |= hu_str_starts(name, HU_STR("nccl")) || hu_str_starts(name, HU_STR("xccl"));
    }
    return is_nccl && last_completed(status) < 2; /* one may be a first call that timed out */
}

/* The last of the calls that share a number tells for all of them. */
static void share_states(hu_flight_dump *dump)
{
    for (size_t i = dump->entries.n; i-- > 1;) {
        const hu_flight_entry *last = &dump->entries.at[i];
        hu_flight_entry       *e = &dump->entries.at[i - 1];

        if (e->is_p2p == last->is_p2p && e->sequence == last->sequence && hu_str_equal(e->group, last->group))
            e->state = last->state;
    }
}

static void read_entries(reader *r, const hu_value *entries, const hu_value *status)
{
    const bool events = has_events(entries, status);

    for (size_t i = 0; i < hu_value_count(entries) && r->has_memory; i++) {
        const hu_value *v = hu_value_at(entries, i);

        if (!v || v->type != HU_VALUE_DICT)
            continue;
        read_entry(r, v);
        if (r->has_memory && !events && hu_value_int(hu_value_get(v, "retired"), 0))
            r->dump->entries.at[r->dump->entries.n - 1].state = HU_FLIGHT_ENDED;
    }
    r->dump->has_events = events;
    if (events)
        share_states(r->dump);
}

static const hu_value *parse(hu_input *in, hu_str bytes, hu_arena *scratch, hu_error *err)
{
    const bool is_pickle = bytes.n && (unsigned char)bytes.p[0] == 0x80;

    return is_pickle ? hu_pickle_read(bytes, hu_input_name(in), hu_input_limits(in), scratch, err)
                     : hu_json_value_read(bytes, hu_input_name(in), hu_input_limits(in), scratch, err);
}

/* What can be read, and for what a rank is missing. */
static int check(hu_input *in, const hu_value *root, hu_error *err)
{
    const hu_value *entries = hu_value_get(root, "entries");
    const hu_str    version = hu_value_text(hu_value_get(root, "version"));

    if (!root || root->type != HU_VALUE_DICT || (!entries && !hu_value_get(root, "pg_config")) ||
        (entries && entries->type != HU_VALUE_LIST))
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                       "no dump of PyTorch's Flight Recorder: it has no list of entries");
    if (version.n && !hu_str_starts(version, HU_STR("2.")))
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                       "a Flight Recorder dump of version %.*s; holdup reads versions 2.x",
                       (int)(version.n < 20 ? version.n : 20), version.p);
    return 0;
}

int hu_flight_recorder_read(hu_input *in, hu_flight_dump *out, hu_error *err)
{
    hu_arena       *scratch = hu_arena_new();
    reader          r = {.dump = out, .has_memory = true};
    hu_str          bytes = {0};
    const hu_value *root;
    int             rc;

    *out = (hu_flight_dump){.arena = hu_arena_new(), .rank = -1};
    rc = !scratch || !out->arena || !hu_intern_init(&r.texts, out->arena) || !hu_map_init(&r.stack_of, out->arena, 64)
             ? hu_fail_memory(err)
             : hu_input_read_whole(in, scratch, &bytes, err);
    root = rc == 0 ? parse(in, bytes, scratch, err) : NULL;
    if (rc == 0)
        rc = root ? check(in, root, err) : err->code;
    if (rc == 0) {
        out->file = keep(&r, hu_str_of(hu_input_name(in)));
        out->version = text_of(&r, root, "version");
        out->rank = hu_value_int(hu_value_get(root, "rank"), hu_flight_recorder_rank(hu_input_name(in)));
        read_groups(&r, hu_value_get(root, "pg_config"));
        read_entries(&r, hu_value_get(root, "entries"), hu_value_get(root, "pg_status"));
        rc = r.has_memory ? 0 : hu_fail_memory(err);
    }
    hu_arena_free(scratch);
    return rc;
}

void hu_flight_recorder_free(hu_flight_dump *dump)
{
    hu_arena_free(dump->arena);
    dump->arena = NULL;
}

/* A dump is no timeline: it is read, so that a broken one is told, and the way to its answer is said. */
static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_flight_dump dump;
    int            rc = hu_flight_recorder_read(in, &dump, err);

    (void)b;
    hu_flight_recorder_free(&dump);
    return rc < 0 ? rc
                  : hu_fail(err, HU_EFORMAT, hu_input_name(in), HU_NO_OFFSET,
                            "a Flight Recorder dump, which has no timeline; pass all dumps of the job, and nothing else, to "
                            "`holdup report`");
}

const hu_format hu_format_flight_recorder = {
    .name = "torch-flight-recorder",
    .what = "Flight Recorder dumps of PyTorch",
    .suffixes = ".json",
    .probe = hu_flight_recorder_probe,
    .import = import,
};
