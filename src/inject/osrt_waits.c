/* SPDX-License-Identifier: Apache-2.0
 * osrt_waits.c - calls that are there to wait: for time, for descriptors, for other threads, for children, for signals.
 *
 * A thread of a pool that idles for seconds is one long call.  A thread that never comes back is found by the call that
 * its block names (hu_ring_inside).
 */
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <threads.h>

#include "inject/live.h"
#include "inject/osrt.h"
#include "base/banned.h"

#define BY_ERRNO hu_osrt_done(&span, rc < 0 ? errno : 0)
#define BY_RC    hu_osrt_done(&span, rc)

/* Time. */
HU_WRAP(sleep, unsigned, sleep, (unsigned s), (s), 0, hu_osrt_done(&span, 0))
HU_WRAP(usleep, int, usleep, (useconds_t us), (us), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(nanosleep, int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left),
        HU_RAW(SYS_nanosleep, t, left), BY_ERRNO)
HU_WRAP(clock_nanosleep, int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *t, struct timespec *left),
        (clock, flags, t, left), ENOSYS, BY_RC)

/* Descriptors. */
HU_WRAP(poll, int, poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(ppoll, int, ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *mask),
        (fds, n, t, mask), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(select, int, select, (int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *t), (n, r, w, x, t), HU_ABSENT(-1),
        BY_ERRNO)
HU_WRAP(pselect, int, pselect, (int n, fd_set *r, fd_set *w, fd_set *x, const struct timespec *t, const sigset_t *mask),
        (n, r, w, x, t, mask), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(epoll_wait, int, epoll_wait, (int fd, struct epoll_event *to, int n, int ms), (fd, to, n, ms), HU_ABSENT(-1),
        hu_osrt_fd(&span, fd, rc < 0 ? -1 : 0))
HU_WRAP(epoll_pwait, int, epoll_pwait, (int fd, struct epoll_event *to, int n, int ms, const sigset_t *mask),
        (fd, to, n, ms, mask), HU_ABSENT(-1), hu_osrt_fd(&span, fd, rc < 0 ? -1 : 0))

/* Who waits for a condition may wait for a collective of gloo (live.c). */
#define COUNTED(row, call)                                                    \
    ({                                                                        \
        const bool is_told = hu_live_on() && hu_live_waits(HU_OS_CALL_##row); \
        const int  result = (call);                                           \
                                                                              \
        if (is_told)                                                          \
            hu_live_waited();                                                 \
        result;                                                               \
    })

#define WRAP_CONDITION(...) HU_WRAP_ON_OF(HU_DOOR_OSRT | HU_DOOR_LIVE, COUNTED, __VA_ARGS__)

/* Threads.  Programs of before 2003 bind the older conditions; nobody has seen one. */
WRAP_CONDITION(pthread_cond_wait, int, pthread_cond_wait, "pthread_cond_wait", "GLIBC_2.3.2",
               (pthread_cond_t * c, pthread_mutex_t *m), (c, m), ENOSYS, c, m, BY_RC)
WRAP_CONDITION(pthread_cond_timedwait, int, pthread_cond_timedwait, "pthread_cond_timedwait", "GLIBC_2.3.2",
               (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *until), (c, m, until), ENOSYS, c, m, BY_RC)
HU_WRAP(pthread_join, int, pthread_join, (pthread_t thread, void **result), (thread, result), ENOSYS, BY_RC)

/* A semaphore that is free is taken without looking at the clock, as a lock is.  The call stays a point of cancellation. */
HU_REAL(sem_trywait)
HU_REAL(sem_wait)
HU_TIMED int timed_sem_wait(sem_t *s)
{
    __typeof__(sem_wait) *const real = HU_FIND(sem_wait), *const try = HU_FIND(sem_trywait);
    const int    saved_errno = errno;
    hu_osrt_span span;
    int          rc;
    bool         is_long;

    if (!real)
        return HU_ABSENT(-1);
    if (!hu_gate_open(HU_DOOR_OSRT))
        return real(s);
    pthread_testcancel();
    if (try && try(s) == 0)
        return 0;
    errno = saved_errno;
    if (!hu_osrt_enter_for(&span, HU_OS_CALL_sem_wait, s, 0))
        return real(s);
    hu_osrt_waits(&span);
    rc = real(s);
    is_long = hu_osrt_leave(&span);
    hu_osrt_waited(&span);
    if (is_long)
        BY_ERRNO;
    return rc;
}
HU_DOOR(int, sem_wait, (sem_t * s), (s))

HU_WRAP_ON(sem_timedwait, int, sem_timedwait, "sem_timedwait", NULL, (sem_t * s, const struct timespec *until), (s, until),
           HU_ABSENT(-1), s, NULL, BY_ERRNO)

/* Children. */
HU_WRAP(wait, pid_t, wait, (int *status), (status), HU_RAW(SYS_wait4, -1, status, 0, NULL), BY_ERRNO)
HU_WRAP(waitpid, pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags),
        HU_RAW(SYS_wait4, pid, status, flags, NULL), BY_ERRNO)
HU_WRAP(wait3, pid_t, wait3, (int *status, int flags, struct rusage *use), (status, flags, use),
        HU_RAW(SYS_wait4, -1, status, flags, use), BY_ERRNO)
HU_WRAP(wait4, pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *use), (pid, status, flags, use),
        HU_RAW(SYS_wait4, pid, status, flags, use), BY_ERRNO)
HU_WRAP(waitid, int, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags), (type, id, info, flags),
        HU_RAW(SYS_waitid, type, id, info, flags, NULL), BY_ERRNO)

/* Signals and messages of other processes. */
HU_WRAP(sigwait, int, sigwait, (const sigset_t *set, int *got), (set, got), ENOSYS, BY_RC)
HU_WRAP(sigwaitinfo, int, sigwaitinfo, (const sigset_t *set, siginfo_t *info), (set, info), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(sigtimedwait, int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *t), (set, info, t),
        HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(sigsuspend, int, sigsuspend, (const sigset_t *mask), (mask), HU_ABSENT(-1), hu_osrt_done(&span, 0))
HU_WRAP(pause, int, pause, (void), (), HU_ABSENT(-1), hu_osrt_done(&span, 0))
HU_WRAP(semop, int, semop, (int id, struct sembuf *ops, size_t n), (id, ops, n), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(semop, int, semtimedop, (int id, struct sembuf *ops, size_t n, const struct timespec *t), (id, ops, n, t),
        HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(msgsnd, int, msgsnd, (int id, const void *from, size_t n, int flags), (id, from, n, flags), HU_ABSENT(-1),
        hu_osrt_bytes(&span, rc < 0 ? -1 : (int64_t)n))
HU_WRAP(msgrcv, ssize_t, msgrcv, (int id, void *to, size_t n, long type, int flags), (id, to, n, type, flags), HU_ABSENT(-1),
        hu_osrt_bytes(&span, rc))
HU_WRAP(mq_send, int, mq_send, (mqd_t q, const char *from, size_t n, unsigned priority), (q, from, n, priority),
        HU_ABSENT(-1), hu_osrt_bytes(&span, rc < 0 ? -1 : (int64_t)n))
HU_WRAP(mq_receive, ssize_t, mq_receive, (mqd_t q, char *to, size_t n, unsigned *priority), (q, to, n, priority),
        HU_ABSENT(-1), hu_osrt_bytes(&span, rc))

#ifdef __GLIBC__
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until);
int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until);
int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *until);
int epoll_pwait2(int fd, struct epoll_event *to, int n, const struct timespec *t, const sigset_t *mask);
int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t room);

HU_WRAP(poll, int, __poll_chk, (struct pollfd * fds, nfds_t n, int ms, size_t room), (fds, n, ms, room), HU_ABSENT(-1),
        BY_ERRNO)
HU_WRAP(ppoll, int, __ppoll_chk,
        (struct pollfd * fds, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t room),
        (fds, n, t, mask, room), HU_ABSENT(-1), BY_ERRNO)
HU_WRAP(epoll_pwait, int, epoll_pwait2,
        (int fd, struct epoll_event *to, int n, const struct timespec *t, const sigset_t *mask), (fd, to, n, t, mask),
        HU_ABSENT(-1), hu_osrt_fd(&span, fd, rc < 0 ? -1 : 0))
WRAP_CONDITION(pthread_cond_clockwait, int, pthread_cond_clockwait, "pthread_cond_clockwait", NULL,
               (pthread_cond_t * c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until), (c, m, clock, until),
               ENOSYS, c, m, BY_RC)
HU_WRAP_ON(sem_clockwait, int, sem_clockwait, "sem_clockwait", NULL,
           (sem_t * s, clockid_t clock, const struct timespec *until), (s, clock, until), HU_ABSENT(-1), s, NULL, BY_ERRNO)
HU_WRAP(pthread_join, int, pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until),
        (thread, result, until), ENOSYS, BY_RC)
HU_WRAP(pthread_join, int, pthread_clockjoin_np,
        (pthread_t thread, void **result, clockid_t clock, const struct timespec *until), (thread, result, clock, until),
        ENOSYS, BY_RC)
HU_WRAP_ON(pthread_cond_wait, int, cnd_wait, "cnd_wait", NULL, (cnd_t * c, mtx_t *m), (c, m), thrd_error, c, m,
           hu_osrt_done(&span, 0))
HU_WRAP_ON(pthread_cond_timedwait, int, cnd_timedwait, "cnd_timedwait", NULL,
           (cnd_t * c, mtx_t *m, const struct timespec *until), (c, m, until), thrd_error, c, m, hu_osrt_done(&span, 0))
HU_WRAP(pthread_join, int, thrd_join, (thrd_t thread, int *result), (thread, result), thrd_error, hu_osrt_done(&span, 0))
HU_WRAP(nanosleep, int, thrd_sleep, (const struct timespec *t, struct timespec *left), (t, left), -2, hu_osrt_done(&span, 0))
#endif
