/* SPDX-License-Identifier: Apache-2.0
 * gate.c - when this process records: always, or inside the steps or the ranges that the user asked for.
 *
 * The supervisor's word (hu_control.mask) comes first; this is what a process can only know by itself.
 */
#include <string.h>

#include "inject/process.h"
#include "base/banned.h"

static uint32_t depth; /* how many threads' ranges of the asked name are open */

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
    depth = 0;
    hu_the_gate->mask = hu_the_control->wants_steps || wants_range() ? (uint32_t)HU_DOOR_WATCH : ~0u;
}

void hu_gate_step(int64_t number)
{
    if (hu_the_control->wants_steps)
        open_gate(number >= hu_the_control->first_step && number <= hu_the_control->last_step);
}

/* Is it the range that was asked for?  By id once its text was seen: ids do not change. */
static bool is_asked(uint32_t text, uint32_t domain)
{
    const hu_control *c = hu_the_control;

    return text && text == hu_string_of(c->capture_range) &&
           (c->capture_domain[0] == '\0' || domain == hu_string_of(c->capture_domain));
}

static __thread uint32_t open_ranges __attribute__((tls_model("initial-exec"))); /* any, inside the asked one */
static __thread bool     is_inside __attribute__((tls_model("initial-exec")));

void hu_gate_push(uint32_t text, uint32_t domain)
{
    if (!wants_range())
        return;
    if (is_inside) {
        open_ranges++;
        return;
    }
    if (!is_asked(text, domain))
        return;
    is_inside = true;
    open_ranges = 0;
    if (__atomic_fetch_add(&depth, 1, __ATOMIC_RELAXED) == 0)
        open_gate(true);
}

void hu_gate_pop(uint32_t text, uint32_t domain)
{
    if (!is_inside || (text && !is_asked(text, domain)))
        return;
    if (!text && open_ranges > 0) {
        open_ranges--;
        return;
    }
    is_inside = false;
    if (__atomic_sub_fetch(&depth, 1, __ATOMIC_RELAXED) == 0)
        open_gate(false);
}
