/* SPDX-License-Identifier: Apache-2.0
 * opencl_thread.c - asks for the times of commands that are complete, beside the program.
 *
 * No callback: it would run in a thread of the driver, on the device's time, and a program sees the order of its own.  No
 * wait either: that would flush queues which the program did not flush.  The thread begins with the first command.
 */
#include "inject/helper_thread.h"
#include "inject/opencl.h"
#include "inject/sys.h"
#include "base/banned.h"

static void begin(void)
{
    hu_opencl_facts *facts = hu_cl_facts();

    if (facts)
        facts->tid = hu_sys_tid();
}

/* What it has cost so far is part of the price of the recording. */
static bool look(bool is_last)
{
    hu_opencl_facts *facts = hu_cl_facts();

    hu_cl_commands_read(is_last);
    if (facts)
        facts->asking_ns = hu_helper_cpu_ns();
    return true;
}

static hu_helper thread = {.name = "holdup-opencl", .begin = begin, .look = look};

void hu_cl_thread_need(void)
{
    (void)hu_helper_start(&thread);
}

void hu_cl_thread_wake(void)
{
    hu_helper_wake(&thread);
}

void hu_cl_thread_end(void)
{
    (void)hu_helper_end(&thread);
}

void hu_cl_thread_forked(void)
{
    hu_helper_forked(&thread);
}
