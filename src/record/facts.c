/* SPDX-License-Identifier: Apache-2.0
 * facts.c - one struct in one file; and the part of the environment that explains a job. */
#include "record/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "protocol/redact.h"
#include "record/variables.h"

#define FACTS_MAGIC 0x3154434146505548ull /* "HUPFACT1" */

enum { SECOND_NS = 1000000000, LINE_BYTES = 4096 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

static bool is_interpreter(const char *name)
{
    static const char *const names[] = {"python", "bash", "sh", "env", "perl", "ruby", "node", "julia"};

    for (size_t i = 0; i < HU_COUNT(names); i++) {
        const size_t n = strlen(names[i]);

        if (strncmp(name, names[i], n) == 0 && (name[n] == '\0' || (name[n] >= '0' && name[n] <= '9')))
            return true;
    }
    return false;
}

const char *hu_facts_program(const char *command, size_t bytes)
{
    const char *name = base_name(command), *end = command + bytes;

    for (const char *at = command; is_interpreter(name) && (at += strlen(at) + 1) < end && strcmp(at, "-c") != 0;) {
        if (at[0] != '-' && !strchr(at, '=') && !strchr(at, '*')) /* `env A=1 python -u train.py` */
            name = base_name(at);
    }
    return name;
}

/* Of the arguments without secrets: `python --token x` has none of that name. */
static void name_command(const char *command, size_t bytes, char *out, size_t room)
{
    const char *name = hu_facts_program(command, bytes);
    size_t      n = strlen(name);

    if (n > 3 && (strcmp(name + n - 3, ".py") == 0 || strcmp(name + n - 3, ".sh") == 0))
        n -= 3;
    snprintf(out, room, "%.*s", (int)(n < room ? n : room - 1), name);
}

void hu_facts_gather(char *const *environment, char *const *argv, hu_facts *out)
{
    hu_redactor     r = {0};
    const char     *user = hu_rank_id_variable(environment, "USER");
    struct timespec now;
    char           *dot;

    memset(out, 0, sizeof *out);
    out->magic = FACTS_MAGIC;
    out->version = HU_FORMAT_VERSION;
    out->bytes = sizeof *out;
    out->status = -1;
    clock_gettime(CLOCK_REALTIME, &now);
    out->started_ns = (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
    hu_rank_id_detect(environment, &out->rank);
    if (gethostname(out->host, sizeof out->host - 1) < 0)
        snprintf(out->host, sizeof out->host, "localhost");
    dot = strchr(out->host, '.');
    if (dot)
        *dot = '\0';
    snprintf(out->user, sizeof out->user, "%s", user ? user : "");
    if (!getcwd(out->folder, sizeof out->folder))
        out->folder[0] = '\0';
    for (size_t i = 0; argv && argv[i] && out->command_bytes < sizeof out->command - 1; i++) {
        char *to = out->command + out->command_bytes; /* the last one is cut to what fits */

        out->command_bytes += (uint32_t)hu_redact_argument(&r, hu_str_of(argv[i]), to,
                                                           sizeof out->command - 1 - out->command_bytes);
        out->command[out->command_bytes++] = '\0';
    }
    if (out->command_bytes)
        name_command(out->command, out->command_bytes, out->name, sizeof out->name);
}

int hu_facts_write(const hu_session *session, const hu_facts *facts, hu_error *err)
{
    char    path[HU_SESSION_PATH_MAX + 64];
    int     fd;
    ssize_t n;

    hu_session_file(session, "facts", path, sizeof path);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    n = fd >= 0 ? pwrite(fd, facts, sizeof *facts, 0) : -1;
    if (n != (ssize_t)sizeof *facts)
        hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", n < 0 ? strerror(errno) : "no space is left");
    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof *facts ? 0 : HU_EIO;
}

int hu_facts_write_environment(const hu_session *session, char *const *environment, hu_error *err)
{
    for (; environment && *environment; environment++) {
        const size_t n = strcspn(*environment, "=");
        char         line[LINE_BYTES];
        int          length;

        if (!(*environment)[n] || !hu_variables_keep((hu_str){*environment, n}))
            continue;
        length = (int)hu_redact_argument(&(hu_redactor){0}, hu_str_of(*environment), line, sizeof line - 1);
        for (int i = 0; i < length; i++)
            line[i] = line[i] == '\n' ? ' ' : line[i];
        line[length] = '\n';
        if (hu_session_append(session, "environment", line, (size_t)length + 1, err) < 0)
            return err ? err->code : HU_EIO;
    }
    return 0;
}

int hu_facts_read(const char *session, hu_facts *out, hu_error *err)
{
    char    path[HU_SESSION_PATH_MAX + 64];
    int     fd;
    ssize_t n;

    snprintf(path, sizeof path, "%s/facts", session);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return hu_fail(err, HU_EIO, path, HU_NO_OFFSET, "%s", strerror(errno));
    n = pread(fd, out, sizeof *out, 0);
    close(fd);
    if (n != (ssize_t)sizeof *out || out->magic != FACTS_MAGIC || out->bytes != sizeof *out ||
        out->command_bytes > sizeof out->command)
        return hu_fail(err, HU_EFORMAT, path, HU_NO_OFFSET, "was not written by this version of holdup");
    out->host[sizeof out->host - 1] = out->user[sizeof out->user - 1] = out->name[sizeof out->name - 1] = '\0';
    out->folder[sizeof out->folder - 1] = out->output[sizeof out->output - 1] = '\0';
    out->rank.source[sizeof out->rank.source - 1] = out->rank.job_id[sizeof out->rank.job_id - 1] = '\0';
    if (out->command_bytes)
        out->command[out->command_bytes - 1] = '\0';
    return 0;
}
