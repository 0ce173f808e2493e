/* SPDX-License-Identifier: Apache-2.0
 * signals.c - handlers that note, and a wait that lets them in. */
#include "top/signals.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t end, has_size, has_stop;
static sigset_t              waiting, stop_alone;

static void note(int signal)
{
    if (signal == SIGWINCH)
        has_size = 1;
    else if (signal == SIGTSTP)
        has_stop = 1;
    else
        end = signal;
}

void hu_top_signals_take(void)
{
    static const int       all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    const struct sigaction on = {.sa_handler = note};
    sigset_t               ours;

    sigemptyset(&ours);
    sigemptyset(&stop_alone);
    sigaddset(&stop_alone, SIGTSTP);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sigaddset(&ours, all[i]);
    sigprocmask(SIG_BLOCK, &ours, &waiting);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sigdelset(&waiting, all[i]);
        sigaction(all[i], &on, NULL);
    }
}

int hu_top_signals_poll(struct pollfd *p, unsigned n, int ms)
{
    return ppoll(p, n, &(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, &waiting);
}

int hu_top_signals_end(void)
{
    return end;
}

bool hu_top_signals_has_size(void)
{
    const bool has = has_size;

    has_size = 0;
    return has;
}

bool hu_top_signals_has_stop(void)
{
    const bool has = has_stop;

    has_stop = 0;
    return has;
}

void hu_top_signals_stop(void)
{
    const struct sigaction stops = {.sa_handler = SIG_DFL}, on = {.sa_handler = note};

    sigaction(SIGTSTP, &stops, NULL);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop_alone, NULL); /* here it stops, and goes on */
    sigprocmask(SIG_BLOCK, &stop_alone, NULL);
    sigaction(SIGTSTP, &on, NULL);
}
