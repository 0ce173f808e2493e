/* SPDX-License-Identifier: Apache-2.0
 * quality.h - what is missing, cut, clamped or lost: the trace's health, shown in every report.
 *
 * Nothing is dropped silently: whoever drops or changes an event counts it here under one of these reasons.
 */
#ifndef HU_TRACE_QUALITY_H
#define HU_TRACE_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* id, is the event lost (else it was kept, changed), words */
#define HU_REASONS(R)                                                                                        \
    R(MALFORMED, true, "malformed; skipped to the next event")                                               \
    R(NO_PHASE, true, "without a phase (\"ph\"), or with an unknown one")                                    \
    R(ASYNC, false, "of asynchronous operations (b, n, e), which belong to no thread; not read")             \
    R(NO_TIME, true, "without a usable timestamp")                                                           \
    R(NO_DURATION, true, "complete, but without a usable duration")                                          \
    R(NEGATIVE_DURATION, false, "with a negative duration, read as 0")                                       \
    R(ZERO_TIME, true, "GPU operations with timestamp 0: lost by the profiler")                              \
    R(ABSURD_DURATION, true, "longer than a week: a profiler counter overflowed")                            \
    R(UNMATCHED_BEGIN, true, "with a begin, but no end")                                                     \
    R(UNMATCHED_END, true, "with an end, but no begin")                                                      \
    R(TOO_DEEP, true, "nested deeper than the limit (--limit nesting=N)")                                    \
    R(NO_STATE, true, "without the names or clocks they need: declared before the recording began, or lost") \
    R(RECORDER, true, "lost by the recorder: no room")                                                       \
    R(TORN, true, "torn: their process died while writing them")                                             \
    R(OVERWRITTEN, false, "overwritten by newer ones: a flight recorder keeps the newest")                   \
    R(UNKNOWN_ID, false, "with a reference to something undeclared; kept without it")                        \
    R(WIDE_ID, false, "with a correlation or external id beyond 32 bits, renumbered")                        \
    R(DUPLICATE_KEY, false, "with a member written twice; the last one counts")                              \
    R(ODD_WORD, false, "with NaN, Infinity, N/A or another bare word instead of a value")                    \
    R(CONTROL_CHARACTER, false, "with a control character in a name")                                        \
    R(BAD_ESCAPE, false, "with an invalid escape in a name; kept as it is")                                  \
    R(CROSSING, false, "overlapping a neighbour on the same thread without nesting")                         \
    R(STORM, false, "fast calls of the C library, counted in a slice of a call before them")

typedef enum {
#define R(id, lost, words) HU_REASON_##id,
    HU_REASONS(R)
#undef R
        HU_REASON_COUNT
} hu_reason;

typedef struct {
    int64_t count[HU_REASON_COUNT];
    int64_t dur_ns[HU_REASON_COUNT]; /* how much time is concerned, where it is known */
    int64_t events;                  /* elements of the event array that were seen, the bad ones included */
    int64_t by_phase[128];           /* by the letter of "ph" */
    int64_t duration_sum_ns;         /* over all complete events, as read */
    int64_t invalid_utf8;            /* distinct strings */
    bool    is_truncated;            /* the file ends in the middle */
    int64_t truncated_at;            /* byte offset in the decompressed file */
    char    truncated_why[256];      /* "" when the text just ends */
    char    warned[384];             /* what the profiler itself said of losses and failures, "; " between; "" nothing */
    int64_t outsiders;               /* processes of the job that were not recorded from inside */
    bool    has_all_events;          /* the list of events was seen to its end: what a cut file lost came behind it */
    int64_t trailing_bytes;          /* behind the end of the JSON document */
} hu_quality;

static inline void hu_quality_count(hu_quality *q, hu_reason reason, int64_t dur_ns)
{
    q->count[reason]++;
    q->dur_ns[reason] += dur_ns > 0 ? dur_ns : 0;
}

/* Adds what was counted in a part of the same file that lies behind all of `whole` so far. */
void hu_quality_join(hu_quality *whole, const hu_quality *part);

const char *hu_reason_name(hu_reason reason); /* snake_case, for JSON */
const char *hu_reason_words(hu_reason reason);
bool        hu_reason_is_loss(hu_reason reason);

/* Events that were lost, over all reasons. */
int64_t hu_quality_lost(const hu_quality *q);

/* What is missing of the file, in words: where it ends too early, how many events were lost.  False when nothing is. */
bool hu_quality_say_partial(const hu_quality *q, char *out, size_t room);

#endif
