/* SPDX-License-Identifier: Apache-2.0
 * standard_input.c - `kubectl logs x | holdup report -`: a look at the beginning, which a stream would have lost. */
#include "cli/standard_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/source.h"
#include "ingest/format.h"
#include "job/sorted.h"

enum { LOOKED_AT = 1 << 16 };

static bool is_stream(void)
{
    struct stat st;

    return fstat(STDIN_FILENO, &st) == 0 && !S_ISREG(st.st_mode) && !isatty(STDIN_FILENO);
}

static ssize_t read_some(char *to, size_t room)
{
    ssize_t n;

    do
        n = read(STDIN_FILENO, to, room);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Is it what a reader of traces takes from front to back? */
static bool is_trace(hu_str head, const hu_limits *limits)
{
    const hu_input_options how = {.limits = *limits};
    hu_error               unused;
    hu_input              *in = hu_input_open_memory(head, "standard input", &how, &unused);
    const bool             is = in && hu_format_find(hu_input_head(in)) && hu_input_kind_of_open(in, false) == HU_INPUT_RANK;

    if (in)
        hu_input_close(in);
    return is;
}

static int fail(const char *what, hu_error *err)
{
    return hu_fail(err, HU_EIO, "standard input", HU_NO_OFFSET,
                   "%s: %s; it is kept in a file while it is read, in TMPDIR or /tmp", what, strerror(errno));
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        const ssize_t done = write(fd, p, n);

        if (done < 0 && errno != EINTR)
            return false;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* A file that has no name any more. */
static int open_nameless(hu_error *err)
{
    const char *folder = getenv("TMPDIR");
    char        path[4096];
    int         fd;

    if (snprintf(path, sizeof path, "%s/holdup-input-XXXXXX", folder && folder[0] ? folder : "/tmp") >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return fail("cannot make a file", err);
    }
    fd = mkstemp(path);
    if (fd < 0)
        return fail("cannot make a file", err);
    unlink(path);
    return fd;
}

/* All of it becomes the file that standard input is. */
static int keep(char *room, size_t n, hu_error *err)
{
    const int fd = open_nameless(err);
    ssize_t   more = (ssize_t)n;
    int       rc = 0;

    if (fd < 0)
        return err->code;
    do {
        if (!write_all(fd, room, (size_t)more))
            rc = fail("cannot write", err);
        else if ((more = read_some(room, LOOKED_AT)) < 0)
            rc = fail("cannot read", err);
    } while (rc == 0 && more > 0);
    if (rc == 0 && (lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0))
        rc = fail("cannot read it again", err);
    close(fd);
    return rc;
}

int hu_standard_input_prepare(const hu_inputs *inputs, const hu_limits *limits, hu_error *err)
{
    static char room[LOOKED_AT];
    bool        is_named = false;
    size_t      n = 0;
    ssize_t     more = 1;

    for (size_t i = 0; i < inputs->n; i++)
        is_named |= strcmp(inputs->at[i], "-") == 0;
    if (!is_named || !is_stream())
        return 0;
    while (n < sizeof room && more > 0) {
        more = read_some(room + n, sizeof room - n);
        if (more < 0)
            return fail("cannot read", err);
        n += (size_t)more;
    }
    if (!is_trace((hu_str){room, n}, limits))
        return keep(room, n, err);
    return hu_source_give_back((hu_str){room, n}) ? 0 : hu_fail_memory(err);
}
