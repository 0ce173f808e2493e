/* SPDX-License-Identifier: Apache-2.0
 * gpu_door.c - one sentence for each way in which GPU work was not, or not all, recorded, and what to do about it. */
#include "cli/gpu_door.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/command.h"

static const char lead[] = "GPU work was not recorded";

/* 12040 is "12.4" */
static void version_of(uint32_t number, char out[16])
{
    snprintf(out, 16, "%u.%u", number / 1000, number % 1000 / 10);
}

static void say_old_driver(const hu_cuda_facts *f)
{
    char runtime[16], driver[16];

    version_of(f->runtime, runtime);
    version_of(f->driver, driver);
    hu_command_say("CUDA %s runtime on a %s driver: no GPU work could start; update the driver, or use a program built for "
                   "CUDA %u",
                   runtime, driver, f->driver / 1000);
}

static void say_taken(const hu_cuda_facts *f)
{
    if (strcmp(f->what, "cuptiFinalize") == 0)
        hu_command_say("%s detached CUPTI: GPU work after that was not recorded",
                       f->other[0] ? f->other : "another part of the program");
    else if (f->code == 0)
        hu_command_say("%s asked for CUPTI (%s): GPU work after that was not recorded",
                       f->other[0] ? f->other : "another part of the program", f->what);
    else
        hu_command_say("%s: another tool%s%s%s has subscribed to CUPTI (code %d); use one of them at a time", lead,
                       f->other[0] ? " (" : "", f->other, f->other[0] ? ")" : "", f->code);
}

/* CUPTI 13.3 refuses a clock to those who share it, and without one nothing lies beside the rest of the trace. */
static void say_failed(const hu_cuda_facts *f)
{
    if (strcmp(f->what, "CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK") == 0)
        hu_command_say(
            "%s: another tool shares CUPTI, and %s before 13.4 gives no second one a clock; use CUPTI 13.4 or later, "
            "or record without the other tool",
            lead, f->library[0] ? f->library : "CUPTI");
    else
        hu_command_say("%s: %s failed (code %d)", lead, f->what, f->code);
}

static void say_state(hu_cuda_state state, const hu_cuda_facts *f)
{
    switch (state) {
    case HU_CUDA_NO_DRIVER:
        hu_command_say("no GPU work to record: the CUDA runtime is loaded, but this machine runs no NVIDIA driver");
        break;
    case HU_CUDA_OLD_DRIVER:
        say_old_driver(f);
        break;
    case HU_CUDA_NO_CUPTI:
        hu_command_say(
            "%s: no libcupti was found that fits the driver; install nvidia-cuda-cupti (pip) or the CUDA toolkit, "
            "or set CUDA_HOME",
            lead);
        break;
    case HU_CUDA_LACKS_FUNCTION:
        hu_command_say("%s: %s has no function %s; install CUPTI of CUDA 11.8 or later", lead,
                       f->library[0] ? f->library : "libcupti", f->what);
        break;
    case HU_CUDA_NO_DEVICE:
        hu_command_say("%s: %s cannot reach a GPU (%s: code %d): there is none, or the driver is older than CUPTI", lead,
                       f->library[0] ? f->library : "CUPTI", f->what, f->code);
        break;
    case HU_CUDA_TAKEN:
        say_taken(f);
        break;
    case HU_CUDA_REFUSED:
        hu_command_say("%s: no permission (%s: code %d); the driver's option NVreg_RestrictProfilingToAdminUsers=0 gives it",
                       lead, f->what, f->code);
        break;
    case HU_CUDA_FAILED:
        say_failed(f);
        break;
    case HU_CUDA_DISABLED:
        if (strcmp(f->other, "none") != 0)
            hu_command_say("GPU work, if there was any, was not recorded: the program's CUDA_INJECTION64_PATH %s%s",
                           f->other[0] ? "names " : "was removed", f->other);
        break;
    case HU_CUDA_UNTOUCHED:
    case HU_CUDA_READY:
    case HU_CUDA_RECORDED:
    case HU_CUDA_STATES:
        break;
    }
}

/* By the numbers of CUPTI's kinds. */
static void say_missed(uint64_t kinds)
{
    static const struct {
        unsigned    kind;
        const char *words;
    } names[] = {{1, "copies"},
                 {2, "memsets"},
                 {5, "calls of the runtime"},
                 {17, "costs"},
                 {22, "peer copies"},
                 {36, "events"},
                 {38, "waits"},
                 {49, "memory"},
                 {51, "graphs"},
                 {56, "host functions of graphs"},
                 {58, "host functions"}};
    char text[160] = "";

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (kinds >> names[i].kind & 1)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? ", " : "", names[i].words);
    hu_command_say("CUPTI refused to record: %s", text);
}

static void say_losses(const hu_cuda_facts *f, double ticks_per_second)
{
    char time[HU_UNIT_BYTES];

    if (f->hangs)
        hu_command_say("CUPTI did not give its last GPU records within 3 s: some are missing, and nobody knows how many");
    if (f->dropped)
        hu_command_say("CUPTI dropped %" PRIu64 " GPU records: its buffers were full", f->dropped);
    if (f->thrown)
        hu_command_say("%" PRIu64 " GPU records were thrown away: the thread that decodes them had too little CPU time",
                       f->thrown);
    if (f->no_time)
        hu_command_say("%" PRIu64 " GPU operation%s missing: CUPTI had no room for time stamps", f->no_time,
                       f->no_time == 1 ? " is" : "s are");
    if (f->unknown)
        hu_command_say("%" PRIu64 " GPU records are of kinds that this version of holdup does not know", f->unknown);
    if (f->missed_kinds)
        say_missed(f->missed_kinds);
    if (f->yielded && ticks_per_second > 0) {
        hu_units_time(time, (double)f->yielded / ticks_per_second * 1e9);
        hu_command_say("%s for %s: %s used CUPTI meanwhile", lead, time,
                       f->other[0] ? f->other : "another part of the program");
    }
}

void hu_gpu_door_say(const hu_tally *t, double ticks_per_second)
{
    for (int i = HU_CUDA_UNTOUCHED; i < HU_CUDA_STATES; i++)
        if (t->cuda_processes[i])
            say_state((hu_cuda_state)i, &t->cuda[i]);
    say_losses(&t->cuda_losses, ticks_per_second);
}
