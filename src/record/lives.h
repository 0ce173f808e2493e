/* SPDX-License-Identifier: Apache-2.0
 * lives.h - from when to when each process lived, where nothing watched its threads. */
#ifndef HU_RECORD_LIVES_H
#define HU_RECORD_LIVES_H

#include "record/perf_read.h"
#include "record/processes.h"

/*
 * Adds the main thread of each process as HU_TASK_ALIVE from its start to its end, as the recorder inside of it and the
 * supervisor saw them; one that was neither seen to end nor runs is taken to end with the session.  Nothing is done where
 * `files` holds states already.  False without memory.
 */
bool hu_lives_add(hu_process_list *list, hu_perf_files *files);

/* Who started each process, as these say, where perf events did not. */
void hu_lives_parents(const hu_process_list *list, hu_perf_files *files);

#endif
