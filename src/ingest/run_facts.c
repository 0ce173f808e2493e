/* SPDX-License-Identifier: Apache-2.0
 * run_facts.c - what `holdup run` says of the run is also what any reader wants to know. */
#include "ingest/run_facts.h"

#include <stdio.h>
#include <string.h>

enum { MOST_SIGNALS = 128 };

/* A line for each. */
static void take_outsiders(hu_builder *b, hu_str lines)
{
    hu_builder_info(b)->outsiders = hu_builder_keep(b, lines);
    for (size_t i = 0; i < lines.n; i++)
        hu_builder_quality(b)->outsiders += lines.p[i] == '\n';
}

static void add_lost(hu_builder *b, hu_reason reason, int64_t n)
{
    if (n > 0 && n < INT64_C(1) << 50)
        hu_builder_quality(b)->count[reason] += n;
}

/* What CUPTI lost.  True: it was that. */
static bool take_gpu(hu_builder *b, hu_str key, int64_t value)
{
    hu_quality  *q = hu_builder_quality(b);
    const size_t n = strlen(q->warned);

    if (hu_str_equal(key, HU_STR("holdup.gpu_dropped")) || hu_str_equal(key, HU_STR("holdup.gpu_thrown_away")) ||
        hu_str_equal(key, HU_STR("holdup.opencl_without_time")))
        add_lost(b, HU_REASON_RECORDER, value);
    else if (hu_str_equal(key, HU_STR("holdup.gpu_without_time")))
        add_lost(b, HU_REASON_ZERO_TIME, value);
    else if (hu_str_equal(key, HU_STR("holdup.gpu_unknown_kinds")) && value > 0)
        snprintf(q->warned + n, sizeof q->warned - n, "%s%lld GPU records are of unknown kinds", n ? "; " : "",
                 (long long)value);
    else if (hu_str_equal(key, HU_STR("holdup.gpu_hangs")) && value > 0)
        snprintf(q->warned + n, sizeof q->warned - n, "%sCUPTI did not give its last GPU records", n ? "; " : "");
    else if (hu_str_equal(key, HU_STR("holdup.gpu_yielded_ns")) && value > 0)
        snprintf(q->warned + n, sizeof q->warned - n, "%sGPU work was not recorded for %.3f s: another one used CUPTI",
                 n ? "; " : "", (double)value / 1e9);
    else
        return false;
    return true;
}

void hu_facts_take_text(hu_builder *b, hu_str key, hu_str value)
{
    hu_trace_info *info = hu_builder_info(b);

    if (hu_str_equal(key, HU_STR("holdup.host")))
        info->host = hu_builder_keep(b, value);
    else if (hu_str_equal(key, HU_STR("holdup.source_tool")))
        info->tool = hu_builder_keep(b, value);
    else if (hu_str_equal(key, HU_STR("holdup.outsiders")))
        take_outsiders(b, value);
    else if (hu_str_equal(key, HU_STR("holdup.gpus")))
        info->gpus = hu_builder_keep(b, value);
    else if (hu_str_equal(key, HU_STR("holdup.rapl")))
        info->rapl = hu_builder_keep(b, value);
    else if (hu_str_equal(key, HU_STR("holdup.opencl")))
        info->opencl = hu_str_equal(value, HU_STR("host cores")) ? 2 : 1;
    else if (hu_str_equal(key, HU_STR("holdup.thread_states")))
        info->state_source = hu_str_equal(value, HU_STR("switches"))    ? HU_STATES_SWITCHES
                             : hu_str_equal(value, HU_STR("schedstat")) ? HU_STATES_SCHEDSTAT
                                                                        : HU_STATES_SUMS;
}

static int64_t at_least(int64_t least, int64_t value, int64_t otherwise)
{
    return value >= least ? value : otherwise;
}

void hu_facts_take_number(hu_builder *b, hu_str key, int64_t value)
{
    hu_trace_info *info = hu_builder_info(b);

    if (take_gpu(b, key, value))
        return;
    if (hu_str_equal(key, HU_STR("holdup.opencl_clock_error_ns")))
        info->opencl_error_ns = at_least(0, value, 0);
    if (hu_str_equal(key, HU_STR("holdup.opencl_user_events")))
        info->opencl_users = at_least(0, value, 0);
    if (hu_str_equal(key, HU_STR("holdup.rank")))
        info->rank = at_least(0, value, -1);
    else if (hu_str_equal(key, HU_STR("holdup.world_size")))
        info->world_size = at_least(1, value, -1);
    else if (hu_str_equal(key, HU_STR("holdup.cpus")) && info->cpus == 0)
        info->cpus = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.command_cpu_ns")))
        info->command_cpu_ns = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.command_pid")))
        info->command_pid = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.nccl_rank")))
        info->nccl_rank = value >= 0 && value < INT32_MAX ? value + 1 : 0;
    else if (hu_str_equal(key, HU_STR("holdup.command_signal")))
        info->command_signal = value > 0 && value < MOST_SIGNALS ? value : 0;
    else if (hu_str_equal(key, HU_STR("holdup.command_main_running_ns")))
        info->main_running_ns = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.command_main_runnable_ns")))
        info->main_runnable_ns = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.cpu_limit_milli")))
        info->cpu_limit_milli = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.cpu_periods")))
        info->cpu_periods = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.cpu_throttled_periods")))
        info->cpu_throttled = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.cpu_throttled_ns")))
        info->cpu_throttled_ns = at_least(0, value, 0);
    else if (hu_str_equal(key, HU_STR("holdup.unseen_running_ppm")))
        info->unseen_ppm = value >= 0 && value <= 1000000 ? value : 0;
}
