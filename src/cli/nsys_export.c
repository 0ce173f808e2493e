/* SPDX-License-Identifier: Apache-2.0
 * nsys_export.c - one process of nsys for each report, one after the other: it takes all CPUs itself.
 *
 * An export is several times as large as its report and is removed when the command ends; a line says how to keep one.
 */
#include "cli/nsys_export.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"

enum { TAIL = 4096, VERSION = 32, WORDS = 200 };

static const char mark[] = "NVIDIA Tegra Profiler Report ";

extern char **environ;

/* Is it such a report?  Sets the version of Nsight Systems that wrote it, as "2024.6.2.225"; "" where it does not say. */
static bool is_report(const char *path, char version[VERSION])
{
    char        head[sizeof mark - 1 + VERSION];
    struct stat about;
    ssize_t     n;
    size_t      k = 0;
    int         fd;

    if (stat(path, &about) < 0 || !S_ISREG(about.st_mode)) /* what is read from a pipe is gone */
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    n = read(fd, head, sizeof head);
    close(fd);
    if (n < (ssize_t)sizeof mark - 1 || memcmp(head, mark, sizeof mark - 1) != 0)
        return false;
    for (size_t i = sizeof mark - 1; i < (size_t)n && k + 1 < VERSION; i++, k++) {
        if (!((head[i] >= '0' && head[i] <= '9') || head[i] == '@'))
            break;
        version[k] = head[i] == '@' ? '.' : head[i];
    }
    version[k] = '\0';
    return true;
}

static bool make_folder(hu_nsys_exports *out)
{
    const char *at = getenv("TMPDIR");

    if (out->folder[0])
        return true;
    if (!at || at[0] != '/' || strlen(at) + sizeof "/holdup-nsys-XXXXXX" > sizeof out->folder)
        at = "/tmp";
    snprintf(out->folder, sizeof out->folder, "%s/holdup-nsys-XXXXXX", at);
    if (mkdtemp(out->folder))
        return true;
    out->folder[0] = '\0';
    return false;
}

/* The exit status of nsys; -1: there is none, or it did not end by itself. */
static int call_nsys(const char *report, const char *to, const char *log)
{
    const char *const          argv[] = {"nsys", "export", "--type", "sqlite", "--output", to, report, NULL};
    posix_spawn_file_actions_t actions;
    pid_t                      pid;
    int                        status = -1, rc;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
                 posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
                 posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO) == 0
             ? posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ)
             : ENOMEM;
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The last words of a log, without signs of control: nsys overwrites its progress in place. */
static void last_words(const char *log, char out[WORDS])
{
    char      text[TAIL];
    const int fd = open(log, O_RDONLY | O_CLOEXEC);
    ssize_t   n = 0;
    size_t    from, k = 0;

    if (fd >= 0) {
        const off_t size = lseek(fd, 0, SEEK_END);

        n = pread(fd, text, sizeof text, size > TAIL ? size - TAIL : 0);
        close(fd);
    }
    while (n > 0 && (unsigned char)text[n - 1] <= ' ')
        n--;
    for (from = n > 0 ? (size_t)n : 0; from && text[from - 1] != '\n' && text[from - 1] != '\r';)
        from--;
    for (; (ssize_t)from < n && k + 1 < WORDS; from++)
        if ((unsigned char)text[from] >= ' ' && text[from] != 127)
            out[k++] = text[from];
    out[k] = '\0';
}

static bool is_there(const char *command)
{
    const char *path = getenv("PATH");
    char        file[4096];

    for (hu_str rest = hu_str_of(path ? path : ""); rest.n;) {
        const char  *end = memchr(rest.p, ':', rest.n);
        const size_t n = end ? (size_t)(end - rest.p) : rest.n;

        if (n && n < sizeof file - 64) {
            snprintf(file, sizeof file, "%.*s/%s", (int)n, rest.p, command);
            if (access(file, X_OK) == 0)
                return true;
        }
        rest = (hu_str){rest.p + n + (end != NULL), rest.n - n - (end != NULL)};
    }
    return false;
}

/* The path of the export, or NULL: no nsys, or it has failed and that was said. */
static const char *export_one(const char *report, size_t number, const char *version, bool is_quiet, hu_arena *arena,
                              hu_nsys_exports *out)
{
    const hu_str name = hu_str_base_name(hu_str_of(report));
    const size_t room = sizeof out->folder + 32 + name.n + sizeof ".sqlite";
    char        *to = hu_arena_alloc(arena, room), log[sizeof out->folder + 32], words[WORDS];
    int          status;

    if (!to || !make_folder(out))
        return NULL;
    snprintf(to, room, "%s/%zu", out->folder, number);
    snprintf(log, sizeof log, "%s/log", out->folder);
    if (mkdir(to, 0700) < 0)
        return NULL;
    snprintf(to, room, "%s/%zu/%.*s", out->folder, number, HU_FMT(name));
    if (!is_quiet)
        hu_command_say("%s: nsys exports it to a temporary file (to keep one: nsys export --type sqlite FILE)", report);
    status = call_nsys(report, to, log);
    if (status == 0 && access(to, R_OK) == 0)
        return to;
    memcpy(to + strlen(to), ".sqlite", sizeof ".sqlite"); /* some versions insist on their own ending */
    if (status == 0 && access(to, R_OK) == 0)
        return to;
    last_words(log, words);
    hu_command_say("%s: nsys cannot export it%s%s: %s", report, version[0] ? "; it was written by Nsight Systems " : "",
                   version, words[0] ? words : "it says nothing");
    return NULL;
}

void hu_nsys_export_inputs(hu_inputs *inputs, bool is_quiet, hu_arena *arena, hu_nsys_exports *out)
{
    char version[VERSION];

    for (size_t i = 0; i < inputs->n; i++) {
        const hu_glance *seen = hu_glances_find(inputs->glances, inputs->at[i]);
        const char *export;

        if ((seen && !seen->stranger) || !is_report(inputs->at[i], version))
            continue;
        if (!is_there("nsys"))
            return;
        export = export_one(inputs->at[i], i, version, is_quiet, arena, out);
        inputs->at[i] = export ? export : inputs->at[i];
    }
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

void hu_nsys_exports_remove(hu_nsys_exports *exports)
{
    if (exports->folder[0])
        nftw(exports->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    exports->folder[0] = '\0';
}
