/* SPDX-License-Identifier: Apache-2.0
 * counters.c - a paragraph for each kernel, the one that takes most time first; last, what to record for what is missing. */
#include "render/counters.h"

#include <math.h>
#include <stdio.h>

#include "advise/say.h"
#include "base/json_out.h"
#include "base/units.h"

enum { LABEL = 13, LINE = 1024 };

static const double LEAST_TAIL = 0.1; /* of the GPU, in the last wave, that is worth a line */
static const double APART_PCT = 10;   /* occupancy that is achieved, below what is possible (rule AchievedOccupancy) */

static const double MUCH_SLOWER = 2; /* under the profiler than in the job: more than its fixed clocks explain */
static const double UNEQUAL = 1.5;   /* launches of one shape whose durations are so far apart do not do the same */

static const char *const bounds[] = {
    [HU_KERNEL_UNKNOWN] = "unknown",     [HU_KERNEL_COMPUTE] = "compute", [HU_KERNEL_MEMORY] = "memory",
    [HU_KERNEL_BOTH] = "compute-memory", [HU_KERNEL_LATENCY] = "latency", [HU_KERNEL_GRID] = "small-grid",
};

/* "  occupancy  " and words that go on below themselves. */
static void write_line(const hu_counters_report *r, hu_out *out, const char *label, const char *words)
{
    hu_out_printf(out, "  %-*s", LABEL - 2, label);
    hu_units_wrap(out, hu_str_of(words), LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

static hu_said whole(double value)
{
    hu_said s;

    hu_format_fixed(s.t, value, 0);
    return s;
}

static hu_said plain(double value)
{
    hu_said s;

    hu_units_number(s.t, value);
    return s;
}

/* "1.23 T", for a unit behind it. */
static hu_said scaled(double value)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    size_t                   k = 0, n;
    hu_said                  s;

    for (; fabs(value) >= 1000 && k + 1 < HU_COUNT(prefixes); k++)
        value /= 1000;
    n = hu_units_number(s.t, value);
    snprintf(s.t + n, sizeof s.t - n, " %s", prefixes[k]);
    return s;
}

/* "SM 65 % of its peak, memory 65 % (L1 77 %, L2 16 %, DRAM 8 %)" */
static size_t say_speed(const hu_counted *k, char *text, size_t room)
{
    static const struct {
        const char *name;
        hu_counter  counter;
    } levels[] = {{"L1", HU_COUNTER_L1_PCT}, {"L2", HU_COUNTER_L2_PCT}, {"DRAM", HU_COUNTER_DRAM_PCT}};
    size_t n = (size_t)snprintf(text, room, "SM at %s of its peak, memory at %s", hu_say_pct(k->value[HU_COUNTER_SM_PCT]).t,
                                hu_say_pct(k->value[HU_COUNTER_MEMORY_PCT]).t);
    size_t named = 0;

    for (size_t i = 0; i < HU_COUNT(levels); i++)
        if (!isnan(k->value[levels[i].counter]))
            n += (size_t)snprintf(text + n, room - n, "%s%s %s", named++ ? ", " : " (", levels[i].name,
                                  hu_say_pct(k->value[levels[i].counter]).t);
    return n + (named ? (size_t)snprintf(text + n, room - n, ")") : 0);
}

static void write_bound(const hu_counters_report *r, const hu_counted *k, const hu_kernel_answer *a, hu_out *out)
{
    static const char *const words[] = {
        [HU_KERNEL_COMPUTE] = "compute",
        [HU_KERNEL_MEMORY] = "memory",
        [HU_KERNEL_BOTH] = "compute and memory equally",
        [HU_KERNEL_LATENCY] = "latency",
        [HU_KERNEL_GRID] = "a grid too small for the GPU",
    };
    char   text[LINE];
    size_t n;

    if (a->bound == HU_KERNEL_UNKNOWN) {
        write_line(r, out, "bound by", "cannot tell: speed of light was not recorded");
        return;
    }
    n = (size_t)snprintf(text, sizeof text, "%s", words[a->bound]);
    if (a->level && (a->bound == HU_KERNEL_MEMORY || a->bound == HU_KERNEL_BOTH))
        n += (size_t)snprintf(text + n, sizeof text - n, " (%s)", a->level);
    n += (size_t)snprintf(text + n, sizeof text - n, ": ");
    n += say_speed(k, text + n, sizeof text - n);
    if (a->bound == HU_KERNEL_LATENCY)
        snprintf(text + n, sizeof text - n, "; neither reaches 60 %%: warps wait, see stalls and occupancy");
    else if (a->bound == HU_KERNEL_GRID)
        snprintf(text + n, sizeof text - n,
                 "; the grid fills %s of one wave: give it more blocks, or run other kernels at the same time",
                 k->value[HU_COUNTER_WAVES] < 0.01 ? "less than 1 %" : hu_say_pct(100 * k->value[HU_COUNTER_WAVES]).t);
    write_line(r, out, "bound by", text);
}

static void write_roofline(const hu_counters_report *r, const hu_kernel_answer *a, hu_out *out)
{
    char   text[LINE];
    size_t n = 0;

    if (!isnan(a->flops_per_s))
        n += (size_t)snprintf(text + n, sizeof text - n, "%sFLOP/s", scaled(a->flops_per_s).t);
    if (!isnan(a->flops_per_s) && a->peak_flops_per_s > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, " of %s", scaled(a->peak_flops_per_s).t);
    if (!isnan(a->flops_per_s) && a->has_matrix_work)
        n += (size_t)snprintf(text + n, sizeof text - n, " (without the matrix units, which worked too)");
    if (!isnan(a->bytes_per_s))
        n += (size_t)snprintf(text + n, sizeof text - n, "%sDRAM %sB/s", n ? ", " : "", scaled(a->bytes_per_s).t);
    if (!isnan(a->bytes_per_s) && a->peak_bytes_per_s > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, " of %s", scaled(a->peak_bytes_per_s).t);
    if (!isnan(a->intensity))
        n += (size_t)snprintf(text + n, sizeof text - n, ", %s FLOP/byte", plain(a->intensity).t);
    if (!isnan(a->intensity) && a->ridge > 0 && !a->has_matrix_work)
        n += (size_t)snprintf(text + n, sizeof text - n, ": under the roof of %s (they meet at %s)",
                              a->intensity < a->ridge ? "DRAM" : "arithmetic", plain(a->ridge).t);
    if (n)
        write_line(r, out, "roofline", text);
}

/* "registers (51 a thread) and shared memory (5.1 kB a block)" */
static size_t say_limits(const hu_counted *k, const hu_kernel_answer *a, char *text, size_t room)
{
    size_t n = 0;
    char   size[HU_UNIT_BYTES];

    if (a->by_registers)
        n += (size_t)snprintf(text + n, room - n, "registers");
    if (a->by_registers && !isnan(k->value[HU_COUNTER_REGISTERS]))
        n += (size_t)snprintf(text + n, room - n, " (%s a thread)", whole(k->value[HU_COUNTER_REGISTERS]).t);
    if (a->by_shared) {
        hu_units_bytes(size, k->value[HU_COUNTER_SHARED_BYTES]);
        n += (size_t)snprintf(text + n, room - n, "%sshared memory", n ? " and " : "");
        if (!isnan(k->value[HU_COUNTER_SHARED_BYTES]))
            n += (size_t)snprintf(text + n, room - n, " (%s a block)", size);
    }
    if (a->by_warps)
        n += (size_t)snprintf(text + n, room - n, "%sthe size of a block", n ? " and " : "");
    if (a->by_blocks)
        n += (size_t)snprintf(text + n, room - n, "%sthe blocks an SM can hold", n ? " and " : "");
    if (a->by_barriers)
        n += (size_t)snprintf(text + n, room - n, "%sbarriers", n ? " and " : "");
    return n;
}

static void write_occupancy(const hu_counters_report *r, const hu_counted *k, const hu_kernel_answer *a, hu_out *out)
{
    char   text[LINE];
    size_t n;

    if (isnan(a->theoretical_pct) && isnan(a->achieved_pct))
        return;
    if (isnan(a->theoretical_pct))
        n = (size_t)snprintf(text, sizeof text, "%s achieved", hu_say_pct(a->achieved_pct).t);
    else if (isnan(a->achieved_pct))
        n = (size_t)snprintf(text, sizeof text, "%s possible", hu_say_pct(a->theoretical_pct).t);
    else
        n = (size_t)snprintf(text, sizeof text, "%s achieved, %s possible", hu_say_pct(a->achieved_pct).t,
                             hu_say_pct(a->theoretical_pct).t);
    if (a->by_registers || a->by_shared || a->by_warps || a->by_blocks || a->by_barriers) {
        n += (size_t)snprintf(text + n, sizeof text - n, "; an SM holds %s block%s because of ", whole(a->blocks_per_sm).t,
                              hu_plural((int64_t)a->blocks_per_sm));
        n += say_limits(k, a, text + n, sizeof text - n);
    }
    if (a->theoretical_pct - a->achieved_pct > APART_PCT && a->bound != HU_KERNEL_GRID)
        snprintf(text + n, sizeof text - n, "; the rest is lost where blocks are few, end apart or differ in work");
    write_line(r, out, "occupancy", text);
}

/* Blocks run in waves of as many as the GPU holds; the last wave may be no full one. */
static void write_grid(const hu_counters_report *r, const hu_counted *k, const hu_kernel_answer *a, hu_out *out)
{
    const double waves = k->value[HU_COUNTER_WAVES];
    char         text[LINE];

    if (!(waves > 0) || a->bound == HU_KERNEL_GRID || a->tail < LEAST_TAIL)
        return;
    if (waves < 1)
        snprintf(text, sizeof text, "%s of one wave of blocks: the GPU could hold more", hu_say_pct(100 * waves).t);
    else
        snprintf(text, sizeof text,
                 "%s waves of blocks: if all blocks take equally long, %s of the GPU's time is empty in the last",
                 plain(waves).t, hu_say_pct(100 * a->tail).t);
    write_line(r, out, "grid", text);
}

static void write_stalls(const hu_counters_report *r, const hu_kernel_answer *a, hu_out *out)
{
    char text[LINE];

    for (size_t i = 0; i < a->n_stalls; i++) {
        const hu_kernel_stall *s = &a->stalls[i];

        snprintf(text, sizeof text, "%s %s: %s", hu_say_pct(100 * s->share).t, hu_stall_name(s->stall),
                 hu_stall_advice(s->stall));
        write_line(r, out, i ? "" : "stalls", text);
    }
}

/* "grid 16 x 16 x 1, block 512 x 1 x 1", with the sign of a product */
static size_t say_shape(const uint64_t grid[3], const uint64_t block[3], char *text, size_t room)
{
    return (size_t)snprintf(text, room, "grid %llu \xc3\x97 %llu \xc3\x97 %llu, block %llu \xc3\x97 %llu \xc3\x97 %llu",
                            (unsigned long long)grid[0], (unsigned long long)grid[1], (unsigned long long)grid[2],
                            (unsigned long long)block[0], (unsigned long long)block[1], (unsigned long long)block[2]);
}

static size_t say_trace_time(const hu_measured *m, const hu_measured_kernel *k, char *text, size_t room)
{
    if (k->step_ns > 0 && m->step_ns > 0)
        return (size_t)snprintf(text, room, "%s launch%s per step, %s (%s of a step)", plain(k->calls_per_step).t,
                                k->calls_per_step > 0 && k->calls_per_step <= 1 ? "" : "es", hu_say_time(k->step_ns).t,
                                hu_say_pct(100 * k->step_ns / m->step_ns).t);
    return (size_t)snprintf(text, room, "%s launch%s, %s (%s of its kernel time)", hu_say_count(k->calls).t,
                            k->calls == 1 ? "" : "es", hu_say_time((double)k->total_ns).t,
                            hu_say_pct(m->all_ns ? 100 * (double)k->total_ns / (double)m->all_ns : 0).t);
}

/* Which launches of a step are meant, where they differ. */
static size_t say_order(const hu_measured *m, const hu_measured_kernel *k, char *text, size_t room)
{
    const hu_shape_order *o = &m->orders[k->shape];
    size_t                n;

    if (k->order == HU_ORDER_UNKNOWN)
        return (size_t)snprintf(text, room,
                                "; its launches in a step take %s to %s, and which of them was measured cannot be told: %s. "
                                "Measure whole steps: holdup report TRACE --suggest ncu",
                                hu_say_time(o->least_ns).t, hu_say_time(o->most_ns).t,
                                o->why ? o->why : "the order is unknown");
    if (k->order != HU_ORDER_SEQUENCE && k->order != HU_ORDER_DURATIONS)
        return 0;
    n = (size_t)snprintf(text, room, "; launch%s ", k->place.n == 1 ? "" : "es");
    for (uint32_t i = 0; i < k->place.n && i < HU_PLACES_NAMED; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%u", i ? ", " : "", k->place.place[i]);
    return n +
           (size_t)snprintf(text + n, room - n, "%s of %u of this shape in a step, by %s",
                            k->place.n > HU_PLACES_NAMED ? " …" : "", k->place.of,
                            k->order == HU_ORDER_SEQUENCE ? "the order of launches" : "the order and durations of launches");
}

/* What the kernel is in the job, of which ncu's own durations say nothing: it runs kernels one at a time. */
static void write_in_trace(const hu_counters_report *r, size_t group, hu_out *out)
{
    const hu_measured        *m = r->measured;
    const hu_measured_kernel *k = &m->at[group];
    char                      text[LINE];
    size_t                    n = 0;

    if (k->match == HU_MEASURED_NONE) {
        write_line(r, out, "in trace", "not there");
        return;
    }
    if (k->match == HU_MEASURED_OTHER_SHAPE) {
        const hu_kernel_shape *s = &m->shapes->at[k->shape];

        n = (size_t)snprintf(text, sizeof text, "only with other shapes: ");
        n += say_shape((const uint64_t[]){s->grid[0], s->grid[1], s->grid[2]},
                       (const uint64_t[]){s->block[0], s->block[1], s->block[2]}, text + n, sizeof text - n);
        snprintf(text + n, sizeof text - n, "; what is below is of another size of problem");
        write_line(r, out, "in trace", text);
        return;
    }
    n = say_trace_time(m, k, text, sizeof text);
    n += say_order(m, k, text + n, sizeof text - n);
    if (k->match == HU_MEASURED_FUNCTION)
        n += (size_t)snprintf(text + n, sizeof text - n, "; found by its function, grid and block");
    if (k->slower >= MUCH_SLOWER || k->slower <= 1 / MUCH_SLOWER)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "; under ncu it takes %s times as long: clocks, caches or data differ", plain(k->slower).t);
    if (k->saved_ns > 0 && m->step_ns > 0)
        snprintf(text + n, sizeof text - n, "; at the peak of the unit it uses most, a step is at most %s (%s) shorter",
                 hu_say_time(k->saved_ns).t, hu_say_pct(100 * k->saved_ns / m->step_ns).t);
    write_line(r, out, "in trace", text);
}

/* `place`: its number in the list. */
static void write_kernel(const hu_counters_report *r, size_t place, hu_out *out)
{
    const size_t           at = r->measured ? r->measured->order[place] : place;
    const hu_kernel_group *g = &r->groups->at[at];
    const hu_counted      *k = &r->counters->kernels.at[g->shown];
    char                   text[LINE], time[HU_UNIT_BYTES];
    hu_kernel_answer       a;
    size_t                 n;

    hu_kernel_judge(k, &a);
    hu_out_printf(out, "\n%zu. ", place + 1);
    hu_units_clip(out, k->name.n ? k->name : HU_STR("(no name)"), r->width - 6);
    hu_out_text(out, "\n");
    n = (size_t)snprintf(text, sizeof text, "%zu, ", g->n);
    if (!isnan(g->total_ns)) {
        hu_units_time(time, g->total_ns);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", time);
        if (r->groups->total_ns > 0)
            n += (size_t)snprintf(text + n, sizeof text - n, " (%s of all)",
                                  hu_say_pct(100 * g->total_ns / r->groups->total_ns).t);
        n += (size_t)snprintf(text + n, sizeof text - n, ", ");
    }
    n += say_shape(k->grid, k->block, text + n, sizeof text - n);
    if (g->n > 1 && !isnan(k->value[HU_COUNTER_DURATION_NS])) {
        hu_units_time(time, k->value[HU_COUNTER_DURATION_NS]);
        n += (size_t)snprintf(text + n, sizeof text - n, "; below: launch %llu, the median (%s)", (unsigned long long)k->id,
                              time);
    }
    if (g->n > 1 && g->most_ns > UNEQUAL * g->least_ns)
        snprintf(text + n, sizeof text - n,
                 "; they take %s to %s, so they differ in work: the median stands for none of the "
                 "longest",
                 hu_say_time(g->least_ns).t, hu_say_time(g->most_ns).t);
    write_line(r, out, g->n == 1 ? "launch" : "launches", text);
    if (r->measured)
        write_in_trace(r, at, out);
    write_bound(r, k, &a, out);
    write_roofline(r, &a, out);
    write_occupancy(r, k, &a, out);
    write_grid(r, k, &a, out);
    write_stalls(r, &a, out);
}

/* Which sections would answer more about any of the kernels. */
static bool collect_missing(const hu_counters_report *r, bool lacks[HU_KERNEL_SECTION_COUNT])
{
    bool any = false;

    for (size_t i = 0; i < r->groups->n; i++) {
        hu_kernel_answer a;

        hu_kernel_judge(&r->counters->kernels.at[r->groups->at[i].shown], &a);
        for (hu_kernel_section s = 0; s < HU_KERNEL_SECTION_COUNT; s++)
            any |= (lacks[s] |= a.lacks[s]);
    }
    return any;
}

static void write_missing(const hu_counters_report *r, hu_out *out)
{
    bool lacks[HU_KERNEL_SECTION_COUNT] = {false};

    if (!collect_missing(r, lacks))
        return;
    hu_out_text(out, "\nNot recorded; each section brings one answer:\n");
    for (hu_kernel_section s = 0; s < HU_KERNEL_SECTION_COUNT; s++)
        if (lacks[s])
            hu_out_printf(out, "  --section %-29s %s\n", hu_kernel_section_name(s), hu_kernel_section_brings(s));
    hu_out_text(out, "Record all:\n  ncu --section LaunchStats");
    for (hu_kernel_section s = 0; s < HU_KERNEL_SECTION_COUNT; s++)
        hu_out_printf(out, "%s --section %s", s % 2 == 0 ? " \\\n   " : "", hu_kernel_section_name(s));
    hu_out_text(out, " -o profile COMMAND\n  holdup report profile.ncu-rep\n");
}

/* "Of 7 kernels 5 are in the trace, by name, grid and block; they take 63 % of its kernel time." */
static void write_joined(const hu_counters_report *r, hu_out *out)
{
    const hu_measured *m = r->measured;
    char               text[LINE];
    size_t             n;

    if (m->n_matched == 0)
        n = (size_t)snprintf(text, sizeof text, "None of them is in the trace by name, grid and block.");
    else
        n = (size_t)snprintf(text, sizeof text,
                             "%zu of them %s in the trace by name, grid and block, with %s of its kernel time.",
                             m->n_matched, m->n_matched == 1 ? "is" : "are",
                             hu_say_pct(m->all_ns ? 100 * (double)m->matched_ns / (double)m->all_ns : 0).t);
    hu_units_wrap(out, (hu_str){text, n}, 0, 0, r->width);
    hu_out_text(out, "\n");
}

/* "tensor-cores-unused is withdrawn: Nsight Compute measured 73 % …" */
static void write_revision(const hu_counters_report *r, const hu_revision *v, hu_out *out)
{
    char text[LINE];

    snprintf(text, sizeof text, "finding %s, \"%s\": %s: %s.", hu_rule_key(v->rule), hu_rule_title(v->rule),
             hu_revision_word(v->kind), v->why);
    hu_units_wrap(out, hu_str_of(text), 0, 2, r->width);
    hu_out_text(out, "\n");
}

static void write_head(const hu_counters_report *r, hu_out *out)
{
    const size_t      n = r->counters->kernels.n, n_kernels = r->groups->n;
    const hu_counted *first = &r->counters->kernels.at[0];
    char              time[HU_UNIT_BYTES], text[256];
    size_t            at;

    at = (size_t)snprintf(text, sizeof text, "Nsight Compute: %zu launch%s of %zu kernel%s", n, n == 1 ? "" : "es",
                          n_kernels, hu_plural((int64_t)n_kernels));
    if (!isnan(r->groups->total_ns)) {
        hu_units_time(time, r->groups->total_ns);
        at += (size_t)snprintf(text + at, sizeof text - at, ", %s", time);
    }
    if (first->device.n)
        at += (size_t)snprintf(text + at, sizeof text - at, ", %.*s", (int)(first->device.n < 64 ? first->device.n : 64),
                               first->device.p);
    if (first->cc.n)
        at += (size_t)snprintf(text + at, sizeof text - at, ", CC %.*s", (int)(first->cc.n < 8 ? first->cc.n : 8),
                               first->cc.p);
    hu_units_wrap(out, (hu_str){text, at < sizeof text ? at : sizeof text - 1}, 0, 2, r->width);
    hu_out_text(out, "\n");
    if (r->measured)
        write_joined(r, out);
    for (size_t i = 0; r->revised && i < r->revised->n; i++)
        write_revision(r, &r->revised->at[i], out);
    if (r->counters->is_cut)
        hu_out_text(out, "The file is cut; launches behind the cut are missing.\n");
    if (r->counters->n_others)
        hu_out_printf(out, "%llu result%s of ranges, graphs or command lists %s not read.\n",
                      (unsigned long long)r->counters->n_others, r->counters->n_others == 1 ? "" : "s",
                      r->counters->n_others == 1 ? "is" : "are");
}

void hu_counters_text(const hu_counters_report *r, hu_out *out)
{
    const size_t shown = r->groups->n < r->top ? r->groups->n : r->top;

    write_head(r, out);
    for (size_t i = 0; i < shown; i++)
        write_kernel(r, i, out);
    if (shown < r->groups->n)
        hu_out_printf(out, "\n%zu more kernel%s; --top %zu shows them\n", r->groups->n - shown,
                      hu_plural((int64_t)(r->groups->n - shown)), r->groups->n);
    write_missing(r, out);
}

/* --- JSON --- */

static void json_triple(hu_json_out *j, const char *key, const uint64_t of[3])
{
    hu_json_open(j, key, '[');
    for (int i = 0; i < 3; i++)
        hu_json_int(j, NULL, (int64_t)of[i]);
    hu_json_close(j, ']');
}

static void json_number(hu_json_out *j, const char *key, double value)
{
    char text[HU_NUMBER_BYTES];

    if (!isfinite(value)) {
        hu_json_null(j, key);
        return;
    }
    hu_format_f64(text, value, false);
    hu_json_digits(j, key, text);
}

static void json_occupancy(hu_json_out *j, const hu_kernel_answer *a)
{
    const struct {
        const char *name;
        bool        is;
    } limits[] = {{"registers", a->by_registers},
                  {"shared_memory", a->by_shared},
                  {"warps", a->by_warps},
                  {"blocks", a->by_blocks},
                  {"barriers", a->by_barriers}};

    hu_json_open(j, "occupancy", '{');
    json_number(j, "theoretical_pct", a->theoretical_pct);
    json_number(j, "achieved_pct", a->achieved_pct);
    json_number(j, "blocks_per_sm", a->blocks_per_sm);
    hu_json_open(j, "limited_by", '[');
    for (size_t i = 0; i < HU_COUNT(limits); i++)
        if (limits[i].is)
            hu_json_str(j, NULL, hu_str_of(limits[i].name));
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

static void json_roofline(hu_json_out *j, const hu_kernel_answer *a)
{
    hu_json_open(j, "roofline", '{');
    json_number(j, "flops_per_s", a->flops_per_s);
    json_number(j, "peak_flops_per_s", a->peak_flops_per_s);
    json_number(j, "dram_bytes_per_s", a->bytes_per_s);
    json_number(j, "peak_dram_bytes_per_s", a->peak_bytes_per_s);
    json_number(j, "flops_per_byte", a->intensity);
    json_number(j, "ridge_flops_per_byte", a->ridge);
    hu_json_bool(j, "has_matrix_work", a->has_matrix_work);
    hu_json_close(j, '}');
}

static void json_speed(hu_json_out *j, const hu_counted *k, const hu_kernel_answer *a)
{
    hu_json_str(j, "bound", hu_str_of(bounds[a->bound]));
    if (a->level)
        hu_json_str(j, "memory_level", hu_str_of(a->level));
    else
        hu_json_null(j, "memory_level");
    hu_json_open(j, "speed_of_light", '{');
    json_number(j, "sm_pct", k->value[HU_COUNTER_SM_PCT]);
    json_number(j, "memory_pct", k->value[HU_COUNTER_MEMORY_PCT]);
    json_number(j, "l1_pct", k->value[HU_COUNTER_L1_PCT]);
    json_number(j, "l2_pct", k->value[HU_COUNTER_L2_PCT]);
    json_number(j, "dram_pct", k->value[HU_COUNTER_DRAM_PCT]);
    hu_json_close(j, '}');
}

static void json_stalls(hu_json_out *j, const hu_kernel_answer *a)
{
    hu_json_open(j, "stalls", '[');
    for (size_t i = 0; i < a->n_stalls; i++) {
        hu_json_open(j, NULL, '{');
        hu_json_str(j, "reason", hu_str_of(hu_stall_name(a->stalls[i].stall)));
        hu_json_fixed(j, "share_pct", 100 * a->stalls[i].share, 2);
        hu_json_str(j, "advice", hu_str_of(hu_stall_advice(a->stalls[i].stall)));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
    hu_json_bool(j, "stalls_are_sampled", a->is_sampled);
}

static void json_order(hu_json_out *j, const hu_measured *m, const hu_measured_kernel *k)
{
    const bool            is_matched = k->match >= HU_MEASURED_FUNCTION;
    const bool            is_part = is_matched && (k->order == HU_ORDER_SEQUENCE || k->order == HU_ORDER_DURATIONS);
    const hu_shape_order *o = is_matched && k->order == HU_ORDER_UNKNOWN ? &m->orders[k->shape] : NULL;

    if (is_matched)
        hu_json_str(j, "order", hu_str_of(hu_launch_order_word(k->order)));
    else
        hu_json_null(j, "order");
    if (o && o->why)
        hu_json_str(j, "order_unknown", hu_str_of(o->why));
    else
        hu_json_null(j, "order_unknown");
    hu_json_open(j, "places", '[');
    for (uint32_t i = 0; is_part && i < k->place.n && i < HU_PLACES_NAMED; i++)
        hu_json_int(j, NULL, k->place.place[i]);
    hu_json_close(j, ']');
    if (is_part)
        hu_json_int(j, "places_of", k->place.of);
    else
        hu_json_null(j, "places_of");
}

/* null without a trace. */
static void json_in_trace(hu_json_out *j, const hu_counters_report *r, size_t group)
{
    const hu_measured_kernel *k = r->measured ? &r->measured->at[group] : NULL;

    if (!k) {
        hu_json_null(j, "in_trace");
        return;
    }
    hu_json_open(j, "in_trace", '{');
    hu_json_str(j, "match", hu_str_of(hu_measured_match_word(k->match)));
    hu_json_int(j, "calls", k->calls);
    hu_json_int(j, "total_ns", k->total_ns);
    json_number(j, "calls_per_step", k->calls_per_step);
    hu_json_ns(j, "step_ns", k->step_ns);
    json_number(j, "slower", k->slower);
    hu_json_ns(j, "most_saved_ns", k->saved_ns);
    json_order(j, r->measured, k);
    hu_json_close(j, '}');
}

static void json_kernel(hu_json_out *j, const hu_counters_report *r, const hu_kernel_group *g)
{
    const hu_counted *k = &r->counters->kernels.at[g->shown];
    hu_kernel_answer  a;

    hu_kernel_judge(k, &a);
    hu_json_open(j, NULL, '{');
    hu_json_str(j, "name", k->name);
    hu_json_str(j, "device", k->device);
    hu_json_str(j, "compute_capability", k->cc);
    json_triple(j, "grid", k->grid);
    json_triple(j, "block", k->block);
    hu_json_int(j, "launches", (int64_t)g->n);
    hu_json_ns(j, "total_ns", g->total_ns);
    hu_json_int(j, "shown_launch", (int64_t)k->id);
    json_in_trace(j, r, (size_t)(g - r->groups->at));
    hu_json_ns(j, "duration_ns", k->value[HU_COUNTER_DURATION_NS]);
    json_number(j, "waves", k->value[HU_COUNTER_WAVES]);
    json_number(j, "tail_share", a.tail);
    json_number(j, "registers_per_thread", k->value[HU_COUNTER_REGISTERS]);
    json_speed(j, k, &a);
    json_roofline(j, &a);
    json_occupancy(j, &a);
    json_stalls(j, &a);
    hu_json_open(j, "missing_sections", '[');
    for (hu_kernel_section s = 0; s < HU_KERNEL_SECTION_COUNT; s++)
        if (a.lacks[s])
            hu_json_str(j, NULL, hu_str_of(hu_kernel_section_name(s)));
    hu_json_close(j, ']');
    hu_json_close(j, '}');
}

/* What became of findings of the trace; empty where none is about kernels that were measured. */
static void json_revisions(hu_json_out *j, const hu_counters_report *r)
{
    hu_json_open(j, "findings", '[');
    for (size_t i = 0; r->revised && i < r->revised->n; i++) {
        const hu_revision *v = &r->revised->at[i];

        hu_json_open(j, NULL, '{');
        hu_json_str(j, "id", hu_str_of(hu_rule_key(v->rule)));
        hu_json_str(j, "outcome", hu_str_of(hu_revision_word(v->kind)));
        hu_json_fixed(j, "measured_pct", v->measured_pct, 3);
        hu_json_fixed(j, "contradicted_pct", v->contradicted_pct, 3);
        hu_json_str(j, "why", hu_str_of(v->why));
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}

void hu_counters_json(const hu_counters_report *r, hu_out *out)
{
    hu_json_out j = {.out = out, .is_empty = true};

    hu_json_open(&j, NULL, '{');
    hu_json_str(&j, "format", HU_STR("nsight-compute"));
    hu_json_int(&j, "launches", (int64_t)r->counters->kernels.n);
    hu_json_int(&j, "results_not_read", (int64_t)r->counters->n_others);
    hu_json_bool(&j, "is_cut", r->counters->is_cut);
    if (r->measured) {
        hu_json_int(&j, "kernels_in_trace", (int64_t)r->measured->n_matched);
        hu_json_fixed(
            &j, "trace_time_pct",
            r->measured->all_ns ? 100 * (double)r->measured->matched_ns / (double)r->measured->all_ns : (double)NAN, 3);
    }
    if (r->measured)
        json_revisions(&j, r);
    hu_json_open(&j, "kernels", '[');
    for (size_t i = 0; i < r->groups->n; i++)
        json_kernel(&j, r, &r->groups->at[r->measured ? r->measured->order[i] : i]);
    hu_json_close(&j, ']');
    hu_json_close(&j, '}');
    hu_out_text(out, "\n");
}
