/* SPDX-License-Identifier: Apache-2.0
 * nvtx.h - what the files of the NVTX door share: texts and handles, schemas, and the second tool behind us. */
#ifndef HU_INJECT_NVTX_H
#define HU_INJECT_NVTX_H

#include <stdbool.h>

#include "inject/nvtx_abi.h"
#include "inject/ring.h"

enum { HU_NVTX_MORES_MAX = 2 + 16 + 128 + 64 }; /* records behind one event: see nvtx_payload.c */

/* nvtx_names.c.  Handles of domains and registered strings are string ids; those that a second tool knows too are
 * numbers above them.  What is no handle of ours is id 0. */
uint32_t    hu_nvtx_id(const void *handle);
const void *hu_nvtx_theirs(const void *handle);              /* the second tool's handle; NULL: it has none */
const void *hu_nvtx_handle(uint32_t id, const void *theirs); /* NULL: no id */
uint32_t    hu_nvtx_text(int32_t type, hu_nvtx_message message);
uint32_t    hu_nvtx_wide(const wchar_t *text);       /* as UTF-8, through hu_string */
uint32_t    hu_nvtx_wide_given(const wchar_t *text); /* ... through hu_string_given */
void        hu_nvtx_name_category(uint32_t domain, uint32_t category, uint32_t text);
uint32_t    hu_nvtx_category(uint32_t domain, uint32_t category); /* its name, or 0 */

/* nvtx_payload.c: extended payloads as records behind an event. */
typedef struct {
    const hu_nvtx_payload *list;
    size_t                 n;
    uint32_t               domain;
} hu_nvtx_payloads;

uint32_t   hu_nvtx_payload_records(const hu_nvtx_payloads *p); /* how many MOREs it takes */
hu_record *hu_nvtx_payload_write(const hu_nvtx_payloads *p, hu_record *to, const hu_record *end);
uint32_t   hu_nvtx_payload_message(const hu_nvtx_payloads *p); /* the text that a schema calls the message */
/* `id`: what the client is to call it, 0: as it says itself, or a new one.  Returns that id. */
uint64_t hu_nvtx_schema_add(uint32_t domain, const hu_nvtx_schema *from, uint64_t id);
uint64_t hu_nvtx_enum_add(uint32_t domain, const hu_nvtx_enum *from, uint64_t id);

/* nvtx.c: handlers that the second tool's are called after (nvtx_chain.c). */
typedef struct {
    int              module;
    unsigned         id;
    hu_nvtx_function function;
} hu_nvtx_row;

extern const hu_nvtx_row hu_nvtx_handlers[];
extern const unsigned    hu_nvtx_n_handlers;
extern const hu_nvtx_row hu_nvtx_ext_handlers[]; /* module is 0, id the slot */
extern const unsigned    hu_nvtx_n_ext_handlers;

/* nvtx_chain.c: HOLDUP_NVTX_CHAIN names a second tool.  Both return whether there is one, and then have filled the
 * tables with functions that call both tools. */
bool hu_nvtx_chain_core(hu_nvtx_get_table get_table, bool with_ours, int *result);
bool hu_nvtx_chain_extension(hu_nvtx_extension *module, bool with_ours, int *result);

#endif
