/* SPDX-License-Identifier: Apache-2.0
 * osrt_files.c - calls on files and directories: reading, writing, syncing, and what asks the file system for names. */
#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "inject/osrt.h"
#include "base/banned.h"

#define ON_FD   hu_osrt_fd(&span, fd, rc)
#define OK_FD   hu_osrt_fd(&span, fd, rc < 0 ? -1 : 0) /* a result that is no number of bytes */
#define ON_PATH hu_osrt_path(&span, path, rc)

HU_WRAP_MANY(read, ssize_t, read, (int fd, void *to, size_t n), (fd, to, n), HU_RAW(SYS_read, fd, to, n), ON_FD)
HU_WRAP_MANY(pread, ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at),
             HU_RAW(SYS_pread64, fd, to, n, at), ON_FD)
HU_WRAP_MANY(readv, ssize_t, readv, (int fd, const struct iovec *to, int n), (fd, to, n), HU_RAW(SYS_readv, fd, to, n),
             ON_FD)
HU_WRAP_MANY(preadv, ssize_t, preadv, (int fd, const struct iovec *to, int n, off_t at), (fd, to, n, at),
             HU_RAW(SYS_preadv, fd, to, n, at), ON_FD)
HU_WRAP_AS(write, ssize_t, write, "write", NULL, (int fd, const void *from, size_t n), (fd, from, n),
           HU_RAW(SYS_write, fd, from, n),
           ((rc == 8 ? hu_osrt_counted(&span, fd) : (void)0), !hu_osrt_add(&span, fd, rc)) && is_long, ON_FD)
HU_WRAP_MANY(pwrite, ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at),
             HU_RAW(SYS_pwrite64, fd, from, n, at), ON_FD)
HU_WRAP_MANY(writev, ssize_t, writev, (int fd, const struct iovec *from, int n), (fd, from, n),
             HU_RAW(SYS_writev, fd, from, n), ON_FD)
HU_WRAP_MANY(pwritev, ssize_t, pwritev, (int fd, const struct iovec *from, int n, off_t at), (fd, from, n, at),
             HU_RAW(SYS_pwritev, fd, from, n, at), ON_FD)
HU_WRAP(readahead, ssize_t, readahead, (int fd, off64_t at, size_t n), (fd, at, n), HU_RAW(SYS_readahead, fd, at, n), OK_FD)
HU_WRAP(posix_fadvise, int, posix_fadvise, (int fd, off_t at, off_t n, int how), (fd, at, n, how), 0,
        hu_osrt_fd(&span, fd, 0))
HU_WRAP(sendfile, ssize_t, sendfile, (int to, int fd, off_t *at, size_t n), (to, fd, at, n),
        HU_RAW(SYS_sendfile, to, fd, at, n), hu_osrt_fd(&span, to, rc))
HU_WRAP(copy_file_range, ssize_t, copy_file_range, (int fd, off64_t *from, int to, off64_t *at, size_t n, unsigned flags),
        (fd, from, to, at, n, flags), HU_RAW(SYS_copy_file_range, fd, from, to, at, n, flags), hu_osrt_fd(&span, to, rc))
HU_WRAP(splice, ssize_t, splice, (int fd, off64_t *from, int to, off64_t *at, size_t n, unsigned flags),
        (fd, from, to, at, n, flags), HU_RAW(SYS_splice, fd, from, to, at, n, flags), ON_FD)
HU_WRAP(fallocate, int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n),
        HU_RAW(SYS_fallocate, fd, mode, at, n), ON_FD)
HU_WRAP(fallocate, int, posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n), ENOSYS, hu_osrt_fd(&span, fd, 0))
HU_WRAP(ftruncate, int, ftruncate, (int fd, off_t n), (fd, n), HU_RAW(SYS_ftruncate, fd, n), ON_FD)
HU_WRAP(truncate, int, truncate, (const char *path, off_t n), (path, n), HU_RAW(SYS_truncate, path, n), ON_PATH)

HU_WRAP(fsync, int, fsync, (int fd), (fd), HU_RAW(SYS_fsync, fd), ON_FD)
HU_WRAP(fdatasync, int, fdatasync, (int fd), (fd), HU_RAW(SYS_fdatasync, fd), ON_FD)
HU_WRAP(syncfs, int, syncfs, (int fd), (fd), HU_RAW(SYS_syncfs, fd), ON_FD)
HU_WRAP(msync, int, msync, (void *at, size_t n, int flags), (at, n, flags), HU_RAW(SYS_msync, at, n, flags),
        hu_osrt_done(&span, rc < 0 ? errno : 0))
HU_WRAP(sync_file_range, int, sync_file_range, (int fd, off64_t at, off64_t n, unsigned flags), (fd, at, n, flags),
        HU_RAW(SYS_sync_file_range, fd, at, n, flags), ON_FD)
HU_WRAP(flock, int, flock, (int fd, int how), (fd, how), HU_RAW(SYS_flock, fd, how), ON_FD)
HU_WRAP(lockf, int, lockf, (int fd, int how, off_t n), (fd, how, n), HU_ABSENT(-1), ON_FD)

HU_WRAP(stat, int, stat, (const char *path, struct stat *to), (path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(lstat, int, lstat, (const char *path, struct stat *to), (path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(fstat, int, fstat, (int fd, struct stat *to), (fd, to), HU_ABSENT(-1), ON_FD)
HU_WRAP(fstatat, int, fstatat, (int at, const char *path, struct stat *to, int flags), (at, path, to, flags), HU_ABSENT(-1),
        ON_PATH)
HU_WRAP(statx, int, statx, (int at, const char *path, int flags, unsigned mask, struct statx *to),
        (at, path, flags, mask, to), HU_RAW(SYS_statx, at, path, flags, mask, to), ON_PATH)
HU_WRAP(statfs, int, statfs, (const char *path, struct statfs *to), (path, to), HU_RAW(SYS_statfs, path, to), ON_PATH)
HU_WRAP(access, int, access, (const char *path, int mode), (path, mode), HU_RAW(SYS_faccessat, AT_FDCWD, path, mode),
        ON_PATH)
HU_WRAP(access, int, faccessat, (int at, const char *path, int mode, int flags), (at, path, mode, flags),
        HU_RAW(SYS_faccessat, at, path, mode), ON_PATH)
HU_WRAP(readlink, ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n),
        HU_RAW(SYS_readlinkat, AT_FDCWD, path, to, n), ON_PATH)
HU_WRAP(readlink, ssize_t, readlinkat, (int at, const char *path, char *to, size_t n), (at, path, to, n),
        HU_RAW(SYS_readlinkat, at, path, to, n), ON_PATH)
HU_WRAP(unlink, int, unlink, (const char *path), (path), HU_RAW(SYS_unlinkat, AT_FDCWD, path, 0), ON_PATH)
HU_WRAP(unlink, int, unlinkat, (int at, const char *path, int flags), (at, path, flags),
        HU_RAW(SYS_unlinkat, at, path, flags), ON_PATH)
HU_WRAP(unlink, int, remove, (const char *path), (path), HU_ABSENT(-1), ON_PATH)
HU_WRAP(rename, int, rename, (const char *path, const char *to), (path, to),
        HU_RAW(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, to, 0), ON_PATH)
HU_WRAP(rename, int, renameat, (int at, const char *path, int where, const char *to), (at, path, where, to),
        HU_RAW(SYS_renameat2, at, path, where, to, 0), ON_PATH)
HU_WRAP(rename, int, renameat2, (int at, const char *path, int where, const char *to, unsigned flags),
        (at, path, where, to, flags), HU_RAW(SYS_renameat2, at, path, where, to, flags), ON_PATH)
HU_WRAP(link, int, link, (const char *path, const char *to), (path, to), HU_RAW(SYS_linkat, AT_FDCWD, path, AT_FDCWD, to, 0),
        ON_PATH)
HU_WRAP(link, int, linkat, (int at, const char *path, int where, const char *to, int flags), (at, path, where, to, flags),
        HU_RAW(SYS_linkat, at, path, where, to, flags), ON_PATH)
HU_WRAP(symlink, int, symlink, (const char *target, const char *path), (target, path),
        HU_RAW(SYS_symlinkat, target, AT_FDCWD, path), ON_PATH)
HU_WRAP(symlink, int, symlinkat, (const char *target, int at, const char *path), (target, at, path),
        HU_RAW(SYS_symlinkat, target, at, path), ON_PATH)
HU_WRAP(mkdir, int, mkdir, (const char *path, mode_t mode), (path, mode), HU_RAW(SYS_mkdirat, AT_FDCWD, path, mode), ON_PATH)
HU_WRAP(mkdir, int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), HU_RAW(SYS_mkdirat, at, path, mode),
        ON_PATH)
HU_WRAP(rmdir, int, rmdir, (const char *path), (path), HU_RAW(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR), ON_PATH)
HU_WRAP(opendir, DIR *, opendir, (const char *path), (path), HU_ABSENT(NULL), hu_osrt_path(&span, path, rc ? 0 : -1))
HU_WRAP(readdir, struct dirent *, readdir, (DIR * of), (of), HU_ABSENT(NULL), hu_osrt_fd(&span, dirfd(of), 0))

HU_WRAP(mmap, void *, mmap, (void *at, size_t n, int may, int flags, int fd, off_t from), (at, n, may, flags, fd, from),
        HU_RAW(SYS_mmap, at, n, may, flags, fd, from), hu_osrt_fd(&span, fd, rc == MAP_FAILED ? -1 : 0))
HU_WRAP(munmap, int, munmap, (void *at, size_t n), (at, n), HU_RAW(SYS_munmap, at, n),
        hu_osrt_done(&span, rc < 0 ? errno : 0))
HU_WRAP(madvise, int, madvise, (void *at, size_t n, int advice), (at, n, advice), HU_RAW(SYS_madvise, at, n, advice),
        hu_osrt_done(&span, rc < 0 ? errno : 0))

/* sync returns nothing. */
HU_REAL(sync)
HU_EXPORT void sync(void)
{
    __typeof__(sync) *const real = HU_FIND(sync);
    hu_osrt_span            span;

    if (!real || !hu_gate_open(HU_DOOR_OSRT) || !hu_osrt_enter(&span, HU_OS_CALL_sync)) {
        if (real)
            real();
        else
            (void)HU_RAW(SYS_sync, 0);
        return;
    }
    real();
    if (hu_osrt_leave(&span))
        hu_osrt_done(&span, 0);
}

/* The names of glibc alone: large files, and what its headers turn calls into when they check sizes. */
#ifdef __GLIBC__
HU_WRAP_MANY(pread, ssize_t, pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at),
             HU_RAW(SYS_pread64, fd, to, n, at), ON_FD)
HU_WRAP_MANY(preadv, ssize_t, preadv64, (int fd, const struct iovec *to, int n, off64_t at), (fd, to, n, at),
             HU_RAW(SYS_preadv, fd, to, n, at), ON_FD)
HU_WRAP_MANY(preadv, ssize_t, preadv2, (int fd, const struct iovec *to, int n, off_t at, int flags), (fd, to, n, at, flags),
             HU_RAW(SYS_preadv2, fd, to, n, at, 0, flags), ON_FD)
HU_WRAP_MANY(preadv, ssize_t, preadv64v2, (int fd, const struct iovec *to, int n, off64_t at, int flags),
             (fd, to, n, at, flags), HU_RAW(SYS_preadv2, fd, to, n, at, 0, flags), ON_FD)
HU_WRAP_MANY(pwrite, ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at),
             HU_RAW(SYS_pwrite64, fd, from, n, at), ON_FD)
HU_WRAP_MANY(pwritev, ssize_t, pwritev64, (int fd, const struct iovec *from, int n, off64_t at), (fd, from, n, at),
             HU_RAW(SYS_pwritev, fd, from, n, at), ON_FD)
HU_WRAP_MANY(pwritev, ssize_t, pwritev2, (int fd, const struct iovec *from, int n, off_t at, int flags),
             (fd, from, n, at, flags), HU_RAW(SYS_pwritev2, fd, from, n, at, 0, flags), ON_FD)
HU_WRAP_MANY(pwritev, ssize_t, pwritev64v2, (int fd, const struct iovec *from, int n, off64_t at, int flags),
             (fd, from, n, at, flags), HU_RAW(SYS_pwritev2, fd, from, n, at, 0, flags), ON_FD)
HU_WRAP(sendfile, ssize_t, sendfile64, (int to, int fd, off64_t *at, size_t n), (to, fd, at, n),
        HU_RAW(SYS_sendfile, to, fd, at, n), hu_osrt_fd(&span, to, rc))
HU_WRAP(posix_fadvise, int, posix_fadvise64, (int fd, off64_t at, off64_t n, int how), (fd, at, n, how), 0,
        hu_osrt_fd(&span, fd, 0))
HU_WRAP(fallocate, int, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n),
        HU_RAW(SYS_fallocate, fd, mode, at, n), ON_FD)
HU_WRAP(fallocate, int, posix_fallocate64, (int fd, off64_t at, off64_t n), (fd, at, n), ENOSYS, hu_osrt_fd(&span, fd, 0))
HU_WRAP(ftruncate, int, ftruncate64, (int fd, off64_t n), (fd, n), HU_RAW(SYS_ftruncate, fd, n), ON_FD)
HU_WRAP(truncate, int, truncate64, (const char *path, off64_t n), (path, n), HU_RAW(SYS_truncate, path, n), ON_PATH)
HU_WRAP(lockf, int, lockf64, (int fd, int how, off64_t n), (fd, how, n), HU_ABSENT(-1), ON_FD)
HU_WRAP(stat, int, stat64, (const char *path, struct stat64 *to), (path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(lstat, int, lstat64, (const char *path, struct stat64 *to), (path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(fstat, int, fstat64, (int fd, struct stat64 *to), (fd, to), HU_ABSENT(-1), ON_FD)
HU_WRAP(fstatat, int, fstatat64, (int at, const char *path, struct stat64 *to, int flags), (at, path, to, flags),
        HU_ABSENT(-1), ON_PATH)
HU_WRAP(statfs, int, statfs64, (const char *path, struct statfs64 *to), (path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(readdir, struct dirent64 *, readdir64, (DIR * of), (of), HU_ABSENT(NULL), hu_osrt_fd(&span, dirfd(of), 0))
HU_WRAP(mmap, void *, mmap64, (void *at, size_t n, int may, int flags, int fd, off64_t from), (at, n, may, flags, fd, from),
        HU_RAW(SYS_mmap, at, n, may, flags, fd, from), hu_osrt_fd(&span, fd, rc == MAP_FAILED ? -1 : 0))

ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t n, off64_t at, size_t room);
ssize_t __readlink_chk(const char *path, char *to, size_t n, size_t room);
int     __xstat(int version, const char *path, struct stat *to);
int     __lxstat(int version, const char *path, struct stat *to);
int     __fxstat(int version, int fd, struct stat *to);
int     __fxstatat(int version, int at, const char *path, struct stat *to, int flags);
int     __xstat64(int version, const char *path, struct stat64 *to);
int     __lxstat64(int version, const char *path, struct stat64 *to);
int     __fxstat64(int version, int fd, struct stat64 *to);
int     __fxstatat64(int version, int at, const char *path, struct stat64 *to, int flags);

HU_WRAP_MANY(read, ssize_t, __read_chk, (int fd, void *to, size_t n, size_t room), (fd, to, n, room),
             HU_RAW(SYS_read, fd, to, n), ON_FD)
HU_WRAP_MANY(pread, ssize_t, __pread_chk, (int fd, void *to, size_t n, off_t at, size_t room), (fd, to, n, at, room),
             HU_RAW(SYS_pread64, fd, to, n, at), ON_FD)
HU_WRAP_MANY(pread, ssize_t, __pread64_chk, (int fd, void *to, size_t n, off64_t at, size_t room), (fd, to, n, at, room),
             HU_RAW(SYS_pread64, fd, to, n, at), ON_FD)
HU_WRAP(readlink, ssize_t, __readlink_chk, (const char *path, char *to, size_t n, size_t room), (path, to, n, room),
        HU_RAW(SYS_readlinkat, AT_FDCWD, path, to, n), ON_PATH)
HU_WRAP(stat, int, __xstat, (int version, const char *path, struct stat *to), (version, path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(lstat, int, __lxstat, (int version, const char *path, struct stat *to), (version, path, to), HU_ABSENT(-1), ON_PATH)
HU_WRAP(fstat, int, __fxstat, (int version, int fd, struct stat *to), (version, fd, to), HU_ABSENT(-1), ON_FD)
HU_WRAP(fstatat, int, __fxstatat, (int version, int at, const char *path, struct stat *to, int flags),
        (version, at, path, to, flags), HU_ABSENT(-1), ON_PATH)
HU_WRAP(stat, int, __xstat64, (int version, const char *path, struct stat64 *to), (version, path, to), HU_ABSENT(-1),
        ON_PATH)
HU_WRAP(lstat, int, __lxstat64, (int version, const char *path, struct stat64 *to), (version, path, to), HU_ABSENT(-1),
        ON_PATH)
HU_WRAP(fstat, int, __fxstat64, (int version, int fd, struct stat64 *to), (version, fd, to), HU_ABSENT(-1), ON_FD)
HU_WRAP(fstatat, int, __fxstatat64, (int version, int at, const char *path, struct stat64 *to, int flags),
        (version, at, path, to, flags), HU_ABSENT(-1), ON_PATH)
#endif
