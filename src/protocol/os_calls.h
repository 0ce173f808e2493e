/* SPDX-License-Identifier: Apache-2.0
 * os_calls.h - the calls of the C library that are recorded: name and class, in one list for the door and the reader.
 *
 * The class of a row is the one of a file or where a descriptor says nothing; the door says in a record's MORE what the
 * descriptor really was (hu_os_class).  Several symbols share a row (read, __read_chk; open, open64): docs/osrt.md.
 *
 * Not here: vfork, which returns twice, and dlopen, which looks at who calls it to find libraries beside the caller.
 */
#ifndef HU_PROTOCOL_OS_CALLS_H
#define HU_PROTOCOL_OS_CALLS_H

/* clang-format off */
#define HU_OS_CLASSES(C)                                                                                              \
    C(FILE_READ, "file_read") C(FILE_WRITE, "file_write") C(FILE_META, "file_meta") C(FSYNC, "fsync")                 \
    C(NETWORK, "network") C(PIPE, "pipe") C(LOCK, "lock") C(SLEEP, "sleep") C(POLL, "poll") C(WAIT, "wait")
/* clang-format on */

typedef enum {
#define C(id, name) HU_OS_##id,
    HU_OS_CLASSES(C)
#undef C
        HU_OS_CLASS_COUNT
} hu_os_class;

/* clang-format off */
#define HU_OS_CALLS(C)                                                                                                \
    C(read, FILE_READ) C(pread, FILE_READ) C(readv, FILE_READ) C(preadv, FILE_READ) C(fread, FILE_READ)               \
    C(fgets, FILE_READ) C(getline, FILE_READ) C(getdelim, FILE_READ) C(fgetc, FILE_READ) C(fscanf, FILE_READ)         \
    C(readahead, FILE_READ) C(posix_fadvise, FILE_READ)                                                               \
    C(write, FILE_WRITE) C(pwrite, FILE_WRITE) C(writev, FILE_WRITE) C(pwritev, FILE_WRITE) C(fwrite, FILE_WRITE)     \
    C(fputs, FILE_WRITE) C(fputc, FILE_WRITE) C(fprintf, FILE_WRITE) C(fflush, FILE_WRITE) C(fclose, FILE_WRITE)      \
    C(sendfile, FILE_WRITE) C(copy_file_range, FILE_WRITE) C(fallocate, FILE_WRITE) C(ftruncate, FILE_WRITE)          \
    C(splice, PIPE)                                                                                                   \
    C(open, FILE_META) C(openat, FILE_META) C(creat, FILE_META) C(fopen, FILE_META) C(close, FILE_META)               \
    C(stat, FILE_META) C(lstat, FILE_META) C(fstat, FILE_META) C(fstatat, FILE_META) C(statx, FILE_META)              \
    C(access, FILE_META) C(readlink, FILE_META) C(unlink, FILE_META) C(rename, FILE_META) C(link, FILE_META)          \
    C(symlink, FILE_META) C(mkdir, FILE_META) C(rmdir, FILE_META) C(truncate, FILE_META)                              \
    C(opendir, FILE_META) C(readdir, FILE_META) C(statfs, FILE_META) C(mmap, FILE_META) C(munmap, FILE_META)          \
    C(madvise, FILE_META)                                                                                             \
    C(flock, LOCK) C(lockf, LOCK)                                                                                     \
    C(fsync, FSYNC) C(fdatasync, FSYNC) C(sync, FSYNC) C(syncfs, FSYNC) C(msync, FSYNC) C(sync_file_range, FSYNC)     \
    C(connect, NETWORK) C(accept, NETWORK) C(accept4, NETWORK) C(send, NETWORK) C(sendto, NETWORK)                    \
    C(sendmsg, NETWORK) C(sendmmsg, NETWORK) C(recv, NETWORK) C(recvfrom, NETWORK) C(recvmsg, NETWORK)                \
    C(recvmmsg, NETWORK) C(getaddrinfo, NETWORK)                                                                      \
    C(poll, POLL) C(ppoll, POLL) C(select, POLL) C(pselect, POLL) C(epoll_wait, POLL) C(epoll_pwait, POLL)            \
    C(sleep, SLEEP) C(usleep, SLEEP) C(nanosleep, SLEEP) C(clock_nanosleep, SLEEP)                                    \
    C(pthread_mutex_lock, LOCK) C(pthread_mutex_timedlock, LOCK) C(pthread_rwlock_rdlock, LOCK)                       \
    C(pthread_rwlock_wrlock, LOCK) C(pthread_spin_lock, LOCK)                                                         \
    C(pthread_cond_wait, WAIT) C(pthread_cond_timedwait, WAIT) C(pthread_cond_clockwait, WAIT)                        \
    C(pthread_barrier_wait, WAIT) C(futex, WAIT)                                                                      \
    C(sem_wait, WAIT) C(sem_timedwait, WAIT) C(sem_clockwait, WAIT) C(pthread_join, WAIT) C(wait, WAIT)               \
    C(waitpid, WAIT) C(wait3, WAIT) C(wait4, WAIT) C(waitid, WAIT)                                                    \
    C(sigwait, WAIT) C(sigwaitinfo, WAIT) C(sigtimedwait, WAIT) C(sigsuspend, WAIT) C(pause, WAIT) C(semop, WAIT)     \
    C(msgsnd, WAIT) C(msgrcv, WAIT) C(mq_send, WAIT) C(mq_receive, WAIT)                                              \
    C(fork, WAIT) C(posix_spawn, WAIT) C(system, WAIT) C(popen, WAIT) C(pclose, WAIT)
/* clang-format on */

typedef enum {
#define C(name, class) HU_OS_CALL_##name,
    HU_OS_CALLS(C)
#undef C
        HU_OS_CALL_COUNT
} hu_os_call;

#endif
