/* SPDX-License-Identifier: Apache-2.0
 * say_thread.h - threads and long names in sentences. */
#ifndef HU_ADVISE_SAY_THREAD_H
#define HU_ADVISE_SAY_THREAD_H

#include "trace/trace.h"

typedef struct {
    char t[96];
} hu_said_thread;

/* "renderer (4711)"; of one that has the name of its process, as most have, its number alone. */
hu_said_thread hu_say_thread(const hu_track *t, const hu_trace *trace);

/* At most so many bytes of a name, and no part of a character. */
hu_str hu_str_cut(hu_str name, size_t most);

#endif
