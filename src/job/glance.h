/* SPDX-License-Identifier: Apache-2.0
 * glance.h - one look at each file of a command: what its beginning tells, kept for whoever asks next. */
#ifndef HU_JOB_GLANCE_H
#define HU_JOB_GLANCE_H

#include "ingest/format.h"
#include "job/kind.h"

typedef struct {
    bool is_open; /* a regular file that can be read; else nothing is known, and the rest is zeros */

    hu_input_kind    kind;
    const hu_format *format;   /* that takes the beginning for its own; NULL: none */
    const char      *impostor; /* why that format is wrong; NULL: it is not */
    const char      *stranger; /* what it is, where no format or only that of any JSON takes it; NULL: nobody knows */

    bool is_empty, is_text;
    bool has_zeros;    /* as no text has */
    bool is_json;      /* begins like it */
    bool has_events;   /* names the members that events have */
    bool is_execution; /* an execution trace, whatever else it may be */
    bool is_curve;     /* of memory_profiler */
    bool is_database;  /* of SQLite */
    bool is_whole;     /* all of the file was seen */
    bool is_stray;     /* named like a trace, and none (job/stray.h) */
    char last;         /* byte of the beginning that is no space */
} hu_glance;

typedef struct hu_glances hu_glances;

/* Nothing was seen yet.  NULL when there is no memory. */
hu_glances *hu_glances_new(hu_arena *arena, const hu_limits *limits);

/* As they were said. */
const hu_limits *hu_glances_limits(const hu_glances *glances);

/*
 * Looks at those that were not seen before, several at once; "run//a" is "run/a".  A text that no format knows is read on
 * until it is known to be a log.  Returns 0 or HU_ENOMEM.
 */
int hu_glances_take(hu_glances *glances, const char *const *paths, size_t n, hu_error *err);

/* What was seen of a file, for as long as the arena lives; NULL: nothing yet. */
const hu_glance *hu_glances_find(const hu_glances *glances, const char *path);

/* Both for each of n files, in their order; the list lives in the arena.  NULL when there is no memory. */
const hu_glance **hu_glances_each(hu_glances *glances, const char *const *paths, size_t n, hu_error *err);

/* Both for one file.  NULL when there is no memory. */
const hu_glance *hu_glances_at(hu_glances *glances, const char *path, hu_error *err);

/* The beginning alone, which is not kept, without `kind` and `is_stray`: of files that are many, and seldom wanted. */
hu_glance hu_glance_briefly(const hu_glances *glances, const char *path);

/* May it hold a trace?  Settings are JSON, too: of that, only what has events. */
bool hu_glance_may_have_events(const hu_glance *look);

/* Does the text of JSON have the words that events come with? */
bool hu_glance_names_events(hu_str text);

/* Does the format of this name take the beginning? */
bool hu_glance_is_of(const hu_glance *look, const char *format);

#endif
