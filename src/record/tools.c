/* SPDX-License-Identifier: Apache-2.0
 * tools.c - by name: of the program's file, or of the process where that is a script. */
#include "record/tools.h"

#include <string.h>

static const char *const tools[] = {
    "nsys",
    "nsys-launcher",
    "ncu",
    "nvprof",
    "perf",
    "strace",
    "ltrace",
    "gdb",
    "cuda-gdb",
    "compute-sanitizer",
    "lldb",
    "valgrind",
    "valgrind.bin",
    "vtune",
    "rr",
    "rocprof",
    "rocprofv2",
    "rocprofv3",
    "uftrace",
    "heaptrack",
    "py-spy",
    "TreeLauncherSubreaper",
    "QdstrmImporter",
    "CudaGpuInfoDumper",
};

static bool is_name_of_tool(hu_str name)
{
    for (size_t i = 0; i < HU_COUNT(tools); i++)
        if (hu_str_equal(name, hu_str_of(tools[i])))
            return true;
    return false;
}

static bool is_tool(const hu_process_image *p)
{
    return is_name_of_tool(hu_str_base_name(p->program)) || is_name_of_tool(p->name);
}

hu_str hu_tools_name(const hu_process_image *p)
{
    const hu_str program = hu_str_base_name(p->program);

    return is_name_of_tool(program) ? program : p->name;
}

/* Ticks from the first image of this process that is no tool's to the end of the last; *last is that. */
static uint64_t life_of(const hu_process_list *l, uint32_t pid, const hu_process_image **last)
{
    uint64_t first = 0, end = 0;

    for (size_t i = 0; i < l->n; i++) {
        const hu_process_image *p = &l->at[i];
        const uint64_t          ended = p->exited > p->end.ticks ? p->exited : p->end.ticks;

        if (p->pid != pid || p->is_tool)
            continue;
        first = first ? first : p->started;
        end = ended ? ended : UINT64_MAX; /* killed, or runs */
        *last = p;
    }
    return end > first ? end - first : 0;
}

/* What the command was before it became a tool: env, a script that ends in exec.  How many these are. */
static size_t mark_wrappers(hu_process_list *l)
{
    size_t n = 0, last = 0;

    for (size_t i = 0; i < l->n; i++)
        last = l->at[i].pid == l->at[0].pid && l->at[i].is_tool ? i : last;
    for (size_t i = 0; i < last; i++) {
        n += l->at[i].pid == l->at[0].pid && !l->at[i].is_tool;
        l->at[i].is_tool = l->at[i].is_tool || l->at[i].pid == l->at[0].pid;
    }
    return n;
}

size_t hu_tools_mark(hu_process_list *l, const hu_process_image **program)
{
    size_t   n = 0;
    uint64_t longest = 0;

    *program = NULL;
    for (size_t i = 0; i < l->n; i++) { /* parents stand before their children */
        hu_process_image *p = &l->at[i];

        p->is_tool = is_tool(p) && (p->pid == l->at[0].pid || (p->parent != UINT32_MAX && l->at[p->parent].is_tool));
        n += p->is_tool;
    }
    n += n ? mark_wrappers(l) : 0;
    for (size_t i = 0; i < l->n && n; i++) { /* a tool runs helpers, too: shells, iconv */
        const hu_process_image *p = &l->at[i], *last = p;

        if (p->is_tool || p->parent == UINT32_MAX || !l->at[p->parent].is_tool || life_of(l, p->pid, &last) <= longest)
            continue;
        longest = life_of(l, p->pid, &last);
        *program = last;
    }
    for (size_t i = 0; i < l->n && !*program; i++)
        l->at[i].is_tool = false;
    return *program ? n : 0;
}

bool hu_tools_are_all_of(const hu_process_list *l, uint32_t pid)
{
    bool is_any = false;

    for (size_t i = 0; i < l->n; i++) {
        if (l->at[i].pid == pid && !l->at[i].is_tool)
            return false;
        is_any = is_any || l->at[i].pid == pid;
    }
    return is_any;
}
