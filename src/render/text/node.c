/* SPDX-License-Identifier: Apache-2.0
 * node.c - samples of a monitor for people: the sentence, then a few lines for each GPU. */
#include "render/node.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>

#include "advise/say.h"

enum { LABEL = 10, ROWS = 16, NAME = 40, LINE_BYTES = 1024, TIME_BYTES = 32 };

static const double FEW_SECONDS = 1; /* of a counter, to be shown */

static void write_wrapped(const hu_node_report *r, hu_out *out, const char *label, hu_str words)
{
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_wrap(out, words, LABEL, LABEL, r->width);
    hu_out_text(out, "\n");
}

/* Puts a part of a line; a comma stands before all but the first. */
__attribute__((format(printf, 3, 4))) static void put(char line[LINE_BYTES], size_t *n, const char *format, ...)
{
    va_list list;
    int     more;

    if (*n + 2 < LINE_BYTES && *n)
        *n += (size_t)snprintf(line + *n, LINE_BYTES - *n, ", ");
    va_start(list, format);
    more = vsnprintf(line + *n, LINE_BYTES - *n, format, list);
    va_end(list);
    *n = more < 0 || *n + (size_t)more >= LINE_BYTES ? LINE_BYTES - 1 : *n + (size_t)more;
}

/* "(71 to 100)", where there is more than one value */
static const char *range(const hu_node_stat *s, char text[HU_UNIT_BYTES])
{
    text[0] = '\0';
    if (s->n > 1 && s->most - s->least >= 1)
        snprintf(text, HU_UNIT_BYTES, " (%.0f to %.0f)", s->least, s->most);
    return text;
}

static hu_said bytes(double n)
{
    hu_said s;

    hu_units_bytes(s.t, n);
    return s;
}

static void put_quantities(const hu_node_gpu_answer *g, char line[LINE_BYTES], size_t *n)
{
    const hu_node_stat *of = g->of;
    const double       *facts = g->gpu->facts;
    const char         *at_most = g->looks > 1 ? " at most" : "";
    char                text[HU_UNIT_BYTES];

    if (of[HU_GAUGE_BUSY].n)
        put(line, n, "busy %s%s", hu_say_pct(of[HU_GAUGE_BUSY].mean).t, range(&of[HU_GAUGE_BUSY], text));
    if (of[HU_GAUGE_SM_CLOCK].n && facts[HU_NODE_MOST_SM_MHZ] > 0)
        put(line, n, "SM clock %.0f of %.0f MHz%s", of[HU_GAUGE_SM_CLOCK].mean, facts[HU_NODE_MOST_SM_MHZ],
            range(&of[HU_GAUGE_SM_CLOCK], text));
    else if (of[HU_GAUGE_SM_CLOCK].n)
        put(line, n, "SM clock %.0f MHz%s", of[HU_GAUGE_SM_CLOCK].mean, range(&of[HU_GAUGE_SM_CLOCK], text));
    if (of[HU_GAUGE_POWER].n && facts[HU_NODE_LIMIT_WATTS] > 0)
        put(line, n, "%.0f of %.0f W%s", of[HU_GAUGE_POWER].mean, facts[HU_NODE_LIMIT_WATTS],
            range(&of[HU_GAUGE_POWER], text));
    else if (of[HU_GAUGE_POWER].n)
        put(line, n, "%.0f W%s", of[HU_GAUGE_POWER].mean, range(&of[HU_GAUGE_POWER], text));
    if (of[HU_GAUGE_MEMORY].n && facts[HU_NODE_MEMORY_BYTES] > 0)
        put(line, n, "memory %s of %s%s", bytes(of[HU_GAUGE_MEMORY].most).t, bytes(facts[HU_NODE_MEMORY_BYTES]).t, at_most);
    else if (of[HU_GAUGE_MEMORY].n)
        put(line, n, "memory %s%s", bytes(of[HU_GAUGE_MEMORY].most).t, at_most);
    if (of[HU_GAUGE_TEMPERATURE].n && facts[HU_NODE_SLOW_CELSIUS] > 0)
        put(line, n,
            "%.0f of %.0f \xc2\xb0"
            "C%s",
            of[HU_GAUGE_TEMPERATURE].most, facts[HU_NODE_SLOW_CELSIUS], at_most);
    else if (of[HU_GAUGE_TEMPERATURE].n)
        put(line, n,
            "%.0f \xc2\xb0"
            "C%s",
            of[HU_GAUGE_TEMPERATURE].most, at_most);
    if (of[HU_GAUGE_ENERGY].n > 1)
        put(line, n, "%.0f J", of[HU_GAUGE_ENERGY].most - of[HU_GAUGE_ENERGY].least);
}

/* "clocks lowered in 41 % of 120 samples: software power cap 41 %" */
static void put_reasons(const hu_node_gpu_answer *g, char line[LINE_BYTES], size_t *n)
{
    static const char *const words[] = {
#define R(id, bit, lowers, words) words,
        HU_GPU_REASONS(R)
#undef R
    };
    bool is_first = true;

    if (g->gpu->has_violations)
        put(line, n, "its time of violations rose, in a unit that the file does not say");
    if (g->reason_looks == 0)
        return;
    if (hu_node_is_timed(g) && g->counted_share > 0) {
        put(line, n, "clocks lowered for %s of the time", hu_say_pct(100 * hu_node_lowered_share(g)).t);
        return;
    }
    if (g->lowered == 0) {
        put(line, n, "no clock lowered");
        return;
    }
    put(line, n, "clocks lowered in %s of the samples", hu_say_pct(100 * hu_node_lowered_share(g)).t);
    for (hu_gpu_reason k = 0; k < HU_GPU_REASON_COUNT; k++)
        if (g->by_reason[k] && hu_node_reason_lowers(k) && *n + 80 < LINE_BYTES) {
            *n += (size_t)snprintf(line + *n, LINE_BYTES - *n, "%s%s %s", is_first ? ": " : ", ", words[k],
                                   hu_say_pct(100 * (double)g->by_reason[k] / (double)g->reason_looks).t);
            is_first = false;
        }
}

/* Counters: what they rose by, or, of one sample, what they are. */
static void put_counts(const hu_node_report *r, const hu_node_gpu_answer *g, char line[LINE_BYTES], size_t *n)
{
    static const struct {
        const char *words;
        uint32_t    bit;
    } kinds[] = {
#define C(id, bit, words) {words, bit},
        HU_NODE_COUNTS(C)
#undef C
    };

    for (hu_node_count_kind k = 0; k < HU_NODE_COUNT_KINDS; k++) {
        const double by = g->last[k] - g->first[k];

        if (k == HU_NODE_ROWS_PENDING || !(g->last[k] > 0))
            continue;
        if (kinds[k].bit) {
            if (by >= FEW_SECONDS || (g->looks == 1 && g->last[k] >= FEW_SECONDS))
                put(line, n, "%s %s%s", kinds[k].words, hu_say_time(1e9 * (by > 0 ? by : g->last[k])).t,
                    by > 0 ? "" : " since the driver was loaded");
        } else if (by > 0) {
            put(line, n, "%s %s (%s before)", hu_say_count((int64_t)by).t, kinds[k].words,
                hu_say_count((int64_t)g->first[k]).t);
        } else {
            put(line, n, "%s %s, none of them new", hu_say_count((int64_t)g->last[k]).t, kinds[k].words);
        }
    }
    if (g->xids)
        put(line, n, "XID %lld", (long long)g->last_xid);
    else if (g->gpu->old_xid > 0)
        put(line, n, "XID %lld before the first sample (%s)", (long long)g->gpu->old_xid,
            r->xid_words((int64_t)g->gpu->old_xid) ? r->xid_words((int64_t)g->gpu->old_xid) : "docs/xid.md");
    if (g->gpu->facts[HU_NODE_LANES] > 0 && g->gpu->facts[HU_NODE_MOST_LANES] > 0)
        put(line, n, "PCIe x%.0f of x%.0f", g->gpu->facts[HU_NODE_LANES], g->gpu->facts[HU_NODE_MOST_LANES]);
}

static void write_gpu(const hu_node_report *r, const hu_node_gpu_answer *g, hu_out *out)
{
    char   label[LABEL + 24], line[LINE_BYTES] = "";
    size_t n = 0;

    snprintf(label, sizeof label, "GPU");
    if (!g->gpu->is_unnumbered)
        snprintf(label, sizeof label, "GPU %lld", (long long)g->gpu->number);
    hu_out_printf(out, "%-*s", LABEL, label);
    hu_units_clip(out, g->gpu->name.n ? g->gpu->name : HU_STR("(not named)"), NAME);
    if (g->gpu->is_unnumbered)
        hu_out_printf(out, " at %.*s", HU_FMT(g->gpu->bus));
    if (g->gpu->host.n) {
        hu_out_text(out, " on ");
        hu_units_clip(out, g->gpu->host, NAME);
    } else if (hu_node_is_of_several_files(r->answer)) {
        hu_out_text(out, " in ");
        hu_units_clip(out, g->gpu->file, NAME);
    }
    hu_out_printf(out, ", %s sample%s%s\n", hu_say_count((int64_t)g->looks).t, hu_plural((int64_t)g->looks),
                  g->gpu->is_mig ? ", divided by MIG" : "");
    put_quantities(g, line, &n);
    if (n)
        write_wrapped(r, out, "", (hu_str){line, n});
    n = 0;
    put_reasons(g, line, &n);
    put_counts(r, g, line, &n);
    if (n)
        write_wrapped(r, out, "", (hu_str){line, n});
}

/* "busy 45 % (12 to 99), memory 4.1 GB at most (1.2 GB at first, 4.1 GB at last), 120 looks" */
static void write_process(const hu_node_report *r, const hu_node_process *p, hu_out *out)
{
    const double busy = p->busy.n ? p->busy.sum / (double)p->busy.n : (double)NAN;
    hu_node_stat stat = {p->busy.n, busy, p->busy.least, p->busy.most};
    char         line[LINE_BYTES] = "", text[HU_UNIT_BYTES];
    size_t       n = 0;

    hu_out_printf(out, "%*sGPU %lld, process %lld, ", LABEL, "", (long long)r->answer->log->gpus.at[p->gpu].number,
                  (long long)p->pid);
    hu_units_clip(out, p->command.n ? p->command : HU_STR("(not named)"), NAME);
    hu_out_text(out, "\n");
    if (p->busy.n)
        put(line, &n, "busy %s%s", hu_say_pct(busy).t, range(&stat, text));
    if (p->busy.n && p->busy.n < p->looks)
        put(line, &n, "of %s it has no value", hu_say_count((int64_t)(p->looks - p->busy.n)).t);
    if (p->memory.n)
        put(line, &n, "memory %s at most", bytes(p->memory.most).t);
    if (p->memory.n > 1 && p->memory.first != p->memory.last)
        put(line, &n, "%s at first and %s at last", bytes(p->memory.first).t, bytes(p->memory.last).t);
    put(line, &n, "%s look%s", hu_say_count((int64_t)p->looks).t, hu_plural((int64_t)p->looks));
    write_wrapped(r, out, "", (hu_str){line, n});
}

static void write_processes(const hu_node_report *r, size_t most, hu_out *out)
{
    const hu_node_answer *a = r->answer;

    if (a->n_processes)
        hu_out_printf(out, "\nPROCESSES\n");
    for (size_t i = 0; i < a->n_processes && i < most; i++)
        write_process(r, a->processes[i], out);
    if (a->n_processes > most)
        hu_out_printf(out, "%*s%zu more (--top)\n", LABEL, "", a->n_processes - most);
}

/* When the samples were taken, and whether a trace could have them beside it. */
static void write_time(const hu_node_report *r, hu_out *out)
{
    const hu_node_answer *a = r->answer;
    char                  from[TIME_BYTES], line[LINE_BYTES];
    struct tm             t;
    const time_t          first = (time_t)(a->log->first_ns / 1000000000);
    size_t                n;

    if (isnan(a->seconds)) {
        write_wrapped(r, out, "TIME", HU_STR("the samples have no time of day: they cannot be aligned with a trace"));
        return;
    }
    gmtime_r(&first, &t);
    strftime(from, sizeof from, "%Y-%m-%d %H:%M:%S UTC", &t);
    if (a->seconds > 0)
        n = (size_t)snprintf(line, sizeof line, "%s from %s", hu_say_time(1e9 * a->seconds).t, from);
    else
        n = (size_t)snprintf(line, sizeof line, "%s", from);
    n += (size_t)snprintf(line + n, sizeof line - n, "; beside a trace of then: holdup report TRACE --with FILE");
    write_wrapped(r, out, "TIME", (hu_str){line, n});
}

static void write_links(const hu_node_report *r, const hu_node_topology *t, hu_out *out)
{
    hu_out *memory = hu_out_open_memory(r->scratch);
    hu_str  words;

    if (!memory)
        return;
    hu_node_say_topology(t, memory);
    if (hu_out_take(memory, &words, NULL) == 0)
        write_wrapped(r, out, "LINKS", words);
}

void hu_node_text(const hu_node_report *r, hu_out *out)
{
    const hu_node_answer *a = r->answer;
    const size_t          most = r->top ? r->top : ROWS;

    hu_units_wrap(out, hu_node_sentence(r), 0, 0, r->width);
    hu_out_text(out, "\n");
    for (size_t i = 1; i < a->n_troubles; i++) {
        hu_units_wrap(out, hu_node_trouble_sentence(r, i), 0, 0, r->width);
        hu_out_text(out, "\n");
    }
    if (a->n || a->log->topologies.n > 1)
        hu_out_text(out, "\n");
    for (size_t i = 0; i < a->n && i < most; i++)
        write_gpu(r, &a->at[i], out);
    if (a->n > most)
        hu_out_printf(out, "%*s%zu more GPUs (--top)\n", LABEL, "", a->n - most);
    for (size_t i = a->n == 0; i < a->log->topologies.n; i++) /* where there is nothing else, the sentence has the first */
        write_links(r, &a->log->topologies.at[i], out);
    if (a->n)
        write_time(r, out);
    write_processes(r, most, out);
    if (a->log->bad_lines)
        hu_out_printf(out, "%-*s%lld lines are no samples and were left out, the first at byte %lld\n", LABEL, "LEFT OUT",
                      (long long)a->log->bad_lines, (long long)a->log->bad_offset);
}
