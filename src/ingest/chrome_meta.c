/* SPDX-License-Identifier: Apache-2.0
 * chrome_meta.c - what the members beside the event array say: devices, ranks, versions, capture settings. */
#include "base/json.h"
#include "base/number.h"
#include "ingest/chrome_reader.h"
#include "ingest/run_facts.h"

enum { KEEP_BYTES = 256 * 1024 }; /* of one value; a longer one holds no setting */

static hu_str keep_text(chrome_reader *r, hu_str value)
{
    const hu_str text = hu_json_text(r->arena, value);

    return text.p ? hu_builder_keep(r->b, text) : HU_STR("");
}

static int64_t int_member(hu_str object, const char *key, int64_t absent)
{
    hu_str  v = hu_json_get(object, hu_str_of(key));
    int64_t number;

    if (v.p && v.n >= 2 && v.p[0] == '"')
        v = (hu_str){v.p + 1, v.n - 2};
    return v.p && hu_parse_i64(v, &number) ? number : absent;
}

static int32_t small_member(hu_str object, const char *key)
{
    const int64_t v = int_member(object, key, 0);

    return v > 0 && v <= INT32_MAX ? (int32_t)v : 0;
}

static void take_devices(chrome_reader *r, hu_str value)
{
    hu_json j = hu_json_enter(value);
    hu_str  device;

    while (hu_json_element(&j, &device)) {
        const hu_str name = hu_json_get(device, HU_STR("name"));
        hu_device    d = {
               .id = int_member(device, "id", -1),
               .memory_bytes = int_member(device, "totalGlobalMem", 0),
               .sm_count = small_member(device, "numSms"),
               .major = small_member(device, "computeMajor"),
               .minor = small_member(device, "computeMinor"),
               .warp_size = small_member(device, "warpSize"),
               .max_threads_per_sm = small_member(device, "maxThreadsPerMultiprocessor"),
        };

        if (d.sm_count == 0)
            d.sm_count = small_member(device, "maxComputeUnits"); /* XPU */
        if (name.p)
            d.name = hu_builder_intern(r->b, keep_text(r, name));
        hu_builder_device(r->b, &d);
    }
}

static void take_distributed(chrome_reader *r, hu_str value)
{
    hu_trace_info *info = hu_builder_info(r->b);
    const hu_str   backend = hu_json_get(value, HU_STR("backend"));

    info->rank = int_member(value, "rank", info->rank);
    info->cpus = info->cpus > 0 ? info->cpus : int_member(value, "num_cpus", 0);
    info->world_size = int_member(value, "world_size", info->world_size);
    if (backend.p)
        info->backend = keep_text(r, backend);
}

static bool is_on(hu_str value)
{
    return hu_str_equal(value, HU_STR("1")) || hu_str_equal(value, HU_STR("true"));
}

void chrome_take_metadata(chrome_reader *r, hu_str key, hu_str value)
{
    hu_trace_info *info = hu_builder_info(r->b);
    int64_t        number;

    if (hu_str_equal(key, HU_STR("deviceProperties"))) {
        r->saw_kineto = true;
        take_devices(r, value);
    } else if (hu_str_equal(key, HU_STR("distributedInfo"))) {
        take_distributed(r, value);
    } else if (hu_str_equal(key, HU_STR("baseTimeNanoseconds"))) {
        if (hu_parse_i64(value, &number))
            info->base_ns = number;
    } else if (hu_str_equal(key, HU_STR("schemaVersion"))) {
        if (hu_parse_i64(value, &number))
            info->schema_version = number;
    } else if (hu_str_equal(key, HU_STR("num_cpus")) || hu_str_equal(key, HU_STR("cpu_count"))) {
        if (info->cpus == 0 && hu_parse_i64(value, &number) && number > 0)
            info->cpus = number;
    } else if (hu_str_equal(key, HU_STR("host_name"))) {
        info->host = keep_text(r, value);
    } else if (hu_str_equal(key, HU_STR("record_shapes"))) {
        r->has_shapes |= is_on(value);
    } else if (hu_str_equal(key, HU_STR("with_stack"))) {
        r->has_stacks |= is_on(value);
    } else if (hu_str_equal(key, HU_STR("profile_memory"))) {
        r->has_memory |= is_on(value);
    } else if (hu_str_equal(key, HU_STR("with_flops"))) {
        r->has_flops |= is_on(value);
    } else if (hu_str_equal(key, HU_STR("with_modules"))) {
        r->has_modules |= is_on(value);
    }
    if (hu_str_starts(key, HU_STR("holdup.")) && value.n && value.p[0] == '"')
        hu_facts_take_text(r->b, key, keep_text(r, value));
    else if (hu_str_starts(key, HU_STR("holdup.")) && hu_parse_i64(value, &number))
        hu_facts_take_number(r->b, key, number);
    if (value.n <= KEEP_BYTES)
        hu_builder_metadata(r->b, key, value);
}

void chrome_finish_metadata(chrome_reader *r)
{
    hu_trace_info *info = hu_builder_info(r->b);

    info->has_shapes = r->has_shapes;
    info->has_stacks = r->has_stacks;
    info->has_memory = r->has_memory;
    info->has_flops = r->has_flops;
    info->has_modules = r->has_modules;
    if (!info->tool.n)
        info->tool = r->saw_kineto || info->schema_version >= 0 ? HU_STR("PyTorch profiler") : HU_STR("");
}
