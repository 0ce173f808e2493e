/* SPDX-License-Identifier: Apache-2.0
 * test_wire.c - results as bytes and back: the same report, and no harm from bytes that are not what they should be. */
#include <ftw.h>
#include <math.h>
#include <unistd.h>

#include "advise/findings_wire.h"
#include "analyze/digest_wire.h"
#include "base/wire.h"
#include "graph/effect.h"
#include "graph/graph_wire.h"
#include "render/report.h"
#include "testing.h"

static const char *root = "."; /* of the sources */

/* Every kind of row once. */
typedef struct {
    hu_str   name;
    uint32_t parent;
} leaf;

typedef struct {
    int64_t     i;
    int64_t     is[2];
    int         small;
    uint32_t    u;
    uint16_t    h;
    int16_t     s;
    uint8_t     b;
    double      f;
    double      fs[3];
    bool        yes;
    hu_kind     kind;
    hu_kind     kinds[2], first_kinds[4];
    size_t      n_first;
    hu_str      text, none;
    const char *word;
    char        chars[8];
    char        lines[3][6];
    leaf        part, parts[2], some[5];
    leaf       *list;
    size_t      n;
    hu_str     *names;
    leaf       *maybe, *absent;
    const void *left;
} all;

#define LEAF(F, T) F(T, STR, name) F(T, INDEX, parent)
HU_WIRE_TABLE(leaf, LEAF);

/* clang-format off */
#define ALL(F, T) \
    F(T, I64, i) F(T, I64S, is) F(T, I32, small) F(T, U32, u) F(T, U16, h) F(T, I16, s) F(T, U8, b, 9) F(T, F64, f) F(T, F64S, fs) \
    F(T, BOOL, yes) F(T, ENUM, kind, HU_KIND_COUNT) F(T, ENUMS, kinds, HU_KIND_COUNT) \
    F(T, FIRST_ENUMS, first_kinds, n_first, HU_KIND_COUNT) F(T, SIZE, n_first) F(T, STR, text) F(T, STR, none) \
    F(T, WORD, word) F(T, TEXT, chars) F(T, TEXTS, lines, n_first) F(T, PART, part, leaf) F(T, PARTS, parts, leaf) \
    F(T, FIRST, some, n_first, leaf) F(T, LIST, list, n, leaf) F(T, SIZE, n) F(T, STRS, names, n) F(T, MAYBE, maybe, leaf) \
    F(T, MAYBE, absent, leaf) F(T, LEFT, left)
/* clang-format on */
HU_WIRE_TABLE(all, ALL);

static hu_str pack(const all *x, hu_arena *arena)
{
    hu_error err = {0};
    hu_str   bytes;

    assert_int_equal(hu_wire_pack(&all_wire, x, arena, arena, &bytes, &err), 0);
    return bytes;
}

static int unpack(hu_str bytes, hu_arena *arena, all *out, hu_error *err)
{
    memset(out, 0, sizeof *out);
    return hu_wire_unpack(&all_wire, bytes, arena, out, err);
}

static void assert_text(hu_str s, const char *expected)
{
    if (!hu_str_equal(s, hu_str_of(expected)) || s.p[s.n] != '\0')
        fail_msg("\"%.*s\" is not \"%s\"", HU_FMT(s), expected);
}

static all sample(leaf *list, hu_str *names, leaf *maybe)
{
    list[0] = (leaf){HU_STR("root"), UINT32_MAX};
    list[1] = (leaf){HU_STR("child"), 0};
    list[2] = (leaf){HU_STR("child"), 1};
    names[0] = HU_STR("");
    names[1] = HU_STR("root");
    names[2] = HU_STR("a\0b");
    *maybe = (leaf){HU_STR("child"), UINT32_MAX};
    return (all){.i = INT64_MIN,
                 .is = {INT64_MAX, -1},
                 .small = INT32_MIN,
                 .u = UINT32_MAX,
                 .h = UINT16_MAX,
                 .s = INT16_MIN,
                 .b = 8,
                 .f = -0.0,
                 .fs = {NAN, INFINITY, 5e-324},
                 .yes = true,
                 .kind = HU_KIND_OTHER,
                 .kinds = {HU_KIND_SYNC, HU_KIND_CPU_OP},
                 .first_kinds = {1, 2, 3, 4},
                 .n_first = 3,
                 .text = HU_STR("child"),
                 .word = "word",
                 .chars = "1234567",
                 .lines = {"one", "two", "three"},
                 .part = {HU_STR("part"), UINT32_MAX},
                 .parts = {{HU_STR(""), UINT32_MAX}, {HU_STR("x"), UINT32_MAX}},
                 .some = {{HU_STR("s"), UINT32_MAX}, {HU_STR("t"), UINT32_MAX}, {HU_STR("u"), UINT32_MAX}},
                 .list = list,
                 .n = 3,
                 .names = names,
                 .maybe = maybe,
                 .left = "stays"};
}

static void every_kind_of_field_comes_back(void **state)
{
    hu_arena *arena = hu_arena_new();
    leaf      list[3], maybe;
    hu_str    names[3], bytes;
    hu_error  err = {0};
    all       x = sample(list, names, &maybe), y;

    (void)state;
    bytes = pack(&x, arena);
    assert_int_equal(unpack(bytes, arena, &y, &err), 0);
    assert_true(y.i == INT64_MIN && y.is[0] == INT64_MAX && y.is[1] == -1 && y.small == INT32_MIN && y.u == UINT32_MAX);
    assert_true(y.h == UINT16_MAX && y.s == INT16_MIN && y.b == 8 && y.yes && y.kind == HU_KIND_OTHER && y.n_first == 3 &&
                y.n == 3);
    assert_memory_equal(&y.f, &x.f, sizeof x.f);
    assert_memory_equal(y.fs, x.fs, sizeof x.fs);
    assert_memory_equal(y.kinds, x.kinds, sizeof x.kinds);
    assert_true(y.first_kinds[2] == 3 && y.first_kinds[3] == 0); /* what is not used is not sent */
    assert_text(y.text, "child");
    assert_true(y.none.p == NULL && y.left == NULL && y.absent == NULL);
    assert_string_equal(y.word, "word");
    assert_string_equal(y.chars, "1234567");
    assert_string_equal(y.lines[2], "three");
    assert_text(y.part.name, "part");
    assert_text(y.parts[0].name, "");
    assert_text(y.parts[1].name, "x");
    assert_text(y.some[2].name, "u");
    assert_true(y.some[3].name.p == NULL);
    assert_text(y.list[2].name, "child");
    assert_true(y.list[0].parent == UINT32_MAX && y.list[2].parent == 1);
    assert_true(hu_str_equal(y.names[2], HU_STR("a\0b")));
    assert_text(y.maybe->name, "child");
    assert_ptr_equal(y.text.p, y.maybe->name.p); /* equal texts are one */
    hu_arena_free(arena);
}

/* Whatever byte is changed or missing: an error with a place, or another good struct; never a bad one. */
static void broken_bytes_do_no_harm(void **state)
{
    hu_arena *arena = hu_arena_new();
    leaf      list[3], maybe;
    hu_str    names[3], bytes;
    all       x = sample(list, names, &maybe), y;
    char     *copy;

    (void)state;
    bytes = pack(&x, arena);
    copy = malloc(bytes.n); /* ends where the bytes end, so that a sanitizer sees who reads on */
    for (size_t n = 0; n < bytes.n; n++) {
        char    *part = malloc(n ? n : 1);
        hu_error err = {0};

        memcpy(part, bytes.p, n);
        assert_int_equal(unpack((hu_str){part, n}, arena, &y, &err), HU_EFORMAT);
        assert_true(err.offset >= 0 && err.offset <= (int64_t)n);
        free(part);
    }
    for (size_t i = 0; i < bytes.n; i++) {
        for (int value = 0; value < 256; value++) {
            hu_arena *own = hu_arena_new();
            hu_error  err = {0};

            memcpy(copy, bytes.p, bytes.n);
            copy[i] = (char)value;
            if (unpack((hu_str){copy, bytes.n}, own, &y, &err) == 0) {
                assert_true(y.b < 9 && y.kind < HU_KIND_COUNT && y.n_first <= 3 && strlen(y.chars) < 8);
                assert_true(y.n < 2 || y.list[1].parent == UINT32_MAX || y.list[1].parent < 1);
                assert_true(pack(&y, own).n > 0);
            } else {
                assert_true(err.code == HU_EFORMAT && strstr(err.text, "corrupt at"));
            }
            hu_arena_free(own);
        }
    }
    free(copy);
    hu_arena_free(arena);
}

static void what_another_program_wrote_is_refused(void **state)
{
    hu_arena *arena = hu_arena_new();
    leaf      one = {HU_STR("x"), UINT32_MAX}, back = {0};
    hu_error  err = {0};
    hu_str    bytes;
    all       y;

    (void)state;
    assert_int_equal(hu_wire_pack(&leaf_wire, &one, arena, arena, &bytes, &err), 0);
    assert_int_equal(hu_wire_unpack(&leaf_wire, bytes, arena, &back, &err), 0);
    assert_int_equal(unpack(bytes, arena, &y, &err), HU_EFORMAT);
    assert_non_null(strstr(err.text, "another version of holdup"));
    hu_arena_free(arena);
}

typedef struct {
    hu_trace      *t;
    hu_digest     *d;
    hu_findings   *f;
    hu_simulation *s;
} measured;

/* All faces of a report with one rank, in one text. */
static hu_str faces(const measured *m, hu_digest *d, hu_findings *f, hu_compat compat, hu_arena *arena)
{
    hu_scenario         scenarios[HU_SCENARIOS];
    hu_timeline_options how = {.scenarios = scenarios, .most = 20000};
    hu_rank             rank = {.digest = d, .findings = f};
    hu_job              job = {.ranks = &rank, .n = 1, .digests = &d, .findings = &f};
    hu_report           r = {.job = &job, .scratch = arena, .unit = "samples", .width = 80, .arguments = "FILE"};
    hu_out             *out = hu_out_open_memory(arena);
    hu_error            err = {0};
    hu_str              text;
    int                 n = 0;

    if (m->s)
        n = hu_scenarios_build(m->s, f, arena, scenarios, &err);
    how.n_scenarios = (size_t)n;
    assert_int_equal(hu_timeline_encode(m->t, d, &how, arena, arena, &rank.timeline, &err), 0);
    hu_verdict_measure(&d, &f, 1, NULL, &job.verdict);
    hu_text_write(&r, out);
    assert_int_equal(hu_json_write(&r, out, &err), 0);
    assert_int_equal(hu_html_write(&r, out, &err), 0);
    r.show = HU_SHOW_VIEW;
    for (size_t i = 0; hu_views[i]; i++) {
        r.part = (hu_part){.view = hu_views[i]};
        hu_text_write(&r, out);
        assert_int_equal(hu_csv_write(&r, out, &err), 0);
    }
    if (compat) {
        r.part = (hu_part){.view = hu_compat_views[compat - HU_COMPAT_HTA]};
        hu_text_write(&r, out);
    }
    assert_int_equal(hu_out_take(out, &text, &err), 0);
    return text;
}

static void round_trip(const measured *m, const char *name, hu_compat compat)
{
    hu_arena    *arena = hu_arena_new();
    hu_error     err = {0};
    hu_str       bytes[2], again[2], seen[2];
    hu_digest   *d;
    hu_findings *f;

    assert_int_equal(hu_digest_pack(m->d, arena, &bytes[0], &err), 0);
    assert_int_equal(hu_findings_pack(m->f, arena, &bytes[1], &err), 0);
    d = hu_digest_unpack(bytes[0], &err);
    f = d ? hu_findings_unpack(bytes[1], &err) : NULL;
    if (!f)
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(hu_digest_pack(d, arena, &again[0], &err), 0);
    assert_int_equal(hu_findings_pack(f, arena, &again[1], &err), 0);
    if (!hu_str_equal(bytes[0], again[0]) || !hu_str_equal(bytes[1], again[1]))
        fail_msg("%s: other bytes the second time", name);
    seen[0] = faces(m, m->d, m->f, compat, arena);
    seen[1] = faces(m, d, f, compat, arena);
    if (!hu_str_equal(seen[0], seen[1]))
        fail_msg("%s: another report", name);
    hu_digest_free(d);
    hu_findings_free(f);
    hu_arena_free(arena);
}

/* Field by field, by packing it again; and a replay, which asks for all of them. */
static int n_files, n_effects;

static void graph_round_trip(const hu_simulation *s, const char *name)
{
    hu_arena *arena = hu_arena_new();
    hu_error  err = {0};
    hu_str    bytes, again;
    hu_graph *g;
    int64_t  *ends;

    assert_int_equal(hu_graph_pack(&s->graph, arena, &bytes, &err), 0);
    g = hu_graph_unpack(bytes, arena, &err);
    if (!g)
        fail_msg("%s: %s", name, err.text);
    assert_int_equal(hu_graph_pack(g, arena, &again, &err), 0);
    assert_true(hu_str_equal(bytes, again));
    ends = hu_arena_alloc(arena, g->n_marks * sizeof *ends);
    hu_replay_run(hu_replay_new(g, arena), hu_costs_new(g, arena), ends);
    assert_memory_equal(ends, hu_pricer_ends_ns(s->pricer), g->n_marks * sizeof *ends);
    hu_arena_free(arena);
}

static void same_costs(const hu_graph *g, const hu_costs *a, const hu_costs *b)
{
    assert_memory_equal(a->node, b->node, g->n_nodes * sizeof *a->node);
    assert_memory_equal(a->op, b->op, g->n_ops * sizeof *a->op);
    assert_memory_equal(a->node_flags, b->node_flags, g->n_nodes);
    assert_memory_equal(a->op_flags, b->op_flags, g->n_ops);
}

/* What was kept of an edit does what the edit does, here and in another process; cut short it is refused. */
static void effects_are_those_of_their_edits(hu_simulation *s)
{
    hu_arena *arena = hu_arena_new();
    hu_error  err = {0};
    hu_str    bytes;
    hu_graph *far;

    assert_int_equal(hu_graph_pack(&s->graph, arena, &bytes, &err), 0);
    far = hu_graph_unpack(bytes, arena, &err);
    assert_non_null(far);
    assert_int_equal(far->n_effects, s->graph.n_effects);
    for (size_t i = 0; i < s->graph.n_effects; i++) {
        const hu_effect *e = &s->graph.effect[i];
        const hu_edit    edit = {.kind = (hu_edit_kind)e->edit, .flavour = HU_EDIT_FREE, .factor = INFINITY};
        hu_costs        *here = hu_costs_new(&s->graph, arena), *there = hu_costs_new(far, arena);

        n_effects++;
        assert_true(hu_effect_apply(&s->graph, e->changes, HU_EFFECT_FREE, here) > 0);
        hu_effect_apply(far, far->effect[i].changes, HU_EFFECT_FREE, there);
        same_costs(&s->graph, here, there);
        assert_true(hu_effect_is_sound(&s->graph, e->changes));
        assert_false(hu_effect_is_sound(&s->graph, (hu_str){e->changes.p, e->changes.n - 1}));
        if (hu_edit_has_name(edit.kind))
            continue;
        hu_costs_reset(&s->graph, there);
        hu_edit_apply(hu_pricer_facts(s->pricer), &edit, there);
        same_costs(&s->graph, here, there);
    }
    hu_arena_free(arena);
}

static void one_file(const char *path)
{
    const hu_compat  compat = (hu_compat)(n_files % 3);
    hu_input_options options = plain_options();
    hu_error         err = {0}, why = {0};
    measured         m = {.t = hu_open_trace(path, &options, &err)};

    if (!m.t) /* some are damaged on purpose */
        return;
    m.d = hu_digest_measure(m.t, &(hu_digest_options){.grouping = (hu_grouping)(n_files % 4), .frames = 5, .compat = compat},
                            &err);
    assert_non_null(m.d);
    m.s = hu_simulation_new(m.t, NULL, NULL, &why);
    if (m.s)
        m.s->keeps_effects = true;
    m.f = hu_findings_measure(m.s, &why, m.d, &err);
    assert_non_null(m.f);
    round_trip(&m, path, compat);
    if (m.s) {
        graph_round_trip(m.s, path);
        effects_are_those_of_their_edits(m.s);
    }
    n_files++;
    hu_findings_free(m.f);
    hu_simulation_free(m.s);
    hu_digest_free(m.d);
    hu_trace_free(m.t);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const hu_str name = hu_str_of(path);

    (void)st;
    (void)at;
    if (type == FTW_F && (hu_str_ends(name, HU_STR(".json")) || hu_str_ends(name, HU_STR(".json.gz")) ||
                          hu_str_ends(name, HU_STR(".pftrace"))))
        one_file(path);
    return 0;
}

static int visit_folder(const char *folder)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", root, folder);
    n_files = 0;
    if (access(path, R_OK) == 0)
        assert_int_equal(nftw(path, visit, 16, 0), 0);
    return n_files;
}

static void own_traces_give_the_same_report(void **state)
{
    (void)state;
    assert_true(visit_folder("examples/training/traces") >= 4);
    assert_true(n_effects >= 4);
    assert_true(visit_folder("fuzz/corpus/open") >= 0);
}

static void traces_of_other_people_give_the_same_report(void **state)
{
    (void)state;
    if (visit_folder("../shared/traces/kineto") == 0) {
        fprintf(stderr, "SKIPPED: real traces of shared/traces/kineto are not present\n");
        skip();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_field_comes_back),
        cmocka_unit_test(broken_bytes_do_no_harm),
        cmocka_unit_test(what_another_program_wrote_is_refused),
        cmocka_unit_test(own_traces_give_the_same_report),
        cmocka_unit_test(traces_of_other_people_give_the_same_report),
    };

    root = argc > 1 ? argv[1] : root;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
