/* SPDX-License-Identifier: Apache-2.0
 * jsonl.h - a look of a source as one line of JSON; docs/monitor.md has the schema. */
#ifndef HU_MONITOR_SERVE_JSONL_H
#define HU_MONITOR_SERVE_JSONL_H

#include "monitor/keeper.h"
#include "monitor/serve/text.h"

/* Adds the line.  Numbers are the shortest text that gives the double back; labels without a value are left out. */
void hu_jsonl_put(hu_text *t, const hu_held *held, const char *host);

#endif
