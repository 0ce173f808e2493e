/* SPDX-License-Identifier: Apache-2.0
 * browser.c - xdg-open knows the user's browser; on a machine without a screen the way goes over ssh. */
#include "cli/browser.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/out.h"
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

/* The user's choice first; xdg-open knows the desktop's. */
static bool start_any(const char *target)
{
    const char *own = getenv("BROWSER");

    return (own && own[0] && !strpbrk(own, " %:") && start(own, target)) ||
           (hu_browser_has_display() && start("xdg-open", target));
}

void hu_browser_open(const char *file)
{
    char full[PATH_MAX], host[256] = "";

    if (start_any(file))
        return;
    gethostname(host, sizeof host - 1);
    if (realpath(file, full))
        hu_command_say("cannot start a browser here; from your machine: scp %s:%s .", host, full);
}

/* In the folder of the session that only this user can list, or else of temporary files.  Mode 0600. */
static int open_page(hu_browser_page *page)
{
    static const char *const variables[] = {"XDG_RUNTIME_DIR", "TMPDIR"};

    for (size_t i = 0; i <= HU_COUNT(variables); i++) {
        const char *folder = i < HU_COUNT(variables) ? getenv(variables[i]) : "/tmp";
        int         fd;

        if (!folder || folder[0] != '/' ||
            snprintf(page->path, sizeof page->path, "%s/holdup-XXXXXX.html", folder) >= (int)sizeof page->path)
            continue;
        fd = mkostemps(page->path, (int)strlen(".html"), O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    page->path[0] = '\0';
    return -1;
}

bool hu_browser_visit(const char *address, hu_browser_page *page)
{
    const int fd = open_page(page);
    hu_out   *out = fd >= 0 ? hu_out_open_fd(fd) : NULL;
    bool      ok = out;

    if (out) {
        hu_out_printf(out,
                      "<!doctype html>\n<meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\n"
                      "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>holdup</title>\n"
                      "<p><a href=\"%s\">holdup view</a></p>\n",
                      address, address);
        ok = hu_out_close(out, NULL) == 0;
    }
    if (fd >= 0)
        close(fd);
    ok = ok && start_any(page->path);
    if (!ok)
        hu_browser_forget(page);
    return ok;
}

void hu_browser_forget(hu_browser_page *page)
{
    if (page->path[0])
        unlink(page->path);
    page->path[0] = '\0';
}
