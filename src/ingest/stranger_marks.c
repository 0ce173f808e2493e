/* SPDX-License-Identifier: Apache-2.0
 * stranger_marks.c - recognised by words inside, where the first bytes say little; last, by the name alone. */
#include "ingest/node_log.h"
#include "ingest/strangers.h"

#define NO_TRACE "and no trace: pass the trace that torch.profiler exported, or record with `holdup run -- COMMAND`"

#define SMI                                                           \
    "text with output of nvidia-smi, samples of whole GPUs " NO_TRACE \
    "; `holdup report FILE` tells what -q, -q -x, dmon, topo -m and --query-gpu say where they begin the file"

enum { MARKED = 16384 }; /* bytes of the beginning in which a mark has to stand */

static const struct {
    hu_str      mark;
    const char *words;
} marks[] = {
    {{"NVIDIA Nsight Systems Stream", 28},
     "raw data of Nsight Systems (.qdstrm), whose report was not made: `QdstrmImporter -i FILE` of the same version "
     "makes it, and "
     "`nsys export --type sqlite` of that an export that holdup reads"},
    {{"brain.Event:", 12},
     "an event file of TensorBoard, which has curves and no trace; pass the *.pt.trace.json that torch.profiler "
     "writes next to it"},
    {{"DCGM_FI_", 8},
     "text that quotes metrics of dcgm-exporter; put their lines alone into a file, which `holdup report FILE` reads"},
    {{"# nThread ", 10},
     "output of nccl-tests: bandwidth of collectives that ran alone. `holdup report TRACE --view comm` has that of "
     "those in a job"},
    {{"# nccl-tests version", 20},
     "output of nccl-tests: bandwidth of collectives that ran alone. `holdup report TRACE --view comm` has that of "
     "those in a job"},
    {{"NCCL INFO", 9}, "a log with lines of NCCL, which has no timeline; `holdup report FILE` tells what it says"},
    {{"elapsed time per iteration", 26},
     "a log with times of steps, which has no timeline; `holdup report FILE` tells what it says"},
    {{"time (ms) | ", 12}, "a log with times of steps, which has no timeline; `holdup report FILE` tells what it says"},
    {{"<nvidia_smi_log>", 16}, SMI},
    {{"==NVSMI LOG==", 13}, SMI},
    {{"| NVIDIA-SMI ", 13}, SMI},
    {{"$ nvidia-smi", 12}, SMI},
    {{"utilization.gpu", 15}, SMI},
    {{"power.draw", 10}, SMI},
    {{"DeepSpeed Flops Profiler", 24}, "text of DeepSpeed's flops profiler: counted operations " NO_TRACE},
    {{"\"KernelName\"", 12},
     "CSV of rocprof without the times of kernels; record with `rocprofv3 --sys-trace -- COMMAND`, and pass *_results.db"},
    {{"\"TotalDurationNs\"", 17},
     "CSV of rocprof with sums, which say nothing of when anything ran; pass *_kernel_trace.csv or *_results.db of the same "
     "run"},
    {{"\"Dispatch_Id\"", 13}, "CSV of rocprofv3 without times; pass *_kernel_trace.csv or *_results.db of the same run"},
    {{"1.1.0-chakra", 12},
     "an execution trace of Chakra (.et), which has no measured times; pass the trace that torch.profiler exported"},
};

const char *hu_stranger_impostor_words(hu_str head)
{
    if (hu_node_log_probe(head))
        return "samples of GPUs as a monitor or nvidia-smi takes them, which go beside traces: "
               "`holdup report TRACE --with FILE`; alone, `holdup report FILE` tells what they say";
    return NULL;
}

const char *hu_stranger_mark_words(hu_str head)
{
    const hu_str part = {head.p, head.n < MARKED ? head.n : MARKED};

    for (size_t i = 0; i < HU_COUNT(marks); i++)
        if (hu_str_has(part, marks[i].mark))
            return marks[i].words;
    return NULL;
}

const char *hu_stranger_name_words(hu_str path)
{
    static const struct {
        hu_str      end;
        const char *words;
    } ends[] = {
        {{".qdrep", 6},
         "named like a report of an old Nsight Systems (.qdrep); `nsys export --type sqlite FILE` makes an export "
         "that holdup reads"},
        {{".nvvp", 5},
         "named like a recording of nvprof, which holdup does not read; record again with Nsight Systems or torch.profiler"},
        {{".nvprof", 7},
         "named like a recording of nvprof, which holdup does not read; record again with Nsight Systems or torch.profiler"},
        {{".otf2", 5},
         "named like a trace of Score-P (OTF2), which holdup does not read; `holdup run -- COMMAND` records MPI and OpenMP"},
        {{".slog2", 6},
         "named like a trace of MPE (SLOG-2), which holdup does not read; `holdup run -- COMMAND` records MPI"},
        {{".prv", 4},
         "named like a trace of Paraver, which holdup does not read; `holdup run -- COMMAND` records MPI and OpenMP"},
        {{".ncu-rep", 8}, "named like a report of Nsight Compute, and is none"},
        {{".nsys-rep", 9}, "named like a report of Nsight Systems, and is none"},
    };

    for (size_t i = 0; i < HU_COUNT(ends); i++)
        if (hu_str_ends(path, ends[i].end))
            return ends[i].words;
    return NULL;
}
