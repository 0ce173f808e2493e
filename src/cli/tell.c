/* SPDX-License-Identifier: Apache-2.0
 * tell.c - a request on a control page, and the wait for its answer. */
#include "cli/tell.h"

#include <time.h>

enum { ANSWER_NS = 5000000, ANSWER_TRIES = 1000 }; /* five seconds */

int hu_tell_session(const hu_registry_entry *e, hu_told command, hu_error *err)
{
    const struct timespec nap = {0, ANSWER_NS};
    hu_session            s;
    uint32_t              request;

    if (hu_session_open(e->path, &s, err) < 0)
        return err->code;
    if (s.control->supervisor == 0) {
        hu_session_record(s.control, command == HU_TOLD_START);
        hu_session_close(&s);
        return 0;
    }
    s.control->command = command;
    request = __atomic_add_fetch(&s.control->request, 1, __ATOMIC_ACQ_REL);
    for (int i = 0; i < ANSWER_TRIES && __atomic_load_n(&s.control->answered, __ATOMIC_ACQUIRE) != request; i++)
        nanosleep(&nap, NULL);
    if (s.control->answered != request)
        hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "%s does not answer; check whether its holdup process is stopped", e->name);
    else
        err->code = 0;
    hu_session_close(&s);
    return err->code;
}
