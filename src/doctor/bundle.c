/* SPDX-License-Identifier: Apache-2.0
 * bundle.c - writes what is read, as it is read, into a folder; and packs the folder.
 *
 * A path is written with the links on its way: what is read as /sys/class/net/eth0/speed is read a second time through the
 * link eth0, and another check asks where that link points.  Looks run in another process (looker.c), so that nothing is
 * kept in memory between them: a file that was seen twice is written twice, and sums are made of the folder at the end.
 *
 * The folder is new, ours and closed to others; still each step into it is made by openat(2) without following links, since
 * the tree that is copied may be hostile and may show a link now and a folder later.
 */
#include "doctor/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/bundle_names.h"
#include "doctor/tar.h"

extern char **environ;

enum { LINKS_MOST = 40, NAME_ROOM = PATH_MAX };

struct hu_bundle {
    hu_arena          *arena;
    const char        *path;   /* of the bundle */
    const char        *folder; /* where it grows */
    const char        *root;   /* of the tree; "": this machine */
    hu_names           names;
    const char *const *environment;
    bool               is_archive;
};

/* -- one file of the bundle --------------------------------------------------------------------------------------------- */

/* Opens the folder of the bundle in which the last name of `path` lies, making those that are missing.  *name is that last
   part.  -1: something else is in the way, or the disk is full. */
static int folder_of(const hu_bundle *b, const char *path, const char **name)
{
    int         at = open(b->folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const char *slash;
    char        part[NAME_MAX + 1];

    for (path += *path == '/'; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        int next = -1;

        if (snprintf(part, sizeof part, "%.*s", (int)(slash - path), path) < (int)sizeof part &&
            (mkdirat(at, part, 0700) == 0 || errno == EEXIST))
            next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = next;
    }
    *name = path;
    return at;
}

/* `path` is free of links.  What is there is replaced; a folder stays. */
static void put_file(const hu_bundle *b, const char *path, hu_str bytes)
{
    const char *name;
    const int   at = folder_of(b, path, &name);
    const int   fd = at >= 0 ? openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    while (fd >= 0 && bytes.n) {
        const ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        bytes = (hu_str){bytes.p + n, bytes.n - (size_t)n};
    }
    if (fd >= 0)
        close(fd);
    if (at >= 0)
        close(at);
}

static void put_folder(const hu_bundle *b, const char *path)
{
    const char *name;
    const int   at = folder_of(b, path, &name);

    if (at >= 0 && *name)
        (void)mkdirat(at, name, 0700);
    if (at >= 0)
        close(at);
}

static void put_link(const hu_bundle *b, const char *path, const char *target)
{
    const char *name;
    const int   at = folder_of(b, path, &name);

    if (at >= 0) {
        (void)symlinkat(target, at, name); /* there already: it is the same one */
        close(at);
    }
}

/* Something that is there, and was not read: its kind. */
static void put_trace(const hu_bundle *b, const char *path)
{
    const char *name;
    const int   at = folder_of(b, path, &name);
    const int   fd = at >= 0 ? openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        close(fd);
    if (at >= 0)
        close(at);
}

/* A line at the end of a file of ours. */
static void add_line(const hu_bundle *b, const char *path, hu_str line)
{
    const char *name;
    const int   at = folder_of(b, path, &name);
    const int   fd = at >= 0 ? openat(at, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    if (fd >= 0)
        dprintf(fd, "%.*s\n", (int)line.n, line.p);
    if (fd >= 0)
        close(fd);
    if (at >= 0)
        close(at);
}

/* -- paths ------------------------------------------------------------------------------------------------------------ */

static const char *clean_path(const hu_bundle *b, const char *path)
{
    const hu_str s = hu_names_redact_path(&b->names, b->arena, hu_str_of(path));

    return s.p && s.n ? hu_arena_copy(b->arena, s).p : path;
}

/*
 * Where `path` lies once its links are followed, all of which are put into the bundle; `follows_last`: also one at its end.
 * False: it leads nowhere.
 */
static bool resolve(const hu_bundle *b, const char *path, bool follows_last, char out[NAME_ROOM])
{
    char rest[NAME_ROOM], real[2 * NAME_ROOM], target[NAME_ROOM], joined[2 * NAME_ROOM];
    int  links = 0;

    out[0] = '\0';
    if (snprintf(rest, sizeof rest, "%s", path) >= (int)sizeof rest)
        return false;
    for (char *p = rest;;) {
        char        *name = p + strspn(p, "/");
        const size_t n = strcspn(name, "/"), length = strlen(out);
        ssize_t      n_target;

        if (!n)
            return true;
        p = name + n + (name[n] == '/');
        if (n == 1 && name[0] == '.')
            continue;
        if (n == 2 && name[0] == '.' && name[1] == '.') {
            char *slash = strrchr(out, '/');

            if (slash)
                *slash = '\0';
            continue;
        }
        if (length + n + 2 > NAME_ROOM)
            return false;
        snprintf(out + length, NAME_ROOM - length, "/%.*s", (int)n, name);
        if (!follows_last && !p[strspn(p, "/")])
            return true;
        if (!b->root[0] && strcmp(out, "/proc/self") == 0)
            continue; /* another number for each process that looks */
        snprintf(real, sizeof real, "%s%s", b->root, out);
        n_target = readlink(real, target, sizeof target - 1);
        if (n_target <= 0)
            continue; /* no link */
        target[n_target] = '\0';
        put_link(b, clean_path(b, out), clean_path(b, target));
        if (++links > LINKS_MOST || snprintf(joined, sizeof joined, "%s/%s", target, p) >= NAME_ROOM)
            return false;
        out[target[0] == '/' ? 0 : length] = '\0';
        memcpy(rest, joined, strlen(joined) + 1);
        p = rest;
    }
}

static void put_denied(const hu_bundle *b, const char *path)
{
    add_line(b, "/holdup/denied", hu_str_of(clean_path(b, path)));
}

static void saw_file(const hu_bundle *b, const char *path, hu_look how, hu_str bytes)
{
    char where[NAME_ROOM];

    if (how == HU_LOOK_DENIED)
        put_denied(b, path);
    if (how == HU_LOOK_ABSENT || !resolve(b, path, true, where))
        return;
    if (how == HU_LOOK_BROKEN) {
        put_folder(b, clean_path(b, where)); /* as little a file that can be read */
        return;
    }
    bytes = how == HU_LOOK_OK ? hu_names_redact_file(&b->names, b->arena, path, bytes) : HU_STR("");
    if (bytes.p)
        put_file(b, clean_path(b, where), bytes);
}

/* What a name of a folder is, so that a list of the bundle's has it, too. */
static void put_entry(const hu_bundle *b, const char *folder, const char *name)
{
    char        path[2 * NAME_ROOM], real[3 * NAME_ROOM], target[NAME_ROOM];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(real, sizeof real, "%s%s", b->root, path);
    if (lstat(real, &st) < 0)
        return;
    if (S_ISLNK(st.st_mode)) {
        const ssize_t n = readlink(real, target, sizeof target - 1);

        if (n > 0) {
            target[n] = '\0';
            put_link(b, clean_path(b, path), clean_path(b, target));
        }
    } else if (S_ISDIR(st.st_mode)) {
        put_folder(b, clean_path(b, path));
    } else {
        put_trace(b, clean_path(b, path));
    }
}

static void saw_folder(const hu_bundle *b, const char *path, hu_look how, hu_str names)
{
    char where[NAME_ROOM], name[NAME_MAX + 1];

    if (how == HU_LOOK_DENIED)
        put_denied(b, path);
    if (how != HU_LOOK_OK || !resolve(b, path, true, where))
        return;
    if (where[0])
        put_folder(b, clean_path(b, where));
    while (names.n) {
        const char  *end = memchr(names.p, '\n', names.n);
        const size_t n = end ? (size_t)(end - names.p) : names.n;

        if (snprintf(name, sizeof name, "%.*s", (int)n, names.p) < (int)sizeof name)
            put_entry(b, where, name);
        names = (hu_str){names.p + n + (end != NULL), names.n - n - (end != NULL)};
    }
}

static void saw_link(const hu_bundle *b, const char *path, hu_look how, hu_str target)
{
    const char *text = hu_arena_copy(b->arena, target).p;
    char        where[NAME_ROOM];

    if (how == HU_LOOK_OK && text && resolve(b, path, false, where))
        put_link(b, clean_path(b, where), clean_path(b, text));
    else if (how == HU_LOOK_BROKEN && resolve(b, path, false, where))
        put_trace(b, clean_path(b, where));
}

static void saw_path(const hu_bundle *b, const char *path, hu_look how)
{
    char        where[NAME_ROOM], real[2 * NAME_ROOM];
    struct stat st;

    if (how != HU_LOOK_OK || !resolve(b, path, true, where))
        return;
    snprintf(real, sizeof real, "%s%s", b->root, where);
    if (stat(real, &st) == 0 && S_ISDIR(st.st_mode))
        put_folder(b, clean_path(b, where));
    else
        put_trace(b, clean_path(b, where));
}

static void saw_fact(const hu_bundle *b, const char *key, hu_look how, hu_str value)
{
    char         text[3 * NAME_ROOM];
    const size_t n = (size_t)snprintf(text, sizeof text, "%s %.*s", key, HU_FMT(value));
    hu_str       line;

    if (how != HU_LOOK_OK || n >= sizeof text || memchr(text, '\n', n))
        return;
    line = hu_names_redact(&b->names, b->arena, (hu_str){text, n}, false);
    if (line.n)
        add_line(b, "/holdup/facts", line);
}

static void saw(void *context, hu_seen kind, const char *name, hu_look how, hu_str bytes)
{
    const hu_bundle *b = context;

    switch (kind) {
    case HU_SEEN_FILE:
        if (strncmp(name, "/holdup/", 8) != 0) /* of a tree that was captured before: what is asked of it is written anew */
            saw_file(b, name, how, bytes);
        break;
    case HU_SEEN_FOLDER:
        saw_folder(b, name, how, bytes);
        break;
    case HU_SEEN_LINK:
        saw_link(b, name, how, bytes);
        break;
    case HU_SEEN_PATH:
        saw_path(b, name, how);
        break;
    case HU_SEEN_FACT:
        saw_fact(b, name, how, bytes);
        break;
    }
}

hu_witness hu_bundle_witness(hu_bundle *b)
{
    return (hu_witness){saw, b};
}

/* -- beginning and end -------------------------------------------------------------------------------------------------- */

/* A regular file, up to HU_LOOK_BYTES of it; "" where there is none. */
static hu_str bytes_of(const char *path, hu_arena *arena)
{
    const int   fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    hu_str      found = HU_STR("");

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        const size_t  room = st.st_size < HU_LOOK_BYTES ? (size_t)st.st_size : HU_LOOK_BYTES;
        char         *bytes = hu_arena_calloc(arena, room + 1, 1);
        const ssize_t n = bytes ? read(fd, bytes, room) : 0;

        if (n > 0)
            found = (hu_str){bytes, (size_t)n};
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* A text of the tree, before anything is looked at. */
static const char *text_of(const hu_bundle *b, const char *path)
{
    char real[2 * NAME_ROOM];

    snprintf(real, sizeof real, "%s%s", b->root, path);
    return bytes_of(real, b->arena).p;
}

static const char *const *lines_of(hu_arena *arena, const char *text)
{
    HU_VEC(const char *) list = {0};

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (!hu_vec_push(arena, &list, hu_arena_copy(arena, (hu_str){line, strcspn(line, "\n")}).p))
            return NULL;
    return hu_vec_push(arena, &list, (const char *)NULL) ? list.at : NULL;
}

static const char *host_of(const hu_bundle *b)
{
    static const char key[] = "hostname ";
    char              name[256] = "";

    if (!b->root[0])
        return gethostname(name, sizeof name - 1) == 0 ? hu_arena_copy(b->arena, hu_str_of(name)).p : "";
    for (const char *const *line = lines_of(b->arena, text_of(b, "/holdup/facts")); line && *line; line++)
        if (strncmp(*line, key, sizeof key - 1) == 0)
            return *line + sizeof key - 1;
    return "";
}

static int fail_errno(const char *path, const char *what, hu_error *err)
{
    return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s: %s", what, strerror(errno));
}

hu_bundle *hu_bundle_open(const char *path, const char *root, bool keeps_names, hu_arena *arena, hu_error *err)
{
    hu_bundle  *b = hu_arena_calloc(arena, 1, sizeof *b);
    const char *host;
    char        folder[NAME_ROOM];
    struct stat st;

    if (!b || !(b->path = hu_arena_copy(arena, hu_str_of(path)).p)) {
        hu_fail_memory(err);
        return NULL;
    }
    b->arena = arena;
    b->root = root ? root : "";
    b->names.keeps_names = keeps_names;
    b->is_archive = hu_str_ends(hu_str_of(path), HU_STR(".tar.gz")) || hu_str_ends(hu_str_of(path), HU_STR(".tgz"));
    if (lstat(path, &st) == 0) {
        hu_fail(err, HU_EUSAGE, path, HU_NO_OFFSET, "this exists; --bundle writes a new file or folder");
        return NULL;
    }
    b->environment = root ? lines_of(arena, text_of(b, "/holdup/environment")) : (const char *const *)environ;
    host = host_of(b);
    if (!b->environment || !host || !hu_names_learn(&b->names, arena, host, b->environment)) {
        hu_fail_memory(err);
        return NULL;
    }
    if (snprintf(folder, sizeof folder, "%s.XXXXXX", path) >= (int)sizeof folder || !mkdtemp(folder) ||
        !(b->folder = hu_arena_copy(arena, hu_str_of(folder)).p)) {
        fail_errno(path, "cannot make a folder for this", err);
        return NULL;
    }
    return b;
}

/* A member of the bundle; `path` begins behind the folder, without a slash. */
typedef struct {
    hu_str      path;
    hu_tar_type type;
    uint64_t    bytes;
    bool        is_left_out;
} member;

typedef HU_VEC(member) members;

static int walk(const hu_bundle *b, const char *below, int depth, members *list)
{
    char                 path[2 * NAME_ROOM];
    DIR                 *folder;
    const struct dirent *entry;
    struct stat          st;

    snprintf(path, sizeof path, "%s/%s", b->folder, below);
    folder = depth < 64 ? opendir(path) : NULL;
    if (!folder)
        return 0;
    while ((entry = readdir(folder)) != NULL && list->n < HU_BUNDLE_FILES) {
        char   name[NAME_ROOM];
        member m = {.type = HU_TAR_FILE};

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s%s%s", below, below[0] ? "/" : "", entry->d_name);
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        m.type = S_ISLNK(st.st_mode) ? HU_TAR_LINK : S_ISDIR(st.st_mode) ? HU_TAR_FOLDER : HU_TAR_FILE;
        m.bytes = m.type == HU_TAR_FILE ? (uint64_t)st.st_size : 0;
        m.path = hu_arena_copy(b->arena, hu_str_of(name));
        if (!m.path.p || !hu_vec_push(b->arena, list, m)) {
            closedir(folder);
            return HU_ENOMEM;
        }
        if (m.type == HU_TAR_FOLDER && walk(b, name, depth + 1, list) < 0) {
            closedir(folder);
            return HU_ENOMEM;
        }
    }
    closedir(folder);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return hu_str_compare(((const member *)a)->path, ((const member *)b)->path);
}

/* The largest files go until the rest fits. */
static void fit(const hu_bundle *b, members *list, hu_bundle_sums *sums)
{
    *sums = (hu_bundle_sums){0};
    for (size_t i = 0; i < list->n; i++)
        sums->bytes += list->at[i].bytes;
    while (sums->bytes > HU_BUNDLE_BYTES) {
        member *largest = NULL;

        for (size_t i = 0; i < list->n; i++)
            if (!list->at[i].is_left_out && (!largest || list->at[i].bytes > largest->bytes))
                largest = &list->at[i];
        if (!largest || largest->bytes == 0)
            break;
        largest->is_left_out = true;
        sums->bytes -= largest->bytes;
        sums->left_out++;
        add_line(b, "/holdup/left_out", largest->path);
    }
    for (size_t i = 0; i < list->n; i++)
        sums->files += list->at[i].type == HU_TAR_FILE && !list->at[i].is_left_out;
}

static const char *clean(const hu_bundle *b, const char *text)
{
    const hu_str s = text ? hu_names_redact(&b->names, b->arena, hu_str_of(text), false) : (hu_str){NULL, 0};

    return s.p ? hu_arena_copy(b->arena, s).p : text;
}

/* The report with the names that the tree has; its texts are the bundle's own. */
static int put_report(const hu_bundle *b, const hu_diagnosis *d, hu_error *err)
{
    hu_diagnosis copy = *d;
    hu_out      *out = hu_out_open_memory(b->arena);
    hu_str       text;

    copy.root = NULL;
    copy.host = b->names.keeps_names ? d->host : "";
    copy.checks.at = hu_arena_calloc(b->arena, d->checks.n + 1, sizeof *copy.checks.at);
    copy.values.at = hu_arena_calloc(b->arena, d->values.n + 1, sizeof *copy.values.at);
    if (!out || !copy.checks.at || !copy.values.at) {
        hu_out_abandon(out);
        return hu_fail_memory(err);
    }
    for (size_t i = 0; i < d->checks.n; i++) {
        hu_examined *x = &copy.checks.at[i];
        const size_t n = d->checks.at[i].answers.n;

        *x = d->checks.at[i];
        x->answers.at = hu_arena_calloc(b->arena, n + 1, sizeof *x->answers.at);
        for (size_t k = 0; x->answers.at && k < n; k++) {
            const hu_answer *a = &d->checks.at[i].answers.at[k];

            x->answers.at[k] = (hu_answer){a->verdict, clean(b, a->subject), clean(b, a->fix), clean(b, a->text)};
        }
        x->answers.n = x->answers.at ? n : 0;
    }
    for (size_t i = 0; i < d->values.n; i++)
        copy.values.at[i] = (hu_node_value){d->values.at[i].key, clean(b, d->values.at[i].value)};
    hu_diagnosis_write_json(&copy, out);
    if (hu_out_take(out, &text, err) < 0)
        return err->code;
    put_file(b, "/" HU_BUNDLE_REPORT, text);
    return 0;
}

/* Members below the archive's name, as tar(1) users expect; the report first, where --compare finds it at once. */
static void pack(const hu_bundle *b, const members *list, hu_gzip_out *z)
{
    const hu_str base = hu_str_base_name(hu_str_of(b->path));
    const size_t stem = base.n - (hu_str_ends(base, HU_STR(".tgz")) ? 4 : 7);

    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < list->n; i++) {
            const member *m = &list->at[i];
            char          name[2 * NAME_ROOM], real[2 * NAME_ROOM], target[NAME_ROOM];
            hu_arena     *scratch = hu_arena_new();
            hu_str        content = {"", 0};
            ssize_t       n;

            if (!scratch || hu_str_equal(m->path, HU_STR(HU_BUNDLE_REPORT)) != (turn == 0) || m->is_left_out) {
                hu_arena_free(scratch);
                continue;
            }
            snprintf(name, sizeof name, "%.*s/%.*s", (int)stem, base.p, HU_FMT(m->path));
            snprintf(real, sizeof real, "%s/%.*s", b->folder, HU_FMT(m->path));
            if (m->type == HU_TAR_FILE)
                content = bytes_of(real, scratch);
            else if (m->type == HU_TAR_LINK && (n = readlink(real, target, sizeof target)) > 0)
                content = (hu_str){target, (size_t)n};
            hu_tar_add(z, m->type, hu_str_of(name), content);
            hu_arena_free(scratch);
        }
    hu_tar_end(z);
}

static int write_archive(const hu_bundle *b, const members *list, hu_error *err)
{
    hu_out      *out = hu_out_open_file(b->path, err);
    hu_gzip_out *z = out ? hu_gzip_out_open(out, b->arena, err) : NULL;

    if (!z) {
        hu_out_abandon(out);
        return err->code;
    }
    pack(b, list, z);
    hu_gzip_out_close(z);
    return hu_out_close(out, err);
}

/* What was left out is not in a folder either. */
static int put_in_place(const hu_bundle *b, const members *list, hu_error *err)
{
    char path[2 * NAME_ROOM];

    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].is_left_out) {
            snprintf(path, sizeof path, "%s/%.*s", b->folder, HU_FMT(list->at[i].path));
            (void)unlink(path);
        }
    return rename(b->folder, b->path) == 0 ? 0 : fail_errno(b->path, "cannot put the bundle here", err);
}

int hu_bundle_close(hu_bundle *b, const hu_diagnosis *d, hu_bundle_sums *sums, hu_error *err)
{
    members      list = {0};
    const hu_str environment = hu_names_redact_environment(&b->names, b->arena, b->environment);
    int          rc = environment.p ? put_report(b, d, err) : hu_fail_memory(err);

    if (rc == 0)
        put_file(b, "/holdup/environment", environment);
    if (rc == 0 && walk(b, "", 0, &list) < 0)
        rc = hu_fail_memory(err);
    if (rc == 0) {
        qsort(list.at, list.n, sizeof *list.at, by_path);
        fit(b, &list, sums);
        rc = b->is_archive ? write_archive(b, &list, err) : put_in_place(b, &list, err);
    }
    if (rc < 0 || b->is_archive)
        hu_bundle_abandon(b);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

void hu_bundle_abandon(hu_bundle *b)
{
    if (b && b->folder)
        nftw(b->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
