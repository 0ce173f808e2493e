/* SPDX-License-Identifier: Apache-2.0
 * xplane.c - profiles of XLA (*.xplane.pb), as JAX and TensorFlow write them: a message of planes.
 *
 * Planes: "/host:CPU" with the threads of the host, "/device:GPU:N" and "/device:TPU:N", and some that hold facts and no
 * times ("/host:metadata", "Task Environment").  Devices are read before hosts, because calls of the host are named after
 * the operations that their kernels belong to.
 *
 * There is no magic: the first field has to be a message whose name is one of these.  A plane's dictionaries stand behind
 * its lines, so a plane that is cut cannot be read, and a file is whole up to its last whole plane.
 */
#include <stdio.h>

#include "base/number.h"
#include "ingest/format.h"
#include "ingest/xplane.h"

static const int64_t YEAR_2001_NS = INT64_C(1000000000) * 1000000000; /* times before are no unix times */

/* ---- is it one? ----------------------------------------------------------------------------------------------- */

static bool is_plane_name(hu_str rest)
{
    static const hu_str names[] = {
        {"/host:", 6}, {"/device:", 8}, {"Task Environment", 16}, {"#Chip", 5}, {"/virtualdevice:", 15}};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_starts(rest, names[i]))
            return true;
    return false;
}

static bool probe(hu_str head)
{
    hu_protobuf m = hu_protobuf_of(head);
    uint64_t    n, id;

    if (head.n < 8 || head.p[0] != (XSPACE_PLANE << 3 | HU_WIRE_BYTES))
        return false;
    m.p++;
    if (!hu_protobuf_varint(&m, &n) || m.end - m.p < 4)
        return false;
    if (*m.p == 0x08) { /* the plane's id */
        m.p++;
        if (!hu_protobuf_varint(&m, &id))
            return false;
    }
    return m.end - m.p >= 4 && *m.p++ == (XPLANE_NAME << 3 | HU_WIRE_BYTES) && hu_protobuf_varint(&m, &n) &&
           is_plane_name((hu_str){m.p, (size_t)(m.end - m.p)});
}

/* ---- planes --------------------------------------------------------------------------------------------------- */

/* Somebody took the bytes for text: what is no UTF-8 became EF BF BD, and lengths mean nothing any more. */
static bool is_mangled(hu_str bytes)
{
    size_t found = 0, high = 0;

    for (size_t i = 0; i + 2 < bytes.n && i < 1 << 20; i++) {
        found += (unsigned char)bytes.p[i] == 0xef && (unsigned char)bytes.p[i + 1] == 0xbf &&
                 (unsigned char)bytes.p[i + 2] == 0xbd;
        high += (unsigned char)bytes.p[i] >= 0x80;
    }
    return found > 16 && found * 4 > high;
}

static const char MANGLED[] =
    "its bytes that are no text were replaced by U+FFFD (EF BF BD), as an editor, a shell or a web "
    "form does that takes it for text; copy the file again, as binary data";

static void warn(xplane_reader *r, hu_str text)
{
    hu_quality  *q = hu_builder_quality(r->b);
    const size_t n = strlen(q->warned);

    if (text.n)
        snprintf(q->warned + n, sizeof q->warned - n, "%s%.*s", n ? "; " : "", (int)(text.n < 160 ? text.n : 160), text.p);
}

static bool add_plane(xplane_reader *r, hu_str message)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    xplane_plane      plane = {.name = HU_STR(""), .message = message, .offset = (size_t)(message.p - r->bytes.p)};

    while (hu_protobuf_next(&m, &f))
        if (f.number == XPLANE_NAME && f.wire == HU_WIRE_BYTES)
            plane.name = f.bytes;
    if (m.bad) {
        hu_builder_truncated(r->b, (int64_t)(m.p - r->bytes.p),
                             is_mangled(r->bytes) ? MANGLED : "what follows in a plane is no field");
        return true;
    }
    return hu_vec_push(r->arena, &r->planes, plane) || xplane_no_memory(r);
}

static void list_planes(xplane_reader *r)
{
    hu_protobuf       m = hu_protobuf_of(r->bytes);
    hu_protobuf_field f;
    int               hosts = 0;

    while (hu_protobuf_next(&m, &f)) {
        if (f.wire != HU_WIRE_BYTES)
            continue;
        if (f.number == XSPACE_PLANE && !add_plane(r, f.bytes))
            return;
        if (f.number == XSPACE_ERROR || f.number == XSPACE_WARNING)
            warn(r, f.bytes);
        if (f.number == XSPACE_HOST && hosts++ == 0)
            hu_builder_info(r->b)->host = hu_builder_keep(r->b, f.bytes);
    }
    if (hosts > 1)
        warn(r, HU_STR("planes of several hosts in one file are read as one rank; pass the file of each host instead"));
    if (m.bad)
        hu_builder_truncated(r->b, (int64_t)(m.p - r->bytes.p),
                             is_mangled(r->bytes) ? MANGLED : "a plane that begins here is longer than the file");
}

/* "/device:GPU:3": its number; -1: no device's plane. */
static int64_t device_of(hu_str name, bool *is_gpu)
{
    static const char *const kinds[] = {"/device:GPU:", "/device:TPU:"};

    for (size_t i = 0; i < HU_COUNT(kinds); i++) {
        const size_t from = strlen(kinds[i]);
        size_t       to = from;
        int64_t      device;

        if (!hu_str_starts_with(name, kinds[i]))
            continue;
        while (to < name.n && to < from + 9 && name.p[to] >= '0' && name.p[to] <= '9')
            to++;
        *is_gpu = i == 0;
        return hu_parse_i64((hu_str){name.p + from, to - from}, &device) ? device : -1;
    }
    return -1;
}

static bool is_host(hu_str name)
{
    static const hu_str others[] = {{"/host:metadata", 14}, {"/host:__", 8}, {"/host:tfstreamz", 15}};

    for (size_t i = 0; i < HU_COUNT(others); i++)
        if (hu_str_starts(name, others[i]))
            return false;
    return hu_str_starts(name, HU_STR("/host:"));
}

static bool has_steps_line(const xplane_plane *plane)
{
    hu_protobuf m = hu_protobuf_of(plane->message);
    xplane_line line;

    while (xplane_next_line(&m, &line))
        if (hu_str_equal(line.name, HU_STR("Steps")))
            return true;
    return false;
}

static bool marks_steps(const xplane_plane *plane)
{
    for (size_t i = 0; i < plane->stat_names.n; i++)
        if (plane->stat_names.at[i].known == XPLANE_STEP)
            return true;
    return false;
}

/* A TPU's own steps are better than those of the host, because nothing links its work to the host's calls. */
static void choose_steps(xplane_reader *r)
{
    bool is_marked = false, is_gpu = false;

    for (size_t i = 0; i < r->planes.n; i++)
        is_marked |= is_host(r->planes.at[i].name) && xplane_open_plane(r, &r->planes.at[i]) &&
                     marks_steps(&r->planes.at[i]);
    for (size_t i = 0; i < r->planes.n && !r->stepping; i++)
        if (device_of(r->planes.at[i].name, &is_gpu) >= 0 && (!is_gpu || !is_marked) && has_steps_line(&r->planes.at[i]))
            r->stepping = &r->planes.at[i];
}

/* What is told of the whole run: its process, when it began, who recorded it. */
static void take_facts(xplane_reader *r)
{
    hu_trace_info *info = hu_builder_info(r->b);
    xplane_stats   s;
    char           text[80];

    info->tool = HU_STR("XLA profiler");
    for (size_t i = 0; i < r->planes.n && xplane_open_plane(r, &r->planes.at[i]); i++) {
        xplane_plane_stats(&r->planes.at[i], &s);
        r->pid = xplane_number(&s, XPLANE_PROCESS, r->pid);
        if (xplane_number(&s, XPLANE_BEGAN, 0) > YEAR_2001_NS)
            info->base_ns = xplane_number(&s, XPLANE_BEGAN, 0);
        if (xplane_has(&s, XPLANE_JAX)) {
            const hu_str version = xplane_text(&s, XPLANE_JAX);
            const int    n = snprintf(text, sizeof text, "XLA profiler (JAX %.*s)", (int)(version.n < 40 ? version.n : 40),
                                      version.p);

            info->tool = hu_builder_keep(r->b, (hu_str){text, (size_t)n});
        }
    }
}

static void read_planes(xplane_reader *r)
{
    bool    is_gpu = false;
    int64_t first_ns, last_ns;

    take_facts(r);
    choose_steps(r);
    for (size_t i = 0; i < r->planes.n && hu_builder_status(r->b, NULL) == 0; i++) {
        const int64_t device = device_of(r->planes.at[i].name, &is_gpu);

        if (device >= 0)
            xplane_read_device(r, &r->planes.at[i], device, is_gpu);
    }
    for (size_t i = 0; i < r->planes.n && hu_builder_status(r->b, NULL) == 0; i++)
        if (is_host(r->planes.at[i].name))
            xplane_read_host(r, &r->planes.at[i]);
    if (hu_builder_span(r->b, &first_ns, &last_ns) && first_ns > YEAR_2001_NS)
        hu_builder_info(r->b)->base_ns = 0; /* these are unix times already */
    if (r->n_sums)
        warn(r, HU_STR("events without a time, sums of several, are left out"));
}

static int fail_empty(const xplane_reader *r, const hu_input *in, hu_error *err)
{
    const hu_quality *q = hu_builder_quality(r->b);

    if (is_mangled(r->bytes))
        return hu_fail(err, HU_EFORMAT, hu_input_name(in), q->is_truncated ? q->truncated_at : 0,
                       "this profile of XLA (.xplane.pb) is damaged: %s", MANGLED);
    if (q->is_truncated)
        return hu_fail(err, HU_EEMPTY, hu_input_name(in), q->truncated_at,
                       "this profile of XLA (.xplane.pb) is cut or damaged: %s, and no plane before it has events; copy or "
                       "record it again",
                       q->truncated_why);
    return hu_fail(err, HU_EEMPTY, hu_input_name(in), 0,
                   "this profile of XLA (.xplane.pb) has %zu planes and no event with a length in any; did work run between "
                   "start_trace and stop_trace?",
                   r->planes.n);
}

static int import(hu_input *in, hu_builder *b, hu_error *err)
{
    hu_arena     *arena = hu_arena_new();
    xplane_reader r = {.b = b, .arena = arena};
    int rc = arena && hu_map_init(&r.op_of, arena, 0) ? hu_input_read_whole(in, arena, &r.bytes, err) : hu_fail_memory(err);

    if (rc == 0) {
        list_planes(&r);
        read_planes(&r);
        hu_builder_info(b)->bytes = (int64_t)r.bytes.n;
        hu_builder_quality(b)->has_all_events = !hu_builder_quality(b)->is_truncated;
        rc = hu_builder_status(b, err);
    }
    if (rc == 0 && hu_builder_slice_count(b) == 0)
        rc = fail_empty(&r, in, err);
    hu_arena_free(arena);
    return rc;
}

const hu_format hu_format_xplane = {
    .name = "xplane",
    .what = "profiles of XLA (JAX, TensorFlow)",
    .suffixes = ".xplane.pb",
    .probe = probe,
    .import = import,
};
