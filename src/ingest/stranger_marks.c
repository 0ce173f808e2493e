/* SPDX-License-Identifier: Apache-2.0
 * stranger_marks.c - recognised by words inside, where the first bytes say little; last, by the name alone. */
#include "ingest/execution_trace.h"
#include "ingest/nccl_inspector.h"
#include "ingest/nccl_tests_json.h"
#include "ingest/node_log.h"
#include "ingest/results.h"
#include "ingest/strangers.h"

#define NO_TRACE "and no trace: pass the trace that torch.profiler exported, or record with `holdup run -- COMMAND`"

#define STRAGGLERS                                                                                           \
    "`holdup stragglers` computes it from the table of operations as CSV: python3 -c \"import pandas as p; " \
    "p.read_parquet('trace.parquet').to_csv('rows.csv', index=False)\""
#define BENCHMARK                                                                                                     \
    "`holdup report FILE` lists them and `holdup diff A B` compares two files; what takes the time only a recording " \
    "tells: `holdup run -- COMMAND`"
#define SMI_TAKES                                                                                               \
    "holdup reads samples of it: `nvidia-smi --query-gpu=timestamp,index,utilization.gpu,clocks.sm,power.draw " \
    "--format=csv -l 1`, or `nvidia-smi dmon -s pucvmet -o DT` (docs/formats/node-log.md)"
#define SMI                                                                                                          \
    "text with output of nvidia-smi, which is read where it begins a file (-q, -q -x, dmon, topo -m, --query-gpu): " \
    "put it alone into one; " SMI_TAKES

/* Files of these kinds that report reads do not come here when it is asked: what is said has to be true of the rest. */
#define NCCL_TESTS "output of nccl-tests, which has no timeline; `holdup report` reads its table, where that has rows"
#define STEP_TIMES                                                                                                         \
    "a log with times of steps, which has no timeline; `holdup report` reads their lines, where they are whole; of other " \
    "lines --pattern tells how they print a step (docs/formats/step-log.md)"

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
    {{"DCGM_FI_", 8}, "text that quotes metrics of dcgm-exporter; put their lines alone into a file, which holdup reads"},
    {{"# nThread ", 10}, NCCL_TESTS},
    {{"# nccl-tests version", 20}, NCCL_TESTS},
    {{"NCCL INFO", 9},
     "a log with lines of NCCL, which has no timeline; `holdup report` tells what they say, where they are whole"},
    {{"elapsed time per iteration", 26}, STEP_TIMES},
    {{"time (ms) | ", 12}, STEP_TIMES},
    {{"<nvidia_smi_log>", 16}, SMI},
    {{"==NVSMI LOG==", 13}, SMI},
    {{"| NVIDIA-SMI ", 13}, "text with the table that nvidia-smi prints, one look at each GPU; " SMI_TAKES},
    {{"$ nvidia-smi", 12}, SMI},
    {{"utilization.gpu", 15}, SMI},
    {{"power.draw", 10}, SMI},
    {{"DeepSpeed Flops Profiler", 24},
     "text of DeepSpeed's flops profiler, which has no timeline; `holdup report` tells its table, where that is whole"},
    {{"\"KernelName\"", 12},
     "CSV of rocprof without the times of kernels; record with `rocprofv3 --sys-trace -- COMMAND`, and pass *_results.db"},
    {{"\"TotalDurationNs\"", 17},
     "CSV of rocprof with sums, which say nothing of when anything ran; pass *_kernel_trace.csv or *_results.db of the same "
     "run"},
    {{"\"Dispatch_Id\"", 13}, "CSV of rocprofv3 without times; pass *_kernel_trace.csv or *_results.db of the same run"},
};

enum { SMALL = 1 << 16 }; /* bytes of a JSON file that is no trace and is here in whole */

/* JSON that a reader of traces would take, and find nothing in.  `first`: its first key; else the word anywhere in it. */
static const struct {
    hu_str      mark;
    bool        is_first;
    const char *words;
} json_marks[] = {
    {{"job_meta", 8}, true, "a result of the published straggler analysis; " STRAGGLERS},
    {{"trem", 4}, true, "a result of the published straggler analysis; " STRAGGLERS},
    {{"\"zero_optimization\"", 19}, false, "a configuration of DeepSpeed " NO_TRACE},
    {{"\"train_micro_batch_size_per_gpu\"", 32}, false, "a configuration of DeepSpeed " NO_TRACE},
    {{"\"train_batch_size\"", 18}, false, "a configuration of DeepSpeed " NO_TRACE},
    {{"\"activation_mem_per_gpu\"", 24}, false, "what DeepSpeed's autotuning measured of a model " NO_TRACE},
    {{"\"machine_info\"", 14}, false, "timings of pytest-benchmark, and no trace; " BENCHMARK},
    {{"\"benchmark_json_version\"", 24}, false, "timings of a benchmark, and no trace; " BENCHMARK},
    {{"\"result_columns\"", 16}, false, "timings of asv (airspeed velocity), and no trace; " BENCHMARK},
    {{"\"library_build_type\"", 20}, false, "timings of Google Benchmark, and no trace; " BENCHMARK},
    {{"\"mhz_per_cpu\"", 13}, false, "timings of Google Benchmark, and no trace; " BENCHMARK},
    {{"\"exit_codes\"", 12}, false, "timings of hyperfine, and no trace; " BENCHMARK},
    {{"\"pytorch_git_version\"", 21}, false, "a result of TorchBench, and no trace; " BENCHMARK},
};

/* '[{"name":"backward-compute",…,"args":{"step":23,"model_chunk":0,"mb_id":0': drawn from a table of operations. */
static bool is_drawn_table(hu_str head)
{
    const hu_str first = {head.p, head.n < 512 ? head.n : 512};

    return hu_str_starts(head, HU_STR("[")) && hu_str_has(first, HU_STR("\"model_chunk\"")) &&
           hu_str_has(first, HU_STR("\"mb_id\""));
}

static hu_str first_key(hu_str head)
{
    const char *quote;

    if (head.n < 3 || head.p[0] != '{')
        return HU_STR("");
    head = (hu_str){head.p + 1, head.n - 1};
    while (head.n && (unsigned char)*head.p <= ' ')
        head = (hu_str){head.p + 1, head.n - 1};
    if (head.n < 2 || *head.p != '"' || !(quote = memchr(head.p + 1, '"', head.n - 1)))
        return HU_STR("");
    return (hu_str){head.p + 1, (size_t)(quote - head.p) - 1};
}

static const char *json_words(hu_str head)
{
    const hu_str key = first_key(head);
    const bool   is_small = key.n && head.n < SMALL && !hu_str_has(head, HU_STR("\"ph\"")) &&
                          !hu_str_has(head, HU_STR("\"traceEvents\""));

    for (size_t i = 0; i < HU_COUNT(json_marks); i++)
        if (is_small &&
            (json_marks[i].is_first ? hu_str_equal(key, json_marks[i].mark) : hu_str_has(head, json_marks[i].mark)))
            return json_marks[i].words;
    return NULL;
}

const char *hu_stranger_impostor_words(hu_str head)
{
    if (hu_execution_trace_probe(head))
        return "an execution trace, which says what ran and not when; `holdup report FILE` lists its operators. The trace "
               "that torch.profiler exported has the times";
    if (hu_inspector_probe(head))
        return "what NCCL's Inspector wrote of each call, without a timeline; `holdup report FILE ...` tells which sizes "
               "take the time and which rank the others wait for";
    if (hu_tests_json_probe(head))
        return "results of nccl-tests (-J), which have no timeline; `holdup report FILE` tells what bandwidth they reach";
    if (is_drawn_table(head))
        return "a timeline that was drawn from a table of operations; `holdup stragglers` reads that table as CSV, and says "
               "which worker or stage slows the job down (docs/stragglers.md)";
    if (json_words(head))
        return json_words(head);
    if (hu_stranger_tool_impostor_words(head))
        return hu_stranger_tool_impostor_words(head);
    if (hu_node_log_probe(head))
        return "samples of GPUs as a monitor or nvidia-smi takes them, which go beside traces: "
               "`holdup report TRACE --with FILE`; alone, `holdup report FILE` tells what they say";
    return NULL;
}

const char *hu_stranger_mark_words(hu_str head)
{
    const hu_str part = {head.p, head.n < MARKED ? head.n : MARKED};

    if (hu_mprof_probe(head))
        return "what memory_profiler sampled, and no trace; `holdup report FILE` tells its peak, and `holdup run -- "
               "COMMAND` records what the process did meanwhile";
    if (hu_results_probe(head))
        return "performance that benchmarks of TorchDynamo measured, and no trace; " BENCHMARK;
    for (size_t i = 0; i < HU_COUNT(marks); i++)
        if (hu_str_has(part, marks[i].mark))
            return marks[i].words;
    return hu_stranger_tool_words(head);
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
