/* SPDX-License-Identifier: Apache-2.0
 * formats.c - all that can be read, in the order of probing: the most specific first. */
#include "ingest/format.h"

extern const hu_format hu_format_chrome_json;
extern const hu_format hu_format_flight_recorder;
extern const hu_format hu_format_nccl_ras;
extern const hu_format hu_format_nsight;
extern const hu_format hu_format_nsys_stats;
extern const hu_format hu_format_perf_data;
extern const hu_format hu_format_perf_json;
extern const hu_format hu_format_perf_script;
extern const hu_format hu_format_perfetto;
extern const hu_format hu_format_rocpd;
extern const hu_format hu_format_rocprof_csv;
extern const hu_format hu_format_rocprof_json;
extern const hu_format hu_format_torch_snapshot;
extern const hu_format hu_format_torch_timeline;
extern const hu_format hu_format_xplane;

const hu_format *const hu_formats[] = {
    &hu_format_rocpd,           /* "SQLite format 3" and names of its tables */
    &hu_format_nsight,          /* any other "SQLite format 3" */
    &hu_format_perf_data,       /* "PERFILE2" */
    &hu_format_torch_snapshot,  /* a pickle with segments in it */
    &hu_format_flight_recorder, /* a pickle, or an object, of process groups */
    &hu_format_nccl_ras,        /* its headings, or an object with its version of NCCL */
    &hu_format_rocprof_csv,     /* a first line of headings of its tables, with times */
    &hu_format_perf_script,     /* lines of a command, its thread, a time and an event */
    &hu_format_perf_json,       /* an object whose first member is its version */
    &hu_format_nsys_stats,      /* a line of the headings of its sums */
    &hu_format_torch_timeline,  /* lists of four numbers, or times and a list of lists */
    &hu_format_xplane,          /* a message whose first field is a plane with one of a few names */
    &hu_format_perfetto,        /* a packet that is whole protobuf and no text */
    &hu_format_rocprof_json,    /* an object whose first member is the tool's */
    &hu_format_chrome_json,     /* '{' or '[': torch.profiler (Kineto) and other Chrome traces */
    NULL,
};

const hu_format *hu_format_find(hu_str head)
{
    for (size_t i = 0; hu_formats[i]; i++)
        if (hu_formats[i]->probe(head))
            return hu_formats[i];
    return NULL;
}
