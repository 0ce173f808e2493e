/* SPDX-License-Identifier: Apache-2.0
 * wait_calls.c - a table of calls; numbers come from the kernel's headers of the machine that this is built for. */
#include "record/wait_calls.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/str.h"

/* Of linux/futex.h and fcntl.h. */
enum {
    FUTEX_COMMAND = 0x7f, /* without FUTEX_PRIVATE_FLAG; FUTEX_CLOCK_REALTIME is above */
    FUTEX_LOCK_PI = 6,
    FUTEX_LOCK_PI2 = 13,
    FCNTL_SETLKW = 7,
    FCNTL_OFD_SETLKW = 38,
};

#define ROW(number, name, class, kind)                    \
    {                                                     \
        SYS_##number, name, HU_OS_##class, HU_WAIT_##kind \
    }

/* clang-format off */
static const hu_wait_call calls[] = {
    ROW(read, "read", FILE_READ, ON_FD), ROW(pread64, "pread", FILE_READ, ON_FD), ROW(readv, "readv", FILE_READ, ON_FD),
    ROW(preadv, "preadv", FILE_READ, ON_FD), ROW(preadv2, "preadv", FILE_READ, ON_FD),
    ROW(readahead, "readahead", FILE_READ, ON_FD),
    ROW(write, "write", FILE_WRITE, ON_FD), ROW(pwrite64, "pwrite", FILE_WRITE, ON_FD),
    ROW(writev, "writev", FILE_WRITE, ON_FD), ROW(pwritev, "pwritev", FILE_WRITE, ON_FD),
    ROW(pwritev2, "pwritev", FILE_WRITE, ON_FD), ROW(sendfile, "sendfile", FILE_WRITE, ON_FD),
    ROW(copy_file_range, "copy_file_range", FILE_WRITE, ON_FD), ROW(fallocate, "fallocate", FILE_WRITE, ON_FD),
    ROW(ftruncate, "ftruncate", FILE_WRITE, ON_FD), ROW(splice, "splice", PIPE, PLAIN),
    ROW(openat, "openat", FILE_META, PLAIN), ROW(close, "close", FILE_META, PLAIN),
    ROW(newfstatat, "fstatat", FILE_META, PLAIN), ROW(fstat, "fstat", FILE_META, PLAIN),
    ROW(statx, "statx", FILE_META, PLAIN), ROW(faccessat, "access", FILE_META, PLAIN),
    ROW(readlinkat, "readlink", FILE_META, PLAIN), ROW(unlinkat, "unlink", FILE_META, PLAIN),
    ROW(renameat2, "rename", FILE_META, PLAIN), ROW(mkdirat, "mkdir", FILE_META, PLAIN),
    ROW(getdents64, "readdir", FILE_META, PLAIN),
    ROW(flock, "flock", LOCK, ON_FD), ROW(fcntl, "fcntl", LOCK, IN_FCNTL),
    ROW(fsync, "fsync", FSYNC, ON_FD), ROW(fdatasync, "fdatasync", FSYNC, ON_FD), ROW(sync, "sync", FSYNC, PLAIN),
    ROW(syncfs, "syncfs", FSYNC, PLAIN), ROW(msync, "msync", FSYNC, PLAIN),
    ROW(sync_file_range, "sync_file_range", FSYNC, ON_FD),
    ROW(connect, "connect", NETWORK, ON_FD), ROW(accept, "accept", NETWORK, ON_FD),
    ROW(accept4, "accept4", NETWORK, ON_FD), ROW(sendto, "sendto", NETWORK, ON_FD),
    ROW(sendmsg, "sendmsg", NETWORK, ON_FD), ROW(sendmmsg, "sendmmsg", NETWORK, ON_FD),
    ROW(recvfrom, "recvfrom", NETWORK, ON_FD), ROW(recvmsg, "recvmsg", NETWORK, ON_FD),
    ROW(recvmmsg, "recvmmsg", NETWORK, ON_FD),
    ROW(ppoll, "ppoll", POLL, IN_POLL), ROW(pselect6, "pselect", POLL, IN_SELECT),
    ROW(epoll_pwait, "epoll_pwait", POLL, PLAIN),
    ROW(io_getevents, "io_getevents", POLL, PLAIN),
    ROW(nanosleep, "nanosleep", SLEEP, PLAIN), ROW(clock_nanosleep, "clock_nanosleep", SLEEP, PLAIN),
    ROW(futex, "futex", WAIT, ON_FUTEX),
    ROW(wait4, "wait4", WAIT, PLAIN), ROW(waitid, "waitid", WAIT, PLAIN),
    ROW(rt_sigsuspend, "sigsuspend", WAIT, PLAIN), ROW(rt_sigtimedwait, "sigtimedwait", WAIT, PLAIN),
    ROW(semop, "semop", WAIT, PLAIN), ROW(semtimedop, "semop", WAIT, PLAIN), ROW(msgsnd, "msgsnd", WAIT, PLAIN),
    ROW(msgrcv, "msgrcv", WAIT, PLAIN), ROW(mq_timedsend, "mq_send", WAIT, PLAIN),
    ROW(mq_timedreceive, "mq_receive", WAIT, PLAIN),
#ifdef SYS_epoll_pwait2
    ROW(epoll_pwait2, "epoll_pwait", POLL, PLAIN),
#endif
#ifdef SYS_io_uring_enter
    ROW(io_uring_enter, "io_uring_enter", POLL, PLAIN),
#endif
#ifdef SYS_futex_waitv
    ROW(futex_waitv, "futex_waitv", WAIT, PLAIN),
#endif
#ifdef SYS_futex_wait
    ROW(futex_wait, "futex", WAIT, PLAIN),
#endif
/* what younger machines do by the calls above */
#ifdef SYS_open
    ROW(open, "open", FILE_META, PLAIN), ROW(stat, "stat", FILE_META, PLAIN), ROW(lstat, "lstat", FILE_META, PLAIN),
    ROW(access, "access", FILE_META, PLAIN), ROW(unlink, "unlink", FILE_META, PLAIN),
    ROW(rename, "rename", FILE_META, PLAIN), ROW(mkdir, "mkdir", FILE_META, PLAIN),
    ROW(readlink, "readlink", FILE_META, PLAIN), ROW(creat, "creat", FILE_META, PLAIN),
    ROW(poll, "poll", POLL, IN_POLL), ROW(select, "select", POLL, IN_SELECT), ROW(epoll_wait, "epoll_wait", POLL, PLAIN),
    ROW(pause, "pause", WAIT, PLAIN),
#endif
};
/* clang-format on */

int32_t hu_wait_call_find(long number)
{
    for (size_t i = 0; i < HU_COUNT(calls); i++)
        if (calls[i].number == number)
            return (int32_t)i;
    return -1;
}

const hu_wait_call *hu_wait_call_at(uint32_t row)
{
    return row < HU_COUNT(calls) ? &calls[row] : NULL;
}

hu_os_class hu_wait_call_class(const hu_wait_call *call, const uint64_t arguments[HU_WAIT_ARGUMENTS])
{
    const uint32_t second = (uint32_t)arguments[1];

    switch ((hu_wait_kind)call->kind) {
    case HU_WAIT_ON_FUTEX:
        return (second & FUTEX_COMMAND) == FUTEX_LOCK_PI || (second & FUTEX_COMMAND) == FUTEX_LOCK_PI2 ? HU_OS_LOCK
                                                                                                       : HU_OS_WAIT;
    case HU_WAIT_IN_POLL:
        return second == 0 ? HU_OS_SLEEP : HU_OS_POLL;
    case HU_WAIT_IN_SELECT:
        return (int32_t)arguments[0] == 0 ? HU_OS_SLEEP : HU_OS_POLL;
    case HU_WAIT_IN_FCNTL:
        return second == FCNTL_SETLKW || second == FCNTL_OFD_SETLKW ? HU_OS_LOCK : HU_OS_CLASS_COUNT;
    case HU_WAIT_PLAIN:
    case HU_WAIT_ON_FD:
        break;
    }
    return (hu_os_class)call->class;
}

bool hu_wait_call_parks(const hu_wait_call *call)
{
    static const char *const parking[] = {"futex", "epoll_pwait", "epoll_wait", "nanosleep", "clock_nanosleep"};

    for (size_t i = 0; i < HU_COUNT(parking); i++)
        if (strcmp(call->name, parking[i]) == 0)
            return true;
    return false;
}
