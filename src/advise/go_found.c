/* SPDX-License-Identifier: Apache-2.0
 * go_found.c - a Go program whose threads all rest, and one whose CPU time is spent in system calls. */
#include "advise/go_found.h"

#include <math.h>

#include "advise/gates.h"
#include "advise/go_words.h"
#include "advise/say_thread.h"

enum { FEWEST_SAMPLES = 20, FUNCTION = 72, CALL = 24 };

static const double LEAST_SHARE = 0.25; /* of the run, in calls of one system call for one function */
static const double MOSTLY = 0.5;       /* of the kernel's samples for that function, that the call must hold */
static const double ALONE = 1.2;        /* CPUs that the process uses: what one thread does holds the run up */

static void add(hu_findings *f, const hu_hint *h, double high_pct)
{
    hu_finding *x = &f->at[f->n++];

    *x = (hu_finding){.rule = h->rule,
                      .n_evidence = h->n_evidence,
                      .gain_pct = (double)NAN,
                      .high_pct = high_pct,
                      .free_pct = high_pct,
                      .before_ns = f->replayed_ns,
                      .after_ns = (double)NAN,
                      .edit = {.kind = HU_EDIT_KINDS},
                      .confidence = HU_CONFIDENCE_LOW};
    memcpy(x->statement, h->statement, sizeof x->statement);
    memcpy(x->evidence, h->evidence, sizeof h->evidence);
}

/*
 * Who waits for a lock also computes in turn: without that, all CPUs could compute at once.  So what is left is the CPU
 * time, divided by the CPUs.  In percent.
 */
static double most_of_waits(const hu_digest *d)
{
    const hu_host_time *t = &d->host_time;
    const double        cpus = d->info.cpus > 0 ? (double)d->info.cpus : INFINITY;

    return 100 *
           fmax(fmin(1, t->go.nobody_ns / t->wall_ns), t->cpu_ns > 0 ? 1 - fmin(1, t->cpu_ns / (cpus * t->wall_ns)) : 1);
}

static void add_waits(const hu_digest *d, hu_findings *f)
{
    const hu_host_time *t = &d->host_time;

    const hu_said_share s = hu_say_share(t->go.nobody_ns, t->wall_ns);
    hu_hint             h = {.rule = HU_RULE_GO_WAITS};

    hu_hint_say(&h,
                "No thread of this Go program runs for %s of the run (%s): all its goroutines wait then, for timers, "
                "channels, mutexes, the network or a child process.",
                s.pct, s.of);
    hu_hint_show(&h, "for which of these, and in which function, is known to Go alone: system calls and CPU samples do not "
                     "show it");
    hu_hint_show(
        &h, "the most that can be saved is all but its CPU time on all CPUs: who waits for a lock computes in turn, too");
    hu_hint_show(&h, "a server without requests looks the same, and is well");
    add(f, &h, most_of_waits(d));
}

static void add_calls(const hu_digest *d, hu_findings *f)
{
    const hu_host_time  *t = &d->host_time;
    const hu_go_program *g = &t->go;
    const double         ns = (double)g->call_samples * (double)d->hot.sample_ns;
    const double         wants_ns = t->step_ns > 0 ? t->task_ns[HU_THREAD_RUNNABLE] / t->step_ns * t->wall_ns : 0;
    hu_hint              h = {.rule = HU_RULE_KERNEL_CALLS};
    hu_str               caller, call;

    if (g->samples < FEWEST_SAMPLES || !g->call.n || ns < LEAST_SHARE * (t->wall_ns - wants_ns) ||
        (double)g->call_samples < MOSTLY * (double)g->caller_samples)
        return;
    caller = hu_str_cut(g->caller, FUNCTION);
    call = hu_str_cut(g->call, CALL);
    hu_hint_say(&h, "%.*s spends %s of the run (%s) inside of the kernel, in the system call %.*s%s", HU_FMT(caller),
                hu_say_pct(100 * fmin(1, ns / t->wall_ns)).t, hu_say_time(ns).t, HU_FMT(call),
                t->cpu_ns < ALONE * t->wall_ns ? ": it is most of what the program does on a CPU."
                                               : ", while other threads run too.");
    hu_hint_show(&h, "%s of %s CPU samples are in that call; how often it is called, and what it moves, was not recorded",
                 hu_say_count(g->call_samples).t, hu_say_count(g->samples).t);
    /* a call costs on its way to the kernel, too: no fix saves more than all of the function, and its waits for a CPU */
    add(f, &h, 100 * fmin(1, (t->cpu_ns + wants_ns) / t->wall_ns) * (double)g->caller_all / (double)g->samples);
}

void hu_go_found_add(const hu_digest *d, hu_findings *f)
{
    if (!hu_go_is_program(d) || !(d->host_time.wall_ns > 0))
        return;
    if (f->n < HU_FINDINGS && hu_go_is_waiting(d) && !hu_host_time_child(&d->host_time))
        add_waits(d, f);
    if (f->n < HU_FINDINGS)
        add_calls(d, f);
}
