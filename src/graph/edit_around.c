/* SPDX-License-Identifier: Apache-2.0
 * edit_around.c - what a program does around calls that go, and that may go with them.
 *
 * A database writes a journal, syncs it, removes it: between these calls it builds pages and sums, for their sake alone.
 * Python makes an object and lets the interpreter lock go for each write of 40 bytes.  No recording tells this from what
 * the program does for itself, so it is in no price: only the interval reaches to it.
 *
 * Between two calls that read or write files, what takes less than either of them is taken to be how that is done.  Between
 * two of many small calls it is a third of the time: of programs that were timed with a buffer and without, in C, C++, Rust,
 * Java and Python, nothing to 28 % of it went away.
 */
#include "graph/edit_host.h"

static const double  PART = 1.0 / 3;
static const int64_t NEXT_NS = 25000; /* small calls that are further apart are not those of one loop */

static bool is_call(const hu_node *n)
{
    return n->class == HU_CLASS_IO && n->slice != HU_NONE && n->merged == HU_NONE;
}

static int64_t calls_of(const hu_graph *g, const hu_node *n)
{
    const uint32_t row = g->ask->s.detail[n->slice];
    const int64_t  calls = row == HU_NONE ? 0 : hu_trace_os_detail(g->ask->trace, row)->calls;

    return calls ? calls : 1;
}

/* What is taken from the time between two calls of a thread. */
static int64_t around(const hu_edit_facts *f, uint32_t before, uint32_t between, uint32_t behind, bool is_small)
{
    const hu_node *a = &f->g->node[before], *gap = &f->g->node[between], *b = &f->g->node[behind];
    const int64_t  took_ns = gap->seen_ns - hu_edit_lost_cpu_ns(f, between);
    const bool     small = hu_edit_small_call_ns(f, before) >= 0 && hu_edit_small_call_ns(f, behind) >= 0;

    if (!is_call(a) || !is_call(b) || gap->slice != HU_NONE || gap->call != HU_CALL_NONE || gap->after != HU_NONE ||
        gap->merged != HU_NONE || small != is_small)
        return 0;
    if (is_small)
        return took_ns <= NEXT_NS * calls_of(f->g, a) ? (int64_t)(PART * (double)gap->cost_ns) : 0;
    return took_ns < a->seen_ns && took_ns < b->seen_ns ? gap->cost_ns : 0;
}

void hu_edit_around(const hu_edit_facts *f, bool is_small, hu_costs *c)
{
    const hu_graph *g = f->g;
    uint32_t       *last = !g->n_ops ? hu_arena_alloc(f->arena, 2 * (g->n_lanes + 1) * sizeof *last) : NULL;

    if (!last)
        return;
    memset(last, 0xff, 2 * (g->n_lanes + 1) * sizeof *last);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t *of = &last[2 * g->node[i].lane]; /* the node before, and the one before that */

        if (of[0] != HU_NONE && of[1] != HU_NONE) {
            const int64_t less = around(f, of[1], of[0], i, is_small);

            c->node[of[0]] = c->node[of[0]] > less ? c->node[of[0]] - less : 0;
        }
        of[1] = of[0];
        of[0] = i;
    }
}
