/* SPDX-License-Identifier: Apache-2.0
 * gates_children.c - what nominates the diagnosis of child processes that compute while their parent waits. */
#include "advise/gates.h"
#include "advise/lone_work.h"

enum { NAME = 40, FILE_NAME = 48, FUNCTION = 72 }; /* bytes of a name that are said */

static const double CROWDED = 0.05; /* of the time that a process wants to run: so long it waits, and has no CPU */
static const double UNEVEN = 1.1;   /* times as long as they could that the children must take */
static const double IN_TURN = 0.9;  /* of their work, that they take: hardly two of them at once */
static const double BESIDE = 0.9;   /* of one child alone, what is left beside its parent's work, for that to be told */
static const double ALONE = 0.25;   /* of the children's time, for it to be said that one of them computes alone */

typedef struct {
    char t[112];
} said_process;

static hu_str cut(hu_str name, size_t most)
{
    size_t n = name.n > most ? most : name.n;

    while (n && n < name.n && ((unsigned char)name.p[n] & 0xc0) == 0x80)
        n--;
    return (hu_str){name.p, n};
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._/+-", c);
}

/* "dir/big.c" is the file big.c: no option, no text of a shell, and a suffix of letters.  "" for other arguments. */
static hu_str file_of(hu_str argument)
{
    size_t from = 0, suffix = 0;

    if (!argument.n || argument.p[0] == '-')
        return HU_STR("");
    for (size_t i = 0; i < argument.n; i++) {
        if (!argument.p[i] || !is_plain(argument.p[i]))
            return HU_STR("");
        if (argument.p[i] == '/')
            from = i + 1;
        else if (argument.p[i] == '.')
            suffix = i + 1;
    }
    if (suffix <= from + 1 || suffix >= argument.n || (argument.p[suffix] >= '0' && argument.p[suffix] <= '9'))
        return HU_STR("");
    return (hu_str){argument.p + from, argument.n - from};
}

/* The first argument of a process that is a file. */
static hu_str first_file(hu_str command)
{
    bool is_program = true;

    for (size_t from = 0, to; from < command.n; from = to + 1) {
        hu_str file;

        for (to = from; to < command.n && command.p[to] != '\n'; to++)
            ;
        file = file_of((hu_str){command.p + from, to - from});
        if (file.n && !is_program)
            return file;
        is_program = false;
    }
    return HU_STR("");
}

/* "cc1 (big.c)", "gzip", "process 4711" */
static said_process say_process(const hu_track *t, const hu_trace *trace)
{
    const hu_str name = cut(hu_trace_text(trace, t->process), NAME);
    const hu_str file = cut(first_file(hu_trace_text(trace, t->command)), FILE_NAME);
    said_process said;

    if (!name.n)
        snprintf(said.t, sizeof said.t, "process %lld", (long long)t->pid);
    else if (file.n)
        snprintf(said.t, sizeof said.t, "%.*s (%.*s)", HU_FMT(name), HU_FMT(file));
    else
        snprintf(said.t, sizeof said.t, "%.*s", HU_FMT(name));
    return said;
}

/* ", most of it in squeeze" */
static said_process say_function(const hu_waited_children *x, const hu_trace *trace)
{
    const hu_str function = cut(hu_trace_text(trace, x->function), FUNCTION);
    said_process said = {""};

    if (function.n)
        snprintf(said.t, sizeof said.t, ", most of it in %.*s", HU_FMT(function));
    return said;
}

static void say_alone(const hu_scene *c, hu_hint *h, const hu_waited_children *x, const char *parent, const char *child)
{
    const hu_trace *trace = c->s->ask.trace;
    const hu_str    call = hu_trace_text(trace, x->started_by);

    hu_hint_say(h, "%s waits for its child process %s%s%.*s. That computes for %s%s.", parent, child,
                call.n ? ", started by " : "", HU_FMT(call), hu_scene_share(c, hu_as_mean((double)x->run_ns)).t,
                say_function(x, trace).t);
    hu_lone_work_say(c, HU_EDIT_CHILDREN, h);
    if ((double)x->beside_ns < BESIDE * (double)x->span_ns)
        hu_hint_show(h,
                     "beside what the command itself computes, all but %s of it would be hidden, if neither needs the other",
                     hu_say_time((double)x->beside_ns).t);
}

static void say_several(const hu_scene *c, hu_hint *h, const hu_waited_children *x, const char *parent, const char *child)
{
    const hu_trace *trace = c->s->ask.trace;
    const int64_t   cpus = hu_trace_get_info(trace)->cpus;

    hu_hint_say(h, "%s waits for %s child processes%s, which compute for %s together. The longest, %s, computes for %s%s.",
                parent, hu_say_count(x->n).t, (double)x->span_ns >= IN_TURN * (double)x->all_ns ? " in turn" : "",
                hu_say_time((double)x->all_ns).t, child, hu_scene_share(c, hu_as_mean((double)x->run_ns)).t,
                say_function(x, trace).t);
    if ((double)x->alone_ns >= ALONE * (double)x->span_ns && (double)x->span_ns < IN_TURN * (double)x->all_ns)
        hu_hint_show(h, "for %s of that time no other child computes, and the job may use %lld CPU%s",
                     hu_say_time((double)x->alone_ns).t, (long long)cpus, hu_plural(cpus));
    if (x->is_shared) {
        hu_hint_show(h, "the price is that of the same work in equal parts: %s in all instead of %s",
                     hu_say_time((double)x->even_ns).t, hu_say_time((double)x->span_ns).t);
        return;
    }
    hu_hint_show(h, "the price is that of the same processes on %lld CPUs, the longest first: %s instead of %s",
                 (long long)cpus, hu_say_time((double)(x->first_ns > x->even_ns ? x->first_ns : x->even_ns)).t,
                 hu_say_time((double)x->span_ns).t);
    hu_hint_show(h,
                 "the interval reaches from nothing, where each needs the one before it, to their work in equal parts: %s",
                 hu_say_time((double)x->even_ns).t);
    h->may_gain_nothing = true;
}

bool hu_gate_waited_child(const hu_scene *c, hu_hint *h)
{
    const hu_trace           *trace = c->s->ask.trace;
    const hu_waited_children *x = hu_edit_waited_children(hu_pricer_facts(c->s->pricer));
    said_process              child, parent;

    if (!x->n || hu_waited_children_left(x, true) * UNEVEN > 1 || !hu_scene_is_much(c, hu_as_mean((double)x->run_ns)))
        return false;
    child = say_process(&c->s->ask.tracks[x->track], trace);
    parent = say_process(&c->s->ask.tracks[x->parent], trace);
    if (x->n == 1)
        say_alone(c, h, x, parent.t, child.t);
    else
        say_several(c, h, x, parent.t, child.t);
    if (x->function && x->n == 1)
        hu_hint_show(h, "%lld of its %lld CPU samples are in %.*s", (long long)x->in_function, (long long)x->samples,
                     HU_FMT(cut(hu_trace_text(trace, x->function), FUNCTION)));
    if (x->n > 1 && (double)x->wants_ns > CROWDED * (double)(x->run_ns + x->wants_ns)) {
        hu_hint_show(h, "it waits for a CPU for %s: where other programs take the CPUs, sharing the work may gain nothing",
                     hu_say_in_all(hu_as_sum(x->wants_ns)).t);
        h->may_gain_nothing = true;
    }
    h->is_likely = true;
    return true;
}
