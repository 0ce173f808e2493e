/* SPDX-License-Identifier: Apache-2.0
 * step_log.h - what a log of a training run tells, and what it cannot: as text and as JSON. */
#ifndef HU_RENDER_STEP_LOG_H
#define HU_RENDER_STEP_LOG_H

#include "advise/say.h"
#include "analyze/step_log.h"
#include "base/out.h"
#include "render/log_hint.h"

typedef struct {
    const hu_step_log   *log;
    const hu_log_answer *answer;
    hu_arena            *scratch; /* for as long as it is written */
    size_t               top;     /* rows of each list; 0: 8 */
    size_t               width;
    bool                 is_beside; /* a trace, which can tell why */
} hu_log_report;

/* What holds the job up as far as its log tells: the greatest saving first, then what has none.  Returns how many. */
size_t hu_log_hints(const hu_log_report *r, hu_log_hint out[HU_LOG_HINTS]);

/* Why nothing here says why: of a log of steps, and of this one. */
extern const char hu_log_why_not[];
const char       *hu_log_cannot_tell(const hu_log_report *r);

const char *hu_log_role_word(hu_log_role role);

/* A time of steps; where the log does not say its unit, the number that it prints. */
hu_said hu_log_say_time(const hu_log_answer *a, double ns);

/* "The log does not say the unit of its times …"; NULL: it does. */
const char *hu_log_unit_words(const hu_step_log *log);

/* What it is that numbers of steps begin anew, into `room` bytes; false: they do not, or lines say it. */
bool hu_log_anew_words(const hu_step_log *log, char *out, size_t room);

/* "ranks", "later", "unknown" */
const char *hu_log_interval_key(hu_log_interval interval);
const char *hu_log_anew_key(hu_log_anew anew);

/* "told", "given", "rate", "clock", "unknown" */
const char *hu_log_unit_key(hu_log_unit unit);

void hu_log_text(const hu_log_report *r, hu_out *out);

/* docs/formats/step-log.md names the members. */
void hu_log_json(const hu_log_report *r, hu_out *out);

#endif
