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

#include "inject/nccl.h"
#include "inject/process.h"
#include "base/banned.h"

static uint32_t n_started;  /* ranges of the asked name that are open and the process's */
static bool     is_in_step; /* that is recorded */

static bool wants_range(void)
{
    return hu_the_control->capture_range[0] != '\0';
}

/* Is there anything that opens and closes it? */
static bool is_limited(void)
{
    return hu_the_control->wants_steps || wants_range() || hu_the_control->cuda & HU_CUDA_ONLY_RANGE;
}

static void mark(hu_record_type type, uint64_t ticks)
{
    hu_record *r = hu_ring_take(1);

    if (r) {
        r->time = ticks;
        hu_ring_publish(r, type);
    }
}

static uint64_t word_of(uint32_t reasons)
{
    return (uint64_t)reasons << 32 | ((int32_t)reasons > 0 ? ~0u : (uint32_t)(HU_DOOR_WATCH | HU_DOOR_LIVE));
}

/*
 * One reason more or less to be open: a thread inside of a range, a range that was started, a step.  Reasons and doors are
 * one word: were they two, the last thread to leave could close the gate behind one that has just entered and found it
 * open.  A mark has the time before its change, so that marks are in the order of the changes.
 */
static void change_reasons(uint32_t by)
{
    uint64_t was = __atomic_load_n(&hu_the_gate->mask_and_reasons, __ATOMIC_RELAXED), next, ticks;

    do {
        next = word_of((uint32_t)(was >> 32) + by);
        ticks = hu_ticks();
    } while (
        !__atomic_compare_exchange_n(&hu_the_gate->mask_and_reasons, &was, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    if ((uint32_t)was == (uint32_t)next)
        return;
    mark((uint32_t)next == ~0u ? HU_RECORD_RESUME : HU_RECORD_PAUSE, ticks);
    hu_nccl_gate_changed();
    hu_cuda_look((uint32_t)next == ~0u);
}

static void enter(void)
{
    change_reasons(1);
}

static void leave(void)
{
    change_reasons(-1u);
}

void hu_gate_init(void)
{
    n_started = 0;
    is_in_step = false;
    hu_the_gate->mask_and_reasons = is_limited() ? word_of(0) : ~0u;
}

void hu_gate_step(int64_t number)
{
    const bool is_recorded = number >= hu_the_control->first_step && number <= hu_the_control->last_step;

    if (!hu_the_control->wants_steps || __atomic_exchange_n(&is_in_step, is_recorded, __ATOMIC_RELAXED) == is_recorded)
        return;
    if (is_recorded)
        enter();
    else
        leave();
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

void hu_gate_range(bool begins)
{
    if (begins)
        enter();
    else
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
    hu_the_gate->mask_and_reasons = is_limited() ? word_of(n_started + is_inside + is_in_step) : ~0u;
}
