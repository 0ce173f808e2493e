/* SPDX-License-Identifier: Apache-2.0
 * flight_fit.c - do two calls of one number fit?
 *
 * Sizes are compared as elements, because [2, 3] and [6] fit; of operations whose ranks differ by right (scatter, gather,
 * all-to-all) only the side that is alike.
 */
#include "across/flight_fit.h"

static bool is_any(hu_str operation, const hu_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_has(operation, words[i]))
            return true;
    return false;
}

/* Must side 0 (inputs) or 1 (outputs) be alike on all ranks? */
static bool is_alike(hu_str operation, int side)
{
    static const hu_str free_of_both[] = {{"all_to_all", 10}, {"alltoall", 8}, {"_v", 2}, {"coalesced", 9}};
    const bool          is_reduce_scatter = hu_str_has(operation, HU_STR("reduce_scatter"));
    const bool is_all_gather = hu_str_has(operation, HU_STR("all_gather")) || hu_str_has(operation, HU_STR("allgather"));

    if (is_any(operation, free_of_both, HU_COUNT(free_of_both)))
        return false;
    if (side == 0)
        return is_reduce_scatter || !hu_str_has(operation, HU_STR("scatter"));
    return is_all_gather ||
           (!hu_str_has(operation, HU_STR("gather")) && !hu_str_starts(operation, HU_STR("reduce")) &&
            !hu_str_starts(operation, HU_STR("_reduce_oop"))) ||
           is_reduce_scatter;
}

/* Ranks that exchange nothing with each other, as in an uneven all-to-all or with empty tensors, do not meet. */
bool hu_flight_needs_all(const hu_flight_entry *e)
{
    static const hu_str words[] = {
        {"all_reduce", 10}, {"allreduce", 9}, {"all_gather", 10}, {"allgather", 9}, {"reduce_scatter", 14}};

    if (hu_str_equal(e->operation, HU_STR("barrier")))
        return true;
    return is_any(e->operation, words, HU_COUNT(words)) && !hu_str_has(e->operation, HU_STR("_v")) &&
           (e->elements[0] != 0 || e->elements[1] != 0);
}

hu_flight_cause hu_flight_compare(const hu_flight_entry *a, const hu_flight_entry *b)
{
    if (!hu_str_equal(a->operation, b->operation))
        return HU_FLIGHT_OPERATION;
    for (int side = 0; side < 2; side++) {
        if (!is_alike(a->operation, side) || a->elements[side] <= 0 || b->elements[side] <= 0)
            continue;
        if (a->elements[side] != b->elements[side])
            return HU_FLIGHT_SIZES;
        if (a->types[side].n && b->types[side].n && !hu_str_equal(a->types[side], b->types[side]))
            return HU_FLIGHT_TYPES;
    }
    return HU_FLIGHT_NOTHING;
}

bool hu_flight_is_same_call(const hu_flight_entry *a, const hu_flight_entry *b)
{
    if (hu_flight_compare(a, b) != HU_FLIGHT_NOTHING)
        return false;
    if (!a->stack || !b->stack)
        return true;
    for (size_t i = 0; i < a->stack->n && a->stack->n == b->stack->n; i++)
        if (a->stack->at[i].line != b->stack->at[i].line ||
            !hu_str_equal(a->stack->at[i].function, b->stack->at[i].function))
            return false;
    return a->stack->n == b->stack->n;
}
