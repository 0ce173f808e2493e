/* SPDX-License-Identifier: Apache-2.0
 * kineto.c - datagrams between PyTorch's profiler and whoever has the name "dynolog".
 *
 *     client -> daemon   u64 bytes, "ctxt", {i32 gpu, pid; i64 job}                 -> "ctxt", i32 registered
 *     client -> daemon   u64 bytes, "req",  {i32 bits, n; i64 job; i32 pids[n]}     -> "req", text, often none
 *
 * Traps: the abstract name has a NUL behind it that belongs to it.  Bits are 2 (ACTIVITIES) while the profiler is idle and 0
 * while it is on, for whomever.  And the worst: a client whose answer comes from a file that is not below its own
 * KINETO_IPC_SOCKET_DIR, letter for letter, throws in a thread where nobody catches, and the job aborts ("Unexpected socket
 * name").  So a file is bound by the name that the client uses, and who has another name for its folder gets no answer.
 */
#include "record/kineto.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TYPE_BYTES = 32, ASK_BYTES = 16, DATAGRAM_BYTES = 4096, IDLE_BIT = 2 };

static const char NAME[] = "dynolog";

/* words */

static bool is_type(const unsigned char *type, const char *name)
{
    return memchr(type, '\0', TYPE_BYTES) && strcmp((const char *)type, name) == 0;
}

bool hu_kineto_parse(const void *bytes, size_t n, hu_kineto_ask *out)
{
    const unsigned char *p = bytes, *body = p + HU_KINETO_HEADER_BYTES;
    uint64_t             length;
    int32_t              bits, count;

    *out = (hu_kineto_ask){.kind = HU_KINETO_NOTHING};
    if (n < HU_KINETO_HEADER_BYTES + ASK_BYTES)
        return false;
    memcpy(&length, p, sizeof length);
    if (length != n - HU_KINETO_HEADER_BYTES)
        return false;
    memcpy(&bits, body, sizeof bits);
    memcpy(&count, body + 4, sizeof count);
    memcpy(&out->job, body + 8, sizeof out->job);
    if (is_type(p + 8, "ctxt") && length == ASK_BYTES) {
        out->kind = HU_KINETO_REGISTERS;
        out->pids[out->n_pids++] = count; /* the same place */
        return true;
    }
    if (!is_type(p + 8, "req") || count < 1 || count > HU_KINETO_PIDS ||
        length != ASK_BYTES + (uint64_t)count * sizeof out->pids[0])
        return false;
    memcpy(out->pids, body + ASK_BYTES, (size_t)count * sizeof out->pids[0]);
    out->n_pids = (size_t)count;
    out->is_idle = bits & IDLE_BIT;
    out->kind = HU_KINETO_ASKS;
    return true;
}

static const char *word(bool value)
{
    return value ? "true" : "false";
}

size_t hu_kineto_write(const hu_kineto_request *r, char *out, size_t room)
{
    char when[128];
    int  n;

    for (const char *p = r->file; *p; p++)
        if ((unsigned char)*p < ' ')
            return 0;
    if (r->steps)
        snprintf(when, sizeof when,
                 "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=1\nACTIVITIES_ITERATIONS=%lld\n",
                 (long long)r->steps);
    else
        snprintf(when, sizeof when, "PROFILE_START_TIME=%lld\n", (long long)r->start_ms);
    n = snprintf(out, room,
                 "ACTIVITIES_LOG_FILE=%s\n%sACTIVITIES_DURATION_MSECS=%lld\nACTIVITIES_WARMUP_PERIOD_SECS=%lld\n"
                 "PROFILE_REPORT_INPUT_SHAPES=%s\nPROFILE_PROFILE_MEMORY=%s\nPROFILE_WITH_STACK=%s\n"
                 "PROFILE_WITH_FLOPS=%s\nPROFILE_WITH_MODULES=%s\n",
                 r->file, when, (long long)r->duration_ms, (long long)r->warm_up_s, word(r->shapes), word(r->memory),
                 word(r->stack), word(r->flops), word(r->modules));
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

void hu_kineto_file_of(const char *file, int32_t pid, char *out, size_t room)
{
    const size_t n = strlen(file), end = n > 5 && strcmp(file + n - 5, ".json") == 0 ? n - 5 : n;

    snprintf(out, room, "%.*s_%d%s", (int)end, file, pid, file + end);
}

/* the socket */

static socklen_t abstract_address(struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, NAME, sizeof NAME);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof NAME);
}

/* Is this the file that a socket was bound to?  Its path is as its owner wrote it. */
static bool is_file_of(const char *path, const struct stat *file)
{
    struct stat about;

    return path[0] == '/' && stat(path, &about) == 0 && about.st_dev == file->st_dev && about.st_ino == file->st_ino;
}

/* Which socket has the name: a file, or (NULL) the abstract one, whose NULs the kernel writes as '@'; 0: cannot be told. */
static unsigned long long inode_of(const struct stat *file)
{
    FILE              *f = fopen("/proc/net/unix", "re");
    char               line[512];
    unsigned long long found = 0;

    while (f && !found && fgets(line, sizeof line, f)) {
        unsigned long long inode;
        char               path[256];

        /* Num RefCount Protocol Flags Type St Inode Path */
        if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu %255s", &inode, path) == 2 &&
            (file ? is_file_of(path, file) : strcmp(path, "@dynolog@") == 0))
            found = inode;
    }
    if (f)
        fclose(f);
    return found;
}

static bool has_socket(const char *pid, const char *link)
{
    char           path[300], target[64];
    struct dirent *e;
    DIR           *d;
    bool           found = false;

    snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
    d = opendir(path);
    while (d && !found && (e = readdir(d))) {
        const ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof target - 1);

        target[n > 0 ? n : 0] = '\0';
        found = strcmp(target, link) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

/* Which process has a socket of that name; 0: another user's, or another namespace's. */
static pid_t owner_of(const struct stat *file)
{
    const unsigned long long inode = inode_of(file);
    DIR                     *d = inode ? opendir("/proc") : NULL;
    struct dirent           *e;
    char                     link[64];
    pid_t                    found = 0;

    snprintf(link, sizeof link, "socket:[%llu]", inode);
    while (d && !found && (e = readdir(d)))
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && has_socket(e->d_name, link))
            found = (pid_t)strtol(e->d_name, NULL, 10);
    if (d)
        closedir(d);
    return found;
}

static int fail_taken(const struct stat *file, pid_t *owner, hu_error *err)
{
    *owner = owner_of(file);
    return hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "another process has the name \"%s\"", NAME);
}

/* A file that nobody listens behind is what a killed daemon left. */
static bool is_dead(const struct sockaddr_un *address, socklen_t bytes)
{
    const int  fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool is_dead = fd >= 0 && connect(fd, (const struct sockaddr *)address, bytes) < 0 && errno == ECONNREFUSED;

    if (fd >= 0)
        close(fd);
    return is_dead;
}

static int bind_file(hu_kineto_door *door, const char *folder, pid_t *owner, hu_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat        about;
    const int          n = snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, NAME);
    const socklen_t    bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);

    if (n < 0 || (size_t)n >= sizeof address.sun_path)
        return hu_fail(err, HU_EIO, folder, HU_NO_OFFSET, "is longer than the name of a socket may be (%zu bytes)",
                       sizeof address.sun_path - sizeof NAME - 1);
    if (bind(door->fd, (struct sockaddr *)&address, bytes) < 0) {
        if (errno != EADDRINUSE)
            return hu_fail(err, HU_EIO, folder, HU_NO_OFFSET, "cannot hold the socket: %s", strerror(errno));
        if (!is_dead(&address, bytes))
            return fail_taken(stat(address.sun_path, &about) == 0 ? &about : NULL, owner, err);
        if (unlink(address.sun_path) < 0 || bind(door->fd, (struct sockaddr *)&address, bytes) < 0)
            return hu_fail(err, HU_EIO, address.sun_path, HU_NO_OFFSET,
                           "is left from a daemon that ended, and cannot be replaced: %s", strerror(errno));
    }
    memcpy(door->path, address.sun_path, sizeof door->path);
    /* as Kineto makes its own: the process may be another user of its container */
    if (chmod(door->path, 0666) < 0)
        return hu_fail(err, HU_EIO, door->path, HU_NO_OFFSET, "%s", strerror(errno));
    return 0;
}

static int bind_abstract(const hu_kineto_door *door, pid_t *owner, hu_error *err)
{
    struct sockaddr_un address;
    const socklen_t    bytes = abstract_address(&address);

    if (bind(door->fd, (struct sockaddr *)&address, bytes) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return fail_taken(NULL, owner, err);
    return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot hold the abstract socket \"%s\": %s", NAME, strerror(errno));
}

int hu_kineto_open(const char *folder, hu_kineto_door *out, pid_t *owner, hu_error *err)
{
    const int on = 1;
    int       rc;

    *out = (hu_kineto_door){.fd = -1};
    *owner = 0;
    out->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (out->fd < 0 || setsockopt(out->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
        rc = hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot make a local socket: %s", strerror(errno));
    else
        rc = folder ? bind_file(out, folder, owner, err) : bind_abstract(out, owner, err);
    if (rc < 0)
        hu_kineto_close(out);
    return rc;
}

void hu_kineto_close(hu_kineto_door *door)
{
    if (door->path[0])
        unlink(door->path);
    if (door->fd >= 0)
        close(door->fd);
    *door = (hu_kineto_door){.fd = -1};
}

/* messages */

int hu_kineto_receive(const hu_kineto_door *door, hu_kineto_message *out)
{
    char         bytes[DATAGRAM_BYTES];
    struct iovec piece = {bytes, sizeof bytes};
    union {
        struct cmsghdr align;
        char           bytes[CMSG_SPACE(sizeof(struct ucred))]; /* descriptors find no room: the kernel closes them */
    } control;
    struct msghdr m = {.msg_name = &out->address,
                       .msg_namelen = sizeof out->address,
                       .msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control.bytes};
    ssize_t       n;

    memset(out, 0, sizeof *out);
    n = recvmsg(door->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return 0;
    out->uid = (uid_t)-1;
    out->address_bytes = m.msg_namelen;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
            c->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
            struct ucred who;

            memcpy(&who, CMSG_DATA(c), sizeof who);
            out->pid = who.pid;
            out->uid = who.uid;
        }
    if (!(m.msg_flags & MSG_TRUNC))
        hu_kineto_parse(bytes, (size_t)n, &out->ask);
    return 1;
}

static size_t folder_length(const char *path, size_t room)
{
    const char *slash = memrchr(path, '/', strnlen(path, room));

    return slash ? (size_t)(slash - path) : 0;
}

bool hu_kineto_can_answer(const hu_kineto_door *door, const hu_kineto_message *to)
{
    const char  *path = to->address.sun_path;
    const size_t n = folder_length(door->path, sizeof door->path);

    if (to->address_bytes <= offsetof(struct sockaddr_un, sun_path))
        return false; /* who has no name cannot be answered */
    if (!door->path[0])
        return path[0] == '\0';
    return folder_length(path, sizeof to->address.sun_path) == n && strncmp(path, door->path, n) == 0;
}

bool hu_kineto_answer(const hu_kineto_door *door, const hu_kineto_message *to, const char *text)
{
    unsigned char bytes[HU_KINETO_HEADER_BYTES + HU_KINETO_TEXT_BYTES] = {0};
    const bool    registers = to->ask.kind == HU_KINETO_REGISTERS;
    const char   *type = registers ? "ctxt" : "req";
    const int32_t one = 1;
    uint64_t      n = registers ? sizeof one : strlen(text);

    if (n > HU_KINETO_TEXT_BYTES || !hu_kineto_can_answer(door, to))
        return false;
    memcpy(bytes, &n, sizeof n);
    memcpy(bytes + sizeof n, type, strlen(type));
    memcpy(bytes + HU_KINETO_HEADER_BYTES, registers ? (const void *)&one : text, n);
    return sendto(door->fd, bytes, HU_KINETO_HEADER_BYTES + n, MSG_DONTWAIT | MSG_NOSIGNAL,
                  (const struct sockaddr *)&to->address, to->address_bytes) == (ssize_t)(HU_KINETO_HEADER_BYTES + n);
}
