/* SPDX-License-Identifier: Apache-2.0
 * gate.c - when this process records: always, or inside the steps or the ranges that the user asked for.
 *
 * The supervisor's word (hu_control.mask) comes first; this is what a process can only know by itself.
 *
 * Ranges that are pushed belong to a thread, and to a domain; those that are started, to the process: any thread may end
 * them.  A forked child is where its parent's thread was: inside of the ranges of that thread, which it ends by itself,
 * and of the process's; of other threads' it knows nothing.  vfork makes no such child, and what exec or posix_spawn
 * starts is outside of all ranges.
 */
#include <string.h>

#include "inject/process.h"
#include "base/banned.h"

static uint32_t depth;      /* how many ranges of the asked name are open: threads that are inside of one, and ... */
static uint32_t n_started;  /* ... how many of those are the process's */
static bool     is_in_step; /* that is recorded */

static bool wants_range(void)
{
    return hu_the_control->capture_range[0] != '\0';
}

static void mark(hu_record_type type)
{
    hu_record *r = hu_ring_take(1);

    if (r) {
        r->time = hu_ticks();
        hu_ring_publish(r, type);
    }
}

static void open_gate(bool is_open)
{
    const uint32_t now = __atomic_load_n(&hu_the_gate->mask, __ATOMIC_RELAXED);
    const uint32_t next = is_open ? ~0u : HU_DOOR_WATCH;

    if (now == next)
        return;
    if (!is_open)
        mark(HU_RECORD_PAUSE);
    __atomic_store_n(&hu_the_gate->mask, next, __ATOMIC_RELAXED);
    if (is_open)
        mark(HU_RECORD_RESUME);
}

void hu_gate_init(void)
{
    depth = n_started = 0;
    is_in_step = false;
    hu_the_gate->mask = hu_the_control->wants_steps || wants_range() ? (uint32_t)HU_DOOR_WATCH : ~0u;
}

void hu_gate_step(int64_t number)
{
    if (!hu_the_control->wants_steps)
        return;
    is_in_step = number >= hu_the_control->first_step && number <= hu_the_control->last_step;
    open_gate(is_in_step);
}

/* Is it the range that was asked for?  By id once its text was seen: ids do not change. */
static bool is_asked(uint32_t text, uint32_t domain)
{
    const hu_control *c = hu_the_control;

    return text && text == hu_string_of(c->capture_range) &&
           (c->capture_domain[0] == '\0' || domain == hu_string_of(c->capture_domain));
}

/* This thread's. */
static __thread uint32_t open_ranges __attribute__((tls_model("initial-exec"))); /* of that domain, inside the asked one */
static __thread uint32_t inside_domain __attribute__((tls_model("initial-exec")));
static __thread bool     is_inside __attribute__((tls_model("initial-exec")));

static void enter(void)
{
    if (__atomic_fetch_add(&depth, 1, __ATOMIC_RELAXED) == 0)
        open_gate(true);
}

static void leave(void)
{
    if (__atomic_sub_fetch(&depth, 1, __ATOMIC_RELAXED) == 0)
        open_gate(false);
}

void hu_gate_push(uint32_t text, uint32_t domain)
{
    if (!wants_range())
        return;
    if (is_inside) {
        open_ranges += domain == inside_domain;
        return;
    }
    if (!is_asked(text, domain))
        return;
    is_inside = true;
    inside_domain = domain;
    open_ranges = 0;
    enter();
}

void hu_gate_pop(uint32_t domain)
{
    if (!is_inside || domain != inside_domain)
        return;
    if (open_ranges > 0) {
        open_ranges--;
        return;
    }
    is_inside = false;
    leave();
}

void hu_gate_start(uint32_t text, uint32_t domain)
{
    if (!wants_range() || !is_asked(text, domain))
        return;
    __atomic_fetch_add(&n_started, 1, __ATOMIC_RELAXED);
    enter();
}

void hu_gate_stop(uint32_t text, uint32_t domain)
{
    uint32_t n = __atomic_load_n(&n_started, __ATOMIC_RELAXED);

    if (!wants_range() || !is_asked(text, domain))
        return;
    while (n > 0 && !__atomic_compare_exchange_n(&n_started, &n, n - 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (n > 0)
        leave();
}

void hu_gate_thread_ends(void)
{
    if (!is_inside)
        return;
    is_inside = false;
    leave();
}

/* The page of the gate was wiped. */
void hu_gate_forked(void)
{
    const bool is_limited = hu_the_control->wants_steps || wants_range();

    depth = n_started + is_inside;
    hu_the_gate->mask = !is_limited || depth > 0 || is_in_step ? ~0u : (uint32_t)HU_DOOR_WATCH;
}
