/* SPDX-License-Identifier: Apache-2.0
 * terms.h - lists of values of columns with what people read for them; each ends with an empty row. */
#ifndef HU_RENDER_TABLE_TERMS_H
#define HU_RENDER_TABLE_TERMS_H

#include "render/table/columns.h"

extern const hu_term hu_terms_idle_causes[], hu_terms_host_classes[], hu_terms_parallel_kinds[],
    hu_terms_memory_categories[];

#endif
