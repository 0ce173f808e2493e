/* SPDX-License-Identifier: Apache-2.0
 * strangers.c - recognised by their first bytes, as seen in files by these tools. */
#include "ingest/strangers.h"

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
    {{"\x80\x02", 2}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"\x80\x03", 2}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"\x80\x04\x95", 3}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"\x80\x05\x95", 3}, "a Python pickle, but no memory snapshot or Flight Recorder dump of PyTorch, which holdup reads"},
    {{"PERFILE2", 8}, "a recording of perf; `holdup run -- COMMAND` takes the same samples, with the calls beside them"},
    {{"PK\x03\x04", 4}, "a zip archive; unpack it and pass the traces in it"},
    {{"\xfd"
      "7zXZ",
      5},
     "compressed by xz; unpack it (xz -dk FILE)"},
    {{"BZh", 3}, "compressed by bzip2; unpack it (bzip2 -dk FILE)"},
    {{"\x89HDF", 4}, "an HDF5 file; of Nsight Systems, export it again with --type sqlite"},
    {{"HPCTOOLKIT", 10},
     "a database of HPCToolkit, which hpcviewer shows and holdup does not read; `holdup run -- COMMAND` records the "
     "program"},
    {{"\x03"
      "BOTF2",
      6},
     "a trace of Score-P (OTF2), which holdup does not read; `holdup run -- COMMAND` records MPI and OpenMP"},
    {{"PAR1", 4}, "a Parquet file; of Nsight Systems, export it again with --type sqlite"},
    {{"ARROW1", 6}, "an Arrow file; of Nsight Systems, export it again with --type sqlite"},
    {{"\x7f"
      "ELF",
      4},
     "a program, not a recording; `holdup run -- FILE` runs and records it"},
    {{"<html>\n<head><meta charset=\"utf-8\" /><title>GPU Memory Timeline", 63},
     "a picture of a memory timeline, without its numbers; export it under a name that ends in .raw.json.gz"},
    {{"<!DOCTYPE html", 14}, "a web page; a report of holdup is made from a trace, which has to be passed itself"},
};

const char *hu_stranger_words(hu_str head)
{
    for (size_t i = 0; i < HU_COUNT(strangers); i++)
        if (hu_str_starts(head, strangers[i].begins))
            return strangers[i].words;
    return NULL;
}
