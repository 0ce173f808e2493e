/* SPDX-License-Identifier: Apache-2.0
 * memory.c - pools of memory, what was held at the peak, and the curves. */
#include "render/table/cells.h"
#include "render/table/terms.h"

HU_TEXT(name, memory, r->name)
HU_NUMBER(peak, memory, r->peak_bytes)
HU_MOMENT(peak_at, d->memory.at, r->peak_ns)
HU_NUMBER(reserved, memory, r->reserved_bytes > 0 ? (double)r->reserved_bytes : HU_ABSENT)
HU_NUMBER(capacity, memory, r->capacity_bytes ? (double)r->capacity_bytes : HU_ABSENT)
HU_NUMBER(first, memory, r->first_bytes)
HU_NUMBER(last, memory, r->last_bytes)
HU_NUMBER(allocations, memory, r->allocations + r->frees ? (double)r->allocations : HU_ABSENT)
HU_NUMBER(frees, memory, r->allocations + r->frees ? (double)r->frees : HU_ABSENT)
HU_NUMBER(taken, memory, r->allocated_bytes)
HU_NUMBER(segments, memory, r->segments ? (double)r->segments : HU_ABSENT)
HU_NUMBER(free_bytes, memory, r->segments ? (double)r->free_bytes : HU_ABSENT)
HU_NUMBER(free_blocks, memory, r->segments ? (double)r->free_blocks : HU_ABSENT)
HU_NUMBER(largest_free, memory, r->segments ? (double)r->largest_free_bytes : HU_ABSENT)
HU_NUMBER(relative, memory, r->is_relative)
HU_NUMBER(steps, memory, r->steps)
HU_NUMBER(slope, memory, r->slope_bytes)
HU_NUMBER(growth_p, memory, r->growth_p)
HU_TEXT(leak, memory, hu_str_of(hu_leak_name(r->leak)))
HU_NUMBER(by_before, memory, r->peak_by[HU_MEMORY_BEFORE])
HU_NUMBER(by_temporary, memory, r->peak_by[HU_MEMORY_TEMPORARY])
HU_NUMBER(by_activation, memory, r->peak_by[HU_MEMORY_ACTIVATION])
HU_NUMBER(by_gradient, memory, r->peak_by[HU_MEMORY_GRADIENT])
HU_NUMBER(by_optimizer, memory, r->peak_by[HU_MEMORY_OPTIMIZER])
HU_NUMBER(by_input, memory, r->peak_by[HU_MEMORY_INPUT])
HU_NUMBER(by_other, memory, r->peak_by[HU_MEMORY_OTHER])
HU_NUMBER(by_parameter, memory, r->peak_by[HU_MEMORY_PARAMETER])
HU_NUMBER(by_autograd, memory, r->peak_by[HU_MEMORY_AUTOGRAD])
HU_NUMBER(requested, memory, r->requested_bytes >= 0 ? (double)r->requested_bytes : HU_ABSENT)
HU_NUMBER(graph_free, memory, r->segments ? (double)r->graph_free_bytes : HU_ABSENT)
HU_NUMBER(empty, memory, r->at_end.is_known ? (double)r->at_end.empty_bytes : HU_ABSENT)
HU_NUMBER(pages, memory, r->at_end.is_known ? (double)r->at_end.page_bytes : HU_ABSENT)
HU_NUMBER(peak_reserved, memory, r->at_peak.is_known ? (double)r->at_peak.reserved_bytes : HU_ABSENT)
HU_NUMBER(peak_free, memory, r->at_peak.is_known ? (double)r->at_peak.free_bytes : HU_ABSENT)
HU_NUMBER(peak_blocks, memory, r->at_peak.is_known ? (double)r->at_peak.free_blocks : HU_ABSENT)
HU_NUMBER(peak_largest, memory, r->at_peak.is_known ? (double)r->at_peak.largest_free_bytes : HU_ABSENT)
HU_NUMBER(expandable, memory, r->is_expandable)
HU_ROWS(rows, memory)

static bool has_growth(const hu_rank *rank)
{
    for (size_t i = 0; i < rank->digest->memory.n; i++)
        if (rank->digest->memory.at[i].steps)
            return true;
    return false;
}

static bool has_segments(const hu_rank *rank)
{
    for (size_t i = 0; i < rank->digest->memory.n; i++)
        if (rank->digest->memory.at[i].segments)
            return true;
    return false;
}

/* clang-format off */
static const hu_column columns[] = {
    {"peak_bytes", "peak", HU_CELL_BYTES, 8, NULL, peak,
     .help = "Most bytes that were allocated at once."},
    {"peak_at_ns", NULL, HU_CELL_NS, 0, NULL, peak_at,
     .help = "Time of the peak, on the clock of the trace."},
    {"reserved_bytes", "reserved", HU_CELL_BYTES, 8, NULL, reserved,
     .help = "Most bytes that the caching allocator reserved; null when not recorded."},
    {"capacity_bytes", "of", HU_CELL_BYTES, 8, NULL, capacity,
     .help = "Memory of the device; null when unknown."},
    {"first_bytes", "at first", HU_CELL_BYTES, 8, NULL, first, .is_wide = true,
     .help = "Bytes allocated before the first record."},
    {"last_bytes", "at last", HU_CELL_BYTES, 8, NULL, last,
     .help = "Bytes allocated after the last record."},
    {"allocations", "allocs", HU_CELL_COUNT, 6, NULL, allocations, .is_wide = true,
     .help = "Number of allocations; null when only sums were recorded."},
    {"frees", NULL, HU_CELL_COUNT, 0, NULL, frees,
     .help = "Number of frees; null when only sums were recorded."},
    {"allocated_bytes", NULL, HU_CELL_BYTES, 0, NULL, taken,
     .help = "Sum of the sizes of all allocations."},
    {"segments", NULL, HU_CELL_COUNT, 0, NULL, segments,
     .help = "Pieces of the device that the caching allocator held at the end of a snapshot; null when not recorded."},
    {"free_bytes", "free", HU_CELL_BYTES, 8, has_segments, free_bytes,
     .help = "Bytes in these segments that nobody held then: reserved, and not allocated."},
    {"free_blocks", NULL, HU_CELL_COUNT, 0, NULL, free_blocks,
     .help = "Pieces that these free bytes were in."},
    {"largest_free_bytes", "largest", HU_CELL_BYTES, 8, has_segments, largest_free,
     .help = "Largest of these pieces: what still fits without asking the device for more."},
    {"empty_bytes", NULL, HU_CELL_BYTES, 0, NULL, empty,
     .help = "Free bytes in segments that nobody holds anything of: torch.cuda.empty_cache() gives them to the device; null "
             "when the blocks contradict each other."},
    {"page_bytes", NULL, HU_CELL_BYTES, 0, NULL, pages, .source = "CUDACachingAllocator: kLargeBuffer",
     .help = "Free bytes in empty segments and in whole pages of 20 MiB: what expandable_segments could move to where it is "
             "needed, as the blocks lie."},
    {"graph_free_bytes", NULL, HU_CELL_BYTES, 0, NULL, graph_free,
     .help = "Free bytes in private pools of CUDA graphs, which no other code can use."},
    {"requested_bytes", NULL, HU_CELL_BYTES, 0, NULL, requested,
     .help = "Bytes that were asked for of those held at the end, before the allocator rounded up; null when not recorded."},
    {"is_expandable", NULL, HU_CELL_BOOL, 0, NULL, expandable,
     .help = "Whether segments can grow (expandable_segments:True)."},
    {"peak_reserved_bytes", NULL, HU_CELL_BYTES, 0, NULL, peak_reserved,
     .help = "Bytes that the allocator reserved at the peak; null when the history contradicts the segments."},
    {"peak_free_bytes", NULL, HU_CELL_BYTES, 0, NULL, peak_free,
     .help = "Of these, bytes that nobody held: lost to fragmentation and caching at the peak."},
    {"peak_free_blocks", NULL, HU_CELL_COUNT, 0, NULL, peak_blocks,
     .help = "Pieces that these free bytes were in."},
    {"peak_largest_free_bytes", NULL, HU_CELL_BYTES, 0, NULL, peak_largest,
     .help = "Largest of these pieces."},
    {"is_relative", NULL, HU_CELL_BOOL, 0, NULL, relative,
     .help = "Whether the recorder gave no totals, so that bytes count from the first record."},
    {"steps", NULL, HU_CELL_COUNT, 0, NULL, steps,
     .help = "Steps that the growth was measured over."},
    {"growth_bytes_per_step", "per step", HU_CELL_BYTES, 8, has_growth, slope, .source = "Theil-Sen estimator",
     .help = "Growth of the bytes held at the end of a step: the median slope over all pairs of steps; null for fewer "
             "than three steps."},
    {"growth_p_value", NULL, HU_CELL_NUMBER, 0, NULL, growth_p, .unit = "0..1", .source = "Mann-Kendall test",
     .help = "Two-sided chance of such a trend where there is none."},
    {"leak", "leak", HU_CELL_TEXT, 7, has_growth, leak,
     .help = "yes below p = 0.01 when growth over the capture exceeds 0.5 % of the peak, maybe below 0.05 or with "
             "three or four steps, else no or unknown."},
    {"peak_before_capture_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_before,
     .help = "Bytes held at the peak that were allocated before the capture."},
    {"peak_temporary_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_temporary,
     .help = "Bytes held at the peak that the allocating operator freed itself."},
    {"peak_activation_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_activation,
     .help = "Bytes held at the peak that were allocated outside backward and freed in backward."},
    {"peak_gradient_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_gradient,
     .help = "Bytes held at the peak that were allocated in backward."},
    {"peak_optimizer_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_optimizer,
     .help = "Bytes held at the peak that were allocated in Optimizer.step."},
    {"peak_input_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_input,
     .help = "Bytes held at the peak that were allocated in the data loader."},
    {"peak_parameter_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_parameter,
     .help = "Bytes of parameters held at the peak, where the recorder knows tensors."},
    {"peak_autograd_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_autograd,
     .help = "Bytes that autograd kept for itself at the peak, where the recorder knows tensors."},
    {"peak_other_bytes", NULL, HU_CELL_BYTES, 0, NULL, by_other,
     .help = "Bytes held at the peak in none of the other categories."},
    {"pool", "pool", HU_CELL_TEXT, 0, NULL, name,
     .help = "Name of the pool: cpu, cuda:0 ..."},
};

static const hu_table pools = {
    .key = "pools", .title = "Memory", .columns = columns, .n_columns = HU_COUNT(columns), .rows = rows,
    .empty = "no allocations were recorded: profile(profile_memory=True), nsys profile --cuda-memory-usage=true",
    .about = "Memory pools of the framework: the CPU's and each device's.",
};
/* clang-format on */

/* categories at the peak */

/* Row number `row` of those pools and categories that held something, of a pool the largest first. */
static bool find_category(const hu_rank *rank, size_t row, size_t *pool, int *category)
{
    const hu_memory *m = &rank->digest->memory;

    for (*pool = 0; *pool < m->n; ++*pool) {
        const int64_t *by = m->at[*pool].peak_by;

        for (*category = 0; *category < HU_MEMORY_CATEGORY_COUNT; ++*category) {
            size_t larger = 0;

            for (int c = 0; c < HU_MEMORY_CATEGORY_COUNT; c++)
                larger += by[c] > 0 && (by[c] > by[*category] || (by[c] == by[*category] && c < *category));
            if (by[*category] > 0 && larger == row)
                return true;
        }
        for (int c = 0; c < HU_MEMORY_CATEGORY_COUNT; c++)
            row -= by[c] > 0;
    }
    return false;
}

static size_t category_rows(const hu_rank *rank)
{
    size_t pool, n = 0;
    int    category;

    while (find_category(rank, n, &pool, &category))
        n++;
    return n;
}

#define CATEGORY(name, put)                                         \
    static void name(const hu_rank *rank, size_t row, hu_cell *out) \
    {                                                               \
        const hu_memory_pool *p;                                    \
        size_t                pool;                                 \
        int                   category;                             \
                                                                    \
        if (!find_category(rank, row, &pool, &category))            \
            return;                                                 \
        p = &rank->digest->memory.at[pool];                         \
        put;                                                        \
    }

CATEGORY(category_bytes, HU_PUT_NUMBER(p->peak_by[category]))
CATEGORY(category_share, HU_PUT_NUMBER(hu_share_pct((double)p->peak_by[category], (double)p->peak_bytes)))
CATEGORY(category_pool, HU_PUT_TEXT(p->name))
CATEGORY(category_name, HU_PUT_TEXT(((void)p, hu_str_of(hu_memory_category_key((hu_memory_category)category)))))
CATEGORY(category_words, HU_PUT_PLAIN(((void)p, hu_str_of(hu_memory_category_words((hu_memory_category)category)))))

/* clang-format off */
static const hu_column category_columns[] = {
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, category_bytes,
     .help = "Bytes held at the peak of the pool."},
    {"share_pct", "share", HU_CELL_PERCENT, 6, NULL, category_share,
     .help = "Share of the peak."},
    {"pool", "pool", HU_CELL_TEXT, 7, NULL, category_pool,
     .help = "Name of the pool."},
    {"category", "category", HU_CELL_TEXT, 14, NULL, category_name, .terms = hu_terms_memory_categories,
     .help = "before_capture, temporary, activation, gradient, optimizer, input, parameter, autograd or other."},
    {"words", "what it is", HU_CELL_TEXT, 0, NULL, category_words,
     .help = "What the category means."},
};

static const hu_table categories = {
    .key = "categories", .title = "The peak by category",
    .columns = category_columns, .n_columns = HU_COUNT(category_columns), .rows = category_rows,
    .empty = "nothing was held",
    .about = "What the memory was for that was held at the peak of each pool; categories that held nothing are left out.",
};
/* clang-format on */

/* holders */

#define HOLDER d->memory.holders

static size_t holder_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_holders;
}

static bool has_modules(const hu_rank *rank)
{
    const hu_digest *d = rank->digest;

    for (size_t i = 0; i < d->memory.n_holders; i++)
        if (d->memory.holders[i].module.n)
            return true;
    return false;
}

HU_NUMBER_OF(held, HOLDER, r->bytes)
HU_NUMBER_OF(held_count, HOLDER, r->allocations)
HU_TEXT_OF(held_in, HOLDER, r->device)
HU_TEXT_OF(held_as, HOLDER, hu_str_of(hu_memory_category_key((hu_memory_category)r->category)))
HU_TEXT_OF(held_module, HOLDER, r->module)
HU_TEXT_OF(held_by, HOLDER, r->op)

/* clang-format off */
static const hu_column holder_columns[] = {
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, held,
     .help = "Bytes held at the peak of the pool."},
    {"allocations", "count", HU_CELL_COUNT, 6, NULL, held_count,
     .help = "Number of these allocations."},
    {"pool", "pool", HU_CELL_TEXT, 7, NULL, held_in,
     .help = "Name of the pool."},
    {"category", "category", HU_CELL_TEXT, 10, NULL, held_as, .terms = hu_terms_memory_categories,
     .help = "What the allocation is for, judged from when it was made and freed: before_capture, temporary, "
             "activation, gradient, optimizer, input, parameter, autograd or other."},
    {"module", "module", HU_CELL_TEXT, 20, has_modules, held_module,
     .help = "nn.Module around the operator; empty when unknown."},
    {"operator", "allocated by", HU_CELL_TEXT, 0, NULL, held_by,
     .help = "Innermost operator that allocated it; empty when there is none."},
};

static const hu_table holders = {
    .key = "holders", .title = "Held at the peak",
    .columns = holder_columns, .n_columns = HU_COUNT(holder_columns), .rows = holder_rows,
    .empty = "nothing allocated during the capture",
    .about = "Who had allocated what was held at the peak of its pool, largest first.",
};
/* clang-format on */

/* curves of the largest pool */

static size_t points(const hu_rank *rank)
{
    return rank->digest->memory.n && rank->digest->memory.at[0].allocated.piece_ns ? HU_SERIES_POINTS : 0;
}

#define CURVE d->memory.at[0].allocated.at

HU_MOMENT(point_start, CURVE, d->memory.at[0].allocated.start_ns + (int64_t)row * d->memory.at[0].allocated.piece_ns)
HU_NUMBER_OF(point_most, CURVE, r->most)
HU_NUMBER_OF(point_mean, CURVE, hu_series_mean(&d->memory.at[0].allocated, (int)row))
HU_NUMBER_OF(point_reserved, CURVE, d->memory.at[0].reserved.at[row].most)

#define BY(name, C) HU_NUMBER_OF(name, CURVE, hu_series_mean(&d->memory.by[HU_MEMORY_##C], (int)row))

BY(point_before, BEFORE)
BY(point_parameter, PARAMETER)
BY(point_optimizer, OPTIMIZER)
BY(point_input, INPUT)
BY(point_temporary, TEMPORARY)
BY(point_activation, ACTIVATION)
BY(point_gradient, GRADIENT)
BY(point_autograd, AUTOGRAD)
BY(point_other, OTHER)

/* clang-format off */
static const hu_column point_columns[] = {
    {"start_ns", NULL, HU_CELL_NS, 0, NULL, point_start,
     .help = "Start of the slot, on the clock of the trace."},
    {"allocated_max_bytes", "allocated, max", HU_CELL_BYTES, 9, NULL, point_most,
     .help = "Most bytes allocated at once in the slot."},
    {"allocated_mean_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_mean,
     .help = "Mean of the bytes allocated in the slot."},
    {"reserved_max_bytes", "reserved, max", HU_CELL_BYTES, 9, NULL, point_reserved,
     .help = "Most bytes that the caching allocator reserved in the slot."},
    {"before_capture_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_before,
     .help = "Mean of the bytes that were allocated before the capture."},
    {"parameter_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_parameter, .help = "Mean of the bytes of parameters."},
    {"optimizer_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_optimizer, .help = "Mean of the bytes of the optimizer."},
    {"input_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_input, .help = "Mean of the bytes of inputs."},
    {"temporary_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_temporary, .help = "Mean of the temporary bytes."},
    {"activation_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_activation, .help = "Mean of the bytes of activations."},
    {"gradient_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_gradient,
     .help = "Mean of the bytes of gradients: allocated in backward."},
    {"autograd_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_autograd,
     .help = "Mean of the bytes that autograd kept for itself."},
    {"other_bytes", NULL, HU_CELL_BYTES, 0, NULL, point_other, .help = "Mean of the bytes in none of these categories."},
};

static const hu_table curve = {
    .key = "series", .title = "Largest pool over time",
    .columns = point_columns, .n_columns = HU_COUNT(point_columns), .rows = points, .is_series = true,
    .empty = "no allocations were recorded",
    .about = "Bytes of the largest pool, in 200 equal slots of the capture.",
};
/* clang-format on */

/* call chains at the peak */

#define STACK d->memory.stacks

static size_t stack_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_stacks;
}

HU_NUMBER_OF(stack_bytes, STACK, r->bytes)
HU_NUMBER_OF(stack_count, STACK, r->allocations)
HU_TEXT_OF(stack_in, STACK, r->device)
HU_TEXT_OF(stack_as, STACK, hu_str_of(hu_memory_category_key(r->category)))
HU_PLAIN_TEXT_OF(stack_text, STACK, r->stack)

/* clang-format off */
static const hu_column stack_columns[] = {
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, stack_bytes,
     .help = "Bytes held at the peak of the pool."},
    {"allocations", "count", HU_CELL_COUNT, 6, NULL, stack_count,
     .help = "Number of these allocations."},
    {"pool", NULL, HU_CELL_TEXT, 0, NULL, stack_in,
     .help = "Name of the pool."},
    {"category", "category", HU_CELL_TEXT, 10, NULL, stack_as, .terms = hu_terms_memory_categories,
     .help = "What the allocation is for, as in holders."},
    {"stack", "call chain", HU_CELL_TEXT, 0, NULL, stack_text,
     .help = "The user's frames from the outermost to the innermost, then the operator, separated by semicolons."},
};

static const hu_table stacks = {
    .key = "stacks", .title = "Held at the peak, by call chain",
    .columns = stack_columns, .n_columns = HU_COUNT(stack_columns), .rows = stack_rows,
    .empty = "no call chains were recorded: torch.cuda.memory._record_memory_history()",
    .about = "Call chains that had allocated what was held at the peak of the pool, largest first.",
};
/* clang-format on */

/* places in the code, at the end */

#define CODE d->memory.code

static size_t code_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_code;
}

HU_NUMBER_OF(code_bytes, CODE, r->bytes)
HU_NUMBER_OF(code_count, CODE, r->allocations)
HU_NUMBER_OF(code_grown, CODE, has_growth(rank) ? (double)r->grown_bytes : HU_ABSENT)
HU_NUMBER_OF(code_grown_count, CODE, has_growth(rank) ? (double)r->grown_allocations : HU_ABSENT)
HU_TEXT_OF(code_in, CODE, r->device)
HU_TEXT_OF(code_by, CODE, r->op)
HU_PLAIN_TEXT_OF(code_stack, CODE, r->stack)

/* clang-format off */
static const hu_column code_columns[] = {
    {"bytes", "bytes", HU_CELL_BYTES, 9, NULL, code_bytes,
     .help = "Bytes held when the capture ends."},
    {"allocations", "count", HU_CELL_COUNT, 6, NULL, code_count,
     .help = "Number of these allocations."},
    {"grown_bytes", "grown", HU_CELL_BYTES, 9, has_growth, code_grown,
     .help = "Change of the bytes held, from the end of the first step to the end of the last; null without steps."},
    {"grown_allocations", NULL, HU_CELL_COUNT, 0, NULL, code_grown_count,
     .help = "Change of the number of allocations, likewise."},
    {"pool", "pool", HU_CELL_TEXT, 7, NULL, code_in,
     .help = "Name of the pool."},
    {"stack", NULL, HU_CELL_TEXT, 0, NULL, code_stack,
     .help = "Its call chain, as in stacks; empty when unknown."},
    {"operator", "allocated by", HU_CELL_TEXT, 0, NULL, code_by,
     .help = "Code that allocated it; empty when unknown, as of what was allocated before the capture."},
};

static const hu_table code = {
    .key = "code", .title = "Held at the end",
    .columns = code_columns, .n_columns = HU_COUNT(code_columns), .rows = code_rows,
    .empty = "nothing is held at the end",
    .about = "Code that holds memory when the capture ends, and what it holds more than after the first step.",
};
/* clang-format on */

/* since the snapshot named before */

#define CHANGE d->memory.change

static size_t change_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_change;
}

HU_NUMBER_OF(change_grown, CHANGE, r->bytes - r->before_bytes)
HU_NUMBER_OF(change_grown_count, CHANGE, r->allocations - r->before_allocations)
HU_NUMBER_OF(change_before, CHANGE, r->before_bytes)
HU_NUMBER_OF(change_now, CHANGE, r->bytes)
HU_TEXT_OF(change_in, CHANGE, r->device)
HU_TEXT_OF(change_by, CHANGE, r->op)
HU_PLAIN_TEXT_OF(change_stack, CHANGE, r->stack)

/* clang-format off */
static const hu_column change_columns[] = {
    {"grown_bytes", "grown", HU_CELL_BYTES, 9, NULL, change_grown, .values = "any",
     .help = "Bytes that it holds more at the end of this snapshot than at the end of the one before; negative: less."},
    {"grown_allocations", "count", HU_CELL_COUNT, 6, NULL, change_grown_count, .values = "any",
     .help = "Allocations more, likewise."},
    {"before_bytes", "before", HU_CELL_BYTES, 9, NULL, change_before,
     .help = "Bytes that it held at the end of the snapshot named before."},
    {"bytes", "now", HU_CELL_BYTES, 9, NULL, change_now,
     .help = "Bytes that it holds at the end of this one."},
    {"pool", "pool", HU_CELL_TEXT, 7, NULL, change_in,
     .help = "Name of the pool."},
    {"stack", NULL, HU_CELL_TEXT, 0, NULL, change_stack,
     .help = "Call chain, as in stacks; empty when unknown."},
    {"operator", "allocated by", HU_CELL_TEXT, 0, NULL, change_by,
     .help = "Code that allocated it; empty when unknown, as of what was allocated before the capture."},
};

static const hu_table change = {
    .key = "change", .title = "Since the snapshot before",
    .columns = change_columns, .n_columns = HU_COUNT(change_columns), .rows = change_rows,
    .empty = "one snapshot, or nothing changed: name an earlier one first",
    .about = "What code holds more or less than at the end of the snapshot that was named before, most growth first.",
};
/* clang-format on */

/* allocations that failed */

#define FAILURE d->memory.failures

static size_t failure_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_failures;
}

#define PIECES(expression) (r->pieces.is_known ? (double)(expression) : HU_ABSENT)

HU_MOMENT(failed_at, FAILURE, r->time_ns)
HU_NUMBER_OF(failed_bytes, FAILURE, r->bytes)
HU_NUMBER_OF(failed_reserved, FAILURE, PIECES(r->pieces.reserved_bytes))
HU_NUMBER_OF(failed_held, FAILURE, PIECES(r->pieces.held_bytes))
HU_NUMBER_OF(failed_free, FAILURE, PIECES(r->pieces.free_bytes))
HU_NUMBER_OF(failed_blocks, FAILURE, PIECES(r->pieces.free_blocks))
HU_NUMBER_OF(failed_largest, FAILURE, PIECES(r->pieces.largest_free_bytes))
HU_NUMBER_OF(failed_pages, FAILURE, PIECES(r->pieces.page_bytes))
HU_NUMBER_OF(failed_driver, FAILURE, r->driver_free_bytes >= 0 ? (double)r->driver_free_bytes : HU_ABSENT)
HU_TEXT_OF(failed_why, FAILURE, hu_str_of(hu_memory_why_key(r->why)))
HU_TEXT_OF(failed_in, FAILURE, r->device)
HU_TEXT_OF(failed_by, FAILURE, r->op)

/* clang-format off */
static const hu_column failure_columns[] = {
    {"time_ns", NULL, HU_CELL_NS, 0, NULL, failed_at,
     .help = "Time of the failure, on the clock of the trace."},
    {"bytes", "asked for", HU_CELL_BYTES, 9, NULL, failed_bytes,
     .help = "Bytes that the allocation asked for."},
    {"held_bytes", "held", HU_CELL_BYTES, 8, NULL, failed_held,
     .help = "Bytes that were held then; null when the file does not say."},
    {"reserved_bytes", "reserved", HU_CELL_BYTES, 8, NULL, failed_reserved,
     .help = "Bytes that the allocator reserved then; null when the file does not say."},
    {"free_bytes", "free", HU_CELL_BYTES, 8, NULL, failed_free,
     .help = "Of the reserved bytes, those that nobody held."},
    {"free_blocks", "pieces", HU_CELL_COUNT, 6, NULL, failed_blocks,
     .help = "Pieces that these free bytes were in."},
    {"largest_free_bytes", "largest", HU_CELL_BYTES, 8, NULL, failed_largest,
     .help = "Largest of these pieces."},
    {"page_bytes", NULL, HU_CELL_BYTES, 0, NULL, failed_pages,
     .help = "Of the free bytes, those in empty segments and whole pages of 20 MiB, which expandable_segments could join."},
    {"driver_free_bytes", "driver", HU_CELL_BYTES, 8, NULL, failed_driver,
     .help = "Bytes that the driver had left on the device; null when not recorded."},
    {"why", "why", HU_CELL_TEXT, 7, NULL, failed_why,
     .help = "full: less was free than was asked for; pieces: as much was free, each piece too small; others: a piece was "
             "large enough, so it belongs to another stream or graph; unknown: the file does not say."},
    {"pool", NULL, HU_CELL_TEXT, 0, NULL, failed_in,
     .help = "Name of the pool."},
    {"operator", "asked by", HU_CELL_TEXT, 0, NULL, failed_by,
     .help = "Code that asked for it; empty when unknown."},
};

static const hu_table failures = {
    .key = "failures", .title = "Failed allocations",
    .columns = failure_columns, .n_columns = HU_COUNT(failure_columns), .rows = failure_rows,
    .empty = "no failed allocation was recorded",
    .about = "Allocations that failed, the last 50, and what the allocator had at that moment.",
};
/* clang-format on */

/* segments, as a picture shows them */

#define SEGMENT d->memory.segments
#define RUN     d->memory.runs
#define STEP    d->memory.steps

static size_t segment_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_segments;
}

static size_t run_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_runs;
}

static size_t step_rows(const hu_rank *rank)
{
    return rank->digest->memory.n_steps;
}

HU_NUMBER_OF(segment_bytes, SEGMENT, r->bytes)
HU_NUMBER_OF(segment_held, SEGMENT, r->held_bytes)
HU_NUMBER_OF(segment_free, SEGMENT, r->bytes - r->held_bytes)
HU_NUMBER_OF(segment_largest, SEGMENT, r->largest_free_bytes)
HU_NUMBER_OF(segment_stream, SEGMENT, r->stream)
HU_NUMBER_OF(segment_small, SEGMENT, r->is_small)
HU_NUMBER_OF(segment_grows, SEGMENT, r->is_expandable)
HU_TEXT_OF(segment_in, SEGMENT, r->device)
HU_NUMBER_OF(run_segment, RUN, r->segment)
HU_NUMBER_OF(run_offset, RUN, r->offset_bytes)
HU_NUMBER_OF(run_bytes, RUN, r->bytes)
HU_NUMBER_OF(run_blocks, RUN, r->blocks)
HU_NUMBER_OF(run_held, RUN, r->is_held)
HU_MOMENT(step_end, STEP, r->end_ns)
HU_NUMBER_OF(step_bytes, STEP, r->bytes)

/* clang-format off */
static const hu_column segment_columns[] = {
    {"bytes", "size", HU_CELL_BYTES, 9, NULL, segment_bytes,
     .help = "Size: what the allocator reserves of the device in one piece."},
    {"held_bytes", "held", HU_CELL_BYTES, 9, NULL, segment_held,
     .help = "Bytes of it that somebody holds."},
    {"free_bytes", "free", HU_CELL_BYTES, 9, NULL, segment_free,
     .help = "Bytes of it that nobody holds."},
    {"largest_free_bytes", "largest", HU_CELL_BYTES, 9, NULL, segment_largest,
     .help = "Largest free block of it."},
    {"stream", "stream", HU_CELL_ID, 8, NULL, segment_stream,
     .help = "Stream whose allocations it serves."},
    {"is_small", NULL, HU_CELL_BOOL, 0, NULL, segment_small,
     .help = "Whether it serves allocations up to 1 MiB."},
    {"is_expandable", NULL, HU_CELL_BOOL, 0, NULL, segment_grows,
     .help = "Whether it can grow."},
    {"pool", "pool", HU_CELL_TEXT, 0, NULL, segment_in,
     .help = "Name of the pool."},
};

static const hu_column run_columns[] = {
    {"segment", NULL, HU_CELL_ID, 0, NULL, run_segment,
     .help = "Number of its segment: row of segments, from 0."},
    {"offset_bytes", NULL, HU_CELL_BYTES, 0, NULL, run_offset,
     .help = "Where in the segment it begins."},
    {"bytes", NULL, HU_CELL_BYTES, 0, NULL, run_bytes,
     .help = "Its size."},
    {"blocks", NULL, HU_CELL_COUNT, 0, NULL, run_blocks,
     .help = "Number of blocks in it."},
    {"is_held", NULL, HU_CELL_BOOL, 0, NULL, run_held,
     .help = "Whether somebody holds these blocks; else they are free."},
};

static const hu_column step_columns[] = {
    {"end_ns", NULL, HU_CELL_NS, 0, NULL, step_end,
     .help = "End of the step, on the clock of the trace."},
    {"bytes", NULL, HU_CELL_BYTES, 0, NULL, step_bytes,
     .help = "Bytes that the largest pool held then."},
};

static const hu_table segment_table = {
    .key = "segments", .title = "Segments at the end",
    .columns = segment_columns, .n_columns = HU_COUNT(segment_columns), .rows = segment_rows,
    .empty = "no segments were recorded: a memory snapshot has them",
    .about = "What the caching allocator reserves of the devices at the end of a snapshot: the 200 largest segments.",
};

static const hu_table runs = {
    .key = "runs", .title = "Held and free runs of the segments",
    .columns = run_columns, .n_columns = HU_COUNT(run_columns), .rows = run_rows, .is_series = true, .is_ordered = true,
    .empty = "no segments were recorded",
    .about = "Neighbouring blocks of these segments that are all held or all free, by segment and address; about 4000.",
};

static const hu_table steps_of_memory = {
    .key = "steps", .title = "Ends of steps",
    .columns = step_columns, .n_columns = HU_COUNT(step_columns), .rows = step_rows, .is_series = true, .is_ordered = true,
    .empty = "no steps were found",
    .about = "Ends of the steps that growth was measured over, and what the largest pool held then.",
};
/* clang-format on */

HU_FACT(ooms, d->memory.ooms)
HU_FACT_TEXT(since, d->memory.since)
HU_FACT_TEXT(settings, d->info.has_alloc_conf && d->info.alloc_conf.n == 0 ? HU_STR("default") : d->info.alloc_conf)
HU_FACT(retries, d->calls.alloc_calls_in_steps)

/* clang-format off */
static const hu_column facts[] = {
    {"out_of_memory", "failed allocations", HU_CELL_COUNT, 0, NULL, ooms,
     .help = "Allocations that failed for lack of memory."},
    {"since", "compared with", HU_CELL_TEXT, 0, NULL, since,
     .help = "The snapshot named before this one, which `change` compares it with; empty when there is none."},
    {"allocator_settings", "allocator settings", HU_CELL_TEXT, 0, NULL, settings,
     .help = "PYTORCH_CUDA_ALLOC_CONF, as recorded: default when it was not set; empty when the file does not say."},
    {"driver_calls_in_steps", "driver memory calls in counted steps", HU_CELL_COUNT, 0, NULL, retries,
     .help = "Driver calls for memory inside the counted steps; a warm caching allocator needs none."},
};
/* clang-format on */

static const hu_table *const tables[] = {&pools,  &change,        &categories, &holders,         &failures, &code,
                                         &stacks, &segment_table, &runs,       &steps_of_memory, &curve};

static bool has(const hu_rank *rank)
{
    return rank->digest->memory.n > 0 || rank->digest->memory.ooms > 0;
}

/* clang-format off */
const hu_view hu_view_memory = {
    .word = "memory", .key = "memory", .facts = facts, .n_facts = HU_COUNT(facts), .tables = tables,
    .n_tables = HU_COUNT(tables), .has = has,
    .nothing = "no allocations were recorded: profile(profile_memory=True), nsys profile --cuda-memory-usage=true",
    .about = "memory: peak and who held it, failures, free pieces, growth per step",
};
/* clang-format on */
