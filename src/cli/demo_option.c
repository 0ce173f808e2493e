/* SPDX-License-Identifier: Apache-2.0
 * demo_option.c - scenarios by their names. */
#include "cli/demo_option.h"

#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "monitor/demo/demo.h"

static const char LIST[] = "list";

int hu_demo_parse(void *field, const char *text, hu_error *err)
{
    const char *name = text[0] ? text : hu_demo_scenarios[0].name;

    if (strcmp(name, LIST) != 0 && !hu_demo_find(name))
        return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "there is no scenario \"%.100s\"; --demo=list prints all", name);
    *(const char **)field = name;
    return 0;
}

size_t hu_demo_words(const char **out, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < hu_demo_scenarios_count && n < room; i++)
        out[n++] = hu_demo_scenarios[i].name;
    if (n < room)
        out[n++] = LIST;
    return n;
}

bool hu_demo_listed(const char *scenario, int *status)
{
    hu_error err = {0};
    hu_out  *out;
    int      rc;

    if (!scenario || strcmp(scenario, LIST) != 0)
        return false;
    out = hu_out_open_fd(STDOUT_FILENO);
    for (size_t i = 0; out && i < hu_demo_scenarios_count; i++)
        hu_out_printf(out, "%-16s %s\n", hu_demo_scenarios[i].name, hu_demo_scenarios[i].words);
    rc = out ? hu_out_close(out, &err) : hu_fail_memory(&err);
    *status = rc < 0 ? hu_command_fail(&err) : 0;
    return true;
}

void hu_demo_say(const char *scenario)
{
    hu_command_say("GPUs and jobs are invented: %s", hu_demo_find(scenario)->words);
}
