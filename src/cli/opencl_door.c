/* SPDX-License-Identifier: Apache-2.0
 * opencl_door.c - one sentence for each way in which commands of OpenCL have no times. */
#include "cli/opencl_door.h"

#include <inttypes.h>

#include "base/number.h"
#include "cli/command.h"

void hu_opencl_door_say(const hu_tally *t)
{
    const hu_opencl_facts *f = &t->opencl;

    if (f->untimed)
        hu_command_say("%" PRIu64 " OpenCL command%s no times: the device gave none, or its queue refused profiling",
                       f->untimed, f->untimed == 1 ? " has" : "s have");
    if (f->crowded)
        hu_command_say("%" PRIu64 " OpenCL command%s no times: too many were incomplete at once", f->crowded,
                       f->crowded == 1 ? " has" : "s have");
    if (f->unfinished)
        hu_command_say("%" PRIu64 " OpenCL command%s not complete when the program ended", f->unfinished,
                       f->unfinished == 1 ? " was" : "s were");
    if (f->failed)
        hu_command_say("%" PRIu64 " OpenCL command%s ended with an error", f->failed, hu_plural((int64_t)f->failed));
    if (f->strange)
        hu_command_say("%" PRIu64 " wait%s of OpenCL commands for events that were not recorded", f->strange,
                       hu_plural((int64_t)f->strange));
}
