/* SPDX-License-Identifier: Apache-2.0
 * run_facts.h - what `holdup run` says of a run, or `holdup export` of the original: attributes of a .pftrace, members
 * "holdup.*" of a Chrome trace. */
#ifndef HU_INGEST_RUN_FACTS_H
#define HU_INGEST_RUN_FACTS_H

#include "trace/builder.h"

/* Facts that are no number, and those that are; of other keys nothing is taken. */
void hu_facts_take_text(hu_builder *b, hu_str key, hu_str value);
void hu_facts_take_number(hu_builder *b, hu_str key, int64_t value);

#endif
