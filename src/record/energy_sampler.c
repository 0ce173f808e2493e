/* SPDX-License-Identifier: Apache-2.0
 * energy_sampler.c - rows are written as they are read: what a killed supervisor has seen is in the file.
 *
 * A run of days is looked at less often: the pause doubles with each PIECE of the file, up to a second, which readers of
 * counters still join.  That is some MB a day.
 */
#include "record/energy_sampler.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/energy_file.h"

enum { SECOND_NS = 1000000000, PATH_ROOM = 4352, PIECE = 4 << 20 };

struct hu_energy_sampler {
    hu_rapl  rapl;
    int      file;
    int64_t  period_ns, next_ns; /* CLOCK_MONOTONIC */
    uint64_t bytes, max_bytes;
    bool     is_full;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A row is there as a whole or, on a full disk, in part at the end of the file. */
static void put(hu_energy_sampler *s, const void *bytes, size_t n)
{
    if (s->is_full || (s->max_bytes && s->bytes + n > s->max_bytes) || write(s->file, bytes, n) != (ssize_t)n)
        s->is_full = true;
    s->bytes += n;
}

/* The kernel brings a counter up to date when it is read: the moment is the middle of the read. */
static void look(hu_energy_sampler *s)
{
    hu_energy_row rows[HU_RAPL_ZONES];
    size_t        n = 0;

    for (size_t i = 0; i < s->rapl.n; i++) {
        const int64_t before = now_ns(CLOCK_BOOTTIME);
        uint64_t      uj;

        if (hu_rapl_look(&s->rapl, &s->rapl.zone[i], &uj))
            rows[n++] = (hu_energy_row){.ns = before + (now_ns(CLOCK_BOOTTIME) - before) / 2, .uj = uj, .zone = (uint32_t)i};
    }
    if (n)
        put(s, rows, n * sizeof *rows);
}

static void put_head(hu_energy_sampler *s)
{
    const hu_energy_head head = {.magic = HU_ENERGY_FILE_MAGIC,
                                 .version = 1,
                                 .state = (uint32_t)s->rapl.state,
                                 .n = (uint32_t)s->rapl.n,
                                 .period_ns = s->period_ns};

    put(s, &head, sizeof head);
    for (size_t i = 0; i < s->rapl.n; i++)
        put(s, s->rapl.zone[i].name, sizeof s->rapl.zone[i].name);
}

static int64_t pause_of(const hu_energy_sampler *s)
{
    int64_t ns = s->period_ns;

    for (uint64_t piece = PIECE; piece < s->bytes && ns <= SECOND_NS / 2; piece += PIECE)
        ns *= 2;
    return ns;
}

hu_energy_sampler *hu_energy_start(const hu_energy_options *options, const char *session)
{
    hu_energy_sampler *s = options->hz ? calloc(1, sizeof *s) : NULL;
    char               path[PATH_ROOM];

    if (!s)
        return NULL;
    s->period_ns = SECOND_NS / (int64_t)options->hz;
    s->max_bytes = options->max_bytes;
    snprintf(path, sizeof path, "%s/energy", session);
    s->file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->file < 0) {
        free(s);
        return NULL;
    }
    hu_rapl_open(AT_FDCWD, options->folder ? options->folder : HU_RAPL_FOLDER, &s->rapl);
    put_head(s);
    hu_energy_round(s, now_ns(CLOCK_MONOTONIC));
    return s;
}

void hu_energy_round(hu_energy_sampler *s, int64_t now)
{
    if (!s || s->rapl.n == 0 || s->is_full || now < s->next_ns)
        return;
    s->next_ns = now + pause_of(s);
    look(s);
}

hu_rapl_state hu_energy_stop(hu_energy_sampler *s)
{
    const hu_rapl_state state = s->rapl.state;

    look(s);
    hu_rapl_close(&s->rapl);
    close(s->file);
    free(s);
    return state;
}
