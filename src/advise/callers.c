/* SPDX-License-Identifier: Apache-2.0
 * callers.c - the call site of a call is where its user looks first: the name of the call alone is everywhere. */
#include "advise/callers.h"

#include <stdio.h>

#include "advise/say_thread.h"
#include "analyze/wakes.h"

static const double MOST = 0.6; /* of the time in such calls, that one function must make, to be told alone */

enum { FUNCTION = 60 };

hu_said_caller hu_scene_say_caller(const hu_scene *c, hu_str call)
{
    const hu_ask  *ask = &c->s->ask;
    const uint32_t main = hu_scene_main_track(c), name = hu_trace_find_text(ask->trace, call);
    const size_t   n = hu_trace_string_count(ask->trace);
    int64_t       *ns = hu_arena_calloc(c->s->scratch, n + 1, sizeof *ns), all = 0;
    uint32_t       most = 0;
    hu_said_caller said = {""};

    for (uint32_t i = 0; ns && main != HU_NONE && i < ask->s.n; i++) {
        const hu_wait_detail *d;

        if (ask->s.kind[i] != HU_KIND_OS_CALL || ask->s.name[i] != name ||
            ask->tracks[ask->s.track[i]].pid != ask->tracks[main].pid)
            continue;
        all += ask->s.dur_ns[i];
        d = hu_wakes_detail(ask, i);
        if (!d || !d->caller)
            continue;
        ns[d->caller] += ask->s.dur_ns[i];
        most = ns[d->caller] > ns[most] ? d->caller : most;
    }
    if (most && (double)ns[most] >= MOST * (double)all) {
        const hu_str caller = hu_str_cut(hu_trace_text(ask->trace, most), FUNCTION);

        snprintf(said.t, sizeof said.t, ", called from %.*s", HU_FMT(caller));
    }
    return said;
}
