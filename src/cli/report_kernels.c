/* SPDX-License-Identifier: Apache-2.0
 * report_kernels.c - the launches of all files together. */
#include "cli/report_kernels.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "job/beside.h"
#include "render/counters.h"

enum { DEFAULT_TOP = 10 };

int hu_report_kernels(const hu_inputs *inputs, const hu_shared *options, hu_arena *arena)
{
    hu_counters        counters = {0};
    hu_kernel_groups   groups;
    hu_counters_report r = {.counters = &counters,
                            .groups = &groups,
                            .top = options->top ? (size_t)options->top : DEFAULT_TOP,
                            .width = hu_terminal_width(STDOUT_FILENO, options->output)};
    hu_error           err = {0};
    hu_out            *out;

    if (hu_counters_read(inputs, &options->limits, arena, &counters, &err) < 0 ||
        hu_kernel_group_all(&counters, arena, &groups, &err) < 0)
        return hu_command_fail(&err);
    out = hu_output_open(options->output, &err);
    if (!out)
        return hu_command_fail(&err);
    if (options->json)
        hu_counters_json(&r, out);
    else
        hu_counters_text(&r, out);
    if (hu_out_close(out, &err) < 0)
        return hu_command_fail(&err);
    return options->strict && counters.is_cut ? HU_EXIT_PARTIAL : HU_EXIT_OK;
}
