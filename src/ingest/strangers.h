/* SPDX-License-Identifier: Apache-2.0
 * strangers.h - files that people have beside their traces and that holdup does not read: what they are, and what to do. */
#ifndef HU_INGEST_STRANGERS_H
#define HU_INGEST_STRANGERS_H

#include "base/str.h"

/* "a report of Nsight Systems; `nsys export …` makes a file that holdup reads", or NULL for what nobody knows. */
const char *hu_stranger_words(hu_str head);

/* The same by words inside, and by the end of a name alone, for what is known by neither. */
const char *hu_stranger_mark_words(hu_str head);
const char *hu_stranger_name_words(hu_str path);

/* The same for what a format of holdup's would take for its own. */
const char *hu_stranger_impostor_words(hu_str head);

/* Both of other profilers and tools that watch a machine, which the functions above ask. */
const char *hu_stranger_tool_words(hu_str head);
const char *hu_stranger_tool_impostor_words(hu_str head);

/* Of them, what is known by the form of its first lines. */
const char *hu_stranger_line_words(hu_str head);

/* A database of SQLite that is no export of Nsight Systems: of nvprof, of rocmProfileData, or another. */
const char *hu_stranger_database_words(bool is_nvprof, bool is_rpd);

#endif
