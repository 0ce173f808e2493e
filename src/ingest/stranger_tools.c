/* SPDX-License-Identifier: Apache-2.0
 * stranger_tools.c - files of other profilers and of tools that watch a machine, by what they begin with or say inside.
 *
 * All that is named here is refused.  The words say what it is, what it lacks, and the command whose file is read.
 */
#include "ingest/strangers.h"

#include "ingest/profile.h"

enum { MARKED = 4096 };

#define RECORD        "`holdup run -- COMMAND` records what threads and the GPU do, and what they wait for"
#define PYTHON_RECORD RECORD ", and torch.profiler with with_stack=True Python's functions"
#define SAMPLES       "samples of a whole machine, which say nothing of what a job waits for; " RECORD
#define HARDWARE      "a measurement of the hardware alone, and no trace of a job; " RECORD
#define NSYS          "record it with Nsight Systems: `nsys profile -o out COMMAND`, then pass out.nsys-rep"
#define NVPROF        "which holdup does not read; " NSYS

#define VALGRIND \
    "a result of Valgrind: instructions or memory that it counted in a program that it slows down, and no times; " RECORD
#define GOROUTINES "text of Go's runtime; holdup reads the same profile as pprof writes it (?debug=0, WriteTo(f, 0))"
#define PPROF_TEXT "what `go tool pprof` printed; pass the profile that it read, whose functions holdup tells"
#define SLURM      "what Slurm tells of a job: what it used in all, and not what it waited for; " RECORD
#define MPI_SUMS   "sums of a job's MPI calls or functions, and not which rank waited for which; " RECORD ", MPI among it"
#define JFR        "a recording of Java's Flight Recorder, which holdup does not read: functions of Java by samples; " RECORD
#define SPANS      "spans of requests (OpenTelemetry, Jaeger): times between services, and not of threads or GPUs; " RECORD
#define LTRACE     "the output of ltrace: calls of libraries, and nothing of what they are for; " RECORD
#define HEAP       "a recording of heaptrack: who allocated host memory, no trace; `heaptrack_print FILE` shows it; " RECORD
#define BPFTRACE                                                                                                         \
    "the output of bpftrace: sums of a whole machine; of stacks, stackcollapse-bpftrace.pl makes collapsed ones, whose " \
    "functions holdup tells; " RECORD
#define SYSSTAT   "the output of sysstat (sar, sadf, iostat, mpstat or pidstat), " SAMPLES
#define HYPERFINE "a result of hyperfine; holdup reads what --export-json writes"

#define THREADS "where the threads of a process were at one moment, and not for how long: look several times, or " RECORD

#define CPROFILE \
    "a profile of cProfile: functions by time, and not when they ran; `python -m pstats FILE` shows it; " PYTHON_RECORD

/* Begins with it. */
static const struct {
    hu_str      begins;
    const char *words;
} begins[] = {
    {{"memray\0", 7},
     "a recording of memray: who allocated host memory, and no trace; `memray flamegraph FILE` shows it; " RECORD},
    {{"MOJ", 3},
     "a recording of austin in its binary form: samples of where Python was, not of what it waited for; " PYTHON_RECORD},
    {{"# austin: ", 10}, "a recording of austin: samples of where Python was, not of what it waited for; " PYTHON_RECORD},
    {{"# mode: ", 8}, "a recording of austin: samples of where Python was, not of what it waited for; " PYTHON_RECORD},
    {{"\"Type\",\"Time(%)\",\"Time\",\"Calls\"", 31}, "CSV of nvprof, " NVPROF},
    {{"\"Start\",\"Duration\",\"Grid X\"", 27}, "CSV of nvprof, " NVPROF},
    {{"procs -----------memory", 23}, "the output of vmstat, " SAMPLES},
    {{"top - ", 6}, "the output of top, " SAMPLES},
    {{"# darshan log version", 21}, "a text of Darshan: sums of a job's reads and writes, and no trace; " RECORD},
    {{"# OSU MPI", 9}, "a result of the OSU micro-benchmarks, " HARDWARE},
    {{"nvbandwidth Version", 19}, "a result of nvbandwidth, " HARDWARE},
    {{"dev,name,batch_size,accuracy", 28},
     "a table of which models PyTorch's benchmarks computed right, without times; of `--performance` the times are read"},
    {{"Start (ns),Duration (ns),CorrId", 31},
     "a table of `nsys stats` (cuda_gpu_trace); pass the export it was made of, which has calls and ranges, too: `nsys "
     "export --type sqlite FILE.nsys-rep`"},
    {{"<system version=", 16}, "a topology that NCCL wrote, and no trace of a job; " RECORD},
    {{"Flat profile:", 13}, "a profile of gprof: functions by time, and not when they ran; " RECORD},
    {{"# callgrind format", 18}, VALGRIND},
    {{"desc: I1 cache:", 15}, VALGRIND},
    {{"desc: --massif-out-file", 23}, VALGRIND},
    {{"desc: (none)\ncmd: ", 18}, VALGRIND},
    {{"gmon\x01", 5},
     "a profile of gprof, which `gprof PROGRAM FILE` prints: functions by time, and not when they ran; " RECORD},
    {{"go 1.", 5}, "an execution trace of Go, which holdup does not read; `go tool trace FILE` shows it; " RECORD},
    {{"goos: ", 6},
     "a result of Go's benchmarks; of what takes the time, `go test -cpuprofile FILE` writes what holdup reads"},
    {{"FLR\0\0", 5}, JFR},
    {{"heap profile: ", 14}, GOROUTINES},
    {{"--- contention:", 15}, GOROUTINES},
    {{"--- mutex:", 10}, GOROUTINES},
    {{"goroutine profile: total ", 25}, GOROUTINES},
    {{"goroutine ", 10}, "a dump of goroutines: where each was at one moment, and not for how long; " RECORD},
    {{"JobID ", 6}, SLURM},
    {{"JobID|", 6}, SLURM},
    {{"             JOBID PARTITION", 28}, SLURM},
    {{"@ mpiP", 6}, "a report of mpiP: " MPI_SUMS},
    {{"##IPM", 5}, "a report of IPM: " MPI_SUMS},
    {{"Reading Profile files in profile.", 33}, "a profile of TAU: " MPI_SUMS},
    {{"Estimated aggregate size of event trace", 39}, "a table of scorep-score: " MPI_SUMS},
    {{"Attaching 1 probe", 17}, BPFTRACE},
    {{"@[\n", 3}, BPFTRACE},
    {{"--procs-- ----", 14}, "the output of vmstat, " SAMPLES},
    {{"               total        used        free", 44}, "the output of free, " SAMPLES},
    {{"# hostname;interval;timestamp;", 30}, SYSSTAT},
    {{"\x96\xd5", 2}, "a file of sar (sa1, sadc), which holdup does not read: " SAMPLES},
    {{"command,mean,stddev,median,", 27}, HYPERFINE},
    {{"| Command | Mean [", 18}, HYPERFINE},
    {{"Benchmark 1: ", 13}, HYPERFINE},
    {{"# Running '", 11}, "a result of `perf bench`, " HARDWARE},
    {{"Timer unit: 1e-", 15}, "a table of line_profiler: lines by time, and not when they ran; " PYTHON_RECORD},
    {{"allocator,num_allocations,size,", 31}, "a table of memray: who allocated host memory, and no trace; " RECORD},
    {{"real\t0m", 7}, "the output of time: how long a command took in all; " RECORD},
    {{"Wall time,Step,Value\n", 21},
     "a curve that TensorBoard exported, and no trace; pass the *.pt.trace.json that torch.profiler writes"},
};

/* Says it near its beginning. */
static const struct {
    hu_str      mark;
    const char *words;
} marks[] = {
    {{"== NVPROF is profiling", 22}, "the output of nvprof, " NVPROF},
    {{"\tCommand being timed: \"", 23}, "the output of time -v: what a command used in all; " RECORD},
    {{"CPU Time:Effective Time", 23}, "a table of Intel VTune: functions by time, and not when they ran; " RECORD},
    {{" function calls", 15}, "a table of cProfile: functions by time, and not when they ran; " PYTHON_RECORD},
    {{"Performance counter stats for", 29},
     "a table of `perf stat`, counts of the whole run; `perf record -g -e cpu-clock` takes samples that "
     "holdup reads"},
    {{"# Overhead  Command", 19},
     "a table of `perf report`; pass the perf.data that it was made of, or the text of `perf script`"},
    {{"Self CPU %", 10},
     "a table that torch.profiler printed (key_averages().table()); pass the trace: "
     "prof.export_chrome_trace(\"trace.json\")"},
    {{" probes...\n", 11}, BPFTRACE},
    {{"CPU Efficiency: ", 16}, SLURM},
    {{"(most recent call first):", 25}, "a traceback of faulthandler: " THREADS},
    {{"Full thread dump ", 17}, "a dump of a Java machine (jstack): " THREADS},
    {{" (defaults: timer=", 18}, "what pytest-benchmark printed; holdup reads what --benchmark-json=NEW.json writes"},
    {{"== Using Valgrind-", 18}, "what Valgrind printed: faults of a program, and no times; " RECORD},
    {{"Profile data file 'callgrind", 28}, VALGRIND},
    {{"ms_print arguments:", 19}, VALGRIND},
    {{"usecs/call     calls      function", 34}, LTRACE},
    {{"SYS_brk(0", 9}, LTRACE},
    {{"__libc_start_main(", 18}, LTRACE},
    {{"setlocale(LC_ALL, \"\")  ", 23}, LTRACE},
    {{"MOST CALLS TO ALLOCATION FUNCTIONS", 34}, HEAP},
    {{"templated_functions", 19}, "a profile of TAU: " MPI_SUMS},
    {{"Showing nodes accounting for ", 29}, PPROF_TEXT},
    {{"PeriodType: ", 12}, PPROF_TEXT},
    {{"# To display the perf.data header info", 38},
     "a table of `perf report`; pass the perf.data that it was made of, or the text of `perf script`"},
    {{"jdk.ExecutionSample", 19}, JFR},
    {{"<sysstat", 8}, SYSSTAT},
    {{",task-clock,", 12},
     "a table of `perf stat`, counts of the whole run; `perf record -g -e cpu-clock` takes samples that holdup reads"},
    {{"AT_FDCWD", 8}, "the output of strace: system calls, and nothing of what they are for; " RECORD},
    {{"_/_   Recorded: ", 16}, "what pyinstrument printed; `pyinstrument -r speedscope -o FILE` writes what holdup reads"},
    {{"<torch.utils.benchmark.", 23}, "what a timer of torch.utils.benchmark printed, without a timeline; " RECORD},
    {{"# HELP python_info", 18}, "a scrape of an exporter that says nothing of GPUs; dcgm-exporter and `holdup monitor` do"},
    {{"_total counter\n", 15}, "a scrape of an exporter that says nothing of GPUs; dcgm-exporter and `holdup monitor` do"},
    {{"% time     seconds  usecs/call", 30}, "a table of strace -c: sums of system calls; " RECORD},
    {{"execve(\"", 8}, "the output of strace: system calls, and nothing of what they are for; " RECORD},
    {{"futex(0x", 8}, "the output of strace: system calls, and nothing of what they are for; " RECORD},
    {{"GFX_CLK", 7},
     "a table of amd-smi monitor; samples that holdup reads: `amd-smi metric --json`, or `--csv`, with -w 1"},
    {{"GFX_UTIL", 8},
     "a table of amd-smi monitor; samples that holdup reads: `amd-smi metric --json`, or `--csv`, with -w 1"},
    {{"avg-cpu:  %user", 15}, "the output of iostat, " SAMPLES},
    {{"     CPU     %user", 18}, "the output of sar or mpstat, " SAMPLES},
    {{"PyTorch CUDA memory summary", 27},
     "a summary of PyTorch's memory; who holds it, a snapshot says: torch.cuda.memory._record_memory_history(), "
     "_dump_snapshot(\"snap.pickle\")"},
    {{"used_gpu_memory", 15},
     "a list of processes on GPUs (nvidia-smi --query-compute-apps); samples that holdup reads: `nvidia-smi pmon -s um`"},
    {{"(UUID: GPU-", 11},
     "the output of nvidia-smi that names GPUs or links, without samples; `nvidia-smi dmon -s pucvmet` takes them"},
    {{"GR3D_FREQ", 9}, "the output of tegrastats, " SAMPLES},
    {{"GPU Utilization (%), GPU Power (W)", 34},
     "samples of xpu-smi; of Intel's GPUs, too, `holdup monitor --jsonl FILE` takes samples that holdup reads"},
    {{"# TYPE node_", 12}, "a scrape of an exporter that says nothing of GPUs; dcgm-exporter and `holdup monitor` do"},
    {{"Histogram of allocation size", 28}, "a summary of memray, and no trace; " RECORD},
    {{"Serving Benchmark Result", 24},
     "the result of a serving benchmark, without a timeline; " RECORD ", and torch.profiler what the server does"},
    {{"[I] === Performance summary", 27}, "the output of trtexec, without a timeline; " NSYS},
    {{"Generated:\n    ", 15}, "what Nsight Systems printed; pass the report that it names"},
};

/* The first bytes of an object, or list, of JSON say these. */
static const struct {
    hu_str      mark, also; /* also: "" nothing */
    const char *words;
} json_marks[] = {
    {{"\"thread_name\"", 13}, {"\"owns_gil\"", 10}, "a dump of py-spy: " THREADS},
    {{"\"dhatFileVersion\"", 17}, {"", 0}, VALGRIND},
    {{"\"resourceSpans\"", 15}, {"", 0}, SPANS},
    {{"\"operationName\"", 15}, {"\"traceID\"", 9}, SPANS},
    {{"\"trace_id\"", 10}, {"\"parent_id\"", 11}, SPANS},
    {{"\"jdk.", 5}, {"\"recording\"", 11}, JFR},
    {{"\"sysstat\"", 9}, {"\"hosts\"", 7}, SYSSTAT},
    {{"\"counter-value\"", 15},
     {"", 0},
     "a table of `perf stat`, counts of the whole run; `perf record -g -e cpu-clock` takes samples that holdup reads"},
    {{"\"column_metadata\"", 17}, {"\"columns\"", 9}, "a profile of Caliper: " MPI_SUMS},
    {{"\"total_bytes_allocated\"", 23}, {"", 0}, "a summary of memray, and no trace; " RECORD},
    {{"speedscope.app/file-format-schema.json", 38},
     {"", 0},
     "a profile for speedscope (py-spy, pyinstrument, memray and others), which has no timeline of a job; `holdup report "
     "FILE` tells its functions"},
    {{"\"alloc_samples\"", 15},
     {"\"args\"", 6},
     "a profile of Scalene: lines by time and memory, and not when they ran; " PYTHON_RECORD},
    {{"\"sample_count\"", 14},
     {"\"start_time\"", 12},
     "a profile of pyinstrument: functions by time, and not what a thread waited for; " PYTHON_RECORD},
    {{"\"callFrame\"", 11},
     {"\"hitCount\"", 10},
     "a CPU profile of V8 (Node, Chrome): functions of JavaScript by samples; " RECORD},
    {{"\"stackwalk\"", 11},
     {"\"product\"", 9},
     "a profile for Firefox's profiler (samply and others write it, too): functions by samples; " RECORD},
    {{"\"mean_ttft_ms\"", 14},
     {"", 0},
     "the result of a serving benchmark, without a timeline; " RECORD ", and torch.profiler what the server does"},
    {{"\"query_time\"", 12},
     {"\"utilization.gpu\"", 17},
     "one look of gpustat; samples that holdup reads: `nvidia-smi "
     "--query-gpu=timestamp,index,utilization.gpu,clocks.sm,power.draw --format=csv -l 1`"},
    {{"\"resultType\"", 12},
     {"\"status\"", 8},
     "an answer of Prometheus, but not to query_range or query of series of GPUs (holdup_gpu_*, DCGM_FI_*); "
     "docs/formats/node-log.md has the query"},
    {{"\"gpu_util\"", 10},
     {"\"device_name\"", 13},
     "one look of nvtop; `holdup monitor --jsonl FILE` takes samples that holdup reads"},
    {{"\"engines\"", 9},
     {"\"busy\"", 6},
     "samples of intel_gpu_top; `holdup monitor --jsonl FILE` takes samples that holdup reads"},
    {{"\"log_history\"", 13},
     {"", 0},
     "the state of a Hugging Face trainer: losses by step, and no times of steps; " RECORD},
    {{"\"averageMs\"", 11}, {"\"percentage\"", 12}, "a table of layers of trtexec, without a timeline; " NSYS},
};

static hu_str part_of(hu_str head, size_t most)
{
    return (hu_str){head.p, head.n < most ? head.n : most};
}

/* A dictionary of tuples (file, line, function), as marshal writes it; the highest bit says that others refer to it. */
static bool is_marshal(hu_str head)
{
    return head.n > 8 && (head.p[0] & 0x7f) == '{' && (head.p[1] & 0x7f) == ')' && head.p[2] == 3 &&
           memchr("zZaAust", head.p[3] & 0x7f, 7);
}

/* LZ4's frame, whose first block names its writer. */
static bool is_memray(hu_str head)
{
    return hu_str_starts(head, HU_STR("\x04\x22\x4d\x18")) && hu_str_has(part_of(head, 64), HU_STR("memray"));
}

/* "Linux 6.1.0-13-amd64 (node1) \t01/02/26 \t_x86_64_\t(64 CPU)" */
static bool is_sysstat(hu_str head)
{
    return hu_str_starts(head, HU_STR("Linux ")) && hu_str_has(part_of(head, 200), HU_STR(" CPU)"));
}

/* A header of words of 8 bytes: 0, 3, 0, the period in us, 0. */
static bool is_gperftools(hu_str head)
{
    static const char start[] = "\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

    return head.n >= 40 && memcmp(head.p, start, 24) == 0 && memcmp(head.p + 32, start, 8) == 0;
}

const char *hu_stranger_database_words(bool is_nvprof, bool is_rpd)
{
    return is_nvprof ? "a recording of nvprof (.nvvp), " NVPROF
           : is_rpd  ? "a database of rocmProfileData (.rpd), which holdup does not read; its rpd2tracing.py makes a Chrome "
                       "trace of it"
                     : "an SQLite database, but no export of Nsight Systems (it has no table StringIds)";
}

/* A database whose tables are all named in its first page: a leaf that holds any. */
static const char *database_words(hu_str head)
{
    static const hu_str magic = {"SQLite format 3", 16};
    const hu_str        page = part_of(head, head.n > 18 ? (size_t)(uint8_t)head.p[16] << 8 | (uint8_t)head.p[17] : 0);

    if (!hu_str_starts(head, magic) || page.n < 512 || page.p[100] != 0x0d || (page.p[103] == 0 && page.p[104] == 0) ||
        hu_str_has(page, HU_STR("StringIds")) || hu_str_has(page, HU_STR("rocpd_info_process")) ||
        hu_str_has(page, HU_STR("rocpd_kernel_dispatch")))
        return NULL;
    return hu_stranger_database_words(hu_str_has(page, HU_STR("StringTable")) && hu_str_has(page, HU_STR("CUPTI_ACTIVITY")),
                                      hu_str_has(page, HU_STR("rocpd_op")));
}

const char *hu_stranger_tool_words(hu_str head)
{
    const hu_str part = part_of(head, MARKED);
    hu_str       text = head;

    while (text.n && (*text.p == '\n' || *text.p == '\r'))
        text = (hu_str){text.p + 1, text.n - 1};
    for (size_t i = 0; i < HU_COUNT(begins); i++)
        if (hu_str_starts(text, begins[i].begins))
            return begins[i].words;
    if (is_marshal(head))
        return CPROFILE;
    if (hu_str_has(head, HU_STR("FIT Profiler Report"))) /* a log may stand before it */
        return "a table of Lightning's simple profiler: sums, and not when anything ran; " RECORD;
    if (hu_str_starts(head, HU_STR("Process ")) && hu_str_has(part, HU_STR("\nPython v")))
        return "a dump of py-spy: " THREADS;
    if (is_sysstat(head))
        return SYSSTAT;
    if (hu_str_starts(head, HU_STR("File: ")) && hu_str_has(part, HU_STR("\nType: ")) &&
        hu_str_has(part, HU_STR("\n-----------+-----")))
        return PPROF_TEXT; /* -traces */
    if (hu_stranger_line_words(head))
        return hu_stranger_line_words(head);
    if (hu_str_starts(head, HU_STR("v ")) && hu_str_has(part_of(head, 128), HU_STR("\nX ")))
        return HEAP;
    if (is_memray(head))
        return "a recording of memray: who allocated host memory, and no trace; `memray flamegraph FILE` "
               "shows it; " RECORD;
    if (hu_str_starts(head, HU_STR("\x04\x22\x4d\x18")))
        return "compressed by LZ4; unpack it (lz4 -dk FILE)";
    if (is_gperftools(head))
        return "a CPU profile of gperftools: functions by samples, without times; " RECORD;
    if (hu_profile_is_folded(head))
        return "a list of collapsed stacks (of stackcollapse-perf.pl, py-spy --format raw and others), which has no "
               "timeline; `holdup report FILE` tells its functions; of perf, what they were made of has times: perf.data, "
               "or the text of `perf script`";
    if (hu_str_starts(head, HU_STR("<?xml")) && hu_str_has(part, HU_STR("<svg")))
        return "a picture (SVG), maybe a flame graph, without its numbers; pass what it was drawn from";
    for (size_t i = 0; i < HU_COUNT(marks); i++)
        if (hu_str_has(part, marks[i].mark))
            return marks[i].words;
    return NULL;
}

const char *hu_stranger_tool_impostor_words(hu_str head)
{
    const hu_str part = part_of(head, MARKED);

    if (is_marshal(head))
        return CPROFILE;
    if (database_words(head))
        return database_words(head);
    if (hu_profile_is_pprof(head))
        return "a profile of pprof, which has no timeline; `holdup report FILE` tells its functions";
    if (head.n == 0 || !memchr("{[", head.p[0], 2) || hu_str_has(head, HU_STR("\"traceEvents\"")) ||
        hu_str_has(part, HU_STR("\"ph\"")))
        return NULL; /* names of events may have any words */
    if (head.p[0] == '[' && hu_str_has(part_of(head, 256), HU_STR("[I] === Performance summary")))
        return "the output of trtexec, without a timeline; " NSYS;
    if (head.p[0] == '[' && hu_str_has(part_of(head, 64), HU_STR("s][info][gc")))
        return "a log of Java's garbage collector: its pauses, and nothing of what threads waited for; " RECORD;
    for (size_t i = 0; i < HU_COUNT(json_marks); i++)
        if (hu_str_has(part, json_marks[i].mark) && hu_str_has(part, json_marks[i].also))
            return json_marks[i].words;
    return NULL;
}
