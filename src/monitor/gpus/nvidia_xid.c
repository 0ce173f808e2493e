/* SPDX-License-Identifier: Apache-2.0
 * nvidia_xid.c - errors (XID) from two tellers: events of the driver, and its lines in the kernel's log.
 *
 * Some errors come only one way: the log has those from before the driver knew of us, and some that it makes no event of;
 * the events come where the log may not be read.  Each teller's are counted, and the greater count holds: the same error
 * told twice is one.  The counts are in memory that outlives this process, as is where reading of the log stopped.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/xid.h"
#include "monitor/gpus/nvidia.h"

enum { EVENTS_MOST = 256, RECORDS_MOST = 4096, RECORD_BYTES = 8192 };

static void count(hu_nvidia *s, const char *uuid, uint64_t xid, hu_xid_teller teller)
{
    hu_gpu_board   *b = s->options->board;
    hu_board_xid   *x = NULL;
    struct timespec now;
    uint64_t        before;

    for (uint32_t i = 0; i < b->n_xids && !x; i++)
        if (b->xid[i].xid == xid && strcmp(b->xid[i].uuid, uuid) == 0)
            x = &b->xid[i];
    if (!x) {
        if (b->n_xids >= HU_BOARD_XIDS) {
            s->is_xid_table_full = true;
            return;
        }
        x = &b->xid[b->n_xids];
        *x = (hu_board_xid){.xid = xid};
        snprintf(x->uuid, sizeof x->uuid, "%s", uuid);
        b->n_xids++;
    }
    before = x->n[HU_XID_OF_DRIVER] > x->n[HU_XID_OF_LOG] ? x->n[HU_XID_OF_DRIVER] : x->n[HU_XID_OF_LOG];
    if (++x->n[teller] > before) {
        clock_gettime(CLOCK_REALTIME, &now);
        x->last = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    }
}

/* ---- the kernel's log -------------------------------------------------------------------------------------------- */

/* Counts an error of the log under the UUID of its GPU. */
static void take_xid(hu_nvidia *s, const char *text)
{
    char          bus[HU_XID_BUS];
    unsigned long xid;
    size_t        n;

    if (!hu_xid_of_text(text, bus, &xid))
        return;
    n = strlen(bus);
    for (size_t i = 0; i < s->n; i++)
        if (strncmp(s->gpu[i].bus, bus, n) == 0 && (s->gpu[i].bus[n] == '\0' || s->gpu[i].bus[n] == '.')) {
            count(s, s->gpu[i].d.uuid, xid, HU_XID_OF_LOG);
            return;
        }
    count(s, bus, xid, HU_XID_OF_LOG); /* of one that the driver does not show */
}

/* "6,1234,5678901,-;text": priority and facility, number of the record, microseconds, flags.  Further lines of it begin with
 * a blank. */
static void take_line(hu_nvidia *s, const char *line, bool is_news)
{
    hu_gpu_board      *b = s->options->board;
    const char        *comma = strchr(line, ','), *text = strchr(line, ';');
    unsigned long long number;

    if (!isdigit((unsigned char)line[0]) || !comma || !text || comma > text)
        return;
    number = strtoull(comma + 1, NULL, 10);
    if (number < b->log_next)
        return;
    b->log_next = number + 1;
    text++;
    if (is_news)
        take_xid(s, text);
}

static void read_log(hu_nvidia *s, bool is_news)
{
    char records[RECORD_BYTES + 1];

    for (int i = 0; s->log >= 0 && i < RECORDS_MOST; i++) {
        const ssize_t n = read(s->log, records, RECORD_BYTES);
        char         *line = records;

        if (n < 0 && (errno == EPIPE || errno == EINVAL)) /* overwritten before it was read, or too long */
            continue;
        if (n <= 0)
            return;
        records[n] = '\0';
        while (*line) {
            char *end = strchrnul(line, '\n');
            char  last = *end;

            *end = '\0';
            take_line(s, line, is_news);
            line = last ? end + 1 : end;
        }
    }
}

void hu_nv_log_open(hu_nvidia *s)
{
    char path[600];

    snprintf(path, sizeof path, "%s/dev/kmsg", s->options->root);
    s->log = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    s->log_errno = s->log < 0 ? errno : 0;
    if (s->log >= 0 && s->options->board->log_next == 0) { /* what is in it is of before */
        read_log(s, false);
        if (s->options->board->log_next == 0)
            s->options->board->log_next = 1;
    }
}

void hu_nv_log_close(hu_nvidia *s)
{
    if (s->log >= 0)
        close(s->log);
    s->log = -1;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void hu_nv_xid_hear(hu_nvidia *s)
{
    void    *handle;
    uint64_t xid;

    for (int i = 0; s->nvml && i < EVENTS_MOST && hu_nvml_heard(s->nvml, &handle, &xid); i++)
        for (size_t k = 0; k < s->n; k++)
            if (s->gpu[k].d.handle == handle && !s->gpu[k].is_missing) {
                count(s, s->gpu[k].d.uuid, xid, HU_XID_OF_DRIVER);
                break;
            }
    read_log(s, true);
}

/* Also of GPUs that are lost: the counts are not theirs but ours, and the last thing that they said. */
void hu_nv_xid_put(const hu_nvidia *s, hu_readings *out)
{
    const hu_gpu_board *b = s->options->board;

    for (uint32_t i = 0; i < b->n_xids && i < HU_BOARD_XIDS; i++) {
        const hu_board_xid *x = &b->xid[i];
        const char         *number = "";
        char                xid[24];

        for (size_t k = 0; k < s->n; k++)
            if (strcmp(s->gpu[k].d.uuid, x->uuid) == 0)
                number = s->gpu[k].number_text;
        snprintf(xid, sizeof xid, "%llu", (unsigned long long)x->xid);
        hu_put(out, HU_METRIC_GPU_XID, (double)(x->n[0] > x->n[1] ? x->n[0] : x->n[1]), number, x->uuid, xid);
        hu_put(out, HU_METRIC_GPU_XID_LAST, x->last, number, x->uuid, xid);
    }
    if (s->is_xid_table_full)
        hu_put_problem(out, "nvidia", "there are more kinds of XIDs than are counted", "see them in the kernel log: dmesg");
    if (s->log < 0)
        hu_put_problem(out, "nvidia",
                       "the kernel log cannot be read: XIDs that the driver tells nobody else are not counted",
                       s->log_errno == ENOENT ? "in a container, mount /dev/kmsg" : "run as root, or with CAP_SYSLOG");
}
