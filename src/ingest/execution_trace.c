/* SPDX-License-Identifier: Apache-2.0
 * execution_trace.c - PyTorch's ExecutionTraceObserver: {"schema": "1.1.0-chakra.0.0.4", "pid": 1, …, "nodes": [...]}.
 *
 * Nodes are walked where they lie, without a tree: such a file is half values of tensors.  Two forms of a node: until 1.0.1
 * numbers are members ("rf_id", "parent", "scope"), later they are in "attrs" and the parent is "ctrl_deps".  A node comes
 * when its operator has ended, so its parent stands behind it.  A job that was killed leaves no "]"; what came counts.
 */
#include "ingest/execution_trace.h"

#include "base/json.h"
#include "base/map.h"
#include "base/number.h"

enum {
    MARKED = 4096,        /* bytes of the beginning in which "nodes" has to stand */
    USER_SCOPE = 7,       /* of at::RecordScope: ranges */
    MOST_DEPTH = 1 << 24, /* deeper is a chain that a file made up */
};

/* Where the list of nodes begins; p NULL: this is no such file. */
static hu_str list_of_nodes(hu_str text)
{
    static const hu_str key = {"\"nodes\"", 7}, schema = {"\"schema\"", 8};
    hu_str              head = {text.p, text.n < MARKED ? text.n : MARKED};
    const char         *end = text.p + text.n, *p;

    if (hu_str_starts(head, HU_STR("\xef\xbb\xbf")))
        head = (hu_str){head.p + 3, head.n - 3};
    while (head.n && (unsigned char)*head.p <= ' ')
        head = (hu_str){head.p + 1, head.n - 1};
    if (!hu_str_starts(head, HU_STR("{")) || !hu_str_has(head, schema) || hu_str_has(head, HU_STR("\"traceEvents\"")))
        return (hu_str){0};
    p = memmem(head.p, head.n, key.p, key.n);
    p = p ? p + key.n : end;
    while (p < end && (*p == ':' || *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p < end && *p == '[' ? (hu_str){p, (size_t)(end - p)} : (hu_str){0};
}

bool hu_execution_trace_probe(hu_str head)
{
    return list_of_nodes(head).p || hu_chakra_probe(head);
}

bool hu_execution_add(hu_execution *e, hu_arena *arena, hu_execution_node *node, hu_str name, bool is_range)
{
    node->kind = is_range ? HU_EXECUTION_RANGE : HU_EXECUTION_OPERATOR;
    if (hu_str_starts(name, HU_STR("[pytorch|profiler|")))
        node->kind = HU_EXECUTION_STRUCTURE;
    node->name = hu_intern_add(&e->texts, name);
    return node->name != UINT32_MAX && node->shapes != UINT32_MAX && node->types != UINT32_MAX &&
           hu_vec_push(arena, &e->nodes, *node);
}

/* What is not said of a node is 0 or "". */
typedef struct {
    hu_execution_node of;
    hu_str            name, shapes, types; /* raw */
    int64_t           scope;
    bool              has_id;
} node;

static void take_number(node *n, hu_str key, hu_str value)
{
    int64_t number;

    if (!hu_parse_i64(value, &number))
        return;
    if (hu_str_equal(key, HU_STR("rf_id")))
        n->of.record = (uint64_t)number;
    else if (hu_str_equal(key, HU_STR("parent")) || hu_str_equal(key, HU_STR("ctrl_deps")))
        n->of.parent = (uint64_t)number;
    else if (hu_str_equal(key, HU_STR("scope")))
        n->scope = number;
    else if (hu_str_equal(key, HU_STR("tid")))
        n->of.thread = number;
    else if (hu_str_equal(key, HU_STR("id")))
        n->of.id = (uint64_t)number, n->has_id = true;
}

/* [{"name": "rf_id", "type": "uint64", "value": 3}, ...] */
static void take_attributes(node *n, hu_str list)
{
    hu_json j = hu_json_enter(list);
    hu_str  one;

    while (hu_json_element(&j, &one)) {
        hu_json k = hu_json_enter(one);
        hu_str  key, value, name = HU_STR(""), number = HU_STR("");

        while (hu_json_member(&k, &key, &value))
            if (hu_str_equal(key, HU_STR("name")) && value.n >= 2)
                name = (hu_str){value.p + 1, value.n - 2};
            else if (hu_str_equal(key, HU_STR("value")))
                number = value;
        take_number(n, name, number);
    }
}

static void take_inputs(node *n, hu_str inputs)
{
    hu_json j = hu_json_enter(inputs);
    hu_str  key, value;

    if (inputs.n == 0 || inputs.p[0] != '{') /* the values alone */
        return;
    while (hu_json_member(&j, &key, &value))
        if (hu_str_equal(key, HU_STR("shapes")))
            n->shapes = value;
        else if (hu_str_equal(key, HU_STR("types")))
            n->types = value;
}

static node read_node(hu_str text)
{
    node    n = {.name = HU_STR(""), .shapes = HU_STR(""), .types = HU_STR("")};
    hu_json j = hu_json_enter(text);
    hu_str  key, value;

    while (hu_json_member(&j, &key, &value))
        if (hu_str_equal(key, HU_STR("name")))
            n.name = value;
        else if (hu_str_equal(key, HU_STR("attrs")))
            take_attributes(&n, value);
        else if (hu_str_equal(key, HU_STR("inputs")))
            take_inputs(&n, value);
        else if (hu_str_equal(key, HU_STR("input_shapes")))
            n.shapes = value;
        else if (hu_str_equal(key, HU_STR("input_types")))
            n.types = value;
        else
            take_number(&n, key, value);
    return n;
}

/* Lists without an item say nothing. */
static uint32_t keep_list(hu_execution *e, hu_str text)
{
    return text.n > 2 ? hu_intern_add(&e->texts, text) : 0;
}

static void read_head(hu_execution *e, hu_arena *arena, hu_str text)
{
    const hu_str schema = hu_json_text(arena, hu_json_get(text, HU_STR("schema")));

    e->writer = "PyTorch";
    e->schema = schema.p ? schema : HU_STR("");
    if (!hu_parse_i64(hu_json_get(text, HU_STR("pid")), &e->pid))
        e->pid = -1;
}

static int read_nodes(hu_execution *e, hu_str list, const hu_limits *limits, hu_arena *arena, hu_arena *scratch,
                      hu_error *err)
{
    hu_json j = hu_json_enter(list);
    hu_str  text;

    while (hu_json_element(&j, &text)) {
        node         n = read_node(text);
        const hu_str name = hu_json_text(scratch, n.name);

        if (!name.p)
            return hu_fail_memory(err);
        if (!n.has_id || name.n == 0) {
            e->malformed++;
            continue;
        }
        if (e->nodes.n == (size_t)limits->events)
            return hu_fail(err, HU_ELIMIT, e->file, HU_NO_OFFSET, "has more than %lld nodes; raise --limit events",
                           (long long)limits->events);
        n.of.shapes = keep_list(e, n.shapes);
        n.of.types = keep_list(e, n.types);
        if (!hu_execution_add(e, arena, &n.of, name, n.scope == USER_SCOPE))
            return hu_fail_memory(err);
    }
    e->is_cut = j.is_broken || j.p >= j.end;
    return 0;
}

/* Places by number.  False: no memory. */
static bool number_nodes(const hu_execution *e, hu_map *map)
{
    for (size_t i = 0; i < e->nodes.n; i++) {
        uint32_t *at = hu_map_put(map, e->nodes.at[i].id);

        if (!at)
            return false;
        *at = (uint32_t)i;
    }
    return true;
}

/*
 * How deep each node lies: from a node up to one that is known, then down again; so each is passed twice.  A ring of
 * parents, which only a made-up file has, ends where it began.  False: no memory.
 */
static bool measure_depths(hu_execution *e, hu_arena *arena)
{
    const size_t n = e->nodes.n;
    uint32_t    *path = hu_arena_calloc(arena, n + 1, sizeof *path);
    uint8_t     *seen = hu_arena_calloc(arena, n + 1, 1);
    hu_map       map;

    if (!path || !seen || n >= UINT32_MAX || !hu_map_init(&map, arena, n) || !number_nodes(e, &map))
        return false;
    for (size_t i = 0; i < n; i++) {
        size_t   steps = 0;
        uint32_t at = (uint32_t)i, depth = 0;

        while (at != HU_MAP_NONE && !seen[at]) {
            seen[at] = 1;
            path[steps++] = at;
            at = hu_map_get(&map, e->nodes.at[at].parent);
        }
        depth = at == HU_MAP_NONE ? 0 : e->nodes.at[at].depth;
        while (steps--) {
            hu_execution_node *k = &e->nodes.at[path[steps]];

            depth += k->kind == HU_EXECUTION_OPERATOR && depth < MOST_DEPTH;
            k->depth = depth;
        }
    }
    hu_map_drop(&map);
    return true;
}

int hu_execution_trace_read(hu_input *in, hu_arena *arena, hu_execution *out, hu_error *err)
{
    hu_arena *whole = hu_arena_new(); /* the text goes when its nodes are read */
    hu_str    text = HU_STR(""), list;
    int       rc = whole ? hu_input_read_whole(in, whole, &text, err) : hu_fail_memory(err);

    *out = (hu_execution){
        .file = hu_arena_copy(arena, hu_str_of(hu_input_name(in))).p, .pid = -1, .rank = -1, .schema = HU_STR("")};
    if (rc == 0 && (!out->file || !hu_intern_init(&out->texts, arena)))
        rc = hu_fail_memory(err);
    list = list_of_nodes(text);
    if (rc == 0 && list.p) {
        read_head(out, arena, text);
        rc = read_nodes(out, list, hu_input_limits(in), arena, whole, err);
    } else if (rc == 0) {
        rc = hu_chakra_read(text, hu_input_limits(in), arena, out, err);
    }
    if (rc == 0 && out->nodes.n == 0)
        rc = hu_fail(err, HU_EEMPTY, out->file, HU_NO_OFFSET,
                     "this execution trace holds no operators; was the observer stopped before the program ran any?");
    if (rc == 0 && !measure_depths(out, whole))
        rc = hu_fail_memory(err);
    hu_arena_free(whole);
    return rc;
}
