/* SPDX-License-Identifier: Apache-2.0
 * rocpd_about.c - strings, the node, processes with their ranks, threads, agents and kernels of rocpd's databases. */
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "ingest/rocpd.h"
#include "protocol/rank_id.h"

enum { MOST_VARIABLES = 4096 };

static void read_strings(rocpd_reader *r)
{
    enum { ID, TEXT };
    static const char *const columns[] = {"id", "string", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "string", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        uint32_t *place = hu_map_put(&r->n.strings, (uint64_t)nsight_int(&rows, ID, 0));

        if (place)
            *place = hu_builder_intern(r->rocm.b, nsight_text(&rows, TEXT));
        else
            hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
}

static void read_tool(rocpd_reader *r)
{
    char         table[ROCPD_TABLE], text[96];
    const hu_str version = nsight_find(&r->n, rocpd_table(r, "metadata", table), "tag", "schema_version", "value");

    if (!version.n)
        return;
    snprintf(text, sizeof text, "rocprofv3 (ROCm), rocpd schema %.*s", (int)(version.n < 32 ? version.n : 32), version.p);
    hu_builder_info(r->rocm.b)->tool = hu_builder_keep(r->rocm.b, hu_str_of(text));
}

static void read_node(rocpd_reader *r)
{
    static const char *const columns[] = {"hostname", NULL};
    hu_trace_info           *info = hu_builder_info(r->rocm.b);
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "info_node", table), columns, NULL))
        return;
    while (nsight_next(&rows))
        if (!info->host.n && nsight_text(&rows, 0).n)
            info->host = hu_builder_keep(r->rocm.b, nsight_text(&rows, 0));
}

/* "NAME=VALUE" for each member of {"NAME": "VALUE"}; nothing of it is kept but the rank. */
static void take_rank(rocpd_reader *r, hu_str environment)
{
    hu_arena      *arena = hu_arena_new();
    char         **list = arena ? hu_arena_calloc(arena, MOST_VARIABLES + 1, sizeof *list) : NULL;
    hu_trace_info *info = hu_builder_info(r->rocm.b);
    hu_json        j = hu_json_enter(environment.n ? environment : HU_STR("{}"));
    hu_str         name, value;
    hu_rank_id     id;
    size_t         n = 0;

    while (list && n < MOST_VARIABLES && hu_json_member(&j, &name, &value)) {
        const hu_str text = hu_json_text(arena, value);
        char        *both = text.p ? hu_arena_alloc(arena, name.n + text.n + 2) : NULL;

        if (!both)
            break;
        memcpy(both, name.p, name.n);
        both[name.n] = '=';
        memcpy(both + name.n + 1, text.p, text.n);
        both[name.n + 1 + text.n] = '\0';
        list[n++] = both;
    }
    if (n) {
        hu_rank_id_detect(list, &id);
        info->rank = id.rank >= 0 ? id.rank : info->rank;
        info->world_size = id.rank >= 0 && id.world_size > 0 ? id.world_size : info->world_size;
    }
    hu_arena_free(arena);
}

/* The same number may be of another node's process, whose calls count for themselves. */
static void take_process(rocpd_reader *r, int64_t id, int64_t pid, hu_str command, hu_str environment)
{
    rocpd_process p = {.pid = pid, .is_wanted = rocm_wants(&r->rocm, pid)};

    if (p.is_wanted && r->rocm.part && r->n_wanted == 1)
        rocm_warn(&r->rocm, "several processes have this number, and are counted as one rank");
    p.order = p.is_wanted ? r->n_wanted++ : 0;
    if (!rocpd_put(r, &r->processes, id, r->process.n))
        return;
    if (!hu_vec_push(r->rocm.arena, &r->process, p))
        hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    if (!p.is_wanted)
        return;
    rocm_name_process(&r->rocm, pid, command);
    if (p.order == 0)
        take_rank(r, environment);
}

static void read_processes(rocpd_reader *r)
{
    enum { ID, PID, COMMAND, ENVIRONMENT };
    static const char *const columns[] = {"id", "pid", "command", "environment", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "info_process", table), columns, NULL))
        return;
    while (nsight_next(&rows))
        take_process(r, nsight_int(&rows, ID, 0), nsight_int(&rows, PID, 0), nsight_text(&rows, COMMAND),
                     nsight_text(&rows, ENVIRONMENT));
}

static void read_threads(rocpd_reader *r)
{
    enum { ID, PID, TID, NAME };
    static const char *const columns[] = {"id", "pid", "tid", "name", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "info_thread", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        const int64_t        tid = nsight_int(&rows, TID, 0);
        const hu_str         name = nsight_text(&rows, NAME);
        const rocpd_process *p = rocpd_process_of(r, nsight_int(&rows, PID, 0));

        if (!rocpd_put(r, &r->threads, nsight_int(&rows, ID, 0), r->tid.n))
            return;
        if (!hu_vec_push(r->rocm.arena, &r->tid, tid))
            hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
        if (p && p->is_wanted && name.n)
            hu_builder_name_thread(r->rocm.b, (hu_builder_id){p->pid, false}, (hu_builder_id){tid, false},
                                   hu_builder_intern(r->rocm.b, name));
    }
}

/* A number of the description that rocprofv3 keeps of an agent. */
static int64_t number_in(hu_str json, hu_str key)
{
    const hu_str value = json.n && json.p[0] == '{' ? hu_json_get(json, key) : HU_STR("");
    int64_t      v;

    return value.p && hu_parse_i64(value, &v) ? v : 0;
}

static void read_agents(rocpd_reader *r)
{
    enum { ID, TYPE, ORDER, PRODUCT, NAME, MORE };
    static const char *const columns[] = {"id", "type", "type_index", "product_name", "name", "extdata", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;
    int64_t                  n = 0;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "info_agent", table), columns, "id"))
        return;
    while (nsight_next(&rows)) {
        const bool   is_gpu = hu_str_equal(nsight_text(&rows, TYPE), HU_STR("GPU"));
        const hu_str product = nsight_text(&rows, PRODUCT), more = nsight_text(&rows, MORE);
        const hu_str banks = more.n && more.p[0] == '{' ? hu_json_get(more, HU_STR("mem_banks")) : HU_STR("");

        rocm_add_agent(&r->rocm, &(rocm_agent){.agent = rocpd_agent(r, nsight_int(&rows, ID, -1)),
                                               .number = is_gpu ? nsight_int(&rows, ORDER, n) : -1,
                                               .name = product.n ? product : nsight_text(&rows, NAME),
                                               .memory_bytes = rocm_memory_of(banks),
                                               .units = number_in(more, HU_STR("cu_count")),
                                               .wave = number_in(more, HU_STR("wave_front_size")),
                                               .waves_per_unit = number_in(more, HU_STR("max_waves_per_cu"))});
        n += is_gpu;
    }
}

static void read_symbols(rocpd_reader *r)
{
    enum { ID, SHOWN, NAME, VECTOR, ACCUMULATION };
    static const char *const columns[] = {"id", "display_name", "kernel_name", "arch_vgpr_count", "accum_vgpr_count", NULL};
    char                     table[ROCPD_TABLE];
    nsight_rows              rows;

    if (!nsight_begin(&r->n, &rows, rocpd_table(r, "info_kernel_symbol", table), columns, NULL))
        return;
    while (nsight_next(&rows)) {
        rocpd_symbol s = {.registers = nsight_int(&rows, VECTOR, 0) + nsight_int(&rows, ACCUMULATION, 0)};

        if (s.registers < 0)
            s.registers = 0;
        s.mangled = nsight_text(&rows, NAME).n ? rocm_kernel_name(&r->rocm, nsight_text(&rows, NAME)) : 0;
        s.name = nsight_text(&rows, SHOWN).n ? rocm_kernel_name(&r->rocm, nsight_text(&rows, SHOWN)) : s.mangled;
        s.mangled = s.mangled == s.name ? 0 : s.mangled;
        if (!rocpd_put(r, &r->symbols, nsight_int(&rows, ID, 0), r->symbol.n))
            return;
        if (!hu_vec_push(r->rocm.arena, &r->symbol, s))
            hu_builder_fail(r->rocm.b, HU_ENOMEM, HU_NO_OFFSET, "out of memory");
    }
}

void rocpd_read_about(rocpd_reader *r)
{
    read_strings(r);
    read_tool(r);
    read_node(r);
    read_processes(r);
    read_threads(r);
    read_agents(r);
    read_symbols(r);
}
