/* SPDX-License-Identifier: Apache-2.0
 * executions.c - an execution trace and a trace of torch.profiler of the same steps: rf_id is the other's "External id", but
 * for a distance.
 *
 * Both number what the program runs, and one of them may have begun earlier: of real files of one run 5,335 of 5,337 ids
 * are in both, and 333 of them with the same name; two further on all 5,337 have it.  So the distance is looked for at which
 * most of a sample of operators have equal names.  All ranks of a job count alike and run the same operators, so a number
 * and a name do not tell whose trace it is: the process does, and where there is one of each nothing else is needed.
 *
 * Shapes are put into the profiler's words: a number that is no tensor has none, a list of numbers neither.  They are taken
 * only where the trace has no shapes at all, so that equal inputs stay equal texts.
 */
#include "job/executions.h"

#include <stdio.h>

#include "base/json.h"
#include "base/map.h"
#include "base/number.h"
#include "base/units.h"
#include "ingest/execution_trace.h"

enum {
    INPUTS = 8192,   /* bytes of one list */
    SHARE = 2,       /* at least one in so many operators has to be the trace's */
    SAMPLE = 256,    /* operators that are asked for their distance */
    FARTHEST = 1024, /* that a distance may be */
};

/* Of numbers; n is 0 without any. */
typedef struct {
    uint64_t n, least, most;
} span;

typedef struct {
    hu_execution     of;
    hu_map           by_record; /* rf_id -> place in of.nodes */
    hu_execution_fit fit;
    span             records, externals; /* rf_ids of its operators, External ids of the trace that it was tried on */
    bool             is_tried, is_joined;
} execution_file;

struct hu_execution_files {
    execution_file *at;
    size_t          n;
    bool            is_only; /* one of them, and one trace */
    hu_arena       *arena;
};

static void widen(span *s, uint64_t number)
{
    s->least = s->n && s->least < number ? s->least : number;
    s->most = s->n && s->most > number ? s->most : number;
    s->n++;
}

static bool map_records(execution_file *f, hu_arena *arena)
{
    if (!hu_map_init(&f->by_record, arena, f->of.nodes.n))
        return false;
    for (size_t i = 0; i < f->of.nodes.n; i++) {
        const hu_execution_node *node = &f->of.nodes.at[i];
        uint32_t                *at;

        if (!node->record || node->kind != HU_EXECUTION_OPERATOR)
            continue;
        if (!(at = hu_map_put(&f->by_record, node->record)))
            return false;
        *at = (uint32_t)i;
        f->fit.operators++;
        widen(&f->records, node->record);
    }
    return true;
}

static int read_one(const char *path, const hu_limits *limits, hu_arena *arena, execution_file *out, hu_error *err)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in = hu_input_open(path, &how, err);
    int                    rc;

    *out = (execution_file){.fit = {.file = hu_str_of(path), .trace = HU_STR("")}};
    if (!in)
        return err->code;
    rc = hu_execution_trace_read(in, arena, &out->of, err);
    hu_input_close(in);
    return rc < 0 || map_records(out, arena) ? rc : hu_fail_memory(err);
}

/* Returns how many there are, or HU_ENOMEM. */
static int find_all(const hu_inputs *inputs, bool *are, hu_error *err)
{
    const hu_glance **seen = hu_glances_each(inputs->glances, inputs->at, inputs->n, err);
    int               n = 0;

    if (!seen)
        return err->code;
    for (size_t i = 0; i < inputs->n; i++) {
        are[i] = seen[i]->is_execution;
        n += are[i];
    }
    return n;
}

int hu_executions_find(const hu_inputs *inputs, const hu_limits *limits, hu_arena *arena, hu_inputs *rest,
                       hu_execution_files **out, hu_error *err)
{
    bool               *are = hu_arena_calloc(arena, inputs->n + 1, sizeof *are);
    hu_execution_files *files = hu_arena_calloc(arena, 1, sizeof *files);
    int                 n;

    *rest = *inputs;
    *out = NULL;
    if (!are || !files)
        return hu_fail_memory(err);
    if (inputs->n < 2 || inputs->n > HU_EXECUTIONS_AMONG || inputs->reader)
        return 0;
    if ((n = find_all(inputs, are, err)) < 0)
        return err->code;
    if (n == 0 || (size_t)n == inputs->n)
        return 0;
    rest->at = hu_arena_calloc(arena, inputs->n + 1, sizeof *rest->at);
    files->at = hu_arena_calloc(arena, (size_t)n, sizeof *files->at);
    if (!rest->at || !files->at)
        return hu_fail_memory(err);
    rest->n = 0;
    for (size_t i = 0; i < inputs->n; i++) {
        hu_error why = {0};

        if (!are[i])
            rest->at[rest->n++] = inputs->at[i];
        else if (read_one(inputs->at[i], limits, arena, &files->at[files->n], &why) == 0)
            files->n++;
        else if (why.code == HU_ENOMEM || hu_unread_add_error(&rest->unread, arena, inputs->at[i], &why, err) < 0)
            return hu_fail_memory(err);
    }
    files->is_only = files->n == 1 && rest->n == 1;
    *out = files;
    return 0;
}

/* "Tensor(float)" of an execution trace is "float" of the profiler, "Int" is "Scalar", what is neither is "". */
static hu_str type_of(hu_str type)
{
    static const hu_str numbers[] = {{"Int", 3}, {"Bool", 4}, {"Double", 6}, {"Float", 5}, {"SymInt", 6}};

    if (hu_str_starts(type, HU_STR("Tensor(")) && type.p[type.n - 1] == ')')
        return (hu_str){type.p + 7, type.n - 8};
    if (hu_str_starts(type, HU_STR("GenericList[Tensor")))
        return HU_STR("TensorList");
    for (size_t i = 0; i < HU_COUNT(numbers); i++)
        if (hu_str_equal(type, numbers[i]))
            return HU_STR("Scalar");
    return HU_STR("");
}

typedef struct {
    char   p[INPUTS];
    size_t n;
    bool   is_full;
} list;

static void add(list *out, hu_str text)
{
    out->is_full |= text.n > sizeof out->p - out->n;
    if (out->is_full)
        return;
    memcpy(out->p + out->n, text.p, text.n);
    out->n += text.n;
}

typedef struct {
    uint32_t external;
    hu_str   name;
} operator_id;

typedef struct {
    execution_file *file;
    hu_arena       *arena;
    bool            fills;
    list            dims, types;
    HU_VEC(operator_id) ids; /* of the trace */
} joint;

/* Both lists item by item. */
static void translate(joint *j, hu_str shapes, hu_str types)
{
    hu_json s = hu_json_enter(shapes), t = hu_json_enter(types);
    hu_str  shape, type;

    j->dims = (list){.n = 0};
    j->types = (list){.n = 0};
    for (bool is_first = true; hu_json_element(&s, &shape) && hu_json_element(&t, &type); is_first = false) {
        const hu_str bare = type.n >= 2 ? (hu_str){type.p + 1, type.n - 2} : type;
        const hu_str word = type_of(bare);
        const bool   is_tensor = word.n && !hu_str_equal(word, HU_STR("Scalar"));

        add(&j->dims, is_first ? HU_STR("[") : HU_STR(", "));
        add(&j->types, is_first ? HU_STR("[\"") : HU_STR(", \""));
        add(&j->dims, is_tensor ? shape : HU_STR("[]"));
        add(&j->types, word);
        add(&j->types, HU_STR("\""));
    }
    add(&j->dims, HU_STR("]"));
    add(&j->types, HU_STR("]"));
    if (j->dims.is_full || j->types.is_full || j->dims.n < 2)
        j->dims.n = j->types.n = 0;
}

/* The operator of that external id at a distance, if it has that name; else NULL. */
static const hu_execution_node *node_of(const execution_file *f, uint32_t external, hu_str name, int64_t distance)
{
    const uint32_t at = external > distance ? hu_map_get(&f->by_record, (uint64_t)(external - distance)) : HU_MAP_NONE;

    return at != HU_MAP_NONE && hu_str_equal(hu_intern_get(&f->of.texts, f->of.nodes.at[at].name), name)
               ? &f->of.nodes.at[at]
               : NULL;
}

static bool list_id(void *context, uint32_t external, hu_str name, hu_str *dims, hu_str *types)
{
    joint *j = context;

    *dims = *types = HU_STR("");
    widen(&j->file->externals, external);
    if (hu_vec_reserve(j->arena, &j->ids, 1)) /* else fewer are asked */
        j->ids.at[j->ids.n++] = (operator_id){external, name};
    return false;
}

/* Of equal ones the nearest. */
static int64_t find_distance(const joint *j)
{
    const size_t each = j->ids.n / SAMPLE + 1;
    int64_t      best = 0;
    size_t       most = 0;

    for (int64_t k = 0; k <= 2 * FARTHEST; k++) { /* 0, 1, -1, 2, -2 … */
        const int64_t distance = k % 2 ? (k + 1) / 2 : -k / 2;
        size_t        alike = 0;

        for (size_t i = 0; i < j->ids.n; i += each)
            alike += node_of(j->file, j->ids.at[i].external, j->ids.at[i].name, distance) != NULL;
        if (alike > most) {
            most = alike;
            best = distance;
        }
    }
    return best;
}

static bool inputs_of(void *context, uint32_t external, hu_str name, hu_str *dims, hu_str *types)
{
    joint                   *j = context;
    const hu_execution      *e = &j->file->of;
    const hu_execution_node *node = node_of(j->file, external, name, j->file->fit.distance);

    *dims = *types = HU_STR("");
    if (!node || !j->fills || !node->shapes || !node->types)
        return node != NULL;
    translate(j, hu_intern_get(&e->texts, node->shapes), hu_intern_get(&e->texts, node->types));
    *dims = (hu_str){j->dims.p, j->dims.n};
    *types = (hu_str){j->types.p, j->types.n};
    return true;
}

static void lay_one(execution_file *f, hu_arena *arena, joint *j, hu_str trace, hu_builder *b)
{
    size_t filled;

    *j = (joint){.file = f, .arena = arena};
    f->is_tried = true;
    f->externals = (span){0};
    hu_builder_fill_inputs(b, list_id, j, &filled);
    f->fit.distance = find_distance(j);
    f->fit.alike = hu_builder_fill_inputs(b, inputs_of, j, &filled);
    if (f->fit.alike * SHARE < f->fit.operators)
        return;
    j->fills = !hu_builder_info(b)->has_shapes;
    if (j->fills)
        hu_builder_fill_inputs(b, inputs_of, j, &f->fit.filled);
    hu_builder_info(b)->has_shapes |= f->fit.filled > 0;
    f->fit.trace = trace;
    f->is_joined = true;
}

void hu_executions_lay(hu_execution_files *files, hu_str trace, hu_builder *b)
{
    hu_arena *arena = hu_arena_new();
    joint    *j = arena ? hu_arena_calloc(arena, 1, sizeof *j) : NULL;

    for (size_t i = 0; j && i < files->n; i++)
        if (files->is_only || (files->at[i].of.pid >= 0 && hu_builder_has_pid(b, files->at[i].of.pid)))
            lay_one(&files->at[i], arena, j, trace, b);
    hu_arena_free(arena);
}

/* Why it belongs to none of the traces. */
static int add_unread(const execution_file *f, hu_arena *arena, hu_unread_list *unread, hu_error *err)
{
    char text[400];

    if (f->is_tried && f->externals.n == 0)
        snprintf(
            text, sizeof text,
            "an execution trace, and no operator of the trace has an External id to find its own by; `holdup report FILE` "
            "lists its operators");
    else if (f->is_tried)
        snprintf(
            text, sizeof text,
            "an execution trace; of its %zu operators only %zu are in the trace, by External id, rf_id and name: not of "
            "the same steps (its rf_ids are %llu to %llu, External ids of the trace %llu to %llu); `holdup report FILE` "
            "lists its operators",
            f->fit.operators, f->fit.alike, (unsigned long long)f->records.least, (unsigned long long)f->records.most,
            (unsigned long long)f->externals.least, (unsigned long long)f->externals.most);
    else if (f->of.pid >= 0)
        snprintf(text, sizeof text,
                 "an execution trace of process %lld, of which no trace is here; `holdup report FILE` lists its operators",
                 (long long)f->of.pid);
    else
        snprintf(text, sizeof text, "an execution trace that names no process; `holdup report FILE` lists its operators");
    return hu_unread_add(unread, arena, f->fit.file, hu_str_of(text), err);
}

int hu_executions_end(hu_execution_files *files, hu_arena *arena, hu_execution_fit **out, size_t *n, hu_unread_list *unread,
                      hu_error *err)
{
    *n = 0;
    if (!files)
        return 0;
    *out = hu_arena_calloc(arena, files->n + 1, sizeof **out);
    if (!*out)
        return hu_fail_memory(err);
    for (size_t i = 0; i < files->n; i++) {
        if (files->at[i].is_joined)
            (*out)[(*n)++] = files->at[i].fit;
        else if (add_unread(&files->at[i], arena, unread, err) < 0)
            return err->code;
    }
    return 0;
}

size_t hu_execution_fit_say(const hu_execution_fit *fit, char *text, size_t room)
{
    char         alike[HU_UNIT_BYTES], all[HU_UNIT_BYTES], filled[HU_UNIT_BYTES], distance[HU_NUMBER_BYTES + 4] = "";
    const hu_str trace = hu_str_base_name(fit->trace);
    int          n;

    hu_units_count(alike, (int64_t)fit->alike);
    hu_units_count(all, (int64_t)fit->operators);
    hu_units_count(filled, (int64_t)fit->filled);
    if (fit->distance)
        snprintf(distance, sizeof distance, " %c %lld", fit->distance > 0 ? '+' : '-',
                 (long long)(fit->distance > 0 ? fit->distance : -fit->distance));
    n = snprintf(text, room, "%s of its %s operators are in %.*s (External id = rf_id%s)%s%s%s", alike, all, HU_FMT(trace),
                 distance, fit->filled ? "; the shapes of " : "", fit->filled ? filled : "",
                 fit->filled ? " are from it" : "");
    return n < 0 || (size_t)n >= room ? 0 : (size_t)n;
}
