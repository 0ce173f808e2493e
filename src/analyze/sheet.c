/* SPDX-License-Identifier: Apache-2.0
 * sheet.c - the table of reports, and what they share. */
#include "analyze/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/sheet_parts.h"

static const char *const api_columns[] = {"Start (ns)", "Duration (ns)", "Name",        "CorrID",
                                          "Pid",        "Tid",           "Thread Name", NULL};
static const char *const gpu_columns[] = {"Start (ns)",
                                          "Duration (ns)",
                                          "CorrId",
                                          "GrdX",
                                          "GrdY",
                                          "GrdZ",
                                          "BlkX",
                                          "BlkY",
                                          "BlkZ",
                                          "Reg/Trd",
                                          "SMem (MB)",
                                          "Bytes (MB)",
                                          "Throughput (MB/s)",
                                          "SrcMemKd",
                                          "DstMemKd",
                                          "Device",
                                          "Ctx",
                                          "Strm",
                                          "Name",
                                          NULL};
static const char *const mpi_columns[] = {"Start (ns)", "End (ns)", "Duration (ns)", "Event",    "Pid",          "Tid",
                                          "Tag",        "Rank",     "PeerRank",      "RootRank", "Size (bytes)", NULL};
static const char *const launch_columns[] = {"API Start (ns)",
                                             "API Dur (ns)",
                                             "Queue Start (ns)",
                                             "Queue Dur (ns)",
                                             "Kernel Start (ns)",
                                             "Kernel Dur (ns)",
                                             "Total Dur (ns)",
                                             "PID",
                                             "TID",
                                             "DevId",
                                             "API Function",
                                             "GridXYZ",
                                             "BlockXYZ",
                                             "Kernel Name",
                                             NULL};
static const char *const launches_columns[] = {
    "PID",          "TID",       "DevId",        "Count",        "QCount",    "TAvg (ns)",    "TMed (ns)",
    "TMin (ns)",    "TMax (ns)", "TStdDev (ns)", "AAvg (ns)",    "AMed (ns)", "AMin (ns)",    "AMax (ns)",
    "AStdDev (ns)", "QAvg (ns)", "QMed (ns)",    "QMin (ns)",    "QMax (ns)", "QStdDev (ns)", "KAvg (ns)",
    "KMed (ns)",    "KMin (ns)", "KMax (ns)",    "KStdDev (ns)", "API Name",  "Kernel Name",  NULL};
static const char *const geometry_columns[] = {"Time (%)", "Total Time (ns)", "Instances", "Avg (ns)",
                                               "Med (ns)", "Min (ns)",        "Max (ns)",  "StdDev (ns)",
                                               "GridXYZ",  "BlockXYZ",        "Name",      NULL};
static const char *const projected_columns[] = {"Name",
                                                "Projected Start (ns)",
                                                "Projected Duration (ns)",
                                                "Orig Start (ns)",
                                                "Orig Duration (ns)",
                                                "Style",
                                                "PID",
                                                "TID",
                                                "NumGPUOps",
                                                "Lvl",
                                                "NumChild",
                                                NULL};
static const char *const projections_columns[] = {
    "Range",         "Style",         "Total Proj Time (ns)", "Total Range Time (ns)", "Range Instances",
    "Proj Avg (ns)", "Proj Med (ns)", "Proj Min (ns)",        "Proj Max (ns)",         "Proj StdDev (ns)",
    "Total GPU Ops", "Avg GPU Ops",   "Avg Range Lvl",        "Avg Num Child",         NULL};
static const char *const range_kernels_columns[] = {"NVTX Range", "Style",           "PID",         "TID",      "NVTX Inst",
                                                    "Kern Inst",  "Total Time (ns)", "Avg (ns)",    "Med (ns)", "Min (ns)",
                                                    "Max (ns)",   "StdDev (ns)",     "Kernel Name", NULL};
static const char *const ranges_columns[] = {"Start (ns)", "End (ns)", "Duration (ns)", "DurChild (ns)", "DurNonChild (ns)",
                                             "Name",       "PID",      "TID",           "Lvl",           "NumChild",
                                             NULL};

/* The blank before GPU is nsys's. */
static const char *const managed_columns[] = {"Virtual Address",
                                              "HtoD Migration size (MB)",
                                              "DtoH Migration size (MB)",
                                              "CPU Page Faults",
                                              " GPU Page Faults",
                                              "Migration Throughput (MB/s)",
                                              NULL};
static const char *const managed_total_columns[] = {"Total HtoD Migration Size (MB)",
                                                    "Total DtoH Migration Size (MB)",
                                                    "Total CPU Page Faults",
                                                    "Total GPU PageFaults",
                                                    "Minimum Virtual Address",
                                                    "Maximum Virtual Address",
                                                    NULL};
static const char *const faults_columns[] = {"CPU Page Faults", "CPU Instruction Address", NULL};

const hu_sheet_report hu_sheet_reports[] = {
    {"cuda_api_trace", "CUDA API Trace", api_columns, hu_sheet_api_measure, hu_sheet_api_fill, NULL, NULL, NULL, 0},
    {"cuda_gpu_kern_gb_sum", "CUDA GPU Kernel/Grid/Block Summary", geometry_columns, hu_sheet_geometry_measure,
     hu_sheet_geometry_fill, NULL, NULL, NULL, HU_NAMING_KERNELS},
    {"cuda_gpu_trace", "CUDA GPU Trace", gpu_columns, hu_sheet_gpu_measure, hu_sheet_gpu_fill, NULL, NULL, NULL,
     HU_NAMING_KERNELS},
    {"cuda_kern_exec_sum", "CUDA Kernel Launch & Exec Time Summary", launches_columns, hu_sheet_launches_measure,
     hu_sheet_launches_fill, NULL, NULL, NULL, HU_NAMING_KERNELS},
    {"cuda_kern_exec_trace", "CUDA Kernel Launch & Exec Time Trace", launch_columns, hu_sheet_launch_measure,
     hu_sheet_launch_fill, NULL, NULL, NULL, HU_NAMING_KERNELS},
    {"mpi_event_trace", "MPI Event Trace", mpi_columns, hu_sheet_mpi_measure, hu_sheet_mpi_fill, NULL, NULL, NULL, 0},
    {"nvtx_gpu_proj_sum", "NVTX GPU Projection Summary", projections_columns, hu_sheet_projections_measure,
     hu_sheet_projections_fill, NULL, NULL, NULL, 0},
    {"nvtx_gpu_proj_trace", "NVTX GPU Projection Trace", projected_columns, hu_sheet_projected_measure,
     hu_sheet_projected_fill, NULL, NULL, NULL, 0},
    {"nvtx_kern_sum", "NVTX Range Kernel Summary", range_kernels_columns, hu_sheet_range_kernels_measure,
     hu_sheet_range_kernels_fill, NULL, NULL, NULL, HU_NAMING_FORMS},
    {"nvtx_pushpop_trace", "NVTX Push/Pop Range Trace", ranges_columns, hu_sheet_ranges_measure, hu_sheet_ranges_fill, NULL,
     NULL, NULL, 0},
    {"um_cpu_page_faults_sum", "Unified Memory CPU Page Faults Summary", faults_columns, hu_sheet_faults_measure,
     hu_sheet_faults_fill, NULL, NULL, NULL, 0},
    {"um_sum", "Unified Memory Analysis Summary", managed_columns, hu_sheet_managed_measure, hu_sheet_managed_fill, NULL,
     NULL, NULL, HU_NAMING_ROWS},
    {"um_total_sum", "Unified Memory Totals Summary", managed_total_columns, hu_sheet_managed_total_measure,
     hu_sheet_managed_total_fill, NULL, NULL, NULL, 0},
};
const size_t hu_sheet_n_reports = HU_COUNT(hu_sheet_reports);

const hu_sheet_report *hu_sheet_find(const hu_sheet_report *reports, size_t n, hu_str key)
{
    for (size_t i = 0; i < n; i++)
        if (hu_str_equal(key, hu_str_of(reports[i].key)))
            return &reports[i];
    return NULL;
}

bool hu_sheet_measure(const hu_sheet_report *report, hu_trace *const *traces, size_t n, size_t most, hu_naming *naming,
                      hu_arena *arena, hu_sheet *out)
{
    *out = (hu_sheet){.report = report, .traces = traces, .n_traces = n, .most = most, .naming = naming, .arena = arena};
    return report->measure(out);
}

static int by_start(const void *a, const void *b)
{
    const hu_sheet_slice *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->trace != y->trace)
        return x->trace < y->trace ? -1 : 1;
    return x->slice < y->slice ? -1 : x->slice > y->slice;
}

bool hu_sheet_slices(hu_sheet *sheet, unsigned kinds, bool (*takes)(const hu_trace *t, const hu_slices *s, uint32_t slice))
{
    HU_VEC(hu_sheet_slice) found = {0};

    for (uint32_t t = 0; t < sheet->n_traces; t++) {
        const hu_slices s = hu_trace_slices(sheet->traces[t]);

        for (uint32_t i = 0; i < s.n; i++)
            if (hu_kind_in(s.kind[i], kinds) && (!takes || takes(sheet->traces[t], &s, i)) &&
                !hu_vec_push(sheet->arena, &found, ((hu_sheet_slice){s.start_ns[i], t, i})))
                return false;
    }
    if (found.n)
        qsort(found.at, found.n, sizeof *found.at, by_start);
    sheet->rows = found.at;
    sheet->n = found.n;
    return true;
}

hu_cell hu_sheet_pid(const hu_trace *t, const hu_track *track)
{
    return track->pid_is_text ? hu_cell_text(hu_trace_text(t, (uint32_t)track->pid)) : hu_cell_int(track->pid);
}

hu_cell hu_sheet_tid(const hu_trace *t, const hu_track *track)
{
    return track->tid_is_text ? hu_cell_text(hu_trace_text(t, (uint32_t)track->tid)) : hu_cell_int(track->tid);
}

void hu_sheet_memory(hu_str name, hu_str *from, hu_str *to)
{
    const char *open = name.n ? memchr(name.p, '(', name.n) : NULL;
    hu_str      inside = open ? (hu_str){open + 1, (size_t)(name.p + name.n - open) - 1} : HU_STR("");
    const char *arrow = inside.n ? memmem(inside.p, inside.n, " -> ", 4) : NULL;

    if (hu_str_ends(inside, HU_STR(")")))
        inside.n--;
    *from = arrow ? (hu_str){inside.p, (size_t)(arrow - inside.p)} : inside;
    *to = arrow ? (hu_str){arrow + 4, (size_t)(inside.p + inside.n - arrow) - 4} : HU_STR("");
}

void hu_cell_three(hu_cell *cell, int64_t x, int64_t y, int64_t z)
{
    *cell = (hu_cell){.type = x || y || z ? HU_CELL_TEXT : HU_CELL_EMPTY};
    snprintf(cell->own, sizeof cell->own, "%4lld %4lld %4lld", (long long)x, (long long)y, (long long)z);
    cell->text = hu_str_of(cell->own);
}

bool hu_sheet_groups_init(hu_sheet_groups *groups, hu_arena *arena)
{
    return hu_intern_init(&groups->names, arena) && hu_intern_init(&groups->rows, arena);
}

int64_t hu_sheet_name(hu_sheet_groups *groups, hu_str name)
{
    const uint32_t id = hu_intern_add(&groups->names, name);

    return id == UINT32_MAX ? -1 : (int64_t)id;
}

int64_t hu_sheet_row(hu_sheet_groups *groups, const int64_t *key, size_t n)
{
    const uint32_t id = hu_intern_add(&groups->rows, (hu_str){(const char *)key, n * sizeof *key});

    return id == UINT32_MAX ? -1 : (int64_t)id - 1; /* id 0 is the empty text */
}

void hu_sheet_stats(const hu_stats *stats, hu_cell *cells)
{
    if (stats->n == 0) {
        memset(cells, 0, 5 * sizeof *cells);
        return;
    }
    cells[0] = hu_cell_real(stats->mean, 1);
    cells[1] = hu_cell_real(stats->median, 1);
    cells[2] = hu_cell_int(stats->min);
    cells[3] = hu_cell_int(stats->max);
    cells[4] = hu_cell_real(isnan(stats->stddev) ? 0 : stats->stddev, 1);
}
