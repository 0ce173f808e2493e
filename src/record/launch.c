/* SPDX-License-Identifier: Apache-2.0
 * launch.c - the command stays what it would be without us: same terminal, group, descriptors, signals; only a few
 * variables more. */
#include "record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "protocol/sanitizer.h"
#include "record/torch_hook.h"

enum { NOTE_BYTES = 512 };

typedef HU_VEC(char *) variables;

__attribute__((format(printf, 3, 4))) static void note(hu_launch_notes *notes, hu_arena *arena, const char *format, ...)
{
    char    text[NOTE_BYTES];
    va_list args;
    hu_str  copy;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = hu_arena_copy(arena, hu_str_of(text));
    if (copy.p && notes->n < HU_COUNT(notes->at))
        notes->at[notes->n++] = copy.p;
}

static char **find(const variables *v, const char *name, size_t n)
{
    for (size_t i = 0; i < v->n; i++)
        if (strncmp(v->at[i], name, n) == 0 && v->at[i][n] == '=')
            return &v->at[i];
    return NULL;
}

static const char *value_of(const variables *v, const char *name)
{
    char **at = find(v, name, strlen(name));

    return at && (*at)[strlen(name) + 1] ? *at + strlen(name) + 1 : NULL;
}

static bool set_pair(variables *v, hu_arena *arena, char *pair)
{
    char **at = find(v, pair, strcspn(pair, "="));

    if (at) {
        *at = pair;
        return true;
    }
    return hu_vec_push(arena, v, pair);
}

/* NAME=BEFORE:VALUE */
static bool set(variables *v, hu_arena *arena, const char *name, const char *before, const char *value)
{
    const size_t room = strlen(name) + strlen(value) + (before ? strlen(before) : 0) + 3;
    char        *pair = hu_arena_alloc(arena, room);

    if (!pair)
        return false;
    snprintf(pair, room, "%s=%s%s%s", name, before ? before : "", before ? ":" : "", value);
    return set_pair(v, arena, pair);
}

/* Is the path a member of a list with colons (and, for the loader, blanks)? */
static bool holds(const char *list, const char *path)
{
    const size_t n = strlen(path);

    for (const char *p = list; p && (p = strstr(p, path)); p += n)
        if ((p == list || p[-1] == ':' || p[-1] == ' ') && (p[n] == '\0' || p[n] == ':' || p[n] == ' '))
            return true;
    return false;
}

static int open_program(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static long read_program(int fd, void *to, size_t n, int64_t offset)
{
    return pread(fd, to, n, (off_t)offset);
}

static void close_program(int fd)
{
    close(fd);
}

/* In front of all that is preloaded, where the program needs it there and the user has not put it there. */
static bool add_sanitizer(variables *v, const hu_launch_plan *plan, hu_arena *arena)
{
    static const hu_file_reader reader = {open_program, read_program, close_program};
    const char                 *there = value_of(v, "LD_PRELOAD");
    char                        name[HU_SANITIZER_BYTES], text[sizeof name + sizeof HU_SANITIZER_MARK];
    char                       *pair;
    size_t                      room;

    if (!plan->program || !there)
        return true;
    hu_sanitizer_of(&reader, plan->program, name);
    if (!name[0] || strstr(there, name))
        return true;
    snprintf(text, sizeof text, "%s%s", name, HU_SANITIZER_MARK);
    room = strlen("LD_PRELOAD=") + strlen(text) + strlen(there) + 1;
    pair = hu_arena_alloc(arena, room);
    if (!pair)
        return false;
    snprintf(pair, room, "LD_PRELOAD=%s%s", text, there);
    return set_pair(v, arena, pair);
}

/* CUDA, too, knows one tool.  "none" is how a user switches all of them off. */
static bool add_cuda(variables *v, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    const char *there = value_of(v, "CUDA_INJECTION64_PATH");

    if (!plan->wants_cuda)
        return true;
    if (there && strcmp(there, "none") == 0) {
        note(notes, arena, "CUDA_INJECTION64_PATH=none: GPU work is not recorded");
        return true;
    }
    if (there && strcmp(there, plan->library) != 0) {
        note(notes, arena,
             "%s (CUDA_INJECTION64_PATH) is loaded, too; if it uses CUPTI, GPU work is recorded there, not here", there);
        if (!value_of(v, "HOLDUP_CUDA_CHAIN") && !set(v, arena, "HOLDUP_CUDA_CHAIN", NULL, there))
            return false;
    }
    return set(v, arena, "CUDA_INJECTION64_PATH", NULL, plan->library);
}

/* OpenMP asks for a tool by name, and finds us where we are preloaded; this is for programs that drop that.  Another tool
 * stays (inject/ompt.c says so). */
static bool add_openmp(variables *v, const hu_launch_plan *plan, hu_arena *arena)
{
    return !plan->wants_openmp || value_of(v, "OMP_TOOL_LIBRARIES") ||
           set(v, arena, "OMP_TOOL_LIBRARIES", NULL, plan->library);
}

/* NCCL has one profiler.  Whoever chose one, or none, wants that. */
static bool add_profiler(variables *v, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    const char *there = value_of(v, "NCCL_PROFILER_PLUGIN");

    if (!there)
        return set(v, arena, "NCCL_PROFILER_PLUGIN", NULL, plan->library);
    if (strcmp(there, plan->library) != 0)
        note(notes, arena, "NCCL_PROFILER_PLUGIN=%s stays as it is: NCCL itself is not recorded%s", there,
             plan->wants_nvtx ? "; calls and bytes come from its NVTX ranges" : "; unset it, or add nvtx to --trace");
    return true;
}

/* Layers are several: the user's come first, next to the program. */
static bool add_layer(variables *v, const hu_launch_plan *plan, hu_arena *arena)
{
    const char *there = value_of(v, "OPENCL_LAYERS");

    if (!plan->wants_opencl || holds(there, plan->library))
        return true;
    return set(v, arena, "OPENCL_LAYERS", there, plan->library);
}

/* The loader takes a space or a colon for the end of a name; where the path has one, a link in the session stands for it.
 * NULL: there is no memory; "": there can be no link. */
static const char *loadable(const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    static const char own[] = "/libholdup-inject.so";
    const size_t      room = strlen(plan->session) + sizeof own;
    char             *link;

    if (!strpbrk(plan->library, ": "))
        return plan->library;
    if (!(link = hu_arena_alloc(arena, room)))
        return NULL;
    snprintf(link, room, "%s%s", plan->session, own);
    if (!strpbrk(link, ": ") && (symlink(plan->library, link) == 0 || errno == EEXIST))
        return link;
    note(notes, arena,
         "%s cannot be preloaded: its path has a space or a colon, and so has that of the session; move holdup, or "
         "choose another --scratch",
         plan->library);
    return "";
}

static bool preload(variables *v, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    const char *there = value_of(v, "LD_PRELOAD"), *nvtx = value_of(v, "NVTX_INJECTION64_PATH");
    const char *chain = value_of(v, "HOLDUP_NVTX_CHAIN");

    if (!holds(there, plan->library) && !set(v, arena, "LD_PRELOAD", there, plan->library))
        return false;
    if (!add_sanitizer(v, plan, arena) || !add_cuda(v, plan, arena, notes) || !add_layer(v, plan, arena) ||
        !add_openmp(v, plan, arena))
        return false;
    if (plan->wants_nccl && !add_profiler(v, plan, arena, notes))
        return false;
    if (!plan->wants_nvtx)
        return true;
    if (nvtx && strcmp(nvtx, plan->library) != 0) {
        note(notes, arena, "NVTX ranges are recorded and go to %s (NVTX_INJECTION64_PATH), too", nvtx);
        if (!chain && !set(v, arena, "HOLDUP_NVTX_CHAIN", NULL, nvtx))
            return false;
    }
    return set(v, arena, "NVTX_INJECTION64_PATH", NULL, plan->library);
}

static bool add_library(variables *v, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    hu_launch_plan own = *plan;

    own.library = loadable(plan, arena, notes);
    return own.library && (!own.library[0] || preload(v, &own, arena, notes));
}

/* In front: Python takes the first sitecustomize that it finds, and the hook looks for the next one itself. */
static bool add_hook(variables *v, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    const char  *there = value_of(v, "PYTHONPATH");
    const size_t room = strlen(plan->session) + sizeof HU_TORCH_HOOK_FOLDER + 1;
    char        *folder = hu_arena_alloc(arena, room);

    if (!folder)
        return false;
    if (strchr(plan->session, ':')) { /* Python would take it for two names */
        note(notes, arena, "--pytorch: %s has a colon, so that Python cannot load the hook; choose another --scratch",
             plan->session);
        return true;
    }
    snprintf(folder, room, "%s/" HU_TORCH_HOOK_FOLDER, plan->session);
    return set(v, arena, "PYTHONPATH", there ? folder : NULL, there ? there : folder);
}

char **hu_launch_environment(char *const *environment, const hu_launch_plan *plan, hu_arena *arena, hu_launch_notes *notes)
{
    variables v = {0};

    for (; *environment; environment++)
        if (!hu_vec_push(arena, &v, *environment))
            return NULL;
    for (size_t i = 0; i < plan->n_assignments; i++)
        if (!set_pair(&v, arena, plan->assignments[i]))
            return NULL;
    if (!set(&v, arena, "HOLDUP_SESSION", NULL, plan->session))
        return NULL;
    if (plan->library && !add_library(&v, plan, arena, notes))
        return NULL;
    if (plan->python && !holds(value_of(&v, "PYTHONPATH"), plan->python) &&
        !set(&v, arena, "PYTHONPATH", value_of(&v, "PYTHONPATH"), plan->python))
        return NULL;
    if (plan->has_hook && !add_hook(&v, plan, arena, notes))
        return NULL;
    return hu_vec_push(arena, &v, NULL) ? v.at : NULL;
}

/* In the child: nothing but what is safe after a fork. */
_Noreturn static void become(char **argv, char **environment, const hu_launch_signals *signals, int go, int told)
{
    char    byte;
    ssize_t n;
    int     why;

    while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1) /* the supervisor is gone or has changed its mind */
        _exit(HU_EXIT_RUN_FAILED);
    sigaction(SIGCHLD, &signals->child, NULL);
    sigaction(SIGPIPE, &signals->pipe, NULL);
    sigaction(SIGXFSZ, &signals->size, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    environ = environment; /* its PATH is searched, as env(1) does */
    execvp(argv[0], argv);
    why = errno;
    n = write(told, &why, sizeof why);
    _exit(HU_EXIT_CANNOT_EXEC);
}

/* Above the numbers that scripts use: the command's own descriptors are where they would be without us. */
static int out_of_the_way(int fd)
{
    const int high = fcntl(fd, F_DUPFD_CLOEXEC, 100);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int hu_launch_fork(char **argv, char **environment, const hu_launch_signals *signals, hu_launched *out, hu_error *err)
{
    int go[2], told[2];

    if (pipe2(go, O_CLOEXEC) < 0)
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot create a pipe: %s", strerror(errno));
    if (pipe2(told, O_CLOEXEC) < 0) {
        close(go[0]);
        close(go[1]);
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot create a pipe: %s", strerror(errno));
    }
    for (int i = 0; i < 2; i++) {
        go[i] = out_of_the_way(go[i]);
        told[i] = out_of_the_way(told[i]);
    }
    out->pid = fork();
    if (out->pid == 0) {
        close(go[1]);
        become(argv, environment, signals, go[0], told[1]);
    }
    close(go[0]);
    close(told[1]);
    out->go = go[1];
    out->told = told[0];
    if (out->pid < 0) {
        close(out->go);
        close(out->told);
        return hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "cannot start a process: %s", strerror(errno));
    }
    return 0;
}

int hu_launch_go(hu_launched *child)
{
    int     why = 0;
    ssize_t n = write(child->go, "!", 1);

    close(child->go);
    while ((n = read(child->told, &why, sizeof why)) < 0 && errno == EINTR)
        ;
    close(child->told);
    if (n == (ssize_t)sizeof why)
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    return n == (ssize_t)sizeof why ? why : 0;
}
