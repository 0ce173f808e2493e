/* SPDX-License-Identifier: Apache-2.0
 * registry.c - a folder of links: name -> directory of the session; after its end a copy of its control page instead.
 *
 * The folder is $XDG_RUNTIME_DIR/holdup or /tmp/holdup-UID.  Anybody can make the second one, so it is used only when it
 * belongs to this user and nobody else can write to it.  Whoever has it open has it locked: a name is looked at and then
 * taken, replaced or removed, and nobody may come in between.
 */
#include "record/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FOLDER_BYTES = 256, KEPT_S = 86400, MOST_ENTRIES = 4096 };

/* A process that is stopped while it holds the lock does not stop all others; nor does a file system that has no locks. */
static void lock(int folder)
{
    enum { TRIES = 200, NAP_NS = 5000000 };

    for (int i = 0; i < TRIES && flock(folder, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Opens and locks the folder, made when it is not there; -1: there is none that can be trusted. */
static int open_folder(bool makes, char *path, hu_error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    int         fd;

    if (runtime && runtime[0] == '/' && strlen(runtime) < FOLDER_BYTES - 16 && access(runtime, W_OK) == 0)
        snprintf(path, FOLDER_BYTES, "%s/holdup", runtime);
    else
        snprintf(path, FOLDER_BYTES, "/tmp/holdup-%u", (unsigned)geteuid());
    if (makes && mkdir(path, 0700) < 0 && errno != EEXIST) {
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot be created: %s", strerror(errno));
        return -1;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0) {
        lock(fd);
        return fd;
    }
    close(fd);
    hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "is owned by another user or writable by others; remove it");
    return -1;
}

static bool is_alive(const hu_control *c)
{
    return c->state < HU_SESSION_WRITTEN && (c->supervisor == 0 || kill((pid_t)c->supervisor, 0) == 0 || errno == EPERM);
}

static void end_texts(hu_control *c)
{
    c->output[sizeof c->output - 1] = c->failure[sizeof c->failure - 1] = '\0';
}

typedef enum { GONE, HERE, OTHERS /* what another version keeps: nothing is known of it, and it stays */ } look_result;

/* What a page of another version says of itself, in the members that never move. */
static look_result look_foreign(const char *target, hu_registry_entry *out)
{
    char       path[HU_SESSION_PATH_MAX + 16];
    const int  fd = snprintf(path, sizeof path, "%s/control", target) < (int)sizeof path
                        ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
                        : -1;
    hu_control page = {0};
    ssize_t    n = fd < 0 ? -1 : read(fd, &page, sizeof page);

    if (fd >= 0)
        close(fd);
    if (n < (ssize_t)offsetof(hu_control, mask) || page.magic != HU_CONTROL_MAGIC || page.version == HU_FORMAT_VERSION)
        return GONE;
    out->control.magic = page.magic;
    out->control.version = page.version;
    hu_session_maker(&page, out->control.made_by);
    snprintf(out->path, sizeof out->path, "%s", target);
    out->is_foreign = true;
    return HERE;
}

/* A link is followed to the control page of the session; a file is such a page. */
static look_result look(int folder, const char *name, hu_registry_entry *out)
{
    char        target[HU_SESSION_PATH_MAX];
    ssize_t     n = readlinkat(folder, name, target, sizeof target - 1);
    hu_session  session;
    struct stat st;
    int         fd;

    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", name);
    if (n > 0) {
        target[n] = '\0';
        if (hu_session_open(target, &session, NULL) < 0)
            return look_foreign(target, out);
        out->control = *session.control;
        end_texts(&out->control);
        hu_session_close(&session);
        memcpy(out->path, target, (size_t)n + 1);
        out->is_alive = is_alive(&out->control);
        return HERE;
    }
    fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return GONE;
    n = read(fd, &out->control, sizeof out->control);
    if (fstat(fd, &st) < 0 || time(NULL) - st.st_mtime > KEPT_S)
        n = 0;
    close(fd);
    end_texts(&out->control);
    if (n < (ssize_t)offsetof(hu_control, mask) || out->control.magic != HU_CONTROL_MAGIC)
        return GONE;
    if (out->control.version != HU_FORMAT_VERSION)
        return OTHERS;
    return n >= (ssize_t)offsetof(hu_control, made_by) ? HERE : GONE; /* 0.1 kept no more */
}

int hu_registry_add(const char *name, const char *session, hu_error *err)
{
    char              path[FOLDER_BYTES];
    const int         folder = open_folder(true, path, err);
    hu_registry_entry there;
    int               rc = 0;

    if (folder < 0)
        return err ? err->code : HU_EIO;
    if (look(folder, name, &there) == HERE && there.is_foreign)
        rc = hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "session \"%s\" is one of holdup %s; choose another name", name,
                     there.control.made_by);
    else if (there.is_alive)
        rc = hu_fail(err, HU_EUSAGE, NULL, HU_NO_OFFSET, "session \"%s\" is already running; choose another name", name);
    else
        unlinkat(folder, name, 0);
    if (rc == 0 && symlinkat(session, folder, name) < 0)
        rc = hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    close(folder);
    return rc;
}

/* Is the name still this session's?  Once it is over, another one may take it. */
static bool is_name_of(int folder, const char *name, const char *session)
{
    struct stat linked, own;

    return fstatat(folder, name, &linked, 0) == 0 && stat(session, &own) == 0 && linked.st_dev == own.st_dev &&
           linked.st_ino == own.st_ino;
}

void hu_registry_end(const char *name, const char *session, const hu_control *last)
{
    char       path[FOLDER_BYTES], fresh[HU_REGISTRY_NAME_BYTES + 8];
    hu_control copy = *last;
    const int  folder = open_folder(false, path, NULL);
    int        fd;
    bool       is_whole;

    if (folder < 0)
        return;
    if (!is_name_of(folder, name, session)) {
        close(folder);
        return;
    }
    snprintf(fresh, sizeof fresh, ".%s", name);
    fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    is_whole = fd >= 0 && write(fd, &copy, sizeof copy) == (ssize_t)sizeof copy;
    if (fd >= 0)
        close(fd);
    if (is_whole)
        renameat(folder, fresh, folder, name);
    else
        unlinkat(folder, fresh, 0);
    close(folder);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const hu_registry_entry *)a)->name, ((const hu_registry_entry *)b)->name);
}

int hu_registry_list(hu_arena *arena, hu_registry_entry **out, size_t *n, hu_error *err)
{
    HU_VEC(hu_registry_entry) list = {0};
    char           path[FOLDER_BYTES];
    const int      folder = open_folder(false, path, err);
    DIR           *d = folder >= 0 ? fdopendir(folder) : NULL;
    struct dirent *e;
    size_t         n_ended = 0;

    *out = NULL;
    *n = 0;
    if (!d) {
        const bool is_none = folder < 0 && access(path, F_OK) < 0;

        if (folder >= 0)
            close(folder);
        return is_none ? 0 : err ? err->code : HU_EIO;
    }
    while ((e = readdir(d)) && list.n - n_ended < MOST_ENTRIES) { /* however many have ended: they hide none that runs */
        if (e->d_name[0] == '.' || strlen(e->d_name) >= HU_REGISTRY_NAME_BYTES)
            continue;
        if (!hu_vec_reserve(arena, &list, 1)) {
            closedir(d);
            return hu_fail_memory(err);
        }
        switch (look(folder, e->d_name, &list.at[list.n])) {
        case HERE:
            if (list.at[list.n].path[0] || n_ended < MOST_ENTRIES) {
                n_ended += !list.at[list.n].path[0];
                list.n++;
            }
            break;
        case GONE: /* or old */
            unlinkat(folder, e->d_name, 0);
            break;
        case OTHERS:
            break;
        }
    }
    closedir(d);
    if (list.n)
        qsort(list.at, list.n, sizeof *list.at, by_name);
    *out = list.at;
    *n = list.n;
    return 0;
}
