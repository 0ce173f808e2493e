/* SPDX-License-Identifier: Apache-2.0
 * osrt_process.c - processes that begin, end, or become another program; threads that get names; jumps out of calls.
 *
 * A forked child has its parent's stack and none of its ring: its wrapper returns without a word.  A child of vfork is its
 * parent in all but the number, so that exec and _exit look at that before they touch the ring.  vfork itself returns
 * twice and cannot be wrapped; what it starts is known from the exec.
 */
#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "inject/osrt.h"
#include "inject/process.h"
#include "base/banned.h"

extern char **environ;

static void record(hu_record_type type, uint32_t id, uint64_t a)
{
    hu_record *r;

    if (!hu_gate_open(HU_DOORS_OF_RECORDS) || !(r = hu_ring_take(1)))
        return;
    r->time = hu_ticks();
    r->id = id;
    r->a = a;
    hu_ring_publish(r, type);
}

/* False in a child of vfork, and where nothing is recorded. */
static bool is_recorded_process(void)
{
    return hu_the_process.head && hu_the_process.head->pid == hu_sys_pid();
}

HU_REAL(fork)
HU_EXPORT pid_t fork(void)
{
    __typeof__(fork) *const real = HU_FIND(fork);
    hu_osrt_span            span;
    pid_t                   pid;

    if (!real)
        return (pid_t)HU_ABSENT(-1);
    if (!hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter(&span, HU_OS_CALL_fork)) {
        pid = real();
        if (pid > 0)
            record(HU_RECORD_FORK, 0, (uint64_t)pid);
        return pid;
    }
    pid = real();
    if (pid == 0) {
        hu_osrt_reset(&span);
        return 0;
    }
    if (hu_osrt_leave(&span))
        hu_osrt_done(&span, pid < 0 ? errno : 0);
    if (pid > 0)
        record(HU_RECORD_FORK, 0, (uint64_t)pid);
    return pid;
}

/* The environment in which `program` is started.  On the stack: see osrt_environment.c; what is too large for a stack
 * is left as it is. */
enum { STACK_ROOM = 64 * 1024 };

#define FOLLOWED(envp, followed, program, is_searched)           \
    hu_environment e;                                            \
    char *const   *followed = (envp);                            \
                                                                 \
    hu_environment_plan(&e, followed, (program), (is_searched)); \
    if (e.bytes > 0 && e.bytes <= STACK_ROOM)                    \
        followed = hu_environment_write(&e, __builtin_alloca(e.bytes));

/* Says what is about to be started.  True: this process is to be replaced, as far as the ring is concerned. */
static bool before_exec(const char *program)
{
    if (is_recorded_process()) {
        hu_process_replaced(program);
        return hu_the_process.head->state == HU_PROCESS_REPLACED;
    }
    /* a child of vfork: its parent's ring is here, its thread waits */
    if (hu_the_process.head && hu_gate_open(HU_DOORS_OF_RECORDS))
        record(HU_RECORD_FORK, 0, hu_sys_pid());
    return false;
}

static int after_exec(bool is_replaced, int rc)
{
    const int saved_errno = errno;

    if (is_replaced)
        hu_process_not_replaced();
    errno = saved_errno;
    return rc;
}

HU_REAL(execve)
HU_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    __typeof__(execve) *const real = HU_FIND(execve);
    bool                      is_replaced;

    FOLLOWED(envp, followed, path, false)
    is_replaced = before_exec(path);
    return after_exec(is_replaced, real ? real(path, argv, followed) : (int)HU_RAW(SYS_execve, path, argv, followed));
}

HU_REAL(execvpe)
HU_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    __typeof__(execvpe) *const real = HU_FIND(execvpe);
    bool                       is_replaced;

    if (!real)
        return (int)HU_ABSENT(-1);
    FOLLOWED(envp, followed, file, true)
    is_replaced = before_exec(file);
    return after_exec(is_replaced, real(file, argv, followed));
}

HU_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

HU_EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

HU_REAL(fexecve)
HU_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    __typeof__(fexecve) *const real = HU_FIND(fexecve);
    char                       path[32];
    bool                       is_replaced;

    if (!real)
        return (int)HU_ABSENT(-1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    FOLLOWED(envp, followed, path, false)
    is_replaced = before_exec(argv[0] ? argv[0] : "fexecve");
    return after_exec(is_replaced, real(fd, argv, followed));
}

#ifdef __GLIBC__
int execveat(int at, const char *path, char *const argv[], char *const envp[], int flags);

HU_REAL(execveat)
HU_EXPORT int execveat(int at, const char *path, char *const argv[], char *const envp[], int flags)
{
    __typeof__(execveat) *const real = HU_FIND(execveat);
    bool                        is_replaced;

    FOLLOWED(envp, followed, path[0] == '/' ? path : NULL, false)
    is_replaced = before_exec(path);
    return after_exec(is_replaced, real ? real(at, path, argv, followed, flags)
                                        : (int)HU_RAW(SYS_execveat, at, path, argv, followed, flags));
}
#endif

/* The arguments of execl and its kind, as an array on this stack; the last is NULL. */
#define GATHER(argv, first)                          \
    va_list list;                                    \
    size_t  n = 1;                                   \
    char  **argv;                                    \
                                                     \
    va_start(list, first);                           \
    while (va_arg(list, char *))                     \
        n++;                                         \
    va_end(list);                                    \
    argv = __builtin_alloca((n + 1) * sizeof *argv); \
    va_start(list, first);                           \
    argv[0] = (char *)(uintptr_t)(first);            \
    for (size_t i = 1; i <= n; i++)                  \
        argv[i] = va_arg(list, char *);

HU_EXPORT int execl(const char *path, const char *first, ...)
{
    GATHER(argv, first)
    va_end(list);
    return execve(path, argv, environ);
}

HU_EXPORT int execlp(const char *file, const char *first, ...)
{
    GATHER(argv, first)
    va_end(list);
    return execvpe(file, argv, environ);
}

HU_EXPORT int execle(const char *path, const char *first, ...)
{
    char *const *envp;

    GATHER(argv, first)
    envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, envp);
}

#define SPAWN(symbol, is_searched)                                                                \
    HU_REAL(symbol)                                                                               \
    HU_EXPORT int symbol(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, \
                         const posix_spawnattr_t *how, char *const argv[], char *const envp[])    \
    {                                                                                             \
        __typeof__(symbol) *const real = HU_FIND(symbol);                                         \
        hu_osrt_span              span;                                                           \
        pid_t                     child = 0;                                                      \
        int                       rc;                                                             \
                                                                                                  \
        if (!real)                                                                                \
            return ENOSYS;                                                                        \
        FOLLOWED(envp, followed, path, is_searched)                                               \
        if (!hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter(&span, HU_OS_CALL_posix_spawn))         \
            return real(pid, path, actions, how, argv, followed);                                 \
        rc = real(&child, path, actions, how, argv, followed);                                    \
        if (hu_osrt_leave(&span))                                                                 \
            hu_osrt_text(&span, path, rc);                                                        \
        if (rc == 0) {                                                                            \
            record(HU_RECORD_FORK, 0, (uint64_t)child);                                           \
            if (pid)                                                                              \
                *pid = child;                                                                     \
        }                                                                                         \
        return rc;                                                                                \
    }

SPAWN(posix_spawn, false)
SPAWN(posix_spawnp, true)

/* Their children get the environment as it is: if the program has cleared it, they are not followed. */
static const char *as_it_is(const char *command)
{
    hu_environment_unmark();
    return command;
}

HU_WRAP(system, int, system, (const char *command), (as_it_is(command)), HU_ABSENT(-1), hu_osrt_text(&span, command, 0))
HU_WRAP(popen, FILE *, popen, (const char *command, const char *mode), (as_it_is(command), mode), HU_ABSENT(NULL),
        hu_osrt_text(&span, command, rc ? 0 : errno))
HU_WRAP(pclose, int, pclose, (FILE * stream), (stream), -1, hu_osrt_done(&span, rc < 0 ? errno : 0))

#define EXIT(symbol)                                      \
    HU_REAL(symbol)                                       \
    HU_EXPORT void symbol(int status)                     \
    {                                                     \
        __typeof__(symbol) *const real = HU_FIND(symbol); \
                                                          \
        if (is_recorded_process()) {                      \
            hu_cuda_exits(false);                         \
            hu_opencl_exits();                            \
            hu_process_exits();                           \
        }                                                 \
        if (real)                                         \
            real(status);                                 \
        for (;;)                                          \
            (void)HU_RAW(SYS_exit_group, status);         \
    }

EXIT(_exit)
EXIT(_Exit)
EXIT(quick_exit)

/* The parent of a daemon ends inside of the C library.  It has ended when the child returns; if it still is this
 * process, it failed. */
HU_REAL(daemon)
HU_EXPORT int daemon(int stays, int keeps)
{
    __typeof__(daemon) *const real = HU_FIND(daemon);
    const bool                is_recorded = is_recorded_process();
    int                       rc;

    if (!real)
        return (int)HU_ABSENT(-1);
    if (is_recorded)
        hu_process_exits();
    rc = real(stays, keeps);
    if (rc < 0 && is_recorded && is_recorded_process())
        return after_exec(true, rc);
    return rc;
}

/* Names. */
static void name_thread(const char *name)
{
    hu_thread.tells_signals = strncmp(name, HU_THREAD_OF_GLOO, 15) == 0;
    if (hu_gate_open(HU_DOORS_OF_RECORDS)) {
        record(HU_RECORD_THREAD, hu_string_given(name, strnlen(name, 15)), 0);
        hu_thread.is_named = 1;
    }
}

HU_REAL(pthread_setname_np)
HU_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    __typeof__(pthread_setname_np) *const real = HU_FIND(pthread_setname_np);
    const int                             rc = real ? real(thread, name) : ENOSYS;

    if (rc == 0 && pthread_equal(thread, pthread_self()))
        name_thread(name);
    return rc;
}

HU_REAL(prctl)
HU_EXPORT int prctl(int what, ...)
{
    __typeof__(prctl) *const real = HU_FIND(prctl);
    unsigned long            a[4];
    va_list                  list;
    int                      rc;

    va_start(list, what);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long); /* as the C library does: what is not there is not looked at */
    va_end(list);
    rc = real ? real(what, a[0], a[1], a[2], a[3]) : (int)HU_RAW(SYS_prctl, what, a[0], a[1], a[2], a[3]);
    if (rc == 0 && what == PR_SET_NAME)
        name_thread((const char *)a[0]);
    return rc;
}

/* Whoever jumps has left the call that a signal interrupted.  If it was a jump within, the call is recorded all the same. */
#define JUMP(symbol)                                             \
    HU_REAL(symbol)                                              \
    HU_EXPORT void symbol(struct __jmp_buf_tag to[1], int value) \
    {                                                            \
        __typeof__(symbol) *const real = HU_FIND(symbol);        \
                                                                 \
        if (hu_thread.frame) {                                   \
            hu_thread.frame = 0;                                 \
            hu_waiters_forget();                                 \
            if (hu_thread.inside > 0)                            \
                hu_thread.inside--;                              \
            hu_ring_inside(0, 0, 0, 0);                          \
        }                                                        \
        real(to, value);                                         \
        __builtin_unreachable();                                 \
    }

#ifdef __GLIBC__
void __longjmp_chk(struct __jmp_buf_tag to[1], int value) __attribute__((noreturn));

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
#endif
