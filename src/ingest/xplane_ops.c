/* SPDX-License-Identifier: Apache-2.0
 * xplane_ops.c - operations of a TPU, which may hold others: a loop holds its body, over and over.
 *
 * Time that an operation and those in it are both open must count once.  A loop, a branch or a call only holds others: it
 * becomes a note, and what no operation in it fills is no work.  Any other operation counts for the time in which none of
 * those in it runs, as in trace/nest.h: it becomes as many slices as that time has pieces.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ingest/xplane.h"

typedef struct {
    int64_t  start_ns, end_ns, told_ns; /* told: up to here its own time is told */
    uint32_t name, at;
    uint8_t  kind;
    bool     is_control;
} operation;

typedef HU_VEC(operation) operation_list;

/* "%fusion.3 = f32[8]{0} fusion(…)" is shown as "fusion.3". */
static hu_str short_name(const xplane_event *e)
{
    hu_str      name = e->shown.n ? e->shown : e->name;
    const char *space;

    if (name.n > 1 && name.p[0] == '%')
        name = (hu_str){name.p + 1, name.n - 1};
    space = name.n ? memmem(name.p, name.n, " = ", 3) : NULL;
    return space ? (hu_str){name.p, (size_t)(space - name.p)} : name;
}

/* With its category, where its name does not say it: "fusion.3 [loop fusion]". */
static uint32_t full_name(xplane_reader *r, hu_str name, hu_str category)
{
    char text[HU_XLA_NAME_BYTES];

    if (!category.n || category.n > 100 || name.n > 300 || hu_str_starts(name, category))
        return hu_builder_intern(r->b, name);
    return hu_builder_intern(
        r->b, (hu_str){text, (size_t)snprintf(text, sizeof text, "%.*s [%.*s]", HU_FMT(name), HU_FMT(category))});
}

static bool collect(xplane_reader *r, xplane_plane *plane, const xplane_line *line, bool is_async, operation_list *out)
{
    hu_protobuf  m = hu_protobuf_of(line->message);
    xplane_event e;

    while (xplane_next_event(r, plane, line, &m, &e)) {
        const hu_str    name = short_name(&e), category = xplane_text(&e.stats, XPLANE_HLO_CATEGORY);
        const operation op = {.start_ns = e.slice.start_ns,
                              .end_ns = e.slice.start_ns + e.slice.dur_ns,
                              .told_ns = e.slice.start_ns,
                              .name = full_name(r, name, category),
                              .at = (uint32_t)out->n,
                              .kind = (uint8_t)hu_xla_op_kind(name, category, is_async),
                              .is_control = !is_async && hu_xla_is_control(name, category)};

        if (!hu_vec_push(r->arena, out, op))
            return xplane_no_memory(r);
    }
    return true;
}

static int outer_first(const void *left, const void *right)
{
    const operation *a = left, *b = right;

    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static void add(xplane_reader *r, const operation *op, uint32_t track, hu_kind kind, int64_t start_ns, int64_t end_ns)
{
    const bool     is_copy = kind == HU_KIND_MEMCPY;
    const uint32_t detail = is_copy
                                ? hu_builder_copy_detail(
                                      r->b, &(hu_copy_detail){.bytes = -1, .gbps = NAN, .from_device = -1, .to_device = -1})
                                : HU_NONE;

    hu_builder_add(r->b, &(hu_builder_slice){.start_ns = start_ns,
                                             .dur_ns = end_ns - start_ns,
                                             .track = track,
                                             .name = op->name,
                                             .kind = kind,
                                             .detail = detail});
}

/* Its own time up to an instant. */
static void tell(xplane_reader *r, operation *op, uint32_t track, int64_t until_ns)
{
    if (!op->is_control && (until_ns > op->told_ns || (op->start_ns == op->end_ns && until_ns == op->end_ns)))
        add(r, op, track, (hu_kind)op->kind, op->told_ns, until_ns);
    op->told_ns = until_ns > op->told_ns ? until_ns : op->told_ns;
}

static void close_top(xplane_reader *r, operation_list *open, uint32_t track)
{
    operation *top = &open->at[open->n - 1];

    tell(r, top, track, top->end_ns);
    open->n--;
    if (open->n && open->at[open->n - 1].told_ns < top->end_ns)
        open->at[open->n - 1].told_ns = top->end_ns;
}

static bool tell_all(xplane_reader *r, operation_list *list, uint32_t track, uint32_t notes)
{
    operation_list open = {0};

    for (size_t i = 0; i < list->n; i++) {
        operation *op = &list->at[i];

        while (open.n && open.at[open.n - 1].end_ns <= op->start_ns)
            close_top(r, &open, track);
        if (open.n)
            tell(r, &open.at[open.n - 1], track, op->start_ns);
        if (op->is_control)
            add(r, op, notes, HU_KIND_GPU_USER, op->start_ns, op->end_ns);
        if (!hu_vec_push(r->arena, &open, *op))
            return xplane_no_memory(r);
    }
    while (open.n)
        close_top(r, &open, track);
    hu_arena_drop(r->arena, open.at);
    return true;
}

/* Operations that run beside others overlap as they like. */
static void tell_async(xplane_reader *r, const operation_list *list, uint32_t track)
{
    for (size_t i = 0; i < list->n; i++)
        add(r, &list->at[i], track, (hu_kind)list->at[i].kind, list->at[i].start_ns, list->at[i].end_ns);
}

/* A part of a chip (SparseCore) counts its lines anew. */
static int64_t row_of(const xplane_reader *r, const xplane_plane *plane, const xplane_line *line)
{
    const int64_t part = hu_str_has(plane->name, HU_STR(" ")) ? 1 + (plane - r->planes.at) : 0;

    return line->id >= 0 && line->id < 1000 ? part * 1000 + line->id : line->id;
}

void xplane_read_ops(xplane_reader *r, xplane_plane *plane, const xplane_line *line, int64_t device, bool is_async)
{
    const hu_builder_id pid = {r->pid, false};
    const uint32_t      track = hu_builder_stream(r->b, pid, device, row_of(r, plane, line));
    const uint32_t      row = hu_builder_intern(r->b, HU_STR("loops and calls of XLA"));
    operation_list      list = {0};

    hu_builder_name_track(r->b, track, hu_builder_intern(r->b, line->name));
    if (collect(r, plane, line, is_async, &list)) {
        if (list.n)
            qsort(list.at, list.n, sizeof *list.at, outer_first);
        if (is_async)
            tell_async(r, &list, track);
        else
            tell_all(r, &list, track, hu_builder_track(r->b, HU_TRACK_NOTE, pid, (hu_builder_id){row, true}));
    }
    hu_arena_drop(r->arena, list.at);
}
