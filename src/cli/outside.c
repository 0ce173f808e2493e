/* SPDX-License-Identifier: Apache-2.0
 * outside.c - the processes without a recorder, by why: the one that computed most stands for its like. */
#include "cli/outside.h"

#include <pwd.h>
#include <stdio.h>

#include "base/units.h"
#include "cli/command.h"

enum { USER_BYTES = 48 };

static void user_name(uint32_t uid, char *out)
{
    const struct passwd *entry = uid == UINT32_MAX ? NULL : getpwuid(uid);

    if (entry)
        snprintf(out, USER_BYTES, "user %.40s", entry->pw_name);
    else
        snprintf(out, USER_BYTES, "user %d", (int)uid);
}

static void say_reason(const hu_outsider *rows, size_t n, uint32_t reason)
{
    const hu_outsider *most = NULL;
    size_t             count = 0;
    char               user[USER_BYTES], more[48] = "";

    for (size_t i = 0; i < n; i++) {
        if (rows[i].reason != reason)
            continue;
        most = !most || rows[i].cpu_ns > most->cpu_ns ? &rows[i] : most;
        count++;
    }
    if (!most)
        return;
    user_name(most->uid, user);
    if (count > 1)
        snprintf(more, sizeof more, " and %zu more", count - 1);
    hu_command_say("  %s (pid %u, %s)%s: %s", most->name, most->pid, user, more, hu_outsider_words(reason));
}

void hu_outside_say(const hu_outsider *rows, size_t n)
{
    int64_t cpu_ns = 0;
    char    time[HU_UNIT_BYTES];

    for (size_t i = 0; i < n; i++)
        cpu_ns += rows[i].cpu_ns;
    hu_units_time(time, (double)cpu_ns);
    hu_command_say("%zu process%s (%s of CPU time) not recorded from inside:", n, n == 1 ? "" : "es", time);
    for (uint32_t reason = 0; reason < HU_OUTSIDER_REASONS; reason++)
        say_reason(rows, n, reason);
}
