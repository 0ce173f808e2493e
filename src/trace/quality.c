/* SPDX-License-Identifier: Apache-2.0
 * quality.c - names and words of the reasons. */
#include "trace/quality.h"

#include <stdio.h>

static const struct {
    const char *name, *words;
    bool        is_loss;
} reasons[] = {
#define R(id, lost, text) [HU_REASON_##id] = {#id, text, lost},
    HU_REASONS(R)
#undef R
};

const char *hu_reason_name(hu_reason reason)
{
    return reasons[reason].name;
}

const char *hu_reason_words(hu_reason reason)
{
    return reasons[reason].words;
}

bool hu_reason_is_loss(hu_reason reason)
{
    return reasons[reason].is_loss;
}

int64_t hu_quality_lost(const hu_quality *q)
{
    int64_t lost = 0;

    for (hu_reason r = 0; r < HU_REASON_COUNT; r++)
        if (reasons[r].is_loss)
            lost += q->count[r];
    return lost;
}

bool hu_quality_say_partial(const hu_quality *q, char *out, size_t room)
{
    const int64_t lost = hu_quality_lost(q);
    size_t        n = 0;

    out[0] = '\0';
    if (q->is_truncated)
        n = (size_t)snprintf(out, room, "the file is cut at byte %lld%s%s", (long long)q->truncated_at,
                             q->truncated_why[0] ? ": " : "", q->truncated_why);
    if (lost && n < room)
        n += (size_t)snprintf(out + n, room - n, "%s%lld of %lld events %s lost", n ? "; " : "", (long long)lost,
                              (long long)q->events, lost == 1 ? "was" : "were");
    if (q->outsiders && n < room)
        snprintf(out + n, room - n, "%s%lld process%s not recorded from inside", n ? "; " : "", (long long)q->outsiders,
                 q->outsiders == 1 ? " was" : "es were");
    return out[0] != '\0';
}

void hu_quality_join(hu_quality *whole, const hu_quality *part)
{
    for (int i = 0; i < HU_REASON_COUNT; i++) {
        whole->count[i] += part->count[i];
        whole->dur_ns[i] += part->dur_ns[i];
    }
    for (size_t i = 0; i < sizeof whole->by_phase / sizeof *whole->by_phase; i++)
        whole->by_phase[i] += part->by_phase[i];
    whole->events += part->events;
    whole->duration_sum_ns += part->duration_sum_ns;
    if (part->events)
        whole->has_all_events = part->has_all_events;
}
