/* SPDX-License-Identifier: Apache-2.0
 * chrome_take.c - from the values of one event to rows of the model (docs/formats/chrome.md).
 *
 * Traps of Kineto: operators made by Inductor carry a `stream` argument and are not GPU work, so only the category
 * decides; peer copies have no `device`; ROCm puts launch geometry on the runtime call; "ProfilerStep#N" is repeated on
 * the device as gpu_user_annotation and is no step there.
 */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/number.h"
#include "ingest/chrome_reader.h"
#include "ingest/producers.h"
#include "ingest/viztracer.h"
#include "ingest/xla_names.h"

static const int64_t WEEK_NS = INT64_C(7) * 24 * 3600 * 1000000000;

/* The id of a text value; other values count as their own text. */
/* Room for twice as much as a value has; NULL when there is no memory, which the builder then knows. */
static char *room_for(chrome_reader *r, size_t n)
{
    if (r->text_room < 2 * n) {
        char *p = hu_arena_grow(r->arena, r->text, 2 * n);

        if (!p) {
            hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
            return NULL;
        }
        r->text = p;
        r->text_room = 2 * n;
    }
    return r->text;
}

uint32_t chrome_take_text(chrome_reader *r, int place)
{
    const chrome_value *v = &r->event.at[place];
    hu_quality         *q = hu_builder_quality(r->b);
    uint64_t            bad = 0;
    size_t              n;

    if (!chrome_has(&r->event, place))
        return 0;
    if (v->type == CHROME_INT && v->n == 0) { /* from a format without text */
        char digits[HU_NUMBER_BYTES];

        return hu_builder_intern(r->b, (hu_str){digits, hu_format_i64(digits, v->number)});
    }
    if (v->found & STRING_CONTROLS)
        hu_quality_count(q, HU_REASON_CONTROL_CHARACTER, 0);
    if (!(v->found & STRING_ESCAPES))
        return hu_builder_intern(r->b, (hu_str){v->p, v->n});
    if (!room_for(r, v->n))
        return 0;
    n = hu_json_unescape((hu_str){v->p, v->n}, r->text, &bad);
    if (bad)
        hu_quality_count(q, HU_REASON_BAD_ESCAPE, 0);
    return hu_builder_intern(r->b, (hu_str){r->text, n});
}

/*
 * A list as older profilers wrote it, "[[2, 3], []]": PyTorch 2.10 and later put each member on its own line, and a text
 * that is a group, a column and a key must not depend on that.
 */
static uint32_t list_of(chrome_reader *r, int place)
{
    const chrome_value *v = &r->event.at[place];
    const char         *p, *end;
    unsigned            found = 0;
    size_t              n = 0;
    char               *out;

    if (!chrome_has(&r->event, place) || !memchr(v->p, '\n', v->n))
        return chrome_take_text(r, place);
    p = v->p;
    end = p + v->n;
    out = room_for(r, v->n);
    while (out && p < end) {
        const char c = *p;

        if (c && (unsigned char)c <= 0x20) { /* a zero byte is no blank to skip_space, and would be looked at for ever */
            p = skip_space(p);
            continue;
        }
        if (c == '"') {
            const char *from = p;

            p = string_close(p + 1, end, &found);
            p += p < end;
            memcpy(out + n, from, (size_t)(p - from));
            n += (size_t)(p - from);
            continue;
        }
        out[n++] = c;
        p++;
        if (c == ',')
            out[n++] = ' ';
    }
    return out ? hu_builder_intern(r->b, (hu_str){out, n}) : 0;
}

static bool real_value(const chrome_value *v, double *out)
{
    if (v->type == CHROME_INT || v->type == CHROME_DOUBLE) {
        *out = v->type == CHROME_INT ? (double)v->number : v->real;
        return true;
    }
    return (v->type == CHROME_REAL || v->type == CHROME_STRING) && hu_parse_f64((hu_str){v->p, v->n}, out);
}

/* A whole number; ROCm writes some of them as text. */
static int64_t int_of(const chrome_event *e, int place, int64_t absent)
{
    const chrome_value *v = &e->at[place];
    int64_t             number;
    double              real;

    if (!chrome_has(e, place))
        return absent;
    if (v->type == CHROME_INT)
        return v->number;
    if (v->type == CHROME_STRING && hu_parse_i64((hu_str){v->p, v->n}, &number))
        return number;
    if (real_value(v, &real) && real > -9e18 && real < 9e18)
        return (int64_t)real;
    return absent;
}

/* Sizes beyond a pebibyte are no sizes; sums of what is left cannot overflow. */
static int64_t bytes_of(const chrome_event *e, int place, int64_t absent)
{
    const int64_t v = int_of(e, place, absent);

    return v > -(INT64_C(1) << 50) && v < INT64_C(1) << 50 ? v : absent;
}

static int32_t int32_of(const chrome_event *e, int place, int32_t absent)
{
    const int64_t v = int_of(e, place, absent);

    return v >= INT32_MIN && v <= INT32_MAX ? (int32_t)v : absent;
}

static uint32_t count_of(const chrome_event *e, int place)
{
    const int64_t v = int_of(e, place, 0);

    return v > 0 && v < UINT32_MAX ? (uint32_t)v : 0;
}

static double real_of(const chrome_event *e, int place)
{
    double value;

    return chrome_has(e, place) && real_value(&e->at[place], &value) ? value : (double)NAN;
}

/* Ids are 64 bits without a sign in some writers. */
static uint64_t id_of(const chrome_event *e, int place)
{
    const chrome_value *v = &e->at[place];
    uint64_t            id;

    if (!chrome_has(e, place))
        return 0;
    if (v->type == CHROME_INT)
        return v->number > 0 ? (uint64_t)v->number : 0;
    return hu_parse_u64((hu_str){v->p, v->n}, &id) ? id : 0;
}

/* Thread and process: a number, a number in quotes, or a text. */
hu_builder_id chrome_take_row(chrome_reader *r, int place)
{
    const chrome_value *v = &r->event.at[place];
    int64_t             number;

    if (!chrome_has(&r->event, place) || v->type == CHROME_WORD)
        return (hu_builder_id){0, false};
    if (v->type == CHROME_INT)
        return (hu_builder_id){v->number, false};
    if (hu_parse_i64((hu_str){v->p, v->n}, &number))
        return (hu_builder_id){number, false};
    return (hu_builder_id){chrome_take_text(r, place), true};
}

/* "stream 7" as writers of 2021 named the row. */
static int64_t trailing_number(hu_str s)
{
    size_t  from = s.n;
    int64_t number;

    while (from && s.p[from - 1] >= '0' && s.p[from - 1] <= '9')
        from--;
    return hu_parse_i64((hu_str){s.p + from, s.n - from}, &number) ? number : -1;
}

/* "Device 0", as nsys2json names a process. */
static int64_t device_in_pid(const chrome_event *e)
{
    const hu_str pid = {e->at[CHROME_PID].p, e->at[CHROME_PID].n};

    return hu_str_starts(pid, HU_STR("Device ")) ? trailing_number(pid) : -1;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

/* Three numbers of at most nine digits, as all producers write them.  False: look again, at whatever it is. */
static bool read_plain_triple(hu_str s, uint32_t out[3])
{
    const char *p = s.p, *const end = s.p + s.n;

    if (p == end || *p++ != '[')
        return false;
    for (size_t i = 0; i < 3; i++) {
        const char *from = p = skip_blanks(p, end);

        for (out[i] = 0; p < end && p - from < 9 && *p >= '0' && *p <= '9'; p++)
            out[i] = 10 * out[i] + (uint32_t)(*p - '0');
        if (p == from || (p = skip_blanks(p, end)) == end || *p++ != (i < 2 ? ',' : ']'))
            return false;
    }
    return true;
}

static void read_triple(const chrome_event *e, int place, uint32_t out[3])
{
    const chrome_value *v = &e->at[place];
    hu_json             j;
    hu_str              item;
    uint64_t            value;

    out[0] = out[1] = out[2] = 0;
    if (!chrome_has(e, place) || v->type != CHROME_CONTAINER || read_plain_triple((hu_str){v->p, v->n}, out))
        return;
    out[0] = out[1] = out[2] = 0;
    j = hu_json_enter((hu_str){v->p, v->n});
    for (size_t i = 0; i < 3 && hu_json_element(&j, &item); i++)
        if (hu_parse_u64(item, &value) && value <= UINT32_MAX)
            out[i] = (uint32_t)value;
}

static void read_block(const chrome_event *e, uint16_t out[3])
{
    uint32_t wide[3];

    read_triple(e, CHROME_BLOCK, wide);
    for (size_t i = 0; i < 3; i++)
        out[i] = (uint16_t)(wide[i] <= UINT16_MAX ? wide[i] : 0);
}

static hu_str tid_text(const chrome_event *e)
{
    const chrome_value *v = &e->at[CHROME_TID];

    return chrome_has(e, CHROME_TID) && v->type == CHROME_STRING ? (hu_str){v->p, v->n} : HU_STR("");
}

static hu_kind kineto_kind(chrome_reader *r)
{
    const chrome_value *v = &r->event.at[CHROME_CAT];
    chrome_category    *c;

    if (!chrome_has(&r->event, CHROME_CAT) || v->type != CHROME_STRING || v->n == 0)
        return HU_KIND_USER; /* other writers of Chrome traces leave the category out */
    c = &r->categories[((unsigned char)v->p[0] + v->n) % HU_COUNT(r->categories)];
    if (c->n == v->n && memcmp(c->text, v->p, v->n) == 0)
        return c->kind;
    if (v->n > sizeof c->text)
        return HU_KIND_OTHER;
    memcpy(c->text, v->p, v->n);
    c->n = (uint8_t)v->n;
    c->kind = hu_producers_kind((hu_str){v->p, v->n});
    r->saw_kineto |= c->kind != HU_KIND_OTHER;
    return c->kind;
}

hu_kind chrome_take_kind(chrome_reader *r)
{
    const chrome_value *v = &r->event.at[CHROME_CAT];
    const hu_kind       kind = kineto_kind(r);

    return kind == HU_KIND_OTHER ? hu_producers_foreign_kind((hu_str){v->p, v->n}, tid_text(&r->event)) : kind;
}

/* Asked once for each name. */
static bool is_comm(chrome_reader *r, uint32_t name)
{
    uint8_t *known;

    if (name >= r->comm_by_name.n) {
        const size_t more = name + 1 - r->comm_by_name.n;

        if (!hu_vec_reserve(r->arena, &r->comm_by_name, more)) {
            hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
            return false;
        }
        memset(r->comm_by_name.at + r->comm_by_name.n, 0, more);
        r->comm_by_name.n = name + 1;
    }
    known = &r->comm_by_name.at[name];
    if (!*known)
        *known = hu_producers_is_comm(hu_builder_text(r->b, name)) ? 2 : 1;
    return *known == 2;
}

/* `holdup run`, of NCCL */
static uint8_t recorded_of(const chrome_event *e)
{
    const chrome_value *v = &e->at[CHROME_RECORDED];
    const hu_str        text = {v->p, v->n};

    if (!chrome_has(e, CHROME_RECORDED) || v->type != CHROME_STRING)
        return HU_COLLECTIVE_UNSAID;
    return hu_str_equal(text, HU_STR("call"))   ? HU_COLLECTIVE_CALL
           : hu_str_equal(text, HU_STR("span")) ? HU_COLLECTIVE_SPAN
                                                : HU_COLLECTIVE_UNSAID;
}

static uint32_t take_collective(chrome_reader *r)
{
    const chrome_event  *e = &r->event;
    hu_collective_detail c;

    if (!chrome_has(e, CHROME_COLLECTIVE))
        return 0;
    c = (hu_collective_detail){
        .name = chrome_take_text(r, CHROME_COLLECTIVE),
        .dtype = chrome_take_text(r, CHROME_DTYPE),
        .in_split = chrome_take_text(r, CHROME_IN_SPLIT),
        .out_split = chrome_take_text(r, CHROME_OUT_SPLIT),
        .group = chrome_take_text(r, CHROME_GROUP_NAME),
        .group_description = chrome_take_text(r, CHROME_GROUP_DESCRIPTION),
        .group_ranks = chrome_take_text(r, CHROME_GROUP_RANKS),
        .in_elements = int_of(e, CHROME_IN_ELEMENTS, -1),
        .out_elements = int_of(e, CHROME_OUT_ELEMENTS, -1),
        .group_size = int32_of(e, CHROME_GROUP_SIZE, -1),
        .source_rank = int32_of(e, CHROME_SOURCE_RANK, -1),
        .target_rank = int32_of(e, CHROME_TARGET_RANK, -1),
        .rank_start = int32_of(e, CHROME_RANK_START, -1),
        .rank_stride = int32_of(e, CHROME_RANK_STRIDE, -1),
        .sequence = int_of(e, CHROME_COMM_SEQUENCE, -1),
        .comm_id = int_of(e, CHROME_COMM_ID, -1),
        .is_async = -1,
        .recorded = recorded_of(e),
    };
    if (chrome_has(e, CHROME_IS_ASYNC)) {
        const chrome_value *v = &e->at[CHROME_IS_ASYNC];

        c.is_async = v->n && (v->p[0] == 't' || v->p[0] == 'T' || v->p[0] == '1');
    }
    return hu_builder_collective_detail(r->b, &c);
}

static uint32_t take_op(chrome_reader *r)
{
    const chrome_event *e = &r->event;
    const hu_op_extra   extra = {
          .stack = chrome_take_text(r, CHROME_CALL_STACK),
          .module = chrome_take_text(r, CHROME_MODULE_HIERARCHY),
          .backend = chrome_take_text(r, CHROME_KERNEL_BACKEND),
          .file = chrome_take_text(r, CHROME_KERNEL_FILE),
          .collective = take_collective(r),
          .stream = int32_of(e, CHROME_STREAM, -1),
    };
    const int64_t sequence = int_of(e, CHROME_SEQUENCE, -1);
    hu_op_detail  d = {
         .dims = list_of(r, CHROME_INPUT_DIMS),
         .types = list_of(r, CHROME_INPUT_TYPES),
         .strides = list_of(r, CHROME_INPUT_STRIDES),
         .concrete = list_of(r, CHROME_CONCRETE_INPUTS),
         .sequence = sequence >= 0 && sequence <= INT32_MAX ? (int32_t)sequence : -1,
         .forward_thread = count_of(e, CHROME_FORWARD_THREAD),
    };

    r->has_shapes |= d.dims != 0;
    r->has_stacks |= extra.stack != 0;
    r->has_modules |= extra.module != 0;
    if ((extra.stack | extra.module | extra.backend | extra.file | extra.collective) || extra.stream >= 0)
        d.extra = hu_builder_op_extra(r->b, &extra);
    if (!(d.dims | d.types | d.strides | d.concrete | d.forward_thread | d.extra) && d.sequence < 0)
        return HU_NONE;
    return hu_builder_op_detail(r->b, &d);
}

static uint32_t take_kernel(chrome_reader *r, hu_kind *kind, uint32_t name)
{
    const chrome_event *e = &r->event;
    const int64_t       registers = int_of(e, CHROME_REGISTERS, 0);
    hu_kernel_detail    d = {
           .registers = (uint16_t)(registers > 0 && registers <= UINT16_MAX ? registers : 0),
           .shared_bytes = count_of(e, CHROME_SHARED_MEMORY),
           .blocks_per_sm = (float)real_of(e, CHROME_BLOCKS_PER_SM),
           .warps_per_sm = (float)real_of(e, CHROME_WARPS_PER_SM),
           .occupancy_pct = (float)real_of(e, CHROME_OCCUPANCY),
           .graph = count_of(e, CHROME_GRAPH_ID),
           .graph_node = count_of(e, CHROME_GRAPH_NODE_ID),
           .priority = int32_of(e, CHROME_PRIORITY, INT32_MIN),
           .context = count_of(e, CHROME_CONTEXT),
           .collective = take_collective(r),
    };

    read_triple(e, CHROME_GRID, d.grid);
    read_block(e, d.block);
    if (d.collective || is_comm(r, name))
        *kind = HU_KIND_COLLECTIVE;
    if (!(d.grid[0] | d.block[0] | d.registers | d.shared_bytes | d.graph | d.context | d.collective) &&
        d.priority == INT32_MIN && isnan(d.blocks_per_sm) && isnan(d.warps_per_sm) && isnan(d.occupancy_pct))
        return HU_NONE;
    return hu_builder_kernel_detail(r->b, &d);
}

static uint32_t take_copy(chrome_reader *r)
{
    const chrome_event *e = &r->event;

    return hu_builder_copy_detail(r->b, &(hu_copy_detail){
                                            .bytes = bytes_of(e, CHROME_BYTES, -1),
                                            .gbps = real_of(e, CHROME_BANDWIDTH),
                                            .from_device = int32_of(e, CHROME_FROM_DEVICE, -1),
                                            .to_device = int32_of(e, CHROME_TO_DEVICE, -1),
                                            .graph = count_of(e, CHROME_GRAPH_ID),
                                            .graph_node = count_of(e, CHROME_GRAPH_NODE_ID),
                                        });
}

static uint32_t take_call(chrome_reader *r)
{
    const chrome_event *e = &r->event;
    hu_call_detail      d = {.callback_id = int32_of(e, CHROME_CALLBACK_ID, -1), .bytes = bytes_of(e, CHROME_BYTES, -1)};
    hu_geometry         g = {.shared_bytes = count_of(e, CHROME_SHARED_MEMORY)};

    if (chrome_has(e, CHROME_GRID)) {
        read_triple(e, CHROME_GRID, g.grid);
        read_block(e, g.block);
        d.geometry = hu_builder_geometry(r->b, &g);
    }
    if (d.callback_id < 0 && d.bytes < 0 && !d.geometry)
        return HU_NONE;
    return hu_builder_call_detail(r->b, &d);
}

enum { LINUX_ETIMEDOUT = 110 }; /* as holdup run writes it, on whatever system it is read */

/* "sampled", "inferred": `holdup run` looked at the waiting thread now and then. */
static bool is_outside(const chrome_event *e)
{
    const chrome_value *v = &e->at[CHROME_SOURCE];
    const hu_str        text = {v->p, v->n};

    return chrome_has(e, CHROME_SOURCE) && v->type == CHROME_STRING &&
           (hu_str_equal(text, HU_STR("sampled")) || hu_str_equal(text, HU_STR("inferred")));
}

/* An event's descriptor is its object for all of its process. */
static uint32_t object_of(chrome_reader *r, unsigned class)
{
    const int64_t fd = int_of(&r->event, CHROME_FD, -1);
    char          text[24];

    if (chrome_has(&r->event, CHROME_OBJECT) || class != HU_HOST_WAIT || fd < 0)
        return chrome_take_text(r, CHROME_OBJECT);
    return hu_builder_intern(r->b, (hu_str){text, (size_t)snprintf(text, sizeof text, "fd %lld", (long long)fd)});
}

static uint32_t take_wait(chrome_reader *r, unsigned class)
{
    const chrome_event *e = &r->event;
    hu_wait_detail      d = {.object = object_of(r, class), .caller = chrome_take_text(r, CHROME_CALLER)};

    if (!d.object && !d.caller)
        return 0;
    d.mutex = chrome_take_text(r, CHROME_MUTEX);
    d.name = chrome_take_text(r, CHROME_OBJECT_NAME);
    d.holder = int_of(e, CHROME_HOLDER, 0);
    d.error = int32_of(e, CHROME_ERROR, 0);
    d.is_unfinished = chrome_has(e, CHROME_UNFINISHED);
    return hu_builder_wait_detail(r->b, &d);
}

/* A wait for a lock, whose library waits in a futex or a condition. */
static bool is_lock(chrome_reader *r, uint32_t name)
{
    const hu_str call = hu_builder_text(r->b, name), caller = hu_builder_text(r->b, chrome_take_text(r, CHROME_CALLER));

    if (hu_str_equal(call, HU_STR("futex")))
        return hu_producers_is_lock(caller);
    return hu_producers_is_gil(call, caller, hu_builder_text(r->b, chrome_take_text(r, CHROME_OBJECT_NAME)));
}

static uint32_t take_os_call(chrome_reader *r, uint32_t name)
{
    const chrome_event *e = &r->event;
    const chrome_value *v = &e->at[CHROME_CLASS];
    const hu_str class = chrome_has(e, CHROME_CLASS) && v->type == CHROME_STRING ? (hu_str){v->p, v->n} : HU_STR("");
    hu_os_detail d = {
        .bytes = bytes_of(e, CHROME_BYTES, -1),
        .path = chrome_take_text(r, chrome_has(e, CHROME_PATH) ? CHROME_PATH : CHROME_PEER),
        .calls = count_of(e, CHROME_CALLS),
        .is_timed_out = int32_of(e, CHROME_ERROR, 0) == LINUX_ETIMEDOUT,
        .class = (uint8_t)hu_producers_host_class(class, hu_builder_text(r->b, name)),
        .is_outside = is_outside(e),
    };

    if (!d.path && d.class == HU_HOST_FILE_META && hu_producers_is_memory(hu_builder_text(r->b, name)))
        d.class = HU_HOST_OTHER;
    d.wait = take_wait(r, d.class);
    if (d.class == HU_HOST_WAIT && d.wait && is_lock(r, name))
        d.class = HU_HOST_LOCK;
    return hu_builder_os_detail(r->b, &d);
}

/* `holdup run`, of OpenMP: times beyond what a recording lasts are no times. */
static uint32_t take_omp(chrome_reader *r, uint32_t name)
{
    const chrome_event *e = &r->event;
    const int64_t       region = int_of(e, CHROME_REGION, 0), work_ns = int_of(e, CHROME_WORK_NS, -1);
    const int32_t       threads = int32_of(e, CHROME_THREADS, 0);
    const hu_omp_detail d = {.region = region > 0 ? region : 0,
                             .work_ns = work_ns >= 0 && work_ns < WEEK_NS ? work_ns : -1,
                             .threads = threads > 0 ? threads : 0,
                             .calls = count_of(e, CHROME_CALLS),
                             .caller = chrome_take_text(r, CHROME_CALLER),
                             .place = chrome_take_text(r, CHROME_PLACE),
                             .line = chrome_take_text(r, CHROME_LINE),
                             .worksharing = chrome_take_text(r, CHROME_WORKSHARING),
                             .what = (uint8_t)hu_producers_omp(hu_builder_text(r->b, name))};

    return d.region || d.calls ? hu_builder_omp_detail(r->b, &d) : HU_NONE;
}

/* A receive from anybody says with whom it was in the end. */
static uint32_t take_mpi(chrome_reader *r)
{
    const chrome_event *e = &r->event;
    hu_mpi_detail       d = {
              .bytes = bytes_of(e, CHROME_BYTES, -1),
              .comm = chrome_take_text(r, CHROME_COMM),
              .peer = int32_of(e, CHROME_PEER, -1),
              .root = int32_of(e, CHROME_ROOT, -1),
              .tag = int32_of(e, CHROME_TAG, INT32_MIN),
    };

    if (d.peer < 0)
        d.peer = int32_of(e, CHROME_SOURCE, -1);
    d.peer = d.peer < 0 ? -1 : d.peer;
    d.root = d.root < 0 ? -1 : d.root;
    return hu_builder_mpi_detail(r->b, &d);
}

static uint32_t take_detail(chrome_reader *r, hu_builder_slice *s)
{
    const chrome_event *e = &r->event;

    switch (s->kind) {
    case HU_KIND_CPU_OP:
    case HU_KIND_USER:
        return take_op(r);
    case HU_KIND_OTHER:
        return recorded_of(e) ? take_op(r) : HU_NONE;
    case HU_KIND_KERNEL:
    case HU_KIND_COLLECTIVE:
        return take_kernel(r, &s->kind, s->name);
    case HU_KIND_MEMCPY:
    case HU_KIND_MEMSET:
        return take_copy(r);
    case HU_KIND_RUNTIME:
    case HU_KIND_DRIVER:
        return take_call(r);
    case HU_KIND_OS_CALL:
        return take_os_call(r, s->name);
    case HU_KIND_MPI:
        return take_mpi(r);
    case HU_KIND_OPENMP:
        return take_omp(r, s->name);
    case HU_KIND_SYNC:
        return hu_builder_sync_detail(r->b,
                                      &(hu_sync_detail){int_of(e, CHROME_WAIT_STREAM, -1), int_of(e, CHROME_WAIT_EVENT, -1),
                                                        int_of(e, CHROME_WAIT_RECORD, -1), int_of(e, CHROME_STREAM, -1)});
    case HU_KIND_PYTHON:
        r->has_stacks = true;
        return hu_builder_python_detail(r->b,
                                        &(hu_python_detail){count_of(e, CHROME_PYTHON_ID), count_of(e, CHROME_PYTHON_PARENT),
                                                            count_of(e, CHROME_PYTHON_MODULE)});
    default:
        return HU_NONE;
    }
}

static uint32_t track_of(chrome_reader *r, hu_kind kind)
{
    const chrome_event *e = &r->event;
    const hu_builder_id pid = chrome_take_row(r, CHROME_PID);
    hu_builder_id       tid;
    int64_t             device, stream;

    if (!hu_kind_in(kind, HU_KINDS_DEVICE)) {
        tid = chrome_take_row(r, CHROME_TID);
        return hu_builder_track(r->b, hu_kind_in(kind, HU_KINDS_HOST) ? HU_TRACK_HOST : HU_TRACK_NOTE, pid, tid);
    }
    device = int_of(e, CHROME_DEVICE, int_of(e, CHROME_FROM_DEVICE, pid.is_text ? device_in_pid(e) : pid.value));
    stream = int_of(e, CHROME_STREAM, INT64_MIN);
    if (stream == INT64_MIN) {
        const chrome_value *v = &e->at[CHROME_TID];

        stream = !chrome_has(e, CHROME_TID) ? -1 : v->type == CHROME_INT ? v->number : trailing_number((hu_str){v->p, v->n});
    }
    return hu_builder_stream(r->b, pid, device, stream);
}

bool chrome_take_time(chrome_reader *r, int64_t *ns)
{
    const chrome_value *v = &r->event.at[CHROME_TS];

    if (!chrome_has(&r->event, CHROME_TS))
        return false;
    if (v->type == CHROME_STRING)
        return hu_parse_us_as_ns((hu_str){v->p, v->n}, ns);
    *ns = v->number;
    return v->type == CHROME_INT && v->number > INT64_MIN / 2 && v->number < INT64_MAX / 2;
}

/* XLA's profiler gives no categories: frames of Python and steps are known by name and arguments. */
static void name_xla(chrome_reader *r, hu_builder_slice *s)
{
    const hu_str name = hu_builder_text(r->b, s->name);
    char         text[HU_XLA_NAME_BYTES];
    size_t       n = hu_xla_python_name(name, text);

    if (n) {
        s->kind = HU_KIND_PYTHON;
    } else if (chrome_has(&r->event, CHROME_STEP_NUMBER)) {
        n = hu_xla_step_name(name, int_of(&r->event, CHROME_STEP_NUMBER, 0), text);
        hu_builder_mark_step(r->b);
    }
    if (n)
        s->name = hu_builder_intern(r->b, (hu_str){text, n});
}

static void name_viztracer(chrome_reader *r, hu_builder_slice *s)
{
    char         text[HU_VIZTRACER_NAME_BYTES];
    const size_t n = hu_viztracer_python_name(hu_builder_text(r->b, s->name), text);

    if (n)
        s->name = hu_builder_intern(r->b, (hu_str){text, n});
}

/* What X and B have in common.  False: counted and done with. */
static bool read_slice(chrome_reader *r, hu_builder_slice *s)
{
    hu_quality *q = hu_builder_quality(r->b);

    *s = (hu_builder_slice){.detail = HU_NONE};
    if (!chrome_take_time(r, &s->start_ns)) {
        hu_quality_count(q, HU_REASON_NO_TIME, 0);
        return false;
    }
    s->kind = chrome_take_kind(r);
    s->name = chrome_take_text(r, CHROME_NAME);
    if (s->kind == HU_KIND_USER && !chrome_has(&r->event, CHROME_CAT))
        name_xla(r, s);
    if (s->kind == HU_KIND_PYTHON && chrome_has(&r->event, CHROME_CAT) && r->event.at[CHROME_CAT].n == 3) /* "fee" */
        name_viztracer(r, s);
    if (s->kind == HU_KIND_KERNEL && r->event.at[CHROME_CAT].p[0] == 'm' &&
        hu_str_starts(hu_builder_text(r->b, s->name), HU_STR("dma")))
        s->kind = HU_KIND_MEMCPY; /* MTIA lists its copy engine among its kernels */
    return true;
}

/* A range that NCCL pushed, as NVTX recorded it. */
static uint32_t take_nccl(chrome_reader *r, const hu_builder_slice *s)
{
    static const int keys[NCCL_FIELD_COUNT] = {CHROME_NCCL_COMM, CHROME_NCCL_BYTES, CHROME_NCCL_PEER, CHROME_NCCL_ROOT,
                                               CHROME_NCCL_RANKS};
    nccl_call        k = nccl_call_of(s->name);
    bool             says = false;

    if (!hu_str_starts(hu_builder_text(r->b, s->name), HU_STR("nccl")))
        return HU_NONE;
    for (int i = 0; i < NCCL_FIELD_COUNT; i++)
        if (chrome_has(&r->event, keys[i])) {
            nccl_call_set(&k, (nccl_field)i, id_of(&r->event, keys[i]));
            says = true;
        }
    if (!r->nccl && !(r->nccl = nccl_calls_new(r->b, r->arena))) {
        hu_builder_fail(r->b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        return HU_NONE;
    }
    return nccl_calls_take(r->nccl, s->track, &k, says);
}

static void finish_slice(chrome_reader *r, hu_builder_slice *s)
{
    s->correlation = id_of(&r->event, chrome_has(&r->event, CHROME_CAT) ? CHROME_CORRELATION : CHROME_XLA_CORRELATION);
    if (chrome_has(&r->event, CHROME_CORRELATION))
        s->correlation = id_of(&r->event, CHROME_CORRELATION);
    s->external = id_of(&r->event, CHROME_EXTERNAL_ID);
    s->detail = take_detail(r, s);
    s->track = track_of(r, s->kind);
    if (s->kind == HU_KIND_USER && s->detail == HU_NONE)
        s->detail = take_nccl(r, s);
}

static void take_complete(chrome_reader *r)
{
    hu_quality         *q = hu_builder_quality(r->b);
    hu_builder_slice    s;
    const chrome_value *dur = &r->event.at[CHROME_DUR];

    if (!read_slice(r, &s))
        return;
    if (s.kind == HU_KIND_OTHER && chrome_states_take(r, &s))
        return;
    if (!chrome_has(&r->event, CHROME_DUR) ||
        !(dur->type == CHROME_INT ||
          (dur->type == CHROME_STRING && hu_parse_us_as_ns((hu_str){dur->p, dur->n}, &r->event.at[CHROME_DUR].number)))) {
        hu_quality_count(q, HU_REASON_NO_DURATION, 0);
        return;
    }
    s.dur_ns = dur->number;
    if (s.dur_ns < 0) {
        hu_quality_count(q, HU_REASON_NEGATIVE_DURATION, s.dur_ns > -WEEK_NS ? -s.dur_ns : 0);
        s.dur_ns = 0;
    }
    if (s.dur_ns > WEEK_NS) {
        hu_quality_count(q, HU_REASON_ABSURD_DURATION, 0);
        return;
    }
    q->duration_sum_ns += s.dur_ns;
    if (s.start_ns == 0 && hu_kind_in(s.kind, HU_KINDS_DEVICE) &&
        !hu_builder_info(r->b)->tool.n) { /* a copy of another clock may begin at 0 */
        hu_quality_count(q, HU_REASON_ZERO_TIME, s.dur_ns);
        return;
    }
    finish_slice(r, &s);
    hu_builder_add(r->b, &s);
}

bool chrome_take_slice(chrome_reader *r, hu_builder_slice *out)
{
    if (!read_slice(r, out))
        return false;
    finish_slice(r, out);
    return true;
}

static void take_begin(chrome_reader *r)
{
    hu_builder_slice s;

    if (chrome_take_slice(r, &s))
        hu_builder_begin(r->b, &s);
}

/* An end may leave out everything but its row and time, so it closes what is open on the row, host or not. */
static void take_end(chrome_reader *r)
{
    const hu_kind kind = chrome_take_kind(r);
    int64_t       ns;

    if (!chrome_take_time(r, &ns)) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_NO_TIME, 0);
        return;
    }
    if (hu_kind_in(kind, HU_KINDS_DEVICE))
        hu_builder_end(r->b, track_of(r, kind), ns);
    else
        hu_builder_end_row(r->b, chrome_take_row(r, CHROME_PID), chrome_take_row(r, CHROME_TID), ns);
}

static bool is_named(const chrome_event *e, hu_str name)
{
    return chrome_has(e, CHROME_NAME) && e->at[CHROME_NAME].n == name.n && memcmp(e->at[CHROME_NAME].p, name.p, name.n) == 0;
}

/* "osrt", "wake", and what for. */
static void take_wake(chrome_reader *r)
{
    static const char *const keys[] = {
#define W(id, key) [HU_WAKEUP_##id] = (key),
        HU_WAKEUPS(W)
#undef W
    };
    const chrome_value *v = &r->event.at[CHROME_HOW];
    hu_wakeup           w = {.object = chrome_take_text(r, CHROME_OBJECT), .how = HU_WAKEUP_OTHER};

    if (!chrome_take_time(r, &w.time_ns)) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_NO_TIME, 0);
        return;
    }
    for (uint8_t i = 0; i < HU_COUNT(keys) && chrome_has(&r->event, CHROME_HOW); i++)
        if (hu_str_equal((hu_str){v->p, v->n}, hu_str_of(keys[i])))
            w.how = i;
    w.track = hu_builder_track(r->b, HU_TRACK_HOST, chrome_take_row(r, CHROME_PID), chrome_take_row(r, CHROME_TID));
    w.name = chrome_take_text(r, CHROME_OBJECT_NAME);
    w.caller = chrome_take_text(r, CHROME_CALLER);
    hu_builder_wake(r->b, &w);
}

static void take_instant(chrome_reader *r)
{
    const chrome_event *e = &r->event;
    hu_memory_event     m = {0};

    if (is_named(e, HU_STR("wake")) && chrome_has(e, CHROME_OBJECT) && e->at[CHROME_OBJECT].type == CHROME_STRING &&
        chrome_has(e, CHROME_CAT) && e->at[CHROME_CAT].n == 4 && memcmp(e->at[CHROME_CAT].p, "osrt", 4) == 0) {
        take_wake(r);
        return;
    }

    if (chrome_has(e, CHROME_CAT) && e->at[CHROME_CAT].n == 4 && memcmp(e->at[CHROME_CAT].p, "lost", 4) == 0) {
        const int64_t lost = int_of(e, CHROME_COUNT, 1);

        hu_builder_quality(r->b)->count[HU_REASON_RECORDER] += lost > 0 && lost < INT64_C(1) << 50 ? lost : 1;
    }
    hu_builder_info(r->b)->out_of_memory += is_named(e, HU_STR("[OutOfMemory]"));
    hu_builder_quality(r->b)->has_all_events = is_named(e, HU_STR("Record Window End")); /* Kineto's last event */
    if (!chrome_has(e, CHROME_ALLOC_BYTES) || !chrome_has(e, CHROME_ADDRESS))
        return; /* "Iteration Start" and the like: counted by phase, no question needs them */
    if (!chrome_take_time(r, &m.time_ns)) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_NO_TIME, 0);
        return;
    }
    r->has_memory = true;
    m.track = hu_builder_track(r->b, HU_TRACK_HOST, chrome_take_row(r, CHROME_PID), chrome_take_row(r, CHROME_TID));
    m.device_type = int32_of(e, CHROME_DEVICE_TYPE, 0);
    m.device = int32_of(e, CHROME_DEVICE_ID, -1);
    m.address = id_of(e, CHROME_ADDRESS);
    m.bytes = bytes_of(e, CHROME_ALLOC_BYTES, 0);
    m.total_allocated = int_of(e, CHROME_TOTAL_ALLOCATED, -1);
    m.total_reserved = int_of(e, CHROME_TOTAL_RESERVED, -1);
    hu_builder_memory(r->b, &m);
}

/*
 * Forward-backward links, and those of PyTorch's first profiler, which has no other, from an operator to its work.  Other
 * launch flows repeat what `correlation` says.
 */
static void take_flow(chrome_reader *r, bool is_end)
{
    const chrome_value *cat = &r->event.at[CHROME_CAT];
    const hu_str        category = chrome_has(&r->event, CHROME_CAT) ? (hu_str){cat->p, cat->n} : HU_STR("");
    hu_flow             f = {.is_end = is_end, .slice = HU_NONE, .is_launch = hu_str_equal(category, HU_STR("cpu_to_cuda"))};

    if (!f.is_launch && !hu_str_equal(category, HU_STR("fwdbwd")))
        return;
    if (!chrome_take_time(r, &f.time_ns)) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_NO_TIME, 0);
        return;
    }
    f.id = id_of(&r->event, CHROME_ID);
    f.track = hu_builder_track(r->b, HU_TRACK_HOST, chrome_take_row(r, CHROME_PID), chrome_take_row(r, CHROME_TID));
    f.name = f.is_launch ? chrome_take_text(r, CHROME_NAME) : 0;
    hu_builder_flow(r->b, &f);
}

static void take_counter(chrome_reader *r)
{
    const hu_builder_id pid = chrome_take_row(r, CHROME_PID);
    const uint32_t      name = chrome_take_text(r, CHROME_NAME);
    int64_t             ns;

    if (!chrome_take_time(r, &ns)) {
        hu_quality_count(hu_builder_quality(r->b), HU_REASON_NO_TIME, 0);
        return;
    }
    for (uint32_t i = 0; i < r->event.n_extra; i++) {
        double value;

        if (hu_parse_f64(r->event.extra[i].value, &value))
            hu_builder_sample(r->b, hu_builder_counter(r->b, pid, name), ns, value);
    }
}

static void take_name(chrome_reader *r)
{
    const chrome_value *v = &r->event.at[CHROME_NAME];
    const hu_str        what = chrome_has(&r->event, CHROME_NAME) ? (hu_str){v->p, v->n} : HU_STR("");

    if (hu_str_equal(what, HU_STR("thread_name")))
        hu_builder_name_thread(r->b, chrome_take_row(r, CHROME_PID), chrome_take_row(r, CHROME_TID),
                               chrome_take_text(r, CHROME_ARG_NAME));
    else if (hu_str_equal(what, HU_STR("process_name")))
        hu_builder_name_process(r->b, chrome_take_row(r, CHROME_PID), chrome_take_text(r, CHROME_ARG_NAME));
}

/* `{}`, with which some writers end a list, so that each event may have a comma behind it. */
static bool is_filler(const chrome_event *e)
{
    for (int i = 0; i < CHROME_PLACES; i++)
        if (chrome_has(e, i))
            return false;
    return true;
}

void chrome_take_event(chrome_reader *r)
{
    hu_quality         *q = hu_builder_quality(r->b);
    const chrome_value *ph = &r->event.at[CHROME_PH];
    const char phase = chrome_has(&r->event, CHROME_PH) && ph->type == CHROME_STRING && ph->n == 1 ? ph->p[0] : '\0';

    if (!phase && is_filler(&r->event)) {
        q->events--;
        return;
    }
    if (r->event.duplicates)
        hu_quality_count(q, HU_REASON_DUPLICATE_KEY, 0);
    if (r->event.odd_words)
        hu_quality_count(q, HU_REASON_ODD_WORD, 0);
    q->by_phase[phase & 0x7f]++;
    q->has_all_events = false;
    switch (phase) {
    case 'X':
        take_complete(r);
        break;
    case 'B':
        take_begin(r);
        break;
    case 'E':
        take_end(r);
        break;
    case 'i':
    case 'I':
        take_instant(r);
        break;
    case 's':
    case 't':
    case 'f':
        take_flow(r, phase == 'f');
        break;
    case 'C':
        take_counter(r);
        break;
    case 'M':
        take_name(r);
        break;
    case 'b':
    case 'S': /* as writers of old named them */
    case 'e':
    case 'F':
        hu_quality_count(q, HU_REASON_ASYNC, 0);
        chrome_async_note(r, phase == 'e' || phase == 'F');
        break;
    case 'n':
    case 'T':
    case 'p':
        hu_quality_count(q, HU_REASON_ASYNC, 0);
        break;
    default:
        hu_quality_count(q, HU_REASON_NO_PHASE, 0);
    }
}
