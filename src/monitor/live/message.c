/* SPDX-License-Identifier: Apache-2.0
 * message.c - sizes, limits and UTF-8. */
#include "monitor/live/message.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

enum { PID_MOST = 1 << 22, RANK_MOST = 1 << 24 }; /* of the kernel; more ranks than any machine has */

/* A rank below its number of ranks, where both are known. */
static bool is_place(int32_t i, int32_t n)
{
    return i >= -1 && i < RANK_MOST && (n == -1 || (n > 0 && n <= RANK_MOST && i < n));
}

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns <= HU_LIVE_MOST_TIME;
}

static bool are_counts(const uint64_t *counts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i] > (uint64_t)HU_LIVE_MOST)
            return false;
    return true;
}

static bool are_numbers(const hu_live_datagram *d)
{
    const uint64_t counts[] = {d->steps, d->step_ns, d->samples, d->tokens, d->checkpoints};

    return d->pid > 0 && d->pid <= PID_MOST && d->measured < 1u << HU_LIVE_CAUSES_ROOM && is_place(d->rank, d->world_size) &&
           is_place(d->local_rank, d->local_size) && d->step_number >= -1 && d->step_number <= HU_LIVE_MOST &&
           is_time(d->sent_ns) && is_time(d->step_since_ns) && is_time(d->last_step_ns) && is_time(d->now_since_ns) &&
           d->now <= HU_LIVE_CAUSES_ROOM && d->is_over <= 1 && are_counts(counts, sizeof counts / sizeof *counts) &&
           are_counts(d->cause_ns, HU_LIVE_CAUSES_ROOM) && are_counts(d->histogram, HU_LIVE_LIMITS + 1);
}

/* Ends within its room, is UTF-8 and has no sign that controls a terminal. */
static bool is_text(const char *text, size_t room)
{
    hu_str s = {text, strnlen(text, room)};

    if (s.n == room)
        return false;
    while (s.n) {
        const uint32_t code = hu_utf8_next(&s);

        if (code == HU_UTF8_BAD || code < ' ' || (code >= 0x7f && code < 0xa0))
            return false;
    }
    return true;
}

hu_live_verdict hu_live_message_read(const void *bytes, size_t n, hu_live_datagram *out)
{
    if (n < sizeof *out)
        return HU_LIVE_MALFORMED;
    memcpy(out, bytes, sizeof *out);
    if (out->magic != HU_LIVE_MAGIC || out->version < HU_LIVE_VERSION || out->bytes != n ||
        (out->version == HU_LIVE_VERSION && n != sizeof *out) || !are_numbers(out))
        return HU_LIVE_MALFORMED;
    if (!is_text(out->job_id, sizeof out->job_id) || !is_text(out->step_id, sizeof out->step_id) ||
        !is_text(out->name, sizeof out->name))
        return HU_LIVE_TEXT;
    return HU_LIVE_TAKEN;
}

bool hu_live_message_falls(const hu_live_datagram *before, const hu_live_datagram *now)
{
    bool falls = now->steps < before->steps || now->step_ns < before->step_ns || now->samples < before->samples ||
                 now->tokens < before->tokens || now->checkpoints < before->checkpoints;

    for (size_t i = 0; i < HU_LIVE_CAUSES_ROOM; i++)
        falls |= now->cause_ns[i] < before->cause_ns[i];
    for (size_t i = 0; i <= HU_LIVE_LIMITS; i++)
        falls |= now->histogram[i] < before->histogram[i];
    return falls;
}
