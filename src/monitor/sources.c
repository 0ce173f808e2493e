/* SPDX-License-Identifier: Apache-2.0
 * sources.c - the table of sources; a new one is a file and a row here. */
#include "monitor/source.h"

extern const hu_source hu_source_host_cpu;

const hu_source *const hu_sources[] = {
    &hu_source_host_cpu,
    NULL,
};

size_t hu_sources_count(void)
{
    return sizeof hu_sources / sizeof *hu_sources - 1;
}
