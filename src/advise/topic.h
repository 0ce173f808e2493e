/* SPDX-License-Identifier: Apache-2.0
 * topic.h - what a verdict names as taking the time, and what the findings can do about that and not about something else.
 *
 * The largest share of a step and the best fix are two answers.  Where they are about different things, a reader has to be
 * told, or takes the fix for one of what was named.
 */
#ifndef HU_ADVISE_TOPIC_H
#define HU_ADVISE_TOPIC_H

#include "advise/findings.h"
#include "analyze/host_time.h"

typedef enum {
    HU_TOPIC_NONE, /* nothing that a fix could be compared with */
    HU_TOPIC_KERNELS,
    HU_TOPIC_COMMUNICATION,
    HU_TOPIC_COPIES,
    HU_TOPIC_IDLE, /* of the device */
    HU_TOPIC_LOADING,
    HU_TOPIC_CODE,    /* operators and ranges, and what these wait for */
    HU_TOPIC_RUNNING, /* that the main thread runs, as the scheduler saw */
    HU_TOPIC_UNRECORDED,
    HU_TOPIC_FILES,
    HU_TOPIC_NETWORK,
    HU_TOPIC_PIPE,
    HU_TOPIC_SLEEP,
    HU_TOPIC_CPU,   /* that it is runnable and has none */
    HU_TOPIC_TEAM,  /* of OpenMP, at a barrier */
    HU_TOPIC_WAITS, /* for other threads, processes, locks, events: for whatever those do */
    HU_TOPIC_COUNT,
} hu_topic;

typedef struct {
    hu_topic topic;
    double   share;          /* of the step, 0 to 1 */
    bool     is_of_one_rank; /* of several, whose traces were not read */
} hu_named;

/* Of the states of a main thread. */
hu_topic hu_topic_of_state(hu_host_state state);

/* Is a fix for this finding one for that time? */
bool hu_topic_has(hu_topic topic, hu_rule rule);

typedef struct {
    char t[120];
} hu_topic_words;

/*
 * Behind the sentence that names a time, before the one with the first fix: that the fix is for something else, and what one
 * for this time would save; or that it is for this, and leaves most of it.  " ..." or "".
 */
hu_topic_words hu_topic_say(hu_named named, const hu_findings *f);

/* Behind the first fix, where that is for something else and saves more than all else takes: "; it shortens …, too"; "". */
hu_topic_words hu_topic_say_more(hu_named named, const hu_findings *f);

#endif
