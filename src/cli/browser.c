/* SPDX-License-Identifier: Apache-2.0
 * browser.c - xdg-open knows the user's browser; on a machine without a screen the way goes over ssh. */
#include "cli/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"

extern char **environ;

bool hu_browser_has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

    return (x && x[0]) || (wayland && wayland[0]);
}

/* False when there is no such program.  Its talk is not for the user. */
static bool start(const char *program, const char *target)
{
    char *const                arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)target, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          how;
    sigset_t                   none;
    pid_t                      child;
    int                        rc;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    if (posix_spawnattr_init(&how) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    sigemptyset(&none); /* the caller's mask and its Ctrl-C are not for the browser */
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(&child, program, &actions, &how, arguments, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&actions);
    return rc == 0;
}

void hu_browser_open(const char *target)
{
    const char *own = getenv("BROWSER");
    char        full[PATH_MAX], host[256] = "";

    if (own && own[0] && !strpbrk(own, " %:") && start(own, target))
        return;
    if (hu_browser_has_display() && start("xdg-open", target))
        return;
    gethostname(host, sizeof host - 1);
    if (strstr(target, "://"))
        hu_command_say("no browser can be started here; open %s", target);
    else if (realpath(target, full))
        hu_command_say("no browser can be started here; from your machine: scp %s:%s .", host, full);
}
