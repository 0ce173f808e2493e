/* SPDX-License-Identifier: Apache-2.0
 * registry.h - which sessions this user runs on this machine, by name: for start, stop, status and cancel. */
#ifndef HU_RECORD_REGISTRY_H
#define HU_RECORD_REGISTRY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "record/session.h"

enum { HU_REGISTRY_NAME_BYTES = 64 };

typedef struct {
    char       name[HU_REGISTRY_NAME_BYTES];
    char       path[HU_SESSION_PATH_MAX]; /* of its directory; "": it has ended and the directory is gone */
    hu_control control;                   /* as it was when it was looked at */
    bool       is_alive;                  /* its supervisor, or a program of a session without one, runs */
    bool       is_foreign;                /* of another version: of the control page only who made it can be read */
} hu_registry_entry;

/* HU_EUSAGE when a session of that name runs already; HU_EIO when there is no place for a registry. */
int hu_registry_add(const char *name, const char *session, hu_error *err);

/* The session of this directory has ended: what it came to stays for `status`, for a day.  Nothing where another session
 * has the name by now. */
void hu_registry_end(const char *name, const char *session, const hu_control *last);

/* Those that are there, by name.  0 with *n = 0 when there are none. */
int hu_registry_list(hu_arena *arena, hu_registry_entry **out, size_t *n, hu_error *err);

#endif
