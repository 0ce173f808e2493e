/* SPDX-License-Identifier: Apache-2.0
 * ncu_report.c - .ncu-rep: "NVR\0", a header, then blocks of a header and of messages, each after its length in 4 bytes.
 *
 * ProfilerReport.proto, ProfilerResultsCommon.proto and ProfilerStringTable.proto describe the messages; Nsight Compute
 * ships them for readers of its files (extras/FileFormat). */
#include "base/protobuf.h"
#include "ingest/ncu.h"

#include <stdio.h>

/* Field numbers of the messages. */
enum {
    BLOCK_SOURCES = 1,
    BLOCK_RESULTS = 2,
    BLOCK_STRINGS = 4,
    BLOCK_BYTES = 5,
    BLOCK_RANGES = 7,
    BLOCK_LISTS,
    BLOCK_GRAPHS
};
enum { STRINGS_STRING = 1 };
enum { RESULT_FUNCTION = 6, RESULT_NAME = 7, RESULT_GRID = 10, RESULT_BLOCK = 11, RESULT_METRIC = 13 };
enum { METRIC_NAME = 1, METRIC_VALUE = 2 };
enum { VALUE_STRING = 1, VALUE_FLOAT, VALUE_DOUBLE, VALUE_UINT32, VALUE_UINT64 };
enum { DEVICE_NAME = -2 }; /* a place beside those of hu_ncu_place */

typedef struct {
    hu_str          rest;
    const hu_input *in;
    hu_arena       *arena;
    hu_counters    *out;
    HU_VEC(int) places; /* of the names in all tables of strings, by their id */
} reader;

typedef struct {
    uint64_t count[BLOCK_GRAPHS + 1]; /* by field number */
} block;

/* The next message that its length precedes; false at the end and where it is cut. */
static bool take(hu_str *from, hu_str *out)
{
    uint32_t n;

    if (from->n < sizeof n)
        return false;
    memcpy(&n, from->p, sizeof n); /* little-endian, as all machines that holdup runs on */
    if (n > from->n - sizeof n)
        return false;
    *out = (hu_str){from->p + sizeof n, n};
    *from = (hu_str){out->p + n, from->n - sizeof n - n};
    return true;
}

/* A table goes on with the ids of the tables before it. */
static int read_strings(reader *r, hu_str message, hu_error *err)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f)) {
        if (f.number != STRINGS_STRING || f.wire != HU_WIRE_BYTES)
            continue;
        if (!hu_vec_push(r->arena, &r->places,
                         hu_str_equal(f.bytes, HU_STR("device__attribute_display_name")) ? DEVICE_NAME
                                                                                         : hu_ncu_place(f.bytes)))
            return hu_fail_memory(err);
    }
    return 0;
}

static int read_header(reader *r, hu_str message, block *b, hu_error *err)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    *b = (block){{0}};
    while (hu_protobuf_next(&m, &f)) {
        if (f.number <= BLOCK_GRAPHS && f.wire == HU_WIRE_VARINT)
            b->count[f.number] = f.value;
        if (f.number == BLOCK_STRINGS && f.wire == HU_WIRE_BYTES && f.bytes.n && read_strings(r, f.bytes, err) < 0)
            return err->code;
    }
    return m.bad ? HU_EFORMAT : 0;
}

static void read_triple(hu_str message, uint64_t out[3])
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;

    while (hu_protobuf_next(&m, &f))
        if (f.number >= 1 && f.number <= 3 && f.wire == HU_WIRE_VARINT)
            out[f.number - 1] = f.value;
}

static void read_value(hu_str message, int place, hu_counted *k)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    float             narrow;

    while (hu_protobuf_next(&m, &f)) {
        const uint32_t bits = (uint32_t)f.value;

        if (place == DEVICE_NAME && f.number == VALUE_STRING && f.wire == HU_WIRE_BYTES)
            k->device = f.bytes;
        else if (f.number == VALUE_DOUBLE && f.wire == HU_WIRE_FIXED64)
            hu_ncu_store(k, place, hu_protobuf_double(&f));
        else if ((f.number == VALUE_UINT32 || f.number == VALUE_UINT64) && f.wire == HU_WIRE_VARINT)
            hu_ncu_store(k, place, (double)f.value);
        else if (f.number == VALUE_FLOAT && f.wire == HU_WIRE_FIXED32) {
            memcpy(&narrow, &bits, sizeof narrow);
            hu_ncu_store(k, place, (double)narrow);
        }
    }
}

static void read_metric(const reader *r, hu_str message, hu_counted *k)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    uint64_t          name = UINT64_MAX;

    while (hu_protobuf_next(&m, &f))
        if (f.number == METRIC_NAME && f.wire == HU_WIRE_VARINT)
            name = f.value;
        else if (f.number == METRIC_VALUE && f.wire == HU_WIRE_BYTES && name < r->places.n && r->places.at[name] != -1)
            read_value(f.bytes, r->places.at[name], k);
}

static int read_capability(hu_counted *k, hu_arena *arena, hu_error *err)
{
    const double major = k->value[HU_COUNTER_CC_MAJOR], minor = k->value[HU_COUNTER_CC_MINOR];
    char         text[16];

    if (!(major >= 0 && major < 1000 && minor >= 0 && minor < 1000))
        return 0;
    snprintf(text, sizeof text, "%d.%d", (int)major, (int)minor);
    k->cc = hu_arena_copy(arena, hu_str_of(text));
    return k->cc.p ? 0 : hu_fail_memory(err);
}

static int read_result(reader *r, hu_str message, hu_error *err)
{
    hu_protobuf       m = hu_protobuf_of(message);
    hu_protobuf_field f;
    hu_counted       *k = hu_ncu_add(r->out, r->arena, hu_input_limits(r->in), err);

    if (!k)
        return err->code;
    k->id = r->out->kernels.n - 1;
    while (hu_protobuf_next(&m, &f)) {
        if (f.wire != HU_WIRE_BYTES)
            continue;
        if (f.number == RESULT_NAME || (f.number == RESULT_FUNCTION && k->name.n == 0))
            k->name = f.bytes;
        else if (f.number == RESULT_GRID)
            read_triple(f.bytes, k->grid);
        else if (f.number == RESULT_BLOCK)
            read_triple(f.bytes, k->block);
        else if (f.number == RESULT_METRIC)
            read_metric(r, f.bytes, k);
    }
    if (m.bad) {
        r->out->kernels.n--;
        return HU_EFORMAT;
    }
    return read_capability(k, r->arena, err);
}

/* What follows a block's header.  HU_EFORMAT without words: cut here. */
static int read_payload(reader *r, const block *b, hu_error *err)
{
    hu_str rest = r->rest, message;

    for (uint64_t i = 0; i < b->count[BLOCK_SOURCES]; i++)
        if (!take(&rest, &message))
            return HU_EFORMAT;
    for (uint64_t i = 0; i < b->count[BLOCK_RESULTS]; i++) {
        int rc;

        if (!take(&rest, &message))
            return HU_EFORMAT;
        if ((rc = read_result(r, message, err)) < 0)
            return rc;
    }
    r->out->n_others += b->count[BLOCK_RANGES] + b->count[BLOCK_LISTS] + b->count[BLOCK_GRAPHS];
    if (b->count[BLOCK_BYTES] > r->rest.n || b->count[BLOCK_BYTES] < (size_t)(rest.p - r->rest.p))
        return HU_EFORMAT;
    r->rest.p += b->count[BLOCK_BYTES];
    r->rest.n -= b->count[BLOCK_BYTES];
    return 0;
}

int hu_ncu_read_binary(hu_str file, const hu_input *in, hu_arena *arena, hu_counters *out, hu_error *err)
{
    enum { MAGIC = 4 };

    reader       r = {.rest = {file.p + MAGIC, file.n - MAGIC}, .in = in, .arena = arena, .out = out};
    const size_t before = out->kernels.n;
    hu_str       message;
    block        b;
    int          rc = take(&r.rest, &message) ? 0 : HU_EFORMAT;

    while (rc == 0 && r.rest.n) {
        rc = take(&r.rest, &message) ? read_header(&r, message, &b, err) : HU_EFORMAT;
        if (rc == 0)
            rc = read_payload(&r, &b, err);
    }
    if (rc == HU_EFORMAT && out->kernels.n > before) {
        out->is_cut = true;
        return 0;
    }
    if (rc == HU_EFORMAT)
        return hu_fail(
            err, HU_EFORMAT, hu_input_name(in), r.rest.p - file.p,
            "is a report of Nsight Compute that is cut, damaged or of another version; what ncu itself reads of it can be "
            "passed as CSV: ncu --import FILE --csv --page raw >FILE.csv");
    if (rc == 0 && out->kernels.n == before)
        return hu_fail(err, HU_EEMPTY, hu_input_name(in), HU_NO_OFFSET,
                       "is a report of Nsight Compute without a launch of a kernel (%llu ranges, graphs or command lists); "
                       "profile kernels (--replay-mode kernel), and see that --kernel-name matches one",
                       (unsigned long long)out->n_others);
    return rc;
}
