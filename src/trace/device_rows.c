/* SPDX-License-Identifier: Apache-2.0
 * device_rows.c - what a device did, in traces whose writers give no categories.
 *
 * A slice without a category is taken for a range of the program.  On a row that belongs to a process called "GPU2" or
 * "Ascend Hardware" it is none: counted there, the device's work would be the host's.  Names may stand anywhere in a file,
 * so rows are looked at when all of it was read.
 */
#include "trace/device_rows.h"

#include "trace/columns.h"

static hu_str text_of(const hu_trace *t, uint32_t id)
{
    return id ? hu_trace_text(t, id) : HU_STR("");
}

/* The process's name; without one its id, which some writers make a name. */
static hu_str process_of(const hu_trace *trace, const hu_track *t)
{
    return t->process || !t->pid_is_text ? text_of(trace, t->process) : text_of(trace, (uint32_t)t->pid);
}

void hu_device_rows_settle(hu_trace *trace, const hu_row_reader *reader)
{
    bool found = false;

    for (size_t i = 0; i < trace->tracks.n; i++) {
        hu_track *t = &trace->tracks.at[i];
        int64_t   device = -1;

        if (t->type != HU_TRACK_HOST)
            continue;
        found |= reader->is_operators(process_of(trace, t));
        if (!reader->is_device(process_of(trace, t), &device))
            continue;
        found = true;
        t->type = HU_TRACK_STREAM;
        t->device = device;
        t->stream = t->tid_is_text ? -1 : t->tid;
    }
    for (size_t i = 0; found && i < trace->n; i++) {
        const hu_track *t = &trace->tracks.at[trace->track[i]];

        if (t->type == HU_TRACK_HOST && trace->kind[i] == HU_KIND_USER && trace->correlation[i]) {
            trace->kind[i] = HU_KIND_RUNTIME; /* it launched something there */
            trace->detail[i] = HU_NONE;
        }
        if (t->type == HU_TRACK_HOST && trace->kind[i] == HU_KIND_USER && reader->is_operators(process_of(trace, t)))
            trace->kind[i] = HU_KIND_CPU_OP;
        if (t->type != HU_TRACK_STREAM || (trace->kind[i] != HU_KIND_USER && trace->kind[i] != HU_KIND_CPU_OP))
            continue;
        trace->kind[i] = (uint8_t)reader->kind(process_of(trace, t), text_of(trace, t->name),
                                               text_of(trace, trace->name[i]));
        trace->detail[i] = HU_NONE; /* that of a range */
    }
}
