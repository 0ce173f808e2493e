/* SPDX-License-Identifier: Apache-2.0
 * relay.c - digest, findings, graph and timeline in one envelope; all but the last are packed by those who know them. */
#include "job/relay.h"

#include "advise/findings_wire.h"
#include "analyze/digest_wire.h"
#include "base/wire.h"
#include "graph/graph_wire.h"

typedef struct {
    hu_str      digest, findings, graph; /* packed; p is NULL where there are none */
    hu_timeline timeline;
    hu_error    error;
} envelope;

typedef struct {
    size_t file;
} wished;

typedef struct {
    wished  *at;
    size_t   n;
    size_t   shown;
    uint64_t pictures;
} wishes;

/* clang-format off */
#define TIMELINE(F, T) \
    F(T, STR, bytes) F(T, SIZE, raw_bytes) F(T, I64, origin_ns) F(T, SIZE, n) F(T, TEXT, left_out) \
    F(T, FIRST_ENUMS, scenarios, n_scenarios, HU_RULE_COUNT) F(T, SIZE, n_scenarios)
/* clang-format on */
HU_WIRE_TABLE(hu_timeline, TIMELINE);

#define ERROR(F, T) F(T, I32, code) F(T, I64, offset) F(T, TEXT, file) F(T, TEXT, text)
HU_WIRE_TABLE(hu_error, ERROR);

#define ENVELOPE(F, T) \
    F(T, STR, digest) F(T, STR, findings) F(T, STR, graph) F(T, PART, timeline, hu_timeline) F(T, PART, error, hu_error)
HU_WIRE_TABLE(envelope, ENVELOPE);

#define WISHED(F, T) F(T, SIZE, file)
HU_WIRE_TABLE(wished, WISHED);

#define WISHES(F, T) F(T, LIST, at, n, wished) F(T, SIZE, n) F(T, SIZE, shown) F(T, U64, pictures)
HU_WIRE_TABLE(wishes, WISHES);

int hu_relay_pack(const hu_relay *r, hu_arena *arena, hu_str *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    envelope  e = {.timeline = r->timeline, .error = r->error};
    int       rc = scratch ? 0 : hu_fail_memory(err);

    if (rc == 0 && r->digest)
        rc = hu_digest_pack(r->digest, scratch, &e.digest, err);
    if (rc == 0 && r->findings)
        rc = hu_findings_pack(r->findings, scratch, &e.findings, err);
    if (rc == 0 && r->graph)
        rc = hu_graph_pack(r->graph, scratch, &e.graph, err);
    if (rc == 0)
        rc = hu_wire_pack(&envelope_wire, &e, arena, scratch, out, err);
    hu_arena_free(scratch);
    return rc;
}

int hu_relay_unpack(hu_str bytes, hu_arena *arena, hu_relay *out, hu_error *err)
{
    envelope e = {0};
    int      rc = hu_wire_unpack(&envelope_wire, bytes, arena, &e, err);

    *out = (hu_relay){0};
    if (rc < 0)
        return rc;
    out->timeline = e.timeline;
    out->error = e.error;
    if ((e.digest.p && !(out->digest = hu_digest_unpack(e.digest, err))) ||
        (e.findings.p && !(out->findings = hu_findings_unpack(e.findings, err))) ||
        (e.graph.p && !(out->graph = hu_graph_unpack(e.graph, arena, err)))) {
        hu_findings_free(out->findings);
        hu_digest_free(out->digest);
        return err->code;
    }
    return 0;
}

int hu_relay_pack_wish(const hu_relay_wish *w, hu_arena *arena, hu_str *out, hu_error *err)
{
    wishes all = {hu_arena_calloc(arena, w->n + 1, sizeof *all.at), w->n, w->shown, w->pictures};

    if (!all.at)
        return hu_fail_memory(err);
    for (size_t i = 0; i < w->n; i++)
        all.at[i].file = w->files[i];
    return hu_wire_pack(&wishes_wire, &all, arena, arena, out, err);
}

int hu_relay_unpack_wish(hu_str bytes, hu_arena *arena, hu_relay_wish *out, hu_error *err)
{
    wishes all = {0};
    int    rc = hu_wire_unpack(&wishes_wire, bytes, arena, &all, err);

    if (rc < 0)
        return rc;
    *out = (hu_relay_wish){hu_arena_calloc(arena, all.n + 1, sizeof *out->files), all.n, all.shown, all.pictures};
    if (!out->files)
        return hu_fail_memory(err);
    for (size_t i = 0; i < all.n; i++)
        out->files[i] = all.at[i].file;
    return 0;
}
