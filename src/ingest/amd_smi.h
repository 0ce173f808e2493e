/* SPDX-License-Identifier: Apache-2.0
 * amd_smi.h - what amd-smi and rocm-smi call what they measure, and their JSON (docs/formats/node-log.md). */
#ifndef HU_INGEST_AMD_SMI_H
#define HU_INGEST_AMD_SMI_H

#include "ingest/node_sink.h"

enum { HU_AMD_NAMES = 48 }; /* and more than there are: not found */

/* The number of a name, as CSV writes it: amd-smi's "gfx_0_clk", rocm-smi's "GPU use (%)". */
size_t hu_amd_name_find(hu_str name);
bool   hu_amd_name_is_place(size_t name);    /* tells GPUs apart */
bool   hu_amd_name_is_quantity(size_t name); /* is measured, and its name is no word of others */
void   hu_amd_name_take(hu_node_row *row, size_t name, hu_str value);

/* Is this JSON of `rocm-smi --json` or `amd-smi metric --json`? */
bool hu_amd_smi_probe(hu_str head);

/* Adds a file, which may hold several answers.  Returns 0, HU_ENOMEM, HU_ELIMIT, HU_EIO or HU_EFORMAT. */
int hu_amd_smi_read(hu_node_sink *sink, hu_input *in, hu_error *err);

#endif
