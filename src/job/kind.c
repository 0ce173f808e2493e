/* SPDX-License-Identifier: Apache-2.0
 * kind.c - by the beginning of a file, which its name does not decide; of a text that nobody knows, by its lines. */
#include "job/kind.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/execution_trace.h"
#include "ingest/flight_recorder.h"
#include "ingest/log_probe.h"
#include "ingest/nccl_ras.h"
#include "ingest/ncu.h"
#include "ingest/node_log.h"
#include "ingest/nsys_stats.h"
#include "ingest/profile.h"
#include "ingest/results.h"

hu_input_kind hu_input_kind_of_open(hu_input *in, bool any_text)
{
    const hu_str head = hu_input_head(in);

    return hu_ncu_is_report(head)           ? HU_INPUT_COUNTERS
           : hu_flight_recorder_probe(head) ? HU_INPUT_DUMP
           : hu_nccl_ras_probe(head)        ? HU_INPUT_RAS
           : hu_nsys_stats_is(head)         ? HU_INPUT_SUMS
           : hu_results_probe(head)         ? HU_INPUT_RESULTS
           : hu_profile_probe(head)         ? HU_INPUT_PROFILE
           : hu_execution_trace_probe(head) ? HU_INPUT_EXECUTION
           : hu_node_log_probe(head)
               ? (hu_log_probe_beginning(in) ? HU_INPUT_LOG : HU_INPUT_NODE) /* a job's log may begin so */
           : hu_log_probe(in, any_text) ? HU_INPUT_LOG                       /* the last: it reads on */
                                        : HU_INPUT_RANK;
}

bool hu_input_is_file(const char *path)
{
    struct stat about;

    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &about) : stat(path, &about)) == 0 && S_ISREG(about.st_mode);
}

static hu_input_kind kind_of(const char *path, const hu_limits *limits, bool any_text)
{
    const hu_input_options how = {.limits = *limits};
    hu_input              *in;
    hu_input_kind          kind;
    hu_error               unused;

    if (!hu_input_is_file(path) || !(in = hu_input_open(path, &how, &unused)))
        return HU_INPUT_RANK;
    kind = hu_input_kind_of_open(in, any_text);
    hu_input_close(in);
    return kind;
}

hu_input_kind hu_input_kind_of(const char *path, const hu_limits *limits)
{
    return kind_of(path, limits, false);
}

hu_input_kind hu_input_kind_of_text(const char *path, const hu_limits *limits)
{
    return kind_of(path, limits, true);
}
