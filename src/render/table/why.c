/* SPDX-License-Identifier: Apache-2.0
 * why.c - what replays say: findings with their prices, the ladder, the critical path, the self-check. */
#include "advise/findings.h"
#include "render/table/cells.h"

#define WHY rank->findings

static bool is_replayed(const hu_rank *rank)
{
    return WHY && WHY->is_replayed;
}

static size_t finding_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? WHY->n : 0;
}

HU_PLAIN_TEXT_OF(finding_id, WHY->at, hu_str_of(hu_rule_key(r->rule)))
HU_PLAIN_TEXT_OF(finding_title, WHY->at, hu_str_of(hu_rule_title(r->rule)))
HU_PLAIN_TEXT_OF(finding_trust, WHY->at, hu_str_of(hu_confidence_name(r->confidence)))
HU_NUMBER_OF(finding_gain, WHY->at, r->gain_pct)
HU_NUMBER_OF(finding_low, WHY->at, r->low_pct)
HU_NUMBER_OF(finding_high, WHY->at, r->high_pct)
HU_NUMBER_OF(finding_free, WHY->at, r->free_pct)
HU_NUMBER_OF(finding_after, WHY->at, r->after_ns)

static const hu_column finding_columns[] = {
    {"gain_pct", "gain %", HU_CELL_PERCENT, 6, NULL, finding_gain, false},
    {"gain_low_pct", "from", HU_CELL_PERCENT, 5, NULL, finding_low, false},
    {"gain_high_pct", "to", HU_CELL_PERCENT, 5, NULL, finding_high, false},
    {"gain_free_pct", "at most", HU_CELL_PERCENT, 7, NULL, finding_free, false},
    {"step_after_ns", "step", HU_CELL_NS, 9, NULL, finding_after, false},
    {"confidence", "trust", HU_CELL_TEXT, 6, NULL, finding_trust, false},
    {"id", NULL, HU_CELL_TEXT, 0, NULL, finding_id, false},
    {"title", "finding", HU_CELL_TEXT, 0, NULL, finding_title, false},
};

static const hu_table findings = {
    "findings",  "Findings, and what each fix would save", "nothing worth 1 %", finding_columns, HU_COUNT(finding_columns),
    finding_rows};

static size_t rung_rows(const hu_rank *rank)
{
    return is_replayed(rank) && WHY->is_trusted ? WHY->n_ladder : 0;
}

HU_PLAIN_TEXT_OF(rung_id, WHY->ladder, hu_str_of(hu_rule_key(r->rule)))
HU_PLAIN_TEXT_OF(rung_title, WHY->ladder, hu_str_of(hu_rule_title(r->rule)))
HU_NUMBER_OF(rung_before, WHY->ladder, r->before_ns)
HU_NUMBER_OF(rung_after, WHY->ladder, r->after_ns)
HU_NUMBER_OF(rung_gain, WHY->ladder, hu_share_pct(r->before_ns - r->after_ns, r->before_ns))

static const hu_column rung_columns[] = {
    {"step_before_ns", "from", HU_CELL_NS, 9, NULL, rung_before, false},
    {"step_after_ns", "to", HU_CELL_NS, 9, NULL, rung_after, false},
    {"gain_pct", "%", HU_CELL_PERCENT, 6, NULL, rung_gain, false},
    {"id", NULL, HU_CELL_TEXT, 0, NULL, rung_id, false},
    {"title", "after fixing this too", HU_CELL_TEXT, 0, NULL, rung_title, false},
};

static const hu_table ladder = {
    "ladder", "Fixes applied in order: gains do not add up", "no fix saves 1 %", rung_columns, HU_COUNT(rung_columns),
    rung_rows};

static size_t class_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? WHY->n_classes : 0;
}

static void class_key(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->text = hu_str_of(hu_class_key(WHY->classes[row]));
    out->is_plain = true;
}

static void class_words(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->text = hu_str_of(hu_class_words(WHY->classes[row]));
    out->is_plain = true;
}

static void class_ns(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->number = WHY->by_class[WHY->classes[row]];
}

static void class_pct(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->number = hu_share_pct(WHY->by_class[WHY->classes[row]], WHY->replayed_ns);
}

static const hu_column class_columns[] = {
    {"step_ns", "per step", HU_CELL_NS, 9, NULL, class_ns, false},
    {"pct", "%", HU_CELL_PERCENT, 6, NULL, class_pct, false},
    {"class", NULL, HU_CELL_TEXT, 0, NULL, class_key, false},
    {"words", "what the step is made of", HU_CELL_TEXT, 0, NULL, class_words, false},
};

static const hu_table classes = {"critical_path_classes",
                                 "The critical path of a step, by class",
                                 "no replay",
                                 class_columns,
                                 HU_COUNT(class_columns),
                                 class_rows};

static size_t path_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? WHY->n_path : 0;
}

HU_NUMBER_OF(path_ns, WHY->path, r->step_ns)
HU_NUMBER_OF(path_pct, WHY->path, 100 * r->share)
HU_NUMBER_OF(path_count, WHY->path, r->count)
HU_PLAIN_TEXT_OF(path_class, WHY->path, hu_str_of(hu_class_key(r->class)))
HU_TEXT_OF(path_name, WHY->path, r->name)

static const hu_column path_columns[] = {
    {"step_ns", "per step", HU_CELL_NS, 9, NULL, path_ns, false},
    {"pct", "%", HU_CELL_PERCENT, 6, NULL, path_pct, false},
    {"count", "pieces", HU_CELL_NUMBER, 7, NULL, path_count, false},
    {"class", "class", HU_CELL_TEXT, 14, NULL, path_class, false},
    {"name", "name", HU_CELL_TEXT, 0, NULL, path_name, false},
};

static const hu_table path = {
    "critical_path", "Largest items on the critical path", "no replay", path_columns, HU_COUNT(path_columns), path_rows};

static size_t slack_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? WHY->n_slack : 0;
}

HU_NUMBER_OF(slack_step, WHY->slack, r->step_ns)
HU_NUMBER_OF(slack_path, WHY->slack, r->on_path_ns)
HU_NUMBER_OF(slack_least, WHY->slack, r->slack_ns)
HU_TEXT_OF(slack_name, WHY->slack, r->name)

static const hu_column slack_columns[] = {
    {"step_ns", "per step", HU_CELL_NS, 9, NULL, slack_step, false},
    {"on_path_ns", "on path", HU_CELL_NS, 9, NULL, slack_path, false},
    {"slack_ns", "slack", HU_CELL_NS, 9, NULL, slack_least, false},
    {"name", "name", HU_CELL_TEXT, 0, NULL, slack_name, false},
};

static const hu_table slack = {"slack",
                               "Slack of the most expensive GPU operations: how much longer they could take",
                               "no GPU operations",
                               slack_columns,
                               HU_COUNT(slack_columns),
                               slack_rows};

static size_t check_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? HU_CHECK_COUNT : 0;
}

static void check_id(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    (void)d;
    out->text = hu_str_of(hu_check_key((hu_check_id)row));
    out->is_plain = true;
}

static void check_value(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->number = WHY->check.value[row];
}

static void check_unit(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    (void)d;
    out->text = hu_str_of(hu_check_unit((hu_check_id)row));
    out->is_plain = true;
}

static void check_grade(const hu_rank *rank, size_t row, hu_cell *out)
{
    out->text = hu_str_of(hu_grade_name(WHY->check.grade[row]));
    out->is_plain = true;
}

static void check_what(const hu_rank *rank, size_t row, hu_cell *out)
{
    const hu_digest *d = rank->digest;

    (void)d;
    out->text = hu_str_of(hu_check_what((hu_check_id)row));
    out->is_plain = true;
}

static const hu_column check_columns[] = {
    {"value", "value", HU_CELL_NUMBER, 9, NULL, check_value, false},
    {"unit", "unit", HU_CELL_TEXT, 6, NULL, check_unit, false},
    {"grade", "grade", HU_CELL_TEXT, 8, NULL, check_grade, false},
    {"check", NULL, HU_CELL_TEXT, 0, NULL, check_id, false},
    {"what", "what was checked", HU_CELL_TEXT, 0, NULL, check_what, false},
};

static const hu_table checks = {"self_check",  "Self-check of the replay", "no replay",
                                check_columns, HU_COUNT(check_columns),    check_rows};

HU_FACT(trusted, is_replayed(rank) ? (double)WHY->is_trusted : 0)
HU_FACT_TEXT(why_not, WHY ? hu_str_of(WHY->why_not) : HU_STR(""))
HU_FACT(steps, is_replayed(rank) ? (double)WHY->n_steps : HU_ABSENT)
HU_FACT(seen, is_replayed(rank) ? WHY->seen_ns : HU_ABSENT)
HU_FACT(replayed, is_replayed(rank) ? WHY->replayed_ns : HU_ABSENT)
HU_FACT(error_pct, is_replayed(rank) ? 100 * (WHY->replayed_ns / WHY->seen_ns - 1) : HU_ABSENT)
HU_FACT(launch_ns,
        is_replayed(rank) && WHY->calibration.ops ? (double)WHY->calibration.launch_ns[HU_CALL_KERNEL] : HU_ABSENT)
HU_FACT(gap_ns, is_replayed(rank) && WHY->calibration.ops ? (double)WHY->calibration.gap_ns : HU_ABSENT)
HU_FACT(queue, is_replayed(rank) && WHY->calibration.queue ? (double)WHY->calibration.queue : HU_ABSENT)
HU_FACT(event_links, is_replayed(rank) ? (double)WHY->calibration.event_links : HU_ABSENT)
HU_FACT(wait_links, is_replayed(rank) ? (double)WHY->calibration.wait_links : HU_ABSENT)
HU_FACT(inferred, is_replayed(rank) ? (double)WHY->calibration.inferred : HU_ABSENT)
HU_FACT(frozen, is_replayed(rank) ? (double)WHY->calibration.frozen : HU_ABSENT)

HU_FACT_TEXT(binds_next, is_replayed(rank) && WHY->n_ladder && WHY->next_class < HU_CLASS_COUNT
                             ? hu_str_of(hu_class_words(WHY->next_class))
                             : HU_STR("–"))

static const hu_column facts[] = {
    {"is_trusted", NULL, HU_CELL_BOOL, 0, NULL, trusted, false},
    {"why_not", NULL, HU_CELL_TEXT, 0, NULL, why_not, false},
    {"steps", "steps replayed", HU_CELL_COUNT, 0, NULL, steps, false},
    {"measured_step_ns", "a step as measured", HU_CELL_NS, 0, NULL, seen, false},
    {"replayed_step_ns", "a step as replayed", HU_CELL_NS, 0, NULL, replayed, false},
    {"error_pct", "difference, %", HU_CELL_NUMBER, 0, NULL, error_pct, false},
    {"launch_latency_ns", "from a launch to the start of its kernel", HU_CELL_NS, 0, NULL, launch_ns, false},
    {"gap_ns", "between two kernels of one stream", HU_CELL_NS, 0, NULL, gap_ns, false},
    {"queue_length", "a launch blocks when this many are outstanding", HU_CELL_COUNT, 0, NULL, queue, false},
    {"event_links", "recorded waits between streams", HU_CELL_COUNT, 0, NULL, event_links, false},
    {"wait_links", "waits of the host for the GPU", HU_CELL_COUNT, 0, NULL, wait_links, false},
    {"inferred", "waits inferred from timestamps", HU_CELL_COUNT, 0, NULL, inferred, false},
    {"frozen", "unexplained delays", HU_CELL_COUNT, 0, NULL, frozen, false},
    {"binds_next", "after all fixes, the step is mostly", HU_CELL_TEXT, 0, NULL, binds_next, false},
};

static const hu_table *const tables[] = {&findings, &ladder, &classes, &path, &slack, &checks};

/* clang-format off */
const hu_view hu_view_why = {
    .word = "why", .key = "replay", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = is_replayed, .nothing = "no replay",
    .about = "findings with simulated gains, critical path, self-check",
};
/* clang-format on */
