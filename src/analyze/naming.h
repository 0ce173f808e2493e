/* SPDX-License-Identifier: Apache-2.0
 * naming.h - what a report calls kernels and ranges, by the arguments of nsys: `:base`, `:mangled`, `:nvtx-name`. */
#ifndef HU_ANALYZE_NAMING_H
#define HU_ANALYZE_NAMING_H

#include "base/intern.h"
#include "trace/trace.h"

/* Arguments that a report takes, one bit each. */
enum {
    HU_NAMING_BASE = 1,      /* the kernel's own name, without namespaces and arguments */
    HU_NAMING_MANGLED = 2,   /* the name that linkers see, where the tool recorded it */
    HU_NAMING_NVTX_NAME = 4, /* the innermost range around the launch, and a slash, before the kernel's name */
    HU_NAMING_FORMS = HU_NAMING_BASE | HU_NAMING_MANGLED,
    HU_NAMING_KERNELS = HU_NAMING_FORMS | HU_NAMING_NVTX_NAME,
    HU_NAMING_ROWS = 8 /* no name: how many rows, of a report that has a limit */
};

typedef struct {
    unsigned  how; /* bits of the above */
    hu_arena *arena;
    hu_intern texts;
    char     *room; /* for a name that is put together */
    size_t    n_room;
    bool      has_memory;
    bool      is_ambiguous; /* kernels of one name have several mangled ones, and kept theirs */
    bool      is_unknown;   /* the trace has no mangled name of a kernel, which kept its own */
} hu_naming;

/* False: no memory. */
bool hu_naming_init(hu_naming *naming, unsigned how, hu_arena *arena);

/* Of a slice that is a kernel; lives as long as the trace and the arena. */
hu_str hu_naming_kernel(hu_naming *naming, const hu_trace *t, const hu_slices *s, uint32_t slice);

/* A range's text behind its domain and a colon: "loader:next". */
hu_str hu_naming_range(const hu_trace *t, uint32_t name);

/*
 * Ranges that somebody pushed and popped; what PyTorch recorded as ranges, or MPI in early exports of Nsight Systems, are
 * operators and calls here.
 */
bool hu_naming_is_range(const hu_trace *t, const hu_slices *s, uint32_t slice);

/* The innermost of them around a slice; HU_NONE: there is none. */
uint32_t hu_naming_range_around(const hu_trace *t, const hu_slices *s, uint32_t slice);

#endif
