/* SPDX-License-Identifier: Apache-2.0
 * smi_facts.h - what `nvidia-smi -q` says of a GPU, by the words of its text or of its XML. */
#ifndef HU_INGEST_SMI_FACTS_H
#define HU_INGEST_SMI_FACTS_H

#include "ingest/node_sink.h"

/* A value below two headings; "" where there are fewer. */
void hu_smi_facts_take(hu_node_row *row, hu_str outer, hu_str inner, hu_str key, hu_str value);

#endif
