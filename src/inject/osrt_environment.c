/* SPDX-License-Identifier: Apache-2.0
 * osrt_environment.c - a program that is started with an environment of its own making is followed all the same.
 *
 * `env -i`, launchers and job scripts clear the environment, or set LD_PRELOAD to a library of their own; the recorder
 * would then lose sight of everything behind them.  What is missing is put back: the session, our library in front of
 * LD_PRELOAD, the ways in for NVTX, CUDA, NCCL and OpenCL.  In front of us goes the sanitizer of a program that needs it to
 * be first, and of that alone (protocol/sanitizer.h).  A program that brings a session of its own is left alone, and so is
 * everything where the user has set HOLDUP_FOLLOW=0.
 *
 * Behind the library of Nsight Systems we stand last.  While it is loaded, it writes its own functions into the symbol table
 * of the C library.  Found after that, they would be what our wrappers call; they take locks by way of our wrappers, and a
 * thread then waits for a lock that it has itself.  The last in the list is initialised first: there we find the real
 * functions.  nsys then sees no call of the C library that we wrap, but NVTX as before.
 *
 * No memory is allocated: a child of vfork uses that of its parent.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "inject/osrt.h"
#include "inject/process.h"
#include "protocol/sanitizer.h"
#include "base/banned.h"

extern char **environ;

enum { SESSION, INJECTION, CUDA, PROFILER, LAYERS, PRELOAD, KEPT };
enum { ENTRY_ROOM = 4096 + 32 };

static const char *const names[KEPT] = {
    [SESSION] = "HOLDUP_SESSION=",     [INJECTION] = "NVTX_INJECTION64_PATH=",
    [CUDA] = "CUDA_INJECTION64_PATH=", [PROFILER] = "NCCL_PROFILER_PLUGIN=",
    [LAYERS] = "OPENCL_LAYERS=",       [PRELOAD] = "LD_PRELOAD=",
};

static char   entries[KEPT][ENTRY_ROOM]; /* "NAME=value", as this process was given it; "": is not kept */
static size_t preload_bytes;             /* of our path in entries[PRELOAD] */

static void keep(int which, const char *value)
{
    const size_t name_bytes = strlen(names[which]), bytes = value ? strlen(value) : 0;

    if (bytes == 0 || name_bytes + bytes >= ENTRY_ROOM)
        return;
    memcpy(entries[which], names[which], name_bytes);
    memcpy(entries[which] + name_bytes, value, bytes + 1);
}

static const char *our_path(void)
{
    return entries[PRELOAD] + strlen(names[PRELOAD]);
}

void hu_environment_chain_nvtx(void)
{
    const char *us = our_path(), *tool = getenv("NVTX_INJECTION64_PATH"), *chain = getenv("HOLDUP_NVTX_CHAIN");

    if (!entries[PRELOAD][0] || !tool || !tool[0] || strcmp(tool, us) == 0 || !(hu_the_control->wanted & HU_DOOR_NVTX))
        return;
    if (chain && chain[0] && strcmp(chain, tool) != 0) /* the user has chosen yet another one */
        return;
    if (setenv("HOLDUP_NVTX_CHAIN", tool, 1) == 0)
        setenv("NVTX_INJECTION64_PATH", us, 1);
}

/* Must we stand behind a library of this list? */
static bool has_nsys(const char *list)
{
    return strstr(list, "/libToolsInjectionProxy64.so") != NULL;
}

/* nsys tells its library by a variable of its own what to trace. */
static void say_what_nsys_misses(const char *preloaded)
{
    const char *traced = getenv("QUADD_INJECTION_PROXY");

    if (has_nsys(preloaded) && traced && strstr(traced, "OSRT"))
        hu_note(
            "Nsight Systems sees no calls of the C library here, for they are recorded by holdup; to leave them, and NVTX, "
            "to it, pass --trace cpu");
}

void hu_environment_load(void)
{
    const char *follow = getenv("HOLDUP_FOLLOW"), *preloaded = getenv("LD_PRELOAD"), *profiler, *layers;
    Dl_info     us;

    if (!hu_the_process.session[0] || (follow && follow[0] == '0'))
        return;
    /* only what was preloaded is passed on, under the name by which it was found */
    if (!preloaded || !dladdr(names, &us) || !us.dli_fname || !strchr(us.dli_fname, '/'))
        return;
    keep(PRELOAD, us.dli_fname);
    hu_environment_chain_nvtx();
    say_what_nsys_misses(preloaded);
    keep(INJECTION, getenv("NVTX_INJECTION64_PATH"));
    if (getenv("CUDA_INJECTION64_PATH") && strcmp(getenv("CUDA_INJECTION64_PATH"), us.dli_fname) == 0)
        keep(CUDA, us.dli_fname); /* another tool's is its own */
    profiler = getenv("NCCL_PROFILER_PLUGIN");
    if (profiler && strcmp(profiler, us.dli_fname) == 0) /* another one is the program's own matter */
        keep(PROFILER, profiler);
    layers = getenv("OPENCL_LAYERS");
    if (layers && strstr(layers, us.dli_fname))
        keep(LAYERS, us.dli_fname); /* others that the program had, it has cleared itself */
    keep(SESSION, hu_the_process.session);
    preload_bytes = strlen(us.dli_fname);
}

static bool is_entry(const char *entry, int which)
{
    return strncmp(entry, names[which], strlen(names[which])) == 0;
}

/* LD_PRELOAD is a list, separated by colons or blanks: where in it we are, or NULL. */
static const char *find_us(const char *list)
{
    const char *at = list;

    while ((at = strstr(at, our_path())) != NULL) {
        const char end = at[preload_bytes];

        if ((at == list || at[-1] == ':' || at[-1] == ' ') && (end == '\0' || end == ':' || end == ' '))
            return at;
        at += preload_bytes;
    }
    return NULL;
}

static int open_program(const char *path)
{
    return hu_sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* The program's sanitizer, of the first file of PATH that is there where a name is searched for. */
static void find_sanitizer(const char *program, bool is_searched, char *out)
{
    static const hu_file_reader reader = {open_program, hu_sys_read_at, hu_sys_close};
    const char                 *path = is_searched && program && !strchr(program, '/') ? getenv("PATH") : NULL;
    char                        file[1024];

    out[0] = '\0';
    if (!path && program)
        hu_sanitizer_of(&reader, program, out);
    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        if (n == 0 || n + 1 + strlen(program) >= sizeof file)
            continue;
        memcpy(file, path, n);
        file[n] = '/';
        memcpy(file + n + 1, program, strlen(program) + 1);
        if (HU_SYS(SYS_faccessat, AT_FDCWD, file, X_OK) == 0) {
            hu_sanitizer_of(&reader, file, out);
            return;
        }
    }
}

/* Is the list of libraries as the program needs it? */
static bool is_preload_right(const hu_environment *e, const char *list)
{
    const size_t put = hu_sanitizer_put(list), n = strlen(e->sanitizer);
    const char  *us = find_us(list + put);

    if ((us == NULL) != e->is_without_us || (us && has_nsys(us)))
        return false;
    if (n == 0 || strstr(list + put, e->sanitizer)) /* the user has put it there himself */
        return put == 0;
    return put == n + strlen(HU_SANITIZER_MARK) && memcmp(list, e->sanitizer, n) == 0;
}

void hu_environment_plan(hu_environment *e, char *const *envp, const char *program, bool is_searched)
{
    *e = (hu_environment){.envp = envp};
    if (!entries[SESSION][0])
        return;
    find_sanitizer(program, is_searched, e->sanitizer);
    e->is_without_us = HU_SYS(SYS_faccessat, AT_FDCWD, our_path(), R_OK) < 0; /* the loader would complain, aloud */
    for (int which = 0; which < KEPT; which++)
        e->missing |= entries[which][0] ? 1u << which : 0;
    for (; envp && envp[e->n]; e->n++) { /* clearenv leaves none at all */
        const char *entry = envp[e->n];

        if (is_entry(entry, SESSION) && strcmp(entry, entries[SESSION]) != 0) {
            e->missing = 0; /* another run's */
            return;
        }
        for (int which = 0; which < PRELOAD; which++)
            if (is_entry(entry, which))
                e->missing &= ~(1u << which);
        if (is_entry(entry, PRELOAD)) {
            if (is_preload_right(e, entry + strlen(names[PRELOAD])))
                e->missing &= ~(1u << PRELOAD);
            else if (strlen(entry) > e->bytes)
                e->bytes = strlen(entry);
        }
    }
    if (e->missing)
        e->bytes += (e->n + KEPT + 1) * sizeof *envp + preload_bytes + strlen(names[PRELOAD]) + HU_SANITIZER_BYTES + 4;
    else
        e->bytes = 0;
}

static char *append(char *to, const char *text, size_t n)
{
    memcpy(to, text, n);
    to[n] = '\0';
    return to + n;
}

/* "LD_PRELOAD=sanitizer  ours:theirs", each where it is needed; or "nsys:theirs:ours" */
static void join(char *to, const hu_environment *e, const char *theirs)
{
    const char *us;
    bool        is_last, is_added;

    theirs += hu_sanitizer_put(theirs);
    us = find_us(theirs);
    is_last = has_nsys(theirs);
    is_added = !e->is_without_us && (!us || is_last);
    to = append(to, names[PRELOAD], strlen(names[PRELOAD]));
    if (e->sanitizer[0] && !strstr(theirs, e->sanitizer)) {
        to = append(to, e->sanitizer, strlen(e->sanitizer));
        to = append(to, HU_SANITIZER_MARK, strlen(HU_SANITIZER_MARK));
    }
    if (is_added && !is_last) {
        to = append(to, our_path(), preload_bytes);
        to = append(to, ":", theirs[0] != '\0');
    }
    if (us && (is_last || e->is_without_us)) {
        to = append(to, theirs, (size_t)(us - theirs));
        theirs = us + preload_bytes;
    }
    to = append(to, theirs, strlen(theirs));
    if (is_added && is_last) {
        to = append(to, ":", 1);
        append(to, our_path(), preload_bytes);
    }
}

char *const *hu_environment_write(const hu_environment *e, void *room)
{
    char   **to = room, *text = (char *)(to + e->n + KEPT + 1);
    uint32_t missing = e->missing;

    for (size_t i = 0; i < e->n; i++) {
        to[i] = e->envp[i];
        if ((missing & 1u << PRELOAD) && is_entry(to[i], PRELOAD)) {
            join(text, e, to[i] + strlen(names[PRELOAD]));
            to[i] = text;
            missing &= ~(1u << PRELOAD);
        }
    }
    to += e->n;
    if (missing & 1u << PRELOAD) {
        join(text, e, "");
        *to++ = text;
    }
    for (int which = 0; which < PRELOAD; which++)
        if (missing & 1u << which)
            *to++ = entries[which];
    *to = NULL;
    return room;
}

void hu_environment_unmark(void)
{
    for (char **at = environ; at && *at; at++) {
        char *const list = *at + strlen(names[PRELOAD]);

        if (is_entry(*at, PRELOAD) && hu_sanitizer_put(list))
            memmove(list, list + hu_sanitizer_put(list), strlen(list + hu_sanitizer_put(list)) + 1);
    }
}
