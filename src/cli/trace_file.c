/* SPDX-License-Identifier: Apache-2.0
 * trace_file.c - files that another process writes, looked at through its own root directory. */
#include "cli/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/open.h"
#include "trace/trace.h"

enum { STILL_MS = 400, TAIL_BYTES = 16, COPY_BYTES = 1 << 16 };

/* How its path is called from its root directory. */
static const char *below_root(const hu_trace_file *f, const char *path)
{
    return f->root < 0 ? path : path + strspn(path, "/");
}

static int at_root(const hu_trace_file *f)
{
    return f->root < 0 ? AT_FDCWD : f->root;
}

static void folder_that_is_allowed(const hu_torch_process *p, char *out)
{
    size_t n;

    snprintf(out, HU_TORCH_FOLDER_BYTES, "%s", p->folder[0] == '/' ? p->folder : HU_KINETO_FOLDER_DEFAULT);
    n = strlen(out);
    while (n > 1 && out[n - 1] == '/')
        out[--n] = '\0';
}

static bool is_below(const char *path, const char *folder)
{
    const size_t n = strlen(folder);

    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Is the folder of this name the same one for the process? */
static bool is_seen_alike(const hu_trace_file *f, const char *folder)
{
    struct stat ours, its;

    return stat(folder, &ours) == 0 && fstatat(at_root(f), below_root(f, folder), &its, 0) == 0 &&
           ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

int hu_trace_file_plan(const hu_torch_process *p, const char *folder, hu_trace_file *out, hu_error *err)
{
    char               allowed[HU_TORCH_FOLDER_BYTES];
    const char        *place = allowed;
    unsigned long long number = 0;

    *out = (hu_trace_file){.root = hu_torch_process_root(p->pid), .looked_at = -1};
    folder_that_is_allowed(p, allowed);
    if (p->uid == geteuid() && is_below(folder, allowed) &&
        is_seen_alike(out, folder)) /* another user may not write there */
        place = folder;
    if (faccessat(at_root(out), below_root(out, place), W_OK | X_OK, AT_EACCESS) < 0) {
        const int why = errno;

        hu_trace_file_close(out);
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET,
                       "it may write traces in %s alone, which is not writable: %s; start it with " HU_KINETO_FOLDER
                       "=FOLDER",
                       place, strerror(why));
    }
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) /* a name that nobody prepared a link for */
        number = (unsigned long long)p->started;
    snprintf(out->asked, sizeof out->asked, "%.900s/holdup-%016llx.json", place, number);
    hu_kineto_file_of(out->asked, p->own_pid, out->made, sizeof out->made);
    return 0;
}

static int open_made(const hu_trace_file *f)
{
    const int   fd = openat(at_root(f), below_root(f, f->made), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat about;

    if (fd >= 0 && (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* JSON ends with a bracket; what the reader says of all the rest is asked only then. */
static bool ends_like_json(int fd, int64_t bytes)
{
    char          tail[TAIL_BYTES];
    const int64_t from = bytes > TAIL_BYTES ? bytes - TAIL_BYTES : 0;
    ssize_t       n = pread(fd, tail, sizeof tail, (off_t)from);

    while (n > 0 && strchr(" \n\r\t", tail[n - 1]))
        n--;
    return n > 0 && tail[n - 1] == '}';
}

static hu_trace_file_state read_open(int fd)
{
    const hu_input_options options = {.limits = hu_limits_default()};
    hu_trace_file_state    state;
    hu_error               err = {0};
    char                   path[48];
    hu_trace              *trace;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    trace = hu_open_trace(path, &options, &err);
    if (!trace)
        return err.code == HU_EEMPTY ? HU_TRACE_FILE_EMPTY : HU_TRACE_FILE_GROWS;
    state = hu_trace_get_quality(trace)->is_truncated ? HU_TRACE_FILE_GROWS
            : hu_trace_slices(trace).n                ? HU_TRACE_FILE_WHOLE
                                                      : HU_TRACE_FILE_EMPTY;
    hu_trace_free(trace);
    return state;
}

hu_trace_file_state hu_trace_file_read(const hu_trace_file *f)
{
    const int           fd = open_made(f);
    hu_trace_file_state state = HU_TRACE_FILE_GROWS;

    if (fd >= 0) {
        state = read_open(fd);
        close(fd);
    }
    return state;
}

/* PyTorch 2.15 writes a temporary file and renames it when it is complete; older versions write in place. */
static void beside(const hu_trace_file *f, char *out, size_t room)
{
    snprintf(out, room, "%s" HU_KINETO_UNFINISHED, f->made);
}

static hu_trace_file_state look_beside(hu_trace_file *f, int64_t now_ms)
{
    char        path[HU_KINETO_PATH_BYTES + sizeof HU_KINETO_UNFINISHED];
    struct stat about;

    beside(f, path, sizeof path);
    if (fstatat(at_root(f), below_root(f, path), &about, AT_SYMLINK_NOFOLLOW) < 0)
        return HU_TRACE_FILE_NONE;
    if (about.st_size != f->bytes)
        f->changed_ms = now_ms;
    f->bytes = about.st_size;
    return HU_TRACE_FILE_GROWS;
}

hu_trace_file_state hu_trace_file_look(hu_trace_file *f, int64_t now_ms)
{
    hu_trace_file_state state = HU_TRACE_FILE_GROWS;
    struct stat         about;
    const int           fd = open_made(f);

    if (fd < 0)
        return look_beside(f, now_ms);
    if (fstat(fd, &about) == 0) {
        if (about.st_size != f->bytes)
            f->changed_ms = now_ms;
        f->bytes = about.st_size;
        if (f->bytes && now_ms - f->changed_ms >= STILL_MS && f->looked_at != f->bytes && ends_like_json(fd, f->bytes))
            state = HU_TRACE_FILE_STILL;
    }
    close(fd);
    return state;
}

bool hu_trace_file_has_steps(const hu_trace_file *f)
{
    static const char *const marks[] = {"ProfilerStep#", "Optimizer.step#"};
    const int                fd = open_made(f);
    struct stat              about;
    void                    *text;
    bool                     has = false;

    if (fd < 0)
        return false;
    text = fstat(fd, &about) == 0 && about.st_size ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                                                   : MAP_FAILED;
    for (size_t i = 0; text != MAP_FAILED && !has && i < HU_COUNT(marks); i++)
        has = memmem(text, (size_t)about.st_size, marks[i], strlen(marks[i])) != NULL;
    if (text != MAP_FAILED)
        munmap(text, (size_t)about.st_size);
    close(fd);
    return has;
}

static bool copy(int from, int to)
{
    char    bytes[COPY_BYTES];
    ssize_t n;

    while ((n = read(from, bytes, sizeof bytes)) > 0)
        for (ssize_t done = 0; done < n;) {
            const ssize_t k = write(to, bytes + done, (size_t)(n - done));

            if (k < 0 && errno != EINTR)
                return false;
            done += k > 0 ? k : 0;
        }
    return n == 0;
}

int hu_trace_file_take(const hu_trace_file *f, const char *path, hu_error *err)
{
    int  from, to;
    bool is_whole;

    if (access(path, F_OK) < 0 && renameat(at_root(f), below_root(f, f->made), AT_FDCWD, path) == 0)
        return 0;
    from = open_made(f);
    to = from < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    is_whole = to >= 0 && copy(from, to);
    if (!is_whole)
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "cannot be written: %s; the trace stays in %s", strerror(errno), f->made);
    if (from >= 0)
        close(from);
    if (to >= 0 && close(to) < 0)
        is_whole = false;
    if (to >= 0 && !is_whole)
        unlink(path);
    if (is_whole)
        hu_trace_file_remove(f);
    return is_whole ? 0 : HU_EIO;
}

void hu_trace_file_remove(const hu_trace_file *f)
{
    char path[HU_KINETO_PATH_BYTES + sizeof HU_KINETO_UNFINISHED];

    if (!f->made[0])
        return;
    beside(f, path, sizeof path);
    unlinkat(at_root(f), below_root(f, f->made), 0);
    unlinkat(at_root(f), below_root(f, path), 0);
}

bool hu_trace_file_was_refused(const hu_trace_file *f, const hu_torch_process *p, int64_t since_ms, char *out, size_t room)
{
    struct stat about;

    snprintf(out, room, HU_KINETO_REFUSED_FILE "%d.json", p->own_pid);
    return fstatat(at_root(f), below_root(f, out), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           (int64_t)about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1000000 >= since_ms;
}

void hu_trace_file_close(hu_trace_file *f)
{
    if (f->root >= 0)
        close(f->root);
    f->root = -1;
}
