/* SPDX-License-Identifier: Apache-2.0
 * commands.c - the commands, in the order of --help, and one of them by its name. */
#include "cli/command.h"

#include <string.h>
#include <sys/stat.h>

extern const hu_command hu_command_report, hu_command_info, hu_command_query, hu_command_whatif, hu_command_scale,
    hu_command_stragglers, hu_command_check, hu_command_export, hu_command_view, hu_command_run, hu_command_start,
    hu_command_stop, hu_command_cancel, hu_command_status, hu_command_print_env, hu_command_finish, hu_command_help,
    hu_command_stats, hu_command_trace, hu_command_monitor, hu_command_doctor, hu_command_top, hu_command_diff;

/* clang-format off */
const hu_command *const hu_commands[] = {
    &hu_command_run,
    &hu_command_trace,
    &hu_command_report,
    &hu_command_view,
    &hu_command_info,
    &hu_command_whatif,
    &hu_command_diff,
    &hu_command_scale,
    &hu_command_stragglers,
    &hu_command_check,
    &hu_command_query,
    &hu_command_stats,
    &hu_command_export,
    &hu_command_status,
    &hu_command_start,
    &hu_command_stop,
    &hu_command_cancel,
    &hu_command_monitor,
    &hu_command_top,
    &hu_command_doctor,
    &hu_command_print_env,
    &hu_command_finish,
    &hu_command_help,
    NULL,
};
/* clang-format on */

const hu_command *hu_command_find(const char *name)
{
    for (size_t i = 0; hu_commands[i]; i++)
        if (strcmp(hu_commands[i]->name, name) == 0)
            return hu_commands[i];
    return NULL;
}

int hu_command_fail_unknown(const char *name)
{
    const char *names[32], *near;
    size_t      n = 0;
    hu_error    err;
    struct stat st;

    for (; hu_commands[n] && n < HU_COUNT(names); n++)
        names[n] = hu_commands[n]->name;
    near = hu_options_suggest(name, names, n);
    if (stat(name, &st) == 0) /* most who type a file first want to know what is in it */
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown command \"%.200s\"; did you mean `holdup report %.200s`?",
                name, name);
    else if (near)
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown command \"%.64s\"; did you mean `holdup %s`?", name, near);
    else
        hu_fail(&err, HU_EUSAGE, NULL, HU_NO_OFFSET, "unknown command \"%.64s\"; `holdup help` lists them", name);
    return hu_command_fail(&err);
}
