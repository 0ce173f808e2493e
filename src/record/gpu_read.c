/* SPDX-License-Identifier: Apache-2.0
 * gpu_read.c - record by record; one that is longer than any we know, or cut, ends the file. */
#include "record/gpu_read.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol/format.h"

typedef union {
    hu_gpu_row         row;
    hu_gpu_row_device  device;
    hu_gpu_row_sample  sample;
    hu_gpu_row_process process;
    hu_gpu_row_problem problem;
    hu_gpu_row_end     end;
    char               bytes[1024];
} record;

static FILE *open_file(const char *session, hu_gpu_file_head *head)
{
    char      path[4352];
    FILE     *f;
    const int fd = (snprintf(path, sizeof path, "%s/gpu", session), open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));

    f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    if (fread(head, sizeof *head, 1, f) == 1 && head->magic == HU_GPU_FILE_MAGIC && head->version == 1)
        return f;
    fclose(f);
    return NULL;
}

static bool is_number(int64_t n)
{
    return n >= 0 && n <= HU_TIME_MAX_NS;
}

/* Of a sample: what no driver says is no value. */
static bool is_sane(record *r)
{
    if (r->row.type == HU_GPU_ROW_PROBLEM)
        return is_number(r->problem.ns);
    if (r->row.type != HU_GPU_ROW_SAMPLE)
        return true;
    for (unsigned q = 0; q < HU_GPU_QUANTITY_COUNT; q++)
        if (!is_number(r->sample.value[q]))
            r->sample.has &= ~(1u << q);
    return is_number(r->sample.ns);
}

/* The next record of a kind that is known, at least as long as we know it; what is longer is cut. */
static bool next(FILE *f, record *out)
{
    static const size_t least[] = {
        [HU_GPU_ROW_DEVICE] = sizeof out->device,   [HU_GPU_ROW_SAMPLE] = sizeof out->sample,
        [HU_GPU_ROW_PROCESS] = sizeof out->process, [HU_GPU_ROW_PROBLEM] = sizeof out->problem,
        [HU_GPU_ROW_END] = sizeof out->end,
    };

    while (fread(&out->row, sizeof out->row, 1, f) == 1) {
        const size_t n = out->row.bytes;

        if (n < sizeof out->row || n > sizeof *out ||
            (n > sizeof out->row && fread(out->bytes + sizeof out->row, n - sizeof out->row, 1, f) != 1))
            return false;
        if (out->row.type < HU_COUNT(least) && least[out->row.type] && n >= least[out->row.type] &&
            out->row.device < HU_GPU_MOST && is_sane(out))
            return true;
    }
    return false;
}

static void end_texts(hu_gpu_row_device *d)
{
    d->name[sizeof d->name - 1] = d->uuid[sizeof d->uuid - 1] = d->bus[sizeof d->bus - 1] = '\0';
    d->driver[sizeof d->driver - 1] = '\0';
}

static void take_problem(hu_gpus_seen *out, hu_gpu_seen *d, const hu_gpu_row_problem *p)
{
    char *words = d ? d->problem : out->problem;

    memcpy(words, p->words, sizeof p->words);
    words[sizeof p->words - 1] = '\0';
    if (d)
        d->problem_ns = p->ns;
}

bool hu_gpus_read(const char *session, hu_arena *arena, hu_gpus_seen *out)
{
    hu_gpu_file_head head;
    FILE            *f = open_file(session, &head);
    hu_gpu_seen     *of[HU_GPU_MOST] = {0};
    record           r;
    bool             has_memory = true;

    *out = (hu_gpus_seen){.has_file = f != NULL};
    if (!f)
        return true;
    out->period_ns = head.period_ns;
    out->at = hu_arena_calloc(arena, HU_GPU_MOST, sizeof *out->at);
    for (has_memory = out->at != NULL; has_memory && next(f, &r);) {
        hu_gpu_seen *d = of[r.row.device];

        if (r.row.type == HU_GPU_ROW_DEVICE && !d && out->n < HU_GPU_MOST) {
            d = of[r.row.device] = &out->at[out->n++];
            d->about = r.device;
            end_texts(&d->about);
        } else if (r.row.type == HU_GPU_ROW_SAMPLE && d) {
            d->has |= r.sample.has;
        } else if (r.row.type == HU_GPU_ROW_PROCESS && d) {
            has_memory = hu_vec_push(arena, &d->pids, r.process.pid);
        } else if (r.row.type == HU_GPU_ROW_PROBLEM) {
            take_problem(out, d, &r.problem);
        } else if (r.row.type == HU_GPU_ROW_END) {
            out->is_whole = true;
            out->cpu_ns = r.end.cpu_ns;
        }
    }
    fclose(f);
    return has_memory;
}

void hu_gpus_each(const char *session, bool (*take)(void *context, const hu_gpu_row_sample *sample), void *context)
{
    hu_gpu_file_head head;
    FILE            *f = open_file(session, &head);
    record           r;

    while (f && next(f, &r))
        if (r.row.type == HU_GPU_ROW_SAMPLE && !take(context, &r.sample))
            break;
    if (f)
        fclose(f);
}
