/* SPDX-License-Identifier: Apache-2.0
 * code_owner.c - libraries, runtimes and interpreters by the names that they have everywhere. */
#include "analyze/code_owner.h"

#include "analyze/hot.h"

bool hu_code_is_system(hu_str module)
{
    static const char *const names[] = {"libc.so",    "libc-",    "libm.so",   "libm-",     "libstdc++",   "libgcc_s",
                                        "libpthread", "ld-linux", "ld-musl",   "[kernel]",  "[vdso]",      "[unknown]",
                                        "libc++.so",  "librt.so", "libjvm.so", "libholdup", "libtcmalloc", "libjemalloc"};

    for (size_t i = 0; i < HU_COUNT(names); i++)
        if (hu_str_starts(module, hu_str_of(names[i])))
            return true;
    return false;
}

bool hu_code_is_openmp(hu_str module)
{
    return hu_str_starts(module, HU_STR("libgomp")) || hu_str_starts(module, HU_STR("libiomp")) ||
           hu_str_starts(module, HU_STR("libomp"));
}

static bool is_go_runtime(hu_str name)
{
    return hu_str_starts(name, HU_STR("runtime.")) || hu_str_starts(name, HU_STR("internal/")) ||
           hu_str_starts(name, HU_STR("gcWriteBarrier"));
}

/* Functions of a language's own library, which are compiled into the program. */
static bool is_library_name(hu_str name)
{
    static const char *const starts[] = {"std::",  "core::",     "alloc::",     "<alloc::",     "<core::",
                                         "<std::", "void std::", "__gnu_cxx::", "operator new", "operator delete"};

    for (size_t i = 0; i < HU_COUNT(starts); i++)
        if (hu_str_starts(name, hu_str_of(starts[i])))
            return true;
    return is_go_runtime(name);
}

static bool is_python_module(hu_str module)
{
    return hu_str_starts(module, HU_STR("python3")) || hu_str_starts(module, HU_STR("libpython3"));
}

bool hu_code_is_jit(hu_str module)
{
    return hu_str_equal(module, HU_STR("anon")) || hu_str_starts(module, HU_STR("//anon")) ||
           hu_str_starts(module, HU_STR("[anon"));
}

hu_code_kind hu_code_kind_of(hu_str name, hu_str module)
{
    const bool has_name = name.n && hu_hot_has_symbol(name);

    if (hu_code_is_jit(module))
        return has_name ? HU_CODE_NATIVE : HU_CODE_JIT;
    if (is_python_module(module) && !hu_str_starts(name, HU_STR("py::")))
        return HU_CODE_PYTHON;
    return HU_CODE_NATIVE;
}

/* Is it a function by itself, or the interpreter or compiled code as one thing? */
static bool can_be_told(hu_str name, hu_str module)
{
    return hu_hot_has_symbol(name) || hu_code_kind_of(name, module) != HU_CODE_NATIVE;
}

uint32_t hu_code_owner(const hu_trace *trace, uint32_t number)
{
    uint32_t library = 0;

    for (uint32_t at = number; at;) {
        const hu_cpu_stack *s = hu_trace_cpu_stack(trace, at);
        const hu_str        name = hu_trace_text(trace, s->function), module = hu_trace_text(trace, s->module);

        if (hu_code_is_openmp(module))
            return 0;
        if (can_be_told(name, module)) {
            if (!hu_code_is_system(module) && !is_library_name(name))
                return at;
            if (!library && !hu_str_starts(module, HU_STR("[")))
                library = at;
        }
        at = s->caller;
    }
    return library;
}

uint64_t hu_code_key(const hu_trace *trace, uint32_t number)
{
    const hu_cpu_stack *s = hu_trace_cpu_stack(trace, number);
    const hu_str        name = hu_trace_text(trace, s->function);
    const bool          is_one = hu_code_kind_of(name, hu_trace_text(trace, s->module)) == HU_CODE_NATIVE;

    return (uint64_t)(is_one && hu_hot_has_symbol(name) ? s->function : HU_NONE) << 32 | s->module;
}
