/* SPDX-License-Identifier: Apache-2.0
 * look.c - what a check may read, and what it says of it; runs in the process of looker.c.
 *
 * A captured tree is hostile: its links are followed inside of it only, as chroot(2) would, nothing but regular files is
 * opened, and nothing is read without an end.  Links are walked here, by descriptors, because openat2(2) is missing from the
 * kernels of RHEL 8.
 */
#include "doctor/looker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "doctor/looker_message.h"

extern char **environ;

enum { MOST_LINKS = 40, MOST_DEPTH = 64, FIRST_ROOM = 16384, MOST_VARIABLES = 65536 };

struct hu_doctor {
    hu_arena            *arena;
    const hu_doctor_how *how;
    int                  root; /* of a captured tree; -1: this machine */
    int                  socket;
    const char *const   *environment;
    const char          *denied; /* of a captured tree: paths that could not be read, each between newlines */
};

/* -- paths of a captured tree ------------------------------------------------------------------------------------------ */

/* Folders from the root to where a walk is. */
typedef struct {
    int at[MOST_DEPTH];
    int n;
} folders;

static void leave(folders *f, int keep)
{
    while (f->n > keep)
        close(f->at[--f->n]);
}

/* One name of a walk.  Returns 0; -1 and errno; or 1 where it is a link, whose text is in `target`. */
static int step(folders *f, const char *name, char *target, size_t room)
{
    const int   above = f->at[f->n - 1];
    const int   fd = openat(above, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    ssize_t     n;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        n = readlinkat(fd, "", target, room - 1);
        close(fd);
        if (n <= 0)
            return -1;
        target[n] = '\0';
        return 1;
    }
    if (f->n == MOST_DEPTH) {
        close(fd);
        errno = ELOOP;
        return -1;
    }
    f->at[f->n++] = fd;
    return 0;
}

/* The path below `root` as an O_PATH descriptor; a link at its end is followed, or not.  -1: errno says why. */
static int walk(int root, const char *path, bool follows_last)
{
    char    rest[PATH_MAX], target[PATH_MAX], joined[PATH_MAX];
    folders f = {{root}, 1};
    int     links = 0, fd = -1;

    if ((size_t)snprintf(rest, sizeof rest, "%s", path) >= sizeof rest) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (char *p = rest;;) {
        char *name = p + strspn(p, "/"), *end = name + strcspn(name, "/");
        int   kind;

        if (!*name)
            break;
        p = end + (*end == '/');
        *end = '\0';
        if (strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0) {
            leave(&f, f.n > 1 ? f.n - 1 : 1);
            continue;
        }
        if (!follows_last && !p[strspn(p, "/")]) {
            fd = openat(f.at[f.n - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
            leave(&f, 1);
            return fd;
        }
        if ((kind = step(&f, name, target, sizeof target)) < 0 || (kind && ++links > MOST_LINKS)) {
            const int why = kind < 0 ? errno : ELOOP;

            leave(&f, 1);
            errno = why;
            return -1;
        }
        if (kind) {
            if (target[0] == '/')
                leave(&f, 1);
            if ((size_t)snprintf(joined, sizeof joined, "%s/%s", target, p) >= sizeof joined) {
                leave(&f, 1);
                errno = ENAMETOOLONG;
                return -1;
            }
            memcpy(rest, joined, strlen(joined) + 1);
            p = rest;
        }
    }
    fd = openat(f.at[f.n - 1], ".", O_PATH | O_CLOEXEC); /* of a folder */
    if (fd < 0 && errno == ENOTDIR)
        fd = fcntl(f.at[f.n - 1], F_DUPFD_CLOEXEC, 0);
    leave(&f, 1);
    return fd;
}

static int find(const hu_doctor *d, const char *path, bool follows_last)
{
    if (d->root >= 0)
        return walk(d->root, path, follows_last);
    return open(path, O_PATH | O_CLOEXEC | (follows_last ? 0 : O_NOFOLLOW));
}

static hu_look look_of(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENODEV || error == ENXIO ? HU_LOOK_ABSENT
           : error == EACCES || error == EPERM                                      ? HU_LOOK_DENIED
                                                                                    : HU_LOOK_BROKEN;
}

/* Could the path not be read where the tree was captured? */
static bool was_denied(const hu_doctor *d, const char *path)
{
    const size_t n = strlen(path);

    for (const char *p = d->denied; p && (p = strstr(p, path)) != NULL; p += n)
        if (p > d->denied && p[-1] == '\n' && (p[n] == '\n' || p[n] == '\0'))
            return true;
    return false;
}

/* -- files ------------------------------------------------------------------------------------------------------------ */

void hu_doctor_saw(hu_doctor *d, hu_seen kind, const char *name, hu_look how, hu_str bytes)
{
    if (d->how->witness.saw)
        d->how->witness.saw(d->how->witness.context, kind, name, how, bytes);
}

/* All that read(2) gives, up to HU_LOOK_BYTES. */
static hu_look read_all(hu_doctor *d, int fd, bool is_log, hu_str *out)
{
    char   *room = NULL;
    size_t  n = 0, size = 0;
    ssize_t got = 0;

    for (;;) {
        if (size - n < FIRST_ROOM && size < HU_LOOK_BYTES) {
            char *more = hu_arena_grow(d->arena, room, size ? 2 * size : FIRST_ROOM);

            if (!more)
                break;
            room = more;
            size = size ? 2 * size : FIRST_ROOM;
        }
        if (n == size)
            break;
        got = read(fd, room + n, size - n);
        if (got < 0 && (errno == EINTR || (is_log && errno == EPIPE))) /* EPIPE: the kernel wrote over the next line */
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    const int     why = got < 0 && !(is_log && errno == EAGAIN) ? errno : 0;
    const hu_look how = why && n == 0 ? look_of(why) : HU_LOOK_OK;

    *out = hu_arena_copy(d->arena, (hu_str){room ? room : "", how == HU_LOOK_OK ? n : 0});
    hu_arena_drop(d->arena, room);
    if (!out->p)
        *out = HU_STR("");
    return how;
}

static hu_look read_found(hu_doctor *d, const char *path, int found, hu_str *out)
{
    char        again[64];
    struct stat st;
    bool        is_log;
    int         fd;
    hu_look     how;

    if (fstat(found, &st) < 0)
        return look_of(errno);
    is_log = d->root < 0 && S_ISCHR(st.st_mode) && strcmp(path, "/dev/kmsg") == 0;
    if (!S_ISREG(st.st_mode) && !is_log)
        return HU_LOOK_BROKEN;
    snprintf(again, sizeof again, "/proc/self/fd/%d", found);
    fd = open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return look_of(errno);
    how = read_all(d, fd, is_log, out);
    close(fd);
    return how;
}

static hu_look read_bytes(hu_doctor *d, const char *path, hu_str *out)
{
    const int found = was_denied(d, path) ? -1 : find(d, path, true);
    hu_look   how;

    *out = HU_STR("");
    if (found < 0)
        return was_denied(d, path) ? HU_LOOK_DENIED : look_of(errno);
    how = read_found(d, path, found, out);
    close(found);
    return how;
}

hu_look hu_doctor_read_bytes(hu_doctor *d, const char *path, hu_str *bytes)
{
    const hu_look how = read_bytes(d, path, bytes);

    hu_doctor_saw(d, HU_SEEN_FILE, path, how, *bytes);
    return how;
}

hu_look hu_doctor_read(hu_doctor *d, const char *path, const char **text)
{
    hu_str        s;
    const hu_look how = hu_doctor_read_bytes(d, path, &s);

    while (s.n && strchr(" \t\r\n", s.p[s.n - 1])) /* a NUL at the end, too: strchr finds it */
        s.n--;
    s = hu_arena_copy(d->arena, s);
    *text = s.p ? s.p : "";
    return how;
}

hu_look hu_doctor_read_number(hu_doctor *d, const char *path, int64_t *number)
{
    const char *text;
    hu_look     how = hu_doctor_read(d, path, &text);
    char       *end;

    if (how != HU_LOOK_OK)
        return how;
    text += strcspn(text, "-0123456789");
    errno = 0;
    const int64_t value = strtoll(text, &end, text[0] == '0' && text[1] == 'x' ? 16 : 10);

    if (end == text || errno)
        return HU_LOOK_BROKEN;
    *number = value;
    return HU_LOOK_OK;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

hu_look hu_doctor_list(hu_doctor *d, const char *path, const char *const **names, size_t *n)
{
    const int found = was_denied(d, path) ? (errno = EACCES, -1) : find(d, path, true);
    const int fd = found >= 0 ? openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    const int why = errno;
    DIR      *folder = fd >= 0 ? fdopendir(fd) : NULL;
    HU_VEC(const char *) list = {0};
    const struct dirent *entry;
    hu_str               all = HU_STR("");
    hu_look              how = HU_LOOK_OK;

    if (found >= 0)
        close(found);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        how = look_of(fd < 0 ? why : ENOMEM);
    }
    while (folder && list.n < HU_LOOK_NAMES && (entry = readdir(folder)) != NULL) {
        const char *name;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        name = hu_arena_copy(d->arena, hu_str_of(entry->d_name)).p;
        if (!name || !hu_vec_push(d->arena, &list, name))
            break;
    }
    if (folder)
        closedir(folder);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_name);
    if (d->how->witness.saw) {
        size_t size = 1, used = 0;
        char  *text;

        for (size_t i = 0; i < list.n; i++)
            size += strlen(list.at[i]) + 1;
        text = hu_arena_alloc(d->arena, size);
        for (size_t i = 0; text && i < list.n; i++)
            used += (size_t)snprintf(text + used, size - used, "%s\n", list.at[i]);
        all = text ? (hu_str){text, used} : all;
    }
    hu_doctor_saw(d, HU_SEEN_FOLDER, path, how, all);
    *names = list.at;
    *n = list.n;
    return how;
}

hu_look hu_doctor_link(hu_doctor *d, const char *path, const char **target)
{
    char      text[PATH_MAX];
    const int fd = find(d, path, false);
    ssize_t   n = fd >= 0 ? readlinkat(fd, "", text, sizeof text - 1) : -1;
    const int why = errno;
    hu_look   how = HU_LOOK_OK;

    if (fd >= 0)
        close(fd);
    if (n <= 0) { /* what is no link gives EINVAL, or ENOENT for a descriptor that is none */
        n = 0;
        how = fd >= 0 ? HU_LOOK_BROKEN : look_of(why);
    }
    *target = hu_arena_copy(d->arena, (hu_str){text, (size_t)n}).p;
    if (!*target)
        *target = "";
    hu_doctor_saw(d, HU_SEEN_LINK, path, how, hu_str_of(*target));
    return how;
}

bool hu_doctor_exists(hu_doctor *d, const char *path)
{
    const int     fd = find(d, path, true);
    const hu_look how = fd >= 0 ? HU_LOOK_OK : look_of(errno);

    if (fd >= 0)
        close(fd);
    hu_doctor_saw(d, HU_SEEN_PATH, path, how, HU_STR(""));
    return how == HU_LOOK_OK;
}

const char *hu_doctor_format(hu_doctor *d, const char *format, ...)
{
    char    text[8192];
    va_list list;
    int     n;

    va_start(list, format);
    n = vsnprintf(text, sizeof text, format, list);
    va_end(list);

    const hu_str s = n < 0 ? HU_STR("") : (hu_str){text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1};
    const char  *copy = hu_arena_copy(d->arena, s).p;

    return copy ? copy : "";
}

/* -- the job ---------------------------------------------------------------------------------------------------------- */

/* Lines of holdup/environment; `text` is ours to cut. */
static const char *const *split(hu_arena *arena, char *text)
{
    HU_VEC(const char *) list = {0};
    char *rest = text, *line;

    while ((line = strsep(&rest, "\n")) != NULL && list.n < MOST_VARIABLES)
        if (strchr(line, '='))
            (void)hu_vec_push(arena, &list, (const char *)line);
    (void)hu_vec_push(arena, &list, (const char *)NULL);
    return list.n && !list.at[list.n - 1] ? list.at : NULL;
}

static const char *const *captured(hu_doctor *d)
{
    hu_str s;
    char  *text;

    if (read_bytes(d, "/holdup/environment", &s) != HU_LOOK_OK)
        return NULL;
    text = hu_arena_calloc(d->arena, s.n + 1, 1);
    if (!text)
        return NULL;
    memcpy(text, s.p, s.n);
    return split(d->arena, text);
}

const char *const *hu_doctor_environment(hu_doctor *d)
{
    static const char *const none[] = {NULL};

    if (!d->environment)
        d->environment = d->root >= 0 ? captured(d) : (const char *const *)environ;
    if (!d->environment)
        d->environment = none;
    return d->environment;
}

const char *hu_doctor_variable(hu_doctor *d, const char *name)
{
    const size_t n = strlen(name);

    for (const char *const *e = hu_doctor_environment(d); *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

bool hu_doctor_has_environment(hu_doctor *d)
{
    return d->root < 0 || hu_doctor_exists(d, "/holdup/environment");
}

bool hu_doctor_is_capture(const hu_doctor *d)
{
    return d->root >= 0;
}

bool hu_doctor_is_job(const hu_doctor *d)
{
    return d->how->when & HU_CHECK_OF_JOB;
}

const char *const *hu_doctor_paths(const hu_doctor *d, size_t *n)
{
    *n = d->how->n_paths;
    return d->how->paths;
}

hu_arena *hu_doctor_arena(hu_doctor *d)
{
    return d->arena;
}

/* -- what it says ------------------------------------------------------------------------------------------------------ */

void hu_doctor_say(hu_doctor *d, const hu_check *check, hu_verdict_of_check verdict, const char *subject, const char *fix,
                   const char *format, ...)
{
    char    text[HU_MESSAGE_TEXT];
    va_list list;

    (void)check; /* the listener knows whose turn it is */
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    hu_message_send(d->socket, HU_MESSAGE_ANSWER, (int)verdict, subject, fix, text);
}

void hu_doctor_value(hu_doctor *d, const char *key, const char *value)
{
    hu_message_send(d->socket, HU_MESSAGE_VALUE, 0, key, NULL, value);
}

void hu_doctor_begin_call(hu_doctor *d, const char *what)
{
    hu_message_send(d->socket, HU_MESSAGE_DOING, 0, NULL, NULL, what);
}

hu_doctor *hu_doctor_open(const hu_doctor_how *how, int socket)
{
    hu_arena  *arena = hu_arena_new();
    hu_doctor *d = arena ? hu_arena_calloc(arena, 1, sizeof *d) : NULL;
    hu_str     denied;

    if (!d) {
        hu_arena_free(arena);
        return NULL;
    }
    *d = (hu_doctor){.arena = arena, .how = how, .root = -1, .socket = socket};
    if (how->root) {
        d->root = open(how->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (d->root < 0) {
            hu_arena_free(arena);
            return NULL;
        }
        if (read_bytes(d, "/holdup/denied", &denied) == HU_LOOK_OK)
            d->denied = hu_doctor_format(d, "\n%s", denied.p);
    }
    return d;
}
