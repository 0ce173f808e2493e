/* SPDX-License-Identifier: Apache-2.0
 * rocprof_set.c - names of rocprofv3's files; those of tables have changed with its versions. */
#include "ingest/rocprof_set.h"

#include <stddef.h>

/* Agents say what their numbers mean, calls which process it is, copies whether streams are known: so they come first. */
const char *const hu_rocprof_tables[] = {
    "agent_info.csv",
    "hip_api_trace.csv",
    "hip_trace.csv",
    "hip_runtime_api_trace.csv",
    "hip_compiler_api_trace.csv",
    "hsa_api_trace.csv",
    "hsa_trace.csv",
    "marker_api_trace.csv",
    "marker_trace.csv",
    "rccl_api_trace.csv",
    "rccl_trace.csv",
    "memory_copy_trace.csv",
    "kernel_trace.csv",
    "counter_collection.csv",
    "memory_allocation_trace.csv",
    NULL,
};

static hu_str cut(hu_str s, size_t n)
{
    return (hu_str){s.p, s.n - n};
}

/* "908_" or "run/out_"; "run/" of a file without a name of its own.  False: it is another word that ends so. */
static bool take_prefix(hu_str path, hu_str end, hu_str *prefix)
{
    if (!hu_str_ends(path, end))
        return false;
    *prefix = cut(path, end.n);
    return prefix->n == 0 || (prefix->p[prefix->n - 1] && memchr("_-./", prefix->p[prefix->n - 1], 4));
}

static hu_str without_packing(hu_str path, hu_str *packed)
{
    static const hu_str packings[] = {{".gz", 3}, {".zst", 4}};

    *packed = HU_STR("");
    for (size_t i = 0; i < HU_COUNT(packings); i++)
        if (hu_str_ends(path, packings[i])) {
            *packed = packings[i];
            return cut(path, packings[i].n);
        }
    return path;
}

bool hu_rocprof_set_table(hu_str path, hu_str *prefix, size_t *table, hu_str *packed)
{
    const hu_str plain = without_packing(path, packed);

    for (*table = 0; hu_rocprof_tables[*table]; ++*table)
        if (take_prefix(plain, hu_str_of(hu_rocprof_tables[*table]), prefix))
            return true;
    return false;
}

hu_rocprof_file hu_rocprof_set_file(hu_str path, hu_str *prefix)
{
    static const struct {
        hu_str          end;
        hu_rocprof_file file;
    } results[] = {{{"results.db", 10}, HU_ROCPROF_DATABASE},
                   {{"results.json", 12}, HU_ROCPROF_JSON},
                   {{"results.pftrace", 15}, HU_ROCPROF_PERFETTO}};
    hu_str       packed;
    size_t       table;
    const hu_str plain = without_packing(path, &packed);

    for (size_t i = 0; i < HU_COUNT(results); i++)
        if (take_prefix(plain, results[i].end, prefix))
            return results[i].file;
    return hu_rocprof_set_table(path, prefix, &table, &packed) ? HU_ROCPROF_TABLE : HU_ROCPROF_NONE;
}
