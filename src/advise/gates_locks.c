/* SPDX-License-Identifier: Apache-2.0
 * gates_locks.c - what is said of a lock whose address was recorded: which one, where it is taken, who holds it and why. */
#include "advise/gates_locks.h"
#include "advise/say_thread.h"

#include "analyze/host_calls.h"
#include "analyze/locks.h"

enum { NAME = 56, FUNCTION = 56, MANY_WAITS = 1000, SHORT_NS = 100000 };

static const double KNOWN = 0.3;  /* of the time in which threads wait: who held the lock */
static const double MOSTLY = 0.5; /* of that, what the holder does, to be told */
static const double NEARLY = 0.9; /* the same, to be told of one thread */

/* Functions of libraries in which locks wait say nothing of the program. */
static bool is_own(hu_str caller)
{
    return caller.n && !hu_str_has(caller, HU_STR("lock_contended")) && !hu_str_has(caller, HU_STR("mutex")) &&
           !hu_str_has(caller, HU_STR("Mutex")) && !hu_str_has(caller, HU_STR("::")) && !hu_str_starts(caller, HU_STR("_R"));
}

/* "table", of "m::TABLE::h5d461d2bfb9dc357" without the number of its build. */
static hu_str without_hash(hu_str name)
{
    enum { HASH = 19 }; /* ::h and 16 digits */

    if (name.n > HASH && memcmp(name.p + name.n - HASH, "::h", 3) == 0)
        name.n -= HASH;
    return hu_str_cut(name, NAME);
}

static void say_lock(const hu_lock *x, char *out, size_t room)
{
    const hu_str name = without_hash(x->name), in = hu_str_cut(x->taken_in, FUNCTION);

    if (name.n && is_own(in))
        snprintf(out, room, "the lock %.*s, taken in %.*s", HU_FMT(name), HU_FMT(in));
    else if (name.n)
        snprintf(out, room, "the lock %.*s", HU_FMT(name));
    else if (is_own(in))
        snprintf(out, room, "the lock taken in %.*s", HU_FMT(in));
    else
        snprintf(out, room, "one lock");
}

static void say_holders(const hu_scene *c, const hu_lock *x, char *out, size_t room)
{
    const hu_ask *ask = &c->s->ask;
    const hu_str  caller = hu_str_cut(x->caller, FUNCTION), function = hu_str_cut(x->function, FUNCTION);
    char          who[128], doing[256] = "";

    if ((double)x->holder_ns >= NEARLY * (double)x->known_ns)
        snprintf(who, sizeof who, "The thread %s holds it", hu_say_thread(&ask->tracks[x->holder], ask->trace).t);
    else
        snprintf(who, sizeof who, "%s threads in turn hold it", hu_say_count(x->n_holders).t);
    if ((double)x->doing_ns >= MOSTLY * (double)x->known_ns) {
        const hu_said share = hu_say_pct(100 * (double)x->doing_ns / (double)x->known_ns);
        const bool    is_one = (double)x->holder_ns >= NEARLY * (double)x->known_ns;
        const bool    is_known = function.n && (double)x->in_function >= MOSTLY * (double)x->samples;

        if (x->doing.n)
            snprintf(doing, sizeof doing, "%s in %.*s%s%.*s for %s of that time", is_one ? " and is" : " and are",
                     HU_FMT(x->doing), is_own(caller) ? ", called from " : "", (int)(is_own(caller) ? caller.n : 0),
                     caller.p, share.t);
        else
            snprintf(doing, sizeof doing, "%s for %s of that time%s%.*s", is_one ? " and computes" : " and compute", share.t,
                     is_known ? ", most of it in " : "", (int)(is_known ? function.n : 0), function.p);
    }
    snprintf(out, room, "%s while others wait%s.", who, doing);
}

static bool find_lock(const hu_scene *c, hu_lock *x)
{
    const uint8_t *inner = hu_host_calls_find_inner(&c->s->ask, c->s->scratch);

    return inner && hu_locks_find(&c->s->ask, hu_scene_main_track(c), inner, c->s->scratch, x) && x->object &&
           x->known_ns > 0;
}

static bool is_much(const hu_scene *c, const hu_lock *x)
{
    return hu_scene_is_much(c, hu_as_mean((double)x->longest_ns / (double)c->n_steps));
}

static void show_source(const hu_scene *c, const hu_lock *x, hu_hint *h)
{
    hu_hint_show(h, "told by who released it when others waited, for %s of the run",
                 hu_say_pct(100 * (double)x->known_ns / (double)c->n_steps / c->step.ns).t);
}

bool hu_scene_say_lock(const hu_scene *c, hu_hint *h, bool *is_known)
{
    char    lock[160], holders[420];
    hu_lock x;

    *is_known = find_lock(c, &x) && (x.is_gil /* said by its own rule, however much of it is known */ ||
                                     (double)x.known_ns >= KNOWN * (double)x.waited_ns / (x.n_waiters ? x.n_waiters : 1));
    if (!*is_known || x.is_gil || !is_much(c, &x))
        return false;
    say_lock(&x, lock, sizeof lock);
    say_holders(c, &x, holders, sizeof holders);
    hu_hint_say(h, "Threads wait for %s: %s in all, in %s wait%s of %s thread%s. %s", lock,
                hu_say_time((double)x.waited_ns).t, hu_say_count(x.waits).t, hu_plural(x.waits), hu_say_count(x.n_waiters).t,
                hu_plural(x.n_waiters), holders);
    show_source(c, &x, h);
    if (x.waits >= MANY_WAITS && x.waited_ns / x.waits < SHORT_NS)
        hu_hint_show(h, "contended %s times, for %s each: it is taken often and held for a short time",
                     hu_say_count(x.waits).t, hu_say_time((double)x.waited_ns / (double)x.waits).t);
    if (x.all_ns > x.waited_ns + x.waited_ns / 10)
        hu_hint_show(h, "all threads together wait %s for locks", hu_say_in_all(hu_as_sum(x.all_ns)).t);
    return true;
}

bool hu_gate_gil(const hu_scene *c, hu_hint *h)
{
    const int64_t cpus = hu_trace_get_info(c->s->ask.trace)->cpus;
    char          holders[420];
    hu_lock       x;

    if (!find_lock(c, &x) || !x.is_gil || !is_much(c, &x) || cpus == 1)
        return false;
    say_holders(c, &x, holders, sizeof holders);
    hu_hint_say(
        h,
        "Python's global interpreter lock (GIL) lets one thread compute at a time: %s threads wait for it, %s in all. "
        "%s",
        hu_say_count(x.n_waiters).t, hu_say_time((double)x.waited_ns).t, holders);
    if (cpus > 1)
        hu_hint_show(h, "the price is that of all threads computing at once, as far as %lld CPUs allow", (long long)cpus);
    h->may_gain_nothing = cpus <= 0;
    h->is_likely = true;
    return true;
}
