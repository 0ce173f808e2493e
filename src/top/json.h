/* SPDX-License-Identifier: Apache-2.0
 * json.h - a look at all nodes as one line of JSON (docs/top.schema.json). */
#ifndef HU_TOP_JSON_H
#define HU_TOP_JSON_H

#include "base/out.h"
#include "top/view.h"

/* Rows are those that pass the view's filter, in its order; what is not known is null. */
void hu_top_json_write(hu_out *out, const hu_top_view *v, const hu_top_model *m);

#endif
