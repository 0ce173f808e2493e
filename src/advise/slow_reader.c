/* SPDX-License-Identifier: Apache-2.0
 * slow_reader.c - says who waits to write, who should read, and what that one does meanwhile. */
#include "advise/slow_reader.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/say_thread.h"
#include "analyze/pipe_reader.h"

enum { NAME = 40, FUNCTION = 56 };

static const double LEAST_SHARE = 0.25; /* of the run, that is waited */
static const double MOSTLY = 0.5;       /* of that, what the reader does, to be told */

typedef struct {
    char t[160];
} said_doing;

static said_doing say_doing(const hu_pipe_reader *p)
{
    const hu_str doing = hu_str_cut(p->doing, FUNCTION), caller = hu_str_cut(p->doing_caller, FUNCTION);
    said_doing   said;

    if (p->computes)
        snprintf(said.t, sizeof said.t, "computes%s%.*s", doing.n ? " in " : "", HU_FMT(doing));
    else if (p->class == HU_HOST_CLASS_COUNT)
        snprintf(said.t, sizeof said.t, "waits in calls that were not recorded");
    else
        snprintf(said.t, sizeof said.t, "%s: %.*s%s%.*s", hu_host_class_words((hu_host_class)p->class), HU_FMT(doing),
                 caller.n ? ", called from " : "", HU_FMT(caller));
    return said;
}

static void say_process(const hu_ask *ask, uint32_t track, char *out, size_t room)
{
    const hu_str name = hu_str_cut(hu_trace_text(ask->trace, ask->tracks[track].process), NAME);

    snprintf(out, room, "%.*s%s(%lld)", HU_FMT(name), name.n ? " " : "process ", (long long)ask->tracks[track].pid);
}

bool hu_slow_reader_find(hu_simulation *s, const hu_digest *d, double step_ns, hu_finding *out)
{
    const hu_ask     *ask = &s->ask;
    const uint32_t    track = hu_graph_main_track(&s->graph);
    const hu_interval window = track == HU_NONE ? (hu_interval){0, 0} : hu_thread_life(ask->trace, track);
    const double      whole = (double)(window.end_ns - window.start_ns);
    hu_hint           h = {.rule = HU_RULE_SLOW_READER};
    hu_pipe_reader    p;
    char              writer[64], reader[64];
    hu_str            caller;

    if (s->graph.n_ops || !s->graph.is_whole || whole <= 0 ||
        (double)d->host_calls.by_class[HU_HOST_PIPE].total_ns < LEAST_SHARE * whole ||
        !hu_pipe_reader_find(ask, window, &p) || (double)p.waited_ns < LEAST_SHARE * whole)
        return false;
    caller = hu_str_cut(p.caller, FUNCTION);
    say_process(ask, p.writer, writer, sizeof writer);
    if (p.reader == HU_NONE) {
        hu_hint_say(&h,
                    "%s waits for room in a pipe for %s of the run (%s), in %.*s%s%.*s. Its reader takes longer for what is "
                    "written than the writer, and which process that is was not recorded.",
                    writer, hu_say_pct(100 * (double)p.waited_ns / whole).t, hu_say_time((double)p.waited_ns).t,
                    HU_FMT(hu_str_cut(p.call, NAME)), caller.n ? ", called from " : "", HU_FMT(caller));
        hu_hint_show(&h, "no process of the run reads whenever these waits end; record both: holdup run -- sh -c 'A | B'");
    } else {
        say_process(ask, p.reader, reader, sizeof reader);
        hu_hint_say(&h, "%s waits for room in a pipe for %s of the run (%s), in %.*s%s%.*s. Its reader is %s%s%s%s%s.",
                    writer, hu_say_pct(100 * (double)p.waited_ns / whole).t, hu_say_time((double)p.waited_ns).t,
                    HU_FMT(hu_str_cut(p.call, NAME)), caller.n ? ", called from " : "", HU_FMT(caller), reader,
                    (double)p.doing_ns >= MOSTLY * (double)p.waited_ns ? ", which for " : "",
                    (double)p.doing_ns >= MOSTLY * (double)p.waited_ns
                        ? hu_say_pct(100 * (double)p.doing_ns / (double)p.waited_ns).t
                        : "",
                    (double)p.doing_ns >= MOSTLY * (double)p.waited_ns ? " of that time " : "",
                    (double)p.doing_ns >= MOSTLY * (double)p.waited_ns ? say_doing(&p).t : "");
        hu_hint_show(&h, "told by its reads: %s of the %s waits end where one of them does", hu_say_count(p.matched).t,
                     hu_say_count(p.waits).t);
    }
    *out = (hu_finding){.rule = HU_RULE_SLOW_READER,
                        .n_evidence = h.n_evidence,
                        .gain_pct = (double)NAN,
                        .high_pct = 100 * (double)p.waited_ns / whole,
                        .free_pct = 100 * (double)p.waited_ns / whole,
                        .before_ns = step_ns,
                        .after_ns = (double)NAN,
                        .edit = {.kind = HU_EDIT_KINDS},
                        .confidence = p.reader == HU_NONE ? HU_CONFIDENCE_LOW : HU_CONFIDENCE_MEDIUM};
    memcpy(out->statement, h.statement, sizeof out->statement);
    memcpy(out->evidence, h.evidence, sizeof h.evidence);
    return true;
}
