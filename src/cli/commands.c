/* SPDX-License-Identifier: Apache-2.0
 * commands.c - the commands, in the order of --help. */
#include "cli/command.h"

extern const hu_command hu_command_report, hu_command_info, hu_command_query, hu_command_whatif, hu_command_scale,
    hu_command_stragglers, hu_command_check, hu_command_export, hu_command_view, hu_command_run, hu_command_start,
    hu_command_stop, hu_command_cancel, hu_command_status, hu_command_print_env, hu_command_finish;

const hu_command *const hu_commands[] = {
    &hu_command_run,
    &hu_command_report,
    &hu_command_view,
    &hu_command_info,
    &hu_command_whatif,
    &hu_command_scale,
    &hu_command_stragglers,
    &hu_command_check,
    &hu_command_query,
    &hu_command_export,
    &hu_command_status,
    &hu_command_start,
    &hu_command_stop,
    &hu_command_cancel,
    &hu_command_print_env,
    &hu_command_finish,
    NULL,
};
