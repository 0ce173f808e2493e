/* SPDX-License-Identifier: Apache-2.0
 * session.h - the directory of a recording while it is made, and its control page. */
#ifndef HU_RECORD_SESSION_H
#define HU_RECORD_SESSION_H

#include <stdbool.h>

#include "base/error.h"
#include "protocol/format.h"

typedef struct {
    char        path[HU_SESSION_PATH_MAX]; /* absolute */
    char        place[24];                 /* why there: "--scratch", "beside the output", "TMPDIR", ... */
    hu_control *control;                   /* mapped; shared with every program of the session */
} hu_session;

/*
 * Makes the directory (mode 0700) with a control page that says nothing yet: HU_SESSION_ARMED and no magic, which
 * hu_session_publish gives it when the caller has filled it.  `scratch` may be NULL: then HOLDUP_SCRATCH, the folder
 * `beside` (of the output) when it is on this machine, TMPDIR, /tmp and /dev/shm are tried in turn.  Returns 0, or
 * HU_EIO with what was tried; HU_EUSAGE when `scratch` itself cannot be used.
 */
int hu_session_make(const char *scratch, const char *beside, hu_session *out, hu_error *err);

void hu_session_publish(hu_session *session);

/* Opens or closes the gate of all its programs; the state follows: RECORDING, else PAUSED (ARMED before the first time). */
void hu_session_record(hu_control *control, bool is_recording);

/* Maps the control page of a session that runs, or has run.  HU_EIO; HU_EFORMAT when it is none of this version. */
int hu_session_open(const char *path, hu_session *out, hu_error *err);

/* Is it the page of a session of this version?  Else HU_EFORMAT, and in one sentence whose it is. */
int hu_session_judge(const hu_control *control, const char *path, hu_error *err);

/* "1.2.3" of whoever made it: what another version wrote is cut, and has no signs that steer a terminal. */
void hu_session_maker(const hu_control *control, char out[sizeof((hu_control *)0)->made_by]);

/* Unmaps; the directory stays. */
void hu_session_close(hu_session *session);

/* Removes the directory and all files in it; it has no folders.  0 or HU_EIO. */
int hu_session_remove(const char *path, hu_error *err);

/* A file of the session: "PATH/NAME" into `out`; false when it does not fit. */
bool hu_session_file(const hu_session *session, const char *name, char *out, size_t room);

/* Appends to a file of the session, mode 0600.  0 or HU_EIO. */
int hu_session_append(const hu_session *session, const char *name, const void *bytes, size_t n, hu_error *err);

#endif
