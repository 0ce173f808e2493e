/* SPDX-License-Identifier: Apache-2.0
 * device_rows.c - what a device did, in traces whose writers give no categories.
 *
 * A slice without a category is taken for a range of the program.  On a row that belongs to a process called "GPU2" or
 * "Ascend Hardware" it is none: counted there, the device's work would be the host's.  Names may stand anywhere in a file,
 * so rows are looked at when all of it was read.
 */
#include "trace/device_rows.h"

#include <stdio.h>

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

/* A slice of the row of a device's steps, which is called by its number: drawn beside its work, as a mark. */
static void settle_step(hu_builder *b, hu_trace *trace, size_t i)
{
    const hu_str number = text_of(trace, trace->name[i]);
    char         name[64];

    trace->detail[i] = HU_NONE;
    for (size_t k = 0; k < number.n; k++)
        if (number.p[k] < '0' || number.p[k] > '9')
            return;
    if (number.n && number.n < 20)
        trace->name[i] = hu_builder_intern(
            b, (hu_str){name, (size_t)snprintf(name, sizeof name, "step %.*s", (int)number.n, number.p)});
}

/* Once for each device. */
static void describe(hu_builder *b, const hu_trace *trace, int64_t device, hu_str name)
{
    if (!name.n)
        return;
    for (size_t i = 0; i < trace->devices.n; i++)
        if (trace->devices.at[i].id == device)
            return;
    hu_builder_device(b, &(hu_device){.id = device, .name = hu_builder_intern(b, name)});
}

void hu_device_rows_settle(hu_builder *b, hu_trace *trace, const hu_row_reader *reader)
{
    uint32_t stepping = HU_NONE;
    bool     found = false;

    for (size_t i = 0; i < trace->tracks.n; i++) {
        hu_track *t = &trace->tracks.at[i];
        int64_t   device = -1;

        if (t->type != HU_TRACK_HOST)
            continue;
        found |= reader->is_operators(process_of(trace, t));
        if (!reader->is_device(process_of(trace, t), &device))
            continue;
        found = true;
        describe(b, trace, device, reader->device_name(process_of(trace, t)));
        if (stepping == HU_NONE && reader->is_steps(process_of(trace, t), text_of(trace, t->name))) {
            stepping = (uint32_t)i; /* of one device; all have the same */
            t->type = HU_TRACK_NOTE;
            continue;
        }
        t->type = HU_TRACK_STREAM;
        t->device = device;
        t->stream = t->tid_is_text ? -1 : t->tid;
    }
    for (size_t i = 0; found && i < trace->n; i++) {
        const hu_track *t = &trace->tracks.at[trace->track[i]];

        if (trace->track[i] == stepping && trace->kind[i] == HU_KIND_USER) {
            settle_step(b, trace, i);
            continue;
        }
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
