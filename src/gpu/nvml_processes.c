/* SPDX-License-Identifier: Apache-2.0
 * nvml_processes.c - lists that may grow between the question how long they are and the next. */
#include "gpu/nvml_processes.h"

#include <stdlib.h>

#include "gpu/nvml_calls.h"

enum { FIRST_ROOM = 64, TRIES = 8 };

/* One of each row's kinds at a time; the widest decides how much memory that is. */
typedef union {
    process_1     one;
    process_2     two;
    process_use_0 use_0;
    process_use_1 use_1;
} widest;

static bool make_room(hu_nvml_buffer *b, unsigned room)
{
    void *rows;

    if (room <= b->room)
        return true;
    rows = room > HU_NVML_PROCESSES_MOST ? NULL : realloc(b->rows, room * sizeof(widest));
    if (!rows)
        return false;
    b->rows = rows;
    b->room = room;
    return true;
}

/* After TOO_SMALL: room for what there is and for what may come meanwhile. */
static bool grow(hu_nvml_buffer *b, unsigned wanted)
{
    unsigned room = 2 * b->room;

    if (wanted >= room)
        room = wanted + wanted / 2;
    if (room > HU_NVML_PROCESSES_MOST)
        room = HU_NVML_PROCESSES_MOST;
    return room > b->room && make_room(b, room);
}

typedef int list_call(void *device, unsigned *n, process_2 *out);

static int fill_v2(list_call *call, void *device, hu_nvml_buffer *b, unsigned *count)
{
    int rc = FUNCTION_NOT_FOUND;

    for (int i = 0; call && i < TRIES; i++) {
        *count = b->room;
        rc = call(device, count, b->rows);
        if (rc != TOO_SMALL || !grow(b, *count))
            break;
    }
    return rc;
}

static int fill_v1(const hu_nvml *n, void *device, hu_nvml_buffer *b, unsigned *count)
{
    int rc = FUNCTION_NOT_FOUND;

    for (int i = 0; n->processes_v1 && i < TRIES; i++) {
        *count = b->room;
        rc = n->processes_v1(device, count, b->rows);
        if (rc != TOO_SMALL || !grow(b, *count))
            break;
    }
    return rc;
}

static void add(uint32_t pid, uint64_t bytes, uint32_t *out, uint64_t *memory, size_t room, size_t *count)
{
    const size_t kept = *count < room ? *count : room;

    if (pid == 0) /* of a process that this PID namespace does not show */
        return;
    for (size_t i = 0; i < kept; i++)
        if (out[i] == pid)
            return;
    if (kept < room)
        out[kept] = pid;
    if (kept < room && memory)
        memory[kept] = bytes; /* NVML_VALUE_NOT_AVAILABLE is HU_NVML_NO_BYTES */
    ++*count;
}

hu_nvml_class hu_nvml_list(hu_nvml *n, const hu_nvml_device *d, hu_nvml_buffer *b, uint32_t *out, uint64_t *memory,
                           size_t room, size_t *count, int *code)
{
    unsigned k = 0;

    *count = 0;
    *code = UNKNOWN;
    if (!make_room(b, FIRST_ROOM))
        return HU_NVML_LATER;
    *code = fill_v2(n->processes_v2, d->handle, b, &k);
    if (*code == SUCCESS) {
        const process_2 *row = b->rows;

        for (unsigned i = 0; i < k && i < b->room; i++)
            add(row[i].pid, row[i].bytes, out, memory, room, count);
    } else if (hu_nvml_class_of(*code) == HU_NVML_NEVER) {
        const process_1 *row;

        *code = fill_v1(n, d->handle, b, &k);
        row = b->rows;
        for (unsigned i = 0; *code == SUCCESS && i < k && i < b->room; i++)
            add(row[i].pid, row[i].bytes, out, memory, room, count);
    }
    if (*code == SUCCESS && fill_v2(n->served_v2, d->handle, b, &k) == SUCCESS) {
        const process_2 *row = b->rows;

        for (unsigned i = 0; i < k && i < b->room; i++)
            add(row[i].pid, row[i].bytes, out, memory, room, count);
    }
    return hu_nvml_class_of(*code);
}

size_t hu_nvml_processes(hu_nvml *n, const hu_nvml_device *d, uint32_t out[HU_NVML_PIDS])
{
    hu_nvml_buffer b = {0};
    size_t         count = 0;
    int            code;

    if (hu_nvml_list(n, d, &b, out, NULL, HU_NVML_PIDS, &count, &code) != HU_NVML_OK)
        count = 0;
    free(b.rows);
    return count < HU_NVML_PIDS ? count : HU_NVML_PIDS;
}

/* ---- what they use ----------------------------------------------------------------------------------------------- */

/* The last sample of each process. */
static void keep(hu_nvml_process_use u, uint32_t percent, hu_nvml_process_use *out, size_t room, size_t *count)
{
    size_t i = 0;

    if (percent > MOST_PERCENT)
        return;
    u.busy = percent / 100.0;
    while (i < *count && out[i].pid != u.pid)
        i++;
    if (i == room || (i < *count && out[i].at_us > u.at_us))
        return;
    *count += i == *count;
    out[i] = u;
}

static int uses_v1(const hu_nvml *n, void *device, hu_nvml_buffer *b, uint64_t *since_us, hu_nvml_process_use *out,
                   size_t room, size_t *count)
{
    process_uses_1 list = {0};
    uint64_t       last = *since_us;
    int            rc = FUNCTION_NOT_FOUND;

    for (int i = 0; n->process_use_v1 && i < TRIES; i++) {
        list = (process_uses_1){VERSION_OF(process_uses_1, 1), b->room, *since_us, b->rows};
        rc = n->process_use_v1(device, &list);
        if (rc != TOO_SMALL || !grow(b, list.n))
            break;
    }
    for (unsigned i = 0; rc == SUCCESS && i < list.n && i < b->room; i++) {
        const process_use_1 *row = (const process_use_1 *)b->rows + i;

        if (row->at_us <= *since_us)
            continue; /* of before */
        keep((hu_nvml_process_use){.pid = row->pid, .at_us = row->at_us}, row->sm, out, room, count);
        last = row->at_us > last ? row->at_us : last;
    }
    *since_us = last;
    return rc;
}

static int uses_v0(const hu_nvml *n, void *device, hu_nvml_buffer *b, uint64_t *since_us, hu_nvml_process_use *out,
                   size_t room, size_t *count)
{
    uint64_t last = *since_us;
    unsigned k = 0;
    int      rc = FUNCTION_NOT_FOUND;

    for (int i = 0; n->process_use_v0 && i < TRIES; i++) {
        k = b->room;
        rc = n->process_use_v0(device, b->rows, &k, *since_us);
        if (rc != TOO_SMALL || !grow(b, k))
            break;
    }
    for (unsigned i = 0; rc == SUCCESS && i < k && i < b->room; i++) {
        const process_use_0 *row = (const process_use_0 *)b->rows + i;

        if (row->at_us <= *since_us)
            continue;
        keep((hu_nvml_process_use){.pid = row->pid, .at_us = row->at_us}, row->sm, out, room, count);
        last = row->at_us > last ? row->at_us : last;
    }
    *since_us = last;
    return rc;
}

hu_nvml_class hu_nvml_uses(hu_nvml *n, hu_nvml_device *d, hu_nvml_buffer *b, uint64_t *since_us, hu_nvml_process_use *out,
                           size_t room, size_t *count, int *code)
{
    *count = 0;
    *code = UNKNOWN;
    if (!make_room(b, FIRST_ROOM))
        return HU_NVML_LATER;
    *code = uses_v1(n, d->handle, b, since_us, out, room, count);
    if (hu_nvml_class_of(*code) == HU_NVML_NEVER)
        *code = uses_v0(n, d->handle, b, since_us, out, room, count);
    return hu_nvml_class_of(*code);
}
