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

/* clang-format off */
static const hu_column finding_columns[] = {
    {"gain_pct", "gain %", HU_CELL_PERCENT, 6, NULL, finding_gain,
     .help = "Simulated saving of the fix, as a share of the simulated step; null where no replay can tell it, or it is too "
             "poor for a point."},
    {"gain_low_pct", "low", HU_CELL_PERCENT, 5, NULL, finding_low,
     .help = "Lower end of the interval that the gain should lie in."},
    {"gain_high_pct", "high", HU_CELL_PERCENT, 5, NULL, finding_high,
     .help = "Upper end of that interval."},
    {"gain_free_pct", "at most", HU_CELL_PERCENT, 7, NULL, finding_free,
     .help = "Upper bound: the gain if what is fixed cost nothing at all."},
    {"step_after_ns", "step", HU_CELL_NS, 9, NULL, finding_after,
     .help = "Simulated step with the fix; null with gain_pct."},
    {"confidence", "sure", HU_CELL_TEXT, 6, NULL, finding_trust,
     .help = "How sure the gain is: low, medium or high."},
    {"id", NULL, HU_CELL_TEXT, 0, NULL, finding_id,
     .help = "Stable name of the finding."},
    {"title", "finding", HU_CELL_TEXT, 0, NULL, finding_title,
     .help = "The finding in words."},
};

static const hu_table findings = {
    .key = "findings", .title = "Findings, and what each fix would save",
    .columns = finding_columns, .n_columns = HU_COUNT(finding_columns), .rows = finding_rows,
    .empty = "nothing worth 1 %",
    .about = "Findings of this rank with their simulated gains, the largest first; gains do not add up.",
};
/* clang-format on */

static size_t rung_rows(const hu_rank *rank)
{
    return is_replayed(rank) && WHY->is_trusted ? WHY->n_ladder : 0;
}

HU_PLAIN_TEXT_OF(rung_id, WHY->ladder, hu_str_of(hu_rule_key(r->rule)))
HU_PLAIN_TEXT_OF(rung_title, WHY->ladder, hu_str_of(hu_rule_title(r->rule)))
HU_NUMBER_OF(rung_before, WHY->ladder, r->before_ns)
HU_NUMBER_OF(rung_after, WHY->ladder, r->after_ns)
HU_NUMBER_OF(rung_gain, WHY->ladder, hu_share_pct(r->before_ns - r->after_ns, r->before_ns))

/* clang-format off */
static const hu_column rung_columns[] = {
    {"step_before_ns", "from", HU_CELL_NS, 9, NULL, rung_before,
     .help = "Simulated step before this fix, with those above it applied."},
    {"step_after_ns", "to", HU_CELL_NS, 9, NULL, rung_after,
     .help = "Simulated step with this fix, too."},
    {"gain_pct", "%", HU_CELL_PERCENT, 6, NULL, rung_gain,
     .help = "Saving as a share of step_before_ns."},
    {"id", NULL, HU_CELL_TEXT, 0, NULL, rung_id,
     .help = "Stable name of the finding."},
    {"title", "after fixing this too", HU_CELL_TEXT, 0, NULL, rung_title,
     .help = "The finding in words."},
};

static const hu_table ladder = {
    .key = "ladder", .title = "Fixes applied in order: gains do not add up",
    .columns = rung_columns, .n_columns = HU_COUNT(rung_columns), .rows = rung_rows,
    .empty = "no fix saves 1 %",
    .about = "The ladder: each fix priced on top of those above it, because gains do not add up.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column class_columns[] = {
    {"step_ns", "per step", HU_CELL_NS, 9, NULL, class_ns,
     .help = "Time on the critical path per step."},
    {"pct", "%", HU_CELL_PERCENT, 6, NULL, class_pct,
     .help = "step_ns as a share of the step."},
    {"class", NULL, HU_CELL_TEXT, 0, NULL, class_key,
     .help = "Stable name of the class."},
    {"words", "what it is made of", HU_CELL_TEXT, 0, NULL, class_words,
     .help = "The class in words."},
};

static const hu_table classes = {
    .key = "critical_path_classes", .title = "The critical path, by class",
    .columns = class_columns, .n_columns = HU_COUNT(class_columns), .rows = class_rows,
    .empty = "no replay",
    .about = "Time on the critical path by class; rows add up to the step.",
};
/* clang-format on */

static size_t path_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? WHY->n_path : 0;
}

HU_NUMBER_OF(path_ns, WHY->path, r->step_ns)
HU_NUMBER_OF(path_pct, WHY->path, 100 * r->share)
HU_NUMBER_OF(path_count, WHY->path, r->count)
HU_PLAIN_TEXT_OF(path_class, WHY->path, hu_str_of(hu_class_key(r->class)))
HU_TEXT_OF(path_name, WHY->path, r->name)

/* clang-format off */
static const hu_column path_columns[] = {
    {"step_ns", "per step", HU_CELL_NS, 9, NULL, path_ns,
     .help = "Time on the critical path per step."},
    {"pct", "%", HU_CELL_PERCENT, 6, NULL, path_pct,
     .help = "step_ns as a share of the critical path."},
    {"count", "count", HU_CELL_NUMBER, 7, NULL, path_count, .unit = "per step",
     .help = "Slices or links on the critical path per step."},
    {"class", "class", HU_CELL_TEXT, 14, NULL, path_class,
     .help = "Class of the critical path that it belongs to."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, path_name,
     .help = "Operator, call or kernel; empty for links."},
};

static const hu_table path = {
    .key = "critical_path", .title = "Largest items on the critical path",
    .columns = path_columns, .n_columns = HU_COUNT(path_columns), .rows = path_rows,
    .empty = "no replay",
    .about = "Time on the critical path by class and name.",
};
/* clang-format on */

static size_t slack_rows(const hu_rank *rank)
{
    return is_replayed(rank) ? WHY->n_slack : 0;
}

HU_NUMBER_OF(slack_step, WHY->slack, r->step_ns)
HU_NUMBER_OF(slack_path, WHY->slack, r->on_path_ns)
HU_NUMBER_OF(slack_least, WHY->slack, r->slack_ns)
HU_TEXT_OF(slack_name, WHY->slack, r->name)

/* clang-format off */
static const hu_column slack_columns[] = {
    {"step_ns", "per step", HU_CELL_NS, 9, NULL, slack_step,
     .help = "Time per step."},
    {"on_path_ns", "on path", HU_CELL_NS, 9, NULL, slack_path,
     .help = "Time of it on the critical path."},
    {"slack_ns", "slack", HU_CELL_NS, 9, NULL, slack_least,
     .help = "Least slack of its calls: how much longer one could take without delaying anything."},
    {"name", "name", HU_CELL_TEXT, 0, NULL, slack_name,
     .help = "Kernel or copy."},
};

static const hu_table slack = {
    .key = "slack", .title = "Slack of the most expensive GPU operations: how much longer they could take",
    .columns = slack_columns, .n_columns = HU_COUNT(slack_columns), .rows = slack_rows,
    .empty = "no GPU operations",
    .about = "How much longer the most expensive GPU operations could take without delaying anything.",
};
/* clang-format on */

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

/* clang-format off */
static const hu_column check_columns[] = {
    {"value", "value", HU_CELL_NUMBER, 9, NULL, check_value, .unit = "see unit",
     .help = "Measured value of the check, in the unit of its row; null when this trace cannot show it."},
    {"unit", "unit", HU_CELL_TEXT, 6, NULL, check_unit,
     .help = "Unit of the value."},
    {"grade", "grade", HU_CELL_TEXT, 8, NULL, check_grade,
     .help = HU_GRADE_HELP},
    {"check", NULL, HU_CELL_TEXT, 0, NULL, check_id,
     .help = "Stable name of the check."},
    {"what", "what was checked", HU_CELL_TEXT, 0, NULL, check_what,
     .help = "What was checked, in words."},
};

static const hu_table checks = {
    .key = "self_check", .title = "Self-check of the replay",
    .columns = check_columns, .n_columns = HU_COUNT(check_columns), .rows = check_rows,
    .empty = "no replay",
    .about = "How far the replay itself can be trusted: one check per row.",
};
/* clang-format on */

HU_FACT(trusted, is_replayed(rank) ? (double)WHY->is_trusted : 0)
HU_FACT_TEXT(why_not, WHY ? hu_str_of(WHY->why_not) : HU_STR(""))
HU_FACT(steps, is_replayed(rank) ? (double)WHY->n_steps : HU_ABSENT)
HU_FACT(covered, is_replayed(rank) ? 100 * WHY->covered : HU_ABSENT)
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

/* clang-format off */
static const hu_column facts[] = {
    {"is_trusted", NULL, HU_CELL_BOOL, 0, NULL, trusted,
     .help = "Whether the replay is good enough to give a gain as one number."},
    {"why_not", NULL, HU_CELL_TEXT, 0, NULL, why_not,
     .help = "Why nothing was replayed; empty when something was."},
    {"steps", "steps replayed", HU_CELL_COUNT, 0, NULL, steps,
     .help = "Steps replayed; null without a replay."},
    {"covered_pct", "of the run, %", HU_CELL_PERCENT, 0, NULL, covered,
     .help = "Share of a run without steps that was replayed: 100 unless it has too many events; 100 with steps; "
             "null without a replay."},
    {"measured_step_ns", "measured step", HU_CELL_NS, 0, NULL, seen,
     .help = "Mean length of these steps, as measured; null without a replay."},
    {"replayed_step_ns", "replayed step", HU_CELL_NS, 0, NULL, replayed,
     .help = "Mean length of these steps, as replayed; null without a replay."},
    {"error_pct", "difference, %", HU_CELL_PERCENT, 0, NULL, error_pct,
     .help = "Replayed step over measured step, minus 1; null without a replay."},
    {"launch_latency_ns", "launch to kernel start", HU_CELL_NS, 0, NULL, launch_ns,
     .help = "Time from the start of a launch to the start of its kernel on an idle stream; null without a "
             "replay or GPU operations."},
    {"gap_ns", "between kernels of one stream", HU_CELL_NS, 0, NULL, gap_ns,
     .help = "Time between two kernels of one stream; null without a replay or GPU operations."},
    {"queue_length", "a launch blocks when this many are outstanding", HU_CELL_COUNT, 0, NULL, queue,
     .help = "Outstanding operations at which a launch blocks; null when none did, or without a replay."},
    {"event_links", "recorded waits between streams", HU_CELL_COUNT, 0, NULL, event_links,
     .help = "Waits between streams that the trace records (CUDA events); null without a replay."},
    {"wait_links", "waits of the host for the GPU", HU_CELL_COUNT, 0, NULL, wait_links,
     .help = "Waits of the host for the device; null without a replay."},
    {"inferred", "waits inferred from timestamps", HU_CELL_COUNT, 0, NULL, inferred,
     .help = "Waits inferred from times; null without a replay."},
    {"frozen", "unexplained delays", HU_CELL_COUNT, 0, NULL, frozen,
     .help = "Delays that nothing explains; null without a replay."},
    {"binds_next", "after all fixes, the step is mostly", HU_CELL_TEXT, 0, NULL, binds_next,
     .help = "Class that most of the critical path belongs to after the whole ladder, in words; – without a ladder or "
             "when nothing is left."},
};
/* clang-format on */

static const hu_table *const tables[] = {&findings, &ladder, &classes, &path, &slack, &checks};

/* clang-format off */
const hu_view hu_view_why = {
    .word = "why", .is_alone = true, .key = "replay", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = is_replayed, .nothing = "no replay",
    .about = "findings with simulated gains, critical path, self-check",
};
/* clang-format on */
