/* SPDX-License-Identifier: Apache-2.0
 * looker.c - starts a process that looks, listens to it, and starts another one where it hangs or dies.
 *
 * A process in an uninterruptible call takes no signal: it is killed and not waited for, and init collects it once the call
 * returns.
 */
#include "doctor/looker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/close_fds.h"
#include "doctor/facts.h"
#include "doctor/looker_message.h"

enum { SOCKET = 3, MOST_LOST = 8, REAP_TURNS = 20, REAP_NS = 1000000 };

typedef struct {
    const hu_doctor_how   *how;
    const hu_check *const *checks;
    size_t                 n;
    const hu_looker_ears  *ears;
    int64_t                end_ms;                 /* of all looks; INT64_MAX: none */
    int                    n_lost;                 /* processes that hung or died */
    char                   doing[HU_MESSAGE_TEXT]; /* the call that has not returned; "": none */
} asker;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* -- the process that looks -------------------------------------------------------------------------------------------- */

void hu_message_send(int socket, hu_message_kind kind, int number, const char *subject, const char *fix, const char *text)
{
    hu_message m = {.kind = (int)kind, .number = number};

    snprintf(m.subject, sizeof m.subject, "%s", subject ? subject : "");
    snprintf(m.fix, sizeof m.fix, "%s", fix ? fix : "");
    snprintf(m.text, sizeof m.text, "%s", text ? text : "");
    while (send(socket, &m, sizeof m, MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

/* Keeps the socket and nothing else: whoever reads the caller's output must not wait for this process. */
static int keep_only(int socket)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    socket = fcntl(socket, F_DUPFD_CLOEXEC, SOCKET + 1); /* it may be 0 to 2, where the caller had closed those */
    if (socket < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        return -1;
    if (dup2(socket, SOCKET) < 0)
        return -1;
    hu_close_fds(SOCKET + 1, -1);
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    return SOCKET;
}

_Noreturn static void look(const asker *a, size_t first, int socket, pid_t parent)
{
    hu_doctor  *d;
    const char *host, *time;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0); /* a look that crashes leaves no core */
    if (getppid() != parent || (socket = keep_only(socket)) < 0 || !(d = hu_doctor_open(a->how, socket)))
        _exit(1);
    if (first == 0) {
        host = hu_fact(d, "hostname");
        time = hu_fact(d, "time");
        hu_message_send(socket, HU_MESSAGE_ABOUT, 0, host, NULL, time);
    }
    for (size_t i = first; i < a->n; i++) {
        hu_message_send(socket, HU_MESSAGE_BEGIN, (int)i, NULL, NULL, NULL);
        a->checks[i]->look(d, a->checks[i]);
    }
    hu_message_send(socket, HU_MESSAGE_END, 0, NULL, NULL, NULL);
    _exit(0);
}

/* -- who listens ------------------------------------------------------------------------------------------------------- */

static void not_checked(const asker *a, size_t check, const char *why)
{
    a->ears->answer(a->ears->context, check, HU_VERDICT_NOT_CHECKED, NULL, NULL, why);
}

/* Waits for a short while; -1: it has not ended. */
static int reap(pid_t pid)
{
    int status;

    for (int i = 0; i < REAP_TURNS; i++) {
        const pid_t ended = waitpid(pid, &status, WNOHANG);

        if (ended == pid)
            return status;
        if (ended < 0 && errno != EINTR)
            break;
        nanosleep(&(struct timespec){.tv_nsec = REAP_NS}, NULL);
    }
    return -1;
}

static const char *text_or_null(char *text, size_t room)
{
    text[room - 1] = '\0';
    return text[0] ? text : NULL;
}

/* One packet: true while there are more.  *check: whose turn it is. */
static bool take(asker *a, int socket, size_t *check, size_t *n_said, int64_t *end_ms)
{
    hu_message    m;
    const ssize_t n = recv(socket, &m, sizeof m, 0);

    if (n < 0 && errno == EINTR)
        return true;
    if (n != sizeof m)
        return false;
    const char *subject = text_or_null(m.subject, sizeof m.subject), *fix = text_or_null(m.fix, sizeof m.fix);
    const char *text = text_or_null(m.text, sizeof m.text);

    if ((m.kind == HU_MESSAGE_BEGIN || m.kind == HU_MESSAGE_END) && *check < a->n && *n_said == 0)
        not_checked(a, *check, "the look said nothing");
    if (m.kind == HU_MESSAGE_BEGIN && m.number >= 0 && (size_t)m.number < a->n) {
        *check = (size_t)m.number;
        *n_said = 0;
        a->doing[0] = '\0';
        *end_ms = now_ms() + (a->checks[*check]->limit_ms ? a->checks[*check]->limit_ms : HU_LOOK_MS);
    } else if (m.kind == HU_MESSAGE_ANSWER && *check < a->n) {
        *n_said += 1;
        a->ears->answer(a->ears->context, *check, (hu_verdict_of_check)m.number, subject, fix, text ? text : "");
    } else if (m.kind == HU_MESSAGE_VALUE && subject) {
        a->ears->value(a->ears->context, subject, text ? text : "");
    } else if (m.kind == HU_MESSAGE_DOING) {
        snprintf(a->doing, sizeof a->doing, "%s", text ? text : "");
    } else if (m.kind == HU_MESSAGE_ABOUT) {
        a->ears->about(a->ears->context, subject ? subject : "", text ? text : "");
    } else if (m.kind == HU_MESSAGE_END) {
        *check = a->n;
        return false;
    }
    return true;
}

/* Why a process that looked did not come to its end. */
static void say_lost(const asker *a, size_t check, bool is_late, int64_t took_ms, int status)
{
    char why[HU_MESSAGE_TEXT + 64];

    if (is_late)
        snprintf(why, sizeof why, "took longer than %.1f s%s%s", (double)took_ms / 1000, a->doing[0] ? ": " : "", a->doing);
    else if (status >= 0 && WIFSIGNALED(status))
        snprintf(why, sizeof why, "the look crashed (signal %d)", WTERMSIG(status));
    else
        snprintf(why, sizeof why, "the look ended early");
    not_checked(a, check, why);
}

/* Listens to one process until it ends, hangs or dies; returns the check with which the next one begins. */
static size_t listen_to(asker *a, size_t first, int socket, pid_t pid)
{
    int64_t begin_ms = now_ms(), end_ms = begin_ms + HU_LOOK_MS;
    size_t  check = first, n_said = 1, before = first; /* the first check has not begun: it needs no word yet */
    bool    is_late = false;

    for (;;) {
        const int64_t now = now_ms(), until = end_ms < a->end_ms ? end_ms : a->end_ms;
        struct pollfd p = {.fd = socket, .events = POLLIN};
        const int     ready = poll(&p, 1, until > now ? (int)(until - now) : 0);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            is_late = true;
            break;
        }
        if (!take(a, socket, &check, &n_said, &end_ms))
            break;
        if (check != before)
            begin_ms = now_ms();
        before = check;
    }
    if (check == a->n) {
        reap(pid);
        return a->n;
    }
    const int64_t took_ms = now_ms() - begin_ms;

    if (is_late)
        kill(pid, SIGKILL);
    say_lost(a, check, is_late, took_ms, reap(pid));
    a->n_lost++;
    return check + 1;
}

static size_t ask_from(asker *a, size_t first)
{
    int         pair[2];
    const pid_t parent = getpid();
    pid_t       pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        not_checked(a, first, "no socket for the process that looks");
        return first + 1;
    }
    pid = fork();
    if (pid == 0)
        look(a, first, pair[1], parent);
    close(pair[1]);
    if (pid < 0) {
        not_checked(a, first, "no process to look with");
        first++;
    } else {
        first = listen_to(a, first, pair[0], pid);
    }
    close(pair[0]);
    return first;
}

void hu_looker_ask(const hu_doctor_how *how, const hu_check *const *checks, size_t n, const hu_looker_ears *ears)
{
    asker  a = {.how = how, .checks = checks, .n = n, .ears = ears, .end_ms = INT64_MAX};
    size_t next = 0;

    if (how->budget_ms)
        a.end_ms = now_ms() + how->budget_ms;
    while (next < n && a.n_lost < MOST_LOST && now_ms() < a.end_ms)
        next = ask_from(&a, next);
    for (; next < n; next++)
        not_checked(&a, next, a.n_lost < MOST_LOST ? "no time was left" : "too many looks hung or crashed");
}
