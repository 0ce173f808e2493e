/* SPDX-License-Identifier: Apache-2.0
 * nsight_ranges.c - NVTX: ranges of the program, of PyTorch's operators and of libraries.
 *
 * PyTorch under emit_nvtx or `nsys profile --pytorch=autograd-nvtx` writes each operator as a range, "aten::mm, op_id = 7,
 * seq = 3, sizes = [[2, 3], []]": that is an operator here, with its shapes and sequence number.  Ranges that begin in one
 * thread and may end in another overlap as they like, so each lies on a row of the process where no other is at that time.
 */
#include <stdio.h>

#include "base/number.h"
#include "ingest/nsight.h"

/* Types of NVTX_EVENTS; 70 and 71 carry payloads. */
enum { TYPE_PUSH_POP = 59, TYPE_START_END = 60, TYPE_PUSH_POP_MORE = 70, TYPE_START_END_MORE = 71, TYPE_DOMAIN = 75 };

/* Rows of overlapping ranges: until when each is taken. */
typedef struct {
    int64_t  pid, until_ns;
    uint32_t track;
} row;

typedef struct {
    nsight_reader *r;
    hu_map         domains; /* pid and number -> string id of the name */
    hu_map         named;   /* domain and text -> string id of both; empty without domains that have names */
    bool           has_domains;
    nsight_nccl   *nccl;
    HU_VEC(row) rows;
} work;

static uint64_t domain_key(int64_t pid, int64_t domain)
{
    return (uint64_t)pid << 40 ^ (uint64_t)domain;
}

static const char *const columns[] = {"start",    "end",        "eventType",  "globalTid", "text", "textId",
                                      "domainId", "binaryData", "jsonTextId", "jsonText",  NULL};

enum { START, END, TYPE, THREAD, TEXT, TEXT_ID, DOMAIN, BYTES, JSON_ID, JSON };

static uint32_t text_of(const nsight_rows *rows)
{
    const hu_str text = nsight_text(rows, TEXT);

    return text.n ? hu_builder_intern(rows->r->b, text) : nsight_string(rows, TEXT_ID);
}

static bool read_domains(work *w)
{
    nsight_rows rows;

    if (!nsight_begin(w->r, &rows, "NVTX_EVENTS", columns, NULL))
        return false;
    while (nsight_next(&rows)) {
        uint32_t *place;

        if (nsight_int(&rows, TYPE, 0) != TYPE_DOMAIN)
            continue;
        place = hu_map_put(&w->domains, domain_key(nsight_pid(nsight_int(&rows, THREAD, 0)), nsight_int(&rows, DOMAIN, 0)));
        if (place)
            w->has_domains |= (*place = text_of(&rows)) != 0;
        else
            hu_builder_fail(w->r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
    return !w->r->error.code;
}

/* Where ", KEY = " begins; the text's length where it does not. */
static size_t find_key(hu_str text, hu_str key)
{
    const char *p = text.n ? memmem(text.p, text.n, key.p, key.n) : NULL;

    return p ? (size_t)(p - text.p) : text.n;
}

static hu_str value_of(hu_str text, hu_str key)
{
    const size_t at = find_key(text, key);
    size_t       n = 0, depth = 0;
    hu_str       value;

    if (at == text.n)
        return HU_STR("");
    value = (hu_str){text.p + at + key.n, text.n - at - key.n};
    for (; n < value.n && (depth || value.p[n] != ','); n++) {
        depth += value.p[n] == '[';
        depth -= value.p[n] == ']' && depth;
    }
    return (hu_str){value.p, n};
}

/* "FSDP::pre_forward" and "Optimizer.step#AdamW.step" are ranges that somebody named; "aten::mm" and "detach_" operators. */
static bool is_operator(hu_str name)
{
    return name.n && !hu_str_has(name, HU_STR("#")) &&
           (hu_str_has(name, HU_STR("Backward")) || !(name.p[0] >= 'A' && name.p[0] <= 'Z')) &&
           !hu_str_has(name, HU_STR(" "));
}

static void take_operator(nsight_reader *r, hu_builder_slice *s, hu_str text)
{
    static const hu_str keys[] = {{", op_id = ", 10}, {", seq = ", 8}, {", sizes = ", 10}, {", input_op_ids = ", 17}};
    size_t              n = text.n;
    int64_t             sequence = -1;
    hu_str              name;
    hu_op_detail        d = {.sequence = -1};

    for (size_t i = 0; i < HU_COUNT(keys); i++) {
        const size_t at = find_key(text, keys[i]);

        n = at < n ? at : n;
    }
    if (n == text.n)
        return;
    name = (hu_str){text.p, n};
    if (!hu_parse_i64(value_of(text, keys[1]), &sequence) || sequence < 0 || sequence > INT32_MAX)
        sequence = -1;
    d.sequence = (int32_t)sequence;
    d.dims = value_of(text, keys[2]).n ? hu_builder_intern(r->b, value_of(text, keys[2])) : 0;
    s->kind = is_operator(name) ? HU_KIND_CPU_OP : HU_KIND_USER;
    s->name = hu_builder_intern(r->b, name);
    if (d.sequence >= 0 || d.dims)
        s->detail = hu_builder_op_detail(r->b, &d);
    hu_builder_info(r->b)->has_shapes |= d.dims != 0;
}

static hu_str json_of(const nsight_rows *rows)
{
    const hu_str own = nsight_text(rows, JSON);

    return own.n ? own : hu_builder_text(rows->r->b, nsight_string(rows, JSON_ID));
}

/* A row of the process that is free from then on. */
static uint32_t free_row(work *w, int64_t pid, int64_t start_ns, int64_t end_ns)
{
    size_t   used = 0;
    char     name[48];
    uint32_t text;

    for (size_t i = 0; i < w->rows.n; i++) {
        row *at = &w->rows.at[i];

        if (at->pid != pid)
            continue;
        used++;
        if (at->until_ns <= start_ns) {
            at->until_ns = end_ns;
            return at->track;
        }
    }
    snprintf(name, sizeof name, used ? "NVTX ranges %zu" : "NVTX ranges", used + 1);
    text = hu_builder_intern(w->r->b, hu_str_of(name));
    if (!hu_vec_push(
            w->r->arena, &w->rows,
            ((row){pid, end_ns,
                   hu_builder_track(w->r->b, HU_TRACK_HOST, (hu_builder_id){pid, false}, (hu_builder_id){text, true})})))
        return 0;
    return w->rows.at[w->rows.n - 1].track;
}

/* "loader:next" of a range "next" in a domain "loader"; the range's name in one without a name. */
static uint32_t name_in_domain(work *w, uint32_t domain, uint32_t name)
{
    hu_builder  *b = w->r->b;
    const hu_str before = domain == HU_MAP_NONE ? HU_STR("") : hu_builder_text(b, domain);
    const hu_str text = hu_builder_text(b, name);
    uint32_t    *place = before.n ? hu_map_put(&w->named, (uint64_t)domain << 32 | name) : NULL;
    hu_arena    *scratch;
    char        *both;

    if (!before.n)
        return name;
    if (place && *place != HU_MAP_NONE)
        return *place;
    scratch = place ? hu_arena_new() : NULL;
    both = scratch ? hu_arena_alloc(scratch, before.n + text.n + 1) : NULL;
    if (both) {
        memcpy(both, before.p, before.n);
        both[before.n] = ':';
        if (text.n)
            memcpy(both + before.n + 1, text.p, text.n);
        *place = hu_builder_intern(b, (hu_str){both, before.n + text.n + 1});
    } else {
        hu_builder_fail(b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
    hu_arena_free(scratch);
    return both ? *place : 0;
}

static void read_ranges(work *w)
{
    nsight_reader *r = w->r;
    nsight_rows    rows;

    if (!nsight_begin(r, &rows, "NVTX_EVENTS", columns, "start"))
        return;
    while (nsight_next(&rows)) {
        const int64_t    thread = nsight_int(&rows, THREAD, 0), pid = nsight_pid(thread), type = nsight_int(&rows, TYPE, 0);
        const bool       nests = type == TYPE_PUSH_POP || type == TYPE_PUSH_POP_MORE;
        hu_builder_slice s = {.kind = HU_KIND_USER, .detail = HU_NONE};
        uint32_t         domain;

        if ((!nests && type != TYPE_START_END && type != TYPE_START_END_MORE) || !nsight_wants(r, pid) ||
            !nsight_times(r, &rows, START, END, &s))
            continue;
        nsight_take_part(r, pid);
        s.name = text_of(&rows);
        domain = hu_map_get(&w->domains, domain_key(pid, nsight_int(&rows, DOMAIN, 0)));
        if (domain != HU_MAP_NONE && hu_str_equal(hu_builder_text(r->b, domain), HU_STR("MPI")) &&
            hu_str_starts(hu_builder_text(r->b, s.name), HU_STR("MPI_")))
            s.kind = HU_KIND_MPI; /* early exports have no tables of MPI */
        else if (nests)
            take_operator(r, &s, hu_builder_text(r->b, s.name));
        if (nests && s.detail == HU_NONE && s.kind == HU_KIND_USER)
            s.detail = nsight_nccl_take(w->nccl, thread, s.name, nsight_text(&rows, BYTES), json_of(&rows));
        if (w->has_domains)
            hu_builder_alias(r->b, HU_ALIAS_DOMAIN, s.name, name_in_domain(w, domain, s.name));
        s.track = nests ? hu_builder_track(r->b, HU_TRACK_HOST, (hu_builder_id){pid, false},
                                           (hu_builder_id){nsight_tid(thread), false})
                        : free_row(w, pid, s.start_ns, s.start_ns + s.dur_ns);
        hu_builder_add(r->b, &s);
    }
}

void nsight_read_ranges(nsight_reader *r)
{
    work w = {.r = r, .nccl = nsight_nccl_new(r)};

    if (!w.nccl)
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    else if (hu_map_init(&w.domains, r->arena, 0) && hu_map_init(&w.named, r->arena, 0) && read_domains(&w))
        read_ranges(&w);
}
