/* SPDX-License-Identifier: Apache-2.0
 * osrt_environment.c - a program that is started with an environment of its own making is followed all the same.
 *
 * `env -i`, launchers and job scripts clear the environment, or set LD_PRELOAD to a library of their own; the recorder
 * would then lose sight of everything behind them.  What is missing is put back: the session, our library in front of
 * LD_PRELOAD, the way in for NVTX.  A program that brings a session of its own is left alone, and so is everything where
 * the user has set HOLDUP_FOLLOW=0.
 *
 * No memory is allocated: a child of vfork uses that of its parent.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "inject/osrt.h"
#include "inject/process.h"
#include "base/banned.h"

enum { SESSION, INJECTION, PRELOAD, KEPT };
enum { ENTRY_ROOM = 4096 + 32 };

static const char *const names[KEPT] = {
    [SESSION] = "HOLDUP_SESSION=",
    [INJECTION] = "NVTX_INJECTION64_PATH=",
    [PRELOAD] = "LD_PRELOAD=",
};

static char   entries[KEPT][ENTRY_ROOM]; /* "NAME=value", as this process was given it; "": is not kept */
static size_t preload_bytes;             /* of our path in entries[PRELOAD] */

static void keep(int which, const char *value)
{
    const size_t name_bytes = strlen(names[which]), bytes = value ? strlen(value) : 0;

    if (bytes == 0 || name_bytes + bytes >= ENTRY_ROOM)
        return;
    memcpy(entries[which], names[which], name_bytes);
    memcpy(entries[which] + name_bytes, value, bytes + 1);
}

void hu_environment_load(void)
{
    const char *follow = getenv("HOLDUP_FOLLOW");
    Dl_info     us;

    if (!hu_the_process.session[0] || (follow && follow[0] == '0'))
        return;
    /* only what was preloaded is passed on, under the name by which it was found */
    if (!getenv("LD_PRELOAD") || !dladdr(names, &us) || !us.dli_fname || !strchr(us.dli_fname, '/'))
        return;
    keep(PRELOAD, us.dli_fname);
    keep(INJECTION, getenv("NVTX_INJECTION64_PATH"));
    keep(SESSION, hu_the_process.session);
    preload_bytes = strlen(us.dli_fname);
}

static bool is_entry(const char *entry, int which)
{
    return strncmp(entry, names[which], strlen(names[which])) == 0;
}

static const char *our_path(void)
{
    return entries[PRELOAD] + strlen(names[PRELOAD]);
}

/* LD_PRELOAD is a list, separated by colons or blanks. */
static bool is_in_list(const char *list)
{
    const char *at = list;

    while ((at = strstr(at, our_path())) != NULL) {
        const char end = at[preload_bytes];

        if ((at == list || at[-1] == ':' || at[-1] == ' ') && (end == '\0' || end == ':' || end == ' '))
            return true;
        at += preload_bytes;
    }
    return false;
}

void hu_environment_plan(hu_environment *e, char *const *envp)
{
    *e = (hu_environment){.envp = envp};
    if (!entries[SESSION][0])
        return;
    for (int which = 0; which < KEPT; which++)
        e->missing |= entries[which][0] ? 1u << which : 0;
    for (; envp && envp[e->n]; e->n++) { /* clearenv leaves none at all */
        const char *entry = envp[e->n];

        if (is_entry(entry, SESSION) && strcmp(entry, entries[SESSION]) != 0) {
            e->missing = 0; /* another run's */
            return;
        }
        for (int which = 0; which < PRELOAD; which++)
            if (is_entry(entry, which))
                e->missing &= ~(1u << which);
        if (is_entry(entry, PRELOAD)) {
            if (is_in_list(entry + strlen(names[PRELOAD])))
                e->missing &= ~(1u << PRELOAD);
            else if (strlen(entry) > e->bytes)
                e->bytes = strlen(entry);
        }
    }
    if (e->missing)
        e->bytes += (e->n + KEPT + 1) * sizeof *envp + preload_bytes + strlen(names[PRELOAD]) + 2;
    else
        e->bytes = 0;
}

/* "LD_PRELOAD=ours:theirs" */
static void join(char *to, const char *theirs)
{
    const size_t ours = strlen(entries[PRELOAD]), n = strlen(theirs);

    memcpy(to, entries[PRELOAD], ours);
    to[ours] = n > 0 ? ':' : '\0';
    memcpy(to + ours + (n > 0), theirs, n + 1);
}

char *const *hu_environment_write(const hu_environment *e, void *room)
{
    char   **to = room, *text = (char *)(to + e->n + KEPT + 1);
    uint32_t missing = e->missing;

    for (size_t i = 0; i < e->n; i++) {
        to[i] = e->envp[i];
        if ((missing & 1u << PRELOAD) && is_entry(to[i], PRELOAD)) {
            join(text, to[i] + strlen(names[PRELOAD]));
            to[i] = text;
            missing &= ~(1u << PRELOAD);
        }
    }
    to += e->n;
    for (int which = 0; which < KEPT; which++)
        if (missing & 1u << which)
            *to++ = entries[which];
    *to = NULL;
    return room;
}
