/* SPDX-License-Identifier: Apache-2.0
 * strangers.c - recognised by their first bytes, as seen in files by these tools. */
#include "ingest/strangers.h"

#define TORCH_TRACE "pass the trace that torch.profiler exported"
#define OTF2                                                                                                                \
    "pipit converts it: python3 -c \"import pipit; pipit.Trace.from_otf2('FOLDER').to_chrome('trace.json')\"; `holdup run " \
    "-- COMMAND` records MPI and OpenMP anew"
#define MEMORY_CURVE                                                                                                        \
    "a curve of memory_profiler (mprof run): how much memory a process had, and no trace; `holdup report` tells its peak, " \
    "where it has samples, and `holdup run -- COMMAND` records what the process did meanwhile"
#define WEB_PAGE                                                                                                           \
    "a web page. If a trace was downloaded, the server sent a page to sign in instead: get it again, signed in. A report " \
    "of holdup is made from a trace, which has to be passed itself"

static const struct {
    hu_str      begins;
    const char *words;
} strangers[] = {
    {{"NVIDIA Tegra Profiler Report", 28},
     "a report of Nsight Systems (.nsys-rep); `nsys export --type sqlite FILE` makes an export that holdup reads"},
    {{"NVR\0", 4},
     "a report of Nsight Compute (.ncu-rep): counters of single kernels and no trace; `holdup report FILE` reads it, "
     "alone or beside a trace"},
    {{"==PROF==", 8},
     "output of Nsight Compute: counters of single kernels and no trace; `holdup report FILE` reads it, alone or "
     "beside a trace"},
    {{"\"ID\",\"Process ID\",", 18},
     "CSV of Nsight Compute: counters of single kernels and no trace; `holdup report FILE` reads it, alone or beside "
     "a trace"},
    {{"Generating SQLite file ", 23},
     "output of `nsys stats` without a table of sums; pass the SQLite file that it names in its first line"},
    {{"Processing [", 12},
     "output of `nsys stats` without a table of sums; pass the SQLite file that it names in its first line"},
    {{"\nProcessing [", 13},
     "output of `nsys stats` without a table of sums; pass the SQLite file that it names in its first line"},
    {{"NOTICE: Existing SQLite export found: ", 38},
     "output of `nsys stats` without a table of sums; pass the SQLite file that it names in its first line"},
    {{"Time (%),Total Time (ns),", 25},
     "CSV of `nsys stats`, but not of sums by name with their counts; pass the export: "
     "`nsys export --type sqlite FILE.nsys-rep`"},
    {{"\x80\x02\x8a\nl\xfc\x9c", 7},
     "a checkpoint of PyTorch (torch.save, as before 1.6): weights and no trace; " TORCH_TRACE},
    {{"\x80\x02", 2}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"\x80\x03", 2}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"\x80\x04\x95", 3}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"\x80\x05\x95", 3}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"PK\x03\x04", 4}, "a zip archive; `unzip FILE` unpacks it: pass the traces in it"},
    {{"PK\x05\x06", 4}, "an empty zip archive"},
    {{"Rar!\x1a\x07", 6}, "a RAR archive; `unrar x FILE` unpacks it: pass the traces in it"},
    {{"7z\xbc\xaf\x27\x1c", 6}, "a 7z archive; `7z x FILE` unpacks it: pass the traces in it"},
    {{"trial_name: ", 12}, "a description of a job whose operations `holdup stragglers` reads as CSV (docs/stragglers.md)"},
    {{"CMDLINE ", 8}, MEMORY_CURVE},
    {{"MEM ", 4}, MEMORY_CURVE},
    {{"version https://git-lfs.github.com/spec/", 40},
     "a pointer of git LFS and not the file itself; `git lfs pull` in its repository fetches that"},
    {{"\x93NUMPY", 6}, "an array of NumPy (.npy), and no trace; " TORCH_TRACE},
    {{"GGUF", 4}, "a model of llama.cpp (GGUF), and no trace; " TORCH_TRACE},
    {{"\xfd"
      "7zXZ",
      5},
     "compressed by xz; unpack it (xz -dk FILE)"},
    {{"BZh", 3}, "compressed by bzip2; unpack it (bzip2 -dk FILE)"},
    {{"\x89HDF", 4}, "an HDF5 file; of Nsight Systems, export it again with --type sqlite"},
    {{"HPCTOOLKIT", 10},
     "a database of HPCToolkit, which hpcviewer shows and holdup does not read; pipit converts it: python3 -c \"import "
     "pipit; pipit.Trace.from_hpctoolkit('FOLDER').to_chrome('trace.json')\"; `holdup run -- COMMAND` records the program "
     "anew"},
    {{"\x03"
      "BOTF2",
      6},
     "a trace of Score-P (OTF2), which holdup does not read; " OTF2},
    {{"\x03"
      "B\x01\0\0\0\0\0",
      8},
     "part of a trace of Score-P (OTF2), which holdup does not read; " OTF2},
    {{"\x03"
      "B\0\x01\0\0\0\0",
      8},
     "part of a trace of Score-P (OTF2), which holdup does not read; " OTF2},
    {{"SCOREP_", 7}, "a configuration of Score-P, whose trace (OTF2) lies beside it, which holdup does not read; " OTF2},
    {{"PAR1", 4},
     "a Parquet file. A table of operations (dp_rank, stage, step, optype, …) goes to `holdup stragglers` as CSV: python3 "
     "-c \"import pandas as p; p.read_parquet('FILE').to_csv('rows.csv', index=False)\". Of Nsight Systems, export it again "
     "with --type sqlite"},
    {{"ARROW1", 6}, "an Arrow file; of Nsight Systems, export it again with --type sqlite"},
    {{"\x7f"
      "ELF",
      4},
     "a program, not a recording; `holdup run -- FILE` runs and records it"},
    {{"<html>\n<head><meta charset=\"utf-8\" /><title>GPU Memory Timeline", 63},
     "a picture of a memory timeline, without its numbers; export it under a name that ends in .raw.json.gz"},
};

/* Of a profiler, by what its writer puts near the beginning; else whose it is nobody knows. */
static const char *page_words(hu_str head)
{
    static const hu_str begins[] = {{"<!doctype html", 14}, {"<html", 5}};
    static const struct {
        hu_str      mark;
        const char *words;
    } writers[] = {
        {{"pyinstrumentHTMLRenderer", 24},
         "a page of pyinstrument, for a browser; `pyinstrument -r speedscope -o NEW.json PROGRAM` writes what holdup reads"},
        {{"<title>memray", 13},
         "a page of memray: who allocated host memory, and no trace; `holdup run -- COMMAND` records what threads and "
         "the GPU do"},
        {{"catapult-project/catapult", 25},
         "a page of a trace viewer, which has the trace inside; pass the trace itself: VizTracer writes it by `viztracer -o "
         "NEW.json PROGRAM`"},
    };
    bool is_page = false;

    while (head.n && memchr(" \t\r\n", head.p[0], 4))
        head = (hu_str){head.p + 1, head.n - 1};
    for (size_t i = 0; i < HU_COUNT(begins); i++)
        is_page |= hu_str_starts_lower(head, begins[i]);
    head.n = head.n < 4096 ? head.n : 4096;
    for (size_t i = 0; is_page && i < HU_COUNT(writers); i++)
        if (hu_str_has(head, writers[i].mark))
            return writers[i].words;
    return is_page ? WEB_PAGE : NULL;
}

/* "ustar" stands where the first name of the archive ends. */
static bool is_tar(hu_str head)
{
    return head.n > 262 && memcmp(head.p + 257, "ustar", 5) == 0;
}

/* The first members of what torch.save and torch.jit.save write. */
static bool is_checkpoint(hu_str head)
{
    const hu_str names = {head.p, head.n < 4096 ? head.n : 4096};

    return hu_str_starts(head, HU_STR("PK\x03\x04")) &&
           (hu_str_has(names, HU_STR("/data.pkl")) || hu_str_has(names, HU_STR("/constants.pkl")));
}

/* Its length in 8 bytes, then an object of JSON that describes tensors. */
static bool is_safetensors(hu_str head)
{
    return head.n > 16 && head.p[8] == '{' && head.p[9] == '"' && !head.p[6] && !head.p[7] &&
           hu_str_has((hu_str){head.p, head.n < 4096 ? head.n : 4096}, HU_STR("\"dtype\""));
}

/* A message whose first fields are its version and who made it. */
static bool is_onnx(hu_str head)
{
    const hu_str about = {head.p, head.n < 64 ? head.n : 64};

    return head.n > 16 && head.p[0] == 8 && head.p[2] == 0x12 &&
           (hu_str_has(about, HU_STR("pytorch")) || hu_str_has(about, HU_STR("onnx")) ||
            hu_str_has(about, HU_STR("tf2onnx")) || hu_str_has(about, HU_STR("skl2onnx")));
}

const char *hu_stranger_words(hu_str head)
{
    if (is_tar(head))
        return "a tar archive; `tar xf FILE` unpacks it: pass the traces in it";
    if (is_checkpoint(head))
        return "a checkpoint of PyTorch (torch.save): weights and no trace; " TORCH_TRACE;
    if (is_safetensors(head))
        return "weights in safetensors, and no trace; " TORCH_TRACE;
    if (is_onnx(head))
        return "a model in ONNX, and no trace; " TORCH_TRACE;
    for (size_t i = 0; i < HU_COUNT(strangers); i++)
        if (hu_str_starts(head, strangers[i].begins))
            return strangers[i].words;
    return page_words(head);
}
