/* SPDX-License-Identifier: Apache-2.0
 * torch_process.c - reads /proc/PID: environ as it was when the process was started, maps, namespaces. */
#include "record/torch_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/kineto.h"
#include "record/proc.h"

enum { PATH_ROOM = 64, STAT_ROOM = 1024, MOST_GENERATIONS = 64 };

static void path_of(pid_t pid, const char *file, char *out)
{
    snprintf(out, PATH_ROOM, "/proc/%d/%s", (int)pid, file);
}

/* A number that the status file has behind `key`; the last one of its line.  False: there is none. */
static bool read_status(FILE *f, const char *key, bool takes_last, long *out)
{
    char         line[256];
    const size_t n = strlen(key);

    rewind(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, n) != 0)
            continue;
        for (char *p = line + n, *end;; p = end) {
            const long value = strtol(p, &end, 10);

            if (end == p)
                return p > line + n;
            *out = value;
            if (!takes_last)
                return true;
        }
    }
    return false;
}

/* "PID (NAME) STATE ..."; the 22nd field is when it was started. */
static bool read_stat(pid_t pid, char *state, uint64_t *started, char *name)
{
    char text[STAT_ROOM], *open_bracket, *close_bracket, *p;

    if (!hu_proc_read(text, sizeof text, "/proc/%d/stat", (int)pid))
        return false;
    open_bracket = strchr(text, '(');
    close_bracket = strrchr(text, ')');
    if (!open_bracket || !close_bracket || close_bracket[1] != ' ')
        return false;
    *state = close_bracket[2];
    *close_bracket = '\0';
    if (name)
        snprintf(name, sizeof((hu_torch_process *)0)->name, "%s", open_bracket + 1);
    p = close_bracket + 2;
    for (int field = 3; field < 22 && p; field++) {
        p = strchr(p, ' ');
        p += p != NULL;
    }
    *started = p ? strtoull(p, NULL, 10) : 0;
    return p != NULL;
}

static void keep_value(const char *pair, const char *name, char *out)
{
    const size_t n = strlen(name);

    if (strncmp(pair, name, n) == 0 && pair[n] == '=' && strlen(pair + n + 1) < HU_TORCH_FOLDER_BYTES)
        snprintf(out, HU_TORCH_FOLDER_BYTES, "%s", pair + n + 1);
}

static void read_environment(hu_torch_process *p)
{
    char   path[PATH_ROOM], *pair = NULL;
    size_t room = 0;
    FILE  *f;

    path_of(p->pid, "environ", path);
    f = fopen(path, "re");
    if (!f)
        return;
    while (getdelim(&pair, &room, '\0', f) > 0) {
        p->has_environment = true;
        p->has_switch |= strncmp(pair, HU_KINETO_SWITCH "=", sizeof HU_KINETO_SWITCH) == 0;
        keep_value(pair, HU_KINETO_SOCKETS, p->sockets);
        keep_value(pair, HU_KINETO_FOLDER, p->folder);
    }
    free(pair);
    fclose(f);
}

static void read_maps(hu_torch_process *p)
{
    char   path[PATH_ROOM], *line = NULL;
    size_t room = 0;
    FILE  *f;

    path_of(p->pid, "maps", path);
    f = fopen(path, "re");
    if (!f)
        return;
    while (!p->has_torch && getline(&line, &room, f) > 0) {
        p->has_maps = true;
        p->has_torch = strstr(line, "/libtorch") != NULL;
    }
    free(line);
    fclose(f);
}

static bool is_other_network(pid_t pid)
{
    char        path[PATH_ROOM];
    struct stat ours, its;

    path_of(pid, "ns/net", path);
    return stat("/proc/self/ns/net", &ours) == 0 && stat(path, &its) == 0 && ours.st_ino != its.st_ino;
}

/* What cannot be looked at is taken for the same. */
static bool is_other_folder(pid_t pid, const char *folder)
{
    char        path[HU_TORCH_FOLDER_BYTES + PATH_ROOM];
    struct stat ours, its;

    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, folder);
    if (stat(folder, &ours) < 0)
        return true;
    return stat(path, &its) == 0 && (ours.st_dev != its.st_dev || ours.st_ino != its.st_ino);
}

bool hu_torch_process_read(pid_t pid, hu_torch_process *out)
{
    char  path[PATH_ROOM], state;
    long  value;
    FILE *f;

    memset(out, 0, sizeof *out);
    out->pid = pid;
    if (pid <= 0 || !read_stat(pid, &state, &out->started, out->name) || state == 'Z' || state == 'X')
        return false;
    path_of(pid, "status", path);
    f = fopen(path, "re");
    if (!f)
        return false;
    out->uid = read_status(f, "Uid:", false, &value) ? (uid_t)value : (uid_t)-1;
    out->own_pid = read_status(f, "NSpid:", true, &value) ? (int32_t)value : (int32_t)pid;
    fclose(f);
    read_environment(out);
    read_maps(out);
    out->has_other_sockets = out->sockets[0] && is_other_folder(pid, out->sockets);
    out->has_own_network = is_other_network(pid);
    return true;
}

bool hu_torch_process_runs(const hu_torch_process *p)
{
    uint64_t started;
    char     state;

    return read_stat(p->pid, &state, &started, NULL) && started == p->started && state != 'Z' && state != 'X';
}

bool hu_torch_process_is_below(pid_t pid, pid_t ancestor)
{
    for (int i = 0; pid > 0 && i < MOST_GENERATIONS; i++, pid = hu_proc_parent(pid))
        if (pid == ancestor)
            return true;
    return false;
}

bool hu_torch_process_has_children(pid_t pid)
{
    char  path[PATH_ROOM];
    FILE *f;
    bool  has;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    f = fopen(path, "re");
    has = f && fgetc(f) != EOF;
    if (f)
        fclose(f);
    return has;
}

int hu_torch_process_root(pid_t pid)
{
    char path[PATH_ROOM];

    path_of(pid, "root", path);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}
