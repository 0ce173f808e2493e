/* SPDX-License-Identifier: Apache-2.0
 * rocpd_parts.h - which processes a database of rocprofv3 holds. */
#ifndef HU_INGEST_ROCPD_PARTS_H
#define HU_INGEST_ROCPD_PARTS_H

#include "base/arena.h"
#include "base/late/sqlite.h"

/* Endings of its tables, one for each process or merged capture; a code of SQLite. */
int rocpd_list_endings(sqlite3 *db, hu_arena *arena, const char **out, size_t most, size_t *n);

/* Processes with kernels, at most `most`, each once, in order; returns how many. */
size_t rocpd_list_pids(sqlite3 *db, hu_arena *arena, int64_t *out, size_t most);

#endif
