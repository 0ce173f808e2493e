/* SPDX-License-Identifier: Apache-2.0
 * call_sites.h - the names of places in one process: of code that called, and of objects that are always there. */
#ifndef HU_RECORD_CALL_SITES_H
#define HU_RECORD_CALL_SITES_H

#include "base/map.h"
#include "record/symbols.h"

typedef struct {
    uint64_t start, end, offset; /* offset: in the file; UINT64_MAX: not of it, but behind it */
    uint32_t module;
} hu_call_place;

typedef struct {
    hu_str   path;
    uint64_t start; /* of its first mapping */
} hu_call_module;

/* Of one process; all memory is the arena's that hu_call_sites_read was given. */
typedef struct {
    hu_arena   *arena;
    hu_symbols *symbols; /* NULL: none */
    hu_str      program;
    HU_VEC(hu_call_place) places; /* by start */
    HU_VEC(hu_call_module) modules;
    HU_VEC(hu_str) names;                          /* by id; "" where there is none */
    hu_map code, objects, addresses, calls, lines; /* address -> id */
} hu_call_sites;

#define HU_CALL_SITE_NONE UINT32_MAX

/*
 * What lies where in the process of a ring file, by the copy of /proc/PID/maps next to it (inject/maps.c); empty where there
 * is none.  `program` is the executable: names of its functions need no module after them.  False without memory.
 */
bool hu_call_sites_read(hu_call_sites *out, hu_str ring, hu_str program, hu_symbols *symbols, hu_arena *arena);

/* All of these: the id of a name, or HU_CALL_SITE_NONE where there is none, or no memory.  Equal addresses have equal
   ids. */

/* "function", or "function (module)" of another module than the program, "module+0xoffset" where it has no symbol, of the
 * call that returns to this address. */
uint32_t hu_call_sites_caller(hu_call_sites *s, uint64_t return_address);
/* "module+0xaddress" of the same call, as addr2line wants it: the name for two calls in one function. */
uint32_t hu_call_sites_place(hu_call_sites *s, uint64_t return_address);
/* "solve.c:12" of the same call, where its module was built with -g. */
uint32_t hu_call_sites_line(hu_call_sites *s, uint64_t return_address);
/* The symbol of the global or static object at this address, "symbol+0xoffset" inside of it. */
uint32_t hu_call_sites_object(hu_call_sites *s, uint64_t address);
/* "0x…" */
uint32_t hu_call_sites_address(hu_call_sites *s, uint64_t address);

#endif
