/* SPDX-License-Identifier: Apache-2.0
 * findings_wire.c - the fields of findings and of all that they reach, in the order of their structs.
 *
 * A new field needs a row here, or this file does not compile (base/wire.h).
 */
#include "advise/findings_wire.h"

#include "base/wire.h"
#include "graph/graph_wire.h"

/* clang-format off */
#define EDIT(F, T) \
    F(T, ENUM, kind, HU_EDIT_KINDS + 1) F(T, ENUM, flavour, HU_EDIT_REALISTIC + 1) F(T, F64, factor) F(T, STR, glob) \
    F(T, I64, rank)
HU_WIRE_TABLE(hu_edit, EDIT);

#define FINDING(F, T) \
    F(T, ENUM, rule, HU_RULE_COUNT) F(T, TEXT, statement) F(T, TEXTS, evidence, n_evidence) F(T, SIZE, n_evidence) \
    F(T, F64, gain_pct) F(T, F64, low_pct) F(T, F64, high_pct) F(T, F64, free_pct) F(T, F64, before_ns) \
    F(T, F64, after_ns) F(T, F64, least_share) F(T, U64, cause) F(T, BOOL, is_of_job) F(T, BOOL, is_of_late_rank) \
    F(T, ENUM, confidence, HU_CONFIDENCE_HIGH + 1) F(T, PART, edit, hu_edit) F(T, TEXT, fix)
/* clang-format on */
HU_WIRE_TABLE(hu_finding, FINDING);

#define RUNG(F, T) F(T, ENUM, rule, HU_RULE_COUNT) F(T, F64, before_ns) F(T, F64, after_ns)
HU_WIRE_TABLE(hu_rung, RUNG);

#define CHECK(F, T) F(T, F64S, value) F(T, ENUMS, grade, HU_GRADE_UNKNOWN + 1) F(T, ENUM, worst, HU_GRADE_UNKNOWN + 1)
HU_WIRE_TABLE(hu_check, CHECK);

HU_WIRE_TABLE(hu_calibration, HU_CALIBRATION_FIELDS);

#define PATH_PIECE(F, T) \
    F(T, ENUM, class, HU_CLASS_COUNT) F(T, STR, name) F(T, F64, step_ns) F(T, F64, share) F(T, F64, count)
HU_WIRE_TABLE(hu_path_piece, PATH_PIECE);

#define SLACK(F, T) F(T, STR, name) F(T, F64, step_ns) F(T, F64, on_path_ns) F(T, F64, slack_ns)
HU_WIRE_TABLE(hu_kernel_slack, SLACK);

/* clang-format off */
#define FINDINGS(F, T) \
    F(T, BOOL, is_replayed) F(T, TEXT, why_not) F(T, FIRST, at, n, hu_finding) F(T, SIZE, n) \
    F(T, LIST, spare, n_spare, hu_finding) F(T, SIZE, n_spare) \
    F(T, FIRST, ladder, n_ladder, hu_rung) F(T, SIZE, n_ladder) F(T, TEXT, blind) \
    F(T, FIRST_ENUMS, passed, n_passed, HU_RULE_COUNT) \
    F(T, SIZE, n_passed) F(T, PART, check, hu_check) F(T, BOOL, is_trusted) F(T, PART, calibration, hu_calibration) \
    F(T, F64, seen_ns) F(T, F64, replayed_ns) F(T, SIZE, n_steps) F(T, F64, covered) F(T, F64S, by_class) \
    F(T, FIRST_ENUMS, classes, n_classes, HU_CLASS_COUNT) F(T, SIZE, n_classes) \
    F(T, LIST, path, n_path, hu_path_piece) F(T, SIZE, n_path) F(T, LIST, slack, n_slack, hu_kernel_slack) \
    F(T, SIZE, n_slack) F(T, ENUM, next_class, HU_CLASS_COUNT + 1) F(T, F64, next_share) F(T, LEFT, arena)
/* clang-format on */
HU_WIRE_TABLE(hu_findings, FINDINGS);

int hu_findings_pack(const hu_findings *f, hu_arena *arena, hu_str *out, hu_error *err)
{
    hu_arena *scratch = hu_arena_new();
    const int rc = scratch ? hu_wire_pack(&hu_findings_wire, f, arena, scratch, out, err) : hu_fail_memory(err);

    hu_arena_free(scratch);
    return rc;
}

hu_findings *hu_findings_unpack(hu_str bytes, hu_error *err)
{
    hu_arena    *arena = hu_arena_new();
    hu_findings *f = arena ? hu_arena_sparse(arena, sizeof *f) : NULL;
    const int    rc = f ? hu_wire_unpack(&hu_findings_wire, bytes, arena, f, err) : hu_fail_memory(err);

    if (rc == 0) {
        f->arena = arena;
        return f;
    }
    hu_arena_free(arena);
    return NULL;
}
